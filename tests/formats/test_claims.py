"""Guarantees in other formats: stated as in JSON, believed no more than there, with no room for anything else."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest

from glassine import audit, parse_rules, write_model
from glassine.auditing.certified import compare_certificate
from glassine.auditing.policy import Policy
from glassine.domain import Between
from glassine.errors import InvalidModelError
from glassine.formats import fingerprint, to_onnx, to_pmml, to_python, to_sql, to_text
from glassine.formats.canonical import LONGEST_NAME, MOST_OF_CAVEATS, long_texts
from glassine.formats.json import COMMENT, KEY, claim_of, guarantee_of
from glassine.formats.loading import load_file
from glassine.formats.sklearn.searches import CHOSEN_BY_SCORES
from glassine.learners.budget import CLASSES_FROM_DATA, RANGE_FROM_DATA
from glassine.learners.greedy import published
from glassine.models import AdditiveModel, Branch, DecisionTree, Evidence, Node, RuleList
from glassine.models.guarantee import DOMAIN_FROM_DATA, Guarantee
from glassine.privacy.accounting import Selection
from glassine.privacy.certificate import Certificate
from glassine.scrubbing.scrub import MERGED
from tests.models.additive_models import income_model

GUARANTEE = Guarantee(epsilon=0.5, count_scale=4.0)
HOSTILE = Guarantee(
    epsilon=0.1 + 0.2,
    delta=1e-7,
    neighboring="add-or-remove-one-person",
    records_per_person=3,
    setting="max_depth=2",
    caveats=("*/ DROP TABLE people; -- /*", 'line\nfeed "quoted" </Header> é \u2028'),
)
TREE = DecisionTree(
    (
        Node(branches=(Branch(Between("age", hi=40.5), 1), Branch(Between("age", lo=40.5), 2))),
        Node(evidence=Evidence(counts=(30, 0))),
        Node(evidence=Evidence(counts=(10, 50))),
    ),
    ("age",),
    ("ill", "well"),
    guarantee=GUARANTEE,
)
RULES = replace(
    parse_rules(
        "classes: [ill] [well]\nif [age <= 40.5] then [ill] ([30 ; 0] examples)\nelse [well] ([9 ; 50] examples)"
    ),
    guarantee=GUARANTEE,
)
MOST = (
    *(DOMAIN_FROM_DATA, max(CLASSES_FROM_DATA, RANGE_FROM_DATA, key=len), published.AS_PUBLISHED),
    *(published.ADDITIONS_ONLY, published.CONFIDENCE, published.DILATION, published.OVERRUN, published.SIZE),
    *(published.GLOBAL_OVERRUN, published.MAX_GAUSSIAN, published.DELTA_OVERRUN),
    "n" * LONGEST_NAME,
    *(CHOSEN_BY_SCORES, MERGED),
)
"""All that may be said against one guarantee: a search over all published lists, the later fit of a process on a data
set with a long name, which other scores chose, and whose rules were merged."""
READ: dict[str, tuple[DecisionTree | RuleList | AdditiveModel, str]] = {
    "a tree as ONNX": (TREE, "onnx"),
    "a list as ONNX": (RULES, "onnx"),
    "an additive model as ONNX": (income_model(), "onnx"),
    "a tree as PMML": (TREE, "pmml"),
    "an additive model as PMML": (income_model(), "pmml"),
    "a tree as text": (TREE, "text"),
    "a list as text": (RULES, "text"),
}


@pytest.mark.parametrize("guarantee", [GUARANTEE, HOSTILE], ids=["plain", "hostile"])
@pytest.mark.parametrize("case", READ)
def test_a_guarantee_is_read_back_and_the_file_holds_nothing_else(
    tmp_path: Path, case: str, guarantee: Guarantee
) -> None:
    model, to = READ[case]
    write_model(replace(model, guarantee=guarantee), tmp_path / "m", to=to, overwrite=True)
    back = load_file(tmp_path / "m")
    noise = None if isinstance(model, AdditiveModel) else guarantee.count_scale
    assert back.model.guarantee == replace(guarantee, count_scale=noise)
    assert back.form.canonical
    write_model(replace(model, guarantee=None), tmp_path / "ordinary", to=to, overwrite=True)
    assert load_file(tmp_path / "ordinary").model.guarantee is None


@pytest.mark.parametrize("case", [*READ, "a tree as JSON"])
def test_more_caveats_than_any_fit_has_are_long_texts(tmp_path: Path, case: str) -> None:
    model, to = READ.get(case, (TREE, "json"))
    for caveats in (tuple(f"person {i:04d} of ward {i % 7}, ill" for i in range(1000)), ("x" * 150,) * 11):
        write_model(
            replace(model, guarantee=Guarantee(epsilon=0.5, caveats=caveats)), tmp_path / "m", to=to, overwrite=True
        )
        (found,) = long_texts(load_file(tmp_path / "m").model)
        assert found.where == "guarantee.caveats"
        assert found.n_bytes == sum(map(len, caveats)), "each counts, repeated or not"
    write_model(replace(model, guarantee=Guarantee(epsilon=0.5, caveats=MOST)), tmp_path / "m", to=to, overwrite=True)
    assert long_texts(load_file(tmp_path / "m").model) == ()


def test_the_caveats_of_one_model_are_never_as_many() -> None:
    assert 1_200 < len("".join(MOST)) <= MOST_OF_CAVEATS
    assert max(map(len, MOST)) <= LONGEST_NAME


@pytest.mark.parametrize("case", READ)
def test_a_claim_in_an_export_is_believed_where_that_of_json_is(tmp_path: Path, case: str) -> None:
    model, to = READ[case]
    write_model(model, tmp_path / "m", to=to, overwrite=True)
    exported = load_file(tmp_path / "m")
    for policy in (Policy(), Policy(accept_guarantee=True)):
        ours, theirs = (audit(one, policy=policy).guarantee for one in (model, exported))
        assert ours is not None
        assert theirs is not None
        assert (ours.standing, ours.epsilon, ours.caveats) == (theirs.standing, theirs.epsilon, theirs.caveats)
    assert audit(exported).guarantee.standing == "not accepted"  # type: ignore[union-attr]


def test_a_certificate_is_not_of_an_export() -> None:
    event = Selection(name="the tree", inverse_temperature=0.5, sensitivity=1, monotone=True)
    certificate = Certificate(epsilon=0.5, events=(event,), model=fingerprint(TREE))
    exported = load_model_of(to_pmml(TREE))
    matches = {match.name: match.status for match in compare_certificate(certificate, exported, "0" * 64)}
    assert matches == {"claim": "pass", "model": "fail", "file": "unknown", "guarantee": "pass"}


def load_model_of(text: str) -> DecisionTree:
    """Return the tree of a PMML document."""
    from glassine.formats.pmml import tree_from_pmml

    return tree_from_pmml(text.encode())


def written(tmp_path: Path, data: bytes) -> Any:
    """Return what is read of a file."""
    (tmp_path / "m").write_bytes(data)
    return load_file(tmp_path / "m")


def with_claims(claims: list[str], to: str) -> bytes:
    """Return a file of a tree or a list that states these claims."""
    plain = replace(TREE, guarantee=None)
    if to == "onnx":
        model = onnx.load_model_from_string(to_onnx(plain))
        for claim in claims:
            model.metadata_props.add(key=KEY, value=claim)
        return bytes(model.SerializeToString())
    if to == "pmml":
        stated = to_pmml(TREE)
        start, end = stated.index("<Extension"), stated.index("<Application")
        extensions = "".join(f"<Extension name='{KEY}' value='{claim}'/>" for claim in claims)
        return (stated[:start] + extensions + stated[end:]).encode()
    text = to_text(plain) if to == "text" else to_text(replace(RULES, guarantee=None))
    return (f"{COMMENT}{claims[0]}\n" + text).encode()


@pytest.mark.parametrize("to", ["onnx", "pmml", "text", "list"])
def test_a_claim_in_another_spelling_is_not_canonical(tmp_path: Path, to: str) -> None:
    model = RULES if to == "list" else TREE
    write_model(model, tmp_path / "m", to="text" if to == "list" else to, overwrite=True)
    assert load_file(tmp_path / "m").form.canonical
    claim = claim_of(GUARANTEE)
    for other in (claim.replace(",", " ,", 1), claim.replace("-", "\\u002d", 1)):
        found = written(tmp_path, with_claims([other], to))
        assert found.model.guarantee == GUARANTEE
        assert not found.form.canonical


@pytest.mark.parametrize("to", ["onnx", "pmml", "text", "list"])
def test_a_damaged_claim_is_refused(tmp_path: Path, to: str) -> None:
    claim = claim_of(GUARANTEE)
    for other in (claim.replace("0.5", "-1"), claim.replace("epsilon", "epsilom"), "{}", "[1]"):
        with pytest.raises(InvalidModelError):
            written(tmp_path, with_claims([other], to))


def test_two_claims_are_refused(tmp_path: Path) -> None:
    document = to_pmml(TREE)
    header = document[document.index("<Header") : document.index("<DataDictionary")]
    with pytest.raises(InvalidModelError, match="two guarantees"):
        written(tmp_path, document.replace(header, 2 * header).encode())
    for to in ("onnx", "pmml"):
        with pytest.raises(InvalidModelError, match="two guarantees"):
            written(tmp_path, with_claims([claim_of(GUARANTEE)] * 2, to))


def test_a_claim_of_several_trees_is_of_none_of_them(tmp_path: Path) -> None:
    model = onnx.load_model_from_string((Path(__file__).parent / "files" / "forest.onnx").read_bytes())
    model.metadata_props.add(key=KEY, value=claim_of(GUARANTEE))
    (tmp_path / "m").write_bytes(model.SerializeToString())
    found = load_file(tmp_path / "m", tree=0)
    assert found.model.guarantee is None
    assert not found.form.canonical


@pytest.mark.parametrize("model", [TREE, income_model()], ids=["tree", "additive"])
@pytest.mark.parametrize(
    "text",
    [
        "coding: unicode_escape \nraise SystemExit('run')\n#",
        "coding=utf_7 +AAo-raise SystemExit(+ACI-run+ACI-)+AAo-+ACM-",
        "coding: unknown",
    ],
)
def test_a_claim_declares_no_encoding_of_python_in_which_it_would_be_code(
    model: DecisionTree | AdditiveModel, text: str
) -> None:
    source = to_python(replace(model, guarantee=Guarantee(epsilon=0.5, caveats=(text,), setting=text))).encode()
    # Of bytes, as of a file, Python reads the encoding.
    exec(compile(source, "export", "exec"), {"__name__": "export"})  # noqa: S102 - our own export
    assert guarantee_of(source.decode().splitlines()[0].removeprefix(COMMENT)).setting == text


@pytest.mark.parametrize("model", [TREE, RULES], ids=["tree", "list"])
def test_code_states_a_guarantee_in_a_comment_that_nothing_leaves(model: DecisionTree | RuleList) -> None:
    model = replace(model, guarantee=HOSTILE)
    one_line = " ".join(["SELECT", *to_sql(model).split("\n"), "FROM people"])
    for text in (to_sql(model, "people"), one_line):
        with sqlite3.connect(":memory:") as base:
            base.execute("CREATE TABLE people (age REAL)")
            base.execute("INSERT INTO people VALUES (30), (50)")
            assert [row[-1] for row in base.execute(text)] == ["ill", "well"]
    space: dict[str, Any] = {}
    source = to_python(model)
    exec(source, space)  # noqa: S102 - our own export
    assert [space["predict"]({"age": age}) for age in (30, 50)] == ["ill", "well"]
    for line in (to_sql(model).splitlines()[0].removeprefix("/* ").removesuffix(" */"), source.splitlines()[0][2:]):
        assert guarantee_of(line.removeprefix(f"{KEY} ")) == HOSTILE
    assert KEY not in to_sql(replace(model, guarantee=None)) + to_python(replace(model, guarantee=None))
