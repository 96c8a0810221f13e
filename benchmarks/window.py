"""The shop window: what the package shows, drawn before and after a change that should show nothing.

``python benchmarks/window.py freeze DIR`` writes audits, attacks, disclosures, reconstructions, releases, comparisons,
scrubs, edits, seeded fits, files of every format and refusals into a folder, one file for each artefact.
``python benchmarks/window.py compare DIR`` draws them again with the present code and prints what differs; its exit
status is 1 if something does. ``base`` freezes the window of another commit first. All is made from seeds; versions,
times and paths are masked, and nothing is needed but this repository.

The code that is drawn is that of PYTHONPATH, else ``src`` beside this folder. ``--only audit/tree`` draws the cases
whose name contains the text, or matches it as a pattern: ``--only 'fit*'``.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
if not os.environ.get("PYTHONPATH"):
    sys.path.insert(0, str(ROOT / "src"))
# One thread a library: sums come out alike on every machine, and workers do not fight for cores.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(_threads, "1")

INDEX = "index.json"
MOST_LINES = 40
"""Lines of one difference that are printed without ``--full``."""
MOST_CHARACTERS = 200
"""Characters of one line that are printed without ``--full``."""

BINARY = {".sqlite", ".pem", ".skops"}
"""Files that hold keys, times or random numbers: only that they were written is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """One thing that is shown: its text as it is read, and the digest of its text as it was written."""

    text: str
    digest: str


def say(text: str = "") -> None:
    """Print a line of the result."""
    print(text, flush=True)  # noqa: T201 - the comparison is the result


def tell(text: str) -> None:
    """Say how far the run is."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - what it is doing, apart from the result


# What is drawn --------------------------------------------------------------------------------------------------------


def cases() -> dict[str, Callable[[Path], Mapping[str, str]]]:
    """Return every case by name; each draws its artefacts in a folder that holds the inputs."""
    from benchmarks.artefacts.commands import COMMANDS
    from benchmarks.artefacts.files import FILES, read_back
    from benchmarks.artefacts.fits import FITS, fit
    from benchmarks.artefacts.library import LIBRARY

    made: dict[str, Callable[[Path], Mapping[str, str]]] = {}
    made |= {name: partial(run_lines, lines) for name, lines in COMMANDS.items()}
    made |= {f"library/{name}": draw for name, draw in LIBRARY.items()}
    made |= {f"learners/{name}": partial(fit, name) for name in FITS}
    made |= {f"files/{name}": partial(read_back, name) for name in FILES}
    return made


def chosen(only: Sequence[str]) -> list[str]:
    """Return the names of the cases that some patterns choose; all of them without a pattern."""
    names = sorted(cases())
    return [name for name in names if matches(name, only)]


def matches(name: str, only: Sequence[str]) -> bool:
    """Tell whether a case is chosen."""
    return not only or any(pattern in name or fnmatch.fnmatch(name, pattern) for pattern in only)


def run_lines(lines: Sequence[str], folder: Path) -> dict[str, str]:
    """Run command lines in a folder, and return what they printed and the files that they wrote."""
    from benchmarks.artefacts.adapter import command_line
    from benchmarks.artefacts.files import content

    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    console = []
    for line in lines:
        status, out, err = command_line(shlex.split(line), folder)
        console.append(f"$ glassine {line}\n[exit status {status}]\n{laid_out(out)}")
        console.append(f"[standard error]\n{err}" if err else "")
    drawn = {"console.txt": "\n".join(filter(None, console))}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc" and before.get(path) != path.read_bytes():
            name = "written/" + path.relative_to(folder).as_posix()
            drawn[name] = "a file\n" if path.suffix in BINARY else content(path)
    return drawn


def draw(name: str, inputs: Path) -> dict[str, Artefact]:
    """Draw one case in a copy of the inputs; what fails is an artefact too, so that it is seen."""
    from benchmarks.artefacts.adapter import quiet_process

    with tempfile.TemporaryDirectory(prefix="window-") as scratch:
        folder = Path(scratch).resolve() / "folder"
        shutil.copytree(inputs, folder)
        try:
            with quiet_process(folder):
                texts = dict(cases()[name](folder))
        except Exception:
            # Whatever is wrong with a case, the others are drawn.
            texts = {FAILED: traceback.format_exc()}
        return {f"{name}/{one}": artefact(one, masked(text, folder, name)) for one, text in texts.items()}


FAILED = "failed.txt"


def artefact(name: str, text: str) -> Artefact:
    """Return an artefact; JSON and pages are laid out so that a difference reads well."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if name.endswith(".html"):
        return Artefact(text=re.sub(r">(?=<)", ">\n", text), digest=digest)
    return Artefact(text=laid_out(text), digest=digest)


def laid_out(text: str) -> str:
    """Return JSON over several lines, its keys in the order in which they stand; other text as it is."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
    except ValueError:
        return text


# What is masked -------------------------------------------------------------------------------------------------------

MASKS: tuple[tuple[str, str], ...] = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?( UTC)?", "<time>"),
    (r"(?<!\w)/tmp/[\w./-]+", "<path>"),
    (r'File "[^"]+", line \d+', "File <source>"),
    # Only the first draw of a tree compiles.
    (r"(?m)^glassine: compiling for this machine[^\n]*\n?", ""),
)
"""Patterns that are masked everywhere, and what stands in their place."""

OF_CASE: tuple[tuple[str, str, str], ...] = (
    ("compare/", r'"seconds": \{[^}]*\}', '"seconds": "<seconds>"'),
    ("ledger/", r"\b[0-9a-f]{16,64}\b", "<digest>"),
    ("release/", r"\b[0-9a-f]{32,64}\b", "<digest>"),
    ("release/", r"[\w+/]{86}==", "<signature>"),
    ("release/", r"[\w+/]{43}=", "<public key>"),
)
"""Of cases whose name begins like this: what is random there."""


def masked(text: str, folder: Path, name: str) -> str:
    """Return a text without versions, times and paths of this run."""
    import glassine

    version = re.escape(glassine.__version__)
    text = text.replace(str(folder), "<folder>")
    text = re.sub(rf'("(?:version|glassine)": ")({version})(")', r"\1<version>\3", text)
    text = re.sub(rf"((?:[Gg]lassine|[Vv]ersion),? (?:version )?)v?{version}(?![\d.]*\d)", r"\1<version>", text)
    for pattern, mask in (*MASKS, *((p, m) for start, p, m in OF_CASE if name.startswith(start))):
        text = re.sub(pattern, mask, text)
    return text


# Freezing -------------------------------------------------------------------------------------------------------------

NEEDS_NOTHING = ("files/", "help/", "learners/")
"""Rooms whose cases need no inputs: drawn alone, they need no models to be made first."""

_INPUTS: Path | None = None


def _start(inputs: Path, paths: list[str]) -> None:
    global _INPUTS
    _INPUTS = inputs
    sys.path[:] = paths


def _work(name: str) -> tuple[str, float, dict[str, Artefact]]:
    if _INPUTS is None:
        raise RuntimeError("a worker has no inputs")
    start = time.process_time()
    made = draw(name, _INPUTS)
    return name, time.process_time() - start, made


def drawn(only: Sequence[str] = (), *, workers: int = 1, slowest: int = 0) -> dict[str, Artefact]:
    """Draw the cases that some patterns choose, and return their artefacts by name."""
    from benchmarks.artefacts.scene import build

    names = chosen(only)
    if not names:
        raise SystemExit(f"no case matches {', '.join(only)}.")
    artefacts: dict[str, Artefact] = {}
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="window-inputs-") as folder:
        inputs = Path(folder).resolve() / "inputs"
        inputs.mkdir()
        if not all(name.startswith(NEEDS_NOTHING) for name in names):
            build(inputs)
        if workers == 1:
            for name in names:
                start = time.process_time()
                artefacts |= draw(name, inputs)
                seconds[name] = time.process_time() - start
        else:
            # Spawned, not forked: libraries with threads of their own do not survive a fork.
            with ProcessPoolExecutor(workers, get_context("spawn"), _start, (inputs, list(sys.path))) as pool:
                for name, taken, made in pool.map(_work, names):
                    artefacts |= made
                    seconds[name] = taken
    for name in sorted(seconds, key=lambda one: -seconds[one])[:slowest]:
        tell(f"{seconds[name]:6.2f} s  {name}")
    return dict(sorted(artefacts.items()))


def file_of(folder: Path, name: str) -> Path:
    """Return the file of an artefact; its name holds no character that a file system would mind."""
    return folder / Path(*(re.sub(r"[^\w.,-]+", "_", part) for part in name.split("/")))


def freeze(folder: Path, artefacts: Mapping[str, Artefact]) -> None:
    """Write artefacts into a folder, one file each, with an index of their digests."""
    if folder.exists() and any(folder.iterdir()) and not (folder / INDEX).exists():
        raise SystemExit(f"{folder} holds other files than a window. Name a new folder.")
    if (folder / INDEX).exists():
        shutil.rmtree(folder)
    index = {}
    for name, one in artefacts.items():
        path = file_of(folder, name)
        if path.exists():
            raise RuntimeError(f"two artefacts have the file {path}: name one of their cases otherwise")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(one.text, encoding="utf-8", errors="surrogatepass", newline="")
        index[name] = {"file": path.relative_to(folder).as_posix(), "sha256": one.digest}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def frozen(folder: Path) -> dict[str, Artefact]:
    """Read the artefacts of a window."""
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SystemExit(f"{folder} holds no window. Make one: python benchmarks/window.py freeze {folder}") from None
    return {
        name: Artefact(
            text=(folder / entry["file"]).read_bytes().decode("utf-8", "surrogatepass"), digest=entry["sha256"]
        )
        for name, entry in index.items()
    }


# Comparing ------------------------------------------------------------------------------------------------------------


def compared(before: Mapping[str, Artefact], after: Mapping[str, Artefact], *, full: bool = False) -> Iterator[str]:
    """Yield the lines of a comparison; the last one counts."""
    equal = [name for name in before if name in after and before[name].digest == after[name].digest]
    differing = [name for name in before if name in after and before[name].digest != after[name].digest]
    missing, new = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    rooms = Counter(name.split("/")[0] for name in equal)
    yield from (f"equal    {room}: {count}" for room, count in sorted(rooms.items()))
    for name in differing:
        yield f"differs  {name}"
        yield from (f"    {line}" for line in difference(before[name], after[name], full=full))
    yield from (f"missing  {name}" for name in missing)
    for name in new:
        yield f"new      {name}"
        if name.endswith(FAILED):
            yield from (f"    {line}" for line in after[name].text.splitlines()[-MOST_LINES:])
    yield f"{len(equal)} equal, {len(differing)} differ, {len(missing)} missing, {len(new)} new."


def difference(before: Artefact, after: Artefact, *, full: bool) -> list[str]:
    """Return a unified difference, cut where it is long."""
    lines = list(
        difflib.unified_diff(before.text.splitlines(), after.text.splitlines(), "before", "after", "", "", 2, "")
    )
    if not lines:
        return ["the same values, laid out in other bytes"]
    if full:
        return lines
    lines = [line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}..." for line in lines]
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[:MOST_LINES], f"... and {len(lines) - MOST_LINES} lines more: --full shows them"]


def differ(before: Mapping[str, Artefact], after: Mapping[str, Artefact]) -> bool:
    """Tell whether two windows show different things."""
    digests = [{name: one.digest for name, one in side.items()} for side in (before, after)]
    return digests[0] != digests[1]


def compare(folder: Path, only: Sequence[str], *, workers: int, full: bool, slowest: int = 0) -> int:
    """Draw again what a folder holds, print what differs, and return the exit status."""
    before = {name: one for name, one in frozen(folder).items() if matches(case_of(name), only)}
    after = drawn(only, workers=workers, slowest=slowest)
    for line in compared(before, after, full=full):
        say(line)
    return int(differ(before, after))


def case_of(name: str) -> str:
    """Return the name of the case that an artefact is of: its first two parts."""
    return "/".join(name.split("/")[:2])


# Another commit -------------------------------------------------------------------------------------------------------


def git(*arguments: str) -> str:
    """Return what git prints in this repository."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603, S607
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def usual_base() -> str:
    """Return the commit that a change began from: where it left origin/main, else the one before the last."""
    try:
        return git("merge-base", "HEAD", "origin/main")
    except SystemExit:
        return git("rev-parse", "HEAD~1")


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Check a commit out into a folder that goes away again."""
    with tempfile.TemporaryDirectory(prefix="window-base-") as scratch:
        folder = Path(scratch) / "tree"
        git("worktree", "add", "--detach", "--quiet", str(folder), commit)
        try:
            yield folder
        finally:
            git("worktree", "remove", "--force", str(folder))


def against(commit: str, arguments: argparse.Namespace) -> int:
    """Freeze the window of another commit with the present script, and compare it with the working tree."""
    commit = git("rev-parse", "--verify", commit or usual_base())
    tell(f"Drawing commit {commit[:10]}.")
    with tempfile.TemporaryDirectory(prefix="window-frozen-") as scratch, checked_out(commit) as tree:
        folder = Path(scratch) / "window"
        command = [sys.executable, __file__, "freeze", str(folder), "--workers", str(arguments.workers)]
        command += [part for pattern in arguments.only for part in ("--only", pattern)]
        environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
        done = subprocess.run(command, env=environment, check=False)  # noqa: S603 - this script itself
        if done.returncode not in (0, 1):
            return 2
        return compare(folder, arguments.only, workers=arguments.workers, full=arguments.full)


def main(arguments: Sequence[str] | None = None) -> int:
    """Freeze a window, or compare one with the present code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("command", choices=("freeze", "compare", "base", "list"))
    parser.add_argument("place", nargs="?", default="", help="the folder of a window; of base, a commit")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="cases to draw; may be repeated")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--full", action="store_true", help="print differences whole")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="name the slowest cases")
    given = parser.parse_args(arguments)
    if given.command == "list":
        for name in chosen(given.only):
            say(name)
        return 0
    if given.command == "base":
        return against(given.place, given)
    if not given.place:
        parser.error("name the folder of the window")
    import glassine

    tell(f"Drawing the code of {Path(glassine.__file__).parents[1]}.")
    if given.command == "compare":
        return compare(Path(given.place), given.only, workers=given.workers, full=given.full, slowest=given.slowest)
    artefacts = drawn(given.only, workers=given.workers, slowest=given.slowest)
    freeze(Path(given.place), artefacts)
    failed = [name for name in artefacts if name.endswith(f"/{FAILED}")]
    for name in failed:
        tell(f"could not be drawn: {case_of(name)}: {artefacts[name].text.strip().splitlines()[-1]}")
    say(f"{len(artefacts)} artefacts of {len({case_of(name) for name in artefacts})} cases in {given.place}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
