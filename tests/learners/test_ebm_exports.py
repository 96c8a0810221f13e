"""What a fit with pairs and gaps publishes: the cells hold who was counted, and every export predicts the same."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from glassine import Binary, Category, Domain, Integer, Real
from glassine.formats import to_python, to_sql
from glassine.formats.json import from_dict, to_dict
from glassine.learners import PrivateEBMClassifier, PrivateEBMRegressor
from glassine.models import AdditiveModel
from glassine.models.additive_scores import bin_indices

DOMAIN = Domain(
    {
        "x": Integer(-5, 60, missing=True),
        "z": Real(-1.0, 1.0, missing=True),
        "k": Category(("a", "b'c", 'd"e', "ü", "rare"), missing=True),
        "b": Binary(missing=True),
    }
)


def records(n: int = 1500) -> pl.DataFrame:
    """Return records with gaps everywhere and a category that is not declared."""
    rng = np.random.default_rng(0)
    names = np.array(["a", "b'c", 'd"e', "ü", "undeclared", None], dtype=object)
    return pl.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, rng.integers(-5, 61, n)),
            "z": np.where(rng.random(n) < 0.2, np.nan, rng.normal(0, 0.5, n)),
            "k": pl.Series(rng.choice(names, n).tolist(), dtype=pl.String),
            "b": pl.Series(rng.choice(np.array([0, 1, None], dtype=object), n).tolist(), dtype=pl.Int64),
        }
    )


@pytest.mark.parametrize("classes", [0, pytest.param(2, marks=pytest.mark.slow), 3])
def test_cells_hold_who_was_counted_and_exports_agree(classes: int) -> None:
    frame = records()
    y = frame["z"].fill_nan(0.3).to_numpy() + frame["k"].is_null().to_numpy()
    given: dict[str, Any] = {
        "domain": DOMAIN,
        "interactions": [("z", "k"), ("x", "b")],
        "bins": {"k": [["a", None], ["b'c", 'd"e'], ["ü", "rare"]], "x": [0, 20, 40], "z": [-0.5, 0.0, 0.5]},
    }
    fitted: Any
    if classes:
        fitted = PrivateEBMClassifier(epsilon=1000.0, classes=tuple(range(classes)), **given)
        fitted.fit(frame, np.digitize(y, [0.0, 0.5][: classes - 1]))
    else:
        fitted = PrivateEBMRegressor(epsilon=1000.0, target_range=(-2, 3), **given).fit(frame, y)
    model, expected = fitted.model_, fitted.predict(frame).tolist()
    assert [len(term.bins) for term in model.terms] == [1, 1, 1, 1, 2, 2]
    for term, cells in zip(model.terms, bin_indices(model, frame), strict=True):
        counted = np.bincount(cells, minlength=term.weights.size).reshape(term.shape)
        # The noise of a count is below one record.
        assert np.abs(term.weights - counted).max() < 6
    back = from_dict(json.loads(json.dumps(to_dict(model))))
    assert back == model
    assert isinstance(back, AdditiveModel)
    assert back.predict(frame).tolist() == expected
    space: dict[str, Any] = {}
    exec(to_python(model), space)  # noqa: S102 - the source is what the test is about
    assert [space["predict"](row) for row in frame.to_dicts()] == expected
    table = frame.with_columns(pl.col("x", "z").fill_nan(None)).with_row_index("place")
    with duckdb.connect() as engine:
        engine.register("people", table.to_arrow())
        found = engine.sql(f"SELECT prediction FROM ({to_sql(model, table='people')}) ORDER BY place").fetchall()  # noqa: S608 - of the model
    assert [value for (value,) in found] == expected
