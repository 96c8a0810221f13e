"""What large trees and lists cost: work that grows with the model, counted in calls and not in seconds."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Binary, Domain, Integer, Real, as_model, audit, parse_rules, write_model
from glassine.counting.regions import RegionCounter
from glassine.formats.judged import just_written, load_judged
from glassine.models import DecisionTree, RuleList
from glassine.report import render_text
from glassine.scrubbing.scrub import Counts, scrub

DOMAIN = Domain(
    {**{f"x{i}": Real(-5.0, 5.0, 0.0001 if i < 3 else None) for i in range(6)}, "age": Integer(0, 99), "sex": Binary()}
)
LISTED = Domain({f"x{i}": Integer(0, 999) for i in range(10)})


def calls(work: Callable[[], object]) -> int:
    """Return how many functions are called, those of C included."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]  # typeshed lacks it


def grown(leaves: int) -> DecisionTree:
    rng, rows = np.random.default_rng(0), leaves * 5
    columns = [*(rng.normal(size=rows).round(4).clip(-5, 5) for _ in range(6)), *rng.integers(0, (100, 2), (rows, 2)).T]
    fitted = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(
        np.column_stack(columns), rng.integers(0, 2, rows)
    )
    tree = as_model(fitted, DOMAIN)
    assert isinstance(tree, DecisionTree)
    assert len(tree.cells) == leaves
    return tree


def listed(number: int) -> RuleList:
    rng, lines = np.random.default_rng(0), ["classes: [no] [yes]"]
    for i in range(number - 1):
        (one, other), (low, high) = rng.choice(10, 2, replace=False), rng.integers(1, 999, 2)
        then = f"then [{rng.choice(['no', 'yes'])}] ([{rng.integers(9)} ; {rng.integers(9)}] examples)"
        lines.append(f"{'else ' * bool(i)}if [x{one} <= {low}] and [x{other} > {high}] {then}")
    return parse_rules("\n".join([*lines, "else [no] ([5 ; 1] examples)"]), LISTED)


@pytest.mark.slow
def test_a_scrub_and_its_audit_take_work_in_proportion_to_the_leaves() -> None:
    def work(tree: DecisionTree) -> int:
        return calls(lambda: render_text(audit(scrub(tree, DOMAIN).model, domain=DOMAIN)))

    work(grown(100))  # imports, and what is kept of the domain
    few, many = work(grown(500)), work(grown(4_000))
    # A goal of 20 CPU seconds for 200,000 leaves is 100 microseconds a leaf: some 500 calls.
    assert (many - few) / 3_500 < 500
    assert many < 10 * few


@pytest.mark.slow
def test_rules_that_earlier_ones_cover_are_not_left_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes: list[int] = []
    measure = RegionCounter.measure

    def counted(self: RegionCounter, region: object) -> object:
        boxes.append(len(region.outside))  # type: ignore[attr-defined]  # a Region
        return measure(self, region)  # type: ignore[arg-type]  # a Region

    monkeypatch.setattr(RegionCounter, "measure", counted)
    findings = audit(listed(1_000), domain=LISTED)
    assert findings.value("reconstruction") is not None
    # Of 1,000 rules at random few hold anything: each is measured outside those, not outside all before it.
    assert len(boxes) >= 1_000
    assert max(boxes) < 300


def test_leaves_are_put_in_words_only_for_those_who_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_given: object, **_more: object) -> object:
        raise AssertionError("no leaf is shown in a text")

    findings = audit(grown(50), domain=DOMAIN)
    with monkeypatch.context() as patch:
        patch.setattr("glassine.auditing.trees.describe_parts", refused)
        patch.setattr("glassine.auditing.trees.tree_shape", refused)
        assert "decision tree" in render_text(findings).lower()
    assert [part["number"] for part in findings.to_dict()["measured"]["parts"]["parts"]] == list(range(1, 51))


def test_a_copy_that_was_just_written_is_what_its_file_holds(tmp_path: Path) -> None:
    for number, (model, domain) in enumerate(((grown(60), DOMAIN), (listed(20), LISTED))):
        for counts in get_args(Counts):
            copy, path = scrub(model, domain, counts=counts).model, tmp_path / f"{number}-{counts}.json"
            wrote = write_model(copy, path)
            assert just_written(copy, path, wrote, domain) == load_judged(path, domain)
            # A file that another program changed meanwhile is read.
            path.write_bytes(path.read_bytes() + b" ")
            assert not just_written(copy, path, wrote, domain).form.canonical
            # What a copy of the file would leave out is read again.
            named = replace(copy, source="x" * 500)
            wrote = write_model(named, path, overwrite=True)
            again = just_written(named, path, wrote, domain)
            assert again == load_judged(path, domain)
            assert not again.form.canonical
