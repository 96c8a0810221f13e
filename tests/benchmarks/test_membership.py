"""Membership attacks beside their peers: the page prints what is stored, and RMIA finds what a tree memorizes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

membership: Any = importlib.import_module("benchmarks.membership")


def test_the_page_prints_the_stored_rows() -> None:
    text, stored = membership.PAGE.read_text(), membership.read(membership.RESULTS)
    assert membership.filled(text, stored) == text, "run benchmarks/membership.py --page"
    assert membership.filled(text, [{**stored[0], "area": "0.9"}, *stored[1:]]) != text
    assert "**worse**" not in membership.judged(stored) or "## Where we lose" in text


def test_every_stored_row_is_one_attack_within_its_range() -> None:
    stored = membership.read(membership.RESULTS)
    assert sorted(stored, key=membership.key) == stored
    assert len({membership.key(row) for row in stored}) == len(stored)
    assert set(membership.ATTACKS) <= {row["attack"] for row in stored} <= set(membership.NAMES)
    for row in stored:
        assert 0 <= float(row["tpr at 1%"]) <= 1
        assert 0.4 < float(row["area"]) <= 1
        # Attacks that find nothing in a model of neither side have a half, up to chance.
        assert row["target"] == "members" or float(row["area"]) < 0.54


@pytest.mark.parametrize("attack", ["Privacy Meter RMIA, online", "Privacy Meter RMIA, offline", membership.COMBINED])
def test_shadow_trees_find_the_members_of_a_tree_of_random_classes(
    attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "SIDE", 150)
    monkeypatch.setattr(membership, "SHADOWS", 8)
    rng = np.random.default_rng(0)
    Z, y = rng.random((600, 3)), rng.integers(0, 2, 600)
    parts = membership.parts_of(len(y), 0)
    areas = []
    for rows in (parts[0], parts[3]):
        tree = membership.grown("grown to the end", Z, y, rows)
        areas.append(membership.ATTACKS[attack](tree, Z, y, parts, 0)[0])
    assert areas[0] > 0.7
    assert abs(areas[1] - 0.5) < 0.1


def test_the_usual_probability_is_pulled_towards_one() -> None:
    assert membership.offline(np.array([0.0, 0.5, 1.0])) == pytest.approx([0.35, 0.675, 1.0])


def stored_rows(ours: list[float], theirs: list[float]) -> list[dict[str, str]]:
    """Return rows of one attack of each side on the deep tree, with controls of a half."""
    rows = []
    for attack in membership.NAMES:
        areas = theirs if attack == "Privacy Meter RMIA, offline" else ours if attack == "loss" else [0.5] * 5
        for split, area in enumerate(areas):
            for tree in membership.TREES:
                head = {"tree": tree, "attack": attack, "split": str(split), "tpr at 1%": "0.01"}
                rows.append({**head, "target": "members", "area": str(area)})
                rows.append({**head, "target": "control", "area": "0.5"})
    return rows


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [
        ([0.61, 0.62, 0.60, 0.61, 0.62], [0.60, 0.61, 0.59, 0.60, 0.61], "better"),
        ([0.60, 0.61, 0.59, 0.60, 0.61], [0.61, 0.62, 0.60, 0.61, 0.62], "**worse**"),
        # Beyond chance, and below the margin.
        ([0.614, 0.624, 0.604, 0.614, 0.624], [0.61, 0.62, 0.60, 0.61, 0.62], "tied"),
    ],
)
def test_a_case_has_its_verdict_by_a_margin_and_an_interval(ours: list[float], theirs: list[float], word: str) -> None:
    lines = membership.judged(stored_rows(ours, theirs)).splitlines()
    line = next(line for line in lines if "| area | loss | Privacy Meter RMIA, offline |" in line)
    assert line.endswith(f"| {word} |")


def test_the_combination_finds_more_than_the_attacks_that_it_weighs() -> None:
    stored = membership.read(membership.RESULTS)
    for measure in membership.MEASURES:
        best = membership.best_of_ours(stored, "grown to the end", measure)
        line = f"| grown to the end | {measure} | {membership.COMBINED} | {best} |"
        (found,) = [each for each in membership.judged(stored).splitlines() if each.startswith(line)]
        assert found.endswith("| better |")


def test_the_page_says_what_the_quantile_attack_found_where_it_ran() -> None:
    stored = membership.read(membership.RESULTS)
    deep = {"tree": "grown to the end", "target": "members"}
    (found,) = membership.select(stored, attack="SACRO-ML QMIA", **deep)
    areas = [
        float(membership.select(stored, attack=attack, split=found["split"], **deep)[0]["area"])
        for attack in ("SACRO-ML QMIA", "loss", "RMIA, online")
    ]
    text = "its area is {:.3f}; there the loss attack has {:.3f}, and online RMIA {:.3f}".format(*areas)
    assert text in membership.PAGE.read_text()


def test_the_sentences_on_likelihood_ratios_are_those_of_the_rows() -> None:
    text, stored = " ".join(membership.PAGE.read_text().split()), membership.read(membership.RESULTS)

    def gap(tree: str, measure: str, ours: str, theirs: str) -> Any:
        sides = [membership.beyond_control(stored, measure, tree, attack) for attack in (ours, theirs)]
        return membership.clustered("", {split: [sides[0][split] - sides[1][split]] for split in sides[0]})

    def mean(tree: str, measure: str, attack: str) -> float:
        found = membership.by_split(stored, measure, tree=tree, attack=attack, target="members")
        return float(np.mean(list(found.values())))

    shallow, deep = membership.TREES
    gaps = [
        min((gap(tree, "area", "RMIA, online", other) for other in membership.LIKELIHOOD_RATIOS), key=lambda g: g.mean)
        for tree in (shallow, deep)
    ]
    assert all(each.low > 0 and each.mean > membership.MEASURES["area"] for each in gaps)
    assert f"{gaps[0].mean:.3f} and {gaps[1].mean:.3f} of area above the better likelihood ratio attack" in text
    assert max(membership.OURS, key=lambda attack: mean(shallow, "tpr at 1%", attack)) == "RMIA, online"
    assert {membership.best_of_ours(stored, tree, "area") for tree in (shallow, deep)} == {"RMIA, online"}
    offline = gap(deep, "area", "RMIA, offline", "likelihood ratio, offline")
    assert abs(offline.mean) < membership.MEASURES["area"] or offline.low < 0 < offline.high
    assert "Offline, both are tied on the tree grown to the end" in text
    low, high = sorted(mean(deep, "tpr at 1%", f"RMIA, {kind}") for kind in ("online", "offline"))
    assert f"finds {mean(deep, 'tpr at 1%', 'midpoints'):.3f} where RMIA finds {low:.3f} to {high:.3f}" in text
