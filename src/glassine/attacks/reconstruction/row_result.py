"""Reconstructed rows: what the attack returns, and whether they meet the counts that were published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from glassine.attacks.reconstruction.possible import Worlds
from glassine.attacks.record_matching import ErrorEstimate, Records, align, distances, original_records
from glassine.counting import MAX_STEPS, Region
from glassine.domain import Domain
from glassine.errors import UndefinedMeasureError
from glassine.exports import DisplayedToCheckers
from glassine.models import DecisionTree, Node, RuleList
from glassine.models.tree import Forest
from glassine.records.arrays import AnyArray, Bools, Indices

Status: TypeAlias = Literal["unique", "most likely", "possible", "drawn"]

_TRIVIAL = DecisionTree((Node(),), ())  # reveals nothing: its one leaf is the whole domain

MEANINGS: dict[str, str] = {
    "unique": "No other dataset meets the counts, up to values that no tree distinguishes.",
    "most likely": "No dataset that meets the counts is likelier, if all were equally likely beforehand.",
    "possible": "Other datasets may meet the counts. Whether this one is the likeliest is not proved.",
    "drawn": "Many datasets meet the counts; this one was sampled, each equally likely.",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RowReconstruction(DisplayedToCheckers):
    """Rows rebuilt from a published model, which meet every count that it publishes.

    A model knows a record only by its region: the part of the domain that the record's leaves have in common. Within
    its region a row is drawn at random; numbers are therefore known up to intervals between thresholds.

    Attributes
    ----------
    domain : Domain
        The public domain.
    rows : dict of str to ndarray, shape (n,)
        The rebuilt records, column by column.
    labels : ndarray of object, shape (n,), or None
        Their classes, None where unknown; None altogether where the model does not reveal class counts.
    status : {"unique", "most likely", "possible", "drawn"}
        What is proved of the rows as a whole; :attr:`meaning` says it in words.
    ordered : bool
        Whether the i-th row is the i-th training record; otherwise the order of rows means nothing.
    worlds : tuple of (int or None), shape (n,)
        Number of possible records in each row's region; None over a continuum.
    certain : ndarray of bool, shape (n,), or None
        Rows whose region and class a record has in every dataset that meets the counts; None if that was not proved.
    determined : ndarray of bool, shape (n, attributes)
        Values that every record of the row's region has.
    reproduced : bool or None
        Whether the forest, trained again on the rows with its own seeds, comes out the same in every tree; None if that
        was not tried. The training records do so; with many trees hardly any other rows do, but for another value of an
        attribute that is the same in every record.
    """

    domain: Domain
    rows: dict[str, AnyArray]
    labels: AnyArray | None
    status: Status
    ordered: bool = False
    worlds: tuple[int | None, ...]
    certain: Bools | None
    determined: Bools
    reproduced: bool | None = None

    @property
    def n_records(self) -> int:
        """Number of rows."""
        return len(self.worlds)

    @property
    def meaning(self) -> str:
        """The status, in words."""
        return MEANINGS[self.status]

    @property
    def n_certain(self) -> int | None:
        """Number of rows that are certain; None if that was not proved."""
        return None if self.certain is None else int(self.certain.sum())

    @property
    def n_whole(self) -> int | None:
        """Number of rows that are certain in every attribute: whole records; None if that was not proved."""
        return None if self.certain is None else int((self.certain & self.determined.all(axis=1)).sum())

    @property
    def share_certain(self) -> float | None:
        """Share of all values that are certain; None if that was not proved."""
        return None if self.certain is None else float((self.certain[:, None] & self.determined).mean())

    def error_to(
        self,
        original: object,
        *,
        n_draws: int = 5,
        max_records: int = 1000,
        random_state: int | np.random.Generator | None = None,
    ) -> ErrorEstimate:
        """Return how far the rows are from the original records, and how far random ones are.

        Both are matched with the original records at minimum total cost, as by
        :meth:`glassine.attacks.ProbabilisticDataset.error_to`, whose parameters these are; only the random datasets are
        drawn.

        Raises
        ------
        InvalidDataError
            If an attribute is not a column, or the number of records is not that of the rows.
        """
        data = original_records(original, self.domain, self.n_records, n_draws=n_draws, max_records=max_records)
        rng = np.random.default_rng(random_state)
        anything = Worlds(_TRIVIAL, self.domain, True, MAX_STEPS)
        size = min(self.n_records, max_records)
        draws = []
        for _ in range(n_draws):
            ours, theirs = (np.sort(rng.permutation(self.n_records)[:size]) for _ in range(2))
            if size == self.n_records or self.ordered:
                ours = theirs
            random = anything.draw(anything.counter.sample(Region({}), size, rng), rng)
            draws.append((_pick(data, theirs), _pick(self.rows, ours), random))
        return align(self.domain, draws)

    def error_in_order(self, original: object) -> float:
        """Return the mean distance of the i-th row from the i-th original record."""
        if not self.ordered:
            raise UndefinedMeasureError(
                "the order of the rows means nothing here.", remedy="Use error_to, which matches them."
            )
        data = original_records(original, self.domain, self.n_records)
        errors = [
            float(distances(self.domain, _pick(data, np.array([i])), _pick(self.rows, np.array([i])))[0, 0])
            for i in range(self.n_records)
        ]
        return math.fsum(errors) / len(errors)

    def __str__(self) -> str:
        parts = [f"{self.n_records:,} rows rebuilt. {self.meaning.rstrip('.')}"]
        if self.n_certain is not None:
            parts.append(f"{self.n_certain} are certain, {self.n_whole} of them in every attribute")
        else:
            parts.append("which of them are certain was not proved in time")
        if self.reproduced:
            parts.append("trained again on them, the forest comes out the same")
        if self.ordered:
            parts.append("they are in the order of the training records")
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"<RowReconstruction of {self.n_records} rows, {self.status}>"


def _pick(columns: Records, rows: Indices) -> Records:
    return {name: column[rows] for name, column in columns.items()}


# Rows are never shown before they were sent through what was published: the solver and its encoding may err.

Codes = Indices


def _tables(model: DecisionTree | RuleList, rows: Records, classes: Codes, width: int) -> Indices:
    """Return the number of rows of each cell and class."""
    out = np.zeros((len(model.cells), width), dtype=np.intp)
    np.add.at(out, (model.apply(rows), classes), 1)
    return out


def model_is_met(model: DecisionTree | RuleList, rows: Records, classes: Codes | None) -> bool:
    """Return whether rows have the published size, and class counts where classes are given, of every cell."""
    n = len(next(iter(rows.values())))
    width = 1 if classes is None or model.classes is None else len(model.classes)
    table = _tables(model, rows, np.zeros(n, dtype=np.intp) if classes is None else classes, width)
    published: list[Any] = [[cell.evidence.size] if classes is None else cell.evidence.counts for cell in model.cells]
    return all(entry is not None and list(entry) == row for entry, row in zip(published, table.tolist(), strict=True))


def forest_is_met(forest: Forest, rows: Records, classes: Codes | None) -> bool:
    """Return whether rows meet every count of a forest."""
    # Without bootstrap the counts must be equal. With it, the draws must be those of the rows where it is known how
    # often each was drawn; elsewhere there must be as many rows of a class as the draws hold different ones at least.
    if not forest.bootstrap:
        return all(model_is_met(tree, rows, classes) for tree in forest.trees)
    n = len(next(iter(rows.values())))
    codes = np.zeros(n, dtype=np.intp) if classes is None else classes
    for i, (tree, drawn) in enumerate(zip(forest.trees, forest.drawn or (), strict=True)):
        table = np.array(drawn, dtype=np.intp)
        sizes = np.array([cell.evidence.size for cell in tree.cells], dtype=np.intp)
        if forest.multiplicities is None:
            tables = _tables(tree, rows, codes, table.shape[1])
            if (tables < (table > 0)).any() or (np.minimum(tables, table).sum(axis=1) < sizes).any():
                return False
            continue
        times = np.array(forest.multiplicities[i], dtype=np.intp)
        bag = np.flatnonzero(times)
        cells = tree.apply({name: column[bag] for name, column in rows.items()})
        tables = np.zeros_like(table)
        np.add.at(tables, (cells, codes[bag]), times[bag])
        if not np.array_equal(tables, table) or not np.array_equal(np.bincount(cells, minlength=len(sizes)), sizes):
            return False
    return True
