"""What is imported at first use: the public names of a package, as its stub lists them, and what draws a value."""

from __future__ import annotations

import sys
from importlib import import_module

# Importing typing takes longer than what stands before the handler of Ctrl-C otherwise; checkers take it as true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def exports_of(
    package: str, file: str, *, moved: Mapping[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__``, which has ``__all__``, and ``__dir__`` of a package, whose names its stub alone lists.

    The stub ``__init__.pyi`` beside the package's file holds one import a name, ``from glassine.domain import Domain as
    Domain``. Type checkers read the same lines, so that what they know and what is imported cannot differ. A module of
    the package, ``from glassine import domain as domain``, is an attribute and no public name. A name that ``moved`` to
    another package is found there, with a warning that names it, and is no public name of this one.

    Examples
    --------
    >>> import glassine
    >>> "audit" in glassine.__all__, "domain" in glassine.__all__, glassine.domain.__name__
    (True, False, 'glassine.domain')
    """
    homes: dict[str, str] = {}

    # The stub is read at the first name: the command line, which looks none up, can act on Ctrl-C before that.
    def places() -> dict[str, str]:
        if not homes:
            from ast import ImportFrom, parse
            from pathlib import Path

            for node in parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
                if isinstance(node, ImportFrom) and node.module is not None and node.module.startswith("glassine"):
                    homes.update({alias.name: node.module for alias in node.names})
        return homes

    def getattribute(name: str) -> object:
        if name == "__all__":
            return sorted(one for one, home in places().items() if home != package)
        home = places().get(name)
        if home is None and moved is not None and name in moved:
            from warnings import warn

            new = moved[name]
            warn(f"{name} is imported from {new}, no longer from {package}.", DeprecationWarning, stacklevel=2)
            return getattr(import_module(new), name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == package:
            return import_module(f"{package}.{name}")
        value: object = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    def directory() -> list[str]:
        return sorted(places())

    return getattribute, directory


DRAWN_BY = "glassine.plots.notebook"
"""The module that draws values in notebooks: it stands above them all, and takes a second to import."""


class Displayed:
    """A value that shows itself in a notebook, as the public may see it: a notebook is a file that leaves."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(import_module(DRAWN_BY).html_of(self))


class DisplayedToCheckers(Displayed):
    """A result that was measured on records: a notebook keeps neither its figures nor its text.

    ``repr`` and ``print`` show all of it, and so does :func:`glassine.plots.show` for checkers.
    """

    __slots__ = ()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": f"<{type(self).__name__}, for the checker>"}
