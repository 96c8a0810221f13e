"""What goes into a fit: records that conform to the domain, classes, and what had to be taken from the data."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from glassine.counting import CountTable
from glassine.counting.bitsets import BitSets
from glassine.counting.engines import held, is_lazy, totals
from glassine.counting.frames import truths
from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.domain.conforming import Columns, conform
from glassine.domain.inference import infer
from glassine.errors import InvalidDataError, InvalidParameterError, PrivacyLeakWarning
from glassine.learners.class_labels import classes_of, declared_classes, index_of, one_type, refuse_gaps
from glassine.learners.engine_intake import EngineIntake, Weighed

__all__ = [
    "CLASSES_FROM_DATA",
    "DOMAIN_FROM_DATA",
    "HeldIntake",
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


class Intake(Protocol):
    """Records and classes, ready to be counted: held in memory, or left where an engine holds them."""

    @property
    def columns(self) -> Columns:
        """Rows that conform to the domain, shape (m, d)."""
        ...

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """Index of each row's class, shape (m,)."""
        ...

    @property
    def multiplicities(self) -> npt.NDArray[np.int64] | None:
        """How many records each row stands for, shape (m,); None for one each."""
        ...

    @property
    def domain(self) -> Domain:
        """The public domain of the attributes, without the target."""
        ...

    @property
    def classes(self) -> tuple[Scalar, ...]:
        """The public classes."""
        ...

    @property
    def caveats(self) -> tuple[str, ...]:
        """What was taken from the data although it should be public."""
        ...

    @property
    def n_records(self) -> int:
        """Number of records, multiplicities counted."""
        ...

    def numbers(self, name: str, cuts: Sequence[float] | None = None) -> Weighed:
        """Return the values of a number that are not missing, and how many records have each.

        Parameters
        ----------
        name : str
            The attribute.
        cuts : sequence of float, optional
            Points to which alone the values will be compared: they may come as the largest numbers of their cells.
        """

    def pack(self, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
        """Return the records as bit sets of conjunctions."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HeldIntake:
    """Records and classes in memory; attributes as of :class:`Intake`."""

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

    def numbers(self, name: str, cuts: Sequence[float] | None = None) -> Weighed:
        """Return the values of a number that are not missing, and how many records have each."""
        values = self.columns.numbers[name]
        present = ~np.isnan(values)
        return values[present], None if self.multiplicities is None else self.multiplicities[present]

    def pack(self, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
        """Return the records as bit sets of conjunctions."""
        return BitSets.pack(truths(self.columns, antecedents), self.labels, len(self.classes), self.multiplicities)


def take_in(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    domain: Domain | None,
    classes: Sequence[Scalar] | None,
    sample_weight: Any = None,
    warn: bool,
    apart: bool = False,
) -> Intake:
    """Read the arguments of a fit.

    A lazy frame with a domain, and with the name of its target as ``y``, is left where it is: its engine counts.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_`` and, for named columns, ``feature_names_in_``.
    X : data frame, array-like of shape (n, d), or CountTable
        The records.
    y : array-like of shape (n,), or str
        The classes, or the name of the column of ``X`` that holds them.
    domain : Domain or None
        The public domain; it may declare the target. None infers it from the data, which must be in memory then.
    classes : sequence of scalars or None
        The public classes. None takes them from the domain's attribute of the target's name, or from the data.
    sample_weight : array-like of shape (n,), optional
        Whole numbers: how many records each row stands for.
    warn : bool
        Whether to warn of what is taken from the data.
    apart : bool, default=False
        Whether categories that are not declared are told from missing ones, as by
        :func:`glassine.domain.conforming.conform`. Records that conform already, and tables, are taken as they are.

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
        if domain is not None and sample_weight is None and is_lazy(X):
            return _left_in_place(estimator, X, y, domain=domain, classes=classes, warn=warn, apart=apart)
        X, y = pop_target(X, y)
    if y is None:
        raise InvalidDataError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    names, records = _named(estimator, X, reset=True)
    labels = one_type(column_or_1d(y, warn=True))
    check_consistent_length(first_column(records), labels)
    refuse_gaps(labels)
    if sample_weight is not None:
        multiplicities = _multiplicities(sample_weight, len(labels))
        records, labels, multiplicities = _weighed(records, labels, multiplicities)
    known, caveats = _known_classes(domain, target, classes, labels)
    whole = infer(as_frame(names, records)) if domain is None else without_target(domain, names, target)
    if whole.inferred:
        caveats.append(DOMAIN_FROM_DATA)
    if warn and caveats:
        _warn(caveats)
    return HeldIntake(
        columns=records if isinstance(records, Columns) else conform(records, whole, apart=apart),
        labels=index_of(labels, known),
        multiplicities=multiplicities,
        domain=whole,
        classes=known,
        caveats=tuple(caveats),
    )


def _left_in_place(
    estimator: Any,
    X: Any,
    target: str,
    *,
    domain: Domain,
    classes: Sequence[Scalar] | None,
    warn: bool,
    apart: bool,
) -> Intake:
    """Read the classes of a lazy frame, and look through its records, which stay where they are."""
    columns = nw.from_native(X).collect_schema().names()
    if target not in columns:
        raise InvalidDataError(f"data lack the target column {target!r}. Add or rename it.")
    names = tuple(name for name in columns if name != target)
    if any(not isinstance(name, str) for name in names):
        raise InvalidDataError("columns must be named by strings. Rename them.")
    if not names:
        raise InvalidDataError("0 feature(s) found while a minimum of 1 is required. Check the data.")
    _name_features(estimator, names)
    attributes = without_target(domain, names, target)
    values, counts = totals(X, {name: attributes[name] for name in attributes}, target, apart=apart)
    if not counts.sum():
        raise InvalidDataError("Found array with 0 sample(s) while a minimum of 1 is required. Check the data.")
    values = one_type(values)
    refuse_gaps(values)
    # scikit-learn looks at how often classes occur, but not beyond that they recur.
    known, caveats = _known_classes(domain, target, classes, np.repeat(values, np.minimum(counts, 3)))
    index_of(values, known)
    if attributes.inferred:
        caveats.append(DOMAIN_FROM_DATA)
    if warn and caveats:
        _warn(caveats, deeper=1)
    return EngineIntake(
        frame=X,
        target=target,
        apart=apart,
        n_records=int(counts.sum()),
        domain=attributes,
        classes=known,
        caveats=tuple(caveats),
    )


def _known_classes(
    domain: Domain | None, target: object, classes: Sequence[Scalar] | None, labels: npt.NDArray[Any]
) -> tuple[tuple[Scalar, ...], list[str]]:
    """Return the classes, and a caveat where they come from the data."""
    known = declared_classes(domain, target, classes, labels)
    if known is None:
        return classes_of(labels), [CLASSES_FROM_DATA]
    named = domain is not None and isinstance(target, str) and target in domain
    inferred = named and domain is not None and domain[str(target)].inferred and classes is None
    return known, [CLASSES_FROM_DATA] if inferred else []


def pack(intake: Intake, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
    """Return the records as bit sets of conjunctions."""
    return intake.pack(antecedents)


def read_records(estimator: Any, X: Any, domain: Domain, *, apart: bool = False) -> Columns:
    """Read the argument of ``predict``: the records in the domain of the fit; ``apart`` as for :func:`take_in`."""
    if isinstance(X, CountTable):
        return X.columns
    _, records = _named(estimator, X, reset=False, domain=domain)
    return conform(records, domain, apart=apart)


def _warn(caveats: Sequence[str], deeper: int = 0) -> None:
    remedy = {
        DOMAIN_FROM_DATA: "pass domain=, read from public knowledge",
        CLASSES_FROM_DATA: "pass classes=, or declare the target in the domain",
    }
    for caveat in caveats:
        warnings.warn(f"{caveat}; {remedy[caveat]}.", PrivacyLeakWarning, stacklevel=4 + deeper)


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
    eager = held(frame)
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
    frame = held(frame)
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
