"""Distributional overfitting and vulnerability: how far the leaves, rules or answers of members differ from others'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.gap import known_sides, read_sides
from glassine.attacks.membership.intervals import Estimate, check_confidence, normal_quantile
from glassine.attacks.membership.outputs import (
    Records,
    answers,
    as_fitted,
    asking,
    attempt,
    check_count,
    generator,
    published,
)
from glassine.attacks.membership.result import chance
from glassine.attacks.outcome import Outcome
from glassine.data.labels import Sample
from glassine.data.labels import subgroups as split_by_value
from glassine.errors import InvalidDataError, InvalidParameterError, UnsupportedModelError, parameter
from glassine.models import DecisionTree, RuleList

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Over = Literal["auto", "parts", "predictions"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupVulnerability:
    """Vulnerability of a subgroup.

    Attributes
    ----------
    attribute, value : str
        What defines the subgroup.
    n_members, n_nonmembers : int
        Numbers of records.
    vulnerability : Estimate
        V of the subgroup.
    control : float
        Mean V of permuted membership; large in a small subgroup.
    p_value : float
        Chance of such a V where membership makes no difference.
    """

    attribute: str
    value: str
    n_members: int
    n_nonmembers: int
    vulnerability: Estimate
    control: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Vulnerability:
    """Vulnerability of a model to membership inference.

    Attributes
    ----------
    vulnerability : Estimate
        V = 1/2 + 1/2 sum over y of P[y] tau(y), as published. It is what guesses of membership from the part of the
        model, knowing the class, could reach on these very records, so that even a model that has nothing to do with
        the data exceeds 1/2. The interval is that of V of the population.
    control : float
        Mean V of permuted membership: what V is where there is nothing to find.
    p_value : float
        Chance of such a V where membership makes no difference.
    n_permutations : int
        Number of permutations.
    labels : tuple of LabelOverfitting
        tau(y) of each class that members and non-members have.
    over : str
        What distinguishes the records: "leaves", "rules" or "predictions".
    n_parts : int
        Number of different leaves, rules or predictions among the records.
    subgroups : tuple of SubgroupVulnerability
        V of subgroups, if asked for.
    """

    vulnerability: Estimate
    control: float
    p_value: float
    n_permutations: int
    labels: tuple[LabelOverfitting, ...]
    over: str
    n_parts: int
    subgroups: tuple[SubgroupVulnerability, ...]

    @property
    def excess(self) -> float:
        """V less its control."""
        return self.vulnerability.value - self.control

    @property
    def verdict(self) -> str:
        """What the figures say, in sentences."""
        level = 1 - self.vulnerability.confidence
        found = "more than" if self.p_value <= level else "no more than"
        return (
            f"Vulnerability over {self.n_parts} {self.over}: {self.vulnerability}. Where there is nothing to find, it "
            f"would be {self.control:.3f} on so many records; it is {found} chance explains ({chance(self.p_value)})."
        )

    def __repr__(self) -> str:
        return f"<Vulnerability {self.vulnerability.value:.3f}, control {self.control:.3f}>"


def vulnerability(
    model: Any,
    members: Sample | Records,
    nonmembers: Sample | Records,
    *,
    over: Over = "auto",
    by: Any = (),
    n_permutations: int = 999,
    confidence: float = 0.95,
    random_state: Any = None,
) -> Outcome[Vulnerability]:
    r"""Return the vulnerability of a model: how far members and non-members of a class fall into different parts of it.

    tau(y) is half the sum over the parts r of ``|P[r | y, member] - P[r | y, non-member]|``. For a published model, or
    a scikit-learn tree, the parts are its rules or leaves; of a black box they are its predictions.

    Parameters
    ----------
    model : fitted classifier, DecisionTree or RuleList
        The model under attack.
    members, nonmembers : Sample
        Training records, and records that were not used for training, with their classes.
    over : {"auto", "parts", "predictions"}, default="auto"
        Whether to tell records apart by leaf or rule, or by the predicted class; auto takes leaves or rules where the
        model shows them.
    by : str or sequence of str, or mapping of str to pair of arrays, default=()
        Columns that define subgroups, or for each name the values of the members and of the non-members. Numbers with
        more than ten values are cut at their quartiles.
    n_permutations : int, default=999
        Number of permutations of membership within each class.
    confidence : float, default=0.95
        Confidence of the intervals, in (0, 1).
    random_state : int, numpy.random.Generator or None, default=None
        Makes permutations repeatable.

    Returns
    -------
    Measured of Vulnerability, NotApplicable or Failed
        Not applicable to a regression, and where no class has both members and non-members.

    Raises
    ------
    InvalidDataError
        If the data cannot be read, or a subgroup's column is missing.
    InvalidParameterError
        If a parameter lies outside its range.

    Notes
    -----
    The measured V exceeds that of the population on average, as the sum of absolute values of noisy figures does; the
    control shows by how much where there is nothing to find. The interval reaches from V less the mean absolute noise,
    as the bootstrap gives it, and less its own sampling error, to V plus its sampling error. It is conservative.

    References
    ----------
    Ly et al.: Smooth sensitivity for learning differentially-private yet accurate rule lists, 2024, section V-E;
    Yaghini, Kulynych, Troncoso: Disparate vulnerability, 2019.

    Examples
    --------
    >>> from glassine import parse_rules
    >>> rules = parse_rules("if [a] then [true] ([0 ; 2] examples)\nelse [false] ([2 ; 0] examples)")
    >>> members, others = Sample([[1], [1], [0], [0]], [1, 1, 0, 0]), Sample([[1], [0], [0], [0]], [1, 1, 0, 0])
    >>> found = vulnerability(rules, members, others)
    >>> [label.tau for label in found.value.labels], found.value.vulnerability.value
    ([0.0, 0.5], 0.625)
    """
    confidence, rng = check_confidence(confidence), generator(random_state)
    check_count("n_permutations", n_permutations, 1)
    if over not in ("auto", "parts", "predictions"):
        raise InvalidParameterError(f"{parameter('over')} must be auto, parts or predictions, got {over!r}.")
    inside, outside = read_sides(members, nonmembers)
    groups = _groups(by, inside, outside)

    def work() -> Vulnerability:
        sides = known_sides(model, inside, outside)
        parts, kind = _parts(model, *sides, over)
        target = np.concatenate([side.target for side in sides])
        names, labels = _codes(target)
        member = np.arange(len(target)) < len(inside.target)
        by_person = inside.persons is not None and outside.persons is not None
        whose = inside.join(outside).whose if by_person else None
        records = _Counted(labels, parts, member, whose)
        table = records.table
        if not table.weights.any():
            raise UnsupportedModelError(
                "no class has both members and non-members.", remedy="Give holdout records of each class."
            )
        result = table.estimate(confidence, n_permutations, rng)
        subgroups = tuple(
            _subgroup(name, value, records.take(rows), confidence, n_permutations, rng)
            for name, value, rows in groups
            if records.take(rows).table.weights.any()
        )
        return Vulnerability(
            vulnerability=result[0],
            control=result[1],
            p_value=result[2],
            n_permutations=n_permutations,
            labels=table.described(names),
            over=kind,
            n_parts=len(np.unique(parts)),
            subgroups=subgroups,
        )

    return attempt(work)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Class, part and membership of each record, and its person where people are counted; each of shape (n,)."""

    labels: npt.NDArray[np.intp]
    parts: npt.NDArray[np.intp]
    member: npt.NDArray[np.bool_]
    whose: npt.NDArray[np.int64] | None

    def take(self, rows: npt.NDArray[np.intp]) -> _Counted:
        """Return some of the records; a person of whom none is left does not count."""
        whose = None if self.whose is None else np.unique(self.whose[rows], return_inverse=True)[1].astype(np.int64)
        return _Counted(self.labels[rows], self.parts[rows], self.member[rows], whose)

    @property
    def table(self) -> _Table | _PeopleTable:
        """Records, or people, by class and part."""
        if self.whose is None:
            return _Table.of(self.labels, self.parts, self.member)
        return _PeopleTable.of(self.labels, self.parts, self.member, self.whose)

    def number(self, side: npt.NDArray[np.bool_]) -> int:
        """Return how many records, or people, there are on a side, shape (n,)."""
        return int(side.sum()) if self.whose is None else len(np.unique(self.whose[side]))


def _subgroup(
    name: str, value: str, records: _Counted, confidence: float, n_permutations: int, rng: np.random.Generator
) -> SubgroupVulnerability:
    estimate, control, p_value = records.table.estimate(confidence, n_permutations, rng)
    return SubgroupVulnerability(
        attribute=name,
        value=value,
        n_members=records.number(records.member),
        n_nonmembers=records.number(~records.member),
        vulnerability=estimate,
        control=control,
        p_value=p_value,
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """Numbers of members and of non-members by class and part, shape (classes, parts) each."""

    inside: Counts | Floats
    outside: Counts | Floats

    @classmethod
    def of(cls, labels: npt.NDArray[np.intp], parts: npt.NDArray[np.intp], member: npt.NDArray[np.bool_]) -> _Table:
        parts = np.unique(parts, return_inverse=True)[1]
        shape = (int(labels.max()) + 1, int(parts.max()) + 1)
        sides = []
        for mask in (member, ~member):
            counts = np.zeros(shape, dtype=np.int64)
            np.add.at(counts, (labels[mask], parts[mask]), 1)
            sides.append(counts)
        return cls(*sides)

    @property
    def totals(self) -> tuple[Counts | Floats, Counts | Floats]:
        """Numbers of members and of non-members of each class."""
        return self.inside.sum(axis=1), self.outside.sum(axis=1)

    @property
    def weights(self) -> Floats:
        """Weight of each class; 0 for those that one side lacks."""
        m, n = self.totals
        both = (m > 0) & (n > 0)
        if not both.any():
            return np.zeros(len(m))
        return np.where(both, (m / m[both].sum() + n / n[both].sum()) / 2, 0.0)

    @property
    def taus(self) -> Floats:
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

    def _permuted(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Return V with membership permuted within each class: a draw without replacement from each row of counts."""
        value = np.full(n_draws, 0.5)
        for y in np.flatnonzero(self.weights):
            both = self.inside[y] + self.outside[y]
            held = both[both > 0]
            for part in _chunks(n_draws, len(held)):
                size = part.stop - part.start
                drawn = rng.multivariate_hypergeometric(held, int(self.inside[y].sum()), size=size, method="marginals")
                value[part] += 0.5 * self.weights[y] * _taus(drawn, held - drawn)
        return value

    def _bootstrap(self, n_draws: int, rng: np.random.Generator) -> tuple[float, float]:
        """Return the mean absolute noise of V, an upper bound on its bias, and its standard deviation."""
        noise, values = np.zeros(n_draws), np.zeros(n_draws)
        for y in np.flatnonzero(self.weights):
            held = (self.inside[y] + self.outside[y]) > 0
            sides = [side[y][held] for side in (self.inside, self.outside)]
            shares = [side / side.sum() for side in sides]
            for part in _chunks(n_draws, int(held.sum())):
                size = part.stop - part.start
                first, second = (
                    rng.multinomial(int(side.sum()), share, size=size) / side.sum()
                    for side, share in zip(sides, shares, strict=True)
                )
                apart = first - second
                noise[part] += 0.25 * self.weights[y] * np.abs(apart - (shares[0] - shares[1])).sum(axis=1)
                values[part] += 0.25 * self.weights[y] * np.abs(apart).sum(axis=1)
        return float(noise.mean()), float(values.std(ddof=1))


@dataclass(frozen=True, slots=True)
class _PeopleTable:
    """Records by class and part, with whose they are: every person counts once, and is drawn with all their records."""

    cells: npt.NDArray[np.intp]  # Class and part of each record, as one number; shape (n,)
    whose: npt.NDArray[np.int64]  # The person of each record; shape (n,)
    weights_of: Floats  # What each record counts: 1 / number of records of its person; shape (n,)
    member: npt.NDArray[np.bool_]  # Who is a member; shape (people,)
    shape: tuple[int, int]  # Numbers of classes and of parts

    @classmethod
    def of(
        cls,
        labels: npt.NDArray[np.intp],
        parts: npt.NDArray[np.intp],
        member: npt.NDArray[np.bool_],
        whose: npt.NDArray[np.int64],
    ) -> _PeopleTable:
        parts = np.unique(parts, return_inverse=True)[1]
        shape = (int(labels.max()) + 1, int(parts.max()) + 1)
        people = np.zeros(int(whose.max()) + 1, dtype=bool)
        people[whose[member]] = True
        weights = 1.0 / np.bincount(whose)[whose]
        return cls(labels * shape[1] + parts, whose, weights, people, shape)

    def _sides(self, times: Floats) -> tuple[Floats, Floats]:
        """Return the weight of members and of non-members by class and part, each person taken so many times."""
        out = []
        for side in (self.member, ~self.member):
            weights = self.weights_of * (times * side)[self.whose]
            counts = np.bincount(self.cells, weights=weights, minlength=self.shape[0] * self.shape[1])
            out.append(counts.astype(np.float64).reshape(self.shape))
        return out[0], out[1]

    @property
    def table(self) -> _Table:
        """Members and non-members by class and part."""
        return _Table(*self._sides(np.ones(len(self.member))))

    @property
    def weights(self) -> Floats:
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
            apart = first - second
            noise[draw] = 0.25 * table.weights @ np.abs(apart - (own[0] - own[1])).sum(axis=1)
            values[draw] = 0.25 * table.weights @ np.abs(apart).sum(axis=1)
        return float(noise.mean()), float(values.std(ddof=1))


def _value(table: _Table) -> float:
    return float(0.5 + 0.5 * table.weights @ table.taus)


def _tested(
    value: float, permuted: Floats, errors: tuple[float, float], confidence: float, method: str
) -> tuple[Estimate, float, float]:
    """Return V with its interval, its mean under permuted membership, and the p-value.

    ``errors`` are an upper bound on the bias of V, and its standard deviation.
    """
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


def _shares(counts: Counts | Floats) -> Floats:
    """Return the share of each part within each class."""
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300))


def _chunks(n_draws: int, width: int) -> list[slice]:
    """Return slices of the draws, of which each holds about a million numbers at most."""
    step = max(1, 1_000_000 // max(width, 1))
    return [slice(start, min(start + step, n_draws)) for start in range(0, n_draws, step)]


def _taus(inside: Counts | Floats, outside: Counts | Floats) -> Floats:
    m, n = inside.sum(axis=-1, keepdims=True), outside.sum(axis=-1, keepdims=True)
    # A class that nobody has is left out below; of people the weight of a class may be a fraction.
    apart = np.abs(inside / np.where(m > 0, m, 1) - outside / np.where(n > 0, n, 1)).sum(axis=-1) / 2
    return np.asarray(np.where((m[..., 0] > 0) & (n[..., 0] > 0), apart, 0.0))


def _parts(model: Any, inside: Records, outside: Records, over: Over) -> tuple[npt.NDArray[np.intp], str]:
    """Return the part of the model, or the prediction, of each record, members first."""
    if over != "predictions":
        shown = [_cells(model, side) for side in (inside, outside)]
        if shown[0] is not None and shown[1] is not None:
            return np.concatenate([shown[0][0], shown[1][0]]), shown[0][1]
        if over == "parts":
            raise UnsupportedModelError(
                f"{type(model).__name__} does not show its leaves or rules.",
                remedy=f"Use {parameter('over', 'predictions')}.",
            )
    told = [answers(model, side).predicted for side in (inside, outside)]
    return np.concatenate(told), "predictions"


def _cells(model: Any, records: Records) -> tuple[npt.NDArray[np.intp], str] | None:
    """Return the leaf or rule of each record, and what it is; None for a black box."""
    own = getattr(model, "model_", None)
    if isinstance(own, DecisionTree | RuleList) and callable(getattr(model, "apply", None)):
        _require_classes(own)
        with asking(type(model).__name__):
            return np.asarray(model.apply(as_fitted(model, records.native))), "rules" if isinstance(
                own, RuleList
            ) else "leaves"
    fitted = getattr(model, "best_estimator_", model)
    last = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
    if hasattr(last, "tree_") and hasattr(last, "classes_"):
        native = as_fitted(fitted, records.native)
        with asking(type(fitted).__name__):
            if last is not fitted and len(fitted.steps) > 1:
                native = fitted[:-1].transform(native)
            return np.asarray(last.apply(native)), "leaves"
    plain = published(model)
    if plain is None:
        return None
    _require_classes(plain)
    return plain.apply(records.columns(plain.attributes)), "rules" if isinstance(plain, RuleList) else "leaves"


def _require_classes(model: DecisionTree | RuleList) -> None:
    if model.classes is None:
        raise UnsupportedModelError("the model predicts a number; vulnerability is defined for classes.")


def _codes(target: npt.NDArray[Any]) -> tuple[list[str], npt.NDArray[np.intp]]:
    values = target.tolist()
    try:
        known = sorted(set(values))
    except TypeError:
        known = sorted(set(values), key=str)
    where = {value: i for i, value in enumerate(known)}
    return [str(value) for value in known], np.array([where[value] for value in values], dtype=np.intp)


def _groups(by: Any, inside: Records, outside: Records) -> list[tuple[str, str, npt.NDArray[np.intp]]]:
    """Return attribute, value and rows of each subgroup, members' rows first."""
    columns: dict[str, npt.NDArray[Any]] = {}
    if isinstance(by, Mapping):
        for name, pair in by.items():
            sides = [np.asarray(side) for side in pair]
            if [len(side) for side in sides] != [len(inside.target), len(outside.target)]:
                raise InvalidDataError(f"subgroups by {name!r} need one value for each member and each non-member.")
            columns[str(name)] = np.concatenate(sides)
    else:
        asked = (by,) if isinstance(by, str) else tuple(by)
        if asked:
            joined = inside.join(outside)
            given = joined.columns(joined.names or tuple(f"x{i}" for i in range(joined.width)))
            for name in asked:
                if name not in given:
                    raise InvalidDataError(
                        f"the records lack the column {name!r} of the subgroups.", remedy="Add or rename it."
                    )
                columns[name] = given[name]
    return [(name, value, rows) for name, column in columns.items() for value, rows in split_by_value(column).items()]
