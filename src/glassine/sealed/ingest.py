"""How records come in: their columns are named before the charge, from the schema alone, and read after it.

Before the charge no value is looked at: names and declared types of columns, and that records, targets and identifiers
are as many. Afterwards every cell is read by the one reader of :mod:`glassine.records`, from its own value and what is
public; none is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from glassine.data.count_table import CountTable
from glassine.data.labels import check_attributes
from glassine.domain import Category, Domain, Real
from glassine.domain.attributes import LARGEST, Attribute
from glassine.errors import InvalidDataError, parameter
from glassine.records import batches, read, schema
from glassine.records.alignment import holds_booleans, listed, target_name
from glassine.records.arrays import AnyArray, Array
from glassine.records.cells import Reader
from glassine.records.columns import columns_of, is_column
from glassine.records.files import check_before_charge
from glassine.records.flags import settled
from glassine.records.identifiers import identifier
from glassine.records.reading import read_beside
from glassine.records.schemas import check_types
from glassine.sealed.persons import CountedPersons
from glassine.sealed.plan import Metadata, TargetColumn
from glassine.sealed.store import HeldIntake

ANYTHING = Real(-LARGEST, LARGEST, missing=True)
"""As what a target that is a number is read, before it is clipped to its range."""


def target_column(X: Any, y: Any) -> TargetColumn:
    """Return what the arguments of a fit show of its target; no value is looked at."""
    counted, empty = isinstance(X, CountTable), y[:0] if isinstance(y, np.ndarray) else None
    if isinstance(y, str):
        kinds = None if counted or isinstance(X, list | tuple) else schema(X).kinds
        booleans = kinds is not None and kinds.get(y) == nw.Boolean
    else:
        booleans = holds_booleans(y)
    return TargetColumn(name=target_name(y), booleans=booleans, empty=empty, counted=counted, named=isinstance(y, str))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Source:
    """The records of a fit before they are opened: where they are, and which of their columns is what.

    Attributes
    ----------
    container : object
        The records: a frame of any library, arrays, rows, a file, or a table of counts.
    target : object
        The name of the target's column, or the targets, one for each record.
    persons : object
        The name of the column of identifiers, the identifiers, or None.
    names : tuple of str
        The attributes, in the order of the columns.
    named : bool
        Whether the columns have names, or their places alone distinguish them.
    """

    container: Any
    target: Any
    persons: Any = None
    names: tuple[str, ...]
    named: bool

    @classmethod
    def of(cls, X: Any, y: Any, persons: Any, domain: Domain) -> Source | None:
        """Return the source for arguments of a fit; None for a container that only an ordinary fit can refuse."""
        if isinstance(X, CountTable):
            return cls._of_table(X, y)
        # What rows of a list hold is theirs: whether there is one, its kind, keys and length are not looked at. Their
        # columns have names where an argument names one.
        of_rows: tuple[str, ...] | int = domain.names if str in (type(y), type(persons)) else len(domain)
        columns = of_rows if isinstance(X, list | tuple) else _columns(X)
        if columns is None or y is None or (isinstance(y, np.ndarray) and y.ndim != 1 and y.shape[1:] != (1,)):
            return None
        if isinstance(columns, int):
            # Places alone distinguish the columns: they are the domain's attributes in order.
            named, present = False, domain.names
            if columns != len(present):
                raise InvalidDataError(
                    f"{parameter('X')} has {columns} columns without names, but the domain has {len(present)} "
                    "attributes.",
                    remedy="Pass a data frame, or one column per attribute in order.",
                )
        else:
            named, present = True, columns
        own = {name for name in (y, persons) if isinstance(name, str)}
        if isinstance(X, list | tuple) and named:
            present = tuple(dict.fromkeys((*present, *(name for name in (y, persons) if isinstance(name, str)))))
        if isinstance(y, str) and (not named or y not in present):
            if named:
                raise InvalidDataError(f"data lack the target column {y!r}.", remedy="Add or rename it.")
            raise InvalidDataError(
                f"{parameter('y')} names a column, so X must be a data frame.", remedy="Pass the classes as an array."
            )
        if isinstance(persons, str):
            if persons and persons == target_name(y):
                raise InvalidDataError(
                    f"the column {persons!r} is the target, and cannot also hold the persons.", remedy="Name another."
                )
            if not named or persons not in present:
                raise InvalidDataError(
                    f"{parameter('persons')} names the column {persons!r}, which X lacks.",
                    remedy="Pass a data frame that has it, or one identifier for each record.",
                )
        elif named and isinstance(name := getattr(persons, "name", None), str):
            own |= {name} & set(present)
        names = tuple(name for name in present if name not in own)
        check_attributes(names, target_name(y))
        if not isinstance(y, str) and _may_differ(X, y):
            raise InvalidDataError("X and y must have one length, and differ.", remedy="Pass one target a record.")
        if persons is not None and not isinstance(persons, str) and _may_differ(X, listed(persons)):
            raise InvalidDataError(
                f"{parameter('persons')} must hold one identifier for each record.", remedy="Pass as many."
            )
        return cls(container=X, target=y, persons=persons, names=names, named=named)

    @classmethod
    def _of_table(cls, table: CountTable, y: Any) -> Source:
        if not isinstance(y, str):
            raise InvalidDataError(
                "with a CountTable, y must be the name of its target attribute.", remedy="Also count the target."
            )
        others = tuple(name for name in table.domain if name != y)
        if y not in table.domain or not others:
            raise InvalidDataError(
                f"the count table lacks the target {y!r} or any other attribute.", remedy="Count both."
            )
        return cls(container=table, target=y, names=others, named=True)

    def attributes(self, domain: Domain) -> Domain:
        """Return the domain of the attributes; every attribute but target and persons must be a column."""
        for name in self.names:
            if name not in domain:
                raise InvalidDataError(
                    f"column {name!r} is not an attribute of the domain.", remedy="Declare it, or drop it."
                )
        left_out = {target_name(self.target)} | ({self.persons} if isinstance(self.persons, str) else set())
        for name in domain:
            if name not in left_out:
                is_column(name, self.names)
        if len(self.names) == len(domain):
            return domain
        return domain.restrict([name for name in domain if name in self.names])

    def check_types(self, metadata: Metadata) -> None:
        """Raise what declared types of columns, and the size of a file, say without a value."""
        if isinstance(self.container, CountTable | list | tuple) or not self.named:
            return
        wanted: dict[str, Attribute] = {name: metadata.domain[name] for name in self.names}
        if isinstance(self.target, str):
            wanted[self.target] = _of_target(metadata)
        check_types(schema(self.container), wanted)
        check_before_charge(self.container)

    def open(self, metadata: Metadata, *, keep_undeclared: bool, equal: bool) -> HeldIntake:
        """Read the records; those without a declared class, or a number, as their target are left out."""
        table = self.container if isinstance(self.container, CountTable) else None
        container = self.container.columns if table is not None else self._by_name()
        attributes = {name: metadata.domain[name] for name in self.names}
        own = {self.target: _of_target(metadata)} if isinstance(self.target, str) else {}
        # Once: a file is parsed for each reading, and a lazy frame may come back in another order.
        wanted, whose_columns = own if table is not None else {**attributes, **own}, list[Any]()
        if isinstance(self.persons, str):
            cells, flags, whose_columns = read_beside(container, wanted, self.persons)
        else:
            cells, flags = read(container, wanted)
        if isinstance(self.target, str):
            values = cells.array(self.target)
        else:
            values, _ = Reader(_of_target(metadata)).column(_plain(self.target))
        if table is None:
            columns = settled(cells.restrict(self.names), flags.restrict(self.names), keep_undeclared=keep_undeclared)
        else:
            columns = table.columns.restrict(self.names)
        number = metadata.target_range is not None
        rows = ~np.isnan(values) if number else values >= 0
        columns = columns_of(attributes, {name: columns.array(name)[rows] for name in attributes})
        numbers = None if metadata.target_range is None else scaled(values[rows], metadata.target_range)
        labels = (
            np.zeros(len(columns.array(self.names[0])), dtype=np.int64) if number else values[rows].astype(np.int64)
        )
        times, persons = None if table is None else table.multiplicities[rows], None
        if metadata.unit.is_person:
            if isinstance(self.persons, str):
                listed_values = [value for column in whose_columns for value in _as_list(column)]
            else:
                listed_values = _as_list(_plain(self.persons))
            keys = tuple(identifier(value) for value in listed_values)
            whose = CountedPersons(identifiers=keys, unit=metadata.unit, equal=equal, column=None)
            persons = whose.take(rows)
            times = persons.times(columns, labels if numbers is None else numbers)
        intake = HeldIntake(
            columns=columns,
            labels=labels,
            multiplicities=times,
            domain=metadata.domain,
            classes=metadata.classes,
            caveats=metadata.caveats,
            persons=persons,
            values=numbers,
        )
        return intake if times is None else intake.take(times > 0)

    def _by_name(self) -> Any:
        """Return the records as a container whose columns have names."""
        X, names = self.container, self.names
        if isinstance(X, list | tuple):
            return _of_rows(X, (*names, *(name for name in (self.target, self.persons) if isinstance(name, str))))
        if self.named:
            return X
        if isinstance(X, np.ndarray):
            X = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
            return {name: X[:, place] for place, name in enumerate(names)}
        return {name: X.iloc[:, place] for place, name in enumerate(names)}


def _columns(X: Any) -> tuple[str, ...] | int | None:
    """Return the names of the columns, or their number where they have none, from the schema; None for neither."""
    if isinstance(X, np.ndarray):
        if X.dtype.names is not None:
            return tuple(X.dtype.names)
        return X.shape[1] if X.ndim == 2 and X.dtype.kind not in "cV" else None
    try:
        names = schema(X).names
    except InvalidDataError:
        if hasattr(X, "iloc") and not any(isinstance(name, str) for name in X.columns):
            return len(X.columns)
        raise
    if names is None or any(not isinstance(name, str) for name in names):
        if names is not None and hasattr(X, "iloc") and not any(isinstance(name, str) for name in names):
            return len(names)
        return None
    return names


def _may_differ(X: Any, values: Any) -> bool:
    """Return whether there is another number of values than of records; False where an engine would have to count."""
    columns = X.values() if isinstance(X, Mapping) else (X,)
    return hasattr(values, "__len__") and any(hasattr(one, "__len__") and len(one) != len(values) for one in columns)


def _of_rows(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return columns of rows, each row alone: what is absent is a gap, what is too much is dropped."""

    def cells(row: Any) -> list[Any]:
        if isinstance(row, Mapping):
            return [row.get(name) for name in names]
        own = list(row)[: len(names)] if isinstance(row, Iterable) and not isinstance(row, str | bytes) else []
        return own + [None] * (len(names) - len(own))

    table = [cells(row) for row in rows]
    return {name: [row[place] for row in table] for place, name in enumerate(names)}


def _plain(values: Any) -> Any:
    """Return targets or identifiers as a column; of a list, each in its own sequence is taken out of it."""
    if isinstance(values, list | tuple):
        return [value[0] if _is_alone(value) else value for value in values]
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    (column,) = batches({"": values}, ("",))
    return column[""]


def _is_alone(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1 and len(value) == 1


def _as_list(column: Any) -> list[Any]:
    if hasattr(column, "to_list"):
        return list(column.to_list())
    if hasattr(column, "places"):
        return [column.values[place] if place >= 0 else None for place in column.places.tolist()]
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _of_target(metadata: Metadata) -> Attribute:
    """Return the attribute as which the target is read; what is not of it is left out."""
    return ANYTHING if metadata.target_range is not None else Category(metadata.classes, missing=True)


def scaled(numbers: AnyArray, bounds: tuple[float, float]) -> Array:
    """Return numbers clipped to their public range and brought to [-1, 1]."""
    half, middle = bounds[1] / 2 - bounds[0] / 2, bounds[0] / 2 + bounds[1] / 2
    # Rounding may leave the interval on which the sensitivity rests.
    return np.clip((np.clip(numbers, *bounds) - middle) / half, -1.0, 1.0)
