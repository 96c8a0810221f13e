"""Where restricted surrogate trees may split, and what it is worth: ``python benchmarks/surrogate_cuts.py [--page]``.

The same groups get trees on the linear grid alone, on a linear grid of as many points as both grids have, on both
public grids (what a release has), and with exact thresholds, which are not public. Private group trees and coarse
conditions have few cut points: in even steps and as they are. The records are simulated amounts, lognormal under wide
public bounds, and California's block groups and Adult's numbers with public bounds; GLASSINE_DATA names the folder of
the latter two. A row of ``surrogate_cuts.csv`` is one seed; fidelity is measured on records that were not used.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from benchmarks.public_data import DATA, adult  # noqa: E402
from glassine import Domain, Integer, Real  # noqa: E402
from glassine.attacks.outcome import Measured  # noqa: E402
from glassine.auditing.release_attacks import together_of  # noqa: E402
from glassine.auditing.release_inputs import inputs_of_fit  # noqa: E402
from glassine.data.labels import Sample  # noqa: E402
from glassine.domain.attributes import Attribute  # noqa: E402
from glassine.domain.grid import few_cuts, public_grid, with_cuts  # noqa: E402
from glassine.learners import OptimalTreeClassifier, PrivateTreeClassifier  # noqa: E402
from glassine.learners.antecedents import COARSE_CUTS  # noqa: E402
from glassine.surrogates import SurrogateExplainer  # noqa: E402
from glassine.surrogates.answers import Names  # noqa: E402
from glassine.surrogates.explainer_parameters import plan_of  # noqa: E402
from glassine.surrogates.explanation_measures import agreement  # noqa: E402
from glassine.surrogates.group_trees import grow_trees, where_trees_split  # noqa: E402
from glassine.surrogates.private_trees import CUTS  # noqa: E402
from glassine.surrogates.query_input import open_records, read  # noqa: E402
from papers.common.results import Row, select  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

SEEDS, SMALL, LARGE = ("0", "1", "2"), "50", "200"
GRIDS = ("linear, 50", "linear, as many", "linear and log", "exact")
FEW = ("few, in even steps", "few, as they are")
ONE, FIDELITY, BITS, ACCURACY = "one decision", "fidelity", "bits", "accuracy at epsilon 1"
FIGURES = (ONE, FIDELITY, "fidelity guided", BITS, "accuracy of the best", ACCURACY)
SCENES = ("amounts", "california", "adults")
KEYS = [
    {"scene": scene, "cut points": cuts, "k": k, "seed": seed}
    for scene in SCENES
    for of_kind, ks in ((GRIDS, (SMALL, LARGE)), (FEW, (LARGE,)))
    for cuts, k, seed in product(of_kind, ks, SEEDS)
]
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
        return np.asarray(indebted | ((age < 25) & (income < 9000)), dtype=np.int64)

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
    numbers: dict[str, Any] = {name: full.domain[name] for name in names}
    domain = Domain({name: replace(number, thresholds=()) for name, number in numbers.items()})
    box = HistGradientBoostingClassifier(random_state=0, max_iter=40)
    box.fit(frame[:N_TRAINING].to_numpy(), (full.labels[rows[:N_TRAINING]] == full.classes[1]).astype(np.int64))
    return Scene(name="Adult", frame=frame, domain=domain, decide=lambda X: box.predict(X.to_numpy()))


def as_many(attribute: Attribute) -> tuple[float, ...]:
    """Return a linear grid of about as many points as both grids have together."""
    both = where_trees_split(Domain({"x": attribute}))["x"]
    return public_grid(attribute, size=max(1, len(getattr(both, "thresholds", ()))))


PLACES: tuple[Callable[[Domain], Domain | None], ...] = (
    lambda domain: with_cuts(domain, public_grid),
    lambda domain: with_cuts(domain, as_many),
    where_trees_split,
    lambda domain: None,
)
"""Where trees may split, by the order of the grids; None for anywhere."""


def grids(scene: Scene, k: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield for each grid: share of trees of one decision, fidelity, the same guided, mean bits about one record."""
    training, others = scene.frame[:N_TRAINING], scene.frame[N_TRAINING:]
    explainer = SurrogateExplainer(scene.decide, k, domain=scene.domain, classes=(0, 1), goal=None).fit(training)
    release, fitted, growth = explainer.release_, explainer.training_, plan_of(explainer, "training").growth
    columns = read(open_records(others, scene.domain)[2], scene.domain, refuse_outside=False)
    answers = scene.decide(others)
    for name, grid in zip(GRIDS, PLACES, strict=True):
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
            {
                ONE: float(np.mean([len({cell.evidence.prediction for cell in tree.cells}) == 1 for tree in trees])),
                FIDELITY: agreement(explainer.release_, columns, answers, 1),
                "fidelity guided": agreement(explainer.release_, columns, answers, 3),
                BITS: together.value.bits_mean if isinstance(together, Measured) else float("nan"),
            },
        )


def few(scene: Scene, seed: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield for even steps, and for few cut points as they are, what trees of both kinds are worth.

    Of private group trees, epsilon 4: the share of one decision, and fidelity. Of the labels' agreement: of the best
    tree of depth 3 over coarse conditions, and of the private one at epsilon 1.
    """
    training, others = scene.frame[:N_TRAINING], scene.frame[N_TRAINING:]
    answers, truth = scene.decide(training), scene.decide(others)
    for name, grid in zip(FEW, (public_grid, few_cuts), strict=True):
        # Declared thresholds are the cut points: a domain that declares either has them.
        seven, nine = (with_cuts(scene.domain, partial(grid, size=size)) for size in (CUTS, COARSE_CUTS))
        explainer = SurrogateExplainer(
            scene.decide, int(LARGE), domain=seven, classes=(0, 1), epsilon=4.0, random_state=seed
        ).fit(training)
        columns = read(open_records(others, seven)[2], seven, refuse_outside=False)
        decisions = [{cell.evidence.prediction for cell in tree.cells} for tree in explainer.release_.trees]
        settings: dict[str, Any] = {"literals": "coarse", "domain": nine, "classes": (0, 1), "max_depth": 3}
        best = OptimalTreeClassifier(**settings).fit(training, answers)
        private = PrivateTreeClassifier(epsilon=1.0, random_state=seed, **settings).fit(training, answers)
        yield (
            name,
            {
                ONE: float(np.mean([len(one) == 1 for one in decisions])),
                FIDELITY: agreement(explainer.release_, columns, truth, 1),
                "accuracy of the best": float(np.mean(best.predict(others) == truth)),
                ACCURACY: float(np.mean(private.predict(others) == truth)),
            },
        )


@cache
def found(scene: str, kind: tuple[str, ...], k: str, seed: str) -> dict[str, dict[str, float]]:
    """Return the figures of all cut points of a kind."""
    made = {"amounts": amounts, "california": california, "adults": adults}[scene](int(seed))
    with warnings.catch_warnings():
        # Each fit would count as a further one on the same records.
        warnings.simplefilter("ignore")
        return dict(few(made, int(seed)) if kind == FEW else grids(made, int(k)))


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the figures of one row."""
    kind = FEW if key["cut points"] in FEW else GRIDS
    figures = found(key["scene"], kind, key["k"], key["seed"])[key["cut points"]]
    return {name: figures.get(name) for name in FIGURES}


def values(rows: Sequence[Row], scene: str, cuts: str, k: str, figure: str) -> list[float]:
    """Return a figure of each seed."""
    return [float(row[figure]) for row in select(rows, scene=scene, k=k, **{"cut points": cuts})]


def error(rows: Sequence[Row], *of: tuple[str, str, str, str]) -> float:
    """Return the largest standard error of some figures."""
    several = [values(rows, *one) for one in of]
    return max(float(stdev(one) / len(one) ** 0.5) for one in several)


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the tables and sentences of the page."""

    def mean(scene: str, cuts: str, k: str, figure: str) -> float:
        return fmean(values(rows, scene, cuts, k, figure))

    shown = {"even steps": GRIDS[0], "both grids": GRIDS[2], "exact values": GRIDS[3]}
    digits = {ONE: 2, FIDELITY: 3, BITS: 1}
    lines = [
        [
            name,
            *(
                "{} ({})".format(*(f"{mean('amounts', cuts, k, figure):.{n}f}" for k in (LARGE, SMALL)))
                for figure, n in digits.items()
            ),
        ]
        for name, cuts in shown.items()
    ]
    exactness = error(rows, *(("amounts", cuts, k, FIDELITY) for cuts in shown.values() for k in (SMALL, LARGE)))
    of_one = error(rows, *(("amounts", cuts, k, ONE) for cuts in shown.values() for k in (SMALL, LARGE)))
    steps, both = (f"{mean('california', cuts, LARGE, FIDELITY):.3f}" for cuts in (GRIDS[0], GRIDS[2]))
    of_steps = error(rows, *(("california", cuts, LARGE, FIDELITY) for cuts in (GRIDS[0], GRIDS[2])))

    def raised(scene: str, figure: str) -> str:
        return " to ".join(f"{mean(scene, cuts, LARGE, figure):.3f}" for cuts in FEW)

    of_few = error(
        rows, *((scene, cuts, LARGE, figure) for scene in SCENES for cuts in FEW for figure in (FIDELITY, ACCURACY))
    )
    return {
        "cut points": markdown(["cut points", "one decision", "fidelity", "bits"], lines)
        + f"\n\nThree seeds, standard errors of fidelity up to {exactness:.3f}, of the share {of_one:.3f}. On "
        f"California fidelity is {both}, and {steps} in even steps (standard errors up to {of_steps:.3f}).",
        "few cut points": "From even steps to ratios, fidelity and accuracy go:\n\n"
        + markdown(
            ["records", "fidelity", "accuracy"],
            [
                [name, raised(scene, FIDELITY), raised(scene, ACCURACY)]
                for scene, name in zip(SCENES, ("lognormal amounts", "California", "Adult's numbers"), strict=True)
            ],
        )
        + f"\n\nStandard errors are up to {of_few:.3f}.",
    }


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
