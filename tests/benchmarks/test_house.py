"""The figures of the house are those of the code that is read."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from tests.repo.test_import_arrows import RANK

house: Any = importlib.import_module("benchmarks.house")

FILES = {
    "__init__.py": ['"""A package."""'],
    "models/tree.py": [
        *('"""Trees."""', "", "from pkg.models import walk", "", ""),
        *("def f(a, b, c, d, e, f, g, h, i):", "    found = 1  # why", "    return found"),
    ],
    "models/walk.py": ["def g():", "    from pkg.models.tree import f", "", "    return f"],
    "errors.py": [
        *("from typing import Any", "", ""),
        *(
            "def quoted(value: Any) -> str:",
            "    # A line of its own.",
            "    return str(value)",
            "",
            "",
            "class Tree:",
            "    pass",
        ),
    ],
    "cli/tree.py": ["from pkg.errors import quoted", "from pkg.models.walk import g", "", "", "class Tree: ..."],
}


def test_a_small_house_has_the_figures_that_can_be_counted_by_hand(tmp_path: Path) -> None:
    for path, lines in FILES.items():
        (tmp_path / "pkg" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pkg" / path).write_text("\n".join([*lines, ""]))
    found = house.figures(tmp_path / "pkg")
    assert found["rooms"] == 4
    assert found["arrows between rooms"] == 2
    assert found["files in import circles"] == 2
    assert (found["files"], found["lines"]) == (5, 28)
    assert found["files that share a base name"] == 2
    assert (found["most parameters of a function"], found["functions of more than 8 parameters"]) == (9, 1)
    assert (found["parameters typed Any"], found["bindings of the private vocabulary"]) == (1, 1)
    assert house.nameless(tmp_path / "pkg") == ["pkg/models/tree.py:7 found"]
    assert found["comments per 100 lines of code"] == round(100 * 2 / 10, 1)
    assert (found["imports inside functions"], found["class names in several modules"]) == (1, 1)
    assert (found["code lines"], found["code lines of errors"], found["code lines of cli"]) == (10, 4, 1)


def test_an_import_that_a_file_has_loaded_anyway_stands_at_the_top(tmp_path: Path) -> None:
    files = {
        "__init__.py": "",
        "deep.py": "import json\n",
        "near.py": "from pkg import deep\n",
        "user.py": "from pkg import near\n\n\ndef f():\n import json\n from pkg.deep import json\n import csv\n",
    }
    for path, text in files.items():
        (tmp_path / "pkg").mkdir(exist_ok=True)
        (tmp_path / "pkg" / path).write_text(text)
    assert house.movable_imports(tmp_path / "pkg") == ["pkg.user:5", "pkg.user:6"]
    assert house.movable_imports(house.ROOT / "src" / "glassine") == []


@pytest.mark.slow
def test_the_house_of_this_package_has_no_circle() -> None:
    found = house.structure(house.arrows(house.sources(house.ROOT / "src" / "glassine")))
    assert found["files in import circles"] == 0
    assert found["rooms"] == len(RANK), "every room has its floor, and every floor its rooms"
    # `records` is imported wherever a cell is read, and `sealed` wherever records are opened in private: 24 pairs.
    # `desk` has thirteen more: its workers try remedies and copies, two read records that a person chose, one makes the
    # models that are compared, and its server reuses the gate and the chain.
    # `plots` draws values of nine rooms, and reads the file that a worker of the desk draws; four more import
    # `exports` for a class that shows itself in a notebook.
    # `budget` is asked for time and bytes by audits, copies and trees whose conditions move: three.
    # `tables` says of a file, before an engine reads it, which form it has and what it unpacks to: `records` and `data`
    # ask it, and it raises errors.
    assert found["arrows between rooms"] <= 213


@pytest.mark.slow
def test_functions_are_narrow_and_a_name_is_one_class() -> None:
    found = house.figures(house.ROOT / "src" / "glassine")
    assert found["functions of more than 8 parameters"] == 0
    assert found["class names in several modules"] <= 5
