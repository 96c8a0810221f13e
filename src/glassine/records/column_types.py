"""The types of columns of texts: what all texts of one have in common, where nothing declares it or speed is asked for.

No value depends on it: a text is read as the same value in a column of any type.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from glassine.domain.attributes import Attribute, Integer, Real
from glassine.domain.literals import EXACT
from glassine.records.arrays import Bools, Ints
from glassine.records.cells import numbers_of_texts
from glassine.records.columns import values_of
from glassine.records.files import THOUSANDS, with_points
from glassine.records.headers import CsvDialect
from glassine.records.scalars import BLANKS, NUMERAL, number_of

DIGITS = r"^\s*[+-]?\d+\s*$"
PADDED = r"^\s*0\d+\s*$"
"""A whole number that begins with 0: a code, such as a postcode."""

POINTED = r"^\s*[+-]?\d*\.\d*([eE][+-]?\d+)?\s*$"
"""A number with a decimal point."""


TOGETHER = 2**20
"""Texts that are looked at together, or those of one column."""


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
    # Columns are looked at one below the other: files have thousands of short ones, and each question takes its time.
    out: list[pl.Series] = []
    group: list[pl.Series] = []
    for column in columns:
        if group and (
            len(column) * (len(group) + 1) > TOGETHER or dialect.gaps(group[0].name) != dialect.gaps(column.name)
        ):
            out += _inferred_alike(group, dialect)
            group = []
        group.append(column)
    return out + (_inferred_alike(group, dialect) if group else [])


def _inferred_alike(columns: Sequence[pl.Series], dialect: CsvDialect) -> list[pl.Series]:
    """Return columns with the same gaps, each in its type; see :func:`inferred`."""
    n = len(columns[0])
    # Of a name such as ^a$ polars makes a pattern.
    below = [column.alias("") for column in columns]
    texts = pl.concat(below).rechunk() if len(below) > 1 else below[0]
    texts = texts.fill_null("")
    texts = texts.set(texts.is_in(list(dialect.gaps(columns[0].name))), None)
    out = [texts.slice(i * n, n) for i in range(len(columns))]
    if n == 0:
        return list(columns)
    stack = _Stack(texts, n, np.arange(len(columns)))
    rest = stack.where(lambda texts: texts.is_not_null(), some=True)
    written = rest
    if dialect.decimal_comma:
        pointed = rest.where(_pointed, some=True)
        comma = rest.without(pointed)
        points = _Stack(_evaluated(comma.texts, with_points), n, comma.places)
        written = _Stack.merged(pointed, points)
    wholes = written.where(lambda texts: texts.cast(pl.Int64, strict=False).is_null() == texts.is_null())
    rest = rest.without(wholes)
    padded = wholes.where(lambda texts: texts.str.contains(PADDED), some=True)
    truths = rest.where(lambda texts: _is_truth(texts) | texts.is_null())
    rest = rest.without(truths)
    rest = rest.without(rest.where(_is_truth, some=True))
    rest = written.only(rest)
    # Whole numbers beyond 64 bits name things: as doubles, two of them would be one.
    rest = rest.without(rest.where(lambda texts: texts.str.contains(DIGITS) | texts.is_null()))
    plain = rest.where(lambda texts: _is_numeral(texts) | texts.is_null())
    converted = (
        wholes.without(padded).converted(lambda texts: texts.cast(pl.Int64, strict=False)),
        truths.converted(lambda texts: texts.str.to_lowercase() == "true"),
        plain.converted(lambda texts: texts.str.strip_chars(BLANKS).cast(pl.Float64)),
    )
    for place, column in (pair for pairs in converted for pair in pairs):
        out[place] = column
    for place, column in rest.without(plain).converted(lambda texts: texts):
        # Most other columns show in their first word that they are texts.
        if all(text is None or number_of(text) is not None for text in column.to_list()):
            out[place] = pl.Series("", numbers_of_texts(column), nan_to_null=True)
    return [column.alias(source.name) for column, source in zip(out, columns, strict=True)]


def _evaluated(texts: pl.Series, of: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    return texts.alias("texts").to_frame().select(of(pl.col("texts"))).to_series()


@dataclass(frozen=True, slots=True)
class _Stack:
    """Columns of texts, one below the other."""

    texts: pl.Series
    n: int  # Rows of a column
    places: Ints  # Of the columns, among those that were given, increasing

    def where(self, holds: Callable[[pl.Expr], pl.Expr], *, some: bool = False) -> _Stack:
        """Return the columns of whose texts something holds: of all, or of some."""
        answers = _evaluated(self.texts, lambda texts: holds(texts).fill_null(False)).to_numpy().reshape(-1, self.n)
        return self._filtered(np.asarray(answers.any(axis=1) if some else answers.all(axis=1)))

    def without(self, others: _Stack) -> _Stack:
        """Return the columns that are not among others."""
        return self._filtered(~np.isin(self.places, others.places))

    def only(self, others: _Stack) -> _Stack:
        """Return the columns that are among others."""
        return self._filtered(np.isin(self.places, others.places))

    def _filtered(self, kept: Bools) -> _Stack:
        if kept.all():
            return self
        return _Stack(self.texts.filter(pl.Series(np.repeat(kept, self.n))), self.n, self.places[kept])

    @classmethod
    def merged(cls, one: _Stack, other: _Stack) -> _Stack:
        """Return the columns of both, in order."""
        places = np.concatenate([one.places, other.places])
        order = np.argsort(places)
        texts = pl.concat([one.texts.alias(""), other.texts.alias("")])
        rows = (order[:, None] * one.n + np.arange(one.n)).ravel()
        return cls(texts.gather(rows), one.n, places[order])

    def converted(self, how: Callable[[pl.Expr], pl.Expr]) -> Iterator[tuple[int, pl.Series]]:
        """Yield the place of each column, and what becomes of its texts."""
        values = _evaluated(self.texts, how)
        for number, place in enumerate(self.places.tolist()):
            yield place, values.slice(number * self.n, self.n)


def _is_numeral(texts: pl.Expr) -> pl.Expr:
    """Return where polars reads the number that a text writes."""
    words = texts.str.strip_chars(BLANKS)
    return words.str.contains(NUMERAL) & words.cast(pl.Float64, strict=False).is_not_null()


def _is_truth(texts: pl.Expr) -> pl.Expr:
    return texts.str.to_lowercase().is_in(["true", "false"]).fill_null(False)


def _pointed(texts: pl.Expr) -> pl.Expr:
    """Return which texts, such as 1.5, show that points are decimal in their column: so that 1.234 is a fraction."""
    return texts.str.contains(r"\.") & ~texts.str.contains(THOUSANDS) & texts.str.contains(POINTED)
