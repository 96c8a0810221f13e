"""Bad input to ``glassine fit``: one clear line, exit status 2, no file, nothing spent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
import pytest

from glassine import Category, Domain, Integer, Ledger
from glassine.privacy.certificate import Certificate
from tests.cli.running import Run, listing, people

Step: TypeAlias = Callable[[Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    """A way to get it wrong: what is done to the files first, options, and a part of the message."""

    says: str
    step: Step | None = None
    more: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    data: str = "people.csv"
    model: str = "tree"


GIVEN: dict[str, tuple[str, ...]] = {
    "--target": ("ill",),
    "--domain": ("domain.json",),
    "--epsilon": ("0.5",),
    "--ledger": ("budget.sqlite",),
    "--dataset": ("people",),
    "-o": ("m.json",),
}


def put(name: str, content: bytes) -> Step:
    """Return a step that writes a file."""

    def step(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return step


def edit(change: Callable[[dict[str, Any]], Any]) -> Step:
    """Return a step that changes the attributes of the domain, by name."""

    def step(folder: Path) -> None:
        plain = json.loads((folder / "domain.json").read_text())
        named = {attribute["name"]: attribute for attribute in plain["attributes"]}
        change(named)
        (folder / "domain.json").write_text(json.dumps({**plain, "attributes": list(named.values())}))

    return step


def records(change: Callable[[pl.DataFrame], pl.DataFrame], name: str = "people.csv") -> Step:
    """Return a step that changes the records."""

    def step(folder: Path) -> None:
        frame = change(people())
        frame.write_csv(folder / name) if name.endswith(".csv") else frame.write_parquet(folder / name)

    return step


def undeclared(more: Step | None = None) -> Step:
    """Return a step that takes the target out of the domain."""

    def step(folder: Path) -> None:
        edit(lambda named: named.pop("ill"))(folder)
        if more is not None:
            more(folder)

    return step


def another_database(folder: Path) -> None:
    (folder / "budget.sqlite").unlink()
    connection = sqlite3.connect(folder / "budget.sqlite")
    connection.execute("CREATE TABLE t (x)")
    connection.close()


def nearly_spent(folder: Path) -> None:
    Ledger(folder / "budget.sqlite").charge("people", 0.6, note="a table")


def link_to_itself(folder: Path) -> None:
    (folder / "m.json").symlink_to("m.json")


def make_folder(folder: Path) -> None:
    (folder / "m.json").mkdir()


BAD: dict[str, Bad] = {
    # The data.
    "no data": Bad(says="cannot read none.csv", data="none.csv"),
    "data in a folder's place": Bad(says="cannot read .", data="."),
    "data of no bytes": Bad(says="is empty", step=put("people.csv", b"")),
    "data rubbish": Bad(says="people.csv", step=put("people.csv", b"PAR1" + bytes(99))),
    "data separated by either of two marks": Bad(
        says="commas and semicolons", step=put("people.csv", b"aged;ill, or not\n1;no\n")
    ),
    "two columns of one name": Bad(says="two columns", step=put("people.csv", b"age,smoker,ill,age\n1,1,no,2\n")),
    "a column is absent": Bad(says="lack the column 'age'", step=records(lambda frame: frame.drop("age"))),
    # The target and its classes.
    "no such target": Bad(says="--target names 'sick'", more=("--target", "sick", "--classes", "no,yes")),
    "a target of fractions": Bad(
        says="holds fractions",
        step=undeclared(records(lambda frame: frame.with_columns(ill=pl.col("age") / 7))),
        more=("--infer-classes",),
    ),
    "a target of lists": Bad(
        says="columns of lists and structures are not read",
        step=undeclared(records(lambda f: f.with_columns(ill=pl.concat_list("age", "smoker")), "people.parquet")),
        more=("--infer-classes",),
        data="people.parquet",
    ),
    "no classes": Bad(says="the classes or the range of the target 'ill' must be public", step=undeclared()),
    "an empty class": Bad(says="--classes must list names", step=undeclared(), more=("--classes", "no,,yes")),
    "no class at all": Bad(says="--classes must list names", step=undeclared(), more=("--classes", "")),
    "a class twice": Bad(says="different names", step=undeclared(), more=("--classes", "no,yes,no")),
    "a class of half a character": Bad(says="--classes", step=undeclared(), more=("--classes", "no,\udcff")),
    "classes twice declared": Bad(says="Leave --classes out", more=("--classes", "no,yes")),
    "declared classes inferred": Bad(says="Leave --infer-classes out", more=("--infer-classes",)),
    "classes given and inferred": Bad(
        says="contradict each other", step=undeclared(), more=("--classes", "no,yes", "--infer-classes")
    ),
    # The domain.
    "no domain": Bad(says="glassine domain infer", without=("--domain",), more=("--classes", "no,yes")),
    "no such domain": Bad(says="cannot read none.json", more=("--domain", "none.json")),
    "domain cut short": Bad(says="not valid JSON", step=put("domain.json", b'{"schema"')),
    "domain given and inferred": Bad(says="contradict each other", more=("--infer-domain",)),
    "an inferred attribute": Bad(says="'age' as inferred", step=edit(lambda named: named["age"].update(inferred=True))),
    "an inferred target": Bad(says="'ill' as inferred", step=edit(lambda named: named["ill"].update(inferred=True))),
    # The budget.
    "no epsilon": Bad(says="--epsilon is needed", without=("--epsilon",)),
    "epsilon 0": Bad(says="--epsilon must be", more=("--epsilon", "0")),
    "epsilon below 0": Bad(says="--epsilon must be", more=("--epsilon=-1",)),
    "epsilon NaN": Bad(says="--epsilon must be", more=("--epsilon", "nan")),
    "epsilon infinite": Bad(says="--epsilon must be", more=("--epsilon", "inf")),
    "epsilon tiny": Bad(says="too small", more=("--epsilon", "1e-12")),
    "no ledger": Bad(says="go together", without=("--ledger",)),
    "no dataset": Bad(says="go together", without=("--dataset",)),
    "no such ledger": Bad(says="there is no ledger", more=("--ledger", "none.sqlite")),
    "no budget": Bad(says="must hold a budget for 'patients'", more=("--dataset", "patients")),
    "a ledger that is none": Bad(says="is not a database", step=put("budget.sqlite", b"x" * 600)),
    "another database": Bad(says="not a ledger", step=another_database),
    "over budget": Bad(says="epsilon 0.4 is left", step=nearly_spent),
    # The class of models.
    "depth 0": Bad(says="--max-depth must be", more=("--max-depth", "0")),
    "depth 9": Bad(says="--max-depth must be", more=("--max-depth", "9")),
    "rules 13": Bad(says="--max-rules must be", model="rule-list", more=("--max-rules", "13")),
    "a tree with rules": Bad(says="fit tree has no option --max-rules", more=("--max-rules", "3")),
    "a list with depth": Bad(
        says="fit rule-list has no option --max-depth", model="rule-list", more=("--max-depth", "3")
    ),
    "a private penalty": Bad(says="--penalty does not apply", more=("--penalty", "0.1")),
    "an optimal model with budget": Bad(says="--epsilon does not apply to an optimal tree", more=("--not-private",)),
    "an optimal model with a ledger": Bad(
        says="--ledger does not apply", more=("--not-private",), without=("--epsilon",)
    ),
    "an optimal model with a seed": Bad(
        says="--seed does not apply",
        more=("--not-private", "--seed", "1"),
        without=("--epsilon", "--ledger", "--dataset"),
    ),
    "a private model with weights": Bad(
        says="--weights does not apply to a private tree: a weight changes how much one record can do",
        more=("--weights", "age"),
    ),
    "weights of no column": Bad(
        says="--weights names 'much', which is not a column",
        more=("--not-private", "--weights", "much"),
        without=("--epsilon", "--ledger", "--dataset"),
    ),
    "weights of the target": Bad(
        says="--weights names 'ill', which is the target or excluded",
        more=("--not-private", "--weights", "ill"),
        without=("--epsilon", "--ledger", "--dataset"),
    ),
    "weights that are text": Bad(
        says="--weights must hold numbers of at least 0",
        step=records(lambda frame: frame.with_columns(much=pl.lit("much"))),
        more=("--not-private", "--weights", "much"),
        without=("--epsilon", "--ledger", "--dataset"),
    ),
    "a weight is missing": Bad(
        says="--weights must hold numbers of at least 0",
        step=records(lambda frame: frame.with_columns(much=pl.Series([None, *[0.5] * (len(frame) - 1)]))),
        more=("--not-private", "--weights", "much"),
        without=("--epsilon", "--ledger", "--dataset"),
    ),
    "all for the counts": Bad(says="must leave some for the model", more=("--leaf-counts-share", "1")),
    "counts NaN": Bad(says="--leaf-counts-share must be", more=("--leaf-counts-share", "nan")),
    "all for the quantiles": Bad(
        says="must leave some for the model", more=("--literals", "quantiles", "--quantile-share", "1")
    ),
    "no quantiles": Bad(says="--n-quantiles must be", more=("--n-quantiles", "0")),
    "weight 0": Bad(says="--split-weight must be", more=("--split-weight", "0")),
    "a class too large": Bad(
        says="summing this class needs",
        step=edit(lambda named: named["age"].update(lo=0, hi=999, thresholds=list(range(1, 400)))),
        more=("--max-depth", "5"),
    ),
    "weights beyond what is summed": Bad(
        says="beyond what is summed exactly",
        step=edit(lambda named: named["age"].update(thresholds=list(range(20, 90)))),
        more=("--max-depth", "8"),
    ),
    "no time": Bad(says="--time-limit must be", more=("--time-limit", "0")),
    "memory NaN": Bad(says="--memory-limit must be", more=("--memory-limit", "nan")),
    # The files.
    "output over the data": Bad(says="read or written already", more=("-o", "./people.csv")),
    "output over the ledger": Bad(says="read or written already", more=("-o", "budget.sqlite", "--overwrite")),
    "certificate over the model": Bad(says="read or written already", more=("--certificate", "m.json")),
    "report over the domain": Bad(says="read or written already", more=("--report", "domain.json")),
    "output in no folder": Bad(says="folder does not exist", more=("-o", "no/such/m.json")),
    "output is a folder": Bad(says="is a folder", step=make_folder),
    "output exists": Bad(says="cannot write m.json: it exists", step=put("m.json", b"{}")),
    "certificate exists": Bad(says="cannot write m.certificate.json: it exists", step=put("m.certificate.json", b"{}")),
    "output is a loop of links": Bad(says="m.json", step=link_to_itself),
    "a name too long": Bad(says="File name too long", more=("-o", "m" * 250)),
    "no such policy": Bad(says="--policy none.toml is neither", more=("--report", "r.html", "--policy", "none.toml")),
    "a wrong policy": Bad(says="smalest", step=put("p.toml", b"smalest = 3"), more=("--policy", "p.toml")),
}

READ: dict[str, Bad] = {
    "text in a number": Bad(says="", step=records(lambda f: f.with_columns(age=pl.lit("old")))),
    "a gap in a number": Bad(
        says="", step=records(lambda frame: frame.with_columns(age=pl.when(pl.col("id") > 0).then("age")))
    ),
    "a target with gaps": Bad(
        says="", step=records(lambda frame: frame.with_columns(ill=pl.when(pl.col("id") > 0).then("ill")))
    ),
    "a class that is not declared": Bad(says="", step=undeclared(), more=("--classes", "no,perhaps")),
    "a category of texts and numbers": Bad(
        says="", step=edit(lambda named: named["ill"].update(values=["no", "yes", 1]))
    ),
    "a row that is too long": Bad(says="", step=lambda folder: append(folder, b"9,30,1,yes,more\n")),
    "bytes that are no text": Bad(says="", step=lambda folder: append(folder, b"9,30,1,\xff\xfe\n")),
    "no records": Bad(says="", step=put("people.csv", b"id,age,smoker,ill\n")),
}
"""What a private fit reads, because a refusal would tell of one record."""


def append(folder: Path, row: bytes) -> None:
    path = folder / "people.csv"
    path.write_bytes(path.read_bytes() + row)


MISUSED: dict[str, tuple[str, ...]] = {
    "--colour": ("--colour", "red"),
    "--model": ("--model", "tree"),
    "--literals": ("--literals", "all"),
    "--seed": ("--seed=-1",),
    "--max-depth": ("--max-depth", "three"),
    "--epsilon": ("--epsilon", "much"),
}


def spent(folder: Path) -> float:
    try:
        return Ledger(folder / "budget.sqlite").spent("people")
    except ValueError:
        return 0.0


def command(bad: Bad) -> list[str]:
    """Return the arguments, those of the bad input in place of the usual ones."""
    given = {option: values for option, values in GIVEN.items() if option not in (*bad.without, *bad.more)}
    return [
        "fit",
        bad.model,
        bad.data,
        *(word for option, values in given.items() for word in (option, *values)),
        *bad.more,
    ]


@pytest.mark.parametrize("kind", READ)
def test_odd_records_are_no_reason_to_refuse_a_private_fit(folder: Path, run: Run, kind: str) -> None:
    odd = READ[kind]
    assert odd.step is not None
    odd.step(folder)
    done = run(*command(odd), cwd=folder)
    assert done.status == 0, done.err
    assert Certificate.from_json((folder / "m.certificate.json").read_text()).holds


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_spends_and_writes_nothing(folder: Path, run: Run, kind: str) -> None:
    bad = BAD[kind]
    if bad.step is not None:
        bad.step(folder)
    before, charged = listing(folder), spent(folder)
    done = run(*command(bad), cwd=folder)
    assert done.status == 2, done.out + done.err
    assert bad.says in done.err
    assert done.err.startswith("glassine: ")
    assert done.err.count("\n") == 1, done.err
    assert done.out == ""
    assert listing(folder) == before
    assert spent(folder) == charged


@pytest.mark.parametrize("option", MISUSED)
def test_misused_options_spend_and_write_nothing(folder: Path, run: Run, option: str) -> None:
    before = listing(folder)
    done = run(*command(Bad(says="", more=MISUSED[option])), cwd=folder)
    assert done.status == 2
    assert option in done.err
    assert "Traceback" not in done.err
    assert listing(folder) == before
    assert spent(folder) == 0


@pytest.mark.parametrize("kind", ["tree", "greedy-rule-list", "additive", "scorecard"])
def test_a_misspelled_class_shows_in_what_is_published(folder: Path, run: Run, kind: str) -> None:
    edit(lambda named: named.pop("ill"))(folder)
    more = ("--overwrite", "--epsilon", "5", "--seed", "0", "--classes")
    for classes, said in (("no,yes", False), ("No,Yes", True)):
        bad = Bad(says="", model=kind, more=(*more, classes), without=("--epsilon", "--ledger", "--dataset"))
        done = run(*command(bad), cwd=folder)
        assert done.status == 0, done.err
        assert ("hardly any record may have one of the classes" in " ".join(done.out.split())) is said


def test_the_honest_twin_is_learnt(folder: Path, run: Run) -> None:
    done = run(*command(Bad(says="")), cwd=folder)
    assert done.status == 0, done.err
    assert spent(folder) == 0.5


@pytest.mark.parametrize("row", ['20,"Alice Smith', '20,"Alice" Smith'], ids=["no end", "text after the quote"])
def test_a_malformed_line_of_a_private_fit_refuses_nothing_and_nothing_is_said_of_it(
    row: str, tmp_path: Path, run: Run
) -> None:
    domain = Domain({"age": Integer(18, 99), "job": Category(("clerk",)), "ill": Category(("no", "yes"))})
    domain.to_json(tmp_path / "domain.json")
    fit = ("fit", "tree", "people.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "1", "-o", "m.json")
    said = set()
    for name, others in (("Alice", 1), ("Robert-James", 30), ("", 30)):
        malformed = [f"no,{row.replace('Alice', name)}"] if name else []
        lines = ["ill,age,job", *malformed, *["yes,30,clerk"] * others]
        (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
        done = run(*fit, "--overwrite", cwd=tmp_path)
        assert done.status == 0, done.err
        assert Certificate.from_json((tmp_path / "m.certificate.json").read_text()).holds
        assert not name or name not in done.out
        said.add(done.err)
    assert len(said) == 1, said
