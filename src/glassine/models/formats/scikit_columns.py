"""The columns that a scikit-learn tree needs to test a model's conditions, made by scikit-learn's own encoders."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain import Between, Binary, Category, Domain, OneOf
from glassine.domain import Literal as Condition
from glassine.domain.attributes import Scalar
from glassine.domain.literals import attributes_of
from glassine.errors import UnsupportedModelError
from glassine.models.formats.paths import compared_values
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

__all__ = ["Encoder", "Side", "Test"]

Side: TypeAlias = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Test:
    """A bound on a column: on which side the condition holds, and where missing values go."""

    column: int
    bound: float
    holds: Side
    missing: Side

    @property
    def threshold(self) -> float:
        """The bound as scikit-learn, which compares in single precision, must hold it."""
        return _single(self.bound)


class Encoder:
    """The columns that the tree sees: numbers as they are, and one code for each list of values."""

    def __init__(self, model: DecisionTree | RuleList, domain: Domain | None) -> None:
        self.model = model
        compared = compared_values(model)
        self.dummies = {
            name
            for name, values in compared.items()
            if (isinstance(domain[name], Binary) if domain is not None else set(values) <= {0, 1})
        }
        for name, values in compared.items():
            if len({isinstance(v, str) for v in values}) > 1:
                raise UnsupportedModelError(f"{name!r} is compared with both texts and numbers. Recode its values.")
        self.words = {name for name, values in compared.items() if self._has_words(name, values, domain)}
        self.numbers: list[str] = []
        self.lists: list[OneOf] = []
        for literal in model.literals:
            name = literal.attribute
            if isinstance(literal, OneOf) and (name not in self.dummies or set(literal.values) != {1}):
                self.lists += [] if _listing(literal) in self.lists else [_listing(literal)]
            elif name not in self.numbers:
                self.numbers.append(name)
        if not self.numbers and not self.lists and not model.attributes:
            raise UnsupportedModelError("a scikit-learn tree needs an attribute, but the model has none.")

    def _has_words(self, name: str, values: tuple[Scalar, ...], domain: Domain | None) -> bool:
        """Return whether the values of an attribute are texts."""
        if values:
            return any(isinstance(value, str) for value in values)
        if domain is not None:
            attribute = domain[name]
            return isinstance(attribute, Category) and any(isinstance(value, str) for value in attribute.values)
        if any(isinstance(lit, Between) for lit in self.model.literals if lit.attribute == name):
            return False
        raise UnsupportedModelError(
            f"the model asks only whether {name!r} is missing, not whether it is a text or a number. Give the domain."
        )

    @property
    def width(self) -> int:
        """Number of columns; one that is never looked at where the model tests nothing."""
        return max(len(self.numbers) + len(self.lists), 1)

    def tests(self, literal: Condition) -> list[Test]:
        """Return the thresholds that hold together exactly where a literal, not negated if it has two bounds, holds."""
        if isinstance(literal, OneOf):
            if literal.attribute in self.dummies and set(literal.values) == {1}:
                held: Side = "left" if literal.negated else "right"
                column = self.numbers.index(literal.attribute)
                return [Test(column, 0.5, held, held if literal.missing else other(held))]
            column = len(self.numbers) + self.lists.index(_listing(literal))
            # A list of no value has one that stands in for it, of code 0: only gaps have codes above.
            listed = -0.5 if literal.values else 0.5
            return [Test(column, listed, "left" if literal.negated else "right", "left")]
        column = self.numbers.index(literal.attribute)
        bounds: list[tuple[float, Side]] = [(literal.lo, "right"), (literal.hi, "left")]
        out = []
        for bound, side in bounds:
            if math.isfinite(bound):
                held = other(side) if literal.negated else side
                out.append(Test(column, bound, held, held if literal.missing else other(held)))
        if not out:  # present or not: every number lies below infinity
            held = "right" if literal.negated else "left"
            out.append(Test(column, math.inf, held, held if literal.missing else other(held)))
        return out

    def fitted(self) -> Any:
        """Return the ColumnTransformer."""
        import polars as pl
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import MissingIndicator
        from sklearn.preprocessing import OrdinalEncoder

        parts: list[tuple[str, Any, list[str]]] = []
        if not self.numbers and not self.lists:
            parts.append(("nothing", MissingIndicator(features="all"), [self.model.attributes[0]]))
        if self.numbers:
            parts.append(("numbers", "passthrough", self.numbers))
        for i, listed in enumerate(self.lists):
            encoder = OrdinalEncoder(
                categories=[self._categories(listed)],
                handle_unknown="use_encoded_value",
                unknown_value=-1,
                encoded_missing_value=len(listed.values) + 2,
            )
            parts.append((f"list {i}", encoder, [listed.attribute]))
        names = attributes_of(self.model.literals) or self.model.attributes[:1]
        frame = {
            name: pl.Series([None], dtype=pl.String if name in self.words else pl.Float64, strict=False)
            for name in names
        }
        return ColumnTransformer(parts, sparse_threshold=0).fit(pl.DataFrame(frame))

    def _categories(self, listed: OneOf) -> npt.NDArray[Any]:
        if listed.attribute in self.words:
            gaps: list[Any] = [None, math.nan] if listed.missing else []
            return np.array([*(listed.values or ("",)), *gaps], dtype=object)
        numbers = sorted({float(value) for value in listed.values if not isinstance(value, str)}) or [0.0]
        return np.array([*numbers, *([math.nan] if listed.missing else [])], dtype=float)


def other(side: Side) -> Side:
    return "left" if side == "right" else "right"


def _listing(literal: OneOf) -> OneOf:
    """Return the list of values whose membership decides a literal: missing ones are on it, or are not."""
    return OneOf(literal.attribute, literal.values, missing=literal.missing != literal.negated)


def _single(bound: float) -> float:
    """Return the threshold that compares with numbers of single precision as the bound does with their originals."""
    return max(bound, float(np.float32(bound)))
