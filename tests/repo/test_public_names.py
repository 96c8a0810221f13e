"""What `glassine` holds is what its stub says, and what the documentation names is there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import glassine
import glassine.attacks
import glassine.auditing
import glassine.learners
import glassine.scrubbing
from tests.repo.code_blocks import ROOT

LAZY = [glassine, glassine.attacks, glassine.auditing, glassine.learners, glassine.scrubbing]
ROOMS = sorted(path.parent.name for path in (ROOT / "src" / "glassine").glob("*/__init__.py"))
NOT_AT_THE_TOP = ["cli", "compiling", "sealed", "tables"]
"""Rooms that nobody imports from Python."""

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts and "decisions" not in page.parts),
    *(ROOT / "docs" / "notebooks").glob("*.ipynb"),
]
DOTTED = re.compile(r"(?<![\w./`-])glassine((?:\.[A-Za-z_]\w*)+)(?![\w/-])")
NO_NAME = re.compile(r"\.(?:md|py|html|json|toml|example|css|js|xml)$")


def stub_lines(package: ModuleType) -> list[tuple[str, str]]:
    """Return module and name of each import of a package's stub."""
    assert package.__file__ is not None
    stub = Path(package.__file__).with_suffix(".pyi").read_text()
    return [(home, name) for home, name, _ in re.findall(r"^from ([\w.]+) import (\w+) as (\w+)$", stub, re.M)]


def resolved(dotted: str) -> object:
    """Return what a dotted name below ``glassine`` stands for, modules imported as they are needed."""
    value: object = glassine
    path = "glassine"
    for part in dotted.strip(".").split("."):
        path = f"{path}.{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            value = import_module(path)
    return value


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_a_package_holds_what_its_stub_says_and_nothing_else(package: ModuleType) -> None:
    lines = stub_lines(package)
    names = sorted(name for home, name in lines if home != package.__name__)
    assert package.__all__ == names
    assert len(set(names)) == len(names) > 1
    assert sorted(dir(package)) == sorted(name for _, name in lines)
    for home, name in lines:
        if home != package.__name__:
            assert getattr(package, name) is getattr(import_module(home), name), name


def test_a_stub_imports_each_name_as_itself() -> None:
    for package in LAZY:
        assert package.__file__ is not None
        imports = [
            line for line in Path(package.__file__).with_suffix(".pyi").read_text().splitlines() if "import" in line
        ]
        assert len(imports) == len(stub_lines(package))
        assert all(re.fullmatch(r"from [\w.]+ import (\w+) as \1", line) for line in imports)


def test_no_public_name_is_that_of_a_module_beside_it() -> None:
    """Python puts a module that was imported in place of such a name."""
    for stub in (ROOT / "src" / "glassine").rglob("__init__.pyi"):
        package = import_module(".".join(stub.parent.relative_to(ROOT / "src").parts))
        modules = {path.stem for path in stub.parent.iterdir() if path.is_dir() or path.suffix == ".py"}
        assert modules.isdisjoint(package.__all__), stub


def test_the_top_exports_verbs_and_values_and_the_rooms() -> None:
    assert 20 <= len(glassine.__all__) <= 27
    assert {"audit", "compare", "attack_membership", "scrub"} <= set(glassine.__all__)
    rooms = [name for home, name in stub_lines(glassine) if home == "glassine"]
    assert sorted([*rooms, *NOT_AT_THE_TOP]) == ROOMS
    assert all(isinstance(getattr(glassine, room), ModuleType) for room in rooms)


def test_a_name_that_moved_is_found_with_a_warning_and_is_no_name_of_the_top() -> None:
    moved = vars(glassine)["_MOVED"]
    assert set(moved) & set(glassine.__all__) == set()
    for name, home in moved.items():
        with pytest.warns(DeprecationWarning, match=f"{name} is imported from {home}, no longer from glassine"):
            assert getattr(glassine, name) is getattr(import_module(home), name)
        assert name in import_module(home).__all__ or home == "glassine.errors"


@pytest.mark.parametrize(
    "name",
    ["Node", "Branch", "Term", "Failed", "CountNoise", "OneOf", "to_sql", "explain_global", "Adversary", "Editor"],
)
def test_parts_of_results_are_not_at_the_top(name: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
        getattr(glassine, name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_names_that_a_page_mentions_exist(page: Path) -> None:
    for dotted in set(DOTTED.findall(page.read_text())):
        # The attack that the page adds is not there.
        if not NO_NAME.search(dotted) and dotted != ".attacks.singling":
            assert resolved(dotted) is not None, f"glassine{dotted}"


def test_a_planted_name_is_missed() -> None:
    assert DOTTED.findall("see `x`, glassine.models.Node and glassine.Nod.") == [".models.Node", ".Nod"]
    with pytest.raises(ModuleNotFoundError):
        resolved(".Nod")
