"""What is measured of a published model costs what is certified, and its intervals hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from glassine import Category, Domain, Integer, Ledger
from glassine.domain import Between
from glassine.errors import (
    BudgetExceededError,
    InvalidDataError,
    InvalidModelError,
    InvalidParameterError,
    PrivacyLeakWarning,
    ReleaseFailedError,
)
from glassine.formats import fingerprint
from glassine.learners import PrivateSummary
from glassine.learners.publishing import probabilities
from glassine.learners.summaries import estimates, measured_figures
from glassine.learners.summaries.noisy_intervals import OF_NOISE, ReleasedCells, noise_reach
from glassine.models import AdditiveModel, CategoryBins, Evidence, NumericBins, Rule, RuleList, Term
from glassine.privacy import accounting
from glassine.privacy.release import fresh_count
from glassine.records import engines
from glassine.records.columns import ConformedColumns, columns_of
from glassine.records.engines import ask
from glassine.records.reading import read_settled
from glassine.records.undeclared import read_checked
from glassine.sealed import draws, scoring
from glassine.sealed.queries import Counts
from glassine.sealed.scoring import LEAST, PARTS, Rightness
from glassine.verification import verify_exhaustively
from tests.learners.fitting_everywhere import HERE
from tests.summaries.people import DOMAIN, RANGE, people, summary

ONE = Domain({"age": Integer(0, 99)})
EPSILON = 0.7
FLOATS = 1e-9


def of_two(classes: tuple[int, ...] | None = (0, 1), **given: Any) -> Any:
    """Return a small summary, and a rule list that it did not make."""
    X, y = pl.DataFrame({"age": np.arange(100)}), (np.arange(100) > 60).astype(float if classes is None else int)
    target: dict[str, Any] = {"target_range": (0.0, 1.0)} if classes is None else {"classes": classes}
    learner = PrivateSummary(epsilon=2.0, domain=ONE, random_state=0, **target, **given)
    fitted = learner.fit(X, y, **({"persons": np.arange(100)} if given.get("records_per_person") else {}))
    # What is looked at below is the law under the operating system's bits; noise is replaced.
    return fitted.set_params(random_state=None)


def over_sixty(classes: tuple[int, ...] | None = (0, 1)) -> RuleList:
    yes = Evidence(value=0.75) if classes is None else Evidence(label=1)
    no = Evidence(value=0.25) if classes is None else Evidence(label=0)
    rules = (Rule(antecedent=(Between("age", lo=60),), evidence=yes), Rule(antecedent=(), evidence=no))
    return RuleList(attributes=("age",), rules=rules, classes=classes)


def log_shares(count: int, scale: float, cuts: range) -> list[float]:
    """Return the log-probabilities of a noisy count at or below the first cut, between, and at or above the last."""
    law = stats.dlaplace(1 / scale)
    inner = [float(law.logpmf(cut - count)) for cut in cuts[1:-1]]
    return [float(law.logcdf(cuts[0] - count)), *inner, float(law.logsf(cuts[-1] - 1 - count))]


def law_of(measured: Any, model: RuleList, as_records: Callable[[Any], Any], cuts: range, **given: Any) -> Any:
    """Return the exact law of a measurement of each dataset: the values and the scale that the code gives to noise."""

    def law(dataset: tuple[Any, ...]) -> dict[Any, float]:
        noise: list[tuple[list[int], float]] = []

        def laplace(values: Any, scale: Any, randomness: Any) -> Any:
            noise.append((np.ravel(values).tolist(), float(scale)))
            return np.asarray(values)

        X, y, persons = as_records(dataset)
        whose = {} if persons is None else {"persons": persons}
        with pytest.MonkeyPatch.context() as patch, fresh_count():
            patch.setattr(draws, "laplace", laplace)
            done = measured.measure(model, X, y, epsilon=EPSILON, **whose, **given)
        # What no noise was added to is released as it is.
        drawn = sorted(value for values, _ in noise for value in values)
        counts = [value for values in done.counts.values() for value in values]
        released = () if sorted(counts) == drawn else tuple(counts)
        shares = [log_shares(value, scale, cuts) for values, scale in noise for value in values]
        ways = product(range(len(cuts)), repeat=len(shares))
        return {(released, way): math.fsum(s[k] for s, k in zip(shares, way, strict=True)) for way in ways}

    return law


def classed(dataset: tuple[tuple[int, int], ...]) -> Any:
    # One record is always there: a release without any is refused.
    ages, labels = zip((70, 1), *dataset, strict=True)
    return pl.DataFrame({"age": list(ages)}), np.array(labels), None


PAIRS = [(10, 0), (10, 1), (80, 0), (80, 1)]


def halved(query: Any, records: Any, part: Any, randomness: Any, _: Any) -> Any:
    return draws.laplace(query.exact(records), query._scale(part) / 2, randomness)


def plain(query: Any, records: Any, part: Any, randomness: Any, _: Any) -> Any:
    """Return the records that are right without noise, beside noise on the others."""
    exact = query.exact(records)
    return np.append(exact[:1], draws.laplace(exact[1:], query._scale(part), randomness))


def test_one_record_changes_the_law_by_epsilon_at_most_and_by_all_of_it() -> None:
    law = law_of(of_two(), over_sixty(), classed, range(-1, 6))
    found = verify_exhaustively(law, PAIRS, max_records=1, epsilon=EPSILON, slack=FLOATS)
    assert found.holds, str(found)
    assert found.tightness > 0.999


@pytest.mark.parametrize("fault", [halved, plain])
def test_noise_that_is_too_small_or_missing_is_found(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counts, "draw", fault)
    law = law_of(of_two(), over_sixty(), classed, range(-1, 6))
    found = verify_exhaustively(law, PAIRS, max_records=1, epsilon=EPSILON, slack=FLOATS)
    assert not found.holds
    assert found.worst > 1.9 * EPSILON


BOTH: Any = {"figures": ("auroc", "accuracy")}
FEW = range(-1, 3)


def in_full(query: Any, records: Any, part: Any, randomness: Any, _: Any) -> Any:
    """Spend all of epsilon on each figure, where the event states the part that it should be."""
    return draws.laplace(query.exact(records), query._scale(part) * part.epsilon / part.total, randomness)


def test_figures_share_epsilon() -> None:
    law = law_of(of_two(), over_sixty(), classed, FEW, **BOTH)
    found = verify_exhaustively(law, PAIRS, max_records=1, epsilon=EPSILON, slack=FLOATS)
    assert found.holds, str(found)
    assert found.tightness > 0.999


def test_figures_of_which_each_spends_all_of_epsilon_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counts, "draw", in_full)
    law = law_of(of_two(), over_sixty(), classed, FEW, **BOTH)
    found = verify_exhaustively(law, PAIRS, max_records=1, epsilon=EPSILON, slack=FLOATS)
    assert not found.holds
    assert found.worst > 1.9 * EPSILON


def test_noise_that_is_too_small_cannot_be_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Counts._scale
    monkeypatch.setattr(Counts, "_scale", lambda query, part: honest(query, part) / 2)
    X, y, _ = classed(tuple(PAIRS))
    with pytest.raises(ReleaseFailedError, match="failed after it was charged"):
        of_two().measure(over_sixty(), X, y, epsilon=EPSILON, dataset="too small")


def test_a_threshold_on_declared_texts_is_not_laid_to_the_records() -> None:
    """The declared categories were counted as records: "3 of 4 records have something else there"."""
    columns = read_checked(pl.DataFrame({"ward": ["A", "B"]}), Domain({"ward": Category(("A", "B", "C"))}))
    with pytest.raises(
        InvalidDataError, match="'ward' is compared with a number, but the domain declares other values"
    ):
        columns.holds(Between("ward", hi=1.5))


# Numbers: what each record adds, for values inside and outside the range, and for predictions of every kind.


def of_age(_: Any, columns: ConformedColumns) -> Any:
    """Predict the age over 33, whatever that is."""
    return columns.numbers["age"] / 33 - 1


def figure(name: Any, model: Any, target: Any) -> Rightness:
    of_cells = probabilities(model) if target.classes else np.zeros((0, 0))
    return Rightness(
        figure=name, model=model, scale=target.scale, of_cells=of_cells, cuts=np.zeros(0), distinguished={}
    )


def errors_of(columns: ConformedColumns, values: Any, target: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "predicted", of_age)
        return figure("errors", None, target).of_records(columns, values)


def moves(count: Callable[..., Any]) -> set[int]:
    """Return the l1 moves of the counts that one more record makes, among others."""
    target = of_two(None)._target
    found = set()
    for age, value in product((0, 1, 33, 50, 66, 99), np.linspace(-1, 1, 9)):
        columns = columns_of({"age": ONE["age"]}, {"age": np.array([20.0, 80.0, age])})
        values = np.array([0.3, -1.0, value])
        more = count(columns, values, target)
        less = count(columns.take(np.arange(2)), values[:2], target)
        assert (more >= less).all()
        found.add(int(np.abs(more - less).sum()))
    return found


def test_each_record_of_a_number_is_the_same_number_of_parts() -> None:
    assert moves(errors_of) == {PARTS}


def test_squares_beside_errors_and_errors_that_are_not_clipped_are_found() -> None:
    def beside(columns: ConformedColumns, values: Any, target: Any) -> Any:
        first, second, rest = errors_of(columns, values, target)
        return np.array([first, first + second, rest])

    def beyond(columns: ConformedColumns, values: Any, target: Any) -> Any:
        errors = np.abs(values - (2 * of_age(None, columns) - 1)) / 2
        return np.array([np.rint(errors * PARTS).astype(np.int64).sum(), 0])

    assert max(moves(beside)) > PARTS
    assert max(moves(beyond)) > PARTS


@pytest.mark.slow
def test_a_person_changes_the_law_by_epsilon_at_most() -> None:
    def as_records(dataset: tuple[Any, ...]) -> Any:
        rows = [("first", (70, 1)), *((str(k), one) for k, person in enumerate(dataset) for one in person)]
        whose, records = zip(*rows, strict=True)
        ages, labels = zip(*records, strict=True)
        return pl.DataFrame({"age": list(ages)}), np.array(labels), np.array(whose)

    persons = [(PAIRS[0],), (PAIRS[1],), (PAIRS[0], PAIRS[1]), (PAIRS[3], PAIRS[3], PAIRS[2])]
    law = law_of(of_two(records_per_person=2), over_sixty(), as_records, range(-1, 8))
    found = verify_exhaustively(law, persons, max_records=1, epsilon=EPSILON, slack=FLOATS)
    assert found.holds, str(found)
    assert found.tightness > 0.999
    singly = law_of(of_two(), over_sixty(), lambda dataset: (*as_records(dataset)[:2], None), range(-1, 8))
    assert verify_exhaustively(singly, persons, max_records=1, epsilon=EPSILON, slack=FLOATS).worst > 1.9 * EPSILON


def test_each_record_is_the_same_number_of_parts_of_a_loss() -> None:
    target, columns = of_two()._target, columns_of({"age": ONE["age"]}, {"age": np.array([20.0, 80.0, 20.0, 80.0])})
    for shares in ((0.9, 0.1), (1.0, 0.0), (0.5, 0.5)):
        yes, no = Evidence(probabilities=shares[::-1], label=1), Evidence(probabilities=shares, label=0)
        rules = (Rule(antecedent=(Between("age", lo=60),), evidence=yes), Rule(antecedent=(), evidence=no))
        model = RuleList(attributes=("age",), rules=rules, classes=target.classes)
        for label in (0, 1):
            labels = np.array([0, 1, 1, label])
            losses = figure("log_loss", model, target)
            more = losses.of_records(columns, labels)
            less = losses.of_records(columns.take(np.arange(3)), labels[:3])
            assert (more >= less).all()
            assert int((more - less).sum()) == PARTS
            loss = np.log(max(shares[1 - label], LEAST)) / np.log(LEAST)
            assert (more - less)[:2].sum() / PARTS == pytest.approx(loss, abs=1e-6)


# What the figures and intervals say.


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, None])
def test_the_interval_contains_the_figure_of_the_records(classes: int | None) -> None:
    fitted = summary(4.0, classes)
    X, y = people(3000, classes, seed=5)
    for model in (fitted.tree(3), fitted.additive(), fitted.rule_list(2)):
        found = fitted.measure(model, X, y, epsilon=1.0)
        predicted = np.asarray(model.predict(X))
        if classes is None:
            there = ~np.isnan(y)
            errors = np.abs(np.clip(y[there], *RANGE) - predicted[there].astype(float))
            assert found.mae_interval[0] < errors.mean() < found.mae_interval[1]
            assert found.rmse_interval[0] < math.sqrt((errors**2).mean()) < found.rmse_interval[1]
            assert found.mae == pytest.approx(errors.mean(), abs=0.5)
            assert math.isnan(found.accuracy)
            assert set(found.to_dict()) >= {"mae", "rmse"}
        else:
            share = float((predicted == y).mean())
            assert found.accuracy_interval[0] < share < found.accuracy_interval[1]
            assert found.accuracy == pytest.approx(share, abs=0.01)
            assert "accuracy" in found.to_dict()
        assert found.n == pytest.approx(len(y), abs=30)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_the_intervals_contain_log_loss_and_auroc_of_the_records(classes: int) -> None:
    fitted = summary(4.0, classes)
    X, y = people(3000, classes, seed=5)
    figures: Any = ("accuracy", "log_loss", "auroc")[: 3 if classes == 2 else 2]
    for model in (fitted.tree(3), fitted.additive(), fitted.rule_list(2)):
        found = fitted.measure(model, X, y, epsilon=3.0, figures=figures)
        records: Any = X
        chances = estimates.chances(model, records)
        loss = float(-np.log(np.maximum(chances[np.arange(len(y)), y], LEAST)).mean())
        assert found.log_loss_interval[0] < loss < found.log_loss_interval[1]
        assert found.log_loss == pytest.approx(loss, abs=0.03)
        assert set(found.counts) == set(figures) <= set(found.to_dict())
        if classes == 2:
            area = roc_auc_score(y, chances[:, 1])
            assert found.auroc_interval[0] < area < found.auroc_interval[1]
            assert found.auroc == pytest.approx(area, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["accuracy", "persons", "mae", "rmse"])
def test_intervals_contain_the_expected_figure_often_enough(case: str) -> None:
    """Of 400 datasets with noise, at most 5 % and what chance adds may miss: 34 has a probability below 0.003."""
    rng = np.random.default_rng(7)
    n, scale, missed, wide = 300, 4.0, 0, 0
    for _ in range(400):
        if case in ("accuracy", "persons"):
            whole, truth = (1, 0.8) if case == "accuracy" else (3, 0.8)
            values = (rng.random((n, whole)) < truth).sum()
            exact = np.array([values, n * whole - values])
        else:
            whole, errors = PARTS, rng.random(n) ** 3
            truth = 1 / 4 if case == "mae" else 1 / 7
            squares, parts = np.rint(errors**2 * PARTS), np.rint(errors * PARTS)
            exact = np.array([squares.sum(), (parts - squares).sum(), (PARTS - parts).sum()]).astype(np.int64)
        noise = stats.dlaplace(1 / (scale * whole)).rvs(len(exact), random_state=rng)
        cells = ReleasedCells(
            released=tuple(np.maximum(exact + noise, 0).tolist()),
            whole=whole,
            reach=noise_reach(scale * whole, len(exact)),
        )
        low, high = cells.interval_of_errors() if case == "mae" else cells.interval_of_share()
        missed += not low <= truth <= high
        wide += high - low > 0.6
    assert missed <= 34
    assert wide == 0


def test_the_reach_of_noise_is_the_least_for_its_risk() -> None:
    for scale, cells in ((0.3, 2), (1.0, 2), (40.0, 3), (1e7, 3)):
        reach, law = noise_reach(scale, cells), stats.dlaplace(1 / scale)
        assert cells * 2 * law.sf(reach) <= OF_NOISE * (1 + 1e-9)
        assert not reach or cells * 2 * law.sf(reach - 1) > OF_NOISE


# The release: charge, certificate, refusals.


def test_a_measurement_is_charged_and_certified_by_itself(tmp_path: Any) -> None:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 2.5, 1e-6)
    X, y, _ = classed(tuple(PAIRS) * 20)
    fitted = PrivateSummary(epsilon=2.0, domain=ONE, classes=(0, 1), ledger=book, dataset="people").fit(X, y)
    model = fitted.tree(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Counts, "draw", lambda *_: pytest.fail("drawn before it was refused"))
        with pytest.raises(BudgetExceededError):
            fitted.measure(model, X, y, epsilon=0.6)
    found = fitted.measure(model, X, y, epsilon=0.5)
    assert [float(entry.epsilon) for entry in book.entries("people")] == [2.0, 0.5]
    certificate = found.certificate
    assert certificate.holds
    assert (certificate.epsilon, certificate.delta) == (0.5, 0.0)
    assert accounting.epsilon(certificate.events, 0.0) == pytest.approx(0.5)
    assert certificate.public["model"] == fingerprint(model)
    assert certificate.public["summary"] == fitted.certificate_.model
    assert certificate.model not in (fingerprint(model), fitted.certificate_.model), "the model itself costs more"
    assert certificate.receipt is not None
    assert fitted.certificate_.epsilon == 2.0, "the summary keeps its own"


def test_without_a_ledger_it_counts_as_a_second_fit() -> None:
    X, y, _ = classed(tuple(PAIRS) * 20)
    with fresh_count():
        fitted = PrivateSummary(epsilon=2.0, domain=ONE, classes=(0, 1)).fit(X, y)
        aside = fitted.measure(fitted.tree(1), X, y, epsilon=0.5, dataset="kept aside")
        assert aside.certificate.holds
        with pytest.warns(PrivacyLeakWarning, match="second private fit"):
            found = fitted.measure(fitted.tree(1), X, y, epsilon=0.5)
    assert not found.certificate.holds


def test_a_summary_is_left_as_it_was_and_one_from_a_file_measures(tmp_path: Any) -> None:
    fitted = summary(4.0)
    X, y = people(500, seed=3)
    before = set(vars(fitted)), fitted.domain, fitted.n_features_in_
    fitted.measure(fitted.tree(1), X, y, epsilon=1.0)
    assert (set(vars(fitted)), fitted.domain, fitted.n_features_in_) == before
    fitted.write(tmp_path / "s.json")
    again = PrivateSummary.read(tmp_path / "s.json")
    found = again.measure(again.tree(1), X.with_columns(ill=y).lazy(), "ill", epsilon=1000.0, dataset="aside")
    assert found.accuracy == pytest.approx((np.asarray(again.tree(1).predict(X)) == y).mean(), abs=1e-9)


def of_intervals(classes: tuple[int, ...] | None) -> AdditiveModel:
    """Return a model whose intervals hold their lower ends, one of which is an age that occurs, and the category."""
    age = Term(bins=(NumericBins("age", (20, 61), closed="left"),), scores=np.array([-1.0, 0.0, 2.0, 0.5]))
    job = Term(bins=(CategoryBins("job", (("judge", None), ("baker",))),), scores=np.array([0.5, -0.25, 1.0]))
    link = "identity" if classes is None else "logit"
    return AdditiveModel(attributes=tuple(DOMAIN), terms=(age, job), intercept=(0.1,), link=link, classes=classes)


@pytest.mark.parametrize("classes", [(0, 1), None])
@pytest.mark.parametrize("place", ["polars lazy", "duckdb"])
def test_a_lazy_frame_is_measured_alike_and_counted_in_place(
    place: str, classes: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []

    def spy(frame: Any, question: Any) -> Any:
        lengths.append(len(found := ask(frame, question)))
        return found

    fitted = summary(4.0, None if classes is None else 2)
    frame, y = people(800, None if classes is None else 2, seed=3)
    # Few numbers, so that fewer records are distinct than there are.
    frame = frame.with_columns(ill=pl.Series(y if classes else np.round(y / 10)))
    only = RuleList(attributes=("age",), rules=over_sixty(classes).rules[1:], classes=classes)
    makes = (fitted.tree(2), fitted.rule_list(2), of_intervals(classes), over_sixty(classes), only)
    for model in (*makes, fitted.additive()):
        figures = None if classes is None else measured_figures.FIGURES if model is not only else ("accuracy",)
        asked = {"epsilon": 1.0, "figures": figures, "dataset": "aside"}
        expected = fitted.measure(model, frame, "ill", **asked)
        with monkeypatch.context() as patch:
            patch.setattr(engines, "ask", spy)
            found = fitted.measure(model, HERE[place](frame), "ill", **asked)
        assert found.to_dict()["counts"] == expected.to_dict()["counts"], str(model)
        assert found.certificate.model == expected.certificate.model
    assert max(lengths) < len(frame)


@pytest.mark.parametrize("classes", [2, 3, None])
def test_what_is_read_off_a_model_is_what_it_predicts(classes: int | None) -> None:
    fitted = summary(4.0, classes)
    frame, _ = people(400, classes, seed=5)
    for kept in (True, False):
        columns = read_settled(frame, DOMAIN, keep_undeclared=kept)
        for model in (fitted.tree(3), fitted.additive(), fitted.rule_list(2)):
            found = scoring.predicted(model, columns)
            if classes is None:
                assert found.tolist() == model.predict(columns).tolist()
                continue
            assert np.array(model.classes)[found].tolist() == model.predict(columns).tolist()
            of_cells = np.zeros((0, 0)) if isinstance(model, AdditiveModel) else probabilities(model)
            assert scoring.chances(model, columns, of_cells).tolist() == estimates.chances(model, columns).tolist()


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"epsilon": 0.0}, InvalidParameterError, "epsilon must be a number"),
        ({"model": over_sixty(None)}, InvalidModelError, "other classes"),
        ({"persons": np.arange(5)}, InvalidParameterError, "records_per_person"),
        ({"figures": ("gini",)}, InvalidParameterError, "figures must be some of accuracy, log_loss, auroc"),
        ({"figures": ()}, InvalidParameterError, "figures must be some of"),
    ],
)
def test_what_cannot_be_measured_is_refused_and_costs_nothing(
    change: Any, error: Any, said: str, tmp_path: Any
) -> None:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 1.0, 1e-6)
    X, y, _ = classed(tuple(PAIRS))
    given: dict[str, Any] = {"model": over_sixty(), "epsilon": 0.5, **change}
    with pytest.raises(error, match=said):
        of_two().set_params(ledger=book).measure(given.pop("model"), X, y, dataset="people", **given)
    assert not book.entries("people")


def test_auroc_is_refused_where_it_means_nothing_and_figures_of_a_number() -> None:
    X, y, _ = classed(tuple(PAIRS))
    three = summary(4.0, 3)
    frame, labels = people(50, 3, seed=1)
    with pytest.raises(InvalidParameterError, match="it ranks two classes"):
        three.measure(three.tree(1), frame, labels, epsilon=1.0, figures="auroc")
    with pytest.raises(InvalidParameterError, match="no common class"):
        of_two(records_per_person=1).measure(
            over_sixty(), X, y, epsilon=1.0, persons=np.arange(len(y)), figures=("auroc",)
        )
    with pytest.raises(InvalidParameterError, match="are of classes"):
        of_two(None).measure(over_sixty(None), X, y.astype(float), epsilon=1.0, figures=("accuracy",))
