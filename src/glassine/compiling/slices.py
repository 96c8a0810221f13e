"""Work cut into slices that run on all cores, with progress."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from functools import partial
from typing import TypeAlias

from glassine.compiling.interpretation import interpreting

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the work done and the total work."""


SMALL = 0.01
"""Seconds of remaining work below which threads cost more than they bring."""


def cuts(size: int, pieces: int) -> list[tuple[int, int]]:
    """Cut a range into at most so many consecutive pieces of about equal size, none empty."""
    pieces = max(1, min(size, pieces))
    edges = [size * i // pieces for i in range(pieces + 1)]
    return [(edges[i], edges[i + 1]) for i in range(pieces) if edges[i] < edges[i + 1]]


def run(slices: Sequence[tuple[int, int]], work: Callable[[int, int], None], progress: Progress | None = None) -> None:
    """Run ``work(start, stop)`` for each slice, on as many threads as there are cores."""
    # The work must release the interpreter's lock, or all slices run one after the other, and write to its own places.
    # A first slice runs alone, so that a compiled function is compiled once. Progress is called from the calling
    # thread.
    total = sum(stop - start for start, stop in slices)
    done = 0

    def tell(slice_: tuple[int, int]) -> None:
        nonlocal done
        done += slice_[1] - slice_[0]
        if progress is not None:
            progress(done, total)

    # Of this thread's processor: on a busy machine the clock takes waiting for work.
    started = time.thread_time()
    for first in slices[:1]:
        work(*first)
        tell(first)
    if interpreting() or (time.thread_time() - started) * (len(slices) - 1) < SMALL:
        for slice_ in slices[1:]:
            work(*slice_)
            tell(slice_)
        return
    with ThreadPoolExecutor(max_workers=_cores()) as pool:
        # Each slice runs in a copy of the context, as its own thread has none.
        running = {pool.submit(partial(copy_context().run, work, *slice_)): slice_ for slice_ in slices[1:]}
        try:
            for future in as_completed(running):
                future.result()
                tell(running[future])
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
