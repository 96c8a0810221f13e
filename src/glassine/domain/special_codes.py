"""Special codes: numbers that stand for something else, such as -9 for a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from glassine.codec import TEXT, Codec, Refused, kind_of
from glassine.errors import InvalidDomainError, parameter

Labels: TypeAlias = Mapping[int, str] | Mapping[float, str]
"""Labels by number; the keys of a mapping have one type to a type checker, so that both are named."""

MOST_SPECIAL = 32
"""Most special codes of a number: each is a separate condition and bin."""


class SpecialCodes(Mapping[float, str]):
    """The special codes of a number with their labels, in increasing order; it cannot be changed.

    Examples
    --------
    >>> SpecialCodes({-8: "unknown", -9: "refused"})
    {-9: 'refused', -8: 'unknown'}
    """

    __slots__ = ("_labels",)

    def __init__(self, codes: Labels | Iterable[tuple[float, str]] = ()) -> None:
        try:
            listed = sorted((code, label) for code, label in (codes.items() if isinstance(codes, Mapping) else codes))
        except (TypeError, ValueError):
            raise InvalidDomainError(
                f"{parameter('codes')} must map numbers to labels, got {codes!r:.80}.",
                remedy='Write them as {-9: "refused", -8: "unknown"}.',
            ) from None
        self._labels = dict(listed)
        texts: tuple[object, ...] = tuple(self._labels.values())
        odd = next((label for label in texts if not isinstance(label, str) or not label.strip()), None)
        if odd is not None or len(self._labels) < len(listed) or len(set(texts)) < len(texts):
            raise InvalidDomainError(
                f"{parameter('codes')} must have different texts as labels, and no code twice, got {codes!r:.80}.",
                remedy='Write them as {-9: "refused", -8: "unknown"}.',
            )
        if len(listed) > MOST_SPECIAL:
            raise InvalidDomainError(
                f"a number can have at most {MOST_SPECIAL} {parameter('codes')}, got {len(listed)}.",
                remedy="Declare a category, or leave out codes that no record has.",
            )

    def __getitem__(self, code: float) -> str:
        return self._labels[code]

    def __iter__(self) -> Iterator[float]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __hash__(self) -> int:
        return hash(tuple(self._labels.items()))

    def __repr__(self) -> str:
        return repr(self._labels)

    def beyond(self, lo: float, hi: float) -> tuple[float, ...]:
        """Return the codes outside a range, both ends included in it."""
        return tuple(code for code in self._labels if not lo <= code <= hi)


NO_CODES = SpecialCodes()
"""A number without special codes."""


def _codes_of_plain(plain: object) -> dict[float, str]:
    if not isinstance(plain, dict):
        raise Refused(f"must be an object of labels by code, got {kind_of(plain)}")
    try:
        return {(int(key) if WHOLE_TEXT.fullmatch(key) else float(key)): TEXT.decode(plain[key]) for key in plain}
    except ValueError:
        raise Refused("must have numbers as keys, in quotes") from None


WHOLE_TEXT = re.compile(r"-?[0-9]{1,300}")
SPECIAL: Codec[Any] = Codec(lambda codes: {repr(code): label for code, label in codes.items()}, _codes_of_plain)
"""Special codes of a number: an object with the label of each code."""
