"""Rows that meet the counts of several models: rebuilt training records."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.alignment import Records
from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.attacks.reconstruction.joint_cells import Cells, System, intersect, system_of
from glassine.attacks.reconstruction.joint_intervals import log_of
from glassine.attacks.reconstruction.joint_programs import settle
from glassine.attacks.reconstruction.joint_published import (
    ClashError,
    Published,
    Whole,
    check_arguments,
    columns_for,
    read_models,
    tell_classes,
)
from glassine.attacks.reconstruction.row_boxes import TimeOutError, known_in_box
from glassine.attacks.reconstruction.row_problem import ContradictionError, Problem, Total
from glassine.attacks.reconstruction.row_result import RowReconstruction
from glassine.attacks.reconstruction.row_solving import MissingSolverError, Solution, solve
from glassine.attacks.reconstruction.rows import model_is_met
from glassine.counting import MAX_STEPS, Region, RegionCounter
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import CountingLimitError, UndefinedMeasureError, parameter

__all__ = ["reconstruct_rows_jointly"]

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Models:
    """The models, what they tell apart, and the classes that they tell."""

    told: list[Published]
    cells: Cells
    classes: tuple[Scalar, ...] | None
    domain: Domain


def reconstruct_rows_jointly(
    models: Sequence[Any],
    domain: Domain,
    *,
    data: Any = None,
    counts: str = "published",
    same_labels: bool = True,
    time_limit: float = 60.0,
    random_state: int | np.random.Generator | None = None,
    workers: int | None = None,
    max_cells: int = 200_000,
    progress: Callable[[str], None] | None = None,
) -> Outcome[RowReconstruction]:
    """Return rows that meet every exact count of several models, trees and rule lists alike.

    The search is that of :func:`glassine.attacks.reconstruct_rows`, over the cells of all models.

    Parameters
    ----------
    models : sequence of models
        As for :func:`reconstruct_jointly`.
    domain : Domain
        What is publicly known about the attributes; its groups count.
    data : data frame, optional
        The training records; only used to count what ``counts`` asks for.
    counts : {"published", "data"}
        As for :func:`reconstruct_jointly`.
    same_labels : bool, default=True
        Whether the class counts of all models are of the same labels; otherwise sizes count alone.
    time_limit : float, default=60.0
        Seconds for the search and the proofs together.
    random_state : int, Generator or None
        Source of randomness.
    workers : int, optional
        Threads of the solver; as many as there are processors by default.
    max_cells : int, default=200,000
        Largest number of parts of the domain that the models together may tell apart.
    progress : callable, optional
        Called with a short text at the beginning of each stage.

    Returns
    -------
    Measured of RowReconstruction, NotApplicable or Failed
        As of :func:`glassine.attacks.reconstruct_rows`.

    Raises
    ------
    InvalidModelError, UnsupportedModelError, InvalidDomainError, InvalidParameterError
        As of :func:`reconstruct_jointly`.
    """
    check_arguments(domain, time_limit, {"max_cells": max_cells} | ({} if workers is None else {"workers": workers}))
    deadline = time.monotonic() + time_limit
    rng = np.random.default_rng(random_state)
    progress = progress or (lambda stage: None)
    try:
        read = read_models(models, domain, None, columns_for(counts, data))
    except UndefinedMeasureError as error:
        return NotApplicable(error.text)
    if read.silence is not None:
        return NotApplicable(read.silence)
    told = read.exact
    cells: Cells | None = None
    try:
        told, classes = tell_classes(told, same_labels)
        cells = intersect(told, domain, domain_aware=True, max_cells=max_cells, max_steps=MAX_STEPS)
        settled = settle(system_of(told, cells, None if classes is None else len(classes)), [t.name for t in told])
        problem = _problem(cells, settled.system, told[0].n_records)
        solution = solve(
            problem,
            workers=workers or os.cpu_count() or 1,
            seed=int(rng.integers(2**31)),
            deadline=deadline,
            proofs_until=deadline,
            progress=progress,
        )
    except (ClashError, ContradictionError) as error:
        if cells is not None and cells.closed is not None:
            return Failed(f"rows on single points of a continuum are not rebuilt, and counts may need them: {error}")
        return Failed(f"the counts contradict one another, or the domain: {error}")
    except TimeOutError:
        return Failed(f"not solved within {time_limit:g} s. Raise {parameter('time_limit')}, or take fewer models.")
    except CountingLimitError as error:
        return Failed(error.text)
    except MissingSolverError:
        return Failed(
            "rebuilding rows from several models needs the package ortools. "
            "Install it with pip install 'glassine[solver]'."
        )
    return _outcome(_Models(told=told, cells=cells, classes=classes, domain=domain), settled.system, solution, rng)


def _problem(cells: Cells, system: System, n_records: int) -> Problem:
    """Return the system for the solver: what is settled is a range of one number."""
    upper = np.min([count[system.parts[:, i]] for i, count in enumerate(system.counts)], axis=0)
    upper = np.where(system.fixed >= 0, system.fixed, upper)
    totals = []
    for option in np.flatnonzero(system.fixed > 0).tolist():
        held = int(system.fixed[option])
        totals.append(Total(options=np.array([option]), low=held, high=held))
    for i in range(len(system.counts)):
        left = system.left(i)
        free = system.free
        own = system.parts[free, i]
        order = np.argsort(own, kind="stable")
        edges = np.searchsorted(own[order], np.arange(len(left) + 1))
        for part in np.flatnonzero(left).tolist():
            members = free[order[edges[part] : edges[part + 1]]]
            totals.append(Total(options=members, low=int(left[part]), high=int(left[part])))
    bits = np.array([log_of(measure) for measure in cells.measures]) / np.log(2)
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


def _outcome(
    models: _Models, system: System, solution: Solution, rng: np.random.Generator
) -> Outcome[RowReconstruction]:
    """Draw the rows of a solution and send them through the models."""
    chosen = np.repeat(np.arange(len(solution.numbers)), solution.numbers)
    where = system.cells[chosen]
    rows = _draw(models, where, rng)
    codes = None if models.classes is None else system.classes[chosen]
    if not all(_is_met(t, models.classes, rows, codes) for t in models.told):
        return Failed("the rows that were found do not meet the models' counts, so they are not shown.")
    # Single points of a continuum can hold records, too, and the solver knows of none of them.
    proved = models.cells.closed is None
    certain = _first(chosen, solution.certain) if proved and solution.certain is not None else None
    unique = certain is not None and bool(certain.all())
    labels: npt.NDArray[Any] | None = None
    if codes is not None and models.classes is not None:
        labels = np.empty(len(codes), dtype=object)
        labels[:] = [models.classes[code] for code in codes.tolist()]
    known = _known(models, np.unique(where))
    finite = models.domain.size() is not None
    return Measured(
        RowReconstruction(
            domain=models.domain,
            rows=rows,
            labels=labels,
            status="unique" if unique else "most likely" if solution.most_likely else "possible",
            ordered=False,
            worlds=tuple(int(models.cells.measures[cell]) if finite else None for cell in where.tolist()),
            certain=certain,
            known=np.array([known[cell] for cell in where.tolist()], dtype=bool),
        )
    )


def _draw(models: _Models, where: Codes, rng: np.random.Generator) -> Records:
    """Draw one record uniformly from the cell of each row."""
    space = models.cells.packing.space
    counter = RegionCounter(space)
    atoms = np.empty((len(where), len(space.factors)), dtype=np.intp)
    for cell in np.unique(where).tolist():
        mine = np.flatnonzero(where == cell)
        atoms[mine] = counter.sample(models.cells.region(cell), len(mine), rng)
    rows: Records = {}
    for factor, part in enumerate(space.factors):
        rows |= part.draw(atoms[:, factor], rng)
    return {name: rows[name] for name in models.domain}


def _known(models: _Models, used: Codes) -> dict[int, list[bool]]:
    """Return for each cell which attributes have the same value in all its possible records."""
    space = models.cells.packing.space
    counter = RegionCounter(space)
    out = {}
    for cell in used.tolist():
        region: Region = models.cells.region(cell)
        masks = dict(region.inside)
        for factor in {factor for box in region.outside for factor in box}:
            marginal = counter.marginal(region, factor)
            masks[factor] = sum(1 << atom for atom, measure in enumerate(marginal) if measure)
        out[cell] = known_in_box(space, models.domain, masks)
    return out


def _is_met(told: Published, classes: tuple[Scalar, ...] | None, rows: Records, codes: Codes | None) -> bool:
    """Return whether the rows, sent through a model, have its counts."""
    if told.classes is None or codes is None or classes is None:
        return model_is_met(told.model, rows, None)
    own = list(told.model.classes or ())
    return model_is_met(told.model, rows, np.array([own.index(label) for label in classes], dtype=np.intp)[codes])


def _first(chosen: Codes, certain: Whole | Codes) -> npt.NDArray[np.bool_]:
    """Mark, of the rows of each option, as many as are certain; ``chosen`` is sorted."""
    starts = np.searchsorted(chosen, np.arange(len(certain)))
    return np.asarray(np.arange(len(chosen)) - starts[chosen] < np.asarray(certain)[chosen])
