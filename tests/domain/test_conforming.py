from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glassine.data.record_table import columns as read_columns
from glassine.domain import Attribute, Between, Binary, Category, Domain, Integer, Literal, OneOf, Real
from glassine.errors import GlassineError, InvalidDataError, InvalidDomainError
from glassine.records.columns import ConformedColumns
from glassine.records.reading import read_settled
from glassine.records.undeclared import read_checked

INF, NAN = math.inf, math.nan

BACKENDS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "polars lazy": lambda frame: frame.lazy(),
    "arrow": lambda frame: frame.to_arrow(),
    "arrow dictionaries": lambda frame: frame.with_columns(pl.col(pl.String).cast(pl.Categorical)).to_arrow(),
    "polars categorical": lambda frame: frame.with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "duckdb": lambda frame: duckdb.connect().from_arrow(frame.to_arrow()),
    "pandas": lambda frame: frame.to_pandas(),
    "pandas nullable": lambda frame: frame.to_pandas().convert_dtypes(),
    "pandas arrow": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "pandas category": lambda frame: frame.to_pandas().astype("category"),
    "pandas ordered": lambda frame: frame.to_pandas().astype(pd.CategoricalDtype(ordered=True)),
    "pandas object": lambda frame: frame.to_pandas().astype(object),
    "pandas with an odd index": lambda frame: frame.to_pandas().set_index(np.zeros(len(frame), dtype=int)),
    "arrays": read_columns,
    "object array": lambda frame: np.array([list(row) for row in frame.iter_rows()], dtype=object),
}

DOMAIN = Domain(
    {
        "age": Integer(18, 99, missing=True),
        "dose": Real(0.0, 1.0, 0.5, missing=True),
        "steps": Integer(1, 5),
        "job": Category(("a", "b"), missing=True),
        "town": Category(("y", "x")),
        "smoker": Binary(missing=True),
        "sex": Binary(),
        "grade": Category((3, True, "1")),
        "size": Category((0.5, 1, 0), missing=True),
    }
)
FRAME = pl.DataFrame(
    {
        "age": [17, 40, None, 200, 41, -5],
        "dose": [0.3, NAN, None, INF, -0.0, -INF],
        "steps": pl.Series([1, 2, 3, 4, 5, 99], dtype=pl.Int8),
        "job": ["a", "pope", None, "b", "B", "a"],
        "town": ["x", "y", "z", "x", "x", "y"],
        "smoker": [True, None, False, True, False, True],
        "sex": [0, 1, 2, 1, 0, -1],
        "grade": pl.Series([1, 2, 3, 1, 2, 3], dtype=pl.UInt64),
        "size": [0.5, 1.0, 2.0, -0.0, NAN, None],
    }
)
NUMBERS = {
    "age": [18, 40, NAN, 99, 41, 18],
    "dose": [0.3, NAN, NAN, 1.0, 0.0, 0.0],
    "steps": [1, 2, 3, 4, 5, 5],
}
CODES = {
    "job": [0, -1, -1, 1, -1, 0],
    "town": [1, 0, -1, 1, 1, 0],
    "smoker": [1, -1, 0, 1, 0, 1],
    "sex": [0, 1, -1, 1, 0, -1],
    "grade": [1, -1, 0, 1, -1, 0],
    "size": [0, 1, -1, 2, -1, -1],
}


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_library_gives_the_same_columns(backend: str) -> None:
    columns = read_checked(BACKENDS[backend](FRAME), DOMAIN)
    assert columns.names == DOMAIN.names
    assert columns.n_records == 6
    for name, numbers in NUMBERS.items():
        assert columns.numbers[name].dtype == np.float64
        np.testing.assert_array_equal(columns.numbers[name], numbers, err_msg=name)
        assert not np.signbit(columns.numbers[name][columns.numbers[name] == 0]).any()
    for name, codes in CODES.items():
        assert columns.codes[name].dtype == np.int8
        assert columns.codes[name].tolist() == codes, name


def oracle(attribute: Attribute, value: Any) -> Any:
    """Return the conformed value by the definition, of one value alone; raise for what is refused."""
    gap = value is None or value != value
    if not attribute.missing and (gap or value in (INF, -INF)):
        raise InvalidDataError("refused")
    if gap:
        return None
    if isinstance(attribute, Integer | Real):
        return min(max(float(value), float(attribute.lo)), float(attribute.hi))
    declared = attribute.values if isinstance(attribute, Category) else (0, 1)
    number = written_number(value)
    if number is None:
        return next((known for known in declared if known == value), None)
    # The value itself, then a number that is declared, then a text that spells it, then one that writes it.
    spelled = str(float(number)) if math.isinf(number) or number != int(number) else str(int(number))
    alike = [known for known in declared if written_number(known) == number]
    alike.sort(key=lambda known: (isinstance(known, str), known != spelled))
    return next((known for known in declared if known == value), next(iter(alike), None))


def written_number(value: Any) -> Any:
    """Return a number, or the one that a text writes."""
    if not isinstance(value, str):
        return value
    try:
        return Decimal(value) if value.strip() != "NaN" else None
    except InvalidOperation:
        return {"true": 1, "false": 0}.get(value.lower())


WHOLE = st.one_of(st.integers(-3, 5), st.sampled_from([2**53, 2**53 + 1, 2**62, -(2**63), 2**63 - 1]))
FRACTIONS = st.sampled_from([-INF, -2.5, -0.0, 0.0, 0.5, 1.0, 2.0, 3.75, 1e15, INF, NAN])
TEXT = st.sampled_from(["", "a", "b", "1", "1.0", "7", "true", "é", "A"])
KINDS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "whole": (pl.Int64, WHOLE),
    "fraction": (pl.Float64, FRACTIONS),
    "truth": (pl.Boolean, st.booleans()),
    "text": (pl.String, TEXT),
}


@st.composite
def columns_of_data(draw: st.DrawFn, *, gaps: bool = True) -> tuple[Attribute, pl.Series]:
    kind = draw(st.sampled_from(sorted(KINDS)))
    dtype, values = KINDS[kind]
    missing = draw(st.booleans())
    attribute: Attribute
    shape = "category" if kind == "text" else draw(st.sampled_from(["category", "binary", "integer", "real"]))
    if shape == "category":
        alike = values.filter(lambda v: isinstance(v, str) or abs(v) <= 10**300)
        others = st.sampled_from([7, True, 0.5, "1", "a", 2.0, 10**30])
        listed = [draw(alike), *draw(st.lists(st.one_of(alike, others), max_size=4))]
        attribute = Category(tuple(dict.fromkeys(listed)), missing=missing)
    elif shape == "binary":
        attribute = Binary(missing=missing)
    elif shape == "integer":
        lo = draw(st.integers(-4, 3))
        attribute = Integer(lo, lo + draw(st.integers(0, 5)), missing=missing)
    else:
        attribute = Real(draw(st.sampled_from([-1.5, 0.0])), draw(st.sampled_from([0.5, 3.0])), missing=missing)
    entries = st.one_of(st.none(), values) if gaps and missing else values
    return attribute, pl.Series(draw(st.lists(entries, min_size=1, max_size=8)), dtype=dtype, strict=False)


QUICK = ("polars", "polars lazy", "arrow", "pandas", "pandas nullable", "pandas object", "object array")


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(columns_of_data(), st.sampled_from(QUICK))
@example((Integer(0, 1), pl.Series([2**53 + 1])), "arrow")
@example((Integer(0, 1), pl.Series([2**53 + 1])), "pandas arrow")
@example((Category((2**53,)), pl.Series([2**53, 2**53 + 1])), "polars")
@example((Category((2**53 + 1.0,)), pl.Series([2**53, 2**53 + 1])), "pandas")
@example((Category((10**30,)), pl.Series([1, 2])), "arrow")
@example((Category((2**53 + 1,)), pl.Series([2.0**53])), "polars")
@example((Category((0.5,)), pl.Series([1, 0])), "polars lazy")
@example((Integer(0, 1, missing=True), pl.Series([None, None], dtype=pl.Int64)), "pandas object")
def test_columns_equal_the_definition(case: tuple[Attribute, pl.Series], backend: str) -> None:
    attribute, series = case
    if backend == "pandas" and series.null_count() and series.dtype == pl.Int64:
        backend = "pandas nullable"  # a plain column with gaps rounds large whole numbers before it gets here
    domain = Domain({"x": attribute})
    data = BACKENDS[backend](series.to_frame("x"))
    try:
        wanted = [oracle(attribute, value) for value in series.to_list()]
    except InvalidDataError:
        with pytest.raises(InvalidDataError, match="'x' holds a missing value, NaN or infinity"):
            read_checked(data, domain)
        return
    columns = read_checked(data, domain)
    got = [None if value is None or value != value else value for value in columns.values("x").tolist()]
    assert got == wanted
    for i in range(len(series)):
        own = series[i : i + 1].to_frame("x")
        alone = read_settled(own.lazy() if backend == "polars lazy" else own, domain)
        np.testing.assert_array_equal(alone.array("x"), columns.array("x")[i : i + 1])


@st.composite
def any_literals(draw: st.DrawFn, attribute: Attribute) -> Literal:
    flags = {"negated": draw(st.booleans()), "missing": draw(st.booleans())}
    text = isinstance(attribute, Category) and any(isinstance(value, str) for value in attribute.values)
    if not text and draw(st.booleans()):
        lo = draw(st.sampled_from([-INF, -1.0, 0.0, 0.5, 1.0]))
        hi = draw(st.sampled_from([INF, 0.5, 1.0, 2.0]).filter(lambda bound: bound > lo))
        return Between("x", lo, hi, **flags)
    values: st.SearchStrategy[Any] = st.sampled_from(
        [0, 1, True, False, 0.5, 2.0, 2**53 + 1, 10**400, -INF, "1", "a", "b", ""]
    )
    return OneOf("x", tuple(draw(st.lists(values, max_size=3))), **flags)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_literals_hold_as_on_the_values(data: st.DataObject) -> None:
    attribute, series = data.draw(columns_of_data())
    literal = data.draw(any_literals(attribute))
    try:
        columns = read_checked(series.to_frame("x"), Domain({"x": attribute}))
    except InvalidDataError:
        return
    np.testing.assert_array_equal(columns.holds(literal), literal.holds(columns.values("x")))
    assert (columns.holds(literal) ^ columns.holds(literal.negate())).all()


@pytest.mark.parametrize(
    ("literal", "wanted"),
    [
        (Between("x", 0.0, 0.5), [0, 1, 0, 0]),
        (Between("x", 0.0, 0.5, negated=True), [1, 0, 1, 0]),
        (Between("x", 0.0, 0.5, negated=True, missing=True), [1, 0, 1, 1]),
        (Between("x", hi=0.5, missing=True), [1, 1, 0, 1]),
        (Between("x", lo=0.5), [0, 0, 1, 0]),
        (OneOf("x", (True, "0.0", 10**400)), [0, 0, 1, 0]),
    ],
)
def test_literals_on_numbers_at_their_bounds(literal: Literal, wanted: list[int]) -> None:
    columns = read_checked({"x": np.array([0.0, 0.5, 1.0, NAN])}, Domain({"x": Real(0.0, 1.0, missing=True)}))
    assert columns.holds(literal).tolist() == wanted == literal.holds(columns.values("x")).tolist()


def test_a_listed_whole_number_that_no_double_equals_is_no_value() -> None:
    columns = read_checked({"x": np.array([2**53])}, Domain({"x": Integer(0, 2**54)}))
    assert not columns.holds(OneOf("x", (2**53 + 1,))).any()
    assert columns.holds(OneOf("x", (2**53,))).all()


def test_an_undeclared_value_counts_as_missing_in_literals() -> None:
    columns = read_checked({"town": np.array(["x", "z"])}, Domain({"town": Category(("x",))}))
    assert columns.holds(OneOf("town", ("x",))).tolist() == [True, False]
    assert columns.holds(OneOf("town", ("x",), negated=True)).tolist() == [False, False]
    assert columns.holds(OneOf("town", ("x",)).negate()).tolist() == [False, True]


def test_a_threshold_on_strings_is_refused_whatever_the_records() -> None:
    columns = read_checked({"x": np.array([1, 2])}, Domain({"x": Category((1, 2, "many"))}))
    with pytest.raises(InvalidDataError, match="'x' is compared with a number"):
        columns.holds(Between("x", hi=1))
    with pytest.raises(InvalidDataError, match="lack the column 'y'"):
        columns.holds(Between("y", hi=1))


@pytest.mark.parametrize("backend", ["polars", "polars lazy", "duckdb", "pandas", "pandas object", "arrays"])
@pytest.mark.parametrize("attribute", [Integer(0, 5), Real(0.0, 5.0), Binary(), Category((1.0, 0.0))])
@pytest.mark.parametrize("odd", [NAN, None, INF, -INF])
def test_gaps_and_infinity_need_an_attribute_with_missing(backend: str, attribute: Attribute, odd: float) -> None:
    frame = pl.DataFrame({"x": [1.0, odd, 0.0]})
    with pytest.raises(InvalidDataError, match=r"^column 'x' holds a missing value, NaN or infinity"):
        read_checked(BACKENDS[backend](frame), Domain({"x": attribute}))


def test_a_message_names_no_value() -> None:
    frame = pl.DataFrame({"salary": [123456.0, None]})
    with pytest.raises(InvalidDataError) as caught:
        read_checked(frame, Domain({"salary": Integer(0, 5)}))
    assert "123456" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "attribute"),
    [
        # One declared text is enough: the column is not another one.
        (["u", "v"], Category((1, "a"))),
        (["u", "v"], Category(("a", 1))),
        # One value that is read is enough, and so is one that is no text, or a gap.
        (["u", "1"], Category((1, 2))),
        (["u", 7], Category((1, 2))),
        (["u", "?"], Category((1, 2))),
        ([], Category((1, 2))),
    ],
)
def test_texts_beside_declared_numbers_are_not_taken_for_another_column(values: list[Any], attribute: Category) -> None:
    column = read_checked({"x": np.array(values, dtype=object)}, Domain({"x": replace(attribute, missing=True)})).array(
        "x"
    )
    assert column.tolist() == [0 if value == "1" else -1 for value in values]


@pytest.mark.parametrize(
    ("values", "attribute", "message"),
    [
        (pl.Series([datetime.date(2020, 1, 1)]), Real(0.0, 5.0), "'x' must hold numbers, got the type Date"),
        (pl.Series([datetime.date(2020, 1, 1)]), Category(("a",)), "'x' has the type Date, which cannot hold"),
        (pl.Series([1, 2]), Category(("a", "b")), "'x' has the type Int64, which cannot hold"),
        (pl.Series([0.5]), Category(("half",)), "'x' has the type Float64, which cannot hold"),
        (pl.Series([True]), Category(("yes",)), "'x' has the type Boolean, which cannot hold"),
        (pl.Series([[1]]), Category((1,)), r"'x' has the type List\(Int64\), which cannot hold"),
        (pd.Series(["one", 2], dtype=object), Integer(0, 5), "'x' must hold numbers, got something else among"),
        (pd.Series([datetime.date(2020, 1, 1), 2], dtype=object), Real(0.0, 5.0), "numbers, got something else among"),
        (np.array(["one"]), Integer(0, 5), "'x' must hold numbers, got something else among"),
        (np.array([1j]), Integer(0, 5), "'x' must hold numbers, got something else among"),
        (np.array([[1]]), Integer(0, 5), r"'x' has shape \(1, 1\)"),
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_types_that_cannot_hold_the_attribute_are_refused(
    values: Any, attribute: Attribute, message: str, missing: bool
) -> None:
    frames: dict[Any, Any] = {pl.Series: pl.DataFrame, pd.Series: pd.DataFrame, np.ndarray: dict}
    declared = {slot: getattr(attribute, slot) for slot in ("lo", "hi", "values") if hasattr(attribute, slot)}
    domain = Domain({"x": type(attribute)(**declared, missing=missing)})
    with pytest.raises(InvalidDataError, match=message):
        read_checked(values if isinstance(values, pl.LazyFrame) else frames[type(values)]({"x": values}), domain)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (np.array([1, 2.5, True, None, NAN, np.float32(3), np.int8(9), pd.NA], dtype=object), [1, 2.5, 1, 3, 5]),
        (np.array([10**400, -(10**400), 2, None], dtype=object), [5, 0, 2]),
        (np.array([None, None], dtype=object), []),
        (np.array([1, 9], dtype=">i4"), [1, 5]),
        (np.array([1, 9], dtype=np.float16), [1, 5]),
        (np.array([2**64 - 1, 3], dtype=np.uint64), [5, 3]),
        (np.array([True, False]), [1, 0]),
        ([1, 9, None], [1, 5]),
    ],
)
def test_arrays_of_any_number_type_are_read(values: Any, wanted: Sequence[float]) -> None:
    numbers = read_checked({"x": values}, Domain({"x": Integer(0, 5, missing=True)})).numbers["x"]
    assert len(numbers) == len(values)
    assert numbers[~np.isnan(numbers)].tolist() == wanted


@pytest.mark.parametrize("dtype", [pl.UInt64, pl.Int128])
def test_wide_whole_numbers_are_compared_exactly(dtype: Any) -> None:
    frame = pl.DataFrame({"x": pl.Series([2**63 + 1, 2**63, 7, 3], dtype=dtype)})
    columns = read_checked(frame, Domain({"x": Category((2**63 + 1, 7.0, "3", 0.5))}))
    assert columns.codes["x"].tolist() == [0, -1, 1, 2]


@pytest.mark.parametrize(("size", "dtype"), [(127, np.int8), (128, np.int16), (32767, np.int16), (32768, np.int32)])
def test_codes_take_as_few_bytes_as_the_declared_values_need(size: int, dtype: type) -> None:
    domain = Domain({"x": Category(tuple(f"v{i}" for i in range(size)))})
    codes = read_checked({"x": np.array(["v0", f"v{size - 1}", "w"])}, domain).codes["x"]
    assert codes.dtype == dtype
    assert codes.tolist() == [0, size - 1, -1]


@pytest.mark.parametrize(("missing", "seen"), [(True, [0, 1, -2, -1]), (False, [0, 1, -2, -2])])
def test_only_a_text_for_a_gap_is_missing_and_only_where_a_value_may_be(missing: bool, seen: list[int]) -> None:
    domain = Domain({"c": Category(("a", 3), missing=missing)})
    # A list of several types is read value by value.
    columns = read_settled({"c": ["a", "3.0", "zz", "NA"]}, domain, keep_undeclared=True)
    assert columns.codes["c"].tolist() == seen


def test_decimals_are_numbers() -> None:
    relation = duckdb.connect().sql("select 0.1 as x, 0.5 as y union all select 7.0, 0.25")
    columns = read_checked(relation, Domain({"x": Real(0.0, 1.0), "y": Category((0.5,))}))
    assert sorted(zip(columns.numbers["x"].tolist(), columns.codes["y"].tolist(), strict=True)) == [(0.1, 0), (1.0, -1)]


def test_numbers_are_not_rounded() -> None:
    columns = read_checked({"x": np.array([2.5, 0.26])}, Domain({"x": Integer(0, 2), "y": Real(0, 1, 0.5)}), ["x"])
    assert columns.numbers["x"].tolist() == [2, 0.26]


def test_only_named_columns_are_read_in_the_given_order() -> None:
    frame = FRAME.with_columns(sex=pl.lit("unreadable"), extra=pl.lit(1))
    columns = read_checked(frame, DOMAIN, ["town", "age"])
    assert columns.names == ("town", "age")
    assert list(columns.codes) == ["town"]
    with pytest.raises(InvalidDomainError, match="'extra' is not an attribute"):
        read_checked(frame, DOMAIN, ["extra"])
    with pytest.raises(InvalidDataError, match="at least one attribute, got none"):
        read_checked(frame, DOMAIN, [])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pl.DataFrame({"x": [1]}), "lack the column 'y'"),
        (pl.LazyFrame({"x": [1]}), "lack the column 'y'"),
        ({"x": np.array([1])}, "lack the column 'y'"),
        ({"x": np.array([1]), "y": np.array([1, 2])}, "'y' has shape"),
        (np.zeros((3, 3)), r"must have shape \(n, 2\), one column per attribute in order, got \(3, 3\)"),
        (np.zeros(3), r"got \(3,\)"),
        ([1, 2], "data must be a data frame, got list"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "data cannot be read.*Name every column once"),
        (pd.DataFrame({0: [1], 1: [2]}), "lack the column 'x'"),
    ],
)
def test_data_without_the_columns_are_refused(data: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        read_checked(data, Domain.binary(["x", "y"]))


def test_arrays_have_their_columns_in_order() -> None:
    columns = read_checked(np.array([[3, 1], [0, 0]]), Domain({"a": Integer(0, 2), "b": Binary()}))
    assert columns.numbers["a"].tolist() == [2, 0]
    assert columns.codes["b"].tolist() == [1, 0]


@pytest.mark.parametrize("backend", ["polars", "polars lazy", "arrow", "duckdb", "pandas", "arrays"])
def test_no_record_gives_empty_columns(backend: str) -> None:
    empty = FRAME.clear()
    data = {name: np.array([]) for name in FRAME.columns} if backend == "arrays" else BACKENDS[backend](empty)
    columns = read_checked(data, DOMAIN, ["age", "dose", "sex"])
    assert columns.n_records == 0
    assert columns.holds(OneOf("sex", (1,))).tolist() == []


@pytest.mark.parametrize("backend", ["polars", "arrow", "pandas", "pandas category", "arrays"])
def test_columns_of_nothing_but_gaps_are_missing(backend: str) -> None:
    frame = pl.DataFrame({"age": [None, None], "job": [None, None], "smoker": [None, None]})
    columns = read_checked(BACKENDS[backend](frame), DOMAIN, frame.columns)
    assert np.isnan(columns.numbers["age"]).all()
    assert [columns.codes[name].tolist() for name in ("job", "smoker")] == [[-1, -1]] * 2
    with pytest.raises(InvalidDataError, match="'sex' holds a missing value"):
        read_checked(BACKENDS[backend](frame.rename({"smoker": "sex"})), DOMAIN, ["sex"])


def test_the_data_stay_as_they_were() -> None:
    array = np.array([-7.0, 3.0])
    read_checked({"x": array}, Domain({"x": Integer(0, 2)})).numbers["x"][:] = 9
    assert array.tolist() == [-7.0, 3.0]


def test_columns_are_restricted_and_taken() -> None:
    columns = read_checked(FRAME, DOMAIN)
    some = columns.restrict(["town", "age"]).take(np.array([3, 0]))
    assert some.names == ("town", "age")
    assert some.numbers["age"].tolist() == [99, 18]
    assert some.values("town").tolist() == ["x", "x"]
    assert columns.take(columns.holds(OneOf("job", ("a",)))).n_records == 2
    with pytest.raises(InvalidDataError, match="lack the column 'sex'"):
        some.restrict(["sex"])


def test_the_representation_shows_no_value() -> None:
    columns: ConformedColumns = read_checked({"x": np.array([123456])}, Domain({"x": Integer(0, 10**6)}))
    assert repr(columns) == "<Columns of 1 attributes: 'x'>"


def test_refusals_are_errors_of_the_package() -> None:
    assert issubclass(InvalidDataError, GlassineError)
