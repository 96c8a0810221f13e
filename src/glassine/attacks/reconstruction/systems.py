"""The shell of every reconstruction that solves a system of counts: search, what its ends mean, and what is shown.

A forest and several models differ in how counts become a system and in what a solution stands for. Limits, failures,
the proof of what is certain and the last check are the same, and are here.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from glassine.attacks.outcome import Failed, Measured, Outcome
from glassine.attacks.reconstruction.joint_published import ClashError
from glassine.attacks.reconstruction.row_boxes import TimeOutError, TooManyBoxesError
from glassine.attacks.reconstruction.row_problem import InconsistentCountsError, Problem
from glassine.attacks.reconstruction.row_result import RowReconstruction
from glassine.attacks.reconstruction.row_solving import MissingSolverError, solve
from glassine.attacks.record_matching import Records
from glassine.counting import MAX_STEPS
from glassine.domain import Domain
from glassine.domain.attributes import Scalar, is_whole
from glassine.errors import CostLimitError, InvalidParameterError, parameter
from glassine.records.arrays import AnyArray, Bools, Indices

MAX_PARTS = 200_000
"""Parts of the domain that models together may distinguish. Each is a variable of the solver and takes memory."""


def _silently(stage: str) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Limits of a search, and its callback for progress.

    Attributes
    ----------
    time_limit : float, default=60.0
        Seconds for the search and the proofs together.
    workers : int or None
        Threads of the solver; as many as there are processors by default.
    max_parts : int, default=200,000
        Largest number of parts of the domain that the models together may distinguish.
    max_steps : int, default=300,000
        Steps that the exact counts of the parts of rule lists may take.
    progress : callable
        Called with a short text at the beginning of each stage.

    Raises
    ------
    InvalidParameterError
        If the time is not positive and finite, or a limit is not a positive whole number.
    """

    time_limit: float = 60.0
    workers: int | None = None
    max_parts: int = MAX_PARTS
    max_steps: int = MAX_STEPS
    progress: Callable[[str], None] = _silently

    def __post_init__(self) -> None:
        seconds: object = self.time_limit
        number = isinstance(seconds, int | float | np.integer | np.floating) and not isinstance(seconds, bool)
        if not number or not 0 < float(self.time_limit) < math.inf:
            raise InvalidParameterError(
                f"time_limit must be a finite positive number of seconds, got {seconds!r}. Use 60."
            )
        for name in ("workers", "max_parts", "max_steps"):
            value = getattr(self, name)
            if (value is not None or name != "workers") and not (is_whole(value) and value > 0):
                raise InvalidParameterError(f"{name} must be a positive whole number, got {value!r}.")


Codes = Indices


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRows:
    """Rows, the number of possible records of each, None over a continuum, and which of its values have no other."""

    rows: Records
    worlds: list[int | None]
    single: Bools


@dataclass(kw_only=True)
class CountSystem(ABC):
    """Counts that constrain each other: the system that they make, and what its solutions stand for."""

    domain: Domain
    fewer: ClassVar[str]
    """What to take fewer of where the search does not end."""

    @property
    @abstractmethod
    def classes(self) -> Sequence[Scalar] | None:
        """The classes that a solution's codes stand for; None without published labels."""

    @property
    def proves(self) -> bool:
        """Whether what the solver proves of its options is true of all records."""
        return True

    @abstractmethod
    def problem(self, search: Search, deadline: float) -> Problem:
        """Return the system."""

    @abstractmethod
    def draw(self, problem: Problem, chosen: Codes, rng: np.random.Generator) -> SampledRows:
        """Draw a record for each chosen option."""

    @abstractmethod
    def is_met(self, rows: Records, codes: Codes | None) -> bool:
        """Return whether rows, sent through what was published, have its counts."""

    def reserved(self, time_limit: float) -> float:
        """Return the seconds that are kept for what follows the proofs."""
        return 0.0

    def improve(
        self, rows: Records, codes: Codes | None, search: Search, deadline: float
    ) -> tuple[Records, bool | None]:
        """Return the rows, mended by what else is published, and whether that came out."""
        return rows, None

    def contradiction(self, error: Exception) -> str:
        """Return what it means that no solution exists."""
        return f"the counts contradict one another, or the domain: {error}"


def solved(
    system: CountSystem, *, search: Search, deadline: float, rng: np.random.Generator
) -> Outcome[RowReconstruction]:
    """Build the system, solve it, draw the rows and check them."""
    try:
        problem = system.problem(search, deadline)
        solution = solve(
            problem,
            workers=search.workers or os.cpu_count() or 1,
            seed=int(rng.integers(2**31)),
            deadline=deadline,
            proofs_until=deadline - system.reserved(search.time_limit),
            progress=search.progress,
        )
    except TimeOutError:
        return Failed(
            f"not solved within {search.time_limit:g} s. Raise {parameter('time_limit')}, or take fewer {system.fewer}."
        )
    except TooManyBoxesError:
        return Failed(
            f"the {system.fewer} together divide the domain into more than {search.max_parts:,} regions. "
            f"Declare the domain's groups, take fewer {system.fewer}, or raise {parameter('max_parts')}."
        )
    except (ClashError, InconsistentCountsError) as error:
        return Failed(system.contradiction(error))
    except CostLimitError as error:
        return Failed(str(error))
    except MissingSolverError:
        return Failed(
            f"reconstructing records from several {system.fewer} needs the package ortools. "
            "Install it with pip install 'glassine[solver]'."
        )
    chosen = np.repeat(np.arange(len(solution.numbers)), solution.numbers)
    if problem.ordered:
        chosen = chosen[np.argsort(problem.records[chosen], kind="stable")]
    drawn = system.draw(problem, chosen, rng)
    # A record that no tree drew has no class: none of its trees can contradict it.
    codes = None if system.classes is None else problem.classes[chosen]
    rows, reproduced = system.improve(drawn.rows, codes, search, deadline)
    certain = _first(chosen, solution.certain) if system.proves and solution.certain is not None else None
    unique = certain is not None and bool(certain.all())
    return checked_rows(
        replace(drawn, rows=rows),
        met=system.is_met(rows, None if codes is None else np.maximum(codes, 0)),
        domain=system.domain,
        labels=labels_of(system.classes, codes),
        status="unique" if unique else "most likely" if solution.most_likely else "possible",
        certain=certain,
        ordered=problem.ordered,
        reproduced=reproduced,
    )


def _first(chosen: Codes, certain: Codes) -> Bools:
    """Mark as many rows of each option as are certain; its rows are indistinguishable."""
    order = np.argsort(chosen, kind="stable")
    options = chosen[order]
    out = np.zeros(len(chosen), dtype=bool)
    # The rank of a row among those of its option is its place less that of the first of them.
    ranks = np.arange(len(chosen)) - np.searchsorted(options, options)
    out[order] = ranks < np.asarray(certain)[options]
    return out


def labels_of(classes: Sequence[Scalar] | None, codes: Codes | None) -> AnyArray | None:
    """Return the classes of codes, shape (n,); None where a row has none, or labels are not published."""
    if classes is None or codes is None:
        return None
    out = np.empty(len(codes), dtype=object)
    out[:] = [classes[code] if code >= 0 else None for code in codes]
    return out


def checked_rows(drawn: SampledRows, *, met: bool, **result: Any) -> Outcome[RowReconstruction]:
    """Return the rows if what was published, applied to them, has its counts."""
    if not met:
        return Failed("the rows that were drawn do not meet the published counts, so they are not shown.")
    worlds = tuple(drawn.worlds)
    return Measured(RowReconstruction(rows=drawn.rows, worlds=worlds, determined=drawn.single, **result))
