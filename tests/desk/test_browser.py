"""The desk in a browser: the journeys of checkers and analysts, by mouse and by keys, and its rules of access."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Integer, as_model
from glassine.desk import Desk
from glassine.desk.releasing import record_of
from glassine.formats import write_model
from tests.desk.conftest import choose, decide
from tests.desk.desks import BERG, LIND, OKAFOR, SMALL_RULES, approve, bound, within
from tests.desk.submission import PIXEL, write_private, write_table
from tests.models.additive_models import income_model

pytestmark = pytest.mark.browser

RULES = "if [age <= 41.5] then [true] ([23 ; 41] examples)\nelse [false] ([520 ; 90] examples)\n"
"""Rules that cannot be judged until it is known which cut points are public."""

RUN = """() => {
  document.querySelectorAll("details").forEach(fold => { fold.open = true; });
  return axe.run().then(found => found.violations.map(one => [one.impact, one.id, one.nodes.map(node => node.html)]));
}"""

# Tables that are wider than the card they are in: they would lie over what is beside it.
WIDER = """() => {
  const right = part => part.getBoundingClientRect().right;
  return [...document.querySelectorAll("section table")].filter(table => right(table) > right(table.closest("section")))
    .map(table => table.id);
}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "study 1207"
    place.mkdir()
    (place / "rules.txt").write_text(RULES)
    return place


def test_a_checker_opens_asks_answers_and_votes(folder: Path, open_desk: Any) -> None:
    page, served = open_desk(folder)
    page.wait_for_selector("#verdict:has-text('Inconclusive')")
    assert "#code" not in page.url
    assert page.title() == "To check: study 1207 – Glassine desk"
    assert page.locator("input[name=items]").count() >= 1
    page.click("button:text-is('Ask')")
    page.wait_for_selector("text=Answer, as the analyst stated it")
    page.check("input[name=one_record_per_person]")
    page.click("text=Record the answer")
    page.wait_for_selector("text=Stated, and used by the audit: No person has several training records")
    page.wait_for_selector("#verdict:has-text('Inconclusive')")
    page.click("button:has-text('Record my decision')")
    page.wait_for_selector(".need:text-matches('^A vote needs a decision')")
    page.check("input[name=decision][value=approve]")
    page.click("button:has-text('Record my decision')")
    page.wait_for_selector(".need:has-text('A reason is needed'), .need:has-text('a reason is needed')")
    assert page.evaluate("document.activeElement.name") == "reason"
    decide(page, "changes", "Please state the cut points.")
    page.wait_for_selector("text=Ask for changes,")
    (file,) = served.app.desk.refresh().files.values()
    assert [vote.reason for vote in file.now.votes] == ["Please state the cut points."]
    page.click("text=Open the report")
    frame = page.frame_locator("iframe.report")
    frame.locator("#verdict").wait_for()
    assert page.locator("iframe.report").get_attribute("sandbox") == "allow-scripts"
    page.reload()
    page.wait_for_selector("text=Ask for changes,")


def test_two_accounts_decide_in_secret_disagree_agree_sign_and_release(folder: Path, open_desk: Any) -> None:
    first, _ = open_desk(folder)
    second, served = open_desk(folder, BERG)
    for page in (first, second):
        page.wait_for_selector("#verdict:has-text('Inconclusive')")
    decide(first, "approve", "small and public")
    second.wait_for_selector("text=has decided. Shown when all have.")
    assert "small and public" not in second.content()
    second.click(".top >> text=Record")
    second.wait_for_selector("text=hidden until all votes are in")
    assert "small and public" not in second.content()
    second.click(".top >> text=To check")
    second.wait_for_selector("#f-reason")
    decide(second, "reject", "no purpose")
    second.wait_for_selector("text=Votes differ")
    first.wait_for_selector("text=no purpose")
    second.click("button:has-text('Vote again')")
    for page in (first, second):
        page.wait_for_selector("text=Record my decision")
        decide(page, "approve", "now with a purpose")
    first.click(".top >> text=Sign off")
    first.fill("#f-recipient", "the ministry")
    first.fill("#f-purpose", "the yearly report")
    first.click("text=Sign and write the release")
    first.wait_for_selector(".need:has-text('looked at')")
    first.check("input[name=looked]")
    first.click("text=Sign and write the release")
    # What was done is seen, not only read aloud, and where it was written stays on the page.
    first.wait_for_selector("#said.said-now:has-text('Written: release-1')")
    first.wait_for_selector("section[aria-labelledby=rel]:has-text('release-1')")
    within(lambda: (folder / "release-1" / "record.json").exists())
    assert (folder / "release-1" / "rules.txt").read_bytes() == (folder / "rules.txt").read_bytes()
    first.click(".top >> text=Decided")
    first.wait_for_selector("td:has-text('Released')")
    assert served.app.desk.refresh().written


def test_keys_choose_and_record_nothing(folder: Path, open_desk: Any) -> None:
    (folder / "small.txt").write_text(SMALL_RULES)
    page, served = open_desk(folder)
    page.wait_for_selector("#d:has-text('rules.txt')")
    served.audited("rules.txt", "small.txt")
    page.wait_for_selector("#verdict:has-text('Inconclusive')")
    page.keyboard.press("j")
    page.wait_for_selector("#d:has-text('small.txt')")
    page.keyboard.press("k")
    page.wait_for_selector("#d:has-text('rules.txt')")
    page.keyboard.press("c")
    assert page.is_checked("input[value=changes]")
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    page.uncheck("#single")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.wait_for_timeout(300)
    assert page.locator("#d").inner_text().endswith("rules.txt")
    assert not any(event.kind == "voted" for event in served.app.desk.refresh().events)


def test_a_draft_outlives_what_others_do(folder: Path, open_desk: Any) -> None:
    page, _ = open_desk(folder)
    page.wait_for_selector("#verdict:has-text('Inconclusive')")
    page.fill("#f-reason", "half a sentence")
    (folder / "another.txt").write_text(SMALL_RULES)
    page.wait_for_selector(".queue a:has-text('another.txt') >> text=Outside policy")
    assert page.input_value("#f-reason") == "half a sentence"
    assert page.evaluate("document.activeElement.id") == "f-reason"


def test_a_second_submission_is_compared_and_judged_together(folder: Path, open_desk: Any) -> None:
    page, served = open_desk(folder)
    served.audited("rules.txt")
    (folder / "rules.txt").write_text(RULES.replace("520", "523"))
    page.wait_for_selector("#diff:has-text('Since the 1st submission')")
    page.wait_for_selector("table.change td[data-label=Now]")
    domain = {"schema": "glassine.domain/1", "attributes": [{"name": "age", "type": "integer", "lo": 0, "hi": 120}]}
    (folder / "ages.json").write_text(json.dumps(domain))
    page.wait_for_selector(".queue a:has-text('ages.json') >> text=A domain")
    page.click("button:text-is('Ask')")
    page.select_option("select[name=domain]", "ages.json")
    page.click("text=Record the answer")
    page.wait_for_selector("text=Stated, and used by the audit")
    page.wait_for_selector("#verdict:not(:has-text('Being audited'))")
    page.click("text=Judge both together")
    page.wait_for_selector("#together >> text=ogether", timeout=90_000)
    assert "Together:" in page.inner_text("#together")


def test_the_address_works_once(folder: Path, open_desk: Any, browser: Any) -> None:
    page, served = open_desk(folder)
    page.wait_for_selector(".queue")
    context = browser.new_context()
    other = context.new_page()
    asked: set[str] = set()
    context.on("request", lambda one: asked.add(one.url))
    other.goto(served.url)
    other.wait_for_selector("text=No session in this tab")
    other.goto("about:blank")
    other.goto(served.address)
    other.wait_for_selector("text=This address was used already")
    context.close()
    assert all(url.startswith((served.url, "about:")) for url in asked)
    within(lambda: not served.thread.is_alive())
    page.wait_for_selector("text=The desk was closed")


def test_a_lost_answer_does_not_close_the_page(folder: Path, open_desk: Any) -> None:
    page, _ = open_desk(folder)
    page.wait_for_selector("#verdict:not(:has-text('Being audited'))")
    lost: list[str] = []

    def lose(route: Any) -> None:
        if len(lost) == 2:
            route.continue_()
            return
        lost.append(route.request.url)
        route.abort()

    page.route("**/api/desk", lose)
    page.wait_for_timeout(3500)
    assert len(lost) == 2
    (folder / "more.txt").write_text(SMALL_RULES)
    page.wait_for_selector(".queue a:has-text('more.txt')")


def some_files(folder: Path) -> None:
    """Write what a checker may find, without training: a list, ACRO's table, an image, a pickle, a damaged file."""
    (folder / "small.txt").write_text(SMALL_RULES)
    (folder / "forest.pkl").write_bytes(pickle.dumps([1]))
    (folder / "figure2.png").write_bytes(PIXEL)
    (folder / "damaged.json").write_text('{"schema": "glassine.model/2", ')
    write_table(folder)


def test_every_kind_of_file_is_shown_as_what_it_is(folder: Path, open_desk: Any) -> None:
    some_files(folder)
    page, served = open_desk(folder)
    served.audited("small.txt", "forest.pkl", "figure2.png", "damaged.json", "table.csv")
    for name, said in {
        "small.txt": "Outside policy",
        "forest.pkl": "Not opened: a pickle can run code",
        "figure2.png": "Marked DO_NOT_RELEASE",
        "damaged.json": "The file cannot be read as a model: it is damaged",
        "table.csv": "the group is public",
    }.items():
        choose(page, name)
        page.wait_for_selector(f"main >> text={said}")
    page.click("text=The table")
    page.wait_for_selector("td:has-text('smokers'), td.marked")
    choose(page, "figure2.png")
    assert page.is_disabled("input[value=approve]")
    page.click("text=Show the image")
    page.wait_for_selector("img.submitted")
    choose(page, "forest.pkl")
    page.click("button:text-is('Ask')")
    page.wait_for_selector("text=in a format that is no code")


def test_steps_are_tried_and_measured_on_records_that_a_checker_chooses(folder: Path, open_desk: Any) -> None:
    ages = np.arange(300) % 80 + 18
    smokes = np.where((ages > 57) ^ (np.arange(300) % 7 == 0), "yes", "no")
    tree = DecisionTreeClassifier(random_state=0).fit(ages.reshape(-1, 1), smokes)
    write_model(as_model(tree, Domain({"age": Integer(0, 99)})), folder / "ages.json")
    rows = [f"{age},{one}" for age, one in zip(ages, smokes, strict=True)]
    (folder / "records.csv").write_text("\n".join(["age,smokes", *rows]) + "\n")
    page, _ = open_desk(folder)
    choose(page, "ages.json")
    page.wait_for_selector("#verdict:not(:has-text('Being audited'))")
    page.click("summary:has-text('Audit it with records')")
    page.click("button:text-is('Try and measure')")
    page.wait_for_selector("form[data-fill] .need:has-text('needs the column that is predicted')")
    page.fill("#t-predicted", "smokes")
    page.click("button:text-is('Try and measure')")
    page.wait_for_selector("#trial :text('Tried:'), #trial :text('Not tried:')")
    # That records were read changed the record, and so the screen: what was typed stays.
    page.wait_for_timeout(1500)
    assert page.input_value("#t-predicted") == "smokes"
    assert page.locator("#trial li").count() >= 1


def test_a_checker_can_always_ask(folder: Path, open_desk: Any) -> None:
    write_table(folder)
    page, served = open_desk(folder)
    served.audited("table.csv")
    choose(page, "table.csv")
    page.click("button:text-is('Ask')")
    page.wait_for_selector("form .need:has-text('needs a text')")
    page.fill("#f-text", "Whose table is it?")
    page.click("button:text-is('Ask')")
    page.wait_for_selector("li:has-text('Whose table is it?')")
    page.fill("#a-text", "that of chapter 3")
    page.click("text=Record the answer")
    page.wait_for_selector("h2:has-text('Questions and answers')")


def test_the_copy_that_a_step_makes_is_looked_at(folder: Path, open_desk: Any) -> None:
    ages = np.arange(300) % 80 + 18
    tree = DecisionTreeClassifier(random_state=0).fit(ages.reshape(-1, 1), np.where(ages % 9 > 4, "yes", "no"))
    write_model(as_model(tree, Domain({"age": Integer(0, 99)})), folder / "ages.json")
    (folder / "public.json").write_text(
        json.dumps(
            {"schema": "glassine.domain/1", "attributes": [{"name": "age", "type": "integer", "lo": 0, "hi": 120}]}
        )
    )
    page, served = open_desk(folder)
    served.audited("ages.json", "public.json")
    choose(page, "ages.json")
    # It is outside policy, so that the audit itself asks nothing: the step does.
    page.wait_for_selector("#verdict:has-text('Outside policy')")
    page.wait_for_selector("label:has-text('Which cut points are public')")
    page.click("button:text-is('Ask')")
    page.select_option("#a-domain", "public.json")
    page.click("text=Record the answer")
    page.wait_for_selector("text=Stated, and used by the audit")
    page.wait_for_selector("#verdict:not(:has-text('Being audited'))")
    page.click("button:text-is('Try these steps')")
    page.click("#trial >> text=Look at that copy")
    copy = page.frame_locator("#copy iframe.drawing")
    copy.locator("svg").first.wait_for()
    leaves = copy.locator("svg").first.text_content()
    page.click("text=Draw the model")
    whole = page.frame_locator("#content iframe.drawing")
    whole.locator("svg").first.wait_for()
    assert whole.locator("svg").first.text_content() != leaves
    # The verdict changes the screen; the copy stays.
    (folder / "more.txt").write_text(RULES)
    page.wait_for_selector(".queue a:has-text('more.txt')")
    assert page.locator("#copy iframe.drawing").count() == 1


DROP = """([name, text]) => {
  const dropped = new DataTransfer();
  dropped.items.add(new File([text], name));
  document.getElementById("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: dropped, bubbles: true}));
}"""


def test_an_analyst_drops_a_model_says_what_is_public_reveals_less_and_sends_it(
    folder: Path, open_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassine.desk.desk.account_of", lambda number: "lind")
    (folder / "records.csv").write_text("age,ill\n3,yes\n77,no\n40,no\n")
    page, served = open_desk(folder, LIND)
    page.click(".top >> text=Workbench")
    page.wait_for_selector("text=Draft the form from the model")
    page.set_input_files("#file", {"name": "second.txt", "mimeType": "text/plain", "buffer": RULES.encode()})
    within(lambda: (folder / "second.txt").exists())
    page.evaluate(DROP, ["dropped.txt", RULES.replace("520", "521")])
    within(lambda: (folder / "dropped.txt").exists())
    page.click("text=Draft the form from the model")
    page.fill("input[name=lo-0]", "0")
    page.fill("input[name=hi-0]", "120")
    page.select_option("select[name=type-0]", "integer")
    page.fill("input[name=resolution-0]", "12")
    page.wait_for_selector("text=11 cut points. Not compared with your records.")
    page.fill("input[name=where-0]", "contract terms")
    assert not any(event.kind == "seen" for event in served.app.desk.state.events)
    page.fill("input[name=resolution-0]", "")
    page.click("text=Write the domain")
    written = within(lambda: next(folder.glob("*-domain.json"), None))
    domain = json.loads(written.read_text())
    assert domain["attributes"] == [{"name": "age", "type": "integer", "lo": 0, "hi": 120}]
    page.wait_for_selector("#w-domain option:has-text('domain.json')", state="attached")
    page.click("text=Make the copies")
    page.wait_for_selector("#stop", timeout=90_000)
    page.focus("#stop")
    before = page.inner_text("#stop-said")
    page.keyboard.press("End")
    assert page.inner_text("#stop-said") != before
    assert page.locator("#trade").count() == 0
    page.click("text=Write this copy")
    within(lambda: next(folder.glob("*-copy.json"), None))
    page.wait_for_selector("li:has-text('rules-copy.json')")
    # It is sent by being written: a checker finds it with its author, and what was dropped as well.
    checker, _ = open_desk(folder)
    for name in ("dropped.txt", "rules-copy.json"):
        choose(checker, name)
        checker.wait_for_selector("#decide ~ section:has-text('lind, the account that owns the file')")
    page.wait_for_timeout(1500)  # The page has drawn the verdict on the copy
    # A column that is looked at is marked for good, and no guarantee follows from its bounds.
    page.click("text=Show my records…")
    page.click("text=Show it, and mark it")
    page.wait_for_selector("text=Seen in the data: no guarantee will follow from it.", timeout=90_000)
    page.wait_for_selector("text=Your records: integer, 3 to 77")
    page.fill("input[name=lo-0]", "0")
    page.fill("input[name=hi-0]", "120")
    page.click("text=Write the domain")
    again = within(lambda: next(folder.glob("*-domain-2.json"), None))
    assert json.loads(again.read_text())["attributes"][0]["inferred"] is True


def test_the_chart_is_of_what_was_measured_and_its_ring_follows_the_slider(
    folder: Path, open_desk: Any, axe: str
) -> None:
    lines = [f"{20 + n % 50},{'yes' if n % 3 else 'no'}" for n in range(300)]
    (folder / "records.csv").write_text("\n".join(["age,ill", *lines]) + "\n")
    (folder / "rules.txt").write_text(
        "classes: [no] [yes]\nif [age <= 41.5] then [yes] ([80 ; 70] examples)\nelse [no] ([60 ; 90] examples)\n"
    )
    attribute = {"name": "age", "type": "integer", "lo": 0, "hi": 120}
    (folder / "ages.json").write_text(json.dumps({"schema": "glassine.domain/1", "attributes": [attribute]}))
    page, served = open_desk(folder, LIND)
    served.audited("rules.txt", "ages.json")
    page.click(".top >> text=Workbench")
    page.click("text=Also measure the copies on my records")
    page.select_option("#m-records", "records.csv")
    page.fill("#m-target", "ill")
    page.click("text=Make the copies")
    page.wait_for_selector("text=Start over", timeout=90_000)
    n_stops = page.locator("#stops tbody tr").count()
    assert page.locator("#trade .stop").count() == n_stops == 3
    page.focus("#stop")
    places = {}
    for key in ("Home", "End"):
        page.keyboard.press(key)
        places[key] = page.get_attribute("#trade .ring", "cx"), page.inner_text("[data-show=leaf]")
    assert (places["Home"][1], places["End"][1]) == ("150", "120")
    assert places["Home"][0] != places["End"][0]
    pictures, broken = os.environ.get("GLASSINE_PICTURES"), {}
    page.evaluate(axe)
    for width, scheme in SIZES:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        if pictures:
            page.screenshot(path=f"{pictures}/chart-{width}-{scheme}.png", full_page=True)
        sideways = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        if found := page.evaluate(RUN) or page.evaluate(WIDER) or sideways:
            broken[width, scheme] = found
    assert broken == {}


def test_a_note_of_the_analyst_goes_with_the_file(
    folder: Path, open_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassine.desk.desk.account_of", lambda number: "lind")
    analyst, _ = open_desk(folder, LIND)
    analyst.wait_for_selector("section[aria-labelledby=remarks]")
    analyst.fill("#f-text", "the rules of table 3")
    analyst.click("text=Record the note")
    analyst.wait_for_selector("section[aria-labelledby=remarks] >> text=stated, not checked")
    checker, _ = open_desk(folder)
    checker.wait_for_selector("section[aria-labelledby=remarks]:has-text('the rules of table 3')")
    assert checker.locator("text=Record the note").count() == 0


def test_lists_are_narrowed_and_stay_so_though_the_screen_is_drawn_again(folder: Path, open_desk: Any) -> None:
    for number in range(12):
        (folder / f"model-{number}.txt").write_text(RULES.replace("520", f"{600 + number}"))
    page, served = open_desk(folder)
    served.audited("rules.txt", "model-11.txt")
    page.fill("#find", "model-1")
    page.wait_for_selector(".queue li:visible >> nth=2")
    assert page.locator(".queue li:visible").count() == 3  # model-1, model-10, model-11
    (folder / "model-12.txt").write_text(SMALL_RULES)
    page.wait_for_selector(".queue a:visible:has-text('model-12.txt')")
    assert page.locator(".queue li:visible").count() == 4
    assert page.input_value("#find") == "model-1"
    # What waits for somebody else is folded away with one press, and j and k leave it out.
    assert page.locator("[data-whose]").count() == 0
    approve(served.app.desk, "model-11.txt", reason="small", author="M. Lind")
    page.focus("[data-whose=mine]")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-whose=mine][aria-pressed=true]")
    page.wait_for_selector(".queue a:has-text('model-11.txt')", state="hidden")
    assert page.locator(".queue li:visible").count() == 3
    (folder / "model-15.txt").write_text(SMALL_RULES)
    page.wait_for_selector(".queue a:visible:has-text('model-15.txt')")
    assert page.locator(".queue li:visible").count() == 4
    page.click("[data-whose=all]")
    page.wait_for_selector(".queue a:visible:has-text('model-11.txt')")
    (folder / "model-15.txt").unlink()
    page.wait_for_selector(".queue a:has-text('model-15.txt')", state="detached")
    # Typing goes on where it was.
    page.focus("#find")
    page.keyboard.press("Home")
    (folder / "model-13.txt").write_text(SMALL_RULES)
    page.wait_for_selector(".queue a:has-text('model-13.txt')")
    assert page.evaluate("[document.activeElement.id, document.activeElement.selectionStart]") == ["find", 0]
    page.click(".top >> text=Record")
    page.fill("#filter", "model-12")
    (folder / "model-14.txt").write_text(SMALL_RULES)
    within(lambda: any(file.name == "model-14.txt" for file in served.app.desk.state.files.values()))
    page.wait_for_selector("#events td:has-text('model-14.txt')", state="attached")
    assert {"model-12.txt" in row for row in page.locator("#events tbody tr:visible").all_inner_texts()} == {True}
    page.select_option("#evidence-file", label="model-12.txt")
    page.select_option("#evidence-form", "edpb")
    with page.expect_download() as loaded:
        page.click("text=Download the evidence")
    assert b"model-12.txt" in Path(loaded.value.path()).read_bytes()


def test_a_desk_whose_settings_changed_says_so_and_decides_nothing(folder: Path, open_desk: Any) -> None:
    page, served = open_desk(folder)
    page.wait_for_selector("#verdict:not(:has-text('Being audited'))")
    (folder / ".glassine" / "desk.toml").write_text("needed = 1\n")
    page.wait_for_selector("text=The settings of this desk changed since it was opened.")
    page.check("input[name=decision][value=reject]")
    page.fill("#f-reason", "too detailed")
    page.click("text=Record my decision")
    page.wait_for_selector("form .need:has-text('Nothing is decided under the earlier ones')")
    assert page.input_value("#f-reason") == "too detailed"
    assert not any(event.kind == "voted" for event in served.app.desk.refresh().events)


def test_the_editor_saves_a_new_file_with_its_log(folder: Path, open_desk: Any) -> None:
    write_model(income_model(), folder / "income.json")
    page, served = open_desk(folder, LIND)
    served.audited("income.json", "rules.txt")
    page.click(".top >> text=Workbench")
    page.click("a:has-text('income.json')")
    page.click("text=Open the editor")
    editor = page.frame_locator("iframe.report")
    editor.locator("#zero").wait_for()
    assert editor.locator("#export").inner_text() == "Write a new file"
    # The screen is drawn again when a file lands; the editor stays as it is.
    page.evaluate("() => { document.querySelector('h1').dataset.before = 'yes'; }")
    write_model(income_model(), folder / "later.json")
    served.audited("later.json")
    page.wait_for_selector("h1:not([data-before])")
    editor.locator("#zero").click()
    editor.locator("#export").click()
    written = within(lambda: next(folder.glob("income-edited*.json"), None))
    within(lambda: "zero" in written.read_text())
    edits = json.loads(written.read_text())["edits"]
    assert len(edits) == 1
    assert json.loads((folder / "income.json").read_text())["edits"] == []


def test_the_dial_follows_from_epsilon_alone(folder: Path, open_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassine.desk.simulation.RULES", 1)
    page, served = open_desk(folder, LIND)
    page.click(".top >> text=Workbench")
    page.wait_for_selector("#guess:has-text('73%')")
    page.focus("#dial")
    page.keyboard.press("End")
    assert page.inner_text("#guess") == "100%"
    assert page.input_value("#w-epsilon") == "10"
    page.fill("#w-epsilon", "0.1")
    assert page.inner_text("#guess") == "52%"
    # What noise costs is simulated by the same form, which keeps what was typed; the dial shows the nearest figure.
    domain = {"schema": "glassine.domain/1", "attributes": [{"name": "age", "type": "integer", "lo": 0, "hi": 120}]}
    (folder / "ages.json").write_text(json.dumps(domain))
    page.wait_for_selector("#t-domain option:has-text('ages.json')", state="attached")
    for field, text in {"#w-target": "ill", "#w-classes": "no, yes", "#w-n": "300"}.items():
        page.fill(field, text)
    page.select_option("#w-kind", "additive")
    page.click("button:text-is('Simulate')")
    page.wait_for_selector("#simulated:has-text('at epsilon 0.1')")
    assert page.input_value("#w-target") == "ill"
    assert "No record of yours was read" in page.inner_text("section[aria-labelledby=ws]")
    page.focus("#dial")
    page.keyboard.press("End")
    page.wait_for_selector("#simulated:has-text('at epsilon 10')")
    assert page.inner_text("#simulated b") == page.inner_text("tr[data-simulated='10'] td")
    assert not any(event.kind == "charged" for event in served.app.desk.refresh().events)


SIZES = [(width, scheme) for width in (1280, 400) for scheme in ("light", "dark")]


def test_every_screen_meets_the_rules_of_accessibility(folder: Path, open_desk: Any, axe: str) -> None:
    some_files(folder)
    write_private(folder / "additive.json")
    page, served = open_desk(folder)
    served.audited("rules.txt", "small.txt", "forest.pkl", "figure2.png", "damaged.json", "table.csv", "additive.json")
    pictures = os.environ.get("GLASSINE_PICTURES")
    (folder / "rules.txt").write_text(RULES.replace("520", "519").replace("23", "24"))
    domain = {"schema": "glassine.domain/1", "attributes": [{"name": "age", "type": "integer", "lo": 0, "hi": 120}]}
    (folder / "ages.json").write_text(json.dumps(domain))
    (folder / "withdrawn.txt").write_text(SMALL_RULES)
    served.audited("rules.txt", "ages.json", "withdrawn.txt")
    files = {file.name: file.id for file in served.app.desk.state.files.values()}
    begun = {"epsilon": 1.0, "dataset": "study", "ledger": "budget.sqlite", "kind": "tree"}
    served.app.workbench.trainings._tried.add("b")  # As if the folder had no room for it
    for desk in (Desk(folder, OKAFOR), Desk(folder, BERG)):
        desk.scan()
        approve(desk, "table.csv", reason="looked at every cell, and at what its neighbors say; " * 4)
    desk.turn(*bound(desk, "withdrawn.txt", action="withdraw"))
    # One that a killed desk left, one that is kept, and one that failed.
    desk.record("charged", {**begun, "key": "a", "phase": "begun"})
    (desk.own / "trained" / "b").mkdir(parents=True)
    (desk.own / "trained" / "b" / "model.json").write_text("{}")
    desk.record("charged", {**begun, "key": "b", "phase": "begun"})
    desk.record("charged", {**begun, "key": "c", "phase": "failed", "text": "Nothing was charged."})
    # What is shown on a press is looked at as well.
    presses = {
        "rules.txt": ("Judge both together", "#together >> text=Together"),
        "table.csv": ("The table", "td.marked"),
        "additive.json": ("Draw the model", "iframe.drawing"),
        "workbench": ("Make the copies", "#stop"),
        "form": ("Draft the form from the model", "input[name=lo-0]"),
        "editor": ("Open the editor", "iframe.report"),
        "keys": ("all keys", "#keys[open]"),
    }
    names = ("rules.txt", "small.txt", "table.csv", "forest.pkl", "figure2.png", "damaged.json", "additive.json")
    screens = {name: f"queue/{files[name]}" for name in names}
    screens |= {name: name for name in ("signoff", "decided", "record")}
    screens |= dict.fromkeys(("workbench", "form"), f"workbench/{files['rules.txt']}")
    screens |= {"editor": f"workbench/{files['additive.json']}", "keys": f"queue/{files['small.txt']}"}
    broken = {}
    page.evaluate(axe)
    for name, route in screens.items():
        page.evaluate("route => { location.hash = '#/' + route; }", route)
        page.wait_for_selector("h1:has-text('study 1207')")
        page.wait_for_timeout(400)
        if name in presses:
            page.click(f"text={presses[name][0]}")
            page.wait_for_selector(presses[name][1])
        for width, scheme in SIZES:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            if pictures:
                page.screenshot(path=f"{pictures}/{name}-{width}-{scheme}.png", full_page=name != "keys")
            if found := page.evaluate(RUN) or page.evaluate(WIDER):
                broken[name, width, scheme] = found
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                broken[name, width, "scrolls sideways"] = True
    record = served.app.screens.record_page(record_of(desk.refresh(), desk, "checkers"))
    released = page.context.new_page()
    released.set_content(record)
    for width, _ in SIZES:
        released.set_viewport_size({"width": width, "height": 900})
        if released.evaluate("document.documentElement.scrollWidth > innerWidth"):
            broken["record.html", width, "scrolls sideways"] = True
    assert broken == {}
