"""The comparison: every learner at every epsilon on every split is fitted and measured, each result kept at once."""

from __future__ import annotations

import hashlib
import math
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it ships no types

from glassine import __version__
from glassine.attacks.membership.attack_model import loss_attack
from glassine.attacks.membership.gap import gap_attack
from glassine.attacks.membership.outputs import LabelledRecords
from glassine.attacks.outcome import Measured
from glassine.attacks.overfitting import vulnerability
from glassine.attacks.reconstruction.entropy import reconstruct
from glassine.codec import Codec, Field, optional, record
from glassine.comparison.candidates import CANDIDATES, CONSTANT, Shape
from glassine.comparison.comparison_results import NO_PARTS, Comparison, Figures, Kind, Result, Row
from glassine.comparison.seeded_splits import Labelled, NumberTarget, Sides, read_labelled
from glassine.data.labels import Sample
from glassine.data.record_table import columns
from glassine.data.results_folder import ResultKind, RunStore
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.domain.domain import to_dict
from glassine.errors import (
    GlassineError,
    InvalidParameterError,
    UnreadableFileError,
    UnsupportedModelError,
    check_whole,
    parameter,
)
from glassine.formats import as_model, tree_or_rules
from glassine.models.transform import with_sizes
from glassine.privacy.unit import PrivacyUnit

PERMUTATIONS = 99


def seed_of(seed: int, model: str, epsilon: float | None, split: int) -> int:
    """Return the seed of one fit, which does not depend on what else is compared."""
    text = f"{seed} {model} {epsilon!r} {split}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big")


def measure(name: str, epsilon: float | None, sides: Sides, shape: Shape, seed: int) -> Result:
    """Fit a learner on the training records and measure it; what refuses to fit is not applicable."""
    drawn = seed_of(seed, name, epsilon, sides.number)
    key: dict[str, Any] = {"model": name, "epsilon": epsilon, "split": sides.number}
    try:
        # One thread: many small fits are faster so, and sums do not depend on the machine's cores.
        with warnings.catch_warnings(), threadpool_limits(limits=1):
            warnings.simplefilter("ignore")
            model = CANDIDATES[name].make(shape, math.nan if epsilon is None else epsilon, drawn)
            whose: dict[str, Any] = {}
            if CANDIDATES[name].private and shape.records_per_person is not None and sides.train_persons is not None:
                whose = {"persons": list(sides.train_persons.keys)}
            started = time.process_time()
            model.fit(sides.train, sides.train_labels, **whose)
            seconds = time.process_time() - started
            figures = replace(_figures(name, model, sides, shape, drawn), seconds=seconds)
    except GlassineError as error:
        return Result(status="not applicable", reason=str(error), **key)
    except Exception as error:
        # A learner of another library may fail in its own ways; the others are compared all the same.
        first = (str(error).strip().splitlines() or [""])[0]
        return Result(status="failed", reason=f"{type(error).__name__}: {first}", **key)
    return Result(status="measured", figures=figures, **key)


def _figures(name: str, model: object, sides: Sides, shape: Shape, seed: int) -> Figures:
    members = replace(
        LabelledRecords.read(Sample(sides.train, sides.train_labels), "members"), persons=sides.train_persons
    )
    others = replace(
        LabelledRecords.read(Sample(sides.test, sides.test_labels), "non-members"), persons=sides.test_persons
    )
    separation = vulnerability(model, members, others, n_permutations=PERMUTATIONS, random_state=seed)
    numbers = shape.target.kind == "number"
    gap = (loss_attack if numbers else gap_attack)(model, members, others, random_state=seed)
    bits, unknown, n_parts = _bits(name, model, shape.domain, sides.train)
    seen = separation.value if isinstance(separation, Measured) else None
    return Figures(
        **shape.target.scores(model, sides.test, sides.test_labels),
        bits=bits,
        bits_unknown=unknown,
        vulnerability=None if seen is None else float(seen.vulnerability.value),
        control=None if seen is None else float(seen.control),
        over="" if seen is None else seen.over,
        gap=float(gap.value.advantage.value) if isinstance(gap, Measured) else None,
        n_parts=n_parts,
    )


def _bits(name: str, model: object, domain: Domain, train: object) -> tuple[float | None, str, int | None]:
    """Return the bits learned about a training record, else why there are none, and the number of leaves or rules."""
    # Where a model's counts are not exact, regions weigh by the training records that lie in them.
    if name == CONSTANT:
        return 0.0, "", 1
    n_parts = None
    try:
        read = tree_or_rules(as_model(model, domain))
        n_parts = len(read.cells)
        if not read.counts_are_exact:
            read = with_sizes(read, np.bincount(read.apply(columns(train)), minlength=n_parts).tolist())
        bits = reconstruct(read, domain).bits_per_record(domain_aware=True)
    except UnsupportedModelError:
        return None, NO_PARTS, None
    except GlassineError as error:
        return None, str(error), n_parts
    return (bits, "", n_parts) if math.isfinite(bits) else (None, "a part of the model allows no record.", n_parts)


FIGURES: Codec[Figures] = record(Figures, {name: Field(required=True) for name in Figures.__slots__})
RESULT: Codec[Result] = record(
    Result, {"reason": Field(required=True), "figures": Field(codec=optional(FIGURES), required=True)}
)
RESULTS_OF: ResultKind[Result] = ResultKind(
    name="comparison",
    identity="comparison.json",
    schema="glassine.comparison-results/3",
    codec=RESULT,
    key=lambda result: result.key,
)
"""The results of a comparison, as a folder keeps them."""

RECORDS_COVERED = (
    "The records were split by person, and the private models were fitted for single records: their epsilon covers one "
    "record of a person, not the person. State records_per_person to fit them for people."
)

TELLING = ("logistic", "linear", "deep-cart", "cart", "multiway-tree", "boosting")
"""Learners whose figures change with almost any record, the quickest first: one of them is measured again."""

ROUNDING = 1e-9
"""Relative difference of two figures that is taken for the rounding of another machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is compared, and how.

    Attributes
    ----------
    epsilons : tuple of float
        Budgets of the private learners.
    models : tuple of str, optional
        Learners, of :data:`~glassine.comparison.CANDIDATES`; all that predict such a target by default.
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
    exclude : tuple of str
        Columns that no learner gets, such as an identifier.
    target_range : (float, float) or None
        The public range of a target of numbers, where the domain does not declare it. Of more than 20 different numbers
        that nothing declares, it is taken from the data, with a caveat.

    Raises
    ------
    InvalidParameterError
        If a parameter lies outside its range.
    """

    epsilons: tuple[float, ...] = (0.1, 1.0)
    models: tuple[str, ...] | None = None
    n_splits: int = 5
    test_share: float = 0.3
    seed: int = 0
    delta: float = 1e-6
    max_depth: int = 3
    max_rules: int = 3
    time_limit: float = 60.0
    records_per_person: int | None = None
    exclude: tuple[str, ...] = ()
    target_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        wrong = next((value for value in self.epsilons if not 0 < value < math.inf), None)
        if wrong is not None or not self.epsilons:
            raise InvalidParameterError(
                f"{parameter('epsilons')} must be positive numbers, such as 0.1 and 1, got {self.epsilons!r}."
            )
        named = tuple(CANDIDATES) if self.models is None else self.models
        unknown = next((name for name in named if name not in CANDIDATES), None)
        if unknown is not None or not named:
            raise InvalidParameterError(
                f"{parameter('models')} must be some of {', '.join(CANDIDATES)}; got {unknown!r}."
            )
        for name, least, most in (("n_splits", 1, 1000), ("max_depth", 1, 8), ("max_rules", 1, 12), ("seed", 0, 2**63)):
            check_whole(getattr(self, name), name, least, most, plain=True)
        if self.records_per_person is not None:
            PrivacyUnit.person(self.records_per_person)
        for name, top in (("test_share", 1.0), ("delta", 1.0), ("time_limit", math.inf)):
            if not 0 < getattr(self, name) < top:
                raise InvalidParameterError(
                    f"{parameter(name)} must be a number above 0 and below {top:g}, got {getattr(self, name)!r}."
                )

    def of_kind(self, kind: Kind) -> Task:
        """Return the same with the learners named that predict classes, or a number."""
        able = tuple(name for name, candidate in CANDIDATES.items() if kind in candidate.predicts)
        unable = next((name for name in self.models or () if name not in able), None)
        if unable is not None:
            other = "classes" if kind == "number" else "a number"
            raise InvalidParameterError(
                f"{CANDIDATES[unable].title} ({unable}) predicts {other}, and the target is "
                f"{'a number' if kind == 'number' else 'of classes'}.",
                remedy=f"Choose among {', '.join(able)}, or declare the target otherwise.",
            )
        return replace(self, models=self.models or able)

    @property
    def steps(self) -> list[tuple[int, str, float | None]]:
        """Split, learner and epsilon of every fit."""
        budgets: tuple[float | None, ...] = tuple(sorted(set(self.epsilons)))
        models = [name for name in CANDIDATES if self.models is None or name in self.models]
        return [
            (number, name, epsilon)
            for number in range(self.n_splits)
            for name in models
            for epsilon in (budgets if CANDIDATES[name].private else (None,))
        ]


def compare(
    data: object,
    target: str,
    *,
    domain: Domain | None = None,
    classes: Sequence[Scalar] | None = None,
    persons: object = None,
    task: Task | None = None,
    folder: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Return how learners do on the same seeded splits: errors on held-out records, bits learned, vulnerability.

    Classes are judged by accuracy, AUROC and log-loss; numbers by root mean squared error, mean absolute error and R².

    **Guarantee**: none. The figures are exact, of many fits on the same records, and no ledger is charged.

    Parameters
    ----------
    data : data frame
        The records. Columns that the domain does not declare are left out.
    target : str
        The column of classes, or of numbers.
    domain : Domain, optional
        What is public; it may declare the target. Without one it is taken from the data, with a caveat.
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
        If the target is missing or of one class; records do not fit the domain, or have no identifier.
    InvalidParameterError
        If ``task.records_per_person`` comes without persons, classes and range contradict each other or the domain, or
        a learner is asked for that does not predict such a target.
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
    records = read_labelled(data, target, domain, classes, persons, task.target_range, exclude=task.exclude)
    task = task.of_kind(records.target.kind)
    if records.persons is None and task.records_per_person is not None:
        raise InvalidParameterError(
            f"{parameter('records_per_person')} needs {parameter('persons')}: whose record each is.",
            remedy=f"Pass {parameter('persons')}.",
        )
    caveats = records.caveats
    if (
        records.persons is not None
        and task.records_per_person is None
        and any(CANDIDATES[m].private for m in task.models or ())
    ):
        caveats = (*caveats, RECORDS_COVERED)
    shape = Shape(
        domain=records.domain,
        target=records.target,
        max_depth=task.max_depth,
        max_rules=task.max_rules,
        records_per_person=task.records_per_person,
        delta=task.delta,
        time_limit=task.time_limit,
    )
    results: dict[Any, Result] = {}
    with nullcontext() if folder is None else RunStore(folder, RESULTS_OF, _identity(records, target, task)) as store:
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
        largest_class=float(np.bincount(records.labels).max() / len(records.labels)) if records.classes else None,
        n_splits=task.n_splits,
        test_share=task.test_share,
        seed=task.seed,
        delta=task.delta,
        max_depth=task.max_depth,
        max_rules=task.max_rules,
        caveats=caveats,
        n_people=None if records.persons is None else records.persons.number,
        target_range=_range_of(records),
        rows=_rows(task, results),
        version=__version__,
    )


def _run(
    records: Labelled, task: Task, shape: Shape, results: dict[Any, Result], progress: Callable[[int, int], None] | None
) -> Iterator[Result]:
    steps = task.steps
    sides: Sides | None = None
    for done, (number, name, epsilon) in enumerate(steps):
        if progress is not None:
            progress(done, len(steps))
        if (name, epsilon, number) in results:
            continue
        if sides is None or sides.number != number:
            sides = records.sides(number, test_share=task.test_share, seed=task.seed)
        yield measure(name, epsilon, sides, shape, task.seed)
    if progress is not None:
        progress(len(steps), len(steps))


def _check_records(records: Labelled, task: Task, shape: Shape, store: RunStore[Result]) -> None:
    """Measure one stored result again; if it comes out differently, it is one of other records."""
    # A digest would reveal the last record to an attacker who has the folder and knows all others.
    measured = [r for r in store.results.values() if r.status == "measured" and r.model in CANDIDATES]
    if not measured:
        return
    last = len(TELLING)
    one = min(measured, key=lambda result: TELLING.index(result.model) if result.model in TELLING else last)
    sides = records.sides(one.split, test_share=task.test_share, seed=task.seed)
    again = measure(one.model, one.epsilon, sides, shape, task.seed)
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
    for figures in (first, second):
        figures.pop("seconds", None)
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


def _range_of(records: Labelled) -> tuple[float, float] | None:
    target = records.target
    return (target.low, target.high) if isinstance(target, NumberTarget) else None


def _stated(domain: Domain) -> dict[str, Any]:
    """Return what a domain declares; of an attribute that was taken from the data, no value of a record."""
    plain = to_dict(domain)
    sentences = [
        {name: one[name] for name in ("name", "type", "inferred")} if one.get("inferred") else one
        for one in plain["attributes"]
    ]
    return {**plain, "attributes": sentences}


def _identity(records: Labelled, target: str, task: Task) -> dict[str, Any]:
    """Return what results must agree on to belong to one comparison; models, epsilons and splits may be added."""
    # What is excluded is not in the domain, and the range stands by itself.
    left_out = ("epsilons", "models", "n_splits", "exclude", "target_range")
    options = {name: value for name, value in asdict(task).items() if name not in left_out}
    return {
        "records": len(records.labels),
        "people": None if records.persons is None else records.persons.number,
        "domain": _stated(records.domain),
        "target": target,
        "classes": [str(value) for value in records.classes],
        "range": _range_of(records),
        "options": options,
        "versions": {
            "glassine": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }
