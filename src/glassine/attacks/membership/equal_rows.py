"""Which records are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.outputs import Records, class_text
from glassine.domain.literals import is_missing

__all__ = ["codes_of_rows"]


def codes_of_rows(records: Records, *, with_target: bool = False) -> npt.NDArray[np.intp]:
    """Return a number for each record, the same for records that are equal in all columns."""
    given = records.columns(records.names or tuple(f"x{i}" for i in range(records.width)))
    codes = np.zeros(len(records.target), dtype=np.intp)
    for column in (*given.values(), *((records.target,) if with_target else ())):
        own = _codes_of(column)
        codes = np.unique(codes * (int(own.max()) + 1) + own, return_inverse=True)[1]
    return codes


def _codes_of(column: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    if column.dtype.kind in "biuf":
        return np.unique(column, return_inverse=True)[1]
    gaps = is_missing(column)
    texts = np.array(["" if gap else "=" + class_text(v) for v, gap in zip(column.tolist(), gaps, strict=True)])
    return np.unique(texts, return_inverse=True)[1]
