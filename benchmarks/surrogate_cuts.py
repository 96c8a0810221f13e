"""Where restricted surrogate trees may split, and what it is worth: ``python benchmarks/surrogate_cuts.py``.

The same groups get trees on the linear grid alone, on a linear grid of as many points as both grids have, on both
public grids (what a release has), and with exact thresholds, which are not public. Private group trees and coarse
conditions have few cut points: with ``few`` as an argument these are measured instead, in even steps and as they are.
The records are simulated amounts, lognormal under wide public bounds, and California's block groups and Adult's numbers
with public bounds; GLASSINE_DATA names the folder of the latter two, which are left out without it. Means over three
seeds, with their standard errors, of the differences too; fidelity is measured on records that were not used.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl
from public_data import DATA, adult
from sklearn.ensemble import HistGradientBoostingClassifier

from glassine import Domain, Integer, OptimalTreeClassifier, PrivateTreeClassifier, Real, SurrogateExplainer
from glassine.attacks.outcome import Measured
from glassine.auditing.release_attacks import together_of
from glassine.auditing.release_inputs import inputs_of_fit
from glassine.data.labels import Sample
from glassine.domain.attributes import Attribute
from glassine.domain.grid import few_cuts, public_grid, with_cuts
from glassine.learners.antecedents import COARSE_CUTS
from glassine.surrogates.answers import Names
from glassine.surrogates.group_trees import grow_trees, where_trees_split
from glassine.surrogates.measuring import agreement
from glassine.surrogates.private_trees import CUTS
from glassine.surrogates.reading import open_records, read
from glassine.surrogates.settings import plan_of

SEEDS, KS = range(3), (50, 200)
N_TRAINING, N_OTHERS = 4_500, 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Records with their public domain, and a black box."""

    name: str
    frame: pl.DataFrame
    domain: Domain
    decide: Callable[[pl.DataFrame], npt.NDArray[np.int64]]


def amounts(seed: int) -> Scene:
    """Return lognormal incomes and debts, of a domain that allows for millions."""
    rng = np.random.default_rng(seed)
    n = N_TRAINING + N_OTHERS
    frame = pl.DataFrame(
        {
            "income": rng.lognormal(10, 1.0, n).round().clip(0, 5e6),
            "debt": rng.lognormal(7.5, 1.4, n).round().clip(0, 1e7),
            "age": rng.integers(18, 91, n),
        }
    )

    def decide(X: pl.DataFrame) -> npt.NDArray[np.int64]:
        income, debt, age = (np.asarray(X[name], dtype=float) for name in frame.columns)
        indebted = debt > 0.12 * income + 500 * np.sin(income / 4000)
        return (indebted | ((age < 25) & (income < 9000))).astype(np.int64)

    domain = Domain({"income": Integer(0, 5_000_000), "debt": Integer(0, 10_000_000), "age": Integer(18, 90)})
    return Scene(name="lognormal amounts", frame=frame, domain=domain, decide=decide)


def california(seed: int) -> Scene:
    """Return block groups, and gradient boosting of whether their houses are worth more than 200,000."""
    columns = np.loadtxt(DATA / "california" / "cal_housing.data", delimiter=",")
    columns = columns[np.random.default_rng(seed).permutation(len(columns))[: N_TRAINING + N_OTHERS]]
    domain = Domain(
        {
            "longitude": Real(-124.5, -114.0, 0.01),
            "latitude": Real(32.5, 42.0, 0.01),
            "age": Integer(1, 52),
            "rooms": Integer(0, 40_000),
            "bedrooms": Integer(0, 7_000),
            "population": Integer(0, 36_000),
            "households": Integer(0, 6_500),
            "income": Real(0.0, 16.0, 0.0001),
        }
    )
    frame = pl.DataFrame({name: columns[:, i] for i, name in enumerate(domain)})
    box = HistGradientBoostingClassifier(random_state=0, max_iter=40)
    box.fit(columns[:N_TRAINING, :8], (columns[:N_TRAINING, 8] > 200_000).astype(np.int64))
    return Scene(name="California", frame=frame, domain=domain, decide=lambda X: box.predict(X.to_numpy()))


def adults(seed: int) -> Scene:
    """Return the five numbers of Adult that are no weights, and gradient boosting of the income."""
    names = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
    full = adult()
    rows = np.random.default_rng(seed).permutation(len(full.frame))[: N_TRAINING + N_OTHERS]
    frame = full.frame.select(names)[rows]
    domain = Domain({name: replace(full.domain[name], thresholds=()) for name in names})
    box = HistGradientBoostingClassifier(random_state=0, max_iter=40)
    box.fit(frame[:N_TRAINING].to_numpy(), (full.labels[rows[:N_TRAINING]] == full.classes[1]).astype(np.int64))
    return Scene(name="Adult", frame=frame, domain=domain, decide=lambda X: box.predict(X.to_numpy()))


def as_many(attribute: Attribute) -> tuple[float, ...]:
    """Return a linear grid of about as many points as both grids have together."""
    both = where_trees_split(Domain({"x": attribute}))["x"]
    return public_grid(attribute, size=max(1, len(getattr(both, "thresholds", ()))))


GRIDS: dict[str, Callable[[Domain], Domain | None]] = {
    "linear, 50": lambda domain: with_cuts(domain, public_grid),
    "linear, as many": lambda domain: with_cuts(domain, as_many),
    "linear and log": where_trees_split,
    "exact": lambda domain: None,
}


def measured(scene: Scene, k: int) -> Iterator[tuple[str, list[float]]]:
    """Yield for each grid: share of trees of one decision, fidelity, the same guided, mean bits about one record."""
    training, others = scene.frame[:N_TRAINING], scene.frame[N_TRAINING:]
    explainer = SurrogateExplainer(scene.decide, k, domain=scene.domain, classes=(0, 1)).fit(training)
    release, fitted, growth = explainer.release_, explainer.training_, plan_of(explainer, "training").growth
    columns = read(open_records(others, scene.domain)[2], scene.domain, refuse_outside=False)
    answers = scene.decide(others)
    for name, grid in GRIDS.items():
        cut = grid(scene.domain)
        domain = scene.domain if cut is None else cut
        trees = grow_trees(
            replace(fitted.columns, attributes={attribute: domain[attribute] for attribute in domain}),
            fitted.targets,
            fitted.groups,
            release.n_groups,
            domain=domain,
            answers=Names((0, 1)),
            growth=replace(growth, on_grid=cut is not None),
        )
        explainer.release_ = replace(release, trees=trees, domain=domain)
        inputs = inputs_of_fit(explainer, None, Sample())
        together = together_of(inputs, inputs.leaves())
        yield (
            name,
            [
                float(np.mean([len({cell.evidence.prediction for cell in tree.cells}) == 1 for tree in trees])),
                agreement(explainer.release_, columns, answers, 1),
                agreement(explainer.release_, columns, answers, 3),
                together.value.bits_mean if isinstance(together, Measured) else float("nan"),
            ],
        )


def few(scene: Scene, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Yield for even steps, and for few cut points as they are, what trees of both kinds are worth.

    Of private group trees, epsilon 4: the share of one decision, and fidelity. Of the labels' agreement: of the best
    tree of depth 3 over coarse conditions, and of the private one at epsilon 1.
    """
    training, others = scene.frame[:N_TRAINING], scene.frame[N_TRAINING:]
    answers, truth = scene.decide(training), scene.decide(others)
    for name, grid in (("even steps", public_grid), ("as they are", few_cuts)):
        # Declared thresholds are the cut points: a domain that declares either has them.
        seven, nine = (with_cuts(scene.domain, partial(grid, size=size)) for size in (CUTS, COARSE_CUTS))
        explainer = SurrogateExplainer(
            scene.decide, 200, domain=seven, classes=(0, 1), epsilon=4.0, random_state=seed
        ).fit(training)
        columns = read(open_records(others, seven)[2], seven, refuse_outside=False)
        decisions = [{cell.evidence.prediction for cell in tree.cells} for tree in explainer.release_.trees]
        settings = {"literals": "coarse", "domain": nine, "classes": (0, 1), "max_depth": 3}
        best = OptimalTreeClassifier(**settings).fit(training, answers)
        private = PrivateTreeClassifier(epsilon=1.0, random_state=seed, **settings).fit(training, answers)
        yield (
            name,
            [
                float(np.mean([len(one) == 1 for one in decisions])),
                agreement(explainer.release_, columns, truth, 1),
                float(np.mean(best.predict(others) == truth)),
                float(np.mean(private.predict(others) == truth)),
            ],
        )


def shown(rows: dict[str, list[list[float]]]) -> None:
    """Print means over seeds with their standard errors."""
    for name, several in rows.items():
        mean, error = np.mean(several, axis=0), np.std(several, axis=0, ddof=1) / np.sqrt(len(several))
        figures = "  ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True))
        print(f"  {name:16s} {figures}", flush=True)  # noqa: T201 - a benchmark prints


def main() -> None:
    """Print a table for each scene and k, or for each scene with few cut points."""
    warnings.simplefilter("ignore")
    scenes = (amounts, california, adults) if DATA.is_dir() else (amounts,)
    for scene in scenes:
        if "few" in sys.argv[1:]:
            print(f"{scene.__name__}, few: one decision, fidelity, best of depth 3, private", flush=True)  # noqa: T201
            shown(tabulated(few(scene(seed), seed) for seed in SEEDS))
            continue
        for k in KS:
            print(f"{scene.__name__}, k = {k}: trees of one decision, fidelity, guided, bits", flush=True)  # noqa: T201
            shown(tabulated(measured(scene(seed), k) for seed in SEEDS))


def tabulated(seeds: Iterable[Iterator[tuple[str, list[float]]]]) -> dict[str, list[list[float]]]:
    """Return the figures of each row, seed by seed, and of the last row less the first."""
    rows: dict[str, list[list[float]]] = {}
    for seed in seeds:
        figures = dict(seed)
        first, *_, last = figures.values()
        figures["last less first"] = [b - a for a, b in zip(first, last, strict=True)]
        for name, one in figures.items():
            rows.setdefault(name, []).append(one)
    return rows


if __name__ == "__main__":
    main()
