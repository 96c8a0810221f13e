"""The lock of a desk's record: one desk at a time, and none that a killed process left stands in the way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from glassine.desk.locking import LOCK, NEW, locked
from glassine.errors import DeskError

KILLED = """
import os, sys
from pathlib import Path
from glassine.desk import locking
from tests.desk.killing import Steps

steps = Steps(int(sys.argv[2]))
for name in ("open", "write", "close", "link"):
    setattr(os, name, steps.traced(getattr(os, name)))
Path.unlink = steps.traced(Path.unlink)
with locking.locked(Path(sys.argv[1]), "okafor", 1.0):
    steps.step()
"""


@pytest.mark.slow
def test_a_kill_at_any_step_leaves_no_lock_that_blocks(tmp_path: Path) -> None:
    for at in range(1, 40):
        ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(at)], check=False)
        began = time.monotonic()
        with locked(tmp_path, "berg", 1.0):
            assert (tmp_path / LOCK).read_text().startswith(f"{socket.gethostname()} {os.getpid()} berg")
        assert time.monotonic() - began < 0.9
        assert not (tmp_path / LOCK).exists()
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL
    else:
        pytest.fail("every step was killed, and none was the last")
    assert at > 8
    # Without a lock that was left, nothing tells whose they are; none of them blocks.
    assert all(path.name.startswith(NEW) for path in tmp_path.iterdir())


@pytest.mark.parametrize("words", ["", "{host} {gone} okafor\n", "{host} {gone} okafor", "{host} {own} okafor\n1"])
def test_a_lock_of_a_process_that_ended_is_removed(tmp_path: Path, words: str) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    if "own" in words and not Path("/proc/self/stat").exists():
        pytest.skip("this system does not say when a process began")
    said = words.format(host=socket.gethostname(), gone=ended.pid, own=os.getpid())
    (tmp_path / LOCK).write_text(said)
    with locked(tmp_path, "berg", 0.5):
        assert " berg" in (tmp_path / LOCK).read_text()


@pytest.mark.parametrize(
    "words", ["elsewhere 1 okafor\n1", "{host} {own} okafor", "{host} 99999999999999999999 okafor", "x"]
)
def test_a_lock_that_may_be_in_use_is_waited_for_and_named(tmp_path: Path, words: str) -> None:
    said = words.format(host=socket.gethostname(), own=os.getpid())
    (tmp_path / LOCK).write_text(said)
    with pytest.raises(DeskError, match=said.partition("\n")[0]), locked(tmp_path, "berg", 0.05):
        pytest.fail("two desks hold it")
    assert (tmp_path / LOCK).read_text() == said
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]


@pytest.mark.slow
def test_one_of_many_holds_it_though_all_find_one_that_was_left(tmp_path: Path) -> None:
    inside, most, faults = 0, 0, []

    def work() -> None:
        nonlocal inside, most
        try:
            for _ in range(20):
                with locked(tmp_path, "berg", 30.0):
                    inside += 1
                    most = max(most, inside)
                    time.sleep(0.0005)
                    inside -= 1
        except BaseException as error:
            faults.append(error)

    for _ in range(5):
        (tmp_path / LOCK).write_text("")
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (faults, most) == ([], 1)
