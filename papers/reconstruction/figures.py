"""Figures 2 to 6 of the paper, and those beyond it, from the results: plots and ``figure_4.csv``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, key, new_figure, panel, save
from fits import CART, DL85, GREEDY, LIST, PURER, TELLING, TREE, counted
from matplotlib.axes import Axes
from settings import NAMES, SUPPORTS
from study import Row, options, read, select, text, write

COLOURS = {
    CART: ORANGE,
    TREE: BLUE,
    DL85: GREEN,
    GREEDY: ORANGE,
    PURER: RED,
    LIST: BLUE,
    TELLING: SKY,
}
TREES, LISTS = (CART, TREE, DL85), (GREEDY, PURER, LIST, TELLING)
KINDS = {"trees": TREES, "rule lists": LISTS}
SHOWN = ("adult", "compas")
"""The paper shows Adult on the left."""
WIDTH = {"compas": 27, "adult": 24}
DEEPEST, LEAST = "10", "0.01"
DIST = "Dist_G, small means disclosed"
LABELS = {"size": "splits", "train": "training accuracy", "test": "test accuracy", "depth": "depth allowed",
          "dist_g": DIST, "dist_g aware": "Dist_G, possible records only"}  # fmt: skip


def curves(rows: Sequence[Row]) -> list[Row]:
    """Return Figure 4: of each learner's largest models, the share of records with so much entropy left."""
    out = []
    for data in SHOWN:
        for learner in COLOURS:
            some = [row for row in select(rows, data=data, learner=learner, support=LEAST) if row["known"]]
            depths = Counter(int(row["depth"]) for row in some)
            # The deepest that is solved for every split.
            depth = max(depths, key=lambda each: (depths[each], each), default=0)
            some = [row for row in some if int(row["depth"]) == depth]
            sizes: dict[int, int] = {}
            for row in some:
                for bits, size in counted(row["known"]).items():
                    sizes[bits] = sizes.get(bits, 0) + size
            total, seen = sum(sizes.values()), 0
            for bits in sorted(sizes, reverse=True):
                seen += sizes[bits]
                names = {"data": data, "learner": learner, "depth": str(depth), "splits": str(len(some))}
                ratio = {"ratio": text(1 - bits / WIDTH[data]), "records": text(sizes[bits] / total)}
                out.append(names | ratio | {"records at most": text(seen / total)})
    return out


def lines(axes: Axes, points: Sequence[Row], learners: Sequence[str], x: str, y: str) -> None:
    """Draw a line through the depths for each learner and support; the less support, the stronger."""
    for learner in learners:
        for support in SUPPORTS:
            some = [row for row in select(points, learner=learner, support=support) if row[x] and row[y]]
            most = max((int(row["splits"]) for row in some), default=0)
            whole = [row for row in some if int(row["splits"]) == most]
            strength = 1.0 - 0.17 * SUPPORTS.index(support)
            style = {"color": COLOURS[learner], "alpha": strength, "linewidth": 0.5 + strength, "markersize": 2.2}
            form = "-o" if support == LEAST else "-"
            axes.plot([float(row[x]) for row in whole], [float(row[y]) for row in whole], form, **style)


def grid(
    given: Path, points: Sequence[Row], learners: Sequence[str], ways: Sequence[tuple[str, str]], name: str
) -> None:
    """Draw a row of panels for each pair of measures, Adult on the left."""
    figure, panels = new_figure(len(ways), 2, 3.2 * len(ways) + 0.3)
    for place, axes in enumerate(panels):
        (x, y), data = ways[place // 2], SHOWN[place % 2]
        shown = LABELS if learners is TREES else LABELS | {"size": "rules", "depth": "rules allowed"}
        panel(axes, NAMES[data], shown[x], shown[y])
        lines(axes, select(points, data=data), learners, x, y)
    key(figure, {learner: COLOURS[learner] for learner in learners}, len(learners))
    save(figure, given / f"{name}.svg")


def figure_4(given: Path, found: Sequence[Row]) -> None:
    """Draw the share of the records of which at most so much entropy is left."""
    figure, panels = new_figure(2, 2, 6.4)
    for place, axes in enumerate(panels):
        kind, data = tuple(KINDS)[place // 2], SHOWN[place % 2]
        panel(axes, f"{NAMES[data]}, {kind}", "share of the training records, most exposed first", "entropy left")
        for learner in KINDS[kind]:
            some = select(found, data=data, learner=learner)
            if not some:
                continue
            x = [0.0] + [float(row["records at most"]) for row in some]
            y = [float(row["ratio"]) for row in some]
            axes.step(x, [y[0], *y], where="pre", color=COLOURS[learner], linewidth=1.6)
    key(figure, COLOURS, 4)
    save(figure, given / "figure-4.svg")


def subgroups(given: Path, rows: Sequence[Row]) -> None:
    """Draw how many bits more or less than everyone each subgroup loses."""
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    figure, panels = new_figure(1, 2, 4.6)
    for axes, data in zip(panels, ("compas", "adult"), strict=True):
        some = [row for row in select(rows, data=data) if row["value"]]
        names = list(dict.fromkeys((row["attribute"], row["value"]) for row in some))
        panel(axes, NAMES[data], "bits more than everyone, as published", "")
        for place, (attribute, value) in enumerate(names):
            for shift, learner in enumerate(learners):
                for row in select(some, attribute=attribute, value=value, learner=learner):
                    (each,) = select(rows, data=data, learner=learner, value="")
                    y = place + (shift - (len(learners) - 1) / 2) * 0.18
                    style = {"color": COLOURS[learner] if learner != GREEDY else PINK}
                    if learner == LIST:
                        style = {"color": SKY}
                    axes.plot(
                        [float(row["bits gap from"]), float(row["bits gap to"])], [y, y], "-", linewidth=1.2, **style
                    )
                    axes.plot([float(row["bits"]) - float(each["bits"])], [y], "o", markersize=4, **style)
        axes.axvline(0, color=GREY, linewidth=0.8)
        axes.set_yticks(range(len(names)), [f"{attribute}: {value}" for attribute, value in names], fontsize=8)
        axes.invert_yaxis()
    key(figure, {CART: ORANGE, TREE: BLUE, GREEDY: PINK, LIST: SKY}, 4)
    save(figure, given / "subgroups.svg")


def several_models(given: Path, rows: Sequence[Row]) -> None:
    """Draw bits of models alone and together."""
    figure, panels = new_figure(1, 2, 3.4)
    wanted = [row for row in rows if row["models"].count("+") == 2 and row["depth"] == max(r["depth"] for r in rows)]
    for axes, data in zip(panels, SHOWN, strict=True):
        panel(axes, NAMES[data], "bits about a record", "")
        ticks = []
        for place, reading in enumerate(("independent", "aware")):
            some = select(wanted, data=data, reading=reading)
            alone = [[float(bits) for bits in row["alone"].split()] for row in some]
            names = some[0]["models"].split(" + ") if some else []
            bars = [(name, sum(bits[i] for bits in alone) / len(alone), COLOURS[name]) for i, name in enumerate(names)]
            for name, column, colour in (
                ("together, at least", "from", BLACK),
                ("which is which known", "which is which", GREY),
            ):
                values = [float(row[column]) for row in some]
                bars.append((name, sum(values) / max(1, len(values)), colour))
            for shift, (name, value, colour) in enumerate(bars):
                axes.barh(place * 6 + shift, value, color=SKY if name == LIST else colour, height=0.8)
                ticks.append((place * 6 + shift, name + ("" if reading == "independent" else ", possible records")))
        axes.set_yticks([place for place, _ in ticks], [name for _, name in ticks], fontsize=7.5)
        axes.invert_yaxis()
    save(figure, given / "several-models.svg")


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw everything that there are results for."""
    given = options(__doc__, arguments)
    rows, points = read(given.results / "grid.csv"), read(given.results / "points.csv")
    found = curves(rows)
    write(given.results / "figure_4.csv", found)
    by = (("size", "dist_g"), ("train", "dist_g"))
    grid(given.images, points, TREES, by, "figure-2")
    grid(given.images, points, LISTS, by, "figure-3")
    figure_4(given.images, found)
    by = (("depth", "size"), ("depth", "dist_g"))
    grid(given.images, points, TREES, by, "figure-5")
    grid(given.images, points, LISTS, by, "figure-6")
    by = (("train", "dist_g aware"), ("test", "dist_g"))
    grid(given.images, points, TREES, by, "beyond-trees")
    grid(given.images, points, LISTS, by, "beyond-lists")
    subgroups(given.images, read(given.results / "subgroups.csv"))
    several_models(given.images, read(given.results / "several_models.csv"))


__all__ = ["COLOURS", "DEEPEST", "LEAST", "LISTS", "SHOWN", "TREES", "WIDTH", "curves", "main"]

if __name__ == "__main__":
    main(sys.argv[1:])
