"""How many models a class has, in bits: trees, rule lists, scorecards and additive models over public conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from glassine.capacity.divergences import LN2, SLACK
from glassine.errors import InvalidParameterError, check_whole, parameter

MOST = 10**9
"""Largest number of conditions, values or levels."""


def tree_bits(questions: int, depth: int, leaf_values: int = 1) -> float:
    """Return log2 of the number of trees of at most a depth, no question asked twice on a path, rounded up.

    Guarantee
    ---------
    Every tree of the class has its own number of so many bits. See ``class_sizes.md``.

    Parameters
    ----------
    questions : int
        Yes-or-no conditions, fixed before the draw; a condition and its negation are one.
    depth : int
        Most splits on a path, in [0, 64].
    leaf_values : int, default=1
        Values that a leaf can have: 1 for structures alone, the number of classes for labels.

    Examples
    --------
    >>> round(tree_bits(24, 3), 1), round(tree_bits(24, 3, 2), 1)
    (31.7, 39.6)
    """
    asked, depth = check_whole(questions, "questions", 0, MOST), check_whole(depth, "depth", 0, 64)
    leaf = math.log2(check_whole(leaf_values, "leaf_values", 1, MOST))
    # b(c, 0) = values and b(c, j) = values + c b(c - 1, j - 1)^2.
    bits = leaf
    for j in range(1, min(depth, asked) + 1):
        left = asked - (min(depth, asked) - j)
        bits = _log_add(leaf, math.log2(left) + 2 * bits)
    return _up(bits)


def tree_leaves(questions: int, depth: int) -> int:
    """Return the most leaves of such a tree."""
    levels = min(check_whole(questions, "questions", 0, MOST), check_whole(depth, "depth", 0, 64))
    return 1 << levels


def tree_length(leaves: int, questions: int, leaf_values: int = 1) -> float:
    """Return the length of one binary tree in a code for trees of every size, in bits, rounded up.

    Guarantee
    ---------
    The lengths of all trees meet Kraft's inequality, so that the length of the published tree may take the place of the
    class in :func:`~glassine.capacity.conditional_bits`. See ``class_sizes.md``.

    Parameters
    ----------
    leaves : int
        Leaves of the tree.
    questions : int
        Conditions, fixed before the draw.
    leaf_values : int, default=1
        Values that a leaf can have.

    Examples
    --------
    >>> round(tree_length(8, 24, 2), 1)
    55.8
    """
    k = check_whole(leaves, "leaves", 1, MOST)
    asked = check_whole(questions, "questions", 1 if k > 1 else 0, MOST)
    values = check_whole(leaf_values, "leaf_values", 1, MOST)
    # The number of leaves, the shape among Catalan(k - 1), a question for each split, a value for each leaf.
    catalan = (math.lgamma(2 * k - 1) - math.lgamma(k) - math.lgamma(k + 1)) / LN2
    return _up(1 + 2 * math.log2(k) + max(catalan, 0.0) + (k - 1) * math.log2(max(asked, 1)) + k * math.log2(values))


def multiway_bits(values: Sequence[int], depth: int, leaf_values: int = 1) -> float:
    """Return a bound on log2 of the number of trees with one branch per value, no attribute twice on a path.

    Guarantee
    ---------
    Every tree of the class has its own number of so many bits; which values have a branch is among them. See
    ``class_sizes.md``.

    Parameters
    ----------
    values : sequence of int
        Declared values of each attribute, fixed before the draw.
    depth : int
        Most splits on a path.
    leaf_values : int, default=1
        Values that a leaf can have.

    Examples
    --------
    >>> round(multiway_bits([2, 3], 1), 2)
    3.7
    """
    sizes, depth = _arities(values), check_whole(depth, "depth", 0, 10**4)
    leaf = math.log2(check_whole(leaf_values, "leaf_values", 1, MOST))
    bits = leaf
    for _ in range(min(depth, len(sizes))):
        # Each value has no branch or one with a tree: (1 + trees) to the number of values; and all others have a leaf.
        branch = _log_add(0.0, bits)
        bits = leaf
        for size in sizes:
            bits = _log_add(bits, size * branch + leaf)
    return _up(bits)


def multiway_leaves(values: Sequence[int], depth: int) -> int:
    """Return the most leaves of such a tree, with one for all other values at each split."""
    sizes = sorted(_arities(values), reverse=True)
    return math.prod(size + 1 for size in sizes[: check_whole(depth, "depth", 0, 10**4)])


def grid_points(lo: float, hi: float, digits: int) -> int:
    """Return how many thresholds with so many decimal digits lie in [lo, hi].

    Parameters
    ----------
    lo, hi : float
        A range that was fixed before the draw.
    digits : int
        Decimal digits, in [-15, 15]; -1 for multiples of 10.

    Examples
    --------
    >>> grid_points(0, 100, 0), grid_points(0.0, 1.0, 2)
    (101, 101)
    """
    check_whole(digits, "digits", -15, 15)
    step = Fraction(10) ** -digits
    if not (math.isfinite(lo) and math.isfinite(hi) and lo <= hi):
        raise InvalidParameterError(f"{parameter('lo')} and {parameter('hi')} must be finite and in order.")
    return math.floor(Fraction(hi) / step) - math.ceil(Fraction(lo) / step) + 1


def _arities(values: Sequence[int]) -> list[int]:
    return [check_whole(value, "values", 1, MOST) for value in values]


def rule_list_bits(antecedents: int, rules: int, values: int = 1) -> float:
    """Return log2 of the number of lists of at most so many distinct rules and a default, rounded up.

    Guarantee
    ---------
    Every list of the class has its own number of so many bits. See ``class_sizes.md``.

    Parameters
    ----------
    antecedents : int
        Antecedents of the pool, fixed before the draw.
    rules : int
        Most rules besides the default rule.
    values : int, default=1
        Values that a rule, and the default rule, can have.

    Examples
    --------
    >>> round(rule_list_bits(100, 5, 2), 1)
    39.1
    """
    pool, most = check_whole(antecedents, "antecedents", 0, MOST), check_whole(rules, "rules", 0, 10**4)
    value = math.log2(check_whole(values, "values", 1, MOST))
    total, lists = value, value
    for r in range(min(most, pool)):
        lists += math.log2(pool - r) + value
        total = _log_add(total, lists)
    return _up(total)


def scorecard_bits(items: int, most_items: int, most_points: int, intercepts: int = 1) -> float:
    """Return log2 of the number of cards of at most so many items worth whole points, rounded up.

    Guarantee
    ---------
    Every card of the class has its own number of so many bits; the risks at the totals are not among them. See
    ``class_sizes.md``.

    Parameters
    ----------
    items : int
        Items to choose from, fixed before the draw.
    most_items : int
        Most items of a card.
    most_points : int
        Most points of an item, added or taken away; none has 0.
    intercepts : int, default=1
        Values that the intercept can have.

    Examples
    --------
    >>> round(scorecard_bits(50, 10, 5, 101), 1)
    73.2
    """
    pool, most = check_whole(items, "items", 0, MOST), check_whole(most_items, "most_items", 0, 10**4)
    points = math.log2(2 * check_whole(most_points, "most_points", 1, MOST))
    total = cards = 0.0
    for r in range(min(most, pool)):
        cards += math.log2((pool - r) / (r + 1)) + points
        total = _log_add(total, cards)
    return _up(total + math.log2(check_whole(intercepts, "intercepts", 1, MOST)))


def additive_bits(bins: int, levels: int, intercepts: int = 1) -> float:
    """Return log2 of the number of additive models whose scores have a fixed number of levels, rounded up.

    Guarantee
    ---------
    Every such model has its own number of so many bits. See ``class_sizes.md``.

    Parameters
    ----------
    bins : int
        Bins of all terms together, fixed before the draw.
    levels : int
        Values that a score can have: 61 for tenths between -3 and 3.
    intercepts : int, default=1
        Values that the intercept can have.

    Examples
    --------
    >>> round(additive_bits(50, 61, 61), 1)
    302.5
    """
    bins = check_whole(bins, "bins", 0, MOST)
    score = math.log2(check_whole(levels, "levels", 1, MOST))
    return _up(bins * score + math.log2(check_whole(intercepts, "intercepts", 1, MOST)))


def _log_add(a: float, b: float) -> float:
    """Return log2(2^a + 2^b)."""
    large, small = max(a, b), min(a, b)
    return large + math.log1p(2.0 ** (small - large)) / LN2


def _up(bits: float) -> float:
    return bits * (1 + SLACK)
