"""How files of records begin that are neither text nor Parquet, and how they become one of the two."""

from __future__ import annotations

import re
from pathlib import Path

from glassine.errors import UnreadableFileError

FORMS: tuple[tuple[bytes, str, str], ...] = (
    (rb"PK\x03\x04", "a ZIP archive or an Excel workbook", ""),
    (rb"\xd0\xcf\x11\xe0", "an Excel workbook", ""),
    (rb"\x1f\x8b", "a gzip file", ""),
    (rb"PARE", "an encrypted Parquet file", ""),
    (rb"ARROW1\0\0", "an Arrow file", "polars.read_ipc({file}).write_parquet({to})"),
    (rb"\xff{4}", "an Arrow stream", "polars.read_ipc_stream({file}).write_parquet({to})"),
    (
        rb"SQLite format 3\0",
        "a SQLite database",
        'polars.read_database("SELECT * FROM records", sqlite3.connect({file})).write_parquet({to})',
    ),
    (rb".{8}DUCK..\0{6}", "a DuckDB database", 'duckdb.connect({file}).table("records").write_parquet({to})'),
)
"""How a file begins, what it is, and how Python writes it as Parquet; ``records`` is the name of a table."""
JSON = ("JSON", "polars.read_json({file}).write_parquet({to})")
JSON_LINES = ("JSON of a line for each record", "polars.read_ndjson({file}).write_parquet({to})")


def check_form(data: bytes, path: Path) -> None:
    """Raise UnreadableFileError if a file is empty, or begins as no table of text does; it says how to convert it.

    Of a file whose first line alone was read, an empty one is left to the reader of headers.
    """
    if not data[:4].strip() and not data.endswith(b"\n"):
        raise UnreadableFileError(
            f"{path} is empty.", remedy="Give a CSV file with a header, or a Parquet file.", path=path
        )
    begun = ((form, code) for mark, form, code in FORMS if re.match(mark, data[:64], re.DOTALL))
    form, code = next(begun, _json_of(data, path))
    if form:
        to = path.with_suffix(".parquet")
        said = f"; in Python: `{code.format(file=repr(str(path)), to=repr(str(to)))}`" if code else ""
        raise UnreadableFileError(
            f"{path} is {form}, from which no records are read.",
            remedy=f"Write them as a CSV file with a header, or as a Parquet file{said}.",
            path=path,
        )


def _json_of(data: bytes, path: Path) -> tuple[str, str]:
    """Return what JSON a file is, and how it becomes Parquet; nothing where it may be a table of text."""
    start = data[:1_000].lstrip()
    named = path.suffix.lower() in (".json", ".jsonl", ".ndjson")
    if start[:1] == b"{" and (named or start[1:].lstrip()[:1] == b'"'):
        return JSON_LINES
    if start[:1] == b"[" and (named or start[1:].lstrip()[:1] == b"{"):
        return JSON
    return "", ""
