"""A page as HTML: one self-contained file that loads nothing from anywhere."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from glassine.report import wording
from glassine.report.blocks import Block
from glassine.report.section import Page
from glassine.report.terms import TERMS

CODE = re.compile(r"`([^`]+)`")
"""Code in a text."""


@functools.cache
def environment() -> Environment:
    """Return the templates of the pages."""
    environment = Environment(
        loader=PackageLoader("glassine.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["meanings"] = TERMS
    environment.filters["code"] = _code
    environment.filters["code_pieces"] = CODE.findall
    environment.filters["percent"] = wording.percent
    environment.filters["plural"] = wording.plural
    return environment


def as_html(page: Page) -> str:
    """Return a page as HTML, the sections in their order; every text is escaped."""
    return (
        environment()
        .get_template("page.html")
        .render(
            page=page,
            title=page.title,
            described=page.described,
            version=page.version,
            audience=page.opening(),
        )
    )


def blocks_html(blocks: Iterable[Block]) -> str:
    """Return blocks as a piece of HTML, as a page has them."""
    template = environment().from_string("{% from 'blocks.html' import render %}{{ render(blocks) }}")
    return template.render(blocks=tuple(blocks))


def _code(text: str) -> Markup:
    """Return text with everything between backticks set as code."""
    pieces = CODE.split(text)
    return Markup("").join(
        Markup("<code>{0}</code>").format(piece) if i % 2 else Markup.escape(piece) for i, piece in enumerate(pieces)
    )


def script_json(value: object) -> Markup:
    """Return plain values as JSON that can stand in a script element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    # No character is left that HTML could read as more than text.
    return Markup(text)  # noqa: S704
