"""Additive models of counts of events, private and ordinary: ``python benchmarks/events.py [--page]``.

A row of ``events.csv`` is the share of the Poisson deviance on a fifth of the records that a model explains beyond the
mean rate. Claims are made: their rate depends on age, power, area and density, with exposures below a year. Charges are
those of COMPAS before the present one, with the years since 17 as exposure. GLASSINE_DATA names the folder of the
datasets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.linear_model import PoissonRegressor

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.additive_data import COMPAS, compas  # noqa: E402 - after the path is set
from benchmarks.kept_rows import kept  # noqa: E402
from glassine import Category, Domain, Integer, Real  # noqa: E402
from glassine.learners import EBMRegressor, PrivateEBMRegressor  # noqa: E402
from papers.common.results import Row, one  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

SEEDS = 5
EPSILONS = ("0.5", "1", "4")
DATA = {"claims": "claims, 30,000", "charges": "charges, 7,214"}
WAYS = {
    "regression": "Poisson regression",
    "ordinary": "additive",
    **{f"epsilon {epsilon}": f"at epsilon {epsilon}" for epsilon in EPSILONS},
    "squares": "squared error at 1",
}
KEYS = [{"data": data, "seed": str(seed)} for data in DATA for seed in range(SEEDS)]


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Records with counts of events."""

    frame: pl.DataFrame
    counts: Any  # Shape (n,)
    exposure: str
    domain: Domain
    most: int  # End of the public range of counts


def claims(seed: int) -> Counted:
    """Return made insurance policies, of which about one in ten has a claim."""
    rng, n = np.random.default_rng(seed), 30_000
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "power": rng.integers(4, 16, n),
            "area": rng.choice(list("ABCDEF"), n),
            "density": rng.gamma(2.0, 1500.0, n).clip(1, 30_000),
            "years": rng.uniform(0.05, 1.0, n),
        }
    )
    age, power, area, density, years = (frame[name].to_numpy() for name in frame.columns)
    odds = (
        -2.2 + 0.9 * np.exp(-(age - 18) / 8) + 0.05 * (power - 8) + 0.5 * (area == "F") + 0.1 * np.log(density / 1000)
    )
    domain = Domain(
        {
            "age": Integer(18, 90),
            "power": Integer(4, 15),
            "area": Category(tuple("ABCDEF")),
            "density": Real(0.0, 30_000.0),
            "years": Real(0.01, 1.0),
        }
    )
    counts = rng.poisson(np.exp(odds) * years).clip(0, 5)
    return Counted(frame=frame, counts=counts, exposure="years", domain=domain, most=5)


def charges(seed: int) -> Counted:
    """Return the people of COMPAS with their earlier charges, and the years in which these could be made."""
    data = compas()
    names = ["sex", "age", "race", "c_charge_degree"]
    frame = data.frame.select(names).with_columns(years=(pl.col("age") - 17).clip(1, 83))
    domain = Domain({**{name: COMPAS[name] for name in names}, "years": Integer(1, 83)})
    counts = data.frame["priors_count"].to_numpy().astype(int).clip(0, 40)
    return Counted(frame=frame, counts=counts, exposure="years", domain=domain, most=40)


def deviance(counts: Any, mean: Any) -> float:
    """Return the mean Poisson deviance."""
    mean = np.maximum(mean, 1e-9)
    logs = np.where(counts > 0, counts * np.log(np.maximum(counts, 1) / mean), 0.0)
    return float(2 * (logs - (counts - mean)).mean())


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the share of the deviance that each model explains."""
    seed = int(key["seed"])
    data = (claims if key["data"] == "claims" else charges)(seed)
    order = np.random.default_rng(seed).permutation(len(data.counts))
    train, test = order[len(order) // 5 :], order[: len(order) // 5]
    counts, exposures = data.counts, data.frame[data.exposure].to_numpy().astype(float)
    rate = counts[train].sum() / exposures[train].sum()
    null = deviance(counts[test], rate * exposures[test])
    events: dict[str, Any] = {"objective": "poisson", "exposure": data.exposure}
    public: dict[str, Any] = {"domain": data.domain, "target_range": (0, data.most)}

    def explained(model: Any, per: Any = exposures) -> str:
        fitted = model.fit(data.frame[train], counts[train])
        return f"{1 - deviance(counts[test], fitted.predict(data.frame[test]) * per[test]) / null:.4f}"

    others = data.frame.drop(data.exposure).to_dummies(
        [name for name in data.frame.columns if data.frame[name].dtype == pl.String]
    )
    design = others.to_numpy().astype(float)
    design = (design - design.mean(axis=0)) / design.std(axis=0)
    plain = PoissonRegressor(alpha=1e-4, max_iter=1000).fit(
        design[train], counts[train] / exposures[train], sample_weight=exposures[train]
    )
    out: dict[str, object] = {
        "regression": f"{1 - deviance(counts[test], plain.predict(design[test]) * exposures[test]) / null:.4f}",
        "ordinary": explained(EBMRegressor(**public, **events)),
    }
    for epsilon in EPSILONS:
        made = PrivateEBMRegressor(epsilon=float(epsilon), random_state=seed, **public, **events)
        out[f"epsilon {epsilon}"] = explained(made)
    squares = PrivateEBMRegressor(epsilon=1.0, random_state=seed, **public)
    return {**out, "squares": explained(squares, np.ones(len(counts)))}


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""

    def cell(data: str, way: str) -> str:
        return f"{np.mean([float(one(rows, data=data, seed=str(seed))[way]) for seed in range(SEEDS)]):.3f}"

    lines = [[words, *(cell(data, way) for way in WAYS)] for data, words in DATA.items()]
    return {"events": markdown(["data", *WAYS.values()], lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
