"""CITATION.cff names the version of the package."""

from __future__ import annotations

import re

import glassine
from tests.repo.code_blocks import ROOT


def test_versions_agree() -> None:
    cited = re.search(r"^version: \"?([^\"\s]+)\"?$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert cited, "CITATION.cff must have a line 'version: ...'."
    assert cited[1] == glassine.__version__
