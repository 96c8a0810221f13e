"""What membership attacks found, as findings show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from glassine.attacks.outcome import ShownCount

SIGNIFICANT = 0.05
"""Corrected p-value below which an advantage is said to be beyond chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackFinding:
    """One membership attack; rates are rounded to three digits.

    Attributes
    ----------
    attack : str
        Its name.
    status : str
        ``measured``, ``not applicable`` or ``failed``; only a measured one has figures.
    reason : str or None
        Why there are no figures.
    advantage, advantage_low, advantage_high : float or None
        Share of members called members less that of non-members called so, with its interval.
    balanced_accuracy, baseline_accuracy : float or None
        Of the attack, and of its best naive baseline.
    baseline : str or None
        That baseline: guessing, or the gap attack.
    auc : float or None
        Area under the ROC curve.
    tpr_at_percent, tpr_at_permille : float or None
        Share of the members found where 1 %, and 0.1 %, of the non-members are accused.
    permille_resolved : bool or None
        Whether there are enough non-members to resolve 0.1 % of them.
    p_value : float or None
        Chance of such an advantage where membership is permuted.
    detected : bool or None
        Whether it beats guessing beyond chance.
    statement : str
        What it says, in sentences; empty without figures.
    """

    attack: str
    status: Literal["measured", "not applicable", "failed"]
    reason: str | None = None
    advantage: float | None = None
    advantage_low: float | None = None
    advantage_high: float | None = None
    balanced_accuracy: float | None = None
    baseline_accuracy: float | None = None
    baseline: str | None = None
    auc: float | None = None
    tpr_at_percent: float | None = None
    tpr_at_permille: float | None = None
    permille_resolved: bool | None = None
    p_value: float | None = None
    detected: bool | None = None
    statement: str = ""


def strongest_of(attacks: Sequence[AttackFinding]) -> AttackFinding | None:
    """Return the attack of the largest advantage, of equal ones that of the largest lower bound; None without any."""
    made = [attack for attack in attacks if attack.advantage is not None]
    return max(made, key=lambda attack: (attack.advantage or 0.0, attack.advantage_low or 0.0), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipFinding:
    """How well an attacker infers membership in the training data.

    Figures are hidden where there are too few records for them to be shown.

    Attributes
    ----------
    n_members, n_nonmembers : ShownCount
        Records of the training data and of the holdout.
    confidence : float
        Confidence of the intervals.
    attacks : tuple of AttackFinding
        What each attack found.
    strongest : str or None
        The attack of the largest advantage; None if none was measured.
    roc : tuple of (float, float)
        ROC curve of the strongest attack that scores every record: false and true positive rates above 0, for
        logarithmic axes.
    roc_attack : str or None
        That attack.
    shifted : bool or None
        Whether members and holdout differ already without the model, so that a difference may be theirs; None where it
        was not tested.
    shift : str
        How that was tested, or why not.
    shift_auc : float or None
        Area under the ROC curve of the classifier that separates them without the model.
    overlap : str
        Why the holdout seems to hold members; empty where it does not.
    vulnerability, vulnerability_low, vulnerability_high, vulnerability_by_chance : float or None
        Distributional overfitting of Yaghini et al.: 0.5 where leaves or rules hold members and non-members in equal
        shares, with its interval and its mean where membership is permuted.
    unmeasured_vulnerability : str
        Why there is no vulnerability; empty if there is.
    loss_gap, loss_gap_p_value : float or None
        Statistic of Kolmogorov and Smirnov of the losses of members and of the holdout, and its p-value.
    unmeasured_loss_gap : str
        Why they were not compared; empty if they were.
    accused : ShownCount or None
        Members that thresholds give away as midpoints of two values; None where the attack does not apply.
    accused_wrongly : ShownCount or None
        Non-members among those accused.
    midpoints : str
        What the midpoint attack found, or why it does not apply.
    details : mapping or None
        All that the attacks found, row numbers included; None where small counts are suppressed.
    """

    n_members: ShownCount
    n_nonmembers: ShownCount
    confidence: float
    attacks: tuple[AttackFinding, ...]
    strongest: str | None
    roc: tuple[tuple[float, float], ...]
    shifted: bool | None
    shift: str
    shift_auc: float | None
    overlap: str
    vulnerability: float | None
    vulnerability_low: float | None
    vulnerability_high: float | None
    vulnerability_by_chance: float | None
    unmeasured_vulnerability: str
    accused: ShownCount | None
    accused_wrongly: ShownCount | None
    midpoints: str
    roc_attack: str | None = None
    loss_gap: float | None = None
    loss_gap_p_value: float | None = None
    unmeasured_loss_gap: str = ""
    details: Mapping[str, object] | None = None

    @property
    def explained(self) -> float:
        """How much of an advantage a difference explains that is there without the model."""
        return abs(2 * (self.shift_auc or 0.5) - 1) if self.shifted else 0.0

    @property
    def best(self) -> AttackFinding | None:
        """The strongest attack: the one figure that sentences, pages and verdicts give."""
        return strongest_of(self.attacks)

    @property
    def corrected_p_value(self) -> float | None:
        """The smallest p-value of an attack, times their number (Bonferroni), in [0, 1]; None where none was tested."""
        made = [attack for attack in self.attacks if attack.advantage is not None]
        tested = [attack.p_value for attack in made if attack.p_value is not None]
        return min(1.0, len(made) * min(tested)) if tested else None

    @property
    def beyond_chance(self) -> bool:
        """Whether some attack beats guessing, the number of attacks being taken into account.

        An attack without a p-value does if its interval, of the confidence of all, lies above 0.
        """
        made = [attack for attack in self.attacks if attack.detected]
        p_value = self.corrected_p_value
        if any(attack.p_value is None and (attack.advantage_low or 0.0) > 0 for attack in made):
            return True
        return bool(made) and p_value is not None and p_value < SIGNIFICANT
