"""The boundary attack: how far a record must move until a published tree or list gives it another class."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from glassine.attacks.membership.gap import answered, gap_figure, known_sides, read_sides, setting_of
from glassine.attacks.membership.outputs import LabelledRecords, attempt, published
from glassine.attacks.membership.result import MembershipResult, Shift
from glassine.attacks.membership.score_thresholds import judge_scores
from glassine.attacks.outcome import Outcome
from glassine.data.labels import Sample
from glassine.domain import Between, Literal
from glassine.domain.literals import is_missing
from glassine.domain.prefixes import Prefix
from glassine.errors import UnsupportedModelError
from glassine.formats import as_model, tree_or_rules
from glassine.models import DecisionTree, RuleList
from glassine.models.evidence import cell_labels
from glassine.records.arrays import AnyArray, Array, Indices

MOST_BOXES = 20_000
"""Most boxes of a rule list: a rule of l conditions that does not apply fails in one of l ways."""


def boundary_attack(
    model: object,
    members: Sample | LabelledRecords,
    nonmembers: Sample | LabelledRecords,
    *,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    shift: Shift | None = None,
) -> Outcome[MembershipResult]:
    """Call a record a member if it is far from where the model changes its class.

    The score of a record that is classified correctly is its distance to the decision boundary; that of another is 0.
    The distance is exact: the least over all leaves or rules of another class, so that the model answers no question.
    It adds up over attributes. A category, a dummy or a missing value that must change counts 1, a number the share of
    the range of all records attacked that it must move by. Changed dummies need not be a category. The threshold is
    cross-fitted.

    Parameters
    ----------
    model : DecisionTree, RuleList or what :func:`glassine.as_model` reads as one
        The published model.
    members, nonmembers : Sample
        Training records, and records that were not used for training, with their classes.
    random_state : int, numpy.random.Generator or None, default=None
        Makes folds and permutations repeatable.
    confidence, shift
        As for :func:`~glassine.attacks.gap_attack`.

    Returns
    -------
    Measured of MembershipResult, NotApplicable or Failed
        Not applicable to a regression, to a model that is no tree or list, and to a list of rules that overlap in more
        than 20,000 boxes.

    Raises
    ------
    InvalidDataError
        If the data are empty, lack a column, or hold a class that the model does not know.
    InvalidParameterError
        If the confidence lies outside its range.

    References
    ----------
    Choquette-Choo, Tramèr, Carlini, Papernot: Label-only membership inference attacks, 2021. Their distance is that of
    a search, as the model can only be asked.

    Examples
    --------
    >>> from glassine import as_model
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    >>> tree = as_model(DecisionTreeClassifier(random_state=0).fit(X[:200], y[:200]))
    >>> names = tree.attributes
    >>> frames = [dict(zip(names, part.T)) for part in (X[:200], X[200:])]
    >>> import polars as pl
    >>> sides = [Sample(pl.DataFrame(frame), part) for frame, part in zip(frames, (y[:200], y[200:]))]
    >>> boundary_attack(tree, *sides, random_state=0).value.detected
    True
    """
    setting = setting_of(confidence, random_state, shift)
    inside, outside = read_sides(members, nonmembers)

    def work() -> MembershipResult:
        plain = published(model)
        if plain is None:
            plain = tree_or_rules(as_model(model))
        sides, true_sides = answered(plain, inside, outside), known_sides(plain, inside, outside)
        pool = true_sides[0].join(true_sides[1])
        far = boundary_distances(plain, pool.columns(plain.attributes))
        m = len(sides[0].truth)
        scores = [np.where(s.correct, part, 0.0) for s, part in zip(sides, (far[:m], far[m:]), strict=True)]
        return judge_scores(
            "boundary attack",
            sides[0].mean(scores[0]),
            sides[1].mean(scores[1]),
            setting,
            gap=gap_figure(sides[0], sides[1], setting.confidence),
        )

    return attempt(work)


def boundary_distances(model: DecisionTree | RuleList, columns: dict[str, AnyArray]) -> Array:
    """Return how far each record is from another class of the model, shape (n,).

    Where no record has another class it is the number of attributes tested, plus one. ``columns`` are the records by
    attribute, shape (n,) each: their ranges are the units of numbers.
    """
    labels = cell_labels(model)
    of = labels[model.apply(columns)]
    metric = _Metric(columns, model.literals)
    none = float(len(model.tested) + 1)
    out = np.full(len(of), none)
    n_boxes = 0
    for cell, label in zip(model.cells, labels.tolist(), strict=True):
        rows = np.flatnonzero(of != label)
        if not len(rows):
            continue
        for box in _boxes(_with({}, cell.inside), cell.outside, metric):
            n_boxes += 1
            if n_boxes > MOST_BOXES:
                raise UnsupportedModelError(
                    f"the rules of the list overlap in more than {MOST_BOXES:,} boxes, which takes too long.",
                    remedy="Use label_only_attack.",
                )
            costs = [metric.cost(attribute, wanted)[rows] for attribute, wanted in box.items()]
            out[rows] = np.minimum(out[rows], np.sum(costs, axis=0) if costs else 0.0)
    return out


Box = dict[str, frozenset[Literal]]
"""The conditions on each attribute, all of which hold."""


def _with(box: Box, literals: Sequence[Literal]) -> Box:
    out = dict(box)
    for literal in literals:
        out[literal.attribute] = out.get(literal.attribute, frozenset()) | {literal}
    return out


def _boxes(box: Box, outside: Sequence[Sequence[Literal]], metric: _Metric) -> Iterator[Box]:
    """Yield boxes whose union is where a box holds and some conjunctions fail; none of them is empty."""
    if not all(metric.possible(attribute, wanted) for attribute, wanted in box.items()):
        return
    for i, conjunction in enumerate(outside):
        fails = [literal.negate() for literal in conjunction]
        if any(fail in box.get(fail.attribute, ()) for fail in fails):
            continue
        both = _with(box, conjunction)
        if not all(metric.possible(attribute, both[attribute]) for attribute in {each.attribute for each in fails}):
            continue  # It fails in the whole box
        for fail in fails:
            yield from _boxes(_with(box, (fail,)), outside[i + 1 :], metric)
        return
    yield box


@dataclass(slots=True, eq=False)
class _Metric:
    """What it costs each record to satisfy some conditions on an attribute."""

    columns: dict[str, AnyArray]
    literals: Sequence[Literal]
    _values: dict[str, tuple[AnyArray, Indices]] = field(default_factory=dict, init=False)  # Distinct, and places
    _aims: dict[str, AnyArray] = field(default_factory=dict, init=False)
    _distances: dict[tuple[str, frozenset[Literal]], Array] = field(default_factory=dict, init=False)

    def _distinct(self, attribute: str) -> tuple[AnyArray, Indices]:
        """Return the distinct values of a column, missing ones as one, and the place of each record's."""
        if attribute not in self._values:
            column = np.asarray(self.columns[attribute])
            place: dict[object, int] = {}
            missing = is_missing(column)
            keys = [None if gap else value for value, gap in zip(column.tolist(), missing.tolist(), strict=True)]
            at = np.array([place.setdefault(key, len(place)) for key in keys], dtype=np.intp)
            self._values[attribute] = _array(list(place), column), at
        return self._values[attribute]

    def _candidates(self, attribute: str) -> AnyArray:
        """Return values one of which is nearest, for any conditions of the model."""
        if attribute not in self._aims:
            values = [value for value in self._distinct(attribute)[0].tolist() if value is not None and value == value]
            bounds: list[float] = []
            for literal in self.literals:
                if literal.attribute != attribute:
                    continue
                if isinstance(literal, Between):
                    bounds += [bound for bound in (literal.lo, literal.hi) if math.isfinite(bound)]
                else:
                    values += [value for value in literal.values if not isinstance(value, Prefix)]
            if self._is_number(attribute):
                # The ends of what is allowed: a bound, the next number beyond it, or beside a value that is listed.
                ends = [*map(float, bounds), *map(float, values)]
                values += [np.nextafter(end, side) for end in ends for side in (-math.inf, math.inf)] + bounds
            self._aims[attribute] = _array(list(dict.fromkeys(values)), np.asarray(self.columns[attribute]))
        return self._aims[attribute]

    def _is_number(self, attribute: str) -> bool:
        return any(isinstance(each, Between) and each.attribute == attribute for each in self.literals)

    def possible(self, attribute: str, wanted: frozenset[Literal]) -> bool:
        """Return whether some value satisfies some conditions, or a missing value does."""
        return bool(all(literal.missing for literal in wanted) or len(self._allowed(attribute, wanted)))

    def _allowed(self, attribute: str, wanted: frozenset[Literal]) -> AnyArray:
        values = self._candidates(attribute)
        allowed = np.ones(len(values), dtype=bool)
        for literal in wanted:
            allowed &= literal.holds(values)
        return values[allowed]

    def cost(self, attribute: str, wanted: frozenset[Literal]) -> Array:
        """Return how far each record is from satisfying some conditions on an attribute, shape (n,)."""
        values, at = self._distinct(attribute)
        if (attribute, wanted) not in self._distances:
            holding = np.ones(len(values), dtype=bool)
            for literal in wanted:
                holding &= literal.holds(values)
            self._distances[attribute, wanted] = np.where(holding, 0.0, self._moves(attribute, values, wanted))
        return self._distances[attribute, wanted][at]

    def _moves(self, attribute: str, values: AnyArray, wanted: frozenset[Literal]) -> Array:
        allowed = self._allowed(attribute, wanted)
        if not self._is_number(attribute) or not len(allowed):
            return np.ones(len(values))
        numbers = np.array([math.nan if value is None else float(value) for value in values.tolist()])
        span = float(np.nanmax(numbers) - np.nanmin(numbers)) if np.isfinite(numbers).any() else 0.0
        goals = np.sort(allowed.astype(float))
        after = np.searchsorted(goals, numbers).clip(0, len(goals) - 1)
        nearest = np.minimum(np.abs(goals[after] - numbers), np.abs(goals[np.maximum(after - 1, 0)] - numbers))
        # A gap that must be filled, or left, counts as a category does.
        return np.where(np.isnan(nearest), 1.0, nearest / span if span else np.ones(len(values)))


def _array(values: list[object], like: AnyArray) -> AnyArray:
    """Return values as an array of the column's kind; of objects where a value is missing or of another kind."""
    if like.dtype.kind in "biuf" and all(value is not None for value in values):
        return np.asarray(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


__all__ = ["boundary_attack", "boundary_distances"]
