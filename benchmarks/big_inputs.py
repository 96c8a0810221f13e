"""What large inputs cost: processor seconds and peak memory of a command, ``python benchmarks/big_inputs.py``.

A row of ``big_inputs.csv`` is a command on one input, in a process of its own: trees and lists up to the documented
limits, and a draft of the domain of a file of twenty columns. To measure an earlier state, name its sources in
PYTHONPATH.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from papers.common.results import Row  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

TASKS = {
    "audit of a tree": (2_000, 20_000, 200_000),
    "scrub of a tree": (2_000, 20_000, 200_000),
    "audit of a rule list": (100, 1_000),
    "scrub of a rule list": (1_000, 5_000),
    "draft of a file": (2_000_000,),
}
KEYS = [{"task": task, "size": str(size)} for task, sizes in TASKS.items() for size in sizes]
CHILD = """
import resource, sys
sys.argv = ["glassine", *sys.argv[1:]]
from glassine.cli.entry import main
try:
    main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    # The peak of the process that started this one would count among its own resources.
    peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print("used", used.ru_utime + used.ru_stime, peak, file=sys.stderr)
"""


def tree(leaves: int, folder: Path) -> list[str]:
    """Write a tree over ten attributes, and its domain."""
    import numpy as np
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    from glassine import Binary, Domain, Integer, Real, as_model, write_model

    rng, rows = np.random.default_rng(0), int(leaves * 4.5)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=rows).round(4).clip(-5, 5) for i in range(8)})
    frame = frame.assign(age=rng.integers(0, 100, rows), sex=rng.integers(0, 2, rows))
    numbers = {f"x{i}": Real(-5.0, 5.0, 0.0001 if i < 4 else None) for i in range(8)}
    domain = Domain({**numbers, "age": Integer(0, 99), "sex": Binary()})
    fitted = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(frame, rng.integers(0, 2, rows))
    write_model(as_model(fitted, domain), folder / "model", overwrite=True)
    (folder / "domain.json").unlink(missing_ok=True)
    domain.to_json(folder / "domain.json")
    return [str(folder / "model"), "--domain", str(folder / "domain.json")]


def rules(number: int, folder: Path) -> list[str]:
    """Write a list of rules of two conditions over twenty attributes, and its domain."""
    import numpy as np

    from glassine import Domain, Integer

    rng, lines = np.random.default_rng(0), ["classes: [no] [yes]"]
    for _ in range(number - 1):
        one, other = rng.choice(20, 2, replace=False)
        cuts = rng.integers(1, 999, 2)
        then = f"then [{rng.choice(['no', 'yes'])}] ([{rng.integers(9)} ; {rng.integers(9)}] examples)"
        lines.append(f"{'else ' * (len(lines) > 1)}if [x{one} <= {cuts[0]}] and [x{other} > {cuts[1]}] {then}")
    (folder / "model").write_text("\n".join([*lines, "else [no] ([5 ; 1] examples)"]) + "\n")
    (folder / "domain.json").unlink(missing_ok=True)
    Domain({f"x{i}": Integer(0, 999) for i in range(20)}).to_json(folder / "domain.json")
    return [str(folder / "model"), "--domain", str(folder / "domain.json")]


def records(number: int, folder: Path) -> list[str]:
    """Write records of ten whole numbers, seven fractions and three words as a CSV file."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    whole = {f"n{i}": rng.integers(0, 100 if i < 6 else 2, number) for i in range(10)}
    fractions = {f"x{i}": rng.lognormal(8, 1, number).round(2) for i in range(7)}
    words = {f"w{i}": np.array(["red", "green", "blue", "grey"])[rng.integers(0, 4, number)] for i in range(3)}
    pl.DataFrame({**whole, **fractions, **words}).write_csv(folder / "records.csv")
    return [str(folder / "records.csv")]


def measure(key: Mapping[str, str], folder: Path) -> dict[str, object]:
    """Return what a command takes in a process of its own."""
    task, size = key["task"], int(key["size"])
    command, _, what = task.partition(" of ")
    made = {"a tree": tree, "a rule list": rules, "a file": records}[what](size, folder)
    words = [*(("domain", "infer") if command == "draft" else (command,)), *made]
    if command != "audit":
        words += ["--output", str(folder / "copy.json"), "--overwrite"]
    environment = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT / "src"))}
    done = subprocess.run(  # noqa: S603 - own command
        [sys.executable, "-c", CHILD, *words], capture_output=True, text=True, env=environment, check=False
    )
    used = next((line.split() for line in done.stderr.splitlines() if line.startswith("used ")), None)
    if used is None or done.returncode not in (0, 1, 3):
        raise SystemExit(done.stderr)
    return {"seconds": float(used[1]), "MB": round(int(used[2]) / 1024), "status": done.returncode}


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    lines = [[row["task"], f"{int(row['size']):,}", f"{float(row['seconds']):.1f}", row["MB"]] for row in rows]
    return {"big inputs": markdown(["task", "leaves, rules or records", "CPU s", "MB"], lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        return kept(__file__, __doc__, KEYS, partial(measure, folder=Path(folder)), tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
