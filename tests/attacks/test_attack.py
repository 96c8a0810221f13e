"""The protocol of an attack: what the documentation shows is all that a new one takes."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from glassine import AuditSettings, Domain, audit, parse_rules
from glassine.auditing.additive import AdditiveSubject
from glassine.auditing.trees import TREE_MEASUREMENTS
from glassine.report import audit_page
from glassine.report.blocks import Paragraph, Table
from glassine.report.section import HOMES, measured_section
from tests.repo.package_copy import copied_package, examples, touched

RULES = """if [a] then [true] ([1 ; 0] examples)
else if [b] then [true] ([0 ; 24] examples)
else [false] ([30 ; 5] examples)"""
AUDIT = """
import json
import jsonschema
import numpy as np
from glassine import AuditSettings, Domain, audit, parse_rules
from glassine.auditing.schema import schema
from glassine.models import AdditiveModel, NumericBins, Term
from glassine.report import render_html, render_text

domain = Domain.binary(["a", "b"])
rules = parse_rules(RULES)
asked = AuditSettings(measurements={"singling_out"}, show_small_counts=True)
hidden, shown = audit(rules, domain=domain), audit(rules, domain=domain, settings=asked)
jsonschema.validate(hidden.to_dict(), schema())
term = Term(bins=(NumericBins("age", (30.5,)),), scores=np.array([0.1, 0.2, 0]), weights=np.array([20.0, 20, 0]))
additive = audit(AdditiveModel(attributes=("age",), terms=(term,), intercept=(0,), link="identity"))
print(json.dumps([
    hidden.to_dict()["measured"]["singling_out"],
    list(shown.to_dict()["measured"].items()),
    additive.to_dict()["measured"]["singling_out"]["status"],
    render_text(hidden),
    render_html(hidden),
]))
"""


def changed_package(folder: Path) -> Path:
    """Copy the package with the attack of the documentation in it: two files are new, one has two more lines."""
    copy = copied_package(folder)
    attack, section, line = examples("SINGLING_OUT", "Records that stand alone")
    (copy / "attacks" / "singling.py").write_text(attack)
    (copy / "report" / "sections" / "singling.py").write_text(section)
    path = copy / "auditing" / "trees.py"
    text = path.read_text()
    for mark, added in (
        ("from glassine.attacks.value_leakage", "from glassine.attacks.singling import SINGLING_OUT\n"),
        ("    replace(VALUES(_values), facts=facts_of_values),\n", line),
    ):
        assert text.count(mark) == 1
        text = text.replace(mark, added + mark)
    path.write_text(text)
    assert touched(copy) == ["attacks/singling.py", "auditing/trees.py", "report/sections/singling.py"]
    return folder


@pytest.mark.slow
def test_an_attack_is_added_in_three_files_and_is_in_findings_schema_text_and_page(tmp_path: Path) -> None:
    folder = changed_package(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", f"RULES = {RULES!r}\n{AUDIT}"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    hidden, shown, of_additive, text, page = json.loads(done.stdout)
    assert hidden == {"status": "measured", "n_alone": {"below": 10}, "n_records": 60}
    assert shown == [["singling_out", {"status": "measured", "n_alone": 1, "n_records": 60}]]
    assert of_additive == "not applicable"
    one = "Records alone in a leaf or rule: fewer than 10 of 60. Its condition describes one record."
    assert one in " ".join(text.split())
    assert "Records alone in a leaf or rule" in page
    assert "Records that stand alone" in page


def test_the_questions_of_a_report_are_those_of_the_measurements_asked_for_or_not() -> None:
    findings = audit(
        parse_rules(RULES), domain=Domain.binary(["a", "b"]), settings=AuditSettings(measurements={"labels"})
    )
    listed = [measurement for measurement in TREE_MEASUREMENTS if measurement.listed]
    assert [asked.title for asked in findings.measured.questions] == [measurement.title for measurement in listed]
    page = audit_page(findings)
    section = page.section("measured")
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    missing = [one for one in listed if one.name != "labels"]
    asked_for = " This audit was not asked for it."
    assert [(row.name, row.meaning) for row in table.rows] == [(one.title, one.question + asked_for) for one in missing]
    (labels,) = (one.short or one.title.lower() for one in listed if one.name == "labels")
    assert f"Measured: {labels}." in [block.text for block in section.blocks if isinstance(block, Paragraph)]
    assert pickle.loads(pickle.dumps(findings)).measured.questions == findings.measured.questions


@pytest.mark.parametrize("name", [measurement.name for measurement in TREE_MEASUREMENTS if measurement.listed])
def test_each_listed_measurement_has_a_section_and_an_answer_for_additive_models(name: str) -> None:
    assert (section := measured_section(name)) is not None
    # Without its place, an audit would import every other section.
    assert section.body.__module__.rpartition(".")[2] == HOMES[name]
    assert name in [measurement.name for measurement in AdditiveSubject.measurements]
