"""The values that findings are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from glassine.attacks.outcome import NotApplicable, Outcome, ShownCount
from glassine.errors import parameter

if TYPE_CHECKING:
    from glassine.auditing.findings.disclosure import DisclosureFinding
    from glassine.auditing.findings.membership import MembershipFinding

Verdict: TypeAlias = Literal["within policy", "outside policy", "inconclusive"]

NO_HOLDOUT: Outcome[MembershipFinding] = NotApplicable(
    f"no holdout was given: records of the same population that were not used for training (`{parameter('holdout=')}`)."
)

NO_SENSITIVE: Outcome[DisclosureFinding] = NotApplicable(
    f"no sensitive attribute was named: the one that the tree predicts (`{parameter('sensitive=')}`)."
)

OF_THE_MODEL = "the guarantee answers for the model, so this report counts nothing in records."
"""Why the public findings on a private model say nothing of what would be measured on its records."""


OF_REGIONS = ("exposed", "empty")
"""Flags of a part that follow from the model and the domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralSummary:
    """Several models of the same records in brief."""

    models: tuple[str, ...]  # Their names
    kind: Literal["several models"] = "several models"

    def __str__(self) -> str:
        return f"{len(self.models)} models of the same records"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSummary:
    """The audited release in brief; all of it is public."""

    # form, labels, records, partition, method, scaling: how it was made, as the release says.
    form: str
    labels: str
    records: str
    partition: str
    method: str
    scaling: str
    # n_groups, n_attributes, n_nodes, n_leaves, deepest: groups, attributes, nodes and leaves of all trees, and most
    # splits on a path.
    n_groups: int
    n_attributes: int
    n_nodes: int
    n_leaves: int
    deepest: int
    k: int | None  # Fewest records of a group, as the release says; None where it says nothing
    classes: tuple[str, ...]  # The decisions
    counts: bool  # Whether trees publish class counts
    inferred: tuple[str, ...]  # Attributes whose domain was taken from data
    notes: tuple[str, ...]  # What the release says of itself
    claim: str  # What is claimed of its privacy, in words
    kind: Literal["release"] = "release"

    def __str__(self) -> str:
        return f"a release of {self.n_groups} groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """The audited model in brief."""

    kind: str  # ``decision tree``, ``regression tree``, ``rule list`` or ``additive model``
    source: str  # Where it came from, as far as the artefact says
    n_parts: int  # Number of leaves, of rules with the default rule, or of terms
    depth: int  # Most conditions on a path or in an antecedent; most attributes of a term
    n_records: int | None  # Number of training records, if published
    classes: tuple[str, ...] | None  # Names of the classes
    attributes: tuple[str, ...]  # The attributes that it tests
    approximate: bool  # Whether its counts were rounded before publication
    count_scale: float | None = None  # Scale of the noise that its counts carry, in records, if it says so
    # Hyperparameters that a fitted estimator states: nothing proves that it was trained with them.
    parameters: Mapping[str, object] | None = None

    def __str__(self) -> str:
        parts = {"decision tree": "leaves", "rule list": "rules"}.get(self.kind, "parts")
        return f"{'an' if self.kind[:1] in 'aeiou' else 'a'} {self.kind} of {self.n_parts} {parts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainSummary:
    """The domain in brief."""

    # n_attributes, n_groups: number of attributes, and of groups that tie them.
    n_attributes: int
    n_groups: int
    inferred: tuple[str, ...]  # Attributes whose domain was taken from data
    # bits_independent, bits_domain_aware: log2 of the number of possible records, without and with the groups; None
    # over a continuum.
    bits_independent: float | None
    bits_domain_aware: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A leaf or a rule as the report shows it."""

    number: int  # Its number, from 1, in the model's order
    condition: str  # When it captures a record, numbers rounded to four digits
    size: ShownCount | None  # Records captured
    counts: tuple[ShownCount, ...] | None  # Records captured of each class; all hidden when one must be
    prediction: str | None  # What it predicts
    # Share of the largest class, rounded down to a twentieth unless counts are shown; None where the size is hidden.
    purity: float | None
    # Bits that an attacker learns about each captured record; None when there is no domain or the region is empty.
    bits_learned: float | None
    # Which limits it breaks: ``small``, ``pure``, ``exposed``; or ``empty`` when nothing can be captured.
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A node of the drawn tree."""

    parent: int | None  # Index of the parent in the list of nodes; None for the root
    condition: str  # The condition under which a record comes here from the parent
    part: int | None  # Number of the leaf; None for a split


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsFinding:
    """The leaves or rules of a model."""

    parts: tuple[Part, ...]  # The leaves or rules, in the model's order
    nodes: tuple[TreeNode, ...]  # The shape of a tree, each node after its parent; empty for a rule list
    # Whether sizes were counted in the data, because the model does not publish them, or people are counted.
    counted: bool = False

    def public(self) -> PartsFinding:
        """Return them without what was counted in the data; flags follow from sizes and shares."""
        if not self.counted:
            return self
        bare = (
            replace(part, size=None, counts=None, purity=None, flags=tuple(f for f in part.flags if f in OF_REGIONS))
            for part in self.parts
        )
        return replace(self, parts=tuple(bare), counted=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeFinding:
    """Bits learned about one attribute per record: mean over the records, and in the part where it is largest."""

    attribute: str
    bits_learned: float
    bits_largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupFinding:
    """Bits learned per record of a subgroup: mean and largest."""

    attribute: str
    value: str
    size: ShownCount
    bits_mean: float
    bits_largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconstructionFinding:
    """How far a reader can rebuild the training records."""

    # entropy_bits, prior_bits: joint entropy of the records after and before reading the model, attributes independent.
    entropy_bits: float | None
    prior_bits: float | None
    # dist, dist_g: the published measures: the share of uncertainty left per cell, and jointly.
    dist: float | None
    dist_g: float | None
    # entropy_bits_domain_aware, prior_bits_domain_aware, dist_g_domain_aware: the same with the domain's groups.
    entropy_bits_domain_aware: float | None
    prior_bits_domain_aware: float | None
    dist_g_domain_aware: float | None
    # bits_mean, bits_largest: bits learned per record, with the domain's groups: mean, and in the most exposed part.
    bits_mean: float | None
    bits_largest: float | None
    # Share of the records, the most exposed first, and bits learned; steps smaller than the suppression limit are
    # merged.
    exposure_curve: tuple[tuple[float, float], ...]
    attributes: tuple[AttributeFinding, ...]  # Per attribute, with the domain's groups
    undefined: str | None  # Why some measures have no value
    counted: bool = False  # Whether sizes of parts, or people, were counted in the data

    def public(self) -> ReconstructionFinding | None:
        """Return it; None where sizes or people were counted in the data."""
        return None if self.counted else self
