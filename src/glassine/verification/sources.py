"""Sources of outputs: estimators and mechanisms; and the relation between two data sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from glassine.domain.attributes import is_whole
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.verification.protocols import Refusal, Relation, Source

__all__ = [
    "CsvRecords",
    "EstimatorSource",
    "MechanismSource",
    "check_neighbors",
    "check_seed",
    "pair_of",
    "records_of",
    "source_of",
]

RELATIONS = ("add-or-remove-one", "replace-one")


@dataclass(frozen=True, slots=True)
class CsvRecords:
    """A data set as the text of a CSV file, with a header.

    Attributes
    ----------
    text : str
        The whole file.
    target : str
        Name of the column of labels.
    """

    text: str
    target: str


@dataclass(frozen=True, slots=True)
class EstimatorSource:
    """Fits a clone of an estimator to a data set ``(X, y)``; the output is the fitted clone, or that it refused.

    Attributes
    ----------
    estimator : estimator
        As scikit-learn means it. With a seed, its ``random_state`` is set where it has one.
    read : callable, optional
        From the path of a CSV file and the name of the target in it to ``(X, y)``, such as a command's own way to read
        its records. Needed where data sets are files, ``CsvRecords``.
    """

    estimator: Any
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
                f"random_state must be None where the runs are not seeded, got {parameters['random_state']!r}: all "
                "runs would be one. Set it to None, or pass a seed."
            )
        records = None if isinstance(dataset, CsvRecords) else pair_of(dataset)
        if records is None:
            _reader(self.read)
        try:
            X, y = self._read(dataset) if records is None else records
            return fresh.fit(X, y)
        except Exception as error:  # whatever it is, the world sees that there is no model
            return Refusal(error=error)

    def _read(self, dataset: CsvRecords) -> tuple[Any, Any]:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "records.csv"
            path.write_text(dataset.text, encoding="utf-8")
            return _reader(self.read)(path, dataset.target)


@dataclass(frozen=True, slots=True)
class MechanismSource:
    """Calls a function ``mechanism(dataset, seed)``; the output is what it returns.

    Attributes
    ----------
    mechanism : callable
        ``Randomness.of(seed)`` and ``numpy.random.default_rng(seed)`` are repeatable, and new each time for None.
    """

    mechanism: Callable[[Any, int | None], Any]

    def draw(self, dataset: Any, seed: int | None) -> Any:
        """Return one output."""
        return self.mechanism(dataset, seed)


def _reader(read: Callable[[Path, str], tuple[Any, Any]] | None) -> Callable[[Path, str], tuple[Any, Any]]:
    if read is None:
        raise InvalidDataError("a data set is a file, and nothing reads it. Pass read=, or leave files out.")
    return read


def source_of(learner: Any) -> Source:
    """Return the source that an estimator, a function or a source stands for.

    Raises
    ------
    InvalidParameterError
        If it is none of them.
    """
    if isinstance(learner, type):
        raise InvalidParameterError(f"learner must be an instance, got the class {learner.__name__}. Construct it.")
    if isinstance(learner, Source):
        return learner
    if hasattr(learner, "fit") and hasattr(learner, "get_params"):
        return EstimatorSource(learner)
    if callable(learner):
        return MechanismSource(learner)
    raise InvalidParameterError(
        f"learner must be an estimator, a function of a data set and a seed, or a source, got {learner!r}. "
        "Wrap it in a function."
    )


def pair_of(dataset: Any) -> tuple[Any, Any]:
    """Return the attributes and the labels of a data set for an estimator."""
    if not (isinstance(dataset, tuple) and len(dataset) == 2):
        raise InvalidDataError(
            f"a data set for an estimator must be a tuple (X, y), got {type(dataset).__name__}. Pass both, or wrap the "
            "estimator in a function."
        )
    return dataset[0], dataset[1]


def check_seed(seed: Any) -> int | None:
    """Return a seed as an int or None, or raise."""
    if seed is None:
        return None
    if not is_whole(seed) or not seed >= 0:
        raise InvalidParameterError(f"seed must be None or a whole number of at least 0, got {seed!r}.")
    return int(seed)


def check_neighbors(d0: Any, d1: Any, relation: Relation) -> str:
    """Return how two data sets differ, or raise if they are not neighbors.

    Parameters
    ----------
    d0, d1 : data set
        See ``records_of``. The order of records plays no part in the relation.
    relation : {"add-or-remove-one", "replace-one"}
        The neighboring relation.

    Raises
    ------
    InvalidDataError
        If they hold the same records, or differ by more than the relation allows.
    """
    if relation not in RELATIONS:
        raise InvalidParameterError(f"relation must be one of {', '.join(RELATIONS)}, got {relation!r}.")
    first, second = records_of(d0), records_of(d1)
    removed, added = first - second, second - first
    n_removed, n_added = removed.total(), added.total()
    allowed = {(1, 1)} if relation == "replace-one" else {(0, 1), (1, 0)}
    if (n_removed, n_added) not in allowed:
        replaced = (n_removed, n_added) == (1, 1)
        remedy = 'relation="replace-one" is for those' if replaced else "Take two that differ as it says"
        raise InvalidDataError(
            f"the two data sets must be neighbors under {relation}, but {n_removed} records are in the first alone and "
            f"{n_added} in the second alone. {remedy}."
        )
    return f"{n_removed} records removed, {n_added} added"


def records_of(dataset: Any) -> Counter[Hashable]:
    """Return the records of a data set with their multiplicities.

    Parameters
    ----------
    dataset : tuple (X, y), data frame, array or sequence
        Of ``(X, y)`` with a table ``X`` a record is a row with its label, where ``y`` is not the name of a column; of a
        frame or an array a row; of any other sequence an item.
    """
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


def _is_table(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(row, list | tuple | np.ndarray | Mapping) for row in value)
    shape = getattr(value, "shape", ())
    return isinstance(shape, tuple) and len(shape) == 2


def _listed(labels: Any) -> list[Any]:
    """Return labels as Python objects, each as it is: an array of all of them would make texts of some."""
    if isinstance(labels, list | tuple):
        return list(labels)
    return list(np.asarray(labels, dtype=object).ravel().tolist())


def _rows(table: Any) -> list[Hashable]:
    if isinstance(table, np.ndarray | list | tuple):
        return [_key(row) for row in (table.tolist() if isinstance(table, np.ndarray) else table)]
    if hasattr(table, "tocsr"):
        raise InvalidDataError("a data set must not be a sparse matrix. Make it dense.")
    if _is_table(table):
        import narwhals as nw

        return [_key(row) for row in nw.from_native(table, eager_only=True).rows()]
    if isinstance(table, Iterable) and not isinstance(table, str | bytes | Mapping):
        return [_key(row) for row in table]
    raise InvalidDataError(
        f"a data set must be a table, (X, y) or a sequence of records, got {type(table).__name__}. Let the mechanism "
        "compute its query from the records."
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
