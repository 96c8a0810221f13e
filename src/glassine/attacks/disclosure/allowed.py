"""Which candidate splits the learner is known to have looked at: those it had, with enough people in every branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.people import People
from glassine.attacks.disclosure.slacks import MULTIWAY, THRESHOLD

if TYPE_CHECKING:
    from glassine.attacks.disclosure.constraints import Families

__all__ = ["allowed_candidates"]


def allowed_candidates(
    families: Families, people: People, smallest: int | None, members: npt.NDArray[np.float64] | None
) -> npt.NDArray[np.bool_]:
    """Return which candidates are known to have been allowed, shape (g,): that at each group of the families.

    Parameters
    ----------
    families : Families
        The candidates. Of kind MULTIWAY all groups are one candidate.
    people : People
        Whom the reader knows.
    smallest : int or None
        Fewest training records of a branch; None if it is not known.
    members : ndarray, shape (l,), or None
        Training records in each leaf, where the people are a superset of them; None where they are the people.
        A branch then holds at least those of a leaf's records that the leaf's other people are too few to be.
    """
    out = families.known.copy()
    if smallest == 1 and members is not None:
        # A branch that is empty gains nothing, so that its constraint holds by itself.
        return out
    for f in range(len(families)):
        first, last = int(families.families[f]), int(families.families[f + 1])
        if smallest is None:
            out[first:last] = False
            continue
        kind = families.kinds[f]
        if members is None:
            parts = families.sizes[first:last].astype(np.float64)
            whole = parts.sum()
            one = np.cumsum(parts) if kind == THRESHOLD else parts
            least = parts if kind == MULTIWAY else np.minimum(one, whole - one)
        else:
            least = _certain(families, people, f, members)
        out[first:last] &= (least >= smallest).all() if kind == MULTIWAY else least >= smallest
    return out


def _certain(families: Families, people: People, f: int, members: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the training records that are certain to be in the smaller branch of each candidate of a family."""
    first, last = int(families.families[f]), int(families.families[f + 1])
    held = families.members(f)
    group = np.repeat(np.arange(last - first), np.diff(families.groups[first : last + 1]))
    leaves, leaf = np.unique(people.leaf[held], return_inverse=True)
    table = np.zeros((last - first, len(leaves)))
    np.add.at(table, (group, leaf), people.sizes[held])
    whole, own = table.sum(axis=0), members[leaves]
    one = np.cumsum(table, axis=0) if families.kinds[f] == THRESHOLD else table
    inside = np.maximum(own - (whole - one), 0.0).sum(axis=1)
    if families.kinds[f] == MULTIWAY:
        return np.asarray(inside)
    return np.asarray(np.minimum(inside, np.maximum(own - one, 0.0).sum(axis=1)))
