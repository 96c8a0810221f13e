"""The page for a subject in a browser: typed, answered, refused, by keyboard, on a phone's width."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from glassine.domain import Binary, Domain, ExactlyOne, Integer, OneOf
from glassine.models import Branch, DecisionTree, Evidence, Node
from glassine.server import Limits, ReleaseFile, create_app, listen
from glassine.surrogates import NumericAnswer, SurrogateExplainer, SurrogateRelease
from glassine.surrogates.distances import DomainMetric
from tests.report.test_browser import CONTRAST
from tests.server.releases import DOMAIN, QUERY, decide, records, small_release

pytestmark = pytest.mark.browser

NAMES = list(QUERY)


def one_leaf_release(form: str) -> SurrogateRelease:
    """Return a release whose trees have one leaf each, among records of which one in ten is an exception."""
    frame = records(200)
    black_box = np.array(["no", "yes"])[(np.arange(200) % 10 == 0).astype(int)]
    explainer = SurrogateExplainer(
        lambda asked: np.full(len(asked), "no") if len(asked) != 200 else black_box,
        100,
        domain=DOMAIN,
        form=form,
        distance="gower",
        max_depth=1,
        min_samples_leaf=100,
        random_state=0,
    )
    return explainer.fit(frame, black_box if form == "paper" else None).release()


def price(frame: Any) -> Any:
    """Answer with a number."""
    return frame["age"] * 3.7 + frame["hours"].fillna(0.0)


def release_of_means() -> SurrogateRelease:
    """Return the release of an explainer of :func:`price`."""
    answer = NumericAnswer(lo=0, hi=500, step=1, tolerance=40)
    return SurrogateExplainer(price, 20, domain=DOMAIN, answer=answer, distance="gower").fit(records()).release()


class Served:
    """A service on a thread of this process."""

    def __init__(
        self, black_box: Any = decide, *, limits: Limits | None = None, form: str = "restricted", release: Any = None
    ) -> None:
        import uvicorn

        release = release or small_release(form)
        file = ReleaseFile(release=release, content=json.dumps(release.to_dict()).encode(), public_key=None)
        app = create_app(
            file,
            black_box=black_box,
            takes="pandas" if black_box in (decide, price) else None,
            limits=limits or Limits(rate=math.inf, total_rate=math.inf),
            title="Loans & <advances>",
        )
        self.socket = listen("127.0.0.1", 0)
        self.server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"

    def stop(self) -> None:
        """Stop it and wait."""
        self.server.should_exit = True
        self.thread.join()
        self.socket.close()


@pytest.fixture
def serve() -> Iterator[Any]:
    running: list[Served] = []

    def start(*arguments: Any, **options: Any) -> str:
        running.append(Served(*arguments, **options))
        return running[-1].url

    yield start
    for served in running:
        served.stop()


@pytest.fixture
def show(browser: Any) -> Iterator[Any]:
    """Open the page; whatever it complains of, or asks for elsewhere, is an error."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def open_page(url: str, *, width: int = 1280, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(url) else complaints.append(request.url))
        page.on(
            "console",
            lambda message: None if "Failed to load resource" in message.text else complaints.append(message.text),
        )
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def fill(page: Any, **changes: Any) -> None:
    query = {**QUERY, **changes}
    page.fill("#f0", str(query["age"]))
    page.fill("#f1", "" if query["hours"] is None else str(query["hours"]))
    page.select_option("#f2", label=query["work"])
    page.select_option("#f3", label=str(query["member"]))


def ask(page: Any) -> None:
    with page.expect_response(lambda response: response.url.endswith("/explanation")):
        page.click("#ask")
    page.wait_for_selector("#ask:enabled")  # the answer is drawn in the task that enables the button
    page.wait_for_selector("#answer:not([hidden])")


def test_an_example_is_typed_and_answered(serve: Any, show: Any) -> None:
    release = small_release()
    first = next(group for group, tree in enumerate(release.trees) if len(tree.nodes) > 1)
    page = show(serve(release=release))
    with page.expect_response(lambda response: response.url.endswith("/explanation")) as asked:
        page.click("#example")
    page.wait_for_selector("#answer:not([hidden])")
    told = asked.value.json()
    # The first representative whose tree has a path; the answer may come from a close group that decides the same.
    assert page.input_value("#f0") == str(round(float(str(release.representative(first)["age"]))))
    # The page names a group as the release, the interface and messages do.
    assert page.text_content("#representative-said").startswith(f"Group {told['group']}, ")


@pytest.mark.parametrize(("form", "said"), [("paper", True), ("restricted", False)])
def test_a_tree_of_one_leaf_says_how_many_it_does_not_fit_where_it_publishes_that(
    serve: Any, show: Any, form: str, said: bool
) -> None:
    release = one_leaf_release(form)
    page = show(serve(release=release))
    fill(page)
    ask(page)
    counts = (
        release.trees[int(page.text_content("#representative-said").split()[1].strip(","))].nodes[0].evidence.counts
    )
    assert (counts is not None) == said
    expected = f"{min(counts or (0,))} of {sum(counts or ())} records in this group have another label."
    assert page.text_content("#way").endswith(expected if said else "for every record near yours.")


def test_an_answer(serve: Any, show: Any) -> None:
    url = serve()
    page = show(url)
    assert page.text_content("h1") == "Loans & <advances>"
    assert page.is_hidden("#answer")
    for age in (25, 60, 85):
        fill(page, age=age)
        ask(page)
        told = page.request.post(url + "explanation", data={"query": {**QUERY, "age": age}}).json()
        assert page.text_content("#decided") == told["decision"]
        for condition in told["conditions"]:
            assert condition in page.text_content("#way")
        assert page.locator("#tree li").count() == len(told["tree"]["nodes"])
        assert page.locator("#tree li.way").count() == len(told["path"])
        assert page.locator("#tree .taken").first.text_content() == f"then {told['tree_decision']}"
        both = [*told["contrasts"], *told["candidates"]]
        assert page.locator("#contrasts li").count() == len(both)
        # What the black box refutes is folded away, below.
        for i, contrast in enumerate(both):
            item = page.locator("#contrasts li").nth(i)
            assert all(change["condition"] in item.text_content() for change in contrast["changes"])
            assert ("decides so too" in item.text_content()) is contrast["confirmed"]
            assert item.is_visible() is contrast["confirmed"]
        assert page.locator("#representative tbody tr").count() == len(NAMES)
        assert page.locator("#reveals li").all_text_contents() == told["reveals"]
    assert page.evaluate("document.activeElement.id") == "answer"


def test_what_the_black_box_refutes_is_no_advice(serve: Any, show: Any) -> None:
    page = show(serve(lambda asked: np.full(len(asked), "no")))
    for age in (25, 60, 85):
        fill(page, age=age)
        ask(page)
        if page.locator("#contrasts li").count():
            break
    assert "No change was found that the black box confirms." in page.inner_text("#contrasts")
    assert not page.locator("#contrasts li").first.is_visible()
    page.click("#contrasts summary")
    assert "The black box itself does not decide so." in page.inner_text("#contrasts")


def test_a_missing_value_and_odd_names(serve: Any, show: Any) -> None:
    page = show(serve())
    fill(page, hours=None, work='<none> & "co"')
    ask(page)
    cells = page.locator("#representative tbody tr td:nth-child(2)").all_text_contents()
    assert cells == ["40", "not known", '<none> & "co"', "1"]


def test_values_that_are_refused_before_they_are_sent(serve: Any, show: Any) -> None:
    page = show(serve())
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.click("#ask")
    assert page.locator(".error:not([hidden])").all_text_contents() == [
        "Type a number.",
        "Choose a value.",
        "Choose a value.",
    ]
    assert page.evaluate("document.activeElement.id") == "f0"
    fill(page, age=16)
    page.click("#ask")
    assert page.text_content("#e0") == "Type a number from 17 to 90."
    assert page.get_attribute("#f0", "aria-invalid") == "true"
    fill(page, age=40.5)
    page.click("#ask")
    assert page.text_content("#e0") == "Type a whole number."
    assert sent == []
    fill(page)
    ask(page)
    assert page.get_attribute("#f0", "aria-invalid") == "false"


def test_refusals_are_told(serve: Any, show: Any) -> None:
    page = show(serve(limits=Limits(rate=0.01, burst=2)))
    fill(page)
    ask(page)
    with page.expect_response(lambda response: response.status == 429):
        page.click("#ask")
    page.locator("#status.bad").wait_for()
    assert "Ask again later." in page.text_content("#status")
    assert page.is_hidden("#answer")


def test_without_a_black_box(serve: Any, show: Any) -> None:
    page = show(serve(None))
    for decision in ("yes", "no"):
        fill(page)
        page.select_option("#decision", label=decision)
        ask(page)
        assert page.text_content("#decided") == decision
    assert "decides so too" not in page.text_content("#contrasts")
    # What nobody asked the black box is not said to change its decision.
    assert "What would have to change" not in page.inner_text("#answer")
    assert "The black box was not asked." in page.inner_text("#contrasts")
    assert page.locator("#contrasts li").first.is_visible()


def test_what_may_change_is_said_on_the_page(serve: Any, show: Any) -> None:
    url = serve()
    page = show(url)
    fill(page)
    ask(page)

    def asked(body: dict[str, Any]) -> list[Any]:
        told = page.request.post(url + "explanation", data=body).json()
        return [*told["contrasts"], *told["candidates"]]

    free = asked({"query": QUERY})
    changed = NAMES.index(free[0]["changes"][0]["attribute"])
    page.click("#constraints summary")
    # A category has no order.
    assert page.locator("#m2 option").all_text_contents() == ["change freely", "not change"]
    assert page.locator("#m0 option").count() == 4
    page.select_option(f"#m{changed}", label="not change")
    ask(page)
    body = {"query": QUERY, "constraints": {"fixed": [NAMES[changed]]}}
    wanted = asked(body)
    assert page.locator("#contrasts li").count() == len(wanted) < len(free)
    page.select_option(f"#m{changed}", label="change freely")
    page.fill("#c0", "0")
    page.click("#ask")
    assert page.text_content("#d0") == "Type a number above 0."
    page.fill("#c0", "50")
    ask(page)
    assert "smallest cost first" in page.text_content("#contrasts")
    assert page.locator("#contrasts li").first.text_content().count("Cost ") == 1
    page.fill("#c0", "")
    for i in range(len(NAMES)):
        page.select_option(f"#m{i}", label="not change")
    ask(page)
    assert page.text_content("#contrasts") == (
        "No change that you allow was found to lead the small tree to another decision."
    )


def test_numbers_are_shown_as_they_are(serve: Any, show: Any) -> None:
    """Labels and incomes of seven digits are no measurements that may be rounded."""
    domain = Domain({"income": Integer(1_000_000, 2_000_000, thresholds=(1_234_567.5,))})

    def codes(X: Any) -> Any:
        return np.where(np.asarray(X, dtype=float)[:, 0] > 1_234_567.5, 20_260_102, 20_260_101)

    X = np.linspace(1_000_000, 2_000_000, 400).round()[:, None]
    release = SurrogateExplainer(codes, 400, domain=domain).fit(X).release()
    page = show(serve(codes, release=release))
    page.fill("#f0", "1234567")
    ask(page)
    assert page.text_content("#decided") == "20260101"
    assert page.locator("#tree .node").all_text_contents()[1:] == ["income <= 1234567.5", "income > 1234567.5"]
    assert "20260102 if income > 1234567.5 (1234567 now, for example 1234568)" in page.text_content("#contrasts")
    assert page.locator("#representative tbody td").all_text_contents()[0] == "1234567"


def test_a_tree_of_two_decisions_is_not_said_to_have_one(serve: Any, show: Any) -> None:
    """No possible record reaches the other leaf: the tie between the attributes forbids it."""
    domain = Domain({"a": Binary(), "b": Binary()}, groups=ExactlyOne(("a", "b")))
    classes = ("no", "yes")
    nodes = (
        Node(branches=(Branch(OneOf("a", (1,)), 1), Branch(OneOf("a", (1,), negated=True), 2))),
        Node(branches=(Branch(OneOf("b", (1,)), 3), Branch(OneOf("b", (1,), negated=True), 4))),
        Node(evidence=Evidence(label=0)),
        Node(evidence=Evidence(label=1)),
        Node(evidence=Evidence(label=0)),
    )
    safe = small_release()
    release = SurrogateRelease(
        domain=domain,
        classes=classes,
        metric=DomainMetric(distance="gower", scales=(1.0, 1.0)),
        representatives=((1, 0),),
        trees=(DecisionTree(nodes, domain.names, classes),),
        k=2,
        n_closest=1,
        provenance=safe.provenance,
    )
    page = show(serve(None, release=release))
    for field, value in (("#f0", "1"), ("#f1", "0"), ("#decision", "no")):
        page.select_option(field, label=value)
    ask(page)
    assert page.text_content("#contrasts") == (
        "No change that the described values allow was found to lead the small tree to another decision."
    )


def test_large_trees_are_folded(serve: Any, show: Any) -> None:
    page = show(serve(form="paper"))
    fill(page)
    ask(page)
    assert page.locator("#tree li").count() >= 1
    assert "shows where the values of single records lie" in page.text_content("#reveals")


def test_by_keyboard_alone(serve: Any, show: Any) -> None:
    page = show(serve())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    page.keyboard.type("40")
    page.keyboard.press("Tab")
    page.keyboard.type("35.5")
    page.keyboard.press("Tab")
    page.keyboard.type("private")
    page.keyboard.press("Tab")
    page.keyboard.type("1")
    with page.expect_response(lambda response: response.url.endswith("/explanation")):
        for _ in range(4):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "ask":
                page.keyboard.press("Enter")
                break
    page.wait_for_selector("#answer:not([hidden])")
    assert page.text_content("#decided") in ("yes", "no")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(serve: Any, show: Any, scheme: str) -> None:
    page = show(serve(), width=360, scheme=scheme)
    fill(page)
    ask(page)
    page.click("#constraints summary")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    # No table is cut: its columns stand below each other, each value with the name of its column.
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every((one) => one.scrollWidth <= one.clientWidth)")
    assert page.locator("#representative td").first.get_attribute("data-label") == "Yours"
    heights = page.evaluate(
        "[...document.querySelectorAll('#query input:not([type=checkbox]), #query select, #query button')]"
        ".map((element) => element.getBoundingClientRect().height)"
    )
    assert min(heights) >= 44
    seen, low = page.evaluate(CONTRAST)
    assert seen > 30
    assert low == []


def test_a_number_is_explained_with_its_mean_and_a_goal(serve: Any, show: Any) -> None:
    page = show(serve(price, release=release_of_means()))
    fill(page)
    page.click("#constraints summary")
    page.fill("#at_least", "250")
    ask(page)
    assert page.inner_text("#decision-h") == "Answer: 183.5"
    assert "within 40 of it" in page.inner_text("#said")
    assert "on average" in page.inner_text("#way")
    assert "mean " in page.inner_text("#tree")
    means = [
        int(text.removeprefix("Mean ").replace(",", "")) for text in page.locator("#contrasts strong").all_inner_texts()
    ]
    assert means
    assert min(means) >= 250
    assert "also what you asked for" in page.inner_text("#contrasts")
    page.fill("#at_least", "1")
    ask(page)
    assert "is so already" in page.inner_text("#contrasts")


def test_without_a_black_box_the_number_to_explain_is_typed(serve: Any, show: Any) -> None:
    page = show(serve(None, release=release_of_means()))
    fill(page)
    page.click("#ask")
    assert page.inner_text("#decision-e") == "Type a number."
    page.fill("#decision", "180.25")
    ask(page)
    assert page.inner_text("#decision-h") == "Answer: 180.25"
