"""The noisy histogram of leaves and rules: its scale, its event, and what is made of it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from glassine.learners.publishing import evidence_of
from glassine.privacy import accounting
from glassine.privacy.accounting import DiscreteLaplaceNoise
from glassine.privacy.randomness import Randomness
from glassine.privacy.unit import RECORD
from glassine.sealed.accounts import Allowance
from glassine.sealed.queries import Counts
from tests.privacy.fitting import fits


class Table:
    """Cells whose counts are given."""

    parts = 1

    def __init__(self, counts: npt.NDArray[np.int64]) -> None:
        self.counts = counts

    def count(self, records: object) -> npt.NDArray[np.int64]:
        return self.counts


def noisy_histogram(
    counts: npt.NDArray[np.int64], epsilon: Fraction, total: Fraction, randomness: Randomness
) -> tuple[npt.NDArray[np.int64], DiscreteLaplaceNoise]:
    question, part = Counts(key=Table(counts)), Allowance(epsilon=epsilon, total=total, unit=RECORD)
    (event,) = question.events(part)
    assert isinstance(event, DiscreteLaplaceNoise)
    return question.draw(None, part, randomness, None), event


def draws(epsilon: Fraction, n: int, *, counts: int = 10**6) -> npt.NDArray[np.int64]:
    noisy, _ = noisy_histogram(np.full((n // 2, 2), counts), epsilon, epsilon, Randomness.of(5))
    return (noisy - counts).ravel()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1, 20)])
def test_noise_has_the_stated_scale_and_no_other(epsilon: Fraction) -> None:
    # Sixteen cells and 40,000 draws: see tests/privacy/fitting.py for the power.
    found = draws(epsilon, 40_000)
    edges = np.linspace(-3, 3, 15).round(1) / float(epsilon)
    for factor, right in ((1.0, True), (0.9, False), (1.1, False)):
        q = np.exp(-float(epsilon) / factor)

        def cdf(x: npt.NDArray[np.float64], q: float = q) -> npt.NDArray[np.float64]:
            whole = np.floor(x)
            below = q ** np.abs(np.minimum(whole, 0)) / (1 + q)
            above = 1 - q ** (np.maximum(whole, 0) + 1) / (1 + q)
            return np.asarray(np.where(whole < 0, below, above), dtype=np.float64)

        assert fits(found, cdf, edges) is right


def test_counts_are_cut_at_zero_and_keep_their_shape() -> None:
    noisy, _ = noisy_histogram(np.zeros((500, 3), dtype=np.int64), Fraction(1, 10), Fraction(1), Randomness.of(1))
    assert noisy.shape == (500, 3)
    assert noisy.min() == 0
    assert (noisy > 0).any()
    assert noisy.dtype == np.int64


def test_the_event_costs_what_was_given() -> None:
    epsilon = Fraction(3, 100)
    _, event = noisy_histogram(np.zeros((2, 2), dtype=np.int64), epsilon, Fraction(3, 10), Randomness.of(1))
    assert accounting.epsilon([event]) == pytest.approx(0.03, rel=1e-14)
    assert event.share == pytest.approx(0.1)
    assert event.l1_sensitivity == 1.0
    assert event.proof == "learners/publishing.md"


def test_evidence_holds_whole_numbers_or_none() -> None:
    (published,) = evidence_of([1], np.array([[4, 7]], dtype=np.int64))
    assert published.counts == (4, 7)
    assert published.prediction == 1
    assert evidence_of([0], None)[0].counts is None
