"""Public rules for the choices of a penalised fit: rounds, rate, clip, penalty and shares of the budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Choices", "choices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Choices of a penalised fit.

    Attributes
    ----------
    rounds : int
        Rounds.
    rate : float
        Share of each round's sums in their running mean.
    clip : float
        Largest size of a residual: of a class, or of a number in released standard deviations of the target.
    caution : float
        Variance of the noise that the penalty is set for, relative to that of all rounds together.
    bin_share : float
        Share of the squared mu for the bins.
    """

    rounds: int
    rate: float
    clip: float
    caution: float = 1.5
    bin_share: float = 0.2


FAINT = 300.0
"""Below so many records times mu over the root of the terms, the noise is strong and fewer rounds are better."""


def choices(*, classes: bool, n_terms: int, n_records: float, mu: float) -> Choices:
    """Return the choices for a kind of target, a number of attributes, of records, and a budget.

    They were found on three data sets and confirmed on three others; ``docs/papers/dp-ebm.md`` has the figures.

    Guarantee
    ---------
    none: nothing is read from data. ``n_records`` must be public or released.

    Parameters
    ----------
    classes : bool
        Whether the target is a class.
    n_terms : int
        Number of attributes.
    n_records : float
        Released number of records.
    mu : float
        Budget.

    Examples
    --------
    >>> [choices(classes=True, n_terms=14, n_records=26_000, mu=mu).rounds for mu in (0.03, 0.24)]
    [12, 20]
    """
    faint = n_records * mu / math.sqrt(max(n_terms, 1)) < FAINT
    if classes:
        return Choices(rounds=12, rate=0.15, clip=0.65) if faint else Choices(rounds=20, rate=0.2, clip=0.65)
    return Choices(rounds=24 if faint else 40, rate=0.4, clip=0.85)
