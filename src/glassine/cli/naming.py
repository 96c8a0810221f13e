"""Messages of the library in the words of the command line: options instead of parameters."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from glassine.errors import GlassineError

__all__ = ["as_options", "in_options", "listed", "nearest"]

MOST_NAMES = 8
"""Names that are listed where none is near."""

ABOUT = r"(?= (?:must|is|are|of|name|names|needs|has) |\[)"
"""What follows a parameter that is also an ordinary word where a message begins with it."""


@contextlib.contextmanager
def in_options(names: Mapping[str, str]) -> Iterator[None]:
    """Tell errors from inside with options in place of the parameters that they name.

    Parameters
    ----------
    names : mapping of str to str
        Option for each parameter, such as ``{"n_shadows": "--shadows"}``.
    """
    try:
        yield
    except GlassineError as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (as_options(error.args[0], names), *error.args[1:])
        raise


def as_options(message: str, names: Mapping[str, str]) -> str:
    """Return a message with options in place of parameters.

    Examples
    --------
    >>> as_options("n_shadows must be at least 4, got 1.", {"n_shadows": "--shadows"})
    '--shadows must be at least 4, got 1.'
    >>> as_options(
    ...     "bins are kept. Use algorithm='penalized', or classes=.", {"algorithm": "--algorithm", "classes": "-c"}
    ... )
    'bins are kept. Use --algorithm penalized, or -c.'
    """
    for name in sorted(names, key=len, reverse=True):
        option, word = names[name], rf"(?<![\w\"'.-]){re.escape(name)}"
        message = re.sub(rf"{word}='([\w-]+)'", rf"{option} \1", message)
        message = re.sub(rf"{word}=(?=[\w(\[\"'-])", f"{option} ", message)
        message = re.sub(rf"{word}=", option, message)
        if re.fullmatch(r"[a-z]+", name):
            message = re.sub(rf"^{name}{ABOUT}", option, message)
            message = re.sub(rf"(?<= needs ){name}(?=[,.])", option, message)
        else:
            message = re.sub(rf"{word}(?!\w)", option, message)
    return message


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a question that names what was probably meant, a space before it; nothing if no name is near.

    Examples
    --------
    >>> nearest("agee", ["age", "income"])
    " Did you mean 'age'?"
    >>> nearest("--domian", ["--domain", "--data"])
    ' Did you mean --domain?'
    >>> nearest("weight", ["age", "income"])
    ''
    """
    by_case = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), by_case, n=1, cutoff=0.6)
    if not found:
        return ""
    meant = by_case[found[0]]
    return f" Did you mean {meant if meant.startswith('--') else repr(meant)}?"


def listed(name: str, known: Iterable[str]) -> str:
    """Return which names there are, a space before it: the one that was probably meant, else the first of them.

    Examples
    --------
    >>> listed("weight", ["age", "income"])
    " There are 'age', 'income'."
    """
    names = list(known)
    more = " and more" if len(names) > MOST_NAMES else ""
    return nearest(name, names) or f" There are {', '.join(map(repr, names[:MOST_NAMES]))}{more}."
