"""Compiled discrete Gaussian noise: exact small cases, the law at all scales, and twins with planted bugs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from glassine.compiling import compiled
from glassine.errors import GlassineError
from glassine.privacy import fine_gaussian
from glassine.privacy import fine_gaussian as draws
from glassine.privacy.fine_gaussian import FineNoise, add_discrete_gaussian
from glassine.privacy.mechanisms import discrete_gaussian
from glassine.privacy.randomness import Randomness
from tests.privacy.branching import explore
from tests.privacy.fitting import CELLS, DRAWS, fits

Ints = npt.NDArray[np.int64]
_draw = draws._draw


def zeros(n: int) -> Ints:
    return np.zeros(n, dtype=np.int64)


def shares(sigma: float, reach: int = 60) -> npt.NDArray[np.float64]:
    """Probabilities of -reach to reach."""
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    return np.asarray(weights / weights.sum())


def accepts(noise: Ints, sigma: float) -> bool:
    """Whether noise may be discrete Gaussian: a test that a tenth more or less noise, or a weight of zero, fails.

    With the cells between 3 standard deviations, 40,000 draws and a threshold of 1e-9, a scale that is off by a tenth
    has a non-centrality of more than 400.
    """
    reach = max(1, math.floor(3 * sigma))
    expected = shares(sigma, 400)[400 - reach : 401 + reach] * len(noise)
    found = np.bincount(noise[np.abs(noise) <= reach] + reach, minlength=2 * reach + 1).astype(float)
    rest = len(noise) - expected.sum()
    return bool(stats.chisquare([*found, len(noise) - found.sum()], [*expected, rest]).pvalue > 1e-9)


@pytest.mark.parametrize(("sigma", "most"), [(1.0, 512), (1.3, 512), (2.5, 512), (1.3, 2), (1.3, 0)])
def test_small_noise_follows_the_exact_law(sigma: float, most: int) -> None:
    """With ``most`` at 0 or 2 all or a third of the draws are finished in Python."""
    noise = add_discrete_gaussian(zeros(40_000 if most else 12_000), sigma, Randomness.of(5), most=most)
    assert accepts(noise, sigma)
    if most == 512:
        assert not accepts(noise, 0.9 * sigma)
        assert not accepts(noise, 1.1 * sigma)


@pytest.mark.parametrize("sigma", [6.5, 1234.567, 1.1 * 2.0**30, float(np.nextafter(2.0**52, 0.0))])
def test_large_noise_follows_the_law(sigma: float) -> None:
    noise = add_discrete_gaussian(zeros(DRAWS["discrete_gaussian"]), sigma, Randomness.of(6))
    edges = np.floor(sigma * stats.norm.ppf(np.arange(1, CELLS) / CELLS)) + 0.5
    for factor in (1.0, 0.9, 1.1):
        assert fits(noise, stats.norm(scale=factor * sigma).cdf, edges) == (factor == 1.0)


def test_the_lowest_bits_are_fair_too() -> None:
    noise = add_discrete_gaussian(zeros(40_000), 1.3 * 2.0**30, Randomness.of(7))
    counts = np.bincount(noise & 15, minlength=16)
    assert stats.chisquare(counts).pvalue > 1e-9
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 6 / math.sqrt(len(noise))


@compiled
def all_strings(scale: draws._Scale, bits: int) -> Any:
    """Count how many of all bit strings of a length decide on each of -12 to 12; the last is how many do not decide."""
    words, state, out = np.zeros(2, dtype=np.uint64), np.zeros(3, dtype=np.int64), np.zeros(26, dtype=np.int64)
    for string in range(1 << bits):
        words[0] = np.uint64(string)
        state[0], state[1] = 0, bits
        value = _draw(words, state, scale, 512)
        out[25 if state[2] == 1 else value + 12] += 1
    return out


@pytest.mark.slow
@pytest.mark.parametrize(("p", "q"), [(1, 0), (3, 1)])
def test_every_string_of_eighteen_bits_leads_where_it_may(p: int, q: int) -> None:
    """What all strings decide is a part of the law, and what they leave open is the rest of it."""
    bits = 18
    sigma = p / 2**q
    scale = draws._Scale(p, q, (p - 1).bit_length(), (math.ceil(sigma) - 1).bit_length())
    counts = all_strings(scale, bits) / 2.0**bits
    decided, left = counts[:25], float(counts[25])
    law = shares(sigma)[60 - 12 : 60 + 13]
    assert 0.3 < left < 0.7
    assert (decided <= law + 1e-12).all()
    assert decided.tolist() == decided[::-1].tolist()
    # A draw that kept both zeros would not.
    both = decided.copy()
    both[12] *= 2
    assert not (both <= law + 1e-12).all()


def finished(randomness: Randomness, sigma: Fraction, bug: str) -> int | None:
    """Do as ``_finish`` does from the start, or with a planted bug."""
    if not bug:
        return draws._finish(0, sigma, randomness)
    k = 0
    while randomness.bernoulli_exp_ratio(1, 2):
        k += 1
    if bug != "k is geometric" and not randomness.bernoulli_exp_ratio(k * (k - 1), 2):
        return None
    negative = bool(randomness.bits(1))
    first = math.floor(k * sigma) if bug == "steps begin too early" else math.ceil(k * sigma)
    found = first + randomness.below(math.ceil(sigma))
    x = found / sigma - k
    if not x < 1 or (bug != "both zeros stay" and found == 0 and negative):
        return None
    if not randomness.bernoulli_exp(max(x * (2 * k + (0 if bug == "no square" else x)) / 2, Fraction(0))):
        return None
    return -found if negative else found


@pytest.mark.parametrize(
    "bug",
    ["", "k is geometric", "steps begin too early", "both zeros stay", "no square"],
    ids=lambda bug: bug or "none",
)
def test_one_attempt_is_exactly_proportional_to_the_law_and_planted_bugs_are_not(bug: str) -> None:
    sigma = Fraction(5, 2)
    found, left_out = explore(lambda randomness: finished(randomness, sigma, bug), least=1e-7)
    accepted = {value: mass for value, mass in found.items() if value is not None}
    total = sum(accepted.values())
    worst = max(abs(accepted.get(v, 0.0) / total - shares(2.5)[60 + v]) for v in range(-8, 9))
    assert left_out < 1e-4
    assert (worst < 1e-4) == (not bug)


def test_results_do_not_depend_on_where_blocks_of_words_end() -> None:
    """The same bits lead to the same noise, however few words are fetched at once."""
    reference = add_discrete_gaussian(zeros(50), 1e9, Randomness.of(8), words=100)
    for words in (0, 1, 3):
        assert add_discrete_gaussian(zeros(50), 1e9, Randomness.of(8), words=words).tolist() == reference.tolist()


def test_values_of_any_shape_get_noise_of_their_own_and_saturate() -> None:
    values = np.array([[0, 10**6], [-(10**9), 2**63 - 1], [-(2**63), 5]])
    noisy = add_discrete_gaussian(values, 1.0, Randomness.of(9))
    assert noisy.shape == (3, 2)
    assert np.abs((noisy - values)[noisy != values]).max() < 12
    top = add_discrete_gaussian(np.full(200, 2**63 - 1), 1e6, Randomness.of(10))
    assert top.max() == 2**63 - 1
    assert 2**63 - 1 - 10**7 < top.min() < 2**63 - 1
    assert 60 < (top == 2**63 - 1).sum() < 140
    bottom = add_discrete_gaussian(np.full(200, -(2**63)), 1e6, Randomness.of(10), most=0)
    assert bottom.min() == -(2**63)
    assert bottom.max() < -(2**63) + 10**7
    assert add_discrete_gaussian(zeros(0), 1e6, Randomness.of(10)).shape == (0,)


@pytest.mark.parametrize("sigma", [0.99, 2.0**52, math.inf, math.nan])
def test_a_scale_out_of_range_is_refused(sigma: float) -> None:
    with pytest.raises(GlassineError, match=r"sigma must be in \[1, 2\*\*52\)"):
        add_discrete_gaussian(zeros(1), sigma, Randomness.of(0))


def test_releases_draw_from_the_operating_system_unless_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = FineNoise.of(0.5, 4)
    asked = []

    def source(size: int) -> bytes:
        asked.append(size)
        return bytes(np.random.default_rng(len(asked)).bytes(size))

    noise.draw((4,), Randomness(source, seeded=False))
    assert sum(asked) >= 8 * 4 * draws.WORDS
    used = []

    def spy(*given: Any) -> Any:
        used.append(given)
        return discrete_gaussian(*given)

    monkeypatch.setattr(fine_gaussian, "discrete_gaussian", spy)
    first, second = (noise.draw((4,), Randomness.of(3)).tolist() for _ in range(2))
    assert first == second
    assert len(used) == 2
    assert noise.draw((4,), Randomness.of(None)).tolist() != noise.draw((4,), Randomness.of(None)).tolist()
    assert len(used) == 2


def test_noise_of_a_release_has_the_stated_scale() -> None:
    noise = FineNoise.of(0.5, 4)
    found = noise.draw((DRAWS["discrete_gaussian"],), Randomness.of(None)) / noise.units
    edges = noise.deviation * stats.norm.ppf(np.arange(1, CELLS) / CELLS)
    for factor in (1.0, 0.9, 1.1):
        assert fits(found, stats.norm(scale=factor * noise.deviation).cdf, edges) == (factor == 1.0)
