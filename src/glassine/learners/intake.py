"""What goes into a fit: records that conform to the domain, classes, and what had to be taken from the data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from glassine.counting import CountTable
from glassine.counting.bitsets import BitSets
from glassine.domain import Binary, Category, Domain, Integer, Literal
from glassine.domain.attributes import Scalar, is_scalar
from glassine.domain.conforming import Columns, conform
from glassine.domain.inference import infer
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError, InvalidParameterError, PrivacyLeakWarning

__all__ = [
    "CLASSES_FROM_DATA",
    "DOMAIN_FROM_DATA",
    "Intake",
    "as_frame",
    "first_column",
    "named_records",
    "pack",
    "pop_target",
    "read_records",
    "take_in",
    "without_target",
]

DOMAIN_FROM_DATA = "domain inferred from the data: the guarantee does not cover it"
CLASSES_FROM_DATA = "classes taken from the data: the guarantee does not cover their names"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Intake:
    """Records and classes, ready to be counted.

    Attributes
    ----------
    columns : Columns
        The records, shape (n, d), conforming to the domain.
    labels : ndarray of int64, shape (n,)
        Index of each record's class.
    multiplicities : ndarray of int64, shape (n,), or None
        How many records each row stands for; None for one each.
    domain : Domain
        The public domain of the attributes, without the target.
    classes : tuple of scalars
        The public classes.
    caveats : tuple of str
        What was taken from the data although it should be public.
    """

    columns: Columns
    labels: npt.NDArray[np.int64]
    multiplicities: npt.NDArray[np.int64] | None
    domain: Domain
    classes: tuple[Scalar, ...]
    caveats: tuple[str, ...]

    @property
    def n_records(self) -> int:
        """Number of records, multiplicities counted."""
        return len(self.labels) if self.multiplicities is None else int(self.multiplicities.sum())


def take_in(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    domain: Domain | None,
    classes: Sequence[Scalar] | None,
    sample_weight: Any = None,
    warn: bool,
) -> Intake:
    """Read the arguments of a fit.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_`` and, for named columns, ``feature_names_in_``.
    X : data frame, array-like of shape (n, d), or CountTable
        The records.
    y : array-like of shape (n,), or str
        The classes, or the name of the column of ``X`` that holds them.
    domain : Domain or None
        The public domain; it may declare the target. None infers it from the data.
    classes : sequence of scalars or None
        The public classes. None takes them from the domain's attribute of the target's name, or from the data.
    sample_weight : array-like of shape (n,), optional
        Whole numbers: how many records each row stands for.
    warn : bool
        Whether to warn of what is taken from the data.

    Raises
    ------
    InvalidDataError
        If the data lack a column, have one too many, or hold a class that is not declared.
    """
    if domain is not None and not isinstance(domain, Domain):
        raise InvalidParameterError(f"domain must be a Domain or None, got {type(domain).__name__}. Declare one.")
    target = y if isinstance(y, str) else getattr(y, "name", None)
    multiplicities = None
    if isinstance(X, CountTable):
        X, y, multiplicities, domain = _open_table(X, y)
    elif isinstance(y, str):
        X, y = pop_target(X, y)
    if y is None:
        raise InvalidDataError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    names, records = _named(estimator, X, reset=True)
    labels = _one_type(column_or_1d(y, warn=True))
    check_consistent_length(first_column(records), labels)
    if is_missing(labels).any() or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        raise InvalidDataError("Input y contains NaN, infinity or a missing value. Drop or label these records.")
    if sample_weight is not None:
        multiplicities = _multiplicities(sample_weight, len(labels))
        records, labels, multiplicities = _weighed(records, labels, multiplicities)
    caveats = []
    known = _declared_classes(domain, target, classes, labels)
    if known is None:
        known = _classes_of(labels)
        caveats.append(CLASSES_FROM_DATA)
    if domain is None:
        domain = infer(as_frame(names, records))
        caveats.append(DOMAIN_FROM_DATA)
    else:
        if isinstance(target, str) and target in domain and domain[target].inferred and classes is None:
            caveats.append(CLASSES_FROM_DATA)
        domain = without_target(domain, names, target)
        if domain.inferred:
            caveats.append(DOMAIN_FROM_DATA)
    if warn and caveats:
        _warn(caveats)
    return Intake(
        columns=records if isinstance(records, Columns) else conform(records, domain),
        labels=_index(labels, known),
        multiplicities=multiplicities,
        domain=domain,
        classes=known,
        caveats=tuple(caveats),
    )


def pack(intake: Intake, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
    """Return the records as bit sets of conjunctions."""

    def truths() -> Iterator[npt.NDArray[np.bool_]]:
        for antecedent in antecedents:
            truth = intake.columns.holds(antecedent[0])
            for literal in antecedent[1:]:
                truth &= intake.columns.holds(literal)
            yield truth

    return BitSets.pack(truths(), intake.labels, len(intake.classes), intake.multiplicities)


def read_records(estimator: Any, X: Any, domain: Domain) -> Columns:
    """Read the argument of ``predict``: the records in the domain of the fit."""
    if isinstance(X, CountTable):
        return X.columns
    _, records = _named(estimator, X, reset=False, domain=domain)
    return conform(records, domain)


def _warn(caveats: Sequence[str]) -> None:
    remedy = {
        DOMAIN_FROM_DATA: "pass domain=, read from public knowledge",
        CLASSES_FROM_DATA: "pass classes=, or declare the target in the domain",
    }
    for caveat in caveats:
        warnings.warn(f"{caveat}; {remedy[caveat]}.", PrivacyLeakWarning, stacklevel=4)


def _open_table(table: CountTable, y: Any) -> tuple[Columns, npt.NDArray[Any], npt.NDArray[np.int64], Domain]:
    if not isinstance(y, str):
        raise InvalidDataError("with a CountTable, y must be the name of its target attribute. Count the target too.")
    others = [name for name in table.domain if name != y]
    if y not in table.domain or not others:
        raise InvalidDataError(f"the count table lacks the target {y!r} or any other attribute. Count both.")
    if y in table.columns.codes and (table.columns.codes[y] < 0).any():
        raise InvalidDataError(f"the target {y!r} holds a value that is missing or not declared. Declare or drop it.")
    return table.columns.restrict(others), table.columns.values(y), table.multiplicities, table.domain


def pop_target(X: Any, target: str) -> tuple[Any, npt.NDArray[Any]]:
    """Separate the target from a frame."""
    try:
        frame = nw.from_native(X)
    except TypeError:
        raise InvalidDataError("y names a column, so X must be a data frame. Pass the classes as an array.") from None
    eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    if target not in eager.columns:
        raise InvalidDataError(f"data lack the target column {target!r}. Add or rename it.")
    return eager.drop(target).to_native(), eager[target].to_numpy()


def _named(
    estimator: BaseEstimator, X: Any, *, reset: bool, domain: Domain | None = None
) -> tuple[tuple[str, ...], Any]:
    """Return the names of the columns, and the records as a frame, as arrays by name, or as they were if conforming."""
    if isinstance(X, Columns):
        if reset:
            _name_features(estimator, X.names)
        return X.names, X
    frame = None
    if not isinstance(X, np.ndarray | list | tuple):
        try:
            frame = nw.from_native(X)
        except nw.exceptions.DuplicateError:
            raise InvalidDataError("the columns of X must have different names. Rename one.") from None
        except (TypeError, nw.exceptions.NarwhalsError):
            frame = None
    if frame is None or not any(isinstance(name, str) for name in frame.columns):
        declared = domain if domain is not None else getattr(estimator, "domain", None)
        array = _array(estimator, X, reset=reset, texts=isinstance(declared, Domain))
        names = tuple(domain) if domain is not None else _array_names(estimator, array.shape[1])
        return names, {name: array[:, i] for i, name in enumerate(names)}
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if any(not isinstance(name, str) for name in frame.columns):
        raise InvalidDataError("columns must be named by strings. Rename them.")
    names = tuple(frame.columns)
    if not reset:
        return _columns_for_predict(estimator, frame, names)
    if not len(frame):
        raise InvalidDataError("Found array with 0 sample(s) while a minimum of 1 is required. Check the data.")
    if not names:
        raise InvalidDataError("0 feature(s) found while a minimum of 1 is required. Check the data.")
    _name_features(estimator, names)
    return names, frame.to_native()


def _array(estimator: Any, X: Any, *, reset: bool, texts: bool) -> npt.NDArray[Any]:
    """Return an array of numbers, or of Python objects where a domain says what they are."""
    given = np.asarray(X) if isinstance(X, np.ndarray | list | tuple) else X
    objects = texts and isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in "OU"
    try:
        return np.asarray(
            validate_data(
                estimator,
                given if objects else X,
                reset=reset,
                dtype=None if objects else "numeric",
                ensure_all_finite=False,
                estimator=estimator,
            )
        )
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        # The value must not be told: it is one record's.
        raise InvalidDataError("X holds text where numbers are needed. Pass a data frame and a domain.") from None


def _columns_for_predict(estimator: Any, frame: nw.DataFrame[Any], names: tuple[str, ...]) -> tuple[Any, Any]:
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is None:
        if len(names) != estimator.n_features_in_:
            raise InvalidDataError(
                f"X has {len(names)} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input. Pass the columns of the fit."
            )
        if set(names) == set(estimator.domain_):
            return names, frame.to_native()
        if isinstance(estimator.domain, Domain):
            odd = next(name for name in (*names, *estimator.domain_) if (name in names) != (name in estimator.domain_))
            raise InvalidDataError(
                f"the columns of X are not the attributes of the domain: {odd!r} is in one of them only. "
                "Rename or drop it, or pass an array."
            )
        kind = type(estimator).__name__
        warnings.warn(f"X has feature names, but {kind} was fitted without feature names", UserWarning, stacklevel=4)
        generic = _array_names(estimator, len(names))
        return generic, {new: frame[old].to_numpy() for new, old in zip(generic, names, strict=True)}
    return names, frame.to_native()


def _name_features(estimator: Any, names: Sequence[str]) -> None:
    estimator.n_features_in_ = len(names)
    estimator.feature_names_in_ = np.array(names, dtype=object)


def _array_names(estimator: Any, width: int) -> tuple[str, ...]:
    domain = getattr(estimator, "domain", None)
    if isinstance(domain, Domain):
        if len(domain) != width:
            raise InvalidDataError(
                f"X has {width} columns without names, but the domain has {len(domain)} attributes. "
                "Pass a data frame, or one column per attribute in order."
            )
        return domain.names
    return tuple(f"x{i}" for i in range(width))


def named_records(estimator: BaseEstimator, X: Any) -> tuple[tuple[str, ...], Any]:
    """Return the names of the columns of training records, and the records as a frame or as arrays by name."""
    return _named(estimator, X, reset=True)


def first_column(records: Any) -> Any:
    """Return something as long as the records."""
    if isinstance(records, Columns):
        return records.array(records.names[0])
    if isinstance(records, dict):
        return next(iter(records.values()))
    return records


def as_frame(names: Sequence[str], records: Any) -> Any:
    """Return records without gaps as a frame, from which a domain may be inferred."""
    if isinstance(records, dict):
        import polars as pl

        for name in names:
            if not np.isfinite(np.asarray(records[name], dtype=float)).all():
                raise InvalidDataError(
                    f"Input X contains NaN or infinity in column {name!r}. Replace these values, or declare a domain "
                    "in which the attribute may be missing."
                )
        return pl.DataFrame({name: np.ascontiguousarray(records[name]) for name in names})
    return records


def without_target(domain: Domain, names: Sequence[str], target: object) -> Domain:
    """Return the domain of the columns; every attribute but the target must be a column, and the other way round."""
    for name in names:
        if name not in domain:
            raise InvalidDataError(f"column {name!r} is not an attribute of the domain. Declare it, or drop it.")
    for name in domain:
        if name not in names and name != target:
            raise InvalidDataError(f"data lack the column {name!r} of the domain. Add it, or drop the attribute.")
    return domain if len(names) == len(domain) else domain.restrict([name for name in domain if name in names])


def _declared_classes(
    domain: Domain | None, target: object, classes: Sequence[Scalar] | None, labels: npt.NDArray[Any]
) -> tuple[Scalar, ...] | None:
    if isinstance(classes, str):
        raise InvalidParameterError(f"classes must be a sequence of classes, got the string {classes!r}. List them.")
    if classes is not None:
        known = tuple(value.item() if isinstance(value, np.generic) else value for value in classes)
        if not known or len(set(known)) < len(known) or not all(is_scalar(value) for value in known):
            raise InvalidParameterError(f"classes must be different scalars, at least one, got {classes!r}.")
        return known
    if domain is not None and isinstance(target, str) and target in domain:
        attribute = domain[target]
        if isinstance(attribute, Category):
            return attribute.values
        if isinstance(attribute, Binary):
            return (0, 1)
        if isinstance(attribute, Integer) and attribute.hi - attribute.lo < 100:
            return tuple(range(attribute.lo, attribute.hi + 1))
        raise InvalidDataError(f"the target {target!r} is a number in the domain. Declare it as a Category.")
    if labels.dtype.kind == "b":
        return (False, True)
    return None


def _one_type(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels of Python objects as an array of their type, if they have one and the same."""
    if labels.dtype.kind != "O":
        return labels
    kinds = {type(value) for value in labels.tolist()}
    return np.array(labels.tolist()) if len(kinds) == 1 and kinds <= {bool, int, str, float} else labels


def _classes_of(labels: npt.NDArray[Any]) -> tuple[Scalar, ...]:
    """Return the classes that occur, in order."""
    try:
        check_classification_targets(labels)
        return tuple(np.unique(labels).tolist())
    except (ValueError, TypeError) as error:
        raise InvalidDataError(f"{error} Give one class per record, all of one type, or declare the classes.") from None


def _index(labels: npt.NDArray[Any], classes: tuple[Scalar, ...]) -> npt.NDArray[np.int64]:
    at = {value: i for i, value in enumerate(classes)}
    if labels.dtype.kind == "O":
        values, inverse = labels, np.arange(len(labels))
    else:
        values, inverse = np.unique(labels, return_inverse=True)
    try:
        codes = np.array([at.get(value, -1) for value in values.tolist()])
    except TypeError:
        raise InvalidDataError("the classes must be numbers, Booleans or strings. Convert them.") from None
    if (codes < 0).any():
        raise InvalidDataError(
            f"the target holds a value that is not one of the declared classes {list(classes)}. Declare or drop it."
        )
    return codes[inverse].astype(np.int64)


def _multiplicities(sample_weight: Any, n: int) -> npt.NDArray[np.int64]:
    weights = np.full(n, sample_weight) if isinstance(sample_weight, int | float) else np.asarray(sample_weight)
    if weights.shape != (n,):
        raise InvalidDataError(f"sample_weight must have shape ({n},), got {weights.shape}. Give one per record.")
    if not np.issubdtype(weights.dtype, np.number) or not (np.asarray(weights, dtype=float) >= 0).all():
        raise InvalidDataError("sample_weight must hold numbers of at least 0. Drop the records instead.")
    whole = np.asarray(weights, dtype=float)
    if not (whole == np.floor(whole)).all() or not (whole < 2**53).all():
        raise InvalidDataError(
            "sample_weight must hold whole numbers: how many records a row stands for. Scale and round them."
        )
    if not whole.any():
        raise InvalidDataError("sample_weight must not be zero for every record. Give some record a weight.")
    return whole.astype(np.int64)


def _weighed(
    records: Any, labels: npt.NDArray[Any], multiplicities: npt.NDArray[np.int64]
) -> tuple[Any, npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Leave out the rows that stand for no record."""
    kept = multiplicities > 0
    if kept.all():
        return records, labels, multiplicities
    if isinstance(records, Columns):
        left: Any = records.take(kept)
    elif isinstance(records, dict):
        left = {name: column[kept] for name, column in records.items()}
    else:
        left = nw.from_native(records)[np.flatnonzero(kept).tolist()].to_native()
    return left, labels[kept], multiplicities[kept]
