"""What LightGBM's files give away beyond their trees: categories of data frames, and class counts of the first tree."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from glassine.domain import Category, Domain
from glassine.domain.attributes import LARGEST, Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.conditions import attribute_of, damaged, float_of, scalar

# The categories of data frames that LightGBM writes at the end of its files.

HALVES = re.compile("[\ud800-\udfff]")
NUMBERS, NOTHING = re.compile(r"\[.*\]"), "none"


def columns_of_categories(
    text: str, infos: Sequence[str], split: str | None, names: Sequence[str], domain: Domain | None
) -> list[tuple[Scalar, ...] | None]:
    """Return the categories of each feature, None for features that have none."""
    # The file lists the categories of the data frame's categorical columns in order, and not which these are: those
    # whose values it splits as codes, or those that the domain declares as categories.
    listed = _listed(text)
    columns: list[tuple[Scalar, ...] | None] = [None] * len(names)
    if not listed:
        return columns
    stated = [int(entry) for entry in (split or "").split(",") if re.fullmatch(r"[0-9]{1,6}", entry)]
    if split is None:
        stated = [i for i, info in enumerate(infos) if info != NOTHING and not NUMBERS.fullmatch(info)]
    stated = sorted(place for place in set(stated) if place < len(names))
    declared = [i for i, name in enumerate(names) if isinstance(attribute_of(name, domain), Category)]
    fitting = [places for places in (stated, declared) if len(places) == len(listed)]
    if not fitting or fitting[0] != fitting[-1]:
        raise UnsupportedModelError(
            f"the LightGBM model lists the categories of {len(listed)} columns, but not which these are: it splits "
            "ordered categories like numbers.",
            remedy="Give a domain that declares these columns, and no others, as a Category.",
        )
    fit = fitting[0]
    for place, values in zip(fit, listed, strict=True):
        columns[place] = values
    return columns


def _listed(text: str) -> list[tuple[Scalar, ...]]:
    if not text.strip() or text.strip() == "null":
        return []
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, list) or not all(isinstance(entry, list) for entry in data):
        raise damaged("the line pandas_categorical of the LightGBM model is no list of lists.")
    out = []
    for entry in data:
        numbers = [v for v in entry if isinstance(v, int | float) and not abs(v) <= LARGEST]
        odd = [v for v in entry if not isinstance(v, str | int | float)]
        if numbers or odd or any(isinstance(v, str) and HALVES.search(v) for v in entry):
            raise InvalidModelError(
                f"a category must be a text or a finite number, got {(numbers or odd or entry)[0]!r:.40}."
            )
        values = tuple(scalar(value, "a category") for value in entry)
        if len(set(values)) < len(values):
            raise InvalidModelError("the line pandas_categorical of the LightGBM model names a category twice.")
        out.append(values)
    return out


# How many records of each class a leaf of LightGBM holds: what its published figures determine.
#
# With probability p of the second class before the tree, a leaf of n records, k of them of that class, has the sum of
# second derivatives H = n p (1 - p), and the score logit(p) - rate (n p - k) / (H + lambda). All but k is in the
# file.

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
    value = float_of(text) if text and re.fullmatch(r"[-+0-9.eE]+", text) else math.nan
    return value if math.isfinite(value) else math.nan


def binary_counts(
    scores: Sequence[float],
    sizes: Sequence[int],
    tree: Mapping[str, str],
    parameters: Mapping[str, str],
    objective: Sequence[str],
    listed: Sequence[bool] = (),
) -> list[tuple[int, int]] | None:
    """Return the class counts of the leaves; None where the figures do not give whole numbers that agree."""
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
    # The second derivative is that of p and of 1 - p: the counts reveal which.
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
    # Whole numbers of records reveal p more exactly than the sum of rounded figures.
    positives = round(p * sum(sizes))
    p = positives / sum(sizes)
    if not 0 < p < 1:
        return None
    start, out = math.log(p / (1 - p)), []
    for score, size, weight, penalty in zip(scores, sizes, weights, penalties, strict=True):
        counts = size * p + (score - start) * (weight + penalty) / rate
        if not math.isfinite(counts) or abs(counts - round(counts)) > WHOLE * max(1, size) ** 0.5:
            return None
        if not 0 <= round(counts) <= size or abs(weight - size * p * (1 - p)) > WHOLE * max(1, size):
            return None
        out.append((size - round(counts), round(counts)))
    return out if sum(pair[1] for pair in out) == positives else None


def learning_rate(parameters: Mapping[str, str]) -> float | None:
    """Return the learning rate; None where the file does not keep it."""
    rate = _number(parameters.get("learning_rate"))
    return rate if rate > 0 else None


def records_of_samples(sizes: Sequence[int], parameters: Mapping[str, str]) -> tuple[int, str]:
    """Return how many training records there are, and whether that is ``"about"`` or ``"at least"`` so many.

    Trees were trained on samples of these sizes. Each record is drawn with the stated share. Where the share depends
    on the class, as many as the largest sample are known. The last digits, which are chance, are zero.
    """
    if any(0 < _number(parameters.get(f"{kind}_bagging_fraction")) < 1 for kind in ("pos", "neg")):
        return max(sizes), "at least"
    every, share = _number(parameters.get("bagging_freq")), _number(parameters.get("bagging_fraction"))
    share = share if every >= 1 and 0 < share <= 1 else 1.0
    # A sample serves so many rounds.
    mean, drawn = sum(sizes) / len(sizes) / share, max(1.0, len(sizes) / max(1.0, every))
    spread = math.sqrt(mean * (1 - share) / share / drawn)
    step = 10 ** math.ceil(math.log10(spread)) if spread > 1 else 1
    return max(round(mean / step) * step, *sizes), "about"


def base_rate(tree: Mapping[str, str], n: int | None, parameters: Mapping[str, str]) -> float | None:
    """Return the share of the rarer class of a binary objective, by the second derivatives of the first tree.

    They add up to ``n p (1 - p)``, of p or of 1 - p.
    """
    names = ("boost_from_average", "scale_pos_weight", "is_unbalance", "boosting")
    if n is None or any(parameters.get(name, "") not in PLAIN[name] for name in names):
        return None
    total = sum(_number(entry) for entry in tree.get("leaf_weight", "").split())
    if not 0 < total <= n / 4 * (1 + WHOLE):
        return None
    return (1 - math.sqrt(max(0.0, 1 - 4 * total / n))) / 2
