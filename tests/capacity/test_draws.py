"""Draws without replacement, and one published model, by enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from glassine.capacity import (
    conditional_bits,
    design_advantage,
    design_bits,
    design_success,
    draw_dependence,
    strata_bits,
)
from glassine.capacity.without_replacement import MODE
from glassine.errors import InvalidParameterError
from tests.oracles.attacks_by_enumeration import Array, Design, deterministic, entropy_of, h, halves

DESIGNS = [(6, 1), (6, 3), (10, 5), (10, 2), (12, 3), (12, 6)]


def kernels(samples: Array, rng: np.random.Generator, many: int) -> list[Array]:
    """Learners of several kinds, with and without coins."""
    out = []
    persons = samples.shape[1]
    for mode in range(many):
        k = int(rng.integers(2, 40))
        if mode % 4 == 0:
            out.append(rng.dirichlet(np.full(k, 0.1), len(samples)))
        elif mode % 4 == 1:
            words = rng.integers(0, 2, (k, persons))
            out.append(deterministic(np.argmin((samples[:, None] != words[None]).sum(axis=2), axis=1).tolist()))
        elif mode % 4 == 2:
            shown = int(rng.integers(1, persons))
            out.append(deterministic([tuple(row[:shown]) for row in samples]))
        else:
            out.append(deterministic([int(row[: int(rng.integers(1, 4))].sum() == 0) for row in samples]))
    return out


@pytest.mark.parametrize(("persons", "sample"), DESIGNS)
def test_no_learner_exceeds_the_cost_of_the_draw(persons: int, sample: int) -> None:
    rng, samples = np.random.default_rng(persons + sample), halves(persons, sample)
    exact = persons * float(h(sample / persons)) - math.log2(len(samples))
    assert 0 <= draw_dependence(persons, sample) - exact < 1e-9
    closest = 0.0
    for kernel in kernels(samples, rng, 24):
        seen = Design.of(samples, kernel)
        inside = kernel[kernel > 0]
        revealed = seen.entropy + float((inside * np.log2(inside)).sum()) / len(samples)  # I(U; M)
        bound = design_bits(max(revealed, 0.0), persons, sample)
        assert seen.information.sum() <= bound + 1e-9
        assert seen.advantages.mean() <= design_advantage(bound / persons, sample / persons) + 1e-9
        closest = max(closest, seen.information.sum() / bound)
    assert closest > 0.5


def test_independence_where_there_is_none_is_caught() -> None:
    # Of 12 persons 3 are drawn, four of them are shown: more is revealed than the model has bits.
    samples = halves(12, 3)
    seen = Design.of(samples, deterministic([tuple(row[:4]) for row in samples]))
    assert seen.entropy == pytest.approx(3.201, abs=5e-4)
    assert seen.information.sum() == pytest.approx(3.539, abs=5e-4)
    assert seen.information.sum() > seen.entropy
    assert seen.information.sum() <= design_bits(seen.entropy, 12, 3)
    # A constant that was rounded down would do harm: the largest mode is that of the lemma.
    widths = np.linspace(0.01, 3, 3000)
    from scipy.special import ive

    assert 4 * float(np.max(np.sqrt(2 * widths) * ive(0, 2 * widths))) ** 2 <= MODE < 0.8793


def test_the_lemmas_of_the_refund_hold() -> None:
    rng = np.random.default_rng(3)
    for _ in range(500):
        p = rng.uniform(0, 1, int(rng.integers(1, 25))) ** rng.choice([0.3, 1, 3])
        law = np.array([1.0])
        for one in p:
            law = np.convolve(law, [1 - one, one])
        assert law.max() <= math.sqrt(MODE / 4 / float((p * (1 - p)).sum())) + 1e-12
    p = np.linspace(1e-6, 1 - 1e-6, 2001)
    assert (h(p) <= (4 * p * (1 - p)) ** (1 / math.log(4)) + 1e-12).all()


def test_large_frames_by_stirling_agree_with_whole_numbers() -> None:
    for size, n in ((2001, 1), (2001, 1000), (5000, 30), (10_000, 5_000)):
        whole = math.comb(size, n)
        cut = max(whole.bit_length() - 60, 0)
        log = math.log2(whole >> cut) + cut
        exact = size * float(h(n / size)) - log
        assert -1e-8 < draw_dependence(size, n) - exact < 5e-3 / min(n, size - n) ** 2 + 1e-8
    # The excess of a large frame over the bits is small.
    assert design_bits(0.0, 48_842, 24_421) < 0.24 < 8 < draw_dependence(48_842, 24_421)


@pytest.mark.parametrize("delta", [0.5, 0.2, 0.05, 0.01])
@pytest.mark.parametrize(("persons", "sample"), [(8, 4), (8, 2), (10, 5)])
def test_given_one_model_the_bound_fails_at_most_with_delta(persons: int, sample: int, delta: float) -> None:
    rng, samples, worst = np.random.default_rng(7), halves(persons, sample), 0.0
    for kernel in kernels(samples, rng, 40):
        seen = Design.of(samples, kernel)
        bits = conditional_bits(math.log2(len(seen.masses)), delta)
        bound = design_bits(bits, persons, sample)
        failed = seen.masses[seen.information_given > bound + 1e-9].sum()
        assert failed <= delta
        # Rates and advantages given m, for the best mark of each model, averaged over the persons.
        q = sample / persons
        marked = seen.posteriors > q
        true = (seen.posteriors * marked).sum(axis=0) / sample
        false = ((1 - seen.posteriors) * marked).sum(axis=0) / (persons - sample)
        most = design_advantage(bound / persons, q)
        assert seen.masses[true - false > most + 1e-9].sum() <= delta
        for t, f, mass in zip(true, false, seen.masses, strict=True):
            if t > design_success(float(np.clip(f, 0, 1)), bound / persons, q) + 1e-9:
                assert mass <= delta
        worst = max(worst, float(failed))
    assert 0 <= worst <= delta


def test_the_length_of_a_model_without_delta_is_caught() -> None:
    # A code may give one half of the models almost no bits: the published one then seems free.
    samples = halves(6)
    seen = Design.of(samples, deterministic(samples[:, 0].tolist()))
    length = math.log2(1 / 0.99)
    assert seen.information_given.max() == pytest.approx(1.0)
    assert seen.information_given.max() > length
    assert seen.information_given.max() <= conditional_bits(length, 0.5)


def test_clusters_are_no_persons() -> None:
    # A household of 50 and 50 singles on 51 coins: the household's bit has a mean advantage of 1/2 over persons.
    assert design_advantage(1 / 51) < 0.3 < 0.5


def test_strata_add_their_dependences() -> None:
    assert strata_bits(3.0, [12, 6], [6, 3]) == pytest.approx(3 + draw_dependence(12, 6) + draw_dependence(6, 3))
    assert entropy_of([0.5, 0.5]) == 1.0


def test_bad_input_is_an_error_of_ours() -> None:
    wrongs: list[Callable[[], float]] = [
        lambda: design_bits(1.0, 10, 10),
        lambda: design_bits(1.0, 10, 0),
        lambda: design_bits(math.nan, 10, 5),
        lambda: conditional_bits(1.0, 0.0),
        lambda: conditional_bits(1.0, 1),
        lambda: strata_bits(1.0, [10], []),
    ]
    for wrong in wrongs:
        with pytest.raises(InvalidParameterError):
            wrong()
