"""The copies of the slider: every kind of count that an audit can show is shown, and no kind ends the job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Real, as_model, write_model
from glassine.attacks.outcome import About, Below, Hidden, ShownCount
from glassine.auditing.criterion import Check
from glassine.auditing.policy import NAMED
from glassine.auditing.suppression import smallest_of
from glassine.data.labels import Sample
from glassine.desk.stops import count_of, stops


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (None, "not known"),
        (0, "0"),
        (12345, "12,345"),
        (3.0, "3"),
        (About(30), "about 30"),
        (Below(10), "fewer than 10"),
        (Hidden(), "hidden"),
    ],
)
def test_every_kind_of_count_has_words(count: ShownCount | float | None, said: str) -> None:
    assert count_of(Check(status="fail", meaning="", measured=count)) == said


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([], "not known"),
        ([30, None, Below(10)], "not known"),
        ([1200, 5000], "1,200"),
        ([30, About(20)], "about 20"),
        ([30, Below(10), Hidden()], "1 to 9, suppressed"),
        ([30, Hidden()], "suppressed"),
    ],
)
def test_the_smallest_leaf_is_known_suppressed_or_not_known(sizes: list[ShownCount | None], said: str) -> None:
    assert smallest_of(sizes) == said


@pytest.mark.parametrize("policy", NAMED)
def test_a_tree_has_copies_under_every_named_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.chdir(tmp_path)
    data = load_breast_cancer()
    domain = Domain({str(name): Real(0.0, 5000.0, resolution=50.0) for name in data.feature_names})
    tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(data.data, data.target)
    write_model(as_model(tree, domain), tmp_path / "tree.json")
    made = list(stops(tmp_path / "tree.json", domain, policy, Sample(), Sample()))
    assert len(made) > 2
    assert made[0]["as_trained"]
    # Records are named by thresholds of the tree as it was trained; their number is rounded, and so it is words.
    # The policy of SACRO has no such check.
    assert made[0]["named"].startswith("not judged" if policy == "sacro" else "about ")
    assert {bool(one["named_note"]) for one in made} == {policy == "sacro"}
    # What a browser reads is JSON of its own kind, without numbers that are none.
    assert all(json.dumps(one, allow_nan=False) for one in made)
