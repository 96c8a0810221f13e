"""Each statement of the paper judged by the results, on both datasets: ``claims.csv`` and ``evidence.csv``.

``statements.csv`` names the judge of each statement. Figures of a model are exact; the interval is over the five
splits, within which levels of size, accuracy or depth share the records.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from comparing import gaps_of, indexed, roots
from fits import CART, DL85, GREEDY, LIST, PURER, TELLING, TELLING_TREE, TREE, counted
from private_models import FOREST_BUDGETS, gains, leaks
from random_trees import FIGURES, LEARNERS, largest
from settings import DATA_SETS, DEPTHS, NAMES, SEEDS, SUPPORTS
from study import FOLDER, Row, options, read, select, text
from worked_examples import tables_5_to_7, tree_of_table_2

from papers.common.judging import (
    AT_LEAST,
    EVERY,
    FIGURE,
    MEAN,
    NONE,
    Comparison,
    Judgement,
    clustered,
    within,
    write_judged,
)

RECORDS = {"compas": 5771, "adult": 3907}
WIDTH = {"compas": 27, "adult": 24}
LARGEST = SUPPORTS[0]
PYDL85 = "pydl8.5"
"""DL8.5 as released today, run on both datasets to four or five splits on a path."""

Key = tuple[str, str, str, str, str]
Splits = dict[str, list[float]]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The rows that statements are judged by.

    They are of models, those without a split, the peer's own trees, private forests, random trees and
    worked examples.
    """

    grid: Sequence[Row]
    trivial: Sequence[Row]
    peers: Sequence[Row]
    forests: Sequence[Row]
    random: Sequence[Row]
    worked: Sequence[Row]

    @cached_property
    def models(self) -> dict[Key, Row]:
        """The models that there are, by data, learner, seed, support and depth."""
        names = ("data", "learner", "seed", "support", "depth")
        rows = [row for row in self.grid if row["size"]] + self.own_trees
        return {(row[names[0]], row[names[1]], row[names[2]], row[names[3]], row[names[4]]): row for row in rows}

    @cached_property
    def by_learner(self) -> dict[tuple[str, str, str, str], list[Row]]:
        """The models of each dataset, learner, seed and support, shallow ones first."""
        return indexed([*self.models.values()])

    @cached_property
    def own_trees(self) -> list[Row]:
        """The trees that DL8.5 as released returns, as rows of the grid."""
        return [
            row | {"train": text(1 - int(row["errors"]) / RECORDS[row["data"]]), "dist_g aware": "", "known": ""}
            for row in select(self.peers, learner=PYDL85)
            if row["size"] and row["dist_g"]
        ]

    def paired(self, data: str, one: str, other: str) -> dict[str, list[tuple[Row, Row]]]:
        """Return the models of two learners at equal parameters, by split."""
        out: dict[str, list[tuple[Row, Row]]] = {}
        for seed in SEEDS:
            for support in SUPPORTS:
                for depth in DEPTHS:
                    a = self.models.get((data, one, seed, support, depth))
                    b = self.models.get((data, other, seed, support, depth))
                    if a is not None and b is not None:
                        out.setdefault(seed, []).append((a, b))
        return out

    def at_equal(self, data: str, greedy: str, optimal: str, by: str, what: str) -> Splits:
        """Return the optimal figure less the greedy one at equal size or accuracy, by split."""
        found, starts = self.by_learner, roots(self.trivial)
        return {
            seed: [
                gap
                for support in SUPPORTS
                for gap in gaps_of(
                    [found.get((data, one, seed, support), []) for one in (greedy, optimal)],
                    starts.get((data, seed)),
                    what,
                    by,
                    "dist_g",
                )
            ]
            for seed in SEEDS
        }

    def parameters(self, data: str, one: str, other: str, name: str) -> Splits:
        """Return one learner's figure less another's at equal parameters, by split."""
        pairs = self.paired(data, one, other)
        return {seed: [float(a[name]) - float(b[name]) for a, b in rows] for seed, rows in pairs.items()}


def _turned(splits: Mapping[str, Sequence[float]], sign: int) -> Splits:
    return {seed: [sign * value for value in values] for seed, values in splits.items()}


SHORT = {
    TREE: "optimal, least telling",
    TELLING_TREE: "optimal, most telling",
    DL85: "DL8.5, published rows",
    PYDL85: "DL8.5, run here",
    LIST: "optimal, least telling",
    TELLING: "optimal, most telling",
    GREEDY: "GreedyRL",
    PURER: "GreedyRL, purer part",
    CART: "CART",
}

Pair = tuple[str, str, str]
TREES: tuple[Pair, ...] = tuple(
    (data, CART, optimal)
    for data in DATA_SETS
    for optimal in (TREE, TELLING_TREE, DL85, PYDL85)
    if (data, optimal) != ("adult", DL85)
)
LISTS: tuple[Pair, ...] = tuple(
    (data, greedy, optimal) for data in DATA_SETS for greedy in (GREEDY, PURER) for optimal in (LIST, TELLING)
)


def _named(data: str, greedy: str, optimal: str) -> str:
    return f"{NAMES[data]}: {SHORT[optimal]} against {SHORT[greedy]}"


def _by(found: Evidence, pairs: Sequence[Pair], by: str, what: str, sign: int) -> tuple[Comparison, ...]:
    return tuple(clustered(_named(*pair), _turned(found.at_equal(*pair, by, what), sign)) for pair in pairs)


def certified(found: Evidence) -> Judgement:
    """Judge whether the published optimal trees have the fewest errors: each tree beyond them is an error."""
    pairs = found.paired("compas", TREE, DL85)
    beyond = {
        seed: [-round(RECORDS["compas"] * (float(a["train"]) - float(b["train"]))) for a, b in rows]
        for seed, rows in pairs.items()
    }
    worst = -min(min(values) for values in beyond.values())
    seen = f"of 5,771 records the worst published tree has {worst} errors more than the best"
    return Judgement(
        rule=AT_LEAST, seen=seen, comparisons=(clustered("published COMPAS trees, searched again", beyond),)
    )


def coefficient(found: Evidence) -> Judgement:
    """Judge whether a cost just below one error a rule leaves the errors at their minimum."""
    comparisons = []
    for data in DATA_SETS:
        lost: Splits = {}
        for seed in SEEDS:
            for support in SUPPORTS:
                rows = [found.models[data, LIST, seed, support, depth] for depth in DEPTHS]
                errors = [round(RECORDS[data] * (1 - float(row["train"]))) for row in rows]
                for depth in range(len(DEPTHS)):
                    costs = [(e + 0.99 * int(row["size"]), e) for e, row in zip(errors, rows, strict=True)][: depth + 1]
                    lost.setdefault(seed, []).append(errors[depth] - min(costs)[1])
        comparisons.append(clustered(f"{NAMES[data]}: lists of fewest cost at 0.99 errors a rule", lost))
    return Judgement(rule=AT_LEAST, seen="a list of more errors is a case against", comparisons=tuple(comparisons))


def size_trees(found: Evidence) -> Judgement:
    """Judge whether optimal trees reveal more at equal size."""
    return Judgement(rule=MEAN, seen="Dist_G, CART less optimal", comparisons=_by(found, TREES, "size", "Dist_G", -1))


def size_lists(found: Evidence) -> Judgement:
    """Judge whether optimal lists reveal more at equal size."""
    return Judgement(rule=MEAN, seen="Dist_G, greedy less optimal", comparisons=_by(found, LISTS, "size", "Dist_G", -1))


def accuracy_trees(found: Evidence) -> Judgement:
    """Judge whether optimal trees always reveal less at equal accuracy, whichever of the optima is published."""
    return Judgement(rule=EVERY, seen="Dist_G, optimal less CART", comparisons=_by(found, TREES, "train", "Dist_G", 1))


def accuracy_lists(found: Evidence) -> Judgement:
    """Judge whether optimal lists always reveal less at equal accuracy, whichever of the optima is published."""
    seen = "Dist_G, optimal less greedy"
    return Judgement(rule=EVERY, seen=seen, comparisons=_by(found, LISTS, "train", "Dist_G", 1))


def more_accurate(found: Evidence) -> Judgement:
    """Judge whether optimal models are more accurate at equal size."""
    pairs = [pair for pair in (*TREES, *LISTS) if pair[2] in (TREE, LIST)]
    return Judgement(rule=MEAN, seen="training accuracy", comparisons=_by(found, pairs, "size", "train", 1))


def compact(found: Evidence) -> Judgement:
    """Judge whether optimal models are smaller at equal accuracy."""
    pairs = [pair for pair in (*TREES, *LISTS) if pair[2] not in (TELLING, TELLING_TREE)]
    return Judgement(rule=MEAN, seen="splits or rules fewer", comparisons=_by(found, pairs, "train", "size", -1))


def sixty(found: Evidence) -> Judgement:
    """Judge the size of the largest tree: above 60, below the next ten."""
    sizes = {
        (data, learner): max(int(row["size"]) for key, row in found.models.items() if key[:2] == (data, learner))
        for data, learner in (("compas", CART), ("adult", CART), ("compas", DL85))
    }
    seen = "; ".join(f"{NAMES[data]}, {SHORT[learner]}: {size}" for (data, learner), size in sizes.items())
    largest = within("largest tree of both datasets", [(max(sizes.values()), 61, 69)])
    return Judgement(rule=FIGURE, seen=seen, comparisons=(largest,))


def _largest(found: Evidence, data: str, learner: str) -> dict[str, dict[int, int]]:
    """Return how many records each number of known attributes has in the largest models, by split."""
    return {seed: counted(row["known"]) for seed, row in largest(found.grid, data, learner).items()}


def uneven(found: Evidence) -> Judgement:
    """Judge the two ends of the curve of optimal lists on Adult, in every split."""
    comparisons = []
    for learner in (LIST, TELLING):
        known = _largest(found, "adult", learner)
        high = {seed: [1 - min(counts) / WIDTH["adult"] - 0.95] for seed, counts in known.items()}
        low = {seed: [0.60 - (1 - max(counts) / WIDTH["adult"])] for seed, counts in known.items()}
        comparisons += [
            clustered(f"{SHORT[learner]}: least exposed above 0.95", high),
            clustered(f"{SHORT[learner]}: most exposed below 0.60", low),
        ]
    return Judgement(
        rule=EVERY, seen="distance of the curve's ends from the printed bounds", comparisons=tuple(comparisons)
    )


def everywhere(found: Evidence) -> Judgement:
    """Judge whether the largest trees leave entropy more unevenly than random trees of as many leaves."""
    comparisons = []
    for data in DATA_SETS:
        for learner in LEARNERS:
            rows = select(found.random, data=data, learner=learner)
            for name in FIGURES if rows else ():
                gaps = {row["seed"]: [float(row[name]) - float(row[f"{name}, random"])] for row in rows}
                comparisons.append(clustered(f"{NAMES[data]}: {SHORT[learner]}, {name}", gaps))
    return Judgement(
        rule=MEAN,
        seen="span and deviation of the entropy left, less those of random trees of equal leaves",
        comparisons=tuple(comparisons),
    )


def _exposure(counts: Mapping[int, int], share: float) -> float:
    """Return the known attributes at a share of the records, most exposed first."""
    seen, total = 0, sum(counts.values())
    for bits in sorted(counts, reverse=True):
        seen += counts[bits]
        if seen >= share * total:
            return bits
    return min(counts)


def lists_curve(found: Evidence) -> Judgement:
    """Judge whether the curve of optimal lists lies below GreedyRL's at most proportions, split by split."""
    places = [(place + 0.5) / 200 for place in range(200)]
    comparisons = []
    for data, greedy, optimal in LISTS:
        one, other = _largest(found, data, optimal), _largest(found, data, greedy)
        shares = {
            seed: [sum(_exposure(one[seed], p) > _exposure(other[seed], p) for p in places) / len(places) - 0.5]
            for seed in one
            if seed in other
        }
        comparisons.append(clustered(_named(data, greedy, optimal), shares))
    return Judgement(
        rule=MEAN, seen="share of the proportions with less entropy left, less one half", comparisons=tuple(comparisons)
    )


def averages(found: Evidence) -> Judgement:
    """Say that the mean of the curve is Dist_G by definition."""
    return Judgement(rule=NONE, seen="an identity")


def nodes(found: Evidence) -> Judgement:
    """Judge whether CART has more splits at equal parameters."""
    comparisons = tuple(clustered(_named(*pair), found.parameters(*pair, "size")) for pair in TREES)
    return Judgement(rule=MEAN, seen="splits, CART less optimal", comparisons=comparisons)


def grows(found: Evidence) -> Judgement:
    """Judge whether sizes rise with the depth and with less support, step by step within a split."""
    comparisons = []
    for data in DATA_SETS:
        for learner in (CART, TREE, DL85, GREEDY, LIST):
            if (data, learner) == ("adult", DL85):
                continue
            deeper: Splits = {}
            wider: Splits = {}
            for seed in SEEDS:
                grid = {
                    (support, depth): int(found.models[data, learner, seed, support, depth]["size"])
                    for support in SUPPORTS
                    for depth in DEPTHS
                    if (data, learner, seed, support, depth) in found.models
                }
                deeper[seed] = [
                    grid[s, b] - grid[s, a]
                    for s in SUPPORTS
                    for a, b in pairwise(DEPTHS)
                    if (s, a) in grid and (s, b) in grid
                ]
                wider[seed] = [
                    grid[a, d] - grid[b, d]
                    for d in DEPTHS
                    for a, b in pairwise(SUPPORTS)
                    if (a, d) in grid and (b, d) in grid
                ]
            comparisons += [
                clustered(f"{NAMES[data]}: {SHORT[learner]}, one level deeper", deeper),
                clustered(f"{NAMES[data]}: {SHORT[learner]}, next lower support", wider),
            ]
    return Judgement(rule=MEAN, seen="splits or rules more, a step", comparisons=tuple(comparisons))


def gap_smaller(found: Evidence) -> Judgement:
    """Judge whether the difference in size is smaller on COMPAS; splits of two datasets are independent."""
    adult = found.parameters("adult", CART, TREE, "size")
    comparisons = []
    for optimal in (TREE, DL85):
        compas = found.parameters("compas", CART, optimal, "size")
        gaps = {seed: [sum(adult[seed]) / len(adult[seed]) - sum(compas[seed]) / len(compas[seed])] for seed in SEEDS}
        comparisons.append(clustered(f"Adult less COMPAS, {SHORT[optimal]}", gaps))
    return Judgement(rule=MEAN, seen="splits, CART less optimal", comparisons=tuple(comparisons))


def _revealed(found: Evidence, pairs: Sequence[Pair], sign: int, seen: str) -> Judgement:
    """Judge which side reveals more at equal parameters; positive differences say that the second does."""
    comparisons = tuple(clustered(_named(*p), _turned(found.parameters(*p, "dist_g"), sign)) for p in pairs)
    return Judgement(rule=MEAN, seen=seen, comparisons=comparisons)


def adult_parameters(found: Evidence) -> Judgement:
    """Judge whether CART reveals more on Adult at equal parameters."""
    return _revealed(found, [pair for pair in TREES if pair[0] == "adult"], -1, "Dist_G, optimal less CART")


def compas_parameters(found: Evidence) -> Judgement:
    """Judge whether optimal trees reveal more on COMPAS at equal parameters."""
    return _revealed(found, [pair for pair in TREES if pair[0] == "compas"], 1, "Dist_G, CART less optimal")


def lists_parameters(found: Evidence) -> Judgement:
    """Judge whether optimal lists reveal more at equal parameters."""
    return _revealed(found, LISTS, 1, "Dist_G, greedy less optimal")


def stops(found: Evidence) -> Judgement:
    """Judge whether greedy lists end before ten allowed rules, and optimal ones have all ten more often than not."""
    comparisons = []

    def lengths(data: str, learner: str) -> Splits:
        """Return the rules of the longest lists, by split."""
        return {
            seed: [float(found.models[data, learner, seed, support, DEPTHS[-1]]["size"]) for support in SUPPORTS]
            for seed in SEEDS
        }

    for data in DATA_SETS:
        allowed = float(DEPTHS[-1])
        whole = {seed: [float(size >= allowed) - 0.5 for size in own] for seed, own in lengths(data, LIST).items()}
        for greedy in (GREEDY, PURER):
            short = {seed: [allowed - size for size in own] for seed, own in lengths(data, greedy).items()}
            comparisons.append(clustered(f"{NAMES[data]}: {SHORT[greedy]}, rules short of ten", short))
        comparisons.append(clustered(f"{NAMES[data]}: optimal lists of ten rules, share less one half", whole))
    seen = "rules that greedy lists lack of ten; share of optimal lists that have all ten, less one half"
    return Judgement(rule=MEAN, seen=seen, comparisons=tuple(comparisons))


def lists_against_trees(found: Evidence) -> Judgement:
    """Judge whether a rule list reveals more than a tree of as many splits as it has rules."""
    comparisons = []
    for data in DATA_SETS:
        for trees, lists in ((TREE, TELLING), (TELLING_TREE, LIST), (CART, GREEDY)):
            gaps: Splits = {}
            for seed in SEEDS:
                for support in SUPPORTS:
                    by_size = [
                        {
                            int(found.models[key]["size"]): float(found.models[key]["dist_g"])
                            for depth in DEPTHS
                            if (key := (data, one, seed, support, depth)) in found.models
                        }
                        for one in (trees, lists)
                    ]
                    both = [size for size in by_size[0] if size > 1 and size in by_size[1]]
                    gaps.setdefault(seed, []).extend(by_size[0][size] - by_size[1][size] for size in both)
            comparisons.append(clustered(f"{NAMES[data]}: lists, {SHORT[lists]}; trees, {SHORT[trees]}", gaps))
    return Judgement(rule=EVERY, seen="Dist_G, tree less list", comparisons=tuple(comparisons))


def forests(found: Evidence) -> Judgement:
    """Judge whether private forests that beat a constant, beyond chance, leak people at every budget."""
    comparisons, seen = [], []
    for epsilon in FOREST_BUDGETS[:-1]:
        rows = select(found.forests, epsilon=epsilon)
        gain = clustered("", gains(rows))
        if gain.low > 0:
            comparisons.append(clustered(f"epsilon {epsilon}: to others less to training", leaks(rows)))
            seen.append(f"{gain.mean:+.3f} at epsilon {epsilon}")
    return Judgement(
        rule=MEAN,
        seen=f"leak of people, where accuracy is beyond a constant's: {', '.join(seen)}",
        comparisons=tuple(comparisons),
    )


def example_tree(found: Evidence) -> Judgement:
    """Judge the printed Dist of the example tree."""
    return tree_of_table_2(found.worked)


def example_records(found: Evidence) -> Judgement:
    """Judge the printed figures of one record, reconstructed in two ways."""
    return tables_5_to_7(found.worked)


JUDGES: tuple[Callable[[Evidence], Judgement], ...] = (
    example_tree,
    example_records,
    certified,
    coefficient,
    size_trees,
    size_lists,
    accuracy_trees,
    accuracy_lists,
    more_accurate,
    compact,
    sixty,
    uneven,
    everywhere,
    lists_curve,
    averages,
    nodes,
    grows,
    gap_smaller,
    adult_parameters,
    compas_parameters,
    stops,
    lists_parameters,
    lists_against_trees,
    forests,
)


def evidence(results: Path) -> Evidence:
    """Return the results of a folder."""
    return Evidence(
        grid=read(results / "grid.csv"),
        trivial=read(results / "roots.csv"),
        peers=read(results / "peers.csv"),
        forests=read(results / "private_forests.csv"),
        random=read(results / "random_trees.csv"),
        worked=read(results / "worked_examples.csv"),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge."""
    given = options(__doc__, arguments)
    write_judged(FOLDER / "statements.csv", JUDGES, evidence(given.results), given.results)


__all__ = ["JUDGES", "Evidence", "evidence", "main"]

if __name__ == "__main__":
    main(sys.argv[1:])
