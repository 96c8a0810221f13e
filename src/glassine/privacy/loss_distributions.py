"""Distributions of privacy losses on a grid: upper bounds of what a list of releases costs, near the exact figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import scipy

from glassine.errors import InvalidMechanismError
from glassine.records.arrays import Array

# Privacy filters: releases whose number and budgets depend on earlier releases, within a total fixed beforehand.


ROUNDING = 1e-9
"""How far, relatively, the squares may exceed the total: for parts that were worked out in floating point."""


class GaussianFilter:
    """A total of Gaussian differential privacy from which releases are paid before they are drawn.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy of everything that is released, up to a factor ``1 + 1e-9`` of its square:
    each release may be chosen, and its budget set, by what was released before, if each is Gaussian private at what
    :meth:`spend` granted it. See ``loss_distributions.md``.

    Parameters
    ----------
    mu : float
        The total, positive and fixed before anything is released.

    Raises
    ------
    InvalidMechanismError
        If the total is not positive and finite.

    Examples
    --------
    >>> spending = GaussianFilter(0.5)
    >>> round(spending.share(0.64), 12), round(spending.share(0.36), 12)
    (0.4, 0.3)
    """

    __slots__ = ("_spent", "mu")

    def __init__(self, mu: float) -> None:
        if not 0 < mu < math.inf:
            raise InvalidMechanismError(f"the total mu of a filter must be positive and finite, got {mu}.")
        self.mu = mu
        self._spent = 0.0

    def spend(self, mu: float) -> float:
        """Return the mu that a release may cost; it is spent from then on.

        Raises
        ------
        InvalidMechanismError
            If it is not positive, or not left; nothing is spent then, and nothing may be released.
        """
        if not mu > 0:
            raise InvalidMechanismError(f"a release must cost a positive mu, got {mu}.")
        spent = self._spent + mu * mu
        # Refused before it is spent, and spent before it is drawn: what is released later follows from earlier
        # releases.
        if not spent <= self.mu * self.mu * (1 + ROUNDING):
            raise InvalidMechanismError(
                f"the releases must stay within a mu of {self.mu:g}, and one of {mu:g} exceeds what is left.",
                remedy="Give each release a smaller share.",
            )
        self._spent = spent
        return mu

    def share(self, part: float) -> float:
        """Return the mu of a release that may cost a share of the squared total, as :meth:`spend` does."""
        return self.spend(self.mu * math.sqrt(part))


Kind = Literal["pure", "laplace", "selection", "gaussian", "discrete gaussian"]

MOST = 2000
"""Points of a grid; more are joined two by two."""

PARTS = 128
"""Cells of the losses of a single release whose losses are continuous."""

FINE = 32.0
"""Cells for each standard deviation of a Gaussian loss."""

NEGLIGIBLE = 1e-7
"""Share of delta that may be lost, in total, where tails are cut off."""

LARGEST_PURE = 40.0
"""Epsilon above which losses of Laplace noise and selections count as randomized response: exponentials stay finite."""

LARGEST_SIGMA = 1e4
"""Standard deviation of discrete Gaussian noise up to which every integer has its own place at first."""

MOST_RELEASES = 10**8
"""Releases up to which rounding, at most 1e-12 of a probability for each, is negligible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DominatingPair:
    """A public pair of distributions that dominates a release, in either order."""

    # "pure": randomized response; "laplace": Laplace noise; "selection": the exponential mechanism; "gaussian" and
    # "discrete gaussian": such noise.
    kind: Kind
    size: float  # Epsilon; mu of Gaussian noise; sigma of discrete Gaussian noise on integers that move by 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Losses:
    """Losses on a grid with their probabilities under the first distribution of a pair."""

    # first, step: loss of the first point, and the distance of the points.
    first: float
    step: float
    masses: Array  # Probabilities; shape (points,)
    infinite: float = 0.0  # Probability of an infinite loss

    def delta(self, epsilon: float) -> float:
        """Return the delta at an epsilon: the mean of ``1 - exp(epsilon - loss)`` where it is positive."""
        losses = self.first + self.step * np.arange(len(self.masses))
        above = losses > epsilon
        # expm1: no cancellation where a loss is close to epsilon.
        return float(self.infinite - (self.masses[above] * np.expm1(epsilon - losses[above])).sum())

    def on(self, step: float) -> Losses:
        """Return losses on a grid of another step, each split between the two points beside it."""
        # The split keeps the probabilities under both distributions, so that the result dominates.
        if step == self.step:
            return self
        places = np.arange(len(self.masses)) * (self.step / step)
        below = np.floor(places)
        # The split keeps the mean of exp(-loss), the probability under the other distribution: the pair on the grid
        # dominates.
        upper = np.clip(np.expm1(-(places - below) * step) / math.expm1(-step), 0.0, 1.0)
        at = below.astype(np.int64)
        masses = np.zeros(int(at[-1]) + 2)
        masses += np.bincount(at, self.masses * (1 - upper), len(masses))
        masses += np.bincount(at + 1, self.masses * upper, len(masses))
        return Losses(first=self.first, step=step, masses=masses, infinite=self.infinite)

    def trimmed(self, lost: float) -> Losses:
        """Return losses without tails: a largest part of at most so much counts as infinite, a least part as higher."""
        masses = self.masses
        # Both tails move upwards, so that delta can only grow.
        cut = int(np.searchsorted(np.cumsum(masses[::-1]), lost, side="right"))
        raised = int(np.searchsorted(np.cumsum(masses), lost, side="right"))
        raised = min(raised, len(masses) - cut - 1)
        if cut >= len(masses) or raised < 0:
            return self
        kept = masses[raised : len(masses) - cut].copy()
        kept[0] += masses[:raised].sum()
        infinite = self.infinite + float(masses[len(masses) - cut :].sum())
        losses = Losses(first=self.first + raised * self.step, step=self.step, masses=kept, infinite=infinite)
        while len(losses.masses) > MOST:
            losses = losses.on(2 * losses.step)
        return losses

    def after(self, other: Losses, lost: float) -> Losses:
        """Return the losses of a release of this kind and one of the other kind together."""
        width = len(self.masses) * self.step + len(other.masses) * other.step
        step = max(min(self.step, other.step), width / MOST)
        if self.step == other.step:
            step = self.step
        one, two = self.on(step), other.on(step)
        return Losses(
            first=one.first + two.first,
            step=step,
            # Sums of products of numbers that are not negative: no cancellation, unlike by Fourier transforms.
            masses=np.convolve(one.masses, two.masses),
            infinite=one.infinite + two.infinite,
        ).trimmed(lost)

    def repeated(self, count: int, lost: float) -> Losses:
        """Return the losses of so many releases of this kind."""
        composed_losses: Losses | None = None
        # By squaring. Each product is trimmed, so that grids stay small, and ``lost`` allows for all of them.
        power = self
        while True:
            if count & 1:
                composed_losses = power if composed_losses is None else composed_losses.after(power, lost)
            count >>= 1
            if not count:
                return power if composed_losses is None else composed_losses
            power = power.after(power, lost)


def composed(pairs: Sequence[tuple[DominatingPair, int]], delta: float) -> Callable[[float], float]:
    """Return the delta, as a function of epsilon, of releases that pairs dominate.

    Each pair comes with how often it is in the list; ``delta``, in (0, 1), is what tails are negligible against.

    Guarantee
    ---------
    none on its own: an upper bound for the accountant, at every epsilon; it is near the exact figure where that is
    about the delta that is named. See ``loss_distributions.md``.

    Examples
    --------
    >>> noise = [(DominatingPair(kind="laplace", size=0.1), 50)]
    >>> round(composed(noise, 1e-6)(3.1207) * 1e6, 2)
    1.0
    """
    listed = tuple((pair, count) for pair, count in pairs if pair.size > 0 and count)
    if not listed:
        return lambda epsilon: 0.0
    number = sum(count for _, count in listed)
    if number > MOST_RELEASES:
        return lambda epsilon: 1.0
    losses = _product(listed, delta)

    def curve(epsilon: float) -> float:
        # The grid's places are off by their rounding, probabilities by that of each product.
        place = epsilon - 1e-12 * (1 + abs(epsilon) + abs(losses.first))
        return min(1.0, losses.delta(place) * (1 + 1e-12 * number + 1e-9) + 1e-290)

    return curve


@lru_cache(maxsize=64)
def _product(pairs: tuple[tuple[DominatingPair, int], ...], delta: float) -> Losses:
    # What one release loses at either end counts as often as the release.
    lost = max(NEGLIGIBLE * delta / (8 * sum(count for _, count in pairs)), 1e-295)
    parts = [_losses(pair, lost).trimmed(lost).repeated(count, lost) for pair, count in pairs]
    # The widest first, so that what is narrow meets its final grid.
    parts.sort(key=lambda losses: -losses.step * len(losses.masses))
    total = parts[0]
    for part in parts[1:]:
        total = total.after(part, lost)
    return total


def _losses(pair: DominatingPair, lost: float) -> Losses:
    """Return the losses of one release, with tails of at most so much cut off."""
    size, kind = pair.size, pair.kind
    if kind == "gaussian":
        return _gaussian(size, lost)
    if kind == "discrete gaussian":
        return _discrete_gaussian(size, lost)
    if kind == "pure" or size > LARGEST_PURE:
        return Losses(
            first=-size, step=2 * size, masses=np.array([scipy.special.expit(-size), scipy.special.expit(size)])
        )
    # Densities proportional to exp(loss / 2) on [-size, size]; of Laplace noise that is a part, between two points.
    step = 2 * size / PARTS
    left = -size + step * np.arange(PARTS)
    cells = np.exp((left - size) / 2) * math.expm1(step / 2)
    upper = 1 / (1 + math.exp(-step / 2))
    masses = np.append(cells * (1 - upper), 0.0) + np.append(0.0, cells * upper)
    if kind == "selection":
        return Losses(first=-size, step=step, masses=masses / -math.expm1(-size))
    masses /= 2
    masses[0] += math.exp(-size) / 2
    masses[-1] += 0.5
    return Losses(first=-size, step=step, masses=masses)


def _gaussian(mu: float, lost: float) -> Losses:
    """Return the losses of Gaussian noise: normal, of mean ``mu**2 / 2`` and standard deviation mu."""
    # Normal tails beyond x are below exp(-x^2 / 2).
    reach = math.sqrt(-2 * math.log(lost))
    step, points = mu / FINE, 2 * math.ceil(reach * FINE)
    ends = np.linspace(-points / (2 * FINE), points / (2 * FINE), points + 1)
    # Differences of the distribution function on the side where it is small.
    inner, outer = np.abs(ends[:-1]), np.abs(ends[1:])
    near, far = np.minimum(inner, outer), np.maximum(inner, outer)
    masses = scipy.special.ndtr(-near) - scipy.special.ndtr(-far)
    # Of a cell [a, a + h] the share at its upper end, for the same probability under the other distribution.
    shifted = _normal_between(ends + mu)
    losses = mu * ends[:-1] + mu * mu / 2
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        upper = -np.expm1(np.log(shifted) + losses - np.log(masses)) / -math.expm1(-step)
    # Where it cannot be worked out, all of it; and a little more, for rounding.
    upper = np.clip(np.where(np.isfinite(upper), upper, 1.0) + 1e-7 + 1e-12 / step, 0.0, 1.0)
    masses = masses * (1 + 1e-12)
    spread = np.append(masses * (1 - upper), 0.0) + np.append(0.0, masses * upper)
    spread[0] += lost
    return Losses(first=float(losses[0]), step=step, masses=spread, infinite=lost)


def _normal_between(ends: Array) -> Array:
    """Return the normal probabilities of the cells between some ends."""
    near = np.where(ends[:-1] >= 0, scipy.special.ndtr(-ends[:-1]) - scipy.special.ndtr(-ends[1:]), 0.0)
    return np.asarray(np.where(ends[:-1] >= 0, near, scipy.special.ndtr(ends[1:]) - scipy.special.ndtr(ends[:-1])))


def _discrete_gaussian(sigma: float, lost: float) -> Losses:
    """Return the losses of discrete Gaussian noise on an integer that moves by 1."""
    reach = math.ceil(sigma * math.sqrt(-2 * math.log(lost))) + 1
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-(places.astype(np.float64) ** 2) / (2 * sigma * sigma))
    # The sum of these weights is below that of all, so that the probabilities are bounds from above.
    masses = weights / weights.sum()
    masses[0] += lost
    return Losses(first=(1 - 2 * reach) / (2 * sigma**2), step=1 / sigma**2, masses=masses, infinite=lost)
