"""Templates of the desk and what they say with: every text is escaped, names are shown without control characters."""

from __future__ import annotations

import functools
import re
import unicodedata

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from glassine import __version__
from glassine.desk.phrases import PHRASES
from glassine.desk.releasing import LIMITS
from glassine.desk.stated import STATED
from glassine.desk.texts import Saying

LONG_NAME = 20
"""Characters of a name that may not fit into a line."""
DIRECTIONS = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
KEPT = "\n\t"


def clean(text: object) -> str:
    """Return a text with control characters and direction overrides made visible; line breaks and tabs are kept."""
    # As glassine.report.wording.clean, which brings readers of records into the process.
    return "".join(
        "\ufffd" if (unicodedata.category(c) in ("Cc", "Cs") and c not in KEPT) or c in DIRECTIONS else c
        for c in str(text)
    )


def _code(text: str) -> Markup:
    pieces = re.split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{0}</code>").format(piece) if i % 2 else Markup.escape(piece) for i, piece in enumerate(pieces)
    )


def broken(name: str) -> Markup:
    """Return the name of a file, which goes on in the next line behind a dot, a dash or an underscore if it is long."""
    if len(name) <= LONG_NAME:
        return Markup.escape(clean_name(name))
    return Markup("<wbr>").join(map(clean_name, re.split(r"(?<=[._-])(?=\w)", name)))


def clean_name(name: str) -> str:
    """Return the name of a file with line breaks, tabs and what :func:`clean` replaces made visible."""
    return re.sub(r"[\n\t]", "\ufffd", clean(name))


def ordinal(number: int) -> str:
    """Return a number as 1st, 2nd, 3rd, 4th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0, "th")
    return f"{number}{ending}"


@functools.cache
def environment() -> Environment:
    """Return the templates of the desk; blocks that reports share are the report's."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader("glassine.desk"), PackageLoader("glassine.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "clean": clean,
        "broken": broken,
        "code": _code,
        "when": _when,
        "ordinal": ordinal,
        "size": _size,
        "said": Saying({}),
    }
    made.globals |= {
        "decisions": PHRASES["decisions"],
        "details": PHRASES["details"],
        "happened": PHRASES["events"],
        "fields": PHRASES["sign_off"],
        "phases": PHRASES["phases"],
        "roles": PHRASES["roles"],
        "statuses": PHRASES["statuses"],
        "stated": STATED,
        "version": __version__,
        "limits": LIMITS,
    }
    return made


def _when(at: str) -> str:
    """Return a time as people read it: the day, the minute and the zone."""
    return f"{at[:10]} {at[11:16]} UTC"


def _size(n: int) -> str:
    return f"{n:,} bytes" if n < 10_000 else f"{n / 1000:,.0f} kB" if n < 10_000_000 else f"{n / 1e6:,.0f} MB"
