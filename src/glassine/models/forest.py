"""Forests: several decision trees of the same records, as one plain value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from glassine.domain import Literal
from glassine.domain.attributes import Scalar, is_whole
from glassine.errors import InvalidModelError, parameter
from glassine.models.tree import DecisionTree

__all__ = ["Forest"]

Table: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, repr=False, kw_only=True)
class Forest:
    """Decision trees that were trained on the same records.

    Parameters
    ----------
    trees : tuple of DecisionTree
        The trees, over the same attributes and classes. The size of a leaf counts different records.
    bootstrap : bool, default=False
        Whether each tree was trained on records drawn with replacement; otherwise every tree saw every record.
    n_records : int, optional
        Number of training records; taken from the first tree where every tree saw every record.
    drawn : tuple of (tuple of tuple of int), optional
        With bootstrap, for each tree and each of its cells, in order, how many draws of each class it captured; of a
        regression, how many draws.
    multiplicities : tuple of tuple of int, optional
        With bootstrap, how often each tree drew each record: known where the seeds of the draws are published.
    source : str, optional
        Where the forest came from.

    Raises
    ------
    InvalidModelError
        If there is no tree, trees differ in their attributes or classes, or the draws do not fit the trees.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from glassine.formats.sklearn.forest import forest_from_sklearn
    >>> fitted = RandomForestClassifier(3, bootstrap=False, random_state=0).fit([[1], [2], [5]], ["no", "no", "yes"])
    >>> forest_from_sklearn(fitted)
    <forest of 3 trees, 3 records>
    """

    trees: tuple[DecisionTree, ...]
    bootstrap: bool = False
    n_records: int | None = None
    drawn: tuple[Table, ...] | None = None
    multiplicities: Table | None = None
    source: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "trees", tuple(self.trees))
        if not self.trees:
            raise InvalidModelError("a forest needs at least one tree, got none.")
        for i, tree in enumerate(self.trees):
            member: object = tree
            if not isinstance(member, DecisionTree):
                raise InvalidModelError(f"a forest holds decision trees, got {type(member).__name__} at place {i}.")
            if (tree.attributes, tree.classes) != (self.attributes, self.classes):
                raise InvalidModelError(f"tree {i} of the forest has other attributes or classes than the first tree.")
        if not self.bootstrap and (self.drawn is not None or self.multiplicities is not None):
            raise InvalidModelError(
                "a forest without bootstrap draws nothing.", remedy="Say that it has bootstrap, or drop them."
            )
        if self.n_records is None and not self.bootstrap:
            object.__setattr__(self, "n_records", self.trees[0].n_records)
        if self.n_records is not None and not (is_whole(self.n_records) and self.n_records >= 0):
            raise InvalidModelError(
                f"{parameter('n_records')} must be a whole number of at least 0, got {self.n_records!r}."
            )
        if self.drawn is not None:
            self._check_drawn(self.drawn)
        if self.multiplicities is not None:
            self._check_multiplicities(self.multiplicities)

    def _check_drawn(self, drawn: tuple[Table, ...]) -> None:
        width = 1 if self.classes is None else len(self.classes)
        if len(drawn) != len(self.trees):
            raise InvalidModelError(
                f"{parameter('draws')} of {len(drawn)} trees are given for a forest of {len(self.trees)}."
            )
        for i, (tree, table) in enumerate(zip(self.trees, drawn, strict=True)):
            if len(table) != len(tree.cells) or any(len(row) != width for row in table):
                raise InvalidModelError(f"the draws of tree {i} must be {len(tree.cells)} rows of {width} numbers.")
            for cell, row in zip(tree.cells, table, strict=True):
                if not all(is_whole(draws) and draws >= 0 for draws in row):
                    raise InvalidModelError(
                        f"{parameter('draws')} must be whole numbers of at least 0, got {row!r} in tree {i}."
                    )
                size = cell.evidence.size
                if size is not None and not sum(1 for draws in row if draws) <= size <= sum(row):
                    raise InvalidModelError(f"a leaf of tree {i} holds {size} records, but {sum(row)} draws.")

    def _check_multiplicities(self, table: Table) -> None:
        if self.drawn is None or len(table) != len(self.trees) or any(len(row) != self.n_records for row in table):
            raise InvalidModelError(
                f"multiplicities need the draws, and {self.n_records} numbers for each of the {len(self.trees)} trees."
            )
        for i, (tree, row, drawn) in enumerate(zip(self.trees, table, self.drawn, strict=True)):
            if not all(is_whole(times) and times >= 0 for times in row):
                raise InvalidModelError(
                    f"{parameter('multiplicities')} must be whole numbers of at least 0; those of tree {i} are not."
                )
            different, draws = sum(1 for times in row if times), int(np.sum(drawn))
            if sum(row) != draws or tree.n_records not in (None, different):
                raise InvalidModelError(
                    f"tree {i} holds {tree.n_records} records in {draws} draws, but its multiplicities are of "
                    f"{different} records in {sum(row)} draws."
                )

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes that the trees were given, in order."""
        return self.trees[0].attributes

    @property
    def classes(self) -> tuple[Scalar, ...] | None:
        """Names of the classes; None for a regression."""
        return self.trees[0].classes

    @property
    def literals(self) -> tuple[Literal, ...]:
        """Every literal of the trees, each once."""
        return tuple(dict.fromkeys(literal for tree in self.trees for literal in tree.literals))

    @property
    def counts_are_exact(self) -> bool:
        """Whether counts, where published, are those of the records: neither rounded nor noisy."""
        return all(tree.counts_are_exact for tree in self.trees)

    def __str__(self) -> str:
        size = "an unknown number of" if self.n_records is None else self.n_records
        drawn = ", bootstrap" if self.bootstrap else ""
        return f"forest of {len(self.trees)} trees, {size} records{drawn}"

    def __repr__(self) -> str:
        return f"<{self}>"
