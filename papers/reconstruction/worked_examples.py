"""The paper's worked examples: Tables I and II over seeds of CART, Tables III and IV, and V to VII.

``worked_examples.csv`` has a row for each: Dist and Dist_G, and what the paper prints of them. Needs no data.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from sklearn.tree import DecisionTreeClassifier
from study import Row, options, say, select, text, write

from glassine import Domain, as_model, parse_rules, reconstruct
from glassine.domain import Binary, Integer
from papers.common.judging import DERIVED, FIGURE, Judgement, within

CART_SEEDS = 20
FIRST = Domain({"a1": Integer(10, 15), "a2": Binary(), "a3": Integer(1, 3)})
"""Domain of Table I."""

RECORDS, LABELS = [[12, 0, 3], [14, 1, 2], [11, 1, 2], [14, 0, 1]], [0, 0, 1, 1]
RULE_LIST_1 = """if [a1] and [a2] then [true] ([0 ; 2] examples)
else if [a3] then [false] ([2 ; 0] examples)
else [true] ([0 ; 1] example)"""
LAST = Domain({"a1": Binary(), "a2": Integer(1, 3)})
HALF = 0.0005
"""Half a unit of the last digit that is printed."""

PRINTED = {"I and II": ("0.736", ""), "V and VI": ("0.5", "0.613"), "V and VII": ("0.5", "0.387")}


def row(tables: str, case: str, model: object, domain: Domain) -> Row:
    """Return the figures of a model beside what is printed."""
    known = reconstruct(model, domain)
    dist, dist_g = PRINTED.get(tables, ("", ""))
    return {
        "tables": tables,
        "case": case,
        "leaves": str(len(known.supports)),
        "dist": text(known.dist()),
        "printed dist": dist,
        "dist_g": text(known.dist_g()),
        "printed dist_g": dist_g,
    }


def rows() -> list[Row]:
    """Return the rows: of Table I a CART of each seed, as its records admit several trees."""
    out = []
    for seed in range(CART_SEEDS):
        cart = DecisionTreeClassifier(random_state=seed).fit(np.array(RECORDS), LABELS)
        out.append(row("I and II", f"CART, seed {seed}", as_model(cart, FIRST), FIRST))
    three = Domain.binary(["a1", "a2", "a3"])
    out.append(row("III and IV", "rule list 1", parse_rules(RULE_LIST_1, three), three))
    # One record of a1 = 1, or of a2 = 1, is what a list with one rule tells of it.
    for tables, condition in (("V and VI", "a1"), ("V and VII", "a2 <= 1")):
        told = f"if [{condition}] then [true] ([0 ; 1] example)\nelse [false] ([0 ; 0] examples)"
        out.append(row(tables, condition, parse_rules(told, LAST), LAST))
    return out


def tree_of_table_2(found: Sequence[Row]) -> Judgement:
    """Judge the printed Dist of the example tree: one of the trees that CART grows on its records has it."""
    trees = select(found, tables="I and II")
    dists = [float(row["dist"]) for row in trees]
    printed = float(PRINTED["I and II"][0])
    nearest = min(dists, key=lambda dist: abs(dist - printed))
    counts = ", ".join(f"{dist:.4f} by {dists.count(dist)}" for dist in sorted(set(dists)))
    return Judgement(
        rule=FIGURE,
        seen=f"of {len(trees)} seeds of CART {counts}; Dist_G is {float(trees[0]['dist_g']):.3f} of each",
        comparisons=(within("the nearest tree", [(nearest, printed - HALF, printed + HALF)]),),
    )


def tables_5_to_7(found: Sequence[Row]) -> Judgement:
    """Judge Dist and Dist_G of the two reconstructions of one record."""
    figures = [
        (float(row[name]), float(row[f"printed {name}"]) - HALF, float(row[f"printed {name}"]) + HALF)
        for row in found
        for name in ("dist", "dist_g")
        if row["printed dist_g"]
    ]
    seen = ", ".join(f"{here:.3f}" for here, _, _ in figures)
    return Judgement(rule=DERIVED, seen=seen, comparisons=(within("Dist and Dist_G of two", figures),))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the figures."""
    given = options(__doc__, arguments)
    write(given.results / "worked_examples.csv", found := rows())
    for each in found:
        say(", ".join(f"{name} {value}" for name, value in each.items() if value))


__all__ = ["CART_SEEDS", "main", "row", "rows", "tables_5_to_7", "tree_of_table_2"]

if __name__ == "__main__":
    main(sys.argv[1:])
