"""An explainer with epsilon spends like every private fit: it is refused, charged and drawn, or else counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from glassine import Ledger
from glassine.errors import BudgetExceededError, GlassineError, InvalidParameterError, PrivacyLeakWarning
from glassine.privacy.randomness import Randomness
from glassine.surrogates import SurrogateExplainer
from tests.surrogates.scenes import PEOPLE, lender, people

DATA = pd.DataFrame(people(200))


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 1)
    return book


def explainer(**given: Any) -> SurrogateExplainer:
    usual: dict[str, Any] = {
        "domain": PEOPLE,
        "classes": ("no", "maybe", "yes"),
        "distance": "gower",
        "epsilon": 0.4,
        "partition": "public",
        "n_cells": 5,
        "fixed_black_box": True,
    }
    return SurrogateExplainer(lender, **(usual | given))


@pytest.mark.slow
def test_a_fit_is_charged_what_its_certificate_claims_before_it_draws(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    charges_at_draws: list[int] = []
    honest = Randomness.words

    def watched(self: Randomness, *given: Any) -> Any:
        charges_at_draws.append(len(book.entries("people")))
        return honest(self, *given)

    word = Randomness._word

    def watched_word(self: Randomness, *given: Any) -> Any:
        charges_at_draws.append(len(book.entries("people")))
        return word(self, *given)

    monkeypatch.setattr(Randomness, "words", watched)
    monkeypatch.setattr(Randomness, "_word", watched_word)
    fitted = explainer(ledger=book, dataset="people").fit(DATA)
    assert charges_at_draws
    assert set(charges_at_draws) == {1}
    (entry,) = book.entries("people")
    assert float(entry.epsilon) == fitted.certificate_.epsilon == 0.4
    assert entry.note == "5 surrogate trees of depth 2"
    assert fitted.certificate_.holds
    # A path stands for the ledger, and each further fit is charged again.
    again = explainer(ledger=book.path, dataset="people").fit(DATA)
    assert again.certificate_.holds
    assert book.spent("people") == 0.8
    with pytest.raises(BudgetExceededError, match="not enough budget for 'people'"):
        again.fit(DATA)
    assert len(book.entries("people")) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "data"),
    [
        ({"max_depth": 8, "n_cells": 100_000}, DATA),
        ({"epsilon": 1e-12}, DATA),
        ({"random_state": -1}, DATA),
        ({"dataset": None}, DATA),
        ({"dataset": "others"}, DATA),
        ({"labels": "true"}, DATA),
        ({"partition": "microaggregation", "k": 60}, DATA),
        ({"partition": "microaggregation", "k": 60, "labels": "true"}, DATA),
        ({}, DATA.drop(columns="job")),
    ],
)
def test_a_refused_fit_costs_nothing(given: dict[str, Any], data: Any, book: Ledger) -> None:
    with pytest.raises(GlassineError):
        explainer(**({"ledger": book, "dataset": "people"} | given)).fit(data)
    assert book.entries("people") == ()


def test_a_refused_fit_leaves_the_callers_generator_as_it_was(book: Ledger) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(BudgetExceededError):
        explainer(ledger=book, dataset="people", epsilon=5.0, random_state=rng).fit(DATA)
    assert rng.bit_generator.state == before
    explainer(ledger=book, dataset="people", random_state=rng).fit(DATA)
    assert rng.bit_generator.state != before


def test_without_a_guarantee_for_the_release_nothing_is_charged_and_the_trees_say_so() -> None:
    fitted = explainer(partition="microaggregation", k=60, random_state=0).fit(DATA)
    assert not fitted.certificate_.holds
    for tree in fitted.release().trees:
        assert tree.guarantee is not None
        assert tree.guarantee.caveats[0] == "seeded: not private"
        assert "epsilon covers each tree given its group" in tree.guarantee.caveats[-1]


def test_a_ledger_without_epsilon_is_refused(book: Ledger) -> None:
    for given in ({"ledger": book, "dataset": "people"}, {"dataset": "people"}):
        with pytest.raises(InvalidParameterError, match="no effect without epsilon"):
            explainer(epsilon=None, **given).fit(DATA)
    with pytest.raises(InvalidParameterError, match="ledger protects training records"):
        SurrogateExplainer.from_queries(lender, PEOPLE, 10, ledger=book)


def test_without_a_ledger_fits_are_counted_and_their_trees_say_so() -> None:
    assert explainer().fit(DATA).certificate_.holds
    with pytest.warns(PrivacyLeakWarning, match="2 fits spend epsilon 0.8"):
        second = explainer().fit(DATA)
    (caveat,) = second.certificate_.caveats
    assert "private fit number 2 on the unnamed dataset" in caveat
    guarantee = second.release().trees[0].guarantee
    assert guarantee is not None
    assert caveat in guarantee.caveats
    # Labels alone cost what their certificate claims; where nothing is claimed, nothing is counted.
    labels = explainer(partition="microaggregation", k=60, labels="true").fit(DATA, lender(DATA))
    assert any("number 3" in text and "epsilon 1.6" in text for text in labels.certificate_.caveats)
    explainer(partition="microaggregation", k=60).fit(DATA)
    assert any("number 4" in text for text in explainer().fit(DATA).certificate_.caveats)
