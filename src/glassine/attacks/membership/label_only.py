"""The label-only attack: how far a record may change before the model's class of it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import narwhals as nw
import numpy as np

from glassine.attacks.membership.gap import (
    MAX_RECORDS,
    answered,
    gap_figure,
    known_sides,
    read_sides,
    setting_of,
    some_of,
)
from glassine.attacks.membership.outputs import Answers, LabelledRecords, answers, attempt, published
from glassine.attacks.membership.result import MembershipResult, Shift
from glassine.attacks.membership.score_thresholds import judge_scores
from glassine.attacks.outcome import Outcome
from glassine.data.labels import Sample
from glassine.errors import InvalidDataError, InvalidParameterError, check_whole, parameter
from glassine.models.evidence import cell_labels
from glassine.records.arrays import Array, Bools, Indices

MOST_TREES = 100
"""Trees of an ensemble above which fewer records are attacked: each copy of each record asks every tree."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """How the label-only attack changes records.

    Attributes
    ----------
    n_copies : int, default=16
        Changed copies of each record, each of which costs a question to the model; at least 1.
    share : float, default=0.25
        Chance that an attribute of a copy takes the value of a record drawn at random, in (0, 1].
    together : sequence of sequences of str or int, default=()
        Columns that are replaced together, by name or by position in an array, such as the dummies of one category:
        a copy then never holds two categories at once.

    Raises
    ------
    InvalidParameterError
        If a value lies outside its range, or a column is named twice.

    Examples
    --------
    >>> Perturbation(n_copies=8, together=(("red", "green", "blue"),)).share
    0.25
    """

    n_copies: int = 16
    share: float = 0.25
    together: Sequence[Sequence[str | int]] = ()

    def __post_init__(self) -> None:
        check_whole(self.n_copies, "n_copies", 1)
        if not 0 < self.share <= 1:
            raise InvalidParameterError(
                f"{parameter('share')} must lie above 0 and be at most 1, got {self.share!r}.", remedy="Use 0.25."
            )
        named = [column for group in self.together for column in group]
        if len(set(named)) < len(named):
            raise InvalidParameterError(
                f"{parameter('together')} names a column twice.", remedy="Put each column into one group at most."
            )


def label_only_attack(
    model: object,
    members: Sample | LabelledRecords,
    nonmembers: Sample | LabelledRecords,
    perturbation: Perturbation | None = None,
    *,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    shift: Shift | None = None,
) -> Outcome[MembershipResult]:
    """Call a record a member if the model keeps its class while its attributes change.

    A model that has fitted a record itself gives its class in a small neighborhood; one that has learned the population
    gives it in a large one. The attacker changes each record at random, asks for classes alone, and scores the record
    by the share of its copies with the right class. A record that is itself classified wrongly scores 0. The threshold
    on the score is cross-fitted. Of more than 10,000 records or people of a side, that many are drawn, and a note says
    so; of an ensemble of t > 100 trees, of more than 10,000 * 100 / t.

    An attribute changes to the value of another record of those under attack, so that every value is one that occurs.
    This is the attack by random noise of the paper, whose bits flip with a probability. Its search
    for the decision boundary needs a continuum, which binary attributes lack.

    Parameters
    ----------
    model : fitted classifier, DecisionTree or RuleList
        The model under attack; it is asked for the classes of ``n_copies + 1`` versions of each record.
    members, nonmembers : Sample
        Training records, and records that were not used for training, with their classes.
    perturbation : Perturbation, optional
        How records change; by default 16 copies, each attribute with probability 1/4.
    random_state : int, numpy.random.Generator or None, default=None
        Makes copies, folds and permutations repeatable.
    confidence, shift
        As for :func:`~glassine.attacks.gap_attack`.

    Returns
    -------
    Measured of MembershipResult, NotApplicable or Failed
        Not applicable to a regression; failed where the model raises an error.

    Raises
    ------
    InvalidDataError
        If the data are empty, lack a column that changes together with others, or hold a class that the model does not
        know.
    InvalidParameterError
        If a parameter lies outside its range.

    References
    ----------
    Choquette-Choo, Tramèr, Carlini, Papernot: Label-only membership inference attacks, 2021, section 4.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[:200], y[:200])
    >>> found = label_only_attack(tree, Sample(X[:200], y[:200]), Sample(X[200:], y[200:]), random_state=0).value
    >>> found.detected, found.gap.value
    (True, 0.7675)
    """
    setting = setting_of(confidence, random_state, shift)
    inside, outside = read_sides(members, nonmembers)
    how = perturbation or Perturbation()
    groups = _groups(inside, how)

    def work() -> MembershipResult:
        trees = getattr(model, "n_trees", 1)
        most = None if trees <= MOST_TREES else MAX_RECORDS * MOST_TREES // trees
        some = [some_of(side, setting.rng, most) for side in (inside, outside)]
        sides, true_sides = answered(model, some[0], some[1]), known_sides(model, some[0], some[1])
        pool = true_sides[0].join(true_sides[1])
        # A fitted model may have the columns in another order, or fewer of them.
        own = groups if pool.names is None else groups[[(inside.names or ()).index(name) for name in pool.names]]
        correct, own = _judge(model, pool, np.concatenate([side.truth for side in sides]), own)
        robustness, streams = np.zeros(len(pool.target)), setting.rng.spawn(int(groups.max()) + 1)
        for _ in range(how.n_copies):
            robustness += correct(_origins(len(robustness), own, how.share, streams))
        m = len(sides[0].truth)
        scores = [
            _scores(side, part, how.n_copies)
            for side, part in zip(sides, (robustness[:m], robustness[m:]), strict=True)
        ]
        return judge_scores(
            "label-only attack",
            sides[0].mean(scores[0]),
            sides[1].mean(scores[1]),
            setting,
            gap=gap_figure(sides[0], sides[1], setting.confidence),
            notes=drawn_from(some, (inside, outside)),
        )

    return attempt(work)


def drawn_from(some: Sequence[LabelledRecords], sides: Sequence[LabelledRecords]) -> tuple[str, ...]:
    """Return the note that not all records or people of a side were attacked; none if all were."""
    if all(part.number == side.number for part, side in zip(some, sides, strict=True)):
        return ()
    numbers = [f"{part.number:,} of {side.number:,}" for part, side in zip(some, sides, strict=True)]
    return (f"The attack was made on {numbers[0]} members and {numbers[1]} non-members, drawn at random.",)


def _scores(side: Answers, robustness: Array, n_copies: int) -> Array:
    """Return the share of each record's versions, itself among them, with its class; 0 where its own is wrong."""
    return np.asarray(side.correct * (robustness + 1) / (n_copies + 1))


def _groups(records: LabelledRecords, how: Perturbation) -> Indices:
    """Return the group of each column, shape (d,): columns of one group are replaced together."""
    names: Sequence[str | int] = records.names or range(records.width)
    place = {name: i for i, name in enumerate(names)}
    groups = np.arange(len(place))
    for number, group in enumerate(how.together):
        for column in group:
            if column not in place:
                raise InvalidDataError(
                    f"the data lack the column {column!r} that changes together with others.",
                    remedy=f"Add it, or leave it out of {parameter('together')}.",
                )
            groups[place[column]] = len(place) + number
    return np.unique(groups, return_inverse=True)[1]


def _origins(n: int, groups: Indices, share: float, streams: Sequence[np.random.Generator]) -> Indices:
    """Return the record that each column of one changed copy of each record comes from, shape (n, d)."""
    # Each group of columns is a record's own, or that of a record drawn at random. It has a stream of its own, so that
    # columns change alike whether others do or not.
    kinds, places = np.unique(groups, return_inverse=True)
    own = np.arange(n)
    drawn = [np.where(streams[kind].random(n) < share, streams[kind].integers(n, size=n), own) for kind in kinds]
    return np.stack(drawn, axis=1)[:, places]


def _judge(
    model: object, pool: LabelledRecords, truth: Indices, groups: Indices
) -> tuple[Callable[[Indices], Bools], Indices]:
    """Return what says of changed copies, by their origins, which have the class of their record; and what changes.

    The second, shape (d,), has the group of each column that is changed: of a published model the columns that it
    tests, and its probabilities are not asked for.
    """
    plain = published(model)
    if plain is None:
        return (lambda origins: answers(model, _changed(pool, origins)).correct), groups
    labels, columns = cell_labels(plain), pool.columns(plain.attributes)
    tested = plain.tested or tuple(columns)[:1]
    places = [list(columns).index(name) for name in tested]

    def correct(origins: Indices) -> Bools:
        changed = {name: columns[name][origins[:, i]] for i, name in enumerate(tested)}
        return np.asarray(labels[pool.apply(plain, changed)] == truth)

    return correct, groups[places]


def _changed(pool: LabelledRecords, origins: Indices) -> LabelledRecords:
    """Return changed copies of the records, by the origins of their columns."""
    if isinstance(pool.native, np.ndarray):
        return replace(pool, native=np.take_along_axis(pool.native, origins, axis=0))
    frame = nw.from_native(pool.native, eager_only=True)
    changed = frame.with_columns(*(frame[name][origins[:, i]] for i, name in enumerate(frame.columns)))
    return replace(pool, native=changed.to_native())
