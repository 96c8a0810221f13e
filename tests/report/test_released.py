"""Which file a verdict is on, and what else it holds, stand in the answer."""

from __future__ import annotations

from dataclasses import replace

from glassine.auditing.criterion import Check
from glassine.auditing.findings import InputFile
from glassine.formats.canonical import CleanCopy, FileForm
from glassine.report import render_html, render_text
from tests.report.builders import findings

DIGEST = "0f" * 32
CHECK = Check(rule="smallest_leaf", limit=10, measured=20, status="pass", meaning="Every leaf is large enough.")
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


COPY = CleanCopy(format="Glassine", extension=".json", n_bytes=700, sha256="ab" * 32)


def test_of_a_file_that_glassine_did_not_write_only_the_clean_copy_may_be_released() -> None:
    form = FileForm(format="scikit-learn tree", n_bytes=900, canonical=False, clean_copy=COPY)
    allowed = replace(findings(inputs=FILES, files=(form,)), verdict="within policy", checks=(CHECK,))
    assert allowed.decision.endswith("Release only the clean copy.")
    for shown in (" ".join(render_text(allowed).split()), render_html(allowed)):
        assert "Glassine did not write this file, or it was changed" in shown
        assert "which is yet to be written" in shown
        assert shown.count(COPY.sha256) == 2, "in the answer and in the section on the file"
    assert f"Release only the clean copy: the clean copy of tree.json\n  sha256 {COPY.sha256}\n" in render_text(allowed)
    named = replace(allowed, files=(replace(form, clean_copy=replace(COPY, name="clean.json")),))
    assert f"Release only the clean copy: clean.json\n  sha256 {COPY.sha256}\n" in render_text(named)
    refused = replace(allowed, verdict="outside policy", checks=(replace(CHECK, status="fail"),))
    assert "Release only" not in refused.decision
    assert "Not to be released: tree.json" in render_text(refused)


def test_a_file_whose_clean_copy_is_yet_to_be_made_may_not_be_released_itself() -> None:
    form = FileForm(format="scikit-learn boosting", n_bytes=900, canonical=False)
    allowed = replace(findings(inputs=FILES, files=(form,)), verdict="within policy", checks=(CHECK,))
    for page in (render_text(allowed), render_html(allowed)):
        assert "Only this file may be released" not in page
        assert "Release only a clean copy of this file" in page
    refused = replace(allowed, verdict="outside policy", checks=(replace(CHECK, status="fail"),))
    assert "Not to be released: tree.json" in render_text(refused)


def test_a_file_that_glassine_wrote_may_be_released_itself() -> None:
    form = FileForm(format="Glassine", n_bytes=900, canonical=True)
    allowed = replace(findings(inputs=FILES, files=(form,)), verdict="within policy", checks=(CHECK,))
    assert "Release only" not in allowed.decision
    assert "The file is what Glassine writes of this model, byte for byte." in " ".join(render_text(allowed).split())
    assert "Only this file may be released: tree.json" in render_text(allowed)
