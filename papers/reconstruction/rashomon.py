"""What near-optimal trees of the same records reveal together, against how many are published: ``rashomon.csv``.

After Hsu, Chen, Zhong and Semenova, *The Double-Edged Nature of the Rashomon Set for Trustworthy Machine Learning*
(2025): many near-optimal models serve diversity, and leak more together. All trees of depth 2 on single attributes are
enumerated; those within a hundredth of the best training accuracy, with a least support of 0.01, are the set. Some of
them are drawn, each in every larger group. Bits per record are a proved range, given the domain's groups.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt
from fits import planted
from settings import DATA_SETS, SEEDS, Ints, split
from study import FOLDER, Row, options, resume, select, text
from tree_search import Nested

from glassine.attacks.reconstruction.joint_rows import reconstruct_jointly
from glassine.attacks.reconstruction.systems import Search
from papers.common.judging import clustered
from papers.common.tables import markdown, place

PAGE = FOLDER.parents[1] / "docs" / "papers" / "beyond-one-tree.md"
SIZES = ("1", "2", "4", "8", "16")
SLACK = 0.01
SUPPORT = 0.01

Part = tuple[int, Nested]
"""Errors of a part of the records, and the leaf or the split that makes them."""


def parts_of(X: Ints, y: Ints, rows: npt.NDArray[np.bool_], least: int) -> list[Part]:
    """Return a leaf, and each split whose sides hold enough records, with the errors of some records."""
    positive = int(y[rows].sum())
    whole = int(rows.sum())
    found: list[Part] = [(min(positive, whole - positive), int(2 * positive > whole))]
    for attribute in range(X.shape[1]):
        holds = X[rows, attribute] == 1
        counts = [np.bincount(y[rows][side], minlength=2) for side in (holds, ~holds)]
        if min(int(each.sum()) for each in counts) >= least:
            labels = [int(each.argmax()) for each in counts]
            found.append((sum(int(each.min()) for each in counts), [attribute, *labels]))
    return found


def trees(X: Ints, y: Ints, least: int) -> Iterator[Part]:
    """Yield every tree of depth 1 or 2, a split whose sides agree among them, with its errors."""
    for attribute in range(X.shape[1]):
        holds = X[:, attribute] == 1
        if not least <= holds.sum() <= len(y) - least:
            continue
        sides = [parts_of(X, y, rows, least) for rows in (holds, ~holds)]
        for (errors, one), (more, other) in product(*sides):
            yield errors + more, [attribute, one, other]


@cache
def near_optimal(name: str, seed: str) -> tuple[Part, ...]:
    """Return the trees within the slack of the best, in an order drawn by the seed."""
    data = split(name, seed)
    found = list(trees(data.X, data.y, max(1, int(SUPPORT * len(data.y)))))
    most = min(errors for errors, _ in found) + SLACK * len(data.y)
    kept = [part for part in found if part[0] <= most]
    return tuple(kept[i] for i in np.random.default_rng(int(seed)).permutation(len(kept)))


def measured(key: Row, limit: float) -> Row:
    """Return a row: the size of the set, errors, bits alone and together, and who stands out."""
    data, started, size = split(key["data"], key["seed"]), time.process_time(), int(key["trees"])
    kept = near_optimal(key["data"], key["seed"])
    some = kept[:size]
    models = [planted(nested, data) for _, nested in some]
    found = reconstruct_jointly(models, data.domain, data=data.frame(), search=Search(time_limit=limit))
    return key | {
        "status": found.status,
        "set": str(len(kept)),
        "most errors": text(max(errors for errors, _ in some) / len(data.y)),
        "domain bits": text(found.domain_bits),
        "best alone": text(max(found.bits_alone)),
        "from": text(found.bits_per_record.lower),
        "to": text(found.bits_per_record.upper),
        "which is which": text(found.bits_aligned),
        "cells": "" if found.cells is None else str(len(found.cells)),
        "small groups": str(len(found.small_groups)),
        "certain labels": str(len(found.certain_labels)),
        "seconds": f"{time.process_time() - started:.2f}",
    }


def keys(quick: bool) -> list[list[Row]]:
    """Return what names each row."""
    return [
        [{"data": data, "seed": seed, "trees": size}]
        for seed in (SEEDS[:1] if quick else SEEDS)
        for data in DATA_SETS
        for size in (SIZES[:2] if quick else SIZES)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not in the results yet."""
    given = options(__doc__, arguments)
    rows = resume(given.results / "rashomon.csv", keys(given.quick), lambda some: [measured(some[0], given.limit)])
    if given.results == FOLDER / "results":
        PAGE.write_text(place(PAGE.read_text(), "near-optimal trees", table(rows)))


def table(rows: Sequence[Row]) -> str:
    """Return means over splits, and the share of the domain's bits with its 95 % interval."""
    lines = []
    for data, size in product(DATA_SETS, SIZES):
        some = select(rows, data=data, trees=size)
        share = clustered("share", {row["seed"]: [float(row["from"]) / float(row["domain bits"])] for row in some})
        means = {
            name: float(np.mean([float(row[name]) for row in some]))
            for name in ("best alone", "from", "to", "which is which", "small groups")
        }
        lines.append(
            [
                data,
                size,
                f"{means['best alone']:.2f}",
                f"{means['from']:.3f} to {means['to']:.3f}",
                f"{share.mean:.1%} [{share.low:.1%}, {share.high:.1%}]",
                f"{means['which is which']:.2f}",
                f"{means['small groups']:.1f}",
            ]
        )
    head = ["data", "trees", "best alone", "together", "of the domain's bits", "if linked", "small groups"]
    return markdown(head, lines)


__all__ = ["SIZES", "SLACK", "main", "measured", "near_optimal", "parts_of", "table", "trees"]

if __name__ == "__main__":
    main(sys.argv[1:])
