"""Records of the changes that a person made to the scores of an additive model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from glassine.domain.attributes import is_whole
from glassine.errors import InvalidModelError

__all__ = ["ACTIONS", "LARGEST_SCORE", "Edit", "Parameter"]

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
            raise InvalidModelError(f"edits are numbered from 1, got {self.number!r}.")
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
        given = ", ".join(f"{name} {value}" for name, value in self.parameters)
        return f"{self.action} {self.term}{f', {given}' if given else ''}"

    def __str__(self) -> str:
        count = f"{len(self.cells)} score{'' if len(self.cells) == 1 else 's'}"
        return f"{self.number}. {self.text}: {count}{f' ({self.reason})' if self.reason else ''}"


def _parameters(given: Any, what: str) -> tuple[tuple[str, Parameter], ...]:
    out = []
    for entry in given:
        if not isinstance(entry, tuple | list) or len(entry) != 2 or not isinstance(entry[0], str):
            raise InvalidModelError(f"the parameters of {what} must be pairs of a name and a value, got {entry!r}.")
        name, value = entry
        if isinstance(value, bool) or not (
            isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= LARGEST_SCORE)
        ):
            raise InvalidModelError(f"parameter {name!r} of {what} must be a text or a finite number, got {value!r}.")
        out.append((name, value))
    if len(dict(out)) < len(out):
        raise InvalidModelError(f"{what} names a parameter twice. Name each once.")
    return tuple(out)


def _scores(given: Iterable[Any], what: str) -> tuple[float, ...]:
    out = []
    for value in given:
        plain = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
        if not abs(plain) <= LARGEST_SCORE:
            raise InvalidModelError(f"{what} must be finite numbers, got {value!r}.")
        out.append(plain + 0.0)
    return tuple(out)
