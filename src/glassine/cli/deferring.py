"""Modules that other packages import and few commands use: they are imported when something in them is used.

Only the process of the command line defers; the modules of a Python user are left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

BEHIND_ESTIMATORS = (
    "joblib:cpu_count",
    "numpy.f2py",
    "numpy.ma",
    "numpy.polynomial",
    "numpy.testing",
    "pandas",
    "scipy.linalg",
    "scipy.sparse.csgraph:laplacian",
    "scipy.sparse.linalg:cg",
    "scipy.special",
    "scipy.stats",
    "sklearn.utils.parallel:_get_threadpool_controller",
    "sklearn.utils.sparsefuncs:sparse_matmul_to_dense",
)
"""What the base class of estimators imports and few fits need: it takes longer than a small fit."""

BEHIND_KERNELS = ("scipy.linalg", "scipy.linalg.cython_blas")
"""What Numba imports with the first kernel, to see whether it is there."""


class Deferred(ModuleType):
    """Stands in for a module until something is looked up in it, and passes on what the module has.

    ``importlib.util.LazyLoader`` would import at the next ``import`` statement, as that looks for ``__spec__``. A
    submodule looks for the ``__path__`` of its package, which is lacking here: it imports the package first.
    """

    def __init__(self, name: str, functions: tuple[str, ...]) -> None:
        # functions: functions that others look up when they are imported: the module is imported when one is called.
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        """Import the module, and look there."""
        if name in self._functions:
            return self._later(name)
        if name == "__path__" and self._functions and sys._getframe(1).f_code.co_name != "_find_and_load_unlocked":
            # Each "from ... import" asks for it, which may be of the functions alone: not only imports of submodules.
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value

    def _later(self, name: str) -> Callable[..., Any]:
        def call(*values: Any, **options: Any) -> Any:
            self._functions = ()
            return getattr(self, name)(*values, **options)

        return call


@contextmanager
def deferred(*names: str) -> Iterator[None]:
    """Let what is imported meanwhile import some modules without running them."""
    # Afterwards an import of one of them runs it, and what imported it meanwhile uses the same module.
    # *names: dotted names; behind a colon the functions that are only looked up meanwhile, scipy.sparse.linalg:cg.
    stand_ins: dict[str, Deferred] = {}
    for written in names:
        name, _, functions = written.partition(":")
        if name not in sys.modules and find_spec(name.partition(".")[0]) is not None:
            stand_ins[name] = Deferred(name, tuple(filter(None, functions.split(","))))
    sys.modules.update(stand_ins)
    # A package that is there already looks in itself for its modules.
    packages = {name: sys.modules.get(name.rpartition(".")[0]) for name in stand_ins}
    inside = [(package, name.rpartition(".")[2], stand_ins[name]) for name, package in packages.items() if package]
    for package, name, module in inside:
        setattr(package, name, module)
    try:
        yield
    finally:
        for name, module in stand_ins.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
        for package, name, module in inside:
            if vars(package).get(name) is module:
                delattr(package, name)
