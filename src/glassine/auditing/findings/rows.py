"""Rows that meet every count of a model, as findings show them: how many, and how certain, never the rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.outcome import ShownCount, for_checker

__all__ = ["RowsFinding"]


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
