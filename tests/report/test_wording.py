from __future__ import annotations

import math

import pytest

from glassine.report import wording


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (1.0, "100%"),
        (0.001, "under 1%"),
        (0.999, "over 99%"),
        (0.255, "26%"),
        (math.nan, "not known"),
    ],
)
def test_only_an_exact_share_reads_as_nothing_or_everything(share: float, text: str) -> None:
    assert wording.percent(share) == text


def test_bits_show_on_which_side_of_the_limit_they_are() -> None:
    assert wording.bits(10.004) == "10.0"
    assert wording.bits(10.004, beyond=10.0) == "10.004"
    assert wording.bits(9.996, beyond=10.0) == "10.0"
    assert wording.bits(-0.01) == "0.0"
    assert wording.bits(math.inf) == "not known"
    assert wording.bits(None) == "not known"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "1"),
        (1.0, "2"),
        (2.5, "5.7"),
        (3.4, "11"),
        (5.0, "32"),
        (15.33, "41,200"),
        (64.0, "2^64"),
        (498.96, "2^499"),
    ],
)
def test_candidates(value: float, text: str) -> None:
    assert wording.candidates(value) == f"1 of every {text}"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (5, "5"), (0.0123, "0.0123"), (99.96, "100"), (4321.5, "4,320"), (-10.25, "-10.2")]
)
def test_amounts_have_three_digits(value: float, text: str) -> None:
    assert wording.amount(value) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("age <= 40", "age <= 40"),
        ("worst concave points <= 0.1358", "worst…points <= 0.1358"),
        ("0.1 < worst concave points <= 2", "0.1 < wors…points <= 2"),
        ("not (0.1 < worst concave points <= 2)", "not (0.1 < wo…ts <= 2)"),
        ("colour of the left eye in {blue}", "colour o…eye in {blue}"),
        ("colour in {blue, green, brown}", "colour in {blue, gree…"),
        ("a binary attribute of a long name", "a binary attribute of…"),
    ],
)
def test_a_condition_that_is_cut_keeps_its_value(text: str, shown: str) -> None:
    assert wording.shorten_condition(text, 22) == shown


def test_names_lose_what_breaks_a_page_and_keep_their_script() -> None:
    assert wording.clean("a\x1b[31m\x00\u202eb\ud800") == "a\ufffd[31m\ufffd\ufffdb\ufffd"
    assert wording.clean("عمر 👩‍⚕️ é") == "عمر 👩‍⚕️ é"


def test_plural() -> None:
    assert [wording.plural(1, "leaf"), wording.plural(2000, "more leaf"), wording.plural(2, "class")] == [
        "1 leaf",
        "2,000 more leaves",
        "2 classes",
    ]


def test_shorten_keeps_its_promise() -> None:
    assert wording.shorten("abcdef", 4) == "abc…"
    assert wording.shorten("abcd", 4) == "abcd"
