"""Modules that other packages import and few commands use: they are imported when something in them is used.

Only the process of the command line defers; the modules of a Python user are left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class Deferred(ModuleType):
    """Stands in for a module until something is looked up in it, and passes on what the module has.

    ``importlib.util.LazyLoader`` would import at the next ``import`` statement, as that looks for ``__spec__``. A
    submodule looks for the ``__path__`` of its package, which is lacking here: it imports the package first.
    """

    def __getattr__(self, name: str) -> Any:
        """Import the module, and look there."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


@contextmanager
def deferred(*names: str) -> Iterator[None]:
    """Let what is imported meanwhile import some modules without running them.

    Afterwards an ``import`` of one of them runs it, and what imported it meanwhile uses the same module.
    """
    stand_ins: dict[str, ModuleType] = {}
    for name in names:
        if name not in sys.modules and (spec := find_spec(name)) is not None:
            stand_ins[name] = Deferred(name)
            stand_ins[name].__spec__ = spec
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name, module in stand_ins.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
