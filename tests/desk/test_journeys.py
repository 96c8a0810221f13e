"""Journeys that end in a refusal, a restart or a release, in a browser on a real server and folder."""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from glassine.desk import Desk, Person
from glassine.desk.releasing import sign
from glassine.desk.workers import Job, Workers
from glassine.privacy import Ledger
from tests.desk.conftest import choose, decide, end_desk, start_desk
from tests.desk.desks import BERG, LIND, OKAFOR, RULES, SIGNED_FOR, SMALL_RULES, Served, approve, bound, look, within
from tests.desk.submission import FILES, MODELS, write_submission, write_table

pytestmark = pytest.mark.browser


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "study 1207"
    place.mkdir()
    (place / "rules.txt").write_text(RULES)
    return place


def votes(desk: Desk) -> list[str]:
    return [event.person.account for event in desk.refresh().events if event.kind == "voted"]


def test_a_file_that_is_swapped_after_it_was_signed_is_not_released(folder: Path, open_desk: Any) -> None:
    first, second = Desk(folder, OKAFOR), Desk(folder, BERG)
    look(first)
    second.scan()
    for desk in (first, second):
        approve(desk, "rules.txt", reason="small")
    first.refresh()
    sign(first, {**SIGNED_FOR, "files": [f"{file.id}:{file.now.sha256}" for file in first.ready()]})
    page, _ = open_desk(folder)
    page.click(".top >> text=Sign off")
    page.wait_for_selector("h2:has-text('Signed, not yet written')")
    (folder / "rules.txt").write_text(SMALL_RULES)
    page.click("text=Write the release")
    page.wait_for_selector(".need:has-text('is not the file that was signed')")
    assert not (folder / "release-1").exists()
    assert first.refresh().written == {}


def test_authors_third_votes_double_clicks_and_stale_pages_are_refused(
    folder: Path, open_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassine.desk.desk.account_of", lambda number: "lind")
    (folder / "own.txt").write_text(SMALL_RULES)
    Desk(folder, LIND).scan()
    author, served = open_desk(folder, Person(account="lind", name="M. Lind", role="checker"))
    served.audited("rules.txt", "own.txt")
    author.wait_for_selector("#d:has-text('own.txt')")
    author.wait_for_selector("text=its author does not check it")
    assert author.locator("input[name=decision]").count() == 0
    # Two clicks are one vote.
    page, served = open_desk(folder)
    choose(page, "rules.txt")
    page.wait_for_selector("#verdict:not(:has-text('Being audited'))")
    page.check("input[name=decision][value=approve]")
    page.fill("#f-reason", "small and public")
    page.dblclick("button:has-text('Record my decision')")
    page.wait_for_selector("text=Approve,")
    assert votes(served.app.desk) == ["okafor"]
    # A page that is not drawn again shows an earlier state; what was written on it is kept.
    other, served = open_desk(folder, BERG)
    choose(other, "rules.txt")
    other.wait_for_selector("#verdict:not(:has-text('Being audited'))")
    state = served.ask("GET", "/api/desk")[1]
    other.route("**/api/desk", lambda route: route.fulfill(body=state, content_type="application/json"))
    other.wait_for_timeout(1200)
    identity, asked = bound(served.app.desk, "rules.txt", text="Is one person one record?")
    Desk(folder, OKAFOR).ask(identity, asked)
    other.check("input[name=decision][value=reject]")
    other.fill("#f-reason", "half a sentence")
    other.click("button:has-text('Record my decision')")
    other.wait_for_selector("text=Is one person one record?")
    assert other.input_value("#f-reason") == "half a sentence"
    assert votes(served.app.desk) == ["okafor"]
    other.unroute("**/api/desk")
    decide(other, "approve", "agreed")
    # All votes are in: a third person finds nothing to choose, and a request of the page's kind is refused.
    third, served = open_desk(folder, Person(account="third", name="T. Third", role="checker"))
    choose(third, "rules.txt")
    third.wait_for_selector("text=Approved, not signed.")
    assert third.locator("input[name=decision]").count() == 0
    served.app.desk.refresh()
    identity, asked = bound(served.app.desk, "rules.txt", decision="approve", reason="me too")
    assert served.ask("POST", f"/api/files/{identity}/vote", asked)[0] == 409
    assert votes(served.app.desk) == ["okafor", "berg"]


def test_acro_is_shown_and_what_is_released_has_its_record(folder: Path, open_desk: Any) -> None:
    write_table(folder)
    page, served = open_desk(folder)
    served.audited("table.csv")
    choose(page, "table.csv")
    page.wait_for_selector("text=please let me have it")
    page.click("text=The table")
    page.wait_for_selector("td.marked:has-text('threshold')")
    decide(page, "approve", "the group is public")
    second = Desk(folder, BERG)
    second.scan()
    approve(second, "table.csv", reason="looked at")
    page.click(".top >> text=Sign off")
    page.fill("#f-recipient", "the ministry")
    page.fill("#f-purpose", "the yearly report")
    page.check("input[name=looked]")
    page.click("text=Sign and write the release")
    written = within(lambda: (folder / "release-1" / "results.json").exists() and folder / "release-1")
    released = json.loads((written / "results.json").read_text())["results"]
    assert list(released) == ["output_0"]
    assert released["output_0"]["files"][0]["sdc"]["cells"] == {"threshold": [[0, 0]]}
    assert "please let me" not in (written / "results.json").read_text()
    # ACRO's own reader, where it is installed; without it, what it reads.
    try:
        load_records = import_module("acro.record").load_records
    except ImportError:
        assert {"status", "type", "properties", "command", "summary", "outcome"} <= set(released["output_0"])
    else:
        assert load_records(str(written)).results


def test_a_hostile_folder_is_text_in_the_browser(folder: Path, open_desk: Any) -> None:
    (folder / "a<img src=x onerror=alert(1)>.txt").write_text(RULES)
    (folder / "right\u202etxt.exe").write_text("x")
    forged = "<script>alert(1)</script><img src='http://192.0.2.1/x.png'><h1>Within policy</h1>"
    (folder / "forged.html").write_text(forged)
    (folder / "forest.pkl").write_bytes(pickle.dumps(os.getcwd))
    (folder / "bomb.json").write_text("[" * 100_000)
    (folder / "secret.json").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.json")
    entries = {"a": {"files": [{"name": "/etc/passwd"}, {"name": "../x"}], "summary": "<b>bold</b>"}}
    (folder / "results.json").write_text(json.dumps({"version": "9", "results": entries}))
    page, served = open_desk(folder)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    served.audited("rules.txt", "forged.html", "forest.pkl", "bomb.json")
    names = {file.name: file.id for file in served.app.desk.state.files.values()}
    assert not {"secret.json", "pipe.json", "passwd"} & set(names)
    page.click("summary:has-text('entries of the folder are not listed')")
    page.wait_for_selector("li:has-text('secret.json: it is a link')")
    for name, identity in names.items():
        page.evaluate("route => { location.hash = '#/queue/' + route; }", identity)
        page.wait_for_selector(f".queue a[aria-current][href='#/queue/{identity}']")
        button = page.locator("button[data-load$='/text']")
        if button.count():
            button.click()
            page.wait_for_selector("#content > *", state="attached")
        assert page.locator("main img, main script, main iframe").count() == 0, name
        assert "\u202e" not in page.content()
    page.evaluate("route => { location.hash = '#/queue/' + route; }", names["forged.html"])
    page.wait_for_selector("#d:has-text('forged.html')")
    page.wait_for_selector("#verdict:has-text('Not audited')")
    page.click("text=The file as text")
    page.wait_for_selector("pre:has-text('<h1>Within policy</h1>')")


def test_a_killed_desk_keeps_what_was_recorded(folder: Path, browser: Any) -> None:
    running, address = start_desk(folder)
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    asked: set[str] = set()
    context.on("request", lambda one: asked.add(one.url.partition("#")[0]))
    first = address.partition("#")[0]
    try:
        page.goto(address)
        page.wait_for_selector("#verdict:not(:has-text('Being audited'))")
        page.check("input[name=decision][value=changes]")
        page.fill("#f-reason", "please round")
        if page.locator("#f-author").count():
            page.fill("#f-author", "M. Lind")
        page.click("button:has-text('Record my decision')")
        page.wait_for_selector("text=Ask for changes,")
        end_desk(running)
        page.wait_for_selector("text=What you decided is recorded.")
        running, address = start_desk(folder)
        page.goto("about:blank")
        page.goto(address)
        page.wait_for_selector("text=please round")
        kinds = [event.kind for event in Desk(folder, BERG).refresh().events]
        assert kinds == ["settled", "received", "audited", "voted"]
        assert asked
        assert {url for url in asked if not url.startswith((first, address.partition("#")[0]))} == {
            "about:blank"
        } & asked
    finally:
        context.close()
        end_desk(running)


def test_no_record_is_opened_before_a_press_and_a_seen_column_ends_the_guarantee(
    folder: Path, open_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{20 + n % 50},{'yes' if n % 3 else 'no'}" for n in range(200)]
    (folder / "records.csv").write_text("\n".join(["age,ill", *lines]) + "\n")
    (folder / "ages.txt").write_text(RULES.replace("smoker", "age <= 41.5"))
    Ledger(folder / "budget.sqlite").budget("study", 3)
    opened: list[str] = []
    watching = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "open" and "records.csv" in str(arguments[0]):
            opened.append(str(arguments[0]))

    sys.addaudithook(hook)
    run = Workers.run

    async def run_job(workers: Workers, job: Job) -> Any:
        opened.extend(word for word in job.words if "records.csv" in word)
        return await run(workers, job)

    monkeypatch.setattr(Workers, "run", run_job)
    page, served = open_desk(folder, LIND)
    served.audited("ages.txt", "rules.txt")
    page.click(".top >> text=Workbench")
    page.click("a:has-text('ages.txt')")
    page.focus("#dial")
    page.keyboard.press("Home")
    page.fill("#w-epsilon", "1")
    page.click("text=Read the ledger")
    page.wait_for_selector("#left:has-text('3 of 3 (study)')")
    # It stays when the screen is drawn again.
    page.wait_for_timeout(1500)
    assert "3 of 3 (study)" in page.inner_text("#left")
    page.click("text=Draft the form from the model")
    page.wait_for_selector("[name=lo-0]")
    assert opened == []
    page.click("text=Show my records…")
    page.click("text=Show it, and mark it")
    page.wait_for_selector("text=Seen in the data: no guarantee will follow from it.")
    assert opened
    page.fill("[name=lo-0]", "0")
    page.fill("[name=hi-0]", "120")
    page.wait_for_selector("#axis-0 svg rect.barfill")
    page.click("text=Write the domain")
    written = within(lambda: next(folder.glob("*-domain.json"), None))
    domain = json.loads(written.read_text())
    domain["attributes"].append({"name": "ill", "type": "category", "values": ["no", "yes"]})
    (folder / "whole.json").write_text(json.dumps(domain))
    page.wait_for_selector("#t-domain option:has-text('whole.json')", state="attached")
    page.select_option("#t-domain", "whole.json")
    page.fill("#w-target", "ill")
    page.fill("#w-dataset", "study")
    # What was typed while the screen was drawn again may have gone to the form before.
    page.fill("#w-epsilon", "1")
    page.click("#spend")
    # A certificate would claim a guarantee that the bounds void: none is written, and nothing is charged.
    page.wait_for_selector(".need:has-text('inferred from data')")
    assert Ledger(folder / "budget.sqlite").spent("study") == 0
    del domain["attributes"][0]["inferred"]
    (folder / "public.json").write_text(json.dumps(domain))
    page.wait_for_selector("#t-domain option:has-text('public.json')", state="attached")
    page.select_option("#t-domain", "public.json")
    page.fill("#w-target", "ill")
    page.fill("#w-dataset", "study")
    # What was typed while the screen was drawn again may have gone to the form before.
    page.fill("#w-epsilon", "1")
    page.click("#spend")
    kept = within(lambda: next(folder.glob("private-tree*.certificate.json"), None))
    assert within(lambda: json.loads(kept.read_text()))["epsilon"] == 1
    assert Ledger(folder / "budget.sqlite").spent("study") == 1
    watching = False
    # Another desk on the folder, after this one was killed, knows the press: it charges once.
    *_, key = served.app.desk.refresh().charges
    again = Served(folder, LIND)
    try:
        within(lambda: again.app.desk.present())
        asked = {"key": key, "kind": "tree", "target": "ill", "account": "study", "epsilon": "1"}
        asked |= {"records": "records.csv", "domain": "public.json", "ledger": "budget.sqlite"}
        status, body, _ = again.ask("POST", "/api/work/spend", asked)
        assert (status, "charges once" in body) == (422, True)
    finally:
        again.stop()
    assert Ledger(folder / "budget.sqlite").spent("study") == 1


class Hands:
    """A person at a page: every press, choice and text counts."""

    def __init__(self, page: Any) -> None:
        self.page, self.n_actions = page, 0

    def click(self, selector: str) -> None:
        self.n_actions += 1
        self.page.click(selector)

    def choose(self, selector: str, value: str) -> None:
        self.n_actions += 1
        self.page.select_option(selector, value)

    def fill(self, selector: str, text: str) -> None:
        self.n_actions += 1
        self.page.fill(selector, text)

    def decide(self, decision: str, reason: str) -> None:
        self.click(f"input[name=decision][value={decision}]")
        self.fill("#f-reason", reason)
        self.click("button:has-text('Record my decision')")
        self.page.wait_for_selector("#decide:has-text('has voted'), .votes li:has-text('R. Okafor')")


def test_a_checker_goes_through_nine_files_without_a_terminal(folder: Path, open_desk: Any) -> None:
    (folder / "rules.txt").unlink()
    write_submission(folder)
    page, served = open_desk(folder)
    served.audited(*FILES)
    # What goes with a model waits for no decision.
    page.wait_for_selector("h2:has-text('9 files wait')")
    page.wait_for_selector("h3:has-text('Files that go with a model')")
    hands, began = Hands(page), time.perf_counter()
    # What is missing of the tree is asked for; the analyst answers, and the desk audits it again.
    hands.click(".queue a:has-text('tree.json')")
    hands.click("button:text-is('Ask')")
    page.wait_for_selector("text=Answer, as the analyst stated it")
    hands.click("input[name=one_record_per_person]")
    hands.choose("select[name=domain]", "public.json")
    hands.click("text=Record the answer")
    page.wait_for_selector("#verdict:text-is('Within policy')")
    hands.click("text=Open the report")
    page.frame_locator("iframe.report").locator("#verdict").wait_for()
    said = {
        "tree.json": ("approve", "the cut points are public"),
        "forest.skops": ("changes", "which cut points are public?"),
        "rules.txt": ("changes", "merge the rule of one record"),
        "regression.json": ("changes", "how many records?"),
        "additive.json": ("changes", "which cut points are public?"),
        "model.pkl": ("reject", "a pickle can run code"),
        "figure2.png": ("reject", "marked DO_NOT_RELEASE"),
        "table.csv": ("approve", "the group is public"),
        "damaged.json": ("changes", "copy it whole"),
    }
    assert set(said) == set(FILES)
    for name, (decision, reason) in said.items():
        hands.click(f".queue a:has-text('{name}')")
        page.wait_for_selector(f"#d:has-text('{name}')")
        if name == "additive.json":
            hands.click("button:has-text('Verify')")
            page.wait_for_selector("#content >> text=The certificate is verified")
        hands.decide(decision, reason)
    second = Desk(folder, BERG)
    second.scan()
    for name in ("tree.json", "table.csv"):
        approve(second, name, reason="agreed")
    hands.click(".top >> text=Sign off")
    page.wait_for_selector("input[name=files] >> nth=1")  # The desk has seen both approvals
    hands.fill("#f-recipient", "the ministry")
    hands.fill("#f-purpose", "the yearly report")
    hands.click("input[name=looked]")
    hands.click("text=Sign and write the release")
    written = within(lambda: (folder / "release-1" / "record.html").exists() and folder / "release-1")
    took = time.perf_counter() - began
    for name in ("tree.json", "table.csv"):
        assert (written / name).read_bytes() == (folder / name).read_bytes()
    assert {path.name for path in written.iterdir()} & set(MODELS) == {"tree.json"}
    if named := os.environ.get("GLASSINE_JOURNEY"):
        Path(named).write_text(f"{hands.n_actions} actions, {took:.1f} s of the machine\n")
    # Five seconds an action, with what it takes to read, are five minutes.
    assert hands.n_actions <= 55
    assert took < 60
