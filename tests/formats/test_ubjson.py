"""Universal Binary JSON."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.errors import UnreadableFileError
from glassine.formats import load_model
from glassine.formats.boosted.ubjson import is_ubjson, parse_ubjson

FILES = Path(__file__).parent / "files"


def test_a_model_is_the_same_in_both_notations() -> None:
    data = (FILES / "xgboost_categories.ubj").read_bytes()
    assert is_ubjson(data)
    assert load_model(FILES / "xgboost_categories.ubj") == load_model(FILES / "xgboost_categories.json")
    plain = json.loads((FILES / "xgboost_categories.json").read_text())
    trees = [value["learner"]["gradient_booster"]["model"]["trees"][0] for value in (plain, parse_ubjson(data))]
    assert trees[0]["split_indices"] == trees[1]["split_indices"]
    assert trees[0]["sum_hessian"] == pytest.approx(trees[1]["sum_hessian"], rel=1e-7)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"Z", None),
        (b"T", True),
        (b"NNF", False),
        (b"i\xff", -1),
        (b"U\xff", 255),
        (b"I\x01\x00", 256),
        (b"l" + struct.pack(">i", -5), -5),
        (b"L" + struct.pack(">q", 2**40), 2**40),
        (b"d" + struct.pack(">f", 0.1), 0.1),
        (b"D" + struct.pack(">d", 0.1), 0.1),
        (b"Ca", "a"),
        (b"SU\x02\xc3\xa9", "é"),
        (b"[]", []),
        (b"[i\x01[TF]]", [1, [True, False]]),
        (b"[#i\x02i\x01Z", [1, None]),
        (b"[$d#i\x01" + struct.pack(">f", 1e-45), [1e-45]),
        (b"{i\x01ai\x05}", {"a": 5}),
        (b"{#i\x01i\x01a[]", {"a": []}),
        (b"{$i#i\x02i\x01a\x07i\x01b\x08", {"a": 7, "b": 8}),
    ],
)
def test_values(data: bytes, value: object) -> None:
    assert parse_ubjson(data) == value


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cut short"),
        (b"x", "marker 'x'"),
        (b"[i\x01", "cut short"),
        (b"SU\x09ab", "cut short"),
        (b"SU\x01\xff", "not UTF-8"),
        (b"SSU\x01a", "length is marked 'S'"),
        (b"Si\xff", "cut short"),
        (b"[$Z#L" + struct.pack(">q", 2**60), "claims"),
        (b"[$T#i\x01", "claims"),
        (b"[#L" + struct.pack(">q", 2**60), "claims"),
        (b"[$i]", "type without a number"),
        (b"{i\x01ai\x01i\x01ai\x02}", "stands twice"),
        (b"ZZ", "behind its end"),
        (b"[" * 100, "nested too deeply"),
    ],
)
def test_damage_is_told(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableFileError, match=message):
        parse_ubjson(data)


def test_texts_in_braces_are_no_ubjson() -> None:
    assert not any(is_ubjson(text) for text in (b"{income}~1;default~0", b'{"learner": 1}', b"{L", b"{U\n", b""))


@pytest.mark.slow
@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_refused(data: bytes) -> None:
    try:
        value = parse_ubjson(data)
    except UnreadableFileError:
        return
    assert value is None or type(value) in (bool, int, float, str, list, dict)
