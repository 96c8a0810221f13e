"""Attacks by a reader of the whole release: membership, rebuilding the records, guessing labels and values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, RegressorMixin

from glassine.attacks.membership.gap import gap_attack
from glassine.attacks.membership.midpoint import MidpointResult, midpoint_attack
from glassine.attacks.membership.outputs import LabelledRecords
from glassine.attacks.membership.suite import MembershipAttacks, attack_membership
from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.attacks.reconstruction.entropy import reconstruct
from glassine.auditing.findings import GapFinding, GuessFinding, TogetherFinding
from glassine.auditing.group_privacy import coded, edges_of, native_of
from glassine.auditing.release_inputs import DECISIONS, TRUE, ReleaseInputs, ReleaseLeaves, Side
from glassine.auditing.suppression import Suppression
from glassine.domain import Category, Domain, Integer, Real
from glassine.errors import GlassineError, InvalidDataError, Text, parameter
from glassine.models import DecisionTree, Node
from glassine.models import Evidence as NodeEvidence
from glassine.models.evidence import class_array
from glassine.records.arrays import AnyArray, Array, Indices, Ints
from glassine.records.columns import ConformedColumns
from glassine.surrogates.answers import index_of
from glassine.surrogates.query_input import open_records, read
from glassine.surrogates.surrogate_release import SurrogateRelease

REACH = 3
"""Closest representatives in whose groups a reader seeks a candidate: four in five people or more are found there."""

NO_HOLDOUT = Text(
    f"no holdout was given: records of the same population that are not behind the release (`{parameter('holdout=')}`)."
)
OF_NUMBERS = "the gap attack is on classes, and this release answers with numbers."
NO_LABELS = Text(
    f"neither true labels nor the black box's decisions are known on both sides (`{parameter('target=')}`)."
)


class PublishedAnswers:
    """A release as one classifier: the tree of the closest representative decides."""

    def __init__(self, release: SurrogateRelease) -> None:
        self.release = release
        self.classes_ = class_array(release.classes)

    def predict(self, X: object) -> AnyArray:
        """Return the decisions on records, shape (n,)."""
        columns, closest = _asked(self.release, X)
        return np.asarray(self.classes_[self.release.decisions(columns, closest)[:, 0]])


class PublishedShares(PublishedAnswers):
    """The same, where trees publish class counts: shares of the classes in a leaf are probabilities."""

    def predict_proba(self, X: object) -> Array:
        """Return the shares of the classes, shape (n, n_classes)."""
        columns, closest = _asked(self.release, X)
        out = np.zeros((columns.n_records, len(self.classes_)))
        for group in np.unique(closest).tolist():
            tree = self.release.trees[group]
            table = np.array([cell.evidence.counts for cell in tree.cells], dtype=float)
            rows = np.flatnonzero(closest[:, 0] == group)
            out[rows] = (table / table.sum(axis=1, keepdims=True))[tree.apply(columns.take(rows))]
        return out


class PublishedMeans(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A release of means as one model: the tree of the closest representative answers with a number."""

    def __init__(self, release: SurrogateRelease) -> None:
        self.release = release

    def predict(self, X: object) -> Array:
        """Return the means for records, shape (n,)."""
        return _numbers(self.release, self.release.decisions(*_asked(self.release, X))[:, 0])


def _asked(release: SurrogateRelease, X: object) -> tuple[ConformedColumns, Indices]:
    """Return records as the release reads them, and the closest group of each, shape (n, 1)."""
    columns = read(open_records(X, release.domain)[2], release.domain, refuse_outside=False)
    return columns, release.closest(columns, 1)


def _numbers(release: SurrogateRelease, places: Ints) -> Array:
    """Return the numbers at places, shape (n,)."""
    whole, at = np.unique(places, return_inverse=True)
    return np.array([release.answers.value(place) for place in whole.tolist()], dtype=float)[at]


def _on_steps(release: SurrogateRelease, labels: AnyArray) -> AnyArray:
    """Return numbers rounded to the steps of a release; classes stay the same."""
    # Those behind a release are known so alone: rounding of one side only would distinguish the two.
    if release.answer is None:
        return labels
    return _numbers(release, index_of(labels, release.answers, "members or holdout"))


def _classifier(release: SurrogateRelease) -> PublishedAnswers | PublishedMeans:
    if release.answer is not None:
        return PublishedMeans(release)
    counts = [cell.evidence.counts for tree in release.trees for cell in tree.cells]
    shares = all(count is not None and sum(count) > 0 for count in counts)
    return PublishedShares(release) if shares else PublishedAnswers(release)


def midpoints_of(
    inputs: ReleaseInputs, *, random_state: int | np.random.Generator | None = None
) -> Outcome[MidpointResult]:
    """Run the midpoint attack against all trees at once."""
    # The reader does not know who is in which group, and seeks the records of a tree among the candidates, the people
    # behind the release and the holdout together, to whom its representative is one of the closest.
    if inputs.people is None:
        return inputs.lacks()
    sides = [inputs.people.columns] + ([] if inputs.others is None else [inputs.others.columns])
    closest = np.concatenate([inputs.release.closest(side, REACH) for side in sides])
    candidates = _stacked([native_of(side) for side in sides])
    members = np.arange(len(closest)) < inputs.people.columns.n_records
    persons = inputs.people.persons
    if persons is not None and inputs.others is not None and inputs.others.persons is not None:
        persons = persons.join(inputs.others.persons)
    stacked = LabelledRecords(candidates, np.zeros(len(closest)), persons)
    order = np.argsort(closest, axis=None, kind="stable")
    bounds = np.searchsorted(closest.ravel()[order], np.arange(inputs.release.n_groups + 1))
    reach = [order[bounds[i] : bounds[i + 1]] // closest.shape[1] for i in range(inputs.release.n_groups)]
    # What a tree says of its making is no secret; an attacker reads its thresholds all the same.
    bare = [dataclasses.replace(tree, guarantee=None) for tree in inputs.release.trees]
    return midpoint_attack(bare, stacked, truth=members, reach=reach, random_state=random_state)


def _stacked(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)

    return pl.concat(parts, how="vertical_relaxed")


def gaps_of(inputs: ReleaseInputs) -> tuple[GapFinding, ...]:
    """Return the gap attack on the whole release, by true labels and by the black box's decisions."""
    return tuple(_gap(inputs, kind) for kind in (TRUE, DECISIONS))


def _gap(inputs: ReleaseInputs, kind: str) -> GapFinding:
    outcome: Outcome[Any]
    if inputs.people is None or inputs.others is None:
        outcome = inputs.lacks(NO_HOLDOUT)
    elif inputs.release.answer is not None:
        outcome = NotApplicable(OF_NUMBERS)
    else:
        inside, outside = inputs.people.labels(kind), inputs.others.labels(kind)
        if inside is None or outside is None:
            outcome = NotApplicable(f"the {kind} are not known on both sides.")
        else:
            sides = ((inputs.people, inside), (inputs.others, outside))
            outcome = _tried(lambda: gap_attack(PublishedAnswers(inputs.release), *_both(*sides)))
    if not isinstance(outcome, Measured):
        return GapFinding(labels=kind, advantage=None, low=None, high=None, reason=outcome.reason)
    advantage = outcome.value.advantage
    return GapFinding(
        labels=kind, advantage=round(advantage.value, 4), low=round(advantage.low, 4), high=round(advantage.high, 4)
    )


def _tried(work: Callable[[], Outcome[Any]]) -> Outcome[Any]:
    """Return an outcome; labels that the release does not know are a reason, and no error of the audit."""
    try:
        return work()
    except InvalidDataError as error:
        return NotApplicable(error.text)


def membership_of(
    inputs: ReleaseInputs, midpoints: Outcome[MidpointResult], *, random_state: int | np.random.Generator | None = None
) -> Outcome[MembershipAttacks]:
    """Run every membership attack that applies to a release as one classifier, and add the midpoint attack."""
    # Labels are those on which the trees were trained, where they are known on both sides; else the others.
    people, others = inputs.people, inputs.others
    if people is None or others is None:
        return inputs.lacks(NO_HOLDOUT)
    kinds = (inputs.kind, *(kind for kind in (TRUE, DECISIONS) if kind != inputs.kind))
    for kind in kinds:
        inside, outside = people.labels(kind), others.labels(kind)
        if inside is None or outside is None:
            continue
        attacks = _tried(partial(_suite, inputs.release, (people, inside), (others, outside), random_state))
        if not isinstance(attacks, Measured):
            return attacks
        return Measured(dataclasses.replace(attacks.value, midpoint=midpoints))
    return NotApplicable(NO_LABELS)


def _both(people: tuple[Side, AnyArray], others: tuple[Side, AnyArray]) -> tuple[LabelledRecords, LabelledRecords]:
    """Return members and others with labels, as attacks take them; raises InvalidDataError where a label is missing."""
    members, outside = (side.records(native_of(side.columns), labels) for side, labels in (people, others))
    return members, outside


def _suite(
    release: SurrogateRelease,
    people: tuple[Side, AnyArray],
    others: tuple[Side, AnyArray],
    random_state: int | np.random.Generator | None,
) -> Outcome[MembershipAttacks]:
    (inside, of_members), (outside, other) = people, others
    members, holdout = _both((inside, _on_steps(release, of_members)), (outside, _on_steps(release, other)))
    return Measured(attack_membership(_classifier(release), members, holdout=holdout, random_state=random_state))


def together_of(inputs: ReleaseInputs, leaves: ReleaseLeaves | None) -> Outcome[TogetherFinding]:
    """Return how far all trees reconstruct the records, if each person's group is known."""
    if leaves is None or not leaves.sizes.any():
        return inputs.lacks()
    domain = inputs.release.domain
    try:
        bits = np.concatenate(
            [reconstruct(tree, domain).bits_learned(domain_aware=True) for tree in inputs.release.trees]
        )
    except GlassineError as error:
        return Failed(error.text)
    occupied = leaves.sizes > 0
    weights, learned = leaves.sizes[occupied], bits[occupied]
    if not np.isfinite(learned).all():
        return Failed("a leaf holds people where the domain allows none: the domain contradicts the trees.")
    mean = math.fsum((weights * learned).tolist()) / int(weights.sum())
    total, undefined = _total(domain)
    return Measured(
        TogetherFinding(
            bits_mean=round(mean, 3),
            bits_largest=round(float(learned.max()), 3),
            dist_g=None if total is None else round(1 - mean / total, 4),
            undefined=undefined,
        )
    )


def _total(domain: Domain) -> tuple[float | None, str]:
    """Return the bits of one unknown record, or why there are none."""
    for name in domain:
        attribute = domain[name]
        if isinstance(attribute, Real) and attribute.resolution is None:
            return None, f"{name!r} has no declared resolution, so possible records cannot be counted."
    tree = DecisionTree((Node(evidence=NodeEvidence(counts=(1,), label=0)),), domain.names, ("any",))
    (worlds,) = reconstruct(tree, domain).worlds(domain_aware=True)
    return (math.log2(worlds), "") if worlds > 1 else (None, "the domain allows one record only.")


def guesses_of(
    inputs: ReleaseInputs, sensitive: str | None, suppression: Suppression
) -> Outcome[tuple[GuessFinding, ...]]:
    """Return how often an attacker with all groups guesses labels and a sensitive value."""
    if inputs.people is None or inputs.groups is None:
        return inputs.lacks()
    out = []
    for kind in (TRUE, DECISIONS):
        guesses = _guessed_labels(inputs, kind, suppression)
        if guesses is not None:
            out.append(guesses)
    if sensitive is not None:
        out.append(_guessed_attribute(inputs, sensitive, suppression))
    return Measured(tuple(out)) if out else NotApplicable(NO_LABELS)


def _guessed_labels(inputs: ReleaseInputs, kind: str, suppression: Suppression) -> GuessFinding | None:
    people, groups, release = inputs.people, inputs.groups, inputs.release
    labels = None if people is None else people.labels(kind)
    if people is None or groups is None or labels is None:
        return None

    def right(side: Side, own: AnyArray, truth: AnyArray) -> float:
        # A number is guessed where the mean is the answer rounded to a step.
        return side.mean(release.decisions(side.columns, own)[:, 0] == release.answers.places(truth))

    n = people.number
    others, outside = None, None if inputs.others is None else inputs.others.labels(kind)
    if inputs.others is not None and outside is not None:
        others = right(inputs.others, release.closest(inputs.others.columns, 1), outside)
    coded_labels = np.unique(np.array([repr(value) for value in labels.tolist()]), return_inverse=True)[1]
    commonest = max(people.mean(coded_labels == code) for code in range(int(coded_labels.max()) + 1))
    return GuessFinding(
        attribute=kind,
        base_rate=suppression.proportion(commonest, n),
        closest=suppression.proportion(right(people, release.closest(people.columns, 1), labels), n),
        group_known=suppression.proportion(right(people, groups[:, None].astype(np.intp), labels), n),
        others=None
        if others is None or inputs.others is None
        else suppression.proportion(others, inputs.others.number),
    )


def _guessed_attribute(inputs: ReleaseInputs, name: str, suppression: Suppression) -> GuessFinding:
    """Return how often the representative closest in other attributes reveals a value."""
    people, groups, release = inputs.people, inputs.groups, inputs.release
    if people is None or groups is None:
        raise InvalidDataError(
            "guesses need the people behind the release.", remedy="Pass the training records, in their order."
        )
    place = release.domain.names.index(name)
    values = [point[place] for point in release.representatives]
    codes, cuts = coded(people.columns, name), None
    if name in people.columns.numbers:
        cuts = edges_of(people.columns.numbers[name])

    def classed(columns: ConformedColumns) -> Array:
        array = np.asarray(columns.array(name), dtype=float)
        if cuts is None:
            return array
        return np.where(np.isnan(array), -1.0, np.searchsorted(cuts, array, side="left"))

    guess = np.array([_code(release, name, value) for value in values])
    if cuts is not None:
        guess = np.where(np.isnan(guess), -1.0, np.searchsorted(cuts, guess, side="left"))
    n, others = people.number, inputs.others
    outside = None
    if others is not None:
        right = guess[_closest_without(release, others.columns, place)] == classed(others.columns)
        outside = suppression.proportion(others.mean(right), others.number)
    truth = classed(people.columns)
    return GuessFinding(
        attribute=name,
        base_rate=suppression.proportion(max(people.mean(codes == code) for code in np.unique(codes).tolist()), n),
        closest=suppression.proportion(
            people.mean(guess[_closest_without(release, people.columns, place)] == truth), n
        ),
        group_known=suppression.proportion(people.mean(guess[groups] == truth), n),
        others=outside,
    )


def _code(release: SurrogateRelease, name: str, value: Any) -> float:
    attribute = release.domain[name]
    if value is None:
        return math.nan if isinstance(attribute, Integer | Real) else -1.0
    if isinstance(attribute, Category):
        return float(attribute.values.index(value))
    return float(value)


def _closest_without(release: SurrogateRelease, columns: ConformedColumns, place: int) -> Indices:
    """Return the closest representative of each record by the other attributes."""
    points = np.concatenate(
        [release.metric.embed_one(release.domain, release.representative(i)) for i in range(release.n_groups)]
    )
    records = release.metric.embed(columns)
    points[:, place] = 0.0
    records[:, place] = 0.0
    strata = release.provenance.strata
    own = strata if strata and release.domain.names.index(strata) != place else None
    return release.metric.closest(records, points, 1, release.domain, own)[:, 0]
