"""Additive models as ONNX and PMML: what runtimes answer, what is read back, and files that hold more."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import polars as pl
import pytest

from glassine import load_model, write_model
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import to_onnx, to_pmml
from glassine.formats.json import without_counts
from glassine.formats.loading import load_file
from glassine.formats.onnx_additive import additive_from_onnx
from glassine.formats.pmml_documents import Element, parsed_xml
from glassine.formats.pmml_writer import additive_from_pmml
from glassine.models import AdditiveModel, CategoryBins, NumericBins, Term
from glassine.models.bins import Bins
from tests.models.additive_models import income_model

onnxruntime: Any = importlib.import_module("onnxruntime")

AGE = NumericBins("age", (30.1, 40.0, 55.7))
SIZE = NumericBins("size", (0.1, 0.1 + 1e-12, 5.5), closed="left")
ONE = NumericBins("one")
JOB = CategoryBins("job", (("clerk",), ("baker", 'a "quoted" <cook> & more'), (None,)))
FEW = CategoryBins("job", (("pope", "clerk", None),))
SMOKER = CategoryBins("smoker", ((0,), (1,)))
LINKS: dict[str, Any] = {"identity": None, "logit": ("no", "yes"), "softmax": ("a", "b", "c"), "two": (3, 4)}


def model_of(link: str, **more: Any) -> AdditiveModel:
    """Return a model with every kind of bins, alone and in pairs."""
    rng, classes = np.random.default_rng(7), LINKS[link]
    outputs = len(classes) if link in ("softmax", "two") else 1

    def term(*bins: Bins) -> Term:
        return Term(bins=bins, scores=rng.normal(size=(*(entry.n_bins for entry in bins), outputs)))

    terms = (term(AGE), term(SIZE), term(ONE), term(JOB), term(SMOKER), term(AGE, FEW), term(SIZE, SMOKER))
    parts: dict[str, Any] = {
        "attributes": ("unused", "age", "size", "one", "job", "smoker"),
        "terms": terms,
        "intercept": rng.normal(size=outputs),
        "link": "softmax" if link == "two" else link,
        "classes": classes,
        "target_bounds": (-1.5, 2.25) if link == "identity" else None,
    }
    return AdditiveModel(**(parts | more))


def records(n: int = 400) -> dict[str, list[Any]]:
    """Return records on, beside and far from every cut, with missing and undeclared values; of single precision."""
    rng = np.random.default_rng(1)
    single = [float(np.float32(value)) for value in (30.1, 40, 55.7, 0.1, 5.5)]
    near = [float(np.nextafter(np.float32(value), np.float32(way))) for value in single for way in (-99, 99)]
    numbers = [*single, *near, -7.0, 80.0, math.inf, -math.inf, None]
    jobs = ["clerk", "baker", 'a "quoted" <cook> & more', "pope", "nobody", None]
    drawn = {name: [numbers[i] for i in rng.integers(0, len(numbers), n)] for name in ("age", "size", "one")}
    return drawn | {
        "job": [jobs[i] for i in rng.integers(0, len(jobs), n)],
        "smoker": [(0, 1, 2, None)[i] for i in rng.integers(0, 4, n)],
    }


def answers(data: bytes, rows: dict[str, list[Any]]) -> list[Any]:
    """Return what onnxruntime answers."""
    session = onnxruntime.InferenceSession(data)
    feeds = {}
    for entry in session.get_inputs():
        if entry.type == "tensor(string)":
            column = np.array(["" if value is None else value for value in rows[entry.name]], dtype=object)
        else:
            column = np.array([math.nan if value is None else value for value in rows[entry.name]], dtype=np.float32)
        feeds[entry.name] = column[:, None]
    return list(session.run(None, feeds))


@pytest.mark.parametrize("link", LINKS)
def test_a_runtime_answers_what_the_model_answers(link: str) -> None:
    model, rows = model_of(link), records()
    found, frame = answers(to_onnx(model), rows), pl.DataFrame(rows)
    if model.classes is None:
        assert np.abs(found[0][:, 0] - model.predict(frame)).max() < 1e-5
        assert {-1.5, 2.25} <= set(found[0][:, 0].tolist()), "the bounds are reached"
        return
    assert (found[0] == model.predict(frame)).all()
    assert np.abs(found[1] - model.predict_proba(frame)).max() < 1e-6


@pytest.mark.parametrize("link", LINKS)
def test_onnx_is_read_back_with_its_predictions(link: str, tmp_path: Path) -> None:
    model, rows = model_of(link), pl.DataFrame(records())
    write_model(model, tmp_path / "m.onnx", to="onnx", overwrite=True)
    back = load_model(tmp_path / "m.onnx")
    assert isinstance(back, AdditiveModel)
    assert (back.link, back.classes, back.target_bounds) == (model.link, model.classes, model.target_bounds)
    assert np.abs(back.scores(rows) - model.scores(rows)).max() < 1e-5
    assert to_onnx(back) == to_onnx(model)


@pytest.mark.parametrize("link", [*LINKS, "boolean"])
def test_pmml_is_read_back_to_the_last_digit(link: str, tmp_path: Path) -> None:
    model = model_of("logit", classes=(False, True)) if link == "boolean" else model_of(link)
    write_model(model, tmp_path / "m.pmml", to="pmml", overwrite=True)
    back = load_model(tmp_path / "m.pmml")
    assert isinstance(back, AdditiveModel)
    rows = pl.DataFrame(records())
    assert (back.scores(rows) == model.scores(rows)).all()
    assert (back.predict(rows) == model.predict(rows)).all()
    assert (back.attributes, back.intercept, back.classes) == (model.tested, model.intercept, model.classes)
    assert [term.bins[0] for term in back.terms[:2]] == [AGE, SIZE]


@pytest.mark.parametrize("form", ["json", "onnx", "pmml", "text"])
@pytest.mark.parametrize("joint", [False, True])
def test_files_say_whether_scores_were_fitted_together(form: Any, joint: bool, tmp_path: Path) -> None:
    write_model(model_of("logit", joint=joint), tmp_path / "model", to=form)
    back = load_model(tmp_path / "model")
    assert isinstance(back, AdditiveModel)
    assert back.joint is joint


def test_names_of_attributes_that_no_term_reads_are_neither_written_nor_read() -> None:
    """They are no part of the model, and could hold whole records."""
    smuggled = "Jane Doe, born 1970-01-02, ill"
    text = to_pmml(model_of("logit", attributes=(smuggled, "age", "size", "one", "job", "smoker")))
    assert smuggled not in text
    domain = Domain(
        {
            **{name: Real(-99, 99, missing=True) for name in ("age", "size", "one")},
            "job": Category(("clerk", "baker", 'a "quoted" <cook> & more', "pope"), missing=True),
            "smoker": Binary(),
        }
    )
    assert additive_from_pmml(text.encode(), domain).tested == model_of("logit").tested
    start = text.index("    <DataField")
    more = f'    <DataField name="{smuggled}" optype="continuous" dataType="double"/>\n'
    longer = text[:start] + more + text[start:]
    start = longer.index("      <MiningField")
    more = f'      <MiningField name="{smuggled}" invalidValueTreatment="asIs"/>\n'
    longer = (longer[:start] + more + longer[start:]).replace('numberOfFields="6"', 'numberOfFields="7"')
    with pytest.raises(UnsupportedModelError, match="something was added"):
        additive_from_pmml(longer.encode(), domain)


def value_of(element: Element, row: dict[str, Any]) -> Any:
    """Return the value of an expression as the standard defines it; None is missing, which functions pass on."""
    if element.tag == "FieldRef":
        return row[element.attributes["field"]]
    if element.tag == "Constant":
        kind = element.attributes["dataType"]
        return element.text if kind == "string" else float(element.text)
    name = element.attributes["function"]
    if name == "if":
        test = value_of(element.children[0], row)
        return None if test is None else value_of(element.children[1 if test else 2], row)
    inside = [value_of(child, row) for child in element.children]
    if name == "isMissing":
        return inside[0] is None
    if None in inside:
        return None
    if name == "isIn":
        return inside[0] in inside[1:]
    return {"lessOrEqual": inside[0] <= inside[1], "lessThan": inside[0] < inside[1]}[name]


def scored(root: Element, row: dict[str, Any]) -> list[float]:
    """Return the value of each regression table of a document: an interpreter of the standard, for one record."""
    regression = root.children[2]
    transformations = regression.first("LocalTransformations")
    assert transformations is not None
    fields = {field.attributes["name"]: value_of(field.children[0], row) for field in transformations.children}
    out = []
    for table in regression.children:
        if table.tag == "RegressionTable":
            value = float(table.attributes["intercept"])
            for predictor in table.children:
                value += float(predictor.attributes["coefficient"]) * fields[predictor.attributes["name"]]
            out.append(value)
    return out


@pytest.mark.parametrize("link", LINKS)
def test_pmml_says_what_the_model_says_by_the_rules_of_the_standard(link: str) -> None:
    model, rows = model_of(link), records(60)
    text, scores = to_pmml(model), model.scores(pl.DataFrame(rows))
    root = parsed_xml(text.encode())
    for i, expected in enumerate(scores.tolist()):
        found = scored(root, {name: column[i] for name, column in rows.items()})
        assert found == ([0.0, *expected] if link == "logit" else expected)
    assert ('normalizationMethod="softmax"' in text) == (model.classes is not None)


def test_a_private_model_is_written_without_its_counts(tmp_path: Path) -> None:
    for to in ("onnx", "pmml"):
        write_model(income_model(), tmp_path / f"m.{to}", to=to, overwrite=True)
        back = load_file(tmp_path / f"m.{to}")
        assert isinstance(back.model, AdditiveModel)
        assert back.model.guarantee == without_counts(income_model().guarantee)
        assert all(term.weights is None and term.errors is None for term in back.model.terms)
        assert back.form.canonical


def planted_onnx() -> dict[str, bytes]:
    """Return files in which a text is hidden, by place."""
    good = to_onnx(model_of("identity"))
    out = {"unknown field": good + bytes([0xFA, 0x3E, 3]) + b"Ada"}
    for place in ("doc", "metadata", "node", "initializer", "name", "attribute", "weights"):
        model = onnx.load_model_from_string(good)
        graph = model.graph
        if place == "doc":
            graph.doc_string = "Ada"
        elif place == "metadata":
            model.metadata_props.add(key="who", value="Ada")
        elif place == "node":
            graph.node.append(onnx.helper.make_node("Identity", ["age"], ["Ada"]))
        elif place == "initializer":
            graph.initializer.append(onnx.helper.make_tensor("Ada", onnx.TensorProto.FLOAT, [1], [1815.0]))
        elif place == "name":
            graph.node[0].name = "Ada"
        elif place == "attribute":
            graph.node[-2].attribute.append(onnx.helper.make_attribute("nodes_hitrates", [1815.0]))
        else:
            (ensemble,) = [node for node in graph.node if node.op_type == "TreeEnsembleRegressor"]
            (nodes,) = [entry for entry in ensemble.attribute if entry.name == "nodes_values"]
            leaf = next(i for i, value in enumerate(nodes.floats) if value == 0.0)
            nodes.floats[leaf] = 1815.0
        out[place] = model.SerializeToString()
    return out


def test_an_onnx_file_that_holds_more_is_refused(tmp_path: Path) -> None:
    for data in planted_onnx().values():
        (tmp_path / "m.onnx").write_bytes(data)
        with pytest.raises(UnsupportedModelError, match="added or changed"):
            load_model(tmp_path / "m.onnx")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</PMML>", "<!-- Ada --></PMML>"),
        ("</PMML>", "<Extension name='Ada'/></PMML>"),
        ("<Targets>", "<Targets> "),
        ('<Application name="glassine"/>', '<Application name="glassine" version="1815"/>'),
        ('coefficient="1"', 'coefficient="1.0"'),
        ('optype="continuous" dataType="double">\n', 'optype="continuous" dataType="double" displayName="Ada">\n'),
        ("isMissing", "isNotMissing"),
        ("<RegressionTable", "<RegressionTable targetCategory='Ada'"),
        ("<Constant", "<Constant  "),
    ],
)
def test_a_pmml_file_that_holds_more_is_refused(old: str, new: str) -> None:
    text = to_pmml(model_of("identity"))
    assert old in text
    with pytest.raises(UnsupportedModelError, match="added or changed"):
        additive_from_pmml(text.replace(old, new, 1).encode())


def test_what_a_format_cannot_hold_is_refused_when_it_is_written() -> None:
    empty = model_of("identity", terms=())
    with pytest.raises(UnsupportedModelError, match="needs a term"):
        to_onnx(empty)
    assert additive_from_pmml(to_pmml(empty).encode()).intercept == empty.intercept
    mixed = Term(bins=(CategoryBins("job", (("clerk",), (3,))),), scores=np.arange(3.0))
    for write in (to_onnx, to_pmml):
        with pytest.raises(UnsupportedModelError):
            write(model_of("identity", terms=(mixed,)))
    huge = Term(bins=(NumericBins("age", (1e200,)),), scores=np.arange(3.0))
    with pytest.raises(UnsupportedModelError, match="too large for single precision"):
        to_onnx(model_of("identity", terms=(huge,)))
    odd = Term(bins=(CategoryBins("smoker", ((0.1,),)),), scores=np.arange(2.0))
    with pytest.raises(UnsupportedModelError, match="single precision"):
        to_onnx(model_of("identity", terms=(odd,)))


def test_an_attribute_that_the_domain_lacks_is_refused() -> None:
    domain = Domain({"age": Integer(0, 99)})
    with pytest.raises(InvalidModelError, match="which the domain lacks"):
        additive_from_onnx(to_onnx(model_of("identity")), domain)
    with pytest.raises(InvalidModelError, match="which the domain lacks"):
        additive_from_pmml(to_pmml(model_of("identity")).encode(), domain)


def test_cuts_of_double_precision_send_every_single_number_where_the_model_does() -> None:
    cuts = tuple(sorted(np.random.default_rng(0).uniform(0, 1, 60).tolist()))
    values = np.array([np.nextafter(np.float32(cut), np.float32(way)) for cut in cuts for way in (-1, 0.7, 2)])
    values = np.concatenate([values, np.array(cuts, dtype=np.float32)]).astype(np.float32)
    for closed in ("left", "right"):
        bins = NumericBins("age", cuts, closed=closed)
        model = AdditiveModel(
            attributes=("age",),
            terms=(Term(bins=(bins,), scores=np.arange(bins.n_bins, dtype=float)),),
            intercept=(0.0,),
            link="identity",
        )
        found: npt.NDArray[Any] = answers(to_onnx(model), {"age": values.tolist()})[0][:, 0]
        assert found.tolist() == model.predict({"age": values.astype(float)}).tolist()
