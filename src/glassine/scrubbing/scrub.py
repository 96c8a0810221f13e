"""Scrubbing: a copy of a model without the training values and exact counts that it need not show."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any, Literal, TypeAlias

import numpy as np

from glassine.data.labels import class_key
from glassine.data.record_table import as_table, with_persons
from glassine.data.record_table import columns as read_columns
from glassine.domain import Between, Domain, Integer, OneOf, Real
from glassine.domain import Literal as Condition
from glassine.domain.attributes import code_cuts
from glassine.domain.domain import check_domain
from glassine.domain.grid import on_grid, public_grid
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError, InvalidModelError, InvalidParameterError, check_choice, parameter
from glassine.exports import Displayed
from glassine.formats import as_model
from glassine.formats.format import PublishedModel
from glassine.formats.judged import ensemble_in
from glassine.models import AdditiveModel, DecisionTree, Evidence, RegressionModel, RuleList, TreeEnsemble
from glassine.models.guarantee import DOMAIN_FROM_DATA
from glassine.models.implied import OutcomeCounts, implied_advantage
from glassine.models.records import counted_records
from glassine.models.transform import merge_leaves, moved_rules, moved_tree, rewritten
from glassine.resources import current

MERGED = "leaves were merged by their counts in the training data, which the guarantee does not cover"

EXACT = 1e-6
"""Relative error of a sum that is exact but for what numbers of single precision lose."""

Counts: TypeAlias = Literal["keep", "coarsen", "remove"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubResult(Displayed):
    """A scrubbed model and what was done.

    Attributes
    ----------
    model : DecisionTree, RuleList, AdditiveModel, RegressionModel or TreeEnsemble
        The scrubbed copy, of the kind of the model.
    n_rounded : int
        Distinct thresholds that were moved to a public cut point.
    n_dropped : int
        Leaves or rules that were dropped, because after rounding no possible record reaches them, or only one that
        lacks a value where others could reach them before; categories of an additive model that the domain does not
        declare.
    n_merged : int
        Leaves or bins that were merged because they were too small, or had no cut of their own any more.
    """

    model: Any
    n_rounded: int
    n_dropped: int
    n_merged: int


def scrub(
    model: object,
    domain: Domain,
    *,
    counts: Counts = "coarsen",
    base: int = 10,
    smallest_leaf: int = 0,
    largest_advantage: float | None = None,
    data: object = None,
    persons: object = None,
) -> ScrubResult:
    """Return a copy of a model with thresholds on the public grid and counts coarsened or removed.

    No privacy guarantee: the copy reveals less, and :func:`glassine.audit` measures how much less. A guarantee that the
    model claims is kept, since the copy is made of the model and what is public; merging leaves by their counts in the
    data, and attributes whose domain was inferred from data, add a caveat to it. Additive models are scrubbed by
    :func:`glassine.scrubbing.additive.scrub_additive`, with ``smallest_leaf`` for bins; regressions by
    :func:`glassine.scrubbing.regression.scrub_regression`, without an option; ensembles of trees by
    :func:`glassine.scrubbing.ensemble.scrub_ensemble`, whose leaves keep numbers of records only where counts are kept.

    Parameters
    ----------
    model : DecisionTree, RuleList, AdditiveModel, RegressionModel, TreeEnsemble or fitted estimator
        The model, or anything that :func:`glassine.as_model` reads; also an explainable boosting machine, a forest or
        boosted trees.
    domain : Domain
        The public domain; each threshold moves to the nearest cut point of :func:`glassine.domain.grid.public_grid`,
        a tie to the lower one.
    counts : {"coarsen", "remove", "keep"}, default="coarsen"
        Whether counts are rounded to multiples of ``base``, removed (with error rates; labels stay) or kept.
        Published means of a regression are rounded to three significant digits unless kept; those of targets with a
        unit, such as whole numbers, also to multiples of this unit over ``base``. The sizes of an additive model's bins
        are removed unless kept.
    base : int, default=10
        What coarsened counts are multiples of.
    smallest_leaf : int, default=0
        Splits of a tree with a leaf of fewer records are undone, the deepest first. A leaf without any stays, unless
        published counts are rounded or noisy, so that it may hold some. Needs published counts or data.
    largest_advantage : float, optional
        Splits of a tree are undone, those of the smallest leaves first, until the membership advantage that its counts
        imply is at most this, in (0, 1]: see ``Policy.largest_advantage``. With data, whose classes are not known, by
        its upper bound for leaves of these sizes.
    data : data frame, optional
        The training records. Moved thresholds move records too; with the data, leaves are counted again after it.
    persons : str, or array-like of shape (n,), optional
        Whose record each is: the column of the data that holds identifiers, or one identifier for each record. A leaf
        or bin then holds so many people, not records.

    Returns
    -------
    ScrubResult
        The copy, marked approximate unless its counts are exact.

    Raises
    ------
    InvalidModelError
        If the model tests an attribute that the domain lacks, an option is out of its range, or small leaves are to be
        merged in a model that is a rule list or publishes no counts.
    InvalidDataError
        If a record has no identifier.
    InvalidParameterError
        If ``persons`` comes without data, or without ``smallest_leaf``, on which alone it has an effect.
    CostLimitError
        If it takes more than the budget in which it runs.
    """
    check_domain(domain)
    if persons is not None:
        if data is None or not (smallest_leaf or largest_advantage):
            raise InvalidParameterError(
                f"{parameter('persons')} says whose records are counted, and none are.",
                remedy=f"Pass {parameter('data')} and {parameter('smallest_leaf')} with it.",
            )
        data = with_persons(as_table(data, domain.names), persons)
        if isinstance(persons, str) and persons in domain:
            domain = domain.restrict([name for name in domain if name != persons])
    elif data is not None:
        data = as_table(data, domain.names)
    current().ask_time("scrubbing")
    several = ensemble_in(model, domain)
    if several is not None:
        for name, asked in (("smallest_leaf", smallest_leaf), ("largest_advantage", largest_advantage)):
            if asked:
                raise InvalidModelError(
                    f"{parameter(name)} is for one tree: leaves of an ensemble are made larger by training it again.",
                    remedy="Train it again with larger leaves, and leave the parameter out.",
                )
        from glassine.scrubbing.ensemble import scrub_ensemble

        done_of = scrub_ensemble(several, domain, _Rounding(domain), keep_sizes=counts == "keep")
        return ScrubResult(model=done_of.model, n_rounded=done_of.n_rounded, n_dropped=done_of.n_dropped, n_merged=0)
    model = as_model(model, domain)
    if isinstance(model, AdditiveModel):
        from glassine.scrubbing.additive import scrub_additive

        if largest_advantage is not None:
            raise InvalidModelError(
                "the advantage that counts imply is defined for trees; this is an additive model.",
                remedy=f"Use {parameter('smallest_leaf')}.",
            )
        done = scrub_additive(model, domain, smallest_bin=smallest_leaf, keep_sizes=counts == "keep", data=data)
        return ScrubResult(model=done.model, n_rounded=done.n_moved, n_dropped=done.n_renamed, n_merged=done.n_merged)
    if isinstance(model, RegressionModel):
        from glassine.scrubbing.regression import scrub_regression

        for name, asked in (("smallest_leaf", smallest_leaf), ("largest_advantage", largest_advantage)):
            if asked:
                raise InvalidModelError(
                    f"{parameter(name)} is for leaves and bins: columns of a regression are merged by training again.",
                    remedy="Join its categories of few records, train it again, and leave the parameter out.",
                )
        own = scrub_regression(model, data=data)
        return ScrubResult(model=own.model, n_rounded=own.n_rounded, n_dropped=own.n_dropped, n_merged=0)
    check_choice(counts, "counts", ("keep", "coarsen", "remove"), kind=InvalidModelError)
    for name, value, least in (("base", base, 2), ("smallest_leaf", smallest_leaf, 0)):
        if not value >= least:
            raise InvalidModelError(f"{name} must be at least {least}, got {value!r}.")
    if largest_advantage is not None and not 0 < largest_advantage <= 1:
        raise InvalidModelError(f"{parameter('largest_advantage')} must lie in (0, 1], got {largest_advantage!r}.")
    if (smallest_leaf or largest_advantage) and not isinstance(model, DecisionTree):
        raise InvalidModelError(
            "only a tree's leaves can be merged.", remedy="Learn the rule list again with more support."
        )
    rounding = _Rounding(domain)
    moves = {literal: rounding(literal) for literal in model.literals}
    # Thousands of conditions become the same, of which each is looked at once.
    kept = {id(moved): moved for moved in moves.values() if moved is not None}
    old, new = _numbers(moves, domain), _numbers(kept.values(), domain)
    if isinstance(model, DecisionTree):
        n_before = _n_leaves(model)
        by_published = data is None or all(cell.evidence.size is not None for cell in model.cells)
        if smallest_leaf and persons is None and by_published:
            model = merge_leaves(model, _published_sizes(model), smallest_leaf, exact=model.counts_are_exact)
        tree = moved_tree(model, moves, domain)
        n_dropped = _n_leaves(model) - _n_leaves(tree)
        if smallest_leaf and data is not None:
            merged = merge_leaves(tree, _counted_sizes(tree, domain, data), smallest_leaf)
            # A person in two leaves is one in both together: what was merged is counted again.
            while len(merged.cells) < len(tree.cells):
                tree, merged = merged, merge_leaves(merged, _counted_sizes(merged, domain, data), smallest_leaf)
        if largest_advantage is not None:
            tree = _merged_to(tree, domain, data, largest_advantage)
        moved: DecisionTree | RuleList = tree
        n_merged = n_before - n_dropped - _n_leaves(tree)
    else:
        moved, n_merged = moved_rules(model, moves, domain), 0
        n_dropped = len(model.cells) - len(moved.cells)
    if n_merged and not moved.counts_are_exact:
        # The counts of a merged leaf carry the noise, or the rounding, of several.
        moved = replace(moved, approximate=True)
    caveats = [MERGED] if (smallest_leaf or largest_advantage) and data is not None else []
    # Of attributes that the copy tests no more, too: that nothing is left to test can follow from the records.
    caveats += [DOMAIN_FROM_DATA] if any(domain[literal.attribute].inferred for literal in moves) else []
    return ScrubResult(
        model=_claimed(_clean_counts(moved, counts, base), counts, caveats),
        n_rounded=len(old - new),
        n_dropped=n_dropped,
        n_merged=n_merged,
    )


def _n_leaves(tree: DecisionTree) -> int:
    return sum(not node.branches for node in tree.nodes)


def _merged_to(tree: DecisionTree, domain: Domain, data: object, limit: float) -> DecisionTree:
    """Return a tree with its smallest leaves merged until its counts imply at most an advantage."""
    while len(tree.cells) > 1:
        sizes = _published_sizes(tree) if data is None else _counted_sizes(tree, domain, data)
        counts = [cell.evidence.counts for cell in tree.cells]
        exact = data is None and tree.counts_are_exact and None not in counts
        table = np.array(counts if exact else [[sizes[cell.node]] for cell in tree.cells], dtype=np.float64)
        bounds = OutcomeCounts(lower=table, upper=table, n_outcomes=len(tree.classes or ()) or 1)
        occupied = [size for size in sizes.values() if size]
        if not occupied or implied_advantage(bounds).upper <= limit:
            break
        smaller = merge_leaves(tree, sizes, min(occupied) + 1)
        if len(smaller.cells) == len(tree.cells):
            break
        tree = smaller
    return tree


def _published_sizes(tree: DecisionTree) -> dict[int, int]:
    if any(cell.evidence.size is None for cell in tree.cells):
        raise InvalidModelError(
            "small leaves cannot be merged in a model that publishes no counts.",
            remedy=f"Give the data, or drop {parameter('smallest_leaf')}.",
        )
    return {cell.node: cell.evidence.size or 0 for cell in tree.cells}


def _counted_sizes(tree: DecisionTree, domain: Domain, data: object) -> dict[int, int]:
    """Return how many records lie in each leaf; none is refused, and each lies where the tree sends it."""
    table = as_table(data)
    recipe = {name: domain[name] for name in tree.tested}
    counted = table.counts(tree.apply(counted_records(table, recipe)), len(tree.cells))
    return {cell.node: int(size) for cell, size in zip(tree.cells, counted, strict=True)}


def accuracy(model: PublishedModel | TreeEnsemble, data: object, target: str) -> float:
    """Return how well a model predicts a column: the share of right classes, or R^2 for a regression.

    Parameters
    ----------
    model : DecisionTree, RuleList, AdditiveModel, RegressionModel or TreeEnsemble
        The model.
    data : data frame
        Records with the tested attributes and the target.
    target : str
        Column to predict. Class names are compared as text, with 0/1 equal to False/True.

    Raises
    ------
    InvalidDataError
        If the target is not a column, or none of its values is a class of the model.
    """
    columns = read_columns(data)
    if target not in columns:
        raise InvalidDataError(f"data lack the target column {target!r}.", remedy="Check its name.")
    truth = columns[target]
    predicted = model.predict(columns)
    if model.classes is None:
        if any(value is None for value in predicted):
            raise InvalidDataError(
                "the model publishes no predicted values, so its accuracy cannot be measured.",
                remedy="Leave the target out.",
            )
        if truth.dtype.kind not in "if" or is_missing(truth).any():
            raise InvalidDataError(
                f"the target {target!r} of a regression must be a number without gaps.", remedy="Clean it."
            )
        rest = float(((truth - predicted.astype(float)) ** 2).sum())
        total = float(((truth - truth.mean()) ** 2).sum())
        if not total:
            raise InvalidDataError(
                f"every record has the same {target!r}, so R^2 is undefined.", remedy="Give other records."
            )
        return 1 - rest / total
    names = {class_key(c) for c in model.classes}
    keys = [class_key(value) for value in truth.tolist()]
    if not names & set(keys):
        raise InvalidDataError(
            f"no value of {target!r} is a class of the model ({', '.join(map(str, model.classes))}).",
            remedy="Check the target.",
        )
    return float(np.mean([p is not None and class_key(p) == k for p, k in zip(predicted.tolist(), keys, strict=True)]))


def _numbers(literals: Iterable[Condition], domain: Domain) -> set[tuple[str, float]]:
    return {
        (literal.attribute, bound)
        for literal in literals
        if isinstance(literal, Between) and isinstance(domain[literal.attribute], Integer | Real)
        for bound in (literal.lo, literal.hi)
        if math.isfinite(bound)
    }


class _Rounding:
    """Conditions with their bounds on the public grid: a move of a bound, which conditions share, is made once.

    So are the conditions, of which thousands become the same.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.nearest: dict[str, Callable[[float], float]] = {}
        self.made: dict[tuple[str, float, float, bool, bool], Between] = {}

    def __call__(self, literal: Condition) -> Condition | None:
        """Return a condition with its bounds on the grid; None where no value can satisfy it any more."""
        name = literal.attribute
        attribute = self.domain[name]
        if not isinstance(attribute, Integer | Real):
            return literal
        if isinstance(literal, OneOf):
            return _widen(literal, attribute, _grid_of(attribute))
        if name not in self.nearest:
            self.nearest[name] = cache(partial(_nearest, _grid_of(attribute), attribute.ends))
        lo, hi = self.nearest[name](literal.lo), self.nearest[name](literal.hi)
        if lo < hi and (math.isfinite(lo) or math.isfinite(hi)):
            key = name, lo, hi, literal.negated, literal.missing
            if key not in self.made:
                self.made[key] = Between(name, lo, hi, negated=literal.negated, missing=literal.missing)
            return self.made[key]
        if literal.negated != (lo < hi):
            return OneOf(name, (), negated=True, missing=literal.missing)
        return OneOf(name, (), missing=True) if literal.missing and attribute.missing else None


def _nearest(grid: Sequence[float], ends: tuple[float, float], bound: float) -> float:
    """Return the public cut point next to a bound, a tie to the lower one; infinite beyond the ends of the domain."""
    least, most = ends
    if bound >= most or bound < least:
        return math.copysign(math.inf, bound - least)
    if not grid:
        return bound
    at = bisect_left(grid, bound)
    lower, upper = grid[max(0, at - 1)], grid[min(at, len(grid) - 1)]
    return lower if abs(lower - bound) <= abs(upper - bound) else upper


@lru_cache(maxsize=1024)
def _grid_of(attribute: Integer | Real) -> tuple[float, ...]:
    """Return the cut points to which thresholds are moved, increasing."""
    return tuple(sorted({*public_grid(attribute), *code_cuts(attribute)}))


def _widen(literal: OneOf, attribute: Integer | Real, grid: tuple[float, ...]) -> Condition:
    """Return a comparison with values of a number as one with the cell of the grid that holds them all."""
    values = [float(value) for value in literal.values if not isinstance(value, str)]
    sides = [value + side for value in values if value not in attribute.codes for side in (-0.5, 0.5)]
    if not values or all(on_grid(attribute, side) for side in sides):
        return literal
    lo = max((point for point in grid if point < min(values)), default=-math.inf)
    hi = min((point for point in grid if point >= max(values)), default=math.inf)
    if not math.isfinite(lo) and not math.isfinite(hi):
        return OneOf(literal.attribute, (), negated=not literal.negated, missing=literal.missing)
    return Between(literal.attribute, lo, hi, negated=literal.negated, missing=literal.missing)


def _clean_counts(model: DecisionTree | RuleList, counts: Counts, base: int) -> DecisionTree | RuleList:
    if counts == "keep":
        return model
    if isinstance(model, DecisionTree):
        step = _step([node.evidence for node in model.nodes if not node.branches], base)
    else:
        step = _step([rule.evidence for rule in model.rules], base)

    def clean(evidence: Evidence) -> Evidence:
        value = None if evidence.value is None else float(f"{evidence.value:.3g}")
        if value is not None and step:
            value = float(f"{round(value / step) * step:.12g}") + 0.0  # no negative zero
        if counts == "remove":
            return Evidence(label=evidence.prediction, value=value)
        rounded = None if evidence.counts is None else tuple(_to_multiple(c, base) for c in evidence.counts)
        total = None if rounded is not None or evidence.total is None else _to_multiple(evidence.total, base)
        rate = None if evidence.error_rate is None else round(evidence.error_rate * base) / base
        return Evidence(counts=rounded, total=total, label=evidence.prediction, error_rate=rate, value=value)

    # What is said of a split says more of the leaves: of the mean of a node and those of its children, the share of
    # each follows; and what one rounded count leaves open, another closes.
    nothing, settled = Evidence(), dict[int, Evidence]()

    def cleaned_of(place: int, own: Evidence) -> Evidence:
        if isinstance(model, DecisionTree) and model.nodes[place].branches:
            return nothing
        if id(own) not in settled:  # of thousands of leaves, many share what they say
            settled[id(own)] = clean(own)
        return settled[id(own)]

    return rewritten(model, evidence=cleaned_of, approximate=True)


def _step(parts: Sequence[Evidence], base: int) -> float:
    """Return the step to which means are rounded, 0 where the targets are of no unit that shows.

    Three digits of a mean of whole numbers can reveal of how many, as 0.143 is 1 in 7, and as 14.3 is where the targets
    are 0 and 100. So the unit is the largest of 1, 2 and 5 times powers of ten of which all sums are multiples. Where
    sizes, or digits, do not suffice to see it, it is taken for as large as the means.
    """
    values = [part.value for part in parts if part.value is not None]
    largest = max(map(abs, values), default=0.0)
    if not largest:
        return 0.0
    top = math.ceil(math.log10(largest))
    # What rounding to so many decimals can move a sum by; what binary numbers lose comes below.
    sums = [
        (abs(part.value) * part.size, part.size * (0.5 * 10.0 ** -len(text.partition(".")[2]) if len(text) < 12 else 0))
        for part in parts
        if part.value is not None and part.size and (text := format(abs(part.value), ".15g"))
    ]
    unit, seen = 0.0, False
    for power in range(top + 1, top - 8, -1):
        for digit in (5, 2, 1):
            candidate = digit * 10.0**power
            # A slack of a tenth of the unit says whether a sum is a multiple.
            clear = [(total / candidate, (slack + EXACT * total) / candidate) for total, slack in sums]
            clear = [(ratio, slack) for ratio, slack in clear if slack < 0.1]
            seen = seen or bool(clear)
            if not unit and clear and all(abs(ratio - round(ratio)) <= slack for ratio, slack in clear):
                unit = candidate
    unit = unit if seen else 10.0**top
    spread = max(values) - min(values)
    if not unit or not spread:
        return unit / base
    # The least and the largest mean stay apart.
    scale = 10.0 ** math.floor(math.log10(spread / 2))
    return min(unit / base, max(digit * scale for digit in (1, 2, 5) if digit * scale <= spread / 2 * (1 + 1e-9)))


def _claimed(model: DecisionTree | RuleList, counts: Counts, caveats: Sequence[str]) -> DecisionTree | RuleList:
    """Return the copy with what is still true of the guarantee that is claimed."""
    claim = model.guarantee
    if claim is None:
        return model
    scale = None if counts == "remove" else claim.count_scale
    return replace(model, guarantee=replace(claim.void(*caveats), count_scale=scale))


def _to_multiple(count: int, base: int) -> int:
    return (count + base // 2) // base * base
