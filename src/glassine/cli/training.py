"""The records, domain and classes that ``glassine fit`` learns from; what is not public is refused or owned up to."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassine.cli.naming import listed, nearest
from glassine.cli.reading import categories, read_frame
from glassine.errors import InvalidDataError, InvalidDomainError, InvalidParameterError

if TYPE_CHECKING:
    from glassine.domain import Domain

__all__ = ["Training", "check_domain", "check_public", "class_names", "read_training"]

LARGEST = 2**63
"""Whole numbers below it are classes of that type; what is longer stays text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What a fit is given.

    Attributes
    ----------
    frame : polars.DataFrame
        The attributes of the domain, and the target.
    classes : tuple or None
        The public classes, unless the domain declares them or they are taken from the data.
    left_out : tuple of str
        Columns that the domain does not declare.
    """

    frame: Any
    classes: tuple[Any, ...] | None
    left_out: tuple[str, ...]


def check_public(
    domain: Domain | None, target: str, classes: str | None, *, private: bool, infer_domain: bool, infer_classes: bool
) -> None:
    """Raise if a private model would take its domain or its classes from the data without saying so."""
    declared = domain is not None and target in domain
    if classes is not None and infer_classes:
        raise InvalidParameterError("--classes and --infer-classes contradict each other. Leave one out.")
    check_domain(domain, private=private, infer_domain=infer_domain)
    if declared and (classes is not None or infer_classes):
        raise InvalidParameterError(
            f"the domain declares the target {target!r} and so its classes. "
            f"Leave {'--infer-classes' if infer_classes else '--classes'} out."
        )
    if private and not declared and classes is None and not infer_classes:
        raise InvalidParameterError(
            f"the classes of the target {target!r} must be public, and the domain does not declare it."
            f"{nearest(target, domain or ())} Check its spelling; declare it in the domain as a category, or list its "
            "classes as --classes a,b. With --infer-classes the guarantee does not hold."
        )


def check_domain(domain: Domain | None, *, private: bool, infer_domain: bool) -> None:
    """Raise if a private model would take its domain from the data without saying so."""
    if domain is not None and infer_domain:
        raise InvalidParameterError("--domain and --infer-domain contradict each other. Leave one out.")
    if not private:
        return
    if domain is None and not infer_domain:
        raise InvalidDomainError(
            "a private model needs a public domain, --domain. Draft one with 'glassine domain infer' and replace what "
            "only the data tell; or give --infer-domain, and the guarantee does not hold."
        )
    inferred = [] if domain is None else [name for name in domain if domain[name].inferred]
    if inferred:
        raise InvalidDomainError(
            f"the domain marks {', '.join(map(repr, inferred[:3]))}{' and more' if len(inferred) > 3 else ''} as "
            'inferred from data. Replace them by public knowledge and delete "inferred"; or give --infer-domain in '
            "place of --domain, and the guarantee does not hold."
        )


def class_names(text: str) -> tuple[str, ...]:
    """Return the classes that ``--classes`` lists, separated by commas; one with a comma stands in double quotes."""
    names = tuple(next(csv.reader([text], skipinitialspace=True), []))
    if not names or not all(names) or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidParameterError(f"--classes must list names separated by commas, got {text!r}.")
    return names


def read_training(
    data: Path,
    target: str,
    domain: Domain | None,
    classes: str | None,
    *,
    number: bool = False,
    person: str | None = None,
) -> Training:
    """Return the records of a file, the columns that the domain does not declare left out.

    A target may be a ``number`` instead of a class. The type of classes follows from what is public: whole numbers if
    all given classes are such, else text.

    Raises
    ------
    InvalidDataError
        If the target is not a column of classes, or of numbers.
    InvalidDomainError
        If a category mixes texts and numbers.
    """
    _check_categories(domain)
    names = None if classes is None else class_names(classes)
    whole = names is not None and all(_is_whole(name) for name in names)
    texts = {} if names is None or whole else {target: names}
    # Identifiers are read as they are written: no type is guessed, by which 01 and 1 would be one person.
    frame = read_frame(data, domain, texts=texts if person is None else {**texts, person: ()})
    if person is not None and person not in frame.columns:
        raise InvalidDataError(
            f"--person names {person!r}, which is not a column of {data}. Check its spelling."
            f"{listed(person, frame.columns)}"
        )
    if target not in frame.columns:
        raise InvalidDataError(
            f"--target names {target!r}, which is not a column of {data}. Check its spelling."
            f"{listed(target, frame.columns)}"
        )
    if number:
        _check_number(frame[target], target)
    else:
        _check_target(frame[target], target)
    left_out = () if domain is None else tuple(name for name in frame.columns if name not in (*domain, target, person))
    return Training(
        frame=frame.drop(left_out),
        classes=None if names is None else _typed(names, frame[target], whole=whole),
        left_out=left_out,
    )


def _check_categories(domain: Domain | None) -> None:
    """Refuse categories of texts and numbers: whether a file's 1 is a number would depend on all other records."""
    for name, values in categories(domain).items():
        if len({isinstance(value, str) for value in values}) > 1:
            raise InvalidDomainError(
                f"the values of {name!r} are texts and numbers, which a column does not tell apart. "
                "Declare all of them as texts."
            )


def _is_whole(name: str) -> bool:
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(name)) == name and abs(int(name)) < LARGEST


def _check_target(column: Any, name: str) -> None:
    kind = column.dtype
    if kind.is_float() and not bool((column.drop_nulls() == column.drop_nulls().floor()).all()):
        raise InvalidDataError(f"the target {name!r} holds fractions, which are no classes. Name another column.")
    if kind.is_nested() or kind.is_temporal() or kind.is_decimal():
        raise InvalidDataError(f"the target {name!r} has the type {kind}, which holds no classes. Convert it to text.")


def _check_number(column: Any, name: str) -> None:
    if not column.dtype.is_numeric():
        raise InvalidDataError(f"the target {name!r} holds no numbers. Name another column, or declare classes.")


def _typed(names: tuple[str, ...], column: Any, *, whole: bool) -> tuple[Any, ...]:
    """Return the classes in the type of the column of a typed file."""
    import polars as pl

    if column.dtype == pl.Boolean and not whole:
        truths = {"true": True, "false": False}
        if {name.lower() for name in names} <= set(truths):
            return tuple(truths[name.lower()] for name in names)
    if whole and not isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum):
        return tuple(int(name) for name in names)
    return names
