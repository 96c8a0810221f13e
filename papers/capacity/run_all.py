"""Bounds and the strongest attacks on models of the public datasets: a row a model, checked against every bound.

    GLASSINE_DATA=folder python papers/capacity/run_all.py [--datasets adult telco] [--halves 32] [--retrained 50]
    python papers/capacity/run_all.py --judge

A row is written when it is measured; models with a row are not trained again. At the end it is asserted that no lower
95 % bound of an attack, corrected for their number, exceeds a proved bound; then tables and figure are written.
``--judge`` measures nothing: it checks the stored rows, and writes tables and figure.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from attacks import cell_likelihood, likelihood_ratio, loss_threshold, lower_bound
from drawing import draw
from models import DELTA, KINDS, Kind, Trained, proved
from needed import write_needed
from questions import Frame, read
from table import write_tables

from papers.common.results import Row, say, text, write
from papers.common.results import read as read_rows

HERE = Path(__file__).resolve().parent
ROWS = HERE / "results" / "models.csv"
DATASETS = ("adult", "california", "compas", "elevators", "german", "pol", "telco", "wine")
ATTACKS = ("loss threshold", "cell likelihood", "likelihood ratio")


def half(size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random half of a frame."""
    drawn = np.zeros(size, dtype=bool)
    drawn[rng.permutation(size)[: size // 2]] = True
    return drawn


def trained(kind: Kind, frame: Frame, times: int, seed: int) -> list[tuple[Trained, np.ndarray]]:
    """Return models of random halves of a frame, with the halves."""
    rng, runs = np.random.default_rng(seed), []
    for _ in range(times):
        drawn = half(len(frame.classes), rng)
        runs.append((kind.train(frame.answers[drawn], frame.classes[drawn], frame.answers), drawn))
    return runs


def measure(kind: Kind, frame: Frame, runs: Sequence[tuple[Trained, np.ndarray]], batch: Sequence[Trained]) -> Row:
    """Return one row: bounds, and the advantage of each attack over random halves of the frame."""
    tests, n = len(DATASETS) * len(KINDS) * len(ATTACKS), len(frame.classes) // 2
    bounds = proved(kind, frame, n, runs, batch)
    found = {"loss threshold": loss_threshold(frame, runs)}
    if kind.counts:
        found["cell likelihood"] = cell_likelihood(frame, runs)
    found["likelihood ratio"] = likelihood_ratio(frame, runs, counts=kind.counts)
    strongest = max(found, key=lambda name: float(np.mean(found[name])))
    figures: dict[str, object] = {
        "n": n,
        "questions": frame.answers.shape[1],
        **{name: bounds[name] for name in ("bits", "fresh", "design", "given", "given_largest")},
        "attack": strongest,
        "advantage": float(np.mean(found[strongest])),
        "lower": max(lower_bound(values, tests) for values in found.values()),
        "halves": len(runs),
        "retrained": len(batch),
    }
    return {"dataset": frame.name, "model": kind.name} | {name: text(value) for name, value in figures.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what has no row yet, check all rows, and write tables and figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="*", default=DATASETS)
    parser.add_argument("--halves", type=int, default=32)
    parser.add_argument("--retrained", type=int, default=50)
    parser.add_argument("--judge", action="store_true", help="judge the stored rows alone")
    asked = parser.parse_args(arguments)
    rows = read_rows(ROWS)
    for name in () if asked.judge else asked.datasets:
        done = {row["model"] for row in rows if row["dataset"] == name}
        kinds = [kind for kind in KINDS if kind.name not in done]
        if not kinds:
            continue
        frame = even(read(name))
        # Labels and counts are published of the same models.
        for _, alike in groupby(kinds, key=lambda kind: kind.name.split(",")[0]):
            group = list(alike)
            runs = trained(group[0], frame, asked.halves, seed=0)
            batch = [model for model, _ in trained(group[0], frame, asked.retrained, seed=1)] if group[0].quick else []
            for kind in group:
                rows.append(measure(kind, frame, runs, batch))
                say(", ".join(f"{key} {value}" for key, value in rows[-1].items()))
            write(ROWS, rows)
    check(rows)
    write_needed(HERE / "results" / "needed.csv")
    draw(rows)
    write_tables(rows)


def even(frame: Frame) -> Frame:
    """Return a frame without its last person if it is odd."""
    size = len(frame.classes) - len(frame.classes) % 2
    return Frame(frame.name, frame.answers[:size], frame.classes[:size])


def check(rows: Sequence[Row]) -> None:
    """Raise if an attack exceeds a bound on its mean over the draws.

    The bounds given the published models hold except for a share DELTA of the draws, in which an advantage may be 1.
    """
    for row in rows:
        for bound, fails in (("design", 0.0), ("given", DELTA)):
            if not float(row["lower"]) <= float(row[bound]) + fails:
                raise AssertionError(f"understand this attack before the bound is believed: {row}")


if __name__ == "__main__":
    main()
