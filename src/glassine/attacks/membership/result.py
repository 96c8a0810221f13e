"""What a membership attack found, beside what guessing finds and what it finds where there is nothing to find."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassine.attacks.membership.confidence_intervals import Estimate, ScoreCounts, clopper_pearson
from glassine.attacks.outcome import Failed, Measured, NotApplicable
from glassine.exports import DisplayedToCheckers
from glassine.records.arrays import Array, Bools, Indices

# ROC curves of membership scores, with ties as they are.


MOST_POINTS = 500
"""Corners of a curve that are drawn at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LowRate:
    """True positive rate at a small false positive rate.

    Attributes
    ----------
    fpr : float
        The false positive rate that is allowed.
    tpr : Estimate
        Share of the members found at it; the interval takes the threshold as given.
    resolved : bool
        Whether there are enough non-members for one of them to be a smaller share than ``fpr``. If not, the figure says
        only how many members score above every non-member.
    """

    fpr: float
    tpr: Estimate
    resolved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Roc:
    """A ROC curve, as the corners of a line from (0, 0) to (1, 1).

    Records with the same score are let in together, in random order: the line is straight over ties, so that no order
    among them, least of all one by membership, makes the curve better than it is.

    Attributes
    ----------
    fpr, tpr : tuple of float
        Corners, both coordinates increasing.
    thresholds : tuple of float
        Lowest score let in at each corner; infinite at the first.
    n_members, n_nonmembers : int
        Numbers of records.
    """

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    thresholds: tuple[float, ...]
    n_members: int
    n_nonmembers: int

    @property
    def area(self) -> float:
        """Area under the curve."""
        return float(np.trapezoid(self.tpr, self.fpr))

    def tpr_at(self, fpr: float) -> float:
        """Return the largest true positive rate at a false positive rate."""
        x, y = np.array(self.fpr), np.array(self.tpr)
        last = int(np.searchsorted(x, fpr, side="right")) - 1
        if last == len(x) - 1 or x[last] == fpr:
            return float(y[last])
        share = (fpr - x[last]) / (x[last + 1] - x[last])
        return float(y[last] + share * (y[last + 1] - y[last]))

    def low_rate(self, fpr: float, confidence: float) -> LowRate:
        """Return the true positive rate at a small false positive rate, with an interval."""
        rate = self.tpr_at(fpr)
        # Rounding must not turn a whole number of members into a fraction.
        hits = round(rate * self.n_members, 9)
        return LowRate(
            fpr=fpr, tpr=clopper_pearson(hits, self.n_members, confidence), resolved=self.n_nonmembers * fpr >= 1
        )

    def log_points(self) -> tuple[tuple[float, float], ...]:
        """Return the points (FPR, TPR) to be drawn on logarithmic axes.

        The line starts at a false positive rate of 1 / n_nonmembers, below which nothing is resolved; between corners
        that ties leave far apart there are points in between, since a straight line is curved on logarithmic axes. Of
        very many corners some 500 are given, evenly along the axis.
        """
        floor = 1 / self.n_nonmembers
        grid = np.geomspace(floor, 1, 1 + 16 * max(1, math.ceil(-math.log10(floor))))
        x, y = np.array(self.fpr), np.array(self.tpr)
        corners = np.unique(x[x > floor])
        if len(corners) > MOST_POINTS:
            near = np.searchsorted(corners, np.geomspace(corners[0], corners[-1], MOST_POINTS))
            corners = corners[np.unique(np.minimum(near, len(corners) - 1))]
        rates = np.unique(np.concatenate([[floor], np.minimum(grid, 1.0), corners]))
        # Over each rate the highest point; between two, the line from the last corner of one to the first of the other.
        last = np.searchsorted(x, rates, side="right") - 1
        after = np.minimum(last + 1, len(x) - 1)
        share = (rates - x[last]) / np.where(after > last, x[after] - x[last], 1.0)
        interpolated = y[last] + share * (y[after] - y[last])
        return tuple(
            (rate, height) for rate, height in zip(rates.tolist(), interpolated.tolist(), strict=True) if height > 0
        )


def roc_curve(members: Array, nonmembers: Array) -> Roc:
    """Return the ROC curve of scores that are higher for records that look like members.

    Examples
    --------
    >>> curve = roc_curve(np.array([3.0, 2.0]), np.array([2.0, 1.0]))
    >>> curve.fpr, curve.tpr, curve.area
    ((0.0, 0.0, 0.5, 1.0), (0.0, 0.5, 1.0, 1.0), 0.875)
    """
    return roc_of_counts(ScoreCounts.of(members, nonmembers))


def roc_of_counts(counts: ScoreCounts) -> Roc:
    """Return the ROC curve of scores of which it is counted how many have each."""
    scores = counts.scores[::-1]
    hits, wrong = np.cumsum(counts.members[::-1]), np.cumsum(counts.nonmembers[::-1])
    keep = _corners(wrong, hits)
    return Roc(
        fpr=(0.0, *(wrong[keep] / wrong[-1]).tolist()),
        tpr=(0.0, *(hits[keep] / hits[-1]).tolist()),
        thresholds=(math.inf, *scores[keep].tolist()),
        n_members=int(hits[-1]),
        n_nonmembers=int(wrong[-1]),
    )


def _corners(x: Indices, y: Indices) -> Bools:
    """Return which points of a line from the origin are no mere stop on a straight stretch; the last is kept."""
    dx, dy = np.diff(x, prepend=0), np.diff(y, prepend=0)
    straight = dx[:-1] * dy[1:] == dy[:-1] * dx[1:]
    return np.append(~straight, True)


SHIFT_LEVEL = 0.01
"""Members and holdout count as different without the model where chance makes them look so in fewer cases than this."""

ALIKE_LEVEL = 0.0001
"""The same of an area below 0.5, which must not be taken for an overlap lightly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestThreshold:
    """The threshold that is best on the records that judge it: an upper bound only.

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
class Shift(DisplayedToCheckers):
    """Whether members and holdout differ already without the model: a classifier trained to distinguish them.

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
class LossComparison:
    """The losses of members and of non-members, as the two-sample test of Kolmogorov and Smirnov compares them.

    Attributes
    ----------
    statistic : float
        Largest difference of the two distribution functions, in [0, 1]: the advantage of the best threshold, of either
        sign, on these records themselves.
    p_value : float
        Chance of one as large where both come from one distribution; with ties, an upper bound.
    """

    statistic: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipResult(DisplayedToCheckers):
    """What a membership attack found.

    Members and non-members have equal weight, however many there are of each.

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
                f"The {self.attack} distinguishes members from non-members: balanced accuracy "
                f"{self.balanced_accuracy}, where guessing has 0.5 ({chance(self.control.p_value)})."
            )
        else:
            said.append(
                f"The {self.attack} did not distinguish members from non-members beyond chance: balanced accuracy "
                f"{self.balanced_accuracy} ({chance(self.control.p_value)}). Another attack may."
            )
        if self.below_baseline:
            name, value = self.baseline
            said.append(f"It reaches less than its naive baseline, {name}, with {value:.3f}.")
        if self.advantage.high < 0:
            said.append(
                "The attack flags non-members more often than members: the holdout is easier, or holds records like "
                "the members'."
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


def plain(value: object, skip: tuple[str, ...] = ()) -> Any:
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
