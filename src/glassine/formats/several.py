"""Files with several trees: which of them is read."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from glassine.domain.attributes import is_whole
from glassine.errors import InvalidParameterError, SeveralTreesError, UnsupportedModelError
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree

__all__ = ["ONE_OF_SEVERAL", "alone", "not_judged", "place_of", "source_of", "without_sizes"]

ONE_OF_SEVERAL = "In Python, load_model(..., tree=0) reads the first, and load_forest all of them."
"""What to do with several trees, as an error says it."""


def place_of(n_trees: int, tree: Any, what: str, remedy: str = "") -> int:
    """Return the place of the tree to read, from 0.

    Parameters
    ----------
    n_trees : int
        Number of trees of the file.
    tree : int or None
        The one that is asked for; None for the only one.
    what : str
        What holds the trees.
    remedy : str, default=""
        How its own library gives one of them.

    Raises
    ------
    UnsupportedModelError
        If there is none.
    SeveralTreesError
        If there are several and none is asked for.
    InvalidParameterError
        If the one asked for is not there.
    """
    if tree is not None and not (is_whole(tree) and 0 <= tree < max(1, n_trees)):
        raise InvalidParameterError(
            f"tree must be a whole number from 0 to {max(1, n_trees) - 1}, as {what} holds {n_trees}, got {tree!r:.40}."
        )
    if n_trees < 1:
        raise UnsupportedModelError(f"{what} holds {n_trees} trees. Export a model that has been fitted.")
    if n_trees > 1 and tree is None:
        raise SeveralTreesError(
            f"{what} holds {n_trees} trees; one is audited at a time. {ONE_OF_SEVERAL} {remedy}".rstrip()
        )
    return int(tree or 0)


def alone(tree: Any, what: str) -> None:
    """Raise InvalidParameterError if another tree than the first is asked of a file that holds one model."""
    if tree is not None:
        place_of(1, tree, what)


def source_of(what: str, place: int, n_trees: int) -> str:
    """Return what a tree was read from: its place, of several.

    Examples
    --------
    >>> source_of("XGBoost", 0, 20), source_of("XGBoost", 0, 1)
    ('tree 0 of 20 of XGBoost', 'XGBoost')
    """
    return what if n_trees == 1 else f"tree {place} of {n_trees} of {what}"


def not_judged(source: str) -> str:
    """Return how many trees of a file were left aside, given the source of the one that was read; empty if none.

    Examples
    --------
    >>> not_judged("tree 0 of 20 of XGBoost")
    'Tree 0 of 20; the other 19 were not judged.'
    """
    found = re.match(r"tree ([0-9]{1,9}) of ([0-9]{1,9}) of ", source)
    if found is None or int(found[2]) < 2:
        return ""
    others = int(found[2]) - 1
    told = f"the other {others} were not judged" if others > 1 else "the other was not judged"
    return f"Tree {int(found[1])} of {int(found[2])}; {told}."


def without_sizes(tree: DecisionTree) -> DecisionTree:
    """Return a tree that tells no numbers of records: they may be those of a sample, or of draws."""
    nodes = tuple(
        dataclasses.replace(node, evidence=Evidence(label=node.evidence.prediction, value=node.evidence.value))
        for node in tree.nodes
    )
    return dataclasses.replace(tree, nodes=nodes)
