"""Distinct records with multiplicities: all that counting learners need to know of a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from glassine.domain import Binary, Category, Domain, Integer, Literal, Real
from glassine.domain.attributes import Attribute
from glassine.errors import InvalidDataError, parameter
from glassine.records.alignment import check_alignment
from glassine.records.arrays import Ints
from glassine.records.bits import BitSets, truths
from glassine.records.columns import ConformedColumns, columns_of, values_of
from glassine.records.conjunctions import ConjunctionCounts, count_conjunctions
from glassine.records.containers import Opened, is_lazy
from glassine.records.cuts import Cuts, coarse, cuts_of
from glassine.records.engines import WEIGHT, LazyTable, binned, check_weights, valid
from glassine.records.reading import read_settled
from glassine.records.undeclared import read_checked


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class CountTable(Opened):
    """The distinct records of a dataset over the attributes of a domain, and how often each occurs.

    The rows are sorted by the attributes in the order of the domain (by number or by code, a value that is not
    declared first among codes, a missing number last), so that one multiset of records has one table, for
    every library and every order of the records.

    Attributes
    ----------
    domain : Domain
        The public domain.
    columns : ConformedColumns
        The distinct records as :func:`glassine.records.read_checked` returns them, m rows.
    multiplicities : ndarray of int64, shape (m,)
        Number of records that each row stands for, at least 1.

    Examples
    --------
    >>> domain = Domain({"smoker": Binary(), "sport": Category(("run", "swim"))})
    >>> data = {"smoker": np.array([1, 0, 1]), "sport": np.array(["run", "swim", "run"])}
    >>> table = CountTable.from_frame(data, domain)
    >>> table.columns.codes["sport"].tolist(), table.multiplicities.tolist()
    ([1, 0], [1, 2])
    >>> table
    <CountTable of 3 records over 2 attributes>
    """

    domain: Domain
    columns: ConformedColumns
    multiplicities: Ints

    @classmethod
    def from_frame(
        cls, data: object, domain: Domain, *, weights: str | npt.ArrayLike | None = None, cuts: Cuts | None = None
    ) -> CountTable:
        """Count the distinct records of a dataset, each made to conform to the domain first.

        A lazy frame (polars, DuckDB, Dask, Spark and so on) is conformed and grouped by its own engine: only distinct
        records come into memory, so that the data may be larger than memory as long as the distinct records are not.
        Other frames are grouped by polars. Besides the data, the memory taken is a small multiple of
        8 bytes per number and 1 to 4 bytes per category, times the rows of a frame in memory, or times the distinct
        records of a lazy one. Real attributes without a resolution can make every record distinct: give ``cuts``.

        Parameters
        ----------
        data : data frame, mapping of str to ndarray, or ndarray of shape (n, d)
            The records, as for :func:`glassine.records.read_checked`; there may be none.
        domain : Domain
            The public domain; each attribute must be a column.
        weights : str or array-like of int, shape (n,), optional
            How many records each row stands for, a whole number in [0, 2**32]: the name of a column that is not an
            attribute, or an array. A row with weight 0 is left out.
        cuts : mapping of str to sequence of float, optional
            Numbers that these public points alone distinguish: a number becomes the smallest point that is
            at least as large, or the attribute's upper bound. :func:`~glassine.records.cuts.cuts_of` returns the points
            of some literals, which then hold for the same records as before. Other numbers are distinguished exactly.

        Raises
        ------
        InvalidDataError
            As :func:`~glassine.records.read_checked`; also in a row of weight 0. If a weight is missing, negative
            or not whole, if there is not one weight per row, or if an array of weights comes with a lazy frame.
        """
        check_alignment(data, weights=weights)
        if isinstance(weights, str) and weights in domain:
            raise InvalidDataError(
                f"{parameter('weights')} must not be an attribute, but {weights!r} is one.",
                remedy="Drop it from the domain.",
            )
        if is_lazy(data):
            if weights is not None and not isinstance(weights, str):
                raise InvalidDataError(
                    "an array of weights needs a frame in memory, because the rows of a lazy one have no order.",
                    remedy="Put the weights into a column.",
                )
            attributes = {name: domain[name] for name in domain}
            groups = LazyTable(frame=data).group(attributes, cuts=cuts, weights=weights)
            return cls._tabulated(domain, [(groups.columns, groups.counts)])
        columns = read_checked(data, domain)
        return cls._tabulated(domain, [(coarse(columns, cuts or {}), _counts(data, weights, columns.n_records))])

    @classmethod
    def _tabulated(cls, domain: Domain, parts: Sequence[tuple[ConformedColumns, Ints]]) -> CountTable:
        """Return the sorted table of some conformed records with their counts."""
        keys = [f"k{i}" for i in range(len(domain))]
        frames = [
            pl.LazyFrame({key: columns.array(name) for key, name in zip(keys, domain, strict=True)} | {"n": counts})
            for columns, counts in parts
        ]
        grouped = (
            pl.concat(frames)
            .filter(pl.col("n") > 0)
            .group_by(keys)
            .agg(pl.col("n").sum())
            .sort(keys)
            .collect(engine="streaming")
        )
        arrays = {name: grouped[key].to_numpy() for key, name in zip(keys, domain, strict=True)}
        attributes = {name: domain[name] for name in domain}
        return cls(
            domain=domain,
            columns=columns_of(attributes, arrays),
            multiplicities=grouped["n"].to_numpy().astype(np.int64),
        )

    @property
    def container(self) -> ConformedColumns:
        """The distinct records."""
        return self.columns

    @property
    def n_distinct(self) -> int:
        """Number of distinct records m."""
        return len(self.multiplicities)

    @property
    def n_records(self) -> int:
        """Number of records n, the sum of the multiplicities."""
        return int(self.multiplicities.sum())

    def __repr__(self) -> str:
        return f"<CountTable of {self.n_records} records over {len(self.domain)} attributes>"

    def marginal(self, names: Iterable[str]) -> CountTable:
        """Return the table of some of the attributes, in the given order; its ties are projected onto them."""
        domain = self.domain.restrict(tuple(names))
        return CountTable._tabulated(domain, [(self.columns, self.multiplicities)])

    def merge(self, *others: CountTable) -> CountTable:
        """Return the table of all records together; the tables of the parts of a dataset add up to that of the whole.

        Raises
        ------
        InvalidDataError
            If the domains differ.
        """
        for other in others:
            if other.domain != self.domain:
                raise InvalidDataError(
                    f"{parameter('tables')} must have one domain to be merged, but these differ in "
                    f"{_difference(self.domain, other.domain)}.",
                    remedy="Use the same one.",
                )
        tables = (self, *others)
        return CountTable._tabulated(self.domain, [(table.columns, table.multiplicities) for table in tables])

    def split(self, target: str) -> tuple[ConformedColumns, npt.NDArray[np.signedinteger[Any]]]:
        """Return the other attributes of the rows, and the codes of the target.

        Rows stay those of :attr:`multiplicities`: two of them may differ in the target alone. A code of -1 says that
        the record has no declared target.

        Parameters
        ----------
        target : str
            A :class:`Category` or :class:`Binary` attribute, besides which there is another.

        Raises
        ------
        InvalidDataError
            If the attribute is a number, or the only one.
        InvalidDomainError
            If there is no such attribute.
        """
        if not isinstance(self.domain[target], Category | Binary) or len(self.domain) < 2:
            raise InvalidDataError(
                f"a target must be a category or binary attribute with others beside it, but {target!r} is not.",
                remedy="Declare its classes as a Category.",
            )
        return self.columns.restrict(name for name in self.domain if name != target), self.columns.codes[target]


def _difference(one: Domain, other: Domain) -> str:
    """Return where two domains differ first, in words."""
    if one.names != other.names:
        return "the names of attributes"
    for name in one:
        if type(one[name]) is not type(other[name]):
            return f"the kind of {name!r}"
        for part in fields(one[name]):
            if getattr(one[name], part.name) != getattr(other[name], part.name):
                return f"the {part.name} of {name!r}"
    return "the groups" if one.groups != other.groups else "the shares"


def _counts(frame: object, weights: str | npt.ArrayLike | None, n_records: int) -> Ints:
    """Return how many records each row of a frame in memory stands for."""
    if weights is None:
        return np.ones(n_records, dtype=np.int64)
    source, name = frame, weights
    if not isinstance(name, str):
        source, name = {"weights": np.asarray(weights)}, "weights"
    elif isinstance(frame, np.ndarray):
        raise InvalidDataError(f"an array has no column named {name!r}.", remedy="Also pass the weights as an array.")
    counts = read_settled(source, {name: WEIGHT}).numbers[name]
    if len(counts) != n_records:
        raise InvalidDataError(
            f"{parameter('weights')} must have one entry per record, {n_records}, got {len(counts)}."
        )
    check_weights(int((~valid(counts)).sum()), name)
    return counts.astype(np.int64)


def bin_histograms(data: object, domain: Domain, cuts: Cuts | None = None) -> dict[str, Ints]:
    """Return how many records lie in each bin of each attribute.

    One attribute is read at a time, so that of a columnar file each column is read once.

    Parameters
    ----------
    data : data frame of any kind
        The records, as for :meth:`CountTable.from_frame`; a lazy frame is counted by its engine.
    domain : Domain
        The public domain.
    cuts : mapping of str to sequence of float, optional
        Cut points of numbers: bin i holds the numbers above cut i - 1 up to cut i. A number without cuts is left out.

    Returns
    -------
    dict of str to ndarray of int64
        For a number with k cuts the counts of its k + 1 bins and of missing values, shape (k + 2,); for an attribute
        of v values their counts and that of missing and undeclared ones, shape (v + 1,).

    Raises
    ------
    InvalidDataError
        As for :meth:`CountTable.from_frame`; if cuts do not increase.

    Examples
    --------
    >>> domain = Domain({"age": Integer(0, 99), "smoker": Binary(missing=True)})
    >>> data = {"age": np.array([20, 41, 120]), "smoker": np.array([1.0, np.nan, 1.0])}
    >>> {name: counts.tolist() for name, counts in bin_histograms(data, domain, {"age": (40,)}).items()}
    {'age': [1, 2, 0], 'smoker': [0, 2, 1]}
    """
    cuts = cuts or {}
    out: dict[str, Ints] = {}
    for name in domain:
        attribute = domain[name]
        if isinstance(attribute, Integer | Real) and name not in cuts:
            continue
        points = np.array(cuts.get(name, ()), dtype=np.float64)
        if not (np.diff(points) > 0).all():
            raise InvalidDataError(
                f"the cuts of {name!r} must increase strictly.", remedy="Sort them and drop repeats."
            )
        columns, counts = counted(data, {name: attribute}, cuts)
        if isinstance(attribute, Integer | Real):
            out[name] = binned(columns.numbers[name], counts, points)
        else:
            out[name] = np.zeros(len(values_of(attribute)) + 1, dtype=np.int64)
            np.add.at(out[name], columns.codes[name], counts)
    return out


def counted(frame: object, attributes: Mapping[str, Attribute], cuts: Cuts) -> tuple[ConformedColumns, Ints]:
    """Return the records of some attributes, distinct if the frame is lazy, and how often each occurs."""
    if is_lazy(frame):
        groups = LazyTable(frame=frame).group(attributes, cuts=cuts)
        return groups.columns, groups.counts
    columns = coarse(read_checked(frame, attributes), cuts)
    return columns, np.ones(columns.n_records, dtype=np.int64)


def conjunction_counts(
    data: object, domain: Domain, literals: Sequence[Literal], d: int, *, target: str | None = None
) -> ConjunctionCounts:
    """Count the records in every conjunction of up to d public literals.

    Records are first grouped by what the literals can distinguish.

    Parameters
    ----------
    data : data frame of any kind
        The records, as for :meth:`CountTable.from_frame`; a lazy frame is grouped by its engine.
    domain : Domain
        The public domain of the literals' attributes and of the target.
    literals : sequence of Literal
        The literals, by whose places conjunctions are named.
    d : int
        Largest number of literals in a conjunction.
    target : str, optional
        A :class:`Category` or :class:`Binary` attribute whose classes are distinguished; missing and undeclared ones
        are a last class. Without it all records are of one class.

    Raises
    ------
    InvalidDataError
        As for :meth:`CountTable.from_frame`; if the target is a number, or there is no literal.

    Examples
    --------
    >>> from glassine.domain import Between, Integer, OneOf
    >>> domain = Domain({"age": Integer(0, 99), "smoker": Binary(), "sick": Binary()})
    >>> data = {"age": np.array([20, 41, 60]), "smoker": np.array([1, 0, 1]), "sick": np.array([0, 0, 1])}
    >>> literals = [Between("age", lo=40), OneOf("smoker", (1,))]
    >>> conjunction_counts(data, domain, literals, 2, target="sick").of((0, 1)).tolist()
    [0, 1, 0]
    """
    if not literals:
        raise InvalidDataError(
            f"{parameter('literals')} must hold at least one literal, got none.", remedy="Give those to be counted."
        )
    cuts = cuts_of(literals, domain)
    attributes = {name: domain[name] for name in domain if name in cuts or name == target}
    columns, counts = counted(data, attributes, cuts)
    labels, n_classes = np.zeros(len(counts), dtype=np.int64), 1
    if target is not None:
        attribute = domain[target]
        if not isinstance(attribute, Category | Binary):
            raise InvalidDataError(f"a target must be a category or binary attribute, but {target!r} is a number.")
        n_classes = (len(attribute.values) if isinstance(attribute, Category) else 2) + 1
        labels = np.where(columns.codes[target] < 0, n_classes - 1, columns.codes[target]).astype(np.int64)
    bitsets = BitSets.pack(truths(columns, [(literal,) for literal in literals]), labels, n_classes, counts)
    return count_conjunctions(bitsets, d)
