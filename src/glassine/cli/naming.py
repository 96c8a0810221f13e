"""Messages of the library in the words of the command line: options instead of parameters."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from glassine.errors import GlassineError

if TYPE_CHECKING:
    from glassine.auditing.criterion import Remedy
    from glassine.auditing.findings import Findings

__all__ = ["as_command", "as_options", "in_commands", "in_options", "listed", "nearest"]

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


FOR_THE_USER = {
    "smallest_leaf": " N",
    "max_depth": " N",
    "epsilon": " NUMBER",
    "target": " COLUMN",
    "sensitive": " COLUMN",
}
"""What stands after an option whose value is for the user to choose; a file otherwise."""


COMMANDS = {"disclose": "audit --only disclosure", "explain": "explain make"}
"""Words of the command of a step, where they are not its own name."""


def as_command(remedy: Remedy) -> Remedy:
    """Return a remedy with its step as a command or an option.

    Examples
    --------
    >>> from glassine.auditing.criterion import remedy
    >>> as_command(remedy("Merge small leaves: {step}.", "scrub", smallest_leaf=10)).text
    'Merge small leaves: `glassine scrub --smallest-leaf 10`.'
    >>> as_command(remedy("Pass the training records: {step}.", "audit", data=None)).text
    'Pass the training records: `--data FILE`.'
    """
    if not remedy.action:
        return remedy
    words, options = ["glassine", COMMANDS.get(remedy.action, remedy.action)], []
    for name, value in remedy.parameters.items():
        if (remedy.action, name) == ("fit", "model"):
            words.append(str(value))
            continue
        ending = FOR_THE_USER.get(name, " FILE") if value is None else "" if value is True else f" {value}"
        options.append(f"--{name.replace('_', '-')}{ending}")
    if remedy.action == "audit":
        step = ", ".join(f"`{option}`" for option in options)
        step += ", drafted with `glassine domain infer`" if "domain" in remedy.parameters else ""
    else:
        step = f"`{' '.join([*words, *options])}`"
    return replace(remedy, step=step, text=remedy.text.replace(remedy.step, step))


def in_commands(found: Findings) -> Findings:
    """Return findings whose advice names commands and options."""
    holder = None if found.holder is None else in_commands(found.holder)
    return replace(found, advice=tuple(as_command(remedy) for remedy in found.advice), holder=holder)


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
