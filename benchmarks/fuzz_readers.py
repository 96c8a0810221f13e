"""Damaged files for every reader: nothing but an error of our own may come out.

``python benchmarks/fuzz_readers.py [--inputs N] [--seed S] [--reader NAME] [--one NUMBER]``. Each input has a number,
from which it is made again with ``--one``. Readers run in a process of their own with a limit on its memory; an input
that raises another error, takes more than two seconds, or ends the process is told and counted. The exit status is 1 if
there was one. With the package atheris installed, ``--atheris`` chooses the faults by the readers' coverage
instead, takes the options of libFuzzer, such as ``-runs=100000``, and stops at the first fault.

With ``--grow SIZE`` pieces of good files are repeated up to that many bytes instead; the costliest answers are told
with their memory and time for each byte: an answer may take a gigabyte of memory and 20 seconds of a processor.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from glassine.errors import GlassineError

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if "--atheris" in sys.argv:
    import atheris

    with atheris.instrument_imports(
        include=["glassine.models", "glassine.domain", "glassine.files", "glassine.auditing.policy"]
    ):
        pass

from benchmarks.fuzz_mutations import grown, mutated
from benchmarks.fuzz_seeds import Seed, seeds

__all__ = ["Growth", "Job", "fuzz", "grow", "grown", "mutated", "outcome", "seeds"]

SECONDS = 2.0
"""No input of the sizes made here may take more of a processor's time."""
STUCK = 20.0
"""After so long a process that no signal reaches is ended."""
MEMORY = 2 * 2**30
"""Bytes that reading may take on top of what the process has at its start."""
GROWN_SECONDS, GROWN_MEMORY = 20.0, 2**30
"""What an answer to a large file may take."""
BATCH = 5000
COSTLY = ("skops", "interpret", "domain.json")
"""Parts of the names of readers that get a quarter of the inputs of others: each takes several times as long."""


class _Late(BaseException):
    """Raised by the alarm; not an Exception, so that no reader swallows it."""


@dataclass(frozen=True)
class Job:
    """What is to be fuzzed."""

    seeds: dict[str, Seed]
    names: list[str]
    seed: int

    def input(self, number: int) -> tuple[str, bytes]:
        """Return the name of the reader and the file of a number."""
        name = self.names[number % len(self.names)]
        return name, mutated(self.seeds[name][0], random.Random(f"{self.seed}/{number}"))  # noqa: S311 - test inputs, no secrets


def outcome(read: Callable[[bytes], object], data: bytes, seconds: float | None = None) -> str:
    """Return how a reader took a file: read, refused, or the fault in one line."""
    seconds = SECONDS if seconds is None else seconds
    before = signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        read(data)
        return "read"
    except GlassineError as error:
        return "refused" if len(str(error).splitlines()) <= 1 else f"fault: a message of several lines: {error!r:.100}"
    except _Late:
        last = traceback.extract_tb(sys.exc_info()[2])[-1]
        return f"fault: more than {seconds:g} s, at {Path(last.filename).name}:{last.lineno}"
    except BaseException as error:
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "glassine" in f.filename]
        where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
        return f"fault: {type(error).__name__} at {where}: {str(error)[:100]!r}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _alarm(*_: object) -> None:
    raise _Late


def _child(job: Job, start: int, end: int, board: mmap.mmap, out: Path) -> None:
    """Read the inputs of a batch; the board holds the number that is under way."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, held + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    found: Counter[tuple[str, str]] = Counter()
    faults = []
    for number in range(start, end):
        board[:16] = struct.pack("qd", number, time.monotonic())
        name, data = job.input(number)
        board[:16] = struct.pack("qd", number, time.monotonic())
        how = outcome(job.seeds[name][1], data)
        found[name, how.split(":")[0]] += 1
        if how.startswith("fault"):
            faults.append(f"{number} {name}: {how}")
        if number % 500 == 0 or number + 1 == end or faults:
            out.write_text(json.dumps([[*key, count] for key, count in found.items()]) + "\n" + "\n".join(faults))
    board[:16] = struct.pack("qd", -1, time.monotonic())


def _batch(job: Job, start: int, end: int, found: Counter[tuple[str, str]], faults: list[str]) -> int:
    """Run a batch in a child; return the number after the last one that was tried."""
    board = mmap.mmap(-1, 16)
    board[:16] = struct.pack("qd", start, time.monotonic())
    out = Path(tempfile.gettempdir()) / f"glassine-fuzz-out-{os.getpid()}"
    out.unlink(missing_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the child uses none of the threads that forking leaves behind
        child = os.fork()
    if child == 0:
        try:
            _child(job, start, end, board, out)
        except BaseException:
            traceback.print_exc()
            os._exit(3)
        os._exit(0)
    status = 0
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        number, since = struct.unpack("qd", board[:16])
        if number >= 0 and time.monotonic() - since > STUCK:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            status = -1
            break
        time.sleep(0.02)
    number = struct.unpack("qd", board[:16])[0]
    if out.exists():
        head, *lines = out.read_text().split("\n")
        for name, how, count in json.loads(head):
            found[name, how] += count
        faults += [line for line in lines if line]
    if status == 0:
        return end
    name = job.input(number)[0]
    why = "no answer" if status == -1 else f"the process ended with status {status}"
    faults.append(f"{number} {name}: fault: {why}")
    found[name, "fault"] += 1
    return int(number) + 1


def fuzz(job: Job, inputs: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Return how many inputs each reader read, refused or failed on, and the faults."""
    found: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    at, shown, started, told = 0, 0, time.monotonic(), time.monotonic()
    while at < inputs:
        at = _batch(job, at, min(at + BATCH, inputs), found, faults)
        if time.monotonic() - told > 30 or at >= inputs:
            told = time.monotonic()
            for line in faults[shown:]:
                print(line, flush=True)  # noqa: T201
            shown = len(faults)
            print(f"{at:,}/{inputs:,} inputs, {len(faults)} faults, {told - started:.0f} s", flush=True)  # noqa: T201
    return found, faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What the answer to a grown file took.

    Attributes
    ----------
    number : int
        The number from which the file is made again.
    name : str
        The reader.
    how : str
        Read, refused, or the fault.
    size, memory : int
        Bytes of the file, and of the largest memory on top of what the process has at its start.
    seconds : float
        Time of the processor.
    """

    number: int
    name: str
    how: str
    size: int
    memory: int
    seconds: float

    def __str__(self) -> str:
        each = f"{self.memory / self.size:,.0f} bytes and {1e6 * self.seconds / self.size:,.2f} µs a byte"
        return f"{self.number} {self.name}: {self.how}; {self.size:,} bytes, {each}"


def grow(job: Job, inputs: int, size: int) -> list[Growth]:
    """Return what each of some grown files took, each in a process of its own."""
    return [_grown(job, number, size) for number in range(inputs)]


def _grown(job: Job, number: int, size: int) -> Growth:
    name = job.names[number % len(job.names)]
    data = grown(job.seeds[name][0], random.Random(f"{job.seed}/{number}"), size)  # noqa: S311 - test inputs, no secrets
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the child uses none of the threads that forking leaves behind
        child = os.fork()
    if child == 0:
        try:
            warnings.simplefilter("ignore")
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (held + 2 * GROWN_MEMORY,) * 2)
            Path("/proc/self/clear_refs").write_text("5")  # the peak starts at what is held now
            start = _peak()
            how = outcome(job.seeds[name][1], data, GROWN_SECONDS)
            os.write(theirs, json.dumps([how, _peak() - start]).encode()[:4000])
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as stream:
        answer = stream.read()
    _, status, used = os.wait4(child, 0)
    how, memory = json.loads(answer) if answer else (f"fault: the process ended with status {status}", 0)
    if memory > GROWN_MEMORY:
        how = f"fault: more than {GROWN_MEMORY:,} bytes of memory"
    seconds = used.ru_utime + used.ru_stime
    return Growth(number=number, name=name, how=how, size=len(data), memory=memory, seconds=seconds)


def _peak() -> int:
    """Return the largest memory that the process has had, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def _guided(job: Job, options: list[str]) -> None:
    """Let atheris choose among faults of its own and ours, guided by the coverage of the readers."""
    import atheris

    def one(data: bytes) -> None:
        name = job.names[data[0] % len(job.names)] if data else job.names[0]
        how = outcome(job.seeds[name][1], data[1:])
        if how.startswith("fault"):
            raise RuntimeError(f"{name}: {how}")

    def damaged(data: bytes, largest: int, seed: int) -> bytes:
        rng = random.Random(seed)  # noqa: S311 - test inputs, no secrets
        if rng.random() < 0.5:
            return bytes(atheris.Mutate(data, largest))
        return (data[:1] + mutated(data[1:], rng))[:largest]

    corpus = Path(tempfile.mkdtemp())
    for i, name in enumerate(job.names):
        (corpus / str(i)).write_bytes(bytes([i]) + job.seeds[name][0])
    atheris.Setup([sys.argv[0], *options, str(corpus)], one, custom_mutator=damaged)
    atheris.Fuzz()


def main(arguments: list[str] | None = None) -> int:
    """Fuzz as the command line asks; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", help="part of the name of the readers")
    parser.add_argument("--one", type=int, help="make and read one input, and write it to standard output")
    parser.add_argument("--grow", type=int, metavar="SIZE", help="repeat pieces of good files up to so many bytes")
    parser.add_argument("--atheris", action="store_true")
    asked, options = parser.parse_known_args(arguments)
    if options and not asked.atheris:
        parser.error(f"unknown options {options}")
    made = seeds()
    names = [name for name in made if not asked.reader or asked.reader in name]
    for name in names:
        how = outcome(made[name][1], made[name][0])
        if how.startswith("fault"):
            print(f"{name}, undamaged: {how}")  # noqa: T201
            return 1
    cheap = [name for name in names if not any(part in name for part in COSTLY)]
    job = Job(made, [*cheap * 3, *names] if cheap else names, asked.seed)
    if asked.atheris:
        _guided(Job(made, names, asked.seed), options)
        return 0
    if asked.grow is not None:
        answers = grow(Job(made, names, asked.seed), asked.inputs, asked.grow)
        bad = [answer for answer in answers if answer.how.startswith("fault")]
        costly = sorted(answers, key=lambda answer: answer.memory / answer.size)[-5:]
        slow = sorted(answers, key=lambda answer: answer.seconds / answer.size)[-5:]
        for title, few in (("faults", bad), ("most memory", costly), ("most time", slow)):
            print(title, *few, sep="\n  ")  # noqa: T201
        return int(bool(bad))
    if asked.one is not None:
        name, data = job.input(asked.one)
        sys.stdout.buffer.write(data)
        print(f"\n{name}: {outcome(made[name][1], data)}", file=sys.stderr)  # noqa: T201
        return 0
    found, faults = fuzz(job, asked.inputs)
    for name in names:
        counts = {how: found[name, how] for how in ("read", "refused", "fault")}
        print(f"{name}: {', '.join(f'{count:,} {how}' for how, count in counts.items())}")  # noqa: T201
    print(f"{sum(found.values()):,} inputs, {len(faults):,} faults")  # noqa: T201
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
