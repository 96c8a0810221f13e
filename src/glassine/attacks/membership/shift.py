"""Whether members and holdout differ already without the model: a classifier two-sample test."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.gap import read_sides
from glassine.attacks.membership.outputs import Records, generator
from glassine.attacks.membership.result import SHIFT_LEVEL, Shift
from glassine.attacks.outcome import Measured, NotApplicable, Outcome
from glassine.domain.literals import is_missing

__all__ = ["holdout_shift"]

MAX_RECORDS = 20_000
"""Records of each side that are used at most: more make the test finer than matters, and slower."""

Floats = npt.NDArray[np.float64]


def holdout_shift(X_in: Any, y_in: Any, X_out: Any, y_out: Any, *, random_state: Any = None) -> Outcome[Shift]:
    """Test whether members and non-members differ without the model.

    A membership attack on a holdout that was drawn elsewhere, or later, measures the difference of the two samples and
    calls it leakage. Here a gradient boosting classifier learns from one half of the records, attributes and classes,
    to tell the sides apart, and is judged on the other half by the rank-sum test; then the halves change places. Twice
    the smaller p-value holds whatever the classifier is. An area far below 0.5 is a sign that records stand
    on both sides.

    Parameters
    ----------
    X_in, X_out : data frame or array-like, shapes (m, d) and (n, d)
        Members and non-members, at least eight each.
    y_in, y_out : array-like of shapes (m,) and (n,), or str
        Their classes, or the name of the column that holds them.
    random_state : int, numpy.random.Generator or None, default=None
        Makes the halves repeatable.

    Returns
    -------
    Measured of Shift, or NotApplicable
        The latter with fewer than eight members or non-members.

    Raises
    ------
    InvalidDataError
        If the data are empty or lack a column.

    References
    ----------
    Lopez-Paz, Oquab: Revisiting classifier two-sample tests, 2017.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(600, 2)), rng.integers(0, 2, 600)
    >>> holdout_shift(X[:300], y[:300], X[300:], y[300:], random_state=0).value.shifted
    False
    >>> holdout_shift(X[:300], y[:300], X[300:] + 1, y[300:], random_state=0).value.shifted
    True
    """
    rng = generator(random_state)
    inside, outside = read_sides(X_in, y_in, X_out, y_out)
    if min(len(inside.target), len(outside.target)) < 8:
        return NotApplicable("a test of shift needs at least eight members and eight non-members.")
    inside, outside = (_sample(side, rng) for side in (inside, outside))
    features = _features(inside.join(outside))
    member = np.repeat([1, 0], [len(inside.target), len(outside.target)])
    half = np.zeros(len(member), dtype=bool)
    for side in (0, 1):
        rows = rng.permutation(np.flatnonzero(member == side))
        half[rows[: len(rows) // 2]] = True
    areas, p_values, calls = [], [], np.zeros(len(member), dtype=bool)
    for trained in (half, ~half):
        scores = _scores(features[trained], member[trained], features[~trained], rng)
        tested = member[~trained]
        area, p_value = _rank_sum(scores[tested == 1], scores[tested == 0])
        areas.append(area)
        p_values.append(p_value)
        calls[~trained] = scores > 0.5
    p_value, auc = min(1.0, 2 * min(p_values)), float(np.mean(areas))
    return Measured(
        Shift(
            auc=auc,
            balanced_accuracy=float((calls[member == 1].mean() + 1 - calls[member == 0].mean()) / 2),
            p_value=p_value,
            shifted=p_value < SHIFT_LEVEL and auc > 0.5,
            n_members=len(inside.target),
            n_nonmembers=len(outside.target),
            method="gradient boosting on attributes and class, two halves, two-sided rank-sum test",
        )
    )


def _sample(side: Records, rng: np.random.Generator) -> Records:
    n = len(side.target)
    return side if n <= MAX_RECORDS else side.take(np.sort(rng.choice(n, MAX_RECORDS, replace=False)))


def _features(records: Records) -> Floats:
    """Return attributes and class as numbers: texts by their rank, gaps as NaN."""
    width = records.width
    given = records.columns(records.names or tuple(f"x{i}" for i in range(width)))
    return np.column_stack([_numbers(column) for column in (*given.values(), records.target)])


def _numbers(column: npt.NDArray[Any]) -> Floats:
    if column.dtype.kind in "biuf":
        return column.astype(float)
    gaps = is_missing(column)
    try:
        return np.where(gaps, np.nan, np.where(gaps, 0, column).astype(float))
    except (TypeError, ValueError):
        texts = np.array([str(value) for value in column.tolist()])
        ranks = np.unique(texts, return_inverse=True)[1].astype(float)
        return np.where(gaps, np.nan, ranks)


def _scores(X: Floats, member: npt.NDArray[np.intp], others: Floats, rng: np.random.Generator) -> Floats:
    from sklearn.ensemble import HistGradientBoostingClassifier

    booster = HistGradientBoostingClassifier(
        max_iter=50,
        max_leaf_nodes=15,
        min_samples_leaf=max(2, min(20, len(X) // 10)),
        early_stopping=False,
        class_weight="balanced",
        random_state=int(rng.integers(2**31)),
    )
    finite = np.where(np.isinf(X), np.sign(X) * 1e300, X), np.where(np.isinf(others), np.sign(others) * 1e300, others)
    # One thread: waiting for each other costs small tasks more than it saves.
    with importlib.import_module("threadpoolctl").threadpool_limits(1, user_api="openmp"):
        return np.asarray(booster.fit(finite[0], member).predict_proba(finite[1])[:, 1])


def _rank_sum(members: Floats, nonmembers: Floats) -> tuple[float, float]:
    """Return the area under the ROC curve, and the chance of one as far from 0.5 if both sides are alike."""
    from scipy.stats import mannwhitneyu

    test = mannwhitneyu(members, nonmembers, alternative="two-sided", method="asymptotic")
    area = float(test.statistic) / (len(members) * len(nonmembers))
    p_value = float(test.pvalue)
    # All scores tied: nothing tells the sides apart.
    return area, p_value if math.isfinite(p_value) else 1.0
