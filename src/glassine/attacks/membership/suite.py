"""All membership attacks that apply to a model, in one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassine.attacks.membership.attack_model import black_box_attack, compare_losses, loss_attack
from glassine.attacks.membership.confidence_intervals import check_confidence
from glassine.attacks.membership.counts import count_attack
from glassine.attacks.membership.gap import gap_attack, holdout_shift, read_sides, setting_of
from glassine.attacks.membership.label_only import label_only_attack
from glassine.attacks.membership.leaf_outcomes import leaf_outcome_attack
from glassine.attacks.membership.likelihood_ratios import judged, likelihood_ratio, relative_ratio
from glassine.attacks.membership.matching import codes_of_rows
from glassine.attacks.membership.midpoint import MidpointResult, midpoint_attack
from glassine.attacks.membership.outputs import LabelledRecords, generator
from glassine.attacks.membership.result import LossComparison, MembershipResult, Shift, plain
from glassine.attacks.membership.score_thresholds import N_PERMUTATIONS
from glassine.attacks.membership.shadows import Mode, Shadows, shadow_answers
from glassine.attacks.outcome import Measured, Outcome
from glassine.attacks.overfitting import Vulnerability, vulnerability
from glassine.data.labels import Sample
from glassine.errors import InvalidParameterError, parameter
from glassine.exports import DisplayedToCheckers
from glassine.records.arrays import Bools, Indices, Ints

N_DEALS = 199
SMALLEST_SHARE = 0.005
"""Smallest share of the holdout, beyond what chance explains, that matters to an attack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap(DisplayedToCheckers):
    """How many records of a holdout equal a member.

    Attributes
    ----------
    n_shared : int
        Holdout records that equal a member in every column and in class; of people, those with such a record.
    expected : float
        Their mean number if the same records were dealt to both sides at random. Of a dataset with duplicates
        some would be shared; of a copy of the members only half would.
    n_nonmembers : int
        Number of holdout records.
    suspicious : bool
        Whether more are shared than in each of 199 deals, and by at least half a percent of the holdout.
    """

    n_shared: int
    expected: float
    n_nonmembers: int
    suspicious: bool

    @property
    def statement(self) -> str:
        """What the figures say, in a sentence, with shares in place of counts."""
        shared, dealt = self.n_shared / self.n_nonmembers, self.expected / self.n_nonmembers
        if not self.n_shared:
            return "No record of the holdout equals a member."
        figures = (
            f"{shared:.1%} of the holdout's records equal a member in every column and in class; "
            f"{dealt:.1%} would if the same records were dealt to both sides at random"
        )
        if self.suspicious:
            return f"The holdout seems to hold members: {figures}. Take a holdout that was not used for training."
        return f"{figures}: no more than duplicates explain."


def overlap(members: Sample | LabelledRecords, nonmembers: Sample | LabelledRecords) -> Overlap:
    """Count the records of a holdout that equal a member, and compare with what duplicates explain.

    An attack that is tested on members in the place of non-members cannot distinguish them: the holdout then hides what
    the model gives away. Equal records also occur by nature, where there are few columns of few values. So the records
    of both sides are dealt again, at random, 199 times, and counted again.

    Parameters
    ----------
    members, nonmembers : Sample
        Members and non-members, with their classes.

    Returns
    -------
    Overlap
        Counts, and whether they are suspicious. The deals are always the same.

    Raises
    ------
    InvalidDataError
        If the data are empty or lack a column.

    Notes
    -----
    Where nearly every record has its like on both sides, as with a few binary columns, a copy of the members looks like
    any other sample: this test cannot see it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    >>> overlap(Sample(X[:100], y[:100]), Sample(X[100:], y[100:])).n_shared
    0
    >>> overlap(Sample(X[:100], y[:100]), Sample(X[50:150], y[50:150])).suspicious
    True
    """
    inside, outside = read_sides(members, nonmembers)
    return overlap_of(inside, outside)


def overlap_of(inside: LabelledRecords, outside: LabelledRecords) -> Overlap:
    """Return the overlap of members and non-members that were read already."""
    codes = codes_of_rows(inside.join(outside), with_target=True)
    m, n = inside.number, outside.number
    # The person of each record, members first: the same people, with all their records, are dealt anew.
    whose = np.concatenate([inside.whose, inside.number + outside.whose])
    # A record without its like is shared in no deal.
    several = np.bincount(codes)[codes] > 1
    codes, whose = codes[several], whose[several]
    alone = inside.persons is None
    shared = _shared(codes, whose < m, whose, alone=alone)
    rng = np.random.default_rng(0)
    dealt = np.zeros(N_DEALS if shared else 0)
    # Of those whose records have their like, as many are dealt to the members as of all together.
    some, places = np.unique(whose, return_inverse=True)
    for deal in range(len(dealt)):
        member = np.zeros(len(some), dtype=bool)
        member[rng.permutation(len(some))[: rng.hypergeometric(len(some), m + n - len(some), m)]] = True
        dealt[deal] = _shared(codes, member[places], places, alone=alone)
    expected = float(dealt.mean()) if shared else 0.0
    return Overlap(
        n_shared=shared,
        expected=expected,
        n_nonmembers=n,
        suspicious=bool(shared and shared > dealt.max() and shared - expected >= SMALLEST_SHARE * n),
    )


def _shared(codes: Indices, member: Bools, whose: Ints, *, alone: bool) -> int:
    """Return how many non-members, people or records, have a record that equals a member's."""
    # Where each record is alone in whose it is, none is counted twice.
    if not len(codes):
        return 0
    present = np.zeros(int(codes.max()) + 1, dtype=bool)
    present[codes[member]] = True
    among = ~member & present[codes]
    return int(among.sum()) if alone else len(np.unique(whose[among]))


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipAttacks(DisplayedToCheckers):
    """What each membership attack on a model found.

    Attributes
    ----------
    n_members, n_nonmembers : int
        Numbers of records given; of people, where persons are stated.
    confidence : float
        Confidence of every interval.
    overlap : Overlap
        Whether the holdout seems to hold members.
    shift : Outcome of Shift
        Whether members and holdout differ without the model.
    gap : Outcome of MembershipResult
        Gap attack: a record that the model classifies correctly is called a member.
    best_loss : Outcome of MembershipResult
        Threshold on the model's loss.
    black_box : Outcome of MembershipResult
        Random forest on the model's outputs.
    label_only : Outcome of MembershipResult
        Share of changed copies of a record that keep its class.
    lira_online, lira_offline : Outcome of MembershipResult
        Likelihood ratio with shadow models; both need a learner.
    rmia_online, rmia_offline : Outcome of MembershipResult
        RMIA with the same shadow models.
    leaf_outcomes : Outcome of MembershipResult
        Published shares of leaf and outcome against those of other people.
    counts : Outcome of MembershipResult
        Likelihood of the counts that an additive model publishes.
    midpoint : Outcome of MidpointResult
        Records that a tree's thresholds give away.
    vulnerability : Outcome of Vulnerability
        Distributional overfitting over leaves, rules or predictions.
    losses : Outcome of LossComparison
        Whether the losses of members and of non-members come from one distribution.
    """

    n_members: int
    n_nonmembers: int
    confidence: float
    overlap: Overlap
    shift: Outcome[Shift]
    gap: Outcome[MembershipResult]
    best_loss: Outcome[MembershipResult]
    black_box: Outcome[MembershipResult]
    label_only: Outcome[MembershipResult]
    lira_online: Outcome[MembershipResult]
    lira_offline: Outcome[MembershipResult]
    rmia_online: Outcome[MembershipResult]
    rmia_offline: Outcome[MembershipResult]
    leaf_outcomes: Outcome[MembershipResult]
    counts: Outcome[MembershipResult]
    midpoint: Outcome[MidpointResult]
    vulnerability: Outcome[Vulnerability]
    losses: Outcome[LossComparison]

    @property
    def results(self) -> tuple[MembershipResult, ...]:
        """The results of the attacks that call each record a member or not."""
        outcomes = (getattr(self, field.name) for field in dataclasses.fields(self))
        values = (outcome.value for outcome in outcomes if isinstance(outcome, Measured))
        return tuple(value for value in values if isinstance(value, MembershipResult))

    @property
    def strongest(self) -> MembershipResult | MidpointResult | None:
        """The result of the largest advantage; None where no advantage was measured.

        It is the largest of several, so its own interval is a little too narrow.
        """
        made: list[MembershipResult | MidpointResult] = list(self.results)
        if isinstance(self.midpoint, Measured) and self.midpoint.value.advantage is not None:
            made.append(self.midpoint.value)
        return max(made, key=_strength, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON; each outcome has a status."""
        return {field.name: plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def __repr__(self) -> str:
        detected = [result.attack for result in self.results if result.detected]
        return f"<MembershipAttacks: {', '.join(detected) if detected else 'none'} detected members>"


def _strength(result: MembershipResult | MidpointResult) -> tuple[float, float]:
    """Return the displayed advantage of an attack, then its lower bound to break ties."""
    advantage = result.advantage
    return (-1.0, -1.0) if advantage is None else (round(advantage.value, 3), advantage.low)


def attack_membership(
    model: object,
    data: object,
    target: object = None,
    *,
    holdout: Sample | LabelledRecords,
    shadows: Shadows | None = None,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MembershipAttacks:
    """Run every membership attack that applies to a model.

    Parameters
    ----------
    model : fitted classifier, DecisionTree, RuleList or AdditiveModel
        The model under attack: anything with ``predict``, or what Glassine published.
    data : data frame, array-like of shape (n, d), or Sample
        The training records.
    target : array-like of shape (n,), or str, optional
        Their classes, or the column that holds them; a Sample has its own.
    holdout : Sample
        Records of the same population that were not used for training, with their classes. Where it and the data are
        samples that state persons, membership is judged by person: see Notes.
    shadows : Shadows, optional
        How shadow models are trained, for both modes of LiRA and of RMIA; without it they do not apply.
    confidence : float, default=0.95
        Confidence of every interval, in (0, 1).
    random_state : int, numpy.random.Generator or None, default=None
        Makes splits, permutations and shadow models repeatable.
    progress : callable, optional
        Called with the number of steps done and of all steps.

    Returns
    -------
    MembershipAttacks
        An outcome for each attack.

    Raises
    ------
    InvalidDataError
        If the data lack a column or a class, are empty, hold a class that the model does not know, or the two sets
        have different columns; if a record has no identifier, or people have records in both sets.
    InvalidParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Where persons are stated, the unit of every rate, interval, permutation and split is the person. A person's score is
    the mean of the scores of their records, as in attacks on users and data subjects; the mean stays on the scale of
    one record however many there are, where a maximum would grow with their number. The gap attack calls a person a
    member if all their records are classified correctly. How many records a person has is an attribute of the test of
    shift, because it may differ between the sides without the model.

    References
    ----------
    Kandpal, Pillutla, Oprea, Kairouz, Choquette-Choo, Xu: User inference attacks on large language models, 2023; Suri,
    Kanani, Marathe, Peterson: Subject membership inference attacks in federated learning, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[:200], y[:200])
    >>> found = attack_membership(tree, X[:200], y[:200], holdout=Sample(X[200:], y[200:]), random_state=0)
    >>> found.gap.value.tpr.value, round(found.gap.value.advantage.value, 3)
    (1.0, 0.535)
    """
    confidence = check_confidence(confidence)
    if progress is not None and not callable(progress):
        raise InvalidParameterError(f"{parameter('progress')} must be callable or None, got {type(progress).__name__}.")
    rng = generator(random_state)
    if isinstance(data, Sample | LabelledRecords):
        if target is not None:
            raise InvalidParameterError(
                f"{parameter('target')} must be None where the data is a sample, which has its own."
            )
        members = data
    else:
        members = Sample(data, target)
    sides = inside, outside = read_sides(members, holdout)
    steps = _Steps(progress, 9 + (0 if shadows is None else shadows.n_shadows))
    shift = steps.of(holdout_shift(*sides, random_state=rng))
    common: dict[str, Any] = {"confidence": confidence, "random_state": rng}
    common["shift"] = shift.value if isinstance(shift, Measured) else None
    gap = steps.of(gap_attack(model, *sides, **common))
    best_loss = steps.of(loss_attack(model, *sides, **common))
    black_box = steps.of(black_box_attack(model, *sides, **common))
    answered = shadow_answers(model, *sides, shadows, rng, steps.inner())
    setting = setting_of(confidence, rng, common["shift"])
    by_mode: dict[Mode, tuple[Outcome[MembershipResult], ...]] = {
        mode: tuple(judged(judge, answered, mode, setting) for judge in (likelihood_ratio, relative_ratio))
        for mode in ("online", "offline")
    }
    truth = [True] * len(inside.target) + [False] * len(outside.target)
    named = steps.of(midpoint_attack(model, inside.join(outside), truth=truth, confidence=confidence, random_state=rng))
    overfitting = steps.of(
        vulnerability(model, *sides, n_permutations=N_PERMUTATIONS, confidence=confidence, random_state=rng)
    )
    return MembershipAttacks(
        n_members=inside.number,
        n_nonmembers=outside.number,
        confidence=confidence,
        overlap=overlap_of(inside, outside),
        shift=shift,
        gap=gap,
        best_loss=best_loss,
        black_box=black_box,
        label_only=steps.of(label_only_attack(model, *sides, **common)),
        lira_online=by_mode["online"][0],
        lira_offline=by_mode["offline"][0],
        rmia_online=by_mode["online"][1],
        rmia_offline=by_mode["offline"][1],
        leaf_outcomes=steps.of(leaf_outcome_attack(model, *sides, **common)),
        counts=steps.of(count_attack(model, *sides, **common)),
        midpoint=named,
        vulnerability=overfitting,
        losses=compare_losses(model, *sides),
    )


class _Steps:
    """Counts the steps of the suite for a display of progress."""

    def __init__(self, report: Callable[[int, int], None] | None, total: int) -> None:
        self.report, self.total, self.done = report, total, 0

    def _advance(self) -> None:
        self.done = min(self.done + 1, self.total)
        if self.report is not None:
            self.report(self.done, self.total)

    def of(self, outcome: object) -> Any:
        """Count one step, and hand the outcome on."""
        self._advance()
        return outcome

    def inner(self) -> Callable[[int, int], None]:
        """Return what counts each step of an attack that reports its own."""
        return lambda done, total: self._advance()
