"""The comparison: every learner at every epsilon on every split, each result kept at once."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine import __version__
from glassine.codec import Codec, Field, optional, record
from glassine.comparison.candidates import CANDIDATES, Shape
from glassine.comparison.measuring import Sides, measure
from glassine.comparison.values import Comparison, Figures, Result, Row
from glassine.data.conform import conform
from glassine.data.inference import eager, infer_domain
from glassine.data.labels import classes_of, declared_classes, holds_booleans, index_of, one_type, refuse_gaps
from glassine.data.persons import Persons
from glassine.data.slices import Progress
from glassine.data.store import ResultKind, Store
from glassine.data.table import with_persons
from glassine.domain import Domain, Integer, Real
from glassine.domain.attributes import Scalar
from glassine.domain.domain import to_dict
from glassine.errors import InvalidDataError, InvalidDomainError, InvalidParameterError, UnreadableFileError, parameter
from glassine.privacy.unit import PrivacyUnit

__all__ = [
    "CLASSES_INFERRED",
    "DOMAIN_INFERRED",
    "Labelled",
    "Rows",
    "Task",
    "check_classes",
    "compare",
    "read_labelled",
    "split",
]

FIGURES: Codec[Figures] = record(Figures, {name: Field(required=True) for name in Figures.__slots__})
RESULT: Codec[Result] = record(
    Result, {"reason": Field(required=True), "figures": Field(codec=optional(FIGURES), required=True)}
)
RESULTS_OF: ResultKind[Result] = ResultKind(
    name="comparison",
    identity="comparison.json",
    schema="glassine.comparison-results/2",
    codec=RESULT,
    key=lambda result: result.key,
)
"""The results of a comparison, as a folder keeps them."""

# Seeded splits into training and test records, class by class.


Rows = npt.NDArray[np.intp]


def check_classes(labels: npt.NDArray[np.int64]) -> None:
    """Raise unless two classes at least have two records each, so that both sides of a split can hold them."""
    counts = np.bincount(labels)
    if not (counts >= 2).sum() >= 2:
        raise InvalidDataError(
            f"two classes must have two records each at least, got {counts[counts > 0].tolist()} records by class.",
            remedy="Give more records.",
        )


def split(
    labels: npt.NDArray[np.int64], number: int, *, test_share: float, seed: int, persons: Persons | None = None
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


def _class_of_each(labels: npt.NDArray[np.int64], persons: Persons) -> npt.NDArray[np.int64]:
    """Return the class that most records of each person have, the first of equals, shape (people,)."""
    n = int(labels.max()) + 1
    table = np.bincount(persons.codes * n + labels, minlength=persons.number * n).reshape(persons.number, n)
    return np.asarray(table.argmax(axis=1), dtype=np.int64)


DOMAIN_INFERRED = "The domain was taken from the data: the guarantee of a model that is fitted so does not hold."
CLASSES_INFERRED = "The classes were taken from the data: the guarantee of a model that is fitted so does not hold."

RECORDS_COVERED = (
    "The records were split by person, and the private models were fitted for single records: their epsilon covers one "
    "record of a person, not the person. State records_per_person to fit them for people."
)

TELLING = ("logistic", "deep-cart", "cart", "multiway-tree", "boosting")
"""Learners whose figures change with almost any record, the quickest first: one of them is measured again."""

ROUNDING = 1e-9
"""Relative difference of two figures that is taken for the rounding of another machine."""

MOST_NUMBERS = 20
"""Different numbers that a target may have which nothing declares as classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is compared, and how.

    Attributes
    ----------
    epsilons : tuple of float
        Budgets of the private learners.
    models : tuple of str
        Learners, of :data:`~glassine.comparison.CANDIDATES`.
    n_splits : int
        Splits into training and test records.
    test_share : float
        Share of the records that test, in (0, 1).
    seed : int
        Of splits, learners and permutations, at least 0.
    delta : float
        Delta of the additive models.
    max_depth, max_rules : int
        Splits on a path of a tree, and rules of a list, at most.
    time_limit : float
        Seconds that a fit of a tree or a list may take, by an estimate; what takes longer is left out.
    records_per_person : int or None
        Most records of a person that a private model uses, where persons are stated: its epsilon then covers people.

    Raises
    ------
    InvalidParameterError
        If a parameter lies outside its range.
    """

    epsilons: tuple[float, ...] = (0.1, 1.0)
    models: tuple[str, ...] = tuple(CANDIDATES)
    n_splits: int = 5
    test_share: float = 0.3
    seed: int = 0
    delta: float = 1e-6
    max_depth: int = 3
    max_rules: int = 3
    time_limit: float = 60.0
    records_per_person: int | None = None

    def __post_init__(self) -> None:
        wrong = next((value for value in self.epsilons if not 0 < value < math.inf), None)
        if wrong is not None or not self.epsilons:
            raise InvalidParameterError(
                f"{parameter('epsilons')} must be positive numbers, such as 0.1 and 1, got {self.epsilons!r}."
            )
        unknown = next((name for name in self.models if name not in CANDIDATES), None)
        if unknown is not None or not self.models:
            raise InvalidParameterError(
                f"{parameter('models')} must be some of {', '.join(CANDIDATES)}; got {unknown!r}."
            )
        for name, least, most in (("n_splits", 1, 1000), ("max_depth", 1, 8), ("max_rules", 1, 12), ("seed", 0, 2**63)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise InvalidParameterError(
                    f"{parameter(name)} must be a whole number in [{least}, {most}], got {value!r}."
                )
        if self.records_per_person is not None:
            PrivacyUnit.person(self.records_per_person)
        for name, top in (("test_share", 1.0), ("delta", 1.0), ("time_limit", math.inf)):
            if not 0 < getattr(self, name) < top:
                raise InvalidParameterError(
                    f"{parameter(name)} must be a number above 0 and below {top:g}, got {getattr(self, name)!r}."
                )

    @property
    def steps(self) -> list[tuple[int, str, float | None]]:
        """Split, learner and epsilon of every fit."""
        budgets: tuple[float | None, ...] = tuple(sorted(set(self.epsilons)))
        models = [name for name in CANDIDATES if name in self.models]
        return [
            (number, name, epsilon)
            for number in range(self.n_splits)
            for name in models
            for epsilon in (budgets if CANDIDATES[name].private else (None,))
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """What is compared on: a polars frame of the domain's attributes, and classes as 0, 1, ..."""

    frame: Any
    labels: npt.NDArray[np.int64]
    domain: Domain
    classes: tuple[Scalar, ...]
    caveats: tuple[str, ...]
    persons: Persons | None = None

    def sides(self, number: int, task: Task) -> Sides:
        """Return the training and test records of a split."""
        train, test = split(self.labels, number, test_share=task.test_share, seed=task.seed, persons=self.persons)
        return Sides(
            number=number,
            train=self.frame[train],
            train_labels=self.labels[train],
            test=self.frame[test],
            test_labels=self.labels[test],
            train_persons=None if self.persons is None else self.persons.take(train),
            test_persons=None if self.persons is None else self.persons.take(test),
        )


def compare(
    frame: Any,
    target: str,
    *,
    domain: Domain | None = None,
    classes: Sequence[Scalar] | None = None,
    persons: Any = None,
    task: Task | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Return how learners do on the same seeded splits: accuracy, AUROC, log-loss, bits learned, vulnerability.

    **Guarantee**: none. The figures are exact, of many fits on the same records, and no ledger is charged.

    Parameters
    ----------
    frame : data frame
        The records. Columns that the domain does not declare are left out.
    target : str
        The column of classes.
    domain : Domain, optional
        What is public; it may declare the target as a category. Without one it is taken from the data, with a caveat.
    classes : sequence of scalars, optional
        The public classes, where the domain does not declare them; otherwise they are taken from the data, with a
        caveat.
    persons : str, or array-like of shape (n,), optional
        Whose record each is: the column that holds identifiers, or one identifier for each record. Records are then
        split by person, and the gap attack and the vulnerability are those of people.
    task : Task, optional
        What is compared, and how.
    folder : path, optional
        Where each result is kept, so that a comparison that was ended goes on where it stood. A folder of the results
        of other options or other versions is refused, and one of other data where one result, measured again, comes out
        differently: the folder holds no digest of the records. More models, epsilons or splits may be asked for.
    progress : callable, optional
        Called with the number of fits that are done, and of all.

    Raises
    ------
    InvalidDataError
        If the target is missing, a number, or of one class; records do not fit the domain, or have no identifier.
    InvalidParameterError
        If ``task.records_per_person`` comes without persons.
    UnreadableFileError
        If the folder cannot be used.

    Examples
    --------
    >>> import polars as pl
    >>> from glassine.domain import Binary, Category
    >>> rows = [(a, b, "yes" if a and b else "no") for a in (0, 1) for b in (0, 1)] * 100
    >>> records = pl.DataFrame(rows, schema=["a", "b", "ill"], orient="row")
    >>> domain = Domain({"a": Binary(), "b": Binary(), "ill": Category(("no", "yes"))})
    >>> task = Task(epsilons=(1.0,), models=("tree", "constant"), n_splits=2)
    >>> found = compare(records, "ill", domain=domain, task=task)
    >>> [(row.model, row.epsilon, round(row.accuracy.value, 2)) for row in found.rows]
    [('tree', 1.0, 1.0), ('constant', None, 0.75)]
    """
    task = task or Task()
    records = read_labelled(frame, target, domain, classes, persons)
    if records.persons is None and task.records_per_person is not None:
        raise InvalidParameterError(
            f"{parameter('records_per_person')} needs {parameter('persons')}: whose record each is.",
            remedy=f"Pass {parameter('persons')}.",
        )
    caveats = records.caveats
    if (
        records.persons is not None
        and task.records_per_person is None
        and any(CANDIDATES[m].private for m in task.models)
    ):
        caveats = (*caveats, RECORDS_COVERED)
    shape = Shape(
        domain=records.domain,
        n_classes=len(records.classes),
        max_depth=task.max_depth,
        max_rules=task.max_rules,
        records_per_person=task.records_per_person,
        delta=task.delta,
        time_limit=task.time_limit,
    )
    results: dict[Any, Result] = {}
    with nullcontext() if folder is None else Store(folder, RESULTS_OF, _identity(records, target, task)) as store:
        if store is not None:
            results = store.results
            _check_records(records, task, shape, store)
        for result in _run(records, task, shape, dict(results), progress):
            results[result.key] = result
            if store is not None:
                store.add(result)
    return Comparison(
        target=target,
        classes=tuple(map(str, records.classes)),
        n_records=len(records.labels),
        n_attributes=len(records.domain),
        largest_class=float(np.bincount(records.labels).max() / len(records.labels)),
        n_splits=task.n_splits,
        test_share=task.test_share,
        seed=task.seed,
        delta=task.delta,
        max_depth=task.max_depth,
        max_rules=task.max_rules,
        caveats=caveats,
        n_people=None if records.persons is None else records.persons.number,
        rows=_rows(task, results),
        version=__version__,
    )


def _run(
    records: Labelled, task: Task, shape: Shape, results: dict[Any, Result], progress: Progress | None
) -> Iterator[Result]:
    steps = task.steps
    sides: Sides | None = None
    for done, (number, name, epsilon) in enumerate(steps):
        if progress is not None:
            progress(done, len(steps))
        if (name, epsilon, number) in results:
            continue
        if sides is None or sides.number != number:
            sides = records.sides(number, task)
        yield measure(name, epsilon, sides, shape, task.seed)
    if progress is not None:
        progress(len(steps), len(steps))


def _check_records(records: Labelled, task: Task, shape: Shape, store: Store[Result]) -> None:
    """Measure one stored result again; if it comes out differently, it is one of other records.

    A digest would reveal the last record to an attacker who has the folder and knows all others.

    Raises
    ------
    UnreadableFileError
        If it comes out differently.
    """
    measured = [r for r in store.results.values() if r.status == "measured" and r.model in CANDIDATES]
    if not measured:
        return
    last = len(TELLING)
    one = min(measured, key=lambda result: TELLING.index(result.model) if result.model in TELLING else last)
    again = measure(one.model, one.epsilon, records.sides(one.split, task), shape, task.seed)
    if not _alike(one, again):
        raise UnreadableFileError(
            f"{store.folder} holds the results of other records: {one.model} on split {one.split + 1} comes out "
            "differently on these.",
            remedy="Name another folder, or compare the records that it was made for.",
            path=store.folder,
        )


def _alike(one: Result, other: Result) -> bool:
    """Return whether two results are the same but for the rounding of another machine."""
    first, second = (asdict(result.figures) if result.figures is not None else {} for result in (one, other))
    if one.status != other.status or set(first) != set(second):
        return False
    numbers = [(first[name], second[name]) for name in first]
    return all(
        math.isclose(a, b, rel_tol=ROUNDING) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in numbers
    )


def _rows(task: Task, results: dict[tuple[str, float | None, int], Result]) -> tuple[Row, ...]:
    kinds: dict[tuple[str, float | None], list[Result]] = {}
    for number, name, epsilon in task.steps:
        kinds.setdefault((name, epsilon), []).append(results[name, epsilon, number])
    return tuple(Row.of(group) for group in kinds.values())


def read_labelled(
    frame: Any, target: str, domain: Domain | None, classes: Sequence[Scalar] | None, persons: Any
) -> Labelled:
    """Return the records, as far as the domain declares them, and their classes."""
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
    data = eager(frame).to_polars()
    if target not in data.columns:
        raise InvalidDataError(f"data lack the target column {target!r}.", remedy="Check its spelling.")
    if domain is not None and target in domain and isinstance(domain[target], Integer | Real):
        raise InvalidDataError(
            f"the domain declares the target {target!r} as a number, and only learners of classes are compared.",
            remedy="Declare it as a category.",
        )
    caveats: list[str] = []
    names = declared_classes(domain, target, classes, booleans=holds_booleans(data[target]))
    if names is None:
        labels = one_type(data[target].to_numpy())
        refuse_gaps(labels)
        names = classes_of(labels)
        if labels.dtype.kind in "iuf" and len(names) > MOST_NUMBERS:
            raise InvalidDataError(
                f"the target {target!r} has {len(names)} different numbers, and only learners of classes are compared.",
                remedy="Group them into classes, or declare the classes.",
            )
        caveats.append(CLASSES_INFERRED)
    codes = index_of(data[target], names)
    check_classes(codes if whose is None else _class_of_each(codes, whose))
    public = _attributes(data, target, domain)
    if domain is None or public.inferred:
        caveats.insert(0, DOMAIN_INFERRED)
    data = data.select(public.names)
    conform(data, public)
    return Labelled(frame=data, labels=codes, domain=public, classes=names, caveats=tuple(caveats), persons=whose)


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


def _identity(records: Labelled, target: str, task: Task) -> dict[str, Any]:
    """Return what results must agree on to belong to one comparison; models, epsilons and splits may be added."""
    import scipy
    import sklearn

    options = {name: value for name, value in asdict(task).items() if name not in ("epsilons", "models", "n_splits")}
    return {
        "records": len(records.labels),
        "people": None if records.persons is None else records.persons.number,
        "domain": to_dict(records.domain),
        "target": target,
        "classes": [str(value) for value in records.classes],
        "options": options,
        "versions": {
            "glassine": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }
