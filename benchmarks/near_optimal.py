"""Near-optimal trees of private summaries against true ones: ``python benchmarks/near_optimal.py [--data NAME ...]``.

All trees of depth 3, or 2 of a number, on the summary's literals, within one point of the lowest errors: once as the
summary has them, once as the records have them that it was made from, where errors and intervals are exact. Those of a
number are squared errors, as shares of its variance. A summary is of four fifths of the records; its noise comes from
a seed and the split's number.

Some of the true trees are then published with exact counts, as an ordinary release would have them: what they reveal
together is bounded by ``reconstruct_jointly``.

A row of ``near_optimal.csv`` is one figure; budgets and splits that are stored are not measured again. ``--page``
measures nothing and writes the tables of the page. GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.additive_data import LOADERS, Additive  # noqa: E402 - after the path is set
from benchmarks.summaries import german, timed  # noqa: E402
from glassine import DecisionTree  # noqa: E402
from glassine.attacks.reconstruction.joint_rows import reconstruct_jointly  # noqa: E402
from glassine.errors import InvalidParameterError  # noqa: E402
from glassine.learners import PrivateSummary  # noqa: E402
from glassine.learners.summaries.near_optimal import NearOptimalTrees  # noqa: E402
from glassine.learners.summaries.pair_regions import RegionCounts, Regions, Splits  # noqa: E402
from glassine.learners.summaries.reliance import RelianceSearch  # noqa: E402
from glassine.learners.summaries.splitting import SplitNode  # noqa: E402
from glassine.learners.summaries.tree_sets import LeafLoss, TreeSet, sample_trees  # noqa: E402
from glassine.models import Evidence  # noqa: E402
from glassine.privacy.conversions import epsilon_from_mu, mu_from_epsilon  # noqa: E402
from glassine.records.reading import read_settled  # noqa: E402
from glassine.sealed.binned import parts_of, read_cells  # noqa: E402
from glassine.sealed.ingest import scaled  # noqa: E402
from glassine.sealed.released_bins import PARTS  # noqa: E402
from glassine.sealed.tree_family import Leaf, Split, Tree, tree_model  # noqa: E402
from papers.common.results import Row, read, say, select, write  # noqa: E402
from papers.common.tables import markdown, place  # noqa: E402

RESULTS = ROOT / "benchmarks" / "near_optimal.csv"
PAGE = ROOT / "docs" / "papers" / "near-optimal-trees.md"

DATA = ("adult", "telco", "compas", "california")
NAMES = {"adult": "Adult", "telco": "Telco", "compas": "COMPAS", "german": "German", "california": "California"}
EPSILONS = (0.5, 1.0, 4.0)
SPLITS, SEED = 3, 1

TOLERANCE = 1e-9
"""Difference of two reliances, as shares of the records, that is rounding."""

COMPARED = 4_000
"""Training records on which the decisions of true near-optimal trees are compared."""

TOGETHER = (1, 2, 4, 8)
"""Ordinary trees that are published together."""

Figures = dict[str, float]


def exact_counts(
    holds: npt.NDArray[np.bool_], weights: npt.NDArray[np.float64], splits: Splits, regions: Regions
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the counts of records, given by the literals that they satisfy (n, literals) and their parts by class."""
    both = np.stack([holds, ~holds], axis=2).reshape(len(holds), -1).astype(np.float32)
    both = np.concatenate([both, np.ones((len(holds), 1), dtype=np.float32)], axis=1)
    n_classes = weights.shape[1]
    whole = np.empty((len(regions.pairs), n_classes))
    inside = np.empty((len(regions.pairs), splits.number, n_classes))
    for label in range(n_classes):
        some = weights[:, label] > 0
        own = both[some]
        true = np.ascontiguousarray(own[:, :-1:2]) * weights[some, label, None]
        for first in np.unique(regions.pairs[:, 0]):
            rows = np.flatnonzero(regions.pairs[:, 0] == first)
            within = own[:, first] > 0
            inner = own[within][:, regions.pairs[rows, 1]]
            whole[rows, label] = inner.T @ weights[some, label][within]
            inside[rows, :, label] = inner.T @ true[within]
    return whole, inside


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """The near-optimal trees of the training records, on the literals of a summary of them."""

    trees: TreeSet
    columns: Any
    target: npt.NDArray[Any]
    codes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, summary: PrivateSummary, near: NearOptimalTrees, columns: Any, target: npt.NDArray[Any]) -> Truth:
        """Return the trees whose errors on the records are near the lowest."""
        number = summary.released_.squares is not None
        growth = summary._growth(None if number else "errors")
        splits, loss = Splits.of(growth), LeafLoss()
        if not number:
            weights = np.eye(len(summary.classes_))[target]
        else:
            values = scaled(target, summary.target_range_)
            weights = np.zeros((len(target), summary.released_.n_classes))
            for levels, parts in parts_of(values, weights.shape[1]):
                weights[np.arange(len(target)), levels] += (np.zeros(0) if parts is None else parts) / PARTS
            loss = LeafLoss(levels=summary.released_.levels, variance=float(values.var()))
        coarse = summary.released_.coarse
        cells = read_cells(columns, [axis.grid for axis in coarse])
        codes = np.stack([axis.bin_of[own] for axis, own in zip(coarse, cells, strict=True)])
        whole, inside = exact_counts(splits.holds(codes), weights, splits, Regions.of(splits.number, near.max_depth))
        margins = tuple(
            np.bincount(own, minlength=size) / len(target) for own, size in zip(codes, splits.sizes, strict=True)
        )
        counts = RegionCounts(whole=whole, inside=inside, margins=margins)
        trees = TreeSet(splits, counts, depth=near.max_depth, slack=near.slack, least=growth.least, loss=loss)
        return cls(trees=trees, columns=columns, target=target, codes=codes)


def reliances(near: NearOptimalTrees, truth: TreeSet) -> Figures:
    """Return how the intervals of reliance and the indispensable attributes of a summary compare with the true ones."""
    places = range(len(truth.splits.sizes))
    low, high = np.array([RelianceSearch(truth).of(k) for k in places]).T / truth.total
    own_low, own_high = (np.array([getattr(one, end) for one in near.reliances]) for end in ("low", "high"))
    alone_low, alone_high = np.array([RelianceSearch(near._trees).of(k) for k in places]).T / near._trees.total
    without = {
        one.attribute
        for k, one in enumerate(near.reliances)
        if (truth.lowest_without(k) - truth.lowest) / truth.total > near.slack
    }
    # Attributes in one bin can be tested by no tree, here or there.
    used = np.isin(np.arange(len(truth.splits.sizes)), truth.splits.attributes)
    holds = (own_low <= low + TOLERANCE) & (own_high >= high - TOLERANCE)
    alone = (alone_low <= low + TOLERANCE) & (alone_high >= high - TOLERANCE)
    return {
        "attributes": float(used.sum()),
        "intervals that hold both ends": float(holds[used].sum()),
        "the same without replicates": float(alone[used].sum()),
        "width against the true one": float((own_high - own_low)[used].sum() / (high - low)[used].sum()),
        "indispensable, summary": float(len(near.indispensable)),
        "indispensable, records": float(len(without)),
        "indispensable, both": float(len(without & set(near.indispensable))),
    }


def decisions(near: NearOptimalTrees, truth: Truth) -> Figures:
    """Return how often the bounds of what is decided differently hold what true near-optimal trees decide so."""
    rows = np.random.default_rng(0).permutation(len(truth.target))[:COMPARED]
    found = truth.trees.decisions(truth.codes[:, rows])
    if truth.trees.loss.levels is None:
        differing = (found.sum(axis=1) > 1).astype(np.float64)
    else:
        differing = near._target.scale[0] * (found[:, 1] - found[:, 0])
    stated = near.multiplicity()
    low, high = stated.ambiguous_between
    own = differing.mean()
    right, n_leaves = 0, 0
    for leaf in stated.leaves:
        inside = np.all([truth.columns.holds(literal) for literal in leaf.literals], axis=0)[rows]
        if inside.any():
            n_leaves += 1
            right += leaf.low <= differing[inside].mean() <= leaf.high
    return {
        "decided differently, summary": stated.ambiguous,
        "decided differently, low": low,
        "decided differently, high": high,
        "decided differently, records": float(own),
        "leaves": float(n_leaves),
        "leaves whose bounds hold": float(right),
    }


def compare(summary: PrivateSummary, columns: Any, target: npt.NDArray[Any]) -> tuple[Figures, Truth]:
    """Return how the near-optimal trees of a summary compare with those of the records that it was made from."""
    number = summary.released_.squares is not None
    near, spent = timed(lambda: summary.near_optimal(2 if number else 3))
    truth = Truth.of(summary, near, columns, target)
    excess = []
    for tree in near.sample(300, random_state=0):
        predicted = tree.predict(columns)
        if number:
            missed = float(((predicted - target) ** 2).mean() / target.var())
        else:
            missed = float((predicted != summary.classes_[target]).mean())
        excess.append(missed - truth.trees.lowest_share)
    return {
        "lowest errors, summary": near.lowest_errors,
        "lowest errors, records": truth.trees.lowest_share,
        "trees within 1 point": float((np.array(excess) <= 0.01).mean()),
        "trees within 2 points": float((np.array(excess) <= 0.02).mean()),
        **reliances(near, truth.trees),
        **decisions(near, truth),
        "processor seconds": spent,
    }, truth


def ordinary(root: SplitNode, data: Additive) -> DecisionTree:
    """Return a tree of the records as it is published without privacy: each leaf with its exact counts."""
    literals, cells = [], []

    def convert(node: SplitNode) -> Tree:
        if node.literal is None or node.true is None or node.false is None:
            counts = tuple(np.rint(node.counts).astype(int).tolist())
            cells.append(Evidence(counts=counts))
            return Leaf(int(np.argmax(counts)))
        literals.append(node.literal)
        number = len(literals) - 1
        return Split(number, convert(node.true), convert(node.false))

    root_of = convert(root)
    return tree_model(
        root_of, literals, cells, domain=data.domain, classes=data.classes, source="near-optimal", guarantee=None
    )


def together(truth: Truth, data: Additive, split: int) -> Figures:
    """Return bounds of what some ordinary near-optimal trees reveal together, in bits per record."""
    roots, _ = sample_trees(truth.trees, max(TOGETHER), np.random.default_rng(split))
    models = [ordinary(root, data) for root in roots]
    out: Figures = {}
    for n in TOGETHER:
        known, spent = timed(partial(reconstruct_jointly, models[:n], data.domain))
        out |= {
            f"{n} trees, lower": known.bits_per_record.lower,
            f"{n} trees, upper": known.bits_per_record.upper,
            f"{n} trees, if independent": known.bits_if_independent,
            f"{n} trees, most exposed": known.bits_most_exposed.lower,
            f"{n} trees, processor seconds": spent,
        }
    return out


def missing(names: Sequence[str], epsilons: Sequence[float], splits: int) -> list[tuple[str, float, int]]:
    """Return the settings that are not stored."""
    done = {(row["data"], float(row["epsilon"]), int(row["split"])) for row in read(RESULTS)}
    asked = [(name, epsilon, split) for split in range(splits) for name in names for epsilon in epsilons]
    return [setting for setting in asked if setting not in done]


def key(row: Row) -> tuple[int, float, int]:
    """Return the place of a row in the file; rows of one setting stay in order."""
    return list(NAMES).index(row["data"]), float(row["epsilon"]), int(row["split"])


def measure(name: str, epsilon: float, split: int) -> Figures:
    """Return the figures of one summary."""
    data = german() if name == "german" else LOADERS[name]()
    rows, _ = data.split(split)
    summary = PrivateSummary(
        epsilon=epsilon,
        delta=1e-6,
        domain=data.domain,
        classes=data.classes,
        target_range=data.target_range,
        random_state=SEED + split,
    ).fit(data.frame[rows], data.target[rows])
    columns = read_settled(data.frame[rows], data.domain, keep_undeclared=True)
    known = np.asarray(data.target[rows])
    if data.target_range is None:
        known = (known == (data.classes or ())[1]).astype(np.int64)
    else:
        known = np.clip(known, *data.target_range)
    try:
        figures, truth = compare(summary, columns, known)
    except InvalidParameterError:
        # Noise is too strong for a set.
        return {"refused": 1.0}
    if data.target_range is None and epsilon == 1.0:
        figures |= together(truth, data, split)
    return figures


def keep(setting: tuple[str, float, int], figures: Figures) -> None:
    """Store the figures of a setting."""
    name, epsilon, split = setting
    head = {"data": name, "epsilon": f"{epsilon:g}", "split": str(split)}
    new = ({**head, "figure": figure, "value": f"{value:.6g}"} for figure, value in figures.items())
    rows: list[Row] = sorted([*read(RESULTS), *new], key=key)
    write(RESULTS, rows)


def values(rows: Sequence[Row], figure: str, **where: str) -> list[float]:
    """Return a figure of some rows, by split."""
    return [float(row["value"]) for row in select(rows, figure=figure, **where)]


def settings(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return the stored datasets and budgets that have a set, in order."""
    return list(dict.fromkeys((row["data"], row["epsilon"]) for row in rows if row["figure"] != "refused"))


def released(rows: Sequence[Row]) -> str:
    """Return the table of released sets against true ones."""
    lines = []
    for name, epsilon in settings(rows):

        def mean(figure: str, name: str = name, epsilon: str = epsilon) -> float:
            return fmean(values(rows, figure, data=name, epsilon=epsilon))

        def total(figure: str, name: str = name, epsilon: str = epsilon) -> int:
            return round(sum(values(rows, figure, data=name, epsilon=epsilon)))

        lines.append(
            [
                NAMES[name],
                epsilon,
                f"{mean('lowest errors, summary'):.3f} / {mean('lowest errors, records'):.3f}",
                f"{100 * mean('trees within 1 point'):.0f}%",
                f"{100 * mean('trees within 2 points'):.1f}%",
                f"{total('intervals that hold both ends')} of {total('attributes')}",
                f"{total('the same without replicates')}",
                f"{mean('width against the true one'):.1f}",
                " / ".join(str(total(f"indispensable, {whose}")) for whose in ("both", "summary", "records")),
                f"{mean('processor seconds'):.0f}",
            ]
        )
    return markdown(
        [
            "data", "epsilon", "lowest errors: summary / true", "trees within 1 point", "within 2",
            "intervals with both ends", "without replicates", "width", "indispensable: both / summary / true", "CPU s",
        ],
        lines,
    )  # fmt: skip


def differing(rows: Sequence[Row]) -> str:
    """Return the table of what near-optimal trees decide differently."""
    lines = []
    for name, epsilon in settings(rows):
        one = {"data": name, "epsilon": epsilon}
        own, low, high, true = (
            values(rows, f"decided differently, {end}", **one) for end in ("summary", "low", "high", "records")
        )
        held = sum(a <= b <= c for a, b, c in zip(low, true, high, strict=True))
        digits = 0 if fmean(true) > 1 else 3
        leaves = (round(sum(values(rows, figure, **one))) for figure in ("leaves whose bounds hold", "leaves"))
        lines.append(
            [
                NAMES[name],
                epsilon,
                f"{fmean(own):.{digits}f}",
                f"{fmean(low):.{digits}f} to {fmean(high):.{digits}f}",
                f"{fmean(true):.{digits}f}",
                f"{held} of {len(true)}",
                " of ".join(map(str, leaves)),
            ]
        )
    return markdown(["data", "epsilon", "summary", "bounds", "true", "bounds that hold", "of leaves"], lines)


def price(rows: Sequence[Row]) -> str:
    """Return the table of what ordinary near-optimal trees reveal together, beside private ones."""
    lines = []
    for name in dict.fromkeys(row["data"] for row in rows):
        for n in TOGETHER:
            lower = values(rows, f"{n} trees, lower", data=name)
            if lower:
                upper, alone, most = (
                    fmean(values(rows, f"{n} trees, {end}", data=name))
                    for end in ("upper", "if independent", "most exposed")
                )
                bounds = f"{fmean(lower):.2f} to {upper:.2f}"
                apart = epsilon_from_mu(mu_from_epsilon(1.0, 1e-6) * n**0.5, 1e-6)
                lines.append([NAMES[name], str(n), bounds, f"{alone:.1f}", f"{most:.1f}", f"{apart:.2f}", "1"])
    return markdown(
        [
            "data", "trees", "ordinary: bits per record", "if independent", "most exposed, at least",
            "private trees apart: epsilon", "one summary: epsilon",
        ],
        lines,
    )  # fmt: skip


def filled(text: str, rows: Sequence[Row]) -> str:
    """Return the text of the page with its tables."""
    for name, table in (("released", released(rows)), ("differing", differing(rows)), ("price", price(rows))):
        text = place(text, name, table)
    return text


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=list(NAMES), nargs="+", default=DATA)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--page", action="store_true", help="measure nothing; write the tables of the page")
    given = parser.parse_args(None if arguments is None else list(arguments))
    for setting in [] if given.page else missing(given.data, given.epsilons, given.splits):
        started = time.process_time()
        keep(setting, measure(*setting))
        say(f"{setting}: {time.process_time() - started:.0f} CPU s")
    if PAGE.exists():
        PAGE.write_text(filled(PAGE.read_text(), read(RESULTS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
