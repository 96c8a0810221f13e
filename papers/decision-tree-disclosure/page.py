"""Writes the tables of docs/papers/decision-tree-disclosure.md from the results, between their marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from constraint_counts import BINARY, READINGS
from figures import NAMES
from study import Row, options, read, say

from papers.common.tables import digits, fill, judged_table, markdown

LEAVES = {"leaf_counts": "class counts", "error_rates": "error rates", "labels_only": "labels only"}
CRITERIA = {"gini": "Gini", "entropy": "information gain"}
CLOSE = 0.06
"""How far, in relation to the printed number, the leaves of a tree may be off to be shown."""

TREES = NAMES | {"cart": "CART for income, 13 attributes"}


def whole(value: str) -> str:
    """Return a number cut to a whole one, with separators."""
    return f"{int(float(value)):,}" if value else ""


def claims(results: Path) -> str:
    """Return the findings and whether they were confirmed."""
    return judged_table(results, "where", "what the paper finds", "reason")


def _place(row: Row) -> tuple[int, int, str]:
    """Return where a reader stands in the table."""
    return [*NAMES].index(row["tree"]), [*LEAVES].index(row["leaves"]), row["internal nodes"]


def readers(results: Path) -> str:
    """Return what each reader of each tree concludes."""
    header = ["tree", "leaves", "reader of", "internal nodes", "rate, label, internal", "active", "D_overall",
              "largest D_individual", "nats left", "gap", "seconds", "peak MB"]  # fmt: skip
    rows = []
    for row in sorted(read(results / "readers.csv"), key=_place):
        gap = f"local, {float(row['gap']):.1g}" if row["status"] == "local" else f"{float(row['gap']):.0e}"
        rows.append(
            [
                NAMES[row["tree"]],
                whole(row["number of leaves"]),
                LEAVES[row["leaves"]],
                row["internal nodes"],
                ", ".join(whole(row[name]) for name in ("rate", "label", "internal")),
                row["active"],
                digits(row["d_overall"], 4),
                digits(row["largest d_individual"], 2),
                digits(row["entropy"], 4),
                gap if float(row["gap"]) > 1e-12 else "0",
                digits(row["seconds"], 1),
                row["peak MB"],
            ]
        )
    return markdown(header, rows)


def constraints(results: Path) -> str:
    """Return the numbers of internal constraints of the trees whose leaves are near the printed number."""
    header = ["criterion", "nodes are split as long as they have enough", "depth", "leaves", "nodes", *READINGS]
    rows = []
    for row in read(results / "constraint_counts.csv"):
        leaves, printed = float(row["leaves"]), float(row["published leaves"])
        if abs(leaves / printed - 1) > CLOSE or row["depth"] in ("3", "4", "6"):
            continue
        found = [whole(row[name]) for name in READINGS]
        target = float(row["published internal"])
        marked = [
            f"**{text}**" if abs(float(row[name]) / target - 1) < 0.01 else text
            for name, text in zip(READINGS, found, strict=True)
        ]
        rule = "(binary tree, best first)" if row["rule"] == BINARY else row["rule"]
        sizes = [whole(row[name]) for name in ("leaves", "internal nodes")]
        rows.append([CRITERIA[row["criterion"]], rule, row["depth"], *sizes, *marked])
    for criterion, printed in (("gini", ("518", "1097")), ("entropy", ("2983", "3307"))):
        told = f"printed: {whole(printed[1])} internal constraints"
        rows.append([CRITERIA[criterion], told, "", whole(printed[0]), "", *[""] * 6])
    return markdown(header, rows)


def figure_5(results: Path) -> str:
    """Return Example 1."""
    rows = read(results / "figure_5.csv")
    header = list(rows[0])
    return markdown(header, [[row["case"], *[digits(row[name]) for name in header[1:]]] for row in rows])


def figure_3(results: Path) -> str:
    """Return the effect of the error rate."""
    header = [
        "tree",
        "leaves",
        "error rates",
        "labels only",
        "error rates, internal nodes",
        "class counts, internal nodes",
    ]
    names = ("with error rates", "without error rates", "with error rates and internal nodes",
             "with class counts and internal nodes")  # fmt: skip
    rows = [
        [NAMES[row["tree"]], whole(row["leaves"]), *[digits(row[name]) for name in names]]
        for row in read(results / "figure_3.csv")
    ]
    return markdown(header, rows)


def figure_4(results: Path) -> str:
    """Return the effect of the selection measure."""
    header = ["tree", "leaves", "error rates", "error rates, internal nodes", "class counts"]
    names = ("d_overall", "d_overall with internal nodes", "d_overall, class counts")
    rows = [
        [NAMES[row["tree"]], whole(row["leaves"]), *[digits(row[name]) for name in names]]
        for row in read(results / "figure_4.csv")
    ]
    return markdown(header, rows)


def figure_6(results: Path) -> str:
    """Return the effect of the internal nodes."""
    header = [
        "tree",
        "reader of",
        "without internal nodes",
        "with them",
        "active",
        "largest D_individual, without",
        "with",
    ]
    names = ("without internal nodes", "with internal nodes")
    rows = [
        [
            NAMES[row["tree"]],
            LEAVES[row["leaves"]],
            *[digits(row[name], 4) for name in names],
            row["active"],
            digits(row["largest d_individual without"], 2),
            digits(row["largest d_individual with"], 2),
        ]
        for row in read(results / "figure_6.csv")
    ]
    return markdown(header, rows)


def figure_7(results: Path) -> str:
    """Return the ten largest changes."""
    header = [
        "rank",
        "change",
        "with",
        "without",
        "at the other end",
        "with class counts: change",
        "paper: with",
        "without",
    ]
    names = ("error rates: change", "error rates: with", "error rates: without", "error rates: opposite",
             "class counts: change", "published with", "published without")  # fmt: skip
    rows = [[row["rank"], *[digits(row[name]) for name in names]] for row in read(results / "figure_7.csv")]
    return markdown(header, rows)


def figure_9(results: Path) -> str:
    """Return times and memory."""
    header = ["tree", "reader", "processor seconds", "peak MB", "of which before"]
    rows = [
        [NAMES[row["tree"]], row["reader"], digits(row["seconds"], 1), row["peak MB"], row["peak MB before"]]
        for row in read(results / "figure_9.csv")
    ]
    return markdown(header, rows)


def posterior(results: Path) -> str:
    """Return how chains converge, and how far the relaxation is off."""
    header = ["tree", "candidates", "draws of 4 chains", "R-hat", "effective size, least and median", "seconds",
              "D_overall, relaxation", "posterior", "people who differ", "largest total variation"]  # fmt: skip
    rows = [
        [
            TREES[row["tree"]],
            whole(row["internal"]),
            row["draws"],
            digits(row["R-hat"]),
            f"{whole(row['smallest effective size'])}, {whole(row['median effective size'])}",
            whole(row["seconds"]),
            digits(row["d_overall relaxation"], 4),
            digits(row["d_overall posterior"], 4),
            whole(row["people who differ"]),
            digits(row["largest difference"], 2),
        ]
        for row in read(results / "posterior.csv")
    ]
    return markdown(header, rows)


TABLES: dict[str, Callable[[Path], str]] = {
    table.__name__: table
    for table in (claims, readers, constraints, figure_3, figure_4, figure_5, figure_6, figure_7, figure_9, posterior)
}


def filled(text: str, results: Path) -> str:
    """Return the text of a page with the tables of the results between their marks."""
    return fill(text, TABLES, results)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    given = options(__doc__, arguments)
    given.page.write_text(filled(given.page.read_text(), given.results))
    say(f"{len(TABLES)} tables in {given.page}")


__all__ = ["TABLES", "filled", "main", "markdown"]

if __name__ == "__main__":
    main()
