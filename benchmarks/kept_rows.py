"""Figures that a script keeps beside itself: one CSV file, of which its tables and sentences in the docs are made.

A row is written when it is measured; rows that are stored are not measured again. ``--page`` measures nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from papers.common.results import ROOT, Row, read, resume
from papers.common.tables import place

DOCS = ROOT / "docs"

Tables = Callable[[Sequence[Row]], Mapping[str, str]]


def results_of(script: str) -> Path:
    """Return the file that a script keeps its rows in."""
    return Path(script).resolve().with_suffix(".csv")


def filled(tables: Mapping[str, str], docs: Path = DOCS) -> dict[Path, str]:
    """Return the pages that have places for tables or sentences, with these between the marks of their names."""
    pages = {page: page.read_text() for page in docs.rglob("*.md")}
    found: dict[Path, str] = {}
    for name, table in tables.items():
        having = [page for page, text in pages.items() if f"<!--table: {name}-->" in text]
        if len(having) != 1:
            raise LookupError(f"{len(having)} pages have a place for the table {name!r}, not one.")
        pages[having[0]] = found[having[0]] = place(pages[having[0]], name, table)
    return found


def kept(
    script: str,
    about: str | None,
    keys: Sequence[Mapping[str, str]],
    measure: Callable[[Mapping[str, str]], Mapping[str, object]],
    tables: Tables,
    arguments: Iterable[str] | None = None,
    *,
    others: Mapping[str, Callable[[], object]] | None = None,
    docs: Path = DOCS,
) -> int:
    """Measure the rows of a script that are not stored, and write its tables into their pages.

    ``others`` are parts of the script that print what they find and keep nothing.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="measure nothing; write the tables of the pages")
    if others:
        parser.add_argument("others", nargs="*", choices=[*others, []], help="only these, whose figures are printed")
    given = parser.parse_args(None if arguments is None else list(arguments))
    if others and given.others:
        for name in given.others:
            others[name]()
        return 0
    path = results_of(script)
    rows = read(path) if given.page else resume(path, keys, measure)
    for page, text in filled(tables(rows), docs).items():
        page.write_text(text)
    return 0
