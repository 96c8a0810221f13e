"""Tables 2 and 3 and the shapes of Figure 5 as plots, from the results."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from shapes import read_shape
from study import EPSILONS, HERE, published, read

from papers.common.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, new_figure, save
from papers.common.results import images_of

STYLE = {
    "penalized": BLUE,
    "boosting gdp": ORANGE,
    "boosting classic": GREEN,
    "interpret": BLACK,
}
DATA = {2: ("adult", "telco"), 3: ("california", "elevators", "pol", "wine")}
MEASURES = {2: "auroc", 3: "rmse"}


def panel(axes: Axes, rows: Sequence[dict[str, str]], data: str, measure: str, methods: Sequence[str]) -> None:
    """Draw means and deviations of some methods over epsilon."""
    for method in methods:
        some = [row for row in rows if (row["dataset"], row["method"], row["measure"]) == (data, method, measure)]
        some.sort(key=lambda row: float(row["epsilon"]))
        x, y, spread = ([float(row[name]) for row in some] for name in ("epsilon", "mean", "sd"))
        axes.errorbar(x, y, yerr=spread, fmt="-o", color=STYLE[method], markersize=3, linewidth=1.4, label=method)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(EPSILONS), [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.set_xlabel("epsilon")
    axes.set_ylabel("area under the ROC curve" if measure == "auroc" else "root mean squared error")
    axes.set_title(data, loc="left", fontsize=10)


def table(which: int, results: Path, images: Path) -> None:
    """Draw one table, the published figures in grey."""
    figure, panels = new_figure(len(DATA[which]) // 2, 2, 1.7 * len(DATA[which]))
    rows, printed = read(results / f"table_{which}.csv"), published(which, MEASURES[which])
    for axes, data in zip(panels, DATA[which], strict=True):
        panel(axes, rows, data, MEASURES[which], ("penalized", "boosting gdp", "boosting classic", "interpret"))
        values = [printed[data, f"{epsilon:g}", "DP-EBM GDP"] for epsilon in EPSILONS]
        axes.errorbar(
            list(EPSILONS),
            [mean for mean, _ in values],
            yerr=[sd for _, sd in values],
            fmt="--s",
            color=GREY,
            markersize=3,
            linewidth=1.2,
            label="published GDP",
        )
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=8
    )
    save(figure, images / f"table-{which}.svg")


def figure_5(results: Path, images: Path) -> None:
    """Draw the shapes of the six numbers of Adult."""
    rows = read(results / "figure_5.csv")
    figure, panels = new_figure(2, 3, 4.6)
    colors = dict(zip((row["method"] for row in rows), (BLUE, SKY, ORANGE, GREY, BLACK), strict=True))
    for axes, name in zip(panels, [name for name in rows[0] if name != "method"], strict=True):
        for row in rows:
            low, high, shape = read_shape(row[name])
            axes.plot(
                np.linspace(low, high, len(shape)), shape, color=colors[row["method"]], linewidth=1.2,
                label=row["method"],
            )  # fmt: skip
        axes.set_title(name, loc="left", fontsize=10)
        axes.locator_params(axis="x", nbins=4)
    panels[0].set_ylabel("log-odds, less their mean")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=8
    )
    save(figure, images / "figure-5.svg")


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of the CSV files")
    parser.add_argument("--images", type=Path, default=images_of(HERE), help="folder of the plots")
    given, _ = parser.parse_known_args(arguments)
    given.images.mkdir(parents=True, exist_ok=True)
    for which in DATA:
        table(which, given.results, given.images)
    figure_5(given.results, given.images)


if __name__ == "__main__":
    main()
