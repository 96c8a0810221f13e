"""Membership attacks: who can be told to have been in the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glassine import __version__
from glassine.attacks.outcome import ShownCount
from glassine.auditing.findings import AttackFinding, InputFile, MembershipFinding
from glassine.report import wording
from glassine.report.charts import draw_roc
from glassine.report.section import (
    Block,
    Column,
    Fact,
    Facts,
    Figure,
    Page,
    Paragraph,
    Row,
    Section,
    Status,
    Table,
    clean_inputs,
    facts_of,
    sentence,
)

__all__ = ["attack_page", "membership_section", "membership_sentence"]

STATES = {"measured": "measured", "not applicable": "not measured", "failed": "failed"}
COLUMNS = ("Attack", "Advantage", "Balanced accuracy", "Found at 1% false alarms", "Status")
FOUND, NOT_FOUND = "found members", "found none beyond chance"


def membership_section(found: MembershipFinding) -> Section:
    """Return what attacks found, each attack, its ROC curve, and what else tells members apart."""
    told = membership_sentence(found)
    return Section(
        id="members",
        title="Who was in the data",
        link="Membership",
        blocks=(Paragraph(text=told, tone="lead"), *_attacks(found), Facts(_facts(found))),
        text=(told,),
        text_title="What a reader learns",
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
    headline, tone = _headline(found)
    described = described or f"{_sizes(found)} Intervals of {found.confidence:.0%} confidence."
    return Page(
        kind="membership attacks",
        title=wording.clean(title or "Membership attacks"),
        described=wording.clean(described),
        tone=tone,
        headline=headline,
        sentence=membership_sentence(found),
        caveat="An attack that finds nothing does not show that nothing can be found.",
        figures=(_strongest(found), *(replace(fact, meaning="") for fact in _facts(found)[1:])),
        sections=(_attacks_section(found), _holdout_section(found)),
        terms=("member", "advantage", "balanced accuracy", "beyond chance", "false alarms", "vulnerability"),
        inputs=clean_inputs(inputs),
        holder_only=True,
        version=__version__,
    )


def _attacks_section(found: MembershipFinding) -> Section:
    """Return each attack and its ROC curve, for a page that is about nothing else."""
    attacks, *figure = _attacks(found)
    return Section(
        id="members",
        title="Who was in the data",
        blocks=(attacks, *figure),
        text=tuple(map(_told, map(_row, found.attacks))),
        text_title="Attacks: advantage with its interval; 0 is guessing",
    )


def _holdout_section(found: MembershipFinding) -> Section:
    """Return what else tells members apart: the holdout itself, midpoints, and overfitting."""
    facts = _facts(found)
    return Section(
        id="holdout",
        title="Holdout, midpoints and overfitting",
        blocks=(Facts(facts),),
        text=facts_of(facts),
    )


def _attacks(found: MembershipFinding) -> tuple[Block, ...]:
    attacks = Table(
        caption="Each attack: the share of members that it accuses less that of others, with its interval; 0 is "
        "guessing",
        columns=tuple(map(Column, COLUMNS)),
        rows=tuple(map(_row, found.attacks)),
        style="stack attacks",
    )
    chart = draw_roc(found.roc, found.roc_attack or "")
    figure = Figure(
        drawings=(chart,),
        title=f"The {wording.clean(found.roc_attack or '')}, where false alarms are rare.",
        caption="Above the dashed line it finds more members than it wrongly accuses others.",
    )
    return (attacks, figure) if chart else (attacks,)


def _told(row: Row) -> str:
    advantage, *_, status = row.cells
    state = status.word if isinstance(status, Status) else ""
    return f"[{state}] {row.name}{f': {advantage}' if advantage else ''}. {row.remark}"


def _facts(found: MembershipFinding) -> tuple[Fact, ...]:
    return (_holdout(found), _midpoints(found), _vulnerability(found))


def _headline(found: MembershipFinding) -> tuple[str, str]:
    made = [attack for attack in found.attacks if attack.status == "measured"]
    if any(attack.detected for attack in made) or found.accused:
        return "Members were found", "outside policy"
    return ("No attack found members", "finding") if made else ("Inconclusive", "inconclusive")


def _strongest(found: MembershipFinding) -> Fact:
    name = "Advantage of the strongest attack"
    best = found.best
    if best is None:
        return Fact(name, "not known", "No attack was made.")
    return Fact(name, f"{best.advantage:.3f}", f"{wording.clean(best.attack)}; 0 is guessing")


def membership_sentence(found: MembershipFinding) -> str:
    """Return what the attacks found in a sentence or two."""
    made = [attack for attack in found.attacks if attack.status == "measured"]
    if not made:
        return "No attack that calls each record a member or not could be made."
    best, detected = found.best, [attack for attack in made if attack.detected]
    if best is None or not detected:
        high = max(attack.advantage_high or 0.0 for attack in made)
        told = (
            f"None of the {wording.plural(len(made), 'attack')} made tells members from others beyond chance; "
            f"the advantage may still be up to {high:.3f}. Another attack may find more."
        )
    else:
        told = (
            f"A reader can tell members from others: the {wording.clean(best.attack)} accuses "
            f"{_points(best.advantage)} more of the members than of other {wording.units()}."
        )
        if best not in detected:
            told += f" That may be chance; what the {wording.clean(detected[0].attack)} finds is not."
    if found.accused:
        told += f" Thresholds name {_records(found.accused)} of the training data{_wrongly(found)}."
    if found.overlap:
        told += " But the holdout seems to hold members, which hides what can be told."
    if found.shifted:
        told += " But members and holdout differ already without the model, so the difference may be theirs."
    return told


def _points(advantage: float | None) -> str:
    return f"{100 * (advantage or 0.0):.1f} percentage points"


def _row(attack: AttackFinding) -> Row:
    name = sentence(attack.attack)
    if attack.status != "measured":
        return Row(name=name, cells=("", "", "", Status(STATES[attack.status])), remark=sentence(attack.reason or ""))
    return Row(
        name=name,
        cells=(
            f"{attack.advantage:.3f} ({attack.advantage_low:.3f} to {attack.advantage_high:.3f})",
            f"{attack.balanced_accuracy:.3f} ({attack.baseline} {attack.baseline_accuracy:.3f})",
            "" if attack.tpr_at_percent is None else wording.percent(attack.tpr_at_percent, digits=1),
            Status(FOUND if attack.detected else NOT_FOUND),
        ),
        remark=wording.clean(attack.statement),
    )


def _holdout(found: MembershipFinding) -> Fact:
    value = {True: "differ", False: "no difference seen", None: "not tested"}[found.shifted]
    value = "share records" if found.overlap else value
    told = sentence(f"{found.overlap} {found.shift}".strip())
    return Fact("Members and holdout without the model", value, f"{told} {_sizes(found)}")


def _sizes(found: MembershipFinding) -> str:
    return f"{_records(found.n_members)} in the data, {_records(found.n_nonmembers)} in the holdout."


def _midpoints(found: MembershipFinding) -> Fact:
    value = "not known" if found.accused is None else f"{_records(found.accused)} accused{_wrongly(found)}"
    return Fact("Named by a threshold's midpoint", value, wording.clean(found.midpoints))


def _wrongly(found: MembershipFinding) -> str:
    if not found.accused or found.accused_wrongly is None:
        return ""
    return f", {'none' if found.accused_wrongly == 0 else found.accused_wrongly} wrongly"


def _vulnerability(found: MembershipFinding) -> Fact:
    name = "Vulnerability (distributional overfitting)"
    if found.vulnerability is None:
        return Fact(name, "not known", wording.clean(found.unmeasured_vulnerability))
    return Fact(
        name,
        f"{found.vulnerability:.3f}",
        f"0.5 where each part holds members and others alike; {found.vulnerability_by_chance:.3f} is what "
        f"chance alone gives so many records. {found.confidence:.0%} interval "
        f"{found.vulnerability_low:.3f} to {found.vulnerability_high:.3f}.",
    )


def _records(count: ShownCount) -> str:
    return wording.plural(count, "record") if isinstance(count, int) else f"{count} records"
