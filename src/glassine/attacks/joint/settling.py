"""What the counts settle before any bound: parts with one option, impossible options, bridges, blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from glassine.attacks.joint.dual import Block
from glassine.attacks.joint.flows import Graph, bridges, feasible_table, support
from glassine.attacks.joint.programs import real_support
from glassine.attacks.joint.published import ClashError, Whole
from glassine.attacks.joint.system import System, peel

__all__ = ["Settled", "blocks", "graph_of", "settle"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settled:
    """A system without what is known of it.

    Attributes
    ----------
    system : System
        Its free options are positive in some table of real numbers, and not the same in all.
    table : ndarray of int64, or None
        A table with all counts; None for three models and more, where finding one is a search.
    """

    system: System
    table: Whole | None


def settle(system: System, names: Sequence[str]) -> Settled:
    """Return a system with everything fixed that is the same in all its tables.

    For three models and more, some numbers that are the same in all tables may stay free.

    Raises
    ------
    ClashError
        If there is no table; for three models and more, this may go unnoticed.
    """
    system = peel(system, names)
    if len(system.counts) == 1 or not len(system.free):
        return Settled(system=system, table=system.fixed)
    if len(system.counts) == 2:
        return _settle_two(system, names)
    for first, second in combinations(range(len(system.counts)), 2):
        system = _agree(system, first, second, names)
    system = peel(system, names)
    free = system.free
    if len(free):
        possible = real_support(system.parts[free], tuple(system.left(i) for i in range(len(system.counts))))
        system = peel(_impossible(system, free[~possible]), names)
    return Settled(system=system, table=None if len(system.free) else system.fixed)


def graph_of(system: System) -> Graph:
    """Return the free options of two models as a graph."""
    free = system.free
    return Graph(system.parts[free, 0], system.parts[free, 1], len(system.counts[0]), len(system.counts[1]))


def _settle_two(system: System, names: Sequence[str]) -> Settled:
    free, graph = system.free, graph_of(system)
    flow = feasible_table(graph, system.left(0), system.left(1))
    if flow is None:
        raise _clash(names[0], names[1])
    table = system.fixed.copy()
    table[free] = flow
    system = peel(_impossible(system, free[~support(graph, flow)]), names)
    free = system.free
    same = free[bridges(graph_of(system))]
    fixed = system.fixed.copy()
    fixed[same] = table[same]
    return Settled(system=peel(replace(system, fixed=fixed), names), table=table)


def _agree(system: System, first: int, second: int, names: Sequence[str]) -> System:
    """Rule out options by two of the models, whose common parts are the edges of a graph."""
    free = system.free
    if not len(free):
        return system
    pairs, edge = np.unique(system.parts[free][:, [first, second]], axis=0, return_inverse=True)
    graph = Graph(pairs[:, 0], pairs[:, 1], len(system.counts[first]), len(system.counts[second]))
    flow = feasible_table(graph, system.left(first), system.left(second))
    if flow is None:
        raise _clash(names[first], names[second])
    return _impossible(system, free[~support(graph, flow)[edge.ravel()]])


def _impossible(system: System, options: npt.NDArray[np.intp]) -> System:
    fixed = system.fixed.copy()
    fixed[options] = 0
    return replace(system, fixed=fixed)


def _clash(first: str, second: str) -> ClashError:
    return ClashError(f"no numbers of records of their common parts meet the counts of both {first} and {second}.")


def blocks(system: System, log_sizes: Floats) -> Iterator[Block]:
    """Yield the free options in sets that share no part with each other."""
    free, m = system.free, len(system.counts)
    if not len(free):
        return
    starts = np.cumsum([len(free), *(len(count) for count in system.counts)])
    rows = np.tile(np.arange(len(free)), m)
    columns = np.concatenate([system.parts[free, i] + starts[i] for i in range(m)])
    size = int(starts[-1])
    _, label = connected_components(csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(size, size)), False)
    left = [system.left(i) for i in range(m)]
    order = np.argsort(label[: len(free)], kind="stable")
    ends = np.flatnonzero(np.diff(label[: len(free)][order])) + 1
    for members in np.split(order, ends):
        options = free[members]
        parts = np.empty((len(options), m), dtype=np.intp)
        counts = []
        for i in range(m):
            held, place = np.unique(system.parts[options, i], return_inverse=True)
            parts[:, i] = place.ravel()
            counts.append(left[i][held])
        yield Block(options=options, parts=parts, counts=tuple(counts), log_sizes=log_sizes[options])
