"""Writes the tables of docs/papers/microaggregation-surrogates.md from the results, between their marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from figures import NAMES, of
from local_trees import BOTH, FORMS
from settings import FEW_SHARES, PUBLISHED_SEED
from study import options, read, say, select

from papers.common.tables import digits, fill, judged_table, markdown, percent, whole


def claims(results: Path) -> str:
    """Return the statements and whether they were confirmed."""
    return judged_table(results, "section", "what the paper says", "remark")


def figure_4(results: Path) -> str:
    """Return accuracy and fidelity over k."""
    header = ["k", "form", "accuracy", "guided", "fidelity", "guided", "three random groups", "N = 10", "ten random"]
    rows = []
    local = read(results / "local_trees.csv")
    for form in BOTH:
        for row in of(local, form):
            names = ("accuracy", "accuracy guided", "fidelity", "fidelity guided", "fidelity null", "fidelity N=10",
                     "null N=10")  # fmt: skip
            rows.append([whole(row["k"]), NAMES[form], *[digits(row[name]) for name in names]])
    return markdown(header, rows)


def figure_5(results: Path) -> str:
    """Return the sizes of the trees over k."""
    header = [
        "k",
        "form",
        "groups",
        "smallest",
        "lower quartile",
        "median",
        "upper quartile",
        "largest",
        "mean",
        "one leaf",
    ]
    rows = []
    for row in read(results / "figure_5.csv"):
        names = ("nodes smallest", "nodes lower", "nodes median", "nodes upper", "nodes largest")
        sizes = [whole(row[name]) for name in names]
        rows.append([whole(row["k"]), NAMES[row["form"]], whole(row["groups"]), *sizes,
                     digits(row["nodes mean"], 1), percent(row["one leaf"], 0)])  # fmt: skip
    return markdown(header, rows)


def labels(results: Path) -> str:
    """Return both forms on both kinds of labels."""
    local = read(results / "local_trees.csv")
    header = ["k", "trees", "fidelity", "guided", "accuracy", "nodes, mean", "gap", "on decisions", "identified"]
    titles = {
        "paper": "unlimited, true labels (the paper)",
        "paper, black-box labels": "unlimited, black box's labels",
        "restricted, true labels": "shallow, true labels",
        "restricted": "shallow, black box's labels (our default)",
    }
    found = {form: {row["share"]: row for row in of(local, form)} for form in FORMS}
    rows = []
    for share in (f"{share:g}" for share in FEW_SHARES):
        for form, title in titles.items():
            row = found[form].get(share)
            if row:
                figures = [digits(row[name]) for name in ("fidelity", "fidelity guided", "accuracy")]
                rows.append([whole(row["k"]), title, *figures, digits(row["nodes mean"], 1), digits(row["gap"]),
                             digits(row["gap on decisions"]), percent(row["identified"])])  # fmt: skip
    return markdown(header, rows)


def privacy(results: Path) -> str:
    """Return what is given away over k."""
    local = read(results / "local_trees.csv")
    header = ["k", "form", "groups of one class", "alone in a leaf", "gap attack, true labels", "95 %", "on decisions",
              "thresholds", "identified by midpoints", "precision"]  # fmt: skip
    rows = []
    for form in BOTH:
        for row in of(local, form):
            rows.append([whole(row["k"]), NAMES[form], percent(row["one class"], 0), percent(row["alone"]),
                         digits(row["gap"]), f"{digits(row['gap low'])} to {digits(row['gap high'])}",
                         digits(row["gap on decisions"]), whole(row["thresholds"]), percent(row["identified"]),
                         digits(row["precision"], 4) or "nobody accused"])  # fmt: skip
    return markdown(header, rows)


def stability(results: Path) -> str:
    """Return stability, representativeness, reach and information loss over k."""
    local = read(results / "local_trees.csv")
    header = [
        "k",
        "form",
        "same group",
        "equal tree",
        "same conditions",
        "representativeness",
        "reach",
        "information loss",
    ]
    names = ("stability group", "stability tree", "stability path", "representativeness", "reach", "information loss")
    rows = [
        [whole(row["k"]), NAMES[form], *[digits(row[name]) for name in names]]
        for form in BOTH
        for row in of(local, form)
    ]
    return markdown(header, rows)


def data_sets(results: Path) -> str:
    """Return the figures of the further data sets."""
    local = read(results / "local_trees.csv")
    header = ["seed", "k", "black box", "global tree", "accuracy", "guided", "fidelity", "guided", "random groups",
              "nodes, median", "alone", "gap", "identified", "default: fidelity", "guided", "nodes, median", "gap",
              "identified"]  # fmt: skip
    rows = []
    for seed in sorted({int(row["seed"]) for row in local} - {PUBLISHED_SEED}):
        safe = {row["k"]: row for row in of(local, "restricted", seed)}
        for row in of(local, "paper", seed):
            if row["k"] not in safe:
                continue
            names = (
                "black box",
                "global tree",
                "accuracy",
                "accuracy guided",
                "fidelity",
                "fidelity guided",
                "fidelity null",
            )
            own = safe[row["k"]]
            rows.append([str(seed), whole(row["k"]), *[digits(row[name]) for name in names], whole(row["nodes median"]),
                         percent(row["alone"]), digits(row["gap"]), percent(row["identified"]), digits(own["fidelity"]),
                         digits(own["fidelity guided"]), whole(own["nodes median"]), digits(own["gap"]),
                         percent(own["identified"])])  # fmt: skip
    return markdown(header, rows)


def global_tree(results: Path) -> str:
    """Return the global tree on both kinds of labels."""
    rows = []
    for kind in ("true", "black box's"):
        some = select(read(results / "global_tree.csv"), labels=kind)

        def span(name: str, places: int, some: Sequence[dict[str, str]] = some) -> str:
            values = [float(row[name]) for row in some]
            return " to ".join(dict.fromkeys(f"{value:,.{places}f}" for value in (min(values), max(values))))

        rows.append(
            [kind, span("nodes", 0), span("accuracy", 4), span("fidelity", 4), span("alone", 4), span("gap", 4)]
        )
    return markdown(["labels", "nodes", "accuracy", "fidelity", "alone in a leaf", "gap, true labels"], rows)


def example(results: Path) -> str:
    """Return the sizes of the example's trees."""
    rows = []
    found = read(results / "example.csv")
    for form in BOTH:
        some = sorted(select(found, form=form), key=lambda row: int(row["nodes"]))
        agree = sum(float(row["fidelity"]) * int(row["records"]) for row in some) / sum(int(r["records"]) for r in some)
        rows.append([NAMES[form], str(len(some)), ", ".join(row["nodes"] for row in some), f"{agree:.3f}"])
    return markdown(
        ["form", "groups of 200", "nodes of their trees", "agree with the global tree on their own records"], rows
    )


def distances(results: Path) -> str:
    """Return the figures of other distances."""
    header = ["groups and closest by", "form", "groups", "fidelity", "guided", "random groups", "accuracy",
              "nodes, mean", "same group", "information loss"]  # fmt: skip
    rows = [
        [
            row["way"],
            NAMES[row["form"]],
            whole(row["groups"]),
            *[digits(row[name]) for name in ("fidelity", "fidelity guided", "fidelity null", "accuracy")],
            digits(row["nodes mean"], 1),
            digits(row["stability group"]),
            digits(row["information loss"]),
        ]
        for row in read(results / "distances.csv")
    ]
    return markdown(header, rows)


TABLES: dict[str, Callable[[Path], str]] = {
    table.__name__: table
    for table in (claims, figure_4, figure_5, labels, privacy, stability, data_sets, global_tree, example, distances)
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
