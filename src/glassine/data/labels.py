"""Training records beside their labels: which classes there are, samples with the persons behind them, subgroups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from glassine.domain import Binary, Category, Domain, Integer
from glassine.domain.attributes import Scalar, is_scalar
from glassine.domain.literals import is_missing
from glassine.domain.prefixes import prefixes
from glassine.errors import InvalidDataError, InvalidParameterError, first_of, parameter
from glassine.records.alignment import check_alignment
from glassine.records.arrays import AnyArray, Array, Indices, Ints
from glassine.records.object_columns import unmasked
from glassine.records.reading import read_settled
from glassine.records.scalars import declared_numbers

MISSING = -1
UNDECLARED = -2

_TARGET = "target"


def class_codes(y: object, classes: tuple[Scalar, ...]) -> Ints:
    """Return the place of each label among declared classes, shape (n,).

    Each label is read independently, as :func:`glassine.records.read_checked` reads a category. A missing one has the
    code -1, one that is not declared -2.

    Shapes: ``y`` (n,).

    Examples
    --------
    >>> class_codes([1, "1", "x", None, 0.5], (1, "1", "x")).tolist()
    [0, 1, 2, -1, -2]
    """
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        data: Any = series.alias(_TARGET).to_frame().to_native()
    else:
        data = {_TARGET: column_of(y)}
        words = all(isinstance(value, str) for value in classes) and not declared_numbers(classes)
        if words and data[_TARGET].dtype.kind in "iu":
            raise InvalidDataError(
                f"the target is an array of whole numbers, and the declared classes are texts: {first_of(classes, 6)}.",
                remedy="Pass the texts. Meta-estimators of scikit-learn, such as VotingClassifier, number the classes "
                f"that occur: there, train ordinary models without {parameter('classes=')}. Train private ones alone, "
                "because no certificate covers numbers that follow from the records.",
            )
    domain = Domain({_TARGET: Category(classes, missing=True)})
    return read_settled(data, domain, keep_undeclared=True).codes[_TARGET].astype(np.int64)


def column_of(y: object) -> AnyArray:
    """Return a target as an array of shape (n,), in which the values of a list stay what they are."""
    # A label in its own sequence, as in [[0], [1]], is taken out of it.
    if isinstance(y, np.ma.MaskedArray):
        y = unmasked(y)
    if not isinstance(y, list | tuple):
        # Here and below: scikit-learn takes a second to import, and audits of a model alone read no labels.
        from sklearn.utils.validation import column_or_1d

        return np.asarray(column_or_1d(y, warn=True))
    out = np.empty(len(y), dtype=object)
    for i, value in enumerate(y):
        alone = isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1 and len(value) == 1
        out[i] = value[0] if alone else value
    return out


def check_attributes(names: Sequence[object], target: str = "") -> None:
    """Raise InvalidDataError unless records have a column besides the target and the persons."""
    if not len(names):
        raise InvalidDataError(
            f"the records have no column but the target {target!r}." if target else "the records have no column.",
            remedy="Add a column that can predict it." if target else "Add one.",
        )


def check_lengths(n_records: int, n_targets: int) -> None:
    """Raise InvalidDataError, without numbers, unless there is one target per record."""
    if n_records != n_targets:
        raise InvalidDataError("X and y must have one length, and differ.", remedy="Pass one target for each record.")


def refuse_gaps(labels: AnyArray) -> None:
    """Raise InvalidDataError if a label is missing or no number that can be a class."""
    if is_missing(labels).any() or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        raise InvalidDataError(MISSING_LABEL)


MISSING_LABEL = "Input y contains NaN, infinity or a missing value. Drop or label these records."


def declared_classes(
    domain: Domain | None, target: object, classes: Sequence[Scalar] | None, *, booleans: bool
) -> tuple[Scalar, ...] | None:
    """Return the classes that are declared: given, or those of the target in the domain; None if there are none."""
    # booleans says that the target is of a type that holds truth values alone, for any records.
    if isinstance(classes, str):
        raise InvalidParameterError(
            f"{parameter('classes')} must be a sequence of classes, got the string {classes!r}.", remedy="List them."
        )
    if classes is not None:
        declared = tuple(value.item() if isinstance(value, np.generic) else value for value in classes)
        if not declared or len(set(declared)) < len(declared) or not all(is_scalar(value) for value in declared):
            raise InvalidParameterError(
                f"{parameter('classes')} must be different scalars, at least one, got {classes!r}."
            )
        return declared
    if domain is not None and isinstance(target, str) and target in domain:
        attribute = domain[target]
        if isinstance(attribute, Category):
            if prefixes(attribute.values):
                raise InvalidDataError(
                    f"the target {target!r} is declared with prefixes, and its classes must be listed.",
                    remedy="List them, or group them in the records before.",
                )
            return attribute.values
        if isinstance(attribute, Binary):
            return (0, 1)
        if isinstance(attribute, Integer) and attribute.hi - attribute.lo < 100:
            return tuple(sorted({*range(attribute.lo, attribute.hi + 1), *map(int, attribute.codes)}))
        raise InvalidDataError(
            f"the target {target!r} is a number in the domain.",
            remedy="Declare it as a Category, or train a model of numbers.",
        )
    return (False, True) if booleans else None


def one_type(labels: AnyArray) -> AnyArray:
    """Return labels of Python objects as an array of their type, if they have one and the same."""
    if labels.dtype.kind != "O":
        return labels
    kinds = {type(value) for value in labels.tolist()}
    return np.array(labels.tolist()) if len(kinds) == 1 and kinds <= {bool, int, str, float} else labels


def classes_of(labels: AnyArray) -> tuple[Scalar, ...]:
    """Return the classes that occur, in order."""
    from sklearn.utils.multiclass import check_classification_targets

    try:
        check_classification_targets(labels)
        return tuple(np.unique(labels).tolist())
    except (ValueError, TypeError) as error:
        raise InvalidDataError(f"{error} Give one class per record, all of one type, or declare the classes.") from None


def index_of(y: object, classes: tuple[Scalar, ...]) -> Ints:
    """Return the place of each label among the classes, shape (n,)."""
    codes = class_codes(y, classes)
    refuse_undeclared(codes, classes)
    return codes


def refuse_undeclared(codes: Ints, classes: tuple[Scalar, ...]) -> None:
    """Raise InvalidDataError if a code of :func:`class_codes` stands for no class."""
    if (codes == MISSING).any():
        raise InvalidDataError(MISSING_LABEL)
    if (codes == UNDECLARED).any():
        raise InvalidDataError(
            f"the target holds a value that is not one of the declared classes {list(classes)}.",
            remedy="Declare or drop it.",
        )


def class_places(values: AnyArray, classes: Sequence[object]) -> Indices:
    """Return the index of each value's class, by :func:`class_key`, shape (n,); -1 where it is none of them."""
    place = {class_key(name): i for i, name in enumerate(classes)}
    listed = values.tolist()
    if not set(map(type, listed)) <= {str, int, float, bool}:
        return np.array([place.get(class_key(value), -1) for value in listed], dtype=np.intp)
    # Each value is looked up once, as records have few classes. Of these types, equal values have equal keys.
    codes = {value: place.get(class_key(value), -1) for value in set(listed)}
    return np.fromiter(map(codes.__getitem__, listed), np.intp, len(listed))


def class_key(value: object) -> str:
    """Return a class as text, so that it is the same in a model and in a file: 1, 1.0, True and "true" are one."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    return {"true": "1", "false": "0"}.get(text.lower(), text)


def subgroups(column: AnyArray) -> dict[str, Indices]:
    """Return the rows of each value of a column; numbers of more than ten values are cut at their quartiles."""
    gaps = is_missing(column)
    out: dict[str, Indices] = {}
    present = np.flatnonzero(~gaps)
    values = column[present]
    if column.dtype.kind in "if" and len(np.unique(values)) > 10:
        numbers = values.astype(float)
        finite = numbers[np.isfinite(numbers)]
        edges = np.unique([finite.min(), *quartiles(numbers), finite.max()])
        quarter = np.clip(np.searchsorted(edges, numbers, side="left") - 1, 0, len(edges) - 2)
        for i in np.unique(quarter):
            out[f"quarter {i + 1} of {len(edges) - 1}"] = present[quarter == i]
    else:
        listed = values.tolist()
        texts = listed if set(map(type, listed)) == {str} else list(map(str, listed))
        names = sorted(set(texts))
        # Numbers are compared fifty times as fast as Python objects.
        place = {text: i for i, text in enumerate(names)}
        codes = np.fromiter(map(place.__getitem__, texts), np.intp, len(texts))
        for i, text in enumerate(names):
            out[text] = present[codes == i]
    if gaps.any():
        out["missing"] = np.flatnonzero(gaps)
    return out


def quartiles(numbers: Array) -> Array:
    """Return the three quartiles of numbers, shape (3,), none NaN; infinite ones count as the outmost finite."""
    finite = numbers[np.isfinite(numbers)]
    # Differences of halves do not overflow.
    return 2 * np.quantile(np.clip(numbers, finite.min(), finite.max()) / 2, (0.25, 0.5, 0.75))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Sample:
    """Records, their classes and their persons, as one of two sets of records.

    Attributes
    ----------
    data : data frame or ndarray, shape (n, d), or None
        The records; None where there are none.
    target : str, or array-like of shape (n,), optional
        Their classes: a column of the records, or one for each. Without it the column of the other set's.
    persons : str, or array-like of shape (n,), optional
        Whose record each is: a column of the records, or one identifier for each. Without it the column of the other
        set's.

    Examples
    --------
    >>> import numpy as np
    >>> held_out = Sample(np.array([[2.5], [0.5]]), [1, 0])
    >>> held_out.data.shape, held_out.target
    ((2, 1), [1, 0])
    """

    data: Any = None
    target: Any = None
    persons: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_alignment(self.data, target=self.target, persons=self.persons)

    def completed(self, other: Sample) -> Sample:
        """Return the same with the columns that another set of records states, where this one states nothing."""
        target = other.target if self.target is None and isinstance(other.target, str) else self.target
        persons = other.persons if self.persons is None and isinstance(other.persons, str) else self.persons
        return Sample(self.data, target, persons=persons)


def as_sample(records: object) -> Sample:
    """Return records as a sample; a sample stays the same."""
    return records if isinstance(records, Sample) else Sample(records)
