"""Benchmarks of private and optimal learners: ``python benchmarks/learners.py [accuracy] [depth] [chosen-depth] ...``.

Accuracies are means over seeded splits, on test records, of models drawn at the whole epsilon with default parameters:
a twentieth of it pays for the counts of the leaves. Times are medians of warm runs in this process; the first fit on a
machine compiles for some seconds more.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import numpy as np  # noqa: E402 - after the path is set
import polars as pl  # noqa: E402
import public_data  # noqa: E402
from public_data import Benchmark  # noqa: E402
from sklearn.metrics import log_loss, roc_auc_score  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

import glassine  # noqa: E402
from benchmarks.peers.environments import OTHER_PEERS, Missing, python_of  # noqa: E402
from glassine.counting.logic import LiteralLogic  # noqa: E402
from glassine.learners.antecedents import declared  # noqa: E402
from glassine.learners.exhaustive.losses import Loss  # noqa: E402
from glassine.learners.exhaustive.trees import TreeClass  # noqa: E402

EPSILONS = (0.01, 0.03, 0.1, 1.0)
DRAWS = 5

Fit = Callable[[float, int], Any]


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def mean_accuracy(data: Benchmark, make: Callable[[int], Any], splits: int, share: float, draws: int) -> float:
    """Return the mean test accuracy over splits and draws."""
    scores = []
    for split in range(splits):
        train, test = data.split(split, share)
        for draw in range(draws):
            model = make(1000 * split + draw)
            model.fit(data.frame[train], data.labels[train])
            scores.append(model.score(data.frame[test], data.labels[test]))
    return statistics.fmean(scores)


def table(
    title: str, data: Benchmark, private: Fit, optimal: Any, *, splits: int, share: float, draws: int = DRAWS
) -> dict[str, Any]:
    """Print and return accuracies of a private learner beside the optimum of its class."""
    say(f"\n{title}, {splits} splits")
    row: dict[str, Any] = {}
    for epsilon in EPSILONS:
        row[f"{epsilon:g}"] = mean_accuracy(
            data, lambda seed, e=epsilon: private(e, seed), splits=splits, share=share, draws=draws
        )
    row["optimum"] = mean_accuracy(data, lambda _: optimal, splits=splits, share=share, draws=1)
    row["majority"] = max(np.unique(data.labels, return_counts=True)[1]) / len(data.labels)
    say("  " + "  ".join(f"{key}: {value:.4f}" for key, value in row.items()))
    return row


def cart(data: Benchmark, depth: int, splits: int, share: float) -> float:
    """Return the mean test accuracy of scikit-learn's tree on the same literals, without privacy."""
    columns = {name: data.frame[name].to_numpy() for name in data.frame.columns}
    literals = declared(data.domain, data.domain.names)
    truth = np.column_stack([literal.holds(columns[literal.attribute]) for literal in literals])
    scores = []
    for split in range(splits):
        train, test = data.split(split, share)
        tree = DecisionTreeClassifier(max_depth=depth, random_state=split).fit(truth[train], data.labels[train])
        scores.append(tree.score(truth[test], data.labels[test]))
    return statistics.fmean(scores)


def cart_numbers(data: Benchmark, depth: int, splits: int, share: float) -> float:
    """Return the mean test accuracy of scikit-learn's tree on the numbers as they are and one column per category."""
    encoded = data.frame.to_dummies(
        [name for name in data.frame.columns if data.frame[name].dtype == pl.String]
    ).to_numpy()
    scores = []
    for split in range(splits):
        train, test = data.split(split, share)
        tree = DecisionTreeClassifier(max_depth=depth, random_state=split).fit(encoded[train], data.labels[train])
        scores.append(tree.score(encoded[test], data.labels[test]))
    return statistics.fmean(scores)


def private_tree(data: Benchmark, depth: int, **more: Any) -> Callable[[float, int], Any]:
    """Return a factory of private trees."""
    return lambda epsilon, seed: glassine.PrivateTreeClassifier(
        depth, epsilon, data.domain, classes=data.classes, random_state=seed, accuracy_share=1.0, **more
    )


def private_list(data: Benchmark, length: int) -> Callable[[float, int], Any]:
    """Return a factory of private rule lists."""
    return lambda epsilon, seed: glassine.PrivateRuleListClassifier(
        length, epsilon, data.domain, classes=data.classes, random_state=seed, accuracy_share=1.0
    )


def accuracy(splits: int) -> dict[str, Any]:
    """Print accuracies against epsilon."""
    out: dict[str, Any] = {}
    data = public_data.adult()
    how = {"splits": splits, "share": 0.8}
    out["adult depth 3"] = table(
        "Adult, 76 public literals, trees of depth 3",
        data,
        private_tree(data, 3),
        glassine.OptimalTreeClassifier(3, data.domain, classes=data.classes),
        **how,
    )
    out["adult depth 3"]["CART, same literals"] = cart(data, 3, **how)
    out["adult depth 3"]["CART, raw numbers"] = cart_numbers(data, 3, **how)
    say("  " + "  ".join(f"{k}: {v:.4f}" for k, v in out["adult depth 3"].items() if k.startswith("CART")))
    for data, length in (
        (public_data.adult_binarised(), 5),
        (public_data.compas(), 3),
        (public_data.german(), 3),
    ):
        out[data.name] = table(
            f"{data.name}, rule lists of up to {length} rules, 70/30",
            data,
            private_list(data, length),
            glassine.OptimalRuleListClassifier(length, data.domain, classes=data.classes),
            splits=splits,
            share=0.7,
        )
    say(
        "  Published, smooth-laplace at epsilon 10: adult 0.795, compas 0.658, german 0.683; "
        "greedy, not private: 0.798, 0.660, 0.711"
    )
    return out


def depth(splits: int) -> dict[str, Any]:
    """Print accuracies of deeper trees on Adult."""
    data = public_data.adult()
    out: dict[str, Any] = {}
    for levels in (4, 5):
        out[f"depth {levels}"] = table(
            f"Adult, 76 public literals, trees of depth {levels}",
            data,
            private_tree(data, levels),
            glassine.OptimalTreeClassifier(levels, data.domain, classes=data.classes),
            splits=splits if levels == 4 else min(splits, 5),
            share=0.8,
            draws=DRAWS if levels == 4 else 1,
        )
    return out


def chosen_depth(splits: int) -> dict[str, Any]:
    """Print accuracies of trees over few literals whose depth follows from n and epsilon by the public rule."""
    data, literals = public_data.adult_coarse()
    out: dict[str, Any] = {}
    say(f"\nAdult, {len(literals)} public literals, depth by the rule for 26,000 records, {splits} splits")
    for epsilon in EPSILONS:
        levels = glassine.learners.suggested_depth(26_000, epsilon, len(literals))
        make = private_tree(data, levels, literals=literals)
        value = mean_accuracy(data, lambda seed, m=make, e=epsilon: m(e, seed), splits=splits, share=0.8, draws=2)
        ordinary = cart_numbers(data, levels, splits=splits, share=0.8)
        out[f"{epsilon:g}"] = {"depth": levels, "accuracy": value, "CART of that depth, raw numbers": ordinary}
        say(f"  {epsilon:g}: depth {levels}, {value:.4f}; CART of that depth on the raw numbers {ordinary:.4f}")
    return out


class Cart:
    """A tree of scikit-learn on public literals; by default of depth 4, with leaves of at least twenty records."""

    def __init__(self, literals: list[Any], tree: Any = None) -> None:
        self.literals = literals
        self.tree = tree or DecisionTreeClassifier(max_depth=4, min_samples_leaf=20, random_state=0)

    def fit(self, X: pl.DataFrame, y: np.ndarray) -> Cart:
        """Fit the tree."""
        self.tree.fit(self._truth(X), y)
        self.classes_ = getattr(self.tree, "classes_", None)
        return self

    def predict_proba(self, X: pl.DataFrame) -> np.ndarray:
        """Return the shares of the leaves."""
        return np.asarray(self.tree.predict_proba(self._truth(X)))

    def predict(self, X: pl.DataFrame) -> np.ndarray:
        """Return the commonest class, or the mean, of each leaf."""
        return np.asarray(self.tree.predict(self._truth(X)))

    def _truth(self, X: pl.DataFrame) -> np.ndarray:
        columns = {name: X[name].to_numpy() for name in X.columns}
        return np.column_stack([literal.holds(columns[literal.attribute]) for literal in self.literals])


def quality(data: Benchmark, make: Callable[[int], Any], splits: int, draws: int) -> dict[str, float]:
    """Return means over splits and draws on test records, and the standard error of the AUROC over splits."""
    found: dict[str, list[float]] = {"AUROC": [], "accuracy": [], "log loss": []}
    for split in range(splits):
        train, test = data.split(split, 0.8)
        truth = (data.labels[test] == data.classes[1]).astype(int)
        of_split = []
        for draw in range(draws):
            model = make(1000 * split + draw).fit(data.frame[train], data.labels[train])
            chances = model.predict_proba(data.frame[test])[:, list(model.classes_).index(data.classes[1])]
            correct = float((model.predict(data.frame[test]) == data.labels[test]).mean())
            of_split.append((roc_auc_score(truth, chances), correct, log_loss(truth, chances)))
        for key, values in zip(found, zip(*of_split, strict=True), strict=True):
            found[key].append(statistics.fmean(values))
    error = statistics.stdev(found["AUROC"]) / splits**0.5 if splits > 1 else float("nan")
    return {key: statistics.fmean(values) for key, values in found.items()} | {"standard error of AUROC": error}


def cards(splits: int) -> dict[str, dict[str, dict[str, float]]]:
    """Print scorecards of ten items by epsilon, beside ordinary ones, and FasterRisk's where it has an environment."""
    out: dict[str, dict[str, dict[str, float]]] = {}
    for make in (public_data.adult, public_data.telco, public_data.compas, public_data.german):
        data = make()
        shared: dict[str, Any] = {"domain": data.domain, "classes": data.classes}
        rows: dict[str, Callable[[int], Any]] = {
            f"epsilon {epsilon:g}": partial(_private_card, epsilon, shared) for epsilon in (0.1, 0.5, 1.0, 4.0)
        }
        rows["not private"] = lambda _, shared=shared: glassine.ScorecardClassifier(**shared)
        try:
            say(f"FasterRisk: {python_of(PEER)}")
            rows["FasterRisk"] = lambda _, data=data: FasterRisk(data)
        except Missing as reason:
            say(f"FasterRisk: {reason}")
        out[data.name] = {}
        for name, fit in rows.items():
            found = quality(data, fit, splits, 1)
            out[data.name][name] = found
            say(f"{data.name}, {name}: " + ", ".join(f"{key} {value:.4f}" for key, value in found.items()))
    return out


def _private_card(epsilon: float, shared: dict[str, Any], seed: int) -> Any:
    return glassine.PrivateScorecardClassifier(epsilon, random_state=seed, **shared)


PEER = next(peer for peer in OTHER_PEERS if peer.name == "fasterrisk")


class FasterRisk:
    """The published learner of cards on the declared literals: ten items of at most five points."""

    def __init__(self, data: Benchmark) -> None:
        self.literals = declared(data.domain, data.domain.names)
        self.classes_ = np.array(data.classes)

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
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    def _truth(self, X: pl.DataFrame) -> np.ndarray:
        columns = {name: X[name].to_numpy() for name in X.columns}
        return np.column_stack([literal.holds(columns[literal.attribute]) for literal in self.literals]).astype(float)


def median_time(work: Callable[[], Any], runs: int = 3) -> float:
    """Return the median duration of some runs after a first one."""
    work()
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def speed() -> dict[str, float]:
    """Print the time of whole fits."""
    data = public_data.adult()
    binarised = public_data.adult_binarised()
    wide = glassine.Domain.binary([f"x{i}" for i in range(200)])
    rng = np.random.default_rng(0)
    many = rng.integers(0, 2, (26_000, 200))
    labels = many[:, 0] & many[:, 1]
    runs: dict[str, Callable[[], Any]] = {
        "Adult, 76 literals, depth 3": lambda: private_tree(data, 3)(0.1, 0).fit(data.frame, data.labels),
        "Adult, 76 literals, depth 4": lambda: private_tree(data, 4)(0.1, 0).fit(data.frame, data.labels),
        "Adult, 76 literals, depth 5": lambda: private_tree(data, 5)(0.1, 0).fit(data.frame, data.labels),
        "adult_binarised, 38 literals, K = 5": lambda: private_list(binarised, 5)(0.1, 0).fit(
            binarised.frame, binarised.labels
        ),
        "26,000 x 200 literals, depth 3": lambda: glassine.PrivateTreeClassifier(
            3, 0.1, wide, classes=(0, 1), random_state=0
        ).fit(many, labels),
        "26,000 x 200 literals, depth 4": lambda: glassine.PrivateTreeClassifier(
            4, 0.1, wide, classes=(0, 1), random_state=0
        ).fit(many, labels),
        "CART, Adult, depth 3": lambda: cart_numbers(data, 3, 1, 0.8),
    }
    out = {}
    for name, work in runs.items():
        out[name] = median_time(work, 1 if "depth 5" in name or "200 literals, depth 4" in name else 3)
        say(f"{name}: {out[name]:.3f} s")
    return out


def scale(n: int = 10_000_000) -> dict[str, float]:
    """Print time and memory of a tree of depth 3 on ten million synthetic records with 75 literals."""
    thresholds = tuple(range(10, 100, 10))
    domain = glassine.Domain(
        {f"number{i}": glassine.Integer(0, 99, thresholds=thresholds) for i in range(5)}
        | {f"category{i}": glassine.Category(tuple(f"v{j}" for j in range(10))) for i in range(3)}
    )
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"number{i}": rng.integers(0, 100, n, dtype=np.int8) for i in range(5)}).with_columns(
        **{
            f"category{i}": pl.Series(rng.integers(0, 10, n, dtype=np.int8))
            .cast(pl.Int64)
            .replace_strict(list(range(10)), [f"v{j}" for j in range(10)], return_dtype=pl.Categorical)
            for i in range(3)
        }
    )
    noise = rng.random(n) < 0.2
    labels = ((frame["number0"].to_numpy() > 50) & (frame["number1"].to_numpy() > 30)) ^ noise
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    tree = glassine.PrivateTreeClassifier(3, 0.1, domain, random_state=0).fit(frame, labels)
    took = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    say(
        f"{n:,} records, 75 literals, depth 3: {took:.1f} s, peak {peak / 1e6:.2f} GB, "
        f"{before / 1e6:.2f} GB before the fit"
    )
    say(f"  the tree: {tree.model_}")
    return {"seconds": took, "peak GB": peak / 1e6}


def class_sizes() -> dict[str, float]:
    """Print how many trees one pass sums."""
    out = {}
    for p, levels in ((20, 3), (75, 3), (75, 4), (200, 3)):
        domain = glassine.Domain.binary([f"x{i}" for i in range(p)])
        logic = LiteralLogic.of(domain, [glassine.domain.OneOf(f"x{i}", (1,)) for i in range(p)], up_to_negation=True)
        trees = TreeClass(logic=logic, depth=levels, loss=Loss.errors(2))
        out[f"{p} literals, depth {levels}"] = trees.log_count() / np.log(10)
        say(f"{p} literals, depth {levels}: 10^{out[f'{p} literals, depth {levels}']:.1f} trees")
    return out


def main(arguments: Iterable[str] | None = None) -> None:
    """Run the chosen parts."""
    parts: dict[str, Callable[[int], Any]] = {
        "accuracy": accuracy,
        "depth": depth,
        "chosen-depth": chosen_depth,
        "cards": cards,
        "speed": lambda _: speed(),
        "scale": lambda _: scale(),
        "size": lambda _: class_sizes(),
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="all but scale and depth by default")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(None if arguments is None else list(arguments))
    results = {name: parts[name](given.splits) for name in given.parts or ("accuracy", "speed", "size")}
    if given.json:
        given.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
