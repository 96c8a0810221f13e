"""Whether the records beside a regression or an ensemble are those of training: by their number, and its equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glassine.auditing.following import Fitted, on_records
from glassine.data.record_table import RecordTable
from glassine.errors import InvalidModelError
from glassine.models import AdditiveModel, TreeEnsemble
from glassine.models.regression import RegressionModel
from glassine.models.score_equations import agreement
from glassine.records.arrays import AnyArray, Array, Indices

MISSED = (
    "The data is not the training data, or the fit had weights or a penalty that its file does not state: sums over "
    "the training records that follow from its coefficients are others in the data."
)
OTHER_NUMBER = "The data is not the training data: the regression was fitted on another number of records."
TOO_FEW = "The data is not the training data: leaves were made from more records than reach them."
FROM_DATA = "The number of training records was taken from the data and is not confirmed: {why}"
UNPUBLISHED = "the file does not say it."
NO_OUTCOME = "the file does not say it, and the data have no outcomes that could be compared with what it predicts."
REPEATED = "the file does not say it, and each record stands there several times."
NOT_CLOSE = (
    "the file does not say it, and the data do not meet the sums that follow from the coefficients as closely as "
    "training records do."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of records beside a model: at most one of both is said."""

    mismatch: str = ""  # Why they are not the training records
    unconfirmed: str = ""  # Why they may be others, where nothing published says how many there are


def beside_regression(model: RegressionModel, fitted: Fitted | None, outcome: AnyArray | None) -> Standing:
    """Return whether records are those that a regression was fitted on.

    Parameters
    ----------
    model : RegressionModel
        The regression, with what is stated of it.
    fitted : Fitted or None
        The regression beside the records; None without any.
    outcome : ndarray of shape (n,), optional
        Their outcomes, of all records without a gap; None where they are not given.
    """
    if fitted is None:
        return Standing()
    if model.fit.n_records not in (None, len(fitted.design)) and model.effects:
        return Standing(mismatch=OTHER_NUMBER)
    return of_sample(model, fitted.design, outcome)


def beside_joint(model: AdditiveModel, table: RecordTable | None, target: str | None, n: int | None) -> Standing:
    """Return whether records are those that a regression of categories alone was fitted on.

    Parameters
    ----------
    model : AdditiveModel
        The regression, as scores that were fitted together.
    table : RecordTable or None
        The records; None without any.
    target : str or None
        Name of their outcomes.
    n : int or None
        Number of training records that is stated.
    """
    if table is None:
        return Standing()
    if n is not None:
        return Standing(mismatch=OTHER_NUMBER if n != len(table) else "")
    try:
        regression = model.to_linear()
    except InvalidModelError:
        return Standing(unconfirmed=FROM_DATA.format(why=UNPUBLISHED))
    fitted = on_records(regression, table, target)
    outcome = table.arrays[target][fitted.complete] if target in table.arrays else None
    return of_sample(regression, fitted.design, outcome)


def of_sample(model: RegressionModel, design: Array, outcome: AnyArray | None) -> Standing:
    """Return whether records, as many as the file says if it does, meet what the coefficients state of sums."""
    outcomes = None if outcome is None or not model.link else outcome_columns(model, outcome)
    agreed = "open" if outcomes is None else agreement(model, design, outcomes)
    if agreed == "missed":
        return Standing(mismatch=MISSED)
    if model.fit.n_records is not None or agreed == "met":
        return Standing()
    why = NO_OUTCOME if outcomes is None else REPEATED if agreed == "repeated" else NOT_CLOSE
    return Standing(unconfirmed=FROM_DATA.format(why=why))


def outcome_columns(model: RegressionModel, outcome: AnyArray) -> Array | None:
    """Return outcomes as the scores of a regression predict them, shape (n, outputs); None where they are no such ones.

    Of classes, 1 where a record is of the second of two, or of each of several.
    """
    if model.classes is None:
        try:
            numbers = np.asarray(outcome, dtype=float)
        except (TypeError, ValueError):
            return None
        return numbers[:, None]
    from glassine.attacks.membership.outputs import class_text  # its readers take a second to import

    names = [class_text(label) for label in model.classes]
    own = np.array([class_text(value) for value in np.asarray(outcome).tolist()])
    if not np.isin(own, names).all():
        return None
    return np.asarray(own[:, None] == np.array(names if model.n_outputs > 1 else names[1:])).astype(float)


def beside_ensemble(ensemble: TreeEnsemble, table: RecordTable | None, leaves: Indices | None) -> Standing:
    """Return whether records are those that an ensemble was trained on, by their number and by those of its leaves.

    ``leaves`` is the leaf of each record in each tree, shape (n, trees), where it is known.
    """
    if table is None:
        return Standing()
    if ensemble.n_records is not None and ensemble.whole and ensemble.n_records != len(table):
        other = "The data is not the training data: the ensemble was trained on another number of records."
        weights = " If they had weights, or trees were trained on samples of them, state how many there are."
        return Standing(mismatch=f"{other}{weights if ensemble.weighed else ''}")
    if leaves is not None and holds_more(ensemble, leaves):
        return Standing(mismatch=TOO_FEW)
    return Standing(unconfirmed=FROM_DATA.format(why=UNPUBLISHED) if ensemble.n_records is None else "")


def holds_more(ensemble: TreeEnsemble, leaves: Indices) -> bool:
    """Return whether leaves were made from more records than reach them, so that others are among those of training.

    Trees may be trained on a sample of the records, all of which reach its leaves. Of each tree, the largest size is
    then at most the largest number that reaches a leaf, and so is each next one.
    """
    if ensemble.sizes is None or ensemble.derived or len(ensemble.sizes) != ensemble.leaves.sum():
        return False
    of_trees = np.split(ensemble.sizes, np.cumsum(ensemble.leaves)[:-1])
    for sizes, column in zip(of_trees, leaves.T, strict=True):
        reached = np.sort(np.unique(column, return_counts=True)[1])
        own = np.sort(sizes[sizes > 0])
        if len(own) > len(reached) or (own > reached[len(reached) - len(own) :]).any():
            return True
    return False
