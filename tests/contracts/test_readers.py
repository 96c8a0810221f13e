"""What holds for every reader: cells partition the data, counts add up, JSON keeps the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from imodels import GreedyRuleListClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

from glassine.domain import Binary, Domain, Real
from glassine.formats import as_model, to_onnx, to_pmml, tree_or_rules, write_model
from glassine.models import DecisionTree, RuleList
from tests.formats.reading import read_cells
from tests.models.test_corels import RULES, CorelsClassifier
from tests.models.test_scikit import NAMES, columns_of, make_data

FRAME, TARGET = make_data(n=200)
BITS = (FRAME > 0).astype(int)
DOMAIN = Domain({name: Real(-9, 9) for name in NAMES})
BINARY = Domain({name: Binary() for name in NAMES})
LIST = "if [age] and [not dose] then [true] (0 examples)\nelse if [weight] then [false] (0 examples)\nelse [true]"
CORELS = [RULES[0] | {"antecedents": [-1, 3]}, RULES[1], RULES[2]]


def saved(data: str | bytes, path: Path) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def tree(kind: Any = DecisionTreeClassifier, frame: Any = FRAME, **options: Any) -> Any:
    return kind(max_depth=4, random_state=0, **options).fit(frame, TARGET)


@dataclass(frozen=True)
class Case:
    """A reader's input, and the data that the model was learnt from; ``counted`` if it publishes their counts."""

    read: Callable[[Path], DecisionTree | RuleList]
    frame: Any = None
    domain: Domain = DOMAIN
    counted: bool = True
    predicts: Any = None


SINGLE_FRAME = FRAME.astype(np.float32)
SINGLE = tree(frame=SINGLE_FRAME)
TREE, BITS_TREE = tree(), tree(frame=BITS)
SCALED = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4, random_state=0)).fit(FRAME, TARGET)
LISTED = GreedyRuleListClassifier(max_depth=4).fit(FRAME, TARGET)
CASES = {
    "scikit-learn tree": Case(lambda _: as_model(TREE), predicts=TREE),
    "scikit-learn tree in a domain": Case(lambda _: as_model(BITS_TREE, BINARY), BITS, BINARY, predicts=BITS_TREE),
    "class weights": Case(lambda _: as_model(tree(class_weight="balanced"))),
    "regression tree": Case(lambda _: as_model(tree(DecisionTreeRegressor)), counted=False),
    "pipeline": Case(lambda _: as_model(SCALED, DOMAIN), predicts=SCALED),
    "skops file": Case(lambda p: read_cells(saved(skops.io.dumps(TREE), p)), predicts=TREE),
    "exported text": Case(
        lambda p: read_cells(
            saved(export_text(TREE, feature_names=list(NAMES), show_weights=True, decimals=12), p), DOMAIN
        ),
        predicts=TREE,
    ),
    "imodels list": Case(lambda _: as_model(LISTED), predicts=LISTED),
    "CORELS list": Case(
        lambda _: tree_or_rules(as_model(CorelsClassifier(CORELS, list(NAMES)), BINARY)), BITS, BINARY, counted=False
    ),
    "rule text": Case(lambda p: read_cells(saved(LIST, p), BINARY), BITS, BINARY, counted=False),
    "ONNX": Case(
        lambda p: read_cells(saved(to_onnx(as_model(SINGLE)), p), DOMAIN), SINGLE_FRAME, counted=False, predicts=SINGLE
    ),
    "PMML": Case(lambda p: read_cells(saved(to_pmml(as_model(TREE)), p), DOMAIN), predicts=TREE),
    "Glassine's JSON": Case(lambda p: through_json(as_model(TREE), p), predicts=TREE),
}


def through_json(model: DecisionTree | RuleList, path: Path) -> DecisionTree | RuleList:
    write_model(model, path, overwrite=True)
    return read_cells(path)


@pytest.fixture(params=list(CASES.values()), ids=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    found = request.param
    assert isinstance(found, Case)
    return found


def data_of(case: Case) -> Any:
    return FRAME if case.frame is None else case.frame


def test_cells_partition_the_records(case: Case, tmp_path: Path) -> None:
    model, columns = case.read(tmp_path / "m"), columns_of(data_of(case))
    where = model.apply(columns)
    for i, cell in enumerate(model.cells):
        inside = np.ones(len(where), dtype=bool)
        for literal in cell.inside:
            inside &= literal.holds(columns[literal.attribute])
        for conjunction in cell.outside:
            inside &= ~np.all([literal.holds(columns[literal.attribute]) for literal in conjunction], axis=0)
        assert np.array_equal(inside, where == i)


def test_counts_are_those_of_the_records(case: Case, tmp_path: Path) -> None:
    model = case.read(tmp_path / "m")
    if not case.counted and model.classes is not None:
        pytest.skip("the file holds no counts of these records")
    where = model.apply(columns_of(data_of(case)))
    for i, cell in enumerate(model.cells):
        if case.counted:
            assert cell.evidence.counts == tuple(int((TARGET[where == i] == c).sum()) for c in (0, 1))
        else:
            assert cell.evidence.size == int((where == i).sum())


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.predicts is not None])
def test_predictions_are_those_of_the_estimator(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    predicted = case.read(tmp_path / "m").predict(columns_of(data_of(case)))
    assert predicted.tolist() == case.predicts.predict(data_of(case)).tolist()


def test_json_keeps_the_model(case: Case, tmp_path: Path) -> None:
    model = case.read(tmp_path / "m")
    assert through_json(model, tmp_path / "copy") == model


def test_reading_twice_gives_equal_models(case: Case, tmp_path: Path) -> None:
    assert case.read(tmp_path / "m") == case.read(tmp_path / "m")
    conformed = as_model(case.read(tmp_path / "m"), case.domain)
    assert as_model(conformed, case.domain) == conformed


def test_literals_speak_of_the_attributes(case: Case, tmp_path: Path) -> None:
    model = case.read(tmp_path / "m")
    assert {literal.attribute for literal in model.literals} <= set(model.attributes)
    assert model.source
