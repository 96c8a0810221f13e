"""Membership attacks as findings show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome, ShownCount
from glassine.auditing.findings import AttackFinding, MembershipFinding
from glassine.auditing.findings.membership import strongest_of
from glassine.auditing.suppression import Suppression

if TYPE_CHECKING:
    from glassine.attacks.membership.confidence_intervals import Estimate
    from glassine.attacks.membership.result import MembershipResult
    from glassine.attacks.membership.suite import MembershipAttacks

ATTACKS = {
    "gap": "gap attack",
    "best_loss": "best-loss threshold",
    "black_box": "black-box attack model",
    "label_only": "label-only attack",
    "lira_online": "online likelihood-ratio attack",
    "lira_offline": "offline likelihood-ratio attack",
    "rmia_online": "online RMIA",
    "rmia_offline": "offline RMIA",
    "leaf_outcomes": "leaf-outcome attack",
    "counts": "published-counts attack",
}
MOST_CORNERS = 200


def describe_membership(suite: MembershipAttacks, suppression: Suppression) -> MembershipFinding:
    """Return what membership attacks found, rates rounded to three digits."""
    shift, vulnerability = suite.shift, suite.vulnerability
    attacks = (
        *(_attack(name, getattr(suite, field), suppression) for field, name in ATTACKS.items()),
        _midpoint_attack(suite),
    )
    strongest = strongest_of(attacks)
    scoring = max(suite.results, key=lambda result: result.advantage.value, default=None)
    accused, wrongly, midpoints = _midpoints(suite, suppression)
    few = min(suite.n_members, suite.n_nonmembers) < suppression.below
    measured = vulnerability.value if isinstance(vulnerability, Measured) else None
    return MembershipFinding(
        n_members=suppression.count(suite.n_members),
        n_nonmembers=suppression.count(suite.n_nonmembers),
        confidence=suite.confidence,
        attacks=attacks,
        strongest=None if strongest is None else strongest.attack,
        roc=() if scoring is None or few else _thinned(scoring.roc.log_points()),
        roc_attack=None if scoring is None else scoring.attack,
        shifted=shift.value.shifted if isinstance(shift, Measured) else None,
        shift=_shift(suite),
        shift_auc=round(shift.value.auc, 3) if isinstance(shift, Measured) else None,
        overlap=_overlap(suite),
        **_rounded("vulnerability", None if measured is None else measured.vulnerability),
        vulnerability_by_chance=None if measured is None else round(measured.control, 3),
        unmeasured_vulnerability="" if isinstance(vulnerability, Measured) else vulnerability.reason,
        loss_gap=round(suite.losses.value.statistic, 3) if isinstance(suite.losses, Measured) else None,
        loss_gap_p_value=float(f"{suite.losses.value.p_value:.2g}") if isinstance(suite.losses, Measured) else None,
        unmeasured_loss_gap="" if isinstance(suite.losses, Measured) else suite.losses.reason,
        accused=accused,
        accused_wrongly=wrongly,
        midpoints=midpoints,
        details=None if suppression.below else suite.to_dict(),
    )


def _unmade(name: str, outcome: NotApplicable | Failed) -> AttackFinding:
    """Return an attack without figures, with the reason."""
    status: Any = "failed" if isinstance(outcome, Failed) else "not applicable"
    return AttackFinding(attack=name, status=status, reason=outcome.reason)


def _rounded(name: str, interval: Estimate | None) -> dict[str, Any]:
    """Return a figure and the ends of its interval to three digits, by the names of fields; None where it is not."""
    ends = {name: "value", f"{name}_low": "low", f"{name}_high": "high"}
    return {field: None if interval is None else round(getattr(interval, end), 3) for field, end in ends.items()}


def _attack(name: str, outcome: Outcome[MembershipResult], suppression: Suppression) -> AttackFinding:
    if not isinstance(outcome, Measured):
        return _unmade(name, outcome)
    result = outcome.value
    rates = {rate.fpr: rate for rate in result.low_rates}
    baseline, reached = result.baseline
    return AttackFinding(
        attack=result.attack,
        status="measured",
        **_rounded("advantage", result.advantage),
        balanced_accuracy=round(result.balanced_accuracy.value, 3),
        baseline_accuracy=round(reached, 3),
        baseline=baseline,
        auc=round(result.auc.value, 3),
        tpr_at_percent=round(rates[0.01].tpr.value, 3),
        tpr_at_permille=round(rates[0.001].tpr.value, 3),
        permille_resolved=rates[0.001].resolved,
        p_value=round(result.control.p_value, 4),
        detected=result.detected,
        statement=_without_small_counts(result, suppression),
    )


def _without_small_counts(result: MembershipResult, suppression: Suppression) -> str:
    text = result.verdict
    for count, noun in ((result.n_members, "members"), (result.n_nonmembers, "non-members")):
        if count < suppression.below:
            text = text.replace(f"{count} {noun}", f"fewer than {suppression.below} {noun}")
    return text


def _midpoint_attack(attacks: MembershipAttacks) -> AttackFinding:
    """Return the midpoint attack as one that flags only the records it names."""
    name, outcome = "midpoint attack", attacks.midpoint
    if not isinstance(outcome, Measured):
        return _unmade(name, outcome)
    advantage = outcome.value.advantage
    if advantage is None:
        reason = (
            "candidates of whom it is not said who is a member were given."
            if outcome.value.base_rate is None
            else "every record of the holdout equals a training record in the columns that the model knows, so that no "
            "accusation can be wrong. Give more columns or other records."
        )
        return _unmade(name, NotApplicable(reason))
    return AttackFinding(
        attack=name,
        status="measured",
        **_rounded("advantage", advantage),
        balanced_accuracy=round((1 + advantage.value) / 2, 3),
        baseline_accuracy=0.5,
        baseline="guessing",
        detected=advantage.low > 0,
        statement="The thresholds of the model name single records; these are flagged as members.",
    )


def _thinned(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return at most some 200 of the corners, rounded: all of them would hold every count."""
    step = max(1, -(-len(points) // MOST_CORNERS))
    kept = [*points[:-1:step], *points[-1:]]
    return tuple((float(f"{x:.3g}"), float(f"{y:.3g}")) for x, y in kept)


def _shift(attacks: MembershipAttacks) -> str:
    if not isinstance(attacks.shift, Measured):
        return attacks.shift.reason
    shift = attacks.shift.value
    return (
        f"A classifier that knows attributes and class, but not the model, separates them with an area under the ROC "
        f"curve of {shift.auc:.3f} (p = {shift.p_value:.2g}); 0.5 is chance."
    )


def _overlap(attacks: MembershipAttacks) -> str:
    """Return why the holdout seems to hold members; empty where it does not."""
    if attacks.overlap.suspicious:
        return attacks.overlap.statement
    if isinstance(attacks.shift, Measured) and attacks.shift.value.alike:
        return "Members and holdout are more similar than two samples of one population."
    return ""


def _midpoints(
    attacks: MembershipAttacks, suppression: Suppression
) -> tuple[ShownCount | None, ShownCount | None, str]:
    """Return how many records, or people, thresholds name, how many of these wrongly, and that in words."""
    outcome = attacks.midpoint
    if not isinstance(outcome, Measured):
        return None, None, outcome.reason
    result = outcome.value
    n, wrongly = result.n_named, None
    if result.precision is not None:
        wrongly = suppression.count(round(n * (1 - result.precision.value)))
    text = (
        f"{result.n_unique} of {result.n_thresholds} thresholds are the midpoint of just one pair of values; "
        f"{result.expected_by_chance:.1f} would be by chance."
    )
    if result.n_unique and not n:
        text += " These may be chance, so no record is flagged."
    return suppression.count(n), wrongly, text
