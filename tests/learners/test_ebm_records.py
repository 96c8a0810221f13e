"""Records of an additive fit that an engine counts, against the same records in memory."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, combinations, repeat
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine import Binary, Category, Domain, Integer, Ledger, Real
from glassine.errors import ReleaseFailedError
from glassine.learners import PrivateEBMClassifier, PrivateEBMRegressor, PrivateSummary
from glassine.learners.additive import engine_counts as ebm_records
from glassine.learners.additive.engine_counts import blocks_of
from glassine.learners.additive.grids import Axis, public_grids, release_bins
from glassine.learners.additive.targets import read_classes, read_numbers
from glassine.learners.summaries.released import coarse_axis
from glassine.records import engines
from glassine.records.engines import ask
from glassine.sealed.binned import Binned
from tests.learners.fitting_everywhere import DOMAIN, fitted, sample
from tests.learners.sums import oracle_of

LAZY: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame.lazy(),
    "duckdb": lambda frame: duckdb.connect().from_arrow(frame.to_arrow()),
}
ALGORITHMS = ("penalized", "boosting")


def training(frame: Any) -> Any:
    return read_classes(PrivateEBMClassifier(), frame, "sick", domain=DOMAIN, classes=None)


def axes_of(frame: pl.DataFrame) -> tuple[Any, list[Axis]]:
    held, known = training(frame)
    grids, oracle = public_grids(known.domain, None), oracle_of(held, 100.0)
    return grids, release_bins(oracle, oracle.whole, grids)


def repeated(records: Any, grids: Any, axes: Any) -> Any:
    """Return the records in bins, each as often as it occurs."""
    few, counts = records.distinct(grids, axes)
    if counts is None:
        return few
    return Binned(codes=np.repeat(few.codes, counts, axis=1), values=np.repeat(few.values, counts))


@pytest.mark.slow
@pytest.mark.parametrize("engine", LAZY)
@pytest.mark.parametrize("part", [2**20, 250])
def test_counts_bins_and_tables_are_those_of_records_in_memory(
    engine: str, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "PART", part)
    monkeypatch.setattr(ebm_records, "MOST_AT_ONCE", 2 * part)
    frame = sample(700)
    grids, axes = axes_of(frame)
    (held, _), (counted, _) = training(frame), training(LAZY[engine](frame))
    assert np.bincount(counted.values).tolist() == np.bincount(held.values).tolist()
    for one, other in zip(held.cell_counts(grids), counted.cell_counts(grids), strict=True):
        assert one.tolist() == other.tolist()
    there, here = repeated(held, grids, axes), repeated(counted, grids, axes)
    assert here.codes.dtype == there.codes.dtype
    kinds = [sorted(zip(*found.codes.tolist(), found.values.tolist(), strict=True)) for found in (there, here)]
    assert kinds[0] == kinds[1]
    places = [(0,), *combinations(range(len(axes)), 2)]
    again, _ = training(frame)
    tables, in_memory = (one.tables(grids, axes, places, 2) for one in (counted, again))
    assert sorted(tables) == sorted(in_memory) == sorted(places)
    for place, table in tables.items():
        expected = np.zeros_like(table)
        np.add.at(expected, (*(there.codes[k] for k in place), there.values), 1)
        assert table.tolist() == in_memory[place].tolist() == expected.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_models_of_several_classes_and_users_bins_are_the_same(algorithm: str) -> None:
    rng = np.random.default_rng(5)
    n = 900
    x = rng.normal(0, 2, n)
    frame = pl.DataFrame(
        {"x": x, "c": rng.choice(["u", "v", "w", "?"], n), "b": rng.integers(0, 2, n), "t": np.digitize(x, [-1, 1])}
    )
    domain = Domain({"x": Real(-4, 4), "c": Category(("v", "u", "w")), "b": Binary(), "t": Integer(0, 2)})
    for bins in (None, {"x": (-4.0, -1.0, 0.5), "c": (("u", "w"), ("v",))}):
        given: dict[str, Any] = {"domain": domain, "bins": bins, "algorithm": algorithm, "random_state": 3}
        make = partial(PrivateEBMClassifier, epsilon=2.0, **given)
        expected = fitted(make, frame, "t")
        for engine in LAZY.values():
            assert fitted(make, engine(frame), "t") == expected


@pytest.mark.slow
def test_a_summary_brings_no_records_to_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def spy(frame: Any, question: Any) -> Any:
        lengths.append(len(found := ask(frame, question)))
        return found

    monkeypatch.setattr(engines, "ask", spy)
    monkeypatch.setattr(ebm_records, "MOST_GROUPS", 2**11)
    make = PrivateSummary(domain=DOMAIN, epsilon=1.0, random_state=7)
    seen = []
    for n in (3000, 30_000):
        make.fit(sample(n).lazy(), "sick")
        seen.append(max(lengths))
        lengths.clear()
    # Groups of two or three attributes' bins and classes, and the cells of one number.
    assert max(seen) <= 4097


def test_a_frame_that_changes_between_two_queries_is_refused() -> None:
    frame = sample(40)
    sizes: Iterator[int] = chain([40] * 2, repeat(36))
    lazy = frame.lazy().map_batches(lambda part: part.head(next(sizes)), schema=frame.schema)
    with pytest.raises(ReleaseFailedError, match="failed after it was charged"):
        PrivateEBMClassifier(epsilon=1.0, domain=DOMAIN, random_state=0).fit(lazy, "sick")


def test_records_with_a_number_that_change_between_two_queries_are_refused() -> None:
    frame = sample(40).drop_nulls("age")
    sizes: Iterator[int] = chain([len(frame)], repeat(len(frame) - 3))
    lazy = frame.lazy().map_batches(lambda part: part.head(next(sizes)), schema=frame.schema)
    with pytest.raises(ReleaseFailedError, match="failed after it was charged"):
        PrivateSummary(epsilon=1.0, domain=DOMAIN, random_state=0).fit(lazy, "age")


def test_records_with_a_number_are_grouped_once_and_then_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[int] = []

    def spy(frame: Any, question: Any) -> Any:
        queries.append(len(found := ask(frame, question)))
        return found

    monkeypatch.setattr(engines, "ask", spy)
    frame = sample(400)
    fitted_lazily = PrivateSummary(epsilon=4.0, domain=DOMAIN, random_state=7).fit(frame.lazy(), "age")
    assert len(fitted_lazily.released_.rounds) == 2
    # How many there are, the categories, the cells of two numbers, and all bins with the number.
    assert len(queries) == 5


@pytest.mark.parametrize("part", [2**20, 150])
def test_parts_of_numbers_are_those_of_records_in_memory(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PART", part)
    monkeypatch.setattr(ebm_records, "MOST_AT_ONCE", 2 * part)
    frame = sample(500)
    (held, known), (counted, _) = (
        read_numbers(PrivateSummary(), one, "dose", domain=DOMAIN, bounds=None) for one in (frame, frame.lazy())
    )
    grids, oracle = public_grids(known.domain, None), oracle_of(held, 100.0)
    fine = release_bins(oracle, oracle.whole, grids)
    coarse = [coarse_axis(axis, np.arange(axis.n_bins) // 2) for axis in fine]
    assert sorted(held.values) == sorted(counted.values)
    for axes in (coarse, fine, coarse):
        places = [(0,), *combinations(range(len(axes)), 2)]
        there, here = (one.tables(grids, axes, places, 3) for one in (held, counted))
        assert {place: table.tolist() for place, table in here.items()} == {k: v.tolist() for k, v in there.items()}
    some = coarse[2:]
    few, counts = counted.distinct(grids, some)
    assert counts is not None
    all_of_them = repeated(held, grids, some)
    assert few.codes.dtype == all_of_them.codes.dtype
    kinds = [
        sorted(zip(*codes.tolist(), values.tolist(), strict=True))
        for codes, values in (
            (np.repeat(few.codes, counts, axis=1), np.repeat(few.values, counts)),
            (all_of_them.codes, all_of_them.values),
        )
    ]
    assert kinds[0] == kinds[1]


@given(st.lists(st.integers(1, 40), min_size=2, max_size=7), st.integers(1, 5000))
def test_blocks_hold_each_pair_and_no_more_cells_than_asked_for(sizes: list[int], most: int) -> None:
    pairs = list(combinations(range(len(sizes)), 2))
    blocks = blocks_of(sizes, pairs, most)
    assert all(any(set(pair) <= set(block) for block in blocks) for pair in pairs)
    for block in blocks:
        assert block == sorted(set(block))
        assert len(block) == 2 or np.prod([sizes[k] for k in block]) <= most
    assert len(blocks) <= len(pairs)
    alone = blocks_of(sizes, [(k, k) for k in range(len(sizes))], most)
    assert sorted(k for block in alone for k in block) == list(range(len(sizes)))


@pytest.mark.parametrize("engine", LAZY)
def test_a_failure_of_an_engine_quotes_no_record_and_is_charged(engine: str, tmp_path: Path) -> None:
    book = Ledger(tmp_path / "book.sqlite")
    book.budget("here", 2, 1e-3)
    csv = tmp_path / "people.csv"
    csv.write_text("age,y\n" + "30,1.5\n" * 50 + "30,Ada-1815\n")
    scans: dict[str, Any] = {
        "polars": lambda: pl.scan_csv(csv, infer_schema_length=10),
        "duckdb": lambda: duckdb.read_csv(str(csv), all_varchar=True).project("age::BIGINT AS age, y::DOUBLE AS y"),
    }
    summary = PrivateSummary(
        epsilon=1.0, domain=Domain({"age": Integer(0, 99)}), target_range=(0.0, 2.0), ledger=book, dataset="here"
    )
    with pytest.raises(ReleaseFailedError, match="failed after it was charged") as failed:
        summary.fit(scans[engine](), "y")
    assert "1815" not in "".join(traceback.format_exception(failed.value))
    assert len(book.entries("here")) == 1


@pytest.mark.parametrize(
    ("algorithm", "target"),
    [*((kind, target) for kind in ("penalized", "boosting") for target in ("number", "class")), ("penalized", "count")],
)
def test_noise_in_bins_without_records_stays_within_what_the_public_range_allows(algorithm: Any, target: str) -> None:
    rng = np.random.default_rng(0)
    n = 2_000
    columns = {"far": rng.beta(2, 8, n) * 100, "other": rng.integers(0, 5, n)}
    domain = Domain({"far": Real(0, 1000), "other": Integer(0, 200)})
    stated: dict[str, Any] = {"bins": {"far": [*range(50, 1000, 50)], "other": [*range(1, 200, 5)]}, "domain": domain}
    stated |= {"algorithm": algorithm, "random_state": 1, "epsilon": 0.2}
    learner: PrivateEBMClassifier | PrivateEBMRegressor
    outcomes: Any
    if target == "class":
        learner, outcomes, largest = PrivateEBMClassifier(classes=(0, 1), **stated), rng.integers(0, 2, n), 20.0
    elif target == "count":
        learner = PrivateEBMRegressor(objective="poisson", target_range=(0, 9), **stated)
        outcomes, largest = rng.integers(0, 9, n), 20.0
    else:
        learner = PrivateEBMRegressor(target_range=(-5, 1), **stated)
        outcomes, largest = rng.uniform(-5, 1, n), 6.0
    scores = [np.abs(term.scores).max() for term in learner.fit(columns, outcomes).model_.terms]
    assert max(scores, default=0.0) <= largest
