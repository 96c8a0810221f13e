"""The records, domain and classes that ``glassine fit`` learns from; what is not public is refused or owned up to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from glassine.cli.naming import in_options, listed, nearest, options_of
from glassine.cli.options import OptionGroup, TargetRangeOption, numeric, words_of
from glassine.cli.reading import check_person, check_target, identifiers, read_records, records_file, tell_repeats
from glassine.domain import Category, Integer, Real
from glassine.domain.attributes import LARGEST as LARGEST_NUMBER
from glassine.errors import InvalidDataError, InvalidDomainError, InvalidParameterError
from glassine.records import Reader
from glassine.records.purpose import Purpose

if TYPE_CHECKING:
    from glassine.cli.options import PublicOptions, RecordsFileOptions
    from glassine.domain import Attribute, Domain
    from glassine.domain.attributes import Scalar

ANY_NUMBER = Real(-LARGEST_NUMBER, LARGEST_NUMBER, missing=True)
"""Reads each number on the terms of no other."""

LARGEST = 2**63
"""Whole numbers below it are classes of that type; what is longer stays text."""


class NumberOptions(OptionGroup, heading="The model"):
    """What a target is that is a number."""

    target_range: TargetRangeOption = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFile:
    """The file of the records."""

    path: Path  # The file
    written: RecordsFileOptions  # How it is written
    person: str | None = None  # Column that says whose record each is
    exclude: tuple[str, ...] = ()  # Columns of it that are left out
    weights: str | None = None  # Column that says how many records each row counts as


@dataclass(frozen=True, slots=True, kw_only=True)
class FitInputs:
    """What a fit is given."""

    # The attributes of the domain, the target and the persons: polars.DataFrame, or a RecordsFile that is not opened.
    frame: Any
    # The public classes, unless the domain declares them or they are taken from the data.
    classes: tuple[Scalar, ...] | None
    left_out: tuple[str, ...]  # Columns that the domain does not declare
    weights: Any = None  # How many records each row counts as, if the file says so; shape (n,)


def check_unit(person: str | None, records_per_person: int | None) -> None:
    """Raise if half of a guarantee for persons is given."""
    from glassine.sealed.persons import unit_of

    with in_options(options_of("persons", "records_per_person")):
        unit_of(records_per_person, person)


def check_weights(weights: str | None, others: Sequence[str], *, kind: str, private: bool) -> None:
    """Raise if a private model is to weigh its records, or if the column of weights is another one as well."""
    if weights is None:
        return
    if private:
        raise InvalidParameterError(
            f"--weights does not apply to {kind}: a weight changes how much one record can do, and so the guarantee.",
            remedy="Leave it out, or give --not-private in place of --epsilon. Where persons have several records, "
            "give --person and --records-per-person.",
        )
    if weights in others:
        raise InvalidParameterError(
            f"--weights names {weights!r}, which is the target or excluded.", remedy="Name the column of the weights."
        )


def check_public(domain: Domain | None, target: str, public: PublicOptions, *, private: bool) -> None:
    """Raise if a private model would take its domain or its classes from the data without saying so."""
    declared = domain is not None and target in domain
    if public.classes is not None and public.infer_classes:
        raise InvalidParameterError("--classes and --infer-classes contradict each other.", remedy="Leave one out.")
    _check_domain(domain, private=private, infer_domain=public.infer_domain)
    if declared and (public.classes is not None or public.infer_classes):
        raise InvalidParameterError(
            f"the domain declares the target {target!r} and so its classes.",
            remedy=f"Leave {'--infer-classes' if public.infer_classes else '--classes'} out.",
        )
    if private and not declared and public.classes is None and not public.infer_classes:
        raise InvalidParameterError(
            f"the classes of the target {target!r} must be public, and the domain does not declare it."
            f"{nearest(target, domain or ())} Check its spelling; declare it in the domain, or list its classes as "
            "--classes a,b. With --infer-classes the guarantee does not hold."
        )


def predicts_number(
    domain: Domain | None, target: str, public: PublicOptions, *, ranged: bool, infer_range: bool, private: bool = True
) -> bool:
    """Return whether a model predicts a number, as far as the domain or the options say."""
    if ranged and infer_range:
        raise InvalidParameterError("--target-range and --infer-range contradict each other.", remedy="Leave one out.")
    ranged, classed = ranged or infer_range, public.classes is not None or public.infer_classes
    if ranged and classed:
        raise InvalidParameterError(
            "--classes and --infer-classes are for a target of classes, --target-range and --infer-range for one of "
            "numbers.",
            remedy="Leave one of them out.",
        )
    if domain is None or target not in domain:
        if private and not ranged and not classed:
            raise InvalidParameterError(
                f"the classes or the range of the target {target!r} must be public.{nearest(target, domain or ())} "
                "Declare it in the domain, or give --classes a,b for classes or --target-range LO,HI for a number. "
                "--infer-classes, or --infer-range of an additive model, voids the guarantee."
            )
        number = ranged
    else:
        number = _declares_number(domain, target, ranged=ranged, classed=classed)
    if number:
        _check_domain(domain, private=private, infer_domain=public.infer_domain)
    return number


def _declares_number(domain: Domain, target: str, *, ranged: bool, classed: bool) -> bool:
    """Return whether a domain declares the target as a number; raise if more is said of it."""
    declared = isinstance(domain[target], Integer | Real)
    if ranged:
        raise InvalidParameterError(
            f"the domain declares the target {target!r}{' and so its range' if declared else ', which is no number'}.",
            remedy="Leave --target-range and --infer-range out.",
        )
    if declared and classed:
        raise InvalidParameterError(
            f"the domain declares the target {target!r} as a number.",
            remedy="Leave --classes and --infer-classes out, or declare it as a category.",
        )
    return declared


def public_parameters(
    domain: Domain | None, target: str, person: str | None, declared: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the domain of the attributes without target and persons, and of a classifier the public classes."""
    # declared are domain and, of a classifier, classes as its parameters.

    others = None
    if domain is not None:
        names = [name for name in domain if name not in (target, person)]
        if not names:
            raise InvalidDataError(
                f"the domain declares no attribute but the target {target!r}.",
                remedy="Declare a column that can predict it.",
            )
        others = domain.restrict(names)
    if "classes" not in declared:
        return {"domain": others}
    category = None if domain is None or target not in domain else domain[target]
    classes = category.values if isinstance(category, Category) else declared["classes"]
    return {"domain": others, "classes": classes or (0, 1)}


def range_of(text: str | None) -> tuple[float, float] | None:
    """Return the range that ``--target-range LO,HI`` gives."""
    if text is None:
        return None
    problem = f"--target-range must be two numbers with a comma between, such as 0,100, got {text!r}."
    with numeric(problem, "Use bounds that are public, not those of the records."):
        lo, hi = map(float, text.split(","))
    if not lo < hi:
        raise InvalidParameterError(
            f"--target-range must be LO,HI with LO below HI, got {text!r}.", remedy="Exchange the two."
        )
    return lo, hi


def errors_of(estimator: Any, frame: Any, target: str, exposure: str | None = None) -> tuple[float, float]:
    """Return the root mean squared error on some records, and that of the mean of their targets."""
    truth = frame[target].to_numpy().astype(float)
    # In a unit near them, so that no square vanishes or overflows.
    unit = float(abs(truth).max()) or 1.0
    # With exposures a prediction is that of one unit of it.
    units = 1.0 if exposure is None else frame[exposure].to_numpy().astype(float)
    off = (truth - units * estimator.predict(frame.drop(target))) / unit
    return unit * math.sqrt((off**2).mean()), unit * float((truth / unit).std())


def _check_domain(domain: Domain | None, *, private: bool, infer_domain: bool) -> None:
    """Raise if a private model would take its domain from the data without saying so."""
    if domain is not None and infer_domain:
        raise InvalidParameterError("--domain and --infer-domain contradict each other.", remedy="Leave one out.")
    if not private:
        return
    if domain is None and not infer_domain:
        raise InvalidDomainError(
            "a private model needs a public domain, --domain.",
            remedy="Draft one with 'glassine domain infer' and replace the inferred values; or give --infer-domain, "
            "which voids the guarantee.",
        )
    inferred = [] if domain is None else [name for name in domain if domain[name].inferred]
    if inferred:
        raise InvalidDomainError(
            f"the domain marks {', '.join(map(repr, inferred[:3]))}{' and more' if len(inferred) > 3 else ''} as "
            "inferred from data.",
            remedy='Replace them by public knowledge and delete "inferred"; or give --infer-domain in '
            "place of --domain, and the guarantee does not hold.",
        )


def class_names(text: str) -> tuple[str, ...]:
    """Return the classes that ``--classes`` lists, separated by commas; put one with a comma in double quotes."""
    names = words_of(text, "--classes", "names")
    if len(set(names)) < len(names):
        raise InvalidParameterError(f"--classes must list different names, got {text!r}.", remedy="Drop the repeat.")
    return names


def usable_domain(
    domain: Domain | None, exclude: Sequence[str], target: str, person: str | None, weights: str | None = None
) -> Domain | None:
    """Return the domain without weights and what ``--exclude`` names; raise if that names anything else."""
    for name in exclude:
        if name in (target, person):
            raise InvalidParameterError(
                f"--exclude names {name!r}, which is {'the target' if name == target else 'the column of --person'}.",
                remedy="Leave it out.",
            )
        if domain is not None and name not in domain:
            raise InvalidParameterError(f"--exclude names {name!r}, which is not in the domain.{listed(name, domain)}")
    dropped = {*exclude, weights}
    if domain is None or dropped.isdisjoint(domain):
        return domain
    return domain.restrict([name for name in domain if name not in dropped])


def read_training(
    file: TrainingFile,
    purpose: Purpose,
    target: str,
    domain: Domain | None,
    classes: str | None,
    *,
    number: bool = False,
    ranged: bool = False,
    counts: bool = False,
) -> FitInputs:
    """Return the records of a file, the columns that the domain does not declare left out."""
    # A target may be a number instead of a class, ranged if its range is public. The type of classes follows from what
    # is public: whole numbers if all given classes are such, else text. Where the command
    # counts records or people, it points out columns that look like identifiers and repeat; a private fit does not,
    # since that would follow from the records.

    data, person = file.path, file.person
    names = None if classes is None else _typed(class_names(classes))
    public = ranged or names is not None or (domain is not None and target in domain)
    meant: dict[str, Attribute] = {} if names is None else {target: Category(names)}
    if number and (domain is None or target not in domain):
        # Each number by itself, whether its range is stated or not: of a type that all values have in common, one
        # record would decide how the others are read.
        meant = {target: ANY_NUMBER}
    meant |= identifiers(person)
    if purpose is Purpose.PRIVATE and domain is not None and public:
        return _unopened(file, target, domain, meant, names, classes, number=number)
    table = read_records(data, file.written, purpose, domain, attributes=meant)
    frame: Any = table.frame.to_native()
    weights = None if file.weights is None else _weights(frame, file, table.names)
    check_person(person, {data: table.names})
    if counts:
        tell_repeats(table, person)
    check_target(target, data, table.names)
    _check_type(nw.from_native(frame[target], series_only=True).dtype, target, number=number)
    if not public:
        _check_values(frame[target], target, number=number)
    _check_excluded(file, domain, table.names)
    frame = frame.drop([*file.exclude, *([file.weights] if file.weights else [])], strict=False)
    left_out = () if domain is None else tuple(name for name in frame.columns if name not in (*domain, target, person))
    if names is not None and table.source is not None and table.source.typed:
        names = _as_stored(names, class_names(classes or ""), nw.from_native(frame).schema[target])
    return FitInputs(frame=frame.drop(left_out), classes=names, left_out=left_out, weights=weights)


def _weights(frame: Any, file: TrainingFile, columns: Sequence[str]) -> Any:
    """Return the weights of the rows; NaN where there is no number."""
    if file.weights not in columns:
        name = str(file.weights)
        raise InvalidDataError(
            f"--weights names {name!r}, which is not a column of {file.path}.{listed(name, columns)}"
        )
    values, _ = Reader(ANY_NUMBER).column(frame[file.weights])
    return values


def _unopened(
    file: TrainingFile,
    target: str,
    domain: Domain,
    meant: Mapping[str, Attribute],
    names: tuple[Scalar, ...] | None,
    classes: str | None,
    *,
    number: bool,
) -> FitInputs:
    """Return the file of a private fit, of which the header alone is read."""
    records, columns = records_file(file.path, file.written, domain, meant)
    present = columns.names or ()
    check_person(file.person, {file.path: present})
    check_target(target, file.path, present)
    kind = (columns.kinds or {}).get(target)
    if kind is not None:
        _check_type(kind, target, number=number)
        names = None if names is None else _as_stored(names, class_names(classes or ""), kind)
    kept = [name for name in present if name not in file.exclude]
    left_out = tuple(name for name in kept if name not in (*domain, target, file.person))
    offered = tuple(name for name in kept if name not in left_out)
    return FitInputs(frame=replace(records, columns=offered), classes=names, left_out=left_out)


def _check_excluded(file: TrainingFile, domain: Domain | None, columns: Sequence[str]) -> None:
    """Raise if a column that is to be left out is none."""
    unknown = next((name for name in file.exclude if domain is None and name not in columns), None)
    if unknown is not None:
        raise InvalidDataError(
            f"--exclude names {unknown!r}, which is not a column of {file.path}.{listed(unknown, columns)}"
        )


def _typed(names: tuple[str, ...]) -> tuple[Scalar, ...]:
    """Return classes as whole numbers if all of them are such."""
    return tuple(map(int, names)) if all(map(_is_whole, names)) else names


def _is_whole(name: str) -> bool:
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(name)) == name and abs(int(name)) < LARGEST


def _check_type(kind: Any, name: str, *, number: bool) -> None:
    """Refuse a target of a declared type that holds no classes or numbers."""
    if kind.is_nested() or kind.is_temporal() or (kind == nw.Decimal and not number):
        raise InvalidDataError(
            f"the target {name!r} has the type {kind}, which holds no classes.", remedy="Convert it to text."
        )


def _check_values(column: Any, name: str, *, number: bool) -> None:
    """Refuse a target whose values are no classes or numbers, where nothing of it is public."""
    kind = column.dtype
    # Lines of a private fit stand alone, so that a column of numbers is one of texts that read as such.
    if number and not kind.is_numeric() and not _holds_number(column):
        raise InvalidDataError(
            f"the target {name!r} holds no numbers.", remedy="Name another column, or declare classes."
        )
    if not number and kind.is_float() and not bool((column.drop_nulls() == column.drop_nulls().floor()).all()):
        raise InvalidDataError(
            f"the target {name!r} holds fractions, which are no classes.", remedy="Name another column."
        )


def _holds_number(column: Any) -> bool:
    """Return whether any value of a column reads as a number."""
    numbers, _ = Reader(ANY_NUMBER).column(column)
    return not bool(np.isnan(numbers).all())


def _as_stored(names: tuple[Scalar, ...], texts: tuple[str, ...], kind: Any) -> tuple[Scalar, ...]:
    """Return classes in the type of the column of a typed file."""
    truths = {"true": True, "false": False}
    if kind == nw.Boolean and {text.lower() for text in texts} <= set(truths):
        return tuple(truths[text.lower()] for text in texts)
    return texts if kind in (nw.String, nw.Categorical, nw.Enum) else names
