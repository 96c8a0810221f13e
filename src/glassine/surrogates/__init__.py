"""Explanations of a black box by the small trees of microaggregated groups, and what is published of them."""

from __future__ import annotations

from glassine.surrogates.answers import AnswerErrors, NumericAnswer
from glassine.surrogates.black_boxes import BlackBox, load_black_box
from glassine.surrogates.explainer import SurrogateExplainer
from glassine.surrogates.explainer_values import (
    Change,
    Contrast,
    ContrastConstraints,
    Explanation,
    Measures,
    NodeCounts,
    Provenance,
)
from glassine.surrogates.goals import ExplanationChoice, ExplanationGoal, ExplanationShares
from glassine.surrogates.protocols import Protocol
from glassine.surrogates.surrogate_release import SurrogateRelease

__all__ = [
    "AnswerErrors",
    "BlackBox",
    "Change",
    "Contrast",
    "ContrastConstraints",
    "Explanation",
    "ExplanationChoice",
    "ExplanationGoal",
    "ExplanationShares",
    "Measures",
    "NodeCounts",
    "NumericAnswer",
    "Protocol",
    "Provenance",
    "SurrogateExplainer",
    "SurrogateRelease",
    "load_black_box",
]
