"""What findings hold of several models of the same records, and of rows that meet every published count."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from glassine.attacks.outcome import ShownCount, for_checker
from glassine.attacks.record_matching import ErrorEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutModel:
    """A model that was left out, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFinding:
    """What the counts of several models reveal together; small counts are suppressed.

    Attributes
    ----------
    status : str
        ``consistent``, ``inconsistent``, ``open`` where the search for a dataset ended without an answer, or
        ``unmeasured`` where no model publishes exact counts.
    contradiction : str or None
        Why no dataset in the domain meets all counts.
    models : tuple of str
        The models whose counts were used.
    left_out : tuple of LeftOutModel
        The others.
    counted : tuple of str
        The models whose numbers of records were counted in the data.
    n_records : ShownCount
        Training records.
    domain_bits : float
        log2 of the number of possible records, or of the volume of the domain.
    by_shares : bool
        Whether bits are those of an attacker who knows the domain's public shares.
    bits_alone : tuple of float
        Bits that each model alone reveals about a record, on average.
    bits : tuple of (float, float) or None
        Bits that all of them reveal about a record, on average, between proved bounds.
    bits_most_exposed : tuple of (float, float or None) or None
        Bits about the most exposed record, between proved bounds; the upper one is None where there is none.
    bits_aligned : float or None
        Bits about a record for an attacker who can match the rows of the models; needs the data.
    fewest_in_common : ShownCount or None
        Records of the smallest intersection of all models that holds one.
    n_small_groups, n_certain_groups : int
        Groups of few records that only the models together set apart, and those whose class only they reveal.
    """

    status: str
    contradiction: str | None
    models: tuple[str, ...]
    left_out: tuple[LeftOutModel, ...]
    counted: tuple[str, ...]
    n_records: ShownCount
    domain_bits: float
    by_shares: bool
    bits_alone: tuple[float, ...]
    bits: tuple[float, float] | None
    bits_most_exposed: tuple[float, float | None] | None
    bits_aligned: float | None
    fewest_in_common: ShownCount | None
    n_small_groups: int
    n_certain_groups: int

    def public(self) -> JointFinding | None:
        """Return it without what needs the data; None where counts were taken from them."""
        return None if self.counted else replace(self, bits_aligned=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsFinding:
    """Rebuilt training records.

    Attributes
    ----------
    status : str
        What is proved of the rows as a whole: ``unique``, ``most likely``, ``possible`` or ``drawn``.
    meaning : str
        The same in words.
    n_records : ShownCount
        Number of rows.
    ordered : bool
        Whether the i-th row is the i-th training record.
    n_certain, n_whole : ShownCount or None
        Rows that a record certainly has, and those of them that are certain in every attribute; None if that was not
        proved.
    share_certain : float or None
        Share of all values that are certain, too coarse to solve for a small count.
    reproduced : bool or None
        Whether the forest, trained again on the rows, comes out the same.
    error : ErrorEstimate or None
        How far the rows are from the training records, and how far random ones are; None without the records.
    """

    status: str
    meaning: str
    n_records: ShownCount
    ordered: bool
    n_certain: ShownCount | None
    n_whole: ShownCount | None
    share_certain: float | None
    reproduced: bool | None
    error: ErrorEstimate | None = field(metadata=for_checker())
