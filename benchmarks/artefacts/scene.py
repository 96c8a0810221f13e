"""The inputs of the window: records, domains, models, releases and policies, made from seeds by the drawn code."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import glassine as g

from .adapter import quiet_process

JOBS = ("baker", "clerk", "nurse")
NAMES = ("age", "hours", "job", "smoker")
NUMBERS = ("age", "hours", "smoker")


def people(n: int = 400, seed: int = 0) -> pl.DataFrame:
    """Return records of which mostly the old smokers and the nurses with long hours are ill."""
    rng = np.random.default_rng(seed)
    age, hours = rng.integers(18, 91, n), rng.integers(1, 100, n)
    job, smoker = rng.choice(JOBS, n), rng.integers(0, 2, n)
    ill = ((age > 50) & (smoker == 1)) | ((job == "nurse") & (hours > 60)) ^ (rng.random(n) < 0.08)
    cost = np.round(age / 10 + 2 * smoker + rng.normal(0, 1, n), 2).clip(0, 15)
    columns = {"age": age, "hours": hours, "job": job, "smoker": smoker}
    return pl.DataFrame({**columns, "ill": np.where(ill, "yes", "no"), "cost": cost})


def attributes(**changes: Any) -> dict[str, Any]:
    """Return the public attributes of :func:`people`, without its targets."""
    usual = {
        "age": g.Integer(18, 90, thresholds=(30, 40, 50, 60, 70)),
        "hours": g.Integer(1, 99, thresholds=(20, 40, 60, 80)),
        "job": g.Category(JOBS),
        "smoker": g.Binary(),
    }
    return usual | changes


def domain() -> Any:
    """Return the domain of :func:`people`."""
    return g.Domain(attributes())


BOX = """
import numpy as np


def decide(frame):
    nurse = (np.asarray(frame["job"]) == "nurse") & (np.asarray(frame["hours"]) > 60)
    return np.where((np.asarray(frame["age"]) > 50) & (np.asarray(frame["smoker"]) == 1) | nurse, "yes", "no")


def score(frame):
    return np.asarray(frame["age"]) / 7
"""


def decide(frame: Any) -> Any:
    """Decide as the black box of the command line does."""
    space: dict[str, Any] = {}
    exec(BOX, space)  # noqa: S102 - the text above, so that both decide alike
    return space["decide"](frame)


def stump(cut: float, *sizes: int, guarantee: Any = None, name: str = "age") -> Any:
    """Return a tree of one split, with or without sizes of its leaves."""
    sides = g.models.Branch(g.domain.Between(name, hi=cut), 1), g.models.Branch(g.domain.Between(name, lo=cut), 2)
    leaves = [g.models.Evidence(total=size, label=i) for i, size in enumerate(sizes)] or [
        g.models.Evidence(label=i) for i in (0, 1)
    ]
    nodes = (g.models.Node(branches=sides), *(g.models.Node(evidence=entry) for entry in leaves))
    return g.DecisionTree(nodes, (name,), (0, 1), guarantee=guarantee)


def honest(model: Any, epsilon: float = 1.0) -> Any:
    """Return a model with its guarantee as an unseeded fit would state it."""
    return replace(model, guarantee=replace(model.guarantee, epsilon=epsilon, caveats=()))


TEXTS = {
    "rules.txt": "if [a] then [true] ([3 ; 5] examples)\nelse [false] ([6 ; 2] examples)\n",
    "second.txt": "if [a] and [b] then [true] ([3 ; 4] examples)\nelse [false] ([6 ; 3] examples)\n",
    "other.txt": "if [b] then [true] ([3 ; 5] examples)\nelse [false] ([2 ; 6] examples)\n",
    "clash.txt": "if [a] then [true] ([2 ; 5] examples)\nelse [false] ([7 ; 2] examples)\n",
    "accept.toml": "accept_guarantee = true\n",
    "no_claims.toml": "accept_guarantee = true\nmax_epsilon = false\n",
    "strict.toml": "smallest_leaf = 100\npurest_leaf = 0.6\nlargest_bits_per_record = 0.5\nlargest_advantage = 0.01\n"
    "most_certain = 0\nmax_epsilon = 0.1\nsuppress_below = 20\n",
    "lenient.toml": "smallest_leaf = 1\npurest_leaf = 1.0\nlargest_bits_per_record = false\n"
    "thresholds_off_grid = false\nmidpoints = false\nmax_epsilon = 10\nsuppress_below = 0\n",
    "two_bits.toml": "largest_bits_per_record = 1.0\n",
    "box.py": BOX,
    "bins.json": json.dumps({"age": [30, 50, 70], "hours": [40], "job": [["baker", "clerk"], ["nurse"]]}),
    # What is refused.
    "bad.toml": "smallest_leef = 3\n",
    "broken.toml": "smallest_leaf = [\n",
    "broken.json": '{"schema": "glassine.tree/1", "nodes": [',
    "twice.json": '{"schema": "glassine.tree/1", "schema": "glassine.tree/1"}',
    "list.json": "[1, 2, 3]\n",
    "empty.json": "",
    "bad_domain.json": '{"age": {"type": "integer", "lo": 9, "hi": 1}}',
    "ragged.csv": "age,hours,job,smoker,ill\n20,30,baker,1,yes\n20,30\n",
    "outside.csv": "age,hours,job,smoker,ill\n20,30,baker,1,yes\n200,30,baker,1,yes\n20,30,pilot,0,no\n",
    "empty.csv": "",
    "header.csv": "age,hours,job,smoker,ill\n",
}


def build(folder: Path) -> None:
    """Write every input into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with quiet_process(folder):
        for name, text in TEXTS.items():
            Path(name).write_text(text, encoding="utf-8")
        records(Path())
        plain_models(Path())
        private_models(Path())
        several_models(Path())
        releases(Path())
        # Reports state the digests of their inputs, which are not to change with the version alone.
        for path in Path().glob("*.json"):
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(f'"version": "{g.__version__}"', '"version": "0.0.0"'), encoding="utf-8")


def records(folder: Path) -> None:
    """Write the records and domains."""
    frame, others = people(), people(200, seed=1)
    one = frame.drop("cost")
    one.write_csv(folder / "people.csv")
    one.write_parquet(folder / "people.parquet")
    others.drop("cost").write_csv(folder / "holdout.csv")
    pl.concat([one, others.drop("cost")]).write_csv(folder / "everybody.csv")
    one.drop("ill").write_csv(folder / "unlabelled.csv")
    one.with_columns(ill=pl.lit("maybe")).write_csv(folder / "other_labels.csv")
    frame.drop("ill").write_csv(folder / "costs.csv")
    one.with_columns(person=pl.int_range(pl.len()) % 120).write_csv(folder / "persons.csv")
    gaps = pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise(pl.col("job")).alias("job")
    one.with_columns(gaps).write_csv(folder / "gaps.csv")
    domain().to_json(folder / "domain.json")
    g.Domain(attributes(ill=g.Category(("no", "yes")))).to_json(folder / "whole.json")
    g.Domain(attributes(job=g.Category(JOBS, missing=True))).to_json(folder / "gaps.json")
    g.Domain(attributes(age=g.Integer(18, 90))).to_json(folder / "no_grid.json")
    drafted = g.Integer(18, 90, thresholds=(50,), inferred=True)
    g.Domain(attributes(age=drafted)).to_json(folder / "inferred.json")
    g.Domain({"age": g.Integer(18, 90)}).to_json(folder / "narrow.json")
    g.Domain.binary(["a", "b", "c"]).to_json(folder / "three.json")
    g.Domain.binary(["a"]).to_json(folder / "one.json")
    a, b = [1] * 8 + [0] * 8, [1] * 7 + [0] * 9
    pl.DataFrame({"a": a, "b": b, "c": [0, 1] * 8}).write_csv(folder / "three.csv")


def plain_models(folder: Path) -> None:
    """Write models without a guarantee."""
    frame = people()
    X, y = frame.select(NAMES), frame["ill"].to_numpy()
    numbers = frame.select(NUMBERS).to_pandas()
    cart = DecisionTreeClassifier(max_depth=4, random_state=0).fit(numbers, y)
    deep = DecisionTreeClassifier(random_state=0).fit(numbers, y)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(numbers, y)
    for name, fitted in {"cart": cart, "deep": deep, "forest": forest}.items():
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(fitted))
    small = DecisionTreeClassifier(max_leaf_nodes=4, min_samples_leaf=30, random_state=0).fit(numbers, y)
    regressor = DecisionTreeRegressor(max_depth=2, random_state=0).fit(numbers, frame["cost"].to_numpy())
    scaled = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(numbers, y)
    (folder / "pipeline.pkl").write_bytes(pickle.dumps(scaled))
    (folder / "logistic.pkl").write_bytes(pickle.dumps(LogisticRegression(max_iter=500).fit(numbers, y)))
    trees = {
        "cart": g.as_model(cart, domain()),
        "small": g.as_model(small, domain()),
        "value": g.as_model(regressor, domain()),
        "optimal": g.learners.OptimalTreeClassifier(2, domain=domain(), n_quantiles=3).fit(X, y).model_,
        "multiway": g.learners.MultiwayTreeClassifier(min_samples_split=80, domain=domain()).fit(X, y).model_,
    }
    lists = {
        "rules": g.learners.OptimalRuleListClassifier(2, domain=domain(), literals="thresholds").fit(X, y).model_,
        "greedy": g.learners.GreedyRuleListClassifier(3, domain=domain()).fit(X, y).model_,
    }
    for name, model in {**trees, **lists}.items():
        g.write_model(model, folder / f"{name}.json")
    g.write_model(g.scrub(trees["small"], domain()).model, folder / "coarse.json")
    gaps = pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise(pl.col("job")).alias("job")
    open_domain = g.Domain(attributes(job=g.Category(JOBS, missing=True)))
    learner = g.learners.MultiwayTreeClassifier(min_samples_split=80, domain=open_domain)
    g.write_model(learner.fit(X.with_columns(gaps), y).model_, folder / "gaps_tree.json")
    bare = tuple(replace(n, evidence=g.models.Evidence(label=n.evidence.prediction)) for n in trees["cart"].nodes)
    g.write_model(replace(trees["cart"], nodes=bare), folder / "labels.json")
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (16, 6))
    labels = (bits[:, 0] + bits[:, 1] + rng.integers(0, 2, 16) > 1).astype(int)
    table = pl.DataFrame(bits, schema=[f"a{i}" for i in range(6)])
    fitted = RandomForestClassifier(20, bootstrap=False, random_state=0).fit(table.to_pandas(), labels)
    (folder / "bits.pkl").write_bytes(pickle.dumps(fitted))
    table.write_csv(folder / "bits.csv")
    g.Domain.binary(table.columns).to_json(folder / "bits.json")


def private_models(folder: Path) -> None:
    """Write models with a guarantee, as seeded fits state it and as others would."""
    frame = people()
    X, y, classes = frame.select(NAMES), frame["ill"].to_numpy(), ("no", "yes")
    usual: dict[str, Any] = {"domain": domain(), "classes": classes, "random_state": 0}
    fitted = {
        "tree": g.learners.PrivateTreeClassifier(2, epsilon=1.0, literals="thresholds", **usual).fit(X, y),
        "rules": g.learners.PrivateRuleListClassifier(2, epsilon=1.0, literals="thresholds", **usual).fit(X, y),
        "greedy": g.learners.PrivateGreedyRuleListClassifier(2, epsilon=1.0, **usual).fit(X, y),
        "additive": g.learners.PrivateEBMClassifier(epsilon=1.0, **usual).fit(X, y),
        "pairs": g.learners.PrivateEBMClassifier(epsilon=4.0, interactions=1, **usual).fit(X, y),
        "regression": g.learners.PrivateEBMRegressor(
            epsilon=1.0, domain=domain(), target_range=(0, 15), random_state=0
        ).fit(X, frame["cost"].to_numpy()),
    }
    for name, learner in fitted.items():
        g.write_model(learner.model_, folder / f"seeded_{name}.json")
        g.write_model(honest(learner.model_), folder / f"private_{name}.json")
        g.write_model(honest(learner.model_, 8.0), folder / f"loose_{name}.json")
        (folder / f"seeded_{name}.certificate.json").write_text(learner.certificate_.to_json())
    for name in ("additive", "pairs", "regression"):
        g.write_model(replace(fitted[name].model_, guarantee=None), folder / f"plain_{name}.json")


def several_models(folder: Path) -> None:
    """Write trees of the same hundred records, with their domain."""
    noisy = {name: g.models.Guarantee(epsilon=e, count_scale=1.0) for name, e in (("half", 0.5), ("more", 0.6))}
    models = {
        "first": stump(40, 50, 50),
        "near": stump(41, 51, 49),
        "far": stump(60, 70, 30),
        "across": stump(150, 40, 60, name="height"),
        "bare": stump(41),
        "rounded": replace(stump(60, 60, 30), approximate=True),
        **{name: stump(50, 60, 40, guarantee=claim) for name, claim in noisy.items()},
    }
    for name, model in models.items():
        g.write_model(model, folder / f"{name}.json")
    g.Domain({"age": g.Integer(0, 99), "height": g.Integer(100, 199)}).to_json(folder / "hundred.json")
    ages, heights = [10] * 50 + [41] + [50] * 19 + [70] * 30, [140] * 40 + [170] * 60
    pl.DataFrame({"age": ages, "height": heights}).write_csv(folder / "hundred.csv")


def releases(folder: Path) -> None:
    """Write releases of surrogate trees in every form."""
    frame = people(240).select(NAMES)
    usual: dict[str, Any] = {"domain": domain(), "classes": ("no", "yes"), "distance": "gower", "random_state": 0}
    made = {
        "safe": g.surrogates.SurrogateExplainer(decide, 40, min_samples_leaf=10, **usual),
        "paper": g.surrogates.SurrogateExplainer(decide, 40, form="paper", min_samples_leaf=1, **usual),
        "private": g.surrogates.SurrogateExplainer(decide, 40, epsilon=1.0, partition="public", n_cells=4, **usual),
    }
    for name, explainer in made.items():
        release = explainer.fit(frame, decide(frame)).release_
        release.to_json(folder / f"release_{name}.json")
    plain = json.loads((folder / "release_private.json").read_text(encoding="utf-8"))
    plain["certificate"]["caveats"] = []
    (folder / "release_honest.json").write_text(json.dumps(plain, indent=2), encoding="utf-8")
    frame.with_columns(answer=pl.Series(decide(frame))).write_csv(folder / "answers.csv")
    others = people(100, seed=9).select(NAMES)
    others.with_columns(answer=pl.Series(decide(others))).write_csv(folder / "other_answers.csv")
