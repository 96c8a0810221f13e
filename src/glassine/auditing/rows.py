"""Rows that meet every count of what was published: rebuilt training records, as a measurement."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.outcome import Measured, Outcome
from glassine.attacks.reconstruction.row_result import RowReconstruction
from glassine.auditing.findings.rows import RowsFinding
from glassine.auditing.suppression import Suppression

__all__ = ["Rows", "compared", "hide_rows"]

Rows = tuple[RowReconstruction, ErrorEstimate | None]
"""Rebuilt rows, and how far they are from the training records."""


def compared(
    outcome: Outcome[RowReconstruction], frame: Any, random_state: int | np.random.Generator | None
) -> Outcome[Rows]:
    """Return rows with their distance from the training records, where these are given."""
    if not isinstance(outcome, Measured):
        return outcome
    error = None if frame is None else outcome.value.error_to(frame, random_state=random_state)
    return Measured((outcome.value, error))


def hide_rows(value: Rows, suppression: Suppression) -> RowsFinding:
    """Return what is certain about the rows; the rows themselves are no part of findings."""
    rows, error = value
    share = rows.share_certain
    n_values = rows.n_records * len(rows.domain)
    return RowsFinding(
        status=rows.status,
        meaning=rows.meaning,
        n_records=suppression.count(rows.n_records),
        ordered=rows.ordered,
        n_certain=None if rows.n_certain is None else suppression.rough(rows.n_certain),
        n_whole=None if rows.n_whole is None else suppression.rough(rows.n_whole),
        share_certain=None if share is None else suppression.proportion(share, n_values),
        reproduced=rows.reproduced,
        error=error,
    )
