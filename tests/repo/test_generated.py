"""The parts of pages that are made from the code are those of the code now."""

from __future__ import annotations

import pytest

from docs.generated import PART, PARTS, REFERENCE, renewed, written

PAGES = {page.name: page for page in sorted(REFERENCE.glob("*.md")) if PART.search(page.read_text())}


def test_every_part_has_its_place() -> None:
    found = [mark[1] for page in PAGES.values() for mark in PART.finditer(page.read_text())]
    assert sorted(found) == sorted(PARTS)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_holds_what_the_code_says_now(name: str) -> None:
    text = PAGES[name].read_text()
    assert renewed(text) == text, "make generated writes it anew."
    assert renewed(text.replace("`", "'")) != text.replace("`", "'"), "a part that differs is seen"
    assert len(written(text).split()) < len(text.split())
