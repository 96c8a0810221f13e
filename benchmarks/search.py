"""What a private search costs: ``python benchmarks/search.py [case ...] [--splits N] [--first N] [--search NAME ...]``.

Every figure is a difference in test accuracy, on 20 % of the records, from a model of the grid's best setting that is
trained with the whole epsilon on the other 80 %. The best setting is the one with the best mean over all splits. Five
searches spend the same epsilon:

- ``shape 0.5``: :class:`glassine.learners.PrivateSearchCV` as it comes, with fits at two fifths of epsilon each.
- ``geometric``: with ``shape=1``, a geometric number of fits at a third each.
- ``logarithmic``: with ``shape=0``, a logarithmic number of fits at a half each.
- ``refit``: each setting once on 80 %, at epsilon / 2 over their number; the exponential mechanism on the others, and a
  fit of the chosen setting on all records, at epsilon / 2 each.
- ``parts``: the same on a disjoint 30 % of the records, with all of epsilon; the last fit on the other 70 % with all.

The default shape was chosen on splits 0 to 3; ``--first 10`` and more are splits that it has not seen.

A search is worse, tied or better by the mean of the differences over splits, at two standard errors.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import ParameterGrid  # noqa: E402

from benchmarks import public_data  # noqa: E402
from benchmarks.public_data import Benchmark  # noqa: E402
from glassine.learners import (  # noqa: E402
    PrivateEBMClassifier,
    PrivateGreedyRuleListClassifier,
    PrivateRuleListClassifier,
    PrivateSearchCV,
    PrivateTreeClassifier,
)
from glassine.privacy.randomness import Randomness  # noqa: E402
from glassine.sealed.noisy_choice import exponential_mechanism  # noqa: E402

DRAWS = 2
"""Models of each setting and split, of which the mean is taken."""

DELTA = 1e-6

Rows = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True)
class Case:
    """A dataset, a learner and a grid."""

    data: Benchmark
    learner: Any
    grid: dict[str, list[Any]]

    def fit(self, setting: dict[str, Any], epsilon: float, rows: Rows, seed: int) -> Any:
        """Return a model of a setting."""
        model = clone(self.learner).set_params(**setting, epsilon=epsilon, random_state=seed)
        return model.fit(self.data.frame[rows], self.data.labels[rows])

    def score(self, model: Any, rows: Rows) -> float:
        """Return the accuracy of a model."""
        return float(model.score(self.data.frame[rows], self.data.labels[rows]))


def cases() -> dict[str, Callable[[], Case]]:
    """Return the cases by name."""

    def adult_trees() -> Case:
        data, literals = public_data.adult_coarse()
        tree = PrivateTreeClassifier(domain=data.domain, classes=data.classes, literals=literals)
        return Case(data, tree, {"max_depth": [1, 2, 3, 4]})

    def case(data: Benchmark, kind: Any, **grid: list[Any]) -> Case:
        return Case(data, kind(domain=data.domain, classes=data.classes), grid)

    compas, adult = public_data.compas, public_data.adult
    lists, rules = {"max_rules": [1, 2, 3, 4]}, {"max_rules": [1, 2, 3, 5, 8]}
    return {
        "Adult, trees": adult_trees,
        "COMPAS, trees": lambda: case(compas(), PrivateTreeClassifier, max_depth=[1, 2, 3, 4]),
        "COMPAS, rule lists": lambda: case(compas(), PrivateRuleListClassifier, **lists),
        "Adult, greedy lists": lambda: case(adult(), PrivateGreedyRuleListClassifier, **rules),
        "COMPAS, greedy lists": lambda: case(compas(), PrivateGreedyRuleListClassifier, **rules),
        "COMPAS, EBM": lambda: case(compas(), PrivateEBMClassifier, interactions=[0, 3, 10]),
        "Adult, EBM": lambda: case(adult(), PrivateEBMClassifier, interactions=[0, 3]),
    }


def by_runs(case: Case, shape: float) -> Callable[[Rows, float, int], Any]:
    """Return the search by a random number of fits."""

    def run(train: Rows, epsilon: float, seed: int) -> Any:
        search = PrivateSearchCV(case.learner, case.grid, epsilon=epsilon, delta=DELTA, shape=shape, random_state=seed)
        return search.fit(case.data.frame[train], case.data.labels[train])

    return run


def by_composition(case: Case, *, apart: bool) -> Callable[[Rows, float, int], Any]:
    """Return the search that fits each setting once, on records of their own if ``apart``, and then the chosen one."""

    def run(train: Rows, epsilon: float, seed: int) -> Any:
        settings = list(ParameterGrid(case.grid))
        searched = train[int(0.7 * len(train)) :] if apart else train
        cut = int((2 / 3 if apart else 0.8) * len(searched))
        spent = epsilon if apart else epsilon / 2
        candidates = [case.fit(setting, spent / len(settings), searched[:cut], seed) for setting in settings]
        correct = [round(case.score(model, searched[cut:]) * (len(searched) - cut)) for model in candidates]
        chosen = exponential_mechanism(correct, spent, 1, True, randomness=Randomness.of(seed))
        rows = train[: int(0.7 * len(train))] if apart else train
        return case.fit(settings[chosen], epsilon if apart else epsilon / 2, rows, seed)

    return run


def measure(case: Case, epsilon: float, splits: range, chosen: list[str] | None) -> dict[str, Any]:
    """Return the accuracies of the settings, and of the chosen searches the differences from the best."""
    settings = list(ParameterGrid(case.grid))
    searches = {
        "shape 0.5": by_runs(case, 0.5),
        "geometric": by_runs(case, 1.0),
        "logarithmic": by_runs(case, 0.0),
        "refit": by_composition(case, apart=False),
        "parts": by_composition(case, apart=True),
    }
    searches = {name: search for name, search in searches.items() if not chosen or name in chosen}
    alone: list[list[float]] = []
    found: dict[str, list[float]] = {name: [] for name in searches}
    for split in splits:
        train, test = case.data.split(split, 0.8)
        alone.append(
            [
                statistics.fmean(
                    case.score(case.fit(setting, epsilon, train, 1000 * split + draw), test) for draw in range(DRAWS)
                )
                for setting in settings
            ]
        )
        for name, search in searches.items():
            found[name].append(case.score(search(train, epsilon, split), test))
    means = [statistics.fmean(column) for column in zip(*alone, strict=True)]
    best = max(range(len(settings)), key=means.__getitem__)
    reference = [row[best] for row in alone]
    return {
        "settings": {str(setting): mean for setting, mean in zip(settings, means, strict=True)},
        "best": str(settings[best]),
        "accuracy of the best": means[best],
        "differences": {
            name: [a - b for a, b in zip(values, reference, strict=True)] for name, values in found.items()
        },
    }


def judged(differences: list[float]) -> str:
    """Return a mean with its standard error, and the judgement."""
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / len(differences) ** 0.5
    word = "tied" if abs(mean) <= 2 * error else "better" if mean > 0 else "worse"
    return f"{mean:+.4f} ± {error:.4f} {word}"


def main(arguments: Iterable[str] | None = None) -> None:
    """Run the chosen cases."""
    every = cases()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=", ".join(every))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first split")
    parser.add_argument("--search", action="append", help="a search by its name; all if none is given")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(None if arguments is None else list(arguments))
    warnings.simplefilter("ignore")  # seeds, and fits that are counted
    results = {}
    for name in options.cases or every:
        results[name] = measure(
            every[name](), options.epsilon, range(options.first, options.first + options.splits), options.search
        )
        row = results[name]
        sys.stdout.write(f"{name}: best {row['best']}, {row['accuracy of the best']:.4f}\n")
        for search, differences in row["differences"].items():
            sys.stdout.write(f"  {search}: {judged(differences)}\n")
        sys.stdout.flush()
        if options.json:
            options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
