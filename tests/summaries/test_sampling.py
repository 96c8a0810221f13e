"""Rows of a summary: they follow its distribution, stay within the domain, and cost nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Category, Domain, Integer, Real
from glassine.data.outside import violations
from glassine.domain import Between, Literal, OneOf
from glassine.errors import InvalidParameterError
from glassine.learners import PrivateSummary

DOMAIN = Domain(
    {
        "age": Integer(18, 90, codes={-9: "refused", 99: "hidden"}, missing=True),
        "dose": Real(0.0, 5.0, 0.25),
        "weight": Real(30.0, 150.0),
        "job": Category(("baker", "clerk", "cook"), missing=True),
        "ill": Category(("no", "yes")),
    }
)


def people(n: int = 6000) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 91, n).astype(float)
    job = np.array(["baker", "clerk", "cook", None])[
        np.minimum((age - 18) // 25 + (rng.random(n) < 0.3), 3).astype(int)
    ]
    age = np.where(rng.random(n) < 0.1, -9, np.where(rng.random(n) < 0.1, 99, age))
    age[rng.random(n) < 0.05] = np.nan
    ill = np.where(rng.random(n) < 0.2 + 0.5 * (job == "cook"), "yes", "no")
    dose = np.clip(rng.integers(0, 21, n) / 4 * (ill == "yes"), 0, 5)
    columns = {"age": age, "dose": dose, "weight": rng.normal(80, 15, n).clip(30, 150), "job": job.tolist(), "ill": ill}
    return pl.DataFrame(columns, nan_to_null=True)


PEOPLE = people()
MADE: list[PrivateSummary] = []


def summary() -> PrivateSummary:
    if not MADE:
        MADE.append(PrivateSummary(epsilon=5.0, domain=DOMAIN, random_state=0).fit(PEOPLE, "ill"))
    return MADE[0]


def test_rows_are_of_the_domain_and_as_many_as_asked() -> None:
    rows = summary().sample(3000, random_state=1)
    assert rows.columns == [*(name for name in DOMAIN if name != "ill"), "ill"]
    assert len(rows) == 3000
    assert violations(DOMAIN, rows) == {}
    assert rows["age"].dtype == pl.Int64
    assert {-9, 99} <= set(rows["age"].to_list())
    assert rows["age"].null_count() > 50
    assert rows["job"].null_count() > 50


def test_regions_hold_the_shares_that_the_summary_counts() -> None:
    n = 40_000
    rows = summary().sample(n, random_state=2)
    total = sum(summary().count([]).values())
    regions: list[list[Literal]] = [
        [OneOf("job", ("cook",))],
        [OneOf("age", (-9,))],
        [OneOf("age", (99,))],
        [Between("age", 30, 60)],
        [Between("dose", hi=1.125)],
        [OneOf("job", ("cook",)), Between("dose", lo=0.125)],
    ]
    for literals in regions:
        held = np.all([one.holds(rows[one.attribute].to_numpy()) for one in literals], axis=0)
        for label, expected in summary().count(literals).items():
            share = float((held & (rows["ill"] == label).to_numpy()).mean())
            assert share == pytest.approx(max(expected, 0.0) / total, abs=0.012), (literals, label)


def test_marginals_are_near_those_of_the_records() -> None:
    rows = summary().sample(20_000, random_state=3)
    for name in ("job", "ill"):
        ours = dict(rows.group_by(name).len().rows())
        for value, count in PEOPLE.group_by(name).len().rows():
            assert ours.get(value, 0) / 20_000 == pytest.approx(count / len(PEOPLE), abs=0.02)
    assert rows["weight"].to_numpy().mean() == pytest.approx(PEOPLE["weight"].to_numpy().mean(), abs=1.5)
    # What hangs together in the records does in the rows.
    for frame in (PEOPLE, rows):
        cooks = frame.filter(pl.col("job") == "cook")
        ill, all_ill = ((one["ill"].to_numpy() == "yes").mean() for one in (cooks, frame))
        assert ill > all_ill + 0.15


def test_rows_are_repeatable_and_no_two_samples_are_one() -> None:
    first, again = summary().sample(100, random_state=4), summary().sample(100, random_state=4)
    assert first.equals(again)
    assert not first.equals(summary().sample(100, random_state=5))
    assert not summary().sample(100).equals(summary().sample(100))
    before = summary().certificate_
    summary().sample(10)
    assert summary().certificate_ == before


@pytest.mark.parametrize("backend", ["pandas", "pyarrow"])
def test_frames_of_every_library(backend: str) -> None:
    assert type(summary().sample(5, backend=backend)).__module__.startswith(backend)


def test_numbers_keep_their_range_and_mean() -> None:
    domain = Domain({"x": Integer(0, 99)})
    x = np.arange(8000) % 100
    fitted = PrivateSummary(epsilon=5.0, domain=domain, target_range=(0, 200), random_state=0).fit(
        pl.DataFrame({"x": x}), 2.0 * x
    )
    rows = fitted.sample(8000, random_state=1)
    y = rows["target"].to_numpy()
    assert (y.min(), y.max()) >= (0, 0)
    assert y.max() <= 200
    assert y.mean() == pytest.approx(99.0, abs=4)
    # A number is known by few levels, around which rows are spread.
    assert np.corrcoef(rows["x"].to_numpy(), y)[0, 1] > 0.6


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"n": 1.5}, {"n": 10**8}, {"n": 5, "random_state": -1}, {"n": 5, "backend": "abacus"}]
)
def test_what_is_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        summary().sample(**wrong)


def test_a_summary_that_was_read_gives_the_same_rows(tmp_path: Path) -> None:
    summary().write(tmp_path / "summary.json")
    again = PrivateSummary.read(tmp_path / "summary.json")
    assert again.sample(200, random_state=7).equals(summary().sample(200, random_state=7))
