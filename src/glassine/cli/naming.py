"""Messages of the library in the words of the command line: options instead of parameters."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping

from glassine.errors import GlassineError

__all__ = ["as_options", "in_options"]

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
