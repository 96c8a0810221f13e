"""What the first minutes cost: ``python benchmarks/minutes.py [runs]``.

Prints the CPU time of each command in a process of its own, threads and start-up included, the least of a few runs. Its
ratio to an interpreter that imports NumPy stands beside it, as that says how busy the machine is. Commands: the help,
an audit of a small model file, a fit of a small tree, and first fits on a machine, whose cache is empty: a small one
interprets what a deep one compiles.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

RUNS = 5
N = 3000


def write_inputs(folder: Path) -> None:
    """Write records, their domain and a small model."""
    from glassine import Category, Domain, Integer, parse_rules, write_model
    from glassine.domain.attributes import Attribute

    rng = np.random.default_rng(0)
    age, pressure = rng.integers(18, 91, N).tolist(), rng.integers(80, 201, N).tolist()
    region = rng.choice(["north", "south", "east"], N).tolist()
    lines = (
        f"{a},{p},{r},{'yes' if a > 50 and r == 'north' else 'no'}"
        for a, p, r in zip(age, pressure, region, strict=True)
    )
    (folder / "records.csv").write_text("\n".join(["age,pressure,region,ill", *lines]) + "\n")
    attributes: dict[str, Attribute] = {
        "age": Integer(18, 90),
        "pressure": Integer(80, 200),
        "region": Category(("north", "south", "east")),
    }
    Domain({**attributes, "ill": Category(("no", "yes"))}).to_json(folder / "domain.json")
    rules = "if [age < 40] then [true] ([152 ; 160] examples)\nelse [false] ([170 ; 180] examples)"
    write_model(parse_rules(rules), folder / "model.json", overwrite=True)


def cpu(words: Sequence[str], folder: Path, cache: Path | None = None) -> tuple[float, str]:
    """Return the CPU seconds of a Python process, and what it wrote on standard error."""
    extra = {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    # An installed package has its bytecode beside it, which pip writes.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(  # noqa: S603 - our own interpreter and files
        [sys.executable, *words], cwd=folder, env={**inherited, **extra}, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def main() -> None:
    """Print the figures."""
    fit = ("fit", "tree", "records.csv", "--target", "ill", "--epsilon", "1", "--domain", "domain.json")
    commands = {
        "help": ("--help",),
        "audit of a model file alone": ("audit", "model.json"),
        "fit tree": (*fit, "-o", "m.json", "--overwrite"),
    }
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        small = ("-m", "glassine", *commands["fit tree"])
        first, unsaid = cpu(small, folder, folder / "cache")
        deep, said = cpu((*small, "--max-depth", "5"), folder, folder / "cache")
        bare = min(cpu(("-c", "import numpy"), folder)[0] for _ in range(runs))
        figures = {"import of NumPy": bare}
        for what, words in commands.items():
            # The first run fills the caches of compiled code and of files.
            cpu(("-m", "glassine", *words), folder, folder / "cache")
            figures[what] = min(cpu(("-m", "glassine", *words), folder, folder / "cache")[0] for _ in range(runs))
        figures["first fit tree on a machine"] = first
        figures["first fit tree of depth 5 on a machine"] = deep
    sys.stdout.write("| step | CPU s | times the import of NumPy |\n|---|---|---|\n")
    for what, seconds in figures.items():
        sys.stdout.write(f"| {what} | {seconds:.2f} | {seconds / bare:.0f} |\n")
    for depth, written in ((3, unsaid), (5, said)):
        does = "says that it compiles" if "compiling for this machine" in written else "compiles nothing"
        sys.stdout.write(f"The first fit of depth {depth} {does}.\n")


if __name__ == "__main__":
    main()
