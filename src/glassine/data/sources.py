"""Files of records: parsed into a table, with the digest of the bytes that were parsed."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from glassine.data.columns import values_of
from glassine.data.conform_values import GAP_TEXTS, numbers_of_texts
from glassine.data.table import Source, Table
from glassine.domain import Domain
from glassine.domain.attributes import Attribute, Integer, Real
from glassine.errors import UnreadableFileError

__all__ = ["read_frame", "read_table"]

EXACT = 2**53
"""Whole numbers below it are doubles, and no other number is rounded to them."""


def read_table(
    path: Path,
    domain: Domain | None = None,
    *,
    attributes: Mapping[str, Attribute] | None = None,
    lenient: bool = False,
) -> Table:
    """Return the records of a CSV or Parquet file, read once and by content.

    The type of a declared column of a CSV file is at most a convenience: where some text is no number, it stays text,
    from which :func:`glassine.data.conform.conform` reads the same. Categories of words stay as they are written,
    so that 01 stays 01. Columns that nothing declares get the type that all their values have in common.

    Parameters
    ----------
    path : Path
        The file.
    domain : Domain, optional
        The public domain.
    attributes : mapping of str to Attribute, optional
        Further declared columns, or others in place of those of the domain.
    lenient : bool, default=False
        Whether a row with too many fields, or with bytes that are no UTF-8, is read as far as it can be.

    Raises
    ------
    UnreadableFileError
        If the file cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}.", path=path) from None
    if not data[:4].strip():
        raise UnreadableFileError(
            f"{path} is empty.", remedy="Give a CSV file with a header, or a Parquet file.", path=path
        )
    declared = {**({} if domain is None else {name: domain[name] for name in domain}), **(attributes or {})}
    typed = data[:4] == b"PAR1"
    try:
        frame = pl.read_parquet(io.BytesIO(data)) if typed else _read_csv(data, declared, lenient=lenient)
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        # The value that cannot be read is one record's, and so are the places that are told of it.
        first = "its rows or quotes are malformed" if lenient else re.sub(r"`[^`]*(`|$)", "a value", first)
        raise UnreadableFileError(
            f"{path} is not a CSV or Parquet file that can be read: {first}.", path=path
        ) from None
    if any("\r" in name for name in frame.columns):
        raise UnreadableFileError(f"{path} ends its lines with CR alone.", remedy="Write LF or CRLF.", path=path)
    twice = [name for name in frame.columns if "_duplicated_" in name]
    if twice:
        name = twice[0].rsplit("_duplicated_", 1)[0]
        raise UnreadableFileError(f"{path} has two columns named {name!r}.", remedy="Rename one.", path=path)
    if len(frame.columns) == 1 and any(mark in frame.columns[0] for mark in ";\t|"):
        raise UnreadableFileError(f"{path} is not separated by commas: its header is {frame.columns[0]!r}.", path=path)
    source = Source(path=path, digest=hashlib.sha256(data).hexdigest(), typed=typed)
    return Table(nw.from_native(frame, eager_only=True), source)


def read_frame(
    path: Path,
    domain: Domain | None = None,
    *,
    attributes: Mapping[str, Attribute] | None = None,
    lenient: bool = False,
) -> pl.DataFrame:
    """Return the frame of :func:`read_table`, for a reader that takes columns out of it."""
    frame: pl.DataFrame = read_table(path, domain, attributes=attributes, lenient=lenient).frame.to_native()
    return frame


def _read_csv(data: bytes, declared: Mapping[str, Attribute], *, lenient: bool) -> pl.DataFrame:
    """Return the columns of a CSV file: declared ones value by value, the others by what all values have in common."""
    how: dict[str, Any] = {"encoding": "utf8-lossy", "truncate_ragged_lines": True} if lenient else {}
    names = pl.read_csv(data, n_rows=0, infer_schema=False, **how).columns
    rest = [name for name in names if name not in declared]
    if len(rest) == len(names):
        return pl.read_csv(data, infer_schema_length=None, null_values=list(GAP_TEXTS), **how)
    own = [name for name in names if name in declared]
    texts = pl.read_csv(data, columns=own, infer_schema=False, **how)
    frame = pl.DataFrame([_typed(texts[name], declared[name]) for name in own])
    if rest:
        others = pl.read_csv(data, columns=rest, infer_schema_length=None, null_values=list(GAP_TEXTS), **how)
        frame = frame.hstack(others)
    return frame.select(names)


def _typed(texts: pl.Series, attribute: Attribute) -> pl.Series:
    """Return a column of texts as numbers where each of them is one, with nulls for gaps."""
    numeric = isinstance(attribute, Integer | Real)
    values = () if numeric else values_of(attribute)
    # Polars takes an empty field for none.
    texts = texts.fill_null("")
    gaps = texts.is_in([gap for gap in GAP_TEXTS if gap not in values])
    texts = texts.set(gaps, None)
    if any(isinstance(value, str) for value in values):
        return texts
    whole = texts.cast(pl.Int64, strict=False)
    if (whole.is_null() == gaps).all():
        return whole
    words = texts.str.to_lowercase()
    if not numeric and (words.is_in(["true", "false"]) | gaps).all():
        return (words == "true").alias(texts.name)
    numbers = numbers_of_texts(texts)
    if (np.isnan(numbers) == gaps.to_numpy()).all() and (
        numeric or all(not isinstance(v, str) and abs(v) < EXACT for v in values)
    ):
        return pl.Series(texts.name, numbers, nan_to_null=True)
    return texts
