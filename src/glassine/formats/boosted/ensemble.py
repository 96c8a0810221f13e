"""Single trees of gradient boosting: what XGBoost, LightGBM and treelite write has in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from glassine.domain import Binary, Domain, Literal, OneOf
from glassine.domain.attributes import LARGEST, Scalar
from glassine.domain.prefixes import GAP_TEXTS
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.conditions import all_but, attribute_of, binary, damaged, first_word, with_missing
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree, Forest

# Splits on lists of categories, which boosted trees store as whole numbers.

MOST_CODES = 2**24


def spelled(
    name: str, codes: Sequence[int], names: Sequence[Scalar] | None, domain: Domain | None, what: str
) -> tuple[Scalar, ...]:
    """Return the categories that codes stand for; the codes themselves where a file has no names for them."""
    if names is None:
        word = first_word(attribute_of(name, domain))
        if word is not None:
            raise InvalidModelError(
                f"{what} keeps the codes of {name!r:.60} and not the categories that they stand for, such as "
                f"{word!r:.40}.",
                remedy="Declare the codes, or learn the model on a data frame of categories.",
            )
        return tuple(dict.fromkeys(codes))
    beyond = [code for code in codes if not 0 <= code < len(names)]
    if beyond:
        raise InvalidModelError(f"{what} lists the category {beyond[0]} of {name!r:.60}, which has {len(names)}.")
    return tuple(dict.fromkeys(names[code] for code in codes))


@lru_cache(maxsize=64)
def _marks(names: tuple[Scalar, ...]) -> frozenset[str]:
    """Return the categories that are read as missing; the same long list stands beside every split of a file."""
    return frozenset(GAP_TEXTS).intersection(name for name in names if isinstance(name, str))


def picked(
    name: str,
    values: Sequence[Scalar],
    domain: Domain | None,
    gaps: tuple[bool, bool],
    names: Sequence[Scalar] | None = None,
) -> tuple[Literal, Literal]:
    """Return the condition that a value is one of a list, and that it is not; ``gaps`` says which a gap satisfies.

    ``names`` are all categories of the file. One such as "?" is read as missing unless a condition lists it.
    """
    listed = tuple(values)
    pair: tuple[Literal, Literal] = (OneOf(name, listed), OneOf(name, listed, negated=True))
    if not _marks(tuple(names or ())).issubset(listed):
        if gaps[0]:
            others = tuple(value for value in names or () if value not in listed)
            pair = OneOf(name, others, negated=True), OneOf(name, others)
        else:
            gaps = False, True
    if domain is not None and name in domain and isinstance(domain[name], Binary) and set(listed) <= {0, 1}:
        both, ones = len(set(listed)) != 1, listed[:1] == (1,)
        pair = (binary(name, ones), binary(name, not ones))
        if both:
            pair = all_but(name, False, none=not listed), all_but(name, False, none=bool(listed))
    return with_missing(pair[0], gaps[0]), with_missing(pair[1], gaps[1])


MOST_RECORDS = 2**53


def numbers(value: object, length: int | None, what: str) -> list[float]:
    """Return a list of finite numbers of given length."""
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise InvalidModelError(f"{what} must be a list of {'' if length is None else f'{length} '}numbers.")
    for entry in value:
        if isinstance(entry, bool) or not isinstance(entry, int | float) or not abs(entry) <= LARGEST:
            raise InvalidModelError(f"{what} must hold finite numbers, got {entry!r:.40}.")
    return [float(entry) for entry in value]


def whole_numbers(value: object, length: int | None, what: str) -> list[int]:
    """Return a list of whole numbers of given length; Booleans count as 0 and 1."""
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise InvalidModelError(f"{what} must be a list of {'' if length is None else f'{length} '}whole numbers.")
    for entry in value:
        if not isinstance(entry, int) or abs(entry) > MOST_RECORDS:
            raise InvalidModelError(f"{what} must hold whole numbers, got {entry!r:.40}.")
    return [int(entry) for entry in value]


def boosted_leaf(score: float, binary: bool, total: int | None) -> Evidence:
    """Return what a leaf publishes: the class on whose side its score lies, or the score; never a share."""
    if not math.isfinite(score):
        raise InvalidModelError(f"a leaf has the score {score!r}, which is not finite.")
    return Evidence(total=total, label=int(score > 0)) if binary else Evidence(total=total, value=score)


def consistent_totals(totals: Sequence[int | None], children: Sequence[tuple[int, ...]]) -> bool:
    """Return whether every total is known, and that of each split the sum of its children's."""
    if any(total is None for total in totals):
        return False
    return all(
        not below or sum(totals[child] or 0 for child in below) == totals[node] for node, below in enumerate(children)
    )


def exponential(score: float) -> float:
    """Return the value that a score on the scale of logarithms means."""
    if not score < 690:
        raise damaged(f"a leaf has the score {score!r}, whose exponential is no number.")
    return math.exp(score)


def boosted_forest(trees: Sequence[DecisionTree], source: str) -> Forest:
    """Return the trees of a boosted model, all trained on the same records."""
    sizes = sorted({tree.n_records for tree in trees if tree.n_records is not None})
    if len(sizes) > 1:
        raise UnsupportedModelError(
            f"the trees of the {source} model hold {sizes[0]} to {sizes[-1]} records: each was trained on a sample of "
            "them, and the file does not say on which.",
            remedy="Read one with load_model(..., tree=0).",
        )
    return Forest(trees=tuple(trees), source=source)
