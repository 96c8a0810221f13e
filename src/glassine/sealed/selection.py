"""The best of a random number of runs, drawn by the exponential mechanism (Papernot and Steinke 2022)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np

from glassine.compiling.slices import Progress
from glassine.privacy.accounting import Event, Parallel, RepeatedSelection, Selection
from glassine.privacy.exact import Number
from glassine.privacy.private_selection import RunCount
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import SEEDED, Paid
from glassine.records.arrays import Bools
from glassine.sealed import draws
from glassine.sealed.accounts import Allowance
from glassine.sealed.plan import Plan
from glassine.sealed.questions import Query
from glassine.sealed.scoring import n_correct
from glassine.sealed.store import HeldIntake, Store

T = TypeVar("T")


def best_of_runs(
    runs: RunCount,
    run: Callable[[], T],
    score: Callable[[T], int],
    *,
    epsilon: Number,
    sensitivity: int,
    randomness: Randomness,
) -> T:
    """Return one of a random number of results, drawn by the exponential mechanism over their scores.

    Guarantee
    ---------
    Where one record changes the law of ``run`` but no score of a given result, and ``run`` is (e, d)-differentially
    private: ((2 + shape) e, mean d)-differentially private. Where one record changes scores alone, each in one
    direction by at most ``sensitivity``: ``epsilon``-differentially private. For unseeded ``randomness``; see
    ``privacy/private_selection.md``. The number of runs, and the other results, are not to be released.

    Parameters
    ----------
    runs : RunCount
        Law of the number of runs.
    run : callable
        Without arguments, to a result: independent and identically distributed.
    score : callable
        From a result to a whole number, the higher the better.
    epsilon : int, float or Fraction
        Positive.
    sensitivity : int
        Most that one unit changes any score.
    randomness : Randomness
        The stream of the number of runs and of the choice.

    Examples
    --------
    >>> stream = Randomness.of(0)
    >>> runs = RunCount.of_mean(50)
    >>> best_of_runs(runs, lambda: stream.below(4), lambda i: 100 * i, epsilon=1, sensitivity=1, randomness=stream)
    3
    """
    results = [run() for _ in range(runs.draw(randomness))]
    scores = [score(result) for result in results]
    return results[draws.exponential_mechanism(scores, epsilon, sensitivity, monotone=True, randomness=randomness)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfRuns(Query["Chosen"]):
    """One of a random number of fits, judged by how many records that were held out it classifies correctly.

    Whether a record, or a person with all records, is held out is decided by a separate coin. Each run draws one of
    some plans, and learns it from the other records through a separate oracle. Neither the number of runs nor the
    other fits leave.
    """

    plans: tuple[Plan, ...]  # One for each setting, each of which spends what a run may
    runs: RunCount  # The law of the number of runs
    fraction: Fraction  # Probability with which a record, or a person with all records, is held out
    # Epsilon and delta of each run; the delta is 0 where no plan has one.
    run: tuple[float, float]

    def events(self, part: Allowance) -> tuple[Event, ...]:
        """Return what is released: fits from one part of the records, and a choice by the other."""
        epsilon, delta = self.run
        most = part.unit.most_records
        fits = RepeatedSelection(
            name="the chosen fit, of the training part",
            candidates=len(self.plans),
            epsilon=epsilon,
            delta=delta,
            shape=float(self.runs.shape),
            stop=float(self.runs.stop),
        )
        choice = Selection(
            name="the choice, by the held-out part",
            inverse_temperature=float(part.epsilon / most),
            sensitivity=float(most),
            monotone=True,
        )
        return (Parallel(name="the search", branches=((fits,), (choice,)), proof="learners/search.md"),)

    def draw(self, records: Store, part: Allowance, randomness: Randomness, progress: Progress | None) -> Chosen:
        """Hold some records out, fit a random number of settings, and choose one of the fits."""
        training = split(records.records, self.fraction, randomness)
        # Both may be empty: a fit without records is as private as any other, a refusal would reveal the coins.
        fitted, held_out = records.records.take(training), records.records.take(~training)
        # The payment is that of the whole search, which states it; a certificate of a run says what its bits are.
        paid = Paid(randomness=randomness, caveats=(SEEDED,) if randomness.seeded else ())

        def run() -> Chosen:
            place = randomness.below(len(self.plans))
            plan = self.plans[place]
            return Chosen(place, plan.learn(fitted, replace(paid, caveats=(*plan.caveats, *paid.caveats))))

        return best_of_runs(
            self.runs,
            run,
            lambda chosen: n_correct(chosen.released["model_"], held_out),
            epsilon=part.epsilon,
            sensitivity=part.unit.most_records,
            randomness=randomness,
        )

    def exact(self, records: Store) -> Chosen:
        """Raise: without a budget there is no number of runs; scikit-learn's searches are exact."""
        raise NotImplementedError("a search without privacy is scikit-learn's")

    def load(self) -> None:
        """Load the kernels of all plans."""
        for plan in self.plans:
            plan.load()


class Chosen(NamedTuple):
    """A fit: the place of its setting, and its fitted attributes by name."""

    place: int
    released: dict[str, Any]


def split(intake: HeldIntake, fraction: Fraction, randomness: Randomness) -> Bools:
    """Draw which records are for training, shape (n,): one coin for each record, or for each person."""
    # A coin depends on nothing, so that no record decides on which side another one is.
    if intake.persons is None:
        return ~draws.coins(len(intake.labels), fraction, randomness)
    keys = list(dict.fromkeys(intake.persons.identifiers))
    out = dict(zip(keys, draws.coins(len(keys), fraction, randomness).tolist(), strict=True))
    return np.array([not out[key] for key in intake.persons.identifiers], dtype=bool)
