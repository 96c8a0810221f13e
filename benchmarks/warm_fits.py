"""What a private fit costs beside the same fit before the seal: ``python benchmarks/warm_fits.py [--old CHECKOUT]``.

Adult, drawn with replacement; a tree and a tree of a number of depth 2, a rule list and an additive model, epsilon 1,
of records in memory. Each row of ``warm_fits.csv`` is one learner and number of records, in a process of its own whose
kernels are compiled and loaded by a fit before: CPU seconds of a fit, the least of five. ``--old`` names a checkout of
the commit before the seal, which is timed in turn with this one. ``--page`` prints the stored rows.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.records import NUMBERS, adult  # noqa: E402 - after the path is set

FILE = ROOT / "benchmarks" / "warm_fits.csv"
LEARNERS = ("tree", "tree of a number", "rule list", "additive")
SIZES = (1_000, 10_000, 100_000, 1_000_000)
RUNS = 5
COLUMNS = ("learner", "records", "package", "seconds")


def problem(learner: str, n: int) -> tuple[Any, Any, str]:
    """Return an estimator, records of the numbers of Adult and the income, and the name of the target."""
    from glassine import Category, Domain, Integer, learners

    typed, _ = adult(100_000)
    records = typed.select(*NUMBERS, "income").sample(n, with_replacement=True, seed=1)
    classes = tuple(sorted(typed["income"].unique().to_list()))
    attributes: dict[str, Any] = {"income": Category(classes)}
    for name in NUMBERS:
        low, high = int(typed[name].min()), int(typed[name].max())
        step = (high - low) / 8
        attributes[name] = Integer(low, high, thresholds=tuple(sorted({int(low + step * i) for i in range(1, 8)})))
    seeded: dict[str, Any] = {"epsilon": 1.0, "random_state": 0}
    if learner == "tree of a number":
        domain = Domain({name: one for name, one in attributes.items() if name != "age"})
        return (
            learners.PrivateTreeRegressor(domain=domain, target_range=(0, 100), max_depth=2, **seeded),
            records,
            "age",
        )
    domain = Domain(attributes)
    if learner == "tree":
        return learners.PrivateTreeClassifier(domain=domain, max_depth=2, **seeded), records, "income"
    if learner == "rule list":
        return learners.PrivateRuleListClassifier(domain=domain, max_rules=2, **seeded), records, "income"
    return learners.PrivateEBMClassifier(domain=domain, **seeded), records, "income"


def timed(learner: str, n: int, package: str) -> dict[str, Any]:
    """Return the row of a learner, as the package that is imported fits it."""
    warnings.simplefilter("ignore")
    estimator, records, target = problem(learner, n)
    estimator.fit(records, target)
    seconds = []
    for _ in range(RUNS):
        start = time.process_time()
        estimator.fit(records, target)
        seconds.append(time.process_time() - start)
    return {"learner": learner, "records": n, "package": package, "seconds": round(min(seconds), 4)}


def run(learner: str, n: int, package: str, checkout: Path) -> dict[str, Any]:
    """Return the row of one learner, in a process of its own that imports the package of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, __file__, "--one", learner, str(n), package]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - our own script
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def page() -> str:
    """Return the stored rows as a table, with the ratio of CPU time where both were timed."""
    with FILE.open(newline="") as file:
        rows = {(row["learner"], row["records"], row["package"]): float(row["seconds"]) for row in csv.DictReader(file)}
    lines = ["| fit | records | CPU s | of the time before | CPU s more |", "|---|---|---|---|---|"]
    for (learner, n, package), now in rows.items():
        if package == "now":
            before = rows.get((learner, n, "before"))
            beside = "- | -" if before is None else f"{now / before:.2f} | {now - before:.2f}"
            lines.append(f"| {learner} | {int(n):,} | {now:.3f} | {beside} |")
    return "\n".join(lines)


def main() -> None:
    """Time every fit, or print the stored rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--one", nargs=3)
    given = parser.parse_args()
    if given.one:
        sys.stdout.write(json.dumps(timed(given.one[0], int(given.one[1]), given.one[2])))
        return
    if not given.page:
        packages = {"now": ROOT, **({"before": given.old} if given.old else {})}
        rows = [run(one, n, name, checkout) for one in LEARNERS for n in SIZES for name, checkout in packages.items()]
        with FILE.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    sys.stdout.write(page() + "\n")


if __name__ == "__main__":
    main()
