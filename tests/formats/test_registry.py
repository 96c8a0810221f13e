"""The formats are found where they stand, and everything that lists formats follows from them."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from glassine.domain import Binary, Domain, Integer, OneOf
from glassine.errors import InvalidModelError, InvalidParameterError, UnreadableFileError, UnsupportedModelError
from glassine.formats import as_model, formats, load_model, parse_rules, to_pmml, to_sql, write_model
from glassine.formats.format import Content, Format
from glassine.formats.registry import recognized
from glassine.learners.exhaustive.private import PrivateTreeClassifier
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import Branch, DecisionTree, Node, RuleList
from glassine.scrubbing.scrub import scrub
from tests.formats.reading import TALLY, example_format
from tests.models.additive_models import income_model

FILES = Path(__file__).parent / "files"
RULES = "classes: [ill] [well]\nif [smoker] then [ill] ([3 ; 1] examples)\nelse [well] ([0 ; 4] examples)\n"


@pytest.fixture
def with_tally(tmp_path: Path) -> Iterator[None]:
    """Put the example of the documentation, and nothing else, beside the formats of the package."""
    with example_format(tmp_path / "more"):
        yield


@pytest.mark.usefixtures("with_tally")
def test_one_new_module_is_read_written_and_listed(tmp_path: Path) -> None:
    (found,) = (one for one in formats() if one.name == "tally")
    assert recognized(TALLY, "text") is found
    path = tmp_path / "anything"
    path.write_text(TALLY)
    model = load_model(path, Domain.binary(["smoker"]))
    assert model.source == "tally"
    assert isinstance(model, RuleList)
    assert [cell.evidence.counts for cell in model.cells] == [(3, 1), (0, 4)]
    write_model(model, tmp_path / "again", to="tally", overwrite=True)
    assert (tmp_path / "again").read_text() == TALLY
    with pytest.raises(InvalidModelError, match="which the domain lacks"):
        load_model(path, Domain.binary(["age"]))
    page: Any = importlib.import_module("docs.generated")
    assert f"| {found.reads} | `load_model` | {found.reveals} | {found.leaves_out} |" in page.table()


def test_without_the_module_nothing_knows_the_format(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(TALLY)
    with pytest.raises(UnsupportedModelError, match="in no supported model format"):
        load_model(tmp_path / "t")
    with pytest.raises(InvalidParameterError, match="json"):
        write_model(parse_rules(RULES), tmp_path / "t", to="tally", overwrite=True)


def test_the_documentation_lists_every_format_that_is_read() -> None:
    page: Any = importlib.import_module("docs.generated")
    assert page.table().count("\n|") == sum(bool(one.reads) for one in formats()) + 1


def test_every_format_says_what_it_is() -> None:
    assert len({one.name for one in formats()}) == len(formats())
    for one in formats():
        assert bool(one.read) == bool(one.contents)
        assert bool(one.write) == bool(one.to)
        assert one.read or one.write
        # What a forest's trees tell stands with those of single trees.
        assert one.reads or one.read is None or one.read_all is not None or one.read_ensemble is not None
        assert ("guarantee" in one.leaves_out) == (one.to == "sklearn")


TEXTS = {
    "the program of CORELS": ["corels_model.txt", "corels_program.txt"],
    "LightGBM": ["lightgbm.txt", "lightgbm_three.txt", "lightgbm_categories.txt"],
    "export_graphviz": ["tree.dot", "tree_marked.dot"],
    "randomForest": ["gettree.txt"],
    "rpart": ["rpart.txt", "rpart_regression.txt", "r_tree.txt"],
    "C4.5": ["c45.txt", "c50.txt", "ctree.txt", "j48.txt", "j48_pasted.txt"],
    "the text of imodels": ["imodels.txt"],
}
VALUES = {
    "XGBoost": ["xgboost.json", "xgboost_three.json", "xgboost_classes.json", "xgboost_categories.json"],
    "treelite": ["treelite_shares.json", "treelite_forest.json", "treelite_boosted.json", "treelite_categories.json"],
}
BYTES = {"ONNX": ["forest.onnx"], "PMML": ["forest.pmml", "tree.pmml"]}


@pytest.mark.parametrize(
    ("name", "file", "kind"),
    [
        (name, file, kind)
        for kind, named in (("text", TEXTS), ("values", VALUES), ("bytes", BYTES))
        for name, files in named.items()
        for file in files
    ],
)
def test_a_file_is_known_as_its_format_and_as_no_other(name: str, file: str, kind: Content) -> None:
    data = (FILES / file).read_bytes()
    content: Any = data if kind == "bytes" else json.loads(data) if kind == "values" else data.decode().lstrip()
    found = recognized(content, kind)
    assert found is not None
    assert found.name == name
    others = {one.name for one in formats() if kind in one.contents and one.sniff(content)} - {name, "Glassine"}
    assert others == set()


def test_every_file_of_the_tests_is_named_above() -> None:
    named = {file for group in (TEXTS, VALUES, BYTES) for files in group.values() for file in files}
    assert {path.name for path in FILES.iterdir() if path.suffix not in (".csv", ".ubj")} == named


def test_our_estimators_are_read_through_what_they_released() -> None:
    rows = np.column_stack([np.arange(60) % 2, np.arange(60)])
    labels = (rows[:, 1] > 30).astype(int)
    domain = Domain({"a": Integer(0, 1), "b": Integer(0, 59, thresholds=(20, 30, 40))})
    learner = PrivateTreeClassifier(domain=domain, classes=(0, 1), epsilon=1.0, max_depth=2)
    with pytest.raises(InvalidModelError, match=r"PrivateTreeClassifier is not fitted: it has no 'model_'"):
        as_model(learner)
    learner.fit(rows, labels)
    assert as_model(learner) is learner.model_
    assert as_model(learner, domain).guarantee is not None
    plain = MultiwayTreeClassifier(domain=domain).fit(rows, labels)
    assert as_model(plain) is plain.model_
    with pytest.raises(UnsupportedModelError, match="the class PrivateTreeClassifier, not an instance"):
        as_model(PrivateTreeClassifier)


def test_a_forest_is_refused_where_one_tree_is_wanted() -> None:
    forest = RandomForestClassifier(2, random_state=0).fit([[0], [1], [2]], [0, 1, 1])
    with pytest.raises(UnsupportedModelError, match="is an ensemble"):
        as_model(forest)


def test_a_file_that_exists_is_replaced_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    write_model(parse_rules(RULES), path)
    before = path.read_bytes()
    with pytest.raises(UnreadableFileError, match=r"it exists\. Name another file, or set overwrite\."):
        write_model(income_model(), path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["m.json"]
    write_model(income_model(), path, overwrite=True)
    assert load_model(path) == income_model()


def test_models_of_all_kinds_are_written(tmp_path: Path) -> None:
    tree = load_model(FILES / "tree.pmml")
    assert isinstance(tree, DecisionTree)
    for model in (income_model(), parse_rules(RULES), tree):
        write_model(model, tmp_path / "m.json", overwrite=True)
        assert load_model(tmp_path / "m.json") == model
        write_model(model, tmp_path / "m.sql", to="sql", overwrite=True)
        assert (tmp_path / "m.sql").read_text().rstrip("\n") == to_sql(model).rstrip("\n")
    write_model(tree, tmp_path / "m.pmml", to="pmml", overwrite=True)
    assert (tmp_path / "m.pmml").read_text() == to_pmml(tree)


EXPORTS = """
import sys, time
from pathlib import Path
from glassine.formats import formats, load_model
time.time = lambda: float(sys.argv[1])
folder, out = Path(sys.argv[2]), Path(sys.argv[3])
out.mkdir()
for path in sorted(folder.glob("*.json")):
    model = load_model(path)
    for form in formats():
        if form.write is not None and type(model) in form.kinds and not (form.to == "pmml" and path.stem == "rules"):
            for end in form.extensions if form.to == "sklearn" else ("",):
                written = form.write(model, None, **({"extension": end} if end else {}))
                data = written if isinstance(written, bytes) else written.encode()
                (out / f"{path.stem}.{form.to}{end}").write_bytes(data)
"""


def exported(folder: Path, number: int) -> dict[str, bytes]:
    """Write the models of a folder in every format, in a process of its own clock and order, and return the bytes."""
    out = folder / f"out{number}"
    call = [sys.executable, "-c", EXPORTS, str(1.7e9 + 1e5 * number), str(folder), str(out)]
    subprocess.run(call, check=True, env={**os.environ, "PYTHONHASHSEED": str(number)})
    return {path.name: path.read_bytes() for path in out.iterdir()}


def test_an_export_is_the_same_at_every_time_and_in_every_process(tmp_path: Path) -> None:
    for name, model in (
        ("ebm", income_model()),
        ("rules", parse_rules(RULES)),
        ("tree", load_model(FILES / "tree.pmml")),
    ):
        write_model(model, tmp_path / f"{name}.json", overwrite=True)
    first, second = exported(tmp_path, 1), exported(tmp_path, 2)
    assert len(first) >= 20
    assert {"rules.sklearn.skops", "tree.sklearn.pkl", "ebm.onnx", "tree.pmml"} <= set(first)
    assert [name for name, data in first.items() if second[name] != data] == []


def test_without_counts_every_export_is_that_of_other_counts(tmp_path: Path) -> None:
    domain, copies = Domain({"smoker": Binary()}), []
    for number, text in enumerate((RULES, RULES.replace("[3 ; 1]", "[7001 ; 39]").replace("[0 ; 4]", "[11 ; 93]")), 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        rules = parse_rules(text, domain)
        evidence = [rule.evidence for rule in rules.rules]
        branches = tuple(Branch(OneOf("smoker", (1,), negated=i > 0), i + 1) for i in range(2))
        nodes = (Node(branches=branches), *(Node(evidence=part) for part in evidence))
        tree = DecisionTree(attributes=("smoker",), nodes=nodes, classes=("ill", "well"))
        for name, model in (("rules", rules), ("tree", tree)):
            write_model(scrub(model, domain, counts="remove").model, folder / f"{name}.json", overwrite=True)
        copies.append(exported(folder, number))
    assert len(copies[0]) >= 14
    assert copies[0] == copies[1]


def test_what_a_format_does_not_hold_is_refused(tmp_path: Path) -> None:
    for model, noun, to in (
        (income_model(), "an additive model", "sklearn"),
        (parse_rules(RULES), "a rule list", "pmml"),
    ):
        with pytest.raises(UnsupportedModelError, match=rf"^{noun} is not written as .*\. .*python, sql, .*json"):
            write_model(model, tmp_path / "m", to=to, overwrite=True)
    unfit: Any = RandomForestClassifier()
    with pytest.raises(UnsupportedModelError, match=r"Write as_model\(\.\.\.\) of it"):
        write_model(unfit, tmp_path / "m.json", overwrite=True)
    assert list(tmp_path.iterdir()) == []


def test_the_lowest_rank_reads_what_several_know(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (
        Format(
            name=name, contents=("text",), sniff=lambda text: True, rank=rank, read=lambda text, domain: income_model()
        )
        for name, rank in (("z", 1), ("a", 2))
    )
    monkeypatch.setattr("glassine.formats.registry.formats", lambda: (first, second))
    assert recognized("x", "text") is first
    assert recognized({}, "values") is None
