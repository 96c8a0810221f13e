"""The suite of membership attacks."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import parse_rules
from glassine.attacks import Failed, Measured, NotApplicable, Shadows, attack_membership
from glassine.attacks.membership.matching import codes_of_rows
from glassine.attacks.membership.outputs import LabelledRecords
from glassine.attacks.membership.suite import overlap
from glassine.data import Sample
from glassine.errors import InvalidDataError, InvalidParameterError
from tests.attacks.sides import sides


@pytest.mark.slow
def test_every_attack_on_breast_cancer_records() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X_in, X_out, y_in, y_out = train_test_split(X, y, test_size=0.3, random_state=0)
    tree = DecisionTreeClassifier(random_state=0).fit(X_in, y_in)
    steps: list[tuple[int, int]] = []
    found = attack_membership(
        tree,
        X_in,
        y_in,
        holdout=Sample(X_out, y_out),
        shadows=Shadows(DecisionTreeClassifier(), 8),
        random_state=0,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert (found.n_members, found.n_nonmembers, found.confidence) == (398, 171, 0.95)
    assert [result.attack for result in found.results] == [
        "gap attack",
        "best-loss threshold",
        "black-box attack",
        "label-only attack",
        "online likelihood-ratio attack",
        "offline likelihood-ratio attack",
        "online RMIA",
        "offline RMIA",
        "leaf-outcome attack",
    ]
    for result in found.results:
        name, value = result.baseline
        assert result.below_baseline == (result.balanced_accuracy.value < value - 1e-12)
        assert (f"less than its naive baseline, {name}" in result.verdict) == result.below_baseline
        assert result.shift is not None
        assert not result.shift.shifted
        assert result.low_rates[1].resolved is False
    assert isinstance(found.midpoint, Measured)
    assert found.midpoint.value.precision is not None
    assert found.midpoint.value.precision.value == 1.0
    assert isinstance(found.vulnerability, Measured)
    assert found.vulnerability.value.over == "leaves"
    assert found.strongest is not None
    assert found.strongest.advantage is not None
    assert found.midpoint.value.advantage is not None
    made = [*(result.advantage.value for result in found.results), found.midpoint.value.advantage.value]
    assert found.strongest.advantage.value == max(made)
    assert steps == [(i + 1, 17) for i in range(17)]
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["gap"]["value"]["roc_log_log"][-1] == [1.0, 1.0]
    assert told["shift"]["status"] == "measured"
    assert "gap attack" in repr(found)


@pytest.mark.slow
def test_a_rule_list_without_a_learner() -> None:
    rng = np.random.default_rng(0)
    rules = parse_rules("if [a] then [true] ([10 ; 30] examples)\nelse [false] ([30 ; 10] examples)")
    frame = pl.DataFrame({"a": rng.integers(0, 2, 160), "y": rng.integers(0, 2, 160)})
    found = attack_membership(rules, frame[:80], "y", holdout=Sample(frame[80:].to_pandas(), "y"), random_state=0)
    assert isinstance(found.lira_online, NotApplicable)
    assert isinstance(found.midpoint, NotApplicable)
    assert found.to_dict()["lira_online"]["status"] == "not applicable"
    assert len(found.results) == 5
    again = attack_membership(rules, frame[:80], "y", holdout=Sample(frame[80:], "y"), random_state=0)
    assert again.to_dict() == found.to_dict()


def test_of_a_regression_the_losses_and_the_thresholds_are_attacked() -> None:
    X = np.arange(40.0)[:, None]
    found = attack_membership(
        DecisionTreeRegressor().fit(X[:20], X[:20, 0]), X[:20], X[:20, 0], holdout=Sample(X[20:], X[20:, 0])
    )
    assert isinstance(found.best_loss, Measured)
    assert isinstance(found.leaf_outcomes, Measured)
    assert found.results == (found.best_loss.value, found.leaf_outcomes.value)
    assert isinstance(found.midpoint, Measured)
    assert found.strongest in (found.midpoint.value, *found.results)
    assert isinstance(found.gap, NotApplicable)
    assert isinstance(found.vulnerability, NotApplicable)
    assert "best-loss threshold, leaf-outcome attack detected" in repr(found)


def test_a_model_that_raises_fails_each_attack_and_not_the_suite() -> None:
    class Broken:
        classes_ = np.array([0, 1])

        def predict(self, X: object) -> None:
            raise RuntimeError("out of order")

    X, y = np.arange(40.0)[:, None], np.array([0, 1] * 20)
    found = attack_membership(Broken(), X[:20], y[:20], holdout=Sample(X[20:], y[20:]), random_state=0)
    assert isinstance(found.gap, Failed)
    assert isinstance(found.vulnerability, Failed)
    assert isinstance(found.midpoint, NotApplicable)
    assert isinstance(found.shift, Measured)


def frames(n: int = 120) -> tuple[pd.DataFrame, npt.NDArray[Any], pd.DataFrame, npt.NDArray[Any]]:
    rng = np.random.default_rng(0)
    sides = [
        pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(list("xyz"), n)}) for _ in "io"
    ]
    return sides[0], rng.integers(0, 2, n), sides[1], rng.integers(0, 2, n)


def pipeline(X: pd.DataFrame, y: npt.NDArray[Any]) -> Any:
    encoder = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    return make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param(pd.DataFrame, marks=pytest.mark.slow), pl.DataFrame])
def test_columns_in_another_order_or_unknown_to_the_model(kind: Any) -> None:
    X_in, y_in, X_out, y_out = frames()
    for model, names in (
        (DecisionTreeClassifier(random_state=0).fit(X_in[["a", "b"]], y_in), ["a", "b"]),
        (pipeline(X_in, y_in), ["a", "b", "c"]),
    ):
        plain = attack_membership(
            model, kind(X_in[names]), y_in, holdout=Sample(kind(X_out[names]), y_out), random_state=0
        )
        assert isinstance(plain.gap, Measured)
        turned = [kind(side[names[::-1]].assign(id=range(len(side)))) for side in (X_in, X_out)]
        found = attack_membership(model, turned[0], y_in, holdout=Sample(turned[1], y_out), random_state=0)
        for name in ("gap", "best_loss", "midpoint", "vulnerability"):
            one, other = getattr(plain, name), getattr(found, name)
            assert isinstance(other, Measured), (name, other)
            if name == "vulnerability":
                assert one.value.vulnerability.value == other.value.vulnerability.value
            elif name == "midpoint":
                assert set(one.value.accused) == set(other.value.accused)
            else:
                assert one.value.advantage.value == other.value.advantage.value


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.assign(c=["new"] * len(X)),
        lambda X: X.assign(c=None),
        lambda X: X.assign(a=np.inf),
        lambda X: X.drop(columns="c"),
    ],
)
def test_records_that_the_model_cannot_take_fail_each_attack_and_not_the_suite(change: Any) -> None:
    X_in, y_in, X_out, y_out = frames()
    model = pipeline(X_in, y_in)
    members = X_in.drop(columns="c") if "c" not in change(X_out) else X_in
    found = attack_membership(
        model, members, y_in, holdout=Sample(change(X_out), y_out), shadows=Shadows(model, n_shadows=4), random_state=0
    )
    for name in ("gap", "best_loss", "black_box", "label_only", "vulnerability", "lira_online"):
        outcome = getattr(found, name)
        assert isinstance(outcome, Failed), name
        assert "did not answer" in outcome.reason
    assert isinstance(found.shift, Measured)
    assert isinstance(found.midpoint, Failed | Measured)


@pytest.mark.slow
def test_an_error_of_one_attack_does_not_lose_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    X_in, y_in, X_out, y_out = frames()
    tree = DecisionTreeClassifier(random_state=0).fit(X_in[["a", "b"]], y_in)
    monkeypatch.setattr("glassine.attacks.membership.midpoint.splits_of", lambda *given: 1 / 0)
    found = attack_membership(tree, X_in[["a", "b"]], y_in, holdout=Sample(X_out[["a", "b"]], y_out), random_state=0)
    assert isinstance(found.midpoint, Failed)
    assert "broke off: ZeroDivisionError" in found.midpoint.reason
    assert isinstance(found.gap, Measured)


@pytest.mark.slow
def test_a_column_without_any_value_takes_the_type_of_the_other_side() -> None:
    X_in, y_in, X_out, y_out = frames()
    tree = DecisionTreeClassifier(random_state=0).fit(X_in[["a", "b"]], y_in)
    sides = [pl.DataFrame(side[["a", "b"]]) for side in (X_in, X_out)]
    for kind in (pl.String, pl.Null, pl.Int64):
        empty = sides[1].with_columns(pl.lit(None, dtype=kind).alias("b"))
        for given in ((sides[0], empty), (empty, sides[0])):
            found = attack_membership(tree, given[0], y_in, holdout=Sample(given[1], y_out), random_state=0)
            assert isinstance(found.gap, Measured), found.gap
            assert isinstance(found.midpoint, Measured)


@pytest.mark.slow
def test_classes_as_text_on_one_side_alone() -> None:
    X_in, y_in, X_out, y_out = frames()
    X_in, X_out = X_in[["a", "b"]], X_out[["a", "b"]]
    tree = DecisionTreeClassifier(random_state=0).fit(X_in, y_in)
    options: Any = {"shadows": Shadows(DecisionTreeClassifier(), 4), "random_state": 0}
    plain = attack_membership(tree, X_in, y_in, holdout=Sample(X_out, y_out), **options).to_dict()
    for given in ((y_in, y_out.astype(str)), (y_in.astype(str), y_out), (y_in.astype(str), y_out.astype(str))):
        found = attack_membership(tree, X_in, given[0], holdout=Sample(X_out, given[1]), **options).to_dict()
        for name in ("gap", "best_loss", "lira_online", "rmia_online", "vulnerability", "overlap"):
            if name == "vulnerability":
                assert found[name]["value"]["vulnerability"] == plain[name]["value"]["vulnerability"]
            else:
                assert found[name] == plain[name], name


@pytest.mark.slow
def test_a_holdout_that_holds_members_is_suspicious() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1200, 3)), rng.integers(0, 2, 1200)
    assert overlap(Sample(X[:600], y[:600]), Sample(X[600:], y[600:])).n_shared == 0
    for first, suspicious in ((0, True), (60, True), (540, True), (599, False)):
        found = overlap(Sample(X[:600], y[:600]), Sample(X[first : first + 600], y[first : first + 600]))
        assert (found.n_shared, found.suspicious) == (600 - first, suspicious)
        assert found.statement.startswith("The holdout seems to hold members") == suspicious
        assert str(found.n_shared) not in found.statement.replace("%", "") or found.n_shared < 10
    # A record of another class is another record.
    assert overlap(Sample(X[:600], y[:600]), Sample(X[:600], 1 - y[:600])).n_shared == 0
    tree = DecisionTreeClassifier(random_state=0).fit(X[:600], y[:600])
    suite = attack_membership(tree, X[:600], y[:600], holdout=Sample(X[60:660], y[60:660]), random_state=0)
    assert suite.overlap.suspicious
    assert suite.to_dict()["overlap"]["n_shared"] == 540
    assert isinstance(suite.shift, Measured)
    assert suite.shift.value.alike


@pytest.mark.slow
def test_duplicates_by_nature_are_no_overlap() -> None:
    wrong = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 3, (700, 4)), rng.integers(0, 2, 700)
        found = overlap(Sample(X[:400], y[:400]), Sample(X[400:], y[400:]))
        assert found.n_shared > 100
        wrong += found.suspicious
    # Each is wrong with a chance of at most 1 in 200; four of a hundred have one of 0.2 %.
    assert wrong < 4
    # Households that stay together are shared less than by chance.
    rng, y = np.random.default_rng(0), np.array([0, 1] * 350)
    X = np.repeat(rng.normal(size=(350, 2)), 2, axis=0)
    assert not overlap(Sample(X[:400], y[:400]), Sample(X[400:], y[400:])).suspicious
    frame = pl.DataFrame({"t": ["x", None, "y", None] * 50, "v": [1.0, 2.0, None, 4.0] * 50, "y": [0, 1] * 100})
    assert overlap(Sample(frame, "y"), Sample(frame, "y")).n_shared == 200


def test_bad_parameters_are_refused_at_once() -> None:
    X, y = np.arange(40.0)[:, None], np.array([0, 1] * 20)
    tree = DecisionTreeClassifier().fit(X, y)
    data = X[:20], y[:20], X[20:], y[20:]
    with pytest.raises(InvalidParameterError, match="confidence"):
        attack_membership(tree, sides(*data)[0], holdout=sides(*data)[1], confidence=95)
    with pytest.raises(InvalidParameterError, match="n_shadows"):
        attack_membership(tree, sides(*data)[0], holdout=sides(*data)[1], shadows=Shadows(tree, 1))
    with pytest.raises(InvalidParameterError, match="progress"):
        attack_membership(tree, sides(*data)[0], holdout=sides(*data)[1], progress=True)  # type: ignore[arg-type]
    with pytest.raises(InvalidDataError, match="non-members"):
        attack_membership(tree, X, y, holdout=Sample([], []))


@pytest.mark.parametrize("meet", [False, True])
def test_rows_have_one_code_where_they_are_equal_even_if_marks_meet(
    meet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if meet:
        monkeypatch.setattr("glassine.attacks.membership.matching._mixed", np.zeros_like)
    rng = np.random.default_rng(0)
    numbers, texts = rng.choice([0.0, -0.0, np.nan, 1.5], 300), rng.choice(["x", "y", "z"], 300)
    native = pd.DataFrame({"a": numbers, "b": rng.integers(-1, 2, 300), "c": texts})
    codes = codes_of_rows(LabelledRecords(native, rng.integers(0, 2, 300)))
    rows = [(None if np.isnan(a) else abs(a), b, c) for a, b, c in native.itertuples(index=False)]
    partition = {(row, code) for row, code in zip(rows, codes.tolist(), strict=True)}
    assert len(partition) == len(set(rows)) == len(set(codes.tolist()))
