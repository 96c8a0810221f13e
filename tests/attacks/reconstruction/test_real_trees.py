"""Trees of COMPAS: the bounds are close, and hold the records that they were learnt from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import as_model
from glassine.attacks.reconstruction.joint_rows import reconstruct_jointly
from tests.oracles import compas


@pytest.mark.data
def test_trees_of_compas(data_dir: Path) -> None:
    names, records, labels = compas.read(data_dir)
    frame = pl.DataFrame(records, schema=names)
    rows = frame.to_pandas()
    trees = [
        DecisionTreeClassifier(max_leaf_nodes=60, max_features="sqrt", random_state=seed).fit(rows, labels)
        for seed in range(2)
    ]
    known = reconstruct_jointly(trees, compas.domain(names), data=frame)
    bits = known.bits_per_record
    assert known.bits_aligned is not None
    assert max(known.bits_alone) < bits.lower <= bits.upper < known.bits_aligned
    assert bits.width < 0.02
    assert known.cells is not None
    assert known.cells.exact.all()
    columns = {name: records[:, i] for i, name in enumerate(names)}
    leaves = np.stack([as_model(tree).apply(columns) for tree in trees], axis=1)
    place = {tuple(cell): i for i, cell in enumerate(known.cells.leaves.tolist())}
    held = np.bincount([place[tuple(row)] for row in leaves.tolist()], minlength=len(place))
    assert (known.cells.low <= held).all()
    assert (held <= known.cells.high).all()
    third = reconstruct_jointly([*trees, trees[0]], compas.domain(names))
    assert third.bits_per_record.upper >= bits.lower
    assert third.bits_per_record.lower <= bits.upper
