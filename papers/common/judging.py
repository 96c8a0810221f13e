"""Statements of a paper judged by stored results: a verdict each, with its cases and an interval over splits.

A judge turns results into comparisons, whose differences are positive where the statement is right. The verdict follows
from the comparisons and the rule of the statement alone, so that ``evidence.csv`` is enough to derive it again. A rule
says how much the statement claims:

``every``
    It names no exception. A case beyond chance refutes it; without one, every mean must exceed zero, and so must every
    case, also within chance.
``at least``
    It claims no loss in any case. As ``every``, but a mean of zero is enough.
``mean``
    It claims a tendency: the mean must exceed zero in each comparison, and refutes where all lie below zero.
``same figure``
    It prints a figure that depends on what the paper does not print. Within the paper's own precision it is confirmed,
    outside it is not supported.
``derived``
    It prints a figure that follows from what the paper prints. Outside the paper's precision it is refuted.
``none``
    Nothing measured could contradict it: it holds by construction, or its subject is not what was run here.

A statement that only printed figures bear out is *confirmed in print*: nothing that was run here says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import TypeVar

from scipy.stats import t as student

from papers.common.results import Row, read, write

CONFIRMED, REFUTED, UNSUPPORTED, INCOMPARABLE = "confirmed", "refuted", "not supported here", "not comparable"
IN_PRINT = "confirmed in print"
VERDICTS = (CONFIRMED, IN_PRINT, REFUTED, UNSUPPORTED, INCOMPARABLE)
PRINTED = "in print: "
"""How the name of a comparison of printed figures with printed figures starts."""

EVERY, AT_LEAST, MEAN, FIGURE, DERIVED, NONE = "every", "at least", "mean", "same figure", "derived", "none"

LEVEL = 0.95
TINY = 1e-6
"""Differences of stored figures below this are rounding: files keep six or seven digits."""

Evidence = TypeVar("Evidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What one comparison shows; differences are positive where the statement is right.

    Attributes
    ----------
    name : str
        What is compared.
    better, tied, worse : int
        Cases for the statement, undecided, and against it.
    against : int
        Cases against it that chance does not explain among as many cases.
    mean, low, high : float
        Mean difference and its 95 % interval over splits; without splits the least and the largest case, ties as zero.
    splits : int
        Independent splits, 1 where one dataset was measured once.
    below : int
        Undecided cases whose mean lies against it.
    """

    name: str
    better: int
    tied: int
    worse: int
    against: int
    mean: float
    low: float
    high: float
    splits: int
    below: int = 0

    @property
    def cases(self) -> int:
        """Return the number of cases."""
        return self.better + self.tied + self.worse


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A rule, the comparisons that it is applied to, and what was seen."""

    rule: str
    seen: str
    comparisons: tuple[Comparison, ...] = ()


def clustered(name: str, splits: Mapping[str, Sequence[float]], tie: float = TINY) -> Comparison:
    """Compare exact figures of several splits.

    Levels within a split share its records, so that the interval is that of the mean of the splits' means.
    """
    groups = [list(values) for values in splits.values() if values]
    values = [value for group in groups for value in group]
    if not values:
        return Comparison(name=name, better=0, tied=0, worse=0, against=0, mean=0.0, low=0.0, high=0.0, splits=0)
    worse = sum(value < -tie for value in values)
    better = sum(value > tie for value in values)
    means = [fmean(group) for group in groups]
    mean = fmean(means)
    if len(means) > 1:
        half = float(student.ppf((1 + LEVEL) / 2, len(means) - 1)) * stdev(means) / math.sqrt(len(means))
        low, high = mean - half, mean + half
    else:
        cases = [value if abs(value) > tie else 0.0 for value in values]
        low, high = min(cases), max(cases)
    return Comparison(
        name=name,
        better=better,
        tied=len(values) - better - worse,
        worse=worse,
        against=worse,
        mean=mean,
        low=low,
        high=high,
        splits=len(means),
    )


def exact(name: str, values: Sequence[float], tie: float = TINY) -> Comparison:
    """Compare figures of one dataset, measured once: cases, and no interval."""
    return clustered(name, {"once": values}, tie)


def estimated(name: str, cases: Sequence[tuple[float, float]], splits: int) -> Comparison:
    """Compare means over splits, each a difference with its standard error.

    The cases share their splits. The error of their mean is therefore taken as the mean of their errors, which no
    dependence exceeds. A case against the statement is beyond chance at 5 % over all cases. Errors of few splits are
    uncertain themselves: quantiles are Student's, of the fewest splits behind a mean.
    """
    each, all_cases = (float(student.ppf(1 - (1 - LEVEL) / (2 * among), splits - 1)) for among in (1, len(cases)))
    better = sum(value > each * error for value, error in cases)
    worse = sum(value < -each * error for value, error in cases)
    mean, half = fmean(value for value, _ in cases), each * fmean(error for _, error in cases)
    return Comparison(
        name=name,
        better=better,
        tied=len(cases) - better - worse,
        worse=worse,
        against=sum(value < -all_cases * error for value, error in cases),
        mean=mean,
        low=mean - half,
        high=mean + half,
        splits=splits,
        below=sum(-each * error <= value < -TINY for value, error in cases),
    )


def within(name: str, figures: Sequence[tuple[float, float, float]]) -> Comparison:
    """Compare figures with bands of the paper's own: each a figure and the ends of its band."""
    return exact(name, [min(figure - low, high - figure) + 2 * TINY for figure, low, high in figures])


def verdict(rule: str, comparisons: Sequence[Comparison]) -> str:
    """Return the verdict that follows from comparisons."""
    found = _followed(rule, comparisons)
    printed = bool(comparisons) and all(each.name.startswith(PRINTED) for each in comparisons)
    return IN_PRINT if found == CONFIRMED and printed else found


def _followed(rule: str, comparisons: Sequence[Comparison]) -> str:
    if rule == NONE:
        return INCOMPARABLE
    if not comparisons or min(each.cases for each in comparisons) == 0:
        return UNSUPPORTED
    worse = sum(each.worse for each in comparisons)
    if rule in (FIGURE, DERIVED):
        return CONFIRMED if not worse else REFUTED if rule == DERIVED else UNSUPPORTED
    lowest, highest = min(each.low for each in comparisons), max(each.high for each in comparisons)
    if rule == MEAN:
        return CONFIRMED if lowest > 0 else REFUTED if highest < 0 else UNSUPPORTED
    if rule not in (EVERY, AT_LEAST):
        raise ValueError(f"no rule is named {rule!r}. Rules: {EVERY}, {AT_LEAST}, {MEAN}, {FIGURE}, {DERIVED}, {NONE}.")
    if sum(each.against for each in comparisons) or min(each.high for each in comparisons) < 0:
        return REFUTED
    if worse or any(each.below for each in comparisons):
        return UNSUPPORTED
    return CONFIRMED if lowest > 0 or (rule == AT_LEAST and lowest >= -TINY) else UNSUPPORTED


def _below(judgement: Judgement) -> int:
    return sum(each.below for each in judgement.comparisons)


def _span(values: Sequence[float]) -> str:
    low, high = (f"{value + 0.0:+.3g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def cases_of(comparisons: Sequence[Comparison]) -> str:
    """Return better, tied and worse, over all comparisons, and how many of the tied lie below in mean."""
    if not comparisons:
        return ""
    better, tied, worse, below = (
        sum(getattr(each, name) for each in comparisons) for name in ("better", "tied", "worse", "below")
    )
    return f"{better:,} / {tied:,}{f'({below:,})' if below else ''} / {worse:,}"


def supported(comparisons: Sequence[Comparison]) -> str:
    """Return how many comparisons have their whole interval on the side of the statement."""
    return f"{sum(each.low > 0 for each in comparisons)} of {len(comparisons)}" if comparisons else ""


def interval_of(comparisons: Sequence[Comparison]) -> str:
    """Return the mean differences, and the ends of their intervals over splits."""
    if not comparisons:
        return ""
    means = _span([each.mean for each in comparisons])
    if max(each.splits for each in comparisons) < 2:
        return f"{means} (no splits)"
    low, high = min(each.low for each in comparisons), max(each.high for each in comparisons)
    return f"{means} [{low:+.2g}, {high:+.2g}]"


def write_judged(
    statements: Path, judges: Sequence[Callable[[Evidence], Judgement]], found: Evidence, results: Path
) -> list[Row]:
    """Judge the statements of a file, each by the judge that it names; write ``claims.csv`` and ``evidence.csv``."""
    named = {judge.__name__: judge for judge in judges}
    stated = read(statements)
    judged = [named[statement["judge"]](found) for statement in stated]
    # Exact cases are never tied and below: without estimates the column would be empty.
    names = [name for name in Comparison.__slots__ if name != "below" or any(map(_below, judged))]
    evidence = [
        {"judge": statement["judge"], "rule": judgement.rule} | {name: getattr(each, name) for name in names}
        for statement, judgement in zip(stated, judged, strict=True)
        for each in judgement.comparisons
    ]
    write(results / "evidence.csv", evidence)
    claims: list[Row] = []
    for statement, judgement in zip(stated, judged, strict=True):
        # As stored: whoever reads the file derives the same verdict and the same text.
        comparisons = compared(results, statement["judge"])
        bands = judgement.rule in (FIGURE, DERIVED)
        claims.append(
            {
                "where": statement["where"],
                "claim": statement["claim"],
                "judge": statement["judge"],
                "rule": judgement.rule,
                "verdict": verdict(judgement.rule, comparisons),
                "better / tied / worse": cases_of(comparisons),
                "comparisons for it": "" if bands else supported(comparisons),
                "difference": "" if bands else interval_of(comparisons),
                "seen": judgement.seen,
                "remark": statement["remark"],
            }
        )
    write(results / "claims.csv", claims)
    return claims


def compared(results: Path, judge: str) -> tuple[Comparison, ...]:
    """Return the comparisons of a statement, as they are stored."""
    return tuple(
        Comparison(
            name=row["name"],
            better=int(row["better"]),
            tied=int(row["tied"]),
            worse=int(row["worse"]),
            against=int(row["against"]),
            mean=float(row["mean"]),
            low=float(row["low"]),
            high=float(row["high"]),
            splits=int(row["splits"]),
            below=int(row.get("below", 0)),
        )
        for row in read(results / "evidence.csv")
        if row["judge"] == judge
    )


__all__ = [
    "AT_LEAST",
    "CONFIRMED",
    "DERIVED",
    "EVERY",
    "FIGURE",
    "INCOMPARABLE",
    "IN_PRINT",
    "LEVEL",
    "MEAN",
    "NONE",
    "PRINTED",
    "REFUTED",
    "TINY",
    "UNSUPPORTED",
    "VERDICTS",
    "Comparison",
    "Judgement",
    "cases_of",
    "clustered",
    "compared",
    "estimated",
    "exact",
    "interval_of",
    "supported",
    "verdict",
    "within",
    "write_judged",
]
