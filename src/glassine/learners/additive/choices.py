"""Public rules for the choices of a penalised fit: rounds, rate, clip, shares of the budget, and pairs.

Each follows from released figures and the budget by a :class:`~glassine.privacy.budget_rules.BudgetRule`, so that a
larger budget changes it little by little. ``docs/papers/dp-ebm.md`` states on which data they were set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from glassine.privacy.budget_rules import BudgetRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Choices of a penalised fit."""

    rounds: int
    rate: float  # Share of each round's sums in their running mean
    clip: float  # Largest size of a residual: of a class, or of a number in released standard deviations of the target
    caution: float = 1.5  # Variance of the noise that the penalty is set for, relative to that of all rounds together
    bin_share: float = 0.2  # Share of the squared mu for the bins
    early: float = 0.5  # Share of the rounds' squared mu for the first half of them, whose scores are not published


ROUNDS_OF_CLASSES = BudgetRule(knots=((400.0, 12.0), (1200.0, 20.0), (2500.0, 20.0), (6000.0, 40.0)))
"""Rounds by strength: few where noise is strong; many where differences that they have not yet fitted weigh more."""

ROUNDS_OF_NUMBERS = BudgetRule(knots=((400.0, 36.0), (1200.0, 60.0), (2500.0, 60.0), (6000.0, 90.0)))
"""The same for numbers."""

AMPLE, ROUNDS_OF_AMPLE = 250_000.0, (20, 60)
"""With more records than the first, the most rounds of classes and of numbers: more take more time than they gain."""

MOST_ROUNDS = 90
"""Most rounds of the rules, for any released number of records."""

RATE_OF_CLASSES = BudgetRule(knots=((400.0, 0.15), (1200.0, 0.2)))
"""Rate by strength."""

EARLY = 0.15
"""Share for the first half of the rounds on numbers."""

EARLY_CLASSES = 0.3
"""The same on classes, where there are pairs."""

LEVELS_OF_DECLARED = BudgetRule(knots=((500.0, 2.0), (700.0, 4.0), (4000.0, 6.0)))
"""Levels of bins by strength where thresholds are declared: the cells between them, and finer ones within.

Two at least: where the thresholds are poor, one would lose far more than the second costs. Four from 700 on was
chosen with California in view, where a line from 500 to 4,000 loses; its figures there do not judge the rule."""

MERGE_OF_DECLARED = BudgetRule(knots=((300.0, 0.1), (600.0, 2.0)))
"""Deviations of noise up to which these bins merge, by strength: with few records all between thresholds stay."""

SELECT_SHARE = 0.1
"""Share of the rounds' squared mu for the choice of a stated number of pairs."""

SHARE_BY_RULE = BudgetRule(knots=((350.0, 0.001), (700.0, SELECT_SHARE)))
"""The same for the choice by the rule, by strength: where none would stand out, it costs next to nothing."""

EARLY_BY_RULE = BudgetRule(knots=((350.0, 0.5), (700.0, EARLY_CLASSES)))
"""Share for the first half of the rounds on classes, where the rule chooses pairs."""

CLEAR = BudgetRule(knots=((350.0, 6.0), (700.0, 2.5)))
"""A pair is taken by the rule if its gain exceeds so many standard deviations, beside what chance gives."""

COUNT_SHARE = 0.02
"""Share of the rounds' squared mu for the joint counts of pairs."""

PAIR_BINS = 20
"""Most bins of each attribute of a pair, besides one for missing values."""

BINS_OF_PAIRS = BudgetRule(knots=((4.0**3 / 1.4**3, 4.0), (PAIR_BINS**3 / 1.4**3, float(PAIR_BINS))))
"""Most bins of each attribute of a pair by strength: 1.4 times its cube root."""

MOST_PAIRS = 4
"""Most pairs that the rule takes."""

NUMBER_OF_PAIRS = BudgetRule(knots=((2200.0, 1.0), (6600.0, float(MOST_PAIRS))))
"""Most pairs that the rule takes by strength."""

Pairs = Literal["none", "stated", "rule"]
"""Whether there may be pairs: none, those that the user names or a number of them, or as the rule says."""


def strength(*, n_terms: int, n_records: float, mu: float) -> float:
    """Return the number of records times mu over the root of the number of attributes.

    Examples
    --------
    >>> strength(n_terms=16, n_records=10_000, mu=0.2)
    500.0
    """
    return n_records * mu / math.sqrt(max(n_terms, 1))


def choices(*, classes: bool, n_terms: int, n_records: float, mu: float, pairs: Pairs = "none") -> Choices:
    """Return the choices for a kind of target, a number of attributes, of records, and a budget.

    Guarantee
    ---------
    none: nothing is read from data. ``n_records`` must be public or released.

    Examples
    --------
    >>> [choices(classes=True, n_terms=14, n_records=26_000, mu=mu).rounds for mu in (0.03, 0.1, 0.24, 0.8)]
    [12, 16, 20, 38]
    """
    signal = strength(n_terms=n_terms, n_records=n_records, mu=mu)
    # By released figures alone: the choice is post-processing.
    rounds = (ROUNDS_OF_CLASSES if classes else ROUNDS_OF_NUMBERS).whole(signal)
    if n_records > AMPLE:
        rounds = min(rounds, ROUNDS_OF_AMPLE[not classes])
    if not classes:
        return Choices(rounds=rounds, rate=0.4, clip=0.85, early=EARLY)
    early = {"none": 0.5, "stated": EARLY_CLASSES, "rule": EARLY_BY_RULE(signal)}[pairs]
    return Choices(rounds=rounds, rate=RATE_OF_CLASSES(signal), clip=0.65, early=early)
