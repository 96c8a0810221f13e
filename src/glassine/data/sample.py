"""Records of a population that come with their classes and the persons behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Sample", "as_sample"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Sample:
    """Records, their classes and their persons, as one of two sets of records.

    Attributes
    ----------
    data : data frame or ndarray, shape (n, d), or None
        The records; None where there are none.
    target : str, or array-like of shape (n,), optional
        Their classes: a column of the records, or one for each. Without it the column of the other set's.
    persons : str, or array-like of shape (n,), optional
        Whose record each is: a column of the records, or one identifier for each. Without it the column of the other
        set's.

    Examples
    --------
    >>> import numpy as np
    >>> held_out = Sample(np.array([[2.5], [0.5]]), [1, 0])
    >>> held_out.data.shape, held_out.target
    ((2, 1), [1, 0])
    """

    data: Any = None
    target: Any = None
    persons: Any = field(default=None, kw_only=True)

    def completed(self, other: Sample) -> Sample:
        """Return the same with the columns that another set of records states, where this one states nothing."""
        target = other.target if self.target is None and isinstance(other.target, str) else self.target
        persons = other.persons if self.persons is None and isinstance(other.persons, str) else self.persons
        return Sample(self.data, target, persons=persons)


def as_sample(records: object) -> Sample:
    """Return records as a sample; a sample stays the same."""
    return records if isinstance(records, Sample) else Sample(records)
