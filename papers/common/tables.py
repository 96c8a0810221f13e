"""The tables of a page in the docs, written between their marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from papers.common.results import read

Tables = Mapping[str, Callable[[Path], str]]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def digits(value: str, places: int = 3) -> str:
    """Return a number with some decimals and separators, or nothing; never a negative zero."""
    return f"{round(float(value), places) + 0.0:,.{places}f}" if value else ""


def whole(value: str) -> str:
    """Return a number without decimals, with separators, or nothing."""
    return f"{float(value):,.0f}" if value else ""


def percent(value: str, places: int = 1) -> str:
    """Return a share in per cent, or nothing."""
    return f"{100 * float(value) + 0.0:.{places}f} %" if value else ""


def scientific(value: str) -> str:
    """Return a number with two significant digits, or nothing."""
    return f"{float(value):.2g}" if value else ""


def claims(results: Path) -> str:
    """Return the statements of ``claims.csv`` with verdicts, cases, differences and remarks."""
    rows = [
        [row["where"], row["claim"], f"**{row['verdict']}**", row["better / tied / worse"], row["comparisons for it"],
         row["difference"],
         ". ".join(part for part in (row["seen"], row["remark"]) if part)]
        for row in read(results / "claims.csv")
    ]  # fmt: skip
    return markdown(["where", "statement", "verdict", "better / tied / worse", "comparisons for it", "difference", "seen"], rows)


def fill(text: str, tables: Tables, results: Path) -> str:
    """Return the text of a page with the tables of the results between their marks."""
    for name, table in tables.items():
        marks = [*re.finditer(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", text, re.DOTALL)]
        if len(marks) != 1:
            raise LookupError(f"the page has no place, or several, for the table {name}.")
        text = f"{text[: marks[0].end(1)]}{table(results)}\n{text[marks[0].start(2) :]}"
    return text


__all__ = ["Tables", "claims", "digits", "fill", "markdown", "percent", "scientific", "whole"]
