"""Where restricted surrogate trees may split, and what it is worth: ``python benchmarks/surrogate_cuts.py``.

The same groups get trees on the linear grid alone, on a linear grid of as many points as both grids have, on both
public grids (what a release has), and with exact thresholds, which are not public. The records are simulated amounts,
lognormal under wide public bounds, and California's block groups with round public bounds; GLASSINE_DATA names the
folder of the latter, which are left out without it. Means over three seeds, with their standard errors; fidelity is
measured on records that were not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl
from public_data import DATA
from sklearn.ensemble import HistGradientBoostingClassifier

from glassine import Domain, Integer, Real, SurrogateExplainer
from glassine.attacks.outcome import Measured
from glassine.auditing.release_attacks import together_of
from glassine.auditing.release_inputs import inputs_of_fit
from glassine.data.labels import Sample
from glassine.domain.attributes import Attribute
from glassine.domain.grid import public_grid, with_cuts
from glassine.surrogates.answers import Names
from glassine.surrogates.group_trees import grow_trees, where_trees_split
from glassine.surrogates.measuring import agreement
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


def main() -> None:
    """Print a table for each scene and k."""
    for scene in (amounts, california) if DATA.is_dir() else (amounts,):
        for k in KS:
            rows: dict[str, list[list[float]]] = {}
            for seed in SEEDS:
                for name, figures in measured(scene(seed), k):
                    rows.setdefault(name, []).append(figures)
            print(f"{scene.__name__}, k = {k}: trees of one decision, fidelity, guided, bits", flush=True)  # noqa: T201
            for name, several in rows.items():
                mean, error = np.mean(several, axis=0), np.std(several, axis=0, ddof=1) / np.sqrt(len(SEEDS))
                shown = "  ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True))
                print(f"  {name:16s} {shown}", flush=True)  # noqa: T201 - a benchmark prints


if __name__ == "__main__":
    main()
