"""Microaggregation, and the groups' trees: ``python benchmarks/microaggregation.py [--page] [PART ...]``.

A row of ``microaggregation.csv`` has the processor seconds on one core, compilation left out, of n records of ten
standard normal numbers, in groups of k. Parts print what they find: ``numpy`` makes the same partition in plain NumPy,
and one record at a time as Algorithm 3 of the surrogate paper is printed; ``rule`` compares the two searches. The table
of explanations is of the rows that ``papers/microaggregation-surrogates`` stores. GLASSINE_DATA names the folder of the
datasets; those that scikit-learn carries are used without it.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from benchmarks.public_data import DATA  # noqa: E402
from glassine.microaggregation import microaggregate, search_method  # noqa: E402
from glassine.microaggregation.dissimilarity import metric_of, read_records  # noqa: E402
from glassine.microaggregation.mdav import ScaledRecords  # noqa: E402
from papers.common.results import Row, one, read, say, select  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

KEYS = [{"records": str(n), "k": k} for n, k in ((20_000, "20"), (100_000, "100"), (1_000_000, "100"))]
TREES = ROOT / "papers" / "microaggregation-surrogates" / "results" / "local_trees.csv"
SHOWN, SEED, LARGE = ("20", "2000"), "42", 1_000
"""The k of the table, the seed of the network there, and the least k whose trees are judged on their people."""


def seconds(work: Callable[[], object], runs: int = 1) -> float:
    """Return the least processor time of some runs."""
    least = math.inf
    for _ in range(runs):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
    return least


def fit_seconds(X: np.ndarray, k: int, runs: int = 1, **options: Any) -> float:
    """Return the processor time of a microaggregation."""
    return seconds(lambda: microaggregate(X, k, **options), runs)


def normal(n: int, p: int) -> np.ndarray:
    """Return seeded standard normal records."""
    return np.random.default_rng(0).normal(size=(n, p))


def in_numpy(X: np.ndarray, k: int, *, one_by_one: bool = False) -> np.ndarray:
    """Return the groups of MDAV in plain NumPy, the nearest records found at once or one after the other."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    labels, rest, group = np.full(len(Z), -1), np.arange(len(Z)), 0

    def far(point: np.ndarray) -> np.ndarray:
        return np.asarray(((Z[rest] - point) ** 2).sum(axis=1))

    def take(seed: int) -> None:
        nonlocal rest, group
        if one_by_one:
            for _ in range(k):
                near = rest[np.argmin(far(Z[seed]))]
                labels[near], rest = group, rest[rest != near]
        else:
            labels[rest[np.argsort(far(Z[seed]), kind="stable")[:k]]] = group
            rest = rest[labels[rest] < 0]
        group += 1

    while len(rest) >= 3 * k:
        first = rest[np.argmax(far(Z[rest].mean(axis=0)))]
        take(first)
        take(rest[np.argmax(far(Z[first]))])
    if len(rest) >= 2 * k:
        take(rest[np.argmax(far(Z[rest].mean(axis=0)))])
    labels[rest] = group
    return labels


@cache
def warm() -> None:
    """Compile what is compiled at its first use."""
    microaggregate(normal(20_000, 2), 5)
    microaggregate(normal(100, 2), 5)
    microaggregate(normal(100, 2), 5, gamma=0.2)


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the time and peak memory of one partition."""
    warm()
    n, k = int(key["records"]), int(key["k"])
    took = fit_seconds(normal(n, 10), k, 1 if n > 100_000 else 5)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"processor seconds": took, "GB": peak, "search": search_method(n, k, 10)}


def against_numpy() -> None:
    """Print times against NumPy."""
    warm()
    X = normal(20_000, 10)
    ours = fit_seconds(X, 20, 5)
    for name, one_by_one in (("plain NumPy", False), ("one record at a time", True)):
        took = seconds(partial(in_numpy, X, 20, one_by_one=one_by_one))
        same = np.array_equal(in_numpy(X, 20), microaggregate(X, 20).labels)
        say(f"   20,000 x 10, k = 20, {name}: {took:.1f} s, ratio {took / ours:.0f}, same partition: {same}")


def growth() -> None:
    """Print the exponent with which time grows in n, k fixed and k a share of n."""
    warm()
    sizes = [31_250, 62_500, 125_000, 250_000, 500_000, 1_000_000]
    for name, size in (("k = 100", lambda n: 100), ("k = n / 1000", lambda n: n // 1000)):
        times = [fit_seconds(normal(n, 10), size(n)) for n in sizes]
        slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        shown = ", ".join(f"{n:,}: {took:.2f} s" for n, took in zip(sizes, times, strict=True))
        say(f"growth with {name}: n ** {slope:.2f} ({shown})")


def widths() -> None:
    """Print times by the number of attributes, and of V-MDAV."""
    warm()
    for n, p, k in ((100_000, 1, 20), (100_000, 2, 20), (100_000, 5, 20), (20_000, 50, 20), (100_000, 50, 100)):
        took = fit_seconds(normal(n, p), k)
        say(f"{n:>9,} x {p}, k = {k}: {took:.3f} s ({search_method(n, k, p)})")
    X = normal(5_000, 10)
    took = fit_seconds(X, 20, gamma=0.2)
    say(f"    5,000 x 10, k = 20, V-MDAV: {took:.2f} s; MDAV {fit_seconds(X, 20):.3f} s")
    took = fit_seconds(normal(20_000, 10), 20, distance="gower")
    say(f"   20,000 x 10, k = 20, Gower: {took:.3f} s")


def quality() -> None:
    """Print SSE and information loss on normal and real records."""
    data = {
        "20,000 x 10 standard normal": normal(20_000, 10),
        "breast cancer": load_breast_cancer().data,
        "diabetes": load_diabetes().data,
    }
    housing = DATA / "california" / "cal_housing.data"
    if housing.is_file():
        data["California housing"] = np.loadtxt(housing, delimiter=",")[:, :8]
    for name, X in data.items():
        for k in (3, 20):
            mdav, variable = microaggregate(X, k), microaggregate(X, k, gamma=0.2)
            say(
                f"{name} {X.shape}, k = {k}: SSE {mdav.sse:,.1f}, information loss {mdav.information_loss:.4f}; "
                f"V-MDAV {variable.sse:,.1f}, {variable.information_loss:.4f}"
            )


def search_seconds(points: ScaledRecords, k: int, method: str) -> float:
    """Return the processor time of MDAV by one of the searches."""
    return seconds(lambda: points.mdav(k, None, method))


def rule() -> None:
    """Print the times of the scan and the kd-tree, and which of them the rule chooses."""
    warm()
    for p in (1, 2, 5, 10, 20, 50):
        for n in (2_000, 8_000, 32_000, 128_000):
            for k in (3, 20, 100, 1_000):
                if 10 * k > n or n * n * p / k > 1e10:
                    continue
                table, _ = read_records(normal(n, p), "euclidean", None)
                metric = metric_of(table, scaling="standard", distance="euclidean", domain=None)
                points = ScaledRecords.scaled(table.numbers, table.codes, metric)
                scan, tree = (search_seconds(points, k, method) for method in ("scan", "kd-tree"))
                say(f"{n:>9,} x {p}, k = {k}: scan {scan:.4f}, kd-tree {tree:.4f}, rule {search_method(n, k, p)}")


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the tables and sentences of the pages, those on trees from the paper's stored rows."""
    trees, lines = read(TREES), []
    for k in SHOWN:
        for form in ("restricted", "paper"):
            row = one(trees, form=form, k=k, seed=SEED)
            figures = (f"{float(row[name]):.3f}" for name in ("fidelity", "fidelity guided", "fidelity null"))
            identified = float(row["identified"])
            share = f"{identified:.1%}" if identified else "0"
            lines.append([f"{int(k):,}", form, *figures, row["nodes median"], share])
    header = ["k", "form", "fidelity", "guided", "random groups", "nodes, median", "members identified by thresholds"]
    restricted = select(trees, form="restricted")
    lost = max(
        float(one(trees, form="paper", **{name: row[name] for name in ("seed", "k")})["fidelity guided"])
        - float(row["fidelity guided"])
        for row in restricted
    )
    gaps = [float(row["gap"]) for row in restricted if int(row["k"]) >= LARGE]
    tenth, whole = (float(one(rows, records=n, k="100")["processor seconds"]) for n in ("100000", "1000000"))
    return {
        "explanations": markdown(header, lines),
        "guided loss": f"Over five datasets the restricted form loses up to {lost:.3f} of guided fidelity.",
        "microaggregation": "Microaggregation (`microaggregation.py`): 100,000 x 10 records with k = 100 take "
        f"{tenth:.2g} CPU s, a million {whole:.3g} s (one run).",
        "people behind trees": f"From k = {LARGE:,}, accuracy on the people behind the trees is {min(gaps):.3f} to "
        f"{max(gaps):.3f} higher than on others, so membership is slightly visible.",
    }


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the pages."""
    parts = {"numpy": against_numpy, "growth": growth, "widths": widths, "quality": quality, "rule": rule}
    return kept(__file__, __doc__, KEYS, measure, tables, arguments, others=parts)


if __name__ == "__main__":
    sys.exit(main())
