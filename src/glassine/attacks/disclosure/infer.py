"""The attack: what a decision tree reveals about the class of each person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.adversary import Adversary, completed, read_hints
from glassine.attacks.disclosure.board import lay_out
from glassine.attacks.disclosure.constraints import Clash, Constraints, derive_constraints
from glassine.attacks.disclosure.cutting_planes import Approximation, CutSolution, Engine, outer_approximation
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.first_world import first_world
from glassine.attacks.disclosure.lagrangian import LocalOptimum, Starts, augmented_lagrangian, starting_tables
from glassine.attacks.disclosure.leaf_constraints import (
    ExpectedLeaves,
    LeafKnowledge,
    assumed_noise,
    read_leaves,
    read_noisy,
)
from glassine.attacks.disclosure.noise import CountNoise
from glassine.attacks.disclosure.people import People, read_people, true_table
from glassine.attacks.disclosure.uncertain_membership import SampledLeaves, read_sample, sample_estimate
from glassine.attacks.disclosure.worlds import NoWorldError, StartError
from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.data.record_table import as_table
from glassine.errors import (
    GlassineError,
    InvalidDataError,
    InvalidParameterError,
    UndefinedMeasureError,
    UnsupportedModelError,
    first_of,
    parameter,
)
from glassine.formats import as_model, tree_or_rules
from glassine.models import DecisionTree
from glassine.models.records import implied
from glassine.records.alignment import check_alignment
from glassine.records.arrays import Array, Ints

PRECISION = 1e-10
"""Gap of the dual that is aimed at, in nats per person."""


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
    """The search found no table that keeps all constraints; there may be one.

    Attributes
    ----------
    clashes : tuple of Clash
        The constraints that its best table breaks, the worst first.
    """

    def __init__(self, message: str, *, clashes: tuple[Clash, ...]) -> None:
        super().__init__(message)
        self.clashes = clashes


def infer_sensitive(
    model: object,
    quasi_identifiers: object,
    sensitive: str | None = None,
    adversary: Adversary | None = None,
    *,
    starts: Starts | None = None,
    random_state: int | np.random.Generator | None = 0,
    truth: npt.ArrayLike | None = None,
    progress: Callable[[str], None] | None = None,
) -> Disclosure:
    """Estimate the class of each person from a published decision tree.

    The attacker also knows the quasi-identifiers of the training records.

    The estimate is the distribution of maximum entropy among all that agree with what the leaves reveal, and with the
    fact that every internal node was split in the best way. Where the class counts of the leaves are known, the
    constraints are convex, and the estimate is the global optimum with a certified gap. Otherwise it is the best of
    several local optima of an augmented Lagrangian, unless the estimate from the leaves alone satisfies all
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
        What the reader knows; by default class counts, and the internal nodes if the model states how its splits were
        selected. A :class:`~.MultiwayTreeClassifier`, or a tree of scikit-learn with the steps before it,
        states the criterion, the columns that it compared and the fewest records of a branch: these replace what the
        adversary says. Trees whose splits were not the best of all candidates (random splits, ``max_features``,
        weights, ``monotonic_cst``) are read without internal nodes. A plain model states nothing: what the adversary
        says of its learner is assumed, and a note says so.
    starts : Starts, optional
        From how many tables the search starts, and how far it goes: two by default, and three hops from each.
    random_state : int, Generator or None, default=0
        Source of the starts after the first.
    truth : array-like, shape (n,), optional
        Class of each person, as the publisher knows it. It is compared with the leaves, and with the constraints: where
        the truth breaks one that the model's own statement implies, the internal nodes are not used, and ``unused``
        says so. Where no start leads to a table that is allowed, the search climbs from the truth, and a note says so.
        Not for a sample.
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
        If people and tree, or the truth and the leaves, do not belong together.
    ContradictionError
        If nothing agrees with what the reader is taken to know, or the truth breaks what the adversary says of the
        learner, as when the criterion is another one.
    SearchError
        If no start of the search leads to an estimate.
    TimeLimitError
        If the search takes longer than the starts allow.

    References
    ----------
    Z. Zhu and W. Du, *Understanding Privacy Risk of Publishing Decision Trees*, DBSec 2010.

    Examples
    --------
    Six people. Nothing but the way in which the tree was built distinguishes two of them:

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
    >>> disclosure = infer_sensitive(tree, people)
    >>> disclosure.probabilities.round(3)[:3].tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]]
    >>> round(disclosure.d_overall(salary), 3)
    0.231
    """
    tree = _tree(model)
    knowledge: object = adversary
    if adversary is not None and not isinstance(knowledge, Adversary):
        raise InvalidParameterError(f"{parameter('adversary')} must be an Adversary, got {type(knowledge).__name__}.")
    assumed, notes, unused = completed(adversary, read_hints(model))
    check_alignment(quasi_identifiers, truth=truth)
    data = dict(as_table(quasi_identifiers, tree.attributes).by(implied(tree.literals)).arrays)
    if sensitive is not None:
        if not isinstance(sensitive, str):
            raise InvalidParameterError(
                f"{parameter('sensitive')} must be the name of the class attribute, got {sensitive!r}."
            )
        if any(literal.attribute == sensitive for literal in tree.literals):
            raise InvalidDataError(
                f"the tree tests {sensitive!r} itself. The sensitive attribute must be the one that it predicts."
            )
        data.pop(sensitive, None)
    sampled = assumed.training == "sample"
    people = read_people(tree, data, categories=assumed.categories, superset=sampled)
    if assumed.internal_nodes and tree.guarantee is not None:
        raise UndefinedMeasureError(
            "the tree claims differential privacy: its splits were drawn, not the best.",
            remedy=f"Take {parameter('internal_nodes', False)}.",
        )
    leaves, noise = _leaves(tree, people, assumed)
    members = leaves.members if isinstance(leaves, SampledLeaves) else None
    if sampled and leaves.counts is None and assumed.internal_nodes and assumed.criterion == "gain_ratio":
        raise UndefinedMeasureError(
            "the gain ratio of a sample needs the class counts of the leaves: without them the sizes of branches are "
            "not known.",
            remedy=f"Take {parameter('internal_nodes', False)}.",
        )
    constraints = derive_constraints(tree, people, assumed, sampled=sampled, members=members)
    if truth is not None and not sampled:
        table = true_table(people, tree.classes or (), truth)
        _check_leaves(leaves, people, table)
        if broken := constraints.violations(table):
            if assumed.stated is None:
                raise ContradictionError(_broken(broken, assumed.criterion), clashes=broken)
            unused = f"the true classes contradict that every split was the best of its node: see {_nodes(broken)}."
            assumed = replace(assumed, internal_nodes=False)
            constraints = derive_constraints(tree, people, assumed, members=members)
    if noise is not None:
        notes.append(f"The class counts were read with {noise.kind} noise of scale {noise.scale:g}, the sizes exactly.")
    constraints = replace(constraints, notes=(*constraints.notes, *notes))
    totals = assumed.class_totals(tree.classes or ())
    _check_totals(totals, leaves, people.n_people)
    class_rows = _rows_of_totals(totals, leaves, people.n_people)
    # The matrices are small: several threads cost more than they gain, and far more where cores are shared.
    with import_module("threadpoolctl").threadpool_limits(1, user_api="blas"):
        engine = Engine(people, leaves, class_rows, limit=None if starts is None else starts.limit)
        start = engine.solve([], np.zeros(0), precision=PRECISION * people.n_people)
        if not start.feasible:
            raise ContradictionError(
                "no table of people and classes has these leaves and these class totals. Check the marginals.",
                clashes=(),
            )
        search = _LocalSearch(
            starts or Starts(), np.random.default_rng(random_state), progress or (lambda _: None), truth
        )
        return replace(_estimate(engine, constraints, start, tree, assumed, search), unused=unused)


def measure_disclosure(model: object, quasi_identifiers: object, **options: Any) -> Outcome[Disclosure]:
    """Return the estimate of :func:`infer_sensitive`, which has the same parameters, as an outcome.

    Returns
    -------
    Measured of Disclosure, NotApplicable or Failed
        NotApplicable where the model reveals no classes, or not what the attacker is assumed to know. Failed where
        the assumptions contradict each other, naming the node and the candidate.
    """
    try:
        return Measured(infer_sensitive(model, quasi_identifiers, **options))
    except (UndefinedMeasureError, UnsupportedModelError) as error:
        return NotApplicable(error.text)
    except (ContradictionError, SearchError) as error:
        return Failed(error.text)


def _tree(model: object) -> DecisionTree:
    tree = tree_or_rules(as_model(model))
    if not isinstance(tree, DecisionTree):
        raise UnsupportedModelError(
            "disclosure is measured for decision trees, got a rule list. Its parts are no leaves.",
            remedy="Pass a decision tree.",
        )
    if tree.classes is None:
        raise UndefinedMeasureError(
            "the tree predicts a number, so that it discloses no class.", remedy="Pass a tree that predicts classes."
        )
    return tree


def _nodes(broken: Sequence[Clash]) -> str:
    """Return the nodes of some clashes in words; their candidates name values between two records."""
    nodes = sorted({clash.node for clash in broken})
    return f"node{'s' * (len(nodes) > 1)} {first_of(nodes)}"


def _broken(broken: Sequence[Clash], criterion: str) -> str:
    return (
        f"the true classes contradict that every split was the best by {criterion.replace('_', ' ')}: "
        f"{first_of(broken, mark=';')}. The learner used another criterion, compared other candidates "
        "(splits, columns, min_samples_leaf), or drew its splits: mend the adversary, or take internal_nodes=False."
    )


def _check_leaves(leaves: LeafKnowledge, people: People, table: Ints) -> None:
    """Raise unless the truth, shape (q, c), has the class counts that the leaves are known to have."""
    if leaves.exact_counts is None:
        return
    counts = np.zeros((len(people.leaf_nodes), table.shape[1]), dtype=np.int64)
    np.add.at(counts, people.leaf, table)
    wrong = np.flatnonzero(np.any(leaves.counts != counts, axis=1))
    if len(wrong):
        raise InvalidDataError(
            f"the truth has other class counts than the tree publishes, first at the leaf of node "
            f"{people.leaf_nodes[wrong[0]]}.",
            remedy="Give the classes of the training records.",
        )


def _leaves(tree: DecisionTree, people: People, adversary: Adversary) -> tuple[LeafKnowledge, CountNoise | None]:
    """Return what is known of the leaves, and the noise of their counts."""
    noise = assumed_noise(tree, adversary)
    if adversary.training == "sample":
        return read_sample(tree, people, adversary), None
    if noise is None:
        return read_leaves(tree, people, adversary), None
    return read_noisy(tree, people, adversary, noise), noise


def _check_totals(totals: tuple[int, ...] | None, leaves: LeafKnowledge, n_people: int) -> None:
    if totals is None:
        return
    if isinstance(leaves, SampledLeaves):
        stated = sum(totals)
        n_known = n_people if leaves.members is None else int(leaves.members.sum())
        if stated > n_people or (leaves.members is not None and stated != n_known):
            raise InvalidDataError(
                f"marginals add up to {stated}, but the sample holds {'at most ' * (leaves.members is None)}{n_known} "
                "records.",
                remedy="Give the classes of the sample.",
            )
    elif sum(totals) != n_people:
        raise InvalidDataError(
            f"marginals add up to {sum(totals)}, but there are {n_people} people.", remedy="Give their classes."
        )
    if isinstance(leaves, ExpectedLeaves):
        raise InvalidParameterError(
            f"{parameter('marginals')} are not combined with noisy class counts.", remedy="Leave them out."
        )
    if leaves.counts is not None and not np.array_equal(leaves.counts.sum(axis=0)[: len(totals)], totals):
        raise InvalidDataError(
            f"{parameter('marginals')} are not the sums of the class counts of the leaves.",
            remedy="Give those of the training set.",
        )


def _rows_of_totals(totals: tuple[int, ...] | None, leaves: LeafKnowledge, n_people: int) -> Array | None:
    """Return the people of each class that the leaves do not reveal, NaN where it is not known; None if nothing is."""
    if leaves.counts is not None:
        return None
    if not isinstance(leaves, SampledLeaves):
        return None if totals is None else np.array(totals, dtype=np.float64)
    out = np.full(leaves.n_classes, np.nan)
    if totals is not None:
        out[:-1], out[-1] = totals, n_people - sum(totals)
    elif leaves.members is None and leaves.fraction is not None:
        out[-1] = n_people * (1 - leaves.fraction)
    return None if np.isnan(out).all() else out


@dataclass(frozen=True, slots=True)
class _LocalSearch:
    """Starts, random numbers and callback of the search, and the truth if known."""

    starts: Starts
    rng: np.random.Generator
    progress: Callable[[str], None]
    truth: npt.ArrayLike | None = None


def _estimate(
    engine: Engine,
    constraints: Constraints,
    start: CutSolution,
    tree: DecisionTree,
    adversary: Adversary,
    search: _LocalSearch,
) -> Disclosure:
    notes = list(constraints.notes)
    allowance = constraints.allowance()
    slack = constraints.worst(start.table).slack
    point, bound, rounds = start, start.value, 0
    active: tuple[Clash, ...] = ()
    optima: list[LocalOptimum] = []
    if (slack < -allowance).any():
        if engine.leaves.counts is not None:
            search.progress("cutting off what the internal nodes exclude")
            result = outer_approximation(
                engine, constraints, start, constraints.terms(start.table), precision=PRECISION
            )
            if not result.point.feasible:
                _contradiction(engine, constraints, result)
            if not result.converged:
                notes.append(
                    f"Outer approximation stopped after {result.rounds} rounds; the gap says how far it is off."
                )
            point, bound, rounds = result.point, result.bound, result.rounds
            shaping = zip(result.cuts, point.multipliers, strict=True)
            active = tuple(dict.fromkeys(constraints.clash(c.family, c.at) for c, price in shaping if price > 1e-6))
        else:
            leaves_alone = _disclosure(engine, constraints, tree, adversary, (start, start), bound=bound)
            optima = _local(engine, constraints, start, search, notes, leaves_alone)
            point, active, rounds = optima[0].point, optima[0].active, sum(local.steps for local in optima)
    if isinstance(engine.leaves, SampledLeaves) and engine.leaves.members is None and engine.totals is None:
        notes.append("The number of people in the sample is not stated: membership is as open as the classes allow.")
    best, *others = (
        _disclosure(engine, constraints, tree, adversary, (start, each), bound=bound)
        for each in (point, *(local.point for local in optima[1:]))
    )
    return replace(
        best,
        status="local" if optima else "optimal",
        rounds=rounds,
        active=active,
        notes=tuple(notes),
        other_optima=tuple(other.quasi_probabilities for other in others),
    )


def _disclosure(
    engine: Engine,
    constraints: Constraints,
    tree: DecisionTree,
    adversary: Adversary,
    points: tuple[CutSolution, CutSolution],
    *,
    bound: float,
) -> Disclosure:
    """Return the estimate of the leaves alone, the first point, and that of everything, the second, as a value."""
    start, point = points
    sizes, n = engine.people.sizes, engine.people.n_people
    sampled = isinstance(engine.leaves, SampledLeaves)
    samples = [sample_estimate(each.table, sizes, each.entropy) if sampled else None for each in (point, start)]
    estimates = [
        each.table / sizes[:, None] if sample is None else sample.probabilities
        for each, sample in zip((point, start), samples, strict=True)
    ]
    totals = engine.totals
    if sampled and totals is not None:
        totals = None if np.isnan(totals).any() else totals[:-1]
    return Disclosure(
        classes=tree.classes or (),
        adversary=adversary,
        people=engine.people,
        leaves=engine.leaves,
        constraints=constraints,
        quasi_probabilities=estimates[0],
        leaf_probabilities=estimates[1],
        class_totals=totals,
        status="optimal",
        bound=bound / n,
        rounds=0,
        active=(),
        residual=point.residual,
        notes=(),
        sample=samples[0],
        leaf_sample=samples[1],
    )


def _local(
    engine: Engine,
    constraints: Constraints,
    start: CutSolution,
    search: _LocalSearch,
    notes: list[str],
    first: Disclosure,
) -> list[LocalOptimum]:
    """Return the local optima that keep all constraints, the one of most entropy first."""
    reached, number = [], search.starts.number

    def climb(table: Array) -> bool:
        reached.append(augmented_lagrangian(engine, constraints, start, table, rng=search.rng, starts=search.starts))
        return reached[-1].feasible

    for i, table in enumerate(starting_tables(engine, start.table, number, search.rng, sampled=constraints.sampled)):
        search.progress(f"climbing from start {i + 1} of {number}")
        climb(table)
    if not any(local.feasible for local in reached):
        search.progress("searching tables that keep all constraints")
        for table in _worlds(constraints, search, first):
            climb(table)
    if not any(local.feasible for local in reached) and search.truth is not None and not constraints.sampled:
        search.progress("climbing from the truth")
        if climb(true_table(engine.people, first.classes, search.truth).astype(np.float64)):
            notes.append("The search was started from the true classes: no other start led to a table that is allowed.")
    kept = sorted((one for one in reached if one.feasible), key=lambda local: -local.point.entropy)
    if not kept:
        best = max(reached, key=lambda local: local.point.entropy)
        broken = constraints.violations(best.point.table)
        furthest = str(broken[0]) if broken else "a rounding"
        raise SearchError(
            "no start of the search led to a table that keeps all constraints, nor was a world of whole people found; "
            f"the furthest off is {furthest}. The assumed criterion or the candidates may be wrong; give more starts "
            f"or the truth, or take {parameter('internal_nodes', False)}.",
            clashes=broken,
        )
    entropies = [local.point.entropy / engine.people.n_people for local in kept]
    notes.append(
        "The constraints are not convex without class counts: the estimate is the best local optimum of "
        f"{len(reached)} starts, of which {len(kept)} kept all constraints, with {min(entropies):.6f} to "
        f"{max(entropies):.6f} nats left."
    )
    return kept


def _worlds(constraints: Constraints, search: _LocalSearch, disclosure: Disclosure) -> list[Array]:
    """Return a world, if one is found: it keeps all constraints. The truth makes a search needless."""
    if constraints.sampled or search.truth is not None:
        return []
    try:
        state, _ = first_world(disclosure, lay_out(disclosure), search.rng, from_estimate=False)
    except (StartError, NoWorldError):
        return []
    return [state.x.astype(np.float64)]


def _contradiction(engine: Engine, constraints: Constraints, result: Approximation) -> None:
    """Raise the error that names the cuts that no table satisfies, as few as are found quickly."""
    order = np.argsort(-result.point.multipliers)
    n, some = engine.people.n_people, list(result.cuts)
    for size in (1, 2, 3, 5, 10, len(order)):
        some = [result.cuts[i] for i in order[:size]]
        if not engine.solve(some, np.full(len(some), 1e-2), precision=1e-4 * n).feasible:
            break
    clashes = tuple(dict.fromkeys(constraints.clash(cut.family, cut.at) for cut in some))
    raise ContradictionError(
        f"no table of people and classes agrees with the leaves if every split was the best by "
        f"{constraints.criterion}: {first_of(clashes, mark=';')}. The learner used another criterion, looked at fewer "
        f"candidates (candidates, {parameter('min_samples_leaf')}), or drew its splits: mend the adversary.",
        clashes=clashes,
    )
