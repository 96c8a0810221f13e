"""Guarantees for persons on the command line: how identifiers of a file are read, and who is told of repeats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassine import Certificate, Domain, Integer, Ledger, load_model
from glassine.cli.options import RecordsFileOptions
from glassine.cli.training import TrainingFile, read_training
from glassine.learners import PrivateTreeClassifier
from glassine.privacy.unit import PrivacyUnit
from glassine.records import batches
from glassine.records.purpose import Purpose
from tests.cli.running import Run, attributes, people

FIT = (
    "fit",
    "tree",
    "visits.csv",
    "--target",
    "ill",
    "--epsilon",
    "0.5",
    "--max-depth",
    "2",
    "--domain",
    "domain.json",
)
PERSONS = (*FIT, "-o", "m.json", "--person", "patient", "--records-per-person", "2")


@pytest.fixture
def visits(folder: Path) -> Path:
    """Return a folder with records of forty patients, some of whom have many; a few records have no number."""
    frame = people().drop("id")
    names = ["" if i % 23 == 0 else f"{i % 40:03}" for i in range(len(frame))]
    frame.with_columns(patient=pl.Series(names)).write_csv(folder / "visits.csv")
    return folder


def certificate(folder: Path) -> Certificate:
    return Certificate.from_json((folder / "m.certificate.json").read_text())


def test_a_fit_for_persons_certifies_and_charges_in_that_unit(visits: Path, run: Run) -> None:
    book = ("--ledger", "persons.sqlite", "--dataset", "visits")
    made = run("ledger", "budget", "persons.sqlite", "visits", "1", "--records-per-person", "2", cwd=visits)
    assert made.status == 0, made.err
    done = run(*PERSONS, *book, cwd=visits)
    assert done.status == 0, done.err
    assert "add-or-remove-one-person. Privacy unit: person, at most 2 records each." in " ".join(done.out.split())
    assert "does not declare them" not in done.out
    counted = "but records of each person: at most 2, repeated until there are as many."
    assert counted in " ".join(done.out.split())
    audited = run("audit", "m.json", "--domain", "domain.json", cwd=visits)
    assert "records are counted as the fit weighs each person's, which may repeat them" in " ".join(audited.out.split())
    plain = run(*FIT, "-o", "plain.json", cwd=visits)
    assert "records of each person" not in " ".join(plain.out.split())
    audited = run("audit", "plain.json", "--domain", "domain.json", cwd=visits)
    assert "records are counted as" not in " ".join(audited.out.split())
    found = certificate(visits)
    assert found.unit == PrivacyUnit.person(2)
    assert found.holds
    assert load_model(visits / "m.json").attributes == ("age", "smoker")
    (entry,) = Ledger(visits / "persons.sqlite").entries("visits")
    assert (float(entry.epsilon), entry.unit) == (0.5, PrivacyUnit.person(2))
    # A fit for records is refused on that budget.
    refused = run(*FIT, "-o", "other.json", *book, cwd=visits)
    assert refused.status == 2
    assert "person, at most 2 records each" in refused.err
    assert not (visits / "other.json").exists()


def test_json_states_the_unit(visits: Path, run: Run) -> None:
    done = run(*PERSONS, "--json", cwd=visits)
    assert done.status == 0, done.err
    plain = json.loads(done.out)
    assert plain["certificate"]["unit"] == "person, at most 2 records each"
    assert plain["model"]["guarantee"]["records_per_person"] == 2
    assert plain["left_out"] == []


def test_a_page_speaks_of_persons_where_the_unit_is_one(visits: Path, run: Run) -> None:
    assert run(*PERSONS, "--report", "r.html", cwd=visits).status == 0
    page = (visits / "r.html").read_text()
    for said in ("person, at most 2 records each", "all records of one person", "Revealed about one person"):
        assert said in page
    assert run(*FIT, "-o", "m.json", "--report", "r.html", "--overwrite", cwd=visits).status == 0
    page = (visits / "r.html").read_text()
    assert "Revealed about one record" in page
    assert "Privacy unit" in page
    assert "one person, at most" not in page


def test_the_command_fits_what_python_fits(visits: Path, run: Run) -> None:
    done = run(*PERSONS, "--seed", "3", cwd=visits)
    assert done.status == 0, done.err
    frame = pl.read_csv(visits / "visits.csv", schema_overrides={"patient": pl.String})
    domain = Domain.read(visits / "domain.json")
    tree = PrivateTreeClassifier(2, epsilon=0.5, domain=domain, records_per_person=2, random_state=3)
    assert load_model(visits / "m.json") == tree.fit(frame, "ill", persons="patient").model_


def whose(records: Any) -> list[Any]:
    columns: list[Any] = [batch["patient"] for batch in batches(records, ("patient",))]
    return [value for column in columns for value in column.to_list()]


def test_identifiers_of_a_file_are_read_as_they_are_written(visits: Path) -> None:
    domain = Domain.read(visits / "domain.json")
    written = ["1", "01", "1.0", " 1", "NA", "", "9007199254740993", "9007199254740992", "x"]
    frame = people(len(written)).drop("id").with_columns(patient=pl.Series(written))
    few = TrainingFile(path=visits / "few.csv", written=RecordsFileOptions(), person="patient")
    for stop in (len(written), len(written) - 1):
        frame[:stop].write_csv(visits / "few.csv")
        read = whose(read_training(few, Purpose.PRIVATE, "ill", domain, None).frame)
        # A blank behind a separator is no part of a value.
        expected = [None if text in ("NA", "") else text.lstrip() for text in written]
        assert read == expected[:stop]
    # What the domain says of the column does not matter either.
    declared = Domain({**attributes(), "patient": Integer(0, 10)})
    read = whose(read_training(few, Purpose.PRIVATE, "ill", declared, None).frame)
    assert read[:3] == ["1", "01", "1.0"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--person", "patient"), "--person needs --records-per-person: how many records of one person count."),
        (("--person", "patient"), "The largest number in the data is private."),
        (("--records-per-person", "2"), "--records-per-person 2 needs --person: whose record each is."),
        (
            ("--person", "patient", "--records-per-person", "2", "--ledger", "none.sqlite", "--dataset", "visits"),
            "glassine ledger budget none.sqlite visits EPSILON --records-per-person 2, with --delta D",
        ),
        (("--person", "patinet", "--records-per-person", "2"), "--person names 'patinet', which is not a column"),
        (("--person", "patient", "--records-per-person", "0"), "--records-per-person must be a whole number"),
        (("--person", "ill", "--records-per-person", "2"), "is the target"),
    ],
)
def test_half_of_a_guarantee_for_persons_is_refused(visits: Path, run: Run, given: tuple[str, ...], said: str) -> None:
    done = run(*FIT, "-o", "m.json", *given, cwd=visits)
    assert done.status == 2
    assert said in done.err
    assert not (visits / "m.json").exists()


@pytest.mark.parametrize("model", ["tree", "greedy-rule-list"])
def test_a_model_without_privacy_takes_no_persons(visits: Path, run: Run, model: str) -> None:
    where = ("fit", model, "visits.csv", "--target", "ill", "--domain", "domain.json", "-o", "m.json", "--not-private")
    done = run(*where, "--person", "patient", "--records-per-person", "2", cwd=visits)
    assert done.status == 2
    assert "does not apply" in done.err


def test_a_fit_remarks_on_a_declared_identifier_whatever_it_holds(visits: Path, run: Run) -> None:
    Domain({**attributes(), "patient": Integer(0, 999)}).to_json(visits / "domain.json")
    said = set()
    for values in (list(range(300)), [1] * 300):
        people().drop("id").with_columns(patient=pl.Series(values)).write_csv(visits / "visits.csv")
        done = run(*FIT, "-o", "m.json", "--overwrite", cwd=visits)
        assert done.status == 0, done.err
        said.add(done.err)
    (remark,) = said
    assert "patient is named like an identifier" in remark
    assert run(*PERSONS, "--overwrite", cwd=visits).err == ""


def test_a_fit_remarks_on_an_identifier_that_is_left_out(visits: Path, run: Run) -> None:
    """The column is not in the domain, so that nothing was said of people with several records."""
    done = run(*FIT, "-o", "m.json", cwd=visits)
    assert done.status == 0, done.err
    said = " ".join(done.out.split())
    assert "Columns left out, as they are not declared by the domain: patient. patient is named like an" in said
    assert "train with --person patient and --records-per-person M, a public bound." in said


def test_a_draft_of_a_domain_tells_of_repeats(visits: Path, run: Run) -> None:
    done = run("domain", "infer", "visits.csv", cwd=visits)
    assert done.status == 0, done.err
    assert "patient: 40 different values in 286 records; up to 8 records share one." in done.err
    assert "different values" not in done.out
    unique = run("domain", "infer", "people.csv", cwd=visits)
    assert "records share one" not in unique.err


def test_an_audit_tells_the_holder_of_repeats_and_publishes_nothing_of_them(visits: Path, run: Run) -> None:
    assert run(*PERSONS, cwd=visits).status == 0
    frame = people().drop("id")
    printed = []
    for names in ([f"p{i % 40}" for i in range(300)], [f"p{i}" for i in range(300)]):
        frame.with_columns(patient=pl.Series(names)).write_csv(visits / "visits.csv")
        printed.append(run("audit", "m.json", "--domain", "domain.json", "--data", "visits.csv", cwd=visits))
    repeated, unique = printed
    assert "for the checker only: patient: 40 different values in 300 records" in repeated.err
    assert "records share one" not in unique.err
    assert "different values" not in repeated.out
