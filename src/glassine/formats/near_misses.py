"""Files that are nearly a model that is read: what each is, and which call writes one that can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from glassine.errors import UnsupportedModelError
from glassine.formats.format import Content
from glassine.formats.printed.baselines import is_baseline


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A kind of content that holds a model, or names one, in a form that is not read.

    Attributes
    ----------
    kind : {"text", "values", "bytes"}
        What the content is taken as.
    recognizes : callable
        Returns whether a content is of the kind.
    what : str
        What it is, as a message says it.
    remedy : str
        The call that writes a file that can be read.
    """

    kind: Content
    recognizes: Callable[[Any], bool]
    what: str
    remedy: str


def _text(pattern: str) -> Callable[[Any], bool]:
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda text: compiled.match(text[:5_000].lstrip()) is not None


def _is_dumped_tree(values: Any) -> bool:
    first = values[0] if isinstance(values, list) and values else values
    return isinstance(first, Mapping) and "nodeid" in first


def _has(*keys: str) -> Callable[[Any], bool]:
    return lambda values: isinstance(values, Mapping) and all(key in values for key in keys)


XGBOOST = "Save the model with booster.save_model('model.json')."
LIGHTGBM = "Save the model with booster.save_model('model.txt')."
AS_RULES = "Write them as a rule list, one 'if [a] then [b]' a line, and 'else [c]' last."
CATBOOST = "Save the model with model.save_model('model.onnx', format='onnx')."
NEAR_MISSES = (
    NearMiss(
        "text",
        _text(r"(booster\[\d{1,9}\]:?\s*)?0:(\[[^\]]{1,500}\]|leaf=)|digraph \{\s*graph \[|Tree,Node,ID,Feature,"),
        "what XGBoost prints of its trees with get_dump or trees_to_dataframe, without classes and objective",
        XGBOOST,
    ),
    NearMiss(
        "values",
        _is_dumped_tree,
        "what XGBoost writes of its trees with get_dump(dump_format='json'), without classes and objective",
        XGBOOST,
    ),
    NearMiss(
        "values",
        _has("tree_info", "feature_names"),
        "the JSON of LightGBM's dump_model, which is not its model file",
        LIGHTGBM,
    ),
    NearMiss(
        "text",
        _text(r"tree_index,node_depth,"),
        "what LightGBM gives of its trees with trees_to_dataframe, which is not its model file",
        LIGHTGBM,
    ),
    NearMiss(
        "values",
        lambda values: _has("oblivious_trees")(values) or _has("model_info", "trees")(values),
        "the JSON of CatBoost",
        CATBOOST,
    ),
    NearMiss("bytes", lambda data: data.startswith(b"CBM1"), "a model of CatBoost", CATBOOST),
    NearMiss(
        "bytes",
        lambda data: data.startswith((b"binf", b"bs64")),
        "a model of XGBoost in its old binary form",
        f"Load it with an XGBoost that reads it. {XGBOOST}",
    ),
    NearMiss(
        "text",
        _text(r"([\w.]{1,100} <-\s+)?(structure|list)\((list\(|c\(|[\w.]{1,100} = )|List of \d|\$\w|var +n +wt +dev "),
        "an object of R as dput, dump, str or its fields show it",
        "Print the tree in R instead, and save the text: sink('tree.txt'); print(model); sink(). Of C5.0 print "
        "summary(model).",
    ),
    NearMiss(
        "text",
        _text(r"(Pipeline|[A-Z][A-Za-z]{1,60}(Classifier|Regressor|Tree|SearchCV))\([^{}]*\)\s*\Z"),
        "the name of an estimator as Python prints it, without what it learned",
        "Save the fitted estimator itself: skops.io.dump(model, 'model.skops').",
    ),
    NearMiss(
        "text",
        _text(r"[^\n]{0,200}\n([^\n]{0,200}\n)?\s+-?[0-9.]+ (\[[0-9. ]{1,200}\] +)?when +[^\n]{1,500} (is|<|>=|<=|>) "),
        "what rpart.rules of R prints of a tree, without its records and with rounded thresholds",
        "Save what print(model, digits = 15) prints of the tree itself.",
    ),
    NearMiss(
        "text",
        _text(r"Conditional inference tree with"),
        "a tree of the R package party, whose print lacks the classes of leaves",
        "Fit it with ctree of partykit, and save what print(model) prints.",
    ),
    NearMiss(
        "text",
        _text(
            r"([A-Z][a-z]+ )?(generalized )?(linear |logistic )?model tree\b|Model-based recursive partitioning|"
            r"M5 (un)?pruned|[^\x00]{0,1000}^Cubist \[Release"
        ),
        "a tree or a set of rules with a regression in each part, as partykit, Weka's M5 and LMT, and Cubist fit them",
        "Fit a tree whose leaves have a class or a number, with ctree, rpart or J48.",
    ),
    NearMiss(
        "text",
        _text(r"(\([^()\n]{1,500}\)( and \([^()\n]{1,500}\))* )?=> [^\n]{1,200}=[^\n]{1,200} \([0-9.]+/[0-9.]+\)"),
        "a list of rules as RIPPER prints it",
        AS_RULES,
    ),
    NearMiss(
        "text",
        _text(r"(lhs +rhs |(\[[0-9]{1,9}\] +)?\{[^{}\"\n]{0,500}\} *=> *\{)"),
        "a list of association rules, which have no order and no default",
        AS_RULES,
    ),
    NearMiss(
        "text",
        _text(r"[^\x00]{0,1000}^(Classification Tree|Rule-Based Model)[ \t\r]*\nNumber of samples:"),
        "a summary of C5.0 without its tree",
        "Save what print(summary(model)) prints.",
    ),
    NearMiss(
        "text",
        _text(r"\[1\] \""),
        "a text as R prints it in quotes",
        "Write it with cat(text, file = 'model.txt').",
    ),
    NearMiss(
        "text",
        _text(r"CASE\s+WHEN\b|def \w{1,100}\("),
        "a model as code",
        "Give the model that the code was written from.",
    ),
    NearMiss(
        "text",
        is_baseline,
        "a baseline hazard without the Cox regression that it is of",
        "Save both in one file, the summary first: print(summary(model)); print(basehaz(model)). In Python, "
        "print(results.summary()); print(results.baseline_cumulative_hazard).",
    ),
    NearMiss(
        "text",
        lambda text: _text(r"Call:\s{0,20}\n?\s*(stats::)?(lm|glm)\(")(text) and "Std. Error" not in text,
        "a regression as R prints it without its errors",
        "Save what print(summary(model)) prints.",
    ),
    NearMiss(
        "text",
        _text(r"Call:\s{0,20}\n?\s*(randomForest|ranger)[\w.]{0,40}\("),
        "a summary of a forest of R, without the nodes of its trees",
        "Print a tree itself: print(getTree(model, 1, labelVar = TRUE)) of randomForest.",
    ),
)


def refuse_near_miss(content: object, kind: Content) -> None:
    """Raise UnsupportedModelError if a content is nearly one that is read."""
    for one in NEAR_MISSES:
        if one.kind == kind and one.recognizes(content):
            raise UnsupportedModelError(f"it is {one.what}.", remedy=one.remedy)
