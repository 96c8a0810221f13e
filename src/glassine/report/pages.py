"""The pages: which findings each kind of report holds, in which order, below which result.

A measurement that was made has its own section. One that was not is in the list of what was not measured, with
what it needs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from glassine.auditing.findings import (
    SCHEMA,
    DisclosureFinding,
    Findings,
    MembershipFinding,
    ReleaseSummary,
    SeveralSummary,
)
from glassine.report import wording
from glassine.report.measured import MODEL, sections_of
from glassine.report.section import Page, Section
from glassine.report.sections.additive import additive_figures, additive_section
from glassine.report.sections.disclosure import disclosure_page
from glassine.report.sections.guarantee import guarantee_figures, guarantee_section
from glassine.report.sections.membership import attack_page
from glassine.report.sections.near_optimal import near_optimal_page
from glassine.report.sections.parts import model_section, sizes_are_counted
from glassine.report.sections.policy import judged_page, measure_rows, policy_section
from glassine.report.sections.reconstruction import headline_figures
from glassine.report.sections.records import record_sections
from glassine.report.sections.releases import release_page
from glassine.report.sections.several import several_page

if TYPE_CHECKING:
    from glassine.comparison import Comparison
    from glassine.learners.summaries.multiplicity import Multiplicity

Reportable: TypeAlias = "Findings | MembershipFinding | DisclosureFinding | Multiplicity | Comparison"
"""What there is a report on."""


def _model(findings: Findings) -> Section:
    terms = findings.value("terms")
    return model_section(findings) if terms is None else additive_section(terms)


def audit_page(findings: Findings, *, title: str | None = None) -> Page:
    """Return the report on a tree, a rule list or an additive model."""
    kind = findings.model.kind
    measures = measure_rows(findings)
    claimed, additive = findings.guarantee, findings.value("terms")
    if claimed is not None:
        figures = guarantee_figures(claimed)
    elif additive is not None:
        figures = additive_figures(additive, findings.policy.smallest_leaf)
    else:
        figures = headline_figures(findings)
    page = judged_page(findings, kind, measures, title=title or f"Privacy of a published {kind}")
    return replace(
        page,
        described=_described(findings),
        figures=figures,
        sections=(
            *((guarantee_section(claimed),) if claimed is not None else ()),
            *page.sections,
            *sections_of(findings, below=MODEL),
            _model(findings),
            *sections_of(findings, least=MODEL),
            *record_sections(findings, kind),
        ),
        terms=(
            "bit",
            "term" if additive is not None else "leaf",
            "member",
            *(("quasi", "distance") if findings.value("disclosure") is not None else ()),
            *("outcome", "domain", "dist_g", "cut point", "suppressed"),
        ),
        tied=True,
        scripted=True,
    )


def _attacks_page(findings: Findings, title: str | None) -> Page | None:
    """Return the page of an audit of one attack alone, judged where the policy has a check; None of others."""
    if len(findings.measured) != 1:
        return None
    (name,) = findings.measured
    finding = findings.value(name)
    if isinstance(finding, MembershipFinding):
        page = attack_page(finding, title=title, inputs=findings.inputs)
    elif isinstance(finding, DisclosureFinding) and finding.details is not None:
        page = disclosure_page(finding, title=title, inputs=findings.inputs)
    else:
        return None
    page = replace(page, notes=(*map(wording.clean, findings.notes), *page.notes), schema=SCHEMA)
    if not findings.checks:
        return page
    judged = policy_section(findings.checks, findings.policy, findings.model.kind)
    return replace(page, sentence=f"{page.sentence} {findings.decision}", sections=(judged, *page.sections))


def _described(findings: Findings) -> str:
    model = findings.model
    noun = "rule" if model.kind == "rule list" else "leaf"
    depth = "conditions a rule at most" if model.kind == "rule list" else "conditions deep"
    depth = depth.replace("conditions", "condition") if model.depth == 1 else depth
    said = [model.kind[:1].upper() + model.kind[1:], wording.plural(model.n_parts, noun), f"{model.depth} {depth}"]
    terms = findings.value("terms")
    summary = findings.value("released")
    if summary is not None:
        said[1:] = [wording.plural(summary.n_attributes, "attribute"), wording.plural(summary.n_values, "noisy number")]
    elif terms is not None:
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


def page_of(result: Reportable, *, title: str | None = None) -> Page:
    """Return the page of any finding that there is a report on."""
    if isinstance(result, Findings):
        with wording.counting(result.counted):
            if isinstance(result.subject, ReleaseSummary):
                return release_page(result, title=title)
            if isinstance(result.subject, SeveralSummary):
                return several_page(result, title=title)
            return _attacks_page(result, title) or audit_page(result, title=title)
    if isinstance(result, MembershipFinding):
        return attack_page(result, title=title)
    if isinstance(result, DisclosureFinding):
        return disclosure_page(result, title=title)
    from glassine.learners.summaries.multiplicity import Multiplicity

    if isinstance(result, Multiplicity):
        return near_optimal_page(result, title=title)
    # Its candidates take longer to import than the other pages.
    from glassine.report.sections.comparison import comparison_page

    return comparison_page(result, title=title)
