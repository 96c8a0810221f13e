"""A deferred module runs when something in it is used, and is then the same module for everyone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from glassine.cli.deferring import deferred


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Make a package with a module in it."""
    folder = tmp_path / "ran_when_used"
    folder.mkdir()
    (folder / "__init__.py").write_text("value = [1]\n")
    (folder / "part.py").write_text("from ran_when_used import value\nvalue.append(2)\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder.name
    for name in (folder.name, f"{folder.name}.part"):
        sys.modules.pop(name, None)


def test_the_module_runs_at_its_first_use(package: str) -> None:
    with deferred(package):
        module = import_module(package)
        assert vars(module).get("value") is None
        assert module.value == [1]
    assert module.value is import_module(package).value


def test_a_later_import_runs_it(package: str) -> None:
    with deferred(package):
        early = import_module(package)
    assert package not in sys.modules
    assert vars(import_module(package))["value"] == [1]
    assert early.value is import_module(package).value


def test_a_part_runs_its_package_first(package: str) -> None:
    with deferred(package):
        import_module(package)
        assert import_module(f"{package}.part").value == [1, 2]


def test_what_is_lacking_in_the_module_is_an_attribute_error(package: str) -> None:
    with deferred(package):
        module = import_module(package)
        with pytest.raises(AttributeError, match="absent"):
            module.absent  # noqa: B018 - the look-up is what is tested


def test_modules_that_are_imported_or_absent_stay_as_they_are() -> None:
    with deferred("json", "a_module_that_does_not_exist"):
        assert sys.modules["json"].loads("1") == 1
        assert "a_module_that_does_not_exist" not in sys.modules


@pytest.fixture
def functions(package: str, tmp_path: Path) -> str:
    """Give the package functions, and a module that looks one of them up when it is imported."""
    (tmp_path / package / "__init__.py").write_text(
        "def double(x):\n    return 2 * x\n\n\ndef half(x):\n    return x / 2\n"
    )
    (tmp_path / "user_of_functions.py").write_text(f"from {package} import double\n")
    (tmp_path / package / "part.py").write_text("whole = __package__\n")
    return package


def test_a_function_that_is_looked_up_runs_the_module_when_it_is_called(functions: str) -> None:
    with deferred(f"{functions}:double"):
        user = import_module("user_of_functions")
        assert "half" not in vars(import_module(functions))
    sys.modules.pop("user_of_functions")
    assert functions not in sys.modules
    assert user.double(21) == 42
    assert vars(import_module(functions))["half"](42) == 21


def test_another_function_and_a_part_run_the_module_at_once(functions: str) -> None:
    with deferred(f"{functions}:double"):
        assert import_module(f"{functions}.part").whole == functions
        assert vars(import_module(functions))["half"](42) == 21
    with deferred(f"{functions}:double"):
        assert import_module(functions).half(42) == 21


def test_a_part_of_a_package_that_is_there_is_found_in_it(package: str) -> None:
    whole = import_module(package)
    with deferred(f"{package}.part"):
        assert whole.part is import_module(f"{package}.part")
        assert whole.value == [1]
    assert "part" not in vars(whole)
    assert import_module(f"{package}.part").value == [1, 2]
