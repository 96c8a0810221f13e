"""Datasets as yes-or-no questions that were fixed before any draw: the attackers know the whole file.

In the design game the frame is known, so that cut points may be quantiles of the *whole file*: they depend on no draw.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from papers.common.results import ROOT

CUTS = 5
"""Cut points of a number: those between sixths of the file."""

Bits = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Frame:
    """A list of people, known to attackers: answers to q questions, and outcomes of c classes."""

    name: str
    answers: Bits  # shape (N, q)
    classes: Bits  # shape (N,)


def folder() -> Path:
    """Return the folder of the datasets."""
    found = Path(os.environ.get("GLASSINE_DATA", ROOT.parent / "shared" / "data"))
    if not found.is_dir():
        raise SystemExit(f"the datasets are not in {found}; GLASSINE_DATA names their folder")
    return found


def _asked(columns: Sequence[Sequence[str]]) -> Bits:
    """Return the questions of columns of texts: cut points of numbers, each value of the others."""
    out = []
    for column in columns:
        try:
            numbers = np.array([float(value or "nan") for value in column])
        except ValueError:
            values = sorted(set(column))
            out += [[cell == value for cell in column] for value in (values if len(values) > 2 else values[1:])]
            continue
        numbers = np.nan_to_num(numbers, nan=0.0)
        distinct = np.unique(numbers)
        cuts = distinct[:-1] if len(distinct) <= CUTS + 1 else np.unique(np.quantile(numbers, np.arange(1, 6) / 6))
        out += [(numbers <= cut).tolist() for cut in cuts if cut < distinct[-1]]
    asked = np.array(out, dtype=np.uint8).T
    return np.ascontiguousarray(asked[:, (asked.min(axis=0) < asked.max(axis=0))])


def _rows(path: Path, delimiter: str = ",", *, header: bool = True, start: str = "") -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    if start:
        lines = lines[next(i for i, line in enumerate(lines) if line.lower().startswith(start)) + 1 :]
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter) if len(row) > 1]
    return rows[header:]


def _number(rows: list[list[str]], target: int) -> Bits:
    """Return whether a number is above the middle of the file."""
    numbers = np.array([float(row[target]) for row in rows])
    return np.asarray(numbers > np.median(numbers), dtype=np.uint8)


def _columns(rows: list[list[str]], leave: Sequence[int]) -> list[list[str]]:
    width = len(rows[0])
    gone = {place % width for place in leave}
    return [[row[i] for row in rows] for i in range(width) if i not in gone]


def read(name: str) -> Frame:
    """Return a dataset."""
    at = folder() / name
    if name in ("adult", "compas"):
        rows = _rows(at / ("adult_binarised.csv" if name == "adult" else "compas.csv"))
        table = np.array(rows, dtype=float).astype(np.uint8)
        return Frame(name, np.ascontiguousarray(table[:, :-1]), table[:, -1])
    if name == "german":
        rows = _rows(at / "german.data", " ", header=False)
        return Frame(name, _asked(_columns(rows, [-1])), np.array([row[-1] == "2" for row in rows], dtype=np.uint8))
    if name == "telco":
        rows = _rows(at / "telco.csv")
        return Frame(name, _asked(_columns(rows, [0, -1])), np.array([r[-1] == "Yes" for r in rows], dtype=np.uint8))
    if name == "california":
        rows = _rows(at / "cal_housing.data", header=False)
    elif name == "wine":
        rows = [row for part in ("white", "red") for row in _rows(at / f"winequality-{part}.csv", ";")]
    else:
        rows = _rows(at / f"{name}.arff", header=False, start="@data")
    return Frame(name, _asked(_columns(rows, [-1])), _number(rows, -1))
