"""The check of data against a domain: which records break it, and why."""

from __future__ import annotations

import numpy as np

from glassine.data.deviations import LINES
from glassine.data.record_table import RecordTable, as_table, eager, frame_of
from glassine.domain.domain import Domain
from glassine.records.lines import LineFlag
from glassine.records.reading import read
from glassine.records.undeclared import reasons, rows_outside, wide

__all__ = ["broken_rules", "lines_outside", "outside_of", "rows_of_lines", "violations"]

LINE_REASONS = {
    LineFlag.OPEN_QUOTE: "malformed quotes",
    LineFlag.RAGGED: "more or fewer fields",
    LineFlag.REPAIRED: "bytes that are no text in the encoding",
}
"""What is odd about a line, in words."""

TIES = "no combination of the group"
"""The reason of records that ties between attributes forbid."""


def violations(domain: Domain, data: object) -> dict[str, int]:
    """Return how many records break the domain, by attribute or block of tied attributes; only those above zero.

    Parameters
    ----------
    domain : Domain
        The public domain; each attribute must be a column.
    data : data frame, or another container of named columns
        The records, shape (n, at least d).
    """
    return {name: sum(numbers.values()) for name, numbers in outside_of(domain, data).items()}


def outside_of(domain: Domain, data: object) -> dict[str, dict[str, int]]:
    """Return how many records break the domain, by attribute or block of tied attributes and by reason."""
    return {name: {why: len(rows) for why, rows in own.items()} for name, own in broken_rules(domain, data).items()}


def broken_rules(domain: Domain, data: object) -> dict[str, dict[str, list[int]]]:
    """Return which records break the domain and why: rows by reason, by attribute or block of tied attributes.

    It is for the holder of the records: rows reveal which they are. A record has one reason at most for each attribute.
    Parameters and errors as for :func:`violations`.
    """
    table: object = data
    if frame_of(data) is not None:
        table = as_table(data)
        eager(table)
    broken: dict[str, dict[str, list[int]]] = {LINES: rows_of_lines(table)} if isinstance(table, RecordTable) else {}
    for name, why in rows_outside(table, domain).items():
        own = enumerate(reasons(domain[name]), 1) if why.any() else ()
        broken[name] = {reason: np.flatnonzero(why == i).tolist() for i, reason in own}
    for block, possible in domain.blocks:
        codes = read(table, {name: wide(domain[name]) for name in block})[0].codes
        allowed = set(possible)
        rows = enumerate(zip(*(codes[name].tolist() for name in block), strict=True))
        broken[" + ".join(block)] = {TIES: [i for i, row in rows if row not in allowed]}
    kept = {name: {why: rows for why, rows in own.items() if rows} for name, own in broken.items()}
    return {name: own for name, own in kept.items() if own}


def rows_of_lines(table: RecordTable) -> dict[str, list[int]]:
    """Return the rows of a file whose lines are not as its header says, by reason; each has one."""
    out: dict[str, list[int]] = {}
    if table.lines is not None:
        left = table.lines
        for flag, why in LINE_REASONS.items():
            own = (left & flag.value) > 0
            out |= {why: np.flatnonzero(own).tolist()} if own.any() else {}
            left = np.where(own, 0, left)
    return out


def lines_outside(table: RecordTable) -> dict[str, int]:
    """Return how many records of a file have lines that are not as its header says, by reason."""
    return {why: len(rows) for why, rows in rows_of_lines(table).items()}
