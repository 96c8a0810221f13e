"""A release of explanations as the subject of an audit, and what is measured of it as a whole."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from glassine.attacks.magnitudes import ContributionBounds
from glassine.attacks.membership.outputs import generator
from glassine.attacks.membership.suite import MembershipAttacks
from glassine.attacks.outcome import UNCOVERED, Measured, Measurement, NotApplicable, Outcome, RecordNote
from glassine.attacks.value_leakage import ValueLeakage
from glassine.auditing.describe import describe_guarantee, relied_on
from glassine.auditing.describe_membership import describe_membership
from glassine.auditing.facts import Bits, Fact, Inapplicable, LargestShares, Sizes
from glassine.auditing.findings import (
    OF_THE_MODEL,
    DiversityFinding,
    ExplanationsFinding,
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
    widths_left,
)
from glassine.auditing.inputs import AuditInputs, compare
from glassine.auditing.policy import Policy
from glassine.auditing.release_attacks import gaps_of, guesses_of, membership_of, midpoints_of, together_of
from glassine.auditing.release_inputs import (
    DECISIONS,
    TRUE,
    ReleaseInputs,
    ReleaseLeaves,
    inputs_of_data,
    inputs_of_fit,
)
from glassine.auditing.subject import OpenedModel, Raw, Subject
from glassine.auditing.tree_facts import named_fact, thresholds_fact
from glassine.data.labels import Sample
from glassine.data.person_counts import refuse_shared
from glassine.errors import InvalidParameterError, parameter
from glassine.records.arrays import Ints
from glassine.surrogates.surrogate_release import SurrogateRelease

NO_RECORDS = Inapplicable("The release was made without any person's record.")
DECIDED = Inapplicable(
    "The trees were trained on the black box's decisions, which anyone can ask for together with a record."
)
DRAWN = Inapplicable("Leaves hold numbers that were drawn with noise, no means of answers.")
UNANSWERED = "the black box's answers on the training records are not known."
OF_BLACK_BOX = NotApplicable(
    "the black box's decisions were not looked at, and they may reveal its training records. Audit the black box."
)


def claimed(release: SurrogateRelease) -> str:
    """Return what is claimed of the privacy of a release, in words."""
    certificate = release.certificate
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


# What measurements find, as criteria read it.


def _facts_of_groups(subject: ReleaseSubject, outcome: object, raw: Raw) -> dict[str, Fact[Any]]:
    """Return how many records are in each group, and how many the release declares."""
    if subject.accepted or subject.records.nobody:
        return {}
    leaves = subject.leaves
    sizes = _sizes(subject.records, ("group", "groups"), () if leaves is None else _occupied(leaves.groups))
    k = subject.records.release.k
    return {"groups": sizes, "declared_k": None if k is None else Measured(k)}


def _facts_of_leaves(subject: ReleaseSubject, outcome: object, raw: Raw) -> dict[str, Fact[Any]]:
    """Return how many records are in each leaf, of which labels, and how closely its mean determines answers."""
    records, leaves = subject.records, subject.leaves
    if subject.accepted or records.nobody:
        return {} if subject.accepted else dict.fromkeys(("released_leaves", "shares"), NO_RECORDS)
    facts: dict[str, Fact[Any]] = {
        "released_leaves": _sizes(records, ("leaf", "leaves"), () if leaves is None else _occupied(leaves.sizes)),
        "shares": _shares(records, leaves),
    }
    if records.release.answer is None:
        return facts  # A release of classes has no mean.
    if records.release.drawn:
        return facts | dict.fromkeys(("narrowed", "contributions"), DRAWN)
    widths, contributions = widths_left(records, leaves), dominance_of(records, leaves)
    facts["narrowed"] = records.lacks() if widths is None else Measured(tuple(widths.tolist()))
    facts["contributions"] = None if contributions is None else Measured(ContributionBounds.exactly(contributions))
    return facts


def _facts_of_bits(subject: ReleaseSubject, outcome: Outcome[TogetherFinding], raw: Raw) -> dict[str, Fact[Any]]:
    """Return the bits about the attributes of the most exposed record, its group being known."""
    if subject.accepted or subject.records.nobody:
        return {} if subject.accepted else {"bits": NO_RECORDS}
    if not isinstance(outcome, Measured):
        return {"bits": outcome}
    largest = outcome.value.bits_largest
    return {"bits": Measured(Bits(lower=largest, upper=largest))}


def _facts_of_thresholds(subject: ReleaseSubject, outcome: object, raw: Raw) -> dict[str, Fact[Any]]:
    """Return the thresholds, if asked for."""
    if subject.records.nobody and not subject.accepted:
        return {"thresholds": NO_RECORDS}
    return {"thresholds": Measured(thresholds_fact(subject.inputs.policy, subject.values, subject.inferred))}


def _facts_of_guesses(subject: ReleaseSubject, outcome: object, raw: Raw) -> dict[str, Fact[Any]]:
    """Return of how many people, or records, the group has one sensitive value."""
    records, codes = subject.records, subject.codes
    if subject.accepted or records.nobody:
        return {} if subject.accepted else {"certain": OF_BLACK_BOX}
    if records.groups is None or codes is None:
        return {"certain": records.lacks("no sensitive attribute was named.")}
    if records.people is None:
        return {"certain": records.lacks()}
    single = np.array([len(np.unique(codes[records.groups == g])) == 1 for g in range(records.release.n_groups)])
    number = int(records.people.counts(np.where(single[records.groups], 0, -1), 1)[0])
    return {"certain": Measured((number, ""))}


def _facts_of_membership(subject: ReleaseSubject, outcome: Outcome[Any], raw: Raw) -> dict[str, Fact[Any]]:
    """Return the attacks; of a release without records they would be on the black box."""
    return {} if subject.accepted else {"membership": OF_BLACK_BOX if subject.records.nobody else outcome}


def _occupied(sizes: Ints) -> tuple[int, ...]:
    return tuple(sizes[sizes > 0].tolist())


def _sizes(inputs: ReleaseInputs, names: tuple[str, str], sizes: tuple[int, ...]) -> Fact[Sizes]:
    return Measured(Sizes(parts={names: sizes})) if sizes else inputs.lacks()


def _shares(inputs: ReleaseInputs, leaves: ReleaseLeaves | None) -> Fact[LargestShares]:
    """Return the largest share of one true label, or number, in each leaf; trees of decisions publish no label."""
    if inputs.release.answer is not None and not inputs.release.drawn:
        equal = equal_answers(inputs, leaves)
        if equal is None:
            return inputs.lacks(UNANSWERED)
        return Measured(LargestShares(bounds=tuple((share, share) for share in equal.tolist()), outcome="one answer"))
    if inputs.kind == DECISIONS:
        return DECIDED
    if leaves is None or leaves.counts is None:
        return inputs.lacks("the true labels of the training records were not passed.")
    occupied = leaves.sizes > 0
    shares = (leaves.counts[occupied].max(axis=1) / leaves.sizes[occupied]).tolist()
    return Measured(LargestShares(bounds=tuple((share, share) for share in shares), outcome="one true label"))


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

    records: ReleaseInputs  # The release, and the records behind it as far as they are given
    leaves: ReleaseLeaves | None  # The leaves of all trees with the people behind them
    inferred: tuple[str, ...]  # The attributes whose domain was taken from data

    by_array = True

    @classmethod
    def opens(cls, artefact: Any) -> OpenedModel:
        """Return a release, or a fitted explainer with its own."""
        release = artefact if isinstance(artefact, SurrogateRelease) else artefact.release()
        return OpenedModel(kind=cls, artefact=artefact, value=release)

    @classmethod
    def of(cls, opened: OpenedModel, inputs: AuditInputs, claim: GuaranteeFinding | None) -> Self:
        """Return a release with the records behind it, those of the explainer among them."""
        published, labels = opened.artefact, inputs.labels
        holdout = Sample(inputs.holdout, labels[1])
        if inputs.public:
            records = ReleaseInputs(release=opened.value, lacking=OF_THE_MODEL)
        elif isinstance(published, SurrogateRelease):
            records = inputs_of_data(published, Sample(inputs.data, labels[0]), holdout)
        else:
            records = inputs_of_fit(published, labels[0], holdout)
        people, others = records.people, records.others
        if people is not None and others is not None:
            if (people.persons is None) != (others.persons is None):
                raise InvalidParameterError(
                    f"{parameter('persons')} are stated of the records behind the release or of the holdout alone.",
                    remedy="State both.",
                )
            refuse_shared(people.persons, others.persons)
        return cls.of_records(records, inputs, guarantee=claim)

    @classmethod
    def of_records(cls, records: ReleaseInputs, inputs: AuditInputs, **own: Any) -> Self:
        """Return a release with the records behind it."""
        domain, leaves, people = records.release.domain, records.leaves(), records.people
        inferred = tuple(name for name in domain if domain[name].inferred)
        return cls(
            kind="release as published" if records.release.provenance.form == "paper" else "release",
            inputs=inputs,
            records=records,
            leaves=leaves,
            inferred=inferred,
            people=people is not None and people.persons is not None,
            has_data=not records.nobody and leaves is not None,
            domain_inferred=bool(inferred),
            mismatch=records.lacking if records.outside else "",
            odd=tuple(dict.fromkeys((*records.outside, *records.outside_others))),
            **own,
        )

    @classmethod
    def claim(cls, opened: OpenedModel, policy: Policy) -> GuaranteeFinding | None:
        """Return the differential privacy that is claimed for the release as a whole; None where none is."""
        release: SurrogateRelease = opened.value
        certificate = release.certificate
        if certificate is None or not certificate.holds or release.provenance.partition != "public":
            return None
        return describe_guarantee(release.trees[0], policy)

    @classmethod
    def check(cls, opened: OpenedModel, inputs: AuditInputs, names: Container[str] | None) -> None:
        """Raise InvalidParameterError if the sensitive attribute is none of the release's, or a domain is given."""
        own = opened.value.domain.names
        if inputs.domain is not None:
            raise InvalidParameterError("a release holds its own domain.", remedy=f"Leave {parameter('domain=')} out.")
        name = inputs.settings.sensitive
        if name is not None and name not in own:
            raise InvalidParameterError(
                f"{parameter('sensitive')} must name an attribute of the release, got {name!r}. They are: "
                f"{', '.join(own[:20])}."
            )

    @classmethod
    def has_records(cls, opened: OpenedModel, inputs: AuditInputs) -> bool:
        """Return whether there are records: given ones, or those that an explainer was fitted on."""
        own = not isinstance(opened.artefact, SurrogateRelease) and opened.value.provenance.records != "queries"
        return own or inputs.has_records

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
        return self.people

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
            inferred=self.inferred,
            notes=made.notes,
            claim=claimed(release),
        )

    def facts_of(self, raw: Raw) -> dict[str, Fact[Any]]:
        """Return what measurements found; whom thresholds can name is asked of every release."""
        named: Fact[Any] = Measured(named_fact(self.values, self.inferred))
        return {"named": NO_RECORDS if self.records.nobody and not self.accepted else named, **super().facts_of(raw)}

    def notes(self, raw: Raw) -> Iterator[str]:
        """Yield what the figures do not cover."""
        if self.records.nobody:
            yield BLACK_BOX
            return
        yield from (KNOWN_GROUP, NOT_COUNTED)
        domain, sides = self.records.release.domain, (self.records.outside, self.records.outside_others)
        for outside, said in zip(sides, ("", "Of the holdout, "), strict=True):
            for note in compare(outside, domain, ()).notes(self.inputs.suppression):
                yield RecordNote(f"{said}{note}")
        if relied_on(self.guarantee) and self.records.has_records:
            yield UNCOVERED


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
            out.append(diversity_of(kind, records.groups, labelled, records.people, subject.inputs.suppression))
    if sensitive is not None and codes is not None:
        out.append(diversity_of(sensitive, records.groups, codes, records.people, subject.inputs.suppression))
    if not out:
        return NotApplicable(
            f"neither labels nor a sensitive attribute are given (`{parameter('target=')}`, "
            f"`{parameter('sensitive=')}`)."
        )
    return Measured(tuple(out))


def _leaves(subject: ReleaseSubject) -> Outcome[LeavesFinding]:
    limit = subject.inputs.policy.smallest_group
    return leaves_of(subject.records, subject.leaves, limit, subject.inputs.suppression)


def _explanations(subject: ReleaseSubject) -> Outcome[ExplanationsFinding]:
    """Return what was measured of explanations before the release was made."""
    choice = subject.records.choice
    if choice is None:
        return NotApplicable("no goal was stated for explanations, or the release was read from a file.")
    return Measured(
        ExplanationsFinding(
            conditions=choice.shares.conditions,
            goal_conditions=choice.goal.conditions,
            confirmed=choice.shares.confirmed,
            goal_confirmed=choice.goal.confirmed,
            n_records=choice.shares.n_records,
            measured_on=choice.measured_on,
            reached=choice.reached,
        )
    )


ReleaseSubject.measurements = (
    Measurement[ReleaseSubject, GroupsFinding](
        "groups",
        "Groups",
        "How small are the groups behind representatives?",
        GroupsFinding,
        run=lambda subject: groups_of(subject.records, subject.leaves, subject.inputs.suppression),
        facts=_facts_of_groups,
    ),
    Measurement[ReleaseSubject, LeavesFinding](
        "leaves",
        "Leaves",
        "How small are leaves, and who is alone in one?",
        LeavesFinding,
        run=_leaves,
        facts=_facts_of_leaves,
    ),
    Measurement[ReleaseSubject, tuple[DiversityFinding, ...]](
        "diversity",
        "Diversity",
        "Do all of a group share a label or a sensitive value?",
        tuple[DiversityFinding, ...],
        run=_diversity,
        audience="checker",
    ),
    Measurement[ReleaseSubject, TogetherFinding](
        "together",
        "Reconstruction",
        "How far can an attacker reconstruct the records from all trees?",
        TogetherFinding,
        run=lambda subject: together_of(subject.records, subject.leaves),
        facts=_facts_of_bits,
    ),
    Measurement[ReleaseSubject, tuple[GuessFinding, ...]](
        "guesses",
        "Disclosure",
        "How often does an attacker guess labels and sensitive values correctly?",
        tuple[GuessFinding, ...],
        run=lambda subject: guesses_of(subject.records, subject.inputs.settings.sensitive, subject.inputs.suppression),
        facts=_facts_of_guesses,
        audience="checker",
    ),
    Measurement[ReleaseSubject, MembershipAttacks](
        "membership",
        "Membership",
        "Can an attacker infer who is behind the release?",
        MembershipFinding,
        run=_membership,
        hide=describe_membership,
        facts=_facts_of_membership,
        audience="checker",
    ),
    Measurement[ReleaseSubject, tuple[GapFinding, ...]](
        "gaps",
        "Gap attack",
        "Are trees right more often about members?",
        tuple[GapFinding, ...],
        run=lambda subject: Measured(gaps_of(subject.records)),
        listed=False,
        audience="checker",
    ),
    Measurement[ReleaseSubject, ExplanationsFinding](
        "explanations",
        "Explanations",
        "How many explanations say something, and does the black box confirm it?",
        ExplanationsFinding,
        run=_explanations,
        listed=False,
        audience="checker",
    ),
    Measurement[ReleaseSubject, RepresentativesFinding](
        "representatives",
        "Representatives",
        "What do representative records reveal?",
        RepresentativesFinding,
        run=lambda subject: Measured(measure_representatives(subject.records, subject.inputs.suppression)),
        listed=False,
    ),
    Measurement[ReleaseSubject, ThresholdsFinding](
        "thresholds",
        "Thresholds",
        "Are thresholds values of single records?",
        ThresholdsFinding,
        run=lambda subject: Measured(thresholds_finding(subject.values)),
        facts=_facts_of_thresholds,
        listed=False,
    ),
)
