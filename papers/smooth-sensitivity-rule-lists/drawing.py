"""Plots as small SVG files: lines with direct labels, bands of one standard error, colours that all can tell apart."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from papers.common.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, save

Floats = npt.NDArray[np.float64]

STYLE = {
    "GreedyRL": (GREY, "--"),
    "sm-Laplace": (BLUE, "-"),
    "sm-Cauchy": (SKY, "-"),
    "gl-Laplace": (RED, "-"),
    "gl-Gaussian": (ORANGE, "-"),
    "gl-Exponential": (PINK, "-"),
    "noisy counts": (GREEN, "-"),
    "counted-gini, strict": (BLACK, "-"),
    "exponential rule list": (GREEN, "-"),
}
OURS = ("counted-gini, strict", "exponential rule list")

mpl.rcParams["path.simplify_threshold"] = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a plot.

    Attributes
    ----------
    label, colour, dash : str
        How it is named and drawn.
    x, y, error : ndarray of float
        Points, and half the width of the band around them.
    wide : bool
        Whether it is drawn thicker.
    place : tuple of float, optional
        Where its name stands, in the data's units; at the right end by default.
    """

    label: str
    colour: str
    dash: str
    x: Floats
    y: Floats
    error: Floats
    wide: bool = False
    place: tuple[float, float] | None = None


def spaced(targets: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places of labels near some targets, at least a gap apart and within bounds."""
    order = np.argsort(targets)
    places = np.array([targets[i] for i in order], dtype=float)
    for _ in range(200):
        near = np.diff(places) < gap
        if not near.any():
            break
        for i in np.flatnonzero(near):
            middle = (places[i] + places[i + 1]) / 2
            places[i], places[i + 1] = middle - gap / 2 * 1.001, middle + gap / 2 * 1.001
        places = np.clip(places, low, None)
    places -= max(0.0, places[-1] - high)
    out = [0.0] * len(places)
    for place, i in zip(places.tolist(), order.tolist(), strict=True):
        out[i] = place
    return out


def plot(
    lines: Sequence[Line], path: Path, *, x_label: str, y_label: str, y_log: bool = False, title: str = ""
) -> None:
    """Draw lines over a logarithmic x with their names at the right end."""
    figure = Figure(figsize=(6.6, 3.7), layout="constrained")
    axes: Axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log" if y_log else "linear")
    for line in lines:
        axes.plot(
            line.x, line.y, line.dash, color=line.colour, linewidth=2.2 if line.wide else 1.4, solid_capstyle="round"
        )
        if np.isfinite(line.error).all() and line.error.any():
            low, high = line.y - line.error, line.y + line.error
            axes.fill_between(line.x, low, high, color=line.colour, alpha=0.18, linewidth=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.7g}"))
    if y_log:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.7g}"))
    for line in lines:
        if line.place is not None:
            axes.annotate(line.label, line.place, color=line.colour, fontsize=8.5)
    _labels(axes, [line for line in lines if line.place is None], y_log=y_log)
    save(figure, path)


def _labels(axes: Axes, lines: Sequence[Line], *, y_log: bool) -> None:
    if not lines:
        return
    low, high = axes.get_ylim()
    scale = np.log10 if y_log else np.asarray
    bottom, top = float(scale(low)), float(scale(high))
    ends = [float((scale(line.y[-1]) - bottom) / (top - bottom)) for line in lines]
    for line, end, place in zip(lines, ends, spaced(ends, 0.062, 0.02, 1.02), strict=True):
        axes.annotate(
            line.label,
            xy=(1.005, end),
            xytext=(1.035, place),
            xycoords="axes fraction",
            color=line.colour,
            va="center",
            fontsize=8.5,
            fontweight="bold" if line.wide else "normal",
            arrowprops={
                "arrowstyle": "-",
                "color": line.colour,
                "linewidth": 0.6,
                "shrinkA": 1,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )


__all__ = ["OURS", "STYLE", "Line", "plot"]
