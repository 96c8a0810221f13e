"""How right a published model is on the records: exact counts by class, loss or score, read off the model itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from glassine.data.labels import class_codes
from glassine.models import AdditiveModel, CategoryBins, DecisionTree, NumericBins, RuleList
from glassine.models.additive_scores import MOST_LOGARITHM
from glassine.models.evidence import cell_labels, class_array
from glassine.records.arrays import AnyArray, Array, Bools, Indices, Ints
from glassine.records.columns import ConformedColumns, values_of
from glassine.records.cuts import Cuts
from glassine.sealed.binned import AdditiveStore
from glassine.sealed.store import HeldIntake

PARTS = 2**24
"""Parts of a record whose error or loss is counted."""

LEAST = 1e-3
"""Probability below which the true class counts as having it in the log loss: a record moves the sum by 6.9 at most."""

Model: TypeAlias = DecisionTree | RuleList | AdditiveModel
Counted: TypeAlias = Literal["accuracy", "log_loss", "auroc", "errors"]

ADDED: dict[str, int] = {"accuracy": 1, "log_loss": PARTS, "auroc": 1, "errors": PARTS}
"""What a record adds to all counts of a figure together."""


def cells_of(model: DecisionTree | RuleList, columns: ConformedColumns) -> Indices:
    """Return for each record the index of its leaf or rule, shape (n,); the last branch takes what no other does."""
    n = columns.n_records
    truths = {literal: columns.holds(literal) for literal in model.literals}
    out, every = np.zeros(n, dtype=np.intp), np.arange(n)
    if isinstance(model, RuleList):
        rows = every
        for i, rule in enumerate(model.rules):
            captured = np.ones(len(rows), dtype=bool)
            for literal in rule.antecedent:
                captured &= truths[literal][rows]
            out[rows[captured]] = i
            rows = rows[~captured]
        return out
    where, stack = {cell.node: i for i, cell in enumerate(model.cells)}, [(0, every)]
    while stack:
        node, rows = stack.pop()
        branches = model.nodes[node].branches
        if not branches:
            out[rows] = where[node]
        for i, branch in enumerate(branches):
            taken = truths[branch.literal][rows] if i < len(branches) - 1 else np.ones(len(rows), dtype=bool)
            stack.append((branch.child, rows[taken]))
            rows = rows[~taken]
    return out


def scores_of(model: AdditiveModel, columns: ConformedColumns) -> Array:
    """Return the score of each record, shape (n, outputs): the intercept, then the terms' scores in order."""
    out: Array = np.tile(np.array(model.intercept), (columns.n_records, 1))
    for term in model.terms:
        places = [_bins_of(bins, columns) for bins in term.bins]
        cell = places[0] if len(places) == 1 else places[0] * term.shape[1] + places[1]
        out += term.scores.reshape(-1, len(model.intercept))[cell]
    return out


def _bins_of(bins: NumericBins | CategoryBins, columns: ConformedColumns) -> Indices:
    if isinstance(bins, CategoryBins):
        lookup = bins.lookup(values_of(columns.attributes[bins.attribute]))
        return np.asarray(lookup[columns.codes[bins.attribute]], dtype=np.intp)
    values, cuts = columns.numbers[bins.attribute], np.asarray(bins.cuts, dtype=np.float64)
    places = np.searchsorted(cuts, values, side="left" if bins.closed == "right" else "right")
    return np.where(np.isnan(values), bins.n_bins - 1, places)


def predicted(model: Model, columns: ConformedColumns) -> AnyArray:
    """Return the index of each record's class, -1 without one; or its number, NaN without one; shape (n,)."""
    if not isinstance(model, AdditiveModel):
        if model.classes is not None:
            return cell_labels(model)[cells_of(model, columns)]
        values = [math.nan if cell.evidence.value is None else cell.evidence.value for cell in model.cells]
        return np.array(values, dtype=np.float64)[cells_of(model, columns)]
    scores = scores_of(model, columns)
    if model.classes is None:
        numbers = np.exp(np.minimum(scores[:, 0], MOST_LOGARITHM)) if model.link == "log" else scores[:, 0]
        return numbers if model.target_bounds is None else np.clip(numbers, *model.target_bounds)
    return (scores[:, 0] > 0).astype(np.intp) if model.link == "logit" else scores.argmax(axis=1)


def chances(model: Model, columns: ConformedColumns, of_cells: Array) -> Array:
    """Return class probabilities of each record, shape (n, classes): of a tree or list those of its cells."""
    if not isinstance(model, AdditiveModel):
        return np.asarray(of_cells[cells_of(model, columns)])
    scores = scores_of(model, columns)
    if model.link == "logit":
        shrunk = np.exp(-np.abs(scores[:, 0]))
        rare, common = shrunk / (1 + shrunk), 1 / (1 + shrunk)
        positive = scores[:, 0] > 0
        return np.column_stack([np.where(positive, rare, common), np.where(positive, common, rare)])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rightness:
    """Cells of a count: records, or their parts, by how right a released or public model is.

    Each record adds whole numbers of at least 0, which add up to :attr:`parts`, and which follow from that record and
    the model alone.
    """

    figure: Counted
    model: Model
    # What is public of the target: of a number its range, as (half, middle); of classes the probabilities of cells.
    scale: tuple[float, float] = (1.0, 0.0)
    of_cells: Array
    cuts: Array  # Where cells of the score begin, of ``auroc``
    distinguished: Cuts  # Points between which the model gives numbers one prediction

    @property
    def parts(self) -> int:
        """What a record adds to all counts together."""
        return ADDED[self.figure]

    def count(self, records: AdditiveStore) -> Ints:
        """Return the exact counts: (2,) of accuracy, (3,) of losses and errors, (2 * cells,) of scores."""
        return sum(
            (self.of_records(*some) for some in records.records.in_cells(self.distinguished)),
            start=np.zeros(self.size, dtype=np.int64),
        )

    @property
    def size(self) -> int:
        """Number of counts."""
        return {"accuracy": 2, "auroc": 2 * (len(self.cuts) + 1)}.get(self.figure, 3)

    def of_records(self, columns: ConformedColumns, values: AnyArray, times: Ints | int = 1) -> Ints:
        """Return the counts of some records, each of which stands for so many."""
        # Shapes: values, index of the class or number in [-1, 1], (n,); times (n,), or one number.
        if self.figure in ("log_loss", "auroc"):
            shares = chances(self.model, columns, self.of_cells)
            if self.figure == "auroc":
                return counts_by_score(shares[:, 1], values > 0, self.cuts, times).ravel()
            of_class = shares[np.arange(len(values)), values.astype(np.int64)]
            # Without a probability the loss is the largest.
            losses = np.log(np.clip(np.nan_to_num(of_class, nan=0.0), LEAST, 1.0)) / math.log(LEAST)
            return _parts_of(losses, times)
        answers = predicted(self.model, columns)
        if self.figure == "accuracy":
            right = answers == values.astype(np.int64)
            return np.array([int((one * times).sum()) for one in (right, ~right)])
        half, middle = self.scale
        errors = np.clip(np.abs(values - np.clip((answers - middle) / half, -1.0, 1.0)) / 2, 0.0, 1.0)
        # Without a prediction the error is the whole range.
        errors[np.isnan(errors)] = 1.0
        return _parts_of(errors, times)


def _parts_of(errors: Array, times: Ints | int) -> Ints:
    """Return the parts of records by errors in [0, 1]: their squares, what they have beyond these, and the rest."""
    squares = np.rint(errors**2 * PARTS).astype(np.int64)
    # An error of at most 1 is no smaller than its square, and rounding keeps their order.
    parts = np.rint(errors * PARTS).astype(np.int64)
    return np.array([(some * times).sum() for some in (squares, parts - squares, PARTS - parts)])


def counts_by_score(scores: Array, positive: Bools, cuts: Array, times: Ints | int = 1) -> Ints:
    """Return the records of each class by cell, shape (2, cells); one without a score is ranked wrong."""
    cells = np.searchsorted(cuts, scores, side="right")
    cells = np.where(np.isnan(scores), np.where(positive, 0, len(cuts)), cells)
    out = np.zeros((2, len(cuts) + 1), dtype=np.int64)
    np.add.at(out, (positive.astype(np.intp), cells), times)
    return out


def n_correct(model: Model, held_out: HeldIntake) -> int:
    """Return how many records, each as often as it counts, a released model classifies correctly.

    Guarantee
    ---------
    none: it is not released. One more record, or person, raises it by at most their weight, and lowers it never; see
    ``learners/search.md``.
    """
    # The last entry stands for no class.
    names = np.append(class_codes(class_array(model.classes or ()), held_out.classes), -1)
    right = names[predicted(model, held_out.columns)] == held_out.labels
    return int(right.sum() if held_out.multiplicities is None else held_out.multiplicities[right].sum())
