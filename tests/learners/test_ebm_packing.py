"""Packed terms: the same sums and scores as one term at a time."""

from __future__ import annotations

import numpy as np
import pytest

from glassine.sealed.sums import ROOM, Loss, Moves, advance, pack, start_scores


@pytest.mark.parametrize("sizes", [[3, 2, 5, 7, 4], [60, 40, 90, 2, 1], [300, 200, 100], [2]])
@pytest.mark.parametrize("outputs", [1, 3])
def test_sums_and_scores_are_those_of_the_terms_one_by_one(sizes: list[int], outputs: int) -> None:
    rng = np.random.default_rng(0)
    n, widest = 5000, max(sizes)
    codes = np.stack([rng.integers(0, size, n) for size in sizes]).astype(np.uint16 if widest > 255 else np.uint8)
    step = np.zeros((len(sizes), widest, outputs))
    for k, size in enumerate(sizes):
        step[k, :size] = rng.normal(0, 0.3, (size, outputs))
    target = rng.integers(0, outputs, n) if outputs > 1 else rng.integers(0, 2, n).astype(float)
    packed = pack(codes, sizes, outputs)
    assert packed.n_cells <= max(ROOM // outputs, widest)
    found, shift = [], np.full(outputs, 0.1)
    for given in (codes, packed):
        scores = start_scores(n, np.zeros(outputs))
        sums, curvature = advance(given, scores, target, Moves(step, shift), Loss.of(outputs, 0.5, 2**20, classes=True))
        found.append((sums, curvature, scores))
    assert found[1][2] == pytest.approx(found[0][2], abs=1e-12)
    # A score that is rounded in another way may move a residual by one unit.
    assert np.abs(found[1][0] - found[0][0]).max() <= 3
    assert abs(found[1][1] - found[0][1]) <= 100
    moves, loss = Moves(0 * step, shift), Loss.of(outputs, 0.5, 9, classes=True)
    one, two = (advance(of, start_scores(n, np.zeros(outputs)), target, moves, loss) for of in (packed, codes))
    assert one[0].tolist() == two[0].tolist()
    assert one[1] == two[1]


def test_groups_do_not_depend_on_the_records() -> None:
    sizes = [12, 30, 4, 9, 70]
    rng = np.random.default_rng(1)
    few, many = (
        pack(np.stack([rng.integers(0, size, n) for size in sizes]).astype(np.uint8), sizes, 1) for n in (3, 4000)
    )
    assert few.places.tolist() == many.places.tolist()
    assert few.n_groups == many.n_groups < len(sizes)
