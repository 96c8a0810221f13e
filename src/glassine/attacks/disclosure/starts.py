"""Class counts of the leaves to start a chain from: whole numbers that agree with what is told of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from glassine.attacks.disclosure.bounded import BoundedLeaves
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.totals import known_totals
from glassine.attacks.disclosure.worlds import NoWorldError, StartError

__all__ = ["leaf_tables"]

TIME_LIMIT = 60.0
INFEASIBLE = 2


def leaf_tables(disclosure: Disclosure, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return class counts of all leaves, shape (l, c), that agree with what is told of them.

    Where class totals tie the leaves together, an integer program finds them, with random costs, so that chains start
    from different ones.

    Parameters
    ----------
    disclosure : Disclosure
        What the reader knows, of a known training set.
    rng : Generator
        Source of the costs.

    Raises
    ------
    NoWorldError
        If no counts agree with leaves and totals.
    StartError
        If none were found in a minute.
    """
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
    found = milp(
        rng.random(n_leaves * c),
        integrality=np.ones(n_leaves * c),
        bounds=Bounds(least.ravel(), most.ravel()),
        constraints=rows,
        options={"time_limit": TIME_LIMIT, "mip_rel_gap": 1.0},
    )
    if found.x is None:
        if found.status == INFEASIBLE:
            raise NoWorldError(
                "no table of whole people has these leaves and these class totals. Check the marginals.", clashes=()
            )
        raise StartError(
            "no class counts of the leaves with these totals were found in a minute. Take the relaxation.", clashes=()
        )
    return np.asarray(np.rint(found.x).astype(np.int64).reshape(n_leaves, c))


def _one(disclosure: Disclosure, leaf: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
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


def _within(
    low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], size: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return counts within bounds that add up: places left are drawn without regard to the class."""
    places = np.repeat(np.arange(len(low)), high - low)
    chosen = rng.permutation(places)[: size - int(low.sum())]
    return np.asarray(low + np.bincount(chosen, minlength=len(low)))
