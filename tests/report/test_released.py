"""Which file a verdict is on, and what else it holds, stand in the answer."""

from __future__ import annotations

from dataclasses import replace

from glassine.auditing.findings import InputFile
from glassine.formats.contents import FileContents, OtherContent
from glassine.report import render_html, render_text
from tests.report.builders import findings

DIGEST = "0f" * 32
FILES = (InputFile(role="model", name="tree.json", sha256=DIGEST), InputFile(role="data", name="people.csv"))


def test_the_answer_names_the_file_by_its_whole_digest() -> None:
    refused = findings(inputs=FILES)
    allowed = replace(refused, verdict="within policy")
    for made, said in ((refused, "Not to be released"), (allowed, "Only this file may be released")):
        text, page = render_text(made), render_html(made)
        assert f"{said}: tree.json\n  sha256 {DIGEST}\n" in text
        assert page.index(f"<b>{said}:</b> <bdi>tree.json</bdi>") < page.index(DIGEST) < page.index("notes-h")
    assert "people.csv" not in render_text(refused.public()) + render_html(refused.public())


def test_what_failed_stands_with_number_limit_and_consequence_before_what_to_do() -> None:
    text = render_text(findings(inputs=FILES))
    failed = text.index(
        "  [fail] Smallest leaf: fewer than 10 records (limit: at least 10 records)\n    1 of 4 leaves is too small."
    )
    assert (
        text.index("The policy does not allow") < failed < text.index("\nWhat to do\n  1. Merge") < text.index(DIGEST)
    )
    assert text.count("[fail] Smallest leaf") == 1


def test_what_a_file_holds_beside_its_model_is_listed_once() -> None:
    others = tuple(OtherContent(where=f"attribute my_{name}", kind="attribute", n_bytes=40) for name in "abcd")
    found = findings(inputs=FILES, contents=FileContents(form="scikit-learn tree", n_bytes=900, others=others))
    for shown in (render_text(found), render_html(found)):
        assert [shown.count(other.where) for other in others] == [1, 1, 1, 1]
        assert "160 bytes beside the model, listed below." in shown
