"""Writes the table of formats into docs/formats.md, from the formats themselves: ``python docs/formats_table.py``."""

from __future__ import annotations

from pathlib import Path

from glassine.formats import formats
from glassine.formats.registry import Format

__all__ = ["PAGE", "page_with", "table"]

PAGE = Path(__file__).parent / "formats.md"
START, END = "<!-- formats: made by docs/formats_table.py -->\n", "<!-- end of the formats -->\n"


def table() -> str:
    """Return the rows of all formats that are read, by name."""
    rows = ["| input | with | what it tells | what it leaves out |", "|---|---|---|---|"]
    rows += [_row(one) for one in sorted(formats(), key=lambda one: one.reads.casefold()) if one.reads]
    return "\n".join(rows) + "\n"


def _row(one: Format) -> str:
    entries = [name for kind, name in (("object", "`as_model`"),) if kind in one.contents]
    entries += ["`load_model`"] if set(one.contents) - {"object"} else []
    return f"| {one.reads} | {', '.join(entries)} | {one.tells} | {one.leaves_out} |"


def page_with(text: str) -> str:
    """Return a page with the table between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with(PAGE.read_text()))
