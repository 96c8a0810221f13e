"""Multiway decision trees as ID3 and C4.5 grow them, greedily and without privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from glassine.capacity import DeclaredClass, multiway_class
from glassine.domain import Between, Domain, Integer, Literal, OneOf, Real
from glassine.domain.attributes import Scalar
from glassine.domain.literals import complement
from glassine.domain.refusals import refuse_prefixes
from glassine.errors import InvalidParameterError, check_whole
from glassine.learners.budget import check_number
from glassine.learners.declared import multiway_values
from glassine.learners.estimator import OrdinaryLearner, TransparentClassifier, fitted
from glassine.learners.greedy.impurity import Criterion, check_criterion, impurity, split_information
from glassine.learners.intake import Intake, read_training
from glassine.models import Branch, DecisionTree, Evidence, Node
from glassine.records.arrays import AnyArray, Array, Indices, Ints
from glassine.records.columns import values_of

DEEPEST = 10_000


@dataclass(eq=False, repr=False)
class MultiwayTreeClassifier(OrdinaryLearner, TransparentClassifier):
    """A decision tree with one branch per category, grown from the root by the best split at every node.

    A category or binary attribute splits a node into one branch for each value that its records have, and is not used
    again below. A number splits it at a threshold, half way between two neighbouring values, and can be used again.
    Growing stops before a node that has too few records, one class, or no split that gains enough (pre-pruning);
    nothing is pruned afterwards.

    Parameters
    ----------
    max_depth : int, optional
        Largest number of splits on a path; without limit by default.
    domain : Domain, optional
        The attributes; inferred from the data by default. The values of a category are what counts as one.
    criterion : {"gini", "entropy", "gain_ratio", "misclassification"}, default="gini"
        What the split minimises: the expected impurity of the branches. "entropy" is the information gain of ID3.
        "gain_ratio" maximises C4.5's ratio, without its rule that only splits of at least average gain take part.
    classes : sequence of scalars, optional
        The classes; those of the domain's target or of the data by default.
    min_samples_split : int, default=2
        Fewest records of a node that is split, at least 2.
    min_impurity_decrease : float, default=0.0
        Least gain of a split, as the decrease of the mean impurity over all records, in [0, 1]; it must be positive
        in any case. The gain itself is measured by this criterion's impurity, for "gain_ratio" by entropy in nats.

    Attributes
    ----------
    model_ : DecisionTree
        The tree, with exact class counts. Where a node's records lack some values of its attribute, a last branch for
        those leads to a leaf without records that predicts the node's most frequent class.
    certificate_ : Certificate
        Says that nothing is guaranteed: epsilon is infinite.
    domain_, classes_, n_features_in_, feature_names_in_
        As for :class:`~.OptimalTreeClassifier`.

    Notes
    -----
    Guarantee: none: the tree and its exact counts are those of the records, and its shape alone discloses labels.
    See :func:`glassine.infer_sensitive`.

    Edge cases: Of equally good splits the first attribute is taken, then the lowest threshold. A missing value of a
    category is a separate value. A node is not split at a number that is missing for some of its records.

    References
    ----------
    J. R. Quinlan, *Induction of decision trees*, Machine Learning 1 (1986); *C4.5: programs for machine learning*
    (1993).

    Examples
    --------
    >>> import polars as pl
    >>> X = pl.DataFrame({"age": ["young", "old", "mid", "mid"], "school": ["phd", "msc", "msc", "phd"]})
    >>> tree = MultiwayTreeClassifier().fit(X, ["low", "high", "low", "high"])
    >>> [(str(cell), cell.evidence.counts) for cell in tree.model_.cells][:2]
    [('age = mid and school = msc', (0, 1)), ('age = mid and school = phd', (1, 0))]
    """

    max_depth: int | None = None
    _: KW_ONLY
    criterion: str = "gini"
    min_samples_split: int = 2
    min_impurity_decrease: float = 0.0
    domain: Domain | None = None
    classes: Sequence[Scalar] | None = None

    model_: Any = field(init=False)

    def _learn(self, X: object, y: object, times: npt.ArrayLike | None) -> dict[str, Any]:
        rules = _Rules(
            criterion=check_criterion(self.criterion),
            smallest=check_whole(self.min_samples_split, "min_samples_split", 2, 2**62),
            deepest=DEEPEST if self.max_depth is None else check_whole(self.max_depth, "max_depth", 1, DEEPEST),
            gain=check_number(self.min_impurity_decrease, "min_impurity_decrease", low=0.0, high=1.0),
        )
        intake = read_training(self, X, y, domain=self.domain, classes=self.classes, times=times, private=False)
        refuse_prefixes(intake.domain, "a tree with a branch for each value")
        model = DecisionTree(
            tuple(_Growth(intake, rules).nodes()),
            attributes=intake.domain.names,
            classes=intake.classes,
            source=f"glassine.{type(self).__name__}",
        )
        return fitted(intake, model, self._certificate(intake))

    def _declared(self, domain: Domain, n_classes: int) -> DeclaredClass:
        return multiway_class(multiway_values(domain), self.max_depth, n_classes, symmetric=True)

    def _widest(self, domain: Domain, n_classes: int) -> NoReturn:
        raise InvalidParameterError(
            "a tree that is grown greedily is not chosen from a class of models, so there is no size to show.",
            remedy="Use OptimalTreeClassifier for a choice among all trees of a depth.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """When and by what a node is split."""

    criterion: Criterion
    smallest: int
    deepest: int
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """A possible split: what it scores, what it gains, and the branch of each record of the node."""

    score: float
    gain: float
    literals: tuple[Literal, ...]
    branch: Indices


class _Growth:
    """The records, and the growing of one tree on them."""

    def __init__(self, intake: Intake, rules: _Rules) -> None:
        self.domain, self.columns, self.labels, self.rules = intake.domain, intake.columns, intake.labels, rules
        n = len(intake.labels)
        self.weights = np.ones(n, dtype=np.int64) if intake.multiplicities is None else intake.multiplicities
        # Where weights are fractions, the records of a node are its rows.
        self.of_rows = intake.per_record > 1
        self.n_classes = len(intake.classes)

    def nodes(self) -> list[Node]:
        """Return the nodes, each parent before its children."""
        out: list[Node] = [Node()]
        n = max(int(self.weights.sum()), 1)
        stack: list[tuple[int, Indices, int]] = [(0, np.arange(len(self.labels)), 0)]
        while stack:
            index, rows, depth = stack.pop()
            counts = self.counts(rows)
            label = int(counts.argmax())
            own = Evidence(counts=tuple(counts.tolist()), label=label)
            large = (len(rows) if self.of_rows else counts.sum()) >= self.rules.smallest
            split = self.best(rows, counts) if large and depth < self.rules.deepest else None
            if split is None or not split.gain >= self.rules.gain * n:
                out[index] = Node(evidence=own)
                continue
            first = len(out)
            branches = tuple(Branch(literal, first + i) for i, literal in enumerate(split.literals))
            out[index] = Node(branches=branches, evidence=own)
            empty = Evidence(counts=(0,) * self.n_classes, label=label)
            out += [Node(evidence=empty) for _ in branches]
            for i in reversed(range(int(split.branch.max()) + 1)):
                stack.append((first + i, rows[split.branch == i], depth + 1))
        return out

    def counts(self, rows: Indices) -> Ints:
        """Return the class counts of some records."""
        return np.asarray(self.table(np.zeros(len(rows), dtype=np.intp), rows, 1)[0])

    def table(self, groups: AnyArray, rows: Indices, size: int) -> Ints:
        """Return the class counts of each group of records, shape (size, c)."""
        out = np.zeros((size, self.n_classes), dtype=np.int64)
        np.add.at(out, (groups, self.labels[rows]), self.weights[rows])
        return out

    def best(self, rows: Indices, counts: Ints) -> _Split | None:
        """Return the best split of a node that gains anything."""
        whole = float(impurity(counts, self.rules.criterion))
        best: _Split | None = None
        for name in self.domain if whole > 0 else ():
            numeric = isinstance(self.domain[name], Integer | Real)
            splits = [self.threshold(name, rows, whole) if numeric else self.multiway(name, rows, whole)]
            splits += [self.code(name, code, rows, whole) for code in getattr(self.domain[name], "codes", ())]
            # Scores that differ by rounding alone are ties, which the first attribute wins.
            for split in splits:
                if split is not None and (best is None or split.score > best.score + 1e-12 * counts.sum()):
                    best = split
        return best

    def scores(self, gains: npt.ArrayLike, sizes: Ints) -> Array:
        """Return what splits maximise, shape (k,), from their gains and the sizes of their branches, shape (k, b)."""
        gained = np.asarray(gains, dtype=np.float64)
        return np.asarray(gained / split_information(sizes)) if self.rules.criterion == "gain_ratio" else gained

    def multiway(self, name: str, rows: Indices, whole: float) -> _Split | None:
        """Return the split by the values of a category or binary attribute."""
        present, branch = np.unique(self.columns.codes[name][rows], return_inverse=True)
        if len(present) < 2:
            return None
        table = self.table(branch, rows, len(present))
        gain = whole - float(impurity(table, self.rules.criterion).sum())
        if not gain > 1e-12 * table.sum():
            return None
        return _Split(
            score=float(self.scores([gain], table.sum(axis=1)[None])[0]),
            gain=gain,
            literals=self.literals(name, present.tolist()),
            branch=branch,
        )

    def literals(self, name: str, present: list[int]) -> tuple[Literal, ...]:
        """Return one literal for each code of a category, -1 for a missing value, and one for all that is left."""
        attribute = self.domain[name]
        values = values_of(attribute)
        out: list[Literal] = [OneOf(name, () if c < 0 else (values[c],), missing=c < 0) for c in present]
        if len(present) < len(values) + attribute.missing:
            seen = tuple(values[code] for code in present if code >= 0)
            out.append(OneOf(name, seen, negated=True, missing=attribute.missing and -1 not in present))
        return tuple(out)

    def code(self, name: str, code: float, rows: Indices, whole: float) -> _Split | None:
        """Return the split of a number between a special code and all else."""
        column = self.columns.numbers[name][rows]
        there = column == code
        if np.isnan(column).any() or not 0 < there.sum() < len(there):
            return None
        branch = np.where(there, 0, 1)
        table = self.table(branch, rows, 2)
        gain = whole - float(impurity(table, self.rules.criterion).sum())
        if not gain > 1e-12 * table.sum():
            return None
        literal = OneOf(name, (code,))
        return _Split(
            score=float(self.scores([gain], table.sum(axis=1)[None])[0]),
            gain=gain,
            literals=(literal, complement(literal, missing=False)),
            branch=branch,
        )

    def threshold(self, name: str, rows: Indices, whole: float) -> _Split | None:
        """Return the best split of a number in two."""
        column = self.columns.numbers[name][rows]
        if np.isnan(column).any():
            return None
        values, place = np.unique(column, return_inverse=True)
        if len(values) < 2:
            return None
        table = self.table(place, rows, len(values))
        left = np.cumsum(table, axis=0)[:-1]
        right = table.sum(axis=0) - left
        gains = whole - impurity(left, self.rules.criterion) - impurity(right, self.rules.criterion)
        scores = self.scores(gains, np.stack([left.sum(axis=1), right.sum(axis=1)], axis=1))
        usable = np.flatnonzero(gains > 1e-12 * table.sum())
        if not len(usable):
            return None
        at = int(usable[np.flatnonzero(scores[usable] >= scores[usable].max() - 1e-12 * table.sum())[0]])
        cut = float(values[at] / 2 + values[at + 1] / 2)
        if not values[at] <= cut < values[at + 1]:
            cut = float(values[at])
        return _Split(
            score=float(scores[at]),
            gain=float(gains[at]),
            literals=(Between(name, hi=cut), Between(name, lo=cut)),
            branch=(place > at).astype(np.intp),
        )
