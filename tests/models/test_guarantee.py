"""Guarantees: refused values, JSON, and bounds that hold and are reached."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from glassine.domain import Between
from glassine.errors import InvalidModelError
from glassine.formats import format_rules, load_model, parse_rules, write_model
from glassine.formats.json import from_dict, to_dict
from glassine.models import Branch, DecisionTree, Evidence, Guarantee, Node, Rule, RuleList

EPSILONS = st.floats(0, 12)
NOISY = RuleList(
    (
        Rule(antecedent=(Between("x", hi=1.0),), evidence=Evidence(counts=(3, 0))),
        Rule(evidence=Evidence(counts=(0, 12))),
    ),
    ("x",),
    ("no", "yes"),
    guarantee=Guarantee(epsilon=1.0, delta=1e-7, count_scale=2.0, caveats=("seeded: not private",)),
)


def nested(depth: int) -> list[Any]:
    """Return a list in a list in a list."""
    out: list[Any] = []
    for _ in range(depth):
        out = [out]
    return out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": nested(5000)}, "epsilon must be a finite number, got a list"),
        ({"epsilon": -0.1}, r"epsilon must lie in \[0, 1e\+06\]"),
        ({"epsilon": math.nan}, "epsilon must be a finite number, got NaN"),
        ({"epsilon": math.inf}, "epsilon must be a finite number"),
        ({"epsilon": 10**400}, "epsilon must be a finite number"),
        ({"epsilon": True}, "epsilon must be a finite number"),
        ({"epsilon": "1"}, "epsilon must be a finite number"),
        ({"epsilon": None}, "epsilon must be a finite number"),
        ({"epsilon": 1, "delta": 1.0}, r"delta must lie in \[0, 1\)"),
        ({"epsilon": 1, "delta": -1e-9}, "delta must lie in"),
        ({"epsilon": 1, "count_scale": 0}, "count_scale must be positive"),
        ({"epsilon": 1, "count_scale": math.nan}, "count_scale must be a finite number"),
        ({"epsilon": 1, "neighboring": "none"}, "neighboring relation must be one of add-or-remove-one, replace-one"),
        ({"epsilon": 1, "neighboring": None}, "neighboring relation must be one of"),
        ({"epsilon": 1, "caveats": "seeded"}, "caveats must be a list of texts"),
        ({"epsilon": 1, "caveats": ("",)}, "caveats must be a list of texts"),
        ({"epsilon": 1, "records_per_person": 2}, "contradicts its neighboring relation"),
        ({"epsilon": 1, "neighboring": "add-or-remove-one-person"}, "contradicts its neighboring relation"),
        *(
            (
                {"epsilon": 1, "neighboring": "add-or-remove-one-person", "records_per_person": most},
                "records_per_person must be a whole number in",
            )
            for most in (0, -1, True, 1.0, "2", 10**6 + 1)
        ),
    ],
)
def test_impossible_guarantees_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        Guarantee(**given)
    plain = {"neighboring": "add-or-remove-one", **given}
    if isinstance(plain.get("caveats"), tuple):
        plain["caveats"] = list(plain["caveats"])
    with pytest.raises(InvalidModelError):
        from_dict({**to_dict(NOISY), "guarantee": plain})


def test_a_guarantee_with_a_caveat_does_not_hold() -> None:
    assert Guarantee(epsilon=1).holds
    assert not NOISY.guarantee.holds  # type: ignore[union-attr]


def test_json_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    write_model(NOISY, path, overwrite=True)
    assert load_model(path) == NOISY
    assert json.loads(path.read_text())["schema"] == "glassine.model/1"
    bare = replace(NOISY, guarantee=None)
    assert "guarantee" not in to_dict(bare)
    assert from_dict({**to_dict(bare), "guarantee": None}) == bare


def test_json_keeps_the_records_of_a_person_and_says_nothing_of_them_for_records() -> None:
    claim = Guarantee(epsilon=1.0, neighboring="add-or-remove-one-person", records_per_person=3)
    model = replace(NOISY, guarantee=claim)
    assert from_dict(to_dict(model)) == model
    assert to_dict(model)["guarantee"]["records_per_person"] == 3
    assert "records_per_person" not in to_dict(NOISY)["guarantee"]
    # What follows is what follows for one record, of a person.
    assert claim.replacing == (2.0, 0.0)
    assert claim.success(0.01) == Guarantee(epsilon=1.0).success(0.01)


@pytest.mark.parametrize("lacking", ["epsilon", "neighboring"])
def test_json_must_say_epsilon_and_the_relation(lacking: str) -> None:
    plain = to_dict(NOISY)
    del plain["guarantee"][lacking]
    with pytest.raises(InvalidModelError, match=f"the model, guarantee, lacks the key '{lacking}'"):
        from_dict(plain)
    with pytest.raises(InvalidModelError, match="unknown key 'eps'"):
        from_dict({**to_dict(NOISY), "guarantee": {"epsilon": 1, "neighboring": "replace-one", "eps": 2}})
    odd: list[Any] = [[], "1", 1.0, {**to_dict(NOISY)["guarantee"], "delta": None}]
    for entry in odd:
        with pytest.raises(InvalidModelError):
            from_dict({**to_dict(NOISY), "guarantee": entry})


def test_noisy_counts_need_not_add_up_and_are_never_taken_for_exact() -> None:
    nodes = (
        Node(
            branches=(Branch(Between("x", hi=1.0), 1), Branch(Between("x", lo=1.0), 2)),
            evidence=Evidence(counts=(9, 9)),
        ),
        Node(evidence=Evidence(counts=(3, 0))),
        Node(evidence=Evidence(counts=(4, 8))),
    )
    with pytest.raises(InvalidModelError, match="not the sum"):
        DecisionTree(nodes, ("x",), (0, 1))
    with pytest.raises(InvalidModelError, match="not the sum"):
        DecisionTree(nodes, ("x",), (0, 1), guarantee=Guarantee(epsilon=1))
    tree = DecisionTree(nodes, ("x",), (0, 1), guarantee=Guarantee(epsilon=1, count_scale=1.0))
    assert not tree.counts_are_exact
    assert tree.n_records == 15
    assert parse_rules(format_rules(NOISY)).approximate
    wrong: Any = {"epsilon": 1}
    with pytest.raises(InvalidModelError, match="must be a Guarantee or None"):
        RuleList((Rule(evidence=Evidence(label=0)),), ("x",), (0, 1), guarantee=wrong)


def rows_of(epsilon: float, m: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Randomised response among m values: probability of each answer, for each value and, last, without the record."""
    best = min(math.exp(epsilon) / m, 1 - math.exp(-epsilon) * (1 - 1 / m))
    rows = np.full((m + 1, m), (1 - best) / max(m - 1, 1))
    np.fill_diagonal(rows, best)
    rows[m] = 1 / m
    return rows


@given(epsilon=EPSILONS, m=st.integers(2, 30))
@example(epsilon=math.log(4), m=5)
@example(epsilon=0.0, m=2)
def test_the_bound_on_guesses_is_reached_by_a_private_mechanism(epsilon: float, m: int) -> None:
    rows = rows_of(epsilon, m)
    ratio = np.log(rows[:m] / rows[m])
    assert np.abs(ratio).max() <= epsilon + 1e-9  # it is epsilon-private for adding or removing the record
    hit = float(np.trace(rows[:m]) / m)
    assert hit == pytest.approx(Guarantee(epsilon=epsilon).success(1 / m), rel=1e-9)


def random_mechanism(rng: np.random.Generator, epsilon: float, delta: float, m: int, k: int) -> Any:
    """Draw output probabilities for m values of a record and for none, as far apart as (epsilon, delta) allows."""
    none = rng.dirichlet(np.ones(k))
    rows = []
    for _ in range(m):
        up = rng.permutation(k) < rng.integers(1, k)
        mass = none[up].sum()
        more = min(math.exp(epsilon), (1 - math.exp(-epsilon) * (1 - mass)) / mass)
        row = np.where(up, none * more, none * (1 - more * mass) / (1 - mass))
        share = delta * math.exp(-epsilon)
        rows.append((1 - share) * row + share * rng.dirichlet(np.ones(k)))
    return np.array(rows), none


def is_private(rows: Any, none: Any, epsilon: float, delta: float) -> bool:
    for row in rows:
        for one, other in ((row, none), (none, row)):
            if np.maximum(one - math.exp(epsilon) * other, 0).sum() > delta + 1e-9:
                return False
    return True


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 0.0), (3.0, 0.0), (0.5, 0.05), (2.0, 0.01)])
def test_no_attack_on_a_private_mechanism_exceeds_the_bounds(epsilon: float, delta: float) -> None:
    rng = np.random.default_rng(0)
    claim = Guarantee(epsilon=epsilon, delta=delta)
    for _ in range(200):
        m, k = int(rng.integers(2, 5)), int(rng.integers(2, 6))
        rows, none = random_mechanism(rng, epsilon, delta, m, k)
        assert is_private(rows, none, epsilon, delta)
        prior = rng.dirichlet(np.ones(m))
        for outputs in itertools.product([0, 1], repeat=k):
            accuse = np.array(outputs, dtype=float)
            assert rows[0] @ accuse <= claim.success(min(float(none @ accuse), 1.0)) + 1e-9
            assert rows[0] @ accuse - none @ accuse <= claim.membership_advantage + 1e-9
        guess = (prior[:, None] * rows).argmax(axis=0)  # the best guess for each output
        hit = sum(prior[guess[o]] * rows[guess[o], o] for o in range(k))
        chance = sum(prior[guess[o]] * none[o] for o in range(k))
        assert hit <= claim.success(min(float(chance), 1.0)) + 1e-9
        if delta:
            continue
        posterior = prior[:, None] * rows / (prior @ rows)
        for z in range(m):
            assert posterior[z].max() <= (claim.posterior(float(prior[z])) or 0) + 1e-9


def test_a_bound_that_forgets_a_factor_is_found() -> None:
    """Planted: taking one step for the belief about a record, or half of epsilon for guesses, is exceeded."""
    epsilon = 1.0
    laplace = np.exp(-epsilon * np.abs(np.arange(-60, 61)[None, :] - np.array([[1], [-1]])))
    laplace /= laplace.sum(axis=1, keepdims=True)
    odds = float((laplace[0] / laplace[1]).max())
    assert odds == pytest.approx(math.exp(2 * epsilon), rel=1e-6)
    right, wrong = Guarantee(epsilon=epsilon), Guarantee(epsilon=epsilon, neighboring="replace-one")
    assert odds / (1 + odds) == pytest.approx(right.posterior(0.5), rel=1e-6)
    assert odds / (1 + odds) > (wrong.posterior(0.5) or 1) + 0.1
    hit = float(np.trace(rows_of(epsilon, 10)[:10]) / 10)
    assert hit > Guarantee(epsilon=epsilon * 0.9).success(0.1) + 0.01


@given(epsilon=EPSILONS, delta=st.sampled_from([0.0, 1e-6, 0.1]), low=st.floats(0, 1), high=st.floats(0, 1))
def test_the_region_is_concave_and_rises(epsilon: float, delta: float, low: float, high: float) -> None:
    claim, (low, high) = Guarantee(epsilon=epsilon, delta=delta), sorted((low, high))
    assert low - 1e-12 <= claim.success(low) <= claim.success(high) + 1e-12 <= 1 + 1e-12
    assert claim.success((low + high) / 2) >= (claim.success(low) + claim.success(high)) / 2 - 1e-9
    assert claim.success(low) - low <= claim.membership_advantage + 1e-12
    assert claim.success(low) <= 2**claim.bits * low + delta + 1e-9


@given(epsilon=EPSILONS, prior=st.floats(0, 1))
def test_for_adding_or_removing_guesses_are_bounded_better_than_beliefs(epsilon: float, prior: float) -> None:
    claim = Guarantee(epsilon=epsilon)
    assert claim.success(prior) <= (claim.posterior(prior) or 0) + 1e-12


def test_extremes() -> None:
    nothing, everything = Guarantee(epsilon=0), Guarantee(epsilon=1e6, delta=0.5)
    assert (nothing.membership_advantage, nothing.bits, nothing.success(0.3), nothing.posterior(0.3)) == (
        0,
        0,
        0.3,
        0.3,
    )
    assert everything.membership_advantage == 1
    assert everything.success(0.001) == 1
    assert everything.success(0) == 0.5
    assert everything.posterior(0.5) is None
    assert everything.replacing == (2e6, 1.0)
    assert Guarantee(epsilon=1e6).posterior(0.0) == 0
    assert Guarantee(epsilon=1, neighboring="replace-one").replacing == (1, 0)
    assert Guarantee(epsilon=1, delta=0.01).replacing[1] == pytest.approx(0.01 * (1 + math.e))
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(InvalidModelError, match="a probability must lie in"):
            nothing.success(wrong)
        with pytest.raises(InvalidModelError, match="a probability must lie in"):
            nothing.posterior(wrong)
