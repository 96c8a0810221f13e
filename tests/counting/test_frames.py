"""Bin histograms and conjunctions of any frame, against counting record by record in memory."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.data.count_table import CountTable, bin_histograms, conjunction_counts
from glassine.domain import Between, Binary, Category, Domain, Integer, Literal, OneOf, Real
from glassine.errors import InvalidDataError
from glassine.records import keys
from glassine.records.cuts import coarse, cuts_of
from glassine.records.undeclared import read_checked
from tests.counting.test_records import BACKENDS, DOMAIN, content, sample

LITERALS = (
    Between("age", hi=25.0),
    Between("age", lo=18.0, hi=30.0, negated=True, missing=True),
    OneOf("age", (18, 40)),
    Between("dose", lo=0.0),
    OneOf("dose", (0.0,), negated=True),
    OneOf("job", ("nurse",), missing=True),
    OneOf("sick", (1,)),
)
CUTS = {"age": (17.0, 18.0, 20.5, 40.0, 90.0), "dose": (0.0, 0.1)}
PLACES = ("polars lazy", "duckdb", "pandas", "arrow", "polars")


@pytest.mark.parametrize("place", PLACES)
def test_conjunctions_are_counted_as_record_by_record(place: str) -> None:
    columns = read_checked(sample(), DOMAIN)
    found = conjunction_counts(BACKENDS[place](sample()), DOMAIN, LITERALS, 2, target="town")
    labels = np.where(columns.codes["town"] < 0, 2, columns.codes["town"])
    for k in range(3):
        for chosen in combinations(range(len(LITERALS)), k):
            holds = np.ones(columns.n_records, dtype=bool)
            for i in chosen:
                holds &= columns.holds(LITERALS[i])
            assert found.of(chosen).tolist() == np.bincount(labels[holds], minlength=3).tolist()
    whole = conjunction_counts(BACKENDS[place](sample()), DOMAIN, LITERALS, 1)
    assert whole.of(()).tolist() == [200]


@pytest.mark.parametrize("place", PLACES)
def test_histograms_are_counted_as_record_by_record(place: str) -> None:
    columns = read_checked(sample(), DOMAIN)
    found = bin_histograms(BACKENDS[place](sample()), DOMAIN, CUTS)
    assert list(found) == list(DOMAIN)
    for name, cuts in CUTS.items():
        values = columns.numbers[name]
        edges = (-math.inf, *cuts, math.inf)
        expected = [int(((values > a) & (values <= b)).sum()) for a, b in pairwise(edges)]
        assert found[name].tolist() == [*expected, int(np.isnan(values).sum())]
    for name, codes in columns.codes.items():
        size = len(found[name]) - 1
        assert found[name].tolist() == np.bincount(np.where(codes < 0, size, codes), minlength=size + 1).tolist()
    assert set(bin_histograms(sample(), DOMAIN)) == set(columns.codes)


@pytest.mark.parametrize("place", PLACES)
def test_records_in_cells_satisfy_what_they_satisfied(place: str) -> None:
    cuts = cuts_of(LITERALS, DOMAIN)
    table = CountTable.from_frame(BACKENDS[place](sample()), DOMAIN, cuts=cuts)
    assert content(table) == content(CountTable.from_frame(sample(), DOMAIN, cuts=cuts))
    assert table.n_distinct < CountTable.from_frame(sample(), DOMAIN).n_distinct + 1
    columns = read_checked(sample(), DOMAIN)
    for literal in LITERALS:
        assert table.multiplicities[table.columns.holds(literal)].sum() == columns.holds(literal).sum()


edges = st.sampled_from([-math.inf, -1.0, 0.0, 0.1, 0.5, 1.0, 2.0, math.inf])
between = st.tuples(edges, edges).filter(lambda pair: pair[0] < pair[1] and pair != (-math.inf, math.inf))
literals = st.one_of(
    st.builds(lambda pair, n, m: Between("x", *pair, negated=n, missing=m), between, st.booleans(), st.booleans()),
    st.builds(
        lambda values, n: OneOf("x", tuple(values), negated=n),
        st.sets(st.sampled_from([0, 0.1, 0.5, 1]), min_size=1),
        st.booleans(),
    ),
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(literals, min_size=1, max_size=4))
def test_no_literal_tells_a_number_from_that_of_its_cell(chosen: list[Literal]) -> None:
    domain = Domain({"x": Real(0.0, 1.0, missing=True)})
    near = [math.nextafter(v, way) for v in (0.0, 0.1, 0.5, 1.0) for way in (-9, 9)]
    columns = read_checked({"x": np.array([-3.0, -0.0, 0.0, 0.1, 0.3, 0.5, 1.0, 7.0, math.nan, *near])}, domain)
    found = coarse(columns, cuts_of(chosen, domain))
    for literal in chosen:
        assert found.holds(literal).tolist() == columns.holds(literal).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["polars lazy", "duckdb"])
def test_many_attributes_need_several_keys(place: str) -> None:
    rng = np.random.default_rng(0)
    domain = Domain({f"a{i}": Category(tuple(f"v{j}" for j in range(40)), missing=True) for i in range(30)})
    data = pl.DataFrame({name: rng.choice(["v0", "v7", "v39", "?"], 50) for name in domain})
    assert len(keys.Keys.of({name: domain[name] for name in domain}, {}).words) == 3
    assert content(CountTable.from_frame(BACKENDS[place](data), domain)) == content(CountTable.from_frame(data, domain))


@pytest.mark.parametrize("size", [64, 65, 300])
def test_categories_of_any_size_are_read_from_a_lazy_polars_frame(size: int) -> None:
    domain = Domain({"c": Category(tuple(f"v{j}" for j in range(size)), missing=True)})
    data = pl.DataFrame({"c": ["v0", f"v{size - 1}", "v1", None, "other"]})
    assert content(CountTable.from_frame(data.lazy(), domain)) == content(CountTable.from_frame(data, domain))


def test_bad_questions_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="must increase strictly"):
        bin_histograms(sample(), DOMAIN, {"age": (30.0, 20.0)})
    with pytest.raises(InvalidDataError, match="must increase strictly"):
        bin_histograms(sample(), DOMAIN, {"age": (30.0, math.nan)})
    with pytest.raises(InvalidDataError, match="at least one literal"):
        conjunction_counts(sample(), DOMAIN, (), 1)
    with pytest.raises(InvalidDataError, match="is a number"):
        conjunction_counts(sample(), DOMAIN, LITERALS, 1, target="age")
    domain = Domain({"n": Integer(0, 3), "b": Binary()})
    for frame in (pl.DataFrame({"n": [1, None], "b": [0, 1]}), pl.LazyFrame({"n": [1, None], "b": [0, 1]})):
        with pytest.raises(InvalidDataError, match="column 'n' holds a missing value"):
            bin_histograms(frame, domain, {"n": (1.5,)})
