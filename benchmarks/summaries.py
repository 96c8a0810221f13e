"""Private summaries: ``python benchmarks/summaries.py [--data adult] [--epsilons 1 4] [--splits 3] [--near-optimal]``.

Prints, as CSV, AUC and accuracy on a fifth of the records that is kept aside, or RMSE and R squared of a number, of
models from one summary and of direct fits at the same budget, and processor seconds. With ``--shared 2 4`` also of one
of so many direct fits that share this budget. Noise comes from the operating system, or with ``--seed`` from a seed
and the split's number. ``GLASSINE_DATA`` names the data.

With ``--near-optimal`` it prints instead how the near-optimal trees of a summary compare with those of its training
records: all trees of depth 3, or 2 of a number, on the summary's literals, within one point of the lowest errors. Those
of a number are squared errors, as shares of its variance.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import public_data  # noqa: E402 - after the path is set
from benchmarks.additive_data import LOADERS, Additive  # noqa: E402
from glassine import (  # noqa: E402
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateSummary,
    PrivateTreeRegressor,
)
from glassine.data.conform import Outside, conform  # noqa: E402
from glassine.learners.additive.grids import read_cells  # noqa: E402
from glassine.learners.additive.records import PARTS, parts_of, scaled  # noqa: E402
from glassine.learners.publishing import probabilities  # noqa: E402
from glassine.learners.summaries.regions import RegionCounts, Regions, Splits  # noqa: E402
from glassine.learners.summaries.reliance import RelianceSearch  # noqa: E402
from glassine.learners.summaries.tree_sets import LeafLoss, TreeSet  # noqa: E402
from glassine.models import AdditiveModel  # noqa: E402
from glassine.privacy.conversions import epsilon_from_mu, mu_from_epsilon  # noqa: E402

TOLERANCE = 1e-9
"""Difference of two reliances, as shares of the records, that is rounding."""


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the processor seconds that it took."""
    used = time.process_time()
    result = work()
    return result, time.process_time() - used


def exact_counts(holds: np.ndarray, weights: np.ndarray, splits: Splits, regions: Regions) -> RegionCounts:
    """Return the counts of records, given by the literals that they satisfy (n, literals) and their parts by class."""
    both = np.stack([holds, ~holds], axis=2).reshape(len(holds), -1).astype(np.float32)
    both = np.concatenate([both, np.ones((len(holds), 1), dtype=np.float32)], axis=1)
    n_classes = weights.shape[1]
    whole = np.empty((len(regions.pairs), n_classes))
    inside = np.empty((len(regions.pairs), splits.number, n_classes))
    for label in range(n_classes):
        some = weights[:, label] > 0
        own = both[some]
        true = np.ascontiguousarray(own[:, :-1:2]) * weights[some, label, None]
        for first in np.unique(regions.pairs[:, 0]):
            rows = np.flatnonzero(regions.pairs[:, 0] == first)
            within = own[:, first] > 0
            inner = own[within][:, regions.pairs[rows, 1]]
            whole[rows, label] = inner.T @ weights[some, label][within]
            inside[rows, :, label] = inner.T @ true[within]
    return RegionCounts(whole=whole, inside=inside, margins=())


def compare_near_optimal(summary: PrivateSummary, columns: Any, target: np.ndarray) -> dict[str, float]:
    """Return how the near-optimal trees of a summary compare with those of the records that it was made from.

    Trees and their errors are exact on the records; so are the intervals of reliance.
    """
    number = summary.released_.squares is not None
    depth, growth = (2, summary._growth(None)) if number else (3, summary._growth("errors"))
    near, spent = timed(lambda: summary.near_optimal(depth))
    splits = Splits.of(growth)
    loss = LeafLoss()
    if not number:
        weights = np.eye(2)[target]
    else:
        values = scaled(target, summary.target_range_)
        weights = np.zeros((len(target), summary.released_.n_classes))
        for levels, parts in parts_of(values, weights.shape[1]):
            weights[np.arange(len(target)), levels] += (np.zeros(0) if parts is None else parts) / PARTS
        loss = LeafLoss(levels=summary.released_.levels, variance=float(values.var()))
    coarse = summary.released_.coarse
    cells = read_cells(columns, [axis.grid for axis in coarse])
    codes = np.stack([axis.bin_of[own] for axis, own in zip(coarse, cells, strict=True)])
    regions = Regions.of(splits.number, depth)
    counts = exact_counts(splits.holds(codes), weights, splits, regions)
    margins = tuple(
        np.bincount(own, minlength=size) / len(target) for own, size in zip(codes, splits.sizes, strict=True)
    )
    counts = RegionCounts(whole=counts.whole, inside=counts.inside, margins=margins)
    truth = TreeSet(splits, counts, depth=depth, slack=near.slack, least=growth.least, loss=loss)
    excess = []
    for tree in near.sample(300, random_state=0):
        predicted = tree.predict(columns)
        if number:
            missed = float(((predicted - target) ** 2).mean() / target.var())
        else:
            missed = float((predicted != summary.classes_[target]).mean())
        excess.append(missed - truth.lowest_share)
    true_reliance, own_reliance = RelianceSearch(truth), RelianceSearch(near._trees)
    ranges = [true_reliance.of(k) for k in range(len(splits.sizes))]
    low, high = (np.array([one[i] / truth.total for one in ranges]) for i in (0, 1))
    own_low, own_high = (np.array([getattr(one, end) for one in near.reliances]) for end in ("low", "high"))
    own = np.array([own_reliance.of(k) for k in range(len(splits.sizes))]) / near._trees.total
    without = {
        one.attribute
        for k, one in enumerate(near.reliances)
        if (truth.lowest_without(k) - truth.lowest) / truth.total > near.slack
    }
    # Attributes in one bin can be tested by no tree, here or there.
    used = np.isin(np.arange(len(splits.sizes)), splits.attributes)
    holds = (own_low <= low + TOLERANCE) & (own_high >= high - TOLERANCE)
    alone = (own[:, 0] <= low + TOLERANCE) & (own[:, 1] >= high - TOLERANCE)
    return {
        "lowest errors, summary": near.lowest_errors,
        "lowest errors, records": truth.lowest_share,
        "share of trees within 1 point": float((np.array(excess) <= 0.01).mean()),
        "share of trees within 2 points": float((np.array(excess) <= 0.02).mean()),
        "attributes": float(used.sum()),
        "intervals that hold both ends": float(holds[used].mean()),
        "the same without replicates": float(alone[used].mean()),
        "width against the true one": float((own_high - own_low)[used].sum() / (high - low)[used].sum()),
        "indispensable, summary": float(len(near.indispensable)),
        "indispensable, records": float(len(without)),
        "indispensable, both": float(len(without & set(near.indispensable))),
        "indispensable, most replicates": float(sum(one.agreement > 0.5 for one in near.reliances)),
        "of these, records": float(len(without & {one.attribute for one in near.reliances if one.agreement > 0.5})),
        "ends that are held": float(
            ((own_low <= low + TOLERANCE).sum() + (own_high >= high - TOLERANCE).sum()) / (2 * len(low))
        ),
        "seconds": spent,
    }


def german() -> Additive:
    """Return the German credit data, twelve of their attributes."""
    data = public_data.german()
    return Additive(
        name="german", frame=data.frame, target=data.labels, domain=data.domain, classes=tuple(data.classes)
    )


def direct(data: Additive, epsilon: float, **public: Any) -> dict[str, Callable[[], Any]]:
    """Return what fits an additive model, and of a number a tree of depth 3, at a budget of its own."""
    if data.target_range is None:
        return {"additive": lambda: PrivateEBMClassifier(epsilon, 1e-6, classes=data.classes, **public)}
    public["target_range"] = data.target_range
    return {
        "additive": lambda: PrivateEBMRegressor(epsilon, 1e-6, **public),
        "tree of depth 3": lambda: PrivateTreeRegressor(3, epsilon, **public),
    }


def quality(model: Any, records: Any, truth: np.ndarray, *, number: bool) -> tuple[float, float]:
    """Return AUC and accuracy; or root mean squared error, and its square as a share of the variance, from one."""
    if number:
        errors = float(((model.predict(records) - truth) ** 2).mean())
        return errors**0.5, 1 - errors / float(truth.var())
    of_bins = isinstance(model, AdditiveModel)
    chances = model.predict_proba(records)[:, 1] if of_bins else probabilities(model)[model.apply(records), 1]
    return float(roc_auc_score(truth, chances)), float(((chances > 0.5) == truth).mean())


def main() -> None:
    """Print one line for each budget, split and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", choices=[*LOADERS, "german"], default="adult")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.5, 1.0, 4.0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--shared", type=int, nargs="*", default=[], help="direct fits that share the budget")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--near-optimal", action="store_true")
    given = parser.parse_args()
    data = german() if given.data == "german" else LOADERS[given.data]()
    number = data.target_range is not None
    figures = "rmse,r2" if number else "auc,accuracy"
    sys.stdout.write("epsilon,split," + ("figure,value\n" if given.near_optimal else f"model,{figures},seconds\n"))
    outside = Outside.CLIP | Outside.KEEP_UNDECLARED
    for split, epsilon in itertools.product(range(given.first, given.first + given.splits), given.epsilons):
        train, test = data.split(split)
        records, target = conform(data.frame[test], data.domain, outside=outside), np.asarray(data.target[test])
        truth = target.astype(np.float64) if number else target == (data.classes or ())[1]
        seed = None if given.seed is None else given.seed + split
        public: dict[str, Any] = {"domain": data.domain, "random_state": seed}
        summary, spent = timed(
            lambda epsilon=epsilon, public=public, train=train: PrivateSummary(
                epsilon, 1e-6, classes=data.classes, target_range=data.target_range, **public
            ).fit(data.frame[train], data.target[train])
        )
        if given.near_optimal:
            columns = conform(data.frame[train], data.domain, outside=outside)
            known = np.asarray(data.target[train])
            known = (
                np.clip(known, *data.target_range)
                if data.target_range
                else (known == (data.classes or ())[1]).astype(np.int64)
            )
            for name, value in compare_near_optimal(summary, columns, known).items():
                sys.stdout.write(f"{epsilon:g},{split},{name},{value:.4g}\n")
            sys.stdout.flush()
            continue
        sys.stdout.write(f"{epsilon:g},{split},summary,,,{spent:.2f}\n")
        makes: dict[str, Callable[[], Any]] = {
            "additive": summary.additive,
            "tree of depth 4": lambda summary=summary: summary.tree(4),
            "list of 5 rules": lambda summary=summary: summary.rule_list(5),
        }
        if number:
            makes["tree of depth 3"] = lambda summary=summary: summary.tree(3)
        else:
            for measure in ("gini", "log_loss", "errors"):
                makes[f"tree of depth 4 for {measure}"] = partial(summary.tree, 4, measure)
            makes["scorecard"] = summary.scorecard
        for fits in (1, *given.shared):
            # Gaussian mechanisms compose by their squared mu: each of so many fits gets an equal share of it.
            own = epsilon if fits == 1 else epsilon_from_mu(mu_from_epsilon(epsilon, 1e-6) / fits**0.5, 1e-6)
            name = "direct" if fits == 1 else f"one of {fits} direct"
            for kind, make in direct(data, own, **public).items():
                makes[f"{kind} {name}"] = lambda make=make, train=train: (
                    make().fit(data.frame[train], data.target[train]).model_
                )
        for name, make in makes.items():
            model, spent = timed(make)
            first, second = quality(model, records, truth, number=number)
            sys.stdout.write(f"{epsilon:g},{split},{name},{first:.6g},{second:.4f},{spent:.2f}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
