"""Evidence: every item that is asked has a line, with a figure, a reason, or an empty field for a person."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glassine.report.evidence
from glassine import AuditSettings, Category, Domain, Integer, Policy, audit, parse_rules
from glassine.auditing.findings.root import SCHEMA as FINDINGS
from glassine.auditing.findings.root import SignOff
from glassine.auditing.several_models import SeveralModels
from glassine.errors import InvalidParameterError
from glassine.learners import PrivateTreeClassifier
from glassine.privacy.certificate import LOSS_BOUND, Certificate
from glassine.report.evidence import LISTS, evidence
from glassine.report.evidence.basis import ANSWERS, EvidenceFigure, Missing
from glassine.report.evidence.document import EvidenceLine, items
from tests.cli.running import Run

RULES = """if [a] then [true] ([5 ; 40] examples)
else if [b] then [false] ([30 ; 0] examples)
else [false] ([50 ; 30] examples)"""

ASKED = {
    "tre": [f"T{i}" for i in range(1, 21)],
    "tehdas": [f"H{i}" for i in range(1, 7)],
    "edpb": ["D1", "D2", *(f"D3.{i}" for i in range(1, 7)), "D4", "D5", "D6.1", "D6.2", "D6.3"]
    + [f"D{i}" for i in range(7, 12)],
    "nist": [f"N{i}" for i in range(1, 12)],
    "iso27559": [f"I{i}" for i in range(1, 6)],
    "hipaa": ["P1", "P2", "P3"],
}


@pytest.fixture(scope="module")
def private() -> tuple[dict[str, Any], Certificate]:
    """Return the findings on a private tree, and its certificate."""
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"age": rng.integers(0, 100, 500), "sex": rng.choice(["f", "m"], 500)})
    y = np.where(X["age"].to_numpy() > 50, "yes", "no")
    domain = Domain({"age": Integer(0, 100, thresholds=(25, 50, 75)), "sex": Category(("f", "m"))})
    tree = PrivateTreeClassifier(
        domain=domain, classes=("no", "yes"), max_depth=2, epsilon=0.5, accuracy_share=1.0
    ).fit(X, y)
    found = audit(tree.model_, domain=domain, policy=Policy(accept_guarantee=True))
    return found.to_dict(), tree.certificate_


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    """Return the findings on a rule list without a guarantee."""
    return audit(parse_rules(RULES), domain=Domain.binary(["a", "b", "c"])).to_dict()


def answered(line: EvidenceLine) -> bool:
    return bool(line.answers or line.item.person or line.item.remark)


def line_of(which: str, number: str, **given: Any) -> EvidenceLine:
    return next(line for line in evidence(which, **given).lines if line.item.id == number)


@pytest.mark.parametrize("which", LISTS)
@pytest.mark.parametrize("given", ["report", "certificate", "both", "without a guarantee"])
def test_every_item_has_a_line(
    which: str, given: str, private: tuple[dict[str, Any], Certificate], plain: dict[str, Any]
) -> None:
    findings, certificate = private
    document = {
        "report": lambda: evidence(which, findings=findings),
        "certificate": lambda: evidence(which, certificate=certificate),
        "both": lambda: evidence(which, findings=findings, certificate=certificate),
        "without a guarantee": lambda: evidence(which, findings=plain),
    }[given]()
    assert [line.item.id for line in document.lines] == ASKED[which]
    assert all(map(answered, document.lines))
    for text in (document.text(), document.markdown()):
        for line in document.lines:
            assert re.search(rf"^(## )?{re.escape(line.item.id)}( |$)", text, re.MULTILINE)
    values = json.loads(json.dumps(document.to_dict(), allow_nan=False))
    for item in values["items"]:
        # A remark on a source asks nothing, and is not answered.
        assert bool(item["answers"] or item["person"]) is not item["remark"]
        assert all(text == "" for text in item["person"].values())


def test_an_item_without_figure_reason_or_field_has_no_line() -> None:
    bare = next(item for item in items() if item.id == "T5")
    assert not answered(EvidenceLine(item=bare, answers=()))
    assert answered(EvidenceLine(item=bare, answers=(Missing("it was not asked for"),)))


def test_the_table_names_sources_and_figures_that_exist() -> None:
    table = Path(glassine.report.evidence.__file__).with_name("items.toml").read_text()
    assert set(tomllib.loads(table)["lists"]) == set(LISTS)
    assert len({item.id for item in items()}) == len(items())
    used = {name for item in items() for name in item.figures}
    assert used == set(ANSWERS), "a figure without an item, or an item without its figure"
    for item in items():
        assert bool(item.source) != bool(item.unseen), item.id
        assert item.figures or item.unmeasured or item.person or item.remark, item.id
    # What was not read in a source is said to be unconfirmed, and cites nothing.
    assert [item.id for item in items() if item.unseen] == ["D5", "P3"]


def test_the_authorities_own_names_stand_in_the_headings() -> None:
    headings = {item.heading for item in items() if item.list == "edpb"}
    assert {"Singling out", "Linking", "Inference", "Attribute inference", "Membership inference"} <= headings
    assert {"Exfiltration", "Regurgitation of training data", "Model inversion", "Reconstruction attacks"} <= headings


def test_figures_of_a_model_are_those_of_its_counts() -> None:
    shown = audit(
        parse_rules(RULES), domain=Domain.binary(["a", "b", "c"]), settings=AuditSettings(show_small_counts=True)
    ).to_dict()
    (smallest,) = line_of("tre", "T3", findings=shown).answers
    assert smallest == EvidenceFigure("smallest positive count of one class: 5, in 3 parts", "published counts")
    one = audit(
        parse_rules("classes: [x] [y]\nif [a] then [x] ([30 ; 40] examples)\nelse [y] ([3 ; 90] examples)")
    ).to_dict()
    assert "1 parts" not in str(line_of("tre", "T3", findings=one).answers)
    limits = line_of("tre", "T2", findings=shown).answers[0]
    assert isinstance(limits, EvidenceFigure)
    assert limits.text.startswith("Limits that are set: Epsilon of the guarantee at most 1; ")
    # In the words of the checks: no key of a policy stands in an answer.
    assert "_" not in limits.text
    zero = line_of("tre", "T4", findings=shown).answers[0]
    assert isinstance(zero, EvidenceFigure)
    assert zero.text.startswith("a class has no record in 1 of 3 parts")
    (freedom,) = line_of("tre", "T5", findings=shown).answers
    # 155 records; two conditions, and three shares of one class.
    assert isinstance(freedom, EvidenceFigure)
    assert freedom.text == "residual degrees of freedom: 155 - 7 = 148"
    ratio = line_of("edpb", "D5", findings=shown).answers[1]
    assert isinstance(ratio, EvidenceFigure)
    assert ratio.text == "22.1 records per parameter"


def test_records_that_a_fit_repeats_for_each_person_are_not_counted_as_training_records(
    private: tuple[dict[str, Any], Certificate],
) -> None:
    findings, _ = private
    by_person = {**findings, "guarantee": {**findings["guarantee"], "neighboring": "add-or-remove-one-person"}}
    for number in ("T5", "D5"):
        which = "tre" if number == "T5" else "edpb"
        texts = [str(one) for one in line_of(which, number, findings=by_person).answers]
        assert any("may repeat them" in text for text in texts)
        assert not any("residual degrees of freedom:" in text or "records per parameter" in text for text in texts)
        plain_texts = [str(one) for one in line_of(which, number, findings=findings).answers]
        assert not any("may repeat them" in text for text in plain_texts)


def test_degrees_of_freedom_of_a_tree_are_those_of_sacro_ml() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.tree import DecisionTreeClassifier

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    (freedom,) = line_of("tre", "T5", findings=audit(tree).to_dict()).answers
    parameters = 2 * (tree.tree_.node_count - tree.get_n_leaves()) + tree.get_n_leaves()
    assert isinstance(freedom, EvidenceFigure)
    assert freedom.text == f"residual degrees of freedom: {len(y)} - {parameters} = {len(y) - parameters}"


def test_what_one_item_says_in_full_others_refer_to(private: tuple[dict[str, Any], Certificate]) -> None:
    document = evidence("edpb", findings=private[0], certificate=private[1])
    page = document.markdown()
    assert page.count("Kairouz, Oh and Viswanath (2015), Theorem 2.1.") == 2
    blocks = {block.split(maxsplit=1)[0]: block for block in page.split("## ")[1:]}
    assert "Method: Kairouz" in blocks["D1"]
    for number in ("D3.2", "D4"):
        assert "membership advantage: at most" in blocks[number]
        assert "More under D1." in blocks[number]
    # A machine reads each item by itself.
    plain = next(item for item in document.to_dict()["items"] if item["id"] == "D4")
    assert all(set(answer) == {"figure", "method"} for answer in plain["answers"])


def test_names_are_no_code_and_no_command_is_named(private: tuple[dict[str, Any], Certificate]) -> None:
    named = {**private[0], "inputs": [{"role": "model", "name": "a`<i>`.json", "sha256": None}]}
    page = evidence("tre", findings=named, certificate=private[1]).markdown()
    assert "certificate" in page
    assert re.search(r"glassine [a-z]+|certificate verify| --[a-z]", page) is None
    assert "\\`" not in page.replace("a\\`&lt;i&gt;\\`.json", "")
    assert "<i>" not in page


def test_suppressed_counts_stay_suppressed(plain: dict[str, Any]) -> None:
    (hidden,) = [answer for answer in line_of("tre", "T3", findings=plain).answers if isinstance(answer, Missing)]
    assert "below 10 and suppressed" in hidden.reason
    said = evidence("tre", findings=plain).text()
    assert "smallest positive count of one class: 5" not in said


def test_a_certificate_answers_what_nist_asks(private: tuple[dict[str, Any], Certificate]) -> None:
    findings, certificate = private

    def said(number: str) -> str:
        answers = line_of("nist", number, findings=findings, certificate=certificate).answers
        return " ".join(answer.text for answer in answers if isinstance(answer, EvidenceFigure))

    assert "epsilon 0.5" in said("N1")
    assert said("N2").startswith("pure differential privacy")
    assert "unit: record; 1 record a unit" in said("N3")
    assert f"at most {certificate.error_bound:,} errors more" in said("N6")
    public = {**certificate.public, LOSS_BOUND: 17}
    (loss,) = line_of("nist", "N6", certificate=replace(certificate, error_bound=None, public=public)).answers
    assert isinstance(loss, EvidenceFigure)
    assert loss.text.startswith("a loss of at most 17 records above that of the best model")
    assert said("N7") == "one release, not interactive"
    assert said("N8") == "central"
    assert said("N9").startswith("random bits: operating system.")
    (unpaid,) = line_of("nist", "N5", certificate=certificate).answers
    assert unpaid == Missing("no ledger was charged, so that other releases were not added up")


def test_what_was_not_given_is_said_to_be_missing(plain: dict[str, Any]) -> None:
    assert line_of("nist", "N2", findings=plain).answers == (Missing("no certificate was given"),)
    (missing,) = line_of("edpb", "D4", findings=plain).answers
    assert missing == Missing("the model claims no differential privacy")
    certificate = Certificate.none("no noise")
    assert line_of("tre", "T5", certificate=certificate).answers == (Missing("no report of an audit was given"),)


def test_names_from_a_model_are_shown_as_they_are(plain: dict[str, Any]) -> None:
    hostile = {**plain, "subject": {**plain["subject"], "attributes": ["<img src=x>", "a|b*c\x1b[31m"]}}
    document = evidence("iso27559", findings=hostile)
    assert "<img" not in document.markdown()
    assert "&lt;img src=x&gt;" in document.markdown()
    assert "\x1b" not in document.text() + document.markdown()


def test_what_a_person_signed_stands_in_its_field_and_no_other_is_filled(plain: dict[str, Any]) -> None:
    signed = {**plain, "sign_off": {**plain["sign_off"], "purpose": "Teaching <b>", "review_by": "2027-11-23"}}
    person = {
        name: text
        for which in LISTS
        for line in evidence(which, findings=signed).lines
        for name, text in line.person
        if text
    }
    assert person == {
        "Purpose": "Teaching <b>",
        "Review by": "2027-11-23",
        "Until when the determination holds": "2027-11-23",
    }
    page = evidence("tre", findings=signed).markdown()
    assert "Only a person can state this: Purpose: Teaching &lt;b&gt;" in page
    assert "Only a person can state this: Training approach: ____" in page
    labels = {label for item in items() for label in item.person}
    table = tomllib.loads(Path(glassine.report.evidence.__file__).with_name("items.toml").read_text())
    assert set(table["statements"]) <= labels
    assert set(table["statements"].values()) <= set(SignOff.names())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "needs the findings"),
        ({"findings": {"schema": "glassine.findings/1"}}, "must be of schema"),
        ({"findings": {"schema": FINDINGS}}, "must be of schema"),
    ],
)
def test_other_values_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        evidence("tre", **given)
    with pytest.raises(InvalidParameterError, match="must be one of tre"):
        evidence("gdpr", certificate=Certificate.none("no noise"))


@pytest.fixture
def reports(folder: Path, run: Run) -> Path:
    (folder / "rules.txt").write_text(RULES)
    run("audit", "rules.txt", "-o", "report.json", cwd=folder)
    (folder / "certificate.json").write_text(Certificate.none("no noise").to_json())
    return folder


def test_the_command_writes_markdown_json_and_text(reports: Path, run: Run) -> None:
    for ending in ("md", "json", "txt"):
        source = "report.json" if ending == "txt" else "certificate.json"
        done = run("evidence", source, "--for", "nist", "-o", f"out.{ending}", cwd=reports)
        assert (done.status, done.err) == (0, "")
    assert (reports / "out.md").read_text().startswith("# NIST SP 800-226")
    assert json.loads((reports / "out.json").read_text())["schema"] == "glassine.evidence/1"
    assert "About rules.txt, rule list." in (reports / "out.txt").read_text()
    printed = run("evidence", "report.json", "--for", "tre", cwd=reports)
    assert printed.out.startswith("Output checking in trusted research environments")
    assert json.loads(run("evidence", "report.json", "--for", "tre", "--json", cwd=reports).out)["list"] == "tre"


def test_the_command_writes_one_page_with_the_certificate(reports: Path, run: Run) -> None:
    done = run("evidence", "certificate.json", "--for", "nist", "-o", "out.html", cwd=reports)
    assert (done.status, done.err) == (0, "")
    page = (reports / "out.html").read_text()
    assert "NIST SP 800-226" in page
    assert page.count('<section id="') == sum(item.list == "nist" for item in items()) + 1
    assert 'id="certificate"' in page
    assert not re.search(r"<script|(?:src|href)=\"http", page)


def test_thresholds_of_a_private_model_are_no_values_of_records(
    private: tuple[dict[str, Any], Certificate], plain: dict[str, Any]
) -> None:
    (said,) = line_of("edpb", "D3.4", findings=private[0]).answers
    assert isinstance(said, EvidenceFigure)
    assert said.text.startswith("no value of a record is published: ")
    assert "guarantee" in said.method
    counted = line_of("edpb", "D3.4", findings=plain).answers
    assert not any("no value of a record" in str(one) for one in counted)
    # A guarantee that does not hold covers nothing.
    void = {**private[0], "guarantee": {**private[0]["guarantee"], "standing": "does not hold"}}
    assert not any("no value of a record" in str(one) for one in line_of("edpb", "D3.4", findings=void).answers)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report.json", "report.json"), "is a second report"),
        (("domain.json",), "is neither the JSON report of an audit nor a certificate"),
        (("report.json", "-o", "out.pdf"), "HTML, Markdown, JSON or text"),
        (("none.json",), "cannot read none.json"),
    ],
)
def test_files_that_cannot_be_used_are_refused(arguments: tuple[str, ...], words: str, reports: Path, run: Run) -> None:
    done = run("evidence", *arguments, "--for", "tre", cwd=reports)
    assert (done.status, done.out) == (2, "")
    assert words in done.err


def test_the_certificate_of_another_model_or_file_is_refused(private: tuple[dict[str, Any], Certificate]) -> None:
    findings, certificate = private
    named = {**findings, "inputs": [{"role": "model", "name": "m.json", "sha256": "a" * 64}]}
    assert evidence("tre", findings=named, certificate=replace(certificate, file="a" * 64)).lines
    with pytest.raises(InvalidParameterError, match="different models or files"):
        evidence("tre", findings=named, certificate=replace(certificate, file="b" * 64))
    stronger = {**named, "guarantee": {**findings["guarantee"], "epsilon": 0.1}}
    with pytest.raises(InvalidParameterError, match="different models or files"):
        evidence("nist", findings=stronger, certificate=certificate)
    unclaimed = audit(parse_rules(RULES)).to_dict()
    with pytest.raises(InvalidParameterError, match="different models or files"):
        evidence("nist", findings=unclaimed, certificate=certificate)


@pytest.mark.parametrize(
    ("parameters", "risky"),
    [
        ({}, True),
        ({"max_depth": 7}, True),
        ({"max_depth": 3}, False),
        ({"min_samples_leaf": 8}, True),
        ({"min_samples_leaf": 16}, False),
        ({"min_samples_leaf": 0.05}, False),
        ({"min_samples_leaf": 8, "max_features": 1}, False),
        ({"min_samples_split": 20, "splitter": "random", "max_features": 1}, False),
        ({"min_samples_split": 20, "splitter": "random"}, True),
        ({"max_depth": 7, "splitter": "random"}, False),
    ],
)
def test_parameters_of_a_tree_are_judged_as_sacro_ml_does(parameters: dict[str, Any], risky: bool) -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.tree import DecisionTreeClassifier

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    tree = DecisionTreeClassifier(random_state=0, **parameters).fit(X.iloc[:, :3], y)
    stated = line_of("tre", "T8", findings=audit(tree).to_dict()).answers[0]
    assert isinstance(stated, EvidenceFigure)
    assert stated.text.startswith(f"parameters {'lie in' if risky else 'do not lie in'} the riskiest fifth: max_depth=")
    assert stated.method.startswith("stated by the file, not proved")


def test_a_model_alone_states_no_parameters() -> None:
    stated = line_of("tre", "T8", findings=audit(parse_rules(RULES)).to_dict()).answers[0]
    assert stated == Missing("the file states no parameters of its learner")


@pytest.mark.slow
def test_losses_are_compared_by_the_test_that_checkers_use() -> None:
    import polars as pl
    from scipy.stats import ks_2samp
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 50, 400), "b": rng.integers(0, 50, 400), "y": rng.integers(0, 2, 400)})
    inside, outside = frame[:200], frame[200:]
    tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(inside[["a", "b"]].to_pandas(), inside["y"])
    findings = audit(tree, inside, "y", holdout=outside, settings=AuditSettings(measurements={"membership"}))
    losses = []
    for side in (inside, outside):
        shares = tree.predict_proba(side[["a", "b"]].to_pandas())
        losses.append(-np.log(np.clip(shares[np.arange(200), side["y"].to_numpy()], 1e-6, 1 - 1e-6)))
    wanted = ks_2samp(*losses)
    found = findings.value("membership")
    assert found is not None
    assert found.loss_gap == round(wanted.statistic, 3)
    assert found.loss_gap_p_value == float(f"{wanted.pvalue:.2g}")
    gap = line_of("tre", "T6", findings=findings.to_dict()).answers[0]
    assert isinstance(gap, EvidenceFigure)
    assert gap.text.startswith(f"statistic {wanted.statistic:.3f}, p = ")
    assert gap.text.endswith(f": {'a' if wanted.pvalue < 0.05 else 'no'} risk by SACRO-ML, whose level is 0.05")
    assert wanted.pvalue < 0.05


@pytest.mark.parametrize(("trees", "depth", "risky"), [(40, None, True), (10, None, False), (40, 3, False)])
def test_parameters_of_a_forest_are_judged_as_sacro_ml_does(trees: int, depth: int | None, risky: bool) -> None:
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    forest = RandomForestClassifier(trees, max_depth=depth, random_state=0)
    forest.fit(rng.random((60, 2)), rng.integers(0, 2, 60))
    findings = audit(forest, settings=AuditSettings(measurements={"membership"}))
    stated = line_of("tre", "T8", findings=findings.to_dict()).answers[0]
    assert isinstance(stated, EvidenceFigure)
    assert stated.text.startswith(f"parameters {'lie in' if risky else 'do not lie in'} the riskiest fifth: ")


def test_a_report_that_is_not_as_its_schema_says_is_refused(plain: dict[str, Any]) -> None:
    def replaced(value: Any, path: tuple[Any, ...], put: Any) -> Any:
        if not path:
            return put
        copy = list(value) if isinstance(value, list) else dict(value)
        copy[path[0]] = replaced(value[path[0]], path[1:], put)
        return copy

    def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
        return [path, *(place for key, entry in inner for place in places(entry, (*path, key)))]

    hostile = "\x1b[2J\n# Approved <script>"
    wrong: tuple[Any, ...] = (None, [], {}, -1, True, 10**400, hostile)
    refused = []
    for path in places(plain)[1:]:
        for put in wrong:
            try:
                document = evidence("tre", findings=replaced(plain, path, put))
            except InvalidParameterError as error:
                refused.append(str(error))
                continue
            for text in (document.markdown(), document.text()):
                assert "\x1b" not in text
                assert "\n# Approved" not in text
            assert "<script>" not in document.markdown()
    assert len(refused) > 500
    assert not any(hostile in text for text in refused)


def test_models_that_were_audited_together_have_evidence() -> None:
    models = tuple(parse_rules(RULES.replace("30 ; 0", counts)) for counts in ("30 ; 0", "29 ; 1"))
    joint = audit(SeveralModels(models=models[:1] * 2, names=("a", "b")), domain=Domain.binary(["a", "b"])).to_dict()
    assert joint["measured"]["joint"]["status"] != "measured"
    for which in LISTS:
        evidence(which, findings=joint)
    line = line_of("edpb", "D6.2", findings=joint)
    assert any(isinstance(one, EvidenceFigure) and "audited together" in one.text for one in line.answers)
