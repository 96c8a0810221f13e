"""What a summary may reserve of its epsilon: the measurement of one model that is fixed beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from glassine.errors import InvalidParameterError, check_whole, parameter
from glassine.learners.additive.targets import Target
from glassine.learners.budget import check_number
from glassine.learners.summaries.derived import MOST_DEPTH, MOST_RULES, SummaryModels
from glassine.learners.summaries.measured_figures import Figure, check_figures
from glassine.privacy.unit import PrivacyUnit
from glassine.sealed.scoring import Model

Reservable: TypeAlias = Literal["tree", "rule_list", "additive", "scorecard"]

SIZES: dict[Reservable, tuple[str, int, int] | None] = {
    "tree": ("max_depth", 0, MOST_DEPTH),
    "rule_list": ("max_rules", 0, MOST_RULES),
    "additive": None,
    "scorecard": ("max_items", 1, 100),
}
"""The parameter that says how large each model may be, with its least and greatest value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """What a fit of :class:`~.PrivateSummary` keeps of its epsilon, and for which model.

    Parameters
    ----------
    share : float, default=0.1
        Share of epsilon, in [0.01, 0.5].
    model : {"tree", "rule_list", "additive", "scorecard"}, default="additive"
        The method of the summary that makes the model.
    size : int, optional
        Its ``max_depth``, ``max_rules`` or ``max_items``; the method's own by default. An additive model has none.
    figures : sequence of {"accuracy", "log_loss", "auroc"}, optional
        As of :meth:`~glassine.learners.PrivateSummary.measure`.

    Examples
    --------
    >>> Reserve(share=0.2, model="tree", size=3)
    Reserve(share=0.2, model='tree', size=3, figures=None)
    """

    share: float = 0.1
    model: Reservable = "additive"
    size: int | None = None
    figures: Sequence[Figure] | None = None

    def __str__(self) -> str:
        named = SIZES[self.model]
        return self.model if self.size is None or named is None else f"{self.model} with {named[0]} {self.size}"


def check_reserve(reserve: Reserve, target: Target, unit: PrivacyUnit) -> None:
    """Raise InvalidParameterError if a field is out of its range, or the target has no such model or figure."""
    check_number(reserve.share, "share", low=0.01, high=0.5)
    if reserve.model not in SIZES:
        raise InvalidParameterError(
            f"{parameter('model')} of a reserve must be one of {', '.join(SIZES)}, got {reserve.model!r}."
        )
    named = SIZES[reserve.model]
    if reserve.size is not None and named is None:
        raise InvalidParameterError("an additive model has no size.", remedy=f"Leave {parameter('size')} out.")
    if reserve.size is not None and named is not None:
        check_whole(reserve.size, *named)
    if reserve.model == "scorecard" and len(target.classes or ()) != 2:
        raise InvalidParameterError("a scorecard is of two classes.", remedy="Reserve for another model.")
    check_figures(reserve.figures, target, unit)


def reserved_model(reserve: Reserve, summary: SummaryModels) -> Model:
    """Return the model of a summary that the measurement is about."""
    named = SIZES[reserve.model]
    sized = {} if reserve.size is None or named is None else {named[0]: reserve.size}
    made: Model = getattr(summary, reserve.model)(**sized)
    return made
