"""What exact counts cost, by enumeration."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest

from glassine.capacity import (
    complexity_bits,
    conditional_bits,
    counts_given_frame,
    design_advantage,
    draw_dependence,
    free_counts_bits,
    fresh_advantage,
    mean_fit_bits,
    rounded_table_bits,
    table_bits,
)
from glassine.capacity.exact_counts import SMALLEST_REFUNDED
from glassine.errors import InvalidParameterError
from glassine.records.arrays import Indices
from tests.oracles.attacks_by_enumeration import Array, Fresh, h, halves, multinomial, types

CELLS = list(itertools.product((0, 1), repeat=3))
"""Values of a record: two attributes and a class."""

LAWS = {
    "uniform": [1 / 8] * 8,
    "skewed": [0.3, 0.05, 0.1, 0.05, 0.05, 0.1, 0.05, 0.3],
    "rare": [0.002, *[0.998 / 7] * 7],
}


def stump(counts: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Attribute of least Gini impurity, and the counts of its four cells."""
    found = []
    for attribute in (0, 1):
        table = np.zeros((2, 2), dtype=int)
        for count, record in zip(counts, CELLS, strict=True):
            table[record[attribute], record[2]] += count
        impurity = sum(float(row.sum() - (row**2).sum() / row.sum()) for row in table if row.sum())
        found.append((round(impurity, 12), attribute, tuple(table.ravel().tolist())))
    return min(found)[1:]


def of_exact(counts: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return stump(counts)


def of_labels(counts: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    attribute, table = stump(counts)
    return attribute, (int(table[1] > table[0]), int(table[3] > table[2]))


def of_rounded(counts: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    attribute, table = stump(counts)
    return attribute, tuple(int((c + 1) // 3) for c in table)  # To the nearest multiple of 3


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("n", [1, 4, 6])
def test_a_stump_with_counts_reveals_at_most_each_bound(law: list[float], n: int) -> None:
    seen = Fresh.of(n, law, of_exact)
    structure = 1.0
    bounds = {
        "tables": table_bits(4, n),
        "complexity": complexity_bits(4, n),
        "free of n": free_counts_bits(structure, 4),
    }
    for name, bound in bounds.items():
        assert seen.information <= structure + bound + 1e-9, name
        assert seen.advantage <= fresh_advantage((structure + bound) / n) + 1e-9, name
    assert bounds["complexity"] <= bounds["tables"] + 1e-9


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_labels_and_rounded_counts_reveal_at_most_what_is_counted(law: list[float]) -> None:
    n = 6
    for learner, bits in ((of_labels, 1.0 + 2), (of_rounded, 1 + rounded_table_bits(4, n, 3))):
        seen = Fresh.of(n, law, learner)
        assert len(seen.masses) <= 2**bits + 1e-9
        assert seen.information <= bits
        assert seen.advantage <= fresh_advantage(bits / n)


def test_counts_that_are_not_charged_are_caught() -> None:
    # A class of two structures, "1 bit", whose exact counts are published as well.
    n, law = 6, LAWS["uniform"]
    seen = Fresh.of(n, law, of_exact)
    assert seen.information > 1.0
    assert seen.advantage > fresh_advantage(1 / n)
    assert seen.information <= 1 + complexity_bits(4, n)


@pytest.mark.parametrize("delta", [0.5, 0.2, 0.05])
def test_given_one_model_with_counts_the_bound_fails_at_most_with_delta(delta: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(12):
        n, k, size = int(rng.choice([2, 4, 6])), int(rng.integers(2, 4)), int(rng.integers(1, 6))
        law = rng.dirichlet(np.full(4, rng.choice([0.3, 1, 5])))
        cuts = [rng.integers(0, k, 4) for _ in range(size)]

        def overfit(counts: tuple[int, ...], n: int = n, k: int = k, cuts: list[Indices] = cuts, law: Array = law):  # type: ignore[no-untyped-def]
            """Pick the structure whose counts are farthest from their law, as the worst learner does."""
            scored = []
            for t, cut in enumerate(cuts):
                c, p = np.bincount(cut, weights=counts, minlength=k), np.bincount(cut, weights=law, minlength=k)
                some = c > 0
                scored.append((float((c[some] * np.log(c[some] / n / p[some])).sum()), t, tuple(c.astype(int))))
            return max(scored)[1:]

        seen = Fresh.of(n, law.tolist(), overfit)
        bits = conditional_bits(math.log2(size), delta) + complexity_bits(k, n)
        failed = sum(mass for m, mass in seen.masses.items() if mass and seen.information_given(m) > bits + 1e-9)
        assert failed <= delta
        assert seen.information <= math.log2(size) + min(complexity_bits(k, n), free_counts_bits(math.log2(size), k))
        fit = 0.0
        for model, mass in seen.masses.items():
            assert isinstance(model, tuple)
            t, c = model
            p, share = np.bincount(cuts[t], weights=law, minlength=k), np.array(c) / n
            some = share > 0
            fit += mass * n * float((share[some] * np.log2(share[some] / p[some])).sum())
        assert fit <= mean_fit_bits(math.log2(size), k) + 1e-9


@pytest.mark.parametrize(("k", "n"), [(2, 1), (2, 7), (3, 5), (4, 6), (5, 4)])
def test_the_complexity_is_the_shtarkov_sum(k: int, n: int) -> None:
    total = sum(multinomial(c, [x / n for x in c]) for c in types(n, k))
    assert complexity_bits(k, n) == pytest.approx(math.log2(total), abs=1e-10)
    assert complexity_bits(k, n) >= math.log2(total) - 1e-14
    assert 2 ** table_bits(k, n) == pytest.approx(len(types(n, k)))


def test_the_complexity_of_many_records_has_its_known_limit() -> None:
    k, n = 16, 10**8
    limit = (k - 1) / 2 * math.log2(n / 2) + math.log2(math.sqrt(math.pi) / math.gamma(k / 2))
    assert complexity_bits(k, n) == pytest.approx(limit, abs=0.02)
    assert free_counts_bits(31.7, 16) < 51 < complexity_bits(16, 24_421) < 91


def test_rounded_tables_are_at_most_so_many() -> None:
    for k, n, step in ((2, 9, 2), (3, 7, 3), (4, 6, 2), (4, 6, 5)):
        tables = {tuple(round(c / step + 1e-9) for c in one) for one in types(n, k)}
        assert len(tables) <= 2 ** rounded_table_bits(k, n, step) + 1e-6


# In the design game, given the published model


def frame_learner(rng: np.random.Generator, persons: int) -> tuple[list[Indices], Array, Array]:
    """Partitions of a frame, the probabilities that its code gives them, and all halves."""
    k, size = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    cuts = [rng.integers(0, k, persons) for _ in range(size)]
    return cuts, rng.dirichlet(np.ones(size)), halves(persons, persons // 2)


def far(cut: Indices, row: Array) -> float:
    """How far the counts of a sample are from half of the frame's."""
    k = int(cut.max()) + 1
    return float(np.abs(np.bincount(cut, weights=row, minlength=k) - np.bincount(cut, minlength=k) / 2).max())


LEARNERS: dict[str, Callable[[list[Indices], Array], int]] = {
    "farthest": lambda cuts, row: int(np.argmax([far(cut, row) for cut in cuts])),
    "nearest": lambda cuts, row: int(np.argmin([far(cut, row) for cut in cuts])),
    "by position": lambda cuts, row: int(row @ np.arange(len(row))) % len(cuts),
}


@pytest.mark.parametrize("pick", LEARNERS.values(), ids=LEARNERS)
def test_given_the_frame_the_bound_fails_at_most_with_delta(
    pick: Callable[[list[Indices], Array], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The smallest refunded cell is lowered, so that a frame that can be enumerated has refunds.
    monkeypatch.setattr("glassine.capacity.exact_counts.SMALLEST_REFUNDED", 4)
    rng, refunded = np.random.default_rng(11), 0
    for _ in range(8):
        persons = int(rng.choice([8, 10]))
        cuts, prior, samples = frame_learner(rng, persons)
        groups: dict[tuple[int, ...], list[Array]] = defaultdict(list)
        for row in samples:
            t = pick(cuts, row)
            groups[(t, *np.bincount(cuts[t], weights=row, minlength=int(cuts[t].max()) + 1).astype(int))].append(row)
        for delta in (0.5, 0.2, 0.05):
            failed = 0.0
            for (t, *held), rows in groups.items():
                frame = np.bincount(cuts[t]).tolist()
                bits = counts_given_frame(-math.log2(prior[t]), held, frame, delta)
                refunded += max(frame) >= 4
                posterior = np.mean(rows, axis=0)
                told = persons - float(h(posterior).sum())
                mean = float(np.abs(2 * posterior - 1).mean())
                broken = told > bits + 1e-9 or mean > design_advantage(min(bits / persons, 1.0)) + 1e-9
                failed += broken * len(rows) / len(samples)
            assert failed <= delta
    assert refunded


def test_the_refund_is_worth_having() -> None:
    # 16 equal cells of Adult's size, at counts as far from the mode as a draw has them on average.
    held = [1526 + d for d in (20, -20) * 8]
    frame = [3052] * 16
    refunded = counts_given_frame(31.7, held, frame, 0.05)
    full = conditional_bits(31.7 + table_bits(16, sum(held)), 0.05) + draw_dependence(sum(frame), sum(held))
    assert refunded < 60 < 210 < full
    assert min(frame) >= SMALLEST_REFUNDED == 64


@pytest.mark.parametrize(
    ("held", "frame"), [([3, 4], [7, 8]), ([3, 3], [7, 6]), ([9, 1], [8, 12]), ([], []), ([1], [1, 1])]
)
def test_a_sample_that_is_no_half_is_refused(held: list[int], frame: list[int]) -> None:
    with pytest.raises(InvalidParameterError):
        counts_given_frame(1.0, held, frame, 0.05)
