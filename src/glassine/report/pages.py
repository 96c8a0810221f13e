"""The pages: which findings each kind of report holds, in which order, below which result.

A measurement that was made has a section of its own; one that was not stands in the list of what was not measured, with
what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from glassine import __version__
from glassine.attacks.outcome import Measured, Outcome
from glassine.attacks.values import ValueLeakage
from glassine.auditing.findings import (
    SCHEMA,
    SURROGATES_SCHEMA,
    Findings,
    InputFile,
    MembershipFinding,
    ReconstructionFinding,
    SensitiveFinding,
    SurrogateFindings,
    TogetherFinding,
)
from glassine.auditing.findings.disclosure import DisclosureFinding
from glassine.comparison import Comparison
from glassine.report import wording
from glassine.report.section import Page, Section, clean_inputs
from glassine.report.sections.additive import additive_figures, additive_section
from glassine.report.sections.comparison import comparison_page
from glassine.report.sections.disclosure import (
    disclosed_rows_section,
    disclosed_subgroups_section,
    disclosure_described,
    disclosure_figures,
    disclosure_headline,
    disclosure_sentence,
    estimate_section,
    learned_section,
    remedies_section,
    sensitive_section,
)
from glassine.report.sections.guarantee import guarantee_figures, guarantee_section
from glassine.report.sections.membership import (
    attacks_section,
    holdout_section,
    membership_result,
    membership_section,
    membership_sentence,
)
from glassine.report.sections.outcomes import labels_section, lacking_values, values_section
from glassine.report.sections.parts import model_section, sizes_are_counted
from glassine.report.sections.policy import (
    measure_rows,
    measured_section,
    next_section,
    policy_section,
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
from glassine.report.sections.releases import (
    diversity_section,
    forms_section,
    gaps_section,
    groups_section,
    guesses_section,
    leaves_section,
    release_described,
    release_figures,
    representatives_section,
    thresholds_section,
    together_section,
)

__all__ = ["Reportable", "attack_page", "audit_page", "comparison_page", "disclosure_page", "page_of", "release_page"]

Reportable: TypeAlias = Findings | SurrogateFindings | MembershipFinding | DisclosureFinding | Comparison
"""What there is a report on."""

F = TypeVar("F")

CAVEAT = "A verdict covers what was measured, and no more."
QUESTIONS = {
    "reconstruction": ("Reconstruction", "How far can a reader rebuild the training records?"),
    "labels": ("Label disclosure", "Does the model tell the outcome of the people it was made from?"),
    "values": ("Value leakage", "Do exact values of single records stand in the model?"),
    "subgroups": ("Subgroups", "Is more learned about some groups of people than about others?"),
    "exposed_rows": ("Most exposed records", "About which rows of the data is most learned?"),
    "alignment": ("Comparison with the data", "How close do rebuilt records come to the real ones?"),
    "membership": ("Membership", "Can a reader tell who was in the data?"),
    "disclosure": ("Sensitive attribute", "What does a reader who knows everybody's quasi-identifiers learn of it?"),
}
RELEASE_QUESTIONS = {
    "groups": ("Groups", "How many people stand behind each representative?"),
    "leaves": ("Leaves", "How many people stand behind each leaf, and who is alone?"),
    "diversity": ("Diversity", "Do the people of a group differ in labels and in the sensitive attribute?"),
    "together": ("Reconstruction", "How far do all trees together let a reader rebuild the records?"),
    "guesses": ("Disclosure", "How well does a reader guess labels and the sensitive attribute?"),
    "membership": ("Membership", "Can a reader of all trees tell who is behind the release?"),
}
SHORT = {"labels": "outcomes", "values": "exact values"}
SENSITIVE = "no sensitive attribute was named (`--sensitive`)."


def _model(findings: Findings) -> Section:
    return model_section(findings) if findings.additive is None else additive_section(findings.additive)


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
OF_RELEASE: dict[str, Callable[[Any, SurrogateFindings], Section]] = {
    "groups": lambda found, _: groups_section(found),
    "leaves": leaves_section,
    "diversity": diversity_section,
    "guesses": lambda found, _: guesses_section(found),
    "together": lambda found, _: together_section(found),
    "membership": lambda found, _: membership_section(found),
}


def _outcomes(found: object, questions: Mapping[str, object]) -> dict[str, Outcome[object]]:
    return {name: getattr(found, name) for name in questions}


def _sections(
    outcomes: Mapping[str, Outcome[object]], functions: Mapping[str, Callable[[Any, F], Section]], findings: F
) -> Iterator[Section]:
    """Yield a section for each measurement that was made."""
    for name, function in functions.items():
        outcome = outcomes[name]
        if isinstance(outcome, Measured):
            yield function(outcome.value, findings)


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
    outcomes = _outcomes(findings, QUESTIONS)
    measures = measure_rows(outcomes, QUESTIONS, _lacking, SHORT)
    unmeasured = unmeasured_sentence(measures) if verdict == "within policy" else ""
    claimed, additive = findings.guarantee, findings.additive
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
        sentence=f"{verdict_sentence(findings.checks, kind)} {unmeasured}".rstrip(),
        brief=f"{verdict_sentence(findings.checks, kind, named=False)} {unmeasured}".rstrip(),
        caveat=CAVEAT,
        judged=True,
        notes=tuple(map(wording.clean, findings.notes)),
        figures=figures,
        sections=(
            *((guarantee_section(claimed),) if claimed is not None else ()),
            policy_section(findings.checks, kind),
            next_section(findings.advice, verdict),
            measured_section(measures),
            *_sections(outcomes, BEFORE_MODEL, findings),
            _model(findings),
            *_sections(outcomes, AFTER_MODEL, findings),
        ),
        terms=(
            "bit",
            "term" if additive is not None else "leaf",
            "member",
            *(("quasi", "nat", "distance") if isinstance(findings.disclosure, Measured) else ()),
            *("outcome", "domain", "dist_g", "cut point", "suppressed"),
        ),
        inputs=clean_inputs(findings.inputs),
        holder_only=findings.holder_only,
        scripted=True,
        version=wording.clean(findings.version),
        schema=SCHEMA,
    )


def _lacking(name: str, found: object) -> str:
    """Return what a measurement that was made still lacks."""
    if isinstance(found, SensitiveFinding) and found.unused:
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
    if findings.additive is not None:
        said[1:] = [wording.plural(model.n_parts, "term"), wording.plural(findings.additive.n_bins, "bin")]
    if model.n_records is not None:
        noisy = " by noisy counts" if model.count_scale is not None else ""
        noisy = noisy or (" by rounded counts" if model.approximate else "")
        said.append(f"{wording.plural(model.n_records, 'record')}{noisy}")
    if model.classes is not None:
        said.append(wording.plural(len(model.classes), "class"))
    remarks = ["counts are not exact"] if model.approximate else []
    remarks += ["sizes counted in the data, not published"] if sizes_are_counted(findings) else []
    text = "; ".join([", ".join(said), *remarks])
    return f"{text}; from {wording.clean(model.source)}." if model.source else f"{text}."


def release_page(found: SurrogateFindings, *, title: str | None = None) -> Page:
    """Return the report on a release of surrogate trees.

    Parameters
    ----------
    found : SurrogateFindings
        The result of an audit.
    title : str, optional
        Title of the page; ``Privacy of published explanations`` otherwise.
    """

    def lacking(name: str, value: object) -> str:
        if name in ("diversity", "guesses") and found.sensitive is None:
            return SENSITIVE
        if isinstance(value, TogetherFinding) and value.undefined:
            return f"there is no Dist_G: {value.undefined}"
        return ""

    outcomes = _outcomes(found, RELEASE_QUESTIONS)
    measures = measure_rows(outcomes, RELEASE_QUESTIONS, lacking, {})
    unmeasured = unmeasured_sentence(measures) if found.verdict == "within policy" else ""
    figures = release_figures(found)
    return Page(
        kind="privacy of explanations",
        title=wording.clean(title or "Privacy of published explanations"),
        described=release_described(found),
        tone=found.verdict,
        headline=found.verdict.capitalize(),
        sentence=f"{verdict_sentence(found.checks, 'release')} {unmeasured}".rstrip(),
        caveat=f"{CAVEAT} Everyone can ask for every group, so all of them are looked at together.",
        judged=True,
        notes=(
            *map(wording.clean, found.notes),
            *(f"The release says: {wording.clean(note)}." for note in found.release.notes),
        ),
        figures=figures,
        sections=(
            policy_section(found.checks, "release", claim=wording.clean(found.release.claim)),
            next_section(found.advice, found.verdict),
            measured_section(measures),
            *((forms_section(found),) if found.comparison else ()),
            representatives_section(found, figures),
            *_sections(outcomes, OF_RELEASE, found),
            thresholds_section(found.thresholds),
            *((gaps_section(found),) if found.gaps else ()),
        ),
        terms=(
            *("group", "fidelity", "member of release", "midpoint", "gap attack"),
            *("entropy l", "bit", "cut point", "suppressed in release"),
        ),
        inputs=clean_inputs(found.inputs),
        holder_only=found.holder_only,
        version=wording.clean(found.version),
        schema=SURROGATES_SCHEMA,
    )


def attack_page(
    found: MembershipFinding,
    *,
    title: str | None = None,
    described: str = "",
    inputs: Sequence[InputFile] = (),
) -> Page:
    """Return the report on membership attacks.

    Parameters
    ----------
    found : MembershipFinding
        What the attacks found.
    title, described : str
        Title of the page, and a line on the model.
    inputs : sequence of InputFile
        The files that were read.
    """
    result = membership_result(found)
    return Page(
        kind="membership attacks",
        title=wording.clean(title or "Membership attacks"),
        described=wording.clean(described or result.described),
        tone=result.tone,
        headline=result.headline,
        sentence=membership_sentence(found),
        caveat="An attack that finds nothing does not show that nothing can be found.",
        figures=result.figures,
        sections=(attacks_section(found), holdout_section(found)),
        terms=("member", "advantage", "balanced accuracy", "beyond chance", "false alarms", "vulnerability"),
        inputs=clean_inputs(inputs),
        holder_only=True,
        version=__version__,
    )


def disclosure_page(
    found: DisclosureFinding,
    *,
    title: str | None = None,
    described: str = "",
    inputs: Sequence[InputFile] = (),
) -> Page:
    """Return the report on what a tree discloses of a sensitive attribute.

    Parameters
    ----------
    found : DisclosureFinding
        What the reader learns.
    title, described : str
        Title of the page, and a line on the model.
    inputs : sequence of InputFile
        The files that were read.
    """
    return Page(
        kind="disclosure by a tree",
        title=wording.clean(title or "What a tree discloses"),
        described=wording.clean(described or disclosure_described(found)),
        tone="finding",
        headline=disclosure_headline(found),
        sentence=disclosure_sentence(found),
        caveat="This is one reader, who takes the least biased estimate. Another may know more.",
        notes=tuple(map(wording.clean, found.notes)),
        figures=disclosure_figures(found),
        sections=(
            *((remedies_section(found),) if found.remedies else ()),
            learned_section(found),
            estimate_section(found),
            *((disclosed_subgroups_section(found),) if found.subgroups else ()),
            disclosed_rows_section(found),
        ),
        terms=("quasi", "nat", "entropy left", "distance", "internal", "local", "suppressed"),
        inputs=clean_inputs(inputs),
        holder_only=True,
        version=__version__,
    )


def page_of(found: Reportable, *, title: str | None = None) -> Page:
    """Return the page of any finding that there is a report on."""
    if isinstance(found, Findings):
        return audit_page(found, title=title)
    if isinstance(found, SurrogateFindings):
        return release_page(found, title=title)
    if isinstance(found, MembershipFinding):
        return attack_page(found, title=title)
    if isinstance(found, DisclosureFinding):
        return disclosure_page(found, title=title)
    return comparison_page(found, title=title)
