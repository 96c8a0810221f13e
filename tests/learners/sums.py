"""Oracles of sums over records whose bins are given, and the one door of their noise, for the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import Paid
from glassine.sealed import draws
from glassine.sealed.binned import AdditiveStore, Binned, parts_of, tables_of
from glassine.sealed.gaussian import GaussianOracle
from glassine.sealed.released_bins import Terms
from glassine.sealed.residuals import Lacking, there
from glassine.sealed.sums import Moves

HONEST = draws.gaussian


@dataclass(frozen=True, kw_only=True)
class Given:
    """Records of which the bins in all terms, the targets, or the counts of cells are given."""

    codes: Any = None  # Shape (terms, n)
    values: Any = None  # Shape (n,)
    counts: Any = None  # Numbers of records in the cells of each attribute
    times: Any = None  # How often each record occurs

    def cell_counts(self, grids: Sequence[Any]) -> Any:
        return self.counts

    def distinct(self, grids: Any, axes: Any) -> tuple[Binned, Any]:
        return Binned(codes=self.codes, values=self.values), self.times

    def tables(self, grids: Any, axes: Any, places: Any, n_classes: int) -> Any:
        return tables_of(self.codes, parts_of(self.values, n_classes), axes, places, n_classes)


def store_of(**given: Any) -> AdditiveStore:
    return AdditiveStore(Given(**given))


def oracle_of(records: Any, mu: float = 1.0, randomness: Randomness | None = None) -> GaussianOracle:
    """Return an oracle that may spend a mu; seeded with 0 by default."""
    return GaussianOracle(AdditiveStore(records), mu, Paid(randomness=randomness or Randomness.of(0)))


def released(noise: FineNoise, sums: Any, randomness: Any) -> Any:
    """Return sums with the noise that is honestly drawn."""
    return HONEST(sums, noise, randomness)


def through(patch: pytest.MonkeyPatch, way: Callable[[FineNoise, Any, Any], Any]) -> None:
    """Let all sums become public in some way, of their noise, of themselves and of the randomness."""
    patch.setattr(draws, "gaussian", lambda sums, noise, randomness: way(noise, np.asarray(sums), randomness))


def residual_sums(
    binned: Binned, times: Any, scores: Any, ends: Any, clip: float, units: int, *, numbers: bool = False
) -> Any:
    """Return the sums of residuals in bins, shape (bins, outputs), under scores of bins and, last, of all."""
    axes: Any = tuple(SimpleNamespace(n_bins=int(size)) for size in np.diff(ends))
    terms = Terms(grids=(), axes=axes)
    step = np.zeros((len(axes), max(terms.sizes), scores.shape[1]))
    step[there(terms)] = scores[:-1]
    question = Lacking(terms=terms, scores=Moves(step, scores[-1]), classes=not numbers, clip=clip, in_bins=True)
    return question.exact(store_of(codes=binned.codes, values=binned.values, times=times), units)
