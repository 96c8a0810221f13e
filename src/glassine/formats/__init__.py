"""Readers and writers of models."""

from glassine.formats.boosted.lightgbm import tree_from_lightgbm
from glassine.formats.boosted.treelite import tree_from_treelite
from glassine.formats.boosted.xgboost import tree_from_xgboost
from glassine.formats.code.python import to_python
from glassine.formats.code.sql import to_sql
from glassine.formats.code.text import to_text
from glassine.formats.contents import FileContents, OtherContent
from glassine.formats.json import fingerprint
from glassine.formats.loading import (
    ModelFile,
    as_model,
    load_estimator,
    load_file,
    load_forest,
    load_model,
    tree_or_rules,
    write_clean,
    write_model,
)
from glassine.formats.onnx import tree_from_onnx
from glassine.formats.onnx_writer import to_onnx
from glassine.formats.pmml import tree_from_pmml
from glassine.formats.pmml_writer import to_pmml
from glassine.formats.printed.c45 import tree_from_c45
from glassine.formats.printed.dot import tree_from_dot
from glassine.formats.printed.export_text import tree_from_export_text
from glassine.formats.printed.randomforest import tree_from_randomforest
from glassine.formats.printed.rpart import tree_from_rpart
from glassine.formats.printed.rules import format_rules, parse_rules
from glassine.formats.registry import Format, PublishedModel, formats
from glassine.formats.sklearn.corels import rules_from_corels, rules_from_corels_text
from glassine.formats.sklearn.imodels import rules_from_imodels
from glassine.formats.sklearn.interpret import additive_from_interpret, extras_of_interpret
from glassine.formats.sklearn.optimal_trees import tree_from_dl85, tree_from_streed
from glassine.formats.sklearn.tree import tree_from_sklearn
from glassine.formats.sklearn.writer import to_sklearn
from glassine.formats.skops import read_skops

__all__ = [
    "FileContents",
    "Format",
    "ModelFile",
    "OtherContent",
    "PublishedModel",
    "additive_from_interpret",
    "as_model",
    "extras_of_interpret",
    "fingerprint",
    "format_rules",
    "formats",
    "load_estimator",
    "load_file",
    "load_forest",
    "load_model",
    "parse_rules",
    "read_skops",
    "rules_from_corels",
    "rules_from_corels_text",
    "rules_from_imodels",
    "to_onnx",
    "to_pmml",
    "to_python",
    "to_sklearn",
    "to_sql",
    "to_text",
    "tree_from_c45",
    "tree_from_dl85",
    "tree_from_dot",
    "tree_from_export_text",
    "tree_from_lightgbm",
    "tree_from_onnx",
    "tree_from_pmml",
    "tree_from_randomforest",
    "tree_from_rpart",
    "tree_from_sklearn",
    "tree_from_streed",
    "tree_from_treelite",
    "tree_from_xgboost",
    "tree_or_rules",
    "write_clean",
    "write_model",
]
