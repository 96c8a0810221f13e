"""What a publisher can do about disclosure, and the accuracy that it costs: each remedy is tried and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.adversary import Adversary
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.infer import SearchError, infer_sensitive
from glassine.attacks.disclosure.merging import merge_leaves
from glassine.domain import Domain
from glassine.domain.attributes import is_whole
from glassine.domain.inference import columns as read_columns
from glassine.errors import GlassineError, InvalidDataError, InvalidParameterError, UnsupportedModelError
from glassine.learners.exponential_tree import PrivateTreeClassifier
from glassine.models import DecisionTree
from glassine.models.formats import as_model

__all__ = ["Remedy", "RemedyTable", "class_tables", "measure_remedies"]

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Kind = Literal["none", "suppress", "merge", "round", "private"]

MERGE_BELOW = (5, 20, 100)
PURITIES = (0.95, 0.8)
ROUND_TO = (5, 20)
EPSILONS = (0.1, 1.0)
NO_SEARCH = "the search with internal nodes led nowhere: a reader who uses them may learn more than is shown."
DRAWS = 5
"""Private trees that are averaged: each is another draw."""
LEAST = 0.5
"""Records that a reader of noisy counts allows a class at least: none is excluded."""
NOISE_WIDTH = 3.0
"""Noise, in scales, that a reader of noisy counts allows for: 95 % of a Laplace distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One way to publish the tree, and what it discloses.

    Attributes
    ----------
    name : str
        What is done.
    kind : {"none", "suppress", "merge", "round", "private"}
        Of which kind it is.
    reason : str or None
        Why there are no figures, or why the internal nodes were not used.
    n_leaves : float or None
        Leaves that hold people; the mean of several private trees.
    entropy : float or None
        Entropy left, in nats a person.
    d_overall : float or None
        Mean distance of the reader's estimate to the truth, in nats: small means disclosed.
    accuracy : float or None
        Share of the training records whose class the tree predicts.
    internal_nodes : bool
        Whether the reader that was measured used the internal nodes.
    status : str
        "optimal" or "local", as of a :class:`Disclosure`; "closed form" for rounded and noisy counts; or
        "not measured".
    """

    name: str
    kind: Kind
    reason: str | None = None
    n_leaves: float | None = None
    entropy: float | None = None
    d_overall: float | None = None
    accuracy: float | None = None
    internal_nodes: bool = False
    status: str = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyTable:
    """The remedies that were tried, in order.

    Attributes
    ----------
    rows : tuple of Remedy
        The first is the tree with its class counts.
    """

    rows: tuple[Remedy, ...]

    def to_frame(self) -> Any:
        """Return the table as a polars frame, one row a remedy."""
        import polars as pl

        numbers = ("n_leaves", "entropy", "d_overall", "accuracy")
        names = ("name", "kind", "status", *numbers, "internal_nodes", "reason")
        kinds: dict[str, Any] = dict.fromkeys(numbers, pl.Float64) | {"internal_nodes": pl.Boolean}
        return pl.DataFrame(
            {name: [getattr(row, name) for row in self.rows] for name in names},
            schema={name: kinds.get(name, pl.String) for name in names},
        )


def measure_remedies(
    model: Any,
    quasi_identifiers: Any,
    truth: npt.ArrayLike,
    *,
    adversary: Adversary | None = None,
    merge_below: Sequence[int] = MERGE_BELOW,
    purities: Sequence[float] = PURITIES,
    round_to: Sequence[int] = ROUND_TO,
    epsilons: Sequence[float] = EPSILONS,
    domain: Domain | None = None,
    max_depth: int = 3,
    time_limit: float = 60.0,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> RemedyTable:
    """Measure disclosure and accuracy of the ways in which a tree can be published.

    Counts can be left out, leaves merged, counts rounded, or a private tree drawn instead. The figures are of the
    training records: publish a choice, not the table. Except for the private trees no remedy has a guarantee.

    - Suppressed error rates or counts: the reader of what is left, with internal nodes as the adversary says.
    - Merged leaves: every split is undone, the deepest first, that has a leaf of fewer than ``k`` people, or one of
      whose classes has a larger share than a purity. The splits that stay were the best ones still, so that the reader
      uses them.
    - Rounded counts: the estimate of maximum entropy among all counts that round to the published ones. It does not
      use the internal nodes, so that a reader who does may learn more.
    - A private tree: the mean over five draws of a reader who knows the sizes of the leaves, and takes each noisy count
      for right up to three scales of its noise; of all counts within, those of maximum entropy. Beyond that reader,
      epsilon bounds what anyone learns of one person.

    Parameters
    ----------
    model : DecisionTree or fitted estimator
        The tree.
    quasi_identifiers : data frame
        The training records.
    truth : array-like, shape (n,)
        Everybody's class.
    adversary : Adversary, optional
        Criterion, candidates, and whether internal nodes are used; what the leaves tell is set by each remedy.
    merge_below : sequence of int
        Sizes k, at least 2.
    purities : sequence of float
        Largest shares of one class, each above 0 and below 1.
    round_to : sequence of int
        What counts are rounded to multiples of, at least 2.
    epsilons : sequence of float
        Budgets of private trees.
    domain : Domain, optional
        The public domain; without it no private tree is drawn.
    max_depth : int, default=3
        Depth of the private trees.
    time_limit : float, default=60
        Most seconds of each private tree, by an estimate.
    random_state : int, default=0
        Source of the private draws.
    progress : callable, optional
        Called with the name of each remedy as it is tried.

    Raises
    ------
    GlassineError
        If the tree with its class counts cannot be read with these people, as :func:`infer_sensitive` does, or the
        truth has not the class counts of the leaves.

    Examples
    --------
    >>> import polars as pl
    >>> from glassine.learners.multiway_tree import MultiwayTreeClassifier
    >>> people = pl.DataFrame({"a": ["x", "x", "x", "y", "y"]})
    >>> classes = [0, 0, 1, 1, 1]
    >>> tree = MultiwayTreeClassifier().fit(people, classes)
    >>> table = measure_remedies(tree, people, classes, merge_below=[3], purities=[], round_to=[], epsilons=[])
    >>> [(row.name, round(row.d_overall, 3), row.accuracy) for row in table.rows if row.kind in ("none", "merge")]
    [('class counts of the leaves', 0.0, 0.8), ('leaves below 3 people merged', 0.291, 0.6)]
    """
    _check(merge_below, purities, round_to)
    tell = progress or (lambda stage: None)
    base = replace(adversary or Adversary(), leaves="leaf_counts", marginals=None)
    name = "class counts of the leaves"
    tell(name)
    first = infer_sensitive(model, quasi_identifiers, adversary=base)
    tree = _plain(model)
    shares = first.true_probabilities(truth)[first.people.person]
    codes = _codes(first, truth)
    # A merged tree has larger leaves, but the learner looked at the same candidates.
    base = replace(base, min_samples_leaf=base.min_samples_leaf or int(first.people.leaf_sizes.min()))
    tables = class_tables(first, truth)
    bench = _Bench(
        tree=tree, frame=quasi_identifiers, truth=truth, codes=codes, shares=shares, tables=tables, base=base
    )
    rows = [bench.read(name, "none", tree, base)]
    private = _Private(domain=domain, max_depth=max_depth, time_limit=time_limit, seed=random_state)
    rest: list[tuple[str, Kind, Callable[[str], Remedy]]] = [
        ("error rates instead of counts", "suppress", partial(bench.suppressed, leaves="error_rates")),
        ("labels alone", "suppress", partial(bench.suppressed, leaves="labels_only")),
    ]
    rest += [(f"leaves below {k} people merged", "merge", partial(bench.merged, below=k)) for k in merge_below]
    rest += [(f"leaves purer than {p:g} merged", "merge", partial(bench.merged, purity=p)) for p in purities]
    rest += [(f"counts rounded to {b}", "round", partial(bench.rounded, found=first, step=b)) for b in round_to]
    rest += [
        (f"private tree, epsilon {e:g}", "private", partial(bench.private, epsilon=e, settings=private))
        for e in epsilons
    ]
    for name, kind, tried in rest:
        tell(name)
        try:
            rows.append(tried(name))
        except GlassineError as error:
            rows.append(Remedy(name=name, kind=kind, reason=str(error)))
    return RemedyTable(rows=tuple(rows))


def class_tables(found: Disclosure, truth: npt.ArrayLike) -> dict[int, npt.NDArray[np.int64]]:
    """Return the people of each class at each leaf by its node.

    Parameters
    ----------
    found : Disclosure
        An estimate for these people.
    truth : array-like, shape (n,)
        Everybody's class.

    Raises
    ------
    InvalidDataError
        If they are not the class counts that the tree publishes.
    """
    people = found.people
    true = np.rint(found.true_probabilities(truth) * people.sizes[:, None]).astype(np.int64)
    counts = np.zeros((len(people.leaf_nodes), len(found.classes)), dtype=np.int64)
    np.add.at(counts, people.leaf, true)
    if found.leaves.counts is not None and not np.array_equal(found.leaves.counts, counts):
        at = int(np.argmax((found.leaves.counts != counts).any(axis=1)))
        raise InvalidDataError(
            f"the truth has other class counts than the tree publishes, first at the leaf of node "
            f"{people.leaf_nodes[at]}. Give the classes of the training records."
        )
    return dict(zip(people.leaf_nodes, counts, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Private:
    """How private trees are drawn."""

    domain: Domain | None
    max_depth: int
    time_limit: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """A tree and its training records, on which remedies are tried; shares are those of the people like each."""

    tree: DecisionTree
    frame: Any
    truth: npt.ArrayLike
    codes: Codes
    shares: Floats
    tables: dict[int, npt.NDArray[np.int64]]
    base: Adversary

    def read(self, name: str, kind: Kind, tree: DecisionTree, adversary: Adversary) -> Remedy:
        """Return what a reader of a tree concludes."""
        found = infer_sensitive(tree, self.frame, adversary=adversary)
        return Remedy(
            name=name,
            kind=kind,
            n_leaves=float(len(found.people.leaf_sizes)),
            entropy=found.entropy,
            d_overall=found.d_overall(self.truth),
            accuracy=self._accuracy(tree),
            internal_nodes=adversary.internal_nodes,
            status=found.status,
        )

    def suppressed(self, name: str, leaves: Literal["error_rates", "labels_only"]) -> Remedy:
        """Return what a reader concludes who is told less of the leaves."""
        reader = replace(self.base, leaves=leaves)
        try:
            return self.read(name, "suppress", self.tree, reader)
        except SearchError:
            found = self.read(name, "suppress", self.tree, replace(reader, internal_nodes=False))
            return replace(found, reason=NO_SEARCH)

    def merged(self, name: str, below: int = 0, purity: float = 1.0) -> Remedy:
        """Return what a reader of the tree with merged leaves concludes."""
        return self.read(name, "merge", merge_leaves(self.tree, self.tables, below, purity), self.base)

    def rounded(self, name: str, found: Disclosure, step: int) -> Remedy:
        """Return what a reader of rounded counts concludes from the leaves."""
        people = found.people
        shares = np.array([_level(self.tables[node], step) for node in people.leaf_nodes])
        return self._told(
            name, "round", shares, people.leaf[people.person], self._accuracy(self.tree), len(people.leaf_nodes)
        )

    def private(self, name: str, epsilon: float, settings: _Private) -> Remedy:
        """Return what a reader of private trees concludes, on average over some draws."""
        if settings.domain is None:
            raise InvalidParameterError("a private tree needs the public domain of the attributes. Give it.")
        data = read_columns(self.frame)
        absent = [a for a in self.tree.attributes if a not in settings.domain or a not in data]
        if absent:
            raise InvalidParameterError(
                f"a private tree needs the attribute {absent[0]!r} in domain and frame. Declare or add it."
            )
        # The codes of the classes stand for their names, which the domain may write differently.
        narrow = Domain({a: settings.domain[a] for a in self.tree.attributes})
        given = {a: data[a] for a in self.tree.attributes}
        classes = tuple(range(len(self.tree.classes or ())))
        drawn = []
        for i in range(DRAWS):
            learner = PrivateTreeClassifier(
                settings.max_depth,
                epsilon,
                narrow,
                classes=classes,
                time_limit=settings.time_limit,
                random_state=settings.seed + i,
            )
            tree = learner.fit(_frame(given), self.codes).model_
            leaf = tree.apply(given)
            sizes = np.bincount(leaf, minlength=len(tree.cells))
            width = float(tree.guarantee.count_scale or 0.0) * NOISE_WIDTH
            shares = np.array(
                [_noisy(cell.evidence.counts, width, n) for cell, n in zip(tree.cells, sizes, strict=True)]
            )
            labels = np.array([cell.evidence.prediction for cell in tree.cells])
            right = float((labels[leaf] == self.codes).mean())
            drawn.append(self._told(name, "private", shares, leaf, right, len(np.unique(leaf))))
        return replace(
            drawn[0],
            n_leaves=_mean(row.n_leaves for row in drawn),
            entropy=_mean(row.entropy for row in drawn),
            d_overall=_mean(row.d_overall for row in drawn),
            accuracy=_mean(row.accuracy for row in drawn),
        )

    def _told(self, name: str, kind: Kind, shares: Floats, leaf: Codes, accuracy: float, n_leaves: int) -> Remedy:
        """Return the figures of an estimate that is alike for everybody in a leaf."""
        entropies = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1)
        return Remedy(
            name=name,
            kind=kind,
            n_leaves=float(n_leaves),
            entropy=float(entropies[leaf].mean()),
            d_overall=self._distance(shares[leaf]),
            accuracy=accuracy,
            status="closed form",
        )

    def _distance(self, estimate: Floats) -> float:
        """Return D_overall: over people with the same quasi-identifiers the truth is their class distribution."""
        own = self.shares[np.arange(len(self.codes)), self.codes]
        # Summed over the people of a quasi-identifier, the logarithms at their classes are its divergence.
        return max(0.0, float(np.mean(np.log(own / estimate[np.arange(len(own)), self.codes]))))

    def _accuracy(self, tree: DecisionTree) -> float:
        data = read_columns(self.frame)
        predicted = np.array([cell.evidence.prediction for cell in tree.cells], dtype=object)
        return float((predicted[tree.apply(dict(data))] == self.codes).mean())


def _plain(model: Any) -> DecisionTree:
    own = getattr(model, "model_", None)
    tree = as_model(own if isinstance(own, DecisionTree) else model)
    if not isinstance(tree, DecisionTree):
        raise UnsupportedModelError("remedies are measured for decision trees, got another model. Give a tree.")
    return tree


def _mean(values: Iterable[float | None]) -> float:
    return float(np.mean([value for value in values if value is not None]))


def _frame(columns: dict[str, npt.NDArray[Any]]) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


def _codes(found: Disclosure, truth: npt.ArrayLike) -> Codes:
    """Return the index of everybody's class; a value that is none is refused by the estimate."""
    place = {name: i for i, name in enumerate(found.classes)}
    return np.array([place[value] for value in np.asarray(truth).tolist()], dtype=np.intp)


def _level(counts: npt.NDArray[np.int64], step: int) -> Floats:
    """Return the shares of maximum entropy among all counts that round to those given, and have their sum.

    They are as even as the bounds allow: ``clip(level, low, high)`` for the one level at which they add up.
    """
    n = int(counts.sum())
    rounded = (counts + step // 2) // step * step
    low = np.maximum(rounded - step // 2, 0).astype(np.float64)
    high = np.minimum(rounded + step - 1 - step // 2, n).astype(np.float64)
    return _even(low, high, n)


def _noisy(counts: Sequence[int], width: float, n: int) -> Floats:
    """Return the same for noisy counts of n people, with bounds that the noise seldom leaves; no class is excluded."""
    noisy = np.asarray(counts, dtype=np.float64)
    out = _even(np.maximum(noisy - width, 0.0), np.maximum(noisy + width, LEAST), max(int(n), 1)) * max(int(n), 1)
    out = np.maximum(out, LEAST)
    return np.asarray(out / out.sum())


def _even(low: Floats, high: Floats, n: int) -> Floats:
    corners = np.unique(np.concatenate([low, high]))
    sums = np.clip(corners[:, None], low, high).sum(axis=1)
    level = float(np.interp(n, sums, corners))
    out = np.clip(level, low, high)
    return np.asarray(out / out.sum())


def _check(merge_below: Sequence[int], purities: Sequence[float], round_to: Sequence[int]) -> None:
    for name, values in (("merge_below", merge_below), ("round_to", round_to)):
        for value in values:
            if not is_whole(value) or not value >= 2:
                raise InvalidParameterError(f"{name} must hold whole numbers of at least 2, got {value!r}.")
    for share in purities:
        if not 0 < share < 1:
            raise InvalidParameterError(f"purities must lie above 0 and below 1, got {share!r}.")
