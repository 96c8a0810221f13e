"""Copies of additive models that tell less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.attacks.bin_leakage import leak_bins
from glassine.auditing.api import audit
from glassine.auditing.policy import Policy
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.domain.grid import public_grid
from glassine.errors import InvalidDomainError, InvalidModelError
from glassine.learners.additive.ordinary import EBMClassifier, EBMRegressor
from glassine.learners.additive.scorecards import ScorecardClassifier
from glassine.learners.budget import RANGE_FROM_DATA
from glassine.models import AdditiveModel, CategoryBins, Guarantee, NumericBins, Term
from glassine.models.guarantee import DOMAIN_FROM_DATA
from glassine.scrubbing.additive import _public_cuts, scrub_additive
from glassine.scrubbing.scrub import accuracy, scrub

DOMAIN = Domain({"age": Integer(0, 100), "job": Category(("clerk", "baker", "cook"))})


def term_of(**parts: Any) -> Term:
    """Return a term of plain lists."""
    return Term(**parts)


def one(bins: NumericBins | CategoryBins, given_scores: Any, **options: Any) -> AdditiveModel:
    guarantee = options.pop("guarantee", None)
    term = term_of(bins=(bins,), scores=given_scores, **options)
    return AdditiveModel(
        attributes=(bins.attribute,), terms=(term,), intercept=(0.0,), link="identity", guarantee=guarantee
    )


def test_cuts_move_to_the_nearest_public_point_and_ranges_to_the_domain() -> None:
    model = one(NumericBins("age", (30.3, 48.0), "left", (17, 92)), [1, 2, 3, 9], weights=[20, 20, 20, 0])
    done = scrub_additive(model, DOMAIN)
    bins = done.model.terms[0].bins[0]
    assert bins == NumericBins("age", (29.5, 47.5), "right", (0, 100))
    assert done.model.terms[0].weights is None
    assert done.model.terms[0].scores[:, 0].tolist() == [-1, 0, 1, 7]
    assert done.model.intercept == (2.0,)
    # x < 48 and x <= 47.5 are one cut of whole numbers.
    assert (done.n_moved, done.n_merged) == (1, 0)
    assert leak_bins(done.model, DOMAIN).total("n_off_grid") == leak_bins(done.model, DOMAIN).total("n_private_bounds")


def test_joined_bins_score_the_mean_of_the_people_in_them() -> None:
    model = one(NumericBins("age", (29.9, 30.1)), [0, 10, 20, 0], weights=[30, 10, 30, 0])
    term = scrub_additive(model, DOMAIN).model.terms[0]
    assert term.bins[0] == NumericBins("age", (29.5,), "right", (0, 100))
    # The bin between the two cuts has its middle above the one that is left.
    assert np.diff(term.scores[:-1, 0]).tolist() == [17.5]


def test_small_bins_join_until_every_one_is_large_enough() -> None:
    model = one(NumericBins("age", (9.5, 19.5, 29.5)), [0, 4, 8, 12, 5], weights=[30, 4, 6, 30, 3])
    done = scrub_additive(model, DOMAIN, smallest_bin=10, keep_sizes=True)
    term = done.model.terms[0]
    assert term.bins[0] == NumericBins("age", (9.5, 29.5), "right", (0, 100))
    # Their size is hidden, and with it those that would tell it.
    assert term.weights is None
    full = one(NumericBins("age", (9.5, 19.5, 29.5)), [0, 4, 8, 12, 5], weights=[30, 4, 6, 30, 0])
    sizes = scrub_additive(full, DOMAIN, smallest_bin=10, keep_sizes=True).model.terms[0].weights
    assert sizes is not None
    assert sizes.tolist() == [30, 10, 30, 0]
    assert np.diff(term.scores[:-1, 0]) == pytest.approx([6.4, 5.6], abs=0.01)
    # Too few had a missing value: their bin scores the plain mean of all others.
    assert term.scores[3, 0] == 0


@given(st.lists(st.floats(-20, 120, allow_nan=False), max_size=15, unique=True))
def test_every_old_bin_stands_in_one_new_bin(cuts: list[float]) -> None:
    new, joined = _public_cuts(NumericBins("x", tuple(sorted(cuts))), Domain({"x": Real(0.0, 100.0)}))
    assert new.n_bins == len(joined)
    assert all(joined)
    assert sorted(i for group in joined for i in group) == list(range(len(cuts) + 2))


def test_categories_that_the_domain_does_not_declare_fall_away() -> None:
    bins = CategoryBins("job", (("clerk",), ("spy",), ("baker", "king"), ("cook",)))
    done = scrub_additive(one(bins, [1, 2, 3, 4, 5], weights=[20, 1, 30, 4, 0]), DOMAIN, smallest_bin=10)
    groups = done.model.terms[0].bins[0]
    assert isinstance(groups, CategoryBins)
    assert set(groups.values) == {"clerk", "baker", "cook"}
    assert ("clerk", "cook") in groups.groups
    assert done.n_renamed == 2
    only = one(CategoryBins("job", (("spy",),)), [1, 2])
    assert scrub_additive(only, DOMAIN).model.terms == ()


def test_pairs_are_joined_until_no_cell_is_small_or_dropped() -> None:
    rng = np.random.default_rng(0)
    age, job = rng.integers(0, 100, 400), rng.choice(["clerk", "baker", "cook"], 400)
    bins = (NumericBins("age", tuple(range(1, 99, 2))), CategoryBins("job", (("clerk",), ("baker",), ("cook",))))
    pair = term_of(bins=bins, scores=rng.normal(size=(51, 4)))
    model = AdditiveModel(attributes=("age", "job"), terms=(pair,), intercept=(0,), link="identity")
    data = pl.DataFrame({"age": age, "job": job})
    done = scrub_additive(model, DOMAIN, smallest_bin=10, data=data)
    found = leak_bins(done.model, DOMAIN, data).terms
    assert found[0].below(10) == 0
    assert found[0].n_bins > 20
    few = scrub_additive(model, DOMAIN, smallest_bin=1000, data=data)
    assert few.model.terms == ()


def test_the_log_of_edits_and_deviations_are_dropped() -> None:
    from glassine.models import Edit

    term = term_of(bins=(NumericBins("age", (29.5,)),), scores=[1, 2.3456, 0], errors=[0.1, 0.2, 0])
    log = (Edit(number=1, action="set", term="age", cells=(0,), before=(7.0,), after=(1.0,)),)
    model = AdditiveModel(attributes=("age",), terms=(term,), intercept=(0.12345,), link="identity", edits=log)
    clean = scrub_additive(model, DOMAIN).model
    assert clean.edits == ()
    assert clean.terms[0].errors is None
    assert clean.terms[0].scores[:, 0].tolist() == [-0.673, 0.673, 0]
    assert clean.intercept == (1.8,)


def test_a_guarantee_stays_unless_the_data_were_read_again() -> None:
    claim = Guarantee(epsilon=1.0, count_scale=2.0)
    model = one(NumericBins("age", (29.5,)), [1, 2, 0], weights=[20.4, 3.2, 0], guarantee=claim)
    kept = scrub_additive(model, DOMAIN).model
    assert kept.guarantee == replace(claim, count_scale=None)
    data = pl.DataFrame({"age": [20, 70] * 20})
    sized = scrub_additive(model, DOMAIN, keep_sizes=True).model
    assert sized.guarantee == claim
    assert sized.terms[0].weights is not None
    # Joined bins would carry the noise of several.
    assert scrub_additive(model, DOMAIN, keep_sizes=True, smallest_bin=10).model.terms[0].weights is None
    again = scrub_additive(model, DOMAIN, smallest_bin=5, keep_sizes=True, data=data).model
    assert again.guarantee is not None
    assert any("counts in the training data" in caveat for caveat in again.guarantee.caveats)
    assert again.terms[0].weights is None
    twice = scrub_additive(again, DOMAIN, smallest_bin=5, data=data).model
    assert twice.guarantee == again.guarantee, "a reason is stated once"


def test_sizes_are_kept_only_where_they_are_true() -> None:
    data = pl.DataFrame({"age": [20] * 20 + [30] * 10 + [70] * 10})
    model = one(NumericBins("age", (30.5,)), [1, 2, 0], weights=[30, 10, 0])
    assert scrub_additive(model, DOMAIN, keep_sizes=True).model.terms[0].weights is None
    counted = scrub_additive(model, DOMAIN, keep_sizes=True, data=data).model.terms[0].weights
    assert counted is not None
    assert counted.tolist() == [20, 20, 0]


def test_codes_are_cut_half_way_between_those_that_score_apart() -> None:
    domain = Domain({"flag": Binary(), "grade": Category((1, 2, 5))})
    flag = one(NumericBins("flag", (0.3, 0.6), "left", (0, 1)), [1, 2, 3, 0])
    term = scrub_additive(flag, domain).model.terms[0]
    assert term.bins[0] == NumericBins("flag", (0.5,))
    assert term.scores[:, 0].tolist() == [-1, 1, 0]
    grade = one(NumericBins("grade", (2.75,)), [4, 7, 0])
    term = scrub_additive(grade, domain).model.terms[0]
    assert term.bins[0] == NumericBins("grade", (3.5,))
    assert term.scores[:, 0].tolist() == [-1.5, 1.5, 0]


def test_scrub_reaches_additive_models_and_measures_the_cost() -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 500)
    frame = pl.DataFrame({"age": age, "y": (age > 50).astype(int)})
    cuts = tuple((np.unique(age)[:-1] + np.unique(age)[1:]) / 2)
    term = term_of(
        bins=(NumericBins("age", cuts, "left", (18, 89)),),
        scores=np.append(np.where(np.unique(age) > 50, 2.0, -2.0), 0.0),
        weights=np.append(np.unique(age, return_counts=True)[1], 0),
    )
    model = AdditiveModel(attributes=("age",), terms=(term,), intercept=(0,), link="logit", classes=(0, 1))
    result = scrub(model, DOMAIN, smallest_leaf=10, data=frame)
    assert accuracy(model, frame, "y") == 1
    assert 0.95 < accuracy(result.model, frame, "y") <= 1
    policy = Policy(largest_bits_per_record=None)
    assert audit(model, domain=DOMAIN, data=frame, policy=policy).exit_status == 1
    assert audit(result.model, domain=DOMAIN, data=frame, policy=policy).exit_status == 0


def test_wrong_options_are_refused() -> None:
    model = one(NumericBins("age", (29.5,)), [1, 2, 0])
    with pytest.raises(InvalidModelError, match="publishes no sizes"):
        scrub_additive(model, DOMAIN, smallest_bin=5)
    for wrong in (-1, 2.5, True, float("nan")):
        options: dict[str, Any] = {"smallest_bin": wrong}
        with pytest.raises(InvalidModelError, match="whole number"):
            scrub_additive(model, DOMAIN, **options)
    with pytest.raises(InvalidModelError, match="which the domain lacks"):
        scrub_additive(model, Domain({"job": Binary()}))
    nothing: Any = None
    with pytest.raises(InvalidDomainError):
        scrub_additive(model, nothing)


@pytest.mark.slow
@given(
    st.lists(st.floats(-50, 150, allow_nan=False), max_size=12, unique=True),
    st.sampled_from(["left", "right"]),
    st.integers(0, 30),
    st.randoms(use_true_random=False),
)
def test_every_copy_is_public_and_stays_between_the_old_scores(
    cuts: list[float], closed: str, smallest: int, random: Any
) -> None:
    n_bins = len(cuts) + 2
    old = [float(random.randint(-99, 99)) for _ in range(n_bins)]
    sizes = [random.randint(0, 40) for _ in range(n_bins)]
    model = one(NumericBins("x", tuple(sorted(cuts)), closed), old, weights=sizes)
    domain = Domain({"x": Real(0.0, 100.0)})
    done = scrub_additive(model, domain, smallest_bin=smallest, keep_sizes=True).model
    bins = done.terms[0].bins[0]
    assert isinstance(bins, NumericBins)
    assert set(bins.cuts) <= set(public_grid(domain["x"]))
    found = done.scores({"x": np.append(np.linspace(0, 100, 50), np.nan)})
    # Intercept and centered scores are at most as large as the largest score and twice as large, to three digits.
    slack = 0.015 * max(map(abs, old)) + 1e-9
    assert min(old) - slack <= found.min() <= found.max() <= max(old) + slack


def test_bins_are_joined_until_each_holds_enough_people() -> None:
    """The same six people stand in two bins: twelve records, and six people in both together."""
    who = list(range(6)) * 2 + list(range(10, 30))
    frame = pl.DataFrame({"who": who, "age": [10] * 6 + [30] * 6 + [80] * 20})
    model = one(NumericBins("age", (19.5, 49.5)), [1, 2, 3, 9], weights=[6, 6, 20, 0])
    by_record = scrub(model, DOMAIN, smallest_leaf=10, data=frame).model
    by_person = scrub(model, DOMAIN, smallest_leaf=10, data=frame, persons="who").model
    assert [term.shape for term in by_record.terms] == [(3,)]
    assert [term.shape for term in by_person.terms] == [(2,)]


def test_sizes_that_stay_are_those_of_records() -> None:
    frame = pl.DataFrame({"who": [*range(12)] * 2, "age": [10] * 12 + [80] * 12})
    model = one(NumericBins("age", (49.5,)), [1, 2, 9], weights=[12, 12, 0])
    kept = scrub(model, DOMAIN, counts="keep", smallest_leaf=10, data=frame, persons="who").model
    assert kept.terms[0].weights.tolist() == [12, 12, 0]


def test_a_range_from_the_records_is_not_in_the_copy_and_voids_a_guarantee() -> None:
    domain = Domain({"age": Integer(19, 73, inferred=True)})
    claim = Guarantee(epsilon=1.0, count_scale=2.0)
    model = one(NumericBins("age", (29.5,), bounds=(0, 100)), [1, 2, 0], weights=[20.4, 30.2, 0], guarantee=claim)
    copy = scrub_additive(model, domain).model
    assert copy.terms[0].bins == (NumericBins("age", (29.5,)),)
    assert copy.guarantee == replace(claim, count_scale=None, caveats=(DOMAIN_FROM_DATA,))


def test_the_range_of_a_target_is_that_of_the_domain() -> None:
    """Of a model without privacy, it is the smallest and the largest target of its records."""
    frame = pl.DataFrame({"age": [20, 30, 40, 50]})
    model = (
        EBMRegressor(domain=Domain({"age": Integer(0, 100)}))
        .fit(frame, pl.Series("pay", [11.5, 20, 30, 961.25]))
        .model_
    )
    assert (model.target, model.target_bounds) == ("pay", (11.5, 961.25))
    ages = {"age": Integer(0, 100)}
    for pay, bounds in ((Real(0, 1000), (0.0, 1000.0)), (Real(11.5, 961.25, inferred=True), None), (None, None)):
        domain = Domain(ages if pay is None else {**ages, "pay": pay})
        assert scrub_additive(model, domain).model.target_bounds == bounds
    declared = replace(model, guarantee=Guarantee(epsilon=1.0))
    assert scrub_additive(declared, Domain(ages)).model.target_bounds == (11.5, 961.25)
    inferred = replace(model, guarantee=Guarantee(epsilon=1.0, caveats=(RANGE_FROM_DATA,)))
    assert scrub_additive(inferred, Domain(ages)).model.target_bounds is None


SEXES, JOBS = Category(("f", "m")), Category(("a", "b", "c"))


def sized(mains: Sequence[Any], pair: Any, sizes: Any, *, published: bool = True) -> AdditiveModel:
    """Return a model of two attributes, its pair centered row by row and column by column, and every term, by sizes."""
    # Shapes: mains (2,), (3,) bins and outputs; pair (2, 3, outputs); sizes (2, 3).
    first, second, inner = (np.array(part, dtype=float) for part in (*mains, pair))
    sizes = np.array(sizes, dtype=float)
    for _ in range(2_000):
        rows = (inner * sizes[..., None]).sum(1) / sizes.sum(1)[:, None]
        inner, first = inner - rows[:, None], first + rows
        columns = (inner * sizes[..., None]).sum(0) / sizes.sum(0)[:, None]
        inner, second = inner - columns, second + columns
    middles = [sizes.sum(1) @ first / sizes.sum(), sizes.sum(0) @ second / sizes.sum()]
    terms = []
    bins = (CategoryBins("sex", (("f",), ("m",))), CategoryBins("job", (("a",), ("b",), ("c",))))
    for own, score, weight in (
        (bins[:1], first - middles[0], sizes.sum(1)),
        (bins[1:], second - middles[1], sizes.sum(0)),
        (bins, inner, sizes),
    ):
        edge = [(0, 1)] * len(own)
        weights = np.pad(weight, edge) if published else None
        terms.append(Term(bins=own, scores=np.pad(score, [*edge, (0, 0)]), weights=weights))
    outputs = inner.shape[-1]
    return AdditiveModel(
        attributes=("sex", "job"),
        terms=tuple(terms),
        intercept=tuple((middles[0] + middles[1]).tolist()),
        link="identity" if outputs == 1 else "softmax",
        classes=None if outputs == 1 else tuple(range(outputs)),
    )


@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize("outputs", [1, 3])
def test_of_one_function_every_table_of_sizes_gives_the_same_copy(outputs: int, published: bool) -> None:
    """Each mean by size is an equation in the sizes: three outputs and three bins give every ratio of them away."""
    rng, domain = np.random.default_rng(5), Domain({"sex": SEXES, "job": JOBS})
    mains, pair = [rng.normal(size=(n, outputs)) for n in (2, 3)], rng.normal(size=(2, 3, outputs))
    copies = [
        scrub_additive(sized(mains, pair, sizes, published=published), domain).model
        for sizes in ([[90, 800, 40], [7, 30, 60]], [[20, 30, 600], [300, 70, 11]], np.ones((2, 3)))
    ]
    for copy in copies[:-1]:
        for term, even in zip(copy.terms, copies[-1].terms, strict=True):
            assert term.weights is None
            assert term.scores == pytest.approx(even.scores, rel=0.01, abs=1e-6), term.name
        # Before the rest of the scores were rounded to three digits, both models were one function.
        assert np.ptp(np.subtract(copy.intercept, copies[-1].intercept)) < 0.02
    assert outputs > 1 or copies[0].intercept == pytest.approx(copies[-1].intercept, rel=0.01)


def test_the_score_of_missing_values_does_not_give_removed_sizes_away() -> None:
    """Where no record lacks the value, learners leave 0, which is the mean of the others by size."""
    model = one(NumericBins("age", (49.5,)), [-0.9, 0.1, 0.0], weights=[10, 90, 0])
    below, above, gap = scrub_additive(model, DOMAIN).model.terms[0].scores[:, 0].tolist()
    assert (below, above, gap) == (-0.5, 0.5, 0.0)
    few = one(NumericBins("age", (49.5,)), [-0.9, 0.1, 0.7], weights=[10, 90, 3])
    below, above, gap = scrub_additive(few, DOMAIN, smallest_bin=5).model.terms[0].scores[:, 0].tolist()
    assert (below, above, gap) == (-0.5, 0.5, 0.0)


def test_a_category_without_records_does_not_give_unpublished_sizes_away_if_the_data_are_given() -> None:
    """The distance of its 0 from the other scores would be that of their mean by size."""
    domain = Domain({"job": Category(("a", "b", "c"))})
    frame = pl.DataFrame({"job": ["a"] * 10 + ["b"] * 90})
    model = one(CategoryBins("job", (("a",), ("b",), ("c",))), [-0.9, 0.1, 0.0, 0.0])
    copy = scrub_additive(model, domain, data=frame).model.terms[0]
    assert copy.weights is None
    assert copy.scores[:, 0].tolist() == [-0.5, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("missing", [False, True])
def test_values_outside_the_domain_have_the_score_of_no_bin_that_was_chosen_by_its_size(missing: bool) -> None:
    """Learners put an empty bin with another, of few records or of many."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"job": rng.choice(["a", "b", "c"], 2_000, p=[0.2, 0.7, 0.1])})
    rate = frame["job"].replace_strict({"a": 0.8, "b": 0.4, "c": 0.3}).to_numpy()
    domain = Domain({"job": Category(("a", "b", "c"), missing=missing)})
    model = EBMClassifier(domain=domain).fit(frame, (rng.random(2_000) < rate).astype(int)).model_
    assert model.terms[0].scores[-1] in model.terms[0].scores[:-1]
    copy = scrub_additive(model, domain).model.terms[0]
    assert copy.scores[-1, 0] == 0
    assert np.abs(copy.scores[:-1, 0]).min() > 0.1


def test_a_score_that_was_lent_goes_whether_or_not_the_other_bin_is_rounded_or_joined() -> None:
    job = CategoryBins("job", (("a",), ("b",), ("c",)))
    model = one(job, [-0.1, 0.2, -5.960586744258732e-05, -5.960586744258732e-05], weights=[116, 144, 140, 0])
    assert scrub_additive(model, Domain({"job": Category(("a", "b", "c"))})).model.terms[0].scores[-1, 0] == 0
    age = one(NumericBins("age", (49.5, 50.2)), [-0.1, 0.2, 0.7, 0.7], weights=[50, 30, 20, 0])
    joined = scrub_additive(age, DOMAIN).model.terms[0].scores[:, 0].tolist()
    assert len(joined) == 3
    assert joined[-1] == 0


@pytest.mark.parametrize("kind", ["classes", "three classes", "number"])
def test_missing_values_that_no_record_has_give_no_equation_in_the_sizes(kind: str) -> None:
    """A fit leaves them near the mean by size, which a learner's centering makes 0 but for a little."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"age": np.where(rng.random(2_000) < 0.8, 20, 70), "job": rng.choice(["a", "b"], 2_000)})
    domain = Domain({"age": Integer(0, 100, thresholds=(50,), missing=True), "job": Category(("a", "b", "c"))})
    score = frame["age"].to_numpy() / 50 + rng.normal(0, 1, 2_000)
    labels = np.digitize(score, [1.0] if kind == "classes" else [0.5, 1.2])
    learner = EBMRegressor(domain=domain, target_range=(-9, 9)) if kind == "number" else EBMClassifier(domain=domain)
    model = learner.fit(frame, score if kind == "number" else labels).model_
    published = model.term("age")
    assert published.weights is not None
    assert published.weights[-1] == 0
    assert (published.scores[-1] != 0).any()
    copy = scrub_additive(model, domain).model
    assert (copy.term("age").scores[-1] == 0).all()
    assert (copy.term("job").scores[2:] == 0).all()


def test_a_card_without_sizes_gives_values_outside_the_domain_no_points_of_a_bin() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"smoker": rng.integers(0, 2, 400)})
    ill = (rng.random(400) < 0.3 + 0.3 * frame["smoker"].to_numpy()).astype(int)
    domain = Domain({"smoker": Binary()})
    card = ScorecardClassifier(domain=domain).fit(frame, ill).model_
    *bins, last = card.terms[0].scores[:, 0].tolist()
    assert last
    *kept, none = scrub_additive(card, domain).model.terms[0].scores[:, 0].tolist()
    assert (kept, none) == ([pytest.approx(score, rel=1e-3) for score in bins], 0)
    assert scrub_additive(card, domain, keep_sizes=True).model.terms[0].scores[-1, 0]


def test_means_of_a_pair_move_to_terms_of_other_bins() -> None:
    """Where a bin of the term holds several of the pair, it gets the mean of theirs."""
    domain = Domain({"age": Integer(0, 100), "flag": Binary()})
    flag = NumericBins("flag", (0.5,))
    pair = term_of(bins=(NumericBins("age", (24.5, 49.5)), flag), scores=[[3, 1, 0], [6, 4, 0], [8, 8, 0], [0, 0, 0]])
    age = term_of(bins=(NumericBins("age", (49.5,)),), scores=[1, 2, 5])
    model = AdditiveModel(attributes=("age", "flag"), terms=(age, pair), intercept=(0.0,), link="identity")
    age, pair = scrub_additive(model, domain).model.terms
    # Rows of the pair have the means 2, 5 and 8, of which the first bin of the term holds 24 and 26 values.
    assert np.diff(age.scores[:-1, 0]) == pytest.approx([1 + 8 - (24 * 2 + 26 * 5) / 50], abs=0.01)
    assert pair.scores[:-1, :-1, 0].sum(axis=0) == pytest.approx([2, -2], abs=0.02)
    assert pair.scores[:-1, :-1, 0].sum(axis=1) == pytest.approx([0, 0, 0], abs=1.4)


def test_scores_do_not_give_removed_sizes_away() -> None:
    """Scores are centered by size, so that of two bins their ratio is that of the sizes."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"sex": rng.choice(["f", "m"], 400, p=[0.03, 0.97]), "age": rng.integers(0, 100, 400)})
    target = (rng.random(400) < np.where(frame["sex"] == "f", 0.9, 0.3)).astype(int)
    domain = Domain({"sex": Category(("f", "m")), "age": Integer(0, 100)})
    model = EBMClassifier(domain=domain).fit(frame, target).model_
    centered = [float((term.scores[:, 0] * term.weights).sum()) for term in model.terms if term.weights is not None]
    assert len(centered) == 2
    assert np.abs(centered).max() < 1e-6
    copy = scrub_additive(model, domain).model
    for term in copy.terms:
        assert abs(term.scores[:-1, 0].mean()) < 1e-2, term.name
    assert np.abs(copy.scores(frame) - scrub_additive(model, domain, keep_sizes=True).model.scores(frame)).max() < 2e-2
