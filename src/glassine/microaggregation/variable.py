"""V-MDAV: groups that take further records in, up to 2k - 1, as long as these are closer to them than to others."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassine.counting.compiling import compiled
from glassine.microaggregation.scan import farthest, fill, form_group, measure, remove

__all__ = ["advance", "join_rest"]


@compiled
def _lowest(distances: Any, numbers: Any, n: int) -> int:
    """Return the place of the smallest distance, the lowest record of equal ones."""
    place = 0
    for i in range(1, n):
        if distances[i] <= distances[place] and (distances[i] < distances[place] or numbers[i] < numbers[place]):
            place = i
    return place


@compiled
def _extend(state: Any, rows: Any, kinds: Any, members: Any, k: int, factor: float, gaps: Any) -> None:
    """Take the record nearest to any of the group in, while it is ``factor`` times closer to it than to the others."""
    group, n = state.labels[members[0]], state.cursor[0]
    gaps[:n] = np.inf
    for i in range(k):
        measure(state, rows[members[i]], kinds[members[i]])
        for t in range(n):
            gaps[t] = min(gaps[t], state.distances[t])
    for _ in range(k - 1):
        n = state.cursor[0]
        if n == 0:
            return
        place = _lowest(gaps, state.numbers, n)
        record = state.numbers[place]
        measure(state, rows[record], kinds[record])
        others = np.inf
        for t in range(n):
            if t != place:
                others = min(others, state.distances[t])
        if n > 1 and not gaps[place] < factor * others:
            return
        for t in range(n):
            gaps[t] = min(gaps[t], state.distances[t])
        gaps[place] = gaps[n - 1]
        remove(state, place, group)


@compiled
def advance(
    state: Any, rows: Any, kinds: Any, middle: Any, middle_kinds: Any, k: int, factor: float, gaps: Any, steps: int
) -> bool:
    """Form a group a step around the record farthest from the middle; return False once fewer than k remain."""
    for _ in range(steps):
        if state.cursor[0] < k:
            return False
        measure(state, middle, middle_kinds)
        members = form_group(state, farthest(state.distances, state.numbers, state.cursor[0]), k)
        _extend(state, rows, kinds, members, k, factor, gaps)
    return True


@compiled
def join_rest(
    rows: Any, kinds: Any, centers: Any, center_kinds: Any, tables: Any, squared: bool, k: int, sizes: Any, labels: Any
) -> None:
    """Put each record without a group into the closest one of fewer than 2k - 1, or the closest one if all are full."""
    n_groups = centers.shape[1]
    found = np.empty(n_groups)
    for record in range(len(labels)):
        if labels[record] >= 0:
            continue
        fill(centers, center_kinds, tables, squared, n_groups, rows[record], kinds[record], found)
        chosen, roomy = -1, -1
        for g in range(n_groups):
            if chosen < 0 or found[g] < found[chosen]:
                chosen = g
            if sizes[g] < 2 * k - 1 and (roomy < 0 or found[g] < found[roomy]):
                roomy = g
        labels[record] = roomy if roomy >= 0 else chosen
        sizes[labels[record]] += 1
