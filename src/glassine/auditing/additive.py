"""The audit of an additive model: one published model in, findings out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine import __version__
from glassine.attacks.bins import BinLeakage, TermBins, leak_bins
from glassine.attacks.outcome import Measured, NotApplicable, Outcome
from glassine.attacks.values import ValueLeakage
from glassine.auditing.additive_regions import bits_of_bins as bits_of_regions
from glassine.auditing.additive_regions import show_shape
from glassine.auditing.describe import LONGEST, describe_domain, describe_guarantee, relied_on
from glassine.auditing.evidence import Evidence
from glassine.auditing.findings import (
    NO_HOLDOUT,
    OF_THE_MODEL,
    AdditiveFinding,
    BinsFinding,
    Findings,
    GuaranteeFinding,
    MembershipFinding,
    ModelSummary,
    TermFinding,
)
from glassine.auditing.judging import advise, decide, judge
from glassine.auditing.model_facts import MISMATCH, bits_of_bins, shares_of_bins, sizes_of_bins, thresholds_of_bins
from glassine.auditing.policy import Policy
from glassine.auditing.suppression import Suppression
from glassine.data.inference import eager, violations
from glassine.domain import Domain
from glassine.errors import InvalidDataError, InvalidDomainError, InvalidPolicyError
from glassine.formats.loading import as_any
from glassine.formats.sklearn.interpret import EbmExtras, extras_of_interpret, is_interpret_ebm
from glassine.models import AdditiveModel
from glassine.models.additive import explain_global, score_meaning
from glassine.models.shapes import COVERAGE

__all__ = ["audit_additive"]

DRAWN_TERMS = 16
MOST_NOTES = 20
NO_CELLS = (
    "the bins of an additive model cut each attribute by itself, so that there are no regions of possible records to "
    "count; what the bins tell stands under the terms."
)
NO_REGIONS = "it is measured on regions of possible records, and an additive model has none."
BESIDE = "The guarantee covers the model, not these findings: they were measured on the data."
NO_TREE = "disclosure of the sensitive attribute is measured for decision trees; this is an additive model."
NO_ATTACK = "membership attacks are made on trees and rule lists; none is made on an additive model."


def audit_additive(
    model: Any,
    domain: Domain | None = None,
    *,
    data: Any = None,
    holdout: Any = None,
    sensitive: str | None = None,
    policy: Policy | None = None,
    show_small_counts: bool = False,
    extras: EbmExtras | None = None,
    progress: Callable[[str], None] | None = None,
) -> Findings:
    """Audit an additive model: measure what its bins tell about the training records.

    Sizes of bins are taken as published where they are exact counts, else counted in the data; of an additive model
    with neither they are unknown. A model that claims a differential privacy guarantee is audited for what the claim
    implies: see ``Policy.accept_guarantee``.

    Parameters
    ----------
    model : AdditiveModel, fitted estimator or explainable boosting machine
        The model, or anything that :func:`glassine.formats.as_any` reads as an additive model.
    domain : Domain, optional
        What is publicly known about the attributes: it tells which cuts, ranges and categories need no data.
    data : data frame, optional
        The training records, shape (n, at least the attributes that terms read).
    holdout : data frame, optional
        Not used: membership attacks are not made on additive models, which the findings say.
    sensitive : str, optional
        An attribute of the domain, or a column of the data; what its bins tell is noted.
    policy : Policy, optional
        The limits to judge by; the defaults of :class:`~glassine.auditing.policy.Policy` otherwise.
    show_small_counts : bool, default=False
        Whether counts below the policy's ``suppress_below`` are shown.
    extras : EbmExtras, optional
        What the artefact publishes beside the model. Found by itself where ``model`` is interpret's object.
    progress : callable, optional
        Called with the name of each stage as it starts.

    Returns
    -------
    Findings
        With ``additive`` set; what holds of regions of records is not applicable.

    Raises
    ------
    UnsupportedModelError
        If the model cannot be read as an additive model.
    InvalidModelError
        If the model reads an attribute that the domain lacks.
    InvalidDataError
        If the data lack a column, or do not hold ``sensitive``.

    Examples
    --------
    >>> from glassine.models import NumericBins, Term
    >>> age = Term(bins=(NumericBins("age", (30.5, 40.5)),), scores=[0.1, 0.2, 0.3, 0], weights=[1, 20, 20, 0])
    >>> model = AdditiveModel(attributes=("age",), terms=(age,), intercept=(0,), link="identity")
    >>> findings = audit_additive(model)
    >>> findings.verdict, [check.rule for check in findings.checks if check.status == "fail"]
    ('outside policy', ['smallest_leaf'])
    """
    if domain is not None and not isinstance(domain, Domain):
        raise InvalidDomainError(
            f"domain must be a Domain, got {type(domain).__name__}. Read one with Domain.from_json."
        )
    if policy is not None and not isinstance(policy, Policy):
        raise InvalidPolicyError(
            f"policy must be a Policy, got {type(policy).__name__}. Read one with Policy.from_toml."
        )
    if extras is None:
        extras = extras_of_interpret(model) if is_interpret_ebm(model) else EbmExtras()
    read = as_any(model, domain)
    if not isinstance(read, AdditiveModel):
        raise InvalidDataError(f"audit_additive reads additive models, got a {read}. Use glassine.audit.")
    limits = policy or Policy()
    report = progress or (lambda stage: None)
    report("reading bins")
    frame = None if data is None else _records(data)
    _check_sensitive(sensitive, read, domain, frame)
    run = _Run(
        model=read,
        domain=domain,
        policy=limits,
        shown=Suppression(0 if show_small_counts else limits.suppress_below),
        found=leak_bins(read, domain, None),
        extras=extras,
    )
    private = relied_on(describe_guarantee(read, limits))
    public = _findings(run, [], membership=NotApplicable(OF_THE_MODEL) if private else NO_HOLDOUT, sensitive=sensitive)
    if frame is None and holdout is None:
        return public
    run = replace(run, found=leak_bins(read, domain, frame))
    attacked: Outcome[MembershipFinding] = NO_HOLDOUT if holdout is None else NotApplicable(NO_ATTACK)
    outside = _outside(run, frame)
    notes = [*outside, *_beside_guarantee(run, private=private)]
    measured = _findings(run, notes, membership=attacked, sensitive=sensitive, strangers=bool(outside))
    return replace(public, holder=replace(measured, holder_only=True)) if private else measured


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One run: what was given, and what the bins tell."""

    model: AdditiveModel
    domain: Domain | None
    policy: Policy
    shown: Suppression
    found: BinLeakage
    extras: EbmExtras

    @property
    def inferred(self) -> list[str]:
        """The attributes that terms read whose domain was taken from data."""
        return [] if self.domain is None else [name for name in self.model.tested if self.domain[name].inferred]


def _records(data: Any) -> Any:
    """Return data as a frame in memory that holds records."""
    frame = eager(data)
    if not len(frame):
        raise InvalidDataError("data hold no record. Give the training records, or leave them out.")
    return frame.to_native()


def _outside(run: _Run, data: Any) -> list[str]:
    """Return notes on records outside the domain."""
    if data is None or run.domain is None:
        return []
    found = violations(run.domain.restrict(run.model.tested), data) if run.model.tested else {}
    shown = {name: run.shown.count(n) for name, n in found.items()}
    lie = {name: "record of the data lies" if n == 1 else "records of the data lie" for name, n in shown.items()}
    return [f"{name}: {n} {lie[name]} outside the domain." for name, n in shown.items()]


def _beside_guarantee(run: _Run, *, private: bool) -> list[str]:
    """Return that a claimed guarantee does not cover what was measured on records, and the smallest bin in them."""
    if run.model.guarantee is None or not run.model.guarantee.holds:
        return []
    sizes = [entry.smallest for entry in run.found.terms if entry.smallest is not None]
    if not private or not sizes:
        return [BESIDE]
    return [BESIDE, f"The smallest bin that holds any record of the data holds {run.shown.count(min(sizes))}."]


def _check_sensitive(name: str | None, model: AdditiveModel, domain: Domain | None, data: Any) -> None:
    """Raise if a sensitive attribute is unknown to the model, the domain and the data."""
    columns = () if data is None else eager(data).columns
    if name is not None and name not in (*(domain or ()), *columns, *model.attributes):
        raise InvalidDataError(
            f"the sensitive attribute {name!r} is neither in the domain nor a column of the data. Check its name."
        )


def _findings(
    run: _Run,
    notes: list[str],
    *,
    membership: Outcome[MembershipFinding],
    sensitive: str | None,
    strangers: bool = False,
) -> Findings:
    model, policy, found = run.model, run.policy, run.found
    guarantee = describe_guarantee(model, policy)
    accepted = guarantee is not None and guarantee.standing == "accepted"
    values = _values(run)
    strangers = strangers or bool(found.differing)
    evidence = _evidence(run, strangers, guarantee)
    checks = judge(policy, evidence, run.shown)
    no_regions = NotApplicable(NO_REGIONS)
    return Findings(
        verdict=decide(checks),
        checks=checks,
        model=_summary(run),
        domain=describe_domain(run.domain),
        policy=replace(policy, suppress_below=run.shown.below),
        reconstruction=NotApplicable(NO_CELLS),
        labels=NotApplicable("an additive model publishes no counts of outcomes; its scores are parts of sums."),
        values=Measured(run.shown.values(values)),
        subgroups=no_regions,
        exposed_rows=no_regions,
        alignment=no_regions,
        sensitive=sensitive,
        parts=(),
        tree=(),
        notes=_notes(run, notes, sensitive),
        advice=advise(policy, evidence, checks),
        version=__version__,
        guarantee=guarantee,
        membership=membership,
        additive=_additive(run, accepted=accepted),
        disclosure=NotApplicable(NO_TREE),
    )


def _evidence(run: _Run, strangers: bool, guarantee: GuaranteeFinding | None) -> Evidence:
    """Return what was measured, as criteria read it."""
    bars = [size for _, sizes in run.extras.histograms for size in sizes]
    n_targets = 0 if run.extras.target_range is None else 2
    mismatch = MISMATCH.format(parts="bins") if strangers else ""
    evidence = Evidence(
        kind="additive model",
        guarantee=guarantee,
        sizes=sizes_of_bins(run.found, bars, mismatch),
        thresholds=thresholds_of_bins(run.found, run.inferred, n_targets, guarantee),
        membership=NotApplicable(NO_ATTACK),
        certain=NotApplicable(NO_TREE),
        mismatch=mismatch,
        has_domain=run.domain is not None,
        domain_inferred=bool(run.inferred),
    )
    if evidence.covered:
        return evidence
    revealed = None if run.domain is None else bits_of_regions(run.model, run.domain, run.found)
    return replace(
        evidence,
        shares=shares_of_bins(run.policy, evidence, run.shown),
        bits=bits_of_bins(revealed, run.inferred, bars),
    )


def _values(run: _Run) -> ValueLeakage:
    """Return what the bins tell in the terms of other models: cuts are thresholds, ranges are bounds."""
    found, entries = run.found, run.found.attributes
    counted = all(entry.exact_bounds is not None for entry in entries if entry.n_bounds)
    lone = [entry.n_lone_categories for entry in entries]
    return ValueLeakage(
        n_thresholds=found.total("n_cuts") or 0,
        n_off_grid=found.total("n_off_grid"),
        n_midpoints=found.total("n_midpoints"),
        n_records_at_midpoints=None,
        exact_bounds=tuple(entry.attribute for entry in entries if entry.exact_bounds) if counted else None,
        lone_categories=None
        if any(count is None for count in lone)
        else tuple(entry.attribute for entry in entries if entry.n_lone_categories),
        n_lone_targets=0,
    )


def _summary(run: _Run) -> ModelSummary:
    model = run.model
    weights = next((term.weights for term in model.terms if term.weights is not None), None)
    exact = all(entry.origin == "published" for entry in run.found.terms)
    return ModelSummary(
        kind="additive model",
        source=model.source,
        n_parts=len(model.terms),
        depth=max((len(term.bins) for term in model.terms), default=0),
        n_records=None if weights is None else max(0, round(float(weights.sum()))),
        classes=None if model.classes is None else tuple(str(label) for label in model.classes),
        attributes=model.tested,
        approximate=weights is not None and not exact,
        count_scale=None if model.guarantee is None else model.guarantee.count_scale,
    )


def _notes(run: _Run, notes: list[str], sensitive: str | None) -> tuple[str, ...]:
    out = list(notes)
    found = run.found
    if any(entry.origin == "counted" for entry in found.terms):
        out.append("The model does not publish exact sizes of bins: they were counted in the data.")
    if found.differing:
        out.append(
            f"The data are not the training records: in {len(found.differing)} of {len(found.terms)} terms, bins hold "
            "other numbers of them than the model says."
        )
    if run.inferred:
        out.append("The domain was inferred from data, which understates what a reader learns.")
    if run.model.edits:
        out.append(
            f"The log of {len(run.model.edits)} edits is a part of the model: it holds the scores from before them."
        )
    if sensitive is not None:
        terms = [term.name for term in run.model.terms if sensitive in term.attributes]
        told = f"read by {', '.join(terms)}" if terms else "no term reads it"
        out.append(f"{sensitive}: {told}.")
    shown = [note if len(note) <= LONGEST else f"{note[:LONGEST]}..." for note in out]
    return tuple(shown[:MOST_NOTES])


def _additive(run: _Run, *, accepted: bool) -> AdditiveFinding:
    model = run.model
    sizes = {entry.name: entry for entry in run.found.terms}
    classes = [str(label) for label in model.classes or ()] or None
    # What an accepted guarantee covers may be drawn as it stands.
    shown = Suppression(0) if accepted else run.shown
    limit = run.policy.smallest_leaf
    terms = []
    for rank, shape in enumerate(explain_global(model)):
        entry: TermBins = sizes[shape.name]
        if accepted:
            # The guarantee answers for the sizes; true ones would be a release of their own.
            entry = replace(entry, sizes=None, origin=None)
        least = entry.smallest
        terms.append(
            TermFinding(
                name=shape.name,
                importance=float(f"{shape.importance:.4g}"),
                n_bins=entry.n_bins,
                smallest=None if least is None else run.shown.count(least),
                n_small=None if limit is None else entry.below(limit),
                origin=entry.origin,
                edited=shape.edited,
                shape=show_shape(shape, entry, shown, classes) if rank < DRAWN_TERMS else None,
            )
        )
    return AdditiveFinding(
        link=model.link,
        intercept=tuple(float(f"{value:.4g}") for value in model.intercept),
        meaning=score_meaning(model),
        n_bins=sum(term.n_bins for term in run.found.terms),
        n_edits=len(model.edits),
        coverage=COVERAGE,
        terms=tuple(terms),
        attributes=tuple(
            BinsFinding(
                attribute=entry.attribute,
                n_cuts=entry.n_cuts,
                n_off_grid=entry.n_off_grid,
                n_midpoints=entry.n_midpoints,
                n_bounds=entry.n_bounds,
                n_private_bounds=entry.n_private_bounds,
                exact_bounds=entry.exact_bounds,
                n_values=entry.n_values,
                n_own_bins=entry.n_own_bins,
                n_rebuilt=entry.n_rebuilt,
                n_undeclared=entry.n_undeclared,
                n_lone_categories=entry.n_lone_categories,
            )
            for entry in run.found.attributes
        ),
        beside=_beside(run.extras, run.shown),
    )


def _beside(extras: EbmExtras, shown: Suppression) -> tuple[str, ...]:
    """Return what is published beside the model, in sentences."""
    out = []
    if extras.histograms:
        sizes = np.concatenate([np.array(sizes) for _, sizes in extras.histograms])
        limit = max(shown.below, 2)
        small = int(((sizes > 0) & (sizes < limit)).sum())
        out.append(
            f"A histogram of the values of {len(extras.histograms)} attributes, with exact counts: {small} of "
            f"{int((sizes > 0).sum())} bars stand for fewer than {limit} people."
        )
    if extras.unique_values:
        out.append(f"How many different values each of {len(extras.unique_values)} attributes has in the data.")
    if extras.n_deviations:
        out.append(
            f"The standard deviations of the scores of {extras.n_deviations} terms over the bags: large ones mark bins "
            "whose few records only some bags saw."
        )
    if extras.n_bags > 1:
        out.append(
            f"The scores of {extras.n_bags} bags, each of which left out other records: their differences show what "
            "single records did."
        )
    if extras.target_range is not None:
        out.append("The smallest and the largest training target.")
    return tuple(out)
