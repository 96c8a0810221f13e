"""How far members and non-members of a class fall into different parts of a model, counted by records or people."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from glassine.attacks.membership.confidence_intervals import Estimate, normal_quantile
from glassine.records.arrays import Array, Bools, Indices, Ints

Counts = Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOverfitting:
    """Distributional overfitting of the records of one class.

    Attributes
    ----------
    label : str
        The class.
    n_members, n_nonmembers : int
        Numbers of records.
    share : float
        Weight of the class: the mean of its shares among members and among non-members, classes of one side left out.
    tau : float
        Total variation distance between where members and where non-members of the class fall, in [0, 1].
    """

    label: str
    n_members: int
    n_nonmembers: int
    share: float
    tau: float


@dataclass(frozen=True, slots=True)
class Counted:
    """Class, part and membership of each record, and its person where people are counted; each of shape (n,)."""

    labels: Indices
    parts: Indices
    member: Bools
    whose: Ints | None

    def take(self, rows: Indices) -> Counted:
        """Return some of the records; a person of whom none is left does not count."""
        whose = None if self.whose is None else np.unique(self.whose[rows], return_inverse=True)[1].astype(np.int64)
        return Counted(self.labels[rows], self.parts[rows], self.member[rows], whose)

    @property
    def table(self) -> _ClassCounts | _PeopleTable:
        """Records, or people, by class and part."""
        if self.whose is None:
            return _ClassCounts.of(self.labels, self.parts, self.member)
        return _PeopleTable.of(self.labels, self.parts, self.member, self.whose)

    def number(self, side: Bools) -> int:
        """Return how many records, or people, there are on a side, shape (n,)."""
        return int(side.sum()) if self.whose is None else len(np.unique(self.whose[side]))


@dataclass(frozen=True, slots=True)
class _ClassCounts:
    """Numbers of members and of non-members by class and part, shape (classes, parts) each."""

    inside: Counts | Array
    outside: Counts | Array

    @classmethod
    def of(cls, labels: Indices, parts: Indices, member: Bools) -> _ClassCounts:
        parts = np.unique(parts, return_inverse=True)[1]
        shape = (int(labels.max()) + 1, int(parts.max()) + 1)
        sides = []
        for mask in (member, ~member):
            counts = np.zeros(shape, dtype=np.int64)
            np.add.at(counts, (labels[mask], parts[mask]), 1)
            sides.append(counts)
        return cls(*sides)

    @property
    def totals(self) -> tuple[Counts | Array, Counts | Array]:
        """Numbers of members and of non-members of each class."""
        return self.inside.sum(axis=1), self.outside.sum(axis=1)

    @property
    def weights(self) -> Array:
        """Weight of each class; 0 for those that one side lacks."""
        m, n = self.totals
        both = (m > 0) & (n > 0)
        if not both.any():
            return np.zeros(len(m))
        return np.where(both, (m / m[both].sum() + n / n[both].sum()) / 2, 0.0)

    @property
    def taus(self) -> Array:
        """Total variation distance of each class; 0 for those that one side lacks."""
        return _taus(self.inside, self.outside)

    def described(self, names: list[str]) -> tuple[LabelOverfitting, ...]:
        """Return tau of each class that both sides have."""
        (m, n), weights, taus = self.totals, self.weights, self.taus
        return tuple(
            LabelOverfitting(
                label=names[y], n_members=int(m[y]), n_nonmembers=int(n[y]), share=float(weights[y]), tau=float(taus[y])
            )
            for y in np.flatnonzero(weights)
        )

    def estimate(
        self, confidence: float, n_permutations: int, rng: np.random.Generator
    ) -> tuple[Estimate, float, float]:
        """Return V with its interval, its mean under permuted membership, and the p-value."""
        permuted = self._permuted(n_permutations, rng)
        errors = self._bootstrap(max(n_permutations, 200), rng)
        return _tested(_value(self), permuted, errors, confidence, "bootstrap, the bias bounded")

    def _permuted(self, n_draws: int, rng: np.random.Generator) -> Array:
        """Return V with membership permuted within each class: a draw without replacement from each row of counts."""
        value = np.full(n_draws, 0.5)
        for y in np.flatnonzero(self.weights):
            both = self.inside[y] + self.outside[y]
            occupied = both[both > 0]
            for part in _chunks(n_draws, len(occupied)):
                size = part.stop - part.start
                drawn = rng.multivariate_hypergeometric(
                    occupied, int(self.inside[y].sum()), size=size, method="marginals"
                )
                value[part] += 0.5 * self.weights[y] * _taus(drawn, occupied - drawn)
        return value

    def _bootstrap(self, n_draws: int, rng: np.random.Generator) -> tuple[float, float]:
        """Return the mean absolute noise of V, an upper bound on its bias, and its standard deviation."""
        noise, values = np.zeros(n_draws), np.zeros(n_draws)
        for y in np.flatnonzero(self.weights):
            occupied = (self.inside[y] + self.outside[y]) > 0
            sides = [side[y][occupied] for side in (self.inside, self.outside)]
            shares = [side / side.sum() for side in sides]
            for part in _chunks(n_draws, int(occupied.sum())):
                size = part.stop - part.start
                first, second = (
                    rng.multinomial(int(side.sum()), share, size=size) / side.sum()
                    for side, share in zip(sides, shares, strict=True)
                )
                differences = first - second
                noise[part] += 0.25 * self.weights[y] * np.abs(differences - (shares[0] - shares[1])).sum(axis=1)
                values[part] += 0.25 * self.weights[y] * np.abs(differences).sum(axis=1)
        return float(noise.mean()), float(values.std(ddof=1))


@dataclass(frozen=True, slots=True)
class _PeopleTable:
    """Records by class and part, with whose they are: every person counts once, and is drawn with all their records."""

    cells: Indices  # Class and part of each record, as one number; shape (n,)
    whose: Ints  # The person of each record; shape (n,)
    weights_of: Array  # What each record counts: 1 / number of records of its person; shape (n,)
    member: Bools  # Who is a member; shape (people,)
    shape: tuple[int, int]  # Numbers of classes and of parts

    @classmethod
    def of(cls, labels: Indices, parts: Indices, member: Bools, whose: Ints) -> _PeopleTable:
        parts = np.unique(parts, return_inverse=True)[1]
        shape = (int(labels.max()) + 1, int(parts.max()) + 1)
        people = np.zeros(int(whose.max()) + 1, dtype=bool)
        people[whose[member]] = True
        weights = 1.0 / np.bincount(whose)[whose]
        return cls(labels * shape[1] + parts, whose, weights, people, shape)

    def _sides(self, times: Array) -> tuple[Array, Array]:
        """Return the weight of members and of non-members by class and part, each person taken so many times."""
        out = []
        for side in (self.member, ~self.member):
            weights = self.weights_of * (times * side)[self.whose]
            counts = np.bincount(self.cells, weights=weights, minlength=self.shape[0] * self.shape[1])
            out.append(counts.astype(np.float64).reshape(self.shape))
        return out[0], out[1]

    @property
    def table(self) -> _ClassCounts:
        """Members and non-members by class and part."""
        return _ClassCounts(*self._sides(np.ones(len(self.member))))

    @property
    def weights(self) -> Array:
        """Weight of each class; 0 for those that one side lacks."""
        return self.table.weights

    def described(self, names: list[str]) -> tuple[LabelOverfitting, ...]:
        """Return tau of each class that both sides have, with the people who have a record of it."""
        weights, taus = self.table.weights, self.table.taus
        label = self.cells // self.shape[1]
        out = []
        for y in np.flatnonzero(weights):
            people = self.member[np.unique(self.whose[label == y])]
            out.append(
                LabelOverfitting(
                    label=names[y],
                    n_members=int(people.sum()),
                    n_nonmembers=int((~people).sum()),
                    share=float(weights[y]),
                    tau=float(taus[y]),
                )
            )
        return tuple(out)

    def estimate(
        self, confidence: float, n_permutations: int, rng: np.random.Generator
    ) -> tuple[Estimate, float, float]:
        """Return V with its interval, its mean where membership of people is permuted, and the p-value."""
        draws = (replace(self, member=rng.permutation(self.member)) for _ in range(n_permutations))
        permuted = np.array([_value(draw.table) for draw in draws])
        errors = self._bootstrap(max(n_permutations, 200), rng)
        return _tested(_value(self.table), permuted, errors, confidence, "bootstrap of people, the bias bounded")

    def _bootstrap(self, n_draws: int, rng: np.random.Generator) -> tuple[float, float]:
        """Return the mean absolute noise of V, an upper bound on its bias, and its standard deviation."""
        table = self.table
        noise, values = np.zeros(n_draws), np.zeros(n_draws)
        own = [_shares(side) for side in (table.inside, table.outside)]
        for draw in range(n_draws):
            times = np.zeros(len(self.member))
            for side in (self.member, ~self.member):
                people = np.flatnonzero(side)
                np.add.at(times, rng.choice(people, len(people)), 1.0)
            first, second = (_shares(side) for side in self._sides(times))
            differences = first - second
            noise[draw] = 0.25 * table.weights @ np.abs(differences - (own[0] - own[1])).sum(axis=1)
            values[draw] = 0.25 * table.weights @ np.abs(differences).sum(axis=1)
        return float(noise.mean()), float(values.std(ddof=1))


def _value(table: _ClassCounts) -> float:
    return float(0.5 + 0.5 * table.weights @ table.taus)


def _tested(
    value: float, permuted: Array, errors: tuple[float, float], confidence: float, method: str
) -> tuple[Estimate, float, float]:
    """Return V with its interval, its mean under permuted membership, and the p-value."""
    # errors are an upper bound on the bias of V, and its standard deviation.
    (noise, spread), normal = errors, normal_quantile(confidence)
    estimate = Estimate(
        value=value,
        low=min(max(value - noise - normal * spread, 0.5), value),
        high=min(value + normal * spread, 1.0),
        confidence=confidence,
        method=method,
    )
    # Draws that are equal but for rounding count against the finding.
    p_value = (1 + int((permuted >= value - 1e-12).sum())) / (1 + len(permuted))
    return estimate, float(permuted.mean()), p_value


def _shares(counts: Counts | Array) -> Array:
    """Return the share of each part within each class."""
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300))


def _chunks(n_draws: int, width: int) -> list[slice]:
    """Return slices of the draws, of which each holds about a million numbers at most."""
    step = max(1, 1_000_000 // max(width, 1))
    return [slice(start, min(start + step, n_draws)) for start in range(0, n_draws, step)]


def _taus(inside: Counts | Array, outside: Counts | Array) -> Array:
    m, n = inside.sum(axis=-1, keepdims=True), outside.sum(axis=-1, keepdims=True)
    # A class without records is left out below; of people the weight of a class may be a fraction.
    distances = np.abs(inside / np.where(m > 0, m, 1) - outside / np.where(n > 0, n, 1)).sum(axis=-1) / 2
    return np.asarray(np.where((m[..., 0] > 0) & (n[..., 0] > 0), distances, 0.0))
