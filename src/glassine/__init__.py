"""Glassine: the privacy of interpretable models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from glassine.attacks.disclosure import Adversary, CountNoise, Disclosure, infer_sensitive
    from glassine.attacks.outcome import Failed, Measured, NotApplicable
    from glassine.attacks.reconstruction.entropy import ProbabilisticDataset, reconstruct
    from glassine.attacks.reconstruction.joint import reconstruct_jointly
    from glassine.attacks.reconstruction.joint_result import JointReconstruction
    from glassine.attacks.reconstruction.records import reconstruct_records
    from glassine.auditing.api import audit
    from glassine.auditing.findings import Findings
    from glassine.auditing.policy import Policy
    from glassine.data.count_table import CountTable
    from glassine.data.inference import infer_domain
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
    from glassine.errors import GlassineError, PrivacyLeakWarning
    from glassine.formats import (
        as_model,
        load_forest,
        load_model,
        parse_rules,
        to_python,
        to_sklearn,
        to_sql,
        to_text,
        write_model,
    )
    from glassine.learners.additive.estimators import PrivateEBMClassifier, PrivateEBMRegressor
    from glassine.learners.exhaustive.optimal import OptimalRuleListClassifier, OptimalTreeClassifier
    from glassine.learners.exhaustive.private import PrivateRuleListClassifier, PrivateTreeClassifier
    from glassine.learners.greedy.estimator import PrivateGreedyRuleListClassifier
    from glassine.learners.greedy.rule_list import GreedyRuleListClassifier
    from glassine.learners.limits import suggested_depth
    from glassine.learners.multiway_tree import MultiwayTreeClassifier
    from glassine.microaggregation import Microaggregation, SemanticDistance, microaggregate
    from glassine.models import Branch, DecisionTree, Evidence, Guarantee, Node, Rule, RuleList
    from glassine.models.additive import AdditiveModel, explain_global
    from glassine.models.bins import CategoryBins, NumericBins
    from glassine.models.editor import Editor
    from glassine.models.edits import Edit
    from glassine.models.terms import Term
    from glassine.privacy.certificate import Certificate
    from glassine.privacy.ledger import Ledger
    from glassine.report import render_html, render_text
    from glassine.report.editor_page import render_editor
    from glassine.scrubbing.scrub import ScrubResult, scrub
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
    "CountTable": "glassine.data",
    "DecisionTree": "glassine.models",
    "Disclosure": "glassine.attacks.disclosure",
    "Domain": "glassine.domain",
    "Edit": "glassine.models.edits",
    "Editor": "glassine.models.editor",
    "Evidence": "glassine.models",
    "ExactlyOne": "glassine.domain",
    "Failed": "glassine.attacks.outcome",
    "Findings": "glassine.auditing.findings",
    "GlassineError": "glassine.errors",
    "GreedyRuleListClassifier": "glassine.learners.greedy.rule_list",
    "Guarantee": "glassine.models",
    "Implies": "glassine.domain",
    "Integer": "glassine.domain",
    "Intervals": "glassine.domain",
    "JointReconstruction": "glassine.attacks.reconstruction.joint_result",
    "Ledger": "glassine.privacy.ledger",
    "Measured": "glassine.attacks.outcome",
    "Microaggregation": "glassine.microaggregation",
    "MultiwayTreeClassifier": "glassine.learners.multiway_tree",
    "Node": "glassine.models",
    "NotApplicable": "glassine.attacks.outcome",
    "NumericBins": "glassine.models.bins",
    "OneOf": "glassine.domain",
    "OptimalRuleListClassifier": "glassine.learners.exhaustive.optimal",
    "OptimalTreeClassifier": "glassine.learners.exhaustive.optimal",
    "Policy": "glassine.auditing.policy",
    "PrivacyLeakWarning": "glassine.errors",
    "PrivateEBMClassifier": "glassine.learners.additive.estimators",
    "PrivateEBMRegressor": "glassine.learners.additive.estimators",
    "PrivateGreedyRuleListClassifier": "glassine.learners.greedy.estimator",
    "PrivateRuleListClassifier": "glassine.learners.exhaustive.private",
    "PrivateTreeClassifier": "glassine.learners.exhaustive.private",
    "ProbabilisticDataset": "glassine.attacks.reconstruction.entropy",
    "Real": "glassine.domain",
    "Rule": "glassine.models",
    "RuleList": "glassine.models",
    "ScrubResult": "glassine.scrubbing.scrub",
    "SemanticDistance": "glassine.microaggregation",
    "SurrogateExplainer": "glassine.surrogates",
    "SurrogateRelease": "glassine.surrogates",
    "Term": "glassine.models.terms",
    "as_model": "glassine.formats",
    "audit": "glassine.auditing.api",
    "explain_global": "glassine.models.additive",
    "infer_domain": "glassine.data.inference",
    "infer_sensitive": "glassine.attacks.disclosure",
    "load_black_box": "glassine.surrogates",
    "load_forest": "glassine.formats",
    "load_model": "glassine.formats",
    "microaggregate": "glassine.microaggregation",
    "parse_rules": "glassine.formats",
    "reconstruct": "glassine.attacks.reconstruction.entropy",
    "reconstruct_jointly": "glassine.attacks.reconstruction.joint",
    "reconstruct_records": "glassine.attacks.reconstruction.records",
    "render_editor": "glassine.report.editor_page",
    "render_html": "glassine.report",
    "render_text": "glassine.report",
    "scrub": "glassine.scrubbing.scrub",
    "suggested_depth": "glassine.learners.limits",
    "to_python": "glassine.formats",
    "to_sklearn": "glassine.formats",
    "to_sql": "glassine.formats",
    "to_text": "glassine.formats",
    "write_model": "glassine.formats",
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
    "PrivateGreedyRuleListClassifier",
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
    "infer_domain",
    "infer_sensitive",
    "load_black_box",
    "load_forest",
    "load_model",
    "microaggregate",
    "parse_rules",
    "reconstruct",
    "reconstruct_jointly",
    "reconstruct_records",
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
_PACKAGES = (
    "attacks",
    "data",
    "domain",
    "formats",
    "microaggregation",
    "models",
    "privacy",
    "server",
    "surrogates",
    "verification",
)


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
