"""Coarse literals: few, round, and from the domain alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glassine
from glassine.counting.logic import LiteralLogic
from glassine.domain import Between, Category, Domain, Integer, Literal, OneOf, Prefix, Real
from glassine.domain.literals import complement
from glassine.learners.antecedents import COARSE_CUTS, COARSE_VALUES, LiteralPlan, coarse, declared

CODES = tuple(f"{letter}{digit}" for letter in "ABCD" for digit in range(10))
DOMAIN = Domain(
    {
        "age": Integer(17, 93, missing=True),
        "pay": Real(0.0, 5_000.0, thresholds=(1_234.0,)),
        "icd": Category(CODES, missing=True),
        "few": Category(("x", "y")),
    }
)


def records(seed: int) -> tuple[pl.DataFrame, list[int]]:
    rng = np.random.default_rng(seed)
    age, icd = rng.integers(17, 94, 300), rng.choice(CODES[seed:], 300)
    frame = pl.DataFrame({"age": age, "pay": rng.random(300) * 5_000, "icd": icd, "few": rng.choice(["x", "y"], 300)})
    return frame, (np.char.startswith(icd, "C") | (age > 60)).astype(int).tolist()


def test_numbers_have_few_round_cut_points_and_keep_declared_ones() -> None:
    literals = coarse(DOMAIN, DOMAIN.names)
    ages = [literal.hi for literal in literals if isinstance(literal, Between) and literal.attribute == "age"]
    assert ages == [cut for cut in (19.5, 29.5, 39.5, 49.5, 59.5, 69.5, 79.5, 89.5) for _ in range(2)]
    assert [literal.missing for literal in literals if literal.attribute == "age"] == [False, True] * 8
    assert [str(literal) for literal in literals if literal.attribute == "pay"] == ["pay <= 1234"]
    for hi in (3.0, 70.0, 1e6, 12_345.678):
        assert 1 <= len(coarse(Domain({"x": Real(0.0, hi)}), ("x",))) <= COARSE_CUTS


def test_many_codes_are_grouped_by_what_they_begin_with_and_each_stands_in_one_group() -> None:
    groups = [one.values for one in coarse(DOMAIN, ("icd",)) if isinstance(one, OneOf) and one.values]
    assert groups == [codes for codes in (CODES[:10], CODES[10:20], CODES[20:30], CODES[30:]) for _ in range(2)]
    assert coarse(DOMAIN, ("few",)) == [OneOf("few", ("x",)), OneOf("few", ("y",))]
    prefixes = tuple(Prefix(code) for code in CODES)
    literals = coarse(Domain({"icd": Category(prefixes)}), ("icd",))
    assert next(one.values for one in literals if isinstance(one, OneOf)) == prefixes[:10]


COUNTRIES = ("CA", "DE", "FR", "JP", "US")


def test_a_hierarchy_gives_a_condition_for_each_group_and_each_value_in_none() -> None:
    domain = Domain({"c": Category(COUNTRIES, hierarchy=(("US", "CA"), ("FR", "DE"), ("CA", "US", "JP")))})
    assert list(map(str, coarse(domain, ("c",)))) == ["c in {CA, US}", "c in {DE, FR}", "c in {CA, JP, US}"]
    alone = Domain({"c": Category(COUNTRIES, hierarchy=(("DE", "FR"),), missing=True)})
    assert [one.values for one in coarse(alone, ("c",)) if isinstance(one, OneOf) and not one.missing] == [
        ("DE", "FR"),
        ("CA",),
        ("JP",),
        ("US",),
    ]
    assert list(map(str, declared(alone, ("c",))))[:2] == ["c = CA", "c = CA or missing"]


def test_of_a_large_hierarchy_the_outermost_groups_are_taken() -> None:
    inner = tuple(CODES[i : i + 2] for i in range(0, 40, 2))
    outer = (CODES[:20], CODES[20:38])
    groups = coarse(Domain({"icd": Category(CODES, hierarchy=(*inner, *outer))}), ("icd",))
    assert groups == [OneOf("icd", values) for values in (*outer, CODES[38:])]


def test_thousands_of_codes_in_no_group_of_a_small_hierarchy_are_grouped_by_their_first_characters() -> None:
    codes = tuple(f"{letter}{number:03}" for letter in "ABCD" for number in range(800))
    groups = coarse(Domain({"icd": Category(codes, hierarchy=(codes[:2], codes[:5]))}), ("icd",))
    assert groups == [
        OneOf("icd", codes[start:end]) for start, end in ((0, 5), (5, 800), (800, 1600), (1600, 2400))
    ] + [OneOf("icd", codes[2400:])]


def test_a_private_tree_asks_for_the_groups_of_a_hierarchy() -> None:
    rng = np.random.default_rng(0)
    values = rng.choice(COUNTRIES, 2_000)
    answers = np.isin(values, ("DE", "FR")).astype(int)
    domain = Domain({"c": Category(COUNTRIES, hierarchy=(("DE", "FR"),)), "answer": Category((0, 1))})
    tree = glassine.learners.PrivateTreeClassifier(1, epsilon=4.0, domain=domain, literals="coarse", random_state=0)
    tree.fit(pl.DataFrame({"c": values}), pl.Series("answer", answers))
    assert (tree.predict(pl.DataFrame({"c": values})) == answers).all()
    assert "c in {DE, FR}" in {str(branch.literal) for branch in tree.model_.nodes[0].branches}


def test_no_condition_is_about_missing_values_alone_where_an_attribute_has_one_value() -> None:
    domain = Domain({"one": Category(("x",), missing=True), "two": Category(("x", "y"), missing=True)})
    for literals in (coarse(domain, domain.names), declared(domain, domain.names)):
        assert {literal.attribute for literal in literals} == {"two"}
        logic = LiteralLogic.of(domain, literals, up_to_negation=True)
        assert [str(literal) for literal in logic.literals] == ["two = x", "two = x or missing"]
    # Whoever wants the condition lists it.
    assert len(LiteralLogic.of(domain, [OneOf("one", ("x",))], up_to_negation=True).literals) == 1


def test_codes_that_begin_too_differently_stay_as_they_are() -> None:
    for values in (tuple(range(COARSE_VALUES + 5)), tuple(chr(65 + i) for i in range(COARSE_VALUES + 5))):
        assert len(coarse(Domain({"x": Category(values)}), ("x",))) == len(values)


def test_coarse_literals_are_those_of_the_domain_whatever_the_records_are() -> None:
    public = LiteralPlan.of(DOMAIN, "coarse", 7).public
    expected = {*public, *(complement(one, missing=DOMAIN[one.attribute].missing) for one in public)}
    assert LiteralPlan.of(DOMAIN, "coarse", 7).quantiled == ()
    for seed in (0, 5):
        frame, y = records(seed)
        fit = glassine.learners.PrivateTreeClassifier(
            epsilon=2.0, max_depth=2, literals="coarse", domain=DOMAIN, classes=(0, 1), random_state=seed
        ).fit(frame, y)
        assert set(fit.model_.literals) <= expected
        assert fit.certificate_.epsilon == 2.0
        assert not any(event.name.startswith("quantiles") for event in fit.certificate_.events)


def test_a_fit_over_coarse_literals_is_the_fit_over_the_same_literals_listed() -> None:
    frame, y = records(0)

    def fitted(literals: str | list[Literal]) -> glassine.learners.PrivateTreeClassifier:
        return glassine.learners.PrivateTreeClassifier(
            epsilon=2.0, max_depth=2, literals=literals, domain=DOMAIN, classes=(0, 1), random_state=3
        ).fit(frame, y)

    named, listed = fitted("coarse"), fitted(coarse(DOMAIN, DOMAIN.names))
    assert named.model_ == listed.model_
    assert named.certificate_.events == listed.certificate_.events


@pytest.mark.parametrize(
    "fit",
    [
        glassine.learners.OptimalTreeClassifier(max_depth=2, literals="coarse", domain=DOMAIN),
        glassine.learners.OptimalRuleListClassifier(max_rules=2, literals="coarse", domain=DOMAIN),
        glassine.learners.PrivateRuleListClassifier(
            epsilon=5.0, max_rules=2, literals="coarse", domain=DOMAIN, classes=(0, 1), random_state=0
        ),
    ],
    ids=lambda fit: type(fit).__name__,
)
def test_trees_and_lists_find_a_group_of_codes(fit: glassine.learners.OptimalTreeClassifier) -> None:
    frame, y = records(0)
    model = fit.fit(frame, y).model_
    assert (model.predict(frame) == np.array(y)).mean() > 0.85
    assert any(isinstance(one, OneOf) and one.values == CODES[20:30] for one in model.literals)
