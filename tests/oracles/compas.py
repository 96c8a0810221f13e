"""The COMPAS records as the reconstruction paper binarised them, and the ties between their 27 dummies."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt

from glassine.domain import Domain, ExactlyOne, Implies, Intervals

TARGET = "Recidivate-Within-Two-Years"


def read(data_dir: Path) -> tuple[list[str], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the names of the attributes, the records and the labels."""
    with (data_dir / "compas" / "compas.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))
    table = np.array(rows[1:], dtype=np.int64)
    assert rows[0][-1] == TARGET
    return rows[0][:-1], table[:, :-1], table[:, -1]


def domain(names: list[str]) -> Domain:
    """Return the domain with its true groups.

    In the file, the columns named ``Age<=40`` and ``Age<=45`` are 1 for people of at least 40 and 45.
    """
    ages = dict(
        zip(
            names[:8],
            [(18, 20), (18, 22), (18, 25), (24, 30), (24, 40), (30, None), (40, None), (45, None)],
            strict=True,
        )
    )
    groups = [
        Intervals(18, 99, ages),
        ExactlyOne(tuple(n for n in names if n.startswith("Race="))),
        ExactlyOne(tuple(n for n in names if n.startswith("Juvenile-Felonies"))),
        ExactlyOne(("Juvenile-Crimes=0", "Juvenile-Crimes=1-3", "Juvenile-Crimes>3")),
        Implies(("Juvenile-Crimes>5", "Juvenile-Crimes>3")),
        ExactlyOne(("Prior-Crimes=0", "Prior-Crimes=1-3", "Prior-Crimes>3")),
        Implies(("Prior-Crimes>5", "Prior-Crimes>3")),
    ]
    return Domain.binary(names, groups=groups)
