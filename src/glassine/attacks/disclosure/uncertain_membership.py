"""An uncertain training set: the attacker knows more people than were in it.

The attacker does not know which of them the tree was trained on. Each person is in the sample, with a class that the
tree counted, or outside it. Outside is one more class, of which each leaf holds its people less its training records.
It stands for all classes that such a person may have: its weight is their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from glassine.attacks.disclosure.adversary import Adversary
from glassine.attacks.disclosure.leaf_constraints import (
    LeafKnowledge,
    Rows,
    check_labels,
    check_rates,
    published_correct,
    published_counts,
    published_labels,
    refuse_noise,
)
from glassine.attacks.disclosure.people import People
from glassine.errors import InvalidDataError, UndefinedMeasureError, parameter
from glassine.models import DecisionTree, Evidence
from glassine.records.arrays import Array, Indices, Ints

CHANCE = 6.0
"""Standard deviations by which the size of a sample may differ from its fraction of the people."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledLeaves(LeafKnowledge):
    """What the leaves reveal of a sample; the last class is outside it."""

    members: Array | None  # Training records of each leaf, if they are known; shape (l,), or None
    # Share of each leaf's records that are of its label, where their number is not known; shape (l,), or None.
    rates: Array | None
    fraction: float | None  # Share of the people who are in the sample, if it is known

    @property
    def offset(self) -> Array:
        """Logarithm of what each class weighs before anything is known, shape (c,)."""
        out = np.zeros(self.n_classes)
        out[-1] = math.log(self.n_classes - 1)
        return out

    @property
    def label_constraints(self) -> int:
        """Number of label-constraints: one for each leaf and each other class."""
        return len(self.sizes) * (self.n_classes - 2)

    def shares(self) -> Array:
        """Return the estimate of the reader who uses the leaves alone, shape (l, c)."""
        # Where neither the sizes of the leaves nor the fraction is known, membership is as open as the classes allow: a
        # leaf of k classes whose records leave h nats open weighs exp(h) in the sample, and k outside it.
        if self.counts is not None:
            return self.counts / self.sizes[:, None]
        k = self.n_classes - 1
        inside = np.full((len(self.sizes), k), 1 / k)
        right = self._right()
        if right is not None and self.labels is not None:
            inside = np.repeat(((1 - right) / max(k - 1, 1))[:, None], k, axis=1)
            inside[np.arange(len(inside)), self.labels] = right
        if self.members is not None:
            member = self.members / self.sizes
        else:
            weight = np.exp(-(inside * np.log(np.where(inside > 0, inside, 1.0))).sum(axis=1)) / k
            odds = 1.0 if self.fraction is None else self.fraction / max(1 - self.fraction, 1e-300)
            member = weight * odds / (1 + weight * odds)
        return np.hstack([member[:, None] * inside, (1 - member)[:, None]])

    def rows(self) -> Rows:
        """Return the rows of all leaves: each class has one, and outside one where its number is known."""
        if self.counts is not None:
            # Two arguments: the class is made anew by its decorator, and the short form would look in the old one.
            return super(SampledLeaves, self).rows()
        labels = self.labels
        if labels is None:
            raise UndefinedMeasureError(
                "the leaves publish neither counts nor labels. Nothing constrains.",
                remedy="Pass a tree with counts or labels.",
            )
        n_leaves, c = len(self.sizes), self.n_classes
        leaves, right, members = np.arange(n_leaves), self._right(), self.members
        possible = np.ones((n_leaves, c), dtype=bool)
        if right is not None:
            possible[:, :-1] = (right < 1)[:, None]
            possible[leaves, labels] = right > 0
        if members is not None:
            possible[members == 0, :-1] = False
            possible[:, -1] = members < self.sizes
        # The label is at least as frequent as every other class.
        forms = np.repeat(-np.eye(c)[None], n_leaves, axis=0)
        forms[leaves, :, labels] += 1.0
        exists = possible & possible[leaves, labels][:, None]
        bounded, bounds = np.ones((n_leaves, c), dtype=bool), np.zeros((n_leaves, c))
        forms[leaves, labels] = forms[:, -1] = 0.0
        exists[leaves, labels] = exists[:, -1] = bounded[leaves, labels] = bounded[:, -1] = False
        forms[:, -1, -1] = 1.0
        if members is not None:
            bounds[:, -1], exists[:, -1] = self.sizes - members, (members > 0) & (members < self.sizes)
        if right is not None:
            # Where the leaf's records are unknown too, their share is a row without a right-hand side.
            forms[leaves, labels, :-1] = -right[:, None] if members is None else 0.0
            forms[leaves, labels, labels] += 1.0
            exists[leaves, labels] = (right > 0) & (right < 1)
            bounds[leaves, labels] = 0.0 if self.correct is None else self.correct
        return Rows(forms=forms, bounds=bounds, exists=exists, bounded=bounded & exists, possible=possible)

    def _right(self) -> Array | None:
        """Return the share of each leaf's records that are of its label, if it is known."""
        if self.correct is None or self.members is None:
            return self.rates
        return np.asarray(self.correct / np.where(self.members > 0, self.members, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleEstimate:
    """What the reader concludes about who was in the sample.

    Attributes
    ----------
    membership : ndarray, shape (q,)
        P(in the sample | quasi-identifier).
    given_member : ndarray, shape (q, c)
        P(class | quasi-identifier, in the sample); even where no one can be.
    entropy : float
        Entropy of membership and class together, in nats per person.
    """

    membership: Array
    given_member: Array
    entropy: float

    @property
    def probabilities(self) -> Array:
        """P(class | quasi-identifier), shape (q, c).

        The tree reveals no class of people that it did not count.
        """
        c = self.given_member.shape[1]
        return np.asarray(self.membership[:, None] * self.given_member + (1 - self.membership)[:, None] / c)


def sample_estimate(table: Array, sizes: Ints, entropy: float) -> SampleEstimate:
    """Return the estimate of a table whose last column are the people outside."""
    # Shapes: table (q, c + 1); sizes (q,).
    inside = table[:, :-1].sum(axis=1)
    c = table.shape[1] - 1
    shares = np.where(inside[:, None] > 0, table[:, :-1], 1.0) / np.where(inside > 0, inside, c)[:, None]
    return SampleEstimate(
        membership=np.minimum(inside / sizes, 1.0), given_member=shares, entropy=entropy / float(sizes.sum())
    )


def read_sample(model: DecisionTree, people: People, adversary: Adversary) -> SampledLeaves:
    """Return what an attacker knows of the leaves whose training records are a sample of the people."""
    if adversary.leaves != "labels_only":
        refuse_noise(model)
    evidence = [model.nodes[node].evidence for node in people.leaf_nodes]
    k = len(model.classes or ())
    published = _members(model, people, evidence) if model.counts_are_exact else None
    members = None if adversary.leaves == "labels_only" else published
    fraction = adversary.sampling_fraction
    if members is not None and fraction is not None:
        _check_fraction(float(members.sum()), people.n_people, fraction)
    if members is not None:
        class_counts = [published_counts(entry, k, int(size)) for entry, size in zip(evidence, members, strict=True)]
        if all(counts is not None for counts in class_counts) and (adversary.leaves == "leaf_counts" or k <= 2):
            return _leaves(people, adversary, members, k, counts=np.array(class_counts, dtype=np.float64))
    if adversary.leaves == "leaf_counts":
        raise UndefinedMeasureError(
            "the tree does not publish the class counts of all its leaves.",
            remedy='Take an attacker who knows less: Adversary("error_rates") or Adversary("labels_only").',
        )
    labels = published_labels(people, evidence)
    check_labels(people, evidence, labels)
    if adversary.leaves == "labels_only":
        return _leaves(people, adversary, None, k, labels=labels)
    if members is not None:
        sizes = members.astype(np.int64)
        correct = [
            published_correct(entry, label, int(n)) for entry, label, n in zip(evidence, labels, sizes, strict=True)
        ]
        if all(value is not None for value in correct):
            right = np.array(correct, dtype=np.float64)
            check_rates(people, right, sizes, k)
            return _leaves(people, adversary, members, k, labels=labels, correct=right)
    rates = [entry.error_rate for entry in evidence]
    if any(rate is None for rate in rates):
        raise UndefinedMeasureError(
            "the tree does not publish the error rates of all its leaves.", remedy='Take Adversary("labels_only").'
        )
    right = 1 - np.array(rates, dtype=np.float64)
    check_rates(people, right, np.ones(len(right), dtype=np.int64), k)
    return _leaves(people, adversary, None, k, labels=labels, rates=right)


def _leaves(
    people: People, adversary: Adversary, members: Array | None, k: int, *, counts: Array | None = None,
    labels: Indices | None = None, correct: Array | None = None, rates: Array | None = None,
) -> SampledLeaves:  # fmt: skip
    sizes = people.leaf_sizes.astype(np.float64)
    if counts is not None and members is not None:
        counts = np.hstack([counts, (sizes - members)[:, None]])
    return SampledLeaves(
        published=adversary.leaves,
        sizes=sizes,
        counts=counts,
        labels=labels,
        correct=correct,
        n_classes=k + 1,
        members=members,
        rates=rates,
        fraction=adversary.sampling_fraction,
    )


def _members(model: DecisionTree, people: People, evidence: list[Evidence]) -> Array | None:
    """Return the training records of each leaf, None where not all are published."""
    reached = set(people.leaf_nodes)
    for cell in model.cells:
        if cell.node not in reached and cell.evidence.size:
            raise InvalidDataError(
                f"the leaf at node {cell.node} is published with {cell.evidence.size} records, but no one reaches it.",
                remedy="Give the quasi-identifiers of everyone who may have been in the sample.",
            )
    for node, entry, size in zip(people.leaf_nodes, evidence, people.leaf_sizes, strict=True):
        if entry.size is not None and entry.size > size:
            raise InvalidDataError(
                f"the leaf at node {node} is published with {entry.size} records, but only {size} of the people reach "
                "it.",
                remedy="Give the quasi-identifiers of everyone who may have been in the sample.",
            )
    sizes = [entry.size for entry in evidence]
    return None if any(size is None for size in sizes) else np.array(sizes, dtype=np.float64)


def _check_fraction(n_members: float, n_people: int, fraction: float) -> None:
    """Refuse a fraction of which no sample, of fixed size or person by person, has so many records."""
    room = 1.0 + CHANCE * math.sqrt(n_people * fraction * (1 - fraction))
    if not abs(n_members - fraction * n_people) <= room:
        raise InvalidDataError(
            f"the leaves hold {n_members:.0f} of the {n_people} people, which is no sample of the fraction "
            f"{fraction:g}.",
            remedy=f"Give {parameter('sampling_fraction=')}{n_members / n_people:.4g}, or everyone who may "
            "have been in the "
            "sample.",
        )
