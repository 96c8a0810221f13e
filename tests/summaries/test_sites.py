"""Summaries that follow the plan of another, and what is added up of them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from glassine.domain import Domain, Integer
from glassine.errors import GlassineError, InvalidModelError, InvalidParameterError
from glassine.learners import PrivateSummary
from glassine.learners.additive.merging import DISJOINT
from glassine.learners.summaries.release import BY_CLASS, PAIRS, RESIDUALS, check_events
from glassine.privacy.events import Parallel
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
