"""Published models as plain values: what a reader of the model sees."""

from glassine.models.evidence import Cell, Evidence, Model, predict
from glassine.models.guarantee import Guarantee
from glassine.models.probabilities import cell_probabilities, predict_proba
from glassine.models.rule_list import Rule, RuleList
from glassine.models.tree import Branch, DecisionTree, Node

__all__ = [
    "Branch",
    "Cell",
    "DecisionTree",
    "Evidence",
    "Guarantee",
    "Model",
    "Node",
    "Rule",
    "RuleList",
    "cell_probabilities",
    "predict",
    "predict_proba",
]
