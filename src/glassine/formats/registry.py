"""The kinds of files that are read, and their readers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from glassine.errors import InvalidModelError, UnreadableFileError, UnsupportedModelError
from glassine.files import parse_json
from glassine.formats.boosted.lightgbm import forest_from_lightgbm, is_lightgbm_text, tree_from_lightgbm
from glassine.formats.boosted.treelite import forest_from_treelite, is_treelite_json, tree_from_treelite
from glassine.formats.boosted.xgboost import forest_from_xgboost, is_xgboost_json, tree_from_xgboost
from glassine.formats.json import SCHEMA, from_dict
from glassine.formats.onnx import forest_from_onnx, tree_from_onnx
from glassine.formats.pmml import forest_from_pmml, tree_from_pmml
from glassine.formats.printed.c45 import is_c45_text, tree_from_c45
from glassine.formats.printed.dot import is_dot_text, tree_from_dot
from glassine.formats.printed.export_text import tree_from_export_text
from glassine.formats.printed.randomforest import is_randomforest_text, tree_from_randomforest
from glassine.formats.printed.rpart import is_rpart_text, tree_from_rpart
from glassine.formats.printed.rules import parse_rules
from glassine.formats.sklearn.corels import (
    is_corels,
    is_corels_program,
    rules_from_corels,
    rules_from_corels_program,
    rules_from_corels_text,
)
from glassine.formats.sklearn.imodels import is_imodels_text, rules_from_imodels_text
from glassine.formats.sklearn.interpret import additive_from_interpret, is_interpret_json
from glassine.models.additive import AdditiveModel
from glassine.models.forest import Forest
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

__all__ = ["FILES", "ONE", "SEVERAL", "json_kind", "text_kind"]

FILES = (
    "Glassine's JSON, a skops, ONNX or PMML file, the JSON, UBJSON or text of trees of XGBoost, LightGBM or treelite, "
    "what export_text, export_graphviz, R or Weka print of a tree, or a rule list such as 'if [a] then [true]' and "
    "'else [false]' on two lines"
)
RULES = re.compile(r"(if|else|elif)(?=[\s\[])|(classes|attributes|counts)\s*:", re.IGNORECASE)
LINE = re.compile(r"(?m)^.{1,1000}")
"""A line, or its start: no kind of file needs more to be known."""
MAX_LINES = 250_000
"""Most lines of a model in text: each becomes a node or more, which takes a thousand bytes and some 50 microseconds."""
SEVERAL: dict[str, tuple[Callable[..., DecisionTree], Callable[..., Forest]]] = {
    "ONNX": (tree_from_onnx, forest_from_onnx),
    "PMML": (tree_from_pmml, forest_from_pmml),
    "XGBoost": (tree_from_xgboost, forest_from_xgboost),
    "LightGBM": (tree_from_lightgbm, forest_from_lightgbm),
    "treelite": (tree_from_treelite, forest_from_treelite),
}
"""Readers of one tree, and of all, of the files that can hold several."""
ONE: dict[str, Callable[..., DecisionTree | RuleList | AdditiveModel]] = {
    "export_text": tree_from_export_text,
    "the text of CORELS": rules_from_corels_text,
    "the JSON of CORELS": rules_from_corels,
    "the text of imodels": rules_from_imodels_text,
    "the program of CORELS": rules_from_corels_program,
    "export_graphviz": tree_from_dot,
    "randomForest": tree_from_randomforest,
    "rpart": tree_from_rpart,
    "C4.5": tree_from_c45,
    "a rule list": parse_rules,
    "interpret": additive_from_interpret,
    "Glassine": lambda data, domain: from_dict(data),
}
"""Readers of the files that hold one model."""


def text_kind(text: str, path: str | os.PathLike[str]) -> tuple[str, Any]:
    """Return what a text holds: the kind, which names its readers, and the content as they take it."""
    start = text.lstrip()
    if is_corels_program(start):
        return "the program of CORELS", text
    if start.startswith(("{", "[")):
        return json_kind(parse_json(text, path=path))
    if start.count("\n") + start.count("\r") > MAX_LINES:
        raise UnreadableFileError(
            f"{os.fspath(path)} has more than {MAX_LINES:,} lines. Give a smaller model.", path=path
        )
    lines = (line[0].strip() for line in LINE.finditer(start))
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if re.match(r"\|-+ ", first):
        return "export_text", text
    if first.upper() == "RULELIST:":
        return "the text of CORELS", text
    if is_lightgbm_text(start):
        return "LightGBM", text
    if is_imodels_text(text):
        return "the text of imodels", text
    if is_dot_text(start):
        return "export_graphviz", text
    if is_randomforest_text(text):
        return "randomForest", text
    if is_rpart_text(text):
        return "rpart", text
    if is_c45_text(text) and not re.match(r"if[\s\[]", first, re.IGNORECASE):
        return "C4.5", text
    if RULES.match(first):
        return "a rule list", text
    raise UnsupportedModelError(f"the file starts with {first[:60]!r}, which is no model. Give {FILES}.")


def json_kind(data: Any) -> tuple[str, Any]:
    """Return what plain JSON values are, and the values."""
    if isinstance(data, dict) and "schema" not in data and is_corels(data):
        return "the JSON of CORELS", data
    if is_interpret_json(data):
        return "interpret", data
    if is_xgboost_json(data):
        return "XGBoost", data
    if is_treelite_json(data):
        return "treelite", data
    schema = data.get("schema") if isinstance(data, dict) else None
    kind = schema.split("/")[0] if isinstance(schema, str) else ""
    if re.fullmatch(r"glassine\.[a-z-]+", kind) and kind != SCHEMA.split("/")[0]:
        hint = " Give it as the domain." if kind == "glassine.domain" else ""
        raise InvalidModelError(f"this is no model, but of schema {schema!r}; a model's is {SCHEMA!r}.{hint}")
    return "Glassine", data
