"""The levels of private quantiles: what each costs, from public parameters alone."""

from __future__ import annotations

from fractions import Fraction

from glassine.errors import InvalidMechanismError, check_whole
from glassine.privacy.events import Event, Parallel, Selection
from glassine.privacy.exact import Number, positive
from glassine.privacy.sensitivity import quantile_score


def quantile_events(n_candidates: int, number: int, epsilon: Number, *, name: str = "quantiles") -> tuple[Event, ...]:
    """Return the events of :func:`private_quantiles`, which depend on public parameters alone."""
    if number == 0 or n_candidates <= number:
        return ()
    part = level_part(number, epsilon)
    levels: list[Event] = []
    wanted = [number]
    while wanted:
        # The quantiles of a level split disjoint parts of the column: a record pays once a level.
        branches = tuple(
            (level_event(middle_of(count) / Fraction(count + 1), part, f"{name}, one of {count}"),) for count in wanted
        )
        levels.append(
            Parallel(name=f"{name}, level {len(levels) + 1}", branches=branches, proof="privacy/quantiles.md")
        )
        wanted = [side for count in wanted for side in (middle_of(count) - 1, count - middle_of(count)) if side]
    return tuple(levels)


def level_part(number: int, epsilon: Number) -> Fraction:
    """Return the epsilon of one level of the recursion."""
    count = check_whole(number, "number", 0, kind=InvalidMechanismError)
    # As many levels as the number has binary digits: each level halves what is left.
    return positive(epsilon, "epsilon") / max(1, count.bit_length())


def middle_of(number: int) -> int:
    """Return which of ``number`` quantiles is selected first, from 1."""
    return (number + 1) // 2


def level_event(quantile: Fraction, part: Fraction, name: str) -> Selection:
    """Return the selection of one quantile."""
    sensitivity = quantile_score(quantile)
    return Selection(
        name=name,
        inverse_temperature=float(part / (2 * sensitivity)),
        sensitivity=float(sensitivity),
        proof="privacy/quantiles.md",
    )
