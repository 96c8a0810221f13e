"""Figures 1 to 3: two attributes, a global tree of 303 nodes, and the groups of k = 200 with three of their trees.

The paper does not say how its records were made. These are made up, and chosen to give a tree of as many nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from drawing import BLUE, COLOURS, GREY, RED, new_figure, save
from matplotlib.axes import Axes
from sklearn.datasets import make_moons
from sklearn.tree import DecisionTreeClassifier
from study import options, write

from glassine.surrogates import SurrogateExplainer

K = 200
N_RECORDS = 2_000
SEED = 32
FORMS = ("paper", "restricted")

Floats = npt.NDArray[np.float64]


def example() -> tuple[Floats, npt.NDArray[np.int64], DecisionTreeClassifier]:
    """Return the records, their classes, and the tree on all of them."""
    X, y = make_moons(N_RECORDS, noise=0.26, random_state=SEED)
    return X, y.astype(np.int64), DecisionTreeClassifier(random_state=0).fit(X, y)


def marked(explainer: SurrogateExplainer) -> list[int]:
    """Return three groups to show: of the smallest tree, of a middling and of the largest, the first of equal ones."""
    sizes = [len(tree.nodes) for tree in explainer.release_.trees]
    order = np.argsort(sizes, kind="stable").tolist()
    return [order[0], order[len(order) // 2], order[-1]]


def background(axes: Axes, tree: DecisionTreeClassifier, X: Floats) -> None:
    """Draw what the tree on all records decides."""
    low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
    grid = np.meshgrid(np.linspace(low[0], high[0], 300), np.linspace(low[1], high[1], 200))
    decided = tree.predict(np.column_stack([part.ravel() for part in grid])).reshape(grid[0].shape)
    mesh = axes.contourf(*grid, decided, levels=[-0.5, 0.5, 1.5], colors=["#f6d5bf", "#c4ddf0"])
    mesh.set_rasterized(True)
    axes.set_title(f"the tree on all records: {tree.tree_.node_count} nodes", loc="left", fontsize=10)


def draw(folder: Path) -> None:
    """Draw the records, the regions of the global tree, and the groups."""
    X, y, tree = example()
    explainer = SurrogateExplainer(tree, K, form="paper").fit(X, y)
    figure, axes = new_figure(1, 3, 3.1)
    for label, colour in ((0, RED), (1, BLUE)):
        rows = y == label
        axes[0].scatter(X[rows, 0], X[rows, 1], s=2, color=colour, linewidths=0, rasterized=True)
    axes[0].set_title(f"{N_RECORDS:,} records of two classes", loc="left", fontsize=10)
    background(axes[1], tree, X)
    groups, shown = explainer.training_.groups, marked(explainer)
    for group in range(explainer.release_.n_groups):
        rows = groups == group
        axes[2].scatter(X[rows, 0], X[rows, 1], s=2, color=COLOURS[group % len(COLOURS)], linewidths=0, rasterized=True)
    for group, point in enumerate(explainer.release_.representatives):
        square = group in shown
        axes[2].plot(
            *point, "s" if square else "o", color="black", markerfacecolor="white", markersize=7 if square else 4
        )
        if square:
            nodes = len(explainer.release_.trees[group].nodes)
            axes[2].annotate(
                "1 node" if nodes == 1 else f"{nodes} nodes",
                point,
                xytext=(6, 4),
                textcoords="offset points",
                fontsize=8,
            )
    axes[2].set_title(f"{explainer.release_.n_groups} groups, k = {K}", loc="left", fontsize=10)
    for panel in axes:
        panel.set_xticks([])
        panel.set_yticks([])
        for spine in panel.spines.values():
            spine.set_color(GREY)
    save(figure, folder / "figures-1-to-3.svg")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the sizes of the trees, and draw."""
    given = options(__doc__, arguments)
    X, y, tree = example()
    rows: list[dict[str, object]] = [{"trees": "global", "form": "", "group": "", "records": len(y),
             "nodes": tree.tree_.node_count, "fidelity": 1.0}]  # fmt: skip
    for form in FORMS:
        explainer = SurrogateExplainer(tree, K, form=form).fit(X, y)
        training = explainer.training_
        for group, small in enumerate(explainer.release_.trees):
            held = training.groups == group
            agrees = explainer.release_.decisions(training.columns, np.full((len(y), 1), group))[:, 0]
            rows.append(
                {
                    "trees": "local",
                    "form": form,
                    "group": group,
                    "records": int(held.sum()),
                    "nodes": len(small.nodes),
                    "fidelity": float((agrees == training.answers)[held].mean()),
                }
            )
    write(given.results / "example.csv", rows)
    draw(given.images)


if __name__ == "__main__":
    main()
