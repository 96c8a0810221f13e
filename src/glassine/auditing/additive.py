"""An additive model as the subject of an audit: what its bins reveal about the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from glassine.attacks.bins import BinLeakage, TermBins, leak_bins
from glassine.attacks.outcome import UNCOVERED, Measured, Measurement, NotApplicable, Outcome, RecordNote
from glassine.attacks.values import ValueLeakage
from glassine.auditing.additive_regions import bits_of_bins as bits_of_regions
from glassine.auditing.additive_regions import show_shape
from glassine.auditing.describe import describe_domain, describe_guarantee, relied_on
from glassine.auditing.describe_membership import described
from glassine.auditing.evidence import Evidence, Fact
from glassine.auditing.findings import (
    OF_THE_MODEL,
    AdditiveFinding,
    DomainSummary,
    GuaranteeFinding,
    ModelSummary,
    TermFinding,
)
from glassine.auditing.inputs import AuditInputs, Comparison, check_sensitive, people_hint
from glassine.auditing.model_facts import (
    MISMATCH,
    bits_of_bins,
    doubt_of,
    named_of_bins,
    shares_of_bins,
    sizes_of_bins,
    thresholds_of_bins,
)
from glassine.auditing.policy import Policy
from glassine.auditing.subject import Raw, Subject, texts_of
from glassine.auditing.suppression import Suppression
from glassine.auditing.trees import TREE_MEASUREMENTS, attacked, doubted
from glassine.data.inference import eager, violations
from glassine.data.table import Table
from glassine.domain import Integer, Real
from glassine.errors import InvalidDataError, UnsupportedModelError
from glassine.formats.canonical import LongText
from glassine.formats.loading import as_model
from glassine.formats.sklearn.interpret import EbmExtras, extras_of_interpret, is_interpret_ebm
from glassine.models import AdditiveModel
from glassine.models.additive import score_meaning, summarize_model
from glassine.models.shapes import COVERAGE

if TYPE_CHECKING:
    from glassine.attacks.membership.suite import MembershipAttacks

DRAWN_TERMS = 16
NO_CELLS = NotApplicable(
    "the bins of an additive model cut each attribute separately, so that there are no regions of possible records to "
    "count; what the bins reveal is listed under the terms."
)
NO_REGIONS = NotApplicable("it is measured on regions of possible records, and an additive model has none.")
NO_COUNTS = NotApplicable("an additive model publishes no counts of outcomes; its scores are parts of sums.")
NO_TREE = NotApplicable(
    "disclosure of the sensitive attribute is measured for decision trees; this is an additive model."
)


@dataclass(frozen=True, kw_only=True)
class AdditiveSubject(Subject):
    """An additive model."""

    model: AdditiveModel
    extras: EbmExtras

    @cached_property
    def guarantee(self) -> GuaranteeFinding | None:
        """The differential privacy that is claimed for the model."""
        return describe_guarantee(self.model, self.policy)

    @cached_property
    def frame(self) -> Any:
        """The training records in memory; None where there are none."""
        if self.inputs.data is None:
            return None
        frame = eager(self.inputs.data)
        if not len(frame):
            raise InvalidDataError("data hold no record.", remedy="Give the training records, or leave them out.")
        return frame.to_native()

    @cached_property
    def leakage(self) -> BinLeakage:
        """What the bins reveal."""
        table = self.inputs.table
        return leak_bins(self.model, self.inputs.domain, self.frame, None if table is None else table.persons)

    @cached_property
    def outside(self) -> dict[str, int]:
        """Records outside the domain, by attribute or constraint."""
        domain, tested = self.inputs.domain, self.model.tested
        if self.frame is None or domain is None or not tested:
            return {}
        return violations(domain.restrict(tested), self.frame)

    @property
    def inferred(self) -> list[str]:
        """The attributes that terms read whose domain was taken from data."""
        domain = self.inputs.domain
        return [] if domain is None else [name for name in self.model.tested if domain[name].inferred]

    @property
    def target_ends(self) -> int:
        """How many ends of the target's range are published, but not public: they are values of two records."""
        stated, claim, domain = self.model.target_bounds, self.model.guarantee, self.inputs.domain
        if stated is None or (claim is not None and not claim.caveats):
            return 0 if self.extras.target_range is None else 2
        declared = None if domain is None or self.model.target not in domain else domain[self.model.target]
        if not isinstance(declared, Integer | Real) or declared.inferred:
            return 2
        return sum(end not in (declared.lo, declared.hi) for end in stated)

    def check(self, inputs: AuditInputs) -> None:
        """Raise InvalidDataError if the sensitive attribute is unknown to the model, the domain and the data."""
        name = inputs.settings.sensitive
        if name is not None and name not in self.model.attributes:
            check_sensitive(name, inputs.domain, None if inputs.table is None else inputs.table.names)

    def summary(self) -> ModelSummary:
        """Return the model in brief."""
        return _summary(self)

    def domain_summary(self) -> DomainSummary | None:
        """Return the domain in brief."""
        return describe_domain(self.inputs.domain)

    def texts(self) -> Fact[tuple[LongText, ...]]:
        """Return the texts of the model beyond what it needs."""
        return texts_of(self.model, self.inputs)

    def evidence(self, raw: Raw, suppression: Suppression) -> Evidence:
        """Return what was measured as criteria read it."""
        bars = [size for _, sizes in self.extras.histograms for size in sizes]
        n_targets = self.target_ends
        mismatch = MISMATCH.format(parts="bins") if self.outside or self.leakage.differing else ""
        domain, membership = self.inputs.domain, described(raw.get("membership"), suppression)
        guarantee = doubted(self.guarantee, membership, people=self.inputs.counts_people)
        evidence = Evidence(
            kind="additive model",
            guarantee=guarantee,
            sizes=sizes_of_bins(self.leakage, bars, doubt_of(guarantee, self.inputs, mismatch))
            if "terms" in raw
            else None,
            thresholds=thresholds_of_bins(self.leakage, self.inferred, n_targets, guarantee)
            if "values" in raw
            else None,
            named=named_of_bins(self.leakage, self.inferred, n_targets, guarantee) if "values" in raw else None,
            has_data=self.frame is not None,
            membership=membership,
            certain=NO_TREE if "disclosure" in raw else None,
            mismatch=mismatch,
            has_domain=domain is not None,
            domain_inferred=bool(self.inferred),
            people=self.inputs.counts_people or self.inputs.settings.statements.one_record_per_person,
        )
        if evidence.covered or "terms" not in raw:
            return evidence
        revealed = None if domain is None else bits_of_regions(self.model, domain, self.leakage)
        return replace(
            evidence,
            shares=shares_of_bins(self.policy, evidence, suppression),
            bits=bits_of_bins(revealed, self.inferred, bars),
        )

    def notes(self, raw: Raw, guarantee: GuaranteeFinding | None, suppression: Suppression) -> Sequence[str]:
        """Return what is odd about the data, the domain and the log of edits."""
        notes: list[str] = [*people_hint(self.inputs), *Comparison(outside=self.outside).notes(suppression)]
        notes += self._beside_guarantee(suppression)
        if any(entry.origin == "counted" for entry in self.leakage.terms):
            notes.append(RecordNote("The model does not publish exact sizes of bins: they were counted in the data."))
        if self.leakage.differing:
            notes.append(
                RecordNote(
                    f"The data are not the training records: in {len(self.leakage.differing)} of "
                    f"{len(self.leakage.terms)} terms, bins hold other numbers of them than the model says."
                )
            )
        if self.inferred:
            notes.append("The domain was inferred from data, which understates what an attacker learns.")
        if self.model.edits:
            notes.append(
                f"The log of {len(self.model.edits)} edits is a part of the model: it holds the scores from before "
                "them."
            )
        sensitive = self.inputs.settings.sensitive
        if sensitive is not None:
            terms = ", ".join(term.name for term in self.model.terms if sensitive in term.attributes)
            notes.append(f"{sensitive}: {f'read by {terms}' if terms else 'no term reads it'}.")
        return notes

    def _beside_guarantee(self, suppression: Suppression) -> list[RecordNote]:
        """Return that a claimed guarantee does not cover what was measured on records, and their smallest bin."""
        claim = self.model.guarantee
        if not self.inputs.has_records or claim is None or not claim.holds:
            return []
        sizes = [entry.smallest for entry in self.leakage.terms if entry.smallest is not None]
        if not relied_on(self.guarantee) or not sizes:
            return [UNCOVERED]
        of = " people" if self.inputs.counts_people else ""
        smallest = suppression.count(min(sizes))
        found = f"The smallest bin that holds any record of the data holds {smallest}{of}."
        return [UNCOVERED, RecordNote(found)]


def additive_subject(artefact: object, inputs: AuditInputs, policy: Policy) -> AdditiveSubject:
    """Return an additive model with what is given beside it."""
    # Sizes of bins are taken as published where they are exact counts, else counted in the data; of a model with
    # neither they are unknown.
    extras = inputs.settings.extras
    if extras is None:
        extras = extras_of_interpret(artefact) if is_interpret_ebm(artefact) else EbmExtras()
    model = as_model(artefact, inputs.domain)
    if not isinstance(model, AdditiveModel):
        raise UnsupportedModelError(f"an additive model was expected, got a {model}.", remedy="Pass it to audit.")
    return AdditiveSubject(inputs=inputs, policy=policy, model=model, extras=extras)


def _membership(subject: AdditiveSubject) -> Outcome[MembershipAttacks]:
    """Attack membership, with the attributes that the model knows; shadow models are additive, of the same domain."""
    if subject.public:
        return NotApplicable(OF_THE_MODEL)
    model, domain = subject.model, subject.inputs.domain

    def learner(_members: Table) -> Any:
        # Its learners take a second to import.
        from glassine.learners import EBMClassifier

        return EBMClassifier(
            domain=None if domain is None else domain.restrict(model.attributes), classes=model.classes
        )

    return attacked(model, subject.inputs, model.classes, model.attributes, learner)


def _values(subject: AdditiveSubject) -> Outcome[ValueLeakage]:
    """Return what the bins reveal in the terms of other models: cuts are thresholds, ranges are bounds."""
    leakage, entries = subject.leakage, subject.leakage.attributes
    counted = all(entry.exact_bounds is not None for entry in entries if entry.n_bounds)
    lone = [entry.n_lone_categories for entry in entries]
    return Measured(
        ValueLeakage(
            n_thresholds=leakage.total("n_cuts") or 0,
            n_off_grid=leakage.total("n_off_grid"),
            n_midpoints=leakage.total("n_midpoints"),
            n_records_at_midpoints=None,
            exact_bounds=tuple(entry.attribute for entry in entries if entry.exact_bounds) if counted else None,
            lone_categories=None
            if any(count is None for count in lone)
            else tuple(entry.attribute for entry in entries if entry.n_lone_categories),
            n_lone_targets=0,
        )
    )


def _summary(subject: AdditiveSubject) -> ModelSummary:
    model = subject.model
    weights = next((term.weights for term in model.terms if term.weights is not None), None)
    exact = all(entry.origin == "published" for entry in subject.leakage.terms)
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


def _hide_terms(subject: AdditiveSubject, suppression: Suppression) -> AdditiveFinding:
    model = subject.model
    accepted = subject.guarantee is not None and subject.guarantee.accepted
    sizes = {entry.name: entry for entry in subject.leakage.terms}
    classes = [str(label) for label in model.classes or ()] or None
    # What an accepted guarantee covers may be drawn as it stands.
    own = Suppression(0) if accepted else suppression
    limit = subject.policy.smallest_leaf
    terms = []
    for rank, shape in enumerate(summarize_model(model)):
        entry: TermBins = sizes[shape.name]
        if accepted:
            # The guarantee answers for the sizes; true ones would be a release of their own.
            entry = replace(entry, sizes=None, people=None, origin=None)
        least = entry.smallest
        terms.append(
            TermFinding(
                name=shape.name,
                importance=float(f"{shape.importance:.4g}"),
                n_bins=entry.n_bins,
                smallest=None if least is None else suppression.count(least),
                n_small=None if limit is None else entry.below(limit),
                origin=entry.origin,
                edited=shape.edited,
                shape=show_shape(shape, entry, own, classes, subject.inputs.domain) if rank < DRAWN_TERMS else None,
            )
        )
    return AdditiveFinding(
        link=model.link,
        intercept=tuple(float(f"{value:.4g}") for value in model.intercept),
        meaning=score_meaning(model),
        n_bins=sum(term.n_bins for term in subject.leakage.terms),
        n_edits=len(model.edits),
        coverage=COVERAGE,
        terms=tuple(terms),
        attributes=tuple(entry.finding() for entry in subject.leakage.attributes),
        beside=_beside(subject.extras, suppression),
    )


def _beside(extras: EbmExtras, suppression: Suppression) -> tuple[str, ...]:
    """Return what is published beside the model, in sentences."""
    out = []
    if extras.histograms:
        sizes = np.concatenate([np.array(sizes) for _, sizes in extras.histograms])
        limit = max(suppression.below, 2)
        small = int(((sizes > 0) & (sizes < limit)).sum())
        out.append(
            f"A histogram of the values of {len(extras.histograms)} attributes, with exact counts: {small} of "
            f"{int((sizes > 0).sum())} bars stand for fewer than {limit} records."
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


TERMS = Measurement[AdditiveSubject, AdditiveSubject](
    name="terms",
    title="Terms and bins",
    question="What does each bin reveal about training values?",
    finding=AdditiveFinding,
    run=Measured,
    hide=_hide_terms,
    listed=False,
)
RUNS = {"values": _values, "membership": _membership}
REASONS = {"reconstruction": NO_CELLS, "labels": NO_COUNTS, "disclosure": NO_TREE}

AdditiveSubject.measurements = (
    TERMS,
    *(
        m.made_by(RUNS[m.name]) if m.name in RUNS else m.absent(REASONS.get(m.name, NO_REGIONS))
        for m in TREE_MEASUREMENTS
        if m.listed
    ),
)
