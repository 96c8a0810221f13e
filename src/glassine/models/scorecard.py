"""Scorecards: additive models of few items worth whole points, with the risk at each total."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import NormalDist
from typing import Protocol

import numpy as np

from glassine.errors import InvalidModelError
from glassine.models.bins import MISSING, Bins, CategoryBins, NumericBins
from glassine.models.terms import Term
from glassine.records.arrays import Ints

COVERAGE = 0.9
"""Coverage of each interval of a risk."""

GRAIN = 2.0**-16
"""Units are whole multiples of it, so that points times a unit, and sums of them, are exact in floating point."""

LARGEST_UNIT = 1e290
"""A point adds less to a number, so that no total overflows."""

CLOSE = 1e-9
"""Difference up to which a stated risk counts as that of the score: other software may add in another order."""


class CardModel(Protocol):
    """What of an additive model a card is read from."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms."""
        ...

    @property
    def intercept(self) -> tuple[float, ...]:
        """Log-odds at zero points."""
        ...

    @property
    def scorecard(self) -> Scorecard | None:
        """The card."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """The risk at one total.

    Parameters
    ----------
    points : int
        The total.
    risk : float
        Probability of the second class among records with this total, in [0, 1].
    low, high : float or None
        A 90 % interval of it; None where neither errors nor counts of the scores are published.
    """

    points: int
    risk: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    """What makes an additive model a scorecard: what a point is worth, and the risk at each total.

    Parameters
    ----------
    unit : float
        Log-odds of one point, or what a point adds to a number: a positive whole multiple of 2^-16, or a number of at
        most sixteen binary digits. Every score of the model is a whole number of units.
    risks : tuple of Risk
        For each total that the items allow, from the least to the largest, as released. An edit leaves them alone.
        Empty for a number, which is the intercept and the total times the unit.
    calibrated : {"scores", "counts"}
        Where risks and intervals come from: "scores", those of the model that was rounded, its attributes taken as
        independent; "counts", released numbers of records of each class at each total.

    Raises
    ------
    InvalidModelError
        If the unit is not such a number, or the totals do not follow each other.
    """

    unit: float
    risks: tuple[Risk, ...]
    calibrated: str = "scores"

    def __post_init__(self) -> None:
        if not (0 < self.unit < LARGEST_UNIT and ((self.unit / GRAIN) % 1 == 0 or binary(self.unit) == self.unit)):
            raise InvalidModelError(
                f"the unit of a scorecard must be a positive multiple of 2^-16, or have at most sixteen binary digits, "
                f"got {self.unit!r}."
            )
        if self.calibrated not in ("scores", "counts"):
            raise InvalidModelError(
                f"a scorecard is calibrated by 'scores' or 'counts', got {self.calibrated!r}.",
                remedy="Choose one of them.",
            )
        object.__setattr__(self, "risks", tuple(self.risks))
        totals = [row.points for row in self.risks]
        if totals and totals != list(range(totals[0], totals[0] + len(totals))):
            raise InvalidModelError("the risks of a scorecard must list every total once, in order.")
        for row in self.risks:
            ends = (row.risk, row.risk) if row.low is None or row.high is None else (row.low, row.high)
            if (row.low is None) != (row.high is None) or not 0 <= ends[0] <= row.risk <= ends[1] <= 1:
                raise InvalidModelError("each risk of a scorecard must lie in [0, 1] and within its interval.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of a card: a condition on an attribute, and its points."""

    # attribute, condition: the attribute, and for which of its values the points are given, such as ``"> 40"``.
    attribute: str
    condition: str
    points: int  # The points, not zero


def card_items(model: CardModel) -> tuple[Item, ...]:
    """Return the items of a card, attribute by attribute; values that stand in no item are worth nothing."""
    card = _card(model)
    out = []
    for term in model.terms:
        bins, points = term.bins[0], points_of(term, card.unit)
        for worth, texts in _conditions(bins, points, _nobody(term)):
            out.append(Item(attribute=bins.attribute, condition=" or ".join(texts), points=worth))
    return tuple(out)


def _conditions(bins: Bins, points: Ints, nobody: bool) -> list[tuple[int, list[str]]]:
    """Return the conditions worth points; neighbors of equal worth are one condition, and so are groups."""
    labels, n_labels = bins.labels, len(bins.labels) - 1
    out: list[tuple[int, list[str]]] = []
    if isinstance(bins, NumericBins):
        plain = [i for i in range(n_labels) if i not in bins.coded]
        for worth, run in groupby(plain, key=lambda i: int(points[i])):
            places = list(run)
            out.append((worth, [bins.text_of(plain, places[0], places[-1])]))
        for worth in sorted({int(points[i]) for i in bins.coded}):
            out.append((worth, [text for i, text in bins.coded.items() if points[i] == worth]))
    else:
        for worth in sorted({int(p) for p in points[:n_labels]}):
            out.append((worth, [labels[i] for i in range(n_labels) if points[i] == worth]))
    if not nobody and points[-1]:
        alike = next((texts for worth, texts in out if worth == points[-1]), None)
        gap = MISSING if isinstance(bins, NumericBins) else labels[-1]
        if alike is None:
            out.append((int(points[-1]), [gap]))
        else:
            alike.append(gap)
    return [(worth, texts) for worth, texts in out if worth]


def _nobody(term: Term) -> bool:
    """Whether the last bin is published as empty, so that a card needs no line for it."""
    return term.weights is not None and float(term.weights[-1]) == 0.0


def _card(model: CardModel) -> Scorecard:
    if model.scorecard is None:
        raise InvalidModelError("the model is not a scorecard.", remedy="Make one of it with to_scorecard().")
    return model.scorecard


def points_of(term: Term, unit: float) -> Ints:
    """Return the points of each bin."""
    points = term.scores[..., 0] / unit
    if len(term.bins) != 1 or not np.array_equal(points, np.rint(points)):
        raise InvalidModelError(
            f"the scores of {term.name!r} are not whole points of {unit:g}, so that the model is not a scorecard.",
            remedy=f"Change scores by multiples of {unit!r}.",
        )
    return np.asarray(np.rint(points), dtype=np.int64)


def totals_of(terms: Sequence[Term], unit: float) -> tuple[int, int]:
    """Return the least and the largest total that records can have."""
    every = [points_of(term, unit) for term in terms]
    return sum(int(points.min()) for points in every), sum(int(points.max()) for points in every)


def check_card(card: Scorecard, released: Sequence[Term], terms: Sequence[Term], intercept: float, link: str) -> None:
    """Raise InvalidModelError unless scores are whole points, and the table is that of the terms as released."""
    if link == "softmax" or (link == "logit") != bool(card.risks):
        raise InvalidModelError("a scorecard is of two classes, and has their risks, or of a number, and has none.")
    for term in terms:
        points_of(term, card.unit)
    if not card.risks:
        return
    low, high = totals_of(released, card.unit)
    if (low, high) != (card.risks[0].points, card.risks[-1].points):
        raise InvalidModelError(f"the risks of a scorecard must reach from {low} to {high} points, as its items do.")
    for row in card.risks:
        if not abs(logistic(intercept + card.unit * row.points) - row.risk) <= CLOSE:
            raise InvalidModelError(f"the risk at {row.points} points is not that of the model's score.")


def risk_table(model: CardModel, edited: bool) -> tuple[Risk, ...]:
    """Return the risk at each total: as released, or after an edit by the scores alone, without intervals."""
    card = _card(model)
    if not edited or not card.risks:
        return card.risks
    low, high = totals_of(model.terms, card.unit)
    return tuple(Risk(points=t, risk=logistic(model.intercept[0] + card.unit * t)) for t in range(low, high + 1))


def interval(log_odds: float, deviation: float) -> tuple[float, float]:
    """Return the 90 % interval of a risk from its log-odds and their standard deviation."""
    half = NormalDist().inv_cdf((1 + COVERAGE) / 2) * deviation
    return logistic(log_odds - half), logistic(log_odds + half)


def logistic(score: float) -> float:
    """Return the probability of some log-odds."""
    return 1 / (1 + math.exp(-score)) if score > -700 else 0.0


def bin_points(fitted: Term, carded: Term, unit: float) -> Ints:
    """Return the points of each bin of a term, of which another is the form with its bins merged, in points."""
    points, bins, merged = points_of(carded, unit), fitted.bins[0], carded.bins[0]
    if isinstance(bins, NumericBins) and isinstance(merged, NumericBins):
        # An interval is in that of the card that its upper end is in; the last interval has none.
        ends = np.array([*bins.cuts, math.inf])
        return np.append(points[merged.index(ends)], points[-1])
    if isinstance(bins, CategoryBins) and isinstance(merged, CategoryBins):
        return np.append(points[merged.find([group[0] for group in bins.groups])], points[-1])
    raise ValueError("the bins of a card are of the kind of those that were merged")


def repointed(terms: Sequence[Term], old: float, unit: float) -> tuple[Term, ...]:
    """Return terms with their nearest whole points of one unit at another."""
    return tuple(replace(term, scores=np.rint(term.scores / old) * unit) for term in terms)


def card_of(terms: Sequence[Term], intercept: float, unit: float) -> Scorecard:
    """Return the card of terms in whole points, its risks those of the scores, without intervals."""
    low, high = totals_of(terms, unit)
    rows = tuple(Risk(points=t, risk=logistic(intercept + unit * t)) for t in range(low, high + 1))
    return Scorecard(unit=unit, risks=rows)


def binary(unit: float) -> float:
    """Return the nearest number of sixteen binary digits: its whole multiples, and their sums, are exact."""
    mantissa, exponent = math.frexp(unit)
    return math.ldexp(round(mantissa * 2**16), exponent - 16)


def grained(unit: float) -> float:
    """Return the nearest unit whose multiples are exact."""
    return max(round(unit / GRAIN), 1) * GRAIN
