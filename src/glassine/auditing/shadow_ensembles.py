"""Learners of shadow models of an ensemble of trees: of its kind, trees, leaves and learning rate."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from glassine.data.record_table import RecordTable, as_table
from glassine.models import TreeEnsemble

MOST_TREES = 100
"""Trees of a shadow forest: the mean of more is nearly the same."""
USUAL_RATE = 0.1
"""Learning rate where a file states none: that of most learners."""


def shadow_ensemble(ensemble: TreeEnsemble, records: RecordTable) -> Any:
    """Return an unfitted learner of ensembles of the same kind, trees, leaves and rate.

    Of a fitted estimator it is a clone, a forest with at most 100 trees; of a file a learner of scikit-learn.
    """
    if ensemble.estimator is not None:
        learner = clone(getattr(ensemble.estimator, "best_estimator_", ensemble.estimator))
        if ensemble.combined == "mean" and ensemble.n_trees > MOST_TREES:
            own = [name for name in learner.get_params() if name.split("__")[-1] == "n_estimators"]
            learner.set_params(**dict.fromkeys(own, MOST_TREES))
        return learner
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    frame = as_table(records).frame
    columns = [name for name in ensemble.attributes if name in frame.columns]
    numbers = [name for name in columns if frame[name].dtype.is_numeric()]
    text = [name for name in columns if name not in numbers]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = ColumnTransformer([("numbers", "passthrough", numbers), ("text", one_hot, text)])
    leaves = max(2, round(float(ensemble.leaves.mean())))
    least = 1 if ensemble.sizes is None else max(1, int(ensemble.sizes.min()))
    if ensemble.combined == "mean":
        trees = min(ensemble.n_trees, MOST_TREES)
        end: Any = RandomForestClassifier(trees, max_leaf_nodes=leaves, min_samples_leaf=least)
    else:
        end = HistGradientBoostingClassifier(
            max_iter=max(1, ensemble.n_trees // ensemble.outputs),
            learning_rate=USUAL_RATE if ensemble.rate is None else ensemble.rate,
            max_leaf_nodes=leaves,
            min_samples_leaf=least,
            early_stopping=False,
        )
    return make_pipeline(encoder, end)


def describe_shadows(ensemble: TreeEnsemble, number: int) -> str:
    """Return how so many shadow models are trained, in a sentence; empty of none."""
    if not number:
        return ""
    trees = min(ensemble.n_trees, MOST_TREES) if ensemble.combined == "mean" else ensemble.n_trees
    if ensemble.estimator is not None:
        fewer = f", each with {trees} trees" if trees < ensemble.n_trees else ""
        return f"{number} shadow models were trained by the same learner and settings{fewer}."
    kind = "a random forest" if ensemble.combined == "mean" else "histogram boosting"
    rate = "" if ensemble.combined == "mean" else f", rate {USUAL_RATE if ensemble.rate is None else ensemble.rate:.3g}"
    leaves = round(float(ensemble.leaves.mean()))
    return f"{number} shadow models were trained by scikit-learn: {kind} of {trees} trees with {leaves} leaves{rate}."
