"""Microaggregation: the records in groups of at least k that lie close together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.compiling.slices import Progress
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidParameterError, check_whole, parameter
from glassine.exports import DisplayedToCheckers
from glassine.microaggregation.dissimilarity import (
    GAP,
    SQUARED_GAP,
    Metric,
    SemanticDistance,
    metric_of,
    read_records,
)
from glassine.microaggregation.mdav import Mixed, ScaledRecords, closest
from glassine.microaggregation.record_encoding import Unscaled
from glassine.microaggregation.scan import group_means, on_grid, word_bits
from glassine.records.alignment import check_alignment
from glassine.records.arrays import AnyArray, Array, Ints

# A partition of records into groups, what stands for each group, and what is lost by it.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Microaggregation(DisplayedToCheckers):
    """Groups of at least k records each, with their representatives.

    Attributes
    ----------
    k : int
        Smallest size of a group that was asked for, of any stratum.
    gamma : float or None
        That of V-MDAV; None of MDAV.
    labels : ndarray of int64, shape (n,)
        Group of each record; groups are numbered in the order in which they were formed. Private: it says which
        records stand together.
    representatives : ndarray, shape (g, d)
        One row a group in the original units: the mean of a number; of a category the value whose squared
        dissimilarities to the group's values add up to the least (without a taxonomy, the most frequent one), the first
        of equal ones. Where values are missing, a number is the mean of those that are there, and NaN if they are
        fewer than k or than half of the group; a missing category counts as one more value, None.
        Doubles if all attributes are numbers, Python objects otherwise.
    sizes : ndarray of int64, shape (g,)
        Number of records of each group.
    names : tuple of str
        The attributes; ``x0``, ``x1`` and so on for arrays.
    sse : float
        Sum over records and attributes of the squared dissimilarity to the group's representative, in scaled units.
    information_loss : float
        ``sse`` divided by its value if all records were one group: from 0 (every record stands for itself) to 1; 0
        where all records are equal.
    metric : Metric
        The distance. Private unless its scales are public: means, standard deviations and ranges come from the records.
    centers : Mixed, shapes (p, g) and (q, g)
        The representatives as the metric sees them.
    strata : ndarray of object, shape (g,), or None
        The stratum of each group; None without strata.
    """

    k: int
    gamma: float | None
    labels: Ints
    representatives: AnyArray
    sizes: Ints
    names: tuple[str, ...]
    sse: float
    information_loss: float
    metric: Metric
    centers: Mixed
    strata: AnyArray | None = None

    @property
    def n_groups(self) -> int:
        """Number of groups g."""
        return len(self.sizes)

    def __repr__(self) -> str:
        return (
            f"<Microaggregation of {len(self.labels)} records into {self.n_groups} groups of {self.sizes.min()} to "
            f"{self.sizes.max()} records, information loss {self.information_loss:.4f}>"
        )

    def nearest(self, X: object, n_closest: int = 1) -> tuple[Ints, Array]:
        """Return the groups whose representatives are closest to each record, and their distances.

        Parameters
        ----------
        X : array-like of shape (m, d), or data frame
            Records with the attributes of the groups.
        n_closest : int, default=1
            How many; at most the number of groups.

        Returns
        -------
        groups : ndarray of int64, shape (m, n_closest)
            The closest first; of equally close ones the lowest.
        distances : ndarray of float64, shape (m, n_closest)
            Euclidean distance of the scaled records, or mean dissimilarity of the attributes.

        Raises
        ------
        InvalidParameterError
            If ``n_closest`` is not a whole number from 1 to the number of groups.
        InvalidDataError
            If the records cannot be read, or lack an attribute.
        """
        whole: object = n_closest
        if isinstance(whole, bool) or not isinstance(whole, int | np.integer) or not 1 <= whole <= self.n_groups:
            raise InvalidParameterError(
                f"{parameter('n_closest')} must be a whole number in [1, {self.n_groups}], the number of groups, got "
                f"{n_closest!r}.",
                remedy="Ask for fewer.",
            )
        table = self.metric.read(X)
        return closest(self.metric, table, self.centers, int(n_closest))


def microaggregate(
    data: object,
    k: int | Mapping[Scalar, int],
    *,
    strata: npt.ArrayLike | None = None,
    gamma: float | None = None,
    scaling: str = "standard",
    distance: str | SemanticDistance = "auto",
    domain: Domain | None = None,
    progress: Progress | None = None,
) -> Microaggregation:
    """Put records into groups of at least k that lie close together, by MDAV or V-MDAV.

    MDAV (maximum distance to average vector): while at least 3k records remain, the one farthest from their mean and
    its k - 1 nearest are a group, then the one farthest from that record and its k - 1 nearest. Of 2k to 3k - 1, the
    one farthest from the mean and its k - 1 nearest are a group, and the rest is one; fewer than 2k are one group.
    V-MDAV forms one group at a time around the record farthest from the mean of all records, and takes further ones in.

    Of equally far records the one with the lowest row number comes first. Distances are computed on the scaled numbers
    in double precision, attribute by attribute; means are sums rounded once, divided by the count. So equal records
    are treated by their row numbers, and the result depends on nothing but the data.

    A missing value (None or NaN) lies 0 from another missing one. In Gower's and the semantic distance it lies 1 from
    any value, as far as two values can. In the Euclidean one it lies the root of 2 standard deviations from any value:
    so far apart are the values of two records drawn at random, in the root of the mean square. Gower leaves such pairs
    out instead, and a record without values would be close to all. The mean of a group is one of the values that are
    there, and missing where most records have none.

    Guarantee
    ---------
    Every record is in exactly one group. MDAV's groups have k to 2k - 1 records; so have V-MDAV's, unless fewer places
    are free in them than records are left over. A representative is the mean of at least k values: k-anonymity of the
    representatives, and no more. It is no differential privacy: one record can change all groups.

    Parameters
    ----------
    data : array-like of shape (n, d), or data frame
        The records: numbers, or with ``distance="gower"`` or a :class:`SemanticDistance` also categories. Any frame
        that narwhals reads (pandas, polars, Arrow, DuckDB and so on). Values may be missing, and need a domain that
        declares so where there is one. Leave the class out.
    k : int, or mapping of scalar to int
        Smallest size of a group, from 1 to n; with strata from 1 to the records of the smallest, or one for each.
    strata : array-like of shape (n,), optional
        The stratum of each record, such as the sex or the hospital: no group holds records of two. The distance is that
        of all records. Strata are formed in the order in which they first occur.
    gamma : float, optional
        By default MDAV. A number asks for V-MDAV, which lets the sizes follow the data and takes several times as long:
        a record joins a group if it is closer to it than ``gamma`` times its distance to the others. 0 keeps all groups
        at k records; 0.2 suits scattered records, about 1.1 clustered ones.
    scaling : {"standard", "none"}, default="standard"
        Whether numbers are divided by their standard deviation in the Euclidean distance. An attribute with one value
        only does not count.
    distance : {"auto", "euclidean", "gower"} or SemanticDistance, default="auto"
        Gower: the mean over the attributes of the difference divided by the range, and of 0 or 1 for equal or different
        categories. "auto": Gower's where an attribute is a category, else the Euclidean one.
    domain : Domain, optional
        What is publicly known of the attributes. Records are made to conform to it, and Gower's ranges are its bounds.
    progress : callable, optional
        Called with the number of records in groups, and n.

    Returns
    -------
    Microaggregation
        Groups, representatives, and the information lost.

    Raises
    ------
    InvalidParameterError
        If ``k`` is not a whole number from 1 to n, a name is unknown, or ``gamma`` is negative or not finite; if there
        are not as many strata as records, one is missing, or a stratum has fewer records than its groups need.
    InvalidDataError
        If there is no record or no attribute, a value is infinite or beyond 1e300 (1e150 unscaled), a category has no
        distance, or a value is not in its taxonomy; if a value is missing where the domain declares none to be, or of
        numbers that are not scaled.

    References
    ----------
    J. Domingo-Ferrer and V. Torra: Ordinal, continuous and heterogeneous k-anonymity through microaggregation. Data
    Mining and Knowledge Discovery 11(2), 2005. A. Solanas and A. Martínez-Ballesté: V-MDAV: a multivariate
    microaggregation with variable group size. COMPSTAT, 2006. J. C. Gower: A general coefficient of similarity and some
    of its properties. Biometrics 27(4), 1971.

    Examples
    --------
    >>> ages = [[21], [22], [24], [40], [42], [43], [70]]
    >>> groups = microaggregate(ages, 2)
    >>> groups.labels.tolist(), groups.representatives.ravel().tolist()
    ([1, 1, 2, 2, 2, 0, 0], [56.5, 21.5, 35.333333333333336])
    >>> microaggregate(ages, 2, strata=["a", "b", "a", "b", "a", "b", "a"]).strata.tolist()
    ['a', 'a', 'b']
    """
    for least in k.values() if isinstance(k, Mapping) else (k,):
        _check(least, gamma, progress)
    check_alignment(data, strata=strata)
    table, distance = read_records(data, distance, domain)
    n = len(table.codes)
    if not isinstance(k, Mapping) and not k <= n:
        raise InvalidParameterError(
            f"{parameter('k')} must be at most the number of records, {n:,}, got {k}.", remedy="Use a smaller k."
        )
    parts = _strata_of(strata, k, n)
    metric = metric_of(table, scaling=scaling, distance=distance, domain=domain)
    points = ScaledRecords.scaled(table.numbers, table.codes, metric)
    labels = np.zeros(n, dtype=np.int64)
    whose: list[Any] = []
    least_of: list[int] = []
    done = 0
    for part in parts:
        rows = part.rows
        inside = points if strata is None else ScaledRecords.scaled(table.numbers[rows], table.codes[rows], metric)
        report = None if progress is None else _after(progress, done, n)
        done += len(rows)
        own = inside.mdav(part.k, report) if gamma is None else inside.v_mdav(part.k, float(gamma), report)
        labels[part.rows] = own + len(whose)
        whose += [part.name] * (int(own.max()) + 1)
        least_of += [part.k] * (int(own.max()) + 1)
    made = _result(table, points, labels, k=min(least_of), gamma=gamma, least=np.array(least_of))
    if strata is None:
        return made
    named = np.empty(len(whose), dtype=object)
    named[:] = whose
    return replace(made, strata=named)


@dataclass(frozen=True, slots=True)
class _Stratum:
    """Records that are put into groups by themselves."""

    name: Any
    rows: Ints
    k: int  # Smallest size of a group


def _strata_of(strata: npt.ArrayLike | None, k: int | Mapping[Scalar, int], n: int) -> list[_Stratum]:
    """Return the strata in the order in which they first occur; one of all records without strata."""
    if strata is None:
        if isinstance(k, Mapping):
            raise InvalidParameterError(
                f"{parameter('k')} is given for strata, and there are none.", remedy=f"Pass {parameter('strata=')}."
            )
        return [_Stratum(None, np.arange(n), int(k))]
    values = as_list(strata)
    if len(values) != n or any(value is None or value != value for value in values):
        raise InvalidParameterError(
            f"{parameter('strata')} must name one for each of {n:,} records, none of them missing.",
            remedy="Pass a column of the records.",
        )
    rows: dict[Any, list[int]] = {}
    for row, value in enumerate(values):
        rows.setdefault(value, []).append(row)
    if isinstance(k, Mapping) and set(k) != set(rows):
        raise InvalidParameterError(
            f"{parameter('k')} must have one size for each stratum.",
            remedy="Name those that occur, or give one number for all.",
        )
    out = []
    for name, own in rows.items():
        least = int(k[name] if isinstance(k, Mapping) else k)
        if len(own) < least:
            raise InvalidParameterError(
                f"a stratum has {len(own):,} records, fewer than {parameter('k')}, {least}.",
                remedy="Join small strata, or use a smaller k.",
            )
        out.append(_Stratum(name, np.array(own), least))
    return out


def as_list(values: Any) -> list[Any]:
    """Return the values of a column of any library."""
    return list(values.to_list() if hasattr(values, "to_list") else np.asarray(values).tolist())


def _after(progress: Progress, before: int, n: int) -> Progress:
    """Return the progress of one stratum, before which so many records of others are done."""
    return lambda done, _: progress(before + done, n)


def check_gamma(gamma: object) -> float | None:
    """Return the gamma of V-MDAV, or None for MDAV; or raise InvalidParameterError."""
    if gamma is None:
        return None
    if isinstance(gamma, bool) or not isinstance(gamma, int | float | np.number) or not 0 <= gamma < math.inf:
        raise InvalidParameterError(
            f"{parameter('gamma')} must be a finite number of at least 0, or None for MDAV, got {gamma!r}.",
            remedy="Use 0.2.",
        )
    return float(gamma)


def _check(k: object, gamma: object, progress: object) -> None:
    check_whole(k, "k", 1, remedy="Use 3 or more for privacy.")
    check_gamma(gamma)
    if progress is not None and not callable(progress):
        raise InvalidParameterError(
            f"{parameter('progress')} must be callable or None, got {type(progress).__name__}.", remedy="Leave it out."
        )


def _result(
    table: Unscaled, points: ScaledRecords, labels: Ints, *, k: int, gamma: float | None, least: Ints
) -> Microaggregation:
    """Return the partition with its representatives and what they lose."""
    metric, sizes = points.metric, np.bincount(labels)
    centers = points.centers(labels)
    for column, center in zip(points.rows.T, centers.numbers, strict=True):
        center[np.bincount(labels[~np.isnan(column)], minlength=len(sizes)) < least] = np.nan
    sse = _squares(points, centers, labels)
    total = _squares(points, points.centers(np.zeros_like(labels)), np.zeros_like(labels))
    return Microaggregation(
        k=k,
        gamma=gamma,
        labels=labels,
        representatives=_representatives(table, labels, centers),
        sizes=sizes,
        names=table.names,
        sse=sse * metric.unit * metric.unit,
        # Rounding alone can take it above 1.
        information_loss=min(1.0, sse / total) if total > 0 else 0.0,
        metric=metric,
        centers=centers,
    )


def _squares(points: ScaledRecords, centers: Mixed, labels: Ints) -> float:
    """Return the sum of squared dissimilarities to the centers, attribute by attribute."""
    total, gap = 0.0, SQUARED_GAP if points.metric.squared else GAP
    for column, center in zip(points.rows.T, centers.numbers, strict=True):
        squares = (column - center[labels]) ** 2
        if np.isnan(squares).any():
            alike = np.isnan(column) & np.isnan(center[labels])
            squares = np.where(np.isnan(squares), np.where(alike, 0.0, gap), squares)
        total += float(np.sum(squares))
    for j, center_codes in enumerate(centers.codes):
        total += float(np.sum(points.metric.tables[j][center_codes[labels], points.codes[:, j]] ** 2))
    return total


def _representatives(table: Unscaled, labels: Ints, centers: Mixed) -> AnyArray:
    """Return the means of the numbers in their own units, and the central values of the categories."""
    columns: list[AnyArray] = []
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    bits = word_bits(len(labels))
    rows, factors = on_grid(table.numbers, bits)
    own = np.empty((len(starts), rows.shape[1]))
    group_means(rows, order, np.append(starts[1:], len(order)), factors, bits, own)
    own[np.isnan(centers.numbers.T)] = np.nan
    numeric = iter(zip(table.numbers.T, own.T, strict=True))
    categories = iter(zip(table.values, centers.codes, strict=True))
    for is_number in table.numeric:
        if is_number:
            column, means = next(numeric)
            column = column[order]
            # Rounding may carry the mean of equal numbers beyond them.
            columns.append(np.clip(means, np.fmin.reduceat(column, starts), np.fmax.reduceat(column, starts)))
        else:
            values, codes = next(categories)
            lookup = np.empty(len(values), dtype=object)
            lookup[:] = values
            columns.append(lookup[codes])
    out = np.empty((len(starts), len(columns)), dtype=np.float64 if table.numeric.all() else object)
    for j, column in enumerate(columns):
        out[:, j] = column.tolist()
    return out
