"""The door: records of any container, read as columns of a domain, and what was odd about their cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from glassine.domain.attributes import Attribute
from glassine.domain.domain import Domain
from glassine.errors import InvalidDataError, parameter
from glassine.records.arrays import AnyArray
from glassine.records.cells import FlagArray, Reader
from glassine.records.columns import ConformedColumns, columns_of, is_column, read_only
from glassine.records.containers import Opened, batches, schema
from glassine.records.flags import Flags, settled
from glassine.records.schemas import check_types

Recipe: TypeAlias = Mapping[str, Attribute] | Domain
"""The public attribute of each column that is read, in order."""


def read(container: object, recipe: Recipe, names: Iterable[str] | None = None) -> tuple[ConformedColumns, Flags]:
    """Return the columns of a container as their attributes read them, and what was odd about each cell.

    No record is refused: ``glassine.records.flags`` says what a purpose makes of what is odd. Ties between
    attributes (the domain's groups) are not enforced.

    Guarantee
    ---------
    What a record is read as follows from that record and the attributes alone, in every container. What is refused
    follows from the container and the names of its columns, not from a value.

    Parameters
    ----------
    container : data frame, mapping of str to array, ndarray, list, ConformedColumns, or Opened
        The records, as for ``glassine.records.containers.batches``; there may be none.
    recipe : Domain, or mapping of str to Attribute
        The public attributes.
    names : iterable of str, optional
        The attributes to read, at least one; all by default.

    Returns
    -------
    Columns
        Numbers in double precision within their bounds, NaN where there is none; codes of categories, -1 where there is
        none, in 1, 2 or 4 bytes.
    Flags
        What was odd about each cell.

    Raises
    ------
    InvalidDataError
        If there is no name, the container is none, or a column is absent.
    InvalidDomainError
        If a name is not an attribute of the domain.

    Examples
    --------
    >>> from glassine.domain import Binary, Integer
    >>> domain = Domain({"age": Integer(18, 99), "smoker": Binary()})
    >>> columns, flags = read([["40", "yes"], [120, True]], domain)
    >>> columns.numbers["age"].tolist(), columns.codes["smoker"].tolist()
    ([40.0, 99.0], [-1, 1])
    >>> flags.arrays["age"].tolist(), flags.arrays["smoker"].tolist()
    ([0, 1], [3, 0])
    """
    attributes = {name: recipe[name] for name in (recipe if names is None else names)}
    if not attributes:
        raise InvalidDataError(
            f"{parameter('names')} must hold at least one attribute, got none.",
            remedy="Leave it out to read all of them.",
        )
    kept = container.kept if isinstance(container, Opened) else None
    if kept is None:
        pairs = dict(_read(container, attributes))
    else:
        for name in attributes:
            is_column(name, schema(container).names or ())
        fresh = {name: one for name, one in attributes.items() if (name, one) not in kept}
        for name, (values, flags) in _read(container, fresh) if fresh else ():
            kept[name, fresh[name]] = read_only(values), flags
        pairs = {name: kept[name, attribute] for name, attribute in attributes.items()}
    return (
        columns_of(attributes, {name: values for name, (values, _) in pairs.items()}),
        Flags(attributes=attributes, arrays={name: flags for name, (_, flags) in pairs.items()}),
    )


def read_beside(container: object, recipe: Recipe, extra: str) -> tuple[ConformedColumns, Flags, list[Any]]:
    """Return what :func:`read` returns, and one more column in its batches, from one pass over the records.

    A second pass over a lazy frame can give the records in another order, and over a file other records.
    """
    attributes = {name: recipe[name] for name in recipe}
    values: list[Any] = []
    pairs = dict(_read(container, attributes, extra=(extra, values)))
    return (
        columns_of(attributes, {name: read for name, (read, _) in pairs.items()}),
        Flags(attributes=attributes, arrays={name: flags for name, (_, flags) in pairs.items()}),
        values,
    )


def _read(
    container: object, attributes: Mapping[str, Attribute], *, extra: tuple[str, list[Any]] | None = None
) -> Iterator[tuple[str, tuple[AnyArray, FlagArray]]]:
    readers = {name: Reader(attribute) for name, attribute in attributes.items()}
    parts: dict[str, list[tuple[AnyArray, FlagArray]]] = {name: [] for name in readers}
    more = () if extra is None else (extra[0],)
    for batch in batches(container, tuple(dict.fromkeys([*readers, *more]))):
        if extra is not None:
            extra[1].append(batch[extra[0]])
        for name, reader in readers.items():
            parts[name].append(reader.column(batch.pop(name)))
    for name in readers:
        own = parts.pop(name)
        values = own[0][0] if len(own) == 1 else np.concatenate([array for array, _ in own])
        odd = len(own) == 1 or any(flags.any() for _, flags in own)
        flags = own[0][1] if len(own) == 1 else np.concatenate([array for _, array in own]) if odd else None
        yield name, (values, np.broadcast_to(np.uint8(0), len(values)) if flags is None else flags)


def read_settled(
    container: object, recipe: Recipe, names: Iterable[str] | None = None, *, keep_undeclared: bool = False
) -> ConformedColumns:
    """Return columns as a private fit takes them: no value is refused (``settled``).

    Raises
    ------
    InvalidDataError
        As for :func:`read`; if the declared type of a column cannot hold values of its attribute.
    """
    attributes = {name: recipe[name] for name in (recipe if names is None else names)}
    check_types(schema(container), attributes)
    return settled(*read(container, attributes), keep_undeclared=keep_undeclared)
