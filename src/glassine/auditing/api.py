"""The audit: measure a subject, judge it, suppress what may not be shown."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from glassine.attacks.outcome import RecordNote
from glassine.auditing.audit_settings import DEFAULTS, AuditSettings
from glassine.auditing.describe import relied_on
from glassine.auditing.findings import Findings, GuaranteeFinding
from glassine.auditing.findings.values import Verdict
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.policy import NAMED, Policy
from glassine.auditing.samples import known_names, read_samples
from glassine.auditing.subject import OpenedModel, Subject, examine, fails_by_parts
from glassine.auditing.trees import TreeSubject
from glassine.data.labels import Sample, as_sample
from glassine.data.person_counts import refuse_shared
from glassine.domain import Domain
from glassine.domain.domain import check_domain
from glassine.errors import GlassineError, InvalidParameterError, InvalidPolicyError, parameter
from glassine.formats import EnsembleFile, ModelFile, as_model
from glassine.formats.canonical import FileForm
from glassine.formats.loading import beside_target, is_estimator
from glassine.formats.sklearn.parameters import stated_parameters
from glassine.models import AdditiveModel, DecisionTree, RegressionModel, RuleList
from glassine.records.alignment import target_name
from glassine.records.containers import is_lazy

KINDS = {
    "builtins.list": "glassine.auditing.several.SeveralSubject",
    "builtins.tuple": "glassine.auditing.several.SeveralSubject",
    "glassine.auditing.several_models.SeveralModels": "glassine.auditing.several.SeveralSubject",
    "glassine.formats.judged.EnsembleFile": "glassine.auditing.ensemble.EnsembleSubject",
    "glassine.models.ensemble.TreeEnsemble": "glassine.auditing.ensemble.EnsembleSubject",
    "glassine.surrogates.explanation_measures.MeasuredExplainer": "glassine.auditing.release.ReleaseSubject",
    "glassine.surrogates.surrogate_release.SurrogateRelease": "glassine.auditing.release.ReleaseSubject",
    "glassine.learners.summaries.private_summary.PrivateSummary": "glassine.auditing.summaries.SummarySubject",
}
"""By class of what is published, its kind of subject, where it is not one model."""
OF_MODELS = {
    AdditiveModel: "glassine.auditing.additive.AdditiveSubject",
    RegressionModel: "glassine.auditing.regression.RegressionSubject",
}
"""By class of a model, its kind of subject; others are trees and rule lists."""

ATTACKS = {"membership", "disclosure"}
"""Measurements that need no domain, and that are for the holder of the data where they are all that is asked for."""


def audit(
    model: object,
    data: object = None,
    target: object = None,
    *,
    domain: Domain | None = None,
    holdout: object = None,
    persons: object = None,
    policy: Policy | None = None,
    settings: AuditSettings | None = None,
) -> Findings:
    r"""Audit something published: measure what an attacker can learn from it about the training records.

    The model alone is enough; the domain and the data only sharpen the findings. A model that claims a differential
    privacy guarantee is audited for what the claim implies: see ``Policy.accept_guarantee``. Where the policy accepts
    the claim, the findings follow from the model alone and do not depend on the data; what the data adds is in
    ``Findings.holder``.

    Parameters
    ----------
    model : model, model file, fitted estimator, release, explainer, or sequence of models
        A tree, a rule list or an additive model, or anything that :func:`glassine.as_model` reads, explainable boosting
        machines of interpret included; a file read by :func:`glassine.formats.load_file`, which is judged for
        everything in it; a release of explanations, or the fitted explainer that made it; a fitted private summary; or
        several models of the same records, or files of them, which are judged together.
    data : data frame, or ndarray of shape (n, d), optional
        The training records, n of them, with at least the tested attributes; an array has all attributes of the model
        in order. Of a release in the order in which the explainer had them; of an explainer they are known.
    target : str, or array-like of shape (n,), optional
        What the model predicts: a column of the data and of the holdout, or the true class or value of each record.
        Membership attacks need it. A domain that declares the column is taken without it: what the model reveals about
        it is measured as disclosure of labels.
    domain : Domain, optional
        What is publicly known about the attributes. Without it nothing can be said about reconstruction; if data is
        given, it is inferred from them and marked so. A release has its own.
    holdout : data frame or Sample, optional
        Records of the same population that were not used for training, for membership attacks: a frame with the same
        columns, or a :class:`~glassine.data.Sample` that has its own target and persons.
    persons : str, or array-like of shape (n,), optional
        Whose record each is: the column of the data and of the holdout that holds identifiers, or one identifier for
        each record of the data. People are then counted in place of records, and membership is judged by person. The
        column is no attribute. Of an explainer, the persons behind its records are those of its fit.
    policy : Policy, optional
        The limits to judge by; the defaults of :class:`Policy` otherwise.
    settings : AuditSettings, optional
        What is looked at more closely, what attackers are assumed to know, what alone is measured, and how much work
        it may be; the defaults of :class:`AuditSettings` otherwise.

    Returns
    -------
    Findings
        What was measured, what was not and why, and the verdict.

    Raises
    ------
    UnsupportedModelError
        If the model cannot be read.
    InvalidModelError
        If the model tests an attribute or a value that the domain lacks.
    InvalidDomainError, InvalidPolicyError
        If ``domain`` or ``policy`` is none.
    InvalidDataError
        If the data or the holdout are empty, lack a column or do not hold the sensitive attribute or the
        quasi-identifiers; if classes are not as many as the records, a record has no identifier, or people have records
        both in the data and in the holdout. Beside an accepted guarantee this is a note for the checker.
    InvalidParameterError
        If ``settings`` are none, or name what is not measured of such a subject; if the target or the persons of one
        set of records are stated and not those of the other, or without records; or if persons are stated of several
        models, which are judged by records.

    Examples
    --------
    >>> from glassine import parse_rules
    >>> rules = parse_rules("if [a] then [true] ([0 ; 20] examples)\nelse [false] ([30 ; 10] examples)")
    >>> findings = audit(rules, domain=Domain.binary(["a", "b"]))
    >>> findings.verdict, [check.rule for check in findings.checks if check.status == "fail"]
    ('outside policy', ['certain_by_membership'])
    """
    return _Question.of(model, Sample(data, target, persons=persons), domain, holdout, policy, settings).findings()


def verdict_of(
    model: object,
    data: object = None,
    target: object = None,
    *,
    domain: Domain | None = None,
    persons: object = None,
    policy: Policy | None = None,
    settings: AuditSettings | None = None,
) -> Verdict:
    """Return the verdict of an audit, of which no more is made than settles it: where the parts fail, it is settled."""
    question = _Question.of(model, Sample(data, target, persons=persons), domain, None, policy, settings)
    if relied_on(question.claim):
        return question.findings().verdict
    subject = question.read()
    return "outside policy" if fails_by_parts(subject) else examine(subject).verdict


@dataclass(frozen=True, kw_only=True)
class _Question:
    """What is published as it was opened, and what was given beside it."""

    opened: OpenedModel
    claim: GuaranteeFinding | None
    prepared: AuditInputs  # Without a record
    members: Sample
    others: Sample

    @classmethod
    def of(
        cls,
        model: object,
        members: Sample,
        domain: Domain | None,
        holdout: object,
        policy: Policy | None,
        settings: AuditSettings | None,
    ) -> _Question:
        """Open what is published; no record is looked at."""
        persons, target = members.persons, target_name(members.target) or None
        _check_kinds(members.data, domain, policy, settings)
        settings, limits = settings or DEFAULTS, policy or NAMED["default"].policy
        tested = persons if isinstance(persons, str) and persons in tested_by(model) else None
        persons = None if tested is not None else persons
        if isinstance(persons, str) and domain is not None and persons in domain:
            domain = domain.restrict([name for name in domain if name != persons])
        measurements = settings.measurements
        opened = open_published(model, domain, settings, target)
        prepared = AuditInputs(
            person=tested,
            domain=domain,
            target=target,
            settings=settings,
            policy=limits,
            needs_domain=measurements is None or not set(measurements) <= ATTACKS,
            files=opened.files,
            estimator=opened.estimator,
            parameters=opened.parameters,
        )
        claim, members = opened.kind.claim(opened, limits), Sample(members.data, members.target, persons=persons)
        return cls(opened=opened, claim=claim, prepared=prepared, members=members, others=as_sample(holdout))

    def read(self) -> Subject:
        """Open the records, and return the subject with them."""
        opened, settings = self.opened, self.prepared.settings
        members, nonmembers = read_samples(opened, self.prepared.domain, self.members, self.others)
        column = members.target if isinstance(members.target, str) else None
        labels = (members.target, nonmembers.target) if column is None else (None, None)
        inputs = replace(self.prepared, data=members.data, holdout=nonmembers.data, target=column, labels=labels)
        if settings.disclosure is not None and settings.disclosure.training == "sample":
            inputs = replace(inputs, data=None, population=members.data, labels=(None, labels[1]))
        names = None if is_lazy(members.data) else known_names(members.data)
        opened.kind.check(opened, inputs, names)
        if inputs.counts_people:
            refuse_shared(*(getattr(side, "persons", None) for side in (inputs.data, inputs.holdout)))
        return opened.kind.of(opened, inputs, self.claim)

    def findings(self) -> Findings:
        """Measure all that is asked for."""
        opened, prepared, measurements = self.opened, self.prepared, self.prepared.settings.measurements
        if not relied_on(self.claim):
            return examine(self.read(), measurements)
        # The guarantee answers for the model: what is public comes first, from a subject without records. What records
        # add is for the checker, whatever becomes of it.
        opened.kind.check(opened, prepared, known_names(self.members.data))
        public = examine(opened.kind.of(opened, replace(prepared, public=True), self.claim), measurements)
        if not opened.kind.has_records(opened, replace(prepared, data=self.members.data, holdout=self.others.data)):
            return public
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                measured = examine(self.read(), measurements)
        except InvalidParameterError:
            raise
        except Exception as error:
            measured = unmeasured(public, error)
        return replace(public, holder=measured)


def tested_by(model: object) -> tuple[str, ...]:
    """Return the attributes that a published model tests; none of what is no tree, rule list or additive model."""
    model = model.model if isinstance(model, ModelFile) else model
    return model.tested if isinstance(model, DecisionTree | RuleList | AdditiveModel | RegressionModel) else ()


def unmeasured(public: Findings, error: Exception) -> Findings:
    """Return findings with a note that records could not be measured: it is for the checker, as the figures are."""
    said = str(error) if isinstance(error, GlassineError) else type(error).__name__
    return replace(public, notes=(*public.notes, RecordNote(f"The records could not be measured: {said}")))


def open_published(
    model: object, domain: Domain | None, settings: AuditSettings, target: str | None = None
) -> OpenedModel:
    """Open what is published: decide its kind, and read it as a value of that kind."""
    fitted: Any = model.estimator if isinstance(model, ModelFile) else model
    fitted = fitted.model.estimator if isinstance(fitted, EnsembleFile) else fitted
    plain = fitted is None or isinstance(fitted, DecisionTree | RuleList | AdditiveModel)
    parameters = None if plain else stated_parameters(fitted)
    files: tuple[FileForm, ...] = ()
    if isinstance(model, ModelFile):
        files = (model.form,)
        # An attack needs how splits were selected, which the estimator states.
        stated = model.estimator is not None and settings.sensitive is not None and not _is_ensemble(model.estimator)
        model = model.estimator if stated else model.model
    if isinstance(model, DecisionTree | RuleList | AdditiveModel | RegressionModel):
        own = None
    elif _is_ensemble(model):
        own = "glassine.auditing.ensemble.EnsembleSubject"
    else:
        own = next((KINDS[name] for one in type(model).__mro__ if (name := _full_name(one)) in KINDS), None)
    if own is not None:
        return replace(_kind(own).opens(model), parameters=parameters)
    value = beside_target(partial(as_model, model), domain, target)
    estimator = not files and is_estimator(model)
    return OpenedModel(
        kind=next((_kind(place) for kind, place in OF_MODELS.items() if isinstance(value, kind)), TreeSubject),
        artefact=model,
        value=value,
        files=files,
        estimator=estimator,
        parameters=parameters,
    )


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _kind(place: str) -> type[Subject]:
    """Return the class of a kind of subjects; each takes up to a second to import, and a tree needs no other."""
    module, _, name = place.rpartition(".")
    kind: type[Subject] = getattr(import_module(module), name)
    return kind


def _is_ensemble(model: object) -> bool:
    from glassine.formats.sklearn.ensembles import is_sklearn_ensemble

    return is_sklearn_ensemble(model)


def _check_kinds(data: object, domain: object, policy: object, settings: object) -> None:
    """Raise if a value stands in the place of another."""
    if isinstance(data, Domain):
        raise InvalidParameterError(
            f"{parameter('data')} must be records, got a Domain.", remedy=f"Pass it as {parameter('domain=')}."
        )
    if domain is not None:
        check_domain(domain)
    if policy is not None and not isinstance(policy, Policy):
        raise InvalidPolicyError(
            f"{parameter('policy')} must be a Policy, got {type(policy).__name__}.",
            remedy="Read one with Policy.from_toml.",
        )
    if settings is not None and not isinstance(settings, AuditSettings):
        raise InvalidParameterError(
            f"{parameter('settings')} must be AuditSettings, got {type(settings).__name__}.",
            remedy="Pass AuditSettings(**settings)." if isinstance(settings, dict) else "Make one.",
        )
