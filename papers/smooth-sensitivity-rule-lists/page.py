"""Prints the tables of docs/papers/smooth-sensitivity-rule-lists.md from the results; a test compares them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from figure_4 import METHODS
from study import FOLDER, Row, options, read, say

from papers.common.tables import digits, markdown, scientific

SETTINGS = {"german": "German", "compas": "COMPAS", "adult": "Adult", "adult-pairs": "Adult, conjunctions"}
SHOWN = ("0.01", "0.1", "1", "10", "100")


def pools(results: Path) -> str:
    """Return what each reading of the pre-processing gives."""
    header = ["data", "pool", "rules", "GreedyRL", "sm-Laplace, epsilon 10", "greedy, all ties", "ceiling"]
    rows = [
        [
            SETTINGS[row["setting"]],
            row["pool"],
            row["rules"],
            f"{digits(row['GreedyRL'])} ± {digits(row['GreedyRL error'], 4)}",
            f"{digits(row['sm-Laplace'])} ± {digits(row['sm-Laplace error'], 4)}",
            " to ".join(dict.fromkeys([digits(row["ties from"]), digits(row["ties to"])])),
            digits(row["ceiling"]),
        ]
        for row in read(results / "pools.csv")
    ]
    return markdown(header, rows)


def accuracies(results: Path) -> str:
    """Return the test accuracies of Figure 4 at five values of epsilon."""
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in read(results / "figure_4.csv"):
        found.setdefault((row["setting"], row["method"]), {})[row["epsilon"]] = row
    rows = []
    for setting, method in ((setting, method) for setting in SETTINGS for method in METHODS):
        at = found[setting, method]
        if "" in at:
            rows.append([SETTINGS[setting], method, f"not private: {digits(at['']['test'])}", *[""] * (len(SHOWN) - 1)])
        else:
            rows.append([SETTINGS[setting], method, *[digits(at[epsilon]["test"]) for epsilon in SHOWN]])
    return markdown(["data", "method", *[f"epsilon {epsilon}" for epsilon in SHOWN]], rows)


def order(results: Path) -> str:
    """Return the statements on the order of the methods."""
    header = ["data", "at least as accurate", "as", "held at", "not at epsilon"]
    rows = [
        [
            SETTINGS[row["setting"]],
            row["methods"],
            row["at least as accurate as"].replace(";", ","),
            f"{row['held at']} of {row['values']} values from {row['from epsilon']} to {row['to epsilon']}",
            row["not at"].replace(" ", ", "),
        ]
        for row in read(results / "figure_4_statements.csv")
    ]
    return markdown(header, rows)


def table_1(results: Path) -> str:
    """Return Table I beside the published one."""
    found = {(row["method"], row["epsilon"], row["setting"]): row for row in read(results / "table_1.csv")}
    names = ("german", "compas", "adult")
    header = ["method", "epsilon", *[part for name in names for part in (f"{SETTINGS[name]}, paper", "here")]]
    rows = []
    for method, epsilon in dict.fromkeys((key[0], key[1]) for key in found):
        entries = [found[method, epsilon, name] for name in names]
        figures = [
            part for row in entries for part in (scientific(row["published"]), scientific(row["standard error"]))
        ]
        rows.append([method, epsilon, *figures])
    return markdown(header, rows)


def table_2(results: Path) -> str:
    """Return Table II beside the published one."""
    header = [
        "data",
        "method",
        "vulnerability, paper",
        "here",
        "by class",
        "control",
        "p at most 0.05 in",
        "accuracy, paper",
        "here",
        "variance, paper's ±",
        "here",
    ]
    rows = [
        [
            SETTINGS[row["setting"]],
            row["method"],
            digits(row["published vulnerability"]),
            digits(row["vulnerability"], 4),
            digits(row["by class"], 4),
            digits(row["control"], 4),
            f"{float(row['evident']):.0%}".replace("%", " %"),
            digits(row["published accuracy"]),
            f"{digits(row['accuracy'])} ± {digits(row['accuracy_error'], 4)}",
            scientific(row["published plus or minus"]),
            scientific(row["accuracy_variance"]),
        ]
        for row in read(results / "table_2.csv")
    ]
    return markdown(header, rows)


def table_3(results: Path) -> str:
    """Return Table III beside the published one."""
    header = [
        "data",
        "epsilon",
        "method",
        "paper",
        "ties at random",
        "ties by column",
        "as few, as many as possible",
        "chance",
    ]
    rows = [
        [
            SETTINGS[row["setting"]],
            row["epsilon"],
            row["method"],
            digits(row["published"]),
            f"{digits(row['value'])} ± {digits(row['value_error'])}",
            f"{digits(row['in_column_order'])} ± {digits(row['in_column_order_error'])}",
            f"{digits(row['low'])}, {digits(row['high'])}",
            digits(row["chance"]),
        ]
        for row in read(results / "table_3.csv")
    ]
    return markdown(header, rows)


TABLES = (pools, accuracies, order, table_1, table_2, table_3)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print every table."""
    given = options(__doc__, arguments)
    for table in TABLES:
        say(table(given.results) + "\n")


__all__ = ["FOLDER", "TABLES"]

if __name__ == "__main__":
    main()
