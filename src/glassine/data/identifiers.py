"""Whether a column identifies people: by how its values are distributed, and by its name."""

from __future__ import annotations

import re

import numpy as np

from glassine.data.inference import (
    MANY_VALUES,
    NUMBERED,
    PEOPLE,
    SHARE,
    are_handed_out,
    is_identifier_name,
    is_numbered,
    names_people,
    whole_numbers,
)
from glassine.domain.literals import is_missing
from glassine.records.arrays import AnyArray

__all__ = ["identifies"]


def identifies(name: str, column: AnyArray) -> bool:
    """Return whether a column holds identifiers of people: by how its values are distributed, and by its name.

    Whole numbers or texts, more than 20 different ones, of which each stands for few records, or for the records of a
    person by its name. Amounts and measurements are none, however many values they have.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> clients, amounts = rng.integers(1000, 2 * 10**8, 9_000), rng.lognormal(8, 1, 9_000).round()
    >>> identifies("client_nbr", clients), identifies("credit_amount", amounts), identifies("client_nbr", clients % 8)
    (True, False, False)
    >>> identifies("KD_NR", clients), identifies("KD_NR", clients % 8)
    (True, False)
    """
    whole = whole_numbers(column)
    if whole is not None and is_numbered(name) and are_handed_out(whole, name):
        return True
    if not is_identifier_name(name):
        return False
    present = column[~is_missing(column)]
    if present.dtype.kind == "f" and not np.array_equal(present, np.round(present)):
        return False
    values = set(present.tolist())
    few_rows = len(values) * SHARE >= len(present)
    return (
        len(values) > MANY_VALUES and names_people(name, len(values), len(present)) and (few_rows or _of_people(name))
    )


def _of_people(name: str) -> bool:
    """Return whether a name says that it is of people, such as patient_id, and not of visits."""
    return bool({part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)} & (PEOPLE | NUMBERED))
