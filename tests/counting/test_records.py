from __future__ import annotations

import math
import pickle
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.data.count_table import CountTable
from glassine.data.record_table import columns as read_columns
from glassine.domain import Binary, Category, Domain, ExactlyOne, Integer, OneOf, Real, Shares
from glassine.errors import InvalidDataError, InvalidDomainError
from glassine.records import engines
from glassine.records.engines import ask
from glassine.records.undeclared import read_checked

DOMAIN = Domain(
    {
        "age": Integer(18, 40, missing=True),
        "dose": Real(0.0, 1.0, missing=True),
        "job": Category(("nurse", "baker", "judge"), missing=True),
        "town": Category(("y", "x")),
        "sick": Binary(),
    }
)

BACKENDS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "polars lazy": lambda frame: frame.lazy(),
    "arrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: duckdb.connect().from_arrow(frame.to_arrow()),
    "pandas": lambda frame: frame.to_pandas(),
    "pandas nullable": lambda frame: frame.to_pandas().convert_dtypes(),
    "pandas object": lambda frame: frame.to_pandas().astype(object),
    "arrays": read_columns,
}
EAGER = [name for name in BACKENDS if name not in ("polars lazy", "duckdb")]
LAZY = ["polars lazy", "duckdb"]


def sample(n: int = 200) -> pl.DataFrame:
    """Return records with repeats, gaps, NaN, negative zeros, and values outside the domain."""
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "town": rng.choice(["x", "y", "z"], n),
            "age": pl.Series(rng.choice([3, 18, 30, 99], n)).replace(30, None),
            "dose": pl.Series(rng.choice([-1.0, -0.0, 0.0, 0.25, 7.0, math.nan, math.inf], n)).replace(0.25, None),
            "job": pl.Series(rng.choice(["nurse", "judge", "pope", ""], n)).replace("", None),
            "sick": rng.choice([True, False], n),
            "k0": np.arange(n),  # a name that must not clash with the keys of the grouping
            "weight": rng.integers(0, 4, n),
        }
    )


def content(table: CountTable) -> tuple[Any, ...]:
    """Return everything a table holds, as bytes."""
    names = table.columns.names
    arrays = [*(table.columns.array(name) for name in names), table.multiplicities]
    return names, table.domain, *((array.dtype.str, array.tobytes()) for array in arrays)


def by_hand(frame: pl.DataFrame, domain: Domain = DOMAIN) -> Counter[tuple[Any, ...]]:
    """Count conformed records in plain Python."""
    columns = read_checked(frame, domain)
    values = [[None if v is None or v != v else v for v in columns.values(name).tolist()] for name in domain]
    return Counter(zip(*values, strict=True))


def as_counter(table: CountTable) -> Counter[tuple[Any, ...]]:
    names = table.columns.names
    values = [[None if v is None or v != v else v for v in table.columns.values(name).tolist()] for name in names]
    rows = list(zip(*values, strict=True))
    assert len(set(rows)) == len(rows), "rows must be distinct"
    return Counter(dict(zip(rows, table.multiplicities.tolist(), strict=True)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_library_gives_the_same_table_byte_for_byte(backend: str) -> None:
    frame = sample()
    table = CountTable.from_frame(BACKENDS[backend](frame), DOMAIN)
    assert as_counter(table) == by_hand(frame)
    assert content(table) == content(CountTable.from_frame(frame, DOMAIN))
    weighted = CountTable.from_frame(BACKENDS[backend](frame), DOMAIN, weights="weight")
    assert content(weighted) == content(CountTable.from_frame(frame, DOMAIN, weights=frame["weight"].to_numpy()))


def test_a_table_of_known_records() -> None:
    array = np.array([[99, math.nan, "pope", "x", 1], [40, None, None, "x", True], [18, -0.0, "judge", "y", 0]], object)
    table = CountTable.from_frame(array, DOMAIN)
    assert (table.n_records, table.n_distinct, table.domain) == (3, 2, DOMAIN)
    assert table.multiplicities.dtype == np.int64
    assert table.multiplicities.tolist() == [1, 2]
    assert table.columns.numbers["age"].tolist() == [18, 40]
    assert {name: codes.tolist() for name, codes in table.columns.codes.items()} == {
        "job": [2, -1],
        "town": [0, 1],
        "sick": [0, 1],
    }


def test_rows_are_sorted_by_attributes_in_order() -> None:
    table = CountTable.from_frame(sample(), DOMAIN)
    keys = [np.nan_to_num(table.columns.array(name).astype(float), nan=np.inf) for name in DOMAIN]
    assert np.array_equal(np.lexsort(keys[::-1]), np.arange(table.n_distinct))
    assert np.isnan(table.columns.numbers["age"][-1])


@pytest.mark.parametrize("backend", LAZY)
def test_a_lazy_frame_is_grouped_before_it_is_collected(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def spy(frame: Any, question: Any) -> pl.DataFrame:
        collected = ask(frame, question)
        lengths.append(len(collected))
        return collected

    monkeypatch.setattr(engines, "ask", spy)
    table = CountTable.from_frame(BACKENDS[backend](sample()), DOMAIN)
    weighted = CountTable.from_frame(BACKENDS[backend](sample()), DOMAIN, weights="weight")
    assert lengths == [table.n_distinct, table.n_distinct]
    assert weighted.n_distinct <= table.n_distinct < 200


def test_the_order_of_records_is_irrelevant() -> None:
    frame = sample()
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    assert not shuffled.equals(frame)
    assert content(CountTable.from_frame(shuffled, DOMAIN)) == content(CountTable.from_frame(frame, DOMAIN))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_weights_equal_duplication(weights: list[int]) -> None:
    frame = sample(len(weights))
    repeated = frame[np.repeat(np.arange(len(weights)), weights)]
    table = CountTable.from_frame(frame, DOMAIN, weights=weights)
    assert content(table) == content(CountTable.from_frame(repeated, DOMAIN))
    assert table.n_records == sum(weights)
    assert (table.multiplicities > 0).all()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=3), st.sampled_from(["polars", "pandas", "duckdb"]))
def test_tables_of_parts_add_up_to_the_whole(cuts: list[int], backend: str) -> None:
    frame = sample(60)
    edges = [0, *sorted(cuts), 60]
    parts = [frame[a:b] for a, b in pairwise(edges)]
    first, *others = (CountTable.from_frame(BACKENDS[backend](part), DOMAIN) for part in parts)
    assert content(first.merge(*others)) == content(CountTable.from_frame(frame, DOMAIN))


def test_tables_of_other_domains_are_not_merged() -> None:
    table = CountTable.from_frame({"x": np.array([1])}, Domain({"x": Integer(0, 5)}))
    with pytest.raises(InvalidDataError, match="one domain to be merged"):
        table.merge(CountTable.from_frame({"x": np.array([1])}, Domain({"x": Integer(0, 6)})))


@pytest.mark.parametrize(
    ("other", "cause"),
    [
        (Domain({"x": Category(("a", "b", "c"), hierarchy=(("a", "b"),))}), "the hierarchy of 'x'"),
        (Domain({"x": Category(("a", "b"))}), "the values of 'x'"),
        (Domain({"x": Integer(0, 6)}), "the kind of 'x'"),
        (Domain({"y": Category(("a", "b", "c"))}), "the names of attributes"),
        (
            Domain({"x": Category(("a", "b", "c"))}, shares={"x": Shares(weights=(1, 1, 2), source="census")}),
            "the shares",
        ),
    ],
)
def test_of_tables_that_are_not_merged_it_is_said_where_the_domains_differ(other: Domain, cause: str) -> None:
    plain = CountTable.from_frame({"x": np.array(["a"])}, Domain({"x": Category(("a", "b", "c"))}))
    name = other.names[0]
    value = np.array([1]) if isinstance(other[name], Integer) else np.array(["a"])
    with pytest.raises(InvalidDataError, match=f"differ in {cause}"):
        plain.merge(CountTable.from_frame({name: value}, other))


@pytest.mark.parametrize("weights", [np.array([0, 0]), np.array([False, False]), [0.0, -0.0]])
def test_records_of_weight_zero_leave_an_empty_table(weights: Any) -> None:
    domain = Domain({"x": Integer(0, 5), "y": Category(("a",))})
    table = CountTable.from_frame(pl.DataFrame({"x": [1, 2], "y": ["a", "b"]}), domain, weights=weights)
    assert (table.n_records, table.n_distinct) == (0, 0)
    assert table.columns.codes["y"].dtype == np.int8
    assert content(table) == content(CountTable.from_frame({"x": np.array([]), "y": np.array([], "U1")}, domain))


@pytest.mark.parametrize("backend", ["polars", "polars lazy", "arrow", "duckdb", "pandas", "pandas object"])
@pytest.mark.parametrize("odd", [0.5, -1.0, -0.25, math.nan, None, math.inf, 2.0**32 + 1, 1e300])
def test_weights_must_be_counts(backend: str, odd: float) -> None:
    frame = pl.DataFrame({"x": [1, 1, 2], "w": [1.0, odd, 3.0]})
    with pytest.raises(InvalidDataError, match=r"^weights must be whole numbers in \[0, 4294967296\], but 'w' holds"):
        CountTable.from_frame(BACKENDS[backend](frame), Domain({"x": Integer(0, 5)}), weights="w")


@pytest.mark.parametrize("backend", ["polars", "duckdb"])
def test_the_largest_weight_is_exact(backend: str) -> None:
    frame = pl.DataFrame({"x": [1, 1, 2], "w": [2**32, 2**32 - 1, 1]})
    table = CountTable.from_frame(BACKENDS[backend](frame), Domain({"x": Integer(0, 5)}), weights="w")
    assert table.multiplicities.tolist() == [2**33 - 1, 1]


@pytest.mark.parametrize(
    ("data", "weights", "message"),
    [
        (pl.DataFrame({"x": [1, 2]}), [1], "one entry per record, 2, got 1"),
        (pl.DataFrame({"x": [1, 2]}), [[1, 1]], r"'weights' has shape \(1, 2\)"),
        (pl.DataFrame({"x": [1, 2]}), ["one", "1"], "'weights' holds others"),
        (pl.DataFrame({"x": [1, 2]}), [1, -1], "'weights' holds others"),
        (pl.DataFrame({"x": [1, 2]}), pd.Series([1, None]), "'weights' holds others"),
        (pl.DataFrame({"x": [1, 2]}), "w", "lack the column 'w'"),
        (pl.LazyFrame({"x": [1, 2]}), "w", "lack the column 'w'"),
        (pl.LazyFrame({"x": [1, 2], "w": ["1", "one"]}), "w", "'w' holds others"),
        (pl.LazyFrame({"x": [1, 2]}), [1, 1], "an array of weights needs a frame in memory"),
        (np.array([[1], [2]]), "w", "an array has no column named 'w'"),
        (pl.DataFrame({"x": [1, 2]}), "x", "'x' is one. Drop it from the domain"),
    ],
)
def test_weights_that_do_not_fit_are_refused(data: Any, weights: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        CountTable.from_frame(data, Domain({"x": Integer(0, 5)}), weights=weights)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("odd", [None, math.nan, math.inf])
def test_gaps_in_an_attribute_without_missing_are_refused(backend: str, odd: float) -> None:
    frame = pl.DataFrame({"x": [1.0, odd, 2.0]})
    for attribute in (Integer(0, 5), Category((1, 2)), Binary()):
        with pytest.raises(InvalidDataError, match="'x' holds a missing value, NaN or infinity"):
            CountTable.from_frame(BACKENDS[backend](frame), Domain({"x": attribute}))


@pytest.mark.parametrize("data", [[1, 2], np.zeros((2, 3)), pl.DataFrame({"y": [1]})])
def test_other_data_are_refused(data: Any) -> None:
    with pytest.raises(InvalidDataError):
        CountTable.from_frame(data, Domain({"x": Binary()}))


@pytest.mark.parametrize("names", [("job",), ("sick", "age"), DOMAIN.names])
def test_a_marginal_is_the_table_of_the_restricted_domain(names: tuple[str, ...]) -> None:
    frame = sample()
    marginal = CountTable.from_frame(frame, DOMAIN).marginal(names)
    assert content(marginal) == content(CountTable.from_frame(frame, DOMAIN.restrict(names)))
    assert marginal.n_records == 200


def test_a_marginal_keeps_the_ties_of_its_attributes() -> None:
    domain = Domain.binary(["a", "b", "c"], groups=ExactlyOne(("a", "b")))
    table = CountTable.from_frame(np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0]]), domain)
    assert table.marginal(["a", "b"]).domain.size() == 2
    with pytest.raises(InvalidDomainError, match="'z' is not an attribute"):
        table.marginal(["z"])


def test_a_table_survives_pickling() -> None:
    table = CountTable.from_frame(sample(), DOMAIN)
    assert content(pickle.loads(pickle.dumps(table))) == content(table)


def test_a_target_is_set_apart() -> None:
    frame = sample()
    table = CountTable.from_frame(frame, DOMAIN)
    features, labels = table.split("job")
    assert features.names == ("age", "dose", "town", "sick")
    for code, name in enumerate(("nurse", "baker", "judge")):
        here = labels == code
        assert table.multiplicities[here].sum() == (frame["job"] == name).sum()
        in_x = features.take(here).holds(OneOf("town", ("x",)))
        assert table.multiplicities[here][in_x].sum() == ((frame["job"] == name) & (frame["town"] == "x")).sum()
    assert table.multiplicities[labels == -1].sum() == 200 - frame["job"].is_in(["nurse", "judge"]).sum()


def test_a_target_must_be_a_class_beside_other_attributes() -> None:
    table = CountTable.from_frame(sample(), DOMAIN)
    with pytest.raises(InvalidDataError, match="'age' is not"):
        table.split("age")
    with pytest.raises(InvalidDataError, match="'sick' is not"):
        table.marginal(["sick"]).split("sick")
    with pytest.raises(InvalidDomainError, match="'king' is not an attribute"):
        table.split("king")


def test_the_representation_shows_no_record() -> None:
    table = CountTable.from_frame(sample(), DOMAIN)
    assert repr(table) == "<CountTable of 200 records over 5 attributes>"
    assert repr(table.columns) == "<Columns of 5 attributes: 'age', 'dose', 'job', 'town', 'sick'>"
