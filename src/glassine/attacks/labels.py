"""Disclosure of labels: what a leaf's or rule's class counts say about everyone whom it captured.

Dist_G does not see this: it measures what is learned about the attributes, never about the class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from glassine.attacks.attack import Hiding, Measurement, Published
from glassine.attacks.outcome import Measured, NotApplicable, Outcome, ShownCount
from glassine.models import DecisionTree, RuleList

__all__ = ["LABELS", "LabelDisclosure", "disclose_labels"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelDisclosure:
    """What the published class counts say about the training records' labels.

    Attributes
    ----------
    n_records : int
        Number of training records.
    purest : float
        Largest share of one class in a leaf or rule that captured a record, in (0, 1].
    n_certain : ShownCount
        Records in leaves or rules that hold one class only: their label is certain.
    guess_rate : float
        Share of the records whose label is the most frequent one of their leaf or rule.
    base_rate : float
        Share of the most frequent class: how often a reader without the model guesses right.
    bits_prior, bits_left : float
        Entropy of a record's label in bits, before and after reading the model.
    """

    n_records: int
    purest: float
    n_certain: ShownCount
    guess_rate: float
    base_rate: float
    bits_prior: float
    bits_left: float


def _entropy(counts: Sequence[int]) -> float:
    total = sum(counts)
    return math.fsum(-c / total * math.log2(c / total) for c in counts if c) if total else 0.0


def disclose_labels(model: DecisionTree | RuleList) -> Outcome[LabelDisclosure]:
    """Return what the published class counts say about the labels of the training records.

    Parameters
    ----------
    model : DecisionTree or RuleList
        The published model.

    Returns
    -------
    Measured of LabelDisclosure, or NotApplicable
        The latter for a regression, and where class counts are not published, not exact or all zero.
    """
    if model.classes is None:
        return NotApplicable("the model predicts a number, so it has no class counts.")
    counts = [cell.evidence.counts for cell in model.cells]
    known = [c for c in counts if c is not None]
    if len(known) < len(counts):
        return NotApplicable("the model does not publish the class counts of all its parts.")
    if not model.counts_are_exact:
        return NotApplicable("the model's class counts are noisy or were rounded, so they say nothing exact.")
    n = sum(map(sum, known))
    if not n:
        return NotApplicable("the model's class counts are all zero.")
    classes = [sum(column) for column in zip(*known, strict=True)]
    held = [c for c in known if sum(c)]
    return Measured(
        LabelDisclosure(
            n_records=n,
            purest=max(max(c) / sum(c) for c in held),
            n_certain=sum(sum(c) for c in held if max(c) == sum(c)),
            guess_rate=sum(max(c) for c in held) / n,
            base_rate=max(classes) / n,
            bits_prior=_entropy(classes),
            bits_left=math.fsum(sum(c) / n * _entropy(c) for c in held),
        )
    )


def _hide(disclosure: LabelDisclosure, hiding: Hiding) -> LabelDisclosure:
    """Return what labels disclose, too coarse to solve for a small count."""
    if not hiding.below:
        return disclosure
    # A step of this many records moves a rate by one unit, so that a rate does not tell a count below the limit.
    unit = max(0.01, hiding.below / disclosure.n_records)
    names = ("guess_rate", "base_rate", "bits_prior", "bits_left")
    rounded = {name: round(math.floor(getattr(disclosure, name) / unit) * unit, 4) for name in names}
    certain = hiding.rough(disclosure.n_certain)
    return replace(disclosure, purest=hiding.share(disclosure.purest), n_certain=certain, **rounded)


LABELS = Measurement[Published, LabelDisclosure](
    name="labels",
    title="Label disclosure",
    short="outcomes",
    question="Does the model reveal outcomes in the training data?",
    finding=LabelDisclosure,
    run=lambda published: (
        disclose_labels(published.model) if published.noise is None else NotApplicable(published.noise)
    ),
    hide=_hide,
)
