"""The same records in every container that a learner may get, values unchanged."""

from __future__ import annotations

import csv
import datetime
import io
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from glassine.domain import Category, Integer, Real
from glassine.domain.attributes import Attribute, Scalar, is_whole
from glassine.errors import InvalidDataError, InvalidParameterError, check_choice, parameter
from glassine.verification.statistical_phases import OutputSource, Refusal, Relation

__all__ = [
    "CONTAINERS",
    "ODD_VALUES",
    "CsvRecords",
    "EstimatorSource",
    "MechanismSource",
    "PlainRecords",
    "check_neighbors",
    "check_seed",
    "declared_values",
    "odd_values",
    "of_each_type",
    "pair_of",
    "records_of",
    "source_of",
]

# Sources of outputs: estimators and mechanisms; and the relation between two datasets.


RELATIONS = ("add-or-remove-one", "replace-one")


@dataclass(frozen=True, slots=True)
class CsvRecords:
    """A dataset as the text of a CSV file, with a header."""

    text: str  # The whole file
    target: str  # Name of the column of labels


@dataclass(frozen=True, slots=True)
class EstimatorSource:
    """Fits a clone of an estimator to a dataset ``(X, y)``; the output is the fitted clone, or that it refused."""

    estimator: Any  # As scikit-learn means it. With a seed, its ``random_state`` is set where it has one; estimator.
    # From the path of a CSV file and the name of the target in it to ``(X, y)``, such as a command's own way to read
    # its records. Needed where datasets are files, ``CsvRecords``; callable, optional.
    read: Callable[[Path, str], tuple[Any, Any]] | None = None

    def draw(self, dataset: Any, seed: int | None) -> Any:
        """Return a fitted clone; a ``Refusal`` where the fit raised an error."""
        from sklearn.base import clone

        fresh = clone(self.estimator)
        parameters = fresh.get_params(deep=False)
        if seed is not None and "random_state" in parameters:
            fresh.set_params(random_state=seed)
        elif parameters.get("random_state") is not None:
            raise InvalidParameterError(
                f"{parameter('random_state')} must be None where the runs are not seeded, got "
                f"{parameters['random_state']!r}: all "
                "runs would be one.",
                remedy="Set it to None, or pass a seed.",
            )
        if not isinstance(dataset, CsvRecords):
            records = pair_of(dataset)
            return _fitted(fresh, lambda: records)
        read = _reader(self.read)
        # A private fit opens the file itself, after the charge: it lies there until the fit ends.
        with TemporaryDirectory() as folder:
            path = Path(folder) / "records.csv"
            path.write_text(dataset.text, encoding="utf-8")
            return _fitted(fresh, lambda: read(path, dataset.target))


def _fitted(estimator: Any, read: Callable[[], tuple[Any, Any]]) -> Any:
    try:
        return estimator.fit(*read())
    except Exception as error:  # whatever it is, the world sees that there is no model
        return Refusal(error=error)


@dataclass(frozen=True, slots=True)
class MechanismSource:
    """Calls a function ``mechanism(dataset, seed)``; the output is what it returns."""

    # ``Randomness.of(seed)`` and ``numpy.random.default_rng(seed)`` are repeatable, and new each time for None;
    # callable.
    mechanism: Callable[[Any, int | None], Any]

    def draw(self, dataset: Any, seed: int | None) -> Any:
        """Return one output."""
        return self.mechanism(dataset, seed)


def _reader(read: Callable[[Path, str], tuple[Any, Any]] | None) -> Callable[[Path, str], tuple[Any, Any]]:
    if read is None:
        raise InvalidDataError(
            "a dataset is a file, and nothing reads it.", remedy=f"Pass {parameter('read=')}, or leave files out."
        )
    return read


def source_of(learner: object) -> OutputSource:
    """Return the source that an estimator, a function or a source stands for."""
    if isinstance(learner, type):
        raise InvalidParameterError(
            f"{parameter('learner')} must be an instance, got the class {learner.__name__}.", remedy="Construct it."
        )
    if isinstance(learner, OutputSource):
        return learner
    if hasattr(learner, "fit") and hasattr(learner, "get_params"):
        return EstimatorSource(learner)
    if callable(learner):
        return MechanismSource(learner)
    raise InvalidParameterError(
        f"{parameter('learner')} must be an estimator, a function of a dataset and a seed, or a source, got "
        f"{learner!r}.",
        remedy="Wrap it in a function.",
    )


def pair_of(dataset: object) -> tuple[Any, Any]:
    """Return the attributes and the labels of a dataset for an estimator."""
    if not (isinstance(dataset, tuple) and len(dataset) == 2):
        raise InvalidDataError(
            f"a dataset for an estimator must be a tuple (X, y), got {type(dataset).__name__}.",
            remedy="Pass both, or wrap the estimator in a function.",
        )
    return dataset[0], dataset[1]


def check_seed(seed: Any) -> int | None:
    """Return a seed as an int or None, or raise."""
    if seed is None:
        return None
    if not is_whole(seed) or not seed >= 0:
        raise InvalidParameterError(f"{parameter('seed')} must be None or a whole number of at least 0, got {seed!r}.")
    return int(seed)


def check_neighbors(d0: object, d1: object, relation: Relation) -> str:
    """Return how two datasets differ, or raise if they are not neighbors."""
    check_choice(relation, "relation", RELATIONS)
    first, second = records_of(d0), records_of(d1)
    removed, added = first - second, second - first
    n_removed, n_added = removed.total(), added.total()
    allowed = {(1, 1)} if relation == "replace-one" else {(0, 1), (1, 0)}
    if (n_removed, n_added) not in allowed:
        replaced = (n_removed, n_added) == (1, 1)
        remedy = 'relation="replace-one" is for those' if replaced else "Take two that differ as it says"
        raise InvalidDataError(
            f"the two datasets must be neighbors under {relation}, but {n_removed} records are in the first alone and "
            f"{n_added} in the second alone. {remedy}."
        )
    return f"{n_removed} records removed, {n_added} added"


def records_of(dataset: object) -> Counter[Hashable]:
    """Return the records of a dataset with their multiplicities."""
    if isinstance(dataset, CsvRecords):
        return Counter(dataset.text.splitlines()[1:])
    if isinstance(dataset, tuple) and len(dataset) == 2 and _is_table(dataset[0]):
        rows = _rows(dataset[0])
        if isinstance(dataset[1], str):
            return Counter(rows)
        labels = [_key(label) for label in _listed(dataset[1])]
        if len(labels) != len(rows):
            raise InvalidDataError(f"X and y must be of one length, got {len(rows)} and {len(labels)}.")
        return Counter(zip(rows, labels, strict=True))
    return Counter(_rows(dataset))


def _is_table(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(row, list | tuple | np.ndarray | Mapping) for row in value)
    shape = getattr(value, "shape", ())
    return isinstance(shape, tuple) and len(shape) == 2


def _listed(labels: object) -> list[Any]:
    """Return labels as Python objects, each unchanged."""
    # An array of all of them would make texts of some.
    if isinstance(labels, list | tuple):
        return list(labels)
    return list(np.asarray(labels, dtype=object).ravel().tolist())


def _rows(table: Any) -> list[Hashable]:
    if isinstance(table, np.ndarray | list | tuple):
        return [_key(row) for row in (table.tolist() if isinstance(table, np.ndarray) else table)]
    if hasattr(table, "tocsr"):
        raise InvalidDataError("a dataset must not be a sparse matrix.", remedy="Make it dense.")
    if _is_table(table):
        return [_key(row) for row in nw.from_native(table, eager_only=True).rows()]
    if isinstance(table, Iterable) and not isinstance(table, str | bytes | Mapping):
        return [_key(row) for row in table]
    raise InvalidDataError(
        f"a dataset must be a table, (X, y) or a sequence of records, got {type(table).__name__}.",
        remedy="Let the mechanism compute its query from the records.",
    )


def _key(value: Any) -> Hashable:
    """Return something hashable in which missing values are equal."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(_key(part) for part in value)
    try:
        # Only NaN and NaT differ from themselves.
        if value != value:
            return ("missing",)
        hash(value)
    except (TypeError, ValueError):
        return repr(value)
    return value  # type: ignore[no-any-return]  # it was hashed


Value: TypeAlias = object
"""A value of a record: anything that a file or a program may hold in its place."""

ODD_VALUES: Mapping[str, Value] = {
    "a text": "held by one record",
    "the empty text": "",
    "a fraction": 0.5,
    "2**53 + 1": 2**53 + 1,
    "2**63": 2**63,
    "2**64": 2**64,
    "NaN": math.nan,
    "infinity": math.inf,
    "None": None,
    "bytes": b"x",
    "a date": datetime.date(2000, 1, 1),
    "True": True,
}
"""Values that one record may hold where all others hold what was declared."""

TARGET = "target"
"""Name of the column of labels in a file, lengthened where an attribute has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRecords:
    """Records as Python values, in no container yet."""

    names: tuple[str, ...]  # The attributes
    rows: tuple[tuple[Value, ...], ...]  # The values of each record
    labels: tuple[Value, ...]  # Their labels, or numeric targets

    def with_record(self, row: Sequence[Value], label: Value, *, first: bool = False) -> PlainRecords:
        """Return the records and one more, at the end or in front."""
        rows, labels = (
            ((tuple(row), *self.rows), (label, *self.labels))
            if first
            else ((*self.rows, tuple(row)), (*self.labels, label))
        )
        return PlainRecords(names=self.names, rows=rows, labels=labels)

    def column(self, j: int) -> list[Value]:
        """Return the values of one attribute."""
        return [row[j] for row in self.rows]


def _objects(values: Sequence[Value]) -> npt.NDArray[np.object_]:
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


def _lists(records: PlainRecords) -> tuple[Any, Any]:
    return [list(row) for row in records.rows], list(records.labels)


def _tuples(records: PlainRecords) -> tuple[Any, Any]:
    return records.rows, records.labels


def _mappings(records: PlainRecords) -> tuple[Any, Any]:
    return [dict(zip(records.names, row, strict=True)) for row in records.rows], list(records.labels)


def _array(records: PlainRecords) -> tuple[Any, Any]:
    table = np.empty((len(records.rows), len(records.names)), dtype=object)
    for i, row in enumerate(records.rows):
        table[i] = row
    return table, _objects(records.labels)


def _pandas(records: PlainRecords) -> tuple[Any, Any]:
    import pandas as pd

    columns = {name: pd.Series(_objects(records.column(j))) for j, name in enumerate(records.names)}
    return pd.DataFrame(columns), pd.Series(_objects(records.labels))


def _polars(records: PlainRecords) -> tuple[Any, Any]:
    import polars as pl

    def series(name: str, values: list[Value]) -> pl.Series:
        try:
            return pl.Series(name, values, strict=True)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            # One type does not hold them all.
            return pl.Series(name, values, dtype=pl.Object)

    columns = [series(name, records.column(j)) for j, name in enumerate(records.names)]
    return pl.DataFrame(columns), series("", list(records.labels))


def _csv(records: PlainRecords) -> CsvRecords:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    target = TARGET
    while target in records.names:
        target += "_"
    writer.writerow([*records.names, target])
    for row, label in zip(records.rows, records.labels, strict=True):
        writer.writerow(["" if value is None else value for value in (*row, label)])
    return CsvRecords(text=out.getvalue(), target=target)


CONTAINERS: Mapping[str, Callable[[PlainRecords], Any]] = {
    "lists": _lists,
    "tuples": _tuples,
    "mappings": _mappings,
    "object array": _array,
    "pandas": _pandas,
    "polars": _polars,
    "CSV": _csv,
}
"""From records to a dataset ``(X, y)``, or to a file."""


def declared_values(attribute: Attribute) -> tuple[Scalar, ...]:
    """Return the values that an attribute declares; of a number its bounds."""
    if isinstance(attribute, Category):
        return attribute.values
    return (attribute.lo, attribute.hi) if isinstance(attribute, Integer | Real) else (0, 1)


def of_each_type(values: Sequence[Scalar]) -> list[tuple[Scalar, ...]]:
    """Return the texts among some values, and the numbers, without those that are not there."""
    texts = tuple(value for value in values if isinstance(value, str))
    numbers = tuple(value for value in values if not isinstance(value, str))
    return [group for group in (numbers, texts) if group]


def odd_values(declared: Sequence[Scalar]) -> Iterator[tuple[str, Value]]:
    """Return odd values, each with its name, for a place where values like some declared ones stand."""
    for name, value in ODD_VALUES.items():
        if not any(type(value) is type(other) and value == other for other in declared):
            yield name, value
    numbers = [value for value in declared if not isinstance(value, str)]
    if numbers:
        yield "a number as text", str(numbers[0])
    digits = [value for value in declared if isinstance(value, str) and value.isdigit()]
    if digits:
        yield "a text as number", int(digits[0])
