"""``glassine summarize``, and models from its file: one entry of the ledger, however many they are."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassine import Category, Certificate, Domain, Integer, Ledger, Real, load_model
from glassine.domain.attributes import Attribute
from glassine.formats import fingerprint
from glassine.learners import PrivateSummary
from glassine.records.undeclared import read_checked
from tests.cli.running import Run, attributes, one_after_another

SUMMARIZE = ("summarize", "people.csv", "--target", "ill", "--domain", "domain.json", "-o", "s.json", "--epsilon", "2")


@pytest.fixture(scope="module")
def released(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Release a summary once; each test has a copy."""
    folder = shutil.copytree(stored, tmp_path_factory.mktemp("released"), dirs_exist_ok=True)
    Ledger(folder / "b.sqlite").budget("more", 2, 1e-5)
    with one_after_another() as command:
        assert command(*SUMMARIZE, "--ledger", "b.sqlite", "--dataset", "more", cwd=folder) == 0
    return folder


@pytest.fixture
def summarized(released: Path, tmp_path: Path) -> Path:
    return shutil.copytree(released, tmp_path, dirs_exist_ok=True)


def test_models_of_a_summary_are_written_with_certificates_and_cost_nothing(summarized: Path, run: Run) -> None:
    sizes = {"tree": ("--max-depth", "2"), "rule-list": ("--max-rules", "2"), "additive": ()}
    for model, more in (*sizes.items(), ("scorecard", ("--max-items", "3", "--max-points", "2"))):
        done = run("fit", model, "--summary", "s.json", "-o", f"{model}.json", *more, cwd=summarized)
        assert done.status == 0, done.err
        certificate = Certificate.from_json((summarized / f"{model}.certificate.json").read_text())
        assert certificate.model == fingerprint(load_model(summarized / f"{model}.json"))
        assert (certificate.epsilon, certificate.holds) == (2.0, True)
    assert "scorecard" in run("export", "scorecard.json", "--to", "card", cwd=summarized).out.lower()
    (entry,) = Ledger(summarized / "b.sqlite").entries("more")
    assert float(entry.epsilon) == 2.0
    done = run("fit", "tree", "--summary", "s.json", "-o", "again.json", "--report", "again.html", cwd=summarized)
    assert "Certificate: again.certificate.json\nReport: again.html (" in done.out
    assert (summarized / "again.html").exists()
    verified = run("certificate", "verify", "tree.json", "tree.certificate.json", cwd=summarized)
    assert verified.status == 0, verified.out


def test_misspelled_classes_and_values_show_in_what_is_released(stored: Path, tmp_path: Path, run: Run) -> None:
    folder = shutil.copytree(stored, tmp_path, dirs_exist_ok=True)
    said = "hardly any record may have the class 'Yes' in 'ill'"
    declared = {name: one for name, one in attributes().items() if name != "ill"}
    Domain({**declared, "sport": Category(("Run", "swim"))}).to_json(folder / "domain.json")
    frame = pl.read_csv(folder / "people.csv")
    frame = frame.with_columns(sport=pl.Series(["run", "swim"] * (len(frame) // 2) + ["run"] * (len(frame) % 2)))
    frame.write_csv(folder / "people.csv")
    for classes, misspelled in (("no,yes", False), ("no,Yes", True)):
        more = ("--epsilon", "20", "--seed", "0", "--classes", classes, "--overwrite")
        done = run(*SUMMARIZE[:-2], *more, cwd=folder)
        assert done.status == 0, done.err
        fitted = run("fit", "tree", "--summary", "s.json", "-o", "t.json", "--overwrite", cwd=folder)
        for text in (done.out, fitted.out):
            assert (said in text) is misspelled
            assert re.search(r"about 1\d\d records have a value in 'sport' that the domain does not declare", text)


@pytest.mark.parametrize("model", ["tree", "rule-list"])
def test_what_splits_lower_is_as_in_python(model: str, summarized: Path, run: Run) -> None:
    size = {"tree": ("--max-depth", "1"), "rule-list": ("--max-rules", "1")}[model]
    summary = PrivateSummary.read(summarized / "s.json")
    makes = {"tree": summary.tree, "rule-list": summary.rule_list}[model]
    asked = ("fit", model, "--summary", "s.json", "-o", "m.json", "--overwrite", *size)
    found = {}
    for measure in ("additive", "gini", "errors", "log-loss"):
        done = run(*asked, "--measure", measure, cwd=summarized)
        assert done.status == 0, done.err
        found[measure] = fingerprint(load_model(summarized / "m.json"))
        assert found[measure] == fingerprint(makes(1, measure.replace("-", "_")))  # type: ignore[arg-type]
    assert found["additive"] != found["gini"]


def test_a_summary_is_audited_by_its_guarantee(summarized: Path, run: Run) -> None:
    policy = summarized / "policy.toml"
    policy.write_text("accept_guarantee = true\n")
    done = run("audit", "s.json", "--policy", "policy.toml", "--json", cwd=summarized)
    findings = json.loads(done.out)
    assert findings["guarantee"]["epsilon"] == 2.0
    assert done.status == {"within policy": 0, "outside policy": 1, "inconclusive": 3}[findings["verdict"]]
    assert "every model that is fitted to it" in findings["notes"][0]
    assert findings["subject"]["kind"] == "private summary"
    assert findings["measured"]["released"]["certified"]


def test_a_model_is_measured_at_a_charge_of_its_own(summarized: Path, run: Run) -> None:
    assert run("fit", "tree", "--summary", "s.json", "-o", "t.json", "--max-depth", "1", cwd=summarized).status == 0
    asked = ("summarize", "people.csv", "--target", "ill", "--summary", "s.json", "--measure", "t.json")
    charged = ("--ledger", "b.sqlite", "--dataset", "more", "--epsilon", "0.5", "-o", "m.json")
    done = run(*asked, *charged, cwd=summarized)
    assert done.status == 2, "the budget is spent"
    assert not (summarized / "m.json").exists()
    Ledger(summarized / "b.sqlite").budget("aside", 0.5, 0.0)
    done = run(*asked, *(word.replace("more", "aside") for word in charged), cwd=summarized)
    assert done.status == 0, done.err
    assert "Accuracy" in done.out
    (entry,) = Ledger(summarized / "b.sqlite").entries("aside")
    assert float(entry.epsilon) == 0.5
    found = json.loads((summarized / "m.json").read_text())
    certificate = Certificate.from_dict(found["certificate"])
    assert (certificate.holds, certificate.epsilon) == (True, 0.5)
    assert certificate.public["model"] == fingerprint(load_model(summarized / "t.json"))
    value, low, high = found["accuracy"]
    assert 0 <= low <= value <= high <= 1
    for more, said in (
        (("--domain", "domain.json"), "a summary says what is public"),
        (("--person", "age", "--records-per-person", "1"), "the summary is of single records"),
    ):
        refused = run(*asked, "--epsilon", "0.5", "-o", "n.json", *more, cwd=summarized)
        assert refused.status == 2
        assert said in refused.err
    alone = run(*SUMMARIZE, "--measure", "t.json", "--overwrite", cwd=summarized)
    assert alone.status == 2
    assert "go together" in alone.err
    Ledger(summarized / "b.sqlite").budget("again", 1, 0.0)
    onto = (*(word.replace("more", "again") for word in charged[:4]), "--epsilon", "1", "-o", "again.json")
    done = run(*asked, *onto, "--figure", "log-loss", "--figure", "auroc", cwd=summarized)
    assert done.status == 0, done.err
    assert "Log loss" in done.out
    assert set(json.loads((summarized / "again.json").read_text())["counts"]) == {"log_loss", "auroc"}
    refused = run(*asked, *onto, "--overwrite", "--figure", "gini", cwd=summarized)
    assert "--figure must be some of accuracy, log_loss, auroc" in refused.err


def test_a_part_of_epsilon_is_reserved_for_one_model(folder: Path, run: Run) -> None:
    Ledger(folder / "b.sqlite").budget("more", 2, 1e-5)
    kept = ("--ledger", "b.sqlite", "--dataset", "more", "--reserve", "0.25", "--reserve-for", "tree,1")
    for more, said in (
        (("--reserve", "0.9"), "--reserve must be a number in [0.01, 0.5]"),
        (("--reserve-for", "forest"), "--reserve-for of a reserve must be one of"),
        (("--reserve-for", "tree,x"), "must be a whole number"),
    ):
        refused = run(*SUMMARIZE, *kept, *more, cwd=folder)
        assert (refused.status, said in refused.err) == (2, True), refused.err
    done = run(*SUMMARIZE, *kept, cwd=folder)
    assert done.status == 0, done.err
    assert "Private summary at epsilon 2, delta 1e-06" in done.out
    assert "Of the tree with max_depth 1 on these records, which flatter it: Accuracy" in done.out
    (entry,) = Ledger(folder / "b.sqlite").entries("more")
    assert (float(entry.epsilon), "0.5 of it for a measurement" in entry.note) == (2.0, True)
    measured = json.loads((folder / "s.json").read_text())["measurement"]
    assert measured["certificate"]["epsilon"] == 0.5
    assert run("fit", "tree", "--summary", "s.json", "-o", "t.json", "--max-depth", "1", cwd=folder).status == 0
    assert measured["certificate"]["public"]["model"] == fingerprint(load_model(folder / "t.json"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--epsilon", "1"), "--epsilon does not apply"),
        (("people.csv",), "a summary has its records, domain and classes behind it"),
        (("--not-private",), "--not-private does not apply"),
    ],
)
def test_what_a_summary_has_no_use_for_is_refused(
    summarized: Path, run: Run, arguments: tuple[str, ...], said: str
) -> None:
    done = run("fit", "tree", "--summary", "s.json", "-o", "t.json", *arguments, cwd=summarized)
    assert done.status == 2
    assert said in done.err
    assert not (summarized / "t.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("declared", [True, False])
def test_a_number_is_summarized_from_file_to_file(
    declared: bool, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 81, 4000)
    pl.DataFrame({"age": age, "fee": 10.0 + age + rng.normal(0, 4, 4000)}).write_csv(folder / "fees.csv")
    attributes: dict[str, Attribute] = {"age": Integer(18, 90), "fee": Real(0, 120)}
    Domain(attributes if declared else {"age": attributes["age"]}).to_json(folder / "fees.json")
    ranged = () if declared else ("--target-range", "0,120")
    asked = ("summarize", "fees.csv", "--target", "fee", "--domain", "fees.json", "--epsilon", "4", "-o", "s.json")
    done = run(*asked, *ranged, "--seed", "0", cwd=folder)
    assert done.status == 0, done.err
    (folder / "fees.csv").unlink()
    for model, more in (("tree", ("--max-depth", "3")), ("rule-list", ()), ("additive", ())):
        done = run("fit", model, "--summary", "s.json", "-o", f"{model}.json", *more, cwd=folder)
        assert done.status == 0, done.err
        fitted = load_model(folder / f"{model}.json")
        predicted = fitted.predict(read_checked({"age": np.array([25, 75])}, Domain({"age": attributes["age"]})))
        assert predicted == pytest.approx([35, 85], abs=15)
    done = run("fit", "tree", "--summary", "s.json", "-o", "t.json", "--measure", "gini", cwd=folder)
    assert "--measure is of classes; this summary's target is a number" in done.err
    done = run("fit", "scorecard", "--summary", "s.json", "-o", "card.json", cwd=folder)
    assert done.status == 2
    assert "a scorecard is of two classes" in done.err
    compared = ("compare", "--summary", "s.json", "--max-depth", "2", "--max-rules", "1")
    done = run(*compared, cwd=folder)
    assert "expected error" in done.out
    assert "AUC" not in done.out
    rows = json.loads(run(*compared, "--json", cwd=folder).out)["models"]
    least = min(row["expected_error_spread"] / row["expected_error"] for row in rows if not row["refusal"])
    monkeypatch.setattr("glassine.learners.summaries.estimates.MOST_SPREAD", 1.001 * least)
    done = run(*compared, cwd=folder)
    assert done.status == 0, done.err
    assert "no estimate: the noise is too strong for an estimate of the error" in done.out
    assert "expected error" in done.out
    done = run("compare", "--summary", "s.json", "--near-optimal", "1,0.02", "-o", "near.html", cwd=folder)
    assert done.status == 0, done.err
    assert "squared errors" in (folder / "near.html").read_text()
    found = json.loads(run("audit", "s.json", "--json", cwd=folder).out)
    assert found["guarantee"]["epsilon"] == 4.0


def test_a_range_and_classes_contradict_each_other(folder: Path, run: Run) -> None:
    done = run(*SUMMARIZE, "--target-range", "0,1", cwd=folder)
    assert done.status == 2
    assert "Leave --target-range and --infer-range out" in done.err


@pytest.mark.slow
def test_models_of_a_summary_are_compared_without_records(summarized: Path, run: Run) -> None:
    strong = [{"2": "20", "s.json": "strong.json"}.get(word, word) for word in SUMMARIZE]
    assert run(*strong, cwd=summarized).status == 0
    before = (summarized / "b.sqlite").read_bytes()
    (summarized / "people.csv").unlink()
    asked = ("compare", "--summary", "strong.json", "--max-depth", "2", "--max-rules", "1")
    done = run(*asked, "--json", "-o", "c.txt", cwd=summarized)
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert found["epsilon"] == 20.0
    kinds = [row["model"] for row in found["models"]]
    assert sorted(kinds) == ["additive", "rule-list", "scorecard", "scorecard", "tree", "tree"]
    aucs = [row["expected_auc"] for row in found["models"]]
    assert aucs == sorted(aucs, reverse=True)
    assert "accuracy" not in {key for row in found["models"] for key in row}
    text = (summarized / "c.txt").read_text()
    assert "They flatter the models" in text
    # The command that it recommends works.
    words = shlex.split(text.split("Next: glassine ")[1])
    assert run(*words, cwd=summarized).status == 0
    assert (summarized / "model.json").is_file()
    assert (summarized / "b.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("people.csv", "--target", "ill"), "RECORDS and --target cannot be combined with --summary"),
        (("--splits", "3"), "What is for records and splits cannot"),
        (("--epsilon", "1"), "A budget cannot be combined"),
        (("--models", "tree,boosting"), "--models must be some of tree, rule-list, additive, scorecard"),
        (("--max-depth", "0"), "--max-depth must be a whole number in [1, 12]"),
        (("-o", "page.html"), "written as JSON or text"),
    ],
)
def test_what_a_comparison_of_a_summary_has_no_use_for_is_refused(
    summarized: Path, run: Run, arguments: tuple[str, ...], said: str
) -> None:
    done = run("compare", "--summary", "s.json", *arguments, cwd=summarized)
    assert done.status == 2
    assert said in " ".join(done.err.split())


@pytest.mark.slow
def test_near_optimal_trees_of_a_summary_have_a_report_that_reads_no_training_record(
    summarized: Path, run: Run
) -> None:
    strong = [{"2": "20", "s.json": "strong.json"}.get(word, word) for word in SUMMARIZE]
    assert run(*strong, cwd=summarized).status == 0
    before = (summarized / "b.sqlite").read_bytes()
    lines = (summarized / "people.csv").read_text().splitlines()
    (summarized / "mine.csv").write_text("\n".join(lines[:6]) + "\n")
    (summarized / "people.csv").unlink()
    asked = ("compare", "--summary", "strong.json", "--near-optimal", "1,0.05")
    done = run(*asked, "--ask", "mine.csv", "-o", "page.html", cwd=summarized)
    assert done.status == 0, done.err
    assert "of your 5 records differently" in done.out
    assert done.out.startswith("Do not publish it. Parts marked “checker only” describe the records.")
    page = (summarized / "page.html").read_text()
    assert 'class="chart intervals"' in page
    assert "mine.csv" in page
    done = run(*asked, "--json", "-o", "near.json", cwd=summarized)
    found = json.loads(done.out)
    assert found == json.loads((summarized / "near.json").read_text())
    assert (found["epsilon"], found["max_depth"], found["slack"], found["records"]) == (20.0, 1, 0.05, None)
    assert found["summary"] == json.loads((summarized / "strong.json").read_text())["certificate"]["model"]
    assert run(*asked, "-o", "near.txt", cwd=summarized).status == 0
    assert (summarized / "near.txt").read_text().startswith("For everyone who may see the summary")
    assert (summarized / "b.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--near-optimal", "two"), "must be a depth, or a depth and a slack such as 3,0.01, got 'two'"),
        (("--near-optimal", "4"), "the depth of --near-optimal must be a whole number in [1, 3], got 4"),
        (("--near-optimal", "1,-1"), "the slack of --near-optimal must be a number in [0, 0.2]"),
        (("--near-optimal", "1", "--max-depth", "2"), "--near-optimal covers all trees"),
        (("--near-optimal", "1", "--epsilon", "1"), "A budget cannot be combined"),
        (("--near-optimal", "1", "-o", "page.pdf"), "reports are written as HTML, JSON or text"),
        (("--near-optimal", "1", "-o", "s.json"), "cannot write s.json"),
        (("--ask", "people.csv"), "--ask is for --near-optimal"),
    ],
)
def test_what_near_optimal_trees_have_no_use_for_is_refused(
    summarized: Path, run: Run, arguments: tuple[str, ...], said: str
) -> None:
    done = run("compare", "--summary", "s.json", *arguments, cwd=summarized)
    assert done.status == 2
    assert said in " ".join(done.err.split())


def test_near_optimal_trees_are_of_a_summary(folder: Path, run: Run) -> None:
    done = run("compare", "people.csv", "--target", "ill", "--near-optimal", "2", cwd=folder)
    assert done.status == 2
    assert "--near-optimal and --ask are for a private summary" in done.err


def test_a_summary_that_is_mostly_noise_compares_nothing(summarized: Path, run: Run) -> None:
    done = run("compare", "--summary", "s.json", cwd=summarized)
    assert done.status == 2
    assert "the noise is too strong for an estimate" in done.err


def test_a_comparison_needs_records_or_a_summary(folder: Path, run: Run) -> None:
    assert "compare needs RECORDS, or --summary" in run("compare", cwd=folder).err
    done = run("compare", "people.csv", cwd=folder)
    assert "compare needs --target" in done.err
    assert done.status == 2


def test_a_file_that_holds_more_than_the_summary_is_refused(summarized: Path, run: Run) -> None:
    (file,) = [path for path in summarized.glob("*.json") if '"glassine.summary/' in path.read_text()[:400]]
    assert run("audit", file.name, cwd=summarized).status != 2
    file.write_text(file.read_text() + " \t" * 5_000)
    refused = run("audit", file.name, cwd=summarized)
    assert refused.status == 2
    assert "not as Glassine writes them" in refused.err


def test_a_changed_summary_is_refused(summarized: Path, run: Run) -> None:
    text = (summarized / "s.json").read_text()
    (summarized / "s.json").write_text(text[:-40])
    assert run("fit", "tree", "--summary", "s.json", "-o", "t.json", cwd=summarized).status == 2
    values = json.loads(text)
    values["released"]["deviations"][0] *= 2
    (summarized / "s.json").write_text(json.dumps(values))
    done = run("audit", "s.json", cwd=summarized)
    assert done.status == 2
    assert "changed after it was released" in done.err
