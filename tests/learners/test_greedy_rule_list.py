"""Greedy rule lists: the estimator's contracts, GreedyRL against a naive form, parameters, certificates, bad input."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from glassine import Binary, Category, Domain, GlassineError, Integer, Ledger, audit
from glassine.data import CountTable
from glassine.domain import Between, ExactlyOne, OneOf
from glassine.errors import BudgetExceededError, InvalidDataError, InvalidParameterError, PrivacyLeakWarning
from glassine.formats import fingerprint
from glassine.learners.greedy.greedy_plan import MECHANISMS
from glassine.learners.greedy.ordinary_lists import GreedyRuleListClassifier
from glassine.learners.greedy.private_lists import PrivateGreedyRuleListClassifier
from glassine.privacy import accounting

WITH_DELTA = ("smooth-laplace", "global-gaussian")
PUBLISHED = [mechanism for mechanism in MECHANISMS if mechanism != "counted-gini"]
FORMS = [(mechanism, "strict") for mechanism in MECHANISMS] + [(mechanism, "published") for mechanism in PUBLISHED]

DOMAIN = Domain(
    {
        "age": Integer(18, 90, thresholds=(25, 40, 60)),
        "job": Category(("clerk", "baker", "pilot"), missing=True),
        "smoker": Binary(),
    }
)
CLASSES = ("no", "yes")


def people(n: int = 600, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray[Any, Any]]:
    """Return records and classes that depend on age and smoking, with a tenth of noise."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "job": rng.choice(np.array(["clerk", "baker", "pilot", None], dtype=object), n).tolist(),
            "smoker": rng.integers(0, 2, n),
        }
    )
    truth = (frame["age"].to_numpy() > 40) & (frame["smoker"].to_numpy() == 1)
    return frame, np.where(truth ^ (rng.random(n) < 0.1), "yes", "no")


def learner(mechanism: str | None, accounting: str = "strict", **more: Any) -> Any:
    """Return a seeded learner of three rules, or one without privacy."""
    settings: dict[str, Any] = {"domain": DOMAIN, "classes": CLASSES}
    if mechanism is None:
        return GreedyRuleListClassifier(3, **(settings | more))
    settings |= {"epsilon": 2.0, "delta": 1e-6 if mechanism in WITH_DELTA else None, "random_state": 0}
    return PrivateGreedyRuleListClassifier(3, mechanism=mechanism, accounting=accounting, **(settings | more))


FEW_RULES = {
    "check_classifiers_train": "rules of one literal on few whole numbers do not part three classes well enough"
}

SETTINGS: dict[str, Any] = {"epsilon": 3e5, "pool": "pairs", "random_state": 0}


def checked(mechanism: str, accounting: str) -> PrivateGreedyRuleListClassifier:
    """Return a learner at an epsilon that leaves no noise to speak of."""
    delta = 1e-3 if mechanism in WITH_DELTA else None
    return PrivateGreedyRuleListClassifier(mechanism=mechanism, accounting=accounting, delta=delta, **SETTINGS)


@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    [
        GreedyRuleListClassifier(),
        checked("counted-gini", "strict"),
        checked("smooth-laplace", "strict"),
    ],
    expected_failed_checks=lambda estimator: FEW_RULES if estimator.pool == "literals" else {},
)
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    """One check is exempted, of rules of one literal; see the class."""
    check(estimator)
    assert not hasattr(estimator, "model_"), "checks work on clones"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    [
        GreedyRuleListClassifier(pool="pairs"),
        *(checked(*form) for form in FORMS if form not in (("counted-gini", "strict"), ("smooth-laplace", "strict"))),
    ]
)
def test_scikit_learn_contract_of_the_other_forms(estimator: Any, check: Callable[[Any], None]) -> None:
    """No check is exempted."""
    check(estimator)
    assert not hasattr(estimator, "model_"), "checks work on clones"


# GreedyRL against a naive form.


def naive_list(
    X: np.ndarray[Any, Any], y: np.ndarray[Any, Any], rules: list[tuple[int, int]], length: int, least: int
) -> list[tuple[int, int]]:
    """Return the rules that GreedyRL takes, each a column and a value, by counting records one by one."""

    def impurity(rows: np.ndarray[Any, Any]) -> Fraction:
        n = int(rows.sum())
        return n - Fraction(sum(int((y[rows] == k).sum()) ** 2 for k in np.unique(y)), n) if n else Fraction(0)

    found: list[tuple[int, int]] = []
    left = np.ones(len(y), dtype=bool)
    while len(found) < length and left.sum() >= max(least, 1):
        best, chosen = impurity(left), None
        for rule in rules:
            captured = left & (X[:, rule[0]] == rule[1])
            if rule in found or captured.sum() < least:
                continue
            score = impurity(captured) + impurity(left & ~captured)
            if score < best:
                best, chosen = score, rule
        if chosen is None:
            break
        found.append(chosen)
        left &= X[:, chosen[0]] != chosen[1]
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("classes", [2, 3])
def test_greedy_rl_is_that_of_a_naive_form(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 120))
    X = rng.integers(0, 2, (n, 4))
    y = (X[:, 0] + (rng.random(n) < 0.3)) % classes if seed % 2 else rng.integers(0, classes, n)
    support = (0.0, 0.05, 0.2)[seed % 3]
    names = list("abcd")
    learner = GreedyRuleListClassifier(
        4, domain=Domain.binary(names), min_support=support, classes=tuple(range(classes))
    )
    model = learner.fit(X, y).model_
    rules = [(column, value) for column in range(4) for value in (1, 0)]
    found = naive_list(X, y, rules, 4, -(-int(support * 100) * n // 100))
    told = [
        (names.index(literal.attribute), 0 if literal.negated else 1)
        for rule in model.rules[:-1]
        for literal in rule.antecedent
    ]
    assert told == found
    assert sum(sum(rule.evidence.counts) for rule in model.rules) == n
    assert learner.certificate_.epsilon == float("inf")
    assert model.guarantee is None


def test_a_given_pool_is_taken_in_its_order_and_ties_go_to_the_first() -> None:
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    y = X[:, 0] ^ 0
    domain = Domain.binary(["a", "b"])
    positive, negative = (OneOf("a", (1,)),), (OneOf("a", (0,)),)
    for pool in ([positive, negative], [negative, positive]):
        model = GreedyRuleListClassifier(2, pool=pool, domain=domain).fit(X, y).model_
        assert [rule.antecedent for rule in model.rules] == [pool[0], ()]
    both = (OneOf("a", (1,)), OneOf("b", (1,)), OneOf("a", (1,)))
    assert len(GreedyRuleListClassifier(2, pool=[both], domain=domain).fit(X, X[:, 0] & X[:, 1]).model_.rules) == 2


def test_the_minimum_support_binds_rules_and_what_is_left() -> None:
    X = np.array([[1, 0]] * 3 + [[0, 1]] * 40 + [[0, 0]] * 57)
    y = np.array([1] * 3 + [0] * 10 + [1] * 30 + [0] * 57)
    domain = Domain.binary(["rare", "common"])
    pool = [(OneOf("rare", (1,)),), (OneOf("common", (1,)),)]
    loose = GreedyRuleListClassifier(2, domain=domain, min_support=0.0, pool=pool).fit(X, y).model_
    tight = GreedyRuleListClassifier(2, domain=domain, min_support=0.04, pool=pool).fit(X, y).model_
    assert len(loose.rules) == 3
    assert {rule.antecedent[0].attribute for rule in tight.rules[:-1]} == {"common"}
    assert all(sum(rule.evidence.counts) >= 4 for rule in tight.rules[:-1])


def test_one_class_and_tiny_data() -> None:
    domain = Domain.binary(["a"])
    alone = GreedyRuleListClassifier(domain=domain, classes=("no", "yes")).fit([[1]], ["yes"])
    assert alone.predict([[0]]).tolist() == ["yes"]
    assert len(alone.model_.rules) == 1
    for mechanism, how in FORMS:
        if mechanism in WITH_DELTA and how == "strict":
            continue
        tiny = learner(mechanism, how, domain=domain, classes=(0, 1, 2), delta=None)
        assert len(tiny.fit([[1], [0]], [2, 0]).classes_) == 3


def test_a_domain_without_literals_gives_the_default_rule() -> None:
    domain = Domain({"x": Integer(0, 9)})
    for mechanism in (None, "counted-gini", "smooth-laplace", "noisy-counts"):
        model = learner(mechanism, domain=domain, literals="thresholds", classes=(0, 1)).fit([[3]] * 9, [1] * 9).model_
        assert len(model.rules) == 1


# Every frame, the ledger, the certificate.


@pytest.mark.parametrize("mechanism", [None, *MECHANISMS])
def test_every_frame_gives_the_same_model_and_labels_and_probabilities_agree(mechanism: str | None) -> None:
    frame, y = people()
    both = frame.with_columns(pl.Series("y", y))
    target = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "y": Category(CLASSES)})
    sources: list[tuple[Any, Any]] = [
        (frame, y),
        (frame.to_pandas(), pd.Series(y)),
        (both, "y"),
        (both.lazy(), "y"),
        (CountTable.from_frame(both, target), "y"),
    ]
    models = []
    for X, labels in sources:
        fitted = learner(mechanism)
        if isinstance(X, CountTable):
            fitted.set_params(domain=None)
        models.append(fitted.fit(X, labels).model_)
    assert all(model == models[0] for model in models)
    fitted = learner(mechanism).fit(frame, y)
    proba = fitted.predict_proba(frame)
    assert np.allclose(proba.sum(axis=1), 1)
    assert fitted.classes_[proba.argmax(axis=1)].tolist() == fitted.predict(frame).tolist()
    assert {name for name in vars(fitted) if name.endswith("_")} == fitted.released
    assert pickle.loads(pickle.dumps(fitted)).model_ == fitted.model_


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_strict_certificate_adds_up_and_holds(mechanism: str) -> None:
    frame, y = people()
    fitted = learner(mechanism, random_state=None, epsilon=0.7).fit(frame, y)
    certificate = fitted.certificate_
    delta = 1e-6 if mechanism in WITH_DELTA else 0.0
    assert (certificate.epsilon, certificate.delta, certificate.holds) == (0.7, delta, True)
    assert accounting.epsilon(certificate.events, delta) == pytest.approx(0.7, rel=1e-6)
    assert accounting.epsilon(certificate.events, delta) <= 0.7 + 1e-12
    assert type(certificate).from_json(certificate.to_json()) == certificate
    assert certificate.model == fingerprint(fitted.model_)
    assert fitted.model_.guarantee == type(fitted.model_.guarantee)(
        epsilon=0.7, delta=delta, count_scale=fitted.model_.guarantee.count_scale
    )
    assert "{" not in certificate.text().split("Taken as public")[0]
    assert json.loads(certificate.to_json())["public"]["mechanism"] == mechanism
    assert "epsilon" in json.dumps(audit(fitted.model_, domain=DOMAIN).to_dict())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_strict_certificate_is_the_same_whatever_the_records_are(mechanism: str) -> None:
    texts = set()
    for seed, n in ((0, 600), (1, 601), (2, 40)):
        values = learner(mechanism).fit(*people(n, seed)).certificate_.to_dict()
        values.pop("model")
        texts.add(json.dumps(values))
    assert len(texts) == 1


def test_labels_follow_from_the_noisy_counts() -> None:
    frame, y = people()
    for mechanism in MECHANISMS:
        model = learner(mechanism, epsilon=50.0).fit(frame, y).model_
        for rule in model.rules:
            counts = rule.evidence.counts
            assert counts is not None
            if counts[0] != counts[1]:
                assert rule.evidence.label == int(counts[1] > counts[0])


def test_caveats_void_the_guarantee() -> None:
    frame, y = people()
    assert learner("counted-gini").fit(frame, y).certificate_.caveats == ("seeded: not private",)
    with pytest.warns(PrivacyLeakWarning):
        inferred = learner("counted-gini", domain=None, classes=None, random_state=None).fit(frame.drop("job"), y)
    assert not inferred.certificate_.holds
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner(None, domain=None, classes=None).fit(frame.drop("job"), y)


def test_private_quantiles_take_their_share() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"income": rng.integers(0, 1000, 4000)})
    y = (frame["income"].to_numpy() > 500).astype(int)
    domain = Domain({"income": Integer(0, 1000)})
    fitted = learner("counted-gini", domain=domain, classes=(0, 1), epsilon=5.0).fit(frame, y)
    assert fitted.score(frame, y) > 0.85
    assert accounting.epsilon(fitted.certificate_.events) == pytest.approx(5.0)
    assert any(event.name.startswith("quantiles") for event in fitted.certificate_.events)


@pytest.mark.parametrize(("mechanism", "how"), [("counted-gini", "strict"), ("smooth-laplace", "published")])
def test_ledger_is_charged_once_and_before_the_release(mechanism: str, how: str, tmp_path: Path) -> None:
    frame, y = people(100)
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 1.0, 0.1)
    settings: dict[str, Any] = {"ledger": book, "dataset": "people"} | ({"delta": 1e-5} if how == "published" else {})
    fitted = learner(mechanism, how, epsilon=0.6, **settings).fit(frame, y)
    (entry,) = book.entries("people")
    assert float(entry.epsilon) == 0.6
    assert float(entry.delta) == fitted.certificate_.delta
    fresh = clone(fitted)
    with pytest.raises(BudgetExceededError):
        fresh.fit(frame, y)
    assert not hasattr(fresh, "model_")
    for bad in ({"domain": Domain.binary(["z"])}, {"progress": 3}, {"pool": "triples"}):
        with pytest.raises(GlassineError):
            learner(mechanism, how, epsilon=0.1, **settings, **bad).fit(frame, y)
    assert len(book.entries("people")) == 1


NUMBER = Domain({"income": Integer(0, 100)})

UNPAYABLE: list[tuple[str, str, dict[str, Any], str]] = [
    ("counted-gini", "strict", {"domain": NUMBER, "quantile_share": 1.0}, "must leave at least"),
    ("smooth-laplace", "strict", {"domain": NUMBER, "quantile_share": 0.94}, "must leave at least"),
    ("smooth-laplace", "published", {"domain": NUMBER, "quantile_share": 1.0}, "must leave at least"),
    ("counted-gini", "strict", {"domain": NUMBER, "quantile_share": 1e-300}, "quantile_share leaves"),
    *(("counted-gini", "strict", {"leaf_counts_share": share}, "noise beyond") for share in (5e-324, 1e-300, 1e-20)),
    ("counted-gini", "strict", {"pool": [(OneOf("height", (1,)),)]}, "height"),
    ("counted-gini", "strict", {"pool": [(OneOf("smoker", (5,)),)]}, "not a value of its domain"),
    ("global-laplace", "published", {"pool": [(Between("job", hi=0.5),)]}, "threshold"),
    ("noisy-counts", "strict", {"literals": [OneOf("height", (1,))]}, "height"),
    ("global-gaussian", "strict", {"epsilon": 1e-6, "delta": 1e-100}, "beyond any use"),
    ("smooth-laplace", "published", {"delta": None}, "delta is needed with a ledger"),
]


@pytest.mark.parametrize(("mechanism", "how", "bad", "message"), UNPAYABLE, ids=str)
def test_what_cannot_be_fitted_is_not_charged(
    mechanism: str, how: str, bad: dict[str, Any], message: str, tmp_path: Path
) -> None:
    frame, y = people(60)
    if bad.get("domain") is NUMBER:
        frame = pl.DataFrame({"income": np.arange(60)})
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0, 0.1)
    wrong = learner(mechanism, how, ledger=book, dataset="people").set_params(**bad)
    with pytest.raises(GlassineError, match=message):
        wrong.fit(frame, y)
    assert book.entries("people") == ()
    assert not hasattr(wrong, "model_")


BAD: list[tuple[str | None, dict[str, Any], str]] = [
    ("gini", {}, "mechanism must be one of .* Without privacy use GreedyRuleListClassifier"),
    ("counted-gini", {"accounting": "published"}, "does not apply to mechanism='counted-gini'"),
    ("counted-gini", {"accounting": "loose"}, "accounting must be"),
    ("counted-gini", {"epsilon": None}, "epsilon must be"),
    ("counted-gini", {"mechanism": None}, "mechanism must be one of"),
    ("counted-gini", {"delta": 1e-6}, "private without a delta"),
    ("noisy-counts", {"delta": 1e-6, "accounting": "published"}, "private without a delta"),
    ("smooth-laplace", {"delta": None}, "needs delta"),
    ("global-gaussian", {"delta": None}, "needs delta"),
    ("smooth-laplace", {"delta": 0.0}, "delta must be"),
    ("smooth-laplace", {"delta": float("nan")}, "delta must be"),
    ("smooth-laplace", {"leaf_counts_share": 0.1, "accounting": "published"}, "has no effect"),
    ("counted-gini", {"accounting": None}, "accounting must be"),
    (None, {"min_support": float("nan")}, "min_support must be"),
    (None, {"min_support": 0.6}, "min_support must be"),
    (None, {"min_support": -0.1}, "min_support must be"),
    (None, {"max_rules": 0}, "max_rules must be"),
    (None, {"max_rules": True}, "max_rules must be"),
    (None, {"max_rules": 2.0}, "max_rules must be"),
    ("counted-gini", {"confidence": 1.0}, "confidence must be"),
    ("counted-gini", {"min_support": float("nan")}, "min_support must be"),
    ("counted-gini", {"max_rules": 0}, "max_rules must be"),
    (None, {"pool": "triples"}, "pool must be"),
    (None, {"pool": [()]}, "at least one literal"),
    (None, {"pool": [(Between("height", hi=3),)]}, "height"),
    ("counted-gini", {"epsilon": float("nan")}, "epsilon must be"),
    ("counted-gini", {"epsilon": float("inf")}, "epsilon must be"),
    ("counted-gini", {"epsilon": 1e-9}, "too small"),
    ("counted-gini", {"epsilon": "1"}, "epsilon must be"),
    ("counted-gini", {"leaf_counts_share": 0.0}, "leaf_counts_share must be"),
    ("counted-gini", {"leaf_counts_share": 0.99}, "must leave"),
    ("counted-gini", {"random_state": "seed"}, "random_state must be"),
]


@pytest.mark.parametrize(("mechanism", "bad", "message"), BAD, ids=str)
def test_bad_parameters_are_named(mechanism: str | None, bad: dict[str, Any], message: str) -> None:
    frame, y = people(60)
    wrong = learner(mechanism).set_params(**bad)
    with pytest.raises(GlassineError, match=message):
        wrong.fit(frame, y)
    assert not hasattr(wrong, "model_")


def test_without_privacy_a_weight_is_a_number_of_records() -> None:
    frame, y = people(80)
    times = np.random.default_rng(5).integers(0, 4, 80)
    kept = np.repeat(np.arange(80), times)
    weighted = learner(None).fit(frame, y, sample_weight=times).model_
    assert replace(weighted, sizes="stored") == learner(None).fit(frame[kept.tolist()], y[kept]).model_
    assert weighted != learner(None).fit(frame, y).model_


def test_weights_and_misspelt_arguments_are_refused() -> None:
    frame, y = people(50)
    with pytest.raises(TypeError, match="takes no sample_weight"):
        learner("counted-gini").fit(frame, y, sample_weight=np.ones(50))
    with pytest.raises(TypeError, match="unexpected argument"):
        learner("counted-gini").fit(frame, y, weight=1)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        learner(None).fit(frame, y, weight=1)
    with pytest.raises(InvalidDataError, match="lack the column"):
        learner(None).fit(frame.drop("age"), y)


def test_progress_is_told_rule_by_rule() -> None:
    frame, y = people(80)
    for mechanism, how in [(None, "strict"), *FORMS[:2], FORMS[-1]]:
        told: list[tuple[int, int]] = []
        usual = {"epsilon": 100.0} if mechanism else {}
        learner(mechanism, how, progress=lambda *at, told=told: told.append(at), **usual).fit(frame, y)
        assert told
        assert all(total == 3 for _, total in told)


def test_class_sizes_are_public() -> None:
    binary = Domain.binary(["smoker"])
    size = GreedyRuleListClassifier(1, domain=binary, classes=CLASSES)
    assert np.exp(size.log_class_size()) == pytest.approx(2 + 2 * 4)
    assert size.memory_needed() == 8 * 4 * 2
    ahead = PrivateGreedyRuleListClassifier(2, epsilon=1.0, domain=binary, classes=CLASSES)
    assert ahead.memory_needed() == 8 * (4 * 2 + (3 * 2 + 8) * 4)
    with pytest.raises(InvalidParameterError, match="Pass domain="):
        GreedyRuleListClassifier(1).memory_needed()


def test_a_rule_that_can_take_nothing_is_not_chosen_privately() -> None:
    domain = Domain.binary(["a", "b"], groups=[ExactlyOne(("a", "b"))])
    X = np.array([[1, 0], [0, 1]] * 50)
    model = PrivateGreedyRuleListClassifier(5, epsilon=0.01, domain=domain, classes=(0, 1), random_state=0).fit(
        X, X[:, 0]
    )
    assert len(model.model_.rules) == 2
