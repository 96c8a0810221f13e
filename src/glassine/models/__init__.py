"""Published models as plain values: what a reader of the model sees."""

from glassine.models.additive import AdditiveModel, summarize_model
from glassine.models.bins import CategoryBins, NumericBins
from glassine.models.editor import Editor
from glassine.models.edits import Edit
from glassine.models.evidence import Cell, Evidence, Model
from glassine.models.forest import Forest
from glassine.models.guarantee import Guarantee
from glassine.models.probabilities import cell_probabilities
from glassine.models.rule_list import Rule, RuleList
from glassine.models.terms import Term
from glassine.models.tree import Branch, DecisionTree, Node

__all__ = [
    "AdditiveModel",
    "Branch",
    "CategoryBins",
    "Cell",
    "DecisionTree",
    "Edit",
    "Editor",
    "Evidence",
    "Forest",
    "Guarantee",
    "Model",
    "Node",
    "NumericBins",
    "Rule",
    "RuleList",
    "Term",
    "cell_probabilities",
    "summarize_model",
]
