"""A class of models that was fixed before the draw, what of a member is published, and the bits of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from glassine.capacity.class_sizes import (
    multiway_bits,
    multiway_leaves,
    rule_list_bits,
    scorecard_bits,
    tree_bits,
    tree_leaves,
)
from glassine.capacity.exact_counts import MOST_CELLS, complexity_bits, rounded_table_bits, table_bits
from glassine.errors import InvalidParameterError, check_choice, check_whole, parameter

Figures: TypeAlias = Literal["labels", "counts", "rounded counts", "shares"]
"""What stands in the leaves or rules of a published model."""

DOUBLE = 64
"""Bits of a number that is published with all its digits and is not on a public grid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What of a model is published beside its conditions.

    Parameters
    ----------
    figures : {"labels", "counts", "rounded counts", "shares"}, default="counts"
        What stands in the leaves or rules. Sizes, error rates and shares with all their digits follow from exact
        counts, and count as them.
    step : int, default=1
        Multiple to which rounded counts are rounded.
    digits : int, default=2
        Decimal digits of published shares, in [0, 15].
    numbers : int, default=0
        Other numbers that are published with all their digits, such as thresholds off a public grid: 64
        bits each.
    options : int, default=1
        Number of settings among which one was chosen on the data, such as depths in a cross-validation.
    models : int, default=1
        Models of the same class that are published of the same people.

    Examples
    --------
    >>> Published(figures="rounded counts", step=100, options=5).text
    'counts rounded to multiples of 100; one of 5 settings, chosen on the data'
    """

    figures: Figures = "counts"
    step: int = 1
    digits: int = 2
    numbers: int = 0
    options: int = 1
    models: int = 1

    def __post_init__(self) -> None:
        check_choice(self.figures, "figures", get_args(Figures))
        check_whole(self.step, "step", 1, 10**12)
        check_whole(self.digits, "digits", 0, 15)
        check_whole(self.numbers, "numbers", 0, 10**9)
        check_whole(self.options, "options", 1, 10**12)
        check_whole(self.models, "models", 1, 10**6)

    @property
    def text(self) -> str:
        """What is published, in words."""
        said = {
            "labels": "labels, without counts",
            "counts": "exact counts",
            "rounded counts": f"counts rounded to multiples of {self.step:,}",
            "shares": f"shares with {self.digits} digits",
        }[self.figures]
        more = [f"{self.numbers:,} other numbers"] if self.numbers else []
        more += [f"one of {self.options:,} settings, chosen on the data"] if self.options > 1 else []
        more += [f"{self.models:,} models of the same people"] if self.models > 1 else []
        return "; ".join([said, *more])


LABELS, COUNTS = Published(figures="labels"), Published()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredClass:
    """All models among which a learner may choose, over conditions that were fixed before the draw.

    Guarantee
    ---------
    None on its own: a bound holds only if the class was fixed before the draw. See ``class_sizes.md``.

    Attributes
    ----------
    text : str
        The class, in words.
    structure_bits : float
        log2 of the number of structures, without what stands in leaves or rules.
    labelled_bits : float
        log2 of the number of models with labels.
    parts : int
        Most leaves or rules of a model, the default rule among them.
    n_classes : int
        Classes that are counted in each.
    symmetric : bool
        Whether the learner gives every order of the records the same model, so that exact counts are refunded.
    label_follows : bool
        Whether the label of a leaf follows from the exact counts of all leaves.

    Examples
    --------
    >>> trees = tree_class(24, 3, 2)
    >>> round(trees.bits(LABELS, 24_421), 1), round(trees.bits(COUNTS, 24_421), 1)
    (39.6, 210.1)
    """

    text: str
    structure_bits: float
    labelled_bits: float
    parts: int
    n_classes: int
    symmetric: bool = False
    label_follows: bool = True

    @property
    def cells(self) -> int:
        """Most counts of a model: leaves or rules times classes."""
        return self.parts * self.n_classes

    def structure(self, published: Published) -> float:
        """Return the bits of everything but the counts, for one model; labels are among them where they say more."""
        follows = published.figures == "counts" and self.label_follows
        own = self.structure_bits if follows else self.labelled_bits
        return own + math.log2(published.options) + DOUBLE * published.numbers

    def bits(self, published: Published, n: int, *, refunded: bool = False) -> float:
        """Return the bits of all that is published of n people.

        Parameters
        ----------
        published : Published
            What is published.
        n : int
            People, one record each.
        refunded : bool, default=False
            Whether exact counts cost their complexity alone, as they do for independent records and a symmetric
            learner. In the design game they do not.

        Raises
        ------
        InvalidParameterError
            If the class has more than a million counts.
        """
        return published.models * (self.structure(published) + self.figures_bits(published, n, refunded=refunded))

    def figures_bits(self, published: Published, n: int, *, refunded: bool = False) -> float:
        """Return the bits of what stands in the leaves or rules of one model, beside labels."""
        if published.figures == "labels":
            return 0.0
        if not self.cells <= MOST_CELLS:
            raise InvalidParameterError(
                f"{self.text} can have more than {MOST_CELLS:,} counts, so that no bound is of use.",
                remedy="Publish labels without counts, or declare a smaller class.",
            )
        exact = table_bits(self.cells, n)
        if published.figures == "rounded counts":
            return rounded_table_bits(self.cells, n, published.step)
        if published.figures == "shares":
            # Rounded shares of a part add up to one and half a digit for each class at most: a table of one more count.
            return min(exact, self.parts * table_bits(self.n_classes + 1, 10**published.digits + self.n_classes))
        # Several models of the same people: given one, the others' refunds may be of the same entropy.
        refund = refunded and self.symmetric and published.models == 1 and published.options == 1
        return complexity_bits(self.cells, n) if refund else exact


def tree_class(
    questions: int, depth: int, n_classes: int, *, symmetric: bool = False, label_follows: bool = True
) -> DeclaredClass:
    """Return all trees of at most a depth over yes-or-no questions that were fixed before the draw.

    Parameters
    ----------
    questions : int
        Conditions: cut points and values. A condition and its negation are one.
    depth : int
        Most splits on a path.
    n_classes : int
        Classes of the outcome, at least 1.
    symmetric, label_follows : bool
        As for :class:`DeclaredClass`.
    """
    check_whole(n_classes, "n_classes", 1, 10**6)
    return DeclaredClass(
        text=f"trees of depth at most {depth} over {questions:,} questions",
        structure_bits=tree_bits(questions, depth),
        labelled_bits=tree_bits(questions, depth, n_classes),
        parts=tree_leaves(questions, depth),
        n_classes=n_classes,
        symmetric=symmetric,
        label_follows=label_follows,
    )


def multiway_class(
    values: Sequence[int], depth: int | None, n_classes: int, *, symmetric: bool = False
) -> DeclaredClass:
    """Return all trees with a branch for each value of an attribute, none used twice on a path.

    Parameters
    ----------
    values : sequence of int
        Declared values of each attribute, a missing one among them where it is allowed.
    depth : int, optional
        Most splits on a path; the number of attributes by default.
    n_classes : int
        Classes of the outcome.
    symmetric : bool
        As for :class:`DeclaredClass`.
    """
    levels = len(values) if depth is None else min(depth, len(values))
    check_whole(n_classes, "n_classes", 1, 10**6)
    return DeclaredClass(
        text=f"multiway trees of depth at most {levels} over {len(values):,} attributes",
        structure_bits=multiway_bits(values, levels),
        labelled_bits=multiway_bits(values, levels, n_classes),
        parts=multiway_leaves(values, levels),
        n_classes=n_classes,
        symmetric=symmetric,
    )


def rule_list_class(
    antecedents: int, rules: int, n_classes: int, *, symmetric: bool = False, label_follows: bool = True
) -> DeclaredClass:
    """Return all lists of at most so many distinct rules of a pool that was fixed before the draw."""
    check_whole(n_classes, "n_classes", 1, 10**6)
    return DeclaredClass(
        text=f"rule lists of at most {rules} of {antecedents:,} rules",
        structure_bits=rule_list_bits(antecedents, rules),
        labelled_bits=rule_list_bits(antecedents, rules, n_classes),
        parts=min(rules, antecedents) + 1,
        n_classes=n_classes,
        symmetric=symmetric,
        label_follows=label_follows,
    )


def scorecard_class(
    items: int, most_items: int, most_points: int, *, intercepts: int | None = None, units: int | None = None
) -> DeclaredClass:
    """Return all cards of at most so many items worth whole points; its counts are those at each total of points.

    Parameters
    ----------
    items : int
        Items to choose from, fixed before the draw.
    most_items, most_points : int
        Most items of a card, and most points of an item, added or taken away.
    intercepts, units : int, optional
        Values that the intercept, and the worth of a point, can have: 1 where it is fixed before the draw or not
        published. By default a number with all its digits, which counts as 64 bits.
    """
    totals = 2 * min(most_items, items) * most_points + 1
    bits = scorecard_bits(items, most_items, most_points)
    for name, values in (("intercepts", intercepts), ("units", units)):
        bits += DOUBLE if values is None else math.log2(check_whole(values, name, 1, 10**18))
    return DeclaredClass(
        text=f"scorecards of at most {most_items} of {items:,} items worth up to {most_points} points",
        structure_bits=bits,
        labelled_bits=bits + totals,  # Which totals predict the second class
        parts=totals,
        n_classes=2,
    )


def check_declared(value: object) -> DeclaredClass:
    """Return a declared class, or raise InvalidParameterError."""
    if not isinstance(value, DeclaredClass):
        raise InvalidParameterError(
            f"{parameter('declared')} must be a DeclaredClass, got {type(value).__name__}.",
            remedy="Make one with tree_class() or rule_list_class().",
        )
    return value
