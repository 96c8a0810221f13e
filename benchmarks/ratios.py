"""Compares Glassine with its peers in one run: ``python benchmarks/ratios.py [--only PEER ...] [--markdown]``.

Every peer has an environment of its own, made here where there is none yet; one that cannot be made is named with the
reason, and the rest runs. Both sides of a task are processes that have loaded their libraries and done the work once.
Then they work in turn; times are medians of the work alone, without start-up, reading and prediction. Private fits draw
their noise from the operating system on both sides. At the end the sentences that the figures support or refute are
printed; the exit status is 1 if one of them is refuted. "Faster" and "better" need a 95 % interval over at least
five runs, each on a split of its own, and a margin.

``--store`` puts each row into ``ratios.csv`` when it is measured, in seconds of processors, as its column ``clock``
says, and what grows into ``growth.csv``; the tables of the page are made from both. ``--page`` makes them again without
a run. ``--budget``, ``--runs`` and ``--limit`` bound the time of a task. GLASSINE_DATA names the folder of the
datasets. ``--synthetic`` puts records of the same shapes in their place, whose times are like those of the real ones
and whose accuracies mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.peers import growth, judging  # noqa: E402 - after the path is set
from benchmarks.peers.environments import EVERY_PEER, FOLDER, Missing, prepare  # noqa: E402
from benchmarks.peers.judging import Judgement, Row  # noqa: E402
from benchmarks.peers.pairs import PEERS, Pair, pairs  # noqa: E402
from benchmarks.peers.sources import Source  # noqa: E402
from benchmarks.peers.turns import PeerFailed, Run, measured  # noqa: E402
from benchmarks.public_data import DATA  # noqa: E402
from papers.common.results import read, write  # noqa: E402
from papers.common.tables import markdown, place  # noqa: E402

PARTS = (*PEERS, "growth")

RESULTS = ROOT / "benchmarks" / "ratios.csv"
GROWTH = ROOT / "benchmarks" / "growth.csv"
PAGE = ROOT / "docs" / "papers" / "private-peers.md"

BUDGET = 20.0
"""Seconds of processors, both sides together, after which a task is not repeated any more."""

TICK = 1e-6
"""Least seconds of processors that a run is taken to last."""

PATIENCE = 300.0
"""Seconds after which a process that does not answer is ended."""


def say(text: str = "") -> None:
    """Print a line of the result."""
    print(text, flush=True)  # noqa: T201 - the tables are the result


def tell(text: str) -> None:
    """Say how far the run is."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - what it is doing, apart from the result


def machine(peers: Sequence[str], *, processor: bool) -> str:
    """Return what the figures depend on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = ", ".join(f"{name} {version(name)}" for name in ("glassine", "numpy", "numba", "scikit-learn"))
    pins = ", ".join(peer.requirements[0] for peer in EVERY_PEER if peer.name in peers and peer.requirements)
    times = (
        "seconds of processors, all cores together" if processor else "seconds on the clock, of growth of processors"
    )
    head = f"{cores} cores, {platform.machine()}, Python {platform.python_version()}, {libraries}"
    return f"{head}; peers as pinned: {pins or 'none'}; {times}."


def store(source: Source, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Write what both sides read, and return the file and what is known of the records."""
    file = folder / "records.npz"
    np.savez(file, **source.arrays)
    if source.domain is None:
        return file, source.settings
    source.domain.to_json(folder / "domain.json")
    return file, source.settings | {"domain": str(folder / "domain.json")}


def agreement(pair: Pair, ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[str, str]:
    """Say whether two exact answers are equal, and what they are where several figures are compared."""
    if not pair.exact:
        return "", ""
    if not theirs.get("proved", True) or not ours.get("proved", True):
        return "open", "not proved within the limit"
    if pair.shared.get("kind") == "list" and theirs["size"] > pair.shared["room"]:
        return "open", f"its list has {theirs['size']} rules, more than {pair.shared['room']}"
    equal = all(ours[name] == theirs[name] for name in pair.exact)
    note = ""
    if len(pair.exact) > 1:
        note = "; ".join(f"{name} {ours[name]} and {theirs[name]}" for name in pair.exact)
        broken = sorted(rule for rule, status in ours["says"].items() if status == "fail")
        risks = sorted(name for name, found in theirs["says"].items() if found)
        note += f"; broken limits: {', '.join(broken) or 'none'}; its risks: {', '.join(risks) or 'none'}"
    return ("equal" if equal else "different"), note


def row_of(pair: Pair, ours: Sequence[Run], theirs: Sequence[Run]) -> Row:
    """Return what the runs of both sides say."""
    words = [agreement(pair, one.figures, other.figures) for one, other in zip(ours, theirs, strict=True)]
    found = [word for word, _ in words]
    word = next((word for word in ("different", "open") if word in found), found[0])
    scored = pair.measure and "quality" in ours[0].figures
    both = list(zip(ours, theirs, strict=True))
    return Row(
        peer=pair.peer,
        task=pair.task,
        data=pair.data,
        ours_seconds=statistics.median(run.seconds for run in ours),
        their_seconds=statistics.median(run.seconds for run in theirs),
        measure=pair.measure,
        ours_quality=statistics.fmean(run.figures["quality"] for run in ours) if scored else None,
        their_quality=statistics.fmean(run.figures["quality"] for run in theirs) if scored else None,
        agreement=word,
        at_least=not all(run.figures.get("proved", True) for run in theirs),
        note=words[0][1],
        runs=len(ours),
        judged=pair.judged,
        ours_processor=statistics.median(run.processor for run in ours),
        their_processor=statistics.median(run.processor for run in theirs),
        speeds=tuple(other.seconds / one.seconds for one, other in both),
        speeds_by_processor=tuple(other.processor / max(one.processor, TICK) for one, other in both),
        gains=tuple(judging.gain(pair.measure, one.figures["quality"], other.figures["quality"]) for one, other in both)
        if scored
        else (),
    )


def compare(pair: Pair, theirs: Path, runs: int, budget: float) -> Row:
    """Run one task on both sides in turn."""
    with tempfile.TemporaryDirectory() as scratch:
        file, known = store(pair.source(), Path(scratch))
        common = {**known, **pair.shared}
        try:
            found = measured(
                (Path(sys.executable), theirs),
                (
                    ("work_glassine", pair.ours[0], common | pair.ours[1]),
                    (pair.module, pair.theirs[0], common | pair.theirs[1]),
                ),
                file,
                first=pair.first,
                runs=runs,
                budget=budget,
                patience=PATIENCE,
            )
        except PeerFailed as reason:
            return Row(peer=pair.peer, task=pair.task, data=pair.data, note=str(reason), judged=pair.judged)
    return row_of(pair, *found)


def python_for(peer: str, folder: Path) -> Path:
    """Return the interpreter of a peer, making its environment where there is none, or raise Missing."""
    if peer == "recursion":
        return Path(sys.executable)
    return prepare(next(found for found in EVERY_PEER if found.name == peer), folder)


def compare_all(chosen: Sequence[Pair], folder: Path, runs: int | None, budget: float, *, store: bool) -> list[Row]:
    """Run every task, and name the peers that are missing; store each row, if asked to."""
    rows: list[Row] = []
    pythons: dict[str, Path | str] = {}
    for i, pair in enumerate(chosen):
        if pair.peer not in pythons:
            try:
                pythons[pair.peer] = python_for(pair.peer, folder)
            except Missing as reason:
                # The reason may name the interpreters of this machine; the table does not.
                tell(f"{pair.peer}: missing: {reason}")
                pythons[pair.peer] = "its environment cannot be made"
        python = pythons[pair.peer]
        if isinstance(python, str):
            row = Row(peer=pair.peer, task=pair.task, data=pair.data, note=python, judged=pair.judged)
        else:
            row = compare(pair, python, runs or pair.runs, budget)
        rows.append(row)
        if store:
            keep(row)
        tell(f"{i + 1}/{len(chosen)} " + " | ".join(text for text in judging.cells(row) if text))
    return rows


def grow_all(light: bool, runs: int, budget: float, *, store: bool = False) -> list[growth.Growth]:
    """Follow every task as it grows; store what is found, if asked to."""
    found: list[growth.Growth] = []
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "nothing.npz"
        np.savez(file)
        for series in growth.SERIES:
            if light and not series.light:
                continue
            tell(f"growth with {series.size}: {series.task}")
            found.append(growth.grow(series, Path(sys.executable), file, runs=runs, budget=budget, patience=PATIENCE))
            if store:
                write(GROWTH, growth.flat(found))
    return found


def show(
    head: str, rows: Sequence[Row], grown: Sequence[growth.Growth], judgements: Sequence[Judgement], *, marked: bool
) -> None:
    """Print tables, notes and judgements."""
    table: Callable[[Sequence[str], Sequence[Sequence[str]]], str] = markdown if marked else judging.plain
    say(head)
    if rows:
        say("\n" + table(judging.COLUMNS, [judging.cells(row) for row in rows]))
        notes = [f"\n- {row.peer}, {row.task}, {row.data}: {row.note}" for row in rows if row.note]
        if notes:
            say("".join(notes))
    if grown:
        say("\n" + table(growth.COLUMNS, growth.table(grown)))
    if judgements:
        say("".join(f"\n- {judgement}" for judgement in judgements))


def stored() -> list[Row]:
    """Return the rows that are stored, in the order of the tasks."""
    converters: dict[str, Callable[[str], object]] = {
        "str": str,
        "int": int,
        "bool": "True".__eq__,
        "float | None": lambda text: float(text) if text else None,
        "tuple[float, ...]": lambda text: tuple(map(float, text.split())),
    }
    kinds: dict[str, Any] = {field.name: converters[str(field.type)] for field in fields(Row)}
    return [Row(**{name: kinds[name](text) for name, text in row.items()}) for row in read(RESULTS)]


def keep(row: Row) -> None:
    """Store a row in seconds of processors, in place of that of the same task, unless nothing was measured."""
    if row.ratio is None:
        return
    known = {(one.peer, one.task, one.data): one for one in (*stored(), row.by_processor())}
    order = [(pair.peer, pair.task, pair.data) for pair in pairs(standin=False)]
    flat = [
        {name: value for name, value in asdict(known[key]).items() if "processor" not in name}
        for key in order
        if key in known
    ]
    write(
        RESULTS,
        [
            {
                name: " ".join(f"{one:.6g}" for one in value) if isinstance(value, tuple) else value
                for name, value in row.items()
            }
            for row in flat
        ],
    )


def compact(rows: Sequence[Row]) -> str:
    """Return the table of the page: times of processors, the lower ratio in bold where the peer is faster."""
    lines = []
    for row in (one.by_processor() for one in rows):
        *_, ratio, _, ours, theirs = judging.cells(row)
        shown = f"**{ratio}**" if row.ratio is not None and row.ratio < 1 else ratio
        same = "equal" if row.agreement == "equal" else f"{ours} / {theirs}" if ours else ""
        lines.append((row.peer, row.task, row.data, shown, f"{same}, open" if row.agreement == "open" else same))
    return markdown(("peer", "task", "data", "peer's time / ours", "ours / peer's"), lines)


def filled(text: str, rows: Sequence[Row]) -> str:
    """Return the text of the page with its tables: what the rows say, the rows, and what grows."""
    judgements = judging.judge([row.by_processor() for row in rows])
    text = place(text, "growth", markdown(growth.COLUMNS, growth.table(growth.stored(read(GROWTH)))))
    return place(place(text, "ratios", compact(rows)), "sentences", judging.verdicts(judgements))


def parsed(arguments: Iterable[str] | None) -> argparse.Namespace:
    """Return the arguments, or end with what is wrong with them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument("--into", type=Path, default=FOLDER, help="folder of the peers' environments")
    parser.add_argument("--quick", action="store_true", help="small tasks alone, in under two minutes")
    parser.add_argument("--synthetic", action="store_true", help="stand-ins for the datasets")
    parser.add_argument(
        "--processor", action="store_true", help="show and judge seconds of processors, for a machine that is not quiet"
    )
    parser.add_argument("--runs", type=int, help="runs of a task (default: of each its own number)")
    parser.add_argument(
        "--budget", type=float, help=f"seconds of processors after which a task is not repeated (default: {BUDGET:g})"
    )
    parser.add_argument(
        "--limit", type=float, help="seconds after which an optimal learner of a peer is stopped, where it can be"
    )
    parser.add_argument("--markdown", action="store_true", help="print tables for a page")
    parser.add_argument("--store", action="store_true", help="store the rows, and write the table of the page")
    parser.add_argument("--page", action="store_true", help="measure nothing; write the table of the page")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser.parse_args(None if arguments is None else list(arguments))


def main(arguments: Iterable[str] | None = None) -> int:
    """Run what was asked for and return the exit status."""
    given = parsed(arguments)
    if given.page:
        PAGE.write_text(filled(PAGE.read_text(), stored()))
        return 0
    if given.store and given.synthetic:
        tell("--store is for rows of the datasets: leave --synthetic out.")
        return 2
    parts = given.only or PARTS
    chosen = [pair for pair in pairs(given.synthetic) if pair.peer in parts and (pair.light or not given.quick)]
    if any(pair.needs_data for pair in chosen) and not given.synthetic and not DATA.is_dir():
        tell(
            "the datasets are not here: let GLASSINE_DATA name their folder, or pass --synthetic for records of the "
            "same shapes, whose accuracies mean nothing."
        )
        return 2
    if given.limit is not None:
        limited = {"limit": given.limit}
        chosen = [replace(pair, shared=pair.shared | limited) if "limit" in pair.shared else pair for pair in chosen]
    runs = given.runs or (5 if given.quick else None)
    budget = given.budget or (2.0 if given.quick else BUDGET)
    rows = compare_all(chosen, given.into, runs, budget, store=given.store)
    grown = grow_all(given.quick, runs or 3, budget, store=given.store) if "growth" in parts else []
    if given.store:
        PAGE.write_text(filled(PAGE.read_text(), stored()))
    if given.processor:
        rows = [row.by_processor() for row in rows]
    # Records that are drawn at random support no sentence about accuracy.
    judgements = judging.judge(rows) if not given.synthetic else []
    head = machine(parts, processor=given.processor)
    if given.synthetic:
        head += " The records are stand-ins for the datasets: qualities mean nothing, and no sentence is judged."
    show(head, rows, grown, judgements, marked=given.markdown)
    if given.json:
        found = {
            "machine": head,
            "synthetic": given.synthetic,
            "rows": [asdict(row) | {"ratio": row.ratio} for row in rows],
            "growth": [asdict(one) | {"law": one.law()} for one in grown],
            "judgements": [asdict(one) for one in judgements],
        }
        given.json.write_text(json.dumps(found, indent=2) + "\n")
    return int(any(one.holds is False for one in judgements))


if __name__ == "__main__":
    sys.exit(main())
