"""The training records of an audit and its holdout, read once, with their classes and the persons behind them."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from glassine.data.labels import Sample
from glassine.data.record_table import RecordTable, as_table, collected, frame_of, table_of, with_persons
from glassine.domain import Domain
from glassine.errors import InvalidDataError, InvalidParameterError, parameter
from glassine.formats import as_model
from glassine.records.alignment import listed
from glassine.records.containers import is_lazy, schema

if TYPE_CHECKING:
    from glassine.auditing.subject import OpenedModel

COLUMN = "target"
"""What a column of classes is called that were given without a name."""


@dataclass(frozen=True, slots=True)
class Unopened:
    """Records that are opened when they are needed, such as those of a file; their columns are known before."""

    names: tuple[str, ...] | None  # The columns; None where they are not known
    open: Callable[[], object]  # Opens the records


class AnyName:
    """Columns of records that are not opened: any name may be one."""

    def __contains__(self, name: object) -> bool:
        return True


def known_names(records: object) -> Container[str] | None:
    """Return the columns of records, as far as they are known before these are opened; None where there are none."""
    if records is None:
        return None
    names = records.names if isinstance(records, Unopened | RecordTable) else None
    frame = None if names is not None or isinstance(records, Unopened) else frame_of(records)
    return names or (AnyName() if frame is None or is_lazy(records) else frame.columns)


def read_samples(opened: OpenedModel, domain: Domain | None, data: Sample, holdout: Sample) -> tuple[Sample, Sample]:
    """Return the training records of an audit and its holdout, in the form in which measurements read them."""
    # A column that is stated of the data is also that of the holdout. For a model the target is then a column of both,
    # if it was stated; for a release it is an array of classes beside the records. Persons are part of the records.
    data, others = _unsealed(data), _unsealed(holdout).completed(data)
    if opened.kind.by_array:
        data, others = _by_person(data, others)
        if isinstance(data.target, str) and data.data is None and others.data is None:
            raise InvalidParameterError(
                f"{parameter('target')} names a column of records, and none are given.",
                remedy=f"Pass {parameter('data')}, or the classes themselves.",
            )
        return _without_target(data, "data"), _without_target(others, "holdout")
    model = None if opened.kind.counts_records else opened.artefact
    if model is None and (data.persons is not None or others.persons is not None):
        raise InvalidParameterError(
            f"{parameter('persons')} does not apply to several models: what they reveal together is counted in "
            "records.",
            remedy="Leave it out, or audit each model separately.",
        )
    data, others = _by_person(*(_table(sample, model, domain) for sample in (data, others)))
    target = _column_of(data, others)
    if target is None:
        return data, others
    return _with_target(data, target, "data"), _with_target(others, target, "holdout")


def _unsealed(sample: Sample) -> Sample:
    """Return records that were not opened yet as they are then."""
    records = sample.data
    if not isinstance(records, Unopened):
        return sample
    made = records.open()
    return (
        replace(sample, data=made.data, target=made.target) if isinstance(made, Sample) else replace(sample, data=made)
    )


def _table(sample: Sample, model: object, domain: Domain | None) -> Sample:
    """Return records as a table, read by a domain; without names their columns are the model's attributes."""
    records: Any = sample.data
    # A lazy frame stays with its engine. Several models name no columns.
    if records is None or is_lazy(records):
        return sample
    if model is not None and isinstance(records, np.ndarray | list | tuple | Mapping):
        from glassine.formats.sklearn.forest import is_sklearn_forest

        names = schema(records).names
        if names is None and is_sklearn_forest(model):
            numbered = [f"x{i}" for i in range(np.asarray(records).shape[-1])]
            names = tuple(getattr(model, "feature_names_in_", numbered))
        records = table_of(records, as_model(model, domain).attributes if names is None else names)
    table = as_table(records)
    return replace(sample, data=table if domain is None else table.by({name: domain[name] for name in domain}))


def _by_person(data: Sample, others: Sample) -> tuple[Sample, Sample]:
    """Return both as tables that know their persons, where persons are stated; a lazy one of this machine is read."""
    if data.persons is None and others.persons is None:
        return data, others
    sides: list[RecordTable | None] = []
    for sample, what in ((data, "data"), (others, "holdout")):
        if sample.data is None:
            if sample.persons is not None and not isinstance(sample.persons, str):
                raise InvalidParameterError(
                    f"{parameter('persons')} says whose records the {what} are, and none are given.",
                    remedy="Pass both.",
                )
            sides.append(None)
            continue
        if sample.persons is None:
            raise InvalidParameterError(
                f"{parameter('persons')} is missing: whose records the {what} are must also be stated.",
                remedy="Pass it." if what == "data" else "Pass the holdout as a Sample that has its own.",
            )
        frame = frame_of(sample.data)
        records = (
            sample.data if frame is None or isinstance(sample.data, RecordTable) else RecordTable(collected(frame))
        )
        sides.append(with_persons(records, sample.persons, what))
    members, nonmembers = sides
    if members is None and nonmembers is None:
        raise InvalidParameterError(
            f"{parameter('persons')} says whose records are given, and none are.", remedy=f"Pass {parameter('data')}."
        )
    return replace(data, data=members), replace(others, data=nonmembers)


def _without_target(sample: Sample, what: str) -> Sample:
    """Return the records of a release without their classes, and these as an array."""
    target, records = sample.target, sample.data
    if not isinstance(target, str):
        return sample
    if records is None:
        return replace(sample, target=None)
    if frame_of(records) is None:
        raise InvalidParameterError(
            f"{parameter('target')} names a column, and the {what} are an array.", remedy="Pass the classes themselves."
        )
    table = as_table(records)
    _check_column(target, table, what)
    kept = table.restrict(name for name in table.names if name != target)
    return replace(sample, data=kept, target=table.frame[target].to_numpy())


def _column_of(data: Sample, others: Sample) -> str | None:
    """Return the name of the column of classes: the stated one, or an unused one."""
    if data.target is None or isinstance(data.target, str):
        if data.target is None and others.target is not None:
            raise InvalidParameterError(
                f"{parameter('target')} is missing: it is stated of the holdout alone.", remedy="Pass it."
            )
        return data.target
    if others.data is not None and others.target is None:
        raise InvalidParameterError(
            f"{parameter('target')} holds the classes of the data alone.",
            remedy="Pass the holdout as a Sample that has its own.",
        )
    named = getattr(data.target, "name", None)
    if isinstance(named, str) and named:
        return named
    taken = data.data.names if isinstance(data.data, RecordTable) else ()
    return next(name for name in (COLUMN + "_" * i for i in range(len(taken) + 1)) if name not in taken)


def _with_target(sample: Sample, name: str, what: str) -> Sample:
    """Return the records of a model with their classes in the column of that name."""
    target, records = sample.target, sample.data
    if target is None or (isinstance(target, str) and target == name):
        return sample
    if records is None:
        raise InvalidParameterError(
            f"{parameter('target')} holds the classes of the {what}, and none are given.", remedy="Pass both."
        )
    if not isinstance(records, RecordTable):
        raise InvalidParameterError(
            f"{parameter('target')} of a lazy frame must be one of its columns.",
            remedy="Name it, or collect the frame.",
        )
    if isinstance(target, str):
        _check_column(target, records, what)
        target = records.frame[target].to_list()
    classes = listed(target, "target")
    if len(classes) != len(records):
        raise InvalidDataError(
            f"the {what} have {len(records)} records but {len(classes)} classes.", remedy="Pass one for each record."
        )
    column = nw.new_series(name, classes, backend=records.frame.implementation)
    frame = records.frame.with_columns(column)
    table = RecordTable(frame, records.source, persons=records.persons, lines=records.lines).by(records.declared)
    return replace(sample, data=table, target=name)


def _check_column(target: str, table: RecordTable, what: str) -> None:
    if target not in table.names:
        raise InvalidDataError(f"the {what} lack the target column {target!r}.", remedy="Check its name.")
