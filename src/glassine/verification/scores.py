"""Scores, which turn outputs into events that distinguish two datasets."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidParameterError, parameter
from glassine.records.arrays import Array, Bools
from glassine.verification.bounds import check_probability
from glassine.verification.features import Features, features_at, features_of
from glassine.verification.statistical_phases import Event, Refusal, Score

__all__ = ["CanaryLabel", "Distinguisher", "FixedEvent", "FixedThresholds", "Statistic", "score_of"]

Rate: TypeAlias = Callable[..., Array]

MOST_NAMES = 4000
"""Features that a distinguisher looks at, the most frequent ones."""

MOST_COLUMNS = 200
"""Features that its models get, those that separate the training runs best."""

FOLDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedEvent:
    """One event that is fixed before any run; all runs are counted."""

    holds: Callable[[Any], bool]  # From an output to a bool; callable
    name: str = "the event"  # For the result
    # Whether it may speak for either dataset; otherwise it is taken to speak for the second. Two events are then
    # counted, each with half of the error probability.
    either_way: bool = False

    @property
    def train_share(self) -> float:
        """No runs are needed."""
        return 0.0

    def keep(self, output: object) -> bool:
        """Return whether it occurred."""
        return bool(self.holds(output))

    def events(self, kept0: Sequence[Any], kept1: Sequence[Any], rate: Rate) -> tuple[Event, ...]:
        """Return the event, and its complement if that may also be evidence."""
        there = Event(name=self.name, occurs=lambda kept: np.array(kept, dtype=bool))
        if not self.either_way:
            return (there,)
        return there, Event(name=f"not: {self.name}", occurs=lambda kept: ~np.array(kept, dtype=bool))


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedThresholds:
    """Events "statistic at least t" at thresholds fixed before any run; all runs are counted, with a union bound."""

    # From an output to a number, higher under the second dataset. Not a number is below all thresholds; callable.
    statistic: Callable[[Any], float]
    thresholds: Sequence[float]  # Where to cut
    name: str = "statistic"  # For the result

    def __post_init__(self) -> None:
        cuts = np.asarray(self.thresholds, dtype=np.float64).ravel()
        if not cuts.size or np.isnan(cuts).any():
            raise InvalidParameterError(
                f"{parameter('thresholds')} must be numbers, at least one.", remedy="Drop or replace NaN."
            )

    @property
    def train_share(self) -> float:
        """No runs are needed."""
        return 0.0

    def keep(self, output: object) -> float:
        """Return the statistic."""
        return float(self.statistic(output))

    def events(self, kept0: Sequence[Any], kept1: Sequence[Any], rate: Rate) -> tuple[Event, ...]:
        """Return an event for each threshold."""
        return tuple(_above(self.name, float(cut), flipped=False) for cut in self.thresholds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """The event "statistic at least t", or below it, with threshold and direction chosen on training runs."""

    statistic: Callable[[Any], float]  # From an output to a number; callable
    name: str = "statistic"  # For the result
    train_share: float = 0.3  # Share of the runs on which the threshold is chosen, in (0, 1)

    def __post_init__(self) -> None:
        check_probability(self.train_share, "train_share")

    def keep(self, output: object) -> float:
        """Return the statistic."""
        return float(self.statistic(output))

    def events(self, kept0: Sequence[Any], kept1: Sequence[Any], rate: Rate) -> tuple[Event, ...]:
        """Return the event that is best on the training runs."""
        first, second = np.asarray(kept0, dtype=np.float64), np.asarray(kept1, dtype=np.float64)
        _, cut, flipped = _best_cut(first, second, rate)
        return (_above(self.name, cut, flipped=flipped),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinguisher:
    """A learned test: the best threshold of one feature, or of a model of many, chosen on training runs."""

    # From an output to a mapping of names to numbers; a name that is absent counts as 0; callable, default=features_of.
    features: Callable[[Any], Mapping[str, float]] = features_of
    # Classifiers of features that compete with single features: "logistic" adds up many weak traces, "boosting" also
    # finds their combinations. May be empty.
    models: Sequence[str] = ("logistic", "boosting")
    train_share: float = 0.5  # Share of the runs on which it learns, in (0, 1)
    # Records at which a fitted learner is asked besides: those by which the datasets differ; shape (m, d), optional.
    records: Any = None

    sees_refusals: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_probability(self.train_share, "train_share")
        unknown = set(self.models) - set(_MODELS)
        if unknown:
            raise InvalidParameterError(
                f"{parameter('models')} must be among {', '.join(_MODELS)}, got {sorted(unknown)}."
            )

    def keep(self, output: object) -> Features:
        """Return the features."""
        if isinstance(output, Refusal):
            return features_of(output)
        features = dict(self.features(output))
        return features if self.records is None else features | features_at(output, self.records)

    def events(self, kept0: Sequence[Any], kept1: Sequence[Any], rate: Rate) -> tuple[Event, ...]:
        """Return the event that is best on the training runs; those of models are judged out of fold."""
        table = _Features.of(kept0, kept1)
        first, second = table.matrix(kept0), table.matrix(kept1)
        best = (-np.inf, _above("nothing", np.inf, flipped=False))
        gaps = np.array([_gap(first[:, j], second[:, j]) for j in range(len(table.names))])
        order = np.argsort(-gaps, kind="stable")[:MOST_COLUMNS]
        for j in order.tolist():
            quality, cut, flipped = _best_cut(first[:, j], second[:, j], rate)
            if quality > best[0]:
                best = quality, _column_event(table.names[j], cut, flipped)
        if len(order) and min(len(kept0), len(kept1)) >= 2 * FOLDS:
            chosen = _Features(names=tuple(table.names[j] for j in order.tolist()))
            X = np.vstack([first[:, order], second[:, order]])
            y = np.repeat([0, 1], [len(kept0), len(kept1)])
            for name in self.models:
                best = max(best, _model_event(name, chosen, X, y, rate), key=lambda event: event[0])
        return (best[1],)


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryLabel:
    """The event "the label where a canary lies is that of the canary", fixed before any run."""

    records: Any  # One record of each canary; shape (m, d)
    label: object

    sees_refusals: ClassVar[bool] = True

    @property
    def train_share(self) -> float:
        """No runs are needed."""
        return 0.0

    def keep(self, output: object) -> Features:
        """Return what the learner says of the canaries."""
        return features_of(output) if isinstance(output, Refusal) else features_at(output, self.records)

    def events(self, kept0: Sequence[Any], kept1: Sequence[Any], rate: Rate) -> tuple[Event, ...]:
        """Return the event."""
        name = f"record label {self.label}"
        return (
            Event(
                name=f"a canary's cell has the label {self.label!r}",
                occurs=lambda kept: np.array([row.get(name, 0.0) > 0 for row in kept], dtype=np.bool_),
            ),
        )


def score_of(score: object) -> Score:
    """Return the score that a parameter stands for: None, a function of an output, or a score."""
    if score is None:
        return Distinguisher()
    if isinstance(score, Score):
        return score
    if callable(score):
        return Statistic(statistic=score, name=getattr(score, "__name__", "statistic"))
    raise InvalidParameterError(
        f"{parameter('score')} must be None, a function from an output to a number, or a score, got {score!r}.",
        remedy="See glassine.verification.scores.",
    )


def _above(name: str, cut: float, *, flipped: bool) -> Event:
    def occurs(kept: Sequence[Any]) -> Bools:
        values = np.asarray(kept, dtype=np.float64)
        return np.asarray(values < cut if flipped else values >= cut, dtype=np.bool_)

    return Event(name=f"{name} {'<' if flipped else '>='} {cut:.6g}", occurs=occurs)


def _column_event(column: str, cut: float, flipped: bool) -> Event:
    simple = _above(column.strip(), cut, flipped=flipped)
    return Event(name=simple.name, occurs=lambda kept: simple.occurs([row.get(column, 0.0) for row in kept]))


def _cuts(values: Array) -> Array:
    """Return candidate thresholds: all values where they are few, else evenly spread ones and both tails."""
    finite = np.sort(values[~np.isnan(values)])
    distinct = np.unique(finite)
    if distinct.size <= 64:
        return distinct
    tail = 2 ** np.arange(int(np.log2(finite.size)))
    places = np.concatenate([np.linspace(0, finite.size - 1, 48).astype(int), tail, finite.size - 1 - tail])
    return np.unique(finite[places])


def _positives(values: Array, cuts: Array) -> Array:
    finite = np.sort(values[~np.isnan(values)])
    return np.asarray(finite.size - np.searchsorted(finite, cuts, side="left"), dtype=np.float64)


def _gap(first: Array, second: Array) -> float:
    """Return the largest difference of the two empirical distribution functions at the candidate thresholds."""
    cuts = _cuts(np.concatenate([first, second]))
    shares = _positives(first, cuts) / max(1, first.size) - _positives(second, cuts) / max(1, second.size)
    return float(np.abs(shares).max(initial=0.0))


def _best_cut(first: Array, second: Array, rate: Rate) -> tuple[float, float, bool]:
    """Return quality, threshold and direction of the best event of one column."""
    cuts = _cuts(np.concatenate([first, second]))
    if not cuts.size:
        return -np.inf, np.inf, False
    positive0, positive1 = _positives(first, cuts), _positives(second, cuts)
    upwards = rate(positive0, second.size - positive1)
    downwards = rate(first.size - positive0, positive1)
    i, j = int(np.argmax(upwards)), int(np.argmax(downwards))
    if upwards[i] >= downwards[j]:
        return float(upwards[i]), float(cuts[i]), False
    return float(downwards[j]), float(cuts[j]), True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Features:
    """Names of features, as the columns of a matrix."""

    names: tuple[str, ...]
    _at: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_at", {name: j for j, name in enumerate(self.names)})

    @classmethod
    def of(cls, *samples: Sequence[Any]) -> _Features:
        """Take the names that occur most often; those that occur once reveal nothing."""
        counts = Counter(name for sample in samples for row in sample for name in row)
        return cls(names=tuple(name for name, count in counts.most_common(MOST_NAMES) if count > 1))

    def matrix(self, rows: Sequence[Any]) -> Array:
        """Return one row for each mapping."""
        out = np.zeros((len(rows), len(self.names)))
        at = self._at
        for i, row in enumerate(rows):
            for name, value in row.items():
                j = at.get(name)
                if j is not None:
                    out[i, j] = value
        return out


class _Squash:
    """Columns around their median in units of their spread, through an arc tangent: far values do not drown others."""

    def __init__(self, X: Array) -> None:
        finite = np.nan_to_num(X, posinf=1e300, neginf=-1e300)
        self.middle = np.median(finite, axis=0)
        low, high = np.quantile(finite, [0.1, 0.9], axis=0)
        spread = high - low
        self.spread = np.where(spread > 0, spread, np.maximum(np.ptp(finite, axis=0), 1e-300))

    def __call__(self, X: Array) -> Array:
        with np.errstate(over="ignore"):
            scaled = (np.nan_to_num(X, posinf=1e300, neginf=-1e300) - self.middle) / self.spread
        return np.asarray(np.arctan(scaled), dtype=np.float64)


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=0.3, max_iter=200)


def _boosting() -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(n_estimators=40, max_depth=3, subsample=0.7, max_features=0.5, random_state=0)


_MODELS: dict[str, Callable[[], Any]] = {"logistic": _logistic, "boosting": _boosting}


def _model_event(name: str, table: _Features, X: Array, y: npt.NDArray[np.int_], rate: Rate) -> tuple[float, Event]:
    """Fit a classifier; its threshold is chosen from predictions of parts of the training runs that it did not see."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    squash = _Squash(X)
    inputs = squash(X)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        # A fit that has not converged is a worse test, not a wrong one.
        warnings.simplefilter("ignore")
        held_out = cross_val_predict(_MODELS[name](), inputs, y, cv=folds, method="predict_proba")[:, 1]
        fitted = _MODELS[name]().fit(inputs, y)
    quality, cut, flipped = _best_cut(held_out[y == 0], held_out[y == 1], rate)
    simple = _above(f"{name} model of {len(table.names)} features", cut, flipped=flipped)

    def occurs(kept: Sequence[Any]) -> Bools:
        return simple.occurs(fitted.predict_proba(squash(table.matrix(kept)))[:, 1])

    return quality, Event(name=simple.name, occurs=occurs)
