"""Visits of patients of whom half come several times: what counting rows misses, and what a report then counts."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Real, audit
from glassine.attacks.membership.gap import gap_attack
from glassine.attacks.membership.outputs import LabelledRecords
from glassine.attacks.outcome import Measured
from glassine.auditing import AuditSettings
from glassine.data.person_counts import Persons
from glassine.report import render_text

NAMES = ["x0", "x1", "x2"]
PEOPLE = 300


def visits(seed: int) -> pl.DataFrame:
    """Return visits, nearly the same for each patient, whose class is noise of the patient in a quarter."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(PEOPLE), np.where(rng.random(PEOPLE) < 0.5, 1, rng.integers(2, 6, PEOPLE)))
    X = rng.normal(size=(PEOPLE, 3))[who] + rng.normal(scale=1e-3, size=(len(who), 3))
    ill = ((X[:, 0] > 0) ^ (rng.random(PEOPLE) < 0.25)[who]).astype(int)
    return pl.DataFrame({"who": who, "x0": X[:, 0], "x1": X[:, 1], "x2": X[:, 2], "ill": ill})


def grown(frame: pl.DataFrame, **more: Any) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0, **more).fit(frame.select(NAMES).to_numpy(), frame["ill"].to_numpy())


def advantage(inside: pl.DataFrame, outside: pl.DataFrame, *, by_person: bool) -> Any:
    sides = [
        LabelledRecords(
            one.select(NAMES).to_numpy(), one["ill"].to_numpy(), Persons.of(one["who"]) if by_person else None
        )
        for one in (inside, outside)
    ]
    outcome = gap_attack(grown(inside), sides[0], sides[1])
    assert isinstance(outcome, Measured)
    return outcome.value.advantage


@pytest.mark.parametrize("seed", range(3))
def test_membership_by_person_finds_what_the_row_wise_test_misses(seed: int) -> None:
    frame, rng = visits(seed), np.random.default_rng(100 + seed)
    row, person = rng.random(frame.height) < 0.7, (rng.random(PEOPLE) < 0.7)[frame["who"].to_numpy()]
    by_row = advantage(frame.filter(pl.Series(row)), frame.filter(pl.Series(~row)), by_person=False)
    by_person = advantage(frame.filter(pl.Series(person)), frame.filter(pl.Series(~person)), by_person=True)
    assert by_person.low > by_row.value, (by_row, by_person)


@pytest.mark.slow
def test_every_count_of_the_report_is_in_persons() -> None:
    frame = visits(0)
    person = (np.random.default_rng(1).random(PEOPLE) < 0.7)[frame["who"].to_numpy()]
    inside, outside = frame.filter(pl.Series(person)), frame.filter(pl.Series(~person))
    n_inside, n_outside = inside["who"].n_unique(), outside["who"].n_unique()
    tree = grown(inside, min_samples_leaf=10)
    findings = audit(
        tree,
        inside,
        "ill",
        domain=Domain({name: Real(-6, 6) for name in NAMES}),
        holdout=outside,
        persons="who",
        settings=AuditSettings(show_small_counts=True),
    )
    plain = findings.to_dict()
    found = plain["measured"]
    assert plain["counted"] == "people"
    leaves = tree.apply(inside.select(NAMES).to_numpy())
    people = sorted(inside.filter(pl.Series(leaves == leaf))["who"].n_unique() for leaf in set(leaves.tolist()))
    assert sorted(part["size"] for part in found["parts"]["parts"]) == people
    assert people[0] < 10 <= min(np.unique(leaves, return_counts=True)[1])
    membership = found["membership"]
    assert (membership["n_members"], membership["n_nonmembers"]) == (n_inside, n_outside)
    assert 0 < membership["accused"] <= n_inside < inside.height
    said = " ".join(render_text(findings).split())
    # Of rows there are these: how many the file has, and the possible records of which reconstruction speaks.
    rows = re.findall(r"(?:about |<)?[\d,.]+ records?\b|[\d,]+ possible records?", said)
    allowed = re.compile(rf"{inside.height:,} records|[\d,]+ possible records?")
    assert [count for count in rows if not allowed.fullmatch(count)] == []
    assert "fewer than 10 people" in said
    assert json.dumps(plain).count(" records of the training data") == 0
