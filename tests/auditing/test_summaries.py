"""The audit of a private summary: what it released, whether its certificate is of it, and what the guarantee allows."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pytest

from glassine import Policy, audit
from glassine.auditing.schema import schema
from glassine.errors import InvalidParameterError
from glassine.learners import PrivateSummary
from glassine.privacy.release import fresh_count
from glassine.report import render_html, render_text
from glassine.report.rendering import page_of
from tests.summaries.people import DOMAIN, RANGE, people, summary

ACCEPTING = Policy(accept_guarantee=True, max_epsilon=4.0)


@pytest.fixture(scope="module", params=[2, None])
def held(request: pytest.FixtureRequest) -> Any:
    """Return a summary whose guarantee holds: nothing below depends on the noise."""
    frame, y = people(classes=request.param)
    target: dict[str, Any] = {"target_range": RANGE} if request.param is None else {"classes": (0, 1)}
    with fresh_count():
        return PrivateSummary(epsilon=4.0, domain=DOMAIN, **target).fit(frame, y)


def test_an_accepted_guarantee_answers_for_all_of_it(held: Any) -> None:
    findings = audit(held, policy=ACCEPTING)
    assert findings.verdict == "within policy"
    assert findings.subject.kind == "private summary"
    found, released = findings.value("released"), held.released_
    assert (found.certified, found.digest) == (True, held.certificate_.model)
    assert found.spent == pytest.approx(4.0, rel=1e-5)
    assert found.spent <= 4.0
    held_numbers = sum(table.size for table in released.tables) + sum(table.size for table in released.edges.values())
    held_numbers += len(released.scores) + sum(one.sums.size for one in released.rounds)
    assert found.n_values >= held_numbers + sum(axis.n_bins for axis in released.axes)
    tables = next(one for one in found.releases if "attributes by class" in one.name)
    assert tables.deviation == pytest.approx(released.deviations[0])
    jsonschema.validate(findings.to_dict(), schema())


def test_the_page_says_what_was_released_and_asks_for_no_records(held: Any) -> None:
    page = page_of(audit(held, policy=ACCEPTING))
    (section,) = [one for one in page.sections if one.id == "released"]
    assert str(section.text[1]).startswith("The certificate is of this summary")
    for text in (render_text(page), render_html(page)):
        assert "What the summary released" in text
        for wrong in ("estimator", "Pass the", "Save the model", "this additive model"):
            assert wrong not in text


@pytest.mark.parametrize(
    ("policy", "verdict", "standing", "advised"),
    [
        (Policy(accept_guarantee=True), "outside policy", "too weak", "smaller privacy budget"),
        (Policy(max_epsilon=4.0), "inconclusive", "not accepted", "accept_guarantee = true"),
    ],
)
def test_without_an_accepted_guarantee_nothing_passes_by_it(
    held: Any, policy: Policy, verdict: str, standing: str, advised: str
) -> None:
    findings = audit(held, policy=policy)
    assert (findings.verdict, findings.guarantee and findings.guarantee.standing) == (verdict, standing)
    statuses = {check.rule: check.status for check in findings.checks}
    assert statuses["largest_advantage"] == statuses["named_by_thresholds"] == "unknown"
    assert [advised in entry.text for entry in findings.advice] == [True]


def test_a_seeded_summary_has_no_bounds() -> None:
    findings = audit(summary(), policy=ACCEPTING)
    assert findings.verdict == "inconclusive"
    assert findings.guarantee is not None
    assert (findings.guarantee.standing, findings.guarantee.bounds) == ("does not hold", ())


def test_a_summary_that_was_changed_is_not_covered_by_its_certificate(held: Any) -> None:
    changed = copy(held)
    tables = (held.released_.tables[0] + np.eye(*held.released_.tables[0].shape), *held.released_.tables[1:])
    changed.released_ = replace(held.released_, tables=tables)
    findings = audit(changed, policy=ACCEPTING)
    assert findings.verdict == "inconclusive"
    assert not findings.value("released").certified
    assert findings.guarantee is not None
    assert findings.guarantee.standing == "does not hold"
    assert "the certificate is of another summary" in findings.guarantee.caveats


def test_nothing_is_audited_beside_a_summary(held: Any) -> None:
    frame, _ = people(20)
    beside: tuple[dict[str, Any], ...] = ({"data": frame}, {"domain": DOMAIN})
    for given in beside:
        with pytest.raises(InvalidParameterError, match=rf"audited alone\. Leave {next(iter(given))}= out"):
            audit(held, **given)
