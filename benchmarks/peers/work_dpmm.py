"""Work of dpmm: synthetic records by MST or AIM, and ordinary models of scikit-learn that are fitted to them.

Numbers are cut at the public grid of the domain, so that no budget pays for bins. The ordinary tree has the depth and
the cut points of ours.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import dpmm.models.aim
import dpmm.models.mst
import numpy as np
import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline
from protocol import stopwatch
from scoring import dummies, of_classes, of_numbers
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from warm import Done, Work, split

TARGET = "the target"
ITERATIONS = 200
"""Of each inference; dpmm has 2,500 before the pairs are selected and 5,000 after, whose fits take minutes."""
ITERATIONS_OF_A_ROUND = 50
"""Of an inference of AIM, which starts at the one of the round before; dpmm has 1,000."""
MEASUREMENTS = 2
"""For each attribute, of AIM; dpmm has 16. Half are of single attributes, half of pairs."""
MEGABYTES = 5.0
"""Of the model of AIM; dpmm has 80."""
LEAST = {"max_depth": 3, "min_samples_leaf": 20}
MODELS: dict[str, Any] = {
    "tree": (DecisionTreeClassifier, DecisionTreeRegressor, LEAST),
    "additive": (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        {"interaction_cst": "no_interactions"},
    ),
    "logistic": (LogisticRegression, LinearRegression, {"max_iter": 1000}),
    "linear": (LogisticRegression, LinearRegression, {}),
}
original = dpmm.models.mst.FactoredInference
made: dict[tuple[Any, ...], tuple[pd.DataFrame, list[float]]] = {}
"""Synthetic codes and the seconds that they took: each model is fitted to the same ones."""


def inference(most: int) -> Callable[..., Any]:
    """Return dpmm's inference, of fewer iterations: it only reads noisy counts, so that the guarantee stands."""
    return lambda domain, iters, **options: original(domain, iters=min(iters, most), **options)


def pipeline(settings: dict[str, Any], n_attributes: int) -> Any:
    """Return dpmm's maker of synthetic records."""
    make: Any = MSTPipeline
    options: dict[str, Any] = {"n_iters": ITERATIONS}
    if settings["maker"] == "AIM":
        make = partial(AIMPipeline, max_model_size=MEGABYTES)
        options["rounds"] = MEASUREMENTS * n_attributes
    return make(
        epsilon=settings["epsilon"], delta=settings["delta"], n_jobs=1, disable_processing=True, gen_kwargs=options
    )


def edges(settings: dict[str, Any], name: str) -> Any:
    """Return the ends of the public bins of a number, or of the target."""
    low, high = settings["target_range"] if name == TARGET else settings["bounds"][name]
    return np.array([low, *settings["cuts"]["" if name == TARGET else name], high])


def coded(arrays: dict[str, Any], settings: dict[str, Any]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return records as codes, and the public number of codes; a missing category is one more."""
    codes, sizes = {}, {}
    for name in [*settings["names"], TARGET]:
        values = arrays["y"] if name == TARGET else arrays[f"column {name}"]
        if name in settings["bounds"] or (name == TARGET and "target_range" in settings):
            ends = edges(settings, name)
            codes[name], sizes[name] = np.searchsorted(ends[1:-1], values.astype(np.float64)), len(ends) - 1
        elif name == TARGET:
            codes[name], sizes[name] = (values == settings["classes"][1]).astype(np.int64), 2
        else:
            known = {value: code for code, value in enumerate(settings["categories"][name])}
            codes[name] = np.array([known.get(value, len(known)) for value in values.astype(str)])
            sizes[name] = len(known) + 1
    return pd.DataFrame(codes), sizes


def decoded(codes: pd.DataFrame, settings: dict[str, Any]) -> tuple[Any, Any]:
    """Return the matrix of dummies and the target of codes: a number is the middle of its bin."""
    columns: dict[str, Any] = {}
    for name in codes:
        values = codes[name].to_numpy().astype(np.int64)
        if name in settings["bounds"] or (name == TARGET and "target_range" in settings):
            ends = edges(settings, name)
            columns[f"column {name}"] = ((ends[:-1] + ends[1:]) / 2)[values]
        else:
            known = [False, True] if name == TARGET else [*settings["categories"][name], "?"]
            columns[f"column {name}"] = np.array(known)[values]
    return dummies(columns, settings), columns[f"column {TARGET}"]


def synthesized(
    codes: pd.DataFrame, sizes: dict[str, int], settings: dict[str, Any], seed: int | None = None
) -> tuple[pd.DataFrame, Any]:
    """Return as many synthetic records as there are, and the seconds that they took; None draws a seed."""
    dpmm.models.mst.FactoredInference = inference(ITERATIONS)
    dpmm.models.aim.FactoredInference = inference(ITERATIONS_OF_A_ROUND)
    maker = pipeline(settings, len(sizes))
    with stopwatch() as seconds:
        maker.fit(codes.reset_index(drop=True), sizes, random_state=seed)
        records = maker.generate(n_records=len(codes), random_state=seed)
    return records[list(codes)], seconds


def synthetic(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of an ordinary model to synthetic records; its seconds are those of both steps."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    codes, sizes = coded(arrays, settings)
    # Test records are cut alike, so that a threshold between two bins is the public cut point.
    Z, _ = decoded(codes, settings)
    y = arrays["y"]
    classes = "classes" in settings
    first, second, options = MODELS[settings["model"]]

    def work(seed: int) -> Done:
        train, test = split(len(y), seed)
        key = (settings["maker"], *settings["names"], settings["epsilon"], seed)
        if key not in made:
            made[key] = synthesized(codes.iloc[train], sizes, settings)
        records, seconds = made[key]
        X, target = decoded(records, settings)
        # Of synthetic records of one class alone no model can be fitted but the constant.
        model = (first(**options) if target.any() != target.all() else DummyClassifier()) if classes else None
        model = model or second(**options)
        with stopwatch() as own:
            model.fit(X, target)
        both = [one + other for one, other in zip(seconds, own, strict=True)]
        if not classes:
            return both, of_numbers(y[test], model.predict(Z[test]))
        chances = model.predict_proba(Z[test])[:, -1] if target.any() else np.zeros(len(test))
        return both, of_classes(y[test] == settings["classes"][1], chances > 0.5, chances)

    return work


WORKS = {"synthetic": synthetic}
