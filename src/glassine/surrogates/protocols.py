"""How a release chooses the tree that explains a query, and which changes it proposes."""

from __future__ import annotations

from dataclasses import dataclass

from glassine.errors import InvalidModelError, check_whole, parameter

MOST_STEPS = 100
"""Largest margin and number of votes: more cut points or trees would not be sought in a short time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How a tree is chosen among the closest, and which changes are proposed; public.

    Without an argument it is Protocol 2 of the paper.

    Attributes
    ----------
    splits : bool
        Whether, of the closest trees that decide as the black box, one with a condition is preferred to a closer one
        without.
    margin : int
        How many public cut points a proposed number lies beyond the tree's threshold, within the leaf; 0 for just
        beyond it.
    votes : int
        How many of the trees closest to the changed record must decide as a proposed change says; 0 for none. It
        applies where no black box is asked.

    Raises
    ------
    InvalidModelError
        If a part is out of its range: it may come from a file.
    """

    splits: bool = False
    margin: int = 0
    votes: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.splits, bool):
            raise InvalidModelError(f"{parameter('splits')} of a protocol must be true or false, got {self.splits!r}.")
        for name in ("margin", "votes"):
            check_whole(getattr(self, name), name, 0, MOST_STEPS, kind=InvalidModelError)


PAPER: Protocol = Protocol()
"""Protocol 2 of the paper."""

LADDER = (
    PAPER,
    Protocol(splits=True),
    Protocol(splits=True, margin=2, votes=1),
    Protocol(splits=True, margin=4, votes=3),
    Protocol(splits=True, margin=4, votes=6),
)
"""Protocols that a goal may choose, the least demanding first: each proposes fewer changes than the one before."""

CHECKED_MARGINS = (0, 1, 2, 4)
"""Cut points beyond a threshold at which a black box is asked: the nearest change that it confirms is shown."""
