"""The other learners of Tables 2 and 3, run here on the same splits; ``rivals.csv``.

LightGBM and interpret's additive models without privacy, and diffprivlib's logistic and linear regression at each
budget, all at default parameters but for what they ask to be told: the same public bounds and categories. Predictions
of the linear one are clipped to the public range of the target, without which it errs by thousands of times. Each runs
in an environment of its own (``benchmarks/peers/environments.py``); one that has none is named, and the rest runs.
DPBoost is a fork of LightGBM without a package, and is not run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, product
from pathlib import Path

from study import EPSILONS, HERE

from benchmarks.peers.environments import EVERY_PEER, FOLDER, Missing, prepare
from benchmarks.peers.sources import additive
from benchmarks.peers.turns import PeerFailed, Warm
from benchmarks.ratios import store
from papers.common.results import Row, make_folders, read, say, select, text, write

CLASSES, NUMBERS = ("adult", "telco"), ("california", "elevators", "pol", "wine")
SPLITS = tuple(str(seed) for seed in range(5))
NON_PRIVATE = "inf"
BUDGETS = tuple(f"{epsilon:g}" for epsilon in EPSILONS)
PATIENCE = 3_600.0
"""Seconds of the clock for one fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A learner: its name, peer and work, settings of the work, and its datasets and budgets."""

    name: str
    peer: str
    work: str
    settings: dict[str, object] = field(default_factory=dict)
    datasets: tuple[str, ...] = (*CLASSES, *NUMBERS)
    budgets: tuple[str, ...] = (NON_PRIVATE,)


BOOSTED, ADDITIVE = "LightGBM", "EBM, one bag"
LOGISTIC, LINEAR = "DP logistic regression", "DP linear regression"
RIVALS = (
    Rival(name=BOOSTED, peer="lightgbm", work="ordinary"),
    Rival(name=ADDITIVE, peer="interpret", work="ordinary", settings={"bags": 1}),
    Rival(
        name=LOGISTIC, peer="diffprivlib", work="columns", settings={"model": "logistic"}, datasets=CLASSES,
        budgets=BUDGETS,
    ),
    Rival(
        name=LINEAR, peer="diffprivlib", work="columns", settings={"model": "linear", "clipped": True},
        datasets=NUMBERS, budgets=BUDGETS,
    ),
)  # fmt: skip


def keys(rival: Rival, data: str) -> list[Row]:
    """Return what names each row of a learner and a dataset."""
    return [
        {"dataset": data, "method": rival.name, "epsilon": epsilon, "split": split}
        for epsilon, split in product(rival.budgets, SPLITS)
    ]


def every_key() -> list[Row]:
    """Return what names each row, in the order of the file."""
    return [key for rival in RIVALS for data in rival.datasets for key in keys(rival, data)]


def measure(path: Path, rival: Rival, data: str) -> None:
    """Measure the rows of a learner and a dataset that are not stored, in one process of its environment."""
    wanted = [key for key in keys(rival, data) if not select(read(path), **key)]
    if not wanted:
        return
    peer = next(each for each in EVERY_PEER if each.name == rival.peer)
    process = Warm(prepare(peer, FOLDER), f"work_{rival.peer}", PATIENCE)
    order = every_key()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            file, known = store(additive(data, standin=False), Path(scratch))
            for epsilon, of_budget in groupby(wanted, key=lambda key: key["epsilon"]):
                # Without privacy there is no budget to state.
                budget = {} if epsilon == NON_PRIVATE else {"epsilon": float(epsilon)}
                process.ready(rival.work, file, {**known, **rival.settings, **budget})
                for key in of_budget:
                    run = process.run(int(key["split"]))
                    row = key | {"value": text(float(run.figures["quality"])), "seconds": f"{run.processor:.2f}"}
                    rows = [*read(path), row]
                    write(path, sorted(rows, key=lambda each: order.index({name: each[name] for name in order[0]})))
                    say(", ".join(f"{name} {value}" for name, value in row.items()))
    finally:
        process.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not stored; a learner that cannot be made is named, and the rest runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of the CSV files")
    given, _ = parser.parse_known_args(arguments)
    make_folders(given.results)
    for rival, data in [(each, name) for each in RIVALS for name in each.datasets]:
        try:
            measure(given.results / "rivals.csv", rival, data)
        except (Missing, PeerFailed) as reason:
            say(f"{rival.name}, {data}: {reason}")


__all__ = ["ADDITIVE", "BOOSTED", "BUDGETS", "CLASSES", "LINEAR", "LOGISTIC", "NUMBERS", "RIVALS", "SPLITS", "Rival",
           "every_key", "keys", "main", "measure"]  # fmt: skip

if __name__ == "__main__":
    main()
