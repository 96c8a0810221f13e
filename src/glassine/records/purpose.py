"""For whom records are read."""

from __future__ import annotations

from enum import Enum


class Purpose(Enum):
    """For whom records are read: how a line that is not plain is read depends on it, and on nothing else.

    Attributes
    ----------
    PRIVATE
        A fit with a guarantee: each line is a record, read alone, and none is refused.
    ORDINARY
        Everything else: quotes may break their line, and a row with too many fields is refused by its number.
    """

    PRIVATE = "private"
    ORDINARY = "ordinary"
