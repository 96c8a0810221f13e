"""The editor page in a browser: drag, keys, buttons, undo, the example record, export and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassine.models import AdditiveModel, CategoryBins, NumericBins, Term
from glassine.models.editing import edit, flatten, monotone, set_score, smooth, undo, verify, zero
from glassine.report.editor_page import render_editor
from tests.formats.reading import read_additive
from tests.models.additive_models import income_model, simple_model
from tests.report.test_browser import CONTRAST

pytestmark = pytest.mark.browser


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Open an editor; whatever it complains of or asks for is an error."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def open_page(model: AdditiveModel, *, width: int = 1280, height: int = 900, scheme: str = "light") -> Any:
        path = tmp_path / "editor.html"
        path.write_text(render_editor(model), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((path.as_uri(), "blob:")) else complaints.append(request.url)
            ),
        )
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def exported(page: Any, folder: Path) -> AdditiveModel:
    """Return what the page exports, read back by Python, its log checked."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Export JSON").click()
    path = folder / "exported.json"
    download.value.save_as(path)
    model = read_additive(path)
    verify(model)
    return model


def choose(page: Any, name: str) -> None:
    page.locator("#terms button").filter(has=page.get_by_text(name, exact=True)).click()


def drag(page: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag within the drawing, by shares of its width and height."""
    box = page.locator("#plot").bounding_box()
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)]
    page.mouse.move(*points[0])
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(*(a + (b - a) * step / 5 for a, b in zip(*points, strict=True)))
    page.mouse.up()


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def log(page: Any) -> list[str]:
    return [str(text) for text in page.locator("#log .what").all_inner_texts()]


def test_untouched_it_exports_the_very_model(show: Any, tmp_path: Path) -> None:
    model = monotone(income_model(), "age", reason="lore")
    assert exported(show(model), tmp_path) == model


def test_a_dragged_bin_is_one_edit_that_can_be_undone(show: Any, tmp_path: Path) -> None:
    model = income_model()
    page = show(model)
    choose(page, "gain")
    before = page.locator("#answer").get_attribute("data-score")
    drag(page, (0.1, 0.5), (0.1, 0.3))
    assert len(log(page)) == 1
    page.get_by_label("Reason for edit 1").fill("a tax rule")
    after = exported(page, tmp_path)
    record = after.edits[0]
    assert (record.action, record.term, record.cells, record.reason) == ("set", "gain", (0,), "a tax rule")
    assert record.after[0] > record.before[0]
    assert undo(after) == model
    assert page.locator("#answer").get_attribute("data-score") != before
    press(page, "Undo")
    assert log(page) == []
    assert page.locator("#answer").get_attribute("data-score") == before
    assert exported(page, tmp_path) == model
    press(page, "Redo")
    assert exported(page, tmp_path).terms == after.terms


def test_a_dragged_range_moves_together(show: Any, tmp_path: Path) -> None:
    model = income_model()
    page = show(model)
    choose(page, "age")
    drag(page, (0.3, 0.5), (0.45, 0.5))
    assert log(page) == []
    first, last = (int(page.locator(f"#{name}").input_value()) for name in ("first", "last"))
    assert last - first >= 2
    drag(page, (0.38, 0.5), (0.38, 0.6))
    after = exported(page, tmp_path)
    record = after.edits[0]
    assert record.action == "shift"
    assert record.cells == tuple(range(first, last + 1))
    by = dict(record.parameters)["by"]
    assert isinstance(by, float)
    assert by < 0
    assert edit(model, "shift", "age", {"first": first, "last": last, "by": by}) == after


BUTTONS = {
    "Make increasing": lambda model, term: monotone(model, term),
    "Make decreasing": lambda model, term: monotone(model, term, "decreasing"),
    "Smooth": lambda model, term: smooth(model, term),
    "Flatten": lambda model, term: flatten(model, term),
    "Zero the term": lambda model, term: zero(model, term),
}


@pytest.mark.parametrize("name", BUTTONS)
def test_buttons_do_to_the_last_digit_what_python_does(show: Any, tmp_path: Path, name: str) -> None:
    random = np.random.default_rng(len(name))
    model = simple_model(random.normal(size=60), random.normal(30, 60, size=60))
    page = show(model)
    press(page, name)
    assert exported(page, tmp_path) == BUTTONS[name](model, "x")


def test_a_chosen_range_is_put_in_order_alone(show: Any, tmp_path: Path) -> None:
    model = income_model()
    page = show(model)
    choose(page, "age")
    page.locator("#first").select_option("4")
    page.locator("#last").select_option("12")
    page.get_by_label("Reason for the next edit").fill("as \u201cexpected\u201d \ud83d\ude00")
    press(page, "Make decreasing")
    press(page, "Smooth")
    expected = monotone(model, "age", "decreasing", (4, 12), reason="as \u201cexpected\u201d \U0001f600")
    assert exported(page, tmp_path) == smooth(expected, "age", (4, 12))


def test_keys_choose_move_and_undo(show: Any, tmp_path: Path) -> None:
    model = income_model()
    page = show(model)
    choose(page, "hours")
    page.locator("#plot").focus()
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowRight", "ArrowUp", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    assert len(log(page)) == 1
    assert "38 to 42" in page.locator("#plot").get_attribute("aria-valuetext")
    after = exported(page, tmp_path)
    record = after.edits[0]
    assert (record.action, record.cells) == ("shift", (2, 3))
    assert edit(model, "shift", "hours", dict(record.parameters)) == after
    page.locator("#plot").focus()
    page.keyboard.press("Control+z")
    assert exported(page, tmp_path) == model
    page.keyboard.press("Control+y")
    assert exported(page, tmp_path) == after
    page.locator("#plot").focus()
    page.keyboard.press("End")
    assert page.locator("#plot").get_attribute("aria-valuetext").startswith("missing")


def test_a_typed_score_and_a_cell_of_a_pair(show: Any, tmp_path: Path) -> None:
    model = income_model()
    page = show(model)
    choose(page, "hours & married")
    page.locator("#first").select_option(label="38 to 42")
    page.locator("#last").select_option(label="1")
    page.get_by_label("Score", exact=True).fill("-0")
    press(page, "Set")
    assert page.get_by_role("button", name="Smooth").is_disabled()
    expected = set_score(model, "hours & married", ("38 to 42", "1"), 0.0)
    assert exported(page, tmp_path) == expected
    page.locator("#plot").focus()
    page.keyboard.press("ArrowDown")
    assert "42 to 50 & 1" in page.locator("#plot").get_attribute("aria-valuetext")
    page.get_by_label("Score", exact=True).fill("")
    press(page, "Set")
    assert "Give a number" in page.locator("#status").inner_text()
    assert exported(page, tmp_path) == expected


def test_missing_and_undeclared_values_of_an_example_record_are_told_apart(show: Any) -> None:
    bins = CategoryBins("job", (("clerk",), ("cook", None)))
    term = Term(bins=(bins,), scores=np.array([1.0, 2.0, 4.0]), weights=np.array([5.0, 9.0, 1.0]))
    plain = Term(bins=(NumericBins("age", (40.0,)),), scores=np.array([0.25, 0.5, 0.0]))
    page = show(AdditiveModel(attributes=("job", "age"), terms=(term, plain), intercept=(0.0,), link="identity"))
    field = page.locator("#record").get_by_label("job", exact=True)
    page.locator("#record").get_by_label("age", exact=True).fill("50")
    for label, score in (("missing", 2.5), ("other", 4.5), ("cook", 2.5), ("clerk", 1.5)):
        field.select_option(label=label)
        assert float(page.locator("#answer").get_attribute("data-score")) == score


def test_the_example_record_is_scored_as_python_scores_it(show: Any, tmp_path: Path) -> None:
    page = show(income_model())
    values: dict[str, Any] = {"age": 20.0, "hours": 38.5, "gain": float("nan"), "job": "sales", "married": None}
    for name, value in values.items():
        field = page.locator("#record").get_by_label(name, exact=True)
        if name in ("job", "married"):
            field.select_option(label="missing or other" if value is None else value)
        else:
            field.fill("" if value != value else str(value))
    choose(page, "age")
    press(page, "Flatten")
    model = exported(page, tmp_path)
    columns = {
        name: np.array([value], dtype=object if name in ("job", "married") else float) for name, value in values.items()
    }
    assert float(page.locator("#answer").get_attribute("data-score")) == model.scores(columns)[0, 0]
    shares = [float(text) for text in page.locator("#answer").get_attribute("data-shares").split(",")]
    assert shares == pytest.approx(model.predict_proba(columns)[0].tolist(), rel=1e-12)
    assert page.locator(".adds li.changed").count() == 1


def three_classes() -> AdditiveModel:
    """Return a model with a score for each of three classes."""
    random = np.random.default_rng(1)
    number, group = NumericBins("x", tuple(range(1, 9))), CategoryBins("g", (("a", 1), (2.5,)))
    terms = (
        Term(bins=(number,), scores=random.normal(size=(10, 3)), weights=random.uniform(0, 50, 10)),
        Term(bins=(group,), scores=random.normal(size=(3, 3))),
        Term(bins=(group, number), scores=random.normal(size=(3, 10, 3))),
    )
    return AdditiveModel(
        attributes=("x", "g"),
        terms=terms,
        intercept=(0.1, 0.2, 0.3),
        link="softmax",
        classes=("red", "</script>", 9007199254740993),
    )


def test_one_class_of_three_is_edited(show: Any, tmp_path: Path) -> None:
    model = three_classes()
    page = show(model)
    choose(page, "x")
    page.get_by_label("Class").select_option("2")
    press(page, "Make increasing")
    assert exported(page, tmp_path) == monotone(model, "x", output=2)
    choose(page, "g & x")
    page.get_by_label("Score", exact=True).fill("1e21")
    press(page, "Set")
    press(page, "Zero the term")
    expected = set_score(monotone(model, "x", output=2), "g & x", (0, 0), 1e21, output=2)
    assert exported(page, tmp_path) == zero(expected, "g & x", output=2)
    press(page, "Take back all")
    assert exported(page, tmp_path) == model


def test_a_reason_that_is_no_text_does_not_spoil_the_file(show: Any, tmp_path: Path) -> None:
    page = show(income_model())
    page.evaluate("document.getElementById('reason').value = 'a\\udc00\\udc00\\ud83d\\ude00\\ud800'")
    press(page, "Zero the term")
    assert exported(page, tmp_path).edits[0].reason == "a\ufffd\ufffd\U0001f600\ufffd"


def test_the_effect_shows_while_dragging_and_escape_takes_it_back(show: Any, tmp_path: Path) -> None:
    model = income_model()
    page = show(model)
    choose(page, "gain")
    before = page.locator("#answer").get_attribute("data-score")
    box = page.locator("#plot").bounding_box()
    x, y = box["x"] + 0.15 * box["width"], box["y"] + 0.5 * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 10)
    page.mouse.move(x, y - 60)
    assert page.locator("#answer").get_attribute("data-score") != before
    page.keyboard.press("Escape")
    page.mouse.up()
    assert page.locator("#answer").get_attribute("data-score") == before
    assert exported(page, tmp_path) == model


def test_a_log_that_came_along_can_be_taken_back(show: Any, tmp_path: Path) -> None:
    model = income_model()
    edited = zero(set_score(monotone(model, "age"), "job", 1, 0.5, reason="why"), "gain")
    page = show(edited)
    assert len(log(page)) == 3
    press(page, "Undo")
    press(page, "Undo")
    assert exported(page, tmp_path) == monotone(model, "age")
    press(page, "Redo")
    press(page, "Redo")
    assert exported(page, tmp_path) == edited


def test_thousands_of_bins_are_drawn_and_edited(show: Any, tmp_path: Path) -> None:
    model = simple_model(np.sin(np.arange(4002) / 200), np.full(4002, 3.0))
    page = show(model)
    press(page, "Make increasing")
    assert exported(page, tmp_path) == monotone(model, "x")


def test_a_model_without_terms_opens(show: Any) -> None:
    page = show(AdditiveModel(attributes=(), terms=(), intercept=(0.0,), link="identity"))
    assert "no term" in page.locator("#status").inner_text()


@pytest.mark.parametrize("width", [360, 390, 800, 1280])
def test_nothing_runs_over_the_side(show: Any, width: int) -> None:
    page = show(monotone(income_model(), "age"), width=width)
    for name in ("age", "job", "hours & married"):
        choose(page, name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_contrasts_with_its_ground(show: Any, scheme: str) -> None:
    page = show(monotone(income_model(), "age"), scheme=scheme)
    choose(page, "age")
    page.locator("#table").evaluate("e => e.parentElement.open = true")
    page.wait_for_selector("#table td")
    page.evaluate("document.querySelectorAll('button:disabled').forEach(e => e.remove())")
    seen, low = page.evaluate(CONTRAST)
    assert seen > 60
    assert low == []


def test_every_control_has_a_name_and_shows_its_focus(show: Any) -> None:
    page = show(monotone(income_model(), "age"))
    choose(page, "age")
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input, select, button')].filter(e => !(e.labels && e.labels.length)"
        " && !e.getAttribute('aria-label') && !e.textContent.trim()).map(e => e.outerHTML)"
    )
    assert unnamed == []
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            "[document.activeElement.id, parseFloat(getComputedStyle(document.activeElement).outlineWidth)]"
        )
        seen.add(name)
        assert outline >= 1 or name == ""
    assert {"plot", "undo", "export", "value", "increasing", "reason"} <= seen


def test_the_page_is_quiet_for_who_wants_no_motion(show: Any) -> None:
    page = show(income_model())
    page.emulate_media(reduced_motion="reduce")
    assert page.locator(".fill").first.evaluate("e => getComputedStyle(e).transitionDuration") == "0s"


def test_the_exported_text_is_plain_json(show: Any, tmp_path: Path) -> None:
    page = show(three_classes())
    exported(page, tmp_path)
    text = (tmp_path / "exported.json").read_text()
    # A number that no double equals, and one that is a whole float, leave the page as they came.
    assert "9007199254740993" in text
    assert json.loads(text)["kind"] == "additive"


def test_a_bin_of_missing_values_is_drawn_once_it_says_something(show: Any) -> None:
    """No record had a missing value, and each drawing ended in an empty slot."""
    term = Term(bins=(NumericBins("age", (40.0,)),), scores=np.array([0.25, 0.5, 0.0]), weights=np.array([5.0, 9, 0]))
    page = show(AdditiveModel(attributes=("age",), terms=(term,), intercept=(0.0,), link="identity"))
    slot = page.locator("#plot").get_by_text("missing", exact=True)
    assert slot.count() == 0
    # The two bins fill the axis: a click at its right end is in the second.
    bounds = page.locator("#plot").bounding_box()
    page.mouse.click(bounds["x"] + bounds["width"] - 14, bounds["y"] + 40)
    assert page.locator("#plot").get_attribute("aria-valuetext").startswith("> 40")
    field = page.locator("#record").get_by_label("age", exact=True)
    field.fill("")
    assert slot.count() == 1
    field.fill("50")
    assert slot.count() == 0
    # Whoever gives it a score sees it, and goes on to see it when something else is chosen.
    page.locator("#first").select_option(label="missing")
    assert slot.count() == 1


def wide_model(n: int = 30) -> AdditiveModel:
    """Return a model of many attributes, with months and long names."""
    names = ("InternetServiceOfTheHousehold", "months_since_last_payment", *(f"value_{i}" for i in range(n)))
    months = CategoryBins("month", (("jan",), ("feb",), ("mar",), ("apr",)))
    terms = (
        Term(bins=(months,), scores=np.array([0.1, 0.2, 0.3, 0.4, 0.0])),
        *(Term(bins=(NumericBins(name, (1.0,)),), scores=np.array([-0.5, 0.5, 0.0])) for name in names),
    )
    return AdditiveModel(
        attributes=("month", *names), terms=terms, intercept=(0.0,), link="logit", classes=("no", "yes")
    )


@pytest.mark.parametrize("width", [1280, 400])
def test_all_of_a_wide_model_can_be_reached(show: Any, width: int) -> None:
    page = show(wide_model(), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Every attribute has a field, every term what it adds: the smaller ones are folded away.
    assert page.locator("#record .field").count() == page.locator("#adds li").count() == 33
    assert page.locator("#adds details summary").inner_text() == "21 smaller terms"
    assert page.locator("[data-attribute=month] option").all_inner_texts()[:4] == ["jan", "feb", "mar", "apr"]
    page.fill("#find", "Payment")
    assert page.locator("#terms li:visible").all_text_contents()[0].startswith("months_since_last_payment")
    assert page.locator("#record .field:visible").count() == 1
    assert page.inner_text("#found") == "1 of 33 terms shown."
    page.fill("#find", "")
    assert page.locator("#terms li:visible").count() == 33


def test_names_break_between_their_words(show: Any) -> None:
    page = show(wide_model())
    # Each piece of a name is on one line.
    broken = page.evaluate(
        """() => [...document.querySelectorAll("bdi")].flatMap((name) => [...name.childNodes])
            .filter((piece) => piece.nodeType === 3 && piece.data.trim() && !/\\s/.test(piece.data))
            .filter((piece) => {
                const range = document.createRange();
                range.selectNodeContents(piece);
                return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
            })
            .map((piece) => piece.data)"""
    )
    assert broken == []


def test_a_narrow_model_has_nothing_to_find(show: Any) -> None:
    page = show(income_model())
    assert page.is_hidden("#finder")
