"""Growing a rule list without privacy: GreedyRL of the rule-list paper; and what every way of growing returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from glassine.counting.slices import Progress
from glassine.learners.greedy_pool import GreedyPool
from glassine.learners.greedy_search import Remaining
from glassine.learners.list_class import DrawnList
from glassine.learners.split_gini import best_split
from glassine.privacy.accounting import Event

__all__ = ["Growth", "grow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A grown list.

    Attributes
    ----------
    drawn : DrawnList
        Rules and labels by index.
    counts : ndarray of int64, shape (k + 1, c)
        Class counts of the rules in order, the default rule last; noisy but in a fit without privacy.
    scale : float or None
        Scale of the noise on the counts.
    events : tuple of Event
        What was released.
    """

    drawn: DrawnList
    counts: npt.NDArray[np.int64]
    scale: float | None = None
    events: tuple[Event, ...] = ()


def grow(
    pool: GreedyPool, remaining: Remaining, length: int, support: Fraction, progress: Progress | None = None
) -> Growth:
    """Grow a list by the least weighted Gini impurity, without privacy.

    Each rule captures at least ``ceil(support * n)`` records, and as many remain before it. Of equal rules the first of
    the pool is taken. The list ends at its length, when too few records remain, or when no rule lowers the impurity.

    Guarantee
    ---------
    none: rules and exact counts are those of the records.
    """
    n = int(remaining.totals().sum())
    least = math.ceil(support * n)
    chosen: list[int] = []
    counts: list[npt.NDArray[np.int64]] = []
    while len(chosen) < length:
        totals = remaining.totals()
        rules = pool.admissible(chosen)
        if not rules or int(totals.sum()) < max(1, least):
            break
        captured = remaining.counts(rules)
        best = best_split(captured, totals, captured.sum(axis=1) >= least)
        if progress is not None:
            progress(len(chosen) + 1, length)
        if best is None:
            break
        chosen.append(rules[best])
        counts.append(remaining.take(rules[best]))
    counts.append(remaining.totals())
    labels = [int(np.argmax(row)) for row in counts]
    drawn = DrawnList(tuple(zip(chosen, labels, strict=False)), labels[-1])
    return Growth(drawn=drawn, counts=np.array(counts))
