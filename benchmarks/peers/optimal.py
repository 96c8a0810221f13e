"""Compares optimal learners: ``python benchmarks/peers/optimal.py [--json FILE]``.

Every peer solves the same tasks in one run, each in its own environment; environments.py makes them. Each pair of
peers is compared by the objective, errors + penalty * size: equal, different, or open where one did not prove its
answer or, as CORELS may, used more rules than the task allows and so has only a bound for it. Exits with 1 if any two
differ, or if a peer failed on a task.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Any

from environments import FOLDER, HERE, PEERS, Missing, Peer, python_of
from instances import instances
from protocol import write

Key = tuple[str, str, int]


def say(line: str) -> None:
    """Print a line of the result."""
    print(line, flush=True)  # noqa: T201 - the table is the result


def run(peer: Peer, python: Path, tasks: Path, limit: float) -> dict[str, Any]:
    """Return the report of a peer's runner."""
    command = [str(python), str(HERE / peer.runner), str(tasks), "--time-limit", str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - made here
    if done.returncode != 0:
        raise Missing(f"its runner ended with {done.returncode}: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def collect(chosen: list[Peer], folder: Path, limit: float) -> tuple[dict[str, dict[Key, dict[str, Any]]], bool]:
    """Return the answers of every peer that runs, by task, and whether a peer is missing or failed."""
    answers: dict[str, dict[Key, dict[str, Any]]] = {}
    bad = False
    with tempfile.TemporaryDirectory() as scratch:
        tasks = Path(scratch) / "tasks.npz"
        write(tasks, instances())
        for peer in chosen:
            try:
                report = run(peer, python_of(peer, folder), tasks, limit)
            except Missing as reason:
                say(f"{peer.name}: missing: {reason}")
                continue
            answers[peer.name] = {(a["name"], a["kind"], a["penalty"]): a for a in report["answers"]}
            solved = [a for a in report["answers"] if "objective" in a]
            failed = [a for a in report["answers"] if "failed" in a]
            unproved = sum(not a["proved"] for a in solved)
            line = f"{len(solved)} tasks in {sum(a['seconds'] for a in solved):.1f} s, {unproved} without proof"
            say(f"{peer.name} {report['version']}, Python {report['python']}: {line}, {len(failed)} failed")
            for reason in sorted({a["failed"] for a in failed}):
                say(f"  failed: {reason}")
            bad = bad or any(not a["failed"].startswith("nothing found") for a in failed)
    return answers, bad


def bounds(answer: dict[str, Any]) -> tuple[float, float]:
    """Return the least and the greatest value that the optimum of a task can have, given one answer."""
    most = 2 ** answer["room"] - 1 if answer["kind"] == "tree" else answer["room"]
    return (
        answer["objective"] if answer["proved"] else 0,
        answer["objective"] if answer["size"] <= most else inf,
    )


def verdict(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Say whether two answers are equal, different, or leave it open."""
    (low, high), (other_low, other_high) = bounds(one), bounds(other)
    if max(low, other_low) > min(high, other_high):
        return "different"
    return "equal" if low == high == other_low == other_high else "open"


def compare(one: dict[Key, dict[str, Any]], other: dict[Key, dict[str, Any]], kind: str, priced: bool) -> str | None:
    """Return a line on the tasks of a kind that both have answered, or None where there are none."""
    pairs = [
        (answer, other[key])
        for key, answer in one.items()
        if key[1] == kind and (key[2] > 0) == priced and "objective" in answer and "objective" in other.get(key, {})
    ]
    if not pairs:
        return None
    verdicts = [verdict(*pair) for pair in pairs]
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in ("equal", "different", "open"))
    ratios = [theirs["seconds"] / ours["seconds"] for ours, theirs in pairs if ours["proved"] and theirs["proved"]]
    times = "no times to compare"
    if ratios:
        middle = statistics.median(ratios)
        times = f"second's time over first's: median {middle:.3g}, {min(ratios):.3g} to {max(ratios):.3g}"
    different = [ours["name"] for (ours, _), word in zip(pairs, verdicts, strict=True) if word == "different"]
    return f"{counts}; {times}" + (f"; differ on {' '.join(different)}" if different else "")


def main() -> None:
    """Run every peer that is here, and print how they compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", nargs="+", choices=[peer.name for peer in PEERS], help="only these")
    parser.add_argument("--environments", type=Path, default=FOLDER, help="their folder (default: %(default)s)")
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds a task (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="also write every answer here")
    arguments = parser.parse_args()
    chosen = [peer for peer in PEERS if not arguments.peers or peer.name in arguments.peers]
    answers, bad = collect(chosen, arguments.environments, arguments.time_limit)
    for kind, priced in ((kind, priced) for kind in ("tree", "list") for priced in (False, True)):
        say(f"\n{'trees' if kind == 'tree' else 'rule lists'}, {'with' if priced else 'without'} a penalty")
        for first, second in combinations(answers, 2):
            line = compare(answers[first], answers[second], kind, priced)
            if line:
                say(f"  {first} and {second}: {line}")
                bad = bad or " 0 different" not in line
    if arguments.json:
        stored = {peer: list(given.values()) for peer, given in answers.items()}
        arguments.json.write_text(json.dumps(stored, indent=2) + "\n")
    sys.exit(int(bad))


if __name__ == "__main__":
    main()
