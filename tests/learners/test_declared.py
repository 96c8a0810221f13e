"""The class that a learner declares before its fit, and what it bounds."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from glassine.capacity import LABELS, AverageCase, Published, counts_given_frame, rule_list_bits, tree_bits
from glassine.domain import Binary, Category, Domain, Integer
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.learners import (
    EBMClassifier,
    GreedyRuleListClassifier,
    MultiwayTreeClassifier,
    OptimalRuleListClassifier,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
    ScorecardClassifier,
)
from glassine.privacy.certificate import Certificate

DOMAIN = Domain(
    {
        "age": Integer(18, 90, thresholds=(30, 45, 60)),
        "smoker": Binary(),
        "town": Category(("Bath", "Ely", "York")),
    }
)
WORDS = Domain({"smoker": Binary(), "town": Category(("Bath", "Ely", "York"))})


def people(n: int, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "smoker": rng.integers(0, 2, n),
            "town": rng.choice(["Bath", "Ely", "York"], n),
        }
    )
    ill = (frame["age"].to_numpy() + 20 * frame["smoker"].to_numpy() + rng.integers(0, 40, n) > 85).astype(int)
    return frame, ill


def learners(**more: Any) -> list[Any]:
    """Return one learner of each kind whose models are counted."""
    return [
        OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1), **more),
        OptimalRuleListClassifier(2, domain=DOMAIN, classes=(0, 1), **more),
        GreedyRuleListClassifier(3, domain=DOMAIN, classes=(0, 1), **more),
        MultiwayTreeClassifier(2, domain=WORDS, classes=(0, 1), **more),
    ]


def named(learner: Any) -> str:
    return type(learner).__name__


@pytest.mark.parametrize("learner", learners(), ids=named)
def test_the_bound_is_known_before_any_data_and_in_the_certificate_after(learner: Any) -> None:
    before = learner.capacity(400)
    assert isinstance(before, AverageCase)
    assert before.of_design is None
    assert 0 < before.strictest.mean_advantage < 1
    frame, y = people(400)
    frame = frame if len(learner.domain) == 3 else frame.drop("age")
    learner.fit(frame, y)
    assert learner.capacity() == before == learner.certificate_.average_case
    design = learner.capacity(population=800)
    assert design.of_design is not None
    assert design.of_design.mean_advantage > before.strictest.mean_advantage
    assert "of the half at most" in design.sentence or "in the half at most" in design.sentence


@pytest.mark.parametrize("learner", learners(), ids=named)
def test_a_fitted_model_is_answered_within_ten_milliseconds(learner: Any) -> None:
    frame, y = people(400)
    learner.fit(frame if len(learner.domain) == 3 else frame.drop("age"), y)
    learner.capacity(population=800)
    times = []
    for _ in range(5):
        start = time.process_time()
        learner.capacity(population=800)
        times.append(time.process_time() - start)
    assert min(times) < 0.01


def test_the_class_is_the_one_that_the_search_numbers() -> None:
    # On binary attributes without constraints the closed form is the number of trees that the search weighs.
    for attributes, depth in ((3, 1), (3, 2), (4, 2), (3, 3)):
        domain = Domain.binary([f"a{i}" for i in range(attributes)])
        learner = OptimalTreeClassifier(depth, domain=domain, classes=(0, 1))
        labelled = learner.log_class_size() / math.log(2)
        assert learner.declared_class().labelled_bits == pytest.approx(labelled)
        assert labelled == pytest.approx(tree_bits(attributes, depth, 2))
    # Where the domain forbids splits, fewer trees are left: the class is an upper bound.
    learner = OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1))
    assert learner.log_class_size() / math.log(2) < learner.declared_class().labelled_bits


def test_lists_by_the_closed_form_are_no_fewer_than_the_search_numbers() -> None:
    for rules in (1, 2, 3):
        greedy = GreedyRuleListClassifier(rules, domain=DOMAIN, classes=(0, 1))
        optimal = OptimalRuleListClassifier(rules, domain=DOMAIN, classes=(0, 1))
        assert greedy.log_class_size() >= optimal.log_class_size() - 1e-9
        assert optimal.declared_class().labelled_bits * math.log(2) >= optimal.log_class_size() - 1e-9
        size = len(greedy._conditions(DOMAIN).widest())
        assert greedy.log_class_size() <= rule_list_bits(size, rules, 2) * math.log(2) + 1e-9


def test_the_size_of_a_large_greedy_class_is_instant() -> None:
    domain = Domain({f"x{i}": Integer(0, 99, thresholds=tuple(range(10, 90, 4))) for i in range(5)})
    learner = GreedyRuleListClassifier(5, domain=domain, classes=(0, 1))
    learner.log_class_size()
    start = time.process_time()
    assert 30 < learner.log_class_size() / math.log(2) < 60
    assert time.process_time() - start < 0.5


def test_exact_counts_are_charged_and_labels_alone_would_be_a_false_bound() -> None:
    learner = OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1))
    counts, labels = learner.capacity(400), learner.capacity(400, published=LABELS)
    rounded = learner.capacity(400, published=Published(figures="rounded counts", step=50))
    assert labels.figures_bits == 0 < rounded.figures_bits < counts.figures_bits
    assert labels.strictest.mean_advantage < counts.strictest.mean_advantage
    frame, y = people(400)
    # The fit publishes exact counts, and its certificate charges them.
    assert learner.fit(frame, y).certificate_.average_case == counts
    assert counts.structure_bits < labels.structure_bits  # Labels follow from exact counts


def test_all_published_models_are_within_the_class() -> None:
    # Every dataset of five records on two binary attributes: no more models, with counts, than are counted.
    domain = Domain.binary(["a", "b"])
    rows = list(itertools.product((0, 1), repeat=3))
    for learner in (
        OptimalTreeClassifier(1, domain=domain, classes=(0, 1)),
        GreedyRuleListClassifier(1, domain=domain, classes=(0, 1)),
        MultiwayTreeClassifier(1, domain=domain, classes=(0, 1)),
    ):
        seen, labelled = set(), set()
        for chosen in itertools.combinations_with_replacement(rows, 3):
            data = np.array(chosen)
            cells = learner.fit(data[:, :2], data[:, 2]).model_.cells
            seen.add(tuple((str(cell), cell.evidence.counts) for cell in cells))
            labelled.add(tuple((str(cell), cell.evidence.prediction) for cell in cells))
        declared = learner.declared_class()
        assert 1 < len(seen) <= 2 ** declared.bits(Published(), 3)
        assert len(labelled) <= 2**declared.labelled_bits
        assert len(seen) > len(labelled)


def test_the_counts_of_the_whole_list_make_exact_counts_cheap() -> None:
    frame, y = people(4_000)
    drawn = np.random.default_rng(1).permutation(4_000) < 2_000
    learner = OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1)).fit(frame.filter(drawn), y[drawn])
    full = learner.capacity(population=4_000).of_design
    refunded = learner.capacity(frame=(frame, y)).of_design
    assert full is not None
    assert refunded is not None
    assert refunded.mean_advantage < full.mean_advantage
    assert refunded.certain is not None
    assert full.certain is not None
    assert refunded.certain < full.certain / 2
    with pytest.raises(InvalidParameterError, match="half of the frame"):
        learner.capacity(frame=(frame.head(3_999), y[:3_999]))
    with pytest.raises(InvalidDataError, match="undeclared outcome"):
        learner.capacity(frame=(frame, y + 1))
    for outcomes in (y[:3_999], y[:1]):  # One outcome would stand for everyone
        with pytest.raises(InvalidDataError, match="one length"):
            learner.capacity(frame=(frame, outcomes))
    with pytest.raises(InvalidDataError, match="order"):
        learner.capacity(frame=(frame.to_pandas(), pd.Series(y)[::-1]))
    assert learner.capacity(frame=(frame[::-1].select(frame.columns[::-1]), y[::-1])).of_design == refunded


def test_an_answer_about_the_fit_is_not_about_parameters_that_were_changed() -> None:
    frame, y = people(400)
    drawn = np.random.default_rng(1).permutation(400) < 200
    learner = OptimalTreeClassifier(3, domain=DOMAIN, classes=(0, 1)).fit(frame.filter(drawn), y[drawn])
    of_fit = learner.capacity()
    learner.set_params(max_depth=1)
    for asked in ({}, {"population": 400}, {"frame": (frame, y)}):
        with pytest.raises(InvalidParameterError, match="changed since the fit"):
            learner.capacity(**asked)
    assert learner.certificate_.average_case == of_fit
    # With n the answer is about a fit that is to come; the frame is that of the fit alone.
    assert learner.capacity(200).strictest.mean_advantage < of_fit.strictest.mean_advantage
    learner.set_params(max_depth=3)
    assert learner.capacity() == of_fit
    with pytest.raises(InvalidParameterError, match="for the fit that was made"):
        learner.capacity(100, frame=(frame, y))


def test_which_of_two_bounds_is_smaller_is_paid_for() -> None:
    # Whichever bound is taken with the frame's counts holds with half of the draws that may fail.
    frame, y = people(4_000)
    drawn = np.random.default_rng(1).permutation(4_000) < 2_000
    learner = OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1)).fit(frame.filter(drawn), y[drawn])
    cells, structure = learner._cells(frame, y), learner.declared_class().structure(Published())
    found = learner.capacity(frame=(frame, y), delta=0.2).of_design
    alone = counts_given_frame(structure, *cells, 0.2)
    assert found is not None
    assert alone + 0.9 < found.bits == pytest.approx(counts_given_frame(structure, *cells, 0.1), abs=0.1)


@pytest.mark.parametrize(
    ("delta", "said"),
    [(0.05, "20"), (0.0501, "19.9"), (0.07, "14.2"), (0.9, "1.11"), (1e-5, "100,000"), (0.03, "33.3")],
)
def test_one_draw_in_so_many_is_rounded_down(delta: float, said: str) -> None:
    learner = OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1))
    assert f"one draw in {said}, " in learner.capacity(400, delta=delta).sentence


def test_people_needed_is_where_the_bound_falls_below_the_limit() -> None:
    learner = OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1))
    for rate in (None, 0.5):
        needed = learner.people_needed(0.05, rate=rate)
        population = None if rate is None else int(needed / rate)
        assert learner.capacity(needed, population).strictest.mean_advantage <= 0.05
        fewer = int(needed * 0.99)
        population = None if rate is None else int(fewer / rate)
        assert learner.capacity(fewer, population).strictest.mean_advantage > 0.05
    with pytest.raises(InvalidParameterError, match="smaller class"):
        OptimalTreeClassifier(8, domain=DOMAIN, classes=(0, 1)).people_needed(1e-9)


REFUSED: list[tuple[Any, str]] = [
    (OptimalTreeClassifier(2, classes=(0, 1)), "public domain"),
    (OptimalTreeClassifier(2, domain=DOMAIN), "classes of the outcome"),
    (OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1), literals="quantiles"), "quantiles"),
    (OptimalTreeClassifier(2, domain=Domain({"age": Integer(0, 9)}), classes=(0, 1)), "quantiles"),
    (MultiwayTreeClassifier(2, domain=DOMAIN, classes=(0, 1)), "between values of the data"),
    (OptimalTreeRegressor(2, domain=DOMAIN, target_range=(0, 1)), "all digits"),
    (EBMClassifier(domain=DOMAIN, classes=(0, 1)), "not counted"),
    (ScorecardClassifier(domain=DOMAIN, classes=(0, 1)), "not counted"),
]


@pytest.mark.parametrize(("learner", "why"), REFUSED, ids=lambda x: named(x) if not isinstance(x, str) else "")
def test_what_was_not_fixed_before_the_draw_is_refused(learner: Any, why: str) -> None:
    with pytest.raises(InvalidParameterError, match=why):
        learner.capacity(1_000)


def test_a_fit_whose_class_came_from_the_data_states_nothing() -> None:
    frame, y = people(300)
    for learner in (
        OptimalTreeClassifier(2),
        OptimalTreeClassifier(2, domain=DOMAIN),
        OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1), literals="quantiles"),
        MultiwayTreeClassifier(2, domain=DOMAIN, classes=(0, 1)),
    ):
        assert learner.fit(frame, y).certificate_.average_case is None


def test_classes_that_the_domain_declares_are_public() -> None:
    frame, y = people(300)
    whole = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "ill": Binary()})
    learner = OptimalTreeClassifier(2, domain=whole).fit(frame.with_columns(ill=pl.Series(y)), "ill")
    assert learner.certificate_.average_case is not None
    assert Certificate.from_json(learner.certificate_.to_json()) == learner.certificate_


def test_n_is_needed_before_the_fit() -> None:
    with pytest.raises(InvalidParameterError, match="is not known: before a fit"):
        OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1)).capacity()
