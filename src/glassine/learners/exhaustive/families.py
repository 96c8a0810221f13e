"""How parameters make a class of models: all trees or all rule lists, and leaves of classes or of numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import chain
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from glassine.capacity import DeclaredClass, rule_list_class, tree_class
from glassine.compiling.slices import Progress
from glassine.counting.logic import LiteralLogic, RuleLogic
from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.errors import ClassTooLargeError, check_whole
from glassine.learners.additive.engine_counts import CountedNumbers
from glassine.learners.additive.targets import read_numbers
from glassine.learners.antecedents import Antecedent, LiteralPlan, PoolPlan
from glassine.learners.budget import check_number
from glassine.learners.declared import questions_are_public
from glassine.learners.estimator import Scored, TransparentClassifier, TransparentModel
from glassine.learners.exhaustive.sizes import smaller
from glassine.learners.intake import Intake, read_training
from glassine.learners.publishing import evidence_of
from glassine.learners.training_data import EngineIntake, weights_of
from glassine.models import DecisionTree, Evidence, RuleList
from glassine.records.arrays import Array, Ints
from glassine.records.bits import BitSets, truths
from glassine.records.cuts import cuts_of
from glassine.sealed.binned import HeldRecords
from glassine.sealed.lists import ListClass
from glassine.sealed.losses import MOST_STEPS, PARTS, LeafCosts, released_means, released_probabilities
from glassine.sealed.model_class import ModelClass, as_fine_as_summed
from glassine.sealed.persons import CountedPersons
from glassine.sealed.plan import Metadata
from glassine.sealed.store import NumericIntake, upper_parts
from glassine.sealed.trees import TreeClass


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CountedNumericIntake(EngineIntake):
    """Records and numbers of a lazy frame, counted by its engine; in parts as of :class:`NumericIntake`."""

    records: CountedNumbers  # The same records, with their numbers
    target_range: tuple[float, float]  # The public range of the target

    def pack(self, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
        """Return the parts of the records as bit sets of conjunctions; in each query's answer equal ones are one."""
        patterns, sums = [], []
        for columns, values, counts in self.records.in_cells(cuts_of(chain.from_iterable(antecedents), self.domain)):
            # A row that always holds comes first: without conjunctions there is one pattern.
            holds = np.array([np.ones(len(values), dtype=bool), *truths(columns, antecedents)])
            distinct, place = np.unique(np.packbits(holds, axis=0).T, axis=0, return_inverse=True)
            upper = upper_parts(values)
            parts = np.zeros((len(distinct), 2), dtype=np.int64)
            np.add.at(parts, place.ravel(), np.column_stack([PARTS - upper, upper]) * np.reshape(counts, (-1, 1)))
            patterns.append(distinct)
            sums.append(parts)
        holds = np.unpackbits(np.concatenate(patterns), axis=1, count=len(antecedents) + 1).T.astype(bool)
        return BitSets.pack_counts(holds[1:], np.concatenate(sums))


def read_numeric(
    estimator: object,
    X: object,
    y: object,
    *,
    domain: Domain | None,
    bounds: tuple[float, float] | None,
    times: CountedPersons | npt.ArrayLike | None,
    private: bool,
) -> NumericIntake | CountedNumericIntake:
    """Read the arguments of a regressor's fit; a lazy frame of a private one stays where it is, as of classes."""
    # Shapes: times (n,), optional.
    persons = times if isinstance(times, CountedPersons) else None
    records, training = read_numbers(estimator, X, y, domain=domain, bounds=bounds, times=persons, private=private)
    half, middle = training.target.scale
    target_range = middle - half, middle + half
    if isinstance(records, CountedNumbers):
        return CountedNumericIntake(
            table=records.intake.table,
            n_records=records.intake.n_records,
            domain=training.domain,
            classes=(),
            caveats=training.caveats,
            records=records,
            target_range=target_range,
        )
    if not isinstance(records, HeldRecords):
        raise TypeError("a number is held, or counted")
    multiplicities, per_record = None, 1
    if persons is None and times is not None:
        multiplicities, per_record = weights_of(times, len(records.values))
    return NumericIntake(
        columns=records.columns,
        labels=upper_parts(records.values),
        multiplicities=multiplicities,
        domain=training.domain,
        classes=(),
        caveats=training.caveats,
        persons=persons,
        target_range=target_range,
        targets=records.values * half + middle,
        per_record=per_record,
    )


Conditions: TypeAlias = LiteralPlan | PoolPlan
"""Where the splits of trees, or the rules of lists, come from, fixed before the data are looked at."""


Publish: TypeAlias = Callable[[Sequence[Evidence]], DecisionTree | RuleList]
"""Makes a model of what is published of its leaves or rules."""


class Drawn(NamedTuple):
    """What a private fit releases of the leaves or rules of a model that it drew."""

    values: Sequence[int]  # Their values, as numbers in the grid of the loss
    counts: Ints | None  # Their noisy class counts, shape (k, c)
    rates: Array | None  # The base rates about which values lie, shape (c,)
    epsilons: tuple[float, float]  # What the model and the counts were drawn at, for one record


@dataclass(kw_only=True, eq=False, repr=False)
class ClassLearner(TransparentModel):
    """A learner of one model of a class of trees or rule lists over public conditions."""

    literals: str | Sequence[Literal] = "auto"
    n_quantiles: int = 7
    progress: Progress | None = None

    noun: ClassVar[str]
    made_of: ClassVar[str]
    """What a model is, and of what, in words."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise InvalidParameterError if the size of the models is out of its range."""

    @abstractmethod
    def _size(self) -> str:
        """Return how large the models may be, in words."""

    @abstractmethod
    def _conditions(self, domain: Domain) -> Conditions:
        """Return where the conditions come from."""

    @abstractmethod
    def _members(self, domain: Domain, conditions: Sequence[Any], loss: LeafCosts) -> ModelClass[Any]:
        """Return all models over some conditions."""

    @abstractmethod
    def _read(self, X: object, y: object, times: CountedPersons | npt.ArrayLike | None, *, private: bool) -> Intake:
        """Read the arguments of a fit; ``times`` are persons or sample weights."""

    def _ranks(self, n_classes: int) -> bool:
        """Return whether the values of leaves lie about base rates, which are released first."""
        return False

    @abstractmethod
    def _public_loss(self, n_classes: int, steps: int) -> LeafCosts:
        """Return the public part of the loss, with at most so many steps between values."""

    def _widest(self, domain: Domain, n_classes: int, part_weight: float = 1.0) -> ModelClass[Any]:
        """Return the class with as many conditions and values as there can be; it follows from what is public alone."""
        conditions = self._conditions(domain).widest()
        members = self._members(domain, conditions, self._public_loss(n_classes, MOST_STEPS))
        return as_fine_as_summed(members, partial(self._public_loss, n_classes), part_weight)


@dataclass(kw_only=True, eq=False, repr=False)
class Tabulated(ClassLearner):
    """A learner that weighs every model of its class by a loss, in tables whose size is limited."""

    memory_limit: float = 4e9
    time_limit: float = 600.0

    counts_share: ClassVar[dict[bool, float]]
    """Share of epsilon for the counts of leaves, by whether the loss ranks."""

    def _loss(self, rates: Array, strength: float, widest: ModelClass[Any]) -> LeafCosts:
        """Return the loss about base rates, with no more values than the widest class has."""
        return widest.loss

    @abstractmethod
    def _released(self, metadata: Metadata, loss: LeafCosts, drawn: Drawn) -> tuple[Evidence, ...]:
        """Return what a private fit publishes of leaves or rules: it follows from what was released of them."""

    @abstractmethod
    def _exact(
        self, intake: Intake, loss: LeafCosts, values: Sequence[int], counts: Ints, publish: Publish
    ) -> tuple[DecisionTree | RuleList, float]:
        """Return what a fit without privacy publishes, with exact figures, and the mean loss of a record."""

    @abstractmethod
    def _target(self, metadata: Metadata) -> dict[str, Any]:
        """Return what a certificate names as public of the target and the loss."""

    def _refuse_too_large(self, members: ModelClass[Any], metadata: Metadata, **weighing: Any) -> None:
        """Raise ClassTooLargeError if summing a class may exceed the limits, with what would not."""
        # weighing is passed on to refuse_too_large.
        try:
            members.refuse_too_large(memory_limit=self.memory_limit, time_limit=self.time_limit, **weighing)
        except ClassTooLargeError as error:
            if ways := smaller(self, metadata.domain, members.n_classes):
                error.advise(ways.text(lambda names: f"without {' and '.join(map(repr, names))}"))
            raise


@dataclass(kw_only=True, eq=False, repr=False)
class Classes(TransparentClassifier, ClassLearner):
    """Leaves of classes, whose errors count."""

    classes: Sequence[Scalar] | None = None

    def _read(self, X: object, y: object, times: CountedPersons | npt.ArrayLike | None, *, private: bool) -> Intake:
        return read_training(self, X, y, domain=self.domain, classes=self.classes, times=times, private=private)

    def _public_loss(self, n_classes: int, steps: int) -> LeafCosts:
        return LeafCosts.errors(n_classes)


@dataclass(kw_only=True, eq=False, repr=False)
class RankedClasses(Classes, Tabulated):
    """Leaves of classes: errors alone, or with log loss of probabilities about base rates that are released first."""

    accuracy_share: float = 0.3

    counts_share: ClassVar[dict[bool, float]] = {False: 0.05, True: 0.095}

    def _ranks(self, n_classes: int) -> bool:
        share = check_number(self.accuracy_share, "accuracy_share", low=0.0, high=1.0)
        return share < 1 and n_classes > 1

    def _public_loss(self, n_classes: int, steps: int) -> LeafCosts:
        return LeafCosts.widest(n_classes, steps) if self._ranks(n_classes) else super()._public_loss(n_classes, steps)

    def _loss(self, rates: Array, strength: float, widest: ModelClass[Any]) -> LeafCosts:
        steps = (widest.loss.n_values - 1) // len(rates)
        return LeafCosts.ranking(rates, strength, float(self.accuracy_share), steps=steps)

    def _released(self, metadata: Metadata, loss: LeafCosts, drawn: Drawn) -> tuple[Evidence, ...]:
        values, counts, rates, epsilons = drawn
        shares = None
        if rates is not None:
            shares = released_probabilities(counts, np.array(values), loss, rates, epsilons)
        return evidence_of([loss.labels[value] for value in values], counts, shares)

    def _exact(
        self, intake: Intake, loss: LeafCosts, values: Sequence[int], counts: Ints, publish: Publish
    ) -> tuple[DecisionTree | RuleList, float]:
        cost = int((loss.costs[list(values)] * counts).sum())
        cells = evidence_of([loss.labels[value] for value in values], counts)
        return publish(cells), cost / loss.unit / max(intake.n_records, 1)

    def _target(self, metadata: Metadata) -> dict[str, Any]:
        share = (
            {"share of errors in the loss": float(self.accuracy_share)} if self._ranks(len(metadata.classes)) else {}
        )
        return {"classes": list(metadata.classes), **share}


@dataclass(kw_only=True, eq=False, repr=False)
class Numbers(Scored, RegressorMixin, Tabulated):  # type: ignore[misc]  # scikit-learn ships no types
    """Leaves of numbers in a public range: squared error of values over that range."""

    target_range: tuple[float, float] | None = None

    counts_share: ClassVar[dict[bool, float]] = {False: 0.1}

    def _n_classes(self) -> int:
        # Of the parts of a record: those of the lower and of the upper class.
        return 2

    def _read(
        self, X: object, y: object, times: CountedPersons | npt.ArrayLike | None, *, private: bool
    ) -> NumericIntake | CountedNumericIntake:
        return read_numeric(self, X, y, domain=self.domain, bounds=self.target_range, times=times, private=private)

    def _public_loss(self, n_classes: int, steps: int) -> LeafCosts:
        return LeafCosts.squares(steps)

    def _exact(
        self, intake: Intake, loss: LeafCosts, values: Sequence[int], counts: Ints, publish: Publish
    ) -> tuple[DecisionTree | RuleList, float]:
        numeric, n = _numeric(intake), len(values)
        if not isinstance(numeric, NumericIntake):
            raise TypeError("exact figures need records in memory")
        # Leaves publish the means of the targets themselves, which their parts round.
        where = publish([Evidence()] * n).apply(numeric.columns)
        # In parts of records, as the evidence is published.
        times = np.ones(len(where)) if numeric.multiplicities is None else numeric.multiplicities
        sizes = np.bincount(where, times, n).astype(int)
        lo, hi = numeric.target_range
        grid = lo + (hi - lo) * loss.values[list(values)]
        means = np.where(sizes > 0, np.bincount(where, times * numeric.targets, n) / np.maximum(sizes, 1), grid)
        # In units of the range: squares of very small or large numbers would vanish or overflow.
        errors = float((times * ((numeric.targets - means[where]) / (hi - lo)) ** 2).sum())
        pairs = zip(means.tolist(), sizes.tolist(), strict=True)
        return publish([Evidence(value=value, total=size) for value, size in pairs]), errors / max(intake.n_records, 1)

    def _released(self, metadata: Metadata, loss: LeafCosts, drawn: Drawn) -> tuple[Evidence, ...]:
        (values, counts, _, epsilons), (lo, hi) = drawn, _range_of(metadata)
        means = lo + (hi - lo) * released_means(counts, np.array(values), loss, epsilons)
        sizes = (
            [None] * len(values) if counts is None else np.rint(counts.sum(axis=1) / loss.parts).astype(int).tolist()
        )
        return tuple(Evidence(value=value, total=size) for value, size in zip(means.tolist(), sizes, strict=True))

    def _target(self, metadata: Metadata) -> dict[str, Any]:
        return {"range of the target": list(_range_of(metadata))}


def _range_of(metadata: Metadata) -> tuple[float, float]:
    """Return the public range of a number."""
    if metadata.target_range is None:
        raise TypeError("the targets of these records are classes")
    return metadata.target_range


def _numeric(intake: Intake) -> NumericIntake | CountedNumericIntake:
    """Return records whose targets are numbers."""
    if not isinstance(intake, NumericIntake | CountedNumericIntake):
        raise TypeError("the targets of these records are classes")
    return intake


@dataclass(eq=False, repr=False)
class Trees(ClassLearner):
    """All trees of at most ``max_depth`` splits on a path."""

    noun, made_of = "tree", "over the literals"

    max_depth: int = 3

    model_: Any = field(init=False)

    def _check_parameters(self) -> None:
        check_whole(self.max_depth, "max_depth", 1, 8)

    def _size(self) -> str:
        return f"of depth {self.max_depth}"

    def _conditions(self, domain: Domain) -> LiteralPlan:
        return LiteralPlan.of(domain, self.literals, self.n_quantiles)

    def _declared(self, domain: Domain, n_classes: int) -> DeclaredClass:
        plan = self._conditions(domain)
        questions_are_public(plan)
        members = self._members(domain, plan.widest(), LeafCosts.errors(n_classes))
        return tree_class(
            len(members.antecedents),
            int(self.max_depth),
            n_classes,
            symmetric=True,
            label_follows=not self._ranks(n_classes),
        )

    def _members(self, domain: Domain, conditions: Sequence[Literal], loss: LeafCosts) -> TreeClass:
        logic = LiteralLogic.of(domain, conditions, up_to_negation=True)
        return TreeClass(logic=logic, depth=int(self.max_depth), loss=loss)


@dataclass(eq=False, repr=False)
class Lists(ClassLearner):
    """All rule lists of at most ``max_rules`` rules of a pool."""

    noun, made_of = "rule list", "of the pool"

    most_rules: ClassVar[int] = 12
    """Largest ``max_rules``: sums over sets of a dozen rules exceed any memory for every pool."""

    max_rules: int = 5
    _: KW_ONLY
    pool: str | Sequence[Sequence[Literal]] = "literals"

    model_: Any = field(init=False)

    def _check_parameters(self) -> None:
        check_whole(self.max_rules, "max_rules", 1, self.most_rules)

    def _size(self) -> str:
        return f"of up to {self.max_rules} rules"

    def _conditions(self, domain: Domain) -> PoolPlan:
        return PoolPlan.of(domain, self.pool, self.literals, self.n_quantiles)

    def _declared(self, domain: Domain, n_classes: int) -> DeclaredClass:
        questions_are_public(self._conditions(domain))
        follows = not self._ranks(n_classes)
        size, rules = self._pool_size(domain), int(self.max_rules)
        return rule_list_class(size, rules, n_classes, symmetric=True, label_follows=follows)

    def _pool_size(self, domain: Domain) -> int:
        """Return the number of rules of the largest pool that is public."""
        return len(RuleLogic.of(domain, self._conditions(domain).widest()).antecedents)

    def _members(self, domain: Domain, conditions: Sequence[Antecedent], loss: LeafCosts) -> ListClass:
        return ListClass(logic=RuleLogic.of(domain, conditions), length=int(self.max_rules), loss=loss)
