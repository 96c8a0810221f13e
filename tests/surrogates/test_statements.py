"""Each sentence that a subject reads holds of the release it is said of."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from glassine.domain import Domain, Real
from glassine.surrogates import SurrogateExplainer, SurrogateRelease
from glassine.surrogates.release_statements import reveals, reveals_of
from tests.surrogates.scenes import numbers

DOMAIN = Domain({f"x{i}": Real(-9.0, 9.0) for i in range(2)})
X = numbers(300, 2)


def box(X: Any) -> Any:
    return np.asarray(X)[:, 0] * np.asarray(X)[:, 1] > 0


def fitted(k: int = 20, declared: bool = True, **settings: Any) -> SurrogateExplainer:
    own: dict[str, Any] = {"domain": DOMAIN, "classes": (False, True)} if declared else {}
    if "epsilon" in settings:
        # What is said of one fit: others are on datasets of other names.
        own["dataset"] = repr(settings)
    return SurrogateExplainer(box, k, goal=None, **own, **settings).fit(X, X[:, 0] > 0)


def text(**settings: Any) -> str:
    return " ".join(reveals(fitted(**settings).release_))


def leaf_sizes(explainer: SurrogateExplainer) -> list[int]:
    out = []
    for group, tree in enumerate(explainer.release_.trees):
        rows = explainer.training_.columns.take(np.flatnonzero(explainer.training_.groups == group))
        names = {name: rows.numbers[name] for name in rows.names}
        for cell in tree.cells:
            inside = np.ones(rows.n_records, dtype=bool)
            for literal in cell.inside:
                inside &= literal.holds(rows.array(literal.attribute))
            out.append(int(inside.sum()))
        assert len(names) == 2
    return out


@pytest.mark.parametrize(
    ("form", "labels", "partition", "k", "leaf", "counts"),
    list(
        itertools.product(
            ("restricted", "paper"),
            ("black-box", "true"),
            ("microaggregation", "public"),
            (3, 20),
            (1, 4),
            (True, False),
        )
    ),
)
def test_what_is_said_of_leaves_counts_and_labels(
    form: str, labels: str, partition: str, k: int, leaf: int, counts: bool
) -> None:
    explainer = fitted(
        k=k, form=form, labels=labels, partition=partition, min_samples_leaf=leaf, leaf_counts=counts, n_cells=40
    )
    told = " ".join(reveals(explainer.release_))
    sizes = leaf_sizes(explainer)
    fewest = min(k, leaf) if partition == "microaggregation" else 0
    if fewest > 1:
        assert f"Every leaf covers at least {fewest} records." in told
        assert min(sizes) >= fewest
    else:
        assert "Every leaf covers" not in told
        assert "A leaf may hold one record alone" in told
        assert ("or none" in told) == (partition == "public")
    assert ("No counts are published." in told) == (form == "restricted" and not counts)
    assert ("how many records of each class" in told) == counts
    assert ("the true labels of" in told) == (labels == "true")
    assert ("shows where the values of single records lie" in told) == (form == "paper")
    assert ("of at least" in told) == (partition == "microaggregation")
    assert ("a rounded average" in told) == (form == "restricted" and partition == "microaggregation")
    assert "No differential privacy is claimed." in told


def test_bounds_that_were_taken_from_the_records_are_not_called_declared() -> None:
    told = text(declared=False)
    assert "the domain only" not in told
    assert "the outermost value, and a rare name, may be that of one record" in told
    assert "outermost" not in text()
    assert "Split points come from the domain only." in text()


def test_what_a_certificate_claims_is_said_and_no_more() -> None:
    private: dict[str, Any] = {"epsilon": 1.5, "partition": "public", "n_cells": 4}
    whole = text(**private, labels="true")
    assert (
        f"with epsilon 1.5: with or without your record, the chance of any release differs by a factor of at most "
        f"e^1.5, about {math.exp(1.5):.3g}." in whole
    )
    assert "supposes" not in whole
    assert "drawn with noise" in whole
    assert "on the records" not in whole
    assert "This supposes that the black box was not trained on these records." in text(**private, fixed_black_box=True)
    # The black box may have been trained on the records: nothing is claimed of the whole, and leaves have no bound.
    caveat = text(**private)
    assert "No differential privacy is claimed." in caveat
    assert "drawn with noise" in caveat
    assert "no leaf was made" not in caveat
    assert "about" not in text(**{**private, "epsilon": 200.0}, labels="true")


def test_privacy_of_the_labels_is_not_said_of_the_whole_record() -> None:
    told = text(epsilon=1.0, labels="true")
    assert "The true labels, and nothing else, are claimed to be differentially private with epsilon 2" in told
    assert "Your other values are not protected." in told
    assert "your record" not in told
    assert "whole release is claimed" not in told


def test_a_file_says_what_the_explainer_said() -> None:
    for settings in (
        {},
        {"epsilon": 1.0, "labels": "true"},
        {"epsilon": 1.0, "partition": "public"},
        {"form": "paper"},
    ):
        release = fitted(**settings).release_
        assert reveals(SurrogateRelease.from_dict(release.to_dict())) == reveals(release)


def test_one_group_is_not_called_several() -> None:
    release = fitted(k=300).release_
    said = reveals_of(release, release.explain([0.0, 0.0], "never"))[-1]
    assert said.startswith("The closest tree does not decide as the black box does")
