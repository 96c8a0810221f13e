"""Reconstruction from several models of the same records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import gammaln

from glassine.attacks.reconstruction.entropy import reconstruct
from glassine.attacks.reconstruction.joint_cells import JointCells, System, intersect, system_of
from glassine.attacks.reconstruction.joint_intervals import (
    SumBounds,
    aligned,
    exposures,
    fewest_held,
    log_of,
    log_sum,
    most_exposed,
)
from glassine.attacks.reconstruction.joint_programs import Settled, settle
from glassine.attacks.reconstruction.joint_published import (
    ClashError,
    CountedModel,
    ReadModels,
    counted_in,
    match_classes,
    read_models,
)
from glassine.attacks.reconstruction.joint_ranges import SharedModels, cell_ranges, certain_labels, small_groups
from glassine.attacks.reconstruction.joint_result import DatasetCount, JointReconstruction
from glassine.attacks.reconstruction.leakage import Interval
from glassine.attacks.reconstruction.systems import Search
from glassine.counting import Space
from glassine.domain import Domain
from glassine.domain.attributes import Scalar, is_whole
from glassine.domain.domain import check_domain
from glassine.domain.literals import attributes_of
from glassine.errors import InvalidParameterError, Text, UndefinedMeasureError
from glassine.records.arrays import Array

SECONDS = 30.0
"""For a dataset that meets the counts of three models or more; two need no search."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Known:
    """What is known before the counts are put together."""

    published: list[CountedModel]
    read: ReadModels
    classes: tuple[Scalar, ...] | None
    domain_bits: float
    bits_alone: tuple[float, ...]
    learned: tuple[tuple[float, ...], ...]
    by_shares: bool
    inferred: tuple[str, ...]


def reconstruct_jointly(
    models: Sequence[Any],
    domain: Domain,
    *,
    data: object = None,
    counts: str = "published",
    names: Sequence[str] | None = None,
    same_labels: bool = True,
    smallest_group: int = 5,
    search: Search | None = None,
) -> JointReconstruction:
    """Return what an attacker with several models learns about their training records.

    All models must be trained on the same records. Each partitions the domain and states how many records each of its
    parts holds. A dataset is possible if it meets the counts of all models. Which record of one model's leaf is which
    of another's is not revealed. The number of possible datasets lies between two proved bounds, which meet for one
    model and for small ones.

    Parameters
    ----------
    models : sequence of DecisionTree, RuleList, Forest or fitted estimator
        Models of the same records; a forest without bootstrap counts as its trees. Models without exact counts are left
        out, and said so; what the guarantees of some of them come to together is in ``composition``.
    domain : Domain
        What is publicly known about the attributes; every attribute that a model tests must be in it. Its groups and
        its shares count: for attributes that are independent and uniform, as published, give
        ``Domain({name: domain[name] for name in domain})``, which has none.
    data : data frame, optional
        The training records, with every tested attribute. With them, the result has the bits of an attacker who knows
        which record is which, also about the most exposed record, and the smallest intersection of the models.
    counts : {"published", "data"}
        Where the models' numbers of records come from. With ``"data"``, those that a model does not publish, or
        rounds, are counted in the data, without classes. All figures are then those of an attacker who also knows
        these numbers. A model with a guarantee is left out even so: to know its exact counts would undo it.
    names : sequence of str, optional
        Names of the models; "model 1" and so on by default.
    same_labels : bool, default=True
        Whether the class counts of all models are of the same labels. Otherwise they reveal nothing about each other's
        attributes, and sizes count alone.
    smallest_group : int, default=5
        Largest number of records of a group that is listed as small.
    search : Search, optional
        Limits; by default 30 seconds for the search for a dataset that meets the counts of three models or more. Two
        need none.

    Returns
    -------
    JointReconstruction
        Bits per record alone and together, the cells and the groups that the models pin down together. Where it is
        proved that no dataset meets all counts, its ``status`` is ``inconsistent``, and nothing else is measured.
        Where no model has exact counts, but some carry guarantees, it is ``unmeasured`` and states their composition.

    Raises
    ------
    InvalidModelError
        If a model tests an attribute or a value that the domain lacks.
    UnsupportedModelError
        If one is no model.
    InvalidDomainError
        If the domain is not a :class:`Domain`.
    InvalidParameterError
        If there is no model, a limit is not positive, two models share no class, or ``counts`` is ``"data"`` without
        data.
    UndefinedMeasureError
        If no model has exact counts or carries a guarantee, trees drew records with replacement, or a part holds
        records where the domain allows none.
    CountingLimitError
        If a limit is reached.
    InvalidDataError
        If the data lack a tested attribute, or do not have a model's counts.

    References
    ----------
    Ferry, Aivodji, Gambs, Huguet, Siala: Probabilistic Dataset Reconstruction from Interpretable Models, 2023; section
    VI names the combination of models as future work. Gurvits: Van der Waerden/Schrijver-Valiant like conjectures and
    stable (aka hyperbolic) homogeneous polynomials, 2008, for the lower bound. The proofs stand in
    ``attacks/reconstruction/joint_bounds.md``.

    Examples
    --------
    Two trees that nest: what the second leaf holds beyond the first is one person.

    >>> from glassine.domain import Between, Integer
    >>> from glassine.models import Branch, DecisionTree, Evidence, Node
    >>> def stump(cut, below, above):
    ...     sides = Branch(Between("age", hi=cut), 1), Branch(Between("age", lo=cut), 2)
    ...     leaves = Node(evidence=Evidence(counts=below)), Node(evidence=Evidence(counts=above))
    ...     return DecisionTree((Node(branches=sides), *leaves), ("age",), ("well", "ill"))
    >>> known = reconstruct_jointly(
    ...     [stump(40, (9, 1), (6, 4)), stump(41, (9, 2), (6, 3))], Domain({"age": Integer(0, 99)})
    ... )
    >>> known.status, [round(bits, 2) for bits in known.bits_alone], str(known.bits_per_record)
    ('consistent', [1.02, 1.04], '1.2790 to 1.2790')
    >>> [(group.where, group.size, group.label) for group in known.small_groups]
    [('model 1: age > 40; model 2: age <= 41', '1 record', 'ill')]
    """
    check_domain(domain)
    if not is_whole(smallest_group) or not smallest_group > 0:
        raise InvalidParameterError(f"smallest_group must be a positive whole number, got {smallest_group!r}. Use 5.")
    search = Search(time_limit=SECONDS) if search is None else search
    search.progress("reading the models")
    read = read_models(models, domain, names, counted_in(counts, data))
    published = read.exact
    alone = [_alone(t, domain, search.max_steps) for t in published]
    bits = log_of(Space(domain, (), domain_aware=True).total) / math.log(2)
    if read.silence is not None:
        return _unmeasured(read, bits, smallest_group)
    try:
        published, classes = match_classes(published, same_labels)
        search.progress("intersecting the models")
        cells = intersect(published, domain, max_parts=search.max_parts, max_steps=search.max_steps)
        background = _Known(
            published=published,
            read=read,
            classes=classes,
            domain_bits=bits,
            bits_alone=tuple(mean for mean, _ in alone),
            learned=tuple(parts for _, parts in alone),
            by_shares=bool(domain.shares),
            inferred=_inferred(published, domain),
        )
        # The systems are small: several threads would wait for each other longer than they work.
        with import_module("threadpoolctl").threadpool_limits(1, user_api="blas"):
            return _measure(background, cells, domain, data, smallest_group, search)
    except ClashError as error:
        return JointReconstruction(
            models=tuple(t.name for t in published),
            left_out=tuple(read.left),
            filled=read.filled,
            n_records=published[0].n_records,
            classes=None,
            domain_bits=bits,
            bits_alone=tuple(mean for mean, _ in alone),
            contradiction=Text(str(error)),
            smallest_group=smallest_group,
        )


def _unmeasured(read: ReadModels, domain_bits: float, smallest_group: int) -> JointReconstruction:
    """Return what is known of models without exact counts: what their guarantees come to."""
    result = JointReconstruction(
        models=(),
        left_out=tuple(read.left),
        n_records=0,
        classes=None,
        domain_bits=domain_bits,
        bits_alone=(),
        silence=read.silence,
        smallest_group=smallest_group,
    )
    if result.composition is None:
        raise UndefinedMeasureError(read.silence or "")
    return result


def _alone(published: CountedModel, domain: Domain, max_steps: int) -> tuple[float, tuple[float, ...]]:
    """Return the bits that one model reveals about a record, on average and by part."""
    try:
        one = reconstruct(published.model, domain, max_steps=max_steps)
        return one.bits_per_record(domain_aware=True), tuple(one.bits_learned(domain_aware=True))
    except UndefinedMeasureError as error:
        raise UndefinedMeasureError(f"{published.name}: {error}") from None


def _measure(
    background: _Known, cells: JointCells, domain: Domain, data: object, smallest_group: int, search: Search
) -> JointReconstruction:
    published = background.published
    names = [t.name for t in published]
    # Where some model reveals classes and another does not, the sizes alone are a reading of their own.
    widths = [None if background.classes is None else len(background.classes)]
    if background.classes is not None and any(t.classes is None for t in published):
        widths.append(None)
    search.progress("settling the counts")
    # Single points of a continuum can hold records, but count for nothing in a volume.
    wide = cells if cells.closed is None else cells.closed
    able = [settle(system_of(published, wide, width), names) for width in widths]
    search.progress("bounding the number of datasets")
    if cells.closed is None:
        settled, estimates = able, [log_sum(one, cells.weights, names, seconds=search.time_limit) for one in able]
    else:
        settled, estimates = _without_points(published, cells, widths, search.time_limit)
    known_rows = None if data is None else aligned(published, cells, domain, data)
    search.progress("looking for small groups")
    expected = _expected(cells, settled[0].system, estimates[0])
    table = estimates[0].table if cells.closed is None else None
    finite = domain.size() is not None
    ranges, possible = cell_ranges(wide, able, expected, table, finite=finite, at_most=smallest_group)
    shared = SharedModels(published=published, ranges=ranges, possible=possible, classes=background.classes)
    groups = small_groups(shared, smallest_group)
    learned = [
        b
        for t, parts in zip(published, background.learned, strict=True)
        for b, n in zip(parts, t.sizes, strict=True)
        if n
    ]
    return JointReconstruction(
        models=tuple(names),
        left_out=tuple(background.read.left),
        filled=background.read.filled,
        n_records=published[0].n_records,
        classes=background.classes,
        domain_bits=background.domain_bits,
        bits_alone=background.bits_alone,
        proved_consistent=estimates[0].table is not None,
        readings=tuple(_reading(published, width, one) for width, one in zip(widths, estimates, strict=True)),
        bits_aligned=None if known_rows is None else known_rows.mean,
        bits_most_exposed=most_exposed(cells, ranges, groups, learned, known_rows),
        fewest_in_common=fewest_held(ranges) if known_rows is None else known_rows.fewest,
        cells=ranges,
        small_groups=groups,
        certain_labels=certain_labels(shared),
        exposures=exposures(
            published, cells, settled[0].system, estimates[0], background.domain_bits, background.learned
        ),
        smallest_group=smallest_group,
        by_shares=background.by_shares,
        inferred=background.inferred,
    )


def _inferred(published: Sequence[CountedModel], domain: Domain) -> tuple[str, ...]:
    """Return the tested attributes whose domain or shares were taken from data."""
    tested = attributes_of(literal for t in published for literal in t.model.literals)
    return tuple(
        name
        for name in tested
        if domain[name].inferred or (name in domain.shares and domain.shares[name].from_training_data)
    )


def _without_points(
    published: Sequence[CountedModel], cells: JointCells, widths: Sequence[int | None], seconds: float
) -> tuple[list[Settled], list[SumBounds]]:
    """Return what is measured by volume, in which single points of a continuum hold nothing."""
    names = [t.name for t in published]
    try:
        settled = [settle(system_of(published, cells, width), names) for width in widths]
        return settled, [log_sum(one, cells.weights, names, seconds=seconds) for one in settled]
    except ClashError as error:
        raise UndefinedMeasureError(
            f"single points of a continuum have no volume, but counts may need them: {error} Declare a resolution."
        ) from None


def _expected(cells: JointCells, system: System, estimate: SumBounds) -> Array:
    """Return the expected records of each cell, none for cells without a volume."""
    sizes = np.bincount(system.cells, estimate.expected, minlength=len(cells)).astype(float)
    if cells.closed is None:
        return sizes
    out = np.zeros(len(cells.closed))
    out[[i for i, measure in enumerate(cells.closed.measures) if measure]] = sizes
    return out


def _reading(published: Sequence[CountedModel], width: int | None, estimate: SumBounds) -> DatasetCount:
    """Return the number of datasets, with labels n_1! n_2! ... times the sum over the tables, without labels n! times.

    The parts of a model take the rows in n! / (C_1! C_2! ...) ways, or in so many for each class.
    """
    with_labels = width is not None
    labelled = next((t for t in published if t.classes is not None), None) if with_labels else None
    totals = np.array([published[0].n_records]) if labelled is None else labelled.counts.sum(axis=0)
    ways = float(gammaln(totals + 1.0).sum())
    slack = 1e-12 * (1 + ways)
    arrangements = []
    for t in published:
        counts = t.counts if with_labels else t.sizes[:, None]
        bits = float(gammaln(counts.sum(axis=0) + 1.0).sum() - gammaln(counts + 1.0).sum()) / math.log(2)
        arrangements.append(bits / t.n_records)
    return DatasetCount(
        with_labels=with_labels,
        log2_data_sets=Interval(
            lower=(estimate.lower + ways - slack) / math.log(2), upper=(estimate.upper + ways + slack) / math.log(2)
        ),
        arrangement_bits=tuple(arrangements),
        orders=tuple(not with_labels or t.classes is not None for t in published),
    )
