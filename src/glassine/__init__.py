"""Glassine: the privacy of interpretable models."""

from __future__ import annotations

from glassine.exports import exports_of

__version__ = "0.1.0"

_LEARNERS = (
    *("GreedyRuleListClassifier", "MultiwayTreeClassifier", "OptimalRuleListClassifier", "OptimalTreeClassifier"),
    *("OptimalTreeRegressor", "PrivateEBMClassifier", "PrivateEBMRegressor", "PrivateGreedyRuleListClassifier"),
    *("PrivateRuleListClassifier", "PrivateScorecardClassifier", "PrivateSearchCV", "PrivateSummary"),
    *("PrivateTreeClassifier", "PrivateTreeRegressor", "ScorecardClassifier"),
)
_MOVED = dict.fromkeys(_LEARNERS, "glassine.learners") | {
    "PrivacyLeakWarning": "glassine.errors",
    "SurrogateExplainer": "glassine.surrogates",
    "microaggregate": "glassine.microaggregation",
    "reconstruct_records": "glassine.attacks",
    "summarize_model": "glassine.models",
}
"""Names that early checkouts had at the top. They are found, with a warning, until the first release."""

__getattr__, __dir__ = exports_of(__name__, __file__, moved=_MOVED)
