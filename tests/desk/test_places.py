"""Each step that the desk shows has a place there: a button, a form, or a question to the analyst."""

from __future__ import annotations

from pathlib import Path

import pytest

import glassine
from glassine.auditing.policy import NAMED
from glassine.auditing.remedy import Remedy
from glassine.auditing.trying import remedies_to_try
from glassine.desk.stated import CALLED, STATED
from glassine.errors import GlassineError
from glassine.files import read_once
from glassine.formats import load_file, load_judged
from glassine.report.exchange.plain import as_plain
from tests.desk.desks import Served, bound

FILES = sorted(path for path in (Path(__file__).parents[1] / "formats").rglob("*") if path.is_file())
REGRESSION = Path(__file__).parents[1] / "formats" / "regressions" / "coeftest.txt"
FIELDS = {CALLED.get(name, name): field for name, field in STATED.items()}


def place(one: Remedy, kind: str) -> str:
    """Return where a step that makes no copy and is not the analyst's is taken on the desk; empty if nowhere."""
    if one.action == "accept":
        return "the form that accepts a guarantee"
    if one.action in ("audit", "domain") and {"data", "holdout"} & set(one.parameters):
        return "the form that audits with records"
    stated = [name for name in (*one.parameters, "domain" * (one.action == "domain")) if name in FIELDS]
    if any(FIELDS[name].asks(kind) for name in stated):
        return "the answer to a question"
    # What is public, or what a publisher answers, is asked for and then filled in.
    return "the answer to a question" if one.action == "audit" else ""


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["default", "tre", "sacro"])
def test_each_step_has_a_place(policy: str) -> None:
    kinds, without = set(), []
    for path in FILES:
        try:
            model = load_judged(read_once(path))
        except (GlassineError, OSError):
            continue
        findings = glassine.audit(model, policy=NAMED[policy].policy)
        page = as_plain(findings, path.name)
        tried, kind = {id(one) for one in remedies_to_try(findings.advice)}, findings.subject.kind
        kinds.add(kind)
        for one in findings.advice:
            reply = any(one.plain.endswith(said[-20:]) for said in page["replies"])
            if not (id(one) in tried or reply or place(one, kind)):
                without.append((path.name, one.plain))
        if any({"data", "holdout"} & set(one.parameters) for one in findings.advice):
            assert page["measures"], path.name
    assert not without
    assert {"regression", "ensemble", "decision tree", "rule list"} <= kinds


def test_a_regression_is_audited_with_records_of_the_folder(served: Served, folder: Path) -> None:
    (folder / "table.txt").write_bytes(REGRESSION.read_bytes())
    served.audited("table.txt")
    identity, asked = bound(served.app.desk, "table.txt")
    page = served.ask("GET", f"/api/queue/{identity}")[1]
    assert "No file of records is in this folder" in page
    (item,) = [one for one in served.app.screens.of(served.app.desk.file(identity))["missing"] if "as a file" in one]
    assert served.ask("POST", f"/api/files/{identity}/ask", {**asked, "items": [item]})[0] == 200
    model = glassine.as_model(load_file(REGRESSION).model)
    rows = [",".join([*model.tested, "y"]), *(",".join(["0"] * len(model.tested) + ["1"]) for _ in range(40))]
    (folder / "records.csv").write_text("\n".join(rows) + "\n")
    served.audited("records.csv")
    page = served.ask("GET", f"/api/queue/{identity}")[1]
    assert "Audit with records" in page
    status, page, _ = served.ask("POST", f"/api/files/{identity}/trial", {"measured": "records.csv", "predicted": "y"})
    assert status == 200, page
    assert "Audited with records: " in page
