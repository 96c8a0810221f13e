"""The release of private trees: refused, charged, and only then are records opened and the black box asked on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from glassine.domain import Domain
from glassine.errors import PrivacyLeakWarning, warn_caller
from glassine.learners.publishing import evidence_of
from glassine.models import DecisionTree, Evidence, Guarantee
from glassine.models.guarantee import DOMAIN_FROM_DATA
from glassine.privacy.accounting import Event
from glassine.privacy.certificate import Certificate
from glassine.privacy.exact import decimal
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import SEEDED, UNPAID, Paid, Planned, Price, check_payable, release
from glassine.records.arrays import Ints
from glassine.sealed.accounts import FitAccount
from glassine.sealed.door import behind
from glassine.sealed.losses import PARTS
from glassine.sealed.oracle import Oracle, asking
from glassine.sealed.partitions import Grouped, GroupTrees
from glassine.sealed.tree_family import Tree
from glassine.sealed.trees import TreeClass
from glassine.surrogates.answers import Answers, NumericAnswer
from glassine.surrogates.building import ON_QUERIES, Built, Grouping, assembled, draw_queries, grouped
from glassine.surrogates.explainer_intake import Attributes, Intake, Material, planned_in
from glassine.surrogates.explainer_parameters import ExplainerPlan
from glassine.surrogates.explaining import Ask
from glassine.surrogates.goals import ExplanationChoice, TriedRelease, choose
from glassine.surrogates.private_trees import certify_labels, certify_partition, tree_budget, tree_class_of
from glassine.surrogates.query_input import read_rows

WHOLE_PARTITION = (
    "the groups and representatives follow from all records: epsilon covers each tree given its group, not the release"
)
TRAINED_BOX = (
    "trees are trained on answers of a black box that may have been trained on the same records: what its answers "
    "reveal about them is not covered"
)
CHOSEN_BY_BOX = (
    "the depth and the protocol were chosen by answers of a black box that may have been trained on the same records: "
    "what they reveal about them is not covered"
)
ATTRIBUTES_OPEN = "no noise protects the attributes: the groups and representatives follow from them"

N_QUERIES = 2_000
"""Queries that are drawn from the public domain where a goal is to be measured: the black box is asked on each."""


def build_private(plan: ExplainerPlan, intake: Intake) -> Built:
    """Return the release of a plan with epsilon.

    What is guaranteed is in ``private_trees.md``. Of public cells no record is read before the charge, and the black
    box is asked on none. Of microaggregated groups the guarantee covers the true labels alone: attributes are read
    before the charge, labels and answers after it.
    """
    if not plan.sealed:
        intake.own_labels()
        attributes = intake.attributes()
        plan = planned_in(plan, attributes.domain)
        if attributes.domain.inferred:
            warn_caller(
                "the domain is taken from the data, which the guarantee does not cover; pass domain=.",
                PrivacyLeakWarning,
            )
        grouping = grouped(plan, attributes)
        return _paid(plan, intake, attributes.domain, len(grouping.points), lambda: (attributes, grouping))
    intake.unopened()
    domain = intake.declared
    plan = planned_in(plan, domain)
    price = _price(plan, plan.n_cells)
    if plan.goal is not None and price is not None:
        # The black box may be paid for each query, or keep them: none is sent for a release that will be refused.
        check_payable(price, ledger=plan.ledger, dataset=plan.dataset)
    judge = None if plan.goal is None else _PublicJudge(plan, intake, domain)
    if judge is not None and not plan.depth_stated:
        plan = plan.at(None, judge.choice().max_depth)

    def opened() -> tuple[Attributes, Grouping]:
        attributes = intake.each()
        return attributes, grouped(plan, attributes)

    built = _paid(plan, intake, domain, plan.n_cells, opened)
    if judge is None:
        return built
    try:
        return judge.of(built, plan)
    except Exception:
        # The trees are drawn and paid for: what only chooses how they are shown does not lose them.
        warn_caller(
            "the black box failed while the goal was measured; the release has the usual protocol, and no shares.",
            UserWarning,
        )
        return built


def _paid(
    plan: ExplainerPlan,
    intake: Intake,
    domain: Domain,
    n_groups: int,
    opened: Callable[[], tuple[Attributes, Grouping]],
) -> Built:
    """Release one private tree a group, refused, charged and drawn as every private fit is."""
    outcome, epsilon = intake.outcome, plan.epsilon or 0.0
    every = tree_class_of(domain, outcome.tree_classes, plan.growth.max_depth or 1)
    budget = tree_budget(epsilon, every, n_groups)
    labels_only = not plan.private_partition
    account = FitAccount(total=budget.total * (2 if labels_only else 1))
    question = GroupTrees(members=every, n_groups=n_groups, labels_only=labels_only)
    # A black box enters by the labels of the trees, or by what it says of queries where a goal chooses.
    by_labels, by_goal = plan.labels == "black-box", plan.goal is not None
    open_box = not plan.fixed_black_box
    reasons = {
        DOMAIN_FROM_DATA: domain.inferred,
        TRAINED_BOX: by_labels and open_box,
        CHOSEN_BY_BOX: by_goal and open_box,
    }
    caveats = tuple(text for text, holds in reasons.items() if holds)

    def certificate(events: tuple[Event, ...], paid: Paid) -> Certificate:
        public: dict[str, Any] = {
            "partition": f"{n_groups} public cells" if plan.private_partition else f"{plan.method} groups of {plan.k}",
            "model class": f"all trees of depth {plan.growth.max_depth} over public cut points",
        }
        if plan.goal is not None:
            public["chosen by the black box's answers to public queries"] = "depth and protocol"
        if plan.answer is None:
            public["classes"] = list(outcome.tree_classes or ())
        else:
            public["range of the answers"] = [plan.answer.lo, plan.answer.hi]
            public["step of the answers"] = plan.answer.step
        if plan.private_partition:
            return certify_partition(epsilon, events, paid, public, asks_black_box=by_labels or by_goal)
        if plan.labels == "true":
            return certify_labels(epsilon, events, paid, public)
        return Certificate.none(f"{WHOLE_PARTITION}; {ATTRIBUTES_OPEN}")

    def draw(paid: Paid) -> Built:
        attributes, grouping = opened()
        material = intake.judged(attributes)

        def learn(oracle: Oracle) -> Built:
            drawn, own = oracle.ask(question, Fraction(1)), oracle.paid
            limits = own.caveats if plan.private_partition else (*own.caveats, WHOLE_PARTITION)
            claimed = Guarantee(epsilon=float(budget.total), caveats=limits)
            trees = tuple(_published(every, tree, outcome, domain, claimed) for tree in drawn)
            return assembled(plan, material, grouping, trees, certificate(oracle.events, own))

        return asking(learn, account, None, hold=lambda records: records)(_parts(material, grouping.groups), paid)

    price = _price(plan, n_groups)
    if price is None:
        # Groups follow from all records, labels from a black box: nothing is claimed of the release, or paid for.
        randomness = Randomness.of(plan.random_state)
        return draw(Paid(randomness=randomness, caveats=(*caveats, *((SEEDED,) if randomness.seeded else ()))))

    def check() -> None:
        certificate(question.events(account.part(Fraction(1))), Paid(randomness=UNPAID, caveats=caveats))
        # Before the charge, and by public sizes: afterwards nothing is compiled.
        question.load()

    planned = Planned(price=price, caveats=caveats, check=check, draw=lambda paid: behind(lambda: draw(paid)))
    return release(planned, ledger=plan.ledger, dataset=plan.dataset, random_state=plan.random_state)


def _parts(material: Material, groups: Ints) -> Grouped:
    """Return records in groups as the oracle holds them: numbers as parts of their range."""
    outcome, targets = material.outcome, material.targets
    if isinstance(outcome, NumericAnswer):
        targets = outcome.parts(targets, PARTS)
    return Grouped(columns=material.columns, targets=targets, groups=groups)


def _published(
    every: TreeClass, tree: Tree, outcome: Answers, domain: Domain, claimed: Guarantee | None = None
) -> DecisionTree:
    """Return a tree of the class in its published form, without counts."""
    values = every.values(tree)
    evidence: tuple[Evidence, ...] = evidence_of(values, None)
    if isinstance(outcome, NumericAnswer):
        evidence = tuple(outcome.drawn(float(share)) for share in every.loss.values[list(values)])
    return every.publish(
        tree,
        evidence,
        domain=domain,
        classes=outcome.tree_classes,
        source="private surrogate tree",
        guarantee=claimed,
    )


def _price(plan: ExplainerPlan, n_groups: int) -> Price | None:
    """Return what the certificate of private trees claims; None where it claims nothing for the release."""
    epsilon = decimal(plan.epsilon or 0.0, "epsilon")
    if not plan.private_partition:
        return Price(epsilon=2 * epsilon, note="labels of surrogate trees") if plan.labels == "true" else None
    return Price(epsilon=epsilon, note=f"{n_groups} surrogate trees of depth {plan.growth.max_depth}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _PublicJudge:
    """What measures a goal of private trees: the black box, asked on queries drawn from the public domain alone."""

    # No record is read. The depth follows from the queries and the black box's answers, the protocol and the shares
    # from these and the trees that were released: they cost no epsilon (private_trees.md, Goal).

    plan: ExplainerPlan
    intake: Intake
    domain: Domain

    def _asked(self) -> tuple[Material, Ask]:
        queries = draw_queries(self.domain, N_QUERIES, np.random.default_rng(0))
        ask = self.intake.ask(self.domain)
        answered = np.empty(len(queries), dtype=object)
        answered[:] = ask(queries)
        outcome = self.intake.outcome
        answers = outcome.places(answered)
        columns = read_rows(queries, self.domain)
        material = Material(
            columns=columns, domain=self.domain, outcome=outcome, answers=answers, targets=answers,
            domain_declared=True, classes_declared=True,
        )  # fmt: skip
        return material, ask

    def choice(self) -> ExplanationChoice:
        """Return the depth whose trees explain the queries as the goal says, were there no noise."""
        material, ask = self._asked()
        grouping = grouped(self.plan, material)
        goal, n_groups = self.plan.goal, len(grouping.points)
        assert goal is not None  # noqa: S101 - there is a judge only of a goal

        def tried(k: int | None, depth: int | None) -> TriedRelease:
            every = tree_class_of(self.domain, material.outcome.tree_classes, depth or 1)
            best = GroupTrees(members=every, n_groups=n_groups).exact(_parts(material, grouping.groups))
            trees = tuple(_published(every, tree, material.outcome, self.domain) for tree in best)
            trial = assembled(self.plan, material, grouping, trees, Certificate.none(WHOLE_PARTITION)).release
            return TriedRelease(trial, material.columns, material.answers, ask)

        return choose((None,), self.plan.depths, tried, goal, ON_QUERIES)[1]

    def of(self, built: Built, plan: ExplainerPlan) -> Built:
        """Return a release with the protocol that explains the queries as the goal says, and what was measured."""
        material, ask = self._asked()
        trial = TriedRelease(built.release, material.columns, material.answers, ask)
        assert plan.goal is not None  # noqa: S101 - there is a judge only of a goal
        final, choice = choose(
            (None,), lambda _: (plan.growth.max_depth,), lambda k, depth: trial, plan.goal, ON_QUERIES
        )
        return replace(built, release=final, choice=choice)
