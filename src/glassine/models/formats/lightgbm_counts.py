"""How many records of each class a leaf of LightGBM holds: what its published figures determine.

With probability p of the second class before the tree, a leaf of n records, k of them of that class, has the sum of
second derivatives H = n p (1 - p), and the score logit(p) - rate (n p - k) / (H + lambda). All but k is in the file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

__all__ = ["binary_counts"]

PLAIN = {
    "boosting": ("gbdt",),
    "lambda_l1": ("0",),
    "is_unbalance": ("0",),
    "scale_pos_weight": ("1",),
    "max_delta_step": ("0",),
    "path_smooth": ("0",),
    "boost_from_average": ("1",),
    "bagging_freq": ("0",),
    "linear_tree": ("0",),
    "monotone_constraints": ("",),
    "use_quantized_grad": ("0",),
    "extra_trees": ("0",),
}
"""Parameters under which the formula holds, and their values."""
WHOLE = 1e-3


def _number(text: str | None) -> float:
    return float(text) if text is not None and re.fullmatch(r"[-+0-9.eE]+", text) and _reads(text) else math.nan


def _reads(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def binary_counts(
    scores: Sequence[float],
    sizes: Sequence[int],
    tree: Mapping[str, str],
    parameters: Mapping[str, str],
    objective: Sequence[str],
    listed: Sequence[bool] = (),
) -> list[tuple[int, int]] | None:
    """Return the class counts of the leaves; None where the figures do not give whole numbers that agree.

    Parameters
    ----------
    scores : sequence of float
        Scores of the leaves.
    sizes : sequence of int
        Their numbers of records.
    tree, parameters : mapping of str
        The lines of the tree and of the parameters.
    objective : sequence of str
        The words of the objective.
    listed : sequence of bool, optional
        Which leaves lie right below a split on categories, whose penalty is larger: by ``cat_l2`` if it sorts them.
    """
    if any(parameters.get(name, allowed[0]) not in allowed for name, allowed in PLAIN.items()) or not parameters:
        return None
    rate, penalty = _number(parameters.get("learning_rate")), _number(parameters.get("lambda_l2"))
    weights = [_number(entry) for entry in tree.get("leaf_weight", "").split()]
    if list(objective) != ["binary", "sigmoid:1"] or not (rate > 0 and penalty >= 0) or len(weights) != len(sizes):
        return None
    n, total = sum(sizes), sum(weights)
    if not (n > 0 and 0 < total <= n / 4 * (1 + WHOLE)):
        return None
    root = math.sqrt(max(0.0, 1 - 4 * total / n))
    # The second derivative is that of p and of 1 - p: the counts tell which.
    more = _number(parameters.get("cat_l2")) if any(listed) else 0.0
    penalties = [[penalty] * len(sizes)]
    if more > 0:
        penalties.append([penalty + more * below for below in listed])
    fits = [
        counts
        for p in {(1 - root) / 2, (1 + root) / 2}
        for each in penalties
        if (counts := _counts(p, scores, sizes, weights, rate, each))
    ]
    return fits[0] if fits and all(counts == fits[0] for counts in fits) else None


def _counts(
    p: float,
    scores: Sequence[float],
    sizes: Sequence[int],
    weights: Sequence[float],
    rate: float,
    penalties: Sequence[float],
) -> list[tuple[int, int]] | None:
    if not 0 < p < 1:
        return None
    # Whole numbers of records tell p more exactly than the sum of rounded figures.
    positives = round(p * sum(sizes))
    p = positives / sum(sizes)
    if not 0 < p < 1:
        return None
    start, out = math.log(p / (1 - p)), []
    for score, size, weight, penalty in zip(scores, sizes, weights, penalties, strict=True):
        found = size * p + (score - start) * (weight + penalty) / rate
        if not math.isfinite(found) or abs(found - round(found)) > WHOLE * max(1, size) ** 0.5:
            return None
        if not 0 <= round(found) <= size or abs(weight - size * p * (1 - p)) > WHOLE * max(1, size):
            return None
        out.append((size - round(found), round(found)))
    return out if sum(pair[1] for pair in out) == positives else None
