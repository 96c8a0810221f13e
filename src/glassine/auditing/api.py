"""The audit: measure a subject, judge it, suppress what may not be shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Literal

from glassine.attacks.audience import RecordNote
from glassine.auditing.additive import additive_subject
from glassine.auditing.describe import relied_on
from glassine.auditing.findings import Findings
from glassine.auditing.forest import forest_subject
from glassine.auditing.inputs import AuditInputs, DisclosureSettings, MembershipSettings
from glassine.auditing.policy import Policy
from glassine.auditing.release import release_subject
from glassine.auditing.several import SeveralModels, several_subject
from glassine.auditing.subject import Subject, examine
from glassine.auditing.trees import tree_subject
from glassine.counting import MAX_STEPS
from glassine.data.lazy import held, is_lazy
from glassine.data.persons import refuse_shared
from glassine.data.table import Table, as_table, frame_of, with_persons
from glassine.domain import Domain
from glassine.errors import GlassineError, InvalidDomainError, InvalidParameterError, InvalidPolicyError, parameter
from glassine.formats import as_model
from glassine.formats.sklearn.forest import is_sklearn_forest
from glassine.models import AdditiveModel
from glassine.surrogates.measuring import MeasuredExplainer
from glassine.surrogates.release import SurrogateRelease

__all__ = ["audit", "subject_of"]

ATTACKS = {"membership", "disclosure"}
"""Measurements that need no domain, and that are for the holder of the data where they are all that is asked for."""


def audit(
    model: object,
    domain: Domain | None = None,
    *,
    data: Any = None,
    target: str | None = None,
    holdout: Any = None,
    sensitive: str | None = None,
    quasi: Sequence[str] | None = None,
    criterion: str | None = None,
    splits: Literal["auto", "multiway", "binary"] = "auto",
    y: Any = None,
    holdout_y: Any = None,
    extras: Any = None,
    persons: Any = None,
    holdout_persons: Any = None,
    membership: MembershipSettings | None = None,
    disclosure: DisclosureSettings | None = None,
    only: Collection[str] | None = None,
    policy: Policy | None = None,
    show_small_counts: bool = False,
    max_steps: int = MAX_STEPS,
    random_state: Any = 0,
    progress: Callable[[str], None] | None = None,
) -> Findings:
    r"""Audit something published: measure what an attacker can learn from it about the training records.

    The model alone is enough; the domain and the data only sharpen the findings. A model that claims a differential
    privacy guarantee is audited for what the claim implies: see ``Policy.accept_guarantee``. Where the policy accepts
    the claim, the findings follow from the model alone, whatever the data is; what the data adds is in
    ``Findings.holder``.

    Parameters
    ----------
    model : model, fitted estimator, release, explainer, or sequence of models
        A tree, a rule list or an additive model, or anything that :func:`glassine.as_model` reads, explainable boosting
        machines of interpret included; a release of explanations, or the fitted explainer that made it; or several
        models of the same records, which are judged together.
    domain : Domain, optional
        What is publicly known about the attributes. Without it nothing can be said about reconstruction; if data is
        given, it is inferred from them and marked so. A release has its own.
    data : data frame, optional
        The training records, shape (n, at least the tested attributes). Of a release in the order in which the
        explainer had them; of an explainer they are known.
    target : str, optional
        The column of the data and the holdout that the model predicts; membership attacks need it. A domain that
        declares it is taken without it: what the model reveals about it is measured as disclosure of labels.
    holdout : data frame, optional
        Records of the same population that were not used for training, for membership attacks.
    sensitive : str, optional
        An attribute of the domain, or a column of the data, to look at more closely. Where a tree predicts it, it is
        measured what can be inferred of everybody's value: see :func:`glassine.infer_sensitive`.
    quasi : sequence of str, optional
        Columns of the data that the attacker knows of everybody; all attributes of the tree by default.
    criterion : {"gini", "entropy", "gain_ratio", "misclassification", "none"}, optional
        By which measure splits were selected, for this attacker; ``none`` if they were not always the best. A fitted
        estimator states its own. Without either, the attacker of the leaves alone is measured.
    splits : {"auto", "multiway", "binary"}, default="auto"
        How that learning algorithm split categories, as for :class:`~glassine.Adversary`. A fitted estimator states it.
    y, holdout_y : array-like of shape (n,) and (m,), optional
        True labels of the data and of the holdout of a release.
    extras : EbmExtras, optional
        What the file of an additive model publishes beside it. Found by itself where ``model`` is interpret's object.
    persons : str, or array-like of shape (n,), optional
        Whose record each is: the column of the data and of the holdout that holds identifiers, or one identifier for
        each record of the data. People are then counted in place of records, and membership is judged by person. The
        column is no attribute. Of an explainer, the persons behind its records are those of its fit.
    holdout_persons : array-like of shape (m,), optional
        The identifiers of the holdout's records, where ``persons`` is no column.
    membership : MembershipSettings, optional
        How membership is attacked.
    disclosure : DisclosureSettings, optional
        What an attacker on the sensitive attribute is assumed to know. Without it, what the tree publishes and states.
    only : collection of str, optional
        Names of the measurements to make, such as ``{"membership"}``; the verdict then covers these alone. Some take
        minutes and are only made on request: ``rows``. Of a fitted forest, ``{"membership"}`` alone is measured.
    policy : Policy, optional
        The limits to judge by; the defaults of :class:`Policy` otherwise.
    show_small_counts : bool, default=False
        Whether counts below the policy's ``suppress_below`` are shown.
    max_steps : int, default=300,000
        Steps that exact counts may take; beyond them reconstruction is reported as failed.
    random_state : int, Generator or None, default=0
        For attacks that draw.
    progress : callable, optional
        Called with the name of each stage as it starts.

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
    InvalidDataError
        If the data or the holdout are empty, lack a column or do not hold ``sensitive`` or ``quasi``; if a record has
        no identifier, or people have records both in the data and in the holdout.
    InvalidParameterError
        If ``only`` names what is not measured of such a subject, or ``persons`` comes without records, or with several
        models, which are judged by records.

    Examples
    --------
    >>> from glassine import parse_rules
    >>> rules = parse_rules("if [a] then [true] ([0 ; 20] examples)\nelse [false] ([30 ; 10] examples)")
    >>> findings = audit(rules, domain=Domain.binary(["a", "b"]))
    >>> findings.verdict, [check.rule for check in findings.checks if check.status == "fail"]
    ('outside policy', ['purest_leaf'])
    """
    if domain is not None and not isinstance(domain, Domain):
        raise InvalidDomainError(
            f"{parameter('domain')} must be a Domain, got {type(domain).__name__}.",
            remedy="Read one with Domain.from_json.",
        )
    if policy is not None and not isinstance(policy, Policy):
        raise InvalidPolicyError(
            f"{parameter('policy')} must be a Policy, got {type(policy).__name__}.",
            remedy="Read one with Policy.from_toml.",
        )
    if persons is not None or holdout_persons is not None:
        if isinstance(model, SeveralModels | list | tuple):
            name = "holdout_persons" if persons is None else "persons"
            raise InvalidParameterError(
                f"{parameter(name)} does not apply to several models: what they reveal together is counted in records.",
                remedy="Leave it out, or audit each model by itself.",
            )
        data, holdout = _by_person(data, holdout, persons, holdout_persons)
        if isinstance(persons, str) and domain is not None and persons in domain:
            domain = domain.restrict([name for name in domain if name != persons])
    elif not isinstance(model, SurrogateRelease | MeasuredExplainer):
        data, holdout = _read_once(data), _read_once(holdout)
    attack = only is not None and set(only) <= ATTACKS
    inputs = AuditInputs(
        domain=domain,
        data=data,
        target=target,
        holdout=holdout,
        sensitive=sensitive,
        quasi=quasi,
        criterion=criterion,
        splits=splits,
        y=y,
        holdout_y=holdout_y,
        extras=extras,
        membership=membership or MembershipSettings(),
        disclosure=disclosure,
        show_small_counts=show_small_counts,
        max_steps=max_steps,
        random_state=random_state,
        needs_domain=not attack,
        progress=progress or (lambda stage: None),
    )
    limits = policy or Policy()
    forest = only is not None and set(only) == {"membership"} and is_sklearn_forest(model)
    alone = (forest_subject if forest else subject_of)(model, inputs.alone(), limits)
    alone.check(inputs)
    if not relied_on(alone.guarantee):
        return examine(alone.beside(inputs), only)
    public = examine(replace(alone, public=True), only)
    if not alone.has_records(inputs):
        return public
    try:
        measured = examine(alone.beside(inputs), only)
    except GlassineError as error:
        # That records cannot be measured is for the checker, too: the public part is the same.
        note = RecordNote(f"The records could not be measured: {error}")
        measured = replace(public, notes=(*public.notes, note))
    return replace(public, holder=measured)


def _read_once(records: object) -> Any:
    """Return a frame as a table, which keeps what it was converted to; a lazy frame stays with its engine."""
    return records if records is None or is_lazy(records) or frame_of(records) is None else as_table(records)


def _by_person(data: Any, holdout: Any, persons: Any, holdout_persons: Any) -> tuple[Table | None, Table | None]:
    """Return both frames as tables that know their persons; a lazy one of this machine is read.

    Raises
    ------
    InvalidParameterError
        If there is nothing whose persons are stated, or only those of one of two frames.
    InvalidDataError
        If a record has no identifier, or people have records on both sides.
    """
    sides: list[Table | None] = []
    given = (
        (data, persons, "data", "persons"),
        (
            holdout,
            persons if holdout_persons is None and isinstance(persons, str) else holdout_persons,
            "holdout",
            "holdout_persons",
        ),
    )
    for records, whose, what, name in given:
        if records is None:
            if whose is not None and not isinstance(whose, str):
                raise InvalidParameterError(
                    f"{parameter(name)} says whose records the {what} are, and none are given.", remedy="Pass both."
                )
            sides.append(None)
            continue
        if whose is None:
            raise InvalidParameterError(
                f"{parameter(name)} is missing: whose records the {what} are must be stated, too.", remedy="Pass it."
            )
        opened = frame_of(records)
        sides.append(with_persons(records if opened is None else Table(held(opened)), whose, what))
    if all(side is None for side in sides):
        raise InvalidParameterError(
            f"{parameter('persons')} says whose records are given, and none are.", remedy=f"Pass {parameter('data')}."
        )
    if sides[0] is not None and sides[1] is not None:
        refuse_shared(sides[0].persons, sides[1].persons)
    return sides[0], sides[1]


def subject_of(published: object, inputs: AuditInputs, policy: Policy) -> Subject:
    """Return what was published as a subject, by its kind.

    Raises
    ------
    UnsupportedModelError
        If it cannot be read.
    """
    if isinstance(published, SeveralModels | list | tuple):
        return several_subject(published, inputs, policy)
    if isinstance(published, SurrogateRelease | MeasuredExplainer):
        return release_subject(published, inputs, policy)
    if isinstance(as_model(published, inputs.domain), AdditiveModel):
        return additive_subject(published, inputs, policy)
    return tree_subject(published, inputs, policy)
