"""Slices of work: they cover everything once, run on threads, and pass errors on."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.compiling import slices
from glassine.compiling.slices import cuts, run


@pytest.fixture(params=[0.0, float("inf")], ids=["threads", "one by one"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run slices on threads, and one by one."""
    monkeypatch.setattr(slices, "SMALL", request.param)


@given(st.integers(0, 500), st.integers(1, 60))
def test_cuts_cover_a_range_once(size: int, pieces: int) -> None:
    pieces_of_it = cuts(size, pieces)
    assert [i for start, stop in pieces_of_it for i in range(start, stop)] == list(range(size))
    assert len(pieces_of_it) == min(size, pieces)
    assert all(stop - start in (size // pieces, size // pieces + 1) for start, stop in pieces_of_it) or size < pieces


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("n_slices", [0, 1, 2, 40])
def test_every_slice_runs_once_and_progress_ends_at_the_total(n_slices: int) -> None:
    done: list[int] = []
    told: list[tuple[int, int]] = []
    lock = threading.Lock()

    def work(start: int, stop: int) -> None:
        with lock:
            done.extend(range(start, stop))

    run(cuts(100, n_slices) if n_slices else [], work, lambda *progress: told.append(progress))
    assert sorted(done) == (list(range(100)) if n_slices else [])
    assert len(told) == n_slices
    assert [total for _, total in told] == [100] * n_slices
    assert [part for part, _ in told] == sorted(part for part, _ in told)
    assert not told or told[-1] == (100, 100)


@pytest.mark.usefixtures("ways")
def test_the_first_slice_runs_alone() -> None:
    first = threading.Event()
    early: list[int] = []

    def work(start: int, stop: int) -> None:
        if start == 0:
            first.set()
        elif not first.is_set():
            early.append(start)

    run(cuts(50, 10), work)
    assert early == []


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("at", [0, 7])
def test_an_error_in_a_slice_is_passed_on(at: int) -> None:
    def work(start: int, stop: int) -> None:
        if start <= at < stop:
            raise KeyError(at)

    with pytest.raises(KeyError, match=str(at)):
        run(cuts(10, 10), work)


@pytest.mark.usefixtures("ways")
def test_an_error_in_progress_stops_the_work() -> None:
    done: list[int] = []

    def work(start: int, stop: int) -> None:
        time.sleep(0.001)
        done.append(start)

    def tell(part: int, total: int) -> None:
        if part > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(cuts(1000, 1000), work, tell)
    assert len(done) < 1000
