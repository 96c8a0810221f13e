"""The parameters of an explainer, checked and resolved."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine.attacks.membership.outputs import generator
from glassine.domain import Domain
from glassine.domain.domain import check_domain
from glassine.domain.refusals import refuse_codes, refuse_prefixes
from glassine.errors import InvalidParameterError, check_choice, check_whole, parameter
from glassine.learners.budget import check_number
from glassine.microaggregation import SemanticDistance
from glassine.microaggregation.dissimilarity import checked_distance
from glassine.microaggregation.microaggregate import check_gamma
from glassine.surrogates.answers import FEWEST_BEHIND_MEANS, NumericAnswer
from glassine.surrogates.goals import SIZES, ExplanationGoal
from glassine.surrogates.group_trees import TreeGrowth

SAFE_DEPTHS = ((1000, 3), (5000, 5))
"""Below which k the restricted form's trees have which depth: larger groups are more varied."""

DEEPEST_SAFE = 6
RESTRICTED_LEAF = 10
"""As many as the default policy asks for."""

PRIVATE_DEPTH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainerPlan:
    """What a fit is to do."""

    # k, n_cells, n_closest: as in the explainer.
    k: int
    n_cells: int
    n_closest: int
    # form, labels, scaling, records: as in the explainer and in the release.
    form: str
    labels: str
    gamma: float | None  # As in the explainer
    strata: str  # The attribute that all records of a group share; empty without strata
    scaling: str
    distance: str | SemanticDistance  # As in the explainer; "auto" until the attributes are known
    records: str
    private_partition: bool  # Whether the cells are public points
    epsilon: float | None  # Budget of a group's tree
    fixed_black_box: bool  # As in the explainer
    answer: NumericAnswer | None  # The range of a black box that answers with numbers
    growth: TreeGrowth  # How trees are grown; private trees take the depth alone
    goal: ExplanationGoal | None  # What share of explanations is to say something
    depth_stated: bool  # Whether the publisher stated the depth, so that a goal chooses none
    # random_state, ledger, dataset: as in the explainer.
    random_state: Any
    ledger: Any
    dataset: Any

    @property
    def rounded(self) -> bool:
        """Whether representatives and scales are rounded."""
        return self.form == "restricted"

    @property
    def sealed(self) -> bool:
        """Whether no record is read, and the black box not asked on any, before the fit is paid for."""
        return self.epsilon is not None and self.private_partition

    def sizes(self, n_units: int) -> tuple[int | None, ...]:
        """Return the sizes of groups that a goal may choose for so many records, or people: never below k."""
        if self.private_partition:
            return (None,)
        # At least two groups: of one alone nothing is the closest.
        return (self.k, *(self.k * factor for factor in SIZES[1:] if 2 * self.k * factor <= n_units))

    def depths(self, k: int | None) -> tuple[int | None, ...]:
        """Return the depths that a goal may choose for groups of a size, the usual one first."""
        if self.depth_stated:
            return (self.growth.max_depth,)
        default = PRIVATE_DEPTH if self.epsilon is not None else depth_of(k or self.k)
        return (default, default - 1)

    def at(self, k: int | None, depth: int | None) -> ExplainerPlan:
        """Return the plan with another size of groups and depth."""
        return replace(self, k=self.k if k is None else k, growth=replace(self.growth, max_depth=depth))

    @property
    def method(self) -> str:
        """Which microaggregation is done; empty for a public partition."""
        return "" if self.private_partition else "mdav" if self.gamma is None else "v-mdav"


def plan_of(explainer: Any, records: str) -> ExplainerPlan:
    """Return the plan that an explainer's parameters ask for."""
    form = check_choice(explainer.form, "form", ("restricted", "paper"))
    labels = check_choice(
        explainer.labels or ("black-box" if form == "restricted" else "true"), "labels", ("black-box", "true")
    )
    partition = check_choice(explainer.partition, "partition", ("microaggregation", "public"))
    domain = explainer.domain
    check_domain(domain, optional=True)
    if partition == "public" and (domain is None or domain.inferred):
        raise InvalidParameterError(
            'partition="public" needs a domain that is declared by hand.', remedy=f"Pass {parameter('domain=')}."
        )
    epsilon = explainer.epsilon
    if epsilon is not None:
        epsilon = check_number(epsilon, "epsilon", low=0.0, high=1e6, low_open=True)
        check_public(epsilon, explainer.classes, explainer.answer)
        if form == "paper":
            raise InvalidParameterError(
                'epsilon goes with form="restricted": the paper publishes exact counts.', remedy="Drop either."
            )
    if explainer.answer is not None:
        _check_numeric(explainer, form=form, labels=labels, partition=partition)
    _check_ledger(explainer, private=epsilon is not None, public=partition == "public")
    if not isinstance(explainer.fixed_black_box, bool | np.bool_):
        raise InvalidParameterError(
            f"{parameter('fixed_black_box')} must be true or false, got {explainer.fixed_black_box!r}."
        )
    k = check_whole(explainer.k, "k", 2, 10**9)
    return ExplainerPlan(
        k=k,
        n_cells=check_whole(explainer.n_cells, "n_cells", 1, 100_000),
        n_closest=check_whole(explainer.n_closest, "n_closest", 1, 1000),
        form=form,
        labels=labels,
        gamma=check_gamma(explainer.gamma),
        strata=_strata(explainer.strata, partition),
        scaling=check_choice(explainer.scaling, "scaling", ("standard", "none")),
        distance=checked_distance(explainer.distance),
        records=records,
        private_partition=partition == "public",
        epsilon=epsilon,
        fixed_black_box=bool(explainer.fixed_black_box),
        answer=explainer.answer,
        growth=_growth(explainer, form, k=k, private=epsilon is not None),
        goal=_goal(explainer, form=form, partition=partition, of_people=records == "training"),
        depth_stated=explainer.max_depth != "auto",
        random_state=explainer.random_state,
        ledger=explainer.ledger,
        dataset=explainer.dataset,
    )


def _strata(strata: object, partition: str) -> str:
    """Return the attribute of the strata, empty without; or raise InvalidParameterError."""
    if strata is None:
        return ""
    if not isinstance(strata, str) or not strata:
        raise InvalidParameterError(
            f"{parameter('strata')} must be the name of an attribute or None, got {strata!r:.40}.",
            remedy="Name a column of the records.",
        )
    if partition == "public":
        raise InvalidParameterError(
            f"{parameter('strata')} does not apply to public cells, which hold any number of records.",
            remedy="Leave it out.",
        )
    return strata


def check_public(epsilon: object, classes: object, answer: object) -> None:
    """Raise InvalidParameterError if private trees would have to take their classes from the records."""
    if epsilon is not None and classes is None and answer is None:
        raise InvalidParameterError(
            f"with {parameter('epsilon')} the answers of the black box must be public: which of them occur depends on "
            f"the records. {parameter('classes')} and {parameter('answer')} are not given.",
            remedy=f"List the classes with {parameter('classes=')}, or the range of a number with "
            f"{parameter('answer=')}.",
        )


def _check_numeric(explainer: Any, *, form: str, labels: str, partition: str) -> None:
    """Raise if a parameter contradicts trees of means, whose leaves publish nothing but rounded means of many."""
    if not isinstance(explainer.answer, NumericAnswer):
        raise InvalidParameterError(
            f"{parameter('answer')} must be a NumericAnswer or None, got {type(explainer.answer).__name__}.",
            remedy="State lo, hi and step.",
        )
    refused = (
        (explainer.classes is not None, "classes", "the answers are numbers, not classes"),
        (form == "paper", "form", "the paper has classes alone, and its form publishes exact values"),
        (labels == "true", "labels", "trees of means are those of the black box's answers"),
        (bool(explainer.leaf_counts), "leaf_counts", "trees of means publish no counts"),
        (partition == "public" and explainer.epsilon is None, "partition",
         "without epsilon, a public cell may hold one record, whose answer would be its mean"),
    )  # fmt: skip
    for holds, name, reason in refused:
        if holds:
            raise InvalidParameterError(
                f"{parameter(name)} does not apply to numeric answers: {reason}.",
                remedy="Leave it out, or return a class for each record, such as a range of the number.",
            )
    if explainer.epsilon is not None:
        # Private trees hold no mean of records.
        return
    check_whole(explainer.k, "k", FEWEST_BEHIND_MEANS, 10**9)
    if explainer.min_samples_leaf != "auto":
        check_whole(explainer.min_samples_leaf, "min_samples_leaf", FEWEST_BEHIND_MEANS, 10**9)


def _check_ledger(explainer: Any, *, private: bool, public: bool) -> None:
    """Raise if a ledger or a dataset is named for a fit that is not charged."""
    if explainer.ledger is None and explainer.dataset is None:
        return
    if not private:
        raise InvalidParameterError(
            "ledger and dataset have no effect without epsilon: nothing is spent where nothing is private.",
            remedy="Leave both out, or pass epsilon.",
        )
    if explainer.ledger is not None and not public:
        raise InvalidParameterError(
            'a ledger is charged for records, and with partition="microaggregation" epsilon covers no whole record: '
            "the groups follow from all of them.",
            remedy='Pass partition="public", or leave the ledger out.',
        )


def check_third_party(explainer: Any, stated: Collection[str], takes: object) -> None:
    """Raise InvalidParameterError if something is asked for that one without training records cannot have."""
    for name in ("epsilon", "partition", "fixed_black_box", "ledger", "dataset"):
        if name in stated:
            raise InvalidParameterError(
                f"{name} protects training records, and a third party has none.", remedy="Leave it out."
            )
    if not isinstance(explainer.domain, Domain):
        raise InvalidParameterError(
            f"a third party needs a public Domain, got {type(explainer.domain).__name__}.", remedy="Declare it."
        )
    refuse_prefixes(explainer.domain, "explanations")
    refuse_codes(explainer.domain, "explanations")
    check_choice(takes, "takes", ("array", "pandas", "polars"))
    if explainer.labels == "true" or (explainer.labels is None and explainer.form == "paper"):
        raise InvalidParameterError(
            "a third party knows no true labels.", remedy='Pass labels="black-box" with the paper\'s form.'
        )


def check_persons(plan: ExplainerPlan) -> None:
    """Raise InvalidParameterError if persons have no effect on a plan."""
    if plan.epsilon is not None:
        raise InvalidParameterError(
            f"{parameter('persons')} does not apply to private trees: their epsilon covers one record of a person, "
            "not the person.",
            remedy=f"Leave {parameter('epsilon')} or {parameter('persons')} out.",
        )
    if plan.private_partition:
        raise InvalidParameterError(
            f"{parameter('persons')} does not apply to public cells, which hold any number.", remedy="Leave it out."
        )


def depth_of(k: int) -> int:
    """Return the depth of the restricted form's trees on groups of a size."""
    return next((depth for most, depth in SAFE_DEPTHS if k < most), DEEPEST_SAFE)


def _goal(explainer: Any, *, form: str, partition: str, of_people: bool) -> ExplanationGoal | None:
    """Return the goal; by default the usual one of training records in the restricted form without noise."""
    goal: object = explainer.goal
    private = explainer.epsilon is not None
    if isinstance(goal, str) and goal == "auto":
        default = form == "restricted" and not private and partition == "microaggregation" and of_people
        return ExplanationGoal() if default else None
    if goal is None:
        return None
    if not isinstance(goal, ExplanationGoal):
        raise InvalidParameterError(
            f"{parameter('goal')} must be an ExplanationGoal, 'auto' or None, got {type(goal).__name__}.",
            remedy="Use ExplanationGoal(conditions=0.95, confirmed=0.8).",
        )
    if form == "paper":
        raise InvalidParameterError(
            f"{parameter('goal')} chooses depth and protocol, and the paper's form has its own.", remedy="Drop either."
        )
    if private and partition != "public":
        raise InvalidParameterError(
            f"with {parameter('epsilon')} a goal is measured on public queries, and microaggregated groups follow from "
            "all records.",
            remedy='Pass partition="public", or leave the goal out.',
        )
    return goal


def _growth(explainer: Any, form: str, *, k: int, private: bool) -> TreeGrowth:
    restricted = form == "restricted"
    depth, leaf, counts = explainer.max_depth, explainer.min_samples_leaf, explainer.leaf_counts
    if counts is not None and not isinstance(counts, bool):
        raise InvalidParameterError(f"{parameter('leaf_counts')} must be true, false or None, got {counts!r}.")
    if private and counts:
        raise InvalidParameterError("private trees publish no counts.", remedy=f"Leave {parameter('leaf_counts')} out.")
    if isinstance(depth, str) and depth == "auto":
        # In the restricted form it follows from the public k alone.
        depth = PRIVATE_DEPTH if private else depth_of(k) if restricted else None
    if private and depth is None:
        raise InvalidParameterError(f"private trees need a {parameter('max_depth')}, got None.", remedy="Use 1 to 4.")
    if depth is not None:
        depth = check_whole(depth, "max_depth", 1, 8 if private else 1000)
    if isinstance(leaf, str) and leaf == "auto":
        leaf = RESTRICTED_LEAF if restricted else 1
    state = 0 if explainer.random_state is None else explainer.random_state
    return TreeGrowth(
        on_grid=restricted,
        counts=not restricted if counts is None else counts,
        max_depth=depth,
        min_samples_leaf=check_whole(leaf, "min_samples_leaf", 1, 10**9),
        # Private trees draw nothing before they are paid for; others break ties by a seed.
        seed=0 if private else int(generator(state).integers(2**31)),
    )
