from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from sklearn.tree import DecisionTreeClassifier, export_text

from glassine.domain import Between, Domain, Real
from glassine.errors import UnsupportedModelError
from glassine.formats import as_model, parse_rules, to_text
from glassine.models import Branch, DecisionTree, Evidence, Node, RuleList
from tests.formats.reading import read_cells
from tests.models.test_scikit import NAMES, make_data
from tests.models.writing import HOSTILE, models, stump

DOMAIN = Domain({name: Real(-9, 9) for name in NAMES})


def test_a_numeric_tree_reads_back(tmp_path: Path) -> None:
    frame, target = make_data(n=200)
    model = as_model(DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame, target), DOMAIN)
    assert isinstance(model, DecisionTree)
    path = tmp_path / "tree.txt"
    path.write_text(to_text(model))
    back = read_cells(path, DOMAIN)
    assert back.cells == model.cells or [c.inside for c in back.cells] == [c.inside for c in model.cells]
    assert [c.evidence.counts for c in back.cells] == [c.evidence.counts for c in model.cells]


def test_the_text_has_the_form_of_export_text() -> None:
    frame, target = make_data(n=200)
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame, target)
    theirs = export_text(fitted, feature_names=list(NAMES), decimals=20).splitlines()
    stated, *ours = to_text(as_model(fitted, DOMAIN)).splitlines()
    assert stated == "# precision: single"
    assert len(ours) == len(theirs)
    for own, other in zip(ours, theirs, strict=True):
        assert own.split("|---")[0] == other.split("|---")[0]
        if "<=" in other or "> " in other:
            name, bound = other.split("--- ")[1].rsplit(maxsplit=1)
            assert own.split("--- ")[1].startswith(name)
            assert float(own.rsplit(maxsplit=1)[1]) == float(bound)


@pytest.mark.slow
@settings(max_examples=100)
@given(made=models())
def test_every_model_has_a_line_for_each_branch_and_leaf(made: Any) -> None:
    model, domain = made
    text = to_text(model, domain)
    if isinstance(model, RuleList):
        back = parse_rules(text, domain)
        assert len(back.rules) == len(model.rules)
        assert [cell.evidence.prediction for cell in back.cells] == [c.evidence.prediction for c in model.cells]
        return
    branches = sum(len(node.branches) for node in model.nodes)
    assert len([line for line in text.splitlines() if line.startswith("|")]) == branches + len(model.cells)
    assert text.count("class: ") + text.count("value: ") >= len(model.cells)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_starts_a_line(text: str) -> None:
    lines = to_text(stump(f"x{text}", text, (text, "other"))).splitlines()
    assert len(lines) == 4
    assert all(line.startswith("|") for line in lines)


def test_regressions_and_deep_trees() -> None:
    nodes = (
        Node(branches=(Branch(Between("x", hi=0.25), 1), Branch(Between("x", lo=0.25), 2))),
        Node(evidence=Evidence(value=2.5)),
        Node(evidence=Evidence()),
    )
    assert to_text(DecisionTree(nodes, ("x",))) == (
        "|--- x <= 0.25\n|   |--- value: [2.5]\n|--- x >  0.25\n|   |--- value: [?]\n"
    )
    wrong: Any = 3
    with pytest.raises(UnsupportedModelError, match="not a model"):
        to_text(wrong)
