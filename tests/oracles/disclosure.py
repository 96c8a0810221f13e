"""What a world of the sensitive attribute is, condition by condition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.people import true_table
from glassine.attacks.disclosure.worlds import known_totals
from tests.attacks.disclosure.whole_worlds import ENUMERATION


def is_world(disclosure: Disclosure, table: npt.ArrayLike) -> bool:
    """Return whether a table, shape (q, c), is a world."""
    given = np.asarray(table, dtype=np.float64)
    people = disclosure.people
    if given.shape != (len(people.sizes), disclosure.leaves.n_classes) or not np.isfinite(given).all():
        return False
    x = np.rint(given).astype(np.int64)
    if not ((x == given).all() and (x >= 0).all() and np.array_equal(x.sum(axis=1), people.sizes)):
        return False
    counts = np.zeros((len(people.leaf_nodes), x.shape[1]), dtype=np.int64)
    np.add.at(counts, people.leaf, x)
    told = all(bool(ENUMERATION.agrees_with_leaves(disclosure.leaves, row, i)) for i, row in enumerate(counts))
    totals = known_totals(disclosure)
    if totals is not None:
        told = told and bool((counts.sum(axis=0) == totals)[totals >= 0].all())
    return told and disclosure.constraints.satisfied(x)


def true_world(disclosure: Disclosure, truth: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the table of the true classes, shape (q, c)."""
    return true_table(disclosure.people, disclosure.classes, truth)
