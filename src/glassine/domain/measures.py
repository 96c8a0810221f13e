"""Measures of the values between many cuts of a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from glassine.domain.attributes import Integer, Real, exact


def measures(attribute: Integer | Real, edges: Sequence[float | Fraction]) -> list[int | Fraction]:
    """Return the measure between neighbors of increasing edges, of thousands without asking for each edge twice.

    Examples
    --------
    >>> measures(Integer(0, 9), (-math.inf, 2.5, 8, math.inf))
    [3, 6, 1]
    """
    lo, hi = attribute.lo, attribute.hi
    ups: list[int | Fraction]
    if attribute.codes:
        return [attribute.measure(left, right) for left, right in pairwise(edges)]
    if isinstance(attribute, Integer):
        ups = [int(lo) - 1 if edge < lo else int(hi) if edge >= hi else math.floor(edge) for edge in edges]
    elif attribute.resolution is None:
        bottom, top = exact(lo), exact(hi)
        ups = [bottom if edge <= lo else top if edge >= hi else exact(edge) for edge in edges]
    else:
        ups = [0 if edge < lo else attribute.n_up_to(min(edge, hi)) for edge in edges]
    return [right - left for left, right in pairwise(ups)]
