"""How figures and names are worded: never more digits than a reader needs, never a character that breaks the page."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import takewhile

from glassine.attacks.outcome import Audience, ShownCount
from glassine.errors import plural as plural

CHECKER_ONLY = "For the checker only: measured on the records, covered by no guarantee."
"""The first line of every text and page all of which was measured on records."""

NOTICES: dict[Audience, str] = {
    "checker": "For the checker. Do not publish it.",
    "public": "For the public. Parts for the checker only are left out.",
}
"""The first line of every other report on findings."""

MARKED = "Parts marked \u201cchecker only\u201d describe the records."
"""What the first line adds where there are such parts."""

# Overrides of the direction of writing, which could reorder the text around a name.
_DIRECTIONS = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
# A condition in three: what stands before the attribute, the attribute, and the comparison with its value.
_CONDITION = re.compile(r"((?:not \()?(?:\S+ < )?)(.+?)( (?:<=|>=|<|>|!=|=|not in|in|is) [^<>=]+)", re.DOTALL)
FEWEST_LETTERS = 2


def clean(text: str) -> str:
    """Return a name with control characters, lone surrogates and direction overrides made visible as U+FFFD."""
    if text.isprintable():  # as nearly all are: none of these characters is
        return text
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") or c in _DIRECTIONS else c for c in text)


def shorten(text: str, width: int) -> str:
    """Return the text cut to at most ``width`` characters, an ellipsis at its end if it was cut."""
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def attribute_of(condition: str) -> str:
    """Return the attribute that a condition is about; empty where it has none."""
    parts = _CONDITION.fullmatch(condition)
    return parts[2] if parts else ""


def shorten_name(name: str, width: int, others: Sequence[str] = ()) -> str:
    """Return a name cut in its middle to at most ``width`` characters: it ends with its last word, if others do not.

    Examples
    --------
    >>> shorten_name("worst concave points", 12, ("worst concave area", "age"))
    'worst…points'
    >>> shorten_name("months_since_payment", 10)
    'mo…payment'
    >>> names = ("mean radius", "worst radius", "mean texture", "worst texture")
    >>> [shorten_name(name, 6, names) for name in names]
    ['mea…us', 'wor…us', 'mea…re', 'wor…re']
    """
    rivals, room = [other for other in others if other != name], width - 1
    if len(name) <= width or room < FEWEST_LETTERS:
        return shorten(name, width)
    alike = max((_common(name, other) for other in rivals), default=0)
    # From the beginning of the word in which the names differ.
    start = max((match.end() for match in re.finditer(r"[\W_]+", name) if match.end() <= alike), default=alike)
    whole = [(0, len(name) - start)] if 0 < len(name) - start <= room else []
    last = len(name) - max((match.end() for match in re.finditer(r"[\W_]+", name)), default=0)
    ending = [(room - last, last)] if 0 < last <= room - 2 else []
    halves = sorted(((room - k, k) for k in range(1, room)), key=lambda cut: abs(cut[0] - cut[1]))
    for before, after in [*ending, *halves, *whole, (room, 0)]:
        head, tail = name[:before], name[len(name) - after :]
        if not any(other.startswith(head) and other.endswith(tail) for other in rivals):
            return f"{head.rstrip()}…{tail.lstrip()}"
    start = start if alike - start < width - 2 else alike
    return f"…{shorten(name[start:], room)}"


def _common(one: str, other: str) -> int:
    """Return the length of the common beginning of two names."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def shorten_condition(text: str, width: int, names: Sequence[str] = ()) -> str:
    """Return a condition cut in its attribute, so that its value stays: ``worst conc… <= 0.1358``."""
    # The attribute is cut where it stays different from other names, see shorten_name.
    parts = _CONDITION.fullmatch(text)
    if len(text) <= width or parts is None:
        return shorten(text, width)
    before, name, after = parts.groups()
    room = width - len(before) - len(after)
    return before + shorten_name(name, room, names) + after if room >= FEWEST_LETTERS else shorten(text, width)


def condition_lines(text: str) -> tuple[str, str]:
    """Return a condition in two: the attribute with what stands before it, and the comparison; empty if it has none."""
    parts = _CONDITION.fullmatch(text)
    return (f"{parts[1]}{parts[2]}", parts[3].strip()) if parts else (text, "")


def number(count: int) -> str:
    """Return a count, or "none"."""
    return f"{count:,}" if count else "none"


def percent(share: float, *, digits: int = 0) -> str:
    """Return a share as a percentage; only an exact 0 or 1 reads as 0% or 100%."""
    if not math.isfinite(share):
        return "not known"
    step = 10.0**-digits
    value = round(share * 100, digits)
    # None and a few are different findings.
    if share > 0 and value <= 0:
        return f"under {step:g}%"
    if share < 1 and value >= 100:
        return f"over {100 - step:g}%"
    return f"{value:.{digits}f}%"


def bits(value: float | None, *, beyond: float | None = None) -> str:
    """Return bits to one decimal, to more where that is needed to distinguish them from the limit ``beyond``."""
    if value is None or not math.isfinite(value):
        return "not known"
    # What rounds to 0 reads as 0.0, never as -0.0.
    value = 0.0 if abs(value) < 0.05 else value
    digits = 1
    while beyond is not None and digits < 6 and (round(value, digits) > beyond) != (value > beyond):
        digits += 1
    return f"{value:,.{digits}f}"


def fine_bits(value: float) -> str:
    """Return bits of less than one record: two decimals, and two digits of what is smaller."""
    return f"{value:.2f}" if abs(value) >= 0.01 or not value else f"{value:.2g}"


def marked(title: str, audience: Audience) -> str:
    """Return a heading of a text, marked where what stands below it is for the checker only."""
    return f"{title} (checker only)" if audience == "checker" else title


def interval(value: float, low: float, high: float) -> str:
    """Return an advantage with its interval to three digits: ``0.044 (0.000 to 0.088)``; ``under 0.001`` for none."""
    # Adding 0 makes a negative zero a plain one.
    ends = [round(end, 3) + 0.0 for end in (value, low, high)]
    return "under 0.001" if not any(ends) else f"{ends[0]:.3f} ({ends[1]:.3f} to {ends[2]:.3f})"


def p_value(value: float) -> str:
    """Return a p-value, which findings round to four digits: one that rounds to 0 is small, and never 0.

    Examples
    --------
    >>> p_value(0.0123), p_value(0.0)
    ('p = 0.012', 'p < 0.0001')
    """
    return f"p = {value:.2g}" if value >= 1e-4 else "p < 0.0001"


def amount(value: float) -> str:
    """Return a quantity to three significant digits."""
    # Three significant digits: as many as a reader compares.
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{round(value, digits):,.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def worlds(value: float) -> str:
    """Return the number of records that ``value`` bits distinguish: ``1,020``, or ``2^64`` from 40 bits on."""
    # It has at most three significant digits, and from 10 on no fraction.
    if value >= 40:
        return f"2^{amount(value)}"
    count = float(f"{2.0 ** max(value, 0.0):.3g}")
    return f"{count:,.0f}" if count >= 10 else amount(round(count, 1))


def candidates(value: float) -> str:
    """Return which share of the possible records ``value`` bits leave: ``1 of every 1,020``."""
    return f"1 of every {worlds(value)}"


def listing(names: Sequence[str], *, most: int, room: int) -> str:
    """Return the first names, cleaned and cut to ``room`` characters each, and how many more there are."""
    listed = ", ".join(shorten(clean(name), room) for name in names[:most])
    more = len(names) - most
    return f"{listed} and {more:,} more" if more > 0 else listed


_COUNTED: ContextVar[str] = ContextVar("counted", default="records")
"""What the page that is being written counts: a noun in some forty sentences, which functions ask for."""


@contextmanager
def counting(counted: str) -> Iterator[None]:
    """Write what is written meanwhile in ``records``, or in ``people`` where persons were stated."""
    token = _COUNTED.set(counted)
    try:
        yield
    finally:
        _COUNTED.reset(token)


def units() -> str:
    """Return what is counted: ``people`` or ``records``."""
    return _COUNTED.get()


def unit() -> str:
    """Return one of them: ``person`` or ``record``."""
    return "person" if units() == "people" else "record"


def none() -> str:
    """Return the pronoun or the words for none of them, such as ``no record``."""
    return "nobody" if units() == "people" else "no record"


ROWS = "as in a spreadsheet, where the header is row 1"
"""How a report counts the rows of a file; findings count them from 0, as programs do."""


def row_name(row: int) -> str:
    """Return a row of the data, counted from 0 without the header, as a spreadsheet numbers it.

    Examples
    --------
    >>> row_name(0)
    'row 2'
    """
    return f"row {row + 2}"


def people(count: ShownCount) -> str:
    """Return a number of people, or of records, which may be rounded or hidden."""
    if not isinstance(count, int):
        return f"{count} {units()}"
    return none() if count == 0 else f"1 {unit()}" if count == 1 else f"{count:,} {units()}"
