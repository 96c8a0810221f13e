"""Fitted estimators read from files as they are."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier

from glassine.errors import UnreadableFileError, UnsupportedModelError
from glassine.formats.loading import load_estimator
from glassine.formats.sklearn.forest import forest_from_sklearn

# Large enough that chance would not agree with its seeds.
BITS = np.random.default_rng(0).integers(0, 2, (30, 4))
FOREST = RandomForestClassifier(12, random_state=0).fit(BITS, BITS[:, 0] ^ BITS[:, 1])


@pytest.mark.parametrize("kind", ["skops", "pickle"])
def test_a_forest_comes_back_with_its_seeds(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "forest"
    if kind == "skops":
        skops.io.dump(FOREST, path)
    else:
        path.write_bytes(pickle.dumps(FOREST))
    read = load_estimator(path, trust_pickle=kind == "pickle")
    assert forest_from_sklearn(read).multiplicities == forest_from_sklearn(FOREST).multiplicities is not None


def test_other_files_are_refused(tmp_path: Path) -> None:
    cases: list[tuple[bytes, type[Exception], str]] = [
        (pickle.dumps(FOREST), UnreadableFileError, "pickle is code"),
        (b"", UnreadableFileError, "is empty"),
        (b"PK\x03\x04 damaged", UnreadableFileError, "damaged"),
        (b'{"schema": "glassine.model/1"}', UnsupportedModelError, "no fitted estimator"),
    ]
    for data, error, text in cases:
        path = tmp_path / "file"
        path.write_bytes(data)
        with pytest.raises(error, match=text):
            load_estimator(path)
    missing: Any = tmp_path / "absent"
    with pytest.raises(UnreadableFileError, match="cannot read"):
        load_estimator(missing)
