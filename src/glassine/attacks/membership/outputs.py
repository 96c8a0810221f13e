"""Records in any form, and what a model answers on them: all that a black-box attack sees."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, TypeVar

import narwhals as nw
import numpy as np

from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.data.labels import Sample
from glassine.data.person_counts import Persons, stated_persons
from glassine.data.record_table import RecordTable, as_table, columns, eager, frame_of, with_persons
from glassine.domain.attributes import Attribute
from glassine.domain.literals import is_missing
from glassine.errors import GlassineError, InvalidDataError, InvalidParameterError, UnsupportedModelError, parameter
from glassine.models import AdditiveModel, DecisionTree, RegressionModel, RuleList
from glassine.models.evidence import cell_labels, cell_shares
from glassine.models.records import counted_records, implied
from glassine.records.arrays import AnyArray, Array, Bools, Indices, Ints
from glassine.records.cells import NUMBER, Flag, FlagArray
from glassine.records.containers import are_mappings
from glassine.records.reading import read

QUOTED = re.compile(r"\[.*\]|\(.*\)|'[^']*'|\"[^\"]*\"|\b\d[\w.+-]*")

CLIP = 1e-6
"""Probabilities are held this far from 0 and 1 before a logarithm is taken."""

WHOLE = 2**53
"""Whole numbers up to which doubles are exact."""

NO_PROBABILITIES = "the model gives no probabilities"

T = TypeVar("T")


class UnansweredError(RuntimeError):
    """A model or a learner raised an error when it was asked; the attack has failed."""


@dataclass(frozen=True, slots=True, repr=False)
class LabelledRecords:
    """Records and their classes."""

    native: Any  # The records, as a model takes them, or a table that has converted its columns; shape (n, d)
    target: AnyArray  # Their classes; shape (n,)
    persons: Persons | None = None  # Whose they are, where that is stated: then a statistic is one of people
    # The attributes by which a published model reads them, as an audit counts them; empty where no domain is stated.
    declared: Mapping[str, Attribute] = field(default_factory=dict, compare=False)
    # What a model that was asked answered, so that several attacks ask it once; by the model's identity.
    answered: dict[int, tuple[object, Answers]] = field(default_factory=dict, init=False, compare=False)
    # What was made of the records once, by the identity of what it was made with: their columns, leaves of models.
    made: dict[tuple[str, int], tuple[object, Any]] = field(default_factory=dict, init=False, compare=False)

    @classmethod
    def read(cls, sample: Sample | LabelledRecords, what: str) -> LabelledRecords:
        """Read records and classes (array or column's name); return those already read."""
        if isinstance(sample, cls):
            return sample
        if not isinstance(sample, Sample):
            raise InvalidParameterError(
                f"the {what} must be a Sample, got {type(sample).__name__}.",
                remedy="Pass Sample(records, classes) of glassine.data.",
            )
        X, y, persons = sample.data, sample.target, sample.persons
        if isinstance(persons, str):
            X = with_persons(X, persons, what)
        whose, declared = None, dict[str, Attribute]()
        if isinstance(X, RecordTable):
            X, whose, declared = X.frame.to_native(), X.persons, dict(X.declared)
        if isinstance(X, Mapping) or are_mappings(X) or (isinstance(X, np.ndarray) and X.dtype.names is not None):
            X = as_table(X).frame.to_native()
        native = read_matrix(X, what)
        if persons is not None and not isinstance(persons, str):
            whose = stated_persons(persons, len(native), what)
        if isinstance(y, str):
            if isinstance(native, np.ndarray):
                raise InvalidDataError(
                    f"{parameter('target')} of the {what} names a column, so they must be a data frame.",
                    remedy="Pass an array.",
                )
            frame = nw.from_native(native, eager_only=True)
            if y not in frame.columns:
                raise InvalidDataError(f"the {what} lack the target column {y!r}.", remedy="Add or rename it.")
            native, y = frame.drop(y).to_native(), frame[y].to_list()
        target = _target(y, what)
        if len(target) != len(native):
            raise InvalidDataError(
                f"the {what} have {len(native)} records but {len(target)} classes.", remedy="Align them."
            )
        return cls(native, target, whose, declared)

    def once(self, what: str, of: object, make: Callable[[], T]) -> T:
        """Return what is made of the records and something else, made at the first call."""
        key = what, id(of)
        if key not in self.made:
            # What it is made with is kept beside it, so that no other object has its identity.
            self.made[key] = of, make()
        made: T = self.made[key][1]
        return made

    def relabelled(self, native: Any, target: AnyArray) -> LabelledRecords:
        """Return records of the same people with other classes; the same records share what was made of them."""
        out = replace(self, native=native, target=target)
        if native is self.native:
            object.__setattr__(out, "made", self.made)
        return out

    @property
    def number(self) -> int:
        """How many people there are, or records where no persons are stated."""
        return len(self.target) if self.persons is None else self.persons.number

    @property
    def whose(self) -> Ints:
        """The person of each record, or its own number, shape (n,)."""
        return np.arange(len(self.target)) if self.persons is None else self.persons.codes

    def of(self, chosen: Indices) -> Indices:
        """Return the rows of some of the people, or of some records."""
        return chosen if self.persons is None else np.flatnonzero(np.isin(self.persons.codes, chosen))

    def mean(self, values: AnyArray) -> Array:
        """Return the mean over the records of each person, or each record's own, shape (number,)."""
        values = np.asarray(values, dtype=float)
        return values if self.persons is None else self.persons.mean(values)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns; None for an array."""
        frame = frame_of(self.native)
        return None if frame is None else tuple(frame.columns)

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.native.shape[1]) if isinstance(self.native, np.ndarray) else len(self.names or ())

    def take(self, rows: Indices) -> LabelledRecords:
        """Return some of the records."""
        persons = None if self.persons is None else self.persons.take(rows)
        if isinstance(self.native, np.ndarray):
            return replace(self, native=self.native[rows], target=self.target[rows], persons=persons)
        if isinstance(self.native, RecordTable):
            return replace(self, native=self.native.at(rows), target=self.target[rows], persons=persons)
        frame = nw.from_native(self.native, eager_only=True)
        out = replace(self, native=frame[rows].to_native(), target=self.target[rows], persons=persons)
        if (key := ("columns", id(None))) in self.made:
            out.made[key] = None, {name: column[rows] for name, column in self.made[key][1].items()}
        return out

    def like(self, other: LabelledRecords) -> LabelledRecords:
        """Return the same records with the columns, and in the kind of frame, of others."""
        return self.once("like", other, lambda: self._like(other))

    def _like(self, other: LabelledRecords) -> LabelledRecords:
        if (self.names is None) != (other.names is None):
            raise InvalidDataError(
                "members and non-members must both be data frames or both be arrays.", remedy="Convert one."
            )
        if self.names is None or other.names is None:
            if self.width != other.width:
                raise InvalidDataError(
                    f"members have {other.width} columns and non-members {self.width}.", remedy="Align them."
                )
            return self
        odd = sorted(set(self.names) ^ set(other.names))
        if odd:
            raise InvalidDataError(
                f"only members or only non-members have the column {odd[0]!r}.", remedy="Add or drop it."
            )
        theirs = nw.from_native(other.native, eager_only=True)
        frame = _typed(nw.from_native(self.native, eager_only=True).select(list(other.names)), theirs)
        if frame.implementation != theirs.implementation:
            native = frame.to_pandas() if theirs.implementation.is_pandas() else frame.to_polars()
            return replace(self, native=native)
        same = self.names == other.names and frame.schema == nw.from_native(self.native, eager_only=True).schema
        return self if same else replace(self, native=frame.to_native())

    def join(self, other: LabelledRecords) -> LabelledRecords:
        """Return these records followed by others of the same columns."""
        return self.once("join", other, lambda: self._join(other))

    def _join(self, other: LabelledRecords) -> LabelledRecords:
        target = _joined(self.target, other.target)
        persons = None if self.persons is None or other.persons is None else self.persons.join(other.persons)
        if isinstance(self.native, np.ndarray):
            stacked = np.concatenate([self.native, other.native])
            return replace(self, native=stacked, target=target, persons=persons)
        first, second = (nw.from_native(side.native, eager_only=True) for side in (self, other))
        first, second = _typed(first, second), _typed(second, first)
        for name in first.columns:
            kinds = first[name].dtype, second[name].dtype
            if kinds[0] == kinds[1]:
                continue
            plain = all(kind.is_numeric() or kind == nw.Boolean for kind in kinds)
            one, another = (None, None) if plain else (_numeric(first[name]), _numeric(second[name]))
            if one is not None and another is not None:
                # Texts that write numbers on one side alone, as a file keeps a column in which one is a gap.
                first, second = first.with_columns(one), second.with_columns(another)
                continue
            if not plain:
                raise InvalidDataError(
                    f"column {name!r} has the type {kinds[0]} for members and {kinds[1]} for non-members.",
                    remedy="Convert one.",
                )
            first, second = (side.with_columns(nw.col(name).cast(nw.Float64)) for side in (first, second))
        joined = nw.concat([first, second], how="vertical").to_native()
        native = joined.reset_index(drop=True) if hasattr(joined, "reset_index") else joined
        return replace(self, native=native, target=target, persons=persons)

    def columns(self, names: tuple[str, ...]) -> dict[str, AnyArray]:
        """Return the columns by name; those of an array are named in order."""
        if not isinstance(self.native, np.ndarray):
            return self.once("columns", None, lambda: columns(self.native))
        if len(names) != self.width:
            raise InvalidDataError(
                f"the records have {self.width} columns without names, but the model has {len(names)} attributes.",
                remedy="Pass a data frame, or one column for each attribute in order.",
            )
        return {name: self.native[:, i] for i, name in enumerate(names)}

    def leaves(self, model: DecisionTree | RuleList) -> Indices:
        """Return the leaf or rule of each record, shape (n,)."""
        return self.once("leaves", model, lambda: self.apply(model, self.columns(tuple(model.attributes))))

    def apply(self, model: DecisionTree | RuleList, columns: Mapping[str, AnyArray]) -> Indices:
        """Return the leaf or rule of each of some copies of the records, shape (n,), by what is declared of them.

        An audit counts records by its domain and refuses none; its attacks do the same.
        """
        if not self.declared:
            return model.apply(dict(columns))
        recipe = {name: self.declared.get(name, own) for name, own in implied(model.literals).items()}
        return model.apply(counted_records(dict(columns), recipe))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a classifier answers on records."""

    n_classes: int  # Number of the model's classes
    truth: Indices  # Index of each record's class; -1 for one that the model does not know; shape (n,)
    predicted: Indices  # Index of the predicted class; shape (n,)
    # Probabilities of the classes, where the model gives them; shape (n, n_classes), or None.
    probabilities: Array | None
    lacking: str = NO_PROBABILITIES  # Why there are no probabilities, if there are none
    persons: Persons | None = None  # Whose the records are, where that is stated

    @property
    def number(self) -> int:
        """How many people were asked about, or records where no persons are stated."""
        return len(self.truth) if self.persons is None else self.persons.number

    def mean(self, values: AnyArray) -> Array:
        """Return the mean over the records of each person, or each record's own, shape (number,)."""
        values = np.asarray(values, dtype=float)
        return values if self.persons is None else self.persons.mean(values)

    @property
    def recognized(self) -> Bools:
        """Whether each person's records, or each record, are all classified correctly, shape (number,)."""
        return np.asarray(self.mean(self.correct) >= 1)

    @property
    def correct(self) -> Bools:
        """Whether each record is classified correctly."""
        return np.asarray((self.truth == self.predicted) & (self.truth >= 0))

    @property
    def confidence(self) -> Array:
        """Logarithm of the odds of each record's class, its probability held within [1e-6, 1 - 1e-6]."""
        probabilities = self.checked_probabilities()
        hot = np.flatnonzero(self.truth >= 0)
        own, others = self.probability, probabilities.copy()
        # The sum over the other classes keeps the digits that 1 - own loses near 1.
        others[hot, self.truth[hot]] = 0.0
        rest = others.sum(axis=1)
        return np.asarray(np.log(np.maximum(own, CLIP)) - np.log(np.maximum(rest, CLIP)))

    @property
    def probability(self) -> Array:
        """Probability of each record's class, 0 of one that the model does not know, shape (n,)."""
        probabilities = self.checked_probabilities()
        return np.where(self.truth >= 0, probabilities[np.arange(len(self.truth)), self.truth], 0.0)

    def checked_probabilities(self) -> Array:
        """Return the probabilities; raise UnsupportedModelError where there are none."""
        if self.probabilities is None:
            raise UnsupportedModelError(f"{self.lacking}.", remedy="Use the gap attack.")
        return self.probabilities

    def take(self, rows: Indices) -> Answers:
        """Return the answers on some of the records."""
        return replace(
            self,
            truth=self.truth[rows],
            predicted=self.predicted[rows],
            probabilities=None if self.probabilities is None else self.probabilities[rows],
            persons=None if self.persons is None else self.persons.take(rows),
        )


def answers(model: object, records: LabelledRecords) -> Answers:
    """Return what a model answers on records."""
    classes = classes_of(model)
    plain = published(model)
    probabilities: Array | None
    if plain is not None:
        cells = records.leaves(plain)
        predicted, probabilities = cell_labels(plain)[cells], cell_shares(plain)[cells]
    else:
        predicted, probabilities = _asked(model, records, classes)
    lacking = NO_PROBABILITIES
    if probabilities is not None:
        if probabilities.shape != (len(records.target), len(classes)):
            raise UnsupportedModelError(
                f"predict_proba must give one column for each of {len(classes)} classes, got {probabilities.shape}."
            )
        if not np.isfinite(probabilities).all():
            probabilities, lacking = None, "the model's probabilities are not all finite numbers"
    truth = places(records.target, classes)
    return Answers(
        n_classes=len(classes),
        truth=truth,
        predicted=predicted,
        probabilities=probabilities,
        lacking=lacking,
        persons=records.persons,
    )


def _asked(model: Any, records: LabelledRecords, classes: list[Any]) -> tuple[Indices, Array | None]:
    """Return the predicted classes and any probabilities."""
    # Any exception of the model becomes one error.
    native, name, n = as_fitted(model, records.native), type(model).__name__, len(records.target)
    with asking(name):
        answered = np.asarray(model.predict(native))
        ask = getattr(model, "predict_proba", None)
        probabilities = None if ask is None else np.asarray(ask(native), dtype=float)
    if answered.shape not in ((n,), (n, 1)):
        raise UnansweredError(
            f"{name}.predict must give one class for each of {n} records, got the shape {answered.shape}."
        )
    predicted = places(answered.reshape(n), classes)
    if (predicted < 0).any():
        raise UnansweredError(f"{name}.predict gives classes that its classes_ lacks, such as by another type.")
    return predicted, probabilities


@contextmanager
def asking(name: str) -> Iterator[None]:
    """Turn any exception of foreign code into one error."""
    try:
        yield
    except Exception as error:
        raise UnansweredError(f"{name} did not answer: {first_line(error)}") from error


def as_fitted(model: object, native: Any) -> Any:
    """Return records with the columns that a model was fitted on, if it names them and the records have them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or isinstance(native, np.ndarray) or not hasattr(native, "columns"):
        return native
    wanted, columns = list(names), list(native.columns)
    return native if wanted == columns or not set(wanted) <= set(columns) else native[wanted]


def in_classes_of(model: object, records: LabelledRecords, what: str) -> LabelledRecords:
    """Return records with the columns that a model was fitted on, and with the classes as the model names them."""
    # Classes match if they are equal. Where none does, they match by their text if that is unambiguous: a model of "0"
    # and "1", say, and the numbers 0 and 1 as a file holds them.
    classes = classes_of(model)
    codes, named = places(records.target, classes), records.target
    texts = [class_text(name) for name in classes]
    if (codes < 0).all() and len(set(texts)) == len(texts):
        where = {text: i for i, text in enumerate(texts)}
        codes = np.array([where.get(class_text(value), -1) for value in records.target.tolist()], dtype=np.intp)
        named = (np.array(classes) if len({type(name) for name in classes}) == 1 else _objects(classes))[codes]
    unknown = float(np.mean(codes < 0))
    if unknown:
        kind, own = (type(values[0]).__name__ for values in (records.target.tolist(), classes))
        raise InvalidDataError(
            f"the model does not know the class of {unknown:.1%} of the {what}: its classes are {classes[:5]} ({own}), "
            f"theirs are of type {kind}.",
            remedy="Give the classes as the model names them, or leave these records out.",
        )
    return records.relabelled(as_fitted(model, records.native), named)


def class_text(value: Any) -> str:
    """Return a class as text; a whole number is the same with and without a point."""
    if issubclass(type(value), float) and value.is_integer():
        return str(int(value))
    return str(value)


def classes_of(model: Any) -> list[Any]:
    """Return the classes of a classifier."""
    plain = published(model)
    if plain is None and not isinstance(model, AdditiveModel | RegressionModel):
        return _classes(model)
    plain = model if plain is None else plain
    if plain.classes is None:
        raise UnsupportedModelError(
            "the model predicts a number; these attacks are on classifiers.", remedy="Pass a classifier."
        )
    return list(plain.classes)


def _objects(values: list[Any]) -> AnyArray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _typed(frame: Any, other: Any) -> Any:
    """Return a frame whose columns without any value have the type that another frame gives them."""
    own, kinds = frame.schema, other.schema
    for name, kind in kinds.items():
        if name in own and own[name] != kind and (_as_numbers(frame[name])[1] == Flag.MISSING).all():
            frame = frame.with_columns(nw.lit(None, dtype=kind).alias(name))
    return frame


def _as_numbers(column: nw.Series[Any]) -> tuple[Array, FlagArray]:
    """Return what a column is as numbers, gaps as NaN, and what is odd about its cells, each (n,)."""
    columns, flags = read(column.to_frame().to_native(), {column.name: NUMBER})
    return columns.numbers[column.name], flags.arrays[column.name]


def _numeric(column: nw.Series[Any]) -> nw.Series[Any] | None:
    """Return a column of numbers; None if it holds anything else."""
    numbers, flags = _as_numbers(column)
    if (flags == Flag.UNDECLARED).any():
        return None
    return nw.new_series(column.name, np.asarray(numbers, float), nw.Float64, backend=column.implementation)


def attempt(work: Callable[[], T]) -> Outcome[T]:
    """Return what a measurement gives, or why there is none; errors of the caller are raised."""
    # Any other exception fails this measurement alone.
    try:
        return Measured(work())
    except UnsupportedModelError as error:
        return NotApplicable(error.text)
    except UnansweredError as error:
        return Failed(str(error))
    except GlassineError:
        raise
    except Exception as error:
        return Failed(f"the attack broke off: {first_line(error)}")


def first_line(error: Exception) -> str:
    """Return an error's kind and the first line of its message, without what it quotes, such as a record's value."""
    return f"{type(error).__name__}: {QUOTED.sub('...', next(iter(str(error).splitlines()), ''))[:200]}"


def published(model: object) -> DecisionTree | RuleList | None:
    """Return the model itself if it is a published tree or list, or one that can only be asked as such."""
    if isinstance(model, DecisionTree | RuleList):
        return model
    if isinstance(model, AdditiveModel | RegressionModel) or (
        callable(getattr(model, "predict", None)) and hasattr(model, "classes_")
    ):
        return None
    from glassine.formats import as_model, tree_or_rules

    try:
        return tree_or_rules(as_model(model))
    except UnsupportedModelError:
        kind = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise UnsupportedModelError(
            f"these attacks need a published model, or a fitted classifier with predict and {parameter('classes_')}; "
            f"got {kind}.",
            remedy="Fit it, or pass the published model.",
        ) from None


def _classes(model: Any) -> list[Any]:
    classes = np.asarray(model.classes_)
    if classes.ndim != 1 or any(isinstance(name, np.ndarray) for name in classes):
        raise UnsupportedModelError("the model predicts several targets at once; attack one at a time.")
    return list(classes.tolist())


def places(values: AnyArray, classes: list[Any]) -> Indices:
    """Return the index of the class that each value names, shape (n,); -1 where it is none of them."""
    where = {name: i for i, name in enumerate(classes)}
    if values.dtype.kind in "biuf" and all(isinstance(name, int | float) and abs(name) < WHOLE for name in classes):
        # In the arithmetic of doubles, in which numbers below 2^53 are equal as Python has it.
        numbers, order = values.astype(np.float64), sorted(where)
        at = np.searchsorted(order, numbers)
        codes = np.array([*(where[name] for name in order), -1])[at]
        return np.where(np.array([*map(float, order), math.nan])[at] == numbers, codes, -1)
    return np.fromiter(map(where.get, values.tolist(), repeat(-1)), dtype=np.intp, count=len(values))


def read_matrix(X: object, what: str) -> Any:
    """Return records as a two-dimensional array, or as an eager frame of pandas or polars."""
    if isinstance(X, np.ndarray | list | tuple):
        matrix = np.asarray(X)
        if matrix.dtype.kind in "US" and not isinstance(X, np.ndarray):
            matrix = np.asarray(X, dtype=object)
        if matrix.ndim != 2 or not len(matrix) or not matrix.shape[1]:
            raise InvalidDataError(f"the {what} must be a table of at least one row, got the shape {matrix.shape}.")
        return matrix
    frame = eager(X)
    if not frame.columns:
        raise InvalidDataError(f"the {what} have no column.", remedy="Check the file.")
    if not any(isinstance(name, str) for name in frame.columns):
        # scikit-learn takes such a frame for an array, too.
        return frame.to_numpy()
    if not all(isinstance(name, str) for name in frame.columns):
        raise InvalidDataError(
            f"some columns of the {what} are named by strings and others are not.", remedy="Rename them."
        )
    of_frame = frame.implementation.is_pandas() or frame.implementation.is_polars()
    return frame.to_native() if of_frame else frame.to_polars()


def _target(y: object, what: str) -> AnyArray:
    if y is None:
        raise InvalidDataError(f"{parameter('y')} of the {what} is None.", remedy="Pass their classes.")
    native = y.to_numpy() if hasattr(y, "to_numpy") else y
    values = np.asarray(native)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidDataError(
            f"{parameter('y')} of the {what} must be one column, got the shape {values.shape}.",
            remedy="Pass one class each.",
        )
    if is_missing(values).any():
        raise InvalidDataError(
            f"{parameter('y')} of the {what} holds a missing value.", remedy="Drop or label these records."
        )
    return values


def _joined(first: AnyArray, second: AnyArray) -> AnyArray:
    """Return two arrays of classes as one; texts and numbers side by side stay what they are."""
    if (first.dtype.kind in "US") != (second.dtype.kind in "US"):
        out = np.empty(len(first) + len(second), dtype=object)
        out[:] = [*first.tolist(), *second.tolist()]
        return out
    return np.concatenate([first, second])


def generator(random_state: object) -> np.random.Generator:
    """Return the generator that a ``random_state`` stands for."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31)))
    if random_state is None or (
        isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0
    ):
        return np.random.default_rng(random_state)
    raise InvalidParameterError(
        f"{parameter('random_state')} must be a whole number of at least 0, a numpy Generator or None, got "
        f"{random_state!r}."
    )
