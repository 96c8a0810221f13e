"""The gap attack: a record that is classified correctly is called a member."""

from __future__ import annotations

import importlib
import math

import numpy as np
from scipy.stats import mannwhitneyu
from sklearn.ensemble import HistGradientBoostingClassifier

from glassine.attacks.membership.confidence_intervals import Estimate, check_confidence, newcombe
from glassine.attacks.membership.outputs import Answers, LabelledRecords, answers, attempt, generator, in_classes_of
from glassine.attacks.membership.result import SHIFT_LEVEL, MembershipResult, Shift
from glassine.attacks.membership.score_thresholds import Setting, judge_calls
from glassine.attacks.outcome import Measured, NotApplicable, Outcome
from glassine.data.labels import Sample
from glassine.data.person_counts import refuse_shared
from glassine.errors import InvalidParameterError, parameter
from glassine.records.arrays import AnyArray, Array, Indices
from glassine.records.cells import ANY_NUMBER, Flag


def gap_attack(
    model: object,
    members: Sample | LabelledRecords,
    nonmembers: Sample | LabelledRecords,
    *,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    shift: Shift | None = None,
) -> Outcome[MembershipResult]:
    """Call a record a member if the model classifies it correctly; a person, if it does so for all their records.

    Its advantage is the gap between training and test accuracy: what any attack that does not beat it could have
    known without looking further. It has no threshold to choose and draws nothing at random.

    Parameters
    ----------
    model : fitted classifier, DecisionTree or RuleList
        The model under attack.
    members, nonmembers : Sample
        Training records, and records that were not used for training, with their classes, which the model knows.
    confidence : float, default=0.95
        Confidence of the intervals, in (0, 1).
    random_state : int, numpy.random.Generator or None, default=None
        Not used; all membership attacks take it.
    shift : Shift, optional
        Of :func:`~glassine.attacks.holdout_shift`, for the verdict.

    Returns
    -------
    Measured of MembershipResult, NotApplicable or Failed
        Not applicable to a regression; failed where the model raises an error.

    Raises
    ------
    InvalidDataError
        If the data are empty, lack a column, or hold a class that the model does not know.
    InvalidParameterError
        If the confidence lies outside its range.

    References
    ----------
    Yeom et al.: Privacy risk in machine learning: analyzing the connection to overfitting, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_in, X_out, y_in, y_out = train_test_split(X, y, test_size=0.3, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X_in, y_in)
    >>> result = gap_attack(tree, Sample(X_in, y_in), Sample(X_out, y_out)).value
    >>> result.tpr.value, round(result.fpr.value, 3), round(result.advantage.value, 3)
    (1.0, 0.912, 0.088)
    """
    setting = setting_of(confidence, random_state, shift)
    inside, outside = read_sides(members, nonmembers)

    def work() -> MembershipResult:
        of_members, others = answered(model, inside, outside)
        return judge_calls(
            "gap attack",
            of_members.recognized,
            others.recognized,
            setting,
            decision="a record that is classified correctly is called a member"
            if inside.persons is None
            else "a person all of whose records are classified correctly is called a member",
        )

    return attempt(work)


def answered(model: object, inside: LabelledRecords, outside: LabelledRecords) -> tuple[Answers, Answers]:
    """Return what a model answers on members and on non-members, whose classes it must know; it is asked once."""
    for records, side in zip((inside, outside), known_sides(model, inside, outside), strict=True):
        if records.answered.get(id(model), (None,))[0] is not model:
            records.answered[id(model)] = model, answers(model, side)
    return inside.answered[id(model)][1], outside.answered[id(model)][1]


def known_sides(
    model: object, inside: LabelledRecords, outside: LabelledRecords
) -> tuple[LabelledRecords, LabelledRecords]:
    """Return members and non-members with columns and classes as the model has them."""
    return in_classes_of(model, inside, "members"), in_classes_of(model, outside, "non-members")


def gap_figure(members: Answers, nonmembers: Answers, confidence: float) -> Estimate:
    """Return the balanced accuracy of the gap attack: the naive baseline of every richer attack."""
    hits = int(members.recognized.sum()), int(nonmembers.recognized.sum())
    return newcombe(hits[0], members.number, hits[1], nonmembers.number, confidence).scaled(0.5, 0.5)


def read_sides(
    members: Sample | LabelledRecords, nonmembers: Sample | LabelledRecords
) -> tuple[LabelledRecords, LabelledRecords]:
    """Return members and non-members, with the same columns; people have records on one side alone."""
    if isinstance(members, Sample) and isinstance(nonmembers, Sample):
        nonmembers = nonmembers.completed(members)
    inside, outside = LabelledRecords.read(members, "members"), LabelledRecords.read(nonmembers, "non-members")
    if (inside.persons is None) != (outside.persons is None):
        raise InvalidParameterError(
            f"{parameter('persons')} must be stated of members and of non-members, or of neither.", remedy="State both."
        )
    refuse_shared(inside.persons, outside.persons)
    return inside, outside.like(inside)


def setting_of(confidence: float, random_state: int | np.random.Generator | None, shift: Shift | None) -> Setting:
    """Return what an attack shares with others, checked."""
    return Setting(confidence=check_confidence(confidence), rng=generator(random_state), shift=shift)


# Whether members and holdout differ already without the model: a classifier two-sample test.


MAX_RECORDS = 10_000
"""Records of each side that an attack uses at most which asks a model many times about each."""

SHIFT_RECORDS = 5_000
"""Records of each side that the test of shift uses at most: they show an area above 0.52, and less matters little."""


MOST_BINS = 255
"""Bins of a column: as many as the booster has."""


def holdout_shift(
    members: Sample | LabelledRecords,
    nonmembers: Sample | LabelledRecords,
    *,
    random_state: int | np.random.Generator | None = None,
) -> Outcome[Shift]:
    """Test whether members and non-members differ without the model.

    A membership attack on a holdout that was drawn elsewhere, or later, measures the difference of the two samples and
    calls it leakage. Here a gradient boosting classifier learns from one half of the records, attributes and classes,
    to distinguish the sides, and is judged on the other half by the rank-sum test; then the halves change places. Twice
    the smaller p-value holds for any classifier. An area far below 0.5 is a sign that records stand
    on both sides.

    Parameters
    ----------
    members, nonmembers : Sample
        Members and non-members, at least eight each, with their classes.
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
    >>> members = Sample(X[:300], y[:300])
    >>> holdout_shift(members, Sample(X[300:], y[300:]), random_state=0).value.shifted
    False
    >>> holdout_shift(members, Sample(X[300:] + 1, y[300:]), random_state=0).value.shifted
    True
    """
    rng = generator(random_state)
    inside, outside = read_sides(members, nonmembers)
    if min(inside.number, outside.number) < 8:
        return NotApplicable("a test of shift needs at least eight members and eight non-members.")
    sides = inside, outside
    inside, outside = (some_of(side, rng, SHIFT_RECORDS) for side in sides)
    drawn = [f"{part.number:,} of {side.number:,}" for part, side in zip((inside, outside), sides, strict=True)]
    part = inside.number < sides[0].number or outside.number < sides[1].number
    both = inside.join(outside)
    features, whose = _features(both), both.whose
    # All records of a person fall into one half, and a person is judged by the mean score of their records.
    member = np.repeat([1, 0], [inside.number, outside.number])
    half = np.zeros(len(member), dtype=bool)
    for side in (0, 1):
        rows = rng.permutation(np.flatnonzero(member == side))
        half[rows[: len(rows) // 2]] = True
    areas, p_values, calls = [], [], np.zeros(len(member), dtype=bool)
    for trained in (half, ~half):
        rows, others = trained[whose], ~trained[whose]
        scores = _scores(features[rows], member[whose[rows]], features[others], rng)
        number = np.bincount(whose[others], minlength=len(member))
        scores = (np.bincount(whose[others], weights=scores, minlength=len(member)) / np.maximum(number, 1))[~trained]
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
            n_members=inside.number,
            n_nonmembers=outside.number,
            method="gradient boosting on attributes and class, two halves, two-sided rank-sum test"
            + (f", of {drawn[0]} members and {drawn[1]} non-members, drawn at random" if part else ""),
        )
    )


def some_of(side: LabelledRecords, rng: np.random.Generator, most: int | None = None) -> LabelledRecords:
    """Return a side's records, or those of as many people drawn at random as are used at most."""
    n, most = side.number, MAX_RECORDS if most is None else most
    return side if n <= most else side.take(side.of(np.sort(rng.choice(n, most, replace=False))))


def _features(records: LabelledRecords) -> Array:
    """Return attributes, class and the person's number of records as numbers; gaps are NaN."""
    width = records.width
    columns = records.columns(records.names or tuple(f"x{i}" for i in range(width)))
    # How many records a person has may differ between the sides without the model, too.
    own = () if records.persons is None else (records.persons.records,)
    return np.column_stack([part for column in (*columns.values(), records.target, *own) for part in _numbers(column)])


def _numbers(column: AnyArray) -> list[Array]:
    """Return a column as numbers, and what is no number by its rank, each (n,): both if it holds both."""
    if column.dtype.kind in "biuf":
        return [column.astype(float)]
    numbers, flags = ANY_NUMBER.column(column)
    words = flags == Flag.UNDECLARED
    if not words.any():
        return [numbers]
    ranks = np.full(len(column), np.nan)
    # Of what is neither text nor number, no method is called.
    texts = [str.__str__(value) if issubclass(type(value), str) else "" for value in column[words].tolist()]
    ranks[words] = np.unique(np.array(texts), return_inverse=True)[1]
    return [ranks] if np.isnan(numbers).all() else [numbers, ranks]


def _scores(X: Array, member: Indices, others: Array, rng: np.random.Generator) -> Array:
    booster = HistGradientBoostingClassifier(
        max_iter=25,
        learning_rate=0.2,
        max_leaf_nodes=15,
        min_samples_leaf=max(2, min(20, len(X) // 10)),
        early_stopping=False,
        class_weight="balanced",
        random_state=int(rng.integers(2**31)),
    )
    # A column without a value in this part of the records has no bins.
    valued = ~np.isnan(X).all(axis=0)
    X, others = X[:, valued], others[:, valued]
    finite = _binned(
        np.where(np.isinf(X), np.sign(X) * 1e300, X), np.where(np.isinf(others), np.sign(others) * 1e300, others)
    )
    # One thread: waiting for each other costs small tasks more than it saves.
    with importlib.import_module("threadpoolctl").threadpool_limits(1, user_api="openmp"):
        return np.asarray(booster.fit(finite[0], member).predict_proba(finite[1])[:, 1])


def _binned(X: Array, others: Array) -> tuple[Array, Array]:
    """Return columns of more values than the booster has bins by their bin, as it would bin them."""
    # With weights it takes five times as long to find its bins as to grow its trees.
    made, also = X.copy(), others.copy()
    for j in range(X.shape[1]):
        values = np.sort(X[:, j])[: np.count_nonzero(~np.isnan(X[:, j]))]  # what is missing comes last
        if np.count_nonzero(np.diff(values)) < MOST_BINS:
            continue
        edges = values[np.arange(1, MOST_BINS) * len(values) // MOST_BINS]
        for columns, out in ((X, made), (others, also)):
            out[:, j] = np.where(np.isnan(columns[:, j]), np.nan, np.searchsorted(edges, columns[:, j]))
    return made, also


def _rank_sum(members: Array, nonmembers: Array) -> tuple[float, float]:
    """Return the area under the ROC curve, and its p-value if both sides are the same."""
    test = mannwhitneyu(members, nonmembers, alternative="two-sided", method="asymptotic")
    area = float(test.statistic) / (len(members) * len(nonmembers))
    p_value = float(test.pvalue)
    # All scores tied: nothing distinguishes the sides.
    return area, p_value if math.isfinite(p_value) else 1.0
