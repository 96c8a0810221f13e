"""The training records of an audit and its holdout, read once, with their classes and the persons behind them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

import narwhals as nw
import numpy as np

from glassine.data.labels import Sample, as_sample
from glassine.data.persons import listed
from glassine.data.table import Table, as_table, frame_of, held, with_persons
from glassine.domain import Domain
from glassine.errors import InvalidDataError, InvalidParameterError, parameter
from glassine.formats import as_model
from glassine.models import AdditiveModel, DecisionTree, RuleList
from glassine.records.containers import check_width
from glassine.records.engines import is_lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glassine.auditing.several import SeveralModels
    from glassine.surrogates.measuring import MeasuredExplainer
    from glassine.surrogates.release import SurrogateRelease

COLUMN = "target"
"""What a column of classes is called that were given without a name."""


# One model as a value needs none of the rooms that make and measure the other kinds, which take seconds to import.


def is_release(published: object) -> TypeGuard[SurrogateRelease | MeasuredExplainer]:
    """Return whether something published is a release of explanations, or the explainer that made one."""
    if isinstance(published, DecisionTree | RuleList | AdditiveModel):
        return False
    from glassine.surrogates.measuring import MeasuredExplainer
    from glassine.surrogates.release import SurrogateRelease

    return isinstance(published, SurrogateRelease | MeasuredExplainer)


def is_several(published: object) -> TypeGuard[SeveralModels | Sequence[object]]:
    """Return whether something published is several models of the same records."""
    if isinstance(published, DecisionTree | RuleList | AdditiveModel):
        return False
    from glassine.auditing.several import SeveralModels

    return isinstance(published, SeveralModels | list | tuple)


def read_samples(model: object, domain: Domain | None, data: Sample, holdout: object) -> tuple[Sample, Sample]:
    """Return the training records of an audit and its holdout, in the form in which measurements read them."""
    # A column that is stated of the data is also that of the holdout. For a model the target is then a column of both,
    # if it was stated; for a release it is an array of classes beside the records. Persons are part of the records.
    others = as_sample(holdout).completed(data)
    if is_release(model):
        data, others = _by_person(data, others)
        if isinstance(data.target, str) and data.data is None and others.data is None:
            raise InvalidParameterError(
                f"{parameter('target')} names a column of records, and none are given.",
                remedy=f"Pass {parameter('data')}, or the classes themselves.",
            )
        return _without_target(data, "data"), _without_target(others, "holdout")
    if is_several(model):
        if data.persons is not None or others.persons is not None:
            raise InvalidParameterError(
                f"{parameter('persons')} does not apply to several models: what they reveal together is counted in "
                "records.",
                remedy="Leave it out, or audit each model separately.",
            )
    else:
        data, others = _named(data, model, domain), _named(others, model, domain)
    data, others = _by_person(_opened(data, domain), _opened(others, domain))
    target = _column_of(data, others)
    if target is None:
        return data, others
    return _with_target(data, target, "data"), _with_target(others, target, "holdout")


def _named(sample: Sample, model: object, domain: Domain | None) -> Sample:
    """Return records with the attributes of the model as columns, if they are an array."""
    records = sample.data
    if not isinstance(records, np.ndarray):
        return sample
    from glassine.formats.sklearn.forest import is_sklearn_forest

    if is_sklearn_forest(model):
        numbered = [f"x{i}" for i in range(records.shape[-1])]
        names = tuple(getattr(model, "feature_names_in_", numbered))
    else:
        names = as_model(model, domain).attributes
    check_width(records, len(names))
    import polars as pl

    columns = {name: column.tolist() for name, column in zip(names, records.T, strict=True)}
    return replace(sample, data=pl.DataFrame(columns, strict=False))


def _opened(sample: Sample, domain: Domain | None) -> Sample:
    """Return records as a table that is read by a domain once; a lazy frame stays with its engine."""
    records = sample.data
    if records is None or is_lazy(records):
        return sample
    table = as_table(records)
    return replace(sample, data=table if domain is None else table.by({name: domain[name] for name in domain}))


def _by_person(data: Sample, others: Sample) -> tuple[Sample, Sample]:
    """Return both as tables that know their persons, where persons are stated; a lazy one of this machine is read."""
    if data.persons is None and others.persons is None:
        return data, others
    sides: list[Table | None] = []
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
        records = sample.data if frame is None or isinstance(sample.data, Table) else Table(held(frame))
        sides.append(with_persons(records, sample.persons, what))
    members, strangers = sides
    if members is None and strangers is None:
        raise InvalidParameterError(
            f"{parameter('persons')} says whose records are given, and none are.", remedy=f"Pass {parameter('data')}."
        )
    return replace(data, data=members), replace(others, data=strangers)


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
    taken = data.data.names if isinstance(data.data, Table) else ()
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
    if not isinstance(records, Table):
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
    table = Table(records.frame.with_columns(column), records.source, persons=records.persons).by(records.declared)
    return replace(sample, data=table, target=name)


def _check_column(target: str, table: Table, what: str) -> None:
    if target not in table.names:
        raise InvalidDataError(f"the {what} lack the target column {target!r}.", remedy="Check its name.")
