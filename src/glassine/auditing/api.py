"""The audit of a published model: read what is given, and measure it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from glassine.auditing.counted import count_data
from glassine.auditing.describe import describe_guarantee, relied_on
from glassine.auditing.disclosure import Question
from glassine.auditing.findings import Findings
from glassine.auditing.inputs import check_sensitive, inferred_domain
from glassine.auditing.measuring import Measuring
from glassine.auditing.policy import Policy
from glassine.counting import MAX_STEPS
from glassine.data.inference import columns as read_columns
from glassine.data.lazy import is_lazy
from glassine.domain import Domain
from glassine.errors import GlassineError, InvalidDomainError, InvalidPolicyError

__all__ = ["audit"]


def audit(
    model: Any,
    domain: Domain | None = None,
    *,
    data: Any = None,
    target: str | None = None,
    holdout: Any = None,
    sensitive: str | None = None,
    quasi: Sequence[str] | None = None,
    criterion: str | None = None,
    splits: Literal["auto", "multiway", "binary"] = "auto",
    policy: Policy | None = None,
    show_small_counts: bool = False,
    max_steps: int = MAX_STEPS,
    progress: Callable[[str], None] | None = None,
) -> Findings:
    r"""Audit a published model: measure what its reader can learn about the training records.

    The model alone is enough; the domain and the data only sharpen the findings. A model that claims a differential
    privacy guarantee is audited for what the claim implies: see ``Policy.accept_guarantee``. Where the policy accepts
    the claim, the findings follow from the model alone, whatever the data are; what the data add stands in
    ``Findings.holder``.

    Parameters
    ----------
    model : DecisionTree, RuleList, AdditiveModel or fitted estimator
        The model, or anything that :func:`glassine.as_model` reads. Additive models, explainable boosting machines of
        interpret among them, are audited by :func:`glassine.auditing.additive.audit_additive`.
    domain : Domain, optional
        What is publicly known about the attributes. Without it nothing can be said about reconstruction; if data are
        given, it is inferred from them and marked so.
    data : data frame, optional
        The training records, shape (n, at least the tested attributes).
    target : str, optional
        The column of the data and the holdout that the model predicts; membership attacks need it. A domain that
        declares it is taken without it: what the model tells of it is measured as disclosure of labels.
    holdout : data frame, optional
        Records of the same population that were not used for training, for membership attacks.
    sensitive : str, optional
        An attribute of the domain, or a column of the data, to look at more closely. Where a tree predicts it, it is
        measured what a reader learns of everybody's value: see :func:`glassine.infer_sensitive`.
    quasi : sequence of str, optional
        Columns of the data that this reader knows of everybody; all attributes of the tree by default.
    criterion : {"gini", "entropy", "gain_ratio", "misclassification", "none"}, optional
        By which measure splits were selected, for this reader; ``none`` if they were not always the best. A fitted
        estimator states its own. Without either, the reader of the leaves alone is measured.
    splits : {"auto", "multiway", "binary"}, default="auto"
        How that learner split categories, as for :class:`~glassine.Adversary`. A fitted estimator states it.
    policy : Policy, optional
        The limits to judge by; the defaults of :class:`Policy` otherwise.
    show_small_counts : bool, default=False
        Whether counts below the policy's ``suppress_below`` are shown.
    max_steps : int, default=300,000
        Steps that exact counts may take; beyond them reconstruction is reported as failed.
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
        If the data or the holdout are empty, lack a column or do not hold ``sensitive`` or ``quasi``.

    Examples
    --------
    >>> from glassine import parse_rules
    >>> rules = parse_rules("if [a] then [true] ([0 ; 20] examples)\nelse [false] ([30 ; 10] examples)")
    >>> findings = audit(rules, domain=Domain.binary(["a", "b"]))
    >>> findings.verdict, [check.rule for check in findings.checks if check.status == "fail"]
    ('outside policy', ['purest_leaf'])
    """
    from glassine.formats import as_model, is_additive
    from glassine.formats.several import not_judged

    if is_additive(model):
        from glassine.auditing.additive import audit_additive

        return audit_additive(
            model,
            domain,
            data=data,
            holdout=holdout,
            sensitive=sensitive,
            policy=policy,
            show_small_counts=show_small_counts,
            progress=progress,
        )
    if domain is not None and not isinstance(domain, Domain):
        raise InvalidDomainError(
            f"domain must be a Domain, got {type(domain).__name__}. Read one with Domain.from_json."
        )
    if policy is not None and not isinstance(policy, Policy):
        raise InvalidPolicyError(
            f"policy must be a Policy, got {type(policy).__name__}. Read one with Policy.from_toml."
        )
    limits, report = policy or Policy(), progress or (lambda stage: None)

    def audited(data: Any, holdout: Any, *, public: bool) -> Findings:
        notes: list[str] = []
        known = domain
        if known is None and data is not None:
            known = inferred_domain(as_model(model), read_columns(data), notes)
        elif known is not None and known.inferred:
            notes.append("The domain was inferred from data, which understates what a reader learns.")
        read = as_model(model, known)
        if alone := not_judged(read.source or ""):
            notes.append(alone)
        counted = None
        if known is not None and is_lazy(data):
            counted, data = count_data(read, data, known), None
        question = Question(
            artefact=model,
            model=read,
            sensitive=sensitive,
            target=target,
            quasi=quasi,
            criterion=criterion,
            splits=splits,
            domain=known,
        )
        return Measuring(
            model=read,
            question=question,
            notes=notes,
            max_steps=max_steps,
            domain=known,
            data=data,
            counted=counted,
            target=target,
            holdout=holdout,
            sensitive=sensitive,
            policy=limits,
            show_small_counts=show_small_counts,
            public=public,
            progress=report,
        ).run()

    private = relied_on(describe_guarantee(as_model(model, domain), limits))
    if data is None and holdout is None:
        if sensitive is not None:
            check_sensitive(sensitive, domain, None)
        return audited(None, None, public=private)
    if not private:
        return audited(data, holdout, public=False)
    public = audited(None, None, public=True)
    if sensitive is not None and not is_lazy(data):
        check_sensitive(sensitive, domain, read_columns(data) if data is not None else None)
    try:
        measured = audited(data, holdout, public=False)
    except GlassineError as error:
        # That records cannot be measured is for their holder, too: the public part is the same.
        measured = replace(public, notes=(*public.notes, f"The records could not be measured: {error}"))
    return replace(public, holder=replace(measured, holder_only=True))
