"""Outcomes that follow from several regressions: those that are counted follow, and of linear ones no other does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glassine.attacks.differences import (
    FittedSample,
    difference_cells,
    following_outcomes,
    sample_differences,
    stated_differences,
    unsolved,
)
from glassine.models import Effect, FitStatistics, Power, RegressionModel
from glassine.models.effects import Equal
from glassine.records.arrays import Array, Bools

N = 60


def fitted(design: Array, y: Array, inside: Bools, *, name: str = "t", link: str = "identity") -> FittedSample:
    """Fit the columns of a design, the first the intercept, on some records; the second column is of 0/1."""
    x, own = design[inside], y[inside]
    b = np.zeros(x.shape[1])
    for _ in range(1 if link == "identity" else 30):
        mean = x @ b if link == "identity" else 1 / (1 + np.exp(-x @ b)) if link == "logit" else np.exp(x @ b)
        weights = np.ones(len(x)) if link == "identity" else mean * (1 - mean) if link == "logit" else mean
        b = b + np.linalg.lstsq((x * weights[:, None]).T @ x, x.T @ (own - mean), rcond=None)[0]
    effects = [Effect(name="town[b]", factors=(Equal(attribute="town", value="b"),), coefficients=(b[1],))]
    effects += [
        Effect(name=f"x{j}", factors=(Power(attribute=f"x{j}"),), coefficients=(b[j],)) for j in range(2, len(b))
    ]
    family = {"identity": "gaussian", "logit": "binomial", "log": "poisson"}[link]
    model = RegressionModel(
        attributes=("town", *(f"x{j}" for j in range(2, len(b)))),
        effects=tuple(effects),
        intercept=(b[0],),
        link=link,
        classes=(0, 1) if link == "logit" else None,
        target="y",
        fit=FitStatistics(family=family, n_records=int(inside.sum()), penalized=False),
    )
    return FittedSample(name=name, model=model, inside=inside, design=design, outcome=y)


def records(link: str = "identity", columns: int = 6) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    design = np.column_stack([np.ones(N), rng.random(N) < 0.4, rng.normal(size=(N, columns - 2))]).astype(float)
    score = design[:, 2] - 0.5 * design[:, 3]
    if link == "identity":
        return design, score + rng.normal(size=N)
    return design, (rng.random(N) < 1 / (1 + np.exp(-score))).astype(float) if link == "logit" else rng.poisson(
        np.exp(score / 2)
    ).astype(float)


ALL = np.ones(N, dtype=bool)


def without(*places: int) -> Bools:
    inside = ALL.copy()
    inside[list(places)] = False
    return inside


@pytest.mark.parametrize("link", ["identity", "logit", "log"])
@pytest.mark.parametrize("m", [1, 3, 6, 7])
def test_outcomes_of_a_difference_follow_up_to_the_number_of_columns(link: str, m: int) -> None:
    design, y = records(link)
    tables = [fitted(design, y, inside, link=link) for inside in (ALL, without(*range(m)))]
    found = following_outcomes(tables)
    expected = m if m <= design.shape[1] else 0
    assert (found.n_together, found.n_alone) == (expected, 0)
    assert found.n_recovered == (expected if expected else 0)
    assert found.rank == design.shape[1] + min(m, design.shape[1])


def test_of_linear_tables_no_other_outcome_follows() -> None:
    design, y = records()
    inside = (ALL, without(0, 1), without(5))
    tables = [fitted(design, y, own) for own in inside]
    equations = np.vstack([np.where(own[:, None], design, 0).T for own in inside])
    null = np.linalg.svd(equations)[2][np.linalg.matrix_rank(equations) :]
    open_ = np.abs(null).max(axis=0) > 1e-9
    assert following_outcomes(tables).n_together == int((~open_).sum())
    # Other outcomes of all that is open have the same coefficients.
    other = y + 3 * null.sum(axis=0)
    again = [fitted(design, other, own) for own in inside]
    for one, two in zip(tables, again, strict=True):
        assert [e.coefficients[0] for e in two.model.effects] == pytest.approx(
            [e.coefficients[0] for e in one.model.effects], abs=1e-8
        )


def test_three_tables_leave_those_who_are_in_no_part() -> None:
    design, y = records()
    first, second = np.arange(N) < 30, (np.arange(N) >= 30) & (np.arange(N) < 58)
    tables = [fitted(design, y, own, name=name) for name, own in (("all", ALL), ("a", first), ("b", second))]
    assert following_outcomes(tables[:2]).n_together == 0
    found = following_outcomes(tables)
    assert (found.n_together, found.n_recovered) == (2, 2)
    assert min(one.n for one in sample_differences(tables)) == 2


def test_rounded_coefficients_do_not_give_what_would_follow() -> None:
    design, y = records()
    tables = [fitted(design, y, inside) for inside in (ALL, without(0))]
    rounded = []
    for own in tables:
        effects = [
            Effect(name=e.name, factors=e.factors, coefficients=(round(e.coefficients[0]),)) for e in own.model.effects
        ]
        model = RegressionModel(
            attributes=own.model.attributes,
            effects=tuple(effects),
            intercept=(round(own.model.intercept[0]),),
            link="identity",
            target="y",
            fit=own.model.fit,
        )
        rounded.append(FittedSample(name="r", model=model, inside=own.inside, design=design, outcome=y))
    found = following_outcomes(rounded)
    assert (found.n_together, found.n_recovered) == (1, 0)


def test_one_who_is_alone_in_a_column_follows_from_one_table() -> None:
    design, y = records()
    design[:, 1] = np.arange(N) == 7
    found = following_outcomes([fitted(design, y, ALL), fitted(design, y, ALL)])
    assert (found.n_together, found.n_alone) == (0, 1)


def test_columns_of_a_difference_are_counted() -> None:
    design, y = records()
    left = [int(place) for place in np.flatnonzero(design[:, 1])[:3]] + [int(np.flatnonzero(design[:, 1] == 0)[0])]
    tables = [fitted(design, y, ALL), fitted(design, y, without(*left))]
    # The zeros follow from all records less the ones.
    assert difference_cells(tables) == (3, 1)
    bare = [
        replace(
            own,
            model=replace(own.model, intercept=(0.0,), fit=replace(own.model.fit, n_parameters=len(own.model.effects))),
        )
        for own in tables
    ]
    assert difference_cells(bare) == (3,)
    assert [one.n for one in sample_differences(tables)] == [4]


def test_stated_numbers_of_parts_leave_a_few() -> None:
    found = stated_differences([("all", 500), ("men", 260), ("women", 237)], 10)
    assert [(one.larger, one.smaller, one.n) for one in found if one.n < 10] == [("all", ("men", "women"), 3)]
    assert not stated_differences([("a", 5), ("b", 5)], 10)


@pytest.mark.parametrize(
    ("fit", "link"),
    [
        ({"family": "cox"}, "cox"),
        ({"family": "binomial"}, "probit"),
        ({"family": "gaussian", "penalized": True}, "identity"),
        ({"family": "gaussian", "special": ("weights",)}, "identity"),
        ({"family": "binomial", "converged": False}, "logit"),
        ({}, "identity"),
    ],
)
def test_what_states_no_sums_is_not_solved(fit: dict[str, Any], link: str) -> None:
    model = RegressionModel(
        attributes=("x",),
        effects=(Effect(name="x", factors=(Power(attribute="x"),), coefficients=(1.0,)),),
        intercept=(0.0,),
        link=link,
        classes=(0, 1) if link in ("logit", "probit") else None,
        fit=FitStatistics(**fit),
    )
    assert unsolved(model)


def test_outcomes_by_other_names_than_the_classes_are_not_compared() -> None:
    design, y = records("logit")
    tables = [fitted(design, y, inside, link="logit") for inside in (ALL, without(0))]
    texts = [replace(table, outcome=np.where(y == 1, "1", "0")) for table in tables]
    assert following_outcomes(tables).n_recovered == 1
    assert following_outcomes(texts).n_recovered is None
