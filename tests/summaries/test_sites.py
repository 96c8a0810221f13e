"""Summaries that follow the plan of another, and what is added up of them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from glassine.domain import Domain, Integer
from glassine.errors import GlassineError, InvalidModelError, InvalidParameterError
from glassine.learners import PrivateSummary
from glassine.learners.additive.additive_budget import GaussianBudget
from glassine.learners.additive.merging import DISJOINT
from glassine.learners.summaries.released_tables import (
    ADDED,
    BY_CLASS,
    CERTIFICATES,
    CLIPPED,
    FOLLOWS,
    PAIRS,
    RESIDUALS,
    check_events,
)
from glassine.privacy.certificate import ONE_PERSON
from glassine.privacy.events import Parallel
from glassine.privacy.unit import PrivacyUnit
from tests.summaries.people import DOMAIN, RANGE, people, summary


def site(seed: int, *, epsilon: float = 4.0, classes: int | None = 2, **how: Any) -> Any:
    frame, y = people(classes=classes, seed=seed)
    target: dict[str, Any] = {"target_range": RANGE} if classes is None else {"classes": tuple(range(classes))}
    return PrivateSummary(epsilon=epsilon, domain=DOMAIN, random_state=seed, **target, **how).fit(frame, y)


@cache
def sites(classes: int | None) -> tuple[Any, Any, Any]:
    first = summary(classes=classes)
    return (first, *(site(seed, classes=classes, follows=first.plan_) for seed in (1, 2)))


@pytest.mark.parametrize("classes", [2, 3, None])
def test_a_summary_that_follows_has_the_cells_of_the_plan_and_spends_on_counts_alone(classes: int | None) -> None:
    first, second, _ = sites(classes)
    plan, own = first.released_, second.released_
    for ours, theirs in zip(own.axes, plan.axes, strict=True):
        assert np.array_equal(ours.bin_of, theirs.bin_of)
    assert all(np.array_equal(*pair) for pair in zip(own.groups, plan.groups, strict=True))
    assert list(own.edges) == list(plan.edges)
    assert [one.name for one in second.certificate_.events if one.name in (BY_CLASS, PAIRS, RESIDUALS)] == [
        BY_CLASS,
        PAIRS,
        RESIDUALS,
    ]
    assert len(second.certificate_.events) == (3 if classes else 4)
    # What choosing bins and pairs would have cost makes the counts more accurate.
    assert own.deviations[0] < plan.deviations[0]
    assert own.deviations[2] < plan.deviations[2]


@pytest.mark.parametrize("classes", [2, 3, None])
@pytest.mark.parametrize("persons", ["shared", "disjoint"])
def test_tables_are_added_and_their_noise(classes: int | None, persons: Any, tmp_path: Path) -> None:
    three = sites(classes)
    merged = PrivateSummary.merge(three, persons=persons)
    released = merged.released_
    for place, table in enumerate(released.tables):
        assert np.allclose(table, sum(one.released_.tables[place] for one in three))
    for pair, table in released.edges.items():
        assert np.allclose(table, sum(one.released_.edges[pair] for one in three))
    for number, one in enumerate(released.rounds):
        assert np.allclose(one.sums, sum(own.released_.rounds[number].sums for own in three))
    for number in (0, 2):
        squares = [one.released_.deviations[number] ** 2 for one in three]
        assert released.deviations[number] == pytest.approx(sum(squares) ** 0.5)
    certificate = merged.certificate_
    assert certificate.epsilon == pytest.approx(12.0 if persons == "shared" else 4.0)
    assert (DISJOINT in certificate.assumptions) == (persons == "disjoint")
    assert isinstance(certificate.events[0], Parallel) == (persons == "disjoint")
    merged.write(tmp_path / "all.json")
    again = PrivateSummary.read(tmp_path / "all.json")
    assert again.digest_ == merged.digest_
    guarantee = again.additive().guarantee
    assert guarantee is not None
    assert guarantee.epsilon == pytest.approx(certificate.epsilon)
    assert again.certify(again.tree(max_depth=2)).epsilon == pytest.approx(certificate.epsilon)


def test_the_order_of_the_sites_does_not_matter_and_the_plan_need_not_be_among_them() -> None:
    first, second, third = sites(2)
    one, other = PrivateSummary.merge([first, second, third]), PrivateSummary.merge([third, first, second])
    assert np.allclose(one.released_.tables[0], other.released_.tables[0])
    for merged in (other, PrivateSummary.merge([second, third])):
        check_events(merged.released_, merged.certificate_)


def test_a_plan_of_another_domain_or_target_is_refused() -> None:
    first = summary()
    frame, y = people()
    other = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "age": Integer(0, 120)})
    for how, message in (
        ({"domain": other, "classes": (0, 1)}, "other attributes"),
        ({"domain": DOMAIN, "classes": (0, 1, 2)}, "another target"),
        ({"domain": DOMAIN, "target_range": (0.0, 1.0)}, "another target"),
        ({"domain": DOMAIN, "classes": (0, 1), "bins": {"age": [50]}}, "bins are those of the summary"),
        ({"domain": DOMAIN, "classes": (0, 1), "sites": 3}, "sites are those of the summary"),
        ({"domain": DOMAIN, "classes": (0, 1), "follows": first}, "must be the plan of a summary"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            PrivateSummary(epsilon=1.0, **({"follows": first.plan_} | how)).fit(frame, y)


def test_a_plan_with_more_bins_or_rounds_than_a_summary_has_is_refused() -> None:
    first = summary()
    frame, y = people()
    plan, released = first.plan_, first.released_
    fine = tuple(np.arange(axis.n_bins) for axis in released.axes)
    assert max(map(len, fine)) > 13
    for odd in (replace(released, groups=fine), replace(released, rounds=released.rounds * 2)):
        with pytest.raises(InvalidParameterError, match="more bins, pairs or rounds"):
            PrivateSummary(
                epsilon=1.0, domain=DOMAIN, classes=(0, 1), follows=replace(plan, released=odd), random_state=0
            ).fit(frame, y)


def test_what_cannot_be_merged_is_refused() -> None:
    first, second, third = sites(2)
    with pytest.raises(InvalidParameterError, match="is merged itself"):
        PrivateSummary.merge([PrivateSummary.merge([first, second]), third])
    with pytest.raises(InvalidParameterError, match="different plans"):
        PrivateSummary.merge([first, site(9)])
    with pytest.raises(InvalidParameterError, match="2 to 1,000 sites"):
        PrivateSummary.merge([first])
    with pytest.raises(InvalidParameterError, match="given twice"):
        PrivateSummary.merge([first, first, second])
    with pytest.raises(InvalidParameterError, match="persons"):
        PrivateSummary.merge([first, second], persons="some")  # type: ignore[arg-type]  # refused
    frame, y = people(seed=1)
    whose = site(1)
    whose = PrivateSummary(
        epsilon=4.0, domain=DOMAIN, classes=(0, 1), follows=first.plan_, records_per_person=2, random_state=1
    ).fit(frame, y, persons=np.arange(len(y)) // 2)
    with pytest.raises(InvalidParameterError, match="privacy units"):
        PrivateSummary.merge([first, whose])
    moved = clone(second)
    moved.__dict__.update(second.__dict__)
    groups = second.released_.groups
    moved.released_ = replace(second.released_, groups=(groups[0][::-1].copy(), *groups[1:]))
    with pytest.raises(InvalidModelError, match="other bins or pairs"):
        PrivateSummary.merge([first, moved])


def test_summaries_of_files_and_of_fits_are_merged_whichever_way_they_came(tmp_path: Path) -> None:
    first, second, third = sites(2)
    first.write(tmp_path / "first.json")
    second.write(tmp_path / "second.json")
    from_file = PrivateSummary.read(tmp_path / "first.json")
    again = site(5, follows=from_file.plan_)
    merged = [
        PrivateSummary.merge(given)
        for given in (
            [first, PrivateSummary.read(tmp_path / "second.json")],
            [from_file, second],
            [second, from_file],
            [first, again],
        )
    ]
    # The order of the sites does not matter, nor does where they came from.
    assert len({one.digest_ for one in merged[:3]}) == 1
    frame, y = people(seed=7)
    named = PrivateSummary(epsilon=4.0, domain=DOMAIN, classes=(0, 1), follows=first.plan_, random_state=1)
    PrivateSummary.merge([first, named.fit(frame, pl.Series("ill", y))]).write(tmp_path / "all.json")
    assert PrivateSummary.read(tmp_path / "all.json").target_ == "ill"
    assert third.pairs_ == ()


def test_sites_whose_numbers_vary_more_are_read_back(tmp_path: Path) -> None:
    frame, y = people(classes=None)
    wide = np.where(np.arange(len(y)) % 2 == 0, RANGE[0], RANGE[1])
    for first, second in ((20.0 + 0.05 * np.nan_to_num(y, nan=0.0).clip(*RANGE), wide), (wide, y)):
        made = PrivateSummary(epsilon=4.0, domain=DOMAIN, target_range=RANGE, random_state=1).fit(frame, first)
        other = PrivateSummary(epsilon=4.0, domain=DOMAIN, target_range=RANGE, follows=made.plan_, random_state=2).fit(
            frame, second
        )
        PrivateSummary.merge([made, other]).write(tmp_path / "all.json")
        assert PrivateSummary.read(tmp_path / "all.json").released_.rounds
        (tmp_path / "all.json").unlink()


def test_certificates_that_claim_less_than_was_spent_are_found(tmp_path: Path) -> None:
    _, second, third = sites(2)
    merged = PrivateSummary.merge([second, third], persons="disjoint")
    own, whole = second.certificate_, merged.certificate_
    apart = Parallel(name="apart", branches=tuple((event,) for event in own.events))
    plain = second.released_
    person: Any = {"unit": PrivacyUnit.person(100), "neighboring": ONE_PERSON}
    forged: list[tuple[Any, Any]] = [
        # Releases of the same records are no releases of different people.
        (plain, replace(own, events=(apart,), epsilon=3.9)),
        (plain, replace(own, public={**own.public, "merged": ADDED, "sites": [own.model]}, **person)),
        (plain, replace(own, public={**own.public, FOLLOWS: "anything"})),
        (plain, replace(own, public={**own.public, "merged": ADDED, "sites": 5, CERTIFICATES: 5})),
        (merged.released_, replace(whole, **person)),
        (merged.released_, replace(whole, epsilon=2 * whole.epsilon)),
        (merged.released_, replace(whole, assumptions=())),
        (merged.released_, replace(whole, public={**whole.public, CERTIFICATES: [own.to_dict()]})),
        (merged.released_, replace(whole, public={**whole.public, "persons": "shared"})),
        (merged.released_, replace(whole, public={**whole.public, FOLLOWS: "0" * 64})),
    ]
    number = sites(None)[1]
    for clip in ("x", [1], 1e-4, 50.0):
        public = {**number.certificate_.public, CLIPPED: clip}
        forged.append((number.released_, replace(number.certificate_, public=public)))
    for released, certificate in forged:
        with pytest.raises(InvalidModelError, match="not those of what it released"):
            check_events(released, certificate)


def test_numbers_that_no_summary_has_are_refused_before_the_charge(tmp_path: Path) -> None:
    first = sites(None)[0]
    frame, y = people(classes=None)
    odd = replace(first.plan_, released=replace(first.released_, deviations=(1e200, 1.0, 1e200)))
    with pytest.raises(InvalidParameterError, match="with other numbers"):
        PrivateSummary(epsilon=1.0, domain=DOMAIN, target_range=RANGE, follows=odd).fit(frame, y)
    first.write(tmp_path / "first.json")
    plain = json.loads((tmp_path / "first.json").read_text())
    groups = plain["released"]["attributes"][0]["groups"]
    plain["released"]["attributes"][0]["groups"] = [groups[-1], *groups[1:]]
    (tmp_path / "first.json").write_text(json.dumps(plain))
    with pytest.raises(InvalidModelError, match="do not fit its domain"):
        PrivateSummary.read(tmp_path / "first.json")


def test_what_an_estimate_can_do_follows_from_the_noise_of_all_sites() -> None:
    first, second, third = sites(2)
    for one in (first, second):
        wanted = GaussianBudget.of(4.0, 1e-6).mu
        assert one._mu == pytest.approx(wanted, rel=0.02)
    for persons in ("shared", "disjoint"):
        merged = PrivateSummary.merge([second, third], persons=persons)
        assert merged._mu == pytest.approx(second._mu / 2**0.5)


def test_a_changed_file_is_found(tmp_path: Path) -> None:
    _, second, third = sites(2)
    merged = PrivateSummary.merge([second, third])
    for one in (second, merged):
        one.write(tmp_path / "one.json")
        plain = json.loads((tmp_path / "one.json").read_text())
        plain["released"]["attributes"][0]["counts"][0] += 1.0
        (tmp_path / "one.json").write_text(json.dumps(plain))
        with pytest.raises(GlassineError):
            PrivateSummary.read(tmp_path / "one.json")


def test_events_that_do_not_explain_the_counts_are_found() -> None:
    _, second, third = sites(2)
    axis = second.released_.axes[0]
    # Counts that follow from no table of the summary were paid for by nothing.
    axes = (replace(axis, counts=axis.counts + 3.0), *second.released_.axes[1:])
    with pytest.raises(InvalidModelError, match="not those of what it released"):
        check_events(replace(second.released_, axes=axes), second.certificate_)
    merged = PrivateSummary.merge([second, third])
    of_tables, of_scores, of_edges = merged.released_.deviations
    finer = replace(merged.released_, deviations=(0.9 * of_tables, of_scores, of_edges))
    with pytest.raises(InvalidModelError, match="not those of what it released"):
        check_events(finer, merged.certificate_)
    with pytest.raises(InvalidModelError, match="not those of what it released"):
        check_events(merged.released_, replace(merged.certificate_, events=merged.certificate_.events[:-1]))
