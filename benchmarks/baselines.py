"""Private models of Glassine and of its peers at equal epsilon: ``python benchmarks/baselines.py [--only NAME ...]``.

Every model gets the same records, all attributes, and their public bounds and categories. A row of ``baselines.csv`` is
one fit; rows that are stored are not measured again. ``--page`` measures nothing: it judges the stored rows and writes
the tables of the page.

A case is a dataset and an epsilon. There, one model is better than another if the 95 % interval of the difference over
the splits lies above zero and the mean difference exceeds a margin; likewise worse; otherwise they are tied. With fewer
than five splits a case is not judged.

GLASSINE_DATA names the folder of the datasets, GLASSINE_PRIVATREE a checkout of PrivaTree.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from pathlib import Path
from statistics import fmean, median

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.peers.environments import EVERY_PEER, FOLDER, Missing, prepare  # noqa: E402 - after the path is set
from benchmarks.peers.judging import FASTER, exceeds  # noqa: E402
from benchmarks.peers.sources import additive  # noqa: E402
from benchmarks.peers.turns import PeerFailed, Warm, warm_up  # noqa: E402
from benchmarks.ratios import store  # noqa: E402
from papers.common.judging import Comparison, clustered  # noqa: E402
from papers.common.results import Row, read, say, select, write  # noqa: E402
from papers.common.tables import markdown, place  # noqa: E402

RESULTS = ROOT / "benchmarks" / "baselines.csv"
PAGE = ROOT / "docs" / "papers" / "private-peers.md"

EPSILONS = ("0.1", "0.5", "1", "4")
DELTA = 1e-6
SPLITS = 5
DATA = ("Adult", "Telco", "COMPAS", "California")
REGRESSION = "California"
MEASURES = {"accuracy": 0.005, "AUROC": 0.005, "log loss": 0.01, "RMSE": 500.0}
"""The margin of each measure: differences below it are ties. Log loss is in bits, RMSE in dollars."""
LESS_IS_BETTER = ("log loss", "RMSE")
PATIENCE = 1800.0
"""Seconds after which a process that does not answer is ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A private model: who makes it, by which work, on which data, and its name on the page."""

    peer: str
    module: str
    work: str
    name: str
    settings: dict[str, object]
    data: tuple[str, ...] = DATA


CLASSES = tuple(name for name in DATA if name != REGRESSION)
OURS = ("Glassine tree", "Glassine additive")


def _diffprivlib(model: str, data: tuple[str, ...] = CLASSES) -> Baseline:
    name = f"diffprivlib {model}"
    return Baseline(
        peer="diffprivlib", module="work_diffprivlib", work="columns", name=name, settings={"model": model}, data=data
    )


def _synthetic(maker: str, model: str, data: tuple[str, ...]) -> Baseline:
    settings: dict[str, object] = {"maker": maker, "model": model}
    name = f"{maker}, then {model}"
    return Baseline(peer="dpmm", module="work_dpmm", work="synthetic", name=name, settings=settings, data=data)


BASELINES = (
    Baseline(peer="glassine", module="work_glassine", work="tree", name=OURS[0], settings={"depth": 3}),
    Baseline(peer="glassine", module="work_glassine", work="additive", name=OURS[1], settings={}),
    Baseline(peer="interpret", module="work_interpret", work="additive", name="interpret DP-EBM", settings={}),
    *map(_diffprivlib, ("tree", "forest", "logistic", "naive Bayes")),
    _diffprivlib("linear", (REGRESSION,)),
    *(
        _synthetic(maker, model, data)
        for maker in ("MST", "AIM")
        for model, data in (("tree", DATA), ("additive", DATA), ("logistic", CLASSES), ("linear", (REGRESSION,)))
    ),
    Baseline(peer="privatree", module="work_privatree", work="tree", name="PrivaTree", settings={}, data=CLASSES),
)
PEERS = tuple(dict.fromkeys(each.peer for each in BASELINES))
NAMES = tuple(each.name for each in BASELINES)
PURE = {"Glassine tree", "PrivaTree", *(name for name in NAMES if name.startswith("diffprivlib"))}
"""Models at delta 0."""

PRIVATREE = "commit c3d33ae"

PUBLISHED = (
    ("0.01", "0.775", "0.787"),
    ("0.03", "0.808", "0.849"),
    ("0.1", "0.830", "0.876"),
    ("0.5", "0.840", "0.893"),
)
"""Accuracy and AUC of S-BDT on Adult (CCS 2024), tuned, at delta 5e-8, by epsilon, as published."""


def python_of(peer: str, folder: Path) -> Path:
    """Return the interpreter of a peer, or raise Missing."""
    if peer == "privatree":
        if not Path(os.environ.get("GLASSINE_PRIVATREE", "/nowhere")).is_dir():
            raise Missing("it has no package. Let GLASSINE_PRIVATREE name a checkout of its repository.")
        peer = "diffprivlib"
    return prepare(next(found for found in EVERY_PEER if found.name == peer), folder)


def measure(
    chosen: Sequence[Baseline],
    data: str,
    process: Warm,
    stored: tuple[Path, dict[str, object]],
    epsilons: Sequence[str],
    splits: int,
) -> Iterator[Row]:
    """Yield a row for each epsilon, split and model that is not stored yet; what fails is named and left out."""
    done = select(read(RESULTS), data=data)
    file, known = stored
    warm, failed = set(), set()
    # The models of a split follow each other, because they share its synthetic records.
    for epsilon, split, each in product(epsilons, range(splits), chosen):
        head = {"data": data, "model": each.name, "epsilon": epsilon, "split": str(split)}
        if each.name in failed or select(done, **head):
            continue
        try:
            process.ready(each.work, file, {**known, **each.settings, "epsilon": float(epsilon), "delta": DELTA})
            if each.name not in warm:
                warm_up(process)
            warm.add(each.name)
            run = process.run(split)
        except PeerFailed as reason:
            sys.stderr.write(f"{each.name}, {data}: {reason}\n")
            failed.add(each.name)
            continue
        shown = {key: run.figures.get(key) for key in MEASURES}
        texts = {key: "" if value is None else f"{value:.6g}" for key, value in shown.items()}
        yield {**head, **texts, "processor seconds": f"{run.processor:.3g}"}


def place_of(row: Row) -> tuple[int, int, int, int]:
    """Return where a row stands in the file."""
    return (DATA.index(row["data"]), NAMES.index(row["model"]), EPSILONS.index(row["epsilon"]), int(row["split"]))


def measure_all(
    chosen: Sequence[Baseline], sets: Sequence[str], epsilons: Sequence[str], splits: int, folder: Path
) -> None:
    """Measure what is not stored; a peer that cannot be made is named, and the rest runs."""
    with tempfile.TemporaryDirectory() as scratch:
        stored = {}
        for data in sets:
            (Path(scratch) / data).mkdir()
            stored[data] = store(additive(data, standin=False), Path(scratch) / data)
        for module in dict.fromkeys(each.module for each in chosen):
            of_module = [each for each in chosen if each.module == module]
            try:
                process = Warm(python_of(of_module[0].peer, folder), module, PATIENCE)
            except (Missing, PeerFailed) as reason:
                sys.stderr.write(f"{of_module[0].peer}: {reason}\n")
                continue
            for data in sets:
                of_data = [each for each in of_module if data in each.data]
                for row in measure(of_data, data, process, stored[data], epsilons, splits):
                    rows: list[Row] = sorted([*read(RESULTS), row], key=place_of)
                    write(RESULTS, rows)
                    say(", ".join(f"{name} {value}" for name, value in row.items() if value))
            process.close()


def measures_of(data: str) -> tuple[str, ...]:
    """Return what is measured on a dataset."""
    return ("RMSE",) if data == REGRESSION else ("accuracy", "AUROC", "log loss")


def by_split(rows: Sequence[Row], measure: str) -> dict[str, float]:
    """Return a measure of some rows by split."""
    return {row["split"]: float(row[measure]) for row in rows if row[measure]}


def compared(rows: Sequence[Row], ours: str, theirs: str, data: str, epsilon: str, measure: str) -> Comparison | None:
    """Compare two models in one case, positive where ours is better; None with fewer than five common splits."""
    mine, other = (by_split(select(rows, data=data, model=model, epsilon=epsilon), measure) for model in (ours, theirs))
    sign = -1.0 if measure in LESS_IS_BETTER else 1.0
    common = {split: [sign * (mine[split] - other[split])] for split in mine.keys() & other.keys()}
    return clustered(f"{data}, epsilon {epsilon}", common) if len(common) >= SPLITS else None


def verdict(case: Comparison, margin: float) -> str:
    """Return whether one model is better, tied or worse in a case."""
    if case.low > 0 and case.mean > margin:
        return "better"
    return "worse" if case.high < 0 and case.mean < -margin else "tied"


def cases_of(rows: Sequence[Row], ours: str, theirs: str, measure: str) -> Iterator[tuple[str, str, str, float]]:
    """Yield dataset, epsilon, verdict and mean difference of every case that can be judged."""
    for data in DATA:
        for epsilon in EPSILONS if measure in measures_of(data) else ():
            case = compared(rows, ours, theirs, data, epsilon, measure)
            if case is not None:
                yield data, epsilon, verdict(case, MEASURES[measure]), case.mean


def number(value: float, measure: str) -> str:
    """Return a mean as the page prints it."""
    return f"{value:,.0f}" if measure == "RMSE" else f"{value:.3f}"


def figures(rows: Sequence[Row], data: str) -> str:
    """Return the table of a dataset: a row for each model, a column for each epsilon."""
    lines = []
    for name in NAMES:
        of_model = select(rows, data=data, model=name)
        if not of_model:
            continue
        cells = []
        for epsilon in EPSILONS:
            here = select(of_model, epsilon=epsilon)
            means = [
                number(fmean(values), measure) if (values := list(by_split(here, measure).values())) else "none"
                for measure in measures_of(data)
            ]
            few = f" ({len(here)} of {SPLITS} splits)" if len(here) < SPLITS else ""
            cells.append(" / ".join(means) + few if here else "")
        seconds = [float(row["processor seconds"]) for row in select(of_model, epsilon="1")]
        delta = "0" if name in PURE else f"{DELTA:.0e}".replace("e-0", "e-")
        lines.append([name, delta, *cells, f"{float(f'{median(seconds):.2g}'):g}" if seconds else ""])
    return markdown(["model", "delta", *EPSILONS, "CPU s"], lines)


def judged(rows: Sequence[Row]) -> str:
    """Return better, tied and worse of both of our models against every other."""
    lines = []
    for theirs in NAMES:
        cells = []
        for ours in OURS:
            for measure in MEASURES:
                words = [word for *_, word, _ in cases_of(rows, ours, theirs, measure)]
                counts = [words.count(word) for word in ("better", "tied", "worse")]
                cells.append(" / ".join(map(str, counts)) if words else "")
        if theirs not in OURS and any(cells):
            lines.append([theirs, *cells])
    head = [f"{ours.removeprefix('Glassine ')}, {measure}" for ours in OURS for measure in MEASURES]
    return markdown(["against", *head], lines)


def lost(rows: Sequence[Row]) -> str:
    """Return every case in which the better of our two models is worse than a peer."""
    lines = []
    for theirs in NAMES:
        for measure in MEASURES if theirs not in OURS else ():
            first, second = (
                {(data, epsilon): (word, mean) for data, epsilon, word, mean in cases_of(rows, ours, theirs, measure)}
                for ours in OURS
            )
            for data in DATA:
                worse = [
                    (epsilon, max(first[data, epsilon][1], second[data, epsilon][1]))
                    for epsilon in EPSILONS
                    if first.get((data, epsilon), ("",))[0] == second.get((data, epsilon), ("",))[0] == "worse"
                ]
                if worse:
                    epsilons, by = [epsilon for epsilon, _ in worse], [-mean for _, mean in worse]
                    span = dict.fromkeys(number(value, measure) for value in (min(by), max(by)))
                    lines.append([theirs, data, measure, ", ".join(epsilons), " to ".join(span)])
    return markdown(["peer", "data", "measure", "epsilon", "worse by"], lines or [["none", "", "", "", ""]])


def slower(rows: Sequence[Row]) -> str:
    """Return by dataset and model of ours which peers are faster at epsilon 1, with median processor seconds.

    Faster is what the comparison of times calls so: beyond chance and the margin, over five splits.
    """
    lines = []
    for data, ours in product(DATA, OURS):
        seconds = {
            name: by_split(select(rows, data=data, model=name, epsilon="1"), "processor seconds") for name in NAMES
        }
        mine, faster = seconds[ours], []
        for theirs, other in seconds.items():
            common = sorted(mine.keys() & other.keys())
            if theirs not in OURS and exceeds([log(mine[i] / other[i]) for i in common], log(FASTER)):
                faster.append(f"{theirs} {median(other.values()):.2g}")
        if mine:
            lines.append([data, ours, f"{median(mine.values()):.2g}", ", ".join(faster) or "none"])
    return markdown(["data", "model", "CPU s", "faster"], lines)


def equal_depth(rows: Sequence[Row]) -> str:
    """Return each case of our tree against trees of equal depth on AIM's records: difference of AUROC, and verdict.

    With fewer than five common splits the mean difference stands alone.
    """
    ours, theirs, lines = OURS[0], "AIM, then tree", []
    for data in CLASSES:
        cells = []
        for epsilon in EPSILONS:
            mine, other = (
                by_split(select(rows, data=data, model=name, epsilon=epsilon), "AUROC") for name in (ours, theirs)
            )
            common = mine.keys() & other.keys()
            case = compared(rows, ours, theirs, data, epsilon, "AUROC")
            if case is not None:
                word = verdict(case, MEASURES["AUROC"])
                cells.append(f"**{word}**, {case.mean:+.3f} ({case.low:+.3f} to {case.high:+.3f})")
            elif common:
                difference = fmean(mine[split] - other[split] for split in common)
                cells.append(f"{difference:+.3f}, {len(common)} of {SPLITS} splits")
            else:
                cells.append("not measured")
        lines.append([data, *cells])
    return markdown(["data", *EPSILONS], lines)


def filled(text: str, rows: Sequence[Row]) -> str:
    """Return the text of the page with its tables."""
    for data in DATA:
        text = place(text, data, figures(rows, data))
    pins = [peer.requirements[0].split("==") for peer in EVERY_PEER if peer.name in PEERS and peer.requirements]
    text = place(text, "versions", markdown(["package", "version"], [*pins, ["PrivaTree", PRIVATREE]]))
    published = markdown(["epsilon", "accuracy", "AUROC"], [list(line) for line in PUBLISHED])
    text = place(text, "equal depth", equal_depth(rows))
    text = place(text, "slower", slower(rows))
    return place(place(place(text, "judged", judged(rows)), "lost", lost(rows)), "published", published)


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=(*PEERS, *NAMES), default=PEERS, metavar="NAME", help="only these peers or models"
    )
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA), metavar="SET", help="only these sets")
    parser.add_argument("--epsilon", nargs="+", choices=EPSILONS, default=list(EPSILONS), help="only these budgets")
    parser.add_argument("--splits", type=int, choices=range(1, SPLITS + 1), default=SPLITS, help="only the first")
    parser.add_argument("--into", type=Path, default=FOLDER, help="folder of the peers' environments")
    parser.add_argument("--page", action="store_true", help="measure nothing; write the tables of the page")
    given = parser.parse_args(None if arguments is None else list(arguments))
    if not given.page:
        chosen = [each for each in BASELINES if {each.peer, each.name} & {*given.only}]
        measure_all(chosen, given.data, given.epsilon, given.splits, given.into)
    rows = read(RESULTS)
    PAGE.write_text(filled(PAGE.read_text(), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
