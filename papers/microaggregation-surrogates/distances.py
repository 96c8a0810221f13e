"""Other distances and partitions at k = 100, on numbers, and on the same records with some attributes as categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from settings import Floats, network, records
from study import Options, Row, options, resume

from glassine.microaggregation import SemanticDistance
from glassine.surrogates import SurrogateExplainer

K = 100
N_CATEGORIES = 16
CATEGORICAL = ("x1", "x4", "x7")
"""Attributes that are cut into intervals of equally many records, of which the names alone are kept."""

WAYS: dict[str, dict[str, Any]] = {
    "Euclidean, standardized": {},
    "Euclidean, not scaled": {"scaling": "none"},
    "Gower": {"distance": "gower"},
    "Euclidean, V-MDAV": {"gamma": 0.2},
    "categories, Gower": {"distance": "gower"},
    "categories, taxonomy": {},
}
FORMS = ("paper", "restricted")


def named(i: int) -> str:
    """Return the name of an interval."""
    return f"part {i + 1:02d}"


def taxonomy(low: int = 0, high: int = N_CATEGORIES) -> Any:
    """Return intervals under halves of halves, down to pairs."""
    if high - low == 2:
        return [named(low), named(low + 1)]
    middle = (low + high) // 2
    return {f"{low + 1} to {middle}": taxonomy(low, middle), f"{middle + 1} to {high}": taxonomy(middle, high)}


def respelt(tree: Any, name: str) -> Any:
    """Return a taxonomy whose general values carry the attribute's name."""
    return {f"{name} {key}": respelt(value, name) for key, value in tree.items()} if isinstance(tree, dict) else tree


class Coded:
    """The network, asked about records of which some numbers are intervals: it gets the interval's median."""

    def __init__(self, black_box: Any, X: Floats) -> None:
        self.black_box = black_box
        self.edges: dict[str, Floats] = {}
        self.medians: dict[str, Floats] = {}
        for name in CATEGORICAL:
            values = X[:, int(name[1:])]
            self.edges[name] = np.quantile(values, np.linspace(0, 1, N_CATEGORIES + 1)[1:-1])
            codes = np.searchsorted(self.edges[name], values)
            self.medians[name] = np.array([np.median(values[codes == code]) for code in range(N_CATEGORIES)])

    def frame(self, X: Floats) -> pd.DataFrame:
        """Return records with names of intervals."""
        out = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        for name, edges in self.edges.items():
            names = np.array([named(i) for i in range(N_CATEGORIES)], dtype=object)
            out[name] = pd.Series(names[np.searchsorted(edges, X[:, int(name[1:])])], dtype="str")
        return out

    def predict(self, frame: pd.DataFrame) -> npt.NDArray[Any]:
        """Return the network's labels."""
        number = {named(i): i for i in range(N_CATEGORIES)}
        numbers = frame.copy()
        for name, medians in self.medians.items():
            numbers[name] = medians[frame[name].map(number).to_numpy(dtype=np.intp)]
        return np.asarray(self.black_box.predict(numbers.to_numpy(dtype=float)))


def measured(key: Mapping[str, str], given: Options) -> Mapping[str, object]:
    """Return the figures of one way and form."""
    split = records(n=given.n_records)
    black_box = network(split, given.quick, given.cache)
    inside, outside, asked = split.X, split.X_out, black_box
    parameters = dict(WAYS[key["way"]])
    if key["way"].startswith("categories"):
        asked = Coded(black_box, split.X)
        inside, outside = asked.frame(split.X), asked.frame(split.X_out)
    if key["way"].endswith("taxonomy"):
        parameters["distance"] = SemanticDistance({name: respelt(taxonomy(), name) for name in CATEGORICAL})
    explainer = SurrogateExplainer(asked, K, form=key["form"], goal=None, **parameters).fit(inside, split.y)
    told = explainer.measures(outside, split.y_out, n_draws=1)
    sizes = np.bincount(explainer.training_.groups, minlength=told.n_groups)
    return {
        "groups": told.n_groups,
        "largest group": int(sizes.max()),
        "accuracy": told.accuracy,
        "fidelity": told.fidelity,
        "fidelity guided": told.fidelity_guided,
        "fidelity null": told.fidelity_null,
        "nodes median": told.nodes.median,
        "nodes mean": told.nodes.mean,
        "stability group": told.stability_group,
        "information loss": told.information_loss,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not measured yet."""
    given = options(__doc__, arguments)
    keys: list[Row] = [{"way": way, "form": form} for way in WAYS for form in FORMS]
    resume(given.results / "distances.csv", keys, lambda key: measured(key, given))


__all__ = ["CATEGORICAL", "FORMS", "WAYS", "Coded", "main", "taxonomy"]

if __name__ == "__main__":
    main()
