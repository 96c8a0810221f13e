"""What the leaves reveal: exact, noisy or rounded class counts, error rates or labels, as linear rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from glassine.attacks.disclosure.adversary import Adversary, Leaves
from glassine.attacks.disclosure.noise import CountNoise, expected_counts
from glassine.attacks.disclosure.people import People
from glassine.errors import InvalidDataError, InvalidModelError, UndefinedMeasureError, parameter
from glassine.models import DecisionTree, Evidence
from glassine.records.arrays import AnyArray, Array, Bools, Indices, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The linear rows of some leaves: ``forms @ (class counts of the leaf)`` is, or is at least, ``bounds``."""

    forms: Array  # One form for each row, zero where there is none; shape (l, r, c)
    bounds: Array  # Right-hand sides; shape (l, r)
    # exists, bounded: which rows there are, and which are inequalities; shape (l, r).
    exists: Bools
    bounded: Bools
    possible: Bools  # Which classes can occur in the leaf; shape (l, c)

    def take(self, leaves: Indices) -> Rows:
        """Return the rows of some leaves."""
        return Rows(
            forms=self.forms[leaves],
            bounds=self.bounds[leaves],
            exists=self.exists[leaves],
            bounded=self.bounded[leaves],
            possible=self.possible[leaves],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeafKnowledge:
    """What the reader knows of the leaves that hold people."""

    published: Leaves  # "leaf_counts", "error_rates" or "labels_only". Error rates over two classes are counts.
    sizes: Array  # Number of people; shape (l,)
    counts: Array | None  # People of each class, if it is known; shape (l, c), or None
    labels: Indices | None  # The predicted class; shape (l,), or None
    correct: Array | None  # People of the predicted class, if it is known; shape (l,), or None
    n_classes: int  # Number of classes

    @property
    def offset(self) -> Array:
        """Logarithm of what each class weighs before anything is known, shape (c,)."""
        return np.zeros(self.n_classes)

    @property
    def exact_counts(self) -> Array | None:
        """People of each class, shape (l, c), where they are what was counted; means of noisy counts are not."""
        return self.counts

    def class_bounds(self) -> tuple[Array, Array]:
        """Return the least and the largest number of people of each class in each leaf, shape (l, c) each."""
        most = np.repeat(self.sizes[:, None], self.n_classes, axis=1)
        return np.zeros_like(most), most

    @property
    def rate_constraints(self) -> int:
        """Number of rate-constraints as the paper counts them: one a leaf, where error rates or counts are known."""
        return 0 if self.published == "labels_only" else len(self.sizes)

    @property
    def label_constraints(self) -> int:
        """Number of label-constraints as the paper counts them: one for each leaf and each other class."""
        return len(self.sizes) * (self.n_classes - 1)

    def shares(self) -> Array:
        """Return the estimate of the reader who uses the leaves alone, shape (l, c): it is in closed form."""
        # Class counts give their shares. An error rate is spread evenly over the other classes: none can then exceed
        # the label. A label alone leaves the uniform distribution, which satisfies it with equality.
        if self.counts is not None:
            return self.counts / self.sizes[:, None]
        out = np.full((len(self.sizes), self.n_classes), 1 / self.n_classes)
        if self.correct is not None and self.labels is not None:
            wrong = (self.sizes - self.correct) / self.sizes / max(self.n_classes - 1, 1)
            out = np.repeat(wrong[:, None], self.n_classes, axis=1)
            out[np.arange(len(out)), self.labels] = self.correct / self.sizes
        return out

    def rows(self) -> Rows:
        """Return the rows of all leaves; of class counts one is left out in each leaf, which the others imply."""
        n_leaves, c = len(self.sizes), self.n_classes
        leaves = np.arange(n_leaves)
        forms = np.repeat(np.eye(c)[None], n_leaves, axis=0)
        possible = np.ones((n_leaves, c), dtype=bool)
        if self.counts is not None:
            possible = self.counts > 0
            exists = possible.copy()
            exists[leaves, self.counts.argmax(axis=1)] = False
            return Rows(
                forms=forms, bounds=self.counts, exists=exists, bounded=np.zeros_like(exists), possible=possible
            )
        labels = np.zeros(n_leaves, dtype=np.intp) if self.labels is None else self.labels
        forms = -forms
        bounds = np.zeros((n_leaves, c))
        exists = np.ones((n_leaves, c), dtype=bool)
        if self.correct is None:
            forms[leaves, :, labels] = 1.0
            exists[leaves, labels] = False
        else:
            # The label is as frequent as is known; every other class is at most as frequent.
            forms[leaves, labels, labels] = 1.0
            bounds -= self.correct[:, None]
            bounds[leaves, labels] = self.correct
            possible = np.repeat((self.correct < self.sizes)[:, None], c, axis=1)
            possible[leaves, labels] = self.correct > 0
            exists &= possible
            alone = possible.sum(axis=1) < 2
            exists[alone] = False
        bounded = exists.copy()
        bounded[leaves, labels] = False
        return Rows(forms=forms, bounds=bounds, exists=exists, bounded=bounded, possible=possible)


def read_leaves(model: DecisionTree, people: People, adversary: Adversary) -> LeafKnowledge:
    """Return what an attacker knows of the leaves."""
    evidence = [model.nodes[node].evidence for node in people.leaf_nodes]
    n_classes, sizes = len(model.classes or ()), people.leaf_sizes
    if adversary.leaves != "labels_only":
        refuse_noise(model)
    if model.counts_are_exact:
        _check_sizes(model, people, evidence)
    if adversary.leaves == "leaf_counts":
        published = [published_counts(entry, n_classes, int(size)) for entry, size in zip(evidence, sizes, strict=True)]
        if any(counts is None for counts in published):
            raise UndefinedMeasureError(
                "the tree does not publish the class counts of all its leaves.",
                remedy='Take an attacker who knows less: Adversary("error_rates") or Adversary("labels_only").',
            )
        return _knowledge("leaf_counts", sizes, n_classes, counts=np.array(published, dtype=np.float64))
    labels = published_labels(people, evidence)
    check_labels(people, evidence, labels)
    if adversary.leaves == "labels_only":
        return _knowledge("labels_only", sizes, n_classes, labels=labels)
    correct = [published_correct(entry, label, int(n)) for entry, label, n in zip(evidence, labels, sizes, strict=True)]
    if any(value is None for value in correct):
        raise UndefinedMeasureError(
            "the tree does not publish the error rates of all its leaves.", remedy='Take Adversary("labels_only").'
        )
    right = np.array(correct, dtype=np.float64)
    check_rates(people, right, sizes, n_classes)
    if n_classes <= 2:
        counts = np.empty((len(sizes), n_classes))
        counts[:] = (sizes - right)[:, None]
        counts[np.arange(len(sizes)), labels] = right
        return _knowledge("error_rates", sizes, n_classes, counts=counts, labels=labels, correct=right)
    return _knowledge("error_rates", sizes, n_classes, labels=labels, correct=right)


def refuse_noise(model: DecisionTree) -> None:
    """Refuse a tree whose counts are noisy or rounded."""
    if not model.counts_are_exact:
        raise UndefinedMeasureError(
            "the tree's counts are noisy or rounded, so that they constrain nothing exactly.",
            remedy="Say how, as in "
            'noise=CountNoise("rounded", 5), or take the reader of labels: Adversary("labels_only", '
            f"{parameter('internal_nodes', False)}).",
        )


def published_labels(people: People, evidence: list[Evidence]) -> Indices:
    """Return the class that each leaf predicts."""
    labels = np.array([-1 if (label := entry.prediction) is None else label for entry in evidence], dtype=np.intp)
    if (labels < 0).any():
        node = people.leaf_nodes[int(np.argmin(labels))]
        raise UndefinedMeasureError(
            f"the leaf at node {node} publishes neither counts nor a class. Nothing constrains.",
            remedy="Pass a tree with counts or labels in every leaf.",
        )
    if any(entry.weighted for entry in evidence):
        raise UndefinedMeasureError(
            "the tree's labels are by weight, so that they do not reveal the most frequent class.",
            remedy="Pass a tree with counts, or one without class weights.",
        )
    return labels


def _knowledge(published: Leaves, sizes: AnyArray, n_classes: int, **figures: Any) -> LeafKnowledge:
    parts: dict[str, Any] = {"counts": None, "labels": None, "correct": None} | figures
    return LeafKnowledge(published=published, sizes=sizes.astype(np.float64), n_classes=n_classes, **parts)


def _check_sizes(model: DecisionTree, people: People, evidence: list[Evidence]) -> None:
    reached = set(people.leaf_nodes)
    for node, entry, size in zip(people.leaf_nodes, evidence, people.leaf_sizes, strict=True):
        if entry.size is not None and entry.size != size:
            raise InvalidDataError(
                f"the leaf at node {node} is published with {entry.size} records, but {size} of the people reach it.",
                remedy="Give the quasi-identifiers of exactly the training records.",
            )
    for cell in model.cells:
        if cell.node not in reached and cell.evidence.size:
            raise InvalidDataError(
                f"the leaf at node {cell.node} is published with {cell.evidence.size} records, but no one reaches it.",
                remedy="Give the quasi-identifiers of exactly the training records.",
            )


def published_counts(entry: Evidence, n_classes: int, size: int) -> tuple[float, ...] | None:
    """Return the class counts of a leaf; for two classes an error rate gives them."""
    if entry.counts is not None:
        return tuple(float(count) for count in entry.counts)
    shares = entry.shares(n_classes)
    if shares is None:
        return None
    right = float(np.rint(max(shares) * size))
    rest = size - right
    return (
        tuple(right if share == max(shares) else rest for share in shares) if shares[0] != shares[1] else (right, rest)
    )


def published_correct(entry: Evidence, label: int, size: int) -> float | None:
    """Return the records of a leaf that are of its class, if that is published."""
    if entry.counts is not None:
        return float(entry.counts[label])
    return None if entry.error_rate is None else float(np.rint((1 - entry.error_rate) * size))


def check_labels(people: People, evidence: list[Evidence], labels: Indices) -> None:
    """Refuse a leaf whose class is not its most frequent one."""
    for node, entry, label in zip(people.leaf_nodes, evidence, labels, strict=True):
        if entry.counts is not None and entry.counts[label] < max(entry.counts):
            raise InvalidModelError(
                f"the leaf at node {node} predicts a class that is not its most frequent one, so that an attacker who "
                "relies on the label is misled.",
                remedy='Take Adversary("leaf_counts").',
            )


def check_rates(people: People, right: Array, sizes: Ints, n_classes: int) -> None:
    """Refuse an error rate that is too high for the label."""
    wrong = np.flatnonzero(sizes - right > (n_classes - 1) * right + 1e-9)
    if len(wrong):
        at = int(wrong[0])
        raise InvalidModelError(
            f"the leaf at node {people.leaf_nodes[at]} has an error rate of {1 - right[at] / sizes[at]:.3g}, too high "
            f"for its label to be the most frequent of {n_classes} classes.",
            remedy="Check the error rates.",
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExpectedLeaves(LeafKnowledge):
    """Leaves of which the class counts are means over what noise leaves possible: no whole numbers."""

    @property
    def exact_counts(self) -> None:
        """None: any class counts are possible."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundedLeaves(LeafKnowledge):
    """What the leaves reveal by rounded class counts."""

    # low, high: bounds of the class counts, both included; shape (l, c).
    low: Array
    high: Array

    def class_bounds(self) -> tuple[Array, Array]:
        """Return the least and the largest number of people of each class in each leaf, shape (l, c) each."""
        return self.low, self.high

    def shares(self) -> Array:
        """Return the estimate of the reader who uses the leaves alone, shape (l, c): as even as the bounds allow."""
        parts = zip(self.low, self.high, self.sizes.tolist(), strict=True)
        return np.array([even_counts(low, high, int(n)) / n for low, high, n in parts])

    def rows(self) -> Rows:
        """Return the rows of all leaves: a lower and an upper bound of each class, an equality where they meet."""
        n_leaves, c = self.low.shape
        eye = np.repeat(np.eye(c)[None], n_leaves, axis=0)
        # All other counts determine this one.
        low = np.maximum(self.low, self.sizes[:, None] - (self.high.sum(axis=1, keepdims=True) - self.high))
        high = np.minimum(self.high, self.sizes[:, None] - (self.low.sum(axis=1, keepdims=True) - self.low))
        equal = low >= high
        exists = np.hstack([(low > 0) | equal, ~equal & (high < self.sizes[:, None])])
        exists[:, :c] &= high > 0
        all_equal = equal.all(axis=1)
        exists[np.flatnonzero(all_equal), high[all_equal].argmax(axis=1)] = False
        bounded = exists.copy()
        bounded[:, :c] &= ~equal
        return Rows(
            forms=np.concatenate([eye, -eye], axis=1),
            bounds=np.hstack([low, -high]),
            exists=exists,
            bounded=bounded,
            possible=high > 0,
        )


def assumed_noise(model: DecisionTree, adversary: Adversary) -> CountNoise | None:
    """Return the noise of a tree's counts that the adversary states or tree claims."""
    if model.counts_are_exact or adversary.leaves != "leaf_counts":
        return None
    if adversary.noise is not None:
        return adversary.noise
    scale = None if model.guarantee is None else model.guarantee.count_scale
    return None if scale is None else CountNoise("geometric", scale)


def read_noisy(model: DecisionTree, people: People, adversary: Adversary, noise: CountNoise) -> LeafKnowledge:
    """Return what an attacker knows of leaves with noisy or rounded class counts; the sizes follow from the people."""
    evidence = [model.nodes[node].evidence for node in people.leaf_nodes]
    noisy_counts = [entry.counts for entry in evidence]
    if any(counts is None for counts in noisy_counts):
        raise UndefinedMeasureError(
            'the tree does not publish the class counts of all its leaves. Take Adversary("labels_only").'
        )
    counts = np.array(noisy_counts, dtype=np.int64)
    sizes = people.leaf_sizes
    common = {"published": adversary.leaves, "sizes": sizes.astype(np.float64), "n_classes": counts.shape[1]}
    if noise.kind != "rounded":
        if adversary.internal_nodes:
            raise UndefinedMeasureError(
                "internal nodes are not combined with noisy counts: the impurity of a chosen split has no bounds then. "
                "Take internal_nodes=False."
            )
        means = np.array([expected_counts(own, int(n), noise) for own, n in zip(counts, sizes, strict=True)])
        return ExpectedLeaves(**common, counts=means, labels=None, correct=None)
    bounds = noise.bounds(counts)
    low, high = bounds[..., 0], np.minimum(bounds[..., 1], sizes[:, None])
    wrong = np.flatnonzero((low.sum(axis=1) > sizes) | (high.sum(axis=1) < sizes) | (low > high).any(axis=1))
    if len(wrong):
        at = int(wrong[0])
        raise InvalidDataError(
            f"the counts {counts[at].tolist()} of the leaf at node {people.leaf_nodes[at]}, rounded to multiples of "
            f"{noise.scale:.0f}, cannot be those of the {sizes[at]} people who reach it. Give the training records, or "
            "the step that was used."
        )
    return BoundedLeaves(**common, counts=None, labels=None, correct=None, low=low, high=high)


def even_counts(low: Array, high: Array, n: int) -> Array:
    """Return the class counts of most entropy within bounds: ``clip(level, low, high)`` where they add up to n."""
    # Shapes: low, high (c,).
    corners = np.unique(np.concatenate([low, high]))
    sums = np.clip(corners[:, None], low, high).sum(axis=1)
    out = np.clip(float(np.interp(n, sums, corners)), low, high)
    return np.asarray(out * n / out.sum() if out.any() else out)
