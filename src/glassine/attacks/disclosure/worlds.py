"""Worlds: whole-number tables of people and classes that agree with everything that the reader knows.

A world says how many people of each quasi-identifier have each class. It agrees with the sizes of the
quasi-identifiers, with what the leaves reveal, and with every internal constraint up to the adversary's tolerance. Of
a sample, it also says how many people of each quasi-identifier were left out.

The prior is that every assignment of classes to *people* is equally likely. A table x stands for
``prod_q n_q! / prod_c x_qc!`` assignments, which is its weight: without the factor, people who share their
quasi-identifiers would count as one.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from glassine.attacks.disclosure.constraints import Clash
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.leaf_constraints import BoundedLeaves
from glassine.attacks.disclosure.uncertain_membership import SampledLeaves
from glassine.errors import GlassineError
from glassine.records.arrays import Ints

ROUNDING = 1e-6
"""By how much a published rate may differ from that of whole numbers."""

TIME_LIMIT = 60.0
"""Seconds to find class counts of all leaves; the message says a minute."""

INFEASIBLE = 2
"""The status of SciPy's milp for a program without a solution."""


def known_totals(disclosure: Disclosure) -> Ints | None:
    """Return the people of each class, -1 where it is not known; None where the leaves reveal it, or nothing does."""
    # Of a sample the last class is outside it.
    leaves, n = disclosure.leaves, disclosure.people.n_people
    if leaves.counts is not None:
        return None
    out = np.full(leaves.n_classes, -1, dtype=np.int64)
    if disclosure.class_totals is not None:
        totals = np.rint(disclosure.class_totals).astype(np.int64)
        out[: len(totals)] = totals
        if len(totals) < len(out):
            out[-1] = n - totals.sum()
    elif isinstance(leaves, SampledLeaves) and leaves.members is None and leaves.fraction is not None:
        out[-1] = n - round(n * leaves.fraction)
    return None if (out < 0).all() else out


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


def leaf_tables(disclosure: Disclosure, rng: np.random.Generator) -> Ints:
    """Return class counts of all leaves, shape (l, c), that agree with the evidence."""
    # Where class totals tie the leaves together, an integer program finds them, with random costs, so that chains start
    # from different ones.
    leaves = disclosure.leaves
    if leaves.counts is not None:
        return leaves.counts.astype(np.int64)
    totals = known_totals(disclosure)
    if totals is None:
        return np.array([_one(disclosure, leaf, rng) for leaf in range(len(leaves.sizes))])
    n_leaves, c = len(leaves.sizes), leaves.n_classes
    by_leaf = sparse.kron(sparse.identity(n_leaves), np.ones((1, c)))
    by_class = sparse.kron(np.ones((1, n_leaves)), sparse.identity(c))
    rows = [LinearConstraint(by_leaf, leaves.sizes, leaves.sizes), LinearConstraint(by_class, totals, totals)]
    least, most = (bound.copy() for bound in leaves.class_bounds())
    if leaves.labels is not None:
        at = np.arange(n_leaves)
        if leaves.correct is not None:
            most = np.minimum(most, leaves.correct[:, None])
            least[at, leaves.labels] = leaves.correct
        ahead = sparse.lil_matrix((n_leaves * c, n_leaves * c))
        cells = np.arange(n_leaves * c)
        ahead[cells, np.repeat(at * c + leaves.labels, c)] = 1.0
        ahead = ahead.tocsr() - sparse.identity(n_leaves * c)
        rows.append(LinearConstraint(ahead, 0.0, np.inf))
    result = milp(
        rng.random(n_leaves * c),
        integrality=np.ones(n_leaves * c),
        bounds=Bounds(least.ravel(), most.ravel()),
        constraints=rows,
        options={"time_limit": TIME_LIMIT, "mip_rel_gap": 1.0},
    )
    if result.x is None:
        if result.status == INFEASIBLE:
            raise NoWorldError(
                "no table of whole people has these leaves and these class totals. Check the marginals.", clashes=()
            )
        raise StartError(
            "no class counts of the leaves with these totals were found in a minute. Take the relaxation.", clashes=()
        )
    return np.asarray(np.rint(result.x).astype(np.int64).reshape(n_leaves, c))


def _one(disclosure: Disclosure, leaf: int, rng: np.random.Generator) -> Ints:
    """Return class counts of one leaf that agree with its label and error rate."""
    leaves = disclosure.leaves
    c, size = leaves.n_classes, int(leaves.sizes[leaf])
    label = 0 if leaves.labels is None else int(leaves.labels[leaf])
    others = rng.permutation([k for k in range(c) if k != label])
    if isinstance(leaves, BoundedLeaves):
        return _within(leaves.low[leaf].astype(np.int64), leaves.high[leaf].astype(np.int64), size, rng)
    out = np.zeros(c, dtype=np.int64)
    order = [label, *others.tolist()]
    if leaves.correct is not None:
        out[label] = int(leaves.correct[leaf])
        order = others.tolist()
    for i in range(size - int(out.sum())):
        out[order[i % len(order)]] += 1
    return out


def _within(low: Ints, high: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Return counts within bounds that add up: places left are drawn without regard to the class."""
    places = np.repeat(np.arange(len(low)), high - low)
    chosen = rng.permutation(places)[: size - int(low.sum())]
    return np.asarray(low + np.bincount(chosen, minlength=len(low)))
