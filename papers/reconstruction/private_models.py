"""The likeliest training records under private models, beside accuracy: ``private_models.csv``.

After Gorgé, Ferry, Gambs and Vidal, who attack private forests. Half of 1,000 records of COMPAS train a model, at
several epsilon or without privacy. An attacker who knows the mechanism and the number of records takes the likeliest
counts for the true ones and draws records. Their distance to the training records is compared with the distance of
records drawn from the domain, and with the same attack's distance to the other half, of which the model knows the
population alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from settings import records
from study import FOLDER, Row, options, resume, select, text

from glassine import (
    OptimalRuleListClassifier,
    OptimalTreeClassifier,
    PrivateRuleListClassifier,
    PrivateTreeClassifier,
    reconstruct,
)
from papers.common.judging import clustered
from papers.common.tables import markdown, place

PAGE = FOLDER.parents[1] / "docs" / "papers" / "private-models.md"
DATA = "compas"
N_RECORDS = 500
SEEDS = tuple(str(seed) for seed in range(5))
BUDGETS = ("0.1", "1", "10", "100", "")
"""Epsilon; none for the optimal model, whose counts are exact."""

MODELS = ("tree of depth 4", "list of 3 rules")
DRAWS = 3
MATCHED = 250
"""Records that are matched in each draw; matching is cubic."""


DISTANCES = ("domain", "other half", "training")


def fitted(model: str, epsilon: str, X: pd.DataFrame, y: Any, seed: int) -> Any:
    """Return a fitted learner."""
    domain = records(DATA).domain
    if model == MODELS[0]:
        learner = (
            PrivateTreeClassifier(4, float(epsilon), domain, classes=(0, 1), random_state=seed)
            if epsilon
            else OptimalTreeClassifier(4, domain)
        )
    else:
        learner = (
            PrivateRuleListClassifier(3, float(epsilon), domain, classes=(0, 1), random_state=seed)
            if epsilon
            else OptimalRuleListClassifier(3, domain)
        )
    return learner.fit(X, y)


def measured(key: Row) -> Row:
    """Return a row: accuracy on all other records, and mean distances of reconstructed records."""
    started, seed = time.process_time(), int(key["seed"])
    whole = records(DATA)
    order = np.random.default_rng(seed).permutation(len(whole.y))
    frame = pd.DataFrame(whole.X, columns=list(whole.domain.names)).iloc[order]
    labels = whole.y[order]
    halves = frame[:N_RECORDS], frame[N_RECORDS : 2 * N_RECORDS]
    learner = fitted(key["model"], key["epsilon"], halves[0], labels[:N_RECORDS], seed)
    known = reconstruct(learner.model_, whole.domain).most_likely(N_RECORDS)
    true = np.bincount(learner.model_.apply(dict(halves[0].items())), minlength=len(known.supports))
    inside, outside = (known.error_to(half, n_draws=DRAWS, max_records=MATCHED, random_state=seed) for half in halves)
    return key | {
        "accuracy": text(float(learner.score(frame[N_RECORDS:], labels[N_RECORDS:]))),
        "largest class": text(float(max(np.bincount(labels[N_RECORDS:])) / len(labels[N_RECORDS:]))),
        "misplaced": text(float(abs(true - known.supports).sum() / (2 * N_RECORDS))),
        "training": text(inside.error),
        "other half": text(outside.error),
        "domain": text(inside.baseline),
        "seconds": f"{time.process_time() - started:.2f}",
    }


def keys(quick: bool) -> list[list[Row]]:
    """Return what names each row."""
    return [
        [{"data": DATA, "model": model, "epsilon": epsilon, "seed": seed}]
        for seed in (SEEDS[:1] if quick else SEEDS)
        for model in MODELS
        for epsilon in BUDGETS
    ]


def table(rows: Sequence[Row]) -> str:
    """Return means over splits; of the difference of the halves with its 95 % interval, positive where people leak."""
    lines = []
    for model in MODELS:
        for epsilon in BUDGETS:
            some = select(rows, model=model, epsilon=epsilon)
            apart = clustered(
                "halves", {row["seed"]: [float(row["other half"]) - float(row["training"])] for row in some}
            )
            means = [
                float(np.mean([float(row[name]) for row in some])) for name in ("accuracy", "misplaced", *DISTANCES)
            ]
            difference = f"{apart.mean:+.4f} [{apart.low:+.4f}, {apart.high:+.4f}]"
            lines.append(
                [
                    model,
                    epsilon or "none",
                    f"{means[0]:.3f}",
                    f"{means[1]:.1%}",
                    *(f"{m:.3f}" for m in means[2:]),
                    difference,
                ]
            )
    head = ["model", "epsilon", "accuracy", "misplaced", "random rows", "to others", "to training", "leak of people"]
    return markdown(head, lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not in the results yet."""
    given = options(__doc__, arguments)
    rows = resume(given.results / "private_models.csv", keys(given.quick), lambda some: [measured(some[0])])
    if given.results == FOLDER / "results":
        PAGE.write_text(place(PAGE.read_text(), "private models", table(rows)))


__all__ = ["BUDGETS", "MODELS", "N_RECORDS", "SEEDS", "keys", "main", "measured", "table"]

if __name__ == "__main__":
    main(sys.argv[1:])
