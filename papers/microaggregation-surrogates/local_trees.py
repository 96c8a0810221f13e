"""What the local trees of each dataset, group size and form explain, how large they are, and what they give away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from settings import FEW_SHARES, PUBLISHED_SEED, SEEDS, SHARES, Labels, Split, network, records
from sklearn.tree import DecisionTreeClassifier
from study import Options, Row, options, resume

from glassine.attacks.membership.confidence_intervals import newcombe
from glassine.attacks.membership.midpoint import MidpointResult, midpoint_attack
from glassine.attacks.outcome import Measured
from glassine.records.columns import ConformedColumns
from glassine.surrogates import SurrogateExplainer, SurrogateRelease
from glassine.surrogates.query_input import open_records, read

FORMS: dict[str, dict[str, Any]] = {
    "paper": {"form": "paper"},
    "paper, black-box labels": {"form": "paper", "labels": "black-box"},
    "restricted": {"form": "restricted"},
    "restricted, true labels": {"form": "restricted", "labels": "true"},
}
"""Parameters of the explainer: the paper's and our default, each on either kind of labels."""

BOTH = ("paper", "restricted")
N_DRAWS = 3
MORE_CLOSEST = (2, 5, 10)
NEAR = 3
"""The attacker seeks a tree's people among those to whom its representative is one of so many closest."""

Bools = npt.NDArray[np.bool_]


def lost(n: int, k: int) -> int:
    """Return how many of n records Algorithm 2, as it is printed, leaves without a group."""
    while n > 3 * k:
        n -= 2 * k
    return n - k if 2 * k <= n < 3 * k else 0


def columns_of(release: SurrogateRelease, X: npt.NDArray[Any]) -> ConformedColumns:
    """Return records as a release reads them."""
    return read(open_records(X, release.domain)[2], release.domain, refuse_outside=False)


def share_alone(release: SurrogateRelease, columns: ConformedColumns, groups: Labels) -> float:
    """Return the share of the training records that are the only ones of their leaf."""
    alone = 0
    for index, tree in enumerate(release.trees):
        cells = tree.apply(columns.take(np.flatnonzero(groups == index)))
        alone += int((np.bincount(cells) == 1).sum())
    return alone / len(groups)


def share_one_class(groups: Labels, labels: npt.NDArray[Any], n_groups: int) -> Bools:
    """Return which groups hold one class only."""
    codes = np.unique(labels, return_inverse=True)[1]
    table = np.zeros((n_groups, int(codes.max()) + 1))
    np.add.at(table, (groups, codes), 1)
    return np.asarray((table > 0).sum(axis=1) == 1)


def midpoints(release: SurrogateRelease, split: Split, closest: npt.NDArray[np.intp]) -> dict[str, object]:
    """Return how many members the thresholds identify; the others are the records that were held out."""
    candidates = np.concatenate([split.X, split.X_out])
    truth = np.arange(len(candidates)) < len(split.X)
    near = closest[:, : min(NEAR, release.n_groups)]
    order = np.argsort(near.ravel(), kind="stable")
    owners = np.split(order // near.shape[1], np.cumsum(np.bincount(near.ravel(), minlength=release.n_groups))[:-1])
    found = midpoint_attack(
        list(release.trees), candidates, truth=truth, reach=[np.unique(rows) for rows in owners], random_state=0
    )
    # A release without a split has no threshold to attack.
    if not isinstance(found, Measured):
        return {"thresholds": 0, "matched": 0, "accused": 0, "identified": 0.0, "precision": None}
    result: MidpointResult = found.value
    return {
        "thresholds": result.n_thresholds,
        "matched": result.n_unique,
        "accused": len(result.accused),
        "identified": None if result.recall is None else result.recall.value,
        "precision": None if result.precision is None else result.precision.value,
    }


def gap(correct: Bools, n: int, name: str) -> dict[str, object]:
    """Return the advantage of calling a member whoever is classified correctly; members are the first n."""
    hits, others = int(correct[:n].sum()), int(correct[n:].sum())
    found = newcombe(hits, n, others, len(correct) - n, 0.95)
    return {name: found.value, f"{name} low": found.low, f"{name} high": found.high}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """A dataset, its black box, and the global tree to compare with."""

    split: Split
    black_box: Any
    answers: npt.NDArray[Any]
    global_tree: Labels

    @classmethod
    def of(cls, seed: int, given: Options) -> Scene:
        """Make the scene of a seed."""
        split = records(seed, given.n_records)
        black_box = network(split, given.quick, given.cache)
        answers = black_box.predict(np.concatenate([split.X, split.X_out]))
        tree = DecisionTreeClassifier(random_state=0).fit(split.X, split.y)
        return cls(split=split, black_box=black_box, answers=answers, global_tree=tree.predict(split.X_out))

    def measure(self, k: int, parameters: Mapping[str, Any]) -> dict[str, object]:
        """Return every figure of one group size and form."""
        split = self.split
        explainer = SurrogateExplainer(self.black_box, k, goal=None, **parameters).fit(split.X, split.y)
        release, training = explainer.release_, explainer.training_
        told = explainer.measures(split.X_out, split.y_out, n_draws=N_DRAWS)
        everybody = columns_of(release, np.concatenate([split.X, split.X_out]))
        closest = release.closest(everybody, max(NEAR, *MORE_CLOSEST))
        decided = np.asarray(release.classes)[release.decisions(everybody, closest[:, :1])[:, 0]]
        n, truth = len(split.y), np.concatenate([split.y, split.y_out])
        sizes = np.bincount(training.groups, minlength=release.n_groups)
        single = share_one_class(training.groups, split.y, release.n_groups)
        nodes = told.nodes
        return {
            "groups": release.n_groups,
            "smallest group": int(sizes.min()),
            "largest group": int(sizes.max()),
            "accuracy": told.accuracy,
            "accuracy guided": told.accuracy_guided,
            "black box": told.black_box_accuracy,
            "global tree": float((self.global_tree == split.y_out).mean()),
            "fidelity": told.fidelity,
            "fidelity guided": told.fidelity_guided,
            "fidelity null": told.fidelity_null,
            **{f"fidelity N={m}": explainer.fidelity(split.X_out, n_closest=m) for m in MORE_CLOSEST},
            "null N=10": explainer.fidelity_null(split.X_out, n_closest=10, n_draws=1),
            "nodes smallest": nodes.smallest,
            "nodes lower": nodes.lower_quartile,
            "nodes median": nodes.median,
            "nodes upper": nodes.upper_quartile,
            "nodes largest": nodes.largest,
            "nodes mean": nodes.mean,
            "one leaf": nodes.constant_share,
            "comprehensibility": told.comprehensibility,
            "stability group": told.stability_group,
            "stability tree": told.stability_tree,
            "stability path": told.stability_path,
            "representativeness": told.representativeness,
            "reach": told.reach,
            "information loss": told.information_loss,
            "one class": float(single.mean()),
            "one decision": float(share_one_class(training.groups, training.answers, release.n_groups).mean()),
            "alone": share_alone(release, training.columns, training.groups),
            **gap(decided == truth, n, "gap"),
            **gap(decided == self.answers, n, "gap on decisions"),
            **midpoints(release, split, closest),
            **self.by_kind(decided[n:], single[closest[n:, 0]]),
        }

    def by_kind(self, decided: npt.NDArray[Any], pure: Bools) -> dict[str, object]:
        """Return local and global accuracy among the held-out records nearest to one-class groups, and elsewhere."""
        out: dict[str, object] = {"near one class": float(pure.mean())}
        for name, rows in (("near one class", pure), ("elsewhere", ~pure)):
            some = bool(rows.any())
            for whose, answer in (("local", decided), ("global", self.global_tree)):
                right = answer[rows] == self.split.y_out[rows]
                out[f"{whose} {name}"] = float(right.mean()) if some else None
        return out


def keys(quick: bool) -> list[Row]:
    """Return what is measured: everything on the published dataset, the two forms on the others."""
    shares = FEW_SHARES if quick else SHARES
    plan = [(PUBLISHED_SEED, share, form) for share in shares for form in FORMS]
    plan += [(seed, share, form) for seed in SEEDS[: 1 if quick else None] for share in FEW_SHARES for form in BOTH]
    return [{"seed": str(seed), "share": f"{share:g}", "form": form} for seed, share, form in plan]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not measured yet."""
    given = options(__doc__, arguments)
    scenes: dict[int, Scene] = {}

    def measure(key: Mapping[str, str]) -> Mapping[str, object]:
        seed = int(key["seed"])
        if seed not in scenes:
            scenes[seed] = Scene.of(seed, given)
        k = scenes[seed].split.k(float(key["share"]))
        return {"k": k} | scenes[seed].measure(k, FORMS[key["form"]])

    resume(given.results / "local_trees.csv", keys(given.quick), measure)


__all__ = ["BOTH", "FORMS", "Scene", "columns_of", "keys", "lost", "main", "midpoints", "share_alone"]

if __name__ == "__main__":
    main()
