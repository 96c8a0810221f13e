"""A figure to print of a published model: how often it is right, or how far off, counted on records with noise."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from glassine.data.columns import Columns
from glassine.errors import InvalidDataError, InvalidModelError
from glassine.formats import fingerprint
from glassine.learners.additive.records import HeldRecords
from glassine.learners.additive.targets import Target, Training
from glassine.learners.budget import certificate_of, check_number, guarantee_of
from glassine.learners.publishing import noisy_histogram
from glassine.models import AdditiveModel, DecisionTree, RuleList
from glassine.models.evidence import class_array
from glassine.privacy.accounting import DiscreteLaplaceNoise
from glassine.privacy.certificate import Certificate
from glassine.privacy.exact import decimal
from glassine.privacy.release import Paid, Planned, Price

SCHEMA = "glassine.measurement/1"

CONFIDENCE = 0.95
"""Probability with which each interval holds."""

OF_NOISE, OF_CHANCE = 0.01, 0.02
"""Probability with which noise may reach beyond an interval, and the chance of the draw beyond each of its ends."""

PARTS = 2**24
"""Parts of a record whose target is a number: rounding to them moves a mean by 2^-25 at most."""

OF_MODEL = (
    "the model was there before, and follows from these records only through what was released of them, if at all; "
    "what that cost is not in this epsilon"
)

Model = DecisionTree | RuleList | AdditiveModel
Interval = tuple[float, float]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """How right a published model is on records, released with noise.

    Each interval contains, with probability 0.95, the figure of all that the records were drawn from, and that of the
    records themselves. The former holds for records that had no part in the model: those that it was fitted to, or
    chosen by, flatter it.

    Attributes
    ----------
    counts : tuple of int
        What was released, cut at zero: records that are right, and wrong. Of a number, parts of records: squares of the
        errors over the range, what the errors have beyond these, and the rest.
    n : float
        Noisy number of records, or of persons, each of whom counts as much as any other.
    accuracy : float
        Share of the records whose class is predicted, in [0, 1]; NaN of a number.
    mae, rmse : float
        Mean absolute error, and root of the mean squared error, of a number in its units; NaN of classes.
    accuracy_interval, mae_interval, rmse_interval : (float, float)
        Their intervals, for noise and the chance of the draw together.
    certificate : Certificate
        What was measured, of which model by its SHA-256, and what it cost; its ``model`` is the SHA-256 of the
        measurement.
    """

    counts: tuple[int, ...]
    n: float
    accuracy: float
    accuracy_interval: Interval
    mae: float
    mae_interval: Interval
    rmse: float
    rmse_interval: Interval
    certificate: Certificate

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold: the figures that apply, and the certificate."""
        figures = {
            name: [getattr(self, name), *getattr(self, f"{name}_interval")]
            for name in ("accuracy", "mae", "rmse")
            if not math.isnan(getattr(self, f"{name}_interval")[0])
        }
        plain = {"schema": SCHEMA, "counts": list(self.counts), "n": self.n, "confidence": CONFIDENCE}
        # Of no records at all there is no figure.
        shown = {name: [None if math.isnan(value) else value for value in row] for name, row in figures.items()}
        return {**plain, **shown, "certificate": self.certificate.to_dict()}

    def __str__(self) -> str:
        whom = "persons" if self.certificate.unit.is_person else "records"
        said = [
            f"{name} {form(value)}, 95% interval {form(low)} to {form(high)}"
            for name, value, (low, high), form in (
                ("Accuracy", self.accuracy, self.accuracy_interval, "{:.1%}".format),
                ("Mean absolute error", self.mae, self.mae_interval, "{:.4g}".format),
                ("RMSE", self.rmse, self.rmse_interval, "{:.4g}".format),
            )
            if not math.isnan(low)
        ]
        return f"{'; '.join(said)}; about {self.n:.0f} {whom}"


def plan_measurement(
    training: Training, model: Model, epsilon: object, public: Mapping[str, Any]
) -> Planned[Measurement]:
    """Plan to release how right a model is, or refuse it.

    Guarantee
    ---------
    epsilon-DP of the measurement for adding or removing one record, or all records of one person, the model being
    fixed; see ``measuring.md``.
    """
    target, unit = training.target, training.unit
    if model.classes != target.classes:
        raise InvalidModelError("the model has other classes than the summary.", remedy="Pass a model of it.")
    lacking = [name for name in model.attributes if name not in training.domain]
    if lacking:
        raise InvalidModelError(
            f"the domain of the summary lacks the model's attribute {lacking[0]!r}.", remedy="Pass a model of it."
        )
    total = decimal(check_number(epsilon, "epsilon", low=1e-3, high=1e3), "epsilon")
    records = training.records
    if not isinstance(records, HeldRecords):
        raise TypeError("a measurement needs records in memory.")
    counts = count_cells(model, records.columns, records.values, target)
    parts = 1 if target.classes is not None else PARTS

    def draw(paid: Paid) -> Measurement:
        each = total / unit.most_records
        noisy, event = noisy_histogram(
            counts[None], each, each, paid.randomness, "records by how right the model is", parts
        )
        released = tuple(noisy.ravel().tolist())
        stated = {
            "released": "how right a model is",
            "model": fingerprint(model),
            **(
                {"classes": list(target.classes)}
                if target.classes
                else {"range of the target": list(target.bounds or ())}
            ),
            **public,
            **training.weights,
        }
        certificate = certificate_of(
            [event],
            _digest(released, stated),
            epsilon=total,
            unit=unit,
            paid=paid,
            public=stated,
            assumptions=(OF_MODEL,),
        )
        return _measurement(released, parts, event, target, certificate)

    return Planned(
        price=Price(epsilon=total, note="measurement of a model", unit=unit),
        caveats=training.caveats,
        check=partial(guarantee_of, total, 0, unit=unit, count_scale=None, caveats=training.caveats),
        draw=draw,
    )


def count_cells(model: Model, columns: Columns, values: npt.NDArray[Any], target: Target) -> Ints:
    """Return the records, or their parts, by how right the model is, shape (2,), or (3,) if the target is a number.

    Guarantee
    ---------
    Each record adds whole numbers of at least 0, which add up to 1, or to :data:`PARTS` of a number, and which follow
    from that record and the model alone; see ``measuring.md``.
    """
    predicted = _predictions(model, columns)
    if target.classes is not None:
        right = int((class_array(target.classes)[values.astype(np.int64)] == predicted).sum())
        return np.array([right, len(values) - right])
    half, middle = target.scale
    # Without a prediction the error is the whole range.
    numbers = np.array([math.nan if one is None else float(one) for one in predicted])
    errors = np.clip(np.abs(values - np.clip((numbers - middle) / half, -1.0, 1.0)) / 2, 0.0, 1.0)
    errors[np.isnan(errors)] = 1.0
    squares = np.rint(errors**2 * PARTS).astype(np.int64)
    # An error of at most 1 is no smaller than its square, and rounding keeps their order.
    parts = np.rint(errors * PARTS).astype(np.int64)
    return np.array([squares.sum(), (parts - squares).sum(), (PARTS - parts).sum()])


def _predictions(model: Model, columns: Columns) -> npt.NDArray[Any]:
    """Return what a model predicts of each record, shape (n,); None where it predicts nothing or cannot."""
    # Whether literals fit the attributes is public; a record that no branch takes must not stop a release.
    model.predict(columns.take(np.zeros(0, dtype=np.intp)))
    try:
        return np.asarray(model.predict(columns), dtype=object)
    except InvalidDataError:
        n = columns.n_records
        if n == 1:
            return np.array([None])
        parts = (np.arange(n // 2), np.arange(n // 2, n))
        return np.concatenate([_predictions(model, columns.take(rows)) for rows in parts])


def _measurement(
    released: tuple[int, ...], parts: int, event: DiscreteLaplaceNoise, target: Target, certificate: Certificate
) -> Measurement:
    """Return the figures that follow from the released counts."""
    # A person counts as whole as a record does: all of one's records together.
    cells = Cells(
        released=released, whole=parts * certificate.unit.most_records, reach=noise_reach(event.scale, len(released))
    )
    nothing = math.nan, (math.nan, math.nan)
    accuracy, mae, rmse = nothing, nothing, nothing
    if target.classes is not None:
        accuracy = cells.share(1), cells.interval_of_share()
    else:
        width = 2 * target.scale[0]
        (least, most), (low, high) = cells.interval_of_errors(), cells.interval_of_share()
        mae = cells.share(2) * width, (least * width, most * width)
        rmse = math.sqrt(cells.share(1)) * width, (math.sqrt(low) * width, math.sqrt(high) * width)
    return Measurement(
        counts=released,
        n=sum(released) / cells.whole,
        accuracy=accuracy[0],
        accuracy_interval=accuracy[1],
        mae=mae[0],
        mae_interval=mae[1],
        rmse=rmse[0],
        rmse_interval=rmse[1],
        certificate=certificate,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Released counts, and what they say of shares.

    Attributes
    ----------
    released : tuple of int
        Noisy counts, cut at zero.
    whole : int
        What each record, or each person, adds to all of them together.
    reach : int
        Size that the noise of none of them exceeds, but with probability 0.01.
    """

    released: tuple[int, ...]
    whole: int
    reach: int

    def share(self, first: int) -> float:
        """Return the share of the first cells; NaN if all are empty."""
        total = sum(self.released)
        return sum(self.released[:first]) / total if total else math.nan

    def bounds(self, first: int) -> Interval:
        """Return the least and greatest share of the first cells that noise within the reach allows, in [0, 1]."""
        hits, rest = sum(self.released[:first]), sum(self.released[first:])
        of_hits, of_rest = first * self.reach, (len(self.released) - first) * self.reach
        fewest, fewest_others = max(hits - of_hits, 0), max(rest - of_rest, 0)
        least = fewest / (fewest + rest + of_rest) if fewest else 0.0
        return least, (hits + of_hits) / (hits + of_hits + fewest_others) if fewest_others else 1.0

    def interval_of_share(self) -> Interval:
        """Return the interval of the share of the first cell (Clopper and Pearson 1934, Bentkus 2004)."""
        hits, rest = self.released[0], sum(self.released[1:])
        of_rest = (len(self.released) - 1) * self.reach
        return self._lower_limit(hits - self.reach, rest + of_rest), 1 - self._lower_limit(
            rest - of_rest, hits + self.reach
        )

    def _lower_limit(self, fewest: int, most: int) -> float:
        """Return the lower limit of a share, of the fewest that have it and the most others."""
        # What is not all or nothing pays Bentkus's factor, and half a part for rounding.
        risk, rounding = (OF_CHANCE, 0.0) if self.whole == 1 else (OF_CHANCE / math.e, 0.5 / PARTS)
        hits, others = max(fewest, 0) // self.whole, -(-most // self.whole)
        return max(float(special.betaincinv(hits, others + 1, risk)) - rounding, 0.0) if hits > 0 else 0.0

    def interval_of_errors(self) -> Interval:
        """Return the interval of the mean of what two cells sum up, the first its squares (Maurer and Pontil 2009)."""
        (low, high), (_, square) = self.bounds(2), self.bounds(1)
        n = (sum(self.released) - len(self.released) * self.reach) // self.whole
        if n < 2:
            return 0.0, 1.0
        # Each of these is off by half a part at most.
        rounding = 1 / PARTS
        variance = (max(square - low**2, 0.0) + 2 * rounding) * n / (n - 1)
        log = math.log(2 / OF_CHANCE)
        move = math.sqrt(2 * variance * log / n) + 7 * log / (3 * (n - 1)) + rounding
        return max(low - move, 0.0), min(high + move, 1.0)


def noise_reach(scale: float, cells: int) -> int:
    """Return what discrete Laplace noise in none of so many cells exceeds in size, but with probability 0.01.

    Examples
    --------
    >>> noise_reach(1.0, 2), noise_reach(0.01, 2)
    (5, 0)
    """
    ratio = math.exp(-1 / scale)
    # P(|noise| > t) = 2 ratio^(t + 1) / (1 + ratio), for each cell at most its share of the risk.
    return max(math.ceil(scale * math.log(2 * cells / (OF_NOISE * (1 + ratio)))) - 1, 0)


def _digest(released: tuple[int, ...], stated: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what was released and of what it is about."""
    text = json.dumps([released, stated], sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
