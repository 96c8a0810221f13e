"""The types of columns of texts: what all texts of one have in common, where nothing declares it or speed is asked for.

No value depends on it: a text is read as the same value in a column of any type.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import polars as pl

from glassine.domain.attributes import Attribute, Integer, Real
from glassine.domain.literals import EXACT
from glassine.records.cells import BLANKS, NUMERAL, number_of, numbers_of_texts
from glassine.records.columns import values_of
from glassine.records.files import THOUSANDS, with_points
from glassine.records.headers import CsvDialect

DIGITS = r"^\s*[+-]?\d+\s*$"
PADDED = r"^\s*0\d+\s*$"
"""A whole number that begins with 0: a code, such as a postcode."""

POINTED = r"^\s*[+-]?\d*\.\d*([eE][+-]?\d+)?\s*$"
"""A number with a decimal point."""


def typed(texts: pl.Series, attribute: Attribute, missing: Collection[str], comma: bool) -> pl.Series:
    """Return a column of texts as numbers where each of them is one, with nulls for gaps."""
    numeric = isinstance(attribute, Integer | Real)
    values = () if numeric else values_of(attribute)
    # Polars takes an empty field for none.
    texts = texts.fill_null("")
    gaps = texts.is_in([gap for gap in missing if gap not in values])
    texts = texts.set(gaps, None)
    if any(isinstance(value, str) for value in values):
        return texts
    texts = texts.to_frame().select(with_points(pl.first())).to_series() if comma else texts
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


def inferred(columns: Sequence[pl.Series], dialect: CsvDialect) -> list[pl.Series]:
    """Return columns of texts, each in the type that all its texts have in common, with nulls for gaps."""
    # Every question is put to all columns at once: files have thousands of columns, and a query takes a millisecond.
    # Of a name such as ^a$ polars makes a pattern.
    names = [column.name for column in columns]
    texts = pl.DataFrame(dict(zip(map(str, range(len(names))), columns, strict=True)))
    filled = {str(i): (pl.col(str(i)).fill_null(""), list(dialect.gaps(name))) for i, name in enumerate(names)}
    texts = texts.with_columns(pl.when(~text.is_in(gaps)).then(text).alias(i) for i, (text, gaps) in filled.items())
    rest = _which(texts, texts.columns, lambda text: text.is_not_null().any())
    written = texts
    if dialect.decimal_comma:
        pointed = _which(texts, rest, _pointed)
        written = texts.with_columns(with_points(pl.col(i)) for i in _without(rest, pointed))
    wholes = _which(written, rest, lambda text: text.cast(pl.Int64, strict=False).is_null().eq(text.is_null()).all())
    rest = _without(rest, wholes)
    wholes = _which(written, wholes, lambda text: ~text.str.contains(PADDED).any())
    truths = _which(texts, rest, lambda text: (_is_truth(text) | text.is_null()).all())
    rest = _which(texts, _without(rest, truths), lambda text: ~_is_truth(text).any())
    # Whole numbers beyond 64 bits name things: as doubles, two of them would be one.
    rest = _which(written, rest, lambda text: ~(text.str.contains(DIGITS) | text.is_null()).all())
    plain = _which(written, rest, lambda text: (_is_numeral(text) | text.is_null()).all())
    converted = texts.with_columns(
        *written.select(pl.col(i).cast(pl.Int64, strict=False) for i in wholes),
        *texts.select(pl.col(i).str.to_lowercase() == "true" for i in truths),
        *written.select(pl.col(i).str.strip_chars(BLANKS).cast(pl.Float64) for i in plain),
        *(
            pl.Series(i, numbers_of_texts(written[i]), nan_to_null=True)
            for i in _without(rest, plain)
            # Most other columns show in their first word that they are texts.
            if all(text is None or number_of(text) is not None for text in written[i].to_list())
        ),
    )
    return [column.alias(name) for column, name in zip(converted, names, strict=True)]


def _which(frame: pl.DataFrame, names: Sequence[str], holds: Callable[[pl.Expr], pl.Expr]) -> list[str]:
    """Return the columns, of those named, of which something holds."""
    answers = frame.select(holds(pl.col(name)) for name in names)
    return [column.name for column in answers if column[0]]


def _without(names: Sequence[str], others: Collection[str]) -> list[str]:
    left_out = set(others)
    return [name for name in names if name not in left_out]


def _is_numeral(texts: pl.Expr) -> pl.Expr:
    """Return where polars reads the number that a text writes."""
    words = texts.str.strip_chars(BLANKS)
    return words.str.contains(NUMERAL) & words.cast(pl.Float64, strict=False).is_not_null()


def _is_truth(texts: pl.Expr) -> pl.Expr:
    return texts.str.to_lowercase().is_in(["true", "false"]).fill_null(False)


def _pointed(texts: pl.Expr) -> pl.Expr:
    """Return whether one text, such as 1.5, shows that points are decimal here: so that 1.234 is a fraction."""
    return (texts.str.contains(r"\.") & ~texts.str.contains(THOUSANDS) & texts.str.contains(POINTED)).any()
