"""A cell reads as `Reader.cell` says: in every container that can hold it, for everything that reads records."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from glassine import Domain, audit
from glassine.attacks import infer_sensitive
from glassine.auditing import AuditSettings
from glassine.data import CountTable
from glassine.data.labels import class_codes
from glassine.data.record_table import as_table
from glassine.domain import Attribute, Between, Binary, Category, Integer, Literal, OneOf, Real
from glassine.domain.attributes import LARGEST
from glassine.domain.prefixes import Prefix, prefixes
from glassine.errors import InvalidDataError
from glassine.models import DecisionTree, Evidence, Rule, RuleList
from glassine.models.records import implied
from glassine.models.tree import Branch, Node
from glassine.records import Flag, Reader, read, read_checked, read_settled
from glassine.records.cells import PIECE
from glassine.records.columns import values_of
from glassine.records.reading import read as read_cells
from glassine.records.schemas import is_number
from glassine.records.undeclared import wide
from glassine.surrogates.query_input import described, query_of
from tests.records.odd_cells import ATTRIBUTES, NUMBERS, ODD_CELLS, TEXTS, Hostile
from tests.records.odd_containers import NO_COLUMNS, ODD_TYPES, UNNAMED

ANY: tuple[Any, ...] = tuple(cell for cell in ODD_CELLS if not isinstance(cell, Hostile | pd.Series))
"""Cells that containers take; what fails wherever it is asked is read by the tests of the reader."""

SMALL = [number for number in NUMBERS if type(number) is int and abs(number) < 2**63]
FLOATS = [float(number) for number in NUMBERS if (number is not None and abs(number) < 2**64) or number != number]

GROUPS: dict[str, list[Any]] = {
    "whole": SMALL,
    "whole and gap": [*SMALL, None],
    "fractions": [*FLOATS, math.inf, -math.inf],
    "truths": [True, False],
    "truths and gap": [True, None, False],
    "texts": list(TEXTS),
    "texts and gap": [*TEXTS, None],
    "gaps": [None, None],
}
"""Cells that a typed column holds together."""

Container = Callable[[list[Any]], Any]


def objects(cells: Sequence[Any]) -> Any:
    return np.fromiter(cells, dtype=object, count=len(cells))


HOLD_ANYTHING: dict[str, Container] = {
    "list of rows": lambda cells: [[cell] for cell in cells],
    "tuple of rows": lambda cells: tuple((cell,) for cell in cells),
    "list of mappings": lambda cells: [{"x": cell} for cell in cells],
    "mapping of lists": lambda cells: {"x": list(cells)},
    "mapping of arrays": lambda cells: {"x": objects(cells)},
    "array": lambda cells: objects(cells)[:, None],
    "structured array": lambda cells: np.array([(cell,) for cell in cells], dtype=[("x", object)]),
    "masked array": lambda cells: np.ma.masked_array(objects(cells), [cell is None for cell in cells])[:, None],
    "pandas objects": lambda cells: pd.DataFrame({"x": pd.Series(cells, dtype=object)}),
    "polars objects": lambda cells: pl.DataFrame({"x": pl.Series(cells, dtype=pl.Object)}),
    "table": lambda cells: as_table(pl.DataFrame({"x": pl.Series(cells, dtype=pl.Object)})),
}

HOLD_TYPES: dict[str, Container] = {
    "polars": lambda cells: pl.DataFrame({"x": cells}),
    "polars categories": lambda cells: pl.DataFrame({"x": pl.Series(cells, dtype=pl.Categorical)}),
    "polars lazy": lambda cells: pl.LazyFrame({"x": cells}),
    "duckdb": lambda cells: duckdb.from_arrow(pa.table({"x": pa.array(cells)})),
    "arrow": lambda cells: pa.table({"x": pa.array(cells)}),
    "arrow chunks": lambda cells: pa.table({"x": pa.chunked_array([[cell] for cell in cells], pa.array(cells).type)}),
    "arrow dictionary": lambda cells: pa.table({"x": pa.array(cells).dictionary_encode()}),
    "arrow runs": lambda cells: pa.table(
        {"x": pa.RunEndEncodedArray.from_arrays(pa.array(np.arange(len(cells), dtype="i4") + 1), pa.array(cells))}
    ),
    "pandas": lambda cells: pd.DataFrame({"x": cells}),
    "pandas nullable": lambda cells: pd.DataFrame({"x": pd.array(cells)}),
    "pandas arrow": lambda cells: pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(cells)))}),
    "pandas categories": lambda cells: pd.DataFrame({"x": pd.Series(cells, dtype=object).astype("category")}),
    "pandas sparse objects": lambda cells: pd.DataFrame({"x": pd.arrays.SparseArray(objects(cells), fill_value=None)}),
    "pandas sparse": lambda cells: pd.DataFrame({"x": pd.arrays.SparseArray(cells)}),
    "array of one type": lambda cells: np.array(cells)[:, None],
    "structured array": lambda cells: np.array([(cell,) for cell in cells], dtype=[("x", np.array(cells).dtype)]),
    "masked array": lambda cells: np.ma.masked_array(
        [cells[0] if cell is None else cell for cell in cells], [cell is None for cell in cells]
    )[:, None],
}


def held(container: str, group: str) -> tuple[list[Any], Any]:
    """Return cells as a typed container holds them, and the container; skip where a library has no column of them."""
    cells = GROUPS[group] * 10  # Few cells are read one by one.
    if container in ("pandas", "pandas sparse") and group == "whole and gap":
        # The column is one of fractions, rounded before anything reads it.
        cells = [math.nan if cell is None else float(cell) for cell in cells]
    if "array" in container and group.startswith("texts"):
        # NumPy drops what is null at the end of a text.
        cells = [cell if cell is None else cell.rstrip("\0") for cell in cells]
    try:
        return cells, HOLD_TYPES[container](cells)
    except (TypeError, ValueError, AttributeError, pa.ArrowException, pl.exceptions.PolarsError) as error:
        pytest.skip(f"{container} holds no {group}: {type(error).__name__}")


def same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


def check(cells: Sequence[Any], container: Any, attribute: Attribute) -> None:
    reader = Reader(attribute)
    columns, flags = read(container, {"x": attribute})
    assert columns.n_records == len(cells)
    for cell, value, flag in zip(cells, columns.array("x"), flags.arrays["x"], strict=True):
        wanted, why = reader.cell(cell)
        assert same(value, wanted), cell
        assert flag == why, cell


@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("container", HOLD_ANYTHING)
def test_containers_of_anything_read_as_their_cells(container: str, name: str) -> None:
    check(ANY, HOLD_ANYTHING[container](list(ANY)), ATTRIBUTES[name])


@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("container", HOLD_TYPES)
def test_typed_containers_read_as_their_cells(container: str, group: str, name: str) -> None:
    check(*held(container, group), ATTRIBUTES[name])


@pytest.mark.parametrize("container", [*ODD_TYPES, *UNNAMED])
def test_columns_of_odd_types_read_as_their_cells(container: str) -> None:
    cells, make = {**ODD_TYPES, **UNNAMED}[container]
    for attribute in ATTRIBUTES.values():
        check(cells, make(cells), attribute)


@pytest.mark.parametrize("name", NO_COLUMNS)
def test_what_is_no_column_is_refused(name: str) -> None:
    with pytest.raises(InvalidDataError, match=r"must be an array or a list|must be arrays of one length"):
        read(NO_COLUMNS[name], {"x": Integer(0, 9)})


@pytest.mark.parametrize("odd", [None, "x", 10**400, "\ud800", [1]], ids=["none", "text", "large", "half", "list"])
def test_a_long_column_of_objects_is_read_in_pieces(odd: Any) -> None:
    cells: list[Any] = [i % 100 for i in range(2 * PIECE + 7)]
    cells[PIECE] = cells[-1] = odd
    for attribute in (ATTRIBUTES["whole"], ATTRIBUTES["many numbers"], ATTRIBUTES["prefixes"]):
        reader = Reader(attribute)
        wanted = {cell: reader.cell(cell) for cell in range(100)}
        for column in (cells, objects(cells), tuple(cells)):
            values, flags = reader.column(column)
            expected = [reader.cell(odd) if i in (PIECE, len(cells) - 1) else wanted[c] for i, c in enumerate(cells)]
            assert np.array_equal(values, [value for value, _ in expected], equal_nan=reader.is_number)
            assert np.array_equal(flags, [flag for _, flag in expected])


def test_a_count_table_reads_as_the_records_that_it_counted() -> None:
    domain = Domain({"x": Category(("a", "1", "01"), missing=True), "n": Integer(0, 9, missing=True)})
    data = {"x": ["a", 1, "01", None, "zz"], "n": ["3", 12, None, 0.5, True]}
    table = CountTable.from_frame(data, domain)
    columns, _ = read(table, domain)
    assert columns.values("x").tolist() == table.columns.values("x").tolist()
    assert np.array_equal(columns.numbers["n"], table.columns.numbers["n"], equal_nan=True)
    assert sorted(map(str, columns.values("x"))) == ["01", "1", "None", "None", "a"]


# Everything that reads records: what it makes of cells follows from what the reader makes of each.


READ_ALONE = ("list of rows", "mapping of arrays", "structured array", "pandas objects", "polars objects", "table")
COUNTS = ((30, 10), (5, 40))
LITERALS: dict[str, Literal] = {
    "bound": Between("x", hi=0.5),
    "bounds, or missing": Between("x", -1.0, 1.0, negated=True, missing=True),
    "a number": OneOf("x", (1,)),
    "another number": OneOf("x", (1,), negated=True, missing=True),
    "texts of numbers": OneOf("x", ("01", "1")),
    "texts": OneOf("x", ("a", "?")),
    "a prefix": OneOf("x", (Prefix("E", but=("E1",)), "a")),
    "all but a prefix": OneOf("x", (Prefix("E"),), negated=True),
    "missing": OneOf("x", (), missing=True),
}


def holds(literal: Literal, cell: Any) -> bool | None:
    """Return whether a cell, as the recipe of the literal reads it, satisfies it; None where it is no number."""
    attribute = implied([literal])["x"]
    value, flag = Reader(attribute).cell(cell)
    if flag is Flag.MISSING:
        return literal.missing
    if isinstance(attribute, Real):
        return None if flag is Flag.UNDECLARED else bool(literal.holds(np.array([value]))[0])
    if flag is not Flag.OK:
        return literal.negated
    declared = attribute.values[int(value)]
    if isinstance(declared, Prefix):
        declared = declared.start + "?"
    return bool(literal.holds(np.array([declared], dtype=object))[0])


def rules(literal: Literal) -> RuleList:
    listed = (
        Rule(antecedent=(literal,), evidence=Evidence(counts=COUNTS[0])),
        Rule(evidence=Evidence(counts=COUNTS[1])),
    )
    return RuleList(attributes=("x",), rules=listed, classes=("yes", "no"))


def tree(literal: Literal, counts: Sequence[tuple[int, int]] = COUNTS) -> DecisionTree:
    nodes = (
        Node(branches=(Branch(literal=literal, child=1), Branch(literal=literal.negate(), child=2))),
        Node(evidence=Evidence(counts=counts[0])),
        Node(evidence=Evidence(counts=counts[1])),
    )
    return DecisionTree(attributes=("x",), nodes=nodes, classes=("yes", "no"))


@pytest.mark.parametrize("literal", LITERALS)
@pytest.mark.parametrize("container", READ_ALONE)
def test_models_ask_the_reader(container: str, literal: str) -> None:
    condition = LITERALS[literal]
    wanted = [holds(condition, cell) for cell in ANY]
    known = [cell for cell, truth in zip(ANY, wanted, strict=True) if truth is not None]
    expected = ["yes" if truth else "no" for truth in wanted if truth is not None]
    for model in (rules(condition), tree(condition)):
        assert model.predict(HOLD_ANYTHING[container](known)).tolist() == expected
        if len(known) < len(ANY):
            with pytest.raises(InvalidDataError, match="'x' is compared with a number, but"):
                model.predict(HOLD_ANYTHING[container](list(ANY)))


@pytest.mark.parametrize("literal", LITERALS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("container", HOLD_TYPES)
def test_models_ask_the_reader_of_typed_columns(container: str, group: str, literal: str) -> None:
    condition = LITERALS[literal]
    cells, frame = held(container, group)
    wanted = [holds(condition, cell) for cell in cells]
    if None in wanted:
        with pytest.raises(InvalidDataError, match="'x' is compared with a number, but"):
            rules(condition).predict(frame)
    else:
        assert rules(condition).predict(frame).tolist() == ["yes" if truth else "no" for truth in wanted]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_fits_audits_targets_and_explanations_ask_the_reader(name: str) -> None:
    attribute = ATTRIBUTES[name]
    domain, reader = Domain({"x": attribute}), Reader(attribute)
    number = isinstance(attribute, Integer | Real)
    answers = [reader.cell(cell) for cell in ANY]
    data = HOLD_ANYTHING["pandas objects"](list(ANY))
    # A private fit: a gap of a number that allows none is its lower bound.
    settled = read_settled(data, domain).array("x")
    for (value, _), got in zip(answers, settled, strict=True):
        assert same(got, attribute.lo if number and value != value and not attribute.missing else value)  # type: ignore[union-attr]
    # An explanation: the domain does not describe what is no value of it.
    columns, known = described(*read_cells(data, domain), domain)
    assert np.array_equal(columns.array("x"), settled, equal_nan=number)
    for (_, flag), told in zip(answers, known.tolist(), strict=True):
        odd = flag is Flag.UNDECLARED or (flag is Flag.MISSING and not attribute.missing)
        assert told is not (odd or (flag is Flag.INFINITE and not number))
    for cell, (value, flag) in zip(ANY, answers, strict=True):
        alone = HOLD_ANYTHING["list of rows"]([cell])
        refused = flag is Flag.UNDECLARED and number
        refused |= flag in (Flag.MISSING, Flag.INFINITE) and not attribute.missing
        if refused:
            with pytest.raises(InvalidDataError, match="'x'"):
                read_checked(alone, domain)
        else:
            assert same(read_checked(alone, domain).array("x")[0], value)
        if not number and not prefixes(getattr(attribute, "values", ())):
            classes = attribute.values if isinstance(attribute, Category) else (0, 1)
            code = class_codes([cell] if not isinstance(cell, list | tuple | np.ndarray) else [[cell, cell]], classes)
            assert code[0] == (value if value >= 0 else -1 if flag is Flag.MISSING else -2)
        if not isinstance(attribute, Integer | Real) and not prefixes(getattr(attribute, "values", ())):
            check_query(cell, attribute, flag, int(value))


def check_query(cell: Any, attribute: Category | Binary, flag: Flag, code: int) -> None:
    domain = Domain({"x": attribute})
    if flag is Flag.OK:
        values = attribute.values if isinstance(attribute, Category) else (0, 1)
        assert query_of({"x": cell}, domain) == {"x": values[code]}
    elif flag is Flag.MISSING and attribute.missing:
        assert query_of({"x": cell}, domain) == {"x": None}
    else:
        with pytest.raises(InvalidDataError, match="'x'"):
            query_of({"x": cell}, domain)


@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("container", ["polars", "pandas", "pandas categories", "arrow dictionary", "pandas nullable"])
def test_an_audit_sees_what_the_reader_read(container: str, group: str, name: str) -> None:
    attribute = ATTRIBUTES[name]
    cells, frame = held(container, group)
    table = as_table(frame).by({"x": attribute})
    number = isinstance(attribute, Integer | Real)
    reader = Reader(Real(-LARGEST, LARGEST, missing=True) if number else attribute)
    grouped = prefixes(getattr(attribute, "values", ()))
    listed = getattr(attribute, "values", (0, 1))
    for cell, seen in zip(cells, table.arrays["x"].tolist(), strict=True):
        value, flag = reader.cell(cell)
        if flag is Flag.INFINITE and not number:
            assert seen is None or math.isnan(seen)  # No category declares it, so that it is no value
        elif flag in (Flag.CLIPPED, Flag.INFINITE):
            assert abs(seen) >= 1e300
        elif number:
            assert same(float(seen), value), cell
        elif flag is Flag.OK and not grouped:
            assert seen == listed[int(value)], cell
            assert isinstance(seen, str) is isinstance(listed[int(value)], str)


@pytest.mark.parametrize("name", ["whole", "real or missing", "binary", "words or missing", "codes as texts"])
@pytest.mark.parametrize("container", ["pandas objects", "polars objects"])
def test_audits_and_disclosure_refuse_no_record(container: str, name: str) -> None:
    """Each record is counted where the literal holds or in the rest, rows of what is no number among the rest."""
    attribute = ATTRIBUTES[name]
    literal = LITERALS["bound"] if is_number(attribute) else OneOf("x", (values_of(attribute)[-1],))
    for cells in (list(ANY), list(TEXTS), [1, "1", 0.5, "0", 9], [1, "abc", None], [[1], {}, b"1", 0]):
        data = HOLD_ANYTHING[container](cells)
        declared = [truth(literal, Reader(wide(attribute)), cell) for cell in cells]
        implied_by = [bool(holds(literal, cell)) for cell in cells]
        for domain, inside in ((Domain({"x": attribute}), declared), (None, implied_by)):
            for published in (rules(literal), tree(literal)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    settings = AuditSettings(show_small_counts=True)
                    findings = audit(without_counts(published), domain=domain, data=data, settings=settings)
                sizes = [part.size for part in findings.value("parts").parts]
                assert sizes == [sum(inside), len(cells) - sum(inside)]
        sizes = [sum(implied_by), len(cells) - sum(implied_by)]
        if 0 not in sizes:
            counts = [(size - size // 3, size // 3) for size in sizes]
            disclosed = infer_sensitive(tree(literal, counts), data).probabilities
            wanted = [np.array(counts[not yes]) / sizes[not yes] for yes in implied_by]
            assert np.allclose(disclosed, wanted, atol=1e-6)


def truth(literal: Literal, reader: Reader, cell: Any) -> bool:
    """Return whether a cell that a domain reads satisfies a literal without a word on missing values."""
    value, flag = reader.cell(cell)
    if flag in (Flag.MISSING, Flag.UNDECLARED):
        return False
    if isinstance(reader.attribute, Real):
        return bool(literal.holds(np.array([value]))[0])
    return flag is Flag.OK and bool(literal.holds(np.array([values_of(reader.attribute)[int(value)]], dtype=object))[0])


def without_counts(model: RuleList | DecisionTree) -> RuleList | DecisionTree:
    if isinstance(model, RuleList):
        labels = (replace(rule, evidence=Evidence(label=i)) for i, rule in enumerate(model.rules))
        return replace(model, rules=tuple(labels))
    leaves = (replace(node, evidence=Evidence(label=i)) for i, node in enumerate(model.nodes[1:]))
    return replace(model, nodes=(model.nodes[0], *leaves))
