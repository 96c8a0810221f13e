"""Everything in a file is accounted for: hidden records are found in every format, and the clean copy holds none."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import AuditSettings, Policy, audit, parse_rules
from glassine.domain import Between, Category, Domain, Real
from glassine.errors import GlassineError, InvalidModelError, UnreadableFileError, UnsupportedModelError
from glassine.formats import ModelFile, OtherContent, formats, load_file, load_model, write_clean, write_model
from glassine.formats.contents import beside_json, merged, shown_name, size_of
from glassine.formats.registry import Format
from glassine.models import AdditiveModel, Branch, DecisionTree, Evidence, Node, NumericBins, Term
from glassine.models.editing import zero
from glassine.models.guarantee import Guarantee
from glassine.report import render_html, render_text
from tests.formats import smuggling
from tests.formats.smuggling import FRAME, HIDDEN, MARK, SAMPLES, TARGET, Sample, fitted_tree

CASES = {f"{form}: {kind}": sample for form, kinds in SAMPLES.items() for kind, sample in kinds.items()}
PLANTS = [
    pytest.param(sample, place, id=f"{name}, {place}") for name, sample in CASES.items() for place in sample.plants
]


def saved(data: bytes, path: Path) -> Path:
    path.write_bytes(data)
    return path


def read(data: bytes, path: Path, sample: Sample) -> ModelFile:
    return load_file(saved(data, path), trust_pickle=True, tree=sample.tree)


def read_or_refusal(data: bytes, path: Path, sample: Sample) -> ModelFile | GlassineError:
    try:
        return read(data, path, sample)
    except GlassineError as error:
        return error


def the_check(file: ModelFile, rule: str) -> Any:
    (check,) = [check for check in audit(file, policy=Policy()).checks if check.rule == rule]
    return check


def test_every_format_that_is_read_has_samples_with_hidden_records() -> None:
    # Trees of pystreed cannot be pickled: they are objects of compiled code.
    assert {one.name for one in formats() if one.read is not None} - {"pystreed"} == set(SAMPLES)
    assert all(any(sample.plants for sample in kinds.values()) for kinds in SAMPLES.values())


@pytest.mark.parametrize("sample", CASES.values(), ids=CASES)
def test_a_good_file_holds_the_model_and_what_programs_of_its_format_write(sample: Sample, tmp_path: Path) -> None:
    contents = read(sample.make(), tmp_path / "model", sample).contents
    assert contents.n_bytes == (tmp_path / "model").stat().st_size
    for other in contents.others:
        assert any(place in other.where for place in (*sample.beside, "more places") if sample.beside), other
    for place in sample.beside:
        assert any(place in other.where for other in contents.others) or sample.tree is None, place


@pytest.mark.parametrize(("sample", "place"), PLANTS)
def test_hidden_records_are_refused_or_named_outside_policy_and_the_clean_copy_holds_none(
    sample: Sample, place: str, tmp_path: Path
) -> None:
    good = sample.make()
    planted = sample.plants[place](good)
    assert planted != good, "the records were not planted"
    before = read(good, tmp_path / "good", sample)
    after = read_or_refusal(planted, tmp_path / "planted", sample)
    if isinstance(after, GlassineError):
        assert MARK not in str(after)
        return
    more = after.contents.n_other - before.contents.n_other
    # Of a leaf's test eight bytes are hidden, of a node's padding seven: the least of the plants.
    assert more >= 14, (place, after.contents.others)
    check = the_check(after, "other_content")
    assert check.status == "fail"
    assert check.measured == after.contents.n_other
    assert MARK not in repr(after.contents)
    assert MARK not in check.meaning
    check_clean_copy(after, tmp_path)


def test_what_memory_held_is_not_taken_for_the_files(tmp_path: Path) -> None:
    """Arrays of joblib are read into memory that is not cleared, so that only the file can say what stands in it."""
    for n in range(17):
        tree = DecisionTreeClassifier(random_state=0).fit(
            FRAME.add_prefix("x" * n), np.random.default_rng(0).choice(["no", "yes"], len(FRAME)).astype(object)
        )
        file = load_file(saved(smuggling.dumped(tree), tmp_path / "tree.joblib"), trust_pickle=True)
        assert file.contents.others == (), n


def check_clean_copy(file: ModelFile, tmp_path: Path) -> None:
    """Check that the clean copy of a file holds the model and nothing else, and predicts the same."""
    # Texts of the model itself can be too long to be names: then no copy is clean.
    if any("text of more than" in other.kind and other.where != "the source" for other in file.contents.others):
        with pytest.raises(InvalidModelError, match="would hold more than a model needs"):
            write_clean(file, tmp_path / "clean")
        return
    write_clean(file, tmp_path / "clean")
    clean = load_file(tmp_path / "clean")
    assert clean.contents.others == ()
    assert MARK.encode() not in (tmp_path / "clean").read_bytes()
    assert the_check(clean, "other_content").status == "pass"
    if isinstance(file.model, AdditiveModel):
        assert clean.model == file.model
        return
    rng = np.random.default_rng(0)
    columns = {name: rng.choice([0, 1, 2, 7.5, 30, 46, 60], 200) for name in file.model.attributes}
    listed: dict[str, list[Any]] = {}
    for literal in file.model.literals:
        listed.setdefault(literal.attribute, []).extend(getattr(literal, "values", ()))
    for name, values in listed.items():
        if values:
            known = np.empty(len(values), dtype=object)
            known[:] = values
            columns[name] = rng.choice(known, 200)
    assert clean.model.predict(columns).tolist() == file.model.predict(columns).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("sample", CASES.values(), ids=CASES)
def test_bytes_put_anywhere_are_refused_accounted_for_or_change_the_model(sample: Sample, tmp_path: Path) -> None:
    good = sample.make()
    if good[:1] == b"\x80":
        pytest.skip("a pickle of unknown bytes is code")
    rng, before = random.Random(0), read(good, tmp_path / "good", sample)
    text = good[:1] not in (b"\x08", b"P")
    for _ in range(40):
        at = rng.randrange(len(good) + 1)
        more = bytes(rng.choice(b"abc 019.,") if text else rng.randrange(256) for _ in range(rng.randint(60, 90)))
        after = read_or_refusal(good[:at] + more + good[at:], tmp_path / "fuzzed", sample)
        if isinstance(after, GlassineError):
            continue
        changed = after.model != before.model
        assert changed or after.contents.n_other >= before.contents.n_other + 40, (at, more)


# The cases that were within policy, without a remark.

DOMAIN = Domain({"age": Real(0, 100, thresholds=(45.5,)), "dose": Real(0, 10, thresholds=(2.05,))})


def archive(obj: Any, path: Path) -> Path:
    return saved(skops.io.dumps(obj), path)


@pytest.mark.slow
def test_two_thousand_records_in_an_attribute_are_outside_policy(tmp_path: Path) -> None:
    tree = fitted_tree()
    tree.notes_ = np.random.default_rng(0).normal(size=(2_000, 2)).tolist()
    file = load_file(archive(tree, tmp_path / "tree.skops"), DOMAIN)
    assert file.contents.others == (
        OtherContent(where="the estimator (DecisionTreeClassifier), notes_", kind="attribute", n_bytes=32_000),
    )
    findings = audit(file, domain=DOMAIN)
    assert findings.verdict == "outside policy"
    assert "other_content" in [check.rule for check in findings.checks if check.status == "fail"]
    tree = fitted_tree()
    same = audit(load_file(archive(tree, tmp_path / "tree.skops"), DOMAIN), domain=DOMAIN)
    assert [(c.rule, c.status) for c in findings.checks if c.rule != "other_content"] == [
        (c.rule, c.status) for c in same.checks if c.rule != "other_content"
    ]
    assert [c.status for c in same.checks if c.rule == "other_content"] == ["pass"]
    (advice,) = [remedy for remedy in findings.advice if remedy.action == "export"]
    assert "audit that copy" in advice.text


def test_extremes_of_a_column_that_the_tree_never_tests_are_value_leakage(tmp_path: Path) -> None:
    frame = FRAME.assign(income=np.linspace(1_200, 98_765, len(FRAME)))
    scaled = make_pipeline(MinMaxScaler(), DecisionTreeClassifier(max_depth=1)).fit(frame, frame["age"] > 45)
    model = load_model(archive(scaled, tmp_path / "pipeline.skops"))
    assert not isinstance(model, AdditiveModel)
    assert {literal.attribute for literal in model.literals} == {"age"}
    domain = Domain({"age": Real(0, 100), "dose": Real(0, 4.9), "income": Real(0, 100_000)})
    file = load_file(tmp_path / "pipeline.skops", domain)
    assert file.contents.others == ()
    private = {entry.attribute: entry.n_private for entry in file.contents.fitted}
    # The extremes of the dose are the bounds that the domain declares.
    assert private == {"age": 2, "dose": 0, "income": 2}
    (check,) = [check for check in audit(file, domain=domain).checks if check.rule == "fitted_values"]
    assert (check.status, check.measured) == ("fail", 4)
    assert "98" not in check.meaning
    open_ = load_file(tmp_path / "pipeline.skops")
    assert the_check(open_, "fitted_values").status == "unknown"


@pytest.mark.parametrize(
    ("step", "statistic", "n"),
    [
        (StandardScaler(), {"averages": 2, "spreads": 2}, 4),
        (RobustScaler(), {"averages": 2, "spreads": 2}, 4),
        (KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf"), {"bin edges": 8}, 7),
    ],
)
def test_what_a_step_learned_is_counted(step: Any, statistic: dict[str, int], n: int, tmp_path: Path) -> None:
    fitted = make_pipeline(step, DecisionTreeClassifier(max_depth=2)).fit(FRAME, TARGET)
    file = load_file(archive(fitted, tmp_path / "p.skops"), Domain({"age": Real(0, 100), "dose": Real(0, 10)}))
    sums: dict[str, int] = {}
    for entry in file.contents.fitted:
        sums[entry.statistic] = sums.get(entry.statistic, 0) + entry.n_values
    assert sums == statistic
    assert the_check(file, "fitted_values").measured == n


def test_a_category_that_no_split_names_and_no_domain_declares_is_counted(tmp_path: Path) -> None:
    towns = np.array(["Ayr", "Bath", "Cork"] * 40)[:, None]
    fitted = make_pipeline(OneHotEncoder(), DecisionTreeClassifier(max_depth=1)).fit(towns, towns[:, 0] == "Bath")
    path = archive(fitted, tmp_path / "p.skops")
    private = load_file(path, Domain({"town": Category(("Bath", "York"))})).contents.fitted
    assert [(entry.attribute, entry.statistic, entry.n_values, entry.n_private) for entry in private] == [
        ("town", "categories", 2, 2)
    ]
    declared = load_file(path, Domain({"town": Category(("Ayr", "Bath", "Cork"))}))
    assert [entry.n_private for entry in declared.contents.fitted] == [0]
    assert the_check(declared, "fitted_values").status == "pass"


def test_the_spread_of_outcomes_in_a_leaf_is_more_than_its_mean(tmp_path: Path) -> None:
    """Of two records, mean and spread give both outcomes."""
    outcomes = np.random.default_rng(0).normal(size=len(FRAME))
    fitted = DecisionTreeRegressor(min_samples_leaf=2).fit(FRAME, outcomes)
    (other,) = load_file(archive(fitted, tmp_path / "r.skops")).contents.others
    assert "spread of the outcomes" in other.where
    leaf = next(i for i in range(fitted.tree_.node_count) if fitted.tree_.n_node_samples[i] == 2)
    mean, spread = float(fitted.tree_.value[leaf, 0, 0]), float(fitted.tree_.impurity[leaf]) ** 0.5
    inside = sorted(outcomes[fitted.apply(FRAME) == leaf])
    assert [mean - spread, mean + spread] == pytest.approx(inside)


# In memory, and what an audit says.


def test_what_an_estimator_in_memory_would_take_along_is_a_note() -> None:
    tree = fitted_tree()
    assert not [note for note in audit(tree, domain=DOMAIN).notes if "bytes" in note]
    tree.notes_ = smuggling.RECORDS
    (note,) = [note for note in audit(tree, domain=DOMAIN).notes if "bytes" in note]
    assert "notes_" in note
    assert "They are part of a saved estimator" in note
    assert MARK not in note
    assert not [check for check in audit(tree, domain=DOMAIN).checks if check.rule == "other_content"]


def test_bytes_between_the_fields_of_arrays_are_explained(tmp_path: Path) -> None:
    padding = OtherContent(where="between the fields of arrays", kind="padding", n_bytes=79)
    file = load_file(archive(fitted_tree(), tmp_path / "t.skops"))
    file = replace(file, contents=replace(file.contents, others=(padding,)))
    (check,) = [check for check in audit(file).checks if check.rule == "other_content"]
    assert check.status == "fail"
    assert "save the model with skops or as JSON." in check.meaning


def test_no_guarantee_covers_what_else_is_in_a_file(tmp_path: Path) -> None:
    model = replace(
        load_model(archive(fitted_tree(), tmp_path / "t.skops")), guarantee=Guarantee(epsilon=0.5, count_scale=4.0)
    )
    write_model(model, tmp_path / "t.json")
    good = load_file(tmp_path / "t.json")
    (tmp_path / "t.json").write_bytes((tmp_path / "t.json").read_bytes() + b" \t" * 600)
    bad = load_file(tmp_path / "t.json")
    believed = Policy(accept_guarantee=True)
    assert [check.rule for check in audit(good, policy=believed).checks if check.status == "fail"] == []
    findings = audit(bad, policy=believed)
    assert findings.verdict == "outside policy"
    (check,) = [check for check in findings.checks if check.status == "fail"]
    assert (check.rule, check.basis) == ("other_content", "measurement")


def test_a_policy_can_allow_some_bytes(tmp_path: Path) -> None:
    tree = fitted_tree()
    tree.notes_ = "v1"
    file = load_file(archive(tree, tmp_path / "t.skops"))
    (check,) = [check for check in audit(file, policy=Policy(other_content=2)).checks if check.rule == "other_content"]
    assert (check.status, check.measured) == ("pass", 2)
    assert not [check for check in audit(file, policy=Policy(other_content=None)).checks if "content" in check.rule]


def test_an_audit_of_one_measurement_says_nothing_of_the_file(tmp_path: Path) -> None:
    tree = fitted_tree()
    tree.notes_ = HIDDEN
    file = load_file(archive(tree, tmp_path / "t.skops"), DOMAIN)
    findings = audit(file, domain=DOMAIN, settings=AuditSettings(only=["reconstruction"]))
    assert "other_content" not in [check.rule for check in findings.checks]


def test_findings_hold_the_contents_and_reports_show_them(tmp_path: Path) -> None:
    tree = fitted_tree()
    tree.notes_ = HIDDEN
    findings = audit(load_file(archive(tree, tmp_path / "t.skops"), DOMAIN), domain=DOMAIN)
    plain = findings.to_dict()["contents"]
    assert plain["form"] == "scikit-learn tree"
    assert plain["others"] == [
        {"where": "the estimator (DecisionTreeClassifier), notes_", "kind": "attribute", "n_bytes": len(HIDDEN)}
    ]
    for shown in (render_text(findings), render_html(findings)):
        assert "What the file holds" in shown
        assert "notes_" in shown
        assert "1,320" in shown
        assert "not the file that may leave" in " ".join(shown.split())
        assert MARK not in shown


# Parts.


def test_our_own_json_is_refused_with_unknown_fields(tmp_path: Path) -> None:
    data = SAMPLES["Glassine"]["JSON"].make()
    for path in smuggling.objects(json.loads(data)):
        with pytest.raises(InvalidModelError, match="unknown key 'notes'"):
            load_model(saved(smuggling.with_key(data, path), tmp_path / "m.json"))


def test_a_format_without_an_account_counts_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(saved(SAMPLES["a rule list"]["text"].make(), tmp_path / "rules.txt"))
    careless = Format(
        name="careless", contents=("text",), sniff=lambda text: True, rank=0, read=lambda text, domain: model
    )
    monkeypatch.setattr("glassine.formats.registry.formats", lambda: (careless,))
    (other,) = load_file(tmp_path / "rules.txt").contents.others
    assert (other.where, other.n_bytes) == (
        "the file, of a format that is not accounted for",
        (tmp_path / "rules.txt").stat().st_size,
    )


def test_names_that_could_hold_data_are_not_quoted() -> None:
    assert shown_name("notes_") == "notes_"
    assert shown_name(MARK) == f"a name of {len(MARK)} characters"
    assert shown_name("x" * 41) == "a name of 41 characters"


def test_names_of_ten_thousand_letters_are_content_beside_the_model(tmp_path: Path) -> None:
    text = f'if ["{"x" * 10_000}"] then [true]\nelse [false]\n'
    file = load_file(saved(text.encode(), tmp_path / "rules.txt"))
    assert [(other.where, other.n_bytes) for other in file.contents.others] == [("names of attributes", 10_000)]
    with pytest.raises(InvalidModelError, match="would hold more than a model needs"):
        write_clean(file, tmp_path / "clean.json")
    assert not (tmp_path / "clean.json").exists()


@pytest.mark.parametrize("place", ["the name of the target", "reasons of edits", "parameters of edits"])
def test_long_texts_of_an_additive_model_are_content_beside_it(place: str, tmp_path: Path) -> None:
    age = Term(bins=(NumericBins("age", (30, 50)),), scores=np.array([-0.5, 0.75, 0.25, 0.0]))
    model = AdditiveModel(attributes=("age",), terms=(age,), intercept=(0.0,), link="identity", target="y")
    model = zero(model, "age", reason="medical opinion")
    write_model(model, tmp_path / "good.json")
    assert load_file(tmp_path / "good.json").contents.others == ()
    plain = json.loads((tmp_path / "good.json").read_text())
    if place == "the name of the target":
        plain["target"] = "x" * 3_000
    elif place == "reasons of edits":
        plain["edits"][0]["reason"] = "x" * 3_000
    else:
        plain["edits"][0]["parameters"] = {"note": "x" * 3_000}
    file = load_file(saved(json.dumps(plain).encode(), tmp_path / "planted.json"))
    assert [(other.where, other.n_bytes) for other in file.contents.others] == [(place, 3_000)]
    assert the_check(file, "other_content").status == "fail"


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("tree", "attributes"),
        ("tree", "classes"),
        ("rules", "attributes"),
        ("rules", "classes"),
        ("additive", "attributes"),
    ],
)
def test_many_names_that_a_model_does_not_use_are_content_beside_it(kind: str, key: str, tmp_path: Path) -> None:
    """Three thousand people as columns that no condition reads, or as classes that nobody has."""
    age = Term(bins=(NumericBins("age", (30, 50)),), scores=np.array([-0.5, 0.75, 0.25, 0.0]))
    models: dict[str, Any] = {
        "tree": DecisionTree(
            (
                Node(branches=(Branch(Between("age", hi=30.0), 1), Branch(Between("age", lo=30.0), 2))),
                Node(evidence=Evidence(label=0)),
                Node(evidence=Evidence(label=1)),
            ),
            ("age", "sex"),
            ("no", "yes"),
        ),
        "rules": parse_rules("if [age] then [true]\nelse [false]"),
        "additive": AdditiveModel(attributes=("age", "sex"), terms=(age,), intercept=(0.0,), link="identity"),
    }
    write_model(models[kind], tmp_path / "good.json")
    plain = json.loads((tmp_path / "good.json").read_text())
    people = [f"Ada {i}, 36, ill" for i in range(3_000)]
    for number, fails in ((100, False), (3_000, True)):
        more = {**plain, key: [*plain[key], *people[:number]]}
        file = load_file(saved(json.dumps(more).encode(), tmp_path / "planted.json"))
        assert [other.where for other in file.contents.others] == [f"unused names of {key}"] * fails
        assert (the_check(file, "other_content").status == "fail") == fails
    if key == "attributes":
        write_clean(load_file(tmp_path / "planted.json"), tmp_path / "clean.json")
        clean = load_file(tmp_path / "clean.json")
        assert (clean.contents.others, clean.model.attributes) == ((), ("age",))
        domain = Domain({"age": Real(0, 100), **{name: Real(0, 1) for name in people}})
        assert load_file(tmp_path / "planted.json", domain).contents.others == ()
        start = len(plain[key])
        for first, fails in ((0, False), (1, False), (7, True)):
            more = {**plain, key: [*plain[key], *(f"column_{start + first + i}" for i in range(3_000))]}
            file = load_file(saved(json.dumps(more).encode(), tmp_path / "numbered.json"))
            assert [other.where for other in file.contents.others] == ["unused names of attributes"] * fails


def test_sizes_are_those_of_letters_numbers_and_arrays() -> None:
    assert size_of({"a": [1, 2.5, "bcd"], "e": np.zeros(4)}) == 1 + 8 + 8 + 3 + 1 + 32
    assert size_of(None) == 0
    looped: list[Any] = ["ab"]
    looped.append(looped)
    assert size_of(looped) == 2


def test_many_places_are_summed_in_the_last_one() -> None:
    found = merged(OtherContent(where=f"place {i}", kind="field", n_bytes=i) for i in range(31))
    assert len(found) == 21
    assert found[0].n_bytes == 30
    assert (found[-1].where, sum(other.n_bytes for other in found)) == ("10 more places", 465)


def test_usual_layouts_of_json_hold_nothing_and_others_are_measured() -> None:
    value = {"a": [1, 2.5], "b": {"c": "ä"}}
    for layout in ({}, {"indent": 2}, {"indent": 3}, {"separators": (",", ":")}, {"ensure_ascii": False}):
        assert sum(other.n_bytes for other in beside_json(json.dumps(value, **layout), value)) == 0
    wide = json.dumps(value).replace("2.5", "2.5" + "0" * 40).replace(": {", ":    {")
    assert {other.where: other.n_bytes for other in beside_json(wide, value) if other.n_bytes} == {
        "between the values": 4,
        "in numbers": 18,
    }


def test_a_rule_that_gives_a_fact_twice_is_refused(tmp_path: Path) -> None:
    text = "if [a] then [true] (5 examples, 7 examples)\nelse [false] (3 examples)\n"
    with pytest.raises(UnsupportedModelError, match="gives a fact twice"):
        load_model(saved(text.encode(), tmp_path / "rules.txt"))


def test_the_clean_copy_has_the_format_of_the_file_where_that_keeps_the_model(tmp_path: Path) -> None:
    for form, kind, due in (("ONNX", "file", "onnx"), ("PMML", "file", "pmml"), ("Glassine", "JSON", "json")):
        file = load_file(saved(SAMPLES[form][kind].make(), tmp_path / "m"))
        assert write_clean(file, tmp_path / "copy") == due
    file = load_file(saved(SAMPLES["scikit-learn tree"]["skops"].make(), tmp_path / "m"))
    assert write_clean(file, tmp_path / "copy") == "json"
    assert write_clean(file, tmp_path / "copy.skops", to="sklearn") == "sklearn"
    assert load_file(tmp_path / "copy.skops").contents.others == ()


def test_a_pickle_that_is_not_trusted_is_not_accounted_for(tmp_path: Path) -> None:
    path = saved(SAMPLES["scikit-learn tree"]["pickle"].make(), tmp_path / "m.pkl")
    with pytest.raises(UnreadableFileError, match="a pickle is code"):
        load_file(path)
