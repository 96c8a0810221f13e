"""Data, domains and black boxes that the tests of surrogates share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain import Binary, Category, Domain, Integer, Real


def numbers(n: int = 400, d: int = 3, seed: int = 0) -> npt.NDArray[np.float64]:
    """Return standard normal records."""
    return np.random.default_rng(seed).normal(size=(n, d))


def ring(X: Any) -> npt.NDArray[Any]:
    """Decide by the distance from the origin, which no small tree says exactly."""
    X = np.asarray(X, dtype=float)
    return np.where((X[:, :2] ** 2).sum(axis=1) > 1.5, "far", "near")


PEOPLE = Domain(
    {"age": Integer(18, 90), "income": Real(0.0, 100.0, 0.1), "job": Category(("a", "b", "c")), "smoker": Binary()}
)


def people(n: int = 400, seed: int = 0) -> dict[str, npt.NDArray[Any]]:
    """Return mixed records of :data:`PEOPLE`."""
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(18, 91, n),
        "income": rng.integers(0, 1001, n) / 10,
        "job": rng.choice(["a", "b", "c"], n),
        "smoker": rng.integers(0, 2, n),
    }


def lender(X: Any) -> npt.NDArray[Any]:
    """Decide one of three ways on records of :data:`PEOPLE`, in a frame of any library."""
    age, income, job = (np.asarray(X[name]) for name in ("age", "income", "job"))
    return np.where((income > 50) & (job != "a"), "yes", np.where(age > 60, "maybe", "no"))
