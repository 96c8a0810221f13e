"""Each statement of the paper, confirmed or refuted by the results: ``claims.csv``.

``statements.csv`` holds the statements, which of the judges below decides each, and the reason. A verdict follows from
the figures alone. Differences in per cent of the paper are percentage points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from figures import numbers, of, sizes
from settings import PUBLISHED_SEED
from study import FOLDER, Row, one, options, read, select, write

from papers.common.judging import CONFIRMED, PARTLY, REFUTED, Judgement, judged, verdict

AROUND_5 = (0.035, 0.065)
"""What counts as about five points."""
SAME = 0.015
"""What counts as basically the same accuracy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The results that claims are judged by.

    Attributes
    ----------
    local, globally, example, distances, partitions : sequence of Row
        Rows of the files ``local_trees.csv``, ``global_tree.csv`` and so on.
    """

    local: Sequence[Row]
    globally: Sequence[Row]
    example: Sequence[Row]
    distances: Sequence[Row]
    partitions: Sequence[Row]

    def rows(self, form: str = "paper", seed: int = PUBLISHED_SEED) -> list[Row]:
        """Return the rows of a form, by k."""
        return of(self.local, form, seed)

    def get(self, name: str, form: str = "paper", seed: int = PUBLISHED_SEED) -> list[float]:
        """Return a column of a form, by k."""
        return numbers(self.rows(form, seed), name)

    def up_to(self, share: float, form: str = "paper") -> list[Row]:
        """Return the rows of group sizes up to so many per cent."""
        return [row for row in self.rows(form) if float(row["share"]) <= share]

    def seeds(self) -> list[int]:
        """Return the seeds of the further data sets."""
        return sorted({int(row["seed"]) for row in self.local} - {PUBLISHED_SEED})


def _span(values: Sequence[float], places: int = 3) -> str:
    low, high = (round(value, places) + 0.0 for value in (min(values), max(values)))
    return f"{low:.{places}f} to {high:.{places}f}"


def _percent(values: Sequence[float], places: int = 1) -> str:
    return f"{_span([100 * value for value in values], places)} %"


def _ends(values: Sequence[float], found: Sequence[Row], places: int = 3) -> str:
    ks = sizes(found)
    return f"{values[0]:,.{places}f} at k = {ks[0]:,}, {values[-1]:,.{places}f} at k = {ks[-1]:,}"


def _less(a: Sequence[float], b: Sequence[float]) -> list[float]:
    return [x - y for x, y in zip(a, b, strict=True)]


def related(found: Evidence) -> Judgement:
    """Judge the bound of accuracy by fidelity."""
    slack = [float(row["accuracy"]) - (float(row["fidelity"]) + float(row["black box"]) - 1) for row in found.rows()]
    return verdict(min(slack) >= -1e-6), f"accuracy lies {_span(slack)} above the bound"


def example_tree(found: Evidence) -> Judgement:
    """Judge the 303 nodes."""
    row = one(found.example, trees="global")
    local = [float(row["nodes"]) for row in select(found.example, form="paper")]
    return verdict(row["nodes"] == "303", but=True), f"{row['nodes']} nodes; local trees {_span(local, 0)}"


def stable(found: Evidence) -> Judgement:
    """Judge whether nearest neighbours get the same tree."""
    tree, path, rows = found.get("stability tree"), found.get("stability path"), found.rows()
    told = f"the nearest other record gets an equal tree in a share of {_ends(tree, rows)}; with the same conditions, "
    return verdict(tree[-1] > 0.9, but=min(path) < 0.9), told + _ends(path, rows)


def alike(found: Evidence) -> Judgement:
    """Judge how much of the spread of the records lies within groups."""
    loss = numbers(found.partitions, "information loss")
    told = f"the share of the sum of squares that lies within groups is {_ends(loss, found.partitions)}"
    return verdict(loss[0] < 0.1, but=loss[-1] > 0.5), told


def guiding(found: Evidence) -> Judgement:
    """Judge the gain of the guided protocol."""
    gain = _less(found.get("fidelity guided"), found.get("fidelity"))
    beyond = _less(found.get("fidelity guided"), found.get("fidelity null"))
    told = f"fidelity rises by {_span(gain)}; over three random groups by {_span(beyond)}"
    return verdict(min(gain) > 0, but=min(beyond) < max(gain) / 2), told


def algorithm_2(found: Evidence) -> Judgement:
    """Judge whether every record has a group."""
    rows = found.partitions
    lost = {int(row["k"]): int(row["lost as printed"]) for row in rows}
    n = int(rows[0]["records"])
    told = "; ".join(f"k = {k:,}: {count:,} of {n:,} lost" for k, count in lost.items() if count)
    whole = all(int(row["smallest group"]) >= int(row["k"]) for row in rows)
    return verdict(whole, but=any(lost.values())), told or "no record is lost at these sizes"


def representative(found: Evidence) -> Judgement:
    """Judge whether each representative stands for k."""
    rows = [row for form in ("paper", "restricted") for row in found.rows(form)]
    least = min(int(row["smallest group"]) - int(row["k"]) for row in rows)
    return verdict(least >= 0), f"the smallest group has k{f' + {least}' if least else ''} records at every k"


def more_privacy(found: Evidence) -> Judgement:
    """Judge whether leaks fall with k."""
    gap, rows = found.get("gap"), found.rows()
    alone, identified = found.get("alone"), found.get("identified")
    told = f"advantage of the gap attack {_ends(gap, rows)}; alone in a leaf {_percent(alone)}; "
    told += f"identified by midpoints {_percent(identified)}; the closest representative is the own in a share of "
    told += _ends(numbers(found.partitions, "own representative closest"), found.partitions, 2)
    return verdict(gap[-1] < gap[0] and identified[-1] < identified[0] / 2), told


def representative_of_more(found: Evidence) -> Judgement:
    """Judge whether one tree explains more people with k."""
    reach = found.get("reach")
    return verdict(reach[-1] > reach[0] + 0.05), _ends(reach, found.rows())


def simpler(found: Evidence) -> Judgement:
    """Judge whether trees grow with k."""
    nodes = found.get("nodes mean")
    return verdict(nodes == sorted(nodes)), _ends(nodes, found.rows(), 1)


def black_box(found: Evidence) -> Judgement:
    """Judge the accuracy of the network."""
    value = found.get("black box")[0]
    return verdict(abs(value - 0.9422) < 0.00006), f"{100 * value:.2f} %"


def global_tree(found: Evidence) -> Judgement:
    """Judge accuracy and size of the global tree."""
    rows = select(found.globally, labels="true")
    accuracy, nodes = numbers(rows, "accuracy"), numbers(rows, "nodes")
    near = min(abs(value - 0.8837) for value in accuracy) < 0.01 and min(abs(n / 2935 - 1) for n in nodes) < 0.05
    exact = any(abs(a - 0.8837) < 0.0001 and n == 2935 for a, n in zip(accuracy, nodes, strict=True))
    told = f"{_percent(accuracy, 2)}, {min(nodes):,.0f} to {max(nodes):,.0f} nodes"
    return verdict(near, but=not exact), told


def similar(found: Evidence) -> Judgement:
    """Judge the mean accuracy of local trees against the global one."""
    local, whole = fmean(found.get("accuracy")), fmean(found.get("global tree"))
    return verdict(abs(local - whole) < SAME), f"{local:.3f} and {whole:.3f}"


def single_class(found: Evidence) -> Judgement:
    """Judge whether one-class groups are more accurate than the global tree is there."""
    row = found.rows()[0]
    near = [float(row[name]) for name in ("local near one class", "global near one class")]
    away = [float(row[name]) for name in ("local elsewhere", "global elsewhere")]
    told = f"k = {row['k']}: {near[0]:.3f} near groups of one class, where the global tree has {near[1]:.3f}; "
    told += f"{away[0]:.3f} and {away[1]:.3f} elsewhere"
    return verdict(near[0] > away[0]), told


def below_unguided(found: Evidence) -> Judgement:
    """Judge the distance of Protocol 1 from the black box."""
    short = _less(found.get("black box"), found.get("accuracy"))
    return verdict(all(AROUND_5[0] <= value <= AROUND_5[1] for value in short)), f"{_percent(short)} below"


def below_guided(found: Evidence) -> Judgement:
    """Judge the distance of Protocol 2 from the black box."""
    short = _less(found.get("black box"), found.get("accuracy guided"))
    return verdict(max(short) < 0.03, but=min(short) < 0.01), f"{_percent(short)} below"


def as_global(found: Evidence) -> Judgement:
    """Judge whether Protocol 1 is as accurate as the global tree."""
    apart = _less(found.get("accuracy"), found.get("global tree"))
    return verdict(max(map(abs, apart)) < SAME), f"differs by {_percent(apart)}"


def guided_above(found: Evidence) -> Judgement:
    """Judge whether Protocol 2 is more accurate than both."""
    over = _less(found.get("accuracy guided"), found.get("accuracy"))
    whole = _less(found.get("accuracy guided"), found.get("global tree"))
    told = f"above the unguided by {_percent(over)}, above the global tree by {_percent(whole)}"
    return verdict(min(over + whole) > 0.01), told


def by_k(found: Evidence) -> Judgement:
    """Judge how far accuracy depends on k."""
    accuracy, safe = found.get("accuracy"), found.get("accuracy", "restricted")
    told = f"paper's form {_ends(accuracy, found.rows())}, {_span(accuracy)} in all; our default {_span(safe)}"
    return verdict(max(accuracy) - min(accuracy) < 0.03 and max(accuracy) == accuracy[0]), told


def data_sets(found: Evidence) -> Judgement:
    """Judge whether other data sets behave alike."""
    best, spans = 0, []
    for seed in found.seeds():
        accuracy = found.get("accuracy", seed=seed)
        best += max(accuracy) == accuracy[0]
        spans.append(max(accuracy) - min(accuracy))
    n = len(spans)
    if not n:
        return PARTLY, "no other data set was measured"
    told = f"{n} data sets; accuracy varies with k by {_percent(spans)}; the smallest k is best in {best} of {n}"
    return verdict(max(spans) < 0.05, but=best < n), told


def outperform(found: Evidence) -> Judgement:
    """Judge the five points over the global tree."""
    over = [float(row["accuracy"]) - float(row["global tree"]) for row in found.up_to(1)]
    return verdict(min(over) >= AROUND_5[0]), f"differs by {_percent(over)} at k = 20 to 200"


def trivial(found: Evidence) -> Judgement:
    """Judge whether the gain comes from groups of one class."""
    row = found.rows()[0]
    near = float(row["local near one class"]) - float(row["global near one class"])
    away = float(row["local elsewhere"]) - float(row["global elsewhere"])
    share = float(row["near one class"])
    told = f"k = {row['k']}: {100 * float(row['one class']):.0f} % of the groups; {100 * share:.0f} % of the held-out "
    told += f"records are nearest to one, and gain {100 * near:+.1f} %, the others {100 * away:+.1f} %"
    return verdict(
        float(row["one class"]) > 0.2, but=abs(share * near) < 0.8 * abs(share * near + (1 - share) * away)
    ), told


def zero_nodes(found: Evidence) -> Judgement:
    """Judge whether trees without a split occur."""
    rows = found.rows()
    told = ", ".join(f"{100 * float(row['one leaf']):.0f} % at k = {int(row['k']):,}" for row in rows[:5])
    return verdict(float(rows[0]["one leaf"]) > 0), f"without a split: {told}"


def fidelity(found: Evidence) -> Judgement:
    """Judge the 90 % of Protocol 1."""
    values = found.get("fidelity")
    return verdict(all(abs(value - 0.9) < 0.02 for value in values)), _percent(values)


def fidelity_guided(found: Evidence) -> Judgement:
    """Judge the 97 % of Protocol 2."""
    values = found.get("fidelity guided")
    return verdict(max(values) >= 0.965), _percent(values)


def demonstrates(found: Evidence) -> Judgement:
    """Judge the fidelity against that of random groups."""
    null, guided = found.get("fidelity null"), found.get("fidelity guided")
    told = f"three random groups: {_percent(null)}; closeness adds {_ends(_less(guided, null), found.rows())}"
    gain = _less(guided, null)
    return verdict(max(gain) > 0.05, but=min(gain) <= 0.05), told


def below_100(found: Evidence) -> Judgement:
    """Judge the sizes up to one per cent."""
    rows = found.up_to(1)
    upper, largest = max(numbers(rows, "nodes upper")), max(numbers(rows, "nodes largest"))
    told = f"upper quartiles {_span(numbers(rows, 'nodes upper'), 0)}, the largest tree {largest:.0f}"
    return verdict(upper < 100, but=largest >= 100), told


def best_size(found: Evidence) -> Judgement:
    """Say which group sizes give such trees."""
    small = [[row for row in found.rows(form) if float(row["nodes median"]) <= 20] for form in ("paper", "restricted")]
    told = f"paper's form up to k = {sizes(small[0])[-1]:,}, our default up to k = {sizes(small[1])[-1]:,}"
    return verdict(all(small), but=len(small[0]) < len(found.rows())), told


def smallest_k(found: Evidence) -> Judgement:
    """Judge whether k decides what leaks."""
    gap, safe = found.get("gap"), found.get("gap", "restricted")
    told = f"advantage {_span(gap)} in the paper's form at any k, {_span(safe)} in our default"
    return verdict(gap[-1] < gap[0] / 2), told


def labels(found: Evidence) -> Judgement:
    """Judge whether true labels are the better targets."""
    name = "paper, black-box labels"
    better = _less(found.get("fidelity", name), found.get("fidelity"))
    smaller = [a / b for a, b in zip(found.get("nodes mean", name), found.get("nodes mean"), strict=True)]
    acc = _less(found.get("accuracy", name), found.get("accuracy"))
    told = f"on the black box's labels fidelity {_percent(better)} higher, accuracy {_percent(acc)} higher, "
    told += f"{_span(smaller, 2)} times the nodes"
    return verdict(min(found.get("fidelity")) > 0.85, but=min(better) > 0 and max(smaller) < 1), told


def distances(found: Evidence) -> Judgement:
    """Judge whether another distance does better."""
    rows = select(found.distances, form="paper")
    base = one(rows, way="Euclidean, standardized")
    told = "; ".join(
        f"{row['way']}: {float(row['fidelity']):.3f}, guided {float(row['fidelity guided']):.3f}" for row in rows
    )
    numeric = [row for row in rows if not row["way"].startswith("categories")]
    best = max(numbers(numeric, "fidelity")) - float(base["fidelity"])
    gower, semantic = (float(one(rows, way=f"categories, {name}")["fidelity"]) for name in ("Gower", "taxonomy"))
    return verdict(max(best, semantic - gower) > 0.005, but=not (best > 0.005 and semantic - gower > 0.005)), told


JUDGES: tuple[Callable[[Evidence], Judgement], ...] = (
    related, example_tree, alike, stable, guiding, algorithm_2, representative, more_privacy, representative_of_more,
    simpler, black_box, global_tree, similar, single_class, below_unguided, below_guided, as_global, guided_above, by_k,
    data_sets, outperform, trivial, zero_nodes, fidelity, fidelity_guided, demonstrates, below_100, best_size,
    smallest_k, labels, distances,
)  # fmt: skip


def evidence(results: Path) -> Evidence:
    """Return the results of a folder."""
    return Evidence(
        local=read(results / "local_trees.csv"),
        globally=read(results / "global_tree.csv"),
        example=read(results / "example.csv"),
        distances=read(results / "distances.csv"),
        partitions=read(results / "partitions.csv"),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge."""
    given = options(__doc__, arguments)
    found = evidence(given.results)
    rows = judged(FOLDER / "statements.csv", JUDGES, found)
    write(given.results / "claims.csv", rows)


__all__ = ["CONFIRMED", "JUDGES", "PARTLY", "REFUTED", "Evidence", "evidence", "main"]

if __name__ == "__main__":
    main()
