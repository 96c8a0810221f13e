"""Domains as people write them: TOML with comments, code books, forms to fill in, JSON with a line an attribute."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine import Binary, Category, Domain, Integer, Real
from glassine.domain import AtMostOne, Between, Combinations, Implies, Intervals, Literal, OneOf, Prefix
from glassine.domain.domain import from_dict, schema, to_text
from glassine.domain.forms import form_of_literals, read_codebook, to_toml, toml_of
from glassine.errors import InvalidDomainError, UnreadableFileError

WHOLE = Domain(
    {
        "age": Integer(18, 99, thresholds=(24.5, 39.5)),
        "the bill, in €": Real(0.0, 500.0, resolution=0.01, missing=True),
        'say "hi"\\': Category(tuple(f"code {i}" for i in range(60))),
        "mixed": Category(("1", 2, 0.5, True), hierarchy=((0.5, 2), ("1", 0.5, 2))),
        "icd": Category(("E10", Prefix("E"), Prefix("F")), hierarchy=(("E10", Prefix("E")),)),
        **{name: Binary() for name in ("a", "b", "c", "d", "e", "f")},
    },
    groups=[
        Implies(("a", "b")),
        AtMostOne(("c", "d")),
        Intervals(0, 72, {"e": (None, 12), "f": (13, 36)}),
        Combinations(("a", "c"), ((0, 1), (1, 0))),
    ],
)


def test_a_domain_in_toml_reads_back(tmp_path: Path) -> None:
    text = to_toml(WHOLE, {"age": ["in years", "two\nlines"]})
    assert "# in years\n# two\n# lines\n" in text
    (tmp_path / "domain.toml").write_text(text)
    assert Domain.read(tmp_path / "domain.toml") == WHOLE


def test_a_domain_in_json_has_a_line_for_each_attribute_and_reads_back() -> None:
    text = to_text(WHOLE)
    assert from_dict(json.loads(text)) == WHOLE
    jsonschema.validate(json.loads(text), schema())
    assert text.count("\n") < 40
    assert max(map(len, text.splitlines())) <= 120
    assert '    {"name": "a", "type": "binary"},\n' in text


@given(st.lists(st.text(min_size=1), min_size=1, max_size=40, unique=True), st.text(min_size=1))
def test_any_names_and_values_read_back(values: list[str], name: str) -> None:
    try:
        name.encode(), "".join(values).encode()
    except UnicodeEncodeError:
        return
    domain = Domain({name: Category(tuple(values))})
    plain = tomllib.loads(to_toml(domain))["attributes"][name]
    # Codes in a row are written as a run, which no values of this test are but by chance.
    assert "codes" in plain or plain == {"type": "category", "values": values}
    assert from_dict(json.loads(to_text(domain))) == domain


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "is not valid TOML"),
        ('schema = "glassine.domain/1"', "a table for each attribute"),
        ('schema = "glassine.domain/1"\n[attributes]\nage = 3', "a table for each attribute"),
        (
            'schema = "glassine.domain/1"\n[attributes.age]\ntype = "integer"\nlo = "?"\nhi = 3',
            "'age' .* has no lo yet",
        ),
        ('schema = "glassine.domain/2"\n[attributes.age]\ntype = "binary"', "reads domains of schema"),
        ('schema = "glassine.domain/1"\n[attributes.age]\ntype = "binary"\nhigh = 3', "high"),
        ('schema = "glassine.domain/1"\ngroups = [3]\n[attributes.age]\ntype = "binary"', "group"),
    ],
)
def test_what_is_no_domain_in_toml_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "domain.toml").write_text(text)
    with pytest.raises((InvalidDomainError, UnreadableFileError), match=said):
        Domain.read(tmp_path / "domain.toml")


def test_a_form_has_what_conditions_test_and_leaves_bounds_open(tmp_path: Path) -> None:
    literals: list[Literal] = [
        Between("age", hi=24.5),
        Between("age", 24.5, 64.0),
        Between("dose", hi=0.25),
        Between("smoker", hi=0.5),
        OneOf("job", ("pilot", "baker")),
        OneOf("job", ("clerk",)),
        OneOf("retired", (1,)),
    ]
    entries, comments = form_of_literals(literals)
    assert {entry["name"]: entry["type"] for entry in entries} == {
        "age": "integer",
        "dose": "real",
        "smoker": "binary",
        "job": "category",
        "retired": "binary",
    }
    assert entries[3]["values"] == ["baker", "clerk", "pilot"]
    assert comments["age"][0].startswith("The model compares it with 24.5, 64.")
    text = toml_of(entries, (), comments)
    (tmp_path / "domain.toml").write_text(text)
    with pytest.raises(InvalidDomainError, match="has no lo yet"):
        Domain.read(tmp_path / "domain.toml")
    filled = text.replace('lo = "?"', "lo = 0").replace('hi = "?"', "hi = 99")
    (tmp_path / "domain.toml").write_text(filled)
    assert Domain.read(tmp_path / "domain.toml")["age"] == Integer(0, 99)


BOOK = """Name;Type;Values;Missing;Label
age;integer;18-99;no;Age in years
bill;real;0..500 step 0.01;yes;
temperature;;-20.5 to 45;;
ward;category;A|B|C;;
vote;;1=yes|2=no|9=none;;
zip;text;01|02;;
smoker;binary;;;

"""


def test_a_code_book_is_a_domain(tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text(BOOK)
    assert read_codebook(tmp_path / "book.csv") == Domain(
        {
            "age": Integer(18, 99),
            "bill": Real(0.0, 500.0, 0.01, missing=True),
            "temperature": Real(-20.5, 45.0),
            "ward": Category(("A", "B", "C")),
            "vote": Category((1, 2, 9)),
            "zip": Category(("01", "02")),
            "smoker": Binary(),
        }
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("age,integer,many", "line 2 of .*: the values of 'age' must be a range"),
        ("age,integer,9-1", "lo <= hi"),
        ("age,integer,0.5-1", "line 2"),
        ("ward,category,", "line 2 of .*: the values of 'ward' must be listed"),
        ("ward,colour,A", "line 2 of .*: the type 'colour' is not known"),
    ],
)
def test_a_line_of_a_code_book_that_says_nothing_is_named(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text(f"name,type,values\n{line}\n")
    with pytest.raises(InvalidDomainError, match=said):
        read_codebook(tmp_path / "book.csv")


def test_a_file_without_the_columns_is_no_code_book(tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text("age,18-99\n")
    with pytest.raises(InvalidDomainError, match="must have the columns name, type and values"):
        read_codebook(tmp_path / "book.csv")


@pytest.mark.parametrize(
    ("codes", "values"),
    [
        ("1..9 | 99", (*range(1, 10), 99)),
        ("E08..E11 | other", ("E08", "E09", "E10", "E11", "other")),
        ("A8..A11", ("A8", "A9", "A10", "A11")),
        ("001 .. 003", ("001", "002", "003")),
        ("1=yes; 2=no; 7..8=unknown", (1, 2, 7, 8)),
        ("18-25|26-40", ("18-25", "26-40")),
        ("see..below|A..C", ("see..below", "A..C")),
    ],
)
def test_a_run_of_codes_stands_for_each_of_them(codes: str, values: tuple[object, ...], tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(
        f'schema = "glassine.domain/1"\n[attributes.icd]\ntype = "category"\ncodes = "{codes}"\nmissing = true\n'
    )
    domain = Domain.read(tmp_path / "d.toml")
    assert domain == Domain({"icd": Category(values, missing=True)})  # type: ignore[arg-type]
    assert from_dict(json.loads(to_text(domain))) == domain
    (tmp_path / "again.toml").write_text(to_toml(domain))
    assert Domain.read(tmp_path / "again.toml") == domain
    (tmp_path / "book.csv").write_text(f'name;type;values;missing\nicd;category;"{codes}";yes\n')
    assert read_codebook(tmp_path / "book.csv") == domain


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ('codes = "A1..B9"', "the run 'A1..B9' must lead up"),
        ('codes = "E14..E10"', "the run 'E14..E10' must lead up"),
        ('codes = "08..120"', "the run '08..120' must lead up"),
        ('codes = "1..999999999999"', "has more than 100,000 values"),
        ('codes = "1..90000|A1..A90000"', "a list of values has more than 100,000"),
        ('codes = "1..5|3"', "category values must differ, got 3 twice"),
        ('codes = "A"\nvalues = ["A"]', "has both values and codes. Delete one"),
        ('codes = "?"', "has no codes yet"),
    ],
)
def test_codes_that_are_no_list_are_refused(stated: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(f'schema = "glassine.domain/1"\n[attributes.icd]\ntype = "category"\n{stated}\n')
    with pytest.raises(InvalidDomainError, match=re.escape(said)):
        Domain.read(tmp_path / "d.toml")


def test_long_lists_of_codes_are_written_as_runs() -> None:
    text = to_toml(Domain({"county": Category(tuple(range(1, 2001))), "sex": Category(("f", "m"))}))
    assert 'codes = "1..2000"' in text
    assert 'values = ["f", "m"]' in text


@given(
    st.lists(
        st.sampled_from(["1", "2", "3", "4", "5", "6", "09", "10", "A9", "A10", "A11", "A12", 1, 2, 3, 4, 5]),
        min_size=1,
        unique=True,
    )
)
def test_values_of_every_type_and_order_read_back_from_runs(
    tmp_path_factory: pytest.TempPathFactory, values: list[str | int]
) -> None:
    domain = Domain({"code": Category(tuple(values))})
    path = tmp_path_factory.mktemp("runs") / "d.toml"
    path.write_text(to_toml(domain))
    again = Domain.read(path)["code"]
    assert isinstance(again, Category)
    assert list(map(repr, again.values)) == list(map(repr, values))


def test_a_number_of_which_a_model_states_no_value_is_a_real_one() -> None:
    (entry,), comments = form_of_literals([Between("pH")])
    assert entry == {"name": "pH", "type": "real", "lo": "?", "hi": "?"}
    assert comments["pH"][0].startswith("The model states no value of it.")
