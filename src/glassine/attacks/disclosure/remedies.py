"""What a publisher can do about disclosure, and the accuracy that it costs: each remedy is tried and measured."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from glassine import __version__
from glassine.attacks.disclosure.adversary import Adversary, Leaves, shown_by_leaves
from glassine.attacks.disclosure.dual import TimeLimit, TimeLimitError
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.infer import SearchError, infer_sensitive
from glassine.attacks.disclosure.lagrangian import Starts
from glassine.attacks.disclosure.noise import CountNoise
from glassine.attacks.disclosure.people import true_table
from glassine.attacks.disclosure.predictions import Holdout, quality, read_holdout
from glassine.attacks.remedy_table import DisclosureRemedy, Kind, RemedyTable, figures_of
from glassine.codec import record
from glassine.data.record_table import columns as read_columns
from glassine.data.results_folder import ResultKind, RunStore
from glassine.domain import Domain
from glassine.domain.attributes import is_whole
from glassine.domain.domain import to_dict
from glassine.errors import (
    GlassineError,
    InvalidDataError,
    InvalidParameterError,
    UnreadableFileError,
    UnsupportedModelError,
    parameter,
)
from glassine.formats import as_model
from glassine.learners.exhaustive.private import PrivateTreeClassifier
from glassine.models import DecisionTree, Evidence
from glassine.models.quality import Quality
from glassine.models.transform import merge_leaves, rewritten
from glassine.records.arrays import AnyArray, Indices, Ints

Codes = Indices

MERGE_BELOW = (5, 20, 100)
PURITIES = (0.95, 0.8)
ROUND_TO = (5, 20)
EPSILONS = (0.1, 1.0)
NO_SEARCH = "the search with internal nodes led nowhere: an attacker who uses them may learn more than is shown."
STARTS = 1
"""Starts of the search of each remedy."""
STEPS = {"none": 24, "suppress": 24, "merge": 24, "round": 12, "private": 24}
"""Steps of a start, by the kind of remedy: a table of many remedies is not to take minutes."""

DRAWS = 5
"""Private trees that are averaged: each is another draw."""

ROUNDING = 1e-6
"""Relative difference of two figures that is taken for the rounding of another machine: beyond the solver's gap."""


REMEDIES: ResultKind[DisclosureRemedy] = ResultKind(
    name="table of remedies",
    identity="remedies.json",
    schema="glassine.remedies/2",
    codec=record(DisclosureRemedy),
    key=lambda remedy: remedy.name,
)
"""The rows of a table of remedies, as a folder keeps them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedies:
    """Which ways of publishing a tree are tried.

    Attributes
    ----------
    merge_below : sequence of int
        Sizes k below which leaves are merged, at least 2.
    purities : sequence of float
        Largest shares of one class above which leaves are merged, each above 0 and below 1.
    round_to : sequence of int
        What counts are rounded to multiples of, at least 2.
    epsilons : sequence of float
        Budgets of private trees.
    domain : Domain or None
        The public domain; without it no private tree is drawn.
    max_depth : int, default=3
        Depth of the private trees.
    time_limit : float, default=60
        Most seconds of each remedy; one that takes longer has no figures, and its reason says so. The time is checked
        at each step of a search. A private tree that takes longer by an estimate is not trained.
    random_state : int, default=0
        Source of the private draws.

    Raises
    ------
    InvalidParameterError
        If a size, share, step or time is outside its range.
    """

    merge_below: Sequence[int] = MERGE_BELOW
    purities: Sequence[float] = PURITIES
    round_to: Sequence[int] = ROUND_TO
    epsilons: Sequence[float] = EPSILONS
    domain: Domain | None = None
    max_depth: int = 3
    time_limit: float = 60.0
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, values in (("merge_below", self.merge_below), ("round_to", self.round_to)):
            for value in values:
                if not is_whole(value) or not value >= 2:
                    raise InvalidParameterError(f"{name} must hold whole numbers of at least 2, got {value!r}.")
        for share in self.purities:
            if not 0 < share < 1:
                raise InvalidParameterError(f"purities must lie above 0 and below 1, got {share!r}.")
        if not self.time_limit > 0:
            raise InvalidParameterError(f"{parameter('time_limit')} must be above 0, got {self.time_limit!r}.")


PUBLISHED: dict[Leaves, str] = {
    "leaf_counts": "class counts of the leaves",
    "error_rates": "error rates of the leaves",
    "labels_only": "labels of the leaves",
}
"""The first row of a table: what the leaves publish."""


def measure_remedies(
    model: object,
    quasi_identifiers: object,
    truth: npt.ArrayLike,
    *,
    adversary: Adversary | None = None,
    remedies: Remedies | None = None,
    evaluation: tuple[Any, npt.ArrayLike] | None = None,
    progress: Callable[[str], None] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> RemedyTable:
    """Measure disclosure and accuracy of the ways in which a tree can be published.

    Counts can be left out, leaves merged, counts rounded, or a private tree drawn instead. Disclosure is of the
    training records: publish a choice, not the table. Except for the private trees no remedy has a guarantee.

    - Suppressed error rates or counts: the reader of what is left, with internal nodes as the adversary says.
    - Merged leaves: every split is undone, the deepest first, that has a leaf of fewer than ``k`` people, or one of
      whose classes has a larger share than a purity. The splits that stay were the best ones still, so that the reader
      uses them.
    - Rounded counts: the reader knows the step and the sizes of the leaves, takes the estimate of maximum entropy among
      all counts that round to the published ones, and uses the internal nodes as the adversary says.
    - A private tree: the mean over five draws of an attacker who knows the leaf sizes and the scale of the noise,
      and takes the mean of the class counts given the noisy ones. Beyond that reader, epsilon bounds what anyone learns
      of one person.

    Parameters
    ----------
    model : DecisionTree or fitted estimator
        The tree.
    quasi_identifiers : data frame
        The training records.
    truth : array-like, shape (n,)
        Class of each person.
    adversary : Adversary, optional
        Criterion, candidates, and whether internal nodes are used; what the leaves reveal is set by each remedy. It is
        completed by what the model states, as for :func:`infer_sensitive`.
    remedies : Remedies, optional
        Which ones are tried.
    evaluation : tuple of (data frame, array-like), optional
        Held-out records and their classes, on which accuracy is measured as well.
    progress : callable, optional
        Called with the name of each remedy when it is tried.
    folder : path, optional
        Each row is written to it once it is measured, with exact figures: protect it as you protect the records. A
        later call for the same tree and records takes the rows from there. It may ask for more remedies, and tries
        again what was not measured in time.

    Raises
    ------
    GlassineError
        If the tree with its class counts cannot be read with these people, as :func:`infer_sensitive` does, or the
        truth has not the class counts of the leaves.
    UnreadableFileError
        If the folder holds something else, or rows of another tree or of other records.

    Examples
    --------
    >>> import polars as pl
    >>> from glassine.learners.multiway_tree import MultiwayTreeClassifier
    >>> people = pl.DataFrame({"a": ["x", "x", "x", "y", "y"]})
    >>> classes = [0, 0, 1, 1, 1]
    >>> tree = MultiwayTreeClassifier().fit(people, classes)
    >>> tried = Remedies(merge_below=[3], purities=[], round_to=[], epsilons=[])
    >>> table = measure_remedies(tree, people, classes, remedies=tried)
    >>> [(row.name, round(row.d_overall, 3), row.accuracy) for row in table.rows if row.kind in ("none", "merge")]
    [('class counts of the leaves', 0.0, 0.8), ('leaves below 3 people merged', 0.291, 0.6)]
    """
    tried = Remedies() if remedies is None else remedies
    tell = progress or (lambda stage: None)
    base = None if adversary is None else replace(adversary, leaves="leaf_counts", marginals=None)
    if base is not None and base.training != "known":
        raise InvalidParameterError(
            f"{parameter('remedies')} are measured by the publisher, who knows the training records.",
            remedy='Take training="known".',
        )
    tree = _plain(model)
    revealed = shown_by_leaves(tree)
    name = PUBLISHED[revealed]
    tell(name)
    published = replace(base or Adversary(), leaves=revealed)
    first = infer_sensitive(model, quasi_identifiers, adversary=published, truth=truth)
    published = first.adversary
    base = replace(published, leaves="leaf_counts")
    holdout = None if evaluation is None else read_holdout(evaluation, tree)
    codes = _codes(first, truth)
    # A merged tree has larger leaves, but the learner looked at the same candidates.
    base = replace(base, min_samples_leaf=base.min_samples_leaf or int(first.people.leaf_sizes.min()))
    tables = class_tables(first, truth)
    bench = _Bench(
        tree=tree, frame=quasi_identifiers, truth=truth, codes=codes, tables=tables, base=base, holdout=holdout
    )
    every: list[tuple[str, Kind, Callable[[str, TimeLimit], DisclosureRemedy]]] = [
        (name, "none", partial(bench.read, kind="none", tree=tree, adversary=published))
    ]
    if revealed == "leaf_counts":
        every.append(("error rates instead of counts", "suppress", partial(bench.suppressed, leaves="error_rates")))
    if revealed != "labels_only":
        every.append(("labels alone", "suppress", partial(bench.suppressed, leaves="labels_only")))
    every += [(f"leaves below {k} people merged", "merge", partial(bench.merged, below=k)) for k in tried.merge_below]
    every += [(f"leaves purer than {p:g} merged", "merge", partial(bench.merged, purity=p)) for p in tried.purities]
    every += [(f"counts rounded to {b}", "round", partial(bench.rounded, step=b)) for b in tried.round_to]
    every += [
        (f"private tree, epsilon {e:g}", "private", partial(bench.private, epsilon=e, tried=tried))
        for e in tried.epsilons
    ]
    rows: list[DisclosureRemedy] = []
    with nullcontext() if folder is None else RunStore(folder, REMEDIES, _identity(bench, tried)) as store:
        for name, kind, measured in every:
            kept = None if store is None else store.results.get(name)
            # The first is measured again: it shows whether the folder is of these records.
            if rows and kept is not None:
                rows.append(kept)
                continue
            if rows:
                tell(name)
            try:
                rows.append(measured(name, TimeLimit(tried.time_limit)))
            except TimeLimitError as error:
                rows.append(kept or DisclosureRemedy(name=name, kind=kind, reason=str(error)))
                continue
            except GlassineError as error:
                if not rows:
                    raise
                rows.append(DisclosureRemedy(name=name, kind=kind, reason=str(error)))
            if store is not None and kept is None:
                store.add(rows[-1])
            elif store is not None and kept is not None and not _alike(kept, rows[-1]):
                raise UnreadableFileError(
                    f"{store.folder} holds the remedies of other records: {name} comes out differently on these.",
                    remedy="Name another folder, or give the records that it was made for.",
                    path=store.folder,
                )
    n_classes = len(tree.classes or ())
    return RemedyTable(
        rows=tuple(rows),
        n_holdout=None if holdout is None else len(holdout.codes),
        baseline=Quality.baseline(codes, n_classes),
        holdout_baseline=None if holdout is None else Quality.baseline(holdout.codes, n_classes),
    )


def _identity(bench: _Bench, tried: Remedies) -> dict[str, Any]:
    """Return what rows must agree on to belong to one table; remedies may be added. No digest of records is in it."""
    base, tree, domain = bench.base, bench.tree, tried.domain
    return {
        "records": len(bench.codes),
        "held-out records": None if bench.holdout is None else len(bench.holdout.codes),
        "nodes": len(tree.nodes),
        "attributes": list(tree.attributes),
        "classes": [str(name) for name in tree.classes or ()],
        "attacker": [base.internal_nodes, base.criterion, base.splits, base.candidates],
        "domain": None if domain is None else to_dict(domain),
        "options": {"max_depth": tried.max_depth, "random_state": tried.random_state},
        "versions": {"glassine": __version__, "numpy": np.__version__},
    }


def _alike(one: DisclosureRemedy, other: DisclosureRemedy) -> bool:
    """Return whether two rows are the same but for the rounding of another machine."""
    return all(
        a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=ROUNDING, abs_tol=ROUNDING))
        for a, b in zip(one.figures, other.figures, strict=True)
    )


def class_tables(disclosure: Disclosure, truth: npt.ArrayLike) -> dict[int, Ints]:
    """Return the people of each class at each leaf by its node."""
    # Shapes: truth (n,).
    people = disclosure.people
    counts = np.zeros((len(people.leaf_nodes), len(disclosure.classes)), dtype=np.int64)
    np.add.at(counts, people.leaf, true_table(people, disclosure.classes, truth))
    exact = disclosure.leaves.exact_counts
    wrong: list[int] = []
    if exact is not None:
        off = exact != counts if disclosure.sample is None else exact[:, :-1] > counts
        wrong = np.flatnonzero(off.any(axis=1)).tolist()
    if wrong:
        at = wrong[0]
        raise InvalidDataError(
            f"the truth has other class counts than the tree publishes, first at the leaf of node "
            f"{people.leaf_nodes[at]}.",
            remedy="Give the classes of the training records.",
        )
    return dict(zip(people.leaf_nodes, counts, strict=True))


@dataclass(frozen=True, slots=True)
class _Draw:
    """The figures of one private tree."""

    n_leaves: float
    entropy: float
    d_overall: float
    quality: Quality
    on_holdout: Quality | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """A tree and its training records, on which remedies are tried, and held-out ones."""

    tree: DecisionTree
    frame: Any
    truth: npt.ArrayLike
    codes: Codes
    tables: dict[int, Ints]
    base: Adversary
    holdout: Holdout | None

    def read(
        self, name: str, limit: TimeLimit, kind: Kind, tree: DecisionTree, adversary: Adversary
    ) -> DisclosureRemedy:
        """Return what an attacker with a tree concludes."""
        starts = Starts(STARTS, STEPS[kind], limit, hops=0)
        result = infer_sensitive(tree, self.frame, adversary=adversary, starts=starts, truth=self.truth)
        return DisclosureRemedy(
            name=name,
            kind=kind,
            n_leaves=float(len(result.people.leaf_sizes)),
            entropy=result.entropy,
            d_overall=result.d_overall(self.truth),
            **self._qualities(tree, _published(tree, adversary.leaves)),
            internal_nodes=adversary.internal_nodes,
            status=result.status,
        )

    def suppressed(
        self, name: str, limit: TimeLimit, leaves: Literal["error_rates", "labels_only"]
    ) -> DisclosureRemedy:
        """Return what an attacker concludes who knows less about the leaves."""
        return self._searched(name, limit, "suppress", self.tree, replace(self.base, leaves=leaves))

    def _searched(
        self, name: str, limit: TimeLimit, kind: Kind, tree: DecisionTree, reader: Adversary
    ) -> DisclosureRemedy:
        """Return what an attacker concludes whose search may lead nowhere: then that of the leaves alone."""
        try:
            return self.read(name, limit, kind, tree, reader)
        except SearchError:
            result = self.read(name, limit, kind, tree, replace(reader, internal_nodes=False))
            return replace(result, reason=NO_SEARCH)

    def merged(self, name: str, limit: TimeLimit, below: int = 0, purity: float = 1.0) -> DisclosureRemedy:
        """Return what an attacker with the tree with merged leaves concludes."""
        counted = self._counted(1)
        sizes = {cell.node: cell.evidence.size or 0 for cell in counted.cells}
        return self.read(name, limit, "merge", merge_leaves(counted, sizes, below, purity=purity), self.base)

    def rounded(self, name: str, limit: TimeLimit, step: int) -> DisclosureRemedy:
        """Return what an attacker with rounded counts concludes."""
        reader = replace(self.base, noise=CountNoise("rounded", step))
        return self._searched(name, limit, "round", self._counted(step), reader)

    def _counted(self, step: int) -> DecisionTree:
        """Return the tree with the class counts of its leaves alone, to multiples of a step."""
        none, leaves = np.zeros(len(self.tree.classes or ()), dtype=np.int64), {cell.node for cell in self.tree.cells}

        def evidence(place: int, own: Evidence) -> Evidence:
            counts = (self.tables.get(place, none) + step // 2) // step * step
            return Evidence(counts=tuple(counts.tolist()), label=own.prediction) if place in leaves else Evidence()

        return replace(rewritten(self.tree, evidence=evidence), approximate=step > 1)

    def private(self, name: str, limit: TimeLimit, epsilon: float, tried: Remedies) -> DisclosureRemedy:
        """Return what an attacker with private trees concludes, on average over some draws."""
        if tried.domain is None:
            raise InvalidParameterError("a private tree needs the public domain of the attributes.", remedy="Give it.")
        data = read_columns(self.frame)
        absent = [a for a in self.tree.attributes if a not in tried.domain or a not in data]
        if absent:
            raise InvalidParameterError(
                f"a private tree needs the attribute {absent[0]!r} in domain and frame.", remedy="Declare or add it."
            )
        # The codes of the classes stand for their names, which the domain may write differently.
        narrow = Domain({a: tried.domain[a] for a in self.tree.attributes})
        columns = {a: data[a] for a in self.tree.attributes}
        classes = tuple(range(len(self.tree.classes or ())))
        frame, reader = _frame(columns), Adversary(internal_nodes=False, categories=self.base.categories)
        drawn = []
        for i in range(DRAWS):
            limit.check()
            learner = PrivateTreeClassifier(
                tried.max_depth,
                epsilon=epsilon,
                domain=narrow,
                classes=classes,
                time_limit=tried.time_limit,
                random_state=tried.random_state + i,
            )
            tree = learner.fit(frame, self.codes).model_
            result = infer_sensitive(tree, frame, adversary=reader, starts=Starts(limit=limit, hops=0))
            leaves, distance = float(len(result.people.leaf_sizes)), result.d_overall(self.codes)
            own = quality(tree, columns, self.codes)
            drawn.append(_Draw(leaves, result.entropy, distance, own, self._held_quality(learner)))
        qualities = [draw.on_holdout for draw in drawn if draw.on_holdout is not None]
        return DisclosureRemedy(
            name=name,
            kind="private",
            n_leaves=float(np.mean([draw.n_leaves for draw in drawn])),
            entropy=float(np.mean([draw.entropy for draw in drawn])),
            d_overall=float(np.mean([draw.d_overall for draw in drawn])),
            **figures_of(
                Quality.mean([draw.quality for draw in drawn]), Quality.mean(qualities) if qualities else None
            ),
            status="optimal",
        )

    def _held_quality(self, learner: PrivateTreeClassifier) -> Quality | None:
        """Return how well a private tree predicts the held-out records; None if they lack a column."""
        if self.holdout is None or any(a not in self.holdout.columns for a in self.tree.attributes):
            return None
        frame = _frame({a: self.holdout.columns[a] for a in self.tree.attributes})
        return Quality.measured(np.asarray(learner.predict(frame)), self.holdout.codes, learner.predict_proba(frame))

    def _qualities(self, tree: DecisionTree, published: DecisionTree) -> dict[str, Any]:
        outside = None if self.holdout is None else self.holdout.quality(tree, published)
        return figures_of(quality(tree, read_columns(self.frame), self.codes, published), outside)


def _published(tree: DecisionTree, leaves: str) -> DecisionTree:
    """Return a tree whose leaves publish error rates or labels alone, if that is asked."""
    if leaves not in ("error_rates", "labels_only"):
        return tree

    def evidence(_: int, own: Evidence) -> Evidence:
        label, counts, rate = own.prediction, own.counts, None
        if leaves == "error_rates" and label is not None and counts is not None and own.size:
            rate = 1 - counts[label] / own.size
        return Evidence(label=label, error_rate=rate)

    return rewritten(tree, evidence=evidence)


def _plain(model: object) -> DecisionTree:
    tree = as_model(model)
    if not isinstance(tree, DecisionTree):
        raise UnsupportedModelError(
            f"{parameter('remedies')} are measured for decision trees, got another model.", remedy="Give a tree."
        )
    return tree


def _frame(columns: dict[str, AnyArray]) -> Any:
    def series(name: str, values: list[Any]) -> Any:
        # Values of several types stay what they are, one by one.
        mixed = len({type(value) for value in values} - {type(None)}) > 1
        return pl.Series(name, values, dtype=pl.Object if mixed else None)

    return pl.DataFrame([series(name, values.tolist()) for name, values in columns.items()])


def _codes(disclosure: Disclosure, truth: npt.ArrayLike) -> Codes:
    """Return the index of each person's class; the estimate refuses any other value."""
    place = {name: i for i, name in enumerate(disclosure.classes)}
    return np.array([place[value] for value in np.asarray(truth).tolist()], dtype=np.intp)
