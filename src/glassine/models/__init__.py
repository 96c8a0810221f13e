"""Published models as plain values: what a reader of the model sees."""

from glassine.models.evidence import Cell, Evidence, Model, predict
from glassine.models.rule_list import Rule, RuleList
from glassine.models.tree import Branch, DecisionTree, Node

__all__ = ["Branch", "Cell", "DecisionTree", "Evidence", "Model", "Node", "Rule", "RuleList", "predict"]
