"""How the trees of a fitted scikit-learn ensemble predict together, as plain trees that a file can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from glassine.domain import Domain
from glassine.errors import UnsupportedModelError
from glassine.formats.sklearn.encodings import Coded, Column, Number, coded
from glassine.formats.sklearn.ensembles import BOOSTED, FOREST, columns_of, own_columns
from glassine.formats.sklearn.pipelines import end_of, sklearn_names
from glassine.formats.sklearn.tree import TreeArrays, best_of, branches_of
from glassine.models.ensemble import Link, Scoring, TreeEnsemble
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree, Forest, Node
from glassine.records.arrays import Array, Bools, Ints

UNREAD = "how the trees of this {} predict together is not read"
WORD = 32
"""Bits of one number of a set of categories."""


def scored_ensemble(ensemble: TreeEnsemble, domain: Domain | None = None) -> TreeEnsemble:
    """Return an ensemble of scikit-learn whose trees are plain values, in place of the estimator.

    Leaves hold their shares of classes or the scores that they add, and how many training records they hold. What an
    estimator holds besides is left out: impurities, figures of inner nodes, seeds, encoders.

    Parameters
    ----------
    ensemble : TreeEnsemble
        What :func:`glassine.formats.sklearn.ensembles.ensemble_from_sklearn` returns.
    domain : Domain, optional
        As there.

    Raises
    ------
    UnsupportedModelError
        If boosting begins with another model, or its scores are neither a value, nor those of classes.
    """
    estimator = ensemble.estimator
    if "BaseSearchCV" in sklearn_names(estimator):
        estimator = best_of(estimator)
    end = end_of(estimator)
    kinds = sklearn_names(end)
    names, columns = columns_of(estimator, end, domain)
    base: tuple[float, ...] = (0.0,)
    trees: list[Any]
    if FOREST in kinds:
        link: Link = "identity" if ensemble.classes is None else "shares"
        mean, scale = True, 1.0
        trees = [TreeArrays(member) for member in end.estimators_]
    elif BOOSTED in kinds:
        link, base, scale = _boosted(end)
        mean, trees = False, [TreeArrays(member) for member in np.ravel(end.estimators_).tolist()]
        scale *= float(end.learning_rate)
    else:
        link, base = _histogram(end)
        columns, mean, scale = _encoded(end, own_columns(end, columns)), False, 1.0
        trees = [_Histogram.of(tree) for each in end._predictors for tree in each]
    classes = ensemble.classes if link == "shares" else None
    plain = tuple(_tree(arrays, names, columns, classes, scale, domain) for arrays in trees)
    forest = Forest(trees=plain, bootstrap=True, n_records=ensemble.n_records, source=ensemble.source)
    scoring = Scoring(forest=forest, link=link, base=base, mean=mean and link == "identity")
    return replace(ensemble, scoring=scoring, estimator=None)


def _tree(
    arrays: Any,
    names: tuple[str, ...],
    columns: list[Column],
    classes: tuple[Any, ...] | None,
    scale: float,
    domain: Domain | None,
) -> DecisionTree:
    """Return one tree whose leaves alone publish something."""
    branches = _listed(arrays, columns, domain) if isinstance(arrays, _Histogram) else None
    branches = branches_of(arrays, columns, domain) if branches is None else branches
    nodes = []
    sizes = arrays.sizes.tolist()
    for sides, value, size in zip(branches, arrays.value.tolist(), sizes, strict=True):
        evidence = Evidence()
        if not sides and classes is None:
            evidence = Evidence(total=size, value=value[0] * scale)
        elif not sides:
            total = math.fsum(value)
            shares = tuple(share / total for share in value)
            evidence = Evidence(total=size, label=int(np.argmax(value)), probabilities=shares)
        nodes.append(Node(branches=sides, evidence=evidence))
    return DecisionTree(nodes=tuple(nodes), attributes=names, classes=classes)


def _boosted(model: Any) -> tuple[Link, tuple[float, ...], float]:
    """Return link, scores before the first tree, and what the scores of leaves are multiplied by."""
    init, loss = model.init_, str(model.loss)
    if not (isinstance(init, str) or {"DummyClassifier", "DummyRegressor"} & set(sklearn_names(init))):
        raise UnsupportedModelError(UNREAD.format("gradient boosting, which begins with another model,"))
    row = np.zeros((1, int(model.n_features_in_)), dtype=np.float32)
    base = tuple(np.asarray(model._raw_predict_init(row), dtype=float).reshape(-1).tolist())
    if not hasattr(model, "classes_"):
        return "identity", base, 1.0
    if len(model.classes_) > 2:
        return "softmax", base, 1.0
    # The exponential loss takes twice the score for the log-odds.
    factor = 2.0 if loss == "exponential" else 1.0
    return "logit", tuple(factor * own for own in base), factor


def _histogram(model: Any) -> tuple[Link, tuple[float, ...]]:
    base = tuple(np.asarray(model._baseline_prediction, dtype=float).reshape(-1).tolist())
    if hasattr(model, "classes_"):
        return ("logit" if len(model.classes_) == 2 else "softmax"), base
    return ("log" if str(model.loss) in ("poisson", "gamma") else "identity"), base


@dataclass(frozen=True, slots=True, kw_only=True)
class _Histogram:
    """The arrays of a tree of histogram boosting, by the names of :class:`TreeArrays`."""

    left: Ints
    right: Ints
    feature: Ints
    threshold: Array
    missing_left: Bools
    leaf: Bools
    sizes: Ints
    value: Array  # Shape (nodes, 1)
    chosen: dict[int, frozenset[float]]  # By node, the categories that take the left branch
    routes_gaps: bool = True
    rounded: bool = False

    @classmethod
    def of(cls, tree: Any) -> _Histogram:
        """Return the arrays of a predictor."""
        nodes = np.asarray(tree.nodes)
        sets, chosen = np.asarray(tree.raw_left_cat_bitsets), {}
        listed = nodes["is_categorical"].astype(bool) & ~nodes["is_leaf"].astype(bool)
        for node in np.flatnonzero(listed).tolist():
            words = sets[int(nodes["bitset_idx"][node])].tolist()
            bits = range(WORD * len(words))
            chosen[node] = frozenset(float(bit) for bit in bits if words[bit // WORD] >> (bit % WORD) & 1)
        return cls(
            left=nodes["left"].astype(np.int64),
            right=nodes["right"].astype(np.int64),
            feature=nodes["feature_idx"].astype(np.int64),
            threshold=nodes["num_threshold"].astype(float),
            missing_left=nodes["missing_go_to_left"].astype(bool),
            leaf=nodes["is_leaf"].astype(bool),
            sizes=nodes["count"].astype(np.int64),
            value=nodes["value"].astype(float)[:, None],
            chosen=chosen,
        )


def _listed(arrays: _Histogram, columns: list[Column], domain: Domain | None) -> Any:
    """Return the branches of a tree with splits on categories, each as one on a column of two codes; None of others."""
    if not arrays.chosen:
        return None
    every, feature, threshold = list(columns), arrays.feature.copy(), arrays.threshold.copy()
    for node, codes in arrays.chosen.items():
        column = columns[int(arrays.feature[node])]
        if not isinstance(column, Coded):
            raise UnsupportedModelError("a split on categories is on a column that is none of them.")
        sides = {code: math.nan if math.isnan(code) else float(code not in codes) for _, code in column.codes}
        feature[node], threshold[node] = len(every), 0.5
        every.append(column.mapped(partial(_code_of, sides)))
    return branches_of(replace(arrays, feature=feature, threshold=threshold), every, domain)


def _code_of(codes: Mapping[float, float], code: float) -> float:
    """Return what a code becomes; NaN, as for missing values, where the encoder does not know it."""
    return codes.get(code, math.nan)


def _encoded(model: Any, columns: list[Column]) -> list[Column]:
    """Return the columns with those of categories as codes of the encoder that it holds."""
    encoder = getattr(model, "_preprocessor", None)
    if encoder is None:
        return columns
    out = list(columns)
    for place, listed in enumerate(encoder.named_transformers_["encoder"].categories_):
        column, codes = columns[place], [float(code) for code in range(len(listed))]
        if isinstance(column, Coded):
            places = dict(zip(map(float, listed), codes, strict=True))
            out[place] = column.mapped(partial(_code_of, places))
        elif isinstance(column, Number) and not column.steps:
            out[place] = coded(column, list(listed), codes, math.nan)
        else:
            raise UnsupportedModelError("a column of categories is computed from numbers.")
    return out
