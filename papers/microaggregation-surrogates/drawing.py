"""Plots as small SVG files, in colours that all can tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

# Okabe and Ito's colours.
ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = COLOURS = (
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
BLACK, GREY = "#000000", "#767676"

mpl.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.size": 9,
        "svg.fonttype": "none",
        "svg.hashsalt": "glassine",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)


def new_figure(rows: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels."""
    figure = Figure(figsize=(9.0, height), layout="constrained", dpi=110)
    return figure, list(figure.subplots(rows, columns, squeeze=False).ravel())


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the same figure gives the same file."""
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def over_k(axes: Axes, ks: Sequence[int], title: str, label: str) -> None:
    """Prepare a panel whose x is the group size."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(ks)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.tick_params(axis="x", rotation=45)
    axes.set_xlabel("group size k")
    axes.set_ylabel(label)
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)


def boxes(axes: Axes, ks: Sequence[int], stats: Sequence[Mapping[str, Any]], colour: str) -> None:
    """Draw boxes of quartiles with whiskers to the extremes."""
    places = range(1, len(ks) + 1)
    axes.bxp(
        stats,
        positions=list(places),
        widths=0.55,
        showfliers=False,
        patch_artist=True,
        boxprops={"facecolor": colour, "alpha": 0.35, "edgecolor": colour},
        medianprops={"color": colour, "linewidth": 1.8},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )
    axes.set_xticks(list(places), [f"{k:,}" for k in ks], rotation=45)


__all__ = ["BLACK", "BLUE", "COLOURS", "GREEN", "GREY", "ORANGE", "PINK", "RED", "SKY", "YELLOW", "boxes", "new_figure",
           "over_k", "save"]  # fmt: skip
