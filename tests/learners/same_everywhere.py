"""What holds of every engine: the same counts, models, audits and refusals as of records in memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from glassine import Domain, audit
from glassine.data.count_table import CountTable, bin_histograms, conjunction_counts
from glassine.domain import Binary, Category, Integer
from glassine.errors import InvalidDataError
from glassine.learners import OptimalTreeClassifier, PrivateTreeClassifier
from tests.counting.test_records import content
from tests.learners.fitting_everywhere import DOMAIN, GIVEN, learners, model_text, sample

N = 500
CUTS = {"age": (20.5, 30.0, 118.0), "dose": (0.25,), "weight": tuple(np.linspace(41.0, 150.0, 20))}
FINE = {"weight": tuple(np.linspace(40.0, 160.0, 4097)[1:-1]), "dose": tuple(np.linspace(0.0, 1.0, 50) ** 2)}
AUDITED = ("private tree", "optimal rule list")


def same_counts(frame: Any, records: pl.DataFrame) -> None:
    """Check tables, histograms and conjunctions of a frame against those of records in memory."""
    for cuts in (None, CUTS):
        table = CountTable.from_frame(frame, DOMAIN, cuts=cuts)
        assert content(table) == content(CountTable.from_frame(records, DOMAIN, cuts=cuts))
    for cuts in (CUTS, FINE):
        found, expected = bin_histograms(frame, DOMAIN, cuts), bin_histograms(records, DOMAIN, cuts)
        assert {name: counts.tolist() for name, counts in found.items()} == {k: v.tolist() for k, v in expected.items()}
    joint = conjunction_counts(frame, DOMAIN, GIVEN, 3, target="sick")
    assert joint.table.tolist() == conjunction_counts(records, DOMAIN, GIVEN, 3, target="sick").table.tolist()


def same_refusals(make: Any) -> None:
    """Check that gaps, unknown classes and what would have to be collected are refused, by ``make``'s engine."""
    gap = sample(N).with_columns(pl.when(pl.col("dose") > 1.2).then(None).otherwise(pl.col("dose")).alias("dose"))
    unknown = sample(N).with_columns(pl.when(pl.col("age") > 100).then(pl.lit("w")).otherwise("sick").alias("sick"))
    for records, said in ((gap, "column 'dose' holds a missing value"), (unknown, "not one of the declared")):
        with pytest.raises(InvalidDataError, match=said):
            OptimalTreeClassifier(1, domain=DOMAIN).fit(make(records), "sick")
    with pytest.raises(InvalidDataError, match="is not collected"):
        OptimalTreeClassifier(1).fit(make(sample(N)), "sick")
    with pytest.raises(InvalidDataError, match="is not collected"):
        OptimalTreeClassifier(1, domain=DOMAIN).fit(make(sample(N).drop("sick")), sample(N)["sick"].to_numpy())


def plain(n: int = 40) -> tuple[Domain, pl.DataFrame]:
    """Return a domain, and records that keep it."""
    domain = Domain({"a": Binary(), "n": Integer(0, 9), "t": Category(("u", "v"))})
    frame = pl.DataFrame({"a": [0, 1] * (n // 2), "n": [1, 2, 3, 4] * (n // 4), "t": ["u", "v"] * (n // 2)})
    return domain, frame


THIRD = pl.col("n") == 3
ODD = [
    (pl.lit(None).cast(pl.Float64).alias("n"), "column 'n' holds a missing value"),
    (pl.when(THIRD).then(None).otherwise(pl.col("n")).alias("n"), "column 'n' holds a missing value"),
    (pl.when(THIRD).then(math.inf).otherwise(1.0).alias("n"), "column 'n' holds"),
    (pl.when(THIRD).then(None).otherwise(pl.col("a")).alias("a"), "column 'a' holds a missing value"),
    (pl.when(THIRD).then(None).otherwise(pl.col("t")).alias("t"), "Input y contains NaN"),
    (pl.when(THIRD).then(pl.lit("w")).otherwise(pl.col("t")).alias("t"), "not one of the declared"),
]
"""Changes of :func:`plain`, and what a learner without privacy says of them."""


def same_reading(make: Any) -> None:
    """Check that a private fit reads odd values of ``make``'s engine as it is defined to read them."""
    domain, frame = plain()
    tree = PrivateTreeClassifier(1, epsilon=5.0, domain=domain, random_state=0)
    number = pl.col("n").cast(pl.Float64).fill_null(0.0).clip(0.0, 9.0)
    for change, said in ODD:
        odd = frame.with_columns(change)
        # The record is left out, or its number is the lower bound or the upper one, and a gap is no value.
        meant = odd.filter(pl.col("t").is_in(["u", "v"])).with_columns(number, pl.col("a").fill_null(7))
        wanted = model_text(clone(tree).fit(meant, "t").model_)
        assert model_text(clone(tree).fit(make(odd), "t").model_) == wanted, said


def same_audits(frame: Any, records: pl.DataFrame) -> None:
    """Check that audits with data come to what they come to with the same records from this process."""
    rest = DOMAIN.restrict([name for name in DOMAIN if name != "sick"])
    for name in AUDITED:
        model = learners()[name]().fit(records, "sick").model_
        assert audit(model, domain=rest, data=frame) == audit(model, domain=rest, data=records.lazy()), name
    # Of an additive model single values are looked at, so that its records are collected.
    model = learners()["additive model"]().fit(records, "sick").model_
    assert audit(model, domain=rest, data=frame) == audit(model, domain=rest, data=records)
