"""Models of one private summary side by side, by the summary's own estimates: no record is read, nothing is spent."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from glassine.errors import InvalidParameterError, check_whole, parameter
from glassine.learners.summaries.estimates import SummaryEstimate
from glassine.learners.summaries.private_summary import PrivateSummary
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
    estimate: SummaryEstimate | None  # What the summary makes of it, which flatters it; None where it cannot say
    refusal: str = ""  # Why it cannot say; empty where it can

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; no figure of a summary is called accuracy."""
        figures = {} if self.estimate is None else asdict(self.estimate)
        own: dict[str, Any] = defaultdict(lambda: None, {k: value for k, value in figures.items() if value == value})
        return {
            "model": self.model,
            "parameters": self.parameters,
            "expected_correct": own["accuracy"],
            "expected_correct_spread": own["accuracy_spread"],
            "expected_auc": own["auc"],
            "expected_auc_spread": own["auc_spread"],
            "expected_error": own["error"],
            "expected_error_spread": own["error_spread"],
            "refusal": self.refusal or None,
        }


def compare_models(
    summary: PrivateSummary,
    models: Sequence[str] = OF_A_SUMMARY,
    *,
    max_depth: int = 3,
    max_rules: int = 3,
    bootstrap: int = 10,
) -> tuple[SummaryRow, ...]:
    """Return models of a summary, the one with the highest estimate first, those without one last.

    **Guarantee**: that of the summary; every figure follows from it.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of its range, or :meth:`PrivateSummary.reported` refuses every model.
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
    rows: list[SummaryRow] = []
    refusals: list[InvalidParameterError] = []
    asked = [(kind, *one) for kind in OF_A_SUMMARY if kind in models for one in makes[kind]]
    for kind, settings, make in asked:
        try:
            report = summary.reported(make(), bootstrap=bootstrap)
        except InvalidParameterError as error:
            refusals.append(error)
            rows.append(SummaryRow(model=kind, parameters=settings, estimate=None, refusal=str(error.message)))
        else:
            rows.append(SummaryRow(model=kind, parameters=settings, estimate=report))
    if len(refusals) == len(rows):
        raise refusals[0]

    def rank(row: SummaryRow) -> float:
        one = row.estimate
        if one is None:
            return math.inf
        return one.error if n_classes is None else -one.auc if n_classes == 2 else -one.accuracy

    return tuple(sorted(rows, key=rank))
