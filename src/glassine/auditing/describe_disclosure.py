"""Disclosure of a sensitive attribute as a finding: aggregates and row numbers, small counts hidden."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure import Disclosure
from glassine.attacks.disclosure.anonymity import anonymity
from glassine.attacks.disclosure.remedies import Remedy, RemedyTable
from glassine.auditing.findings.disclosure import (
    DisclosureFinding,
    ExposedPerson,
    ReaderFinding,
    RemedyFinding,
    SampleFinding,
    SubgroupFinding,
    TruthFinding,
)
from glassine.auditing.suppression import Suppression

__all__ = ["describe_disclosure"]

MOST_EXPOSED = 10
DISCLOSED = 0.1
"""D_individual, in nats, below which a person's class counts as disclosed."""
SHOWN_ACTIVE = 5
SHOWN_SUBGROUPS = 10


def describe_disclosure(
    disclosure: Disclosure,
    sensitive: str,
    suppression: Suppression,
    *,
    truth: npt.ArrayLike | None = None,
    remedies: RemedyTable | None = None,
    frame: Any = None,
) -> DisclosureFinding:
    """Return an estimate as a finding.

    Parameters
    ----------
    disclosure : Disclosure
        The estimate.
    sensitive : str
        Name of the sensitive attribute.
    suppression : Suppression
        How small counts are shown.
    truth : array-like, shape (n,), optional
        Everybody's class.
    remedies : RemedyTable, optional
        What was tried against it.
    frame : data frame, optional
        The people, in the order of the quasi-identifiers: subgroups are those of the columns that the tree was given.
    """
    n = disclosure.people.n_people
    gained = _gained(disclosure)
    worst = anonymity(disclosure).worst()
    return DisclosureFinding(
        sensitive=sensitive,
        n_people=suppression.count(n),
        n_quasi_identifiers=suppression.count(len(disclosure.people.sizes)),
        n_leaves=len(disclosure.people.leaf_nodes),
        n_classes=len(disclosure.classes),
        knowledge=disclosure.adversary.describe(),
        status=disclosure.status,
        gap=disclosure.gap,
        learned_mean=_rounded(float(disclosure.people.sizes @ gained) / n, suppression),
        learned_most=_rounded(float(gained.max()), suppression),
        readers=tuple(
            ReaderFinding(
                reader=reader.reader,
                entropy=_rounded(reader.entropy, suppression),
                certain=suppression.rough(reader.certain),
                d_overall=None if reader.d_overall is None else _rounded(reader.d_overall, suppression),
                guess_rate=None if reader.guess_rate is None else _share(reader.guess_rate, n, suppression),
            )
            for reader in disclosure.compare(truth)
        ),
        truth=None if truth is None else _truth(disclosure, truth, suppression),
        exposed=tuple(
            ExposedPerson(row=row, probability=_certainty(probability, suppression))
            for row, probability in disclosure.most_exposed(MOST_EXPOSED)
        ),
        k=suppression.count(int(worst["k"])),
        distinct_l=worst["distinct_l"],
        entropy_l=_rounded(worst["entropy_l"], suppression),
        alpha=_certainty(worst["alpha"], suppression),
        t=_share(worst["t"], n, suppression),
        n_internal=disclosure.counts.internal,
        n_active=disclosure.counts.active,
        # A candidate names a threshold between two records.
        active=() if suppression.below else tuple(map(str, disclosure.active[:SHOWN_ACTIVE])),
        notes=disclosure.notes,
        unused=disclosure.unused,
        remedies=()
        if remedies is None
        else tuple(_remedy(row, n, remedies.n_holdout or n, suppression) for row in remedies.rows),
        subgroups=() if frame is None else _subgroups(disclosure, frame, truth, suppression),
        sample=None if disclosure.sample is None else _sample(disclosure, suppression),
    )


def _subgroups(
    disclosure: Disclosure, frame: Any, truth: npt.ArrayLike | None, suppression: Suppression
) -> tuple[SubgroupFinding, ...]:
    """Return the most exposed subgroups and the least exposed one, those too small to be shown left out."""
    groups = [
        group
        for group in disclosure.by_subgroup(frame, list(disclosure.people.columns), truth)
        if group.size >= max(suppression.below, 2) and group.size < disclosure.people.n_people
    ]
    picked = groups if len(groups) <= SHOWN_SUBGROUPS else [*groups[: SHOWN_SUBGROUPS - 1], groups[-1]]
    return tuple(
        SubgroupFinding(
            attribute=group.attribute,
            value=group.value,
            size=suppression.rough(group.size),
            entropy=_rounded(group.entropy, suppression),
            d_overall=None if group.d_overall is None else _rounded(group.d_overall, suppression),
        )
        for group in picked
    )


def _sample(disclosure: Disclosure, suppression: Suppression) -> SampleFinding:
    members = disclosure.membership
    return SampleFinding(
        fraction=_share(float(members.mean()), len(members), suppression),
        lowest=_certainty(float(members.min()), suppression),
        highest=_certainty(float(members.max()), suppression),
        certain=suppression.rough(int((members > 1 - 1e-9).sum())),
    )


def _gained(disclosure: Disclosure) -> npt.NDArray[np.float64]:
    """Return what the reader learns of each quasi-identifier: the divergence of estimate from class distribution."""
    estimate, marginal = disclosure.quasi_probabilities, disclosure.marginal
    possible = estimate > 0
    ratio = np.where(possible, estimate, 1.0) / np.where(possible, marginal, 1.0)
    return np.asarray(np.maximum((estimate * np.log(ratio)).sum(axis=1), 0.0))


def _truth(disclosure: Disclosure, truth: npt.ArrayLike, suppression: Suppression) -> TruthFinding:
    distances = disclosure.d_individual(truth)
    lower, median, upper = (_rounded(float(value), suppression) for value in np.quantile(distances, (0.25, 0.5, 0.75)))
    return TruthFinding(
        mean=_rounded(float(distances.mean()), suppression),
        lower=lower,
        median=median,
        upper=upper,
        disclosed=suppression.rough(int((distances < DISCLOSED).sum())),
    )


def _remedy(row: Remedy, n: int, n_holdout: int, suppression: Suppression) -> RemedyFinding:
    return RemedyFinding(
        name=row.name,
        kind=row.kind,
        status=row.status,
        reason=row.reason,
        n_leaves=row.n_leaves,
        entropy=None if row.entropy is None else _rounded(row.entropy, suppression),
        d_overall=None if row.d_overall is None else _rounded(row.d_overall, suppression),
        accuracy=None if row.accuracy is None else _share(row.accuracy, n, suppression),
        holdout_accuracy=None if row.holdout_accuracy is None else _share(row.holdout_accuracy, n_holdout, suppression),
        internal_nodes=row.internal_nodes,
    )


def _certainty(probability: float, suppression: Suppression) -> float:
    """Return a probability down to a twentieth; 1, up to the precision of the solver, stays 1."""
    return suppression.share(1.0 if probability > 1 - 1e-9 else probability)


def _rounded(value: float, suppression: Suppression) -> float:
    """Return nats to two digits where small counts are hidden."""
    return round(value, 2) + 0.0 if suppression.below else value


def _share(value: float, n: int, suppression: Suppression) -> float:
    """Return a share of the people, too coarse to solve for a small count."""
    if not suppression.below:
        return value
    unit = max(0.01, suppression.below / n)
    return min(1.0, round(math.floor(value / unit + 1e-9) * unit, 4))
