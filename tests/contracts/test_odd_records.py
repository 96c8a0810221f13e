"""Every consumer of records gives for each odd cell what `Reader.cell` says, in every container that can hold it."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from glassine import audit
from glassine.attacks import infer_sensitive
from glassine.attacks.bin_leakage import leak_bins
from glassine.attacks.reconstruction.entropy import reconstruct
from glassine.attacks.record_matching import original_records
from glassine.auditing import AuditSettings
from glassine.auditing.release_inputs import _read as side_of
from glassine.auditing.several_models import SeveralModels
from glassine.comparison.seeded_splits import read_labelled
from glassine.data.deviations import bounds, sentence
from glassine.data.labels import Sample
from glassine.data.outside import broken_rules
from glassine.data.record_table import as_table, table_of
from glassine.data.sources import read_table
from glassine.domain import Attribute, Between, Binary, Category, Domain, Integer, OneOf, Real
from glassine.domain.prefixes import prefixes
from glassine.errors import InvalidDataError
from glassine.formats import write_model
from glassine.models import AdditiveModel, CategoryBins, DecisionTree, NumericBins, Term
from glassine.models.evidence import Evidence
from glassine.models.records import counted_records, implied
from glassine.models.tree import Branch, Node
from glassine.records import Flag, Reader, read, schema
from glassine.records.columns import values_of
from glassine.records.headers import RecordsFile
from glassine.records.purpose import Purpose
from glassine.records.scalars import FOREIGN, number_of, value_of
from glassine.records.schemas import check_types
from glassine.records.undeclared import NEAR, wide
from glassine.scrubbing.scrub import _counted_sizes
from glassine.surrogates.query_input import open_records, query_of
from tests.cli.running import one_after_another
from tests.records.odd_cells import ATTRIBUTES, NUMBERS, ODD_CELLS, TEXTS
from tests.records.odd_containers import ODD_TYPES

SHOWN = AuditSettings(show_small_counts=True)


# What is expected, cell by cell.


def cut_of(attribute: Attribute) -> float:
    """Return a threshold; that of a wide number lies beyond its upper bound, as a published one may."""
    return 120.5 if attribute == ATTRIBUTES["whole"] else 0.5


def is_number(attribute: Attribute) -> bool:
    return isinstance(attribute, Integer | Real)


def leaf_of(attribute: Attribute, cell: Any) -> int:
    """Return the leaf: 0 up to the threshold or at the first declared value, 1 for all else, gaps among them."""
    value, flag = Reader(wide(attribute)).cell(cell)
    if is_number(attribute):
        return int(not value <= cut_of(attribute))
    return int(flag != Flag.OK or value != 0)


def reason_of(attribute: Attribute, cell: Any) -> str | None:
    """Return why a cell lies outside its attribute, in words."""
    value, flag = Reader(wide(attribute)).cell(cell)
    plain = value_of(cell)
    if flag == Flag.MISSING:
        return None if attribute.missing else "missing"
    if isinstance(attribute, Integer | Real):
        if flag == Flag.UNDECLARED:
            return f"{'texts' if isinstance(plain, str) else 'values'} that are no number"
        if value < attribute.lo or value > attribute.hi:
            return f"below {attribute.lo}" if value < attribute.lo else f"above {attribute.hi}"
        fraction = isinstance(attribute, Integer) and abs(value - round(value)) > NEAR
        return "no whole number" if fraction else None
    if flag == Flag.OK:
        return None
    text = isinstance(plain, str) and number_of(plain) is None
    return f"{'texts' if text else 'other values' if plain is FOREIGN else 'numbers'} that are not declared"


def expected(attribute: Attribute, cells: Sequence[Any]) -> tuple[list[int], dict[str, list[int]]]:
    """Return the size of each leaf, and the rows of each reason."""
    sizes = Counter(leaf_of(attribute, cell) for cell in cells)
    rows: dict[str, list[int]] = {}
    for i, cell in enumerate(cells):
        if (why := reason_of(attribute, cell)) is not None:
            rows.setdefault(why, []).append(i)
    return [sizes[0], sizes[1]], rows


# Consumers.


def tree_of(attribute: Attribute) -> DecisionTree:
    """Return a tree of one test, which says where missing values go."""
    literal = Between("x", hi=cut_of(attribute)) if is_number(attribute) else OneOf("x", (values_of(attribute)[0],))
    nodes = (
        Node(branches=(Branch(literal, 1), Branch(literal.negate(), 2))),
        *(Node(evidence=Evidence(label=label)) for label in (0, 1)),
    )
    return DecisionTree(nodes, ("x",), (0, 1))


def additive_of(attribute: Attribute) -> AdditiveModel:
    """Return an additive model of the same test: two bins, those of values that are not declared, and missing ones."""
    if is_number(attribute):
        bins: Any = NumericBins("x", (cut_of(attribute),))
    else:
        bins = CategoryBins("x", (values_of(attribute)[:1], values_of(attribute)[1:]))
    return AdditiveModel(
        attributes=("x",),
        terms=(Term(bins=(bins,), scores=np.zeros(bins.n_bins)),),
        intercept=(0.0,),
        link="identity",
    )


def check_audits(attribute: Attribute, cells: Sequence[Any], data: Any) -> None:
    """Audit a tree beside records: sizes, and what is told of them, are those of single cells."""
    sizes, rows = expected(attribute, cells)
    domain = Domain({"x": attribute})
    findings = audit(tree_of(attribute), domain=domain, data=data, settings=SHOWN)
    assert [part.size for part in findings.value("parts").parts] == sizes
    told = [str(note) for note in findings.notes if "outside" in note]
    if not rows:
        assert told == []
        return
    order = sorted(rows, key=list(rows_in_order(attribute)).index)
    why = {reason: len(rows[reason]) for reason in order}
    assert told == [sentence("x", sum(why.values()), bounds("x", domain), why)]
    assert findings.advice[0].text.startswith("Recode x in the records")
    assert {check.status for check in findings.checks if check.rule == "smallest_leaf"} <= {"unknown", "fail"}


def check_together(attribute: Attribute, cells: Sequence[Any], data: Any) -> None:
    """Count two models in the records at once: the sizes are those of cells, or why they are unknown is told."""
    sizes, rows = expected(attribute, cells)
    domain, tree = Domain({"x": attribute}), tree_of(attribute)
    frame = data if not isinstance(data, np.ndarray | list | dict) else table_of(data, ("x",))
    findings = audit(SeveralModels(models=(tree, tree), counts="data"), domain=domain, data=frame, settings=SHOWN)
    told = [str(note) for note in findings.notes if "outside" in note]
    if not rows:
        assert told == []
        joint = findings.value("joint")
        assert (joint.n_records, joint.fewest_in_common) == (len(cells), min(size for size in sizes if size))
        return
    order = sorted(rows, key=list(rows_in_order(attribute)).index)
    why = {reason: len(rows[reason]) for reason in order}
    assert told == [sentence("x", sum(why.values()), bounds("x", domain), why)]
    assert findings.advice[0].text.startswith("Recode x in the records")
    assert {check.status for check in findings.checks} == {"unknown"}


def rows_in_order(attribute: Attribute) -> tuple[str, ...]:
    from glassine.records.undeclared import reasons

    return reasons(attribute)


def check_tables(attribute: Attribute, cells: Sequence[Any], data: Any) -> None:
    """Check a domain against records, and count leaves as scrubbing does."""
    sizes, rows = expected(attribute, cells)
    domain = Domain({"x": attribute})
    assert broken_rules(domain, data) == ({"x": rows} if rows else {})
    table = as_table(data) if not isinstance(data, np.ndarray | list | dict) else table_of(data, ("x",))
    tree = tree_of(attribute)
    found = _counted_sizes(tree, domain, table)
    assert [found[cell.node] for cell in tree.cells] == sizes
    assert np.bincount(tree.apply(counted_records(data, {"x": attribute})), minlength=2).tolist() == sizes


def check_bins(attribute: Attribute, cells: Sequence[Any], data: Any) -> None:
    """Audit an additive model: the same for the sizes of bins."""
    if isinstance(attribute, Category) and prefixes(attribute.values):
        return  # An additive model lists values, and groups none by how they begin.
    domain, model = Domain({"x": attribute}), additive_of(attribute)
    findings = audit(model, domain=domain, data=data, settings=SHOWN)
    assert isinstance(leak_bins(model, domain, data).terms[0].sizes, tuple)
    sizes = leak_bins(model, domain, data).terms[0].sizes
    assert sizes is not None
    assert sum(sizes) == len(cells)
    assert sizes[0] == expected(attribute, cells)[0][0]
    told = [str(note) for note in findings.notes if "outside" in note]
    assert len(told) == bool(expected(attribute, cells)[1])


def check_attacks(attribute: Attribute, cells: Sequence[Any], data: Any) -> None:
    """Membership, disclosure and everything else that reads single records is measured, or is unknown for a reason."""
    domain = Domain({"x": attribute})
    labels = [i % 2 for i in range(len(cells))]
    for declared in (domain, None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            findings = audit(
                tree_of(attribute), data, labels, domain=declared, holdout=Sample(data, labels), settings=SHOWN
            )
        assert "membership" in findings.measured


def check_reconstruction(attribute: Attribute, cells: Sequence[Any], data: Any) -> None:
    """Each record reveals what its leaf does, and no record is refused."""
    sizes, _ = expected(attribute, cells)
    counts = [(size, 1) for size in sizes]
    model = tree_of(attribute)
    published = (model.nodes[0], *(Node(evidence=Evidence(counts=one)) for one in counts))
    dataset = reconstruct(replace(model, nodes=published), Domain({"x": attribute}))
    by_leaf = dataset.bits_learned()
    frame = data if not isinstance(data, np.ndarray | list | dict) else table_of(data, ("x",))
    assert dataset.record_bits(frame).tolist() == [by_leaf[leaf_of(attribute, cell)] for cell in cells]


def check_disclosure(attribute: Attribute, cells: Sequence[Any], data: Any) -> None:
    """Each record has the shares of classes of the leaf to which what the model tests sends it."""
    model = tree_of(attribute)
    reader = Reader(implied(model.literals)["x"])
    leaves = []
    for cell in cells:
        value, flag = reader.cell(cell)
        number = is_number(attribute)
        leaves.append(int(not value <= cut_of(attribute)) if number else int(flag != Flag.OK or value != 0))
    sizes = [leaves.count(0), leaves.count(1)]
    if 0 in sizes:
        return
    counts = [(size - size // 3, size // 3) for size in sizes]
    published = (model.nodes[0], *(Node(evidence=Evidence(counts=one)) for one in counts))
    frame = data if not isinstance(data, np.ndarray | list | dict) else table_of(data, ("x",))
    told = infer_sensitive(replace(model, nodes=published), frame).probabilities
    assert np.allclose(told, [np.array(counts[leaf]) / sizes[leaf] for leaf in leaves], atol=1e-6)


def check_releases(attribute: Attribute, cells: Sequence[Any], data: Any) -> None:
    """Read the records of a release by its domain: they are what the cells say, or why they are not is counted."""
    if isinstance(attribute, Category) and prefixes(attribute.values):
        return  # Explanations have no prefixes.
    domain = Domain({"x": attribute})
    unnamed = isinstance(data, dict | list) or getattr(getattr(data, "dtype", None), "names", None)
    _, _, opened = open_records(table_of(data, ("x",)) if unnamed else data, domain)
    columns, outside = side_of(opened, domain)
    flags = {Reader(wide(attribute)).cell(cell)[1] for cell in cells}
    if is_number(attribute):
        refused = Flag.UNDECLARED in flags or (not attribute.missing and bool(flags & {Flag.MISSING, Flag.INFINITE}))
    else:
        refused = not attribute.missing and flags != {Flag.OK}
    with suppress(InvalidDataError):
        check_types(schema(opened), {"x": attribute})
        assert refused == (columns is None)
    if columns is None:
        assert {name: sum(own.values()) for name, own in outside.items()} == {
            "x": sum(map(len, expected(attribute, cells)[1].values()))
        }
    else:
        wanted = [Reader(attribute).cell(cell)[0] for cell in cells]
        assert np.array_equal(columns.array("x"), wanted, equal_nan=is_number(attribute))


def check_comparisons(attribute: Attribute, cells: Sequence[Any], data: Any) -> None:
    """Read what `compare` trains on, and what a reconstruction is held against: the cells that neither refuses."""
    domain = Domain({"x": attribute})
    table = as_table(data) if not isinstance(data, np.ndarray | list | dict) else table_of(data, ("x",))
    answers = [Reader(attribute).cell(cell) for cell in cells]
    fit = np.array([flag in (Flag.OK, Flag.CLIPPED) for _, flag in answers])
    if fit.sum() < 4:
        return
    kept = table.take(fit)
    classes = [i % 2 for i in range(int(fit.sum()))]
    frame = table_of(kept, ("x",)).frame.to_native().with_columns(y=pl.Series(classes))
    labelled = read_labelled(frame, "y", Domain({"x": attribute, "y": Binary()}), None, None)
    wanted = [value for value, flag in answers if flag in (Flag.OK, Flag.CLIPPED)]
    assert read(labelled.frame, domain)[0].array("x").tolist() == wanted
    original = original_records(kept, domain, len(wanted))["x"].tolist()
    if is_number(attribute):
        assert np.clip(original, attribute.lo, attribute.hi).tolist() == wanted  # type: ignore[union-attr]
    else:
        assert original == [values_of(attribute)[int(code)] for code in wanted]


CONSUMERS: dict[str, Callable[[Attribute, Sequence[Any], Any], None]] = {
    "audit": check_audits,
    "together": check_together,
    "tables": check_tables,
    "bins": check_bins,
    "attacks": check_attacks,
    "reconstruction": check_reconstruction,
    "disclosure": check_disclosure,
    "releases": check_releases,
    "comparisons": check_comparisons,
}


# Containers, and the odd cells that they can hold.


def objects(cells: Sequence[Any]) -> Any:
    out = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        out[i] = cell
    return out


def structured(cells: Sequence[Any]) -> Any:
    out = np.empty(len(cells), dtype=[("x", object)])
    out["x"] = objects(cells)
    return out


ANY: dict[str, Callable[[Sequence[Any]], Any]] = {
    "pandas objects": lambda cells: pd.DataFrame({"x": pd.Series(objects(cells))}),
    "polars objects": lambda cells: pl.DataFrame({"x": pl.Series(list(cells), dtype=pl.Object)}),
    "mappings": lambda cells: [{"x": cell} for cell in cells],
    "structured": structured,
    "array of objects": lambda cells: objects(cells)[:, None],
    "masked objects": lambda cells: np.ma.masked_array(objects(cells)[:, None], np.zeros((len(cells), 1), dtype=bool)),
    "arrays by name": lambda cells: {"x": objects(cells)},
}

OF_TEXTS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "pandas texts": lambda cells: pd.DataFrame({"x": pd.array(cells, dtype="string")}),
    "pandas arrow texts": lambda cells: pd.DataFrame({"x": pd.array(cells, dtype="string[pyarrow]")}),
    "pandas categories": lambda cells: pd.DataFrame({"x": pd.Categorical(cells)}),
    "polars texts": lambda cells: pl.DataFrame({"x": cells}, schema={"x": pl.String}),
    "polars categories": lambda cells: pl.DataFrame({"x": cells}, schema={"x": pl.Categorical}),
    "arrow texts": lambda cells: pa.table({"x": pa.array(cells, pa.string())}),
}

OF_NUMBERS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "pandas doubles": lambda cells: pd.DataFrame({"x": np.array(cells, dtype=float)}),
    "pandas nullable": lambda cells: pd.DataFrame({"x": pd.array(cells, dtype="Float64")}),
    "pandas arrow doubles": lambda cells: pd.DataFrame({"x": pd.array(cells, dtype="double[pyarrow]")}),
    "sparse": lambda cells: pd.DataFrame({"x": pd.arrays.SparseArray(np.array(cells, dtype=float))}),
    "polars doubles": lambda cells: pl.DataFrame({"x": cells}, schema={"x": pl.Float64}),
    "arrow doubles": lambda cells: pa.table({"x": pa.array(cells, pa.float64())}),
    "array": lambda cells: np.array(cells, dtype=float)[:, None],
}

ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame.lazy(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
    "dask": lambda frame: import_module("dask.dataframe").from_pandas(frame.to_pandas(), npartitions=2),
}

DOUBLES = tuple(float(n) for n in NUMBERS if (n is not None and abs(n) < 1e300) or n in (math.inf, -math.inf))
LINES = tuple(text for text in TEXTS if not set(text) & set("\t\n\x00"))


@pytest.mark.slow
@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("container", [*ANY, *OF_TEXTS, *OF_NUMBERS])
def test_every_consumer_reads_what_the_cells_say(container: str, name: str, consumer: str) -> None:
    if container in ANY:
        make, cells = ANY[container], ODD_CELLS
    elif container in OF_TEXTS:
        make, cells = OF_TEXTS[container], (*TEXTS, None)
    else:
        make, cells = OF_NUMBERS[container], DOUBLES
    CONSUMERS[consumer](ATTRIBUTES[name], cells, make(cells))


@pytest.mark.slow
@pytest.mark.parametrize("container", ODD_TYPES)
def test_consumers_read_columns_of_odd_types(container: str) -> None:
    cells, make = ODD_TYPES[container]
    for consumer in ("audit", "together", "tables"):
        for name in ("whole", "binary or missing", "codes as texts"):
            CONSUMERS[consumer](ATTRIBUTES[name], cells, make(cells))


@pytest.mark.parametrize("name", [name for name in ATTRIBUTES if "prefixes" not in name])
def test_a_query_of_the_service_is_what_its_cells_say(name: str) -> None:
    """Of a form or a JSON request: a cell that the attribute does not describe is refused, and names the attribute."""
    attribute = ATTRIBUTES[name]
    domain, read_as = Domain({"x": attribute}), Reader(attribute)
    plain = [cell for cell in ODD_CELLS if cell is None or type(cell) in (str, int, float, bool)]
    assert len(plain) > 50
    for cell in plain:
        value, flag = read_as.cell(cell)
        whole = not isinstance(attribute, Integer) or float(value).is_integer()
        described = (flag == Flag.OK and whole) or (flag == Flag.MISSING and attribute.missing)
        if not described:
            with pytest.raises(InvalidDataError, match="x"):
                query_of({"x": cell}, domain)
            continue
        found = query_of({"x": cell}, domain)["x"]
        if flag == Flag.MISSING:
            assert found is None
        else:
            assert flag == Flag.OK
            assert found == (value if is_number(attribute) else values_of(attribute)[int(value)])


@pytest.mark.parametrize("name", ["whole", "binary", "words and numbers", "prefixes"])
@pytest.mark.parametrize("container", ["pandas objects", "mappings"])
def test_audits_of_odd_objects_read_what_the_cells_say(container: str, name: str) -> None:
    check_audits(ATTRIBUTES[name], ODD_CELLS, ANY[container](ODD_CELLS))


@pytest.mark.parametrize("name", ["whole", "binary", "words", "codes as texts"])
@pytest.mark.parametrize("engine", ENGINES)
def test_lazy_frames_give_what_frames_give(engine: str, name: str) -> None:
    for cells in ((*TEXTS, None), DOUBLES):
        kind = pl.String if isinstance(cells[0], str) else pl.Float64
        check_audits(ATTRIBUTES[name], cells, ENGINES[engine](pl.DataFrame({"x": cells}, schema={"x": kind})))


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_files_give_what_frames_give(name: str, tmp_path: Path) -> None:
    """Read texts that a line can hold: from a file of texts and one with types, for audits and for a private fit."""
    attribute, (texts, typed) = ATTRIBUTES[name], files_of(LINES, tmp_path)
    domain = Domain({"x": attribute})
    for path in (texts, typed):
        check_audits(attribute, LINES, read_table(RecordsFile(path=path), Purpose.ORDINARY, domain))
        columns, flags = read(RecordsFile(path=path, declared={"x": attribute}), domain)
        answers = [Reader(attribute).cell(text) for text in LINES]
        assert np.array_equal(columns.array("x"), [value for value, _ in answers], equal_nan=is_number(attribute))
        assert flags.arrays["x"].tolist() == [flag for _, flag in answers]
    check_audits(attribute, LINES, pl.scan_parquet(typed))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["whole", "binary", "words and numbers", "codes as texts"])
def test_commands_say_of_files_what_the_cells_say(name: str, tmp_path: Path) -> None:
    attribute, domain = ATTRIBUTES[name], Domain({"x": ATTRIBUTES[name]})
    domain.to_json(tmp_path / "domain.json")
    write_model(tree_of(attribute), tmp_path / "m.json", overwrite=True)
    sizes, rows = expected(attribute, LINES)
    with one_after_another() as call:
        for path in files_of(LINES, tmp_path):
            arguments = ["m.json", "--domain", "domain.json", "--data", path.name, "--show-small-counts", "--json"]
            with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()):
                assert call("audit", *arguments, cwd=tmp_path) in (1, 3)  # never within policy
            found = json.loads(out.getvalue())
            assert [part["size"] for part in found["measured"]["parts"]["parts"]] == sizes
            with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()):
                assert call("domain", "check", "domain.json", "--data", path.name, cwd=tmp_path) == bool(rows)
            assert all(f"  {why}: {len(own)} (" in out.getvalue() for why, own in rows.items())


def files_of(texts: Sequence[str], folder: Path) -> tuple[Path, Path]:
    """Write texts as a CSV file, each in quotes, and as a Parquet file."""
    (folder / "x.csv").write_text("x\n" + "".join(f'"{text}"\n' for text in texts), encoding="utf-8")
    pl.DataFrame({"x": [*texts]}, schema={"x": pl.String}).write_parquet(folder / "x.parquet")
    return folder / "x.csv", folder / "x.parquet"


@pytest.mark.parametrize("value", [-3, 2.5, 2**53 + 1, "a"])
def test_a_value_that_no_record_has_is_possible_where_the_model_names_it(value: Any) -> None:
    attribute = Category((value, "b") if isinstance(value, str) else (value, value + 1))
    data = pd.DataFrame({"x": [0, 1, 1, 3]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        findings = audit(tree_of(attribute), data, [0, 1, 0, 1], settings=SHOWN)
    assert [part.size for part in findings.value("parts").parts] == [0, 4]
    domain = findings.domain
    assert (domain is None) == isinstance(value, str)
    if domain is not None:
        assert domain.inferred == ("x",)
