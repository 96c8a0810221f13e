"""The guarantee of private group trees, by exact distributions, and planted bugs that it must not survive."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from glassine import Ledger, Policy, audit
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.errors import (
    BlackBoxError,
    BudgetExceededError,
    InvalidDataError,
    InvalidParameterError,
    ReleaseFailedError,
)
from glassine.privacy.accounting import Parallel
from glassine.privacy.randomness import Randomness
from glassine.records.bits import BitSets
from glassine.records.columns import ConformedColumns
from glassine.records.reading import read as read_cells
from glassine.records.undeclared import read_checked
from glassine.sealed import partitions
from glassine.sealed.accounts import Allowance, FitAccount
from glassine.sealed.door import FAILED
from glassine.sealed.losses import PARTS
from glassine.sealed.partitions import Grouped, GroupTrees
from glassine.sealed.tree_family import Split, Tree
from glassine.sealed.weighting import Weighting
from glassine.surrogates import ExplanationGoal, NumericAnswer, SurrogateExplainer, SurrogateRelease, explainer_intake
from glassine.surrogates.building import public_metric, public_points
from glassine.surrogates.private_trees import tree_class_of
from glassine.surrogates.release_statements import reveals
from tests.oracles.laws import log_distribution
from tests.surrogates.scenes import PEOPLE, lender, people

TINY = Domain({"a": Integer(0, 3), "b": Binary()})
CLASSES = ("n", "y")
N_CELLS = 3
NUMBER = itertools.count()
TREES = tree_class_of(TINY, CLASSES, 1)
METRIC = public_metric(TINY, "gower")
POINTS = np.concatenate([METRIC.embed_one(TINY, record) for record in public_points(TINY, N_CELLS)])


def whole(epsilon: float) -> Allowance:
    """Return all of an account of so much epsilon."""
    return FitAccount(total=Fraction(epsilon)).part(Fraction(1))


def cells_of(columns: ConformedColumns) -> npt.NDArray[np.intp]:
    """Return the public cell of each record."""
    return METRIC.closest(METRIC.embed(columns), POINTS, 1, TINY)[:, 0]


def log_laws(
    records: list[tuple[int, int, int]],
    groups: npt.NDArray[np.intp],
    epsilon: float,
    *,
    skip_empty: bool = False,
    trees: Any = TREES,
) -> list[dict[Any, float]]:
    """Return for each group the logarithm of the probability of each tree."""
    columns = read_checked(frame_of(records), TINY)
    labels = np.array([record[2] for record in records])
    out: list[dict[Any, float]] = []
    for group in range(N_CELLS):
        rows = np.flatnonzero(groups == group)
        if skip_empty and not len(rows):
            out.append({"nothing": 0.0})
            continue
        parts, unit = trees.loss.parts, trees.loss.unit
        weighting = Weighting.private(Fraction(epsilon) / parts, 1.0, unit)
        truths = [columns.holds(literal)[rows] for literal in trees.logic.literals]
        law = log_distribution(trees.sums(partitions.packed(truths, labels[rows], trees.loss), weighting))
        out.append(dict(law.items()))
    return out


def frame_of(records: list[tuple[int, int, int]]) -> dict[str, npt.NDArray[Any]]:
    return {"a": np.array([r[0] for r in records]), "b": np.array([r[1] for r in records])}


def largest_ratio(one: list[dict[Any, float]], other: list[dict[Any, float]]) -> float:
    """Return the largest logarithm of the ratio of the probabilities of all trees together; draws are independent."""
    total = 0.0
    for p, q in zip(one, other, strict=True):
        if set(p) != set(q):
            return math.inf
        total += max(abs(p[tree] - q[tree]) for tree in p)
    return total


RECORDS = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (3, 1, 0), (3, 1, 1), (2, 0, 0)]
EVERY = [(a, b, y) for a in range(4) for b in range(2) for y in range(2)]


def ratios(
    epsilon: float,
    *,
    skip_empty: bool = False,
    groups: Any = cells_of,
    trees: Any = TREES,
    starts: Any = ([], RECORDS),
    every: Any = EVERY,
) -> list[float]:
    """Return the largest ratio for every record that may be added to the records, or to some of them."""
    out = []
    for start in starts:
        for extra in every:
            more = [*start, extra]
            with_it = read_checked(frame_of(more), TINY)
            placed = groups(with_it)
            without = groups(with_it.take(np.arange(len(start)))) if start else placed[:0]
            one = log_laws(start, without, epsilon, skip_empty=skip_empty, trees=trees)
            out.append(largest_ratio(one, log_laws(more, placed, epsilon, skip_empty=skip_empty, trees=trees)))
    return out


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_trees_on_public_cells_keep_epsilon_together(epsilon: float) -> None:
    found = ratios(epsilon)
    assert max(found) <= epsilon + 1e-9
    assert max(found) > 0.6 * epsilon


def test_leaving_out_empty_cells_is_found() -> None:
    assert max(ratios(0.5, skip_empty=True)) == math.inf


@pytest.mark.slow
def test_groups_that_depend_on_other_records_are_found() -> None:
    def by_rank(columns: ConformedColumns) -> npt.NDArray[np.intp]:
        # As in a microaggregation, a further record moves others to another group.
        return np.argsort(np.argsort(columns.numbers["a"], kind="stable"), kind="stable") * N_CELLS // columns.n_records

    assert max(ratios(0.5, groups=by_rank)) > 0.5 + 1e-6


def test_a_changed_label_costs_twice_epsilon_where_groups_follow_from_attributes() -> None:
    epsilon = 0.5
    groups = np.array([0, 0, 1, 2, 2, 1])
    found = []
    for i, (a, b, y) in enumerate(RECORDS):
        changed = [*RECORDS[:i], (a, b, 1 - y), *RECORDS[i + 1 :]]
        found.append(largest_ratio(log_laws(RECORDS, groups, epsilon), log_laws(changed, groups, epsilon)))
    assert epsilon < max(found) <= 2 * epsilon + 1e-9


@pytest.mark.slow
def test_the_drawn_trees_follow_the_law() -> None:
    records = [(3, 1, 1)] * 4
    columns = read_checked(frame_of(records), TINY)
    groups = cells_of(columns).astype(np.int64)
    here, epsilon = int(groups[0]), 0.8

    literals = tree_class_of(TINY, CLASSES, 1).logic.literals

    def right_of(tree: Tree) -> bool:
        """Return whether a tree gives the records of the cell their label."""
        while isinstance(tree, Split):
            tree = tree.true if columns.holds(literals[tree.literal])[0] else tree.false
        return tree.value == 1

    def share(at: float) -> float:
        """Return how often all records of the cell get their label."""
        laws = log_laws(records, groups, at)[here]
        return sum(math.exp(log) * right_of(tree) for tree, log in laws.items())

    trees, randomness, n, right = tree_class_of(TINY, CLASSES, 1), Randomness.of(5), 1500, 0
    question, part = GroupTrees(members=trees, n_groups=N_CELLS), whole(epsilon)
    assert isinstance(question.events(part)[0], Parallel)
    grouped = Grouped(columns=columns, targets=np.ones(4, dtype=np.int64), groups=groups)
    for _ in range(n):
        drawn = question.draw(grouped, part, randomness, None)
        right += right_of(drawn[here])
    deviation = math.sqrt(share(epsilon) * (1 - share(epsilon)) / n)
    assert abs(right / n - share(epsilon)) < 4 * deviation
    # A draw at three quarters of epsilon would be seen.
    assert abs(share(0.75 * epsilon) - share(epsilon)) > 8 * deviation


NUMBERS = tree_class_of(TINY, None, 1)
OF_NUMBERS = [(0, 0, 0), (0, 1, PARTS), (1, 0, 100), (3, 1, PARTS), (3, 1, 17), (2, 0, 0)]
"""Records with the parts of their answers: both ends of the range, and within it."""
MORE_NUMBERS = [(a, b, y) for a in range(4) for b in range(2) for y in (0, 1, 128, PARTS)]
CROWDED = [(0, 0, 0)] * 30 + [(3, 1, PARTS)] * 30


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_trees_of_numbers_on_public_cells_keep_epsilon_together(epsilon: float) -> None:
    found = ratios(epsilon, trees=NUMBERS, starts=([], OF_NUMBERS, CROWDED), every=MORE_NUMBERS)
    assert max(found) <= epsilon + 1e-9
    assert max(found) > 0.9 * epsilon


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["parts forgotten", "not clipped", "unit forgotten"])
def test_a_planted_fault_of_numbers_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    every, trees = MORE_NUMBERS, NUMBERS
    if fault == "not clipped":
        every = [(a, b, 3 * PARTS) for a in range(4) for b in range(2)]
        # More parts above the lower end than there are, and none below.
        monkeypatch.setattr(
            partitions,
            "packed",
            lambda truths, targets, loss: BitSets.pack_counts(
                truths, np.column_stack([np.maximum(loss.parts - targets, 0), targets])
            ),
        )
    elif fault == "parts forgotten":
        honest = partitions.packed
        whole = replace(NUMBERS.loss, parts=1)
        trees = NUMBERS.with_loss(whole)
        monkeypatch.setattr(partitions, "packed", lambda truths, targets, loss: honest(truths, targets, NUMBERS.loss))
    else:
        private = Weighting.private
        monkeypatch.setattr(
            Weighting, "private", staticmethod(lambda epsilon, weight, unit=1: private(epsilon * 2, weight, unit))
        )
    found = ratios(0.5, trees=trees, starts=([], CROWDED), every=every)
    assert max(found) > 0.5 + 1e-6


@pytest.mark.slow
def test_the_drawn_trees_of_numbers_follow_the_law() -> None:
    records = [(3, 1, PARTS)] * 3
    columns = read_checked(frame_of(records), TINY)
    groups = cells_of(columns).astype(np.int64)
    here, epsilon, n = int(groups[0]), 0.8, 1500

    def mean_of(tree: Tree) -> float:
        while isinstance(tree, Split):
            tree = tree.true if columns.holds(NUMBERS.logic.literals[tree.literal])[0] else tree.false
        return float(NUMBERS.loss.values[tree.value])

    def moments(at: float) -> tuple[float, float]:
        law = log_laws(records, groups, at, trees=NUMBERS)[here]
        values, weights = zip(*((mean_of(tree), math.exp(log)) for tree, log in law.items()), strict=True)
        mean = float(np.dot(values, weights))
        return mean, math.sqrt(float(np.dot((np.array(values) - mean) ** 2, weights)) / n)

    question, randomness = GroupTrees(members=NUMBERS, n_groups=N_CELLS), Randomness.of(6)
    grouped = Grouped(columns=columns, targets=np.full(3, PARTS, dtype=np.int64), groups=groups)
    drawn = [mean_of(question.draw(grouped, whole(epsilon), randomness, None)[here]) for _ in range(n)]
    mean, deviation = moments(epsilon)
    assert abs(float(np.mean(drawn)) - mean) < 4 * deviation
    # A draw at half of epsilon would be seen.
    assert abs(moments(epsilon / 2)[0] - mean) > 8 * deviation


def scored(X: Any) -> Any:
    """Answer with a number that follows from age and income."""
    age, income = (np.asarray(X[name], dtype=float) for name in ("age", "income"))
    return np.clip(80.0 * (age > 50) + income, 0, 200)


SCORES = NumericAnswer(lo=0, hi=200, step=5, tolerance=30)


def numeric(black_box: Any = scored, **parameters: Any) -> SurrogateExplainer:
    given: dict[str, Any] = {"classes": None, "answer": SCORES, **parameters}
    made = explainer_of(**given)
    made.set_params(predict=black_box)
    return made


def test_private_trees_of_numbers_are_certified_on_public_cells_alone(tmp_path: Path) -> None:
    data = pd.DataFrame(people())
    clean = numeric(fixed_black_box=True).fit(data)
    assert clean.certificate_.holds
    assert clean.certificate_.epsilon == 1.0
    release = clean.release()
    assert release.drawn
    values = {cell.evidence.value for tree in release.trees for cell in tree.cells}
    assert all(value is not None and value % 5 == 0 for value in values)
    assert len(values) > 2
    file = tmp_path / "release.json"
    release.to_json(file)
    assert SurrogateRelease.from_json(file) == release
    assert not numeric().fit(data).certificate_.holds
    grouped = numeric(partition="microaggregation", k=60, fixed_black_box=True).fit(data)
    assert not grouped.certificate_.holds
    guarantee = grouped.release().trees[0].guarantee
    assert guarantee is not None
    assert not guarantee.holds
    with pytest.raises(InvalidParameterError, match="without epsilon, a public cell may hold one record"):
        numeric(epsilon=None).fit(data)


def test_nothing_but_the_drawn_trees_follows_from_the_answers() -> None:
    first, second = (numeric().fit(pd.DataFrame(people(300, seed))).release() for seed in (1, 2))
    assert first.representatives == second.representatives
    assert first.metric == second.metric
    # One answer that is none is left out, and refuses nothing.
    frame = pd.DataFrame(people(50))
    for odd in (-1.0, 1e9, "x", math.nan, math.inf, None, 10**400, [1.0], 1j):

        def box(X: Any, odd: Any = odd) -> Any:
            return [odd, *scored(X)[1:].tolist()]

        made = numeric(box).fit(frame)
        assert made.release().n_groups == 20
        assert (made.training_.answers[1:] >= 0).all()
        assert made.training_.answers[0] == -1


@pytest.mark.parametrize("odd", ["never", math.nan, None, ["yes"]])
def test_one_answer_that_is_no_class_is_left_out(odd: Any) -> None:
    made = explainer_of().set_params(predict=lambda X: [odd, *lender(X)[1:].tolist()])
    assert made.fit(pd.DataFrame(people(50))).training_.answers.min() == made.training_.answers[0] == -1
    with pytest.raises(BlackBoxError if odd != "never" else InvalidDataError):
        made.set_params(epsilon=None, dataset=None, partition="microaggregation", k=20).fit(pd.DataFrame(people(50)))


def test_a_black_box_that_fails_fails_behind_the_charge_with_one_error() -> None:
    data = pd.DataFrame(people(137))
    for box in (lambda X: 1 / 0, lambda X: np.zeros(len(X) + 1)):
        with pytest.raises(ReleaseFailedError) as error:
            explainer_of().set_params(predict=box).fit(data)
        assert str(error.value) == FAILED
        assert error.value.__cause__ is error.value.__context__ is None


class Unread:
    """Records and a black box that say when they are looked at."""

    def __init__(self, data: pd.DataFrame) -> None:
        self.data, self.seen = data, list[str]()

    def box(self, X: Any) -> Any:
        self.seen.append(f"asked on {len(X)}")
        return lender(X)


def test_neither_records_are_read_nor_the_black_box_asked_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unread = Unread(pd.DataFrame(people(150)))
    charge, read = Ledger.charge, read_cells

    def noted_charge(self: Ledger, *args: Any, **kwargs: Any) -> Any:
        unread.seen.append("charged")
        return charge(self, *args, **kwargs)

    def noted_read(*args: Any, **kwargs: Any) -> Any:
        unread.seen.append("read")
        return read(*args, **kwargs)

    monkeypatch.setattr(Ledger, "charge", noted_charge)
    monkeypatch.setattr(explainer_intake, "read_cells", noted_read)
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("d", 9)
    for labels in ("black-box", "true"):
        unread.seen.clear()
        explainer = explainer_of(ledger=book, dataset="d", labels=labels).set_params(predict=unread.box)
        explainer.fit(unread.data, lender(unread.data) if labels == "true" else None)
        assert unread.seen[:2] == ["charged", "read"], labels
        assert unread.seen[2].startswith("asked on")
        # Nothing that follows from the records is said of a goal that nobody stated.
        assert explainer.choice_ is None


def test_a_goal_of_private_trees_is_measured_on_public_queries() -> None:
    asked: list[frozenset[Any]] = []

    def box(X: Any) -> Any:
        asked.append(frozenset(map(tuple, X.to_numpy().tolist())))
        return lender(X)

    goal, made, data = ExplanationGoal(), list[SurrogateExplainer](), pd.DataFrame()
    for seed in (0, 1):
        asked.clear()
        data = pd.DataFrame(people(150, seed))
        explainer = explainer_of(goal=goal, random_state=3, max_depth="auto").set_params(predict=box)
        made.append(explainer.fit(data))
        public = asked[0]
        assert len(public) > 1900
        # Depth is chosen before the records are opened, and from the queries alone.
        assert not public & frozenset(map(tuple, data[list(PEOPLE)].to_numpy().tolist()))
    choices = [explainer.choice_ for explainer in made]
    assert choices[0] is not None
    assert choices[1] is not None
    assert choices[0].max_depth == choices[1].max_depth
    assert choices[0].measured_on == "public queries"
    with pytest.raises(InvalidParameterError, match="public queries"):
        SurrogateExplainer(lender, 20, domain=PEOPLE, classes=("no", "yes"), epsilon=1.0, goal=goal).fit(data)


def test_no_query_is_sent_for_a_release_that_the_ledger_refuses(tmp_path: Path) -> None:
    asked: list[int] = []

    def box(X: Any) -> Any:
        asked.append(len(X))
        return lender(X)

    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("d", 0.01)
    explainer = explainer_of(goal=ExplanationGoal(), max_depth="auto", ledger=book, dataset="d").set_params(predict=box)
    with pytest.raises(BudgetExceededError):
        explainer.fit(pd.DataFrame(people(150)))
    assert asked == []


def test_private_trees_of_numbers_are_useful_and_audited_as_such() -> None:
    data = pd.DataFrame(people(4000))
    made = numeric(epsilon=4.0, n_cells=8, random_state=0).fit(data)
    errors = made.measures(data).errors
    assert errors is not None
    assert errors.rmse < 0.7 * errors.rmse_baseline
    findings = audit(made, policy=Policy(narrowest_answer=0.1, dominance=0.9, purest_leaf=0.9))
    checks = {check.rule: check.status for check in findings.checks}
    assert {checks[name] for name in ("narrowest_answer", "dominance", "purest_leaf")} == {"not applicable"}
    text = " ".join(reveals(made.release()))
    assert "drawn with noise from the black box's answers" in text
    assert "holds a mean" not in text


def explainer_of(**parameters: Any) -> SurrogateExplainer:
    given: dict[str, Any] = {
        "domain": PEOPLE,
        "classes": ("no", "maybe", "yes"),
        "distance": "gower",
        "epsilon": 1.0,
        "partition": "public",
        "n_cells": 20,
        # Each fit of a test is on a dataset of its own.
        "dataset": f"number {next(NUMBER)}" if parameters.get("epsilon", 1.0) is not None else None,
        **parameters,
    }
    return SurrogateExplainer(lender, **given)


def test_a_public_partition_is_certified_if_nothing_stands_against_it() -> None:
    data = pd.DataFrame(people())
    clean = explainer_of(fixed_black_box=True).fit(data)
    assert clean.certificate_.holds
    assert clean.certificate_.epsilon == 1.0
    assert clean.release().certificate == clean.certificate_
    assert clean.release().k is None
    labels = explainer_of(labels="true").fit(data, lender(data))
    assert labels.certificate_.holds
    guarantee = labels.release().trees[0].guarantee
    assert guarantee is not None
    assert guarantee.holds
    for parameters, said in (
        ({}, "black box that may have been trained"),
        ({"fixed_black_box": True, "random_state": 0}, "seeded"),
    ):
        weak = explainer_of(**parameters).fit(data).certificate_
        assert not weak.holds
        assert any(said in caveat for caveat in weak.caveats)
    with pytest.raises(InvalidParameterError, match="the answers of the black box must be public"):
        explainer_of(classes=None, fixed_black_box=True).fit(data)


def test_nothing_but_the_trees_follows_from_the_records() -> None:
    first, second = (explainer_of().fit(pd.DataFrame(people(300, seed))).release() for seed in (1, 2))
    assert first.representatives == second.representatives
    assert first.metric == second.metric
    assert first.domain == second.domain
    assert len(first.trees) == len(second.trees) == 20
    assert all(node.evidence.counts is None for tree in first.trees for node in tree.nodes)
    one = explainer_of().fit(pd.DataFrame(people(1)))
    assert one.release().n_groups == 20


def test_microaggregation_protects_labels_alone_or_nothing() -> None:
    data = pd.DataFrame(people())
    labels = explainer_of(partition="microaggregation", labels="true", k=60).fit(data, lender(data))
    assert labels.certificate_.holds
    assert labels.certificate_.epsilon == 2.0
    assert "label" in labels.certificate_.neighboring
    guarantee = labels.release().trees[0].guarantee
    assert guarantee is not None
    assert not guarantee.holds
    for fixed in (False, True):
        boxed = explainer_of(partition="microaggregation", k=60, fixed_black_box=fixed).fit(data)
        assert not boxed.certificate_.holds
        assert boxed.certificate_.epsilon == math.inf
    assert not SurrogateExplainer(lender, 40, domain=PEOPLE, distance="gower").fit(data).certificate_.holds


def test_private_trees_are_useful() -> None:
    data = pd.DataFrame(people(4000))
    released = explainer_of(epsilon=2.0, n_cells=8, random_state=0).fit(data).release()
    rows = read_checked(data, PEOPLE)
    groups = released.closest(rows, 3)
    assert (released.decisions(rows, groups) == 0).any()
    assert explainer_of(epsilon=2.0, n_cells=8, random_state=0).fit(data).fidelity(data) > 0.8
    assert set(released.trees[0].predict({n: rows.values(n) for n in PEOPLE})) <= {"no", "maybe", "yes"}


def test_an_epsilon_without_meaning_is_refused() -> None:
    for epsilon in (0.0, 1e-12, float("inf"), "1", True):
        with pytest.raises(InvalidParameterError):
            explainer_of(epsilon=epsilon).fit(pd.DataFrame(people(50)))
    inferred = Domain({"a": Real(0.0, 1.0, inferred=True)})
    with pytest.raises(InvalidParameterError, match="declared by hand"):
        SurrogateExplainer(lender, domain=inferred, partition="public").fit(np.zeros((3, 1)))


def test_public_points_respect_the_domain() -> None:
    for record in public_points(PEOPLE, 200):
        assert 18 <= int(record["age"] or 0) <= 90
        assert record["job"] in ("a", "b", "c")
    assert len({record["job"] for record in public_points(Domain({"job": Category(("a", "b"))}), 8)}) == 2
