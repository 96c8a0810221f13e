"""The pages: which findings each kind of report holds, in which order, below which result.

A measurement that was made has a section of its own; one that was not stands in the list of what was not measured, with
what it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from glassine.attacks.values import ValueLeakage
from glassine.auditing.findings import (
    SCHEMA,
    DisclosureFinding,
    Findings,
    MembershipFinding,
    ReconstructionFinding,
    ReleaseSummary,
)
from glassine.comparison import Comparison
from glassine.report import wording
from glassine.report.section import Page, Section, clean_inputs
from glassine.report.sections.additive import additive_figures, additive_section
from glassine.report.sections.comparison import comparison_page
from glassine.report.sections.disclosure import disclosure_page, sensitive_section
from glassine.report.sections.guarantee import guarantee_figures, guarantee_section
from glassine.report.sections.membership import attack_page, membership_section
from glassine.report.sections.outcomes import labels_section, lacking_values, values_section
from glassine.report.sections.parts import model_section, sizes_are_counted
from glassine.report.sections.policy import (
    CAVEAT,
    measure_rows,
    measured_section,
    next_section,
    policy_section,
    sections_of,
    unmeasured_sentence,
    verdict_sentence,
)
from glassine.report.sections.reconstruction import (
    alignment_section,
    exposed_section,
    headline_figures,
    reconstruction_section,
    subgroups_section,
)
from glassine.report.sections.releases import release_page

__all__ = ["Reportable", "attack_page", "audit_page", "comparison_page", "disclosure_page", "page_of", "release_page"]

Reportable: TypeAlias = Findings | MembershipFinding | DisclosureFinding | Comparison
"""What there is a report on."""

QUESTIONS = {
    "reconstruction": ("Reconstruction", "How far can an attacker reconstruct the training records?"),
    "labels": ("Label disclosure", "Does the model reveal outcomes in the training data?"),
    "values": ("Value leakage", "Does the model contain exact training values?"),
    "subgroups": ("Subgroups", "Does the model reveal more about some subgroups than about others?"),
    "exposed_rows": ("Most exposed records", "About which rows of the data does the model reveal most?"),
    "alignment": ("Comparison with the data", "How close are reconstructed records to the real ones?"),
    "membership": ("Membership", "Can an attacker infer who is in the training data?"),
    "disclosure": (
        "Sensitive attribute",
        "What does an attacker who knows all quasi-identifiers learn about it?",
    ),
}
SHORT = {"labels": "outcomes", "values": "exact values"}


def _model(findings: Findings) -> Section:
    terms = findings.value("terms")
    return model_section(findings) if terms is None else additive_section(terms)


# What is shown of a measurement that was made, by its name, in the order of the page.
BEFORE_MODEL: dict[str, Callable[[Any, Findings], Section]] = {
    "reconstruction": reconstruction_section,
    "alignment": lambda found, _: alignment_section(found),
}
AFTER_MODEL: dict[str, Callable[[Any, Findings], Section]] = {
    "labels": labels_section,
    "values": values_section,
    "disclosure": lambda found, _: sensitive_section(found),
    "membership": lambda found, _: membership_section(found),
    "subgroups": subgroups_section,
    "exposed_rows": lambda found, _: exposed_section(found),
}


def audit_page(findings: Findings, *, title: str | None = None) -> Page:
    """Return the report on a tree, a rule list or an additive model.

    Parameters
    ----------
    findings : Findings
        The result of an audit.
    title : str, optional
        Title of the page; ``Privacy of a published <kind of model>`` otherwise.
    """
    kind, verdict = findings.model.kind, findings.verdict
    measures = measure_rows(findings.measured, QUESTIONS, _lacking, SHORT)
    unmeasured = unmeasured_sentence(measures) if verdict == "within policy" else ""
    claimed, additive = findings.guarantee, findings.value("terms")
    if claimed is not None:
        figures = guarantee_figures(claimed)
    elif additive is not None:
        figures = additive_figures(additive, findings.policy.smallest_leaf)
    else:
        figures = headline_figures(findings)
    return Page(
        kind="privacy audit",
        title=wording.clean(title or f"Privacy of a published {kind}"),
        described=_described(findings),
        tone=verdict,
        headline=verdict.capitalize(),
        sentence=f"{verdict_sentence(findings.checks, findings.policy, kind)} {unmeasured}".rstrip(),
        brief=f"{verdict_sentence(findings.checks, findings.policy, kind, named=False)} {unmeasured}".rstrip(),
        caveat=CAVEAT,
        judged=True,
        notes=tuple(map(wording.clean, findings.notes)),
        figures=figures,
        sections=(
            *((guarantee_section(claimed),) if claimed is not None else ()),
            policy_section(findings.checks, findings.policy, kind),
            next_section(findings.advice, verdict),
            measured_section(measures),
            *sections_of(findings.measured, BEFORE_MODEL, findings),
            _model(findings),
            *sections_of(findings.measured, AFTER_MODEL, findings),
        ),
        terms=(
            "bit",
            "term" if additive is not None else "leaf",
            "member",
            *(("quasi", "nat", "distance") if findings.value("disclosure") is not None else ()),
            *("outcome", "domain", "dist_g", "cut point", "suppressed"),
        ),
        inputs=clean_inputs(findings.inputs),
        tied=True,
        holder_only=findings.holder_only,
        scripted=True,
        version=wording.clean(findings.version),
        schema=SCHEMA,
    )


def _attacks_page(findings: Findings, title: str | None) -> Page | None:
    """Return the page of an audit of one attack alone, judged where the policy has a check; None of others."""
    if len(findings.measured) != 1:
        return None
    (name,) = findings.measured
    found = findings.value(name)
    if isinstance(found, MembershipFinding):
        page = attack_page(found, title=title, inputs=findings.inputs)
    elif isinstance(found, DisclosureFinding) and found.details is not None:
        page = disclosure_page(found, title=title, inputs=findings.inputs)
    else:
        return None
    page = replace(page, notes=(*map(wording.clean, findings.notes), *page.notes), schema=SCHEMA)
    if not findings.checks:
        return page
    verdict = verdict_sentence(findings.checks, findings.policy, findings.model.kind)
    if not verdict.lower().startswith(findings.verdict):
        verdict = f"{findings.verdict.capitalize()}: {verdict[:1].lower()}{verdict[1:]}"
    judged = policy_section(findings.checks, findings.policy, findings.model.kind)
    return replace(page, sentence=f"{page.sentence} {verdict}", sections=(judged, *page.sections))


def _lacking(name: str, found: object) -> str:
    """Return what a measurement that was made still lacks."""
    if isinstance(found, DisclosureFinding) and found.unused:
        return f"The internal nodes were not used: {found.unused}"
    if isinstance(found, ReconstructionFinding):
        return found.undefined or ""
    if isinstance(found, ValueLeakage):
        return lacking_values(found)
    return "There is no subgroup that is large enough to show." if name == "subgroups" and not found else ""


def _described(findings: Findings) -> str:
    model = findings.model
    noun = "rule" if model.kind == "rule list" else "leaf"
    depth = "conditions a rule at most" if model.kind == "rule list" else "conditions deep"
    depth = depth.replace("conditions", "condition") if model.depth == 1 else depth
    said = [model.kind[:1].upper() + model.kind[1:], wording.plural(model.n_parts, noun), f"{model.depth} {depth}"]
    terms = findings.value("terms")
    if terms is not None:
        said[1:] = [wording.plural(model.n_parts, "term"), wording.plural(terms.n_bins, "bin")]
    if model.n_records is not None:
        noisy = " by noisy counts" if model.count_scale is not None else ""
        noisy = noisy or (" by rounded counts" if model.approximate else "")
        said.append(f"{wording.plural(model.n_records, 'record')}{noisy}")
    if model.classes is not None:
        said.append(wording.plural(len(model.classes), "class"))
    remarks = ["counts are not exact"] if model.approximate else []
    remarks += ["sizes counted in the data, not published"] if sizes_are_counted(findings) else []
    if findings.guarantee is not None and findings.guarantee.subject == "person" and model.n_records is not None:
        remarks.append("records are counted as the fit weighs each person's, which may repeat them")
    text = "; ".join([", ".join(said), *remarks])
    return f"{text}; from {wording.clean(model.source)}." if model.source else f"{text}."


def page_of(found: Reportable, *, title: str | None = None) -> Page:
    """Return the page of any finding that there is a report on."""
    if isinstance(found, Findings):
        with wording.counting(found.counted):
            if isinstance(found.subject, ReleaseSummary):
                return release_page(found, title=title)
            return _attacks_page(found, title) or audit_page(found, title=title)
    if isinstance(found, MembershipFinding):
        return attack_page(found, title=title)
    if isinstance(found, DisclosureFinding):
        return disclosure_page(found, title=title)
    return comparison_page(found, title=title)
