"""Files of records as people have them: encodings, separators, headers, gaps and numbers, in every command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassine import Category, Domain, Integer, Real, parse_rules, write_model
from glassine.domain import Attribute
from tests.cli.running import Run, attributes, people

HEADER = ("age", "income", "town")
ROWS = (("34", "1.5", "Köln"), ("58", "2.25", "Bonn"), ("41", "3.5", "Köln"), ("62", "0.5", "Aachen"))


def text(separator: str = ",", comma: bool = False) -> str:
    """Return the records as text."""
    lines = [HEADER, *((age, income.replace(".", ",") if comma else income, town) for age, income, town in ROWS)]
    return "".join(separator.join(line) + "\n" for line in lines)


def drafted(run: Run, path: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Return the attributes of the domain that is drafted from a file."""
    done = run("domain", "infer", path.name, *options, cwd=path.parent)
    assert done.status == 0, done.err
    return {attribute["name"]: attribute for attribute in json.loads(done.out)["attributes"]}


PLAIN = {
    "age": {"name": "age", "type": "integer", "lo": 34, "hi": 62, "inferred": True},
    "income": {"name": "income", "type": "real", "lo": 0.5, "hi": 3.5, "resolution": 0.01, "inferred": True},
    "town": {"name": "town", "type": "category", "values": ["Aachen", "Bonn", "Köln"], "inferred": True},
}

FILES: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "UTF-8": (text().encode(), ()),
    "UTF-8 with a mark": (text().encode("utf-8-sig"), ()),
    "Unicode text of Excel": (text("\t").replace("\n", "\r\n").encode("utf-16"), ()),
    "UTF-16 the other way round": (b"\xfe\xff" + text("\t").encode("utf-16-be"), ()),
    "UTF-16 without a mark": (text().encode("utf-16-le"), ()),
    "UTF-32 without a mark": (text().encode("utf-32-le"), ()),
    "UTF-32 without a mark, the other way round": (text().encode("utf-32-be"), ()),
    "Latin-1": (text().encode("latin-1"), ()),
    "a code page that is stated": (text().encode("cp437"), ("--encoding", "cp437")),
    "semicolons": (text(";").encode(), ()),
    "tabs": (text("\t").encode(), ()),
    "bars": (text("|").encode(), ()),
    "a separator that is stated": (text("~").encode(), ("--separator", "~")),
    "a separator in words": (text("\t").encode(), ("--separator", "tab")),
    "a first line for Excel": (b"sep=;\r\n" + text(";").encode(), ()),
    "decimal commas": (text(";", comma=True).encode(), ("--decimal-comma",)),
    "empty lines at the end": (text().encode() + b"\n\n", ()),
}


@pytest.mark.parametrize("kind", FILES)
def test_the_same_records_give_the_same_domain_however_they_are_written(kind: str, tmp_path: Path, run: Run) -> None:
    data, options = FILES[kind]
    (tmp_path / "people.csv").write_bytes(data)
    assert drafted(run, tmp_path / "people.csv", *options) == PLAIN


def test_an_encoding_that_is_assumed_is_named(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_bytes(text().encode("latin-1"))
    assert "windows-1252" in run("domain", "infer", "people.csv", cwd=tmp_path).err
    (tmp_path / "people.csv").write_bytes(text().encode())
    assert "windows" not in run("domain", "infer", "people.csv", cwd=tmp_path).err


@pytest.mark.parametrize("first", ["34,1.5,Köln", "34;1,5;Köln", "1990-01-31,Anna", "Köln,female,34", "58\tBonn"])
def test_a_file_without_a_header_is_refused_and_no_value_is_quoted(first: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text(f"{first}\n{first}\n")
    done = run("domain", "infer", "people.csv", "-o", "domain.json", cwd=tmp_path)
    assert done.status == 2
    assert "header" in done.err
    assert not any(value in done.err for value in re.split("[,;\t]", first) if len(value) > 1)
    assert not (tmp_path / "domain.json").exists()


def test_a_first_line_of_words_that_recur_in_their_columns_is_no_header(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text("male,Bonn\nfemale,Bonn\nmale,Aachen\n")
    done = run("domain", "infer", "people.csv", cwd=tmp_path)
    assert done.status == 2
    assert "seems to have no header" in done.err
    assert "Bonn" not in done.err


def test_names_that_look_like_values_are_names_if_that_is_stated(tmp_path: Path, run: Run) -> None:
    (tmp_path / "sales.csv").write_text("town,2019,2020\nBonn,3,4\nKöln,5,6\n")
    assert run("domain", "infer", "sales.csv", cwd=tmp_path).status == 2
    assert list(drafted(run, tmp_path / "sales.csv", "--header")) == ["town", "2019", "2020"]


@pytest.mark.parametrize("command", ["audit", "fit", "check"])
def test_names_of_a_file_without_a_header_are_quoted_nowhere(command: str, folder: Path, run: Run) -> None:
    lines = (folder / "people.csv").read_text().splitlines()[1:]
    words_only = ["Alice,Bonn,female,sick", *lines]
    (folder / "people.csv").write_text("\n".join(words_only) + "\n")
    write_tree(folder)
    words = {
        "audit": ("audit", "tree.json", "--domain", "domain.json", "--data", "people.csv", "--target", "ill"),
        "fit": ("fit", "tree", "people.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "1", "-o", "m"),
        "check": ("domain", "check", "domain.json", "--data", "people.csv"),
    }
    done = run(*words[command], cwd=folder)
    assert done.status == 2
    assert "none of the columns that the domain declares" in done.err
    assert "Alice" not in done.err


def write_tree(folder: Path) -> None:
    """Write a tree of the records."""
    from sklearn.tree import DecisionTreeClassifier

    from glassine.formats import as_model, write_model

    frame = people()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame["age", "smoker"], frame["ill"])
    write_model(as_model(tree, Domain(attributes()).restrict(["age", "smoker"])), folder / "tree.json", overwrite=True)


def test_several_separators_in_the_header_are_asked_about(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text("age;income, net\n34;1\n58;2\n")
    done = run("domain", "infer", "people.csv", cwd=tmp_path)
    assert done.status == 2
    assert "State the --separator." in done.err
    assert list(drafted(run, tmp_path / "people.csv", "--separator=;")) == ["age", "income, net"]


def test_the_domain_decides_between_several_separators(tmp_path: Path, run: Run) -> None:
    Domain({"age": Integer(0, 99), "income, net": Integer(0, 9)}).to_json(tmp_path / "domain.json")
    (tmp_path / "people.csv").write_text("age;income, net\n34;1\n58;2\n")
    done = run("domain", "check", "domain.json", "--data", "people.csv", cwd=tmp_path)
    assert (done.status, "All 2 records fit the domain." in done.out) == (0, True), done.err


def test_quoted_marks_in_the_header_are_no_separators(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text('"age;in\tyears","the ""net"" income"\n34,1\n58,2\n')
    assert list(drafted(run, tmp_path / "people.csv")) == ["age;in\tyears", 'the "net" income']


@pytest.mark.parametrize("separator", ["", "ab", '"', "\n", "é"])
def test_a_separator_is_one_character(separator: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text(text())
    done = run("domain", "infer", "people.csv", f"--separator={separator}", cwd=tmp_path)
    assert done.status == 2
    assert "--separator must be one character" in done.err


@pytest.mark.parametrize("encoding", ["utf-9", "hex", ""])
def test_an_encoding_is_one_of_texts(encoding: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text(text())
    done = run("domain", "infer", "people.csv", f"--encoding={encoding}", cwd=tmp_path)
    assert done.status == 2
    assert "--encoding must name an encoding" in done.err


def test_bytes_that_a_stated_encoding_does_not_know_are_refused_by_line(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_bytes(text().encode("latin-1"))
    done = run("domain", "infer", "people.csv", "--encoding", "utf-8", cwd=tmp_path)
    assert done.status == 2
    assert "line 2 of people.csv is no text in the encoding utf-8" in done.err


def test_texts_that_stand_for_missing_values_are_stated(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text("age,town\n34,N\n-9,Bonn\nunknown,Bonn\n")
    found = drafted(run, tmp_path / "people.csv", "--missing", "N,-9,unknown")
    assert found["age"] == {"name": "age", "type": "integer", "lo": 34, "hi": 34, "missing": True, "inferred": True}
    assert found["town"]["values"] == ["Bonn"]
    frame = pl.DataFrame({"age": [34, -9, 40], "town": ["N", "Bonn", None]})
    frame.write_parquet(tmp_path / "people.parquet")
    found = drafted(run, tmp_path / "people.parquet", "--missing", "N,-9")
    assert (found["age"]["lo"], found["age"]["missing"], found["town"]["values"]) == (34, True, ["Bonn"])


def test_texts_may_stand_for_missing_values_of_one_column_or_of_those_that_begin_alike(
    tmp_path: Path, run: Run
) -> None:
    frame = pl.DataFrame({"rooms": [3, 99, 5], "q1": [1, 99, 2], "q2": [99, 1, 2], "flat, net": [99, 98, 50]})
    frame.write_csv(tmp_path / "people.csv")
    frame.write_parquet(tmp_path / "people.parquet")
    for name in ("people.csv", "people.parquet"):
        found = drafted(run, tmp_path / name, '--missing=q*=99,"flat, net=98"')
        assert (found["rooms"]["hi"], found["q1"]["hi"], found["q2"]["hi"]) == (99, 2, 2)
        assert (found["flat, net"]["lo"], found["flat, net"]["hi"]) == (50, 99)
        assert [name for name in found if "missing" in found[name]] == ["q1", "q2", "flat, net"]
        done = run("domain", "infer", name, "--missing=room=99", cwd=tmp_path)
        assert (done.status, done.out) == (2, "")
        assert f"--missing names 'room', which is not a column of {name}. Check its spelling." in done.err


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (("8.970,28", "12.345.678,5", "1,5"), [8970.28, 12345678.5, 1.5]),
        (("8.970", "12", "1.234.567"), [8970, 12, 1234567]),
        (("8 970,5", "8\u00a0970,5", "8\u202f970,5", "8'970,5"), [8970.5] * 4),
        # Points of any other kind are decimal, and a column of both kinds is not one of numbers.
        (("1.234", "1.5"), [1.234, 1.5]),
        (("1,234", "1.5"), ["1,234", "1.5"]),
        (("12.34.567", "1,5"), ["12.34.567", "1,5"]),
    ],
)
def test_thousands_are_read_with_decimal_commas(values: tuple[str, ...], read: list[Any], tmp_path: Path) -> None:
    from glassine.data.sources import read_table
    from glassine.records.headers import CsvDialect, RecordsFile
    from glassine.records.purpose import Purpose

    (tmp_path / "people.csv").write_text("x;y\n" + "".join(f"{value};1\n" for value in values))
    comma = CsvDialect(decimal_comma=True)
    people = RecordsFile(path=tmp_path / "people.csv", dialect=comma)
    assert read_table(people, Purpose.ORDINARY).frame["x"].to_list() == read
    # A declared number is read independently of the others.
    domain = Domain({"x": Real(0, 1e9, missing=True)})
    (tmp_path / "one.csv").write_text("x;y\n8.970,28;1\n")
    (tmp_path / "two.csv").write_text("x;y\n8.970,28;1\n1.5;1\nnone;1\n")
    for name in ("one.csv", "two.csv"):
        file = RecordsFile(path=tmp_path / name, dialect=comma)
        first = read_table(file, Purpose.ORDINARY, domain).frame["x"][0]
        assert float(first) == 8970.28


def test_numbers_with_commas_that_may_separate_thousands_are_not_said_to_be_decimal(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text('income,x\n"1,234.50",1\n"12,345",2\n900,3\n')
    done = run("domain", "infer", "people.csv", cwd=tmp_path)
    assert "income: numbers with commas before three digits, read as texts. If they separate thousands" in done.err


@pytest.mark.parametrize("codes", [["01067", "20095"], ["00", "7"]])
def test_whole_numbers_that_begin_with_0_are_codes_and_stay_as_written(
    codes: list[str], tmp_path: Path, run: Run
) -> None:
    (tmp_path / "people.csv").write_text("town,x\n" + "".join(f"{code},{i}\n" for i, code in enumerate(codes * 30)))
    assert drafted(run, tmp_path / "people.csv")["town"]["values"] == sorted(codes)
    done = run("domain", "infer", "people.csv", cwd=tmp_path)
    assert "town: whole numbers that begin with 0, such as postcodes, kept as texts. Declare" in done.err
    # Who declares a number gets one.
    Domain({"town": Integer(0, 99_999)}).to_json(tmp_path / "domain.json")
    assert run("domain", "check", "domain.json", "--data", "people.csv", cwd=tmp_path).status == 0


def test_codes_of_many_people_that_begin_with_0_are_left_out_of_a_draft(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text("town,x\n" + "".join(f"{i:05},{i % 7}\n" for i in range(201)))
    done = run("domain", "infer", "people.csv", cwd=tmp_path)
    assert "201 different values, an identifier? Leave it out" in done.err
    assert [entry["name"] for entry in json.loads(done.out)["attributes"]] == ["x"]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([*range(18, 90), *[-9] * 10], "-9"),
        ([1, 2, 3, 4, 5] * 20 + [99] * 10, "99"),
        ([1.5, 2.5, 3.5] * 20 + [-1.0] * 10, "-1"),
        ([1, 2, 3, 4, 5] * 20 + [9] * 10, "9"),
        ([0, 1, 2, 3, 4, 5, 6, 7] * 20 + [9] * 10, "9"),
        ([*range(12)] * 10 + [88] * 10, "88"),
        # A scale without a gap, and amounts.
        ([1, 2, 3, 4, 5, 6] * 20 + [7] * 10, None),
        ([1, 2, 4, 5] * 20 + [8] * 10, None),
        ([1, 2, 3, 4, 5, 6, 7, 8] * 20, None),
        # Too few to quote, within the others, and no code of a survey.
        ([1, 2, 3, 4, 5] * 20 + [99] * 9, None),
        ([*range(20, 180), *[99] * 10], None),
        ([1, 2, 3] * 20 + [50] * 10, None),
        ([-12, 5, 20] * 20 + [-9] * 10, None),
    ],
)
def test_numbers_that_look_like_codes_for_missing_values_are_pointed_out(
    values: list[float], code: str | None, tmp_path: Path, run: Run
) -> None:
    pl.DataFrame({"x": values, "y": [0, 1] * (len(values) // 2) + [0] * (len(values) % 2)}).write_csv(
        tmp_path / "people.csv"
    )
    said = run("domain", "infer", "people.csv", cwd=tmp_path).err
    assert (f"--missing=COLUMN={code}." in said) == (code is not None), said
    assert ("COLUMN=" in said) == (code is not None)


def test_a_check_says_how_a_file_outside_its_domain_may_be_read(tmp_path: Path, run: Run) -> None:
    Domain({"x": Real(0, 9), "y": Integer(0, 5, missing=True)}).to_json(tmp_path / "domain.json")
    rows = "".join(f"{i % 9},{i % 7};{99 if i % 3 else i % 5}\n" for i in range(60))
    (tmp_path / "people.csv").write_text("x;y\n" + rows)
    done = run("domain", "check", "domain.json", "--data", "people.csv", cwd=tmp_path)
    assert (done.status, "x: numbers with decimal commas" in done.err, "COLUMN=99" in done.err) == (1, True, True)
    read = ("--decimal-comma", "--missing=y=99")
    done = run("domain", "check", "domain.json", "--data", "people.csv", *read, cwd=tmp_path)
    assert (done.status, done.err) == (0, "")


def test_a_text_that_the_domain_declares_is_not_missing(tmp_path: Path, run: Run) -> None:
    Domain({"age": Integer(0, 99, missing=True), "vote": Category(("N", "Y"))}).to_json(tmp_path / "domain.json")
    (tmp_path / "people.csv").write_text("age,vote\nN,N\n34,Y\n")
    check = ("domain", "check", "domain.json", "--data", "people.csv")
    assert run(*check, cwd=tmp_path).status == 1
    done = run(*check, "--missing", "N", cwd=tmp_path)
    assert done.status == 0, done.out


def test_decimal_commas_that_are_read_as_texts_are_pointed_out(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text(text(";", comma=True))
    done = run("domain", "infer", "people.csv", cwd=tmp_path)
    assert done.status == 0
    assert "income: numbers with decimal commas" in done.err
    assert "--decimal-comma" in done.err


def test_decimal_commas_beside_words_are_pointed_out_once_for_all_columns(tmp_path: Path, run: Run) -> None:
    values = [f"{i},{i % 7}" for i in range(60)] * 2 + ["n.a."] * 10
    lines = [";".join([value] * 12) for value in values]
    (tmp_path / "people.csv").write_text("\n".join([";".join(f"v{i}" for i in range(12)), *lines]) + "\n")
    done = run("domain", "infer", "people.csv", cwd=tmp_path)
    named = ", ".join(f"v{i}" for i in range(10))
    assert (
        f"glassine: {named} and 2 more: numbers with decimal commas but for 'n.a.', read as texts. "
        "Read the file with --decimal-comma, and state the words in --missing, or declare a number by hand."
    ) in done.err
    assert "identify people" not in done.err, "numbers with a fraction are no identifiers"
    after = run("domain", "infer", "people.csv", "--decimal-comma", "--missing", "n.a.", cwd=tmp_path)
    assert "decimal commas" not in after.err


@pytest.mark.parametrize(
    ("separator", "options", "asked"), [(";", (), True), (";", ("--decimal-comma",), False), (",", (), False)]
)
def test_a_private_fit_asks_about_decimal_commas_by_the_header_alone(
    separator: str, options: tuple[str, ...], asked: bool, tmp_path: Path, run: Run
) -> None:
    Domain(
        {"age": Integer(0, 100), "income": Real(0, 9, thresholds=(1, 2)), "town": Category(("Bonn", "Köln"))}
    ).to_json(tmp_path / "domain.json")
    said = set()
    # Its answer may not follow from a record: fractions with points, with commas, whole numbers, none.
    for number in ("1.5", "1,5" if separator == ";" else "x", "2", ""):
        (tmp_path / "p.csv").write_text(
            "\n".join([separator.join(HEADER), *[f"34{separator}{number}{separator}Bonn"] * 20])
        )
        fit = (
            "fit",
            "tree",
            "p.csv",
            "--target",
            "town",
            "--domain",
            "domain.json",
            "--epsilon",
            "1",
            "--max-depth",
            "1",
        )
        done = run(*fit, *options, "-o", "m.json", "--overwrite", cwd=tmp_path)
        assert done.status == 0, done.err
        said.add(done.err)
    assert said == ({ASKED} if asked else {""})


ASKED = (
    "glassine: p.csv has semicolons between its columns, as files with decimal commas do. If income may hold numbers "
    "such as 1,5, give --decimal-comma: without it they count as missing.\n"
)


def test_declared_numbers_are_read_with_decimal_commas_one_by_one(tmp_path: Path, run: Run) -> None:
    domain: dict[str, Attribute] = {
        "income": Real(0.0, 9.0),
        "size": Category((0.5, 1.5)),
        "code": Category(("1,5", "2,5")),
    }
    Domain(domain).to_json(tmp_path / "domain.json")
    (tmp_path / "people.csv").write_text("income;size;code\n1,5;0,5;1,5\n2;1,5;2,5\n")
    check = ("domain", "check", "domain.json", "--data", "people.csv")
    assert run(*check, cwd=tmp_path).status == 1
    done = run(*check, "--decimal-comma", cwd=tmp_path)
    assert done.status == 0, done.out


@pytest.mark.parametrize("number", [2**63, 2**64, 10**30, 10**60])
def test_whole_numbers_beyond_64_bits_are_read_and_stay_different(number: int, tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text(f"account,x\n{number},1\n{number + 1},2\n5,3\n")
    done = run("domain", "infer", "people.csv", "--include", "account", cwd=tmp_path)
    assert done.status == 0, done.err
    assert "account: whole numbers beyond 64 bits" in done.err
    assert json.loads(done.out)["attributes"][0]["values"] == sorted(["5", str(number), str(number + 1)])


def test_whole_numbers_of_128_bits_in_a_frame_are_read() -> None:
    from glassine.data import infer_domain

    frame = pl.DataFrame({"x": pl.Series([2**70, 5], dtype=pl.Int128)})
    assert infer_domain(frame)["x"] == Integer(5, 2**70, inferred=True)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1,2,3", "line 5 has 3 fields, and the header has 2"),
        ("1", "line 5 has 1 field, and the header has 2"),
        ('1,"2', "the quotes of line 5 are malformed"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_by_its_line(row: str, said: str, tmp_path: Path, run: Run) -> None:
    # The name and the third line break theirs, so that lines are not rows.
    (tmp_path / "people.csv").write_text(f'"the\nage",town\n34,"Kö\nln"\n{row}\n58,Bonn\n')
    done = run("compare", "people.csv", "--target", "town", "--models", "constant", cwd=tmp_path)
    assert done.status == 2
    assert said in done.err
    assert "Köln" not in done.err


ODD_LINES = {
    "too many fields": (b"34,no,sick,x", "more or fewer fields"),
    "too few fields": (b"no,sick", "more or fewer fields"),
    "a comment": (b"# exported by hand", "more or fewer fields"),
    "the end of a file of DOS": (b"\x1a", "more or fewer fields"),
    "a quote that is not closed": (b'34,"no,sick', "malformed quotes"),
    "text behind a quote": (b'34,"n"o,sick', "malformed quotes"),
    "bytes of another encoding": (b"34,\xe9,sick", "bytes that are no text in the encoding"),
}


def with_line(folder: Path, line: bytes, at: int) -> None:
    """Write records of which one line is another; the mark states the encoding."""
    lines = people().select("age", "smoker", "ill").write_csv().encode().splitlines()
    (folder / "odd.csv").write_bytes(b"\xef\xbb\xbf" + b"\n".join([*lines[:at], line, *lines[at:]]) + b"\n")


@pytest.mark.parametrize("kind", ODD_LINES)
def test_an_audit_counts_lines_that_are_not_as_the_header_says_and_decides_nothing(
    kind: str, folder: Path, run: Run
) -> None:
    line, why = ODD_LINES[kind]
    rules = parse_rules("classes: [sick] [well]\nif [smoker] then [sick]\nelse [well]", Domain(attributes()))
    write_model(rules, folder / "tree.json", overwrite=True)
    with_line(folder, line, 7)
    words = ("audit", "tree.json", "--domain", "domain.json", "--data", "odd.csv", "--target", "ill")
    assert run(*(word.replace("odd", "people") for word in words), cwd=folder).status == 0
    done = run(*words, cwd=folder)
    assert (done.status, "INCONCLUSIVE" in done.out) == (3, True), done.err
    flat = " ".join(done.out.split())
    assert f"fewer than 10 records lie outside what its header says: {why}." in flat
    assert "1. Mend the lines of the file that are not as its header says. To list their rows: `glassine domain" in flat
    # Where the record is stays with whoever has the file.
    assert not re.search(r"\b(row|line) \d", done.out + done.err)
    silent = run(*words, "--audience", "public", cwd=folder)
    assert not re.search(r"\b(row|line) \d", silent.out + silent.err)
    assert silent.status == 3


@pytest.mark.parametrize("kind", ODD_LINES)
def test_a_check_names_the_rows_of_such_lines_and_a_draft_leaves_them_out(kind: str, folder: Path, run: Run) -> None:
    line, why = ODD_LINES[kind]
    with_line(folder, line, 7)
    Domain(attributes()).restrict(["age", "smoker", "ill"]).to_json(folder / "three.json")
    done = run("domain", "check", "three.json", "--data", "odd.csv", cwd=folder)
    assert done.status == 1
    assert f"lines of the file: 1 record lies outside what its header says.\n  {why}: 1 (row 8)" in done.out
    found = drafted(run, folder / "odd.csv")
    (folder / "odd.csv").write_text(people().select("age", "smoker", "ill").write_csv())
    assert found == drafted(run, folder / "odd.csv")


def test_a_holdout_leaves_such_lines_out_and_says_so_to_the_checker_alone(folder: Path, run: Run) -> None:
    write_tree(folder)
    with_line(folder, b"1,2,3,4", 3)
    words = ("audit", "tree.json", "--domain", "domain.json", "--data", "people.csv", "--target", "ill")
    done = run(*words, "--holdout", "odd.csv", cwd=folder)
    assert "for the checker only: left out of the holdout, as their lines have more or fewer fields: row 4" in done.err
    assert "row 4" not in run(*words, "--holdout", "odd.csv", "--audience", "public", cwd=folder).err


@pytest.mark.parametrize("command", ["infer", "check", "audit"])
def test_a_file_of_which_no_line_is_as_the_header_says_is_refused_for_its_header(
    command: str, folder: Path, run: Run
) -> None:
    """As R writes row names without a name for their column."""
    write_tree(folder)
    head, *lines = people().write_csv().splitlines()
    (folder / "odd.csv").write_text("\n".join([head, *(f"{i},{line}" for i, line in enumerate(lines))]))
    words = {
        "infer": ("domain", "infer", "odd.csv"),
        "check": ("domain", "check", "domain.json", "--data", "odd.csv"),
        "audit": ("audit", "tree.json", "--domain", "domain.json", "--data", "odd.csv", "--target", "ill"),
    }
    done = run(*words[command], cwd=folder)
    n, width = len(lines), len(head.split(","))
    assert done.status == 2
    assert f"{n:,} of its {n:,} lines have {width + 1} fields, and the header has {width}." in done.err
    assert "Let the first line name each column" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("form", ["blanks around names", "separators at the end of lines", "separators everywhere"])
def test_what_has_one_meaning_is_read_by_every_command(form: str, folder: Path, run: Run) -> None:
    write_tree(folder)
    head, *lines = people().write_csv().splitlines()
    if form == "blanks around names":
        head = head.replace(",", " ,  ") + " "
    else:
        head, lines = head + ",, " * (form == "separators everywhere"), [f"{line},," for line in lines]
    (folder / "others.csv").write_text("\n".join([head, *lines]) + "\n")
    fit = ("--target", "ill", "--domain", "domain.json", "--epsilon", "1", "--seed", "0", "--json")
    commands: dict[str, Callable[[str], tuple[str, ...]]] = {
        "audit": lambda path: ("audit", "tree.json", "--domain", "domain.json", "--data", path, "--target", "ill"),
        "check": lambda path: ("domain", "check", "domain.json", "--data", path, "--json"),
        "infer": lambda path: ("domain", "infer", path),
        "fit": lambda path: ("fit", "tree", path, *fit, "-o", "fitted.json", "--overwrite"),
    }
    for name, words in commands.items():
        plain, other = run(*words("people.csv"), cwd=folder), run(*words("others.csv"), cwd=folder)
        assert (plain.status, name) == (other.status, name), other.err
        assert plain.out.replace("people.csv", "X") == other.out.replace("others.csv", "X"), name


@pytest.mark.parametrize("command", ["infer", "check", "summarize"])
@pytest.mark.parametrize(
    "head", [b"sep=\xe9", b'sep="', b"sep=\0", b"", b" , ", b'"age,smoker,ill', b"age,smoker,smoker,ill"]
)
def test_a_header_that_names_no_columns_is_refused_in_a_sentence(
    head: bytes, command: str, folder: Path, run: Run
) -> None:
    (folder / "odd.csv").write_bytes(head + b"\n" + people().write_csv().encode())
    words = {
        "infer": ("domain", "infer", "odd.csv"),
        "check": ("domain", "check", "domain.json", "--data", "odd.csv"),
        "summarize": (
            "summarize",
            "odd.csv",
            "--target",
            "ill",
            "--domain",
            "domain.json",
            "--epsilon",
            "1",
            "-o",
            "s",
        ),
    }
    done = run(*words[command], cwd=folder)
    assert (done.status, "Traceback" in done.err) == (2, False)
    assert "odd.csv" in done.err


def test_two_names_that_differ_in_blanks_keep_them_and_others_do_not(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text("age ,age, town ,\n34,1,Bonn,\n58,2,Bonn,\n34,2,Aachen,\n")
    assert list(drafted(run, tmp_path / "people.csv")) == ["age ", "age", "town"]


def test_a_name_that_is_declared_with_its_blanks_keeps_them(tmp_path: Path, run: Run) -> None:
    Domain({"age ": Integer(0, 99), "age": Integer(0, 9)}).to_json(tmp_path / "domain.json")
    (tmp_path / "people.csv").write_text("age ,age\n34,1\n58,2\n")
    done = run("domain", "check", "domain.json", "--data", "people.csv", cwd=tmp_path)
    assert (done.status, "All 2 records fit the domain." in done.out) == (0, True), done.err


FORMS: dict[str, Callable[[pl.DataFrame], tuple[bytes, tuple[str, ...]]]] = {
    "semicolons and commas": lambda frame: (
        frame.with_columns(age=pl.col("age").cast(pl.Float64)).write_csv(separator=";").replace(".0;", ",0;").encode(),
        ("--decimal-comma",),
    ),
    "Unicode text": lambda frame: (frame.write_csv(separator="\t").encode("utf-16"), ()),
    "gaps of another name": lambda frame: (frame.write_csv(separator="|").encode(), ("--missing", "none,-1")),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_every_command_reads_such_files_as_the_plain_one(form: str, folder: Path, run: Run) -> None:
    write_tree(folder)
    data, options = FORMS[form](people())
    (folder / "other.csv").write_bytes(data)
    tree, domain = "tree.json", ("--domain", "domain.json")
    fit = ("--target", "ill", *domain, "--epsilon", "1", "--seed", "0", "--max-depth", "2")
    commands: dict[str, Callable[[str], tuple[str, ...]]] = {
        "audit": lambda path: ("audit", tree, *domain, "--data", path, "--target", "ill", "--json"),
        "scrub": lambda path: ("scrub", tree, *domain, "--data", path, "--target", "ill", "-o", f"{path}.s", "--json"),
        "check": lambda path: ("domain", "check", "domain.json", "--data", path, "--json"),
        "rebuild": lambda path: ("rebuild", tree, *domain, "--data", path, "--no-rows", "--json"),
        "fit": lambda path: ("fit", "tree", path, *fit, "-o", f"{path}.json", "--json"),
    }
    for name, words in commands.items():
        plain = run(*words("people.csv"), cwd=folder)
        other = run(*words("other.csv"), *options, cwd=folder)
        if (form, name) == ("Unicode text", "fit"):
            # Its lines cannot be read alone, which follows from its first bytes.
            assert (other.status, "utf-16-le" in other.err, "save it as UTF-8" in other.err) == (2, True, True)
            continue
        assert (plain.status, name) == (other.status, name), other.err
        assert other.status != 2, other.err
        # Advice says how the file is read.
        how = f" {'='.join(options)}"
        assert (bool(options) and name == "audit") <= (how in other.out)
        assert re.sub("people.csv", "other.csv", plain.out) == other.out.replace(how, "" if options else how), name


def test_a_comparison_says_how_the_file_is_read_where_it_says_what_to_fit(folder: Path, run: Run) -> None:
    (folder / "people.csv").write_bytes(people().write_csv(separator="~").encode())
    words = ("compare", "people.csv", "--target", "ill", "--domain", "domain.json", "--separator", "~")
    done = run(*words, "--models", "greedy-rule-list,constant", "--splits", "1", "--epsilon", "5", "--json", cwd=folder)
    assert done.status == 0, done.err
    chosen = json.loads(done.out)["recommendation"]["chosen"]
    assert chosen is None or "--separator=~" in chosen["command"].replace("'", "")


# Private fits.


def test_columns_of_a_file_without_a_header_are_named(tmp_path: Path, run: Run) -> None:
    Domain({"age": Integer(0, 99), "pay": Category(("<=50K", ">50K"))}).to_json(tmp_path / "domain.json")
    (tmp_path / "raw.data").write_text("39, <=50K\n50, >50K\n\n" * 30)
    done = run("domain", "infer", "raw.data", cwd=tmp_path)
    assert (done.status, "--names" in done.err) == (2, True)
    done = run("domain", "infer", "raw.data", "--names", "age,pay", cwd=tmp_path)
    assert (done.status, '"<=50K"' in done.out) == (0, True), done.err
    words = ("--target", "pay", "--domain", "domain.json", "--epsilon", "5", "--max-depth", "1", "--seed", "0")
    done = run("fit", "tree", "raw.data", "--names", "age,pay", *words, "-o", "m.json", cwd=tmp_path)
    assert (done.status, done.err) == (0, "")


def fitted(run: Run, folder: Path, data: bytes) -> Any:
    (folder / "odd.csv").write_bytes(data)
    words = ("fit", "tree", "odd.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "1", "--seed", "0")
    done = run(*words, "--max-depth", "2", "-o", "odd.json", "--overwrite", cwd=folder)
    assert done.status == 0, done.err
    return done.err, json.loads((folder / "odd.json").read_text())


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(
    "row",
    [
        b"\n",
        b"9,30,1,\xe4\n",
        b"9;30;1;yes\n",
        b"9\t30\t1\tyes\n",
        b"9,30,1,yes,;;;;\n",
        b"9\n",
        "9,30,1,名\n".encode(),
        b"99999999999999999999999,30,1,yes\n",
        b'9,"3,5",1,yes\n',
    ],
)
def test_one_record_of_a_private_fit_changes_how_no_other_is_read(row: bytes, first: bool, folder: Path) -> None:
    from glassine.data.sources import read_table
    from glassine.records.headers import RecordsFile
    from glassine.records.purpose import Purpose

    plain = (folder / "people.csv").read_bytes()
    domain = Domain(attributes())
    names, _, rows = plain.partition(b"\n")
    n_odd = int(row != b"\n")
    (folder / "odd.csv").write_bytes(names + b"\n" + (row + rows if first else rows + b"9,30,1,yes\n" + row + rows))
    before = read_table(RecordsFile(path=folder / "people.csv"), Purpose.PRIVATE, domain).frame
    after = read_table(RecordsFile(path=folder / "odd.csv"), Purpose.PRIVATE, domain).frame
    from glassine.records.reading import read_settled

    one, other = (read_settled(frame, domain) for frame in (before, after))
    for name in domain:
        others = other.array(name).tolist()
        assert one.array(name).tolist() == (others[n_odd:] if first else others[: len(before)])
    # An empty line of several columns is no record.
    assert len(after) == n_odd + (0 if first else 1 + len(before)) + len(before)


def test_nothing_is_said_of_the_encoding_of_a_private_fit(folder: Path, run: Run) -> None:
    plain = (folder / "people.csv").read_bytes()
    said, _ = fitted(run, folder, plain)
    assert fitted(run, folder, plain + b"9,30,1,\xe4\n")[0] == said


def test_records_beyond_the_memory_limit_are_refused_and_the_option_is_named(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "long.parquet"
    pl.select(pl.repeat(0, 2_000_000, dtype=pl.Int64).alias("a")).write_parquet(path)
    done = run("domain", "infer", str(path), "--memory-limit", "1e6", cwd=tmp_path)
    assert done.status == 2
    assert "take 64 MB in memory, more than --memory-limit 1 MB. Raise the limit." in done.err
    assert run("domain", "infer", str(path), "-o", "d.json", cwd=tmp_path).status == 0


def test_whole_numbers_that_a_parquet_file_keeps_as_texts_are_said_to_be_so(tmp_path: Path, run: Run) -> None:
    pl.DataFrame({"y": ["0", "1", "7"] * 20, "x": range(60)}).write_parquet(tmp_path / "people.parquet")
    done = run("domain", "infer", "people.parquet", cwd=tmp_path)
    assert "y: whole numbers kept as texts. Declare an integer" in done.err
