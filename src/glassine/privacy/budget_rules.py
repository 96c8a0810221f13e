"""Public choices of a private fit that follow from how strong the records' signal is beside the noise.

A choice that jumps at a threshold makes a larger budget worse if the new choice is not yet better there. A
:class:`BudgetRule` cannot jump: it is a power of the strength between knots, and goes in one direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRule:
    """A number as a function of a strength, which is released or public and grows with the budget.

    The number is that of the first knot below it and of the last above; between two knots it is a power of the
    strength. So it is continuous, and it is monotone because the knots are.

    Examples
    --------
    >>> rounds = BudgetRule(knots=((100.0, 10.0), (400.0, 20.0)))
    >>> [rounds(strength) for strength in (1.0, 200.0, 1e9)], rounds.whole(200.0)
    ([10.0, 14.142135623730951, 20.0], 14)
    """

    knots: tuple[tuple[float, float], ...]  # Strengths, increasing, and the number at each; all positive

    def __post_init__(self) -> None:
        strengths, numbers = [at for at, _ in self.knots], [number for _, number in self.knots]
        if not self.knots or not all(0 < number < math.inf for knot in self.knots for number in knot):
            raise ValueError("a rule needs knots of positive numbers")
        if not all(a < b for a, b in pairwise(strengths)):
            raise ValueError("the strengths of a rule must increase")
        if numbers not in (sorted(numbers), sorted(numbers, reverse=True)):
            raise ValueError("the numbers of a rule must all rise with the strength, or all fall")

    def __call__(self, strength: float) -> float:
        """Return the number at a strength; one that is not positive counts as the weakest."""
        (first, number), *_ = self.knots
        if not strength > first:
            return number
        for (low, small), (high, large) in pairwise(self.knots):
            if strength < high:
                return float(small * (large / small) ** (math.log(strength / low) / math.log(high / low)))
        return self.knots[-1][1]

    def whole(self, strength: float) -> int:
        """Return the nearest whole number: it moves in steps of one."""
        return math.floor(self(strength) + 0.5)
