"""Texts of the desk that an organization replaces, by ``.glassine/texts.toml``: in another language, say."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment
from jinja2.ext import Extension
from markupsafe import escape

from glassine.desk.folder import read_own
from glassine.desk.phrases import PHRASES, PLACE, filled
from glassine.errors import DeskError, quoted

NAME = "texts.toml"
OTHERS = ("reply.txt", "record_page.html", "drawing.html")
"""Templates of files that leave the desk: their words stay."""
MARKUP = re.compile(r"(\{%.*?%\}|<(?:\{\{.*?\}\}|\{%.*?%\}|[^<>{]|\{)*>)", re.DOTALL)
VALUE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
SPOKEN = re.compile(r'(\s(?:aria-label|data-said)=")([^"{}]*[a-z][^"{}]*)(")')
"""Attributes that are read aloud, where no value stands in them."""
LITERAL = re.compile(r'"( ?)([^"\\{}]*?)( ?)"')
"""A string of an expression, such as the label of a field."""
IN_WORDS = re.compile(r"[A-Z][a-z]|.* .*[A-Za-z]{2}|.*[A-Za-z]{2}.* ")
"""What such a string is that people read: it has a capital or a space; names of fields and filters have neither."""


def replaced(source: str, say: Callable[[str], str]) -> str:
    """Return a template with each of its texts as ``say`` has it; values in a text are ``{1}``, ``{2}`` and so on.

    Examples
    --------
    >>> replaced("<p>By {{ who }} <b>now</b></p>", {"By {1}": "{1} did", "now": "today"}.__getitem__)
    '<p>{{ who }} did <b>today</b></p>'
    >>> replaced('{{ line("purpose", "Purpose") }}', {"Purpose": "Zweck"}.__getitem__)
    '{{ line("purpose", "Zweck") }}'
    """

    def spoken(match: re.Match[str]) -> str:
        if not IN_WORDS.match(match[0][1:-1]):
            return match[0]
        text = say(match[2]).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{match[1]}{text}{match[3]}"'

    pieces = MARKUP.split(source)
    for i, piece in enumerate(pieces):
        if i % 2:
            pieces[i] = SPOKEN.sub(lambda match: f"{match[1]}{_literal(say(match[2]))}{match[3]}", piece)
            continue
        values = VALUE.findall(piece)
        numbers = iter(range(1, len(values) + 1))
        text = VALUE.sub(lambda _, numbers=numbers: f"{{{next(numbers)}}}", piece)
        bare = text.strip()
        if not re.search(r"[A-Za-z]{2}", PLACE.sub("", bare)):
            pieces[i] = VALUE.sub(lambda match: LITERAL.sub(spoken, match[0]), piece)
            continue
        parts = PLACE.split(say(" ".join(bare.split())))
        parts[::2] = map(_literal, parts[::2])
        parts[1::2] = (LITERAL.sub(spoken, values[int(number) - 1]) for number in parts[1::2])
        start = text.index(bare)
        pieces[i] = f"{text[:start]}{''.join(parts)}{text[start + len(bare) :]}"
    return "".join(pieces)


def _literal(text: str) -> str:
    """Return a text as a template that says it: nothing in it is code."""
    return re.sub(r"[{}]", lambda match: f'{{{{ "{match[0]}" }}}}', str(escape(text)).replace("&#39;", "'"))


def _templates() -> Iterator[str]:
    for path in sorted(files("glassine.desk").joinpath("templates").iterdir(), key=lambda path: path.name):
        if path.name not in OTHERS:
            yield path.name


@cache
def desk_texts() -> tuple[str, ...]:
    """Return the texts of the desk, each once: those of the pages, in their order, then those that no page has."""
    texts: dict[str, None] = {}

    def say(text: str) -> str:
        texts[text] = None
        return text

    for name in _templates():
        replaced(files("glassine.desk").joinpath("templates", name).read_text(encoding="utf-8"), say)
    for table in PHRASES.values():
        texts.update(dict.fromkeys(table.values()))
    return tuple(texts)


class Saying:
    """Says a text of the desk as an organization has it, with values in it.

    Parameters
    ----------
    texts : mapping of str to str
        Texts that are replaced, by the text of the desk.

    Examples
    --------
    >>> Saying({"{1} files wait": "Es warten {1}."})("{1} files wait", 3)
    'Es warten 3.'
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    def __call__(self, text: str, *values: object) -> str:
        """Return a text; one that is not of the desk, such as a policy's name, unchanged."""
        other = self.texts.get(text, text)
        return filled(other, *values) if values else other


def read_texts(folder: Path) -> dict[str, str]:
    """Return the texts that are replaced, by the text of the desk; empty if there is no such file.

    Raises
    ------
    DeskError
        If the file is no TOML, names a text that the desk has not, or a replacement lacks a value of the text.
    """
    path = folder / NAME
    try:
        values = tomllib.loads(read_own(path).decode())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DeskError(
            f"cannot read {path}: {error.strerror if isinstance(error, OSError) else error}.",
            remedy="Correct it, or delete it.",
            path=path,
        ) from None
    for text, other in values.items():
        if text not in desk_texts():
            raise DeskError(
                f"{quoted(text)} in {path} is no text of this desk.",
                remedy="Take one that python -m glassine.desk.texts prints.",
                path=path,
            )
        if not isinstance(other, str) or sorted(PLACE.findall(other)) != sorted(PLACE.findall(text)):
            raise DeskError(
                f"the text for {quoted(text)} in {path} must have the same values in braces.",
                remedy="Correct it.",
                path=path,
            )
    return values


def with_texts(environment: Environment, say: Saying) -> Environment:
    """Return an environment whose pages have other texts; both share their globals and loaders."""
    if not say.texts:
        return environment

    class Texts(Extension):
        """Replaces the texts of a template before it is compiled."""

        def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
            """Return the template with the texts of the organization."""
            return replaced(source, say) if name in set(_templates()) else source

    made = environment.overlay(extensions=[Texts], cache_size=400)
    made.filters = {**environment.filters, "said": say}
    return made


def main() -> None:
    """Print the texts of the desk as a file that replaces none of them."""
    for text in desk_texts():
        sys.stdout.write(f"{json.dumps(text, ensure_ascii=False)} = {json.dumps(text, ensure_ascii=False)}\n")


if __name__ == "__main__":
    main()
