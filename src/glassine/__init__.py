"""Glassine: the privacy of interpretable models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from glassine.attacks.disclosure import Adversary, CountNoise, Disclosure, infer_sensitive
    from glassine.attacks.joint import JointReconstruction, reconstruct_jointly, reconstruct_rows_jointly
    from glassine.attacks.outcome import Failed, Measured, NotApplicable
    from glassine.attacks.reconstruction import ProbabilisticDataset, reconstruct
    from glassine.auditing import audit
    from glassine.counting import CountTable
    from glassine.domain import (
        AtMostOne,
        Between,
        Binary,
        Category,
        Combinations,
        Domain,
        ExactlyOne,
        Implies,
        Integer,
        Intervals,
        OneOf,
        Real,
    )
    from glassine.editing import Editor
    from glassine.errors import GlassineError, PrivacyLeakWarning
    from glassine.findings import Findings
    from glassine.learners.ebm import PrivateEBMClassifier, PrivateEBMRegressor
    from glassine.learners.exponential_rule_list import PrivateRuleListClassifier
    from glassine.learners.exponential_tree import PrivateTreeClassifier
    from glassine.learners.greedy_rule_list import GreedyRuleListClassifier
    from glassine.learners.multiway_tree import MultiwayTreeClassifier
    from glassine.learners.optimal_rule_list import OptimalRuleListClassifier
    from glassine.learners.optimal_tree import OptimalTreeClassifier
    from glassine.learners.sizing import suggested_depth
    from glassine.microaggregation import Microaggregation, SemanticDistance, microaggregate
    from glassine.models import Branch, DecisionTree, Evidence, Guarantee, Node, Rule, RuleList
    from glassine.models.additive import AdditiveModel, Term
    from glassine.models.bins import CategoryBins, NumericBins
    from glassine.models.edits import Edit
    from glassine.models.formats import (
        as_model,
        load_additive,
        load_forest,
        load_model,
        to_python,
        to_sklearn,
        to_sql,
        to_text,
        write_model,
    )
    from glassine.models.shapes import explain_global
    from glassine.policy import Policy
    from glassine.privacy.certificate import Certificate
    from glassine.privacy.ledger import Ledger
    from glassine.report import render_html, render_text
    from glassine.report.editor_page import render_editor
    from glassine.scrubbing import ScrubResult, scrub
    from glassine.surrogates import SurrogateExplainer, SurrogateRelease, load_black_box

_HOME = {
    "AdditiveModel": "glassine.models.additive",
    "Adversary": "glassine.attacks.disclosure",
    "AtMostOne": "glassine.domain",
    "Between": "glassine.domain",
    "Binary": "glassine.domain",
    "Branch": "glassine.models",
    "Category": "glassine.domain",
    "CategoryBins": "glassine.models.bins",
    "Certificate": "glassine.privacy.certificate",
    "Combinations": "glassine.domain",
    "CountNoise": "glassine.attacks.disclosure",
    "CountTable": "glassine.counting",
    "DecisionTree": "glassine.models",
    "Disclosure": "glassine.attacks.disclosure",
    "Domain": "glassine.domain",
    "Edit": "glassine.models.edits",
    "Editor": "glassine.editing",
    "Evidence": "glassine.models",
    "ExactlyOne": "glassine.domain",
    "Failed": "glassine.attacks.outcome",
    "Findings": "glassine.findings",
    "GlassineError": "glassine.errors",
    "GreedyRuleListClassifier": "glassine.learners.greedy_rule_list",
    "Guarantee": "glassine.models",
    "Implies": "glassine.domain",
    "Integer": "glassine.domain",
    "Intervals": "glassine.domain",
    "JointReconstruction": "glassine.attacks.joint",
    "Ledger": "glassine.privacy.ledger",
    "Measured": "glassine.attacks.outcome",
    "Microaggregation": "glassine.microaggregation",
    "MultiwayTreeClassifier": "glassine.learners.multiway_tree",
    "Node": "glassine.models",
    "NotApplicable": "glassine.attacks.outcome",
    "NumericBins": "glassine.models.bins",
    "OneOf": "glassine.domain",
    "OptimalRuleListClassifier": "glassine.learners.optimal_rule_list",
    "OptimalTreeClassifier": "glassine.learners.optimal_tree",
    "Policy": "glassine.policy",
    "PrivacyLeakWarning": "glassine.errors",
    "PrivateEBMClassifier": "glassine.learners.ebm",
    "PrivateEBMRegressor": "glassine.learners.ebm",
    "PrivateRuleListClassifier": "glassine.learners.exponential_rule_list",
    "PrivateTreeClassifier": "glassine.learners.exponential_tree",
    "ProbabilisticDataset": "glassine.attacks.reconstruction",
    "Real": "glassine.domain",
    "Rule": "glassine.models",
    "RuleList": "glassine.models",
    "ScrubResult": "glassine.scrubbing",
    "SemanticDistance": "glassine.microaggregation",
    "SurrogateExplainer": "glassine.surrogates",
    "SurrogateRelease": "glassine.surrogates",
    "Term": "glassine.models.additive",
    "as_model": "glassine.models.formats",
    "audit": "glassine.auditing",
    "explain_global": "glassine.models.shapes",
    "infer_sensitive": "glassine.attacks.disclosure",
    "load_additive": "glassine.models.formats",
    "load_black_box": "glassine.surrogates",
    "load_forest": "glassine.models.formats",
    "load_model": "glassine.models.formats",
    "microaggregate": "glassine.microaggregation",
    "reconstruct": "glassine.attacks.reconstruction",
    "reconstruct_jointly": "glassine.attacks.joint",
    "reconstruct_rows_jointly": "glassine.attacks.joint",
    "render_editor": "glassine.report.editor_page",
    "render_html": "glassine.report",
    "render_text": "glassine.report",
    "scrub": "glassine.scrubbing",
    "suggested_depth": "glassine.learners.sizing",
    "to_python": "glassine.models.formats",
    "to_sklearn": "glassine.models.formats",
    "to_sql": "glassine.models.formats",
    "to_text": "glassine.models.formats",
    "write_model": "glassine.models.formats",
}

__all__ = [
    "AdditiveModel",
    "Adversary",
    "AtMostOne",
    "Between",
    "Binary",
    "Branch",
    "Category",
    "CategoryBins",
    "Certificate",
    "Combinations",
    "CountNoise",
    "CountTable",
    "DecisionTree",
    "Disclosure",
    "Domain",
    "Edit",
    "Editor",
    "Evidence",
    "ExactlyOne",
    "Failed",
    "Findings",
    "GlassineError",
    "GreedyRuleListClassifier",
    "Guarantee",
    "Implies",
    "Integer",
    "Intervals",
    "JointReconstruction",
    "Ledger",
    "Measured",
    "Microaggregation",
    "MultiwayTreeClassifier",
    "Node",
    "NotApplicable",
    "NumericBins",
    "OneOf",
    "OptimalRuleListClassifier",
    "OptimalTreeClassifier",
    "Policy",
    "PrivacyLeakWarning",
    "PrivateEBMClassifier",
    "PrivateEBMRegressor",
    "PrivateRuleListClassifier",
    "PrivateTreeClassifier",
    "ProbabilisticDataset",
    "Real",
    "Rule",
    "RuleList",
    "ScrubResult",
    "SemanticDistance",
    "SurrogateExplainer",
    "SurrogateRelease",
    "Term",
    "__version__",
    "as_model",
    "audit",
    "explain_global",
    "infer_sensitive",
    "load_additive",
    "load_black_box",
    "load_forest",
    "load_model",
    "microaggregate",
    "reconstruct",
    "reconstruct_jointly",
    "reconstruct_rows_jointly",
    "render_editor",
    "render_html",
    "render_text",
    "scrub",
    "suggested_depth",
    "to_python",
    "to_sklearn",
    "to_sql",
    "to_text",
    "write_model",
]


# Packages that are reached as attributes: glassine.attacks.gap_attack, glassine.verification.lower_bound.
_PACKAGES = ("attacks", "editing", "microaggregation", "privacy", "server", "surrogates", "verification")


def __getattr__(name: str) -> Any:
    """Import a public name at first use, so that ``import glassine`` stays light."""
    from importlib import import_module

    if name in _PACKAGES:
        return import_module(f"glassine.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'glassine' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
