"""Models of three sites as one, beside pooled records and the best site: ``python benchmarks/merging.py [--page]``.

Adult is dealt to three sites: at random; by age, as hospitals with other patients; or in unequal sizes. A row of
``merging.csv`` is the AUC on a fifth of the records that no site has: of additive models, and of those of summaries,
which are averaged as well or whose tables are added, the second and third following the plan of the first; and of trees
of depth 3 of these summaries. GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from benchmarks.public_data import adult  # noqa: E402
from glassine.learners import PrivateEBMClassifier, PrivateSummary, merge  # noqa: E402
from papers.common.results import Row, one  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

SEEDS = 5
DEALS = {"even": "at random", "age": "by age", "sizes": "70, 20 and 10%"}
WAYS = {"pooled": "all records", "merged": "merged", "best": "best site", "worst": "worst site"}
OF_SUMMARIES = {
    "pooled summary": "all records",
    "averaged": "scores averaged",
    "added": "tables added",
    "best summary": "best site",
    "pooled tree": "tree: all records",
    "added tree": "tables added",
    "best tree": "best site",
}
KEYS = [
    {"deal": deal, "epsilon": epsilon, "seed": str(seed)}
    for deal in DEALS
    for epsilon in ("0.5", "2")
    for seed in range(SEEDS)
]


def dealt(deal: str, age: Any, rng: np.random.Generator) -> Any:
    """Return the site of each record, shape (n,)."""
    if deal == "age":
        # Four in five go to the site of their age.
        own = np.searchsorted((31, 45), age)
        return np.where(rng.random(len(age)) < 0.8, own, rng.integers(0, 3, len(age)))
    return rng.choice(3, len(age), p=(0.7, 0.2, 0.1) if deal == "sizes" else None)


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the AUC of a fit on all records, of the merged model, and of the best and the worst site."""
    data, seed = adult(), int(key["seed"])
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.labels))
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    site = dealt(key["deal"], data.frame["age"].to_numpy()[train], rng)

    def fit(rows: Any, number: int) -> PrivateEBMClassifier:
        learner = PrivateEBMClassifier(
            epsilon=float(key["epsilon"]), domain=data.domain, classes=data.classes, random_state=10 * seed + number
        )
        return learner.fit(data.frame[rows], data.labels[rows])

    def area(model: Any) -> float:
        risk = model.predict_proba(data.frame[test])[:, 1]
        return float(roc_auc_score(data.labels[test] == data.classes[1], risk))

    sites = [fit(train[site == number], number) for number in range(3)]
    merged = merge([one.model_ for one in sites], [one.certificate_ for one in sites], persons="disjoint")
    alone = [area(one.model_) for one in sites]
    out = {"pooled": area(fit(train, 3).model_), "merged": area(merged.model), "best": max(alone), "worst": min(alone)}

    def summary(rows: Any, number: int, first: PrivateSummary | None = None, sites: int = 1) -> PrivateSummary:
        learner = PrivateSummary(
            epsilon=float(key["epsilon"]),
            domain=data.domain,
            classes=data.classes,
            random_state=10 * seed + number,
            follows=None if first is None else first.plan_,
            sites=sites,
        )
        return learner.fit(data.frame[rows], data.labels[rows])

    own = [summary(train[site == number], number) for number in range(3)]
    models = [one.additive() for one in own]
    certified = [one.certify(model) for one, model in zip(own, models, strict=True)]
    first = summary(train[site == 0], 0, sites=3)
    following = [first, *(summary(train[site == number], number, first) for number in (1, 2))]
    whole, pooled = PrivateSummary.merge(following, persons="disjoint"), summary(train, 3)
    out |= {
        "pooled summary": area(pooled.additive()),
        "averaged": area(merge(models, certified, persons="disjoint").model),
        "added": area(whole.additive()),
        "best summary": max(map(area, models)),
        "pooled tree": area(pooled.tree(max_depth=3)),
        "added tree": area(whole.tree(max_depth=3)),
        "best tree": max(area(one.tree(max_depth=3)) for one in own),
    }
    return {name: f"{value:.4f}" for name, value in out.items()}


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""

    def cell(deal: str, epsilon: str, way: str) -> str:
        return f"{np.mean([float(one(rows, deal=deal, epsilon=epsilon, seed=str(s))[way]) for s in range(SEEDS)]):.3f}"

    lines = [
        [words, epsilon, *(cell(deal, epsilon, way) for way in WAYS)]
        for deal, words in DEALS.items()
        for epsilon in ("0.5", "2")
    ]
    of_summaries = [
        [words, epsilon, *(cell(deal, epsilon, way) for way in OF_SUMMARIES)]
        for deal, words in DEALS.items()
        for epsilon in ("0.5", "2")
    ]
    return {
        "merging": markdown(["records of the sites", "epsilon", *WAYS.values()], lines),
        "merging-summaries": markdown(["records of the sites", "epsilon", *OF_SUMMARIES.values()], of_summaries),
    }


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
