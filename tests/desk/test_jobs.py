"""Jobs of the desk over HTTP: what runs is listed and stopped, models are drawn, and a summary estimates models."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Integer, as_model
from glassine.desk.auditing import DAMAGED
from glassine.desk.workers import Job, Workers
from glassine.formats import write_model
from glassine.learners import PrivateSummary
from glassine.privacy.release import fresh_count
from tests.desk.desks import LIND, OKAFOR, Served, bound, within

pytestmark = pytest.mark.slow


def test_a_job_is_listed_and_stopped_and_its_audit_tried_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, endless = Workers._run_any, True

    async def run_job(workers: Workers, job: Job) -> Any:
        if endless:
            await asyncio.sleep(600)
        return await run(workers, job)

    monkeypatch.setattr(Workers, "_run_any", run_job)
    served = Served(folder, OKAFOR)
    try:
        listed = within(lambda: json.loads(served.ask("GET", "/api/jobs")[1]))
        assert [one["said"] for one in listed] == ["Audit of rules.txt"]
        assert served.ask("DELETE", f"/api/jobs/{listed[0]['id']}", authorization="")[0] == 401
        assert served.ask("DELETE", f"/api/jobs/{listed[0]['id']}")[0] == 200
        identity = bound(served.app.desk, "rules.txt")[0]
        within(lambda: "stopped before it ended" in served.ask("GET", f"/api/queue/{identity}")[1])
        assert json.loads(served.ask("GET", "/api/jobs")[1]) == []
        assert served.ask("DELETE", f"/api/jobs/{listed[0]['id']}")[0] == 404
        endless = False
        assert served.ask("POST", "/api/audit", {"file": identity})[0] == 200
        served.audited("rules.txt")
    finally:
        served.stop()


def test_models_are_drawn_in_a_frame_without_a_script(served: Served, folder: Path) -> None:
    (folder / "damaged.json").write_text("{")
    served.audited("rules.txt", "damaged.json")
    files = {file.name: file.id for file in served.app.desk.state.files.values()}
    assert "Draw the model" in served.ask("GET", f"/api/queue/{files['rules.txt']}")[1]
    assert "Draw the model" not in served.ask("GET", f"/api/queue/{files['damaged.json']}")[1]
    status, body, _ = served.ask("POST", "/api/tickets", {"what": "drawing", "file": files["rules.txt"]})
    assert status == 200, body
    _, page, headers = served.ask("GET", f"/t/{json.loads(body)['ticket']}", authorization="")
    assert ("<svg" in page, "smoker" in page, "<script" in page) == (True, True, False)
    assert "script-src" not in headers["content-security-policy"]
    assert "sandbox" in headers["content-security-policy"]
    asked = {"what": "drawing", "file": files["damaged.json"]}
    assert served.ask("POST", "/api/tickets", asked)[0] == 422


def test_a_summary_that_was_paid_for_estimates_its_models(folder: Path) -> None:
    random = np.random.default_rng(0)
    ages = random.integers(18, 90, 3000)
    ill = np.where(ages + random.normal(0, 8, 3000) > 55, "yes", "no")
    domain = Domain({"age": Integer(18, 99, thresholds=(35, 55, 75))})
    with fresh_count():
        made = PrivateSummary(domain=domain, classes=("no", "yes"), epsilon=8.0).fit({"age": ages}, ill)
    made.write(folder / "summary.json")
    served = Served(folder, LIND)
    try:
        served.audited("summary.json", "rules.txt")
        status, body, _ = served.ask("POST", "/api/work/estimate", {"summary": "summary.json"})
        assert status == 200, body
        page = served.ask("GET", "/api/workbench")[1]
        shares = [float(one) for one in re.findall(r"([\d.]+)% right", page)]
        assert shares
        assert all(50 < one < 100 for one in shares)
        assert "They flatter the models" in page
        assert served.ask("POST", "/api/work/estimate", {"summary": "rules.txt"})[0] == 422
        assert not any(event.kind == "charged" for event in served.app.desk.refresh().events)
    finally:
        served.stop()


def test_steps_that_need_what_only_the_analyst_can_state_are_asked_for(served: Served, folder: Path) -> None:
    ages = np.arange(60).reshape(-1, 1)
    tree = DecisionTreeClassifier().fit(ages, np.where(ages[:, 0] > 57, "yes", "no"))
    write_model(as_model(tree, Domain({"age": Integer(0, 99)})), folder / "ages.json")
    served.audited("ages.json")
    identity, asked = bound(served.app.desk, "ages.json")
    page = served.ask("GET", f"/api/files/{identity}/trial")[1]
    assert "Not tried: <bdi>a copy has its thresholds at public cut points" in page
    assert "Only the analyst" in page
    (item,) = set(re.findall(r'name="items" value="([^"]+)" checked', page))
    assert served.ask("POST", f"/api/files/{identity}/ask", {**asked, "items": [item]})[0] == 200
    assert item in served.ask("GET", f"/api/queue/{identity}")[1]


def test_a_damaged_file_is_told_in_the_same_words_whatever_its_reader_says(served: Served, folder: Path) -> None:
    damaged = {"a.json": b'{"schema": "glassine.model/2" 3}', "b.skops": b"PK\x03\x04", "c.onnx": b"\x08\xff"}
    for name, data in damaged.items():
        (folder / name).write_bytes(data)
    served.audited(*damaged)
    for file in list(served.app.desk.state.files.values()):
        result = served.app.audits.result(file.now)
        if file.name in damaged and result is not None and result["kind"] == "unreadable":
            assert result["message"] == DAMAGED
            assert result["reader"]
            damaged.pop(file.name)
    assert "a.json" not in damaged


def test_a_checker_tries_steps_on_records_and_the_figures_are_for_the_note(folder: Path) -> None:
    ages = np.arange(300) % 80 + 18
    ill = np.where((ages > 57) ^ (np.arange(300) % 7 == 0), "yes", "no")
    domain = Domain({"age": Integer(0, 99, thresholds=tuple(range(5, 99, 5)))})
    tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=0).fit(ages.reshape(-1, 1), ill)
    write_model(as_model(tree, domain), folder / "ages.json")
    domain.to_json(folder / "public.json")
    rows = [f"{age},{one}" for age, one in zip(ages, ill, strict=True)]
    (folder / "records.csv").write_text("\n".join(["age,ill", *rows]) + "\n")
    served = Served(folder, OKAFOR)
    try:
        served.audited("ages.json", "public.json", "records.csv")
        identity, asked = bound(served.app.desk, "ages.json", text="Which cut points are public?")
        assert served.ask("POST", f"/api/files/{identity}/ask", asked)[0] == 200
        identity, asked = bound(served.app.desk, "ages.json", domain="public.json")
        assert served.ask("POST", f"/api/files/{identity}/answer", asked)[0] == 200
        served.audited("ages.json")
        assert "Try and measure" in served.ask("GET", f"/api/queue/{identity}")[1]
        for wrong in ({}, {"measured": "records.csv"}, {"measured": "none.csv", "predicted": "ill"}):
            assert served.ask("POST", f"/api/files/{identity}/trial", wrong)[0] == 422
        assert not any(event.kind == "seen" for event in served.app.desk.refresh().events)
        status, page, _ = served.ask(
            "POST", f"/api/files/{identity}/trial", {"measured": "records.csv", "predicted": "ill"}
        )
        assert status == 200, page
        measured = re.findall(r"Tried: [^<]*?; accuracy [\d.]+% to [\d.]+%", page)
        assert measured
        # The reply names the step, and no figure that was computed from records.
        replies = re.findall(r'data-put="([^"]*)" data-into="f-reason"', page)
        assert replies
        assert not any("%" in reply or "Tried" in reply for reply in replies)
        assert any("%" in note for note in re.findall(r'data-put="([^"]*)" data-into="f-note"', page))
        seen = [event.body for event in served.app.desk.refresh().events if event.kind == "seen"]
        assert seen == [{"model": "ages.json", "records": "records.csv"}]
    finally:
        served.stop()
