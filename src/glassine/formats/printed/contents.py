"""What printed trees and rules hold beside the model: lines around them, comments, and figures that no reader takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from glassine.domain import Domain
from glassine.formats.contents import OtherContent, beside_lines

__all__ = ["Needed", "beside_all", "only", "usual", "without"]

Needed = Callable[[str, Domain | None], Callable[[int, str], str | None]]


def only(needed: Needed) -> Callable[[str, Domain | None, int | None], Iterator[OtherContent]]:
    """Return how a text is accounted for, given what of each line the model needs.

    Parameters
    ----------
    needed : callable
        Given the text and the domain, returns what :func:`~glassine.formats.contents.beside_lines` asks line by line.
    """

    def beside(text: str, domain: Domain | None, tree: int | None) -> Iterator[OtherContent]:
        return beside_lines(text, needed(text, domain))

    return beside


def beside_all(text: str, domain: Domain | None, tree: int | None) -> Iterator[OtherContent]:
    """Yield what a text holds whose reader takes every line that is not blank."""
    return beside_lines(text, lambda number, line: line)


def without(line: str, *parts: str | None) -> str:
    """Return a line without some of its parts, each of which stands in it.

    Examples
    --------
    >>> without("a (b) [c]", "[c]", None)
    'a (b) '
    """
    for part in parts:
        if part:
            line = line.replace(part, "", 1)
    return line


def usual(*patterns: str) -> re.Pattern[str]:
    """Return a pattern of lines that printers of trees write around them, and that can hold nothing else."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
