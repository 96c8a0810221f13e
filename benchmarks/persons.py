"""Accuracy of guarantees for persons against the records kept of each: ``python benchmarks/persons.py``.

Adult has one record per person. Here 3,000 persons get 1 to 28 records each, a few of them many: exact copies of one
record; records that are next to each other in education, age and hours; or records of anybody. A learner keeps at most
m records of each person, and counts each kept record once, or all persons alike. Accuracies are of 10,000 other
records, one per person, as means over seeded draws of the persons with their standard errors; both ways of counting get
the same draws. Where m is 1 they are one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import numpy as np  # noqa: E402 - after the path is set
import numpy.typing as npt  # noqa: E402
import polars as pl  # noqa: E402
import public_data  # noqa: E402

from glassine import PrivateEBMClassifier, PrivateTreeClassifier  # noqa: E402

PERSONS, TESTED, MOST, STEEP = 3000, 10_000, 28, 1.5
LIMITS = (1, 2, 4, 8, 28)
EPSILONS = (0.1, 1.0)
WEIGHTS = ("records", "equal")

Ints = npt.NDArray[np.int64]


def numbers_of_records(rng: np.random.Generator) -> Ints:
    """Return how many records each person has: k with probability proportional to k^-1.5."""
    sizes = np.arange(1, MOST + 1)
    shares = sizes**-STEEP
    return rng.choice(sizes, PERSONS, p=shares / shares.sum())


def copies(frame: pl.DataFrame, sizes: Ints, rng: np.random.Generator) -> Ints:
    """Return the rows of persons whose records are one record again and again."""
    return np.repeat(rng.choice(len(frame), PERSONS, replace=False), sizes)


def alike(frame: pl.DataFrame, sizes: Ints, rng: np.random.Generator) -> Ints:
    """Return the rows of persons whose records are next to each other in education, age and hours."""
    order = frame.with_row_index().sort("education-num", "age", "hours-per-week")["index"].to_numpy()
    starts = rng.choice(len(frame) - MOST, PERSONS, replace=False)
    return np.concatenate([order[start : start + size] for start, size in zip(starts, sizes, strict=True)])


def of_anybody(frame: pl.DataFrame, sizes: Ints, rng: np.random.Generator) -> Ints:
    """Return the rows of persons whose records have nothing in common."""
    return rng.choice(len(frame), int(sizes.sum()), replace=False)


REPEATS: dict[str, Callable[[pl.DataFrame, Ints, np.random.Generator], Ints]] = {
    "copies": copies,
    "alike": alike,
    "of anybody": of_anybody,
}

LEARNERS: dict[str, Callable[..., Any]] = {
    "tree": lambda **given: PrivateTreeClassifier(2, **given),
    "additive": lambda **given: PrivateEBMClassifier(**given),
}


def accuracies(seeds: int, repeats: str, learner: str, epsilon: float, most: int, weights: str) -> list[float]:
    """Return the accuracy of each draw."""
    data = public_data.adult()
    out = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(data.frame))
        frame, labels = data.frame[order.tolist()], np.asarray(data.labels)[order]
        tested, rest = slice(0, TESTED), slice(TESTED, None)
        sizes = numbers_of_records(rng)
        rows = REPEATS[repeats](frame[rest], sizes, rng)
        persons = np.repeat(np.arange(PERSONS), sizes)
        model = LEARNERS[learner](
            epsilon=epsilon,
            domain=data.domain,
            classes=tuple(np.unique(labels).tolist()),
            records_per_person=most,
            person_weights=weights,
            random_state=seed,
        ).fit(frame[rest][rows.tolist()], labels[rest][rows], persons=persons)
        out.append(float(model.score(frame[tested], labels[tested])))
    return out


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def of(values: list[float]) -> str:
    """Return a mean and its standard error."""
    return f"{statistics.mean(values):.4f} ({statistics.stdev(values) / len(values) ** 0.5:.4f})"


def judged(kept: list[float], alike: list[float]) -> str:
    """Return which of two paired ways is better, by more than two standard errors of their difference."""
    gaps = [b - a for a, b in zip(kept, alike, strict=True)]
    mean, error = statistics.mean(gaps), statistics.stdev(gaps) / len(gaps) ** 0.5
    verdict = "tied" if abs(mean) <= 2 * error else "better" if mean > 0 else "worse"
    return f"{mean:+.4f} ({error:.4f}), {verdict}"


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--learners", nargs="*", default=list(LEARNERS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    say("| records | learner | epsilon | m | kept records count once | persons count alike | difference |")
    say("| --- | --- | --- | --- | --- | --- | --- |")
    for learner in given.learners:
        for repeats in REPEATS:
            for epsilon in EPSILONS:
                for most in LIMITS:
                    case = (given.seeds, repeats, learner, epsilon, most)
                    kept = accuracies(*case, "records")
                    equal = kept if most == 1 else accuracies(*case, "equal")
                    gap = "one" if most == 1 else judged(kept, equal)
                    say(f"| {repeats} | {learner} | {epsilon:g} | {most} | {of(kept)} | {of(equal)} | {gap} |")


if __name__ == "__main__":
    main()
