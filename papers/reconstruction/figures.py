"""Figures 2 to 4 of the paper, from the results: plots and ``figure_4.csv``; Figures 5 and 6 are ``points.csv``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from drawing import BLUE, GREEN, ORANGE, RED, SKY, key, new_figure, panel, save
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
LABELS = {"size": "splits", "train": "training accuracy", "dist_g": DIST}


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
        shown = LABELS if learners is TREES else LABELS | {"size": "rules"}
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


__all__ = ["COLOURS", "DEEPEST", "LEAST", "LISTS", "SHOWN", "TREES", "WIDTH", "curves", "main"]

if __name__ == "__main__":
    main(sys.argv[1:])
