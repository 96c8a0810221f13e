"""How often the search accuses honest learners of this package.

``python benchmarks/false_alarms.py [--searches 180 60] [--runs N] [--workers N]``. Honest learners are searched with
different seeds: so many times trees and rule lists, so many times additive models. The exit status says whether there
are more alarms than the stated level makes likely.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scipy import stats  # noqa: E402 - after the path is set

from benchmarks.verification import Subject, defaults  # noqa: E402
from glassine.verification import Runs  # noqa: E402
from glassine.verification.neighbors import search  # noqa: E402

PART = 7
"""One in so many pairs is searched with each seed."""

UNLIKELY = 1e-3
"""Probability at which more alarms than the level allows are no chance."""


def alarm(task: tuple[Subject, int, int, float]) -> tuple[str, int, bool, float]:
    """Return learner, seed, whether it was accused, and the largest bound relative to its claim."""
    subject, seed, runs, confidence = task
    # A part of the pairs each time: all of them are searched in turn.
    pairs = subject.pairs[seed % PART :: PART]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = search(
            subject.learner,
            pairs,
            replace(subject.claim, confidence=confidence),
            score=subject.score,
            preliminary=4,
            runs=Runs(runs, seed=seed),
        )
    ratio = max(bound.value / bound.claim for _, bound in found.bounds if bound.claim)
    return subject.name, seed, found.bound.violated, ratio


def main() -> None:
    """Print every alarm, and how many there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--searches", type=int, nargs=2, default=(180, 60), help="of trees and lists, of additive models"
    )
    parser.add_argument("--runs", type=int, default=400, help="of each search, preliminary ones besides")
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    subjects = defaults()
    kinds: list[tuple[list[Subject], int]] = [
        ([s for s in subjects if "EBM" not in s.name], given.searches[0]),
        ([s for s in subjects if "EBM" in s.name], given.searches[1]),
    ]
    tasks = [(of_kind[i % len(of_kind)], i, given.runs, given.confidence) for of_kind, n in kinds for i in range(n)]
    from sklearn.utils.parallel import Parallel, delayed

    results: Any = Parallel(n_jobs=given.workers, return_as="generator")(delayed(alarm)(task) for task in tasks)
    done = alarms = 0
    for name, seed, violated, ratio in results:
        done, alarms = done + 1, alarms + violated
        sys.stdout.write(f"{name}, seed {seed}: {'ALARM' if violated else 'none'}, {ratio:.3f} of the claim\n")
        sys.stdout.flush()
    most = int(stats.binom.isf(UNLIKELY, done, 1 - given.confidence))
    sys.stdout.write(f"{alarms} alarms in {done} searches; the level allows {1 - given.confidence:.3g} of them\n")
    sys.exit(int(alarms > most))


if __name__ == "__main__":
    main()
