"""A release and the records given beside it: the people behind it, their groups and labels, and a holdout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.outputs import LabelledRecords
from glassine.attacks.outcome import NotApplicable
from glassine.data.deviations import bounds, sentence
from glassine.data.labels import Sample
from glassine.data.outside import outside_of
from glassine.data.person_counts import Persons
from glassine.data.record_table import RecordTable
from glassine.domain import Domain
from glassine.errors import GlassineError, InvalidDataError, Text, first_of, parameter
from glassine.microaggregation import SemanticDistance, microaggregate
from glassine.records.arrays import AnyArray, Indices, Ints
from glassine.records.columns import ConformedColumns
from glassine.surrogates.answers import distinct_records
from glassine.surrogates.explanation_measures import MeasuredExplainer
from glassine.surrogates.goals import ExplanationChoice
from glassine.surrogates.query_input import open_records, read
from glassine.surrogates.release_fit import check_words, joined_groups, label_array, representatives_of
from glassine.surrogates.surrogate_release import SurrogateRelease

NOBODY_ELSE = Sample()
TRUE, DECISIONS = "true labels", "black box's decisions"
NOBODY = "the release was made of queries sampled from a public domain: no record is behind it."
NO_DATA = Text(f"it needs the training records (`{parameter('data=')}`).")
STRANGERS = (
    "the records do not give this release's representatives: pass the training records, in their original order."
)
OLD_GAMMA = 0.2
"""That of V-MDAV in a file that states none."""

Labels = AnyArray | None

Outside: TypeAlias = Mapping[str, Mapping[str, int]]
"""Number of records that a domain does not describe, by attribute and reason."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Side:
    """Records with their labels, as far as they are known."""

    columns: ConformedColumns  # The records, n of them
    # truth, decisions: their true labels, and what the black box says of them; shape (n,), or None.
    truth: Labels = None
    decisions: Labels = None
    persons: Persons | None = None  # Whose they are, where that is stated: then people are counted

    @property
    def number(self) -> int:
        """How many people there are, or records where no persons are stated."""
        return self.columns.n_records if self.persons is None else self.persons.number

    def counts(self, by: npt.NDArray[np.integer], n: int, *, distinct: bool = False) -> Ints:
        """Return how many people, or records, lie in each of n parts; ``by`` has shape (n_records,), -1 for none."""
        # It is the number of distinct records where that is asked for and smaller.
        sizes = np.bincount(by[by >= 0], minlength=n) if self.persons is None else self.persons.counts(by, n)
        return np.minimum(sizes, distinct_records(self.columns).counts(by, n)) if distinct else sizes

    def mean(self, values: AnyArray) -> float:
        """Return the mean over the people, or records, of what the records of one are on average."""
        values = np.asarray(values, dtype=float)
        return float((values if self.persons is None else self.persons.mean(values)).mean())

    def records(self, native: object, labels: AnyArray) -> LabelledRecords:
        """Return the records as attacks read them."""
        return replace(LabelledRecords.read(Sample(native, labels), "records"), persons=self.persons)

    def labels(self, kind: str) -> Labels:
        """Return the labels of a kind."""
        return self.truth if kind == TRUE else self.decisions


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReleaseLeaves:
    """The leaves of all trees, and who is behind them; one entry a leaf."""

    # group, cell: tree of each leaf, and its place in the tree; shape (m,).
    group: Indices
    cell: Indices
    sizes: Ints  # People where persons are stated, else records; shape (m,)
    counts: Ints | None  # The same of each label of the trees; shape (m, n_classes), or None
    # Leaf of each record; None where sizes are published and the records not known; shape (n,), or None.
    of_record: Indices | None
    origin: str  # ``published`` or ``counted``
    groups: Ints  # People, or records, of each group; shape (n_groups,)
    number: int  # Their total number


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReleaseInputs:
    """A release, and what the auditor knows beside it."""

    release: SurrogateRelease
    people: Side | None = None  # The people behind it
    groups: Ints | None = None  # Their groups; shape (n,), or None
    others: Side | None = None  # A holdout: other people of the same population
    lacking: str = ""  # Why there are no people or no groups; empty if there are
    # outside, outside_others: training records, and those of the holdout, that the domain does not describe.
    outside: Outside = field(default_factory=dict)
    outside_others: Outside = field(default_factory=dict)
    choice: ExplanationChoice | None = None  # What was chosen for a goal, and measured

    def lacks(self, reason: str = "no record is behind the release.") -> NotApplicable:
        """Return why a figure is not measured: no records are there, or this reason."""
        return NotApplicable(self.lacking or reason)

    @property
    def has_records(self) -> bool:
        """Whether records are known: the people behind the release, or others."""
        return self.people is not None or self.others is not None

    @property
    def nobody(self) -> bool:
        """Whether no record is behind the release."""
        return self.release.provenance.records == "queries"

    @property
    def kind(self) -> str:
        """On which labels the trees were trained."""
        return TRUE if self.release.provenance.labels == "true" else DECISIONS

    def targets(self) -> Ints | None:
        """Return the place of the label on which the trees were trained, of each person, if it is known."""
        # It is -1 for a label that the release does not hold.
        labels = None if self.people is None else self.people.labels(self.kind)
        return None if labels is None else self.release.answers.places(labels)

    def leaves(self) -> ReleaseLeaves | None:
        """Return the leaves of all trees with their people; None if unknown or without any."""
        if self.nobody:
            return None
        sizes = [len(tree.cells) for tree in self.release.trees]
        start = np.concatenate([[0], np.cumsum(sizes)])
        group = np.repeat(np.arange(len(sizes)), sizes)
        cell = np.arange(start[-1]) - start[group]
        if self.people is None or self.groups is None:
            counts = self._published()
            if counts is None:
                return None
            leaf_sizes = counts.sum(axis=1)
            return ReleaseLeaves(
                group=group,
                cell=cell,
                sizes=leaf_sizes,
                counts=counts,
                of_record=None,
                origin="published",
                groups=np.bincount(group, weights=leaf_sizes, minlength=self.release.n_groups).astype(np.int64),
                number=int(leaf_sizes.sum()),
            )
        of_record = np.empty(len(self.groups), dtype=np.intp)
        for index, tree in enumerate(self.release.trees):
            rows = np.flatnonzero(self.groups == index)
            of_record[rows] = start[index] + tree.apply(self.people.columns.take(rows))
        numeric, n_classes, table = self.release.answer is not None, len(self.release.classes), None
        targets = None if numeric else self.targets()
        if targets is not None:
            places = np.where(targets >= 0, of_record * n_classes + targets, -1)
            table = self.people.counts(places, len(group) * n_classes).reshape(len(group), n_classes)
        return ReleaseLeaves(
            group=group,
            cell=cell,
            sizes=self.people.counts(of_record, len(group), distinct=numeric),
            counts=table,
            of_record=of_record,
            origin="counted",
            groups=self.people.counts(self.groups, self.release.n_groups),
            number=self.people.number,
        )

    def _published(self) -> Ints | None:
        counts = [cell.evidence.counts for tree in self.release.trees for cell in tree.cells]
        return None if any(count is None for count in counts) else np.array(counts, dtype=np.int64)


def inputs_of_fit(explainer: MeasuredExplainer, y: object = None, holdout: Sample = NOBODY_ELSE) -> ReleaseInputs:
    """Return what a fitted explainer knows of its release."""
    # Shapes: y (n,), optional.
    release, training = explainer.release_, explainer.training_
    if release.provenance.records == "queries":
        return ReleaseInputs(release=release, lacking=NOBODY, choice=explainer.choice_)
    truth = _true_labels(release, y, training.columns.n_records)
    if truth is None and release.provenance.labels == "true":
        truth = _values(release, training.targets)
    decisions = _values(release, training.answers)
    people = Side(columns=training.columns, truth=truth, decisions=decisions, persons=training.persons)
    others, outside = _others(release, holdout, explainer)
    return ReleaseInputs(
        release=release, people=people, groups=training.groups, others=others, outside_others=outside,
        choice=explainer.choice_,
    )  # fmt: skip


def _values(release: SurrogateRelease, places: Ints) -> AnyArray:
    """Return answers at their places, shape (n,); None for -1, a label that the release does not hold."""
    whole, at = np.unique(places, return_inverse=True)
    values = np.empty(len(whole), dtype=object)
    values[:] = [None if place < 0 else release.answers.value(place) for place in whole.tolist()]
    return values[at]


def _others(
    release: SurrogateRelease, holdout: Sample, explainer: MeasuredExplainer | None
) -> tuple[Side | None, Outside]:
    if holdout.data is None:
        if holdout.target is not None:
            raise InvalidDataError(
                f"{parameter('target')} labels a holdout, and none is given.", remedy=f"Pass {parameter('holdout=')}."
            )
        return None, {}
    _, native, data = open_records(holdout.data, release.domain)
    columns, outside = _read(data, release.domain)
    if columns is None:
        return None, outside
    answered = None if explainer is None else explainer.black_box_.ask_once(native, columns.n_records)
    truth = _true_labels(release, holdout.target, columns.n_records)
    return Side(columns=columns, truth=truth, decisions=answered, persons=_persons_of(holdout.data)), {}


def _read(data: object, domain: Domain) -> tuple[ConformedColumns | None, Outside]:
    """Return records as columns, or none and how many the domain does not describe, by attribute and reason."""
    if isinstance(data, RecordTable) and data.lines is not None:
        return None, outside_of(domain, data)
    try:
        return read(data, domain, refuse_outside=False), {}
    except InvalidDataError:
        outside = outside_of(domain, data)
        if not outside:
            raise
        return None, outside


def _persons_of(records: object) -> Persons | None:
    return records.persons if isinstance(records, RecordTable) else None


def _true_labels(release: SurrogateRelease, y: object, n_records: int) -> Labels:
    if y is None:
        return None
    labels = label_array(y, n_records, "target")
    if release.answer is None:
        check_words(labels, release.classes)
    return labels


def inputs_of_data(release: SurrogateRelease, people: Sample, holdout: Sample) -> ReleaseInputs:
    """Return what is known of a release from its file, and from records if they are given."""
    # Groups are those of the same microaggregation done again; they count only if they give the representatives that
    # the release holds.
    if release.provenance.records == "queries":
        return ReleaseInputs(release=release, lacking=NOBODY)
    others, odd_others = _others(release, holdout, None)
    if people.data is None:
        if people.target is not None:
            raise InvalidDataError(
                f"{parameter('target')} labels the training records, and none are given.",
                remedy=f"Pass {parameter('data=')}.",
            )
        return ReleaseInputs(release=release, others=others, lacking=NO_DATA, outside_others=odd_others)
    _, _, opened = open_records(people.data, release.domain)
    columns, odd = _read(opened, release.domain)
    if columns is None:
        sentences = [sentence(name, None, bounds(name, release.domain), why) for name, why in odd.items()]
        lacking = first_of(sentences, mark="")
        return ReleaseInputs(release=release, lacking=lacking, others=others, outside=odd, outside_others=odd_others)
    whose = _persons_of(people.data)
    groups = _groups(release, opened, columns, whose)
    side = Side(columns=columns, truth=_true_labels(release, people.target, columns.n_records), persons=whose)
    if groups is None:
        return ReleaseInputs(release=release, lacking=STRANGERS, others=others, outside_others=odd_others)
    return ReleaseInputs(release=release, people=side, groups=groups, others=others, outside_others=odd_others)


def _groups(
    release: SurrogateRelease, opened: object, columns: ConformedColumns, persons: Persons | None
) -> Ints | None:
    """Return the groups of records that give just these representatives."""
    # Of a release that counts people, groups are joined as its maker did, which needs the persons.
    made, domain, metric, k = release.provenance, release.domain, release.metric, release.k or 2
    if made.partition == "public":
        return release.closest(columns, 1)[:, 0].astype(np.int64)
    distance: Any = SemanticDistance(metric.taxonomies) if metric.distance == "semantic" else metric.distance
    native = np.column_stack(list(opened.values())) if isinstance(opened, dict) else opened
    # A domain that was inferred may have been so before the grouping or by it.
    gamma = OLD_GAMMA if made.method == "v-mdav" and made.gamma is None else made.gamma
    strata = columns.array(made.strata).tolist() if made.strata else None
    for declared in (None, domain) if domain.inferred else (domain,):
        try:
            grouping = microaggregate(
                native, k, domain=declared, gamma=gamma, scaling=made.scaling, distance=distance, strata=strata
            )
            whose = persons if made.counted == "people" else None
            least = 0 if release.answer is None else min(k, made.min_samples_leaf)
            groups = joined_groups(grouping.labels, k, columns, metric, domain, whose, least, made.strata)
        except GlassineError:
            continue
        n_groups = int(groups.max()) + 1
        if n_groups != release.n_groups:
            continue
        points = representatives_of(
            columns, groups, n_groups, metric, domain, rounded=made.form == "restricted", k=k, persons=whose
        )
        if points == release.representatives:
            return groups
    return None
