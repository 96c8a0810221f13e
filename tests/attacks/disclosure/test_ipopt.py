"""The estimate against IPOPT, which is given the problem as the paper states it, all constraints at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glassine.attacks.disclosure import Adversary, Disclosure, infer_sensitive
from glassine.attacks.disclosure.candidate_splits import MULTIWAY
from glassine.learners.greedy.impurity import Criterion
from tests.attacks.disclosure.instances import parity

casadi: Any = pytest.importorskip("casadi")
pytestmark = pytest.mark.slow


def impurity(counts: Any, n: float, criterion: Criterion) -> Any:
    """Return n times the impurity of a branch as an expression."""
    if criterion == "gini":
        return n - casadi.sumsqr(counts) / n
    shares = (counts + 1e-10) / n
    return -casadi.sum1(counts * casadi.log(shares))


def solve(disclosure: Disclosure, criterion: Criterion) -> float | None:
    """Return the largest entropy, in nats over all people, that IPOPT finds; None where it gives up.

    It gives up on some instances whose feasible set has hardly an interior.
    """
    people, leaves, families = disclosure.people, disclosure.leaves, disclosure.constraints.families
    q, c = disclosure.quasi_probabilities.shape
    x = casadi.MX.sym("x", q, c)
    sizes = people.sizes.astype(float)
    rows, low, high = [casadi.sum2(x)], [sizes], [sizes]
    start = disclosure.leaf_probabilities * sizes[:, None]
    upper = np.full((q, c), np.inf)
    for leaf in range(len(leaves.sizes)):
        inside = np.flatnonzero(people.leaf == leaf).tolist()
        total = casadi.sum1(x[inside, :]).T
        if leaves.counts is not None:
            rows.append(total[:-1])
            low.append(leaves.counts[leaf][:-1])
            high.append(leaves.counts[leaf][:-1])
            upper[np.ix_(np.array(inside), np.flatnonzero(leaves.counts[leaf] == 0))] = 0.0
            continue
        assert leaves.labels is not None
        assert leaves.correct is not None
        label = int(leaves.labels[leaf])
        rows += [total[label], total[label] - total]
        low += [leaves.correct[leaf : leaf + 1], np.zeros(c)]
        high += [leaves.correct[leaf : leaf + 1], np.full(c, np.inf)]

    def left(members: Any, branch: Any) -> Any:
        out = 0
        for b in np.unique(branch):
            group = members[branch == b]
            out += impurity(casadi.sum1(x[group.tolist(), :]).T, float(sizes[group].sum()), criterion)
        return out

    for f in range(len(families)):
        assert families.kinds[f] == MULTIWAY
        split = people.splits[int(families.splits[f])]
        candidate = left(families.members(f), families.branches(f, 0))
        rows.append(candidate - left(split.members, split.branch))
        # A little room: where a candidate can only tie, the feasible set has no interior.
        low.append(np.full(1, -1e-6))
        high.append(np.full(1, np.inf))
    entropy = -casadi.sum1(casadi.sum2(x * casadi.log((x + 1e-10) / casadi.DM(sizes))))
    nlp = {"x": casadi.vec(x), "f": -entropy, "g": casadi.vertcat(*[casadi.vec(row) for row in rows])}
    settings = {"print_level": 0, "sb": "yes", "max_iter": 1000, "fixed_variable_treatment": "relax_bounds"}
    options = {"print_time": False, "ipopt": settings | {"tol": 1e-7}}
    solver = casadi.nlpsol("solver", "ipopt", nlp, options)
    found = solver(
        x0=np.maximum(start, 1e-3).ravel(order="F"),
        lbx=0.0,
        ubx=upper.ravel(order="F"),
        lbg=np.concatenate(low),
        ubg=np.concatenate(high),
    )
    return -float(found["f"]) if solver.stats()["success"] else None


def shaped(criterion: Criterion, wanted: int, leaves: Any, **size: Any) -> list[Disclosure]:
    """Return disclosures in which internal nodes tell something."""
    out: list[Disclosure] = []
    for seed in range(60):
        frame, _, tree = parity(seed, criterion=criterion, **size)
        disclosure = infer_sensitive(tree, frame, adversary=Adversary(leaves, criterion=criterion, min_samples_leaf=1))
        if np.abs(disclosure.quasi_probabilities - disclosure.leaf_probabilities).max() > 1e-3:
            out.append(disclosure)
        if len(out) == wanted:
            return out
    raise AssertionError("no such instance")


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("size", [{"n": 30, "values": 2}, {"n": 90, "values": 3, "split": 8}], ids=["small", "medium"])
def test_with_counts_ipopt_finds_the_same_entropy(criterion: Criterion, size: Any) -> None:
    solved = 0
    for disclosure in shaped(criterion, 6, "leaf_counts", **size):
        found = solve(disclosure, criterion)
        if found is not None:
            solved += 1
            assert found / disclosure.people.n_people == pytest.approx(disclosure.entropy, abs=2e-5)
    assert solved >= 3


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_without_counts_ipopt_finds_no_better_local_optimum(criterion: Criterion) -> None:
    solved = 0
    for disclosure in shaped(criterion, 5, "error_rates", n=40, values=2):
        found = solve(disclosure, criterion)
        if found is not None:
            solved += 1
            assert found / disclosure.people.n_people <= disclosure.entropy + 1e-4
    assert solved >= 2
