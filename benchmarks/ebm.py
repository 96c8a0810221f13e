"""Time and memory of private additive models: ``python benchmarks/ebm.py [peer] [size] [linear]``.

``peer`` fits interpret's DPExplainableBoostingClassifier and ours on Adult in turn and prints the ratio of processor
times; ``size`` fits a million records of 20 attributes; ``linear`` fits growing numbers of records. Noise is drawn from
the operating system's entropy. Times are medians of warm runs in this process.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.additive_data import adult  # noqa: E402 - after the path is set
from glassine import Domain, Real  # noqa: E402
from glassine.learners.additive.estimators import PrivateEBMClassifier, PrivateEBMRegressor  # noqa: E402


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def timed(work: Callable[[], Any], runs: int) -> tuple[float, float]:
    """Return the medians of processor and wall-clock seconds after one run that compiles."""
    work()
    spent = []
    for _ in range(runs):
        wall, used = time.perf_counter(), time.process_time()
        work()
        spent.append((time.process_time() - used, time.perf_counter() - wall))
    return statistics.median(used for used, _ in spent), statistics.median(wall for _, wall in spent)


def peer(runs: int) -> None:
    """Compare with interpret on Adult, 26,048 training records, epsilon 1."""
    from interpret.privacy import DPExplainableBoostingClassifier

    data = adult()
    train, _ = data.split(0)
    frame, target = data.frame[train], data.target[train]
    # Its private binning takes no gaps: a missing category is "?", as in the raw file.
    pandas = frame.with_columns(pl.col(pl.String).fill_null("?")).to_pandas()
    bounds = {
        i: (float(attribute.lo), float(attribute.hi))
        for i, attribute in enumerate(data.domain[name] for name in data.domain)
        if hasattr(attribute, "lo")
    }
    kinds = ["continuous" if i in bounds else "nominal" for i in range(len(data.domain))]

    def theirs() -> Any:
        return DPExplainableBoostingClassifier(
            epsilon=1.0, delta=1e-6, feature_types=kinds, privacy_bounds=bounds, n_jobs=1
        ).fit(pandas, target)

    their_cpu, their_wall = timed(theirs, runs)
    say(f"interpret: {their_cpu:.3f} s processor, {their_wall:.3f} s")
    for algorithm in ("penalized", "boosting"):

        def ours(algorithm: str = algorithm) -> Any:
            learner = PrivateEBMClassifier(1.0, 1e-6, data.domain, algorithm, classes=data.classes)
            return learner.fit(frame, target)

        cpu, wall = timed(ours, runs)
        say(f"{algorithm}: {cpu:.3f} s processor, {wall:.3f} s; {their_cpu / cpu:.1f} times faster")


def made(n: int, d: int) -> tuple[pl.DataFrame, np.ndarray, Domain]:
    """Return records of numbers in [0, 1] and a number that depends on five of them."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{i}": rng.random(n) for i in range(d)})
    y = sum(np.sin(3.0 * frame[f"x{i}"].to_numpy()) for i in range(5)) / 5.0 + rng.normal(0, 0.2, n)
    return frame, np.asarray(y), Domain({f"x{i}": Real(0.0, 1.0) for i in range(d)})


def size() -> None:
    """Fit a million records of 20 attributes, as numbers and as classes."""
    frame, y, domain = made(1_000_000, 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, learner, target in (
        ("regression", PrivateEBMRegressor(1.0, 1e-6, domain, target_range=(-1, 2)), y),
        ("two classes", PrivateEBMClassifier(1.0, 1e-6, domain, classes=(0, 1)), (y > 0.5).astype(int)),
    ):
        used, wall = timed(lambda learner=learner, target=target: learner.fit(frame, target), 3)  # type: ignore[misc]  # a default argument
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        say(
            f"1,000,000 x 20, {name}: {used:.2f} s processor, {wall:.2f} s, "
            f"{peak / 1e6:.2f} GB in all, {before / 1e6:.2f} GB before"
        )


def linear() -> None:
    """Fit growing numbers of records in fixed bins."""
    for n in (50_000, 100_000, 200_000, 400_000, 800_000):
        frame, y, domain = made(n, 10)
        bins = {name: (np.arange(1, 32) / 32).tolist() for name in domain}
        learner = PrivateEBMRegressor(1.0, 1e-6, domain, target_range=(-1, 2), bins=bins)
        used, _ = timed(lambda learner=learner, frame=frame, y=y: learner.fit(frame, y), 3)  # type: ignore[misc]  # default arguments
        say(f"{n:9,} x 10: {used:.3f} s processor, {1e9 * used / n / 10:.0f} ns for each value")


def main() -> None:
    """Run the parts that are named, all by default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", metavar="part")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    parts = given.parts or ["peer", "size", "linear"]
    if "peer" in parts:
        peer(given.runs)
    if "size" in parts:
        size()
    if "linear" in parts:
        linear()


if __name__ == "__main__":
    main()
