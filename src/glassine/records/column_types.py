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


HEAD = 1024
"""Texts of a long column that are looked at first."""

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
        comma = rest.excluding(pointed)
        points = _Stack(_evaluated(comma.texts, with_points), n, comma.places)
        written = _Stack.merged(pointed, points)
    wholes, numbers = written.attempted(lambda texts: texts.cast(pl.Int64, strict=False))
    rest = rest.excluding(wholes)
    padded = wholes.where(lambda texts: texts.str.contains(PADDED), some=True)
    truths = rest.where(lambda texts: _is_truth(texts) | texts.is_null())
    rest = written.among(rest.excluding(truths))
    # Whole numbers beyond 64 bits name things: as doubles, two of them would be one.
    rest = rest.excluding(rest.where(lambda texts: texts.str.contains(DIGITS) | texts.is_null()))
    plain, fractions = rest.attempted(_numeral)
    whole = {*wholes.excluding(padded).places.tolist()}
    for place, column in (
        *((place, column) for place, column in numbers if place in whole),
        *truths.converted(lambda texts: texts.str.to_lowercase() == "true"),
        *fractions,
    ):
        out[place] = column
    for place, column in rest.excluding(plain).converted(lambda texts: texts):
        # Most other columns show in their first words that they are texts.
        numeric = _all_numbers(column.head(HEAD)) and _all_numbers(column)
        if numeric and not column.to_frame().select(_is_truth(pl.first()).any()).item():
            out[place] = pl.Series("", numbers_of_texts(column), nan_to_null=True)
    return [column.alias(source.name) for column, source in zip(out, columns, strict=True)]


def _all_numbers(texts: pl.Series) -> bool:
    return all(text is None or number_of(text) is not None for text in texts.to_list())


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
        if not some and self.n > 2 * HEAD and len(self.places):
            # What does not hold of the first texts of a long column need not be asked of the others.
            tried = self._head().where(holds)
            if len(tried.places) < len(self.places):
                return self.among(tried).where(holds)
        return self._filtered(self._each(_evaluated(self.texts, lambda texts: holds(texts).fill_null(False)), some))

    def _head(self) -> _Stack:
        """Return the first texts of each column."""
        if self.n <= 2 * HEAD or not len(self.places):
            return self
        heads = [self.texts.slice(i * self.n, HEAD) for i in range(len(self.places))]
        return _Stack(pl.concat(heads), HEAD, self.places)

    def _each(self, answers: pl.Series, some: bool = False) -> Bools:
        """Return for each column whether all of its answers are true, or some."""
        if self.n < HEAD:
            table = answers.to_numpy().reshape(-1, self.n)
            return np.asarray(table.any(axis=1) if some else table.all(axis=1))
        parts = [answers.slice(i * self.n, self.n) for i in range(len(self.places))]
        return np.array([part.any() if some else part.all() for part in parts], dtype=bool)

    def attempted(self, how: Callable[[pl.Expr], pl.Expr]) -> tuple[_Stack, list[tuple[int, pl.Series]]]:
        """Return the columns of which each text becomes a value, with those values."""
        tried = self.among(self._head().where(lambda texts: how(texts).is_null() == texts.is_null()))
        values = _evaluated(tried.texts, how)
        fit = tried._each(values.is_null() == tried.texts.is_null())
        parts = [values.slice(i * self.n, self.n) for i in np.flatnonzero(fit).tolist()]
        return tried._filtered(fit), list(zip(tried.places[fit].tolist(), parts, strict=True))

    def excluding(self, others: _Stack) -> _Stack:
        """Return the columns that are not among others."""
        return self._filtered(~np.isin(self.places, others.places))

    def among(self, others: _Stack) -> _Stack:
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


def _numeral(texts: pl.Expr) -> pl.Expr:
    """Return the number that a text writes, where polars reads it, else null."""
    words = texts.str.strip_chars(BLANKS)
    return pl.when(words.str.contains(NUMERAL)).then(words.cast(pl.Float64, strict=False))


def _is_truth(texts: pl.Expr) -> pl.Expr:
    return texts.str.to_lowercase().is_in(["true", "false"]).fill_null(False)


def _pointed(texts: pl.Expr) -> pl.Expr:
    """Return which texts, such as 1.5, show that points are decimal in their column: so that 1.234 is a fraction."""
    return texts.str.contains(r"\.") & ~texts.str.contains(THOUSANDS) & texts.str.contains(POINTED)
