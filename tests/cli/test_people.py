"""Commands by person: --person COLUMN counts people in audits, copies, comparisons and explanations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Category, Domain, Integer, as_model, write_model
from tests.cli.running import Run

DOMAIN = Domain({"age": Integer(0, 99), "ill": Category(("no", "yes"))})


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """Make a folder with a tree whose leaves hold ten records each, and six people."""
    ages = [20] * 12 + [60] * 12
    # 01 and 1 are two persons, as they are written.
    who = ["01", "1", "2", "3", "4", "5"] * 2 + ["6", "7", "8", "9", "10", "11"] * 2
    frame = pl.DataFrame({"who": who, "age": ages, "ill": (["no"] * 8 + ["yes"] * 4) * 2})
    frame.write_csv(tmp_path / "visits.csv")
    # Of each person one class, so that a comparison can split them.
    frame.with_columns(ill=pl.when(pl.col("age") > 40).then(pl.lit("yes")).otherwise(pl.lit("no"))).write_csv(
        tmp_path / "classes.csv"
    )
    Domain({"age": DOMAIN["age"]}).to_json(tmp_path / "domain.json")
    DOMAIN.to_json(tmp_path / "with_class.json")
    tree = DecisionTreeClassifier(max_depth=1).fit(
        frame.select("age").to_numpy(), np.where(np.array(ages) > 40, frame["ill"].to_numpy(), "no")
    )
    write_model(as_model(tree, Domain({"age": DOMAIN["age"]})), tmp_path / "tree.json", overwrite=True)
    return tmp_path


def test_audit_counts_people(run: Run, clinic: Path) -> None:
    command = ("audit", "tree.json", "--domain", "domain.json", "--data", "visits.csv", "--target", "ill", "--json")
    plain = [json.loads(run(*command, *more, cwd=clinic).out) for more in ((), ("--person", "who"))]
    checks = [{check["rule"]: check["status"] for check in found["checks"]} for found in plain]
    status = [statuses["share_in_small_leaves"] for statuses in checks]
    assert status == ["pass", "fail"]
    assert [found["counted"] for found in plain] == ["records", "people"]
    done = run(*command, "--person", "who", "--show-small-counts", cwd=clinic)
    assert [part["size"] for part in json.loads(done.out)["measured"]["parts"]["parts"]] == [6, 6]
    assert "counts people" not in done.err


def test_audit_points_out_the_column_and_its_option(run: Run, clinic: Path) -> None:
    # Named like an identifier.
    pl.read_csv(clinic / "visits.csv", infer_schema=False).rename({"who": "patient_id"}).write_csv(clinic / "named.csv")
    done = run("audit", "tree.json", "--domain", "domain.json", "--data", "named.csv", cwd=clinic)
    assert "--person patient_id counts people" in done.err
    assert "Pass `--person patient_id` to count people." in " ".join(done.out.split())
    assert "persons=" not in done.out + done.err


def test_columns_like_identifiers_are_pointed_out_in_one_note(run: Run, clinic: Path) -> None:
    visits = pl.read_csv(clinic / "visits.csv", infer_schema=False).rename({"who": "patient_id"})
    visits.with_columns(user_id=pl.col("patient_id") + "0").write_csv(clinic / "two.csv")
    done = run("audit", "tree.json", "--domain", "domain.json", "--data", "two.csv", cwd=clinic)
    said = " ".join(done.out.split())
    assert said.count("one person may have several records") == 1
    assert "look like identifiers, and their values recur" in said
    assert done.err.count("does not cover all records of a person") == 1


def test_a_person_column_that_is_not_there_is_refused(run: Run, clinic: Path) -> None:
    done = run("audit", "tree.json", "--data", "visits.csv", "--person", "whom", cwd=clinic)
    assert done.status == 2
    assert "--person names 'whom'" in done.err
    alone = run("audit", "tree.json", "--person", "who", cwd=clinic)
    assert alone.status == 2
    assert "Add --data" in alone.err


def test_scrub_merges_leaves_of_too_few_people(run: Run, clinic: Path) -> None:
    command = (
        "scrub",
        "tree.json",
        "--domain",
        "domain.json",
        "--data",
        "visits.csv",
        "--smallest-leaf",
        "10",
        "--json",
    )
    merged = [
        json.loads(run(*command, "-o", f"{i}.json", *more, cwd=clinic).out)["changes"]["merged"]
        for i, more in enumerate(((), ("--person", "who")))
    ]
    assert merged == [0, 1]


def test_compare_splits_by_person(run: Run, clinic: Path) -> None:
    command = ("compare", "classes.csv", "--target", "ill", "--domain", "with_class.json", "--models", "tree,constant")
    more = ("--splits", "1", "--epsilon", "1", "--person", "who", "--json")
    found = json.loads(run(*command, *more, cwd=clinic).out)
    assert found["n_people"] == 12
    assert any("records_per_person" in caveat for caveat in found["caveats"])
    bounded = json.loads(run(*command, *more, "--records-per-person", "2", cwd=clinic).out)
    assert not any("records_per_person" in caveat for caveat in bounded["caveats"])


def test_explain_groups_people(run: Run, clinic: Path) -> None:
    (clinic / "clinic_box.py").write_text(
        "import numpy as np\n\n\ndef box(X):\n    return np.where(X[:, 0] > 40, 'yes', 'no')\n"
    )
    command = (
        "explain",
        "make",
        "visits.csv",
        "--black-box",
        "clinic_box:box",
        "--domain",
        "domain.json",
        "--classes",
        "no,yes",
    )
    for k, status in (("12", 0), ("13", 2)):
        done = run(*command, "--target", "ill", "--person", "who", "-k", k, "-o", f"{k}.json", cwd=clinic)
        assert done.status == status, done.err
    assert json.loads((clinic / "12.json").read_text())["provenance"]["counted"] == "people"


@pytest.mark.slow
def test_scrub_compare_and_explain_point_out_the_column_and_its_option(run: Run, clinic: Path) -> None:
    for name in ("visits", "classes"):
        pl.read_csv(clinic / f"{name}.csv", infer_schema=False).rename({"who": "patient_id"}).write_csv(
            clinic / f"{name}.csv"
        )
    (clinic / "clinic_box.py").write_text(
        "import numpy as np\n\n\ndef box(X):\n    return np.where(X[:, 0] > 40, 'yes', 'no')\n"
    )
    commands = (
        ("scrub", "tree.json", "--domain", "domain.json", "--data", "visits.csv", "--smallest-leaf", "10"),
        (
            *("compare", "classes.csv", "--target", "ill", "--domain", "with_class.json", "--models", "tree,constant"),
            *("--splits", "1", "--epsilon", "1"),
        ),
        (
            *("explain", "make", "visits.csv", "--black-box", "clinic_box:box", "--domain", "domain.json"),
            *("--classes", "no,yes", "--target", "ill", "-k", "12"),
        ),
    )
    for i, command in enumerate(commands):
        done = run(*command, "-o", f"{i}.json", cwd=clinic)
        assert "--person patient_id counts people" in done.err, (command[0], done.err)
        named = run(*command, "--person", "patient_id", "-o", f"{i}_people.json", cwd=clinic)
        assert "counts people" not in named.err, command[0]
