"""A decision tree or a rule list as the subject of an audit, and what is measured of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.labels import LABELS, LabelDisclosure, disclose_labels
from glassine.attacks.outcome import UNCOVERED, Failed, Measured, Measurement, NotApplicable, Outcome, RecordNote
from glassine.attacks.reconstruction.leakage import SubgroupLeakage
from glassine.attacks.values import VALUES, ValueLeakage, leak_values
from glassine.auditing.cell_facts import rounded
from glassine.auditing.describe import describe_domain, describe_model, describe_parts, tree_shape
from glassine.auditing.describe_membership import describe_membership, described
from glassine.auditing.disclosure import Inferred, Question, expose
from glassine.auditing.evidence import Certain, Dominance, Evidence, Fact
from glassine.auditing.findings import (
    NO_HOLDOUT,
    OF_THE_MODEL,
    DisclosureFinding,
    DomainSummary,
    GuaranteeFinding,
    MembershipFinding,
    ModelSummary,
    PartsFinding,
    ReconstructionFinding,
    SubgroupFinding,
)
from glassine.auditing.inputs import AuditInputs, check_sensitive, inferred_domain, on_shared, people_hint
from glassine.auditing.judging import contradiction
from glassine.auditing.model_facts import (
    MISMATCH,
    bits_of_cells,
    doubt_of,
    shares_of_cells,
    sizes_of_cells,
    thresholds_of_values,
)
from glassine.auditing.policy import Policy
from glassine.auditing.reconstruction import (
    Rows,
    align,
    compared,
    curve_of,
    exposed_rows,
    grouping,
    hide_subgroups,
    rebuilt,
    rows_measured,
    subgroups,
)
from glassine.auditing.subject import Raw, texts_of
from glassine.auditing.suppression import Suppression
from glassine.auditing.tree_figures import COUNTED, NO_DOMAIN, TreeFigures
from glassine.data.labels import Sample
from glassine.data.table import Table
from glassine.domain.literals import attributes_of
from glassine.errors import CountingLimitError, InvalidDataError, parameter
from glassine.formats import as_model
from glassine.formats.builder import not_judged
from glassine.formats.canonical import LongText
from glassine.models import DecisionTree, RuleList
from glassine.records.engines import is_lazy

if TYPE_CHECKING:
    from glassine.attacks.membership.suite import MembershipAttacks


class TreeSubject(TreeFigures):
    """A tree or a rule list as what is audited: what is said of its figures."""

    def check(self, inputs: AuditInputs) -> None:
        """Raise InvalidDataError if the sensitive attribute is neither in the domain nor a column of the data."""
        if inputs.settings.sensitive is not None and not inputs.lacks_labels:
            table = None if is_lazy(inputs.data) else inputs.table
            check_sensitive(inputs.settings.sensitive, inputs.domain, None if table is None else table.names)

    def beside(self, inputs: AuditInputs) -> TreeSubject:
        """Return the model with what else is given; it is read again only in a domain that is yet to be inferred."""
        return tree_subject(self.artefact, inputs, self.policy, self.model)

    # What findings say.

    def summary(self) -> ModelSummary:
        """Return the model in brief."""
        stated, summary = self.inputs.parameters, describe_model(self.model)
        if summary.sizes == "derived" and not self.doubted_weights:
            summary = replace(summary, sizes="stated")
        return replace(summary, parameters=None if stated is None else stated.values)

    def domain_summary(self) -> DomainSummary | None:
        """Return the domain in brief."""
        return describe_domain(self.domain)

    def texts(self) -> Fact[tuple[LongText, ...]]:
        """Return the texts of the model beyond what it needs."""
        return texts_of(self.model, self.inputs)

    def evidence(self, raw: Raw, suppression: Suppression) -> Evidence:
        """Return what was measured as criteria read it; the guarantee is doubted where an attack beats it."""
        membership = described(raw.get("membership"), suppression)
        guarantee = doubted(self.guarantee, membership, people=self.people is not None)
        sizes, summary = self.sizes_of(guarantee), self.domain_summary()
        mismatch = MISMATCH.format(parts=self.nouns[1]) if self.comparison.mismatch else ""
        doubt = doubt_of(guarantee, self.inputs, mismatch)
        doubt = doubt or self.doubted_weights
        possible = None if summary is None else summary.bits_domain_aware
        unmeasured = getattr(raw.get("reconstruction"), "reason", "")
        certain = raw.get("disclosure")
        if isinstance(certain, Measured):
            certain = Measured(Certain(number=certain.value.n_certain, unsettled=certain.value.doubt))
        values = raw.get("values")
        return Evidence(
            kind="tree" if isinstance(self.model, DecisionTree) else "rule list",
            guarantee=guarantee,
            sizes=sizes_of_cells(self.model, sizes, doubt, self.inputs.statements) if "parts" in raw else None,
            cells=self.cells_of(guarantee, doubt) if "parts" in raw else None,
            shares=shares_of_cells(self.model, raw["labels"], self.noise_of(guarantee), self.occupants)
            if "labels" in raw
            else None,
            bits=bits_of_cells(self.learned, sizes, unmeasured, [*self.inferred(), *self.trained_shares], possible)
            if "reconstruction" in raw
            else None,
            thresholds=thresholds_of_values(self.policy, values.value, self.inferred(numbers=True))
            if isinstance(values, Measured)
            else None,
            named=self.named_of(values.value, raw, guarantee) if isinstance(values, Measured) else None,
            membership=membership,
            certain=certain,
            dominance=_dominance(values.value) if isinstance(values, Measured) and self.model.classes is None else None,
            has_data=self.has_data,
            mismatch=mismatch,
            has_domain=self.domain is not None,
            domain_inferred=self.domain is not None and self.domain.inferred,
            predicts_number=self.model.classes is None,
            people=self.inputs.counts_people or self.inputs.settings.statements.one_record_per_person,
        )

    def notes(self, raw: Raw, guarantee: GuaranteeFinding | None, suppression: Suppression) -> Sequence[str]:
        """Return what is odd about domain, sizes, data and guarantee, and what was left out."""
        notes: list[str] = [*self.remarks, *people_hint(self.inputs)]
        covered = guarantee is not None and guarantee.accepted
        stated = self.inputs.parameters
        least = None if stated is None else stated.smallest_leaf
        if stated is not None and least is not None and any(n and n < least for n in self.published_sizes):
            notes.append(
                f"The file states {stated.stated_leaf}, but a leaf publishes fewer records: the parameter or the tree "
                "was changed after training, so that neither proves anything."
            )
        if not covered and self.has_data and None in self.published_sizes:
            notes.append(
                RecordNote(
                    "The model does not publish exact counts: they were counted in the data."
                    if self.noise is None
                    else "The smallest leaf was judged by the data, not by the model's noisy counts."
                )
            )
        if "reconstruction" in raw and isinstance(self.bits, Measured):
            notes += self.bits.value[1]
        notes += self.comparison.notes(suppression)
        notes += self._beside_guarantee(guarantee, suppression)
        outcome = raw.get("reconstruction")
        finding: ReconstructionFinding | None = outcome.value[0] if isinstance(outcome, Measured) else None
        from_data = finding is not None and finding.counted
        for entry in () if finding is None else finding.attributes:
            if entry.attribute == self.inputs.settings.sensitive:
                learned = (
                    f"{entry.attribute}: an attacker learns {entry.bits_learned:.1f} bits about it on average, "
                    f"{entry.bits_largest:.1f} bits about the most exposed record."
                )
                notes.append(RecordNote(learned) if from_data else learned)
        groups = raw.get("subgroups")
        listed = groups.value if isinstance(groups, Measured) else ()
        if hidden := len(listed) - len(hide_subgroups(listed, suppression)):
            are = "subgroup" if hidden == 1 else "subgroups"
            is_not = "is" if hidden == 1 else "are"
            counted = "people" if self.people is not None else "records"
            notes.append(RecordNote(f"{hidden} {are} of fewer than {suppression.below} {counted} {is_not} not shown."))
        return notes

    def _beside_guarantee(self, guarantee: GuaranteeFinding | None, suppression: Suppression) -> list[RecordNote]:
        """Return that a claimed guarantee does not cover what was measured on records, and the true sizes beside it."""
        if guarantee is None or guarantee.caveats or not (self.has_data or self.inputs.holdout is not None):
            return []
        notes: list[str] = [UNCOVERED]
        if guarantee.accepted and self.has_data:
            held = self.data_sizes if self.occupants is None else self.occupants.sizes.tolist()
            smallest = suppression.count(min((size for size in held if size), default=0))
            of = "" if self.occupants is None else " people"
            notes.append(f"The smallest {self.nouns[0]} that captures any record of the data captures {smallest}{of}.")
        return [RecordNote(note) for note in notes]


def doubted(
    guarantee: GuaranteeFinding | None, membership: Outcome[Any] | None, *, people: bool = False
) -> GuaranteeFinding | None:
    """Return a guarantee unchanged, or void if a membership attack contradicts it."""
    caveat = None if membership is None else contradiction(guarantee, membership, people=people)
    if guarantee is None or caveat is None:
        return guarantee
    return replace(
        guarantee, caveats=(*guarantee.caveats, caveat), standing="does not hold", bits_per_record=None, bounds=()
    )


def tree_subject(
    artefact: Any, inputs: AuditInputs, policy: Policy, model: DecisionTree | RuleList | None = None
) -> TreeSubject:
    """Return a tree or a rule list with what is given beside it; its domain is inferred where there is none."""
    # model is the artefact as a value, where it was read in this domain before.
    domain, remarks = inputs.domain, list[str]()
    model = as_model(artefact, domain) if model is None else model
    if domain is not None and domain.inferred:
        remarks.append("The domain was inferred from data, which understates what an attacker learns.")
    elif domain is None and inputs.columns is not None and inputs.needs_domain:
        domain = inferred_domain(model, inputs.columns, remarks)
        model = as_model(artefact, domain)
    model = rounded(model, inputs.settings.statements.rounded_to)
    if alone := not_judged(model.source or ""):
        remarks.append(alone)
    subject = TreeSubject(
        inputs=inputs, policy=policy, model=model, artefact=artefact, declared=domain, remarks=tuple(remarks)
    )
    target = inputs.target
    if target is not None and target in attributes_of(model.literals):
        raise InvalidDataError(
            f"the target {target!r} is an attribute that the model tests.",
            remedy="Name what it predicts: the column, or the name of the series.",
        )
    lacking = subject.columns is not None and target not in subject.columns and not inputs.lacks_labels
    if target is not None and lacking:
        raise InvalidDataError(
            f"the target {target!r} must be a column of the data.", remedy="Check its name, or pass its values."
        )
    return subject


# What is measured, in the order in which it is.


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
        counted = subject.people is not None or list(subject.record_sizes) != list(subject.published_sizes)
        finding = replace(rebuilt(subject.possible, subject.bits.value[0], subject.record_sizes), counted=counted)
    except CountingLimitError as error:
        return Failed(error.text)
    if not finding.exposure_curve:
        return Measured((finding, 0))
    if subject.people is None or subject.rows is None:
        return Measured((finding, subject.possible.n_records))
    # A person is as exposed as the most exposed of their records.
    each = subject.people.largest(np.array(subject.bits.value[0])[subject.rows])
    return Measured((replace(finding, exposure_curve=curve_of(each)), subject.people.number))


def _hide_reconstruction(value: Rebuilt, suppression: Suppression) -> ReconstructionFinding:
    finding, n_records = value
    return replace(finding, exposure_curve=suppression.curve(finding.exposure_curve, n_records))


def _labels(subject: TreeSubject) -> Outcome[LabelDisclosure]:
    if subject.noise is not None:
        return NotApplicable(subject.noise)
    return NotApplicable(subject.unlabeled) if subject.unlabeled else disclose_labels(subject.model, subject.occupants)


def _dominance(leakage: ValueLeakage) -> Fact[Dominance]:
    if leakage.dominance is None:
        return NotApplicable("it needs the training records with the target.")
    return Measured(Dominance(shares=(leakage.dominance,)))


def _values(subject: TreeSubject) -> Outcome[ValueLeakage]:
    whose, sizes = (None, None) if subject.people is None else (subject.people.whose, subject.sizes)
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
    hindrance = MISMATCH.format(parts=subject.nouns[1]) if subject.comparison.mismatch else subject.noise or ""
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
    if subject.people is not None and subject.inputs.target is not None:
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


MEMBERSHIP = Measurement[TreeSubject, Any](
    name="membership",
    title="Membership",
    question="Can an attacker infer who is in the training data?",
    finding=MembershipFinding,
    run=_membership,
    hide=describe_membership,
    audience="checker",
)
RECONSTRUCTION = Measurement[TreeSubject, Rebuilt](
    name="reconstruction",
    title="Reconstruction",
    question="How far can an attacker reconstruct the training records?",
    finding=ReconstructionFinding,
    run=_reconstruction,
    hide=_hide_reconstruction,
)
DISCLOSURE = Measurement[TreeSubject, Inferred](
    name="disclosure",
    title="Sensitive attribute",
    question="What does an attacker who knows all quasi-identifiers learn about it?",
    finding=DisclosureFinding,
    run=_disclosure,
    hide=_hide_disclosure,
    audience="checker",
)
SUBGROUPS = Measurement[TreeSubject, tuple[SubgroupLeakage, ...]](
    name="subgroups",
    title="Subgroups",
    question="Does the model reveal more about some subgroups than about others?",
    finding=tuple[SubgroupFinding, ...],
    run=_subgroups,
    hide=hide_subgroups,
    audience="checker",
)
EXPOSED_ROWS = Measurement[TreeSubject, tuple[int, ...]](
    name="exposed_rows",
    title="Most exposed records",
    question="About which rows of the data does the model reveal most?",
    finding=tuple[int, ...],
    run=lambda tree: tree.unread() or exposed_rows(tree.table, tree.rows, tree.learned, tree.noise),
    audience="checker",
)
ALIGNMENT = Measurement[TreeSubject, ErrorEstimate](
    name="alignment",
    title="Comparison with the data",
    question="How close are reconstructed records to the real ones?",
    finding=ErrorEstimate,
    run=lambda tree: tree.unread() or align(tree.possible, tree.table, tree.noise),
    audience="checker",
)
PARTS = Measurement[TreeSubject, TreeSubject](
    name="parts",
    title="Leaves and rules",
    question="What does each leaf or rule publish?",
    finding=PartsFinding,
    run=Measured,
    hide=_hide_parts,
    listed=False,
)
ROWS = rows_measured(_rows)

# A new attack is one more line, anywhere: reports list them in this order.
TREE_MEASUREMENTS: tuple[Measurement[Any, Any], ...] = (
    RECONSTRUCTION,
    LABELS.made_by(_labels),
    VALUES.made_by(_values),
    SUBGROUPS,
    EXPOSED_ROWS,
    ALIGNMENT,
    MEMBERSHIP,
    DISCLOSURE,
    PARTS,
    ROWS,
)
TreeSubject.measurements = TREE_MEASUREMENTS
