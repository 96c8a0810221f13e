"""Findings for pipelines and other tools: what is written is read by their schemas and readers, and is public."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from glassine import Binary, Domain, Integer, parse_rules
from glassine.formats import write_model
from glassine.privacy.certificate import Certificate
from tests.cli.running import Done, Run, listing, people
from tests.desk.test_acro import released_with_acro

SCHEMAS = Path(__file__).parents[1] / "oracles" / "schemas"
RULES = """if [a <= 30] then [true] ([5 ; 40] examples)
else if [b] then [false] ([30 ; 0] examples)
else [false] ([4 ; 3] examples)"""
OUTSIDE = 1


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text())


@pytest.fixture
def models(folder: Path) -> Path:
    """Write a rule list that breaks rules, and one that keeps those that can be judged without a domain."""
    (folder / "models").mkdir()
    kept = "if [a] then [true] ([50 ; 40] examples)\nelse [false] ([50 ; 40] examples)"
    for name, text in (("rules, 1.txt", RULES), ("kept.txt", kept)):
        write_model(parse_rules(text), folder / "models" / name, to="text", overwrite=True)
    return folder


def audited(run: Run, folder: Path, *options: str, model: str = "models/rules, 1.txt") -> Done:
    done = run("audit", model, *options, cwd=folder)
    assert done.status in (0, 1, 3), done.err
    return done


# Pipelines.


def test_github_gets_an_annotation_for_each_broken_or_open_rule(models: Path, run: Run) -> None:
    done = audited(run, models, "--ci", "github", "--json")
    found = json.loads(done.out)
    lines = [line for line in done.err.splitlines() if line.startswith("::")]
    open_ = [check for check in found["checks"] if check["status"] in ("fail", "unknown")]
    assert len(lines) == len(open_) > 1
    assert done.status == OUTSIDE
    head, _, text = lines[0][2:].partition("::")
    assert head.startswith("error file=models/rules%2C 1.txt,title=")
    assert "\n" not in text
    assert "%25" in " ".join(lines)
    assert any(line.startswith("::warning ") for line in lines)


def test_github_gets_a_summary_in_the_file_that_it_names(
    models: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(models / "summary.md"))
    (models / "summary.md").write_text("# Before\n")
    audited(run, models, "--ci", "github")
    text = (models / "summary.md").read_text()
    assert text.startswith("# Before\n## models/rules, 1.txt: outside policy\n")
    digest = hashlib.sha256((models / "models" / "rules, 1.txt").read_bytes()).hexdigest()
    assert f"SHA-256 of the file: `{digest}`" in text
    assert "\\`" not in text
    assert "`glassine scrub 'models/rules, 1.txt' --domain" in text
    written = models / "own.md"
    audited(run, models, "--to", "summary", "own.md", "--require-clean-copy")
    assert text == "# Before\n" + written.read_text()


@pytest.mark.parametrize("kind", ["gitlab", "junit"])
def test_junit_has_a_case_for_each_rule_and_what_is_not_known_is_an_error(kind: str, models: Path, run: Run) -> None:
    done = audited(run, models, "--ci", kind, "--json")
    checks = {check["rule"]: check["status"] for check in json.loads(done.out)["checks"]}
    suites = ET.parse(models / "glassine.xml").getroot()
    assert suites.tag == "testsuites"
    (suite,) = suites
    kinds = {"pass": None, "fail": "failure", "unknown": "error", "not applicable": "skipped"}
    cases = {str(case.get("name")): next((child.tag for child in case), None) for case in suite}
    assert cases == {f"models/rules, 1.txt: {rule}": kinds[status] for rule, status in checks.items()}
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert suite.get(name) == suites.get(name) == str(list(cases.values()).count(tag))
    assert {"fail", "unknown"} <= set(checks.values())


def test_several_models_share_one_junit_report_and_each_gets_its_annotations(models: Path, run: Run) -> None:
    both = ["models/rules, 1.txt", "models/kept.txt"]
    assert run("audit", *both, "--ci", "junit", cwd=models).status == OUTSIDE
    suites = ET.parse(models / "glassine.xml").getroot()
    assert [suite.get("name") for suite in suites] == [f"glassine: {path}" for path in both]
    assert suites.get("tests") == str(sum(len(suite) for suite in suites))
    annotated = run("audit", *both, "--ci", "github", cwd=models).err
    assert "file=models/rules%2C 1.txt," in annotated
    refused = run("audit", *both, "--to", "sarif", "out.sarif", cwd=models)
    assert refused.status == 2
    assert "--to writes one report" in refused.err


def test_sarif_has_what_is_broken_or_not_known_and_what_code_scanning_needs(models: Path, run: Run) -> None:
    done = audited(run, models, "--to", "sarif", "out.sarif", "--json")
    checks = {check["rule"]: check["status"] for check in json.loads(done.out)["checks"]}
    plain = json.loads((models / "out.sarif").read_text())
    (one,) = plain["runs"]
    levels = {"fail": "error", "unknown": "warning"}
    assert {result["ruleId"]: result["level"] for result in one["results"]} == {
        f"glassine/{rule}": levels[status] for rule, status in checks.items() if status in levels
    }
    for rule in one["tool"]["driver"]["rules"]:
        assert rule["id"]
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
    for index, result in enumerate(one["results"]):
        assert one["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["ruleIndex"] == index
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "models/rules%2C%201.txt"
        assert result["message"]["text"]
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in one["results"]]
    assert len(set(prints)) == len(prints)
    # The same rule of the same file is the same alert tomorrow.
    audited(run, models, "--to", "sarif", "again.sarif")
    assert (models / "again.sarif").read_bytes() == (models / "out.sarif").read_bytes()


def test_sarif_is_valid_by_the_schema_of_oasis(models: Path, run: Run) -> None:
    folder = os.environ.get("GLASSINE_SCHEMAS")
    path = None if folder is None else Path(folder) / "sarif-schema-2.1.0.json"
    if path is None or not path.exists():
        pytest.skip("GLASSINE_SCHEMAS names no folder with sarif-schema-2.1.0.json, which may not be copied.")
    for model in ("models/rules, 1.txt", "models/kept.txt"):
        audited(run, models, "--to", "sarif", "out.sarif", "--overwrite", model=model)
        jsonschema.validate(json.loads((models / "out.sarif").read_text()), json.loads(path.read_text()))


# The registry.


FIT = ["fit", "tree", "people.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "0.5"]
STATEMENTS = """
name = "Trees of a clinic"
data_curators = ["A clinic"]
description = "A tree of who falls ill."
intended_use = "Teaching."
data_product_region = "Nowhere"
publication_date = 2026-11-23
registry_authors = ["A person"]
"""
RECORD = ["certificate", "registry", "tree.certificate.json", "--statements", "said.toml", "-o", "record.yaml"]


def test_a_record_of_the_registry_is_valid_and_states_the_guarantee(models: Path, run: Run) -> None:
    options = ["-o", "tree.json", "--ledger", "budget.sqlite", "--dataset", "people"]
    assert run(*FIT, *options, cwd=models).status == 0
    (models / "said.toml").write_text(STATEMENTS)
    done = run(*RECORD, cwd=models)
    assert done.status == 0, done.err
    plain = json.loads((models / "record.yaml").read_text())
    jsonschema.validate(plain, schema("deployments-registry.json"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**plain, "status": "Perfect"}, schema("deployments-registry.json"))
    assert (plain["status"], plain["tier"], plain["url_slug"]) == ("Draft", 2, "trees_of_a_clinic")
    deployment = plain["deployment"]
    assert deployment["dp_variant"]["variant_name"] == "Pure DP"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.5}
    assert deployment["basic"]["publication_date"] == "2026-11-23"
    assert "epsilon 0.5" in deployment["accounting"]["composition"]
    assert "Random bits: operating system." in deployment["implementation"]["mechanisms"]


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (STATEMENTS.replace('name = "Trees of a clinic"\n', ""), "requires what only a person can state: name."),
        (STATEMENTS.replace('["A clinic"]', "[]"), "data_curators must be a list of texts"),
        (STATEMENTS.replace('"Teaching."', '" "'), "intended_use must be a text"),
        (STATEMENTS.replace("2026-11-23", '"soon"'), "publication_date must be a date"),
        (STATEMENTS + 'epsilon = "0.1"', "is no statement of the registry"),
        ("name = ", "is not valid TOML"),
    ],
)
def test_what_a_person_did_not_state_is_never_invented(statements: str, words: str, models: Path, run: Run) -> None:
    assert run(*FIT, "-o", "tree.json", cwd=models).status == 0
    (models / "said.toml").write_text(statements)
    done = run(*RECORD, cwd=models)
    assert (done.status, done.out) == (2, "")
    assert words in done.err
    assert not (models / "record.yaml").exists()


def test_what_is_not_private_has_no_place_in_the_registry(models: Path, run: Run) -> None:
    (models / "tree.certificate.json").write_text(Certificate.none("no noise").to_json())
    (models / "said.toml").write_text(STATEMENTS)
    done = run(*RECORD, cwd=models)
    assert done.status == 2
    assert "this guarantee does not hold: not private: no noise" in done.err


# Output checkers.


def test_an_entry_for_output_checkers_has_what_the_viewer_needs(models: Path, run: Run) -> None:
    (models / "policy.toml").write_text("smallest_leaf = 10\npurest_leaf = 0.9")
    audited(run, models, "--to", "acro", "outputs", "--policy", "policy.toml")
    folder = models / "outputs"
    plain = json.loads((folder / "results.json").read_text())
    ((uid, entry),) = plain["results"].items()
    assert uid == entry["uid"] == "rules__1"
    assert entry["status"] == "fail"
    assert entry["summary"].split("; ")[0] == "fail"
    assert isinstance(entry["properties"], dict)
    assert isinstance(entry["comments"], list)
    for file in entry["files"]:
        content = (folder / file["name"]).read_bytes()
        # The viewer puts what is no table or image into its page as HTML.
        assert b"<" not in content
        assert (folder / "checksums" / f"{file['name']}.txt").read_text() == hashlib.sha256(content).hexdigest()
    head, *rows = csv.reader(io.StringIO((folder / entry["files"][0]["name"]).read_text()))
    marked = entry["files"][0]["sdc"]["cells"]
    # Rows and columns are counted from 0 after the header and the first column.
    assert head[1:][marked["smallest_leaf"][0][1]] == "records"
    small = [rows[row][1:][column] for row, column in marked["smallest_leaf"]]
    assert small == ["fewer than 10"]
    pure = {rows[row][1:][column] for row, column in marked["purest_leaf"]}
    assert pure == {"1"}
    assert marked.keys() == {"share_in_small_leaves", "smallest_leaf", "purest_leaf"}
    assert json.loads((folder / "config.json").read_text())["smallest_leaf"] == 10


def test_a_model_within_policy_is_for_review_and_never_passed_at_once(models: Path, run: Run) -> None:
    done = audited(run, models, "--to", "acro", "outputs", model="models/kept.txt")
    assert done.status != OUTSIDE
    ((_, entry),) = json.loads((models / "outputs" / "results.json").read_text())["results"].items()
    assert entry["status"] == "review"


def test_an_existing_folder_is_refused_before_any_work(models: Path, run: Run) -> None:
    (models / "outputs").mkdir()
    done = run("audit", "models/kept.txt", "--to", "acro", "outputs", cwd=models)
    assert (done.status, done.out) == (2, "")
    assert "it exists" in done.err
    assert list((models / "outputs").iterdir()) == []


READ = """
import json, sys
from acro.record import load_records
records = load_records(sys.argv[1])
record = records.get_index(0)
print(json.dumps([list(records.results), record.status, record.output[0].to_dict("list"), record.sdc["cells"]]))
"""


READ_ALL = """
import json, sys
from acro.record import load_records
records = load_records(sys.argv[1])
print(json.dumps([[name, records.results[name].status] for name in records.results]))
"""


@pytest.mark.slow
def test_acro_reads_the_entry_back(models: Path, run: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    python = os.environ.get("GLASSINE_ACRO")
    if python is None:
        home = tmp_path_factory.mktemp("acro")
        python = str(home / "bin" / "python")
        steps = [
            [sys.executable, "-m", "venv", str(home)],
            [python, "-m", "pip", "install", "-q", "--no-compile", "acro==1.0.2"],
        ]
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True, timeout=900, check=False)
            if done.returncode:
                pytest.skip(f"acro cannot be installed: {done.stderr[-200:]}")
    audited(run, models, "--to", "acro", "outputs")
    read = subprocess.run(
        [python, "-c", READ, str(models / "outputs")], capture_output=True, text=True, timeout=300, check=False, cwd="/"
    )
    assert read.returncode == 0, read.stderr[-2000:]
    names, status, table, cells = json.loads(read.stdout.splitlines()[-1].replace("NaN", "null"))
    assert (names, status) == (["rules__1"], "fail")
    assert table["part"] == [1, 2, 3]
    assert table["records"] == ["45", "30", "fewer than 10"] or "fewer than 10" in map(str, table["records"])
    assert cells["share_in_small_leaves"] == [[2, 1]]
    written = released_with_acro(tmp_path_factory.mktemp("desk") / "study")
    read = subprocess.run(
        [python, "-c", READ_ALL, str(written)], capture_output=True, text=True, timeout=300, check=False, cwd="/"
    )
    assert read.returncode == 0, read.stderr[-2000:]
    assert json.loads(read.stdout.splitlines()[-1]) == [["rules.txt", "review"], ["output_0", "review"]]


# Everything that a pipeline shows is public.

PUBLIC = [["--ci", "github"], ["--ci", "gitlab"], ["--ci", "junit"]] + [
    ["--to", form, f"out.{form}"] for form in ("sarif", "junit", "summary")
]


@pytest.mark.parametrize("options", PUBLIC, ids=" ".join)
def test_what_is_public_shows_no_small_count(options: list[str], models: Path, run: Run) -> None:
    before = set(listing(models))
    done = audited(run, models, *options)
    written = [data.decode() for name, data in listing(models).items() if name not in before]
    for text in [done.err, *written]:
        # The smallest rule holds seven records; there are as many tests in all.
        text = text.replace('tests="7"', "")
        assert not re.search(r"\b[1-9] (records|people)\b(?! per)|[>\"|] ?7 ?[<\"|]", text)
    refused = run("audit", "models/rules, 1.txt", *options, "--show-small-counts", cwd=models)
    assert refused.status == 2
    assert "is public" in refused.err


@pytest.mark.parametrize("options", PUBLIC, ids=" ".join)
def test_what_is_public_of_a_private_model_is_the_same_whatever_the_records_are(
    options: list[str], models: Path, run: Run
) -> None:
    assert run(*FIT, "-o", "tree.json", cwd=models).status == 0
    (models / "policy.toml").write_text("accept_guarantee = true")
    people(120).write_csv(models / "others.csv")
    written = []
    for data in ("people.csv", "others.csv"):
        records = [
            "--data",
            data,
            "--target",
            "ill",
            "--policy",
            "policy.toml",
            "--domain",
            "domain.json",
            "--overwrite",
        ]
        done = audited(run, models, *options, *records, model="tree.json")
        text = [line for line in done.err.splitlines() if line.startswith("::")]
        text += [(models / name).read_text() for name in ("glassine.xml", options[-1]) if (models / name).exists()]
        written.append(re.sub(r"\d{4}-\d\d-\d\dT[\d:+]+", "", "\n".join(text)))
    assert written[0] == written[1]
    assert written[0] or options == ["--ci", "github"]


@pytest.mark.parametrize(
    ("others", "form"),
    [([], []), ([], ["--json"]), (["second.txt"], ["--json"])],
    ids=("text of one", "JSON of one", "JSON of two"),
)
def test_the_log_of_a_pipeline_shows_nothing_for_the_checker_alone(
    others: list[str], form: list[str], models: Path, run: Run
) -> None:
    rows = [f"{10 + i},{i % 2},{'true' if i % 3 else 'false'},P{100 + i // 2}" for i in range(90)]
    (models / "visits.csv").write_text("\n".join(["a,b,ill,patient", *rows]) + "\n")
    write_model(parse_rules(RULES), models / "second.txt", to="text", overwrite=True)
    Domain({"a": Integer(0, 199), "b": Binary()}).to_json(models / "public.json")
    known = ("--domain", "public.json", "--data", "visits.csv", "--target", "ill")
    model = ("audit", "models/rules, 1.txt", *others, *known, *form)
    checker = run(*model, cwd=models)
    assert "checker" in checker.out
    assert "patient" in checker.out + checker.err
    done = run(*model, "--ci", "github", cwd=models)
    assert done.status == checker.status == OUTSIDE
    assert not re.search("For the checker|patient|visits", done.out + done.err)
    found = json.loads(done.out) if form else {}
    audiences = [one["findings"]["audience"] for one in found["models"]] if form and others else [found.get("audience")]
    assert set(audiences) == ({"public"} if form else {None})


def test_a_report_for_the_checker_is_written_beside_a_public_log(models: Path, run: Run) -> None:
    done = audited(run, models, "--ci", "github", "-o", "report.json")
    assert json.loads((models / "report.json").read_text())["audience"] == "checker"
    assert "For the checker" not in done.out


def test_another_format_is_refused_before_any_work(models: Path, run: Run) -> None:
    done = run("audit", "models/kept.txt", "--to", "pdf", "out.pdf", cwd=models)
    assert (done.status, done.out) == (2, "")
    assert "must be one of acro, junit, plain, sarif, summary, got 'pdf'" in done.err


def test_a_pipeline_without_records_is_told_where_to_audit(models: Path, run: Run) -> None:
    write_model(parse_rules("if [a] then [true]\nelse [false]\n"), models / "silent.txt", to="text", overwrite=True)
    said = " ".join(audited(run, models, "--ci", "github", model="silent.txt").out.split())
    assert "`--data FILE`" in said
    assert "Records need not be in the pipeline" in said
    assert "Records need not be in the pipeline" not in audited(run, models, model="silent.txt").out
