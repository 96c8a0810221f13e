"""The same measures on five public datasets and two black boxes: every distance, both forms, five seeds.

    GLASSINE_DATA=folder python papers/microaggregation-surrogates/public_trees.py

A seed draws at most 3,000 records, a third of which is held out, and seeds the black box. The Euclidean distances see
categories as one binary attribute a value, tied so that exactly one is 1; Gower's and the taxonomies' see them as they
are. The black box is the same: it is trained on the binary attributes, and reads the others as these.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from local_trees import FORMS, Scene, columns_of, gap, share_alone, share_one_class
from settings import Split
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier
from study import FOLDER, Row, options, resume

sys.path.insert(0, str(FOLDER.parents[1] / "benchmarks"))

import public_data

from glassine.domain import Attribute, Binary, Category, Domain, ExactlyOne
from glassine.microaggregation import SemanticDistance
from glassine.surrogates import SurrogateExplainer

DATA = ("adult", "compas", "german", "telco", "california")
BOXES = {"boosting": GradientBoostingClassifier, "forest": RandomForestClassifier}
SEEDS = (0, 1, 2, 3, 4)
SIZES = (20, 100, 1000)
"""Group sizes; German has 670 training records, and so no group of 1,000. Elsewhere 1,000 are half of the records."""

MOST = 3_000
"""Most records that a seed draws, so that the whole study takes few minutes: 2,010 of them are trained on."""

VALUABLE = 200_000
"""Block groups of California are divided by whether the median house is worth more dollars: a round figure."""

TAXONOMIES: Mapping[str, Mapping[str, Any]] = {
    "adult": {
        "marital-status": {
            "with a spouse": ["Married-civ-spouse", "Married-AF-spouse"],
            "without": {
                "once": ["Divorced", "Separated", "Widowed", "Married-spouse-absent"],
                "never": ["Never-married"],
            },
        },
        "relationship": {
            "couple": ["Husband", "Wife"],
            "family": ["Own-child", "Other-relative"],
            "none": ["Not-in-family", "Unmarried"],
        },
    },
    "german": {
        "checking": {"account": {"in debt": ["A11"], "in credit": ["A12", "A13"]}, "no account": ["A14"]},
        "history": {"paid": ["A30", "A31", "A32"], "not paid": ["A33", "A34"]},
        "purpose": {
            "car": ["A40", "A41"],
            "home": ["A42", "A43", "A44", "A45"],
            "other": ["A46", "A47", "A48", "A49", "A410"],
        },
        "savings": {"little": ["A61", "A62"], "much": ["A63", "A64"], "unknown": ["A65"]},
        "employment": {"none": ["A71"], "short": ["A72", "A73"], "long": ["A74", "A75"]},
        "property": {"owned": {"house": ["A121"], "things": ["A122", "A123"]}, "none": ["A124"]},
    },
    "telco": {
        "Contract": {"short": ["Month-to-month"], "long": ["One year", "Two year"]},
        "InternetService": {"internet": ["DSL", "Fiber optic"], "none": ["No"]},
        "OnlineSecurity": {"internet": ["Yes", "No"], "none": ["No internet service"]},
        "TechSupport": {"internet": ["Yes", "No"], "none": ["No internet service"]},
        "PaymentMethod": {
            "by hand": ["Electronic check", "Mailed check"],
            "automatic": ["Bank transfer (automatic)", "Credit card (automatic)"],
        },
    },
}
"""What the code books say of values that belong together; COMPAS and California have no category of several values."""

WAYS: Mapping[str, Mapping[str, Any]] = {
    "Euclidean, standardized": {"distance": "euclidean"},
    "Euclidean, not scaled": {"distance": "euclidean", "scaling": "none"},
    "Euclidean, V-MDAV": {"distance": "euclidean", "gamma": 0.2},
    "Gower": {"distance": "gower"},
    "taxonomy": {},
}
FIRST = "Euclidean, standardized"
"""The paper's way, in which every k and kind of labels is measured; the others at k = 100, in both forms."""

OBJECTS = ("Gower", "taxonomy")
TRAINED = ("paper", "paper, black-box labels", "restricted")


class Encoded:
    """Records whose categories are binary attributes, one a value, and a black box that takes the others as these."""

    def __init__(self, domain: Domain) -> None:
        self.plain = domain
        attributes: dict[str, Attribute] = {}
        groups = list(domain.groups)
        for name in domain:
            attribute = domain[name]
            if not isinstance(attribute, Category):
                attributes[name] = attribute
                continue
            named = tuple(f"{name}: {value}" for value in attribute.values)
            attributes |= dict.fromkeys(named, Binary())
            groups.append(ExactlyOne(named))
        self.domain = Domain(attributes, groups=groups)

    def numbers(self, records: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return records as numbers, shape (n, p)."""
        out: list[npt.NDArray[np.float64]] = []
        for name, column in zip(self.plain, records.T, strict=True):
            attribute = self.plain[name]
            if isinstance(attribute, Category):
                out += [(column == value).astype(float) for value in attribute.values]
            else:
                out.append(column.astype(float))
        return np.column_stack(out)


class Reading:
    """A black box asked with records as they are."""

    def __init__(self, black_box: Any, encoded: Encoded) -> None:
        self.black_box, self.encoded = black_box, encoded

    def predict(self, records: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the labels."""
        return np.asarray(self.black_box.predict(self.encoded.numbers(records)))


@cache
def dataset(name: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Domain]:
    """Return all records of a dataset, shape (n, d), their labels as texts, and their domain."""
    found = getattr(public_data, name)()
    labels = found.labels > VALUABLE if name == "california" else found.labels
    columns = [np.array(found.frame[attribute].to_list(), dtype=object) for attribute in found.domain]
    return np.column_stack(columns), np.asarray(labels).astype(str).astype(object), found.domain


@cache
def scenes(name: str, seed: int, box: str) -> tuple[dict[bool, Scene], Encoded]:
    """Return a seed of a dataset and its black box: with records as numbers, and as they are."""
    records, labels, domain = dataset(name)
    drawn = np.random.default_rng(seed).permutation(len(labels))[:MOST]
    rows, rows_out = train_test_split(drawn, test_size=0.33, random_state=seed)
    encoded = Encoded(domain)
    X, X_out = encoded.numbers(records[rows]), encoded.numbers(records[rows_out])
    y, y_out = labels[rows], labels[rows_out]
    black_box = BOXES[box](random_state=seed).fit(X, y)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    shared = {
        "answers": black_box.predict(np.concatenate([X, X_out])),
        "global_tree": tree.predict(X_out),
    }
    plain = Split(seed=seed, X=records[rows], y=y, X_out=records[rows_out], y_out=y_out)
    numeric = Split(seed=seed, X=X, y=y, X_out=X_out, y_out=y_out)
    return {
        False: Scene(split=numeric, black_box=black_box, **shared),
        True: Scene(split=plain, black_box=Reading(black_box, encoded), **shared),
    }, encoded


def keys() -> list[Row]:
    """Return what is measured, a seed of all datasets before the next."""
    out: list[Row] = []
    for seed in SEEDS:
        for name in DATA:
            for box in BOXES:
                sizes = [k for k in SIZES if not (name == "german" and k == max(SIZES))]
                plan = [(k, FIRST, form) for k in sizes for form in TRAINED]
                ways = [way for way in WAYS if way != FIRST and (way != "taxonomy" or name in TAXONOMIES)]
                plan += [(100, way, form) for way in ways for form in ("paper", "restricted")]
                one = {"data": name, "box": box, "seed": str(seed)}
                out += [{**one, "k": str(k), "way": way, "form": form} for k, way, form in plan]
    return out


def measured(key: Mapping[str, str]) -> Mapping[str, object]:
    """Return the figures of one key."""
    of_kind, encoded = scenes(key["data"], int(key["seed"]), key["box"])
    objects = key["way"] in OBJECTS
    parameters = {"goal": None, **WAYS[key["way"]], **FORMS[key["form"]]}
    parameters["domain"] = encoded.plain if objects else encoded.domain
    if key["way"] == "taxonomy":
        parameters["distance"] = SemanticDistance(TAXONOMIES[key["data"]])
    return figures(of_kind[objects], int(key["k"]), parameters)


def figures(scene: Scene, k: int, parameters: Mapping[str, Any]) -> Mapping[str, object]:
    """Return the figures that statements are judged by."""
    split = scene.split
    explainer = SurrogateExplainer(scene.black_box, k, **parameters).fit(split.X, split.y)
    release, training = explainer.release_, explainer.training_
    told = explainer.measures(split.X_out, split.y_out, n_draws=2)
    everybody = columns_of(release, np.concatenate([split.X, split.X_out]))
    closest = release.closest(everybody, 1)
    decided = np.asarray(release.classes)[release.decisions(everybody, closest)[:, 0]]
    n, truth = len(split.y), np.concatenate([split.y, split.y_out])
    pure = share_one_class(training.groups, split.y, release.n_groups)[closest[n:, 0]]
    return {
        "groups": release.n_groups,
        "smallest group": int(np.bincount(training.groups, minlength=release.n_groups).min()),
        "accuracy": told.accuracy,
        "accuracy guided": told.accuracy_guided,
        "black box": told.black_box_accuracy,
        "global tree": float((scene.global_tree == split.y_out).mean()),
        "fidelity": told.fidelity,
        "fidelity guided": told.fidelity_guided,
        "fidelity null": told.fidelity_null,
        "nodes upper": told.nodes.upper_quartile,
        "nodes median": told.nodes.median,
        "nodes mean": told.nodes.mean,
        "one leaf": told.nodes.constant_share,
        "stability tree": told.stability_tree,
        "stability path": told.stability_path,
        "reach": told.reach,
        "information loss": told.information_loss,
        "alone": share_alone(release, training.columns, training.groups),
        **gap(decided == truth, n, "gap"),
        **scene.by_kind(decided[n:], pure),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not measured yet."""
    given = options(__doc__, arguments)
    if not public_data.DATA.is_dir():
        raise SystemExit(f"the datasets are not in {public_data.DATA}; GLASSINE_DATA names their folder")
    resume(given.results / "public_trees.csv", keys(), measured, digits=4)


__all__ = ["BOXES", "DATA", "FIRST", "SEEDS", "SIZES", "TRAINED", "WAYS", "Encoded", "keys", "main", "scenes"]

if __name__ == "__main__":
    main()
