"""How plots look: small SVG files, the same for the same figures, in colours that all can tell apart."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colours.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY = "#767676"
COLOURS = (ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK)
"""Of series side by side, in this order."""

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
    """Return a figure of the pages' width and its panels."""
    figure = Figure(figsize=(9.0, height), layout="constrained", dpi=110)
    return figure, list(figure.subplots(rows, columns, squeeze=False).ravel())


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the same figure gives the same file."""
    figure.savefig(path, metadata={"Date": None, "Creator": None})


__all__ = [
    "BLACK",
    "BLUE",
    "COLOURS",
    "GREEN",
    "GREY",
    "ORANGE",
    "PINK",
    "RED",
    "SKY",
    "YELLOW",
    "new_figure",
    "save",
]
