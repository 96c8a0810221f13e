"""Files read as one kind of model, where a test speaks of that kind; and a format that is not of the package."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import glassine.formats
from glassine.domain import Domain
from glassine.formats import formats, load_model
from glassine.models import AdditiveModel, DecisionTree, RuleList
from tests.repo.package_copy import examples

TALLY = "tally\nsmoker: ill 3, well 1\nelse: ill 0, well 4\n"


def read_cells(path: str | os.PathLike[str], domain: Domain | None = None, **options: Any) -> DecisionTree | RuleList:
    """Return the tree or the rule list of a file."""
    model = load_model(path, domain, **options)
    assert isinstance(model, DecisionTree | RuleList)
    return model


def read_additive(path: str | os.PathLike[str]) -> AdditiveModel:
    """Return the additive model of a file."""
    model = load_model(path)
    assert isinstance(model, AdditiveModel)
    return model


@contextmanager
def example_format(folder: Path) -> Iterator[None]:
    """Put the module that the documentation shows in a folder, and the folder beside the formats of the package."""
    (text,) = examples("FORMAT = Format(")
    folder.mkdir()
    (folder / "tally.py").write_text(text)
    places = glassine.formats.__path__
    places.append(str(folder))
    formats.cache_clear()
    try:
        yield
    finally:
        places.remove(str(folder))
        formats.cache_clear()
        sys.modules.pop("glassine.formats.tally", None)
