"""What goes into a fit: records that conform to the domain, classes, and what had to be taken from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples, column_or_1d

from glassine.data.count_table import CountTable
from glassine.data.inference import infer_domain
from glassine.data.labels import (
    check_lengths,
    class_codes,
    classes_of,
    declared_classes,
    one_type,
    refuse_gaps,
    refuse_undeclared,
)
from glassine.domain import Category, Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.domain.domain import check_domain
from glassine.errors import InvalidDataError
from glassine.learners.budget import CLASSES_FROM_DATA, warn_of
from glassine.learners.training_data import (
    EngineIntake,
    as_frame,
    check_target,
    first_column,
    name_columns,
    named,
    open_table,
    pop_target,
    take_rows,
    weights_of,
    without_target,
)
from glassine.models.guarantee import DOMAIN_FROM_DATA
from glassine.records.alignment import holds_booleans, target_name
from glassine.records.arrays import Ints
from glassine.records.bits import BitSets
from glassine.records.columns import ConformedColumns
from glassine.records.containers import is_lazy
from glassine.records.engines import LazyTable
from glassine.records.reading import read_settled
from glassine.records.undeclared import read_checked
from glassine.sealed.door import OF_THE_INTAKE
from glassine.sealed.persons import CountedPersons
from glassine.sealed.plan import Metadata
from glassine.sealed.store import HeldIntake

__all__ = ["CLASSES_FROM_DATA", "HeldIntake", "Intake", "pack", "read_records", "read_training"]


Intake: TypeAlias = HeldIntake | EngineIntake
"""Records and classes, ready to be counted: held in memory, or left where an engine holds them."""


def read_training(
    estimator: BaseEstimator,
    X: object,
    y: object,
    *,
    domain: Domain | None,
    classes: Sequence[Scalar] | None,
    times: CountedPersons | npt.ArrayLike | None = None,
    private: bool,
    keep_undeclared: bool = False,
) -> Intake:
    """Read the arguments of a fit."""
    # Each record is read from its own values and what is public: see conform. For a private fit with a public domain,
    # no value leads to a refusal. A record whose target is missing or not declared is then left out; how many are is
    # nowhere kept.
    #
    # A lazy frame with a domain, and with the name of its target as y, is left where it is: its engine counts.
    # Shapes: X (n, d), CountTable, or HeldIntake; y (n,), or str; times (n,), or Persons, optional.
    if isinstance(X, HeldIntake):
        return X
    check_domain(domain, optional=True)
    persons = times if isinstance(times, CountedPersons) else None
    sample_weight = None if isinstance(times, CountedPersons) else times
    target = target_name(y)
    multiplicities, per_record = None, 1
    if isinstance(X, CountTable):
        X, y, multiplicities, domain = open_table(X, y)
    elif isinstance(y, str):
        if domain is not None and sample_weight is None and is_lazy(X):
            # The engine counts: no record comes into memory.
            return _left_in_place(
                estimator, X, y, domain=domain, classes=classes, private=private, keep_undeclared=keep_undeclared
            )
        X, y = pop_target(X, y, domain)
    check_target(estimator, y)
    if persons is not None:
        domain = persons.without_column(domain)
    names, records = named(estimator, X, reset=True, target=target)
    strict = _strict(domain, private=private)
    class_values, labels, caveats = _read_target(y, domain=domain, target=target, classes=classes)
    check_lengths(_num_samples(first_column(records)), len(labels))
    rows = np.ones(len(labels), dtype=bool)
    if strict or CLASSES_FROM_DATA in caveats:
        # Where classes are the data's own, or values may be refused, a label outside is an error of the caller.
        refuse_undeclared(labels, class_values)
    else:
        # A refusal would reveal that such a record is there: it is left out, and its number is nowhere kept.
        rows = labels >= 0
    if sample_weight is not None:
        multiplicities, per_record = weights_of(sample_weight, len(labels))
    if multiplicities is not None:
        rows &= multiplicities > 0
        multiplicities = multiplicities[rows]
    if not rows.any() and (domain is None or not private):
        # Of a private fit, a refusal would reveal that no record has one of these classes, at no charge.
        raise InvalidDataError(
            f"no record has one of the declared classes {list(class_values)}.", remedy="Check the target."
        )
    records, labels = take_rows(records, rows), labels[rows]
    # From the records that are left, so that a record that is left out has no part in the domain either.
    whole = infer_domain(as_frame(names, records)) if domain is None else without_target(domain, names, target)
    if whole.inferred:
        caveats.append(DOMAIN_FROM_DATA)
    if private:
        warn_of(caveats, whole)
    if isinstance(records, ConformedColumns):
        columns = records
    elif strict:
        columns = read_checked(records, whole, keep_undeclared=keep_undeclared, training=True)
    else:
        columns = read_settled(records, whole, keep_undeclared=keep_undeclared)
    intake = HeldIntake(
        columns=columns,
        labels=labels,
        multiplicities=multiplicities,
        domain=whole,
        classes=class_values,
        caveats=tuple(caveats),
        per_record=per_record,
    )
    return intake if persons is None else _of_persons(intake, persons.take(rows))


def _of_persons(intake: HeldIntake, persons: CountedPersons) -> HeldIntake:
    """Count each record as often as its person's records allow."""
    times = persons.times(intake.columns, intake.labels)
    return replace(intake, persons=persons, multiplicities=times).take(times > 0)


def _left_in_place(
    estimator: object,
    X: Any,
    target: str,
    *,
    domain: Domain,
    classes: Sequence[Scalar] | None,
    private: bool,
    keep_undeclared: bool,
) -> Intake:
    """Read the classes of a lazy frame, and look through its records, which stay where they are."""
    attributes = name_columns(estimator, X, target, domain)
    strict = _strict(domain, private=private)
    schema = nw.from_native(X).collect_schema()
    declared = declared_classes(domain, target, classes, booleans=schema[target] == nw.Boolean)
    # As in memory: records without a declared class are left out where a refusal would reveal them.
    left_out = declared is not None and not strict
    table = LazyTable(
        frame=X,
        strict=strict,
        keep_undeclared=keep_undeclared,
        keep=target,
        required={target: Category(declared, missing=True)} if declared is not None and left_out else {},
    )
    values, counts = table.totals({name: attributes[name] for name in attributes})
    if not counts.sum() and not private:
        raise InvalidDataError(
            "Found array with 0 sample(s) while a minimum of 1 is required.", remedy="Check the data."
        )
    # scikit-learn looks at how often classes occur, but not beyond that they recur.
    recurring = np.repeat(values, np.minimum(counts, 3))
    class_values, labels, caveats = _read_target(
        recurring, domain=domain, target=target, classes=classes, declared=declared
    )
    refuse_undeclared(labels, class_values)
    if attributes.inferred:
        caveats.append(DOMAIN_FROM_DATA)
    if private:
        warn_of(caveats, attributes)
    return EngineIntake(
        table=table, n_records=int(counts.sum()), domain=attributes, classes=class_values, caveats=tuple(caveats)
    )


def _read_target(
    y: object,
    *,
    domain: Domain | None,
    target: object,
    classes: Sequence[Scalar] | None,
    declared: tuple[Scalar, ...] | None = None,
) -> tuple[tuple[Scalar, ...], Ints, list[str]]:
    """Return the classes, the code of each label among them, and a caveat where the classes come from the data."""
    class_values = declared or declared_classes(domain, target, classes, booleans=holds_booleans(y))
    if class_values is None:
        labels = one_type(column_or_1d(y, warn=True))
        refuse_gaps(labels)
        class_values = classes_of(labels)
        return class_values, class_codes(labels, class_values), [CLASSES_FROM_DATA]
    named_in_domain = domain is not None and isinstance(target, str) and target in domain
    inferred = named_in_domain and domain is not None and domain[str(target)].inferred and classes is None
    return class_values, class_codes(y, class_values), [CLASSES_FROM_DATA] if inferred else []


def metadata_of(intake: Intake, target: str = "", estimator: object = None) -> Metadata:
    """Return what is public of records."""
    return Metadata(
        domain=intake.domain,
        classes=intake.classes,
        target_range=getattr(intake, "target_range", None),
        target=target,
        caveats=intake.caveats,
        unit=intake.unit,
        weights=intake.weights,
        features={name: value for name, value in getattr(estimator, "__dict__", {}).items() if name in OF_THE_INTAKE},
        n_records=intake.n_records,
    )


def pack(intake: Intake, antecedents: Sequence[tuple[Literal, ...]]) -> BitSets:
    """Return the records as bit sets of conjunctions."""
    return intake.pack(antecedents)


def read_records(estimator: Any, X: object, domain: Domain, *, keep_undeclared: bool = False) -> ConformedColumns:
    """Read the argument of ``predict``, value by value, with ``keep_undeclared``, as in the fit."""
    if isinstance(X, CountTable | ConformedColumns):
        return X.columns if isinstance(X, CountTable) else X
    _, records = named(estimator, X, reset=False, domain=domain)
    if _strict(domain, private=estimator.model_.guarantee is not None):
        return read_checked(records, domain, keep_undeclared=keep_undeclared)
    return read_settled(records, domain, keep_undeclared=keep_undeclared)


def _strict(domain: Domain | None, *, private: bool) -> bool:
    """Return whether a value outside the domain is refused: by no private fit with a public domain."""
    return not private or domain is None or domain.inferred
