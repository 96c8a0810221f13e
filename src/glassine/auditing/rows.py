"""Rows that meet every count of what was published: rebuilt training records, as a measurement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.outcome import Measured, Measurement, Outcome
from glassine.attacks.reconstruction.row_result import RowReconstruction
from glassine.auditing.findings.rows import RowsFinding
from glassine.auditing.suppression import Suppression

__all__ = ["Rows", "compared", "rows_measured"]

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


def _hide(value: Rows, suppression: Suppression) -> RowsFinding:
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


def rows_measured(run: Callable[[Any], Outcome[Rows]]) -> Measurement[Any, Rows]:
    """Return the measurement of rows, made of one kind of subject."""
    return Measurement[Any, Rows](
        name="rows",
        title="Rows",
        question="Which rows meet every count?",
        finding=RowsFinding,
        run=run,
        hide=_hide,
        asked=False,
        listed=False,
    )
