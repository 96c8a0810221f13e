"""Near-optimal trees of a summary: importance intervals, samples, and records on which such trees differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidParameterError, check_whole, parameter
from glassine.learners.additive.targets import Target
from glassine.learners.summaries.additive_from_tables import representatives
from glassine.learners.summaries.estimates import bin_shares, replicates
from glassine.learners.summaries.junction_tree import junction_tree
from glassine.learners.summaries.multiplicity import LeafAmbiguity, Multiplicity, Reliance
from glassine.learners.summaries.pair_regions import MOST_COUNTS, RegionCounts, Regions, Splits, n_counts
from glassine.learners.summaries.released import ReleasedSummary
from glassine.learners.summaries.reliance import RelianceSearch
from glassine.learners.summaries.splitting import Growth, SplitNode
from glassine.learners.summaries.tree_sets import LeafLoss, TreeSet, sample_trees
from glassine.models import DecisionTree, Guarantee
from glassine.records.arrays import AnyArray, Array, Ints
from glassine.records.reading import read_settled
from glassine.sealed.binned import read_cells

REPRESENTATIVES = 400
"""Representative records on which trees are compared in a region: a share is then known to about .025."""

COMPARED = 100
"""Of these, those on which replicates are compared with the summary in a leaf."""

BEYOND = 0.5
"""Standard deviations of replicates by which intervals reach beyond them.

On the two splits of Adult at epsilon 1 that chose it, 24 of 28 intervals contained both true ends, 21 without; on two
others 25, with and without."""


@dataclass(frozen=True, slots=True, eq=False)
class Area:
    """Representative records of a region: their bins, shape (attributes, n), and how much of each is in it, (n,)."""

    codes: Ints
    weights: Array

    @classmethod
    def of(
        cls, released: ReleasedSummary, domain: Domain, literals: Sequence[Literal], most: int = REPRESENTATIVES
    ) -> Area:
        """Return at most so many representative records that satisfy all literals."""
        codes = representatives(junction_tree(released)).codes
        weights = np.ones(codes.shape[1])
        for place, shares in bin_shares(released, domain, literals).items():
            weights *= shares[codes[place]]
        inside = np.flatnonzero(weights > 0)
        # Representatives stand in no order but by class.
        chosen = np.random.default_rng(2).permutation(inside)[:most]
        return cls(codes[:, chosen], weights[chosen])

    def ambiguity(self, trees: TreeSet, target: Target) -> tuple[float, float]:
        """Return how far the decisions of trees differ for these records, and the standard error of that mean."""
        if not len(self.weights):
            raise InvalidParameterError("the summary expects no records in the region.", remedy="Name a larger one.")
        decisions = decided(trees, target, self.codes)
        values = decisions.sum(axis=1) > 1 if target.classes is not None else decisions[:, 1] - decisions[:, 0]
        shares = self.weights / self.weights.sum()
        mean = float(shares @ values)
        return mean, float(np.sqrt(shares**2 @ (values - mean) ** 2))


def decided(trees: TreeSet, target: Target, codes: Ints) -> AnyArray:
    """Return the classes that trees predict for records, shape (n, classes), or the least and greatest number."""
    decisions, (half, middle) = trees.decisions(codes), target.scale
    return decisions if target.classes is not None else half * decisions + middle


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class NearOptimalTrees:
    """All trees whose expected errors are near the lowest, under a summary's distribution.

    A tree tests fixed literals: those of the summary's bins. Each leaf predicts its most frequent class, or its mean.
    Errors of a number are squared ones, as shares of its variance.

    Attributes
    ----------
    max_depth : int
        Most splits on a path.
    slack : float
        Most errors beyond the lowest, as a share of the records, or of the variance of a number.
    lowest_errors : float
        Lowest errors of a tree, as such a share; the summary's own estimate, which is too low.
    reliances : tuple of Reliance
        Importance intervals, one per attribute.
    best : DecisionTree
        A tree of the lowest errors.
    n_replicates : int
        Summaries, released again from this one, that the intervals also cover.
    guarantee : Guarantee
        That of the summary, which covers all of this.
    """

    max_depth: int
    slack: float
    lowest_errors: float
    reliances: tuple[Reliance, ...]
    best: DecisionTree
    n_replicates: int
    guarantee: Guarantee
    _trees: TreeSet = field()
    _released: ReleasedSummary = field()
    _domain: Domain = field()
    _target: Target = field()
    _publish: Callable[[SplitNode], DecisionTree] = field()
    _offsets: Array = field()

    def __repr__(self) -> str:
        return (
            f"<trees of depth {self.max_depth} within {self.slack:.1%} of the lowest errors, {self.lowest_errors:.1%}>"
        )

    @property
    def indispensable(self) -> tuple[str, ...]:
        """Attributes that every near-optimal tree tests, under the summary and all its replicates."""
        return tuple(one.attribute for one in self.reliances if one.indispensable)

    def sample(self, n: int = 10, random_state: int | None = None) -> tuple[DecisionTree, ...]:
        """Return near-optimal trees, each equally likely and independent; no budget is used.

        Parameters
        ----------
        n : int, default=10
            How many, in [1, 1000].
        random_state : int, optional
            Seed; nothing about records depends on its secrecy.
        """
        trees, _ = sample_trees(self._trees, check_whole(n, "n", 1, 1000), np.random.default_rng(random_state))
        return tuple(self._publish(tree) for tree in trees)

    def count(self) -> float:
        """Return about how many near-optimal trees there are, from 200 samples."""
        return sample_trees(self._trees, 200, np.random.default_rng(0))[1]

    def decisions(self, records: Any) -> AnyArray:
        """Return the classes that near-optimal trees predict for records, shape (n, classes).

        All trees agree on a record with one class. Of a number it is their least and greatest prediction, shape (n, 2).
        The answer says nothing of training records, but it
        is not protected: do not pass records that are to stay private.

        Parameters
        ----------
        records : frame, mapping or array
            Records of the attributes, such as those about which someone asks.

        Raises
        ------
        InvalidDataError
            If the records lack an attribute.
        """
        columns = read_settled(records, self._domain, keep_undeclared=True)
        coarse = self._released.coarse
        cells = read_cells(columns, [axis.grid for axis in coarse])
        codes = np.stack([axis.bin_of[own] for axis, own in zip(coarse, cells, strict=True)])
        return decided(self._trees, self._target, codes)

    def ambiguity(self, literals: Sequence[Literal] = ()) -> float:
        """Return the share of a region's expected records for which near-optimal trees predict different classes.

        Of a number it is how far their least and greatest predictions are apart, in its units: the mean over records.
        """
        return self._ambiguity(literals)[0]

    def _ambiguity(self, literals: Sequence[Literal]) -> tuple[float, float]:
        return Area.of(self._released, self._domain, literals).ambiguity(self._trees, self._target)

    def _interval(self, ambiguity: tuple[float, float], place: int) -> tuple[float, float]:
        """Return bounds of an ambiguity, as of a reliance; place 0 is the whole domain, the others are leaves."""
        (mean, error), offsets = ambiguity, self._offsets[:, place]
        width = float(np.abs(offsets).max()) + BEYOND * math.hypot(float(offsets.std(ddof=1)), error)
        most = 1.0 if self._target.classes is not None else 2 * self._target.scale[0]
        return max(mean - width, 0.0), min(mean + width, most)

    def regions(self) -> tuple[LeafAmbiguity, ...]:
        """Return the leaves of the best tree with the :meth:`ambiguity` of each."""
        total = float(self._trees.counts.whole[0].sum())
        out: list[LeafAmbiguity] = []
        for place, (path, expected) in enumerate(_leaves(self._trees.best(), self.best), 1):
            ambiguity = self._ambiguity(path)
            low, high = self._interval(ambiguity, place)
            out.append(LeafAmbiguity(literals=path, share=expected / total, ambiguous=ambiguity[0], low=low, high=high))
        return tuple(out)

    def multiplicity(self, records: Any = None) -> Multiplicity:
        """Return all of this as plain values, of which ``glassine.report.render_html`` makes a page.

        Parameters
        ----------
        records : frame, mapping or array, optional
            Records of your own, as for :meth:`decisions`; never training records.

        Raises
        ------
        InvalidDataError
            If the records lack an attribute.
        """
        classes = self._target.classes
        disputed: dict[int, tuple[Scalar, ...]] = {}
        asked = None if records is None else self.decisions(records)
        for row, near in enumerate(() if asked is None else asked):
            if classes is None:
                if near[1] > near[0]:
                    disputed[row] = tuple(near.tolist())
            elif near.sum() > 1:
                disputed[row] = tuple(name for name, is_near in zip(classes, near, strict=True) if is_near)
        tested = np.unique(self._trees.splits.attributes)
        ambiguous = self._ambiguity(())
        return Multiplicity(
            max_depth=self.max_depth,
            slack=self.slack,
            lowest_errors=self.lowest_errors,
            n_trees=self.count(),
            n_replicates=self.n_replicates,
            reliances=self.reliances,
            tested=tuple(self.reliances[k].attribute for k in tested),
            ambiguous=ambiguous[0],
            ambiguous_between=self._interval(ambiguous, 0),
            leaves=self.regions(),
            guarantee=self.guarantee,
            target="" if classes is not None else self._target.name or "target",
            n_asked=None if asked is None else len(asked),
            disputed=disputed,
        )


def near_optimal_trees(
    released: ReleasedSummary,
    target: Target,
    growth: Growth,
    publish: Callable[[SplitNode], DecisionTree],
    *,
    guarantee: Guarantee,
    max_depth: int,
    slack: float,
    bootstrap: int,
) -> NearOptimalTrees:
    """Return the near-optimal trees of a summary; all of it is a function of what was released."""
    splits = Splits.of(growth)
    if n_counts(splits.number, released.n_classes, max_depth) > MOST_COUNTS:
        raise InvalidParameterError(
            f"trees of depth {max_depth} on {splits.number} conditions need more than {MOST_COUNTS:,} counts.",
            remedy=f"Ask for {parameter('max_depth')} {max_depth - 1}.",
        )
    regions = Regions.of(splits.number, max_depth)

    def trees_of(own: ReleasedSummary) -> TreeSet:
        tree = junction_tree(own)
        counts, loss = RegionCounts.of(tree, splits, regions), LeafLoss.of(own, tree)
        return TreeSet(splits, counts, depth=max_depth, slack=slack, least=growth.least, loss=loss)

    trees = trees_of(released)
    root = trees.best()
    best = publish(root)
    leaves = [Area.of(released, growth.domain, path, COMPARED) for path, _ in _leaves(root, best)]
    areas = [Area.of(released, growth.domain, ()), *leaves]

    def ambiguities(own: TreeSet) -> list[float]:
        return [area.ambiguity(own, target)[0] if len(area.weights) else 0.0 for area in areas]

    figures, differing = [_figures(trees)], [ambiguities(trees)]
    for again in replicates(released, bootstrap):
        own = trees_of(again)
        figures.append(_figures(own))
        differing.append(ambiguities(own))
    low, high, absent = (np.array([one[i] for one in figures]) for i in range(3))
    reliances = tuple(
        Reliance(
            attribute=axis.grid.attribute,
            # Replicates lie beyond the summary on the side on which it lies beyond the truth: noise blurs twice.
            low=float(min(low[:, k].min(), 2 * low[0, k] - low[1:, k].max()) - BEYOND * low[1:, k].std(ddof=1)),
            high=float(max(high[:, k].max(), 2 * high[0, k] - high[1:, k].min()) + BEYOND * high[1:, k].std(ddof=1)),
            loss_without=float(absent[:, k].min()),
            indispensable=bool(absent[:, k].min() > slack),
            agreement=float((absent[:, k] > slack).mean()),
        )
        for k, axis in enumerate(released.coarse)
    )
    return NearOptimalTrees(
        max_depth=max_depth,
        slack=slack,
        lowest_errors=trees.lowest_share,
        reliances=reliances,
        best=best,
        n_replicates=bootstrap,
        guarantee=guarantee,
        _trees=trees,
        _released=released,
        _domain=growth.domain,
        _target=target,
        _publish=publish,
        _offsets=np.array(differing[1:]) - differing[0],
    )


def _leaves(root: SplitNode, tree: DecisionTree) -> list[tuple[tuple[Literal, ...], float]]:
    """Return the conditions of each leaf of a grown tree, which was published, and its expected records."""
    out: list[tuple[tuple[Literal, ...], float]] = []

    def walk(part: SplitNode, path: tuple[Literal, ...], node: int) -> None:
        if part.true is None or part.false is None:
            out.append((path, float(part.counts.sum())))
            return
        for side, branch in zip((part.true, part.false), tree.nodes[node].branches, strict=True):
            walk(side, (*path, branch.literal), branch.child)

    walk(root, (), 0)
    return out


def _figures(trees: TreeSet) -> tuple[list[float], list[float], list[float]]:
    """Return least and greatest reliance on each attribute, and the loss without it, as shares of the errors' unit."""
    n_attributes, total = len(trees.splits.sizes), trees.total
    reliance = RelianceSearch(trees)
    ranges = [reliance.of(k) for k in range(n_attributes)]
    absent = [(trees.lowest_without(k) - trees.lowest) / total for k in range(n_attributes)]
    return [low / total for low, _ in ranges], [high / total for _, high in ranges], absent
