"""Privacy filters: releases whose number and budgets depend on earlier releases, within a total fixed beforehand."""

from __future__ import annotations

import math

from glassine.errors import InvalidMechanismError

__all__ = ["GaussianFilter"]

ROUNDING = 1e-9
"""How far, relatively, the squares may exceed the total: for parts that were worked out in floating point."""


class GaussianFilter:
    """A total of Gaussian differential privacy from which releases are paid before they are drawn.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy of everything that is released, up to a factor ``1 + 1e-9`` of its square:
    each release may be chosen, and its budget set, by what was released before, if each is Gaussian private at what
    :meth:`spend` granted it. See ``filters.md``.

    Parameters
    ----------
    mu : float
        The total, positive and fixed before anything is released.

    Raises
    ------
    InvalidMechanismError
        If the total is not positive and finite.

    Examples
    --------
    >>> spending = GaussianFilter(0.5)
    >>> round(spending.share(0.64), 12), round(spending.share(0.36), 12)
    (0.4, 0.3)
    """

    __slots__ = ("_spent", "mu")

    def __init__(self, mu: float) -> None:
        if not 0 < mu < math.inf:
            raise InvalidMechanismError(f"the total mu of a filter must be positive and finite, got {mu}.")
        self.mu = mu
        self._spent = 0.0

    def spend(self, mu: float) -> float:
        """Return the mu that a release may cost; it is spent from then on.

        Raises
        ------
        InvalidMechanismError
            If it is not positive, or not left; nothing is spent then, and nothing may be released.
        """
        if not mu > 0:
            raise InvalidMechanismError(f"a release must cost a positive mu, got {mu}.")
        spent = self._spent + mu * mu
        if not spent <= self.mu * self.mu * (1 + ROUNDING):
            raise InvalidMechanismError(
                f"the releases must stay within a mu of {self.mu:g}, and one of {mu:g} exceeds what is left. "
                "Give each release a smaller share."
            )
        self._spent = spent
        return mu

    def share(self, part: float) -> float:
        """Return the mu of a release that may cost a share of the squared total, as :meth:`spend` does."""
        return self.spend(self.mu * math.sqrt(part))
