"""What special codes of a number cost a scorecard: ``python benchmarks/special_codes.py [--page]``.

Three numbers of a made population carry codes, as a credit bureau's do: -9 for no record, -8 for no usable account, and
98 and 99 for answers. Their risks follow no order. A row of ``special_codes.csv`` is the AUC on fresh records, of cards
with the codes declared, cut out by hand, taken as missing, or not marked at all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from glassine import Domain, Integer  # noqa: E402
from glassine.learners import PrivateScorecardClassifier, ScorecardClassifier  # noqa: E402
from papers.common.results import Row, one  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

N, SEEDS = 20_000, 5
CODES = {
    "score": {-9: "no record", -8: "no usable account"},
    "months": {-9: "no record", -8: "no usable account"},
    "answer": {98: "refused", 99: "unknown"},
}
RISKS = {"score": (1.6, -1.2), "months": (-0.9, 1.1), "answer": (1.0, -1.4)}
"""Log-odds of each code, as the ordered numbers have between -1.5 and 1.5."""
CUTS = {"score": (30, 45, 60, 75), "months": (12, 36, 72, 120), "answer": (2, 5, 8, 20)}
DECLARED = Domain(
    {
        "score": Integer(0, 100, thresholds=CUTS["score"], codes=CODES["score"]),
        "months": Integer(0, 300, thresholds=CUTS["months"], codes=CODES["months"]),
        "answer": Integer(0, 99, thresholds=CUTS["answer"], codes=CODES["answer"]),
    }
)
HAND = {"score": (-8.5, -7.5), "months": (-8.5, -7.5), "answer": (97.5, 98.5)}
MARKS = {"declared": "declared", "hand": "cut by hand", "missing": "as missing", "unmarked": "not marked"}
LEARNERS = {"ordinary": "ordinary", "private": "epsilon 1", "monotone": "epsilon 1, monotone"}
DOWN = {"score": "decreasing", "months": "decreasing", "answer": "increasing"}
KEYS = [
    {"learner": learner, "marks": mark, "seed": str(seed)}
    for seed in range(SEEDS)
    for learner in LEARNERS
    for mark in MARKS
    if learner != "monotone" or mark == "declared"
]


def people(seed: int, n: int = N) -> tuple[pl.DataFrame, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return made records and their outcomes."""
    rng = np.random.default_rng(seed)
    numbers = {"score": rng.integers(0, 101, n), "months": rng.integers(0, 301, n), "answer": rng.integers(0, 31, n)}
    odds = 1.5 - 0.03 * numbers["score"] + 0.8 - 0.0055 * numbers["months"] - 1.0 + 0.07 * numbers["answer"] - 0.6
    parts = {
        "score": 1.5 - 0.03 * numbers["score"],
        "months": 0.8 - 0.0055 * numbers["months"],
        "answer": 0.07 * numbers["answer"] - 1.0,
    }
    for name, codes in CODES.items():
        drawn = rng.choice(3, n, p=(0.76, 0.12, 0.12))
        for place, (code, risk) in enumerate(zip(codes, RISKS[name], strict=True), start=1):
            odds += np.where(drawn == place, risk - parts[name], 0.0)
            numbers[name] = np.where(drawn == place, code, numbers[name])
    return pl.DataFrame(numbers), (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def marked(frame: pl.DataFrame, mark: str) -> tuple[pl.DataFrame, Domain]:
    """Return records and their domain in one of the four ways."""
    if mark == "declared":
        return frame, DECLARED
    out = {}
    for name in DECLARED:
        attribute = DECLARED[name]
        if not isinstance(attribute, Integer):
            raise TypeError(name)
        low, high = attribute.ends
        if mark == "missing":
            out[name] = replace(attribute, codes={}, missing=True)
        else:
            cuts = tuple(sorted({*CUTS[name], *(HAND[name] if mark == "hand" else ())}))
            out[name] = Integer(low, high, thresholds=cuts)
    if mark == "missing":
        frame = frame.with_columns(
            pl.when(pl.col(name).is_in(list(codes))).then(None).otherwise(pl.col(name)).alias(name)
            for name, codes in CODES.items()
        )
    return frame, Domain(out)


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the AUC on fresh records."""
    seed = int(key["seed"])
    (train, y), (test, truth) = people(seed), people(1000 + seed)
    train, domain = marked(train, key["marks"])
    test, _ = marked(test, key["marks"])
    size: dict[str, Any] = {"max_items": 20, "max_points": 8}
    card: ScorecardClassifier | PrivateScorecardClassifier
    if key["learner"] == "ordinary":
        card = ScorecardClassifier(domain=domain, classes=(0, 1), **size)
    else:
        order = DOWN if key["learner"] == "monotone" else None
        card = PrivateScorecardClassifier(
            epsilon=1.0, domain=domain, classes=(0, 1), monotone=order, random_state=seed, **size
        )
    return {"auc": f"{roc_auc_score(truth, card.fit(train, y).predict_proba(test)[:, 1]):.4f}"}


def mean(rows: Sequence[Row], learner: str, mark: str) -> float:
    """Return the mean AUC over the seeds."""
    return float(np.mean([float(one(rows, learner=learner, marks=mark, seed=str(s))["auc"]) for s in range(SEEDS)]))


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    lines = [
        [
            words,
            *(
                f"{mean(rows, learner, mark):.3f}" if learner != "monotone" or mark == "declared" else ""
                for mark in MARKS
            ),
        ]
        for learner, words in LEARNERS.items()
    ]
    return {"special-codes": markdown(["scorecard", *MARKS.values()], lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
