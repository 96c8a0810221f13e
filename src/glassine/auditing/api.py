"""The audit: measure a subject, judge it, suppress what may not be shown."""

from __future__ import annotations

from dataclasses import replace

from glassine.attacks.outcome import RecordNote
from glassine.auditing.describe import relied_on
from glassine.auditing.findings import Findings
from glassine.auditing.inputs import AuditInputs, AuditSettings
from glassine.auditing.policy import Policy
from glassine.auditing.samples import is_release, is_several, read_samples
from glassine.auditing.subject import Subject, examine
from glassine.auditing.trees import tree_subject
from glassine.data.labels import Sample, target_name
from glassine.data.persons import refuse_shared
from glassine.data.table import Table
from glassine.domain import Domain
from glassine.domain.domain import check_domain
from glassine.errors import GlassineError, InvalidDataError, InvalidParameterError, InvalidPolicyError, parameter
from glassine.formats import ModelFile, as_model
from glassine.formats.canonical import FileForm
from glassine.formats.loading import is_estimator
from glassine.formats.sklearn.parameters import stated_parameters
from glassine.models import AdditiveModel, DecisionTree, RuleList

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
    _check_kinds(data, domain, policy, settings)
    settings = settings or AuditSettings()
    parameters = stated_parameters(model.estimator if isinstance(model, ModelFile) else model)
    model, files, estimator = _published(model, settings)
    unread: InvalidDataError | None = None
    try:
        members, others = read_samples(model, domain, Sample(data, target, persons=persons), holdout)
    except InvalidDataError as error:
        members, others, unread = Sample(target=target_name(target) or None), Sample(), error
    if isinstance(persons, str) and domain is not None and persons in domain:
        domain = domain.restrict([name for name in domain if name != persons])
    only = settings.only
    attack = only is not None and set(only) <= ATTACKS
    inputs = AuditInputs(
        domain=domain,
        members=members,
        others=others,
        settings=settings,
        needs_domain=not attack,
        files=files,
        estimator=estimator,
        parameters=parameters,
    )
    limits = policy or Policy()
    if only is not None and set(only) == {"membership"} and _is_forest(model):
        from glassine.auditing.forest import ForestSubject

        alone: Subject = ForestSubject(forest=model, inputs=inputs.alone(), policy=limits)
    else:
        alone = subject_of(model, inputs.alone(), limits)
    relied = relied_on(alone.guarantee)
    if unread is not None:
        if not relied:
            raise unread
        public = examine(replace(alone, public=True), only)
        return replace(public, holder=unmeasured(public, unread))
    alone.check(inputs)
    if not relied:
        return examine(_beside(alone, inputs), only)
    public = examine(replace(alone, public=True), only)
    if not alone.has_records(inputs):
        return public
    try:
        measured = examine(_beside(alone, inputs), only)
    except GlassineError as error:
        measured = unmeasured(public, error)
    return replace(public, holder=measured)


def unmeasured(public: Findings, error: GlassineError) -> Findings:
    """Return findings with a note that records could not be measured: it is for the checker, as the figures are."""
    return replace(public, notes=(*public.notes, RecordNote(f"The records could not be measured: {error}")))


def _beside(alone: Subject, inputs: AuditInputs) -> Subject:
    """Return the subject beside the records; raise if people have records both in the data and in the holdout."""
    data, holdout = (given.persons if isinstance(given, Table) else None for given in (inputs.data, inputs.holdout))
    refuse_shared(data, holdout)
    return alone.beside(inputs)


def _is_forest(model: object) -> bool:
    if isinstance(model, DecisionTree | RuleList | AdditiveModel):
        return False
    from glassine.formats.sklearn.forest import is_sklearn_forest

    return is_sklearn_forest(model)


def _published(model: object, settings: AuditSettings) -> tuple[object, tuple[FileForm, ...], bool]:
    """Return what is audited, the files that it was read from, and whether it is a fitted estimator in memory.

    Of a file that is the model, or its estimator where an attack needs how splits were selected.
    """
    if isinstance(model, ModelFile):
        stated = model.estimator is not None and settings.sensitive is not None and not _is_forest(model.estimator)
        return model.estimator if stated else model.model, (model.form,), False
    if is_several(model):
        from glassine.auditing.several import opened

        return opened(model)
    return model, (), is_estimator(model)


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


def subject_of(published: object, inputs: AuditInputs, policy: Policy) -> Subject:
    """Return what was published as a subject, by its kind."""
    # Each kind takes up to a second to import, and a tree needs no other.
    if isinstance(published, DecisionTree | RuleList):
        return tree_subject(published, inputs, policy)
    if is_several(published):
        from glassine.auditing.several import several_subject

        return several_subject(published, inputs, policy)
    if is_release(published):
        from glassine.auditing.release import release_subject

        return release_subject(published, inputs, policy)
    if not isinstance(published, AdditiveModel):
        from glassine.auditing.summaries import summary_subject
        from glassine.learners.summaries.estimator import PrivateSummary

        if isinstance(published, PrivateSummary):
            return summary_subject(published, inputs, policy)
    model = as_model(published, inputs.domain)
    if isinstance(model, AdditiveModel):
        from glassine.auditing.additive import additive_subject

        return additive_subject(published, inputs, policy)
    return tree_subject(published, inputs, policy, model)
