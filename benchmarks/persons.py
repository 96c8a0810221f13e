"""Accuracy of guarantees for persons against the records kept of each: ``python benchmarks/persons.py [--page]``.

Adult has one record per person. Here 3,000 persons get 1 to 28 records each, a few of them many: exact copies of one
record; records that are next to each other in education, age and hours; or records of anybody. A learner keeps at most
m records of each person, and counts each kept record once, or all persons alike. Accuracies are of 10,000 other
records, one per person; both ways of counting get the same draws of the persons. Where m is 1 they are one.

A row of ``persons.csv`` is one draw. Rows that are stored are not measured again.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set
import numpy.typing as npt  # noqa: E402
import polars as pl  # noqa: E402

from benchmarks import public_data  # noqa: E402
from benchmarks.kept_rows import kept  # noqa: E402
from glassine.learners import PrivateEBMClassifier, PrivateTreeClassifier  # noqa: E402
from papers.common.judging import clustered  # noqa: E402
from papers.common.results import Row, select  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

PERSONS, TESTED, MOST, STEEP = 3000, 10_000, 28, 1.5
LIMITS = ("1", "2", "4", "8", "28")
EPSILONS = ("0.1", "1")
SEEDS = 8
SHOWN = "alike"
"""The persons of the page's table."""

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


@cache
def adult() -> public_data.Benchmark:
    """Return Adult."""
    return public_data.adult()


def accuracy(key: Mapping[str, str], weights: str) -> float:
    """Return the accuracy of one draw."""
    data, seed = adult(), int(key["seed"])
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.frame))
    frame, labels = data.frame[order.tolist()], np.asarray(data.labels)[order]
    tested, rest = slice(0, TESTED), slice(TESTED, None)
    sizes = numbers_of_records(rng)
    rows = REPEATS[key["records"]](frame[rest], sizes, rng)
    model = LEARNERS[key["model"]](
        epsilon=float(key["epsilon"]),
        domain=data.domain,
        classes=tuple(np.unique(labels).tolist()),
        records_per_person=int(key["most"]),
        person_weights=weights,
        random_state=seed,
    ).fit(frame[rest][rows.tolist()], labels[rest][rows], persons=np.repeat(np.arange(PERSONS), sizes))
    return float(model.score(frame[tested], labels[tested]))


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the accuracies of both ways of counting."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counted = accuracy(key, "records")
        return {"by record": counted, "by person": counted if key["most"] == "1" else accuracy(key, "equal")}


KEYS = [
    dict(zip(("model", "records", "epsilon", "most", "seed"), key, strict=True))
    for key in product(LEARNERS, REPEATS, EPSILONS, LIMITS, map(str, range(SEEDS)))
]


def compared(rows: Sequence[Row]) -> dict[str, int]:
    """Return in how many cases equal weights are better, tied and worse: the 95 % interval over the draws decides."""
    found = dict.fromkeys(("better", "tied", "worse"), 0)
    for model, records, epsilon, most in product(LEARNERS, REPEATS, EPSILONS, LIMITS[1:]):
        of = select(rows, model=model, records=records, epsilon=epsilon, most=most)
        gaps = {row["seed"]: [float(row["by person"]) - float(row["by record"])] for row in of}
        case = clustered("", gaps)
        found["better" if case.low > 0 else "worse" if case.high < 0 else "tied"] += 1
    return found


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    lines = []
    for model, most in product(LEARNERS, (LIMITS[0], LIMITS[-1])):
        cells = []
        for way in ("by record", "by person"):
            of = [select(rows, records=SHOWN, model=model, most=most, epsilon=epsilon) for epsilon in EPSILONS]
            cells.append(" / ".join(f"{fmean(float(row[way]) for row in each):.3f}" for each in of))
        lines.append([f"{model}, {most}", *cells])
    return {"persons": markdown(["model, records per person", '`"records"`', '`"equal"`'], lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
