"""The release of a plan: which partition, which trees, what is noted and what is claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import qmc

from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.domain.attributes import Attribute, Scalar
from glassine.errors import InvalidDataError, InvalidDomainError, InvalidParameterError, parameter
from glassine.microaggregation import SemanticDistance, microaggregate
from glassine.models import DecisionTree, Evidence
from glassine.privacy.certificate import Certificate
from glassine.records.arrays import Array, Ints
from glassine.records.columns import values_of
from glassine.surrogates.answers import Names, distinct_records
from glassine.surrogates.distances import DomainMetric, as_metric
from glassine.surrogates.explainer_intake import Attributes, Material
from glassine.surrogates.explainer_parameters import ExplainerPlan
from glassine.surrogates.explainer_values import Provenance
from glassine.surrogates.explaining import Ask
from glassine.surrogates.goals import ExplanationChoice, TriedRelease, choose
from glassine.surrogates.group_trees import grow_trees
from glassine.surrogates.query_input import Record
from glassine.surrogates.release_fit import ReleaseRecords, joined_groups, metric_of, representatives_of
from glassine.surrogates.surrogate_release import SurrogateRelease

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


ON_QUERIES = "public queries"
NOT_PRIVATE = "no noise was added: the groups, representatives and trees follow from the records"
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Built:
    """A release, and what is private about its making."""

    release: SurrogateRelease
    certificate: Certificate
    training: ReleaseRecords  # The records behind it
    loss: float | None = None  # Information lost by the microaggregation
    choice: ExplanationChoice | None = None  # What was chosen for a goal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Grouping:
    """Which record is in which group, and what stands for each group."""

    metric: DomainMetric
    points: tuple[tuple[Scalar | None, ...], ...]
    groups: Ints  # Shape (n,)
    k: int | None = None
    loss: float | None = None


def build(plan: ExplainerPlan, material: Material, ask: Ask) -> Built:
    """Return the release of a plan without epsilon; with a goal, by the k, depth and protocol chosen for it."""
    if plan.goal is None:
        return _grown(plan, material, grouped(plan, material))
    groupings: dict[int | None, Grouping] = {}
    every: dict[tuple[int | None, int | None], Built] = {}

    def tried(k: int | None, depth: int | None) -> TriedRelease:
        one = plan.at(k, depth)
        if k not in groupings:
            groupings[k] = grouped(one, material)
        built = every[k, depth] = _grown(one, material, groupings[k])
        return TriedRelease(built.release, built.training.columns, built.training.answers, ask)

    measured_on = ON_QUERIES if plan.records == "queries" else "records"
    sizes = plan.sizes(material.n_units)
    if plan.strata:
        groupings |= _possible(plan, material, sizes)
        sizes = tuple(groupings)
    release, choice = choose(sizes, plan.depths, tried, plan.goal, measured_on)
    return replace(every[choice.k, choice.max_depth], release=release, choice=choice)


def _possible(plan: ExplainerPlan, material: Material, sizes: tuple[int | None, ...]) -> dict[int | None, Grouping]:
    """Return the groups of the stated size, and of those larger ones for which every stratum has enough records."""
    out = {sizes[0]: grouped(plan, material)}
    for k in sizes[1:]:
        try:
            out[k] = grouped(plan.at(k, plan.growth.max_depth), material)
        except (InvalidDataError, InvalidParameterError):
            break
    return out


def grouped(plan: ExplainerPlan, material: Material | Attributes) -> Grouping:
    """Return the groups of a plan: cells around public points, or those of the microaggregation."""
    if plan.private_partition:
        return _cells(plan, material)
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
        strata=_strata(plan.strata, material),
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
    groups = joined_groups(
        grouping.labels, plan.k, material.columns, metric, material.domain, material.persons, least, plan.strata
    )
    n_groups = int(groups.max()) + 1
    # The loss is that of the microaggregation; of groups that were joined it is not known.
    loss = grouping.information_loss if n_groups == len(grouping.sizes) else None
    points = representatives_of(
        material.columns, groups, n_groups, metric, material.domain, rounded=plan.rounded, k=plan.k,
        persons=material.persons,
    )  # fmt: skip
    return Grouping(metric=metric, points=points, groups=groups, k=plan.k, loss=loss)


def _strata(name: str, material: Material | Attributes) -> list[Any] | None:
    """Return the stratum of each record, None where it is missing; nothing without strata."""
    if not name:
        return None
    if name not in material.domain:
        raise InvalidParameterError(
            f"{parameter('strata')} names {name!r:.40}, which is no attribute.",
            remedy="Name a column of the records.",
        )
    if not isinstance(material.domain[name], Binary | Category):
        raise InvalidParameterError(
            f"{parameter('strata')} must name a category or a column of 0 and 1, and {name!r:.40} holds numbers.",
            remedy="Declare it as a category in the domain, or add a column of ranges.",
        )
    if any(name in tied for tied, _ in material.domain.blocks):
        raise InvalidParameterError(
            f"{parameter('strata')} must name an attribute that no group of the domain ties to others, unlike "
            f"{name!r:.40}: a representative takes values that are possible together.",
            remedy="Name another attribute, or declare the domain without the group.",
        )
    return [None if not value >= 0 else value for value in material.columns.array(name).tolist()]


def _cells(plan: ExplainerPlan, material: Material | Attributes) -> Grouping:
    """Return the cells around public points."""
    domain = material.domain
    metric, records = public_metric(domain, plan.distance), public_points(domain, plan.n_cells)
    points = tuple(tuple(record[name] for name in domain) for record in records)
    embedded = np.concatenate([metric.embed_one(domain, record) for record in records])
    # Each record is read by itself, so that its cell follows from it alone.
    coordinates = metric.embed(material.columns)
    if metric.distance == "euclidean":
        # A value of a Binary that is neither 0 nor 1 has none here, where it may not be missing.
        declared = np.array([domain[name].missing for name in domain])
        coordinates = np.where(np.isnan(coordinates) & ~declared, 0.0, coordinates)
    groups = np.zeros(0, dtype=np.int64)
    if len(coordinates):
        groups = metric.closest(coordinates, embedded, 1, domain)[:, 0].astype(np.int64)
    return Grouping(metric=metric, points=points, groups=groups)


def _grown(plan: ExplainerPlan, material: Material, grouping: Grouping) -> Built:
    """Return the release with a tree for each group, without noise."""
    trees = grow_trees(
        material.columns,
        material.targets,
        grouping.groups,
        len(grouping.points),
        domain=material.domain,
        answers=material.outcome,
        growth=plan.growth,
        persons=material.persons,
    )
    trees, material = _in_used_classes(trees, material)
    certificate = Certificate.none(QUERIED if plan.records == "queries" else NOT_PRIVATE)
    return assembled(plan, material, grouping, trees, certificate)


def assembled(
    plan: ExplainerPlan,
    material: Material,
    grouping: Grouping,
    trees: tuple[DecisionTree, ...],
    certificate: Certificate,
) -> Built:
    """Return the release of groups and their trees."""
    training = ReleaseRecords(
        columns=material.columns,
        answers=material.answers,
        targets=material.targets,
        groups=grouping.groups,
        persons=material.persons,
    )
    release = _release(plan, material, grouping, trees, certificate)
    return Built(release=release, certificate=certificate, training=training, loss=grouping.loss)


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


def _release(
    plan: ExplainerPlan,
    material: Material,
    grouping: Grouping,
    trees: tuple[DecisionTree, ...],
    certificate: Certificate,
) -> SurrogateRelease:
    notes = [ROUNDED if plan.rounded else EXACT] if grouping.k is not None else []
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
        strata=plan.strata,
        scaling="" if plan.private_partition else plan.scaling,
        max_depth=plan.growth.max_depth,
        min_samples_leaf=1 if plan.epsilon is not None else plan.growth.min_samples_leaf,
        notes=tuple(notes),
        counted="records" if material.persons is None else "people",
    )
    return SurrogateRelease(
        domain=material.domain,
        classes=material.classes,
        metric=grouping.metric,
        representatives=grouping.points,
        trees=trees,
        k=grouping.k,
        n_closest=plan.n_closest,
        provenance=provenance,
        certificate=certificate,
        answer=plan.answer,
    )
