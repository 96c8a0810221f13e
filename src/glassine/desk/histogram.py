"""A histogram of one column of the records, in a worker: an analyst asked for it, and the column is marked as seen."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from glassine.data.record_table import columns
from glassine.data.sources import read_table
from glassine.records.headers import RecordsFile
from glassine.records.purpose import Purpose

BARS = 24


def main() -> None:
    """Print the heights of the bars of a column of numbers; arguments: the records and the column."""
    path, column = sys.argv[1:]
    values = columns(read_table(RecordsFile(path=Path(path)), Purpose.AUDIT))[column]
    try:
        numbers = values.astype(float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    numbers = numbers[np.isfinite(numbers)]
    sys.stdout.write(json.dumps(np.histogram(numbers, BARS)[0].tolist() if numbers.size else []))


if __name__ == "__main__":
    main()
