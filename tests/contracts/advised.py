"""Subjects of audits whose advice is followed: each is written to a folder, with the records and the domain beside it.

A subject can be trained again with settings that advice names, and smaller where advice says so in words; its publisher
can answer what a report asks for.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import skops.io
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import Binary, Domain, Integer, as_model, write_model
from glassine.data import infer_domain
from glassine.formats import as_ensemble
from glassine.formats.canonical import as_written
from glassine.learners import (
    EBMClassifier,
    GreedyRuleListClassifier,
    PrivateEBMClassifier,
    PrivateGreedyRuleListClassifier,
    PrivateScorecardClassifier,
    PrivateSummary,
    PrivateTreeClassifier,
    ScorecardClassifier,
)
from glassine.privacy.release import fresh_count
from glassine.surrogates import SurrogateExplainer

FILES = Path(__file__).parents[1] / "formats" / "files"
REGRESSIONS = Path(__file__).parents[1] / "formats" / "regressions"
NAMES = ("age", "visits", "smoker")
PUBLIC = Domain(
    {
        "age": Integer(18, 90, thresholds=(30, 45, 60, 75)),
        "visits": Integer(0, 40, thresholds=(5, 10, 20)),
        "smoker": Binary(),
    }
)
N, OTHERS = 600, 400


def people(n: int, seed: int) -> pl.DataFrame:
    """Return records of people, some of whom have several: an outcome of two classes, and a number."""
    rng = np.random.default_rng(seed)
    age, visits, smoker = rng.integers(18, 91, n), rng.integers(0, 41, n), rng.integers(0, 2, n)
    risk = 1 / (1 + np.exp(-(age - 55) / 12 - smoker + 0.5))
    return pl.DataFrame(
        {
            "who": rng.permutation(np.arange(n) // 2 + 1000 * seed),
            "age": age,
            "visits": visits,
            "smoker": smoker,
            "ill": np.where(rng.random(n) < risk, "yes", "no"),
            "pay": (20_000 + 200 * age + rng.integers(0, 9000, n)).astype(float),
        }
    )


Train: TypeAlias = Callable[..., Any]
"""Trains a model of records by settings: those that advice names, and ``smaller``, how often it was to be smaller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedSubject:
    """A subject of audits: how it is written, and what is beside it."""

    name: str
    write: Callable[[Path, Mapping[str, float]], None]  # Writes it, trained by these settings
    models: tuple[str, ...]  # Its files
    reading: tuple[str, ...] = ()  # Options with which they are read
    target: str = "ill"
    kind: str = "model"  # ``model``, ``release``, ``together`` or ``summary``
    records: bool = True  # Whether its records are there
    trained: bool = True  # Whether what trained it is there, so that it can be trained again
    # What the publisher states, by option.
    answers: Mapping[str, str] = field(default_factory=dict)
    domain: Domain | None = PUBLIC


BOX = """
import numpy as np


def decide(frame):
    return np.where(np.asarray(frame["age"]) > 50, "yes", "no")
"""


def beside(folder: Path, subject: AdvisedSubject) -> None:
    """Write records and public domain beside a subject; odd records are others, and hold what nobody declared."""
    if subject.domain is not None:
        subject.domain.to_json(folder / "public.json")
    if not subject.records or not subject.trained:
        return
    (folder / "box.py").write_text(BOX)
    columns = ["who", *NAMES, subject.target]
    members, others = people(N, 1).select(columns), people(OTHERS, 2).select(columns)
    members.write_csv(folder / "people.csv")
    infer_domain(members.select(NAMES)).to_json(folder / "drafted.json")
    others.write_csv(folder / "others.csv")
    others.head(N // 2).write_csv(folder / "wrong.csv")
    said = pl.when(pl.col("smoker") == 1).then(pl.lit("Yes")).otherwise(pl.lit("No"))
    members.with_columns(smoker=said).write_csv(folder / "odd.csv")


def tree(settings: Mapping[str, float], leaf: int = 1, depth: int | None = None) -> DecisionTreeClassifier:
    """Train a tree, of as large leaves as advice says, and of fewer ones each time it is to be smaller."""
    frame, smaller = people(N, 1), int(settings.get("smaller", 0))
    leaf = max(int(settings.get("min_samples_leaf", leaf)), leaf if not smaller else 80 * 2 ** (smaller - 1))
    learner = DecisionTreeClassifier(
        max_depth=depth if not smaller else max(1, 3 - smaller), min_samples_leaf=leaf, random_state=0
    )
    return learner.fit(frame.select(NAMES).to_pandas(), frame["ill"].to_numpy())


def number_tree(settings: Mapping[str, float], leaf: int = 1) -> DecisionTreeRegressor:
    """Train a regression tree."""
    frame, smaller = people(N, 1), int(settings.get("smaller", 0))
    leaf = max(int(settings.get("min_samples_leaf", leaf)), leaf if not smaller else 80 * 2 ** (smaller - 1))
    return DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0).fit(
        frame.select(NAMES).to_pandas(), frame["pay"].to_numpy()
    )


def forest(settings: Mapping[str, float], learner: Any = RandomForestClassifier) -> Any:
    """Train a small ensemble of trees, of as large leaves as advice says, and of fewer ones each time it is smaller."""
    frame, smaller = people(N, 1), int(settings.get("smaller", 0))
    leaf = max(int(settings.get("min_samples_leaf", 1)), 1 if not smaller else 80 * 2 ** (smaller - 1))
    ensemble = learner(n_estimators=5, min_samples_leaf=leaf, random_state=0)
    if learner is GradientBoostingClassifier:
        ensemble.set_params(learning_rate=0.1 / 10**smaller)
    return ensemble.fit(frame.select(NAMES).to_pandas(), frame["ill"].to_numpy())


def rule_list(settings: Mapping[str, float], rules: int = 25, support: float = 0.002) -> Any:
    """Train a rule list, with a larger support each time it is to be smaller."""
    frame, smaller = people(N, 1), int(settings.get("smaller", 0))
    if smaller or "min_samples_leaf" in settings:
        rules, support = max(1, 4 - smaller), 0.15
    learner = GreedyRuleListClassifier(rules, min_support=support, domain=PUBLIC)
    return learner.fit(frame.select(NAMES), frame["ill"].to_numpy()).model_


def additive(settings: Mapping[str, float], pairs: int = 3) -> Any:
    """Train an additive model: without pairs, and on public cuts, if it is to be smaller."""
    frame, smaller = people(N, 1), int(settings.get("smaller", 0))
    domain = Domain({"age": Integer(18, 90, thresholds=(55,)), "smoker": Binary()}) if smaller else PUBLIC
    learner = EBMClassifier(domain=domain, interactions=0 if smaller else pairs)
    return learner.fit(frame.select(*domain), frame["ill"].to_numpy()).model_


def scorecard(settings: Mapping[str, float]) -> Any:
    """Train a scorecard."""
    frame = people(N, 1)
    return ScorecardClassifier(domain=PUBLIC).fit(frame.select(NAMES), frame["ill"].to_numpy()).model_


def private(learner: Any, settings: Mapping[str, float], **more: Any) -> Any:
    """Train a private model with the budget that advice names."""
    frame, epsilon = people(N, 1), float(settings.get("epsilon", 2.0 / 2 ** int(settings.get("smaller", 0))))
    with fresh_count():
        made = learner(epsilon=epsilon, domain=PUBLIC, classes=("no", "yes"), **more)
        return made.fit(frame.select(NAMES), frame["ill"].to_numpy()).model_


def _written(folder: Path, settings: Mapping[str, float], *, train: Train, name: str, to: str) -> None:
    made = train(settings)
    value = as_model(made, PUBLIC) if hasattr(made, "tree_") else made
    if hasattr(made, "estimators_"):
        value = as_written(as_ensemble(made, PUBLIC), PUBLIC)
    write_model(value, folder / name, to=to, overwrite=True)


def _dumped(folder: Path, settings: Mapping[str, float], *, train: Train, name: str) -> None:
    fitted = train(settings)
    if name.endswith(".pkl"):
        (folder / name).write_bytes(pickle.dumps(fitted))
    else:
        skops.io.dump(fitted, folder / name)


def _copied(folder: Path, settings: Mapping[str, float], *, source: Path) -> None:
    (folder / source.name).write_bytes(source.read_bytes())


def _released(folder: Path, settings: Mapping[str, float], *, form: str, leaf: int) -> None:
    frame = people(N, 1).select(NAMES).to_pandas()
    explainer = SurrogateExplainer(
        lambda X: np.where(np.asarray(X["age"]) > 50, "yes", "no"), 40, domain=PUBLIC, classes=("no", "yes"),
        distance="gower", form=form, min_samples_leaf=leaf,
    )  # fmt: skip
    explainer.fit(frame, np.where(frame["age"] > 50, "yes", "no")).release_.to_json(folder / "release.json")


def _several(folder: Path, settings: Mapping[str, float], *, leaf: int) -> None:
    for number, seed in enumerate((0, 1), start=1):
        frame = people(N, 1)
        learner = DecisionTreeClassifier(min_samples_leaf=leaf, max_features=1, random_state=seed)
        fitted = learner.fit(frame.select(NAMES).to_pandas(), frame["ill"].to_numpy())
        write_model(as_model(fitted, PUBLIC), folder / f"tree-{number}.json", overwrite=True)


def _summary(folder: Path, settings: Mapping[str, float]) -> None:
    frame = people(N, 1)
    with fresh_count():
        epsilon = float(settings.get("epsilon", 2.0 / 2 ** int(settings.get("smaller", 0))))
        made = PrivateSummary(domain=PUBLIC, classes=("no", "yes"), epsilon=epsilon)
        made.fit(frame.select(NAMES), frame["ill"].to_numpy())
    made.write(folder / "summary.json")


def model(name: str, train: Train, to: str, ending: str, **more: Any) -> AdvisedSubject:
    """Return a subject that Glassine writes in one of its formats."""
    file = f"m.{ending}"
    return AdvisedSubject(name=name, write=partial(_written, train=train, name=file, to=to), models=(file,), **more)


def dumped(name: str, train: Train, ending: str, **more: Any) -> AdvisedSubject:
    """Return a subject that other programs write."""
    file = f"m.{ending}"
    return AdvisedSubject(name=name, write=partial(_dumped, train=train, name=file), models=(file,), **more)


def copied(source: Path, **more: Any) -> AdvisedSubject:
    """Return a file of another program, whose records are not there."""
    fields: dict[str, Any] = {"records": False} | more
    domain = fields.pop("domain", None)
    return AdvisedSubject(
        name=source.name, write=partial(_copied, source=source), models=(source.name,), domain=domain, **fields
    )


ONE = {"--one-record-per-person": ""}
TREES: dict[str, Train] = {
    "memorized": tree,
    "of 8": partial(tree, leaf=8),
    "of 50": partial(tree, leaf=50),
    "of 120": partial(tree, leaf=120, depth=2),
}
PRIVATE: dict[str, Train] = {
    "tree": partial(private, PrivateTreeClassifier, max_depth=2),
    "list": partial(private, PrivateGreedyRuleListClassifier),
    "additive": partial(private, PrivateEBMClassifier),
    "scorecard": partial(private, PrivateScorecardClassifier),
}
COUNTED = {"--stated-leaf": "1", "--unweighted": ""}
SUBJECTS: tuple[AdvisedSubject, ...] = (
    *(model(f"tree {name}", train, "json", "json") for name, train in TREES.items()),
    dumped("tree as skops", TREES["of 8"], "skops"),
    dumped("tree as a pickle", TREES["of 50"], "pkl", reading=("--trust-pickle",)),
    model("rule list", rule_list, "json", "json"),
    model("rule list in onnx", rule_list, "onnx", "onnx"),
    *(
        model(f"additive in {to}", additive, to, end)
        for to, end in (("json", "json"), ("onnx", "onnx"), ("pmml", "pmml"))
    ),
    model("scorecard", scorecard, "json", "json"),
    model("regression tree", number_tree, "json", "json", target="pay"),
    dumped("regression tree as skops", partial(number_tree, leaf=20), "skops", target="pay"),
    dumped("ensemble", forest, "skops"),
    dumped("ensemble, boosted", partial(forest, learner=GradientBoostingClassifier), "skops"),
    model("ensemble in json", forest, "json", "json"),
    *(model(f"private {name}", train, "json", "json") for name, train in PRIVATE.items()),
    AdvisedSubject(
        name="release as published",
        write=partial(_released, form="paper", leaf=1),
        models=("release.json",),
        kind="release",
    ),
    AdvisedSubject(
        name="release", write=partial(_released, form="restricted", leaf=10), models=("release.json",), kind="release"
    ),
    *(
        AdvisedSubject(
            name=f"trees of {leaf} together",
            write=partial(_several, leaf=leaf),
            models=("tree-1.json", "tree-2.json"),
            kind="together",
        )
        for leaf in (1, 60)
    ),
    AdvisedSubject(name="summary", write=_summary, models=("summary.json",), kind="summary"),
)
FOREIGN = tuple(copied(path) for path in sorted(FILES.iterdir()) if path.suffix != ".csv") + tuple(
    copied(path, answers={"--n": "200", "--family": "binomial", "--errors": "model"})
    for path in sorted(REGRESSIONS.iterdir())
    if path.suffix in (".txt", ".pmml", ".csv") and not path.stem.startswith(("records", "predicted", "broom_ratios"))
)
EVERY = """
smallest_leaf = 30
smallest_class_count = 10
zero_classes = 0
degrees_of_freedom = 10
purest_leaf = 0.8
largest_bits_per_record = 8
thresholds_off_grid = 0
midpoints = 0
largest_attack_advantage = 0.5
largest_contribution = 0.4
require_clean_copy = true
most_certain = 10
narrowest_answer = 0.2
"""
"""A policy that judges by every check but the proved mean advantage."""
