"""Penalised fits with and without pairs of attributes, on Adult and California; results/pairs.csv holds the figures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from study import EPSILONS, HERE, LOADERS, Method, cell, ours, read, say, write

MEASURES = {"adult": "auroc", "california": "rmse"}
COLUMNS = ("penalized", "penalized + pairs", "penalized + named pair")


def methods(name: str) -> list[Method]:
    """Return what is compared on a dataset."""
    found = [
        Method(name=COLUMNS[0], make=ours("penalized")),
        Method(name=COLUMNS[1], make=ours("penalized", interactions="auto")),
    ]
    if name == "california":
        place = [("longitude", "latitude")]
        found.append(Method(name=COLUMNS[2], make=ours("penalized", interactions=place)))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="25 splits instead of 5")
    parser.add_argument("--datasets", nargs="*", default=list(MEASURES), choices=list(MEASURES))
    given = parser.parse_args(arguments)
    splits = 25 if given.full else 5
    path = HERE / "results" / "pairs.csv"
    rows = read(path)
    for name in given.datasets:
        data = LOADERS[name]()
        for epsilon in EPSILONS:
            for method in methods(name):
                key = (name, f"{epsilon:g}", method.name)
                old = [row for row in rows if (row["dataset"], row["epsilon"], row["method"]) == key]
                if not old or int(old[0]["splits"]) < splits:
                    rows = [row for row in rows if row not in old]
                    old = cell(data, method, epsilon, splits)
                    rows += old
                    write(path, rows)
                row = next(row for row in old if row["measure"] == MEASURES[name])
                say(f"{name:11} {epsilon:>4g} {method.name:23} {row['mean']:>9} +- {row['sd']}")


if __name__ == "__main__":
    main()
