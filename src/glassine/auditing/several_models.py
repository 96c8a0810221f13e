"""Several models of the same records, and how they are put together, as an audit takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from glassine.records.arrays import AnyArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralModels:
    """Several models of the same records, and how to put them together."""

    # Trees, rule lists, forests or fitted estimators, or files read by :func:`glassine.formats.load_file`, which are
    # judged for everything in them; tuple.
    models: tuple[Any, ...]
    names: tuple[str, ...] | None = None  # Their names; "model 1" and so on by default
    # counts, same_labels, smallest_group, time_limit: as for :func:`glassine.attacks.reconstruct_jointly`. Groups of
    # fewer records than the policy's ``smallest_group`` are sought by default.
    counts: str = "published"
    same_labels: bool = True
    smallest_group: int | None = None
    time_limit: float = 30.0
    # Of regressions, which records of the data each was fitted on: a column of 0/1 or an array of shape (n,); None for
    # those without a gap.
    samples: tuple[str | AnyArray | None, ...] | None = None
    same_records: bool = False  # Of regressions, whether their publisher states that all are of the same records
