"""Audits of data that are counted where they lie, against audits of the same data in memory."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

from glassine import audit
from glassine.attacks.outcome import NotApplicable
from glassine.auditing.occupancy import count_data
from glassine.domain import Domain
from tests.learners.fitting_everywhere import DOMAIN, HERE, learners, sample

REST = DOMAIN.restrict([name for name in DOMAIN if name != "sick"])


def model_of(name: str) -> Any:
    return learners()[name]().fit(sample(), "sick").model_


@pytest.mark.parametrize("place", ["polars lazy", "duckdb"])
@pytest.mark.parametrize("name", ["optimal tree", "private tree", "optimal rule list"])
def test_counted_data_are_judged_like_data_in_memory(place: str, name: str) -> None:
    model = model_of(name)
    read, counted = audit(model, domain=REST, data=sample()), audit(model, domain=REST, data=HERE[place](sample()))
    assert counted.measured["reconstruction"] == read.measured["reconstruction"]
    assert counted.value("parts").parts == read.value("parts").parts
    statuses = {check.rule: check.status for check in read.checks}
    for check in counted.checks:
        assert check.status in (statuses[check.rule], "unknown")
    # Texts that many records hold are named where records are read one by one.
    outside = [re.sub(r", such as \w+", "", note) for note in read.notes if "outside the domain" in note]
    assert [note for note in counted.notes if "outside the domain" in note] == outside
    assert len(outside) == 5
    assert any("not read record by record" in note for note in counted.notes)
    assert isinstance(counted.measured["exposed_rows"], NotApplicable)
    assert isinstance(counted.measured["alignment"], NotApplicable)


def test_parts_hold_the_records_that_the_model_puts_there() -> None:
    inside = sample().filter(pl.col("town") != "elsewhere", pl.col("job") != "pope")
    for name in ("optimal tree", "private tree", "optimal rule list"):
        model = model_of(name)
        rows = model.apply({key: inside[key].to_numpy() for key in inside.columns})
        counted = count_data(model, inside.lazy(), REST)
        assert counted.in_data == tuple((rows == i).sum() for i in range(len(model.cells)))


def test_other_data_are_told_from_the_training_records() -> None:
    model = model_of("optimal tree")
    small = Domain({name: REST[name] for name in REST})
    counted = audit(model, domain=small, data=sample(900).lazy())
    assert any("not the training data" in note for note in counted.notes)
    assert not any("not the training data" in note for note in audit(model, domain=small, data=sample().lazy()).notes)


def test_a_holdout_is_not_matched_with_counted_data() -> None:
    found = audit(model_of("optimal tree"), domain=REST, data=sample().lazy(), target="sick", holdout=sample(100))
    assert isinstance(found.measured["membership"], NotApplicable)
    assert "not read record by record" in found.measured["membership"].reason
