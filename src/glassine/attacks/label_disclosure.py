"""Disclosure of labels: what a leaf's or rule's class counts say about everyone whom it captured.

Dist_G does not see this: it measures what is learned about the attributes, never about the class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from glassine.attacks.outcome import AttackTarget, Hiding, Measured, Measurement, NotApplicable, Outcome, ShownCount
from glassine.data.record_table import RecordTable
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import Array, Indices, Ints

__all__ = ["LABELS", "LabelDisclosure", "Occupants", "disclose_labels"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Occupants:
    """Who lies in the leaves or rules of a model, by class: people where persons are stated, else records."""

    number: int  # Total number
    sizes: Ints  # How many have a record in each part; shape (parts,)
    # How many have a record of each class there. A person with records of two classes counts for both; shape (parts,
    # classes).
    counts: Ints
    # The same with every person counted once in total: as often as a record of theirs, drawn at random, lies there;
    # shape (parts, classes).
    shares: Array
    n_certain: int  # How many have a record in a part of one class only: everyone in it has a record of that class

    @classmethod
    def published(cls, counts: Sequence[Sequence[int]]) -> Occupants:
        """Return the records that a model counts in each part, by class."""
        table = np.array(counts, dtype=np.int64)
        sizes = table.sum(axis=1)
        return cls(
            number=int(sizes.sum()),
            sizes=sizes,
            counts=table,
            shares=table.astype(np.float64),
            n_certain=int(sizes[table.max(axis=1) == sizes].sum()),
        )

    @classmethod
    def counted(cls, table: RecordTable, parts: Indices, labels: Indices, shape: tuple[int, int]) -> Occupants:
        """Return who of a table lies in each part, by class.

        Shapes: ``parts``, ``labels`` (n,).
        """
        n_parts, n_classes = shape
        places = np.where(labels < 0, -1, parts * n_classes + labels)
        sizes = table.counts(parts, n_parts)
        counts = table.counts(places, n_parts * n_classes).reshape(shape)
        present = places >= 0
        shares = np.zeros(n_parts * n_classes)
        np.add.at(shares, places[present], table.weights[present])
        single = (sizes > 0) & ((counts > 0).sum(axis=1) == 1) & (counts.max(axis=1) == sizes)
        return cls(
            number=table.number,
            sizes=sizes,
            counts=counts,
            shares=shares.reshape(shape),
            n_certain=int(table.counts(np.where(single[parts], 0, -1), 1)[0]),
        )

    @property
    def purest(self) -> Array:
        """Largest share of one class in each part, shape (parts,); NaN if it is empty."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.counts.max(axis=1) / np.where(self.sizes > 0, self.sizes, np.nan))


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelDisclosure:
    """What the published class counts say about the training records' labels."""

    n_records: int  # Number of training records; of people, where persons are stated
    # Largest share of one class in a leaf or rule that captured a record, in (0, 1]: of the records, or of the people
    # with a record there.
    purest: float
    n_certain: ShownCount  # Records, or people, in leaves or rules that hold one class only: their label is certain
    # Share of the records whose label is the most frequent one of their leaf or rule; each person counts once.
    guess_rate: float
    base_rate: float  # Share of the most frequent class: how often a reader without the model guesses right
    # bits_prior, bits_left: entropy of a record's label in bits, before and after reading the model.
    bits_prior: float
    bits_left: float
    counted: bool = False  # Whether people were counted in the data, not in the model

    def public(self) -> LabelDisclosure | None:
        """Return it; None where people were counted in the data."""
        return None if self.counted else self


def _entropy(counts: Sequence[float]) -> float:
    total = sum(counts)
    return math.fsum(-c / total * math.log2(c / total) for c in counts if c) if total else 0.0


def disclose_labels(model: DecisionTree | RuleList, people: Occupants | None = None) -> Outcome[LabelDisclosure]:
    """Return what the published class counts say about the labels of the training records."""
    if model.classes is None:
        return NotApplicable("the model predicts a number, so it has no class counts.")
    counts = [cell.evidence.counts for cell in model.cells]
    counted_cells = [c for c in counts if c is not None]
    if len(counted_cells) < len(counts):
        return NotApplicable("the model does not publish the class counts of all its parts.")
    if not model.counts_are_exact:
        return NotApplicable("the model's class counts are noisy or were rounded, so they say nothing exact.")
    known_by = Occupants.published(counted_cells) if people is None else people
    if not known_by.number:
        return NotApplicable("the model's class counts are all zero.")
    # Parts of the same shares are one, as are most of a large tree.
    occupied, times = np.unique(known_by.shares[known_by.sizes > 0], axis=0, return_counts=True)
    sizes, largest = occupied.sum(axis=1), occupied.max(axis=1)
    classes = (occupied.T @ times).tolist()
    n = sum(classes)
    mixed = zip(times.tolist(), sizes.tolist(), largest.tolist(), occupied.tolist(), strict=True)
    return Measured(
        LabelDisclosure(
            n_records=known_by.number,
            purest=float(np.nanmax(known_by.purest)),
            n_certain=known_by.n_certain,
            guess_rate=float(largest @ times) / n,
            base_rate=max(classes) / n,
            bits_prior=_entropy(classes),
            # A part of one class leaves nothing unknown.
            bits_left=math.fsum(k * size / n * _entropy(c) for k, size, most, c in mixed if most < size),
            counted=people is not None,
        )
    )


def _hide(disclosure: LabelDisclosure, hiding: Hiding) -> LabelDisclosure:
    """Return what labels disclose, too coarse to solve for a small count."""
    if not hiding.below:
        return disclosure
    # A step of this many records moves a rate by one unit, so that a rate does not reveal a count below the limit.
    unit = max(0.01, hiding.below / disclosure.n_records)
    names = ("guess_rate", "base_rate", "bits_prior", "bits_left")
    rounded = {name: round(math.floor(getattr(disclosure, name) / unit) * unit, 4) for name in names}
    certain = hiding.rough(disclosure.n_certain)
    return replace(disclosure, purest=hiding.share(disclosure.purest), n_certain=certain, **rounded)


LABELS = Measurement[AttackTarget, LabelDisclosure](
    "labels",
    "Label disclosure",
    "Does the model reveal outcomes in the training data?",
    LabelDisclosure,
    short="outcomes",
    hide=_hide,
)
