"""Readers and writers of models."""

from glassine.models.formats.corels import rules_from_corels, rules_from_corels_text
from glassine.models.formats.export_text import tree_from_export_text
from glassine.models.formats.imodels import rules_from_imodels
from glassine.models.formats.interpret_ebm import additive_from_interpret, extras_of_interpret
from glassine.models.formats.json import fingerprint, write_model
from glassine.models.formats.loading import as_any, as_model, is_additive, load_additive, load_any, load_model
from glassine.models.formats.python import to_python
from glassine.models.formats.rule_text import format_rules, parse_rules
from glassine.models.formats.scikit import tree_from_sklearn
from glassine.models.formats.scikit_writer import to_sklearn
from glassine.models.formats.skops_file import read_skops
from glassine.models.formats.sql import to_sql
from glassine.models.formats.text import to_text

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
    "load_model",
    "parse_rules",
    "read_skops",
    "rules_from_corels",
    "rules_from_corels_text",
    "rules_from_imodels",
    "to_python",
    "to_sklearn",
    "to_sql",
    "to_text",
    "tree_from_export_text",
    "tree_from_sklearn",
    "write_model",
]
