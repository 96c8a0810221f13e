"""Special codes: numbers that stand for something else are values of their own, read alike wherever a value is read."""

from __future__ import annotations

import copy
import json
import math
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine.counting.space import NumberFactor
from glassine.data.inference import draft
from glassine.data.outside import violations
from glassine.domain import Between, Domain, Integer, Literal, OneOf, Real
from glassine.domain.attributes import code_cuts
from glassine.domain.domain import from_dict, schema, to_dict
from glassine.domain.forms import read_codebook, to_toml
from glassine.domain.grid import on_grid
from glassine.errors import InvalidDataError, InvalidDomainError
from glassine.learners import PrivateTreeRegressor
from glassine.microaggregation import microaggregate
from glassine.records.cells import Flag, Reader
from glassine.records.reading import read_settled
from glassine.sealed.satisfied import most_satisfied

CODED = Integer(0, 12, codes={-9: "refused", -8: "unknown", 5: "other", 40: "late"}, missing=True)
DECIMAL = Real(0.0, 1.0, 0.25, codes={-1.5: "refused", 0.5: "half", 7: "late"})
VALUES = {"x": [-9, -8, *range(13), 40], "d": [-1.5, 0.0, 0.25, 0.5, 0.75, 1.0, 7.0]}
CELLS: list[Any] = [-9, -8.0, "-9", " -8 ", -7, 5, 13, 40, "40.0", 41, None, "NA", "x", math.inf, 12.5]
READ = [-9, -8, -9, -8, 0, 5, 12, 40, 40, 12, math.nan, math.nan, math.nan, 12, 12]


def test_sizes_and_measures_are_those_of_the_listed_values() -> None:
    for attribute, values in ((CODED, VALUES["x"]), (DECIMAL, VALUES["d"])):
        assert attribute.size == len(values) + attribute.missing
        assert attribute.ends == (min(values), max(values))
        points = sorted({*values, *(v + step for v in values for step in (-0.1, 0.1)), -math.inf, math.inf})
        for lo, hi in product(points, points):
            assert attribute.measure(lo, hi) == sum(lo < value <= hi for value in values), (lo, hi)


def in_duckdb() -> Any:
    duckdb = pytest.importorskip("duckdb")
    frame = pl.DataFrame({"x": list(map(str, VALUES["x"]))}).to_arrow()
    return duckdb.from_arrow(frame)


@pytest.mark.parametrize("cells", [CELLS, CELLS * 3, np.array([-9, -8, -7, 5, 13, 40, 41]), np.arange(-12, 45.0)])
def test_a_column_is_read_as_its_cells_are(cells: Any) -> None:
    reader = Reader(CODED)
    values, flags = reader.column(cells)
    expected = [reader.cell(cell) for cell in (cells if isinstance(cells, list) else cells.tolist())]
    assert np.array_equal(values, [value for value, _ in expected], equal_nan=True)
    assert flags.tolist() == [flag for _, flag in expected]
    codes = {-9, -8, 5, 40}
    for cell in cells if not isinstance(cells, list) else ():
        inside = float(cell) if cell in codes else min(max(float(cell), 0.0), 12.0)
        assert reader.cell(cell) == (inside, Flag.OK if inside == cell else Flag.CLIPPED)


def test_cells_of_every_type_are_read() -> None:
    assert np.array_equal(Reader(CODED).column(CELLS)[0], READ, equal_nan=True)


@pytest.mark.parametrize("container", ["frame", "lazy", "DuckDB", "rows"])
def test_containers_agree(container: str) -> None:
    frame = pl.DataFrame({"x": list(map(str, VALUES["x"]))})
    data = {"frame": frame, "lazy": frame.lazy(), "rows": frame.to_dicts()}
    held = in_duckdb() if container == "DuckDB" else data[container]
    assert read_settled(held, Domain({"x": CODED})).numbers["x"].tolist() == VALUES["x"]


def test_the_space_counts_draws_and_masks_as_enumeration_does() -> None:
    of_x: list[Literal] = [Between("x", hi=3), OneOf("x", (-9,)), OneOf("x", (5, 40)), Between("x", lo=-9, hi=-8)]
    of_d: list[Literal] = [Between("d", lo=0.3), OneOf("d", (7,)), OneOf("d", (-1.5, 0.5), negated=True)]
    for name, attribute, literals in (("x", CODED, of_x), ("d", DECIMAL, of_d)):
        factor = NumberFactor(name, attribute, literals)
        sizes = list(map(int, factor.sizes))
        present = len(sizes) - attribute.missing
        for literal in literals:
            held = literal.holds(np.array(VALUES[name], dtype=float)).sum()
            assert sum(sizes[atom] for atom in range(present) if factor.mask(literal) >> atom & 1) == held
        atoms = np.repeat([atom for atom in range(present) if sizes[atom]], 400)
        drawn = factor.draw(atoms, np.random.default_rng(0))[name]
        assert set(drawn.tolist()) == set(VALUES[name])
        for literal in literals:
            assert (literal.holds(drawn) == [bool(factor.mask(literal) >> atom & 1) for atom in atoms.tolist()]).all()


def test_a_record_satisfies_as_many_rules_as_its_best_value_does() -> None:
    domain = Domain({"x": CODED})
    literals: list[Literal] = [OneOf("x", (-9,)), Between("x", hi=-8.5), Between("x", hi=2), Between("x", lo=20)]
    values = np.array([*VALUES["x"], None], dtype=object)
    held = np.array([literal.holds(values) for literal in literals]).sum(axis=0)
    assert most_satisfied(domain, [(literal,) for literal in literals]) == held.max() == 3


def test_cuts_around_codes_are_public_and_leave_each_code_alone() -> None:
    for attribute, values in ((CODED, VALUES["x"]), (DECIMAL, VALUES["d"])):
        cuts = code_cuts(attribute)
        cells = np.searchsorted(cuts, values)
        for code in attribute.codes:
            assert (cells == cells[values.index(code)]).sum() == 1
        assert all(on_grid(attribute, cut) for cut in cuts)
    assert not on_grid(Integer(0, 12, thresholds=(3,), codes={-9: "refused", -1: "later"}), 6.5)


def test_files_hold_codes(tmp_path: Path) -> None:
    domain = Domain({"x": CODED, "d": DECIMAL})
    assert from_dict(json.loads(json.dumps(to_dict(domain)))) == domain
    (tmp_path / "domain.toml").write_text(to_toml(domain))
    assert Domain.read(tmp_path / "domain.toml") == domain
    assert copy.deepcopy(domain) == domain
    assert pickle.loads(pickle.dumps(domain)) == domain
    assert hash(domain) == hash(copy.deepcopy(domain))
    book_of = "name,type,values\nx,,0..12 | -9=refused | 40 = late\nd,real,0 to 1 step 0.25;7=late\n"
    (tmp_path / "book.csv").write_text(book_of)
    book = read_codebook(tmp_path / "book.csv")
    assert book["x"] == Integer(0, 12, codes={-9: "refused", 40: "late"})
    assert book["d"] == Real(0.0, 1.0, 0.25, codes={7: "late"})
    (tmp_path / "odd.csv").write_text("name,type,values\nx,,0..12 | refused\n")
    with pytest.raises(InvalidDomainError, match="special codes and labels"):
        read_codebook(tmp_path / "odd.csv")


def test_the_schema_takes_what_is_written() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(json.dumps(to_dict(Domain({"x": CODED, "d": DECIMAL})))), schema())


def test_a_draft_takes_bounds_from_the_other_numbers() -> None:
    frame = pl.DataFrame({"x": [-9, 3, 7, 98, 4], "d": [0.5, 1.5, -1.0, 0.5, 0.5], "job": ["a", "b", "a", "b", "a"]})
    domain, _ = draft(frame, {"x": {-9: "refused", 98: "unknown"}, "d": {-1.0: "refused"}})
    assert domain["x"] == Integer(3, 7, codes={-9: "refused", 98: "unknown"}, inferred=True)
    assert domain["d"] == Real(0.5, 1.5, 0.1, codes={-1.0: "refused"}, inferred=True)
    assert "is no number" in draft(frame, {"job": {-9: "refused"}})[1]["job"]


def test_a_check_takes_codes_for_values() -> None:
    domain = Domain({"x": CODED})
    assert violations(domain, pl.DataFrame({"x": [-9, 5, 40, 12]})) == {}
    assert violations(domain, pl.DataFrame({"x": [-7, 41, 3, 3]})) == {"x": 2}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Integer(0, 9, codes={-9.5: "refused"}), "whole numbers"),
        (lambda: Integer(0, 9, codes={True: "refused"}), "finite number"),  # type: ignore[arg-type]
        (lambda: Integer(0, 9, codes={math.nan: "refused"}), "finite number"),
        (lambda: Integer(0, 9, codes={"-9": "refused"}), "finite number"),  # type: ignore[arg-type]
        (lambda: Integer(0, 9, codes={-9: ""}), "label"),
        (lambda: Integer(0, 9, codes={-9: "refused", -8: "refused"}), "label"),
        (lambda: Integer(0, 9, codes=7), "must map"),  # type: ignore[arg-type]
        (lambda: Integer(0, 1, codes={0: "no", 1: "yes"}), "every value"),
        (lambda: Integer(0, 99, codes={-i: str(i) for i in range(1, 40)}), "at most 32"),
        (lambda: Real(0.0, 1.0, codes={-9: "refused"}), "resolution"),
        (lambda: Real(0.0, 1.0, 0.1, codes={0.05: "odd"}), "between two values"),
        (lambda: Real(0.0, 1.0, 0.5, codes={1.2: "near"}), "between two values"),
    ],
)
def test_what_is_no_code_is_refused(make: Any, said: str) -> None:
    with pytest.raises(InvalidDomainError, match=said):
        make()


@pytest.mark.parametrize("codes", ['{"a": "refused"}', '["refused"]', '{"-9": 7}'])
def test_a_file_that_is_wrong_is_refused(codes: str) -> None:
    entry = {"name": "x", "type": "integer", "lo": 0, "hi": 9, "codes": json.loads(codes)}
    with pytest.raises(InvalidDomainError, match="codes"):
        from_dict({"schema": "glassine.domain/1", "attributes": [entry]})


def test_distances_refuse_codes() -> None:
    with pytest.raises(InvalidDomainError, match="cannot read the special codes of 'x'"):
        microaggregate(pl.DataFrame({"x": [-9, 1, 2, 3]}), 2, domain=Domain({"x": Integer(0, 9, codes={-9: "no"})}))


def test_a_number_to_predict_has_no_codes() -> None:
    domain = Domain({"x": Integer(0, 9), "y": Integer(0, 9, codes={-9: "no"})})
    frame = pl.DataFrame({"x": [1, 2, 3, 4], "y": [1, 2, 3, 4]})
    with pytest.raises(InvalidDataError, match="special codes"):
        PrivateTreeRegressor(epsilon=1.0, domain=domain).fit(frame, "y")
