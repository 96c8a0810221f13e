"""CHANGELOG.md keeps its format."""

from __future__ import annotations

import re

import glassine
from tests.repo.code_blocks import ROOT

KINDS = {"Privacy-relevant", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
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
