"""Writes the tables of docs/papers/reconstruction.md from the results, between their marks."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median

from claims import RECORDS
from figures import LISTS, SHOWN, TREES
from fits import CART, GREEDY, LIST, TREE
from settings import NAMES
from study import Row, options, read, say, select

AWARE = "dist_g aware"
READINGS = {"dist_g": "as published", AWARE: "possible records only"}


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def digits(value: str | float, places: int = 3) -> str:
    """Return a number with some decimals, or nothing."""
    return f"{float(value):.{places}f}" if value != "" else ""


def signed(value: str | float, places: int = 3) -> str:
    """Return a number with its sign."""
    return f"{float(value):+.{places}f}"


def percent(value: str | float) -> str:
    """Return a share in per cent."""
    return f"{100 * float(value):.0f} %"


def claims(results: Path) -> str:
    """Return the findings and whether they were confirmed."""
    header = ["where", "what the paper says", "verdict", "here", "remark"]
    rows = [
        [row["where"], row["claim"], f"**{row['verdict']}**", row["here"], row["reason"]]
        for row in read(results / "claims.csv")
    ]
    return markdown(header, rows)


def _comparisons(results: Path, at: Sequence[str], readings: Sequence[str]) -> str:
    header = ["data", "optimal", "against", "at equal", "Dist_G", "compared at", "leaks less", "leaks more", "mean gap",
              "from", "to"]  # fmt: skip
    named = {"size": "size", "train": "training accuracy", "test": "test accuracy"}
    rows = []
    for data in SHOWN:
        for row in select(read(results / "comparisons.csv"), data=data, compared="Dist_G"):
            if row["at equal"] in at and row["reading"] in readings:
                shares = [row["levels"], percent(row["above"]), percent(row["below"])]
                gaps = [signed(row[name]) for name in ("mean", "least", "greatest")]
                who = [NAMES[data], row["optimal"], row["greedy"], named[row["at equal"]], READINGS[row["reading"]]]
                rows.append([*who, *shares, *gaps])
    return markdown(header, rows)


def equal(results: Path) -> str:
    """Return the comparison at equal size and training accuracy, as published."""
    return _comparisons(results, ("size", "train"), ("dist_g",))


def possible(results: Path) -> str:
    """Return the same of a reader who knows which records are possible."""
    return _comparisons(results, ("size", "train"), (AWARE,))


def held_out(results: Path) -> str:
    """Return the comparison at equal test accuracy."""
    return _comparisons(results, ("test",), ("dist_g", AWARE))


def _points(results: Path, learners: Sequence[str], size: str) -> str:
    header = ["data", "learner", "support", "depth", "splits of the records", size, "training accuracy",
              "test accuracy", "Dist_G", "possible records only"]  # fmt: skip
    rows = []
    points = read(results / "points.csv")
    for data in SHOWN:
        for learner in learners:
            for support in ("0.01", "0.05"):
                for depth in ("1", "3", "5", "7", "10"):
                    for row in select(points, data=data, learner=learner, support=support, depth=depth):
                        figures = [
                            digits(row["size"], 1),
                            *(digits(row[name]) for name in ("train", "test", "dist_g", AWARE)),
                        ]
                        rows.append([NAMES[data], learner, support, depth, row["splits"], *figures])
    return markdown(header, rows)


def trees(results: Path) -> str:
    """Return means of trees."""
    return _points(results, TREES, "splits")


def lists(results: Path) -> str:
    """Return means of rule lists."""
    return _points(results, LISTS, "rules")


def exposure(results: Path) -> str:
    """Return how unevenly the largest models leak."""
    header = ["data", "learner", "depth", "splits of the records", "most exposed", "their share", "median",
              "least exposed", "their share"]  # fmt: skip
    rows, curves = [], read(results / "figure_4.csv")
    for data in SHOWN:
        for learner in (*TREES, *LISTS):
            some = select(curves, data=data, learner=learner)
            if some:
                middle = next(row for row in some if float(row["records at most"]) >= 0.5)
                first, last = some[0], some[-1]
                told = [
                    digits(first["ratio"]),
                    percent(first["records"]),
                    digits(middle["ratio"]),
                    digits(last["ratio"]),
                ]
                rows.append([NAMES[data], learner, first["depth"], first["splits"], *told, percent(last["records"])])
    return markdown(header, rows)


def peers(results: Path) -> str:
    """Return which learners find the fewest errors."""
    header = ["learner", "data", "least support", "models", "fewest errors", "most errors beyond", "not finished",
              "processor seconds, median", "longest"]  # fmt: skip
    truth = _fewest(results)
    rows, found = [], read(results / "peers.csv")
    for learner in dict.fromkeys(row["learner"] for row in found):
        for data in SHOWN:
            for bounded in (True, False):
                some = [row for row in select(found, data=data, learner=learner) if (row["support"] != "0") == bounded]
                beyond = [int(row["errors"]) - truth[_key(row)] for row in some if row["errors"] and _key(row) in truth]
                if not some or learner.startswith("exact"):
                    continue
                seconds = [float(row["seconds"]) for row in some]
                longest = f"{max(seconds):.1f}" if any(seconds) else ""
                equal = f"{sum(not gap for gap in beyond)} of {len(beyond)}"
                stopped = "; ".join(sorted({row["status"] for row in some if not row["errors"]}))
                rows.append([learner, NAMES[data], "0.01 to 0.05" if bounded else "none", str(len(some)), equal,
                             str(max(beyond, default=0)), stopped, f"{median(seconds):.2f}", longest])  # fmt: skip
    return markdown(header, rows)


def _key(row: Row) -> tuple[str, ...]:
    kind = "list" if "list" in row["learner"].lower() else "tree"
    return (kind, *(row[name] for name in ("data", "seed", "support", "depth")))


def _fewest(results: Path) -> dict[tuple[str, ...], int]:
    """Return the fewest errors, by the exact searches."""
    out = {}
    for row in read(results / "peers.csv"):
        if row["learner"].startswith("exact") and row["errors"]:
            out[_key(row)] = int(row["errors"])
    for row in select(read(results / "grid.csv"), learner=TREE):
        if row["size"]:
            out[_key(row)] = round(RECORDS[row["data"]] * (1 - float(row["train"])))
    return out


def penalties(results: Path) -> str:
    """Return CORELS beside the exact search and our learner."""
    header = [
        "data",
        "errors that a rule must save",
        "learner",
        "errors",
        "rules",
        "cost",
        "processor seconds",
        "status",
    ]
    rows = [
        [NAMES[row["data"]], row["penalty"], row["learner"], row["errors"], row["rules"], row["cost"],
         digits(row["seconds"], 1), row["status"]]
        for row in sorted(read(results / "penalties.csv"), key=lambda row: (row["data"], int(row["penalty"])))
    ]  # fmt: skip
    return markdown(header, rows)


def published_lists(results: Path) -> str:
    """Return the published lists beside ours."""
    rows = read(results / "published_lists.csv")
    header = ["list of COMPAS, seed 0", "rules", "errors", "Dist_G", "records of the rules"]
    return markdown(header, [[row["list"], row["rules"], row["errors"], digits(row["dist_g"], 4),
                              row["records of the rules"]] for row in rows])  # fmt: skip


def groups(results: Path) -> str:
    """Return bits by subgroup."""
    header = ["data", "who", "records", *(f"{name}" for name in (CART, TREE, GREEDY, LIST)),
              *(f"{name}, possible" for name in (CART, TREE, GREEDY, LIST))]  # fmt: skip
    found, rows = read(results / "subgroups.csv"), []
    for data in ("compas", "adult"):
        some = select(found, data=data)
        for attribute, value in dict.fromkeys((row["attribute"], row["value"]) for row in some):
            each = select(some, attribute=attribute, value=value)
            cells = []
            for name in ("bits", "bits aware"):
                for row in each:
                    gap = (
                        f" ({signed(row[name + ' gap from'], 2)} to {signed(row[name + ' gap to'], 2)})"
                        if value
                        else ""
                    )
                    cells.append(digits(row[name], 2) + gap)
            who = f"{attribute}: {value}" if value else attribute
            rows.append([NAMES[data], who, f"{float(each[0]['records']):.0f}", *cells])
    return markdown(header, rows)


def together(results: Path) -> str:
    """Return bits of several models, means over the splits."""
    header = ["data", "depth", "reading", "models", "alone", "together", "gain over the best", "which is which known",
              "parts", "small groups"]  # fmt: skip
    found, rows = read(results / "several_models.csv"), []
    keys = dict.fromkeys((row["data"], row["depth"], row["reading"], row["models"]) for row in found)
    for data, depth, reading, models in sorted(keys, key=lambda key: (SHOWN.index(key[0]), key[1], key[2] == "aware")):
        some = select(found, data=data, depth=depth, reading=reading, models=models)
        alone = [[float(bits) for bits in row["alone"].split()] for row in some]
        means = [fmean(bits[place] for bits in alone) for place in range(len(alone[0]))]
        low, high = (fmean(float(row[name]) for row in some) for name in ("from", "to"))
        gain = fmean(float(row["from"]) - max(bits) for row, bits in zip(some, alone, strict=True))
        shared = f"{low:.2f} to {high:.2f}" if f"{low:.2f}" != f"{high:.2f}" else f"{low:.2f}"
        known = fmean(float(row["which is which"]) for row in some)
        small = fmean(float(row["small groups"]) for row in some)
        rows.append([NAMES[data], depth, "possible records only" if reading == "aware" else "as published", models,
                     ", ".join(f"{bits:.2f}" for bits in means), shared, f"{gain:+.2f}", f"{known:.2f}",
                     f"{fmean(float(row['cells']) for row in some):,.0f}", f"{small:.1f}"])  # fmt: skip
    return markdown(header, rows)


TABLES: dict[str, Callable[[Path], str]] = {
    table.__name__: table
    for table in (claims, equal, possible, held_out, trees, lists, exposure, peers, penalties, published_lists, groups,
                  together)
}  # fmt: skip


def filled(text: str, results: Path) -> str:
    """Return the text of a page with the tables of the results between their marks."""
    for name, table in TABLES.items():
        mark = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if len(mark.findall(text)) != 1:
            raise LookupError(f"the page has no place, or several, for the table {name}.")
        made = table(results)
        text = mark.sub(lambda found, made=made: f"{found[1]}{made}\n{found[2]}", text)
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    given = options(__doc__, arguments)
    given.page.write_text(filled(given.page.read_text(), given.results))
    say(f"{len(TABLES)} tables in {given.page}")


__all__ = ["TABLES", "filled", "main", "markdown"]

if __name__ == "__main__":
    main(sys.argv[1:])
