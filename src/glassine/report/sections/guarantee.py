"""The claimed guarantee in plain words, what follows from it, and what a private summary released by it."""

from __future__ import annotations

import math

from glassine.auditing.findings import Bound, Findings, GuaranteeFinding, SummaryFinding
from glassine.report import wording
from glassine.report.blocks import Block, Fact, Facts, Fold, Paragraph, Points, Row, Table, heads
from glassine.report.section import MODEL, Section, sentence, shows

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
SEARCHED = "A search chose it from the training data. Epsilon and delta cover the choice."
GUESSES = ("true positive", "guess ")
"""How the names of bounds begin that are folded: they say the same as the others, for one way to attack."""
SHARES = (*GUESSES, "belief about")


def guarantee_section(finding: GuaranteeFinding) -> Section:
    """Return the guarantee: what is claimed, what the policy makes of it, and what follows if it is true."""
    claim = (
        f"{sentence(finding.claimed_by)} claims differential privacy with epsilon {finding.epsilon:g}, "
        f"delta {finding.delta:g}, {finding.neighboring}; unit: {finding.unit}."
    )
    caveats = tuple(wording.clean(text) for text in finding.caveats)
    blocks: list[Block] = [
        Paragraph(text=claim, tone="lead", status=finding.standing),
        Paragraph(text=STANDING[finding.standing]),
    ]
    if caveats:
        blocks.append(Points(items=caveats, style="missing", title="The guarantee is void because"))
    blocks.append(Facts(_facts(finding)))
    bounds = tuple(map(_bound, finding.bounds))
    if bounds:
        first = tuple(row for row in bounds if not row.name.lower().startswith(GUESSES)) or bounds
        rest = tuple(row for row in bounds if row not in first)
        caption = "What follows if the claim is true: no attacker can exceed these, with any other knowledge"
        columns = heads("What an attacker might do", "Bound")
        limits = (
            f"The guarantee limits what the model reveals because one {finding.subject} was included. General "
            "patterns, such as that smokers fall ill more often, still apply to everyone."
        )
        blocks.append(Table(caption=caption, columns=columns, rows=first))
        if rest:
            blocks.append(Fold("Bounds on single guesses", (Table(caption=caption, columns=columns, rows=rest),)))
        blocks.append(Paragraph(text=limits, tone="note"))
    return Section(
        id="guarantee",
        title="The guarantee that is claimed",
        link="Guarantee",
        blocks=tuple(blocks),
        text=(
            f"[{finding.standing}] {claim}",
            *(f"The guarantee is void because: {caveat}" for caveat in caveats),
            *(() if finding.setting is None else (f"Chosen setting: {_setting(finding)}. {SEARCHED}",)),
            *(f"{bound.name}: {bound.cells[0]}" for bound in bounds),
        ),
        text_title="Guarantee",
    )


def guarantee_figures(finding: GuaranteeFinding) -> tuple[Fact, ...]:
    """Return the figures that matter most of a claimed guarantee."""
    value = f"epsilon {finding.epsilon:g}"
    first = Fact("Claimed guarantee", value, f"delta {finding.delta:g}; {finding.standing}")
    names = (f"Revealed about one {finding.subject}", "Membership guesses")
    if finding.bits_per_record is None:
        return (first, *(Fact(name, "not known", "The guarantee is void.") for name in names))
    aside = "if the claim is true"
    right = next((b.value for b in finding.bounds if b.name == "membership advantage"), 1.0)
    return (
        first,
        Fact(names[0], f"at most {_up(finding.bits_per_record, 1):.1f} bits", aside),
        Fact(
            names[1],
            f"correct at most {_percent((1 + right) / 2)} of the time",
            f"{aside}; tossing a coin is correct 50% of the time",
        ),
    )


def _setting(finding: GuaranteeFinding) -> str:
    return wording.clean(finding.setting or "")


def _facts(finding: GuaranteeFinding) -> tuple[Fact, ...]:
    scale = (
        "no count is said to be noisy"
        if finding.count_scale is None
        else f"scale {wording.amount(finding.count_scale)} records"
    )
    return (
        Fact(
            "Epsilon",
            f"{finding.epsilon:g}",
            f"A factor of {_factor(finding.epsilon)}. {RELATIONS.get(finding.neighboring, '')}".strip(),
        ),
        Fact(
            "Delta",
            f"{finding.delta:g}",
            "Probabilities may exceed that factor by at most this amount."
            if finding.delta
            else "No failure probability: the bound always holds.",
        ),
        Fact(
            "Neighboring datasets",
            wording.clean(finding.neighboring),
            f"For k {finding.subject}s together: k times epsilon.",
        ),
        Fact(
            "Privacy unit",
            wording.clean(finding.unit),
            "All records of one person together."
            if finding.subject == "person"
            else "One record; several records of one person are not covered together.",
        ),
        Fact(
            "Noise in the counts",
            scale,
            "The counts are evidence, not facts: figures that need exact counts are not measured."
            if finding.count_scale is not None
            else "",
        ),
        *(() if finding.setting is None else (Fact("Chosen setting", _setting(finding), SEARCHED),)),
    )


def _factor(epsilon: float) -> str:
    return f"e^{epsilon:g}" if epsilon > 20 else wording.amount(math.exp(epsilon))


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


@shows("released", rank=MODEL - 1)
def _summary_section(finding: SummaryFinding, findings: Findings) -> Section:
    """Return each release with its numbers and noise, and the check of the certificate."""
    target = f" Target: {wording.clean(finding.target)}." if finding.target else ""
    lead = (
        f"{wording.plural(finding.n_values, 'noisy number')}, from which every model follows. Models use "
        f"{finding.n_used:,} of {wording.plural(finding.n_attributes, 'attribute')}; the summary holds counts of "
        f"{wording.plural(finding.n_pairs, 'pair')}.{target}"
    )
    checked = (*_certificate(finding),)
    table = Table(
        caption="Each release, how many numbers it holds, and the standard deviation of the noise in each",
        columns=heads("Release", figures=("Numbers", "Noise")),
        rows=tuple(
            Row(name=wording.clean(one.name), cells=(f"{one.n_values:,}", f"{one.deviation:.3g}"))
            for one in finding.releases
        ),
    )
    rows = tuple(
        (wording.clean(one.name), wording.plural(one.n_values, "number"), f"noise {one.deviation:.3g}")
        for one in finding.releases
    )
    return Section(
        id="released",
        title="What the summary released",
        link="Releases",
        blocks=(Paragraph(text=lead, tone="lead"), *(Paragraph(text=text) for text in checked), table),
        text=(lead, *checked, *rows),
    )


def _certificate(finding: SummaryFinding) -> tuple[str, ...]:
    """Return what was checked of the certificate, in sentences."""
    if not finding.certified:
        return ("The certificate is of another summary: this one was changed after it was released.",)
    paid = "" if finding.receipt else " It names no ledger, so nothing shows what else was released of the records."
    measured = f" They include a measurement of the {wording.clean(finding.measured)}." if finding.measured else ""
    return (
        f"The certificate is of this summary (SHA-256 {finding.digest[:12]}). Its releases, added up again, have "
        f"epsilon {finding.spent:.4g}.{measured}{paid}",
    )
