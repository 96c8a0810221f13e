"""Suppression: what findings and reports show of small counts. A report is itself a release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from glassine.attacks.outcome import About, Below, Hidden, ShownCount
from glassine.models.table import hidden_sizes

__all__ = ["Suppression", "smallest_of"]

UNKNOWN = "not known"
"""What is said of a count that nothing measured."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """Rules for showing counts of records."""

    below: int  # Counts from 1 to just below this are not shown; 0 shows everything

    def count(self, value: ShownCount) -> ShownCount:
        """Return a count as it may be shown; a suppressed one stays unchanged."""
        return Below(self.below) if isinstance(value, int) and 0 < value < self.below else value

    def part(self, value: int | None, hidden: bool) -> ShownCount | None:
        """Return the size of a part of a total; ``hidden`` as :meth:`hidden` says of it."""
        if not hidden:
            return value
        return Below(self.below) if value and value < self.below else Hidden()

    def rough(self, value: ShownCount) -> ShownCount:
        """Return a size rounded so that neither its complement nor a hidden part can be had by subtraction."""
        if not isinstance(value, int) or not self.below or not value:
            return value
        # Steps as wide as the limit: a difference of two rounded sizes cannot single out a smaller count.
        return About(max(1, round(value / self.below)) * self.below)

    def share(self, value: float) -> float:
        """Return the share of a class, rounded down to a twentieth; 1 stays 1."""
        # An exact share k/n names n and k of a small leaf; of a twentieth many pairs fit. Down, so none reads as 1.
        return value if not self.below or value == 1 else math.floor(value * 20) / 20

    def figure(self, value: float) -> float:
        """Return a figure, to two digits where small counts are hidden."""
        return round(value, 2) + 0.0 if self.below else value

    def bits(self, nats: float) -> float:
        """Return an amount of information in bits, given by natural logarithms."""
        return self.figure(nats / math.log(2))

    def proportion(self, value: float, n: int) -> float:
        """Return a share of n records, too coarse to solve for a small count."""
        return min(1.0, self.mean(value, n)) if self.below else value

    def mean(self, value: float, n: int) -> float:
        """Return a mean over n records of what is at least 0, too coarse to solve for a small count."""
        if not self.below:
            return value
        # One step holds at least as many records as are suppressed, so that a share is no finer than a count.
        unit = max(0.01, self.below / n)
        # A share on a step must not fall below it by the rounding of the division.
        return round(math.floor(value / unit + 1e-9) * unit, 4)

    def hidden(self, sizes: Sequence[int | None]) -> list[bool]:
        """Return which sizes of the parts of a known total to hide.

        See :func:`glassine.models.table.hidden_sizes`.
        """
        return hidden_sizes(sizes, self.below)

    def curve(self, points: Sequence[tuple[float, float]], n_records: int) -> tuple[tuple[float, float], ...]:
        """Return an exposure curve, steps of fewer records than may be shown merged with the next."""
        out: list[tuple[float, float]] = []
        start, size_, weight = 0.0, 0, 0.0
        for share, bits in points:
            size = round((share - start) * n_records)
            start, size_, weight = share, size_ + size, weight + size * bits
            # A step is shown once its records are as many as may be; its bits are their mean.
            if size_ >= self.below:
                out.append((share, weight / size_))
                size_, weight = 0, 0.0
        if size_ and out:  # too few to stand alone: they join the step before
            before, bits = out.pop()
            size = round((before - (out[-1][0] if out else 0.0)) * n_records)
            size_, weight = size_ + size, weight + size * bits
        if size_:
            out.append((1.0, weight / size_))
        return tuple(out)


def smallest_of(sizes: Sequence[ShownCount | None]) -> str:
    """Return the fewest records of a leaf or rule, as a report may show it; a suppressed count is that of a record.

    Examples
    --------
    >>> smallest_of([12, Below(10), Hidden()]), smallest_of([12, 40]), smallest_of([12, None])
    ('1 to 9, suppressed', '12', 'not known')
    """
    if not sizes or None in sizes:
        return UNKNOWN
    limits = [size.below for size in sizes if isinstance(size, Below)]
    if limits:
        return f"1 to {min(limits) - 1:,}, suppressed"
    if any(isinstance(size, Hidden) for size in sizes):
        return "suppressed"
    counts = [size.about if isinstance(size, About) else size for size in sizes if isinstance(size, int | About)]
    return f"{'about ' if any(isinstance(size, About) for size in sizes) else ''}{min(counts):,}"
