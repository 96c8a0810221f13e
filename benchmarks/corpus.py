"""A corpus of model files made with the libraries themselves, and how each is read: right, wrong or refused.

A file is read right if the model predicts what the library predicts, on the training records and beside every
threshold, and if the counts that it stores are those of the training records. A row for each file is in ``corpus.csv``.

Run: pip install xgboost lightgbm treelite skl2onnx imodels pystreed interpret-core sklearn2pmml, install R with rpart,
partykit, party and randomForest, Weka and Java, then python benchmarks/corpus.py [MAKER ...]. Files whose makers are
not installed are left out, and their rows stay.
"""

from __future__ import annotations

import csv
import importlib.util
import math
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import skops.io
from sklearn.base import RegressorMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    export_graphviz,
    export_text,
)

from glassine.domain import Between
from glassine.errors import GlassineError
from glassine.formats import load_forest, load_model
from glassine.models import DecisionTree, RuleList

OUT = Path(__file__).with_suffix(".csv")
COLUMNS = ("file", "format", "bytes", "outcome", "detail", "milliseconds", "megabytes")
"""Of a row: what reading costs is measured where the file was made last."""
RNG = np.random.default_rng(0)
N = 600
ROWS = np.c_[np.round(RNG.normal(0, 1, (N, 2)), 1), RNG.integers(0, 30, N)].astype(float)
"""Two columns of short decimals, on which thresholds lie, and one of codes of categories."""
TWO = ((ROWS[:, 0] + ROWS[:, 1] ** 2 > 0.6) ^ (ROWS[:, 2] % 3 == 0)).astype(int)
THREE = (TWO + (ROWS[:, 0] > 1)).astype(int)
NUMBER = np.round(ROWS[:, 0] + 0.5 * TWO + RNG.normal(0, 0.1, N), 3)
PLACES = (15, 50)
"""Digits of thresholds in texts: enough for those of the training records, which are short decimals."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A file of the corpus, and what the library says of records."""

    name: str
    kind: str  # The format
    suffix: str
    data: bytes
    predict: Callable[[Any], Any]  # The library's predictions: labels, values, or None where they are not compared
    rows: Any = None  # The training records
    target: Any = None  # Their classes, where counts are compared
    trusted: bool = False
    words: tuple[int, ...] = ()  # Columns of whole numbers that stand for words
    blur: float = 0.0  # Up to this distance above a threshold, the library takes values for equal to it

    def columns(self, names: dict[str, int], rows: Any) -> dict[str, Any]:
        """Return the columns of some names."""
        return {name: worded(rows[:, at]) if at in self.words else rows[:, at] for name, at in names.items()}


def worded(codes: Any) -> Any:
    """Return the words that codes stand for."""
    return np.array([f"w{int(code)}" for code in codes], dtype=object)


def places_of(model: Any) -> dict[str, int]:
    """Return the column of each attribute, whose name ends in its number; of a leaf alone, the first."""
    return {name: int(re.sub(r"\D", "", name)) for name in model.attributes or ("x0",)}


def beside(model: DecisionTree | RuleList, rows: Any, blur: float = 0.0) -> Any:
    """Return the training records, and records at each threshold, one step below and above in both precisions."""
    out = [rows]
    places = places_of(model)
    for literal in model.literals:
        for bound in (literal.lo, literal.hi) if isinstance(literal, Between) else ():
            if not math.isfinite(bound) or literal.attribute not in places:
                continue
            near = np.float32(bound)
            steps = [float(np.nextafter(near, np.float32(way))) for way in (-np.inf, np.inf)]
            values = {bound, float(near), *steps, *(float(f"{bound:.{digits}g}") for digits in (2, 3, 8))}
            values |= {math.nextafter(value, way) for value in (bound, float(near)) for way in (-math.inf, math.inf)}
            for value in values - {value for value in values if 0 < value - bound <= blur}:
                changed = rows[:20].copy()
                changed[:, places[literal.attribute]] = value
                out.append(changed)
    return np.concatenate(out)


def cost_of_reading(path: Path, trusted: bool, times: int = 3) -> tuple[float, float]:
    """Return the least CPU milliseconds of some readings of a file, and the most megabytes that one holds at once."""
    spent = []
    for _ in range(times):
        started = time.process_time()
        load_model(path, trust_pickle=trusted)
        spent.append(time.process_time() - started)
    tracemalloc.start()
    load_model(path, trust_pickle=trusted)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return round(1e3 * min(spent), 1), round(most / 1e6, 2)


def judged(sample: Sample, path: Path) -> tuple[str, str]:
    """Return whether a file was read right, read wrong or refused, and what is said of it."""
    try:
        model = load_model(path, trust_pickle=sample.trusted)
    except GlassineError as error:
        return "refused", str(error).removeprefix(f"{path}: ")[:160]
    rows = sample.rows
    if isinstance(model, DecisionTree | RuleList):
        rows = beside(model, rows, sample.blur)
    columns = sample.columns(places_of(model), rows)
    ours, theirs = np.asarray(model.predict(columns)), np.asarray(sample.predict(rows))
    if theirs.dtype.kind == "f":
        same = np.isclose(ours.astype(float), theirs, rtol=1e-5, atol=1e-6)
    else:
        same = np.array([str(a) == str(b) for a, b in zip(ours.tolist(), theirs.tolist(), strict=True)])
    if not same.all():
        return "wrong", f"{int((~same).sum())} of {len(same)} predictions differ"
    if isinstance(model, DecisionTree | RuleList) and sample.target is not None:
        where = model.apply(sample.columns(places_of(model), sample.rows))
        for place, cell in enumerate(model.cells):
            inside = sample.target[where == place]
            counts, size = cell.evidence.counts, cell.evidence.size
            true = [int((inside.astype(str) == str(label)).sum()) for label in model.classes or ()]
            if model.counts_are_exact and size is not None and size != len(inside):
                return "wrong", f"leaf {place} holds {len(inside)} records, not {size}"
            named = {str(label) for label in model.classes or ()} <= set(sample.target.astype(str).tolist())
            if model.counts_are_exact and counts is not None and named and list(counts) != true:
                return "wrong", f"leaf {place} holds {true}, not {list(counts)}"
    return "right", ""


def of_scikit_learn() -> Iterator[Sample]:
    """Yield trees and pipelines in every container, texts and graphs."""
    names = np.array(["no", "yes, perhaps", "other"])
    two, three, words = TWO, THREE, names[THREE]
    trees: dict[str, tuple[Any, Any]] = {
        "classifier": (DecisionTreeClassifier(max_depth=5, random_state=0), two),
        "three classes": (DecisionTreeClassifier(max_depth=5, random_state=0), three),
        "words": (DecisionTreeClassifier(max_depth=4, random_state=0, criterion="entropy"), words),
        "balanced": (DecisionTreeClassifier(max_depth=4, random_state=0, class_weight="balanced"), three),
        "extra": (ExtraTreeClassifier(max_depth=5, random_state=0), two),
        "regressor": (DecisionTreeRegressor(max_depth=5, random_state=0), NUMBER),
        "stump": (DecisionTreeClassifier(max_depth=1), two),
        "leaf": (DecisionTreeClassifier(max_depth=1), np.zeros(N, dtype=int)),
    }
    front = ColumnTransformer(
        [("late", StandardScaler(), [1]), ("codes", OneHotEncoder(), [2])], remainder="passthrough"
    )
    for name, step in {
        "standard": StandardScaler(),
        "minmax": MinMaxScaler(),
        "robust": RobustScaler(),
        "bins": KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"),
        "columns": front,
    }.items():
        trees[f"pipeline {name}"] = (make_pipeline(step, DecisionTreeClassifier(max_depth=4, random_state=0)), two)
    containers: dict[str, Callable[[Any], bytes]] = {
        ".skops": skops.io.dumps,
        ".pkl": pickle.dumps,
        ".joblib": _joblib,
    }
    for name, (estimator, target) in trees.items():
        fitted = estimator.fit(ROWS, target)
        counts = target if fitted.__class__.__name__ != "DecisionTreeRegressor" else None
        for suffix, dump in containers.items():
            if name.startswith("pipeline") and suffix == ".joblib":
                continue
            yield Sample(
                name=f"scikit-learn {name}",
                kind=suffix[1:],
                suffix=suffix,
                data=dump(fitted),
                predict=fitted.predict,
                rows=ROWS,
                target=counts,
                trusted=suffix != ".skops",
            )
    # Thresholds of eighths print exactly.
    eighths = np.round(ROWS * 8) / 8
    columns = [f"x{place}" for place in range(3)]
    for name, target in (("two", two), ("three", three), ("number", NUMBER)):
        kind = DecisionTreeRegressor if name == "number" else DecisionTreeClassifier
        fitted = kind(max_depth=4, random_state=0).fit(eighths, target)
        shared: dict[str, Any] = {"predict": fitted.predict, "rows": eighths}
        counted = {} if name == "number" else {"target": target}
        for weights in (True, False) if counted else (False,):
            text = export_text(fitted, decimals=20, feature_names=columns, show_weights=weights)
            title = f"export_text of {name}{', weights' if weights else ''}"
            yield Sample(name=title, kind="export_text", suffix=".txt", data=text.encode(), **shared, **counted)
        graph = export_graphviz(fitted, feature_names=columns, precision=20)
        sample = Sample(name=f"graph of {name}", kind="dot", suffix=".dot", data=graph.encode(), **shared, **counted)
        # The columns that no node tests are in no text.
        yield replace(sample, predict=fitted.predict)


def _joblib(fitted: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(fitted, f"{folder}/model.joblib")
        return Path(folder, "model.joblib").read_bytes()


def of_xgboost() -> Iterator[Sample]:
    """Yield models of one round, in JSON and UBJSON, and as treelite dumps them."""
    import treelite
    import xgboost

    gaps = ROWS.copy()
    gaps[RNG.random(gaps.shape) < 0.1] = np.nan
    for objective in (
        "reg:squarederror",
        "reg:absoluteerror",
        "binary:logistic",
        "binary:logitraw",
        "reg:gamma",
        "count:poisson",
        "reg:squaredlogerror",
    ):
        for name, rows, kinds, method in (
            ("hist", ROWS, ["float"] * 3, "hist"),
            ("exact", ROWS, ["float"] * 3, "exact"),
            ("codes", ROWS, ["float", "float", "c"], "hist"),
            ("gaps", gaps, ["float"] * 3, "hist"),
        ):
            if name != "hist" and objective not in ("reg:squarederror", "binary:logistic"):
                continue
            binary = objective.startswith("binary")
            target = TWO if binary else np.abs(NUMBER) + 0.1 if "gamma" in objective or "log" in objective else NUMBER
            target = np.round(np.abs(NUMBER)) if "poisson" in objective else target
            made = xgboost.DMatrix(rows, target, feature_types=kinds, enable_categorical=True)
            booster = xgboost.train({"objective": objective, "max_depth": 4, "tree_method": method}, made, 1)

            def predict(at: Any, booster: Any = booster, kinds: Any = kinds, binary: bool = binary) -> Any:
                given = xgboost.DMatrix(at, feature_types=kinds, enable_categorical=True)
                out = booster.predict(given, output_margin=binary)
                return (out > 0).astype(int) if binary else out.astype(float)

            shared: dict[str, Any] = {"predict": predict, "rows": ROWS}
            if name != "gaps":
                shared["target"] = TWO if binary else NUMBER
            for suffix in ("json", "ubj"):
                data = bytes(booster.save_raw(suffix))
                yield Sample(name=f"XGBoost {objective} {name}", kind=suffix, suffix=f".{suffix}", data=data, **shared)
            if objective in ("reg:squarederror", "binary:logistic") and name != "gaps":
                dumped = treelite.frontend.from_xgboost(booster).dump_as_json(pretty_print=False).encode()
                yield Sample(
                    name=f"treelite of XGBoost {objective} {name}",
                    kind="treelite",
                    suffix=".json",
                    data=dumped,
                    **shared,
                )


def of_lightgbm() -> Iterator[Sample]:
    """Yield models of one round, as LightGBM and as treelite write them."""
    import lightgbm
    import treelite

    for objective in ("regression", "l1", "huber", "quantile", "binary", "poisson", "gamma"):
        for name, options in (
            ("plain", {}),
            ("codes", {"categorical_feature": [2]}),
            ("weights", {"weight": 1 + ROWS[:, 2] % 2}),
        ):
            if name != "plain" and objective not in ("regression", "binary"):
                continue
            binary = objective == "binary"
            target = TWO if binary else np.abs(NUMBER) + 0.1 if objective in ("poisson", "gamma") else NUMBER
            given = lightgbm.Dataset(ROWS, target, **options)  # type: ignore[arg-type, unused-ignore]
            parameters = {"objective": objective, "num_leaves": 8, "verbose": -1, "min_data_in_leaf": 5}
            booster = lightgbm.train(parameters, given, 1)

            def predict(at: Any, booster: Any = booster, binary: bool = binary) -> Any:
                out = booster.predict(at, raw_score=binary)
                return (out > 0).astype(int) if binary else out

            shared: dict[str, Any] = {"predict": predict, "rows": ROWS, "target": target}
            data = booster.model_to_string().encode()
            yield Sample(name=f"LightGBM {objective} {name}", kind="LightGBM", suffix=".txt", data=data, **shared)
            if objective in ("regression", "binary") and name != "codes":
                dumped = treelite.frontend.from_lightgbm(booster).dump_as_json(pretty_print=False).encode()
                title = f"treelite of LightGBM {objective} {name}"
                yield Sample(name=title, kind="treelite", suffix=".json", data=dumped, **shared)


def of_treelite() -> Iterator[Sample]:
    """Yield forests of one tree and histogram boosting, as treelite imports them: it rounds nothing of these."""
    import treelite

    for estimator, target in (
        (RandomForestClassifier(1, max_depth=4, bootstrap=False, random_state=0), TWO),
        (RandomForestClassifier(1, max_depth=4, bootstrap=False, random_state=0), THREE),
        (RandomForestRegressor(1, max_depth=4, bootstrap=False, random_state=0), NUMBER),
        (HistGradientBoostingRegressor(max_iter=1, max_depth=3), NUMBER),
    ):
        model = treelite.sklearn.import_model(estimator.fit(ROWS, target))
        classes = len(set(target.tolist())) if target is not NUMBER else 1

        def predict(at: Any, model: Any = model, classes: int = classes) -> Any:
            out = treelite.gtil.predict(model, np.ascontiguousarray(at)).reshape(len(at), -1)
            return out.argmax(axis=1) if classes > 1 else out[:, 0]

        data = model.dump_as_json(pretty_print=False).encode()
        name = f"treelite of {type(estimator).__name__}, {classes} classes"
        yield Sample(name=name, kind="treelite", suffix=".json", data=data, predict=predict, rows=ROWS)


def of_onnx() -> Iterator[Sample]:
    """Yield trees that skl2onnx converts: runtimes are given numbers of single precision."""
    import onnxruntime
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    for name, estimator, target in (
        ("two", DecisionTreeClassifier(max_depth=4, random_state=0), TWO),
        ("three", DecisionTreeClassifier(max_depth=4, random_state=0), THREE),
        ("number", DecisionTreeRegressor(max_depth=4, random_state=0), NUMBER),
        ("extra", ExtraTreeClassifier(max_depth=4, random_state=0), TWO),
    ):
        fitted = estimator.fit(ROWS, target)
        types = [("X", FloatTensorType([None, 3]))]
        data = convert_sklearn(fitted, initial_types=types, target_opset={"": 15, "ai.onnx.ml": 3}).SerializeToString()
        session = onnxruntime.InferenceSession(data)

        def predict(at: Any, session: Any = session) -> Any:
            return session.run(None, {"X": at.astype(np.float32)})[0].ravel()

        yield Sample(name=f"skl2onnx {name}", kind="onnx", suffix=".onnx", data=data, predict=predict, rows=ROWS)


def of_others() -> Iterator[Sample]:
    """Yield lists of imodels, optimal trees of pystreed and an additive model of interpret."""
    from imodels import FIGSClassifier, GreedyRuleListClassifier, HSTreeClassifier, HSTreeRegressor, OneRClassifier
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
    from pystreed import STreeDClassifier

    for estimator in (
        GreedyRuleListClassifier(max_depth=4),
        OneRClassifier(),
        FIGSClassifier(max_rules=5, max_trees=1),
        HSTreeClassifier(estimator_=DecisionTreeClassifier(max_depth=3)),
        HSTreeRegressor(estimator_=DecisionTreeRegressor(max_depth=3)),
        ExplainableBoostingRegressor(objective="rmse", exclude=[0], interactions=0, outer_bags=2, max_rounds=50),
        ExplainableBoostingClassifier(interactions=0, outer_bags=2, max_rounds=50),
        STreeDClassifier(max_depth=2),
    ):
        rows = ROWS[:, :2]
        fitted = estimator.fit(rows, NUMBER if isinstance(estimator, RegressorMixin) else TWO)
        name = type(fitted).__name__
        try:
            dumped = {".pkl": pickle.dumps(fitted), ".joblib": _joblib(fitted)}
        except (TypeError, AttributeError, pickle.PicklingError):
            continue  # pystreed keeps its tree in C++
        for suffix, data in dumped.items():
            yield Sample(
                name=name, kind=suffix[1:], suffix=suffix, data=data, predict=fitted.predict, rows=rows, trusted=True
            )


EIGHTHS = np.round(ROWS * 8) / 8
EIGHTHS[:, 2] = ROWS[:, 2] % 5
"""The same columns for printed trees: thresholds of sixteenths print exactly, and codes stand for five words."""
HALVES = np.c_[np.round(ROWS[:, :2] * 2) / 2, EIGHTHS[:, 2]]
"""Weka prints two decimals of some thresholds."""
NAMES = ("x0", "x1", "x2")


def _write(path: Path, rows: Any, **more: Any) -> None:
    """Write records as CSV, the last column in words, with more columns behind."""
    columns = [rows[:, 0].tolist(), rows[:, 1].tolist(), worded(rows[:, 2]), *more.values()]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES, *more])
        writer.writerows(zip(*columns, strict=True))


def _ran(*command: str) -> str:
    """Return what a command of ours prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603, as written below
    if done.returncode:
        raise RuntimeError(f"{command[:3]} failed: {done.stderr[-500:]}")
    return done.stdout


def of_r() -> Iterator[Sample]:
    """Yield trees of rpart, partykit, party and randomForest as R prints them."""
    script = str(Path(__file__).with_suffix(".R"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / "rows.csv", EIGHTHS, two=TWO, three=THREE, number=NUMBER)
        _ran("Rscript", "--vanilla", script, "fit", name)
        for path in sorted(folder.glob("*.txt")):

            def predict(at: Any, kind: str = path.stem) -> Any:
                _write(folder / "records.csv", at)
                _ran("Rscript", "--vanilla", script, "predict", name, kind)
                answers = (folder / "answers.csv").read_text().replace('"', "").split()[1:]
                return (
                    np.array([float(a) for a in answers]) if "number" in kind else np.array([int(a) for a in answers])
                )

            # A forest draws its records, and weights are no counts.
            counted = not {"randomForest", "weights", "number"} & set(path.stem.split("_"))
            yield Sample(
                name=f"R {path.stem.replace('_', ' ')}",
                kind="R",
                suffix=".txt",
                data=path.read_bytes(),
                predict=predict,
                rows=EIGHTHS,
                target=(THREE if "three" in path.stem else TWO) if counted else None,
                words=(2,),
            )


WEKA = "/usr/share/java/weka.jar"
KINDS_OF_WEKA = {
    "J48": ("trees.J48",),
    "J48 unpruned": ("trees.J48", "-U", "-M", "10"),
    "J48 of binary splits": ("trees.J48", "-B"),
    "J48 pruned by errors": ("trees.J48", "-R"),
    "REPTree": ("trees.REPTree",),
    "RandomTree": ("trees.RandomTree", "-depth", "4"),
    "DecisionStump": ("trees.DecisionStump",),
    "PART": ("rules.PART",),
    "JRip": ("rules.JRip",),
}


def of_weka() -> Iterator[Sample]:
    """Yield trees and rules as Weka prints them: those of J48 are read."""
    java = ("java", "-cp", WEKA)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, (learner, *options) in KINDS_OF_WEKA.items():
            for classes, target in (("two", TWO), ("three", THREE)):
                if classes == "three" and learner != "trees.J48":
                    continue
                labels = [f"c{label}" for label in target.tolist()]
                stored, train = str(folder / "model"), str(folder / "rows.arff")
                _arff(folder / "rows.arff", HALVES, labels, sorted(set(labels)))
                out = _ran(*java, f"weka.classifiers.{learner}", *options, "-t", train, "-d", stored)

                def predict(at: Any, learner: str = learner, stored: str = stored, listed: Any = tuple(labels)) -> Any:
                    _arff(folder / "records.arff", at, ["?"] * len(at), sorted(set(listed)))
                    test = str(folder / "records.arff")
                    said = _ran(*java, f"weka.classifiers.{learner}", "-l", stored, "-T", test, "-p", "0")
                    return np.array(re.findall(r"^ *[0-9]+ +\S+ +[0-9]+:(\S+)", said, re.MULTILINE))

                yield Sample(
                    name=f"Weka {kind}, {classes} classes",
                    kind="Weka",
                    suffix=".txt",
                    data=out.encode(),
                    predict=predict,
                    rows=HALVES,
                    target=np.array(labels),
                    words=(2,),
                    blur=1.1e-6,
                )


def _arff(path: Path, rows: Any, labels: list[str], classes: list[str]) -> None:
    """Write records in the format of Weka."""
    head = ["@relation rows", "@attribute x0 numeric", "@attribute x1 numeric", "@attribute x2 {w0,w1,w2,w3,w4}"]
    head += [f"@attribute y {{{','.join(classes)}}}", "@data"]
    records = zip(rows[:, 0].tolist(), rows[:, 1].tolist(), worded(rows[:, 2]), labels, strict=True)
    path.write_text("\n".join([*head, *(",".join(map(str, record)) for record in records), ""]))


def of_jpmml() -> Iterator[Sample]:
    """Yield trees that sklearn2pmml writes: with its defaults, which merge and reorder nodes, and without them."""
    import pandas as pd
    from sklearn2pmml import sklearn2pmml
    from sklearn2pmml.decoration import CategoricalDomain, ContinuousDomain
    from sklearn2pmml.pipeline import PMMLPipeline

    def frame(at: Any) -> Any:
        return pd.DataFrame({"x0": at[:, 0], "x1": at[:, 1], "x2": worded(at[:, 2])})

    rows = np.c_[ROWS[:, :2], ROWS[:, 2] % 5]
    plain = ColumnTransformer([("x", "passthrough", ["x0", "x1"]), ("w", OneHotEncoder(), ["x2"])])
    decorated = ColumnTransformer(
        [
            ("x", ContinuousDomain(with_statistics=False, invalid_value_treatment="as_is"), ["x0", "x1"]),
            ("w", make_pipeline(CategoricalDomain(with_statistics=False), OneHotEncoder(sparse_output=False)), ["x2"]),
        ]
    )
    scaled = ColumnTransformer([("x", StandardScaler(), ["x0", "x1"]), ("w", OneHotEncoder(), ["x2"])])
    words = np.array(["no", "yes, perhaps", "other"])[THREE]
    one_hot, coded = OneHotEncoder(), OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbers = ["x0", "x1"]
    bins = KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf")
    binned = ColumnTransformer([("x", bins, numbers), ("w", one_hot, ["x2"])])
    above = ColumnTransformer([("x", Binarizer(threshold=0.3), numbers), ("w", one_hot, ["x2"])])
    ordinal = ColumnTransformer([("x", "passthrough", numbers), ("w", coded, ["x2"])])
    filled = ColumnTransformer([("x", SimpleImputer(missing_values=0.5), numbers), ("w", one_hot, ["x2"])])
    for name, step, tree, target in (
        ("two", plain, DecisionTreeClassifier(max_depth=5, random_state=0), TWO),
        ("three", plain, DecisionTreeClassifier(max_depth=5, random_state=0), THREE),
        ("words", plain, DecisionTreeClassifier(max_depth=4, random_state=0), words),
        ("balanced", plain, DecisionTreeClassifier(max_depth=4, random_state=0, class_weight="balanced"), TWO),
        ("number", plain, DecisionTreeRegressor(max_depth=4, random_state=0), NUMBER),
        ("extra", plain, ExtraTreeClassifier(max_depth=5, random_state=0), TWO),
        ("domains", decorated, DecisionTreeClassifier(max_depth=4, random_state=0), TWO),
        ("scaled", scaled, DecisionTreeClassifier(max_depth=4, random_state=0), TWO),
        ("stump", plain, DecisionTreeClassifier(max_depth=1), TWO),
        ("bins", binned, DecisionTreeClassifier(max_depth=4, random_state=0), TWO),
        ("binarizer", above, DecisionTreeClassifier(max_depth=4, random_state=0), TWO),
        ("ordinal", ordinal, DecisionTreeClassifier(max_depth=4, random_state=0), TWO),
        ("filled", filled, DecisionTreeClassifier(max_depth=4, random_state=0), TWO),
    ):
        for options in ({}, {"compact": False}):
            fitted = PMMLPipeline([("columns", step), ("tree", tree)]).fit(frame(rows), pd.Series(target, name="y"))
            fitted.configure(**options)
            with tempfile.TemporaryDirectory() as folder:
                sklearn2pmml(fitted, f"{folder}/model.pmml")
                data = Path(folder, "model.pmml").read_bytes()

            def predict(at: Any, fitted: Any = fitted, name: str = name) -> Any:
                # JPMML adds so much before it looks for a bin.
                moved = at + (1e-8 + 1e-5 * np.abs(at)) * [1, 1, 0] if name == "bins" else at
                return np.asarray(fitted.predict(frame(moved)))

            said = ", ".join(f"{key}={value}" for key, value in options.items()) or "defaults"
            yield Sample(
                name=f"sklearn2pmml {name}, {said}",
                kind="pmml",
                suffix=".pmml",
                data=data,
                predict=predict,
                rows=rows,
                target=None if name in ("number", "balanced") else target,
                words=(2,),
            )


def of_many_categories(n_trees: int = 145, n_splits: int = 30, n_categories: int = 6000) -> bytes:
    """Return a text of LightGBM of about 4 MB: trees in a row of splits, each on a list of hundreds of categories."""
    rng = np.random.default_rng(1)
    listed = ", ".join(f'"town {place}"' for place in range(n_categories))
    n_words = math.ceil(n_categories / 32)
    parts = [
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=0\nobjective=regression",
        f"feature_names=town\nfeature_infos={':'.join(map(str, range(n_categories)))}\n",
    ]
    for place in range(n_trees):
        codes = rng.random((n_splits, n_words * 32)) < 1 / 40
        codes[:, n_categories:] = False
        words = np.packbits(codes, axis=1, bitorder="little").view("<u4").ravel().tolist()
        sizes = np.full(n_splits + 1, 20)
        lists: dict[str, Any] = {
            "split_feature": [0] * n_splits,
            "split_gain": [1] * n_splits,
            "threshold": range(n_splits),
            "decision_type": [1] * n_splits,
            "left_child": range(-1, -n_splits - 1, -1),
            "right_child": [*range(1, n_splits), -n_splits - 1],
            "leaf_value": np.round(rng.normal(0, 1, n_splits + 1), 6),
            "leaf_weight": sizes,
            "leaf_count": sizes,
            "internal_count": np.cumsum(sizes[::-1])[:0:-1],
            "cat_boundaries": range(0, n_words * n_splits + 1, n_words),
            "cat_threshold": words,
        }
        lines = [f"{key}={' '.join(map(str, values))}" for key, values in lists.items()]
        head = [f"Tree={place}", f"num_leaves={n_splits + 1}", f"num_cat={n_splits}"]
        parts.append("\n".join([*head, *lines, "is_linear=0", "shrinkage=1", "\n"]))
    parts.append("end of trees\n\nparameters:\n[boosting: gbdt]\n[data_sample_strategy: bagging]\n[bagging_freq: 0]")
    parts.append(f"[categorical_feature: 0]\nend of parameters\n\npandas_categorical:[[{listed}]]\n")
    return "\n".join(parts).encode()


def numbers_of_text(path: Path) -> int:
    """Return how many numbers stand in the lists of a text of LightGBM, each of which it makes a float."""
    values = [line.partition("=")[2] for line in path.read_text().splitlines()]
    return sum(len(list(map(float, value.split()))) for value in values if re.fullmatch(r"[-+.0-9e ]+", value))


def cost_of_many_categories(folder: Path, times: int = 2) -> tuple[float, float, float]:
    """Return the megabytes of that text, the least CPU seconds in which its trees are read, and its numbers alone."""
    path = folder / "categories.txt"
    path.write_bytes(of_many_categories())
    spent: dict[Callable[[Path], Any], float] = dict.fromkeys((load_forest, numbers_of_text), math.inf)
    for _ in range(times):
        for work in spent:
            started = time.process_time()
            work(path)
            spent[work] = min(spent[work], time.process_time() - started)
    return path.stat().st_size / 1e6, spent[load_forest], spent[numbers_of_text]


FAMILIES: dict[str, tuple[Callable[[], Iterator[Sample]], tuple[str, ...]]] = {
    "scikit-learn": (of_scikit_learn, ()),
    "XGBoost": (of_xgboost, ("xgboost", "treelite")),
    "LightGBM": (of_lightgbm, ("lightgbm", "treelite")),
    "treelite": (of_treelite, ("treelite",)),
    "ONNX": (of_onnx, ("skl2onnx", "onnxruntime")),
    "others": (of_others, ("imodels", "interpret", "pystreed")),
    "R": (of_r, ("Rscript",)),
    "Weka": (of_weka, ("java", WEKA)),
    "JPMML": (of_jpmml, ("sklearn2pmml", "java")),
}
"""The makers of files, and the libraries and commands that each needs."""


def is_installed(name: str) -> bool:
    """Return whether a library or a command is there."""
    if "/" in name:
        return Path(name).exists()
    return shutil.which(name) is not None or importlib.util.find_spec(name) is not None


def rows_of(
    families: dict[str, tuple[Callable[[], Iterator[Sample]], tuple[str, ...]]], kept: Path | None = None
) -> Iterator[dict[str, object]]:
    """Yield a row for each file of some families whose makers are installed; keep the small files in a folder."""
    for family, (make, needed) in families.items():
        if lacking := [name for name in needed if not is_installed(name)]:
            print(f"left out: {family}, which needs {', '.join(lacking)}", file=sys.stderr)  # noqa: T201
            continue
        with tempfile.TemporaryDirectory() as folder:
            for sample in made_by(make, family):
                if sample.name in SMALL and kept is not None:
                    keep(sample, kept)
                path = Path(folder, f"model{sample.suffix}")
                path.write_bytes(sample.data)
                outcome, detail = judged(sample, path)
                # What a refusal costs is no cost of reading.
                cost = (None, None) if outcome == "refused" else cost_of_reading(path, sample.trusted)
                yield {
                    "file": sample.name,
                    "format": sample.kind,
                    "bytes": len(sample.data),
                    "outcome": outcome,
                    "detail": detail,
                    "milliseconds": cost[0],
                    "megabytes": cost[1],
                }


def made_by(make: Callable[[], Iterator[Sample]], family: str) -> Iterator[Sample]:
    """Yield the files of a maker as far as it gets: versions of two libraries may not fit, which is said."""
    try:
        yield from make()
    except (RuntimeError, ImportError) as error:
        print(f"left out: the rest of {family}, as {str(error)[:200]}", file=sys.stderr)  # noqa: T201


KEPT = Path(__file__).parents[1] / "tests" / "formats" / "made"
"""Some small files of programs that tests cannot run, with what these predict."""
SMALL = {
    "R rpart three": "rpart.txt",
    "R party of rpart number": "party_of_rpart.txt",
    "R ctree three": "ctree.txt",
    "R randomForest": "randomforest.txt",
    "Weka J48, three classes": "j48.txt",
    "Weka J48 pruned by errors, two classes": "j48_pruned_by_errors.txt",
    "Weka REPTree, two classes": "reptree.txt",
    "sklearn2pmml words, defaults": "sklearn2pmml.pmml",
    "sklearn2pmml words, compact=False": "sklearn2pmml_binary.pmml",
    "sklearn2pmml domains, defaults": "sklearn2pmml_domains.pmml",
    "sklearn2pmml number, defaults": "sklearn2pmml_number.pmml",
    **{
        f"sklearn2pmml {kind}, defaults": f"sklearn2pmml_{kind}.pmml"
        for kind in ("bins", "binarizer", "ordinal", "filled")
    },
}
N_KEPT = 40


def keep(sample: Sample, folder: Path) -> None:
    """Keep a file, and what its program predicts of some records, at thresholds and beside them."""
    name = SMALL[sample.name]
    (folder / name).write_bytes(sample.data)
    rows = beside(load_model(folder / name), sample.rows, sample.blur)  # type: ignore[arg-type] # of trees alone
    rows = rows[np.random.default_rng(0).choice(len(rows), N_KEPT, replace=False)]
    answers = np.asarray(sample.predict(rows)).tolist()
    with (folder / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [[*NAMES, "answer"], *([*row, a] for row, a in zip(rows.tolist(), answers, strict=True))]
        )


def main() -> None:
    """Make the corpus, read it and store a row for each file; the rows of makers that are not installed stay."""
    warnings.simplefilter("ignore")
    stored = list(csv.DictReader(OUT.read_text().splitlines())) if OUT.exists() else []
    chosen = {name: of for name, of in FAMILIES.items() if name in sys.argv[1:]} or FAMILIES
    made: list[dict[str, object]] = list(rows_of(chosen, KEPT if "--keep" in sys.argv else None))
    named = {(row["file"], row["format"]) for row in made}
    rows = [*made, *(dict(row) for row in stored if (row["file"], row["format"]) not in named)]
    with OUT.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        writer.writerows(rows)
    counts = {outcome: sum(row["outcome"] == outcome for row in rows) for outcome in ("right", "wrong", "refused")}
    print(len(rows), "files:", counts)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        size, spent, parsing = cost_of_many_categories(Path(folder))
    print(f"{size:.1f} MB of lists of categories: {spent:.2f} CPU s, {spent / parsing:.0f} times its numbers")  # noqa: T201


if __name__ == "__main__":
    main()
