"""Membership attacks in words: who can be told to have been in the data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from glassine.attacks.outcome import ShownCount
from glassine.auditing.findings import AttackFinding, MembershipFinding
from glassine.report import wording
from glassine.report.statements import Fact

__all__ = ["AttackRow", "MembershipView", "membership_view"]

STATES = {"measured": "measured", "not applicable": "not measured", "failed": "failed"}
FOUND, NOT_FOUND = "found members", "found none beyond chance"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackRow:
    """One attack in words.

    Attributes
    ----------
    name, advantage, accuracy, at_percent, meaning : str
        The attack and its figures; empty where it was not made.
    state : str
        ``found members``, ``found none beyond chance``, ``not measured`` or ``failed``.
    """

    name: str
    advantage: str
    accuracy: str
    at_percent: str
    meaning: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipView:
    """Membership in words.

    Attributes
    ----------
    described : str
        Whose records were told apart.
    headline, sentence : str
        What the attacks found, in a few words and in a sentence or two.
    tone : str
        ``outside policy`` where members were found, ``finding`` where attacks found none, ``inconclusive`` otherwise.
    figures : tuple of Fact
        The few figures that matter most.
    rows : tuple of AttackRow
        Each attack.
    facts : tuple of Fact
        The holdout, midpoints, vulnerability.
    curve : tuple of (float, float)
        The ROC curve of the strongest attack that scores every record.
    curve_of : str
        Its name.
    """

    described: str
    headline: str
    sentence: str
    tone: str
    figures: tuple[Fact, ...]
    rows: tuple[AttackRow, ...]
    facts: tuple[Fact, ...]
    curve: tuple[tuple[float, float], ...]
    curve_of: str


def membership_view(found: MembershipFinding) -> MembershipView:
    """Return what membership attacks found, in words."""
    headline, tone = _headline(found)
    facts = (_holdout(found), _midpoints(found), _vulnerability(found))
    return MembershipView(
        described=f"{_sizes(found)} Intervals of {found.confidence:.0%} confidence.",
        headline=headline,
        sentence=_sentence(found),
        tone=tone,
        figures=(_strongest(found), *(replace(fact, meaning="") for fact in facts[1:])),
        rows=tuple(_row(attack) for attack in found.attacks),
        facts=facts,
        curve=found.roc,
        curve_of=found.roc_attack or "",
    )


def _headline(found: MembershipFinding) -> tuple[str, str]:
    made = [attack for attack in found.attacks if attack.status == "measured"]
    if any(attack.detected for attack in made) or found.accused:
        return "Members were found", "outside policy"
    return ("No attack found members", "finding") if made else ("Inconclusive", "inconclusive")


def _strongest(found: MembershipFinding) -> Fact:
    name = "Advantage of the strongest attack"
    best = found.best
    if best is None:
        return Fact(name=name, value="not known", meaning="No attack was made.")
    return Fact(name=name, value=f"{best.advantage:.3f}", meaning=f"{wording.clean(best.attack)}; 0 is guessing")


def _sentence(found: MembershipFinding) -> str:
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
            f"{_points(best.advantage)} more of the members than of other people."
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


def _row(attack: AttackFinding) -> AttackRow:
    name = wording.clean(attack.attack)
    name = name[:1].upper() + name[1:]
    if attack.status != "measured":
        reason = wording.clean(attack.reason or "")
        reason = reason[:1].upper() + reason[1:]
        return AttackRow(
            name=name, advantage="", accuracy="", at_percent="", meaning=reason, state=STATES[attack.status]
        )
    return AttackRow(
        name=name,
        advantage=f"{attack.advantage:.3f} ({attack.advantage_low:.3f} to {attack.advantage_high:.3f})",
        accuracy=f"{attack.balanced_accuracy:.3f} ({attack.baseline} {attack.baseline_accuracy:.3f})",
        at_percent="" if attack.tpr_at_percent is None else wording.percent(attack.tpr_at_percent, digits=1),
        meaning=wording.clean(attack.statement),
        state=FOUND if attack.detected else NOT_FOUND,
    )


def _holdout(found: MembershipFinding) -> Fact:
    value = {True: "differ", False: "no difference seen", None: "not tested"}[found.shifted]
    value = "share records" if found.overlap else value
    told = wording.clean(f"{found.overlap} {found.shift}".strip())
    told = told[:1].upper() + told[1:]
    return Fact(name="Members and holdout without the model", value=value, meaning=f"{told} {_sizes(found)}")


def _sizes(found: MembershipFinding) -> str:
    return f"{_records(found.n_members)} in the data, {_records(found.n_nonmembers)} in the holdout."


def _midpoints(found: MembershipFinding) -> Fact:
    value = "not known" if found.accused is None else f"{_records(found.accused)} accused{_wrongly(found)}"
    return Fact(name="Named by a threshold's midpoint", value=value, meaning=wording.clean(found.midpoints))


def _wrongly(found: MembershipFinding) -> str:
    if not found.accused or found.accused_wrongly is None:
        return ""
    return f", {'none' if found.accused_wrongly == 0 else found.accused_wrongly} wrongly"


def _vulnerability(found: MembershipFinding) -> Fact:
    name = "Vulnerability (distributional overfitting)"
    if found.vulnerability is None:
        return Fact(name=name, value="not known", meaning=wording.clean(found.unmeasured_vulnerability))
    return Fact(
        name=name,
        value=f"{found.vulnerability:.3f}",
        meaning=f"0.5 where each part holds members and others alike; {found.vulnerability_by_chance:.3f} is what "
        f"chance alone gives so many records. {found.confidence:.0%} interval "
        f"{found.vulnerability_low:.3f} to {found.vulnerability_high:.3f}.",
    )


def _records(count: ShownCount) -> str:
    return wording.plural(count, "record") if isinstance(count, int) else f"{count} records"
