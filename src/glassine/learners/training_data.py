"""Records and targets as a fit or a prediction gets them: frames, arrays, tables; or left in an engine that counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from glassine.data.count_table import CountTable
from glassine.data.labels import check_attributes, index_of
from glassine.data.record_table import RecordTable, collected, frame_of
from glassine.domain import Domain, Integer, Literal, Real
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidDataError, parameter, warn_caller
from glassine.privacy.unit import RECORD, PrivacyUnit
from glassine.records.arrays import AnyArray, Array, Bools, Ints
from glassine.records.bits import BitSets, truths
from glassine.records.columns import ConformedColumns, is_column
from glassine.records.containers import are_rows
from glassine.records.cuts import Cuts, cell_ends, cuts_of
from glassine.records.engines import Groups, LazyTable
from glassine.records.object_columns import as_columns, rows_as_objects


def check_target(estimator: object, y: object) -> None:
    """Raise InvalidDataError if there is no target."""
    if y is None:
        raise InvalidDataError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )


def open_table(table: CountTable, y: object) -> tuple[ConformedColumns, AnyArray, Ints, Domain]:
    """Return the distinct records of a table, their targets, how many records each stands for, and the domain."""
    if not isinstance(y, str):
        raise InvalidDataError(
            "with a CountTable, y must be the name of its target attribute.", remedy="Also count the target."
        )
    others = [name for name in table.domain if name != y]
    if y not in table.domain or not others:
        raise InvalidDataError(f"the count table lacks the target {y!r} or any other attribute.", remedy="Count both.")
    return table.columns.restrict(others), table.columns.values(y), table.multiplicities, table.domain


def pop_target(X: object, target: str, domain: Domain | None) -> tuple[Any, Any]:
    """Separate the column of the target, as a Series, from records with named columns."""
    X = as_columns(X, None if domain is None else dict.fromkeys([*domain, target]))
    try:
        table = X if isinstance(X, RecordTable) else RecordTable(collected(nw.from_native(X)))
    except TypeError:
        raise InvalidDataError(
            f"{parameter('y')} names a column, so X must be a data frame.", remedy="Pass the classes as an array."
        ) from None
    if target not in table.names:
        raise InvalidDataError(f"data lack the target column {target!r}.", remedy="Add or rename it.")
    others = [name for name in table.names if name != target]
    check_attributes(others, target)
    return table.restrict(others), table.frame[target].to_native()


def named(
    estimator: BaseEstimator, X: Any, *, reset: bool, domain: Domain | None = None, target: object = None
) -> tuple[tuple[str, ...], Any]:
    """Return the names of the columns, and the records as a table, as arrays by name, or as they were if conforming."""
    if isinstance(X, ConformedColumns):
        if reset:
            name_features(estimator, X.names)
        return X.names, X
    declared = getattr(estimator, "domain", None)
    public = domain if domain is not None else declared if isinstance(declared, Domain) else None
    X = as_columns(X, None if public is None else [name for name in public if name != target])
    frame = X.frame if isinstance(X, RecordTable) else None
    if frame is None and not isinstance(X, np.ndarray | list | tuple):
        try:
            frame = nw.from_native(X)
        except nw.exceptions.DuplicateError:
            raise InvalidDataError("the columns of X must have different names.", remedy="Rename one.") from None
        except (TypeError, nw.exceptions.NarwhalsError):
            frame = None
    if frame is None or not any(isinstance(name, str) for name in frame.columns):
        X = frame.to_native() if isinstance(X, RecordTable) and frame is not None else X
        if isinstance(declared, Domain) and hasattr(X, "set_axis"):
            # Column by column: pandas would seek a type that all columns have in common.
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            names = tuple(domain) if domain is not None else _array_names(estimator, len(X.columns))
            return names, X.set_axis(list(names), axis=1)
        array = _array(estimator, X, reset=reset, declared=isinstance(declared, Domain), texts=public is not None)
        names = tuple(domain) if domain is not None else _array_names(estimator, array.shape[1])
        return names, {name: array[:, i] for i, name in enumerate(names)}
    table = X if isinstance(X, RecordTable) else RecordTable(collected(frame))
    if any(not isinstance(name, str) for name in table.names):
        raise InvalidDataError("columns must be named by strings.", remedy="Rename them.")
    names = table.names
    if not reset:
        return _columns_for_predict(estimator, table)
    if not len(table):
        raise InvalidDataError(
            "Found array with 0 sample(s) while a minimum of 1 is required.", remedy="Check the data."
        )
    check_attributes(names)
    name_features(estimator, names)
    return names, table


def _array(estimator: object, X: Any, *, reset: bool, declared: bool, texts: bool) -> AnyArray:
    """Return an array of numbers, or of Python objects where a domain says what they are."""
    sequence = isinstance(X, list | tuple)
    if declared and are_rows(X):
        cells: Any = rows_as_objects(X)
    else:
        cells = np.asarray(X) if isinstance(X, np.ndarray) or sequence else X
    objects = texts and isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.dtype.kind in "OU"
    try:
        return np.asarray(
            validate_data(
                estimator,
                cells if objects else X,
                reset=reset,
                dtype=None if objects else "numeric",
                ensure_all_finite=False,
                estimator=estimator,
            )
        )
    except ValueError as error:
        # No value may be shown: each is one record's.
        why, quoted, _ = str(error).partition(":\narray=")
        if quoted:
            raise InvalidDataError(
                f"{why}.", remedy="Reshape your data, or pass a data frame: one row per record."
            ) from None
        if "could not convert" not in str(error):
            raise
        raise InvalidDataError(
            "X holds text where numbers are needed.", remedy="Pass a data frame and a domain."
        ) from None


def _columns_for_predict(estimator: Any, table: RecordTable) -> tuple[Any, Any]:
    names = table.names
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is None:
        if len(names) != estimator.n_features_in_:
            raise InvalidDataError(
                f"{parameter('X')} has {len(names)} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input.",
                remedy="Pass the columns of the fit.",
            )
        if set(names) == set(estimator.domain_):
            return names, table
        if isinstance(estimator.domain, Domain):
            odd = next(name for name in (*names, *estimator.domain_) if (name in names) != (name in estimator.domain_))
            raise InvalidDataError(
                f"the columns of X are not the attributes of the domain: {odd!r} is in one of them only.",
                remedy="Rename or drop it, or pass an array.",
            )
        kind = type(estimator).__name__
        warn_caller(f"X has feature names, but {kind} was fitted without feature names", UserWarning)
        generic = _array_names(estimator, len(names))
        return generic, {new: table.frame[old].to_numpy() for new, old in zip(generic, names, strict=True)}
    return names, table


def name_features(estimator: Any, names: Sequence[str]) -> None:
    """Set the fitted attributes by which scikit-learn knows the columns."""
    estimator.n_features_in_ = len(names)
    estimator.feature_names_in_ = np.array(names, dtype=object)


def name_columns(estimator: object, X: Any, target: str, domain: Domain) -> Domain:
    """Name the columns of a lazy frame to an estimator, and return the domain of its attributes."""
    columns = nw.from_native(X).collect_schema().names()
    if target not in columns:
        raise InvalidDataError(f"data lack the target column {target!r}.", remedy="Add or rename it.")
    names = tuple(name for name in columns if name != target)
    if any(not isinstance(name, str) for name in names):
        raise InvalidDataError("columns must be named by strings.", remedy="Rename them.")
    check_attributes(names, target)
    name_features(estimator, names)
    return without_target(domain, names, target)


def _array_names(estimator: object, width: int) -> tuple[str, ...]:
    domain = getattr(estimator, "domain", None)
    if isinstance(domain, Domain):
        if len(domain) != width:
            raise InvalidDataError(
                f"{parameter('X')} has {width} columns without names, but the domain has {len(domain)} attributes.",
                remedy="Pass a data frame, or one column per attribute in order.",
            )
        return domain.names
    return tuple(f"x{i}" for i in range(width))


def first_column(records: object) -> Any:
    """Return something as long as the records."""
    if isinstance(records, ConformedColumns):
        return records.array(records.names[0])
    if isinstance(records, dict):
        return next(iter(records.values()))
    return records


def as_frame(names: Sequence[str], records: object) -> Any:
    """Return records without gaps as a frame, from which a domain may be inferred."""
    if isinstance(records, dict):
        for name in names:
            if not np.isfinite(np.asarray(records[name], dtype=float)).all():
                raise InvalidDataError(
                    f"Input X contains NaN or infinity in column {name!r}.",
                    remedy="Replace these values, or declare a domain in which the attribute may be missing.",
                )
        return pl.DataFrame({name: np.ascontiguousarray(records[name]) for name in names})
    return records


def without_target(domain: Domain, names: Sequence[str], target: object) -> Domain:
    """Return the domain of the columns; every attribute but the target must be a column, and the other way round."""
    for name in names:
        if name not in domain:
            raise InvalidDataError(
                f"column {name!r} is not an attribute of the domain.", remedy="Declare it, or drop it."
            )
    for name in domain:
        is_column(name, (*names, target))
    return domain if len(names) == len(domain) else domain.restrict([name for name in domain if name in names])


def records_at(places: AnyArray, counts: Ints, size: int) -> Ints:
    """Return how many records are in each place; exactly, however many they are."""
    out = np.zeros(size, dtype=np.int64)
    np.add.at(out, places, counts)
    return out


MOST_PARTS = 2**32
"""Parts of all records together, where weights are fractions: sums of costs and residuals of them are exact."""

MOST_HALVINGS = 52
"""Halvings of a record to a part, at most."""


class Weights(NamedTuple):
    """How many records each row stands for: ``parts`` (n,) of one record, of which ``per_record`` make one."""

    parts: Ints
    per_record: int


def weights_of(sample_weight: object, n: int) -> Weights:
    """Return how many records each row stands for; what is no such number is refused.

    Whole weights are kept as they are. Fractions become multiples of a power of two: the coarsest that is exact, or the
    finest of which all together are at most :data:`MOST_PARTS`. That moves the weight of any of n rows by at most
    ``n / 2^31`` of the mean weight, and no weight to zero.
    """
    weights = np.full(n, sample_weight) if isinstance(sample_weight, int | float) else np.asarray(sample_weight)
    if weights.shape != (n,):
        raise InvalidDataError(
            f"{parameter('sample_weight')} must have shape ({n},), got {weights.shape}.", remedy="Give one per record."
        )
    # Of complex numbers the imaginary part would be dropped.
    if weights.dtype.kind not in "iuf" or not (np.asarray(weights, dtype=float) >= 0).all():
        raise InvalidDataError(
            f"{parameter('sample_weight')} must hold numbers of at least 0.", remedy="Drop the records instead."
        )
    exact = np.asarray(weights, dtype=float)
    if not exact.any():
        raise InvalidDataError(
            f"{parameter('sample_weight')} must not be zero for every record.", remedy="Give some record a weight."
        )
    whole = bool((exact == np.floor(exact)).all())
    most, words = (2**53, "2^53") if whole else (MOST_PARTS // 2, "2^31")
    with np.errstate(over="ignore"):
        summed = float(exact.sum())
    if not summed < most:
        raise InvalidDataError(
            f"{parameter('sample_weight')} must add up to less than {words} records, got {summed:.3g}.",
            remedy="Divide all weights by a common factor.",
        )
    if whole:
        return Weights(exact.astype(np.int64), 1)
    finest = math.floor(math.log2(MOST_PARTS / summed))
    if not finest <= MOST_HALVINGS:
        raise InvalidDataError(
            f"{parameter('sample_weight')} must add up to more than 2^-20 records, got {summed:.3g}.",
            remedy="Multiply all weights by a common factor: they are numbers of records.",
        )
    halvings = next((k for k in range(finest) if (exact * 2.0**k == np.floor(exact * 2.0**k)).all()), finest)
    parts = np.where(exact > 0, np.maximum(np.rint(exact * 2.0**halvings), 1), 0)
    return Weights(parts.astype(np.int64), 2**halvings)


def take_rows(records: object, rows: Bools) -> Any:
    """Return some of the rows of records that :func:`named` returned."""
    if rows.all():
        return records
    if isinstance(records, ConformedColumns | RecordTable):
        return records.take(rows)
    if isinstance(records, dict):
        return {name: column[rows] for name, column in records.items()}
    return RecordTable(collected(nw.from_native(records))).take(rows)


Weighed: TypeAlias = tuple[Array, Ints | None]
"""Values, and how many records have each; None for one each."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EngineIntake:
    """Records and classes of a lazy frame, counted by its engine.

    A fit asks for what its literals can use, so that what comes into memory does not grow with the records. A learner
    that asks for :attr:`columns` gets all distinct records.
    """

    table: LazyTable  # The records, which keep the column of the classes
    n_records: int  # Number of records
    # domain, classes, caveats: as of :class:`~glassine.learners.intake.HeldIntake`.
    domain: Domain
    classes: tuple[Scalar, ...]
    caveats: tuple[str, ...]
    distinct: list[Groups] = field(default_factory=list)  # The distinct records once they were asked for

    @property
    def unit(self) -> PrivacyUnit:
        """Whose data a private fit covers: an engine counts records."""
        return RECORD

    @property
    def weights(self) -> dict[str, str]:
        """Nothing: an engine knows no persons."""
        return {}

    @property
    def per_record(self) -> int:
        """Parts of one record: an engine counts whole ones."""
        return 1

    @property
    def columns(self) -> ConformedColumns:
        """The distinct records, in no order."""
        return self._records().columns

    @property
    def labels(self) -> Ints:
        """Index of each distinct record's class."""
        return self._labels(self._records())

    @property
    def multiplicities(self) -> Ints:
        """How many records each distinct one stands for."""
        return self._records().counts

    def numbers(self, name: str, cuts: Sequence[float] | None = None) -> Weighed:
        """Return the distinct values of a number, or of its cells, that are not missing, and how many records each."""
        attribute = self.domain[name]
        if cuts is not None and isinstance(attribute, Integer | Real):
            ends = cell_ends(attribute, cuts)
            counts = self.table.bins(name, attribute, ends[:-1])
            self.check_number(int(counts.sum()))
            filled = counts[:-1] > 0
            return ends[filled], counts[:-1][filled]
        groups = replace(self.table, keep=None).group({name: attribute})
        values = groups.columns.numbers[name]
        present = ~np.isnan(values)
        return values[present], groups.counts[present]

    def pack(self, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
        """Return the records as bit sets of conjunctions; equal records are one."""
        cuts = cuts_of([literal for antecedent in antecedents for literal in antecedent], self.domain)
        groups, labels = self.grouped([name for name in self.domain if name in cuts], cuts)
        return BitSets.pack(truths(groups.columns, antecedents), labels, len(self.classes), groups.counts)

    def grouped(self, names: Sequence[str], cuts: Cuts | None) -> tuple[Groups, Ints]:
        """Return the records as some attributes distinguish them, numbers by their cells, and their labels."""
        groups = self._group(names, cuts)
        return groups, self._labels(groups)

    def grouped_in_parts(
        self, names: Sequence[str], cuts: Cuts, queries: int = 1
    ) -> Iterator[tuple[ConformedColumns, Ints, Ints]]:
        """Yield distinct records, the index of each one's class, and how many there are of each, a part at a time."""
        attributes = {name: self.domain[name] for name in names}
        counted = 0
        for part in self.table.parts(attributes, cuts=cuts, queries=queries):
            counted += int(part.counts.sum())
            yield part.columns, self._labels(part), part.counts
        self.check_number(counted)

    def check_number(self, counted: int) -> None:
        """Raise InvalidDataError if a query counted another number of records than the first did."""
        if counted != self.n_records:
            raise InvalidDataError(
                "the lazy frame gave another number of records when it was read again.",
                remedy="Persist or collect it before.",
            )

    def _records(self) -> Groups:
        if not self.distinct:
            self.distinct.append(self._group(self.domain.names, None))
        return self.distinct[0]

    def _group(self, names: Sequence[str], cuts: Cuts | None) -> Groups:
        attributes = {name: self.domain[name] for name in names}
        groups = self.table.group(attributes, cuts=cuts)
        self.check_number(int(groups.counts.sum()))
        return groups

    def _labels(self, groups: Groups) -> Ints:
        # Where the target is a number there are no classes to keep.
        return np.zeros(0, dtype=np.int64) if self.table.keep is None else index_of(groups.kept, self.classes)


def in_memory(X: object) -> Any:
    """Return records that can be split: a lazy frame is collected, a table of counts refused."""
    if isinstance(X, CountTable):
        raise InvalidDataError("a CountTable cannot be split into parts record by record. Pass the records.")
    frame = frame_of(X)
    return collected(frame).to_native() if isinstance(frame, nw.LazyFrame) else X
