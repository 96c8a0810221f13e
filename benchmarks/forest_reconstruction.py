"""Rows of COMPAS rebuilt from random forests: ``python benchmarks/forest_reconstruction.py [--page]``.

A row of ``forest_reconstruction.csv`` is a reader, a number of records and of trees, and a sample: the mean error of
the rebuilt rows beside that of random ones, how many rows are whole, processor seconds and the outcome. A forest may
take a minute on the clock. GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set
import pandas as pd  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402

from benchmarks.kept_rows import kept  # noqa: E402
from benchmarks.public_data import DATA  # noqa: E402
from glassine.attacks import Measured  # noqa: E402
from glassine.attacks.reconstruction.record_reconstruction import reconstruct_records  # noqa: E402
from glassine.attacks.reconstruction.systems import Search  # noqa: E402
from glassine.formats.sklearn.forest import forest_from_sklearn  # noqa: E402
from papers.common.results import Row, select  # noqa: E402
from papers.common.tables import markdown  # noqa: E402
from tests.oracles import compas  # noqa: E402

LIMIT = 60.0
"""Seconds on the clock for each forest."""

PLAIN, SEEDS, COUNTS = "no bootstrap", "bootstrap, seeds", "bootstrap, counts only"
TREES, RECORDS, SAMPLES = ("1", "20", "100"), ("50", "100"), ("0", "1", "2")
KEYS = [
    {"reader": reader, "records": records, "trees": trees, "sample": sample}
    for reader, records, trees in (
        *((PLAIN, records, trees) for trees in TREES for records in RECORDS),
        (SEEDS, "50", "50"),
        (COUNTS, "50", "50"),
    )
    for sample in SAMPLES
]


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Fit one forest, rebuild its rows, and compare them with the records."""
    reader, n, n_trees, seed = key["reader"], *(int(key[name]) for name in ("records", "trees", "sample"))
    names, table, labels = compas.read(DATA)
    domain = compas.domain(names)
    rows = np.random.default_rng(seed).choice(len(labels), n, replace=False)
    frame = pd.DataFrame(table[rows], columns=names)
    fitted = RandomForestClassifier(n_trees, bootstrap=reader != PLAIN, random_state=seed)
    model: Any = fitted.fit(frame, labels[rows])
    if reader == COUNTS:
        model = forest_from_sklearn(model, domain, use_seeds=False)
    started = time.process_time()
    outcome = reconstruct_records(model, domain, random_state=seed, search=Search(time_limit=LIMIT))
    seconds = time.process_time() - started
    if not isinstance(outcome, Measured):
        return {"seconds": seconds, "status": "not solved", "error": None, "random": None, "whole": None}
    rebuilt = outcome.value
    estimate = rebuilt.error_to(frame, random_state=seed)
    return {
        "seconds": seconds,
        "status": rebuilt.status,
        "error": estimate.error,
        "random": estimate.baseline,
        "whole": rebuilt.n_whole,
    }


def mean(rows: Sequence[Row], name: str) -> float:
    """Return the mean of a figure over the samples."""
    return fmean(float(row[name]) for row in rows)


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page, and the sentences beside it."""
    lines = []
    for trees in TREES:
        few, many = (select(rows, reader=PLAIN, records=records, trees=trees) for records in RECORDS)
        cells = [text for one in (few, many) for text in (f"{mean(one, 'error'):.3f}", f"{mean(one, 'whole'):.0f}")]
        lines.append([trees, *cells, f"{median(float(row['seconds']) for row in many):.2g}"])
    header = ["trees", "50 records: error", "whole", "100 records: error", "whole", "CPU s"]
    seeded, counted = (select(rows, reader=reader) for reader in (SEEDS, COUNTS))
    solved = sum(row["status"] != "not solved" for row in counted)
    random = mean(select(rows, reader=PLAIN), "random")
    return {
        "random rows": f"Random rows have an error of {random:.2f}. *Whole* rows are proved in every attribute.",
        "forests": markdown(header, lines),
        "bootstrap": f"With bootstrap and seeds, 50 trees give {mean(seeded, 'whole'):.0f} whole rows of 50. Without "
        f"seeds, {solved} of {len(counted)} samples were solved in a minute.",
    }


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
