"""Disclosure of the sensitive attribute as findings show it: aggregates and row numbers, small counts hidden."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure import Disclosure
from glassine.findings import SensitiveFinding
from glassine.findings.disclosure import ReaderFinding
from glassine.suppression import Suppression

__all__ = ["describe_sensitive"]

MOST_EXPOSED = 10


def describe_sensitive(
    found: Disclosure,
    sensitive: str,
    shown: Suppression,
    *,
    quasi_identifiers: tuple[str, ...],
    unused: str = "",
    truth: npt.ArrayLike | None = None,
) -> SensitiveFinding:
    """Return what a reader learns of the sensitive attribute.

    Parameters
    ----------
    found : Disclosure
        The estimate.
    sensitive : str
        Name of the sensitive attribute.
    shown : Suppression
        What may be shown of counts.
    quasi_identifiers : tuple of str
        What the reader knows of everybody.
    unused : str
        Why the internal nodes were not used; empty if they were.
    truth : array-like, shape (n,), optional
        Everybody's class.
    """
    n, gained = found.people.n_people, _gained(found)
    return SensitiveFinding(
        sensitive=sensitive,
        quasi_identifiers=quasi_identifiers,
        n_people=shown.count(n),
        n_quasi_identifiers=shown.count(len(found.people.sizes)),
        n_classes=len(found.classes),
        knowledge=found.adversary.describe(),
        optimum="global" if found.status == "optimal" else "local",
        gap=found.gap,
        learned_mean=shown.nats(float(found.people.sizes @ gained) / n),
        learned_most=shown.nats(float(gained.max())),
        readers=tuple(
            ReaderFinding(
                reader=reader.reader,
                entropy=shown.nats(reader.entropy),
                certain=shown.rough(reader.certain),
                d_overall=None if reader.d_overall is None else shown.nats(reader.d_overall),
                guess_rate=None if reader.guess_rate is None else shown.proportion(reader.guess_rate, n),
            )
            for reader in found.compare(truth)
        ),
        # by number: the order of exposure would tell where one leaf ends, hence its size
        exposed=tuple(sorted(row for row, _ in found.most_exposed(MOST_EXPOSED))),
        n_internal=found.counts.internal,
        n_active=found.counts.active,
        unused=unused,
        notes=found.notes,
    )


def _gained(found: Disclosure) -> npt.NDArray[np.float64]:
    """Return what the reader learns of each quasi-identifier: the divergence of estimate from class distribution."""
    estimate, marginal = found.quasi_probabilities, found.marginal
    held = estimate > 0
    ratio = np.where(held, estimate, 1.0) / np.where(held, marginal, 1.0)
    return np.asarray(np.maximum((estimate * np.log(ratio)).sum(axis=1), 0.0))
