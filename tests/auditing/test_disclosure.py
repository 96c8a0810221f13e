"""The audit's question on the sensitive attribute: what is measured, what is not and why, and what a policy says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import glassine.auditing.disclosure as room
from glassine import parse_rules
from glassine.attacks.disclosure import Adversary, infer_sensitive
from glassine.attacks.outcome import About, Failed, NotApplicable
from glassine.auditing.api import audit
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.findings import Check, DisclosureFinding, Findings
from glassine.auditing.policy import Policy
from glassine.auditing.schema import schema
from glassine.data import infer_domain
from glassine.domain import Category, Domain, Integer, OneOf
from glassine.errors import InvalidDataError, InvalidParameterError, InvalidPolicyError
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import Branch, DecisionTree, Evidence, Guarantee, Node
from glassine.report import render_html, render_text
from tests.models.additive_models import income_model

PEOPLE = {
    "education": ["phd", "phd", "msc", "phd", "msc", "msc"],
    "age": ["young", "young", "mid", "mid", "old", "old"],
}
SALARY = ["<=50K", "<=50K", "<=50K", ">50K", ">50K", ">50K"]
DOMAIN = Domain({"education": Category(("phd", "msc")), "age": Category(("young", "mid", "old"))})
FRAME = pl.DataFrame(PEOPLE | {"salary": SALARY})


def example() -> DecisionTree:
    model = MultiwayTreeClassifier(min_samples_split=3).fit(pl.DataFrame(PEOPLE), SALARY).model_
    assert isinstance(model, DecisionTree)
    return model


def crowd(n: int = 400, seed: int = 0, classes: Sequence[str] = ("a", "b")) -> tuple[pl.DataFrame, DecisionTree]:
    """Return people whose disease depends on what is known of them, and a tree that predicts it."""
    rng = np.random.default_rng(seed)
    town, job = rng.integers(0, 6, n), rng.integers(0, 5, n)
    disease = np.where(town == 0, 0, (town * job + rng.integers(0, 3, n)) % len(classes))
    frame = pl.DataFrame(
        {
            "town": [f"t{value}" for value in town],
            "job": [f"j{value}" for value in job],
            "disease": [classes[value] for value in disease],
        }
    )
    tree = MultiwayTreeClassifier(min_samples_split=40).fit(frame.drop("disease"), frame["disease"].to_list())
    return frame, tree.model_


def domain_of(frame: pl.DataFrame) -> Domain:
    return Domain({name: Category(tuple(sorted(frame[name].unique()))) for name in ("town", "job")})


def found_in(findings: Findings) -> DisclosureFinding:
    found = findings.value("disclosure")
    assert isinstance(found, DisclosureFinding), findings.measured["disclosure"]
    return found


def reason_of(findings: Findings) -> str:
    assert isinstance(findings.measured["disclosure"], NotApplicable | Failed), findings.measured["disclosure"]
    return findings.measured["disclosure"].reason


def judged(findings: Findings) -> Check:
    return next(check for check in findings.checks if check.rule == "most_certain")


def test_example_1_stands_in_the_findings() -> None:
    findings = audit(
        example(),
        domain=DOMAIN,
        data=FRAME,
        settings=AuditSettings(sensitive="salary", criterion="gini", show_small_counts=True),
    )
    found = found_in(findings)
    assert found.quasi_identifiers == ("education", "age")
    assert (found.number, found.n_quasi_identifiers, found.n_classes) == (6, 4, 2)
    assert [reader.certain for reader in found.readers] == [0, 4, 4]
    assert [reader.d_overall for reader in found.readers] == pytest.approx([1, 1 / 3, 1 / 3], abs=1e-6)
    assert found.exposed == (0, 1, 2, 3, 4, 5)
    assert (found.n_internal, found.n_active, found.unused) == (1, 0, "")
    assert found.learned_mean == pytest.approx(4 / 6)


def test_the_figures_are_those_of_the_attack() -> None:
    frame, tree = crowd()
    findings = audit(
        tree,
        domain=domain_of(frame),
        data=frame,
        settings=AuditSettings(sensitive="disease", criterion="gini", show_small_counts=True),
    )
    found = found_in(findings)
    reference = infer_sensitive(tree, frame.drop("disease"), adversary=Adversary())
    assert found.n_internal > 0
    assert found.readers[-1].d_overall == pytest.approx(reference.d_overall(frame["disease"].to_list()))
    assert found.exposed == tuple(sorted(row for row, _ in reference.most_exposed(10)))
    assert found.n_internal == reference.counts.internal


def test_small_counts_are_hidden_and_no_value_is_told_but_how_many_have_a_class() -> None:
    frame, tree = crowd(classes=("healthy", "ill"))
    findings = audit(
        tree, domain=domain_of(frame), data=frame, settings=AuditSettings(sensitive="disease", criterion="gini")
    )
    found = found_in(findings)
    assert found.readers[-1].certain == About(70)
    assert found.readers[-1].d_overall == round(found.readers[-1].d_overall or 0.0, 2)
    measured = findings.to_dict()["measured"]["disclosure"]
    # Classes, which the tree publishes, stand beside rounded numbers alone.
    assert all(isinstance(one.certain, About) or one.certain == 0 for one in found.certain)
    assert {one.outcome for one in found.certain} <= {"healthy", "ill"}
    assert "ill" not in json.dumps({**measured, "certain": []}).replace("will", "")
    assert "disclosure" not in findings.public().to_dict()["measured"]
    page = render_html(findings)
    section = page[page.index('<section id="sensitive"') : page.index('<section id="groups"')]
    assert "about 70 records" in section
    assert "disease: healthy for about 70 records (base rate " in section
    assert "The leaves and the internal nodes" in section
    assert all(f"row {row + 2}" in section for row in found.exposed)
    assert "practically certain" in render_text(findings)


@pytest.mark.slow
def test_findings_fit_their_schema() -> None:
    frame, tree = crowd()
    for sensitive in (None, "disease"):
        findings = audit(
            tree,
            domain=domain_of(frame),
            data=frame,
            policy=Policy(most_certain=0),
            settings=AuditSettings(sensitive=sensitive),
        )
        plain = json.loads(json.dumps(findings.to_dict(), allow_nan=False))
        jsonschema.validate(plain, schema())
        assert plain["measured"]["disclosure"]["status"] == ("not applicable" if sensitive is None else "measured")


RULES = parse_rules("if [a] then [true] ([0 ; 20] examples)\nelse [false] ([30 ; 10] examples)")


def test_what_cannot_be_measured_says_why() -> None:
    tree = example()
    assert "no sensitive attribute was named" in reason_of(audit(tree, domain=DOMAIN, data=FRAME))
    assert "the tree tests age" in reason_of(
        audit(tree, domain=DOMAIN, data=FRAME, settings=AuditSettings(sensitive="age"))
    )
    known = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "salary": Category(("<=50K", ">50K"))})
    assert "give the training records" in reason_of(
        audit(tree, domain=known, settings=AuditSettings(sensitive="salary"))
    )
    other = FRAME.with_columns(pl.lit("x").alias("other"))
    assert "no class of it" in reason_of(
        audit(tree, domain=DOMAIN, data=other, settings=AuditSettings(sensitive="other"))
    )
    assert "predicts salary, not other" in reason_of(
        audit(tree, domain=DOMAIN, data=other, target="salary", settings=AuditSettings(sensitive="other"))
    )
    gap = FRAME.with_columns(pl.Series("salary", [None, *SALARY[1:]]))
    assert "no class of it" in reason_of(
        audit(tree, domain=DOMAIN, data=gap, settings=AuditSettings(sensitive="salary"))
    )
    assert "tests age, which the reader does not know" in reason_of(
        audit(tree, domain=DOMAIN, data=FRAME, settings=AuditSettings(sensitive="salary", quasi=["education"]))
    )
    binary = Domain.binary(["a", "b"])
    assert "a rule list" in reason_of(audit(RULES, domain=binary, settings=AuditSettings(sensitive="b")))
    numbers = DecisionTreeRegressor(max_depth=1).fit(np.arange(20).reshape(-1, 1), np.arange(20) * 1.5)
    frame = pl.DataFrame({"x0": np.arange(20), "y": np.arange(20) * 1.5})
    line = Domain({"x0": Integer(0, 19)})
    assert "predicts a number" in reason_of(
        audit(numbers, domain=line, data=frame, settings=AuditSettings(sensitive="y"))
    )
    rounded = replace(tree, approximate=True)
    assert "rounded" in reason_of(audit(rounded, domain=DOMAIN, data=FRAME, settings=AuditSettings(sensitive="salary")))


def test_records_of_other_people_are_refused_without_telling_counts() -> None:
    for data in (FRAME[:5], FRAME.with_columns(pl.Series("age", ["young", *PEOPLE["age"][:5]]))):
        reason = reason_of(audit(example(), domain=DOMAIN, data=data, settings=AuditSettings(sensitive="salary")))
        assert "does not match the model" in reason
        assert not any(letter.isdigit() for letter in reason)
    swapped = FRAME.with_columns(pl.Series("salary", SALARY[::-1]))
    assert "their classes are not those" in reason_of(
        audit(example(), domain=DOMAIN, data=swapped, settings=AuditSettings(sensitive="salary"))
    )


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"quasi": ["salary"]}, InvalidDataError, "names the sensitive attribute"),
        ({"quasi": ["wage"]}, InvalidDataError, "no column of the data"),
        ({"quasi": "age"}, InvalidParameterError, "quasi must be several names"),
        ({"criterion": "gain"}, InvalidParameterError, "criterion must be one of"),
        ({"sensitive": "wage"}, InvalidDataError, "neither in the domain"),
    ],
)
def test_bad_input_is_an_error(given: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        audit(example(), domain=DOMAIN, data=FRAME, settings=AuditSettings(**{"sensitive": "salary", **given}))


def test_a_policy_limits_the_people_of_whom_a_reader_is_certain() -> None:
    frame, tree = crowd()

    def check(most: int | None, **given: Any) -> Check:
        return judged(
            audit(
                tree,
                domain=domain_of(frame),
                data=frame,
                policy=Policy(most_certain=most),
                settings=AuditSettings(sensitive="disease", **given),
            )
        )

    certain = infer_sensitive(tree, frame.drop("disease")).compare()[-1].certain
    assert 0 < certain < 400
    broken, kept = check(certain - 1), check(certain, criterion="gini")
    assert (broken.status, kept.status) == ("fail", "pass")
    assert str(certain) not in str(broken.measured)
    doubtful = check(certain)
    assert doubtful.status == "unknown"
    assert "does not state how its splits were selected" in doubtful.meaning
    assert doubtful.measured is not None
    assert check(certain, criterion="none").status == "pass"
    findings = audit(tree, domain=domain_of(frame), policy=Policy(most_certain=0))
    assert judged(findings).status == "unknown"
    assert findings.exit_status in (1, 3)
    assert not [c for c in audit(tree, domain=domain_of(frame)).checks if c.rule == "most_certain"]


def test_a_fitted_estimator_tells_its_criterion() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"x": rng.integers(0, 9, 200), "z": rng.integers(0, 9, 200)})
    ill = (frame["x"].to_numpy() + frame["z"].to_numpy() > 8 + rng.integers(-2, 3, 200)).astype(int)
    domain = infer_domain(frame)
    whole = frame.with_columns(pl.Series("ill", ill))
    options: dict[str, Any] = {
        "data": whole,
        "policy": Policy(most_certain=200),
        "settings": AuditSettings(sensitive="ill"),
    }
    for given, knowledge in (({"criterion": "entropy"}, "(entropy)"), ({"criterion": "log_loss"}, "(entropy)")):
        model = DecisionTreeClassifier(max_depth=3, random_state=0, **given).fit(frame.to_pandas(), ill)
        findings = audit(model, domain=domain, **options)
        assert found_in(findings).knowledge.endswith(knowledge)
        assert judged(findings).status == "pass"
    drawn = DecisionTreeClassifier(max_depth=3, random_state=0, splitter="random").fit(frame.to_pandas(), ill)
    found = found_in(audit(drawn, domain=domain, **options))
    assert (found.knowledge, len(found.readers)) == ("leaf counts", 2)
    assert "drawn at random" in found.unused


def test_an_estimator_that_was_pruned_to_some_columns_is_read_by_its_leaves() -> None:
    """Truth that a guess of the candidates would exclude: the audit says why it uses none, and doubts nothing."""
    frame, y = numbers_and_towns()
    domain = Domain({"age": Integer(18, 79), "town": Category(tuple(f"t{i}" for i in range(6)))})
    whole = pl.DataFrame(frame).with_columns(pl.Series("ill", y))
    options: dict[str, Any] = {"data": whole, "policy": Policy(most_certain=300)}
    options["settings"] = AuditSettings(sensitive="ill")
    encoder = make_column_transformer((OneHotEncoder(drop="first"), ["town"]), remainder="passthrough")
    for given, used in (({}, True), ({"max_features": 2}, False)):
        tree = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0, **given)
        findings = audit(make_pipeline(encoder, tree).fit(frame, y), domain=domain, **options)
        found = found_in(findings)
        assert (len(found.readers) == 3) is used
        assert (found.n_internal > 0) is used
        assert bool(found.unused) is not used
        assert judged(findings).status == "pass"


def test_a_truth_that_breaks_what_an_estimator_states_is_not_used_silently() -> None:
    frame, y = numbers_and_towns()
    drawn = DecisionTreeClassifier(splitter="random", max_leaf_nodes=12, random_state=1).fit(frame[["age"]], y)
    drawn.splitter = "best"
    whole = pl.DataFrame(frame).with_columns(pl.Series("ill", y))
    findings = audit(
        drawn,
        domain=Domain({"age": Integer(18, 79)}),
        data=whole,
        policy=Policy(most_certain=300),
        settings=AuditSettings(sensitive="ill"),
    )
    found = found_in(findings)
    assert "the true classes contradict" in found.unused
    assert len(found.readers) == 2
    assert judged(findings).status == "unknown"


def numbers_and_towns() -> tuple[pd.DataFrame, list[int]]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 250), "town": rng.choice([f"t{i}" for i in range(6)], 250)})
    ill = (frame["age"] > 47) ^ (frame["town"] == "t0") ^ (rng.random(250) < 0.15)
    return frame, ill.astype(int).tolist()


def worse_first() -> tuple[pl.DataFrame, DecisionTree]:
    """Return people whose class is that of their town, and a tree that asks for their job first: no criterion would."""
    towns = ["t0", "t1"]
    frame = pl.DataFrame({"town": towns * 20, "job": ["j0"] * 20 + ["j1"] * 20, "disease": ["a", "b"] * 20})
    nodes = [Node(branches=(Branch(OneOf("job", ("j0",)), 1), Branch(OneOf("job", ("j1",)), 2)))]
    for first in (3, 5):
        nodes.append(Node(branches=(Branch(OneOf("town", ("t0",)), first), Branch(OneOf("town", ("t1",)), first + 1))))
    nodes += [Node(evidence=Evidence(counts=counts)) for counts in ((10, 0), (0, 10)) * 2]
    return frame, DecisionTree(nodes=tuple(nodes), attributes=("town", "job"), classes=("a", "b"))


def test_a_wrong_criterion_leaves_the_reader_of_the_leaves() -> None:
    frame, tree = worse_first()
    domain = Domain({"town": Category(("t0", "t1")), "job": Category(("j0", "j1"))})
    options: dict[str, Any] = {"data": frame, "policy": Policy(most_certain=40)}
    asked = AuditSettings(sensitive="disease", criterion="gini", splits="multiway")
    findings = audit(tree, domain=domain, settings=asked, **options)
    found = found_in(findings)
    assert "the records contradict that every split was the best by gini (see node 0)" in found.unused
    assert "t0" not in found.unused
    assert [reader.certain for reader in found.readers] == [0, About(40)]
    assert judged(findings).status == "unknown"
    assert judged(audit(tree, domain=domain, settings=replace(asked, criterion="none"), **options)).status == "pass"


def test_what_takes_too_long_is_left_out_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, tree = crowd()
    monkeypatch.setattr(room, "MOST_STEPS", 10)
    given: dict[str, Any] = {"domain": domain_of(frame), "data": frame}
    given["settings"] = AuditSettings(sensitive="disease", criterion="gini")
    findings = audit(tree, **given, policy=Policy(most_certain=400))
    found = found_in(findings)
    assert "more than the 10 of an audit" in found.unused
    assert len(found.readers) == 2
    assert judged(findings).status == "unknown"
    assert "The internal nodes would take" in render_html(findings)
    assert audit(tree, **given, policy=Policy(most_certain=1)).exit_status == 1
    monkeypatch.setattr(room, "MOST_VALUES", 10)
    assert "more than the audit looks at" in reason_of(
        audit(tree, domain=domain_of(frame), data=frame, settings=AuditSettings(sensitive="disease"))
    )


def published(tree: DecisionTree, how: str) -> DecisionTree:
    """Return a tree whose leaves tell less."""
    nodes = []
    for node in tree.nodes:
        counts = node.evidence.counts or (0,)
        label, n = node.evidence.prediction, sum(counts)
        rate = None if how == "labels" or not n else 1 - max(counts) / n
        nodes.append(replace(node, evidence=Evidence(label=label, total=n, error_rate=rate)))
    return replace(tree, nodes=tuple(nodes))


def test_a_tree_that_tells_less_has_a_reader_who_knows_less(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, tree = crowd(classes=("a", "b", "c"))
    options: dict[str, Any] = {"data": frame, "settings": AuditSettings(sensitive="disease", criterion="gini")}
    left = []
    for model, told in (
        (tree, "leaf counts"),
        (published(tree, "rates"), "error rates"),
        (published(tree, "labels"), "labels only"),
    ):
        found = found_in(audit(model, domain=domain_of(frame), **options))
        assert found.knowledge.startswith(told)
        left.append(found.readers[-1].entropy)
    assert left == sorted(left)
    assert left[2] == pytest.approx(np.log2(3), abs=0.01)
    monkeypatch.setattr(room, "MOST_LOCAL_STEPS", 10)
    assert found_in(audit(tree, domain=domain_of(frame), **options)).unused == ""
    assert "more than the 10" in found_in(audit(published(tree, "rates"), domain=domain_of(frame), **options)).unused


def test_a_private_tree_is_answered_by_its_guarantee_or_not_measured() -> None:
    frame, tree = crowd()
    noisy = replace(tree, guarantee=Guarantee(epsilon=0.5, count_scale=4.0))
    policy = Policy(most_certain=0)
    findings = audit(
        noisy, domain=domain_of(frame), data=frame, policy=policy, settings=AuditSettings(sensitive="disease")
    )
    assert "noisy (scale 4 records)" in reason_of(findings)
    assert judged(findings).status == "unknown"
    accepted = replace(policy, accept_guarantee=True)
    check = judged(
        audit(noisy, domain=domain_of(frame), data=frame, policy=accepted, settings=AuditSettings(sensitive="disease"))
    )
    assert (check.status, check.basis) == ("pass", "guarantee")


def test_an_additive_model_keeps_no_such_limit() -> None:
    findings = audit(income_model(), policy=Policy(most_certain=10))
    assert judged(findings).status == "unknown"
    assert "an additive model" in reason_of(findings)


def test_the_rule_in_a_file(tmp_path: Any) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("most_certain = 5\n")
    assert Policy.from_toml(path).most_certain == 5
    assert "most_certain = false" in Policy().to_toml()
    for value in (-1, 0.5, True, "5"):
        with pytest.raises(InvalidPolicyError, match="It must be a whole number"):
            Policy(most_certain=value)  # type: ignore[arg-type]
