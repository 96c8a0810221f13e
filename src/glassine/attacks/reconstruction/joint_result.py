"""What several models of the same records reveal together: the values that the attack returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.reconstruction.joint_published import LeftOut
from glassine.attacks.reconstruction.leakage import Interval
from glassine.domain.attributes import Scalar
from glassine.errors import UndefinedMeasureError
from glassine.exports import DisplayedToCheckers
from glassine.records.arrays import Array, Bools, Ints

# What the guarantees of several models of the same records come to together.


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """The claims of several models, put together by basic composition: epsilons add, and deltas add.

    This is arithmetic on claims: it holds if each of them does.

    Attributes
    ----------
    models : tuple of str
        The models whose claims are put together.
    epsilons, deltas : tuple of float
        What each contributes, under ``neighboring``.
    neighboring : str
        The relation of all claims; ``replace-one`` where they differ, with those for adding or removing one record or
        person taken twice. A record that is replaced keeps its person.
    caveats : tuple of str
        What is said against one of the claims, with the model's name; then the sum does not hold as stated.
    """

    models: tuple[str, ...]
    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    neighboring: str
    caveats: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """Sum of the epsilons."""
        return math.fsum(self.epsilons)

    @property
    def delta(self) -> float:
        """Sum of the deltas, at most 1."""
        return min(1.0, math.fsum(self.deltas))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "models": list(self.models),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighboring": self.neighboring,
            "epsilons": list(self.epsilons),
            "deltas": list(self.deltas),
            "caveats": list(self.caveats),
        }

    def __str__(self) -> str:
        whose = {1: "the claim of", 2: "the claims of both,"}.get(len(self.models), "the claims of all:")
        said = f"{_sum('epsilon', self.epsilons, self.epsilon)} ({whose} {', '.join(self.models)}; {self.neighboring})"
        if self.delta:
            said += f"; {_sum('delta', self.deltas, self.delta)}"
        if self.caveats:
            said += f". That does not hold as stated: {'; '.join(self.caveats)}"
        return f"{said}."


def compose(left_out: Sequence[LeftOut]) -> Composition | None:
    """Return what the guarantees of models come to together; None where none claims any.

    Basic composition (Dwork and Roth, The Algorithmic Foundations of Differential Privacy, 2014, Theorem 3.16 and its
    adaptive form) holds regardless of what the models share.
    """
    claims = [(entry.name, entry.guarantee) for entry in left_out if entry.guarantee is not None]
    if not claims:
        return None
    relations = {claim.neighboring for _, claim in claims}
    same = len(relations) == 1
    costs = [(claim.epsilon, claim.delta) if same else claim.replacing for _, claim in claims]
    return Composition(
        models=tuple(name for name, _ in claims),
        epsilons=tuple(epsilon for epsilon, _ in costs),
        deltas=tuple(delta for _, delta in costs),
        neighboring=relations.pop() if same else "replace-one",
        caveats=tuple(f"{name}: {caveat}" for name, claim in claims for caveat in claim.caveats),
    )


def _sum(what: str, terms: Sequence[float], total: float) -> str:
    if len(terms) == 1:
        return f"{what}: {total:g}"
    return f"{what}s add: {' + '.join(f'{term:g}' for term in terms)} = {total:g}"


SCHEMA = "glassine.joint/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetCount:
    """The number of possible datasets, with known labels or without labels.

    Attributes
    ----------
    with_labels : bool
        Whether the rows' labels are known, so that class counts count; otherwise sizes count alone.
    log2_data_sets : Interval
        log2 of the number of datasets of rows in a fixed order that meet all counts. Under the domain's shares it is
        that of their chance, times the number of all datasets.
    arrangement_bits : tuple of float
        For each model log2 of the number of ways in which its parts can take the rows, over the number of records: with
        labels the rows of each class, in a model that has classes.
    orders : tuple of bool
        For each model whether the rows can stand in the order of its parts: with labels only if it has classes.
    """

    with_labels: bool
    log2_data_sets: Interval
    arrangement_bits: tuple[float, ...]
    orders: tuple[bool, ...]

    @property
    def best_order(self) -> float:
        """Bits about a record that the order of the rows reveals, at most."""
        return max(bits for bits, can in zip(self.arrangement_bits, self.orders, strict=True) if can)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellRanges:
    """How many records each cell holds, over all datasets that meet the counts.

    Attributes
    ----------
    leaves : ndarray of int32, shape (cells, models)
        The leaf or rule of each model whose intersection is the cell.
    worlds : tuple of (int or None)
        Number of possible records of the cell; None over a continuum.
    low, high : ndarray of int64, shape (cells,)
        Bounds of the number of records.
    exact : ndarray of bool, shape (cells,)
        Whether both bounds are reached by some dataset; elsewhere they hold, but may be wide.
    expected : ndarray of float64, shape (cells,)
        Number of records in the table of maximum entropy: an estimate of the mean over the datasets.
    """

    leaves: npt.NDArray[np.int32]
    worlds: tuple[int | None, ...]
    low: Ints
    high: Ints
    exact: Bools
    expected: Array

    def __len__(self) -> int:
        return len(self.worlds)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedGroup:
    """Records that several models pin down together.

    Attributes
    ----------
    kind : {"cell", "difference"}
        A cell; or what a part of one model holds beyond a part of another that lies inside it.
    where : str
        The conditions.
    low, high : int
        Bounds of the number of records in every dataset that meets the counts.
    label : scalar or None
        The class that all of them have in every such dataset; None where several are possible.
    worlds : int or None
        Number of possible records of the region; None over a continuum.
    alone : int
        Number of records among which the best single model hides them.
    cells : tuple of int
        The cells of its region, as places in ``CellRanges``.
    """

    kind: str
    where: str
    low: int
    high: int
    label: Scalar | None
    worlds: int | None
    alone: int
    cells: tuple[int, ...]

    @property
    def size(self) -> str:
        """The number of records, in words."""
        one = self.high == 1
        return f"{self.low if self.low == self.high else f'{self.low} to {self.high}'} record{'s' * (not one)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "kind": self.kind,
            "where": self.where,
            "low": self.low,
            "high": self.high,
            "label": self.label,
            "worlds": self.worlds,
            "alone": self.alone,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PartExposure:
    """What is learned about a record of one leaf or rule.

    Attributes
    ----------
    model : str
        The model.
    part : int
        Index of the leaf or rule among the model's cells.
    size : int
        Number of its records.
    bits_alone : float
        Bits learned about each from the model alone.
    bits_jointly : float
        Bits learned on average from all models, by the table of maximum entropy: an estimate.
    """

    model: str
    part: int
    size: int
    bits_alone: float
    bits_jointly: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JointReconstruction(DisplayedToCheckers):
    """What an attacker with several models of the same records knows about them.

    The reader does not know which record of one model's leaf is which of another's.

    Attributes
    ----------
    models : tuple of str
        The models whose counts are used.
    left_out : tuple of LeftOut
        Models that give nothing exact, with the reason.
    filled : tuple of str
        The models of ``models`` whose numbers of records were counted in the data: the figures are those of an attacker
        who also knows these numbers.
    n_records : int
        Number of training records.
    classes : tuple of scalars or None
        The classes that hold records; None where no model has them.
    domain_bits : float
        log2 of the number of possible records, or of the volume of the domain.
    bits_alone : tuple of float
        Bits that each model alone reveals about a record, on average: the paper's measure, or by the domain's shares.
    contradiction : str or None
        Why no dataset in the domain meets all counts: the models were not trained on the same records, or the domain
        excludes some of them. None where no such reason was found.
    proved_consistent : bool
        Whether a dataset that meets all counts is known to exist.
    readings : tuple of DatasetCount
        The number of possible datasets: with labels where some model has classes, without where some does not.
    bits_aligned : float or None
        Bits about a record for an attacker who also knows which record of one model is which of another. Needs data.
    cells : CellRanges or None
        The cells with the range of their counts.
    small_groups : tuple of SharedGroup
        Groups that certainly hold between one and ``smallest_group`` records, which no single model sets apart, the
        smallest first.
    certain_labels : tuple of SharedGroup
        Cells whose records, at least one, certainly have one class, which no single model reveals; the largest first.
    exposures : tuple of PartExposure
        What is learned about a record of each leaf or rule that holds one.
    bits_most_exposed : Interval or None
        Bits about the most exposed record, log2 of the domain over the possible records that still fit it, or of one
        over their share of the public, between two proved bounds. The lower one is what is certain of some record. The
        upper one is infinite where a single point of a continuum can hold one. With the data, it is what a reader
        learns who also knows which record of one model is which of another.
    fewest_in_common : int or None
        Records of the smallest common part of all models that holds one; None where neither the data nor the counts
        reveal. No reader of the models can be certain of a group of fewer records.
    smallest_group : int
        Largest number of records of a small group.
    silence : str or None
        Why nothing was measured: no model has exact counts.
    by_shares : bool
        Whether bits are those of an attacker who knows the domain's public shares.
    inferred : tuple of str
        Tested attributes whose domain or shares were taken from data, so that bits about them are understated.
    """

    models: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    n_records: int
    classes: tuple[Scalar, ...] | None
    domain_bits: float
    bits_alone: tuple[float, ...]
    contradiction: str | None = None
    proved_consistent: bool = False
    readings: tuple[DatasetCount, ...] = ()
    bits_aligned: float | None = None
    cells: CellRanges | None = None
    small_groups: tuple[SharedGroup, ...] = ()
    certain_labels: tuple[SharedGroup, ...] = ()
    exposures: tuple[PartExposure, ...] = ()
    smallest_group: int = 5
    filled: tuple[str, ...] = ()
    bits_most_exposed: Interval | None = None
    fewest_in_common: int | None = None
    silence: str | None = None
    by_shares: bool = False
    inferred: tuple[str, ...] = ()

    @property
    def composition(self) -> Composition | None:
        """What the guarantees of the models left out come to together; None where none claims any."""
        return compose(self.left_out)

    @property
    def status(self) -> str:
        """``consistent``, ``inconsistent``, ``open`` where the search for a dataset ended without an answer.

        ``unmeasured`` where no model has exact counts.
        """
        if self.silence is not None:
            return "unmeasured"
        if self.contradiction is not None:
            return "inconsistent"
        return "consistent" if self.proved_consistent else "open"

    @property
    def bits_per_record(self) -> Interval:
        """Bits that all models together reveal about a record, on average.

        Of one model this is :meth:`glassine.attacks.ProbabilisticDataset.bits_per_record`. Of several, the rows stand
        in the order of that model's leaves which leaves the fewest datasets; so it is at least the bits of each model
        alone.

        Raises
        ------
        UndefinedMeasureError
            If the counts contradict one another, or no model has exact ones.
        """
        self._require_consistent()
        least = max(self.bits_alone)
        if len(self.models) == 1:
            return Interval(lower=least, upper=least)
        bits = [(self.domain_bits + reading.best_order, reading.log2_data_sets) for reading in self.readings]
        low = max(start - sets.upper / self.n_records for start, sets in bits)
        high = max(start - sets.lower / self.n_records for start, sets in bits)
        slack = 1e-14 * (1 + abs(self.domain_bits) + max(reading.best_order for reading in self.readings))
        if self.by_shares:
            # No record is known better on average than the most exposed one; a rare one can exceed the domain's bits.
            high = high if self.bits_most_exposed is None else min(high, self.bits_most_exposed.upper)
        elif not self._is_continuum:
            # Over a continuum bits have no end: a cell's volume can be as small as may be.
            high = min(high, self.domain_bits)
        low, high = max(low - slack, least), high + slack
        return Interval(lower=low, upper=max(high, low))

    @property
    def log2_data_sets(self) -> Interval:
        """log2 of the number of datasets that meet all counts.

        Their rows have a fixed order, and labels where these are known. Under the domain's shares each dataset counts
        by its chance, and all of them together as many as there are.
        """
        self._require_consistent()
        return self.readings[0].log2_data_sets

    @property
    def bits_if_independent(self) -> float:
        """Bits about a record if one model's region revealed nothing about another's."""
        self._require_consistent()
        return max(
            math.fsum(bits - ways for bits, ways in zip(self.bits_alone, reading.arrangement_bits, strict=True))
            + reading.best_order
            for reading in self.readings
        )

    @property
    def dist_g(self) -> Interval:
        """Share of a record's entropy that all models together leave: Dist_G of the paper.

        Raises
        ------
        UndefinedMeasureError
            If the counts contradict one another, no model has exact ones, the domain is a continuum, allows one record
            only or declares shares: the paper takes all records for equally likely.
        """
        if self.by_shares:
            raise UndefinedMeasureError(
                "Dist_G takes all records for equally likely, and the domain declares shares.",
                remedy="Leave the shares out of the domain for it.",
            )
        if not self.domain_bits > 0 or self._is_continuum:
            raise UndefinedMeasureError(
                "a share needs a domain of a finite number of records, more than one.",
                remedy="Declare bounds, and a resolution of real numbers, in the domain.",
            )
        bits = self.bits_per_record
        return Interval(lower=1 - bits.upper / self.domain_bits, upper=1 - bits.lower / self.domain_bits)

    @property
    def _is_continuum(self) -> bool:
        return self.cells is not None and None in self.cells.worlds

    def _require_consistent(self) -> None:
        if self.silence is not None:
            raise UndefinedMeasureError(self.silence)
        if self.contradiction is not None:
            raise UndefinedMeasureError(
                f"no dataset meets the counts of all models, so nothing can be measured: {self.contradiction}",
                remedy="Put together only models of the same records, in a domain that holds them all.",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; what cannot be measured is None."""
        published = self.status in ("consistent", "open")
        bits = self.bits_per_record if published else None
        return {
            "schema": SCHEMA,
            "status": self.status,
            "contradiction": self.contradiction,
            "models": list(self.models),
            "left_out": [
                {"model": entry.name, "reason": entry.reason, "counts": entry.counts} for entry in self.left_out
            ],
            "counted_from_data": list(self.filled),
            "composition": None if self.composition is None else self.composition.to_dict(),
            "records": self.n_records,
            "cells": None if self.cells is None else len(self.cells),
            "domain_bits": self.domain_bits,
            "by_shares": self.by_shares,
            "bits_alone": list(self.bits_alone),
            "bits": None if bits is None else [bits.lower, bits.upper],
            "bits_if_independent": self.bits_if_independent if published else None,
            "bits_aligned": self.bits_aligned,
            "bits_most_exposed": None if self.bits_most_exposed is None else self.bits_most_exposed.to_list(),
            "fewest_in_common": self.fewest_in_common,
            "smallest_group": self.smallest_group,
            "small_groups": [group.to_dict() for group in self.small_groups],
            "certain_labels": [group.to_dict() for group in self.certain_labels],
            "exposures": [
                {
                    "model": entry.model,
                    "part": entry.part,
                    "size": entry.size,
                    "bits_alone": entry.bits_alone,
                    "bits_jointly_estimated": entry.bits_jointly,
                }
                for entry in self.exposures
            ],
        }

    def __str__(self) -> str:
        if self.silence is not None:
            return f"{len(self.left_out)} models, none of which has exact counts; {self.composition}"
        if self.contradiction is not None:
            return (
                f"{len(self.models)} models that were not trained on the same records, "
                f"or the domain excludes some of them: {self.contradiction}"
            )
        return (
            f"{len(self.models)} models of {self.n_records:,} records: {self.bits_per_record} bits a record together, "
            f"{max(self.bits_alone):.4f} from the best alone"
        )

    def __repr__(self) -> str:
        return f"<JointReconstruction of {len(self.models)} models, {self.status}>"
