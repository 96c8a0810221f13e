"""A private model beside its twin without privacy: what the guarantee allows, and what attacks reach on each.

Attacks can refute a guarantee, never confirm it. What is measured is for the checker: it is no release.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from inspect import isabstract
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.attack_model import errors_of, predicts_number
from glassine.attacks.membership.confidence_intervals import (
    Estimate,
    clopper_pearson,
    newcombe,
    root_mean_square,
    root_mean_square_added,
)
from glassine.attacks.membership.outputs import LabelledRecords
from glassine.attacks.membership.result import MembershipResult
from glassine.attacks.membership.suite import MembershipAttacks, attack_membership
from glassine.attacks.outcome import Measured
from glassine.comparison.candidates import CANDIDATES, Shape, encoded
from glassine.comparison.seeded_splits import ClassTarget, Labelled, NumberTarget, read_labelled
from glassine.data.labels import Sample
from glassine.data.record_table import columns as read_columns
from glassine.data.record_table import eager
from glassine.domain import Category, Domain
from glassine.errors import InvalidDataError, InvalidParameterError, parameter
from glassine.exports import DisplayedToCheckers
from glassine.formats.sklearn.interpret import TAKEN_OVER, additive_from_interpret, is_interpret_ebm
from glassine.models import AdditiveModel, DecisionTree, Guarantee, RuleList
from glassine.models.quality import Quality
from glassine.records.arrays import AnyArray, Array, Bools

if TYPE_CHECKING:
    import polars as pl

CONFIDENCE = 0.99
"""Confidence of every statement on a model: the two rates of each attack share what may go wrong (Bonferroni)."""
ATTACKS = 6
"""Most attacks that call records of one model members; the suite makes fewer without shadow models."""

Standing: TypeAlias = Literal["contradicted", "not contradicted", "does not hold", "no guarantee", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinSide:
    """What was measured of one of the two models."""

    title: str  # What it is
    accuracy: Estimate | None  # Accuracy on the held-out records; None of a model of numbers
    # auroc, log_loss: on the held-out records; None of numbers, and where one of them has no published probability.
    auroc: float | None
    log_loss: float | None
    rmse: Estimate | None  # Root mean squared error on them, in the unit of the target; None of a model of classes
    attack: str  # The strongest attack on membership, by its advantage; empty if none could be made
    advantage: Estimate | None
    n_attacks: int  # Number of attacks that were made
    # A guarantee without a delta must have at least this epsilon, by the attacks; 0 if they show nothing.
    epsilon_at_least: float


OF_RECORDS = "The guarantee is for one record, and the attacks are on people."
OF_EXTREMES = (
    "The model's bounds are the extremes of its training records. If they were taken from the records, the claim is "
    "void."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinComparison(DisplayedToCheckers):
    """A private model and its twin, measured on the same records."""

    claim: Guarantee | None  # The guarantee that the private model claims
    claimed_by: str  # Whose claim it is
    # The largest advantage that the claim allows any attack; None where it does not hold or there is none.
    ceiling: float | None
    # ``contradicted`` if an attack is shown to exceed the ceiling; ``not contradicted``, which is no proof; ``does not
    # hold`` or ``no guarantee`` where there is no ceiling; ``unknown`` if members and held-out records differ without
    # the model, or overlap, or if people are attacked under a guarantee for records.
    standing: Standing
    # private, twin: the two models.
    private: TwinSide
    twin: TwinSide
    # Accuracy of the twin less that of the private model, on the same held-out records; None of numbers.
    accuracy_lost: Estimate | None
    # Root mean squared error of the private model less that of the twin, on the same records; None of classes.
    rmse_added: Estimate | None
    # What a prediction without any attribute has on these records: of classes, and of numbers that of their mean.
    baseline: Quality | None
    baseline_rmse: float | None
    # n_members, n_others: numbers of records on which they were attacked; of people, where persons are stated.
    n_members: int
    n_others: int
    doubts: tuple[str, ...]  # What stands against the measurement

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Scored:
    """An additive model as attacks ask a classifier."""

    model: AdditiveModel

    @property
    def classes_(self) -> AnyArray:
        return np.array(self.model.classes)

    def predict(self, data: object) -> AnyArray:
        return self.model.predict(data)

    def predict_proba(self, data: object) -> Array:
        return np.asarray(self.model.predict_proba(data), dtype=float)


@dataclass(frozen=True, slots=True)
class _OfMatrix:
    """A pipeline fitted on a matrix and asked about frames: scikit-learn 1.8 finds no column of a polars frame."""

    fitted: Any
    names: tuple[str, ...]

    @property
    def classes_(self) -> AnyArray:
        return np.asarray(self.fitted.classes_)

    def predict(self, data: object) -> AnyArray:
        return np.asarray(self.fitted.predict(_matrix(data, self.names)))

    def predict_proba(self, data: object) -> Array:
        return np.asarray(self.fitted.predict_proba(_matrix(data, self.names)), dtype=float)

    def __sklearn_tags__(self) -> Any:
        # By them attacks know whether a model predicts classes or numbers.
        return self.fitted.__sklearn_tags__()


def _matrix(data: object, names: Sequence[str]) -> npt.NDArray[np.object_]:
    """Return columns side by side, shape (n, names)."""
    columns = read_columns(data)
    return np.column_stack([columns[name].astype(object) for name in names])


def claimed_by_estimator(model: object) -> Guarantee | None:
    """Return the guarantee that a fitted private estimator of another library states by its parameters.

    Of interpret's machines what contradicts the claim in the model counts as well, such as ranges taken from the data.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> claimed_by_estimator(SimpleNamespace(epsilon=0.5, random_state=None)).epsilon
    0.5
    """
    epsilon, delta = getattr(model, "epsilon", None), getattr(model, "delta", 0.0)
    if not isinstance(epsilon, int | float) or isinstance(epsilon, bool):
        return None
    if is_interpret_ebm(model):
        claim = additive_from_interpret(model).guarantee
        # The claim is compared because it is untested.
        return claim and replace(claim, caveats=tuple(c for c in claim.caveats if c != TAKEN_OVER))
    seeded = getattr(model, "random_state", None) is not None
    return Guarantee(
        epsilon=float(epsilon),
        delta=float(delta) if isinstance(delta, int | float) else 0.0,
        caveats=("seeded: not private",) if seeded else (),
    )


def compare_twin(
    model: object,
    members: object,
    others: object,
    target: str,
    *,
    twin: object = None,
    domain: Domain | None = None,
    persons: str | None = None,
    random_state: int = 0,
) -> TwinComparison:
    """Compare a private model with its twin without privacy."""
    inside, outside = eager(members).to_polars(), eager(others).to_polars()
    names = [name for name in inside.columns if name in outside.columns]
    both = (LabelledRecords(frame[names], np.zeros(len(frame))) for frame in (inside, outside))
    whole = _read(model, next(both).join(next(both)).native, target, domain, persons)
    if twin is not None and predicts_number(twin) != isinstance(whole.target, NumberTarget):
        raise InvalidDataError(
            "one of the two models predicts classes, and the other a number.", remedy="Compare models of one kind."
        )
    title = "the twin that was given"
    by_code = twin is None
    if twin is None:
        title, twin = _trained(model, whole, len(inside))
    claim = getattr(model, "guarantee", None) or claimed_by_estimator(model)
    certified, called = getattr(model, "guarantee", None) is not None, _title(model)
    model, twin = (
        additive_from_interpret(one, whole.domain) if is_interpret_ebm(one) else one for one in (model, twin)
    )
    sides, attacks = [], []
    for side, one, coded in ((called, model, False), (title, twin, by_code)):
        attacked_model = _attack_members(one, whole, len(inside), coded, random_state)
        sides.append(_side(side, one, whole, len(inside), coded, attacked_model))
        attacks.append(attacked_model)
    # Of a person with k records a guarantee for records allows k epsilon, so that attacks on people say nothing of it.
    comparable = claim is None or persons is None or claim.records_per_person is not None
    ceiling = claim.membership_advantage if claim is not None and claim.holds and comparable else None
    bounded = (OF_EXTREMES,) if _bounded_by(model, whole.frame[: len(inside)]) else ()
    doubts = (*_doubts(attacks[0]), *(() if comparable else (OF_RECORDS,)))
    lost, added, base, base_rmse = None, None, None, None
    truth = whole.labels[len(inside) :]
    if isinstance(whole.target, ClassTarget):
        right = [_right(one, whole, len(inside), coded) for one, coded in ((model, False), (twin, by_code))]
        lost = _paired(right[1], right[0])
        base = Quality.baseline(truth, len(whole.classes))
    else:
        off = [_off(one, whole, len(inside)) for one in (model, twin)]
        added = root_mean_square_added(off[0], off[1], CONFIDENCE)
        base_rmse = float(truth.std())
    return TwinComparison(
        claim=claim,
        claimed_by="the model's certificate" if certified else "its parameters",
        ceiling=ceiling,
        standing=_standing(claim, ceiling, attacks[0], doubts),
        private=sides[0],
        twin=sides[1],
        accuracy_lost=lost,
        rmse_added=added,
        baseline=base,
        baseline_rmse=base_rmse,
        n_members=attacks[0].n_members,
        n_others=attacks[0].n_nonmembers,
        # Whether bounds are public is for a person to say: it settles nothing.
        doubts=(*doubts, *bounded),
    )


def _read(model: object, frame: pl.DataFrame, target: str, domain: Domain | None, persons: str | None) -> Labelled:
    """Return the records with classes or numbers, as the model predicts; the records' range if none is declared."""
    number = predicts_number(model)
    limits = None
    undeclared = domain is None or target not in domain
    if number and undeclared and target in frame.columns and frame[target].drop_nulls().len():
        if not frame[target].dtype.is_numeric():
            raise InvalidDataError(
                f"the model predicts a number, and the target {target!r} holds none.", remedy="Name another column."
            )
        numbers = frame[target].cast(float).drop_nulls().to_numpy()
        low, high = float(numbers.min()), float(numbers.max())
        # Of one value any range will do.
        limits = (low, high) if low < high else (low - 0.5, high + 0.5)
    whole = read_labelled(frame, target, domain, None, persons, limits)
    if number != isinstance(whole.target, NumberTarget):
        kinds = ("a number", "classes") if number else ("classes", "a number")
        raise InvalidDataError(
            f"the model predicts {kinds[0]}, and the target {target!r} is {'of ' * number}{kinds[1]}.",
            remedy="Name another column, or declare the target otherwise.",
        )
    return whole


def _title(model: object) -> str:
    kinds = {DecisionTree: "the private tree", RuleList: "the private rule list", AdditiveModel: "the additive model"}
    return kinds.get(type(model), f"the private {type(model).__name__}")


def _trained(model: object, whole: Labelled, n: int) -> tuple[str, Any]:
    """Return the twin of a model, trained on the members; classes are codes."""
    if not isinstance(model, DecisionTree | RuleList | AdditiveModel):
        return _of_another_library(model, whole, n)
    depth = max((len(cell.inside) for cell in model.cells), default=1) if isinstance(model, DecisionTree) else 1
    rules = len(model.rules) if isinstance(model, RuleList) else 1
    name = "optimal-tree" if isinstance(model, DecisionTree) else "optimal-rule-list"
    settings: dict[str, Any] = {}
    if isinstance(model, AdditiveModel):
        name = "plain-additive" if model.scorecard is None else "plain-scorecard"
        pairs = [term.attributes for term in model.terms if len(term.bins) == 2]
        settings = {"interactions": pairs} if pairs else {}
    shape = Shape(domain=whole.domain, target=whole.target, max_depth=max(depth, 1), max_rules=max(rules, 1))
    twin = CANDIDATES[name].make(shape, math.nan, 0).set_params(**settings).fit(whole.frame[:n], whole.labels[:n])
    return f"{CANDIDATES[name].title}, trained on the same records", twin


def _of_another_library(model: Any, whole: Labelled, n: int) -> tuple[str, Any]:
    """Return what interpret or scikit-learn trains without privacy where a private estimator extends their class."""
    domain, frame, labels = whole.domain, whole.frame[:n], whole.labels[:n]
    names = tuple(domain)
    if is_interpret_ebm(model):
        pairs = sum(len(term.attributes) == 2 for term in additive_from_interpret(model).terms)
        kind = "Classifier" if isinstance(whole.target, ClassTarget) else "Regressor"
        ordinary = getattr(import_module("interpret.glassbox"), f"ExplainableBoosting{kind}")
        kinds = ["nominal" if isinstance(domain[name], Category) else "continuous" for name in names]
        machine = ordinary(list(names), kinds, interactions=pairs, random_state=0, n_jobs=1)
        fitted = additive_from_interpret(machine.fit(_matrix(frame, names), labels), domain)
        return "interpret's additive model, trained on the same records", fitted
    base = _base_class(model)
    parameters = base().get_params()
    # What the private class does not use is None there.
    shared = {
        k: v for k, v in model.get_params().items() if k in parameters and (v is not None or parameters[k] is None)
    }
    if "random_state" in parameters:
        shared["random_state"] = 0
    learner = encoded(domain, base(**shared), scaled=hasattr(base, "decision_function"), by_place=True)
    title = f"scikit-learn's {base.__name__} of the same parameters, trained on the same records"
    return title, _OfMatrix(learner.fit(_matrix(frame, names), labels), names)


def _base_class(model: object) -> Any:
    """Return the class of scikit-learn that a private estimator of another library extends."""
    for kind in type(model).__mro__:
        of_sklearn = kind.__module__.startswith("sklearn.") and not kind.__module__.startswith("sklearn.base")
        if of_sklearn and hasattr(kind, "predict") and not isabstract(kind):
            return kind
    raise InvalidParameterError(
        "no twin of such a model is trained here.",
        remedy=f"Train one without privacy, and pass it as {parameter('twin=')}.",
    )


def _bounded_by(model: object, frame: pl.DataFrame) -> bool:
    """Return whether the bounds that an estimator states are the least and the greatest value of every column."""
    bounds = getattr(model, "bounds", getattr(model, "bounds_X", None))
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        return False
    low, high = (np.ravel(side) for side in bounds)
    numbers = [frame[name].to_numpy() for name in frame.columns if frame[name].dtype.is_numeric()]
    extremes = sorted((float(column.min()), float(column.max())) for column in numbers)
    return len(low) == len(high) == len(frame.columns) and sorted(zip(low, high, strict=True)) == extremes


def _samples(whole: Labelled, n: int, coded: bool) -> tuple[Sample, Sample]:
    target = whole.labels
    if isinstance(whole.target, ClassTarget) and not coded:
        target = np.array(whole.classes, dtype=object)[whole.labels]
    keys = None if whole.persons is None else np.array(list(whole.persons.keys), dtype=object)
    return (
        Sample(whole.frame[:n], target[:n], persons=None if keys is None else keys[:n]),
        Sample(whole.frame[n:], target[n:], persons=None if keys is None else keys[n:]),
    )


def _asked(model: object) -> Any:
    return _Scored(model) if isinstance(model, AdditiveModel) and model.classes is not None else model


@contextmanager
def _unnamed() -> Iterator[None]:
    """Ask a model that was fitted on an array: it complains of the names of columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has feature names")
        yield


def _attack_members(model: object, whole: Labelled, n: int, coded: bool, seed: int) -> MembershipAttacks:
    members, others = _samples(whole, n, coded)
    with _unnamed():
        return attack_membership(
            _asked(model),
            members,
            holdout=others,
            confidence=1 - (1 - CONFIDENCE) / (2 * ATTACKS),
            random_state=seed,
        )


def _right(model: object, whole: Labelled, n: int, coded: bool) -> Bools:
    """Return which held-out records a model classifies correctly; classes are compared as text."""
    truth = whole.labels[n:] if coded else np.array(whole.classes, dtype=object)[whole.labels[n:]]
    with _unnamed():
        predicted = np.asarray(_asked(model).predict(whole.frame[n:])).astype(str)
    return np.asarray(predicted == np.asarray(truth).astype(str))


def _quality(model: object, whole: Labelled, n: int, coded: bool) -> Quality:
    """Return how well a model predicts the held-out records; AUROC and log loss only of one with probabilities."""
    truth, asked = whole.labels[n:], _asked(model)
    right = _right(model, whole, n, coded)
    names = getattr(asked, "classes_", getattr(asked, "classes", None))
    if names is None or not hasattr(asked, "predict_proba"):
        return Quality(accuracy=float(right.mean()))
    own = [str(name) for name in (range(len(whole.classes)) if coded else whole.classes)]
    with _unnamed():
        probabilities = np.asarray(asked.predict_proba(whole.frame[n:]), dtype=float)
    # A class that the model does not know has probability 0.
    foretold = np.zeros((len(truth), len(own)))
    for column, name in enumerate(np.asarray(names).tolist()):
        if str(name) in own:
            foretold[:, own.index(str(name))] = probabilities[:, column]
    return Quality.measured(np.where(right, truth, -1), truth, foretold)


def _off(model: object, whole: Labelled, n: int) -> Array:
    """Return the absolute error of a model of numbers on each held-out record, shape (others,)."""
    with _unnamed():
        return errors_of(model, LabelledRecords.read(Sample(whole.frame[n:], whole.labels[n:]), "non-members"))


def _side(title: str, model: object, whole: Labelled, n: int, coded: bool, attacks: MembershipAttacks) -> TwinSide:
    accuracy, rmse, quality = None, None, None
    if isinstance(whole.target, ClassTarget):
        right = _right(model, whole, n, coded)
        accuracy = clopper_pearson(int(right.sum()), len(right), CONFIDENCE)
        quality = _quality(model, whole, n, coded)
    else:
        rmse = root_mean_square(_off(model, whole, n), CONFIDENCE)
    strongest = attacks.strongest
    made = attacks.results
    return TwinSide(
        title=title,
        accuracy=accuracy,
        auroc=None if quality is None else quality.auroc,
        log_loss=None if quality is None else quality.log_loss,
        rmse=rmse,
        attack="" if strongest is None else str(getattr(strongest, "attack", "midpoint attack")),
        advantage=None if strongest is None else strongest.advantage,
        n_attacks=len(made),
        epsilon_at_least=max((_epsilon(result) for result in made), default=0.0),
    )


def _epsilon(result: MembershipResult) -> float:
    """Return the least epsilon, without a delta, by which an attack's rates are possible, by their own bounds.

    A guarantee bounds the true positive rate by exp(epsilon) times the false positive rate, and the same of calling
    records non-members (Kairouz, Oh and Viswanath, 2015).
    """
    pairs = ((result.tpr.low, result.fpr.high), (1 - result.fpr.high, 1 - result.tpr.low))
    return max(0.0, *(math.log(hit / alarm) for hit, alarm in pairs if hit > 0 and alarm > 0))


def _doubts(attacks: MembershipAttacks) -> tuple[str, ...]:
    doubts = [attacks.overlap.statement] if attacks.overlap.suspicious else []
    if isinstance(attacks.shift, Measured) and attacks.shift.value.shifted:
        doubts.append("Members and held-out records differ without the model as well.")
    return tuple(doubts)


def _standing(
    claim: Guarantee | None, ceiling: float | None, attacks: MembershipAttacks, doubts: tuple[str, ...]
) -> Standing:
    if claim is None:
        return "no guarantee"
    if not claim.holds:
        return "does not hold"
    if doubts or ceiling is None:
        return "unknown"
    advantage = max((result.advantage.low for result in attacks.results), default=0.0)
    return "contradicted" if advantage > ceiling else "not contradicted"


def _paired(one: Bools, other: Bools) -> Estimate:
    """Return the difference of two accuracies on the same records."""
    # Taken as independent, which is no narrower where both models are right on the same records more than by chance.
    return newcombe(int(one.sum()), len(one), int(other.sum()), len(other), CONFIDENCE)
