"""Exhaustive verification: the worst log-ratio over all small datasets and all of their neighbors."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, Generic, TypeVar

import numpy as np

from glassine.errors import InvalidMechanismError, parameter
from glassine.exports import Displayed
from glassine.records.arrays import Array

MASS_TOLERANCE = 1e-9
"""How far the probabilities of a mechanism's outputs may be from adding up to one."""

Record = TypeVar("Record", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExhaustiveResult(Displayed, Generic[Record]):
    """The worst that one record can do to the output distribution, among all datasets that were looked at.

    Guarantee
    ---------
    none: :attr:`holds` says what :func:`verify_exhaustively` can say, and no more.

    Attributes
    ----------
    epsilon : float
        The claim.
    slack : float
        What the worst log-ratio may lie above it.
    worst : float
        Largest absolute log-ratio of the probabilities of one output under two neighbors. Infinite where an output is
        possible under one of them only, NaN where a log-probability is not a number.
    smaller, larger : tuple of records
        Datasets at which the worst ratio occurs; the larger has one record more.
    output : hashable
        The output at which it occurs.
    n_datasets, n_pairs, n_outputs : int
        Datasets, pairs of neighbors and different outputs that were looked at.
    """

    epsilon: float
    slack: float
    worst: float
    smaller: tuple[Record, ...]
    larger: tuple[Record, ...]
    output: Hashable
    n_datasets: int
    n_pairs: int
    n_outputs: int

    @property
    def holds(self) -> bool:
        """Whether the worst log-ratio is at most epsilon plus the slack; False if it is not a number."""
        return self.worst <= self.epsilon + self.slack

    @property
    def tightness(self) -> float:
        """The worst log-ratio over epsilon: a check far below 1 could miss a mechanism that is wrong."""
        return self.worst / self.epsilon if self.epsilon else math.inf

    def __str__(self) -> str:
        verdict = "holds on" if self.holds else "BROKEN on"
        return (
            f"epsilon = {self.epsilon:.6g} {verdict} {self.n_pairs} pairs of neighbors: worst log-ratio "
            f"{self.worst:.6g} at output {self.output!r}, {self.smaller!r} against {self.larger!r}"
        )


def multisets(universe: Sequence[Record], size: int) -> Iterator[tuple[Record, ...]]:
    """Yield all datasets of so many records, each as a tuple in the order of the universe.

    Examples
    --------
    >>> list(multisets("ab", 2))
    [('a', 'a'), ('a', 'b'), ('b', 'b')]
    """
    return combinations_with_replacement(universe, size)


def verify_exhaustively(
    mechanism: Callable[[tuple[Record, ...]], Mapping[Any, float]],
    universe: Sequence[Record],
    *,
    max_records: int,
    epsilon: float,
    slack: float = 0.0,
    min_records: int = 0,
) -> ExhaustiveResult[Record]:
    """Compare the exact output distributions of all small datasets with those of all of their neighbors.

    Every dataset of ``min_records`` to ``max_records`` records is compared with each that has one record more.
    The order of records is taken to be irrelevant: datasets are multisets.

    Guarantee
    ---------
    none for the mechanism as such. A pass proves, for these parameters, this universe and these sizes, that the
    distributions that the function returns are within ``epsilon + slack`` of each other. It does not prove that the
    mechanism draws from the distribution that it states, nor anything of larger datasets, other records or other
    parameters, nor of its running time. A failure is a counterexample to the claim if the stated distribution is right.

    Parameters
    ----------
    mechanism : callable
        From a dataset, a tuple of records, to the natural logarithm of the probability of each output. Outputs that
        are left out, or have minus infinity, are impossible.
    universe : sequence of hashable
        All possible records, each once.
    max_records : int
        Largest size of the smaller dataset of a pair.
    epsilon : float
        The claim, for adding or removing one record; at least 0.
    slack : float, default=0
        What rounding may add, at least 0: that of the mechanism, as it states it, and that of the logarithms.
    min_records : int, default=0
        Smallest size of the smaller dataset of a pair.

    Returns
    -------
    ExhaustiveResult
        The worst pair. Of equal ones the first is kept.

    Raises
    ------
    InvalidMechanismError
        If a parameter is out of its range, or the probabilities of a dataset do not add up to one.

    Notes
    -----
    With m possible records there are binom(m + n, n) datasets of up to n. Small datasets rarely come near a small
    epsilon: the ratio does so only where almost all probability is on outputs that the new record speaks for, or
    against. Let the mechanism add a fixed background of records to every dataset to see the check's teeth.

    Examples
    --------
    Randomized response on one bit says the truth three times out of four:

    >>> from math import log
    >>> def response(dataset):
    ...     return {"yes": log(3 / 4), "no": log(1 / 4)} if "yes" in dataset else {"yes": log(1 / 4), "no": log(3 / 4)}
    >>> result = verify_exhaustively(response, ["yes", "no"], max_records=2, epsilon=log(3))
    >>> result.holds, round(result.worst, 4), result.smaller, result.larger
    (True, 1.0986, (), ('yes',))
    """
    _check(universe, max_records, min_records, epsilon, slack)
    laws = _Laws(mechanism, universe)
    worst_case: tuple[tuple[int, ...], tuple[int, ...], int] = ((), (), 0)
    worst, n_pairs = -math.inf, 0
    for size in range(min_records, max_records + 1):
        for smaller in multisets(range(len(universe)), size):
            for record in range(len(universe)):
                larger = tuple(sorted((*smaller, record)))
                ratio, output = laws.compare(smaller, larger)
                n_pairs += 1
                if not ratio <= worst and not math.isnan(worst):
                    worst, worst_case = ratio, (smaller, larger, output)
        laws.forget(size)
    smaller, larger, output = worst_case
    return ExhaustiveResult(
        epsilon=float(epsilon),
        slack=float(slack),
        worst=worst,
        smaller=tuple(universe[i] for i in smaller),
        larger=tuple(universe[i] for i in larger),
        output=laws.outputs[output],
        n_datasets=laws.n_datasets,
        n_pairs=n_pairs,
        n_outputs=len(laws.outputs),
    )


class _Laws(Generic[Record]):
    """Log-probabilities by dataset, as arrays over all outputs met so far; datasets are positions in the universe."""

    def __init__(
        self, mechanism: Callable[[tuple[Record, ...]], Mapping[Any, float]], universe: Sequence[Record]
    ) -> None:
        self.mechanism = mechanism
        self.universe = universe
        self.outputs: list[Hashable] = []
        self.n_datasets = 0
        self._at: dict[Hashable, int] = {}
        self._laws: dict[tuple[int, ...], Array] = {}

    def compare(self, smaller: tuple[int, ...], larger: tuple[int, ...]) -> tuple[float, int]:
        """Return the largest absolute log-ratio, NaN above all, and the output at which it occurs."""
        one, other = self._law(smaller), self._law(larger)
        width = len(self.outputs)
        one, other = (np.pad(law, (0, width - len(law)), constant_values=-np.inf) for law in (one, other))
        with np.errstate(invalid="ignore"):
            ratios = np.abs(one - other)
        ratios[np.isneginf(one) & np.isneginf(other)] = 0.0
        # The position of the first NaN, if there is one.
        at = int(np.argmax(ratios))
        return float(ratios[at]), at

    def forget(self, size: int) -> None:
        """Drop the datasets of a size."""
        for dataset in [dataset for dataset in self._laws if len(dataset) == size]:
            del self._laws[dataset]

    def _law(self, dataset: tuple[int, ...]) -> Array:
        law = self._laws.get(dataset)
        if law is None:
            law = self._laws[dataset] = self._evaluate(tuple(self.universe[i] for i in dataset))
        return law

    def _evaluate(self, dataset: tuple[Record, ...]) -> Array:
        stated = self.mechanism(dataset)
        places: list[int] = []
        for output in stated:
            # One look-up each: the hash of a whole model takes longer than all else here.
            places.append(self._at.setdefault(output, len(self.outputs)))
            if places[-1] == len(self.outputs):
                self.outputs.append(output)
        law = np.full(len(self.outputs), -np.inf)
        law[places] = list(stated.values())
        self.n_datasets += 1
        with np.errstate(over="ignore"):
            mass = float(np.exp(law).sum())
        # Not a number is not refused: it is a result that does not hold.
        if abs(mass - 1) > MASS_TOLERANCE:
            raise InvalidMechanismError(
                f"the probabilities of a mechanism's outputs must add up to 1, got {mass:.12g} for the dataset "
                f"{dataset!r}.",
                remedy="Return the logarithm of the probability of every output.",
            )
        return law


def _check(universe: Sequence[object], max_records: int, min_records: int, epsilon: float, slack: float) -> None:
    if not len(universe) > 0 or len(set(universe)) < len(universe):
        raise InvalidMechanismError(
            f"{parameter('universe')} must hold different records, at least one, got {len(universe)} of which "
            f"{len(set(universe))} "
            "differ.",
            remedy="List each possible record once.",
        )
    if not 0 <= min_records <= max_records:
        raise InvalidMechanismError(
            f"{parameter('max_records')} must be at least {parameter('min_records')}, and that at least 0, got "
            f"{max_records} and {min_records}."
        )
    for name, value in (("epsilon", epsilon), ("slack", slack)):
        if not 0 <= value < math.inf:
            raise InvalidMechanismError(f"{parameter(name)} must be a finite number of at least 0, got {value!r}.")
