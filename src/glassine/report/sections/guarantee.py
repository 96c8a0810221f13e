"""The claimed guarantee in plain words, what follows from it, and what a private summary released by it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from glassine.auditing.findings import Bound, Findings, GuaranteeFinding, SummaryFinding
from glassine.report import wording
from glassine.report.blocks import Fact, Paragraph, Points, Row, Table, fold, heads, paragraph
from glassine.report.figures import FigureReading, facts, grid, table
from glassine.report.section import MODEL, Body, Section, Text, section, sentence, shows

STANDING = {
    "accepted": "The policy accepts the claim, which this audit cannot verify. It covers the checks on leaves, "
    "bits and thresholds.",
    "too weak": "The policy accepts such claims, but this one is weaker than it allows, so it covers no other check.",
    "not accepted": "The model cannot prove the claim, and the policy does not accept it, so it covers no other check. "
    "The figures below hold if the claim is true.",
    "does not hold": "The guarantee is void, so it covers no check. The reason is listed below.",
}
RELATIONS = {
    "add-or-remove-one": "Adding or removing one record changes the probability of every model by at most that factor.",
    "replace-one": "Putting another record in one record's place changes the probability of every model by at most "
    "that factor.",
    "add-or-remove-one-person": "Adding or removing all records of one person changes the probability of every model "
    "by at most that factor.",
}
GUESSES = ("true positive", "guess ")
"""How the names of bounds begin that are folded: they say the same as the others, for one way to attack."""
SHARES = (*GUESSES, "belief about")


CLAIM = (
    "{claimed_by:sentence} claims differential privacy with epsilon {epsilon:g}, delta {delta:g}, {neighboring}; "
    "unit: {unit}."
)
LIMITS = (
    "The guarantee limits what the model reveals because one {subject} was included. General patterns, such as that "
    "smokers fall ill more often, still apply to everyone."
)
CAPTION = "What follows if the claim is true: no attacker can exceed these, with any other knowledge"
FIGURES = table("""
Epsilon | {epsilon:g} | A factor of {factor}. {relation}
Delta | {delta:g} | {failing}
Neighboring datasets | {neighboring:clean} | For k {subject}s together: k times epsilon.
Privacy unit | {unit:clean} | {together}
[count_scale] Noise in the counts | scale {scale} records | The counts are evidence, not facts: figures that need \
exact counts are not measured.
[exact] Noise in the counts | no count is said to be noisy |
[setting] Chosen setting | {setting:clean} | A search chose it from the training data. Epsilon and delta cover the \
choice.
""")


def guarantee_section(finding: GuaranteeFinding) -> Section:
    """Return the guarantee: what is claimed, what the policy makes of it, and what follows if it is true."""
    person, scale = finding.subject == "person", finding.count_scale
    words: dict[str, Any] = {
        "unit": finding.unit,
        "factor": f"e^{finding.epsilon:g}" if finding.epsilon > 20 else wording.amount(math.exp(finding.epsilon)),
        "relation": RELATIONS.get(finding.neighboring, ""),
        "failing": "Probabilities may exceed that factor by at most this amount."
        if finding.delta
        else "No failure probability: the bound always holds.",
        "together": "All records of one person together."
        if person
        else "One record; several records of one person are not covered together.",
        "scale": "" if scale is None else wording.amount(scale),
        "exact": scale is None,
    }
    reading = FigureReading(finding, **words)
    claim, caveats = reading.said(CLAIM), tuple(wording.clean(text) for text in finding.caveats)
    figures, bounds = facts(FIGURES, finding, **words), tuple(map(_bound, finding.bounds))
    folded = tuple(row for row in bounds if row.name.lower().startswith(GUESSES))
    folded = folded if len(folded) < len(bounds) else ()
    chosen = [f"{one.name}: {one.value}. {one.meaning}" for one in figures if one.name == "Chosen setting"]
    return section(
        "guarantee",
        "The guarantee that is claimed",
        Paragraph(text=claim, tone="lead", status=finding.standing),
        STANDING[finding.standing],
        Points(items=caveats, style="missing", title="The guarantee is void because") if caveats else None,
        figures,
        _bounds([row for row in bounds if row not in folded]),
        fold("Bounds on single guesses", _bounds(folded)),
        paragraph(reading.said(LIMITS), "note") if bounds else None,
        link="Guarantee",
        text=(
            f"[{finding.standing}] {claim}",
            *(f"The guarantee is void because: {caveat}" for caveat in caveats),
            *chosen,
            *(f"{bound.name}: {bound.cells[0]}" for bound in bounds),
        ),
        text_title="Guarantee",
    )


def _bounds(rows: Sequence[Row]) -> Table | None:
    columns = heads("What an attacker might do", "Bound")
    return Table(caption=CAPTION, columns=columns, rows=tuple(rows)) if rows else None


HEADLINE = table("""
Claimed guarantee | epsilon {epsilon:g} | delta {delta:g}; {standing}
Revealed about one {subject} | {revealed} | if the claim is true | The guarantee is void.
Membership guesses | {guesses} | if the claim is true; tossing a coin is correct 50% of the time | The guarantee is \
void.
""")


def guarantee_figures(finding: GuaranteeFinding) -> tuple[Fact, ...]:
    """Return the figures that matter most of a claimed guarantee."""
    bits, guesses = finding.bits_per_record, f"correct at most {_percent((1 + finding.ceiling) / 2)} of the time"
    revealed = None if bits is None else f"at most {_up(bits, 1):.1f} bits"
    return facts(HEADLINE, finding, revealed=revealed, guesses=None if bits is None else guesses)


def _bound(bound: Bound) -> Row:
    value = f"{_up(bound.value, 3):g}"
    if bound.name.startswith(SHARES):
        value = _percent(bound.value)
    elif bound.name.startswith("bits"):
        value = f"{_up(bound.value, 1):.1f} bits"
    meaning = f"{wording.clean(bound.statement)} ({wording.clean(bound.method)})"
    return Row(name=sentence(bound.name), meaning=meaning, cells=(f"at most {value}",))


def _up(value: float, digits: int) -> float:
    """Return a bound rounded up: rounded down it would not be one."""
    # A value that stands on a step but for the last bit of a float stays there.
    scale = 10.0**digits
    return math.ceil(value * scale - 1e-9) / scale


def _percent(value: float) -> str:
    return f"{100 * _up(value, 3):g}%"


RELEASED = """
Release | {name:clean}
Numbers | {n_values:,}
Noise | {deviation:.3g}
"""


@shows("released", "released", "What the summary released", "Releases", rank=MODEL - 1)
def _summary_section(finding: SummaryFinding, findings: Findings) -> Body:
    """Return each release with its numbers and noise, and the check of the certificate."""
    reading = FigureReading(finding, aim=f" Target: {wording.clean(finding.target)}." if finding.target else "")
    lead = reading.said(
        "{n_values:many noisy number}, from which every model follows. Models use {n_used:,} of "
        "{n_attributes:many attribute}; the summary holds counts of {n_pairs:many pair}.{aim}"
    )
    caption = "Each release, how many numbers it holds, and the standard deviation of the noise in each"
    checked, table = _certificate(finding), grid(RELEASED, finding.releases, caption=caption)
    said = (
        (row.name, wording.plural(one.n_values, "number"), f"noise {row.cells[1]}")
        for row, one in zip(table.rows, finding.releases, strict=True)
    )
    text: Text = (lead, checked, *said)
    return (paragraph(lead, "lead"), checked, table), text


def _certificate(finding: SummaryFinding) -> str:
    """Return what was checked of the certificate."""
    if not finding.certified:
        return "The certificate is of another summary: this one was changed after it was released."
    paid = "" if finding.receipt else " It names no ledger, so nothing shows what else was released of the records."
    measured = f" They include a measurement of the {wording.clean(finding.measured)}." if finding.measured else ""
    return (
        f"The certificate is of this summary (SHA-256 {finding.digest[:12]}). Its releases, added up again, have "
        f"epsilon {finding.spent:.4g}.{measured}{paid}"
    )
