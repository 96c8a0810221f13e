"""The likeliest counts under stated noise, against all counts of small tables."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine import Domain, parse_rules, reconstruct
from glassine.attacks import CountNoise
from glassine.attacks.reconstruction.count_bounds import likeliest_counts
from glassine.domain import ExactlyOne
from glassine.errors import InvalidParameterError, UndefinedMeasureError

NOISES = (
    CountNoise("geometric", 1.5),
    CountNoise("laplace", 0.7),
    CountNoise("gaussian", 2.0),
    CountNoise("rounded", 3),
)


def log_likelihood(noise: CountNoise, published: tuple[int, ...], counts: tuple[int, ...]) -> float:
    pairs = zip(published, counts, strict=True)
    return sum(float(noise.log_likelihood(one, np.array([true]))[0]) for one, true in pairs)


@settings(max_examples=40)
@given(
    st.sampled_from(NOISES),
    st.lists(st.integers(0, 2), min_size=1, max_size=3),
    st.one_of(st.none(), st.integers(0, 7)),
    st.data(),
)
def test_no_counts_of_the_total_are_likelier(
    noise: CountNoise, drawn: list[int], total: int | None, data: st.DataObject
) -> None:
    published = tuple(3 * one if noise.kind == "rounded" else one for one in drawn)
    possible = np.array(data.draw(st.lists(st.booleans(), min_size=len(drawn), max_size=len(drawn))))
    tables = [
        table
        for table in product(range(9), repeat=len(drawn))
        if total in (None, sum(table)) and all(open_ or not n for n, open_ in zip(table, possible, strict=True))
    ]
    best = max((log_likelihood(noise, published, table) for table in tables), default=-np.inf)
    if best == -np.inf:
        with pytest.raises(UndefinedMeasureError, match="cannot come from the stated noise"):
            likeliest_counts(np.array(published), noise, total, possible)
        return
    found = tuple(likeliest_counts(np.array(published), noise, total, possible).tolist())
    assert found in tables
    assert log_likelihood(noise, published, found) == pytest.approx(best, abs=1e-9)


def test_a_noisy_list_is_read_as_the_likeliest_exact_one() -> None:
    domain = Domain.binary(["red", "green", "blue"], groups=(ExactlyOne(("red", "green", "blue")),))
    text = "if [red] then [true] ([2 ; 9] examples)\nelse if [green] and [blue] then [true] ([1 ; 4] examples)\n"
    rules = parse_rules(text + "else [false] ([6 ; 0] examples)", domain)
    known = reconstruct(rules, domain, noise=CountNoise("geometric", 2.0))
    # No record is green and blue, and twelve of the other counts' seventeen remain: one unit of each in turn.
    assert known.most_likely().supports == (11, 0, 6)
    likeliest = known.most_likely(12)
    assert likeliest.supports == (7, 0, 5)
    assert (likeliest.n_records, likeliest.noise) == (12, None)
    rows = likeliest.sample(random_state=0)
    assert rules.apply(rows).tolist() == [0] * 7 + [2] * 5


def test_the_likeliest_counts_approach_the_true_ones_as_noise_goes() -> None:
    rng = np.random.default_rng(0)
    true = np.array([40, 3, 0, 17, 90, 1])
    off = []
    for scale in (50.0, 5.0, 0.1):
        far = []
        for _ in range(15):
            noisy = np.maximum(true + np.rint(rng.laplace(0, scale, 6)).astype(int), 0)
            found = likeliest_counts(noisy, CountNoise("geometric", scale), 151, np.ones(6, dtype=bool))
            assert found.sum() == 151
            far.append(abs(found - true).sum())
        off.append(np.mean(far))
    assert off[0] > off[1] > off[2]
    assert off[2] < 0.5


def test_exact_counts_are_their_own_likeliest_and_what_contradicts_them_is_refused() -> None:
    domain = Domain.binary(["a", "b"])
    rules = parse_rules("if [a] then [true] ([1 ; 2] examples)\nelse [false] ([3 ; 0] examples)", domain)
    known = reconstruct(rules, domain)
    assert known.most_likely() is known
    assert known.most_likely(6) is known
    with pytest.raises(InvalidParameterError, match="add up to 6 records, not 7"):
        known.most_likely(7)
    noisy = reconstruct(rules, domain, noise=CountNoise("geometric", 1.0))
    with pytest.raises(InvalidParameterError, match="at least 1"):
        noisy.most_likely(0)
    silent = parse_rules("if [a] then [true]\nelse [false]", domain)
    with pytest.raises(UndefinedMeasureError, match="does not publish"):
        reconstruct(silent, domain, noise=CountNoise("geometric", 1.0)).most_likely()
