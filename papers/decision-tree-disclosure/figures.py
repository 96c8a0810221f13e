"""Figures 3, 4, 6, 7, 8 and 9 from the results: a table of each (CSV), and plots of 4, 6 and 7 (SVG)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from study import FOLDER, Options, Row, one, options, read, write

from papers.common.drawing import BLUE, GREY, ORANGE
from papers.common.drawing import save as write_figure

NAMES = {
    "gini": "Gini",
    "gini-gain": "Gini, pruned by gain",
    "gini-binary": "Gini, binary",
    "gini-large": "Gini, as many leaves",
    "entropy": "information gain",
    "entropy-gain": "information gain, pruned by gain",
    "entropy-small": "information gain, as few leaves",
}
ERRORS, COUNTS, LABELS = "error_rates", "leaf_counts", "labels_only"

Table = list[dict[str, object]]
Bars = Sequence[tuple[str, str, float]]
"""Group, series and length of each bar."""


def reader(rows: Sequence[Row], tree: str, leaves: str, internal: str) -> Row:
    """Return the row of a reader."""
    return one(rows, **{"tree": tree, "leaves": leaves, "internal nodes": internal})


def value(rows: Sequence[Row], tree: str, leaves: str, internal: str, name: str = "d_overall") -> float:
    """Return a figure of a reader."""
    return float(reader(rows, tree, leaves, internal)[name])


def figure_3(rows: Sequence[Row]) -> Table:
    """Return the effect of the error rate: D_overall with and without it."""
    return [
        {
            "tree": tree,
            "leaves": reader(rows, tree, ERRORS, "no")["number of leaves"],
            "with error rates": value(rows, tree, ERRORS, "no"),
            "without error rates": value(rows, tree, LABELS, "yes"),
            "with error rates and internal nodes": value(rows, tree, ERRORS, "yes"),
            "with class counts and internal nodes": value(rows, tree, COUNTS, "yes"),
        }
        for tree in ("gini", "entropy", "entropy-small")
    ]


def figure_4(rows: Sequence[Row]) -> Table:
    """Return the effect of the selection measure, with error rates; also at the same number of leaves."""
    return [
        {
            "tree": tree,
            "leaves": reader(rows, tree, ERRORS, "no")["number of leaves"],
            "d_overall": value(rows, tree, ERRORS, "no"),
            "d_overall with internal nodes": value(rows, tree, ERRORS, "yes"),
            "d_overall, class counts": value(rows, tree, COUNTS, "no"),
        }
        for tree in ("gini", "entropy-small", "gini-large", "entropy")
    ]


def figure_6(rows: Sequence[Row]) -> Table:
    """Return the effect of the internal nodes on D_overall."""
    out: Table = []
    for row in rows:
        if row["internal nodes"] == "yes" and row["leaves"] != LABELS:
            alone = value(rows, row["tree"], row["leaves"], "no")
            out.append(
                {
                    "tree": row["tree"],
                    "leaves": row["leaves"],
                    "without internal nodes": alone,
                    "with internal nodes": float(row["d_overall"]),
                    "difference": alone - float(row["d_overall"]),
                    "active": row["active"],
                    "status": row["status"],
                    "largest d_individual without": value(
                        rows, row["tree"], row["leaves"], "no", "largest d_individual"
                    ),
                    "largest d_individual with": float(row["largest d_individual"]),
                }
            )
    return out


def figure_7(changes: Sequence[Row]) -> Table:
    """Return the ten quasi-identifiers that internal nodes tell most about, beside the published ten."""
    printed = read(FOLDER / "published.csv")
    out: Table = []
    for rank in map(str, range(1, 11)):
        row: dict[str, object] = {"rank": rank}
        for name, tree, leaves in (("error rates", "entropy", ERRORS), ("class counts", "entropy", COUNTS)):
            found = one(changes, tree=tree, leaves=leaves, rank=rank)
            row |= {f"{name}: {part}": float(found[part]) for part in ("change", "with", "without", "opposite")}
        for part in ("with", "without"):
            row[f"published {part}"] = float(one(printed, quantity=f"figure 7 {part}", case=rank)["value"])
        out.append(row)
    return out


def figure_8(changes: Sequence[Row]) -> Table:
    """Return the mean of the K largest changes."""
    return [
        {name: row[name] for name in ("tree", "leaves", "rank", "change", "mean", "opposite")}
        for row in changes
        if float(row["rank"]) >= 1
    ]


def figure_9(rows: Sequence[Row]) -> Table:
    """Processor seconds and memory of each reader."""
    readers = (
        ("all included", ERRORS, "yes"),
        ("no internal nodes", ERRORS, "no"),
        ("no error rates", LABELS, "yes"),
        ("class counts, all included", COUNTS, "yes"),
    )
    return [
        {
            "tree": tree,
            "reader": name,
            "seconds": value(rows, tree, leaves, internal, "seconds"),
            "peak MB": value(rows, tree, leaves, internal, "peak MB"),
            "peak MB before": value(rows, tree, leaves, internal, "peak MB before"),
        }
        for tree in ("gini", "entropy-small", "gini-large", "entropy")
        for name, leaves, internal in readers
    ]


def new(height: float) -> tuple[Figure, Axes]:
    """Return an empty plot."""
    figure = Figure(figsize=(6.6, height), layout="constrained")
    return figure, figure.add_subplot()


def save(figure: Figure, given: Options, name: str) -> None:
    """Write a plot without a date."""
    write_figure(figure, given.images / f"{name}.svg")


def bars(given: Options, name: str, items: Bars, label: str, colours: dict[str, str]) -> None:
    """Draw horizontal bars in groups, each with its figure beside it."""
    groups = list(dict.fromkeys(group for group, _, _ in items))
    figure, axes = new(0.9 + 0.28 * len(items) + 0.2 * len(groups))
    place, ticks, names = 0.0, [], []
    for group in groups:
        own = [item for item in items if item[0] == group]
        for _, series, length in own:
            axes.barh(place, length, height=0.8, color=colours[series])
            shown = f"{length:.3f}"
            axes.annotate(
                f"{shown}  {series}",
                (length, place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
            )
            place += 1
        ticks.append(place - len(own) / 2 - 0.5)
        names.append(group)
        place += 0.7
    axes.set_xlim(0, max(length for _, _, length in items) * 1.6)
    axes.set_yticks(ticks, names)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    save(figure, given, name)


def draw_7(given: Options, table: Table) -> None:
    """Draw for each of the ten the divergence without and with internal nodes."""
    figure, axes = new(3.4)
    for colour, name, start in ((BLUE, "error rates: ", -0.2), (GREY, "published ", 0.2)):
        for row in table:
            y = int(str(row["rank"])) + start
            low, high = (float(str(row[f"{name}{part}"])) for part in ("with", "without"))
            axes.plot([low, high], [y, y], "-", color=colour, linewidth=1.2)
            axes.plot([high], [y], "o", color="white", markeredgecolor=colour, markersize=5)
            axes.plot([low], [y], "o", color=colour, markersize=5)
    axes.invert_yaxis()
    axes.set_yticks(range(1, 11))
    axes.set_ylabel("rank of the change")
    axes.set_xlabel("D_individual, nats: open without internal nodes, filled with them; grey as published")
    save(figure, given, "figure-7")


def draw(given: Options, tables: dict[str, Table]) -> None:
    """Draw Figures 4, 6 and 7; the others are tables."""
    bars(
        given,
        "figure-4",
        [
            (
                f"{NAMES[str(row['tree'])].split(',')[0]}, {int(str(row['leaves'])):,} leaves",
                "error rates",
                float(str(row["d_overall"])),
            )
            for row in tables["figure_4"]
        ],
        "D_overall, nats, by the leaves alone",
        {"error rates": BLUE},
    )  # fmt: skip
    pairs = {"without internal nodes": ORANGE, "with internal nodes": BLUE}
    bars(
        given,
        "figure-6",
        [
            (f"{NAMES[str(row['tree'])]}, {str(row['leaves']).replace('_', ' ')}", name, float(str(row[name])))
            for row in tables["figure_6"]
            for name in pairs
            if row["tree"] in ("gini", "entropy", "entropy-small")
        ],
        "D_overall, nats: small means disclosed",
        pairs,
    )
    draw_7(given, tables["figure_7"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Write tables and plots."""
    given = options(__doc__, arguments)
    rows, changes = read(given.results / "readers.csv"), read(given.results / "individuals.csv")
    tables = {
        "figure_3": figure_3(rows),
        "figure_4": figure_4(rows),
        "figure_6": figure_6(rows),
        "figure_7": figure_7(changes),
        "figure_8": figure_8(changes),
        "figure_9": figure_9(rows),
    }
    for name, table in tables.items():
        write(given.results / f"{name}.csv", table)
    draw(given, tables)


__all__ = [
    "NAMES",
    "figure_3",
    "figure_4",
    "figure_6",
    "figure_7",
    "figure_8",
    "figure_9",
    "main",
    "reader",
    "value",
]

if __name__ == "__main__":
    main()
