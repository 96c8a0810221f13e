"""What other optimal learners find on the same training records: ``peers.csv`` and ``penalties.csv``.

``peers.csv`` compares errors at a least support, and without one, where our own learners can take part.
``penalties.csv`` compares CORELS, which has a cost of a rule instead of a largest number of rules. A peer without an
environment is named as missing; benchmarks/peers/environments.py makes them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from fits import Fitted, Listed, accuracy, figures, optimal_lists, optimal_tree, planted, rule_list
from settings import DATA_SETS, SEEDS, SUPPORTS, Split, split
from study import FOLDER, Row, options, resume, text

from glassine import Domain, as_model
from glassine.errors import ClassTooLargeError
from glassine.learners import OptimalRuleListClassifier, OptimalTreeClassifier
from glassine.models import DecisionTree

sys.path.append(str(FOLDER.parents[1] / "benchmarks" / "peers"))

from environments import PEERS, Missing, python_of

DL85, AT_ONCE = "pydl8.5", "pydl8.5, as installed"
OUR_TREE, OUR_LIST = "OptimalTreeClassifier", "OptimalRuleListClassifier"
STREED, SEARCH, TREES = "STreeD", "exact search of lists", "exact search of trees"
CORELS = "CORELS"
LONGEST = "10"
"""Rules of our own learner."""

PENALTIES = ("10", "20", "40", "80")
"""Errors that a rule must save."""
FITS = 5
"""Of each list of ``penalties.csv``, whose median is its time in CPU seconds: the first one loads compiled code."""


def alone(path: Path, peer: str, script: str, data: Split, tasks: Sequence[Any]) -> list[dict[str, Any]]:
    """Return what a peer finds in a process and an environment of its own, or raise Missing."""
    (known,) = (each for each in PEERS if each.name == peer)
    python = python_of(known, path)
    with tempfile.TemporaryDirectory() as scratch:
        stored = Path(scratch) / "records.npz"
        np.savez(stored, X=data.X.astype(np.uint8), y=data.y)
        command = [str(python), str(FOLDER / script), str(stored), json.dumps(tasks)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own file
    if done.returncode:
        raise Missing(f"it ended with {done.returncode}: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return list(json.loads(done.stdout))


def distinct(data: Split) -> pd.DataFrame:
    """Return the training records without attributes that equal another one or its negation: they split alike."""
    frame, seen = data.frame(), set()
    for name, column in data.columns().items():
        key = min(column.tobytes(), (1 - column).tobytes())
        if key in seen:
            frame = frame.drop(columns=name)
        seen.add(key)
    return frame


def streed(name: str, seed: str, support: str, depth: str, limit: float) -> Fitted:
    """Return the tree of STreeD, of fewest errors and, among these, of fewest splits.

    A split costs less than one error divided by the number of splits that there can be. Support "0" is one record.
    """
    try:
        from pystreed import STreeDClassifier
    except ImportError:
        return Fitted(model=None, status="missing: pystreed is not installed", seconds=0.0)
    data = split(name, seed)
    n, least = len(data.y), max(1, data.in_a_leaf(support))
    learner = STreeDClassifier(
        max_depth=int(depth),
        min_leaf_node_size=least,
        time_limit=limit,
        optimization_task="cost-complex-accuracy",
        cost_complexity=1 / (n * min(2 ** int(depth), n // least)),
    )
    frame, started = distinct(data), time.process_time()
    learner.fit(frame, data.y)
    seconds = time.process_time() - started
    if not learner.fit_result.is_optimal():
        return Fitted(model=None, status=f"not finished in {limit:g} s", seconds=seconds)
    model = as_model(learner, data.domain)
    if not isinstance(model, DecisionTree):
        raise TypeError("STreeD learns decision trees")
    return Fitted(model=model, status="claims optimality", seconds=seconds)


def pydl85(path: Path, keys: Sequence[Row], limit: float) -> list[Fitted]:
    """Return trees of pydl8.5 on the same records."""
    data, at_once = split(keys[0]["data"], keys[0]["seed"]), keys[0]["learner"] == AT_ONCE
    tasks = [
        {"depth": int(key["depth"]), "least": data.in_a_leaf(key["support"]), "limit": limit, "at once": at_once}
        for key in keys
    ]
    try:
        found = alone(path, "pydl8.5", "peer_pydl85.py", data, tasks)
    except Missing as reason:
        return [Fitted(model=None, status=f"missing: {reason}", seconds=0.0)] * len(keys)
    return [
        Fitted(model=planted(told["tree"], data), status="claims optimality", seconds=told["seconds"])
        if told["finished"]
        else Fitted(model=None, status=f"not finished in {limit:g} s", seconds=told["seconds"])
        for told in found
    ]


def ours(key: Row, penalty: float = 0.0) -> Fitted:
    """Return the model of our own learner, without a least support."""
    data, started = split(key["data"], key["seed"]), time.process_time()
    domain = Domain.binary(data.domain.names)
    learner: Any
    if key["learner"] == OUR_TREE:
        learner = OptimalTreeClassifier(int(key["depth"]), domain=domain)
    else:
        learner = OptimalRuleListClassifier(int(key["depth"]), domain=domain, penalty=penalty / len(data.y))
    try:
        learner.fit(data.frame(), data.y)
    except ClassTooLargeError as error:
        return Fitted(model=None, status=f"refused: {error.bytes_needed / 1e9:.1f} GB, {error.seconds_needed:.0f} s",
                      seconds=time.process_time() - started)  # fmt: skip
    return Fitted(model=learner.model_, status="optimal", seconds=time.process_time() - started)


@cache
def search(name: str, seed: str) -> tuple[list[Listed], float]:
    """Return the optimal lists without a least support."""
    data, started = split(name, seed), time.process_time()
    return optimal_lists(data.X, data.y, least=1, most_rules=10), time.process_time() - started


def fitted(key: Row, limit: float) -> Fitted:
    """Return the model of a learner that runs in this process."""
    if key["learner"] == STREED:
        return streed(key["data"], key["seed"], key["support"], key["depth"], limit)
    if key["learner"] == TREES:
        return optimal_tree(key["data"], key["seed"], key["support"], key["depth"])
    if key["learner"] != SEARCH:
        return ours(key)
    found, seconds = search(key["data"], key["seed"])
    model = rule_list(found[int(key["depth"])].rules, split(key["data"], key["seed"]))
    return Fitted(model=model, status="optimal", seconds=seconds)


def compared(keys: Sequence[Row], path: Path, limit: float) -> list[Row]:
    """Return rows of ``peers.csv``."""
    if keys[0]["learner"] in (DL85, AT_ONCE):
        models = pydl85(path, keys, limit)
    else:
        models = [fitted(key, limit) for key in keys]
    rows = []
    for key, made in zip(keys, models, strict=True):
        row = {"status": made.status, "seconds": f"{made.seconds:.2f}", "size": "", "errors": "", "dist_g": ""}
        if made.model is not None:
            data = split(key["data"], key["seed"])
            told = figures(made.model, data)
            row |= {"size": text(told["size"]), "dist_g": text(told["dist_g"])}
            row["errors"] = str(round(len(data.y) * (1 - accuracy(made.model, data))))
        rows.append(key | row)
    return rows


def keys(quick: bool) -> list[list[Row]]:
    """Return what names each row of ``peers.csv``."""
    out: list[list[Row]] = []

    def add(learner: str, seeds: Sequence[str], supports: Sequence[str], depths: Sequence[int]) -> None:
        for data in DATA_SETS:
            for seed in seeds[:1] if quick else seeds:
                names = {"data": data, "learner": learner, "seed": seed}
                places = [(support, depth) for support in supports for depth in depths]
                places = places[:2] if quick else places
                out.append([names | {"support": support, "depth": str(depth)} for support, depth in places])

    for learner in (OUR_TREE, TREES, STREED, OUR_LIST, SEARCH):
        add(learner, SEEDS, ("0",), range(1, 6))
    add(STREED, SEEDS, SUPPORTS, range(1, 7))
    add(SEARCH, SEEDS[:1], ("0",), range(6, 11))
    for learner in (DL85, AT_ONCE):
        add(learner, SEEDS, SUPPORTS, range(1, 5))
        add(learner, SEEDS[:1], SUPPORTS, (5,))
    add(OUR_LIST, SEEDS[:1], ("0",), (6, 8))
    return out


def cost(counts: Sequence[Sequence[int]], penalty: int) -> Row:
    """Return errors, rules and cost of a list, by the class counts of its rules."""
    errors, rules = sum(sum(some) - max(some) for some in counts), len(counts) - 1
    return {"errors": str(errors), "rules": str(rules), "cost": str(errors + penalty * rules)}


def penalty_row(key: Row, path: Path, limit: float) -> Row:
    """Return a row of ``penalties.csv``: errors, rules, and the cost, which is errors and penalties."""
    data, penalty = split(key["data"], key["seed"]), int(key["penalty"])
    status, seconds, model = "optimal", 0.0, None
    if key["learner"] == OUR_LIST:
        made = [ours(key | {"depth": LONGEST}, penalty) for _ in range(FITS)]
        status, model = f"best of at most {LONGEST} rules", made[0].model
        seconds = median(one.seconds for one in made)
    elif key["learner"] == SEARCH:
        found, seconds = search(key["data"], key["seed"])
        best = min(found, key=lambda one: one.errors + penalty * len(one.rules))
        model = rule_list(best.rules, data)
    else:
        try:
            fits = alone(path, "corels", "peer_corels.py", data, [{"penalty": penalty, "limit": limit}] * FITS)
            finished, seconds = all(one["finished"] for one in fits), median(one["seconds"] for one in fits)
            status = "optimal" if finished else f"not finished in {limit:g} s"
            rules = tuple((abs(number) - 1, int(number > 0)) for number in fits[0]["rules"])
            model = rule_list(rules, data) if finished else None
        except Missing as reason:
            status = f"missing: {reason}"
    counts = [] if model is None else [cell.evidence.counts or () for cell in model.cells]
    nothing = dict.fromkeys(("errors", "rules", "cost"), "")
    return key | {"status": status, "seconds": f"{seconds:.3f}"} | (cost(counts, penalty) if counts else nothing)


def penalized(quick: bool) -> list[list[Row]]:
    """Return what names each row of ``penalties.csv``."""
    return [
        [{"data": data, "learner": learner, "seed": "0", "penalty": penalty}]
        for data in DATA_SETS
        for learner in (SEARCH, OUR_LIST, CORELS)
        for penalty in (PENALTIES[-1:] if quick else reversed(PENALTIES))
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the peers whose rows are not in the results yet."""
    given = options(__doc__, arguments)
    resume(given.results / "peers.csv", keys(given.quick), lambda some: compared(some, given.peers, given.limit))
    resume(
        given.results / "penalties.csv",
        penalized(given.quick),
        lambda some: [penalty_row(key, given.peers, given.limit) for key in some],
    )


__all__ = ["AT_ONCE", "CORELS", "DL85", "OUR_LIST", "OUR_TREE", "PENALTIES", "SEARCH", "STREED", "TREES", "keys",
           "main", "penalized"]  # fmt: skip

if __name__ == "__main__":
    main()
