"""The decision tree on all training records, on true labels and on the black box's, for ten orders of the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from settings import network, records
from sklearn.tree import DecisionTreeClassifier
from study import Row, options, resume

N_STATES = 10


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not measured yet."""
    given = options(__doc__, arguments)
    split = records(n=given.n_records)
    black_box = network(split, given.quick, given.cache)
    inside, outside = black_box.predict(split.X), black_box.predict(split.X_out)

    def measure(key: Mapping[str, str]) -> Mapping[str, object]:
        targets = split.y if key["labels"] == "true" else inside
        tree = DecisionTreeClassifier(random_state=int(key["state"])).fit(split.X, targets)
        decided = tree.predict(split.X_out)
        leaves = np.unique(tree.apply(split.X), return_counts=True)[1]
        return {
            "nodes": tree.tree_.node_count,
            "accuracy": float((decided == split.y_out).mean()),
            "fidelity": float((decided == outside).mean()),
            "alone": float((leaves == 1).sum() / len(split.y)),
            "gap": float((tree.predict(split.X) == split.y).mean() - (decided == split.y_out).mean()),
            "black box": float((outside == split.y_out).mean()),
        }

    keys: list[Row] = [
        {"labels": labels, "state": str(state)} for labels in ("true", "black box's") for state in range(N_STATES)
    ]
    resume(given.results / "global_tree.csv", keys, measure)


if __name__ == "__main__":
    main()
