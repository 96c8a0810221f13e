"""What explanations of the public datasets say at k = 100: as the paper chooses trees, and chosen for our default goal.

Shares are those of the records behind the release, by which the choice is made, and of records that were held out.

GLASSINE_DATA=folder python papers/microaggregation-surrogates/useful.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from local_trees import columns_of
from public_trees import BOXES, DATA, public_data, scenes
from study import Row, options, resume

from glassine.surrogates import ExplanationGoal, SurrogateExplainer
from glassine.surrogates.goals import TriedRelease
from glassine.surrogates.query_input import Record

K = 100
SEEDS = (0, 1, 2, 3, 4)
GOALS = {"none": ExplanationGoal(conditions=0.0, confirmed=0.0), "default": ExplanationGoal()}
"""Without a share to reach, the first protocol is the paper's, at the smallest k."""


def measured(key: Mapping[str, str]) -> Mapping[str, object]:
    """Return what was chosen, and the shares."""
    of_kind, encoded = scenes(key["data"], int(key["seed"]), key["box"])
    scene = of_kind[True]
    explainer = SurrogateExplainer(scene.black_box, K, domain=encoded.plain, goal=GOALS[key["goal"]])
    choice = explainer.fit(scene.split.X).choice_
    if choice is None:
        raise LookupError("an explainer with a goal has a choice.")
    queries, release, X_out = explainer.black_box_.n_queries, explainer.release_, scene.split.X_out

    def ask(records: Sequence[Record]) -> list[object]:
        rows = [[record[name] for name in encoded.plain] for record in records]
        return list(scene.black_box.predict(np.array(rows, dtype=object)))

    answers = release.answers.places(np.asarray(scene.black_box.predict(X_out), dtype=object))
    held_out = TriedRelease(release, columns_of(release, X_out), answers, ask).shares(
        release.n_closest, choice.protocol
    )
    return {
        "k": choice.k,
        "depth": choice.max_depth,
        "closest": choice.n_closest,
        "splits": choice.protocol.splits,
        "margin": choice.protocol.margin,
        "votes": choice.protocol.votes,
        "conditions": choice.shares.conditions,
        "proposed": choice.shares.proposed,
        "confirmed": choice.shares.confirmed,
        "reached": choice.reached,
        "conditions held out": held_out.conditions,
        "proposed held out": held_out.proposed,
        "confirmed held out": held_out.confirmed,
        "fidelity guided": explainer.fidelity(X_out),
        "queries": queries,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not measured yet."""
    given = options(__doc__, arguments)
    if not public_data.DATA.is_dir():
        raise SystemExit(f"the datasets are not in {public_data.DATA}; GLASSINE_DATA names their folder")
    runs = [(name, box, seed, goal) for name in DATA for box in BOXES for seed in SEEDS for goal in GOALS]
    keys: list[Row] = [{"data": name, "box": box, "seed": str(seed), "goal": goal} for name, box, seed, goal in runs]
    resume(given.results / "useful.csv", keys, measured, digits=4)


__all__ = ["GOALS", "SEEDS", "K", "main"]

if __name__ == "__main__":
    main()
