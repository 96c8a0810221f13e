"""Whether a holdout holds members: equal records on both sides, beside what duplicates explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.gap import read_sides
from glassine.attacks.membership.matching import codes_of_rows
from glassine.attacks.membership.outputs import Records
from glassine.data.sample import Sample

__all__ = ["Overlap", "overlap", "overlap_of"]

N_DEALS = 199
SMALLEST_SHARE = 0.005
"""Smallest share of the holdout, beyond what chance explains, that matters to an attack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How many records of a holdout equal a member.

    Attributes
    ----------
    n_shared : int
        Holdout records that equal a member in every column and in class; of people, those with such a record.
    expected : float
        Their mean number if the same records were dealt to both sides at random. Of a data set with duplicates
        some would be shared; of a copy of the members only half would.
    n_nonmembers : int
        Number of holdout records.
    suspicious : bool
        Whether more are shared than in each of 199 deals, and by at least half a percent of the holdout.
    """

    n_shared: int
    expected: float
    n_nonmembers: int
    suspicious: bool

    @property
    def statement(self) -> str:
        """What the figures say, in a sentence, with shares in place of counts."""
        shared, dealt = self.n_shared / self.n_nonmembers, self.expected / self.n_nonmembers
        if not self.n_shared:
            return "No record of the holdout equals a member."
        figures = (
            f"{shared:.1%} of the holdout's records equal a member in every column and in class; "
            f"{dealt:.1%} would if the same records were dealt to both sides at random"
        )
        if self.suspicious:
            return f"The holdout seems to hold members: {figures}. Take a holdout that was not used for training."
        return f"{figures}: no more than duplicates explain."


def overlap(members: Sample | Records, nonmembers: Sample | Records) -> Overlap:
    """Count the records of a holdout that equal a member, and compare with what duplicates explain.

    An attack that is tested on members in the place of non-members cannot tell them apart: the holdout then hides what
    the model gives away. Equal records also occur by nature, where there are few columns of few values. So the records
    of both sides are dealt again, at random, 199 times, and counted again.

    Parameters
    ----------
    members, nonmembers : Sample
        Members and non-members, with their classes.

    Returns
    -------
    Overlap
        Counts, and whether they are suspicious. The deals are always the same.

    Raises
    ------
    InvalidDataError
        If the data are empty or lack a column.

    Notes
    -----
    Where nearly every record has its like on both sides, as with a few binary columns, a copy of the members looks like
    any other sample: this test cannot see it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    >>> overlap(Sample(X[:100], y[:100]), Sample(X[100:], y[100:])).n_shared
    0
    >>> overlap(Sample(X[:100], y[:100]), Sample(X[50:150], y[50:150])).suspicious
    True
    """
    inside, outside = read_sides(members, nonmembers)
    return overlap_of(inside, outside)


def overlap_of(inside: Records, outside: Records) -> Overlap:
    """Return the overlap of members and non-members that were read already."""
    codes = codes_of_rows(inside.join(outside), with_target=True)
    m, n = inside.number, outside.number
    # The person of each record, members first: the same people, with all their records, are dealt anew.
    whose = np.concatenate([inside.whose, inside.number + outside.whose])
    shared = _shared(codes, whose < m, whose)
    rng = np.random.default_rng(0)
    dealt = np.zeros(N_DEALS if shared else 0)
    for deal in range(len(dealt)):
        member = np.zeros(m + n, dtype=bool)
        member[rng.permutation(m + n)[:m]] = True
        dealt[deal] = _shared(codes, member[whose], whose)
    expected = float(dealt.mean()) if shared else 0.0
    return Overlap(
        n_shared=shared,
        expected=expected,
        n_nonmembers=n,
        suspicious=bool(shared and shared > dealt.max() and shared - expected >= SMALLEST_SHARE * n),
    )


def _shared(codes: npt.NDArray[np.intp], member: npt.NDArray[np.bool_], whose: npt.NDArray[np.int64]) -> int:
    """Return how many non-members, people or records, have a record that equals a member's."""
    held = np.zeros(int(codes.max()) + 1, dtype=bool)
    held[codes[member]] = True
    hit = np.zeros(int(whose.max()) + 1, dtype=bool)
    hit[whose[~member & held[codes]]] = True
    return int(hit.sum())
