"""Plots as small SVG files, in colours that all can tell apart."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

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
