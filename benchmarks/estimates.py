"""How far the estimates of an audit are exceeded, and the constants with which they cover: a row a model.

Members are trained on; everybody else in the dataset stands for the population. Measured are

- of trees, the advantage of the best attack on (leaf, outcome): it accuses where the published share exceeds that of
  one half of the population, and is measured on the other half. Beside it stands A, what the counts imply;
- of trees, how many people are certain only because they are members: of the C records of a pure leaf those that
  the population's share of other outcomes there would make wrong. Beside it stands the rule of three, and the rule
  with a level that is divided by the number of leaves, since the learner chose which are pure;
- of additive models and scorecards, the best of the gap in accuracy and the loss by a threshold, chosen on one half of
  both sides and measured on the other. Beside it stands the root of the law by which it grows.

A constant that covers is the 95th percentile of measured over estimated where the estimate is within reach of its
limit. Numbers are predicted as classes: above the median or not. GLASSINE_DATA names the folder of the datasets.

    python benchmarks/estimates.py run [DATASET ...]   # writes benchmarks/estimates.csv; or adds rows of some datasets
    python benchmarks/estimates.py tables              # prints the tables from it
"""

from __future__ import annotations

import csv
import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.tree import DecisionTreeClassifier

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import additive_data  # noqa: E402
from benchmarks.additive_data import Additive  # noqa: E402
from benchmarks.verdicts import dealt, german_credit, halves  # noqa: E402
from glassine.learners import EBMClassifier, ScorecardClassifier  # noqa: E402
from glassine.models.additive_scores import bin_indices  # noqa: E402
from glassine.models.implied import OutcomeCounts, implied_advantage, made_certain  # noqa: E402

OUT = ROOT / "benchmarks" / "estimates.csv"
FIELDS = ("data", "kind", "settings", "n", "leaves", "implied", "measured", "certain", "by three", "by leaves", "root")
SIZES = (400, 1200, 3000)
LEAVES = (1, 2, 4, 8, 15, 40, 80)
LEVEL = 0.05
MOST = 12_000
"""Most records of the population: more settle nothing."""


def datasets() -> Iterator[Additive]:
    """Yield datasets of two classes; numbers above their median or not."""
    yield from (additive_data.adult(), german_credit(), additive_data.compas(), additive_data.telco())
    for data in (additive_data.california(), additive_data.wine(), additive_data.elevators(), additive_data.pol()):
        above = (data.target > np.median(data.target)).astype(int)
        yield replace(data, target=above, classes=(0, 1), target_range=None)


def sides(data: Additive, n: int, *, encode: bool) -> tuple[Any, pl.DataFrame, np.ndarray, pl.DataFrame, np.ndarray]:
    """Return the deal, members and population with their outcomes."""
    deal = dealt(data, n, seed=n, encode=encode)
    columns = data.frame.columns
    rest = data.frame.with_row_index("row").drop_nulls()
    order = np.random.default_rng(n).permutation(len(rest))
    X, y = deal.side(0)
    # The first of the deal are the members; all that comes after them is the population.
    others = order[deal.n : deal.n + MOST]
    frame, row = rest[others], rest["row"].to_numpy()[others]
    made: dict[str, Any] = {}
    for name in columns:
        kept = [one for one in deal.frame.columns if one == name or (encode and one.startswith(f"{name}="))]
        for one in kept:
            made[one] = frame[name] if one == name else (frame[name] == one.removeprefix(f"{name}=")).cast(pl.Float64)
    w = np.unique(data.target, return_inverse=True)[1][row]
    return deal, X, y, pl.DataFrame({name: made[name] for name in deal.frame.columns}), w


def of_tree(fitted: Any, X: Any, y: np.ndarray, Z: Any, w: np.ndarray) -> dict[str, object]:
    """Return estimates and measures of a tree."""
    leaf, other = fitted.apply(X), fitted.apply(Z)
    places = np.unique(leaf)
    counts, shares = np.zeros((len(places), 2)), np.zeros((len(places), 2))
    np.add.at(counts, (np.searchsorted(places, leaf), y), 1)
    np.add.at(shares, (np.searchsorted(places, other), w), 1)
    known = OutcomeCounts(lower=counts, upper=counts, n_outcomes=2)
    keys, seen = np.searchsorted(places, leaf) * 2 + y, np.searchsorted(places, other) * 2 + w
    fold, reached = np.random.default_rng(0).integers(2, size=len(seen)), []
    for side in (0, 1):
        p = np.bincount(keys, minlength=2 * len(places)) / len(keys)
        q = np.bincount(seen[fold != side], minlength=2 * len(places)) / (fold != side).sum()
        accused = p > q
        reached.append(accused[keys].mean() - accused[seen[fold == side]].mean())
    pure = counts.min(axis=1) == 0
    held = counts[pure].sum(axis=1)
    wrong = shares[pure, counts[pure].argmin(axis=1)] / np.maximum(shares[pure].sum(axis=1), 1)
    reach = math.log(max(1, len(places)) / LEVEL)
    return {
        "leaves": len(places),
        "implied": implied_advantage(known).upper,
        "measured": float(np.mean(reached)),
        "certain": float((held * wrong).sum()) / len(y),
        "by three": made_certain(known).upper / len(y),
        "by leaves": float(np.minimum(held, reach).sum()) / len(y),
    }


def of_scores(model: Any, X: Any, y: np.ndarray, Z: Any, w: np.ndarray) -> dict[str, object]:
    """Return the root of the law and the measured advantage of an additive model."""
    proba = [np.asarray(model.predict_proba(frame)) for frame in (X, Z)]
    losses = proba[0][np.arange(len(y)), y], proba[1][np.arange(len(w)), w]
    right = [p.argmax(axis=1) == outcome for p, outcome in zip(proba, (y, w), strict=True)]
    per_record = 0.0
    for term, places in zip(model.terms, bin_indices(model, X), strict=True):
        held = np.bincount(places).tolist() if len(term.attributes) == 1 else []
        per_record += float(sum(1 - size / len(y) for size in held if size)) / len(y)
    gap = float(right[0].mean() - right[1].mean())
    return {"measured": max(gap, halves(losses)), "root": math.sqrt(per_record / (2 * math.pi))}


def rows(data: Additive) -> Iterator[dict[str, object]]:
    """Train the models of one dataset, and yield a row of each."""
    for n in SIZES:
        if 2 * n > len(data.frame.drop_nulls()):
            continue
        deal, X, y, Z, w = sides(data, n, encode=True)
        for depth in (3, 5, 8, None):
            for leaf in LEAVES:
                fitted = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, random_state=0)
                fitted.fit(X.to_numpy(), y)
                row = {"data": data.name, "kind": "tree", "settings": f"depth {depth}, leaf {leaf}", "n": deal.n}
                yield row | of_tree(fitted, X.to_numpy(), y, Z.to_numpy(), w)
        deal, X, y, Z, w = sides(data, n, encode=False)
        Z, w = Z[:4000], w[:4000]
        for pairs in (0, 4):
            model = EBMClassifier(domain=deal.domain, interactions=pairs).fit(X, y).model_
            row = {"data": data.name, "kind": "additive without counts", "settings": f"pairs {pairs}", "n": deal.n}
            yield row | of_scores(model, X, y, Z, w)
        card = ScorecardClassifier(domain=deal.domain).fit(X, y).model_
        row = {"data": data.name, "kind": "scorecard", "settings": "", "n": deal.n}
        yield row | of_scores(card, X, y, Z, w)


def run(names: Sequence[str]) -> None:
    """Write a row of every model."""
    start = time.process_time()
    with OUT.open("a" if names else "w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if not stream.tell():
            writer.writeheader()
        for data in datasets():
            if names and data.name not in names:
                continue
            for row in rows(data):
                writer.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()})
                stream.flush()
            sys.stderr.write(f"{data.name}: {time.process_time() - start:.0f} CPU s\n")


def tables() -> None:
    """Print by how much estimates are exceeded, and the constants that cover."""
    with OUT.open(newline="") as stream:
        found = list(csv.DictReader(stream))
    trees = [row for row in found if row["kind"] == "tree"]
    write = sys.stdout.write
    for name, chosen in (("all trees", trees), ("A at most 0.1", [r for r in trees if float(r["implied"]) <= 0.1])):
        ratios = np.array([float(r["measured"]) / float(r["implied"]) for r in chosen])
        write(
            f"{name}: {len(chosen)}, measured over A: median {np.median(ratios):.2f}, 95th percentile "
            f"{np.quantile(ratios, 0.95):.2f}, exceeded in {(ratios > 1).sum()}\n"
        )
    pure = [row for row in trees if float(row["by three"]) > 0]
    for by in ("by three", "by leaves"):
        ratios = np.array([float(r["certain"]) / float(r[by]) for r in pure])
        write(
            f"certain, {by}: {len(pure)} trees with a pure leaf, exceeded in {(ratios > 1).sum()}; 95th percentile "
            f"{np.quantile(ratios, 0.95):.2f}\n"
        )
    for kind in ("additive without counts", "scorecard"):
        own = [row for row in found if row["kind"] == kind]
        roots, measured = (np.array([float(r[key]) for r in own]) for key in ("root", "measured"))
        harmful = measured >= 0.1
        best = max(np.linspace(0.05, 1, 96), key=lambda k: _youden(k * roots > 0.07, harmful))
        write(f"{kind}: {len(own)}, {harmful.sum()} with 0.1 or more; k {best:.2f}, rank correlation ")
        write(f"{np.corrcoef(roots.argsort().argsort(), measured.argsort().argsort())[0, 1]:.2f}\n")
        for k in (best, 0.2, 0.25, 0.3, 0.35):
            refused = k * roots > 0.07
            caught, passed = int((refused & harmful).sum()), int((~refused & ~harmful).sum())
            write(f"  k {k:.2f}: {caught} of {harmful.sum()} caught, {passed} of {(~harmful).sum()} pass\n")


def _youden(refused: np.ndarray, harmful: np.ndarray) -> float:
    return float(
        (refused & harmful).sum() / max(1, harmful.sum()) - (refused & ~harmful).sum() / max(1, (~harmful).sum())
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "run":
        run(sys.argv[2:])
    else:
        tables()
