"""The two families of learners: how parameters make a class of all trees, or of all rule lists."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.counting.logic import LiteralLogic, RuleLogic
from glassine.data.slices import Progress
from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.learners.antecedents import Antecedent, LiteralPlan, PoolPlan, check_whole
from glassine.learners.budget import check_number
from glassine.learners.estimator import TransparentClassifier
from glassine.learners.exhaustive.gibbs import LOG_RANGE
from glassine.learners.exhaustive.lists import ListClass
from glassine.learners.exhaustive.losses import MOST_STEPS, Loss
from glassine.learners.exhaustive.model_class import ModelClass
from glassine.learners.exhaustive.trees import TreeClass

__all__ = ["ClassLearner", "Conditions", "Lists", "Trees"]

Conditions: TypeAlias = LiteralPlan | PoolPlan
"""Where the splits of trees, or the rules of lists, come from, fixed before the data are looked at."""


class ClassLearner(TransparentClassifier):
    """A learner of one model of a class of trees or rule lists over public conditions."""

    domain: Domain | None
    literals: str | Sequence[Literal]
    classes: Sequence[Scalar] | None
    n_quantiles: int
    memory_limit: float
    time_limit: float
    progress: Progress | None

    accuracy_share: float = 1.0
    """Share of errors in the loss; learners without such a parameter count errors alone."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise InvalidParameterError if the size of the models is out of its range."""

    @abstractmethod
    def _conditions(self, domain: Domain) -> Conditions:
        """Return where the conditions come from."""

    @abstractmethod
    def _members(self, domain: Domain, conditions: Sequence[Any], loss: Loss) -> ModelClass[Any]:
        """Return all models over some conditions."""

    def _ranks(self, n_classes: int) -> bool:
        """Return whether leaves have probabilities for values, and not classes alone."""
        share = check_number(self.accuracy_share, "accuracy_share", low=0.0, high=1.0)
        return share < 1 and n_classes > 1

    def _loss(self, rates: npt.NDArray[np.float64], strength: float, widest: ModelClass[Any]) -> Loss:
        """Return the loss about base rates, with no more values than the widest class has."""
        steps = (widest.loss.n_values - 1) // len(rates)
        return Loss.ranking(rates, strength, float(self.accuracy_share), steps=steps)

    def _widest(self, domain: Domain, n_classes: int, part_weight: float = 1.0) -> ModelClass[Any]:
        """Return the class with as many conditions and values as there can be; it follows from what is public alone."""
        conditions = self._conditions(domain).widest()
        if not self._ranks(n_classes):
            return self._members(domain, conditions, Loss.errors(n_classes))
        steps = MOST_STEPS
        members = self._members(domain, conditions, Loss.widest(n_classes, steps))
        # Of deep trees the grid is as fine as their weights can be summed.
        while steps > 1 and not members.log_range(part_weight) <= LOG_RANGE:
            steps -= 1
            members = members.with_loss(Loss.widest(n_classes, steps))
        return members


class Trees(ClassLearner):
    """All trees of at most ``max_depth`` splits on a path."""

    max_depth: int

    def _check_parameters(self) -> None:
        check_whole(self.max_depth, "max_depth", 1, 8)

    def _conditions(self, domain: Domain) -> LiteralPlan:
        return LiteralPlan.of(domain, self.literals, self.n_quantiles)

    def _members(self, domain: Domain, conditions: Sequence[Literal], loss: Loss) -> TreeClass:
        logic = LiteralLogic.of(domain, conditions, up_to_negation=True)
        return TreeClass(logic=logic, depth=int(self.max_depth), loss=loss)


class Lists(ClassLearner):
    """All rule lists of at most ``max_rules`` rules of a pool."""

    most_rules: ClassVar[int] = 12
    """Largest ``max_rules``: sums over sets of a dozen rules are beyond any memory, whatever the pool."""

    max_rules: int
    pool: str | Sequence[Sequence[Literal]]

    def _check_parameters(self) -> None:
        check_whole(self.max_rules, "max_rules", 1, self.most_rules)

    def _conditions(self, domain: Domain) -> PoolPlan:
        return PoolPlan.of(domain, self.pool, self.literals, self.n_quantiles)

    def _members(self, domain: Domain, conditions: Sequence[Antecedent], loss: Loss) -> ListClass:
        return ListClass(logic=RuleLogic.of(domain, conditions), length=int(self.max_rules), loss=loss)
