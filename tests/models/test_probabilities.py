"""Probabilities from published counts: shares, noisy counts, labels against counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.domain import Binary, Domain, OneOf
from glassine.models import Evidence, Guarantee, Rule, RuleList, cell_probabilities

NOISY = Guarantee(epsilon=1.0, count_scale=20.0)


def rules(first: Evidence, *, noisy: bool = False, n_classes: int = 2) -> RuleList:
    """Return a list of one rule and a default."""
    return RuleList(
        (Rule(antecedent=(OneOf("a", (1,)),), evidence=first), Rule(antecedent=(), evidence=Evidence(label=0))),
        attributes=Domain({"a": Binary()}).names,
        classes=tuple(f"c{i}" for i in range(n_classes)),
        guarantee=NOISY if noisy else None,
    )


def test_exact_counts_give_their_shares() -> None:
    assert cell_probabilities(rules(Evidence(counts=(3, 1))))[0] == (0.75, 0.25)
    assert cell_probabilities(rules(Evidence(counts=(0, 0))))[0] is None
    assert cell_probabilities(rules(Evidence(label=1)))[0] is None


def test_noisy_counts_rule_out_no_class() -> None:
    assert cell_probabilities(rules(Evidence(counts=(8, 0), label=0), noisy=True))[0] == (0.9, 0.1)
    assert cell_probabilities(rules(Evidence(counts=(0, 0), label=0), noisy=True))[0] == (0.5, 0.5)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=5), st.data())
def test_the_label_is_the_first_most_probable_class_and_the_counts_are_nearest(
    counts: list[int], data: st.DataObject
) -> None:
    label = data.draw(st.integers(0, len(counts) - 1))
    known = cell_probabilities(rules(Evidence(counts=tuple(counts), label=label), noisy=True, n_classes=len(counts)))[0]
    assert known is not None
    assert int(np.argmax(known)) == label
    assert sum(known) == pytest.approx(1)
    # Nearest in squares: moving towards any other feasible point does not come closer.
    given_counts = np.array(counts) + 1.0
    found = np.array(known) * given_counts.sum()
    feasible = np.minimum(given_counts, given_counts[label])
    for share in (0.01, 0.5, 1.0):
        other = found + share * (feasible - found)
        assert ((found - given_counts) ** 2).sum() <= ((other - given_counts) ** 2).sum() + 1e-4


def test_records_get_the_probabilities_of_their_cell() -> None:
    found = rules(Evidence(counts=(1, 3))).predict_proba({"a": np.array([1, 0])})
    assert found[0].tolist() == [0.25, 0.75]
    assert np.isnan(found[1]).all()
