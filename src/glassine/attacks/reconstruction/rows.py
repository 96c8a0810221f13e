"""Reconstruction of rows from a tree, a rule list or a forest."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.alignment import Records
from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.attacks.reconstruction.entropy import reconstruct
from glassine.attacks.reconstruction.row_boxes import (
    TimeOutError,
    TooManyBoxesError,
    draw_rows,
    known_in_box,
    known_in_region,
    worlds_in_box,
)
from glassine.attacks.reconstruction.row_problem import ContradictionError, Problem, leaf_counts, problem_of
from glassine.attacks.reconstruction.row_result import RowReconstruction, Status
from glassine.attacks.reconstruction.row_solving import MissingSolverError, Refitting, Solution, refitting_of, solve
from glassine.attacks.worlds import Worlds
from glassine.counting import MAX_STEPS
from glassine.domain import Domain
from glassine.errors import (
    CountingLimitError,
    InvalidDomainError,
    InvalidParameterError,
    UndefinedMeasureError,
    parameter,
)
from glassine.models import DecisionTree, RuleList
from glassine.models.forest import Forest

__all__ = ["forest_is_met", "model_is_met", "reconstruct_rows"]

# Whether rows meet the counts that a model publishes, found by sending the rows through it.


Codes = npt.NDArray[np.intp]


def _tables(model: DecisionTree | RuleList, rows: Records, classes: Codes, width: int) -> npt.NDArray[np.intp]:
    """Return the number of rows of each cell and class."""
    out = np.zeros((len(model.cells), width), dtype=np.intp)
    np.add.at(out, (model.apply(rows), classes), 1)
    return out


def model_is_met(model: DecisionTree | RuleList, rows: Records, classes: Codes | None) -> bool:
    """Return whether rows have the published size, and class counts where classes are given, of every cell."""
    n = len(next(iter(rows.values())))
    width = 1 if classes is None or model.classes is None else len(model.classes)
    table = _tables(model, rows, np.zeros(n, dtype=np.intp) if classes is None else classes, width)
    published: list[Any] = [[cell.evidence.size] if classes is None else cell.evidence.counts for cell in model.cells]
    return all(entry is not None and list(entry) == row for entry, row in zip(published, table.tolist(), strict=True))


def forest_is_met(forest: Forest, rows: Records, classes: Codes | None) -> bool:
    """Return whether rows meet every count of a forest.

    Without bootstrap the counts must be equal. With it, the draws must be those of the rows where it is known how often
    each was drawn; elsewhere there must be as many rows of a class as the draws hold different ones at least.
    """
    if not forest.bootstrap:
        return all(model_is_met(tree, rows, classes) for tree in forest.trees)
    n = len(next(iter(rows.values())))
    codes = np.zeros(n, dtype=np.intp) if classes is None else classes
    for i, (tree, drawn) in enumerate(zip(forest.trees, forest.drawn or (), strict=True)):
        table = np.array(drawn, dtype=np.intp)
        sizes = np.array([cell.evidence.size for cell in tree.cells], dtype=np.intp)
        if forest.multiplicities is None:
            held = _tables(tree, rows, codes, table.shape[1])
            if (held < (table > 0)).any() or (np.minimum(held, table).sum(axis=1) < sizes).any():
                return False
            continue
        times = np.array(forest.multiplicities[i], dtype=np.intp)
        bag = np.flatnonzero(times)
        cells = tree.apply({name: column[bag] for name, column in rows.items()})
        held = np.zeros_like(table)
        np.add.at(held, (cells, codes[bag]), times[bag])
        if not np.array_equal(held, table) or not np.array_equal(np.bincount(cells, minlength=len(sizes)), sizes):
            return False
    return True


MAX_BOXES = 200_000
"""Parts of the domain that the trees of a forest may tell apart; each is a variable of the solver."""

NOISY = (
    "the model's counts carry noise or were rounded: they are evidence about the records, not constraints on them. "
    "Look at what its guarantee implies instead"
)


def reconstruct_rows(
    model: Any,
    domain: Domain,
    *,
    time_limit: float = 60.0,
    random_state: int | np.random.Generator | None = None,
    workers: int | None = None,
    use_seeds: bool = True,
    max_boxes: int = MAX_BOXES,
    progress: Callable[[str], None] | None = None,
) -> Outcome[RowReconstruction]:
    """Return rows that meet every count which a model publishes: rebuilt training records.

    Of one tree or rule list, a data set is drawn from those that are possible. The trees of a forest constrain each
    other, often so much that one data set is left; it is found by constraint programming (OR-Tools, extra ``solver``).

    Parameters
    ----------
    model : DecisionTree, RuleList, Forest or fitted estimator
        The published model: a scikit-learn forest, or anything that :func:`glassine.as_model` reads.
    domain : Domain
        What is publicly known about the attributes; its groups count.
    time_limit : float, default=60.0
        Seconds for the search and the proofs together.
    random_state : int, Generator or None
        Source of randomness. With several workers the solver may still return another of several data sets.
    workers : int, optional
        Threads of the solver; as many as there are processors by default.
    use_seeds : bool, default=True
        Whether the reader has the fitted forest itself, with the seeds of its bootstrap, which tell how often each tree
        drew each record. Without them the reader knows the trees and their counts.
    max_boxes : int, default=200,000
        Largest number of parts of the domain that the trees together may tell apart.
    progress : callable, optional
        Called with a short text at the beginning of each stage.

    Returns
    -------
    Measured of RowReconstruction, NotApplicable or Failed
        NotApplicable where no exact counts are published. Failed where the search did not end in time, the counts
        contradict each other or the domain, a limit is reached, or OR-Tools is not installed; no rows are shown then.

    Raises
    ------
    InvalidModelError
        If the model tests an attribute or a value that the domain lacks.
    UnsupportedModelError
        If it is no model.
    InvalidDomainError
        If the domain is not a :class:`Domain`.
    InvalidParameterError
        If a limit is not positive, or the time not finite.

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
    >>> rebuilt = reconstruct_rows(forest, Domain.binary(["a", "b"])).value
    >>> rebuilt.status, rebuilt.n_whole
    ('unique', 3)
    """
    if not isinstance(domain, Domain):
        raise InvalidDomainError(
            f"{parameter('domain')} must be a Domain, got {type(domain).__name__}.",
            remedy="Read one with Domain.from_json.",
        )
    _check_limits(time_limit, workers, max_boxes)
    deadline = time.monotonic() + time_limit
    rng = np.random.default_rng(random_state)
    progress = progress or (lambda stage: None)
    progress("reading the model")
    read = _read(model, domain, use_seeds)
    if isinstance(read, Forest) and (len(read.trees) > 1 or read.bootstrap):
        reason = _not_applicable(read)
        if reason is not None:
            return NotApplicable(reason)
        again = refitting_of(model, read, domain) if use_seeds else None
        attack = _ForestAttack(read, domain, again, rng, workers or os.cpu_count() or 1, max_boxes, progress)
        return attack.run(deadline, time_limit)
    return _from_one(read.trees[0] if isinstance(read, Forest) else read, domain, rng)


def _check_limits(time_limit: Any, workers: Any, max_boxes: Any) -> None:
    number = isinstance(time_limit, int | float | np.integer | np.floating) and not isinstance(time_limit, bool)
    if not number or not 0 < float(time_limit) < math.inf:
        raise InvalidParameterError(
            f"{parameter('time_limit')} must be a finite positive number of seconds, got {time_limit!r}.",
            remedy="Use 60.",
        )
    for name, value in (("workers", workers), ("max_boxes", max_boxes)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is not None and not (whole and value > 0):
            raise InvalidParameterError(f"{parameter(name)} must be a positive whole number, got {value!r}.")


def _read(model: Any, domain: Domain, use_seeds: bool) -> DecisionTree | RuleList | Forest:
    from glassine.formats import as_model, tree_or_rules
    from glassine.formats.conditions import check_domain
    from glassine.formats.sklearn.forest import forest_from_sklearn, is_sklearn_forest

    forest: Forest | None = None
    if isinstance(model, Forest):
        forest = model
    elif is_sklearn_forest(model):
        forest = forest_from_sklearn(model, domain, use_seeds=use_seeds)
    if forest is None:
        return tree_or_rules(as_model(model, domain))
    for tree in forest.trees:
        check_domain(tree, domain)
    return forest


def _not_applicable(forest: Forest) -> str | None:
    """Return why a forest publishes too little."""
    if not forest.counts_are_exact:
        return NOISY
    if leaf_counts(forest) is None:
        return "the forest does not publish how many records each of its leaves captured."
    if forest.bootstrap and forest.drawn is None:
        return (
            "the forest was learnt from weighted draws, and the weights hide how often its leaves' records were drawn."
        )
    if forest.bootstrap and forest.n_records is None:
        return "the forest drew fewer records than there are, and does not tell how many there are. Give n_records."
    return None if forest.n_records != 0 else "the forest's counts are all zero: it tells of no record."


def _from_one(model: DecisionTree | RuleList, domain: Domain, rng: np.random.Generator) -> Outcome[RowReconstruction]:
    """Draw one of the data sets that a tree or rule list leaves possible."""
    if not model.counts_are_exact:
        return NotApplicable(NOISY)
    cells = model.cells
    sizes = [cell.evidence.size or 0 for cell in cells]
    if any(cell.evidence.size is None for cell in cells):
        return NotApplicable("the model does not publish how many records each part captured.")
    if not sum(sizes):
        return NotApplicable("the model's counts are all zero: it tells of no record.")
    try:
        rows = reconstruct(model, domain).sample(random_state=rng)
        worlds = Worlds(model, domain, True, MAX_STEPS)
        counts = [int(m) if domain.size() is not None else None for m in worlds.measures]
        known = np.array(
            [
                known_in_region(worlds, region) if n else [False] * len(domain)
                for region, n in zip(worlds.regions, sizes, strict=True)
            ],
            dtype=bool,
        )
    except (UndefinedMeasureError, CountingLimitError) as error:
        return Failed(error.text)
    codes: npt.NDArray[np.intp] | None = None
    if model.classes is not None and all(cell.evidence.counts is not None for cell in cells):
        codes = np.concatenate(
            [rng.permutation(np.repeat(np.arange(len(model.classes)), cell.evidence.counts or ())) for cell in cells]
        )
    return _result(
        domain,
        rows,
        _labels(model.classes, codes),
        "drawn",
        met=model_is_met(model, rows, codes),
        worlds=[count for count, n in zip(counts, sizes, strict=True) for _ in range(n)],
        certain=np.ones(sum(sizes), dtype=bool),
        known=np.repeat(known, sizes, axis=0),
    )


class _ForestAttack:
    """One run against a forest."""

    def __init__(
        self,
        forest: Forest,
        domain: Domain,
        again: Refitting | None,
        rng: np.random.Generator,
        workers: int,
        max_boxes: int,
        progress: Callable[[str], None],
    ) -> None:
        self.forest, self.domain, self.again, self.rng = forest, domain, again, rng
        self.workers, self.max_boxes, self.progress = workers, max_boxes, progress

    def run(self, deadline: float, time_limit: float) -> Outcome[RowReconstruction]:
        """Build the problem, solve it, draw the rows and check them."""
        try:
            self.progress("cutting the domain into boxes")
            problem = problem_of(self.forest, self.domain, max_boxes=self.max_boxes, deadline=deadline)
            seed = int(self.rng.integers(2**31))
            solution = solve(
                problem,
                workers=self.workers,
                seed=seed,
                deadline=deadline,
                proofs_until=deadline - (time_limit / 3 if self.again is not None else 0),
                progress=self.progress,
            )
        except TimeOutError:
            return Failed(f"not solved within {time_limit:g} s. Raise {parameter('time_limit')}, or take fewer trees.")
        except TooManyBoxesError:
            return Failed(
                f"the trees together tell more than {self.max_boxes:,} parts of the domain apart. "
                f"Declare the domain's groups, take fewer trees, or raise {parameter('max_boxes')}."
            )
        except ContradictionError as error:
            return Failed(f"the counts contradict one another, or the domain: {error}")
        except MissingSolverError:
            return Failed(
                "rebuilding rows from a forest needs the package ortools. "
                "Install it with pip install 'glassine[solver]'."
            )
        return self._outcome(problem, solution, deadline)

    def _outcome(self, problem: Problem, solution: Solution, deadline: float) -> Outcome[RowReconstruction]:
        """Draw the rows of a solution, train the forest again on them, and check them."""
        chosen = np.repeat(np.arange(len(solution.numbers)), solution.numbers)
        if problem.ordered:
            chosen = chosen[np.argsort(problem.records[chosen], kind="stable")]
        packing, space = problem.packing, problem.packing.space
        boxes = [{f: packing.mask(problem.rows[option], f) for f in range(len(space.factors))} for option in chosen]
        rows = draw_rows(space, self.domain, boxes, self.rng)
        # A record that no tree drew has no class: none of its trees can contradict it.
        codes = problem.classes[chosen] if self._tells_classes() else None
        reproduced: bool | None = None
        if self.again is not None and codes is not None:
            self.progress("training the forest again on the rows")
            rows, reproduced = self.again.improve(rows, codes, deadline)
        certain = None if solution.certain is None else _first(chosen, solution.certain)
        unique = certain is not None and bool(certain.all())
        return _result(
            self.domain,
            rows,
            _labels(self.forest.classes, codes),
            "unique" if unique else "most likely" if solution.most_likely else "possible",
            met=forest_is_met(self.forest, rows, None if codes is None else np.maximum(codes, 0)),
            worlds=[worlds_in_box(space, self.domain, box) for box in boxes],
            certain=certain,
            known=np.array([known_in_box(space, self.domain, box) for box in boxes], dtype=bool),
            ordered=problem.ordered,
            reproduced=reproduced,
        )

    def _tells_classes(self) -> bool:
        """Return whether counts are told by class."""
        if self.forest.classes is None or self.forest.bootstrap:
            return self.forest.classes is not None
        counts = leaf_counts(self.forest)
        return counts is not None and all(c.evidence.counts is not None for t in self.forest.trees for c in t.cells)


def _first(chosen: npt.NDArray[np.intp], certain: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Mark, of the rows of each option, as many as are certain; rows of one option cannot be told apart."""
    left = certain.copy()
    out = np.zeros(len(chosen), dtype=bool)
    for row, option in enumerate(chosen):
        out[row] = left[option] > 0
        left[option] -= 1
    return out


def _labels(classes: Any, codes: npt.NDArray[np.intp] | None) -> npt.NDArray[Any] | None:
    if classes is None or codes is None:
        return None
    out = np.empty(len(codes), dtype=object)
    out[:] = [classes[code] if code >= 0 else None for code in codes]
    return out


def _result(
    domain: Domain,
    rows: Records,
    labels: npt.NDArray[Any] | None,
    status: Status,
    *,
    met: bool,
    worlds: list[int | None],
    certain: npt.NDArray[np.bool_] | None,
    known: npt.NDArray[np.bool_],
    ordered: bool = False,
    reproduced: bool | None = None,
) -> Outcome[RowReconstruction]:
    """Return the rows if the model itself, applied to them, has the published counts."""
    if not met:
        return Failed("the rows that were found do not meet the model's counts, so they are not shown.")
    return Measured(
        RowReconstruction(
            domain=domain,
            rows=rows,
            labels=labels,
            status=status,
            ordered=ordered,
            worlds=tuple(worlds),
            certain=certain,
            known=known,
            reproduced=reproduced,
        )
    )
