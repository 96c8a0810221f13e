"""Public rules: found wherever they stand, and tested each as a function of epsilon; no choice escapes them."""

from __future__ import annotations

import ast
import importlib
import math
import pkgutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import glassine
from glassine.learners.additive.additive_budget import GaussianBudget
from glassine.learners.additive.choices import MOST_PAIRS, MOST_ROUNDS, PAIR_BINS, Choices, choices
from glassine.learners.additive.targets import FIRST, second_look
from glassine.learners.exhaustive.sizes import suggested_depth
from glassine.privacy.budget_rules import BudgetRule
from glassine.sealed.losses import log_odds_grid

SOURCE = Path(glassine.__file__).parent
ROOMS = ("learners", "sealed", "privacy")
"""Where a private fit is planned and run."""

EPSILONS = np.geomspace(1e-3, 1e3, 2001)
"""A grid of epsilon of steps of 0.7%."""


def rules() -> dict[str, BudgetRule]:
    """Return every rule of these rooms by its name; found by importing all modules."""
    found: dict[int, tuple[str, BudgetRule]] = {}
    for room in ROOMS:
        package = importlib.import_module(f"glassine.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"glassine.{room}."):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, BudgetRule):
                    found.setdefault(id(value), (name, value))
    return dict(found.values())


RULES = rules()
MU = [GaussianBudget.of(float(epsilon), 1e-6).mu for epsilon in EPSILONS]
N_RECORDS, N_TERMS = (100, 3_000, 30_000, 1_000_000), (1, 8, 40)


def test_the_rules_of_learners_are_found() -> None:
    assert {"ROUNDS_OF_CLASSES", "ROUNDS_OF_NUMBERS", "SHARE_BY_RULE", "LOOKS", "WIDTH", "SUMMIT"} <= set(RULES)
    assert len(RULES) >= 11


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_rule_is_continuous_and_goes_one_way_in_epsilon(name: str) -> None:
    rule = RULES[name]
    # What a power between knots can move by, from one epsilon to the next.
    steepest = max(
        (abs(math.log(b / a) / math.log(high / low)) for (low, a), (high, b) in pairwise(rule.knots)), default=0.0
    )
    for n in N_RECORDS:
        for strengths in ([n * mu / math.sqrt(d) for mu in MU for d in (8,)], [n * float(e) for e in EPSILONS]):
            numbers = [rule(strength) for strength in strengths]
            wholes = [rule.whole(strength) for strength in strengths]
            assert numbers in (sorted(numbers), sorted(numbers, reverse=True))
            for (before, after), (low, high) in zip(pairwise(numbers), pairwise(strengths), strict=True):
                assert abs(math.log(after / before)) <= steepest * math.log(high / low) + 1e-12
            assert max(abs(after - before) for before, after in pairwise(wholes)) <= 1


def test_a_rule_cannot_jump_or_turn() -> None:
    for knots in (
        (),
        ((1.0, 2.0), (1.0, 3.0)),
        ((2.0, 1.0), (1.0, 2.0)),
        ((1.0, 1.0), (2.0, 3.0), (3.0, 2.0)),
        ((1.0, 0.0), (2.0, 1.0)),
        ((1.0, math.nan),),
    ):
        with pytest.raises(ValueError, match="rule"):
            BudgetRule(knots=knots)
    rule = BudgetRule(knots=((1.0, 1.0), (4.0, 2.0)))
    assert [rule(strength) for strength in (math.nan, -1.0, 0.0, 1.0, 2.0, 4.0, math.inf)] == pytest.approx(
        [1.0, 1.0, 1.0, 1.0, math.sqrt(2.0), 2.0, 2.0]
    )


@pytest.mark.parametrize("classes", [True, False])
@pytest.mark.parametrize("pairs", ["none", "stated", "rule"])
def test_all_choices_of_an_additive_fit_go_one_way_in_epsilon(classes: bool, pairs: str) -> None:
    for n in N_RECORDS:
        for d in N_TERMS:
            chosen = [choices(classes=classes, n_terms=d, n_records=n, mu=mu, pairs=pairs) for mu in MU]  # type: ignore[arg-type]
            for name in Choices.__dataclass_fields__:
                values = [getattr(one, name) for one in chosen]
                assert values in (sorted(values), sorted(values, reverse=True)), name
                assert max(abs(a - b) for a, b in pairwise(values)) <= (1 if name == "rounds" else 0.02), name
            assert max(one.rounds for one in chosen) <= MOST_ROUNDS


def test_what_a_fit_spends_on_its_first_looks_grows_with_epsilon_and_leaves_more() -> None:
    for n in (1.0, *N_RECORDS):
        shares = [FIRST + second_look(n, mu) for mu in MU]
        assert shares == sorted(shares, reverse=True)
        squares = [share * mu**2 for share, mu in zip(shares, MU, strict=True)]
        assert all(b >= a * (1 - 1e-12) for a, b in pairwise(squares))


def test_the_values_of_leaves_reach_further_little_by_little() -> None:
    for rate in (0.05, 0.3, 0.5):
        before = None
        for strength in np.geomspace(1, 1e6, 4001):
            grid = log_odds_grid(np.array([1 - rate, rate]), float(strength))
            odds = np.log(grid[:, 1] / grid[:, 0])
            low, high, number = float(odds.min()), float(odds.max()), len(odds)
            if before is not None:
                assert before[0] - 0.01 <= low <= before[0] + 1e-9 or low == pytest.approx(before[0], abs=0.01)
                assert before[1] - 1e-9 <= high <= before[1] + 0.01
                assert number - before[2] in (0, 1, 2)
            before = low, high, number


def test_a_suggested_depth_never_falls_and_grows_by_one() -> None:
    depths = [suggested_depth(30_000, float(epsilon), 40) for epsilon in EPSILONS]
    assert depths == sorted(depths)
    assert max(b - a for a, b in pairwise(depths)) == 1


def test_pairs_have_the_room_that_memory_is_reckoned_for() -> None:
    assert RULES["BINS_OF_PAIRS"].whole(math.inf) == PAIR_BINS
    assert RULES["NUMBER_OF_PAIRS"].whole(math.inf) == MOST_PAIRS


# Where a choice is made by comparing the budget with a number, it jumps there.

BUDGETS = frozenset({"epsilon", "mu", "strength", "signal", "rho", "budget"})

ALLOWED = {
    "learners/additive/boosting.py:stage_mu": "the smaller of two, continuous",
    "learners/additive/additive_budget.py:check_values": "refuses",
    "learners/additive/additive_budget.py:of": "refuses",
    "learners/additive/additive_budget.py:usable": "the larger of two parts, continuous",
    "learners/additive/targets.py:second_look": "what a rule leaves of the first look, tested above",
    "learners/budget.py:check_stated": "refuses",
    "learners/exhaustive/sizes.py:suggested_depth": "tested above",
    "learners/greedy/published.py:confidence_threshold": "as published",
    "learners/search.py:_planned": "refuses",
    "learners/summaries/estimates.py:check_strength": "refuses",
    "sealed/noisy_choice.py:cauchy_calibration": "scale of a noise, continuous",
    "sealed/noisy_choice.py:spent_on_gaussian": "cost of a noise, continuous",
    "sealed/oracle.py:__pay": "refuses",
    **{f"sealed/gibbs.py:{name}": "exact arithmetic of a draw" for name in ("choices", "log_total")},
    **{
        f"sealed/weighting.py:{name}": "exact arithmetic of a draw" for name in ("block", "exact_epsilon", "exact_rate")
    },
}


def _names(node: ast.AST) -> set[str]:
    return {
        name
        for part in ast.walk(node)
        for name in [part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""]
    }


def _jumps(function: ast.AST) -> bool:
    """Whether a function compares a budget, rounds it or takes an extreme of it, itself or in an expression."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and _names(node) & BUDGETS:
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and _names(node) & BUDGETS:
            return True
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if called in {"min", "max", "round", "int", "floor", "ceil", "rint", "clip"} and any(
                _names(argument) & BUDGETS for argument in node.args
            ):
                return True
    return False


def jumping(source: str, name: str) -> set[str]:
    """Return the functions of a module that may jump at a budget."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return {f"{name}:{node.name}" for node in functions if _jumps(node)}


def test_no_choice_of_a_learner_escapes_the_rules() -> None:
    found: set[str] = set()
    for room in ("learners", "sealed"):
        for path in sorted((SOURCE / room).rglob("*.py")):
            found |= jumping(path.read_text(), str(path.relative_to(SOURCE)))
    assert found == set(ALLOWED), found ^ set(ALLOWED)


def test_a_planted_threshold_is_found() -> None:
    planted = "def rounds(self):\n    return 40 if self.privacy.mu > 0.3 else 20\n"
    assert jumping(planted, "a.py") == {"a.py:rounds"}
    assert jumping("def pairs(signal):\n    return int(signal // 1500)\n", "a.py") == {"a.py:pairs"}
    assert jumping("def pairs(signal):\n    return RULE.whole(signal)\n", "a.py") == set()
