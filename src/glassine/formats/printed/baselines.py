"""Baseline hazards below the summary of a Cox regression, as R and statsmodels print them."""

from __future__ import annotations

import math
import re

from glassine.errors import UnsupportedModelError
from glassine.formats.conditions import float_of
from glassine.formats.printed.rule_conditions import NUMBER
from glassine.formats.regressions import half_step

HAZARDS = re.compile(r'^ *(?:"",)?"?hazard"?[ ,]+"?time"?(?P<strata>[ ,]+"?strata"?)? *\r?$', re.MULTILINE)
"""The head of what R's ``basehaz()`` returns."""
HAZARD = re.compile(
    rf'"?[0-9]{{1,9}}"?[ ,]+(?P<hazard>{NUMBER})[ ,]+(?P<time>{NUMBER})(?:[ ,]+"?(?P<of>\S.{{0,200}}))?'
)
CURVE = re.compile(r"^ *time +n\.risk +n\.event +(?:censored +)?survival +std\.err\b.*\r?$", re.MULTILINE)
"""The head of what R prints of ``summary(survfit(model))``."""
STEP = re.compile(rf" *(?P<time>{NUMBER}) +[0-9]+ +[0-9]+ +(?:[0-9]+ +)?(?P<share>{NUMBER})(?: +(?:{NUMBER}|NaN|NA))*")
ARRAYS = re.compile(r"^[ \t]*\[[\[(](?!\[)", re.MULTILINE)
"""The start of what statsmodels has as ``baseline_cumulative_hazard``: times, hazards, shares, of each stratum."""
ARRAY = re.compile(r"array\(\[(?P<values>[^\[\]()]*)\][^()\[\]]*\)")
MOST_ROWS = 100_000

Baseline = tuple[tuple[float, float], ...]
"""Times and cumulative hazards, where the hazard rises."""


def is_baseline(text: str) -> bool:
    """Return whether a text is a baseline hazard alone, without the regression that it is of."""
    start = text[:5_000].lstrip()
    first = next((line for line in start.splitlines() if line.strip()), "")
    alone = (
        HAZARDS.fullmatch(first) is not None or CURVE.fullmatch(first) is not None or ARRAYS.match(first) is not None
    )
    return alone or re.match(r"Call: survfit\(", start) is not None


def baseline_below(text: str, again: str) -> tuple[Baseline, bool]:
    r"""Return the baseline hazard that is printed below a summary, and whether it is of several strata.

    There are no rows where none is printed. A share of survivors S has the cumulative hazard -log S.

    Raises
    ------
    UnsupportedModelError
        If it is cut off; ``again`` says what to give.

    Examples
    --------
    >>> baseline_below("    hazard time\n1 0.5 2\n2 0.5 3\n3 1.0 4\n", "Print it again.")
    (((2.0, 0.5), (4.0, 1.0)), False)
    """
    parts: list[list[tuple[float, float]]] = []
    for head, row in ((HAZARDS, HAZARD), (CURVE, STEP)):
        for heading in head.finditer(text):
            parts += _rows(text[heading.end() :], row, again)
    if ARRAYS.search(text) is not None:
        parts += _arrays(text, again)
    if sum(map(len, parts)) > MOST_ROWS:
        raise UnsupportedModelError(f"the baseline hazard has more than {MOST_ROWS:,} rows.", remedy=again)
    return tuple(row for part in parts for row in _rising(part)), len(parts) > 1


def _rows(text: str, pattern: re.Pattern[str], again: str) -> list[list[tuple[float, float]]]:
    """Return the rows below a head, of each stratum."""
    strata: dict[str, list[tuple[float, float]]] = {}
    ended = False
    for line in text.lstrip("\r\n").splitlines(keepends=True):
        row = pattern.fullmatch(line.strip())
        if ended and row is not None:
            raise UnsupportedModelError("the baseline hazard has a gap between its rows.", remedy=again)
        if row is None and not line.strip() and strata:
            ended = True
            continue
        if row is None:
            if re.match(r"[^A-Za-z]*\[ *reached", line) is not None:
                raise UnsupportedModelError("rows of the baseline hazard are left out.", remedy=again)
            break
        if not line.endswith("\n"):
            raise UnsupportedModelError("the last row of the baseline hazard is unfinished.", remedy=again)
        named = row.groupdict()
        hazard = float_of(named["hazard"]) if "hazard" in named else _hazard(named["share"])
        strata.setdefault(named.get("of") or "", []).append((float_of(named["time"]), hazard))
    if not strata:
        raise UnsupportedModelError("the baseline hazard has a head and no rows.", remedy=again)
    return list(strata.values())


def _hazard(share: str) -> float:
    """Return the cumulative hazard of a printed share of survivors; of one that is printed as 0, by its last digit."""
    return max(0.0, -math.log(max(float_of(share), half_step(share))))


def _arrays(text: str, again: str) -> list[list[tuple[float, float]]]:
    """Return the rows of what Python prints: times, hazards and shares of each stratum."""
    values = [array["values"].replace(",", " ").split() for array in ARRAY.finditer(text)]
    whole = len(values) == text.count("array(") > 0 and len(values) % 3 == 0
    if not whole or any("..." in part for part in values) or any(map(_unlike, values[::3], values[1::3])):
        raise UnsupportedModelError("the baseline hazard is cut off.", remedy=again)
    pairs = zip(values[::3], values[1::3], strict=True)
    return [[(float_of(time), float_of(hazard)) for time, hazard in zip(*pair, strict=True)] for pair in pairs]


def _unlike(times: list[str], hazards: list[str]) -> bool:
    return len(times) != len(hazards)


def _rising(rows: list[tuple[float, float]]) -> Baseline:
    """Return the rows at whose times the hazard rises: at others there is no event."""
    out: list[tuple[float, float]] = []
    for time, hazard in rows:
        if not out or hazard > out[-1][1]:
            out.append((time, hazard))
    return tuple(out)
