from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.domain import Attribute, Binary, Category, Integer, Real
from glassine.domain.prefixes import Prefix
from glassine.records.cells import Coded, Flag, Reader
from tests.records.odd_cells import ATTRIBUTES, NUMBERS, ODD_CELLS, TEXTS, Hostile

OK, CLIPPED, MISSING, UNDECLARED, INFINITE = Flag


def same(one: Any, other: Any) -> bool:
    """Return whether two answers for a cell are the same; NaN is itself, and -0.0 is not 0.0."""
    return bool(one[1] == other[1]) and bool(one[0] == other[0] or (one[0] != one[0] and other[0] != other[0]))


@pytest.mark.parametrize(
    ("attribute", "cell", "answer"),
    [
        (Integer(0, 100), "60", (60.0, OK)),
        (Integer(0, 100), " +60.5 ", (60.5, OK)),
        (Integer(0, 100), "True", (1.0, OK)),
        (Integer(0, 100), 101, (100.0, CLIPPED)),
        (Integer(0, 100), Decimal("-0.25"), (0.0, CLIPPED)),
        (Integer(0, 100), Fraction(1, 4), (0.25, OK)),
        (Integer(0, 100), np.float32("-inf"), (0.0, INFINITE)),
        (Integer(0, 100), "-Infinity", (0.0, INFINITE)),
        (Integer(0, 100), "?", (math.nan, MISSING)),
        (Integer(0, 100), None, (math.nan, MISSING)),
        (Integer(0, 100), "abc", (math.nan, UNDECLARED)),
        (Integer(0, 100), [60], (math.nan, UNDECLARED)),
        (Integer(0, 100), b"60", (math.nan, UNDECLARED)),
        # What is beyond every double has one rule in every form: it is finite, and it is clipped.
        *((Integer(0, 100), cell, (100.0, CLIPPED)) for cell in (10**400, "1e400", "1" * 5000, Decimal("1e500"))),
        (Integer(0, 100), np.longdouble("1e400"), (100.0, CLIPPED)),
        (Real(-(10**300), 10**300), "-1e301", (-1e300, CLIPPED)),
        (Real(0.0, 1.0), "-0.0", (0.0, OK)),
        (Binary(), "1", (1, OK)),
        (Binary(), "no", (-1, UNDECLARED)),
        (Binary(), "true", (1, OK)),
        (Binary(), 2, (-1, UNDECLARED)),
        (Binary(), math.inf, (-1, INFINITE)),
        (Binary(), "inf", (-1, UNDECLARED)),
        (Category(("a", "b")), "?", (-1, MISSING)),
        (Category(("?", "b")), "?", (0, OK)),
        (Category(("a", "b")), "zz", (-1, UNDECLARED)),
        # A number is its own spelling first, and then by value; so is a text.
        (Category(("01", "1")), 1, (1, OK)),
        (Category(("01", "1")), 1.0, (1, OK)),
        (Category(("01", "1")), "1.0", (1, OK)),
        (Category(("01", "1")), "01", (0, OK)),
        (Category(("01", "001")), 1, (0, OK)),
        (Category(("1", 1)), 1, (1, OK)),
        (Category(("1", 1)), "1", (0, OK)),
        (Category(("1", 1)), "1.0", (1, OK)),
        (Category((0.5, 1)), "0.50", (0, OK)),
        (Category((0.1,)), np.float32(0.1), (-1, UNDECLARED)),
        (Category((2**53, 2**53 + 1)), 2**53 + 1, (1, OK)),
        (Category((2**53, 2**53 + 1)), "9007199254740993", (1, OK)),
        (Category((2**53 + 1,)), float(2**53), (-1, UNDECLARED)),
        (Category((Prefix("E"), Prefix("E1"))), "E12", (1, OK)),
        (Category((Prefix("1"), "a")), 1, (-1, UNDECLARED)),
        (Category((Prefix(""), "a")), "NA", (-1, MISSING)),
    ],
)
def test_cells_are_read_by_the_rules(attribute: Attribute, cell: Any, answer: tuple[float, Flag]) -> None:
    assert same(Reader(attribute).cell(cell), answer)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_column_gives_what_its_cells_give(name: str) -> None:
    reader = Reader(ATTRIBUTES[name])
    answers = [reader.cell(cell) for cell in ODD_CELLS]
    for beside in ([], ["zz"] * 20, [1] * 20, [None] * 20, [0.5, "1", None, 7] * 5):
        for cell, answer in zip(ODD_CELLS, answers, strict=True):
            values, flags = reader.column([cell, *beside, cell])
            assert values.dtype == reader.dtype
            assert flags.dtype == np.uint8
            assert same((values[0], flags[0]), answer), (cell, beside)
            assert same((values[-1], flags[-1]), answer), (cell, beside)
    values, flags = reader.column(list(ODD_CELLS))
    for cell, answer, value, flag in zip(ODD_CELLS, answers, values, flags, strict=True):
        assert same((value, flag), answer), cell


FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "objects": lambda cells: np.fromiter(cells, dtype=object, count=len(cells)),
    "tuple": tuple,
    "masked objects": lambda cells: np.ma.masked_array(
        np.fromiter(cells, dtype=object, count=len(cells)), [cell is None for cell in cells]
    ),
    "polars objects": lambda cells: pl.Series(cells, dtype=pl.Object),
    "coded": lambda cells: Coded(values=cells[::-1], places=np.arange(len(cells) - 1, -1, -1)),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("form", FORMS)
def test_forms_of_objects_give_what_their_cells_give(form: str, name: str) -> None:
    reader = Reader(ATTRIBUTES[name])
    cells = [cell for cell in ODD_CELLS if not isinstance(cell, Hostile)]
    values, flags = reader.column(FORMS[form](cells))
    for cell, value, flag in zip(cells, values, flags, strict=True):
        assert same((value, flag), reader.cell(cell)), cell


PLAIN = [number for number in NUMBERS if (number is not None and abs(number) < 2**64) or number != number]
SERIES: dict[str, pl.Series] = {
    "texts": pl.Series([*TEXTS, None]),
    "texts without gaps": pl.Series(TEXTS),
    "categorical": pl.Series([*TEXTS, None], dtype=pl.Categorical),
    "enum": pl.Series(["a", None, "1", "01"], dtype=pl.Enum(["1", "01", "a"])),
    "fractions": pl.Series([*map(float, PLAIN), None]),
    "single": pl.Series([0.1, 0.5, 1, math.nan, math.inf, None], dtype=pl.Float32),
    "whole": pl.Series([0, 1, 2, -1, 5, 100, 101, 2**53 + 1, None]),
    "bytes": pl.Series([0, 1, 255, None], dtype=pl.UInt8),
    "unsigned": pl.Series([2**63, 2**64 - 1, 1, None], dtype=pl.UInt64),
    "wide": pl.Series([10**25, 2**53 + 1, -1, None], dtype=pl.Int128),
    "truths": pl.Series([True, False, None]),
    "decimals": pl.Series(["1.5", "1", "0.1", None]).cast(pl.Decimal(10, 2)),
    "nothing": pl.Series([None, None]),
    "none at all": pl.Series([], dtype=pl.String),
    "no number": pl.Series([], dtype=pl.Int64),
    "lists": pl.Series([[1], None]),
    "structs": pl.Series([{"a": 1}, None]),
    "dates": pl.Series([0, None]).cast(pl.Date),
    "durations": pl.Series([0, None]).cast(pl.Duration),
    "binary": pl.Series([b"1", None]),
}


@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_typed_columns_give_what_their_cells_give(kind: str, name: str) -> None:
    series, reader = SERIES[kind], Reader(ATTRIBUTES[name])
    for column in (series, pl.concat([series] * 20)):
        values, flags = reader.column(column)
        assert values.dtype == reader.dtype
        for cell, value, flag in zip(column.to_list(), values, flags, strict=True):
            assert same((value, flag), reader.cell(cell)), cell


TYPES = ("b1", "i1", "i2", ">i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", ">f8", "f8", "g", "U9", "O", "c16", "M8[D]")


@pytest.mark.parametrize("kind", [*TYPES, "S2", "m8[s]"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_arrays_give_what_their_cells_give(kind: str, masked: bool, name: str) -> None:
    reader = Reader(ATTRIBUTES[name])
    array: Any = np.array([0, 1, 5, 100]).astype(kind)
    if array.dtype.kind == "f":
        array = np.append(array, [0.1, math.nan, math.inf, -0.0]).astype(kind)
    cells: list[Any] = list(array)
    if masked:
        array, cells[1] = np.ma.masked_array(array, np.arange(len(array)) == 1), None
    before = array.copy()
    values, flags = reader.column(array)
    for cell, value, flag in zip(cells, values, flags, strict=True):
        assert same((value, flag), reader.cell(cell)), cell
    values[:] = 0
    assert np.array_equal(array, before, equal_nan=array.dtype.kind == "f")


@given(st.lists(st.sampled_from(range(len(ODD_CELLS))), max_size=12), st.sampled_from(sorted(ATTRIBUTES)))
def test_no_cell_changes_how_another_is_read(places: list[int], name: str) -> None:
    reader = Reader(ATTRIBUTES[name])
    values, flags = reader.column([ODD_CELLS[place] for place in places])
    for place, value, flag in zip(places, values, flags, strict=True):
        assert same((value, flag), reader.cell(ODD_CELLS[place]))


def test_zero_has_one_sign() -> None:
    reader = Reader(Real(-1.0, 0.0))
    for column in (np.array([-0.0, 5.0]), np.array([-0.0]), ["-0.0"], pl.Series(["-0"]), [Decimal("-0")], [-1e-400]):
        values, _ = reader.column(column)
        assert not np.signbit(values).any()
    assert math.copysign(1, reader.cell("-0")[0]) == 1


@pytest.mark.parametrize(("size", "dtype"), [(127, np.int8), (128, np.int16), (32767, np.int16), (32768, np.int32)])
def test_codes_take_as_few_bytes_as_the_declared_values_need(size: int, dtype: type) -> None:
    reader = Reader(Category(tuple(f"v{i}" for i in range(size))))
    codes, _ = reader.column(["v0", f"v{size - 1}", "w"])
    assert codes.dtype == dtype
    assert codes.tolist() == [0, size - 1, -1]


@pytest.mark.parametrize("attribute", [Integer(0, 9, missing=True), Category((1, 2), missing=True), Category(("a",))])
def test_blanks_around_a_gap_say_no_more_than_the_gap(attribute: Integer | Category) -> None:
    # A file whose blanks are no part of a value, and a frame of its texts, read alike.
    texts = ["", " ", "?", " ?", "NA ", "\t", "nan\n", *["?"] * 20]
    assert {Reader(attribute).cell(text)[1] for text in texts} == {Flag.MISSING}
    assert set(Reader(attribute).column(pl.Series(texts))[1].tolist()) == {int(Flag.MISSING)}
    assert Reader(Category((" ?", "a"))).cell(" ?") == (0, Flag.OK)
