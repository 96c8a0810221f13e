"""Readers and writers of models."""

from glassine.models.formats.c45_text import tree_from_c45
from glassine.models.formats.corels import rules_from_corels, rules_from_corels_text
from glassine.models.formats.dot_text import tree_from_dot
from glassine.models.formats.export_text import tree_from_export_text
from glassine.models.formats.imodels import rules_from_imodels
from glassine.models.formats.interpret_ebm import additive_from_interpret, extras_of_interpret
from glassine.models.formats.json import fingerprint, write_model
from glassine.models.formats.lightgbm_text import tree_from_lightgbm
from glassine.models.formats.loading import (
    as_any,
    as_model,
    is_additive,
    load_additive,
    load_any,
    load_forest,
    load_model,
)
from glassine.models.formats.onnx_tree import tree_from_onnx
from glassine.models.formats.onnx_writer import to_onnx
from glassine.models.formats.optimal_trees import tree_from_dl85, tree_from_streed
from glassine.models.formats.pmml import tree_from_pmml
from glassine.models.formats.pmml_writer import to_pmml
from glassine.models.formats.python import to_python
from glassine.models.formats.randomforest_text import tree_from_randomforest
from glassine.models.formats.rpart_text import tree_from_rpart
from glassine.models.formats.rule_text import format_rules, parse_rules
from glassine.models.formats.scikit import tree_from_sklearn
from glassine.models.formats.scikit_writer import to_sklearn
from glassine.models.formats.skops_file import read_skops
from glassine.models.formats.sql import to_sql
from glassine.models.formats.text import to_text
from glassine.models.formats.treelite_json import tree_from_treelite
from glassine.models.formats.xgboost_json import tree_from_xgboost

__all__ = [
    "additive_from_interpret",
    "as_any",
    "as_model",
    "extras_of_interpret",
    "fingerprint",
    "format_rules",
    "is_additive",
    "load_additive",
    "load_any",
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
    "write_model",
]
