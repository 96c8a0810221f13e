"""The values that findings are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from glassine.attacks.outcome import NotApplicable, Outcome, ShownCount
from glassine.errors import parameter
from glassine.models.evidence import SizeOrigin

if TYPE_CHECKING:
    from glassine.auditing.findings.disclosure import DisclosureFinding
    from glassine.auditing.findings.membership import MembershipFinding

Verdict: TypeAlias = Literal["within policy", "outside policy", "inconclusive"]

NO_HOLDOUT: Outcome[MembershipFinding] = NotApplicable(
    "no holdout was given: records of the same population that were not used for training "
    f"(`{parameter('holdout=')}`, beside `{parameter('data=')}` and `{parameter('target=')}`)."
)

AMONG_OTHERS = "the data hold people who were not used for training, so that members are not known."
"""Why nothing but the sensitive attribute is measured on records of which those of training are a sample."""

NO_SENSITIVE: Outcome[DisclosureFinding] = NotApplicable(
    "no sensitive attribute was named: the one that the tree predicts "
    f"(`{parameter('sensitive=')}`, beside `{parameter('data=')}`)."
)

OF_THE_MODEL = (
    "the guarantee answers for the model, so this report counts nothing in records. What they add, or why they could "
    "not be read, is for the checker."
)
"""All that public findings on a private model say of records: the same with any, with unreadable ones, and without."""


OF_REGIONS = ("exposed", "empty")
"""Flags of a part that follow from the model and the domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralSummary:
    """Several models of the same records in brief.

    Attributes
    ----------
    kind : str
        ``several models``.
    models : tuple of str
        Their names.
    """

    models: tuple[str, ...]
    kind: Literal["several models"] = "several models"

    def __str__(self) -> str:
        return f"{len(self.models)} models of the same records"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSummary:
    """The audited release in brief; all of it is public.

    Attributes
    ----------
    kind : str
        ``release``.
    form, labels, records, partition, method, scaling : str
        How it was made, as the release says.
    n_groups, n_attributes, n_nodes, n_leaves, deepest : int
        Groups, attributes, nodes and leaves of all trees, and most splits on a path.
    k : int or None
        Fewest records of a group, as the release says; None where it says nothing.
    classes : tuple of str
        The decisions.
    counts : bool
        Whether trees publish class counts.
    inferred : tuple of str
        Attributes whose domain was taken from data.
    notes : tuple of str
        What the release says of itself.
    claim : str
        What is claimed of its privacy, in words.
    """

    form: str
    labels: str
    records: str
    partition: str
    method: str
    scaling: str
    n_groups: int
    n_attributes: int
    n_nodes: int
    n_leaves: int
    deepest: int
    k: int | None
    classes: tuple[str, ...]
    counts: bool
    inferred: tuple[str, ...]
    notes: tuple[str, ...]
    claim: str
    kind: Literal["release"] = "release"

    def __str__(self) -> str:
        return f"a release of {self.n_groups} groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """The audited model in brief.

    Attributes
    ----------
    kind : str
        ``decision tree``, ``regression tree``, ``rule list``, ``additive model``, ``regression`` or ``ensemble``.
    source : str
        Where it came from, as far as the artefact says.
    n_parts : int
        Number of leaves, of rules with the default rule, of terms or of columns.
    depth : int
        Most conditions on a path or in an antecedent; most attributes of a term.
    n_records : int or None
        Number of training records, if published.
    classes : tuple of str or None
        Names of the classes.
    attributes : tuple of str
        The attributes that it tests.
    approximate : bool
        Whether its counts were rounded before publication.
    sizes : {"stored", "derived", "stated"}
        Where its numbers of records come from; derived ones are sums of weights.
    count_scale : float or None
        Scale of the noise that its counts carry, in records, if it says so.
    parameters : mapping or None
        Hyperparameters that a fitted estimator states: nothing proves that it was trained with them.
    """

    kind: str
    source: str
    n_parts: int
    depth: int
    n_records: int | None
    classes: tuple[str, ...] | None
    attributes: tuple[str, ...]
    approximate: bool
    sizes: SizeOrigin = "stored"
    count_scale: float | None = None
    parameters: Mapping[str, object] | None = None

    def __str__(self) -> str:
        parts = {"decision tree": "leaves", "rule list": "rules", "regression": "columns", "ensemble": "trees"}.get(
            self.kind, "parts"
        )
        return f"{'an' if self.kind[:1] in 'aeiou' else 'a'} {self.kind} of {self.n_parts} {parts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainSummary:
    """The domain in brief.

    Attributes
    ----------
    n_attributes, n_groups : int
        Number of attributes, and of groups that tie them.
    inferred : tuple of str
        Attributes whose domain was taken from data.
    bits_independent, bits_domain_aware : float or None
        log2 of the number of possible records, without and with the groups; None over a continuum.
    """

    n_attributes: int
    n_groups: int
    inferred: tuple[str, ...]
    bits_independent: float | None
    bits_domain_aware: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    """A leaf or a rule as the report shows it.

    Attributes
    ----------
    number : int
        Its number, from 1, in the model's order.
    condition : str
        When it captures a record, numbers rounded to four digits.
    size : ShownCount or None
        Records captured.
    counts : tuple of ShownCount or None
        Records captured of each class; all hidden when one must be.
    prediction : str or None
        What it predicts.
    purity : float or None
        Share of the largest class, rounded down to a twentieth unless counts are shown; None where the size is hidden.
    bits_learned : float or None
        Bits that an attacker learns about each captured record; None when there is no domain or the region is empty.
    flags : tuple of str
        Which limits it breaks: ``small``, ``pure``, ``exposed``; or ``empty`` when nothing can be captured.
    """

    number: int
    condition: str
    size: ShownCount | None
    counts: tuple[ShownCount, ...] | None
    prediction: str | None
    purity: float | None
    bits_learned: float | None
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A node of the drawn tree.

    Attributes
    ----------
    parent : int or None
        Index of the parent in the list of nodes; None for the root.
    condition : str
        The condition under which a record comes here from the parent.
    part : int or None
        Number of the leaf; None for a split.
    """

    parent: int | None
    condition: str
    part: int | None


T_co = TypeVar("T_co", covariant=True)


class LazyTuple(Sequence[T_co]):
    """Values of many parts, such as every leaf in words, which are made when they are asked for.

    They equal a tuple of the same values, and are copied and pickled as one.
    """

    __slots__ = ("_make", "_values")

    def __init__(self, make: Callable[[], tuple[T_co, ...]]) -> None:
        self._make: Callable[[], tuple[T_co, ...]] | None = make
        self._values: tuple[T_co, ...] = ()

    def _made(self) -> tuple[T_co, ...]:
        if self._make is not None:
            self._values, self._make = self._make(), None
        return self._values

    def __len__(self) -> int:
        return len(self._made())

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        return self._made()[index]

    def __iter__(self) -> Iterator[T_co]:
        return iter(self._made())

    def __eq__(self, other: object) -> bool:
        return self._made() == (other._made() if isinstance(other, LazyTuple) else other)

    def __hash__(self) -> int:
        return hash(self._made())

    def __repr__(self) -> str:
        return repr(self._made())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._made(),)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsFinding:
    """The leaves or rules of a model.

    Attributes
    ----------
    parts : sequence of ShownPart
        The leaves or rules, in the model's order.
    nodes : sequence of TreeNode
        The shape of a tree, each node after its parent; empty for a rule list.
    counted : bool
        Whether sizes were counted in the data, because the model does not publish them, or people are counted.
    """

    parts: Sequence[ShownPart]
    nodes: Sequence[TreeNode]
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
class SubgroupBitsFinding:
    """Bits learned per record of a subgroup: mean and largest."""

    attribute: str
    value: str
    size: ShownCount
    bits_mean: float
    bits_largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconstructionFinding:
    """How far a reader can rebuild the training records.

    Attributes
    ----------
    entropy_bits, prior_bits : float or None
        Joint entropy of the records after and before reading the model, attributes independent.
    dist, dist_g : float or None
        The published measures: the share of uncertainty left per cell, and jointly.
    entropy_bits_domain_aware, prior_bits_domain_aware, dist_g_domain_aware : float or None
        The same with the domain's groups.
    bits_mean, bits_largest : float or None
        Bits learned per record, with the domain's groups: mean, and in the most exposed part.
    exposure_curve : tuple of (float, float)
        Share of the records, the most exposed first, and bits learned; steps smaller than the suppression limit
        are merged.
    attributes : tuple of AttributeFinding
        Per attribute, with the domain's groups.
    undefined : str or None
        Why some measures have no value.
    counted : bool
        Whether sizes of parts, or people, were counted in the data.
    """

    entropy_bits: float | None
    prior_bits: float | None
    dist: float | None
    dist_g: float | None
    entropy_bits_domain_aware: float | None
    prior_bits_domain_aware: float | None
    dist_g_domain_aware: float | None
    bits_mean: float | None
    bits_largest: float | None
    exposure_curve: tuple[tuple[float, float], ...]
    attributes: tuple[AttributeFinding, ...]
    undefined: str | None
    counted: bool = False

    def public(self) -> ReconstructionFinding | None:
        """Return it; None where sizes or people were counted in the data."""
        return None if self.counted else self
