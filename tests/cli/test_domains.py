"""``glassine domain``: remarks on a draft, and what cannot be declared."""

from __future__ import annotations

import datetime
import json
import math
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassine import Binary, Category, Domain, Integer, Real, RuleList, load_model, write_model
from glassine.data import infer_domain
from glassine.domain import Attribute, OneOf
from glassine.errors import InvalidDataError
from glassine.models import Evidence, Rule
from tests.cli.running import Run

N = 60


def draft(folder: Path, run: Run, **columns: list[Any]) -> tuple[str, list[str]]:
    """Return the remarks on columns beside an ordinary one, and the names that the draft declares."""
    frame = pl.DataFrame({"age": [18 + i % 40 for i in range(N)], **columns}, strict=False)
    frame.write_parquet(folder / "people.parquet")
    done = run("domain", "infer", "people.parquet", cwd=folder)
    assert done.status == 0, done.err
    return done.err, [entry["name"] for entry in json.loads(done.out)["attributes"]]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1000 + i for i in range(N)], "60 different whole numbers in 60 records, an identifier?"),
        ([1000 + i for i in range(N - 2)] + [1000, 1001], "58 different values in 60 records"),
        ([float(i) for i in range(N - 1)] + [None], "59 different whole numbers in 59 records"),
        ([f"p{i}" for i in range(N)], "60 different values in 60 records, an identifier?"),
        ([f"2024-03-{1 + i % 28:02}" for i in range(N)], "dates, which can name people."),
        ([f"{1 + i % 28}.3.2024" for i in range(N)], "dates, which can name people."),
        ([f"2024-03-{1 + i % 28:02} 08:15:00" for i in range(N)], "dates, which can name people."),
        ([20240301 + i % 28 for i in range(N)], "dates written as numbers?"),
        ([f"came in on day {i} by bus" for i in range(N)], "free text, which can name people."),
    ],
)
def test_a_column_that_can_name_people_is_left_out_unless_it_is_included(
    tmp_path: Path, run: Run, values: list[Any], said: str
) -> None:
    err, names = draft(tmp_path, run, odd=values)
    assert f"glassine: odd: {said}" in err
    assert err.endswith("glassine: Left out of the draft. To keep them: --include=odd\n")
    assert "glassine: age" not in err
    assert names == ["age"]
    kept = run("domain", "infer", "people.parquet", "--include=odd", cwd=tmp_path)
    assert [entry["name"] for entry in json.loads(kept.out)["attributes"]] == ["age", "odd"]
    assert kept.err.endswith("glassine: To leave them out: --exclude=odd\n")


@pytest.mark.parametrize("values", [["DE"] * N, [7] * N])
def test_a_column_of_one_value_is_remarked_on_and_kept(tmp_path: Path, run: Run, values: list[Any]) -> None:
    err, names = draft(tmp_path, run, odd=values)
    assert "glassine: odd: one value only" in err
    assert err.endswith("glassine: To leave them out: --exclude=odd\n")
    assert names == ["age", "odd"]


def test_a_draft_of_nothing_but_identifiers_says_how_to_keep_one(tmp_path: Path, run: Run) -> None:
    pl.DataFrame({"my id": [1000 + i for i in range(N)]}).write_csv(tmp_path / "ids.csv")
    done = run("domain", "infer", "ids.csv", "-o", "d.json", cwd=tmp_path)
    assert done.status == 2
    assert "--include='my id'" in done.err or "--include=my id" in done.err
    assert not (tmp_path / "d.json").exists()
    assert (
        "--include names 'b', which is not a column"
        in run("domain", "infer", "ids.csv", "--include=b", cwd=tmp_path).err
    )


@pytest.mark.parametrize(
    "values",
    [
        [i % 50 for i in range(N)],
        [i + 0.5 for i in range(N)],
        [("north", "south")[i % 2] for i in range(N)],
        [("very much so indeed", "not at all, never")[i % 2] for i in range(N)],
        [i % 2 for i in range(N)],
        [19 + i % 3 for i in range(N)],
        [None] * (N - 2) + ["a", "b"],
    ],
)
def test_an_ordinary_column_is_not(tmp_path: Path, run: Run, values: list[Any]) -> None:
    err, names = draft(tmp_path, run, plain=values)
    assert err == ""
    assert names == ["age", "plain"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([None] * N, "no value at all"),
        ([datetime.date(2024, 1, 1)] * N, "Convert or drop it"),
        ([1.5, float("inf")] * (N // 2), "infinite"),
        ([[1, 2], [3]] * (N // 2), "lists or structures"),
        ([{"a": 1}] * N, "lists or structures"),
    ],
)
def test_what_cannot_be_declared_is_left_out(tmp_path: Path, run: Run, values: list[Any], said: str) -> None:
    err, names = draft(tmp_path, run, odd=values)
    assert err.startswith("glassine: odd: left out: ")
    assert said in err
    assert names == ["age"]


def test_a_column_of_lists_that_is_excluded_is_not_spoken_of(tmp_path: Path, run: Run) -> None:
    pl.DataFrame({"age": [*range(20, 40)], "visits": [[1, 2]] * 20}).write_parquet(tmp_path / "people.parquet")
    words = ("domain", "infer", "people.parquet", "-o", "d.json", "--overwrite")
    assert "visits: left out: column 'visits' holds lists" in run(*words, cwd=tmp_path).err
    done = run(*words, "--exclude", "visits", cwd=tmp_path)
    assert done.status == 0
    assert "visits" not in done.err


def test_names_for_a_shell_are_quoted(tmp_path: Path, run: Run) -> None:
    err, _ = draft(tmp_path, run, **{"my id; rm": [1000 + i for i in range(N)]})
    assert err.endswith("glassine: Left out of the draft. To keep them: '--include=my id; rm'\n")


def test_nothing_to_declare(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text("a,b\n,\n,\n")
    done = run("domain", "infer", "people.csv", "-o", "d.json", cwd=tmp_path)
    assert done.status == 2
    assert not (tmp_path / "d.json").exists()
    misspelt = run("domain", "infer", "people.csv", "--exclude", "A", cwd=tmp_path)
    assert "--exclude names 'A', which is not a column. Did you mean 'a'?" in misspelt.err


def test_one_of_a_thing_is_singular(tmp_path: Path, run: Run) -> None:
    Domain({"smoker": Binary()}).to_json(tmp_path / "one.json")
    (tmp_path / "people.csv").write_text("smoker\n1\n2\n")
    done = run("domain", "check", "one.json", "--data", "people.csv", cwd=tmp_path)
    assert done.status == 1
    assert done.out == (
        "1 attribute, 0 constraints, 2 possible records.\n"
        "smoker: 1 record lies outside the domain, which declares 0, 1.\n"
        "  numbers that are not declared: 1 (row 3)\n"
    )
    Domain({"age": Integer(3, 3)}).to_json(tmp_path / "lone.json")
    assert "1 possible record." in run("domain", "check", "lone.json", cwd=tmp_path).out


def test_records_outside_a_domain_are_listed_by_row_and_reason(tmp_path: Path, run: Run) -> None:
    attributes: dict[str, Attribute] = {
        "age": Integer(18, 99),
        "size": Real(0.0, 2.0, 0.5),
        "job": Category(("baker", "clerk")),
    }
    Domain(attributes).to_json(tmp_path / "d.json")
    rows = ["17,0.5,baker", "100,0.7,pope", "20.5,-1,clerk", ",x,clerk", *["120,2,baker"] * 12]
    (tmp_path / "people.csv").write_text("\n".join(["age,size,job", *rows]) + "\n")
    done = run("domain", "check", "d.json", "--data", "people.csv", cwd=tmp_path)
    assert done.status == 1
    assert done.out.splitlines()[1:] == [
        "age: 16 records lie outside the domain, which declares 18 to 99.",
        "  missing: 1 (row 5)",
        "  below 18: 1 (row 2)",
        "  above 99: 13 (rows 3, 6, 7, 8, 9, 10, 11, 12, 13, 14 and others)",
        "  no whole number: 1 (row 4)",
        "size: 3 records lie outside the domain, which declares 0.0 to 2.0.",
        "  texts that are no number: 1 (row 5)",
        "  below 0.0: 1 (row 4)",
        "  no multiple of 0.5 above 0.0: 1 (row 3)",
        "job: 1 record lies outside the domain, which declares 'baker', 'clerk'.",
        "  texts that are not declared: 1 (row 3)",
    ]
    for value in ("17", "100", "20.5", "0.7", "pope"):
        assert value not in done.out
    plain = json.loads(run("domain", "check", "d.json", "--data", "people.csv", "--json", cwd=tmp_path).out)
    assert plain["violations"] == {"age": 16, "size": 3, "job": 1}
    assert plain["rows"]["size"]["texts that are no number"] == [3]


def test_attributes_with_the_same_records_outside_share_a_line(tmp_path: Path, run: Run) -> None:
    Domain({name: Real(0.0, 9.0) for name in ("a", "b", "c")}).to_json(tmp_path / "d.json")
    (tmp_path / "people.csv").write_text('a,b,c\n"1,5","2,5",1\n"3,5","4,5",12\n')
    done = run("domain", "check", "d.json", "--data", "people.csv", cwd=tmp_path)
    assert done.out.splitlines()[1:] == [
        "a, b: 2 records lie outside the domain, which declares 0.0 to 9.0.",
        "  texts that are no number: 2 (rows 2, 3)",
        "c: 1 record lies outside the domain, which declares 0.0 to 9.0.",
        "  above 9.0: 1 (row 3)",
    ]


@pytest.mark.slow
def test_a_draft_takes_time_in_proportion_to_the_columns(tmp_path: Path, run: Run) -> None:
    """A generous bound: some 8 s for 8,000 columns, where one look-up for each among all takes a minute."""
    names = [f"c{i}" for i in range(8_000)]
    rows = [",".join(str((i * k) % 97) for i in range(len(names))) for k in range(1, 6)]
    (tmp_path / "wide.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    start = time.process_time()
    done = run("domain", "infer", "wide.csv", "-o", "domain.json", cwd=tmp_path)
    assert time.process_time() - start < 20
    assert done.status == 0
    assert Domain.read(tmp_path / "domain.json").names == tuple(names)


@pytest.mark.slow
def test_an_audit_counts_the_attributes_that_the_model_tests(tmp_path: Path, run: Run) -> None:
    """A generous bound: about 3 s for 100,000 attributes, where each part times all of them takes more than 50."""
    Domain({f"c{i}": Integer(0, 99) for i in range(100_000)}).to_json(tmp_path / "domain.json")
    rules = [f"if [c{i} <= {9 * i}.5] then [1] ([{20 + i} ; {30 + i}] examples)" for i in range(10)]
    (tmp_path / "rules.txt").write_text("\nelse ".join([*rules, "[0] ([20 ; 20] examples)"]) + "\n")
    start = time.process_time()
    done = run("audit", "rules.txt", "--domain", "domain.json", "--json", cwd=tmp_path)
    assert time.process_time() - start < 20
    found = json.loads(done.out)
    assert found["domain"]["n_attributes"] == 100_000
    # The first rule leaves one value of 100; the others are free.
    assert found["measured"]["parts"]["parts"][0]["bits_learned"] == pytest.approx(math.log2(100), abs=1e-3)


def test_identifiers_and_phone_numbers_of_people_with_several_records_stay_out_of_a_draft(
    tmp_path: Path, run: Run
) -> None:
    people = [(f"P{1000 + i}", 7000 + i, f"call {555000 + i}" if i % 2 else "") for i in range(60)]
    rows = [f"{key},{number},{note},{i % 3}" for i, (key, number, note) in enumerate(people * 4)]
    (tmp_path / "visits.csv").write_text("\n".join(["key,patient_id,note,x", *rows]) + "\n")
    done = run("domain", "infer", "visits.csv", cwd=tmp_path)
    assert done.status == 0, done.err
    assert [entry["name"] for entry in json.loads(done.out)["attributes"]] == ["x"]
    assert "P1000" not in done.out + done.err
    assert "555001" not in done.out + done.err
    assert "give it to audits as --person, and to fits with --records-per-person" in done.err
    kept = run("domain", "infer", "visits.csv", "--include", "key", cwd=tmp_path)
    assert [entry["name"] for entry in json.loads(kept.out)["attributes"]] == ["key", "x"]


def test_a_remark_quotes_no_word_of_a_few_records(tmp_path: Path, run: Run) -> None:
    values = [*(str(i) for i in range(60)), *["n.a."] * 10, "refused by Ms Miller"]
    (tmp_path / "visits.csv").write_text("\n".join(["size,x", *(f"{value},1.5" for value in values)]) + "\n")
    done = run("domain", "infer", "visits.csv", cwd=tmp_path)
    assert "size: numbers but for 'n.a.', 1 text of fewer than 10 records, read as texts." in done.err
    assert "Miller" not in done.err


def test_a_column_of_another_type_is_named_by_its_type_and_not_by_a_value() -> None:
    frame = pl.DataFrame({"born": [datetime.date(1954, 7, 3)] * 3})
    with pytest.raises(InvalidDataError, match="values of type date") as refused:
        infer_domain(frame)
    assert "1954" not in str(refused.value)


def test_values_that_differ_only_by_case_or_spaces_are_pointed_out(tmp_path: Path, run: Run) -> None:
    err, names = draft(tmp_path, run, sex=["F ", "f", "M", "m"] * (N // 4))
    assert "glassine: sex: 4 of its values differ from another only by case or spaces" in err
    assert names == ["age", "sex"]


def test_a_check_counts_the_records_that_a_private_fit_reads_otherwise(tmp_path: Path, run: Run) -> None:
    Domain({"age": Integer(0, 99), "note": Category(("a", "b\nc"))}).to_json(tmp_path / "domain.json")
    (tmp_path / "people.csv").write_text('age,note\n1,a\n2,"b\nc"\n3,"b\nc"\n4,a\n')
    done = run("domain", "check", "domain.json", "--data", "people.csv", cwd=tmp_path)
    assert (done.status, "reads 2 records of people.csv otherwise" in done.err) == (0, True), done.err
    assert "Parquet" in done.err
    (tmp_path / "people.csv").write_text("age,note\n1,a\n2,a\n")
    assert run("domain", "check", "domain.json", "--data", "people.csv", cwd=tmp_path).err == ""
    (tmp_path / "people.csv").write_bytes("age,note\n1,a\n".encode("utf-16"))
    done = run("domain", "check", "domain.json", "--data", "people.csv", cwd=tmp_path)
    assert (done.status, "a private fit refuses this file" in done.err) == (0, True)


def test_two_declared_texts_of_one_number_are_pointed_out(tmp_path: Path, run: Run) -> None:
    Domain({"code": Category(("01", "1", "2")), "age": Integer(0, 99)}).to_json(tmp_path / "domain.json")
    done = run("domain", "check", "domain.json", cwd=tmp_path)
    assert done.status == 0
    assert "code: `01` and `1` write one number." in done.err


@pytest.mark.parametrize("declared", [(1, 2, 3), ("1", "2", "3"), ("01", "02", "03")])
@pytest.mark.parametrize("tested", [(1, 2), ("1", "2"), ("01", 2.0)])
def test_codes_of_a_model_and_of_a_domain_are_one_value_in_every_spelling(
    tmp_path: Path, run: Run, declared: tuple[Any, ...], tested: tuple[Any, ...]
) -> None:
    rules = tuple(
        Rule(antecedent=(OneOf("code", (value,)),), evidence=Evidence(counts=counts))
        for value, counts in zip(tested, ((30, 90), (20, 70)), strict=True)
    )
    rest = Rule(antecedent=(), evidence=Evidence(counts=(300, 80)))
    write_model(
        RuleList(attributes=("code",), rules=(*rules, rest), classes=("a", "b")), tmp_path / "m.json", overwrite=True
    )
    Domain({"code": Category(declared)}).to_json(tmp_path / "domain.json")
    spellings = ["1", "2", "3"]
    pl.DataFrame({"code": [spellings[i % 3] for i in range(60)]}).write_csv(tmp_path / "records.csv")
    assert run("domain", "check", "domain.json", "--data", "records.csv", cwd=tmp_path).status == 0
    model: Any = load_model(tmp_path / "m.json", Domain({"code": Category(declared)}))
    assert [literal.values for rule in model.rules[:2] for literal in rule.antecedent] == [declared[:1], declared[1:2]]
    done = run("audit", "m.json", "--domain", "domain.json", "--data", "records.csv", "--json", cwd=tmp_path)
    assert done.status in (0, 1, 3), done.err


def test_a_draft_takes_special_codes(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text("income,job\n" + "-9,a\n3,b\n7,a\n98,b\n" * 5)
    given = ["--code", "income=-9:refused", "--code=income=98:unknown"]
    assert run("domain", "infer", "people.csv", *given, "-o", "draft.toml", cwd=tmp_path).status == 0
    assert Domain.read(tmp_path / "draft.toml")["income"] == Integer(
        3, 7, codes={-9: "refused", 98: "unknown"}, inferred=True
    )
    for wrong in ("income", "income=x:refused", "income=-9", "pay=-9:refused"):
        refused = run("domain", "infer", "people.csv", "--code", wrong, cwd=tmp_path)
        assert refused.status == 2
        assert "--code" in refused.err


def test_numbers_that_python_alone_reads_are_texts(tmp_path: Path, run: Run) -> None:
    rows = "".join(f"{i % 7},{i % 50}_000\n" for i in range(200))
    (tmp_path / "people.csv").write_text(f"x,y\n{rows}")
    done = run("domain", "infer", "people.csv", cwd=tmp_path)
    assert done.status == 0, done.err
    assert "numbers but for" not in done.err


def test_a_draft_says_which_texts_are_read_as_missing(tmp_path: Path, run: Run) -> None:
    """All but empty fields, and all but those that were stated, whose meaning nobody has to be told."""
    rows = [
        f"{30 + i % 9},{'?' if i == 5 else 'ab'[i % 2]},{'NA' if i == 7 else i % 5},{'' if i == 9 else i % 3}"
        for i in range(N)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["age,job,n,m", *rows]) + "\n")
    done = run("domain", "infer", "people.csv", cwd=tmp_path)
    assert "glassine: job: `?` is read as missing. To keep it as a value of a category, list it" in done.err
    assert "glassine: n: `NA` is read as missing." in done.err
    assert done.err.count("read as missing") == 2
    stated = run("domain", "infer", "people.csv", "--missing", "?,NA", cwd=tmp_path)
    assert "read as missing" not in stated.err
