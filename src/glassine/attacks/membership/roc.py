"""ROC curves of membership scores, with ties as they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.intervals import Estimate, clopper_pearson

__all__ = ["LowRate", "Roc", "roc_curve"]

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
            fpr=fpr,
            tpr=clopper_pearson(hits, self.n_members, confidence),
            resolved=self.n_nonmembers * fpr >= 1,
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
        found = y[last] + share * (y[after] - y[last])
        return tuple((rate, height) for rate, height in zip(rates.tolist(), found.tolist(), strict=True) if height > 0)


def roc_curve(members: npt.NDArray[np.float64], nonmembers: npt.NDArray[np.float64]) -> Roc:
    """Return the ROC curve of scores that are higher for records that look like members.

    Parameters
    ----------
    members, nonmembers : ndarray of float, shapes (m,) and (n,), no NaN
        Scores, at least one each.

    Examples
    --------
    >>> curve = roc_curve(np.array([3.0, 2.0]), np.array([2.0, 1.0]))
    >>> curve.fpr, curve.tpr, curve.area
    ((0.0, 0.0, 0.5, 1.0), (0.0, 0.5, 1.0, 1.0), 0.875)
    """
    scores = np.unique(np.concatenate([members, nonmembers]))[::-1]
    found = len(members) - np.searchsorted(np.sort(members), scores, side="left")
    wrong = len(nonmembers) - np.searchsorted(np.sort(nonmembers), scores, side="left")
    keep = _corners(wrong, found)
    return Roc(
        fpr=(0.0, *(wrong[keep] / len(nonmembers)).tolist()),
        tpr=(0.0, *(found[keep] / len(members)).tolist()),
        thresholds=(math.inf, *scores[keep].tolist()),
        n_members=len(members),
        n_nonmembers=len(nonmembers),
    )


def _corners(x: npt.NDArray[np.intp], y: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Return which points of a line from the origin are no mere stop on a straight stretch; the last is kept."""
    dx, dy = np.diff(x, prepend=0), np.diff(y, prepend=0)
    straight = dx[:-1] * dy[1:] == dy[:-1] * dx[1:]
    return np.append(~straight, True)
