"""The judged statements of a page in the docs, written between their marks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from papers.common.results import page_of, read


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    first, *others = ("| " + " | ".join(line) + " |" for line in (header, *cells))
    return "\n".join((first, "|" + "---|" * len(header), *others))


def claims(results: Path) -> str:
    """Return the statements of ``claims.csv`` with verdicts, cases, differences and remarks."""
    rows = [
        [
            row["where"],
            row["claim"],
            f"**{row['verdict']}**",
            row["better / tied / worse"],
            row["comparisons for it"],
            row["difference"],
            ". ".join(part for part in (row["seen"], row["remark"]) if part),
        ]
        for row in read(results / "claims.csv")
    ]
    return markdown(
        ["where", "statement", "verdict", "better / tied / worse", "comparisons for it", "difference", "seen"], rows
    )


def place(text: str, name: str, table: str) -> str:
    """Return the text of a page with a table between the marks of its name."""
    marks = [*re.finditer(rf"(<!--table: {re.escape(name)}-->\n).*?(<!--end-->)", text, re.DOTALL)]
    if len(marks) != 1:
        raise LookupError(f"the page has {len(marks)} places for the table {name!r}, not one.")
    return f"{text[: marks[0].end(1)]}{table}\n{text[marks[0].start(2) :]}"


def fill(text: str, results: Path, more: Mapping[str, str] | None = None) -> str:
    """Return the text of a page with the judged statements of the results, and further tables, between their marks."""
    text = place(text, "claims", claims(results))
    for name, table in (more or {}).items():
        text = place(text, name, table)
    return text


def write_page(folder: Path, more: Mapping[str, str] | None = None) -> None:
    """Write the judged statements of a paper's folder, and further tables by name, into its page."""
    page = page_of(folder)
    page.write_text(fill(page.read_text(), folder / "results", more))


__all__ = ["claims", "fill", "markdown", "place", "write_page"]
