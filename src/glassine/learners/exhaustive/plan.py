"""The plan of one draw from a class of models by the exponential mechanism: its budget, its rounding, its size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

from glassine.learners.antecedents import LiteralPlan, PoolPlan
from glassine.learners.budget import Budget
from glassine.learners.exhaustive import gibbs
from glassine.learners.exhaustive.lists import ListClass
from glassine.learners.exhaustive.trees import TreeClass
from glassine.learners.intake import Intake
from glassine.learners.limits import check_size
from glassine.privacy.release import Price

__all__ = ["ExponentialPlan", "Extent"]

S = TypeVar("S", bound=LiteralPlan | PoolPlan)


class Parameters(Protocol):
    """Parameters of an estimator that say what a draw may spend and take."""

    epsilon: Any
    leaf_counts_share: Any
    quantile_share: Any
    memory_limit: Any
    time_limit: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The largest class that a fit can draw from.

    Attributes
    ----------
    members : TreeClass or ListClass
        The class.
    levels, fan_out, n_terms : int
        As for :func:`glassine.learners.exhaustive.gibbs.rounding`.
    what, ways_out : str
        The class in words, and what to do where it is too large.
    """

    members: TreeClass | ListClass
    levels: int
    fan_out: int
    n_terms: int
    what: str
    ways_out: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialPlan(Generic[S]):
    """A draw from a class of models, planned whole.

    Attributes
    ----------
    intake : Intake
        Records and classes.
    source : LiteralPlan or PoolPlan
        Where the literals or the rules come from.
    budget : Budget
        Epsilon and its parts.
    epsilon : Fraction
        Part of it at which the model is drawn.
    slack : float
        What rounding may add to it.
    prior : float
        Prior weight of each split or rule.
    note : str
        What is fitted, for the ledger.
    """

    intake: Intake
    source: S
    budget: Budget
    epsilon: Fraction
    slack: float
    prior: float
    note: str

    @classmethod
    def of(
        cls, parameters: Parameters, intake: Intake, source: S, extent: Extent, *, prior: float, note: str
    ) -> ExponentialPlan[S]:
        """Return the plan that an estimator's parameters ask for.

        Raises
        ------
        InvalidParameterError
            If the shares leave nothing for the model, or a limit is no number.
        ClassTooLargeError
            If the class cannot be summed within the limits.
        """
        literals = source if isinstance(source, LiteralPlan) else source.literals
        budget = Budget.split(
            parameters.epsilon,
            literals_share=parameters.quantile_share,
            counts_share=parameters.leaf_counts_share,
            with_literals=bool(literals.quantiled),
            unit=intake.unit,
        )
        slack = gibbs.rounding(extent.levels, extent.fan_out, extent.n_terms)
        epsilon = budget.selection(slack)
        check_size(
            extent.what,
            extent.ways_out,
            table_bytes=extent.members.table_bytes() + gibbs.powers_bytes(budget.per_record(budget.total)),
            steps=extent.members.steps(),
            memory_limit=parameters.memory_limit,
            time_limit=parameters.time_limit,
            log_range=extent.members.log_range(prior),
        )
        return cls(intake=intake, source=source, budget=budget, epsilon=epsilon, slack=slack, prior=prior, note=note)

    @property
    def price(self) -> Price:
        """What the fit costs."""
        return Price(epsilon=self.budget.total, note=self.note, unit=self.budget.unit)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What was taken from the data although it should be public."""
        return self.intake.caveats
