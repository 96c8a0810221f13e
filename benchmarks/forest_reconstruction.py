"""Rows of COMPAS rebuilt from random forests: ``python benchmarks/forest_reconstruction.py --data DIR [--json FILE]``.

For each number of trees and records and each reader: the mean error of the rebuilt rows beside that of random ones, how
many rows are whole, the seconds and the outcome. Times depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set
import pandas as pd  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402

from glassine import Domain  # noqa: E402
from glassine.attacks import Measured  # noqa: E402
from glassine.attacks.reconstruction.records import reconstruct_records  # noqa: E402
from glassine.attacks.reconstruction.systems import Search  # noqa: E402
from glassine.formats.sklearn.forest import forest_from_sklearn  # noqa: E402
from tests.oracles import compas  # noqa: E402

TREES = (1, 5, 10, 20, 50, 100)
READERS = ("no bootstrap", "no bootstrap, counts only", "bootstrap, seeds", "bootstrap, counts only")


def attack(
    frame: pd.DataFrame, labels: Any, domain: Domain, n_trees: int, reader: str, seed: int, limit: float
) -> dict[str, Any]:
    """Fit one forest, rebuild its rows, and compare them with the records."""
    fitted = RandomForestClassifier(n_trees, bootstrap=reader.startswith("bootstrap"), random_state=seed)
    model: Any = fitted.fit(frame, labels)
    if reader.endswith("counts only"):
        model = forest_from_sklearn(model, domain, use_seeds=False)
    started = time.perf_counter()
    outcome = reconstruct_records(model, domain, random_state=seed, search=Search(time_limit=limit))
    out: dict[str, Any] = {"seconds": time.perf_counter() - started, "status": "not solved"}
    if isinstance(outcome, Measured):
        rebuilt = outcome.value
        estimate = rebuilt.error_to(frame, random_state=seed)
        out |= {"status": rebuilt.status, "error": estimate.error, "baseline": estimate.baseline}
        out |= {"whole": rebuilt.n_whole, "reproduced": rebuilt.reproduced}
    return out


def summary(runs: list[dict[str, Any]]) -> list[str]:
    """Return the cells of a table's row: error, random error, whole rows, seconds, outcomes."""
    solved = [run for run in runs if "error" in run]
    statuses = ", ".join(f"{name} {n}" for name, n in Counter(run["status"] for run in runs).most_common())
    seconds = f"{statistics.median(run['seconds'] for run in runs):.1f}"
    if not solved:
        return ["", "", "", seconds, statuses]
    whole = [run["whole"] for run in solved if run["whole"] is not None]
    return [
        f"{np.mean([run['error'] for run in solved]):.4f}",
        f"{np.mean([run['baseline'] for run in solved]):.3f}",
        f"{np.mean(whole):.0f}" if whole else "",
        seconds,
        statuses,
    ]


def main() -> None:
    """Run the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the datasets")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--samples", type=int, default=3, help="samples of records")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each forest")
    parser.add_argument("--records", type=int, nargs="+", default=[25, 50, 100])
    parser.add_argument("--reader", choices=READERS, action="append", help="all by default")
    arguments = parser.parse_args()
    names, table, labels = compas.read(arguments.data)
    domain = compas.domain(names)
    found: dict[str, list[dict[str, Any]]] = {}
    print("| reader | records | trees | error | random | whole | seconds | outcome |")  # noqa: T201 - the result
    print("|---|---:|---:|---:|---:|---:|---:|---|")  # noqa: T201
    for reader in arguments.reader or READERS:
        for n in arguments.records:
            for n_trees in TREES:
                runs = []
                for seed in range(arguments.samples):
                    rows = np.random.default_rng(seed).choice(len(labels), n, replace=False)
                    frame = pd.DataFrame(table[rows], columns=names)
                    runs.append(attack(frame, labels[rows], domain, n_trees, reader, seed, arguments.time_limit))
                found[f"{reader}, {n} records, {n_trees} trees"] = runs
                cells = [reader, str(n), str(n_trees), *summary(runs)]
                print(f"| {' | '.join(cells)} |", flush=True)  # noqa: T201
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
