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
from glassine.data.arrays import AnyArray, Bools, Indices, Ints


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
    given, taken = np.flatnonzero(supply), np.flatnonzero(demand)
    capacity = np.concatenate(
        [supply[given], demand[taken], np.minimum(supply[graph.tails], demand[graph.heads - a])]
    ).astype(np.int32)
    tails = np.concatenate([np.full(len(given), n), taken + a, graph.tails])
    heads = np.concatenate([given, np.full(len(taken), n + 1), graph.heads])
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
    low, high, exact = _ranges(
        graph.starts,
        graph.edges,
        graph.tails,
        graph.heads,
        table.copy(),
        targets.astype(np.int64),
        limit,
        at_most is not None,
    )
    return low, high, exact


def _bridges_kernel(starts: AnyArray, edges: AnyArray, tails: AnyArray, heads: AnyArray) -> Any:
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


_bridges = compiled(_bridges_kernel)


def _push_kernel(
    starts: AnyArray,
    edges: AnyArray,
    tails: AnyArray,
    heads: AnyArray,
    table: AnyArray,
    start: int,
    goal: int,
    skip: int,
    most: int,
    via: AnyArray,
    seen: AnyArray,
    queue: AnyArray,
    stamp: int,
) -> int:
    """Move up to ``most`` records along a shortest residual path that avoids one edge; return how many."""
    # From a tail every edge leads on; from a head those that hold records.
    queue[0] = start
    seen[start] = stamp
    first, last = 0, 1
    while first < last and seen[goal] != stamp:
        node = queue[first]
        first += 1
        for place in range(starts[node], starts[node + 1]):
            edge = edges[place]
            if edge == skip:
                continue
            forward = tails[edge] == node
            if not forward and table[edge] == 0:
                continue
            other = heads[edge] if forward else tails[edge]
            if seen[other] != stamp:
                seen[other] = stamp
                via[other] = edge
                queue[last] = other
                last += 1
    if seen[goal] != stamp:
        return 0
    amount = most
    node = goal
    while node != start:
        edge = via[node]
        if heads[edge] == node:
            node = tails[edge]
        else:
            amount = min(amount, table[edge])
            node = heads[edge]
    node = goal
    while node != start:
        edge = via[node]
        if heads[edge] == node:
            table[edge] += amount
            node = tails[edge]
        else:
            table[edge] -= amount
            node = heads[edge]
    return amount


_push = compiled(_push_kernel)


def _ranges_kernel(
    starts: AnyArray,
    edges: AnyArray,
    tails: AnyArray,
    heads: AnyArray,
    table: AnyArray,
    targets: AnyArray,
    limit: int,
    small_only: bool,
) -> Any:
    """Push records around each target edge until no residual path is left; what the tables on the way show is kept."""
    n = len(starts) - 1
    low, high = table.copy(), table.copy()
    exact = np.zeros(len(tails), dtype=np.bool_)
    via = np.empty(n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    seen = np.zeros(n, dtype=np.int64)
    stamp = 0
    for target in targets:
        if small_only and (low[target] < 1 or high[target] > limit):
            continue
        tail, head = tails[target], heads[target]
        settled = True
        while table[target] > 0:
            stamp += 1
            moved = _push(
                starts, edges, tails, heads, table, tail, head, target, table[target], via, seen, queue, stamp
            )
            if moved == 0:
                break
            table[target] -= moved
        low[target] = min(low[target], table[target])
        if small_only and low[target] < 1:
            settled = False
        while settled:
            stamp += 1
            room = max(1, limit + 1 - table[target]) if small_only else 1 << 40
            moved = _push(starts, edges, tails, heads, table, head, tail, target, room, via, seen, queue, stamp)
            if moved == 0:
                break
            table[target] += moved
            if small_only and table[target] > limit:
                settled = False
        high[target] = max(high[target], table[target])
        exact[target] = settled
        for edge in range(len(tails)):
            if table[edge] < low[edge]:
                low[edge] = table[edge]
            elif table[edge] > high[edge]:
                high[edge] = table[edge]
    return low, high, exact


_ranges = compiled(_ranges_kernel)
