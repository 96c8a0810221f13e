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

from glassine.attacks import Measured, NotApplicable, reconstruct
from glassine.attacks.outcome import Below
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.findings import Findings
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.release import ReleaseSubject
from glassine.auditing.release_attacks import PublishedAnswers, gaps_of, midpoints_of
from glassine.auditing.release_inputs import DECISIONS, TRUE, inputs_of_fit
from glassine.auditing.subject import examine
from glassine.data import Sample
from glassine.domain import Domain, Integer
from glassine.errors import InvalidDataError, InvalidParameterError, InvalidPolicyError
from glassine.formats.sklearn.tree import tree_from_sklearn
from glassine.surrogates import SurrogateExplainer, SurrogateRelease
from tests.policies import audit_by_bits as audit
from tests.policies import bits_policy
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
def audited(paper: SurrogateExplainer) -> Findings:
    return audit(paper, settings=AuditSettings(show_small_counts=True))


def value(outcome: Any) -> Any:
    assert isinstance(outcome, Measured), outcome
    return outcome.value


def status(found: Findings) -> dict[str, str]:
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


def test_people_behind_groups_and_leaves_are_counted(paper: SurrogateExplainer, audited: Findings) -> None:
    leaves = plain_leaves(paper)
    held = Counter(leaves)
    alone = [row for row, leaf in enumerate(leaves) if held[leaf] == 1]
    found = value(audited.measured["leaves"])
    assert found.n_alone == len(alone) > 0
    assert found.rows_alone == tuple(alone)[:100]
    assert found.share_alone == len(alone) / 500
    assert found.smallest == 1
    assert found.n_small == sum(count < 10 for count in held.values())
    sizes = np.bincount(paper.training_.groups)
    groups = value(audited.measured["groups"])
    assert (groups.smallest, groups.largest, groups.number) == (sizes.min(), sizes.max(), 500)


def test_copies_of_a_record_are_told_from_different_people() -> None:
    twice = np.repeat(numbers(60, 3), 5, axis=0)
    found = value(
        audit(
            SurrogateExplainer(ring, 20, goal=None).fit(twice), settings=AuditSettings(show_small_counts=True)
        ).measured["groups"]
    )
    assert found.smallest >= 20
    assert found.fewest_distinct <= 5


def test_diversity_is_that_of_the_worst_group(paper: SurrogateExplainer, audited: Findings) -> None:
    groups, everybody = paper.training_.groups, np.mean(Y == "far")
    shares = [np.mean(Y[groups == g] == "far") for g in range(paper.release_.n_groups)]
    (found,) = [row for row in value(audited.measured["diversity"]) if row.attribute == TRUE]
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
    found = value(audit(explainer.fit(data, labels)).measured["together"])
    known = [reconstruct(tree, domain) for tree in explainer.release_.trees]
    assert sum(tree.n_records for tree in known) == 300
    left, before = sum(tree.entropy() for tree in known), sum(tree.prior_entropy() for tree in known)
    assert found.dist_g == pytest.approx(left / before, abs=1e-4)
    assert found.bits_mean == pytest.approx((before - left) / 300, abs=1e-3)


def test_gap_attack_is_the_difference_of_accuracies(paper: SurrogateExplainer) -> None:
    reader = PublishedAnswers(paper.release_)
    found = gaps_of(inputs_of_fit(paper, holdout=Sample(Z, YZ)))
    for gap, inside, outside in zip(found, (Y, ring(X)), (YZ, ring(Z)), strict=True):
        expected = np.mean(reader.predict(X) == inside) - np.mean(reader.predict(Z) == outside)
        assert gap.advantage == pytest.approx(expected, abs=1e-4)
        assert gap.low is not None
        assert gap.high is not None
        assert gap.low <= expected <= gap.high


@pytest.mark.slow
def test_thresholds_of_the_paper_name_members_and_the_safe_form_names_nobody(
    paper: SurrogateExplainer, safe: SurrogateExplainer
) -> None:
    told = value(midpoints_of(inputs_of_fit(paper, holdout=Sample(Z)), random_state=0))
    assert len(told.accused) > 25
    assert all(row < 500 for row in told.accused)
    told = value(midpoints_of(inputs_of_fit(safe, holdout=Sample(Z)), random_state=0))
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
    planted = replace(inputs_of_fit(safe, holdout=Sample(Z)), release=replace(release, trees=tuple(trees)))
    told = value(midpoints_of(planted, random_state=0))
    assert told.accused
    assert all(rows[row] for row in told.accused)


def test_a_group_that_is_too_small_breaks_the_release_s_own_word(safe: SurrogateExplainer) -> None:
    release = replace(safe.release_, k=51)
    known = replace(inputs_of_fit(safe), release=release)
    found = examine(ReleaseSubject.of_records(known, AuditInputs(policy=bits_policy())))
    assert status(found)["declared_k"] == "fail"
    assert found.verdict == "outside policy"
    assert status(audit(safe))["declared_k"] == "pass"


def test_rules_are_judged(paper: SurrogateExplainer, audited: Findings) -> None:
    assert {rule for rule, word in status(audited).items() if word == "fail"} == {
        "largest_bits_per_record", "midpoints", "purest_leaf", "smallest_released_leaf", "thresholds_off_grid",
    }  # fmt: skip
    assert audited.exit_status == 1
    assert len(audited.advice) == 5
    unknown = audit(paper, policy=bits_policy(largest_attack_advantage=0.01))
    assert status(unknown)["largest_attack_advantage"] == "unknown"


@pytest.mark.slow
def test_membership_is_judged_by_every_attack_on_the_whole_release(paper: SurrogateExplainer) -> None:
    found = audit(
        paper,
        holdout=Sample(Z, YZ),
        policy=bits_policy(largest_attack_advantage=0.01),
        settings=AuditSettings(random_state=0),
    )
    attacks = {attack.attack: attack for attack in value(found.measured["membership"]).attacks}
    assert attacks["gap attack"].advantage == pytest.approx(found.value("gaps")[0].advantage, abs=1e-3)
    assert attacks["best-loss threshold"].status == "measured"
    assert attacks["midpoint attack"].detected
    assert value(found.measured["membership"]).accused_wrongly == 0
    assert status(found)["largest_attack_advantage"] == "fail"


@pytest.mark.slow
def test_a_safe_release_with_a_public_domain_is_within_policy() -> None:
    frame = pd.DataFrame(people(600))
    explainer = SurrogateExplainer(lender, 60, domain=PEOPLE, classes=("no", "maybe", "yes"), distance="gower").fit(
        frame
    )
    found = audit(
        explainer, holdout=pd.DataFrame(people(300, seed=9)), settings=AuditSettings(sensitive="job", random_state=0)
    )
    assert found.verdict == "within policy", found.checks
    assert [row.attribute for row in value(found.measured["diversity"])] == [DECISIONS, "job"]
    assert [row.attribute for row in value(found.measured["guesses"])] == [DECISIONS, "job"]
    assert value(found.measured["leaves"]).n_small == 0
    assert isinstance(found.measured["membership"], Measured)


def test_what_everybody_of_a_group_shares_is_told() -> None:
    frame = pd.DataFrame(people(400)).assign(job="a")
    explainer = SurrogateExplainer(lender, 40, domain=PEOPLE, distance="gower").fit(frame)
    found = audit(
        explainer, policy=bits_policy(most_certain=0), settings=AuditSettings(sensitive="job", show_small_counts=True)
    )
    release, groups = explainer.release_, explainer.training_.groups
    n = release.n_groups
    expected = sum(
        set(frame[name][groups == group]) == {release.representative(group)[name]}
        for name in PEOPLE
        for group in range(n)
    )
    assert found.value("representatives").n_uniform == expected >= n
    (row,) = [row for row in value(found.measured["diversity"]) if row.attribute == "job"]
    assert (row.n_one_class, row.share_one_class, row.distinct_l) == (n, 1.0, 1)
    assert status(found)["most_certain"] == "fail"


def test_guesses_of_a_sensitive_attribute_do_not_use_it() -> None:
    # The attribute is noise, so that nothing tells it but itself.
    data = np.column_stack([numbers(800, 2), np.random.default_rng(3).permutation(800) * 1e4])
    found = audit(
        SurrogateExplainer(ring, 40, scaling="standard").fit(data),
        settings=AuditSettings(sensitive="x2", show_small_counts=True),
    )
    (row,) = [row for row in value(found.measured["guesses"]) if row.attribute == "x2"]
    assert row.group_known > 0.45
    assert row.closest < 0.4


@pytest.mark.slow
def test_digits_of_representatives(paper: SurrogateExplainer, safe: SurrogateExplainer) -> None:
    exact, rounded = audit(paper).value("representatives"), audit(safe).value("representatives")
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
    whole = audit(explainer, settings=AuditSettings(show_small_counts=True))
    for data in (frame, pl.from_pandas(frame)):
        found = audit(read, data=data, target=lender(frame), settings=AuditSettings(show_small_counts=True))
        assert found.measured["groups"] == whole.measured["groups"]
        assert found.measured["leaves"] == whole.measured["leaves"]
        assert found.measured["together"] == whole.measured["together"]
        assert found.value("representatives") == whole.value("representatives")
        assert status(found) == status(whole)
    seen = audit(read, settings=AuditSettings(show_small_counts=True))
    if form == "paper":
        published, counted = value(seen.measured["leaves"]), value(whole.measured["leaves"])
        assert published.origin == "published"
        assert (published.n_alone, published.smallest) == (counted.n_alone, counted.smallest)
        assert seen.measured["together"] == whole.measured["together"]
    else:
        assert isinstance(seen.measured["leaves"], NotApplicable)
        assert seen.verdict == "inconclusive"
        assert set(status(seen).values()) == {"pass", "unknown"}


def test_other_records_are_not_taken_for_those_behind_it(safe: SurrogateExplainer) -> None:
    found = audit(safe.release_, data=Z, target=YZ)
    assert isinstance(found.measured["groups"], NotApplicable)
    assert "do not give this release's representatives" in found.measured["groups"].reason
    assert status(found)["smallest_released_leaf"] == "unknown"
    shuffled = audit(safe.release_, data=X[::-1].copy() + 1e-3)
    assert isinstance(shuffled.measured["groups"], NotApplicable)


def test_a_release_of_queries_has_nobody_behind_it() -> None:
    explainer = SurrogateExplainer.from_queries(
        lender, PEOPLE, 50, n_queries=300, takes="pandas", distance="gower", random_state=0
    )
    found = audit(explainer, policy=bits_policy(largest_attack_advantage=0.1))
    assert isinstance(found.measured["leaves"], NotApplicable)
    assert status(found)["smallest_released_leaf"] == "not applicable"
    assert status(found)["largest_attack_advantage"] == "unknown"
    assert "was not measured" in found.notes[0]


def test_a_guarantee_answers_only_where_it_is_accepted_and_covers_the_release() -> None:
    frame = pd.DataFrame(people(300))
    settings: dict[str, Any] = {
        "domain": PEOPLE,
        "classes": ("no", "maybe", "yes"),
        "distance": "gower",
        "epsilon": 1.0,
    }
    cells = SurrogateExplainer(lender, partition="public", n_cells=4, fixed_black_box=True, **settings).fit(frame)
    trusting = bits_policy(accept_guarantee=True)
    assert audit(cells, policy=trusting).verdict == "within policy"
    assert status(audit(cells))["max_epsilon"] == "unknown"
    groups = SurrogateExplainer(lender, 40, **settings).fit(frame)
    found = audit(groups, policy=trusting)
    assert found.guarantee is None
    assert "No differential privacy is claimed" in found.release.claim
    assert all(check.basis == "measurement" for check in found.checks)


def test_a_public_cell_without_records_changes_no_verdict() -> None:
    """Whether a cell is empty follows from the records, so that an error there would reveal it."""
    frame = pd.DataFrame(people(300)).iloc[[0] * 40].reset_index(drop=True)
    cells = SurrogateExplainer(
        lender, partition="public", n_cells=4, fixed_black_box=True, domain=PEOPLE, classes=("no", "maybe", "yes"),
        distance="gower", epsilon=1.0,
    ).fit(frame)  # fmt: skip
    assert "midpoints" in status(audit(cells))
    trusting = bits_policy(accept_guarantee=True)
    assert audit(cells, policy=trusting).public() == audit(cells.release(), policy=trusting).public()


def test_small_counts_are_hidden() -> None:
    tiny = SurrogateExplainer(ring, 3, form="paper").fit(X[:24], Y[:24])
    found = audit(tiny)
    groups, leaves = value(found.measured["groups"]), value(found.measured["leaves"])
    assert groups.smallest == groups.fewest_distinct == leaves.smallest == Below(10)
    assert leaves.n_alone == Below(10)
    assert leaves.rows_alone == ()
    assert {check.rule: check.measured for check in found.checks}["smallest_group"] == Below(10)
    assert json.loads(json.dumps(found.to_dict()))["schema"] == "glassine.findings/12"
    assert value(audit(tiny, settings=AuditSettings(show_small_counts=True)).measured["groups"]).smallest == 3


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"settings": AuditSettings(sensitive="height")}, InvalidParameterError, "attribute of the release"),
        ({"policy": "strict"}, InvalidPolicyError, "must be a Policy"),
        ({"target": Y[:3]}, InvalidDataError, "target must hold one label a record"),
        ({"holdout": Z[:, :2]}, InvalidDataError, "one column per attribute"),
        ({"holdout": Sample(None, YZ)}, InvalidDataError, "Pass holdout="),
        ({"settings": AuditSettings(random_state=-1)}, InvalidParameterError, "random_state"),
    ],
)
def test_bad_arguments_are_refused(
    safe: SurrogateExplainer, arguments: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        audit(safe, **arguments)


def test_an_explainer_that_is_not_fitted_is_refused() -> None:
    with pytest.raises(NotFittedError):
        audit(SurrogateExplainer(ring))


def test_labels_that_the_release_does_not_know_are_a_reason(safe: SurrogateExplainer) -> None:
    odd = np.where(np.arange(400) < 300, "elsewhere", "far")
    true, decisions = gaps_of(inputs_of_fit(safe, y=Y, holdout=Sample(Z, odd)))
    assert true.advantage is None
    assert "does not know the class" in true.reason
    assert decisions.advantage is not None


def test_one_class_alone_has_nothing_to_tell() -> None:
    explainer = SurrogateExplainer(lambda x: np.zeros(len(x), dtype=int), 50).fit(X)
    found = audit(explainer, X)
    assert found.verdict == "within policy"
    assert value(found.measured["together"]).bits_largest == 0
