"""Figures 1 to 3: two attributes, a global tree of 303 nodes, and the trees of the groups of k = 200.

The paper does not say how its records were made. These are made up, and chosen to give a tree of as many nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_moons
from sklearn.tree import DecisionTreeClassifier
from study import options, write

from glassine.surrogates import SurrogateExplainer

K = 200
N_RECORDS = 2_000
SEED = 32
FORMS = ("paper", "restricted")

Floats = npt.NDArray[np.float64]


def example() -> tuple[Floats, npt.NDArray[np.int64], DecisionTreeClassifier]:
    """Return the records, their classes, and the tree on all of them."""
    X, y = make_moons(N_RECORDS, noise=0.26, random_state=SEED)
    return X, y.astype(np.int64), DecisionTreeClassifier(random_state=0).fit(X, y)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the sizes of the trees."""
    given = options(__doc__, arguments)
    X, y, tree = example()
    rows: list[dict[str, object]] = [{"trees": "global", "form": "", "group": "", "records": len(y),
             "nodes": tree.tree_.node_count, "fidelity": 1.0}]  # fmt: skip
    for form in FORMS:
        explainer = SurrogateExplainer(tree, K, form=form, goal=None).fit(X, y)
        training = explainer.training_
        for group, small in enumerate(explainer.release_.trees):
            held = training.groups == group
            agrees = explainer.release_.decisions(training.columns, np.full((len(y), 1), group))[:, 0]
            rows.append(
                {
                    "trees": "local",
                    "form": form,
                    "group": group,
                    "records": int(held.sum()),
                    "nodes": len(small.nodes),
                    "fidelity": float((agrees == training.answers)[held].mean()),
                }
            )
    write(given.results / "example.csv", rows)


if __name__ == "__main__":
    main()
