"""How trees and cards rank, and predict numbers: ``python benchmarks/ranking.py [--data NAME ...] [--page]``.

Trees have depth 4, cards ten items. Beside them are the tree that weighs errors alone, CART on the same public
literals, cards without privacy, and FasterRisk's where it has an environment. A row of ``ranking.csv`` is the mean over
the draws of one split; rows that are stored are not measured again.
``--page`` measures nothing: it writes the tables of the page. ``--deep`` measures the processor time of deep trees on
Adult, on all cores, without the first fit, which compiles.

GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import log
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set
import polars as pl  # noqa: E402
from sklearn.dummy import DummyClassifier, DummyRegressor  # noqa: E402
from sklearn.metrics import log_loss, roc_auc_score  # noqa: E402
from sklearn.tree import DecisionTreeRegressor  # noqa: E402

import glassine  # noqa: E402
from benchmarks import public_data  # noqa: E402
from benchmarks.learners import Cart  # noqa: E402
from benchmarks.peers.environments import OTHER_PEERS, Missing, python_of  # noqa: E402
from benchmarks.public_data import Benchmark  # noqa: E402
from glassine.learners.antecedents import declared  # noqa: E402
from papers.common.results import Row, read, say, select, write  # noqa: E402
from papers.common.tables import markdown, place  # noqa: E402

RESULTS = ROOT / "benchmarks" / "ranking.csv"
DEEP = ROOT / "benchmarks" / "ranking_deep.csv"
PAGE = ROOT / "docs" / "explanation" / "benchmarks.md"
NOTE = ROOT / "docs" / "papers" / "private-peers.md"

EPSILONS = ("0.1", "0.5", "1", "4")
SPLITS = 5
DRAWS = 3
DEPTH = 4
DEPTHS = (4, 5, 6)

TREE, ERRORS, CARD, CART, CONSTANT = "tree", "tree, errors alone", "card", "CART", "constant"
PLAIN, FASTERRISK = "card, not private", "FasterRisk"
EARLIER = {"Adult": "0.892 (2 of 5 splits)", "Telco": "0.835", "COMPAS": "0.728", "German credit": "0.735"}
"""AUROC of FasterRisk in a run of which no rows were stored, shown until it is measured again."""
PEER = next(peer for peer in OTHER_PEERS if peer.name == "fasterrisk")
PRIVATE = (TREE, ERRORS, CARD)
MEASURES = ("AUROC", "accuracy", "log loss", "RMSE")

CLASSES: dict[str, tuple[Callable[[], tuple[Benchmark, list[Any] | None]], Callable[[], Benchmark]]] = {
    "Adult": (public_data.adult_coarse, public_data.adult),
    "Telco": (lambda: (public_data.telco(), None), public_data.telco),
    "COMPAS": (lambda: (public_data.compas(), None), public_data.compas),
    "German credit": (lambda: (public_data.german(), None), public_data.german),
}
"""What the trees and what the cards are fitted to."""
NUMBERS = "California"
DATA = (*CLASSES, NUMBERS)

TARGETS = {
    "Adult": (0.860, 0.855, 0.848, 0.892),
    "Telco": (0.805, 0.80, 0.79, 0.82),
    "COMPAS": (0.70, 0.70, 0.665, 0.725),
    "German credit": (0.66, 0.62, 0.695, 0.69),
}
"""Targets: AUROC of the tree at epsilon 1 and 0.5, its accuracy at epsilon 1, AUROC of the card at epsilon 1."""


def models(data: str) -> dict[str, tuple[Benchmark, Callable[[float, int], Any]]]:
    """Return the models of a dataset: what they are fitted to, and how they are made from epsilon and seed."""
    if data == NUMBERS:
        table = public_data.california()
        literals = declared(table.domain, table.domain.names)
        ends = (float(table.classes[0]), float(table.classes[1]))
        ordinary = partial(DecisionTreeRegressor, max_depth=DEPTH, min_samples_leaf=20, random_state=0)
        return {
            TREE: (
                table,
                lambda epsilon, seed: glassine.learners.PrivateTreeRegressor(
                    DEPTH, epsilon=epsilon, domain=table.domain, target_range=ends, random_state=seed
                ),
            ),
            CART: (table, lambda _, __: Cart(literals, ordinary())),
            CONSTANT: (table, lambda _, __: DummyRegressor()),
        }
    of_trees, of_cards = CLASSES[data]
    coarse, own = of_trees()
    chosen = declared(coarse.domain, coarse.domain.names) if own is None else own
    whole = of_cards()

    def tree(share: float, epsilon: float, seed: int) -> Any:
        return glassine.learners.PrivateTreeClassifier(
            DEPTH,
            epsilon=epsilon,
            domain=coarse.domain,
            literals=chosen,
            classes=coarse.classes,
            accuracy_share=share,
            random_state=seed,
        )

    return {
        TREE: (coarse, partial(tree, 0.3)),
        ERRORS: (coarse, partial(tree, 1.0)),
        CARD: (
            whole,
            lambda epsilon, seed: glassine.learners.PrivateScorecardClassifier(
                epsilon=epsilon, domain=whole.domain, classes=whole.classes, random_state=seed
            ),
        ),
        CART: (coarse, lambda _, __: Cart(chosen)),
        CONSTANT: (coarse, lambda _, __: DummyClassifier()),
        PLAIN: (whole, lambda _, __: glassine.learners.ScorecardClassifier(domain=whole.domain, classes=whole.classes)),
        FASTERRISK: (whole, lambda _, __: FasterRisk(whole)),
    }


class FasterRisk(Cart):
    """The published learner of cards on the declared literals: ten items of at most five points."""

    def __init__(self, data: Benchmark) -> None:
        super().__init__(declared(data.domain, data.domain.names))
        self.classes_: Any = np.array(data.classes)

    def fit(self, X: pl.DataFrame, y: np.ndarray) -> FasterRisk:
        """Fit the first of its cards."""
        with tempfile.TemporaryDirectory() as folder:
            task = Path(folder) / "task.npz"
            np.savez(task, X=self._truth(X), y=np.where(y == self.classes_[1], 1, -1), items=10, points=5)
            runner = ROOT / "benchmarks" / "peers" / PEER.runner
            command = [str(python_of(PEER)), str(runner), str(task)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - made here
        self.card = json.loads(done.stdout.splitlines()[-1])
        return self

    def predict_proba(self, X: pl.DataFrame) -> np.ndarray:
        """Return the risks."""
        totals = self.card["intercept"] + self._truth(X) @ np.array(self.card["coefficients"])
        risks = 1 / (1 + np.exp(-totals / self.card["multiplier"]))
        return np.column_stack([1 - risks, risks])

    def predict(self, X: pl.DataFrame) -> np.ndarray:
        """Return the likelier class."""
        return np.asarray(self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)])


def quality(data: Benchmark, make: Callable[[int], Any], split: int, draws: int) -> dict[str, float | None]:
    """Return the means over draws on the test records of a split."""
    train, test = data.split(split, 0.8)
    truth = data.labels[test]
    found: list[tuple[float | None, ...]] = []
    for draw in range(draws):
        model = make(1000 * split + draw).fit(data.frame[train], data.labels[train])
        predicted = model.predict(data.frame[test])
        if data.name == "california":
            found.append((None, None, None, float(np.sqrt(np.mean((predicted - truth) ** 2)))))
            continue
        positive = (truth == data.classes[1]).astype(int)
        chances = model.predict_proba(data.frame[test])[:, list(model.classes_).index(data.classes[1])]
        area, right = roc_auc_score(positive, chances), float((predicted == truth).mean())
        found.append((area, right, log_loss(positive, chances), None))
    return {
        measure: None if None in values else fmean(values)
        for measure, values in zip(MEASURES, zip(*found, strict=True), strict=True)
    }


def here() -> bool:
    """Return whether FasterRisk has an environment; if not, say so."""
    try:
        python_of(PEER)
    except Missing as reason:
        sys.stderr.write(f"{FASTERRISK}: {reason}\n")
        return False
    return True


def measure(data: str, splits: int) -> Iterator[Row]:
    """Yield the rows of a dataset that are not stored yet."""
    done = select(read(RESULTS), data=data)
    for name, (table, make) in models(data).items():
        if name == FASTERRISK and not here():
            continue
        for epsilon in EPSILONS if name in PRIVATE else ("",):
            for split in range(splits):
                head = {"data": data, "model": name, "epsilon": epsilon, "split": str(split)}
                if select(done, **head):
                    continue
                fit = partial(make, float(epsilon or "inf"))
                figures = quality(table, fit, split, DRAWS if name in PRIVATE else 1)
                yield head | {key: "" if value is None else f"{value:.6g}" for key, value in figures.items()}


def deep() -> list[Row]:
    """Return processor seconds, accuracy and AUROC of a warm fit of trees of each depth on Adult, 40 literals."""
    data, literals = public_data.adult_forty()
    train, test = data.split(0, 0.8)
    positive = (data.labels[test] == data.classes[1]).astype(int)
    rows: list[Row] = []
    for depth in DEPTHS:
        model = glassine.learners.PrivateTreeClassifier(
            depth, epsilon=1.0, domain=data.domain, literals=literals, classes=data.classes, random_state=0
        )
        model.fit(data.frame[train], data.labels[train])
        # The second fit is warm.
        before = resource.getrusage(resource.RUSAGE_SELF)
        model.fit(data.frame[train], data.labels[train])
        after = resource.getrusage(resource.RUSAGE_SELF)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        chances = model.predict_proba(data.frame[test])[:, 1]
        rows.append(
            {
                "depth": str(depth),
                "literals": str(len(literals)),
                "CPU seconds": f"{seconds:.2g}",
                "peak GB": f"{after.ru_maxrss / 1e6:.2g}",
                "AUROC": f"{roc_auc_score(positive, chances):.3f}",
                "accuracy": f"{model.score(data.frame[test], data.labels[test]):.3f}",
            }
        )
        say(", ".join(f"{key} {value}" for key, value in rows[-1].items()))
    return rows


def mean(rows: Sequence[Row], measure: str, **which: str) -> float:
    """Return the mean of a measure over the splits."""
    return fmean(float(row[measure]) for row in select(rows, **which))


def against_targets(rows: Sequence[Row]) -> str:
    """Return the table of the targets; what is missed is marked."""
    lines = []
    for data, goals in TARGETS.items():
        found = (
            mean(rows, "AUROC", data=data, model=TREE, epsilon="1"),
            mean(rows, "AUROC", data=data, model=TREE, epsilon="0.5"),
            mean(rows, "accuracy", data=data, model=TREE, epsilon="1"),
            mean(rows, "AUROC", data=data, model=CARD, epsilon="1"),
        )
        cells = [
            f"{own:.3f}{'' if round(own, 3) >= goal else f' ({goal:g})'}"
            for own, goal in zip(found, goals, strict=True)
        ]
        ordinary = [f"{mean(rows, key, data=data, model=CART):.3f}" for key in ("AUROC", "accuracy")]
        lines.append([data, *cells, *ordinary])
    header = ["data", "tree, AUROC at 1", "at 0.5", "accuracy at 1", "card, AUROC at 1", "CART, AUROC", "accuracy"]
    return markdown(header, lines)


def losses(rows: Sequence[Row]) -> str:
    """Return the table of the default loss beside errors alone, by epsilon."""
    lines = []
    for data in CLASSES:
        for name in (TREE, ERRORS):
            cells = []
            for epsilon in EPSILONS:
                which = {"data": data, "model": name, "epsilon": epsilon}
                area, right, loss = (mean(rows, key, **which) for key in MEASURES[:3])
                cells.append(f"{area:.3f} / {right:.3f} / {loss / log(2):.3f}")
            lines.append([data, "default" if name == TREE else "errors alone", *cells])
    return markdown(["data", "loss", *EPSILONS], lines)


def cards(rows: Sequence[Row]) -> str:
    """Return the table of the cards: AUROC by epsilon, without privacy, and of FasterRisk."""
    lines = []
    for data in CLASSES:
        private = [f"{mean(rows, 'AUROC', data=data, model=CARD, epsilon=epsilon):.3f}" for epsilon in EPSILONS]
        found = {name: select(rows, data=data, model=name) for name in (PLAIN, FASTERRISK)}
        ordinary = []
        for name, of in found.items():
            few = "" if len(of) == SPLITS else f" ({len(of)} of {SPLITS} splits)"
            ordinary.append(f"{mean(of, 'AUROC', model=name):.3f}{few}" if of else EARLIER[data])
        lines.append([data, *private, *ordinary])
    pin = PEER.requirements[0].split("==")[1]
    return markdown(["data", f"epsilon {EPSILONS[0]}", *EPSILONS[1:], "not private", f"FasterRisk {pin}"], lines)


def card_error(rows: Sequence[Row], data: Sequence[str]) -> float:
    """Return the largest standard error of the AUROC of cards over the splits."""
    found: list[float] = []
    for name in data:
        of = [row for row in select(rows, data=name) if row["model"] in (CARD, PLAIN, FASTERRISK)]
        for case in {(row["model"], row["epsilon"]) for row in of}:
            values = [float(row["AUROC"]) for row in select(of, model=case[0], epsilon=case[1])]
            found += [stdev(values) / len(values) ** 0.5] if len(values) > 1 else []
    return max(found)


def numbers(rows: Sequence[Row]) -> str:
    """Return the table of the root mean squared errors."""
    own = [f"{mean(rows, 'RMSE', data=NUMBERS, model=TREE, epsilon=epsilon):,.0f}" for epsilon in EPSILONS]
    others = [f"{mean(rows, 'RMSE', data=NUMBERS, model=name):,.0f}" for name in (CART, CONSTANT)]
    return markdown([*EPSILONS, CART, CONSTANT], [[*own, *others]])


def filled(text: str, rows: Sequence[Row], deeper: Sequence[Row]) -> str:
    """Return the text of the page with its tables."""
    seconds = markdown([f"depth {row['depth']}" for row in deeper], [[row["CPU seconds"] for row in deeper]])
    text = place(place(text, "ranking", against_targets(rows)), "numbers", numbers(rows))
    return place(text, "deep", seconds)


def noted(text: str, rows: Sequence[Row]) -> str:
    """Return the text of the note with its tables."""
    return place(place(text, "losses", losses(rows)), "cards", cards(rows))


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA), metavar="SET", help="only these sets")
    parser.add_argument("--splits", type=int, default=SPLITS, help="only the first")
    parser.add_argument("--deep", action="store_true", help="measure deep trees on Adult alone")
    parser.add_argument("--page", action="store_true", help="measure nothing; write the tables of the page")
    given = parser.parse_args(None if arguments is None else list(arguments))
    if given.deep:
        write(DEEP, deep())
    elif not given.page:
        for data in given.data:
            for row in measure(data, given.splits):
                say(", ".join(f"{key} {value}" for key, value in row.items() if value))
                stored = [*read(RESULTS), row]
                write(RESULTS, sorted(stored, key=lambda one: DATA.index(one["data"])))
    rows = read(RESULTS)
    PAGE.write_text(filled(PAGE.read_text(), rows, read(DEEP)))
    NOTE.write_text(noted(NOTE.read_text(), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
