"""The likeliest training records under private models, beside accuracy.

After Gorgé, Ferry, Gambs and Vidal, who attack private forests. Half of 1,000 records of COMPAS train a model, at
several epsilon or without privacy. An attacker who knows the mechanism and the number of records takes the likeliest
counts for the true ones and draws records. Their distance to the training records is compared with the distance of
records drawn from the domain, and with the same attack's distance to the other half, of which the model knows the
population alone.

``private_models.csv`` has single trees and lists, ``private_forests.csv`` forests: private trees at a share of epsilon
each, which average their probabilities. A tree may split on half of the attributes, drawn without looking at records.
Counts of several trees constrain records jointly, so that the likeliest dataset is the solution of an integer program:
how many records of each class have each combination of leaves that the domain allows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from settings import Ints, Records, records
from study import FOLDER, Row, options, resume, select, text

from glassine import Domain, reconstruct
from glassine.attacks.reconstruction.row_result import RowReconstruction
from glassine.counting import Space
from glassine.domain import OneOf
from glassine.learners import (
    OptimalRuleListClassifier,
    OptimalTreeClassifier,
    PrivateRuleListClassifier,
    PrivateTreeClassifier,
)
from glassine.models import DecisionTree
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

TREES, DEPTH = 10, 4
FOREST_BUDGETS = ("1", "2", "5", "10", "100", "")
"""Epsilon of a whole forest; none for optimal trees, whose counts are exact."""

FOREST_SEEDS = tuple(str(seed) for seed in range(10))
GAP = 0.03
"""The likeliest dataset is nearer to the noisy counts than the one found by at most this share. A third of it can take
minutes."""

TIES = 1e-4
"""Largest random cost of a record. The costs decide among equally likely datasets: together they are below 0.05."""


def fitted(model: str, epsilon: str, X: pd.DataFrame, y: Any, seed: int) -> Any:
    """Return a fitted learner."""
    domain = records(DATA).domain
    if model == MODELS[0]:
        learner = (
            PrivateTreeClassifier(4, epsilon=float(epsilon), domain=domain, classes=(0, 1), random_state=seed)
            if epsilon
            else OptimalTreeClassifier(4, domain=domain)
        )
    else:
        learner = (
            PrivateRuleListClassifier(3, epsilon=float(epsilon), domain=domain, classes=(0, 1), random_state=seed)
            if epsilon
            else OptimalRuleListClassifier(3, domain=domain)
        )
    return learner.fit(X, y)


def shuffled(whole: Records, seed: int) -> tuple[pd.DataFrame, Ints]:
    """Return all records and labels in the order of a seed: the first train, the next are the other half."""
    order = np.random.default_rng(seed).permutation(len(whole.y))
    return pd.DataFrame(whole.X, columns=list(whole.domain.names)).iloc[order], whole.y[order]


def measured(key: Row) -> Row:
    """Return a row: accuracy on all other records, and mean distances of reconstructed records."""
    started, seed = time.process_time(), int(key["seed"])
    whole = records(DATA)
    frame, labels = shuffled(whole, seed)
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


def every_record(domain: Domain) -> dict[str, Ints]:
    """Return each record that a domain of binary attributes allows, once, column by column."""
    space = Space(domain, [OneOf(name, (1,)) for name in domain.names], domain_aware=True)
    atoms = np.array(list(product(*(range(len(factor.weights)) for factor in space.factors))))
    if len(atoms) != space.total:
        raise ValueError(f"{len(atoms):,} combinations are not the {space.total:,} records of the domain.")
    columns: dict[str, Any] = {}
    # An atom is one combination of values: nothing is left to chance.
    for i, factor in enumerate(space.factors):
        columns |= factor.draw(atoms[:, i], np.random.default_rng(0))
    return {name: columns[name].astype(np.int64) for name in domain.names}


@cache
def possible_records() -> dict[str, Ints]:
    """Return each possible record of the data."""
    return every_record(records(DATA).domain)


def forest(trees: int, epsilon: str, X: pd.DataFrame, y: Any, seed: int) -> list[Any]:
    """Return fitted trees, each at an equal share of epsilon and on half of the attributes."""
    domain, rng = records(DATA).domain, np.random.default_rng([seed, trees])
    out: list[Any] = []
    for _ in range(trees):
        some = np.sort(rng.choice(len(domain.names), len(domain.names) // 2, replace=False))
        literals = [OneOf(domain.names[i], (1,)) for i in some]
        own = int(rng.integers(2**31))
        out.append(
            PrivateTreeClassifier(
                DEPTH,
                epsilon=float(epsilon) / trees,
                domain=domain,
                literals=literals,
                classes=(0, 1),
                random_state=own,
            )
            if epsilon
            else OptimalTreeClassifier(DEPTH, domain=domain, literals=literals)
        )
        out[-1].fit(X, y)
    return out


def published(models: Sequence[DecisionTree]) -> Ints:
    """Return the class counts of the leaves of all trees, one tree after the other, shape (k,)."""
    return np.array([count for model in models for cell in model.cells for count in cell.evidence.counts or ()])


def counted(models: Sequence[DecisionTree], columns: Mapping[str, Any], y: Ints) -> Ints:
    """Return the class counts of records in the leaves of all trees, in the order of :func:`published`."""
    parts = [(2 * model.apply(dict(columns)) + y, 2 * len(model.cells)) for model in models]
    return np.concatenate([np.bincount(places, minlength=size) for places, size in parts])


def likeliest(
    models: Sequence[DecisionTree], possible: Mapping[str, Ints], n_records: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Return a likeliest dataset under the noisy counts of trees: places in the possible records, and labels.

    All trees have noise of one scale, discrete Laplace: the likelihood falls with the sum of the absolute differences
    of the counts, which also holds where a noisy count below zero was published as zero.
    """
    leaves = np.stack([model.apply(dict(possible)) for model in models], axis=1)
    combinations, group = np.unique(leaves, axis=0, return_inverse=True)
    group, n = group.ravel(), len(combinations)
    starts = np.cumsum([0, *(2 * len(model.cells) for model in models)])
    # Columns: records of class 0 in each combination, then of class 1. Rows: leaves by class, tree after tree.
    rows = np.concatenate([starts[:-1] + 2 * combinations + label for label in (0, 1)])
    places = np.repeat(np.arange(2 * n), len(models))
    counts = sparse.csr_matrix((np.ones(rows.size), (rows.ravel(), places)), shape=(starts[-1], 2 * n))
    target, same = published(models), sparse.identity(starts[-1], format="csr")
    total = sparse.csr_matrix(np.concatenate([np.ones(2 * n), np.zeros(starts[-1])]))
    found = milp(
        np.concatenate([TIES * rng.random(2 * n), np.ones(starts[-1])]),
        integrality=np.concatenate([np.ones(2 * n), np.zeros(starts[-1])]),
        bounds=Bounds(0, np.inf),
        constraints=[
            LinearConstraint(sparse.hstack([counts, -same]), -np.inf, target),
            LinearConstraint(sparse.hstack([counts, same]), target, np.inf),
            LinearConstraint(total, n_records, n_records),
        ],
        options={"mip_rel_gap": GAP},
    )
    if found.status != 0:
        raise RuntimeError(f"the integer program was not solved: {found.message}")
    sizes = np.round(found.x[: 2 * n]).astype(np.int64)  # The solver keeps whole numbers to 1e-6.
    drawn = [rng.choice(np.flatnonzero(group == i % n), sizes[i]) for i in np.flatnonzero(sizes)]
    return np.concatenate(drawn), np.repeat(np.arange(2 * n) // n, sizes)


def attacked(key: Row) -> Row:
    """Return a row of a forest: accuracy on all other records, and distances of the likeliest records."""
    started, seed, n_trees = time.process_time(), int(key["seed"]), int(key["trees"])
    whole, possible = records(DATA), possible_records()
    frame, labels = shuffled(whole, seed)
    halves = frame[:N_RECORDS], frame[N_RECORDS : 2 * N_RECORDS]
    learners = forest(n_trees, key["epsilon"], halves[0], labels[:N_RECORDS], seed)
    others, truth = frame[N_RECORDS:], labels[N_RECORDS:]
    chance: npt.NDArray[np.float64] = np.mean([learner.predict_proba(others)[:, 1] for learner in learners], axis=0)
    models = [learner.model_ for learner in learners]
    places, y = likeliest(models, possible, N_RECORDS, np.random.default_rng([seed, n_trees, N_RECORDS]))
    rows = {name: column[places] for name, column in possible.items()}
    inside, outside = (
        RowReconstruction(
            domain=whole.domain,
            rows=rows,
            labels=None,
            status="possible",
            worlds=(None,) * N_RECORDS,
            certain=None,
            determined=np.zeros((N_RECORDS, len(rows)), dtype=bool),
        ).error_to(half, n_draws=1, random_state=seed)
        for half in halves
    )
    noisy = published(models)
    true, ours = counted(models, dict(halves[0].items()), labels[:N_RECORDS]), counted(models, rows, y)
    return key | {
        "accuracy": text(float(((chance > 0.5) == truth).mean())),
        "largest class": text(float(max(np.bincount(truth)) / len(truth))),
        "misplaced": text(float(abs(true - ours).sum() / (2 * N_RECORDS * n_trees))),
        "from the counts": str(abs(noisy - ours).sum()),
        "truth from the counts": str(abs(noisy - true).sum()),
        "training": text(inside.error),
        "other half": text(outside.error),
        "domain": text(inside.baseline),
        "seconds": f"{time.process_time() - started:.2f}",
    }


def forest_keys(quick: bool) -> list[list[Row]]:
    """Return what names each row of forests."""
    return [
        [{"data": DATA, "trees": str(2 if quick else TREES), "epsilon": epsilon, "seed": seed}]
        for seed in (FOREST_SEEDS[:1] if quick else FOREST_SEEDS)
        for epsilon in (FOREST_BUDGETS[:1] if quick else FOREST_BUDGETS)
    ]


def keys(quick: bool) -> list[list[Row]]:
    """Return what names each row."""
    return [
        [{"data": DATA, "model": model, "epsilon": epsilon, "seed": seed}]
        for seed in (SEEDS[:1] if quick else SEEDS)
        for model in MODELS
        for epsilon in BUDGETS
    ]


def leaks(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Return by split how much closer the records are to the people in the data than to others."""
    return {row["seed"]: [float(row["other half"]) - float(row["training"])] for row in rows}


def gains(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Return by split by how much a model is more accurate than a constant."""
    return {row["seed"]: [float(row["accuracy"]) - float(row["largest class"])] for row in rows}


def table(rows: Sequence[Row]) -> str:
    """Return means over splits; of the difference of the halves with its 95 % interval, positive where people leak."""
    lines = []
    for model in MODELS:
        for epsilon in BUDGETS:
            some = select(rows, model=model, epsilon=epsilon)
            apart = clustered("halves", leaks(some))
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


def forest_table(rows: Sequence[Row]) -> str:
    """Return means over splits of forests; of what is judged with the 95 % interval."""
    lines = []
    for epsilon in FOREST_BUDGETS:
        some = select(rows, epsilon=epsilon)
        gain, leak = clustered("accuracy", gains(some)), clustered("halves", leaks(some))
        means = [float(np.mean([float(row[name]) for row in some])) for name in ("misplaced", *DISTANCES)]
        lines.append(
            [
                epsilon or "none",
                f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]",
                f"{means[0]:.1%}",
                *(f"{mean:.3f}" for mean in means[1:]),
                f"{leak.mean:+.4f} [{leak.low:+.4f}, {leak.high:+.4f}]",
            ]
        )
    head = ["epsilon", "accuracy beyond a constant", "misplaced", "random rows", "to others", "to training"]
    return markdown([*head, "leak of people"], lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not in the results yet."""
    given = options(__doc__, arguments)
    rows = resume(given.results / "private_models.csv", keys(given.quick), lambda some: [measured(some[0])])
    forests = resume(given.results / "private_forests.csv", forest_keys(given.quick), lambda some: [attacked(some[0])])
    if given.results == FOLDER / "results":
        page = place(PAGE.read_text(), "private models", table(rows))
        PAGE.write_text(place(page, "private forests", forest_table(forests)))


__all__ = ["BUDGETS", "FOREST_BUDGETS", "MODELS", "N_RECORDS", "SEEDS", "attacked", "counted", "every_record",
           "forest_keys", "forest_table", "gains", "keys", "leaks", "likeliest", "main", "measured", "published",
           "table"]  # fmt: skip

if __name__ == "__main__":
    main(sys.argv[1:])
