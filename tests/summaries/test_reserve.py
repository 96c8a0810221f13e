"""A reserve measures one model that was fixed beforehand, within the budget and the one charge of the fit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from glassine import Ledger, audit, render_text
from glassine.errors import InvalidCertificateError, InvalidModelError, InvalidParameterError, ReleaseFailedError
from glassine.formats import fingerprint
from glassine.learners import PrivateSummary, Reserve
from glassine.learners.additive.additive_budget import GaussianBudget
from glassine.learners.summaries import measured_figures
from glassine.learners.summaries.reserve import Reservable
from glassine.privacy import accounting
from glassine.privacy.accounting import DiscreteGaussianNoise
from glassine.sealed import door
from glassine.sealed.queries import Counts
from tests.summaries.people import DOMAIN, RANGE, people

TREE = Reserve(share=0.25, model="tree", size=2)


def fitted(reserve: Any = TREE, classes: int | None = 2, n: int = 1500, **given: Any) -> Any:
    frame, y = people(n, classes)
    target: dict[str, Any] = {"target_range": RANGE} if classes is None else {"classes": tuple(range(classes))}
    whose = {"persons": np.arange(n) // 2} if "records_per_person" in given else {}
    return PrivateSummary(epsilon=4.0, domain=DOMAIN, reserve=reserve, random_state=0, **target, **given).fit(
        frame, y, **whose
    )


def test_certificate_and_ledger_have_both_parts_from_the_start(tmp_path: Any) -> None:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 4, 1e-5)
    summary = fitted(ledger=book, dataset="people")
    (entry,) = book.entries("people")
    assert float(entry.epsilon) == 4.0
    assert entry.note == "private summary, epsilon 1 of it for a measurement"
    certificate, own = summary.certificate_, summary.measurement_.certificate
    assert (certificate.epsilon, own.epsilon) == (4.0, 1.0)
    assert own.events == certificate.events[-1:]
    assert accounting.epsilon(certificate.events, 1e-6) <= 4.0
    noise = [event for event in certificate.events if isinstance(event, DiscreteGaussianNoise)]
    assert accounting.epsilon(noise, 1e-6) == pytest.approx(3.0, rel=1e-4), "the summary has the rest"
    assert summary._mu == pytest.approx(GaussianBudget.of(3.0, 1e-6).mu, rel=1e-6)
    model = summary.tree(2)
    assert own.public["model"] == fingerprint(model)
    assert own.public["summary"] == certificate.model
    assert certificate.public["measured model"] == "tree with max_depth 2"
    assert summary.certify(model).epsilon == 4.0
    found = audit(summary)
    assert found.value("released").measured == "tree with max_depth 2, at epsilon 1"
    assert "They include a measurement of the tree with max_depth 2" in render_text(found)


@pytest.mark.parametrize(
    ("model", "classes"), [("tree", None), ("rule_list", 3), ("additive", 2), ("scorecard", 2), ("tree", 2)]
)
def test_the_measurement_is_that_of_the_records(model: Reservable, classes: int | None) -> None:
    summary = fitted(Reserve(share=0.5, model=model), classes)
    frame, y = people(1500, classes)
    found, predicted = summary.measurement_, np.asarray(getattr(summary, model)().predict(frame))
    if classes is None:
        there = ~np.isnan(y)
        error = np.abs(np.clip(y[there], *RANGE) - predicted[there].astype(float)).mean()
        assert found.mae_interval[0] < error < found.mae_interval[1]
    else:
        share = float((predicted == y).mean())
        assert found.accuracy == pytest.approx(share, abs=0.02)
        assert found.accuracy_interval[0] < share < found.accuracy_interval[1]


def test_figures_and_persons() -> None:
    both = fitted(Reserve(share=0.5, figures=("auroc", "log_loss"))).measurement_
    assert set(both.counts) == {"auroc", "log_loss"}
    of_persons = fitted(records_per_person=2)
    assert of_persons.measurement_.n == pytest.approx(750, abs=60)
    assert str(of_persons.measurement_.certificate.unit) == str(of_persons.certificate_.unit)


def test_a_measurement_that_spends_more_than_its_part_cannot_be_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Counts._scale
    monkeypatch.setattr(Counts, "_scale", lambda query, part: honest(query, part) / 2)
    with pytest.raises(ReleaseFailedError):
        fitted(Reserve(share=0.5, model="tree", size=1))
    # What is said outside is constant; inside, it is the certificate that refuses.
    monkeypatch.setattr(door, "behind", lambda work: work())
    with pytest.raises(InvalidCertificateError, match="must claim what its events spend"):
        fitted(Reserve(share=0.5, model="tree", size=1))


def test_a_file_keeps_the_measurement_and_a_changed_one_is_refused(tmp_path: Any) -> None:
    summary, path = fitted(), tmp_path / "s.json"
    summary.write(path)
    again = PrivateSummary.read(path)
    assert again.measurement_ == summary.measurement_
    assert fingerprint(again.tree(2)) == again.measurement_.certificate.public["model"]
    plain = json.loads(path.read_text())
    other = fitted(classes=3)
    other.write(tmp_path / "o.json")
    elsewhere = json.loads((tmp_path / "o.json").read_text())["measurement"]
    counts = {"accuracy": [1500, 0]}
    for changed in ({**plain["measurement"], "counts": counts}, {}, elsewhere, {**plain["measurement"], "counts": {}}):
        path.write_text(json.dumps({**plain, "measurement": changed}))
        with pytest.raises(InvalidModelError, match="measurement"):
            PrivateSummary.read(path)


def test_the_order_of_keys_in_a_file_changes_no_figure(tmp_path: Any) -> None:
    summary, path = fitted(Reserve(share=0.5, figures=("accuracy", "log_loss", "auroc"))), tmp_path / "s.json"
    summary.write(path)
    path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True))
    assert PrivateSummary.read(path).measurement_ == summary.measurement_


@pytest.mark.parametrize(
    ("figure", "counts"), [("auroc", [1, 2, 3]), ("auroc", []), ("accuracy", [1, 10**400]), ("accuracy", [1, 2, 3])]
)
def test_a_measurement_with_a_new_digest_of_impossible_counts_is_refused(
    figure: Any, counts: list[int], tmp_path: Any
) -> None:
    summary, path = fitted(Reserve(share=0.5, figures=(figure,))), tmp_path / "s.json"
    summary.write(path)
    plain = json.loads(path.read_text())
    plain["measurement"]["counts"] = {figure: counts}
    own = plain["measurement"]["certificate"]
    own["model"] = measured_figures._digest({figure: tuple(counts)}, own["public"])
    path.write_text(json.dumps(plain))
    with pytest.raises(InvalidModelError, match="measurement"):
        PrivateSummary.read(path)


@pytest.mark.parametrize(
    ("reserve", "classes", "said"),
    [
        (0.1, 2, "must be a Reserve"),
        (Reserve(share=0.6), 2, "share must be a number in"),
        (replace(TREE, size=13), 2, "max_depth must be"),
        (Reserve(size=3), 2, "has no size"),
        (Reserve(model="forest"), 2, "must be one of tree"),  # type: ignore[arg-type]  # what is refused
        (Reserve(model="scorecard"), 3, "of two classes"),
        (Reserve(figures=("auroc",)), 3, "it ranks two classes"),
        (Reserve(figures=("accuracy",)), None, "are of classes"),
    ],
)
def test_a_reserve_that_cannot_be_measured_is_refused_and_costs_nothing(
    reserve: Any, classes: int | None, said: str, tmp_path: Any
) -> None:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 4, 1e-5)
    with pytest.raises(InvalidParameterError, match=said):
        fitted(reserve, classes, ledger=book, dataset="people")
    assert not book.entries("people")


def test_a_reserve_of_a_lazy_frame_measures_the_same() -> None:
    frame, y = people(200)
    records = frame.with_columns(ill=pl.Series(y))
    learner = PrivateSummary(epsilon=4.0, domain=DOMAIN, classes=(0, 1), reserve=TREE, random_state=0)
    assert learner.fit(records.lazy(), "ill").measurement_ == clone(learner).fit(records, "ill").measurement_


KILLED = """
import os, signal, sys
from glassine.learners import PrivateSummary
from glassine.learners import Reserve
from glassine.learners.summaries import private_summary
from glassine.sealed.queries import Counts
from tests.summaries.people import DOMAIN, people

def die(*args, **given):
    os.kill(os.getpid(), signal.SIGKILL)

X, y = people(300)
book, where, file = sys.argv[1:]
reserve = Reserve(share=0.25, model="tree", size=1) if where == "fit" else None
if where == "fit":
    private_summary.release_measurement = die
summary = PrivateSummary(epsilon=2.0, domain=DOMAIN, classes=(0, 1), ledger=book, dataset="people", reserve=reserve)
summary.fit(X, y).write(file)
Counts.draw = die
summary.measure(summary.tree(1), X, y, epsilon=0.5)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize(("where", "charged"), [("fit", [2.0]), ("measure", [2.0, 0.5])])
def test_what_is_killed_between_charge_and_release_stays_charged(
    tmp_path: Any, where: str, charged: list[float]
) -> None:
    book, file = tmp_path / "budget.sqlite", tmp_path / "summary.json"
    Ledger(book).budget("people", 10, 1e-4)
    for times in (1, 2):
        done = subprocess.run([sys.executable, "-c", KILLED, book, where, file], check=False)
        assert done.returncode == -signal.SIGKILL
        assert [float(entry.epsilon) for entry in Ledger(book).entries("people")] == charged * times
        assert file.exists() == (where == "measure"), "the summary of the fit that was killed is nowhere"
