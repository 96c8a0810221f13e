"""Each statement of the paper judged by the results: ``claims.csv`` and ``evidence.csv``.

``statements.csv`` names the judge of each statement. Bands are the paper's own: "about 5 %" and "2 %" are whole
percentage points, so that half a point either way rounds to them. Cases and intervals are of datasets: the generator
with five seeds, and five public ones with two black boxes and five seeds each. A dataset is better or worse where its
seeds differ beyond chance. What the paper prints of one dataset is compared with that dataset alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import TypeAlias

from figures import numbers, of, sizes
from public_trees import FIRST
from settings import PUBLISHED_SEED
from study import FOLDER, Row, one, options, read, select

from papers.common.judging import (
    DERIVED,
    EVERY,
    FIGURE,
    MEAN,
    NONE,
    Comparison,
    Judgement,
    clustered,
    estimated,
    exact,
    within,
    write_judged,
)

Columns: TypeAlias = "dict[tuple[str, ...], list[float]]"
"""Figures by k, of each run: a dataset, and what else distinguishes the run."""

GENERATED = "generated"

HALF = 0.005
"""Half a percentage point: what rounds to a whole one."""

SAME = 0.9422 - 0.045 - 0.8837
"""The largest difference between accuracies that the paper calls basically the same: its network has 94.22 %, its local
trees about 5 % less, at most 4.5 %, and its global tree 88.37 %."""

CLEAR = 0.045 - 0.025
"""The least difference that it calls clear: about 5 % against about 2 % below the network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The results that statements are judged by.

    Attributes
    ----------
    local, globally, example, distances, partitions, public : sequence of Row
        Rows of the files ``local_trees.csv``, ``global_tree.csv`` and so on.
    """

    local: Sequence[Row]
    globally: Sequence[Row]
    example: Sequence[Row]
    distances: Sequence[Row]
    partitions: Sequence[Row]
    public: Sequence[Row]

    def rows(self, form: str = "paper", seed: int = PUBLISHED_SEED) -> list[Row]:
        """Return the rows of a form, by k."""
        return of(self.local, form, seed)

    def get(self, name: str, form: str = "paper") -> list[float]:
        """Return a column of a form, by k, of the paper's dataset."""
        return numbers(self.rows(form), name)

    def by_run(self, figure: Callable[[Row], float], form: str = "paper", most: float = 100) -> Columns:
        """Return a figure of each run, by k up to a share of 20,000 records in per cent; without rows that lack it."""
        out: Columns = {}
        for row in self.local:
            if row["form"] == form and float(row["share"]) <= most:
                _put(out, (GENERATED, row["seed"]), figure, row)
        for row in self.public:
            if row["form"] == form and row["way"] == FIRST and int(row["k"]) <= 200 * most:
                _put(out, (row["data"], row["box"], row["seed"]), figure, row)
        return out

    def ends(self, name: str, form: str = "paper") -> Columns:
        """Return a column at the smallest k less that at the largest, of each run."""
        columns = self.by_run(lambda row: float(row[name]), form)
        return {run: [column[0] - column[-1]] for run, column in columns.items()}


def _put(out: Columns, run: tuple[str, ...], figure: Callable[[Row], float], row: Row) -> None:
    try:
        out.setdefault(run, []).append(figure(row))
    except (KeyError, ValueError):
        # The public datasets lack what the midpoint attack finds; a run without pure groups has no figure near them.
        if not out[run]:
            del out[run]


def over(name: str, columns: Columns) -> Comparison:
    """Compare datasets: each is a case, with the error of its mean over seeds; the interval is over datasets."""
    seeds: dict[str, dict[str, list[float]]] = {}
    for (data, *rest), values in columns.items():
        # Both black boxes of a seed share its records.
        seeds.setdefault(data, {}).setdefault(rest[-1] if rest else "", []).append(fmean(values))
    runs = {data: [fmean(values) for values in own.values()] for data, own in seeds.items()}
    means = clustered(name, {data: [fmean(own)] for data, own in runs.items()})
    cases = [(fmean(own), stdev(own) / math.sqrt(len(own)) if len(own) > 1 else 0.0) for own in runs.values()]
    if not cases:
        return means
    counted = estimated(name, cases, min((len(own) for own in runs.values() if len(own) > 1), default=2))
    return replace(
        means, better=counted.better, tied=counted.tied, worse=counted.worse, against=counted.against,
        below=counted.below,
    )  # fmt: skip


def _less(one_name: str, other: str) -> Callable[[Row], float]:
    return lambda row: float(row[one_name]) - float(row[other])


def _span(values: Sequence[float], places: int = 3) -> str:
    low, high = (round(value, places) + 0.0 for value in (min(values), max(values)))
    return f"{low:.{places}f} to {high:.{places}f}"


def _percent(values: Sequence[float], places: int = 1) -> str:
    return f"{_span([100 * value for value in values], places)} %"


def _turned(splits: Columns) -> Columns:
    return {seed: [-value for value in values] for seed, values in splits.items()}


def related(found: Evidence) -> Judgement:
    """Say that the bound of accuracy by fidelity holds for any data."""
    slack = [float(row["accuracy"]) - (float(row["fidelity"]) + float(row["black box"]) - 1) for row in found.rows()]
    return Judgement(rule=NONE, seen=f"accuracy lies {_span(slack)} above the bound")


def example_tree(found: Evidence) -> Judgement:
    """Say that the 303 nodes were set by our choice of records."""
    return Judgement(rule=NONE, seen=f"{one(found.example, trees='global')['nodes']} nodes")


def alike(found: Evidence) -> Judgement:
    """Judge whether groups hold less of the spread than is between them: less than half of the sum of squares."""
    loss = numbers(found.partitions, "information loss")
    shares = [0.5 - value for value in loss]
    return Judgement(
        rule=EVERY,
        seen=f"share of the spread within groups: {_span(loss)} by k",
        comparisons=(exact("one half, less the share within groups", shares),),
    )


def stable(found: Evidence) -> Judgement:
    """Judge whether nearest neighbors get the same tree more often than not, and with the same conditions."""
    comparisons = [
        over(f"share {name}, less one half", found.by_run(lambda row, column=column: float(row[column]) - 0.5))
        for column, name in (("stability tree", "with an equal tree"), ("stability path", "with equal conditions"))
    ]
    seen = f"{_span(found.get('stability tree'))}; with the same conditions {_span(found.get('stability path'))}"
    return Judgement(rule=MEAN, seen=seen, comparisons=tuple(comparisons))


def guiding(found: Evidence) -> Judgement:
    """Say by how much the guided protocol gains: it takes the first tree that agrees, else the unguided one."""
    gains = [gain for of_split in found.by_run(_less("fidelity guided", "fidelity")).values() for gain in of_split]
    return Judgement(rule=NONE, seen=f"fidelity {min(gains):+.3f} to {max(gains):+.3f}, guided less unguided")


def algorithm_2(found: Evidence) -> Judgement:
    """Judge whether Algorithm 2 as printed gives every record a group."""
    lost = [-int(row["lost as printed"]) for row in found.partitions]
    return Judgement(
        rule=DERIVED,
        seen=f"up to {-min(lost):,} of 20,100 records lost, by k",
        comparisons=(exact("records without a group", lost),),
    )


def representative(found: Evidence) -> Judgement:
    """Say that a mean of k records stands for k records."""
    least = min(int(row["smallest group"]) - int(row["k"]) for row in found.rows())
    return Judgement(rule=NONE, seen=f"the smallest group has k + {least} records at every k")


def more_privacy(found: Evidence) -> Judgement:
    """Judge whether what the trees leak falls with k."""
    comparisons = [
        over(f"{name}, smallest k less largest", found.ends(column))
        for column, name in (("gap", "advantage of the gap attack"), ("identified", "identified by midpoints"))
    ]
    return Judgement(
        rule=MEAN, seen="leaks at the smallest k less those at the largest", comparisons=tuple(comparisons)
    )


def representative_of_more(found: Evidence) -> Judgement:
    """Judge whether one tree explains more people with k."""
    comparison = over("reach, largest k less smallest", _turned(found.ends("reach")))
    return Judgement(rule=MEAN, seen="reach, largest k less smallest", comparisons=(comparison,))


def simpler(found: Evidence) -> Judgement:
    """Judge whether trees grow with k, step by step."""
    columns = found.by_run(lambda row: float(row["nodes mean"]))
    steps = {seed: [b - a for a, b in pairwise(column)] for seed, column in columns.items()}
    return Judgement(rule=EVERY, seen="mean nodes more at the next k", comparisons=(over("nodes", steps),))


def black_box(found: Evidence) -> Judgement:
    """Judge the accuracy of the network, printed with two decimals of a per cent."""
    here = found.get("black box")[0]
    return Judgement(
        rule=FIGURE, seen=f"{100 * here:.2f} %", comparisons=(within("accuracy", [(here, 0.94215, 0.94225)]),)
    )


def global_tree(found: Evidence) -> Judgement:
    """Judge accuracy and size of the global tree: the printed pair lies in the range of ten ways to break ties."""
    rows = select(found.globally, labels="true")
    accuracy, nodes = numbers(rows, "accuracy"), numbers(rows, "nodes")
    comparison = within(
        "printed figures in the range of ten seeds",
        [
            (0.8837, min(accuracy) - 0.00005, max(accuracy) + 0.00005),
            (2935, min(nodes), max(nodes)),
        ],
    )
    seen = f"{_percent(accuracy, 2)} and {min(nodes):,.0f} to {max(nodes):,.0f} nodes over ten seeds"
    return Judgement(rule=FIGURE, seen=seen, comparisons=(comparison,))


def _same(found: Evidence, one_name: str, other: str) -> Judgement:
    apart = found.by_run(lambda row: SAME - abs(float(row[one_name]) - float(row[other])))
    gaps = [a - b for a, b in zip(found.get(one_name), found.get(other), strict=True)]
    seen = f"differs by {_percent(gaps)}; at most {100 * SAME:.2f} counts as the same"
    return Judgement(rule=EVERY, seen=seen, comparisons=(over("band less difference", apart),))


def as_global(found: Evidence) -> Judgement:
    """Judge whether the unguided accuracy is that of the global tree, at every k."""
    return _same(found, "accuracy", "global tree")


def single_class(found: Evidence) -> Judgement:
    """Judge whether the gain over the global tree is larger near groups of one class than elsewhere, at k = 20."""
    gains = found.by_run(
        lambda row: (
            float(row["local near one class"])
            - float(row["global near one class"])
            - (float(row["local elsewhere"]) - float(row["global elsewhere"]))
        ),
        most=0.1,
    )
    return Judgement(
        rule=MEAN,
        seen="gain over the global tree near one-class groups, less the gain elsewhere",
        comparisons=(over("k = 20", gains),),
    )


def _below(found: Evidence, name: str, points: float) -> Judgement:
    short = [a - b for a, b in zip(found.get("black box"), found.get(name), strict=True)]
    band = within("by k", [(value, points - HALF, points + HALF) for value in short])
    return Judgement(rule=FIGURE, seen=f"{_percent(short)} below", comparisons=(band,))


def below_unguided(found: Evidence) -> Judgement:
    """Judge the distance of Protocol 1 from the black box."""
    return _below(found, "accuracy", 0.05)


def below_guided(found: Evidence) -> Judgement:
    """Judge the distance of Protocol 2 from the black box."""
    return _below(found, "accuracy guided", 0.02)


def guided_above(found: Evidence) -> Judgement:
    """Judge whether Protocol 2 is clearly more accurate than both."""
    comparisons = [
        over(
            f"guided less {name}, less {CLEAR:g}",
            found.by_run(lambda row, other=other: float(row["accuracy guided"]) - float(row[other]) - CLEAR),
        )
        for other, name in (("accuracy", "unguided"), ("global tree", "global tree"))
    ]
    return Judgement(
        rule=EVERY,
        seen=f"beyond the {100 * CLEAR:.0f} points that the paper calls clear",
        comparisons=tuple(comparisons),
    )


def by_k(found: Evidence) -> Judgement:
    """Judge whether accuracy varies with k by no more than rounds to the same whole per cent."""
    accuracy = found.get("accuracy")
    span = max(accuracy) - min(accuracy)
    return Judgement(
        rule=FIGURE,
        seen=f"{_span(accuracy)} by k",
        comparisons=(within("largest less smallest", [(span, 0.0, 2 * HALF)]),),
    )


def smallest_best(found: Evidence) -> Judgement:
    """Judge whether the smallest k is the most accurate."""
    columns = found.by_run(lambda row: float(row["accuracy"]))
    leads = {seed: [column[0] - other for other in column[1:]] for seed, column in columns.items()}
    return Judgement(rule=MEAN, seen="accuracy at k = 20 less that at larger k", comparisons=(over("other k", leads),))


def data_sets(found: Evidence) -> Judgement:
    """Judge whether accuracy varies as little with k on the further datasets."""
    columns = found.by_run(lambda row: float(row["accuracy"]))
    further = [column for run, column in columns.items() if run[0] == GENERATED and int(run[1]) != PUBLISHED_SEED]
    spans = [max(column) - min(column) for column in further]
    return Judgement(
        rule=FIGURE,
        seen=f"largest less smallest {_percent(spans) if spans else ''} on {len(spans)} datasets",
        comparisons=(within("largest less smallest", [(span, 0.0, 2 * HALF) for span in spans]),),
    )


def outperform(found: Evidence) -> Judgement:
    """Judge the five points over the global tree at k = 20 to 200, of which 4.5 would round to them."""
    gain = found.by_run(lambda row: float(row["accuracy"]) - float(row["global tree"]) - (0.05 - HALF), most=1)
    gaps = [value + 0.05 - HALF for values in gain.values() for value in values]
    return Judgement(rule=MEAN, seen=f"differs by {_percent(gaps)}", comparisons=(over("gain, less 4.5 points", gain),))


def trivial(found: Evidence) -> Judgement:
    """Judge whether there is a gain at k = 20, and most of it comes from held-out records near groups of one class."""

    def lead(row: Row) -> float:
        near = float(row["near one class"])
        inside = near * (float(row["local near one class"]) - float(row["global near one class"]))
        return inside - (1 - near) * (float(row["local elsewhere"]) - float(row["global elsewhere"]))

    gains = found.by_run(lambda row: float(row["accuracy"]) - float(row["global tree"]), most=0.1)
    return Judgement(
        rule=MEAN,
        seen="gain over the global tree, and gain near one-class groups less gain elsewhere, k = 20",
        comparisons=(over("gain", gains), over("weighted by records", found.by_run(lead, most=0.1))),
    )


def zero_nodes(found: Evidence) -> Judgement:
    """Judge whether trees without a split occur at k = 20, in every dataset."""
    shares = found.by_run(lambda row: float(row["one leaf"]), most=0.1)
    return Judgement(
        rule=EVERY,
        seen=f"{_percent([v for each in shares.values() for v in each], 0)} of the trees",
        comparisons=(over("share of trees without a split, k = 20", shares),),
    )


def fidelity(found: Evidence) -> Judgement:
    """Judge the 90 % of Protocol 1 at every k."""
    values = found.get("fidelity")
    return Judgement(
        rule=FIGURE,
        seen=_percent(values),
        comparisons=(within("by k", [(value, 0.9 - HALF, 0.9 + HALF) for value in values]),),
    )


def fidelity_guided(found: Evidence) -> Judgement:
    """Judge the 97 % that Protocol 2 reaches."""
    best = max(found.get("fidelity guided"))
    return Judgement(
        rule=FIGURE,
        seen=f"up to {100 * best:.1f} %",
        comparisons=(within("largest", [(best, 0.97 - HALF, 0.97 + HALF)]),),
    )


def demonstrates(found: Evidence) -> Judgement:
    """Judge the guided fidelity against that of three random groups: what closeness adds."""
    gain = found.by_run(_less("fidelity guided", "fidelity null"))
    return Judgement(
        rule=MEAN,
        seen="fidelity beyond that of three random groups",
        comparisons=(over("guided less random", gain),),
    )


def below_100(found: Evidence) -> Judgement:
    """Judge the sizes up to one per cent: the upper quartile, which the plot shows, is below 100."""
    room = found.by_run(lambda row: 100 - float(row["nodes upper"]), most=1)
    largest = found.by_run(lambda row: float(row["nodes largest"]), most=1)
    seen = f"the largest tree has {max(max(each) for each in largest.values()):.0f} nodes"
    return Judgement(rule=EVERY, seen=seen, comparisons=(over("100 less the upper quartile", room),))


def best_size(found: Evidence) -> Judgement:
    """Name the group sizes whose median tree has at most 20 nodes; what people understand was not measured."""
    small = [[row for row in found.rows(form) if float(row["nodes median"]) <= 20] for form in ("paper", "restricted")]
    seen = f"median of at most 20 nodes up to k = {sizes(small[0])[-1]:,}; our default up to {sizes(small[1])[-1]:,}"
    return Judgement(rule=NONE, seen=seen)


def smallest_k(found: Evidence) -> Judgement:
    """Judge whether k decides what leaks: whether the attacks weaken from each k to the next."""
    comparisons = []
    for column, name in (("gap", "gap attack"), ("identified", "identified by midpoints")):
        columns = found.by_run(lambda row, column=column: float(row[column]))
        steps = {seed: [a - b for a, b in pairwise(values)] for seed, values in columns.items()}
        comparisons.append(over(f"{name}, this k less the next", steps))
    seen = f"gap attack {_span(found.get('gap'))} at any k, {_span(found.get('gap', 'restricted'))} in our default"
    return Judgement(rule=MEAN, seen=seen, comparisons=tuple(comparisons))


def labels(found: Evidence) -> Judgement:
    """Judge whether true labels give surrogates as faithful as the black box's labels do."""
    name = "paper, black-box labels"
    rows = {form: found.by_run(lambda row: float(row["fidelity"]), form) for form in ("paper", name)}
    gaps = {
        seed: [a - b for a, b in zip(rows["paper"][seed], rows[name][seed], strict=True)]
        for seed in rows["paper"]
        if seed in rows[name] and len(rows[name][seed]) == len(rows["paper"][seed])
    }
    return Judgement(
        rule=MEAN,
        seen="fidelity, true labels less the black box's",
        comparisons=(over("trees on true labels", gaps),),
    )


def distances(found: Evidence) -> Judgement:
    """Judge whether another distance raises fidelity at k = 100, on numbers or binary attributes and on categories."""
    pairs = {
        "other distances less Euclidean": [(way, FIRST) for way in ("Euclidean, not scaled", "Gower")],
        "sizes that vary less MDAV": [("Euclidean, V-MDAV", FIRST)],
        "taxonomy less Gower": [("taxonomy", "Gower")],
    }
    generated = {"taxonomy": "categories, taxonomy", "Gower": "categories, Gower"}
    comparisons = []
    for form in ("paper", "restricted"):
        own = {row["way"]: float(row["fidelity"]) for row in select(found.distances, form=form)}
        runs: dict[tuple[str, ...], dict[str, float]] = {}
        for row in select(found.public, form=form, k="100"):
            runs.setdefault((row["data"], row["box"], row["seed"]), {})[row["way"]] = float(row["fidelity"])
        for name, compared in pairs.items():
            columns: Columns = {}
            for one_way, other in compared:
                of_taxonomy = one_way == "taxonomy"
                ways = [generated[way] if of_taxonomy else way for way in (one_way, other)]
                columns.setdefault((GENERATED,), []).append(own[ways[0]] - own[ways[1]])
                for run, by_way in runs.items():
                    if one_way in by_way:
                        columns.setdefault(run, []).append(by_way[one_way] - by_way[other])
            comparisons.append(over(f"{form}: {name}", columns))
    return Judgement(rule=MEAN, seen="fidelity at k = 100", comparisons=tuple(comparisons))


JUDGES: tuple[Callable[[Evidence], Judgement], ...] = (
    related,
    example_tree,
    alike,
    stable,
    guiding,
    algorithm_2,
    representative,
    more_privacy,
    representative_of_more,
    simpler,
    black_box,
    global_tree,
    single_class,
    below_unguided,
    below_guided,
    as_global,
    guided_above,
    by_k,
    smallest_best,
    data_sets,
    outperform,
    trivial,
    zero_nodes,
    fidelity,
    fidelity_guided,
    demonstrates,
    below_100,
    best_size,
    smallest_k,
    labels,
    distances,
)


def evidence(results: Path) -> Evidence:
    """Return the results of a folder."""
    return Evidence(
        local=read(results / "local_trees.csv"),
        globally=read(results / "global_tree.csv"),
        example=read(results / "example.csv"),
        distances=read(results / "distances.csv"),
        partitions=read(results / "partitions.csv"),
        public=read(results / "public_trees.csv"),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge."""
    given = options(__doc__, arguments)
    write_judged(FOLDER / "statements.csv", JUDGES, evidence(given.results), given.results)


__all__ = ["JUDGES", "Evidence", "evidence", "main"]

if __name__ == "__main__":
    main()
