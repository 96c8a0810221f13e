"""The remedy of each refusal of a file names a step for its kind, and near misses name the call that writes a model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from glassine.errors import GlassineError, UnreadableFileError, UnsupportedModelError
from glassine.formats import load_model
from glassine.formats.registry import formats, recognized

FILES = Path(__file__).parents[1] / "formats" / "files"
DUMPED = "booster[0]:\n0:[f0<0.5] yes=1,no=2,missing=1\n\t1:leaf=0.3\n\t2:leaf=-0.3\n"
TREE = {"nodeid": 0, "depth": 0, "split": "f0", "children": [{"nodeid": 1, "leaf": 0.1}, {"nodeid": 2, "leaf": 0.2}]}
NEAR = {
    "XGBoost get_dump": (DUMPED, "get_dump", r"booster\.save_model\('model\.json'\)"),
    "XGBoost get_dump without a headline": (DUMPED.partition("\n")[2], "get_dump", r"save_model\('model\.json'\)"),
    "XGBoost JSON dump": (json.dumps([TREE]), "dump_format='json'", r"save_model\('model\.json'\)"),
    "XGBoost JSON dump of one tree": (json.dumps(TREE), "dump_format='json'", r"save_model\('model\.json'\)"),
    "LightGBM dump_model": (
        json.dumps({"name": "tree", "version": "v4", "feature_names": ["a"], "tree_info": []}),
        "dump_model",
        r"save_model\('model\.txt'\)",
    ),
    "CatBoost JSON": (json.dumps({"oblivious_trees": [], "features_info": {}}), "CatBoost", "format='onnx'"),
    "rpart.rules": (
        " y\n    0.18 when age <  46 & dose >= 1.2\n    0.42 when age >= 46\n",
        "rpart.rules",
        r"digits = 15",
    ),
    "rpart.rules with cover": (
        " y    cover\n    0.1 when sex is male & a >= 6    58%\n",
        "rpart.rules",
        r"digits = 15",
    ),
    "CatBoost": ("CBM1\x00\x01", "CatBoost", "format='onnx'"),
    "dput of R": ('structure(list(frame = structure(list(var = c("a")))))\n', "dput", r"print\(model\)"),
    "repr of an estimator": (
        "DecisionTreeClassifier(max_depth=3, random_state=0)\n",
        "as Python prints",
        r"skops\.io\.dump",
    ),
    "repr of an estimator on several lines": (
        "XGBClassifier(base_score=None,\n              max_depth=3)\n",
        "as Python prints",
        r"skops\.io\.dump",
    ),
    "XGBoost graph": ("digraph {\n    graph [ rankdir=TB ]\n", "get_dump", r"save_model\('model\.json'\)"),
    "XGBoost table": (
        "Tree,Node,ID,Feature,Split,Yes,No\n0,0,0-0,f0,0.5,0-1,0-2\n",
        "trees_to_dataframe",
        "model.json",
    ),
    "LightGBM table": ("tree_index,node_depth,node_index\n0,1,0-S0\n", "trees_to_dataframe", r"model\.txt"),
    "dump of R": ("f <-\nstructure(list(frame = structure(list(var =\n", "dump", r"print\(model\)"),
    "str of R": ("List of 15\n $ frame              :'data.frame':\t57 obs.\n", "dump", r"print\(model\)"),
    "fields of R": ("$call\nrandomForest(formula = y ~ .)\n", "fields", r"print\(model\)"),
    "frame of rpart": (
        "        var   n  wt dev yval  complexity\n1        x0 600 600 300    1 0.2\n",
        "fields",
        "print",
    ),
    "rules of RIPPER": (
        "(a >= 3) and (b <= 1.6) => kind=x (48.0/1.0)\n => kind=y (54.0/4.0)\n",
        "RIPPER",
        r"'if \[a\] then \[b\]' a line",
    ),
    "association rules": ("{a=1, b=2} => {y=yes}\n{} => {y=no}\n", "association rules", r"'else \[c\]' last"),
    "association rules of R": (
        "    lhs         rhs      support confidence\n[1] {a=1} => {y=yes} 0.1 0.9\n",
        "association rules",
        r"'else \[c\]' last",
    ),
    "model tree of partykit": (
        "Generalized linear model tree (family: binomial)\n\nModel formula:\ny ~ 1 | a\n",
        "a regression in each part",
        "with ctree, rpart or J48",
    ),
    "Logistic model tree of Weka": ("Logistic model tree \n---\n\na <= 2: LM_1:1/1 (20)\n", "LMT", "J48"),
    "M5 of Weka": ("M5 pruned model tree:\n\na <= 2 : LM1 (20/30%)\na > 2 : LM2 (30/40%)\n", "M5", "J48"),
    "Cubist": ("\nCall:\ncubist.default(x = x)\n\n\nCubist [Release 2.07 GPL Edition]\n", "Cubist", "rpart"),
    "print of C5.0": (
        "\nCall:\nC5.0(x = x)\n\nClassification Tree\nNumber of samples: 100 \n",
        "without its tree",
        r"print\(summary\(model\)\)",
    ),
    "rules of C5.0": ("Rules:\n\nRule 1: (60/5, lift 1.2)\n\tage <= 40\n", "rules and stumps", "rules = FALSE"),
    "trials of C5.0": (
        "--  Trial 0:  --\n\nDecision tree:\n\n a (9)\n\n--  Trial 1:  --\n\nDecision tree:\n\n b (9)\n",
        "2 printed trees",
        "trials = 1",
    ),
    "text of R in quotes": ('[1] "Decision tree:"\n', "in quotes", r"cat\(text"),
    "SQL": ("CASE\n  WHEN a > 1 THEN 'x'\n  ELSE 'y'\nEND\n", "model as code", "was written from"),
    "Python": ("def predict(record):\n    return 1\n", "model as code", "was written from"),
    "tree of party": (
        "\n\t Conditional inference tree with 2 terminal nodes\n\nResponse:  y \n",
        "R package party",
        "ctree of partykit",
    ),
    "stump of Weka": ("Decision Stump\n\nClassifications\n\nx <= 1 : c0\n", "rules and stumps", "rule list"),
    "baseline hazard of R": ("    hazard time\n1 0.01 3\n", "without the Cox regression", r"print\(basehaz\(model\)\)"),
    "curves of R": ("Call: survfit(formula = cox)\n", "without the Cox regression", r"print\(summary\(model\)\)"),
    "hazards of statsmodels": (
        "[[array([3.]), array([0.1]), array([0.9])]]\n",
        "without the Cox",
        "baseline_cumulative",
    ),
    "print of R": (
        "\nCall:\nlm(formula = y ~ x)\n\nCoefficients:\n(Intercept)            x\n 1.0  2.0\n",
        "without its errors",
        r"print\(summary\(model\)\)",
    ),
    "summary of R": ("Call:\n randomForest(formula = y ~ ., data = d)\n", "summary of a forest", r"getTree\(model, 1"),
}


@pytest.mark.parametrize("name", NEAR)
def test_a_near_miss_is_named(name: str, tmp_path: Path) -> None:
    text, what, call = NEAR[name]
    (tmp_path / "m").write_text(text)
    with pytest.raises((UnsupportedModelError, UnreadableFileError)) as caught:
        load_model(tmp_path / "m")
    assert what in str(caught.value)
    assert re.search(call, str(caught.value))


@pytest.mark.parametrize("form", [one for one in formats() if one.read is not None], ids=lambda one: one.name)
def test_each_format_that_is_read_says_what_writes_it(form: object) -> None:
    assert getattr(form, "again", "")


TEXTS = sorted(path for path in FILES.iterdir() if path.suffix in (".txt", ".json", ".dot", ".pmml"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_the_remedy_of_a_cut_file_is_of_its_kind(path: Path, tmp_path: Path) -> None:
    text, errors = path.read_text(), []
    for share in (0.3, 0.5, 0.7, 0.9):
        (tmp_path / "m").write_text(text[: int(len(text) * share)])
        try:
            load_model(tmp_path / "m")
        except GlassineError as error:
            errors.append(error)
    form = recognized(text, "text")
    steps = () if form is None else (form.again,)
    assert all(error.remedy for error in errors)
    assert all(any(step in str(error.remedy) for step in steps) for error in errors if "Write it" in str(error.remedy))
    assert errors or path.suffix == ".txt"


UNREAD = {
    "zeros for gaps": ("lightgbm.txt", "decision_type=", "decision_type=4 ", "zeros for missing"),
    "another objective": ("xgboost.json", '"binary:logistic"', '"survival:cox"', "survival:cox"),
    "a root with a condition": (
        "tree.pmml",
        "<True/>",
        '<SimplePredicate field="age" operator="lessThan" value="1"/>',
        "root",
    ),
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_file_of_a_program_that_is_not_read_is_not_to_be_written_again(name: str, tmp_path: Path) -> None:
    file, old, new, message = UNREAD[name]
    text = (FILES / file).read_text()
    assert old in text
    if name == "zeros for gaps":
        text = re.sub(r"(?m)^decision_type=2", "decision_type=6", text)
    else:
        text = text.replace(old, new, 1 if old == "<True/>" else -1)
    (tmp_path / "m").write_text(text)
    with pytest.raises(UnsupportedModelError, match=message) as caught:
        load_model(tmp_path / "m")
    assert str(caught.value.remedy).startswith("Give a model without it")
