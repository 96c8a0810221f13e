"""Black boxes on the command line: a file, or a function of a Python module."""

from __future__ import annotations

import importlib
import os
import re
import sys
from typing import Annotated, Any, TypeAlias

import typer

from glassine.errors import BlackBoxError, GlassineError, InvalidParameterError

__all__ = ["BlackBoxOption", "TakesOption", "black_box_of", "takes_of"]

BlackBoxOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--black-box",
        help="What decides: an ONNX or skops file, or MODULE:FUNCTION, a Python function that maps records to labels. "
        "A module is code that runs.",
    ),
]
TakesOption: TypeAlias = Annotated[
    str, typer.Option("--takes", help="What the black box takes: array, pandas or polars.")
]

FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def black_box_of(text: str) -> Any:
    """Return the black box that an option names; a file wins over a module.

    Raises
    ------
    GlassineError
        If there is no such file, module or function.
    """
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
            f"the module {module} of --black-box cannot be imported ({type(error).__name__}). Run it alone to see."
        ) from None
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise GlassineError(f"--black-box: the module {module} has no {name}. Name a function of it.") from None
    return found


def takes_of(text: str) -> str | None:
    """Return the library of the frames that a black box takes; None for arrays.

    Raises
    ------
    InvalidParameterError
        If it is none that is known.
    """
    if text not in ("array", "pandas", "polars"):
        raise InvalidParameterError(f"--takes must be array, pandas or polars, got {text!r}.")
    return None if text == "array" else text
