"""Success of any attack, from its success against an independent model: rates, attributes, a named record."""

from __future__ import annotations

from glassine.capacity.divergences import LN2, SLACK, information_of_shift, kl_of_shift, log_odds
from glassine.capacity.frontiers import _largest, check_bits, check_rate
from glassine.errors import InvalidParameterError, parameter, quoted


def fresh_success(chance: float, bits_per_person: float) -> float:
    """Return the largest mean success of any attack, given what it achieves against an independent model.

    Guarantee
    ---------
    For independent records with sum_i I(X_i; M) at most n times the bits. The success is a mean over the persons. With
    ``chance`` the false positive rate it bounds the true positive rate. With the best guess of an attacker who knows
    the population it bounds the share of correct guesses of an attribute, or of the record of a *named* person within
    any tolerance. It does not bound lists that are matched to the records afterwards. See ``success.md``.

    Parameters
    ----------
    chance : float
        Mean success against a model that is independent of the records, in [0, 1].
    bits_per_person : float
        At least 0.

    Returns
    -------
    float
        In [chance, 1], rounded up.

    Examples
    --------
    >>> round(fresh_success(0.01, 0.01), 4), round(fresh_success(0.5, 40 / 24_421), 3)
    (0.0238, 0.524)
    """
    bits = check_bits(bits_per_person, "bits_per_person")
    chance = _check_chance(chance, "chance")
    if chance == 1 or bits >= kl_of_shift(1 - chance, chance):
        return 1.0
    if chance == 0:
        return 0.0  # What is impossible stays so: the posterior has a density

    def curve(shift: float) -> tuple[float, float]:
        return kl_of_shift(shift, chance), (log_odds(chance + shift) - log_odds(chance)) / LN2

    start = min(1 - chance, (LN2 * bits / 2) ** 0.5)
    return min(1.0, (chance + _largest(curve, bits, start)) * (1 + SLACK))


def design_success(chance: float, bits_per_person: float, rate: float = 0.5) -> float:
    """Return the largest mean true positive rate about membership in a sample from a known frame.

    Guarantee
    ---------
    For sum_i I(U_i; M) at most N times the bits, and one sampling rate for everyone. See ``success.md``.

    Parameters
    ----------
    chance : float
        Mean false positive rate, over the non-members, in [0, 1].
    bits_per_person : float
        Per person of the frame.
    rate : float, default=0.5
        Sampling rate, in (0, 1).

    Returns
    -------
    float
        In [chance, 1], rounded up.

    Examples
    --------
    >>> round(design_success(0.01, 0.01), 4)
    0.0479
    """
    bits, rate = check_bits(bits_per_person, "bits_per_person"), check_rate(rate)
    chance = _check_chance(chance, "chance")
    if chance == 1 or bits >= information_of_shift(1 - chance, chance, rate):
        return 1.0

    def curve(shift: float) -> tuple[float, float]:
        slope = rate * (log_odds(chance + shift) - log_odds(chance + rate * shift)) / LN2
        return information_of_shift(shift, chance, rate), slope

    start = min(1 - chance, (LN2 * bits / (2 * rate * (1 - rate))) ** 0.5)
    return min(1.0, (chance + _largest(curve, bits, start)) * (1 + SLACK))


def _check_chance(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidParameterError(f"{parameter(name)} must be a number in [0, 1], got {quoted(value)}.")
    return float(value)
