"""Prefixes: all texts with one beginning, as one value of a category."""

from __future__ import annotations

from collections.abc import Iterable

from glassine.errors import InvalidDomainError

GAP_TEXTS = ("", "?", "NA", "NaN", "nan")
"""Texts that stand for a missing value, unless the attribute lists them."""


class Prefix(str):
    """All texts with one beginning, as one value of a category, written with a star: ``E1*``.

    It equals itself alone, not the text ``"E1*"``. Numbers begin with nothing, nor do the texts of :data:`GAP_TEXTS`.

    Parameters
    ----------
    start : str
        What the texts begin with; empty for all texts. It holds no star.
    but : iterable of str or Prefix, default=()
        Texts that begin so and do not belong to it, and longer prefixes whose texts do not.

    Raises
    ------
    InvalidDomainError
        If the start is no text or holds a star, or an exception does not begin with it.

    Examples
    --------
    >>> rest = Prefix("E", but=("E10", Prefix("E2")))
    >>> str(rest), [rest.covers(code) for code in ("E11", "E10", "E21", "F1")]
    ('E*', [True, False, False, False])
    """

    __slots__ = ("_starts", "_texts")

    # The exceptions in the fewest words, so that prefixes of the same texts are equal: texts, and starts.
    _texts: frozenset[str]
    _starts: tuple[str, ...]

    def __new__(cls, start: str, but: Iterable[str] = ()) -> Prefix:
        """Return the prefix; a text is made by its constructor."""
        stated: object = start
        if not isinstance(stated, str) or isinstance(stated, Prefix) or "*" in stated:
            raise InvalidDomainError(
                f"a prefix must be a text without a star, got {stated!r:.80}.",
                remedy="Give what the values begin with.",
            )
        made = super().__new__(cls, f"{start}*")
        exceptions = tuple(but)
        starts: list[str] = []
        for longer in sorted(one.start for one in exceptions if isinstance(one, Prefix)):
            if not starts or not longer.startswith(starts[-1]):
                starts.append(longer)
        texts = {str(one) for one in exceptions if not isinstance(one, Prefix)}
        for one in (*starts, *texts):
            if not one.startswith(start) or start in starts:
                raise InvalidDomainError(f"an exception to the prefix {str(made)!r} must begin with it, got {one!r}.")
        made._starts = tuple(starts)
        made._texts = frozenset(one for one in texts if one not in GAP_TEXTS and not one.startswith(made._starts))
        return made

    @property
    def start(self) -> str:
        """What the texts begin with."""
        return str(self)[:-1]

    @property
    def starts(self) -> tuple[str, ...]:
        """The starts of the longer prefixes that are exceptions."""
        return self._starts

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that begin so and do not belong to it, those that stand for missing values among them."""
        gaps = (text for text in GAP_TEXTS if text.startswith(self.start) and not text.startswith(self._starts))
        return tuple(sorted((*self._texts, *gaps)))

    @property
    def but(self) -> tuple[str | Prefix, ...]:
        """The exceptions: texts in order, then longer prefixes."""
        return (*sorted(self._texts), *map(Prefix, self._starts))

    def covers(self, value: object) -> bool:
        """Return whether a value is one of the texts."""
        if not isinstance(value, str) or isinstance(value, Prefix) or not value.startswith(self.start):
            return False
        return not value.startswith(self._starts) and value not in self._texts and value not in GAP_TEXTS

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prefix):
            return False
        return (str(self), self._starts, self._texts) == (str(other), other._starts, other._texts)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((str(self), self._starts, self._texts))

    def __str__(self) -> str:
        return str.__str__(self)

    def __repr__(self) -> str:
        return f"Prefix({self.start!r}, but={self.but!r})" if self.but else f"Prefix({self.start!r})"

    def __reduce__(self) -> tuple[type[Prefix], tuple[object, ...]]:
        return (Prefix, (self.start, self.but))


def prefixes(values: Iterable[object]) -> tuple[Prefix, ...]:
    """Return the prefixes among values."""
    return tuple(value for value in values if isinstance(value, Prefix))
