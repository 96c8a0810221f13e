"""The search for optimal rule lists against the sums over all lists, which take minima over every set of rules."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glassine import Domain
from glassine.counting.logic import RuleLogic
from glassine.domain import Between, Binary, Category, Integer, OneOf
from glassine.errors import ClassTooLargeError
from glassine.learners import OptimalRuleListClassifier
from glassine.learners.exhaustive import list_search
from glassine.learners.exhaustive.list_search import ListSearch, Room, SearchLimits
from glassine.records.bits import BitSets
from glassine.sealed.lists import ListClass
from glassine.sealed.losses import LeafCosts
from glassine.sealed.weighting import Weighting
from tests.learners import engine
from tests.oracles import model_classes as oracle

LIMITS = SearchLimits(what="lists", ways_out="Take fewer.")


def pool_of(n_attributes: int, *, pairs: bool) -> tuple[Domain, list[Any]]:
    """Return a binary domain and its literals, both ways, or those and conjunctions of two."""
    names = [f"b{i}" for i in range(n_attributes)]
    literals = [OneOf(name, (1,), negated=negated) for name in names for negated in (False, True)]
    pool: list[Any] = [(literal,) for literal in literals]
    if pairs:
        pool += [(a, b) for a in literals[::2] for b in literals[::3] if a.attribute < b.attribute]
    return Domain.binary(names), pool


def records(seed: int, n: int, p: int, n_classes: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Return random records, and classes that depend on two attributes."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, p)) < rng.uniform(0.2, 0.8, p)
    return X, (X[:, 0] * (1 + X[:, -1]) + (rng.random(n) < 0.25)) % n_classes


def truth_of(pool: list[Any], X: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.bool_]]:
    """Return the truth of each antecedent."""
    columns = [np.logical_xor(X[:, int(one.attribute[1:])], one.negated) for rule in pool for one in rule]
    ends = np.cumsum([len(rule) for rule in pool])
    return [np.logical_and.reduce(columns[end - len(rule) : end]) for rule, end in zip(pool, ends, strict=True)]


@pytest.mark.parametrize("seed", range(36))
def test_the_list_is_that_of_the_sums_over_all_lists(seed: int) -> None:
    """The same rules, not merely the same cost: of equal lists the same one is first."""
    rng = np.random.default_rng(1_000 + seed)
    n_classes = 2 + seed % 2
    X, y = records(seed, int(rng.integers(20, 120)), 3 + seed % 2, n_classes)
    domain, pool = pool_of(X.shape[1], pairs=seed % 3 == 0)
    loss = (
        LeafCosts.ranking(np.full(n_classes, 1 / n_classes), math.inf, 0.3)
        if seed % 4 == 0
        else LeafCosts.errors(n_classes)
    )
    fewest, penalty = int(rng.integers(1, 9)), float(rng.integers(0, 4) * loss.unit)
    weights = rng.integers(0, 5, len(y)) if seed % 5 == 0 else None
    bitsets = BitSets.pack(truth_of(pool, X), y, n_classes, weights)
    lists = ListClass(logic=RuleLogic.of(domain, pool), length=1 + seed % 4, loss=loss)
    # The logic sorts the rules by blocks: the search gets them in the same order.
    bitsets = BitSets.pack(truth_of(list(lists.antecedents), X), y, n_classes, weights)
    sums = lists.sums(bitsets, Weighting.optimal(penalty, fewest))
    expected = sums.best()
    search = ListSearch(bitsets, loss, fewest=fewest, fewest_left=fewest, limits=LIMITS, penalty=penalty)
    found = search.best(lists.length)
    assert found.rules == tuple(rule for rule, _ in expected.rules)
    assert found.cost + penalty * len(found.rules) == float(sums.costs[0].item())
    assert search.class_counts(found.rules).tolist() == sums.class_counts(expected).tolist()


GAPPED = Domain(
    {"n": Integer(0, 3, missing=True), "c": Category(("u", "v"), missing=True), "b": Binary(), "d": Integer(0, 2)}
)
ONES: list[Any] = [
    *(Between("n", hi=hi, missing=missing) for hi in (0.5, 1.5, 2.5) for missing in (False, True)),
    *(OneOf("c", ("u",), negated=negated, missing=missing) for negated in (False, True) for missing in (False, True)),
    OneOf("b", (1,)),
    Between("d", hi=0.5),
    Between("d", lo=1.5),
]
SEVERAL: list[Any] = [
    (Between("n", lo=0.5, hi=2.5), OneOf("b", (1,))),
    (Between("n", lo=0.5), Between("n", hi=2.5)),
    (Between("n", hi=1.5, missing=True), OneOf("c", ("v",), missing=True)),
    (Between("d", lo=0.5), OneOf("b", (0,))),
]


@pytest.mark.parametrize("seed", range(24))
def test_missing_values_take_no_other_path(seed: int) -> None:
    """The same rules as the sums, and the least cost of all lists, of which each is written down."""
    rng = np.random.default_rng(2_000 + seed)
    rules = [ONES[i] for i in rng.permutation(len(ONES))[: 6 + seed % 5]]
    wide = SEVERAL if seed % 2 else []
    lists, complete = engine.lists_of(GAPPED, [*engine.singles(rules), *wide], 1 + seed % 3, 2)
    # Most records miss something: rules then differ by what they capture of complete records alone.
    worlds = engine.worlds_of(GAPPED, lists.antecedents)
    truth, y = engine.some_data(seed, worlds, int(rng.integers(3, 40)), 2)
    fewest, penalty = int(rng.integers(1, 4)), float(rng.choice([0.0, 0.5, 1.0]))
    bitsets = engine.pack(truth, y, 2)
    sums = lists.sums(bitsets, Weighting.optimal(penalty, fewest))
    room = Room.of(lists.logic, ["n", "c"])
    assert room.full.any() == any(one.attribute in ("n", "c") for rule in lists.antecedents for one in rule)
    search = ListSearch(
        bitsets, lists.loss, fewest=fewest, fewest_left=fewest, limits=LIMITS, room=room, penalty=penalty
    )
    found = search.best(lists.length)
    assert found.rules == tuple(rule for rule, _ in sums.best().rules)
    assert found.cost + penalty * len(found.rules) == float(sums.costs[0].item())
    if not wide:
        listed = oracle.rule_lists(complete, [0, 1], min(lists.length, 2))
        large = ListSearch(bitsets, lists.loss, fewest=1, fewest_left=1, limits=LIMITS, room=room, penalty=penalty)
        best = large.best(min(lists.length, 2))
        assert best.cost + penalty * len(best.rules) == oracle.optimum(listed, truth, y, Fraction(penalty))[0]


def test_a_rule_needs_a_complete_record_to_capture_or_to_leave() -> None:
    """Records alone would allow "n <= 1.5 or missing" after "n <= 1.5": it captures those that miss n."""
    domain = Domain({"n": Integer(0, 3, missing=True)})
    pool = [(Between("n", hi=1.5),), (Between("n", hi=1.5, missing=True),)]
    lists = ListClass(logic=RuleLogic.of(domain, pool), length=2, loss=LeafCosts.errors(2))
    # Values 0, missing and 3: only the missing ones are of class 1.
    truth = np.repeat([[True, True], [False, True], [False, False]], 5, axis=0)
    bitsets = engine.pack(truth, np.repeat([0, 1, 0], 5), 2)
    costs = [
        ListSearch(bitsets, lists.loss, fewest=1, fewest_left=1, limits=LIMITS, room=room).best(2).cost
        for room in (Room.of(lists.logic, ["n"]), None)
    ]
    assert costs == [lists.sums(bitsets, Weighting.optimal(0.0, 1)).costs[0].item(), 0] == [5, 0]


@pytest.mark.parametrize("missing", [False, True])
def test_without_rules_a_list_is_its_default(missing: bool) -> None:
    learner = OptimalRuleListClassifier(2, domain=Domain({"a": Binary(missing=missing)}), pool=[])
    assert learner.fit(np.array([[0], [1], [1]]), np.array([0, 1, 1])).objective_ == pytest.approx(1 / 3)


def test_long_lists_are_learned_where_values_may_be_missing() -> None:
    """Twenty attributes, eighty rules: all sets of eight of them cannot be summed."""
    rng = np.random.default_rng(0)
    names = [f"b{i}" for i in range(20)]
    X = np.where(rng.random((500, 20)) < 0.1, np.nan, rng.random((500, 20)) < 0.3)
    y = np.where(rng.random(500) < 0.1, 1, np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) > 0).astype(np.int64)
    domain = Domain({name: Binary(missing=True) for name in names})
    learner = OptimalRuleListClassifier(8, domain=domain, penalty=0.01, min_samples_leaf=5).fit(X, y)
    assert np.bincount(learner.apply(X)).min() >= 5
    errors = int((learner.predict(X) != y).sum())
    assert learner.objective_ * 500 == pytest.approx(errors + 5 * (len(learner.model_.rules) - 1))
    assert errors < 60


@pytest.mark.parametrize("second", [Between("n", 3, math.inf), Between("n", -math.inf, 3, missing=True)], ids=str)
def test_no_rule_leaves_or_takes_missing_values_alone(second: Between) -> None:
    logic = RuleLogic.of(Domain({"n": Integer(0, 9, missing=True)}), [(Between("n", -math.inf, 3),), (second,)])
    values = np.array([1, 1, 1, 5, 5, 5, None, None, None], dtype=object)
    truth = [rule[0].holds(values) for rule in logic.antecedents]
    bitsets = BitSets.pack(truth, np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), 3)
    found = [
        ListSearch(bitsets, LeafCosts.errors(3), fewest=1, fewest_left=1, limits=LIMITS, room=room).best(2)
        for room in (None, Room.of(logic, ["n"]))
    ]
    assert [(one.cost, len(one.rules)) for one in found] == [(0, 2), (3, 1)]


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_lists_of_ten_rules_are_optimal(penalty: float) -> None:
    X, y = records(3, 150, 6, 2)
    y ^= (X[:, 1] & X[:, 2] & ~X[:, 3]).astype(np.int64)
    domain, pool = pool_of(6, pairs=False)
    lists = ListClass(logic=RuleLogic.of(domain, pool), length=10, loss=LeafCosts.errors(2))
    bitsets = BitSets.pack(truth_of(list(lists.antecedents), X), y, 2)
    sums = lists.sums(bitsets, Weighting.optimal(penalty, 2))
    found = ListSearch(bitsets, lists.loss, fewest=2, fewest_left=2, limits=LIMITS, penalty=penalty).best(10)
    assert found.cost + penalty * len(found.rules) == float(sums.costs[0].item())
    assert found.rules == tuple(rule for rule, _ in sums.best().rules)
    assert len(found.rules) >= 3


def test_a_rough_bound_and_small_batches_cost_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = records(5, 200, 7, 2)
    _, pool = pool_of(7, pairs=False)
    bitsets = BitSets.pack(truth_of(pool, X), y, 2)

    def found() -> list[Any]:
        search = ListSearch(bitsets, LeafCosts.errors(2), fewest=4, fewest_left=1, limits=LIMITS, penalty=1.0)
        return [search.best(5), *search.by_length(5), *search.by_length(5, -1)]

    sharp = found()
    monkeypatch.setattr(list_search, "BEAM", 1)
    monkeypatch.setattr(list_search, "ROOM", 100)
    assert found() == sharp


@pytest.mark.parametrize(("penalty", "searches"), [(0.5, 2), (30.0, 1)])
def test_where_the_beam_leaves_nothing_out_nothing_is_searched_twice(
    penalty: float, searches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = records(8, 400, 8, 2)
    _, pool = pool_of(8, pairs=False)
    bitsets = BitSets.pack(truth_of(pool, X), y, 2)
    widths: list[int | None] = []
    ends = ListSearch._ends

    def counted(search: ListSearch, *arguments: Any) -> Any:
        widths.append(arguments[-1])
        return ends(search, *arguments)

    monkeypatch.setattr(list_search, "BEAM", 20)
    monkeypatch.setattr(ListSearch, "_ends", counted)
    said: list[tuple[int, int]] = []
    narrow = ListSearch(
        bitsets,
        LeafCosts.errors(2),
        fewest=1,
        fewest_left=1,
        limits=LIMITS,
        penalty=penalty,
        progress=lambda done, every: said.append((done, every)),
    ).best(4)
    assert widths == [20, None][:searches]
    assert said[-1] == (4, 4)
    monkeypatch.setattr(list_search, "BEAM", 1)
    assert (
        ListSearch(bitsets, LeafCosts.errors(2), fewest=1, fewest_left=1, limits=LIMITS, penalty=penalty).best(4)
        == narrow
    )


def test_costs_of_rules_prune_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = records(8, 400, 8, 2)
    _, pool = pool_of(8, pairs=False)
    bitsets = BitSets.pack(truth_of(pool, X), y, 2)
    kept: list[int] = []
    merged = list_search._merged

    def counted(level: Any, tests: int) -> Any:
        kept.append(len(level.costs))
        return merged(level, tests)

    monkeypatch.setattr(list_search, "BEAM", 5)
    monkeypatch.setattr(list_search, "_merged", counted)
    sizes = []
    for penalty in (0.0, 20.0):
        kept.clear()
        ListSearch(bitsets, LeafCosts.errors(2), fewest=1, fewest_left=1, limits=LIMITS, penalty=penalty).best(5)
        sizes.append(sum(kept))
    assert sizes[1] < sizes[0] / 2


def test_many_rules_are_learned_where_all_sets_of_them_cannot_be_summed() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((500, 20)) < 0.3).astype(np.int64)
    y = np.where(rng.random(500) < 0.1, 1 - X[:, 0], X[:, 0]) | (X[:, 1] & X[:, 2])
    learner = OptimalRuleListClassifier(8, penalty=0.01, min_samples_leaf=5).fit(X, y)
    sizes = np.bincount(learner.apply(X))
    assert sizes.min() >= 5
    errors = int((learner.predict(X) != y).sum())
    assert learner.objective_ * 500 == pytest.approx(errors + 5 * (len(sizes) - 1))
    assert errors + 5 * (len(sizes) - 1) < 5 + int((np.where(X[:, 0] == 1, 1, 0) != y).sum())


@pytest.mark.parametrize("limits", [{"memory_limit": 1_000}, {"time_limit": 1e-9}])
def test_the_search_ends_at_its_limits(limits: dict[str, Any]) -> None:
    X, y = records(9, 300, 8, 2)
    with pytest.raises(ClassTooLargeError, match=r"the search took .* Lower .*max_rules") as caught:
        OptimalRuleListClassifier(6, domain=Domain.binary([f"b{i}" for i in range(8)]), **limits).fit(X.astype(int), y)
    assert caught.value.bytes_needed > 0
