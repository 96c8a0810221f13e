"""Single trees of gradient boosting: what XGBoost, LightGBM and treelite write has in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from glassine.domain.attributes import LARGEST
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.evidence import Evidence
from glassine.models.forest import Forest
from glassine.models.tree import DecisionTree

__all__ = [
    "MOST_RECORDS",
    "boosted_forest",
    "boosted_leaf",
    "consistent_totals",
    "exponential",
    "numbers",
    "whole_numbers",
]

MOST_RECORDS = 2**53


def numbers(value: Any, length: int | None, what: str) -> list[float]:
    """Return a list of finite numbers of given length."""
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise InvalidModelError(f"{what} must be a list of {'' if length is None else f'{length} '}numbers.")
    for entry in value:
        if isinstance(entry, bool) or not isinstance(entry, int | float) or not abs(entry) <= LARGEST:
            raise InvalidModelError(f"{what} must hold finite numbers, got {entry!r:.40}.")
    return [float(entry) for entry in value]


def whole_numbers(value: Any, length: int | None, what: str) -> list[int]:
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
        raise InvalidModelError(f"a leaf has the score {score!r}, whose exponential is no number. Export it anew.")
    return math.exp(score)


def boosted_forest(trees: Sequence[DecisionTree], source: str) -> Forest:
    """Return the trees of a boosted model, which all learnt from the same records.

    Raises
    ------
    UnsupportedModelError
        If they hold different numbers of records, so that each was learnt from a sample.
    """
    held = sorted({tree.n_records for tree in trees if tree.n_records is not None})
    if len(held) > 1:
        raise UnsupportedModelError(
            f"the trees of the {source} model hold {held[0]} to {held[-1]} records: each learnt from a sample of them, "
            "and the file does not say from which. Read one with load_model(..., tree=0)."
        )
    return Forest(trees=tuple(trees), source=source)
