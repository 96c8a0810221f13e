"""Lists of codes as people write them: ``1..9 | 11..17 | 99``, ``E10..E14``, ``E1*``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

MOST_CODES = 100_000
"""Most values of a list: more are a number, or a mistake."""

SHORTEST_RUN = 4
"""Fewest codes that are written as a run: three are as quickly read one by one."""


def codes_of(text: str) -> list[Any]:
    """Return listed codes, without their labels; ``E10..E14`` stands for all five, ``E1*`` is a prefix."""
    separator = next((mark for mark in "|;," if mark in text), "|")
    codes: list[str] = []
    for part in text.split(separator):
        if part.strip():
            codes += _run(part.partition("=")[0].strip())
            if len(codes) > MOST_CODES:
                raise ValueError(f"a list of values has more than {MOST_CODES:,}. Declare a number, or fewer values.")
    if any("*" in code[:-1] for code in codes):
        raise ValueError("a star must stand behind what codes begin with, such as E1* or E10*..E14*.")
    whole = all(re.fullmatch(r"0|-?[1-9]\d{0,17}", code) for code in codes)
    return [int(code) if whole else {"prefix": code[:-1]} if code.endswith("*") else code for code in codes]


RUN = re.compile(r"(?P<start>.*?)(?P<first>[0-9]+)[.]{2}(?P<again>.*?)(?P<last>[0-9]+)")
"""Two codes that end in digits."""


def _run(text: str) -> list[str]:
    """Return the codes that a part of a list stands for: itself, or all of a run such as ``E10..E14``."""
    bounds = [part.strip() for part in text.split("..")]
    star = "*" if len(bounds) == 2 and all(bound.endswith("*") for bound in bounds) else ""
    ends = RUN.fullmatch("..".join(bound.removesuffix(star) for bound in bounds))
    if ends is None:
        return [text]
    first, last, width = int(ends["first"]), int(ends["last"]), len(ends["first"])
    padded = width > len(str(first)) or len(ends["last"]) > len(str(last))
    if ends["start"] != ends["again"] or first > last or (padded and width != len(ends["last"])):
        raise ValueError(
            f"the run {text!r} must lead up from one code to another that differs in its last digits alone, such as "
            "E10..E14, 1..9 or 001..120."
        )
    if last - first >= MOST_CODES:
        raise ValueError(f"the run {text!r} has more than {MOST_CODES:,} values. Declare a number, or fewer values.")
    return [f"{ends['start']}{number:0{width if padded else 1}}{star}" for number in range(first, last + 1)]


def compact(values: Sequence[Any]) -> str | None:
    """Return values as a text of codes and runs, which reads back as the same values.

    None where it is not shorter, unless there are prefixes, which are written with a star.

    Examples
    --------
    >>> compact(["E10", "E11", "E12", "E13", "E14", "other"]), compact([1, 2, 3, 4, 5, 9]), compact(["a", "b"])
    ('E10..E14 | other', '1..5 | 9', None)
    >>> compact(["E10", {"prefix": "E"}])
    'E10 | E*'
    """
    texts = [f"{value['prefix']}*" if isinstance(value, dict) else str(value) for value in values]
    parts, at = [], 0
    while at < len(texts):
        end = at
        while end + 1 < len(texts) and _follows(texts[end], texts[end + 1]):
            end += 1
        parts += texts[at : end + 1] if end - at < SHORTEST_RUN - 1 else [f"{texts[at]}..{texts[end]}"]
        at = end + 1
    if len(parts) == len(texts) and not any(isinstance(value, dict) for value in values):
        return None
    text = " | ".join(parts)
    try:
        again = codes_of(text)
    except ValueError:
        return None
    same = again == list(values) and list(map(type, again)) == list(map(type, values))
    return text if same else None


def _follows(code: str, after: str) -> bool:
    """Return whether one code stands behind another in a run."""
    star = "*" if code.endswith("*") else ""
    code = code.removesuffix(star)
    stem = code.rstrip("0123456789")
    digits = code[len(stem) :]
    if not digits or not digits.isascii():
        return False
    padded = len(digits) > len(str(int(digits)))
    return after == f"{stem}{int(digits) + 1:0{len(digits) if padded else 1}}{star}"
