"""Baseline hazards below printed Cox regressions: read as the program that printed them computed them, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassine import audit
from glassine.errors import UnsupportedModelError
from glassine.formats import load_model
from glassine.models import RegressionModel
from tests.auditing.test_regression import FRAME
from tests.formats.test_regressions import DOMAIN, FILES, RECORDS


def read(name: str) -> RegressionModel:
    model = load_model(FILES / name)
    assert isinstance(model, RegressionModel)
    return model


EVENTS = np.unique(RECORDS["time"][RECORDS["status"] == 1])


def test_r_prints_a_row_for_each_time_of_an_event() -> None:
    rows = read("r_cox_hazard.txt").fit.baseline
    assert [time for time, _ in rows] == EVENTS.tolist()
    # The hazards are those of PMML but for the centre of the columns, a factor.
    general = read("general_cox.pmml").fit.baseline
    factors = [a / b for (_, a), (_, b) in zip(rows, general, strict=True)]
    assert factors == pytest.approx([factors[0]] * len(factors), rel=1e-5)


def test_a_curve_of_survivors_is_minus_the_log_of_its_shares() -> None:
    whole, grid = dict(read("r_cox_hazard.txt").fit.baseline), read("r_cox_curve.txt").fit.baseline
    assert [time for time, _ in grid] == [100, 200, 300]
    for time, hazard in grid:
        last = max(hazard for own, hazard in whole.items() if own <= time)
        # The shares have three digits.
        assert hazard == pytest.approx(last, rel=0.005)


def test_strata_have_a_baseline_each() -> None:
    fit = read("r_cox_strata.txt").fit
    assert fit.special == ("strata",)
    for sex in ("female", "male"):
        own = RECORDS["time"][(RECORDS["sex"] == sex) & (RECORDS["status"] == 1)]
        assert set(own) <= {time for time, _ in fit.baseline}


def test_statsmodels_prints_arrays() -> None:
    rows = read("sm_phreg_hazard.txt").fit.baseline
    assert read("sm_phreg.txt").fit.baseline == ()
    assert {time for time, _ in rows} <= set(EVENTS)
    assert len(rows) >= len(EVENTS) - 1


@pytest.mark.parametrize("name", ["r_cox_hazard.txt", "r_cox_strata.txt", "sm_phreg_hazard.txt"])
def test_rows_of_single_events_fail(name: str) -> None:
    check = next(one for one in audit(load_model(FILES / name)).checks if one.rule == "fitted_values")
    assert (check.status, check.measured) == ("fail", len(read(name).fit.baseline))


def test_rows_of_many_events_pass_with_the_data() -> None:
    grid = load_model(FILES / "r_cox_curve.txt", DOMAIN)
    alone = next(one for one in audit(grid).checks if one.rule == "fitted_values")
    assert alone.status == "unknown"
    data = pl.DataFrame(FRAME)
    counted = next(one for one in audit(grid, data, "time", domain=DOMAIN).checks if one.rule == "fitted_values")
    assert counted.status == "pass"
    # R's other code of events, 2 of 1 and 2.
    coded = data.with_columns(pl.col("status") + 1)
    assert next(c for c in audit(grid, coded, "time", domain=DOMAIN).checks if c.rule == "fitted_values") == counted


@pytest.mark.parametrize("name", ["r_cox_hazard.txt", "sm_phreg_hazard.txt"])
def test_what_is_cut_off_or_alone_is_refused(name: str, tmp_path: Path) -> None:
    text = (FILES / name).read_text()
    start = text.index("hazard time") - 8 if "hazard time" in text else text.index("[[array")
    alone = tmp_path / "alone.txt"
    alone.write_text(text[start:])
    with pytest.raises(UnsupportedModelError, match="without the Cox regression"):
        load_model(alone)
    if name.startswith("sm"):
        alone.write_text(text[: start + 400])
        with pytest.raises(UnsupportedModelError, match="cut off"):
            load_model(alone)
    else:
        alone.write_text(text[: start + 20])
        with pytest.raises(UnsupportedModelError, match="a head and no rows"):
            load_model(alone)
        lines = text.splitlines(keepends=True)
        alone.write_text("".join([*lines[:-20], "\n", *lines[-20:]]))
        with pytest.raises(UnsupportedModelError, match="a gap"):
            load_model(alone)
        alone.write_text(f"{text.rstrip()}\n [ reached 'max' / getOption(\"max.print\") -- omitted 9 rows ]\n")
        with pytest.raises(UnsupportedModelError, match="left out"):
            load_model(alone)
