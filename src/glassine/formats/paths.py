"""Conditions along a path, and the outcomes at its end, as the writers of models need them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from glassine.domain import Between, Literal
from glassine.domain.attributes import Scalar
from glassine.domain.literals import attributes_of
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

__all__ = ["check_model", "compared_values", "merged", "not_a_model", "outcomes", "readable"]


def check_model(model: object) -> None:
    """Raise UnsupportedModelError if an object is not a model."""
    if not isinstance(model, DecisionTree | RuleList):
        raise not_a_model(model)


def not_a_model(found: object) -> UnsupportedModelError:
    """Return the error for an object that is written as if it were a model."""
    # What a private learner releases is this attribute, and as_model refuses the learner itself.
    has_one = hasattr(found, "model_")
    remedy = "Write its model_." if has_one else "Fit a learner and write its model_, or write as_model(...) of it."
    return UnsupportedModelError(f"got {type(found).__name__}, not a model. {remedy}")


def merged(literals: Iterable[Literal]) -> tuple[Literal, ...]:
    """Return a conjunction with the bounds on each number merged; it holds for the same records."""
    out: dict[object, Literal] = {}
    for literal in literals:
        plain = _unnegated(literal)
        key: object = literal
        if isinstance(plain, Between) and not plain.negated:
            key = ("bounds", plain.attribute)
            old = out.get(key)
            lo, hi = (plain.lo, plain.hi)
            if isinstance(old, Between):
                lo, hi = max(lo, old.lo), min(hi, old.hi)
            if not lo < hi:
                out[literal] = literal
                continue
            missing = plain.missing and (old is None or old.missing)
            out[key] = Between(plain.attribute, lo, hi, missing=missing)
            continue
        out.setdefault(key, literal)
    return tuple(out.values())


def _unnegated(literal: Literal) -> Literal:
    """Return a one-sided bound without negation: ``not (x <= 3)`` is ``x > 3`` for every number."""
    if isinstance(literal, Between) and literal.negated:
        if literal.lo == -math.inf and literal.hi < math.inf:
            return Between(literal.attribute, lo=literal.hi, missing=literal.missing)
        if literal.hi == math.inf and literal.lo > -math.inf:
            return Between(literal.attribute, hi=literal.lo, missing=literal.missing)
    return literal


def outcomes(model: DecisionTree | RuleList) -> tuple[Scalar | None, ...]:
    """Return what each leaf or rule predicts: a class, a value, or None where nothing is published."""
    if model.classes is None:
        return tuple(cell.evidence.value for cell in model.cells)
    labels = [cell.evidence.prediction for cell in model.cells]
    return tuple(None if label is None else model.classes[label] for label in labels)


def compared_values(model: DecisionTree | RuleList) -> dict[str, tuple[Scalar, ...]]:
    """Return for each tested attribute the values that it is compared with, each once, in order."""
    out: dict[str, dict[Scalar, None]] = {name: {} for name in attributes_of(model.literals)}
    for literal in model.literals:
        if not isinstance(literal, Between):
            out[literal.attribute].update(dict.fromkeys(literal.values))
    return {name: tuple(values) for name, values in out.items()}


def readable(texts: Sequence[str], what: str) -> None:
    """Raise InvalidModelError if a name cannot stand in a text file: it is no Unicode, or holds a null character."""
    for text in texts:
        if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
            raise InvalidModelError(f"{what} {text!r} holds a null character or half a character pair. Rename it.")
