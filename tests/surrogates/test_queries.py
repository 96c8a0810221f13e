"""Third parties, and what they ask."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from glassine.auditing.api import audit
from glassine.data import infer_domain
from glassine.domain import Binary, Domain, ExactlyOne, Integer, Real
from glassine.errors import GlassineError, InvalidDomainError, InvalidParameterError
from glassine.surrogates import BlackBox, SurrogateExplainer, SurrogateRelease
from glassine.surrogates.building import draw_queries
from glassine.surrogates.release_statements import reveals
from tests.surrogates.scenes import PEOPLE, lender, people, ring

SQUARE = Domain({"u": Real(-2.0, 2.0), "v": Real(-2.0, 2.0)})


def test_a_third_party_explains_by_queries_alone() -> None:
    asked: list[int] = []

    def box(X: Any) -> Any:
        asked.append(len(X))
        return ring(X)

    explainer = SurrogateExplainer.from_queries(box, SQUARE, 50, n_queries=1500, random_state=0)
    assert asked == [1500]
    assert explainer.black_box_.n_queries == 1500
    release = explainer.release()
    assert release.provenance.records == "queries"
    assert not release.certificate or not release.certificate.holds
    X = np.random.default_rng(1).uniform(-2, 2, (400, 2))
    assert explainer.fidelity(X, guided=False) > 0.9
    told = explainer.explain({"u": 0.1, "v": 0.1}, check=True)
    assert told.decision == "near"
    again = SurrogateExplainer.from_queries(ring, SQUARE, 50, n_queries=1500, random_state=0)
    assert again.release() == release


@pytest.mark.parametrize("takes", ["pandas", "polars"])
def test_drawn_queries_come_in_the_frame_that_the_black_box_takes(takes: str) -> None:
    explainer = SurrogateExplainer.from_queries(
        lender, PEOPLE, 40, n_queries=600, takes=takes, random_state=0, distance="gower"
    )
    assert explainer.fidelity(pd.DataFrame(people())) > 0.9
    assert explainer.explain({"age": 30, "income": 80.0, "job": "c", "smoker": 1}).decision == "yes"


def test_own_queries_are_asked_instead() -> None:
    mine = pd.DataFrame(people(80))
    explainer = SurrogateExplainer.from_queries(lender, PEOPLE, 20, queries=mine, distance="gower")
    assert explainer.black_box_.n_queries == 80
    # Whose records they are is not known: they count as people's.
    assert explainer.release_.provenance.records == "given"
    assert SurrogateRelease.from_dict(explainer.release_.to_dict()) == explainer.release_
    assert "may be" in explainer.release_.provenance.notes[1]
    assert not any("no person's record" in caveat for caveat in explainer.certificate_.caveats)
    assert not any("no person" in text for text in reveals(explainer.release_))
    leaf = next(check for check in audit(explainer).checks if check.rule == "smallest_released_leaf")
    assert leaf.measured is not None


def test_queries_are_records_of_the_domain() -> None:
    tied = Domain(
        {"n": Integer(1, 3), "r": Real(0.0, 1.0, 0.25), "a": Binary(), "b": Binary()}, groups=ExactlyOne(("a", "b"))
    )
    drawn = draw_queries(tied, 4000, np.random.default_rng(0))
    assert all(record["a"] != record["b"] for record in drawn)
    for name, values in (("n", {1, 2, 3}), ("r", {0.0, 0.25, 0.5, 0.75, 1.0}), ("a", {0, 1})):
        counts = Counter(record[name] for record in drawn)
        assert set(counts) == values
        expected = 4000 / len(values)
        assert all(abs(count - expected) < 5 * expected**0.5 for count in counts.values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_queries": 1},
        {"takes": "spark"},
        {"epsilon": 1.0},
        {"partition": "public"},
        {"form": "paper"},
        {"labels": "true"},
        {"k": 200},
        {"domain": None},
    ],
)
def test_what_a_third_party_cannot_do_is_refused(wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"domain": SQUARE, "k": 10, "n_queries": 100, **wrong}
    domain, k = given.pop("domain"), given.pop("k")
    with pytest.raises(InvalidParameterError):
        SurrogateExplainer.from_queries(ring, domain, k, **given)


def test_an_inferred_domain_is_not_public() -> None:
    with pytest.raises(InvalidDomainError, match="inferred"):
        SurrogateExplainer.from_queries(ring, infer_domain(pd.DataFrame({"a": [0.5, 1.5], "b": [0.5, 2.5]})), 10)


def test_a_budget_of_queries_is_kept() -> None:
    box = BlackBox(ring, max_queries=10)
    assert len(box(np.zeros((8, 2)), 8)) == 8
    with pytest.raises(GlassineError, match="10 records, 8 were, and 3 more"):
        box(np.zeros((3, 2)), 3)
    assert box.n_queries == 8
    assert len(box(np.zeros((2, 2)), 2)) == 2


def test_a_budget_holds_for_an_explainer() -> None:
    box = BlackBox(ring, max_queries=101)
    explainer = SurrogateExplainer.from_queries(box, SQUARE, 20, n_queries=100, random_state=0)
    explainer.explain([0.0, 0.0])
    with pytest.raises(GlassineError, match="101 records, 101 were, and 1 more"):
        explainer.explain([0.0, 0.0])
