"""Black boxes on the command line: a file, or a function of a Python module."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from glassine.errors import BlackBoxError, GlassineError, marked

FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class ArrayBox:
    """A black box that takes arrays, asked with data frames: so its records keep the names of their columns."""

    def __init__(self, box: Any) -> None:
        # __wrapped__: the black box itself: a function of arrays, or an estimator.
        self.__wrapped__ = box

    def predict(self, records: Any) -> Any:
        """Return what the black box says of the records as an array, its columns in their order."""
        method = getattr(self.__wrapped__, "predict", None)
        ask = method if callable(method) else self.__wrapped__
        return ask(records.to_numpy())


def black_box_of(text: str) -> Any:
    """Return the black box that an option names; a file wins over a module."""
    if not FUNCTION.fullmatch(text) or os.path.isfile(text):
        from glassine.surrogates import load_black_box

        return load_black_box(text)
    module, _, name = text.partition(":")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module)
    # A module that ends the process would end this one with its own exit code.
    except (Exception, SystemExit) as error:
        raise BlackBoxError(
            f"the module {module} of --black-box cannot be imported ({type(error).__name__}).",
            remedy="Run it alone to see.",
        ) from None
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise GlassineError(
            f"--black-box: the module {module} has no {name}.", remedy="Name a function of it."
        ) from None
    return found


@contextlib.contextmanager
def given_as(takes: str) -> Iterator[None]:
    """Say where a black box fails what it was given, which may not be what it takes."""
    try:
        yield
    except BlackBoxError as error:
        form = "a NumPy array" if takes == "array" else f"a {takes} data frame"
        advice = marked(error.remedy or "")
        error.advise(f"{advice} It was given {form}; --takes names another form.".strip())
        raise


def takes_of(text: str) -> str | None:
    """Return the library of the frames that a black box takes; None for arrays."""
    return None if text == "array" else text
