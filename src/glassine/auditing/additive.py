"""An additive model as the subject of an audit: what its bins reveal about the records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from glassine.attacks.bin_leakage import BinLeakage, TermBins, are_candidates, leak_bins
from glassine.attacks.magnitudes import ALL, ContributionBounds
from glassine.attacks.outcome import UNCOVERED, Measured, Measurement, NotApplicable, Outcome, RecordNote
from glassine.attacks.value_leakage import ValueLeakage
from glassine.auditing.additive_regions import bits_of_bins, show_shape
from glassine.auditing.describe import relied_on
from glassine.auditing.facts import (
    Bits,
    Case,
    EffectiveParameters,
    Fact,
    Inapplicable,
    LargestShares,
    NamedPeople,
    Sizes,
    Thresholds,
    is_unclaimed,
)
from glassine.auditing.findings import (
    AdditiveFinding,
    GuaranteeFinding,
    ModelSummary,
    TermFinding,
)
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.model_subject import ModelSubject
from glassine.auditing.size_criteria import SMALLEST_LEAF
from glassine.auditing.subject import WEIGHED, OpenedModel, Raw
from glassine.auditing.suppression import Suppression
from glassine.auditing.training_records import beside_joint
from glassine.auditing.tree_facts import CONTRADICTION
from glassine.auditing.tree_figures import INFERRED, MISMATCH, check_unweighted
from glassine.auditing.trees import TREE_MEASUREMENTS, attack_members
from glassine.data.record_table import RecordTable
from glassine.domain import Integer, Real
from glassine.domain.grid import unround
from glassine.formats.ensembles import common_weight
from glassine.formats.json import fingerprint
from glassine.models import AdditiveModel
from glassine.models.additive import score_meaning, summarize_model, typed_scores
from glassine.models.additive_scores import recipe_of
from glassine.models.bins import NumericBins
from glassine.models.editing import revert
from glassine.models.evidence import are_exact
from glassine.models.implied import advantage_of_parameters
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
class AdditiveSubject(ModelSubject):
    """An additive model."""

    model: AdditiveModel
    leakage: BinLeakage  # What the bins reveal
    inferred: tuple[str, ...]  # The attributes that terms read whose domain was taken from data

    @classmethod
    def of(cls, opened: OpenedModel, inputs: AuditInputs, claim: GuaranteeFinding | None) -> Self:
        """Return an additive model with what is given beside it."""
        return cls.of_bins(opened.value, inputs, kind="additive model", guarantee=claim)

    @classmethod
    def of_bins(cls, model: AdditiveModel, inputs: AuditInputs, **own: Any) -> Self:
        """Return an additive model, with what else its kind needs."""
        # Sizes of bins are taken as published where they are exact counts, else counted in the data; of a model with
        # neither they are unknown.
        domain, facts = inputs.domain, cls.given_with(inputs, model.tested, recipe_of(model))
        table = inputs.table
        persons = None if table is None else table.persons
        summed = model.sizes == "derived" and are_exact(approximate=False, guarantee=model.guarantee)
        common = _common_weight(model) if summed else 1
        check_unweighted(inputs.statements, common)
        # Sums of weights are compared with the data, and a small one fails, as if they were numbers of records.
        counted = summed and common == 1
        leakage = leak_bins(replace(model, sizes="stored") if counted else model, domain, table, persons)
        inferred = () if domain is None else tuple(name for name in model.tested if domain[name].inferred)
        odd_counts = MISMATCH.format(parts="bins") if leakage.differing else ""
        facts["mismatch"] = facts["mismatch"] or odd_counts
        if _is_bare_regression(model) and not facts["mismatch"]:
            stated = inputs.statements.n_records
            facts |= asdict(beside_joint(model, table, inputs.target or model.target, stated))
        published = counted and any(entry.origin == "published" for entry in leakage.terms)
        confirmed = inputs.statements.unweighted or (table is not None and not facts["mismatch"])
        if published and not confirmed:
            facts["weights"] = WEIGHED.format(whose="the file")
            # How many records lie beside a cut does not follow from sums of weights.
            leakage = replace(leakage, attributes=leak_bins(model, domain, table, persons).attributes)
        return cls(model=model, leakage=leakage, inferred=inferred, domain_inferred=bool(inferred), **facts, **own)

    @property
    def reads(self) -> tuple[str, ...]:
        """What can be stated of an additive model."""
        return ("public_cuts", "unweighted", *(("n_records",) if _is_bare_regression(self.model) else ()))

    @property
    def target_ends(self) -> int:
        """How many ends of the target's range are published, but not public: they are values of two records."""
        stated, claim, domain = self.model.target_bounds, self.model.guarantee, self.inputs.domain
        if stated is None or (claim is not None and not claim.caveats):
            return 0
        declared = None if domain is None or self.model.target not in domain else domain[self.model.target]
        if not isinstance(declared, Integer | Real) or declared.inferred:
            return 2
        return sum(end not in (declared.lo, declared.hi) for end in stated)

    def summary(self) -> ModelSummary:
        """Return the model in brief."""
        return _summary(self)

    def notes(self, raw: Raw) -> Iterator[str]:
        """Yield what is odd about the data, the domain and the log of edits."""
        yield from self.record_notes()
        yield from self._beside_guarantee()
        if any(entry.origin == "counted" for entry in self.leakage.terms):
            yield RecordNote("The model does not publish exact sizes of bins: they were counted in the data.")
        if self.leakage.differing:
            yield RecordNote(
                f"The data are not the training records: in {len(self.leakage.differing)} of "
                f"{len(self.leakage.terms)} terms, bins hold other numbers of them than the model says."
            )
        if self.inferred:
            yield INFERRED
        if self.model.edits:
            yield (
                f"The log of {len(self.model.edits)} edits is a part of the model: it holds the scores from before "
                "them."
            )
            if n_typed := typed_scores(self.model):
                yield (
                    f"{n_typed:,} scores were set by hand, or computed from such scores: no guarantee of the released "
                    "model covers what they were taken from."
                )
        sensitive = self.inputs.settings.sensitive
        if sensitive is not None:
            terms = ", ".join(term.name for term in self.model.terms if sensitive in term.attributes)
            yield f"{sensitive}: {f'read by {terms}' if terms else 'no term reads it'}."

    def _beside_guarantee(self) -> Iterator[RecordNote]:
        """Yield that a claimed guarantee does not cover what was measured on records, and their smallest bin."""
        claim = self.model.guarantee
        if not self.inputs.has_records or claim is None or not claim.holds:
            return
        yield UNCOVERED
        sizes = [entry.smallest for entry in self.leakage.terms if entry.smallest is not None]
        if relied_on(self.guarantee) and sizes:
            of = " people" if self.counts_people else ""
            smallest = self.inputs.suppression.count(min(sizes))
            yield RecordNote(f"The smallest bin that holds any record of the data holds {smallest}{of}.")


def _is_bare_regression(model: AdditiveModel) -> bool:
    """Return whether nothing published says how many records scores were fitted to together."""
    return model.joint and any(term.weights is None for term in model.terms)


def _common_weight(model: AdditiveModel) -> int:
    """Return the number of which all sizes of bins are multiples, as where each record weighs as much; else 1."""
    sums = [term.weights.ravel() for term in model.terms if term.weights is not None]
    return common_weight([[round(own) for own in each.tolist()] for each in sums if (np.abs(each) < 2**53).all()])


# What measurements find, as criteria read it.


def _facts_of_terms(additive: AdditiveSubject, outcome: object, raw: Raw) -> dict[str, Fact[Any]]:
    """Return the records of bins, and what they reveal about outcomes and about several attributes at once."""
    sizes = _sizes(additive)
    if additive.accepted:
        return {"sizes": sizes, "implied": _parameters(additive)}
    return {
        "sizes": sizes,
        "implied": _parameters(additive),
        "shares": _shares(additive, sizes),
        "bits": _bits(additive),
    }


def _sizes(additive: AdditiveSubject) -> Fact[Sizes]:
    """Return the records of bins."""
    leakage = additive.leakage
    sizes = tuple(size for entry in leakage.terms for size in entry.counts or () if size)
    parts = {("non-empty bin", "non-empty bins"): sizes}
    unsettled = additive.doubt
    if any(entry.counts is None for entry in leakage.terms):
        unsettled = "The model does not publish exactly how many records its bins hold. Pass the training data."
    if not leakage.terms:
        return Inapplicable("The model has no bins.")
    return Measured(Sizes(parts=parts, unsettled=unsettled))


def _parameters(additive: AdditiveSubject) -> Fact[EffectiveParameters]:
    """Return the effective parameters of the bins: those of one term, whose shares have the sum 1, are one fewer."""
    counts = [entry.counts for entry in additive.leakage.terms]
    if not counts:
        return Inapplicable("The model has no bins.")
    n_stated = additive.inputs.statements.n_records
    if any(sizes is None for sizes in counts) and n_stated is not None and _is_bare_regression(additive.model):
        # The shares of a term's bins have the sum 1, whatever they are; an empty bin makes it more than it is.
        n_parameters = sum(entry.n_bins - 1 for entry in additive.leakage.terms)
        advantage = advantage_of_parameters(n_parameters / n_stated, "regression")
        return Measured(EffectiveParameters(per_record=n_parameters / n_stated, advantage=advantage))
    if any(sizes is None for sizes in counts):
        return NotApplicable("the model does not publish exactly how many records its bins hold.")
    table = additive.table
    # A person may be in several bins of a term.
    n = table.persons.number if table is not None and table.persons is not None else max(sum(c or ()) for c in counts)
    if not n:
        return NotApplicable("all published counts are zero, so the model says nothing about any record.")
    published = all(entry.origin == "published" for entry in additive.leakage.terms)
    joint, terms = additive.model.joint, zip(additive.model.terms, counts, strict=True)
    # Fitted one after another, a pair's scores are fitted to what those of its attributes leave: few parameters.
    read = [sizes or () for term, sizes in terms if published or joint or len(term.attributes) == 1]
    per_record = sum(1 - size / n for sizes in read for size in sizes if size) / n
    kind = "regression" if joint else f"additive model{'' if published else ' without counts'}"
    advantage = advantage_of_parameters(per_record, kind)
    return Measured(EffectiveParameters(per_record=per_record, advantage=advantage, unsettled=additive.doubt))


def _shares(additive: AdditiveSubject, sizes: Fact[Sizes]) -> Fact[LargestShares]:
    """Return that no share is published, where every bin is large: the score of a small one reveals its outcomes."""
    case = Case(kind=additive.kind, facts={"sizes": sizes})
    check = SMALLEST_LEAF.check(additive.inputs.policy.small, case, additive.inputs.suppression)
    if check is not None and check.status in ("pass", "not applicable"):
        return Inapplicable(
            "No share of an outcome is published: a score is a part of a sum, and every bin holds many records."
        )
    return NotApplicable(
        "the score of a bin of few records shows in which direction their outcomes differ from what the rest of the "
        "model expects. How far, was not measured."
    )


def _bits(additive: AdditiveSubject) -> Fact[Bits]:
    """Return the bits about the most exposed record."""
    if additive.inputs.domain is None:
        return NotApplicable("it needs a domain.")
    revealed = bits_of_bins(additive.model, additive.inputs.domain, additive.leakage)
    if math.isinf(revealed.least):
        return NotApplicable(CONTRADICTION)
    upper, unsettled = revealed.most, additive.weights
    if upper is None:
        unsettled = (
            "Sizes of bins or ranges of values are published, and what follows from them about several attributes at "
            "once was not measured: sizes are noisy, are not counts, or count one attribute twice, or ranges are not "
            "the domain's. A copy without both reveals nothing about several attributes at once."
        )
    return Measured(Bits(lower=revealed.least, upper=upper, unsettled=unsettled, inferred=additive.inferred))


def _facts_of_values(additive: AdditiveSubject, outcome: object, raw: Raw) -> dict[str, Fact[Any]]:
    """Return cuts, ends of ranges and categories, and whom they can name."""
    claim = additive.guarantee
    bounded = claim is not None and not claim.caveats
    facts: dict[str, Fact[Any]] = {"thresholds": Measured(_thresholds(additive, bounded))}
    facts["named"] = Measured(_named(additive, bounded))
    facts |= {"identifiers": Measured(additive.identifiers.tested), "unclaimed": Measured(is_unclaimed(additive.model))}
    if additive.model.classes is None and not bounded:
        facts["contributions"] = _extremes(additive)
    return facts


def _extremes(additive: AdditiveSubject) -> Fact[ContributionBounds]:
    """Return that a published end of the target's range is the value of one, where the data show it to be."""
    table, target, ends = additive.table, additive.inputs.target, additive.model.target_bounds
    values = None if table is None or target is None else table.arrays.get(target)
    if values is None or values.dtype.kind not in "iuf":
        return None
    numbers = [value for value in values.tolist() if value == value]
    published = additive.target_ends and ends is not None and {min(numbers), max(numbers)} & set(ends)
    return Measured(ContributionBounds.exactly((ALL,) if numbers and published else ()))


def _thresholds(additive: AdditiveSubject, bounded: bool) -> Thresholds:
    leakage, n_targets, inferred = additive.leakage, additive.target_ends, additive.inferred
    counts = [leakage.total(name) for name in ("n_off_grid", "n_private_bounds", "n_undeclared")]
    cuts, ends, names = (count or 0 for count in counts)
    n_cuts, off = leakage.total("n_cuts") or 0, counts[0]
    listed = (
        (cuts, "cut", "cuts"),
        (ends + n_targets, "end of a range", "ends of ranges"),
        (names, "category", "categories"),
    )
    return Thresholds(
        drawn=bounded and not (ends or names or n_targets) and _drawn(additive),
        n=n_cuts,
        n_private=cuts + ends + names + n_targets,
        complete=all(count is not None for count in counts),
        inferred=tuple(inferred),
        kinds=tuple(f"{count:,} {one if count == 1 else more}" for count, one, more in listed if count),
        bounded=bounded,
        n_midpoints=leakage.total("n_midpoints"),
        n_rebuilt=leakage.total("n_rebuilt") or 0,
        # Ranges and categories count among what is not public, so that it does not decide about cuts.
        wants_data=bool(n_cuts) and not (off == 0 and not inferred),
    )


def _drawn(additive: AdditiveSubject) -> bool:
    domain = additive.inputs.domain
    return domain is not None and are_candidates(additive.model, domain)


def _cuts(model: AdditiveModel) -> list[tuple[str, float]]:
    return [
        (bins.attribute, cut)
        for term in model.terms
        for bins in term.bins
        if isinstance(bins, NumericBins)
        for cut in bins.cuts
    ]


def _named(additive: AdditiveSubject, bounded: bool) -> NamedPeople:
    """Return whom cuts, ends of ranges and categories can name: no attack on bins flags people, so by an estimate."""
    leakage, n_targets = additive.leakage, additive.target_ends
    # An end of a range is the value of a person, and so is a category that the domain does not declare.
    sides, ends, names = (leakage.total(name) for name in ("n_nameable", "n_private_bounds", "n_undeclared"))
    n_cuts, lone = leakage.total("n_cuts") or 0, leakage.total("n_lone_categories")
    complete = None not in (sides, ends, names)
    other = (ends or 0) + ((names or 0) if lone is None else lone) + n_targets + (leakage.total("n_rebuilt") or 0)
    return NamedPeople(
        number=(sides or 0) + other if complete or other else None if n_cuts else 0,
        n=n_cuts + other,
        n_private=(leakage.total("n_off_grid") or 0) + other if complete else n_cuts + other,
        lacking=() if complete else tuple(entry.attribute for entry in leakage.attributes if entry.n_nameable is None),
        inferred=additive.inferred,
        bounded=bounded,
        drawn=bounded and not other and _drawn(additive),
        # Ends of ranges and categories are no cut points.
        stated_by="" if other else additive.inputs.statements.cuts_stated_by,
        unround=unround(_cuts(additive.model), additive.inputs.domain),
    )


def _membership(subject: AdditiveSubject) -> Outcome[MembershipAttacks]:
    """Attack membership, with the attributes that the model knows; shadow models are additive, of the same domain."""
    model, domain = subject.model, subject.inputs.domain

    def learner(_members: RecordTable) -> Any:
        # Its learners take a second to import.
        from glassine.learners import EBMClassifier

        return EBMClassifier(
            domain=None if domain is None else domain.restrict(model.attributes), classes=model.classes
        )

    return attack_members(model, subject.inputs, model.attributes, learner)


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
        sizes=model.sizes,
    )


def _hide_terms(subject: AdditiveSubject, suppression: Suppression) -> AdditiveFinding:
    model = subject.model
    accepted = subject.accepted
    sizes = {entry.name: entry for entry in subject.leakage.terms}
    classes = [str(label) for label in model.classes or ()] or None
    # What an accepted guarantee covers may be drawn as it stands.
    own = Suppression(0) if accepted else suppression
    limit = subject.inputs.policy.small
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
                n_small=entry.below(limit),
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
        released=fingerprint(revert(model)) if model.edits else None,
        coverage=COVERAGE,
        terms=tuple(terms),
        attributes=tuple(entry.finding() for entry in subject.leakage.attributes),
    )


TERMS = Measurement[AdditiveSubject, AdditiveSubject](
    "terms",
    "Terms and bins",
    "What does each bin reveal about training values?",
    AdditiveFinding,
    run=Measured,
    hide=_hide_terms,
    facts=_facts_of_terms,
    listed=False,
)
REASONS = {"reconstruction": NO_CELLS, "labels": NO_COUNTS, "disclosure": NO_TREE}


def _of_bins(measurement: Measurement[Any, Any]) -> Measurement[Any, Any]:
    """Return a measurement of trees for additive models, to which most of them do not apply."""
    name = measurement.name
    if name == "membership":
        return measurement(_membership)
    if name == "values":
        return replace(measurement(_values), facts=_facts_of_values)
    absent = replace(measurement, run=lambda subject: REASONS.get(name, NO_REGIONS), facts=lambda *_: {})
    return replace(absent, facts=lambda *_: {"certain": NO_TREE}) if name == "disclosure" else absent


AdditiveSubject.measurements = (TERMS, *(_of_bins(m) for m in TREE_MEASUREMENTS if m.listed))
