"""Reconstruction as findings show it: of all records, of subgroups, of the most exposed records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from glassine.attacks.outcome import Failed, Measured, Measurement, NotApplicable, Outcome
from glassine.attacks.reconstruction.leakage import SubgroupLeakage
from glassine.attacks.record_matching import ErrorEstimate
from glassine.auditing.findings import AttributeFinding, ReconstructionFinding, SubgroupBitsFinding
from glassine.auditing.findings.joint import RowsFinding
from glassine.auditing.suppression import Suppression
from glassine.data.record_table import RecordTable
from glassine.domain import Binary, Category, Domain
from glassine.errors import CostLimitError, InvalidDataError, UndefinedMeasureError
from glassine.records.arrays import AnyArray, Array, Indices

if TYPE_CHECKING:
    from glassine.attacks.reconstruction.entropy import ProbabilisticDataset
    from glassine.attacks.reconstruction.row_result import RowReconstruction

MOST_EXPOSED = 10
MOST_SUBGROUP_VALUES = 10
ROUNDED = (
    "the published counts were rounded or changed, so what weighs by them is not known. Give the training records, and "
    "they are counted there."
)


def rebuilt(
    dataset: ProbabilisticDataset, learned: Sequence[float], sizes: Sequence[int | None]
) -> ReconstructionFinding:
    """Return how far a reader can rebuild the records; the exposure curve shows single parts."""
    undefined: list[str] = []

    def value(measure: Callable[[], float]) -> float | None:
        try:
            return measure()
        except UndefinedMeasureError as error:
            reason = str(error) if dataset.model.counts_are_exact else ROUNDED
            if reason not in undefined:
                undefined.append(reason)
            return None

    def of_all(aware: bool) -> tuple[float | None, float | None, float | None]:
        """Return the entropy that is left, what it was, and the share of it; None for what is not defined."""
        left = value(lambda: dataset.entropy(domain_aware=aware))
        prior = value(lambda: dataset.prior_entropy(domain_aware=aware))
        return left, prior, None if left is None or prior is None else value(lambda: dataset.share_left(left, prior))

    mean = value(lambda: dataset.bits_per_record(domain_aware=True))
    defined = mean is not None
    bits = [b for b, size in zip(learned, sizes, strict=True) if size != 0]
    finite = [b for b in bits if math.isfinite(b)]
    alone = of_all(False)
    aware = of_all(True) if dataset.domain.groups else alone
    return ReconstructionFinding(
        entropy_bits=alone[0],
        prior_bits=alone[1],
        dist=value(dataset.dist),
        dist_g=alone[2],
        entropy_bits_domain_aware=aware[0],
        prior_bits_domain_aware=aware[1],
        dist_g_domain_aware=aware[2],
        bits_mean=mean,
        bits_largest=max(finite, default=None) if len(finite) == len(bits) else None,
        exposure_curve=tuple(dataset.exposure_curve(domain_aware=True)) if defined else (),
        attributes=tuple(
            AttributeFinding(
                attribute=entry.attribute, bits_learned=entry.bits_learned, bits_largest=entry.bits_largest
            )
            for entry in dataset.by_attribute(domain_aware=True)
        )
        if defined
        else (),
        undefined=" ".join(undefined) or None,
    )


def curve_of(bits: Array) -> tuple[tuple[float, float], ...]:
    """Return the exposure curve of people: against their share, the most exposed first, the bits about each."""
    # Shapes: bits (people,).
    values, counts = np.unique(bits, return_counts=True)
    shares = np.cumsum(counts[::-1]) / len(bits)
    return tuple(zip(shares.tolist(), values[::-1].tolist(), strict=True))


def subgroups(
    dataset: ProbabilisticDataset, frame: RecordTable | None, names: list[str], rows: Indices | None
) -> Outcome[tuple[SubgroupLeakage, ...]]:
    """Return what is learned about subgroups: of each class, and of some columns of the data if there are any.

    Shapes: ``rows`` (n,), the leaf or rule of each record of the data.
    """
    groups: list[SubgroupLeakage] = []
    if not dataset.model.counts_are_exact:
        return NotApplicable(ROUNDED)
    try:
        # The model counts records of each class; people are counted in the column of the target.
        groups += [] if frame is not None and frame.persons is not None else dataset.by_label(domain_aware=True)
    except (UndefinedMeasureError, CostLimitError) as error:
        if frame is None:
            return NotApplicable(error.text)
    if frame is not None:
        try:
            groups += dataset.by_subgroup(frame, names, domain_aware=True, parts=rows)
        except CostLimitError as error:
            return Failed(error.text)
    return Measured(tuple(groups))


def hide_subgroups(groups: Sequence[SubgroupLeakage], suppression: Suppression) -> tuple[SubgroupBitsFinding, ...]:
    """Return the subgroups of enough records to be shown, their sizes rounded."""
    return tuple(
        SubgroupBitsFinding(
            attribute=group.attribute,
            value=group.value,
            size=suppression.rough(group.size),
            bits_mean=group.bits_mean,
            bits_largest=group.bits_largest,
        )
        for group in groups
        if is_shown(group, suppression)
    )


def is_shown(group: SubgroupLeakage, suppression: Suppression) -> bool:
    """Return whether a subgroup has enough records to be shown."""
    return group.size >= suppression.below and math.isfinite(group.bits_mean)


def grouping(sensitive: str | None, domain: Domain | None, columns: Mapping[str, AnyArray]) -> list[str]:
    """Return the sensitive attribute, and the categories and binaries of few values, as far as they are columns."""
    names = [] if sensitive is None else [sensitive]
    for name in domain or ():
        attribute = domain[name] if domain is not None else None
        few = isinstance(attribute, Binary | Category) and (attribute.size or 0) <= MOST_SUBGROUP_VALUES
        if few and name not in names:
            names.append(name)
    return [name for name in names if name in columns]


def exposed_rows(
    table: RecordTable | None, rows: Indices | None, learned: Sequence[float] | None, noise: str | None
) -> Outcome[tuple[int, ...]]:
    """Return the rows about which most bits are learned; of each person one."""
    # Shapes: rows (n,), or None.
    if rows is None or table is None:
        return NotApplicable("no data was given, so there are no rows to name.")
    if noise is not None:
        return NotApplicable(noise)
    if learned is None:
        return NotApplicable("reconstruction was not measured.")
    bits = np.array(learned)[rows]
    sizes = table.counts(rows, len(learned))[rows]
    order = table.first_of_each(np.lexsort((np.arange(len(bits)), sizes, -bits)))
    # by number: the order of exposure would reveal where one part ends, hence its size
    return Measured(tuple(sorted(int(row) for row in order[:MOST_EXPOSED])))


def align(dataset: ProbabilisticDataset | None, frame: object, noise: str | None) -> Outcome[ErrorEstimate]:
    """Return how close rebuilt records come to those of the data."""
    if frame is None:
        return NotApplicable("no data was given to compare the reconstruction with.")
    if noise is not None:
        return NotApplicable(noise)
    if dataset is None:
        return NotApplicable("no domain was given.")
    try:
        return Measured(dataset.error_to(frame, n_draws=3, max_records=500, random_state=0))
    except (UndefinedMeasureError, InvalidDataError) as error:
        return NotApplicable(error.text)
    except CostLimitError as error:
        return Failed(error.text)


Rows: TypeAlias = "tuple[RowReconstruction, ErrorEstimate | None]"
"""Rebuilt rows, and how far they are from the training records."""


def compared(
    outcome: Outcome[RowReconstruction], frame: object, random_state: int | np.random.Generator | None
) -> Outcome[Rows]:
    """Return rows with their distance from the training records, where these are given."""
    if not isinstance(outcome, Measured):
        return outcome
    error = None if frame is None else outcome.value.error_to(frame, random_state=random_state)
    return Measured((outcome.value, error))


def _hide(value: Rows, suppression: Suppression) -> RowsFinding:
    """Return what is certain about the rows; the rows themselves are no part of findings."""
    rows, error = value
    share = rows.share_certain
    n_values = rows.n_records * len(rows.domain)
    return RowsFinding(
        status=rows.status,
        meaning=rows.meaning,
        n_records=suppression.count(rows.n_records),
        ordered=rows.ordered,
        n_certain=None if rows.n_certain is None else suppression.rough(rows.n_certain),
        n_whole=None if rows.n_whole is None else suppression.rough(rows.n_whole),
        share_certain=None if share is None else suppression.proportion(share, n_values),
        reproduced=rows.reproduced,
        error=error,
    )


def rows_measured(run: Callable[[Any], Outcome[Rows]]) -> Measurement[Any, Rows]:
    """Return the measurement of rows, made of one kind of subject."""
    return Measurement[Any, Rows](
        "rows", "Rows", "Which rows meet every count?", RowsFinding, run=run, hide=_hide, asked=False, listed=False
    )
