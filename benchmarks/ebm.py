"""Time and memory of private additive models of a million records: ``python benchmarks/ebm.py [--page]``.

Twenty numbers are in [0, 1], and the target depends on five of them. Noise is drawn from the operating system. A row of
``ebm.csv`` is a kind of target, fitted in a process of its own: medians of warm fits, and the peak of all memory.
``ratios.py`` compares times with interpret's, and follows them as records grow.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from papers.common.results import Row  # noqa: E402

RECORDS, ATTRIBUTES, RUNS = 1_000_000, 20, 3
KEYS = [{"target": "number"}, {"target": "two classes"}]


def fitted(target: str) -> dict[str, object]:
    """Return the medians of some fits after one that compiles, and the peak of this process."""
    import numpy as np
    import polars as pl

    from glassine import Domain, Real
    from glassine.learners import PrivateEBMClassifier, PrivateEBMRegressor

    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{i}": rng.random(RECORDS) for i in range(ATTRIBUTES)})
    y = sum(np.sin(3.0 * frame[f"x{i}"].to_numpy()) for i in range(5)) / 5.0 + rng.normal(0, 0.2, RECORDS)
    domain = Domain({name: Real(0.0, 1.0) for name in frame.columns})
    spent = []
    for _ in range(1 + RUNS):
        wall, used = time.perf_counter(), time.process_time()
        if target == "number":
            PrivateEBMRegressor(epsilon=1.0, delta=1e-6, domain=domain, target_range=(-1, 2)).fit(frame, y)
        else:
            PrivateEBMClassifier(epsilon=1.0, delta=1e-6, domain=domain, classes=(0, 1)).fit(
                frame, (y > 0.5).astype(int)
            )
        spent.append((time.process_time() - used, time.perf_counter() - wall))
    processor, clock = (statistics.median(times) for times in zip(*spent[1:], strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"processor seconds": processor, "seconds": clock, "GB": peak}


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Fit in a process of its own."""
    command = [sys.executable, __file__, key["target"]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - own script
    figures: dict[str, object] = json.loads(done.stdout)
    return figures


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the sentence of the page: the more of both targets."""
    seconds, memory = (max(float(row[name]) for row in rows) for name in ("processor seconds", "GB"))
    return {"million": f"A million records of {ATTRIBUTES} numbers: {seconds:.1f} CPU s, a peak of {memory:.1f} GB."}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    if sys.argv[1:] in [list(key.values()) for key in KEYS]:
        print(json.dumps(fitted(sys.argv[1])))  # noqa: T201 - to the process that asks
        sys.exit()
    sys.exit(main())
