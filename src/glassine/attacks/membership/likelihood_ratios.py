"""Likelihood ratios from shadow models: LiRA, and RMIA, which compares a record's ratio with those of others."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from glassine.attacks.membership.gap import read_sides, setting_of
from glassine.attacks.membership.outputs import LabelledRecords, attempt
from glassine.attacks.membership.result import MembershipResult, Shift
from glassine.attacks.membership.score_thresholds import Setting
from glassine.attacks.membership.shadows import Mode, ShadowAnswers, Shadows, shadow_answers
from glassine.attacks.outcome import Measured, Outcome
from glassine.data.labels import Sample
from glassine.records.arrays import Array, Bools

MIN_SD = 0.1
"""Smallest standard deviation of a confidence on the logit scale: models that agree still leave some doubt."""

OFFLINE = 0.3
"""The paper's a, as ML Privacy Meter sets it: how far a probability without the record lies below one with it."""

LEAST = 1e-12
"""Smallest usual probability: a class that no shadow model expects does not divide by zero."""


Judge: TypeAlias = Callable[[ShadowAnswers, Mode, Setting], MembershipResult]
"""What one of the two attacks finds by the answers of shadow models."""


def judged(judge: Judge, answered: Outcome[ShadowAnswers], mode: Mode, setting: Setting) -> Outcome[MembershipResult]:
    """Return what an attack finds by shadow models, or why there are none."""
    if not isinstance(answered, Measured):
        return answered
    return attempt(lambda: judge(answered.value, mode, setting))


def _attack_by_ratios(
    judge: Judge,
    model: object,
    sides: tuple[LabelledRecords, LabelledRecords],
    shadows: Shadows | None,
    setting: Setting,
    progress: Callable[[int, int], None] | None,
) -> Outcome[MembershipResult]:
    """Train the shadow models and attack by them."""
    answered = shadow_answers(model, *sides, shadows, setting.rng, progress)
    return judged(judge, answered, "online" if shadows is None else shadows.mode, setting)


def lira(
    model: object,
    members: Sample | LabelledRecords,
    nonmembers: Sample | LabelledRecords,
    shadows: Shadows | None,
    *,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    shift: Shift | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome[MembershipResult]:
    """Compare each record's confidence with that of shadow models trained with it and without it.

    Each shadow model learns from a random part of all records, members and non-members, of about the size of the
    training set; every record is in the same number of them. The confidence of a record is the logarithm of the odds
    that a model gives its class. Online, the score is the log ratio of two normal densities, fitted to the confidences
    of the shadow models with and without the record; offline, it is the chance that a model without the record is less
    confident than the one under attack.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, DecisionTree or RuleList
        The model under attack.
    members, nonmembers : Sample
        All training records, and records that were not used for training, with their classes.
    shadows : Shadows or None
        How shadow models are trained, and which score is taken. Without it the attack does not apply.
    confidence : float, default=0.95
        Confidence of the intervals, in (0, 1).
    random_state : int, numpy.random.Generator or None, default=None
        Makes the shadow models and folds repeatable.
    shift : Shift, optional
        Of :func:`~glassine.attacks.holdout_shift`, for the verdict.
    progress : callable, optional
        Called with the number of shadow models done and of all.

    Returns
    -------
    Measured of MembershipResult, NotApplicable or Failed
        Not applicable without shadow models or without probabilities; failed where the learner raises an error.

    Raises
    ------
    InvalidDataError, InvalidParameterError
        If data or a parameter cannot be used.

    Notes
    -----
    A tree answers with probabilities of 0 and 1. They are held within [1e-6, 1 - 1e-6], so that confidences lie between
    -13.8 and 13.8, and the verdict says how many of the model's answers were.

    References
    ----------
    Carlini et al.: Membership inference attacks from first principles, 2022.
    """
    setting = setting_of(confidence, random_state, shift)
    return _attack_by_ratios(likelihood_ratio, model, read_sides(members, nonmembers), shadows, setting, progress)


def likelihood_ratio(trained: ShadowAnswers, mode: Mode, setting: Setting) -> MembershipResult:
    """Return what LiRA finds by shadow models that were trained already."""
    observed = np.concatenate([side.confidence for side in trained.sides])
    fits = _fit(trained.confidences, trained.seen, pooled=trained.shadows.pooled)
    extreme = float(np.mean(np.abs(observed) > 13.8))
    note = f"{extreme:.0%} of the model's probabilities are 0 or 1 and were held within 1e-6 of them."
    return trained.judged(
        f"{mode} likelihood-ratio attack",
        fits.ratio(observed) if mode == "online" else fits.surprise(observed),
        setting,
        (note,) if extreme else (),
    )


@dataclass(frozen=True, slots=True)
class _Fits:
    """Normal laws of each record's confidence, with and without it in the training set."""

    mean_in: Array
    sd_in: Array
    mean_out: Array
    sd_out: Array

    def ratio(self, observed: Array) -> Array:
        """Return the log of the likelihood ratio of membership."""
        return _log_density(observed, self.mean_in, self.sd_in) - _log_density(observed, self.mean_out, self.sd_out)

    def surprise(self, observed: Array) -> Array:
        """Return how far, in standard deviations, a confidence lies above that of models without the record."""
        # It orders records as the chance of a lower confidence does, and does not round to 1.
        return np.asarray((observed - self.mean_out) / self.sd_out)


def _log_density(x: Array, mean: Array, sd: Array) -> Array:
    return np.asarray(-(((x - mean) / sd) ** 2) / 2 - np.log(sd) - math.log(2 * math.pi) / 2)


def _fit(shadows: Array, seen: Bools, *, pooled: bool) -> _Fits:
    laws = []
    for mask in (seen, ~seen):
        count = mask.sum(axis=1)
        mean = np.where(mask, shadows, 0.0).sum(axis=1) / count
        squares = np.where(mask, (shadows - mean[:, None]) ** 2, 0.0).sum(axis=1)
        spread = squares / (count - 1)
        if pooled:
            spread = np.full(len(spread), squares.sum() / (count - 1).sum())
        laws += [mean, np.maximum(np.sqrt(spread), MIN_SD)]
    return _Fits(*laws)


def rmia(
    model: object,
    members: Sample | LabelledRecords,
    nonmembers: Sample | LabelledRecords,
    shadows: Shadows | None,
    *,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    shift: Shift | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome[MembershipResult]:
    """Compare how much likelier the model makes each record's class than is usual, with other records.

    The usual probability of a record's class is, online, the mean of those of shadow models with the record and without
    it; offline it is estimated from those without it. The score is the share of all records, members and non-members,
    whose ratio to the usual probability is smaller: the test of the paper at gamma = 1. Another population would order
    records in the same way, but for ties.

    Parameters
    ----------
    model, members, nonmembers, shadows, confidence, random_state, shift, progress
        As for :func:`lira`.

    Returns
    -------
    Measured of MembershipResult, NotApplicable or Failed
        As for :func:`lira`.

    Raises
    ------
    InvalidDataError, InvalidParameterError
        If data or a parameter cannot be used.

    References
    ----------
    Zarifzadeh, Liu, Shokri: Low-cost high-power membership inference attacks, 2024.
    """
    setting = setting_of(confidence, random_state, shift)
    return _attack_by_ratios(relative_ratio, model, read_sides(members, nonmembers), shadows, setting, progress)


def relative_ratio(trained: ShadowAnswers, mode: Mode, setting: Setting) -> MembershipResult:
    """Return what RMIA finds by shadow models that were trained already."""
    observed = np.concatenate([side.probability for side in trained.sides])
    ratios = observed / typical_probability(trained.probabilities, trained.seen, mode)
    return trained.judged(f"{mode} RMIA", rank(ratios, ratios), setting)


def typical_probability(probabilities: Array, seen: Bools, mode: Mode) -> Array:
    """Return the usual probability of each record's class, shape (n,), from shadow models, shape (n, n_shadows)."""
    outside = np.where(seen, 0.0, probabilities).sum(axis=1) / (~seen).sum(axis=1)
    if mode == "offline":
        return np.asarray((1 + OFFLINE) / 2 * outside + (1 - OFFLINE) / 2)
    with_it = np.where(seen, probabilities, 0.0).sum(axis=1) / seen.sum(axis=1)
    return np.asarray(np.maximum((with_it + outside) / 2, LEAST), dtype=np.float64)


def rank(ratios: Array, population: Array) -> Array:
    """Return the share of a population's ratios that each ratio exceeds, shape (n,).

    Examples
    --------
    >>> rank(np.array([0.5, 2.0, 3.0]), np.array([0.5, 1.0, 2.0, 3.0])).tolist()
    [0.0, 0.5, 0.75]
    """
    return np.asarray(np.searchsorted(np.sort(population), ratios, side="left") / len(population))
