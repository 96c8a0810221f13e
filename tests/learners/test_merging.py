"""Models of several sites as one: means by released counts, and the composed guarantee."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Category, Certificate, Domain, Integer, load_model, write_model
from glassine.errors import GlassineError, InvalidCertificateError, InvalidModelError, InvalidParameterError
from glassine.formats import fingerprint
from glassine.learners import (
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateScorecardClassifier,
    PrivateSummary,
    merge,
)
from glassine.learners.additive.merging import DISJOINT, Merged
from glassine.models import AdditiveModel, CategoryBins, NumericBins, Term
from glassine.privacy.accounting import LaplaceNoise
from glassine.privacy.events import Parallel

DOMAIN = Domain(
    {"age": Integer(18, 90, codes={99: "hidden"}), "job": Category(("baker", "clerk", "cook"), missing=True)}
)


def people(seed: int, oldest: int = 91, n: int = 2500) -> tuple[pl.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    age = np.where(rng.random(n) < 0.1, 99, rng.integers(18, oldest, n))
    job = np.array(["baker", "clerk", "cook", None])[rng.choice(4, n, p=(0.3, 0.3, 0.3, 0.1))]
    odds = np.where(age == 99, 1.0, 0.05 * (age - 50)) + (job == "cook") * 1.5
    return pl.DataFrame({"age": age, "job": job.tolist()}), (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


def site(seed: int, oldest: int = 91, **fixed: Any) -> Any:
    given: dict[str, Any] = {"epsilon": 1.0, "domain": DOMAIN, "classes": (0, 1), "random_state": seed} | fixed
    return PrivateEBMClassifier(**given).fit(*people(seed, oldest))


SITES: list[Any] = []


def sites() -> list[Any]:
    if not SITES:
        SITES.extend([site(1, 60), site(2, 91, interactions=[("age", "job")]), site(3, 91, epsilon=3.0)])
    return SITES


def merged(members: list[Any], **how: Any) -> Merged:
    return merge([one.model_ for one in members], [one.certificate_ for one in members], **how)


def cell_of(bins: Any, value: Any) -> int:
    if isinstance(bins, NumericBins):
        return int(bins.index(np.array([np.nan if value is None else float(value)]))[0])
    return int(bins.find([value])[0])


def test_scores_are_the_means_that_a_loop_over_values_gives() -> None:
    models = [one.model_ for one in sites()]
    ours = merged(sites()).model
    # Every value lies in a cell that holds it and its like; a bin of a site counts by parts of equal size.
    for name, values in (("age", [*range(18, 91), 99, None]), ("job", ["baker", "clerk", "cook", None])):
        term = ours.term(name)
        fine = term.bins[0]
        own = [model.term(name) for model in models]
        weights = np.zeros((len(models), fine.n_bins))
        scores = np.zeros((len(models), fine.n_bins))
        found = {cell_of(fine, value): value for value in values}
        for s, one in enumerate(own):
            cells = [
                cell_of(one.bins[0], found[c]) if c in found else one.bins[0].n_bins - 1 for c in range(fine.n_bins)
            ]
            for c, cell in enumerate(cells):
                weights[s, c] = max(one.weights[cell], 0.0) / cells.count(cell)
                scores[s, c] = one.scores[cell, 0]
        total = weights.sum(axis=0)
        middle = (scores * total).sum(axis=1) / total.sum()
        for c in found:
            if total[c] > 0:
                expected = sum(weights[s, c] * (scores[s, c] - middle[s]) for s in range(len(models))) / total[c]
                assert term.scores[c, 0] == pytest.approx(expected, abs=1e-9), (name, found[c])
        assert term.weights is not None
        assert term.weights.sum() == pytest.approx(total.sum())


def test_the_order_of_sites_means_nothing_and_one_model_twice_is_itself() -> None:
    forth, back = merged(sites()).model, merged(sites()[::-1]).model
    X = pl.DataFrame({"age": [*range(18, 91), 99], "job": ["cook", "baker"] * 37})
    assert np.allclose(forth.predict_proba(X), back.predict_proba(X))
    one = sites()[0]
    twice = merged([one, one]).model
    assert np.allclose(twice.predict_proba(X), one.model_.predict_proba(X))
    term, before = twice.term("age"), one.model_.term("age")
    assert term.weights is not None
    assert np.allclose(term.weights, 2 * np.maximum(before.weights if before.weights is not None else 0, 0))


def test_a_merge_ranks_better_than_a_site_of_other_people() -> None:
    X, y = people(9)
    area = []
    for model in (merged(sites()).model, sites()[0].model_):
        risk = model.predict_proba(X)[:, 1]
        area.append((risk[y == 1][:, None] > risk[y == 0]).mean())
    assert area[0] > area[1]


def test_epsilons_add_up_and_all_events_are_listed() -> None:
    result = merged(sites())
    certificate = result.certificate
    assert certificate.epsilon == pytest.approx(5.0)
    assert certificate.delta == pytest.approx(3e-6)
    assert certificate.events == tuple(event for one in sites() for event in one.certificate_.events)
    assert certificate.public["sites"] == [fingerprint(one.model_) for one in sites()]
    assert certificate.model == fingerprint(result.model)
    assert result.model.guarantee is not None
    assert (result.model.guarantee.epsilon, result.model.guarantee.delta) == (certificate.epsilon, certificate.delta)
    assert certificate.caveats == ("seeded: not private",)
    assert certificate.randomness == "seeded"
    assert DISJOINT not in certificate.assumptions
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert merged(sites()).certificate == certificate


def test_disjoint_persons_cost_the_largest_and_are_listed_as_an_assumption() -> None:
    certificate = merged(sites(), persons="disjoint").certificate
    assert certificate.epsilon == pytest.approx(3.0)
    assert DISJOINT in certificate.assumptions
    (event,) = certificate.events
    assert isinstance(event, Parallel)
    assert event.branches == tuple(one.certificate_.events for one in sites())
    # A claim of less is refused: the events are added up again.
    with pytest.raises(InvalidCertificateError, match="must claim what its events spend"):
        replace(certificate, epsilon=1.0)
    with pytest.raises(InvalidCertificateError, match="must claim what its events spend"):
        replace(merged(sites()).certificate, epsilon=1.0)


def test_exact_sums_are_those_of_the_events() -> None:
    def pure(epsilon: float) -> tuple[AdditiveModel, Certificate]:
        term = Term(
            bins=(NumericBins("age", (40,)),), scores=np.array([epsilon, 0, 0]), weights=np.array([10.0, 10, 0])
        )
        model = AdditiveModel(attributes=("age",), terms=(term,), intercept=(0.0,), link="identity")
        noise = LaplaceNoise(name="counts", l1_sensitivity=1, scale=1 / epsilon)
        return model, Certificate(epsilon=epsilon, events=(noise,), model=fingerprint(model))

    models, certificates = zip(*map(pure, (0.25, 0.5, 1.0)), strict=True)
    shared = merge(models, certificates).certificate
    assert shared.epsilon == 1.75
    with pytest.raises(InvalidCertificateError):
        replace(shared, epsilon=1.7499)
    apart = merge(models, certificates, persons="disjoint").certificate
    assert apart.epsilon == 1.0
    with pytest.raises(InvalidCertificateError):
        replace(apart, epsilon=0.9999)


def test_persons_count_at_every_site() -> None:
    def of_persons(seed: int, most: int) -> Any:
        X, y = people(seed)
        learner = PrivateEBMClassifier(
            epsilon=1.0, domain=DOMAIN, classes=(0, 1), random_state=seed, records_per_person=most
        )
        return learner.fit(X, y, persons=[f"p{i // 2}" for i in range(len(y))])

    members = [of_persons(1, 2), of_persons(2, 3)]
    assert merged(members).certificate.unit.records_per_person == 5
    assert merged(members, persons="disjoint").certificate.unit.records_per_person == 3
    with pytest.raises(InvalidParameterError, match="another privacy unit"):
        merged([members[0], sites()[0]])


def test_numbers_and_several_classes_are_merged() -> None:
    def number(seed: int) -> Any:
        X, y = people(seed)
        learner = PrivateEBMRegressor(epsilon=2.0, domain=DOMAIN, target_range=(0, 10), random_state=seed)
        return learner.fit(X, 3.0 * y + 2)

    ours = merged([number(1), number(2)]).model
    assert (ours.link, ours.target_bounds) == ("identity", (0.0, 10.0))
    X, y = people(3)
    assert np.corrcoef(ours.predict(X), y)[0, 1] > 0.3

    def three(seed: int) -> Any:
        X, y = people(seed)
        learner = PrivateEBMClassifier(epsilon=2.0, domain=DOMAIN, classes=(0, 1, 2), random_state=seed)
        return learner.fit(X, np.where(np.arange(len(y)) % 5 == 0, 2, y))

    assert merged([three(1), three(2)]).model.predict_proba(X).shape == (len(X), 3)


def test_what_does_not_fit_together_is_refused() -> None:
    first, second = sites()[0], sites()[2]
    models, certificates = [first.model_, second.model_], [first.certificate_, second.certificate_]
    refusals: list[tuple[Any, Any, str]] = [
        (models[:1], certificates[:1], "2 to 1,000 sites"),
        (models, certificates[:1], "2 to 1,000 sites"),
        (models, certificates[::-1], "certificate 1 is not of model 1"),
        ([models[0], replace(models[1], classes=(1, 0))], certificates, "another classes"),
        ([models[0], replace(models[1], attributes=("age", "job", "x"))], certificates, "other attributes"),
    ]
    for some, theirs, said in refusals:
        with pytest.raises(GlassineError, match=said):
            merge(some, theirs)
    with pytest.raises(InvalidParameterError, match="persons"):
        merge(models, certificates, persons="alone")  # type: ignore[arg-type]
    card = PrivateScorecardClassifier(epsilon=1.0, domain=DOMAIN, classes=(0, 1), random_state=0).fit(*people(4))
    with pytest.raises(InvalidModelError, match="no additive model"):
        merged([first, card])
    bare = replace(models[1], terms=tuple(replace(term, weights=None) for term in models[1].terms))
    with pytest.raises(InvalidModelError, match="no counts"):
        merge([models[0], bare], [certificates[0], replace(certificates[1], model=fingerprint(bare))])
    other = AdditiveModel(
        attributes=("age", "job"),
        terms=(Term(bins=(CategoryBins("job", (("pope",),)),), scores=np.zeros(2), weights=np.array([5.0, 1])),),
        intercept=(0.0,),
        link="logit",
        classes=(0, 1),
    )
    with pytest.raises(InvalidModelError, match="declare other values of 'job'"):
        merge([models[0], other], [certificates[0], replace(certificates[1], model=fingerprint(other))])


def test_files_hold_a_merged_model(tmp_path: Path) -> None:
    ours = merged(sites()).model
    write_model(ours, tmp_path / "all.json")
    assert load_model(tmp_path / "all.json") == ours
    assert ours.terms[0].errors is not None
    assert all(math.isfinite(value) for value in ours.intercept)


def test_a_summary_of_a_site_is_merged_by_its_additive_model() -> None:
    summary = PrivateSummary(epsilon=2.0, domain=DOMAIN, classes=(0, 1), random_state=5).fit(*people(5))
    model = summary.additive()
    both = merge([model, sites()[0].model_], [summary.certify(model), sites()[0].certificate_])
    assert both.certificate.epsilon == pytest.approx(3.0)
