"""Models of one private summary side by side, by the summary's own estimates: no record is read, nothing is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from glassine.errors import InvalidParameterError, parameter
from glassine.learners.antecedents import check_whole
from glassine.learners.summaries.estimates import Estimate
from glassine.learners.summaries.estimator import PrivateSummary
from glassine.models import AdditiveModel, DecisionTree, RuleList

OF_A_SUMMARY = ("tree", "rule-list", "additive", "scorecard")
"""Kinds of models that a summary gives."""

ITEMS = (5, 10)
"""Items of the scorecards that are compared."""

Model = DecisionTree | RuleList | AdditiveModel


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One model of a summary."""

    model: str  # Its kind
    parameters: dict[str, int]  # The parameters of the method that gives it
    estimate: Estimate  # What the summary makes of it, which flatters it

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; no figure of a summary is called accuracy."""
        own = {name: None if value != value else value for name, value in asdict(self.estimate).items()}
        return {
            "model": self.model,
            "parameters": self.parameters,
            "expected_correct": own["accuracy"],
            "expected_correct_spread": own["accuracy_spread"],
            "expected_auc": own["auc"],
            "expected_auc_spread": own["auc_spread"],
            "expected_error": own["error"],
            "expected_error_spread": own["error_spread"],
        }


def compare_models(
    summary: PrivateSummary,
    models: Sequence[str] = OF_A_SUMMARY,
    *,
    max_depth: int = 3,
    max_rules: int = 3,
    bootstrap: int = 10,
) -> tuple[SummaryRow, ...]:
    """Return models of a summary, the one with the highest estimate first.

    **Guarantee**: that of the summary; every figure follows from it.
    """
    unknown = next((name for name in models if name not in OF_A_SUMMARY), None)
    if unknown is not None or not models:
        raise InvalidParameterError(
            f"{parameter('models')} must be some of {', '.join(OF_A_SUMMARY)}, got {unknown!r}.",
            remedy="A summary gives no others.",
        )
    depths = range(1, check_whole(max_depth, "max_depth", 1, 12) + 1)
    sizes = range(1, check_whole(max_rules, "max_rules", 1, 12) + 1)
    # None of a number.
    n_classes = None if summary.released_.squares is not None else len(summary.classes_)
    cards = ITEMS if n_classes == 2 else ()
    makes: dict[str, list[tuple[dict[str, int], Callable[[], Model]]]] = {
        "tree": [({"max_depth": n}, partial(summary.tree, n)) for n in depths],
        "rule-list": [({"max_rules": n}, partial(summary.rule_list, n)) for n in sizes],
        "additive": [({}, summary.additive)],
        "scorecard": [({"max_items": n}, partial(summary.scorecard, n)) for n in cards],
    }
    rows = [
        SummaryRow(model=kind, parameters=given, estimate=summary.reported(make(), bootstrap=bootstrap))
        for kind in OF_A_SUMMARY
        if kind in models
        for given, make in makes[kind]
    ]
    if n_classes is None:
        return tuple(sorted(rows, key=lambda row: row.estimate.error))
    measure = "auc" if n_classes == 2 else "accuracy"
    return tuple(sorted(rows, key=lambda row: -getattr(row.estimate, measure)))
