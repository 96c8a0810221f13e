"""Tables of two models as flows, against enumeration."""

from __future__ import annotations

import numpy as np

from glassine.attacks.reconstruction.joint_flows import Graph, bridges, feasible_table, improve_ranges, support
from tests.attacks.reconstruction.test_bounds import tables


def random_graph(seed: int) -> tuple[Graph, np.ndarray, np.ndarray, np.ndarray]:
    """Return some edges between parts of two models, with the margins of a random table."""
    rng = np.random.default_rng(seed)
    every = np.array([(a, b) for a in range(3) for b in range(3)])
    edges = every[np.sort(rng.permutation(9)[: rng.integers(3, 7)])]
    table = rng.integers(0, 3, len(edges))
    supply = np.bincount(edges[:, 0], table, minlength=3).astype(np.int64)
    demand = np.bincount(edges[:, 1], table, minlength=3).astype(np.int64)
    return Graph(edges[:, 0], edges[:, 1], 3, 3), edges, supply, demand


def test_tables_support_ranges_and_bridges_are_those_of_enumeration() -> None:
    seen_bridge = False
    for seed in range(25):
        graph, edges, supply, demand = random_graph(seed)
        every = np.array(list(tables(edges, [supply.tolist(), demand.tolist()])))
        found = feasible_table(graph, supply, demand)
        assert found is not None
        assert found.tolist() in every.tolist()
        possible = support(graph, found)
        assert (possible == (every > 0).any(axis=0)).all()
        low, high, exact = improve_ranges(graph, found, np.arange(len(edges)), at_most=None)
        assert exact.all()
        assert (low == every.min(axis=0)).all()
        assert (high == every.max(axis=0)).all()
        few_low, few_high, settled = improve_ranges(graph, found, np.arange(len(edges)), at_most=1)
        small = (every.min(axis=0) >= 1) & (every.max(axis=0) <= 1)
        assert (settled >= small).all()
        assert (few_low[settled] == low[settled]).all()
        assert (few_high[settled] == high[settled]).all()
        kept = edges[possible]
        part = Graph(kept[:, 0], kept[:, 1], 3, 3)
        same = bridges(part)
        assert (same == (every.min(axis=0) == every.max(axis=0))[possible]).all()
        seen_bridge |= bool(same.any())
    assert seen_bridge


def test_no_table_is_none() -> None:
    graph = Graph(np.array([0, 1]), np.array([0, 1]), 2, 2)
    assert feasible_table(graph, np.array([2, 1]), np.array([1, 2])) is None
    assert feasible_table(graph, np.array([2, 1]), np.array([2, 2])) is None
