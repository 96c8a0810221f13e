"""A model that meets a domain says only what can happen there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glassine import DecisionTree, Domain, Integer, Real, RuleList, as_model, audit, load_model
from glassine.domain import Between, Category, OneOf
from glassine.errors import InvalidModelError
from glassine.formats import load_forest, to_sql, to_text, write_model
from glassine.formats.conditions import conformed
from glassine.models import Branch, Evidence, Node, Rule
from glassine.models.tree import Forest
from tests.formats.reading import read_cells

DOMAIN = Domain({"age": Integer(18, 99), "pay": Real(0, 1e5, missing=True), "job": Category(("cook", "clerk"))})
TREE = DecisionTree(
    (
        Node(branches=(Branch(Between("age", hi=57.5, missing=True), 1), Branch(Between("age", 57.5), 2))),
        Node(branches=(Branch(Between("pay", hi=12_808.5), 3), Branch(Between("pay", 12_808.5, missing=True), 4))),
        *(Node(evidence=Evidence(counts=(i, 4))) for i in range(3)),
    ),
    ("age", "pay", "job"),
    ("no", "yes"),
)
RULES = RuleList(
    (
        Rule(
            antecedent=(OneOf("job", ("cook",), missing=True), Between("pay", 5, missing=True)),
            evidence=Evidence(label=0),
        ),
        Rule(antecedent=(OneOf("job", (), missing=True),), evidence=Evidence(label=1)),
        Rule(antecedent=(OneOf("job", (), negated=True, missing=True),), evidence=Evidence(label=0)),
        Rule(evidence=Evidence(label=1)),
    ),
    ("age", "pay", "job"),
    ("no", "yes"),
)


def test_conditions_lose_what_cannot_happen(tmp_path: Path) -> None:
    write_model(TREE, tmp_path / "tree.json", overwrite=True)
    for tree in (as_model(TREE, DOMAIN), read_cells(tmp_path / "tree.json", DOMAIN)):
        assert [str(cell) for cell in tree.cells] == [
            "age <= 57.5 and pay <= 12808.5",
            "age <= 57.5 and (pay > 12808.5 or missing)",
            "age > 57.5",
        ]
        assert "age <= 57.5 or missing" not in to_text(tree)
        assert to_sql(tree).count("IS NULL") < to_sql(TREE).count("IS NULL")
    assert [part.condition for part in audit(TREE, domain=DOMAIN).value("parts").parts][-1] == "age > 57.5"
    (tree,) = load_forest(tmp_path / "tree.json", DOMAIN).trees
    assert tree == as_model(TREE, DOMAIN)


def test_without_a_domain_and_where_nothing_changes_the_model_stays(tmp_path: Path) -> None:
    write_model(TREE, tmp_path / "tree.json", overwrite=True)
    assert as_model(TREE) is TREE
    assert load_model(tmp_path / "tree.json") == TREE
    fitting = as_model(TREE, DOMAIN)
    assert as_model(fitting, DOMAIN) is fitting
    assert isinstance(load_forest(tmp_path / "tree.json"), Forest)


def test_rules_about_missing_values_alone_stay() -> None:
    first, *others = conformed(RULES, DOMAIN).rules
    assert first.antecedent == (OneOf("job", ("cook",)), Between("pay", 5, missing=True))
    assert tuple(others) == RULES.rules[1:]


def test_records_of_the_domain_go_where_they_went() -> None:
    rng = np.random.default_rng(0)
    pay = np.where(rng.random(200) < 0.2, np.nan, rng.uniform(0, 1e5, 200))
    columns = {"age": rng.integers(18, 100, 200).astype(float), "pay": pay, "job": rng.choice(["cook", "clerk"], 200)}
    for model in (TREE, RULES):
        assert (as_model(model, DOMAIN).apply(columns) == model.apply(columns)).all()


def test_a_domain_that_lacks_an_attribute_is_refused() -> None:
    with pytest.raises(InvalidModelError, match="lacks"):
        conformed(TREE, DOMAIN.restrict(["age"]))
