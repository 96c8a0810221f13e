"""`glassine explain`: releases made, signed, verified and asked, from the command line."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from starlette.testclient import TestClient

from glassine import Category, Domain
from glassine.server import create_app, read_release
from glassine.surrogates import NumericAnswer, SurrogateExplainer, SurrogateRelease
from tests.cli.running import Run
from tests.server.releases import DOMAIN, QUERY, decide, records

BOX = """
import numpy as np


def decide(frame):
    long = (frame["member"] == 1) & (frame["hours"] > 40)
    return np.where((frame["age"] > 50) | long, "yes", "no")


def rows(X):
    return [age > 50 for age, *_ in X]


def score(frame):
    return frame["age"] / 7


def numbered(X):
    return np.where(np.asarray(X)[:, 0] > 50, 1, 0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    frame = records()
    frame.assign(label=decide(frame)).to_csv(tmp_path / "records.csv", index=False)
    DOMAIN.to_json(tmp_path / "domain.json")
    (tmp_path / "box.py").write_text(textwrap.dedent(BOX))
    (tmp_path / "quits.py").write_text("raise SystemExit(0)\n")
    # Modules are imported once a process: each folder's black box is to be its own.
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "box", raising=False)
    return tmp_path


MAKE = ["explain", "make", "records.csv", "--black-box", "box:decide", "--takes", "pandas", "--domain", "domain.json"]
QUERIES = [
    "explain",
    "make",
    "--queries",
    "600",
    "--black-box",
    "box:rows",
    "--takes",
    "array",
    "--domain",
    "domain.json",
]


def test_a_release_from_records(folder: Path, run: Run) -> None:
    done = run(*MAKE, "-k", "30", "--target", "label", "-o", "release.json", "--seed", "3", "--json", cwd=folder)
    told = json.loads(done.out)
    release = SurrogateRelease.from_json(folder / "release.json")
    assert told["n_groups"] == release.n_groups >= 10
    assert release.k == 30
    assert release.provenance.form == "restricted"
    assert told["measures"]["black_box_accuracy"] == 1.0
    asked = run(
        "explain", "answer", "release.json", "--query", json.dumps(QUERY), "--decision", "yes", "--json", cwd=folder
    )
    assert json.loads(asked.out) == release.explain(QUERY, "yes").to_dict()
    run(*MAKE, "-k", "30", "--target", "label", "-o", "again.json", "--seed", "3", cwd=folder)
    assert (folder / "again.json").read_bytes() == (folder / "release.json").read_bytes()


@pytest.mark.parametrize("declared", [True, False])
def test_a_file_with_empty_cells_becomes_a_release_in_which_k_records_are_behind_each_number(
    folder: Path, run: Run, declared: bool
) -> None:
    frame = pd.read_csv(folder / "records.csv").drop(columns="label")
    frame.loc[(frame["age"] > 60) | (frame.index % 9 == 0), "hours"] = np.nan
    frame.to_csv(folder / "gaps.csv", index=False)
    make = ["explain", "make", "gaps.csv", *MAKE[3:7], "--distance", "gower", "-k", "30", "-o", "release.json"]
    assert run(*make, *(MAKE[7:] if declared else []), cwd=folder).status == 0
    release = SurrogateRelease.from_json(folder / "release.json")
    again = SurrogateExplainer(decide, 30, domain=DOMAIN if declared else None, distance="gower").fit(frame)
    assert release.representatives == again.release_.representatives
    stated = dict(enumerate(point[1] for point in release.representatives))
    assert None in stated.values()
    for group, hours in stated.items():
        own = frame["hours"][again.training_.groups == group]
        assert len(own) >= 30
        assert (hours is not None) == (own.notna().sum() >= max(30, len(own) / 2))
        assert hours is None or hours == pytest.approx(own.mean(), abs=2.5)
    file = read_release(folder / "release.json")
    service = TestClient(create_app(file, black_box=decide, takes="pandas"), base_url="http://localhost")
    asked = {"query": {"age": 80, "hours": None, "work": "private", "member": 0}}
    told = service.post("/explanation", json=asked).json()
    assert (told["decision"], told["representative"]["hours"]) == ("yes", None)
    assert "leave empty if not known" in service.get("/").text


def test_groups_within_strata(folder: Path, run: Run) -> None:
    done = run(*MAKE, "--k", "20", "--strata", "member", "-o", "release.json", cwd=folder)
    assert done.status == 0
    release = SurrogateRelease.from_json(folder / "release.json")
    assert release.provenance.strata == "member"
    place = release.domain.names.index("member")
    assert {point[place] for point in release.representatives} == {0, 1}
    refused = run(*MAKE, "--strata", "age", "-o", "other.json", cwd=folder)
    assert refused.status == 2
    assert "--strata must name a category" in refused.err


def test_a_report_on_the_release(folder: Path, run: Run) -> None:
    made = run(*MAKE, "-k", "30", "--target", "label", "-o", "release.json", "--report", "report.html", cwd=folder)
    assert made.status == 0
    page = (folder / "report.html").read_text()
    verdict = made.out.rsplit("report.html (", 1)[1].rstrip().rstrip(")")
    assert verdict in ("within policy", "outside policy", "inconclusive")
    assert verdict in page.lower()
    run(*MAKE, "-k", "30", "--target", "label", "-o", "again.json", "--report", "report.json", cwd=folder)
    assert json.loads((folder / "report.json").read_text())["verdict"] == verdict


def test_a_release_from_queries(folder: Path, run: Run) -> None:
    text = run(*QUERIES, "-k", "50", "-o", "release.json", cwd=folder).out
    assert "600 queries" in text
    assert "no person's record" in text
    assert SurrogateRelease.from_json(folder / "release.json").provenance.records == "queries"


def test_the_papers_form_from_queries(folder: Path, run: Run) -> None:
    make = [*QUERIES, "-k", "50", "--form", "paper", "-o", "release.json"]
    assert "knows no true labels" in run(*make, cwd=folder).err
    assert run(*make, "--labels", "black-box", cwd=folder).status == 0


def test_signed_and_checked(folder: Path, run: Run) -> None:
    run(*MAKE, "-k", "30", "--target", "label", "-o", "release.json", cwd=folder)
    key = json.loads(run("explain", "keys", "private.pem", "public.pem", "--json", cwd=folder).out)["public_key"]
    signed = run("explain", "sign", "release.json", "--key", "private.pem", "-o", "signed.json", cwd=folder)
    assert key in signed.out
    told = json.loads(run("explain", "verify", "signed.json", "--public-key", "public.pem", "--json", cwd=folder).out)
    assert (told["public_key"], told["k"], told["form"]) == (key, 30, "restricted")
    text = (folder / "signed.json").read_text()
    (folder / "signed.json").write_text(text.replace("private", "publick", 1))
    changed = run("explain", "verify", "signed.json", cwd=folder)
    assert changed.status == 2
    assert "does not hold" in changed.err


def test_a_goal_is_reached_or_said_not_to_be(folder: Path, run: Run) -> None:
    make = [*MAKE, "-k", "30", "--target", "label", "-o", "release.json", "--overwrite"]
    told = run(*make, "--report", "report.json", cwd=folder)
    assert re.search(r"Goal (not )?reached: \d+% of explanations have a condition \(goal 95%\)", told.out)
    report = json.loads((folder / "report.json").read_text())
    (shares,) = [found for name, found in report["measured"].items() if name == "explanations"]
    plain = json.loads(run(*make, "--with-condition", "0.5", "--confirmed", "0", "--json", cwd=folder).out)["goal"]
    assert plain["reached"] is True
    assert plain["k"] >= 30
    assert plain["goal"] == {"conditions": 0.5, "confirmed": 0.0}
    assert shares["goal_conditions"] == 0.95, shares
    public = run(*make, "--report", "report.json", "--audience", "public", cwd=folder)
    assert public.status == 0
    assert "goal_conditions" not in (folder / "report.json").read_text()
    odd = run(*make, "--with-condition", "95", cwd=folder)
    assert odd.status == 2
    assert "must be a share from 0 to 1" in odd.err
    # Of private trees nothing is measured where no goal is stated.
    private = ["--epsilon", "1", "--partition", "public", "--classes", "no,yes"]
    quiet = run(*make, *private, cwd=folder)
    assert quiet.status == 0, quiet.err
    assert "Goal" not in quiet.out
    stated = run(*make, *private, "--with-condition", "0.9", cwd=folder)
    assert "public queries" in stated.out


def test_contrasts_keep_to_the_constraints_of_the_command(folder: Path, run: Run) -> None:
    plain = ["--with-condition", "0", "--confirmed", "0"]
    run(*MAKE, "-k", "30", "--target", "label", *plain, "-o", "release.json", cwd=folder)
    ask = ["explain", "answer", "release.json", "--query", json.dumps(QUERY), "--decision", "no"]
    free = json.loads(run(*ask, "--json", cwd=folder).out)["candidates"]
    name = free[0]["changes"][0]["attribute"]
    kept = json.loads(run(*ask, "--fixed", name, "--json", cwd=folder).out)["candidates"]
    assert all(change["attribute"] != name for contrast in kept for change in contrast["changes"])
    down = json.loads(run(*ask, "--only-down", "age,hours", "--json", cwd=folder).out)["candidates"]
    changes = [change for contrast in down for change in contrast["changes"]]
    assert all(change["to"] <= change["from"] for change in changes if change["attribute"] in ("age", "hours"))
    costed = json.loads(run(*ask, "--costs", "age=100,hours=0.5", "--json", cwd=folder).out)["candidates"]
    costs = [contrast["cost"] for contrast in costed]
    assert costs == sorted(costs)
    assert None not in costs
    none = run(*ask, "--fixed", "age,hours,work,member", cwd=folder)
    assert "No allowed change leads the tree to another decision." in none.out
    for options, message in (
        (["--fixed", "agee"], "'agee', which is not an attribute"),
        (["--only-up", "work"], "no order"),
        (["--fixed", ","], "--fixed must list attributes"),
        (["--costs", "age"], "--costs must list each attribute once"),
        (["--costs", "age=0"], "--costs must list each attribute once"),
        (["--costs", "age=1,age=2"], "--costs must list each attribute once"),
    ):
        refused = run(*ask, *options, cwd=folder)
        assert refused.status == 2
        assert message in refused.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["explain", "make", "records.csv", "-o", "x.json"], "Give --black-box"),
        (["explain", "make", "--black-box", "box:decide", "-o", "x.json"], "either a file of records, or --queries"),
        ([*MAKE, "--queries", "10", "-o", "x.json"], "either a file of records, or --queries"),
        ([*MAKE, "--target", "label"], "explain make needs --output"),
        ([*MAKE, "-o", "records.csv"], "read or written already"),
        ([*MAKE, "--target", "nothing", "-o", "x.json"], "--target names 'nothing'"),
        ([*MAKE, "-k", "3000", "-o", "x.json"], "at most the number of records"),
        ([*MAKE, "--form", "loud", "-o", "x.json"], "form must be"),
        (["explain", "make", "--queries", "100", "--black-box", "box:rows", "-o", "x.json"], "Give --domain"),
        (["explain", "make", "records.csv", "--black-box", "absent:f", "-o", "x.json"], "cannot be imported"),
        (
            ["explain", "make", "records.csv", "--black-box", "quits:f", "-o", "x.json"],
            "cannot be imported (SystemExit)",
        ),
        (["explain", "make", "records.csv", "--black-box", "m" * 5000 + ":f", "-o", "x.json"], "cannot be imported"),
        (["explain", "make", "records.csv", "--black-box", "records.csv", "-o", "x.json"], "neither an ONNX model"),
        (["explain", "answer", "records.csv", "--query", "{}", "--decision", "yes"], "not valid JSON"),
        (["explain", "answer", "records.csv", "--decision", "yes"], "explain answer needs --query"),
    ],
)
def test_what_is_refused(folder: Path, run: Run, arguments: list[str], told: str) -> None:
    done = run(*arguments, cwd=folder)
    assert done.status == 2
    assert told in done.err
    lines = [line for line in done.err.splitlines() if not line.startswith("glassine: for the checker only")]
    assert len(lines) == 1
    assert not (folder / "x.json").exists()


def test_a_black_box_that_fails_is_told_what_it_was_given(folder: Path, run: Run) -> None:
    make = [word for word in MAKE if word not in ("--takes", "pandas")]
    done = run(*make, "--takes", "array", "--target", "label", "-o", "x.json", cwd=folder)
    assert done.status == 2
    assert "It was given a NumPy array; --takes names another form." in done.err
    # One default for all commands: what is read from a file is given as it is.
    assert run(*make, "--target", "label", "-k", "50", "-o", "x.json", cwd=folder).status == 0


def test_scores_are_refused_on_the_command_line(folder: Path, run: Run) -> None:
    make = [
        "explain",
        "make",
        "records.csv",
        "--black-box",
        "box:score",
        "--takes",
        "pandas",
        "--domain",
        "domain.json",
    ]
    done = run(*make, "-k", "30", "--target", "label", "--labels", "black-box", "-o", "release.json", cwd=folder)
    assert done.status == 2
    assert "fractions, which are scores" in done.err
    assert not (folder / "release.json").exists()


@pytest.mark.parametrize("stated", [["box:decide", "--classes", "no,yes"], ["box:score", "--answer", "0,20,0.5"]])
def test_a_private_release_says_nothing_of_its_records(folder: Path, run: Run, stated: list[str]) -> None:
    make = ["explain", "make", "records.csv", "--black-box", *stated, "--takes", "pandas", "--domain", "domain.json"]
    make += ["--target", "label", "--epsilon", "1", "--partition", "public", "--max-depth", "1", "-k", "3"]
    make += ["--report", "report.html"]
    said = []
    text = (folder / "records.csv").read_text()
    one = text.splitlines()[1]
    # A column of texts that repeat looks like an identifier; a line may have a field too many, or be no UTF-8.
    for number, more in enumerate(
        (b"", b"never" + one[one.index(",") :].encode(), f"{one},1".encode(), b"\xe9,1,1,1,no", b",,,,")
    ):
        (folder / "records.csv").write_bytes(text.encode() + more + b"\n" * bool(more))
        done = run(*make, "-o", "release.json", "--overwrite", cwd=folder)
        assert done.status == 0, (number, done.err)
        said.append((done.out, done.err))
    assert len(set(said)) == 1, said
    assert "The records could not be measured" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_scores_in_a_declared_range_are_explained_by_means(folder: Path, run: Run) -> None:
    make = ["box:score" if part == "box:decide" else part for part in MAKE] + ["--target", "label", "-k", "30"]
    done = run(*make, "--answer", "0,20,0.5", "-o", "release.json", "--report", "report.html", cwd=folder)
    assert done.status == 0
    assert "of the mean of all answers, 3." in done.out
    assert "rounded to a step of 0.5" in done.out
    release = SurrogateRelease.from_json(folder / "release.json")
    assert release.answer == NumericAnswer(lo=0, hi=20, step=0.5)
    plain = json.loads(run(*make, "--answer", "0,20,.5,4", "-o", "other.json", "--json", cwd=folder).out)
    assert plain["measures"]["errors"]["r2"] > 0.7
    told = json.loads(run("explain", "verify", "release.json", "--json", cwd=folder).out)
    assert "distinct records" in " ".join(told["reveals"])
    ask = ["explain", "answer", "release.json", "--query", json.dumps(QUERY)]
    boxed = ["--black-box", "box:score", "--takes", "pandas"]
    assert "answer 5.71429, mean" in run(*ask, *boxed, cwd=folder).out
    sought = json.loads(run(*ask, "--decision", "5.7", "--at-most", "5", "--json", cwd=folder).out)
    assert all(contrast["decision"] <= 5 for contrast in sought["candidates"])
    assert "is so already" in run(*ask, "--decision", "5.7", "--at-least", "1", cwd=folder).out
    for command, message in (
        ([*ask, "--decision", "yes"], "--decision must be a number"),
        ([*ask, "--decision", "5", "--at-least", "3", "--at-most", "2"], "no answer is at least"),
        ([*make, "--answer", "0,20", "-o", "third.json"], "--answer must be three numbers"),
        ([*make, "--answer", "0,20,0", "-o", "third.json"], "--answer must divide the range"),
        ([*make, "--answer", "0,5,1", "-o", "third.json"], "in the declared range"),
    ):
        refused = run(*command, cwd=folder)
        assert refused.status == 2
        assert message in refused.err
    assert not (folder / "third.json").exists()


def test_an_array_keeps_the_names_of_the_columns(folder: Path, run: Run) -> None:
    pl.read_csv(folder / "records.csv").select("age", "hours").write_csv(folder / "two.csv")
    make = [
        "explain",
        "make",
        "two.csv",
        "--black-box",
        "box:rows",
        "--takes",
        "array",
        "-k",
        "30",
        "-o",
        "release.json",
    ]
    done = run(*make, cwd=folder)
    assert done.status == 0, done.err
    release = SurrogateRelease.from_json(folder / "release.json")
    assert release.domain.names == ("age", "hours")
    query = json.dumps({"age": 70, "hours": 20})
    told = run(
        *("explain", "answer", "release.json", "--query", query, "--black-box", "box:rows", "--takes", "array"),
        "--json",
        cwd=folder,
    )
    assert json.loads(told.out)["decision"] is True
    audited = run("audit", "release.json", "--data", "two.csv", "--json", cwd=folder)
    assert json.loads(audited.out)["measured"]["groups"]["smallest"] >= 30


def test_a_domain_that_declares_the_target_is_taken_and_tells_the_classes(folder: Path, run: Run) -> None:
    attributes = {name: DOMAIN[name] for name in DOMAIN}
    Domain({**attributes, "label": Category(("yes", "no", "later"))}).to_json(folder / "whole.json")
    make = [
        "explain",
        "make",
        "records.csv",
        "--black-box",
        "box:decide",
        "--takes",
        "pandas",
        "--domain",
        "whole.json",
    ]
    make += ["-k", "30", "--target", "label", "-o", "release.json"]
    done = run(*make, "--json", cwd=folder)
    assert done.status == 0, done.err
    release = SurrogateRelease.from_json(folder / "release.json")
    assert release.domain.names == DOMAIN.names
    assert release.classes == ("yes", "no", "later")
    assert json.loads(done.out)["measures"]["black_box_accuracy"] == 1.0
    assert "Leave --classes out" in run(*make, "--classes", "yes,no", "--overwrite", cwd=folder).err
    queries = [
        "explain",
        "make",
        "--queries",
        "300",
        "--black-box",
        "box:decide",
        "--takes",
        "pandas",
        "--domain",
        "whole.json",
    ]
    assert run(*queries, "-k", "30", "--target", "label", "-o", "queried.json", cwd=folder).status == 0
    assert SurrogateRelease.from_json(folder / "queried.json").classes == ("yes", "no", "later")


def test_classes_are_declared_by_an_option(folder: Path, run: Run) -> None:
    make = [*MAKE, "-k", "30", "-o", "release.json", "--overwrite"]
    assert run(*make, "--classes", "no,yes,maybe", cwd=folder).status == 0
    assert SurrogateRelease.from_json(folder / "release.json").classes == ("no", "yes", "maybe")
    assert "not declared as classes" in run(*make, "--classes", "no,maybe", cwd=folder).err
    make[make.index("box:decide")] = "box:numbered"
    assert run(*make, "--classes", "0,1,2", cwd=folder).status == 0
    assert SurrogateRelease.from_json(folder / "release.json").classes == (0, 1, 2)


def test_labels_in_other_words_than_the_black_box_are_an_error(folder: Path, run: Run) -> None:
    make = [*MAKE, "-k", "30", "--target", "label", "-o", "release.json"]
    make[make.index("box:decide")] = "box:numbered"
    done = run(*make, cwd=folder)
    assert done.status == 2
    assert (
        "--target uses other words than the black box: it holds texts, the black box answers with numbers" in done.err
    )
    assert not (folder / "release.json").exists()
