"""Records whose target is a number in a public range, counted as parts of a lower and of an upper class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.data.bits import BitSets
from glassine.data.frames import truths
from glassine.domain import Domain, Literal
from glassine.learners.additive.records import HeldRecords
from glassine.learners.additive.targets import read_numbers
from glassine.learners.exhaustive.losses import PARTS
from glassine.learners.intake import HeldIntake
from glassine.learners.persons import Persons
from glassine.learners.reading import multiplicities_of

__all__ = ["NumericIntake", "read_numeric"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NumericIntake(HeldIntake):
    """Records and numbers in memory; ``labels`` are the parts of the upper class, and there are no classes.

    Attributes
    ----------
    target_range : (float, float)
        The public range of the target.
    targets : ndarray of float, shape (m,)
        The targets, clipped to it.
    """

    target_range: tuple[float, float]
    targets: npt.NDArray[np.float64]

    def pack(self, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
        """Return the parts of the records as bit sets of conjunctions."""
        parts = np.column_stack([PARTS - self.labels, self.labels])
        if self.multiplicities is not None:
            parts *= self.multiplicities[:, None]
        return BitSets.pack_counts(truths(self.columns, antecedents), parts)


def read_numeric(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    domain: Domain | None,
    bounds: tuple[float, float] | None,
    times: Persons | npt.ArrayLike | None,
    private: bool,
) -> NumericIntake:
    """Read the arguments of a regressor's fit.

    Parameters
    ----------
    estimator, X, y, domain, bounds
        As for :func:`glassine.learners.additive.targets.read_numbers`, with its errors.
    times : Persons or array-like of shape (n,), optional
        Whose records they are, or how many records each row stands for.
    private : bool
        Whether the fit is private: it warns of what is taken from the data, and refuses no value.
    """
    persons = times if isinstance(times, Persons) else None
    training = read_numbers(estimator, X, y, domain=domain, bounds=bounds, times=persons, private=private)
    records, (half, middle) = training.records, training.target.scale
    if not isinstance(records, HeldRecords):
        raise TypeError("the records of a regressor are in memory")
    multiplicities = None if persons is not None or times is None else multiplicities_of(times, len(records.values))
    return NumericIntake(
        columns=records.columns,
        # Each number is rounded by itself, to a whole number of parts: the others have no part in it.
        labels=np.rint((records.values + 1) / 2 * PARTS).astype(np.int64),
        multiplicities=multiplicities,
        domain=training.domain,
        classes=(),
        caveats=training.caveats,
        persons=persons,
        target_range=(middle - half, middle + half),
        targets=records.values * half + middle,
    )
