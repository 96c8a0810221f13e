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
    [(0.0, "1 in 1"), (1.0, "1 in 2"), (2.5, "1 in 5.7"), (5.0, "1 in 32"), (10.0, "1 in 1,020"), (64.0, "1 in 2^64")],
)
def test_candidates(value: float, text: str) -> None:
    assert wording.candidates(value) == text


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
