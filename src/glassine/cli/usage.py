"""What the parser refuses, in one line like every other error: the rule, the value, the remedy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

from glassine.cli.naming import nearest

__all__ = ["ParserError", "refusal"]

ParserError: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""Base class of what the parser raises; the versions of typer keep it in different modules."""

RULES = (
    (r"'(?P<value>.*)' is not one of (?P<rule>.*?)\.?", "one of {rule}"),
    (r".*not a valid (?:integer|int).*|.*valid integer.*", "a whole number"),
    (r".*not a valid float.*|.*valid number.*", "a number"),
    (r".*not a valid boolean.*|.*valid boolean.*", "true or false"),
)
"""What the parser says of a value, and the rule in our words."""


def refusal(error: Any, given: Sequence[str]) -> str:
    """Return one line for what the parser refuses.

    Parameters
    ----------
    error : ParserError
        What the parser raised.
    given : sequence of str
        The words of the command line.
    """
    context = getattr(error, "ctx", None)
    path = "glassine" if context is None else context.command_path
    kind, said = type(error).__name__, path.removeprefix("glassine ")
    if kind == "NoSuchOption":
        told = _option(error.option_name, context, said)
    elif kind == "MissingParameter":
        told = f"{said} needs {_called(error.param)}{_choices(error)}."
    elif kind == "BadParameter" and error.param is not None:
        told = _value(error, given)
    else:
        told = _other(error.format_message(), context, path)
    return f"{told} See {path} --help."


def _option(option: str, context: Any, path: str) -> str:
    known = [name for param in context.command.params for name in (*param.opts, *param.secondary_opts)]
    return f"{path} has no option {option}.{nearest(option, [name for name in known if name.startswith('--')])}"


def _called(param: Any) -> str:
    """Return the name of an option, or the word that stands for an argument."""
    if param.param_type_name == "option":
        return str(max(param.opts, key=len))
    return str(param.metavar or param.name).strip("[]{}")


def _choices(error: Any) -> str:
    words = re.findall(r"[\w-]+", error.format_message().partition("Choose from:")[2])
    return f", one of {', '.join(words)}" if words else ""


def _value(error: Any, given: Sequence[str]) -> str:
    name, message = _called(error.param), str(error.message).removeprefix("Value error, ")
    value = _given(error.param, given)
    for pattern, rule in RULES:
        found = re.fullmatch(pattern, message, flags=re.DOTALL)
        if found is None:
            continue
        parts = found.groupdict()
        words = re.findall(r"'([^']*)'", parts.get("rule") or "")
        value = parts.get("value", value)
        got = "" if value is None else f", got {value!r}"
        return f"{name} must be {rule.format(rule=', '.join(words))}{got}.{nearest(value or '', words)}"
    return f"{name}: {message.rstrip('.')}."


def _given(param: Any, given: Sequence[str]) -> str | None:
    """Return the word that was passed for an option, if it can be identified."""
    for option in param.opts if param.param_type_name == "option" else ():
        for word, following in zip(given, [*given[1:], None], strict=True):
            if word == option:
                return following
            if word.startswith(f"{option}="):
                return word[len(option) + 1 :]
    return None


def _other(message: str, context: Any, path: str) -> str:
    said = path.removeprefix("glassine ")
    if found := re.match(r"No such command '(.*?)'\.", message):
        return (
            f"there is no command {path} {found[1]}.{nearest(found[1], list(getattr(context.command, 'commands', ())))}"
        )
    if found := re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", message, flags=re.DOTALL):
        return f"{said} takes no further argument, got {found[1]!r}."
    if found := re.match(r"Option '(.*)' requires an argument", message):
        return f"{found[1]} needs a value."
    if found := re.match(r"Option '(.*)' does not take a value", message):
        return f"{found[1]} takes no value."
    if message.startswith("Missing command"):
        return f"{said} needs a command."
    return message if message.endswith((".", "?")) else f"{message}."
