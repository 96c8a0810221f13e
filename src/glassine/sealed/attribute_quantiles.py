"""Private quantiles of several attributes, each with an equal part of epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidMechanismError
from glassine.privacy.events import Event
from glassine.privacy.exact import Number, positive
from glassine.privacy.randomness import Randomness
from glassine.sealed.quantiles import Thresholds, private_quantiles


def private_quantiles_of_attributes(
    columns: Mapping[str, npt.ArrayLike],
    candidates: Mapping[str, Sequence[float]],
    number: int,
    epsilon: Number,
    randomness: Randomness,
    *,
    multiplicities: Mapping[str, npt.NDArray[np.integer]] | None = None,
) -> tuple[dict[str, Thresholds], tuple[Event, ...]]:
    """Choose cut points of several attributes, each with an equal part of epsilon.

    Guarantee
    ---------
    epsilon-differentially private under add-or-remove-one, by composition over the attributes. Only
    attributes that have more candidates than quantiles take a part.

    Parameters, errors and edge cases are those of :func:`private_quantiles`; both mappings have the same keys, and
    ``multiplicities`` some of them.

    Returns
    -------
    thresholds : dict of str to tuple of float
        Per attribute, in the order of ``columns``.
    events : tuple of Event
        What was spent.

    Examples
    --------
    >>> columns = {"age": [20, 30, 40, 50] * 100, "sex": [0, 1] * 200}
    >>> private_quantiles_of_attributes(columns, {"age": [20, 30, 40], "sex": [0]}, 1, 5, Randomness.of(0))[0]
    {'age': (30.0,), 'sex': (0.0,)}
    """
    if set(columns) != set(candidates):
        odd = sorted(set(columns) ^ set(candidates))
        raise InvalidMechanismError(f"columns and candidates must name the same attributes, differ in {odd}.")
    total = positive(epsilon, "epsilon")
    # Public: where there are no more candidates than quantiles, all are taken and nothing is spent.
    spending = sum(len(candidates[attribute]) > number for attribute in columns)
    thresholds: dict[str, Thresholds] = {}
    events: list[Event] = []
    for attribute, column in columns.items():
        thresholds[attribute], spent = private_quantiles(
            column,
            candidates[attribute],
            number,
            total / max(1, spending),
            randomness,
            name=f"quantiles of {attribute}",
            multiplicities=(multiplicities or {}).get(attribute),
        )
        events += spent
    return thresholds, tuple(events)
