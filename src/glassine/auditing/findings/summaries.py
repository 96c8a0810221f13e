"""What the audit of a private summary found: its noisy numbers, release by release; all of it is public."""

from __future__ import annotations

from dataclasses import dataclass


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
    receipt: str
