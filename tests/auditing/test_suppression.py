"""Suppression: what findings show of small counts, limit by limit and digit by digit."""

from __future__ import annotations

import math

import pytest

from glassine.attacks.label_disclosure import LABELS, LabelDisclosure
from glassine.attacks.outcome import About, Below, Hidden, ShownCount
from glassine.attacks.value_leakage import VALUES, ValueLeakage
from glassine.auditing.suppression import Suppression

HIDING, SHOWING = Suppression(10), Suppression(0)


@pytest.mark.parametrize(("value", "seen"), [(0, 0), (1, Below(10)), (9, Below(10)), (10, 10), (Below(5), Below(5))])
def test_counts_from_1_to_just_below_the_limit_are_not_shown(value: ShownCount, seen: ShownCount) -> None:
    assert HIDING.count(value) == seen
    assert SHOWING.count(value) == value


@pytest.mark.parametrize(("value", "seen"), [(None, Hidden()), (0, Hidden()), (9, Below(10)), (10, Hidden())])
def test_a_hidden_part_says_no_more_than_that_it_is_small(value: int | None, seen: ShownCount) -> None:
    assert HIDING.part(value, True) == seen
    assert HIDING.part(value, False) == value


@pytest.mark.parametrize(
    ("value", "seen"),
    [(0, 0), (1, About(10)), (14, About(10)), (16, About(20)), (34, About(30)), (36, About(40)), (Hidden(), Hidden())],
)
def test_rough_sizes_are_the_nearest_multiple_of_the_limit_and_never_none(value: ShownCount, seen: ShownCount) -> None:
    assert HIDING.rough(value) == seen
    assert SHOWING.rough(value) == value


@pytest.mark.parametrize(("value", "seen"), [(1.0, 1.0), (0.999, 0.95), (0.95, 0.95), (0.949, 0.9), (0.04, 0.0)])
def test_shares_of_a_class_are_rounded_down_to_a_twentieth(value: float, seen: float) -> None:
    assert HIDING.share(value) == seen
    assert SHOWING.share(value) == value


@pytest.mark.parametrize(("value", "seen"), [(1.23456, 1.23), (0.006, 0.01), (-0.001, 0.0)])
def test_figures_have_two_digits(value: float, seen: float) -> None:
    assert HIDING.figure(value) == seen
    assert math.copysign(1, HIDING.figure(value)) == 1
    assert SHOWING.figure(value) == value


def test_amounts_of_information_are_in_bits() -> None:
    assert SHOWING.bits(math.log(8)) == pytest.approx(3)
    assert HIDING.bits(0.5) == 0.72


@pytest.mark.parametrize(
    ("value", "n", "seen"),
    [
        (0.129, 1000, 0.12),
        (0.129, 2000, 0.12),
        (0.129, 500, 0.12),
        (0.139, 500, 0.12),
        (0.139, 2000, 0.13),
        (0.59, 50, 0.4),
        # A quotient just below a whole number stands for it: 0.6 / 0.2 is 2.9999999999999996.
        (0.6, 50, 0.6),
        (0.5, 70, 0.4286),
        (1.0, 30, 1.0),
        (1.0, 33, 0.9091),
        (0.9, 5, 0.0),
    ],
)
def test_proportions_are_rounded_down_to_what_as_many_records_as_the_limit_are(
    value: float, n: int, seen: float
) -> None:
    assert HIDING.proportion(value, n) == seen
    assert SHOWING.proportion(value, n) == value


@pytest.mark.parametrize(
    ("sizes", "hidden"),
    [
        ([10, 50, 0], [False, False, False]),
        ([3, 50, 60], [True, True, False]),
        ([60, 50, 3], [True, False, True]),
        ([3, 0, 60, 70], [True, False, True, False]),
        ([3, None, 60, 70], [True, False, True, False]),
        # Two limits in all are enough, one less is not.
        ([9, 11, 50], [True, True, False]),
        ([9, 10, 50], [True, True, True]),
        ([12, 3, 9, 40], [False, True, True, True]),
        ([9, 9, 2, 50], [True, True, True, False]),
    ],
)
def test_hidden_parts_are_two_at_least_and_their_sum_is_two_limits(sizes: list[int | None], hidden: list[bool]) -> None:
    assert HIDING.hidden(sizes) == hidden
    assert not any(SHOWING.hidden(sizes))


@pytest.mark.parametrize(
    ("points", "n", "seen"),
    [
        ([(0.1, 8.0), (1.0, 1.0)], 100, [(0.1, 8.0), (1.0, 1.0)]),
        ([(0.05, 8.0), (0.5, 4.0), (1.0, 1.0)], 100, [(0.5, 4.4), (1.0, 1.0)]),
        ([(0.5, 4.0), (0.95, 2.0), (1.0, 1.0)], 100, [(0.5, 4.0), (1.0, 1.9)]),
        ([(0.95, 2.0), (1.0, 1.0)], 100, [(1.0, 1.95)]),
        ([(0.4, 5.0), (1.0, 2.5)], 5, [(1.0, 3.5)]),
        ([], 5, []),
    ],
)
def test_steps_of_few_records_are_merged_with_their_mean(
    points: list[tuple[float, float]], n: int, seen: list[tuple[float, float]]
) -> None:
    curve = HIDING.curve(points, n)
    assert [share for share, _ in curve] == [share for share, _ in seen]
    assert [bits for _, bits in curve] == pytest.approx([bits for _, bits in seen])
    assert [share for share, _ in SHOWING.curve(points, n)] == [share for share, _ in points]


def disclosed(n: int) -> LabelDisclosure:
    return LabelDisclosure(
        n_records=n, purest=0.97, n_certain=16, guess_rate=0.8349, base_rate=0.5, bits_prior=1.0, bits_left=0.6199
    )


@pytest.mark.parametrize(("n", "seen"), [(1000, (0.83, 0.5, 1.0, 0.61)), (70, (0.7143, 0.4286, 1.0, 0.5714))])
def test_what_labels_disclose_is_rounded_down_to_the_limit(n: int, seen: tuple[float, ...]) -> None:
    shown = LABELS.hide(disclosed(n), HIDING)
    assert (shown.guess_rate, shown.base_rate, shown.bits_prior, shown.bits_left) == seen
    assert (shown.n_records, shown.purest, shown.n_certain) == (n, 0.95, About(20))
    assert LABELS.hide(disclosed(n), SHOWING) == disclosed(n)


@pytest.mark.parametrize(("exposed", "seen"), [(None, None), (0, 0), (3, Below(10)), (12, 12)])
def test_few_records_at_midpoints_and_few_lone_targets_are_not_counted(
    exposed: int | None, seen: ShownCount | None
) -> None:
    leaked = ValueLeakage(
        n_thresholds=5,
        n_off_grid=4,
        n_midpoints=3,
        n_records_at_midpoints=exposed,
        exact_bounds=(),
        lone_categories=(),
        n_lone_targets=2,
    )
    shown = VALUES.hide(leaked, HIDING)
    assert (shown.n_records_at_midpoints, shown.n_lone_targets) == (seen, Below(10))
    assert (shown.n_thresholds, shown.n_off_grid, shown.n_midpoints) == (5, 4, 3)
    assert VALUES.hide(leaked, SHOWING) == leaked
