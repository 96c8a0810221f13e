"""Private and optimal learners: ``python benchmarks/learners.py [depth] [speed] [scale] [size] [--page]``.

Accuracies are on test records, of models drawn at the whole epsilon: a twentieth of it pays for the counts of the
leaves. A row of ``learners.csv`` has them by split, each the mean of five fits; rows that are stored are not measured
again. Times are medians of warm runs in this process; the first fit on a machine compiles for some seconds more.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set
import polars as pl  # noqa: E402
from sklearn.dummy import DummyClassifier  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

import glassine  # noqa: E402
from benchmarks import public_data  # noqa: E402
from benchmarks.kept_rows import kept  # noqa: E402
from benchmarks.public_data import Benchmark  # noqa: E402
from glassine.counting.logic import LiteralLogic  # noqa: E402
from glassine.learners.antecedents import declared  # noqa: E402
from glassine.sealed.losses import LeafCosts  # noqa: E402
from glassine.sealed.trees import TreeClass  # noqa: E402
from papers.common.results import Row, one, say  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

EPSILONS = ("0.01", "0.03", "0.1", "1")
DRAWS, SPLITS = 5, 10
ADULT_RECORDS = 26_000
"""About the training records of a split, which the rule of the depth is given."""

Make = Callable[[str, int], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A private learner on a dataset: its names on the page, how it is made, and the optimum of its class."""

    data: str
    model: str
    make: Callable[[Benchmark], Make]
    load: Callable[[], Benchmark]
    share: float
    optimum: Callable[[Benchmark], Any] | None = None


def private_tree(data: Benchmark, depth: int, **more: Any) -> Make:
    """Return a factory of private trees."""
    return lambda epsilon, seed: glassine.learners.PrivateTreeClassifier(
        depth,
        epsilon=float(epsilon),
        domain=data.domain,
        classes=data.classes,
        random_state=seed,
        accuracy_share=1.0,
        **more,
    )


def private_list(data: Benchmark, length: int) -> Make:
    """Return a factory of private rule lists."""
    return lambda epsilon, seed: glassine.learners.PrivateRuleListClassifier(
        length, epsilon=float(epsilon), domain=data.domain, classes=data.classes, random_state=seed, accuracy_share=1.0
    )


def suggested(data: Benchmark) -> Make:
    """Return a factory of private trees of few literals, whose depth follows from n and epsilon by the public rule."""
    literals = public_data.adult_coarse()[1]

    def make(epsilon: str, seed: int) -> Any:
        depth = glassine.learners.suggested_depth(ADULT_RECORDS, float(epsilon), len(literals))
        return private_tree(data, depth, literals=literals)(epsilon, seed)

    return make


def optimal_tree(depth: int, data: Benchmark) -> Any:
    """Return a learner of optimal trees."""
    return glassine.learners.OptimalTreeClassifier(depth, domain=data.domain, classes=data.classes)


def optimal_list(length: int, data: Benchmark) -> Any:
    """Return a learner of optimal lists."""
    return glassine.learners.OptimalRuleListClassifier(length, domain=data.domain, classes=data.classes)


def list_setting(data: str, length: int, load: Callable[[], Benchmark]) -> Setting:
    """Return the setting of rule lists on a dataset."""
    return Setting(
        data=data,
        model=f"list of up to {length} rules",
        make=lambda data: private_list(data, length),
        load=load,
        share=0.7,
        optimum=partial(optimal_list, length),
    )


WIDE = "Adult, 76 literals"


def tree_setting(depth: int) -> Setting:
    """Return the setting of trees on Adult."""
    return Setting(
        data=WIDE,
        model=f"tree of depth {depth}",
        make=lambda data: private_tree(data, depth),
        load=public_data.adult,
        share=0.8,
        optimum=partial(optimal_tree, depth),
    )


SETTINGS = (
    tree_setting(3),
    Setting(
        data="Adult, 24 coarse literals",
        model="`suggested_depth`",
        make=suggested,
        load=lambda: public_data.adult_coarse()[0],
        share=0.8,
    ),
    list_setting("Adult, 38 dummies", 5, public_data.adult_binarised),
    list_setting("COMPAS, 27 dummies", 3, public_data.compas),
    list_setting("German credit, 52 literals", 3, public_data.german),
)
OPTIMUM, CART, MAJORITY = "optimum", "CART", "majority"


def by_split(data: Benchmark, make: Callable[[int], Any], splits: int, share: float, draws: int) -> list[float]:
    """Return the test accuracy of each split, the mean over draws."""
    found = []
    for split in range(splits):
        train, test = data.split(split, share)
        models = [make(1000 * split + draw).fit(data.frame[train], data.labels[train]) for draw in range(draws)]
        found.append(fmean(float((model.predict(data.frame[test]) == data.labels[test]).mean()) for model in models))
    return found


def learner(setting: Setting, data: Benchmark, epsilon: str) -> Callable[[int], Any]:
    """Return what is fitted: a private model of a budget, or an ordinary one by its name."""
    if epsilon == OPTIMUM and setting.optimum is not None:
        optimum = setting.optimum
        return lambda _: optimum(data)
    if epsilon == CART:
        return lambda seed: Cart(
            declared(data.domain, data.domain.names), DecisionTreeClassifier(max_depth=3, random_state=seed)
        )
    if epsilon == MAJORITY:
        return lambda _: DummyClassifier()
    return partial(setting.make(data), epsilon)


def keys() -> list[Row]:
    """Return what names each row."""
    found = []
    for setting in SETTINGS:
        ordinary = (*((OPTIMUM,) if setting.optimum else ()), *((CART,) if setting.data == WIDE else ()), MAJORITY)
        found += [{"data": setting.data, "model": setting.model, "epsilon": e} for e in (*EPSILONS, *ordinary)]
    return found


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the accuracies of a row."""
    setting = next(each for each in SETTINGS if (each.data, each.model) == (key["data"], key["model"]))
    data = setting.load()
    draws = DRAWS if key["epsilon"] in EPSILONS else 1
    found = by_split(data, learner(setting, data, key["epsilon"]), SPLITS, setting.share, draws)
    return {"accuracies": " ".join(f"{value:.5g}" for value in found)}


def mean(rows: Sequence[Row], data: str, epsilon: str) -> float:
    """Return the mean accuracy of a row."""
    return fmean(map(float, one(rows, data=data, epsilon=epsilon)["accuracies"].split()))


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    lines = []
    for setting in SETTINGS:
        shown = (*EPSILONS, *((OPTIMUM,) if setting.optimum else ()))
        cells = [f"{mean(rows, setting.data, epsilon):.3f}" for epsilon in shown]
        lines.append([setting.data, setting.model, *cells, *([] if setting.optimum else [""])])
    header = ["data", "model", f"epsilon {EPSILONS[0]}", *EPSILONS[1:], "best of the class, not private"]
    return {"learners": markdown(header, lines)}


def depth() -> None:
    """Print accuracies of deeper trees on Adult."""
    for levels, splits, draws in ((4, SPLITS, DRAWS), (5, 5, 1)):
        setting = tree_setting(levels)
        data = setting.load()
        for epsilon in (*EPSILONS, OPTIMUM):
            found = by_split(data, learner(setting, data, epsilon), splits, setting.share, draws)
            say(f"Adult, 76 public literals, {setting.model}, {epsilon}: {fmean(found):.4f}")


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


def median_time(work: Callable[[], Any], runs: int = 3) -> float:
    """Return the median duration of some runs after a first one."""
    work()
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def speed() -> None:
    """Print the time of whole fits."""
    data = public_data.adult()
    binarised = public_data.adult_binarised()
    wide = glassine.Domain.binary([f"x{i}" for i in range(200)])
    rng = np.random.default_rng(0)
    many = rng.integers(0, 2, (26_000, 200))
    labels = many[:, 0] & many[:, 1]
    runs: dict[str, Callable[[], Any]] = {
        "Adult, 76 literals, depth 3": lambda: private_tree(data, 3)("0.1", 0).fit(data.frame, data.labels),
        "Adult, 76 literals, depth 4": lambda: private_tree(data, 4)("0.1", 0).fit(data.frame, data.labels),
        "Adult, 76 literals, depth 5": lambda: private_tree(data, 5)("0.1", 0).fit(data.frame, data.labels),
        "adult_binarised, 38 literals, K = 5": lambda: private_list(binarised, 5)("0.1", 0).fit(
            binarised.frame, binarised.labels
        ),
        "26,000 x 200 literals, depth 3": lambda: glassine.learners.PrivateTreeClassifier(
            3, epsilon=0.1, domain=wide, classes=(0, 1), random_state=0
        ).fit(many, labels),
        "26,000 x 200 literals, depth 4": lambda: glassine.learners.PrivateTreeClassifier(
            4, epsilon=0.1, domain=wide, classes=(0, 1), random_state=0
        ).fit(many, labels),
        "CART, Adult, depth 3": lambda: learner(SETTINGS[0], data, CART)(0).fit(data.frame, data.labels),
    }
    for name, work in runs.items():
        seconds = median_time(work, 1 if "depth 5" in name or "200 literals, depth 4" in name else 3)
        say(f"{name}: {seconds:.3f} s")


def scale(n: int = 10_000_000) -> None:
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
    tree = glassine.learners.PrivateTreeClassifier(3, epsilon=0.1, domain=domain, random_state=0).fit(frame, labels)
    took = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    say(
        f"{n:,} records, 75 literals, depth 3: {took:.1f} s, peak {peak / 1e6:.2f} GB, "
        f"{before / 1e6:.2f} GB before the fit"
    )
    say(f"  the tree: {tree.model_}")


def class_sizes() -> None:
    """Print how many trees one pass sums."""
    for p, levels in ((20, 3), (75, 3), (75, 4), (200, 3)):
        domain = glassine.Domain.binary([f"x{i}" for i in range(p)])
        logic = LiteralLogic.of(domain, [glassine.domain.OneOf(f"x{i}", (1,)) for i in range(p)], up_to_negation=True)
        trees = TreeClass(logic=logic, depth=levels, loss=LeafCosts.errors(2))
        say(f"{p} literals, depth {levels}: 10^{trees.log_count() / np.log(10):.1f} trees")


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page; or print what else is asked for."""
    others = {"depth": depth, "speed": speed, "scale": scale, "size": class_sizes}
    return kept(__file__, __doc__, keys(), measure, tables, arguments, others=others)


if __name__ == "__main__":
    sys.exit(main())
