"""Groups: possible combinations against enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.domain import AtMostOne, Combinations, Domain, ExactlyOne, Implies, Intervals
from glassine.domain.groups import blocks, patterns
from glassine.errors import InvalidDomainError


@pytest.mark.parametrize("width", [2, 3, 4])
def test_patterns_are_all_that_the_words_say(width: int) -> None:
    names = tuple("abcd"[:width])
    rows = list(product((0, 1), repeat=width))
    assert sorted(ExactlyOne(names).patterns()) == [row for row in rows if sum(row) == 1]
    assert sorted(AtMostOne(names).patterns()) == [row for row in rows if sum(row) <= 1]
    chain = [row for row in rows if all(row[i] <= row[i + 1] for i in range(width - 1))]
    assert sorted(Implies(names).patterns()) == chain


@given(st.integers(0, 5), st.integers(0, 6), st.data())
def test_intervals_equal_a_walk_over_the_hidden_number(lo: int, span: int, data: st.DataObject) -> None:
    bound = st.one_of(st.none(), st.integers(-2, 14))
    spans = {}
    for name in ("a", "b", "c"):
        left, right = data.draw(bound), data.draw(bound)
        if left is not None and right is not None and left > right:
            left, right = right, left
        spans[name] = (left, right)
    walked = {
        tuple(int((a is None or a <= n) and (b is None or n <= b)) for a, b in spans.values())
        for n in range(lo, lo + span + 1)
    }
    assert set(Intervals(lo, lo + span, spans).patterns()) == walked


def test_overlapping_groups_join() -> None:
    groups = [ExactlyOne(("a", "b")), Implies(("b", "c")), AtMostOne(("c", "d"))]
    ((block, members),) = blocks(("d", "c", "b", "a", "free"), groups)
    assert block == ("d", "c", "b", "a")
    possible = patterns(block, members)
    expected = [(d, c, b, a) for d, c, b, a in product((0, 1), repeat=4) if a + b == 1 and b <= c and c + d <= 1]
    assert possible == expected


def test_contradictory_groups_are_refused() -> None:
    groups = [ExactlyOne(("a", "b")), Combinations(("a", "b"), ((0, 0), (1, 1)))]
    with pytest.raises(InvalidDomainError, match="contradict each other"):
        Domain.binary(["a", "b"], groups=groups)


def test_blocks_with_too_many_combinations_are_refused() -> None:
    names = [f"x{i}" for i in range(20)]
    groups = [Implies((names[0], other)) for other in names[1:]]
    with pytest.raises(InvalidDomainError, match="more than 65,536 combinations"):
        Domain.binary(names, groups=groups)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ExactlyOne(cast(Any, "ab")), "a list of attributes"),
        (lambda: ExactlyOne(("a",)), "at least 2"),
        (lambda: Implies(("a", "a")), "twice"),
        (lambda: Intervals(5, 1, {"a": (1, 2)}), "lo <= hi"),
        (lambda: Intervals(1, 5, {"a": (3, 2)}), "is empty"),
        (lambda: Combinations(("a", "b"), ((0, 2),)), "zeros and ones"),
    ],
)
def test_malformed_groups_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidDomainError, match=message):
        make()
