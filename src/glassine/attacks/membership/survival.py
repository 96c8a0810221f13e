"""Membership attacks on Cox regressions: how well a record's own time fits the hazard that its columns have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glassine.attacks.membership.gap import holdout_shift, read_sides, setting_of
from glassine.attacks.membership.outputs import LabelledRecords, attempt, generator
from glassine.attacks.membership.result import MembershipResult
from glassine.attacks.membership.score_thresholds import Setting, judge_scores
from glassine.attacks.membership.suite import MembershipAttacks, overlap_of
from glassine.attacks.outcome import Measured, NotApplicable
from glassine.data.labels import Sample
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError, UnsupportedModelError
from glassine.models.regression import RegressionModel
from glassine.records.arrays import AnyArray, Array, Bools, Indices

N_REFERENCES = 8
"""Reference models, whose mean score stands for that of a model without the record."""
MOST_ENTRIES = 20_000_000
"""Products of columns of all records in one fit: of more, fewer records are taken."""
ROUNDS = 30
"""Newton steps of a reference model; a Cox likelihood is concave, and mostly needs five."""
SLIGHT = 1e-4
"""Penalty of a reference model for each record, by columns of one standard deviation, so that those that hold no event
have finite coefficients."""
OF_CLASSES = NotApplicable("this attack is on classifiers; a Cox regression has attacks on its likelihood.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalTimes:
    """Columns and times of records."""

    design: Array  # The columns of the regression, shape (n, p)
    time: Array  # Times, shape (n,)
    event: Bools  # Whether the time is that of an event and not of the last observation, shape (n,)

    def take(self, rows: Indices | Bools) -> SurvivalTimes:
        """Return some of the records."""
        return SurvivalTimes(design=self.design[rows], time=self.time[rows], event=self.event[rows])


def attack_survival(
    model: RegressionModel,
    data: Sample | LabelledRecords,
    *,
    event: str,
    holdout: Sample | LabelledRecords,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> MembershipAttacks:
    """Attack membership in a Cox regression.

    An attacker who knows a record's columns, time and event, and a sample of the population, scores the record by its
    likelihood under the published coefficients, with the baseline hazard of that sample (Breslow). The first attack
    takes this score, in place of a loss. The second takes what it exceeds the mean of eight reference models by, which
    are fitted on draws of the sample: to first order that is what the record moved the coefficients. Half of the
    holdout is the attacker's sample; the other half are the non-members that are judged.

    Parameters
    ----------
    model : RegressionModel
        A Cox regression without strata, weights or records of intervals.
    data, holdout : Sample
        Training records, n of them, and others of the same population; the target are the times, at least 0.
    event : str
        Column of 0 and 1, 1 for the time of an event; or of 1 and 2, 2 for an event, as R's ``Surv`` reads them.
    confidence, random_state
        As for :func:`~glassine.attacks.attack_membership`.

    Returns
    -------
    MembershipAttacks
        ``best_loss`` and ``lira_offline`` are the attacks on the likelihood; others do not apply.

    Raises
    ------
    InvalidDataError
        If the data lack a column, times and events are no numbers, or the holdout lacks complete records.

    References
    ----------
    Breslow: discussion of Cox, Regression models and life-tables, 1972.
    """
    rng = generator(random_state)
    sides = inside, outside = read_sides(data, holdout)
    shift = holdout_shift(*sides, random_state=rng)
    setting = setting_of(confidence, rng, shift.value if isinstance(shift, Measured) else None)
    if outside.number < 8:
        raise InvalidDataError("attacks on times need at least eight held-out records.", remedy="Give more of them.")
    order = rng.permutation(outside.number)
    population, judged = (outside.take(outside.of(np.sort(part))) for part in np.array_split(order, 2))
    code = event_code(*(_events(side, event) for side in sides))
    read = [survival_times(model, side, event, code) for side in (inside, judged, population)]
    read[2] = read[2].take(~np.isnan(read[2].design).any(axis=1) & ~np.isnan(read[2].time))
    if not len(read[2].time):
        raise InvalidDataError(
            "no record of the attacker's half of the holdout has its time and every column.",
            remedy="Give more of them.",
        )
    coefficients = np.array([effect.coefficients[0] for effect in model.effects])

    def by_likelihood() -> MembershipResult:
        scores = [_likelihood(times, read[2], coefficients) for times in read[:2]]
        return _judged("likelihood attack on times", (inside, judged), scores, setting)

    def by_references() -> MembershipResult:
        if unlike := _unlike(model):
            raise UnsupportedModelError(unlike, remedy="Attack it by the likelihood alone.")
        fits = [
            cox_coefficients(read[2].take(rng.integers(0, len(read[2].time), len(read[2].time))))
            for _ in range(N_REFERENCES)
        ]
        scores = [
            _likelihood(times, read[2], coefficients)
            - np.mean([_likelihood(times, read[2], own) for own in fits], axis=0)
            for times in read[:2]
        ]
        return _judged("likelihood-ratio attack on times", (inside, judged), scores, setting)

    return MembershipAttacks(
        n_members=inside.number,
        n_nonmembers=judged.number,
        confidence=setting.confidence,
        overlap=overlap_of(inside, outside),
        shift=shift,
        gap=OF_CLASSES,
        best_loss=attempt(by_likelihood),
        black_box=OF_CLASSES,
        label_only=OF_CLASSES,
        lira_online=OF_CLASSES,
        lira_offline=attempt(by_references),
        rmia_online=OF_CLASSES,
        rmia_offline=OF_CLASSES,
        leaf_outcomes=OF_CLASSES,
        counts=OF_CLASSES,
        midpoint=OF_CLASSES,
        vulnerability=OF_CLASSES,
        losses=OF_CLASSES,
    )


def _unlike(model: RegressionModel) -> str:
    """Return why reference models are not like a regression; empty if they are."""
    return f"reference models with {', '.join(model.fit.special)} are not fitted." if model.fit.special else ""


def _judged(
    attack: str, sides: tuple[LabelledRecords, LabelledRecords], scores: list[Array], setting: Setting
) -> MembershipResult:
    members, others = (side.mean(np.nan_to_num(own)) for side, own in zip(sides, scores, strict=True))
    return judge_scores(attack, members, others, setting, gap=None)


def event_code(*columns: AnyArray) -> int:
    """Return which value of a column marks an event, given its parts: 1 of 0 and 1, and 2 of 1 and 2, as R reads them.

    Examples
    --------
    >>> event_code(np.array([1, 2, 2, 1])), event_code(np.array([True, False]))
    (2, 1)
    """
    if any(column.dtype.kind not in "biuf" for column in columns):
        raise InvalidDataError("the events must be numbers.", remedy="Name a column of 0 and 1, 1 for an event.")
    values = {float(value) for column in columns for value in np.unique(column[~is_missing(column)])}
    if not (values <= {0.0, 1.0} or values <= {1.0, 2.0}):
        raise InvalidDataError(
            "the column of events must hold 0 and 1, 1 for an event, or 1 and 2, 2 for an event.",
            remedy="Code other marks as 0 and 1.",
        )
    return 2 if 2.0 in values else 1


def _events(records: LabelledRecords, event: str) -> AnyArray:
    columns = records.columns(records.names or (event,))
    if event not in columns:
        raise InvalidDataError(f"the records lack the column {event!r:.60} of events.", remedy="Name a column of 0/1.")
    return np.asarray(columns[event])


def survival_times(model: RegressionModel, records: LabelledRecords, event: str, code: int = 1) -> SurvivalTimes:
    """Return the columns, times and events of records; a record that lacks one has NaN, and no event."""
    columns = records.columns(records.names or (*model.attributes, event))
    if np.asarray(records.target).dtype.kind not in "biuf":
        raise InvalidDataError("the times must be numbers.", remedy="Name the columns of times and of events.")
    time = np.asarray(records.target, dtype=float)
    return SurvivalTimes(design=model.design(columns), time=time, event=_events(records, event) == code)


def _likelihood(times: SurvivalTimes, population: SurvivalTimes, coefficients: Array) -> Array:
    """Return the log-likelihood of records but for their own hazard of time, shape (n,); NaN where one has a gap."""
    complete = ~np.isnan(population.design).any(axis=1) & ~np.isnan(population.time)
    whole = population.take(complete)
    middle = whole.design.mean(axis=0)
    risks = np.exp(np.clip((whole.design - middle) @ coefficients, -50, 50))
    at, hazard = _breslow(whole.time, whole.event, risks)
    cumulative = np.concatenate([[0.0], np.cumsum(hazard)])[np.searchsorted(at, times.time, side="right")]
    scores = np.clip((times.design - middle) @ coefficients, -50, 50)
    return np.asarray(np.where(np.isnan(times.time), np.nan, times.event * scores - cumulative * np.exp(scores)))


def _breslow(time: Array, event: Bools, risks: Array) -> tuple[Array, Array]:
    """Return the times of events and the steps of the baseline hazard at them, shape (steps,) each."""
    order = np.argsort(time)
    at, counts = np.unique(time[event], return_counts=True)
    left = np.cumsum(risks[order][::-1])[::-1]
    first = np.searchsorted(time[order], at, side="left")
    return at, counts / left[first] if len(at) else np.zeros(0)


def cox_coefficients(times: SurvivalTimes) -> Array:
    """Return the coefficients of a Cox regression by Newton's method, ties as Breslow has them, shape (p,)."""
    complete = np.flatnonzero(~np.isnan(times.design).any(axis=1) & ~np.isnan(times.time))
    p = times.design.shape[1]
    complete = complete[: max(2, MOST_ENTRIES // max(1, p * p))]
    own = times.take(complete[np.argsort(-times.time[complete], kind="stable")])
    x, event = own.design - own.design.mean(axis=0), own.event
    # In standard deviations, so that the units of a column change no attack.
    spread = x.std(axis=0)
    spread[spread <= 1e-12 * np.abs(own.design).max(axis=0)] = 1.0
    x = x / spread
    # The last record at each time: with times falling, all up to it are at risk.
    last = np.searchsorted(-own.time, -own.time, side="right") - 1
    penalty = SLIGHT * len(x)
    b = np.zeros(p)
    value = -np.inf
    step = np.zeros(p)
    for _ in range(ROUNDS):
        scores = np.clip(x @ (b + step), -50, 50)
        risks = np.exp(scores)
        total = np.cumsum(risks)[last]
        now = float((scores - np.log(total))[event].sum() - penalty * ((b + step) ** 2).sum() / 2)
        if not now >= value - 1e-9 * abs(value):
            step = step / 2
            continue
        b, gain, value = b + step, now - value, now
        if gain < 1e-9 * (1 + abs(value)):
            break
        first = (np.cumsum(risks[:, None] * x, axis=0)[last] / total[:, None])[event]
        second = np.cumsum((risks[:, None, None] * x[:, :, None] * x[:, None, :]), axis=0)[last] / total[:, None, None]
        information = second[event].sum(axis=0) - first.T @ first + penalty * np.eye(p)
        gradient = x[event].sum(axis=0) - first.sum(axis=0) - penalty * b
        step = np.linalg.solve(information, gradient)
    return np.asarray(b / spread)
