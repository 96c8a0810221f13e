"""Counting where the data lie: a lazy frame's own engine groups coded records, and only the groups come into memory.

Categories and cells of numbers are small whole numbers, several of which share one 64-bit key: engines group by few
whole numbers much faster than by many columns, and each distinct record takes few bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import Any

import narwhals as nw
import numpy as np

from glassine.data.table import Frame, Table, collect, open_native
from glassine.domain import Between, Category, Domain, Integer, Literal, Real
from glassine.domain.attributes import GAP_TEXTS, LARGEST, Attribute, Binary, Prefix
from glassine.errors import InvalidDataError, first_of, parameter
from glassine.records.arrays import AnyArray, Array, Ints
from glassine.records.cells import declared_numbers
from glassine.records.columns import GAP, UNDECLARED, Columns, checked_columns, code_type, is_column, values_of

MOST_COMPARED = 64
"""Most values with which a category of a lazy Polars frame is compared one by one: to look values up, Polars takes the
whole column into memory."""


class Outside(Flag):
    """What becomes of a value that lies outside its attribute. A number beyond its bounds is clipped in any case.

    Attributes
    ----------
    CLIP
        Nothing is refused because of a value. What no number can be read from becomes missing, and a missing number
        that the attribute does not allow its lower bound. A category that is not declared becomes missing.
    REFUSE
        A value that is missing or no number, where the attribute asks for one, is an error.
    KEEP_UNDECLARED
        As the others, and a category that is not declared has its own code, -2. May be joined: ``REFUSE |
        KEEP_UNDECLARED``.
    """

    CLIP = 0
    REFUSE = auto()
    KEEP_UNDECLARED = auto()

    @property
    def refuses(self) -> bool:
        """Whether a value can be refused."""
        return Outside.REFUSE in self

    def codes(self, attribute: Category | Binary) -> tuple[int, int]:
        """Return the codes of a value that is not declared, and of a missing one."""
        undeclared = UNDECLARED if Outside.KEEP_UNDECLARED in self else -1
        return undeclared, -1 if attribute.missing else GAP if self.refuses else undeclared


Cuts = Mapping[str, Sequence[float]]
"""Cut points by attribute; a cut t parts ``x <= t`` from ``x > t``."""


def cuts_of(literals: Iterable[Literal], domain: Domain) -> dict[str, tuple[float, ...]]:
    """Return the points at which literals distinguish numbers, by tested attribute.

    No literal distinguishes two numbers between neighboring points. A value that a literal names has its own cell. An
    attribute that is not a number has no points.

    Examples
    --------
    >>> from glassine.domain import Binary
    >>> domain = Domain({"age": Integer(0, 99), "smoker": Binary()})
    >>> cuts_of([Between("age", hi=40.5), Between("age", lo=20.5, hi=40.5)], domain)
    {'age': (20.5, 40.5)}
    """
    cuts: dict[str, set[float]] = {}
    for literal in literals:
        own = cuts.setdefault(literal.attribute, set())
        if not isinstance(domain[literal.attribute], Integer | Real):
            continue
        if isinstance(literal, Between):
            own |= {float(point) for point in (literal.lo, literal.hi) if math.isfinite(point)}
            continue
        for value in literal.values:
            # As where literals are decided: a whole number that no double equals is the value of no record.
            if not isinstance(value, str) and abs(value) <= LARGEST and float(value) == value:
                own |= {math.nextafter(float(value), -math.inf), float(value)}
    return {name: tuple(sorted(points)) for name, points in cuts.items()}


def cell_cuts(attribute: Integer | Real, cuts: Sequence[float]) -> Array:
    """Return the largest number of each cell of a numeric attribute, increasing: the cuts inside it, and its bound."""
    # Cell i holds the numbers above entry i - 1 up to entry i. Every literal whose points are among the cuts holds for
    # all numbers of a cell or for none, so that the entry stands for them.
    lo, hi = float(attribute.lo), float(attribute.hi)
    inside = sorted({float(cut) for cut in cuts if lo <= cut < hi})
    # Adding zero turns -0.0 into 0.0, as in records that conform.
    return np.array([*inside, hi], dtype=np.float64) + 0.0


def coarse(columns: Columns, cuts: Cuts) -> Columns:
    """Return records in which a number that has cuts is the largest one of its cell; missing ones stay missing."""
    numbers = dict(columns.numbers)
    for name, attribute in columns.attributes.items():
        if name in cuts and isinstance(attribute, Integer | Real):
            ends = np.append(cell_cuts(attribute, cuts[name]), np.nan)
            # NaN is sorted last, beyond the upper bound.
            numbers[name] = ends[np.searchsorted(ends[:-1], numbers[name], side="left")]
    return Columns(attributes=columns.attributes, numbers=numbers, codes=columns.codes)


# Weights of rows: how many records each row of a dataset stands for.


MAX_WEIGHT = 2**32
"""Largest multiplicity that one row may state, so that sums over two billion rows stay within 64 bits."""

WEIGHT = Real(-1.0, float(MAX_WEIGHT + 1), missing=True)
"""What a weight is read as: bounds that no valid weight reaches, so that the others can be recognized."""


def valid(weight: Any) -> Any:
    """Return where a weight, an array or an expression that is never NaN, is a whole number in the allowed range."""
    return (weight >= 0) & (weight <= MAX_WEIGHT) & (weight == weight // 1)


def check_weights(n_invalid: int, name: str) -> None:
    """Raise InvalidDataError if a weight of a column was not valid."""
    if n_invalid:
        raise InvalidDataError(
            f"{parameter('weights')} must be whole numbers in [0, {MAX_WEIGHT}], but {name!r} holds others.",
            remedy="Give the number of records that each row stands for.",
        )


LARGEST_KEY = 2**62
"""The codes that share a key have numbers of values whose product is at most this."""

ROOM = -GAP
"""Codes begin at :data:`GAP`."""

PART = 2**20
"""Groups whose keys are taken apart at once, where there may be as many of them as records."""


def ones() -> nw.Expr:
    """Return one for each record: some engines number rows by 32 bits, which their own counts cannot exceed."""
    return nw.lit(1).cast(nw.Int64).alias("n")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Groups:
    """Distinct coded records, in no order."""

    columns: Columns  # The records, m rows; without any column where no attribute distinguished them
    counts: Ints  # Number of records of each; a weight may be 0; shape (m,)
    kept: AnyArray  # The column that was kept unchanged, if one was; shape (m,) or (0,)


def is_lazy(data: object) -> bool:
    """Return whether data are a frame whose engine computes only when asked: Polars, DuckDB, Dask, Spark and so on."""
    return isinstance(_opened(data), nw.LazyFrame)


def _opened(data: object) -> Any:
    if isinstance(data, Table):
        return data.frame
    try:
        return nw.from_native(data, pass_through=True)
    except nw.exceptions.NarwhalsError:
        return None


def is_distributed(data: object) -> bool:
    """Return whether data are a lazy frame that may lie on several machines: one of Dask or Spark."""
    frame = _opened(data)
    if not isinstance(frame, nw.LazyFrame):
        return False
    return frame.implementation.is_dask() or frame.implementation.is_spark_like()


def held(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Return a frame in memory: a lazy one of this machine is collected, a distributed one is refused."""
    if is_distributed(frame):
        raise InvalidDataError(
            "a frame of a distributed engine is not collected, because it may be larger than memory.",
            remedy="Pass a domain "
            "and the name of the target's column, so that it is counted where it lies, or collect it before.",
        )
    return collect(frame)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Keys:
    """How coded attributes share keys, mixed-radix, and which numbers are keys of their own."""

    # The attributes that distinguish records; that of place i is the column ``k{i}``.
    attributes: Mapping[str, Attribute]
    # The largest number of each cell, of the numbers that are known by their cell.
    cells: Mapping[int, Array]
    # For each key the places of its attributes, and how many codes each can have.
    words: tuple[tuple[tuple[int, int], ...], ...]
    loose: tuple[int, ...]  # Places of the numbers that are keys of their own

    @classmethod
    def of(cls, attributes: Mapping[str, Attribute], cuts: Cuts) -> _Keys:
        cells: dict[int, Array] = {}
        loose: list[int] = []
        words: list[list[tuple[int, int]]] = []
        product = LARGEST_KEY
        for place, (name, attribute) in enumerate(attributes.items()):
            if isinstance(attribute, Integer | Real):
                if name not in cuts:
                    loose.append(place)
                    continue
                cells[place] = cell_cuts(attribute, cuts[name])
                n_codes = len(cells[place]) + ROOM
            else:
                n_codes = (len(attribute.values) if isinstance(attribute, Category) else 2) + ROOM
            if product * n_codes > LARGEST_KEY:
                words.append([])
                product = 1
            words[-1].append((place, n_codes))
            product *= n_codes
        return cls(attributes=attributes, cells=cells, words=tuple(map(tuple, words)), loose=tuple(loose))

    @property
    def names(self) -> list[str]:
        """The columns by which an engine groups."""
        return [f"w{i}" for i in range(len(self.words))] + [f"k{i}" for i in self.loose]

    def codes(self) -> list[nw.Expr]:
        """Return the cells of numbers, as expressions over conformed columns that replace them."""
        out = []
        for place, ends in self.cells.items():
            number, missing = nw.col(f"k{place}"), list(self.attributes.values())[place].missing
            above = [(number > float(end)).fill_null(False).cast(nw.Int64) for end in ends[:-1]]
            cell = balanced_sum(above) if above else nw.lit(0)
            gap = nw.lit(-1 if missing else GAP)
            out.append(nw.when(~number.is_null()).then(cell).otherwise(gap).cast(nw.Int64).alias(f"k{place}"))
        return out

    def keys(self) -> list[nw.Expr]:
        """Return the shared keys, as expressions over codes."""
        out = []
        for i, word in enumerate(self.words):
            stride, terms = 1, []
            for place, n_codes in word:
                terms.append((nw.col(f"k{place}").cast(nw.Int64) + ROOM) * stride)
                stride *= n_codes
            out.append(balanced_sum(terms).alias(f"w{i}"))
        return out

    def arrays(self, grouped: nw.DataFrame[Any]) -> dict[str, AnyArray]:
        """Return the conformed columns that keys stand for."""
        codes: dict[int, AnyArray] = {place: grouped[f"k{place}"].to_numpy() for place in self.loose}
        for i, word in enumerate(self.words):
            rest = grouped[f"w{i}"].to_numpy().astype(np.int64)
            for place, n_codes in word:
                code = rest % n_codes - ROOM
                rest //= n_codes
                # The entry after the last is that of code -1; a gap that is not allowed is a missing value, too.
                codes[place] = (
                    np.append(self.cells[place], np.nan)[np.maximum(code, -1)] if place in self.cells else code
                )
        return {name: codes[place] for place, name in enumerate(self.attributes)}


def balanced_sum(terms: Sequence[nw.Expr]) -> nw.Expr:
    """Return a sum as a balanced tree, which engines walk without running out of stack."""
    half = len(terms) // 2
    return terms[0] if len(terms) == 1 else balanced_sum(terms[:half]) + balanced_sum(terms[half:])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LazyTable:
    """Records that stay with the engine of a lazy frame: each question is a query, and only groups come into memory."""

    frame: Any  # The records; lazy frame
    outside: Outside = Outside.REFUSE
    keep: str | None = None  # A further column that distinguishes records, unchanged

    def group(
        self, attributes: Mapping[str, Attribute], *, cuts: Cuts | None = None, weights: str | None = None
    ) -> Groups:
        """Count the distinct conformed records."""
        plan = _Keys.of(attributes, cuts or {})
        grouped = self._grouped(plan, weights)
        if weights is not None:
            check_weights(int(grouped["invalid"].max() or 0), weights)
        return self._groups(plan, grouped)

    def parts(self, attributes: Mapping[str, Attribute], *, cuts: Cuts, queries: int = 1) -> Iterator[Groups]:
        """Yield what :meth:`group` returns a part at a time: until then each distinct record takes few bytes."""
        # With several queries each asks for some of the keys, so that an engine need not hold all groups at once.
        plan = _Keys.of(attributes, cuts)
        queries = queries if plan.words else 1
        for query in range(queries):
            grouped = self._grouped(plan, None, share=(query, queries))
            # Of no record there is one part, without rows.
            for start in range(0, max(len(grouped), 1), PART):
                yield self._groups(plan, grouped[start : start + PART])

    def totals(self, attributes: Mapping[str, Attribute]) -> tuple[AnyArray, Ints]:
        """Return the values of :attr:`keep`, 0 without it, and their numbers, after a look at all attributes."""
        conformed = self._conformed(attributes)
        whole = {i: name for i, name in enumerate(attributes) if self.outside.refuses and not attributes[name].missing}
        flags = []
        for i, name in whole.items():
            column = nw.col(f"k{i}")
            gap = column.is_null() if isinstance(attributes[name], Integer | Real) else column == GAP
            flags.append(nw.when(gap).then(nw.lit(1)).otherwise(nw.lit(0)).alias(f"k{i}"))
        one = [nw.lit(0).alias("kept")] if self.keep is None else []
        flagged = conformed.with_columns(*one, ones(), *flags).group_by("kept")
        counted = collect(flagged.agg(nw.col("n").sum(), *(nw.col(f"k{i}").max() for i in whole)))
        for i, name in whole.items():
            if int(counted[f"k{i}"].max() or 0):
                # One conformed record with a gap is refused with the same words as a column of them.
                number = isinstance(attributes[name], Integer | Real)
                checked_columns({name: attributes[name]}, {name: np.array([np.nan if number else GAP])})
        return counted["kept"].to_numpy(), counted["n"].to_numpy().astype(np.int64)

    def _conformed(self, attributes: Mapping[str, Attribute]) -> Any:
        """Return the query of the conformed attributes, ``k0`` and so on, and of the kept column."""
        lazy = lazy_frame(self.frame, attributes)
        columns = expressions(lazy, attributes, outside=self.outside)
        if self.keep is not None:
            columns.append(nw.col(self.keep).alias("kept"))
        elif not attributes:
            # A frame without columns would have no rows.
            columns.append(nw.col(lazy.collect_schema().names()[0]).alias("any"))
        return lazy.select(*columns)

    def _grouped(self, plan: _Keys, weights: str | None, share: tuple[int, int] = (0, 1)) -> nw.DataFrame[Any]:
        """Return the keys of the distinct records, or a share of them, and how often each occurs."""
        attributes = plan.attributes
        conformed = self._conformed(attributes if weights is None else {**attributes, weights: WEIGHT})
        by = [*plan.names, *(["kept"] if self.keep is not None else [])] or ["one"]
        if weights is None:
            conformed = conformed.with_columns(ones())
        else:
            weight = nw.col(f"k{len(attributes)}")
            conformed = conformed.with_columns(
                nw.when(valid(weight)).then(weight).otherwise(nw.lit(0.0)).cast(nw.Int64).alias("n"),
                nw.when(valid(weight)).then(nw.lit(0)).otherwise(nw.lit(1)).alias("invalid"),
            )
        for step in (plan.codes(), plan.keys(), [nw.lit(0).alias("one")] if by == ["one"] else []):
            conformed = conformed.with_columns(*step) if step else conformed
        if share[1] > 1:
            conformed = conformed.filter(nw.col("w0") % share[1] == share[0])
        invalid = [] if weights is None else ["invalid"]
        sums = [nw.col("n").sum(), *(nw.col(name).max() for name in invalid)]
        return collect(conformed.select(*by, "n", *invalid).group_by(by).agg(*sums))

    def _groups(self, plan: _Keys, grouped: nw.DataFrame[Any]) -> Groups:
        return Groups(
            columns=checked_columns(plan.attributes, plan.arrays(grouped)),
            counts=grouped["n"].to_numpy().astype(np.int64),
            kept=np.zeros(0) if self.keep is None else grouped["kept"].to_numpy(),
        )


def lazy_frame(data: object, names: Iterable[str]) -> Frame:
    """Return a frame that has some columns."""
    frame = open_native(data)
    schema = frame.collect_schema()
    for name in names:
        is_column(name, schema)
    return frame


def expressions(
    frame: Frame, attributes: Mapping[str, Attribute], *, outside: Outside = Outside.REFUSE
) -> list[nw.Expr]:
    """Return the conforming of each attribute as an expression, named ``k0``, ``k1`` and so on."""
    # Numbers are doubles, null where they are missing; categories are codes with GAP for a forbidden gap.
    schema = frame.collect_schema()
    streamed = isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars()
    out = []
    for i, (name, attribute) in enumerate(attributes.items()):
        if isinstance(attribute, Integer | Real):
            value = _clipped(name, attribute, schema[name], refuse=outside.refuses)
        else:
            unknown, gap = outside.codes(attribute)
            # The types of pandas' columns follow from the records: where no value is refused, no type is.
            public = outside.refuses or not frame.implementation.is_pandas_like()
            codes = _known_codes(name, attribute, schema[name], refuse=public)
            value = _coded(name, attribute, schema[name], codes, (unknown, gap), compared=streamed)
        out.append(value.alias(f"k{i}"))
    return out


def number(name: str, kind: nw.dtypes.DType) -> nw.Expr:
    """Return a column as double, or refuse it when its type does not hold numbers."""
    if not (kind.is_numeric() or kind == nw.Boolean):
        raise InvalidDataError(
            f"column {name!r} must hold numbers, got the type {kind}.", remedy="Convert it to a numeric type."
        )
    return nw.col(name).cast(nw.Float64)


def _clipped(name: str, attribute: Integer | Real, kind: nw.dtypes.DType, *, refuse: bool) -> nw.Expr:
    value = number(name, kind)
    # Some engines take NaN for the largest number: it must be set apart before anything is compared.
    usable = value.is_finite() if refuse and not attribute.missing else ~value.is_nan()
    clipped = nw.when(usable).then(value.clip(float(attribute.lo), float(attribute.hi)))
    # Without a value to compare, some engines find neither: a null is no NaN for them.
    return clipped if refuse or attribute.missing else clipped.otherwise(None).fill_null(float(attribute.lo))


def _is_wide(kind: nw.dtypes.DType) -> bool:
    """Return whether a column has whole numbers that may not fit into 64 bits with a sign."""
    return kind in (nw.UInt64, nw.Int128, nw.UInt128)


def _known_codes(name: str, attribute: Category | Binary, kind: nw.dtypes.DType, *, refuse: bool) -> dict[Any, int]:
    """Return the codes of the values that a column of a type can hold, by the values as it holds them."""
    values = values_of(attribute)
    codes: dict[Any, int] = {}
    if kind in (nw.String, nw.Categorical, nw.Enum):
        # A lazy frame's engine reads no numbers from texts: they would have to be among the declared values.
        texts = {value: code for code, value in enumerate(values) if isinstance(value, str)}
        matching = len(texts) == len(values)
        codes = {value: code for value, code in texts.items() if not isinstance(value, Prefix)}
        if attribute.missing:
            codes = dict.fromkeys(GAP_TEXTS, -1) | codes
    elif kind.is_integer() or kind == nw.Boolean:
        numbers = declared_numbers(values)
        matching = bool(numbers)
        for value, code in numbers.items():
            if value == int(value):
                whole = int(value)
                if _is_wide(kind):
                    codes[str(whole)] = code
                elif -(2**63) <= whole < 2**63:
                    codes[whole] = code
    elif kind.is_numeric():
        numbers = declared_numbers(values)
        matching = bool(numbers)
        codes = {float(value): code for value, code in numbers.items() if float(value) == value}
    else:
        matching = False
    if not matching and refuse:
        raise InvalidDataError(
            f"column {name!r} has the type {kind}, which cannot hold the values of its attribute: "
            f"{first_of([repr(str(value)) for value in values], 8)}.",
            remedy="Convert the column, or declare its values as they are.",
        )
    return codes


def _coded(
    name: str,
    attribute: Category | Binary,
    kind: nw.dtypes.DType,
    codes_of: Mapping[Any, int],
    absent: tuple[int, int],
    *,
    compared: bool,
) -> nw.Expr:
    unknown, gap = absent
    column = nw.col(name)
    usable = ~column.is_null()
    if kind in (nw.String, nw.Categorical, nw.Enum):
        column = column.cast(nw.String)
    elif kind.is_integer() or kind == nw.Boolean:
        # Dask turns no gap into a whole number; which values are gaps is known already.
        whole_or_false = column.fill_null(False) if kind == nw.Boolean else column.fill_null(0)
        column = whole_or_false.cast(nw.String if _is_wide(kind) else nw.Int64)
    else:
        column = column.cast(nw.Float64)
        # Infinity is undeclared, unless gaps are to be refused with it.
        usable = column.is_finite() if gap == GAP else ~column.is_nan()
        # Arrow looks values up by their bits, in which -0.0 differs from 0.0.
        column = nw.when(column == 0).then(nw.lit(0.0)).otherwise(column)
    size = {np.int8: nw.Int8, np.int16: nw.Int16, np.int32: nw.Int32}[code_type(attribute)]
    coded = _looked_up(column, codes_of, unknown, compared=compared)
    if isinstance(attribute, Category) and kind in (nw.String, nw.Categorical, nw.Enum):
        # From the shortest start to the longest, and last what is listed, so that each goes before those that it begins
        # with.
        asked: list[tuple[nw.Expr, Mapping[Any, int]]] = [
            (column.str.slice(0, length), starts) for length, starts in reversed(attribute.places)
        ]
        if asked:
            coded = nw.lit(unknown)
            asked.append((column, dict.fromkeys(GAP_TEXTS, unknown) | dict(codes_of)))
        for texts, codes in asked:
            begun = _looked_up(texts, codes, NO_PLACE, compared=compared)
            coded = nw.when(begun != NO_PLACE).then(begun).otherwise(coded)
    usual: nw.Expr = nw.when(usable).then(coded).otherwise(nw.lit(gap))
    return usual.cast(size)


NO_PLACE = -4
"""Stands for the code of a text that is not looked up; below every code."""


def _looked_up(column: nw.Expr, codes: Mapping[Any, int], absent: int, *, compared: bool) -> nw.Expr:
    """Return the codes of the values of a column, and one for all others."""
    if not codes:
        return nw.lit(absent)
    if not compared or len(codes) > MOST_COMPARED:
        return column.replace_strict(list(codes), list(codes.values()), default=nw.lit(absent), return_dtype=nw.Int64)
    coded: nw.Expr = nw.lit(absent)
    for value, code in codes.items():
        coded = coded + (column == nw.lit(value)).fill_null(False).cast(nw.Int64) * (code - absent)
    return coded
