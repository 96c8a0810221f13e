"""Alignment of reconstructed with original records by minimum-cost matching."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from glassine.domain import Domain, Integer, Real
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError, parameter
from glassine.records.arrays import AnyArray, Array
from glassine.records.cells import Flag
from glassine.records.containers import schema
from glassine.records.reading import read
from glassine.records.undeclared import wide

__all__ = ["ErrorEstimate", "Records", "align", "distances", "original_records"]

Records: TypeAlias = dict[str, AnyArray]

OTHER = object()
"""A value that the domain does not declare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEstimate:
    """Distance of reconstructed records from the original ones, against random records."""

    # error, error_sd: mean distance of matched pairs in [0, 1], and its standard deviation over the draws.
    error: float
    error_sd: float
    # baseline, baseline_sd: the same for random records of the domain.
    baseline: float
    baseline_sd: float
    n_draws: int  # Number of draws
    n_matched: int  # Number of records matched in each draw

    @property
    def no_better_than_random(self) -> bool:
        """Whether the records are no closer than random ones, by less than two standard deviations."""
        return not self.error < self.baseline - 2 * math.hypot(self.error_sd, self.baseline_sd)

    @property
    def statement(self) -> str:
        """What the figures say, in a sentence."""
        figures = f"mean distance {self.error:.3f} from the original records, {self.baseline:.3f} for random ones"
        if self.no_better_than_random:
            return f"The rows are no closer to the original records than random ones are: {figures}."
        return f"The rows are closer to the original records than random ones are: {figures}."


def original_records(
    original: object, domain: Domain, n_records: int, *, n_draws: int = 1, max_records: int = 1
) -> Records:
    """Return the columns of the records that reconstructed ones are compared with."""
    names = schema(original).names or ()
    for name in domain:
        if name not in names:
            raise InvalidDataError(f"the original lacks the column {name!r} of the domain.", remedy="Add it.")
    columns, flags = read(original, {name: wide(domain[name]) for name in domain})
    n = columns.n_records
    if n != n_records:
        raise InvalidDataError(
            f"the original holds {n} records, but the model counts {n_records}.",
            remedy="Pass the records that the model was trained on.",
        )
    for name, value in (("n_draws", n_draws), ("max_records", max_records)):
        if not value >= 1:
            raise InvalidDataError(f"{parameter(name)} must be at least 1, got {value!r}.")
    records: Records = {}
    for name in domain:
        records[name], other = columns.values(name), flags.where(name, Flag.UNDECLARED, Flag.INFINITE)
        # A value that is not declared is another one than all that are, and no gap; of numbers, as far as can be.
        if other.any():
            records[name] = records[name].copy()
            records[name][other] = math.inf if isinstance(domain[name], Integer | Real) else OTHER
    return records


def distances(domain: Domain, left: Records, right: Records) -> Array:
    """Return the mean distance over the attributes of every pair of records.

    Shapes: the result (n, m).
    """
    shape = (len(left[domain.names[0]]), len(right[domain.names[0]]))
    total = np.zeros(shape)
    for name in domain:
        attribute = domain[name]
        a, b = left[name], right[name]
        gaps = is_missing(a), is_missing(b)
        if isinstance(attribute, Integer | Real):
            span = float(attribute.ends[1] - attribute.ends[0]) or 1.0
            x, y = (np.where(gap, 0.0, v).astype(float) for v, gap in zip((a, b), gaps, strict=True))
            # In place: a table has a value for each pair of records, and a new one costs as much as a step of its work.
            differences = x[:, None] - y[None, :]
            np.abs(differences, out=differences)
            differences /= span
            np.minimum(differences, 1.0, out=differences)
        else:
            sides = [
                [None if lacks else v for v, lacks in zip(side.tolist(), gap, strict=True)]
                for side, gap in zip((a, b), gaps, strict=True)
            ]
            codes = {value: code for code, value in enumerate(dict.fromkeys([*sides[0], *sides[1]]))}
            x, y = (np.array([codes[v] for v in side]) for side in sides)
            differences = x[:, None] != y[None, :]
        if gaps[0].any() or gaps[1].any():
            one, other = gaps[0][:, None], gaps[1][None, :]
            differences = np.where(one | other, one != other, differences)
        total += differences
    return total / len(domain)


def align(domain: Domain, draws: Sequence[tuple[Records, Records, Records]]) -> ErrorEstimate:
    """Return the error of reconstructed and of random records, each matched with originals at minimum total cost."""
    errors = [
        [_least_mean(distances(domain, original, drawn)) for drawn in (reconstructed, random)]
        for original, reconstructed, random in draws
    ]
    means = np.mean(errors, axis=0)
    spread = np.std(errors, axis=0, ddof=1) if len(errors) > 1 else np.zeros(2)
    return ErrorEstimate(
        error=float(means[0]),
        error_sd=float(spread[0]),
        baseline=float(means[1]),
        baseline_sd=float(spread[1]),
        n_draws=len(errors),
        n_matched=len(draws[0][0][domain.names[0]]),
    )


def _least_mean(table: Array) -> float:
    """Return the least mean distance of a one-to-one matching. Shapes: ``table`` (n, n)."""
    from scipy.optimize import linear_sum_assignment

    # Every matching pays the least cost of each row and column. Without these costs the solver's paths are short: it
    # takes two thirds of the time, and finds a matching of the same total.
    reduced = table - table.min(axis=0)
    reduced -= reduced.min(axis=1)[:, None]
    return float(table[linear_sum_assignment(reduced)].mean())
