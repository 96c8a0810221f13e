"""What an audit of records costs: ``python benchmarks/audit_path.py [sensitive] [--list]``.

A tree of depth 5 on the six numbers of Adult is audited by the command line with its domain, the 32,561 training
records, the target and a sensitive attribute (``sex`` by default, or ``income``), in one process. The first run is to
warm up: it pays for imports and compiled code. Of the runs that follow the least CPU time is printed, threads included,
and of the last one how many files and functions of the package were entered, how often the files of model and records
were opened by Python, and how often records were opened as a frame and columns converted to arrays or lists. Before
that, what each answer to a checker who has a file alone costs, in a process of its own.

A function is one that has a name: what Python enters as ``<listcomp>``, ``<genexpr>``, ``<lambda>`` or ``<module>`` is
left out, and so are the bodies of classes, so that all versions of Python count alike. ``--list`` prints each file
with the functions that were entered.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.public_data import ADULT_COLUMNS, DATA  # noqa: E402 - after the path is set

RUNS = 7
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
CONVERSIONS = ("to_numpy", "to_list")


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def write_inputs(folder: Path) -> dict[str, Path]:
    """Write the model, its domain and the records, and return where they are."""
    from sklearn.tree import DecisionTreeClassifier

    from glassine import Category, Domain, Integer, as_model, write_model

    with (DATA / "adult" / "adult.data").open(newline="") as stream:
        rows = [[field.strip() for field in row] for row in csv.reader(stream) if row]
    columns = dict(zip((*ADULT_COLUMNS[:14], "income"), zip(*rows, strict=True), strict=True))
    attributes: dict[str, Any] = {}
    for name, values in columns.items():
        if name in NUMBERS:
            numbers = [int(value) for value in values]
            attributes[name] = Integer(min(numbers), max(numbers))
        else:
            attributes[name] = Category(tuple(sorted(set(values) - {"?"})), missing="?" in values)
    domain = Domain(attributes)
    X = np.column_stack([np.array(columns[name], dtype=float) for name in NUMBERS])
    tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=20, random_state=0).fit(X, np.array(columns["income"]))
    model = as_model(tree, Domain({name: domain[name] for name in NUMBERS}))
    paths = {name: folder / name for name in ("model.json", "domain.json", "records.csv")}
    write_model(model, paths["model.json"], overwrite=True)
    domain.to_json(paths["domain.json"])
    with paths["records.csv"].open("w", newline="") as stream:
        csv.writer(stream).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return paths


def checker(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield the CPU time of each answer to a checker who has a file alone, start-up of the process included."""
    from glassine import Domain, Integer, parse_rules, write_model

    public = folder / "public.json"
    Domain({"age": Integer(0, 99, thresholds=(40,))}).to_json(public)
    files = {"fine": ((152, 160), (170, 180)), "memorized": ((1, 0), (0, 1))}
    for name, ((a, b), (c, d)) in files.items():
        rules = f"if [age < 40] then [1] ([{a} ; {b}] examples)\nelse [0] ([{c} ; {d}] examples)"
        write_model(parse_rules(rules), folder / f"{name}.json", overwrite=True)
    for answer, name, options, status in (
        ("yes", "fine", ["--domain", str(public)], 0),
        ("no", "memorized", [], 1),
        ("what is missing", "fine", [], 3),
    ):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "glassine", "audit", str(folder / f"{name}.json"), *options]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own interpreter and files
        if done.returncode != status:
            raise SystemExit(f"{answer}: the audit ended with {done.returncode}: {done.stderr.decode()}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        yield answer, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def audit(paths: dict[str, Path], sensitive: str) -> str:
    """Run the command as a user does, and return what it prints."""
    from glassine.cli import main

    arguments = ["audit", str(paths["model.json"]), "--domain", str(paths["domain.json"])]
    arguments += ["--data", str(paths["records.csv"]), "--target", "income", "--sensitive", sensitive, "--json"]
    printed = StringIO()
    with redirect_stdout(printed), redirect_stderr(StringIO()), patch.object(sys, "argv", ["glassine", *arguments]):
        try:
            main()
        except SystemExit as end:
            if end.code not in (0, 1, 2, 3):
                raise
    return printed.getvalue()


@contextmanager
def _entered(package: Path) -> Iterator[tuple[Counter[tuple[str, str, int]], Counter[str]]]:
    """Count the functions of the package that are entered and have a name, and what it asks of data frames."""
    functions: Counter[tuple[str, str, int]] = Counter()
    asked: Counter[str] = Counter()

    def look(frame: FrameType, event: str, _argument: object) -> None:
        if event != "call":
            return
        code, caller = frame.f_code, frame.f_back
        if code.co_filename.startswith(str(package)):
            # The body of a class is no optimized code; comprehensions and the like are named in angle brackets.
            if code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<"):
                functions[code.co_filename, code.co_qualname, code.co_firstlineno] += 1
        elif caller is not None and caller.f_code.co_filename.startswith(str(package)):
            if "narwhals" in code.co_filename and code.co_name == "from_native":
                asked["opened"] += 1
            elif code.co_name in CONVERSIONS and ("narwhals" in code.co_filename or "polars" in code.co_filename):
                asked[code.co_name] += 1

    sys.setprofile(look)
    try:
        yield functions, asked
    finally:
        sys.setprofile(None)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("sensitive", nargs="?", default="sex", help="the sensitive attribute")
    parser.add_argument("--list", action="store_true", help="print each file with the functions that were entered")
    options = parser.parse_args()
    import glassine

    package = Path(glassine.__file__).parent
    with tempfile.TemporaryDirectory() as name:
        for answer, taken in checker(Path(name)):
            say(f"a checker with a file alone, {answer}: CPU s of the process {taken:.2f}")
        paths = write_inputs(Path(name))
        opened: Counter[str] = Counter()
        sys.addaudithook(lambda event, a: opened.update([Path(str(a[0])).name]) if event == "open" else None)
        printed = audit(paths, options.sensitive)
        if not printed.lstrip().startswith("{"):
            raise SystemExit(f"the audit failed: {printed}")
        times = []
        for _ in range(RUNS):
            start = time.process_time()
            audit(paths, options.sensitive)
            times.append(time.process_time() - start)
        opened.clear()
        with _entered(package) as (functions, asked):
            audit(paths, options.sensitive)
    say(f"CPU s, least of {RUNS} warm runs: {min(times):.3f} (median {sorted(times)[RUNS // 2]:.3f})")
    if options.list:
        files: dict[str, list[str]] = {}
        for file, function, _ in sorted(functions):
            files.setdefault(Path(file).relative_to(package).as_posix(), []).append(function)
        for file, names in files.items():
            say(f"{len(names):4} {file}: {', '.join(names)}")
    rooms = {Path(file).relative_to(package).parts[0] for file, _, _ in functions}
    say(f"files: {len({file for file, _, _ in functions})}, rooms: {len(rooms)}, functions: {len(functions)}")
    say(f"model file opened: {opened['model.json']}, records file opened by Python: {opened['records.csv']}")
    conversions = sum(asked[kind] for kind in CONVERSIONS)
    say(f"frames opened: {asked['opened']}, columns converted: {conversions}")


if __name__ == "__main__":
    main()
