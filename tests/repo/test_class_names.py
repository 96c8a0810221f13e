"""A name of a class is one class: decision 0057 lists the few that live in two modules, each with its reason."""

from __future__ import annotations

import re

from benchmarks.house import ROOT, classes, sources

PAGE = (ROOT / "docs" / "decisions" / "0057-a-name-is-one-class.md").read_text()
MOST = 5


def test_a_name_is_one_class_but_for_those_of_the_decision() -> None:
    found = classes(sources(ROOT / "src" / "glassine"))
    listed = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", PAGE, flags=re.MULTILINE))
    assert set(found) == set(listed)
    assert len(found) <= MOST
    for name, places in found.items():
        assert all(f"`{place.removeprefix('glassine.')}`" in listed[name] for place in places), name
