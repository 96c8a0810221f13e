"""Private fits without a ledger are counted, each process by itself, and say so on their certificates."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from glassine import Domain, Ledger
from glassine.errors import InvalidParameterError, PrivacyLeakWarning
from glassine.learners import PrivateTreeClassifier
from glassine.privacy.release import Paid, Planned, Price, fresh_count, release
from glassine.verification import Claim, Runs, lower_bound

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (120, 2))
Y = X[:, 0]
DOMAIN = Domain.binary(["a", "b"])
TENTH = Price(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6), note="a tree")


def paid(*, ledger: Any = None, dataset: Any = None, random_state: Any = None) -> Paid:
    """Return the payment of a release that draws nothing."""
    planned = Planned(price=TENTH, caveats=(), check=lambda: None, draw=lambda payment: payment)
    return release(planned, ledger=ledger, dataset=dataset, random_state=random_state)


def tree(**given: Any) -> PrivateTreeClassifier:
    usual: dict[str, Any] = {"max_depth": 1, "epsilon": 0.1, "domain": DOMAIN, "classes": (0, 1)}
    return PrivateTreeClassifier(**(usual | given))


def unwarned(**given: Any) -> tuple[str, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return paid(**given).caveats


def test_the_first_fit_is_clean_and_each_further_one_says_what_all_spent() -> None:
    first = paid()
    assert (first.caveats, first.assumptions, first.receipt) == ((), (), None)
    with pytest.warns(PrivacyLeakWarning, match=r"2 fits spend epsilon 0.2 and delta 2e-06 together, as plain sums"):
        (second,) = paid().caveats
    # A repeated warning would be an error here.
    (third,) = paid().caveats
    assert second.startswith("private fit number 2 on the unnamed dataset in this process without a ledger")
    assert third.endswith("all 3 spend epsilon 0.3 and delta 3e-06 together, as plain sums")


def test_a_grid_search_does_not_hand_back_a_clean_certificate() -> None:
    search = GridSearchCV(tree(), {"max_depth": [1, 2], "split_weight": [1.0, 0.5]}, cv=3)
    with pytest.warns(PrivacyLeakWarning) as told:
        search.fit(X, Y)
    assert len([w for w in told if issubclass(w.category, PrivacyLeakWarning)]) == 1
    best = search.best_estimator_
    assert not best.certificate_.holds
    assert any("private fit number 13" in text and "epsilon 1.3 " in text for text in best.certificate_.caveats)
    assert any("private fit number 13" in text for text in best.model_.guarantee.caveats)


def test_a_ledger_adds_up_instead(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10)
    search = GridSearchCV(tree(ledger=book, dataset="people"), {"max_depth": [1, 2]}, cv=3).fit(X, Y)
    assert book.spent("people") == pytest.approx(0.7)
    assert search.best_estimator_.certificate_.holds


def test_data_sets_are_counted_by_name_and_seeded_fits_are_not() -> None:
    names = ("north", "south", None)
    assert [unwarned(dataset=name) for name in names] == [(), (), ()]
    assert unwarned(random_state=0) == ("seeded: not private",)
    assert "number 2 on the dataset 'north'" in unwarned(dataset="north")[0]
    assert tree(random_state=0).fit(X, Y).certificate_.caveats == ("seeded: not private",)
    assert "number 2 on the unnamed dataset" in unwarned()[0]


def test_copies_and_pickles_are_fits_like_any_other() -> None:
    first = tree().fit(X, Y)
    again = pickle.loads(pickle.dumps(first))
    assert again.certificate_.holds
    with pytest.warns(PrivacyLeakWarning):
        assert not clone(again).fit(X, Y).certificate_.holds
    assert "number 3" in again.fit(X, Y).certificate_.caveats[0]


def test_the_warning_stands_at_the_line_that_called_the_learner() -> None:
    tree().fit(X, Y)
    with pytest.warns(PrivacyLeakWarning, match="second private fit") as told:
        tree().fit(X, Y)
    assert [w.filename for w in told] == [__file__]


def test_a_plan_is_checked_then_paid_then_drawn(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10, 0.1)
    order: list[tuple[str, int]] = []

    def happens(what: str) -> None:
        order.append((what, len(book.entries("people"))))

    def refused() -> None:
        raise InvalidParameterError("planted")

    def draw(payment: Paid) -> Paid:
        happens("draw")
        return payment

    plan = Planned(price=TENTH, caveats=("own",), check=lambda: happens("check"), draw=draw)
    payment = release(plan, ledger=book, dataset="people", random_state=0)
    assert order == [("check", 0), ("draw", 1)]
    assert payment.caveats == ("own", "seeded: not private")
    assert payment.receipt == book.entries("people")[0].receipt
    with pytest.raises(InvalidParameterError, match="planted"):
        release(replace(plan, check=refused), ledger=book, dataset="people", random_state=None)
    assert len(order) == 2
    assert len(book.entries("people")) == 1


def test_a_warning_that_is_an_error_releases_and_counts_nothing() -> None:
    learner = tree().fit(X, Y)
    before = learner.model_
    for _ in range(2):
        with pytest.raises(PrivacyLeakWarning, match="second private fit"):
            learner.fit(X, Y)
    assert learner.model_ is before
    with pytest.warns(PrivacyLeakWarning, match="2 fits spend"):
        learner.fit(X, Y)


def test_no_fit_of_many_threads_is_lost() -> None:
    """Threads share the count of the process: each number is given once."""
    caveats: list[tuple[str, ...]] = []
    name = "of the threads"

    def work() -> None:
        for _ in range(50):
            caveats.append(paid(dataset=name).caveats)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    numbers = sorted(int(re.findall(r"number (\d+)", text[0])[0]) for text in caveats if text)
    assert numbers == list(range(2, 401))


WORKERS = """
import warnings
import numpy as np
from sklearn.model_selection import cross_validate
from glassine import Domain
from glassine.learners import PrivateTreeClassifier
from glassine.errors import PrivacyLeakWarning

X = np.random.default_rng(0).integers(0, 2, (60, 2))
learner = PrivateTreeClassifier(1, epsilon=0.1, domain=Domain.binary(["a", "b"]), classes=(0, 1))
cross_validate(learner, X, X[:, 0], cv=4, n_jobs=2)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    print(learner.fit(X, X[:, 0]).certificate_.holds, len(told))
"""


@pytest.mark.slow
def test_fits_in_other_processes_are_not_seen() -> None:
    """The documentation says so: of four folds in two workers the process that began them sees none."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", WORKERS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "0"]


@pytest.mark.slow
def test_a_verification_counts_each_of_its_runs_alone() -> None:
    """Else the caveats would tell the runs apart, and say nothing of the learner."""
    d0, d1 = (X[:60], Y[:60]), (X[:59], Y[:59])
    found = lower_bound(tree(), d0, d1, Claim(epsilon=0.1), runs=Runs(40, seed=None))
    assert not found.violated
    assert unwarned() == ()


def test_counts_inside_are_forgotten_outside() -> None:
    with fresh_count():
        assert unwarned() == ()
        assert "number 2" in unwarned()[0]
    assert unwarned() == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dataset": ""}, "dataset must be a name"),
        ({"dataset": 3}, "dataset must be a name"),
        ({"ledger": "budget.sqlite"}, "a ledger needs a dataset"),
        ({"ledger": 3, "dataset": "people"}, "ledger must be a Ledger or a path"),
    ],
)
def test_what_is_no_ledger_or_data_set_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        unwarned(**given)
