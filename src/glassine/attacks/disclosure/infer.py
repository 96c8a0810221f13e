"""The attack: what the reader of a decision tree concludes about everybody's class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from glassine.attacks.disclosure.adversary import Adversary
from glassine.attacks.disclosure.concave import convex_concave, starting_tables
from glassine.attacks.disclosure.constraints import Clash, Constraints, derive_constraints
from glassine.attacks.disclosure.cuts import Approximation, Cut, Engine, Point, outer_approximation
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.leaves import LeafKnowledge, read_leaves
from glassine.attacks.disclosure.people import read_people
from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.domain.attributes import is_whole
from glassine.domain.inference import columns as read_columns
from glassine.errors import (
    GlassineError,
    InvalidDataError,
    InvalidParameterError,
    UndefinedMeasureError,
    UnsupportedModelError,
)
from glassine.learners.impurity import check_criterion
from glassine.models import DecisionTree
from glassine.models.formats import as_model

__all__ = ["ContradictionError", "SearchError", "infer_sensitive", "measure_disclosure"]

PRECISION = 1e-10
"""Gap of the dual that is aimed at, in nats a person."""


class ContradictionError(GlassineError):
    """What the reader is taken to know excludes every possible table of people and classes.

    Attributes
    ----------
    clashes : tuple of Clash
        The nodes and candidates that contradict the leaves, and possibly each other.
    """

    def __init__(self, message: str, *, clashes: tuple[Clash, ...]) -> None:
        super().__init__(message)
        self.clashes = clashes


class SearchError(GlassineError):
    """The convex-concave procedure found no table that keeps all constraints; there may be one.

    Attributes
    ----------
    clashes : tuple of Clash
        The constraints that its best table breaks, the worst first.
    """

    def __init__(self, message: str, *, clashes: tuple[Clash, ...]) -> None:
        super().__init__(message)
        self.clashes = clashes


def infer_sensitive(
    model: Any,
    quasi_identifiers: Any,
    sensitive: str | None = None,
    adversary: Adversary | None = None,
    *,
    n_starts: int = 3,
    random_state: int | np.random.Generator | None = 0,
    progress: Callable[[str], None] | None = None,
) -> Disclosure:
    """Estimate everybody's class from a published decision tree and the quasi-identifiers of its training records.

    The estimate is the distribution of maximum entropy among all that agree with what the leaves tell, and with the
    fact that every internal node was split in the best way. Where the class counts of the leaves are known, the
    constraints are convex, and the estimate is the global optimum with a certified gap. Otherwise it is the best of
    several local optima of the convex-concave procedure, unless the estimate from the leaves alone satisfies all
    constraints.

    Parameters
    ----------
    model : DecisionTree or fitted estimator
        The tree, or what :func:`glassine.as_model` reads as one.
    quasi_identifiers : data frame
        The training records, one row a person, with every attribute that the tree tests. Attributes of the tree that
        are absent are unknown to the reader; other columns are ignored.
    sensitive : str, optional
        The name of the class attribute; if it is a column of the frame, the reader does not look at it.
    adversary : Adversary, optional
        What the reader knows; by default class counts and internal nodes of the criterion that the estimator names,
        Gini if it is a plain value. An estimator with class weights or random splits is read without internal nodes,
        one with ``max_features`` by the candidates of the chosen attribute.
    n_starts : int, default=3
        Number of starts of the convex-concave procedure, at least 1.
    random_state : int, Generator or None, default=0
        Source of the starts after the first.
    progress : callable, optional
        Called with the name of each stage as it starts.

    Returns
    -------
    Disclosure
        The estimate.

    Raises
    ------
    UnsupportedModelError
        If the model is not a tree.
    UndefinedMeasureError
        If it is a regression, or does not publish what the adversary is taken to know.
    InvalidDataError
        If people and tree do not belong together.
    ContradictionError
        If nothing agrees with what the reader is taken to know, as when the criterion is another one.
    SearchError
        If no start of the convex-concave procedure leads to an estimate.

    References
    ----------
    Z. Zhu and W. Du, *Understanding Privacy Risk of Publishing Decision Trees*, DBSec 2010.

    Examples
    --------
    Six people, of whom the tree tells two apart by nothing but the way in which it was built:

    >>> import polars as pl
    >>> from glassine.learners.multiway_tree import MultiwayTreeClassifier
    >>> people = pl.DataFrame(
    ...     {
    ...         "education": ["phd", "phd", "msc", "phd", "msc", "msc"],
    ...         "age": ["young", "young", "mid", "mid", "old", "old"],
    ...     }
    ... )
    >>> salary = ["<=50K", "<=50K", "<=50K", ">50K", ">50K", ">50K"]
    >>> tree = MultiwayTreeClassifier(min_samples_split=3).fit(people, salary)
    >>> disclosure = infer_sensitive(tree.model_, people)
    >>> disclosure.probabilities.round(3)[:3].tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]]
    >>> round(disclosure.d_overall(salary), 3)
    0.231
    """
    tree = _tree(model)
    assumed = _adversary(model, adversary)
    data = dict(read_columns(quasi_identifiers))
    if sensitive is not None:
        if not isinstance(sensitive, str):
            raise InvalidParameterError(f"sensitive must be the name of the class attribute, got {sensitive!r}.")
        if any(literal.attribute == sensitive for literal in tree.literals):
            raise InvalidDataError(
                f"the tree tests {sensitive!r} itself. The sensitive attribute must be the one that it predicts."
            )
        data.pop(sensitive, None)
    if not is_whole(n_starts) or not n_starts >= 1:
        raise InvalidParameterError(f"n_starts must be a whole number of at least 1, got {n_starts!r}.")
    people = read_people(tree, data, categories=assumed.categories)
    if assumed.internal_nodes and tree.guarantee is not None:
        raise UndefinedMeasureError(
            "the tree claims differential privacy: its splits were drawn, not the best. Take internal_nodes=False."
        )
    leaves = read_leaves(tree, people, assumed)
    constraints = derive_constraints(tree, people, assumed)
    totals = assumed.class_totals(tree.classes or ())
    _check_totals(totals, leaves, people.n_people)
    known = None if totals is None or leaves.counts is not None else np.array(totals, dtype=np.float64)
    # The matrices are small: several threads cost more than they gain, and far more where cores are shared.
    with import_module("threadpoolctl").threadpool_limits(1, user_api="blas"):
        engine = Engine(people, leaves, known)
        start = engine.solve([], np.zeros(0), precision=PRECISION * people.n_people)
        if not start.feasible:
            raise ContradictionError(
                "no table of people and classes has these leaves and these class totals. Check the marginals.",
                clashes=(),
            )
        starts = _Starts(n_starts, np.random.default_rng(random_state), progress or (lambda stage: None))
        return _estimate(engine, constraints, start, tree, assumed, starts)


def measure_disclosure(model: Any, quasi_identifiers: Any, **options: Any) -> Outcome[Disclosure]:
    """Return the estimate of :func:`infer_sensitive` as an outcome.

    Parameters
    ----------
    model, quasi_identifiers : object
        As for :func:`infer_sensitive`.
    **options
        Its other parameters.

    Returns
    -------
    Measured of Disclosure, NotApplicable or Failed
        NotApplicable where the model tells no classes, or not what the reader is taken to know. Failed where the
        assumptions contradict each other, naming the node and the candidate.
    """
    try:
        return Measured(infer_sensitive(model, quasi_identifiers, **options))
    except (UndefinedMeasureError, UnsupportedModelError) as error:
        return NotApplicable(str(error))
    except (ContradictionError, SearchError) as error:
        return Failed(str(error))


def _tree(model: Any) -> DecisionTree:
    own = getattr(model, "model_", None)
    tree = as_model(own if isinstance(own, DecisionTree) else model)
    if not isinstance(tree, DecisionTree):
        raise UnsupportedModelError(
            "disclosure is measured for decision trees, got a rule list. Its parts are no leaves."
        )
    if tree.classes is None:
        raise UndefinedMeasureError("the tree predicts a number, so that it discloses no class.")
    return tree


def _adversary(model: Any, adversary: Adversary | None) -> Adversary:
    """Return the adversary, by default with what a fitted estimator says about itself."""
    given: object = adversary
    if adversary is not None:
        if not isinstance(given, Adversary):
            raise InvalidParameterError(f"adversary must be an Adversary, got {type(given).__name__}.")
        return adversary
    final = model.steps[-1][1] if getattr(model, "steps", None) else model
    named = getattr(final, "criterion", "gini")
    criterion = check_criterion("entropy" if named == "log_loss" else named)
    if getattr(final, "splitter", "best") != "best" or getattr(final, "class_weight", None) is not None:
        return Adversary(internal_nodes=False, criterion=criterion)
    some = getattr(final, "max_features", None) is not None
    return Adversary(criterion=criterion, candidates="same_attribute" if some else "all_attributes")


def _check_totals(totals: tuple[int, ...] | None, leaves: LeafKnowledge, n_people: int) -> None:
    if totals is None:
        return
    if sum(totals) != n_people:
        raise InvalidDataError(
            f"marginals add up to {sum(totals)}, but there are {n_people} people. Give their classes."
        )
    if leaves.counts is not None and not np.array_equal(leaves.counts.sum(axis=0), totals):
        raise InvalidDataError(
            "marginals are not the sums of the class counts of the leaves. Give those of the training set."
        )


@dataclass(frozen=True, slots=True)
class _Starts:
    """Where the convex-concave procedure starts, and whom it tells."""

    number: int
    rng: np.random.Generator
    progress: Callable[[str], None]


def _estimate(
    engine: Engine, constraints: Constraints, start: Point, tree: DecisionTree, adversary: Adversary, starts: _Starts
) -> Disclosure:
    n, notes = engine.people.n_people, list(constraints.notes)
    allowance = constraints.allowance()
    slack = constraints.worst(start.table).slack
    cuts: tuple[Cut, ...] = ()
    status, point, bound, rounds = "optimal", start, start.value, 0
    if (slack < -allowance).any():
        if engine.leaves.counts is not None:
            starts.progress("cutting off what the internal nodes exclude")
            result = outer_approximation(
                engine, constraints, start, terms=constraints.terms(start.table), precision=PRECISION
            )
            if not result.point.feasible:
                _contradiction(engine, constraints, result)
            if not result.converged:
                notes.append(
                    f"Outer approximation stopped after {result.rounds} rounds; the gap says how far it is off."
                )
            point, bound, rounds, cuts = result.point, result.bound, result.rounds, result.cuts
        else:
            status = "local"
            point, cuts, rounds = _local(engine, constraints, start, starts, notes)
    active = {
        constraints.clash(cut.family, cut.at): None
        for cut, multiplier in zip(cuts, point.multipliers, strict=True)
        if multiplier > 1e-6
    }
    sizes = engine.people.sizes[:, None]
    return Disclosure(
        classes=tree.classes or (),
        adversary=adversary,
        people=engine.people,
        leaves=engine.leaves,
        constraints=constraints,
        quasi_probabilities=point.table / sizes,
        leaf_probabilities=start.table / sizes,
        class_totals=engine.totals,
        status="optimal" if status == "optimal" else "local",
        bound=bound / n,
        rounds=rounds,
        active=tuple(active),
        residual=point.residual,
        notes=tuple(notes),
    )


def _local(
    engine: Engine, constraints: Constraints, start: Point, starts: _Starts, notes: list[str]
) -> tuple[Point, tuple[Cut, ...], int]:
    """Return the best local optimum of several starts."""
    found = []
    for i, table in enumerate(starting_tables(engine, start.table, starts.number, starts.rng), start=1):
        starts.progress(f"climbing from start {i} of {starts.number}")
        found.append(convex_concave(engine, constraints, start, table))
    best = max(found, key=lambda local: (local.feasible, local.point.entropy))
    if not best.feasible:
        broken = constraints.violations(best.point.table)
        raise SearchError(
            f"no start of the convex-concave procedure led to a table that keeps all constraints; the furthest off is "
            f"{broken[0]}. The assumed criterion or the candidates may be wrong; give more starts, or take "
            "internal_nodes=False.",
            clashes=broken,
        )
    reached = sum(local.feasible for local in found)
    entropies = [local.point.entropy / engine.people.n_people for local in found if local.feasible]
    notes.append(
        f"The constraints are not convex without class counts: the estimate is the best local optimum of {len(found)} "
        f"starts, of which {reached} kept all constraints, with {min(entropies):.6f} to {max(entropies):.6f} nats left."
    )
    return best.point, best.cuts, sum(local.steps for local in found)


def _contradiction(engine: Engine, constraints: Constraints, result: Approximation) -> None:
    """Raise the error that names the cuts that no table satisfies, as few as are found quickly."""
    order = np.argsort(-result.point.multipliers)
    n, some = engine.people.n_people, list(result.cuts)
    for size in (1, 2, 3, 5, 10, len(order)):
        some = [result.cuts[i] for i in order[:size]]
        if not engine.solve(some, np.full(len(some), 1e-2), precision=1e-4 * n).feasible:
            break
    clashes = tuple(dict.fromkeys(constraints.clash(cut.family, cut.at) for cut in some))
    named = "; ".join(str(clash) for clash in clashes[:3])
    more = f" and {len(clashes) - 3} more" if len(clashes) > 3 else ""
    raise ContradictionError(
        f"no table of people and classes agrees with the leaves if every split was the best by "
        f"{constraints.criterion}: {named}{more}. The learner used another criterion, looked at fewer candidates "
        "(candidates, min_samples_leaf), or drew its splits: mend the adversary.",
        clashes=clashes,
    )
