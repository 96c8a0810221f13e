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
        A fit without one: quotes may break their line, and a line that is not as the header says is refused.
    AUDIT
        An audit or a check: quotes may break their line, and a line that is not as the header says is counted as such.
    """

    PRIVATE = "private"
    AUDIT = "audit"
    ORDINARY = "ordinary"
