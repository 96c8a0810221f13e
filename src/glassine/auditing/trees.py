"""A decision tree or a rule list as the subject of an audit: its records, what is measured of it, and the facts."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.labels import LABELS, LabelDisclosure, Occupants, disclose_labels
from glassine.attacks.outcome import UNCOVERED, Failed, Measured, Measurement, NotApplicable, Outcome, RecordNote
from glassine.attacks.reconstruction.leakage import SubgroupLeakage
from glassine.attacks.values import VALUES, ValueLeakage, leak_values, thresholds_of
from glassine.auditing.describe import describe_guarantee, describe_model, describe_parts, tree_shape
from glassine.auditing.describe_membership import describe_membership
from glassine.auditing.disclosure import Inferred, Question, expose
from glassine.auditing.facts import Kind
from glassine.auditing.findings import (
    NO_HOLDOUT,
    OF_THE_MODEL,
    DisclosureFinding,
    GuaranteeFinding,
    MembershipFinding,
    ModelSummary,
    PartsFinding,
    ReconstructionFinding,
    SubgroupFinding,
)
from glassine.auditing.inputs import (
    AuditInputs,
    Comparison,
    check_sensitive,
    compare,
    inferred_domain,
    on_shared,
    outside_domain,
    people_hint,
)
from glassine.auditing.policy import Policy
from glassine.auditing.reconstruction import (
    Rows,
    align,
    compared,
    counted_model,
    curve_of,
    exposed_rows,
    grouping,
    hide_subgroups,
    rebuilt,
    rows_measured,
    subgroups,
)
from glassine.auditing.subject import Opened, Raw, Subject
from glassine.auditing.suppression import Suppression
from glassine.auditing.tree_facts import (
    count_classes,
    facts_of_disclosure,
    facts_of_labels,
    facts_of_parts,
    facts_of_reconstruction,
    facts_of_values,
    rounded,
)
from glassine.auditing.tree_figures import COUNTED, CountedData, count_data
from glassine.data.labels import Sample, class_places
from glassine.data.lazy import is_lazy
from glassine.data.table import Table
from glassine.domain import Domain
from glassine.domain.literals import attributes_of
from glassine.errors import CountingLimitError, InvalidDataError, parameter
from glassine.formats import as_model
from glassine.formats.builder import not_judged
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import AnyArray, Indices, Ints

if TYPE_CHECKING:
    from glassine.attacks.membership.suite import MembershipAttacks
    from glassine.attacks.reconstruction.entropy import ProbabilisticDataset

NO_DOMAIN = (
    "no domain was given, so possible records cannot be counted. Draft one from the model with "
    "`glassine domain new`, or from records with `glassine domain infer`."
)
MISMATCH = (
    "The data does not match the model: its {parts} hold other numbers of records. Use the records the model was "
    "trained on."
)
INFERRED = "The domain was inferred from data, which understates what an attacker learns."


@dataclass(frozen=True, kw_only=True)
class TreeSubject(Subject):
    """A tree or a rule list, and the figures that several measurements need; each is computed once."""

    model: DecisionTree | RuleList  # The model as a value
    artefact: Any  # The model as it was given: a fitted estimator states its criterion
    declared: Domain | None  # The domain, inferred from the data where none was given

    @classmethod
    def of(
        cls, opened: Opened, inputs: AuditInputs, policy: Policy, claim: GuaranteeFinding | None, *, public: bool
    ) -> Self:
        """Return a tree or a rule list with what is given beside it; its domain is inferred where there is none."""
        model, domain, notes = opened.value, inputs.domain, list[str]()
        if domain is not None and domain.inferred:
            notes.append(INFERRED)
        elif domain is None and inputs.columns is not None and inputs.needs_domain:
            domain = inferred_domain(model, inputs.columns, notes)
            model = as_model(opened.artefact, domain)
        model = rounded(model, inputs.settings.statements.rounded_to)
        if alone := not_judged(model.source or ""):
            notes.append(alone)
        target = inputs.target
        if target is not None and target in attributes_of(model.literals):
            raise InvalidDataError(
                f"the target {target!r} is an attribute that the model tests.",
                remedy="Name what it predicts: the column, or the name of the series.",
            )
        subject = cls(
            inputs=inputs,
            policy=policy,
            guarantee=claim,
            public=public,
            notes_read=(*notes, *people_hint(inputs)),
            model=model,
            artefact=opened.artefact,
            declared=domain,
        )
        lacking = subject.columns is not None and target not in subject.columns and not inputs.lacks_labels
        if target is not None and lacking:
            raise InvalidDataError(
                f"the target {target!r} must be a column of the data.", remedy="Check its name, or pass its values."
            )
        return subject

    @classmethod
    def claim(cls, opened: Opened, policy: Policy) -> GuaranteeFinding | None:
        """Return the differential privacy that is claimed for the model."""
        return describe_guarantee(opened.value, policy)

    @classmethod
    def check(cls, opened: Opened, inputs: AuditInputs, names: Container[str] | None) -> None:
        """Raise InvalidDataError if the sensitive attribute is neither in the domain nor a column of the data."""
        if inputs.settings.sensitive is not None and not inputs.lacks_labels:
            check_sensitive(inputs.settings.sensitive, inputs.domain, names)

    @property
    def kind(self) -> Kind:
        """Whether it is a tree or a rule list."""
        return "tree" if isinstance(self.model, DecisionTree) else "rule list"

    @property
    def nouns(self) -> tuple[str, str]:
        """What a part of the model and several are called."""
        return ("leaf", "leaves") if isinstance(self.model, DecisionTree) else ("rule", "rules")

    @property
    def of_classes(self) -> bool:
        """Whether it predicts a class, not a number."""
        return self.model.classes is not None

    @cached_property
    def noise(self) -> str | None:
        """Why the counts measure nothing, if they are noisy."""
        claim, counted = self.guarantee, any(cell.evidence.size is not None for cell in self.model.cells)
        if claim is None or claim.count_scale is None or not counted:
            return None
        limits = "nothing limits" if claim.caveats else "if the guarantee holds, it limits"
        return f"the published counts are noisy (scale {claim.count_scale:.3g} records); {limits} what they reveal."

    @cached_property
    def domain(self) -> Domain | None:
        """The attributes that records have beside the target, which the model publishes as an outcome."""
        target = self.inputs.target
        if self.declared is None or target is None or target not in self.declared:
            return self.declared
        return self.declared.restrict([name for name in self.declared if name != target])

    @property
    def has_domain(self) -> bool:
        """Whether a domain was given or inferred."""
        return self.domain is not None

    @property
    def inferred(self) -> bool:
        """Whether a part of the domain was taken from data."""
        return self.domain is not None and bool(self.domain.inferred)

    # Records: read one by one, or only counted where a lazy frame lies.

    @cached_property
    def counted(self) -> CountedData | None:
        """What an engine counts in a lazy frame; None where records are read, or there are none."""
        if self.declared is None or not is_lazy(self.inputs.data):
            return None
        return count_data(self.model, self.inputs.data, self.declared)

    @cached_property
    def table(self) -> Table | None:
        """The training records; None where there are none, or they are only counted."""
        return None if self.counted is not None else self.inputs.table

    @property
    def columns(self) -> dict[str, AnyArray] | None:
        """The same as columns, shape (n,) each."""
        return None if self.table is None else self.table.arrays

    @cached_property
    def owners(self) -> Table | None:
        """The training records where they say whose they are, so that people are counted; else None."""
        return self.table if self.table is not None and self.table.persons is not None else None

    @cached_property
    def rows(self) -> Indices | None:
        """The leaf or rule of each record, shape (n,)."""
        return None if self.columns is None else self.model.apply(self.columns)

    @property
    def has_data(self) -> bool:
        """Whether there are training records, read or counted."""
        return self.rows is not None or self.counted is not None

    @cached_property
    def comparison(self) -> Comparison:
        """How the training records that were given differ from what the model and the domain say."""
        if self.counted is not None:
            return compare(self.model, self.data_sizes, self.counted.outside, counted=True)
        sampled = self.inputs.settings.disclosure is not None and self.inputs.settings.disclosure.training == "sample"
        if self.columns is None or sampled:
            return Comparison()
        return compare(self.model, self.data_sizes, outside_domain(self.domain, self.table, self.columns))

    @property
    def mismatch(self) -> str:
        """Why the data are not the training records; empty if nothing says so."""
        return MISMATCH.format(parts=self.nouns[1]) if self.comparison.mismatch else ""

    # Sizes of leaves: as published, else counted in the data where that may be looked at, and in people where known.

    @cached_property
    def published_sizes(self) -> list[int | None]:
        """Records of each part as published exactly: noisy or rounded counts say nothing certain, a 0 may be 4."""
        exact = self.model.counts_are_exact
        return [cell.evidence.size if exact else None for cell in self.model.cells]

    @cached_property
    def data_sizes(self) -> list[int]:
        """Records of the data in each part."""
        if self.counted is not None:
            return list(self.counted.sizes)
        rows: Any = [] if self.rows is None else self.rows
        return [int(size) for size in np.bincount(rows, minlength=len(self.model.cells))]

    @cached_property
    def occupants(self) -> Occupants | None:
        """The people in each part, by class as far as the target is known; None where records are counted."""
        if self.owners is None or self.rows is None:
            return None
        classes, labels = self.model.classes or (), np.full(len(self.rows), -1)
        if self.inputs.target is not None and classes:
            labels = class_places(self.owners.arrays[self.inputs.target], classes)
        return Occupants.counted(self.owners, self.rows, labels, (len(self.model.cells), max(1, len(classes))))

    @cached_property
    def record_sizes(self) -> list[int | None]:
        """Records of each part: as published, else counted in the data, where no guarantee answers."""
        if self.accepted or not self.has_data or None not in self.published_sizes:
            return self.published_sizes
        pairs = zip(self.published_sizes, self.data_sizes, strict=True)
        return [counted if size is None else size for size, counted in pairs]

    @cached_property
    def sizes(self) -> list[int | None]:
        """How many stand behind each part: people where persons are stated, else its records."""
        if self.occupants is None or self.accepted:
            return self.record_sizes
        return [int(size) for size in self.occupants.sizes]

    @cached_property
    def class_counts(self) -> Ints | None:
        """Training records of each class in each part, shape (parts, classes); None where classes are not known."""
        return None if self.rows is None else count_classes(self.model, self.rows, self.columns, self.inputs.target)

    @cached_property
    def possible(self) -> ProbabilisticDataset | None:
        """The possible records; None without a domain."""
        if self.domain is None:
            return None
        from glassine.attacks.reconstruction.entropy import reconstruct

        model = counted_model(self.model, self.has_data, self.record_sizes)
        return reconstruct(model, self.domain, max_steps=self.inputs.settings.max_steps)

    @cached_property
    def bits(self) -> Outcome[tuple[tuple[float, ...], tuple[str, ...]]]:
        """Bits learned about each record of each part, and what is noted about counting them."""
        if self.possible is None:
            return NotApplicable(NO_DOMAIN)
        try:
            published, aware = self.possible.notes(), self.possible.notes(domain_aware=True)
            learned = self.possible.bits_learned(domain_aware=True)
        except CountingLimitError as error:
            return Failed(error.text)
        groups = [f"with the domain's groups, {note}" for note in aware if note not in published]
        return Measured((learned, (*published, *groups)))

    @property
    def learned(self) -> tuple[float, ...] | None:
        """Bits learned about each record of each part; None where they were not counted."""
        return self.bits.value[0] if isinstance(self.bits, Measured) else None

    @cached_property
    def cut(self) -> tuple[str, ...]:
        """The attributes with thresholds whose domain was taken from data."""
        if self.domain is None:
            return ()
        names = dict.fromkeys(name for name, _ in thresholds_of(self.model, self.domain))
        return tuple(name for name in names if self.domain[name].inferred)

    @cached_property
    def trained_shares(self) -> list[str]:
        """The tested attributes whose shares were taken from the training data, so that they settle nothing."""
        shares = {} if self.domain is None else self.domain.shares
        tested = attributes_of(self.model.literals)
        return [name for name in tested if name in shares and shares[name].from_training_data]

    def unread(self) -> NotApplicable | None:
        """Return why no single record is looked at; None if records are."""
        if self.public:
            return NotApplicable(OF_THE_MODEL)
        return None if self.counted is None else NotApplicable(COUNTED)

    # What findings say.

    def summary(self) -> ModelSummary:
        """Return the model in brief."""
        stated = self.inputs.parameters
        return replace(describe_model(self.model), parameters=None if stated is None else stated.values)

    def notes(self, raw: Raw) -> Iterator[str]:
        """Yield what is odd about sizes, data and guarantee, and what was left out."""
        stated, suppression = self.inputs.parameters, self.suppression
        least = None if stated is None else stated.smallest_leaf
        if stated is not None and least is not None and any(n and n < least for n in self.published_sizes):
            yield (
                f"The file states {stated.stated_leaf}, but a leaf publishes fewer records: the parameter or the tree "
                "was changed after training, so that neither proves anything."
            )
        if not self.accepted and self.has_data and None in self.published_sizes:
            yield RecordNote(
                "The model does not publish exact counts: they were counted in the data."
                if self.noise is None
                else "The smallest leaf was judged by the data, not by the model's noisy counts."
            )
        if "reconstruction" in raw and isinstance(self.bits, Measured):
            yield from self.bits.value[1]
        yield from self.comparison.notes(suppression)
        yield from self._beside_guarantee()
        outcome, groups = raw.get("reconstruction"), raw.get("subgroups")
        finding: ReconstructionFinding | None = outcome.value[0] if isinstance(outcome, Measured) else None
        for entry in () if finding is None else finding.attributes:
            if entry.attribute == self.inputs.settings.sensitive:
                learned = (
                    f"{entry.attribute}: an attacker learns {entry.bits_learned:.1f} bits about it on average, "
                    f"{entry.bits_largest:.1f} bits about the most exposed record."
                )
                yield RecordNote(learned) if finding is not None and finding.counted else learned
        listed = groups.value if isinstance(groups, Measured) else ()
        if hidden := len(listed) - len(hide_subgroups(listed, suppression)):
            are, is_not = ("subgroup", "is") if hidden == 1 else ("subgroups", "are")
            counted = "people" if self.owners is not None else "records"
            yield RecordNote(f"{hidden} {are} of fewer than {suppression.below} {counted} {is_not} not shown.")

    def _beside_guarantee(self) -> Iterator[RecordNote]:
        """Yield that a claimed guarantee does not cover what was measured on records, and the true sizes beside it."""
        claim = self.guarantee
        if claim is None or claim.caveats or not (self.has_data or self.inputs.holdout is not None):
            return
        yield UNCOVERED
        if claim.accepted and self.has_data:
            held = self.data_sizes if self.occupants is None else self.occupants.sizes.tolist()
            smallest = self.suppression.count(min((size for size in held if size), default=0))
            of = "" if self.occupants is None else " people"
            noun = self.nouns[0]
            yield RecordNote(f"The smallest {noun} that captures any record of the data captures {smallest}{of}.")


# What is measured, in the order in which it is.

MEMBERSHIP = Measurement[Any, Any](
    "membership",
    "Membership",
    "Can an attacker infer who is in the training data?",
    MembershipFinding,
    hide=describe_membership,
    facts=lambda subject, outcome, raw: {"membership": outcome},
    audience="checker",
)


def _membership(subject: TreeSubject) -> Outcome[MembershipAttacks]:
    """Attack membership, with the attributes that the model knows; shadow models are of its size."""
    if subject.public:
        return NotApplicable(OF_THE_MODEL)
    if subject.inputs.holdout is not None and subject.counted is not None:
        return NotApplicable(f"membership attacks read records, but {COUNTED}")

    def learner(members: Table) -> Any:
        # Its learners take a second to import.
        from glassine.attacks.membership.shadows import shadow_learner

        return shadow_learner(subject.model, members)

    return attacked(subject.model, subject.inputs, subject.model.classes, subject.model.attributes, learner)


def attacked(
    model: object, inputs: AuditInputs, classes: object, names: Sequence[str], learner: Callable[[Table], Any]
) -> Outcome[MembershipAttacks]:
    """Attack membership with a fixed seed: an audit can be repeated."""
    # names are the columns that the model knows, learner makes an estimator like it from the members.
    if inputs.holdout is None:
        return NotApplicable(getattr(NO_HOLDOUT, "reason", ""))
    if inputs.data is None or inputs.target is None:
        return NotApplicable(
            f"membership attacks need the data, the holdout and the name of the target (`{parameter('target=')}`)."
        )
    if classes is None:
        return NotApplicable("membership attacks are made on classifiers; this model predicts a number.")
    members, others = on_shared(inputs.table, inputs.holdout, (*names, inputs.target))
    made = learner(members) if inputs.settings.membership.n_shadows else None
    # Its classifiers take a second to import.
    from glassine.attacks.membership.shadows import Shadows
    from glassine.attacks.membership.suite import attack_membership

    return Measured(
        attack_membership(
            model,
            Sample(members, inputs.target),
            Sample(others, inputs.target),
            shadows=None if made is None else Shadows(made, inputs.settings.membership.n_shadows),
            confidence=inputs.settings.membership.confidence,
            random_state=inputs.settings.random_state,
        )
    )


Rebuilt = tuple[ReconstructionFinding, int]
"""How far records can be rebuilt, and their number."""


def _reconstruction(subject: TreeSubject) -> Outcome[Rebuilt]:
    if not isinstance(subject.bits, Measured) or subject.possible is None:
        return subject.bits if not isinstance(subject.bits, Measured) else NotApplicable(NO_DOMAIN)
    if subject.noise is not None:
        return NotApplicable(subject.noise)
    try:
        counted = subject.owners is not None or list(subject.record_sizes) != list(subject.published_sizes)
        finding = replace(rebuilt(subject.possible, subject.bits.value[0], subject.record_sizes), counted=counted)
    except CountingLimitError as error:
        return Failed(error.text)
    if not finding.exposure_curve:
        return Measured((finding, 0))
    if subject.owners is None or subject.rows is None:
        return Measured((finding, subject.possible.n_records))
    # A person is as exposed as the most exposed of their records.
    each = subject.owners.largest(np.array(subject.bits.value[0])[subject.rows])
    return Measured((replace(finding, exposure_curve=curve_of(each)), subject.owners.number))


def _hide_reconstruction(value: Rebuilt, suppression: Suppression) -> ReconstructionFinding:
    finding, n_records = value
    return replace(finding, exposure_curve=suppression.curve(finding.exposure_curve, n_records))


def _labels(subject: TreeSubject) -> Outcome[LabelDisclosure]:
    if subject.noise is not None:
        return NotApplicable(subject.noise)
    people = subject.occupants
    if people is not None and not people.counts.any() and subject.of_classes:
        return NotApplicable("people are counted, and the target, by which they fall into classes, was not named.")
    return disclose_labels(subject.model, people)


def _values(subject: TreeSubject) -> Outcome[ValueLeakage]:
    whose, sizes = (None, None) if subject.owners is None else (subject.owners.whose, subject.sizes)
    leakage = leak_values(
        subject.model, subject.domain, subject.columns, whose=whose, sizes=sizes, target=subject.inputs.target
    )
    return Measured(leakage)


def _disclosure(subject: TreeSubject) -> Outcome[Inferred]:
    """Infer the sensitive attribute that a tree predicts, from the leaves and from how it was built."""
    if subject.public:
        return NotApplicable(OF_THE_MODEL)
    inputs = subject.inputs
    question = Question(
        artefact=subject.artefact,
        model=subject.model,
        target=inputs.target,
        domain=subject.declared,
        settings=inputs.settings,
    )
    if inputs.settings.disclosure is not None:
        # As in _hide_disclosure: most audits need none of what these modules import.
        from glassine.auditing.describe_disclosure import assume

        return assume(question, inputs, inputs.settings.disclosure)
    hindrance = subject.mismatch or subject.noise or ""
    return expose(question, subject.table, subject.columns, hindrance=hindrance)


def _hide_disclosure(inferred: Inferred, suppression: Suppression) -> DisclosureFinding:
    # Its modules are needed only where something was inferred.
    from glassine.auditing.describe_disclosure import describe_disclosure

    return describe_disclosure(inferred, suppression)


def _subgroups(subject: TreeSubject) -> Outcome[tuple[SubgroupLeakage, ...]]:
    if subject.possible is None:
        return NotApplicable("no domain was given.")
    if subject.noise is not None:
        return NotApplicable(subject.noise)
    names = grouping(subject.inputs.settings.sensitive, subject.domain, subject.columns or {})
    if subject.owners is not None and subject.inputs.target is not None:
        names = [subject.inputs.target, *(name for name in names if name != subject.inputs.target)]
    return subgroups(subject.possible, subject.table, names)


def _hide_parts(subject: TreeSubject, suppression: Suppression) -> PartsFinding:
    model, noisy = subject.model, subject.noise is not None
    sizes = [cell.evidence.size for cell in model.cells] if noisy else subject.sizes
    # What an accepted guarantee covers may be shown as it was published.
    own = Suppression(0) if noisy and subject.accepted else suppression
    parts = describe_parts(
        model, subject.policy, own, subject.learned, sizes, None if noisy else subject.occupants, noisy=noisy
    )
    counted = not noisy and (subject.occupants is not None or sizes != subject.published_sizes)
    return PartsFinding(parts=parts, nodes=tree_shape(model), counted=counted)


def _rows(subject: TreeSubject) -> Outcome[Rows]:
    from glassine.attacks.reconstruction.records import reconstruct_records
    from glassine.attacks.reconstruction.systems import Search

    if subject.domain is None:
        return NotApplicable(NO_DOMAIN)
    inputs = subject.inputs
    rows = reconstruct_records(
        subject.model,
        subject.domain,
        random_state=inputs.settings.random_state,
        search=Search(progress=inputs.progress),
    )
    return compared(rows, subject.table, inputs.settings.random_state)


TREE_MEASUREMENTS: tuple[Measurement[Any, Any], ...] = (
    Measurement[TreeSubject, Rebuilt](
        "reconstruction",
        "Reconstruction",
        "How far can an attacker reconstruct the training records?",
        ReconstructionFinding,
        run=_reconstruction,
        hide=_hide_reconstruction,
        facts=facts_of_reconstruction,
    ),
    replace(LABELS(_labels), facts=facts_of_labels),
    replace(VALUES(_values), facts=facts_of_values),
    Measurement[TreeSubject, tuple[SubgroupLeakage, ...]](
        "subgroups",
        "Subgroups",
        "Does the model reveal more about some subgroups than about others?",
        tuple[SubgroupFinding, ...],
        run=_subgroups,
        hide=hide_subgroups,
        audience="checker",
    ),
    Measurement[TreeSubject, tuple[int, ...]](
        "exposed_rows",
        "Most exposed records",
        "About which rows of the data does the model reveal most?",
        tuple[int, ...],
        run=lambda tree: tree.unread() or exposed_rows(tree.table, tree.rows, tree.learned, tree.noise),
        audience="checker",
    ),
    Measurement[TreeSubject, ErrorEstimate](
        "alignment",
        "Comparison with the data",
        "How close are reconstructed records to the real ones?",
        ErrorEstimate,
        run=lambda tree: tree.unread() or align(tree.possible, tree.table, tree.noise),
        audience="checker",
    ),
    MEMBERSHIP(_membership),
    Measurement[TreeSubject, Inferred](
        "disclosure",
        "Sensitive attribute",
        "What does an attacker who knows all quasi-identifiers learn about it?",
        DisclosureFinding,
        run=_disclosure,
        hide=_hide_disclosure,
        facts=facts_of_disclosure,
        audience="checker",
    ),
    Measurement[TreeSubject, TreeSubject](
        "parts",
        "Leaves and rules",
        "What does each leaf or rule publish?",
        PartsFinding,
        run=Measured,
        hide=_hide_parts,
        facts=facts_of_parts,
        listed=False,
    ),
    rows_measured(_rows),
)
"""What is measured of a tree or a rule list; a new attack is one more line: reports list them in this order."""

TreeSubject.measurements = TREE_MEASUREMENTS
