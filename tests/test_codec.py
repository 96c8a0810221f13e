"""One codec: what it writes it reads, what it refuses it refuses with the path, and it quotes no value."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.codec import (
    FLAG,
    FLOAT,
    NUMBER,
    OBJECT,
    SCALAR,
    TEXT,
    WHOLE,
    Codec,
    Field,
    Refused,
    checked,
    choice,
    decoded,
    lazily,
    listed,
    mapped,
    named,
    optional,
    record,
    tagged,
)
from glassine.errors import GlassineError, InvalidModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """Part of a whole."""

    word: str
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """One field of each kind of annotation."""

    text: str
    flag: bool
    count: int | None = None
    share: float = 0.5
    words: tuple[str, ...] = ()
    pair: tuple[int, float | None] = (0, None)
    mark: str | int | float | bool = "x"
    by_name: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    side: Literal["left", "right"] = "left"
    inner: Inner = field(default_factory=lambda: Inner(word="w"))
    more: tuple[Inner, ...] = ()

    def __post_init__(self) -> None:
        if self.share > 1:
            raise InvalidModelError("a share must lie in [0, 1].")


WHOLE_RECORD: Codec[Whole] = record(Whole)

WORDS = st.text(max_size=5)
INNERS = st.builds(Inner, word=WORDS, size=st.integers())
WHOLES = st.builds(
    Whole,
    text=WORDS,
    flag=st.booleans(),
    count=st.none() | st.integers(-9, 10**20),
    share=st.floats(-9, 1) | st.integers(-9, 1),
    words=st.lists(WORDS, max_size=3).map(tuple),
    pair=st.tuples(st.integers(), st.none() | st.floats(-1e300, 1e300)),
    mark=WORDS | st.booleans() | st.integers(-3, 3),
    by_name=st.dictionaries(WORDS, st.lists(st.integers(), max_size=2).map(tuple), max_size=2),
    side=st.sampled_from(["left", "right"]),
    inner=INNERS,
    more=st.lists(INNERS, max_size=2).map(tuple),
)


@given(WHOLES)
def test_what_is_written_is_plain_and_reads_back(value: Whole) -> None:
    plain = WHOLE_RECORD.encode(value)
    assert decoded(WHOLE_RECORD, json.loads(json.dumps(plain, allow_nan=False)), "it", GlassineError) == value
    assert list(plain) == list(Whole.__slots__)


GOOD = WHOLE_RECORD.encode(Whole(text="t", flag=True, more=(Inner(word="a"), Inner(word="b"))))
BAD: dict[str, tuple[Any, str]] = {
    "no object": ([], "it must be an object, got a list."),
    "unknown": ({**GOOD, "colour": 1}, "it has an unknown key 'colour'. Known: text, flag, count, share,"),
    "unknown inside": ({**GOOD, "inner": {"word": "a", "b": 1}}, "it, inner, has an unknown key 'b'."),
    "missing": ({key: value for key, value in GOOD.items() if key != "flag"}, "it lacks the key 'flag'."),
    "missing inside": ({**GOOD, "more": [{"word": "a"}, {"size": 3}]}, "it, more[1], lacks the key 'word'."),
    "a number as text": ({**GOOD, "text": 7}, "it, text, must be a text, got a number."),
    "one as true": ({**GOOD, "flag": 1}, "it, flag, must be true or false, got a number."),
    "true as one": ({**GOOD, "count": True}, "it, count, must be a whole number, got true or false."),
    "a float as whole": ({**GOOD, "count": 1.0}, "it, count, must be a whole number, got a number."),
    "too large": ({**GOOD, "count": 10**301}, "it, count, must be a whole number, got one beyond 1e300."),
    "NaN": ({**GOOD, "share": math.nan}, "it, share, must be a finite number, got NaN."),
    "infinite": ({**GOOD, "share": math.inf}, "it, share, must be a finite number, got one beyond 1e300."),
    "null": ({**GOOD, "share": None}, "it, share, must be a finite number, got null."),
    "a text as list": ({**GOOD, "words": "ab"}, "it, words, must be a list, got a text."),
    "an entry": ({**GOOD, "words": ["a", None]}, "it, words[1], must be a text, got null."),
    "a pair of one": ({**GOOD, "pair": [1]}, "it, pair, must hold 2 values, got 1."),
    "half a pair": ({**GOOD, "pair": [1, "x"]}, "it, pair[1], must be a finite number, got a text."),
    "a scalar list": ({**GOOD, "mark": [1]}, "it, mark, must be a text, a finite number or a Boolean, got a list."),
    "a mapping": ({**GOOD, "by_name": {"k": [1, "2"]}}, "it, by_name.k[1], must be a whole number, got a text."),
    "another choice": ({**GOOD, "side": "up"}, "it, side, must be one of left, right, got a text."),
    "a check of the class": ({**GOOD, "share": 2}, "a share must lie in [0, 1]."),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused_with_its_path(name: str) -> None:
    plain, message = BAD[name]
    with pytest.raises(InvalidModelError) as caught:
        decoded(WHOLE_RECORD, plain, "it", InvalidModelError)
    assert str(caught.value).startswith(message)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@given(st.sampled_from(sorted(GOOD)), VALUES)
def test_any_value_in_any_place_is_read_or_refused(key: str, value: Any) -> None:
    try:
        read = decoded(WHOLE_RECORD, {**GOOD, key: value}, "it", InvalidModelError)
    except InvalidModelError:
        return
    assert WHOLE_RECORD.encode(read)[key] == value


def test_no_refusal_quotes_a_value() -> None:
    odd = "4711-a-diagnosis"
    plains: list[Any] = [odd, {"text": [odd]}, [[odd]], [{"name": [odd]}], {"k": odd}]
    codecs: list[Codec[Any]] = [FLAG, WHOLE, NUMBER, FLOAT, listed(WHOLE), WHOLE_RECORD, mapped(WHOLE), named(OBJECT)]
    for codec in codecs:
        for plain in plains:
            with pytest.raises(InvalidModelError) as caught:
                decoded(codec, plain, "it", InvalidModelError)
            assert odd not in str(caught.value)


def test_spelling_defaults_and_order_can_be_those_of_a_file() -> None:
    codec = record(
        Inner,
        {"word": Field(key="w", get=lambda inner: inner.word.upper()), "size": Field(omit=3)},
        head={"schema": "s/1"},
        order=("size", "word"),
    )
    assert list(codec.encode(Inner(word="a", size=2)).items()) == [("schema", "s/1"), ("size", 2), ("w", "A")]
    assert codec.encode(Inner(word="a", size=3)) == {"schema": "s/1", "w": "A"}
    with pytest.raises(GlassineError, match=r"the file, schema, must be 's/1', got 's/2'"):
        decoded(codec, {"schema": "s/2", "w": "A"}, "the file", GlassineError)
    with pytest.raises(GlassineError, match="lacks the key 'schema'"):
        decoded(codec, {"w": "A"}, "the file", GlassineError)
    short = record(Inner, omit_defaults=True)
    assert short.encode(Inner(word="a")) == {"word": "a"}
    # False and 0 are equal, and not the same.
    assert short.encode(Inner(word="a", size=False)) == {"word": "a", "size": False}
    with pytest.raises(GlassineError, match="lacks the key 'size'"):
        decoded(record(Inner, {"size": Field(required=True)}), {"word": "a"}, "it", GlassineError)


def test_an_inner_object_can_lie_flat() -> None:
    @dataclass(frozen=True)
    class Outer:
        name: str
        inner: Inner

    codec: Codec[Outer] = record(
        Outer, {"name": Field(codec=TEXT), "inner": Field(codec=record(Inner), flat=True)}, order=("name", "inner")
    )
    value = Outer("n", Inner(word="a", size=1))
    assert codec.encode(value) == {"name": "n", "word": "a", "size": 1}
    assert decoded(codec, {"name": "n", "word": "a", "size": 1}, "it", GlassineError) == value
    with pytest.raises(GlassineError, match="lacks the key 'word'"):
        decoded(codec, {"name": "n"}, "it", GlassineError)
    with pytest.raises(GlassineError, match="unknown key 'inner'"):
        decoded(codec, {"name": "n", "inner": {}}, "it", GlassineError)


def test_types_are_told_apart_by_a_name_or_by_their_keys() -> None:
    @dataclass(frozen=True)
    class Other:
        height: int

    kinds: dict[str, tuple[type[Any], Codec[Any]]] = {
        "in": (Inner, record(Inner)),
        "other": (Other, record(Other, {"height": Field(codec=WHOLE)})),
    }
    by_name = tagged("type", kinds)
    assert by_name.encode(Other(2)) == {"type": "other", "height": 2}
    assert decoded(by_name, {"type": "other", "height": 2}, "it", GlassineError) == Other(2)
    for plain, said in (({"height": 2}, "null"), ({"type": ["in"]}, "a list"), ({"type": "no"}, "'no'")):
        with pytest.raises(GlassineError, match=f"it has the type {said}. Use one of in, other"):
            decoded(by_name, plain, "it", GlassineError)
    by_keys = choice(dict(kinds.values()), lambda plain: Other if "height" in plain else Inner)
    assert decoded(listed(by_keys), [{"height": 1}, {"word": "w"}], "it", GlassineError) == (Other(1), Inner(word="w"))


def test_lists_are_counted_before_they_are_read() -> None:
    def never(plain: Any) -> Any:
        raise AssertionError(plain)

    with pytest.raises(GlassineError, match="it must hold at most 2 groups, got 3"):
        decoded(listed(Codec(never, never), most=2, noun="groups"), [1, 2, 3], "it", GlassineError)
    assert decoded(listed(WHOLE, most=3), [1, 2, 3], "it", GlassineError) == (1, 2, 3)


def test_named_entries_keep_their_order_and_are_named_once() -> None:
    codec = named(record(Inner))
    value = {"b": Inner(word="x"), "a": Inner(word="y")}
    plain = codec.encode(value)
    assert plain[0] == {"name": "b", "word": "x", "size": 0}
    assert list(decoded(codec, plain, "it", GlassineError).items()) == list(value.items())
    for wrong, message in (
        ([{"word": "x"}], r"it, \[0\], needs a name, a text, got null"),
        ([plain[0], plain[0]], r"it, \[b\], is declared twice"),
        ([{**plain[0], "word": 3}], r"it, \[b\].word, must be a text"),
        ([3], r"it, \[0\], must be an object"),
    ):
        with pytest.raises(GlassineError, match=message):
            decoded(codec, wrong, "it", GlassineError)


def test_errors_of_other_readers_get_the_path_too() -> None:
    def read(plain: Any) -> str:
        raise InvalidModelError("no such unit.")

    with pytest.raises(GlassineError, match=r"^it, units\[0\]: no such unit\.$"):
        decoded(record(dict, {"units": Field(codec=listed(checked(str, read)))}), {"units": ["m"]}, "it", GlassineError)
    with pytest.raises(GlassineError, match=r"^no such unit\.$"):
        decoded(checked(str, read), "m", "it", GlassineError)


@pytest.mark.slow
def test_types_that_hold_themselves_are_read_to_the_depth_that_python_allows() -> None:
    tree: Codec[Any] = listed(optional(lazily(lambda: tree)))
    deep: Any = None
    for _ in range(50):
        deep = [deep]
    assert decoded(tree, deep, "the tree", GlassineError) is not None
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(GlassineError, match="the tree is nested too deeply"):
        decoded(tree, deep, "the tree", GlassineError)


def test_a_field_of_a_type_without_a_codec_is_an_error_of_the_programmer() -> None:
    @dataclass
    class Odd:
        x: complex

    with pytest.raises(TypeError, match="no codec follows from"):
        record(Odd, {"x": Field(codec=None)})


def test_a_refusal_knows_its_place() -> None:
    refused = Refused("must be a list").within("[2]").within(".terms")
    assert (refused.path, refused.sentence) == (".terms[2]", False)
    assert SCALAR.decode(True) is True
