"""The differential privacy that is claimed for a subject, what follows from it, and what a summary released by it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Standing: TypeAlias = Literal["accepted", "too weak", "not accepted", "does not hold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What follows from a guarantee: a figure that no reader can exceed if the claim is true.

    Attributes
    ----------
    name : str
        What is bounded.
    value : float
        The bound.
    statement : str
        What it says.
    method : str
        Where it is proved.
    """

    name: str
    value: float
    statement: str
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeFinding:
    """The differential privacy that a model's publisher claims; an audit of the model alone cannot verify it.

    Attributes
    ----------
    claimed_by : str
        Whose word it is.
    epsilon, delta : float
        The claim.
    neighboring : str
        Its neighboring relation.
    unit : str
        Whose data it covers: "record", or "person, at most m records each".
    count_scale : float or None
        Scale of the noise in the counts, in records.
    caveats : tuple of str
        Why it does not hold as stated: what the model says, and what contradicts it in the model.
    standing : str
        ``accepted`` by the policy and within its limits, ``too weak`` for them, ``not accepted``, or ``does not hold``
        where there is a caveat. Only an accepted guarantee answers other rules.
    bits_per_record : float or None
        The bits that the model can reveal about one record, or one person if that is the unit; None where there is a
        caveat.
    bounds : tuple of Bound
        What follows; nothing where there is a caveat.
    setting : str or None
        The setting that a private search chose within it, such as ``max_depth=2``.
    """

    claimed_by: str
    epsilon: float
    delta: float
    neighboring: str
    count_scale: float | None
    caveats: tuple[str, ...]
    standing: Standing
    bits_per_record: float | None
    bounds: tuple[Bound, ...]
    unit: str = "record"
    setting: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the policy accepts it, so that it answers for what was published."""
        return self.standing == "accepted"

    def void(self, caveat: str) -> GuaranteeFinding:
        """Return it as void for one more reason, so that nothing follows from it."""
        return replace(self, caveats=(*self.caveats, caveat), standing="does not hold", bits_per_record=None, bounds=())

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
    """One release of a summary, as its certificate has it.

    Attributes
    ----------
    name : str
        What was released.
    n_values : int
        How many numbers.
    deviation : float
        Standard deviation of the noise in each, in records; of sums of residuals and squares in their own units.
    """

    name: str
    n_values: int
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryFinding:
    """What a private summary holds, and whether its certificate is of it.

    Attributes
    ----------
    releases : tuple of NoisyNumbers
        Everything that was released, in order.
    n_values : int
        Noisy numbers of all of them.
    n_attributes, n_used : int
        Attributes of the domain, and those that models use: the others have one bin.
    n_pairs : int
        Pairs of attributes that the summary holds counts of.
    target : str
        The name of what is predicted; may be empty.
    digest : str
        SHA-256 of what was released.
    certified : bool
        Whether the certificate names that digest.
    spent : float
        Epsilon of all releases together at the certificate's delta, added up again.
    measured : str
        What a reserved part of epsilon measured; empty without one.
    receipt : str
        The ledger and the number of the charge that the certificate names; empty without one.
    """

    releases: tuple[NoisyNumbers, ...]
    n_values: int
    n_attributes: int
    n_used: int
    n_pairs: int
    target: str
    digest: str
    certified: bool
    spent: float
    measured: str
    receipt: str
