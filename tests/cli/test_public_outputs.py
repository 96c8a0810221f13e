"""One private model, several datasets: what a command prints and writes for all to see is the same, byte for byte.

Every command that takes records is either public, and its outputs are compared, or the checker's, and its outputs are
marked as being for the checker only. A command that takes records and stands in no table fails.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer

from glassine import Category, DecisionTree, Domain, Integer, Policy
from glassine.cli import entry
from glassine.files import write_text
from glassine.formats import load_model, write_model
from glassine.learners import PrivateEBMClassifier, PrivateTreeClassifier
from glassine.report.wording import CHECKER_ONLY, NOTICES
from glassine.surrogates import SurrogateExplainer, SurrogateRelease
from tests.cli.running import Done, Run, attributes, listing, people

FITS = {"fit tree", "fit rule-list", "fit greedy-rule-list", "fit additive", "fit scorecard", "summarize"}
PUBLIC = {"audit", "scrub", "explain make"} | FITS
"""What they print and write for the public beside a private model follows from the model alone."""

HOLDERS = {"rebuild", "compare"}
"""Their purpose is to measure on records: all of it is for the holder of the data."""

NO_MODEL = {"domain infer", "domain check"}
"""They read records, but no model beside them."""

TIES = {"certificate tie", "certificate verify"}
"""They hash the file of records under the holder's key, and tell of it whether it is the same."""

DOMAIN = Domain(attributes())
BARE = Domain({name: attribute for name, attribute in attributes().items() if name != "ill"})
NAMES = ("people.csv", "clinic-of-2024.csv", "one.csv")


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def takes_records(command: Any) -> bool:
    options = {"--data", "--holdout"}
    return any(
        options & set(param.opts) or getattr(param, "metavar", None) in ("RECORDS", "[RECORDS]")
        for param in command.params
    )


def test_every_command_that_takes_records_is_decided_on() -> None:
    found = {name for name, command in commands(typer.main.get_command(entry.application())) if takes_records(command)}
    assert found == PUBLIC | HOLDERS | NO_MODEL | TIES


@pytest.fixture
def house(built: Path, tmp_path: Path) -> Path:
    """Copy the models, data and policies to a folder that a test may change."""
    return Path(shutil.copytree(built, tmp_path / "house"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make private models whose guarantees hold, three datasets, a holdout and a policy that accepts guarantees."""
    tmp_path = tmp_path_factory.mktemp("built")
    records = people()
    odd = people(150).with_columns(age=pl.col("age") + 30, smoker=1 - pl.col("smoker"), town=pl.lit("x"))
    for name, frame in zip(NAMES, (records, odd, records[:1]), strict=True):
        frame.write_csv(tmp_path / name)
    people(500)[300:].write_csv(tmp_path / "others.csv")
    DOMAIN.to_json(tmp_path / "domain.json")
    BARE.to_json(tmp_path / "bare.json")
    write_text(Policy(accept_guarantee=True).to_toml(), tmp_path / "policy.toml")
    write_text(Policy(accept_guarantee=True, max_epsilon=0.1).to_toml(), tmp_path / "strict.toml")
    X, y = records.select("age", "smoker"), records["ill"].to_numpy()
    common: dict[str, Any] = {"domain": BARE, "classes": ("no", "yes"), "random_state": 0}
    learners: dict[str, Any] = {
        "tree": PrivateTreeClassifier(2, epsilon=0.5, **common),
        "labels": PrivateTreeClassifier(2, epsilon=0.5, leaf_counts_share=0.0, **common),
        "additive": PrivateEBMClassifier(epsilon=0.5, **common),
    }
    for name, learner in learners.items():
        model = learner.fit(X, y).model_
        # The seed makes the test repeatable; without its caveat the guarantee reads as one that holds.
        write_model(
            replace(model, guarantee=replace(model.guarantee, caveats=())), tmp_path / f"{name}.json", overwrite=True
        )
    explainer = SurrogateExplainer(
        lambda frame: np.where(frame["age"].to_numpy() > 50, "yes", "no"), 20, epsilon=0.5, partition="public",
        n_cells=4, distance="gower", fixed_black_box=True, **common,
    ).fit(X)  # fmt: skip
    clean(explainer.release()).to_json(tmp_path / "release.json")
    return tmp_path


def clean(release: SurrogateRelease) -> SurrogateRelease:
    assert release.certificate is not None
    return replace(
        release,
        certificate=replace(release.certificate, caveats=(), randomness="not stated"),
        trees=tuple(
            replace(tree, guarantee=None if tree.guarantee is None else replace(tree.guarantee, caveats=()))
            for tree in release.trees
        ),
    )


def outputs(house: Path, run: Run, *arguments: str) -> tuple[int, str, dict[str, bytes]]:
    """Return exit status, standard output and the public files of a run, which are then removed."""
    before = set(listing(house))
    done = run(*arguments, cwd=house)
    assert done.status in (0, 1, 2), done.err
    assert "Traceback" not in done.err
    written = {name: data for name, data in listing(house).items() if name not in before}
    for name in written:
        (house / name).unlink()
    return done.status, done.out, written


def same(house: Path, run: Run, ways: list[list[str]], *arguments: str) -> tuple[int, str, dict[str, bytes]]:
    """Return the outputs of a command, which must be the same in all ways of giving records."""
    found = [outputs(house, run, *arguments, *way) for way in ways]
    for way, other in zip(ways[1:], found[1:], strict=True):
        assert other == found[0], way
    status, out, written = found[0]
    assert status in (0, 1, 2)
    assert out or written
    for name in (*NAMES, "others.csv"):
        assert name not in out
        assert all(name.encode() not in data for data in written.values())
    return found[0]


RECORDS: list[list[str]] = [
    [],
    *(["--data", name] for name in NAMES),
    *(["--data", name, "--target", "ill"] for name in NAMES[:2]),
    ["--data", NAMES[0], "--target", "ill", "--holdout", "others.csv"],
    ["--data", NAMES[1], "--target", "ill", "--holdout", NAMES[0]],
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "policy"),
    [
        ("tree", "policy.toml"),
        ("tree", "strict.toml"),
        ("labels", "strict.toml"),
        ("additive", "policy.toml"),
    ],
)
def test_an_audit_is_the_same_whatever_the_data_are(model: str, policy: str, house: Path, run: Run) -> None:
    fixed = ["audit", f"{model}.json", "--domain", "bare.json", "--policy", policy, "--audience", "public"]
    for form in ([], ["--json"], ["-o", "report.html"], ["-o", "report.json"], ["-o", "report.txt"]):
        status, _, written = same(house, run, RECORDS, *fixed, *form)
        assert status == (1 if policy == "strict.toml" else 0)
        assert len(written) == (form[:1] == ["-o"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
def test_an_audit_without_a_domain_or_with_a_sensitive_column_is_the_same(house: Path, run: Run) -> None:
    status, out, _ = same(
        house, run, RECORDS, "audit", "tree.json", "--policy", "policy.toml", "--json", "--audience", "public"
    )
    # With --json that is the whole report, and no common refusal.
    assert (status, json.loads(out)["verdict"]) == (0, "within policy")
    ways = [["--data", name] for name in NAMES]
    fixed = ["audit", "tree.json", "--domain", "bare.json", "--policy", "policy.toml", "--audience", "public", "--json"]
    status, out, _ = same(house, run, ways, *fixed, "--sensitive", "ill", "--quasi", "age", "--quasi", "smoker")
    assert (status, json.loads(out)["verdict"]) == (0, "within policy")


@pytest.mark.slow
def test_the_audit_of_a_private_release_is_the_same(house: Path, run: Run) -> None:
    for form in ([], ["--json"], ["-o", "report.html"], ["-o", "report.json"], ["-o", "report.txt"]):
        status, _, _ = same(
            house, run, RECORDS, "audit", "release.json", "--policy", "policy.toml", "--audience", "public", *form
        )
        assert status == 0


@pytest.mark.slow
@pytest.mark.parametrize("model", ["tree", "additive"])
def test_a_scrubbed_copy_is_the_same(model: str, house: Path, run: Run) -> None:
    fixed = ["scrub", f"{model}.json", "--domain", "bare.json", "--policy", "policy.toml", "-o", "copy.json"]
    fixed += ["--audience", "public"]
    ways = [[], *(["--data", name] for name in NAMES), *(["--data", name, "--target", "ill"] for name in NAMES[:2])]
    for more in ([], ["--json"], ["--report", "report.html"], ["--smallest-leaf", "20"] if model == "tree" else []):
        _, _, written = same(house, run, ways, *fixed, *more)
        assert "copy.json" in written
    refused = outputs(house, run, "scrub", "labels.json", *fixed[2:], "--smallest-leaf", "20", "--data", NAMES[0])
    assert refused[0] == 2


@pytest.mark.parametrize("odd", [",,,", "many,many,many,x", "18,,no,"])
def test_a_record_that_cannot_be_measured_changes_no_output(odd: str, house: Path, run: Run) -> None:
    frame = pl.read_csv(house / NAMES[0]).select("age", "smoker", "ill")
    lines = frame.with_row_index("patient").select("age", "smoker", "ill", "patient").write_csv().splitlines()
    files = [["--data", "plain.csv"], ["--data", "odd.csv"]]
    (house / "plain.csv").write_text("\n".join(lines) + "\n")
    (house / "odd.csv").write_text("\n".join([*lines, odd]) + "\n")
    given = ["--domain", "domain.json", "--policy", "policy.toml", "--target", "ill", "--audience", "public"]
    for model in ("tree", "additive"):
        same(house, run, files, "scrub", f"{model}.json", *given, "-o", "copy.json", "--report", "report.html")
        same(house, run, files, "audit", f"{model}.json", *given, "--person", "patient", "-o", "report.json")
    checked = run(
        "audit", "tree.json", *given[:-2], "--data", "odd.csv", "--person", "patient", "-o", "report.txt", cwd=house
    )
    assert checked.status == 0
    told = " ".join((house / "report.txt").read_text().split())
    assert "could not be measured" in told or "outside the domain" in told


@pytest.mark.parametrize("odd", ["1,2", "1,2,no,u1,7,8", "\x00,5,no,u1", "18,1,no,"])
@pytest.mark.parametrize("way", [["--audience", "public", "--json"], ["--ci", "github"], ["--audience", "public"]])
def test_a_line_that_cannot_be_read_changes_nothing_that_a_pipeline_sees(
    odd: str, way: list[str], house: Path, run: Run
) -> None:
    """Status, both streams and the copy: a fit reads such a line, so that a refusal would say that it is there."""
    frame = pl.read_csv(house / NAMES[0]).select("age", "smoker", "ill")
    lines = frame.with_row_index("patient").select("age", "smoker", "ill", "patient").write_csv().splitlines()
    (house / "plain.csv").write_text("\n".join(lines) + "\n")
    (house / "odd.csv").write_text("\n".join([*lines, odd]) + "\n")
    given = ["--domain", "domain.json", "--policy", "policy.toml", "--target", "ill", "--person", "patient"]
    audited, copied = ([("audit", "tree.json", *way)], [("scrub", "tree.json", "-o", "copy.json", *way)])
    for command in audited if way[0] == "--ci" else [*audited, *copied]:
        seen = []
        for name in ("plain.csv", "odd.csv"):
            done = run(*command, *given, "--data", name, cwd=house)
            copy = house / "copy.json"
            seen.append((done.status, done.out, done.err, copy.read_bytes() if copy.exists() else b""))
            copy.unlink(missing_ok=True)
        assert seen[0] == seen[1]
        assert seen[0][0] == 0


def test_what_a_header_shows_is_refused_before_records_are_opened(house: Path, run: Run) -> None:
    fixed = ["audit", "tree.json", "--domain", "bare.json", "--policy", "policy.toml", "--audience", "public"]
    for wrong, said in (
        (["--data", "nowhere.csv"], "cannot read nowhere.csv"),
        (["--data", NAMES[0], "--target", "sick"], "--target names 'sick', which is not a column"),
        (["--data", NAMES[0], "--person", "who"], "--person names 'who', which is not a column"),
        (["--data", NAMES[0], "--sensitive", "secret"], "--sensitive names 'secret'"),
    ):
        done = run(*fixed, *wrong, cwd=house)
        assert (done.status, done.out) == (2, "")
        assert said in done.err


@pytest.mark.slow
def test_what_the_data_add_stands_in_the_report_for_the_checker(house: Path, run: Run) -> None:
    given = ["--data", NAMES[1], "--target", "ill", "--holdout", "others.csv"]
    fixed = ["audit", "tree.json", "--domain", "bare.json", "--policy", "policy.toml"]
    alone = run(*fixed, cwd=house)
    pages = {}
    for ending in ("html", "txt", "json"):
        done = run(*fixed, *given, "-o", f"report.{ending}", cwd=house)
        assert done.status == alone.status == 0
        pages[ending] = (house / f"report.{ending}").read_text()
    assert all(NOTICES["checker"][:30] in pages[ending] for ending in ("html", "txt"))
    assert pages["txt"].startswith(NOTICES["checker"])
    assert "What the records add (checker only)" in pages["txt"]
    assert "Membership inference" in pages["html"]
    plain = json.loads(pages["json"])
    assert next(iter(plain)) == "audience"
    assert plain["audience"] == plain["holder"]["audience"] == "checker"
    assert plain["measured"]["membership"]["status"] == "not applicable"
    assert plain["holder"]["measured"]["membership"]["status"] == "measured"
    assert any("outside the domain" in note for note in plain["holder"]["notes"])
    assert {entry["role"]: entry["sha256"] is None for entry in plain["holder"]["inputs"]} == {
        "model": False, "domain": False, "policy": False, "data": True, "holdout": True,
    }  # fmt: skip
    assert {entry["role"] for entry in plain["inputs"]} == {"model", "domain", "policy"}
    scrubbed = run("scrub", *fixed[1:], "-o", "copy.json", "--data", NAMES[0], "--target", "ill", cwd=house)
    assert "Accuracy on the data before" in scrubbed.out.replace("\n    ", " ")


@pytest.mark.slow
def test_what_is_measured_on_records_alone_has_no_public_report(house: Path, run: Run) -> None:
    """Whatever the records are: the refusal does not depend on them."""
    fixed = ["audit", "tree.json", "--domain", "bare.json", "--only", "membership", "--target", "ill"]
    for policy in ([], ["--policy", "policy.toml"]):
        for name in NAMES[:2]:
            done = run(*fixed, *policy, "--data", name, "--holdout", "others.csv", "--audience", "public", cwd=house)
            assert done.status == 2
            assert "membership is measured on records, which is for the checker only" in done.err
            assert not done.out


def test_the_report_of_a_private_fit_is_that_of_its_model(house: Path, run: Run) -> None:
    for name in NAMES[:2]:
        fit = ["fit", "tree", name, "--target", "ill", "--domain", "domain.json", "--epsilon", "0.5", "--seed", "1"]
        fit += ["--policy", "policy.toml", "-o", "own.json", "--report", "fit.json", "--overwrite", "--json"]
        done = run(*fit, cwd=house)
        assert done.status == 0, done.err
        assert json.loads(done.out)["error_rate"] is None
        run(
            "audit",
            "own.json",
            "--domain",
            "bare.json",
            "--policy",
            "policy.toml",
            "-o",
            "again.json",
            "--overwrite",
            cwd=house,
        )

        # What the other command would take is named with that command.
        texts = (
            (house / file).read_text().replace("glassine audit ... --", "--") for file in ("fit.json", "again.json")
        )
        own, again = map(json.loads, texts)
        assert {entry["role"] for entry in own["inputs"]} == {"model", "domain", "policy"}
        for plain in (own, again):
            # The trainer is advised how to train again, another reader what to ask for.
            del plain["inputs"], plain["advice"], plain["requests"], plain["policies"]
        assert own == again


BOX = """
def decide(frame):
    return ["yes" if age > 50 else "no" for age in frame["age"].to_list()]
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
def test_the_report_of_private_explanations_is_that_of_their_release(
    house: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (house / "decider.py").write_text(BOX)
    monkeypatch.syspath_prepend(str(house))
    said, fixed = [], ["--black-box", "decider:decide", "--domain", "bare.json", "--epsilon", "0.5"]
    fixed += ["--classes", "no,yes"]
    fixed += ["--partition", "public", "--seed", "1", "-o", "own.json", "--report", "own.txt", "--overwrite"]
    public = ["--audience", "public"]
    for name in NAMES[:2]:
        make = ["explain", "make", name, *fixed]
        done = run(*make, *public, "--json", cwd=house)
        assert done.status == 0, done.err
        assert json.loads(done.out)["measures"] is None
        run("audit", "own.json", *public, "-o", "again.txt", "--overwrite", cwd=house)
        own, again = ((house / file).read_text() for file in ("own.txt", "again.txt"))
        assert own == again
        said.append(run(*make, cwd=house).out)
        # What the records add stands in the checker's report, and in nothing that is printed.
        assert "What the records add (checker only)" in (house / "own.txt").read_text()
    assert said[0] == said[1]


def marked(house: Path, run: Run, *arguments: str, report: bool = True, status: int = 0) -> None:
    """Check that everything a command prints and writes says that it is for the holder of the data only."""
    text = run(*arguments, cwd=house)
    assert text.status == status, text.err
    assert text.out.startswith(CHECKER_ONLY)
    assert json.loads(run(*arguments, "--json", cwd=house).out)["audience"] == "checker"
    for ending in ("html", "txt", "json") if report else ():
        run(*arguments, "-o", f"out.{ending}", "--overwrite", cwd=house)
        page = (house / f"out.{ending}").read_text()
        assert CHECKER_ONLY in page if ending != "json" else json.loads(page)["audience"] == "checker"
        assert all(name not in page or ending != "txt" for name in NAMES)


@pytest.fixture
def published(house: Path) -> Path:
    """Add a tree with exact counts."""
    from sklearn.tree import DecisionTreeClassifier

    from glassine import as_model

    records = people()
    X = records.select("age", "smoker").to_pandas()
    grown = as_model(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, records["ill"].to_numpy()))
    write_model(grown, house / "plain.json", overwrite=True)
    return house


@pytest.mark.slow
def test_commands_that_measure_on_records_mark_all_that_they_write(published: Path, run: Run) -> None:
    sides = ["--data", NAMES[0], "--holdout", "others.csv", "--target", "ill"]
    # A claim that the policy does not accept leaves the verdict open.
    for model, status in (("plain.json", 0), ("tree.json", 3)):
        marked(published, run, "audit", model, "--only", "membership", *sides, status=status)
        disclosed = ["audit", model, "--only", "disclosure", "--data", NAMES[0], "--sensitive", "ill"]
        marked(published, run, *disclosed, "--no-internal-nodes", status=status)
    marked(published, run, "compare", NAMES[0], "--target", "ill", "--domain", "domain.json", "--models",
           "cart,constant", "--splits", "2")  # fmt: skip
    rows = ["rebuild", "plain.json", "--domain", "bare.json", "--data", NAMES[0]]
    marked(published, run, *rows, report=False)
    run(*rows, "--count-from-data", "-o", "rows.csv", cwd=published)
    assert set(pl.read_csv(published / "rows.csv")["audience"]) == {"checker"}
    alone = run(*rows[:-2], cwd=published)
    assert CHECKER_ONLY not in alone.out
    run(*rows[:-2], "-o", "rows.csv", "--overwrite", cwd=published)
    assert "audience" not in pl.read_csv(published / "rows.csv").columns


def test_rebuilding_a_private_model_takes_nothing_from_the_data(house: Path, run: Run) -> None:
    def told(*more: str) -> tuple[int, str]:
        done: Done = run("rebuild", "tree.json", "--domain", "bare.json", *more, cwd=house)
        return done.status, done.out.removeprefix(CHECKER_ONLY).strip()

    for more in ([], ["--no-rows"], ["--count-from-data"]):
        assert len({told("--data", name, *more) for name in NAMES[:2]}) == 1, more


def test_a_tie_tells_of_records_whether_they_are_the_same(house: Path, run: Run) -> None:
    records = people()
    learner = PrivateTreeClassifier(2, epsilon=0.5, domain=BARE, classes=("no", "yes"), random_state=0)
    learner.fit(records.select("age", "smoker"), records["ill"].to_numpy())
    write_model(learner.model_, house / "tree.json", overwrite=True)
    write_text(json.dumps(learner.certificate_.to_dict()), house / "own.json")
    key = ("--tie-key", "key.txt")
    told = []
    for name in NAMES:
        done = run("certificate", "tie", "tree.json", name, "-o", "tie.json", *key, "--overwrite", cwd=house)
        assert (done.status, "for the holder of the data only" in done.err) == (0, True), done.err
        tie = json.loads((house / "tie.json").read_text())
        told.append((done.out, {field: len(str(value)) for field, value in tie.items()}))
        assert name not in str(tie)
    assert told[0] == told[1] == told[2]
    verify = ("certificate", "verify", "tree.json", "own.json", "--tie", "tie.json", *key)
    wrong = [run(*verify, "--data", name, cwd=house) for name in NAMES[:2]]
    assert wrong[0] == wrong[1]
    assert wrong[0].status == 1
    right = run(*verify, "--data", NAMES[2], cwd=house)
    assert [line for line in right.out.splitlines() if line not in wrong[0].out] == [
        "[pass] records: The model is tied to these records."
    ]


def test_the_models_of_the_house_are_private_and_hold(house: Path) -> None:
    model = load_model(house / "tree.json", BARE)
    assert isinstance(model, DecisionTree)
    assert model.guarantee is not None
    assert model.guarantee.holds
    assert isinstance(DOMAIN["ill"], Category)
    assert isinstance(DOMAIN["age"], Integer)
