"""What a membership attack found, beside what guessing finds and what it finds where there is nothing to find."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from glassine.attacks.membership.intervals import Estimate
from glassine.attacks.membership.roc import LowRate, Roc
from glassine.attacks.outcome import Failed, Measured, NotApplicable

__all__ = ["SHIFT_LEVEL", "BestThreshold", "Control", "MembershipResult", "Shift", "chance", "plain"]

SHIFT_LEVEL = 0.01
"""Members and holdout count as different without the model where chance makes them look so in fewer cases than this."""

ALIKE_LEVEL = 0.0001
"""The same of an area below 0.5, which must not be taken for an overlap lightly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestThreshold:
    """The threshold that is best on the very records on which it is judged: an upper bound, not a figure to expect.

    Attributes
    ----------
    threshold : float
        Lowest score that counts as a member's.
    balanced_accuracy, advantage : float
        What it reaches on these records.
    """

    threshold: float
    balanced_accuracy: float
    advantage: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The same attack where there is nothing to find: membership permuted among the records.

    Attributes
    ----------
    advantage : float
        Mean advantage over the permutations.
    advantage_high : float
        Its 95 % quantile.
    p_value : float
        Share of permutations with at least the advantage that was measured.
    n_permutations : int or None
        Number of permutations drawn; None where all are counted exactly.
    method : str
        What is permuted and repeated.
    """

    advantage: float
    advantage_high: float
    p_value: float
    n_permutations: int | None
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """Whether members and holdout differ already without the model: a classifier trained to tell them apart.

    Attributes
    ----------
    auc : float
        Chance that it scores a member, unseen by it, above a non-member.
    balanced_accuracy : float
        Its balanced accuracy on records unseen by it.
    p_value : float
        Chance of an area as far from 0.5 where both come from one population; twice the smaller of two halves'.
    shifted : bool
        Whether the p-value lies below 0.01 and the area above 0.5.
    n_members, n_nonmembers : int
        Numbers of records used.
    method : str
        How it was tested.
    """

    auc: float
    balanced_accuracy: float
    p_value: float
    shifted: bool
    n_members: int
    n_nonmembers: int
    method: str

    @property
    def alike(self) -> bool:
        """Whether the area lies so far below 0.5 that the holdout seems to hold members.

        Where a record stands on both sides, and the classifier learns from it on one, it mistakes it on the other.
        """
        return self.p_value < ALIKE_LEVEL and self.auc < 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipResult:
    """What a membership attack found.

    Members and non-members count alike, however many there are of each.

    Attributes
    ----------
    attack : str
        Name of the attack.
    n_members, n_nonmembers : int
        Numbers of records on which it was judged.
    balanced_accuracy : Estimate
        Mean of the share of members called members and the share of non-members called so.
    advantage : Estimate
        True less false positive rate; 0 for guessing.
    tpr, fpr : Estimate
        Shares of members, and of non-members, that are called members.
    decision : str
        How the threshold was chosen, and on which records.
    auc : Estimate
        Area under the ROC curve.
    roc : Roc
        The curve.
    low_rates : tuple of LowRate
        True positive rates at false positive rates of 1 % and 0.1 %.
    best : BestThreshold or None
        The best threshold in hindsight, an upper bound; None where the attack has no threshold to choose.
    guess : float
        Balanced accuracy without the model: 0.5.
    gap : Estimate or None
        Balanced accuracy of the gap attack on the same records; None for the gap attack itself.
    control : Control
        The same attack on permuted membership.
    shift : Shift or None
        Whether members and holdout differ without the model; None where it was not tested.
    notes : tuple of str
        What else a reader must know, such as degenerate scores.
    """

    attack: str
    n_members: int
    n_nonmembers: int
    balanced_accuracy: Estimate
    advantage: Estimate
    tpr: Estimate
    fpr: Estimate
    decision: str
    auc: Estimate
    roc: Roc
    low_rates: tuple[LowRate, ...]
    best: BestThreshold | None
    guess: float
    gap: Estimate | None
    control: Control
    shift: Shift | None
    notes: tuple[str, ...] = ()

    @property
    def baseline(self) -> tuple[str, float]:
        """Name and balanced accuracy of the best naive baseline."""
        if self.gap is not None and self.gap.value > self.guess:
            return "the gap attack", self.gap.value
        return "guessing", self.guess

    @property
    def below_baseline(self) -> bool:
        """Whether the attack reaches less than its best naive baseline."""
        return not self.balanced_accuracy.value >= self.baseline[1] - 1e-12

    @property
    def detected(self) -> bool:
        """Whether the attack beats guessing beyond chance: by its interval and by its control."""
        level = 1 - self.advantage.confidence
        return self.advantage.low > 0 and self.control.p_value <= level

    @property
    def verdict(self) -> str:
        """What the figures say, in sentences."""
        said = []
        if self.detected:
            said.append(
                f"The {self.attack} tells members from non-members: balanced accuracy {self.balanced_accuracy}, where "
                f"guessing has 0.5 ({chance(self.control.p_value)})."
            )
        else:
            said.append(
                f"The {self.attack} did not tell members from non-members beyond chance: balanced accuracy "
                f"{self.balanced_accuracy} ({chance(self.control.p_value)}). Another attack may."
            )
        if self.below_baseline:
            name, value = self.baseline
            said.append(f"It reaches less than its naive baseline, {name}, with {value:.3f}.")
        if self.advantage.high < 0:
            said.append(
                "Members are told from others in the wrong direction: the holdout is easier, or holds the "
                "members' like."
            )
        if self.shift is not None and self.shift.alike:
            said.append(
                "Without the model, a classifier takes members for the holdout and the holdout for members (area under "
                f"the ROC curve {self.shift.auc:.3f}, {chance(self.shift.p_value)}): the holdout seems to hold members."
            )
        if self.shift is not None and self.shift.shifted:
            said.append(
                "Members and holdout differ already without the model (area under the ROC curve "
                f"{self.shift.auc:.3f}, {chance(self.shift.p_value)}): the difference may be theirs, not the model's."
            )
        unresolved = [rate.fpr for rate in self.low_rates if not rate.resolved]
        if unresolved:
            rates = " and ".join(f"{rate:.1%}" for rate in unresolved)
            said.append(f"{self.n_nonmembers} non-members cannot resolve a false positive rate of {rates}.")
        return " ".join([*said, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, with the points of the ROC curve for logarithmic axes."""
        return {
            **plain(self, skip=("roc",)),
            "baseline": list(self.baseline),
            "below_baseline": self.below_baseline,
            "detected": self.detected,
            "verdict": self.verdict,
            "roc": plain(self.roc),
            "roc_log_log": [list(point) for point in self.roc.log_points()],
        }

    def __repr__(self) -> str:
        return f"<MembershipResult of the {self.attack}: advantage {self.advantage}>"


def chance(p_value: float) -> str:
    """Return a p-value as text; what is too small for the arithmetic is not 0."""
    return f"p = {p_value:.2g}" if p_value >= 1e-12 else "p < 1e-12"


def plain(value: Any, skip: tuple[str, ...] = ()) -> Any:
    """Return a value as what JSON knows: outcomes with their status, records as dictionaries, no infinite numbers."""
    if isinstance(value, Measured):
        return {"status": "measured", "value": plain(value.value)}
    if isinstance(value, NotApplicable | Failed):
        status = "failed" if isinstance(value, Failed) else "not applicable"
        return {"status": status, "reason": value.reason}
    if isinstance(value, MembershipResult) and not skip:
        return value.to_dict()
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value) if f.name not in skip}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
