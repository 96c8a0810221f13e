"""Forests learnt from COMPAS records give them back."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from glassine import Domain
from glassine.attacks import Failed, Measured
from glassine.attacks.reconstruction.record_reconstruction import reconstruct_records
from glassine.attacks.reconstruction.systems import Search
from tests.oracles import compas

pytestmark = [pytest.mark.data, pytest.mark.slow]


def sample(data_dir: Path, n: int, seed: int) -> tuple[pd.DataFrame, Any, Domain]:
    names, table, labels = compas.read(data_dir)
    rows = np.random.default_rng(seed).choice(len(labels), n, replace=False)
    return pd.DataFrame(table[rows], columns=names), labels[rows], compas.domain(names)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fifty_trees_give_fifty_records_back(data_dir: Path, seed: int) -> None:
    frame, labels, domain = sample(data_dir, 50, seed)
    forest = RandomForestClassifier(50, bootstrap=False, random_state=seed).fit(frame, labels)
    started = time.monotonic()
    outcome = reconstruct_records(forest, domain, random_state=0, search=Search(workers=2))
    assert time.monotonic() - started < 60
    assert isinstance(outcome, Measured)
    rebuilt = outcome.value
    assert rebuilt.status == "unique"
    assert rebuilt.n_certain == 50
    assert rebuilt.reproduced
    estimate = rebuilt.error_to(frame, random_state=0)
    assert estimate.error == 0
    assert estimate.baseline > 0.15


def test_counts_alone_leave_only_values_that_no_tree_tells_apart(data_dir: Path) -> None:
    frame, labels, domain = sample(data_dir, 50, 0)
    forest = RandomForestClassifier(50, bootstrap=False, random_state=0).fit(frame, labels)
    outcome = reconstruct_records(forest, domain, use_seeds=False, random_state=0, search=Search(workers=2))
    assert isinstance(outcome, Measured)
    assert outcome.value.status == "unique"
    assert outcome.value.reproduced is None
    assert (outcome.value.n_whole or 0) >= 40
    assert outcome.value.error_to(frame, random_state=0).error < 0.01


def test_groups_are_not_needed(data_dir: Path) -> None:
    frame, labels, domain = sample(data_dir, 25, 0)
    forest = RandomForestClassifier(50, bootstrap=False, random_state=0).fit(frame, labels)
    outcome = reconstruct_records(
        forest, Domain.binary(domain.names), random_state=0, search=Search(time_limit=300, workers=2)
    )
    assert isinstance(outcome, Measured)
    assert outcome.value.error_to(frame, random_state=0).error < 0.1


def test_bootstrap_with_its_seeds_gives_records_in_order(data_dir: Path) -> None:
    frame, labels, domain = sample(data_dir, 50, 0)
    forest = RandomForestClassifier(50, random_state=0).fit(frame, labels)
    outcome = reconstruct_records(forest, domain, random_state=0, search=Search(workers=2))
    assert isinstance(outcome, Measured)
    assert outcome.value.status == "unique"
    assert outcome.value.reproduced
    assert outcome.value.error_in_order(frame) == 0


def test_time_out_is_not_solved(data_dir: Path) -> None:
    frame, labels, domain = sample(data_dir, 50, 0)
    forest = RandomForestClassifier(50, bootstrap=False, random_state=0).fit(frame, labels)
    outcome = reconstruct_records(forest, domain, search=Search(time_limit=0.01))
    assert isinstance(outcome, Failed)
    assert "not solved within 0.01 s" in outcome.reason
