"""Concurrent fits, some killed, against one ledger: the budget holds and no charge is lost."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from glassine import Ledger

WORKER = """
import sys
import numpy as np
from glassine import Domain
from glassine.learners import PrivateRuleListClassifier, PrivateTreeClassifier
from glassine.errors import BudgetExceededError

ledger, log, fits, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rng = np.random.default_rng(seed)
X = rng.integers(0, 2, (300, 4))
y = X[:, 0] & X[:, 1]
domain = Domain.binary(list("abcd"))
with open(log, "a", buffering=1) as out:
    for i in range(fits):
        kind = PrivateTreeClassifier if i % 2 else PrivateRuleListClassifier
        learner = kind(2, epsilon=0.01, domain=domain, classes=(0, 1), ledger=ledger, dataset="people")
        try:
            learner.fit(X, y)
        except BudgetExceededError:
            out.write("refused\\n")
        else:
            out.write(f"released {len(learner.model_.cells)}\\n")
"""


@pytest.mark.slow
def test_a_hundred_concurrent_and_killed_fits(tmp_path: Path) -> None:
    """Four workers of 25 fits at 0.01 each share a budget of 0.9; half of the workers are killed on the way."""
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.budget("people", 0.9)
    chance = random.Random(7)
    logs = [tmp_path / f"log{i}" for i in range(4)]
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path / "budget.sqlite"), str(log), "25", str(i)])
        for i, log in enumerate(logs)
    ]
    for i, worker in enumerate(workers):
        if i % 2:
            # Once it has begun to release, so that the kill falls between charges and releases.
            deadline = time.monotonic() + 120
            while (
                time.monotonic() < deadline
                and worker.poll() is None
                and not (logs[i].exists() and logs[i].read_text().count("\n") > chance.randrange(12))
            ):
                time.sleep(0.005)
            worker.send_signal(signal.SIGKILL)
    assert [worker.wait(timeout=240) for worker in workers[::2]] == [0] * 2
    killed = [worker.wait(timeout=60) for worker in workers[1::2]]
    assert -signal.SIGKILL in killed
    lines = [line for log in logs if log.exists() for line in log.read_text().splitlines()]
    released = sum(line.startswith("released") for line in lines)
    entries = ledger.entries("people")
    assert released >= 2 * 20
    assert released <= len(entries) <= released + len(workers)
    assert ledger.spent("people") == pytest.approx(0.01 * len(entries))
    assert ledger.spent("people") <= 0.9
    # What is left is spent to the last hundredth, and no more.
    remaining = round(ledger.remaining("people") / 0.01)
    more = tmp_path / "more"
    subprocess.run([sys.executable, "-c", WORKER, str(tmp_path / "budget.sqlite"), str(more), "60", "9"], check=True)
    last = more.read_text().splitlines()
    assert sum(line.startswith("released") for line in last) == remaining
    assert last.count("refused") == 60 - remaining
    assert ledger.spent("people") == 0.9
