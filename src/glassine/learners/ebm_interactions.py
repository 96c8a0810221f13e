"""Which pairs of attributes a fit may give a term: named by the user, a number of them, or by a public rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassine.domain import Domain
from glassine.errors import InvalidParameterError

__all__ = ["NO_INTERACTIONS", "Interactions", "check_interactions"]

MOST = 30
"""Largest number of pairs that may be asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactions:
    """The public wish for pairs.

    Attributes
    ----------
    number : int or None
        How many pairs are chosen privately; None leaves it to the public rule.
    named : tuple of (str, str)
        Pairs that the user names; then none is chosen.
    """

    number: int | None = 0
    named: tuple[tuple[str, str], ...] = ()

    @property
    def wanted(self) -> bool:
        """Whether there may be any."""
        return self.number != 0 or bool(self.named)

    @property
    def given(self) -> Any:
        """The wish as a parameter."""
        return self.named or ("auto" if self.number is None else self.number)

    @property
    def stated(self) -> Any:
        """What the certificate says of it."""
        return [list(pair) for pair in self.named] if self.named else self.given


NO_INTERACTIONS = Interactions()
"""No pairs."""


def check_interactions(given: Any, domain: Domain, ordered: Collection[str] = ()) -> Interactions:
    """Return the wish for pairs.

    Parameters
    ----------
    given : int, "auto", or sequence of pairs of str
        As in the estimators.
    domain : Domain
        The attributes.
    ordered : collection of str
        Attributes with a monotone constraint, which a pair would break.

    Raises
    ------
    InvalidParameterError
        If it is something else, a pair names an unknown attribute or one twice, stands twice, or holds an attribute
        whose scores must be in order.
    """
    if isinstance(given, str):
        if given != "auto":
            raise InvalidParameterError(f"interactions must be a number, 'auto' or pairs of attributes, got {given!r}.")
        return Interactions(number=None)
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not 0 <= given <= MOST:
            raise InvalidParameterError(f"interactions must be a number in [0, {MOST}], got {given}. Use 'auto'.")
        return Interactions(number=int(given))
    if isinstance(given, bool | dict) or not isinstance(given, Iterable):
        raise InvalidParameterError(f"interactions must be a number, 'auto' or pairs of attributes, got {given!r}.")
    named: list[tuple[str, str]] = []
    for pair in given:
        names = tuple(pair) if isinstance(pair, list | tuple) else ()
        if len(names) != 2 or not all(isinstance(name, str) and name in domain for name in names):
            raise InvalidParameterError(
                f"interactions must name pairs of attributes of the domain, such as ({domain.names[0]!r}, ...), "
                f"got {pair!r}."
            )
        if names[0] == names[1] or any(set(names) == set(old) for old in named):
            raise InvalidParameterError(f"interactions must name two attributes, each pair once, got {pair!r}.")
        held = [name for name in names if name in ordered]
        if held:
            raise InvalidParameterError(
                f"interactions name {held[0]!r}, whose scores must be in order: a pair would break the order. Leave "
                "one of the two out."
            )
        named.append((names[0], names[1]))
    return Interactions(number=0, named=tuple(named))
