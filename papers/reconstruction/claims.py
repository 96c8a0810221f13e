"""Each statement of the paper, confirmed or refuted by the results, on both data sets: ``claims.csv``.

``statements.csv`` holds the statements, which of the judges below decides each, and the reason. A verdict follows from
the figures alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from fits import CART, DL85, GREEDY, LIST, PURER, TELLING, TREE, counted
from settings import DATA_SETS, DEPTHS, NAMES, SEEDS, SUPPORTS
from study import FOLDER, Row, options, read, select, write

CONFIRMED, REFUTED, PARTLY = "confirmed", "refuted", "in part"
Judgement = tuple[str, str]
RECORDS = {"compas": 5771, "adult": 3907}
WIDTH = {"compas": 27, "adult": 24}
TINY = 1e-6


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The results that claims are judged by: the rows of the files of these names."""

    grid: Sequence[Row]
    points: Sequence[Row]
    comparisons: Sequence[Row]
    curves: Sequence[Row]

    @cached_property
    def models(self) -> dict[tuple[str, str, str, str, str], Row]:
        """The models that there are, by data, learner, seed, support and depth."""
        names = ("data", "learner", "seed", "support", "depth")
        return {tuple(row[name] for name in names): row for row in self.grid if row["size"]}

    def paired(self, data: str, one: str, other: str) -> list[tuple[Row, Row]]:
        """Return the models of two learners at equal parameters."""
        keys = [(seed, support, depth) for seed in SEEDS for support in SUPPORTS for depth in DEPTHS]
        found = [(self.models.get((data, one, *key)), self.models.get((data, other, *key))) for key in keys]
        return [(a, b) for a, b in found if a is not None and b is not None]

    def compared(
        self, data: str, greedy: str, optimal: str, at: str, what: str = "Dist_G"
    ) -> tuple[float, float, float]:
        """Return the shares of the levels at which the optimal figure is larger, and smaller, and the mean gap."""
        found = select(self.comparisons, data=data, greedy=greedy, optimal=optimal, compared=what, reading="dist_g")
        (row,) = select(found, **{"at equal": at})
        return float(row["above"]), float(row["below"]), float(row["mean"])

    def curve(self, data: str, learner: str) -> list[Row]:
        """Return the exposure curve of the largest models of a learner."""
        return select(self.curves, data=data, learner=learner)


def _verdict(holds: bool, but: bool = False) -> str:
    return PARTLY if holds and but else CONFIRMED if holds else REFUTED


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _pairs(*pairs: tuple[str, str]) -> list[tuple[str, str, str]]:
    """Return data, greedy and optimal learner; DL8.5 is published for COMPAS alone."""
    return [(data, *pair) for data in DATA_SETS for pair in pairs if data == "compas" or DL85 not in pair]


TREES = _pairs((CART, TREE), (CART, DL85))
LISTS = _pairs((GREEDY, LIST), (GREEDY, TELLING), (PURER, LIST), (PURER, TELLING))
SHORT = {TREE: "fewest splits", DL85: "DL8.5", LIST: "least telling", TELLING: "most telling",
         GREEDY: "GreedyRL", PURER: "GreedyRL, purer part", CART: "CART"}  # fmt: skip


def _named(data: str, greedy: str, optimal: str) -> str:
    against = "" if greedy == CART else f" against {SHORT[greedy]}"
    return f"{NAMES[data]}, {SHORT[optimal]}{against}"


def certified(found: Evidence) -> Judgement:
    """Judge whether the published optimal trees have the fewest errors."""
    pairs = found.paired("compas", TREE, DL85)
    apart = [round(RECORDS["compas"] * (float(a["train"]) - float(b["train"]))) for a, b in pairs]
    if min(apart, default=0) < 0:
        raise ValueError("a published tree has fewer errors than the exact search found")
    told = (
        f"{sum(not gap for gap in apart)} of the {len(pairs)} published COMPAS trees that were searched for again have "
    )
    told += f"the fewest errors, the others up to {max(apart, default=0)} more of {RECORDS['compas']:,}"
    return _verdict(fmean(not gap for gap in apart) > 0.5, but=any(apart)), told


def coefficient(found: Evidence) -> Judgement:
    """Judge whether a cost just below one error a rule leaves the errors at their minimum."""
    told, lost = [], 0
    for data in DATA_SETS:
        worse, most, n = 0, 0, 0
        for seed in SEEDS:
            for support in SUPPORTS:
                rows = [found.models[data, LIST, seed, support, depth] for depth in DEPTHS]
                errors = [round(RECORDS[data] * (1 - float(row["train"]))) for row in rows]
                for depth in range(len(DEPTHS)):
                    costs = [(e + 0.99 * int(row["size"]), e) for e, row in zip(errors, rows, strict=True)][: depth + 1]
                    extra = min(costs)[1] - errors[depth]
                    worse, most, n = worse + (extra > 0), max(most, extra), n + 1
        lost += worse
        told.append(f"{NAMES[data]}: at 0.99 errors a rule {worse} of {n} lists have more errors, up to {most}")
    return _verdict(not lost), "; ".join(told)


def _by_size(found: Evidence, pairs: Sequence[tuple[str, str, str]]) -> Judgement:
    told, more = [], []
    for data, greedy, optimal in pairs:
        above, below, mean = found.compared(data, greedy, optimal, "size")
        more.append(below > above and mean < 0)
        told.append(
            f"{_named(data, greedy, optimal)}: more {_percent(below)}, less {_percent(above)}, Dist_G {mean:+.4f}"
        )
    return _verdict(any(more), but=not all(more)), "; ".join(told)


def size_trees(found: Evidence) -> Judgement:
    """Judge whether optimal trees tell more at equal size."""
    return _by_size(found, TREES)


def size_lists(found: Evidence) -> Judgement:
    """Judge whether optimal lists tell more at equal size."""
    return _by_size(found, LISTS)


def _by_accuracy(found: Evidence, pairs: Sequence[tuple[str, str, str]]) -> Judgement:
    told, less, never = [], [], []
    for data, greedy, optimal in pairs:
        above, below, mean = found.compared(data, greedy, optimal, "train")
        less.append(above > below)
        never.append(below == 0)
        told.append(
            f"{_named(data, greedy, optimal)}: less {_percent(above)}, more {_percent(below)}, Dist_G {mean:+.4f}"
        )
    return _verdict(any(less), but=not all(less) or not all(never)), "; ".join(told)


def accuracy_trees(found: Evidence) -> Judgement:
    """Judge whether optimal trees never tell more at equal accuracy."""
    return _by_accuracy(found, TREES)


def accuracy_lists(found: Evidence) -> Judgement:
    """Judge whether optimal lists never tell more at equal accuracy."""
    return _by_accuracy(found, LISTS)


def more_accurate(found: Evidence) -> Judgement:
    """Judge whether optimal models are more accurate at equal size."""
    told, better = [], []
    for data, greedy, optimal in _pairs((CART, TREE), (GREEDY, LIST), (PURER, LIST)):
        above, below, mean = found.compared(data, greedy, optimal, "size", "train")
        better.append(above > 0.5 and below == 0)
        kind = "trees" if greedy == CART else f"lists against {SHORT[greedy]}"
        told.append(f"{NAMES[data]}, {kind}: better at {_percent(above)} of the sizes, {100 * mean:+.1f} points")
    return _verdict(all(better)), "; ".join(told)


def compact(found: Evidence) -> Judgement:
    """Judge whether optimal models are smaller at equal accuracy."""
    told, smaller, larger = [], [], []
    for data, greedy, optimal in [*TREES, *_pairs((GREEDY, LIST), (PURER, LIST))]:
        above, below, mean = found.compared(data, greedy, optimal, "train", "size")
        smaller.append(below)
        larger.append(above > 0)
        told.append(
            f"{_named(data, greedy, optimal)}: smaller {_percent(below)}, larger {_percent(above)}, {mean:+.1f}"
        )
    return _verdict(fmean(smaller) > 0.5, but=any(larger)), "; ".join(told)


def sixty(found: Evidence) -> Judgement:
    """Judge the size of the largest tree."""
    sizes = {}
    for data, learner in (("compas", CART), ("adult", CART), ("compas", DL85)):
        rows = [row for key, row in found.models.items() if key[:2] == (data, learner)]
        sizes[f"{NAMES[data]}, {SHORT[learner]}"] = max((int(row["size"]) for row in rows), default=0)
    return _verdict(60 <= max(sizes.values()) < 70), "; ".join(f"{name}: {size}" for name, size in sizes.items())


def _ends(rows: Sequence[Row]) -> tuple[float, float]:
    values = [float(row["ratio"]) for row in rows]
    return min(values), max(values)


def uneven(found: Evidence) -> Judgement:
    """Judge the two ends of the curve of optimal lists on Adult."""
    told, held = [], []
    for learner in (LIST, TELLING):
        low, high = _ends(found.curve("adult", learner))
        held.append((high > 0.95, low < 0.60))
        told.append(f"{SHORT[learner]}: {low:.3f} to {high:.3f}")
    return _verdict(all(top for top, _ in held), but=not all(bottom for _, bottom in held)), "; ".join(told)


def everywhere(found: Evidence) -> Judgement:
    """Judge whether every learner's exposure is uneven."""
    spans = {}
    for row in found.curves:
        spans.setdefault((row["data"], row["learner"]), _ends(found.curve(row["data"], row["learner"])))
    gaps = [high - low for low, high in spans.values()]
    told = f"of {len(gaps)} learners and data sets the entropy left spans {min(gaps):.2f} to {max(gaps):.2f}"
    return _verdict(min(gaps) > 0.1), told


def _exposure(rows: Sequence[Row], share: float) -> float:
    return next(float(row["ratio"]) for row in rows if float(row["records at most"]) >= share - TINY)


def _lower(found: Evidence, data: str, one: str, other: str) -> float:
    """Return the share of the proportions at which one learner's curve lies below the other's."""
    a, b = found.curve(data, one), found.curve(data, other)
    places = [(place + 0.5) / 200 for place in range(200)]
    return fmean(_exposure(a, place) < _exposure(b, place) - TINY for place in places)


def lists_curve(found: Evidence) -> Judgement:
    """Judge whether the curve of optimal lists lies below that of GreedyRL."""
    told, shares = [], []
    for data in DATA_SETS:
        for greedy in (GREEDY, PURER):
            shares.append(_lower(found, data, LIST, greedy))
            told.append(f"{NAMES[data]}, against {SHORT[greedy]}: at {_percent(shares[-1])} of the proportions")
    return _verdict(any(share > 0.5 for share in shares), but=not all(share > 0.5 for share in shares)), "; ".join(told)


def averages(found: Evidence) -> Judgement:
    """Judge whether the mean of the curve is Dist_G."""
    apart = []
    for row in found.models.values():
        if row["known"]:
            sizes = counted(row["known"])
            mean = sum(bits * size for bits, size in sizes.items()) / sum(sizes.values())
            apart.append(abs(1 - mean / WIDTH[row["data"]] - float(row["dist_g"])))
    return _verdict(max(apart) < 1e-6), f"{len(apart)} models; largest difference {max(apart):.0e}"


def _same(found: Evidence, data: str, one: str, other: str, name: str) -> tuple[float, float, float]:
    """Return the shares of equal parameters at which the first is larger, and smaller, and the mean difference."""
    gaps = [float(a[name]) - float(b[name]) for a, b in found.paired(data, one, other)]
    return fmean(gap > TINY for gap in gaps), fmean(gap < -TINY for gap in gaps), fmean(gaps)


def nodes(found: Evidence) -> Judgement:
    """Judge whether CART has more splits at equal parameters."""
    told, more, fewer = [], [], []
    for data, greedy, optimal in TREES:
        above, below, mean = _same(found, data, greedy, optimal, "size")
        more.append(above > below)
        fewer.append(below > 0)
        told.append(
            f"{NAMES[data]}, against {SHORT[optimal]}: more {_percent(above)}, fewer {_percent(below)}, {mean:+.1f}"
        )
    return _verdict(any(more), but=not all(more) or any(fewer)), "; ".join(told)


def grows(found: Evidence) -> Judgement:
    """Judge whether mean sizes rise with the depth and fall with the support."""
    wrong, n = 0, 0
    for data in DATA_SETS:
        for learner in (CART, TREE, DL85, GREEDY, LIST):
            some = select(found.points, data=data, learner=learner)
            for name, values in (("support", SUPPORTS), ("depth", DEPTHS)):
                other = "depth" if name == "support" else "support"
                for value in values:
                    rows = [row for row in some if row[name] == value]
                    rows = [row for row in rows if row["splits"] == max(each["splits"] for each in some)]
                    rows.sort(key=lambda row: float(row[other]))
                    sizes = [float(row["size"]) for row in rows]
                    steps = [b - a if other == "depth" else a - b for a, b in pairwise(sizes)]
                    n += len(steps)
                    wrong += sum(step < -TINY for step in steps)
    return _verdict(wrong < 0.1 * n, but=wrong > 0), f"{wrong} of {n} steps of depth or support go the other way"


def gap_smaller(found: Evidence) -> Judgement:
    """Judge whether the difference in size is smaller on COMPAS."""
    adult, compas = (_same(found, data, CART, TREE, "size")[2] for data in ("adult", "compas"))
    published = _same(found, "compas", CART, DL85, "size")[2]
    told = f"CART less optimal, mean: Adult {adult:+.1f}, COMPAS {compas:+.1f}; less DL8.5 {published:+.1f}"
    return _verdict(abs(compas) < abs(adult)), told


def adult_parameters(found: Evidence) -> Judgement:
    """Judge whether CART tells more on Adult at equal parameters."""
    above, below, mean = _same(found, "adult", CART, TREE, "dist_g")
    deep = fmean(
        float(a["dist_g"]) < float(b["dist_g"]) for a, b in found.paired("adult", CART, TREE) if int(a["depth"]) >= 5
    )
    told = (
        f"CART tells more at {_percent(below)}, less at {_percent(above)}, Dist_G {mean:+.4f}; of depth 5 and more it "
    )
    return _verdict(below > above, but=above > 0), told + f"tells more at {_percent(deep)}"


def compas_parameters(found: Evidence) -> Judgement:
    """Judge whether optimal trees tell more on COMPAS at equal parameters."""
    told, more = [], []
    for optimal in (DL85, TREE):
        above, below, mean = _same(found, "compas", CART, optimal, "dist_g")
        more.append(above > below)
        told.append(
            f"{SHORT[optimal]}: tells more at {_percent(above)}, less at {_percent(below)}, Dist_G {-mean:+.4f}"
        )
    return _verdict(any(more), but=not all(more)), "; ".join(told)


def stops(found: Evidence) -> Judgement:
    """Judge whether greedy lists end early and optimal ones do not."""
    told, held, short = [], [], []
    for data in DATA_SETS:
        lengths = {}
        for learner in (GREEDY, PURER, LIST):
            rows = select(found.grid, data=data, learner=learner, depth=DEPTHS[-1])
            lengths[learner] = fmean(int(row["size"]) for row in rows)
        held.append(max(lengths[GREEDY], lengths[PURER]) < lengths[LIST])
        short.append(lengths[LIST] < 10)
        told.append(f"{NAMES[data]}: " + ", ".join(f"{SHORT[name]} {length:.1f}" for name, length in lengths.items()))
    return _verdict(all(held), but=any(short)), "mean rules of ten allowed: " + "; ".join(told)


def lists_parameters(found: Evidence) -> Judgement:
    """Judge whether optimal lists tell more at equal parameters."""
    told, more = [], []
    for data, greedy, optimal in LISTS:
        above, below, mean = _same(found, data, greedy, optimal, "dist_g")
        more.append(above > below)
        told.append(
            f"{_named(data, greedy, optimal)}: more {_percent(above)}, less {_percent(below)}, Dist_G {-mean:+.4f}"
        )
    return _verdict(any(more), but=not all(more)), "; ".join(told)


def lists_against_trees(found: Evidence) -> Judgement:
    """Judge whether a rule list tells more than a tree of as many splits as it has rules."""
    told, more, n = [], 0, 0
    for data in DATA_SETS:
        for trees, lists in ((TREE, TELLING), (CART, GREEDY)):
            above, gaps = 0, []
            for seed in SEEDS:
                for support in SUPPORTS:
                    sizes = [
                        {int(found.models[key]["size"]): float(found.models[key]["dist_g"])
                         for depth in DEPTHS if (key := (data, one, seed, support, depth)) in found.models}
                        for one in (trees, lists)
                    ]  # fmt: skip
                    gaps += [sizes[1][size] - sizes[0][size] for size in sizes[0] if size > 1 and size in sizes[1]]
            above = sum(gap < -TINY for gap in gaps)
            more, n = more + above, n + len(gaps)
            told.append(f"{NAMES[data]}, {SHORT[lists]} against {SHORT[trees]}: {above} of {len(gaps)}")
    return _verdict(more > n / 2, but=more < n), "the list tells more: " + "; ".join(told)


JUDGES: tuple[Callable[[Evidence], Judgement], ...] = (
    certified, coefficient, size_trees, size_lists, accuracy_trees, accuracy_lists, more_accurate, compact, sixty,
    uneven, everywhere, lists_curve, averages, nodes, grows, gap_smaller, adult_parameters, compas_parameters, stops,
    lists_parameters, lists_against_trees,
)  # fmt: skip


def evidence(results: Path) -> Evidence:
    """Return the results of a folder."""
    return Evidence(
        grid=read(results / "grid.csv"),
        points=read(results / "points.csv"),
        comparisons=read(results / "comparisons.csv"),
        curves=read(results / "figure_4.csv"),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge."""
    given = options(__doc__, arguments)
    found = evidence(given.results)
    judges = {judge.__name__: judge for judge in JUDGES}
    rows = []
    for claim in read(FOLDER / "statements.csv"):
        verdict, figures = judges[claim["judge"]](found)
        shown = {"where": claim["where"], "claim": claim["claim"], "verdict": verdict, "here": figures}
        rows.append(shown | {"reason": claim["reason"]})
    write(given.results / "claims.csv", rows)


__all__ = ["CONFIRMED", "JUDGES", "PARTLY", "REFUTED", "Evidence", "evidence", "main"]

if __name__ == "__main__":
    main(sys.argv[1:])
