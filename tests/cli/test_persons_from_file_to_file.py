"""A guarantee per person from the records to the report: every private model that the command line fits."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pytest

from glassine import Binary, Category, Certificate, Domain, Integer, Ledger, Real
from glassine.domain.attributes import Attribute
from glassine.privacy.unit import PrivacyUnit
from glassine.sealed import persons
from glassine.sealed.persons import CountedPersons
from tests.cli.running import Run, listing

Kept: TypeAlias = dict[bytes | None, Counter[Hashable]]
"""How often each record of each person counts."""

MOST = 2
PUBLIC: dict[str, Attribute] = {"age": Integer(18, 89, thresholds=(30, 50, 70)), "smoker": Binary()}
COMMANDS: dict[str, tuple[str, ...]] = {
    "tree": ("fit", "tree", "--max-depth", "2"),
    "rule list": ("fit", "rule-list", "--max-rules", "2"),
    "greedy rule list": ("fit", "greedy-rule-list", "--max-rules", "2"),
    "additive": ("fit", "additive"),
    "scorecard": ("fit", "scorecard"),
    "tree of numbers": ("fit", "tree", "--max-depth", "2"),
    "additive of numbers": ("fit", "additive"),
    "summary": ("summarize",),
}
ONE_IN_MANY = [name for name in COMMANDS if name not in ("rule list", "scorecard", "summary")]
"""One model of each way to read and count the records."""


def records(n: int = 300) -> pl.DataFrame:
    """Return visits of sixty people, one of whom has forty; some visits are nobody's."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.integers(18, 90, n), "smoker": rng.integers(0, 2, n)})
    ill = (pl.col("age") > 50) & (pl.col("smoker") == 1)
    names = ["" if i % 23 == 0 else "zebra-00" if i % 7 == 0 else f"zebra-{i % 60:02}" for i in range(n)]
    return frame.with_columns(
        ill=pl.when(ill).then(pl.lit("yes")).otherwise(pl.lit("no")),
        cost=pl.col("age") + 0.5,
        patient=pl.Series(names),
    )


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Return a folder with visits, their domains, a policy that accepts guarantees, and a ledger for persons."""
    records().write_csv(tmp_path / "visits.csv")
    Domain({**PUBLIC, "ill": Category(("no", "yes"))}).to_json(tmp_path / "ill.json")
    Domain({**PUBLIC, "cost": Real(0, 100)}).to_json(tmp_path / "cost.json")
    (tmp_path / "accept.toml").write_text("accept_guarantee = true\n")
    Ledger(tmp_path / "budget.sqlite").budget("visits", 3, 1e-5, unit=PrivacyUnit.person(MOST))
    return tmp_path


def command(name: str, data: str = "visits.csv", output: str = "m.json") -> tuple[str, ...]:
    first, *options = COMMANDS[name]
    model = options[:1] if first == "fit" else []
    target = "cost" if "numbers" in name else "ill"
    read = (data, "--target", target, "--domain", f"{target}.json", "--epsilon", "1", "-o", output)
    return (first, *model, *read, *options[len(model) :])


def by_person(most: int = MOST) -> tuple[str, ...]:
    return ("--person", "patient", "--records-per-person", str(most))


PAID = ("--ledger", "budget.sqlite", "--dataset", "visits")


@pytest.mark.parametrize("name", COMMANDS)
def test_unit_claim_and_charge_agree_from_the_records_to_the_report(name: str, visits: Path, run: Run) -> None:
    before = set(listing(visits))
    done = run(*command(name), *by_person(), *PAID, cwd=visits)
    assert done.status == 0, done.err
    book = Ledger(visits / "budget.sqlite")
    (entry,) = book.entries("visits")
    if name == "summary":
        assert run("fit", "tree", "--summary", "m.json", "-o", "tree.json", cwd=visits).status == 0
    model = "tree.json" if name == "summary" else "m.json"
    certificate = Certificate.from_json((visits / model.replace(".json", ".certificate.json")).read_text())
    assert certificate.unit == entry.unit == PrivacyUnit.person(MOST)
    assert (certificate.neighboring, certificate.holds) == ("add-or-remove-one-person", True)
    assert (certificate.epsilon, certificate.delta) == (float(entry.epsilon), float(entry.delta))
    assert float(entry.epsilon) == 1.0
    ledger = () if name == "summary" else ("--ledger", "budget.sqlite")
    verified = run(
        "certificate", "verify", model, model.replace(".json", ".certificate.json"), *ledger, "--json", cwd=visits
    )
    assert verified.status == 0, verified.out
    assert f"one person, at most {MOST} records each" in verified.out
    target = "cost" if "numbers" in name else "ill"
    judged = ("audit", model, "--domain", f"{target}.json", "--policy", "accept.toml")
    published = run(*judged, "--audience", "public", "-o", "r.html", cwd=visits)
    assert published.status == 0, published.out
    assert f"person, at most {MOST} records each" in (visits / "r.html").read_text()
    # For the checker people are counted, where every record has one; the status follows from the guarantee alone.
    unmeasured = run(*judged, "--data", "visits.csv", "--target", target, "--person", "patient", cwd=visits)
    assert (unmeasured.status, unmeasured.err) == (0, "")
    assert "14 of 300 records of the data have no identifier" in " ".join(unmeasured.out.split())
    records().filter(pl.col("patient") != "").write_csv(visits / "of_persons.csv")
    checked = run(*judged, "--data", "of_persons.csv", "--target", target, "--person", "patient", "--json", cwd=visits)
    assert checked.status == 0, checked.err
    found = json.loads(checked.out)
    assert found["guarantee"]["unit"] == f"person, at most {MOST} records each"
    assert "people" in json.dumps(found["holder"])
    written = {file: text for file, text in listing(visits).items() if file not in before | {"of_persons.csv"}}
    assert {"m.json", "r.html"} <= set(written)
    for file, text in (*written.items(), ("budget.sqlite", (visits / "budget.sqlite").read_bytes())):
        assert b"zebra" not in text, file
        assert file == "budget.sqlite" or b"patient" not in text, file
    assert "zebra" not in done.out + done.err


@pytest.mark.parametrize("unit", [(), by_person(MOST + 1), by_person(1)])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_budget_of_persons_pays_for_no_other_unit(name: str, unit: tuple[str, ...], visits: Path, run: Run) -> None:
    done = run(*command(name), *unit, *PAID, cwd=visits)
    assert done.status == 2
    assert f"person, at most {MOST} records each" in done.err
    assert Ledger(visits / "budget.sqlite").entries("visits") == ()
    assert not (visits / "m.json").exists()


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Kept]:
    """Note which records of whom each fit counts."""
    honest = CountedPersons.times
    out: list[Kept] = []

    def times(whose: CountedPersons, columns: Any, labels: Any) -> Any:
        found = honest(whose, columns, labels)
        rows = zip(*(columns.array(name).tolist() for name in columns.names), labels.tolist(), strict=True)
        counted: Kept = {}
        for key, row, number in zip(whose.identifiers, rows, found.tolist(), strict=True):
            counted.setdefault(key, Counter())[row] += number
        out.append(counted)
        return found

    monkeypatch.setattr(CountedPersons, "times", times)
    return out


def differing(kept: list[Kept]) -> set[bytes | None]:
    """Return of whom two fits count other records."""
    first, second = kept
    return {key for key in first.keys() | second.keys() if first.get(key) != second.get(key)}


@pytest.mark.parametrize("name", ONE_IN_MANY)
def test_without_one_person_the_same_records_of_all_others_count(
    name: str, visits: Path, run: Run, kept: list[Kept]
) -> None:
    records().filter(pl.col("patient") != "zebra-00").write_csv(visits / "others.csv")
    for data in ("visits.csv", "others.csv"):
        done = run(*command(name, data, f"{data}.json"), *by_person(), cwd=visits)
        assert done.status == 0, done.err
    assert differing(kept) == {b"tzebra-00"}
    for counted in kept:
        # Everybody counts as much, however many visits they have; nobody's visits do not count.
        assert {sum(rows.values()) for key, rows in counted.items() if key is not None} == {MOST}
        assert sum(counted[None].values()) == 0


def test_a_pick_that_looks_at_others_would_be_seen(
    visits: Path, run: Run, kept: list[Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest: Callable[..., Any] = persons._ranks
    monkeypatch.setattr(persons, "_ranks", lambda who, keys, rows: honest(who, keys ^ np.uint64(len(who)), rows))
    records().filter(pl.col("patient") != "zebra-00").write_csv(visits / "others.csv")
    for data in ("visits.csv", "others.csv"):
        assert run(*command("tree", data, f"{data}.json"), *by_person(), cwd=visits).status == 0
    assert differing(kept) > {b"tzebra-00"}


@pytest.mark.parametrize("name", ONE_IN_MANY)
def test_files_that_say_the_same_of_every_person_give_the_same_model(name: str, visits: Path, run: Run) -> None:
    numbered = records().with_columns(patient=pl.col("patient").str.replace("zebra-0?", ""))
    numbered.write_csv(visits / "visits.csv")
    # The same visits in another order, a number with a point, and more visits of nobody: missing in several ways.
    nobody = numbered.head(6).with_columns(patient=pl.Series(["NA", "", " ", "  ", "", "NA"]))
    pointed = pl.when(pl.col("age") % 2 == 0).then(pl.col("patient").str.replace("^7$", "7.0")).otherwise("patient")
    shuffled = numbered.sample(fraction=1.0, shuffle=True, seed=3).with_columns(patient=pointed)
    pl.concat([nobody, shuffled]).write_csv(visits / "other.csv")
    for data in ("visits.csv", "other.csv"):
        done = run(*command(name, data, f"{data}.json"), *by_person(), "--seed", "1", cwd=visits)
        assert done.status == 0, done.err
    assert (visits / "visits.csv.json").read_bytes() == (visits / "other.csv.json").read_bytes()


def test_other_spellings_are_other_persons_and_the_checker_is_warned(visits: Path, run: Run, kept: list[Kept]) -> None:
    spelled = ["7", "7.0", "007", " 7", "7 ", "p7", "P7", "p 7", "q"]
    records(8 * len(spelled)).with_columns(patient=pl.Series(spelled * 8)).write_csv(visits / "visits.csv")
    done = run(*command("tree"), *by_person(), cwd=visits)
    assert done.status == 0
    assert done.err == ""
    # 7, 7.0 and 7 behind a blank after the separator are one person; the other spellings have one each.
    assert len(kept[0]) == len(spelled) - 2
    warned = "5 of them differ from another only by case, spaces, Unicode form or zeros around a number"
    assert warned not in done.out
    drafted = run("domain", "infer", "visits.csv", cwd=visits)
    assert warned in drafted.err
    assert warned not in drafted.out
    for judged in (
        ("audit", "m.json", "--domain", "ill.json", "--data", "visits.csv", "--target", "ill"),
        ("scrub", "m.json", "--domain", "ill.json", "--data", "visits.csv", "--target", "ill", "-o", "s.json"),
    ):
        looked = run(*judged, "--person", "patient", cwd=visits)
        assert f"for the checker only: patient: {warned}" in looked.err
        assert warned not in looked.out
