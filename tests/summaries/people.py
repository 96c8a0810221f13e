"""Records whose attributes depend on each other and on the class, and a summary of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl

from glassine import Category, Domain, Integer
from glassine.learners import PrivateSummary

DOMAIN = Domain(
    {
        "age": Integer(0, 99),
        "job": Category(("clerk", "baker", "judge"), missing=True),
        "grade": Integer(0, 9, missing=True),
        "noise": Integer(0, 4),
    }
)


RANGE = (-20.0, 60.0)
"""Public range of the target where it is a number: some records lie outside."""


def people(n: int = 4000, classes: int | None = 2, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """Return records whose grade follows the age, and whose class, or number, follows age and job together."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, n)
    job = rng.integers(0, 4, n)
    grade = np.clip(age // 10 + rng.integers(-1, 2, n), 0, 9).astype(float)
    grade[rng.random(n) < 0.05] = np.nan
    if classes is None:
        y = 0.3 * age + 20 * (job == 2) + rng.normal(0, 5, n)
        y[:3] = 1e6, -1e6, np.nan
    else:
        y = np.clip((age > 60).astype(int) + (job == 2) * (rng.random(n) < 0.9), 0, classes - 1)
        y = np.where(rng.random(n) < 0.05, rng.integers(0, classes, n), y)
    frame = pl.DataFrame(
        {
            "age": age,
            "job": np.array(["clerk", "baker", "judge", None], dtype=object)[job].tolist(),
            "grade": pl.Series(grade).fill_nan(None).cast(pl.Int64),
            "noise": rng.integers(0, 5, n),
        }
    )
    return frame, y


@cache
def summary(epsilon: float = 4.0, classes: int | None = 2) -> Any:
    """Return a fitted summary of classes, or of a number, made once."""
    frame, y = people(classes=classes)
    target: dict[str, Any] = {"target_range": RANGE} if classes is None else {"classes": tuple(range(classes))}
    learner = PrivateSummary(epsilon=epsilon, domain=DOMAIN, **target, random_state=0)
    return learner.fit(frame, y)
