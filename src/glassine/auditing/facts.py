"""Facts: what measurements find of a subject, in the terms in which criteria limit it, for every kind of subject.

A criterion reads a fact by its name. ``sizes`` and ``groups`` are :class:`Sizes` of leaves, rules or bins, and of the
groups of a release; ``cells`` and ``classes`` are :class:`OutcomeCells`, and so is ``implied``, or
:class:`EffectiveParameters` where there are no leaves; ``fitted`` is :class:`FittedValues`, ``residual`` the residual
degrees of freedom of a regression, ``leverage`` the largest of a record; ``shares``, ``bits``, ``thresholds`` and
``named`` are of the classes below; ``membership`` and ``attacks`` are membership attacks. ``certain`` is how many
people's sensitive value can be inferred, and why more may be. Of each part with a mean, ``narrowed`` is the width of
the interval that is left of one answer, as a share of the public range, and ``contributions`` what the largest of the
values behind it make up. ``identifiers`` are the tested attributes that identify people, ``capacity`` is the average
case, ``claim`` the guarantee, ``unclaimed`` whether a private fit made it and it states none, ``texts`` what is longer
than the model needs, ``files`` the files that were read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from glassine.attacks.outcome import Measured, Outcome
from glassine.models.implied import Bounds, OutcomeCounts, implied_advantage
from glassine.records.arrays import Array, Ints

if TYPE_CHECKING:
    from glassine.auditing.findings.guarantee import GuaranteeFinding
    from glassine.formats.format import PublishedModel

__all__ = [
    "Bits",
    "Case",
    "EffectiveParameters",
    "Fact",
    "FittedValues",
    "Inapplicable",
    "Kind",
    "LargestShares",
    "NamedPeople",
    "OutcomeCells",
    "Sizes",
    "Thresholds",
]

T = TypeVar("T")

Kind: TypeAlias = Literal[
    "tree",
    "rule list",
    "additive model",
    "regression",
    "ensemble",
    "release",
    "release as published",
    "several models",
    "several regressions",
    "private summary",
]

PARTS = {
    "rule list": ("rule", "rules"),
    "regression": ("column", "columns"),
    "ensemble": ("leaf of any tree", "leaves of all trees"),
    "several regressions": ("difference between samples", "differences between samples"),
} | dict.fromkeys(("additive model", "private summary"), ("bin", "bins"))
"""What a part of a subject and several are called, where they are not leaves."""


@dataclass(frozen=True, slots=True)
class Inapplicable:
    """What a criterion limits does not exist in the subject, so that its check passes."""

    meaning: str  # Why, in a sentence


Fact: TypeAlias = Outcome[T] | Inapplicable | None
"""Something that a criterion judges; None where it is not asked of the subject, so that there is no check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many records stand behind the parts of a subject."""

    # Records of each part that holds any, exact, or an upper bound that is certain; by what one and several parts are
    # called.
    parts: Mapping[tuple[str, str], tuple[int, ...]]
    unsettled: str = ""  # Why a part of fewer records may exist all the same; empty if none can
    # At least so many records are in each part, where that is known otherwise than by the sizes of all parts: by proof,
    # by the step to which counts are rounded, or by what the publisher states.
    fewest: int | None = None
    stated_by: str = ""  # Who states ``fewest``, in words; empty where it is no statement

    @property
    def every(self) -> tuple[int, ...]:
        """The sizes of all parts."""
        return tuple(size for sizes in self.parts.values() for size in sizes)


@dataclass(frozen=True, kw_only=True)
class OutcomeCells:
    """Counts of each outcome in the leaves or rules of a subject, from which membership figures follow."""

    counts: OutcomeCounts  # The counts, exact or between bounds, of parts that may hold records
    # Records whose outcome is certain only because they are members; None where no share of an outcome is published.
    certain: Bounds | None
    n_splits: int  # Conditions of the subject: its splits, each on one attribute
    unsettled: str = ""  # Why the counts may not be those of the training records; empty if nothing says so
    stated_by: str = ""  # Who states the fewest records of a part, in words; empty where no bound is a statement
    # People, each once however many parts hold their records; None where records are counted.
    n_people: int | None = None
    # People in each part, shape (parts,), of whom one may have records of several outcomes; None where records count.
    people: Ints | None = None

    @cached_property
    def advantage(self) -> Bounds:
        """Bounds on the membership advantage that the counts imply."""
        return implied_advantage(self.counts)

    @property
    def sizes(self) -> tuple[Array, Array]:
        """Bounds on the records, or people, of each part, shape (parts,) each."""
        if self.people is None:
            return self.counts.sizes
        of_people = self.people.astype(float)
        return of_people, of_people


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveParameters:
    """Effective parameters of a subject whose fitted values are sums, from which a membership advantage follows."""

    per_record: float  # Effective parameters per record, or person
    advantage: float  # The membership advantage that they imply
    unsettled: str = ""  # Why they may not be those of training; empty if nothing says so


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedValues:
    """Values of single records that follow from a published regression, beside its coefficients."""

    number: int  # How many are known to
    reasons: tuple[str, ...] = ()  # Why, each in a sentence
    with_errors: bool = True  # Whether standard errors are published, to which a copy rounds its coefficients
    by_coefficients: bool = False  # Whether some follow from the coefficients, which every copy has
    unsettled: str = ""  # Why more may follow; empty if nothing says so
    declarable: bool = False  # Whether values that a domain declares could settle it


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestShares:
    """The largest share of one outcome in the parts of a subject."""

    # Lower and upper bound in each part, equal where the share is known; None where nothing reveals it.
    bounds: tuple[tuple[float, float] | None, ...]
    outcome: str = "one outcome"  # What records share: one outcome, or one true label
    unsettled: str = ""  # Why the shares are not those of records; empty if they are
    rounded: bool = False  # Whether the published counts are rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Bits:
    """Bits that a subject reveals about the attributes of the most exposed record."""

    lower: float  # What is certain of some record
    upper: float | None  # No record is narrowed down further; None where that is not known
    unsettled: str = ""  # Why more may be revealed than ``upper``; empty if nothing says so
    # Attributes whose domain was inferred from data: it is too narrow, so that bits are a lower bound.
    inferred: tuple[str, ...] = ()
    possible: float | None = None  # Bits of the whole domain; None where it has no end or is not known
    tolerance: float = 0.0  # What is taken for rounding of proved bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Thresholds and other published values, and how many of them are taken from training values."""

    n: int  # Distinct thresholds on numbers
    n_private: int  # Published values that are known not to be public
    complete: bool = True  # Whether it is known of all of them; otherwise it needs a domain
    # Those of them that an inferred domain has as cut points: a public domain with its bounds would also have them.
    n_inferred: int = 0
    inferred: tuple[str, ...] = ()  # Attributes with thresholds whose domain was inferred from data
    # What is not public, counted, where it is more than thresholds: ends of ranges, categories.
    kinds: tuple[str, ...] = ()
    bounded: bool = False  # Whether a guarantee that is claimed, but not accepted, limits what they reveal, if it holds
    drawn: bool = False  # Whether nothing but thresholds is not public, and private fits can choose each of them
    # Thresholds that are exactly the midpoint of two training values; None without the data.
    n_midpoints: int | None = None
    # Training values that follow from thresholds and published ranges by arithmetic, without the data.
    n_rebuilt: int = 0
    wants_data: bool = False  # Whether thresholds that could be midpoints are left to judge by the data


def is_unclaimed(model: PublishedModel) -> bool:
    """Return whether a model names a private learner as its source and states no guarantee, as a plain copy does."""
    return model.guarantee is None and model.source.startswith("glassine.Private")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPeople:
    """People, or records, that thresholds can name."""

    # Those whom the midpoint attack flags, with the data; else an upper estimate; None where neither can be had.
    number: int | None
    flagged: bool = False  # Whether they were flagged by the attack
    # n, n_private: thresholds and other published values, and those that are not known to be public.
    n: int = 0
    n_private: int = 0
    lacking: tuple[str, ...] = ()  # Attributes whose public cut points or shares are needed
    inferred: tuple[str, ...] = ()  # Attributes with thresholds whose domain was inferred from data
    # Whether a guarantee that is claimed, but not accepted, limits what thresholds reveal, if it holds.
    bounded: bool = False
    drawn: bool = False  # Whether nothing but thresholds is not public, and private fits can choose each of them
    stated_by: str = ""  # Who states that no threshold is a value of a record, in words; empty without a statement
    unround: tuple[str, ...] = ()  # Attributes with thresholds of so many digits that no such statement is believed


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What judges ask of a subject, and its facts by name, before suppression. Findings hold checks only.

    Attributes
    ----------
    kind : str
        Kind of subject, by which remedies differ.
    guarantee : GuaranteeFinding or None
        The differential privacy that is claimed.
    facts : mapping of str to Fact
        What measurements found; a fact that is missing is not asked of the subject.
    has_data : bool
        Whether there are training records, or published sizes stand for them.
    retrainable : bool
        Whether the reader can train the model again.
    countable : bool
        Whether training records can give counts that some of several models do not publish.
    indivisible : bool
        Whether the subject has one part, which cannot be merged with another.
    mismatch : str
        Why the data that were given are not the training records, or several models have no records in common; empty if
        nothing says so.
    unconfirmed : str
        Why the data that were given may be others than the training records, of which nothing published says how many
        there are; empty where that is known, or the data are confirmed.
    contrary : str
        Why the outcomes that were given are not those of training, though the records may be; empty if nothing says so.
    odd : sequence of str
        The columns that a model tests and that hold what the domain does not declare.
    has_domain, domain_inferred : bool
        Whether a domain was given or need not be, and whether a part of it was inferred from data.
    people : bool
        Whether people are counted in place of records, or the publisher states that records are people.
    of_classes : bool
        Whether the subject predicts a class.
    limits : mapping of str to float or None
        All limits of the policy, for a criterion whose doubt depends on another one.
    """

    kind: Kind
    guarantee: GuaranteeFinding | None = None
    facts: Mapping[str, Fact[Any]] = field(default_factory=dict)
    has_data: bool = False
    retrainable: bool = False
    countable: bool = False
    indivisible: bool = False
    mismatch: str = ""
    unconfirmed: str = ""
    contrary: str = ""
    odd: Sequence[str] = ()
    has_domain: bool = True
    domain_inferred: bool = False
    people: bool = False
    of_classes: bool = True
    limits: Mapping[str, float | None] = field(default_factory=dict)

    def measured(self, fact: str) -> Any:
        """Return what measurements found as a fact of that name; None where it was not measured or does not exist."""
        outcome = self.facts.get(fact)
        return outcome.value if isinstance(outcome, Measured) else None

    @property
    def lacks(self) -> tuple[str, ...] | None:
        """What the publisher can state of the fit, by the names of statements; None where it is not known."""
        return None

    @property
    def counted(self) -> str:
        """What was counted: records, or people where persons were stated."""
        return "people" if self.people else "records"

    @property
    def accepted(self) -> bool:
        """Whether the policy accepts the claim, so that it answers for what is published."""
        return self.guarantee is not None and self.guarantee.accepted

    @property
    def covered(self) -> bool:
        """Whether an accepted guarantee covers the whole subject, so that it answers for what would be measured."""
        return self.accepted and self.kind not in ("several models", "several regressions")

    @property
    def part(self) -> str:
        """What a part of the subject is called."""
        return PARTS.get(self.kind, ("leaf", "leaves"))[0]

    @property
    def parts(self) -> str:
        """What its parts are called."""
        return PARTS.get(self.kind, ("leaf", "leaves"))[1]
