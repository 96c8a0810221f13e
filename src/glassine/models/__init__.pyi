from glassine.models.additive import AdditiveModel as AdditiveModel
from glassine.models.additive import summarize_model as summarize_model
from glassine.models.bins import CategoryBins as CategoryBins
from glassine.models.bins import NumericBins as NumericBins
from glassine.models.editing import Editor as Editor
from glassine.models.effects import Effect as Effect
from glassine.models.effects import Equal as Equal
from glassine.models.effects import Power as Power
from glassine.models.ensemble import TreeEnsemble as TreeEnsemble
from glassine.models.evidence import Cell as Cell
from glassine.models.evidence import Evidence as Evidence
from glassine.models.evidence import Model as Model
from glassine.models.evidence import cell_probabilities as cell_probabilities
from glassine.models.guarantee import Guarantee as Guarantee
from glassine.models.regression import FitStatistics as FitStatistics
from glassine.models.regression import RegressionModel as RegressionModel
from glassine.models.rule_list import Rule as Rule
from glassine.models.rule_list import RuleList as RuleList
from glassine.models.terms import Edit as Edit
from glassine.models.terms import Term as Term
from glassine.models.tree import Branch as Branch
from glassine.models.tree import DecisionTree as DecisionTree
from glassine.models.tree import Forest as Forest
from glassine.models.tree import Node as Node

__all__: list[str]
