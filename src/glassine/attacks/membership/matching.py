"""The splits of trees on numbers, and pairs of values whose midpoint is a threshold, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.outputs import LabelledRecords, as_fitted, asking, class_text
from glassine.attacks.membership.printed import ValuePair, decimals_of, half_step, pairs_within
from glassine.data.record_table import RecordTable, as_table
from glassine.domain import Between
from glassine.domain.literals import is_missing
from glassine.domain.single import rounded_to, single_sides
from glassine.errors import InvalidDataError, InvalidModelError, UnsupportedModelError, parameter
from glassine.models import AdditiveModel, DecisionTree, RegressionModel, RuleList
from glassine.models.records import read_records
from glassine.records.arrays import AnyArray, Array, Bools, Indices, Ints
from glassine.records.cells import ANY_NUMBER, NUMBER, Flag, FlagArray
from glassine.records.reading import read


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdSplit:
    """A threshold, and the candidates that reach its node."""

    tree: int  # Which tree of an ensemble
    sample: int  # Trees of one sample were trained on the same records; each bootstrap sample is another
    attribute: str  # The attribute, or column of what a pipeline makes of the records
    threshold: float
    exact: bool  # Whether the threshold is the library's own, not the bound of a model that was read
    rows: Indices  # Candidates at the node whose value is not missing; shape (k,)
    values: Array  # Their values, rounded to single precision; shape (k,)
    at_value: bool = False  # Whether the learner places thresholds on a training value, and not between two
    halved: bool = False  # Whether the learner halves the sum of two values in single precision
    half: float = 0.0  # Half the last digit where thresholds were rounded in print and midpoints have more


def splits_of(
    model: object, candidates: LabelledRecords, reach: Sequence[Indices] | None = None
) -> Iterator[ThresholdSplit]:
    """Yield the splits of a tree, an ensemble, a pipeline that ends with one, or several models."""
    # reach holds for each of several models the candidates among which its records are sought; all by default.
    models = list(model) if isinstance(model, list | tuple) else [model]
    if not models:
        raise UnsupportedModelError("the sequence of models is empty.", remedy="Give at least one tree.")
    tree = sample = 0
    for i, part in enumerate(models):
        near = candidates if reach is None else candidates.take(reach[i])
        for member, matrix in _trees(part, near):
            if isinstance(member, DecisionTree):
                splits = _of_published(member, near, tree, sample)
            else:
                splits = _of_fitted(member, matrix, tree, sample)
            for split in splits:
                yield split if reach is None else replace(split, rows=reach[i][split.rows])
            tree += 1
            sample += _resamples(part)
        sample += 1


def _resamples(model: object) -> bool:
    """Return whether each tree of an ensemble may have been trained on other records."""
    model = getattr(model, "best_estimator_", model)
    model = model.steps[-1][1] if hasattr(model, "steps") else model
    shares = [getattr(model, name, None) for name in ("max_samples", "subsample")]
    return bool(getattr(model, "bootstrap", False)) or any(share not in (None, 1.0) for share in shares)


def _trees(model: Any, candidates: LabelledRecords) -> Iterator[tuple[Any, Any]]:
    """Yield each tree, with the matrix that it sees."""
    if hasattr(model, "trees"):
        for member in model.trees:
            yield from _trees(member, candidates)
        return
    if isinstance(model, RuleList):
        raise UnsupportedModelError(
            "a rule list's thresholds need not be midpoints of training values.",
            remedy="Attack its outputs instead: attack_membership.",
        )
    own = getattr(model, "model_", None)
    tree = model if isinstance(model, DecisionTree) else own
    if isinstance(tree, DecisionTree):
        if tree.guarantee is not None:
            raise UnsupportedModelError(
                "the thresholds of a private model are public cut points, not midpoints.",
                remedy="Attack its outputs instead: attack_membership.",
            )
        yield tree, None
        return
    if isinstance(own, RuleList):
        raise UnsupportedModelError(
            "a rule list's thresholds need not be midpoints of training values.",
            remedy="Attack its outputs instead: attack_membership.",
        )
    if isinstance(model, AdditiveModel | RegressionModel) or isinstance(own, AdditiveModel | RegressionModel):
        raise UnsupportedModelError(
            "an additive model's cut points need not be midpoints of training values.",
            remedy="Attack its outputs instead: attack_membership.",
        )
    model = getattr(model, "best_estimator_", model)
    native = as_fitted(model, candidates.native)
    if hasattr(model, "steps"):
        if len(model.steps) > 1:
            with asking(type(model).__name__):
                native = model[:-1].transform(native)
        model = model.steps[-1][1]
    # Before the matrix: other models may take text.
    _check_thresholds(model)
    yield from _members(model, _matrix(native, model))


def _check_thresholds(model: object) -> None:
    """Raise where a fitted model has no trees whose thresholds are midpoints."""
    if getattr(model, "splitter", "best") == "random" or _is_named(model, "ExtraTree"):
        raise UnsupportedModelError(
            "extremely randomized trees draw their thresholds at random: no midpoints.",
            remedy="Attack its outputs instead: attack_membership.",
        )
    if not hasattr(model, "tree_") and getattr(model, "estimators_", None) is None:
        supported = any(_is_named(model, name) for name in ("DecisionTree", "Forest", "GradientBoosting"))
        if supported and not _is_named(model, "HistGradientBoosting"):
            raise InvalidModelError(f"{type(model).__name__} is not fitted.", remedy="Call fit first.")
        raise UnsupportedModelError(
            f"{type(model).__name__} has no trees whose thresholds are midpoints.",
            remedy="Give a scikit-learn tree, a forest, boosted trees, or a decision tree.",
        )


def _members(model: Any, matrix: npt.NDArray[np.float32]) -> Iterator[tuple[Any, npt.NDArray[np.float32]]]:
    _check_thresholds(model)
    if hasattr(model, "tree_"):
        if int(model.tree_.n_features) != matrix.shape[1]:
            raise InvalidDataError(
                f"the tree was fitted on {model.tree_.n_features} columns, but the candidates have {matrix.shape[1]}.",
                remedy="Pass the columns that it was fitted on.",
            )
        yield model, matrix
        return
    chosen = getattr(model, "estimators_features_", None)
    for i, member in enumerate(np.ravel(np.asarray(model.estimators_, dtype=object)).tolist()):
        yield from _members(member, matrix if chosen is None else matrix[:, chosen[i]])


def _is_named(model: object, name: str) -> bool:
    return any(name in kind.__name__ for kind in type(model).__mro__)


def _matrix(native: Any, model: object) -> npt.NDArray[np.float32]:
    """Return the records as scikit-learn's trees see them: in single precision."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and hasattr(native, "columns"):
        absent = [name for name in names if name not in list(native.columns)]
        if absent:
            raise InvalidDataError(
                f"the candidates lack the column {absent[0]!r}, which the model was fitted on.", remedy="Add it."
            )
        native = native[list(names)]
    if hasattr(native, "toarray"):
        native = native.toarray()
    if hasattr(native, "columns"):
        frame = as_table(native).frame
        if not all(kind.is_numeric() or kind == nw.Boolean for kind in frame.schema.values()):
            made, flags = read(frame.to_native(), dict.fromkeys(frame.columns, NUMBER))
            for name in frame.columns:
                _check_numbers(flags.arrays[name], name)
            native = np.column_stack([made.numbers[name] for name in frame.columns])
    try:
        with np.errstate(over="ignore"):
            return np.asarray(native).astype(np.float32)
    except (TypeError, ValueError):
        raise InvalidDataError(
            "the candidates hold text where the tree needs numbers.", remedy="Encode them as for fit."
        ) from None


def _of_fitted(model: Any, matrix: npt.NDArray[np.float32], tree: int, sample: int) -> Iterator[ThresholdSplit]:
    arrays = model.tree_
    left, right, feature = arrays.children_left, arrays.children_right, arrays.feature
    threshold = arrays.threshold
    gaps_left = getattr(arrays, "missing_go_to_left", np.zeros(len(left)))
    names = getattr(model, "feature_names_in_", None)
    stack = [(0, np.arange(len(matrix)))]
    while stack:
        node, rows = stack.pop()
        if left[node] == -1 or not len(rows):
            continue
        column = int(feature[node])
        # As the tree does, single precision is compared with the threshold in double precision.
        values = matrix[rows, column].astype(np.float64)
        missing = np.isnan(values)
        if np.isfinite(threshold[node]):
            name = f"x{column}" if names is None else str(names[column])
            yield ThresholdSplit(
                tree=tree,
                sample=sample,
                attribute=name,
                threshold=float(threshold[node]),
                exact=True,
                rows=rows[~missing],
                values=values[~missing],
            )
        goes_left = np.where(missing, bool(gaps_left[node]), values <= threshold[node])
        stack += [(int(left[node]), rows[goes_left]), (int(right[node]), rows[~goes_left])]


def _of_published(model: DecisionTree, candidates: LabelledRecords, tree: int, sample: int) -> Iterator[ThresholdSplit]:
    if not len(candidates.target):
        # A cell that was fixed without the records may hold none.
        return
    inputs = candidates.columns(model.attributes)
    names = dict.fromkeys(one.attribute for one in model.literals if isinstance(one, Between))
    with np.errstate(over="ignore"):
        single = {
            name: column_of_numbers(inputs[name], name).astype(np.float32).astype(np.float64)
            for name in names
            if name in inputs
        }
    columns = {**inputs, **single}
    decimals = decimals_of({end for one in model.literals if isinstance(one, Between) for end in finite_ends(one)})
    halves = {name: half_step(decimals, own) for name, own in single.items()}
    n = len(candidates.target)
    records = read_records(columns, model.attributes, [one for one in model.literals if one.attribute in columns])
    stack = [(0, np.arange(n))]
    while stack:
        index, rows = stack.pop()
        branches = model.nodes[index].branches
        if not branches or not len(rows):
            continue
        between = [branch.literal for branch in branches if isinstance(branch.literal, Between)]
        ends = {(one.attribute, bound) for one in between if one.attribute in columns for bound in (one.lo, one.hi)}
        for attribute, bound in sorted(end for end in ends if np.isfinite(end[1])):
            values = columns[attribute][rows]
            present = ~np.isnan(values)
            yield ThresholdSplit(
                tree=tree,
                sample=sample,
                attribute=attribute,
                threshold=float(bound),
                exact=False,
                rows=rows[present],
                values=values[present],
                half=halves[attribute],
            )
        for branch in branches:
            name = branch.literal.attribute
            if name not in columns:
                raise InvalidDataError(
                    f"the candidates lack the column {name!r}, which the model tests.", remedy="Add it."
                )
            taken = records.holds(branch.literal, rows)
            stack.append((branch.child, rows[taken]))
            rows = rows[~taken]


def finite_ends(literal: Between) -> list[float]:
    """Return the ends of a condition on a number that are thresholds."""
    return [end for end in (literal.lo, literal.hi) if math.isfinite(end)]


def column_of_numbers(column: AnyArray, name: str) -> Array:
    """Return a column of numbers, gaps as NaN."""
    numbers, flags = ANY_NUMBER.column(column)
    _check_numbers(flags, name)
    return np.asarray(numbers, dtype=np.float64)


def _check_numbers(flags: FlagArray, name: str) -> None:
    if (flags == Flag.UNDECLARED).any():
        raise InvalidDataError(
            f"column {name!r} of the candidates holds text where the tree needs numbers.",
            remedy="Encode it as it was for the fit.",
        )


# Which records are equal.


def codes_of_rows(records: LabelledRecords, *, with_target: bool = False) -> Indices:
    """Return a number for each record, the same for records that are equal."""
    columns = records.columns(records.names or tuple(f"x{i}" for i in range(records.width)))
    keys = [_keys_of(column) for column in (*columns.values(), *((records.target,) if with_target else ()))]
    # Equal records have equal marks, of which one sort is enough; unequal ones hardly ever, which is checked.
    marks = np.zeros(len(records.target), dtype=np.uint64)
    for key in keys:
        marks = _mixed(marks + key)
    codes = np.unique(marks, return_inverse=True)[1]
    one = np.zeros(len(codes), dtype=np.intp)
    one[codes] = np.arange(len(codes))
    if all((key[one[codes]] == key).all() for key in keys):
        return codes
    codes = np.zeros(len(codes), dtype=np.intp)
    for key in keys:
        own = np.unique(key, return_inverse=True)[1]
        codes = np.unique(codes * (int(own.max()) + 1) + own, return_inverse=True)[1]
    return codes


Keys: TypeAlias = npt.NDArray[np.uint64]


def _mixed(marks: Keys) -> Keys:
    """Return 64 bits each of which hangs on all of those given, different for different ones (splitmix64)."""
    marks = marks + np.uint64(0x9E3779B97F4A7C15)
    marks = (marks ^ (marks >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    marks = (marks ^ (marks >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return marks ^ (marks >> np.uint64(31))


def _keys_of(column: AnyArray) -> Keys:
    """Return 64 bits for each value of a column, the same for equal values."""
    if column.dtype.kind == "f":
        # Zero has one sign, and what is no number one pattern.
        numbers = column.astype(np.float64) + 0.0
        numbers[np.isnan(numbers)] = np.nan
        return numbers.view(np.uint64)
    return (column if column.dtype.kind in "biu" else _codes_of(column)).astype(np.uint64)


def _codes_of(column: AnyArray) -> Indices:
    gaps, values = is_missing(column), column.tolist()
    if not gaps.any() and set(map(type, values)) == {str}:
        # Looked up, a recurring text is sorted once.
        place = {text: i for i, text in enumerate(sorted(set(values)))}
        return np.fromiter(map(place.__getitem__, values), dtype=np.intp, count=len(values))
    texts = np.array(["" if gap else "=" + class_text(v) for v, gap in zip(values, gaps, strict=True)])
    return np.unique(texts, return_inverse=True)[1]


# The different candidates of the midpoint attack, and what is stated of them.


def rows_of_reach(reach: Sequence[npt.ArrayLike], model: object, n: int) -> list[Indices]:
    """Return the rows among which the records of each of several models are sought."""
    rows = [np.asarray(own) for own in reach]
    rows = [own.astype(np.intp) if not own.size else own for own in rows]
    if not isinstance(model, list | tuple) or len(rows) != len(model):
        raise InvalidDataError(
            f"{parameter('reach')} must hold the rows of the candidates for each of a sequence of models."
        )
    if not all(own.ndim == 1 and own.dtype.kind in "iu" and ((own >= 0) & (own < n)).all() for own in rows):
        raise InvalidDataError(
            f"{parameter('reach')} must hold row numbers in [0, {n}).", remedy="Number the candidates from 0."
        )
    return rows


def stated_truth(truth: object, n: int) -> Bools:
    """Return who of n candidates is a member, as stated."""
    values = np.asarray(truth)
    if values.shape != (n,) or not np.isin(values, (0, 1)).all():
        raise InvalidDataError(
            f"{parameter('truth')} must say True or False of each of {n} candidates, got the shape {values.shape}."
        )
    return values.astype(bool)


@dataclass(frozen=True, slots=True)
class DistinctCandidates:
    """The different candidates.

    Records that are equal in every column that the model knows are one candidate.
    Copies could otherwise silence the attack: in the control, the copy of a record that is left out would match.
    """

    records: LabelledRecords
    codes: Indices
    first: Indices
    member: Bools | None
    truth: Bools
    whose: Ints | None = None

    @classmethod
    def of(cls, model: object, records: LabelledRecords, truth: Bools | None) -> DistinctCandidates:
        """Return the different ones among given candidates."""
        codes = codes_of_rows(known_columns(model, records))
        # In the order in which they are given.
        first, inverse = np.unique(np.unique(codes, return_index=True)[1][codes], return_inverse=True)
        member = None
        if truth is not None:
            member = np.zeros(len(first), dtype=bool)
            np.logical_or.at(member, inverse, truth)
        truths = np.zeros(len(codes), dtype=bool) if truth is None else truth
        whose = None if records.persons is None else records.whose
        return cls(records.take(first), inverse, first, member, truths, whose)

    def judged(self, accused: Sequence[int]) -> tuple[Bools, Bools]:
        """Return who is a member and who is accused: of the different candidates, or of the people behind them."""
        # An accusation names a person if all who hold the record are that person.
        named = np.zeros(len(self.first), dtype=bool)
        named[list(accused)] = True
        member = np.zeros(len(self.first), dtype=bool) if self.member is None else self.member
        if self.whose is None:
            return member, named
        pairs = np.unique(np.column_stack([self.codes, self.whose]), axis=0)
        alone = np.bincount(pairs[:, 0], minlength=len(self.first)) == 1
        people = np.zeros((2, int(self.whose.max()) + 1), dtype=bool)
        for row, marks in ((0, self.truth), (1, (named & alone)[self.codes])):
            people[row, self.whose[marks]] = True
        return people[0], people[1]

    def rows(self, chosen: Iterable[int]) -> tuple[int, ...]:
        """Return the row of the first of each of some different candidates."""
        return tuple(int(self.first[i]) for i in chosen)


def known_columns(model: object, records: LabelledRecords) -> LabelledRecords:
    """Return the columns of the candidates that a model knows, where it names them."""
    if isinstance(records.native, np.ndarray) or isinstance(model, list | tuple) or hasattr(model, "trees"):
        return records
    tree = model if isinstance(model, DecisionTree) else getattr(model, "model_", None)
    fitted = getattr(model, "best_estimator_", model)
    names = tree.attributes if isinstance(tree, DecisionTree) else getattr(fitted, "feature_names_in_", None)
    own = [name for name in (records.names or ()) if names is not None and name in set(names)]
    if not own or len(own) == len(records.names or ()):
        return records
    native = records.native.restrict(own) if isinstance(records.native, RecordTable) else records.native[own]
    return replace(records, native=native)


ALIKE = np.float32(1e-7)
"""scikit-learn places no threshold between two values that are no further apart."""

Rows = Indices


def pairs_at(
    values: Array, threshold: float, *, exact: bool = False, halved: bool = False, most: int | None = None
) -> list[ValuePair]:
    """Return the pairs of values between which scikit-learn would place just this threshold.

    Shapes: ``values`` (k,), increasing. Unless the threshold is ``exact``, a bound of single precision stands for every
    threshold between the two numbers that it divides; one that is ``halved`` for every midpoint that single precision
    rounds to it. With ``most``, the search may end when so many are found.

    Examples
    --------
    >>> pairs_at(np.array([1.0, 2.0, 3.0, 4.0]), 2.5)
    [(1.0, 4.0), (2.0, 3.0)]
    """
    # Learners that halve send what is equal to the threshold to the upper side.
    split = int(np.searchsorted(values, threshold, side="left" if halved else "right"))
    return pairs_between(values[:split], values[split:], threshold, exact=exact, halved=halved, most=most)


NEAREST = 1024
"""Values on each side of a threshold among which pairs are looked for first."""


def pairs_between(
    below: Array, above: Array, threshold: float, *, exact: bool = False, halved: bool = False, most: int | None = None
) -> list[ValuePair]:
    """Return the pairs of a value below a threshold and one above it, as :func:`pairs_at`."""
    if not len(below) or not len(above):
        return []
    alone = (threshold, math.nextafter(threshold, math.inf))
    middles = rounded_to(threshold) if halved else alone if exact else single_sides(threshold) or alone
    pairs: set[ValuePair] = set()
    longest = max(len(below), len(above))
    start, stop = 0, longest if most is None else NEAREST
    # From both sides: where one value is tiny beside the other, several have the same midpoint.
    while start < longest and (most is None or len(pairs) < most):
        lower = below[max(0, len(below) - stop) : max(0, len(below) - start)]
        pairs.update(_paired(lower, above, middles, turned=False))
        pairs.update(_paired(above[start:stop][::-1], below, middles, turned=True))
        start, stop = stop, longest
    return sorted(pairs)


BESIDE = np.array([[-1], [0], [1]])


def _paired(own: Array, other: Array, middles: tuple[float, float], *, turned: bool) -> Iterable[ValuePair]:
    """Return the pairs of each of some values with the values nearest to where its partner lies."""
    first, stop = middles
    if not len(own):
        return ()
    # np.clip asks for the limits of the type at every call.
    match = other[np.minimum(np.maximum(np.searchsorted(other, 2 * first - own) + BESIDE, 0), len(other) - 1)]
    low, high = (match, own) if turned else (own, match)
    middle = placed_between(low, high)
    step, place = np.nonzero((middle >= first) & (middle < stop))
    if not len(place):
        return ()
    partners, values = match[step, place], own[place]
    low, high = (partners, values) if turned else (values, partners)
    differ = high.astype(np.float32) > low.astype(np.float32) + ALIKE
    return zip(low[differ].tolist(), high[differ].tolist(), strict=True)


def placed_between(low: Array, high: Array) -> Array:
    """Return where scikit-learn places a threshold: halfway, or at the lower value where that rounds to the upper."""
    middle = low / 2.0 + high / 2.0
    return np.where((middle == high) | np.isinf(middle), low, middle)


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedSplit:
    """A split, and the pairs of values that explain its threshold."""

    split: ThresholdSplit
    # Pairs of values among the candidates at the node, lower value first; two stand for more unless all are asked for.
    pairs: list[ValuePair]

    @classmethod
    def of(cls, split: ThresholdSplit, *, every: bool = True) -> ExplainedSplit:
        """Return a split with every pair that explains it, or two; a value that is the threshold counts as one."""
        if split.at_value:
            here = bool((split.values == split.threshold).any())
            return cls(split, [(split.threshold, split.threshold)] if here else [])
        most, values = None if every else 2, np.unique(split.values)
        if split.half:
            return cls(split, pairs_within(values, split.threshold, split.half, most))
        return cls(split, pairs_at(values, split.threshold, exact=split.exact, halved=split.halved, most=most))

    def holders(self, value: float) -> Rows:
        """Return the candidates at the node that hold a value."""
        return np.asarray(self.split.rows[self.split.values == value])

    def between(self, pair: ValuePair) -> Rows:
        """Return the candidates at the node strictly between two values."""
        return np.asarray(self.split.rows[(self.split.values > pair[0]) & (self.split.values < pair[1])])
