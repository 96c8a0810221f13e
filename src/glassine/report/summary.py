"""What the report says, as plain values: every word and figure that is shown, none of how it looks."""

from __future__ import annotations

import math
from dataclasses import dataclass

from glassine.attacks.outcome import Failed, Measured
from glassine.auditing.findings import SCHEMA, Findings, InputFile, ReconstructionFinding, TreeNode
from glassine.report import wording
from glassine.report.additive import AdditiveView, additive_figures, additive_view, terms_of
from glassine.report.exposure import Bar, Reading, attribute_bars, curve, curve_note, readings, subgroup_bars
from glassine.report.guarantee import GuaranteeRow, guarantee_figures, guarantee_row
from glassine.report.inputs import clean_inputs
from glassine.report.membership import MembershipView, membership_view
from glassine.report.outline import Step, outline
from glassine.report.parts import PartRow, Scale, part_rows, parts_of, ranked, sizes_are_counted
from glassine.report.rules import CheckRow, check_rows, verdict_sentence
from glassine.report.rules import parts_of as nouns_of
from glassine.report.sensitive import SensitiveView, sensitive_view
from glassine.report.statements import (
    QUESTIONS,
    Fact,
    MeasureRow,
    alignment_sentence,
    label_facts,
    label_sentence,
    measure_rows,
    unmeasured_sentence,
    value_facts,
    value_sentence,
)

__all__ = ["Summary", "summarize"]

MOST_RULES = 200
FIRST_LOOK = 10
CAVEAT = "A verdict covers what was measured, and no more."
SHOWN = 0.05  # bits below it read as 0.0
NEGLIGIBLE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The report in words and figures.

    Attributes
    ----------
    title, described, verdict, sentence, short_sentence, caveat : str
        What was audited, and the verdict with its reason.
    figures : tuple of Fact
        The few figures that matter most.
    guarantee : GuaranteeRow or None
        The guarantee that is claimed, and what follows from it.
    checks, measures : tuple
        The policy's rules, and what was measured or not.
    all_measured : bool
        Whether everything was.
    inputs : tuple of InputFile
        The files that were read.
    holder_only : bool
        Whether it is for the holder of the data only.
    rebuilt, narrowed : str
        How far the records can be rebuilt, in two sentences; empty where not measured.
    readings : tuple of Reading
        Dist_G with attributes independent, and with the domain's groups if there are any.
    readings_note, undefined, domain, alignment : str
        Remarks on them.
    curve : tuple of (float, float)
        The exposure curve: share of the records, and bits.
    curve_note : str
        That it starts below the most exposed record; empty if it does not.
    scale : Scale
        Levels of exposure.
    listed : bool
        Whether the model is a rule list.
    counted : bool
        Whether sizes were counted in the data, as the model does not publish them exactly.
    parts : tuple of PartRow
        Leaves or rules, in the model's order.
    first_look : tuple of PartRow
        Those to look at first.
    tree : tuple of TreeNode
        The shape of a tree.
    steps : tuple of Step
        The tree as a nested list.
    n_omitted : int
        Leaves or rules that are not listed.
    label_facts, value_facts : tuple of Fact
        What labels and values give away.
    label_sentence, value_sentence : str
        The same in a sentence.
    membership : MembershipView or None
        What membership attacks found; None where none was made.
    additive : AdditiveView or None
        Shape functions and bins of an additive model.
    exposure : SensitiveView or None
        What a reader learns of the sensitive attribute; None where it was not measured.
    attributes, subgroups, other_subgroups : tuple of Bar
        Bits learned; the other subgroups are folded away.
    n_attributes_omitted, n_subgroups_omitted : int
        Those that are not listed.
    reasons : dict of str to str
        Why something was not measured, by the name of the finding.
    rows : tuple of int
        The most exposed rows.
    sensitive : str
        The attribute looked at more closely; empty if none.
    notes, advice : tuple of str
        What is odd, and what to do next.
    version, schema : str
        Of Glassine and of the findings.
    """

    title: str
    described: str
    verdict: str
    sentence: str
    short_sentence: str
    caveat: str
    figures: tuple[Fact, ...]
    guarantee: GuaranteeRow | None
    checks: tuple[CheckRow, ...]
    measures: tuple[MeasureRow, ...]
    all_measured: bool
    inputs: tuple[InputFile, ...]
    holder_only: bool
    rebuilt: str
    narrowed: str
    readings: tuple[Reading, ...]
    readings_note: str
    undefined: str
    domain: str
    alignment: str
    curve: tuple[tuple[float, float], ...]
    curve_note: str
    scale: Scale
    listed: bool
    counted: bool
    parts: tuple[PartRow, ...]
    first_look: tuple[PartRow, ...]
    tree: tuple[TreeNode, ...]
    steps: tuple[Step, ...]
    n_omitted: int
    label_facts: tuple[Fact, ...]
    value_facts: tuple[Fact, ...]
    label_sentence: str
    value_sentence: str
    membership: MembershipView | None
    additive: AdditiveView | None
    exposure: SensitiveView | None
    attributes: tuple[Bar, ...]
    subgroups: tuple[Bar, ...]
    other_subgroups: tuple[Bar, ...]
    n_attributes_omitted: int
    n_subgroups_omitted: int
    reasons: dict[str, str]
    rows: tuple[int, ...]
    sensitive: str
    notes: tuple[str, ...]
    advice: tuple[str, ...]
    version: str
    schema: str


def summarize(findings: Findings, *, title: str | None = None) -> Summary:
    """Return what a report says about the findings.

    Parameters
    ----------
    findings : Findings
        The result of an audit.
    title : str, optional
        Title of the report; the kind of model otherwise.
    """
    scale = Scale.of(findings)
    parts = part_rows(findings, scale)
    order = ranked(parts_of(findings).parts)
    steps, n_omitted = outline(parts_of(findings).nodes, parts, order)
    listed = not parts_of(findings).nodes
    attributes, more_attributes = attribute_bars(findings)
    subgroups, other_subgroups, more_subgroups = subgroup_bars(findings)
    measures = measure_rows(findings)
    unmeasured = unmeasured_sentence(measures) if findings.verdict == "within policy" else ""
    measured = findings.value("reconstruction")
    attacks, disclosed = findings.value("membership"), findings.value("disclosure")
    both = readings(findings)
    return Summary(
        title=wording.clean(title) if title else f"Privacy of a published {findings.model.kind}",
        described=_described(findings),
        verdict=findings.verdict,
        sentence=f"{verdict_sentence(findings)} {unmeasured}".rstrip(),
        short_sentence=f"{verdict_sentence(findings, named=False)} {unmeasured}".rstrip(),
        caveat=CAVEAT,
        figures=guarantee_figures(findings) or additive_figures(findings) or _figures(findings, measured),
        guarantee=guarantee_row(findings),
        checks=check_rows(findings.checks, findings.policy, nouns_of(findings.model.kind)),
        measures=measures,
        all_measured=all(row.state == "measured" for row in measures),
        inputs=clean_inputs(findings.inputs),
        holder_only=findings.holder_only,
        rebuilt=_rebuilt(both),
        narrowed=_narrowed(findings, measured),
        readings=both,
        readings_note=_readings_note(findings, both),
        undefined=_sentence(measured.undefined or "") if measured else "",
        domain=_domain(findings),
        alignment=alignment_sentence(findings),
        curve=curve(findings),
        curve_note=curve_note(findings),
        scale=scale,
        listed=listed,
        counted=sizes_are_counted(findings),
        parts=parts[:MOST_RULES] if listed else parts,
        first_look=tuple(parts[number - 1] for number in order[:FIRST_LOOK]),
        tree=parts_of(findings).nodes,
        steps=steps,
        n_omitted=max(len(parts) - MOST_RULES, 0) if listed else n_omitted,
        label_facts=label_facts(findings),
        value_facts=value_facts(findings),
        label_sentence=label_sentence(findings),
        value_sentence=value_sentence(findings),
        membership=None if attacks is None else membership_view(attacks),
        additive=additive_view(findings),
        exposure=None if disclosed is None else sensitive_view(disclosed),
        attributes=attributes,
        subgroups=subgroups,
        other_subgroups=other_subgroups,
        n_attributes_omitted=more_attributes,
        n_subgroups_omitted=more_subgroups,
        reasons=_reasons(findings),
        # in order of number: the order of exposure would tell where one leaf ends, hence its size
        rows=tuple(sorted(findings.value("exposed_rows") or ())),
        sensitive=wording.clean(findings.sensitive or ""),
        notes=tuple(wording.clean(note) for note in findings.notes),
        advice=tuple(wording.clean(advice.text) for advice in findings.advice),
        version=findings.version,
        schema=SCHEMA,
    )


def _sentence(text: str) -> str:
    text = wording.clean(text)
    return text[:1].upper() + text[1:]


def _described(findings: Findings) -> str:
    model = findings.model
    noun = "rule" if model.kind == "rule list" else "leaf"
    depth = "conditions a rule at most" if model.kind == "rule list" else "conditions deep"
    depth = depth.replace("conditions", "condition") if model.depth == 1 else depth
    said = [model.kind[:1].upper() + model.kind[1:], wording.plural(model.n_parts, noun), f"{model.depth} {depth}"]
    terms = terms_of(findings)
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


def _figures(findings: Findings, measured: ReconstructionFinding | None) -> tuple[Fact, ...]:
    flagged = sum(bool(part.flags) for part in parts_of(findings).parts)
    noun = "rule" if findings.model.kind == "rule list" else "leaf"
    unknown = Fact(name="Learned about the average record", value="not known", meaning="It was not measured.")
    mean, largest = unknown, Fact(name="Learned about the most exposed", value="not known", meaning=unknown.meaning)
    if measured is not None and measured.bits_mean is not None:
        mean = Fact(
            name=unknown.name,
            value=f"{wording.bits(measured.bits_mean)} bits",
            meaning=_fits(findings, measured, measured.bits_mean),
        )
    if measured is not None and measured.bits_largest is not None:
        limit = findings.policy.largest_bits_per_record
        largest = Fact(
            name=largest.name,
            value=f"{wording.bits(measured.bits_largest, beyond=limit)} bits",
            meaning=_fits(findings, measured, measured.bits_largest),
        )
    return (
        mean,
        largest,
        Fact(
            name="Flagged",
            value=f"{f'{flagged:,}' if flagged else 'none'} of {wording.plural(len(parts_of(findings).parts), noun)}",
            meaning="few records, one outcome, or too many bits",
        ),
    )


def _fits(findings: Findings, measured: ReconstructionFinding, bits: float) -> str:
    """Return which of the possible records still fit; empty if all do or if the domain contradicts the model."""
    prior = findings.domain.bits_domain_aware if findings.domain is not None else None
    contradicted = measured.bits_largest is None or (prior is not None and measured.bits_largest > prior + NEGLIGIBLE)
    if contradicted or not math.isfinite(bits) or bits < SHOWN:
        return ""
    text = f"{wording.candidates(bits)} possible records still fits"
    return text if prior is None else f"{text}, about {wording.worlds(prior - bits, power_from=10)} in all"


def _rebuilt(both: tuple[Reading, ...]) -> str:
    known = [reading for reading in both if reading.left is not None]
    if not known:
        return ""
    best = known[-1]
    learned = wording.percent(1 - (best.left or 0.0))
    values = ", ".join(f"{reading.value} {reading.short}" for reading in known)
    if len({reading.value for reading in known}) == 1:
        values = best.value
    return f"Of all that was unknown about the records, the model tells {learned} (Dist_G {values})."


def _narrowed(findings: Findings, measured: ReconstructionFinding | None) -> str:
    if measured is None or measured.bits_largest is None:
        return ""
    fits = _fits(findings, measured, measured.bits_largest)
    if not fits:
        return ""
    mean = "" if measured.bits_mean is None else f" ({wording.bits(measured.bits_mean)} on average)"
    return f"It tells {wording.bits(measured.bits_largest)} bits about the most exposed record{mean}: {fits}."


def _readings_note(findings: Findings, both: tuple[Reading, ...]) -> str:
    if not both or findings.domain is None:
        return ""
    if findings.domain.n_groups == 0:
        return "The domain ties no attributes together, so there is one reading."
    return (
        "The first reading takes all attributes as independent. The second leaves out records that the domain makes "
        "impossible: it is what a reader really knows."
    )


def _domain(findings: Findings) -> str:
    domain = findings.domain
    if domain is None:
        return ""
    text = f"The domain has {wording.plural(domain.n_attributes, 'attribute')}"
    text += f" and {wording.plural(domain.n_groups, 'group')} that tie them together" if domain.n_groups else ""
    if domain.bits_domain_aware is not None:
        bits = domain.bits_domain_aware
        text += f": {wording.worlds(bits)} possible records, or {wording.amount(bits)} bits each"
    if domain.inferred:
        names = [wording.shorten(wording.clean(name), 40) for name in domain.inferred[:5]]
        more = len(domain.inferred) - len(names)
        listed = ", ".join(names) + (f" and {more:,} more" if more else "")
        text += f". Taken from data, not declared: {listed}"
    return f"{text}."


def _reasons(findings: Findings) -> dict[str, str]:
    out = {}
    for name in QUESTIONS:
        outcome = findings.measured[name]
        if not isinstance(outcome, Measured):
            verb = "Failed" if isinstance(outcome, Failed) else "Not measured"
            out[name] = f"{verb}: {wording.clean(outcome.reason)}"
    return out
