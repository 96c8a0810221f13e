"""The kept results of boosting reproduce the published tables, but for the rows that the page names."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest

from papers.common.judging import CONFIRMED, INCOMPARABLE, REFUTED, UNSUPPORTED, verdict

HERE = Path(__file__).resolve().parents[2] / "papers" / "dp-ebm"
NAMED = {("pol", "1"), ("pol", "2"), ("pol", "4")}
"""Rows of classic accounting that the page says are missed."""


def read(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(("table", "measure", "sign"), [(2, "auroc", -1), (3, "rmse", 1)])
@pytest.mark.parametrize(
    ("method", "printed"), [("boosting gdp", "DP-EBM GDP"), ("boosting classic", "DP-EBM classic")]
)
def test_boosting_is_within_two_published_deviations(
    table: int, measure: str, sign: int, method: str, printed: str
) -> None:
    published = {(row["dataset"], row["epsilon"], row["method"]): row for row in read(f"published_table_{table}.csv")}
    worse = set()
    found = [row for row in read(f"results/table_{table}.csv") if (row["method"], row["measure"]) == (method, measure)]
    assert len(found) == 5 * {2: 2, 3: 4}[table]
    for row in found:
        paper = published[row["dataset"], row["epsilon"], printed]
        # The paper prints Elevators with three digits and no deviation.
        rounding = 0.0005 if row["dataset"] == "elevators" else 0.0
        room = 2 * float(paper[f"{measure}_sd"]) + rounding
        if sign * (float(row["mean"]) - float(paper[f"{measure}_mean"])) > room:
            worse.add((row["dataset"], row["epsilon"]))
    assert worse == (NAMED if table == 3 and method == "boosting classic" else set())


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import a module of the folder anew: other papers have modules of the same names."""
    monkeypatch.syspath_prepend(str(HERE))
    for known in ("study", "claims", "shapes", "figures", "rivals"):
        monkeypatch.delitem(sys.modules, known, raising=False)
    return importlib.import_module(name)


def test_our_models_without_privacy_stand_in_both_tables() -> None:
    rows = read("results/table_2.csv") + read("results/table_3.csv")
    without = {(row["dataset"], row["method"], row["splits"]) for row in rows if row["epsilon"] == "inf"}
    datasets = ("adult", "telco", "california", "elevators", "pol", "wine")
    assert without == {(data, f"ordinary {form}", "5") for data in datasets for form in ("penalized", "boosting")}


@pytest.mark.parametrize("table", [2, 3])
def test_every_stored_method_is_one_that_is_measured(table: int, monkeypatch: pytest.MonkeyPatch) -> None:
    study: Any = module("study", monkeypatch)
    known = {(method.name, method.private) for method in study.METHODS}
    rows = read(f"results/table_{table}.csv")
    assert {(row["method"], row["epsilon"] != "inf") for row in rows} == known


def test_figure_5_draws_the_stored_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: Any = module("shapes", monkeypatch)
    figures: Any = module("figures", monkeypatch)
    rows = {row["method"]: row for row in read("results/figure_5.csv")}
    jumps = {row["method"]: row for row in read("results/shapes.csv") if row["seed"] == shapes.SEEDS[0]}
    assert list(rows) == list(shapes.METHODS)
    low, high, shape = shapes.read_shape(rows["EBM, no bagging"]["age"])
    assert (low, high, len(shape)) == (17, 90, shapes.POINTS)
    variation = float(np.abs(np.diff(shape)).sum())
    assert variation == pytest.approx(float(jumps["EBM, no bagging"]["age variation"]), rel=0.05)
    claims: Any = module("claims", monkeypatch)
    found = claims.evidence(HERE / "results")
    for row in claims._drawn(found):
        for name in ("age", "capital-gain") if row["method"] in jumps else ():
            kept = float(jumps[row["method"]][f"{name} variation"])
            assert float(row[f"{name} variation"]) == pytest.approx(kept, rel=0.01), (row["method"], name)
    figures.figure_5(HERE / "results", tmp_path)
    text = (tmp_path / "figure-5.svg").read_text()
    assert text.count("EBM, no bagging") >= 1
    assert "capital-gain" in text


def test_every_rival_is_stored_at_every_budget_and_split(monkeypatch: pytest.MonkeyPatch) -> None:
    rivals: Any = module("rivals", monkeypatch)
    rows = read("results/rivals.csv")
    assert [{name: row[name] for name in rivals.every_key()[0]} for row in rows] == rivals.every_key()
    means: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["epsilon"] == rivals.NON_PRIVATE:
            key = row["dataset"], row["method"]
            means[key] = means.get(key, 0.0) + float(row["value"]) / len(rivals.SPLITS)
    ahead = {
        data
        for data in (*rivals.CLASSES, *rivals.NUMBERS)
        if (means[data, rivals.BOOSTED] > means[data, rivals.ADDITIVE]) == (data in rivals.CLASSES)
    }
    text = (HERE.parents[1] / "docs" / "papers" / "dp-ebm.md").read_text()
    assert "LightGBM is ahead of the EBM on all but Telco, on Adult within chance." in text
    assert ahead == {*rivals.CLASSES, *rivals.NUMBERS} - {"telco"}


@pytest.mark.parametrize(
    ("planted", "verdict_of"),
    [
        ({}, CONFIRMED),
        # A lead within chance is no lead.
        ({"elevators": [0.01, -0.009, 0.01, -0.009, 0.001]}, UNSUPPORTED),
        ({data: [-1.0, -1.1, -0.9, -1.0, -1.05] for data in ("california", "elevators", "wine")}, UNSUPPORTED),
    ],
)
def test_that_lightgbm_is_ahead_needs_more_than_half_beyond_chance(
    planted: dict[str, list[float]], verdict_of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims: Any = module("claims", monkeypatch)
    found = claims.evidence(HERE / "results")
    judged = claims.without_privacy(dataclasses.replace(found, boosted={**found.boosted, **planted}))
    assert verdict(judged.rule, judged.comparisons) == verdict_of
    assert [each.name.startswith("in print") for each in judged.comparisons] == [True, False]
    behind = {data: [-1.0, -1.1, -0.9, -1.0, -1.05] for data in found.boosted}
    here = claims.without_privacy(dataclasses.replace(found, boosted=behind)).comparisons[1:]
    assert verdict(judged.rule, here) == REFUTED


def test_what_both_stages_cost_never_exceeds_the_claim_so_that_it_confirms_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claims: Any = module("claims", monkeypatch)
    judged = claims.split_budget(claims.evidence(HERE / "results"))
    assert verdict(judged.rule, judged.comparisons) == INCOMPARABLE


def test_one_rival_ahead_here_refutes_all_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    claims: Any = module("claims", monkeypatch)
    found = claims.evidence(HERE / "results")
    planted = {name: dict(table) for name, table in found.rivals.items()}
    planted["auroc"]["telco", "8", claims.LINEAR["auroc"]] = (0.99, 0.001)
    for rivals, judged in ((found.rivals, CONFIRMED), (planted, REFUTED)):
        judgement = claims.outperform_gdp(dataclasses.replace(found, rivals=rivals))
        assert verdict(judgement.rule, judgement.comparisons) == judged


def test_a_shape_is_the_log_odds_as_one_attribute_runs_through_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: Any = module("shapes", monkeypatch)
    frame = pl.DataFrame({"a": [3.0, 0.0, 1.0], "b": [0.5, 9.0, 9.0]})

    class Known:
        def predict_proba(self, rows: pl.DataFrame) -> Any:
            chance = 1 / (1 + np.exp(-(np.abs(rows["a"].to_numpy() - 1) + rows["b"].to_numpy())))
            return np.stack([1 - chance, chance], axis=1)

    shape = shapes.shape_of(Known(), frame, "a", pandas=False)
    # From 0 down to 1 and up to 3, the other attribute as in the first record.
    assert shape[0] == pytest.approx(1.5)
    assert shape[-1] == pytest.approx(2.5)
    assert np.abs(np.diff(shape)).sum() == pytest.approx(3.0, abs=0.02)


@pytest.mark.parametrize(
    ("private", "held"), [((1.0, 1.1, 0.9, 1.0, 1.2), CONFIRMED), ((9.0, 9.9, 8.1, 9.0, 9.5), REFUTED)]
)
def test_that_noise_makes_shapes_smoother_can_be_refuted(
    private: tuple[float, ...], held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims: Any = module("claims", monkeypatch)
    found = claims.evidence(HERE / "results")
    rows = [
        {"seed": str(seed), "method": method, "age variation": f"{variation}", "age range": "1"}
        for method, variations in {
            "DP-EBM, epsilon 4": private,
            "boosting without noise": (3.0, 3.1, 3.0, 2.9, 3.2),
            "EBM, no bagging": (4.0, 4.2, 4.1, 3.9, 4.0),
        }.items()
        for seed, variation in enumerate(variations)
    ]
    drawn = [
        {"method": method, "age": " ".join(["0", "1", *(f"{step % 2}x1" for step in range(round(variation) + 1))])}
        for method, variation in (("DP-EBM, epsilon 4", private[0]), ("EBM, 25 bags", 3.0))
    ]
    judged = claims.smoother(dataclasses.replace(found, shapes=rows, drawn=drawn))
    assert verdict(judged.rule, judged.comparisons) == held
    assert verdict(judged.rule, claims.smoother(dataclasses.replace(found, shapes=[])).comparisons) == UNSUPPORTED
