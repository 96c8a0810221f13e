"""Figures that a script keeps beside itself: one CSV file, of which its tables on the page of benchmarks are made.

A row is written when it is measured; rows that are stored are not measured again. ``--page`` measures nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from papers.common.results import ROOT, Row, read, resume
from papers.common.tables import place

PAGE = ROOT / "docs" / "explanation" / "benchmarks.md"

Tables = Callable[[Sequence[Row]], Mapping[str, str]]


def results_of(script: str) -> Path:
    """Return the file that a script keeps its rows in."""
    return Path(script).resolve().with_suffix(".csv")


def filled(text: str, tables: Mapping[str, str]) -> str:
    """Return the text of a page with tables between the marks of their names."""
    for name, table in tables.items():
        text = place(text, name, table)
    return text


def kept(
    script: str,
    about: str | None,
    keys: Sequence[Mapping[str, str]],
    measure: Callable[[Mapping[str, str]], Mapping[str, object]],
    tables: Tables,
    arguments: Iterable[str] | None = None,
    *,
    others: Mapping[str, Callable[[], object]] | None = None,
    page: Path = PAGE,
) -> int:
    """Measure the rows of a script that are not stored, and write its tables into a page.

    ``others`` are parts of the script that print what they find and keep nothing.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="measure nothing; write the tables of the page")
    if others:
        parser.add_argument("others", nargs="*", choices=[*others, []], help="only these, whose figures are printed")
    given = parser.parse_args(None if arguments is None else list(arguments))
    if others and given.others:
        for name in given.others:
            others[name]()
        return 0
    path = results_of(script)
    rows = read(path) if given.page else resume(path, keys, measure)
    page.write_text(filled(page.read_text(), tables(rows)))
    return 0
