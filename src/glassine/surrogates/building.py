"""The release of a plan: which partition, which trees, what is noted and what is claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from glassine.data.persons import Persons
from glassine.domain import Category, Domain, Integer, Real
from glassine.domain.attributes import Attribute, Scalar
from glassine.errors import InvalidDataError, InvalidDomainError, parameter
from glassine.learners.publishing import evidence_of
from glassine.microaggregation import SemanticDistance, microaggregate
from glassine.models import DecisionTree, Evidence, Guarantee
from glassine.models.guarantee import DOMAIN_FROM_DATA
from glassine.privacy.accounting import Event
from glassine.privacy.certificate import Certificate
from glassine.privacy.exact import decimal
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import SEEDED, UNPAID, Paid, Planned, Price, release
from glassine.records.arrays import Array, Ints
from glassine.records.columns import ConformedColumns, values_of
from glassine.sealed.accounts import FitAccount
from glassine.sealed.door import behind
from glassine.sealed.losses import PARTS
from glassine.sealed.oracle import Oracle, asking
from glassine.sealed.partitions import Grouped, GroupTrees
from glassine.sealed.trees import Tree, TreeClass
from glassine.surrogates.answers import Answers, Names, NumericAnswer, distinct_records
from glassine.surrogates.distances import DomainMetric, as_metric
from glassine.surrogates.fitting import ReleaseRecords, joined_groups, metric_of, representatives_of
from glassine.surrogates.group_trees import grow_trees
from glassine.surrogates.private_trees import (
    certify_labels,
    certify_partition,
    tree_budget,
    tree_class_of,
)
from glassine.surrogates.reading import Record
from glassine.surrogates.release import SurrogateRelease
from glassine.surrogates.settings import ExplainerPlan
from glassine.surrogates.values import Provenance

# Cells of a public partition, and queries drawn from the public domain: nothing here sees a training record.


def public_metric(domain: Domain, distance: str | SemanticDistance) -> DomainMetric:
    """Return a distance whose scales follow from the public bounds: the standard deviation of a uniform number."""
    divisor = math.sqrt(12.0) if distance == "euclidean" else 1.0
    scales = []
    for name in domain:
        attribute = domain[name]
        width = float(attribute.hi) - float(attribute.lo) if isinstance(attribute, Integer | Real) else 1.0
        scales.append(1.0 if isinstance(attribute, Category) else (width or 1.0) / divisor)
    metric = as_metric(distance, tuple(scales))
    metric.check(domain)
    return metric


def public_points(domain: Domain, n_points: int) -> list[Record]:
    """Return points spread evenly over the domain, the same for everyone."""
    # They are a Halton sequence without its origin. Ties between attributes (the domain's groups) are respected.
    from scipy.stats import qmc

    width = len(_free(domain)) + len(domain.blocks)
    uniform = qmc.Halton(d=width, scramble=False).random(n_points + 1)[1:]
    return _records(domain, uniform)


def draw_queries(domain: Domain, n_queries: int, rng: np.random.Generator) -> list[Record]:
    """Return records drawn uniformly from the domain; attributes tied by groups take possible combinations only."""
    return _records(domain, rng.random((n_queries, len(_free(domain)) + len(domain.blocks))))


def _free(domain: Domain) -> list[str]:
    tied = {name for block, _ in domain.blocks for name in block}
    return [name for name in domain if name not in tied]


def _records(domain: Domain, uniform: Array) -> list[Record]:
    if domain.inferred:
        name = next(name for name in domain if domain[name].inferred)
        raise InvalidDomainError(
            f"a public domain is needed, but {name!r} was inferred from data.", remedy="Declare it by hand."
        )
    free = _free(domain)
    columns: dict[str, list[Scalar]] = {name: _values(domain[name], uniform[:, i]) for i, name in enumerate(free)}
    for i, (block, rows) in enumerate(domain.blocks, start=len(free)):
        at = np.minimum((uniform[:, i] * len(rows)).astype(int), len(rows) - 1)
        for j, name in enumerate(block):
            columns[name] = [rows[index][j] for index in at.tolist()]
    return [{name: columns[name][i] for name in domain} for i in range(len(uniform))]


def _values(attribute: Attribute, uniform: Array) -> list[Scalar]:
    """Return values that stand at uniform numbers of [0, 1); a gap is never drawn."""
    if isinstance(attribute, Real):
        if attribute.resolution is None:
            return [float(v) for v in attribute.lo + uniform * (attribute.hi - attribute.lo)]
        steps = attribute.size or 1
        at = np.minimum((uniform * (steps - attribute.missing)).astype(np.int64), steps - attribute.missing - 1)
        return [float(min(attribute.lo + i * attribute.resolution, attribute.hi)) for i in at.tolist()]
    if isinstance(attribute, Integer):
        size = attribute.hi - attribute.lo + 1
        return [attribute.lo + min(int(u * size), size - 1) for u in uniform.tolist()]
    values: tuple[Scalar, ...] = values_of(attribute)
    return [values[min(int(u * len(values)), len(values) - 1)] for u in uniform.tolist()]


NOT_PRIVATE = "no noise was added: the groups, representatives and trees follow from the records"
WHOLE_PARTITION = (
    "the groups and representatives follow from all records: epsilon covers each tree given its group, not the release"
)
TRAINED_BOX = (
    "trees are trained on answers of a black box that may have been trained on the same records: what its answers "
    "reveal about them is not covered"
)
ATTRIBUTES_OPEN = "no noise protects the attributes: the groups and representatives follow from them"
QUERIED = (
    "no person's record was used, and what the black box's answers reveal about its training records is not covered"
)
ROUNDED = "representatives and scales are rounded, thresholds follow from the bounds of the attributes alone"
COUNTED = "class counts of nodes are published"
MEANS = "leaves hold means of the black box's answers, rounded to steps of a declared range"
DRAWN = "leaves hold numbers that were drawn with noise, on steps of a declared range"
EXACT = "representatives, scales and thresholds are exact, as published in the paper"
GIVEN = "the records were brought by who made the release, and may be people's"
GAPS_INFERRED = "which attributes may be missing was taken from the records: one missing value is enough"
INFERRED = "bounds were taken from the records and moved outward to round numbers, names of categories as they are"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Material:
    """What a fit works on."""

    native: Any  # The records as a microaggregation reads them; None where there is none
    columns: ConformedColumns  # The records, n of them
    domain: Domain  # The domain of the release
    outcome: Answers  # The classes, or the range of the numbers
    # answers, targets: places of what the black box says, and of what trees are trained on; -1 for no answer of the
    # release; shape (n,).
    answers: Ints
    targets: Ints
    # domain_declared, classes_declared: whether they are public.
    domain_declared: bool
    classes_declared: bool
    # Whose the records are, where it is stated: groups and leaves then hold so many people.
    persons: Persons | None = None

    @property
    def classes(self) -> tuple[Scalar, ...]:
        """The classes; none where the answers are numbers."""
        return self.outcome.tree_classes or ()


Built: TypeAlias = tuple[SurrogateRelease, Certificate, ReleaseRecords, float | None]
"""A release and its certificate; and what is private about its making: the records, and the loss of information."""


def build(plan: ExplainerPlan, material: Material) -> Built:
    """Return the release of a plan."""
    if plan.private_partition:
        return _public(plan, material)
    native: Any = material.native
    if isinstance(native, dict):
        native = np.column_stack(list(native.values()))
    grouping = microaggregate(
        native,
        plan.k,
        domain=material.domain if material.domain_declared else None,
        gamma=plan.gamma,
        scaling=plan.scaling,
        distance=plan.distance,
    )
    metric = metric_of(
        material.columns, material.domain, distance=plan.distance, scaling=plan.scaling, rounded=plan.rounded, k=plan.k,
        persons=material.persons,
    )  # fmt: skip
    least = 0 if plan.answer is None or plan.epsilon is not None else min(plan.k, plan.growth.min_samples_leaf)
    number = distinct_records(material.columns).number if least else 0
    if number < least:
        raise InvalidDataError(
            f"means are those of at least {least} distinct records, and there are {number}.",
            remedy=f"Use a smaller {parameter('min_samples_leaf')}.",
        )
    groups = joined_groups(grouping.labels, plan.k, material.columns, metric, material.domain, material.persons, least)
    n_groups = int(groups.max()) + 1
    # The loss is that of the microaggregation; of groups that were joined it is not known.
    loss = grouping.information_loss if n_groups == len(grouping.sizes) else None
    points = representatives_of(
        material.columns, groups, n_groups, metric, material.domain, rounded=plan.rounded, k=plan.k,
        persons=material.persons,
    )  # fmt: skip
    return _built(plan, material, metric, points, groups, k=plan.k, loss=loss)


def _public(plan: ExplainerPlan, material: Material) -> Built:
    """Return the release of a partition into cells around public points."""
    domain = material.domain
    metric = public_metric(domain, plan.distance)
    records = public_points(domain, plan.n_cells)
    points = tuple(tuple(record[name] for name in domain) for record in records)
    embedded = np.concatenate([metric.embed_one(domain, record) for record in records])
    # Each record is read by itself, so that its cell follows from it alone.
    coordinates = metric.embed(material.columns)
    if metric.distance == "euclidean":
        # A value of a Binary that is neither 0 nor 1 has none here, where it may not be missing.
        declared = np.array([domain[name].missing for name in domain])
        coordinates = np.where(np.isnan(coordinates) & ~declared, 0.0, coordinates)
    groups = metric.closest(coordinates, embedded, 1, domain)[:, 0].astype(np.int64)
    return _built(plan, material, metric, points, groups)


def _built(
    plan: ExplainerPlan,
    material: Material,
    metric: DomainMetric,
    points: tuple[tuple[Scalar | None, ...], ...],
    groups: Ints,
    *,
    k: int | None = None,
    loss: float | None = None,
) -> Built:
    """Return the release with a tree for each group; shapes: ``groups`` (n,)."""
    trees, material, certificate = _trees(plan, material, groups, len(points))
    training = ReleaseRecords(
        columns=material.columns,
        answers=material.answers,
        targets=material.targets,
        groups=groups,
        persons=material.persons,
    )
    return _release(plan, material, metric, points, trees, certificate, k), certificate, training, loss


Trees: TypeAlias = "tuple[tuple[DecisionTree, ...], Material, Certificate]"
"""The trees of all groups, the records in the classes that they use, and what is claimed."""


def _trees(plan: ExplainerPlan, material: Material, groups: Ints, n_groups: int) -> Trees:
    if plan.epsilon is not None:
        return _private_trees(plan, material, groups, n_groups, epsilon=plan.epsilon)
    trees = grow_trees(
        material.columns,
        material.targets,
        groups,
        n_groups,
        domain=material.domain,
        answers=material.outcome,
        growth=plan.growth,
        persons=material.persons,
    )
    return *_in_used_classes(trees, material), Certificate.none(QUERIED if plan.records == "queries" else NOT_PRIVATE)


def _private_trees(plan: ExplainerPlan, material: Material, groups: Ints, n_groups: int, *, epsilon: float) -> Trees:
    """Release one private tree a group, refused, charged and drawn as every private fit is."""
    outcome = material.outcome
    every = tree_class_of(material.domain, outcome.tree_classes, plan.growth.max_depth or 1)
    budget = tree_budget(epsilon, every, n_groups)
    labels_only = not plan.private_partition
    account = FitAccount(total=budget.total * (2 if labels_only else 1))
    question = GroupTrees(members=every, n_groups=n_groups, labels_only=labels_only)
    boxed = plan.labels == "black-box" and not plan.fixed_black_box
    reasons = {
        DOMAIN_FROM_DATA: material.domain.inferred,
        TRAINED_BOX: boxed,
    }
    caveats = tuple(text for text, holds in reasons.items() if holds)

    def certificate(events: tuple[Event, ...], paid: Paid) -> Certificate:
        public: dict[str, Any] = {
            "partition": f"{n_groups} public cells" if plan.private_partition else f"{plan.method} groups of {plan.k}",
            "model class": f"all trees of depth {plan.growth.max_depth} over public cut points",
        }
        if plan.answer is None:
            public["classes"] = list(material.classes)
        else:
            public["range of the answers"] = [plan.answer.lo, plan.answer.hi]
            public["step of the answers"] = plan.answer.step
        if plan.private_partition:
            return certify_partition(epsilon, events, paid, public, black_box_labels=plan.labels == "black-box")
        if plan.labels == "true":
            return certify_labels(epsilon, events, paid, public)
        return Certificate.none(f"{WHOLE_PARTITION}; {ATTRIBUTES_OPEN}")

    def learn(oracle: Oracle) -> Trees:
        drawn, paid = oracle.ask(question, Fraction(1)), oracle.paid
        limits = paid.caveats if plan.private_partition else (*paid.caveats, WHOLE_PARTITION)
        claimed = Guarantee(epsilon=float(budget.total), caveats=limits)
        published = tuple(
            every.publish(
                tree,
                _drawn(every, tree, outcome),
                domain=material.domain,
                classes=outcome.tree_classes,
                source="private surrogate tree",
                guarantee=claimed,
            )
            for tree in drawn
        )
        return published, material, certificate(oracle.events, paid)

    targets = outcome.parts(material.targets, PARTS) if isinstance(outcome, NumericAnswer) else material.targets
    grouped = Grouped(columns=material.columns, targets=targets, groups=groups)
    draw = partial(asking(learn, account, None, hold=lambda records: records), grouped)

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


def _drawn(every: TreeClass, tree: Tree, outcome: Answers) -> tuple[Evidence, ...]:
    """Return what the leaves of a drawn tree publish."""
    values = every.values(tree)
    if isinstance(outcome, NumericAnswer):
        return tuple(outcome.drawn(float(share)) for share in every.loss.values[list(values)])
    return evidence_of(values, None)


def _in_used_classes(trees: tuple[DecisionTree, ...], material: Material) -> tuple[tuple[DecisionTree, ...], Material]:
    """Return trees and records in the declared classes, or in those that a tree uses; others have index -1."""
    if material.classes_declared or material.outcome.tree_classes is None:
        return trees, material
    evidence = [node.evidence for tree in trees for node in tree.nodes]
    used = sorted(
        {entry.label for entry in evidence if entry.label is not None}
        | {i for entry in evidence for i, count in enumerate(entry.counts or ()) if count}
    )
    classes = tuple(material.classes[i] for i in used)
    place = np.full(len(material.classes), -1, dtype=np.int64)
    place[used] = np.arange(len(used))

    def renamed(entry: Evidence) -> Evidence:
        counts = None if entry.counts is None else tuple(entry.counts[i] for i in used)
        return replace(entry, counts=counts, label=None if entry.label is None else int(place[entry.label]))

    trees = tuple(
        replace(tree, classes=classes, nodes=tuple(replace(n, evidence=renamed(n.evidence)) for n in tree.nodes))
        for tree in trees
    )
    own = replace(material, outcome=Names(classes), answers=place[material.answers], targets=place[material.targets])
    return trees, own


def _price(plan: ExplainerPlan, n_groups: int) -> Price | None:
    """Return what the certificate of private trees claims; None where it claims nothing for the release."""
    epsilon = decimal(plan.epsilon or 0.0, "epsilon")
    if not plan.private_partition:
        return Price(epsilon=2 * epsilon, note="labels of surrogate trees") if plan.labels == "true" else None
    return Price(epsilon=epsilon, note=f"{n_groups} surrogate trees of depth {plan.growth.max_depth}")


def _release(
    plan: ExplainerPlan,
    material: Material,
    metric: DomainMetric,
    points: tuple[tuple[Scalar | None, ...], ...],
    trees: tuple[DecisionTree, ...],
    certificate: Certificate,
    k: int | None,
) -> SurrogateRelease:
    notes = [ROUNDED if plan.rounded else EXACT] if k is not None else []
    if plan.records == "given":
        notes.append(GIVEN)
    if plan.growth.counts:
        notes.append(COUNTED)
    if material.domain.inferred:
        notes.append(INFERRED)
    if any(material.domain[name].missing and material.domain[name].inferred for name in material.domain):
        notes.append(GAPS_INFERRED)
    if plan.answer is not None:
        notes.append(MEANS if plan.epsilon is None else DRAWN)
    elif not material.classes_declared:
        notes.append("the names of the classes were taken from the labels that occur: those that a tree uses")
    provenance = Provenance(
        form=plan.form,
        labels=plan.labels,
        records=plan.records,
        partition="public" if plan.private_partition else "microaggregation",
        method=plan.method,
        gamma=None if plan.private_partition else plan.gamma,
        scaling="" if plan.private_partition else plan.scaling,
        max_depth=plan.growth.max_depth,
        min_samples_leaf=1 if plan.epsilon is not None else plan.growth.min_samples_leaf,
        notes=tuple(notes),
        counted="records" if material.persons is None else "people",
    )
    return SurrogateRelease(
        domain=material.domain,
        classes=material.classes,
        metric=metric,
        representatives=points,
        trees=trees,
        k=k,
        n_closest=plan.n_closest,
        provenance=provenance,
        certificate=certificate,
        answer=plan.answer,
    )
