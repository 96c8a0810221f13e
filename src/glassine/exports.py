"""Public names of a package that are imported at first use, as its stub lists them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def exports_of(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, ``__dir__`` and ``__all__`` of a package, whose names its stub alone lists.

    The stub ``__init__.pyi`` beside the package's file holds one import a name, ``from glassine.domain import Domain as
    Domain``. Type checkers read the same lines, so that what they know and what is imported cannot differ. A module of
    the package, ``from glassine import domain as domain``, is an attribute and no public name.

    Examples
    --------
    >>> import glassine
    >>> "audit" in glassine.__all__, "domain" in glassine.__all__, glassine.domain.__name__
    (True, False, 'glassine.domain')
    """
    homes: dict[str, str] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("glassine"):
            homes |= {alias.name: node.module for alias in node.names}
    names = sorted(name for name, home in homes.items() if home != package)

    def getattribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        value: object = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def directory() -> list[str]:
        return [*names, *(name for name, home in homes.items() if home == package)]

    return getattribute, directory, names
