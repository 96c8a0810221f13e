"""How Glassine's time grows with the records n, the attributes p, the depth or the rules, and the group size k.

Times are seconds of processors.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.judging import figure
from benchmarks.peers.turns import PeerFailed, measured

STEPS = ("depth", "rules")
"""Sizes that are counted in steps: time grows by a factor with each, not by a power."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A task of growing size: the name of the work, which size grows and through which values, and the other sizes."""

    task: str
    work: str
    size: str
    values: tuple[int, ...]
    fixed: dict[str, int]
    light: bool = False


SERIES = (
    Series(
        task="optimal tree of depth 3, 20 literals",
        work="tree",
        size="n",
        values=(100_000, 200_000, 400_000, 800_000),
        fixed={"p": 20, "depth": 3},
    ),
    Series(
        task="optimal tree of depth 3, 20,000 records",
        work="tree",
        size="p",
        values=(25, 50, 100, 200),
        fixed={"n": 20_000, "depth": 3},
    ),
    Series(
        task="optimal tree over 20 literals, 20,000 records",
        work="tree",
        size="depth",
        values=(2, 3, 4, 5, 6),
        fixed={"n": 20_000, "p": 20},
        light=True,
    ),
    Series(
        task="optimal rule list over 20 literals, 20,000 records",
        work="rule list",
        size="rules",
        values=(2, 3, 4, 5, 6),
        fixed={"n": 20_000, "p": 20},
    ),
    Series(
        task="private additive model of 10 numbers",
        work="additive",
        size="n",
        values=(100_000, 200_000, 400_000, 800_000),
        fixed={"p": 10},
    ),
    Series(
        task="private additive model, 100,000 records",
        work="additive",
        size="p",
        values=(5, 10, 20, 40),
        fixed={"n": 100_000},
    ),
    Series(
        task="possible records of rules of width 3 over 100 binary attributes",
        work="worlds",
        size="rules",
        values=(10, 15, 20, 25, 30),
        fixed={"p": 100, "lists": 5},
        light=True,
    ),
    Series(
        task="microaggregation of ten numbers in groups of 50",
        work="microaggregation",
        size="n",
        values=(5_000, 10_000, 20_000, 40_000),
        fixed={"p": 10, "k": 50},
    ),
    Series(
        task="microaggregation of 20,000 records of ten numbers",
        work="microaggregation",
        size="k",
        values=(10, 20, 40, 80, 160),
        fixed={"n": 20_000, "p": 10},
    ),
    Series(
        task="private tree of depth 3, 10,000 records of numbers",
        work="private tree",
        size="p",
        values=(10, 25, 50),
        fixed={"n": 10_000},
    ),
    Series(
        task="private tree of depth 3, 10 numbers",
        work="private tree",
        size="n",
        values=(10_000, 100_000, 1_000_000),
        fixed={"p": 10},
    ),
    Series(
        task="private summary, 10,000 records of numbers",
        work="summary",
        size="p",
        values=(10, 25, 50, 100),
        fixed={"n": 10_000},
    ),
    Series(
        task="private summary of 10 numbers",
        work="summary",
        size="n",
        values=(10_000, 100_000, 1_000_000),
        fixed={"p": 10},
    ),
    Series(
        task="audit of a tree of 100 leaves with records and holdout, 10 numbers",
        work="audit",
        size="n",
        values=(10_000, 100_000, 1_000_000),
        fixed={"p": 10, "leaves": 100},
    ),
    Series(
        task="audit of a tree of 100 leaves with 20,000 records and holdout",
        work="audit",
        size="p",
        values=(10, 50, 200),
        fixed={"n": 20_000, "leaves": 100},
    ),
    Series(
        task="audit of a tree with 20,000 records and holdout, 10 numbers",
        work="audit",
        size="leaves",
        values=(20, 200, 2_000),
        fixed={"n": 20_000, "p": 10},
    ),
    Series(
        task="audit of a forest alone, 20 leaves a tree",
        work="forest",
        size="trees",
        values=(10, 30, 100),
        fixed={"leaves": 20},
    ),
    Series(
        task="audit of a forest of 20 trees alone",
        work="forest",
        size="leaves",
        values=(10, 40, 160),
        fixed={"trees": 20},
    ),
    Series(
        task="capacity of trees of depth 3, 1,000 people",
        work="capacity",
        size="questions",
        values=(10, 100, 1_000),
        fixed={"depth": 3},
    ),
    Series(
        task="capacity of trees over 50 questions, 1,000 people",
        work="capacity",
        size="depth",
        values=(2, 4, 6),
        fixed={"questions": 50},
    ),
    Series(
        task="the desk opens a folder of models",
        work="desk",
        size="files",
        values=(50, 200, 800),
        fixed={},
    ),
    Series(
        task="fit of an explainer in groups of 50, 10 numbers",
        work="explainer",
        size="n",
        values=(10_000, 30_000, 100_000),
        fixed={"p": 10, "k": 50},
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Median seconds of processors at each value of a size, and the law that fits them."""

    task: str
    size: str
    values: tuple[int, ...]
    seconds: tuple[float, ...]
    note: str = ""

    @property
    def slope(self) -> float:
        """The exponent of the size, or the logarithm of the factor of each step, by least squares."""
        sizes = np.array(self.values, dtype=np.float64)
        across = sizes if self.size in STEPS else np.log(sizes)
        return float(np.polyfit(across, np.log(self.seconds), 1)[0])

    def law(self) -> str:
        """Return how the time grows, in words."""
        if self.note:
            return f"none: {self.note}"
        if self.size in STEPS:
            return f"{figure(math.exp(self.slope))} times with each"
        return f"{self.size}^{self.slope:.2f}"


COLUMNS = ("grows", "task", "seconds", "law")


def cells(growth: Growth) -> tuple[str, ...]:
    """Return what stands in each column."""
    pairs = zip(growth.values, growth.seconds, strict=False)
    points = ", ".join(f"{value:,}: {figure(seconds)}" for value, seconds in pairs)
    return (growth.size, growth.task, points, growth.law())


def grow(series: Series, python: Path, data: Path, *, runs: int, budget: float, patience: float) -> Growth:
    """Return the median times of a series, each size in a process of its own."""
    seconds: list[float] = []
    note = ""
    for value in series.values:
        settings: dict[str, Any] = {**series.fixed, series.size: value}
        try:
            (done,) = measured(
                (python,),
                (("work_growth", series.work, settings),),
                data,
                first={},
                runs=runs,
                budget=budget,
                patience=patience,
            )
        except PeerFailed as reason:
            note = str(reason)
            break
        seconds.append(statistics.median(run.processor for run in done))
    return Growth(task=series.task, size=series.size, values=series.values, seconds=tuple(seconds), note=note)


def table(found: Sequence[Growth]) -> list[tuple[str, ...]]:
    """Return the rows of the table."""
    return [cells(growth) for growth in found]


def flat(found: Sequence[Growth]) -> list[dict[str, object]]:
    """Return a row for each size, as they are stored."""
    return [
        {"task": growth.task, "size": growth.size, "value": value, "seconds": seconds, "note": growth.note}
        for growth in found
        for value, seconds in zip(growth.values, growth.seconds, strict=False)
    ]


def stored(rows: Sequence[Mapping[str, str]]) -> list[Growth]:
    """Return what rows of a file say, in the order of the series."""
    found = []
    for series in SERIES:
        own = [row for row in rows if (row["task"], row["size"]) == (series.task, series.size)]
        if own:
            seconds = tuple(float(row["seconds"]) for row in own)
            found.append(
                Growth(task=series.task, size=series.size, values=series.values, seconds=seconds, note=own[0]["note"])
            )
    return found
