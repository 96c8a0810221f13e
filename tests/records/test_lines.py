"""Lines of delimited text: encodings, fields, separators with blanks, and for whom a file is read."""

from __future__ import annotations

import csv
import encodings
import pkgutil
from codecs import lookup
from pathlib import Path
from typing import Any

import pytest

from glassine import Category
from glassine.data.csv_records import texts_of
from glassine.data.sources import read_table
from glassine.domain import Attribute
from glassine.errors import InvalidParameterError, UnreadableFileError
from glassine.records.headers import LINE_BY_LINE, CsvDialect, RecordsFile, open_text
from glassine.records.lines import DelimitedText, LineFlag
from glassine.records.purpose import Purpose


def opened(data: bytes, *, purpose: Purpose = Purpose.PRIVATE, declared: Any = (), **written: Any) -> DelimitedText:
    """Return the text of a file."""
    attributes: dict[str, Attribute] = dict(declared)
    return open_text(RecordsFile(path=Path("a.csv"), dialect=CsvDialect(**written)), data, attributes, purpose=purpose)


def rows(data: bytes, **more: Any) -> list[tuple[Any, ...]]:
    return texts_of(opened(data, **more)).rows()


def flags(data: bytes, **more: Any) -> list[int]:
    return [int(flag) for _, block in opened(data, **more).blocks() for flag in block]


# Codecs.

BYTES = [bytes([i]) for i in range(256) if i != 10]
PAIRS = [a + b for a in BYTES for b in BYTES]
SHIFTS = [
    *(b"\x1b$B", b"\x1b$@", b"\x1b(J", b"\x1b$)C\x0e", b"\x1b.A\x1bN", b"\x0e", b"~", b"~{", b"~{VP"),
    *(b"+AAo-", b"+AAo", b"\\n", b"\\", b"\\x0a", b"\\u000a", b"\x81\x30", b"\x81\x30\x81", b"\x8f", b"\x8f\xa1"),
]
LETTERS = [chr(i) for i in (*range(32, 127), *range(160, 0x250), *range(0x250, 0xFFFF, 97)) if not 0xD800 <= i < 0xE000]


def splits_into_lines(name: str) -> bool:
    """Return whether a line ends at the byte 0x0A and nowhere else, and nothing before it changes what follows."""
    try:
        if "\n".encode(name) != b"\n" or any("\n" in some.decode(name, "replace") for some in (*PAIRS, *SHIFTS)):
            return False
        if any(
            not (some + b"\nab").decode(name, "replace").endswith("\nab") for some in (*BYTES, *SHIFTS, *PAIRS[::17])
        ):
            return False
    except UnicodeError:
        return False
    for letter in LETTERS:
        try:
            data = f"{letter}\n{letter}".encode(name)
        except UnicodeError:
            continue
        if [line.decode(name, "replace") for line in data.split(b"\n")] != data.decode(name).split("\n"):
            return False
    return True


@pytest.mark.slow
def test_the_encodings_of_private_fits_are_those_of_pythons_whose_lines_stand_alone() -> None:
    found = set()
    for module in pkgutil.iter_modules(encodings.__path__):
        try:
            codec = lookup(module.name)
        except (LookupError, ImportError):
            continue
        # Codecs of an operating system, such as mbcs, follow its settings.
        if codec._is_text_encoding and codec.name not in ("mbcs", "oem") and splits_into_lines(codec.name):
            found.add(codec.name)
    assert found == LINE_BY_LINE


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("a,b\n1,2\n".encode("utf-16"), None),
        ("a,b\n1,2\n".encode("utf-16-be"), None),
        ("a,b\n1,2\n".encode("utf-32-le"), None),
        ("a,b\n1,2\n".encode("utf-32-be"), None),
        ("a,b\n1,2\n".encode("utf-32"), None),
        *(
            (b"a,b\n1,2\n", name)
            for name in ("utf-16", "utf-7", "hz", "iso2022_jp", "iso2022_kr", "cp037", "utf_32_le")
        ),
    ],
)
def test_what_cannot_be_split_without_state_is_refused_for_private_fits_alone(
    data: bytes, encoding: str | None
) -> None:
    said = set()
    # Whatever stands below the header.
    for more in (b"", b"\x1b$B,5\n", b"\0\xd8\n"):
        with pytest.raises(UnreadableFileError, match="lines cannot be read alone") as caught:
            opened(data + more, encoding=encoding)
        said.add(str(caught.value))
    assert len(said) == 1
    if encoding is None:
        assert rows(data, purpose=Purpose.ORDINARY) == [("1", "2")]


def test_a_separator_may_be_the_second_byte_of_a_character() -> None:
    # In Shift_JIS the second byte of this one is a bar.
    data = "a|b\nポ|1\n".encode("shift_jis")
    assert b"\x83|" in data
    for purpose in Purpose:
        assert rows(data, purpose=purpose, encoding="shift_jis") == [("ポ", "1")]


def test_a_line_that_is_no_utf8_is_windows_1252_by_itself() -> None:
    data = "a,b\nKöln,1\n".encode() + "Köln,2\n".encode("latin-1")
    assert rows(data) == rows(data, purpose=Purpose.ORDINARY) == [("Köln", "1"), ("Köln", "2")]
    assert flags(data) == [0, LineFlag.REPAIRED]


# Lines and fields.


@pytest.mark.parametrize(
    ("line", "fields", "flag"),
    [
        (b"1,2", ("1", "2"), 0),
        (b"1,2\r", ("1", "2"), 0),
        (b"1,", ("1", ""), 0),
        (b"1", ("1", None), LineFlag.RAGGED),
        (b"1,2,3,4", ("1", "2"), LineFlag.RAGGED),
        (b'"1","x,y"', ("1", "x,y"), 0),
        (b'1,"say ""no"""', ("1", 'say "no"'), 0),
        (b'1,"2', ("1", "2"), LineFlag.OPEN_QUOTE),
        (b'"1,2', ("1,2", None), LineFlag.OPEN_QUOTE | LineFlag.RAGGED),
        (b'1,5" pipe', ("1", '5" pipe'), 0),
        (b"1,\xff", ("1", "ÿ"), LineFlag.REPAIRED),
        (b"1,\x00", ("1", "\0"), 0),
        ("\ufeff1,2".encode(), ("\ufeff1", "2"), 0),
        (b"1\r2,3", (None, None), LineFlag.OPEN_QUOTE | LineFlag.RAGGED),
    ],
)
def test_a_line_is_read_alone(line: bytes, fields: tuple[str | None, ...], flag: int) -> None:
    plain = b"7,8"
    data = b"\n".join([b"a,b", plain, line, plain, line, b""])
    assert rows(data, separator=",") == [("7", "8"), fields] * 2
    assert flags(data, separator=",") == [0, flag] * 2


def test_an_empty_line_of_several_columns_is_no_record_and_of_one_is_one() -> None:
    assert rows(b"a,b\n1,2\n\n\r\n3,4\n\n") == [("1", "2"), ("3", "4")]
    assert rows(b"a\n1\n\n3\n") == [("1",), ("",), ("3",)]
    assert rows(b"a,b\n") == rows(b"a,b") == []


@pytest.mark.parametrize("n", [3, 200_000])
def test_a_line_of_too_many_fields_and_one_of_too_few_do_not_make_up_for_each_other(n: int) -> None:
    body = [b"1,2"] * n
    body[1:1], body[-1:-1] = [b"5,6,7"], [b"8"]
    frame = texts_of(opened(b"a,b\n" + b"\n".join(body) + b"\n"))
    assert frame.rows()[1] == ("5", "6")
    assert frame.rows()[-2] == ("8", None)
    assert len(frame) == n + 2
    assert frame.filter(a="1", b="2").height == n


def test_a_quoted_line_break_is_one_of_csv_for_ordinary_commands_alone() -> None:
    data = b'a,b\n1,"x\ny"\n2,z\n'
    assert rows(data, purpose=Purpose.ORDINARY) == [("1", "x\ny"), ("2", "z")]
    assert rows(data) == [("1", "x"), ('y"', None), ("2", "z")]


def test_a_header_whose_quote_is_not_closed_takes_in_no_record_of_a_private_fit() -> None:
    said = set()
    for record in (b"1,2\n", b'x",y\n', b'"\n'):
        with pytest.raises(UnreadableFileError, match="is malformed") as caught:
            opened(b'a,"b\n' + record)
        said.add(str(caught.value))
    assert len(said) == 1


@pytest.mark.parametrize("quote", ["all", "texts"])
def test_lines_with_quotes_are_read_as_csv_reads_them(quote: str, tmp_path: Path) -> None:
    words = ["", "a", "a,b", 'say "no"', " x", "x ", "5", "é", '"', ",", '","', "\\"]
    table = [(one, other, "7") for one in words for other in words]
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        made = csv.writer(file, quoting=csv.QUOTE_ALL if quote == "all" else csv.QUOTE_MINIMAL)
        made.writerows([("p", "q", "r"), *table])
    data = (tmp_path / "a.csv").read_bytes()
    assert rows(data, separator=",") == table
    assert rows(data, separator=",", purpose=Purpose.ORDINARY) == table


# A separator with blanks.


@pytest.mark.parametrize("purpose", Purpose)
@pytest.mark.parametrize(
    "data",
    [
        b"age, pay\n39, <=50K\n50, >50K\n",
        b"age,pay\n39, <=50K\n50, >50K\n",
        b'"age", "pay"\n39, "<=50K"\n 50,>50K\n',
        b"age;pay\r\n39; <=50K\r\n50; >50K\r\n",
    ],
)
def test_blanks_behind_a_separator_are_no_part_of_a_value(data: bytes, purpose: Purpose) -> None:
    text = opened(data, purpose=purpose)
    assert (text.names, text.separator[1:]) == (("age", "pay"), " ")
    assert texts_of(text).rows() == [("39", "<=50K"), ("50", ">50K")]


@pytest.mark.parametrize("purpose", Purpose)
def test_blanks_stay_where_the_domain_declares_them_or_the_separator_is_stated_without(purpose: Purpose) -> None:
    data = b'age,pay\n39, <=50K\n50," >50K"\n'
    kept = [("39", " <=50K"), ("50", " >50K")]
    assert rows(data, purpose=purpose, separator=",") == kept
    assert rows(data, purpose=purpose, declared={"pay": Category((" <=50K", " >50K"))}) == kept
    # Within quotes they are a part of the value.
    assert rows(data, purpose=purpose) == [("39", "<=50K"), ("50", " >50K")]


@pytest.mark.parametrize("separator", [",  ", " ,", "ab", '" '])
def test_only_a_blank_may_follow_a_separator(separator: str) -> None:
    with pytest.raises(InvalidParameterError, match="separator"):
        CsvDialect(separator=separator)


def test_columns_of_a_file_without_a_header_have_different_names() -> None:
    with pytest.raises(InvalidParameterError, match="'a' stands twice"):
        CsvDialect(names=("a", "a"))


@pytest.mark.parametrize("line", [b"34,5,no,", b"34,5,no,,,", b'"34",5,no,'])
@pytest.mark.parametrize("header", [b"age,bp,sick", b"age,bp,sick,"])
@pytest.mark.parametrize("n_trailing", [0, 3, 9])
def test_an_empty_field_too_many_is_odd_unless_header_or_most_lines_have_it(
    line: bytes, header: bytes, n_trailing: int, tmp_path: Path
) -> None:
    """A decimal comma makes one field two: behind it the others have moved, and an empty last one is too many."""
    path = tmp_path / "a.csv"
    others = [b"40,7,yes" + (b"," * line[-3:].count(b",") if i < n_trailing else b"") for i in range(9)]
    path.write_bytes(b"\n".join([header, line, *others]) + b"\n")
    file = RecordsFile(path=path)
    fits = line.endswith(b"no,") and header.endswith(b",")
    table = read_table(file, Purpose.AUDIT)
    odd = 0 if fits or n_trailing == 9 else n_trailing + 1
    assert (0 if table.lines is None else int((table.lines == LineFlag.RAGGED).sum())) == odd
    if odd:
        with pytest.raises(UnreadableFileError, match=r"line 2 has \d fields, and the header has 3"):
            read_table(file, Purpose.ORDINARY)
    else:
        assert len(read_table(file, Purpose.ORDINARY)) == 10
    # Of a private fit each line is a record, whatever the others are.
    assert len(read_table(file, Purpose.PRIVATE)) == 10
