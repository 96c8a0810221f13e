"""Targets of additive learners: classes, or numbers in a declared range; and what is released of them first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _num_samples, column_or_1d

from glassine.data.inference import infer_domain
from glassine.data.labels import check_lengths, column_of
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.domain.domain import check_domain
from glassine.errors import InvalidDataError
from glassine.learners import training_data
from glassine.learners.additive.engine_counts import CountedNumbers, CountedRecords
from glassine.learners.additive.weighted import weigh
from glassine.learners.budget import RANGE_FROM_DATA, warn_of
from glassine.learners.intake import read_training
from glassine.learners.ranges import checked_bounds, declared_bounds
from glassine.learners.training_data import EngineIntake, Weights
from glassine.models.guarantee import DOMAIN_FROM_DATA
from glassine.privacy.budget_rules import BudgetRule
from glassine.privacy.unit import RECORD, PrivacyUnit
from glassine.records.alignment import target_name
from glassine.records.arrays import Array
from glassine.records.columns import ConformedColumns
from glassine.records.containers import is_lazy
from glassine.records.engines import LazyTable
from glassine.records.reading import read_settled
from glassine.records.undeclared import read_checked
from glassine.sealed.binned import AdditiveRecords, HeldRecords
from glassine.sealed.door import OF_THE_INTAKE
from glassine.sealed.gaussian import SumsOracle
from glassine.sealed.ingest import ANYTHING, scaled
from glassine.sealed.noisy_sums import Portion, SumsRelease
from glassine.sealed.persons import CountedPersons
from glassine.sealed.plan import Metadata
from glassine.sealed.released_bins import Events
from glassine.sealed.residuals import OfTarget

PROOF = "learners/additive/targets.md"

FIRST = 0.01
"""Share of the squared mu for the first look at the target: its noise is that of one count, or of three sums."""

LOOKS = BudgetRule(knots=((5.0 / 0.26, 0.26), (5.0 / FIRST, FIRST)))
"""Share for both looks at classes by records times mu: 5 over it, at least that of the first look."""

USUAL = 0.25
"""Standard deviation of the share of a class among datasets, by which noisy shares are drawn towards even ones."""

SMALLEST_SPREAD = 0.02
"""A target whose released standard deviation is smaller, relative to half its range, is taken to vary that much.

The clip follows the deviation: one near zero would leave nothing of the residuals but their signs."""


MOST_ODDS = 20.0
"""Largest size of a score of classes or counts, a logarithm: beyond it, a probability is 0 or 1 for everyone."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Target:
    """What is to be predicted; all of it public."""

    classes: tuple[Scalar, ...] | None  # The public classes; None for numbers
    bounds: tuple[float, float] | None  # The public range of a number
    name: str  # Name of the target, if it has one
    events: Events | None = None  # What is public of a number that counts events, whose range begins at 0

    @property
    def n_outputs(self) -> int:
        """Scores per record: one, or one per class where there are more than two."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    @property
    def link(self) -> str:
        """Link of the model."""
        if self.classes is None:
            return "identity" if self.events is None else "log"
        return "logit" if len(self.classes) == 2 else "softmax"

    @property
    def scale(self) -> tuple[float, float]:
        """What a score times the first plus the second is, in units of the target."""
        if self.bounds is None:
            return 1.0, 0.0
        lo, hi = self.bounds
        if self.events is not None:
            # A score is the logarithm of a share of the largest count, for the largest exposure.
            return 1.0, math.log(hi / self.events.high)
        return hi / 2 - lo / 2, lo / 2 + hi / 2

    @property
    def largest_score(self) -> float:
        """Largest size of a published score of one term, before :attr:`scale`: of a number, the width of its range."""
        return 2.0 if self.link == "identity" else MOST_ODDS

    @property
    def predicted_range(self) -> tuple[float, float] | None:
        """To what predictions are clipped: not those for one unit of exposure, which may exceed any count."""
        exposed = self.events is not None and self.events.exposure is not None
        return None if exposed else self.bounds


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Training:
    """What is public of a fit: target, domain, what had to be taken from the data, and whose data it covers."""

    target: Target
    domain: Domain
    caveats: tuple[str, ...]
    unit: PrivacyUnit = RECORD
    weights: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, metadata: Metadata) -> Training:
        """Return what is public of records."""
        classes = None if metadata.target_range is not None else metadata.classes
        return cls(
            target=Target(classes=classes, bounds=metadata.target_range, name=metadata.target),
            domain=metadata.domain,
            caveats=metadata.caveats,
            unit=metadata.unit,
            weights=metadata.weights,
        )

    def metadata(self, estimator: object) -> Metadata:
        """Return what is public of the records."""
        return Metadata(
            domain=self.domain,
            classes=self.target.classes or (),
            target_range=self.target.bounds,
            target=self.target.name,
            caveats=self.caveats,
            unit=self.unit,
            weights=self.weights,
            features={name: value for name, value in vars(estimator).items() if name in OF_THE_INTAKE},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What is released of the target before anything else."""

    n_records: float  # Noisy number of records, at least 1
    # start, weights, spreads: intercept, curvature of the loss for one record, and variance of a residual; shape
    # (outputs,).
    start: Array
    weights: Array
    spreads: Array
    deviation: float  # Standard deviation of a number in [-1, 1], or of a count in [0, 1]; 1 for classes
    curved: float = 0.0  # Of counts of events the largest curvature of a record that counts in full
    # Shares of the classes, of which the start follows; None for a number; shape (classes,), or None.
    shares: Array | None = None
    share_error: float = 0.0  # Standard deviation of the noise in a share


def read_classes(
    estimator: Any,
    X: object,
    y: object,
    *,
    domain: Domain | None,
    classes: Sequence[Scalar] | None,
    times: CountedPersons | npt.ArrayLike | None = None,
    private: bool = True,
) -> tuple[AdditiveRecords, Training]:
    """Read the arguments of a classifier's fit, as :func:`glassine.learners.intake.read_training` does."""
    intake = read_training(
        estimator,
        X,
        y,
        domain=domain,
        classes=classes,
        times=times,
        private=private,
        keep_undeclared=estimator.keeps_undeclared,
    )
    records: AdditiveRecords
    if isinstance(intake, EngineIntake):
        records = CountedRecords(intake=intake)
    elif intake.multiplicities is None or intake.per_record == 1:
        records = HeldRecords.of(intake)
    else:
        records = weigh(intake.columns, intake.labels, Weights(intake.multiplicities, intake.per_record))
    return records, Training(
        target=Target(classes=intake.classes, bounds=None, name=target_name(y)),
        domain=intake.domain,
        caveats=intake.caveats,
        unit=intake.unit,
        weights=intake.weights,
    )


def read_numbers(
    estimator: object,
    X: object,
    y: object,
    *,
    domain: Domain | None,
    bounds: tuple[float, float] | None,
    times: CountedPersons | npt.ArrayLike | None = None,
    private: bool = True,
) -> tuple[AdditiveRecords, Training]:
    """Read the arguments of a regressor's fit."""
    # Shapes: X (n, d), or a lazy frame of a private fit, whose engine counts if domain and range are public and y is a
    # name; y (n,), or str; times (n,), or Persons, optional.
    check_domain(domain, optional=True)
    checked = None if bounds is None else checked_bounds(bounds)
    persons = times if isinstance(times, CountedPersons) else None
    name = target_name(y)
    limits = checked if checked is not None else declared_bounds(domain, name)
    strict = not private or domain is None or domain.inferred or limits is None
    if isinstance(y, str):
        if domain is not None and limits is not None and not strict and times is None and is_lazy(X):
            # The engine counts: no record comes into memory whole.
            return _left_in_place(estimator, X, y, domain=domain, limits=limits, ranged=checked is not None)
        X, y = training_data.pop_target(X, y, domain)
    training_data.check_target(estimator, y)
    if persons is not None:
        domain = persons.without_column(domain)
    names, records = training_data.named(estimator, X, reset=True, target=name)
    numbers = _finite_numbers(y) if strict else _readable_numbers(y)
    check_lengths(_num_samples(training_data.first_column(records)), len(numbers))
    rows = ~np.isnan(numbers)
    weights = None
    if times is not None and not isinstance(times, CountedPersons):
        weights = training_data.weights_of(times, len(numbers))
        rows &= weights.parts > 0
    if not rows.any() and strict:
        raise InvalidDataError("no record has a number as its target.", remedy="Check the target.")
    records, numbers = training_data.take_rows(records, rows), numbers[rows]
    caveats = _of_range(domain, name, ranged=checked is not None)
    if limits is None:
        limits = checked_bounds((float(numbers.min()), float(numbers.max())), widen=True)
        caveats.append(RANGE_FROM_DATA)
    domain = (
        infer_domain(training_data.as_frame(names, records))
        if domain is None
        else training_data.without_target(domain, names, name)
    )
    if domain.inferred:
        caveats.append(DOMAIN_FROM_DATA)
    if private:
        warn_of(caveats, domain)
    values = scaled(numbers, limits)
    if isinstance(records, ConformedColumns):
        columns = records
    elif strict:
        columns = read_checked(records, domain, keep_undeclared=True, training=True)
    else:
        columns = read_settled(records, domain, keep_undeclared=True)
    kept_records = HeldRecords(columns=columns, values=values)
    if persons is not None:
        kept_records = weigh(columns, values, Weights(persons.take(rows).times(columns, values), 1))
    elif weights is not None:
        kept_records = weigh(columns, values, weights._replace(parts=weights.parts[rows]))
    target = Target(classes=None, bounds=limits, name=name)
    return kept_records, Training(
        target=target,
        domain=domain,
        caveats=tuple(caveats),
        unit=RECORD if persons is None else persons.unit,
        weights={} if persons is None else persons.weights,
    )


def _of_range(domain: Domain | None, name: str, *, ranged: bool) -> list[str]:
    """Return the caveat of a declared range that was taken from the data."""
    inferred = domain is not None and name in domain and domain[name].inferred and not ranged
    return [RANGE_FROM_DATA] if inferred else []


def _left_in_place(
    estimator: object, X: Any, target: str, *, domain: Domain, limits: tuple[float, float], ranged: bool
) -> tuple[AdditiveRecords, Training]:
    """Look through the records of a lazy frame, which stay where they are; those without a number are left out."""
    attributes = training_data.name_columns(estimator, X, target, domain)
    table = LazyTable(frame=X, strict=False, keep_undeclared=True, required={target: ANYTHING})
    _, counts = table.totals({name: attributes[name] for name in attributes})
    caveats = _of_range(domain, target, ranged=ranged)
    warn_of(caveats, attributes)
    read = Domain({**{name: attributes[name] for name in attributes}, target: ANYTHING})
    intake = EngineIntake(table=table, n_records=int(counts.sum()), domain=read, classes=(), caveats=())
    return CountedNumbers(intake=intake, target=target, bounds=limits), Training(
        target=Target(classes=None, bounds=limits, name=target),
        domain=attributes,
        caveats=tuple(caveats),
    )


def _readable_numbers(y: object) -> Array:
    """Return each number, read independently of the others; NaN where there is none."""
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        data: Any = series.alias("target").to_frame().to_native()
    else:
        data = {"target": column_of(y)}
    return read_settled(data, Domain({"target": ANYTHING})).numbers["target"]


def _finite_numbers(y: object) -> Array:
    values = column_or_1d(y, warn=True)
    if np.asarray(values).dtype.kind == "c":
        raise InvalidDataError("Complex data not supported.", remedy="Pass real numbers as the target.")
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidDataError("the target must hold numbers.", remedy="Convert it, or use a classifier.") from None
    if not np.isfinite(numbers).all():
        raise InvalidDataError(
            "Input y contains NaN, infinity or a missing value.", remedy="Drop or fill in these records."
        )
    return numbers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Looks:
    """Noisy counts or sums of the target, from one release or several, and the precision of their noise."""

    # Numbers of records of each class; or the number of records, and sum and sum of squares of the target.
    values: Array
    precision: float  # One over the variance of the noise of each
    classes: bool  # Whether they are counts of classes
    events: Events | None = None  # As of the target

    def and_then(self, other: Looks) -> Looks:
        """Return two releases as one: their mean, weighted by precision."""
        precision = self.precision + other.precision
        mean = (self.precision * self.values + other.precision * other.values) / precision
        return Looks(values=mean, precision=precision, classes=self.classes, events=self.events)

    @property
    def reliable(self) -> float:
        """Released number of records; of events that of the largest counts which add up to them."""
        base = self.base
        return base.n_records * (float(base.weights[0]) if self.events is not None else 1.0)

    @property
    def base(self) -> Base:
        """What follows for the fit."""
        if self.events is not None:
            return _event_base(self.values, self.precision, self.events)
        return _class_base(self.values, self.precision) if self.classes else _number_base(self.values)


def second_look(n_records: float, mu: float) -> float:
    """Return the share of the squared mu for a second look at classes or events, by the released number of records.

    It falls with the number of records times mu: with many, the noise of the first look is small, and the residuals of
    the fit say more. A choice, not a bound.

    Examples
    --------
    >>> [round(second_look(800, mu), 3) for mu in (0.02, 0.2, 2)], round(second_look(26_000, 0.2), 3)
    ([0.25, 0.021, 0.0], 0.0)
    """
    return max(LOOKS(n_records * mu) - FIRST, 0.0)


def release_base(target: Target, oracle: SumsOracle, portion: Portion) -> Looks:
    """Release how many records there are of each class; or their number, and sum and sum of squares of the target.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: a record adds 1 to one count; or at most
    1 in size to each of three sums, of four with exposures. See ``targets.md``.
    """
    classes = target.classes is not None
    exposed = target.events is not None and target.events.exposure is not None
    question = OfTarget(n_classes=None if target.classes is None else len(target.classes), exposed=exposed)
    release = SumsRelease(
        name="numbers of records" if classes else "number of records, sums of the target",
        squared=question.squared,
        values=question.size,
        proof=PROOF,
    )
    drawing = oracle.release(release, portion)
    return Looks(values=drawing.ask(question), precision=drawing.precision, classes=classes, events=target.events)


def _class_base(noisy: Array, precision: float) -> Base:
    # Noisy counts may be negative, and a share of zero has no log-odds.
    counts = np.maximum(noisy, 0.5)
    shares = counts / counts.sum()
    # Towards even shares as far as noise of this size explains how far they are from them.
    n = max(float(noisy.sum()), 1.0)
    variance = (1 - 1 / len(shares)) / (precision * n**2)
    kept = USUAL**2 / (USUAL**2 + variance)
    shares = np.clip(kept * shares + (1 - kept) / len(shares), 0.01, 0.99)
    weights = shares * (1 - shares)
    start = np.log(shares)
    if len(shares) == 2:
        start, weights = start[1:] - start[:1], weights[1:]
    return Base(
        n_records=n,
        start=start,
        weights=weights,
        spreads=weights.copy(),
        deviation=1.0,
        shares=shares,
        share_error=math.sqrt(kept * variance),
    )


def _number_base(noisy: Array) -> Base:
    n = max(1.0, float(noisy[0]))
    mean = float(np.clip(noisy[1] / n, -1.0, 1.0))
    deviation = float(np.sqrt(np.clip(noisy[2] / n - mean**2, SMALLEST_SPREAD**2, 1.0)))
    return Base(
        n_records=n,
        start=np.array([mean]),
        weights=np.ones(1),
        spreads=np.array([0.25 * deviation**2]),
        deviation=deviation,
    )


MOST_CURVED = 4.0
"""Largest curvature of a record that counts in full, in mean counts: a few times that of most, so that noise is small
beside it."""

SURELY = 2.0
"""Deviations of the noise that a sum of events is taken to have at least: a mean of zero has no logarithm."""


def _event_base(noisy: Array, precision: float, events: Events) -> Base:
    # Counts are shares of the largest count, exposures of the largest exposure.
    n = max(1.0, float(noisy[0]))
    least = SURELY / math.sqrt(precision) / n if precision < math.inf else 1e-12
    mean = float(np.clip(noisy[1] / n, min(max(least, 1e-9), 1.0), 1.0))
    exposure = float(np.clip(noisy[3] / n, events.low / events.high, 1.0)) if len(noisy) > 3 else 1.0
    # Of counts the variance is not below the mean of the squares, less that of the mean.
    deviation = math.sqrt(float(np.clip(noisy[2] / n - mean**2, mean**2 / 100, 1.0)))
    return Base(
        n_records=n,
        start=np.array([min(math.log(mean / exposure), 0.0)]),
        weights=np.array([mean]),
        spreads=np.array([deviation**2]),
        deviation=deviation,
        curved=min(MOST_CURVED * mean, 1.0),
    )
