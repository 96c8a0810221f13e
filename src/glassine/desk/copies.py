"""The copies of the reveal-less slider, as a worker makes them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from glassine.desk.folder import Folder
from glassine.desk.workers import Job, StoppedJobError, Workers
from glassine.errors import DeskError


class Copies:
    """The copies of the slider of one model, as they are made.

    Parameters
    ----------
    grown : callable
        Called when there are more.
    """

    def __init__(self, grown: Callable[[], None]) -> None:
        self.made: list[dict[str, Any]] = []
        self.failure = ""
        self.task: asyncio.Task[None] | None = None
        self._grown = grown

    @property
    def running(self) -> bool:
        """Whether more are being made."""
        return self.task is not None and not self.task.done()

    def cancel(self) -> None:
        """End the making."""
        if self.task is not None:
            self.task.cancel()

    async def make(self, workers: Workers, job: Job, folder: Folder, records: Sequence[str]) -> None:
        """Run the job that makes them, with files of records opened for it."""
        try:
            with ExitStack() as opened:
                job.opens = {name: opened.enter_context(folder.opened(name)) for name in records}
                done = await workers.run(job)
            self.failure = "" if self.made else done.message or "no copy could be made."
        except StoppedJobError as error:
            self.failure = "" if self.made else str(error)
        except DeskError as error:
            self.failure = str(error)
        finally:
            self._grown()

    def take(self, folder: Path) -> None:
        """Take in what the job has written of them so far."""
        n_known = len(self.made)
        with suppress(OSError):
            lines = (folder / ".out").read_bytes().split(b"\n")[:-1]
            for line in lines[n_known:]:
                with suppress(ValueError):
                    stop = json.loads(line)
                    stop["model"] = (folder / f"stop-{stop['number']}.json").read_text(encoding="utf-8")
                    self.made.append(stop)
        if len(self.made) == n_known:
            return
        # Fewer failed checks to the right; of equal ones, what predicts worse, or has fewer parts.
        as_trained = [one for one in self.made if one["as_trained"]]
        others = [one for one in self.made if not one["as_trained"]]
        self.made = as_trained + sorted(
            others, key=lambda one: (-one["failed"], -one["unknown"], -(one["quality"] or 0), -one["parts"])
        )
        self._grown()
