"""Membership by the likelihood of an additive model's published counts: ``additive_members.csv``.

Half of 1,000 records of COMPAS train a model, at several epsilon or without privacy. An attacker who knows the number
of records, the mechanism and the population asks of each record how much likelier it makes the published counts of its
bins. Attributes are taken as independent, so that nothing need be known of how they go together; scores are not used.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from study import FOLDER, Row, options, resume, select, text

from benchmarks import additive_data
from glassine.attacks import count_attack, loss_attack
from glassine.attacks.outcome import Measured
from glassine.data.labels import Sample
from glassine.learners import EBMClassifier, PrivateEBMClassifier
from papers.common.judging import clustered
from papers.common.tables import markdown, place

PAGE = FOLDER.parents[1] / "docs" / "papers" / "private-models.md"
N_RECORDS = 500
SEEDS = tuple(str(seed) for seed in range(20))
BUDGETS = ("0.1", "1", "10", "100", "")
"""Epsilon; none for the ordinary model, whose counts are exact."""

DELTA = 1e-6


def measured(key: Row) -> Row:
    """Return a row: accuracy on other records, and what two attacks find of the 500 records and 500 others."""
    started, seed = time.process_time(), int(key["seed"])
    data = additive_data.compas()
    order = np.random.default_rng(seed).permutation(len(data.target))
    frame, target = data.frame[order], data.target[order]
    parts = (slice(0, N_RECORDS), slice(N_RECORDS, 2 * N_RECORDS), slice(2 * N_RECORDS, None))
    inside, outside, rest = (frame[part] for part in parts)
    own, others, held_out = (target[part] for part in parts)
    learner: Any = (
        PrivateEBMClassifier(
            epsilon=float(key["epsilon"]), delta=DELTA, domain=data.domain, classes=data.classes, random_state=seed
        )
        if key["epsilon"]
        else EBMClassifier(domain=data.domain, classes=data.classes)
    )
    learner.fit(inside, own)
    sides = Sample(inside, own), Sample(outside, others)
    counts = count_attack(learner, *sides, population=Sample(rest, held_out), random_state=seed)
    loss = loss_attack(learner, *sides, random_state=seed)
    if isinstance(counts, Measured):
        area, tpr = counts.value.roc.area, counts.value.roc.tpr_at(0.1)
    elif not learner.model_.terms:
        # No bins are published, so that all records score alike.
        area, tpr = 0.5, 0.1
    else:
        raise TypeError(f"the attack did not run: {counts}")
    return key | {
        "accuracy": text(float(np.mean(learner.predict(rest) == held_out))),
        "area": text(area),
        "tpr at 10%": text(tpr),
        "loss area": text(loss.value.roc.area) if isinstance(loss, Measured) else "",
        "seconds": f"{time.process_time() - started:.2f}",
    }


def keys(quick: bool) -> list[list[Row]]:
    """Return what names each row."""
    return [
        [{"data": "compas", "model": "additive", "epsilon": epsilon, "seed": seed}]
        for seed in (SEEDS[:1] if quick else SEEDS)
        for epsilon in BUDGETS
    ]


def table(rows: Sequence[Row]) -> str:
    """Return means over splits, of the attacks with their 95 % intervals."""
    lines = []
    for epsilon in BUDGETS:
        some = select(rows, epsilon=epsilon)
        cells = []
        for name in ("area", "tpr at 10%", "loss area"):
            case = clustered(name, {row["seed"]: [float(row[name])] for row in some})
            cells.append(f"{case.mean:.3f} [{case.low:.3f}, {case.high:.3f}]")
        lines.append([epsilon or "none", f"{np.mean([float(row['accuracy']) for row in some]):.3f}", *cells])
    head = ["epsilon", "accuracy", "counts: area", "true positives at 10 % false ones", "loss: area"]
    return markdown(head, lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not in the results yet."""
    given = options(__doc__, arguments)
    rows = resume(given.results / "additive_members.csv", keys(given.quick), lambda some: [measured(some[0])])
    if given.results == FOLDER / "results":
        PAGE.write_text(place(PAGE.read_text(), "additive members", table(rows)))


if __name__ == "__main__":
    main(sys.argv[1:])
