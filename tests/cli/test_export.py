"""``glassine export``: every form, from the command line."""

from __future__ import annotations

import errno
import io
import json
import pickle
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassine import RuleList, load_model, parse_rules, write_model
from glassine.domain import Between
from glassine.formats import formats
from glassine.models import Branch, DecisionTree, Evidence, Node, Rule
from tests.cli.running import Run, listing, people
from tests.formats.reading import TALLY, example_format, read_cells
from tests.models.additive_models import income_model

RULES = """
if [age > 50] and [smoker] then [yes] ([3 ; 40] examples)
else [no] ([60 ; 5] examples)
"""


@pytest.fixture
def model(folder: Path) -> Path:
    write_model(parse_rules("classes: [no] [yes]" + RULES), folder / "rules.json", overwrite=True)
    return folder


def test_sql_predicts_alike(model: Path, run: Run) -> None:
    done = run(
        *("export", "rules.json", "--to", "sql", "--table", "people", "--prediction", "guess", "--probabilities"),
        *("-o", "q.sql"),
        cwd=model,
    )
    assert done.status == 0, done.err
    assert done.out == "Written: q.sql\n"
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE people (id, age, smoker, ill)")
    database.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", people().rows())
    database.row_factory = sqlite3.Row
    found = database.execute((model / "q.sql").read_text()).fetchall()
    database.close()
    assert len(found) == len(people())
    assert all(row["guess"] == row["ill"] for row in found)
    assert {row["probability_yes"] for row in found if row["guess"] == "yes"} == {40 / 43}
    case = run("export", "rules.json", "--to", "sql", cwd=model)
    assert case.out.startswith("CASE\n")


def test_python_predicts_alike(model: Path, run: Run) -> None:
    done = run("export", "rules.json", "--to", "python", cwd=model)
    assert done.status == 0, done.err
    space: dict[str, Any] = {}
    exec(done.out, space)  # noqa: S102 - the code under test
    assert [space["predict"](row) for row in people().iter_rows(named=True)] == people()["ill"].to_list()


def test_text_reads_back(model: Path, run: Run) -> None:
    done = run("export", "rules.json", "--to", "text", "--domain", "domain.json", "-o", "rules.txt", cwd=model)
    assert done.status == 0, done.err
    read = load_model(model / "rules.txt")
    assert isinstance(read, RuleList)
    assert read.rules == parse_rules("classes: [no] [yes]" + RULES).rules


def test_onnx_and_pmml_read_back(model: Path, run: Run) -> None:
    done = run("export", "rules.json", "--to", "onnx", "-o", "m.onnx", cwd=model)
    assert (done.status, done.out) == (0, "Written: m.onnx\n"), done.err
    tree = read_cells(model / "m.onnx")
    write_model(tree, model / "tree.json", overwrite=True)
    assert run("export", "tree.json", "--to", "pmml", "-o", "m.pmml", cwd=model).status == 0
    again = read_cells(model / "m.pmml")
    assert [str(cell) for cell in again.cells] == [str(cell) for cell in tree.cells]
    assert json.loads(run("export", "tree.json", "--to", "pmml", "--json", cwd=model).out)["to"] == "pmml"


@pytest.mark.parametrize("name", ["p.skops", "p.pkl"])
def test_a_pipeline_predicts_alike(model: Path, run: Run, name: str) -> None:
    done = run("export", "rules.json", "--to", "sklearn", "-o", name, cwd=model)
    assert done.status == 0, done.err
    if name == "p.pkl":
        pipeline = pickle.loads((model / name).read_bytes())
    else:
        from skops import io

        pipeline = io.load(model / name, trusted=["sklearn.tree._tree.Tree"])
    assert pipeline.predict(people()).tolist() == people()["ill"].to_list()
    assert (model / name).stat().st_mode & 0o777 == (model / "rules.json").stat().st_mode & 0o777


def test_json(model: Path, run: Run) -> None:
    text = run("export", "rules.json", "--to", "sql", cwd=model).out
    plain = json.loads(run("export", "rules.json", "--to", "sql", "--json", cwd=model).out)
    assert plain == {"to": "sql", "file": None, "leaves_out": "counts", "text": text.rstrip("\n")}
    written = json.loads(run("export", "rules.json", "--to", "sklearn", "-o", "p.pkl", "--json", cwd=model).out)
    assert written == {"to": "sklearn", "file": "p.pkl", "leaves_out": "a guarantee"}


BAD = {
    "no model": (("none.json", "--to", "sql"), "cannot read none.json"),
    "data for a model": (("people.csv", "--to", "sql"), "in no supported model format"),
    "a table for Python": (("rules.json", "--to", "python", "--table", "t"), "are for SQL"),
    "probabilities without a table": (("rules.json", "--to", "sql", "--probabilities"), "--table"),
    "a prediction without a table": (("rules.json", "--to", "sql", "--prediction", "p"), "--table"),
    "ONNX on the screen": (("rules.json", "--to", "onnx"), "written to a file"),
    "a list as PMML": (("rules.json", "--to", "pmml"), "rule list"),
    "a pipeline on the screen": (("rules.json", "--to", "sklearn"), "written to a file"),
    "a pipeline of no known ending": (("rules.json", "--to", "sklearn", "-o", "p.bin"), ".skops or .pkl"),
    "over the model": (("rules.json", "--to", "text", "-o", "rules.json"), "read or written already"),
    "into no folder": (("rules.json", "--to", "text", "-o", "no/such.txt"), "folder does not exist"),
    "over a folder": (("rules.json", "--to", "text", "-o", "."), "folder"),
    "a table of no name": (("rules.json", "--to", "sql", "--table", ""), "needs a name"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_clear_line(model: Path, run: Run, kind: str) -> None:
    before = listing(model)
    arguments, message = BAD[kind]
    done = run("export", *arguments, cwd=model)
    assert done.status == 2, done.out
    assert done.err.startswith("glassine: ")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert listing(model) == before


def test_without_skops(model: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skops", None)
    done = run("export", "rules.json", "--to", "sklearn", "-o", "p.skops", cwd=model)
    assert done.status == 2
    assert "pip install 'glassine[formats]'" in done.err
    assert not (model / "p.skops").exists()


def test_a_pipeline_is_written_whole_or_not_at_all(model: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (model / "p.pkl").write_bytes(b"old")
    before = listing(model)
    monkeypatch.setattr("os.fsync", full)
    done = run("export", "rules.json", "--to", "sklearn", "-o", "p.pkl", "--overwrite", cwd=model)
    assert done.status == 2
    advice = "Name a file in a folder that exists and that you may write to, with room for it."
    assert done.err == f"glassine: cannot write p.pkl: No space left on device. {advice}\n"
    assert listing(model) == before


def test_what_is_left_out_is_said_with_every_export(model: Path, run: Run) -> None:
    told = {one.to: one.leaves_out for one in formats() if RuleList in one.kinds and one.to not in ("", "json")}
    assert len(told) >= 5
    for to, left_out in told.items():
        done = run("export", "rules.json", "--to", to, "-o", "out.skops", "--overwrite", "--json", cwd=model)
        assert done.status == 0, done.err
        assert json.loads(done.out).get("leaves_out", "") == left_out
    done = run("export", "rules.json", "--to", "json", cwd=model)
    assert done.err == ""
    assert re.match(r'\{\s*"schema"', done.out)


def test_only_what_a_tree_has_is_said_to_be_left_out_of_it(model: Path, run: Run) -> None:
    assert run("export", "rules.json", "--to", "onnx", "-o", "m.onnx", cwd=model).status == 0
    write_model(read_cells(model / "m.onnx"), model / "tree.json", overwrite=True)
    assert run("export", "tree.json", "--to", "pmml", cwd=model).err == (
        "glassine: PMML cannot record whether counts are rounded.\n"
    )
    write_model(income_model(), model / "additive.json", overwrite=True)
    assert run("export", "additive.json", "--to", "pmml", cwd=model).err == (
        "glassine: PMML cannot record errors, weights, names and edits.\n"
    )


def test_a_format_of_one_more_module_is_exported(tmp_path: Path, run: Run) -> None:
    (tmp_path / "t").write_text(TALLY)
    with example_format(tmp_path / "more"):
        done = run("export", "t", "--to", "tally", cwd=tmp_path)
        assert (done.status, done.out) == (0, TALLY), done.err
        assert done.err == "glassine: tally cannot record a guarantee, the names of classes.\n"
        assert "Did you mean 'tally'?" in run("export", "t", "--to", "talley", cwd=tmp_path).err
    assert run("export", "t", "--to", "sql", cwd=tmp_path).status == 2


def test_a_pickle_is_allowed_in_the_words_of_the_command_line(model: Path, run: Run) -> None:
    assert run("export", "rules.json", "--to", "sklearn", "-o", "p.pkl", cwd=model).status == 0
    done = run("export", "p.pkl", "--to", "sql", cwd=model)
    assert (done.status, "allow it with --trust-pickle." in done.err) == (2, True)
    assert run("export", "p.pkl", "--to", "sql", "--trust-pickle", cwd=model).status == 0


def test_a_table_holds_what_the_frame_holds(tmp_path: Path, run: Run) -> None:
    few = Rule(antecedent=(Between("age", hi=30),), evidence=Evidence(counts=(3, 1)))
    model = RuleList((few, Rule(evidence=Evidence(counts=(20, 70)))), ("age",), classes=("no", "yes"))
    write_model(model, tmp_path / "model.json")
    done = run("export", "model.json", "--to", "csv", cwd=tmp_path)
    assert done.status == 0
    assert done.out.splitlines()[1].startswith("1,age <= 30,4,")
    assert pl.read_csv(io.StringIO(done.out)).to_dict(as_series=False) == model.to_frame().to_dict(as_series=False)
    assert run("export", "model.json", "--to", "csv", "--public", "-o", "public.csv", cwd=tmp_path).status == 0
    assert pl.read_csv(tmp_path / "public.csv")["records"].to_list() == [None, None]
    refused = run("export", "model.json", "--to", "sql", "--public", cwd=tmp_path)
    assert (refused.status, "--public is for CSV" in refused.err) == (2, True)


def test_a_tree_of_many_nodes_is_exported_as_columns_that_are_audited(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassine.formats.json_nodes.MOST_ROWS", 2)
    leaves = Node(evidence=Evidence(counts=(30, 10))), Node(evidence=Evidence(counts=(20, 40)))
    split = Node(branches=(Branch(Between("age", hi=50.0), 1), Branch(Between("age", lo=50.0), 2)))
    write_model(DecisionTree((split, *leaves), ("age",), ("no", "yes")), folder / "tree.json", overwrite=True)
    done = run("export", "tree.json", "--to", "json", "-o", "again.json", cwd=folder)
    assert done.status == 0, done.err
    assert (folder / "again.json").read_bytes() == (folder / "tree.json").read_bytes()
    assert isinstance(json.loads((folder / "again.json").read_text())["nodes"], dict)
    (audited,) = json.loads(run("audit", "again.json", "--json", cwd=folder).out)["files"]
    assert audited["canonical"]
