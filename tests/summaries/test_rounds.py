"""Rounds: sums of residuals that one record moves by one, and the models that follow from them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from glassine import Category, Domain
from glassine.errors import InvalidModelError
from glassine.learners import PrivateSummary
from glassine.learners.summaries.additive_from_tables import fitted_scores
from glassine.learners.summaries.file import SummaryFile, digest
from glassine.learners.summaries.junction_tree import junction_tree
from glassine.learners.summaries.released import ReleasedSummary
from glassine.records.reading import read_settled
from glassine.sealed.binned import Binned
from tests.learners.sums import residual_sums
from tests.summaries.people import DOMAIN, people, summary

UNITS = 2**20
ENDS = np.array([0, 3, 5])


def largest_move(sums: Callable[..., Any], n_classes: int) -> float:
    """Return the largest squared l2 distance of the sums that one record makes, in units, over kinds of records."""
    rng = np.random.default_rng(0)
    outputs = 1 if n_classes == 2 else n_classes
    clip = 1.0 if n_classes == 2 else math.sqrt(2.0)
    worst = 0.0
    for scale in (0.1, 3.0, 40.0):
        scores = rng.normal(0.0, scale, (6, outputs))
        codes = np.stack([rng.integers(0, 3, 50), rng.integers(0, 2, 50)]).astype(np.uint8)
        values = rng.integers(0, n_classes, 50).astype(np.uint8)
        before = sums(Binned(codes=codes, values=values), None, scores, ENDS, clip, UNITS)
        for kind in np.ndindex(3, 2, n_classes):
            more = Binned(
                codes=np.column_stack([codes, np.array(kind[:2], dtype=np.uint8)]),
                values=np.append(values, np.uint8(kind[2])),
            )
            after = sums(more, None, scores, ENDS, clip, UNITS)
            worst = max(worst, float((((after - before) / UNITS) ** 2).sum()))
    return worst


def clipped_too_late(binned: Binned, times: Any, scores: Any, ends: Any, clip: float, units: int) -> Any:
    """Return sums whose units are those of half the clip that the noise is for."""
    return residual_sums(binned, times, scores, ends, clip, 2 * units)


def standardized(binned: Binned, times: Any, scores: Any, ends: Any, clip: float, units: int) -> Any:
    """Return sums under scores that follow the records: one record moves the residuals of all others."""
    first = np.arange(scores.shape[1]) == 0
    moved = scores + 0.5 * np.sin(1e3 * binned.values.astype(np.float64).mean()) * first
    return residual_sums(binned, times, moved, ends, clip, units)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_record_moves_the_sums_by_one_for_each_attribute_and_faults_are_found(n_classes: int) -> None:
    n_attributes = len(ENDS) - 1
    assert 0.9 * n_attributes < largest_move(residual_sums, n_classes) <= n_attributes
    assert largest_move(clipped_too_late, n_classes) > 2 * n_attributes
    assert largest_move(standardized, n_classes) > 2 * n_attributes


def test_records_that_are_counted_give_the_sums_of_records_one_by_one() -> None:
    rng = np.random.default_rng(1)
    few = Binned(codes=rng.integers(0, 2, (2, 30)).astype(np.uint8), values=rng.integers(0, 3, 30).astype(np.uint8))
    times = rng.integers(1, 9, 30)
    every = Binned(codes=np.repeat(few.codes, times, axis=1), values=np.repeat(few.values, times))
    scores = rng.normal(size=(6, 3))
    one_by_one = residual_sums(every, None, scores, ENDS, math.sqrt(2.0), UNITS)
    assert (residual_sums(few, times, scores, ENDS, math.sqrt(2.0), UNITS) == one_by_one).all()


def tripled(n: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """Return records three of whose attributes are mostly one: a tree holds two of the three dependences."""
    rng = np.random.default_rng(0)
    base = rng.random((n, 1)) < 0.5
    X = np.where(rng.random((n, 3)) < 0.12, ~base, base)
    X = np.column_stack([X, rng.random(n) < 0.5])
    chances = 1 / (1 + np.exp(-(1.5 * (X @ np.array([1.0, 1.0, -1.0, 1.0])) - 1.5)))
    return np.where(X, "v", "u").astype(object), (rng.random(n) < chances).astype(int)


def lacking(released: ReleasedSummary, scores: Any, X: Any, y: Any) -> float:
    """Return the largest mean residual of the records in any bin."""
    codes = np.stack([released.coarse[k].bin_of[(X[:, k] == "v").astype(int)] for k in released.useful])
    binned = Binned(codes=codes.astype(np.uint8), values=y.astype(np.uint8))
    sums = residual_sums(binned, None, scores, released.ends, 1.0, UNITS)[:, 0] / UNITS
    counts = np.concatenate([np.bincount(row) for row in codes])
    return float(np.abs(sums / counts).max())


def test_rounds_correct_what_the_tree_does_not_hold() -> None:
    X, y = tripled()
    domain = Domain({name: Category(("u", "v")) for name in "abcd"})
    fitted = PrivateSummary(epsilon=8.0, domain=domain, classes=(0, 1), random_state=0).fit(X, y)
    released = fitted.released_
    without = replace(released, rounds=())
    own, _ = fitted_scores(released, junction_tree(released))
    before, _ = fitted_scores(without, junction_tree(without))
    assert lacking(released, own, X, y) < 0.012
    assert lacking(released, own, X, y) < 0.5 * lacking(released, before, X, y)


@pytest.mark.slow
def test_errors_of_scores_are_those_of_repeated_fits() -> None:
    """The stated deviation of the noise is within a factor of two of that over fits, which sampling is not part of."""
    X, y = tripled()
    domain = Domain({name: Category(("u", "v")) for name in "abcd"})
    bins = {name: [["u"], ["v"]] for name in "abcd"}
    fits = [
        PrivateSummary(epsilon=1.0, domain=domain, classes=(0, 1), bins=bins, random_state=seed).fit(X, y)
        for seed in range(12)
    ]
    pairs = [
        fitted_scores(one.released_, junction_tree(one.released_)) for one in fits if len(one.released_.useful) == 4
    ]
    assert len(pairs) >= 8
    contrasts = np.array([scores[1:8:2, 0] - scores[:8:2, 0] for scores, _ in pairs])
    stated = np.mean([np.sqrt(errors[1:8:2, 0] ** 2 + errors[:8:2, 0] ** 2) for _, errors in pairs], axis=0)
    ratio = contrasts.std(axis=0, ddof=1) / stated
    assert 0.5 < np.sqrt((ratio**2).mean()) < 2.0


# Files.


def test_a_file_without_rounds_is_read_as_it_was(tmp_path: Path) -> None:
    fitted = summary()
    older = PrivateSummary(epsilon=4.0)
    for name, value in vars(fitted).items():
        setattr(older, name, value)
    older.released_ = replace(fitted.released_, rounds=())
    older.certificate_ = replace(fitted.certificate_, model=_digest(older))
    older.write(tmp_path / "old.json")
    assert "rounds" not in json.loads((tmp_path / "old.json").read_text())["released"]
    back = PrivateSummary.read(tmp_path / "old.json")
    assert back.additive() == older.additive() != fitted.additive()
    assert back.tree(2).literals == fitted.tree(2).literals


def _digest(fitted: Any) -> str:
    return digest(SummaryFile(domain=fitted.domain_, target=fitted._target, released=fitted.released_))


@pytest.mark.parametrize("part", ["scores", "sums"])
def test_a_round_of_another_shape_is_refused(part: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    summary().write(path)
    values = json.loads(path.read_text())
    values["released"]["rounds"][0][part].pop()
    path.write_text(json.dumps(values))
    with pytest.raises(InvalidModelError, match=f"{part} of a round in the summary must have the shape"):
        PrivateSummary.read(path)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_rounds_of_several_classes_rank_as_the_records_do(classes: int) -> None:
    frame, y = people(classes=classes, seed=1)
    chances = summary(classes=classes).additive().predict_proba(read_settled(frame, DOMAIN))
    for label in range(classes):
        assert roc_auc_score(y == label, chances[:, label]) > 0.88
