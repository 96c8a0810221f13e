"""Parts of pages that are made from the code.

A page has a part between the lines ``<!-- generated: NAME -->`` and ``<!-- end of NAME -->``; :data:`PARTS` has the
names. ``make generated`` writes the parts anew, and a test compares them. A notebook, ``<!-- generated: notebook NAME
-->``, is run when the documentation is built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from docs import notebook_pages
from glassine.auditing.schema import schema
from glassine.cli.entry import application
from glassine.formats import formats
from glassine.formats.format import Format
from glassine.report.terms import TERMS

__all__ = ["PARTS", "filled", "renewed", "table", "written"]

REFERENCE = Path(__file__).parent / "reference"
NOTEBOOK = re.compile(r"^<!-- generated: notebook (.*?) -->$", flags=re.MULTILINE)
PART = re.compile(r"^<!-- generated: (\w+) -->\n.*?^<!-- end of \1 -->\n", flags=re.DOTALL | re.MULTILINE)


def filled(text: str) -> str:
    """Return a page with its notebook run."""
    return NOTEBOOK.sub(lambda mark: notebook_pages.page(mark[1]), text)


def renewed(text: str) -> str:
    """Return a page with its parts as the code makes them now."""
    return PART.sub(lambda mark: _marked(mark[1], PARTS[mark[1]]()), text)


def written(text: str) -> str:
    """Return a page without its parts: what people have written."""
    return PART.sub("", text)


def _marked(name: str, part: str) -> str:
    return f"<!-- generated: {name} -->\n\n{part.strip()}\n\n<!-- end of {name} -->\n"


def table() -> str:
    """Return the rows of all formats that are read, by name."""
    rows = ["| input | with | holds | leaves out |", "|---|---|---|---|"]
    rows += [_row(one) for one in sorted(formats(), key=lambda one: one.reads.casefold()) if one.reads]
    return "\n".join(rows) + "\n"


def _row(one: Format) -> str:
    entries = [name for kind, name in (("object", "`as_model`"),) if kind in one.contents]
    entries += ["`load_model`"] if set(one.contents) - {"object"} else []
    own = one.leaves_out_of_additive
    left_out = one.leaves_out if own is None else f"{one.leaves_out}; of an additive model {own}"
    return f"| {one.reads} | {', '.join(entries)} | {one.reveals} | {left_out} |"


def _commands(command: Any, words: str, parent: Any = None) -> Iterator[tuple[str, str]]:
    """Yield each command, and what it prints with ``--help``."""
    settings = {**command.context_settings, "terminal_width": 100}
    context = command.context_class(command, info_name=words.split()[-1], parent=parent, **settings)
    yield words, command.get_help(context)
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(below, f"{words} {name}", context)


def _help() -> str:
    commands = _commands(typer.main.get_command(application()), "glassine")
    return "\n".join(f"## {words}\n\n```text\n{text.strip()}\n```\n" for words, text in commands)


def _findings() -> str:
    fields = schema()["properties"]
    rows = ["| field | holds |", "|---|---|"]
    rows += [f"| `{name}` | {_holds(one)} |" for name, one in fields.items()]
    measured = ", ".join(f"`{name}`" for name in fields["measured"]["properties"])
    return "\n".join(rows) + f"\n\nMeasurements: {measured}.\n"


def _holds(one: dict[str, Any]) -> str:
    """Return the type of a field in words; the fields of an object by their names."""
    if "const" in one:
        return f"`{one['const']}`"
    if "enum" in one:
        return ", ".join(f"`{value}`" for value in one["enum"])
    if "anyOf" in one:
        return " or ".join(dict.fromkeys(map(_holds, one["anyOf"])))
    if one.get("type") == "array" and "items" in one:
        return f"list of: {_holds(one['items'])}"
    if one.get("properties"):
        return ", ".join(f"`{name}`" for name in one["properties"])
    return {"null": "null"}.get(str(one.get("type")), str(one.get("type", "findings")))


def _terms() -> str:
    entries = sorted(TERMS.values(), key=lambda term: term.name.casefold())
    return "```{glossary}\n" + "\n\n".join(f"{term.name}\n  {term.meaning}" for term in entries) + "\n```\n"


PARTS: dict[str, Callable[[], str]] = {"commands": _help, "findings": _findings, "formats": table, "terms": _terms}
"""What makes each part."""


if __name__ == "__main__":
    for page in sorted(REFERENCE.glob("*.md")):
        page.write_text(renewed(page.read_text()))
