"""Anonymity measures against their definitions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from glassine.attacks.disclosure import Adversary, infer_sensitive
from glassine.attacks.disclosure.anonymity import anonymity
from glassine.errors import InvalidParameterError
from tests.attacks.disclosure.instances import categories


def test_leaves_are_measured_as_their_published_counts_say() -> None:
    frame, y, tree = categories(2, n=60, min_samples_split=20)
    disclosure = infer_sensitive(tree, frame)
    result = anonymity(disclosure)
    assert disclosure.leaves.counts is not None
    overall = np.array([y.count(c) for c in ("c0", "c1", "c2")]) / 60
    for i, counts in enumerate(disclosure.leaves.counts):
        shares = counts / counts.sum()
        assert result.sizes[i] == counts.sum()
        assert result.distinct[i] == (counts > 0).sum()
        assert result.alpha[i] == pytest.approx(shares.max())
        assert result.entropy_l[i] == pytest.approx(np.prod([p**-p for p in shares if p]))
        assert result.t[i] == pytest.approx(np.maximum(shares - overall, 0).sum())
        moved = abs(shares[0] - overall[0]) + abs(shares[2] - overall[2])
        assert anonymity(disclosure, distance="ordered").t[i] == pytest.approx(moved / 2)
    worst = result.worst()
    assert worst["k"] == result.k == min(result.sizes)
    assert worst["alpha"] == result.alpha.max()


def test_quasi_identifiers_are_smaller_groups() -> None:
    frame, _, tree = categories(2, n=60)
    disclosure = infer_sensitive(tree, frame)
    result = anonymity(disclosure, "quasi_identifier")
    assert sorted(result.sizes.tolist()) == sorted(Counter(frame.rows()).values())
    assert result.k <= anonymity(disclosure).k
    unknown = infer_sensitive(tree, frame, adversary=Adversary("labels_only"))
    assert anonymity(unknown).worst()["t"] == pytest.approx(0)
    assert anonymity(unknown).worst()["entropy_l"] == pytest.approx(3)


@pytest.mark.parametrize("options", [{"groups": "person"}, {"distance": "cosine"}])
def test_unknown_options_are_refused(options: Any) -> None:
    frame, _, tree = categories(2)
    with pytest.raises(InvalidParameterError, match="must be one of"):
        anonymity(infer_sensitive(tree, frame), **options)
