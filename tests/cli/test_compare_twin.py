"""A private model beside its twin: what contradicts a guarantee, what does not, and what is for the checker."""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import Category, DecisionTree, Integer, as_model, write_model
from glassine.cli.twin import TwinReport
from glassine.comparison.twin import TwinComparison, TwinSide, claimed_by_estimator, compare_twin
from glassine.domain import Domain
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.learners import (
    EBMClassifier,
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
)
from glassine.models import Evidence, Guarantee
from glassine.privacy.release import fresh_count
from tests.cli.running import Run

DOMAIN = Domain({"a": Integer(0, 99, thresholds=(25, 50, 75)), "b": Integer(0, 99, thresholds=(25, 50, 75))})


def halves(n: int = 600) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return members and others of one population, whose classes are noisy."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"a": rng.integers(0, 100, 2 * n), "b": rng.integers(0, 100, 2 * n)})
    flipped = rng.random(2 * n) < 0.3
    return tuple(
        frame.with_columns(y=pl.Series((frame["a"] > 50).to_numpy() ^ flipped).cast(pl.Int64))[half]
        for half in (slice(0, n), slice(n, None))
    )  # type: ignore[return-value]


def accuracy(side: TwinSide) -> float:
    assert side.accuracy is not None
    return side.accuracy.value


def memorized(members: pl.DataFrame, **parameters: Any) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0, **parameters).fit(members[["a", "b"]].to_numpy(), members["y"])


def tree(members: pl.DataFrame, guarantee: Guarantee | None, **parameters: Any) -> DecisionTree:
    """Return a tree that memorizes its records, and claims what it is told to."""
    model = as_model(memorized(members, **parameters), DOMAIN)
    assert isinstance(model, DecisionTree)
    return replace(model, guarantee=guarantee)


@pytest.fixture(scope="module")
def sides() -> tuple[pl.DataFrame, pl.DataFrame]:
    return halves()


@pytest.fixture(scope="module")
def private(sides: tuple[pl.DataFrame, pl.DataFrame]) -> DecisionTree:
    members, _ = sides
    learner = PrivateTreeClassifier(domain=DOMAIN, classes=(0, 1), max_depth=2, epsilon=1.0)
    with fresh_count():
        model: DecisionTree = learner.fit(members[["a", "b"]], members["y"].to_numpy()).model_
    return model


@pytest.fixture(scope="module")
def honest(private: DecisionTree, sides: tuple[pl.DataFrame, pl.DataFrame]) -> TwinComparison:
    return compare_twin(private, *sides, "y", domain=DOMAIN)


@pytest.mark.slow
def test_a_private_tree_is_not_contradicted_and_its_twin_is_trained_at_its_depth(honest: TwinComparison) -> None:
    assert honest.standing == "not contradicted"
    assert honest.ceiling == pytest.approx(np.tanh(0.5))
    assert honest.private.epsilon_at_least <= 1.0
    assert "trained on the same records" in honest.twin.title
    lost = honest.accuracy_lost
    assert lost is not None
    assert lost.value == pytest.approx(accuracy(honest.twin) - accuracy(honest.private))
    assert lost.low <= lost.value <= lost.high


@pytest.mark.slow
def test_a_memorized_tree_that_claims_a_small_epsilon_is_contradicted(sides: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    false = tree(sides[0], Guarantee(epsilon=0.1, count_scale=10.0))
    found = compare_twin(false, *sides, "y", twin=false, domain=DOMAIN)
    assert found.standing == "contradicted"
    assert found.private.epsilon_at_least > 0.1
    # The same tree with an epsilon that allows what is measured is not.
    allowed = replace(false, guarantee=Guarantee(epsilon=20.0, count_scale=10.0))
    assert compare_twin(allowed, *sides, "y", twin=false, domain=DOMAIN).standing == "not contradicted"


@pytest.mark.slow
def test_where_no_guarantee_holds_there_is_nothing_to_contradict(sides: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    few = tree(sides[0], None, max_depth=1)
    assert compare_twin(few, *sides, "y", twin=few, domain=DOMAIN).standing == "no guarantee"
    void = replace(few, guarantee=Guarantee(epsilon=1.0, count_scale=1.0, caveats=("seeded: not private",)))
    found = compare_twin(void, *sides, "y", twin=few, domain=DOMAIN)
    assert (found.standing, found.ceiling) == ("does not hold", None)


@pytest.mark.slow
def test_members_as_their_own_holdout_contradict_nothing(sides: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    false = tree(sides[0], Guarantee(epsilon=0.1, count_scale=10.0))
    assert compare_twin(false, sides[0], sides[0], "y", twin=false, domain=DOMAIN).standing == "unknown"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["additive", "pairs", "card"])
def test_the_twin_of_an_additive_model_is_an_ordinary_one(kind: str, sides: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    members, others = sides
    pairs = [("a", "b")] if kind == "pairs" else 0
    learner = PrivateEBMClassifier(epsilon=1.0, domain=DOMAIN, classes=(0, 1), interactions=pairs, random_state=0)
    fitted = learner.fit(members[["a", "b"]], members["y"].to_numpy())
    model = (fitted.to_scorecard() if kind == "card" else fitted).model_
    found = compare_twin(model, members, others, "y", domain=DOMAIN)
    named = "scorecard" if kind == "card" else "additive model"
    assert found.twin.title == f"{named}, trained on the same records"
    assert found.twin.n_attacks > 0
    assert accuracy(found.twin) > 0.6


@pytest.mark.slow
def test_the_twin_has_the_pairs_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    members, others = halves(300)
    model = PrivateEBMClassifier(epsilon=4.0, domain=DOMAIN, classes=(0, 1), interactions=[("a", "b")], random_state=0)
    fitted = model.fit(members[["a", "b"]], members["y"].to_numpy()).model_
    asked: list[Any] = []
    fit = EBMClassifier.fit

    def spied(self: EBMClassifier, X: Any, y: Any) -> Any:
        asked.append(self.interactions)
        return fit(self, X, y)

    monkeypatch.setattr(EBMClassifier, "fit", spied)
    compare_twin(fitted, members, others, "y", domain=DOMAIN)
    assert asked == [[("a", "b")]]


@pytest.mark.slow
def test_an_estimator_of_another_library_states_its_epsilon(sides: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    other = memorized(sides[0], max_depth=2)
    other.epsilon = 0.01  # as those of diffprivlib do
    found = compare_twin(other, *sides, "y", domain=DOMAIN)
    assert found.claim == Guarantee(epsilon=0.01, caveats=("seeded: not private",))
    assert found.twin.title.endswith("trained on the same records")
    assert claimed_by_estimator(SimpleNamespace(epsilon=None)) is None


@pytest.mark.slow
def test_a_model_without_probabilities_has_no_auroc_and_the_text_says_so(
    sides: tuple[pl.DataFrame, pl.DataFrame], private: DecisionTree
) -> None:
    labels = replace(
        private, nodes=tuple(replace(node, evidence=Evidence(label=node.evidence.prediction)) for node in private.nodes)
    )
    found = compare_twin(labels, *sides, "y", twin=private, domain=DOMAIN)
    assert (found.private.auroc, found.private.log_loss) == (None, None)
    assert found.twin.auroc is not None
    assert accuracy(found.private) == accuracy(found.twin)
    said = "  AUROC and log loss: none, as not every outcome of the holdout has a published probability."
    assert TwinReport(found).text().count(said) == 1


@pytest.mark.slow
def test_the_command_is_for_the_checker_and_says_which_epsilon(
    private: DecisionTree, sides: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path, run: Run
) -> None:
    for name, frame in zip(("members.csv", "others.csv"), sides, strict=True):
        frame.write_csv(tmp_path / name)
    DOMAIN.to_json(tmp_path / "domain.json")
    write_model(private, tmp_path / "private.json", overwrite=True)
    write_model(tree(sides[0], None, max_depth=2), tmp_path / "ordinary.json", overwrite=True)
    command = ("compare", "members.csv", "--target", "y", "--twin", "private.json", "--domain", "domain.json")
    done = run(*command, "--ordinary", "ordinary.json", "--holdout", "others.csv", "-o", "twin.json", cwd=tmp_path)
    assert done.status == 0, done.err
    assert done.out.startswith("For the checker. Do not publish it")
    assert "Claim: epsilon 1, by the model's certificate." in done.out
    assert "Accuracy lost against the twin: " in done.out
    plain = json.loads((tmp_path / "twin.json").read_text())
    assert plain["audience"] == "checker"
    # Beside each accuracy stand AUROC, log loss and what is predicted without any attribute.
    _, others = sides
    truth = others["y"].to_numpy()
    for side, model in (("private", private), ("twin", tree(sides[0], None, max_depth=2))):
        chances = model.predict_proba(others)
        assert plain[side]["auroc"] == pytest.approx(roc_auc_score(truth, chances[:, 1]))
        assert plain[side]["log_loss"] == pytest.approx(-np.log(chances[np.arange(600), truth].clip(1e-6)).mean())
        assert f"  AUROC on the holdout: {plain[side]['auroc']:.4f}; chance: 0.5000." in done.out
        assert f"  Log loss on the holdout: {plain[side]['log_loss']:.4f}; the base rates alone: " in done.out
    assert plain["baseline"]["accuracy"] == pytest.approx(max(truth.mean(), 1 - truth.mean()))
    assert f"; the largest class alone: {plain['baseline']['accuracy']:.1%}." in done.out
    alone = run(*command, cwd=tmp_path)
    assert (alone.status, "--twin needs --holdout" in alone.err) == (2, True)


@pytest.mark.slow
def test_attacks_on_people_contradict_no_guarantee_for_records(sides: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    members, others = (
        side.with_columns(person=pl.Series([f"{name}{i // 3}" for i in range(len(side))]))
        for name, side in zip("mo", sides, strict=True)
    )
    model = tree(members, Guarantee(epsilon=0.1), max_depth=3)
    found = compare_twin(model, members, others, "y", domain=DOMAIN, persons="person")
    assert (found.standing, found.ceiling) == ("unknown", None)
    assert any("attacks are on people" in doubt for doubt in found.doubts)


class PrivateLogistic(LogisticRegression):  # type: ignore[misc]  # scikit-learn ships no types
    """A private estimator as diffprivlib makes them: a class of scikit-learn with an epsilon."""

    def __init__(self, epsilon: float = 1.0, C: float = 1.0, random_state: int | None = None) -> None:
        super().__init__(C=C, random_state=random_state)
        self.epsilon = epsilon


@pytest.mark.slow
def test_the_twin_of_an_estimator_of_another_library_is_the_class_that_it_extends(
    sides: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    members, others = sides
    private = PrivateLogistic(5.0, C=0.01).fit(members[["a", "b"]].to_numpy(), members["y"])
    found = compare_twin(private, members, others, "y", domain=DOMAIN)
    assert found.twin.title == "scikit-learn's LogisticRegression of the same parameters, trained on the same records"
    assert found.private.title == "the private PrivateLogistic"
    assert found.standing == "not contradicted"
    assert found.ceiling == pytest.approx(np.tanh(2.5))
    assert found.private.n_attacks == found.twin.n_attacks > 0


def test_what_extends_no_estimator_needs_a_twin(sides: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    with pytest.raises(InvalidParameterError, match=r"no twin of such a model is trained here. Train one"):
        compare_twin(SimpleNamespace(epsilon=1.0), *sides, "y", domain=DOMAIN)


@pytest.mark.slow
def test_interprets_private_machines_have_a_twin_of_interpret(sides: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    privacy = pytest.importorskip("interpret.privacy")
    members, others = sides
    common: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "feature_names": ["a", "b"]}
    frame = members[["a", "b"]].to_numpy().astype(float)
    bounded = privacy.DPExplainableBoostingClassifier(**common, privacy_bounds={"a": (0, 99), "b": (0, 99)})
    unbounded = privacy.DPExplainableBoostingClassifier(**common)
    standings = []
    for machine in (bounded, unbounded):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine.fit(frame, members["y"].to_numpy())
        found = compare_twin(machine, members, others, "y", domain=DOMAIN)
        assert found.twin.title == "interpret's additive model, trained on the same records"
        assert accuracy(found.twin) > 0.6
        assert (found.claimed_by, found.claim and found.claim.epsilon) == ("its parameters", 1.0)
        standings.append(found.standing)
    # Bounds that are taken from the data void the claim, whatever attacks find.
    assert standings == ["not contradicted", "does not hold"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["DecisionTreeClassifier", "RandomForestClassifier", "GaussianNB", "LogisticRegression"]
)
def test_private_models_of_diffprivlib_have_a_twin_of_scikit_learn(
    name: str, sides: tuple[pl.DataFrame, pl.DataFrame]
) -> None:
    """Version 0.6.6 cannot be imported with scikit-learn 1.7: this runs in an environment of its own, with 1.6.1."""
    models = pytest.importorskip("diffprivlib.models", exc_type=ImportError)
    members, others = sides
    public: dict[str, Any] = {"data_norm": 150.0} if name == "LogisticRegression" else {"bounds": ([0, 0], [99, 99])}
    if name in ("DecisionTreeClassifier", "RandomForestClassifier"):
        public |= {"classes": members["y"].unique().sort().to_list(), "max_depth": 3}
    private = getattr(models, name)(epsilon=1.0, **public)
    private.fit(members[["a", "b"]].to_numpy(), members["y"].to_numpy())
    found = compare_twin(private, members, others, "y", domain=DOMAIN)
    assert found.twin.title == f"scikit-learn's {name} of the same parameters, trained on the same records"
    assert (found.claimed_by, found.claim and found.claim.epsilon) == ("its parameters", 1.0)
    assert found.standing == "not contradicted"
    assert found.ceiling == pytest.approx(np.tanh(0.5))


@pytest.mark.slow
def test_the_twin_gets_no_column_that_is_left_out(
    private: DecisionTree, sides: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path, run: Run
) -> None:
    for name, frame in zip(("members.csv", "others.csv"), sides, strict=True):
        # An identifier that gives the class away.
        frame.with_columns(id=pl.col("y") * 10_000 + pl.int_range(pl.len())).write_csv(tmp_path / name)
    write_model(private, tmp_path / "private.json", overwrite=True)
    command = ("compare", "members.csv", "--target", "y", "--twin", "private.json", "--holdout", "others.csv", "--json")
    accuracies = []
    for more in ((), ("--exclude", "id")):
        done = run(*command, *more, cwd=tmp_path)
        assert done.status in (0, 1, 3), done.err
        accuracies.append(json.loads(done.out)["twin"]["accuracy"]["value"])
    assert accuracies[0] > 0.99 > 0.8 > accuracies[1]


NUMBERED = {"a": DOMAIN["a"], "b": DOMAIN["b"]}


def numbered(n: int = 600) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return members and others whose target is a noisy number."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"a": rng.integers(0, 100, 2 * n), "b": rng.integers(0, 100, 2 * n)})
    cost = 10.0 * (frame["a"] > 50).cast(float) + rng.normal(0, 3, 2 * n)
    frame = frame.with_columns(y=cost.clip(-20, 40))
    return frame[:n], frame[n:]


def off(model: Any, others: pl.DataFrame) -> float:
    return float(np.sqrt(((np.asarray(model.predict(others[["a", "b"]])) - others["y"].to_numpy()) ** 2).mean()))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tree", "additive"])
def test_a_model_of_numbers_has_a_twin_of_its_kind_and_errors_in_the_unit_of_the_target(kind: str) -> None:
    members, others = numbered()
    learner: Any = (PrivateTreeRegressor if kind == "tree" else PrivateEBMRegressor)(
        epsilon=1.0, domain=Domain(NUMBERED), target_range=(-20, 40)
    )
    with fresh_count():
        model = learner.fit(members[["a", "b"]], members["y"].to_numpy()).model_
    found = compare_twin(model, members, others, "y", domain=Domain(NUMBERED))
    assert found.standing == "not contradicted"
    named = "optimal tree" if kind == "tree" else "additive model"
    assert found.twin.title == f"{named}, trained on the same records"
    assert found.private.accuracy is found.twin.accuracy is found.accuracy_lost is None
    assert found.private.rmse is not None
    assert found.twin.rmse is not None
    assert found.rmse_added is not None
    assert found.private.rmse.value == pytest.approx(off(model, others))
    assert found.private.rmse.low < off(model, others) < found.private.rmse.high
    assert found.rmse_added.value == pytest.approx(found.private.rmse.value - found.twin.rmse.value)
    assert found.rmse_added.low < found.rmse_added.value < found.rmse_added.high
    # Leaves of a tree are attacked as well, and the counts of an additive model: noise decides which is stronger.
    attacks = {"best-loss threshold", "leaf-outcome attack" if kind == "tree" else "published-counts attack"}
    assert {found.private.attack, found.twin.attack} <= attacks


@pytest.mark.slow
def test_a_regression_that_memorizes_and_claims_a_small_epsilon_is_contradicted() -> None:
    members, others = numbered()
    fitted = DecisionTreeRegressor(random_state=0).fit(members[["a", "b"]].to_numpy(), members["y"])
    false = replace(as_model(fitted, DOMAIN), guarantee=Guarantee(epsilon=0.1, count_scale=10.0))
    found = compare_twin(false, members, others, "y", twin=false, domain=DOMAIN)
    assert found.standing == "contradicted"
    assert found.private.epsilon_at_least > 0.1
    allowed = replace(false, guarantee=Guarantee(epsilon=20.0, count_scale=10.0))
    assert compare_twin(allowed, members, others, "y", twin=false, domain=DOMAIN).standing == "not contradicted"


@pytest.mark.slow
def test_a_target_of_few_numbers_is_one_of_numbers_if_the_model_says_so() -> None:
    members, others = (side.with_columns(y=(pl.col("y") > 5).cast(float) * 2) for side in numbered())
    fitted = DecisionTreeRegressor(max_depth=2, random_state=0).fit(members[["a", "b"]].to_numpy(), members["y"])
    found = compare_twin(as_model(fitted, DOMAIN), members, others, "y", domain=DOMAIN)
    assert found.private.rmse is not None


def test_models_of_two_kinds_and_targets_of_another_are_refused(sides: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    members, others = numbered()
    of_numbers = as_model(DecisionTreeRegressor(max_depth=1).fit(members[["a", "b"]].to_numpy(), members["y"]), DOMAIN)
    of_classes = tree(sides[0], None, max_depth=1)
    with pytest.raises(InvalidDataError, match="one of the two models predicts classes, and the other a number"):
        compare_twin(of_numbers, members, others, "y", twin=of_classes, domain=DOMAIN)
    with pytest.raises(InvalidDataError, match="the model predicts classes, and the target 'y' is a number"):
        compare_twin(of_classes, members, others, "y", domain=DOMAIN)
    texts = (members.with_columns(y=pl.lit("x")), others.with_columns(y=pl.lit("x")))
    with pytest.raises(InvalidDataError, match="the model predicts a number, and the target 'y' holds none"):
        compare_twin(of_numbers, *texts, "y", domain=DOMAIN)
    declared = Domain({**NUMBERED, "y": Category((0.0, 1.0))})
    with pytest.raises(InvalidDataError, match="the model predicts a number, and the target 'y' is of classes"):
        compare_twin(of_numbers, *sides, "y", domain=declared)


def test_held_out_records_of_another_type_are_taken_as_they_are_or_refused_without_a_value(
    private: DecisionTree, sides: tuple[pl.DataFrame, pl.DataFrame]
) -> None:
    members, others = sides
    # Fractions were cut to the whole numbers that members have.
    moved = [others.with_columns(a=pl.col("a") + shift) for shift in (0, 0.75)]
    right = [np.mean(private.predict(frame) == frame["y"].to_numpy()) for frame in moved]
    assert right[0] != right[1]
    for frame, share in zip(moved, right, strict=True):
        found = compare_twin(private, members, frame, "y", twin=private, domain=DOMAIN)
        assert found.private.accuracy is not None
        assert found.private.accuracy.value == share
    texts = others.with_columns(a=pl.format("{} Ada", "a"))
    with pytest.raises(InvalidDataError, match="column 'a' has the type Int64 for members and String") as refused:
        compare_twin(private, members, texts, "y", domain=DOMAIN)
    assert "Ada" not in str(refused.value)


class PrivateLinear(LinearRegression):  # type: ignore[misc]  # scikit-learn ships no types
    """A private regression as diffprivlib makes them."""

    def __init__(self, epsilon: float = 1.0, bounds_X: Any = None, fit_intercept: bool = True) -> None:
        super().__init__(fit_intercept=fit_intercept)
        self.epsilon, self.bounds_X = epsilon, bounds_X


@pytest.mark.slow
def test_the_command_compares_a_regression_of_another_library(tmp_path: Path, run: Run) -> None:
    members, others = numbered()
    for name, frame in zip(("members.csv", "others.csv"), (members, others), strict=True):
        frame.write_csv(tmp_path / name)
    private = PrivateLinear(5.0, bounds_X=((0, 0), (99, 99))).fit(members[["a", "b"]].to_numpy(), members["y"])
    (tmp_path / "private.pkl").write_bytes(pickle.dumps(private))
    command = ("compare", "members.csv", "--target", "y", "--twin", "private.pkl", "--holdout", "others.csv")
    done = run(*command, "--trust-pickle", "-o", "twin.json", cwd=tmp_path)
    assert done.status == 0, done.err
    assert "Scikit-learn's LinearRegression of the same parameters" in done.out
    assert "Root mean squared error on the holdout: " in done.out
    assert done.out.count(f"; the mean alone: {others['y'].to_numpy().std():.4g}.") == 2
    assert "Root mean squared error added to the twin's: " in done.out
    assert "The model's bounds are the extremes of its training records." in done.out
    plain = json.loads((tmp_path / "twin.json").read_text())
    assert plain["accuracy_lost"] is None
    assert plain["private"]["rmse"]["value"] == pytest.approx(plain["twin"]["rmse"]["value"])


@pytest.mark.slow
def test_interprets_private_regression_has_a_twin_of_interpret() -> None:
    privacy = pytest.importorskip("interpret.privacy")
    members, others = numbered()
    machine = privacy.DPExplainableBoostingRegressor(
        epsilon=1.0,
        delta=1e-6,
        feature_names=["a", "b"],
        privacy_bounds={"a": (0, 99), "b": (0, 99)},
        privacy_target_min=-20,
        privacy_target_max=40,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(members[["a", "b"]].to_numpy().astype(float), members["y"].to_numpy())
    found = compare_twin(machine, members, others, "y", domain=DOMAIN)
    assert found.twin.title == "interpret's additive model, trained on the same records"
    # It does not clip residuals, as the reader of such models says.
    assert found.standing == "does not hold"
    assert found.private.advantage is not None
    assert found.twin.rmse is not None
    assert found.twin.rmse.value < 5
