"""Membership attacks: which records can be identified as training data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glassine import __version__
from glassine.auditing.findings import AttackFinding, Findings, InputFile, MembershipFinding
from glassine.report import wording
from glassine.report.blocks import Block, Column, Fact, Figure, Row, Status, Table, fold, paragraph
from glassine.report.charts import draw_roc
from glassine.report.figures import facts, table
from glassine.report.section import (
    LEARNED,
    Body,
    Page,
    Section,
    clean_inputs,
    figures_section,
    section,
    sentence,
    shows,
)

STATES = {"measured": "measured", "not applicable": "not measured", "failed": "failed"}
COLUMNS = ("Attack", "Advantage", "Balanced accuracy", "True positives at 1% false positives", "Status")
FOUND, NOT_FOUND = "found members", "found none beyond chance"


@shows("membership", "members", "Membership inference", "Membership", text_title=LEARNED, rank=50)
def membership_section(finding: MembershipFinding, findings: Findings) -> Body:
    """Return what each attack found, its ROC curve, and what else identifies members."""
    summary = membership_sentence(finding)
    attacks, *figure = _attacks(finding)
    folded = f"{wording.plural(len(finding.attacks), 'attack')}, each with its figures"
    return (paragraph(summary, "lead"), figure, fold(folded, attacks, _facts(finding))), (summary,)


def attack_page(finding: MembershipFinding, *, title: str | None = None, inputs: Sequence[InputFile] = ()) -> Page:
    """Return the report on membership attacks."""
    headline, tone = _headline(finding)
    return Page(
        kind="membership attacks",
        title=wording.clean(title or "Membership attacks"),
        described=wording.clean(f"{_sizes(finding)} Intervals of {finding.confidence:.0%} confidence."),
        tone=tone,
        headline=headline,
        sentence=membership_sentence(finding),
        caveat="An attack that finds nothing does not show that nothing can be found.",
        figures=(_strongest(finding), *(replace(fact, meaning="") for fact in _facts(finding)[1:])),
        sections=(_attacks_section(finding), _holdout_section(finding)),
        terms=("member", "advantage", "balanced accuracy", "beyond chance", "false positive rate", "vulnerability"),
        inputs=clean_inputs(inputs),
        notice=wording.CHECKER_ONLY,
        version=__version__,
    )


def _attacks_section(finding: MembershipFinding) -> Section:
    """Return each attack and its ROC curve, for a page that is about nothing else."""
    text = map(_as_text, map(_row, finding.attacks))
    heading = "Attacks: advantage with its interval; 0 is guessing"
    return section("members", "Membership inference", _attacks(finding), text=text, text_title=heading)


def _holdout_section(finding: MembershipFinding) -> Section:
    """Return what else identifies members: the holdout, midpoints, and overfitting."""
    return figures_section("holdout", "Holdout, midpoints and overfitting", "", _facts(finding))


def _attacks(finding: MembershipFinding) -> tuple[Block, ...]:
    attacks = Table(
        caption="Each attack: the share of members flagged minus that of non-members, with its interval; 0 is guessing",
        columns=tuple(map(Column, COLUMNS)),
        rows=tuple(map(_row, finding.attacks)),
        style="stack attacks",
    )
    chart = draw_roc(finding.roc, finding.roc_attack or "")
    figure = Figure(
        drawings=(chart,),
        title=f"The {wording.clean(finding.roc_attack or '')}, at low false positive rates.",
        caption="Above the dashed line, it flags a larger share of members than of non-members.",
    )
    return (attacks, figure) if chart else (attacks,)


def _as_text(row: Row) -> str:
    advantage, *_, status = row.cells
    state = status.word if isinstance(status, Status) else ""
    return f"[{state}] {row.name}{f': {advantage}' if advantage else ''}. {row.remark}"


FIGURES = table("""
Members and holdout without the model | {compared} | {seen:sentence} {sizes}
Named by a threshold's midpoint | {accused:people} flagged{wrongly} | {midpoints:sentence} | {midpoints:sentence}
Vulnerability (distributional overfitting) | {vulnerability:.3f} | 0.5 if each part holds equal shares of the members \
and of the non-members; {vulnerability_by_chance:.3f} is what chance alone gives so many records. {confidence:.0%} \
interval {vulnerability_low:.3f} to {vulnerability_high:.3f}. | {unmeasured_vulnerability:clean}
[compared_losses] Losses of members and of the holdout | {compared_losses} | Test of Kolmogorov and Smirnov: \
statistic {loss_gap:.3f}, {p}. Output checkers ask from p = {level:g} on. Of many records it also finds gaps that no \
attack can use.
""")


def _facts(finding: MembershipFinding) -> tuple[Fact, ...]:
    compared = {True: "differ", False: "no difference seen", None: "not tested"}
    p_value = finding.loss_gap_p_value or 0.0
    return facts(
        FIGURES,
        finding,
        compared="share records" if finding.overlap else compared[finding.shifted],
        seen=f"{finding.overlap} {finding.shift}".strip(),
        sizes=_sizes(finding),
        wrongly=_wrongly(finding),
        compared_losses=None if finding.loss_gap is None else compared[p_value < LOSSES_DIFFER],
        p=wording.p_value(p_value),
        level=LOSSES_DIFFER,
    )


def _headline(finding: MembershipFinding) -> tuple[str, str]:
    made = [attack for attack in finding.attacks if attack.status == "measured"]
    if finding.beyond_chance or finding.accused:
        return "Members were found", "outside policy"
    return ("No attack found members beyond chance", "finding") if made else ("Inconclusive", "inconclusive")


def _strongest(finding: MembershipFinding) -> Fact:
    name = "Advantage of the strongest attack"
    best = finding.best
    if best is None:
        return Fact(name, "not known", "No attack was made.")
    return Fact(name, f"{best.advantage:.3f}", f"{wording.clean(best.attack)}; 0 is guessing")


def membership_sentence(finding: MembershipFinding) -> str:
    """Return what the attacks found: the largest advantage with its interval, of how many, and whether it is chance."""
    made = [attack for attack in finding.attacks if attack.status == "measured"]
    best = finding.best
    if not made or best is None:
        return "No attack that flags records as members could run."
    reached = f"{_points(best.advantage)} ({_points(best.advantage_low)} to {_points(best.advantage_high)})"
    name = wording.clean(best.attack)
    text = f"The {name}" if len(made) == 1 else f"The strongest of {len(made):,} attacks is the {name}. It"
    text += f" flags {reached} percentage points more of the members than of the non-members."
    p_value, detected = finding.corrected_p_value, [attack for attack in made if attack.detected]
    tested = (
        ""
        if p_value is None
        else f" ({wording.p_value(p_value)} after correction for {wording.plural(len(made), 'attack')})"
    )
    if finding.beyond_chance:
        text += f" That is beyond chance{tested}."
        if best not in detected:
            text += f" What is beyond chance is what the {wording.clean(detected[0].attack)} finds."
    else:
        text += f" That is not beyond chance{tested}. Other attacks may do better."
    if finding.vulnerability is not None:
        cap = max(0.0, 2 * finding.vulnerability - 1)
        text += (
            f" Within a class, no attack on the leaf of one record exceeds {100 * cap:.1f} points on average "
            f"(V = {finding.vulnerability:.3f})."
        )
    if finding.accused:
        text += f" Thresholds identify {wording.people(finding.accused)} of the training data{_wrongly(finding)}."
    if finding.overlap:
        text += " The holdout seems to contain members, which hides part of what can be inferred."
    if finding.shifted:
        text += " Members and holdout differ even without the model, which may explain the difference."
    return text


def _points(advantage: float | None) -> str:
    return f"{100 * (advantage or 0.0) + 0.0:.1f}"


def _row(attack: AttackFinding) -> Row:
    name = sentence(attack.attack)
    if attack.status != "measured":
        return Row(name=name, cells=("", "", "", Status(STATES[attack.status])), remark=sentence(attack.reason or ""))
    return Row(
        name=name,
        cells=(
            wording.interval(attack.advantage or 0.0, attack.advantage_low or 0.0, attack.advantage_high or 0.0),
            f"{attack.balanced_accuracy:.3f} ({attack.baseline} {attack.baseline_accuracy:.3f})",
            "" if attack.tpr_at_percent is None else wording.percent(attack.tpr_at_percent, digits=1),
            Status(FOUND if attack.detected else NOT_FOUND),
        ),
        remark=wording.clean(attack.statement),
    )


def _sizes(finding: MembershipFinding) -> str:
    return f"{wording.people(finding.n_members)} in the data, {wording.people(finding.n_nonmembers)} in the holdout."


def _wrongly(finding: MembershipFinding) -> str:
    if not finding.accused or finding.accused_wrongly is None:
        return ""
    return f", {'none' if finding.accused_wrongly == 0 else finding.accused_wrongly} wrongly"


LOSSES_DIFFER = 0.05
"""SACRO-ML's level for the generalization gap."""
