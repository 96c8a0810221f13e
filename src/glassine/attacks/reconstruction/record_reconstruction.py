"""Reconstruction of records: rows that meet every count which is published.

Of one tree or rule list, a dataset is drawn from those that are possible. The trees of a forest, and several models of
the same records, constrain each other, often so much that one dataset is left: it is found by constraint programming.
What they share is written once: the search, what its ends mean, and that rows are shown only after they were sent
through what was published.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from glassine.attacks.outcome import Failed, NotApplicable, Outcome
from glassine.attacks.reconstruction.entropy import reconstruct
from glassine.attacks.reconstruction.joint_cells import JointCells, System, intersect, system_of
from glassine.attacks.reconstruction.joint_intervals import log_of
from glassine.attacks.reconstruction.joint_programs import settle
from glassine.attacks.reconstruction.joint_published import CountedModel, counted_in, match_classes, read_models
from glassine.attacks.reconstruction.possible import Worlds
from glassine.attacks.reconstruction.row_boxes import draw_rows, known_in_box, known_in_region, worlds_in_box
from glassine.attacks.reconstruction.row_problem import Problem, Total, leaf_counts, problem_of
from glassine.attacks.reconstruction.row_result import RowReconstruction, forest_is_met, model_is_met
from glassine.attacks.reconstruction.row_solving import Refitting, refitting_of
from glassine.attacks.reconstruction.systems import (
    CountSystem,
    SampledRows,
    Search,
    checked_rows,
    labels_of,
    solved,
)
from glassine.attacks.record_matching import Records
from glassine.counting import MAX_STEPS, Region, RegionCounter
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.domain.domain import check_domain
from glassine.errors import CostLimitError, UndefinedMeasureError
from glassine.formats import as_model, tree_or_rules
from glassine.formats.conditions import check_conditions
from glassine.formats.sklearn.forest import forest_from_sklearn, is_sklearn_forest
from glassine.models import DecisionTree, RuleList
from glassine.models.tree import Forest
from glassine.records.arrays import Indices

Codes = Indices

NOISY = (
    "the model's counts carry noise or were rounded: they are evidence about the records, not constraints on them. "
    "Look at what its guarantee implies instead"
)


def reconstruct_records(
    models: object,
    domain: Domain,
    *,
    data: object = None,
    counts: str = "published",
    same_labels: bool = True,
    use_seeds: bool = True,
    random_state: int | np.random.Generator | None = None,
    search: Search | None = None,
) -> Outcome[RowReconstruction]:
    """Return rows that meet every count which is published: reconstructed training records.

    Of one tree or rule list, a dataset is drawn from those that are possible. The trees of a forest, and several
    models of the same records, constrain each other, often so much that one dataset is left; it is found by
    constraint programming (OR-Tools, extra ``solver``).

    Parameters
    ----------
    models : model, or sequence of models
        A tree, a rule list, a forest, a fitted estimator, or anything that :func:`glassine.as_model` reads; or several
        of them, of the same records.
    domain : Domain
        What is publicly known about the attributes; its groups count.
    data : data frame, optional
        The training records; only used to count what ``counts`` asks for.
    counts : {"published", "data"}
        Where the numbers of records come from, as for :func:`glassine.attacks.reconstruct_jointly`.
    same_labels : bool, default=True
        Whether the class counts of several models are of the same labels; otherwise sizes count alone.
    use_seeds : bool, default=True
        Whether the attacker has a fitted forest itself, with the seeds of its bootstrap, which reveal how often each
        tree drew each record. Without them the attacker has the trees and their counts. Of a single forest.
    random_state : int, Generator or None
        Source of randomness. With several workers the solver may still return another of several datasets.
    search : Search, optional
        Limits of time, threads and memory; a minute by default.

    Returns
    -------
    Measured of RowReconstruction, NotApplicable or Failed
        NotApplicable where no exact counts are published. Failed where the search did not end in time, the counts
        contradict each other or the domain, a limit is reached, or OR-Tools is not installed; no rows are shown then.

    Raises
    ------
    InvalidModelError
        If a model tests an attribute or a value that the domain lacks.
    UnsupportedModelError
        If one is no model.
    InvalidDomainError
        If the domain is not a :class:`Domain`.
    InvalidParameterError
        If ``counts`` is ``"data"`` without data, or several models share no class.
    InvalidDataError
        If the data lack a tested attribute, or do not have what a model publishes.

    References
    ----------
    Ferry, Fukasawa, Pascal, Vidal: Trained Random Forests Completely Reveal your Dataset, ICML 2024.

    Examples
    --------
    >>> from glassine.models import Branch, Evidence, Node
    >>> from glassine.domain import OneOf
    >>> def stump(name, zeros, ones):
    ...     sides = Branch(OneOf(name, (1,), negated=True), 1), Branch(OneOf(name, (1,)), 2)
    ...     leaves = Node(evidence=Evidence(counts=zeros)), Node(evidence=Evidence(counts=ones))
    ...     return DecisionTree((Node(branches=sides), *leaves), ("a", "b"), ("no", "yes"))
    >>> forest = Forest(trees=(stump("a", (1, 0), (0, 2)), stump("b", (0, 2), (1, 0))))
    >>> rebuilt = reconstruct_records(forest, Domain.binary(["a", "b"])).value
    >>> rebuilt.status, rebuilt.n_whole
    ('unique', 3)
    """
    check_domain(domain)
    search = Search() if search is None else search
    deadline = time.monotonic() + search.time_limit
    rng = np.random.default_rng(random_state)
    search.progress("reading the model")
    counted = counted_in(counts, data)
    listed = list(models) if isinstance(models, Sequence) and not isinstance(models, str | bytes) else [models]
    run = partial(solved, search=search, deadline=deadline, rng=rng)
    if len(listed) != 1 or counted is not None:
        try:
            read = read_models(listed, domain, None, counted)
        except UndefinedMeasureError as error:
            return NotApplicable(str(error))
        if read.silence is not None:
            return NotApplicable(read.silence)
        if len(read.exact) > 1:
            return run(_Several(domain=domain, published=read.exact, same_labels=same_labels))
        return _from_one(read.exact[0].model, domain, rng)
    model = _read(listed[0], domain, use_seeds)
    if isinstance(model, Forest) and (len(model.trees) > 1 or model.bootstrap):
        reason = _not_applicable(model)
        if reason is not None:
            return NotApplicable(reason)
        again = refitting_of(listed[0], model, domain) if use_seeds else None
        return run(_OfForest(domain=domain, forest=model, again=again))
    return _from_one(model.trees[0] if isinstance(model, Forest) else model, domain, rng)


def _read(model: object, domain: Domain, use_seeds: bool) -> DecisionTree | RuleList | Forest:
    forest: Forest | None = None
    if isinstance(model, Forest):
        forest = model
    elif is_sklearn_forest(model):
        forest = forest_from_sklearn(model, domain, use_seeds=use_seeds)
    if forest is None:
        return tree_or_rules(as_model(model, domain))
    for tree in forest.trees:
        check_conditions(tree, domain)
    return forest


def _not_applicable(forest: Forest) -> str | None:
    """Return why a forest publishes too little."""
    if not forest.counts_are_exact:
        return NOISY
    if leaf_counts(forest) is None:
        return "the forest does not publish how many records each of its leaves captured."
    if forest.bootstrap and forest.drawn is None:
        return (
            "the forest was trained on weighted draws, and the weights hide how often its leaves' records were drawn."
        )
    if forest.bootstrap and forest.n_records is None:
        return "the forest drew fewer records than there are, and does not state how many there are. Give n_records."
    return None if forest.n_records != 0 else "the forest's counts are all zero: it describes no record."


def _from_one(model: DecisionTree | RuleList, domain: Domain, rng: np.random.Generator) -> Outcome[RowReconstruction]:
    """Draw one of the datasets that a tree or rule list leaves possible."""
    if not model.counts_are_exact:
        return NotApplicable(NOISY)
    cells = model.cells
    sizes = [cell.evidence.size or 0 for cell in cells]
    if any(cell.evidence.size is None for cell in cells):
        return NotApplicable("the model does not publish how many records each part captured.")
    if not sum(sizes):
        return NotApplicable("the model's counts are all zero: it describes no record.")
    try:
        rows = reconstruct(model, domain).sample(random_state=rng)
        worlds = Worlds(model, domain, True, MAX_STEPS)
        counts = [int(m) if domain.size() is not None else None for m in worlds.regions.measures]
        single = np.array(
            [
                known_in_region(worlds, region) if n else [False] * len(domain)
                for region, n in zip(worlds.regions, sizes, strict=True)
            ],
            dtype=bool,
        )
    except (UndefinedMeasureError, CostLimitError) as error:
        return Failed(str(error))
    codes: Indices | None = None
    if model.classes is not None and all(cell.evidence.counts is not None for cell in cells):
        codes = np.concatenate(
            [rng.permutation(np.repeat(np.arange(len(model.classes)), cell.evidence.counts or ())) for cell in cells]
        )
    possible = [count for count, n in zip(counts, sizes, strict=True) for _ in range(n)]
    return checked_rows(
        SampledRows(rows=rows, worlds=possible, single=np.repeat(single, sizes, axis=0)),
        met=model_is_met(model, rows, codes),
        domain=domain,
        labels=labels_of(model.classes, codes),
        status="drawn",
        certain=np.ones(sum(sizes), dtype=bool),
    )


# A forest: its trees cut the domain into boxes, and each box of each class, or of each drawn record, is an option.


@dataclass(kw_only=True)
class _OfForest(CountSystem):
    """A forest, and the fitted one where it can be trained again."""

    forest: Forest
    again: Refitting | None
    fewer: ClassVar[str] = "trees"

    @property
    def classes(self) -> Sequence[Scalar] | None:
        """The classes, where counts are published by class."""
        if self.forest.classes is None or self.forest.bootstrap:
            return self.forest.classes
        counts = leaf_counts(self.forest)
        by_class = all(cell.evidence.counts is not None for tree in self.forest.trees for cell in tree.cells)
        return self.forest.classes if counts is not None and by_class else None

    def reserved(self, time_limit: float) -> float:
        """Return a third of the time where the forest is trained again, many times."""
        return time_limit / 3 if self.again is not None else 0.0

    def problem(self, search: Search, deadline: float) -> Problem:
        """Return the system of the boxes."""
        search.progress("cutting the domain into boxes")
        return problem_of(self.forest, self.domain, max_boxes=search.max_parts, deadline=deadline)

    def draw(self, problem: Problem, chosen: Codes, rng: np.random.Generator) -> SampledRows:
        """Draw a record from each box, uniformly or by the domain's shares."""
        packing, space = problem.packing, problem.packing.space
        boxes = [{f: packing.mask(problem.rows[option], f) for f in range(len(space.factors))} for option in chosen]
        return SampledRows(
            rows=draw_rows(space, self.domain, boxes, rng),
            worlds=[worlds_in_box(space, self.domain, box) for box in boxes],
            single=np.array([known_in_box(space, self.domain, box) for box in boxes], dtype=bool),
        )

    def improve(
        self, rows: Records, codes: Codes | None, search: Search, deadline: float
    ) -> tuple[Records, bool | None]:
        """Return rows from which more of the forest comes out again, and whether all of it does."""
        if self.again is None or codes is None:
            return rows, None
        search.progress("training the forest again on the rows")
        return self.again.improve(rows, codes, deadline)

    def is_met(self, rows: Records, codes: Codes | None) -> bool:
        """Return whether the forest has its counts on the rows."""
        return forest_is_met(self.forest, rows, codes)


# Several models: what they all distinguish are cells, and each cell of each class is an option.


@dataclass(kw_only=True)
class _Several(CountSystem):
    """Several models that publish exact counts of the same records; the cells are known once the problem is."""

    published: list[CountedModel]
    same_labels: bool
    labels: tuple[Scalar, ...] | None = None
    cells: JointCells | None = None
    system: System = field(init=False)
    fewer: ClassVar[str] = "models"

    @property
    def classes(self) -> Sequence[Scalar] | None:
        """The classes that hold records."""
        return self.labels

    @property
    def proves(self) -> bool:
        """Whether no single point of a continuum can hold records: the solver has no option for one."""
        return self.cells is not None and self.cells.closed is None

    def problem(self, search: Search, deadline: float) -> Problem:
        """Return the system of the cells."""
        self.published, self.labels = match_classes(self.published, self.same_labels)
        self.cells = intersect(self.published, self.domain, max_parts=search.max_parts, max_steps=search.max_steps)
        width = None if self.labels is None else len(self.labels)
        names = [one.name for one in self.published]
        self.system = settle(system_of(self.published, self.cells, width), names).system
        return _problem(self.cells, self.system, self.published[0].n_records)

    def contradiction(self, error: Exception) -> str:
        """Return what it means that no solution exists."""
        if self.cells is not None and self.cells.closed is not None:
            return f"rows on single points of a continuum are not rebuilt, and counts may need them: {error}"
        return super().contradiction(error)

    def draw(self, problem: Problem, chosen: Codes, rng: np.random.Generator) -> SampledRows:
        """Draw a record from each cell, uniformly or by the domain's shares."""
        if self.cells is None:
            raise RuntimeError("the problem comes first.")
        where = self.system.cells[chosen]
        rows = _draw(self.cells, self.domain, where, rng)
        single = _single(self.cells, self.domain, np.unique(where))
        finite = self.domain.size() is not None
        return SampledRows(
            rows=rows,
            worlds=[int(self.cells.measures[cell]) if finite else None for cell in where.tolist()],
            single=np.array([single[cell] for cell in where.tolist()], dtype=bool),
        )

    def is_met(self, rows: Records, codes: Codes | None) -> bool:
        """Return whether each model has its counts on the rows."""
        for one in self.published:
            if one.classes is None or codes is None or self.labels is None:
                own: Codes | None = None
            else:
                names = list(one.model.classes or ())
                own = np.array([names.index(label) for label in self.labels], dtype=np.intp)[codes]
            if not model_is_met(one.model, rows, own):
                return False
        return True


def _problem(cells: JointCells, system: System, n_records: int) -> Problem:
    """Return the system for the solver: what is settled is a range of one number."""
    upper = np.min([count[system.parts[:, i]] for i, count in enumerate(system.counts)], axis=0)
    upper = np.where(system.fixed >= 0, system.fixed, upper)
    totals = []
    for option in np.flatnonzero(system.fixed > 0).tolist():
        fixed = int(system.fixed[option])
        totals.append(Total(options=np.array([option]), low=fixed, high=fixed))
    for i in range(len(system.counts)):
        left = system.left(i)
        free = system.free
        own = system.parts[free, i]
        order = np.argsort(own, kind="stable")
        edges = np.searchsorted(own[order], np.arange(len(left) + 1))
        for part in np.flatnonzero(left).tolist():
            members = free[order[edges[part] : edges[part + 1]]]
            totals.append(Total(options=members, low=int(left[part]), high=int(left[part])))
    bits = np.array([log_of(weight) for weight in cells.weights]) / np.log(2)
    return Problem(
        packing=cells.packing,
        rows=cells.boxes[system.cells],
        classes=system.classes,
        records=np.full(len(system), -1, dtype=np.intp),
        upper=upper.astype(np.intp),
        bits=bits[system.cells],
        totals=tuple(totals),
        n_records=n_records,
    )


def _draw(cells: JointCells, domain: Domain, where: Codes, rng: np.random.Generator) -> Records:
    """Draw one record from the cell of each row, by the weights of the space."""
    space = cells.packing.space
    counter = RegionCounter(space)
    atoms = np.empty((len(where), len(space.factors)), dtype=np.intp)
    for cell in np.unique(where).tolist():
        mine = np.flatnonzero(where == cell)
        atoms[mine] = counter.sample(cells.region(cell), len(mine), rng)
    rows: Records = {}
    for factor, part in enumerate(space.factors):
        rows |= part.draw(atoms[:, factor], rng)
    return {name: rows[name] for name in domain}


def _single(cells: JointCells, domain: Domain, used: Codes) -> dict[int, list[bool]]:
    """Return on which attributes the possible records of each cell agree."""
    space = cells.packing.space
    counter = RegionCounter(space)
    out = {}
    for cell in used.tolist():
        region: Region = cells.region(cell)
        masks = dict(region.inside)
        for factor in {factor for box in region.outside for factor in box}:
            marginal = counter.marginal(region, factor)
            masks[factor] = sum(1 << atom for atom, measure in enumerate(marginal) if measure)
        out[cell] = known_in_box(space, domain, masks)
    return out
