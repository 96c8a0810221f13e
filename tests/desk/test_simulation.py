"""What noise costs on invented records: it follows from the domain and the number that is stated, from no record."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Binary, Category, Domain, Integer, Real
from glassine.comparison.seeded_splits import ClassTarget, NumberTarget
from glassine.desk.invented import invent, target_of, usable_domain
from glassine.desk.invented import simulated as figures_of
from glassine.desk.simulation import DIAL, FOLLOWED, TESTED
from glassine.desk.workers import Job, Workers
from glassine.errors import InvalidDomainError, InvalidParameterError
from glassine.privacy import Ledger
from tests.desk.desks import LIND, Served

ASKED = {"kind": "additive", "target": "ill", "classes": "no, yes", "n_records": "300", "domain": "public.json"}
COLUMNS = Domain({"age": Integer(18, 99), "dose": Real(0.0, 2.0, resolution=0.25), "sex": Category(("f", "m"))})


def test_invented_columns_lie_within_their_bounds_and_targets_follow_their_rule() -> None:
    classes, numbers = ClassTarget(("no", "yes")), NumberTarget(10.0, 30.0)
    columns, ill, rule = invent(COLUMNS, classes, 3000, 1)
    for other, same in ((1, True), (2, False)):
        again = invent(COLUMNS, classes, 3000, other)
        assert np.array_equal(again[1], ill) is same
        assert np.array_equal(again[0]["age"], columns["age"]) is same
    assert {len(values) for values in (*columns.values(), ill, rule)} == {3000 + TESTED}
    assert (min(columns["age"]), max(columns["age"])) == (18, 99)
    assert set(columns["dose"]) == set(np.arange(9) / 4)
    assert set(columns["sex"]) == {"f", "m"}
    # Classes are about as large, a model that knows the rule is right as often as stated, and none is more.
    assert abs(np.mean(ill) - 0.5) < 0.03
    assert abs(np.mean(ill == rule) - (FOLLOWED + (1 - FOLLOWED) / 2)) < 0.02
    matrix = np.column_stack([columns["age"], columns["dose"], columns["sex"] == "m"])
    tree = DecisionTreeClassifier(max_depth=7, min_samples_leaf=20, random_state=0).fit(matrix[:3000], ill[:3000])
    assert abs(tree.score(matrix[3000:], ill[3000:]) - (FOLLOWED + (1 - FOLLOWED) / 2)) < 0.04
    # Numbers fill their range, and follow the rule as often.
    _, answers, rule = invent(COLUMNS, numbers, 3000, 1)
    assert 10 <= min(answers) < 10.1
    assert 29.9 < max(answers) <= 30
    assert abs(np.mean(answers == rule) - FOLLOWED) < 0.02


def test_what_is_predicted_must_be_public() -> None:
    declared = Domain({"ill": Binary(), "pay": Integer(0, 90), "age": COLUMNS["age"]})
    assert target_of(declared, "ill", [], None) == ClassTarget((0, 1))
    assert target_of(declared, "pay", [], None) == NumberTarget(0.0, 90.0)
    assert target_of(declared, "pay", ["a", "b"], None) == ClassTarget(("a", "b"))
    assert target_of(COLUMNS, "pay", [], (1.0, 2.0)) == NumberTarget(1.0, 2.0)
    with pytest.raises(InvalidDomainError, match="not public what the column"):
        target_of(COLUMNS, "ill", [], None)
    with pytest.raises(InvalidDomainError, match="other columns"):
        usable_domain(Domain({"ill": Binary()}), "ill")
    with pytest.raises(InvalidParameterError, match="predicts classes"):
        figures_of(COLUMNS, NumberTarget(0.0, 1.0), "rule-list", 50, 1)


@pytest.mark.parametrize("kind", ["tree", "additive"])
def test_noise_costs_more_of_a_number_at_a_smaller_epsilon(kind: str) -> None:
    figures = figures_of(COLUMNS, NumberTarget(10.0, 30.0), kind, 1000, 1)
    wrong = [row["low"] for row in figures["rows"]]
    assert figures["measure"] == "mae"
    assert figures["best"] < wrong[-1] < wrong[0]
    assert wrong[-1] < figures["guess"]
    # A mean of uniform numbers of a range of 20 is wrong by a fourth of it.
    assert abs(figures["guess"] - 5) < 0.2


def simulated(folder: Path, records: str) -> str:
    """Return the table that a desk shows, on a folder with these records."""
    folder.mkdir()
    COLUMNS.to_json(folder / "public.json")
    (folder / "records.csv").write_text(records)
    Ledger(folder / "budget.sqlite").budget("study", 3)
    served = Served(folder, LIND)
    try:
        served.audited("public.json")
        for wrong, said in (
            ({"target": ""}, "column to predict"),
            ({"n_records": "49"}, "50 to 50,000"),
            ({"n_records": "many"}, "50 to 50,000"),
            ({"classes": "yes"}, "at least two"),
            ({"classes": ""}, "not public what the column"),
            ({"classes": "", "range": "3"}, "two numbers, the lower first"),
            ({"range": "0, 3"}, "either classes or a range"),
            ({"classes": "", "range": "0, 3", "kind": "rule-list"}, "rule list predicts classes"),
            ({"domain": "other.json"}, "must be chosen"),
            ({"kind": "forest"}, "column to predict"),
        ):
            status, body, _ = served.ask("POST", "/api/work/simulate", {**ASKED, **wrong})
            assert status == 422
            assert said in body
        assert "data-simulated" not in served.ask("GET", "/api/workbench")[1]
        status, body, _ = served.ask("POST", "/api/work/simulate", ASKED)
        assert status == 200, body
        page = served.ask("GET", "/api/workbench")[1]
        assert not {"charged", "seen"} & {event.kind for event in served.app.desk.refresh().events}
    finally:
        served.stop()
    assert Ledger(folder / "budget.sqlite").spent("study") == 0
    return page


@pytest.mark.slow
def test_a_simulation_is_the_same_whatever_the_records_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[Job] = []
    run = Workers.run

    async def run_job(workers: Workers, job: Job) -> Any:
        jobs.append(job)
        return await run(workers, job)

    monkeypatch.setattr(Workers, "run", run_job)
    # Two rules are as good as three here, and quicker.
    monkeypatch.setattr("glassine.desk.simulation.RULES", 2)
    one = simulated(tmp_path / "one", "age,sex,ill\n20,f,no\n30,m,yes\n")
    other = simulated(tmp_path / "other", "age,sex,ill\n" + "99,m,yes\n" * 5000)
    rows = [re.findall(r'<tr data-simulated="([\d.]+)">.*?<td>(.*?)</td>', page) for page in (one, other)]
    assert rows[0] == rows[1]
    assert [float(epsilon) for epsilon, _ in rows[0]] == list(DIAL)
    right = [[int(share) for share in re.findall(r"(\d+)%", said)] for _, said in rows[0]]
    assert all(40 <= shares[0] <= shares[-1] <= 95 for shares in right)
    # Noise costs more at a smaller epsilon.
    assert right[0][0] < right[-1][0]
    assert re.search(r"rule is right for 90% of them; guessing is right for 50%", one)
    # No job was handed records: neither a file nor a descriptor, nor a name.
    asked = [job for job in jobs if job.said.startswith("Models of invented")]
    assert asked
    for job in asked:
        assert job.opens == {}
        assert "records.csv" not in json.dumps([*job.words, *map(str, job.reads.values())])
