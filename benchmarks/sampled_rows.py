"""Rows of a summary beside those of AIM and MST on Adult: ``python benchmarks/sampled_rows.py [--page]``.

All get the same records in the same public bins, at delta 1e-6. A row of ``sampled_rows.csv`` has the mean distance of
one- and two-way shares from those of the records (total variation), and the AUC on held-out records of boosted trees
trained on the rows. AIM and MST have as little time as in ``peers/work_dpmm.py``; with dpmm's own settings MST is
measured on one split. GLASSINE_DATA names the folder of the datasets, GLASSINE_DPMM a Python that has dpmm 0.1.9.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from benchmarks.public_data import adult  # noqa: E402
from glassine import Category, Domain, Integer  # noqa: E402
from glassine.learners import PrivateSummary  # noqa: E402
from papers.common.results import Row, one  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

TARGET = "income"
WAYS = {
    "records": ("the records", 5),
    "summary": ("summary", 5),
    "AIM": ("AIM", 5),
    "MST": ("MST", 5),
    "default": ("MST, defaults, one split", 1),
}
"""Words for whose rows they are, and the number of splits."""
EPSILONS = ("0.5", "2")
KEYS = [
    {"way": way, "epsilon": epsilon, "seed": str(seed)}
    for way, (_, seeds) in WAYS.items()
    for epsilon in EPSILONS
    for seed in range(seeds)
    if way != "records" or epsilon == EPSILONS[0]
]


def codes_of(frame: pl.DataFrame, domain: Domain) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the public bin of each value, and how many bins each column has."""
    out, sizes = {}, {}
    for name in domain:
        attribute = domain[name]
        if isinstance(attribute, Integer):
            cuts = np.array(attribute.thresholds)
            out[name], sizes[name] = np.searchsorted(cuts, frame[name].to_numpy()), len(cuts) + 1
        elif isinstance(attribute, Category):
            place = {value: code for code, value in enumerate(attribute.values)}
            out[name], sizes[name] = np.array([place[v] for v in frame[name].to_list()]), len(place)
    return pl.DataFrame(out), sizes


def rows_of(way: str, train: pl.DataFrame, domain: Domain, epsilon: str, seed: int) -> pl.DataFrame:
    """Return as many rows as records, in public bins."""
    codes, sizes = codes_of(train, domain)
    if way == "records":
        return codes
    if way == "summary":
        fitted = PrivateSummary(epsilon=float(epsilon), delta=1e-6, domain=domain, random_state=seed).fit(train, TARGET)
        return codes_of(fitted.sample(len(train), random_state=seed), domain)[0]
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "codes.csv", Path(folder) / "rows.csv"
        codes.write_csv(given)
        script = ROOT / "benchmarks" / "peers" / "run_dpmm.py"
        words = [os.environ["GLASSINE_DPMM"], script, way, given, json.dumps(sizes), epsilon, str(seed), made]
        quiet = subprocess.DEVNULL
        subprocess.run(list(map(str, words)), check=True, stdout=quiet, stderr=quiet)  # noqa: S603 - our own script
        return pl.read_csv(made).select(codes.columns).cast(pl.Int64)


def distance(rows: pl.DataFrame, truth: pl.DataFrame, sizes: Mapping[str, int], ways: int) -> float:
    """Return the mean total variation between the shares of cells of so many columns each."""

    def shares(frame: pl.DataFrame, names: Sequence[str]) -> Any:
        shape = tuple(sizes[name] for name in names)
        flat = np.ravel_multi_index(tuple(frame[name].to_numpy() for name in names), shape)
        return np.bincount(flat, minlength=int(np.prod(shape))) / len(frame)

    sets = list(combinations(sizes, ways))
    return float(np.mean([np.abs(shares(rows, names) - shares(truth, names)).sum() / 2 for names in sets]))


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return distances, and the AUC of a model of the rows."""
    data, seed = adult(), int(key["seed"])
    order = np.random.default_rng(seed).permutation(len(data.labels))
    cut = len(order) // 5
    whole = data.frame.with_columns(pl.Series(TARGET, data.labels.tolist()))
    domain = Domain({**{name: data.domain[name] for name in data.domain}, TARGET: Category(data.classes)})
    test, train = whole[order[:cut]], whole[order[cut:]]
    rows = rows_of(key["way"], train, domain, key["epsilon"], seed)
    (truth, sizes), held = codes_of(train, domain), codes_of(test, domain)[0]
    model = HistGradientBoostingClassifier(random_state=0).fit(rows.drop(TARGET).to_numpy(), rows[TARGET].to_numpy())
    area = roc_auc_score(held[TARGET].to_numpy(), model.predict_proba(held.drop(TARGET).to_numpy())[:, 1])
    return {
        "one": f"{distance(rows, truth, sizes, 1):.4f}",
        "two": f"{distance(rows, truth, sizes, 2):.4f}",
        "auc": f"{area:.4f}",
    }


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    lines = []
    for way, (words, seeds) in WAYS.items():
        epsilons = EPSILONS[:1] if way == "records" else EPSILONS
        cells = [words]
        for name in ("one", "two", "auc"):
            own = ([one(rows, way=way, epsilon=e, seed=str(seed))[name] for seed in range(seeds)] for e in epsilons)
            cells.append(", ".join(f"{np.mean([float(figure) for figure in figures]):.3f}" for figures in own))
        lines.append(cells)
    return {"sampled-rows": markdown(["rows of", "one-way", "two-way", "AUC"], lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
