"""Calibration of a scorecard: the log-odds at no points and of a point, from counts of each class at each total."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from glassine.models import AdditiveModel
from glassine.models.scorecard import Risk, Scorecard, grained, interval, logistic, repointed
from glassine.records.arrays import Array
from glassine.sealed.gaussian import SumsOracle
from glassine.sealed.noisy_sums import Portion, SumsRelease
from glassine.sealed.residuals import Totals

PRIOR = (0.5, 0.3)
"""Standard deviations of what is believed before: of the log-odds at the middle, and of a point, relative to itself.
Rounding and dependent attributes move both; noise beyond that is not followed."""

STEPS = 30
"""Newton's steps; two parameters need fewer than ten."""

LARGEST_STEP = 1.0
"""Most that one step moves the log-odds in the middle, or a point relative to itself."""

PROOF = "learners/additive/calibration.md"


def release_totals(oracle: SumsOracle, portion: Portion, question: Totals) -> tuple[Array, float]:
    """Release how many records of each class have each total.

    Returns the noisy counts, which may be negative, by every total that the released items allow, shape (totals, 2),
    and the standard deviation of their noise.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: a record has one total and one class, so
    that it adds 1 to one count. See ``calibration.md``.
    """
    release = SumsRelease(
        name="numbers of records at each total of points",
        squared=question.squared,
        values=2 * question.size,
        proof=PROOF,
    )
    drawing = oracle.release(release, portion)
    return drawing.ask(question).reshape(question.size, 2), drawing.deviation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Line:
    """Log-odds ``middle + (total - center) * worth``, and the covariance of middle and worth."""

    center: float
    middle: float
    worth: float
    covariance: Array


def calibrate(model: AdditiveModel, counts: Array, deviation: float) -> AdditiveModel:
    """Return a scorecard whose risks are those of counts of each class at each total.

    The log-odds at no points and of a point are the likeliest, noise, sampling and :data:`PRIOR` taken together. The
    intervals hold what these leave open, and how far the counts lie from any such line.

    Shapes: ``counts``, which may be negative with noise of standard deviation ``deviation``, (totals, 2).

    Guarantee
    ---------
    none: a function of the card and of released counts.
    """
    card = model.scorecard
    if card is None or len(card.risks) != len(counts):
        raise ValueError("counts must be those of the totals of a scorecard")
    totals = np.array([row.points for row in card.risks], dtype=np.float64)
    line = _fitted(totals, counts, deviation, model.intercept[0], card.unit)
    unit = grained(line.worth)
    base = line.middle - unit * line.center
    misfit = _misfit(totals, counts, deviation, base, unit)
    rows = []
    for row in card.risks:
        odds = base + unit * row.points
        at = np.array([1.0, row.points - line.center])
        low, high = interval(odds, math.sqrt(float(at @ line.covariance @ at) + misfit))
        rows.append(Risk(points=row.points, risk=logistic(odds), low=low, high=high))
    return replace(
        model,
        terms=repointed(model.terms, card.unit, unit),
        intercept=(base,),
        scorecard=Scorecard(unit=unit, risks=tuple(rows), calibrated="counts"),
    )


def _expected(odds: Array, counts: Array, deviation: float) -> tuple[Array, Array, Array]:
    """Return for each total what the counts lack of the risk, how the lack moves with the log-odds, its variance."""
    risk = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    # A negative number of records is noise alone; its residual still counts, so that sums are not biased.
    records = np.maximum(counts.sum(axis=1), 0.0)
    lack = counts[:, 1] * (1 - risk) - counts[:, 0] * risk
    curve = records * risk * (1 - risk)
    variance = curve + deviation**2 * ((1 - risk) ** 2 + risk**2)
    return lack, curve, np.maximum(variance, 1e-9)


def _fitted(totals: Array, counts: Array, deviation: float, intercept: float, unit: float) -> _Line:
    """Return the likeliest line, by Newton's steps on the weighted squares of what the counts lack."""
    start = intercept + unit * totals
    records = np.maximum(counts.sum(axis=1), 0.0)
    risk = 1 / (1 + np.exp(-np.clip(start, -30, 30)))
    weight = records * risk * (1 - risk) + 1e-9
    center = float((weight * totals).sum() / weight.sum())
    prior = np.array([intercept + unit * center, unit])
    precision = np.diag([1 / PRIOR[0] ** 2, 1 / (PRIOR[1] * unit) ** 2])
    design = np.column_stack([np.ones(len(totals)), totals - center])
    now, information = prior.copy(), precision
    for _ in range(STEPS):
        lack, curve, variance = _expected(design @ now, counts, deviation)
        weighted = design * (curve / variance)[:, None]
        information = precision + weighted.T @ (design * curve[:, None])
        step = np.linalg.solve(information, weighted.T @ lack - precision @ (now - prior))
        scale = max(1.0, abs(step[0]) / LARGEST_STEP, abs(step[1]) / (LARGEST_STEP * unit))
        now = now + step / scale
        # A point that lowered the risk would turn the card around.
        now[1] = max(now[1], 0.05 * unit)
    return _Line(center=center, middle=float(now[0]), worth=float(now[1]), covariance=np.linalg.inv(information))


def _misfit(totals: Array, counts: Array, deviation: float, base: float, unit: float) -> float:
    """Return the variance of log-odds about the line that neither sampling nor noise explains (method of moments)."""
    lack, curve, variance = _expected(base + unit * totals, counts, deviation)
    weight = curve / variance
    explained = float((weight * curve**2 / variance).sum())
    excess = float((weight * (lack**2 - variance) / variance).sum())
    return max(0.0, excess / explained) if explained > 1e-12 else 0.0
