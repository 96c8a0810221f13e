"""Several regressions of one data set as the subject of an audit: in whom their samples differ, and what follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from glassine.attacks.differences import (
    FittedSample,
    FollowingOutcomes,
    SampleDifference,
    complete_records,
    difference_cells,
    following_outcomes,
    sample_differences,
    stated_differences,
    unlike_tables,
    unsolved,
)
from glassine.attacks.outcome import Measured, Measurement, NotApplicable
from glassine.auditing.facts import EffectiveParameters, Fact, FittedValues, Inapplicable, Sizes
from glassine.auditing.findings import GuaranteeFinding, SeveralSummary
from glassine.auditing.findings.differences import DifferenceFinding, DifferencesFinding, TableFinding
from glassine.auditing.following import single_values
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.regression import uncalibrated
from glassine.auditing.several_models import SeveralModels
from glassine.auditing.size_criteria import SMALL
from glassine.auditing.subject import ALONE, OpenedModel, Raw, Subject
from glassine.auditing.suppression import Suppression
from glassine.auditing.training_records import of_sample
from glassine.data.record_table import RecordTable, as_table
from glassine.errors import InvalidDataError, InvalidParameterError, Text, parameter
from glassine.models.implied import advantage_of_parameters
from glassine.models.regression import RegressionModel
from glassine.records.arrays import AnyArray, Array, Bools

DIFFERENCE = ("difference between samples", "differences between samples")
CELL = ("value of a column of 0/1 in a difference", "values of columns of 0/1 in differences")
UNLIKE = (
    "The records that {name} was fitted on are not known: it has {stated:,} records, and another number of the data "
    "have every column."
)
"""Without the number of complete records, from which it follows how many have a gap."""
SAME_NUMBER = (
    f"{{one}} and {{other}} have the same number of records. Whether these are the same ones is not known, unless the "
    f"publisher states it ({parameter('same_records')})."
)
UNEQUAL = "{one} and {other} have the same columns and outcome, and other coefficients: they are of other records."
SEVERAL_DESIGNS = (
    "The tables of {of} are of the same records, but none has the columns of all. Outcomes may follow from columns "
    "of two tables together."
)
UNNAMED = (
    f"{{name}} does not say what it predicts. If all tables predict one column, name it ({parameter('target')}, beside "
    f"{parameter('data')})."
)
UNPLACED = "{name} does not say how many records it was fitted on, so that it is not known which these are."


@dataclass(frozen=True, kw_only=True)
class SeveralRegressionsSubject(Subject):
    """Several regressions of one data set."""

    models: tuple[RegressionModel, ...]
    names: tuple[str, ...]
    table: RecordTable | None  # The records of the data set; None where there are none
    chosen: tuple[str | AnyArray | None, ...]  # Of each table, which records it was fitted on, as is stated
    stated: bool  # Whether it is stated of which records each table is, all those without a gap or others
    same: bool  # Whether it is stated that all tables are of the same records

    counts_records = True

    @classmethod
    def of(cls, opened: OpenedModel, inputs: AuditInputs, claim: GuaranteeFinding | None) -> Self:
        """Return several regressions with the records of the data set, and what is stated of them."""
        published: SeveralModels = opened.value
        stated = inputs.statements
        models = tuple(
            replace(
                model.stated(
                    n=stated.n_records if model.fit.n_records is None else None,
                    family=stated.family,
                    errors=stated.errors,
                ),
                target=model.target or inputs.target or "",
            )
            for model in published.models
        )
        names = published.names or tuple(f"model {i + 1}" for i in range(len(models)))
        if len(models) < 2:
            raise InvalidParameterError("one table has no differences.", remedy="Audit it alone, or name another.")
        if published.samples is not None and len(published.samples) != len(models):
            raise InvalidParameterError(
                f"{parameter('samples')} must be one of each model, {len(models)}, got {len(published.samples)}.",
                remedy="State them in the order of the models; None where a model was fitted on all records.",
            )
        if published.samples is not None and inputs.data is None:
            raise InvalidParameterError(
                f"{parameter('samples')} are stated, and there are no records.", remedy="Pass the records as well."
            )
        if published.same_records:
            _check_same(published, models, names)
        table = None if inputs.data is None else as_table(inputs.data)
        return cls(
            kind="several regressions",
            inputs=inputs,
            domain=inputs.domain,
            has_data=table is not None,
            # What domains declare is not asked for: tables are put together by their columns.
            has_domain=True,
            of_classes=any(model.classes is not None for model in models),
            models=models,
            names=names,
            table=table,
            chosen=published.samples or (None,) * len(models),
            stated=published.samples is not None,
            same=published.same_records,
        )

    @cached_property
    def samples(self) -> tuple[FittedSample, ...] | None:
        """Each table beside the records that it was fitted on; None without data."""
        table = self.table
        if table is None:
            return None
        return tuple(
            _sample(name, model, table, chosen)
            for name, model, chosen in zip(self.names, self.models, self.chosen, strict=True)
        )

    @cached_property
    def unlike(self) -> str:
        """Why the samples of the tables are not known, though there are data; empty if they are."""
        for own, chosen in zip(self.samples or (), self.chosen, strict=False):
            stated, complete = own.model.fit.n_records, int(own.inside.sum())
            if stated is None and not self.stated:
                return UNPLACED.format(name=own.name)
            if stated is not None and stated != complete:
                if chosen is not None:
                    return f"{own.name} has {stated:,} records, and its stated sample another number."
                return UNLIKE.format(name=own.name, stated=stated)
            outcome = None if own.outcome is None else own.outcome[own.inside]
            standing = of_sample(own.model, own.design[own.inside], outcome)
            if why := standing.mismatch or standing.unconfirmed:
                return f"Of {own.name}: {why}"
        return ""

    @property
    def placed(self) -> tuple[FittedSample, ...] | None:
        """The tables beside their samples, where these are known."""
        return None if self.unlike else self.samples

    @cached_property
    def unlike_numbers(self) -> str:
        """Why the samples of two tables may differ in anyone; empty if none do, or their numbers say in how many."""
        if self.same or self.placed is not None:
            return ""
        if (places := unlike_tables(self.models)) is not None:
            return UNEQUAL.format(one=self.names[places[0]], other=self.names[places[1]])
        numbers = [model.fit.n_records for model in self.models]
        first = next((i for i, n in enumerate(numbers) if n is not None and numbers.index(n) < i), None)
        if first is None:
            return ""
        return Text(SAME_NUMBER.format(one=self.names[numbers.index(numbers[first])], other=self.names[first]))

    @cached_property
    def unsolved(self) -> str:
        """Why what follows from the tables together is not known; empty if it is."""
        unnamed = next((name for name, model in zip(self.names, self.models, strict=True) if not model.target), "")
        if unnamed:
            return Text(UNNAMED.format(name=unnamed))
        reasons = zip(self.names, map(unsolved, self.models), strict=True)
        return next(
            (f"Of {name} it is not known what follows by subtraction: {why}" for name, why in reasons if why), ""
        )

    @cached_property
    def following(self) -> FollowingOutcomes | None:
        """Outcomes that follow from the tables; None without data or where samples or equations are not known."""
        return None if self.placed is None or self.unsolved else following_outcomes(self.placed)

    @cached_property
    def differences(self) -> tuple[SampleDifference, ...] | None:
        """By how many records samples differ; None where that is not known."""
        if self.placed is not None:
            return sample_differences(self.placed)
        if self.same:
            return ()
        numbers = [(name, model.fit.n_records) for name, model in zip(self.names, self.models, strict=True)]
        stated = [(name, n) for name, n in numbers if n is not None]
        return stated_differences(stated, SMALL) if len(stated) == len(numbers) else None

    @cached_property
    def parameters(self) -> tuple[float, int] | None:
        """Parameters of all tables together, and records; None where they are not known.

        With data, independent equations. Else the distinct columns of tables of one outcome, where all are stated to be
        of the same records, and the parameters of others added up: an upper bound.
        """
        if self.following is not None:
            return float(self.following.rank), self.following.n_records
        groups: dict[str, set[str]] = {}
        outputs: dict[str, int] = {}
        for name, model in zip(self.names, self.models, strict=True):
            if model.fit.n_records is None:
                return None
            key = model.target if self.same and model.target else f"of {name}"
            groups.setdefault(key, {""}).update(effect.name for effect in model.effects)
            outputs[key] = max(outputs.get(key, 1), model.n_outputs)
        number = sum(len(columns) * outputs[key] for key, columns in groups.items())
        return float(number), max(model.fit.n_records or 0 for model in self.models)

    @property
    def reads(self) -> tuple[str, ...]:
        """What can be stated of each table."""
        return ("n_records", "family", "errors")

    @property
    def lacks(self) -> tuple[str, ...]:
        """What the publisher can state: the number of records, where a table does not say it."""
        return () if all(model.fit.n_records is not None for model in self.models) else ("n_records",)

    def summary(self) -> SeveralSummary:
        """Return the tables in brief."""
        return SeveralSummary(models=self.names)

    def notes(self, raw: Raw) -> Iterator[str]:
        """Yield what is odd about the data, and that each table has an audit as well."""
        if self.unlike:
            yield self.unlike
        targets = [model.target for model in self.models]
        if len(set(targets)) == len(targets) > 1:
            yield "No two tables predict the same: samples are compared, and outcomes of one kind follow from no other."
        yield ALONE


def _sample(name: str, model: RegressionModel, table: RecordTable, chosen: str | AnyArray | None) -> FittedSample:
    """Return a table beside its records: those that are stated, else those without a gap."""
    columns = model.design(table.arrays)
    outcome = table.arrays.get(model.target)
    inside = complete_records(model, columns, outcome)
    if chosen is not None:
        inside = _stated_sample(name, table, chosen)
    # A regression through the origin states no sum of all outcomes.
    design: Array = np.column_stack([np.full(len(columns), float(model.has_intercept)), columns])
    return FittedSample(name=name, model=model, inside=inside, design=design, outcome=outcome)


def _check_same(published: SeveralModels, models: tuple[RegressionModel, ...], names: tuple[str, ...]) -> None:
    """Raise if it cannot hold that all tables are of the same records."""
    if published.samples is not None:
        raise InvalidParameterError(
            f"{parameter('same_records')} and {parameter('samples')} are stated.", remedy="State one of them."
        )
    stated = {model.fit.n_records: name for name, model in zip(names, models, strict=True) if model.fit.n_records}
    if len(stated) > 1:
        (n, one), (m, other) = list(stated.items())[:2]
        raise InvalidParameterError(
            f"{parameter('same_records')} is stated, and {one} has {n:,} records, {other} {m:,}.",
            remedy="Leave it out, or have the publisher fit all tables on the same records.",
        )
    if (places := unlike_tables(models)) is not None:
        why = UNEQUAL.format(one=names[places[0]], other=names[places[1]])
        raise InvalidParameterError(
            f"{parameter('same_records')} is stated, and cannot hold: {why}",
            remedy="Leave it out, or have the publisher fit all tables on the same records.",
        )


def _stated_sample(name: str, table: RecordTable, chosen: str | AnyArray) -> Bools:
    """Return which records a table was fitted on, by a column of 0/1 or an array."""
    what = f"the sample of {name}"
    if isinstance(chosen, str):
        if chosen not in table.arrays:
            raise InvalidDataError(f"{what} is {chosen!r:.60}, no column of the data.", remedy="Name one of 0 and 1.")
        chosen, what = table.arrays[chosen], f"the column {chosen!r:.60}"
    values = np.asarray(chosen)
    if values.shape != (len(table),) or values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise InvalidDataError(
            f"{what} must hold 0 or 1 for each of {len(table):,} records.",
            remedy="1 stands for the records that the table was fitted on.",
        )
    if not values.any():
        raise InvalidDataError(f"{what} holds no record.", remedy="1 stands for those that the table was fitted on.")
    return np.asarray(values == 1)


# What measurements find, as criteria read it.


def _facts(subject: SeveralRegressionsSubject, outcome: object, raw: Raw) -> dict[str, Fact[Any]]:
    return {"groups": _groups(subject), "fitted": _fitted(subject), "implied": _implied(subject)}


def _groups(subject: SeveralRegressionsSubject) -> Fact[Sizes]:
    """Return how many records are in one sample and not in another, in each column of 0/1 as well."""
    gaps = subject.differences
    if gaps is None:
        return NotApplicable("a table does not say how many records it was fitted on.")
    doubt = subject.unlike_numbers
    if not gaps:
        if doubt:
            return Measured(Sizes(parts={}, unsettled=doubt))
        said = "" if subject.placed is not None else ", as is stated"
        return Inapplicable(f"The tables were fitted on the same records{said}.")
    cells = () if subject.placed is None else difference_cells(subject.placed)
    parts = {DIFFERENCE: tuple(one.n for one in gaps), **({CELL: cells} if cells else {})}
    return Measured(Sizes(parts=parts, unsettled=subject.unlike or doubt))


def _fitted(subject: SeveralRegressionsSubject) -> Fact[FittedValues]:
    """Return how many values of single records a table publishes or determines, or how many follow by subtraction."""
    alone = [(name, *single_values(model.fit)) for name, model in zip(subject.names, subject.models, strict=True)]
    if any(number for _, number, _ in alone):
        reasons = tuple(f"Of {name}: {reason}" for name, _, own in alone for reason in own)
        return Measured(FittedValues(number=sum(number for _, number, _ in alone), reasons=reasons))
    solved = subject.following
    if solved is None:
        return _by_numbers(subject)
    if not solved.n_together:
        return Measured(FittedValues(number=0, reasons=("No outcome follows from the tables by subtraction.",)))
    said = "Outcomes of single records follow from the tables together"
    if solved.n_recovered is None:
        return Measured(FittedValues(number=_at_least(solved.n_together), reasons=(f"{said}, up to their digits.",)))
    if 2 * solved.n_recovered > solved.n_together:
        said_so = f"{said}: the published digits give most of them."
        return Measured(FittedValues(number=_at_least(solved.n_together), reasons=(said_so,)))
    doubt = f"{said}, but not by the digits that are published, as far as was tried."
    return Measured(FittedValues(number=0, unsettled=doubt))


def _at_least(n: int) -> int:
    """Return a number of records rounded down, so that no size of a difference follows."""
    return n // SMALL * SMALL or 1


def _by_numbers(subject: SeveralRegressionsSubject) -> Fact[FittedValues]:
    """Return what follows without the data: nothing new where all are of the same records, and one has all columns.

    Else columns of two tables together may hold one person, such as those of the people above 40 and above 41.
    """
    gaps = subject.differences
    if gaps is None:
        return NotApplicable("a table does not say how many records it was fitted on.")
    if gaps and subject.placed is None:
        # Of many records as well: one that is alone in a column of 0/1 follows.
        one = min(gaps, key=lambda one: one.n)
        than = " and ".join(one.smaller)
        may = (
            f"The sample of {one.larger} has {one.n:,} {'record' if one.n == 1 else 'records'} more than {than}. If it "
            "holds theirs, outcomes may follow by subtraction."
        )
        return Measured(FittedValues(number=0, unsettled=may))
    designs: dict[str, list[set[object]]] = {}
    for model in subject.models:
        designs.setdefault(model.target, []).append({effect.factors for effect in model.effects})
    split = next((of for of, own in designs.items() if set().union(*own) not in own), None)
    doubt = subject.unlike_numbers or subject.unlike or subject.unsolved
    if not doubt and split is not None:
        doubt = SEVERAL_DESIGNS.format(of=split)
    said = "The tables are of the same records, as is stated, and one of each outcome has all columns of the others."
    return Measured(FittedValues(number=0, reasons=(said,), unsettled=doubt))


def _implied(subject: SeveralRegressionsSubject) -> Fact[EffectiveParameters]:
    """Return the parameters of all tables per record, where the advantage that they imply is within the limit.

    Weights of independent equations add up; how far beyond the limit they lie was not calibrated for several tables.
    """
    reasons = zip(subject.names, map(uncalibrated, subject.models), strict=True)
    if reason := next((f"of {name}, {why}" for name, why in reasons if why), ""):
        return NotApplicable(reason)
    together = subject.parameters
    if together is None or not together[1]:
        return NotApplicable("a table does not say how many records it was fitted on.")
    per_record = together[0] / together[1]
    advantage = advantage_of_parameters(per_record, "regression")
    limit = subject.inputs.policy.largest_advantage
    if limit is not None and advantage > limit:
        return NotApplicable(
            f"the tables have {together[0]:,.0f} parameters on {together[1]:,} records together, and how they add up "
            "was not calibrated."
        )
    return Measured(EffectiveParameters(per_record=per_record, advantage=advantage, unsettled=subject.unlike))


# What findings show.


def _hide(subject: SeveralRegressionsSubject, suppression: Suppression) -> DifferencesFinding:
    counted, solved, implied = subject.placed is not None, subject.following, _implied(subject)
    gaps = subject.differences
    tables = tuple(
        TableFinding(
            name=name,
            target=model.target,
            n_records=model.fit.n_records,
            n_parameters=model.fit.n_parameters,
            covariance="covariance matrix" in model.fit.published,
        )
        for name, model in zip(subject.names, subject.models, strict=True)
    )
    unknown = subject.unlike_numbers or subject.unlike or subject.unsolved
    if gaps is None:
        unknown = unknown or "A table does not say how many records it was fitted on."
    return DifferencesFinding(
        tables=tables,
        differences=tuple(
            DifferenceFinding(larger=one.larger, smaller=one.smaller, n=suppression.count(one.n) if counted else one.n)
            for one in gaps or ()
        ),
        counted=counted,
        unknown=unknown,
        n_together=None if solved is None else suppression.rough(solved.n_together),
        n_alone=None if solved is None else suppression.rough(solved.n_alone),
        n_recovered=None if solved is None or solved.n_recovered is None else suppression.rough(solved.n_recovered),
        parameters_per_record=None if subject.parameters is None else _per_record(*subject.parameters),
        advantage=round(implied.value.advantage, 3) if isinstance(implied, Measured) else None,
    )


def _per_record(parameters: float, n: int) -> float | None:
    return float(f"{parameters / n:.3g}") if n else None


DIFFERENCES = Measurement[SeveralRegressionsSubject, SeveralRegressionsSubject](
    "differences",
    "Differences between samples",
    "What follows from the tables by subtraction?",
    DifferencesFinding,
    run=Measured,
    hide=_hide,
    facts=_facts,
)

SeveralRegressionsSubject.measurements = (DIFFERENCES,)
