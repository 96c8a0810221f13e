"""A model as a table: one row a leaf, rule or bin, recounted from the records, with small counts hidden in public."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Category, Domain, Integer, Real
from glassine.domain import Between
from glassine.errors import InvalidParameterError
from glassine.learners import (
    EBMClassifier,
    EBMRegressor,
    OptimalRuleListClassifier,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
    PrivateTreeClassifier,
    ScorecardClassifier,
)
from glassine.models import AdditiveModel, Evidence, Rule, RuleList
from glassine.models.table import columns_of, hidden_sizes, to_frame

DOMAIN = Domain(
    {
        "age": Integer(18, 90, thresholds=(30, 50, 70), missing=True),
        "job": Category(("baker", "clerk", "cook")),
        "records": Real(0.0, 1.0, 0.1, thresholds=(0.5,)),
    }
)


def people(n: int = 600) -> tuple[pl.DataFrame, Any]:
    rng = np.random.default_rng(5)
    age = rng.integers(18, 91, n).astype(float)
    age[rng.random(n) < 0.1] = np.nan
    frame = pl.DataFrame(
        {"age": age, "job": rng.choice(["baker", "clerk", "cook"], n), "records": rng.integers(0, 11, n) / 10},
        nan_to_null=True,
    )
    odds = np.nan_to_num(age, nan=40) / 20 - 2.5 + (frame["job"] == "cook").to_numpy() * 2
    return frame, np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")


X, Y = people()
FIT: dict[str, Any] = {"domain": DOMAIN, "classes": ("no", "yes")}
CELLS: dict[str, Any] = {
    "tree": lambda: OptimalTreeClassifier(**FIT, max_depth=3).fit(X, Y).model_,
    "list": lambda: OptimalRuleListClassifier(**FIT, max_rules=4).fit(X, Y).model_,
}


@pytest.mark.parametrize("kind", CELLS)
def test_rows_are_the_leaves_and_rules_with_their_records(kind: str) -> None:
    model = CELLS[kind]()
    frame = model.to_frame()
    place = model.apply(X)
    assert frame["part"].to_list() == list(range(1, len(model.cells) + 1))
    for at in range(len(model.cells)):
        own = Y[place == at]
        row = frame.row(at, named=True)
        assert row["records"] == len(own)
        assert (row["records of no"], row["records of yes"]) == ((own == "no").sum(), (own == "yes").sum())
        assert row["share of records"] == pytest.approx(len(own) / len(X))
        assert row["probability of yes"] == pytest.approx((own == "yes").mean())
        assert row["prediction"] == ("yes" if (own == "yes").sum() > (own == "no").sum() else "no")
        parts = [row[name] for name in ("age", "job", "records'") if row.get(name)]
        assert all(part in row["conditions"] for part in parts)
        assert (
            len(row["conditions"].replace(" and ", "")) == sum(map(len, parts))
            or row["conditions"] == "otherwise"
            or "(" in row["conditions"]
        )


def test_an_attribute_that_is_named_as_a_column_has_a_mark() -> None:
    rules = (
        Rule(antecedent=(Between("records", hi=0.5),), evidence=Evidence(label=0)),
        Rule(evidence=Evidence(label=1)),
    )
    frame = to_frame(RuleList(rules, ("records",), classes=(0, 1)))
    assert frame["records'"].to_list() == ["records <= 0.5", None]
    assert frame["records"].to_list() == [None, None]
    assert frame["prediction"].to_list() == [0, 1]


def test_a_regression_has_values() -> None:
    y = np.nan_to_num(X["age"].to_numpy(), nan=40.0)
    tree = OptimalTreeRegressor(domain=DOMAIN, max_depth=2).fit(X, y)
    frame = tree.model_.to_frame()
    place = tree.model_.apply(X)
    for at, value in enumerate(frame["prediction"].to_list()):
        assert value == pytest.approx(y[place == at].mean(), rel=0.02)


def test_bins_have_their_records_and_scores() -> None:
    model = EBMClassifier(**FIT).fit(X, Y).model_
    frame = model.to_frame()
    assert isinstance(model, AdditiveModel)
    assert len(frame) == sum(len(term.labels) for term in model.terms)
    jobs = frame.filter(pl.col("term") == "job")
    for row in jobs.rows(named=True):
        if row["job"] in ("baker", "clerk", "cook"):
            assert row["records"] == (X["job"] == row["job"]).sum()
            assert row["conditions"] == f"job: {row['job']}"
    gap = frame.filter((pl.col("term") == "age") & (pl.col("age") == "missing"))
    assert gap["records"].to_list() == [X["age"].null_count()]
    # A record's score is the sum of one row of each term and the intercept.
    first = X.head(1)
    odds = float(np.log(model.predict_proba(first)[0, 1] / model.predict_proba(first)[0, 0]))
    total = model.intercept[0]
    for term in model.terms:
        own = frame.filter(pl.col("term") == term.name)
        values = first[term.name].cast(float).to_numpy() if term.name != "job" else first["job"].to_list()
        bins: Any = term.bins[0]
        at = bins.find(values)[0] if term.name == "job" else bins.index(values)[0]
        total += own["score"].to_list()[int(at)]
    assert odds == pytest.approx(total)


def test_pairs_and_points_and_several_classes_have_their_columns() -> None:
    pairs = EBMClassifier(**FIT, interactions=[("age", "job")]).fit(X, Y).model_.to_frame()
    both = pairs.filter(pl.col("age").is_not_null() & pl.col("job").is_not_null())
    assert len(both) > 6
    assert all(" and job: " in text for text in both["conditions"].to_list())
    card = ScorecardClassifier(**FIT).fit(X, Y).model_
    assert card.scorecard is not None
    frame = card.to_frame()
    assert (frame["points"] * card.scorecard.unit - frame["score"]).abs().max() < 1e-12
    three = np.where(X["job"].to_numpy() == "cook", "maybe", Y)
    several = EBMClassifier(domain=DOMAIN).fit(X, three).model_.to_frame()
    assert {"score of maybe", "score of no", "score of yes"} <= set(several.columns)
    number = EBMRegressor(domain=DOMAIN).fit(X, X["records"].to_numpy()).model_.to_frame()
    assert "score" in number.columns


@pytest.mark.parametrize("below", [2, 10, 40])
def test_the_public_cannot_subtract_small_counts(below: int) -> None:
    for make in CELLS.values():
        model = make()
        sizes = [cell.evidence.size for cell in model.cells]
        frame = to_frame(model, audience="public", suppress_below=below)
        shown = frame["records"].to_list()
        assert all(size is None or size == 0 or size >= below for size in shown)
        gone = [size for size, own in zip(sizes, shown, strict=True) if own is None]
        assert not gone or (len(gone) > 1 and sum(gone) >= min(2 * below, sum(sizes)))
        for row, cell in zip(frame.rows(named=True), model.cells, strict=True):
            own = [row["records of no"], row["records of yes"]]
            assert all(count is None or count == 0 or count >= below for count in own)
            assert own.count(None) != 1 or 0 in (cell.evidence.counts or ())
            share = row["probability of yes"]
            assert (share is None) == (row["records"] is None)
            assert share is None or share == 1 or (share * 20) == pytest.approx(round(share * 20))


def test_hidden_sizes_leave_no_small_difference() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        sizes = rng.integers(0, 30, rng.integers(1, 8)).tolist()
        hidden = hidden_sizes(sizes, 10)
        gone = [size for size, hide in zip(sizes, hidden, strict=True) if hide]
        assert bool(gone) == any(0 < size < 10 for size in sizes)
        assert not gone or sum(gone) >= 20 or all(hide or not size for size, hide in zip(sizes, hidden, strict=True))


def test_noisy_counts_are_public_as_they_are() -> None:
    model = PrivateTreeClassifier(**FIT, epsilon=1.0, max_depth=3).fit(X, Y).model_
    assert model.guarantee is not None
    assert columns_of(model, "public") == columns_of(model, "checker")
    seeded = PrivateTreeClassifier(**FIT, epsilon=1.0, max_depth=3, random_state=0).fit(X, Y).model_
    small = any(0 < (cell.evidence.size or 0) < 10 for cell in seeded.cells)
    assert (columns_of(seeded, "public")["records"] != columns_of(seeded)["records"]) == small


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_frames_of_every_library_hold_the_same(backend: str) -> None:
    model = CELLS["tree"]()
    frame = model.to_frame(backend=backend)
    assert type(frame).__module__.startswith(backend)
    plain: Any = (
        frame if backend == "polars" else pl.from_pandas(frame) if backend == "pandas" else pl.from_arrow(frame)
    )
    assert plain.to_dict(as_series=False).keys() == columns_of(model).keys()
    assert plain["conditions"].to_list() == columns_of(model)["conditions"]


def test_what_gives_no_table_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="backend"):
        CELLS["tree"]().to_frame(backend="abacus")
    with pytest.raises(InvalidParameterError, match="audience"):
        CELLS["tree"]().to_frame(audience="everyone")
    with pytest.raises(InvalidParameterError, match="suppress_below"):
        CELLS["tree"]().to_frame(audience="public", suppress_below=-1)
    with pytest.raises(InvalidParameterError, match="a table is made of"):
        to_frame("a tree")
