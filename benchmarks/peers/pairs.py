"""The tasks that ratios.py gives to Glassine and to a peer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.peers import sources
from benchmarks.peers.judging import BOTH, DEAR
from benchmarks.peers.sources import Source

LIMIT = 60.0
"""Seconds after which an optimal learner of a peer is stopped, where it can be told so."""

TRAINED = 0.8
"""Share of the records that a run is trained on."""

RULES = 5
"""Greatest number of rules of a list."""

SMALL = 10
"""Records below which a leaf is small, for both audits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One task for two: where its records come from, and the module, work and settings of each side.

    ``exact`` names figures of a run that both sides must find equal. ``light`` tasks are those of a quick run.
    ``first`` changes the settings of the run that warms up, where the task itself takes long.
    """

    peer: str
    task: str
    data: str
    source: Callable[[], Source]
    module: str
    ours: tuple[str, dict[str, Any]]
    theirs: tuple[str, dict[str, Any]]
    measure: str = ""
    exact: tuple[str, ...] = ()
    runs: int = 7
    light: bool = False
    needs_data: bool = True
    judged: bool = True
    shared: dict[str, Any] = field(default_factory=dict)
    first: dict[str, Any] = field(default_factory=dict)


def additive(standin: bool) -> Iterator[Pair]:
    """Yield private additive models, epsilon 1, against interpret."""
    for data, measure in (("Adult", "AUROC"), ("California", "RMSE")):
        yield Pair(
            peer="interpret",
            task="private additive model, epsilon 1",
            data=data,
            source=partial(sources.additive, data, standin=standin),
            module="work_interpret",
            ours=("additive", {}),
            theirs=("additive", {}),
            shared={"epsilon": 1.0, "delta": 1e-6},
            measure=measure,
            light=data == "California",
        )


def private_trees(standin: bool) -> Iterator[Pair]:
    """Yield private trees of depth 3, the default, and 2 against diffprivlib's tree and forest at their defaults."""
    for model, depth in (("tree", 3), ("tree", 2), ("forest", 3)):
        for epsilon in (0.1, 1.0, 10.0):
            yield Pair(
                peer="diffprivlib",
                task=f"private tree of depth {depth} against {model}, epsilon {epsilon:g}",
                data="Adult",
                source=partial(sources.adult, standin=standin),
                module="work_diffprivlib",
                ours=("private", {"depth": depth}),
                theirs=("private", {"model": model}),
                shared={"epsilon": epsilon},
                measure="accuracy",
                runs=11,
                light=epsilon == 1.0,
            )


def optimal_trees(peer: str, module: str, standin: bool) -> Iterator[Pair]:
    """Yield optimal trees of growing depth."""
    for data in sources.MATRICES:
        for depth in (2, 3, 4, 5):
            settings = {"name": data, "kind": "tree", "room": depth, "penalty": 0, "limit": LIMIT}
            yield Pair(
                peer=peer,
                task=f"optimal tree of depth {depth}",
                data=data,
                source=partial(sources.matrix, data, standin=standin),
                module=module,
                ours=("solve", {}),
                theirs=("solve", {}),
                shared=settings,
                measure="errors",
                exact=("quality",),
                first={"room": min(depth, 3)},
                light=data == "COMPAS" and depth < 4,
            )


def optimal_lists(standin: bool) -> Iterator[Pair]:
    """Yield optimal rule lists with a cost for each rule, against CORELS, whose lists may have any length."""
    for data in ("COMPAS", "Adult, dummies"):
        # A run solves the training records of its split.
        n = int(TRAINED * sources.MATRICES[data][0])
        for share in (*DEAR, 0.003):
            settings = {"name": data, "kind": "list", "room": RULES, "penalty": round(share * n), "limit": LIMIT}
            yield Pair(
                peer="corels",
                task=f"optimal rule list, {share:g} for each rule",
                data=data,
                source=partial(sources.matrix, data, standin=standin),
                module="run_corels",
                ours=("solve", {}),
                theirs=("solve", {}),
                shared=settings,
                measure="objective in records",
                exact=("quality",),
                light=data == "COMPAS" and share == 0.01,
            )


def rule_lists(standin: bool) -> Iterator[Pair]:
    """Yield greedy and optimal rule lists of up to five rules against those of imodels."""
    for data in ("COMPAS", "Adult, dummies"):
        for ours, theirs in (("greedy", "greedy"), ("greedy", "one attribute"), ("optimal", "greedy")):
            yield Pair(
                peer="imodels",
                task=f"{ours} rule list against {theirs}, {RULES} rules",
                data=data,
                source=partial(sources.matrix, data, standin=standin),
                module="work_imodels",
                ours=("rules", {"model": ours}),
                theirs=("rules", {"model": theirs}),
                shared={"max_rules": RULES},
                measure="accuracy",
                light=data == "COMPAS" and (ours, theirs) == ("greedy", "greedy"),
            )


def audits(standin: bool) -> Iterator[Pair]:
    """Yield audits of trees of scikit-learn against SACRO-ML's structural attack, which always needs the records."""
    deep, wide, full = {"max_depth": 5}, {"max_leaf_nodes": 200}, dict[str, int]()
    for words, tree, records, only in (
        ("of depth 5", deep, False, None),
        ("of 200 leaves", wide, False, None),
        ("grown to the end", full, False, None),
        (f"grown to the end, {BOTH}", full, False, ["parts", "labels"]),
        ("of depth 5, with records and membership attacks", deep, True, None),
    ):
        yield Pair(
            peer="sacroml",
            task=f"audit of a tree {words}",
            data="Adult",
            source=partial(sources.adult, standin=standin),
            module="work_sacroml",
            ours=("structural", {"records": records, "only": only}),
            theirs=("structural", {}),
            shared={"tree": tree, "small": SMALL},
            measure="findings",
            exact=("leaves", "smallest", "in small leaves", "certain"),
            light=words == "of depth 5",
        )


def counts() -> Iterator[Pair]:
    """Yield counts of possible records against the published recursion."""
    for n_rules in (8, 12, 16, 18):
        yield Pair(
            peer="recursion",
            task=f"possible records of {n_rules} rules",
            data="100 binary attributes",
            source=partial(sources.rule_lists, n_rules),
            module="work_recursion",
            ours=("count", {}),
            theirs=("count", {}),
            exact=("worlds",),
            measure="counts",
            light=n_rules < 16,
            needs_data=False,
            # Of so few rules both take a millisecond, which is what setting up takes.
            judged=n_rules > 8,
        )


PEERS = ("interpret", "diffprivlib", "pystreed", "pydl8.5", "corels", "imodels", "sacroml", "recursion")


def pairs(standin: bool) -> list[Pair]:
    """Return every task."""
    return [
        *additive(standin),
        *private_trees(standin),
        *optimal_trees("pystreed", "run_pystreed", standin),
        *optimal_trees("pydl8.5", "run_pydl85", standin),
        *optimal_lists(standin),
        *rule_lists(standin),
        *audits(standin),
        *counts(),
    ]
