"""The differential privacy that is claimed for a subject, what follows from it, and what a summary released by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Standing: TypeAlias = Literal["accepted", "too weak", "not accepted", "does not hold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What follows from a guarantee: a figure that no reader can exceed if the claim is true."""

    name: str  # What is bounded
    value: float  # The bound
    statement: str  # What it says
    method: str  # Where it is proved


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeFinding:
    """The differential privacy that a model's publisher claims; an audit of the model alone cannot verify it."""

    claimed_by: str  # Whose word it is
    # epsilon, delta: the claim.
    epsilon: float
    delta: float
    neighboring: str  # Its neighboring relation
    count_scale: float | None  # Scale of the noise in the counts, in records
    # Why it does not hold as stated: what the model says, and what contradicts it in the model.
    caveats: tuple[str, ...]
    # ``accepted`` by the policy and within its limits, ``too weak`` for them, ``not accepted``, or ``does not hold``
    # where there is a caveat. Only an accepted guarantee answers other rules.
    standing: Standing
    # The bits that the model can reveal about one record, or one person if that is the unit; None where there is a
    # caveat.
    bits_per_record: float | None
    bounds: tuple[Bound, ...]  # What follows; nothing where there is a caveat
    unit: str = "record"  # Whose data it covers: "record", or "person, at most m records each"
    setting: str | None = None  # The setting that a private search chose within it, such as ``max_depth=2``

    @property
    def accepted(self) -> bool:
        """Whether the policy accepts it, so that it answers for what was published."""
        return self.standing == "accepted"

    @property
    def subject(self) -> str:
        """What the guarantee speaks of: a record or a person."""
        return self.unit.partition(",")[0]

    @property
    def ceiling(self) -> float:
        """The largest advantage that the guarantee allows a membership attack: 1 where it says nothing."""
        return next((bound.value for bound in self.bounds if bound.name == "membership advantage"), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyNumbers:
    """One release of a summary, as its certificate has it."""

    name: str  # What was released
    n_values: int  # How many numbers
    # Standard deviation of the noise in each, in records; of sums of residuals and squares in their own units.
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryFinding:
    """What a private summary holds, and whether its certificate is of it."""

    releases: tuple[NoisyNumbers, ...]  # Everything that was released, in order
    n_values: int  # Noisy numbers of all of them
    # n_attributes, n_used: attributes of the domain, and those that models use: the others have one bin.
    n_attributes: int
    n_used: int
    n_pairs: int  # Pairs of attributes that the summary holds counts of
    target: str  # The name of what is predicted; may be empty
    digest: str  # SHA-256 of what was released
    certified: bool  # Whether the certificate names that digest
    spent: float  # Epsilon of all releases together at the certificate's delta, added up again
    measured: str  # What a reserved part of epsilon measured; empty without one
    receipt: str  # The ledger and the number of the charge that the certificate names; empty without one
