"""The label-only attack, against what all changes of small records give exactly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import as_model, parse_rules
from glassine.attacks import Failed, Measured, NotApplicable, Perturbation, label_only_attack, loss_attack
from glassine.attacks.membership.result import MembershipResult
from glassine.data import Sample
from glassine.errors import InvalidDataError, InvalidParameterError
from tests.attacks.sides import sides

Ints = npt.NDArray[np.int64]
FEW = Perturbation(n_copies=4)


def measured(outcome: object) -> Any:
    assert isinstance(outcome, Measured), outcome
    return outcome.value


def noise(n: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return records whose classes have nothing to do with them, half of them members."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2 * n, 4)), rng.integers(0, 2, 2 * n)
    return X[:n], y[:n], X[n:], y[n:]


def kept_exactly(model: Any, X: Ints, y: Ints, share: float, groups: Sequence[Sequence[int]]) -> list[float]:
    """Return the chance that a changed copy of each record keeps its class, over all sources of all groups."""
    n, out = len(X), []
    for i in range(n):
        chance = 0.0
        for origin in product(range(n), repeat=len(groups)):
            copy, weight = X[i].copy(), 1.0
            for group, source in zip(groups, origin, strict=True):
                copy[list(group)] = X[source, list(group)]
                weight *= share / n + (1 - share) * (source == i)
            chance += weight * (model.predict(copy[None])[0] == y[i])
        out.append(chance)
    return out


@pytest.mark.parametrize(("groups", "together"), [(((0,), (1,), (2,)), ()), (((0, 2), (1,)), ((0, 2),))])
def test_the_score_is_the_share_of_all_changed_copies_that_keep_the_class(groups: Any, together: Any) -> None:
    rules = parse_rules(
        "if [a] and [b] then [true] ([1 ; 2] examples)\n"
        "else if [c] then [false] ([2 ; 1] examples)\nelse [true] ([0 ; 1] examples)"
    )

    class Rules:
        classes_ = np.array([0, 1])

        def predict(self, X: Any) -> Any:
            return rules.predict({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}).astype(int)

    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (6, 3)), np.array([1, 0, 1, 0, 1, 1])
    correct = Rules().predict(X) == y
    n = 400
    how = Perturbation(n_copies=n, share=0.4, together=together)
    found: MembershipResult = measured(
        label_only_attack(Rules(), *sides(X[:3], y[:3], X[3:], y[3:]), how, random_state=1)
    )
    expected = correct * (1 + n * np.array(kept_exactly(Rules(), X, y, 0.4, groups))) / (n + 1)
    # The thresholds of the curve are the scores; four standard errors of a share of 400 copies are 0.1.
    reached = sorted(t for t in found.roc.thresholds if np.isfinite(t))
    assert all(min(abs(t - e) for e in expected) < 0.1 for t in reached)
    assert reached[0] == 0.0 or correct.all()
    assert abs(reached[-1] - expected.max()) < 0.1


def test_an_overfit_tree_is_caught_and_beyond_its_gap() -> None:
    data = noise(150, 0)
    tree = DecisionTreeClassifier(random_state=0).fit(*data[:2])
    found: MembershipResult = measured(label_only_attack(tree, *sides(*data), FEW, random_state=0))
    assert found.detected
    assert found.gap is not None
    assert found.best is not None
    # A record that is classified wrongly scores least, so the best threshold is never worse than the gap attack.
    assert found.best.balanced_accuracy >= found.gap.value


@pytest.mark.slow
def test_a_model_of_other_data_gives_nothing_away() -> None:
    runs, rejected, covered = 20, 0, 0
    for seed in range(runs):
        other, data = noise(40, 1000 + seed), noise(40, seed)
        tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(*other[:2])
        found = measured(
            label_only_attack(tree, *sides(*data), Perturbation(n_copies=2), random_state=seed, confidence=0.9)
        )
        rejected += found.control.p_value <= 0.1
        covered += found.advantage.low <= 0 <= found.advantage.high
    assert binomtest(rejected, runs, 0.1, alternative="greater").pvalue > 1e-4, rejected
    assert binomtest(covered, runs, 0.88, alternative="less").pvalue > 1e-4, covered


def test_it_needs_no_probabilities() -> None:
    rules = parse_rules("if [a] then [true]\nelse [false]")
    X, y = np.array([[1], [0]] * 10), np.array([1, 0] * 10)
    assert isinstance(loss_attack(rules, Sample(X, y), Sample(X, y)), NotApplicable)
    assert measured(label_only_attack(rules, Sample(X, y), Sample(X, y), FEW, random_state=0)).n_members == 20


def test_frames_of_any_library_with_text_and_gaps_are_changed_alike() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"n": rng.normal(size=60), "y": rng.integers(0, 2, 60).tolist()})
    text = frame.with_columns(t=pl.Series(rng.choice(["x", "y", "z"], 60)).replace("z", None))

    class Reader:
        """Asks that every value is one that occurs, in a frame of the kind that was given."""

        classes_ = np.array([0, 1])
        kind: Any = None

        def predict(self, X: Any) -> Any:
            assert isinstance(X, self.kind)
            values = X["n"].to_numpy()
            assert set(values.tolist()) <= set(frame["n"].to_list())
            assert len(X) == 60 or len(X) == 30
            return ((values > 0) & (np.asarray(X["t"].to_numpy(), dtype=object) == "x")).astype(int)

    found = []
    for given in (text, text.to_pandas().set_index(np.arange(60) % 7)):
        reader = Reader()
        reader.kind = type(given)
        found.append(
            measured(label_only_attack(reader, Sample(given[:30], "y"), Sample(given[30:], "y"), random_state=3))
        )
    assert found[0].to_dict() == found[1].to_dict()
    assert isinstance(text.to_pandas(), pd.DataFrame)


def test_columns_that_change_together_never_mix_two_records() -> None:
    X = np.eye(4, dtype=int)[np.random.default_rng(0).integers(0, 4, 40)]

    class OneHot:
        classes_ = np.array([0, 1])
        broken = 0

        def predict(self, X: Any) -> Any:
            self.broken += int((X.sum(axis=1) != 1).sum())
            return X[:, 0]

    data = sides(X[:20], X[:20, 0], X[20:], X[20:, 0])
    whole, mixed = OneHot(), OneHot()
    measured(label_only_attack(whole, *data, Perturbation(together=((0, 1, 2, 3),)), random_state=0))
    measured(label_only_attack(mixed, *data, random_state=0))
    assert whole.broken == 0 < mixed.broken


def test_columns_change_together_in_whatever_order_the_model_has_them() -> None:
    kinds = np.eye(3, dtype=int)[np.random.default_rng(0).integers(0, 3, 40)]
    frame = pl.DataFrame({"a": kinds[:, 0], "n": np.arange(40), "b": kinds[:, 1], "c": kinds[:, 2]})

    class Named:
        classes_ = np.array([0, 1])
        feature_names_in_ = np.array(["n", "c", "b", "a"])
        broken = asked = 0

        def predict(self, X: Any) -> Any:
            self.asked += len(X)
            self.broken += int((X["a"] + X["b"] + X["c"] != 1).sum())
            return X["a"].to_numpy()

    model, dummies = Named(), Perturbation(n_copies=4, together=(("a", "b", "c"),))
    measured(label_only_attack(model, *sides(frame[:20], kinds[:20, 0], frame[20:], kinds[20:, 0]), dummies))
    assert (model.asked, model.broken) == (40 + 4 * 40, 0)


@pytest.mark.parametrize("depth", [4, None])
def test_a_published_model_is_attacked_as_the_fitted_one(depth: int | None) -> None:
    data = noise(50, 1)
    # Without a depth, a single leaf, which tests no column.
    leaf = 1 if depth is not None else 100
    fitted = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, random_state=0).fit(*data[:2])
    found = [measured(label_only_attack(m, *sides(*data), FEW, random_state=0)) for m in (fitted, as_model(fitted))]
    assert found[0].to_dict() == found[1].to_dict()


def test_what_it_cannot_attack_it_says() -> None:
    data = noise(20, 0)

    class Broken:
        classes_ = np.array([0, 1])

        def predict(self, X: Any) -> Any:
            raise ValueError("no")

    assert isinstance(label_only_attack(Broken(), *sides(*data)), Failed)
    number = DecisionTreeRegressor(max_depth=1).fit(*data[:2])
    assert isinstance(label_only_attack(as_model(number), *sides(*data)), NotApplicable)
    tree = DecisionTreeClassifier(max_depth=2).fit(*data[:2])
    with pytest.raises(InvalidDataError, match="the data lack the column 'age'"):
        label_only_attack(tree, *sides(*data), Perturbation(together=(("age",),)))
    for wrong in ({"n_copies": 0}, {"share": 0.0}, {"share": float("nan")}, {"together": ((0, 1), (1, 2))}):
        with pytest.raises(InvalidParameterError):
            Perturbation(**wrong)


def test_of_many_records_some_are_attacked_and_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassine.attacks.membership.gap.MAX_RECORDS", 60)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.integers(0, 2, 150)
    tree = DecisionTreeClassifier(random_state=0).fit(X[:100], y[:100])
    found = measured(label_only_attack(tree, *sides(X[:100], y[:100], X[100:], y[100:]), random_state=0))
    assert (found.n_members, found.n_nonmembers) == (60, 50)
    monkeypatch.setattr("glassine.attacks.membership.label_only.MAX_RECORDS", 60)
    tree.n_trees = 200  # of an ensemble of many trees fewer, as each answer asks all of them
    fewer = measured(label_only_attack(tree, *sides(X[:100], y[:100], X[100:], y[100:]), random_state=0))
    assert (fewer.n_members, fewer.n_nonmembers) == (30, 30)
    assert "60 of 100 members and 50 of 50 non-members" in found.verdict
