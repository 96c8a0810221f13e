"""The command line: output, exit status, and bad input."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

from glassine import Category, Domain, Integer, Real, as_model, write_model
from glassine.auditing import api
from glassine.auditing.schema import schema
from glassine.domain import ExactlyOne
from tests.cli.running import Run
from tests.repo.code_blocks import ROOT

RULES = (
    "if [a] and [not b] then [true] ([100 ; 200] examples)\n"
    "else if [c] then [false] ([200 ; 100] examples)\n"
    "else [false] ([300 ; 100] examples)\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.txt").write_text(RULES)
    Domain.binary(["a", "b", "c"], groups=[ExactlyOne(("a", "c"))]).to_json(tmp_path / "domain.json")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 300), "dose": rng.uniform(0, 5, 300).round(3)})
    frame["ill"] = np.where(frame["age"] / 40 + frame["dose"] > 3.5, "yes", "no")
    frame.to_csv(tmp_path / "people.csv", index=False)
    Domain({"age": Integer(0, 120), "dose": Real(0.0, 10.0, 0.001)}).to_json(tmp_path / "people.json")
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(random_state=0).fit(frame[["age", "dose"]], frame["ill"])
    write_model(as_model(tree), tmp_path / "tree.json", overwrite=True)
    (tmp_path / "tree.pkl").write_bytes(pickle.dumps(tree))
    return tmp_path


@pytest.mark.slow
def test_audit_prints_the_fixed_names(folder: Path, run: Run) -> None:
    done = run("audit", "rules.txt", "--domain", "domain.json", "--json", cwd=folder)
    assert done.status == 0, done.err
    plain = json.loads(done.out)
    jsonschema.validate(plain, schema())
    assert plain["verdict"] == "within policy"
    assert plain["measured"]["reconstruction"]["dist_g"] == pytest.approx(
        (300 * 1 + 300 * 1.584962500721156 + 400 * 1.584962500721156) / 3000
    )
    assert plain["measured"]["reconstruction"]["entropy_bits"] > 0
    assert 0 < plain["measured"]["reconstruction"]["dist_g_domain_aware"] < 1


def test_exit_statuses(folder: Path, run: Run) -> None:
    assert run("audit", "rules.txt", "--domain", "domain.json", cwd=folder).status == 0
    # Without a threshold on a number, the file alone answers every check.
    assert run("audit", "rules.txt", cwd=folder).status == 0
    (folder / "ages.txt").write_text(RULES.replace("[c]", "[age <= 40]"))
    assert run("audit", "ages.txt", cwd=folder).status == 3
    (folder / "policy.toml").write_text("smallest_leaf = 350\n")
    outside = run("audit", "rules.txt", "--domain", "domain.json", "--policy", "policy.toml", cwd=folder)
    assert outside.status == 1
    assert "OUTSIDE" in outside.out.upper()


def test_a_policy_is_named_and_the_report_says_its_source(folder: Path, run: Run) -> None:
    (folder / "few.txt").write_text("if [a] then [true] ([40 ; 5] examples)\nelse [false] ([152 ; 160] examples)\n")
    for name, status in (("sacro", 1), ("default", 0), ("strict", 1)):
        done = run("audit", "few.txt", "--policy", name, cwd=folder)
        assert done.status == status, done.err
        assert f"Policy {name}:" in done.out


def test_an_auditor_with_the_file_alone_gets_a_yes_or_a_list_to_ask_for(folder: Path, run: Run) -> None:
    (folder / "ages.txt").write_text(
        "if [age <= 40.5] then [true] ([140 ; 105] examples)\nelse [false] ([152 ; 160] examples)\n"
    )
    open_ = run("audit", "ages.txt", cwd=folder)
    assert open_.status == 3
    assert "please state of its training data:" in open_.out
    assert "1. The public cut points, or public shares of values, of age." in open_.out
    (folder / "cuts.json").write_text(
        json.dumps(
            {
                "schema": "glassine.domain/1",
                "attributes": [{"name": "age", "type": "integer", "lo": 0, "hi": 120, "thresholds": [40]}],
            }
        )
    )
    yes = run("audit", "ages.txt", "--domain", "cuts.json", "--one-record-per-person", cwd=folder)
    assert yes.status == 0, yes.out
    assert "please state" not in yes.out
    assert run("audit", "tree.json", cwd=folder).status == 1


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        pytest.param(("audit", "rules.txt", "--domain", "domain.json"), 0, marks=pytest.mark.slow),
        (("audit", "tree.json", "--domain", "people.json"), 1),
        pytest.param(("audit", "none.txt"), 2, marks=pytest.mark.slow),
    ],
)
def test_exit_statuses_of_the_process(folder: Path, arguments: tuple[str, ...], status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "glassine", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_audit_with_data_writes_a_report(folder: Path, run: Run) -> None:
    done = run(
        "audit",
        "tree.json",
        "--domain",
        "people.json",
        "--data",
        "people.csv",
        "--sensitive",
        "age",
        "-o",
        "report.html",
        cwd=folder,
    )
    assert done.status == 1, done.err
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>") or page.lower().startswith("<!doctype html>")
    assert "report.html" in done.out
    again = run("audit", "tree.json", "--domain", "people.json", "-o", "findings.json", cwd=folder)
    assert again.status == 1
    jsonschema.validate(json.loads((folder / "findings.json").read_text()), schema())


@pytest.mark.slow
def test_audit_infers_the_sensitive_attribute(folder: Path, run: Run) -> None:
    told = ("audit", "tree.json", "--domain", "people.json", "--data", "people.csv", "--sensitive", "ill")
    (folder / "certain.toml").write_text(
        "most_certain = 300\nshare_in_small_leaves = false\nleaves_of_one = false\nlargest_advantage = false\n"
        "certain_by_membership = false\n"
        "named_by_thresholds = false\n"
    )
    judged = run(*told, "--criterion", "gini", "--policy", "certain.toml", "--json", "-o", "r.html", cwd=folder)
    assert judged.status == 0
    found = json.loads(judged.out)["measured"]["disclosure"]
    assert (found["status"], found["optimum"], found["quasi_identifiers"]) == ("measured", "global", ["age", "dose"])
    assert [reader["reader"] for reader in found["readers"]][1:] == ["the leaves", "the leaves and the internal nodes"]
    assert "What it reveals about <bdi>ill</bdi>" in (folder / "r.html").read_text()
    # The file does not state how splits were selected.
    assert run(*told, "--policy", "certain.toml", cwd=folder).status == 3
    (folder / "certain.toml").write_text("most_certain = 0\n")
    assert run(*told, "--criterion", "gini", "--policy", "certain.toml", cwd=folder).status == 1
    some = run(*told, "--quasi", "age", "--json", cwd=folder)
    assert "dose, which the reader does not know" in json.loads(some.out)["measured"]["disclosure"]["reason"]
    for given in (("--quasi", "ill"), ("--criterion", "gain")):
        assert run(*told, *given, cwd=folder).status == 2


@pytest.mark.slow
def test_scrub_writes_a_copy_and_audits_it_again(folder: Path, run: Run) -> None:
    done = run(
        "scrub",
        "tree.json",
        "--domain",
        "people.json",
        "-o",
        "clean.json",
        "--counts",
        "remove",
        "--smallest-leaf",
        "10",
        "--data",
        "people.csv",
        "--target",
        "ill",
        "--json",
        cwd=folder,
    )
    assert done.status == 0, done.out + done.err
    plain = json.loads(done.out)
    assert plain["before"]["verdict"] == "outside policy"
    assert plain["after"]["verdict"] == "within policy"
    assert plain["quality"]["accuracy"]["before"] == 1
    assert 0.8 < plain["quality"]["accuracy"]["after"] <= 1
    assert plain["changes"]["rounded"] > 0
    text = run("scrub", "tree.json", "--domain", "people.json", "-o", "c.json", "--report", "c.html", cwd=folder)
    assert "Thresholds rounded" in text.out
    assert (folder / "c.html").exists()


@pytest.mark.slow
def test_scrub_says_that_it_rounds_what_a_list_predicts(tmp_path: Path, run: Run) -> None:
    (tmp_path / "list.txt").write_text(
        "if [age > 60] then value 0.589\nelse if [age > 40] then value 0.2\nelse value 0.087\n"
    )
    Domain({"age": Integer(18, 90)}).to_json(tmp_path / "domain.json")
    done = run("scrub", "list.txt", "--domain", "domain.json", "-o", "copy.json", cwd=tmp_path)
    assert "leaves merged: 0. Predicted values rounded or merged: 2.\n" in done.out


def test_the_copy_of_scrub_is_audited_as_audit_does_it(folder: Path, run: Run) -> None:
    attributes = Domain.read(folder / "people.json")
    whole = Domain({**{name: attributes[name] for name in attributes}, "ill": Category(("no", "yes"))})
    whole.to_json(folder / "whole.json")
    common = ("--domain", "whole.json", "--data", "people.csv", "--target", "ill", "--json")
    scrubbed = run("scrub", "tree.json", "-o", "copy.json", "--counts", "remove", *common, cwd=folder)
    plain = json.loads(scrubbed.out)
    for name, file in (("before", "tree.json"), ("after", "copy.json")):
        alone = json.loads(run("audit", file, *common, cwd=folder).out)
        assert plain[name]["domain"] == alone["domain"]
        assert plain[name]["domain"]["n_attributes"] == 2
        assert plain[name]["measured"]["reconstruction"] == alone["measured"]["reconstruction"]
        assert plain[name]["checks"] == alone["checks"]


def test_domain_infer_and_check(folder: Path, run: Run) -> None:
    done = run("domain", "infer", "people.csv", "--exclude", "ill", "-o", "inferred.json", cwd=folder)
    assert done.status == 0, done.err
    assert Domain.read(folder / "inferred.json").inferred
    assert run("domain", "check", "inferred.json", "--data", "people.csv", cwd=folder).status == 0
    printed = run("domain", "infer", "people.csv", cwd=folder)
    assert json.loads(printed.out)["schema"] == "glassine.domain/1"
    Domain({"age": Integer(0, 40)}).to_json(folder / "narrow.json")
    broken = run("domain", "check", "narrow.json", "--data", "people.csv", "--json", cwd=folder)
    assert broken.status == 1
    assert json.loads(broken.out)["violations"]["age"] > 0


def test_inference_remarks_on_identifiers_and_text_numbers(tmp_path: Path, run: Run) -> None:
    lines = ["id,amount,town", *(f"c{i},{i if i != 3 else 'none'},{'ab'[i % 2]}" for i in range(60))]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    done = run("domain", "infer", "people.csv", "-o", "d.json", cwd=tmp_path)
    assert done.status == 0
    assert "id: 60 different values, in a column that is named like an identifier?" in done.err
    assert "amount: numbers but for 1 text of fewer than 10 records" in done.err
    assert "town" not in done.err
    again = run("domain", "infer", "people.csv", "--exclude", "id", "--exclude", "amount", cwd=tmp_path)
    assert again.err == ""


def test_codes_stay_text_where_the_domain_says_so(tmp_path: Path, run: Run) -> None:

    Domain({"c": Category(("01", "02", "NA"))}).to_json(tmp_path / "d.json")
    (tmp_path / "people.csv").write_text("c\n" + "01\n" * 3 + "02\n" * 60 + "NA\n")
    done = run("domain", "check", "d.json", "--data", "people.csv", cwd=tmp_path)
    assert done.status == 0, done.out
    (tmp_path / "rules.txt").write_text("classes: [n] [y]\nif [c = 01] then [y]\nelse [n]\n")
    audited = run("audit", "rules.txt", "--domain", "d.json", "--data", "people.csv", "--json", cwd=tmp_path)
    status = {check["rule"]: check["status"] for check in json.loads(audited.out)["checks"]}
    assert status["share_in_small_leaves"] == "fail"


def test_an_inferred_domain_is_no_basis_for_yes(folder: Path, run: Run) -> None:
    run("domain", "infer", "people.csv", "--exclude", "ill", "-o", "inferred.json", cwd=folder)
    rules = "classes: [no] [yes]\nif [dose > 2.5] then [yes] ([40 ; 100] examples)\nelse [no] ([100 ; 60] examples)\n"
    (folder / "simple.txt").write_text(rules)
    done = run("audit", "simple.txt", "--domain", "inferred.json", "--json", cwd=folder)
    assert done.status == 3
    status = {check["rule"]: check["status"] for check in json.loads(done.out)["checks"]}
    assert status["named_by_thresholds"] == "unknown"
    (folder / "bits.toml").write_text("largest_bits_per_record = 10\nthresholds_off_grid = 0\n")
    done = run("audit", "simple.txt", "--domain", "inferred.json", "--policy", "bits.toml", "--json", cwd=folder)
    status = {check["rule"]: check["status"] for check in json.loads(done.out)["checks"]}
    assert status["largest_bits_per_record"] == "unknown"
    assert status["thresholds_off_grid"] in ("unknown", "fail")


def test_findings_name_the_files(folder: Path, run: Run) -> None:
    import hashlib

    done = run("audit", "rules.txt", "--domain", "domain.json", "--json", cwd=folder)
    inputs = {entry["role"]: entry for entry in json.loads(done.out)["inputs"]}
    assert set(inputs) == {"model", "domain"}
    assert inputs["model"]["sha256"] == hashlib.sha256((folder / "rules.txt").read_bytes()).hexdigest()


REPORTED = ("tree", "rules", "scrubbed")


@pytest.mark.slow
def test_demo_writes_its_folder(tmp_path: Path, run: Run) -> None:
    done = run("demo", cwd=tmp_path)
    assert done.status == 0, done.err
    assert done.err == ""
    # The README begins with lines of it.
    block = (ROOT / "README.md").read_text().split("$ make demo\n", 1)[1].split("```", 1)[0]
    said = [line for line in block.splitlines() if line != "..."]
    assert len(said) > 3
    assert [line for line in said if line not in done.out.splitlines()] == []
    names = {path.name for path in (tmp_path / "glassine-demo").iterdir()}
    assert {"tree-report.html", "rules-report.html", "scrubbed-report.html", "domain.json", "tree.json"} <= names
    assert "OUTSIDE POLICY" in done.out
    again = run("audit", "glassine-demo/rules.txt", "--domain", "glassine-demo/domain.json", "--json", cwd=tmp_path)
    assert json.loads(again.out)["subject"]["kind"] == "rule list"
    # Its few rules hold many records each; those of the tree do not.
    assert again.status == 0
    tree = run("audit", "glassine-demo/tree.json", "--domain", "glassine-demo/domain.json", cwd=tmp_path)
    assert tree.status == 1
    # What it advises can be typed there: each copy is made of a file that it wrote.
    written = "".join((tmp_path / "glassine-demo" / f"{name}-findings.json").read_text() for name in REPORTED)
    sources = set(re.findall(r"`glassine scrub (\S+)", written))
    assert {"tree.json", "scrubbed-tree.json"} <= sources <= names


@pytest.mark.slow
def test_demo_gives_its_figures_as_json(tmp_path: Path, run: Run) -> None:
    done = run("demo", "--json", "-o", "other", cwd=tmp_path)
    assert json.loads(done.out)["quality"]["accuracy"]["after"] > 0.9
    assert (tmp_path / "other" / "tree-report.html").exists()


def test_a_defect_of_our_own_is_not_a_verdict(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 1 means outside policy, so an unexpected error must not end with it."""

    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(api, "audit", broken)
    done = run("audit", "rules.txt", cwd=folder)
    assert done.status == 2
    assert "planted" in done.err
    assert "internal error" in done.err


@pytest.mark.slow
def test_an_interrupt_is_not_a_verdict(folder: Path) -> None:
    code = (
        "import os, signal, sys, glassine.auditing.api, glassine.cli\n"
        "glassine.auditing.api.audit = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['glassine', 'audit', 'rules.txt', '-o', 'report.html']\n"
        "glassine.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert not (folder / "report.html").exists()


def test_version_and_help(tmp_path: Path, run: Run) -> None:
    from glassine import __version__

    assert run("--version", cwd=tmp_path).out.strip() == f"glassine {__version__}"
    assert "audit" in run("--help", cwd=tmp_path).out


def test_a_trusted_pickle_is_read(folder: Path, run: Run) -> None:
    done = run("audit", "tree.pkl", "--trust-pickle", "--domain", "people.json", "--json", cwd=folder)
    assert done.status == 1, done.err
    assert json.loads(done.out)["subject"]["kind"] == "decision tree"


def edit(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Return a step that rewrites a JSON file."""

    def step(folder: Path) -> None:
        plain = json.loads((folder / name).read_text())
        change(plain)
        (folder / name).write_text(json.dumps(plain))

    return step


def put(name: str, content: bytes) -> Callable[[Path], None]:
    """Return a step that writes a file."""

    def step(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return step


def cut(name: str) -> Callable[[Path], None]:
    """Return a step that truncates a file in its middle."""

    def step(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return step


def store(name: str, value: Callable[[], Any]) -> Callable[[Path], None]:
    """Return a step that pickles a value."""

    def step(folder: Path) -> None:
        (folder / name).write_bytes(pickle.dumps(value()))

    return step


def unfitted() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier()


def scaler() -> Any:
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit([[0], [1]])


def nothing(folder: Path) -> None:
    """Change nothing."""


def group_of(kind: str, *names: str) -> dict[str, Any]:
    return {"type": kind, "attributes": list(names)}


AUDIT = ("audit", "tree.json", "--domain", "people.json", "-o", "report.html")
LIST = ("audit", "rules.txt", "--domain", "domain.json", "-o", "report.html")
NAN = (
    b'{"schema": "glassine.model/1", "kind": "decision-tree", "attributes": ["x"], '
    b'"nodes": [{"branches": [{"if": {"attribute": "x", "at_most": NaN}, "child": 1}]}]}'
)

BAD: dict[str, tuple[Callable[[Path], None], tuple[str, ...], str]] = {
    "no such model": (nothing, ("audit", "none.json", "-o", "report.html"), "cannot read none.json"),
    "no such domain": (nothing, ("audit", "tree.json", "--domain", "none.json"), "cannot read none.json"),
    "no such data": (nothing, (*AUDIT, "--data", "none.csv"), "cannot read none.csv"),
    "no such policy": (
        nothing,
        (*AUDIT, "--policy", "none.toml"),
        "--policy none.toml is neither a named policy nor a file",
    ),
    "truncated JSON": (cut("tree.json"), AUDIT, "not valid JSON"),
    "truncated domain": (cut("people.json"), AUDIT, "not valid JSON"),
    "wrong model schema": (edit("tree.json", lambda m: m.update(schema="glassine.model/7")), AUDIT, "schema"),
    "wrong domain schema": (edit("people.json", lambda d: d.update(schema="glassine.domain/7")), AUDIT, "schema"),
    "NaN threshold": (put("tree.json", NAN), AUDIT, "NaN"),
    "null threshold": (
        edit("tree.json", lambda m: m["nodes"][0]["branches"][0]["if"].update(at_most="high")),
        AUDIT,
        "must be a finite number",
    ),
    "contradictory groups": (
        edit(
            "domain.json",
            lambda d: d["groups"].append({"type": "combinations", "attributes": ["a", "c"], "rows": [[0, 0], [1, 1]]}),
        ),
        LIST,
        "contradict each other",
    ),
    "group of an unknown attribute": (
        edit("domain.json", lambda d: d["groups"].append(group_of("implies", "a", "z"))),
        LIST,
        "not an attribute",
    ),
    "negative count": (edit("tree.json", lambda m: m["nodes"][-1].update(counts=[-1, 3])), AUDIT, "at least 0"),
    "counts that do not add up": (
        edit("tree.json", lambda m: m["nodes"][0].update(counts=[1, 1])),
        AUDIT,
        "not the sum of its branches",
    ),
    "too many classes": (
        edit("tree.json", lambda m: m["nodes"][-1].update(counts=[1, 2, 3])),
        AUDIT,
        "3 class counts",
    ),
    "a cycle": (edit("tree.json", lambda m: m["nodes"][0]["branches"][0].update(child=0)), AUDIT, "leads to node 0"),
    "a child too far": (
        edit("tree.json", lambda m: m["nodes"][0]["branches"][0].update(child=10**6)),
        AUDIT,
        "leads to node 1000000",
    ),
    "no nodes": (edit("tree.json", lambda m: m.update(nodes=[])), AUDIT, "at least one node"),
    "unknown key": (edit("tree.json", lambda m: m.update(colour="red")), AUDIT, "unknown key 'colour'"),
    "feature missing in the domain": (
        edit("people.json", lambda d: d["attributes"].pop(0)),
        AUDIT,
        "'age'",
    ),
    "threshold on a category": (
        edit(
            "people.json",
            lambda d: d["attributes"].__setitem__(0, {"name": "age", "type": "category", "values": ["x"]}),
        ),
        AUDIT,
        "'age' has the category 'x'",
    ),
    "value outside its domain": (
        put("rules.txt", b"if [a = 7] then [true] ([1 ; 2] examples)\nelse [false] ([3 ; 1] examples)\n"),
        LIST,
        "7",
    ),
    "rule list without a default": (put("rules.txt", RULES.splitlines()[0].encode()), LIST, "default"),
    "rule list with rubbish": (put("rules.txt", RULES.encode() + b"else maybe\n"), LIST, "line 4"),
    "a pickle": (nothing, ("audit", "tree.pkl", "-o", "report.html"), "pickle is code"),
    "a pickle of something else": (
        store("tree.pkl", lambda: {"a": 1}),
        ("audit", "tree.pkl", "--trust-pickle"),
        "dict",
    ),
    "unfitted estimator": (store("tree.pkl", unfitted), ("audit", "tree.pkl", "--trust-pickle"), "fitted"),
    "a transformer": (store("tree.pkl", scaler), ("audit", "tree.pkl", "--trust-pickle"), "StandardScaler"),
    "binary rubbish": (put("tree.json", bytes(range(256)) * 20), AUDIT, "tree.json"),
    "empty file": (put("tree.json", b""), AUDIT, "empty"),
    "a folder": (nothing, ("audit", ".", "-o", "report.html"), "."),
    "empty data": (put("people.csv", b"age,dose\n"), (*AUDIT, "--data", "people.csv"), "at least one record"),
    "data of no bytes": (put("people.csv", b""), (*AUDIT, "--data", "people.csv"), "empty"),
    "data without a column": (
        put("people.csv", b"age,weight\n1,2\n"),
        (*AUDIT, "--data", "people.csv"),
        "lack the column 'dose'",
    ),
    "data rubbish": (put("people.csv", b"PAR1" + bytes(200)), (*AUDIT, "--data", "people.csv"), "people.csv"),
    "unknown policy rule": (put("p.toml", b"smalest_leaf = 3"), (*AUDIT, "--policy", "p.toml"), "smalest_leaf"),
    "impossible policy": (put("p.toml", b"purest_leaf = 2.0"), (*AUDIT, "--policy", "p.toml"), "purest_leaf"),
    "unknown sensitive attribute": (nothing, (*AUDIT, "--sensitive", "income"), "'income'"),
    "report into no folder": (nothing, (*AUDIT[:-1], "no/such/report.html"), "cannot write"),
    "target without data": (
        nothing,
        ("scrub", "tree.json", "--domain", "people.json", "-o", "report.html", "--target", "ill"),
        "--target needs --data",
    ),
    "unknown target": (
        nothing,
        ("scrub", "tree.json", "--domain", "people.json", "-o", "report.html", "--data", "people.csv", "--target", "z"),
        "'z'",
    ),
    "report over its own model": (nothing, ("audit", "tree.json", "-o", "tree.json"), "cannot write tree.json"),
    "report over the domain": (
        nothing,
        ("audit", "tree.json", "--domain", "people.json", "-o", "./people.json"),
        "cannot write people.json",
    ),
    "scrub with a report in no folder": (
        nothing,
        ("scrub", "tree.json", "--domain", "people.json", "-o", "c.json", "--report", "no/such.html"),
        "folder does not exist",
    ),
    "data with two columns of one name": (
        put("people.csv", b"age,dose,age\n1,2,3\n"),
        (*AUDIT, "--data", "people.csv"),
        "two columns named 'age'",
    ),
    "data separated by either of two marks": (
        put("people.csv", b"aged;dosed, mg\n1;2\n"),
        (*AUDIT, "--data", "people.csv"),
        "commas and semicolons",
    ),
    "unknown option": (nothing, ("audit", "tree.json", "--colour"), "--colour"),
    "unknown command": (nothing, ("adit", "tree.json"), "adit"),
    "inference of nothing": (put("people.csv", b"age\n"), ("domain", "infer", "people.csv"), "at least one record"),
    "inference without a column": (nothing, ("domain", "infer", "people.csv", "--exclude", "z"), "'z'"),
    "check of a bad domain": (put("people.json", b"[]"), ("domain", "check", "people.json"), "JSON object"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_clear_line_and_nothing_else(folder: Path, kind: str, run: Run) -> None:
    prepare, arguments, message = BAD[kind]
    prepare(folder)
    before = {path.name for path in folder.iterdir()}
    done = run(*arguments, cwd=folder)
    assert done.status == 2, done.out + done.err
    assert message in done.err
    assert done.out == ""
    assert {path.name for path in folder.iterdir()} == before
    if "unknown option" not in kind and "unknown command" not in kind:
        assert done.err.startswith("glassine: ")
        assert done.err.count("\n") == 1, done.err
    assert "Traceback" not in done.err


def test_a_text_in_a_number_is_counted_by_an_audit_and_ends_nothing(folder: Path, run: Run) -> None:
    put("people.csv", b"age,dose\nold,2\n")(folder)
    done = run(*AUDIT, "--data", "people.csv", cwd=folder)
    assert (done.status, done.err) == (1, "")
    assert "age: records lie outside the domain, which declares 0 to 120: texts that are no number" in " ".join(
        done.out.split()
    )
    assert "old," not in done.out
