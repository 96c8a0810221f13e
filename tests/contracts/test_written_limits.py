"""What is written can be read: a model at a limit of its reader is written, and one beyond it is not."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Category, Domain, Integer, as_model, load_model, write_model
from glassine.errors import GlassineError, UnreadableFileError, UnsupportedModelError
from glassine.formats import load_forest
from glassine.formats.format import PublishedModel
from glassine.formats.judged import load_judged
from glassine.formats.printed.rules import parse_rules
from glassine.formats.registry import formats
from glassine.models import CategoryBins, NumericBins, Term
from glassine.models.additive import AdditiveModel
from glassine.models.ensemble import TreeEnsemble
from glassine.models.regression import RegressionModel
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree
from tests.cli.running import one_after_another

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2)).round(2)
FILES = Path(__file__).parent.parent / "formats"
TREE = as_model(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, RNG.integers(0, 2, 200)))
AGE, JOB = NumericBins("age", (30.5, 40.0, 55.5)), CategoryBins("job", (("clerk",), ("baker", "cook"), (None,)))
MODELS: dict[type, PublishedModel | TreeEnsemble] = {
    DecisionTree: TREE,
    RuleList: parse_rules(
        "classes: [no] [yes]\nif [age <= 40] and [job in {a, b}] then [no]\nelse if [age > 60] then [yes]\nelse [no]\n",
        Domain({"age": Integer(0, 99), "job": Category(("a", "b", "c"))}),
    ),
    AdditiveModel: AdditiveModel(
        attributes=("age", "job"),
        terms=tuple(
            Term(bins=bins, scores=RNG.normal(size=(*(one.n_bins for one in bins), 1)))
            for bins in ((AGE,), (JOB,), (AGE, JOB))
        ),
        intercept=(0.5,),
        link="logit",
        classes=("no", "yes"),
    ),
    RegressionModel: load_model(FILES / "regressions" / "logistic.pmml"),
    TreeEnsemble: load_judged(FILES / "ensembles" / "forest.pmml").model,
}
PAIRS = [(form.to, kind) for form in formats() if form.write is not None for kind in form.kinds]
"""Every format that is written, with every kind of model that it is written of."""

UNREAD = {"sql": "it is a model as code", "python": "in no supported model format"}
"""Formats that no reader reads, and what a reader says of them."""

OF_ALL = {
    "json": {"MAX_BYTES", "MAX_VALUES"},
    "text": {"MAX_BYTES", "MAX_LINES"},
    "pmml": {"MAX_BYTES", "MAX_ELEMENTS", "MAX_ATTRIBUTES", "MAX_TEXT", "DEEPEST"},
    "onnx": {"MAX_BYTES"},
    "sklearn": {"MAX_BYTES", "MAX_VALUES", "MAX_UNPACKED", "MAX_OBJECTS"},
}
OF_ONE: dict[tuple[str, type], set[str]] = {
    ("text", RuleList): {"MAX_TEXT", "MAX_RULES", "MAX_OPERATORS"},
    ("pmml", DecisionTree): {"MOST_NODES"},
    ("onnx", DecisionTree): {"WIDEST"},
    ("onnx", RuleList): {"WIDEST"},
}
"""The limits that a reader has: of all models in a format, and of one kind of them as well."""

Limit = tuple[str, int]


def limits() -> dict[Limit, list[ModuleType]]:
    """Return every limit of the readers, by its name and value, with the modules that ask it."""
    out: dict[Limit, list[ModuleType]] = {}
    for module in [one for name, one in sorted(sys.modules.items()) if re.match(r"glassine\.(files|formats)\b", name)]:
        for name, value in vars(module).items():
            if type(value) is int and re.match(r"(MAX|MOST|DEEPEST|WIDEST|LONGEST)", name):
                out.setdefault((name, value), []).append(module)
    return out


LIMITS = limits()


def reader(kind: type) -> Callable[[Path], object]:
    """Return what reads the file of a kind of models."""
    return load_forest if kind is TreeEnsemble else load_model


def is_read(reads: Callable[[], object]) -> bool:
    """Return whether a file is read."""
    try:
        reads()
    except GlassineError:
        return False
    return True


@pytest.mark.parametrize(("to", "kind"), PAIRS, ids=lambda part: part if isinstance(part, str) else part.__name__)
def test_a_model_is_written_up_to_each_limit_of_its_reader(
    to: str, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, ending, read = MODELS[kind], ".skops" if to == "sklearn" else ".txt", reader(kind)
    path = tmp_path / f"model{ending}"
    write_model(model, path, to=to)
    if to in UNREAD:
        with pytest.raises(UnsupportedModelError, match=UNREAD[to]):
            read(path)
        return

    def bounded(limit: Limit, value: int) -> None:
        for module in LIMITS[limit]:
            monkeypatch.setattr(module, limit[0], value)

    reached: set[str] = set()
    for limit in LIMITS:
        bounded(limit, 0)
        if not is_read(lambda: read(path)):
            reached.add(limit[0])
            low, at = 0, limit[1]
            while at - low > 1:
                bounded(limit, middle := (low + at) // 2)
                low, at = (low, middle) if is_read(lambda: read(path)) else (middle, at)
            bounded(limit, at)
            fits, beyond = tmp_path / f"{limit[0]}{ending}", tmp_path / f"beyond-{limit[0]}{ending}"
            write_model(model, fits, to=to)
            read(fits)
            assert fits.read_bytes() == path.read_bytes(), limit
            bounded(limit, at - 1)
            with pytest.raises(UnreadableFileError, match=r"^cannot write .*, as it could not be read again: ") as told:
                write_model(model, beyond, to=to)
            assert told.value.remedy, limit
            assert not beyond.exists()
        bounded(limit, limit[1])
    assert reached == OF_ALL[to] | OF_ONE.get((to, kind), set())


def test_export_writes_nothing_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(TREE, tmp_path / "tree.json")
    monkeypatch.setattr("glassine.formats.unwrapping.MAX_LINES", 3)
    with one_after_another() as run:
        assert run("export", "tree.json", "--to", "text", "-o", "tree.txt", cwd=tmp_path) == 2
        assert not (tmp_path / "tree.txt").exists()
        assert run("export", "tree.json", "--to", "sql", "-o", "tree.sql", cwd=tmp_path) == 0
