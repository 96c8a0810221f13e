"""What share of explanations is to say something, and the choice of k, depth and protocol by it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine.errors import InvalidParameterError, parameter
from glassine.records.arrays import Indices, Ints
from glassine.records.columns import ConformedColumns
from glassine.surrogates.explainer_values import UNCONSTRAINED, Contrast
from glassine.surrogates.explaining import Ask, changed, confirms
from glassine.surrogates.protocols import LADDER, Protocol
from glassine.surrogates.query_input import Record, row
from glassine.surrogates.surrogate_release import SurrogateRelease

MOST_MEASURED = 200
"""Most records on which shares are measured, evenly spaced: their interval of 95 % is at most 0.07 to each side."""

MORE_CLOSEST = 10
"""Closest representatives that a goal may have tried, where the publisher asks for fewer."""

SIZES = (1, 2, 4, 10)
"""By which factors k may be raised above the smallest that the publisher states."""

PROPOSED = 3
"""Changes that are measured of an explanation, as many as are shown by default."""

FEWEST_PROPOSED = 10
"""Fewest changes of which a confirmed share reaches a goal: one of a single change says nothing of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationGoal:
    """What share of explanations is to have a condition, and of proposed changes to be confirmed.

    Attributes
    ----------
    conditions : float
        Least share of explanations whose tree says anything of the record, in [0, 1].
    confirmed : float
        Least share of the changes that the release proposes without the black box, at most three an explanation, that
        the black box confirms, in [0, 1]. Where it is asked, only confirmed changes are shown as contrasts.

    Raises
    ------
    InvalidParameterError
        If a share lies outside [0, 1].

    Examples
    --------
    >>> ExplanationGoal(conditions=0.9)
    ExplanationGoal(conditions=0.9, confirmed=0.8)
    """

    conditions: float = 0.95
    confirmed: float = 0.8

    def __post_init__(self) -> None:
        for name in ("conditions", "confirmed"):
            value: object = getattr(self, name)
            value = value.item() if isinstance(value, np.generic) else value
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InvalidParameterError(
                    f"{parameter(name)} of a goal must be a share from 0 to 1, got {value!r}.",
                    remedy="For 95 %, use 0.95.",
                )
            object.__setattr__(self, name, float(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationShares:
    """What explanations of some records say.

    Attributes
    ----------
    n_records : int
        Records, or drawn queries, that were explained.
    conditions : float
        Share whose explanation has a condition.
    proposed : float
        Share for which the release proposes a change without the black box.
    confirmed : float or None
        Share of the proposed changes that the black box confirms; None where none is proposed.
    n_changes : int
        Proposed changes that the black box judged, at most three an explanation.
    """

    n_records: int
    conditions: float
    proposed: float
    confirmed: float | None
    n_changes: int

    def score(self, goal: ExplanationGoal) -> float:
        """Return how much of a goal is reached, 1 for all of it: the smaller of both ratios.

        The share of confirmed changes among fewer than ten reaches it only in part, in proportion to their number.
        """
        enough = min(1.0, self.n_changes / FEWEST_PROPOSED)
        ratios = [
            1.0 if not least else part * min(1.0, (share or 0.0) / least)
            for share, least, part in (
                (self.conditions, goal.conditions, 1.0),
                (self.confirmed, goal.confirmed, enough),
            )
        ]
        return min(ratios)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationChoice:
    """Which k, depth and protocol were chosen for a goal, and whether it is reached. Private without epsilon.

    Attributes
    ----------
    goal : ExplanationGoal
        The goal.
    k : int or None
        Fewest records, or people, of a group; None for a public partition.
    max_depth : int or None
        Largest depth of the trees.
    n_closest : int
        Closest representatives that are tried.
    protocol : Protocol
        How trees are chosen among them, and which changes are proposed.
    shares : ExplanationShares
        What was measured of the release.
    n_tried : int
        Combinations of k, depth and protocol that were measured.
    measured_on : {"records", "public queries"}
        What was explained: records behind the release, or queries drawn from the public domain.
    """

    goal: ExplanationGoal
    k: int | None
    max_depth: int | None
    n_closest: int
    protocol: Protocol
    shares: ExplanationShares
    n_tried: int
    measured_on: str

    @property
    def reached(self) -> bool:
        """Whether both shares are at least those of the goal."""
        return self.shares.score(self.goal) >= 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**dataclasses.asdict(self), "reached": self.reached}

    def __str__(self) -> str:
        shares, goal = self.shares, self.goal
        confirmed = (
            "no change is proposed"
            if shares.confirmed is None
            else f"{shares.proposed:.0%} propose a change, the black box confirms {shares.confirmed:.0%} of these"
        )
        return (
            f"Goal {'reached' if self.reached else 'not reached'}: {shares.conditions:.0%} of explanations have a "
            f"condition (goal {goal.conditions:.0%}), {confirmed} (goal {goal.confirmed:.0%}). "
            f"Measured on {shares.n_records:,} {self.measured_on}; "
            + ("" if self.k is None else f"k {self.k:,}, ")
            + f"depth {self.max_depth}, {self.n_closest} closest trees."
        )


class TriedRelease:
    """A release tried on some records, whose explanations the black box judges.

    Parameters
    ----------
    release : SurrogateRelease
        The release.
    columns : ConformedColumns
        The records, n of them; at most 200 are explained.
    answers : ndarray of int, shape (n,)
        Places of what the black box says of them.
    ask : callable
        Returns the black box's decisions on changed records. Each is asked once.
    """

    def __init__(self, release: SurrogateRelease, columns: ConformedColumns, answers: Ints, ask: Ask) -> None:
        n = columns.n_records
        at = np.arange(n) if n <= MOST_MEASURED else np.linspace(0, n - 1, MOST_MEASURED).astype(np.intp)
        self.release, self._ask = release, ask
        some = columns.take(at)
        self._records = [row(some, i) for i in range(len(at))]
        closest = min(max(release.n_closest, MORE_CLOSEST), release.n_groups)
        self._closest = release.closest(some, closest)
        self._agrees = release.answers.agree(release.decisions(some, self._closest), answers[at][:, None])
        self._splits = np.array([len(tree.nodes) > 1 for tree in release.trees])
        self._said: dict[tuple[Any, ...], Any] = {}
        self._contrasts: dict[tuple[Any, ...], list[tuple[int, Contrast]]] = {}

    def _chosen(self, n_closest: int, *, splits: bool) -> Indices:
        """Return the group whose tree explains each record, shape (n,)."""
        near, agrees = self._closest[:, :n_closest], self._agrees[:, :n_closest]
        first = agrees.argmax(axis=1)
        if splits:
            both = agrees & self._splits[near]
            first = np.where(both.any(axis=1), both.argmax(axis=1), first)
        return np.asarray(near[np.arange(len(near)), first])

    def conditions(self, n_closest: int, *, splits: bool) -> float:
        """Return the share of the explanations that have a condition."""
        return float(self._splits[self._chosen(n_closest, splits=splits)].mean())

    def shares(self, n_closest: int, protocol: Protocol) -> ExplanationShares:
        """Return what the explanations by a protocol say."""
        chosen = self._chosen(n_closest, splits=protocol.splits)
        changes = self._changes(n_closest, protocol)
        if protocol.votes:
            voted = self.release.voted
            changes = [(i, one) for i, one in changes if voted(self._records[i], one, UNCONSTRAINED, protocol.votes)]
        proposed: list[tuple[int, Contrast]] = []
        many: dict[int, int] = {}
        for i, one in changes:
            many[i] = many.get(i, 0) + 1
            if many[i] <= PROPOSED:
                proposed.append((i, one))
        right = self._confirmed(proposed)
        return ExplanationShares(
            n_records=len(self._records),
            conditions=float(self._splits[chosen].mean()),
            proposed=len(many) / len(self._records),
            confirmed=float(np.mean(right)) if right else None,
            n_changes=len(right),
        )

    def _changes(self, n_closest: int, protocol: Protocol) -> list[tuple[int, Contrast]]:
        """Return the changes that the chosen trees propose, with the place of the record, the nearest first."""
        key = (n_closest, protocol.splits, protocol.margin)
        if key not in self._contrasts:
            chosen = self._chosen(n_closest, splits=protocol.splits)
            self._contrasts[key] = [
                (i, one)
                for i, group in enumerate(chosen.tolist())
                if self._splits[group]
                for one in self.release.changes(self._records[i], group, UNCONSTRAINED, (protocol.margin,))
            ]
        return self._contrasts[key]

    def _confirmed(self, proposed: Sequence[tuple[int, Contrast]]) -> list[bool]:
        """Return whether the black box confirms changes; what was asked before is not asked again."""
        after = [changed(self._records[i], one) for i, one in proposed]
        keys = [tuple(record.values()) for record in after]
        new: dict[tuple[Any, ...], Record] = {
            key: record for key, record in zip(keys, after, strict=True) if key not in self._said
        }
        if new:
            self._said.update(zip(new, self._ask(list(new.values())), strict=True))
        return [
            confirms(self.release, one, self._said[key], UNCONSTRAINED)
            for (_, one), key in zip(proposed, keys, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Measured:
    """A combination that was measured."""

    release: SurrogateRelease
    n_closest: int
    protocol: Protocol
    shares: ExplanationShares


def protocol_for(trial: TriedRelease, goal: ExplanationGoal) -> list[_Measured]:
    """Return the protocols that were measured of a release, in order: the first that reaches a goal is the last."""
    out: list[_Measured] = []
    release = trial.release
    tried = list(dict.fromkeys((release.n_closest, max(release.n_closest, MORE_CLOSEST))))
    for n_closest in tried:
        for protocol in LADDER:
            # Where too few have a condition no further protocol helps, but a larger number of trees.
            if trial.conditions(n_closest, splits=protocol.splits) < goal.conditions and not (
                n_closest == tried[-1] and protocol.splits
            ):
                continue
            shares = trial.shares(n_closest, protocol)
            out.append(_Measured(release=release, n_closest=n_closest, protocol=protocol, shares=shares))
            if shares.score(goal) >= 1.0:
                return out
    return out


def choose(
    sizes: Sequence[int | None],
    depths: Callable[[int | None], Sequence[int | None]],
    tried: Callable[[int | None, int | None], TriedRelease],
    goal: ExplanationGoal,
    measured_on: str,
) -> tuple[SurrogateRelease, ExplanationChoice]:
    """Return the release of the first k, depth and protocol that reach a goal, or of those that come closest.

    Parameters
    ----------
    sizes : sequence of int or None
        Sizes of groups, the smallest first; None alone for a public partition.
    depths : callable
        Returns for a size the depths, the first of them that of the form.
    tried : callable
        Returns the trial of a size and depth.
    goal : ExplanationGoal
        The goal.
    measured_on : str
        What is explained.
    """
    measured: list[tuple[int | None, int | None, _Measured]] = []
    for k in sizes:
        for depth in depths(k):
            measured += [(k, depth, one) for one in protocol_for(tried(k, depth), goal)]
            if measured and measured[-1][2].shares.score(goal) >= 1.0:
                break
        # A larger group has more conditions. What else a goal lacks, it does not bring.
        if any(one.shares.conditions >= goal.conditions for _, _, one in measured):
            break
    scores = [one.shares.score(goal) for _, _, one in measured]
    k, depth, best = measured[int(np.argmax(scores))]
    release = replace(best.release, n_closest=best.n_closest, protocol=best.protocol)
    return release, ExplanationChoice(
        goal=goal,
        k=k,
        max_depth=depth,
        n_closest=best.n_closest,
        protocol=best.protocol,
        shares=best.shares,
        n_tried=len(measured),
        measured_on=measured_on,
    )
