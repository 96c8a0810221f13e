"""The records that learners are compared on, what is predicted of them, and their seeded splits into two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from glassine.comparison.comparison_results import CLASS_MEASURES, NUMBER_MEASURES, Kind, Measure
from glassine.data.inference import infer_domain
from glassine.data.labels import classes_of, declared_classes, index_of, one_type, refuse_gaps
from glassine.data.person_counts import Persons
from glassine.data.record_table import as_table, eager, table_of, with_persons
from glassine.domain import Domain, Integer, Real
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidDataError, InvalidDomainError, InvalidParameterError, parameter
from glassine.learners.ranges import checked_bounds, declared_bounds
from glassine.models.quality import Quality
from glassine.records.alignment import holds_booleans
from glassine.records.arrays import AnyArray, Array, Indices, Ints
from glassine.records.cells import ANY_NUMBER, Flag
from glassine.records.undeclared import read_checked


def full_probabilities(model: Any, probabilities: Array, n_classes: int) -> Array:
    """Return one column for each class; those that the model has not seen have probability 0."""
    out = np.zeros((len(probabilities), n_classes))
    out[:, np.asarray(model.classes_, dtype=np.intp)] = probabilities
    return out


Scores: TypeAlias = dict[Measure, float | None]


@dataclass(frozen=True, slots=True)
class ClassTarget:
    """A target of classes; learners get them as 0, 1, ...

    Attributes
    ----------
    names : tuple of scalars
        The classes.
    """

    kind: ClassVar[Kind] = "classes"
    measures: ClassVar[tuple[Measure, ...]] = CLASS_MEASURES
    names: tuple[Scalar, ...]

    @property
    def parameters(self) -> dict[str, Any]:
        """What is public of it, as parameters of a learner of the package."""
        return {"classes": tuple(range(len(self.names)))}

    def scores(self, model: Any, records: Any, truth: AnyArray) -> Scores:
        """Return accuracy, AUROC and log-loss of a model on records and their classes, shape (n,)."""
        foretold = full_probabilities(model, model.predict_proba(records), len(self.names))
        quality = Quality.measured(np.asarray(model.predict(records)), truth, foretold)
        return {"accuracy": quality.accuracy, "auroc": quality.auroc, "log_loss": quality.log_loss}


@dataclass(frozen=True, slots=True)
class NumberTarget:
    """A target of numbers.

    Attributes
    ----------
    low, high : float
        Its range, low below high.
    """

    kind: ClassVar[Kind] = "number"
    measures: ClassVar[tuple[Measure, ...]] = NUMBER_MEASURES
    low: float
    high: float

    @property
    def parameters(self) -> dict[str, Any]:
        """What is public of it, as parameters of a learner of the package."""
        return {"target_range": (self.low, self.high)}

    def scores(self, model: Any, records: Any, truth: AnyArray) -> Scores:
        """Return root mean squared error, mean absolute error and R² on records and their numbers, shape (n,).

        R² is 1 less the squared errors as a share of those of the records' own mean; None where all have one number.

        Examples
        --------
        >>> from sklearn.dummy import DummyRegressor
        >>> truth = np.array([0.0, 2.0, 4.0])
        >>> mean = DummyRegressor().fit(np.zeros((3, 1)), truth)
        >>> scores = NumberTarget(0.0, 4.0).scores(mean, np.zeros((3, 1)), truth)
        >>> {name: round(value, 3) for name, value in scores.items()}
        {'rmse': 1.633, 'mae': 1.333, 'r2': 0.0}
        """
        # In units of the range: squares of numbers near the largest that a float holds would overflow.
        unit = self.high - self.low
        errors = np.asarray(model.predict(records), dtype=float) / unit - truth / unit
        around = truth / unit - float((truth / unit).mean())
        total, squares = float((around**2).sum()), float((errors**2).sum())
        return {
            "rmse": unit * math.sqrt(squares / len(truth)),
            "mae": unit * float(np.abs(errors).mean()),
            "r2": 1 - squares / total if np.ptp(truth) > 0 else None,
        }


Target: TypeAlias = ClassTarget | NumberTarget


DOMAIN_INFERRED = "The domain was taken from the data: the guarantee of a model that is fitted so does not hold."
CLASSES_INFERRED = "The classes were taken from the data: the guarantee of a model that is fitted so does not hold."
RANGE_INFERRED = (
    "The range of the target was taken from the data: the guarantee of a model that is fitted so does not hold."
)

MOST_NUMBERS = 20
"""Different numbers up to which a target that nothing declares is taken for classes."""

Rows = Indices


def check_classes(labels: Ints) -> None:
    """Raise unless two classes at least have two records each, so that both sides of a split can hold them."""
    counts = np.bincount(labels)
    if not (counts >= 2).sum() >= 2:
        raise InvalidDataError(
            f"two classes must have two records each at least, got {counts[counts > 0].tolist()} records by class.",
            remedy="Give more records.",
        )


def split(
    labels: Ints, number: int, *, test_share: float, seed: int, persons: Persons | None = None
) -> tuple[Rows, Rows]:
    """Return the rows that train and those that test, each class in the same shares.

    A class of two records or more stands on both sides; the only record of a class trains. Where persons are stated,
    all records of a person are on one side, and a person has the class that most of their records have.

    Examples
    --------
    >>> train, test = split(np.array([0, 0, 0, 0, 1, 1]), 0, test_share=0.25, seed=0)
    >>> len(train), len(test)
    (4, 2)
    """
    if persons is not None:
        people = split(_class_of_each(labels, persons), number, test_share=test_share, seed=seed)
        train_rows, test_rows = (np.flatnonzero(np.isin(persons.codes, side)) for side in people)
        return train_rows, test_rows
    rng = np.random.default_rng([seed, number])
    train, test = [], []
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        n_test = 0 if len(rows) < 2 else min(max(round(test_share * len(rows)), 1), len(rows) - 1)
        test.append(rows[:n_test])
        train.append(rows[n_test:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def _class_of_each(labels: Ints, persons: Persons) -> Ints:
    """Return the class that most records of each person have, the first of equals, shape (people,)."""
    n = int(labels.max()) + 1
    table = np.bincount(persons.codes * n + labels, minlength=persons.number * n).reshape(persons.number, n)
    return np.asarray(table.argmax(axis=1), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Training and test records of one split, with their classes as 0, 1, ... or numbers, and their persons."""

    number: int
    train: Any
    train_labels: AnyArray
    test: Any
    test_labels: AnyArray
    train_persons: Persons | None = None
    test_persons: Persons | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """What is compared on: a polars frame of the domain's attributes, and classes as 0, 1, ... or numbers."""

    frame: Any
    labels: AnyArray
    domain: Domain
    target: Target
    caveats: tuple[str, ...]
    persons: Persons | None = None

    @property
    def classes(self) -> tuple[Scalar, ...]:
        """The classes; none where the target is a number."""
        return self.target.names if isinstance(self.target, ClassTarget) else ()

    def sides(self, number: int, *, test_share: float, seed: int) -> Sides:
        """Return the training and test records of a split; of numbers every record is as good as another."""
        strata = self.labels if isinstance(self.target, ClassTarget) else np.zeros(len(self.labels), dtype=np.int64)
        train, test = split(strata, number, test_share=test_share, seed=seed, persons=self.persons)
        return Sides(
            number=number,
            train=self.frame[train],
            train_labels=self.labels[train],
            test=self.frame[test],
            test_labels=self.labels[test],
            train_persons=None if self.persons is None else self.persons.take(train),
            test_persons=None if self.persons is None else self.persons.take(test),
        )


def read_labelled(
    frame: object,
    target: str,
    domain: Domain | None,
    classes: Sequence[Scalar] | None,
    persons: object,
    target_range: tuple[float, float] | None = None,
    *,
    exclude: Sequence[str] = (),
) -> Labelled:
    """Return the records, as far as the domain declares them, and their classes or numbers."""
    if not isinstance(target, str):
        raise InvalidDataError(
            f"{parameter('target')} must be the name of a column of the records, got {type(target).__name__}.",
            remedy="Add it to the records as a column.",
        )
    whose: Persons | None = None
    if persons is not None:
        if isinstance(persons, str) and persons == target:
            raise InvalidDataError(
                f"the column {target!r} is the target, and cannot also hold the persons.", remedy="Name another."
            )
        frame = with_persons(frame, persons)
        whose = frame.persons
        if domain is not None and whose is not None and whose.column in domain:
            domain = domain.restrict([name for name in domain if name != whose.column])
    table = as_table(eager(frame))
    # Column by column: libraries that convert a whole frame refuse columns of texts and numbers.
    data = table_of(table, table.names).frame.to_native()
    _check_left_out(exclude, data.columns, domain, target)
    data = data.drop(exclude, strict=False)
    if domain is not None:
        domain = domain.restrict([name for name in domain if name not in exclude])
    if target not in data.columns:
        raise InvalidDataError(f"data lack the target column {target!r}.", remedy="Check its spelling.")
    predicted, labels, caveats = _predicted(data[target], target, domain, classes, target_range)
    if isinstance(predicted, ClassTarget):
        check_classes(labels if whose is None else _class_of_each(labels, whose))
    elif (len(labels) if whose is None else whose.number) < 2:
        raise InvalidDataError("records must both train and test, and there is one.", remedy="Give more records.")
    public = _attributes(data, target, domain)
    if domain is None or public.inferred:
        caveats.insert(0, DOMAIN_INFERRED)
    data = _as_read(data.select(public.names), public)
    return Labelled(frame=data, labels=labels, domain=public, target=predicted, caveats=tuple(caveats), persons=whose)


def _as_read(data: Any, domain: Domain) -> Any:
    """Return records of which every value is one of its attribute, in types that learners of any library take."""
    columns = read_checked(data, domain)
    texts = {name for name in columns.numbers if not data[name].dtype.is_numeric()}
    objects = {name for name in columns.codes if data[name].dtype.is_object()}
    odd = {name: columns.values(name) for name in domain if name in texts | objects}
    return data.with_columns(table_of(odd, tuple(odd)).frame.to_native()) if odd else data


def _check_left_out(exclude: Sequence[str], names: Sequence[str], domain: Domain | None, target: str) -> None:
    unknown = next((name for name in exclude if name not in names and (domain is None or name not in domain)), None)
    if unknown is not None or target in exclude:
        named = f"{target!r}, which is the target" if unknown is None else f"{unknown!r}, which is not a column"
        raise InvalidParameterError(f"{parameter('exclude')} names {named}.", remedy="Leave it out.")


def _predicted(
    column: Any,
    name: str,
    domain: Domain | None,
    classes: Sequence[Scalar] | None,
    target_range: tuple[float, float] | None,
) -> tuple[Target, AnyArray, list[str]]:
    """Return what is predicted, its values as codes or numbers, and what of it was taken from the data."""
    declared = None if domain is None or name not in domain else domain[name]
    if target_range is not None and (classes is not None or declared is not None):
        raise InvalidParameterError(
            f"{parameter('target_range')} is for a target that neither {parameter('classes')} nor the domain declares.",
            remedy="Leave one of them out.",
        )
    if isinstance(declared, Integer | Real):
        if classes is not None:
            raise InvalidParameterError(
                f"the domain declares the target {name!r} as a number, and {parameter('classes')} says otherwise.",
                remedy="Leave the classes out, or declare the target as a category.",
            )
        declared_bounds(domain, name)
        return _number_of((declared.lo, declared.hi), widen=True), _numbers(column, name), []
    if target_range is not None:
        return _number_of(target_range), _numbers(column, name), []
    names = declared_classes(domain, name, classes, booleans=holds_booleans(column))
    if names is not None:
        return ClassTarget(names), index_of(column, names), []
    labels = one_type(column.to_numpy())
    refuse_gaps(labels)
    if labels.dtype.kind in "iuf" and len(np.unique(labels)) > MOST_NUMBERS:
        numbers = _numbers(column, name)
        return _number_of((float(numbers.min()), float(numbers.max()))), numbers, [RANGE_INFERRED]
    names = classes_of(labels)
    return ClassTarget(names), index_of(column, names), [CLASSES_INFERRED]


def _number_of(limits: tuple[float, float], *, widen: bool = False) -> NumberTarget:
    """Return a target of numbers, its range checked as learners check it."""
    low, high = checked_bounds(limits, widen=widen)
    return NumberTarget(low, high)


def _numbers(column: Any, name: str) -> Array:
    """Return a target as numbers, shape (n,)."""
    numbers, flags = ANY_NUMBER.column(column)
    if (flags == Flag.UNDECLARED).any():
        raise InvalidDataError(
            f"the target {name!r} holds no numbers, or other values as well.", remedy="Name another column."
        )
    numbers = np.where(flags == Flag.INFINITE, np.nan, numbers)
    refuse_gaps(numbers)
    return numbers


def _attributes(data: Any, target: str, domain: Domain | None) -> Domain:
    """Return the domain of the attributes, without the target."""
    names = [name for name in (data.columns if domain is None else domain) if name != target]
    missing = next((name for name in names if name not in data.columns), None)
    if missing is not None:
        raise InvalidDataError(
            f"data lack the column {missing!r} of the domain.", remedy="Add it, or leave it out of the domain."
        )
    if not names:
        raise InvalidDomainError("there is no attribute but the target.", remedy="Give records of attributes.")
    return infer_domain(data.select(names)) if domain is None else domain.restrict(names)
