"""The types of arrays: what their numbers are. Their shapes are said where they are used."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Indices: TypeAlias = npt.NDArray[np.intp]
Bools: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]
"""Of any numbers: a kernel, for one, is compiled for each type of them."""

SHORT = 64
"""Values up to which Python finds the ends of a column faster than NumPy starts to look."""


def extremes(values: AnyArray) -> tuple[Any, Any]:
    """Return the least and the largest of numbers, shape (n,), n at least 1, as Python's."""
    if len(values) > SHORT and values.dtype.kind != "O":
        return values.min().item(), values.max().item()
    listed = values.tolist()
    return min(listed), max(listed)
