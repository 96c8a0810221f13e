"""Files of every format that the tests hold: each read, and written in every format that there is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import glassine as g

from .adapter import command_line

__all__ = ["FILES", "read_back"]

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "formats" / "files"
RECORDS = {".csv"}

FILES = tuple(sorted(path.name for path in FOLDER.iterdir() if path.suffix not in RECORDS))
"""The names of the files, without the records that some of them were learnt from."""

WRITERS: dict[str, Callable[[Any], str]] = {
    "python": g.formats.to_python,
    "sql": lambda model: g.formats.to_sql(model, "people", prediction="answer"),
    "text": g.formats.to_text,
    "sklearn": lambda model: repr(g.formats.to_sklearn(model)),
}


def read_back(name: str, folder: Path) -> dict[str, str]:
    """Read a file, and write what it says in every format; what is refused is written too."""
    drawn = {}
    (folder / name).write_bytes((FOLDER / name).read_bytes())
    for tree in (None, 0):
        label = "model" if tree is None else f"tree {tree}"
        try:
            model = g.load_model(folder / name, tree=tree)
        except g.GlassineError as error:
            drawn[f"{label}.refused.txt"] = f"{type(error).__name__}: {error}\n"
            continue
        (folder / "copy.json").unlink(missing_ok=True)
        g.write_model(model, folder / "copy.json")
        drawn[f"{label}.json"] = (folder / "copy.json").read_text(encoding="utf-8")
        again = g.load_model(folder / "copy.json")
        drawn[f"{label}.again.txt"] = f"equal to what was written: {again == model}\n"
        for form, write in WRITERS.items():
            try:
                drawn[f"{label}.{form}.txt"] = write(model)
            except g.GlassineError as error:
                drawn[f"{label}.{form}.txt"] = f"{type(error).__name__}: {error}\n"
        for form in ("pmml", "onnx"):
            (folder / f"copy.{form}").unlink(missing_ok=True)
            status, _, err = command_line(["export", "copy.json", "--to", form, "-o", f"copy.{form}"], folder)
            drawn[f"{label}.{form}.txt"] = f"{status}\n{err}{content(folder / f'copy.{form}')}"
    try:
        forest = g.formats.load_forest(folder / name)
    except g.GlassineError as error:
        drawn["forest.txt"] = f"{type(error).__name__}: {error}\n"
    else:
        drawn["forest.txt"] = "".join(f"{g.formats.to_text(tree)}\n" for tree in forest.trees)
    return drawn


def content(path: Path) -> str:
    """Return a file as text, or the digest of one that is none."""
    if not path.exists():
        return ""
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return f"{len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}\n"
