"""Anonymity of groups by an estimate: l-diversity, (alpha, k)-anonymity and t-closeness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from glassine.attacks.disclosure.estimate import Disclosure
from glassine.errors import check_choice
from glassine.records.arrays import Array, Ints

GROUPS = ("leaf", "quasi_identifier")

DISTANCES = ("equal", "ordered")

PRESENT = 1e-9
"""Probability from which a class counts as possible."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anonymity:
    """Anonymity of groups; each array has one entry per group.

    Attributes
    ----------
    sizes : ndarray of int64
        Number of people: the k of k-anonymity.
    distinct : ndarray of int64
        Possible classes: distinct l-diversity.
    entropy_l : ndarray
        exp of the entropy of the class: entropy l-diversity.
    alpha : ndarray
        Largest probability of a class: the alpha of (alpha, k)-anonymity.
    t : ndarray
        Distance of the class distribution from that of all people: the t of t-closeness.
    """

    sizes: Ints
    distinct: Ints
    entropy_l: Array
    alpha: Array
    t: Array

    @property
    def k(self) -> int:
        """Size of the smallest group."""
        return int(self.sizes.min())

    def worst(self) -> dict[str, float]:
        """Return what holds for every group: k, distinct l, entropy l, alpha and t."""
        return {
            "k": float(self.k),
            "distinct_l": float(self.distinct.min()),
            "entropy_l": float(self.entropy_l.min()),
            "alpha": float(self.alpha.max()),
            "t": float(self.t.max()),
        }


def anonymity(
    disclosure: Disclosure,
    groups: Literal["leaf", "quasi_identifier"] = "leaf",
    *,
    distance: Literal["equal", "ordered"] = "equal",
) -> Anonymity:
    """Return l-diversity, (alpha, k)-anonymity and t-closeness from an estimate.

    Parameters
    ----------
    disclosure : Disclosure
        The estimate. Where class counts are known, those of a leaf are the estimate's sums.
    groups : {"leaf", "quasi_identifier"}, default="leaf"
        What counts as an equivalence class: the people of a leaf, or those with the same quasi-identifier.
    distance : {"equal", "ordered"}, default="equal"
        Earth mover's distance of t-closeness: between classes that are equally far apart, half the sum of absolute
        differences; or between classes in their order, one step apart.

    Raises
    ------
    InvalidParameterError
        If an option is not one of its values.

    References
    ----------
    Machanavajjhala et al., *l-diversity* (2006); Wong et al., *(alpha, k)-anonymity* (2006); Li, Li and
    Venkatasubramanian, *t-closeness* (2007).

    Examples
    --------
    >>> import polars as pl
    >>> from glassine.attacks.disclosure import infer_sensitive
    >>> from glassine.learners.multiway_tree import MultiwayTreeClassifier
    >>> people = pl.DataFrame({"a": ["x", "x", "x", "y", "y"]})
    >>> tree = MultiwayTreeClassifier().fit(people, [0, 0, 1, 1, 1])
    >>> result = anonymity(infer_sensitive(tree, people))
    >>> result.k, result.distinct.tolist(), result.alpha.round(3).tolist(), result.t.round(3).tolist()
    (2, [2, 1], [0.667, 1.0], [0.267, 0.4])
    """
    for name, value, choices in (("groups", groups, GROUPS), ("distance", distance, DISTANCES)):
        check_choice(value, name, choices, remedy="Name one.")
    people = disclosure.people
    table = disclosure.quasi_probabilities * people.sizes[:, None]
    sizes = people.sizes
    if groups == "leaf":
        sizes = people.leaf_sizes
        by_leaf = np.zeros((len(sizes), table.shape[1]))
        np.add.at(by_leaf, people.leaf, table)
        table = by_leaf
    shares = table / sizes[:, None]
    away = shares - table.sum(axis=0) / people.n_people
    if distance == "equal" or shares.shape[1] < 2:
        t = np.abs(away).sum(axis=1) / 2
    else:
        t = np.abs(np.cumsum(away, axis=1)[:, :-1]).sum(axis=1) / (shares.shape[1] - 1)
    entropies = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    return Anonymity(
        sizes=sizes,
        distinct=(shares > PRESENT).sum(axis=1).astype(np.int64),
        entropy_l=np.exp(entropies),
        alpha=shares.max(axis=1),
        t=t,
    )
