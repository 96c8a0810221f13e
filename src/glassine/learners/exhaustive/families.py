"""The two families of learners: how parameters make a class of all trees, or of all rule lists."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

from glassine.counting.logic import LiteralLogic, RuleLogic
from glassine.data.slices import Progress
from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.learners.antecedents import Antecedent, LiteralPlan, PoolPlan, check_whole
from glassine.learners.estimator import TransparentClassifier
from glassine.learners.exhaustive.lists import ListClass
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

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise InvalidParameterError if the size of the models is out of its range."""

    @abstractmethod
    def _conditions(self, domain: Domain) -> Conditions:
        """Return where the conditions come from."""

    @abstractmethod
    def _members(self, domain: Domain, conditions: Sequence[Any], n_classes: int) -> ModelClass[Any]:
        """Return all models over some conditions."""

    def _widest(self, domain: Domain, n_classes: int) -> ModelClass[Any]:
        return self._members(domain, self._conditions(domain).widest(), n_classes)


class Trees(ClassLearner):
    """All trees of at most ``max_depth`` splits on a path."""

    max_depth: int

    def _check_parameters(self) -> None:
        check_whole(self.max_depth, "max_depth", 1, 8)

    def _conditions(self, domain: Domain) -> LiteralPlan:
        return LiteralPlan.of(domain, self.literals, self.n_quantiles)

    def _members(self, domain: Domain, conditions: Sequence[Literal], n_classes: int) -> TreeClass:
        logic = LiteralLogic.of(domain, conditions, up_to_negation=True)
        return TreeClass(logic=logic, depth=int(self.max_depth), n_classes=n_classes)


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

    def _members(self, domain: Domain, conditions: Sequence[Antecedent], n_classes: int) -> ListClass:
        return ListClass(logic=RuleLogic.of(domain, conditions), length=int(self.max_rules), n_classes=n_classes)
