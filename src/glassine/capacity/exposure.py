"""The exposure profile: how many persons an attack can recognize with an advantage, or for certain."""

from __future__ import annotations

import math

from glassine.capacity.divergences import SLACK, kl_of_shift
from glassine.capacity.frontiers import check_bits, check_rate, check_share, design_curve


def exposed_persons(bits: float, advantage: float, rate: float = 0.5) -> int:
    """Return the most persons whose membership is recognized with an advantage, on average over the draws.

    Guarantee
    ---------
    If sum_i I(U_i; M) is at most ``bits`` and everyone has the same sampling rate, at most so many persons have an
    advantage of at least ``advantage`` each. The advantage of a person is over the draws and the models. For one
    published model see :func:`certain_persons`. Proof: ``exposure.md``.

    Parameters
    ----------
    bits : float
        Of the whole frame.
    advantage : float
        In (0, 1].
    rate : float, default=0.5
        In (0, 1).

    Examples
    --------
    >>> exposed_persons(40, 1.0), exposed_persons(40, 0.5)
    (40, 211)
    """
    bits, rate = check_bits(bits, "bits"), check_rate(rate)
    advantage = check_share(advantage, "advantage")
    return _whole(bits / design_curve(advantage, rate)[0])


def certain_persons(bits: float, rate: float = 0.5, probability: float = 1.0) -> int:
    """Return the most persons about whom an attacker is so certain, given one published model.

    Guarantee
    ---------
    If sum_i kl(P(U_i = 1 | m) || rate) is at most ``bits`` for the published model m, at most so many persons are
    members, or non-members, with at least that probability given m. Proof: ``exposure.md``.

    Parameters
    ----------
    bits : float
        Of the whole frame; for the published model: see :func:`~glassine.capacity.conditional_bits`.
    rate : float, default=0.5
        In (0, 1).
    probability : float, default=1.0
        Above the larger of ``rate`` and ``1 - rate``.

    Examples
    --------
    >>> certain_persons(44.2), certain_persons(44.2, probability=0.9)
    (44, 83)
    """
    bits, rate = check_bits(bits, "bits"), check_rate(rate)
    above = max(rate, 1 - rate)
    probability = check_share(
        probability, "probability", above=above, remedy="Below that the prior alone is as certain."
    )
    one = min(kl_of_shift(probability - rate, rate), kl_of_shift(probability - 1 + rate, 1 - rate))
    return _whole(bits / one)


def _whole(persons: float) -> int:
    """Return a bound on whole persons; a hair below a whole number counts as it."""
    return math.floor(persons * (1 + SLACK) + 1e-9) if math.isfinite(persons) else 2**63
