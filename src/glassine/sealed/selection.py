"""The best of a random number of runs, drawn by the exponential mechanism (Papernot and Steinke 2022)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from glassine.privacy.exact import Number
from glassine.privacy.randomness import Randomness
from glassine.privacy.selection import RunCount
from glassine.sealed.noisy_choice import exponential_mechanism

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
    ``privacy/selection.md``. The number of runs, and the other results, are not to be released.

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
    return results[exponential_mechanism(scores, epsilon, sensitivity, monotone=True, randomness=randomness)]
