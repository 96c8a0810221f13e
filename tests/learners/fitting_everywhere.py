"""Records and fits that must come out alike whatever library or engine holds the records."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import polars as pl

from glassine import Domain
from glassine.domain import Between, Binary, Category, Integer, OneOf, Real
from glassine.formats.json import to_dict
from glassine.learners import (
    GreedyRuleListClassifier,
    MultiwayTreeClassifier,
    OptimalRuleListClassifier,
    OptimalTreeClassifier,
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateGreedyRuleListClassifier,
    PrivateRuleListClassifier,
    PrivateSummary,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
)

DOMAIN = Domain(
    {
        "job": Category(("nurse", "baker", "judge"), missing=True),
        "age": Integer(18, 90, thresholds=(30.5, 50.5), missing=True),
        "dose": Real(0.0, 1.0, 0.1, thresholds=(0.0, 0.25, 0.5)),
        "weight": Real(40.0, 160.0),
        "town": Category(("y", "x")),
        "smoker": Binary(missing=True),
        "sick": Category(("yes", "no")),
    }
)
"""The order of categories and classes is not that of the alphabet, nor that of the data."""

GIVEN = (
    Between("age", lo=20.0, hi=40.0),
    OneOf("age", (18, 33)),
    OneOf("dose", (0.0,)),
    OneOf("job", ("judge",), missing=True),
    Between("weight", hi=70.0, negated=True),
)


WAYS = ("private tree", "private pairs", "greedy rule list", "additive model with pairs", "additive model by boosting")
"""One learner for each way of counting; every learner is fitted on every engine within one process."""


def sample(n: int = 1500) -> pl.DataFrame:
    """Return records with gaps, values outside the domain on both sides, negative zeros, and an order of its own."""
    rng = np.random.default_rng(11)
    age = rng.integers(5, 120, n)
    dose = np.round(rng.uniform(-0.5, 1.5, n), 1)
    sick = (dose > 0.4) ^ (age > 50) ^ (rng.random(n) < 0.1)
    return pl.DataFrame(
        {
            "town": rng.choice(["x", "y", "elsewhere"], n),
            "weight": rng.uniform(20, 200, n),
            "sick": np.where(sick, "yes", "no"),
            "age": pl.Series(age).replace({7: None, 70: None}),
            "dose": np.where(dose == 0.1, -0.0, dose),
            "smoker": pl.Series(rng.choice([0.0, 1.0, 2.0, np.nan], n)).replace(2.0, None),
            "job": pl.Series(rng.choice(["nurse", "judge", "pope", ""], n)).replace("", None),
        }
    )


def learners() -> dict[str, Callable[[], Any]]:
    """Return every classifier that takes lazy frames, with literals of each origin."""
    small: dict[str, Any] = {"domain": DOMAIN, "n_quantiles": 3}
    private: dict[str, Any] = {**small, "epsilon": 1.0, "random_state": 7}
    return {
        "private tree": lambda: PrivateTreeClassifier(2, **private),
        "private tree, given literals": lambda: PrivateTreeClassifier(2, literals=GIVEN, **private),
        "private rule list": lambda: PrivateRuleListClassifier(2, **private),
        "private pairs": lambda: PrivateRuleListClassifier(1, pool="pairs", literals="thresholds", **private),
        "optimal tree": lambda: OptimalTreeClassifier(2, **small),
        "optimal rule list": lambda: OptimalRuleListClassifier(2, **small),
        "greedy rule list": lambda: GreedyRuleListClassifier(3, **small),
        "private greedy rule list": lambda: PrivateGreedyRuleListClassifier(
            3, mechanism="global-laplace", min_support=0.05, **private
        ),
        "additive model": lambda: PrivateEBMClassifier(domain=DOMAIN, epsilon=1.0, random_state=7),
        "private summary": lambda: PrivateSummary(domain=DOMAIN, epsilon=1.0, random_state=7),
        "additive model with pairs": lambda: PrivateEBMClassifier(
            domain=DOMAIN, epsilon=1.0, random_state=7, interactions=2
        ),
        "additive model by boosting": lambda: PrivateEBMClassifier(
            domain=DOMAIN, epsilon=1.0, random_state=7, algorithm="boosting"
        ),
        "multiway tree": lambda: MultiwayTreeClassifier(max_depth=3, domain=DOMAIN),
    }


def regressors() -> dict[str, Callable[[], Any]]:
    """Return every learner of a number that takes lazy frames."""
    given: dict[str, Any] = {"domain": DOMAIN, "epsilon": 2.0, "random_state": 7}
    return {
        "summary of a number": lambda: PrivateSummary(**given),
        "regressor": lambda: PrivateEBMRegressor(**given),
        "regressor with pairs": lambda: PrivateEBMRegressor(interactions=2, **given),
        "regressor by boosting": lambda: PrivateEBMRegressor(algorithm="boosting", **given),
        "private tree of a number": lambda: PrivateTreeRegressor(2, n_quantiles=3, **given),
        "private tree of a number, given literals": lambda: PrivateTreeRegressor(
            2, literals=[one for one in GIVEN if one.attribute != NUMBER], **given
        ),
    }


NUMBER = "age"
"""A target with gaps, and values beyond its range."""


def model_text(model: Any) -> str:
    """Return a model as the text of its JSON."""
    return json.dumps(to_dict(model))


def fitted(make: Callable[[], Any], X: Any, y: Any = "sick") -> dict[str, Any]:
    """Return everything that a fit releases, as text."""
    estimator = make().fit(X, y)
    out = {
        "model": model_text(estimator.tree() if isinstance(estimator, PrivateSummary) else estimator.model_),
        "classes": getattr(estimator, "classes_", np.zeros(0)).tolist(),
        "domain": repr(estimator.domain_),
    }
    out["certificate"] = estimator.certificate_.to_json()
    return out


def arrays(frame: pl.DataFrame) -> tuple[Any, Any]:
    """Return the records as NumPy arrays of Python objects, attributes in the order of the domain."""
    names = [name for name in DOMAIN if name != "sick"]
    return np.array(frame.select(names).rows(), dtype=object), np.array(frame["sick"].to_list())


HERE: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "polars lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "arrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: duckdb.connect().from_arrow(frame.to_arrow()),
}
"""Libraries and engines of this process."""
