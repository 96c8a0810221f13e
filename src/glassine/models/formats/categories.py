"""Splits on lists of categories, which boosted trees store as whole numbers."""

from __future__ import annotations

from collections.abc import Sequence

from glassine.domain import Binary, Category, Domain, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError
from glassine.models.formats.conditions import binary, with_missing
from glassine.models.formats.encodings import all_but

__all__ = ["MOST_CODES", "picked", "spelled"]

MOST_CODES = 2**24


def spelled(
    name: str, codes: Sequence[int], names: Sequence[Scalar] | None, domain: Domain | None, what: str
) -> tuple[Scalar, ...]:
    """Return the categories that codes stand for; the codes themselves where a file has no names for them.

    Raises
    ------
    InvalidModelError
        If a code stands for none of the names, or the domain names categories and the file has codes only.
    """
    if names is None:
        attribute = domain[name] if domain is not None and name in domain else None
        words = [v for v in attribute.values if isinstance(v, str)] if isinstance(attribute, Category) else []
        if words:
            raise InvalidModelError(
                f"{what} keeps the codes of {name!r:.60} and not the categories that they stand for, such as "
                f"{words[0]!r:.40}. Declare the codes, or learn the model on a data frame of categories."
            )
        return tuple(dict.fromkeys(codes))
    beyond = [code for code in codes if not 0 <= code < len(names)]
    if beyond:
        raise InvalidModelError(f"{what} lists the category {beyond[0]} of {name!r:.60}, which has {len(names)}.")
    return tuple(dict.fromkeys(names[code] for code in codes))


def picked(
    name: str, values: Sequence[Scalar], domain: Domain | None, gaps: tuple[bool, bool]
) -> tuple[Literal, Literal]:
    """Return the condition that a value is one of a list, and that it is not; ``gaps`` says which a gap satisfies."""
    listed = tuple(values)
    pair: tuple[Literal, Literal] = (OneOf(name, listed), OneOf(name, listed, negated=True))
    if domain is not None and name in domain and isinstance(domain[name], Binary) and set(listed) <= {0, 1}:
        both, ones = len(set(listed)) != 1, listed[:1] == (1,)
        pair = (binary(name, ones), binary(name, not ones))
        if both:
            pair = all_but(name, False, none=not listed), all_but(name, False, none=bool(listed))
    return with_missing(pair[0], gaps[0]), with_missing(pair[1], gaps[1])
