"""Figures 4 and 5 from the results, as plots and CSV files; and what the trees give away, over k."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drawing import BLACK, BLUE, GREEN, GREY, RED, boxes, new_figure, over_k, save
from matplotlib.axes import Axes
from settings import PUBLISHED_SEED
from study import Row, options, read, select, write

NAMES = {"paper": "the paper's form", "restricted": "our default"}
STYLE = {"paper": RED, "restricted": BLUE}
FIGURE_4 = ("accuracy", "accuracy guided", "black box", "global tree", "fidelity", "fidelity guided", "fidelity null")
FIGURE_5 = ("groups", "nodes smallest", "nodes lower", "nodes median", "nodes upper", "nodes largest", "nodes mean",
            "one leaf")  # fmt: skip


def of(rows: Sequence[Row], form: str, seed: int = PUBLISHED_SEED) -> list[Row]:
    """Return the rows of a form in the order of k."""
    return sorted(select(rows, seed=str(seed), form=form), key=lambda row: int(row["k"]))


def numbers(rows: Sequence[Row], name: str) -> list[float]:
    """Return a column as numbers."""
    return [float(row[name]) for row in rows]


def sizes(rows: Sequence[Row]) -> list[int]:
    """Return the group sizes."""
    return [int(row["k"]) for row in rows]


def level(axes: Axes, y: float, text: str, side: str) -> None:
    """Draw a dashed level with its name at the left below it, or at the right above."""
    axes.axhline(y, color=GREY, linewidth=1, linestyle="--")
    place = {"left": (0.01, "top"), "right": (0.99, "bottom")}[side]
    at = (place[0], y)
    axes.annotate(text, at, xycoords=("axes fraction", "data"), ha=side, va=place[1], color=GREY, fontsize=8)


def figure_4(rows: Sequence[Row], folder: Path) -> None:
    """Draw accuracy and fidelity over k."""
    figure, axes = new_figure(1, 2, 4.8)
    ks = sizes(of(rows, "paper"))
    for panel, name in zip(axes, ("accuracy", "fidelity"), strict=True):
        over_k(panel, ks, f"4{'a' if name == 'accuracy' else 'b'}: {name}", f"{name}, held-out records")
        for form, colour in STYLE.items():
            some = of(rows, form)
            panel.plot(
                sizes(some), numbers(some, name), "-o", color=colour, markersize=3.5, label=f"{NAMES[form]}, unguided"
            )
            panel.plot(sizes(some), numbers(some, f"{name} guided"), "-s", color=colour, markersize=3.5,
                       markerfacecolor="white", label=f"{NAMES[form]}, guided, N = 3")  # fmt: skip
            if name == "fidelity":
                panel.plot(sizes(some), numbers(some, "fidelity null"), ":", color=colour,
                           label=f"{NAMES[form]}, three random groups")  # fmt: skip
        if name == "accuracy":
            level(panel, numbers(of(rows, "paper"), "black box")[0], "black box", "right")
            level(panel, numbers(of(rows, "paper"), "global tree")[0], "global tree", "left")
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    save(figure, folder / "figure-4.svg")


def figure_5(rows: Sequence[Row], folder: Path) -> None:
    """Draw the sizes of the trees over k as boxes."""
    figure, axes = new_figure(1, 2, 3.8)
    for panel, (form, colour) in zip(axes, STYLE.items(), strict=True):
        some = of(rows, form)
        stats = [
            {
                "whislo": float(row["nodes smallest"]),
                "q1": float(row["nodes lower"]),
                "med": float(row["nodes median"]),
                "q3": float(row["nodes upper"]),
                "whishi": float(row["nodes largest"]),
            }
            for row in some
        ]
        boxes(panel, sizes(some), stats, colour)
        panel.set_yscale("log")
        panel.set_ylim(0.8, 4000)
        panel.axhline(100, color=GREY, linewidth=1, linestyle="--")
        panel.set_xlabel("group size k")
        panel.set_ylabel("nodes of a tree, leaves counted")
        panel.set_title(NAMES[form], loc="left", fontsize=10)
        panel.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    save(figure, folder / "figure-5.svg")


def leakage(rows: Sequence[Row], folder: Path) -> None:
    """Draw the advantage of the gap attack, and the people alone in a leaf or identified, over k."""
    figure, axes = new_figure(1, 2, 3.6)
    ks = sizes(of(rows, "paper"))
    over_k(axes[0], ks, "gap attack", "advantage, true labels")
    over_k(axes[1], ks, "people", "share of the training records")
    for form, colour in STYLE.items():
        some = of(rows, form)
        axes[0].plot(sizes(some), numbers(some, "gap"), "-o", color=colour, markersize=3.5, label=NAMES[form])
        axes[0].fill_between(sizes(some), numbers(some, "gap low"), numbers(some, "gap high"), color=colour, alpha=0.2,
                             linewidth=0)  # fmt: skip
        axes[1].plot(sizes(some), numbers(some, "identified"), "-o", color=colour, markersize=3.5,
                     label=f"{NAMES[form]}: identified by midpoints")  # fmt: skip
        axes[1].plot(sizes(some), numbers(some, "alone"), "--", color=GREEN if form == "paper" else BLACK,
                     label=f"{NAMES[form]}: alone in a leaf")  # fmt: skip
    for panel in axes:
        panel.axhline(0, color=GREY, linewidth=0.8)
        panel.legend(frameon=False, fontsize=7.5)
    save(figure, folder / "leakage.svg")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables and the plots of the figures."""
    given = options(__doc__, arguments)
    rows = read(given.results / "local_trees.csv")
    both = [row for form in NAMES for row in of(rows, form)]
    for number, names in ((4, FIGURE_4), (5, FIGURE_5)):
        write(
            given.results / f"figure_{number}.csv",
            [{name: row[name] for name in ("form", "k", *names)} for row in both],
        )
    figure_4(rows, given.images)
    figure_5(rows, given.images)
    leakage(rows, given.images)


__all__ = ["NAMES", "main", "numbers", "of", "sizes"]

if __name__ == "__main__":
    main()
