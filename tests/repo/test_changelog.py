"""CHANGELOG.md keeps its format."""

from __future__ import annotations

import re

import glassine
from tests.repo.code_blocks import ROOT

KINDS = {"Privacy-relevant", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
MOST_WORDS = 300
"""Words of what is relevant to privacy in one release: a reader of it must decide what to do."""
MOST_WORDS_OF_ALL = 700
"""Words of one release: a page. What happened between two commits that nobody has stays in git."""
RELEASE = re.compile(r"^## \[(?P<version>\d+\.\d+\.\d+)\] - (?:Unreleased|\d{4}-\d{2}-\d{2})$")


def test_newest_entry_is_this_version() -> None:
    headings = re.findall(r"^## .*$", CHANGELOG, flags=re.MULTILINE)
    releases = [RELEASE.match(heading) for heading in headings]
    assert all(releases), headings
    assert releases[0] is not None
    assert releases[0]["version"] == glassine.__version__


def test_every_release_has_known_headings_and_a_privacy_one() -> None:
    for release in re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.*)$", release, flags=re.MULTILINE)
        assert set(kinds) <= KINDS, kinds
        assert len(set(kinds)) == len(kinds), kinds
        assert "Privacy-relevant" in kinds, release.splitlines()[0]


def test_what_is_relevant_to_privacy_is_short_and_said_once() -> None:
    for part in re.findall(r"^### Privacy-relevant\n(.*?)(?=^##|\Z)", CHANGELOG, flags=re.MULTILINE | re.DOTALL):
        assert 0 < len(part.split()) <= MOST_WORDS, f"{len(part.split())} words, at most {MOST_WORDS}"
        # Two histories that were merged line by line say the same under one heading twice.
        leads = re.findall(r"^\*\*(.*?)\*\*", part, flags=re.MULTILINE)
        assert leads, "each paragraph begins with what to do, or with what it is about"
        assert len(set(leads)) == len(leads), leads


def test_a_release_is_one_page() -> None:
    for release in re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]:
        assert len(release.split()) <= MOST_WORDS_OF_ALL, f"{release.splitlines()[0]}: {len(release.split())} words"
