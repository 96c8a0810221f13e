"""Numbers as exact fractions."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.errors import GlassineError
from glassine.privacy.exact import common_denominator, decimal, float_above, positive, rational


def test_parameters_are_decimals_and_scores_are_binary() -> None:
    assert decimal(0.1, "x") == Fraction(1, 10)
    assert rational(0.1, "x") == Fraction(3602879701896397, 36028797018963968)
    assert decimal(np.float64(0.3), "x") == Fraction(3, 10)
    assert decimal(np.int32(3), "x") == rational(3, "x") == 3
    assert decimal(Fraction(1, 3), "x") == Fraction(1, 3)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, np.True_, None, "1", 1j, Decimal(1)])
def test_what_is_no_finite_number_is_refused(value: object) -> None:
    for convert in (decimal, rational, positive):
        with pytest.raises(GlassineError, match="x must be a finite number"):
            convert(value, "x")


@pytest.mark.parametrize("value", [0, -1, -0.0, Fraction(-1, 3)])
def test_positive_means_positive(value: object) -> None:
    with pytest.raises(GlassineError, match="x must be positive"):
        positive(value, "x")


@given(st.fractions(Fraction(1, 10**9), 10**9))
def test_float_above_is_the_least_float_that_is_not_below(value: Fraction) -> None:
    above = float_above(value)
    assert Fraction(above) >= value
    assert Fraction(math.nextafter(above, 0.0)) < value


def test_float_above_refuses_what_no_float_reaches() -> None:
    with pytest.raises(GlassineError, match=r"below 1\.8e308"):
        float_above(Fraction(10**400))


@pytest.mark.slow
@given(st.lists(st.fractions(), max_size=5))
def test_common_denominator_denotes_the_same_numbers(values: list[Fraction]) -> None:
    numerators, denominator = common_denominator(values)
    assert [Fraction(numerator, denominator) for numerator in numerators] == values
