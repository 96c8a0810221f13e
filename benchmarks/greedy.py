"""Benchmarks of greedy rule lists: ``python benchmarks/greedy.py [speed] [--page]``.

Accuracies are of seeded 70/30 splits, on test records, of lists of up to five rules; every form gets the same splits.
The sensitive attributes are left out as in the paper, or kept. A row of ``greedy.csv`` has the accuracies of a form by
split; rows that are stored are not measured again. Times are of warm runs in this process.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set

import glassine  # noqa: E402
from benchmarks import public_data  # noqa: E402
from benchmarks.kept_rows import kept  # noqa: E402
from benchmarks.public_data import Benchmark  # noqa: E402
from glassine.learners.antecedents import (  # noqa: E402 - after the path is set
    declared,
    pairs,
)
from glassine.learners.greedy.greedy_plan import MECHANISMS  # noqa: E402
from glassine.learners.greedy.growth import bit_set_bytes  # noqa: E402
from glassine.learners.greedy.ordinary_lists import GreedyRuleListClassifier  # noqa: E402
from glassine.learners.greedy.private_lists import PrivateGreedyRuleListClassifier  # noqa: E402
from papers.common.results import Row, one, say  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

EPSILONS = ("0.1", "0.3", "1", "3", "10")
SHOWN = ("0.1", "1", "10")
"""The budgets of the page."""
SPLITS = 20
DATA = {"Adult": public_data.adult_binarised, "COMPAS": public_data.compas}
PARTS = ("without sensitive", "all")
"""The attributes that are used."""
SENSITIVE = {"adult_binarised": ("gender", "age"), "compas": ("Race", "Age", "Gender")}
STRICT_DELTA = 1e-9
RULES = 5
PLAIN, OURS, EXPONENTIAL = "GreedyRL, not private", "counted-gini, strict", "PrivateRuleListClassifier"
PUBLISHED = tuple(f"{mechanism}, published" for mechanism in MECHANISMS if mechanism != "counted-gini")
FORMS = (PLAIN, OURS, *PUBLISHED, *(form.replace("published", "strict") for form in PUBLISHED), EXPONENTIAL)
LISTS = f"`{EXPONENTIAL}`"


def without_sensitive(data: Benchmark) -> Benchmark:
    """Return a dataset without the attributes that the paper leaves out."""
    names = [name for name in data.domain.names if not name.startswith(SENSITIVE[data.name])]
    return replace(data, frame=data.frame.select(names), domain=data.domain.restrict(names))


def learner(data: Benchmark, form: str, epsilon: str, seed: int) -> Any:
    """Return the learner of a form."""
    if form == PLAIN:
        return GreedyRuleListClassifier(RULES, domain=data.domain, classes=data.classes)
    if form == EXPONENTIAL:
        return glassine.learners.PrivateRuleListClassifier(
            RULES, epsilon=float(epsilon), domain=data.domain, classes=data.classes, random_state=seed
        )
    mechanism, accounting = form.split(", ")
    needs_delta = mechanism in ("smooth-laplace", "global-gaussian") and accounting == "strict"
    return PrivateGreedyRuleListClassifier(
        RULES,
        epsilon=float(epsilon),
        domain=data.domain,
        mechanism=mechanism,
        delta=STRICT_DELTA if needs_delta else None,
        accounting=accounting,
        classes=data.classes,
        random_state=seed,
    )


@cache
def part(name: str, attributes: str) -> Benchmark:
    """Return a dataset with the attributes that are used."""
    data = DATA[name]()
    return without_sensitive(data) if attributes == PARTS[0] else data


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the test accuracy of each split."""
    data, found = part(key["data"], key["attributes"]), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for split in range(SPLITS):
            train, test = data.split(split, 0.7)
            model = learner(data, key["form"], key["epsilon"], split).fit(data.frame[train], data.labels[train])
            found.append(float(model.score(data.frame[test], data.labels[test])))
    return {"accuracies": " ".join(f"{value:.5g}" for value in found)}


KEYS = [
    {"data": data, "attributes": attributes, "form": form, "epsilon": epsilon}
    for data, attributes, form in product(DATA, PARTS, FORMS)
    for epsilon in (EPSILONS if form != PLAIN else ("",))
]


def mean(rows: Sequence[Row], data: str, form: str, epsilon: str) -> float:
    """Return a mean accuracy without the sensitive attributes."""
    row = one(rows, data=data, attributes=PARTS[0], form=form, epsilon=epsilon)
    return fmean(map(float, row["accuracies"].split()))


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    lines = []
    for data in DATA:
        best = [max(mean(rows, data, form, epsilon) for form in PUBLISHED) for epsilon in SHOWN]
        ours, lists = ([mean(rows, data, form, epsilon) for epsilon in SHOWN] for form in (OURS, EXPONENTIAL))
        for name, means in ((f"{data}: `counted-gini`", ours), ("best published form", best), (LISTS, lists)):
            lines.append([name, *(f"{value:.3f}" for value in means)])
    return {"greedy": markdown(["", f"epsilon {SHOWN[0]}", *SHOWN[1:]], lines)}


def speed(n: int = 1_000_000) -> None:
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
    small = frame[:1000]
    for mechanism, epsilon in ((None, None), ("counted-gini", 1.0), ("smooth-laplace", 1.0)):
        usual: dict[str, Any] = {"min_support": 0.0, "classes": (False, True), "pool": pool}
        model: Any = GreedyRuleListClassifier(RULES, domain=domain, **usual)
        if mechanism is not None and epsilon is not None:
            delta = 1e-9 if mechanism == "smooth-laplace" else None
            model = PrivateGreedyRuleListClassifier(
                RULES, epsilon=epsilon, domain=domain, mechanism=mechanism, delta=delta, **usual
            )
        model.fit(small, y[:1000])
        started = time.perf_counter()
        model.fit(frame, y)
        seconds = time.perf_counter() - started
        say(f"{mechanism}: {len(pool):,} rules, {n:,} records: {seconds:.2f} s, {model.model_}")
    size = bit_set_bytes(pool, n)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    say(f"bit sets {size / 1e6:.1f} MB; peak memory of the process {peak / 1e6:.2f} GB, records and all")


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page; or measure times."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments, others={"speed": speed})


if __name__ == "__main__":
    sys.exit(main())
