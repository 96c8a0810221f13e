"""Small files that ask for much: each is answered within a gigabyte of memory and twenty seconds of processor time."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from glassine import files
from glassine.errors import GlassineError, InvalidModelError, UnreadableFileError, UnsupportedModelError
from glassine.files import parse_json, read_bytes, read_once, read_text
from glassine.formats import load_model
from glassine.formats.boosted import ubjson
from glassine.formats.boosted.ubjson import parse_ubjson
from glassine.formats.loading import load_estimator
from glassine.formats.printed.rules import parse_rules

hostile: Any = importlib.import_module("benchmarks.hostile_files")
GIGABYTE, SECONDS = 2**30, 20
EARLY = ("skops-objects", "skops-lying", "lightgbm", "rules")
"""Small files that ask for much, and must be refused before it is given."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(hostile.FILES))
def test_no_file_takes_more_than_a_gigabyte_or_twenty_seconds(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(hostile.FILES[name].make())
    cost = hostile.cost(path, memory=2 * GIGABYTE, seconds=SECONDS)
    assert cost.status in (0, 1, 2, 3), cost
    assert "internal error" not in cost.message, cost
    assert cost.memory <= GIGABYTE, cost
    assert cost.seconds <= SECONDS, cost
    assert name not in EARLY or "Traceback" not in cost.message, cost


def test_a_device_without_a_size_is_read_to_the_bound_only() -> None:
    with pytest.raises(UnreadableFileError, match="larger than 1,000 bytes"):
        read_bytes("/dev/zero", most=1_000)
    with pytest.raises(UnreadableFileError, match="larger than 1,000 bytes"):
        read_once("/dev/zero", most=1_000)


def test_a_pipe_is_read_to_the_bound_only(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError):
            pipe.write_bytes(b"x" * 200_000)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(UnreadableFileError, match="larger than 1,000 bytes"):
        read_bytes(pipe, most=1_000)
    writer.join()


@pytest.mark.parametrize("read", [load_model, load_estimator, read_text, read_once])
def test_a_large_file_is_refused_by_its_size_before_it_is_read(read: Any, tmp_path: Path) -> None:
    path = tmp_path / "model"
    with path.open("wb") as stream:
        stream.truncate(files.MAX_BYTES + 1)
    with pytest.raises(UnreadableFileError, match="larger than 200,000,000 bytes"):
        read(path)


def test_the_digest_is_of_the_bytes_that_were_parsed(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text("if [a] then [true]\nelse [false]\n")
    once = read_once(path)
    digest = once.sha256
    path.write_text("something else")
    assert str(load_model(once)) == "rule list with 1 rules and a default"
    assert once.sha256 == digest


@pytest.mark.parametrize(
    "text", ["[" + "{}," * 50 + "0]", "[" + "[]," * 50 + "0]", "[" + "1," * 120 + "0]", json.dumps(["a"] * 90)]
)
def test_values_of_json_are_counted_before_they_are_made(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_VALUES", 4_000)
    monkeypatch.setattr(json, "loads", None)
    with pytest.raises(UnreadableFileError, match="holds too many values"):
        parse_json(text, path="x")


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1 << 16])
def test_marks_within_texts_of_json_do_not_count(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_VALUES", 500)
    monkeypatch.setattr(files, "PIECE", piece)
    value = ["{[,:" * 100, '\\"{' * 100, "\\" * 7 + "," * 50]
    assert parse_json(json.dumps(value), path="x") == value


def test_halves_of_characters_in_json_are_still_errors() -> None:
    assert parse_json('"\\ud83d\\ude00"', path="x") == "\N{GRINNING FACE}"
    with pytest.raises(UnreadableFileError, match="surrogates"):
        parse_json('["\\ud83d"]', path="x")


def test_a_text_that_one_character_makes_wide_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 1_000)
    path = tmp_path / "model"
    path.write_text("a" * 900)
    assert read_text(path) == "a" * 900
    path.write_text("\N{LATIN SMALL LETTER A WITH DIAERESIS}" * 450)
    assert len(read_text(path)) == 450
    for wide in "\N{GRINNING FACE}", "\N{GREEK SMALL LETTER ALPHA}":
        path.write_text("a" * 600 + wide)
        with pytest.raises(UnreadableFileError, match="not Latin"):
            read_text(path)


def test_values_of_ubjson_are_counted_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ubjson, "MAX_VALUES", 200_000)
    for data in (
        b"{i\x01a[" + b"[]" * 4_000 + b"]}",
        b"{i\x01a[$i#l" + (10**4).to_bytes(4, "big") + bytes(10**4) + b"}",
    ):
        with pytest.raises(UnreadableFileError, match="its values would take"):
            parse_ubjson(data)


def test_xml_attributes_are_counted_before_they_are_parsed(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"<PMML " + b"a='1' " * 2_000_001 + b"/>")
    with pytest.raises(UnsupportedModelError, match="more than 2,000,000 attributes"):
        load_model(path)


@pytest.mark.slow
def test_a_rule_list_has_a_bounded_number_of_rules() -> None:
    assert len(parse_rules("if [a] then [true]\n" + "else if [a] then [true]\n" * 4_998 + "else [true]").rules) == 5_000
    with pytest.raises(InvalidModelError, match="at most 5,000 rules"):
        parse_rules("if [a] then [true]\n" + "else if [a] then [true]\n" * 4_999 + "else [true]")


@pytest.mark.slow
def test_long_conditions_of_a_rule_list_are_refused_in_one_line() -> None:
    for text in ("a" + " " * 200_000 + "b", "a" + "<" * 200_000 + "1"):
        with pytest.raises(GlassineError) as caught:
            parse_rules(f"if [{text}] then [true]\nelse [false]")
        assert len(str(caught.value)) < 300


def test_a_long_name_of_a_rule_list_is_read() -> None:
    name = "a in {" * 50_000
    assert parse_rules(f"if [{name}] then [true]\nelse [false]").attributes == (name,)


def test_quoted_names_of_a_rule_list_are_read_as_before() -> None:
    rules = parse_rules('if ["a ] \\" <= b" <= 3] and ["c"] then [true]\nelse [false]')
    assert [literal.attribute for literal in rules.literals] == ['a ] " <= b', "c"]
