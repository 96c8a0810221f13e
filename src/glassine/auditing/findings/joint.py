"""What findings hold of several models of the same records, and of rows that meet every published count."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.outcome import ShownCount, for_checker


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutModel:
    """A model that was left out, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFinding:
    """What the counts of several models reveal together; small counts are suppressed."""

    # ``consistent``, ``inconsistent``, ``open`` where the search for a dataset ended without an answer, or
    # ``unmeasured`` where no model publishes exact counts.
    status: str
    contradiction: str | None  # Why no dataset in the domain meets all counts
    models: tuple[str, ...]  # The models whose counts were used
    left_out: tuple[LeftOutModel, ...]  # The others
    counted: tuple[str, ...]  # The models whose numbers of records were counted in the data
    n_records: ShownCount  # Training records
    domain_bits: float  # log2 of the number of possible records, or of the volume of the domain
    by_shares: bool  # Whether bits are those of an attacker who knows the domain's public shares
    bits_alone: tuple[float, ...]  # Bits that each model alone reveals about a record, on average
    bits: tuple[float, float] | None  # Bits that all of them reveal about a record, on average, between proved bounds
    # Bits about the most exposed record, between proved bounds; the upper one is None where there is none.
    bits_most_exposed: tuple[float, float | None] | None
    # Bits about a record for an attacker who can match the rows of the models; needs the data.
    bits_aligned: float | None
    fewest_in_common: ShownCount | None  # Records of the smallest intersection of all models that holds one
    # n_small_groups, n_certain_groups: groups of few records that only the models together set apart, and those whose
    # class only they reveal.
    n_small_groups: int
    n_certain_groups: int

    def public(self) -> JointFinding | None:
        """Return it without what needs the data; None where counts were taken from them."""
        return None if self.counted else replace(self, bits_aligned=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsFinding:
    """Rebuilt training records."""

    status: str  # What is proved of the rows as a whole: ``unique``, ``most likely``, ``possible`` or ``drawn``
    meaning: str  # The same in words
    n_records: ShownCount  # Number of rows
    ordered: bool  # Whether the i-th row is the i-th training record
    # n_certain, n_whole: rows that a record certainly has, and those of them that are certain in every attribute; None
    # if that was not proved.
    n_certain: ShownCount | None
    n_whole: ShownCount | None
    share_certain: float | None  # Share of all values that are certain, too coarse to solve for a small count
    reproduced: bool | None  # Whether the forest, trained again on the rows, comes out the same
    # How far the rows are from the training records, and how far random ones are; None without the records.
    error: ErrorEstimate | None = field(metadata=for_checker())
