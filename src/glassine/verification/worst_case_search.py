"""The search for what looks worst: few runs of everything, more of what stands out, and fresh runs of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from glassine.errors import InvalidDataError
from glassine.privacy.conversions import mu_from_epsilon
from glassine.privacy.events import DiscreteGaussianNoise, GaussianNoise
from glassine.verification.bounds import GaussianBound
from glassine.verification.features import REFUSED
from glassine.verification.same_records import EstimatorSource
from glassine.verification.scores import CanaryLabel, Distinguisher
from glassine.verification.statistical import LowerBound, VerificationPlan
from glassine.verification.statistical_phases import OutputSource, Progress, Refusal, Relation
from glassine.verification.trials import (
    Crowd,
    KeptRuns,
    StatedNoise,
    Trial,
    draw,
    guesses,
    judge,
    quality,
    with_records,
)

FEWEST = 4
"""Preliminary runs for a pair below which nothing stands out."""

GLANCES = 3
"""Runs with an odd record: what is read otherwise than it was shows in each of them."""

SHARED = 10
"""Runs on a background that several odd records share."""

LEFT, AGAIN = 6, 160
"""Pairs with an odd record that are looked at again, and their total runs."""

TRAINED = 0.3
"""Share of the runs for the bound that choose the event at least, preliminary runs of the same datasets included."""

SUMS = (" errors", " total")
"""Sums over a whole tree or rule list: they change little with one record, and much where the others change."""

MOST_CHANGED = 10.0
"""What one such sum, or a refusal, counts at most."""

LEAST = 0.2
"""Share of the preliminary runs that pairs with odd records leave to all else at least."""

MOST_RECORDS = 5000
"""Records of a group in a crowd at most."""

GAUSSIAN_RECORDS = 1500
"""Records beside a group of equal ones: so many that an additive model has terms."""

GAUSSIAN = "the certificate's events are Gaussian, so that its epsilon and delta allow this mu"


@dataclass(frozen=True, slots=True)
class _Lane:
    """Shares of the runs for the bound and of the error probability, which each kind of trial has for itself."""

    runs: float
    level: float


CROWDS, PAIRS, ODD, NOISE = _Lane(0.75, 5), _Lane(0.15, 1), _Lane(0.1, 1), _Lane(0.06, 1)
"""Crowds show little and need many runs; what a wrong reading or noise does is seen in few. The runs of ``NOISE`` come
on top of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """What looked worst, its bound, the bounds of all that was tested, what was tried, and what was refused."""

    case: Any
    bound: LowerBound
    bounds: tuple[tuple[str, LowerBound], ...]
    tried: tuple[tuple[str, float], ...]
    refused: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Case:
    """A trial, what is claimed in it, and its preliminary runs, in which single features compete."""

    trial: Trial
    plan: VerificationPlan
    drawn: KeptRuns | None = None
    quality: float = 0.0

    @property
    def strength(self) -> float:
        """What the runs so far would bound, relative to the claim."""
        return self.quality / self.plan.claim if self.plan.claim else self.quality

    def take(self, more: KeptRuns) -> None:
        """Add runs."""
        self.drawn = more if self.drawn is None else self.drawn + more
        self.quality = quality(_without_models(self.plan), self.trial, self.drawn)


@dataclass(slots=True, kw_only=True)
class Hunt:
    """A search under way."""

    # source, plan, relation, runs, seed, workers, progress: as in ``glassine.verification.neighbors.search``.
    source: OutputSource
    plan: VerificationPlan
    relation: Relation
    runs: int
    budget: int  # Total preliminary runs
    seed: int | None
    workers: int
    progress: Progress | None
    done: int = 0  # Runs so far
    _seeds: int = field(default=0)
    _tried: list[tuple[str, float]] = field(default_factory=list)
    _refused: list[str] = field(default_factory=list)

    def find(self, plain: Sequence[Any], odd: Sequence[Any], *, extras: bool) -> WorstCase:
        """Try everything, and bound what looks worst from fresh runs."""
        amplified, noise = self._extras(plain) if extras else ([], None)
        cost = GLANCES * len(odd) + SHARED * len({id(pair.d0) for pair in odd}) + AGAIN * bool(odd)
        # What odd records cost is fixed by their number; plain pairs get what they leave, and never nothing.
        rest = max(LEAST * self.budget, self.budget - cost)
        cases = [_Case(trial=pair, plan=self.plan) for pair in plain]
        lanes: list[tuple[_Lane, _Case | StatedNoise]] = [] if noise is None else [(NOISE, noise)]
        for case in amplified if len(amplified) > 1 else ():
            self._run(case, max(FEWEST, int(rest / 2 / len(amplified))))
            self._tried.append((case.trial.name, case.quality))
        if amplified:
            lanes.append((CROWDS, max(amplified, key=_power) if len(amplified) > 1 else amplified[0]))
        if cases:
            alone = len(cases) == 1 and not odd and not amplified
            lanes.append((PAIRS, cases[0] if alone else self._narrowed(cases, rest / (2 if amplified else 1))))
        strange = self._strange(odd) if odd else []
        if strange:
            lanes.append((ODD, self._narrowed(strange, AGAIN)))
        if not lanes:
            raise InvalidDataError("the learner refused every dataset.", remedy="Fit it to one of a pair to see why.")
        all_runs = sum(lane.runs for lane, _ in lanes if lane is not NOISE)
        level = sum(lane.level for lane, _ in lanes)
        bounds: list[tuple[Any, LowerBound]] = []
        for lane, chosen in lanes:
            # The error probability is divided among the kinds of trials, so that all bounds hold at once.
            confidence = 1 - lane.level / level * (1 - self.plan.confidence)
            if isinstance(chosen, StatedNoise):
                bound = self._noise(chosen, max(FEWEST, int(lane.runs * self.runs)), confidence)
            else:
                bound = self._final(chosen, max(FEWEST, int(lane.runs / all_runs * self.runs)), confidence)
            # All bounds hold at once.
            bounds.append(
                (chosen.trial if isinstance(chosen, _Case) else chosen, replace(bound, confidence=self.plan.confidence))
            )
            # One refutation is enough; more runs would only cost.
            if bound.violated:
                break
        best = max(bounds, key=lambda one: one[1].value / one[1].claim if one[1].claim else one[1].value)
        if self.progress is not None:
            self.progress(self.done, self.done)
        return WorstCase(
            case=best[0],
            bound=best[1],
            bounds=tuple((case.name, bound) for case, bound in bounds),
            tried=tuple(sorted(self._tried, key=lambda one: -one[1])),
            refused=tuple(self._refused),
        )

    def _final(self, best: _Case, runs: int, confidence: float) -> LowerBound:
        """Return the bound of a trial from fresh runs."""
        before = 0 if best.drawn is None else len(best.drawn.kept)
        # Runs that chose an event are never counted.
        more = 0 if best.trial.canaries > 1 else max(0, int(TRAINED * runs) - before)
        plan = with_records(replace(best.plan, confidence=confidence), best.trial)
        # The guess of several canaries is fixed; the preliminary runs say which way it speaks.
        train = self._draw(best.trial, plan, more, balanced=True)
        test = self._draw(best.trial, plan, runs - more)
        if best.drawn is not None:
            train = best.drawn + train
        relation = best.trial.differs(self.relation)
        return judge(plan, best.trial, train, test, f"{relation} ({self.relation})", self._assumptions)

    @property
    def _assumptions(self) -> tuple[str, ...]:
        return ("runs are independent",) if self.seed is None else ("seeded runs are like independent ones",)

    def _narrowed(self, cases: Sequence[_Case], budget: float) -> _Case:
        """Return the case that stands out, after rounds in which the better quarter gets on."""
        left = list(cases)
        # Successive halving, by quarters: each round spends the same on fewer cases.
        rounds = max(1, math.ceil(math.log(len(left), 4)))
        for _ in range(rounds):
            each = max(FEWEST, int(budget / rounds / len(left)))
            for case in left:
                self._run(case, each)
            left.sort(key=lambda case: -case.strength)
            keep = max(1, math.ceil(len(left) / 4))
            self._tried += [(case.trial.name, case.quality) for case in left[keep:]]
            left = left[:keep]
        self._tried += [(case.trial.name, case.quality) for case in left]
        return left[0]

    def _strange(self, odd: Sequence[Any]) -> list[_Case]:
        """Return the pairs whose odd record changes most of what is published, by a few runs of each."""
        backgrounds: dict[int, list[Any]] = {}
        for pair in odd:
            backgrounds.setdefault(id(pair.d0), []).append(pair)
        ranked: list[tuple[float, _Case]] = []
        for pairs in backgrounds.values():
            outputs = self._outputs(pairs[0], False, SHARED)
            if all(map(_is_refusal, outputs)) and pairs[0].container not in self._refused:
                self._refused.append(pairs[0].container)
            for pair in pairs:
                there = self._outputs(pair, True, GLANCES)
                if all(map(_is_refusal, (*outputs, *there))):
                    continue
                case = _Case(trial=pair, plan=self.plan)
                ranked.append((_changed(outputs, there), case))
        ranked.sort(key=lambda one: -one[0])
        self._tried += [(case.trial.name, 0.0) for _, case in ranked[LEFT:]]
        return [case for _, case in ranked[:LEFT]]

    def _outputs(self, pair: Any, there: bool, runs: int) -> list[Any]:
        """Return what is kept of runs on one of the two datasets."""
        fixed = _Fixed(name=pair.name, data=pair.d1 if there else pair.d0)
        return self._draw(fixed, self.plan, runs).kept

    def _run(self, case: _Case, runs: int) -> None:
        case.take(self._draw(case.trial, with_records(case.plan, case.trial), runs, balanced=True))

    def _draw(self, trial: Trial, plan: VerificationPlan, runs: int, *, balanced: bool = False) -> KeptRuns:
        before, total = self.done, max(self.runs + self.budget, self.done + runs)
        progress = self.progress

        def shifted(more: int, _: int) -> None:
            if progress is not None:
                progress(before + more, total)

        outcome = draw(
            self.source, plan, trial, runs, seed=self._seed(), balanced=balanced, workers=self.workers, progress=shifted
        )
        self.done += runs
        return outcome

    def _noise(self, noise: StatedNoise, runs: int, confidence: float) -> LowerBound:
        """Return the bound on the epsilon of published counts from fresh runs."""
        plan = replace(self.plan, score=noise, confidence=confidence)
        kept = self._draw(_Fixed(name=noise.name, data=noise.dataset), plan, runs).kept
        return noise.bound(kept, plan, self._assumptions)

    def _seed(self) -> int | None:
        self._seeds += 1
        if self.seed is None:
            return None
        # A seed of its own for each use: the final runs share none with the preliminary ones.
        return int(np.random.SeedSequence([self.seed, self._seeds]).generate_state(1)[0])

    def _extras(self, plain: Sequence[Any]) -> tuple[list[_Case], StatedNoise | None]:
        """Return what follows from a first fit: canaries sized by the claim, and the noise that it states."""
        if not isinstance(self.source, EstimatorSource) or not plain or self.plan.claim is None:
            return [], None
        # The background with the most values.
        X, y = max((pair.d0 for pair in plain), key=lambda d0: (len(_varying(d0[0])), len(d0[1])))
        fitted = self.source.draw((X, y), self._seed())
        self.done += 1
        certificate = getattr(fitted, "certificate_", None)
        if isinstance(fitted, Refusal) or certificate is None:
            return [], None
        noise = StatedNoise.stated_by(fitted, (X, y))
        labels = _two_labels(plain)
        if labels is None or not len(_varying(X)):
            return [], noise
        events = certificate.events
        if events and all(isinstance(event, DiscreteGaussianNoise | GaussianNoise) for event in events):
            mu = mu_from_epsilon(certificate.epsilon, certificate.delta)
            plan = replace(self.plan, bound=GaussianBound(), claim=mu, assumptions=(GAUSSIAN,))
            return [_Case(trial=_group(X, labels, mu), plan=plan)], noise
        epsilon = self.plan.claimed_epsilon
        if epsilon and not self.plan.delta and self.plan.claim == epsilon:
            columns = _varying(X)
            crowds = [_crowd(X, columns[:width], labels, epsilon) for width in (1, 2) if width <= len(columns)]
            return [
                _Case(trial=crowd, plan=replace(self.plan, score=CanaryLabel(records=crowd.cells, label=crowd.label)))
                for crowd in crowds
            ], noise
        return [], noise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fixed:
    """One dataset, for any coins."""

    name: str
    data: Any
    canaries: int = 1
    distance: int = 1
    records: Any = None

    def dataset(self, coins: object) -> Any:
        return self.data

    def differs(self, relation: Relation) -> str:
        return "one dataset"


def _power(case: _Case) -> int:
    """Return how much a crowd shows: in many cells the rarer label is rarer, and each guess says more."""
    return 0 if case.drawn is None else guesses(case.plan, case.trial, case.drawn) * case.trial.canaries


def _without_models(plan: VerificationPlan) -> VerificationPlan:
    """Return the plan that looks at single features alone: of few runs a model learns nothing."""
    if isinstance(plan.score, Distinguisher):
        return replace(plan, score=replace(plan.score, models=()))
    return plan


def _is_refusal(kept: Any) -> bool:
    return any(name.startswith(REFUSED) for name in kept)


def _changed(outputs: Sequence[Any], there: Sequence[Any]) -> float:
    """Return how much what is published differs: refusals, sums over a whole model, and parts that are there or not."""
    refused = abs(np.mean([_is_refusal(row) for row in outputs]) - np.mean([_is_refusal(row) for row in there]))
    total = MOST_CHANGED * float(refused)
    for name in SUMS:
        before, after = ([row.get(name, 0.0) for row in rows] for rows in (outputs, there))
        total += min(MOST_CHANGED, abs(float(np.mean(before) - np.mean(after))) / (float(np.std(before)) + 1e-9))
    parts = change = 0.0
    for name in {name for row in (*outputs, *there) for name, value in row.items() if value == 1.0}:
        before, after = ([row.get(name, 0.0) for row in rows] for rows in (outputs, there))
        if set(before) | set(after) <= {0.0, 1.0} and not name.startswith("whole"):
            change += abs(sum(before) / len(before) - sum(after) / len(after))
            parts += sum(before) / len(before) + sum(after) / len(after)
    return total + 2 * change / max(parts, 1.0)


def _varying(X: Any) -> list[int]:
    """Return the columns of an array that hold two values or more."""
    return [j for j in range(X.shape[1]) if len(set(X[:, j].tolist())) > 1]


def _two_labels(plain: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return two labels of the pairs."""
    labels: dict[Any, None] = {}
    for pair in plain:
        labels.update(dict.fromkeys(pair.d1[1].tolist()))
    return (*labels,)[:2] if len(labels) > 1 else None


def _corners(X: Any, columns: Sequence[int]) -> Any:
    """Return records that hold the extreme values of some columns in every combination."""
    corners = [X[0].tolist()]
    for j in columns:
        values = X[:, j].tolist()
        try:
            ends = min(values), max(values)
        except TypeError:
            first, second, *_ = dict.fromkeys(values)
            ends = first, second
        corners = [[*row[:j], value, *row[j + 1 :]] for row in corners for value in ends]
    out = np.empty((len(corners), X.shape[1]), dtype=X.dtype)
    for i, row in enumerate(corners):
        out[i] = row
    return out


def _crowd(X: object, columns: Sequence[int], labels: tuple[Any, Any], epsilon: float) -> Crowd:
    """Return canaries in cells of their own, each against as many records of another label, 2 / epsilon."""
    # Among all models few have the rarer label in a cell. Where it is published, it most often comes from the canary,
    # and the odds that the canary is in are nearly all that the claim allows.
    cells = _corners(X, columns)
    # By group privacy so many records may change the odds by exp(2): a rare label then shows in few runs.
    distance = min(MOST_RECORDS, max(1, round(2 / epsilon)))
    y = np.empty(len(cells) * distance, dtype=np.asarray(labels).dtype if _plain(labels) else object)
    y[:] = labels[0]
    return Crowd(
        name=f"{len(cells)} canaries of {distance} records against as many in each cell",
        background=(np.repeat(cells, distance, axis=0), y),
        cells=cells,
        label=labels[1],
        distance=distance,
    )


def _group(X: Any, labels: tuple[Any, Any], mu: float) -> Crowd:
    """Return one canary of several records whose label no other record has, for which about mu = 1 is claimed."""
    distance = min(MOST_RECORDS, max(1, round(1 / mu)))
    background = np.resize(X, (max(len(X), GAUSSIAN_RECORDS), X.shape[1]))
    y = np.empty(len(background), dtype=np.asarray(labels).dtype if _plain(labels) else object)
    y[:] = labels[0]
    return Crowd(
        name=f"{distance} equal records with a label that no other has",
        background=(background, y),
        cells=X[:1],
        label=labels[1],
        distance=distance,
    )


def _plain(labels: tuple[Any, Any]) -> bool:
    """Whether an array holds two labels as they are."""
    return np.asarray(labels).tolist() == list(labels) and type(labels[0]) is type(labels[1])
