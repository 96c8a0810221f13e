"""Criteria: one object each, one way to judge every kind of subject, and nothing shown that is to be hidden."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from glassine import DecisionTree, Domain, Integer, Policy, audit, parse_rules
from glassine.attacks.outcome import About, Below, Failed, Measured, NotApplicable
from glassine.auditing import criteria
from glassine.auditing.criterion import Check, Criterion, PartFacts, Status
from glassine.auditing.facts import Bits, Case, Fact, Inapplicable, Kind, LargestShares, Sizes, Thresholds
from glassine.auditing.judging import advise, decide, flagging, judge
from glassine.auditing.remedy import Remedy
from glassine.auditing.schema import schema
from glassine.auditing.suppression import Suppression
from glassine.cli.naming import as_command
from glassine.domain import Between
from glassine.models import Branch, Node
from glassine.models import Evidence as Counts
from tests.policies import NORM, bits_policy
from tests.repo.package_copy import copied_package, examples, touched

HIDING = Suppression(10)
KINDS: tuple[Kind, ...] = get_args(Kind)
EVERY = Policy(
    smallest_leaf=10,
    largest_attack_advantage=0.1,
    largest_mean_advantage=0.1,
    most_certain=0,
    purest_leaf=0.9,
    largest_bits_per_record=10,
    thresholds_off_grid=0,
    midpoints=0,
    smallest_class_count=10,
    zero_classes=0,
    degrees_of_freedom=10,
    narrowest_answer=0.1,
    dominance=0.9,
)
RULES = "if [age <= 40] then [true] ([24 ; 6] examples)\nelse [false] ([5 ; 25] examples)\n"


def sizes(*numbers: int, **more: Any) -> Fact[Sizes]:
    return Measured(Sizes(parts={("leaf", "leaves"): numbers}, **more))


def the(checks: tuple[Check, ...], rule: str) -> Check:
    (check,) = [check for check in checks if check.rule == rule]
    return check


def judged(policy: Policy, kind: Kind = "tree", mismatch: str = "", **facts: Any) -> tuple[Check, ...]:
    return judge(policy, Case(kind=kind, mismatch=mismatch, facts=facts), HIDING)


# One file holds a criterion.


def changed_package(folder: Path) -> Path:
    """Copy the package with the criterion of the documentation in it: one file differs."""
    copy = copied_package(folder)
    added, field = examples("FEWEST_RECORDS")
    path = copy / "auditing" / "criteria.py"
    text = path.read_text()
    start = text.index("@dataclass(frozen=True, slots=True, kw_only=True)\nclass PolicyLimits:")
    path.write_text(f"{text[:start]}{added}\n\n{text[start:].rstrip()}\n{field}")
    assert touched(copy) == ["auditing/criteria.py"]
    return folder


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_criterion_is_added_in_one_file_and_stands_in_policies_findings_text_page_and_advice(tmp_path: Path) -> None:
    folder = changed_package(tmp_path)
    (folder / "rules.txt").write_text(RULES)
    Domain({"age": Integer(0, 99, thresholds=(40,))}).to_json(folder / "domain.json")
    (folder / "policy.toml").write_text("fewest_records = 200\n")
    told = run(folder, "-c", "import glassine; print(glassine.Policy().to_toml(), glassine.Policy.__doc__)")
    assert "fewest_records = 100\n" in told.stdout, told.stderr
    assert "fewest_records : int or None, default=100\n        Fewest training records in all." in told.stdout
    command = ("-m", "glassine", "audit", "rules.txt", "--domain", "domain.json", "--policy", "policy.toml")
    done = run(folder, *command, "--json", "-o", "report.html")
    assert done.returncode == 1, done.stderr
    plain = json.loads(done.stdout)
    (check,) = [check for check in plain["checks"] if check["rule"] == "fewest_records"]
    assert (check["limit"], check["measured"], check["status"]) == (200, 60, "fail")
    assert plain["policy"]["fewest_records"] == 200
    assert "Train on at least 200 records." in [remedy["text"] for remedy in plain["advice"]]
    page, text = (folder / "report.html").read_text(), run(folder, *command).stdout
    for shown in (page, text):
        assert "Training records" in shown
        assert "at least 200 records" in shown
        assert "Train on at least 200 records." in shown
    (folder / "policy.toml").write_text("fewest_records = -1\n")
    refused = run(folder, *command)
    assert refused.returncode == 2
    assert "fewest_records is -1. It must be a whole number of at least 0." in refused.stderr


def test_every_field_of_a_policy_but_two_is_a_criterion() -> None:
    fields = {field.name for field in dataclasses.fields(Policy)}
    keys = {criterion.key for criterion in Policy().criteria if not criterion.stated}
    assert fields - keys == {"accept_guarantee", "suppress_below"}
    names = [criterion.name for criterion in Policy().criteria]
    assert len(set(names)) == len(names)
    for criterion in Policy().criteria:
        assert criterion.label
        assert f"    {criterion.key} : " in str(Policy.__doc__) or criterion.stated


@pytest.mark.slow
def test_findings_with_remedies_keep_their_schema() -> None:
    import jsonschema

    findings = audit(parse_rules(RULES, domain := Domain({"age": Integer(0, 99)})), domain=domain)
    assert findings.advice
    jsonschema.validate(findings.to_dict(), schema())


# What a fact says of each criterion, whatever the subject is.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("criterion", EVERY.criteria, ids=lambda criterion: criterion.name)
def test_what_was_not_measured_is_unknown_and_what_does_not_exist_does_not_apply(
    kind: Kind, criterion: Criterion[Any, Any]
) -> None:
    facts = (
        "sizes",
        "groups",
        "released_leaves",
        "intersections",
        "cells",
        "implied",
        "classes",
        "shares",
        "bits",
        "thresholds",
        "named",
        "membership",
        "attacks",
        "capacity",
        "certain",
        "files",
        "texts",
        "narrowed",
        "fitted",
        "residual",
        "leverage",
        "contributions",
        "identifiers",
    )
    if criterion.of_claim:
        assert criterion.check(1, Case(kind=kind), HIDING) is None
        return
    for reason in (NotApplicable("it needs more."), Failed("it needs more.")):
        unmeasured: dict[str, Any] = dict.fromkeys(facts, reason)
        check = criterion.check(1, Case(kind=kind, facts=unmeasured), HIDING)
        assert check is not None
        assert (check.status, check.measured) == ("unknown", None)
        assert check.meaning.endswith("it needs more.")
    nothing: dict[str, Any] = dict.fromkeys(facts, Inapplicable("There is none."))
    check = criterion.check(1, Case(kind=kind, facts=nothing), HIDING)
    assert check is not None
    assert (check.status, check.measured, check.meaning) == ("not applicable", None, "There is none.")
    assert criterion.check(1, Case(kind=kind), HIDING) is None


def test_one_small_leaf_fails_the_model_though_other_sizes_are_not_known() -> None:
    domain = Domain({"age": Integer(0, 99)})
    nodes = (
        Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
        Node(evidence=Counts(counts=(2, 1))),
        Node(evidence=Counts(label=1)),
    )
    tree = DecisionTree(nodes, ("age",), ("no", "yes"))
    check = the(audit(tree, domain=domain, policy=NORM).checks, "smallest_leaf")
    assert (check.status, check.measured) == ("fail", Below(10))
    large = replace(tree, nodes=(*nodes[:1], Node(evidence=Counts(counts=(20, 10))), nodes[2]))
    assert the(audit(large, domain=domain, policy=NORM).checks, "smallest_leaf").status == "unknown"


@pytest.mark.parametrize(
    ("fact", "status", "measured"),
    [
        (sizes(3, 12), "fail", Below(10)),
        (sizes(3, 12, unsettled="Some sizes are not known."), "fail", Below(10)),
        (sizes(12, 15, unsettled="Some sizes are not known."), "unknown", None),
        (sizes(12, 15), "pass", 12),
        (sizes(10), "pass", 10),
        (sizes(), "unknown", None),
    ],
)
def test_sizes_are_judged_by_what_is_certain(fact: Fact[Sizes], status: Status, measured: Any) -> None:
    check = the(judged(NORM, sizes=fact), "smallest_leaf")
    assert (check.status, check.measured) == (status, measured)


@pytest.mark.parametrize(
    ("bounds", "unsettled", "status"),
    [
        (((0.95, 0.95), None), "", "fail"),
        (((0.95, 0.95),), "LargestShares are by weight.", "fail"),
        (((0.5, 0.5), (0.6, 0.95)), "", "unknown"),
        (((0.5, 0.5), None), "", "unknown"),
        (((0.5, 0.5),), "LargestShares are by weight.", "unknown"),
        (((0.5, 0.5), (0.9, 0.9)), "", "pass"),
    ],
)
def test_shares_are_judged_by_their_bounds(bounds: Any, unsettled: str, status: Status) -> None:
    check = the(judged(EVERY, shares=Measured(LargestShares(bounds=bounds, unsettled=unsettled))), "purest_leaf")
    assert check.status == status


def test_parts_whose_shares_are_not_known_count_among_all_parts() -> None:
    check = the(judged(EVERY, shares=Measured(LargestShares(bounds=((0.95, 0.95), None)))), "purest_leaf")
    assert check.meaning.startswith("In 1 of 2 leaves, more than 90% of records share one outcome.")


@pytest.mark.parametrize(
    ("lower", "upper", "more", "status", "measured"),
    [
        (11.0, 11.0, {}, "fail", 11.0),
        (11.0, None, {"unsettled": "More may be known."}, "fail", 11.0),
        (9.0, None, {"unsettled": "More may be known."}, "unknown", None),
        (9.0, 11.0, {}, "unknown", None),
        (9.0, 9.5, {"unsettled": "One model was left out."}, "unknown", None),
        (9.0, 9.5, {}, "pass", 9.5),
        (9.0, 9.0, {"inferred": ("age",)}, "unknown", 9.0),
        (11.0, 11.0, {"inferred": ("age",)}, "fail", 11.0),
        (10.0 + 1e-12, 10.0 + 1e-12, {"tolerance": 1e-9}, "pass", 10.001),
        (10.0 + 1e-12, 10.0 + 1e-12, {}, "fail", 10.0),
    ],
)
def test_bits_are_judged_by_proved_bounds(lower: float, upper: Any, more: Any, status: Status, measured: Any) -> None:
    check = the(judged(EVERY, bits=Measured(Bits(lower=lower, upper=upper, **more))), "largest_bits_per_record")
    assert (check.status, check.measured) == (status, measured)


@pytest.mark.parametrize(
    ("inferred", "named"),
    [(("a",), "a"), (("a", "b", "c"), "a, b, c"), (("a", "b", "c", "d"), "a, b, c and 1 more")],
)
def test_three_names_are_said_and_the_others_counted(inferred: tuple[str, ...], named: str) -> None:
    bits = Measured(Bits(lower=9.0, upper=9.0, inferred=inferred))
    check = the(judged(EVERY, bits=bits), "largest_bits_per_record")
    assert f"the domain of {named} is inferred" in check.meaning


@pytest.mark.parametrize(
    ("kind", "lower", "said"), [("additive model", 0.0, True), ("additive model", 1.0, False), ("tree", 0.0, False)]
)
def test_only_of_an_additive_model_of_which_nothing_is_certain_the_data_are_asked(
    kind: Kind, lower: float, said: bool
) -> None:
    check = the(judged(EVERY, kind=kind, bits=Measured(Bits(lower=lower, upper=11.0))), "largest_bits_per_record")
    assert check.status == "unknown"
    assert ("Only the data show" in check.meaning) == said


@pytest.mark.parametrize(
    ("more", "status", "measured"),
    [
        ({"n_private": 2}, "fail", 2),
        ({"n_private": 0}, "pass", 0),
        ({"n_private": 0, "complete": False}, "unknown", None),
        ({"n_private": 1, "complete": False}, "fail", 1),
        ({"n_private": 2, "n_inferred": 2, "inferred": ("age",)}, "unknown", 2),
        ({"n_private": 3, "n_inferred": 2, "inferred": ("age",)}, "fail", 3),
        ({"n_private": 2, "bounded": True}, "unknown", 2),
    ],
)
def test_thresholds_are_judged_by_what_is_known_not_to_be_public(more: Any, status: Status, measured: Any) -> None:
    check = the(judged(EVERY, thresholds=Measured(Thresholds(n=5, **more))), "thresholds_off_grid")
    assert (check.status, check.measured) == (status, measured)


def test_data_that_are_not_the_training_records_let_nothing_pass() -> None:
    clean = Measured(Thresholds(n=3, n_private=0, n_midpoints=0))
    assert the(judged(EVERY, thresholds=clean), "midpoints").status == "pass"
    assert the(judged(EVERY, thresholds=clean, mismatch="Other records."), "midpoints").status == "unknown"
    hit = Measured(Thresholds(n=3, n_private=0, n_midpoints=1))
    assert the(judged(EVERY, thresholds=hit, mismatch="Other records."), "midpoints").status == "fail"


def test_values_that_follow_by_arithmetic_fail_without_the_data() -> None:
    rebuilt = Measured(Thresholds(n=3, n_private=0, n_rebuilt=4))
    check = the(judged(EVERY, thresholds=rebuilt), "midpoints")
    assert (check.status, check.measured) == ("fail", 4)
    silent = judged(EVERY, thresholds=Measured(Thresholds(n=3, n_private=0)))
    assert "midpoints" not in {check.rule for check in silent}
    wanted = Measured(Thresholds(n=3, n_private=0, wants_data=True))
    assert the(judged(EVERY, thresholds=wanted), "midpoints").status == "unknown"


# What findings may hold.


@pytest.mark.parametrize(("share", "hidden", "flags"), [(0.9, False, ("pure",)), (0.9, True, ()), (0.7, False, ())])
def test_a_part_of_hidden_size_is_not_marked_as_pure(share: float, hidden: bool, flags: tuple[str, ...]) -> None:
    """Of few records, a share above the limit can only be all: the mark would tell what the size hides."""
    facts = PartFacts(size=40, hidden=hidden, share=share, bits=None)
    assert flagging(Policy(smallest_leaf=None, purest_leaf=0.7), HIDING)(facts) == flags


def test_no_check_holds_a_count_that_is_to_be_hidden() -> None:
    """Whatever the figure: small counts are hidden, counts of people rounded, shares too coarse to solve for one."""
    for n in range(1, 10):
        check = the(judged(NORM, sizes=sizes(n)), "smallest_leaf")
        assert check.measured == Below(10)
        assert not re.search(rf"\b{n}\b", check.meaning.replace("1 of 1 leaf", ""))
    certain = {n: the(judged(EVERY, certain=Measured((n, ""))), "most_certain") for n in (0, 3, 34, 36)}
    assert [check.measured for check in certain.values()] == [0, Below(10), About(30), About(40)]
    shares = Measured(LargestShares(bounds=((0.873, 0.873),)))
    assert the(judged(EVERY, shares=shares), "purest_leaf").measured == 0.85


@pytest.mark.parametrize("kind", KINDS)
def test_remedies_are_found_for_every_kind_and_name_no_option(kind: Kind) -> None:
    policy = EVERY
    for status in ("fail", "unknown"):
        checks = tuple(
            Check(rule=criterion.name, limit=1, measured=None, status=status, meaning="")
            for criterion in policy.criteria
        )
        advice = advise(policy, Case(kind=kind, has_domain=False), checks)
        assert len({remedy.text for remedy in advice}) == len(advice)
        for remedy in advice:
            assert "--" not in remedy.text
            assert "glassine " not in remedy.text
            assert "{" not in remedy.text
            worded = as_command(remedy)
            named = any(part in worded.text for part in ("glassine ", "`--", ": the step above also does this."))
            assert named == bool(remedy.action)
        # What helps a private summary follows from its guarantee, which is not given here.
        if status == "fail" and kind not in ("several models", "private summary"):
            assert advice


def test_no_sentence_of_the_criteria_names_an_option() -> None:
    assert "--" not in re.sub(r"#.*|-----*", "", inspect.getsource(criteria))


def test_advice_is_a_step_with_its_parameters() -> None:
    domain = Domain({"age": Integer(0, 99, thresholds=(40,))})
    findings = audit(parse_rules(RULES, domain), domain=domain, policy=bits_policy(purest_leaf=0.7))
    (remedy,) = findings.advice
    assert (remedy.action, dict(remedy.parameters)) == ("scrub", {"counts": "remove"})
    assert (
        remedy.text
        == "Publish labels without counts: `scrub(model, domain, counts='remove')`. Or merge the pure leaves."
    )
    assert as_command(remedy).text == (
        "Publish labels without counts: `glassine scrub --counts remove`. Or merge the pure leaves."
    )
    assert findings.to_dict()["advice"][0]["parameters"] == {"counts": "remove"}


# Several models have a verdict in Python, too.


def test_several_models_are_judged_like_one() -> None:
    domain = Domain({"age": Integer(0, 99)})
    texts = [f"if [age <= {cut}] then [true] ({n} examples)\nelse [false] ({100 - n} examples)" for cut, n in CUTS]
    models = [parse_rules(text, domain) for text in texts]
    findings = audit(models, domain=domain)
    check = the(findings.checks, "smallest_intersection")
    assert (check.status, check.measured) == ("fail", Below(10))
    assert "intersections of the models" in check.meaning
    assert decide(findings.checks) == "outside policy"
    lenient = Policy(smallest_group=None, largest_bits_per_record=50)
    assert audit(models, domain=domain, policy=lenient).verdict == "within policy"
    apart = audit([models[0], parse_rules(texts[0].replace("50", "5"), domain)], domain=domain)
    assert [(check.rule, check.status) for check in apart.checks] == [("smallest_intersection", "unknown")]
    assert apart.verdict == "inconclusive"


CUTS = ((40, 50), (41, 51))


def test_one_call_in_python_does_what_all_remedies_that_scrub_ask_for() -> None:
    """Each of two failing checks had a call of its own, and neither copy met both."""
    domain = Domain({"age": Integer(0, 99)})
    policy = Policy(smallest_leaf=40, smallest_class_count=10, thresholds_off_grid=0)
    scrubs = [one for one in audit(parse_rules(RULES, domain), domain=domain, policy=policy).advice if one.parameters]
    call = "`scrub(model, domain, counts='remove')`"
    assert [one.step for one in scrubs] == [call] * len(scrubs)
    assert [call in one.text for one in scrubs] == [True] + [False] * (len(scrubs) - 1)
    assert sum(": the step above also does this." in one.text for one in scrubs) == len(scrubs) - 1 > 0


def test_a_remedy_without_a_step_stays_as_it_is() -> None:
    remedy = Remedy(text="Do not publish it.")
    assert as_command(remedy) is remedy
    assert str(remedy) == "Do not publish it."
