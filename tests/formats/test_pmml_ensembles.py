"""What changes a prediction of several trees in PMML, or a value before its test, is read or refused, never ignored."""

from __future__ import annotations

import pytest

from glassine.domain import Category, Domain, Integer
from glassine.errors import UnsupportedModelError
from glassine.formats.pmml import ensemble_from_pmml, tree_from_pmml
from glassine.models import TreeEnsemble

X = '<DataField name="x" optype="continuous" dataType="double"/>'
NUMBER = '<DataField name="y" optype="continuous" dataType="double"/>'
CLASS = '<DataField name="y" optype="categorical" dataType="integer"><Value value="0"/><Value value="1"/></DataField>'
BOTH = '<MiningSchema><MiningField name="y" usageType="target"/><MiningField name="x"/></MiningSchema>'
ALONE = '<MiningSchema><MiningField name="x"/></MiningSchema>'
SCALED = '<Targets><Target field="y" rescaleFactor="10" rescaleConstant="5"/></Targets>'
OUTPUT = '<Output><OutputField name="s" optype="continuous" dataType="{}"/></Output>'


def document(model: str, *, fields: str = X, target: str = NUMBER, functions: str = "") -> bytes:
    head = f"<DataDictionary>{fields}{target}</DataDictionary>{functions}"
    return f'<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>{head}{model}</PMML>'.encode()


def tree(low: float, high: float) -> str:
    sides = "".join(
        f'<Node score="{score}"><SimplePredicate field="x" operator="{how}" value="1.5"/></Node>'
        for score, how in ((low, "lessOrEqual"), (high, "greaterThan"))
    )
    return f'<TreeModel functionName="regression">{ALONE}<Node><True/>{sides}</Node></TreeModel>'


def segment(model: str, weight: str = "") -> str:
    return f"<Segment{weight and f' weight={weight!r}'}><True/>{model}</Segment>"


def mining(segments: str, method: str, more: str = "", *, schema: str = BOTH, kind: str = "regression") -> str:
    inside = f'{schema}{more}<Segmentation multipleModelMethod="{method}">{segments}</Segmentation>'
    return f'<MiningModel functionName="{kind}">{inside}</MiningModel>'


def regression(field: str = '<MiningField name="s"/>', more: str = "") -> str:
    table = '<RegressionTable intercept="0.5" targetCategory="1"><NumericPredictor name="s" coefficient="2"/>'
    schema = f'<MiningSchema><MiningField name="y" usageType="target"/>{field}</MiningSchema>'
    tables = f'{table}</RegressionTable><RegressionTable intercept="0" targetCategory="0"/>'
    head = 'functionName="classification" normalizationMethod="logit"'
    return f"<RegressionModel {head}>{schema}{more}{tables}</RegressionModel>"


TWO = segment(tree(1, 2)) + segment(tree(10, 20))
SUM = mining(TWO, "sum", schema=ALONE)
TIMES = (
    '<LocalTransformations><DerivedField name="s" optype="continuous" dataType="double"><Apply function="*">'
    '<FieldRef field="s"/><Constant dataType="double">3</Constant></Apply></DerivedField></LocalTransformations>'
)
CLIP = '<MiningField name="s" outliers="asExtremeValues" lowValue="0" highValue="1"/>'


def chain(last: str, kind: str = "double") -> str:
    first = mining(TWO, "sum", OUTPUT.format(kind), schema=ALONE)
    return mining(segment(first) + segment(last), "modelChain", kind="classification")


def read(model: str, target: str = NUMBER) -> TreeEnsemble:
    found = ensemble_from_pmml(document(model, target=target), None)
    assert found is not None
    return found


def test_what_is_plain_predicts() -> None:
    assert read(mining(TWO, "sum")).scoring is not None
    assert read(mining(segment(SUM), "modelChain")).scoring is not None
    scoring = read(chain(regression()), CLASS).scoring
    assert scoring is not None
    assert (scoring.link, scoring.base) == ("logit", (0.5,))


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (mining(segment(SUM), "modelChain", SCALED), NUMBER),
        (mining(segment(SUM), "sum", SCALED), NUMBER),
        (chain(regression(CLIP)), CLASS),
        (chain(regression(more=TIMES)), CLASS),
        (chain(regression(), "integer"), CLASS),
    ],
)
def test_what_changes_scores_in_a_way_that_is_not_read_leaves_them_unknown(model: str, target: str) -> None:
    assert read(model, target).scoring is None


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (mining(segment(SUM, "2"), "weightedSum"), "has a weight"),
        (mining(TWO + segment(tree(1, 2) * 2), "sum"), "holds 2 models"),
        (mining(segment(tree(1, 2), "0") * 2, "weightedAverage"), "negative, or add up to nothing"),
        (mining(segment(tree(1, 2), "1") + segment(tree(1, 2), "-1"), "weightedSum"), "negative, or add up to nothing"),
    ],
)
def test_segments_that_are_not_read_are_refused(model: str, message: str) -> None:
    with pytest.raises(UnsupportedModelError, match=message):
        read(model)


BINS = (
    '<Discretize field="x" dataType="double" mapMissingTo="7"{}><DiscretizeBin binValue="1">'
    '<Interval closure="closedOpen" leftMargin="0" rightMargin="3"/></DiscretizeBin></Discretize>'
)
TABLE = (
    '<MapValues outputColumn="o" dataType="double" mapMissingTo="7"{}><FieldColumnPair field="x" column="i"/>'
    "<InlineTable><row><i>a</i><o>1</o></row></InlineTable></MapValues>"
)
WORDS = '<DataField name="x" optype="categorical" dataType="string"/>'


def computed(body: str, values: tuple[float, ...], *, fields: str = X, functions: str = "") -> bytes:
    """Return a tree with a node for each value of a derived field, and one for the rest."""
    tests = [f'<SimplePredicate field="d" operator="equal" value="{value}"/>' for value in values]
    nodes = "".join(f'<Node id="{i}" score="{i}">{test}</Node>' for i, test in enumerate([*tests, "<True/>"]))
    field = f'<DerivedField name="d" optype="continuous" dataType="double">{body}</DerivedField>'
    top = f'{BOTH}<LocalTransformations>{field}</LocalTransformations><Node score="9"><True/>{nodes}</Node>'
    head = 'functionName="regression" splitCharacteristic="multiSplit" missingValueStrategy="none"'
    return document(f"<TreeModel {head}>{top}</TreeModel>", fields=fields, functions=functions)


@pytest.mark.parametrize(
    ("body", "fields", "domain"),
    [
        (BINS, X, Domain({"x": Integer(0, 9, missing=True)})),
        (TABLE, WORDS, Domain({"x": Category(("a", "c"), missing=True)})),
    ],
)
def test_a_value_in_no_bin_or_row_is_not_filled_as_a_missing_input_is(body: str, fields: str, domain: Domain) -> None:
    with pytest.raises(UnsupportedModelError, match="have no value in 'd'"):
        tree_from_pmml(computed(body.format(""), (7, 1), fields=fields), domain)
    model = tree_from_pmml(computed(body.format(' defaultValue="8"'), (7, 8, 1), fields=fields), domain)
    odd, within = ("c", "a") if fields == WORDS else (5, 1)
    assert model.predict({"x": [None, odd, within]}).tolist() == [0.0, 1.0, 2.0]


def test_a_function_is_known_by_what_it_computes() -> None:
    share = '<Apply function="*"><Constant dataType="double">{}</Constant>'
    function = (
        '<TransformationDictionary><DefineFunction name="f" optype="continuous" dataType="double">'
        '<ParameterField name="x"/><Apply function="+"><FieldRef field="x"/><Apply function="+">'
        f'{share.format("1.0E-8")}<Apply function="abs"><FieldRef field="x"/></Apply></Apply>'
        '<Constant dataType="double">0.9</Constant></Apply></Apply></DefineFunction></TransformationDictionary>'
    )
    body = '<Apply function="f"><FieldRef field="x"/></Apply>'
    with pytest.raises(UnsupportedModelError, match="nor computed of one in a way that is read"):
        tree_from_pmml(computed(body, (2.95,), functions=function), Domain({"x": Integer(0, 9)}))
