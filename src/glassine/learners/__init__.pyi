from glassine.learners.additive.estimators import PrivateEBMClassifier as PrivateEBMClassifier
from glassine.learners.additive.estimators import PrivateEBMRegressor as PrivateEBMRegressor
from glassine.learners.additive.merging import Merged as Merged
from glassine.learners.additive.merging import merge as merge
from glassine.learners.additive.number_cards import PrivateScorecardRegressor as PrivateScorecardRegressor
from glassine.learners.additive.number_cards import ScorecardRegressor as ScorecardRegressor
from glassine.learners.additive.ordinary import EBMClassifier as EBMClassifier
from glassine.learners.additive.ordinary import EBMRegressor as EBMRegressor
from glassine.learners.additive.scorecards import PrivateScorecardClassifier as PrivateScorecardClassifier
from glassine.learners.additive.scorecards import ScorecardClassifier as ScorecardClassifier
from glassine.learners.exhaustive.optimal import OptimalRuleListClassifier as OptimalRuleListClassifier
from glassine.learners.exhaustive.optimal import OptimalTreeClassifier as OptimalTreeClassifier
from glassine.learners.exhaustive.optimal import OptimalTreeRegressor as OptimalTreeRegressor
from glassine.learners.exhaustive.private import PrivateRuleListClassifier as PrivateRuleListClassifier
from glassine.learners.exhaustive.private import PrivateTreeClassifier as PrivateTreeClassifier
from glassine.learners.exhaustive.private import PrivateTreeRegressor as PrivateTreeRegressor
from glassine.learners.exhaustive.sizes import suggested_depth as suggested_depth
from glassine.learners.greedy.ordinary_lists import GreedyRuleListClassifier as GreedyRuleListClassifier
from glassine.learners.greedy.private_lists import PrivateGreedyRuleListClassifier as PrivateGreedyRuleListClassifier
from glassine.learners.multiway_tree import MultiwayTreeClassifier as MultiwayTreeClassifier
from glassine.learners.search import PrivateSearchCV as PrivateSearchCV
from glassine.learners.summaries.private_summary import PrivateSummary as PrivateSummary
from glassine.learners.summaries.reserve import Reserve as Reserve

__all__: list[str]
