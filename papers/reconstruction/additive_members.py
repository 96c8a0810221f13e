"""Membership by the likelihood of an additive model's published counts: ``additive_members.csv``.

Half of 1,000 records of COMPAS train a model, at several epsilon or without privacy. An attacker who knows the number
of records, the mechanism and the population asks of each record how much likelier it makes the published counts of its
bins. Attributes are taken as independent, so that nothing need be known of how they go together; scores are not used.

Of one attribute with population shares p, n records and noise of standard deviation s, the counts h of its bins have
mean n p and covariance C = n (diag(p) - p p') + s^2 I, and with a record in bin b among them the mean is larger by
e_b - p. The score is the sum over attributes of the log-likelihood ratio (e_b - p)' C^-1 (h - n p - (e_b - p) / 2).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from study import FOLDER, Row, options, resume, select, text

from benchmarks import additive_data
from glassine import PrivateEBMClassifier
from glassine.attacks import loss_attack
from glassine.attacks.membership.result import roc_curve
from glassine.attacks.outcome import Measured
from glassine.data.labels import Sample
from glassine.learners import EBMClassifier
from glassine.models.scoring import bin_indices
from papers.common.judging import clustered
from papers.common.tables import markdown, place

PAGE = FOLDER.parents[1] / "docs" / "papers" / "private-models.md"
N_RECORDS = 500
SEEDS = tuple(str(seed) for seed in range(20))
BUDGETS = ("0.1", "1", "10", "100", "")
"""Epsilon; none for the ordinary model, whose counts are exact."""

DELTA = 1e-6
LEAST = 1e-3
"""Variance of a count that is added, so that what no record can change has no weight."""

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]


def ratios(counts: Floats, population: Codes, records: Codes, noise: float) -> Floats:
    """Return for each record, by its bin of one attribute, the log-likelihood ratio of the attribute's counts."""
    # Half a record more a bin: a bin that the population lacks is rare, and not impossible.
    p = np.bincount(population, minlength=len(counts)) + 0.5
    p = p / p.sum()
    covariance = N_RECORDS * (np.diag(p) - np.outer(p, p)) + (noise**2 + LEAST) * np.eye(len(p))
    shift = np.eye(len(p)) - p
    surprise = (counts - N_RECORDS * p)[None, :] - shift / 2
    each = (shift * np.linalg.solve(covariance, surprise.T).T).sum(axis=1)
    return np.asarray(each[records], dtype=np.float64)


def likelihoods(model: Any, population: Any, records: Any) -> Floats:
    """Return the sum of the ratios over the attributes of a model, shape (n,)."""
    noise = 0.0 if model.guarantee is None else model.guarantee.count_scale or 0.0
    total = np.zeros(len(records))
    for term, known, own in zip(model.terms, bin_indices(model, population), bin_indices(model, records), strict=True):
        if term.weights is not None and len(term.attributes) == 1:
            total += ratios(np.asarray(term.weights, dtype=np.float64).ravel(), np.ravel(known), np.ravel(own), noise)
    return total


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
        PrivateEBMClassifier(float(key["epsilon"]), DELTA, data.domain, classes=data.classes, random_state=seed)
        if key["epsilon"]
        else EBMClassifier(data.domain, classes=data.classes)
    )
    learner.fit(inside, own)
    curve = roc_curve(*(likelihoods(learner.model_, rest, side) for side in (inside, outside)))
    loss = loss_attack(learner, Sample(inside, own), Sample(outside, others), random_state=seed)
    return key | {
        "accuracy": text(float(np.mean(learner.predict(rest) == held_out))),
        "area": text(curve.area),
        "tpr at 10%": text(curve.tpr_at(0.1)),
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
