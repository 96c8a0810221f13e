"""One model whatever holds the records: libraries in memory, lazy frames, engines of this process and of others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from functools import partial
from itertools import chain, repeat
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from glassine import Domain, Integer, Real
from glassine.data.count_table import CountTable
from glassine.errors import InvalidDataError
from glassine.learners import OptimalTreeClassifier, PrivateEBMRegressor, PrivateTreeClassifier, PrivateTreeRegressor
from glassine.learners.additive import engine_counts as additive_records
from glassine.records import engines
from glassine.records.engines import ask
from tests.learners.fitting_everywhere import (
    DOMAIN,
    HERE,
    NUMBER,
    arrays,
    fitted,
    learners,
    model_text,
    regressors,
    sample,
)
from tests.learners.same_everywhere import ODD, plain, same_reading


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """Return what each learner makes of a Polars frame in memory."""
    frame = sample()
    return {name: fitted(make, frame) for name, make in learners().items()}


@pytest.mark.slow
@pytest.mark.parametrize("learner", learners())
def test_every_library_of_this_process_gives_the_same_model(learner: str, expected: dict[str, Any]) -> None:
    frame, make = sample(), learners()[learner]
    for place in HERE:
        assert fitted(make, HERE[place](frame)) == expected[learner], place
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=2).lazy()
    assert fitted(make, shuffled) == expected[learner]
    if not learner.startswith(("additive", "private summary")):
        # They tell undeclared categories from missing ones, which a table does not.
        table = CountTable.from_frame(frame.lazy(), DOMAIN)
        assert fitted(make, table)["model"] == expected[learner]["model"]


@pytest.mark.slow
@pytest.mark.parametrize("learner", regressors())
def test_every_library_of_this_process_gives_the_same_model_of_a_number(learner: str) -> None:
    frame, make = sample(), regressors()[learner]
    expected = fitted(make, frame, NUMBER)
    for place in HERE:
        assert fitted(make, HERE[place](frame), NUMBER) == expected, place
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=2).lazy()
    assert fitted(make, shuffled, NUMBER) == expected


@pytest.mark.parametrize("place", HERE)
def test_odd_targets_are_left_out_or_clipped_alike(place: str) -> None:
    rng = np.random.default_rng(0)
    records = pl.DataFrame({"x": rng.integers(0, 9, 60), "y": rng.uniform(-2, 2, 60)})
    odd = pl.Series([math.inf, -math.inf, 1e301, -0.0, None, math.nan, *records["y"][6:].to_list()])
    meant = pl.Series([1.5, -1.5, 1.5, 0.0, None, None, *records["y"][6:].to_list()])
    domain = Domain({"x": Integer(0, 9), "y": Real(-1.5, 1.5)})
    regressor = PrivateEBMRegressor(epsilon=4.0, domain=domain, random_state=0)
    found = clone(regressor).fit(HERE[place](records.with_columns(y=odd)), "y").model_
    assert found == clone(regressor).fit(records.with_columns(y=meant).drop_nulls(), "y").model_
    nobody = records.with_columns(y=pl.lit(None).cast(pl.Float64))
    assert clone(regressor).fit(HERE[place](nobody), "y").model_ == clone(regressor).fit(nobody, "y").model_


@pytest.mark.slow
def test_arrays_give_the_same_model(expected: dict[str, Any]) -> None:
    X, labels = arrays(sample())
    # An additive model keeps the name of its target.
    y = pl.Series("sick", labels.tolist()).to_pandas()
    for learner, make in learners().items():
        rest = DOMAIN.restrict([name for name in DOMAIN if name != "sick"])
        given = make().set_params(domain=rest, classes=("yes", "no"))
        assert fitted(partial(clone, given), X, y) == expected[learner], learner


def test_the_fits_tell_learners_and_seeds_apart(expected: dict[str, Any]) -> None:
    models = [found["model"] for found in expected.values()]
    assert len(set(models)) == len(models)
    other = fitted(lambda: learners()["private tree"]().set_params(random_state=8), sample().lazy())
    assert other["model"] != expected["private tree"]["model"]


@pytest.mark.parametrize("part", [2**20, 100])
def test_a_tree_of_numbers_counts_groups_a_part_at_a_time(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def spy(frame: Any, question: Any) -> Any:
        lengths.append(len(found := ask(frame, question)))
        return found

    monkeypatch.setattr(engines, "PART", part)
    monkeypatch.setattr(additive_records, "MOST_AT_ONCE", 4 * part)
    domain = DOMAIN.restrict(["town", "smoker", "age"])
    make = partial(PrivateTreeRegressor, 2, epsilon=2.0, domain=domain, random_state=7)
    frame = sample(3000).select("town", "smoker", "age")
    expected = fitted(make, frame, NUMBER)
    monkeypatch.setattr(engines, "ask", spy)
    assert fitted(make, frame.lazy(), NUMBER) == expected
    # Three kinds of towns and of smokers, and 115 ages.
    assert max(lengths) <= 9 * 115


def test_what_comes_into_memory_does_not_grow_with_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def spy(frame: Any, question: Any) -> Any:
        lengths.append(len(found := ask(frame, question)))
        return found

    monkeypatch.setattr(engines, "ask", spy)
    make = learners()["private rule list"]
    seen = []
    for n in (3000, 30000):
        estimator = make().set_params(domain=DOMAIN.restrict(["age", "dose", "weight", "sick"]))
        estimator.fit(sample(n).select("age", "dose", "weight", "sick").lazy(), "sick")
        seen.append(max(lengths))
        lengths.clear()
    # Cells: 3 of age and a gap, 4 of dose less one that is below its bound, up to 257 candidates of weight; classes.
    assert seen[0] <= seen[1] <= 260


@pytest.mark.parametrize(("change", "said"), ODD)
@pytest.mark.parametrize("place", HERE)
def test_odd_values_are_refused_without_privacy(place: str, change: pl.Expr, said: str) -> None:
    domain, frame = plain()
    odd = frame.with_columns(change)
    with pytest.raises(InvalidDataError, match=said):
        OptimalTreeClassifier(1, domain=domain).fit(HERE[place](odd), "t")


@pytest.mark.parametrize("place", HERE)
def test_private_fits_read_odd_values_alike(place: str) -> None:
    same_reading(HERE[place])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (pl.lit(date(2020, 1, 1)).alias("n"), "must hold numbers"),
        (pl.lit(1).alias("more"), "'more' is not an attribute"),
    ],
)
@pytest.mark.parametrize("place", ["polars lazy", "duckdb"])
def test_a_schema_that_does_not_fit_is_refused_and_costs_nothing(
    place: str, change: pl.Expr, said: str, tmp_path: Any
) -> None:
    from glassine import Ledger

    domain, frame = plain()
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.budget("d", 1.0)
    tree = PrivateTreeClassifier(1, epsilon=0.1, domain=domain, ledger=ledger, dataset="d", random_state=0)
    with pytest.raises(InvalidDataError, match=said):
        tree.fit(HERE[place](frame.with_columns(change)), "t")
    assert not ledger.entries("d")


@pytest.mark.parametrize("place", ["polars lazy", "duckdb"])
def test_lazy_frames_that_are_empty_or_lack_columns_are_refused(place: str) -> None:
    domain, frame = plain()
    tree = OptimalTreeClassifier(1, domain=domain)
    for given, said in ((frame.head(0), "0 sample"), (frame.drop("t"), "target column 't'"), (frame.drop("n"), "'n'")):
        with pytest.raises(InvalidDataError, match=said):
            tree.fit(HERE[place](given), "t")
    with pytest.raises(InvalidDataError, match="no column but the target"):
        tree.fit(HERE[place](frame.select("t")), "t")


def test_a_frame_that_changes_between_two_queries_is_refused() -> None:
    domain, frame = plain()
    sizes: Iterator[int] = chain([40], repeat(36))

    def some(part: pl.DataFrame) -> pl.DataFrame:
        return part.head(next(sizes))

    lazy = frame.lazy().map_batches(some, schema=frame.schema)
    with pytest.raises(InvalidDataError, match="another number of records"):
        OptimalTreeClassifier(1, domain=domain).fit(lazy, "t")


@pytest.mark.parametrize("place", ["polars lazy", "duckdb"])
def test_classes_of_every_type_are_read_as_in_memory(place: str) -> None:
    domain, frame = plain()
    attributes = domain.restrict(["a", "n"])
    targets = (pl.col("n") > 2, pl.col("n") + 0, pl.col("n") * 2.0, pl.col("t"), pl.col("t").cast(pl.Categorical))
    for target in targets:
        given = frame.select("a", "n", t=target)
        make = partial(OptimalTreeClassifier, 1, domain=attributes)
        assert fitted(make, HERE[place](given), "t") == fitted(make, given, "t")


def test_without_a_domain_or_a_name_a_lazy_frame_is_collected() -> None:
    _, frame = plain()
    whole = fitted(OptimalTreeClassifier, frame, "t")
    assert fitted(OptimalTreeClassifier, frame.lazy(), "t") == whole
    labels = frame["t"].to_numpy()
    assert fitted(OptimalTreeClassifier, frame.drop("t").lazy(), labels)["model"] == whole["model"]
    make = partial(OptimalTreeClassifier, domain=plain()[0])
    tree = make().fit(frame.lazy(), "t", sample_weight=np.ones(40))
    assert model_text(tree.model_) == fitted(make, frame, "t")["model"]
