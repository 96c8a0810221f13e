"""What is measured of a decision tree or a rule list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from glassine.attacks.label_disclosure import LABELS, LabelDisclosure, disclose_labels
from glassine.attacks.outcome import Failed, Measured, Measurement, NotApplicable, Outcome
from glassine.attacks.reconstruction.leakage import SubgroupLeakage
from glassine.attacks.record_matching import ErrorEstimate
from glassine.attacks.value_leakage import VALUES, ValueLeakage, leak_values
from glassine.auditing.capacity import CAPACITY
from glassine.auditing.describe import describe_parts, tree_shape
from glassine.auditing.describe_membership import describe_membership
from glassine.auditing.disclosure import Inferred, SensitiveQuestion, expose
from glassine.auditing.findings import (
    AMONG_OTHERS,
    NO_HOLDOUT,
    NO_SENSITIVE,
    OF_THE_MODEL,
    DisclosureFinding,
    LazyTuple,
    MembershipFinding,
    PartsFinding,
    ReconstructionFinding,
    SubgroupBitsFinding,
)
from glassine.auditing.inputs import AuditInputs, on_shared
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
from glassine.auditing.stability import STABILITY
from glassine.auditing.suppression import Suppression
from glassine.auditing.tree_facts import (
    bits_fact,
    certain_fact,
    facts_of_parts,
    facts_of_values,
    shares_fact,
)
from glassine.auditing.tree_figures import COUNTED, NO_DOMAIN
from glassine.auditing.tree_figures import TreeSubject as TreeSubject
from glassine.data.labels import Sample
from glassine.data.record_table import RecordTable
from glassine.errors import CostLimitError, parameter

if TYPE_CHECKING:
    from glassine.attacks.membership.suite import MembershipAttacks

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
    if subject.inputs.holdout is not None and subject.occupancy.outside is not None:
        return NotApplicable(f"membership attacks read records, but {COUNTED}")

    def learner(members: RecordTable) -> Any:
        # Its learners take a second to import.
        from glassine.attacks.membership.shadows import shadow_learner

        return shadow_learner(subject.model, members)

    return attack_members(subject.model, subject.inputs, subject.model.attributes, learner)


def attack_members(
    model: object, inputs: AuditInputs, names: Sequence[str], learner: Callable[[RecordTable], Any], default: int = 0
) -> Outcome[MembershipAttacks]:
    """Attack membership with a fixed seed: an audit can be repeated; ``default`` is the number of shadow models."""
    # names are the columns that the model knows, learner makes an estimator like it from the members.
    if inputs.public:
        return NotApplicable(OF_THE_MODEL)
    if inputs.holdout is None:
        return NotApplicable(getattr(NO_HOLDOUT, "reason", ""))
    if inputs.population is not None:
        return NotApplicable(AMONG_OTHERS)
    if inputs.data is None or inputs.target is None:
        return NotApplicable(
            f"membership attacks need the data, the holdout and the name of the target (`{parameter('target=')}`)."
        )
    # The domain of a model may declare what it predicts, which is no attribute of a record.
    tested = [name for name in names if name != inputs.target]
    members, others = on_shared(inputs.table, inputs.holdout, (*tested, inputs.target))
    settings = inputs.settings.membership
    n_shadows = settings.shadows(default)
    made = learner(members) if n_shadows else None
    # Its classifiers take a second to import.
    from glassine.attacks.membership.shadows import Shadows
    from glassine.attacks.membership.suite import attack_membership

    return Measured(
        attack_membership(
            model,
            members,
            inputs.target,
            holdout=Sample(others, inputs.target),
            shadows=None if made is None else Shadows(made, n_shadows, seconds=settings.seconds),
            confidence=settings.confidence,
            random_state=inputs.settings.random_state,
            progress=lambda done, of: inputs.progress(f"membership, step {done} of {of}"),
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
        counted = subject.owners is not None or list(subject.record_sizes) != list(subject.occupancy.published)
        finding = replace(rebuilt(subject.possible, subject.bits.value[0], subject.record_sizes), counted=counted)
    except CostLimitError as error:
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
    people = subject.occupancy.people
    if people is not None and not people.counts.any() and subject.of_classes:
        return NotApplicable("people are counted, and the target, by which they fall into classes, was not named.")
    return disclose_labels(subject.model, people)


def _values(subject: TreeSubject) -> Outcome[ValueLeakage]:
    whose, sizes = (None, None) if subject.owners is None else (subject.owners.whose, subject.sizes)
    leakage = leak_values(
        subject.model,
        subject.domain,
        subject.columns,
        whose=whose,
        sizes=sizes,
        target=subject.inputs.target,
        cells=subject.rows,
    )
    return Measured(leakage)


def _disclosure(subject: TreeSubject) -> Outcome[Inferred]:
    """Infer the sensitive attribute that a tree predicts, from the leaves and from how it was built."""
    if subject.inputs.public or subject.inputs.settings.sensitive is None:
        return NotApplicable(OF_THE_MODEL if subject.inputs.public else getattr(NO_SENSITIVE, "reason", ""))
    inputs = subject.inputs
    question = SensitiveQuestion(
        artefact=subject.artefact,
        model=subject.model,
        target=inputs.target,
        domain=subject.declared,
        settings=inputs.settings,
    )
    if inputs.settings.disclosure is not None:
        # As in _hide_disclosure: most audits need none of what these modules import.
        from glassine.auditing.describe_disclosure import infer_as_assumed

        return infer_as_assumed(question, inputs, inputs.settings.disclosure)
    hindrance = subject.mismatch or subject.contrary or subject.noise or ""
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
    return subgroups(subject.possible, subject.table, names, subject.rows)


def _hide_parts(subject: TreeSubject, suppression: Suppression) -> PartsFinding:
    """Return what the leaves show, which is made from what is known of each: no record is looked at then."""
    model, noisy, policy, learned = subject.model, subject.noise is not None, subject.inputs.policy, subject.learned
    sizes = [cell.evidence.size for cell in model.cells] if noisy else subject.sizes
    people = None if noisy else subject.occupancy.people
    # What an accepted guarantee covers may be shown as it was published.
    own = Suppression(0) if noisy and subject.accepted else suppression
    counted = not noisy and (people is not None or list(sizes) != list(subject.occupancy.published))
    return PartsFinding(
        parts=LazyTuple(lambda: describe_parts(model, policy, own, learned, sizes, people, noisy=noisy)),
        nodes=LazyTuple(lambda: tree_shape(model)),
        counted=counted,
    )


def _rows(subject: TreeSubject) -> Outcome[Rows]:
    from glassine.attacks.reconstruction.record_reconstruction import reconstruct_records
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
        facts=lambda tree, outcome, raw: {"bits": bits_fact(tree, outcome)},
    ),
    replace(LABELS(_labels), facts=lambda tree, outcome, raw: {"shares": shares_fact(tree, outcome)}),
    replace(VALUES(_values), facts=facts_of_values),
    Measurement[TreeSubject, tuple[SubgroupLeakage, ...]](
        "subgroups",
        "Subgroups",
        "Does the model reveal more about some subgroups than about others?",
        tuple[SubgroupBitsFinding, ...],
        run=_subgroups,
        hide=hide_subgroups,
        audience="checker",
    ),
    Measurement[TreeSubject, tuple[int, ...]](
        "exposed_rows",
        "Most exposed records",
        "About which rows of the data does the model reveal most?",
        tuple[int, ...],
        run=lambda tree: tree.no_records() or exposed_rows(tree.table, tree.rows, tree.learned, tree.noise),
        audience="checker",
    ),
    Measurement[TreeSubject, ErrorEstimate](
        "alignment",
        "Comparison with the data",
        "How close are reconstructed records to the real ones?",
        ErrorEstimate,
        run=lambda tree: tree.no_records() or align(tree.possible, tree.table, tree.noise),
        audience="checker",
    ),
    MEMBERSHIP(_membership),
    CAPACITY,
    STABILITY,
    Measurement[TreeSubject, Inferred](
        "disclosure",
        "Sensitive attribute",
        "What does an attacker who knows all quasi-identifiers learn about it?",
        DisclosureFinding,
        run=_disclosure,
        hide=_hide_disclosure,
        facts=lambda tree, outcome, raw: {"certain": certain_fact(outcome)},
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
