"""What R prints of a tree of partykit, such as ctree, turned into the lines that C4.5 prints."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from glassine.errors import UnsupportedModelError

__all__ = ["as_c45_lines", "is_party_text"]

TITLE = re.compile(r"^[ \t]*Fitted party:[ \t]*\r?$", re.MULTILINE)
END = re.compile(r"Number of (inner|terminal) nodes:|>")
NODE = re.compile(r"((?:\|[ \t]*)*)\[[0-9]{1,9}\] ?(.*)")
LEAF = re.compile(r" \(n = ([0-9]{1,15}), err = ([0-9]{1,3}(?:\.[0-9]{1,9})?)%\)$")
HALF_DIGIT = 5.1e-4
"""By how much a share of errors, which prints with one digit of a percent, may miss the true one."""


def is_party_text(text: str) -> bool:
    """Return whether a text holds the headline of a printed tree of partykit."""
    return TITLE.search(text) is not None


def as_c45_lines(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return numbered lines without the root and the numbers of nodes, and with errors as numbers of records.

    Raises
    ------
    UnsupportedModelError
        If a line is no node, or a leaf predicts a number.
    """
    first = next(i for i, (_, raw) in enumerate(lines) if TITLE.fullmatch(raw))
    out: list[tuple[int, str]] = []
    for number, raw in lines[first + 1 :]:
        if END.match(raw.strip()):
            break
        found = NODE.fullmatch(raw.strip())
        if found is None:
            if raw.strip():
                raise _bad(number, f"{raw.strip()[:60]!r} has no number of a node, such as [2]")
            continue
        bars, content = found[1], found[2]
        if bars:  # below the root there is one bar more than C4.5 prints
            out.append((number, f"{bars.replace('|', '', 1).strip()} {_translated(number, content)}"))
        elif ":" in content:
            out.append((number, _translated(number, content.removeprefix("root"))))
    return out


def _bad(line: int, why: str) -> UnsupportedModelError:
    return UnsupportedModelError(f"line {line} of the printed tree cannot be read: {why}.")


def _translated(number: int, content: str) -> str:
    """Return a line with ``(n = 54, err = 9.3%)`` turned into ``(54/5)`` and its list of values put in braces."""
    found = LEAF.search(content)
    if found is None:
        if re.search(r": .*\(n = [0-9.]+", content):
            raise _bad(number, "its leaf tells no share of errors: trees of numbers and weighted ones are not read")
        return _braced(content)
    total, share = int(found[1]), float(found[2]) / 100
    near = {
        k for k in (math.floor(total * share), math.ceil(total * share)) if abs(k - total * share) <= total * HALF_DIGIT
    }
    # Where the digits leave several numbers of errors, the leaf tells its class alone.
    figures = f"({total}/{near.pop()})" if len(near) == 1 and total * HALF_DIGIT < 0.5 else f"({total}) [{total}]"
    test, _, label = content[: found.start()].rpartition(":")
    return f"{_braced(test)}: {label.strip()} {figures}"


def _braced(test: str) -> str:
    found = re.fullmatch(r"(.*?) in ([^{].*)", test)
    return test if found is None else f"{found[1]} in {{{found[2]}}}"
