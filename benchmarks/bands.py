"""How often the noise bands of private additive models hold what the same fit without noise gives.

``python benchmarks/bands.py`` fits each dataset privately, and again with the same base, bins, rounds and penalties
but without noise in the sums of residuals. It prints how often nominal bands of 90 % hold the score without noise.
With ``--anew`` the second fit chooses its penalties by its own sums. Data are read from GLASSINE_DATA.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.additive_data import LOADERS, Additive
from benchmarks.ebm_study import training_of
from glassine.learners.additive.additive_budget import GaussianBudget
from glassine.learners.additive.additive_fit import AdditivePlan, Private, fit_model
from glassine.learners.additive.penalized import PROOF as PENALIZED
from glassine.learners.additive.smoothing import Smoother
from glassine.models import AdditiveModel
from glassine.models.shapes import bands
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import SEEDED, Paid
from glassine.sealed import draws
from glassine.sealed.binned import AdditiveStore
from glassine.sealed.gaussian import Drawing, GaussianOracle, SumsQuery
from glassine.sealed.noisy_sums import Portion, SumsRelease

SETS = ("adult", "telco", "california", "wine", "elevators")
COVERAGE, DELTA = 0.9, 1e-6

Tape = list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _TapedDrawing:
    """A release whose answers are taped, given again, or without noise."""

    drawing: Drawing
    tape: Tape
    mode: str

    @property
    def units(self) -> int:
        return self.drawing.units

    @property
    def deviation(self) -> float:
        return self.drawing.deviation

    @property
    def precision(self) -> float:
        return self.drawing.precision

    def ask(self, question: SumsQuery) -> Any:
        honest = draws.gaussian
        if self.mode == "exact":
            draws.gaussian = lambda exact, noise, randomness: np.asarray(exact, dtype=np.int64) / noise.units
        try:
            answer = self.drawing.ask(question)
        finally:
            draws.gaussian = honest
        if self.mode == "replayed":
            return self.tape.pop(0)
        if self.mode == "noisy":
            self.tape.append(answer)
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class _TapedOracle:
    """An oracle whose answers before the rounds are taped or given again; given again, the rounds have no noise."""

    oracle: GaussianOracle
    tape: Tape
    mode: str

    @property
    def whole(self) -> Portion:
        return self.oracle.whole

    @property
    def paid(self) -> Paid:
        return self.oracle.paid

    def release(self, release: SumsRelease, portion: Portion) -> _TapedDrawing:
        rounds = release.proof == PENALIZED
        mode = self.mode if not rounds else "exact" if self.mode == "replayed" else "free"
        return _TapedDrawing(drawing=self.oracle.release(release, portion), tape=self.tape, mode=mode)


@contextmanager
def penalties(tape: Tape, mode: str) -> Iterator[None]:
    """Tape the penalties that smoothers choose, or give them again."""
    honest = Smoother._choose

    def choose(self: Smoother, sums: Any, slope: float) -> Any:
        if mode == "replayed":
            scale, place = tape.pop(0)
        else:
            scale, prior = honest(self, sums, slope)
            place = next(i for i, other in enumerate(self._priors) if other is prior)
            tape.append((scale, place))
        return scale, self._priors[place]

    Smoother._choose = choose  # type: ignore[method-assign]  # a study of the smoother, not a use of it
    try:
        yield
    finally:
        Smoother._choose = honest  # type: ignore[method-assign]


def pair_of_fits(data: Additive, epsilon: float, seed: int, *, anew: bool) -> tuple[AdditiveModel, AdditiveModel]:
    """Return a private model, and that of the same fit without noise in its rounds."""
    records, training = training_of(data, np.arange(len(data.target)))
    plan = AdditivePlan.of(training, algorithm="penalized", accounting="gdp", bins=None, monotone=None)
    releases: Tape = []
    chosen: Tape = []
    models = []
    for mode in ("noisy", "replayed"):
        paid = Paid(randomness=Randomness.of(seed), caveats=(SEEDED,))
        budget = GaussianBudget.of(epsilon, DELTA)
        oracle = GaussianOracle(AdditiveStore(records), budget.mu, paid)
        taped: Any = _TapedOracle(oracle=oracle, tape=releases, mode=mode)
        with penalties(chosen if mode == "noisy" or not anew else [], "noisy" if anew else mode):
            privacy = Private(budget=budget, oracle=taped)
            models.append(fit_model(training, plan, privacy, source="study", progress=None))
    return models[0], models[1]


def covered(private: AdditiveModel, exact: AdditiveModel) -> tuple[float, float]:
    """Return the shares of bins, and of records in bins, whose band holds the score without noise."""
    hits, weights = [], []
    for term, other in zip(private.terms, exact.terms, strict=True):
        low, high = bands(term, COVERAGE) or (term.scores, term.scores)
        wide = high[..., 0] > low[..., 0]
        inside = (low[..., 0] <= other.scores[..., 0]) & (other.scores[..., 0] <= high[..., 0])
        hits += inside[wide].tolist()
        weights += np.maximum(np.asarray(term.weights), 0.0)[wide].tolist()
    share = float(np.average(hits, weights=weights)) if sum(weights) else float("nan")
    return float(np.mean(hits)), share


def main() -> None:
    """Print the coverage on each dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0, 4.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--anew", action="store_true")
    options = parser.parse_args()
    for name in options.sets.split(","):
        data = LOADERS[name]()
        for epsilon in options.epsilon:
            found = [covered(*pair_of_fits(data, epsilon, seed, anew=options.anew)) for seed in range(options.seeds)]
            bins, records = np.mean(found, axis=0)
            sys.stdout.write(f"{name:12} epsilon {epsilon:4g}: {bins:.1%} of bins, {records:.1%} of records\n")


if __name__ == "__main__":
    main()
