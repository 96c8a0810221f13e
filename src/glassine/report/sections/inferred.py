"""Who is inferred: of which class people are practically certain, where, and which remedy costs least."""

from __future__ import annotations

from collections.abc import Sequence

from glassine.attacks.outcome import About, ShownCount
from glassine.attacks.remedy_table import DisclosureRemedy
from glassine.auditing.findings import DisclosureFinding
from glassine.auditing.findings.disclosure import CertainFinding, DisclosureDetails
from glassine.report import wording
from glassine.report.blocks import Piece, Row, Table, heads
from glassine.report.charts import draw_bar
from glassine.report.section import Section, section
from glassine.report.wording import people

MOST_GROUPS = 3
"""Subgroups that the sentence names."""


def certain_sections(finding: DisclosureFinding) -> tuple[Section, ...]:
    """Return of whom the value is practically certain; nothing where it was not looked at."""
    title, text = "Who is inferred", certain_text(finding)
    return (section("certain", title, certain_blocks(finding), text=text, text_title=title),) if text else ()


def certain_blocks(finding: DisclosureFinding) -> Piece:
    """Return a sentence on the people whose class is practically certain, and bars by class and by subgroup."""
    everybody = [one for one in finding.certain if not one.attribute]
    groups = [one for one in finding.certain if one.attribute]
    return (
        *certain_text(finding)[:1],
        *identified_text(finding),
        _certain_bars("Outcome", "Practically certain, by class", everybody) if _some(everybody) else None,
        _certain_bars("Subgroup", "Practically certain, in the subgroups where most are", groups) if groups else None,
    )


def _certain_bars(head: str, caption: str, rows: Sequence[CertainFinding]) -> Table:
    most = max(map(_least, (one.certain for one in rows)), default=0) or 1
    columns = heads(head, "Certain, drawn", figures=("Certain", "Base rate"))
    return Table(
        caption=f"{caption}. Base rate: the share of the class, known without the model",
        columns=columns,
        rows=tuple(
            Row(
                name=_group_of(one),
                note=f"of {people(one.number)}" if one.attribute else "",
                cells=(draw_bar(_least(one.certain) / most), str(one.certain), wording.percent(one.base_rate)),
            )
            for one in rows
        ),
        style="bars",
    )


def _group_of(one: CertainFinding) -> str:
    outcome = wording.clean(one.outcome)
    return f"{wording.clean(one.attribute)} = {wording.clean(one.value)}: {outcome}" if one.attribute else outcome


def certain_text(finding: DisclosureFinding) -> tuple[str, ...]:
    """Return of which class people are practically certain, how many, and where."""
    if not finding.certain:
        return ()
    name = wording.clean(finding.sensitive)
    everybody = _some([one for one in finding.certain if not one.attribute])
    if not everybody:
        return (f"No value of {name} is practically certain for anyone.", *identified_text(finding))
    by_class = "; ".join(
        f"{_group_of(one)} for {people(one.certain)} (base rate {wording.percent(one.base_rate)})" for one in everybody
    )
    groups = [one for one in finding.certain if one.attribute][:MOST_GROUPS]
    where = "; ".join(f"{_group_of(one)} for {people(one.certain)} of {one.number}" for one in groups)
    return (
        f"Practically certain values of {name}: {by_class}.",
        *identified_text(finding),
        *((f"Most of them are in: {where}.",) if groups else ()),
    )


def identified_text(finding: DisclosureFinding) -> tuple[str, ...]:
    """Return for how many people a value is so probable in every possible dataset; nothing where it is for none."""
    reached = [one for one in finding.identified if one.people != 0]
    if not reached:
        return ()
    counts = ", ".join(f"{one.probability:g} for {people(one.people)}" for one in reached)
    return (f"In every possible dataset, some value has a probability of at least {counts}.",)


def _some(rows: Sequence[CertainFinding]) -> list[CertainFinding]:
    return [one for one in rows if one.certain != 0]


def _least(count: ShownCount) -> int:
    """Return a count as a bar shows it."""
    return count if isinstance(count, int) else count.about if isinstance(count, About) else 0


def cheapest_remedy(details: DisclosureDetails, base_rate: float | None) -> str:
    """Return the remedy that costs least accuracy for each bit by which it moves the reader from the truth."""
    held_out = any(row.holdout_accuracy is not None for row in details.remedies)

    def accuracy(row: DisclosureRemedy) -> float | None:
        return row.holdout_accuracy if held_out else row.accuracy

    first, *others = details.remedies
    before, right = first.d_overall, accuracy(first)
    if before is None or right is None:
        return ""
    tried = [
        (max(right - after, 0.0) / (row.d_overall - before), before - row.d_overall, row, after)
        for row in others
        if row.d_overall is not None and row.d_overall > before and (after := accuracy(row)) is not None
    ]
    if not tried:
        return "No remedy that was tried removes any of the disclosure."
    _, _, row, after = min(tried, key=lambda one: one[:2])
    base = "" if base_rate is None else f" Without the model {wording.percent(base_rate)} of guesses are right."
    return (
        f"Costs least for what it removes: {row.name}. D_overall grows from {before:.3g} to {row.d_overall:.3g} bits, "
        f"and accuracy on {'held-out' if held_out else 'the training'} records goes from {wording.percent(right)} to "
        f"{wording.percent(after)}.{base}"
    )
