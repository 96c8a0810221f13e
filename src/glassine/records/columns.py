"""Records that conform to a domain, as columns of numbers and codes."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain.attributes import LARGEST, Attribute, Binary, Category, Integer, Real, Scalar
from glassine.domain.literals import Between, Literal, OneOf
from glassine.domain.prefixes import prefixes
from glassine.errors import InvalidDataError, first_of
from glassine.records.arrays import AnyArray, Array, Bools

UNDECLARED = -2
"""Code of a category that is not declared, where it is kept."""


def read_only(array: AnyArray) -> AnyArray:
    """Return a view that no reader can write through: readers share arrays, which may be the caller's own memory."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ConformedColumns:
    """Records that conform to a domain, column by column.

    Attributes
    ----------
    attributes : mapping of str to Attribute
        The public attribute of each column, in order.
    numbers : mapping of str to ndarray of float64, shape (n,)
        The :class:`Integer` and :class:`Real` attributes; a missing value is NaN.
    codes : mapping of str to ndarray of int, shape (n,)
        The :class:`Category` and :class:`Binary` attributes: the index into the attribute's values (0 and 1 for a
        :class:`Binary`), or -1 where a value is missing or not declared; -2 where it is not declared, if these
        are kept.

    Examples
    --------
    >>> from glassine.domain import Domain
    >>> from glassine.records.undeclared import read_checked
    >>> domain = Domain({"age": Integer(18, 99), "job": Category(("clerk", "baker"))})
    >>> data = {"age": np.array([17, 30, 120]), "job": np.array(["baker", "pope", "clerk"])}
    >>> columns = read_checked(data, domain)
    >>> columns.numbers["age"].tolist(), columns.codes["job"].tolist()
    ([18.0, 30.0, 99.0], [1, -1, 0])
    >>> columns.holds(Between("age", hi=40)).tolist()
    [True, True, False]
    """

    attributes: Mapping[str, Attribute]
    numbers: Mapping[str, Array]
    codes: Mapping[str, npt.NDArray[np.signedinteger[Any]]]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self.attributes)

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return len(self.array(self.names[0]))

    def __repr__(self) -> str:
        return f"<Columns of {len(self.attributes)} attributes: {first_of(map(repr, self.names), 8)}>"

    def array(self, name: str) -> AnyArray:
        """Return the numbers or codes of a column, shape (n,)."""
        if name in self.numbers:
            return self.numbers[name]
        if name in self.codes:
            return self.codes[name]
        raise InvalidDataError(
            f"the records lack the column {name!r}; they have {first_of(map(repr, self.names), 8)}.",
            remedy="Also read that column.",
        )

    def values(self, name: str) -> AnyArray:
        """Return the values of a column, shape (n,): numbers, or declared values with None for what is not declared."""
        array = self.array(name)
        return array if name in self.numbers else decoder(self.attributes[name])[np.maximum(array, -1)]

    def restrict(self, names: Iterable[str]) -> ConformedColumns:
        """Return some of the columns, in the given order."""
        arrays = {name: self.array(name) for name in names}
        return columns_of({name: self.attributes[name] for name in arrays}, arrays)

    def take(self, rows: AnyArray) -> ConformedColumns:
        """Return some of the records, by index or as a Boolean selection."""
        return columns_of(self.attributes, {name: self.array(name)[rows] for name in self.attributes})

    def holds(self, literal: Literal) -> Bools:
        """Return where the records satisfy a literal, shape (n,), as ``literal.holds`` says of :meth:`values`.

        A value that is not declared counts as missing, so that of a literal and its negation exactly one holds.

        Parameters
        ----------
        literal : Between or OneOf
            A condition on one of the columns.

        Raises
        ------
        InvalidDataError
            If there is no such column, or a threshold is put to an attribute that declares strings; if the attribute
            or the literal has prefixes, and the literal names what is not a value of the attribute.
        """
        array = self.array(literal.attribute)
        if literal.attribute in self.codes:
            values = values_of(self.attributes[literal.attribute])
            if isinstance(literal, OneOf) and prefixes((*values, *literal.values)):
                _check_declared(literal, values)
            # The last entry, that of None, is the one at index -1.
            try:
                truths = literal.holds(decoder(self.attributes[literal.attribute]))
            except InvalidDataError:
                # It counts declared values, which are no records.
                raise InvalidDataError(
                    f"{literal.attribute!r} is compared with a number, but the domain declares other values of it.",
                    remedy="Declare a number, or take a model of this domain.",
                ) from None
            return np.asarray(truths[np.maximum(array, -1)])
        return holds_of_numbers(literal, array)


def code_type(attribute: Category | Binary) -> type[np.signedinteger[Any]]:
    """Return the smallest type that holds the codes of an attribute."""
    n_values = len(values_of(attribute))
    return np.int8 if n_values < 2**7 else np.int16 if n_values < 2**15 else np.int32


def is_column(name: str, columns: Container[object]) -> bool:
    """Return True, or raise InvalidDataError if data lack an attribute of the domain."""
    if name not in columns:
        raise InvalidDataError(f"data lack the column {name!r} of the domain.", remedy="Add it, or drop the attribute.")
    return True


def values_of(attribute: Attribute) -> tuple[Scalar, ...]:
    """Return the values that an attribute with codes declares."""
    return attribute.values if isinstance(attribute, Category) else (0, 1)


def decoder(attribute: Attribute) -> AnyArray:
    """Return the values that codes stand for, with None at the end."""
    return np.array([*values_of(attribute), None], dtype=object)


def columns_of(attributes: Mapping[str, Attribute], arrays: Mapping[str, AnyArray]) -> ConformedColumns:
    """Return arrays that conform already as columns."""
    numeric = {name for name, attribute in attributes.items() if isinstance(attribute, Integer | Real)}
    return ConformedColumns(
        attributes=dict(attributes),
        numbers={name: arrays[name] for name in attributes if name in numeric},
        codes={name: arrays[name] for name in attributes if name not in numeric},
    )


def _check_declared(literal: OneOf, values: tuple[Scalar, ...]) -> None:
    """Raise InvalidDataError if a literal names part of a declared value: of which records it holds is not known."""
    for value in literal.values:
        if value not in values:
            raise InvalidDataError(
                f"{literal.attribute!r} is compared with {value!r}, which is not a value of its domain.",
                remedy="Declare the same values and prefixes as the model names.",
            )


def holds_of_numbers(literal: Literal, numbers: Array) -> Bools:
    """Return where numbers satisfy a literal, shape (n,); NaN is missing."""
    if not isinstance(literal, Between):
        # A whole number that no double equals cannot be the value of any record.
        named = [value for value in literal.values if not isinstance(value, str) and abs(value) <= LARGEST]
        inside = np.isin(numbers, [float(value) for value in named if float(value) == value])
    elif literal.lo == -math.inf:
        inside = numbers <= literal.hi
    else:
        inside = numbers > literal.lo if literal.hi == math.inf else (numbers > literal.lo) & (numbers <= literal.hi)
    if literal.negated:
        np.logical_not(inside, out=inside)
    if literal.negated != literal.missing:
        inside[np.isnan(numbers)] = literal.missing
    return inside
