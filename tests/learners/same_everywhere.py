"""What holds of every engine: the same counts, models, audits and refusals as of records in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import OptimalTreeClassifier, audit
from glassine.counting import CountTable, bin_histograms, conjunction_counts
from glassine.errors import InvalidDataError
from tests.counting.test_records import content
from tests.learners.fitting_everywhere import DOMAIN, GIVEN, learners, sample

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
    unknown = sample(N).with_columns(pl.when(pl.col("age") > 100).then(pl.lit("?")).otherwise("sick").alias("sick"))
    for records, said in ((gap, "column 'dose' holds a missing value"), (unknown, "not one of the declared")):
        with pytest.raises(InvalidDataError, match=said):
            OptimalTreeClassifier(1, domain=DOMAIN).fit(make(records), "sick")
    with pytest.raises(InvalidDataError, match="is not collected"):
        OptimalTreeClassifier(1).fit(make(sample(N)), "sick")
    with pytest.raises(InvalidDataError, match="is not collected"):
        OptimalTreeClassifier(1, domain=DOMAIN).fit(make(sample(N).drop("sick")), sample(N)["sick"].to_numpy())


def same_audits(frame: Any, records: pl.DataFrame) -> None:
    """Check that audits with data come to what they come to with the same records from this process."""
    rest = DOMAIN.restrict([name for name in DOMAIN if name != "sick"])
    for name in AUDITED:
        model = learners()[name]().fit(records, "sick").model_
        assert audit(model, rest, data=frame) == audit(model, rest, data=records.lazy()), name
    # Of an additive model single values are looked at, so that its records are collected.
    model = learners()["additive model"]().fit(records, "sick").model_
    assert audit(model, rest, data=frame) == audit(model, rest, data=records)
