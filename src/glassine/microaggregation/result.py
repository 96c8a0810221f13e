"""A partition of records into groups, what stands for each group, and what is lost by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidParameterError
from glassine.microaggregation.closest import closest
from glassine.microaggregation.metric import Metric

__all__ = ["Microaggregation"]

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Microaggregation:
    """Groups of at least k records each, with their representatives.

    Attributes
    ----------
    k : int
        Smallest size of a group that was asked for.
    method : str
        "mdav" or "v-mdav".
    labels : ndarray of int64, shape (n,)
        Group of each record; groups are numbered in the order in which they were formed. Private: it says which
        records stand together.
    representatives : ndarray, shape (g, d)
        One row a group in the original units: the mean of a number; of a category the value whose squared
        dissimilarities to the group's values add up to the least (without a taxonomy, the most frequent one), the first
        of equal ones.
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
    centers : ndarray of float64, shape (p, g), and of int32, shape (q, g)
        The representatives as the metric sees them.
    """

    k: int
    method: str
    labels: IntArray
    representatives: npt.NDArray[Any]
    sizes: IntArray
    names: tuple[str, ...]
    sse: float
    information_loss: float
    metric: Metric
    centers: tuple[FloatArray, npt.NDArray[np.int32]]

    @property
    def n_groups(self) -> int:
        """Number of groups g."""
        return len(self.sizes)

    def __repr__(self) -> str:
        return (
            f"<Microaggregation of {len(self.labels)} records into {self.n_groups} groups of {self.sizes.min()} to "
            f"{self.sizes.max()} records, information loss {self.information_loss:.4f}>"
        )

    def nearest(self, X: Any, n_closest: int = 1) -> tuple[IntArray, FloatArray]:
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
                f"n_closest must be a whole number in [1, {self.n_groups}], the number of groups, got {n_closest!r}. "
                "Ask for fewer."
            )
        table = self.metric.read(X)
        return closest(self.metric, table, self.centers, int(n_closest))
