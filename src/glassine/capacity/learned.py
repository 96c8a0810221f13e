"""A code that is learned from retrained models: what a stable learning algorithm publishes costs few bits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from glassine.capacity.divergences import SLACK
from glassine.capacity.frontiers import check_bits
from glassine.errors import InvalidParameterError, check_whole, parameter

FEWEST, MOST = 25, 400
"""How many models a code may be learned from."""

SEEN = 0.9
"""Share of the code for models that were seen; the rest is for the whole class."""


@dataclass(frozen=True, slots=True)
class LearnedCode:
    """A code for the models of a class, from models that were retrained on other draws of the same frame.

    Guarantee
    ---------
    Fixed from draws that are independent of the published one, it is a code: the length of the published model may take
    the place of the class in :func:`~glassine.capacity.conditional_bits`. See ``learned.md``.

    Parameters
    ----------
    seen : iterable
        The structures, with labels if they are published, of 25 to 400 models that were trained on random draws by the
        design of the published one.
    class_bits : float
        log2 of the size of the class to which all of them belong.

    Examples
    --------
    >>> code = LearnedCode(["tree a"] * 30 + ["tree b"] * 10, 39.6)
    >>> round(code.length("tree a"), 2), round(code.length("a tree that was never seen"), 1)
    (0.57, 42.9)
    """

    seen: Iterable[Hashable]
    class_bits: float
    _counts: Counter[Hashable] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        counts = Counter(self.seen)
        check_bits(self.class_bits, "class_bits")
        if not FEWEST <= counts.total() <= MOST:
            raise InvalidParameterError(
                f"a code is learned from {FEWEST} to {MOST} models, got {counts.total()}.",
                remedy=f"Retrain between {FEWEST} and {MOST} times.",
            )
        object.__setattr__(self, "_counts", counts)
        object.__setattr__(self, "seen", tuple(counts))

    def length(self, model: Hashable) -> float:
        """Return the length of a model of the class, in bits, rounded up."""
        share = SEEN * self._counts[model] / self._counts.total() + (1 - SEEN) * 2.0**-self.class_bits
        if share <= 0:  # The class is beyond the range of floats
            return (self.class_bits - math.log2(1 - SEEN)) * (1 + SLACK)
        return -math.log2(share) * (1 + SLACK) + SLACK


def retrained(
    train: Callable[[int], Hashable],
    times: int,
    *,
    within: Callable[[], bool] = lambda: True,
    progress: Callable[[int, int], None] | None = None,
) -> list[Hashable] | None:
    """Return what training gives on so many draws; None if the time is over before all of them are done.

    Parameters
    ----------
    train : callable
        Trains on a new draw for each argument, 0 to ``times - 1``, and returns the structure of the model.
    times : int
        In [25, 400].
    within : callable
        Whether there is time left; asked before each draw, never with its result.
    progress : callable, optional
        Called with the number done and ``times``.
    """
    check_whole(times, "times", FEWEST, MOST)
    if not callable(train):
        raise InvalidParameterError(f"{parameter('train')} must be callable.")
    models: list[Hashable] = []
    for number in range(times):
        if not within():
            return None  # A shorter batch would be fixed by how long models take, which may depend on the draw
        models.append(train(number))
        if progress is not None:
            progress(number + 1, times)
    return models
