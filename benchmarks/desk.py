"""How fast the desk is: a folder of 500 files, a verdict after a file lands, the slider, the dial, the page, memory.

    python benchmarks/desk.py [--store benchmarks/desk.csv]

Each row has the figure, its target, the load of the machine and whether other programs shared the processor. On a busy
machine, seconds on the clock are of what else runs; ``chrt -f 50`` before the command, as root, keeps others waiting.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Real, as_model
from glassine.desk.pages import environment
from glassine.desk.phrases import PHRASES
from glassine.formats import write_model

RULES = "if [age <= {cut}.5] then [true] ([23 ; 41] examples)\nelse [false] ([520 ; 90] examples)\n"
LARGE = 100_000

SERVING = """
import asyncio, http.client, json, os, sys, time
from pathlib import Path
from glassine.desk import Desk, Person, create_desk
from glassine.desk.serving import run_desk
from glassine.server.running import listen

folder, landing, waiting = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

async def main():
    began = time.perf_counter()
    app = create_desk(Desk(folder, Person(account="a", name="A", role="checker")), workers=2)
    listening = listen("127.0.0.1", 0)
    task = asyncio.create_task(run_desk(app, listening))

    def ask(path):
        connection = http.client.HTTPConnection(*listening.getsockname())
        connection.request("GET", path, headers={"authorization": f"Bearer {app.session.token}"})
        return connection.getresponse().read()

    files = len(list(folder.iterdir())) - 1
    while len(app.desk.present()) < files:
        await asyncio.sleep(0.01)
    await asyncio.to_thread(ask, "/api/queue")
    opened = time.perf_counter() - began
    while app.audits.n_waiting < waiting:
        await asyncio.sleep(0.01)
    # Of this program: ru_maxrss has that of the process that started it as well.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 1024
    verdict = worker = 0.0
    def used():
        # Of the process that workers are forked from, and of those that ended.
        ticks = 0
        for child in Path("/proc/self/task").glob("*/children"):
            for number in child.read_text().split():
                fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")
    if landing:
        while app.audits.n_waiting:
            await asyncio.sleep(0.01)
        name = Path(landing).name
        (folder / name).write_bytes(Path(landing).read_bytes())
        began, worker = time.perf_counter(), used()
        while not any(f.name == name and app.audits.result(f.now) for f in app.desk.state.files.values()):
            await asyncio.sleep(0.01)
        verdict, worker = time.perf_counter() - began, used() - worker
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    print(json.dumps({"opened": opened, "peak": peak, "verdict": verdict, "worker": worker}))

try:
    asyncio.run(main())
except asyncio.CancelledError:
    pass
"""


def served(folder: Path, landing: str, waiting: int) -> dict[str, float]:
    """Return what a desk that serves a folder takes: seconds to open, megabytes, seconds to a verdict."""
    done = subprocess.run(  # noqa: S603, this file
        [sys.executable, "-c", SERVING, str(folder), landing, str(waiting)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def large_list(path: Path) -> None:
    """Write a rule list of about 100 kB."""
    lines: list[str] = []
    size = 0
    while size < LARGE:
        n = len(lines)
        word = "if" if not n else "else if"
        lines.append(f"{word} [a{n % 40} <= {n}.5 && b{n % 30} > {n % 17}] then [true] ([23 ; 41] examples)")
        size += len(lines[-1]) + 1
    path.write_text("\n".join([*lines, "else [false] ([520 ; 90] examples)"]) + "\n")


def large_tree(folder: Path) -> tuple[Path, Path]:
    """Write a tree of 569 records and 30 columns, with its domain of public steps, and return their paths."""
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    highest = [10.0 ** math.ceil(math.log10(column.max())) for column in data.data.T]
    domain = Domain({name: Real(0.0, high, resolution=high / 100) for name, high in zip(names, highest, strict=True)})
    tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(data.data, data.target)
    write_model(as_model(tree, domain), folder / "tree.json")
    domain.to_json(folder / "steps.json")
    return folder / "tree.json", folder / "steps.json"


WORKING = """
import asyncio, json, os, sys
from pathlib import Path
from glassine.desk.workers import Job, Workers

def used():
    ticks = 0
    for child in Path("/proc/self/task").glob("*/children"):
        for number in child.read_text().split():
            ticks += sum(map(int, Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")

async def main():
    module, files, words = json.loads(sys.argv[1])
    workers = Workers()
    await workers.start()
    while not workers._ready:
        await asyncio.sleep(0.01)
    before = used()
    job = Job(words=words, reads={name: Path(path) for name, path in files.items()}, module=module)
    done = await workers.run(job)
    assert done.status == 0, done.message
    print(json.dumps([used() - before, len(done.out.splitlines())]))
    await workers.stop()

asyncio.run(main())
"""


def used(module: str, files: dict[str, Path], *words: str) -> tuple[float, int]:
    """Return the processor seconds of a job in the desk's workers, and the lines that it prints."""
    asked = json.dumps([f"glassine.desk.{module}", {name: str(path) for name, path in files.items()}, words])
    done = subprocess.run(  # noqa: S603, this file
        [sys.executable, "-c", WORKING, asked], check=True, capture_output=True, text=True
    )
    seconds, n_lines = json.loads(done.stdout)
    return float(seconds), int(n_lines)


def rows() -> list[tuple[str, float, float, str]]:
    """Return name, figure, target and unit of each measurement."""
    out = []
    with tempfile.TemporaryDirectory() as place:
        many, few, large = Path(place) / "many", Path(place) / "few", Path(place) / "large.txt"
        for folder, n in ((many, 500), (few, 12)):
            folder.mkdir()
            for number in range(n):
                (folder / f"rules-{number}.txt").write_text(RULES.format(cut=number))
        large_list(large)
        out.append(("open a folder of 500 files", served(many, "", 0)["opened"], 2.0, "s"))
        found = served(few, str(large), 10)
        out.append(("verdict after 100 kB land", found["verdict"], 1.0, "s"))
        out.append(("processor time of that verdict", found["worker"], 1.0, "CPU s"))
        out.append(("memory with ten audits waiting", found["peak"], 150.0, "MB"))
        domain = Path(place) / "domain.json"
        domain.write_text(
            '{"schema": "glassine.domain/1", "attributes": [{"name": "age", "type": "integer", "lo": 0, "hi": 120}]}'
        )
        tree, steps = large_tree(Path(place))
        seconds, n_stops = used("stops", {"tree.json": tree, "steps.json": steps}, "tree.json", "steps.json", "default")
        out.append((f"25 settings of the slider, {n_stops} copies", seconds, 1.0, "CPU s"))
        for kind, classes, limits in (("tree", ["no", "yes"], None), ("additive", [], [0, 9])):
            said = json.dumps({"classes": classes, "target_range": limits, "n_rules": 3})
            seconds, _ = used("invented", {"domain.json": domain}, "domain.json", kind, "ill", "1000", said)
            out.append((f"15 models of invented records, {kind}", seconds, 3.0, "CPU s"))
    assets = files("glassine.desk").joinpath("assets")
    weight = sum(len(one.read_bytes()) for one in assets.iterdir())
    weight += len(files("glassine.report").joinpath("templates", "report.css").read_bytes())
    weight += len(environment().get_template("shell.html").render(texts=PHRASES["browser"]).encode())
    out.append(("page weight", weight / 1000, 300.0, "kB"))
    return out


def main() -> None:
    """Measure, print, and store if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path)
    store = parser.parse_args().store
    measured = rows()
    load = os.getloadavg()[0]
    shared = "shared" if os.sched_getscheduler(0) == os.SCHED_OTHER else "own"
    for name, figure, target, unit in measured:
        sys.stdout.write(f"{name}: {figure:.2f} {unit} (target {target:g}; load {load:.1f}, processor {shared})\n")
    if store is not None:
        with store.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["measurement", "figure", "target", "unit", "load", "processor"])
            for name, figure, target, unit in measured:
                writer.writerow((name, f"{figure:.3f}", f"{target:g}", unit, f"{load:.1f}", shared))


if __name__ == "__main__":
    main()
