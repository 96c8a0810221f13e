"""What the bins of an additive model tell of its training records."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.attacks.bin_leakage import leak_bins, rebuild_values
from glassine.data import infer_domain
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.domain.grid import public_grid
from glassine.errors import InvalidDataError, InvalidModelError
from glassine.models import AdditiveModel, CategoryBins, Guarantee, NumericBins, Term


def term_of(**parts: Any) -> Term:
    """Return a term of plain lists."""
    return Term(**parts)


def model_of(*terms: Term, guarantee: Guarantee | None = None) -> AdditiveModel:
    names = tuple(dict.fromkeys(name for term in terms for name in term.attributes))
    return AdditiveModel(attributes=names, terms=terms, intercept=(0.0,), link="identity", guarantee=guarantee)


def flat(*bins: NumericBins | CategoryBins, weights: Any = None) -> Term:
    return term_of(bins=bins, scores=np.zeros(tuple(b.n_bins for b in bins)), weights=weights)


@functools.cache
def breast_cancer() -> tuple[Any, pd.DataFrame]:
    from interpret.glassbox import ExplainableBoostingClassifier
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer(as_frame=True)
    X = found.data.iloc[:, :5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ebm = ExplainableBoostingClassifier(interactions=0, outer_bags=1, max_rounds=5, n_jobs=1, random_state=0)
        return ebm.fit(X, found.target), X


def test_an_ebm_of_breast_cancer_publishes_every_value_of_every_attribute() -> None:
    from glassine.formats import additive_from_interpret

    ebm, X = breast_cancer()
    model = additive_from_interpret(ebm)
    assert leak_bins(model).terms[0].sizes is None, "sums of weights"
    # Numbers of records for an attacker who knows that no weights were used.
    model = replace(model, sizes="stored")
    found = leak_bins(model, data=X)
    radius = found.attributes[0]
    assert (radius.n_own_bins, radius.n_values) == (456, 456)
    assert radius.exact_bounds == ("smallest", "largest")
    assert radius.n_midpoints == radius.n_cuts == 455
    # Without any data the values follow by arithmetic.
    blind = leak_bins(model)
    assert [entry.n_rebuilt for entry in blind.attributes] == [456, 479, 522, 539, 474]
    bins = model.terms[0].bins[0]
    assert isinstance(bins, NumericBins)
    np.testing.assert_allclose(rebuild_values(bins) or (), np.unique(X["mean radius"]), rtol=1e-9)
    assert blind.terms[0].below(2) == 359
    assert blind.terms[0].origin == "published"
    assert found.differing == ()


def test_sizes_are_counted_where_none_are_published() -> None:
    bins = NumericBins("age", (30.0, 40.0))
    data = {"age": np.array([20, 30, 31, 45, np.nan])}
    found = leak_bins(model_of(flat(bins)), data=data).terms[0]
    assert (found.sizes, found.origin) == ((2, 1, 1, 1), "counted")
    assert leak_bins(model_of(flat(bins))).terms[0].sizes is None


@pytest.mark.parametrize("weights", [[1.5, 2, 3, 0], [-1, 2, 3, 0]])
def test_weights_that_are_no_counts_are_not_taken_for_them(weights: list[float]) -> None:
    bins = NumericBins("age", (30.0, 40.0))
    assert leak_bins(model_of(flat(bins, weights=weights))).terms[0].sizes is None


def test_noisy_weights_are_not_counts() -> None:
    bins = NumericBins("age", (30.0, 40.0), bounds=(20, 47))
    noisy = model_of(flat(bins, weights=[1, 2, 3, 0]), guarantee=Guarantee(epsilon=1, count_scale=2.0))
    found = leak_bins(noisy)
    assert found.terms[0].sizes is None
    assert found.attributes[0].n_rebuilt == 0


def test_other_data_than_the_training_records_are_noticed() -> None:
    bins = NumericBins("age", (30.0,))
    model = model_of(flat(bins, weights=[2, 1, 0]))
    assert leak_bins(model, data={"age": np.array([1, 2, 40])}).differing == ()
    assert leak_bins(model, data={"age": np.array([1, 2, 3])}).differing == ("age",)


def test_cells_of_a_pair_are_counted_together() -> None:
    pair = flat(NumericBins("age", (30.0,)), CategoryBins("job", (("clerk",), ("baker",))))
    data = {"age": np.array([20, 40, 40]), "job": np.array(["clerk", "baker", "pope"])}
    found = leak_bins(model_of(pair), data=data).terms[0]
    assert found.sizes == (1, 0, 0, 0, 1, 1, 0, 0, 0)
    assert found.below(2) == 3


@pytest.mark.parametrize(("closed", "cut"), [("left", 40.0), ("left", 39.5), ("right", 39.5), ("right", 39.0)])
def test_a_cut_of_whole_numbers_is_public_whichever_side_is_closed(closed: str, cut: float) -> None:
    domain = Domain({"age": Integer(0, 100, thresholds=(39.5,))})
    found = leak_bins(model_of(flat(NumericBins("age", (cut,), closed))), domain)
    assert found.attributes[0].n_off_grid == 0
    other = leak_bins(model_of(flat(NumericBins("age", (cut + 1,), closed))), domain)
    assert other.attributes[0].n_off_grid == 1


@pytest.mark.parametrize(("closed", "cut"), [("left", 40.0), ("left", 39.5), ("right", 39.5), ("right", 39.0)])
def test_a_cut_between_adjacent_whole_numbers_is_no_midpoint(closed: str, cut: float) -> None:
    model = model_of(flat(NumericBins("age", (cut,), closed)))
    public = Domain({"age": Integer(0, 1000, thresholds=(500.0,))})
    for domain in (infer_domain(pd.DataFrame({"age": list(range(30, 50))})), public):
        found = leak_bins(model, domain, {"age": np.array([38, 39, 40, 41])})
        assert found.attributes[0].n_midpoints == 0
    apart = leak_bins(model, public, {"age": np.array([2 * cut - 60, 60])})
    assert apart.attributes[0].n_midpoints == 1


def test_public_cuts_are_no_midpoints_unless_the_domain_was_inferred() -> None:
    data = {"age": np.array([37, 42])}
    model = model_of(flat(NumericBins("age", (39.5,))))
    public = leak_bins(model, Domain({"age": Integer(0, 100, thresholds=(39.5,))}), data)
    assert public.attributes[0].n_midpoints == 0
    guessed = leak_bins(model, infer_domain(pd.DataFrame({"age": list(range(30, 50))})), data)
    assert guessed.attributes[0].n_midpoints == 1


def test_ranges_and_categories_of_the_domain_are_public() -> None:
    terms = (
        flat(NumericBins("age", (), bounds=(18, 97.5))),
        flat(CategoryBins("job", (("clerk",), ("spy",)))),
        flat(NumericBins("flag", (0.5,), bounds=(0, 1))),
    )
    domain = Domain({"age": Integer(18, 99), "job": Category(("clerk", "baker")), "flag": Binary()})
    age, job, flag = leak_bins(model_of(*terms), domain).attributes
    assert age.n_private_bounds == 1
    assert (job.n_undeclared, flag.n_off_grid, flag.n_private_bounds) == (1, 0, 0)


def test_categories_of_one_record() -> None:
    bins = CategoryBins("job", (("clerk",), ("baker", "cook"), ("spy",)))
    data = {"job": np.array(["clerk", "clerk", "spy", "cook", "baker", "baker"])}
    assert leak_bins(model_of(flat(bins)), data=data).attributes[0].n_lone_categories == 2
    # From sizes alone: the group of two cannot say which of them one record has.
    assert leak_bins(model_of(flat(bins, weights=[2, 1, 1, 0]))).attributes[0].n_lone_categories == 1
    assert leak_bins(model_of(flat(bins))).attributes[0].n_lone_categories is None


def test_an_attribute_that_the_domain_lacks_is_refused() -> None:
    with pytest.raises(InvalidModelError, match="which the domain lacks"):
        leak_bins(model_of(flat(NumericBins("age"))), Domain({"job": Binary()}))
    with pytest.raises(InvalidDataError, match="lack"):
        leak_bins(model_of(flat(NumericBins("age"))), data={"job": np.array([1])})


def test_a_model_without_terms_tells_nothing() -> None:
    found = leak_bins(model_of(), data={"age": np.array([1, 2])})
    assert (found.terms, found.attributes) == ((), ())
    assert found.total("n_cuts") == 0


@given(st.lists(st.integers(-10_000, 10_000), min_size=3, max_size=40, unique=True), st.sampled_from([1, 10, 1000]))
def test_values_are_rebuilt_from_midpoints_unless_a_public_grid_would_do(whole: list[int], scale: int) -> None:
    values = np.array(sorted(whole)) / scale
    cuts = values[:-1] / 2 + values[1:] / 2
    found = rebuild_values(NumericBins("a", tuple(cuts), "left", (float(values[0]), float(values[-1]))))
    doubled = np.array(sorted(whole))[:-1] + np.array(sorted(whole))[1:]
    if len(set(np.diff(doubled).tolist())) < 2:
        assert found is None
    else:
        np.testing.assert_allclose(found or (), values, rtol=0, atol=1e-8 * float(np.abs(values).max()))


@given(st.integers(1, 10**6), st.integers(2, 10**6))
def test_nothing_is_rebuilt_from_a_public_grid(low: int, span: int) -> None:
    attribute = Real(float(low), float(low + span))
    assert rebuild_values(NumericBins("a", public_grid(attribute), bounds=(low, low + span))) is None


def test_cuts_that_are_values_or_off_a_midpoint() -> None:
    data = {"age": np.array([1.0, 2.0, 4.0])}
    bins = NumericBins("age", (1.5, 2.0, 3.0, 3.5, 9.0))
    # 1.5 and 3 are midpoints, 2 is a value; 3.5 and 9 are neither.
    assert leak_bins(model_of(flat(bins)), data=data).attributes[0].n_midpoints == 3


def test_a_private_range_beside_a_public_one_is_found() -> None:
    """A pair may publish another range of an attribute than its own term does."""
    domain = Domain({"x": Integer(0, 99), "y": Integer(0, 99)})
    public, private, other = (NumericBins("x", (49.5,), "right", ends) for ends in ((0, 99), (40, 60), None))
    y = NumericBins("y", (49.5,))
    for bins in (((public,), (private, y)), ((private,), (public, y)), ((other,), (private, y))):
        terms = tuple(Term(bins=entry, scores=np.zeros([one.n_bins for one in entry])) for entry in bins)
        model = AdditiveModel(attributes=("x", "y"), terms=terms, intercept=(0.0,), link="identity")
        assert leak_bins(model, domain).attributes[0].n_private_bounds == 2
        data = {"x": np.array([40, 60]), "y": np.array([1, 2])}
        assert leak_bins(model, data=data).attributes[0].exact_bounds == ("smallest", "largest")
