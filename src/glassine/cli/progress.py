"""While a command runs: progress on the standard error."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from glassine.cli.writing import tell
from glassine.compiling.listening import on_compilation

if TYPE_CHECKING:
    from rich.console import Console

DELAY = 0.5
"""Seconds after which progress is shown."""


class Display:
    """The stage of some work, and how much of it is done."""

    def __init__(self, bar: Any = None) -> None:
        # bar: where to show it; None shows nothing.
        self._bar = bar
        self._task = None if bar is None else bar.add_task("starting", total=None, visible=False)
        self._stages: list[str] = []
        self._done, self._total = 0, 0

    def stage(self, text: str, *following: str) -> None:
        """Start a stage; ``following`` start when work is done, falls back or changes total."""
        self._stages, self._total = list(following), 0
        if self._bar is not None:
            self._bar.update(self._task, description=text, completed=0, total=None)

    def __call__(self, done: int, total: int) -> None:
        """Say how much of the stage is done."""
        if self._bar is None:
            return
        if (done < self._done or total != self._total) and self._stages:
            self._bar.update(self._task, description=self._stages.pop(0))
        self._done, self._total = done, total
        self._bar.update(self._task, completed=done, total=total)

    def appear(self) -> None:
        """Show it from now on."""
        if self._bar is not None:
            self._bar.update(self._task, visible=True)


def announce_compilation() -> None:
    """Say on standard error, terminal or log, that this run compiles, once and when it begins."""

    def say(folder: str | None) -> None:
        kept = f"The result is kept in {folder}" if folder else "No folder can be written that would keep the result"
        tell(f"glassine: compiling for this machine, which takes some seconds. {kept}.")

    on_compilation(say)


@contextlib.contextmanager
def progress(*, quiet: bool = False, console: Console | None = None) -> Iterator[Display]:
    """Show progress while some work is done, if standard error is a terminal and the work is not done at once."""
    if quiet or (console is None and not sys.stderr.isatty()):
        yield Display()
        return
    from rich.console import Console as Terminal
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console or Terminal(stderr=True), transient=True) as bar:
        display = Display(bar)
        timer = threading.Timer(DELAY, display.appear)
        timer.daemon = True
        timer.start()
        try:
            yield display
        finally:
            timer.cancel()


@contextlib.contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Show the stage of some work; what is yielded names it."""
    with progress() as display:
        yield display.stage
