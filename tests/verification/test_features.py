"""Features of outputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from glassine import Domain
from glassine.errors import UnsupportedModelError
from glassine.learners import OptimalRuleListClassifier, PrivateTreeClassifier
from glassine.verification.features import LONGEST, features_of

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
DOMAIN = Domain.binary(["p", "q"])


def tree(seed: int, **more: Any) -> Any:
    return PrivateTreeClassifier(
        2, epsilon=50.0, domain=DOMAIN, classes=(0, 1), random_state=seed, leaf_counts_share=0.5, **more
    )


def test_a_tree_shows_literals_labels_counts_structure_and_certificate() -> None:
    fitted = tree(0).fit(X, X[:, 0] & X[:, 1])
    found = features_of(fitted)
    assert found[" total"] == sum(sum(cell.evidence.counts or ()) for cell in fitted.model_.cells)
    assert found[" cells"] == len(fitted.model_.cells)
    for part in ("tests p", "predicts 1", "count 0", "structure = ", "class 1", "certificate = ", "whole = "):
        assert any(part in name for name in found), part
    # Of the model alone, the certificate and the classes are not there.
    assert not any("certificate" in name for name in features_of(fitted.model_))


def test_one_more_record_shows_in_counts_and_one_other_parameter_in_the_certificate() -> None:
    fitted = tree(0).fit(X, X[:, 0])
    more = tree(0).fit(np.vstack([X, [[1, 1]] * 30]), np.append(X[:, 0], [1] * 30))
    assert features_of(more)[" total"] > features_of(fitted)[" total"] + 20
    certificates = [
        {name for name in features_of(one.fit(X, X[:, 0])) if "certificate" in name}
        for one in (tree(0), tree(1), tree(0, quantile_share=0.3), tree(0).set_params(epsilon=40.0))
    ]
    assert certificates[0] == certificates[1]
    assert certificates[0] != certificates[3]


def test_a_rule_list_shows_its_rules_in_order() -> None:
    found = features_of(OptimalRuleListClassifier(2, domain=DOMAIN).fit(X, X[:, 0]).model_)
    assert any(name.startswith(" rule 0 is ") for name in found)
    assert any("else" in name for name in found)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (1.5, {"value": 1.5}),
        (True, {" = True": 1.0}),
        (np.int64(3), {"value": 3.0}),
        ("yes", {" = yes": 1.0}),
        (b"yes", {" = b'yes'": 1.0}),
        (None, {" = None": 1.0}),
        (math.nan, {" = nan": 1.0}),
        (-math.inf, {" = -inf": 1.0}),
        (np.array([[1.0, 2.0]]), {"[1]": 2.0, " has shape (1, 2)": 1.0}),
        (np.array(["a"], dtype=object), {"[0] = a": 1.0}),
        ({"a": {"b": [1, "c"]}}, {" has a": 1.0, ".a has b": 1.0, ".a.b[0]": 1.0, ".a.b has c": 1.0}),
        ({1: 2}, {" has 1": 1.0, ".1": 2.0}),
        ((), {" length": 0.0}),
        (frozenset(["a", "b"]), {" has a": 1.0, " has b": 1.0}),
    ],
)
def test_plain_outputs_show_their_parts(output: Any, expected: dict[str, float]) -> None:
    found = features_of(output)
    assert found.items() >= expected.items()
    assert all(math.isfinite(value) for value in found.values())
    assert found == features_of(output)


def test_outputs_that_differ_anywhere_differ_in_their_hash() -> None:
    long = np.zeros(2 * LONGEST)
    other = long.copy()
    other[-1] = 1e-12
    one, two = features_of(long), features_of(other)
    assert len(one) <= LONGEST + 1
    assert {name for name in one if name.startswith("whole")} != {name for name in two if name.startswith("whole")}


def test_other_outputs_are_refused_with_a_way_out() -> None:
    with pytest.raises(UnsupportedModelError, match="Distinguisher"):
        features_of(object())
    with pytest.raises(UnsupportedModelError, match="type object"):
        features_of([object()])
