"""Two warm processes that work in turn, so that what else the machine does falls on both alike."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


WARM_RUNS, WARM_SECONDS = 8, 2.0
"""Runs before those that count: so many, or until they took so many seconds of processors."""


class PeerFailed(Exception):
    """A process ended or did not answer; the message says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One piece of work: its seconds on the clock, those of all processors together, and what came of it."""

    seconds: float
    processor: float
    figures: dict[str, Any]


class Warm:
    """A process of warm.py in the environment of a peer."""

    def __init__(self, python: Path, module: str, patience: float) -> None:
        self.module = module
        self.patience = patience
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(  # noqa: S603 - made here
            [str(python), str(HERE / "warm.py"), module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        try:
            self._answer()
        except PeerFailed:
            self.close()
            raise

    def ready(self, work: str, data: Path, settings: dict[str, Any]) -> None:
        """Make a work ready."""
        self._ask({"work": work, "data": str(data), "settings": settings})

    def run(self, seed: int) -> Run:
        """Do the work once."""
        reply = self._ask({"seed": seed})
        return Run(seconds=reply["seconds"], processor=reply["processor"], figures=reply["figures"])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._process.stdin is None:
            raise PeerFailed(f"{self.module} takes no requests")
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise PeerFailed(self._last_words()) from None
        reply = self._answer()
        if "failed" in reply:
            raise PeerFailed(reply["failed"])
        return reply

    def _answer(self) -> dict[str, Any]:
        """Return the next line of the process, which is ended when its patience is."""
        if self._process.stdout is None:
            raise PeerFailed(f"{self.module} gives no replies")
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._process.kill()

        alarm = threading.Timer(self.patience, stop)
        alarm.start()
        try:
            line = self._process.stdout.readline()
        finally:
            alarm.cancel()
        if late.is_set():
            raise PeerFailed(f"no answer in {self.patience:g} s")
        if not line:
            raise PeerFailed(self._last_words())
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _last_words(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return f"{self.module} ended with {self._process.returncode}: {lines[-1] if lines else 'no reason given'}"


def warm_up(side: Warm) -> None:
    """Do the work until what is compiled or loaded beside the first runs is done."""
    spent = 0.0
    for seed in range(WARM_RUNS):
        spent += side.run(seed).processor
        if spent > WARM_SECONDS:
            break


def in_turn(sides: tuple[Warm, ...], runs: int, budget: float) -> tuple[list[Run], ...]:
    """Run all sides after each other, up to so many times; stop after the budget, but not before one run.

    The budget is in seconds of processors: on a busy machine as many runs are done as on a quiet one. Run i of every
    side has seed i.
    """
    kept: tuple[list[Run], ...] = tuple([] for _ in sides)
    for seed in range(runs):
        for side, done in zip(sides, kept, strict=True):
            done.append(side.run(seed))
        if sum(run.processor for done in kept for run in done) > budget:
            break
    return kept


def measured(
    pythons: tuple[Path, ...],
    works: tuple[tuple[str, str, dict[str, Any]], ...],
    data: Path,
    *,
    first: dict[str, Any],
    runs: int,
    budget: float,
    patience: float,
) -> tuple[list[Run], ...]:
    """Start a process for each work, given as module, name and settings, and run them in turn.

    Each is warmed up before, with the settings in ``first`` changed.
    """
    opened: list[Warm] = []
    try:
        for python, (module, name, settings) in zip(pythons, works, strict=True):
            opened.append(Warm(python, module, patience))
            opened[-1].ready(name, data, settings | first)
            warm_up(opened[-1])
            if first:
                opened[-1].ready(name, data, settings)
        return in_turn(tuple(opened), runs, budget)
    finally:
        for process in opened:
            process.close()
