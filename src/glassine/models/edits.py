"""Records of the changes that a person made to the scores of an additive model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from glassine.domain.attributes import is_whole
from glassine.errors import InvalidModelError, parameter

__all__ = ["ACTIONS", "FLOOR", "LARGEST_SCORE", "Edit", "Parameter", "isotonic", "smoothed", "weighted_mean"]

# What an edit does to a row of scores: plain arithmetic, in an order that every implementation can follow.
#
# The editor page repeats these functions step by step, so that it comes to the same doubles.


FLOOR = 1.0
"""Weight in records that a bin has at least. Noisy counts may be zero or negative, which no weight can be."""


def floored(weights: Sequence[float]) -> list[float]:
    """Return weights of at least :data:`FLOOR`."""
    return [weight if weight > FLOOR else FLOOR for weight in weights]


def weighted_mean(scores: Sequence[float], weights: Sequence[float]) -> float:
    """Return the mean of scores, weights floored."""
    total = mass = 0.0
    for score, weight in zip(scores, floored(weights), strict=True):
        total += weight * score
        mass += weight
    return total / mass


def smoothed(scores: Sequence[float], weights: Sequence[float], strength: float) -> list[float]:
    """Return each score moved by ``strength`` of the way to the weighted mean of itself and its neighbours.

    Parameters
    ----------
    scores, weights : sequence of float, shape (n,)
        Scores and counts of neighbouring bins; weights are floored.
    strength : float
        In (0, 1].

    Examples
    --------
    >>> smoothed([0.0, 3.0, 0.0], [1, 1, 1], 1.0)
    [1.5, 1.0, 1.5]
    """
    mass = floored(weights)
    out = []
    for i, score in enumerate(scores):
        near = slice(max(i - 1, 0), i + 2)
        mean = weighted_mean(scores[near], mass[near])
        out.append(score + strength * (mean - score))
    return out


def isotonic(scores: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the nondecreasing scores that are nearest in weighted squares (pool adjacent violators).

    Parameters
    ----------
    scores, weights : sequence of float, shape (n,)
        Scores and counts of neighbouring bins; weights are floored.

    Returns
    -------
    list of float
        Scores that are in order already come back as they are, to the last digit.

    References
    ----------
    Barlow, Bartholomew, Bremner and Brunk, Statistical Inference under Order Restrictions, 1972, chapter 1.

    Examples
    --------
    >>> isotonic([1.0, 4.0, 2.0, 6.0], [1, 1, 3, 1])
    [1.0, 2.5, 2.5, 6.0]
    """
    blocks: list[tuple[float, float, int]] = []
    for score, weight in zip(scores, floored(weights), strict=True):
        mean, mass, size = score, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, share, count = blocks.pop()
            mean = (share * before + mass * mean) / (share + mass)
            mass, size = share + mass, count + size
        blocks.append((mean, mass, size))
    return [mean for mean, _, size in blocks for _ in range(size)]


ACTIONS = ("set", "shift", "smooth", "flatten", "monotone", "zero")
"""What an edit can be."""

LARGEST_SCORE = 1e300
"""Largest size of a score, an error or a weight."""

Parameter: TypeAlias = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change of a term's scores, with all that is needed to take it back and to make it again.

    Parameters
    ----------
    number : int
        Place in the model's log, from 1.
    action : {"set", "shift", "smooth", "flatten", "monotone", "zero"}
        What was done.
    term : str
        Name of the term.
    parameters : tuple of (str, str or number)
        With what: names and values, in order.
    cells : tuple of int
        The scores that changed, as indices into the flattened ``scores`` of the term, increasing.
    before, after : tuple of float
        Their values before and after.
    reason : str, default=""
        Why, in the words of who did it.

    Raises
    ------
    InvalidModelError
        If a part is of the wrong kind, or the three lists differ in length.

    Examples
    --------
    >>> edit = Edit(number=1, action="set", term="age", cells=(2,), before=(0.4,), after=(0.1,), reason="few records")
    >>> str(edit)
    '1. set age: 1 score (few records)'
    """

    number: int
    action: str
    term: str
    parameters: tuple[tuple[str, Parameter], ...] = ()
    cells: tuple[int, ...] = ()
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    reason: str = ""

    def __post_init__(self) -> None:
        if not is_whole(self.number) or not self.number >= 1:
            raise InvalidModelError(f"{parameter('edits')} are numbered from 1, got {self.number!r}.")
        what = f"edit {self.number}"
        if self.action not in ACTIONS:
            raise InvalidModelError(f"{what} must be one of {', '.join(ACTIONS)}, got {self.action!r}.")
        for name in ("term", "reason"):
            if not isinstance(getattr(self, name), str):
                raise InvalidModelError(f"the {name} of {what} must be a text, got {getattr(self, name)!r}.")
        object.__setattr__(self, "parameters", _parameters(self.parameters, what))
        cells = tuple(self.cells)
        if not all(is_whole(cell) and cell >= 0 for cell in cells) or list(cells) != sorted(set(cells)):
            raise InvalidModelError(f"the cells of {what} must be increasing whole numbers of at least 0.")
        object.__setattr__(self, "cells", tuple(int(cell) for cell in cells))
        for name in ("before", "after"):
            object.__setattr__(self, name, _scores(getattr(self, name), f"the scores {name} {what}"))
            if len(getattr(self, name)) != len(cells):
                raise InvalidModelError(f"{what} needs one score {name} for each of its {len(cells)} cells.")

    @property
    def text(self) -> str:
        """What was done and with what, on one line."""
        listed = ", ".join(f"{name} {value}" for name, value in self.parameters)
        return f"{self.action} {self.term}{f', {listed}' if listed else ''}"

    def __str__(self) -> str:
        count = f"{len(self.cells)} score{'' if len(self.cells) == 1 else 's'}"
        return f"{self.number}. {self.text}: {count}{f' ({self.reason})' if self.reason else ''}"


def _parameters(pairs: Any, what: str) -> tuple[tuple[str, Parameter], ...]:
    out = []
    for entry in pairs:
        if not isinstance(entry, tuple | list) or len(entry) != 2 or not isinstance(entry[0], str):
            raise InvalidModelError(f"the parameters of {what} must be pairs of a name and a value, got {entry!r}.")
        name, value = entry
        if isinstance(value, bool) or not (
            isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= LARGEST_SCORE)
        ):
            raise InvalidModelError(f"parameter {name!r} of {what} must be a text or a finite number, got {value!r}.")
        out.append((name, value))
    if len(dict(out)) < len(out):
        raise InvalidModelError(f"{what} names a parameter twice.", remedy="Name each once.")
    return tuple(out)


def _scores(values: Iterable[Any], what: str) -> tuple[float, ...]:
    out = []
    for value in values:
        plain = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
        if not abs(plain) <= LARGEST_SCORE:
            raise InvalidModelError(f"{what} must be finite numbers, got {value!r}.")
        out.append(plain + 0.0)
    return tuple(out)
