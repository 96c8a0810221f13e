"""What an attacker concludes: the maximum-entropy estimate of each person's class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.adversary import Adversary
from glassine.attacks.disclosure.constraints import Clash, Constraints
from glassine.attacks.disclosure.leaf_constraints import LeafKnowledge
from glassine.attacks.disclosure.people import People, true_codes, true_table
from glassine.data.labels import subgroups
from glassine.data.record_table import RecordTable, as_table
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidDataError, check_whole
from glassine.exports import DisplayedToCheckers
from glassine.records.arrays import Array

if TYPE_CHECKING:
    from glassine.attacks.disclosure.uncertain_membership import SampleEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintCounts:
    """Number of constraints, as the paper counts them.

    Attributes
    ----------
    quasi_identifiers : int
        One for each distinct quasi-identifier: its probabilities add up to 1.
    rate, label : int
        One for each leaf, and one for each leaf and other class.
    internal : int
        One for each internal node and candidate split that divides its people.
    active : int
        Internal constraints that hold with equality and shape the estimate.
    """

    quasi_identifiers: int
    rate: int
    label: int
    internal: int
    active: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderComparison:
    """How much one reader knows.

    Attributes
    ----------
    reader : str
        What the reader uses.
    entropy : float
        Entropy left, in nats per person.
    certain : int
        People of whom one class has a probability of at least 0.99.
    d_overall : float or None
        Distance to the truth, if it is given.
    guess_rate : float or None
        Share of the people whose class the reader's best guess hits, ties shared; if the truth is given.
    """

    reader: str
    entropy: float
    certain: int
    d_overall: float | None
    guess_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupDisclosure:
    """What the reader knows about a subgroup.

    Attributes
    ----------
    attribute, value : str
        The subgroup.
    size : int
        Number of people.
    entropy : float
        Mean entropy left, in nats.
    certainty : float
        Mean probability of the most probable class.
    d_overall : float or None
        Mean of D_individual, in nats, if the truth is given: small means disclosed.
    """

    attribute: str
    value: str
    size: int
    entropy: float
    certainty: float
    d_overall: float | None = None


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Disclosure(DisplayedToCheckers):
    """The estimate of an attacker who knows the tree and everyone's quasi-identifiers.

    Attributes
    ----------
    classes : tuple of scalars
        The classes, in the order of the columns.
    adversary : Adversary
        What the reader is taken to know.
    people : People
        The distinct quasi-identifiers, and where they are in the tree. Of a sample, all who may be in it.
    leaves : LeafKnowledge
        What the leaves reveal.
    constraints : Constraints
        What the internal nodes reveal.
    quasi_probabilities : ndarray, shape (q, c)
        P(class | quasi-identifier).
    leaf_probabilities : ndarray, shape (q, c)
        The same of the reader who does not use the internal nodes.
    class_totals : ndarray, shape (c,), or None
        People of each class, if the reader knows it.
    status : {"optimal", "local"}
        Whether no estimate has more entropy, up to ``gap``; or the estimate is the best of several local optima.
    bound : float
        Upper bound of the entropy that any estimate can leave, in nats per person. Of a local optimum it is the entropy
        of the reader without internal nodes, which says nothing of how good the search was.
    rounds : int
        How often the dual problem was solved.
    active : tuple of Clash
        Internal constraints that shape the estimate, by node and candidate.
    residual : float
        Largest violation of what the leaves reveal, in people.
    notes : tuple of str
        Which knowledge was left out or assumed, and why.
    unused : str
        Why the internal nodes were not used; empty if they were, or if the adversary leaves them out.
    other_optima : tuple of ndarray, shape (q, c)
        P(class | quasi-identifier) of the other starts that led to an allowed table, of less entropy.
    sample, leaf_sample : SampleEstimate or None
        Of a sample: what the reader concludes about membership, and the reader of the leaves alone. The probabilities
        are then those of any of the people, in the sample or not.
    """

    classes: tuple[Scalar, ...]
    adversary: Adversary
    people: People
    leaves: LeafKnowledge
    constraints: Constraints
    quasi_probabilities: Array
    leaf_probabilities: Array
    class_totals: Array | None
    status: Literal["optimal", "local"]
    bound: float
    rounds: int
    active: tuple[Clash, ...]
    residual: float
    notes: tuple[str, ...]
    unused: str = ""
    other_optima: tuple[Array, ...] = ()
    sample: SampleEstimate | None = None
    leaf_sample: SampleEstimate | None = None

    def __repr__(self) -> str:
        return (
            f"<Disclosure of {self.people.n_people} people by {self.adversary.describe()}: "
            f"{self.entropy:.4g} nats left, {self.status}>"
        )

    @property
    def probabilities(self) -> Array:
        """P(class | person), shape (n, c)."""
        return np.asarray(self.quasi_probabilities[self.people.person])

    @property
    def membership(self) -> Array:
        """P(in the training set | quasi-identifier) of each person, shape (n,); 1 where the training set is known."""
        if self.sample is None:
            return np.ones(self.people.n_people)
        return np.asarray(self.sample.membership[self.people.person])

    @property
    def given_member(self) -> Array:
        """P(class | person, in the training set), shape (n, c)."""
        table = self.quasi_probabilities if self.sample is None else self.sample.given_member
        return np.asarray(table[self.people.person])

    @property
    def entropy(self) -> float:
        """H(class | quasi-identifier), the entropy left, in nats per person."""
        return float(self.people.sizes @ _entropies(self.quasi_probabilities)) / self.people.n_people

    @property
    def gap(self) -> float:
        """Certified gap: no estimate that the knowledge allows leaves more than ``entropy + gap``, in nats per person.

        NaN of a local optimum: no bound is known that says how much a better search could find. Of a sample, what is
        maximized and bounded is the entropy of membership and class together.
        """
        if self.status == "local":
            return math.nan
        return max(0.0, self.bound - (self.entropy if self.sample is None else self.sample.entropy))

    @property
    def counts(self) -> ConstraintCounts:
        """Number of constraints of each kind."""
        return ConstraintCounts(
            quasi_identifiers=len(self.people.sizes),
            rate=self.leaves.rate_constraints,
            label=self.leaves.label_constraints,
            internal=self.constraints.families.n_candidates,
            active=len(self.active),
        )

    @property
    def marginal(self) -> Array:
        """The class distribution that the class totals give, else uniform, shape (c,)."""
        totals, c = self.class_totals, len(self.classes)
        if self.leaves.counts is not None:
            totals = self.leaves.counts.sum(axis=0)[:c]
        if totals is None:
            return np.full(c, 1 / c)
        # Of a sample, nothing reveals the class of those who are not counted.
        return np.asarray((totals + (self.people.n_people - totals.sum()) / c) / self.people.n_people)

    def entropy_left(self) -> Array:
        """Return the entropy left about each person's class, in nats, shape (n,)."""
        return np.asarray(_entropies(self.quasi_probabilities)[self.people.person])

    def _sizes(self, table: RecordTable | None) -> Array:
        """Return how much each quasi-identifier counts, shape (q,): its records, or every person once."""
        if table is None or table.persons is None:
            return self.people.sizes.astype(np.float64)
        out = np.zeros(len(self.people.sizes))
        np.add.at(out, self.people.person, table.weights)
        return out

    def true_probabilities(self, truth: npt.ArrayLike) -> Array:
        """Return the share of each class among the people of each quasi-identifier, shape (q, c).

        Parameters
        ----------
        truth : array-like, shape (n,)
            Class of each person.

        Raises
        ------
        InvalidDataError
            If there is not one class for each person.
        """
        return np.asarray(true_table(self.people, self.classes, truth) / self.people.sizes[:, None])

    def d_individual(self, truth: npt.ArrayLike) -> Array:
        """Return D_individual of each person's quasi-identifier, in nats, shape (n,).

        It is the Kullback-Leibler divergence of the estimate from the true distribution of the people with the same
        quasi-identifier: 0 where the reader has it right, infinite where what is true was excluded.

        Parameters
        ----------
        truth : array-like, shape (n,)
            Class of each person.
        """
        divergences = _divergences(self.true_probabilities(truth), self.quasi_probabilities)
        return np.asarray(divergences[self.people.person])

    def d_overall(self, truth: npt.ArrayLike) -> float:
        """Return D_overall, the mean of :meth:`d_individual` over the people, in nats."""
        return float(self.d_individual(truth).mean())

    def d_overall_spread(self, truth: npt.ArrayLike) -> tuple[float, float]:
        """Return the least and the largest D_overall of all starts that led to an allowed table, in nats.

        Entropy does not determine it: tables of nearly the same entropy can be at different distances to the truth.
        """
        true, sizes = self.true_probabilities(truth), self.people.sizes
        values = [
            float(sizes @ _divergences(true, estimate)) / self.people.n_people
            for estimate in (self.quasi_probabilities, *self.other_optima)
        ]
        return min(values), max(values)

    def most_exposed(self, number: int = 10, table: RecordTable | None = None) -> list[tuple[int, float]]:
        """Return the people about whom least is left open: row number, and probability of their most probable class.

        Parameters
        ----------
        number : int, default=10
            How many, at least 1.
        table : RecordTable, optional
            The records, where they know their persons: each is named once, by the record that reveals most.
        """
        check_whole(number, "number", 1)
        order = np.argsort(self.entropy_left(), kind="stable")
        order = (order if table is None else table.first_of_each(order))[:number]
        largest = self.quasi_probabilities.max(axis=1)[self.people.person]
        return [(int(row), float(largest[row])) for row in order]

    def by_subgroup(
        self, data: object, attributes: str | Sequence[str], truth: npt.ArrayLike | None = None
    ) -> list[SubgroupDisclosure]:
        """Return what the reader knows about subgroups, the most exposed first.

        Parameters
        ----------
        data : data frame
            The people, in the order of the quasi-identifiers.
        attributes : str or sequence of str
            Columns whose values define the subgroups. Numbers with more than ten values are cut at their quartiles.
        truth : array-like, shape (n,), optional
            Class of each person; the subgroups are then ordered by D_overall, else by the entropy left.

        Raises
        ------
        InvalidDataError
            If a column is absent, or the number of rows is another.
        """
        table = as_table(data)
        values = table.arrays
        left, largest = self.entropy_left(), self.quasi_probabilities.max(axis=1)[self.people.person]
        distances = None if truth is None else self.d_individual(truth)
        out = []
        for name in [attributes] if isinstance(attributes, str) else attributes:
            if name not in values or len(values[name]) != self.people.n_people:
                raise InvalidDataError(
                    f"subgroups need the column {name!r} for each of the {self.people.n_people} people.",
                    remedy="Add it.",
                )
            for value, rows in subgroups(values[name]).items():
                out.append(
                    SubgroupDisclosure(
                        attribute=name,
                        value=value,
                        size=table.number_of(rows),
                        entropy=table.mean(left, rows),
                        certainty=table.mean(largest, rows),
                        d_overall=None if distances is None else table.mean(distances, rows),
                    )
                )
        return sorted(out, key=lambda group: group.entropy if group.d_overall is None else group.d_overall)

    def compare(self, truth: npt.ArrayLike | None = None, table: RecordTable | None = None) -> list[ReaderComparison]:
        """Return what readers with less knowledge conclude: of the marginal, of the leaves, and of all of it.

        Parameters
        ----------
        truth : array-like, shape (n,), optional
            Class of each person.
        table : RecordTable, optional
            The records, where they know their persons: people are counted, and means take every person once. A person
            of whom one record is practically certain is certain.
        """
        marginal = np.repeat(self.marginal[None], len(self.people.sizes), axis=0)
        readers = [("the class distribution", marginal), ("the leaves", self.leaf_probabilities)]
        if self.adversary.internal_nodes:
            readers.append(("the leaves and the internal nodes", self.quasi_probabilities))
        sizes = self._sizes(table)
        true = None
        if truth is not None:
            true = np.zeros((len(sizes), len(self.classes)))
            weights = 1.0 if table is None else table.weights
            np.add.at(true, (self.people.person, true_codes(self.people, self.classes, truth)), weights)
            true /= sizes[:, None]
        total = float(sizes.sum())
        whose = np.arange(self.people.n_people) if table is None else table.whose
        out = []
        for reader, estimate in readers:
            distance = guessed = None
            if true is not None:
                distance = float(sizes @ _divergences(true, estimate)) / total
                best = estimate >= estimate.max(axis=1, keepdims=True) - 1e-9
                guessed = float(sizes @ ((true * best).sum(axis=1) / best.sum(axis=1))) / total
            out.append(
                ReaderComparison(
                    reader=reader,
                    entropy=float(sizes @ _entropies(estimate)) / total,
                    certain=len(np.unique(whose[(estimate.max(axis=1) >= 0.99)[self.people.person]])),
                    d_overall=distance,
                    guess_rate=guessed,
                )
            )
        return out


def _entropies(estimate: Array) -> Array:
    return np.asarray(-(estimate * np.log(np.where(estimate > 0, estimate, 1.0))).sum(axis=1))


def _divergences(true: Array, estimate: Array) -> Array:
    """Return the Kullback-Leibler divergence of each row, in nats, shape (q,)."""
    positive = true > 0
    possible = estimate > 0
    ratio = np.where(positive & possible, true, 1.0) / np.where(positive & possible, estimate, 1.0)
    out = np.where(positive, np.where(possible, true * np.log(ratio), np.inf), 0.0).sum(axis=1)
    return np.asarray(np.maximum(out, 0.0))
