"""Notebooks as pages: their cells are run when the documentation is built, and what they show stands below them."""

from __future__ import annotations

import ast
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

__all__ = ["executed", "page"]

FOLDER = Path(__file__).resolve().parent / "notebooks"


def executed(cells: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield each cell with the value of its last expression, code being run in one namespace."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            yield cell, None
            continue
        body = ast.parse("".join(cell["source"]), filename=f"cell {number}").body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), namespace)  # noqa: S102 - the project's own
        shown = compile(ast.Expression(last.value), f"cell {number}", "eval") if isinstance(last, ast.Expr) else None
        yield cell, None if shown is None else eval(shown, namespace)  # noqa: S307 - ditto


def page(name: str) -> str:
    """Return a notebook as Markdown, run in a process and a folder of its own: fits of others are not counted."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_page, name).result()


def _page(name: str) -> str:
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        return "\n\n".join(_cell(cell, value) for cell, value in executed(notebook["cells"])) + "\n"


def _cell(cell: dict[str, Any], value: Any) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return source
    code = f"```python\n{source}\n```"
    if value is None:
        return code
    if hasattr(value, "_repr_html_"):
        return f"{code}\n\n````{{raw}} html\n{value._repr_html_()}\n````"
    if hasattr(value, "_repr_svg_"):
        return f"{code}\n\n````{{raw}} html\n{value._repr_svg_()}\n````"
    return f"{code}\n\n```text\n{value!r}\n```"
