from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from glassine.attacks.outcome import About, Below, Hidden, Measured
from glassine.auditing.findings import AttributeFinding, DomainSummary, Findings, InputFile, SubgroupBitsFinding
from glassine.auditing.remedy import Remedy
from glassine.report import render_html
from tests.report.builders import (
    HOSTILE,
    RECONSTRUCTION,
    balanced_tree,
    chain,
    findings,
    large_findings,
    part,
    private_findings,
    rule_findings,
    several_findings,
    unknown_findings,
)

VOID = {"meta", "br", "img", "link", "input", "hr"}
EMPTY_ALLOWED = {"path", "rect", "line", "circle", "use"}


class Page(HTMLParser):
    """Reads a page, checks that its tags are balanced, and keeps elements, ids and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(attrs) == len(dict(attrs)), f"an attribute of <{tag}> stands twice"
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in EMPTY_ALLOWED
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.stack):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))


DOMAIN = DomainSummary(n_attributes=3, n_groups=1, inferred=(), bits_independent=15.0, bits_domain_aware=12.0)
FILES = (InputFile(role="model", name="tree.json", sha256="0f" * 32),)
SUBGROUPS = tuple(
    SubgroupBitsFinding(attribute=name, value=str(i), size=About(90), bits_mean=1 + i / 10, bits_largest=9.0)
    for name in ("region", "sex")
    for i in range(8)
)


def hostile_findings() -> Findings:
    names = HOSTILE
    return findings(
        model=replace(findings().model, source=names[0], classes=tuple(names)),
        parts=tuple(part(i, condition=name, prediction=name) for i, name in enumerate(names, start=1)),
        tree=tuple(replace(node, condition=names[i % len(names)]) for i, node in enumerate(balanced_tree(len(names)))),
        notes=tuple(names),
        advice=tuple(Remedy(text=name) for name in names),
        sensitive=names[0],
        inputs=tuple(InputFile(role="data", name=name, sha256="0f" * 32) for name in names),
        subgroups=Measured(
            tuple(SubgroupBitsFinding(attribute=n, value=n, size=90, bits_mean=1.0, bits_largest=2.0) for n in names)
        ),
        reconstruction=Measured(
            replace(
                RECONSTRUCTION,
                attributes=tuple(AttributeFinding(attribute=n, bits_learned=1.0, bits_largest=2.0) for n in names),
                undefined=names[1],
            )
        ),
    )


EVERY = {
    "tree": findings(),
    "no groups": findings(domain=replace(DOMAIN, n_groups=0), inputs=FILES),
    "many notes": findings(notes=tuple(f"note {i}." for i in range(40))),
    "many subgroups": findings(subgroups=Measured(SUBGROUPS), sensitive="sex"),
    "unknown": unknown_findings(),
    "rules": rule_findings(),
    "one rule": rule_findings(1),
    "large": large_findings(),
    "hostile": hostile_findings(),
    "single leaf": findings(parts=(part(1),), tree=balanced_tree(1)),
    "deep": findings(parts=tuple(part(i) for i in range(1, 151)), tree=chain(150)),
    "regression": findings(model=replace(findings().model, kind="regression tree", classes=None)),
    "suppressed": findings(parts=tuple(part(i, Below(10)) for i in range(1, 5))),
    "empty": findings(parts=tuple(part(i, 0) for i in range(1, 5))),
    "no domain": findings(domain=None),
    "private": private_findings(),
    "private, in doubt": private_findings(
        standing="does not hold", caveats=tuple(HOSTILE), bounds=(), bits_per_record=None, neighboring=HOSTILE[0]
    ),
    "several models": several_findings(),
    "nothing learned": findings(
        reconstruction=Measured(replace(RECONSTRUCTION, attributes=(), exposure_curve=((1.0, 0.0),)))
    ),
}


@pytest.mark.parametrize("name", EVERY)
def test_the_page_is_well_formed_and_self_contained(name: str) -> None:
    text = render_html(EVERY[name])
    page = Page(text)
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for tag, attrs in page.elements:
        assert tag not in {"link", "iframe", "object", "embed", "img", "base", "form"}
        assert "src" not in attrs
        assert not [key for key in attrs if key.startswith("on")]
        href = attrs.get("href") or "#main"
        assert href.startswith("#")
        assert href[1:] in ids
        for key in ("aria-labelledby",):
            assert set((attrs.get(key) or "").split()) <= set(ids)
    assert not re.search(r"https?:|url\((?!#)|@import|//[a-z]", text)
    assert len(text.encode()) < 1_000_000
    assert "49" not in page.text or name != "hostile"


@pytest.mark.parametrize("name", EVERY)
def test_the_verdict_and_every_landmark_are_there(name: str) -> None:
    page = Page(render_html(EVERY[name]))
    tags = [tag for tag, _ in page.elements]
    assert [tags.count(tag) for tag in ("h1", "main", "header", "footer", "nav")] == [1] * 5
    assert EVERY[name].verdict.capitalize() in page.text
    assert ("html", {"lang": "en"}) in page.elements
    csp = [attrs for _, attrs in page.elements if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert str(csp[0]["content"]).startswith("default-src 'none'")
    for tag, attrs in page.elements:
        if tag == "th":
            assert attrs.get("scope") in {"col", "row"}
        if tag == "svg":
            assert attrs.get("aria-hidden") == "true" or attrs.get("role") == "img"
    assert tags.count("caption") == tags.count("table")


def test_hostile_names_are_text() -> None:
    text = render_html(hostile_findings(), title=HOSTILE[0])
    page = Page(text)
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert "عمر المريض" in page.text
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode("utf-8")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_a_suppressed_size_leaves_no_trace(size: int) -> None:
    """The page is the same whatever the size: neither its words nor its drawing come from the hidden number."""

    def page(hidden: int) -> str:
        shares = ((40 + hidden) / 400, 9.0), (1.0, 2.0)
        assert isinstance(findings().measured["labels"], Measured)
        return render_html(
            findings(
                parts=(part(1), part(2, Below(10)), part(3, Hidden()), part(4, 200)),
                labels=Measured(replace(findings().value("labels"), n_certain=hidden)),
                reconstruction=Measured(replace(RECONSTRUCTION, exposure_curve=shares)),
            )
        )

    assert page(size) == page(5)


def test_unknown_is_never_shown_as_kept() -> None:
    text = render_html(unknown_findings())
    assert 'class="status pass"' not in text
    assert 'class="status measured"' not in text
    assert "level-0" not in re.sub(r'(?s)<style>.*?</style>|<ul class="legend".*?</ul>', "", text)


@pytest.mark.slow
def test_a_large_tree_says_what_is_left_out() -> None:
    text = render_html(large_findings(name="a_rather_long_attribute_name_"))
    assert "2,950 more leaves: see the JSON findings." in Page(text).text
    assert len(text) < 400_000
    assert text.count("<rect") < 600


def test_a_long_chain_of_conditions_nests_within_what_browsers_take() -> None:
    depth = deepest = 0
    for tag in re.findall(r"</?details", render_html(EVERY["deep"])):
        depth += 1 if tag == "<details" else -1
        deepest = max(deepest, depth)
    assert 0 < deepest <= 12


def test_code_in_advice_is_set_as_code() -> None:
    page = render_html(findings())
    # The sentence is for everyone, the call stands below it.
    assert re.search(
        r'Merge small leaves\.</bdi> <code class="run">scrub\(model, domain, smallest_leaf=10\)</code>', page
    )


def test_the_order_of_the_page() -> None:
    text = render_html(findings(inputs=FILES))
    ids = ["verdict", "notes-h", "policy", "measured", "rebuild", "model", "labels", "groups", "records"]
    places = [text.index(f'id="{name}"') for name in ids]
    assert places == sorted(places)
    assert text.index("<footer>") < text.index("What was read") < text.rindex("0f" * 32)
    assert text.index("0f" * 32) < text.index("notes-h")
    assert "notes-h" not in render_html(findings(notes=()))
    assert "What was read" not in render_html(findings(inputs=()))


def test_what_was_not_measured_is_one_folded_list() -> None:
    assert '<h2 id="measured-h">What was measured</h2> <small>all 8 questions' in render_html(findings())
    page = render_html(unknown_findings())
    assert '<h2 id="measured-h">What was not measured</h2> <small>8 of 8 questions: ' in page
    assert page.count("<details") >= 1
    assert page.index("<details") < page.index('id="measured-h"') < page.index("</span> not measured</span>")


def test_equal_readings_stand_once() -> None:
    assert render_html(findings()).count('class="reading"') == 2
    assert render_html(EVERY["no groups"]).count('class="reading"') == 1


def test_the_other_subgroups_are_folded() -> None:
    page = Page(render_html(EVERY["many subgroups"]))
    assert "3 more subgroups, less exposed" in page.text
    assert page.text.index("sex: 0") < page.text.index("region: 7") < page.text.index("3 more subgroups")


def test_the_drawing_cuts_names_and_keeps_thresholds() -> None:
    tree = tuple(replace(n, condition=f"{'a rather long name ' * 9}<= 0.1358") for n in balanced_tree(4))
    drawn = re.findall(
        r"<rect[^>]*/><text[^>]*>([^<]*)</text>(?:<text [^>]*>([^<]*)</text>)?", render_html(findings(tree=tree))
    )
    assert len(drawn) == 6
    # In one line, or in two where the box has room for them.
    assert all(re.search(r"…[\w ]* &lt;= 0.1358", f"{above} {below}") for above, below in drawn)
