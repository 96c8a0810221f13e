"""The figure: proved bound, strongest attack, and the epsilon that would give the same advantage, over people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from glassine.capacity import LABELS, average_case, tree_class
from papers.common.drawing import BLUE, GREY, ORANGE, new_figure, save
from papers.common.results import Row, images_of, make_folders

HERE = Path(__file__).resolve().parent
MODEL = "CART 3, labels"


def epsilon_of(advantage: float) -> float:
    """Return the epsilon whose guarantee, of neighbors that differ by replacing a record, allows an advantage."""
    return 2 * math.atanh(advantage) if advantage < 1 else math.inf


def draw(rows: Sequence[Row]) -> None:
    """Draw the bounds of trees of depth 3 with labels, and the strongest attacks of the rows, over people."""
    figure, (left, right) = new_figure(1, 2, 3.2)
    people = np.geomspace(200, 200_000, 40).astype(int)
    bound = [average_case(tree_class(50, 3, 2), int(n), 2 * int(n), published=LABELS) for n in people]
    means = [one.strictest.mean_advantage for one in bound]
    left.plot(people, means, color=BLUE, label="proved, 50 questions")
    shown = [row for row in rows if row["model"] == MODEL]
    for name, fill, label in (("given", "none", "mean"), ("given_largest", BLUE, "largest")):
        left.plot(
            [int(row["n"]) for row in shown],
            [float(row[name]) for row in shown],
            "s",
            color=BLUE,
            markerfacecolor=fill,
            label=f"proved, learned code: {label} of the halves",
        )
    measured = [max(float(row["advantage"]), 1e-4) for row in shown]
    left.plot([int(row["n"]) for row in shown], measured, "o", color=ORANGE, label="strongest attack")
    left.set(xscale="log", yscale="log", xlabel="people in the half", ylabel="mean advantage", ylim=(2e-6, 1))
    left.legend(frameon=False)
    right.plot(people, [epsilon_of(mean) for mean in means], color=GREY)
    right.set(xscale="log", yscale="log", xlabel="people in the half", ylabel="epsilon of the same advantage")
    make_folders(images_of(HERE))
    save(figure, images_of(HERE) / "bounds.svg")
