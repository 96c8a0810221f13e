"""Private bins: noisy counts on grids that halve where there are enough records, merged where there are not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from glassine.domain import Binary, Domain, Integer, Real
from glassine.domain.attributes import Attribute, Scalar, code_cuts
from glassine.domain.grid import FINEST, finest_cuts
from glassine.domain.refusals import refuse_prefixes
from glassine.domain.special_codes import SpecialCodes
from glassine.errors import InvalidParameterError, parameter
from glassine.models import CategoryBins, NumericBins
from glassine.records.arrays import Array, Bools, Ints
from glassine.sealed.gaussian import SumsOracle
from glassine.sealed.noisy_sums import Portion, SumsRelease
from glassine.sealed.released_bins import Grid
from glassine.sealed.residuals import Spans

# The public cells of each attribute, before anything is counted.


def public_grids(
    domain: Domain,
    bins: Mapping[str, Any] | None,
    *,
    equal: int | None = None,
    declared: Mapping[str, Any] | None = None,
) -> tuple[Grid, ...]:
    """Return the public cells of each attribute.

    ``bins`` are those that the user fixes: increasing cut points of a number, lists of values of a category; None
    stands for missing ones, which have a bin of their own where no list holds it. ``equal`` is the number of cells of
    equal width of each number, without refinement; by default cells are refined. ``declared`` are cut points of other
    numbers between which the first nodes lie; these are refined.

    Guarantee
    ---------
    none: nothing is read from data.
    """
    refuse_prefixes(domain, "additive models and summaries")
    bins = {} if bins is None else bins
    if not isinstance(bins, Mapping):
        raise InvalidParameterError(
            f"{parameter('bins')} must map attributes to cut points or groups, got {type(bins).__name__}."
        )
    for name in bins:
        if name not in domain:
            raise InvalidParameterError(
                f"{parameter('bins')} name {name!r}, which is not an attribute of the domain.", remedy="Declare it."
            )
    first = {} if declared is None or equal is not None else declared
    return tuple(_grid(name, domain[name], bins.get(name), equal, first.get(name, ())) for name in domain)


def _grid(name: str, attribute: Attribute, bins: object, equal: int | None, declared: Sequence[float]) -> Grid:
    if isinstance(attribute, Integer | Real):
        bounds = (float(attribute.lo), float(attribute.hi))
        finest = np.asarray(finest_cuts(attribute, cells=equal or FINEST), dtype=np.float64)
        plain = finest if bins is None else _given_cuts(name, attribute, bins)
        refined = bins is None and equal is None
        sizes = _sizes(len(np.union1d(plain, code_cuts(attribute))) + 1) if refined else (1,)
        if refined and declared:
            plain = _with(plain, declared, whole=isinstance(attribute, Integer))
        cuts = np.union1d(plain, code_cuts(attribute))
        if refined and declared:
            # One node for all cells, which the thresholds part.
            sizes = (len(cuts) + 1, *(sizes[1:] or (1,)))
        return Grid(
            attribute=name,
            cuts=cuts,
            groups=None,
            sizes=sizes,
            missing=attribute.missing,
            fixed=bins is not None,
            bounds=bounds,
            codes=SpecialCodes(attribute.codes),
            continued=_continued(cuts, plain, np.searchsorted(cuts, [*attribute.codes]).tolist()),
            starts=tuple((np.searchsorted(cuts, declared) + 1).tolist()) if refined and declared else (),
        )
    values: tuple[Scalar, ...] = (0, 1) if isinstance(attribute, Binary) else attribute.values
    # Missing values are a category like the others; what is not declared is in the last cell.
    listed = (*values, None) if attribute.missing else values
    groups = tuple((value,) for value in listed) if bins is None else _given_groups(name, listed, bins)
    return Grid(attribute=name, cuts=None, groups=groups, sizes=(1,), missing=True, fixed=bins is not None, bounds=None)


def _continued(cuts: Array, plain: Array, coded: list[int]) -> tuple[int, ...]:
    """Return the cells behind special codes that no cut, other than around these, parts from the cell before them."""
    out = []
    for cell in (code + 1 for code in coded if code < len(cuts) and code + 1 not in coded):
        before = next((at for at in range(cell - 1, -1, -1) if at not in coded), None)
        if before is not None and not ((plain >= cuts[before]) & (plain <= cuts[cell - 1])).any():
            out.append(cell)
    return tuple(out)


def joined_cells(grid: Grid) -> Ints:
    """Return for each cell, the last one included, the first of those that are one with it around special codes."""
    out, coded = np.arange(grid.n_cells + 1), coded_cells(grid)
    for cell in sorted(grid.continued):
        out[cell] = out[next(at for at in range(cell - 1, -1, -1) if at not in coded)]
    return out


def coded_cells(grid: Grid) -> list[int]:
    """Return the cells of the special codes of a number."""
    if grid.cuts is None or not grid.codes:
        return []
    places: list[int] = np.searchsorted(grid.cuts, [*grid.codes]).tolist()
    return places


def _with(cuts: Array, declared: Sequence[float], *, whole: bool) -> Array:
    """Return cut points with declared ones, which stand for those that part whole numbers at the same place."""
    if whole:
        cuts = np.setdiff1d(cuts, np.floor(declared) + 0.5)
    return np.union1d(cuts, np.asarray(declared, dtype=np.float64))


def _sizes(n_cells: int) -> tuple[int, ...]:
    """Return the widths of nodes, level by level: about eight nodes first, then each in four."""
    # A record pays on every level: four children a node halve the levels of a binary tree, and the noise with them.
    bits = max(0, math.ceil(math.log2(n_cells)))
    depth = min(3, bits)
    sizes = [2 ** (bits - depth)]
    while depth < bits:
        depth = min(bits, depth + 2)
        sizes.append(2 ** (bits - depth))
    return tuple(sizes)


def _given_cuts(name: str, attribute: Integer | Real, bins: object) -> Array:
    try:
        cuts = np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError):
        cuts = np.array([np.nan])
    low, high = attribute.ends
    inside = cuts.ndim == 1 and bool(((cuts >= low) & (cuts < high)).all())
    if not inside or not all(a < b for a, b in pairwise(cuts.tolist())) or not len(cuts) <= FINEST:
        raise InvalidParameterError(
            f"{parameter('bins')} of {name!r} must be strictly increasing cut points in [{low}, "
            f"{high}), at most "
            f"{FINEST}, got {bins!r}."
        )
    return cuts


def _given_groups(name: str, values: tuple[Scalar | None, ...], bins: Any) -> tuple[tuple[Scalar | None, ...], ...]:
    try:
        groups = tuple(tuple(group) if not isinstance(group, str) else (group,) for group in bins)
    except TypeError:
        groups = ()
    if None in values and not any(value is None for group in groups for value in group):
        groups = (*groups, (None,))
    listed = [value for group in groups for value in group]
    if not groups or not all(groups) or len(listed) != len(values) or set(listed) != set(values):
        raise InvalidParameterError(
            f"{parameter('bins')} of {name!r} must be groups that hold each declared value once, got {bins!r}. None "
            "stands for "
            "missing values, where the domain allows them."
        )
    return groups


# Noisy counts of cells, merged into the released bins of one attribute.


MERGE = 2.0
"""Neighbouring cells are merged until their noisy count exceeds so many standard deviations; twice that splits one.

Bins this fine pay where each term has its own penalty (docs/papers/dp-ebm.md)."""

MOST_BINS = 128
"""Most bins of one number: smoothing takes the cube of it, and a code one byte."""


FINE = 1e-6
"""Relative size of a step in the number of records of a run that makes no difference to the bins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The released bins of one attribute."""

    grid: Grid  # The public cells
    bin_of: Ints  # Bin of each cell, the last one behind the others; shape (cells + 1,)
    counts: Array  # Noisy number of records in each bin; shape (bins,)
    variances: Array  # Variance of that noise; shape (bins,)

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.counts)

    @property
    def useful(self) -> bool:
        """Whether at least two bins seem to hold records."""
        return sum(map(self._seen, range(self.n_bins))) > 1

    def _seen(self, place: int) -> bool:
        """Return whether a bin seems to hold records."""
        return bool(self.counts[place] > MERGE * math.sqrt(self.variances[place]))

    @property
    def ordered(self) -> bool:
        """Whether the bins are intervals of a number."""
        return self.grid.cuts is not None

    @property
    def n_ordered(self) -> int:
        """Number of bins in order; behind them come those of special codes, and that of the last cell."""
        return int(np.delete(self.bin_of[:-1], coded_cells(self.grid)).max()) + 1

    def published(self) -> tuple[NumericBins | CategoryBins, Ints]:
        """Return the bins of a model, and for each the index of the bin here, or -1 where no record can be."""
        last = int(self.bin_of[-1]) if self.grid.missing else -1
        # By the domain no category is undeclared: a score that noise may be all of would be one of any size.
        if self.grid.cuts is None and last not in self.bin_of[:-1] and not self._seen(last):
            last = -1
        if self.grid.cuts is not None:
            # A cut of the model stands wherever two neighbouring cells are in different bins.
            borders = np.flatnonzero(np.diff(self.bin_of[:-1]))
            bins = NumericBins(
                self.grid.attribute,
                tuple(float(cut) for cut in self.grid.cuts[borders]),
                bounds=self.grid.bounds,
                codes=self.grid.codes,
            )
            return bins, np.append(self.bin_of[np.append(borders, self.grid.n_cells - 1)], last)
        groups = self.grid.groups or ()
        listed = sorted(set(self.bin_of[:-1].tolist()))
        merged = tuple(
            tuple(value for group, to in zip(groups, self.bin_of, strict=False) if to == number for value in group)
            for number in listed
        )
        return CategoryBins(self.grid.attribute, merged), np.array([*listed, last])


def counted_once(index: Ints) -> Bools:
    """Return which published bins have a count of their own: the last may share that of another, or have none."""
    # index is the second of what published returns. What lies around a special code can be one bin in two intervals.
    own: Bools = np.zeros(len(index), dtype=np.bool_)
    own[np.unique(index, return_index=True)[1]] = True
    return own & (index >= 0)


class CountTree:
    """Noisy counts of the nodes of one attribute that were worth a look."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.coded = coded_cells(grid)
        self.spans: list[tuple[int, int]] = []
        self.counts: list[float] = []
        self.children: list[list[int]] = []
        self.active: list[int] = []
        self.pending: list[int] = []
        # Noisy count of the last cell: missing numbers, or undeclared categories.
        self.gap: float | None = None
        self.first = 0

    def open(self, level: int, enough: float) -> Ints:
        """Return the spans of cells whose counts are wanted next, shape (spans, 2)."""
        self.pending = []
        if level >= len(self.grid.sizes):
            return np.empty((0, 2), dtype=np.int64)
        size, end = self.grid.sizes[level], self.grid.n_cells
        parents: list[int | None] = [None]
        if level:
            # By noisy counts, so that what is opened next is post-processing of what was released.
            parents = [node for node in self.active if self.counts[node] > enough]
        for parent in parents:
            first, last = (0, end) if parent is None else self.spans[parent]
            # From the first level on a special code is a node of its own, and thresholds part nodes.
            ends = (*self.grid.starts, *(end for code in self.coded for end in (code, code + 1)))
            inner = {end for end in ends if first < end < last}
            for start, stop in pairwise(sorted({*range(first, last, size), last, *inner})):
                self.pending.append(len(self.spans))
                if parent is not None:
                    self.children[parent].append(len(self.spans))
                self.spans.append((start, stop))
                self.children.append([])
        spans = [self.spans[node] for node in self.pending]
        if not level and self.grid.missing:
            spans.append((end, end + 1))
        return np.array(spans, dtype=np.int64).reshape(-1, 2)

    def take(self, noisy: Array, level: int) -> None:
        """Take the noisy counts of the spans that :meth:`open` wanted."""
        values = noisy.tolist()
        if not level and self.grid.missing:
            self.gap = values.pop()
        self.counts += values
        self.first = self.first if level else len(values)
        self.active = self.pending

    def axis(self, noise: float, target: float | None, merge: float, per_record: int = 1) -> Axis:
        """Return the bins: the leaves, merged from left to right until each exceeds so many deviations of the noise."""
        # per_record: parts of one that exact counts are multiples of.
        spans, counts, variances = self._leaves()
        variances *= noise**2
        # Exact counts are whole parts but for the rounding of least squares.
        counts = counts if noise else np.rint(counts * per_record) / per_record
        if target is not None:
            counts = np.maximum(counts, 0.0)
        coded = [i for i, (start, _) in enumerate(spans) if start in self.coded]
        plain = np.delete(np.arange(len(spans)), coded)
        bins: list[list[int]] = []
        if self.grid.fixed:
            for i in plain.tolist():
                bins += [] if spans[i][0] in self.grid.continued else [[]]
                bins[-1].append(i)
        elif self.grid.cuts is None:
            bins = _largest(counts, noise, absorb=False) if target is None else _largest(counts, target, absorb=True)
        else:
            least = merge * noise if target is None else target
            runs = _runs(counts[plain], least)
            if len(runs) > MOST_BINS:
                runs = _most_runs(counts[plain], least)
            bins = [plain[run].tolist() for run in runs]
        bins += [[i] for i in coded]
        bin_of = np.zeros(self.grid.n_cells + 1, dtype=np.int64)
        for i, members in enumerate(bins):
            for leaf in members:
                bin_of[spans[leaf][0] : spans[leaf][1]] = i
        merged = [float(counts[members].sum()) for members in bins]
        spread = [float(variances[members].sum()) for members in bins]
        # Undeclared or missing values that are too few share the last bin; otherwise they have one of their own.
        bin_of[-1] = len(merged) - 1
        if self.gap is not None and target is not None and self.gap < target and not self.grid.fixed:
            merged[-1] += max(self.gap, 0.0)
            spread[-1] += noise**2
        elif self.gap is not None:
            bin_of[-1] = len(merged)
            merged.append(self.gap)
            spread.append(noise**2)
        return Axis(grid=self.grid, bin_of=bin_of, counts=np.array(merged), variances=np.array(spread))

    def _leaves(self) -> tuple[list[tuple[int, int]], Array, Array]:
        """Return spans, counts and variances of the leaves, after least squares over the tree."""
        size = len(self.spans)
        # Lists, because most nodes have four children, for which arrays take longer.
        # Upwards: each node's own count and the sum of its children, weighed by their precision. Downwards: what the
        # children lack of their node is divided by their variances.
        value, variance = list(self.counts), [1.0] * size
        for node in reversed(range(size)):
            below = self.children[node]
            if below:
                total, spread = sum(value[i] for i in below), sum(variance[i] for i in below)
                value[node] = (value[node] * spread + total * variance[node]) / (spread + variance[node])
                variance[node] = variance[node] * spread / (spread + variance[node])
        for node in range(size):
            below = self.children[node]
            if below:
                spread = sum(variance[i] for i in below)
                rest, excess = value[node] - sum(value[i] for i in below), spread - variance[node]
                for i in below:
                    share = variance[i] / spread
                    value[i] += share * rest
                    variance[i] -= share * excess * share
        leaves = sorted((self.spans[node], node) for node in range(size) if not self.children[node])
        at = [node for _, node in leaves]
        return [span for span, _ in leaves], np.array(value)[at], np.array(variance)[at]


def _largest(counts: Array, least: float, *, absorb: bool) -> list[list[int]]:
    """Return the cells with at least so many records, and one bin of all others, which may take in a small one."""
    bins = [[i] for i in range(len(counts)) if counts[i] >= least]
    rest = [i for i in range(len(counts)) if not counts[i] >= least]
    if absorb and rest and bins and counts[rest].sum() < least:
        smallest = min(bins, key=lambda own: float(counts[own[0]]))
        bins.remove(smallest)
        rest = sorted([*rest, *smallest])
    return [*bins, rest] if rest else bins


def _runs(counts: Array, least: float) -> list[list[int]]:
    """Return runs of neighbours, each with at least so many records but for a single one."""
    runs: list[list[int]] = []
    run: list[int] = []
    total = 0.0
    for i, count in enumerate(counts.tolist()):
        run.append(i)
        total += count
        if total >= least:
            runs.append(run)
            run, total = [], 0.0
    if run:
        runs.append(run)
    # What is left over at the end, perhaps negative, joins the last run.
    while len(runs) > 1 and not counts[runs[-1]].sum() >= least:
        rest = runs.pop()
        runs[-1] += rest
    return runs


def _most_runs(counts: Array, least: float) -> list[list[int]]:
    """Return about as many runs as there may be, where at so few records each there would be more."""
    # Halving finds the same runs from any number that is too small: less noise leaves no fewer bins.
    most = max(float(counts.sum()), least) + 1.0
    least, runs = max(least, most * FINE), [list(range(len(counts)))]
    while most > least * (1 + FINE) and len(runs) < MOST_BINS:
        middle = math.sqrt(least * most)
        halved = _runs(counts, middle)
        if len(halved) > MOST_BINS:
            least = middle
        else:
            most, runs = middle, halved
    return runs


IN_CELLS = "numbers of records in cells"
"""Name of the release, by which a certificate states it."""

PROOF = "learners/additive/grids.md"


def release_bins(
    oracle: SumsOracle,
    portion: Portion,
    grids: tuple[Grid, ...],
    *,
    quantiles: float | None = None,
    merge: float = MERGE,
) -> list[Axis]:
    """Release the bins and noisy counts of all attributes.

    With ``quantiles``, cells of a number merge until each holds one in so many of the records, by their noisy total,
    and at least one; by default as far as the noise asks for. ``merge`` stands for :data:`MERGE` where thresholds are
    declared. Of either, at most :data:`MOST_BINS` bins are left.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: on each level of an attribute's tree a
    record is in at most one node; see ``grids.md``.
    """
    # A special code parts a node in three, a threshold in two, and no more nodes than cells are disjoint.
    nodes = sum(
        min(-(-grid.n_cells // size) + 2 * len(grid.codes) + len(grid.starts), grid.n_cells)
        for grid in grids
        for size in grid.sizes
    )
    drawing = oracle.release(
        SumsRelease(
            name=IN_CELLS,
            squared=sum(len(grid.sizes) for grid in grids),
            values=nodes + sum(grid.missing for grid in grids),
            proof=PROOF,
        ),
        portion,
    )
    trees = [CountTree(grid) for grid in grids]
    for level in range(max(len(grid.sizes) for grid in grids)):
        wanted = tuple(tree.open(level, 2 * MERGE * drawing.deviation) for tree in trees)
        noisy = drawing.ask(Spans(grids=grids, spans=wanted))
        at = 0
        for tree, spans in zip(trees, wanted, strict=True):
            tree.take(noisy[at : at + len(spans)], level)
            at += len(spans)
    least = None
    if quantiles is not None:
        # Each attribute counts all records; those with fewer cells carry less noise.
        precision = np.array([1.0 / max(tree.first, 1) for tree in trees])
        totals = np.array([sum(tree.counts[: tree.first]) + (tree.gap or 0.0) for tree in trees])
        least = max(float(precision @ totals / precision.sum()) / quantiles, 1.0)
    return [tree.axis(drawing.deviation, least, merge if tree.grid.starts else MERGE, drawing.parts) for tree in trees]
