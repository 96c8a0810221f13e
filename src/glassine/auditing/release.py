"""A release of explanations as the subject of an audit, and what is measured of it as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from glassine.attacks.membership.outputs import generator
from glassine.attacks.membership.suite import MembershipAttacks
from glassine.attacks.outcome import UNCOVERED, Measured, Measurement, NotApplicable, Outcome
from glassine.attacks.values import ValueLeakage
from glassine.auditing.describe import describe_guarantee, relied_on
from glassine.auditing.describe_membership import describe_membership, described
from glassine.auditing.evidence import (
    Bits,
    Certain,
    Dominance,
    Evidence,
    Fact,
    Inapplicable,
    Narrowed,
    Parts,
    Shares,
    Sizes,
)
from glassine.auditing.findings import (
    OF_THE_MODEL,
    DiversityFinding,
    GapFinding,
    GroupsFinding,
    GuaranteeFinding,
    GuessFinding,
    LeavesFinding,
    MembershipFinding,
    ReleaseSummary,
    RepresentativesFinding,
    ThresholdsFinding,
    TogetherFinding,
)
from glassine.auditing.group_privacy import (
    coded,
    diversity_of,
    dominance_of,
    equal_answers,
    groups_of,
    leak_all,
    leaves_of,
    measure_representatives,
    sizes_of,
    widths_left,
)
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.model_facts import named_of_values, thresholds_of_values
from glassine.auditing.policy import Policy
from glassine.auditing.release_attacks import gaps_of, guesses_of, membership_of, midpoints_of, together_of
from glassine.auditing.release_inputs import DECISIONS, TRUE, Leaves, ReleaseInputs, inputs_of_data, inputs_of_fit
from glassine.auditing.subject import Raw, Subject
from glassine.auditing.suppression import Suppression
from glassine.data.persons import refuse_shared
from glassine.errors import InvalidParameterError, parameter
from glassine.records.arrays import Ints
from glassine.surrogates.measuring import MeasuredExplainer
from glassine.surrogates.release import SurrogateRelease

NO_RECORDS = Inapplicable("The release was made without any person's record.")
DECIDED = Inapplicable(
    "The trees were trained on the black box's decisions, which anyone can ask for together with a record."
)
DRAWN = Inapplicable("Leaves hold numbers that were drawn with noise, no means of answers.")
UNANSWERED = "the black box's answers on the training records are not known."
OF_BLACK_BOX = NotApplicable(
    "the black box's decisions were not looked at, and they may reveal its training records. Audit the black box."
)


def guarantee_of(inputs: ReleaseInputs, policy: Policy) -> GuaranteeFinding | None:
    """Return the differential privacy that is claimed for the release as a whole; None where none is."""
    release = inputs.release
    certificate = release.certificate
    if certificate is None or not certificate.holds or release.provenance.partition != "public":
        return None
    return describe_guarantee(release.trees[0], policy)


def claimed(inputs: ReleaseInputs) -> str:
    """Return what is claimed of the privacy of a release, in words."""
    certificate = inputs.release.certificate
    if certificate is None:
        return "No differential privacy is claimed."
    if not certificate.holds:
        why = "; ".join(caveat.removeprefix("not private: ") for caveat in certificate.caveats)
        return f"No differential privacy is claimed for the release: {why}."
    return (
        f"Differential privacy with epsilon {certificate.epsilon:g}"
        + (f" and delta {certificate.delta:g}" if certificate.delta else "")
        + f" is claimed, neighbors being datasets that differ by {certificate.neighboring}."
    )


def evidence_of_release(
    inputs: ReleaseInputs,
    leaves: Leaves | None,
    policy: Policy,
    *,
    values: ValueLeakage,
    together: Outcome[TogetherFinding],
    membership: Outcome[MembershipFinding],
    guarantee: GuaranteeFinding | None,
    codes: Ints | None,
) -> Evidence:
    """Return what was measured of a release as a whole."""
    # Shapes: codes (n,), or None.
    domain = inputs.release.domain
    inferred = tuple(name for name in domain if domain[name].inferred)
    published = inputs.release.provenance.form == "paper"
    evidence = Evidence(
        kind="release as published" if published else "release",
        guarantee=guarantee,
        thresholds=NO_RECORDS if inputs.nobody else thresholds_of_values(policy, values, inferred),
        named=NO_RECORDS if inputs.nobody else Measured(named_of_values(values, inferred)),
        has_data=not inputs.nobody and leaves is not None,
        domain_inferred=domain.inferred,
    )
    if evidence.covered:
        named = Measured(named_of_values(values, inferred))
        return replace(evidence, thresholds=thresholds_of_values(policy, values, inferred), named=named)
    if inputs.nobody:
        return replace(
            evidence,
            sizes=NO_RECORDS,
            shares=NO_RECORDS,
            bits=NO_RECORDS,
            membership=OF_BLACK_BOX,
            certain=OF_BLACK_BOX,
        )
    groups = sizes_of(inputs, leaves)
    evidence = replace(
        evidence,
        groups=_sizes(inputs, Parts("group", "groups", () if groups is None else _held(groups))),
        declared_k=inputs.release.k,
        sizes=_sizes(inputs, Parts("leaf", "leaves", () if leaves is None else _held(leaves.sizes))),
        shares=_shares(inputs, leaves),
        bits=_bits(together),
        membership=membership,
        certain=_certain(inputs, codes),
    )
    if inputs.release.answer is None:
        return evidence  # A release of classes has no mean.
    if inputs.release.drawn:
        return replace(evidence, narrowed=DRAWN, dominance=DRAWN)
    return replace(evidence, narrowed=_narrowed(inputs, leaves), dominance=_dominance(inputs, leaves))


def _narrowed(inputs: ReleaseInputs, leaves: Leaves | None) -> Fact[Narrowed]:
    """Return how closely means determine single answers."""
    widths = widths_left(inputs, leaves)
    if widths is None:
        return inputs.lacks()
    return Measured(Narrowed(widths=tuple(widths.tolist())))


def _dominance(inputs: ReleaseInputs, leaves: Leaves | None) -> Fact[Dominance]:
    """Return how much of the means two contributions make up."""
    shares = dominance_of(inputs, leaves)
    if shares is None:
        return inputs.lacks(UNANSWERED)
    return Measured(Dominance(shares=tuple(shares.tolist())))


def _held(sizes: Ints) -> tuple[int, ...]:
    return tuple(sizes[sizes > 0].tolist())


def _sizes(inputs: ReleaseInputs, parts: Parts) -> Fact[Sizes]:
    if not parts.sizes:
        return inputs.lacks()
    return Measured(Sizes(parts=(parts,)))


def _shares(inputs: ReleaseInputs, leaves: Leaves | None) -> Fact[Shares]:
    """Return the largest share of one true label, or number, in each leaf; trees of decisions publish no label."""
    if inputs.release.answer is not None and not inputs.release.drawn:
        equal = equal_answers(inputs, leaves)
        if equal is None:
            return inputs.lacks(UNANSWERED)
        return Measured(Shares(bounds=tuple((share, share) for share in equal.tolist()), outcome="one answer"))
    if inputs.kind == DECISIONS:
        return DECIDED
    if leaves is None or leaves.counts is None:
        return inputs.lacks("the true labels of the training records were not passed.")
    occupied = leaves.sizes > 0
    shares = (leaves.counts[occupied].max(axis=1) / leaves.sizes[occupied]).tolist()
    return Measured(Shares(bounds=tuple((share, share) for share in shares), outcome="one true label"))


def _bits(together: Outcome[TogetherFinding]) -> Fact[Bits]:
    """Return the bits about the attributes of the most exposed record, its group being known."""
    if not isinstance(together, Measured):
        return together
    largest = together.value.bits_largest
    return Measured(Bits(lower=largest, upper=largest))


def _certain(inputs: ReleaseInputs, codes: Ints | None) -> Fact[Certain]:
    """Return the people, or records, whose group has one sensitive value."""
    if inputs.groups is None or codes is None:
        return inputs.lacks("no sensitive attribute was named.")
    if inputs.people is None:
        return inputs.lacks()
    single = np.array([len(np.unique(codes[inputs.groups == g])) == 1 for g in range(inputs.release.n_groups)])
    return Measured(Certain(number=int(inputs.people.counts(np.where(single[inputs.groups], 0, -1), 1)[0])))


KNOWN_GROUP = (
    "Bits and guesses assume that the attacker knows each person's group. How often the closest representative gives "
    "the group is measured separately."
)
NOT_COUNTED = (
    "Not measured: what the choice of splits at inner nodes reveals, what the places of the representatives reveal "
    "beyond distance, and what the black box's own decisions reveal about its training records."
)
BLACK_BOX = "What the black box's decisions reveal about its training records was not measured."


@dataclass(frozen=True, kw_only=True)
class ReleaseSubject(Subject):
    """A release of explanations: everyone can ask for every group, so that it is measured as a whole."""

    # The release, or the fitted explainer that made it and that knows the records behind it.
    published: SurrogateRelease | MeasuredExplainer
    records: ReleaseInputs  # The release, and the records behind it as far as they are given

    @cached_property
    def guarantee(self) -> GuaranteeFinding | None:
        """The differential privacy that is claimed for the release as a whole."""
        return guarantee_of(self.records, self.policy)

    @cached_property
    def leaves(self) -> Leaves | None:
        """The leaves of all trees with the people behind them."""
        return self.records.leaves()

    @cached_property
    def values(self) -> ValueLeakage:
        """What the thresholds of all trees reveal."""
        return leak_all(self.records)

    @property
    def codes(self) -> Ints | None:
        """The sensitive attribute of each person, as classes; None where none is named, or the people are unknown."""
        name, people = self.inputs.settings.sensitive, self.records.people
        return None if name is None or people is None else coded(people.columns, name)

    @property
    def counts_people(self) -> bool:
        """Whether it is stated whose the records behind the release are, so that people are counted."""
        people = self.records.people
        return people is not None and people.persons is not None

    def check(self, inputs: AuditInputs) -> None:
        """Raise InvalidParameterError if the sensitive attribute is none of the release's, or a domain is given."""
        names = self.records.release.domain.names
        if inputs.domain is not None:
            raise InvalidParameterError("a release holds its own domain.", remedy=f"Leave {parameter('domain=')} out.")
        name = inputs.settings.sensitive
        if name is not None and name not in names:
            raise InvalidParameterError(
                f"{parameter('sensitive')} must name an attribute of the release, got {name!r}. They are: "
                f"{', '.join(names[:20])}."
            )

    def beside(self, inputs: AuditInputs) -> ReleaseSubject:
        """Return the release with the records behind it, those of the explainer among them."""
        if isinstance(self.published, SurrogateRelease):
            records = inputs_of_data(self.published, inputs.members, inputs.others)
        else:
            records = inputs_of_fit(self.published, inputs.members.target, inputs.others)
        people, others = records.people, records.others
        if people is not None and others is not None:
            if (people.persons is None) != (others.persons is None):
                raise InvalidParameterError(
                    f"{parameter('persons')} are stated of the records behind the release or of the holdout alone.",
                    remedy="State both.",
                )
            refuse_shared(people.persons, others.persons)
        return replace(self, inputs=inputs, records=records)

    def has_records(self, inputs: AuditInputs) -> bool:
        """Whether there are records: given ones, or those that an explainer was fitted on."""
        return inputs.has_records or (not isinstance(self.published, SurrogateRelease) and not self.records.nobody)

    def summary(self) -> ReleaseSummary:
        """Return the release in brief; all of it is public."""
        release, made = self.records.release, self.records.release.provenance
        return ReleaseSummary(
            form=made.form,
            labels=made.labels,
            records=made.records,
            partition=made.partition,
            method=made.method,
            scaling=made.scaling,
            n_groups=release.n_groups,
            n_attributes=len(release.domain),
            n_nodes=sum(len(tree.nodes) for tree in release.trees),
            n_leaves=sum(len(tree.cells) for tree in release.trees),
            deepest=max(tree.depth for tree in release.trees),
            k=release.k,
            classes=tuple(str(value) for value in release.classes),
            counts=any(node.evidence.size is not None for tree in release.trees for node in tree.nodes),
            inferred=tuple(name for name in release.domain if release.domain[name].inferred),
            notes=made.notes,
            claim=claimed(self.records),
        )

    def evidence(self, raw: Raw, suppression: Suppression) -> Evidence:
        """Return what was measured as criteria read it."""
        membership = described(raw.get("membership"), suppression)
        whole = evidence_of_release(
            self.records,
            self.leaves,
            self.policy,
            values=self.values,
            together=raw.get("together", NotApplicable("")),
            membership=membership or NotApplicable(""),
            guarantee=self.guarantee,
            codes=self.codes,
        )
        return replace(
            whole,
            groups=whole.groups if "groups" in raw else None,
            declared_k=whole.declared_k if "groups" in raw else None,
            sizes=whole.sizes if "leaves" in raw else None,
            shares=whole.shares if "leaves" in raw else None,
            narrowed=whole.narrowed if "leaves" in raw else None,
            dominance=whole.dominance if "leaves" in raw else None,
            bits=whole.bits if "together" in raw else None,
            thresholds=whole.thresholds if "thresholds" in raw else None,
            membership=whole.membership if "membership" in raw else None,
            certain=whole.certain if "guesses" in raw else None,
            people=self.counts_people,
        )

    def notes(self, raw: Raw, guarantee: GuaranteeFinding | None, suppression: Suppression) -> Sequence[str]:
        """Return what the figures do not cover."""
        if self.records.nobody:
            return [BLACK_BOX]
        beside = relied_on(self.guarantee) and self.records.beside
        return [KNOWN_GROUP, NOT_COUNTED, *([UNCOVERED] if beside else [])]


def release_subject(
    published: SurrogateRelease | MeasuredExplainer, inputs: AuditInputs, policy: Policy
) -> ReleaseSubject:
    """Return a release, or that of a fitted explainer, as a subject."""
    release = published if isinstance(published, SurrogateRelease) else published.release()
    records = ReleaseInputs(release=release, lacking=OF_THE_MODEL)
    return ReleaseSubject(inputs=inputs, policy=policy, published=published, records=records)


def thresholds_finding(values: ValueLeakage) -> ThresholdsFinding:
    """Return what thresholds reveal as a finding."""
    return ThresholdsFinding(
        n_thresholds=values.n_thresholds, n_off_grid=values.n_off_grid or 0, n_midpoints=values.n_midpoints
    )


# What is measured. Shares of people are rounded by their number, so that each measurement suppresses by itself.


def _membership(subject: ReleaseSubject) -> Outcome[MembershipAttacks]:
    """Run the attacks; the midpoint attack on all trees draws first."""
    rng = generator(subject.inputs.settings.random_state)
    midpoints = midpoints_of(subject.records, random_state=rng)
    return membership_of(subject.records, midpoints, random_state=rng)


def _diversity(subject: ReleaseSubject) -> Outcome[tuple[DiversityFinding, ...]]:
    records, sensitive, codes = subject.records, subject.inputs.settings.sensitive, subject.codes
    if records.people is None or records.groups is None:
        return records.lacks()
    out = []
    for kind in (TRUE, DECISIONS):
        labels = records.people.labels(kind)
        if labels is not None:
            labelled = np.unique(np.array([repr(value) for value in labels.tolist()]), return_inverse=True)[1]
            out.append(diversity_of(kind, records.groups, labelled, records.people, subject.suppression))
    if sensitive is not None and codes is not None:
        out.append(diversity_of(sensitive, records.groups, codes, records.people, subject.suppression))
    if not out:
        return NotApplicable(
            f"neither labels nor a sensitive attribute are given (`{parameter('target=')}`, "
            f"`{parameter('sensitive=')}`)."
        )
    return Measured(tuple(out))


def _leaves(subject: ReleaseSubject) -> Outcome[LeavesFinding]:
    limit = subject.policy.smallest_leaf
    return leaves_of(subject.records, subject.leaves, limit, subject.suppression)


ReleaseSubject.measurements = (
    Measurement[ReleaseSubject, GroupsFinding](
        name="groups",
        title="Groups",
        question="How small are the groups behind representatives?",
        finding=GroupsFinding,
        run=lambda subject: groups_of(subject.records, subject.leaves, subject.suppression),
    ),
    Measurement[ReleaseSubject, LeavesFinding](
        name="leaves",
        title="Leaves",
        question="How small are leaves, and who is alone in one?",
        finding=LeavesFinding,
        run=_leaves,
    ),
    Measurement[ReleaseSubject, tuple[DiversityFinding, ...]](
        name="diversity",
        title="Diversity",
        question="Do all of a group share a label or a sensitive value?",
        finding=tuple[DiversityFinding, ...],
        run=_diversity,
        audience="checker",
    ),
    Measurement[ReleaseSubject, TogetherFinding](
        name="together",
        title="Reconstruction",
        question="How far can an attacker reconstruct the records from all trees?",
        finding=TogetherFinding,
        run=lambda subject: together_of(subject.records, subject.leaves),
    ),
    Measurement[ReleaseSubject, tuple[GuessFinding, ...]](
        name="guesses",
        title="Disclosure",
        question="How often does an attacker guess labels and sensitive values correctly?",
        finding=tuple[GuessFinding, ...],
        run=lambda subject: guesses_of(subject.records, subject.inputs.settings.sensitive, subject.suppression),
        audience="checker",
    ),
    Measurement[ReleaseSubject, MembershipAttacks](
        name="membership",
        title="Membership",
        question="Can an attacker infer who is behind the release?",
        finding=MembershipFinding,
        run=_membership,
        hide=describe_membership,
        audience="checker",
    ),
    Measurement[ReleaseSubject, tuple[GapFinding, ...]](
        name="gaps",
        title="Gap attack",
        question="Are trees right more often about members?",
        finding=tuple[GapFinding, ...],
        run=lambda subject: Measured(gaps_of(subject.records)),
        listed=False,
        audience="checker",
    ),
    Measurement[ReleaseSubject, RepresentativesFinding](
        name="representatives",
        title="Representatives",
        question="What do representative records reveal?",
        finding=RepresentativesFinding,
        run=lambda subject: Measured(measure_representatives(subject.records, subject.suppression)),
        listed=False,
    ),
    Measurement[ReleaseSubject, ThresholdsFinding](
        name="thresholds",
        title="Thresholds",
        question="Are thresholds values of single records?",
        finding=ThresholdsFinding,
        run=lambda subject: Measured(thresholds_finding(subject.values)),
        listed=False,
    ),
)
