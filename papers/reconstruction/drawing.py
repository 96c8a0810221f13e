"""Plots as small SVG files, in colours that all can tell apart."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from papers.common.drawing import (
    BLACK,
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    YELLOW,
    new_figure,
    save,
)


def panel(axes: Axes, title: str, x: str, y: str) -> None:
    """Prepare a panel."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)


def key(figure: Figure, entries: Mapping[str, str], columns: int) -> None:
    """Write which colour is which below a figure."""
    handles = [Line2D([], [], color=colour, linewidth=2) for colour in entries.values()]
    figure.legend(handles, list(entries), loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


__all__ = ["BLACK", "BLUE", "COLOURS", "GREEN", "GREY", "ORANGE", "PINK", "RED", "SKY", "YELLOW", "key", "new_figure",
           "panel", "save"]  # fmt: skip
