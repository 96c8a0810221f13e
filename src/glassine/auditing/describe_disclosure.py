"""Disclosure of a sensitive attribute as a finding: aggregates and row numbers, small counts hidden."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure import Disclosure
from glassine.attacks.disclosure.estimate import anonymity
from glassine.attacks.disclosure.remedies import Remedy
from glassine.auditing.disclosure import Inferred
from glassine.auditing.findings.disclosure import (
    CertainFinding,
    DisclosureDetails,
    DisclosureFinding,
    ExposedPerson,
    ReaderFinding,
    RemedyFinding,
    SampleFinding,
    SubgroupFinding,
    TruthFinding,
)
from glassine.auditing.suppression import Suppression
from glassine.data.labels import subgroups
from glassine.data.table import Table

MOST_EXPOSED = 10
DISCLOSED = 0.1
"""D_individual, in bits, below which a person's class counts as disclosed."""
SHOWN_ACTIVE = 5
SHOWN_SUBGROUPS = 10
CERTAIN = 0.99
"""Probability from which a class counts as practically certain, as where attackers are compared."""


def describe_disclosure(inferred: Inferred, suppression: Suppression) -> DisclosureFinding:
    """Return what can be inferred as findings may hold it; subgroups are those of columns that the tree was given."""
    disclosure, table = inferred.estimate, inferred.table
    n, gained = table.number, _gained(disclosure)
    return DisclosureFinding(
        sensitive=inferred.sensitive,
        quasi_identifiers=inferred.quasi_identifiers,
        number=suppression.count(n),
        n_quasi_identifiers=suppression.count(len(disclosure.people.sizes)),
        n_classes=len(disclosure.classes),
        knowledge=disclosure.adversary.describe(),
        optimum="global" if disclosure.status == "optimal" else "local",
        gap=disclosure.gap / math.log(2),
        learned_mean=suppression.bits(float(table.weights @ gained[disclosure.people.person]) / n),
        learned_most=suppression.bits(float(gained.max())),
        readers=tuple(
            ReaderFinding(
                reader=reader.reader,
                entropy=suppression.bits(reader.entropy),
                certain=suppression.rough(reader.certain),
                d_overall=None if reader.d_overall is None else suppression.bits(reader.d_overall),
                guess_rate=None if reader.guess_rate is None else suppression.proportion(reader.guess_rate, n),
            )
            for reader in disclosure.compare(inferred.truth, table)
        ),
        exposed=tuple(sorted(row for row, _ in disclosure.most_exposed(MOST_EXPOSED, table))),
        n_internal=disclosure.counts.internal,
        n_active=disclosure.counts.active,
        unused=inferred.unused,
        notes=disclosure.notes,
        certain=_certain(inferred, suppression),
        details=_details(inferred, suppression) if inferred.detailed else None,
    )


def _details(inferred: Inferred, suppression: Suppression) -> DisclosureDetails:
    """Return what only the holder of the data is to see."""
    disclosure, table, remedies = inferred.estimate, inferred.table, inferred.remedies
    n, worst = table.number, anonymity(disclosure).worst()
    return DisclosureDetails(
        n_leaves=len(disclosure.people.leaf_nodes),
        truth=None if inferred.truth is None else _truth(disclosure, inferred.truth, suppression, table),
        exposed=tuple(
            ExposedPerson(row=row, probability=_certainty(probability, suppression))
            for row, probability in disclosure.most_exposed(MOST_EXPOSED, table)
        ),
        k=suppression.count(int(worst["k"])),
        distinct_l=worst["distinct_l"],
        entropy_l=suppression.figure(worst["entropy_l"]),
        alpha=_certainty(worst["alpha"], suppression),
        t=suppression.proportion(worst["t"], n),
        # A candidate names a threshold between two records.
        active=() if suppression.below else tuple(map(str, disclosure.active[:SHOWN_ACTIVE])),
        remedies=()
        if remedies is None
        else tuple(_remedy(row, n, remedies.n_holdout or n, suppression) for row in remedies.rows),
        subgroups=() if inferred.frame is None else _subgroups(inferred, suppression),
        sample=None if disclosure.sample is None else _sample(disclosure, suppression),
    )


def _certain(inferred: Inferred, suppression: Suppression) -> tuple[CertainFinding, ...]:
    """Return of whom the value is practically certain: by class, then in the subgroups where most are."""
    disclosure, table = inferred.estimate, inferred.table
    estimate = disclosure.quasi_probabilities[disclosure.people.person]
    outcome = np.where(estimate.max(axis=1) >= CERTAIN, estimate.argmax(axis=1), -1)

    def counted(rows: npt.NDArray[np.intp], code: int) -> int:
        """Return the people, or records, of some rows of whom a class is certain."""
        return len(np.unique(table.whose[rows[outcome[rows] == code]]))

    def found(rows: npt.NDArray[np.intp], attribute: str = "", value: str = "") -> list[tuple[int, CertainFinding]]:
        number, out = len(np.unique(table.whose[rows])), []
        if attribute and not max(suppression.below, 2) <= number < table.number:
            return []
        for code, name in enumerate(disclosure.classes):
            n = counted(rows, code)
            finding = CertainFinding(
                outcome=str(name),
                certain=suppression.rough(n),
                base_rate=suppression.proportion(float(disclosure.marginal[code]), table.number),
                number=suppression.rough(number),
                attribute=attribute,
                value=value,
            )
            out.append((n, finding))
        return out

    every = found(np.arange(len(outcome)))
    named = [name for name in disclosure.people.columns if name in table.names] if any(n for n, _ in every) else []
    groups = [
        one
        for name in named
        for value, rows in subgroups(table.arrays[name]).items()
        for one in found(rows, str(name), value)
        if one[0]
    ]
    groups.sort(key=lambda one: -one[0])
    return tuple(finding for _, finding in (*every, *groups[:SHOWN_SUBGROUPS]))


def _subgroups(inferred: Inferred, suppression: Suppression) -> tuple[SubgroupFinding, ...]:
    """Return the most exposed subgroups and the least exposed one, those too small to be shown left out."""
    disclosure = inferred.estimate
    groups = [
        group
        for group in disclosure.by_subgroup(inferred.frame, list(disclosure.people.columns), inferred.truth)
        if group.size >= max(suppression.below, 2) and group.size < disclosure.people.n_people
    ]
    picked = groups if len(groups) <= SHOWN_SUBGROUPS else [*groups[: SHOWN_SUBGROUPS - 1], groups[-1]]
    return tuple(
        SubgroupFinding(
            attribute=group.attribute,
            value=group.value,
            size=suppression.rough(group.size),
            entropy=suppression.bits(group.entropy),
            d_overall=None if group.d_overall is None else suppression.bits(group.d_overall),
        )
        for group in picked
    )


def _sample(disclosure: Disclosure, suppression: Suppression) -> SampleFinding:
    members = disclosure.membership
    return SampleFinding(
        fraction=suppression.proportion(float(members.mean()), len(members)),
        lowest=_certainty(float(members.min()), suppression),
        highest=_certainty(float(members.max()), suppression),
        certain=suppression.rough(int((members > 1 - 1e-9).sum())),
    )


def _gained(disclosure: Disclosure) -> npt.NDArray[np.float64]:
    """Return what the reader learns of each quasi-identifier: the divergence of estimate from class distribution."""
    estimate, marginal = disclosure.quasi_probabilities, disclosure.marginal
    held = estimate > 0
    ratio = np.where(held, estimate, 1.0) / np.where(held, marginal, 1.0)
    return np.asarray(np.maximum((estimate * np.log(ratio)).sum(axis=1), 0.0))


def _truth(disclosure: Disclosure, truth: npt.ArrayLike, suppression: Suppression, table: Table) -> TruthFinding:
    distances = disclosure.d_individual(truth)
    lower, median, upper = (suppression.bits(float(value)) for value in np.quantile(distances, (0.25, 0.5, 0.75)))
    return TruthFinding(
        mean=suppression.bits(float(distances.mean())),
        lower=lower,
        median=median,
        upper=upper,
        disclosed=suppression.rough(len(np.unique(table.whose[distances < DISCLOSED * math.log(2)]))),
    )


def _remedy(row: Remedy, n: int, n_holdout: int, suppression: Suppression) -> RemedyFinding:
    return RemedyFinding(
        name=row.name,
        kind=row.kind,
        status=row.status,
        reason=row.reason,
        n_leaves=row.n_leaves,
        entropy=None if row.entropy is None else suppression.bits(row.entropy),
        d_overall=None if row.d_overall is None else suppression.bits(row.d_overall),
        accuracy=None if row.accuracy is None else suppression.proportion(row.accuracy, n),
        holdout_accuracy=None
        if row.holdout_accuracy is None
        else suppression.proportion(row.holdout_accuracy, n_holdout),
        internal_nodes=row.internal_nodes,
    )


def _certainty(probability: float, suppression: Suppression) -> float:
    """Return a probability down to a twentieth; 1, up to the precision of the solver, stays 1."""
    return suppression.share(1.0 if probability > 1 - 1e-9 else probability)
