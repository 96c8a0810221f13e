"""The four estimators: scikit-learn's contracts, release surface, frames of every library, bad input."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from glassine import Binary, Category, Domain, GlassineError, Integer, Ledger, audit
from glassine.data import CountTable, infer_domain
from glassine.domain import Between, Literal, OneOf
from glassine.errors import (
    BudgetExceededError,
    ClassTooLargeError,
    InvalidDataError,
    InvalidParameterError,
    PrivacyLeakWarning,
)
from glassine.formats import fingerprint
from glassine.learners import (
    OptimalRuleListClassifier,
    OptimalTreeClassifier,
    PrivateRuleListClassifier,
    PrivateTreeClassifier,
)

DOMAIN = Domain(
    {
        "age": Integer(18, 90, thresholds=(25, 40, 60)),
        "job": Category(("clerk", "baker", "pilot"), missing=True),
        "smoker": Binary(),
    }
)
CLASSES = ("no", "yes")
PRIVATE = [PrivateTreeClassifier, PrivateRuleListClassifier]
OPTIMAL = [OptimalTreeClassifier, OptimalRuleListClassifier]
CHECKED = [
    PrivateTreeClassifier(epsilon=1e4, random_state=0),
    PrivateRuleListClassifier(max_rules=2, epsilon=1e4, random_state=0),
    OptimalTreeClassifier(max_depth=2),
    OptimalRuleListClassifier(max_rules=2),
]


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


def private(kind: Any, **more: Any) -> Any:
    """Return a private learner of its smallest interesting size, seeded."""
    settings: dict[str, Any] = {"epsilon": 2.0, "domain": DOMAIN, "classes": CLASSES, "random_state": 0}
    return kind(2, **(settings | more))


@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
@parametrize_with_checks(CHECKED)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    """No check is exempted; the private learners run at an epsilon that leaves no noise to speak of."""
    check(estimator)
    assert not hasattr(estimator, "model_"), "checks work on clones"


@pytest.mark.parametrize("kind", PRIVATE + OPTIMAL)
def test_only_the_release_surface_is_kept_and_pickled(kind: Any) -> None:
    frame, y = people()
    learner = private(kind) if kind in PRIVATE else kind(2, domain=DOMAIN)
    learner.fit(frame, y)
    fitted = {name for name in vars(learner) if name.endswith("_")}
    assert fitted == learner.released
    back = pickle.loads(pickle.dumps(learner))
    assert set(vars(back)) == set(vars(learner))
    assert back.model_ == learner.model_
    assert back.predict(frame).tolist() == learner.predict(frame).tolist()
    assert not any(isinstance(value, nw.DataFrame | pl.DataFrame | CountTable) for value in vars(back).values())


@pytest.mark.parametrize("kind", PRIVATE)
def test_a_pickle_is_as_large_for_many_records_as_for_few(kind: Any) -> None:
    sizes = []
    for n in (200, 20_000):
        frame, y = people(n)
        sizes.append(len(pickle.dumps(private(kind, leaf_counts_share=0.0).fit(frame, y))))
    assert sizes[1] < sizes[0] + 1000


@pytest.mark.parametrize("kind", PRIVATE + OPTIMAL)
def test_every_frame_gives_the_same_model(kind: Any) -> None:
    frame, y = people()
    both = frame.with_columns(pl.Series("y", y))
    target = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "y": Category(CLASSES)})
    relation = duckdb.from_arrow(both.to_arrow())
    sources: list[tuple[Any, Any]] = [
        (frame, y),
        (frame.to_pandas(), pd.Series(y)),
        (frame.to_arrow(), pa.array(y).to_pylist()),
        (both, "y"),
        (both.lazy(), "y"),
        (relation, "y"),
        (CountTable.from_frame(both, target), "y"),
    ]
    models = []
    for X, labels in sources:
        learner = private(kind) if kind in PRIVATE else kind(2, domain=DOMAIN)
        if isinstance(X, CountTable):
            learner.set_params(domain=None)
        models.append(learner.fit(X, labels).model_)
    assert all(model == models[0] for model in models)


@pytest.mark.parametrize("kind", OPTIMAL)
def test_weights_equal_duplication(kind: Any) -> None:
    frame, y = people(200)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = kind(2, domain=DOMAIN).fit(frame, y, sample_weight=weights)
    rows = np.repeat(np.arange(len(y)), weights)
    repeated = kind(2, domain=DOMAIN).fit(frame[rows], y[rows])
    # Sums of weights are no numbers of records, and the model says so.
    assert weighted.model_.sizes == "derived"
    assert replace(weighted.model_, sizes="stored") == repeated.model_
    assert weighted.objective_ == repeated.objective_


@pytest.mark.parametrize("kind", PRIVATE)
def test_private_learners_refuse_weights_and_misspelt_arguments(kind: Any) -> None:
    frame, y = people(50)
    with pytest.raises(TypeError, match="takes no sample_weight"):
        private(kind).fit(frame, y, sample_weight=np.ones(50))
    with pytest.raises(TypeError, match="unexpected argument 'sample_wieght'"):
        private(kind).fit(frame, y, sample_wieght=np.ones(50))


@pytest.mark.parametrize("kind", PRIVATE)
def test_certificate_adds_up_and_names_every_release(kind: Any) -> None:
    frame, y = people()
    learner = private(kind, epsilon=0.3, random_state=None).fit(frame, y)
    certificate = learner.certificate_
    assert (certificate.epsilon, certificate.delta, certificate.holds) == (0.3, 0.0, True)
    rates, selection, counts = certificate.events
    assert selection.monotone
    assert selection.inverse_temperature + selection.slack == pytest.approx(0.2565, abs=1e-9)
    assert selection.inverse_temperature < 0.2565
    assert counts.scale == pytest.approx(1 / 0.0285)
    assert rates.scale == pytest.approx(1 / 0.015)
    assert "base rates" in rates.name
    assert [round(event.share, 3) for event in certificate.events] == [0.05, 0.855, 0.095]
    assert json.loads(certificate.to_json())["epsilon"] == 0.3
    assert learner.model_.guarantee.epsilon == 0.3
    assert learner.model_.guarantee.count_scale == counts.scale
    assert type(certificate).from_json(certificate.to_json()) == certificate
    assert certificate.model == fingerprint(learner.model_)
    other = private(kind, epsilon=0.3, leaf_counts_share=0.5).fit(frame, y)
    assert other.certificate_.model != certificate.model


@pytest.mark.parametrize("kind", PRIVATE)
def test_caveats_void_the_guarantee(kind: Any) -> None:
    frame, y = people()
    seeded = private(kind).fit(frame, y)
    assert seeded.certificate_.caveats == ("seeded: not private",)
    with pytest.warns(PrivacyLeakWarning) as caught:
        inferred = private(kind, domain=None, classes=None, random_state=None).fit(frame.drop("job"), y)
    assert len(caught) == 2
    assert not inferred.certificate_.holds
    assert [text.split()[0] for text in inferred.certificate_.caveats] == ["classes", "domain"]
    assert inferred.model_.guarantee.caveats == inferred.certificate_.caveats


@pytest.mark.parametrize("kind", PRIVATE)
def test_a_domain_inferred_beforehand_voids_the_guarantee_too(kind: Any) -> None:
    frame, y = people()
    inferred = infer_domain(frame.with_columns(ill=pl.Series(y)))
    with pytest.warns(PrivacyLeakWarning) as caught:
        learner = private(kind, domain=inferred, classes=None, random_state=None).fit(frame, pd.Series(y, name="ill"))
    assert len(caught) == 2
    assert [text.split()[0] for text in learner.certificate_.caveats] == ["classes", "domain"]
    partly = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "age": inferred["age"]})
    with pytest.warns(PrivacyLeakWarning, match="domain inferred"):
        assert not private(kind, domain=partly, random_state=None, dataset="partly").fit(frame, y).certificate_.holds


@pytest.mark.parametrize("kind", PRIVATE)
def test_fractions_are_no_classes(kind: Any) -> None:
    frame, _ = people(50)
    with pytest.raises(InvalidDataError, match="continuous"):
        private(kind, classes=None).fit(frame, np.linspace(0.1, 0.9, 50))


@pytest.mark.parametrize("kind", PRIVATE)
def test_declared_target_and_booleans_are_public(kind: Any) -> None:
    frame, y = people()
    target = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "ill": Category(("yes", "no", "unknown"))})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = private(kind, domain=target, classes=None).fit(frame, pd.Series(y, name="ill"))
        boolean = private(kind, classes=None).fit(frame, y == "yes")
    assert named.classes_.tolist() == ["yes", "no", "unknown"]
    assert named.predict_proba(frame).shape == (len(y), 3)
    assert boolean.classes_.tolist() == [False, True]
    assert boolean.predict(frame).dtype == bool


@pytest.mark.parametrize("kind", PRIVATE)
def test_unseeded_fits_differ_and_seeded_fits_do_not(kind: Any) -> None:
    frame, y = people(100)
    models = {private(kind, epsilon=0.01, random_state=None, dataset=str(i)).fit(frame, y).model_ for i in range(8)}
    assert len(models) > 1
    assert private(kind).fit(frame, y).model_ == private(kind).fit(frame, y).model_
    generators = [np.random.default_rng(5), np.random.default_rng(5)]
    first, second = (private(kind, random_state=rng).fit(frame, y).model_ for rng in generators)
    assert first == second


@pytest.mark.parametrize("kind", PRIVATE)
def test_values_outside_the_domain_are_clipped_in_fit_and_predict(kind: Any) -> None:
    frame, y = people()
    wild = frame.with_columns(
        age=pl.when(pl.col("age") == 90).then(500).otherwise(pl.col("age")),
        job=pl.when(pl.col("job").is_null()).then(pl.lit("astronaut")).otherwise(pl.col("job")),
    )
    assert private(kind).fit(wild, y).model_ == private(kind).fit(frame, y).model_
    learner = private(kind).fit(frame, y)
    assert learner.predict(wild).tolist() == learner.predict(frame).tolist()


def test_an_undeclared_category_takes_the_other_branch() -> None:
    domain = Domain({"job": Category(("clerk", "baker"))})
    frame = pl.DataFrame({"job": ["clerk", "baker"] * 50})
    tree = OptimalTreeClassifier(1, domain=domain).fit(frame, [1, 0] * 50)
    assert tree.predict(pl.DataFrame({"job": ["clerk", "pope"]})).tolist() == [1, 0]


@pytest.mark.parametrize("kind", PRIVATE + OPTIMAL)
def test_probabilities_follow_from_the_published_counts_and_agree_with_predictions(kind: Any) -> None:
    frame, y = people()
    learner = private(kind, epsilon=0.2, leaf_counts_share=0.3) if kind in PRIVATE else kind(2, domain=DOMAIN)
    learner.fit(frame, y)
    proba = learner.predict_proba(frame)
    assert np.allclose(proba.sum(axis=1), 1)
    assert learner.classes_[proba.argmax(axis=1)].tolist() == learner.predict(frame).tolist()
    cells = learner.apply(frame)
    for i, cell in enumerate(learner.model_.cells):
        assert len(np.unique(proba[cells == i], axis=0)) <= 1
        assert cell.evidence.counts is not None


@pytest.mark.parametrize("kind", PRIVATE)
def test_without_counts_the_probabilities_are_those_of_the_drawn_values(kind: Any) -> None:
    frame, y = people()
    learner = private(kind, leaf_counts_share=0.0).fit(frame, y)
    rates, selection = learner.certificate_.events
    assert (rates.share, selection.share) == (0.05, 0.95)
    assert all(cell.evidence.counts is None for cell in learner.model_.cells)
    assert 0 < learner.predict_proba(frame).min() < learner.predict_proba(frame).max() < 1
    assert learner.model_.guarantee.count_scale is None


@pytest.mark.parametrize("kind", PRIVATE)
def test_of_errors_alone_and_without_counts_only_labels_are_published(kind: Any) -> None:
    frame, y = people()
    learner = private(kind, leaf_counts_share=0.0, accuracy_share=1.0).fit(frame, y)
    assert len(learner.certificate_.events) == 1
    assert all(cell.evidence.counts is None for cell in learner.model_.cells)
    assert set(np.unique(learner.predict_proba(frame))) <= {0.0, 1.0}
    assert learner.model_.guarantee.count_scale is None


def test_decision_path_of_tree_and_list() -> None:
    frame, y = people()
    tree = OptimalTreeClassifier(2, domain=DOMAIN).fit(frame, y)
    path = tree.decision_path(frame).toarray()
    leaves = [cell.node for cell in tree.model_.cells]
    assert path.shape == (len(y), len(tree.model_.nodes))
    assert (path[:, 0] == 1).all()
    assert (path[:, leaves].argmax(axis=1) == tree.apply(frame)).all()
    assert (path[:, leaves].sum(axis=1) == 1).all()
    rules = OptimalRuleListClassifier(2, domain=DOMAIN).fit(frame, y)
    tested = rules.decision_path(frame).toarray()
    assert (tested.sum(axis=1) - 1 == rules.apply(frame)).all()


@pytest.mark.parametrize("kind", PRIVATE + OPTIMAL)
def test_pipeline_clone_and_search(kind: Any) -> None:
    frame, y = people(120)
    X = frame.drop("job").to_numpy().astype(float)
    domain = Domain({name: DOMAIN[name] for name in ("age", "smoker")})
    learner = private(kind, domain=domain) if kind in PRIVATE else kind(2, domain=domain, classes=CLASSES)
    size = "max_depth" if hasattr(learner, "max_depth") else "max_rules"
    assert clone(learner).get_params() == learner.get_params()
    assert len(cross_val_score(make_pipeline(FunctionTransformer(), learner), X, y, cv=3)) == 3
    search = GridSearchCV(learner, {size: [1, 2]}, cv=2).fit(X, y)
    assert search.best_params_[size] in (1, 2)
    assert search.score(X, y) > 0.6


def test_given_literals_and_antecedents_are_used_as_they_are() -> None:
    frame, y = people()
    literals: list[Literal] = [Between("age", hi=33), OneOf("job", ("clerk", "baker"))]
    tree = OptimalTreeClassifier(2, domain=DOMAIN, literals=literals).fit(frame, y)
    assert {literal.attribute for literal in tree.model_.literals} <= {"age", "job"}
    pool = [(OneOf("smoker", (1,)), Between("age", lo=40)), (OneOf("job", ("pilot",)),)]
    rules = OptimalRuleListClassifier(2, domain=DOMAIN, pool=pool).fit(frame, y)
    assert {rule.antecedent for rule in rules.model_.rules[:-1]} <= set(pool)
    assert rules.objective_ == pytest.approx(0.1, abs=0.05)
    pairs = OptimalRuleListClassifier(1, domain=DOMAIN, pool="pairs").fit(frame, y)
    assert pairs.objective_ == rules.objective_


def test_private_quantiles_serve_numbers_without_thresholds() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"income": rng.integers(0, 1000, 4000)})
    domain = Domain({"income": Integer(0, 1000)})
    y = frame["income"].to_numpy() > 500
    tree = PrivateTreeClassifier(1, epsilon=5.0, domain=domain, random_state=0).fit(frame, y)
    assert tree.score(frame, y) > 0.9
    assert sum(event.name.startswith("quantiles") for event in tree.certificate_.events) >= 1
    assert tree.certificate_.epsilon == 5.0
    public = PrivateTreeClassifier(1, epsilon=5.0, domain=domain, literals="thresholds", random_state=0).fit(frame, y)
    assert len(public.model_.cells) == 1


@pytest.mark.parametrize("kind", PRIVATE)
def test_ledger_is_charged_once_and_before_the_release(kind: Any, tmp_path: Path) -> None:
    frame, y = people(100)
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 1.0)
    learner = private(kind, epsilon=0.4, ledger=book, dataset="people")
    learner.fit(frame, y)
    assert book.spent("people") == 0.4
    clone(learner).fit(frame, y)
    assert book.spent("people") == 0.8
    fresh = clone(learner)
    with pytest.raises(BudgetExceededError):
        fresh.fit(frame, y)
    assert not hasattr(fresh, "model_")
    assert book.spent("people") == 0.8
    with pytest.raises(InvalidParameterError, match="a ledger needs a dataset"):
        private(kind, ledger=book).fit(frame, y)


@pytest.mark.parametrize("kind", PRIVATE)
def test_what_is_refused_spends_nothing(kind: Any, tmp_path: Path) -> None:
    frame, y = people(100)
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0)

    def charged(**more: Any) -> Any:
        return private(kind, ledger=book, dataset="people", **more)

    with pytest.raises(ClassTooLargeError, match="memory_limit") as caught:
        charged(memory_limit=10.0).fit(frame, y)
    assert caught.value.bytes_needed > 10
    with pytest.raises(ClassTooLargeError, match="time_limit"):
        charged(time_limit=1e-9).fit(frame, y)
    with pytest.raises(InvalidDataError, match="lack the column"):
        charged().fit(frame.drop("age"), y)
    with pytest.raises(InvalidDataError, match="is not an attribute"):
        charged().fit(frame.with_columns(extra=pl.lit(1)), y)
    assert book.spent("people") == 0


BAD = [
    {"epsilon": 0.0},
    {"epsilon": -1},
    {"epsilon": float("nan")},
    {"epsilon": float("inf")},
    {"epsilon": "1"},
    {"epsilon": True},
    {"epsilon": 1e-12},
    {"leaf_counts_share": 1.0},
    {"leaf_counts_share": -0.1},
    {"leaf_counts_share": float("nan")},
    {"quantile_share": 0.0},
    {"quantile_share": 0.99, "leaf_counts_share": 0.5, "literals": "quantiles"},
    {"n_quantiles": 0},
    {"n_quantiles": 2.5},
    {"literals": "all"},
    {"literals": [1]},
    {"literals": 7},
    {"literals": [Between("height", hi=3)]},
    {"classes": ()},
    {"classes": ("no", "no")},
    {"classes": ("no", float("nan"))},
    {"domain": {"age": 1}},
    {"ledger": 5, "dataset": "people"},
    {"random_state": "seed"},
]


@pytest.mark.parametrize("kind", PRIVATE)
@pytest.mark.parametrize("bad", BAD, ids=str)
def test_bad_parameters_are_named(kind: Any, bad: dict[str, Any]) -> None:
    frame, y = people(60)
    learner = private(kind, **bad)
    with pytest.raises(GlassineError) as caught:
        learner.fit(frame, y)
    assert not hasattr(learner, "model_")
    assert len(str(caught.value)) > 30


@pytest.mark.parametrize("kind", PRIVATE + OPTIMAL)
@pytest.mark.parametrize("size", [0, -1, 1.5, True, "3", 99])
def test_bad_sizes_are_named(kind: Any, size: Any) -> None:
    frame, y = people(60)
    with pytest.raises(InvalidParameterError, match=r"max_(depth|rules) must be a whole number"):
        kind(size, domain=DOMAIN, classes=CLASSES, **({"epsilon": 1.0} if kind in PRIVATE else {})).fit(frame, y)


def test_class_sizes_are_those_of_the_domain() -> None:
    frame, y = people(100)
    binary = Domain({"smoker": Binary()})
    for kind in PRIVATE + OPTIMAL:
        size = "max_depth" if "Tree" in kind.__name__ else "max_rules"
        learner = private(kind, domain=binary) if kind in PRIVATE else kind(2, domain=binary)
        learner.set_params(**{size: 1}, accuracy_share=1.0).fit(frame.select("smoker"), y)
        # Two labels alone; a split with two labels at each side; a rule or its negation, each with two labels twice.
        expected = 2 + 4 if size == "max_depth" else 2 + 2 * 4
        assert np.exp(learner.log_class_size()) == pytest.approx(expected)
        unfitted = clone(learner).set_params(classes=CLASSES)
        assert unfitted.log_class_size() == learner.log_class_size()
        assert 0 < unfitted.memory_needed() == learner.memory_needed() < 1000
        # Of two classes a leaf has at most 17 values: the base rates, and eight toward each class.
        expected = 17 + 17**2 if size == "max_depth" else 17 + 2 * 17**2
        unfitted.set_params(accuracy_share=0.3)
        assert np.exp(unfitted.log_class_size()) == pytest.approx(expected)
        with pytest.raises(InvalidParameterError, match="Pass domain="):
            unfitted.set_params(domain=None).log_class_size()


def test_a_private_model_can_be_audited() -> None:
    frame, y = people()
    domain = Domain({name: DOMAIN[name] for name in DOMAIN})
    for kind in PRIVATE:
        learner = private(kind, random_state=None, dataset=kind.__name__).fit(frame, y)
        findings = audit(learner.model_, domain=domain)
        assert findings is not None
        assert "epsilon" in json.dumps(findings.to_dict())


@pytest.mark.parametrize("kind", PRIVATE + OPTIMAL)
def test_columns_are_matched_by_name_where_they_have_names(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 3))
    y = X[:, 0]
    domain = Domain.binary(["a", "b", "c"])
    learner = private(kind, domain=domain, classes=(0, 1), epsilon=5.0) if kind in PRIVATE else kind(2, domain=domain)
    learner.fit(X, y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert learner.score(frame[["c", "b", "a"]], y) == learner.score(X, y) == 1
    with pytest.raises(InvalidDataError, match="not the attributes"):
        learner.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("kind", PRIVATE)
@pytest.mark.parametrize("target", [Binary(), Category((0, 1)), Category(("no", "yes")), Integer(0, 1)])
def test_count_tables_with_targets_of_every_kind(kind: Any, target: Any) -> None:
    frame, y = people(200)
    named = y if target == Category(("no", "yes")) else (y == "yes").astype(int)
    both = frame.with_columns(pl.Series("y", named))
    table = CountTable.from_frame(both, Domain({**{name: DOMAIN[name] for name in DOMAIN}, "y": target}))
    from_table = private(kind, domain=None, classes=None).fit(table, "y")
    assert from_table.model_ == private(kind, classes=from_table.classes_.tolist()).fit(frame, named).model_


@pytest.mark.parametrize("kind", PRIVATE)
def test_declared_classes_need_no_common_type(kind: Any) -> None:
    frame, y = people(100)
    mixed = np.array([1 if value == "yes" else "u" for value in y], dtype=object)
    learner = private(kind, classes=("u", 1)).fit(frame, mixed)
    assert set(learner.predict(frame).tolist()) <= {"u", 1}
    halves = private(kind, classes=(0.5, 1.5)).fit(frame, np.where(y == "yes", 1.5, 0.5))
    assert set(halves.predict(frame).tolist()) <= {0.5, 1.5}
    alone = private(kind, classes=("u",), random_state=0).fit(frame, mixed)
    rows = np.array([value == "u" for value in mixed])
    without = private(kind, classes=("u",), random_state=0).fit(frame.filter(rows), mixed[rows])
    assert alone.model_ == without.model_


@pytest.mark.parametrize("kind", PRIVATE)
def test_errors_do_not_tell_values(kind: Any) -> None:
    X = np.array([[1, 0, "Alice"], [0, 1, 1]], dtype=object)
    numbers = Domain({name: Integer(0, 9, thresholds=(1,)) for name in "abc"})
    with pytest.raises(InvalidDataError) as caught:
        private(kind, domain=None, classes=(0, 1)).fit(X, [0, 1])
    assert "Alice" not in str(caught.value)
    assert "Alice" not in private(kind, domain=numbers, classes=(0, 1)).fit(X, [0, 1]).certificate_.to_json()


def test_an_array_of_texts_is_read_in_a_domain() -> None:
    domain = Domain({"job": Category(("clerk", "baker")), "smoker": Binary()})
    X = np.array([["clerk", 1], ["baker", 0]] * 30, dtype=object)
    assert OptimalTreeClassifier(1, domain=domain).fit(X, [1, 0] * 30).score(X, [1, 0] * 30) == 1


@pytest.mark.parametrize("kind", PRIVATE)
@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 2e6},
        {"leaf_counts_share": 1e-305},
        {"leaf_counts_share": 1e-19},
        {"progress": 3},
        {"memory_limit": None},
        {"time_limit": "x"},
        {"classes": "no"},
    ],
    ids=str,
)
def test_parameters_are_refused_before_the_charge(kind: Any, bad: dict[str, Any], tmp_path: Path) -> None:
    frame, y = people(60)
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 1e7)
    with pytest.raises(InvalidParameterError):
        private(kind, ledger=book, dataset="people", **bad).fit(frame, y)
    assert book.spent("people") == 0


@pytest.mark.parametrize("kind", PRIVATE)
@pytest.mark.parametrize("epsilon", [np.int64(2), np.float32(0.5)])
def test_numbers_of_numpy_are_numbers(kind: Any, epsilon: Any) -> None:
    frame, y = people(60)
    assert private(kind, epsilon=epsilon).fit(frame, y).certificate_.epsilon == float(epsilon)


@pytest.mark.parametrize("kind", PRIVATE + OPTIMAL)
def test_two_columns_of_one_name_are_refused(kind: Any) -> None:
    frame = pd.DataFrame([[0, 1], [1, 0]] * 10, columns=["a", "a"])
    learner = private(kind, domain=None, classes=(0, 1)) if kind in PRIVATE else kind(2)
    with pytest.raises(GlassineError, match=r"different names|once"):
        learner.fit(frame, [0, 1] * 10)
