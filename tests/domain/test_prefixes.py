"""Categories by prefix: what a domain declares in a few words, read alike wherever a value is read."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine.data.outside import violations
from glassine.domain import Category, Domain, Integer, OneOf, Prefix
from glassine.domain.domain import from_dict, schema, to_dict
from glassine.domain.forms import read_codebook, to_toml
from glassine.domain.literals import are_disjoint
from glassine.errors import InvalidDataError, InvalidDomainError
from glassine.records.reading import read_settled
from glassine.records.undeclared import read_checked

CODES = Category(("E10", Prefix("E"), Prefix("E1"), Prefix("N"), "F"), missing=True)
DOMAIN = Domain({"icd": CODES})
VALUES = ["E10", "E101", "E11", "E2", "E", "F", "F1", "e10", "NA", "NB", "", None]
INDICES = [0, 2, 2, 1, 1, 4, -2, -2, -1, 3, -1, -1]


def in_duckdb() -> Any:
    duckdb = pytest.importorskip("duckdb")
    frame = pl.DataFrame({"icd": VALUES}).to_arrow()
    return duckdb.from_arrow(frame)


CONTAINERS = {
    "polars": lambda: pl.DataFrame({"icd": VALUES}),
    "lazy polars": lambda: pl.DataFrame({"icd": VALUES}).lazy(),
    "polars categories": lambda: pl.DataFrame({"icd": VALUES}, schema={"icd": pl.Categorical}),
    "pandas": lambda: pl.DataFrame({"icd": VALUES}).to_pandas(),
    "pandas categories": lambda: pl.DataFrame({"icd": VALUES}).to_pandas().astype("category"),
    "arrow": lambda: pl.DataFrame({"icd": VALUES}).to_arrow(),
    "arrays": lambda: {"icd": np.array(VALUES, dtype=object)},
    "rows": lambda: [{"icd": value} for value in VALUES],
    "DuckDB": in_duckdb,
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_listed_text_goes_before_prefixes_and_a_longer_prefix_before_a_shorter_one(container: str) -> None:
    columns = read_settled(CONTAINERS[container](), DOMAIN, keep_undeclared=True)
    assert columns.codes["icd"].tolist() == INDICES


def test_more_prefixes_than_a_lazy_frame_compares_are_looked_up_alike() -> None:
    starts = [f"{letter}{digit}" for letter in "ABCDEFGHIJ" for digit in range(10)]
    domain = Domain({"icd": Category((*map(Prefix, starts), Prefix("A")), missing=True)})
    frame = pl.DataFrame({"icd": [*(f"{start}7" for start in starts), "A", "Z1", None]})
    expected = [*range(100), 100, -1, -1]
    assert read_checked(frame, domain).codes["icd"].tolist() == expected
    assert read_checked(frame.lazy(), domain).codes["icd"].tolist() == expected


def test_a_csv_file_keeps_the_leading_zeros_of_codes_that_are_digits(tmp_path: Path) -> None:
    from glassine.data.sources import read_table
    from glassine.records.headers import RecordsFile
    from glassine.records.purpose import Purpose

    path = tmp_path / "records.csv"
    path.write_text("nace\n0111\n1110\n9200\n")
    domain = Domain({"nace": Category((Prefix("01"), Prefix("1")), missing=True)})
    assert read_checked(read_table(RecordsFile(path=path), Purpose.ORDINARY, domain), domain).codes[
        "nace"
    ].tolist() == [
        0,
        1,
        -1,
    ]


def test_numbers_begin_with_nothing_and_a_column_of_them_is_refused() -> None:
    domain = Domain({"nace": Category((Prefix("11"),), missing=True)})
    mixed = {"nace": np.array([11, "11", 1.1], dtype=object)}
    assert read_checked(mixed, domain).codes["nace"].tolist() == [-1, 0, -1]
    with pytest.raises(InvalidDataError, match="cannot hold the values"):
        read_checked(pl.DataFrame({"nace": [11, 12]}), domain)
    with pytest.raises(InvalidDataError, match="its column holds numbers"):
        OneOf("nace", (Prefix("11"),)).holds(np.array([11, 12]))


def test_a_condition_decides_raw_values_as_it_decides_conformed_ones() -> None:
    columns = read_checked({"icd": np.array(VALUES, dtype=object)}, DOMAIN)
    raw = np.array([None if value in ("NA", "") else value for value in VALUES], dtype=object)
    for value in CODES.values:
        literal = OneOf("icd", (value,))
        assert literal.holds(raw).tolist() == columns.holds(literal).tolist()
        assert literal.holds(raw).any()


def test_a_condition_on_part_of_a_prefix_is_refused_on_conformed_records() -> None:
    columns = read_checked(pl.DataFrame({"icd": ["E11", "E2"]}), DOMAIN)
    with pytest.raises(InvalidDataError, match="not a value of its domain"):
        columns.holds(OneOf("icd", ("E11",)))
    with pytest.raises(InvalidDataError, match="not a value of its domain"):
        columns.holds(OneOf("icd", (Prefix("E"),)))  # without the exceptions of the domain


def test_conditions_are_disjoint_only_if_no_text_satisfies_both() -> None:
    rest = Prefix("E", but=("E10", Prefix("E2")))
    assert are_disjoint(OneOf("icd", (rest,)), OneOf("icd", ("E10",)))
    assert are_disjoint(OneOf("icd", (rest,)), OneOf("icd", (Prefix("E2"),)))
    assert not are_disjoint(OneOf("icd", (rest,)), OneOf("icd", ("E11",)))
    assert not are_disjoint(OneOf("icd", (Prefix("E"),)), OneOf("icd", (Prefix("E2"),)))


def test_prefixes_of_the_same_texts_are_equal_and_no_prefix_is_a_text() -> None:
    assert Prefix("E", but=("E10", "E12", Prefix("E1"))) == Prefix("E", but=(Prefix("E1"),))
    assert len({Prefix("E"), "E*", Prefix("E", but=("E1",))}) == 3
    for again in (pickle.loads(pickle.dumps(CODES)), copy.deepcopy(CODES)):
        assert again == CODES


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((Prefix("E"), 1), "texts alone"),
        ((Prefix("E"), "E*"), "written as a prefix"),
        ((Prefix("E"), Prefix("E", but=("E1",))), "must differ"),
    ],
)
def test_a_category_whose_values_cannot_be_told_apart_is_refused(values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidDomainError, match=message):
        Category(values)


@pytest.mark.parametrize(("start", "but"), [("E*", ()), ("E", ("F1",)), ("E", (Prefix("E"),))])
def test_a_prefix_that_contradicts_itself_is_refused(start: str, but: tuple[str, ...]) -> None:
    with pytest.raises(InvalidDomainError):
        Prefix(start, but)


def test_a_domain_with_prefixes_is_the_same_after_json_and_toml(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    domain = Domain({"icd": CODES, "odd": Category(("a|b", Prefix("c")), missing=True), "plain": Category(("A*", "B"))})
    assert from_dict(json.loads(json.dumps(to_dict(domain)))) == domain
    jsonschema.validate(to_dict(domain), schema())
    domain.to_json(tmp_path / "domain.json")
    assert Domain.read(tmp_path / "domain.json") == domain
    (tmp_path / "domain.toml").write_text(to_toml(domain))
    assert Domain.read(tmp_path / "domain.toml") == domain
    assert 'codes = "E10 | E* | E1* | N* | F"' in to_toml(domain)


def test_a_wide_table_of_codes_is_declared_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "domain.toml"
    head = 'schema = "glassine.domain/1"\n\n[attributes.icd]\ntype = "category"\n'
    path.write_text(head + 'codes = "A00*..A99* | E10 | E* | *"\n')
    attribute = Domain.read(path)["icd"]
    assert attribute.size == 103
    assert isinstance(attribute, Category)
    assert attribute.values[:2] == (Prefix("A00"), Prefix("A01"))
    book = tmp_path / "book.csv"
    book.write_text("name,type,values\nicd,category,E10=one|E*=the rest of E\n")
    assert read_codebook(book)["icd"] == Category(("E10", Prefix("E", but=("E10",))))
    path.write_text(head + 'codes = "A*1 | B"\n')
    with pytest.raises(InvalidDomainError, match="star must stand behind"):
        Domain.read(path)


def test_records_are_checked_against_prefixes() -> None:
    domain = Domain({"icd": Category((Prefix("E"),))})
    assert not violations(domain, pl.DataFrame({"icd": ["E1", "E2"]}))
    assert violations(domain, pl.DataFrame({"icd": ["E1", "F2"]})) == {"icd": 1}


def test_what_cannot_name_a_prefix_refuses_a_domain_that_has_one() -> None:
    import glassine
    from glassine.microaggregation import microaggregate

    domain = Domain({"icd": Category((Prefix("E"), Prefix("F"))), "age": Integer(0, 9)})
    frame = pl.DataFrame({"icd": ["E1", "F1"] * 10, "age": [1, 2] * 10})
    y = [0, 1] * 10
    fits: list[Any] = [
        glassine.learners.PrivateEBMClassifier(epsilon=1.0, domain=domain, classes=(0, 1)),
        glassine.learners.MultiwayTreeClassifier(domain=domain),
        glassine.learners.ScorecardClassifier(domain=domain),
        glassine.surrogates.SurrogateExplainer(lambda rows: np.zeros(len(rows), dtype=int), 2, domain=domain),
    ]
    for fit in fits:
        with pytest.raises(InvalidDomainError, match="by the prefixes"):
            fit.fit(frame, y)
    with pytest.raises(InvalidDomainError, match="by the prefixes"):
        microaggregate(frame, 2, domain=domain.restrict(("icd", "age")), distance="gower")
    with pytest.raises(InvalidDataError, match="classes must be listed"):
        glassine.learners.PrivateTreeClassifier(epsilon=1.0, domain=domain).fit(frame, "icd")
