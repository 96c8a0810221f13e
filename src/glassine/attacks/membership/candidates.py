"""The different candidates of the midpoint attack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.equal_rows import codes_of_rows
from glassine.attacks.membership.outputs import Records
from glassine.models import DecisionTree

__all__ = ["People"]


@dataclass(frozen=True, slots=True)
class People:
    """The different candidates: records that are equal in all columns that the model knows are one.

    Copies could otherwise silence the attack: in the control, the copy of a record that is left out would match.
    """

    records: Records
    codes: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]
    member: npt.NDArray[np.bool_] | None

    @classmethod
    def of(cls, model: Any, given: Records, truth: npt.NDArray[np.bool_] | None) -> People:
        """Return the different ones among given candidates."""
        codes = codes_of_rows(known_columns(model, given))
        # In the order in which they are given.
        first, inverse = np.unique(np.unique(codes, return_index=True)[1][codes], return_inverse=True)
        member = None
        if truth is not None:
            member = np.zeros(len(first), dtype=bool)
            np.logical_or.at(member, inverse, truth)
        return cls(given.take(first), inverse, first, member)

    def rows(self, chosen: Iterable[int]) -> tuple[int, ...]:
        """Return the row of the first of each of some different candidates."""
        return tuple(int(self.first[i]) for i in chosen)

    def all_rows(self, chosen: Sequence[int]) -> tuple[int, ...]:
        """Return the rows of some different candidates, equal ones included."""
        return tuple(np.flatnonzero(np.isin(self.codes, list(chosen))).tolist())


def known_columns(model: Any, given: Records) -> Records:
    """Return the columns of the candidates that a model knows, where it names them."""
    if isinstance(given.native, np.ndarray) or isinstance(model, list | tuple) or hasattr(model, "trees"):
        return given
    tree = model if isinstance(model, DecisionTree) else getattr(model, "model_", None)
    fitted = getattr(model, "best_estimator_", model)
    names = tree.attributes if isinstance(tree, DecisionTree) else getattr(fitted, "feature_names_in_", None)
    own = [name for name in (given.names or ()) if names is not None and name in set(names)]
    return Records(given.native[own], given.target) if own else given
