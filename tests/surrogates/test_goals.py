"""Goals for explanations: when the measured shares reach one."""

from __future__ import annotations

import pytest

from glassine.surrogates import ExplanationGoal, ExplanationShares
from glassine.surrogates.protocols import LADDER


def shares(n_changes: int, confirmed: float | None = 1.0) -> ExplanationShares:
    return ExplanationShares(
        n_records=200, conditions=1.0, proposed=n_changes / 200, confirmed=confirmed, n_changes=n_changes
    )


@pytest.mark.parametrize(("n_changes", "reached"), [(1, False), (9, False), (10, True), (200, True)])
def test_a_share_of_few_changes_reaches_no_goal(n_changes: int, reached: bool) -> None:
    assert (shares(n_changes).score(ExplanationGoal()) >= 1.0) is reached
    assert shares(n_changes, 0.79).score(ExplanationGoal()) < 1.0
    assert shares(n_changes, 0.0).score(ExplanationGoal(confirmed=0.0)) == 1.0


def test_where_nothing_is_proposed_nothing_is_confirmed() -> None:
    assert shares(0, None).score(ExplanationGoal()) == 0.0
    assert shares(0, None).score(ExplanationGoal(confirmed=0.0)) == 1.0


def test_each_protocol_of_the_ladder_demands_more_than_the_one_before() -> None:
    demands = [(protocol.splits, protocol.margin, protocol.votes) for protocol in LADDER]
    assert demands == sorted(set(demands))
