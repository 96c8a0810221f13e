"""Imports go down the floors of the house, or stay within a room; no file imports itself by way of others."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from tests.repo.code_blocks import ROOT

# Floors from top to bottom; the rooms of one floor do not see each other.
ROOMS = [
    ["__init__", "__main__"],
    ["cli"],
    ["desk"],
    ["plots", "server"],
    ["report"],
    ["auditing", "comparison"],
    ["surrogates"],
    ["attacks", "scrubbing", "verification"],
    ["learners", "microaggregation"],
    ["sealed"],
    ["formats", "privacy"],
    ["capacity"],
    ["counting", "models"],
    ["data"],
    ["records"],
    ["domain"],
    ["codec", "compiling", "exports", "files", "resources", "tables"],
    ["errors"],
]
RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}
# Names of the package itself that any room may read.
COMMON = {"__version__"}


def room_of(module: str) -> str:
    """Top-level room of a dotted module name that starts with ``glassine``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imported_modules(name: str, source: str, *, is_package: bool) -> list[tuple[int, str]]:
    """Line and dotted name of everything from ``glassine`` that a module imports."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = name.split(".")
                up = up[: len(up) - node.level + is_package]
                base = ".".join([*up, base] if base else up)
            if base == "glassine":
                names = [alias.name for alias in node.names if alias.name not in COMMON]
                found += [(node.lineno, f"glassine.{name}" if name in RANK else "glassine") for name in names]
            else:
                found.append((node.lineno, base))
    return [(line, module) for line, module in found if module.split(".")[0] == "glassine"]


def violations(sources: Mapping[str, str]) -> list[str]:
    """Every import that goes up or sideways, and every room without a place; keys are paths below ``glassine``."""
    wrong: list[str] = []
    for path, source in sources.items():
        parts = path.removesuffix(".py").split("/")
        is_package = parts[-1] == "__init__"
        name = ".".join(["glassine", *(parts[:-1] if is_package else parts)])
        room = room_of(name)
        if room not in RANK:
            wrong.append(
                f"{path}: the room '{room}' has no place; add it to ROOMS in tests/repo/test_import_arrows.py."
            )
            continue
        for line, module in imported_modules(name, source, is_package=is_package):
            target = room_of(module)
            if target not in RANK:
                wrong.append(f"{path}:{line}: imports '{target}', which has no place in ROOMS.")
            elif target != room and RANK[target] <= RANK[room]:
                wrong.append(f"{path}:{line}: '{room}' may not import '{target}': imports go down only.")
    return wrong


def files_imported(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the files that each file imports, wherever the import stands, but for names of the package itself."""
    modules = {}
    for path in sources:
        parts = path.removesuffix(".py").split("/")
        modules[".".join(["glassine", *(parts[:-1] if parts[-1] == "__init__" else parts)])] = path
    arrows: dict[str, set[str]] = {}
    for name, path in modules.items():
        arrows[path] = set()
        for node in ast.walk(ast.parse(sources[path])):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [
                    f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in modules else node.module
                    for alias in node.names
                ]
            arrows[path] |= {modules[n] for n in names if n in modules and n not in (name, "glassine")}
    return arrows


def circles(arrows: Mapping[str, set[str]]) -> list[str]:
    """Return the files that import themselves by way of others."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            for target in arrows[ahead.pop()] - seen:
                seen.add(target)
                ahead.append(target)
        return seen

    return sorted(path for path in arrows if path in reached(path))


def sources_of_the_package() -> dict[str, str]:
    package = ROOT / "src" / "glassine"
    return {path.relative_to(package).as_posix(): path.read_text() for path in package.rglob("*.py")}


def test_imports_go_down() -> None:
    sources = sources_of_the_package()
    assert "__init__.py" in sources
    assert violations(sources) == []


def test_no_file_imports_itself_by_way_of_others() -> None:
    arrows = files_imported(sources_of_the_package())
    assert sum(map(len, arrows.values())) > 1000
    assert circles(arrows) == []


def test_a_planted_circle_is_found() -> None:
    sources = {
        "models/tree.py": "def f():\n    from glassine.models import walk",
        "models/walk.py": "if TYPE_CHECKING:\n    from glassine.models.paths import Path",
        "models/paths.py": "from glassine.models.tree import DecisionTree\nfrom glassine.errors import quoted",
        "errors.py": "",
    }
    assert circles(files_imported(sources)) == ["models/paths.py", "models/tree.py", "models/walk.py"]
    sources["models/walk.py"] = "from glassine.errors import GlassineError"
    assert circles(files_imported(sources)) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("domain.py", "from glassine.models import DecisionTree"),
        ("domain/attributes.py", "from ..models.tree import DecisionTree"),
        ("models/tree.py", "from glassine import attacks"),
        ("models/__init__.py", "from ..attacks import reconstruct"),
        ("models/tree.py", "from glassine import DecisionTree"),
        ("models/tree.py", "import glassine"),
        ("models/tree.py", "def f():\n    import glassine.cli"),
        ("attacks/a.py", "if TYPE_CHECKING:\n    from glassine.report import html"),
        ("scrubbing.py", "from glassine.auditing.api import audit"),
        ("cupboard/things.py", ""),
        ("auditing.py", "from glassine.cupboard import things"),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str) -> None:
    assert len(violations({path: source})) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("cli/audit.py", "from glassine.report import html\nfrom glassine import auditing, __version__"),
        ("formats/code/text.py", "from ..tree import DecisionTree\nfrom ...domain import Domain"),
        ("models/__init__.py", "from . import tree\nfrom .rule_list import RuleList"),
        ("domain.py", "import numpy as np\nfrom glassine.errors import GlassineError"),
        ("__init__.py", "from .auditing import audit\nfrom . import models"),
    ],
)
def test_an_allowed_import_passes(path: str, source: str) -> None:
    assert violations({path: source}) == []


PARSERS = {
    *("number_of", "value_of", "numbers_of_texts", "is_gap", "kinds_of", "NUMERAL", "BLANKS", "FOREIGN"),
    *("plain_column", "double"),
}
"""What parses cells. What is declared, and numbers that were read, are no cells."""


def parsers_of(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return what each file outside the records' room imports of what parses cells."""
    out: dict[str, set[str]] = {}
    for path, source in sources.items():
        if path.startswith("records/"):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("glassine.records"):
                out.setdefault(path, set()).update({alias.name for alias in node.names} & PARSERS)
    return {path: names for path, names in out.items() if names}


def test_only_the_records_room_parses_cells() -> None:
    assert parsers_of(sources_of_the_package()) == {}


def test_a_planted_parser_is_found() -> None:
    planted = {"auditing/api.py": "def f():\n    from glassine.records.cells import number_of"}
    assert parsers_of(planted) == {"auditing/api.py": {"number_of"}}
    assert not parsers_of({"records/lines.py": planted["auditing/api.py"]})
