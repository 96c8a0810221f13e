"""How much memory the records of a fit take, from public sizes alone."""

from __future__ import annotations

import math

from glassine.domain import Domain, Integer, Real
from glassine.errors import check_whole
from glassine.records.columns import code_type

BESIDE = 12
"""Bytes of a record beside its attributes: its class, its place, and what is read of it at one time."""

NUMBER, CODE = 16, 4
"""Bytes of a number, and for each byte of a category's code: columns are read, and taken once more."""

PARTS = 115, 2
"""Bytes of a record, and of each condition on it, where the target is a number: it is in sixteen bit sets."""


def record_bytes(n_records: object, domain: Domain, *, n_conditions: int = 0, numeric: bool = False) -> int:
    """Return about how many bytes a fit takes for so many records, besides the container that is passed.

    ``n_conditions`` are those that are kept as bit sets; ``numeric`` says that the target of a tree is a number.
    Measured with a million records of 4 and 10 attributes, it is at most 1.4 times the peak.
    """
    number = check_whole(n_records, "n_records", 0, 10**12)
    out = float(BESIDE)
    for name in domain:
        attribute = domain[name]
        if isinstance(attribute, Integer | Real):
            out += NUMBER
        else:
            out += CODE * code_type(attribute)().itemsize
    return math.ceil(number * (out + _conditions(n_conditions, numeric)))


def _conditions(n_conditions: int, numeric: bool) -> float:
    return PARTS[0] + PARTS[1] * n_conditions if numeric else n_conditions / 8
