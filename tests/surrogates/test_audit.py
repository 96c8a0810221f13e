"""The audit of a release as a whole."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from glassine import Policy
from glassine.attacks import Measured, NotApplicable, reconstruct
from glassine.attacks.outcome import Below
from glassine.auditing.findings import SurrogateFindings
from glassine.domain import Domain, Integer
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.formats.sklearn.tree import tree_from_sklearn
from glassine.surrogates import SurrogateExplainer, SurrogateRelease, audit_release, compare_forms
from glassine.surrogates.evidence import DECISIONS, TRUE, evidence_of_fit
from glassine.surrogates.reader import PublishedAnswers, gaps_of, midpoints_of
from tests.surrogates.scenes import PEOPLE, lender, numbers, people, ring

Array = npt.NDArray[Any]
X, Z = numbers(500, 4), numbers(400, 4, seed=5)
Y, YZ = ring(numbers(500, 4) + numbers(500, 4, seed=7) / 2), ring(Z + numbers(400, 4, seed=8) / 2)


@pytest.fixture(scope="module")
def paper() -> SurrogateExplainer:
    return SurrogateExplainer(ring, 50, form="paper", random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def safe() -> SurrogateExplainer:
    return SurrogateExplainer(ring, 50, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def audited(paper: SurrogateExplainer) -> SurrogateFindings:
    return paper.audit(show_small_counts=True)


def value(outcome: Any) -> Any:
    assert isinstance(outcome, Measured), outcome
    return outcome.value


def status(found: SurrogateFindings) -> dict[str, str]:
    return {check.rule: check.status for check in found.checks}


def plain_leaves(explainer: SurrogateExplainer) -> list[tuple[int, int]]:
    """Return the tree and the leaf of each person, one record at a time."""
    out = []
    for row, group in zip(X, explainer.training_.groups.tolist(), strict=True):
        tree = explainer.release_.trees[group]
        record = dict(zip(explainer.release_.domain.names, row.tolist(), strict=True))
        at = 0
        while tree.nodes[at].branches:
            at = next(
                b.child
                for b in tree.nodes[at].branches
                if b.literal.holds(np.array([record[b.literal.attribute]])).item()
            )
        out.append((group, at))
    return out


def test_people_behind_groups_and_leaves_are_counted(paper: SurrogateExplainer, audited: SurrogateFindings) -> None:
    leaves = plain_leaves(paper)
    held = Counter(leaves)
    alone = [row for row, leaf in enumerate(leaves) if held[leaf] == 1]
    found = value(audited.leaves)
    assert found.n_alone == len(alone) > 0
    assert found.rows_alone == tuple(alone)[:100]
    assert found.share_alone == len(alone) / 500
    assert found.smallest == 1
    assert found.n_small == sum(count < 10 for count in held.values())
    sizes = np.bincount(paper.training_.groups)
    groups = value(audited.groups)
    assert (groups.smallest, groups.largest, groups.n_people) == (sizes.min(), sizes.max(), 500)


def test_copies_of_a_record_are_told_from_different_people() -> None:
    twice = np.repeat(numbers(60, 3), 5, axis=0)
    found = value(SurrogateExplainer(ring, 20).fit(twice).audit(show_small_counts=True).groups)
    assert found.smallest >= 20
    assert found.fewest_distinct <= 5


def test_diversity_is_that_of_the_worst_group(paper: SurrogateExplainer, audited: SurrogateFindings) -> None:
    groups, everybody = paper.training_.groups, np.mean(Y == "far")
    shares = [np.mean(Y[groups == g] == "far") for g in range(paper.release_.n_groups)]
    (found,) = [row for row in value(audited.diversity) if row.attribute == TRUE]
    assert found.alpha == pytest.approx(max(max(p, 1 - p) for p in shares))
    assert found.t == pytest.approx(max(abs(p - everybody) for p in shares))
    entropies = [-sum(q * np.log(q) for q in (p, 1 - p) if q) for p in shares]
    assert found.entropy_l == pytest.approx(np.exp(min(entropies)))
    assert found.n_one_class == sum(p in (0, 1) for p in shares)


def test_all_trees_together_tell_what_each_tells_of_its_group() -> None:
    domain = Domain({"a": Integer(0, 15), "b": Integer(0, 15)})
    rng = np.random.default_rng(0)
    data = rng.integers(0, 16, (300, 2)).astype(float)
    labels = (rng.random(300) < 0.5).astype(int)
    explainer = SurrogateExplainer(lambda x: np.zeros(len(x), int), 40, domain=domain, form="paper", classes=(0, 1))
    found = value(explainer.fit(data, labels).audit().together)
    known = [reconstruct(tree, domain) for tree in explainer.release_.trees]
    assert sum(tree.n_records for tree in known) == 300
    left, before = sum(tree.entropy() for tree in known), sum(tree.prior_entropy() for tree in known)
    assert found.dist_g == pytest.approx(left / before, abs=1e-4)
    assert found.bits_mean == pytest.approx((before - left) / 300, abs=1e-3)


def test_gap_attack_is_the_difference_of_accuracies(paper: SurrogateExplainer) -> None:
    reader = PublishedAnswers(paper.release_)
    found = gaps_of(evidence_of_fit(paper, holdout=Z, holdout_y=YZ))
    for gap, inside, outside in zip(found, (Y, ring(X)), (YZ, ring(Z)), strict=True):
        expected = np.mean(reader.predict(X) == inside) - np.mean(reader.predict(Z) == outside)
        assert gap.advantage == pytest.approx(expected, abs=1e-4)
        assert gap.low is not None
        assert gap.high is not None
        assert gap.low <= expected <= gap.high


def test_thresholds_of_the_paper_name_members_and_the_safe_form_names_nobody(
    paper: SurrogateExplainer, safe: SurrogateExplainer
) -> None:
    told = value(midpoints_of(evidence_of_fit(paper, holdout=Z), random_state=0))
    assert len(told.accused) > 25
    assert all(row < 500 for row in told.accused)
    told = value(midpoints_of(evidence_of_fit(safe, holdout=Z), random_state=0))
    assert told.accused == ()


def test_exact_thresholds_in_the_safe_form_are_caught(safe: SurrogateExplainer) -> None:
    # The plant: one group's tree is grown on the values instead of the grid.
    groups, release = safe.training_.groups, safe.release_
    group = max(range(release.n_groups), key=lambda g: len(set(ring(X[groups == g]))))
    rows = groups == group
    grown = tree_from_sklearn(
        DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0).fit(X[rows], ring(X[rows])),
        release.domain,
    )
    trees = list(release.trees)
    trees[group] = replace(
        grown,
        nodes=tuple(
            replace(n, evidence=replace(n.evidence, counts=None, label=n.evidence.prediction)) for n in grown.nodes
        ),
        classes=release.classes,
    )
    planted = replace(evidence_of_fit(safe, holdout=Z), release=replace(release, trees=tuple(trees)))
    told = value(midpoints_of(planted, random_state=0))
    assert told.accused
    assert all(rows[row] for row in told.accused)


def test_a_group_that_is_too_small_breaks_the_release_s_own_word(safe: SurrogateExplainer) -> None:
    release = replace(safe.release_, k=51)
    from glassine.surrogates.audit import audit_evidence

    found = audit_evidence(replace(evidence_of_fit(safe), release=release))
    assert status(found)["declared_k"] == "fail"
    assert found.verdict == "outside policy"
    assert status(safe.audit())["declared_k"] == "pass"


def test_rules_are_judged(paper: SurrogateExplainer, audited: SurrogateFindings) -> None:
    assert {rule for rule, word in status(audited).items() if word == "fail"} == {
        "largest_bits_per_record", "midpoints", "purest_leaf", "smallest_leaf", "thresholds_off_grid",
    }  # fmt: skip
    assert audited.exit_status == 1
    assert len(audited.advice) == 5
    unknown = paper.audit(policy=Policy(largest_advantage=0.01))
    assert status(unknown)["largest_advantage"] == "unknown"


@pytest.mark.slow
def test_membership_is_judged_by_every_attack_on_the_whole_release(paper: SurrogateExplainer) -> None:
    found = paper.audit(holdout=Z, holdout_y=YZ, policy=Policy(largest_advantage=0.01), random_state=0)
    attacks = {attack.attack: attack for attack in value(found.membership).attacks}
    assert attacks["gap attack"].advantage == pytest.approx(found.gaps[0].advantage, abs=1e-3)
    assert attacks["best-loss threshold"].status == "measured"
    assert attacks["midpoint attack"].detected
    assert value(found.membership).accused_wrongly == 0
    assert status(found)["largest_advantage"] == "fail"


def test_a_safe_release_with_a_public_domain_is_within_policy() -> None:
    frame = pd.DataFrame(people(600))
    explainer = SurrogateExplainer(lender, 60, domain=PEOPLE, classes=("no", "maybe", "yes"), distance="gower").fit(
        frame
    )
    found = explainer.audit(sensitive="job", holdout=pd.DataFrame(people(300, seed=9)), random_state=0)
    assert found.verdict == "within policy", found.checks
    assert [row.attribute for row in value(found.diversity)] == [DECISIONS, "job"]
    assert [row.attribute for row in value(found.guesses)] == [DECISIONS, "job"]
    assert value(found.leaves).n_small == 0
    assert isinstance(found.membership, Measured)


def test_what_everybody_of_a_group_shares_is_told() -> None:
    frame = pd.DataFrame(people(400)).assign(job="a")
    explainer = SurrogateExplainer(lender, 40, domain=PEOPLE, distance="gower").fit(frame)
    found = explainer.audit(sensitive="job", policy=Policy(most_certain=0), show_small_counts=True)
    release, groups = explainer.release_, explainer.training_.groups
    n = release.n_groups
    expected = sum(
        set(frame[name][groups == group]) == {release.representative(group)[name]}
        for name in PEOPLE
        for group in range(n)
    )
    assert found.representatives.n_uniform == expected >= n
    (row,) = [row for row in value(found.diversity) if row.attribute == "job"]
    assert (row.n_one_class, row.share_one_class, row.distinct_l) == (n, 1.0, 1)
    assert status(found)["most_certain"] == "fail"


def test_guesses_of_a_sensitive_attribute_do_not_use_it() -> None:
    # The attribute is noise, so that nothing tells it but itself.
    data = np.column_stack([numbers(800, 2), np.random.default_rng(3).permutation(800) * 1e4])
    found = SurrogateExplainer(ring, 40, scaling="standard").fit(data).audit(sensitive="x2", show_small_counts=True)
    (row,) = [row for row in value(found.guesses) if row.attribute == "x2"]
    assert row.group_known > 0.45
    assert row.closest < 0.4


def test_digits_of_representatives(paper: SurrogateExplainer, safe: SurrogateExplainer) -> None:
    exact, rounded = paper.audit().representatives, safe.audit().representatives
    assert exact.n_exact == exact.n_numbers == 4 * paper.release_.n_groups
    assert rounded.n_exact == 0
    assert rounded.digits <= 3
    assert rounded.n_copies == 0


@pytest.mark.parametrize("form", ["paper", "restricted"])
def test_the_file_and_the_records_tell_what_the_explainer_knows(form: str, tmp_path: Any) -> None:
    frame = pd.DataFrame(people(400))
    explainer = SurrogateExplainer(lender, 40, domain=PEOPLE, distance="gower", form=form, labels="true").fit(
        frame, lender(frame)
    )
    explainer.release_.to_json(tmp_path / "release.json")
    read = SurrogateRelease.from_json(tmp_path / "release.json")
    whole = explainer.audit(show_small_counts=True)
    for data in (frame, pl.from_pandas(frame)):
        found = audit_release(read, data, y=lender(frame), show_small_counts=True)
        assert found.groups == whole.groups
        assert found.leaves == whole.leaves
        assert found.together == whole.together
        assert found.representatives == whole.representatives
        assert status(found) == status(whole)
    seen = audit_release(read, show_small_counts=True)
    if form == "paper":
        published, counted = value(seen.leaves), value(whole.leaves)
        assert published.origin == "published"
        assert (published.n_alone, published.smallest) == (counted.n_alone, counted.smallest)
        assert seen.together == whole.together
    else:
        assert isinstance(seen.leaves, NotApplicable)
        assert seen.verdict == "inconclusive"
        assert set(status(seen).values()) == {"pass", "unknown"}


def test_other_records_are_not_taken_for_those_behind_it(safe: SurrogateExplainer) -> None:
    found = audit_release(safe.release_, Z, y=YZ)
    assert isinstance(found.groups, NotApplicable)
    assert "do not give this release's representatives" in found.groups.reason
    assert status(found)["smallest_leaf"] == "unknown"
    shuffled = audit_release(safe.release_, X[::-1].copy() + 1e-3)
    assert isinstance(shuffled.groups, NotApplicable)


def test_a_release_of_queries_has_nobody_behind_it() -> None:
    explainer = SurrogateExplainer.from_queries(
        lender, PEOPLE, 50, n_queries=300, takes="pandas", distance="gower", random_state=0
    )
    found = explainer.audit(policy=Policy(largest_advantage=0.1))
    assert isinstance(found.leaves, NotApplicable)
    assert status(found)["smallest_leaf"] == "pass"
    assert status(found)["largest_advantage"] == "unknown"
    assert "was not measured" in found.notes[0]
    with pytest.raises(InvalidParameterError, match="a third party has none"):
        compare_forms(explainer, pd.DataFrame(people(100)))


def test_a_guarantee_answers_only_where_it_is_accepted_and_covers_the_release() -> None:
    frame = pd.DataFrame(people(300))
    settings: dict[str, Any] = {
        "domain": PEOPLE,
        "classes": ("no", "maybe", "yes"),
        "distance": "gower",
        "epsilon": 1.0,
    }
    cells = SurrogateExplainer(lender, partition="public", n_cells=4, fixed_black_box=True, **settings).fit(frame)
    trusting = Policy(accept_guarantee=True)
    assert cells.audit(policy=trusting).verdict == "within policy"
    assert status(cells.audit())["max_epsilon"] == "unknown"
    groups = SurrogateExplainer(lender, 40, **settings).fit(frame)
    found = groups.audit(policy=trusting)
    assert found.guarantee is None
    assert "No differential privacy is claimed" in found.release.claim
    assert all(check.basis == "measurement" for check in found.checks)


def test_small_counts_are_hidden() -> None:
    tiny = SurrogateExplainer(ring, 3, form="paper").fit(X[:24], Y[:24])
    found = tiny.audit()
    groups, leaves = value(found.groups), value(found.leaves)
    assert groups.smallest == groups.fewest_distinct == leaves.smallest == Below(10)
    assert leaves.n_alone == Below(10)
    assert leaves.rows_alone == ()
    assert {check.rule: check.measured for check in found.checks}["smallest_group"] == Below(10)
    assert json.loads(json.dumps(found.to_dict()))["schema"] == "glassine.surrogate-findings/2"
    assert value(tiny.audit(show_small_counts=True).groups).smallest == 3


@pytest.mark.slow
def test_forms_are_compared_on_the_same_groups(safe: SurrogateExplainer, paper: SurrogateExplainer) -> None:
    found = compare_forms(safe, X, Y, holdout=Z, holdout_y=YZ, random_state=0)
    left, right = found.comparison
    assert (left.form, left.labels, right.form, right.labels) == ("paper", TRUE, "restricted", DECISIONS)
    assert left.fidelity == paper.fidelity(Z, guided=False)
    assert right.fidelity_guided == safe.fidelity(Z)
    assert left.gap_true == gaps_of(evidence_of_fit(paper, holdout=Z, holdout_y=YZ))[0].advantage
    assert isinstance(left.accused, int)
    assert left.accused > 25
    assert (left.accused_wrongly, right.accused, right.share_accused) == (0, 0, 0.0)
    assert left.off_grid == left.n_thresholds > right.n_thresholds > right.off_grid == 0
    assert found.compared_on == "the holdout"
    assert found.release.form == "restricted"
    with pytest.raises(InvalidDataError, match="not the records on which"):
        compare_forms(safe, Z)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"sensitive": "height"}, InvalidParameterError, "attribute of the release"),
        ({"policy": "strict"}, InvalidParameterError, "Policy or None"),
        ({"y": Y[:3]}, InvalidDataError, "one label a record"),
        ({"holdout": Z[:, :2]}, InvalidDataError, "one column per attribute"),
        ({"holdout": np.full((3, 4), np.nan)}, InvalidDataError, "missing"),
        ({"holdout_y": YZ}, InvalidDataError, "Pass holdout="),
        ({"random_state": -1}, InvalidParameterError, "random_state"),
    ],
)
def test_bad_arguments_are_refused(
    safe: SurrogateExplainer, arguments: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        safe.audit(**arguments)


def test_an_explainer_that_is_not_fitted_is_refused() -> None:
    with pytest.raises(NotFittedError):
        SurrogateExplainer(ring).audit()


def test_labels_that_the_release_does_not_know_are_a_reason(safe: SurrogateExplainer) -> None:
    odd = np.where(np.arange(400) < 300, "elsewhere", "far")
    true, decisions = gaps_of(evidence_of_fit(safe, y=Y, holdout=Z, holdout_y=odd))
    assert true.advantage is None
    assert "does not know the class" in true.reason
    assert decisions.advantage is not None


def test_one_class_alone_has_nothing_to_tell() -> None:
    explainer = SurrogateExplainer(lambda x: np.zeros(len(x), dtype=int), 50).fit(X)
    found = compare_forms(explainer, X, random_state=0)
    assert found.verdict == "within policy"
    assert found.compared_on == "the training records"
    assert value(found.together).bits_largest == 0
    assert found.comparison[0].accused == 0
