"""A regression as the subject of an audit: parameters per record, columns of 0/1, and values of single records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from glassine.attacks.outcome import Measured, Measurement, NotApplicable, Outcome, RecordNote
from glassine.auditing.facts import EffectiveParameters, Fact, FittedValues, Inapplicable, Sizes
from glassine.auditing.findings import OF_THE_MODEL, GuaranteeFinding, ModelSummary
from glassine.auditing.findings.regression import ColumnFinding, RegressionFinding
from glassine.auditing.following import (
    SHRUNK,
    Fitted,
    certain_outcomes,
    fewer_in,
    is_exact,
    is_likeliest,
    is_number,
    may_be_shrunk_away,
    may_follow,
    number_in,
    on_records,
    single_values,
)
from glassine.auditing.inputs import AuditInputs, on_shared
from glassine.auditing.model_subject import ModelSubject
from glassine.auditing.size_criteria import SMALL
from glassine.auditing.subject import OpenedModel, Raw
from glassine.auditing.suppression import Suppression
from glassine.auditing.training_records import beside_regression
from glassine.auditing.trees import MEMBERSHIP, attack_members
from glassine.data.labels import Sample
from glassine.errors import parameter
from glassine.models.effects import Equal
from glassine.models.implied import advantage_of_parameters, effective_parameters
from glassine.models.indicators import indicator_bounds, not_bounded
from glassine.models.regression import UNPRINTED, RegressionModel
from glassine.records.arrays import AnyArray

if TYPE_CHECKING:
    from glassine.attacks.membership.suite import MembershipAttacks

CALIBRATED = {"gaussian": "identity", "binomial": "logit"}
"""Families on whose regressions the law was calibrated, each with its link."""
SURVIVAL = re.compile(r"(?:survival::)?Surv\((?:time = )?[^,()]+, *(?:event = )?(?P<event>[^,()=]+)\)")
"""What R's Cox regressions predict: a column of times and one of events."""
ON_A_GRID = (
    "The rows of the baseline hazard are far fewer than the events. Whether each stands for several of them is not "
    "known without the training records, their times and events."
)
NO_OUTCOMES = (
    "Whether all people of a column share an outcome, which a penalty does not hide, is not known without the column "
    "that the model predicts."
)
HALF = 0.5
"""Leverage above which a record's outcome makes more than half of its fitted value."""
UNKNOWN_COLUMNS = (
    "whether these columns are of 0/1 is not known: {names}. Pass a domain that says it, or the training data."
)


@dataclass(frozen=True, kw_only=True)
class RegressionSubject(ModelSubject):
    """A regression."""

    model: RegressionModel
    fitted: Fitted | None  # The regression with them

    @classmethod
    def of(cls, opened: OpenedModel, inputs: AuditInputs, claim: GuaranteeFinding | None) -> Self:
        """Return a regression with what is given beside it, and what its publisher states."""
        stated = inputs.statements
        model = opened.value.stated(n=stated.n_records, family=stated.family, errors=stated.errors)
        inputs = inputs.by(model.recipe) if inputs.domain is None else inputs
        facts = cls.given_with(inputs, model.tested, model.recipe)
        columns = {} if inputs.table is None else inputs.table.arrays
        target = inputs.target or model.target
        fitted = None if inputs.table is None else on_records(model, inputs.table, target)
        if not facts["mismatch"]:
            outcome = None if fitted is None or target not in columns else columns[target][fitted.complete]
            facts |= asdict(beside_regression(model, fitted, outcome))
        of_classes = model.classes is not None
        return cls(kind="regression", guarantee=claim, model=model, fitted=fitted, of_classes=of_classes, **facts)

    @cached_property
    def sizes(self) -> tuple[int | None, ...]:
        """For each column of 0/1, the fewer of its records or people of either value; None of others or without data.

        Two other values are 0 and 1 in another unit. Of a category times a number, those of the category are counted.
        """
        if self.fitted is None:
            return (None,) * len(self.model.effects)
        columns = self.fitted.design[:, 1:].T
        return tuple(
            fewer_in(values, any(isinstance(factor, Equal) for factor in effect.factors), self.fitted.persons)
            for effect, values in zip(self.model.effects, columns, strict=True)
        )

    @cached_property
    def references(self) -> tuple[int, ...]:
        """Records, or people, of each category that no column names, of attributes with columns of values."""
        if self.fitted is None:
            return ()
        named: dict[str, list[int]] = {}
        for place, effect in enumerate(self.model.effects, start=1):
            if len(effect.factors) == 1 and isinstance(effect.factors[0], Equal):
                named.setdefault(effect.factors[0].attribute, []).append(place)
        left = [
            number_in(np.asarray(~self.fitted.design[:, places].any(axis=1)), self.fitted.persons)
            for places in named.values()
        ]
        return tuple(size for size in left if size)

    @cached_property
    def effective(self) -> float | None:
        """Effective parameters, by the records: under a penalty fewer than the coefficients."""
        fitted = self.fitted
        if fitted is None or fitted.weights is None:
            return None
        # Of a penalty of unknown strength, that of no penalty bounds it from above.
        return effective_parameters(fitted.design, fitted.weights, np.zeros(fitted.design.shape[1]))

    @cached_property
    def outcomes(self) -> AnyArray | None:
        """Outcomes of the records without a gap, shape (n,); None where they are not given, or are of more classes."""
        fitted, table, target, classes = self.fitted, self.table, self.inputs.target, self.model.classes
        if fitted is None or table is None or target not in table.arrays:
            return None
        own = np.asarray(table.arrays[target][fitted.complete])
        return own if classes is None or len(np.unique(own)) <= len(classes) else None

    @property
    def n_records(self) -> int | None:
        """Training records, or people: counted in the records that were given, else as the file or a statement says."""
        if self.fitted is None or self.table is None:
            return self.model.fit.n_records
        if self.table.persons is not None:
            return int(self.table.persons.number)
        return len(self.fitted.design)

    @property
    def reads(self) -> tuple[str, ...]:
        """What can be stated of a regression."""
        return ("n_records", "family", "errors", *(("event",) if self.model.link == "cox" else ()))

    @property
    def lacks(self) -> tuple[str, ...]:
        """What the publisher can state, so that the law of parameters says what it implies; nothing where it cannot."""
        if self.model.fit.special == (UNPRINTED,):
            return ("errors",)
        if not self.model.link and (self.inputs.data is not None or self.model.fit.n_records is not None):
            return ("family",)
        return () if self.model.fit.family and uncalibrated(self.model) else ("n_records",)

    def summary(self) -> ModelSummary:
        """Return the model in brief."""
        model = self.model
        return ModelSummary(
            kind="regression",
            source=model.source,
            n_parts=len(model.effects),
            depth=max((len(effect.factors) for effect in model.effects), default=0),
            n_records=model.fit.n_records,
            classes=None if model.classes is None else tuple(map(str, model.classes)),
            attributes=model.tested,
            approximate=False,
            parameters=None if self.inputs.parameters is None else self.inputs.parameters.values,
        )

    def notes(self, raw: Raw) -> Iterator[str]:
        """Yield what is odd about the data, the domain and the file."""
        yield from self.record_notes()
        if "scaler" in self.model.fit.published:
            yield "The file holds a scaler, with the number of records, and the mean and variance of each number."
        if self.fitted is not None and not self.fitted.complete.all():
            yield RecordNote("Records with a missing number were left out, as fits leave them out.")


# What measurements find, as criteria read it.


def _facts(subject: RegressionSubject, outcome: object, raw: Raw) -> dict[str, Fact[Any]]:
    return {
        "implied": _implied(subject),
        "sizes": _sizes(subject),
        "fitted": _values(subject),
        "residual": _residual(subject),
        "leverage": _leverage(subject),
        "identifiers": Measured(subject.identifiers.tested),
    }


def uncalibrated(model: RegressionModel) -> str:
    """Return why the law of parameters does not say what a regression implies; empty if it does.

    Calibrated on logistic and linear regressions of single records, it is not known for others.
    """
    fit = model.fit
    numbers = [sum(not isinstance(factor, Equal) for factor in effect.factors) for effect in model.effects]
    if not fit.family:
        return "the file does not say of which family the outcome is."
    if fit.family not in CALIBRATED:
        return f"how parameters relate to membership was not calibrated for the family {fit.family}."
    if model.link not in ("", CALIBRATED[fit.family]):
        return f"how parameters relate to membership was not calibrated for the link {model.link}."
    if fit.special:
        return f"the fit {fit.peculiar}, for which it was not calibrated how parameters relate to membership."
    if max(numbers, default=0) > 1:
        return "how parameters relate to membership was not calibrated for products of numbers."
    return ""


def _implied(subject: RegressionSubject) -> Fact[EffectiveParameters]:
    """Return the parameters per record, and the advantage that they imply."""
    model, fit, n = subject.model, subject.model.fit, subject.n_records
    if reason := uncalibrated(model):
        return NotApplicable(reason)
    if n is None:
        return NotApplicable("the file does not say how many training records there are.")
    if not n:
        return NotApplicable("no record has a value of every column.")
    parameters = subject.effective
    unsettled = subject.doubt
    if parameters is None:
        if fit.n_parameters is None:
            return NotApplicable("the file does not say how many parameters were fitted.")
        parameters = float(fit.n_parameters)
    per_record = parameters / n
    advantage = advantage_of_parameters(per_record, "regression")
    limit = subject.inputs.policy.largest_advantage
    if fit.penalized is not False and limit is not None and advantage > limit:
        # Under a penalty, fewer parameters are effective than were fitted: only a pass is certain.
        return NotApplicable(
            f"by all of its parameters the advantage would be {advantage:.2g}, and a penalty leaves fewer of them "
            "effective, which the file does not say."
        )
    return Measured(EffectiveParameters(per_record=per_record, advantage=advantage, unsettled=unsettled))


def _sizes(subject: RegressionSubject) -> Fact[Sizes]:
    """Return the records of columns of 0/1: counted in the data, else bounded by standard errors."""
    model, domain = subject.model, subject.domain
    if not model.effects:
        return Inapplicable("The regression has no columns.")
    names = ("column of 0/1", "columns of 0/1")
    if subject.counts_people and subject.fitted is None:
        return NotApplicable("records are counted in the columns, and people are asked for.")
    if subject.fitted is not None:
        counted = (*(size for size in subject.sizes if size is not None), *subject.references)
        if not counted:
            return Inapplicable("No column is of 0/1.")
        return Measured(Sizes(parts={names: counted}, unsettled=subject.doubt))
    indicators = [effect.is_indicator(domain) for effect in model.effects]
    unknown = [
        effect.name
        for effect, indicator in zip(model.effects, indicators, strict=True)
        if not indicator and not is_number(effect, domain)
    ]
    if unknown:
        return NotApplicable(UNKNOWN_COLUMNS.format(names=", ".join(unknown[:3]) + (" ..." if unknown[3:] else "")))
    if not any(indicators):
        return Inapplicable("No column is of 0/1.")
    if reason := not_bounded(model):
        return NotApplicable(reason[:1].lower() + reason[1:])
    bounds = [b for b, own in zip(indicator_bounds(model, domain), indicators, strict=True) if own]
    least = min((bound or 0 for bound in bounds), default=0)
    return Measured(Sizes(parts={names: ()}, fewest=least, unsettled=subject.doubt))


def _values(subject: RegressionSubject) -> Fact[FittedValues]:
    """Return how many values of single records are published beside the coefficients, or follow from them."""
    number, reasons = single_values(subject.model.fit)
    certain = certain_outcomes(subject.model, subject.fitted, subject.outcomes)
    if certain:
        number += certain
        condition = "" if subject.model.fit.penalized is False else ", for someone who knows the strength of a penalty"
        noun = "record" if certain == 1 else "records"
        reasons += (f"The outcomes of {certain:,} {noun} follow from their columns{condition}.",)
    single, unsettled = _baseline(subject)
    zeroed = subject.fitted is not None and may_be_shrunk_away(subject.model, subject.fitted, subject.outcomes)
    if subject.fitted is not None and subject.outcomes is None and subject.model.classes is not None:
        # Without a penalty, a column of one outcome shows: its fitted probabilities are 0 or 1.
        shrunk = subject.model.fit.penalized is not False and any(size is not None for size in subject.sizes)
        unsettled = unsettled or (NO_OUTCOMES if shrunk else "")
    elif zeroed:
        unsettled = unsettled or SHRUNK
    declarable = False
    if not unsettled and subject.fitted is None:
        unsettled, declarable = may_follow(subject.model, subject.domain)
    elif not unsettled:
        unsettled = subject.doubt
    if single:
        number += single
        reasons += (f"The baseline hazard has {single:,} rows, each the time of an event.",)
    with_errors = all(effect.errors is not None for effect in subject.model.effects)
    fit = subject.model.fit
    return Measured(
        FittedValues(
            number=number,
            reasons=reasons,
            with_errors=with_errors,
            by_coefficients=bool(certain) or zeroed or fit.separated or is_exact(fit) or is_likeliest(fit),
            unsettled=unsettled,
            declarable=declarable,
        )
    )


def _baseline(subject: RegressionSubject) -> tuple[int, str]:
    """Return how many rows of a baseline hazard are the time of one event, and why that may not be all."""
    fit, table = subject.model.fit, subject.table
    if not fit.baseline:
        return 0, ""
    event, target = _event(subject), subject.inputs.target
    columns = {} if table is None else table.arrays
    if "strata" in fit.special or event not in columns or target not in columns:
        many = fit.n_events is not None and fit.n_events >= SMALL * len(fit.baseline)
        return (0, ON_A_GRID) if many else (len(fit.baseline), "")
    # Its tests of shift take a second to import.
    from glassine.attacks.membership.survival import event_code

    marks = np.asarray(columns[event])
    # A row stands for the events since the row before.
    events = np.sort(np.asarray(columns[target], dtype=float)[marks == event_code(marks)])
    ends = np.searchsorted(events, sorted(time for time, _ in fit.baseline), side="right")
    return int((np.diff(ends, prepend=0) == 1).sum()), subject.mismatch


def _residual(subject: RegressionSubject) -> Fact[float]:
    """Return the residual degrees of freedom."""
    fit, n = subject.model.fit, subject.n_records
    if fit.df_residual is not None:
        return Measured(float(fit.df_residual))
    if n is None or fit.n_parameters is None:
        return NotApplicable("the number of records or of parameters is not known.")
    return Measured(float(n - fit.n_parameters))


def _leverage(subject: RegressionSubject) -> Fact[float]:
    """Return how much of its fitted value the outcome of the most exposed record makes."""
    if subject.fitted is None:
        return NotApplicable("no training records were given.")
    leverage = subject.fitted.leverage
    if leverage is None or not len(leverage):
        return NotApplicable("the file does not say its link, or no record has a value of every column.")
    return Measured(float(leverage.max()))


# What findings show.


def _meaning(model: RegressionModel) -> str:
    """Return in words what a regression is, with what is known of its fit."""
    fit = model.fit
    said = [f"{str(model)[:1].upper()}{str(model)[1:]}{f' on {model.target}' if model.target else ''}"]
    said += [f"{fit.n_records:,} records"] if fit.n_records is not None else ["number of records not known"]
    said += [f"{fit.n_events:,} events"] if fit.n_events is not None else []
    said += [f"{fit.n_parameters:,} parameters"] if fit.n_parameters is not None else []
    errors = {
        "model": "standard errors by the model",
        "robust": "robust standard errors",
        "": "kind of errors not known",
    }
    said += (
        [errors[fit.errors]] if any(effect.errors is not None for effect in model.effects) else ["no standard errors"]
    )
    said += ["not converged"] if fit.converged is False else []
    said += [*fit.special, *(["coefficients shrunk by a penalty"] if fit.penalized else [])]
    return "; ".join(said) + "."


def _hide(subject: RegressionSubject, suppression: Suppression) -> RegressionFinding:
    model, implied = subject.model, _implied(subject)
    bounds = indicator_bounds(model, subject.domain)
    leverage = None if subject.fitted is None else subject.fitted.leverage
    high = None if leverage is None else int((leverage > HALF).sum())
    columns = tuple(
        ColumnFinding(
            name=effect.name,
            coefficients=effect.coefficients,
            errors=effect.errors,
            indicator=effect.is_indicator(subject.domain),
            bound=bound,
            size=None if size is None else suppression.count(size),
        )
        for effect, bound, size in zip(model.effects, bounds, subject.sizes, strict=True)
    )
    return RegressionFinding(
        meaning=_meaning(model),
        link=model.link,
        outputs=tuple(map(str, model.classes or ())) if model.n_outputs > 1 else ("",),
        intercept=model.intercept,
        intercept_errors=model.intercept_errors,
        columns=columns,
        n_records=model.fit.n_records,
        n_parameters=model.fit.n_parameters,
        effective=None if subject.effective is None else round(subject.effective, 1),
        advantage=round(implied.value.advantage, 3) if isinstance(implied, Measured) else None,
        unbounded=not_bounded(model),
        largest_leverage=None if leverage is None or not len(leverage) else round(float(leverage.max()), 2),
        # Rounded to the limit, a few would read as ten.
        n_leverage=None
        if high is None
        else (suppression.count if high < suppression.below else suppression.rough)(high),
        published=model.fit.published,
    )


def _membership(subject: RegressionSubject) -> Outcome[MembershipAttacks]:
    """Attack membership, with the attributes that the model reads; shadow models are refitted with its link."""
    if subject.inputs.public:
        return NotApplicable(OF_THE_MODEL)
    if subject.model.link == "cox":
        return _on_times(subject)
    if subject.model.link not in ("identity", "log", "logit", "softmax", "probit", "cloglog"):
        return NotApplicable("membership attacks need the outcome that a record is predicted to have.")
    return attack_members(subject.model, subject.inputs, subject.model.tested, lambda members: _like(subject.model))


def _event(subject: RegressionSubject) -> str | None:
    """Return the column of events of a Cox regression: the stated one, else that of R's formula."""
    named = SURVIVAL.fullmatch(subject.model.target)
    return subject.inputs.settings.membership.event or (None if named is None else named["event"].strip())


def _on_times(subject: RegressionSubject) -> Outcome[MembershipAttacks]:
    """Attack membership in a Cox regression, where it is known which column holds events."""
    model, inputs, event = subject.model, subject.inputs, _event(subject)
    if inputs.holdout is None or inputs.data is None or inputs.target is None:
        return attack_members(model, inputs, model.tested, lambda members: None)  # says what is needed
    if event is None:
        return NotApplicable(
            f"attacks on times need the column of 0/1 that says whether the event occurred ({parameter('event')})."
        )
    # Its tests of shift take a second to import.
    from glassine.attacks.membership.survival import attack_survival

    inputs.progress("membership")
    members, others = on_shared(inputs.table, inputs.holdout, (*model.tested, event, inputs.target))
    return Measured(
        attack_survival(
            model,
            Sample(members, inputs.target),
            event=event,
            holdout=Sample(others, inputs.target),
            confidence=inputs.settings.membership.confidence,
            random_state=inputs.settings.random_state,
        )
    )


def _like(model: RegressionModel) -> Any:
    """Return an estimator that fits the columns of a regression again, by its link."""
    # scikit-learn's linear models take a second to import.
    from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    ends: dict[str, Any] = {"identity": LinearRegression(), "log": PoissonRegressor(alpha=0.0, max_iter=1000)}
    end = ends.get(model.link, LogisticRegression(C=np.inf, max_iter=1000))
    return make_pipeline(FunctionTransformer(model.design), end)


COLUMNS = Measurement[RegressionSubject, RegressionSubject](
    "columns",
    "Coefficients",
    "What does each column reveal about the people in it?",
    RegressionFinding,
    run=Measured,
    hide=_hide,
    facts=_facts,
    listed=False,
)

RegressionSubject.measurements = (COLUMNS, MEMBERSHIP(_membership))
