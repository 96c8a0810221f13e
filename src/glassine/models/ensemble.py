"""Ensembles of trees by what an audit asks of them: leaves, sizes, thresholds, and what they predict together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, InvalidParameterError, UnsupportedModelError, parameter
from glassine.exports import Displayed
from glassine.models.additive_scores import MOST_LOGARITHM
from glassine.models.evidence import cell_shares
from glassine.models.records import read_records
from glassine.models.tree import Forest
from glassine.records.arrays import AnyArray, Array, Indices, Ints

Placement: TypeAlias = Literal["at nodes", "midpoints", "values", "random", "unknown"]
"""Where a learner places thresholds: halfway between two values of the records at a node, halfway between two
neighbouring values of all records, on a value itself, at random, or the file does not say."""

OF_WEIGHTS = ("n_records", "base_rate", "sizes", "certain")
"""What is of weights, and not of records, where records had weights."""
CLOSE = 0.01
"""By how much a stated rate may miss that of the file: people state two digits."""
Link: TypeAlias = Literal["shares", "identity", "log", "logit", "softmax"]
"""What becomes of the mean of shares, or of the sum of scores."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Scoring:
    """How the trees of a file predict together.

    Attributes
    ----------
    forest : Forest
        The trees: leaves hold shares of classes, or the scores that they add.
    link : {"shares", "identity", "log", "logit", "softmax"}
        What becomes of the mean of shares, or of the sum of scores: with ``log``, its exponential.
    base : tuple of float
        Scores before the first tree, one per output. Tree t adds to output t modulo their number.
    mean : bool
        Whether scores are averaged and not added up.
    """

    forest: Forest
    link: Link
    base: tuple[float, ...] = (0.0,)
    mean: bool = False

    def leaves_of(self, data: object) -> Indices:
        """Return the leaf of each record in each tree, shape (n, trees); -1 where a tree knows no way."""
        forest = self.forest
        records = read_records(data, forest.attributes, forest.literals)
        way: Literal["last branch", "left out"] = "last branch" if records.lacks is None else "left out"
        return np.column_stack([tree.cells_of(records, way) for tree in forest.trees])

    def outputs(self, data: object) -> Array:
        """Return the probability of each class, shape (n, classes), or the value, shape (n, 1)."""
        leaves = self.leaves_of(data)
        if (leaves < 0).any():
            raise UnsupportedModelError("a tree of the ensemble knows no way for some of the records.")
        scores = self._scores(leaves)
        if np.isnan(scores).any():
            raise UnsupportedModelError("a tree of the ensemble predicts nothing for some of the records.")
        if self.link in ("shares", "identity"):
            return scores
        if self.link == "log":
            return np.asarray(np.exp(np.minimum(scores, MOST_LOGARITHM)))
        if self.link == "logit":
            high = 1 / (1 + np.exp(-np.clip(scores[:, 0], -700, 700)))
            return np.column_stack([1 - high, high])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def _scores(self, leaves: Indices) -> Array:
        """Return the mean of the shares, or the sum of the scores, of the leaves; NaN where one publishes none."""
        trees = self.forest.trees
        if self.link == "shares":
            return np.asarray(np.mean([cell_shares(tree)[leaves[:, i]] for i, tree in enumerate(trees)], axis=0))
        scores = np.tile(np.array(self.base, dtype=float), (len(leaves), 1))
        rounds = max(1, len(trees) // len(self.base))
        for i, tree in enumerate(trees):
            own = [cell.evidence.value for cell in tree.cells]
            values = np.array([math.nan if value is None else value for value in own])
            scores[:, i % len(self.base)] += values[leaves[:, i]] / (rounds if self.mean else 1)
        return scores


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeEnsemble(Displayed):
    """Trees that predict together: a forest, or boosted trees.

    Attributes
    ----------
    combined : {"mean", "sum"}
        Whether trees are averaged, as in a forest, or each corrects those before it.
    learner : str
        What trained it, as far as the file says: ``random forest``, ``extra trees``, ``gradient boosting``, ...
    attributes : tuple of str
        The columns that it was given.
    classes : tuple of scalars or None
        Names of the classes; None of a model of numbers.
    leaves : ndarray of int, shape (trees,)
        Number of leaves of each tree.
    thresholds : mapping of str to ndarray
        By attribute, the distinct thresholds of all trees, increasing.
    placed : str
        Where its learner places thresholds: see :data:`Placement`.
    outputs : int
        Trees of one round: one per class where scores of several classes are boosted, else 1.
    rate : float or None
        Learning rate of boosted trees, in (0, 1]; None where the file does not say.
    n_records : int or None
        Number of training records.
    whole : bool
        Whether ``n_records`` is that of all training records; not where part of them was held back or drawn.
    base_rate : float or None
        Share of the second of two classes among the training records.
    sizes : ndarray of int, shape (leaves of all trees,), or None
        Different training records of each leaf.
    certain : tuple of (int, int) or None
        Of the tree that makes most outcomes certain only for members: how many, by the rule of three, and its records.
        None where leaves publish scores, or the file no counts.
    derived : bool
        Whether the file's numbers of records are sums of weights, such as XGBoost's covers are.
    weights : str
        How its figures show that training records had weights, in words; empty if they do not. Then no sum of weights
        is a number of records.
    special : tuple of str
        How it was trained otherwise than the models by which figures were calibrated.
    published : tuple of str
        What else the file gives away of the training data, in sentences.
    source : str
        Where it came from.
    scoring : Scoring or None
        How trees of a file predict; None of a fitted estimator, and where it is not known.
    estimator : object
        The fitted estimator, which predicts itself.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from glassine.formats.judged import as_ensemble
    >>> fitted = RandomForestClassifier(3, random_state=0).fit([[1], [2], [5], [6]], ["no", "no", "yes", "yes"])
    >>> print(as_ensemble(fitted))
    random forest of 3 trees, 2 to 2 leaves each
    """

    combined: Literal["mean", "sum"]
    learner: str
    attributes: tuple[str, ...]
    classes: tuple[Scalar, ...] | None
    leaves: Ints
    thresholds: Mapping[str, Array] = field(repr=False)
    placed: Placement
    outputs: int = 1
    rate: float | None = None
    n_records: int | None = None
    whole: bool = True
    base_rate: float | None = None
    sizes: Ints | None = field(default=None, repr=False)
    certain: tuple[int, int] | None = None
    derived: bool = False
    weights: str = ""
    special: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    source: str = ""
    scoring: Scoring | None = field(default=None, repr=False)
    estimator: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not len(self.leaves):
            raise InvalidModelError("an ensemble needs at least one tree, got none.", remedy="Fit it.")
        if self.rate is not None and not 0 < self.rate <= 1:
            # Steps beyond the leaf's own mean reveal no less than a full one.
            object.__setattr__(self, "rate", 1.0)
        if self.derived and self.weights:
            # Nothing that is left of it is derived.
            for name, value in {**dict.fromkeys(OF_WEIGHTS), "derived": False}.items():
                object.__setattr__(self, name, value)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.leaves)

    @property
    def n_thresholds(self) -> int:
        """Number of distinct thresholds of all trees."""
        return sum(map(len, self.thresholds.values()))

    @property
    def tested(self) -> tuple[str, ...]:
        """The attributes with a threshold, in order; those that are tested by categories alone are not among them."""
        return tuple(name for name in self.attributes if name in self.thresholds)

    @property
    def weighed(self) -> bool:
        """Whether the file has numbers of records that are sums of weights."""
        return self.derived and (self.n_records is not None or self.sizes is not None)

    def per_record(self, n: int) -> float:
        """Return the effective parameters per record, q, of n training records.

        Of averaged trees it is the mean of their leaves over n; of boosted ones ``1 - prod_t (1 - rate leaves_t / n)``,
        what a record's own outcome weighs in its score after all rounds.

        Examples
        --------
        >>> leaves = np.array([10, 20])
        >>> of = {"learner": "", "attributes": (), "classes": (0, 1), "thresholds": {}, "placed": "unknown"}
        >>> TreeEnsemble(combined="mean", leaves=leaves, **of).per_record(300)
        0.05
        >>> round(TreeEnsemble(combined="sum", leaves=leaves, rate=0.1, **of).per_record(300), 5)
        0.00998
        """
        shares = self.leaves / n
        if self.combined == "mean":
            return float(min(1.0, shares.mean()))
        rate = 1.0 if self.rate is None else self.rate
        return float(1 - np.prod(1 - np.clip(rate * shares, 0, 1)))

    def stated(
        self,
        *,
        n: int | None = None,
        learning_rate: float | None = None,
        base_rate: float | None = None,
        unweighted: bool = False,
        n_given: int | None = None,
    ) -> TreeEnsemble:
        """Return it with what its publisher states: training records, learning rate, share of the rarer class.

        Sums of weights are numbers of records if it is ``unweighted``. Otherwise they are of at most as many, and
        the base score is of weights; or trees were trained on samples of the ``n_given`` records beside it.

        Raises
        ------
        InvalidParameterError
            If the file holds another number, records had weights, or the trees are not boosted and a rate is stated.
        """
        own = self
        if unweighted and self.weights:
            raise InvalidParameterError(
                f"{parameter('unweighted')} contradicts the file: {self.weights}.",
                remedy=f"Leave it out, and state {parameter('n_records')}.",
            )
        if n is not None and n < self.leaves.max():
            raise InvalidParameterError(
                f"{parameter('n_records', n)} contradicts the file: a tree has {self.leaves.max():,} leaves, each of "
                "at least one record.",
                remedy="State the number of training records.",
            )
        if n is not None and n != self.n_records and not (self.weighed and n == n_given):
            fixed = not self.weighed or unweighted
            if self.n_records is not None and ((self.whole and fixed) or (self.weighed and n > self.n_records)):
                at_most = "" if fixed else "at most "
                raise InvalidParameterError(
                    f"{parameter('n_records', n)} contradicts the file, by which there are {at_most}"
                    f"{self.n_records:,} records.",
                    remedy="Leave it out, or state the number of the file."
                    + (" If trees were trained on samples, pass the records as well." if self.weighed else ""),
                )
        if n is not None and n != self.n_records:
            # Another number than the file's is that of weights, and so are all that the file says beside it.
            of_weights = OF_WEIGHTS if self.weighed and self.n_records is not None else ()
            changes: dict[str, Any] = {**dict.fromkeys(of_weights), "n_records": n}
            own = replace(own, **changes, whole=True)
        if learning_rate is not None and self.combined == "mean":
            raise InvalidParameterError(
                f"{parameter('learning_rate', learning_rate)} is of boosted trees; these are averaged.",
                remedy="Leave it out.",
            )
        rarer = None if own.base_rate is None else min(own.base_rate, 1 - own.base_rate)
        for name, said, read in (("learning_rate", learning_rate, self.rate), ("base_rate", base_rate, rarer)):
            if said is not None and read is not None and abs(said - read) > CLOSE:
                raise InvalidParameterError(
                    f"{parameter(name, said)} contradicts the file, by which it is {read:.3g}.",
                    remedy="Leave it out, or state that of the file.",
                )
        if learning_rate is not None and own.rate is None:
            own = replace(own, rate=learning_rate)
        if unweighted:
            own = replace(own, derived=False)
        return own if base_rate is None or own.base_rate is not None else replace(own, base_rate=base_rate)

    # What attacks ask of a classifier.

    @property
    def classes_(self) -> AnyArray:
        """Names of the classes, shape (classes,), as scikit-learn calls them; a model of numbers has none."""
        if self.classes is None:
            raise AttributeError("a model of numbers has no classes")
        own = getattr(self.estimator, "classes_", None)
        return np.asarray(self.classes if own is None else own)

    @property
    def feature_names_in_(self) -> AnyArray:
        """The columns by name, as scikit-learn calls them; absent where it was fitted on an array."""
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None:
            raise AttributeError("fitted without names")
        return np.asarray(names)

    @property
    def answers(self) -> bool:
        """Whether it can predict: of the trees of some files it is not known how they do."""
        return self.estimator is not None or self.scoring is not None

    def predict_proba(self, data: Any) -> Array:
        """Return the probability of each class, shape (n, classes)."""
        if self.estimator is not None:
            return np.asarray(self.estimator.predict_proba(data), dtype=float)
        return self._scored(data)

    def predict(self, data: Any) -> AnyArray:
        """Return the class of each record, or its value, shape (n,)."""
        if self.estimator is not None:
            return np.asarray(self.estimator.predict(data))
        outputs = self._scored(data)
        return outputs[:, 0] if self.classes is None else self.classes_[outputs.argmax(axis=1)]

    def _scored(self, data: Any) -> Array:
        if self.scoring is None:
            raise UnsupportedModelError("how the trees of this file predict together is not read.")
        return self.scoring.outputs(data)

    def apply(self, data: Any) -> Indices | None:
        """Return the leaf of each record in each tree, shape (n, trees); None of an estimator that does not say it."""
        if self.estimator is None:
            return None if self.scoring is None else self.scoring.leaves_of(data)
        estimator = getattr(self.estimator, "best_estimator_", self.estimator)
        if hasattr(estimator, "steps"):
            if len(estimator.steps) > 1:
                data = estimator[:-1].transform(data)
            estimator = estimator.steps[-1][1]
        if not hasattr(estimator, "apply"):
            return None
        if isinstance(getattr(estimator, "estimators_", None), np.ndarray):
            data = np.asarray(data)  # boosting asks its trees, which were fitted without names
        return np.asarray(estimator.apply(data)).reshape(len(data), -1).astype(np.intp)

    def __str__(self) -> str:
        trees = "1 tree" if self.n_trees == 1 else f"{self.n_trees:,} trees"
        return f"{self.learner} of {trees}, {self.leaves.min():,} to {self.leaves.max():,} leaves each"
