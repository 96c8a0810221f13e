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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.additive_data import LOADERS, Additive
from benchmarks.ebm_study import training_of
from glassine.learners.additive.boosting import Boosting
from glassine.learners.additive.budget import GaussianBudget, NoisySums, Portion, Portions
from glassine.learners.additive.fitting import Plan, Private, fit_model
from glassine.learners.additive.smoothing import Smoother
from glassine.models import AdditiveModel
from glassine.models.shapes import bands
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import SEEDED, Paid

SETS = ("adult", "telco", "california", "wine", "elevators")
COVERAGE, DELTA = 0.9, 1e-6

Tape = list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _TapedSums:
    """Sums that are released with noise and taped, given from the tape again, or given without noise."""

    noisy: NoisySums
    tape: Tape
    mode: str

    @property
    def units(self) -> int:
        return self.noisy.units

    @property
    def deviation(self) -> float:
        return self.noisy.deviation

    @property
    def precision(self) -> float:
        return self.noisy.precision

    def release(self, sums: Any) -> Any:
        if self.mode == "exact":
            return np.asarray(sums, dtype=np.int64) / self.units
        if self.mode == "replayed":
            return self.tape.pop(0)
        self.tape.append(self.noisy.release(sums))
        return self.tape[-1]

    def draw(self, shape: tuple[int, ...]) -> Any:
        raise NotImplementedError("penalised fits alone are compared")

    def event(self, name: str, values: int, *, proof: str, count: int = 1) -> None:
        """State nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TapedPortion:
    """A portion whose releases are taped; those within it are the rounds."""

    portion: Portion
    tape: Tape
    mode: str

    def sums(self, squared_sensitivity: float, times: int = 1) -> _TapedSums:
        return _TapedSums(noisy=self.portion.sums(squared_sensitivity, times), tape=self.tape, mode=self.mode)

    def parts(self) -> _TapedParts:
        mode = "exact" if self.mode == "replayed" else "noisy"
        return _TapedParts(parts=self.portion.parts(), tape=[], mode=mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TapedParts:
    """Portions of one kind."""

    parts: Portions
    tape: Tape
    mode: str

    def share(self, part: float) -> _TapedPortion:
        return _TapedPortion(portion=self.parts.share(part), tape=self.tape, mode=self.mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taped:
    """A private fit, or the same without noise in its rounds."""

    bins: ClassVar[None] = None
    boosting: ClassVar[Boosting] = Boosting()

    private: Private
    tape: Tape
    mode: str
    mu: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", self.private.mu)

    @property
    def splits(self) -> Any:
        return self.private.splits

    def share(self, part: float) -> _TapedPortion:
        return _TapedPortion(portion=self.private.share(part), tape=self.tape, mode=self.mode)

    def stage(self, accounting: str, part: float) -> _TapedPortion:
        raise NotImplementedError("penalised fits alone are compared")

    def clip(self, clip: float) -> float:
        return clip

    def claim(self, count_scale: float | None) -> Any:
        return self.private.claim(count_scale)

    def errors(self, deviations: Any) -> Any:
        return deviations


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
    training = training_of(data, np.arange(len(data.target)))
    plan = Plan.of(training, algorithm="penalized", accounting="gdp", bins=None, monotone=None)
    releases: Tape = []
    chosen: Tape = []
    models = []
    for mode in ("noisy", "replayed"):
        paid = Paid(randomness=Randomness.of(seed), caveats=(SEEDED,))
        private = Private.of(GaussianBudget.of(epsilon, DELTA), paid)
        with penalties(chosen if mode == "noisy" or not anew else [], "noisy" if anew else mode):
            fit = fit_model(
                training, plan, _Taped(private=private, tape=releases, mode=mode), source="study", progress=None
            )
        models.append(fit.model)
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
