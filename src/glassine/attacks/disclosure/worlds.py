"""Worlds: whole-number tables of people and classes that agree with everything that the reader knows.

A world says how many people of each quasi-identifier have each class. It agrees with the sizes of the
quasi-identifiers, with what the leaves tell, and with every internal constraint up to the adversary's tolerance. Of
a sample, it also says how many people of each quasi-identifier were left out.

The prior is that every assignment of classes to *people* is equally likely. A table x stands for
``prod_q n_q! / prod_c x_qc!`` assignments, which is its weight: without the factor, people who share their
quasi-identifiers would count as one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from glassine.attacks.disclosure.bounded import BoundedLeaves
from glassine.attacks.disclosure.constraints import Clash
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.leaves import LeafKnowledge
from glassine.attacks.disclosure.people import true_table
from glassine.attacks.disclosure.sample import SampledLeaves
from glassine.attacks.disclosure.totals import known_totals
from glassine.errors import GlassineError

__all__ = ["NoWorldError", "StartError", "agrees_with_leaves", "is_world", "log_weights", "true_world"]

Floats = npt.NDArray[np.float64]
Table = npt.NDArray[np.int64]

ROUNDING = 1e-6
"""By how much a published rate may differ from that of whole numbers."""


class NoWorldError(GlassineError):
    """No whole-number table agrees with what the reader is taken to know.

    Attributes
    ----------
    clashes : tuple of Clash
        The node and the candidate that no table of the people below the node satisfies; empty if leaves alone clash.
    """

    def __init__(self, message: str, *, clashes: tuple[Clash, ...]) -> None:
        super().__init__(message)
        self.clashes = clashes


class StartError(GlassineError):
    """The search for a first world ended without one; there may be one.

    Attributes
    ----------
    clashes : tuple of Clash
        The constraints that the last table breaks, the worst first.
    """

    def __init__(self, message: str, *, clashes: tuple[Clash, ...]) -> None:
        super().__init__(message)
        self.clashes = clashes


def log_weights(tables: npt.NDArray[np.integer], sizes: npt.NDArray[np.integer]) -> Floats:
    """Return the logarithm of the number of assignments that tables stand for.

    Parameters
    ----------
    tables : ndarray of int, shape (..., q, c)
        People of each quasi-identifier and class.
    sizes : ndarray of int, shape (q,)
        People of each quasi-identifier.

    Examples
    --------
    Two people who share their quasi-identifiers have one class each in two ways:

    >>> import numpy as np
    >>> np.exp(log_weights(np.array([[1, 1]]), np.array([2]))).round(6).item()
    2.0
    """
    return np.asarray(gammaln(np.asarray(sizes) + 1.0).sum() - gammaln(np.asarray(tables) + 1.0).sum(axis=(-2, -1)))


def agrees_with_leaves(leaves: LeafKnowledge, counts: npt.NDArray[np.integer], leaf: int) -> npt.NDArray[np.bool_]:
    """Return which class counts of one leaf, shape (..., c), agree with what is told of it."""
    if leaves.counts is not None:
        return np.asarray((counts == leaves.counts[leaf]).all(axis=-1))
    if isinstance(leaves, SampledLeaves):
        return _agrees_with_sample(leaves, counts, leaf)
    held = np.ones(counts.shape[:-1], dtype=bool)
    if isinstance(leaves, BoundedLeaves):
        held &= ((counts >= leaves.low[leaf]) & (counts <= leaves.high[leaf])).all(axis=-1)
    if leaves.labels is not None:
        own = counts[..., int(leaves.labels[leaf])]
        held &= own >= counts.max(axis=-1)
        if leaves.correct is not None:
            held &= own == leaves.correct[leaf]
    return held


def _agrees_with_sample(leaves: SampledLeaves, counts: npt.NDArray[np.integer], leaf: int) -> npt.NDArray[np.bool_]:
    inside = counts[..., :-1]
    records = inside.sum(axis=-1)
    held = np.ones(counts.shape[:-1], dtype=bool)
    if leaves.members is not None:
        held &= records == leaves.members[leaf]
    if leaves.labels is not None:
        own = inside[..., int(leaves.labels[leaf])]
        held &= own >= inside.max(axis=-1)
        if leaves.correct is not None:
            held &= own == leaves.correct[leaf]
        elif leaves.rates is not None:
            held &= np.abs(own - leaves.rates[leaf] * records) <= ROUNDING * np.maximum(records, 1)
    return held


def is_world(disclosure: Disclosure, table: npt.ArrayLike) -> bool:
    """Return whether a table is a world.

    Parameters
    ----------
    disclosure : Disclosure
        What the reader knows.
    table : array-like, shape (q, c)
        People of each quasi-identifier and class; of a sample with a last column of those outside.
    """
    given = np.asarray(table, dtype=np.float64)
    people = disclosure.people
    if given.shape != (len(people.sizes), disclosure.leaves.n_classes) or not np.isfinite(given).all():
        return False
    x = np.rint(given).astype(np.int64)
    if not ((x == given).all() and (x >= 0).all() and np.array_equal(x.sum(axis=1), people.sizes)):
        return False
    counts = np.zeros((len(people.leaf_nodes), x.shape[1]), dtype=np.int64)
    np.add.at(counts, people.leaf, x)
    told = all(bool(agrees_with_leaves(disclosure.leaves, row, i)) for i, row in enumerate(counts))
    totals = known_totals(disclosure)
    if totals is not None:
        told = told and bool((counts.sum(axis=0) == totals)[totals >= 0].all())
    return told and disclosure.constraints.satisfied(x)


def true_world(disclosure: Disclosure, truth: npt.ArrayLike) -> Table:
    """Return the table of everybody's true class, shape (q, c).

    Parameters
    ----------
    disclosure : Disclosure
        Whom the reader knows.
    truth : array-like, shape (n,)
        Everybody's class.
    """
    return true_table(disclosure.people, disclosure.classes, truth)
