"""The bounds of the number of datasets, where the exact number is not used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from itertools import product

import numpy as np
import pytest

from glassine.attacks.reconstruction import joint_bounds as bounds
from glassine.attacks.reconstruction.joint_bounds import (
    OptionBlock,
    Potentials,
    counted,
    log_lower,
    log_upper,
    maximise_entropy,
)
from glassine.attacks.reconstruction.joint_cells import System
from glassine.attacks.reconstruction.joint_intervals import log_sum
from glassine.attacks.reconstruction.joint_programs import settle, whole_table


def block(rng: np.random.Generator, shape: tuple[int, ...], n: int) -> tuple[OptionBlock, list[int]]:
    """Return a full block of random cells with the margins of a random table."""
    parts = np.array(list(product(*(range(size) for size in shape))), dtype=np.intp)
    while True:
        table = rng.multinomial(n, rng.dirichlet(np.ones(len(parts))))
        counts = tuple(np.bincount(parts[:, i], table, minlength=size).astype(np.int64) for i, size in enumerate(shape))
        if all((count > 0).all() for count in counts):
            break
    sizes = rng.integers(1, 50, len(parts)).tolist()
    logs = np.log(np.array(sizes, dtype=float))
    return OptionBlock(options=np.arange(len(parts)), parts=parts, counts=counts, log_sizes=logs), sizes


def tables(parts: np.ndarray, counts: list[list[int]], place: int = 0) -> Iterator[list[int]]:
    """Yield every table with some margins."""
    if place == len(parts):
        if not any(any(count) for count in counts):
            yield []
        return
    for number in range(min(counts[i][part] for i, part in enumerate(parts[place])) + 1):
        left = [list(count) for count in counts]
        for i, part in enumerate(parts[place]):
            left[i][part] -= number
        for rest in tables(parts, left, place + 1):
            yield [number, *rest]


def enumerated(given: OptionBlock, sizes: list[int]) -> float:
    """Return the logarithm of the sum over all tables."""
    total = 0.0
    for table in tables(given.parts, [count.tolist() for count in given.counts]):
        total += math.prod(w**t / math.factorial(t) for w, t in zip(sizes, table, strict=True))
    return math.log(total)


CASES = [((2, 2), 5), ((2, 3), 6), ((3, 3), 6), ((2, 2), 40), ((2, 2, 2), 5)]


@cache
def each() -> list[tuple[OptionBlock, list[int], Potentials, float]]:
    """Return the blocks of the tests, with the sizes of the cells, the fitted table and the truth."""
    rng = np.random.default_rng(0)
    out = []
    for shape, n in CASES:
        for _ in range(4):
            given, sizes = block(rng, shape, n)
            out.append((given, sizes, maximise_entropy(given), enumerated(given, sizes)))
    return out


def test_the_exact_number_is_that_of_enumeration() -> None:
    for given, sizes, _, truth in each():
        exact = counted(given, sizes)
        assert exact is not None
        assert exact[0] < truth < exact[1]
        assert exact[1] - exact[0] < 1e-9


def unsound(lower: Callable[..., float], upper: Callable[..., float]) -> int:
    """Count the blocks on which one of two bounds is broken."""
    broken = 0
    for given, _, fit, truth in each():
        for reference in range(len(given.counts)):
            broken += upper(given, fit, reference) < truth - 1e-9
            if len(given.counts) == 2:
                broken += lower(given, fit, reference) > truth + 1e-9
    return broken


def test_the_bounds_hold_and_planted_faults_break_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unsound(log_lower, log_upper) == 0
    torus, factors = bounds._torus, bounds._factors
    monkeypatch.setattr(bounds, "_torus", lambda *a: 2 * torus(*a))
    assert unsound(lambda *a: -math.inf, log_upper) > 0
    monkeypatch.setattr(bounds, "_torus", torus)
    monkeypatch.setattr(bounds, "_factors", lambda *a: (factors(*a)[0] / 2, 0.0))
    assert unsound(log_lower, lambda *a: math.inf) > 0


def test_any_potentials_give_an_upper_bound() -> None:
    rng = np.random.default_rng(1)
    for given, _, fit, truth in each():
        wrong = tuple(values + rng.normal(0, 0.3, len(values)) for values in fit.potentials)
        moved = Potentials(potentials=wrong, table=fit.table, residual=fit.residual)
        assert log_upper(given, moved, 0) >= truth - 1e-9


def test_the_bounds_are_close_for_two_models() -> None:
    rng = np.random.default_rng(2)
    given, sizes = block(rng, (3, 3), 400)
    fit = maximise_entropy(given)
    assert fit.residual < 1e-6
    width = min(log_upper(given, fit, i) for i in (0, 1)) - max(log_lower(given, fit, i) for i in (0, 1))
    assert 0 < width < 3.5
    exact = counted(given, sizes)
    assert exact is None, "too large to be counted"


def test_the_fitted_table_has_the_margins_and_the_largest_entropy() -> None:
    rng = np.random.default_rng(3)
    given, _ = block(rng, (3, 2, 2), 30)
    fit = maximise_entropy(given)
    for i, count in enumerate(given.counts):
        assert np.bincount(given.parts[:, i], fit.table) == pytest.approx(count)
    scores = sum(values[given.parts[:, i]] for i, values in enumerate(fit.potentials))
    assert np.log(fit.table) == pytest.approx(given.log_sizes + scores, abs=1e-6)


def test_a_whole_table_is_close_to_the_fitted_one() -> None:
    rng = np.random.default_rng(4)
    given, _ = block(rng, (3, 3, 3), 60)
    fit = maximise_entropy(given)
    table = whole_table(given.parts, given.counts, fit.table, seconds=20)
    assert table is not None
    assert (table >= 0).all()
    for i, count in enumerate(given.counts):
        assert (np.bincount(given.parts[:, i], table) == count).all()
    assert np.abs(table - fit.table).max() < 2.5


def test_a_fitted_table_that_misses_the_margins_breaks_no_lower_bound() -> None:
    rng = np.random.default_rng(5)
    helped = refused = 0
    for given, _, fit, truth in each():
        if len(given.counts) != 2:
            continue
        exact = whole_table(given.parts, given.counts, fit.table, seconds=20)
        for share in (1e-9, 1e-4, 0.5):
            table = fit.table * (1 + share * rng.random(len(fit.table)))
            off = sum(
                float(np.abs(np.bincount(given.parts[:, i], table) - count).sum())
                for i, count in enumerate(given.counts)
            )
            moved = Potentials(potentials=fit.potentials, table=table, residual=off)
            for reference in (0, 1):
                alone = log_lower(given, moved, reference)
                backed = log_lower(given, moved, reference, exact)
                assert alone <= backed <= truth
                assert backed > -math.inf
                refused += alone == -math.inf
                helped += share < 1e-3 and alone > truth - 5
    assert refused
    assert helped


@pytest.mark.parametrize("count", [1, 10**9])
@pytest.mark.parametrize("bits", [1, 1000])
def test_what_is_fixed_is_rounded_outwards_too(count: int, bits: int) -> None:
    size = 3**bits
    system = System(
        cells=np.array([0, 1]),
        classes=np.array([-1, -1]),
        parts=np.array([[0, 0], [1, 1]]),
        counts=(np.array([count, 1]), np.array([count, 1])),
        fixed=np.array([-1, -1]),
    )
    names = ["one", "other"]
    found = log_sum(settle(system, names), [size, 7], names, seconds=1)
    n = Decimal(count)
    stirling = n * n.ln() - n + (2 * n * Decimal(math.pi)).ln() / 2 + 1 / (12 * n) if count > 1 else Decimal(0)
    truth = n * bits * Decimal(3).ln() + Decimal(7).ln() - stirling
    assert Decimal(found.lower) < truth < Decimal(found.upper)
    assert found.upper - found.lower < 1e-11 * (1 + count * bits) * 20


@pytest.mark.parametrize("digits", [9, 300])
def test_bounds_hold_for_a_thousand_million_records_and_sizes_far_apart(
    digits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A table of two by two with one small part has few tables: their sum is known to many digits.
    sizes = [10**digits, 1, 3, 10 ** (digits // 2)]
    n, small = 10**9, 12
    margins = (np.array([n, small]), np.array([n - 5, small + 5]))
    system = System(
        cells=np.arange(4),
        classes=np.full(4, -1),
        parts=np.array([[0, 0], [0, 1], [1, 0], [1, 1]]),
        counts=margins,
        fixed=np.full(4, -1),
    )

    def log_factorial(number: int) -> Decimal:
        if number < 100:
            return Decimal(math.factorial(number)).ln()
        x, pi = Decimal(number), Decimal("3.1415926535897932384626433833")
        return x * x.ln() - x + (2 * pi * x).ln() / 2 + 1 / (12 * x)

    terms = []
    for moved in range(small + 1):
        table = [n - 5 - moved, 5 + moved, moved, small - moved]
        terms.append(
            sum((t * Decimal(w).ln() - log_factorial(t) for t, w in zip(table, sizes, strict=True)), Decimal(0))
        )
    top = max(terms)
    truth = top + sum(((term - top).exp() for term in terms), Decimal(0)).ln()
    monkeypatch.setattr("glassine.attacks.reconstruction.joint_intervals.counted", lambda *a: None)
    names = ["one", "other"]
    found = log_sum(settle(system, names), sizes, names, seconds=1)
    assert Decimal(found.lower) <= truth <= Decimal(found.upper)
