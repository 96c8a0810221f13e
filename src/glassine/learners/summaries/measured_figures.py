"""A figure to print of a published model: how often it is right, or how far off, counted on records with noise."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from glassine.domain import Domain
from glassine.domain.attributes import Attribute, Integer, Real
from glassine.errors import InvalidDataError, InvalidModelError, InvalidParameterError, parameter
from glassine.formats import fingerprint
from glassine.learners.additive.targets import Target, Training
from glassine.learners.budget import certificate_of, check_number, guarantee_of
from glassine.learners.publishing import probabilities
from glassine.learners.summaries.noisy_intervals import CONFIDENCE, Interval, Ranking, ReleasedCells, noise_reach
from glassine.models import AdditiveModel, NumericBins
from glassine.privacy.accounting import DiscreteLaplaceNoise
from glassine.privacy.certificate import Certificate
from glassine.privacy.exact import decimal
from glassine.privacy.release import Price
from glassine.privacy.unit import PrivacyUnit
from glassine.records.arrays import AnyArray, Array
from glassine.records.columns import ConformedColumns, code_type, columns_of
from glassine.records.cuts import Cuts, cuts_of
from glassine.sealed.accounts import FitAccount
from glassine.sealed.gaussian import asking_counts
from glassine.sealed.oracle import Oracle
from glassine.sealed.plan import Metadata, Plan
from glassine.sealed.queries import Counts
from glassine.sealed.scoring import ADDED, LEAST, Counted, Model, Rightness, predicted

SCHEMA = "glassine.measurement/2"

OF_MODEL = (
    "the model was there before, and follows from these records only through what was released of them, if at all; "
    "what that cost is not in this epsilon"
)

Figure: TypeAlias = Literal["accuracy", "log_loss", "auroc"]

FIGURES: tuple[Figure, ...] = ("accuracy", "log_loss", "auroc")
"""What can be measured of classes."""

COUNTED = {
    "accuracy": "records by how right the model is",
    "log_loss": "records by log loss",
    "auroc": "records by class and score",
    "errors": "records by how right the model is",
}
"""What is counted, by figure: the name of its event."""

CELLS = {"accuracy": 2, "log_loss": 3, "errors": 3}
"""Counts of a figure; of the AUROC there are two for each cell."""

NOTHING: tuple[float, Interval] = (math.nan, (math.nan, math.nan))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyMeasurement:
    """How right a published model is on records, released with noise.

    Each interval contains, with probability 0.95, the figure of all that the records were drawn from, and that of the
    records themselves. The former holds for records that had no part in the model: those that it was fitted to, or
    chosen by, flatter it.

    Attributes
    ----------
    counts : mapping of str to tuple of int
        What was released, by figure. Of ``accuracy`` records that are right, and wrong; of ``log_loss``, and of
        ``errors`` of a number, parts of records: squares of the errors over the range, what the errors have beyond
        these, and the rest; of ``auroc`` records of the first class by cell of the score, then of the second. Cut at
        zero but for ``auroc``.
    n : float
        Noisy number of records, or of persons, each of whom counts as much as any other.
    accuracy : float
        Share of the records whose class is predicted, in [0, 1]; NaN if it was not measured.
    log_loss : float
        Mean of -ln of the probability of the true class, of at least 0.001; NaN if it was not measured.
    auroc : float
        Area under the ROC curve of the score in at most 32 public cells, records in one cell counting half; NaN if it
        was not measured.
    mae, rmse : float
        Mean absolute error, and root of the mean squared error, of a number in its units; NaN of classes.
    accuracy_interval, log_loss_interval, auroc_interval, mae_interval, rmse_interval : (float, float)
        Their intervals, for noise and the chance of the draw together.
    certificate : Certificate
        What was measured, of which model by its SHA-256, and what it cost; its ``model`` is the SHA-256 of the
        measurement.
    """

    counts: Mapping[str, tuple[int, ...]]
    n: float
    accuracy: float
    accuracy_interval: Interval
    log_loss: float
    log_loss_interval: Interval
    auroc: float
    auroc_interval: Interval
    mae: float
    mae_interval: Interval
    rmse: float
    rmse_interval: Interval
    certificate: Certificate

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold: the figures that apply, and the certificate."""
        figures = {
            name: [getattr(self, name), *getattr(self, f"{name}_interval")]
            for name in (*FIGURES, "mae", "rmse")
            if not math.isnan(getattr(self, f"{name}_interval")[0])
        }
        counts = {name: list(values) for name, values in self.counts.items()}
        plain = {"schema": SCHEMA, "counts": counts, "n": self.n, "confidence": CONFIDENCE}
        # Of no records at all there is no figure.
        rows = {name: [None if math.isnan(value) else value for value in row] for name, row in figures.items()}
        return {**plain, **rows, "certificate": self.certificate.to_dict()}

    def __str__(self) -> str:
        whom = "persons" if self.certificate.unit.is_person else "records"
        said = [
            f"{name} {form(value)}, 95% interval {form(low)} to {form(high)}"
            for name, value, (low, high), form in (
                ("Accuracy", self.accuracy, self.accuracy_interval, "{:.1%}".format),
                ("Log loss", self.log_loss, self.log_loss_interval, "{:.3f}".format),
                ("AUROC", self.auroc, self.auroc_interval, "{:.3f}".format),
                ("Mean absolute error", self.mae, self.mae_interval, "{:.4g}".format),
                ("RMSE", self.rmse, self.rmse_interval, "{:.4g}".format),
            )
            if not math.isnan(low)
        ]
        return f"{'; '.join(said)}; about {self.n:.0f} {whom}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is measured."""

    figures: tuple[Figure, ...]  # Of classes; of a number there is one release, whose name is ``errors``
    cuts: Array  # Where cells of the score begin, for ``auroc``. Public.

    @property
    def names(self) -> tuple[Counted, ...]:
        """The releases, each of which gets an equal part of epsilon."""
        return self.figures or ("errors",)


def check_figures(figures: object, target: Target, unit: PrivacyUnit) -> tuple[Figure, ...]:
    """Return the figures that are asked for, accuracy by default; none of a number, which has its own."""
    if target.classes is None:
        if figures is not None:
            raise InvalidParameterError(
                f"{parameter('figures')} are of classes, and the target is a number.", remedy="Leave them out."
            )
        return ()
    asked = (figures,) if isinstance(figures, str) else ("accuracy",) if figures is None else figures
    wanted = [name for name in FIGURES if isinstance(asked, Sequence) and name in asked]
    if not isinstance(asked, Sequence) or not wanted or any(name not in FIGURES for name in asked):
        raise InvalidParameterError(f"{parameter('figures')} must be some of {', '.join(FIGURES)}, got {figures!r}.")
    if "auroc" in wanted and (len(target.classes) > 2 or unit.is_person):
        why = "a person's records have no common class" if unit.is_person else "it ranks two classes"
        raise InvalidParameterError(f"AUROC is not measured here: {why}.", remedy="Ask for the log loss.")
    return tuple(wanted)


def check_model(model: Model, target: Target, attributes: Sequence[str]) -> None:
    """Raise InvalidModelError if a model has other classes or attributes than a summary."""
    if model.classes != target.classes:
        raise InvalidModelError("the model has other classes than the summary.", remedy="Pass a model of it.")
    lacking = [name for name in model.attributes if name not in attributes]
    if lacking:
        raise InvalidModelError(
            f"the domain of the summary lacks the model's attribute {lacking[0]!r}.", remedy="Pass a model of it."
        )


def plan_measurement(
    metadata: Metadata, model: Model, epsilon: object, asked: Asked, public: Mapping[str, Any]
) -> Plan:
    """Plan to release how right a model is, or refuse it.

    Guarantee
    ---------
    epsilon-DP of the measurement for adding or removing one record, or all records of one person, the model being
    fixed; see ``measured_figures.md``.
    """
    training, unit = Training.of(metadata), metadata.unit
    check_model(model, training.target, list(training.domain))
    # Whether literals fit the attributes is public, and refused before the charge.
    attributes = {name: training.domain[name] for name in training.domain}
    predicted(model, checked_columns(attributes, {name: np.zeros(0) for name in attributes}))
    total = decimal(check_number(epsilon, "epsilon", low=1e-3, high=1e3), "epsilon")
    account = FitAccount(total=total, unit=unit)
    questions = questions_of(training, model, asked)
    return Plan(
        price=Price(epsilon=total, note="measurement of a model", unit=unit),
        caveats=training.caveats,
        check=partial(guarantee_of, total, 0, unit=unit, count_scale=None, caveats=training.caveats),
        queries=tuple(questions.values()),
        learn=asking_counts(partial(release_measurement, training, questions, public), account),
    )


def questions_of(training: Training, model: Model, asked: Asked) -> dict[Counted, Counts]:
    """Return what is counted, by figure."""
    target = training.target
    of_cells = np.zeros((0, 0)) if isinstance(model, AdditiveModel) or not target.classes else probabilities(model)
    return {
        name: Counts(
            key=Rightness(
                figure=name,
                model=model,
                scale=target.scale,
                of_cells=of_cells,
                cuts=asked.cuts,
                distinguished=_cuts_of_model(model, training.domain),
            ),
            name=COUNTED[name],
            # What is cut at zero is no sum of counts and noise, as the bounds of an area need it.
            cut=name != "auroc",
        )
        for name in asked.names
    }


def release_measurement(
    training: Training, questions: Mapping[Counted, Counts], public: Mapping[str, Any], oracle: Oracle
) -> AccuracyMeasurement:
    """Release how right a model is, each count with an equal part of the account.

    Guarantee
    ---------
    epsilon-DP of the account for adding or removing one record, or all records of one person, the model being fixed;
    see ``measured_figures.md``.
    """
    target = training.target
    share = Fraction(1, len(questions))
    released: dict[str, tuple[int, ...]] = {}
    for name, one in questions.items():
        released[name] = tuple(oracle.ask(one, share).tolist())
    of_target = (
        {"classes": list(target.classes)} if target.classes else {"range of the target": list(target.bounds or ())}
    )
    keys = {name: one.key for name, one in questions.items() if isinstance(one.key, Rightness)}
    cells = {"cells of the score begin at": keys["auroc"].cuts.tolist()} if "auroc" in keys else {}
    stated = {
        "released": "how right a model is",
        "model": fingerprint(next(iter(keys.values())).model),
        **of_target,
        **cells,
        **public,
        **training.weights,
    }
    certificate = certificate_of(
        list(oracle.events),
        _digest(released, stated),
        account=oracle.account,
        paid=oracle.paid,
        public=stated,
        assumptions=(OF_MODEL,),
    )
    scales = (event.scale for event in oracle.events if isinstance(event, DiscreteLaplaceNoise))
    return _measurement(released, dict(zip(questions, scales, strict=True)), target, certificate)


def _cuts_of_model(model: Model, domain: Domain) -> Cuts:
    """Return the points between which a model gives numbers one prediction, by each attribute that it reads."""
    if not isinstance(model, AdditiveModel):
        return cuts_of(model.literals, domain)
    cuts: dict[str, tuple[float, ...]] = dict.fromkeys(model.tested, ())
    for bins in (bins for term in model.terms for bins in term.bins):
        if isinstance(bins, NumericBins):
            # A cell holds its upper end; the other bins hold their lower one.
            right = bins.closed == "right"
            own = bins.cuts if right else tuple(math.nextafter(cut, -math.inf) for cut in bins.cuts)
            cuts[bins.attribute] += own
    return cuts


def _measurement(
    released: Mapping[str, tuple[int, ...]], scales: Mapping[str, float], target: Target, certificate: Certificate
) -> AccuracyMeasurement:
    """Return the figures that follow from the released counts."""
    # A person counts as whole as a record does: all of one's records together.
    most = certificate.unit.most_records
    accuracy = log_loss = auroc = mae = rmse = NOTHING
    sizes = []
    for name, counts in released.items():
        whole = ADDED[name] * most
        sizes.append(sum(counts) / whole)
        cells = ReleasedCells(released=counts, whole=whole, reach=noise_reach(scales[name], len(counts)))
        if name == "accuracy":
            accuracy = cells.share(1), cells.interval_of_share()
        elif name == "auroc":
            ranking = Ranking(released=np.array(counts).reshape(2, -1), scale=scales[name])
            auroc = ranking.area, ranking.interval()
        else:
            width = -math.log(LEAST) if name == "log_loss" else 2 * target.scale[0]
            least, most_of = cells.interval_of_errors()
            mean = cells.share(2) * width, (least * width, most_of * width)
            if name == "log_loss":
                log_loss = mean
                continue
            low, high = cells.interval_of_share()
            mae, rmse = mean, (math.sqrt(cells.share(1)) * width, (math.sqrt(low) * width, math.sqrt(high) * width))
    return AccuracyMeasurement(
        counts=released,
        n=sizes[0],
        accuracy=accuracy[0],
        accuracy_interval=accuracy[1],
        log_loss=log_loss[0],
        log_loss_interval=log_loss[1],
        auroc=auroc[0],
        auroc_interval=auroc[1],
        mae=mae[0],
        mae_interval=mae[1],
        rmse=rmse[0],
        rmse_interval=rmse[1],
        certificate=certificate,
    )


def measurement_from_dict(values: object, target: Target) -> AccuracyMeasurement:
    """Return the measurement of plain values, its figures computed again from the counts."""
    odd = InvalidModelError(
        "the measurement cannot be read, or was changed.", remedy="Ask for the file that was written."
    )
    if not isinstance(values, dict) or values.get("schema") != SCHEMA or not isinstance(values.get("counts"), dict):
        raise odd
    certificate = Certificate.from_dict(values.get("certificate"))
    counts: dict[str, tuple[int, ...]] = {}
    for name, row in values["counts"].items():
        whole = isinstance(row, list) and all(type(one) is int and abs(one) < 2**63 for one in row)
        if name not in COUNTED or not whole or not row or len(row) != CELLS.get(name, 2 * (len(row) // 2)):
            raise odd
        counts[name] = tuple(row)
    events = [event for event in certificate.events if isinstance(event, DiscreteLaplaceNoise)]
    # By name: the order of the keys of JSON says nothing.
    scales = {event.name: event.scale for event in events}
    if not counts or ("errors" in counts) != (target.classes is None) or len(events) != len(counts):
        raise odd
    if set(scales) != {COUNTED[name] for name in counts} or certificate.model != _digest(counts, certificate.public):
        raise odd
    return _measurement(counts, {name: scales[COUNTED[name]] for name in counts}, target, certificate)


def _digest(released: Mapping[str, tuple[int, ...]], stated: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what was released and of what it is about."""
    text = json.dumps([released, stated], sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


GAP = -3
"""Code of a missing value that the attribute does not allow; no record keeps it."""


def checked_columns(attributes: Mapping[str, Attribute], arrays: Mapping[str, AnyArray]) -> ConformedColumns:
    """Return collected columns, or refuse those with a gap that their attribute does not allow."""
    out: dict[str, AnyArray] = {}
    for name, attribute in attributes.items():
        if isinstance(attribute, Integer | Real):
            # Adding zero turns -0.0 into 0.0, so that equal numbers have equal bytes.
            out[name] = np.asarray(arrays[name], dtype=np.float64) + 0.0
            gaps = np.isnan(out[name])
        else:
            out[name] = np.asarray(arrays[name], dtype=code_type(attribute))
            gaps = out[name] == GAP
        if not attribute.missing and gaps.any():
            raise InvalidDataError(
                f"column {name!r} holds a missing value, NaN or infinity, which its attribute does not allow.",
                remedy=f"Declare the attribute with {parameter('missing', True)}, or replace these values.",
            )
    return columns_of(attributes, out)
