"""Every tree and rule list that is exported as text is read back as the same model, whatever its conditions say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from glassine.domain import Binary, Category, Domain, Literal, OneOf
from glassine.formats import load_model, to_text
from glassine.models import Branch, DecisionTree, Evidence, Node, Rule, RuleList
from tests.models.test_scikit_writer import answered
from tests.models.writing import HOSTILE, cases, stump

DOMAIN = Domain({"smoker": Binary(), "job": Category((1, 2, 3)), "town": Category(("a", "b c", "1", "or missing"))})


def back(model: Any, folder: Path, domain: Domain | None = None) -> Any:
    path = folder / "model.txt"
    path.write_text(to_text(model, domain), encoding="utf-8", newline="\n")
    return load_model(path, domain)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(case=cases())
def test_a_model_reads_back(case: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    model, domain, columns = case
    read = back(model, tmp_path_factory.mktemp("text"), domain)
    columns = answered(model, columns)
    assert read.apply(columns).tolist() == model.apply(columns).tolist()
    if read.classes == model.classes:  # a class that no leaf predicts has no name in a text
        assert [str(label) for label in read.predict(columns)] == [str(label) for label in model.predict(columns)]


@pytest.mark.parametrize(
    "literal",
    [
        OneOf("smoker", (1,), binary=True),
        OneOf("smoker", (1,), negated=True, binary=True),
        OneOf("job", (1,)),
        OneOf("job", (1,), negated=True),
        OneOf("job", (2, 3)),
        OneOf("town", ("b c",), negated=True),
        OneOf("town", ("1", "or missing"), missing=True),
    ],
)
@pytest.mark.parametrize("with_domain", [True, False])
def test_a_condition_is_written_from_its_type(literal: Literal, with_domain: bool, tmp_path: Path) -> None:
    ends = [Evidence(counts=(1, 2)), Evidence(counts=(3, 0))]
    branches = (Branch(literal, 1), Branch(literal.negate(), 2))
    tree = DecisionTree((Node(branches=branches), *(Node(evidence=end) for end in ends)), DOMAIN.names, ("no", "yes"))
    rules = RuleList((Rule(antecedent=(literal,), evidence=Evidence(label=0)), Rule()), DOMAIN.names, ("no", "yes"))
    for model in (tree, rules):
        read = back(model, tmp_path, DOMAIN if with_domain else None)
        assert str(read.cells[0].inside[0]) == str(literal) or with_domain
        assert read.cells[0].inside[0].values == literal.values  # type: ignore[union-attr]
        assert str(literal.attribute) == "smoker" or "=" in str(literal) or " in " in str(literal)


@pytest.mark.parametrize("text", HOSTILE)
def test_odd_names_read_back(text: str, tmp_path: Path) -> None:
    model = stump(text, text, (text, "other"))
    read = back(model, tmp_path)
    assert read.literals == model.literals
    named: list[list[Any]] = []
    for one in (read, model):
        classes: Any = one.classes
        named.append([classes[cell.evidence.prediction] for cell in one.cells])
    assert named[0] == named[1]
    records = {text: np.array([text, "x"], dtype=object)}
    assert read.predict(records).tolist() == model.predict(records).tolist()


@pytest.mark.parametrize(
    "around",
    ["```\n{}```\n", "```text\n{}```\n", ">>> print(export_text(tree))\n{}", "In [3]: print(text)\n{}", "\n    {}\n"],
)
def test_pasted_texts_of_scikit_learn_are_read(around: str, tmp_path: Path) -> None:
    text = "|--- age <= 40.50\n|   |--- class: no\n|--- age >  40.50\n|   |--- class: yes\n"
    (tmp_path / "m.txt").write_text(around.format(text))
    assert [str(cell) for cell in load_model(tmp_path / "m.txt").cells] == ["age <= 40.5", "age > 40.5"]  # type: ignore[union-attr]
