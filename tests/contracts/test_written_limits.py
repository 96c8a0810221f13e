"""What is written can be read: a model at a limit of its reader is written, and one beyond it is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Category, Domain, Integer, as_model, load_model, write_model
from glassine.errors import GlassineError, UnreadableFileError
from glassine.formats.printed.rules import parse_rules
from glassine.formats.registry import formats
from tests.cli.running import one_after_another

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2)).round(2)
TREE = as_model(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, RNG.integers(0, 2, 200)))
LIST = parse_rules(
    "classes: [no] [yes]\nif [age <= 40] and [job in {a, b}] then [no]\nelse if [age > 60] then [yes]\nelse [no]\n",
    Domain({"age": Integer(0, 99), "job": Category(("a", "b", "c"))}),
)
CASES: dict[str, tuple[Any, str, str]] = {
    "values of JSON": (TREE, "json", "glassine.files.MAX_VALUES"),
    "lines of a text": (TREE, "text", "glassine.formats.unwrapping.MAX_LINES"),
    "lines of rules": (LIST, "text", "glassine.formats.unwrapping.MAX_LINES"),
    "characters of rules": (LIST, "text", "glassine.formats.printed.rules.MAX_TEXT"),
    "elements of PMML": (TREE, "pmml", "glassine.formats.pmml_documents.MAX_ELEMENTS"),
    "attributes of PMML": (TREE, "pmml", "glassine.formats.pmml_documents.MAX_ATTRIBUTES"),
    "nodes of PMML": (TREE, "pmml", "glassine.formats.pmml_trees.MOST_NODES"),
    "bytes of ONNX": (TREE, "onnx", "glassine.files.MAX_BYTES"),
    "bytes of skops": (TREE, "sklearn", "glassine.formats.skops.MAX_UNPACKED"),
    "objects of skops": (TREE, "sklearn", "glassine.formats.skops.MAX_OBJECTS"),
}
ENDS = {"sklearn": ".skops"}


def least(patch: Callable[[int], None], reads: Callable[[], object]) -> int:
    """Return the smallest limit within which a file is read."""
    low, high = 0, 10_000_000
    while high - low > 1:
        patch(middle := (low + high) // 2)
        try:
            reads()
        except GlassineError:
            low = middle
        else:
            high = middle
    return high


@pytest.mark.parametrize("name", CASES)
def test_a_model_is_written_up_to_the_limit_of_its_reader(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, to, limit = CASES[name]
    path, other = tmp_path / f"model{ENDS.get(to, '.txt')}", tmp_path / f"other{ENDS.get(to, '.txt')}"
    write_model(model, path, to=to)
    at = least(lambda value: monkeypatch.setattr(limit, value), lambda: load_model(path))
    assert 1 < at < 1_000_000
    monkeypatch.setattr(limit, at)
    write_model(model, other, to=to)
    assert other.read_bytes() == path.read_bytes()
    monkeypatch.setattr(limit, at - 1)
    beyond = tmp_path / "beyond"
    with pytest.raises(UnreadableFileError, match=r"^cannot write .*beyond, as it could not be read again: "):
        write_model(model, beyond, to=to)
    assert not beyond.exists()


def test_every_format_that_is_written_and_read_has_a_case() -> None:
    written = {form.to for form in formats() if form.write is not None}
    # SQL and Python have no reader.
    assert written - {"sql", "python"} <= {to for _, to, _ in CASES.values()}


def test_export_writes_nothing_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(TREE, tmp_path / "tree.json")
    monkeypatch.setattr("glassine.formats.unwrapping.MAX_LINES", 3)
    with one_after_another() as run:
        assert run("export", "tree.json", "--to", "text", "-o", "tree.txt", cwd=tmp_path) == 2
        assert not (tmp_path / "tree.txt").exists()
        assert run("export", "tree.json", "--to", "sql", "-o", "tree.sql", cwd=tmp_path) == 0
