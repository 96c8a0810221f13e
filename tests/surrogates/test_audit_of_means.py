"""What an audit finds of releases that answer with numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest

from glassine import Policy, audit
from glassine.attacks.outcome import Measured
from glassine.auditing import Findings
from glassine.auditing.group_privacy import dominance_of, equal_answers, widths_left
from glassine.auditing.release_attacks import PublishedMeans
from glassine.auditing.release_inputs import inputs_of_fit
from glassine.surrogates import NumericAnswer, SurrogateExplainer
from glassine.surrogates.release_statements import reveals
from tests.surrogates.scenes import PEOPLE, people
from tests.surrogates.test_answers import behind, explained

EXPLAINERS: list[dict[str, Any]] = [{}, {"persons": 7}]


def fitted(persons: int | None = None) -> SurrogateExplainer:
    """Return an explainer of records that may repeat, those of a person next to each other."""
    frame = pd.DataFrame(people(300))
    frame = pd.concat([frame, frame[:60]], ignore_index=True)
    explainer = SurrogateExplainer(spread, 30, domain=PEOPLE, distance="gower", answer=RANGE)
    return explainer.fit(frame, persons=None if persons is None else [i % (360 // persons) for i in range(360)])


RANGE = NumericAnswer(lo=0, hi=200, step=2, tolerance=6)


def spread(X: Any) -> Any:
    """Answer with one of few numbers to most, so that answers are often equal."""
    age, income = (np.asarray(X[name], dtype=float) for name in ("age", "income"))
    return np.where(age > 60, 150.0, np.clip(income, 0, 199))


def checked(findings: Findings, rule: str) -> str:
    return next(check.status for check in findings.checks if check.rule == rule)


@pytest.mark.parametrize("options", EXPLAINERS)
def test_widths_and_shares_are_those_of_their_definition(options: dict[str, Any]) -> None:
    explainer = fitted(**options)
    training = explainer.training_
    inputs = inputs_of_fit(explainer)
    leaves = inputs.leaves()
    widths, equal = widths_left(inputs, leaves), equal_answers(inputs, leaves)
    assert widths is not None
    assert equal is not None
    values = list(zip(*(training.columns.values(name).tolist() for name in training.columns.names), strict=True))
    expected, shares = [], []
    for evidence, rows in behind(explainer):
        weights: defaultdict[Any, float] = defaultdict(float)
        whose = values if training.persons is None else training.persons.codes.tolist()
        held = {whose[i] for i in rows}
        for owner in held:
            own = [i for i in rows if whose[i] == owner]
            for i in own:
                weights[values[i]] += 1 / len(held) / len(own)
        assert sum(weights.values()) == pytest.approx(1)
        # At an end of the range half of the interval lies outside.
        sides = 1 if evidence.value in (RANGE.lo, RANGE.hi) else 2
        expected.append(min(1.0, sides / 2 / max(weights.values()) / RANGE.n_steps))
        # People are counted, but never more than the distinct records that stand behind them.
        size = min(len(held), len({values[i] for i in rows}))
        same = Counter[Any]()
        for answer in {int(training.answers[i]) for i in rows}:
            inside = [i for i in rows if training.answers[i] == answer]
            same[answer] = min(len({whose[i] for i in inside}), len({values[i] for i in inside}))
        shares.append(max(same.values()) / size)
    assert sorted(widths.tolist()) == pytest.approx(sorted(expected))
    assert sorted(equal.tolist()) == pytest.approx(sorted(shares))


def low(X: Any) -> Any:
    """Answer with nothing to the young, but for a few."""
    age, income = (np.asarray(X[name], dtype=float) for name in ("age", "income"))
    return np.where(age > 40, income, np.where(age == 40, 3.0, 0.0))


def test_a_mean_at_an_end_of_the_range_leaves_half_of_the_interval_and_is_pointed_out() -> None:
    explainer = SurrogateExplainer(low, 30, domain=PEOPLE, distance="gower", answer=RANGE).fit(
        pd.DataFrame(people(300))
    )
    widths = widths_left(inputs_of_fit(explainer), inputs_of_fit(explainer).leaves())
    assert widths is not None
    ends = 0
    for (evidence, rows), width in zip(behind(explainer), widths, strict=True):
        if evidence.value == RANGE.lo:
            # What follows from the mean and the number of records alone: answers are at least the lower bound.
            assert max(explainer.training_.answers[rows]) / RANGE.n_steps <= width
            assert width == pytest.approx(len(rows) / 2 / RANGE.n_steps)
            ends += 1
    assert ends > 0
    said = " ".join(reveals(explainer.release_))
    assert "A mean of 0, an end of the range, shows everyone" in said
    assert "an end of the range" not in " ".join(reveals(explained().release_))


def test_a_step_too_fine_for_its_leaves_fails_and_a_coarse_one_passes() -> None:
    fine, coarse = explained(), explained(answer=NumericAnswer(lo=0, hi=200, step=5))
    policy = Policy(narrowest_answer=0.2)
    # Leaves of ten records and 40 steps leave a quarter of the range; of 400 steps a fortieth.
    assert checked(audit(fine, policy=policy), "narrowest_answer") == "fail"
    assert checked(audit(coarse, policy=policy), "narrowest_answer") == "pass"
    assert checked(audit(fine, policy=Policy(narrowest_answer=0.02)), "narrowest_answer") == "pass"
    of_file = audit(fine.release_, policy=policy)
    check = next(check for check in of_file.checks if check.rule == "narrowest_answer")
    assert check.status == "unknown"
    assert "training records" in check.meaning
    assert not [check for check in audit(fine).checks if check.rule == "narrowest_answer"]


def test_equal_answers_in_a_leaf_fail() -> None:
    policy = Policy(purest_leaf=0.9)
    assert checked(audit(fitted(), policy=policy), "purest_leaf") == "fail"
    assert checked(audit(explained(), policy=policy), "purest_leaf") == "pass"


@pytest.mark.slow
def test_membership_is_measured_by_the_errors_of_means() -> None:
    explainer = explained()
    holdout = pd.DataFrame(people(1200)).iloc[600:].reset_index(drop=True)
    findings = audit(explainer, holdout=holdout)
    assert checked(findings, "largest_measured_advantage") == "pass"
    assert isinstance(findings.measured["membership"], Measured)
    attacks = {attack.attack: attack for attack in findings.measured["membership"].value.attacks}
    losses = attacks["best-loss threshold"]
    assert losses.advantage is not None
    means = PublishedMeans(explainer.release_).predict(holdout)
    told = [explanation.tree_decision for explanation in explainer.explain_many(holdout, guided=False)]
    assert means.tolist() == told


def test_a_black_box_that_knows_its_records_does_not_pass() -> None:
    """A planted fault: the black box answers low for its own records alone: members differ without the trees."""
    frame = pd.DataFrame(people(1200))
    inside = {tuple(row) for row in frame[:600].itertuples(index=False)}

    def leaking(X: Any) -> Any:
        rows = [tuple(row) for row in X.itertuples(index=False)] if hasattr(X, "itertuples") else X.rows()
        return np.array([20.0 if row in inside else 180.0 for row in rows])

    explainer = SurrogateExplainer(leaking, 40, domain=PEOPLE, distance="gower", answer=RANGE)
    explainer.fit(frame[:600])
    findings = audit(explainer, holdout=frame[600:].reset_index(drop=True))
    attacks = {attack.attack: attack for attack in findings.value("membership").attacks}
    assert attacks["best-loss threshold"].advantage_low > 0.9
    assert checked(findings, "largest_measured_advantage") == "unknown"


@pytest.mark.parametrize("options", EXPLAINERS)
def test_dominance_is_that_of_its_definition(options: dict[str, Any]) -> None:
    explainer = fitted(**options)
    training = explainer.training_
    inputs = inputs_of_fit(explainer)
    found = dominance_of(inputs, inputs.leaves())
    assert found is not None
    values = list(zip(*(training.columns.values(name).tolist() for name in training.columns.names), strict=True))
    whose = values if training.persons is None else training.persons.codes.tolist()
    expected = []
    for _, rows in behind(explainer):
        held = {whose[i] for i in rows}
        shares = [0.0]
        for end in (0, RANGE.n_steps):
            for units in (values, whose):
                amounts: defaultdict[Any, float] = defaultdict(float)
                for i in rows:
                    times = sum(whose[j] == whose[i] for j in rows)
                    amounts[units[i]] += abs(int(training.answers[i]) - end) / len(held) / times
                if total := sum(amounts.values()):
                    shares.append(sum(sorted(amounts.values())[-2:]) / total)
        expected.append(max(shares))
    assert sorted(one.two for one in found) == pytest.approx(sorted(expected))


def test_two_answers_that_make_up_a_mean_fail_and_answers_of_one_size_pass() -> None:
    frame = pd.DataFrame(people(300))
    rare = set(frame.index[:2])

    def skewed(X: Any) -> Any:
        return np.array([190.0 if i in rare else 0.5 for i in range(len(X))])

    def even(X: Any) -> Any:
        return np.full(len(X), 100.0) + np.arange(len(X)) % 7

    options: dict[str, Any] = {"domain": PEOPLE, "distance": "gower", "answer": RANGE}
    policy = Policy(dominance=0.9)
    heavy = SurrogateExplainer(skewed, 150, **options).fit(frame)
    check = next(check for check in audit(heavy, policy=policy).checks if check.rule == "dominance")
    assert check.status == "fail"
    assert "two records make up more than 0.9 of the total" in check.meaning
    assert checked(audit(SurrogateExplainer(even, 150, **options).fit(frame), policy=policy), "dominance") == "pass"
    assert checked(audit(heavy), "dominance") == "fail", "by default, too"
    # Whether one answer dominates shows in the answers alone.
    assert not [check for check in audit(heavy.release_, policy=policy).checks if check.rule == "dominance"]
