"""Two models: whole-number tables with given margins, as flows in a bipartite graph.

The nodes are the parts of the two models, an option is an edge, and its number of records a flow. A change of a table
that keeps the margins is a sum of cycles of the residual graph, in which an edge can always take more records and can
give back those that it has. So the tables are found, and the range of an edge's number, with whole numbers only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, maximum_flow

from glassine.compiling import compiled
from glassine.records.arrays import AnyArray, Bools, Indices, Ints


class Graph:
    """Edges from the parts of one model, nodes 0 to a - 1, to those of another, a to a + b - 1."""

    def __init__(self, tails: Indices, heads: Indices, n_tails: int, n_heads: int) -> None:
        self.tails = tails.astype(np.int64)
        self.heads = heads.astype(np.int64) + n_tails
        self.n_nodes = n_tails + n_heads
        self.n_tails = n_tails
        ends = np.concatenate([self.tails, self.heads])
        order = np.argsort(ends, kind="stable")
        self.starts = np.searchsorted(ends[order], np.arange(self.n_nodes + 1)).astype(np.int64)
        self.edges = (order % len(tails)).astype(np.int64) if len(tails) else order.astype(np.int64)


def feasible_table(graph: Graph, supply: Ints, demand: Ints) -> Ints | None:
    """Return a table with the given margins, or None if there is none."""
    n, a = graph.n_nodes, graph.n_tails
    sources, taken = np.flatnonzero(supply), np.flatnonzero(demand)
    capacity = np.concatenate(
        [supply[sources], demand[taken], np.minimum(supply[graph.tails], demand[graph.heads - a])]
    ).astype(np.int32)
    tails = np.concatenate([np.full(len(sources), n), taken + a, graph.tails])
    heads = np.concatenate([sources, np.full(len(taken), n + 1), graph.heads])
    result = maximum_flow(csr_matrix((capacity, (tails, heads)), shape=(n + 2, n + 2)), n, n + 1)
    if result.flow_value != supply.sum() or supply.sum() != demand.sum():
        return None
    flow = np.asarray(result.flow[graph.tails, graph.heads]).ravel() if len(graph.tails) else np.zeros(0)
    return flow.astype(np.int64)


def support(graph: Graph, table: Ints) -> Bools:
    """Return which edges hold records in some table: those that do now, and those on a cycle of the residual graph."""
    back = table > 0
    tails = np.concatenate([graph.tails, graph.heads[back]])
    heads = np.concatenate([graph.heads, graph.tails[back]])
    ones = np.ones(len(tails), dtype=np.int8)
    residual = csr_matrix((ones, (tails, heads)), shape=(graph.n_nodes, graph.n_nodes))
    _, label = connected_components(residual, directed=True, connection="strong")
    return np.asarray(back | (label[graph.tails] == label[graph.heads]))


def bridges(graph: Graph) -> Bools:
    """Return which edges lie on no cycle."""
    # Where every edge can hold records, the number of such an edge is the same in every table.
    return np.asarray(_bridges(graph.starts, graph.edges, graph.tails, graph.heads))


def improve_ranges(graph: Graph, table: Ints, targets: Indices, *, at_most: int | None) -> tuple[Ints, Ints, Bools]:
    """Return the smallest and largest number of records of some edges over all tables, and which are exact."""
    limit = np.iinfo(np.int64).max if at_most is None else at_most
    ends = np.stack([graph.tails, graph.heads])
    nodes = np.zeros((4, graph.n_nodes + 1), dtype=np.int64)
    nodes[FIRST] = graph.starts
    low, high, exact = _ranges(
        graph.edges, ends, table.copy(), nodes, targets.astype(np.int64), limit, at_most is not None
    )
    return low, high, exact


@compiled
def _bridges(starts: AnyArray, edges: AnyArray, tails: AnyArray, heads: AnyArray) -> Any:
    """Depth-first search with low links, without recursion."""
    n = len(starts) - 1
    out = np.zeros(len(tails), dtype=np.bool_)
    result = np.full(n, -1, dtype=np.int64)
    low = np.zeros(n, dtype=np.int64)
    place = starts[:-1].copy()
    entered = np.full(n, -1, dtype=np.int64)
    stack = np.empty(n, dtype=np.int64)
    clock = 0
    for root in range(n):
        if result[root] >= 0:
            continue
        size = 1
        stack[0] = root
        result[root] = low[root] = clock
        clock += 1
        while size > 0:
            node = stack[size - 1]
            if place[node] < starts[node + 1]:
                edge = edges[place[node]]
                place[node] += 1
                if edge == entered[node]:
                    continue
                other = tails[edge] + heads[edge] - node
                if result[other] < 0:
                    result[other] = low[other] = clock
                    clock += 1
                    entered[other] = edge
                    stack[size] = other
                    size += 1
                elif result[other] < low[node]:
                    low[node] = result[other]
                continue
            size -= 1
            if size > 0:
                above = stack[size - 1]
                if low[node] < low[above]:
                    low[above] = low[node]
                if low[node] > result[above]:
                    out[entered[node]] = True
    return out


TAIL, HEAD = 0, 1
"""Rows of an array of the ends of edges, shape (2, e)."""

FIRST, VIA, SEEN, QUEUE = 0, 1, 2, 3
"""Rows of an array of nodes, shape (4, n + 1): where a node's edges begin; in a search by breadth the edge that led to
it, and the last search that saw it; and the nodes in the order in which a search meets them."""


@compiled
def _push(
    places: AnyArray,
    ends: AnyArray,
    table: AnyArray,
    nodes: AnyArray,
    target: int,
    forward: bool,
    most: int,
    stamp: int,
) -> int:
    """Move up to ``most`` records along a shortest residual path between the ends of an edge; return how many."""
    # From a tail every edge but this one leads on; from a head those that hold records.
    start, goal = ends[HEAD, target], ends[TAIL, target]
    if forward:
        start, goal = goal, start
    nodes[QUEUE, 0] = start
    nodes[SEEN, start] = stamp
    first, last = 0, 1
    while first < last and nodes[SEEN, goal] != stamp:
        node = nodes[QUEUE, first]
        first += 1
        for place in range(nodes[FIRST, node], nodes[FIRST, node + 1]):
            edge = places[place]
            if edge == target:
                continue
            out = ends[TAIL, edge] == node
            if not out and table[edge] == 0:
                continue
            other = ends[HEAD, edge] if out else ends[TAIL, edge]
            if nodes[SEEN, other] != stamp:
                nodes[SEEN, other] = stamp
                nodes[VIA, other] = edge
                nodes[QUEUE, last] = other
                last += 1
    if nodes[SEEN, goal] != stamp:
        return 0
    amount, node = most, goal
    while node != start:
        edge = nodes[VIA, node]
        if ends[TAIL, edge] == node:
            amount = min(amount, table[edge])
        node = ends[TAIL, edge] + ends[HEAD, edge] - node
    # A record more on an edge that leads to its head, one less on an edge that leads back.
    node = goal
    while node != start:
        edge = nodes[VIA, node]
        table[edge] += amount if ends[HEAD, edge] == node else -amount
        node = ends[TAIL, edge] + ends[HEAD, edge] - node
    return amount


@compiled
def _ranges(
    places: AnyArray, ends: AnyArray, table: AnyArray, nodes: AnyArray, targets: AnyArray, limit: int, small_only: bool
) -> Any:
    """Push records around each target edge until no residual path is left; what the tables on the way show is kept."""
    low, high = table.copy(), table.copy()
    exact = np.zeros(len(table), dtype=np.bool_)
    stamp = 0
    for target in targets:
        if small_only and (low[target] < 1 or high[target] > limit):
            continue
        settled = True
        while table[target] > 0:
            stamp += 1
            moved = _push(places, ends, table, nodes, target, True, table[target], stamp)
            if moved == 0:
                break
            table[target] -= moved
        low[target] = min(low[target], table[target])
        if small_only and low[target] < 1:
            settled = False
        while settled:
            stamp += 1
            room = max(1, limit + 1 - table[target]) if small_only else 1 << 40
            moved = _push(places, ends, table, nodes, target, False, room, stamp)
            if moved == 0:
                break
            table[target] += moved
            if small_only and table[target] > limit:
                settled = False
        high[target] = max(high[target], table[target])
        exact[target] = settled
        for edge in range(len(table)):
            if table[edge] < low[edge]:
                low[edge] = table[edge]
            elif table[edge] > high[edge]:
                high[edge] = table[edge]
    return low, high, exact
