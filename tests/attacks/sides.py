"""Members and non-members of four arrays."""

from __future__ import annotations

from typing import Any

from glassine.data import Sample


def sides(X_in: Any, y_in: Any, X_out: Any, y_out: Any) -> tuple[Sample, Sample]:
    """Return members and non-members with their classes."""
    return Sample(X_in, y_in), Sample(X_out, y_out)
