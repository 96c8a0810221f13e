"""The black-box attack: a classifier that learns what a model's answers on members look like."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import ks_2samp
from sklearn import config_context
from sklearn.base import is_classifier, is_regressor
from sklearn.tree import DecisionTreeRegressor

from glassine.attacks.membership.gap import answered, gap_figure, read_sides, setting_of
from glassine.attacks.membership.outputs import (
    Answers,
    LabelledRecords,
    UnansweredError,
    as_fitted,
    asking,
    attempt,
    published,
)
from glassine.attacks.membership.result import LossComparison, MembershipResult, Shift
from glassine.attacks.membership.score_thresholds import judge_calls, judge_scores
from glassine.attacks.outcome import NotApplicable, Outcome
from glassine.data.labels import Sample
from glassine.errors import InvalidDataError, InvalidParameterError, UnsupportedModelError, parameter
from glassine.models import AdditiveModel, RegressionModel, TreeEnsemble
from glassine.records.arrays import Array, Indices


def predicts_number(model: object) -> bool:
    """Return whether a published model, or a fitted estimator, predicts numbers.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    >>> predicts_number(DecisionTreeRegressor()), predicts_number(DecisionTreeClassifier())
    (True, False)
    """
    if isinstance(model, AdditiveModel | RegressionModel | TreeEnsemble):
        return model.classes is None
    if (kind := _kind(model)) is not None:
        return kind == "regressor"
    try:
        plain = published(model)
    except UnsupportedModelError:
        return False
    return plain is not None and plain.classes is None


def _kind(model: object) -> str | None:
    try:
        return "regressor" if is_regressor(model) else "classifier" if is_classifier(model) else None
    except (AttributeError, TypeError):  # scikit-learn asks for tags that other objects lack
        return None


def errors_of(model: object, records: LabelledRecords) -> Array:
    """Return a model's absolute error on each record, the mean over those of a person, shape (number,)."""
    try:
        truth = records.target.astype(float)
    except (TypeError, ValueError):
        raise InvalidDataError(
            "the model predicts a number, and the target of the records holds none.", remedy="Give their numbers."
        ) from None
    answered = _answers(model, records)
    if answered.size != len(truth) or not np.isfinite(answered).all():
        raise UnansweredError(f"{type(model).__name__} does not answer with one finite number for each record.")
    return records.mean(np.abs(answered.reshape(-1) - truth))


def _answers(model: Any, records: LabelledRecords) -> Array:
    """Return the numbers that a model predicts."""
    plain = (
        model
        if isinstance(model, AdditiveModel | RegressionModel)
        or (isinstance(model, TreeEnsemble) and model.estimator is None)
        else None
        if isinstance(model, TreeEnsemble) or _kind(model) == "regressor"
        else published(model)
    )
    inputs = as_fitted(model, records.native) if plain is None else records.columns(tuple(plain.attributes))
    with asking(type(model).__name__):
        return np.asarray((model if plain is None else plain).predict(inputs), dtype=float)


# The loss attack: a small loss makes a member.


def loss_attack(
    model: object,
    members: Sample | LabelledRecords,
    nonmembers: Sample | LabelledRecords,
    *,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    shift: Shift | None = None,
) -> Outcome[MembershipResult]:
    """Call a record a member if the model's loss on it lies below a threshold.

    The literature chooses the threshold on the records on which the attack is judged: that is ``best``, an upper bound
    on what a threshold can reach. The figures and their intervals are those of a cross-fitted threshold, which an
    attacker who knows the membership of some records has. Cross-entropy and probability of the class order the records
    in the same way, so one attack stands for both. The loss of a model of numbers is its absolute error, which orders
    records as the squared error does.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, fitted regressor, DecisionTree, RuleList or AdditiveModel
        The model under attack.
    members, nonmembers : Sample
        Training records, and records that were not used for training, with their classes or numbers.
    random_state : int, numpy.random.Generator or None, default=None
        Makes folds and permutations repeatable.
    confidence, shift
        As for :func:`~glassine.attacks.gap_attack`.

    Returns
    -------
    Measured of MembershipResult, NotApplicable or Failed
        Not applicable where the model gives no probabilities.

    Raises
    ------
    InvalidDataError, InvalidParameterError
        As for :func:`~glassine.attacks.gap_attack`.

    References
    ----------
    Yeom et al., 2018; Carlini et al.: Membership inference attacks from first principles, 2022.
    """
    setting = setting_of(confidence, random_state, shift)
    inside, outside = read_sides(members, nonmembers)

    def work() -> MembershipResult:
        of_members, others, sides = _fits(model, inside, outside)
        gap = None if sides is None else gap_figure(*sides, setting.confidence)
        return judge_scores("best-loss threshold", of_members, others, setting, gap=gap)

    return attempt(work)


def _fits(
    model: object, inside: LabelledRecords, outside: LabelledRecords
) -> tuple[Array, Array, tuple[Answers, Answers] | None]:
    """Return how well a model fits members and non-members, and what it answers where it predicts classes."""
    # The logarithm of the odds of the true class falls as the loss rises, and so does the error of a number with its
    # sign turned: thresholds and tests see the order alone.
    if predicts_number(model):
        return -errors_of(model, inside), -errors_of(model, outside), None
    sides = answered(model, inside, outside)
    for side in sides:
        if side.probabilities is None:
            raise UnsupportedModelError(f"{side.lacking}, so it has no loss.", remedy="Use the gap attack.")
    of_members, others = (side.mean(side.confidence) for side in sides)
    return of_members, others, sides


MOST_EXACT = 1000
"""Records of a side up to which the test's p-value is exact; beyond, its limit differs in the third digit at most."""


def compare_losses(
    model: object, members: Sample | LabelledRecords, nonmembers: Sample | LabelledRecords
) -> Outcome[LossComparison]:
    """Compare the losses of members and of non-members: the generalization gap as output checkers test it.

    Persons have the mean over their records. With many records the test finds gaps that no attack can use: the
    advantage says how much an attacker gains.

    References
    ----------
    Kolmogorov, 1933; Smirnov, 1948. SACRO-ML rejects below p = 0.05.
    """
    inside, outside = read_sides(members, nonmembers)

    def work() -> LossComparison:
        of_members, others, _ = _fits(model, inside, outside)
        exact = max(len(of_members), len(others)) <= MOST_EXACT
        test = ks_2samp(of_members, others, method="exact" if exact else "asymp")
        return LossComparison(statistic=float(test.statistic), p_value=float(test.pvalue))

    return attempt(work)


def black_box_attack(
    model: object,
    members: Sample | LabelledRecords,
    nonmembers: Sample | LabelledRecords,
    *,
    train_share: float = 0.5,
    n_estimators: int = 100,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    shift: Shift | None = None,
) -> Outcome[MembershipResult]:
    """Train a random forest to distinguish members from non-members by the model's answers.

    Some members and non-members train the attack, the others judge it (Figure 5 of Ly et al.). The forest sees the
    probabilities, or the predicted class where there are none, the true class, whether they agree, and the loss.
    Members and non-members get the same weight, and a record that is more likely a member than not is flagged, so that
    no threshold is chosen on the records that judge the attack.

    Parameters
    ----------
    model : fitted classifier, DecisionTree or RuleList
        The model under attack.
    members, nonmembers : Sample
        Training records, and records that were not used for training; at least four each, with their classes.
    train_share : float, default=0.5
        Share of the members, and of the non-members, that train the attack, in (0, 1).
    n_estimators : int, default=100
        Number of trees.
    random_state : int, numpy.random.Generator or None, default=None
        Makes the split and the forest repeatable.
    confidence, shift
        As for :func:`~glassine.attacks.gap_attack`.

    Returns
    -------
    Measured of MembershipResult, NotApplicable or Failed
        Not applicable with fewer than four members or non-members.

    Raises
    ------
    InvalidDataError, InvalidParameterError
        As for :func:`~glassine.attacks.gap_attack`.

    References
    ----------
    Shokri et al., 2017; Ly et al.: Smooth sensitivity for learning differentially-private yet accurate rule lists,
    2024, appendix C.
    """
    setting = setting_of(confidence, random_state, shift)
    if not 0 < train_share < 1:
        raise InvalidParameterError(
            f"{parameter('train_share')} must lie strictly between 0 and 1, got {train_share!r}.", remedy="Use 0.5."
        )
    inside, outside = read_sides(members, nonmembers)
    if min(inside.number, outside.number) < 4:
        return NotApplicable("an attack model needs at least four members and four non-members.")

    def work() -> MembershipResult:
        sides = answered(model, inside, outside)
        parts = [_split(side, train_share, setting.rng) for side in (inside, outside)]
        trained, tested = ([side.take(part[i]) for side, part in zip(sides, parts, strict=True)] for i in (0, 1))
        n = [len(side.truth) for side in (*trained, *tested)]
        rows, places = distinct_rows(np.vstack([_features(side) for side in (*trained, *tested)]))
        of_members, of_others, *judged = np.split(places, np.cumsum(n)[:-1])
        counts = np.array([np.bincount(part, minlength=len(rows)) for part in (of_members, of_others)])
        chance = forest_chances(rows, counts, n_estimators, setting.rng)
        scores = [side.mean(chance[part]) for side, part in zip(tested, judged, strict=True)]
        return judge_calls(
            "black-box attack",
            scores[0] > 0.5,
            scores[1] > 0.5,
            setting,
            decision="more likely a member than not, according to the attack model trained on other records",
            scores=(scores[0], scores[1]),
            gap=gap_figure(tested[0], tested[1], setting.confidence),
        )

    return attempt(work)


def _split(side: LabelledRecords, share: float, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Return the rows that train and those that judge: all records of a person are on one side."""
    order = rng.permutation(side.number)
    cut = min(max(round(share * side.number), 1), side.number - 1)
    return side.of(order[:cut]), side.of(order[cut:])


def distinct_rows(table: Array) -> tuple[Array, Indices]:
    """Return the distinct rows of a table and the place of each row among them: a tree gives few answers.

    Examples
    --------
    >>> rows, places = distinct_rows(np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 1.0]]))
    >>> rows[places].tolist()
    [[0.0, 1.0], [2.0, 1.0], [0.0, 1.0]]
    """
    # Equal rows have equal sums of weighted columns, which sort faster than rows; unequal rows hardly ever.
    marks, rng = np.zeros(len(table)), np.random.default_rng(0)
    for column in table.T:
        marks += rng.uniform(1.0, 2.0) * column
    _, first, places = np.unique(marks, return_index=True, return_inverse=True)
    if (table[first][places] == table).all():
        return table[first], places
    rows, places = np.unique(table, axis=0, return_inverse=True)
    return rows, places.reshape(-1)


def forest_chances(rows: Array, counts: Indices, n_estimators: int, rng: np.random.Generator) -> Array:
    """Return the chance of each distinct answer that it is a member's, by a random forest, shape (k,).

    ``counts``, shape (2, k), says how many members and others gave each of the answers, ``rows``, shape (k, columns).
    This is scikit-learn's forest with balanced classes: of equal records, a bootstrap sample holds a
    multinomial number, so that its trees need the distinct answers alone. The variance of two classes is half their
    Gini impurity, so that trees of a number split as trees of classes do; they ask less of their input.
    """
    kind, place = np.nonzero(counts)
    share = counts[kind, place] / (2 * counts.sum(axis=1)[kind])
    # Single precision is what the trees take. Checked once, and not for each of a hundred trees of few rows.
    answers = np.ascontiguousarray(rows, dtype=np.float32)
    table, member, chances = answers[place], (1.0 - kind)[:, None], np.zeros(len(rows))
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for _ in range(n_estimators):
            tree = DecisionTreeRegressor(max_features="sqrt", random_state=int(rng.integers(2**31)))
            weights = rng.multinomial(int(counts.sum()), share).astype(np.float64)
            tree.fit(table, member, sample_weight=weights, check_input=False)
            chances += tree.predict(answers, check_input=False)
    return chances / n_estimators


def _features(side: Answers) -> Array:
    """Return what the attack model sees of each record."""
    classes = np.arange(side.n_classes)
    label = side.truth[:, None] == classes
    outputs = side.predicted[:, None] == classes if side.probabilities is None else side.probabilities
    loss = [] if side.probabilities is None else [-side.confidence[:, None]]
    return np.hstack([outputs, label, side.correct[:, None], *loss]).astype(float)
