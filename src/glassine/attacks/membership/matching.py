"""Pairs of values whose midpoint is a threshold, bit for bit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.outputs import Records, class_text
from glassine.attacks.membership.splits import Split
from glassine.domain.literals import is_missing
from glassine.models import DecisionTree

__all__ = ["Match", "People", "ValuePair", "codes_of_rows", "pairs_at", "placed_between"]

# Which records are equal.


def codes_of_rows(records: Records, *, with_target: bool = False) -> npt.NDArray[np.intp]:
    """Return a number for each record, the same for records that are equal."""
    given = records.columns(records.names or tuple(f"x{i}" for i in range(records.width)))
    codes = np.zeros(len(records.target), dtype=np.intp)
    for column in (*given.values(), *((records.target,) if with_target else ())):
        own = _codes_of(column)
        codes = np.unique(codes * (int(own.max()) + 1) + own, return_inverse=True)[1]
    return codes


def _codes_of(column: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    if column.dtype.kind in "biuf":
        return np.unique(column, return_inverse=True)[1]
    gaps = is_missing(column)
    texts = np.array(["" if gap else "=" + class_text(v) for v, gap in zip(column.tolist(), gaps, strict=True)])
    return np.unique(texts, return_inverse=True)[1]


# The different candidates of the midpoint attack.


@dataclass(frozen=True, slots=True)
class People:
    """The different candidates.

    Records that are equal in every column that the model knows are one candidate.
    Copies could otherwise silence the attack: in the control, the copy of a record that is left out would match.
    """

    records: Records
    codes: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]
    member: npt.NDArray[np.bool_] | None
    truth: npt.NDArray[np.bool_]
    whose: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, model: Any, given: Records, truth: npt.NDArray[np.bool_] | None) -> People:
        """Return the different ones among given candidates."""
        codes = codes_of_rows(known_columns(model, given))
        # In the order in which they are given.
        first, inverse = np.unique(np.unique(codes, return_index=True)[1][codes], return_inverse=True)
        member = None
        if truth is not None:
            member = np.zeros(len(first), dtype=bool)
            np.logical_or.at(member, inverse, truth)
        known = np.zeros(len(codes), dtype=bool) if truth is None else truth
        whose = None if given.persons is None else given.whose
        return cls(given.take(first), inverse, first, member, known, whose)

    def judged(self, accused: Sequence[int]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return who is a member and who is accused: of the different candidates, or of the people behind them.

        An accusation names a person if all who hold the record are that person.
        """
        named = np.zeros(len(self.first), dtype=bool)
        named[list(accused)] = True
        member = np.zeros(len(self.first), dtype=bool) if self.member is None else self.member
        if self.whose is None:
            return member, named
        pairs = np.unique(np.column_stack([self.codes, self.whose]), axis=0)
        alone = np.bincount(pairs[:, 0], minlength=len(self.first)) == 1
        people = np.zeros((2, int(self.whose.max()) + 1), dtype=bool)
        for row, held in ((0, self.truth), (1, (named & alone)[self.codes])):
            people[row, self.whose[held]] = True
        return people[0], people[1]

    def rows(self, chosen: Iterable[int]) -> tuple[int, ...]:
        """Return the row of the first of each of some different candidates."""
        return tuple(int(self.first[i]) for i in chosen)

    def all_rows(self, chosen: Sequence[int]) -> tuple[int, ...]:
        """Return the rows of some different candidates, equal ones included."""
        return tuple(np.flatnonzero(np.isin(self.codes, list(chosen))).tolist())


def known_columns(model: Any, given: Records) -> Records:
    """Return the columns of the candidates that a model knows, where it names them."""
    if isinstance(given.native, np.ndarray) or isinstance(model, list | tuple) or hasattr(model, "trees"):
        return given
    tree = model if isinstance(model, DecisionTree) else getattr(model, "model_", None)
    fitted = getattr(model, "best_estimator_", model)
    names = tree.attributes if isinstance(tree, DecisionTree) else getattr(fitted, "feature_names_in_", None)
    own = [name for name in (given.names or ()) if names is not None and name in set(names)]
    return Records(given.native[own], given.target, given.persons) if own else given


ALIKE = np.float32(1e-7)
"""scikit-learn places no threshold between two values that are no further apart."""

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
ValuePair: TypeAlias = tuple[float, float]


def pairs_at(values: Floats, threshold: float) -> list[ValuePair]:
    """Return the pairs of values between which scikit-learn would place just this threshold.

    Parameters
    ----------
    values : ndarray of float64, shape (k,), increasing
        Different values of single precision.
    threshold : float
        The threshold.

    Examples
    --------
    >>> pairs_at(np.array([1.0, 2.0, 3.0, 4.0]), 2.5)
    [(1.0, 4.0), (2.0, 3.0)]
    """
    split = int(np.searchsorted(values, threshold, side="right"))
    below, above = values[:split], values[split:]
    if not len(below) or not len(above):
        return []
    found: set[ValuePair] = set()
    # From both sides: where one value is tiny beside the other, several have the same midpoint.
    for own, other, turned in ((below, above, False), (above, below, True)):
        near = np.searchsorted(other, 2 * threshold - own)
        for step in (-1, 0, 1):
            # np.clip asks for the limits of the type at every call.
            match = other[np.minimum(np.maximum(near + step, 0), len(other) - 1)]
            low, high = (match, own) if turned else (own, match)
            hit = placed_between(low, high) == threshold
            found.update(zip(low[hit].tolist(), high[hit].tolist(), strict=True))
    return sorted(pair for pair in found if np.float32(pair[1]) > np.float32(pair[0]) + ALIKE)


def placed_between(low: Floats, high: Floats) -> Floats:
    """Return where scikit-learn places a threshold: halfway, or at the lower value where that rounds to the upper."""
    middle = low / 2.0 + high / 2.0
    return np.where((middle == high) | np.isinf(middle), low, middle)


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A split, and the pairs of values that explain its threshold.

    Attributes
    ----------
    split : Split
        The split.
    pairs : list of (float, float)
        Pairs of values among the candidates at the node, lower value first.
    """

    split: Split
    pairs: list[ValuePair]

    @classmethod
    def of(cls, split: Split) -> Match:
        """Return a split with every pair that explains it."""
        return cls(split, pairs_at(np.unique(split.values), split.threshold))

    def holders(self, value: float) -> Rows:
        """Return the candidates at the node that hold a value."""
        return np.asarray(self.split.rows[self.split.values == value])

    def between(self, pair: ValuePair) -> Rows:
        """Return the candidates at the node strictly between two values."""
        return np.asarray(self.split.rows[(self.split.values > pair[0]) & (self.split.values < pair[1])])
