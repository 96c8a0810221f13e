"""Tangents of the internal constraints: each is a linear inequality that the constraint implies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.constraints import Constraints, NodeTerms, branch_counts
from glassine.learners.greedy.impurity import Criterion, split_information

__all__ = ["Cut", "cut_at", "linear_tangent", "tangent"]

Floats = npt.NDArray[np.float64]

SMALLEST_SHARE = 1e-12
"""Shares below it are raised to it before a logarithm: the tangent of entropy stays an upper bound."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """A linear inequality: the sum of ``coefficients[branch, c] * x[member, c]`` is at least ``known``.

    Attributes
    ----------
    family, at : int
        The candidate that it stands for.
    members, branch : ndarray of int32, shape (m,)
        Quasi-identifiers, and the row of the coefficients of each.
    coefficients : ndarray, shape (b, c)
        The tangent.
    known : float
        The right-hand side.
    slackness : float
        By how much the constraint is looser than the right-hand side says, in people.
    """

    family: int
    at: int
    members: npt.NDArray[np.int32]
    branch: npt.NDArray[np.int32]
    coefficients: Floats
    known: float
    slackness: float

    def shortfall(self, x: Floats) -> float:
        """Return by how much a table, shape (q, c), fails the inequality; 0 where it holds."""
        return max(0.0, self.known - float((self.coefficients[self.branch] * x[self.members]).sum()))


def tangent(counts: Floats, criterion: Criterion) -> tuple[Floats, float]:
    """Return the tangent of the impurity of branches at their class counts: coefficients, shape (b, c), and a constant.

    With m the counts of a table of the same branch sizes, the impurity is at most ``sum(coefficients * m) + constant``:
    it is concave. Of entropy this is Gibbs' inequality, which holds for any positive shares.
    """
    n = counts.sum(axis=1)
    whole = np.where(n > 0, n, 1.0)
    if criterion == "gini":
        return -2 * counts / whole[:, None], float((n + (counts * counts).sum(axis=1) / whole).sum())
    if criterion == "misclassification":
        out = np.zeros_like(counts)
        out[np.arange(len(out)), counts.argmax(axis=1)] = -1.0
        return out, float(n.sum())
    shares = np.maximum(counts / whole[:, None], SMALLEST_SHARE)
    return -np.log(shares / shares.sum(axis=1, keepdims=True)), 0.0


def linear_tangent(counts: Floats, criterion: Criterion) -> Floats:
    """Return the tangent of the impurity of branches whose sizes are not known, shape (b, c).

    Impurity in records is concave and homogeneous of degree one, so that its tangent needs no constant: with m the
    counts of any table, the impurity is at most ``sum(coefficients * m)``.
    """
    n = counts.sum(axis=1, keepdims=True)
    shares = counts / np.where(n > 0, n, 1.0)
    if criterion == "gini":
        return np.asarray(1 - 2 * shares + (shares * shares).sum(axis=1, keepdims=True))
    if criterion == "misclassification":
        out = np.ones_like(counts)
        out[np.arange(len(out)), counts.argmax(axis=1)] = 0.0
        return out
    return tangent(counts, "entropy")[0]


def cut_at(
    constraints: Constraints,
    family: int,
    at: int,
    x: Floats,
    *,
    terms: NodeTerms | None = None,
    centre: Floats | None = None,
) -> Cut:
    """Return the tangent of one constraint.

    Parameters
    ----------
    constraints : Constraints
        The constraints.
    family, at : int
        The candidate.
    x : ndarray, shape (q, c)
        Where the concave terms of the constraint are linearised: the cut keeps all that the constraint allows.
    terms : NodeTerms, optional
        E(T) and H where they are known numbers.
    centre : ndarray, shape (q, c), optional
        Without ``terms``: where the convex terms are linearised. The cut then allows nothing that the constraint
        forbids on their account.
    """
    if constraints.sampled:
        return _sampled_cut(constraints, family, at, x, terms, x if centre is None else centre)
    families, criterion = constraints.families, constraints.criterion
    i = int(families.splits[family])
    split = constraints.people.splits[i]
    members, branch = families.members(family), families.branches(family, at)
    ratio = 1.0
    if constraints.divides:
        ratio = float(split_information(families.branch_sizes(family, at))) / float(constraints.divisors[i])
    slackness = constraints.tolerance * float(constraints.node_sizes[i]) / 2
    coefficients, constant = tangent(branch_counts(x, members, branch), criterion)
    if terms is not None:
        chosen, whole = float(terms.chosen[i]), float(terms.whole[i])
        target = whole - ratio * (whole - chosen) if constraints.divides else chosen
        return Cut(
            family=family, at=at, members=members, branch=branch, coefficients=coefficients,
            known=target - constant - slackness, slackness=slackness,
        )  # fmt: skip
    anchor = x if centre is None else centre
    place = np.empty(len(constraints.people.sizes), dtype=np.int32)
    place[split.members] = split.branch
    own = place[members]
    subtracted, known = tangent(branch_counts(anchor, members, own), criterion)
    joint = branch * len(subtracted) + own
    out = np.repeat(coefficients, len(subtracted), axis=0) - ratio * np.tile(subtracted, (len(coefficients), 1))
    constant -= ratio * known
    if constraints.divides:
        # H enters with the weight ratio - 1: concave if positive, else on the side that is linearised at the centre.
        point = x if ratio > 1 else anchor
        node, shift = tangent(point[members].sum(axis=0, keepdims=True), criterion)
        out += (ratio - 1) * node
        constant += (ratio - 1) * shift
    return Cut(
        family=family, at=at, members=members, branch=joint, coefficients=out,
        known=-constant - slackness, slackness=slackness,
    )  # fmt: skip


def _sampled_cut(
    constraints: Constraints, family: int, at: int, x: Floats, terms: NodeTerms | None, centre: Floats
) -> Cut:
    """Return the tangent of one constraint on a sample: branch sizes are not known, and the last column is outside."""
    families, criterion, people = constraints.families, constraints.criterion, constraints.people
    i = int(families.splits[family])
    split = people.splits[i]
    members, branch = families.members(family), families.branches(family, at)
    slackness = constraints.tolerance * float(constraints.node_sizes[i]) / 2
    counts = branch_counts(constraints.counted(x), members, branch)
    coefficients, known = linear_tangent(counts, criterion), 0.0
    if terms is not None:
        known = float(terms.chosen[i])
        if constraints.divides:
            # n S(W) is the entropy of the branch sizes, which is concave in them, and n is known at the node.
            gain = (float(terms.whole[i]) - known) / float(constraints.divisors[i])
            sizes = counts.sum(axis=1)
            part = tangent(sizes[None], "entropy")[0][0] / max(float(sizes.sum()), 1.0)
            coefficients, known = coefficients + gain * part[:, None], float(terms.whole[i])
    else:
        place = np.empty(len(people.sizes), dtype=np.int32)
        place[split.members] = split.branch
        own = place[members]
        subtracted = linear_tangent(branch_counts(constraints.counted(centre), members, own), criterion)
        branch = branch * len(subtracted) + own
        coefficients = np.repeat(coefficients, len(subtracted), axis=0) - np.tile(subtracted, (len(coefficients), 1))
    outside = np.zeros((len(coefficients), 1))
    return Cut(
        family=family, at=at, members=members, branch=branch, coefficients=np.hstack([coefficients, outside]),
        known=known - slackness, slackness=slackness,
    )  # fmt: skip
