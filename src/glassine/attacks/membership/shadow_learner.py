"""The learner that an attacker would guess: what shadow models of a published model are learnt with."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from glassine.models import DecisionTree, RuleList

__all__ = ["shadow_learner"]


def shadow_learner(model: DecisionTree | RuleList, records: Any) -> Any:
    r"""Return an unfitted learner of models of the same size: CART for trees, greedy Gini lists for rule lists.

    Parameters
    ----------
    model : DecisionTree or RuleList
        The published model, a classifier.
    records : data frame
        Records such as the shadow models will be learnt from; what matters is which of their columns are numbers.

    Returns
    -------
    estimator
        It takes such data frames; text is encoded by one column per value.

    Examples
    --------
    >>> import polars as pl
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from glassine import as_model
    >>> records = pl.DataFrame({"a": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
    >>> tree = DecisionTreeClassifier(random_state=0).fit(records.select("a").to_pandas(), records["y"].to_numpy())
    >>> shadow_learner(as_model(tree), records)[-1].max_leaf_nodes
    3
    """
    if isinstance(model, RuleList):
        from glassine.learners.greedy_rule_list import GreedyRuleListClassifier

        return GreedyRuleListClassifier(max_rules=max(1, len(model.rules)), min_support=0.0)
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    frame = nw.from_native(records)
    numbers = [name for name in model.attributes if name in frame.columns and frame[name].dtype.is_numeric()]
    text = [name for name in model.attributes if name in frame.columns and name not in numbers]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = ColumnTransformer([("numbers", "passthrough", numbers), ("text", one_hot, text)])
    depth = max((len(cell.inside) for cell in model.cells), default=1)
    tree = DecisionTreeClassifier(max_depth=max(1, depth), max_leaf_nodes=max(2, len(model.cells)))
    return make_pipeline(encoder, tree)
