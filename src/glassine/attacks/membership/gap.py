"""The gap attack: whoever is classified correctly is called a member."""

from __future__ import annotations

from typing import Any

from glassine.attacks.membership.intervals import Estimate, check_confidence, newcombe
from glassine.attacks.membership.outputs import Answers, Records, answers, attempt, generator, in_classes_of
from glassine.attacks.membership.result import MembershipResult, Shift
from glassine.attacks.membership.scoring import Setting, judge_calls
from glassine.attacks.outcome import Outcome

__all__ = ["answered", "gap_attack", "gap_figure", "known_sides", "read_sides", "setting_of"]


def gap_attack(
    model: Any,
    X_in: Any,
    y_in: Any,
    X_out: Any,
    y_out: Any,
    *,
    confidence: float = 0.95,
    random_state: Any = None,
    shift: Shift | None = None,
) -> Outcome[MembershipResult]:
    """Call a record a member if the model classifies it correctly.

    Its advantage is the gap between training and test accuracy: what any attack that does not beat it could have
    known without looking further. It has no threshold to choose and draws nothing at random.

    Parameters
    ----------
    model : fitted classifier, DecisionTree or RuleList
        The model under attack.
    X_in, X_out : data frame or array-like, shapes (m, d) and (n, d)
        Training records, and records that were not used for training.
    y_in, y_out : array-like of shapes (m,) and (n,), or str
        Their classes, or the name of the column that holds them; each must be one that the model knows.
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
    >>> result = gap_attack(tree, X_in, y_in, X_out, y_out).value
    >>> result.tpr.value, round(result.fpr.value, 3), round(result.advantage.value, 3)
    (1.0, 0.912, 0.088)
    """
    setting = setting_of(confidence, random_state, shift)
    inside, outside = read_sides(X_in, y_in, X_out, y_out)

    def work() -> MembershipResult:
        members, nonmembers = answered(model, inside, outside)
        return judge_calls(
            "gap attack",
            members.correct,
            nonmembers.correct,
            setting,
            decision="whoever is classified correctly is called a member",
        )

    return attempt(work)


def answered(model: Any, inside: Records, outside: Records) -> tuple[Answers, Answers]:
    """Return what a model answers on members and on non-members, whose classes it must know."""
    sides = known_sides(model, inside, outside)
    return answers(model, sides[0]), answers(model, sides[1])


def known_sides(model: Any, inside: Records, outside: Records) -> tuple[Records, Records]:
    """Return members and non-members with columns and classes as the model has them."""
    return in_classes_of(model, inside, "members"), in_classes_of(model, outside, "non-members")


def gap_figure(members: Answers, nonmembers: Answers, confidence: float) -> Estimate:
    """Return the balanced accuracy of the gap attack: the naive baseline of every richer attack."""
    hits = int(members.correct.sum()), int(nonmembers.correct.sum())
    return newcombe(hits[0], len(members.truth), hits[1], len(nonmembers.truth), confidence).scaled(0.5, 0.5)


def read_sides(X_in: Any, y_in: Any, X_out: Any, y_out: Any) -> tuple[Records, Records]:
    """Return members and non-members, with the same columns."""
    inside = Records.read(X_in, y_in, "members")
    return inside, Records.read(X_out, y_out, "non-members").like(inside)


def setting_of(confidence: float, random_state: Any, shift: Shift | None) -> Setting:
    """Return what an attack shares with others, checked."""
    return Setting(confidence=check_confidence(confidence), rng=generator(random_state), shift=shift)
