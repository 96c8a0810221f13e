"""Benchmarks of greedy rule lists: ``python benchmarks/greedy.py [accuracy] [speed]``.

Accuracies are means over seeded 70/30 splits, on test records, of lists of up to five rules; every form gets the same
splits. The sensitive attributes are left out as in the paper, or kept. Times are of warm runs in this process.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import numpy as np  # noqa: E402 - after the path is set
import public_data  # noqa: E402
from public_data import Benchmark  # noqa: E402

import glassine  # noqa: E402
from glassine.learners.antecedents import (  # noqa: E402 - after the path is set
    declared,
    pairs,
)
from glassine.learners.greedy.estimator import PrivateGreedyRuleListClassifier  # noqa: E402
from glassine.learners.greedy.growth import bit_set_bytes  # noqa: E402
from glassine.learners.greedy.plan import MECHANISMS  # noqa: E402
from glassine.learners.greedy.rule_list import GreedyRuleListClassifier  # noqa: E402

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
SENSITIVE = {"adult_binarised": ("gender", "age"), "compas": ("Race", "Age", "Gender")}
STRICT_DELTA = 1e-9
RULES = 5


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def without_sensitive(data: Benchmark) -> Benchmark:
    """Return a dataset without the attributes that the paper leaves out."""
    names = [name for name in data.domain.names if not name.startswith(SENSITIVE[data.name])]
    return replace(data, frame=data.frame.select(names), domain=data.domain.restrict(names))


def greedy(data: Benchmark, mechanism: str | None, accounting: str, epsilon: float | None, seed: int) -> Any:
    """Return one learner; without a mechanism, one without privacy."""
    if mechanism is None or epsilon is None:
        return GreedyRuleListClassifier(RULES, data.domain, classes=data.classes)
    needs_delta = mechanism in ("smooth-laplace", "global-gaussian") and accounting == "strict"
    return PrivateGreedyRuleListClassifier(
        RULES,
        epsilon,
        data.domain,
        mechanism=mechanism,
        delta=STRICT_DELTA if needs_delta else None,
        accounting=accounting,
        classes=data.classes,
        random_state=seed,
    )


def scores(data: Benchmark, make: Callable[[int], Any], splits: int) -> list[float]:
    """Return the test accuracy of each split."""
    found = []
    for split in range(splits):
        train, test = data.split(split, 0.7)
        model = make(split).fit(data.frame[train], data.labels[train])
        found.append(float(model.score(data.frame[test], data.labels[test])))
    return found


def row(name: str, by_epsilon: dict[float, list[float]]) -> dict[str, float]:
    """Print and return means."""
    means = {f"{epsilon:g}": statistics.fmean(values) for epsilon, values in by_epsilon.items()}
    say(f"  {name:<32}" + "  ".join(f"{value:.4f}" for value in means.values()))
    return means


def table(title: str, data: Benchmark, splits: int, *, strict: bool) -> dict[str, Any]:
    """Print and return accuracies of all forms, and whether counted-gini beats every published one."""
    say(f"\n{title}, {splits} splits; epsilon " + ", ".join(f"{epsilon:g}" for epsilon in EPSILONS))
    out: dict[str, Any] = {}
    plain = statistics.fmean(scores(data, lambda seed: greedy(data, None, "strict", None, seed), splits))
    say(f"  {'GreedyRL, not private':<32}{plain:.4f}")
    out["GreedyRL"] = plain
    forms = [("counted-gini", "strict")]
    forms += [(mechanism, "published") for mechanism in MECHANISMS if mechanism != "counted-gini"]
    if strict:
        forms += [(mechanism, "strict") for mechanism in MECHANISMS if mechanism != "counted-gini"]
    for mechanism, accounting in forms:
        found = {
            epsilon: scores(
                data, lambda seed, m=mechanism, a=accounting, e=epsilon: greedy(data, m, a, e, seed), splits
            )
            for epsilon in EPSILONS
        }
        out[f"{mechanism}, {accounting}"] = row(f"{mechanism}, {accounting}", found)
    lists = {
        epsilon: scores(
            data,
            lambda seed, e=epsilon: glassine.PrivateRuleListClassifier(
                RULES, e, data.domain, classes=data.classes, random_state=seed
            ),
            splits,
        )
        for epsilon in EPSILONS
    }
    out["exponential rule list"] = row("exponential rule list", lists)
    ours = out["counted-gini, strict"]
    margins = {
        epsilon: ours[epsilon] - max(values[epsilon] for name, values in out.items() if name.endswith("published"))
        for epsilon in ours
    }
    say("  counted-gini above the best published form by " + ", ".join(f"{margin:.4f}" for margin in margins.values()))
    out["margin"] = margins
    return out


def accuracy(splits: int, *, strict: bool) -> dict[str, Any]:
    """Print accuracies against epsilon."""
    out = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in (public_data.adult_binarised(), public_data.compas()):
            for title, part in (("without sensitive attributes", without_sensitive(data)), ("all attributes", data)):
                out[f"{data.name}, {title}"] = table(f"{data.name}, {title}", part, splits, strict=strict)
    return out


def speed(n: int = 1_000_000) -> dict[str, float]:
    """Print the time of five rules of a pool of about 10,000 on a million records."""
    names = [f"x{i}" for i in range(71)]
    domain = glassine.Domain.binary(names)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (n, len(names)), dtype=np.int8)
    y = (X[:, 0] & X[:, 1]) ^ (rng.random(n) < 0.1)
    pool = pairs(domain, declared(domain, domain.names))[:10_000]
    columns = {name: X[:, i] for i, name in enumerate(names)}
    import polars as pl

    frame = pl.DataFrame(columns)
    out: dict[str, float] = {}
    small = frame[:1000]
    for mechanism, epsilon in ((None, None), ("counted-gini", 1.0), ("smooth-laplace", 1.0)):
        usual: dict[str, Any] = {"min_support": 0.0, "classes": (False, True), "pool": pool}
        learner: Any = GreedyRuleListClassifier(RULES, domain, **usual)
        if mechanism is not None and epsilon is not None:
            delta = 1e-9 if mechanism == "smooth-laplace" else None
            learner = PrivateGreedyRuleListClassifier(RULES, epsilon, domain, mechanism=mechanism, delta=delta, **usual)
        learner.fit(small, y[:1000])
        started = time.perf_counter()
        learner.fit(frame, y)
        out[str(mechanism)] = time.perf_counter() - started
        say(f"{mechanism}: {len(pool):,} rules, {n:,} records: {out[str(mechanism)]:.2f} s, {learner.model_}")
    size = bit_set_bytes(pool, n)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    say(f"bit sets {size / 1e6:.1f} MB; peak memory of the process {peak / 1e6:.2f} GB, records and all")
    return out


def main(arguments: Iterable[str] | None = None) -> None:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["accuracy", "speed", []])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--strict", action="store_true", help="also the strict forms of the paper's mechanisms")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(None if arguments is None else list(arguments))
    parts: dict[str, Callable[[], Any]] = {
        "accuracy": lambda: accuracy(given.splits, strict=given.strict),
        "speed": speed,
    }
    results = {name: parts[name]() for name in given.parts or parts}
    if given.json:
        given.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
