"""What is fixed in public before a record is opened: the description of the records, and the plan of a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.privacy.release import Paid, Price
from glassine.privacy.unit import RECORD, PrivacyUnit
from glassine.records.arrays import AnyArray


class Loads(Protocol):
    """What a fit may ask, or work with, whose kernels are known beforehand."""

    def load(self) -> None:
        """Load or compile the kernels."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetColumn:
    """What is public of a target before it is opened: its name and its type."""

    name: str  # Empty without one
    named: bool  # Whether it is a column of the records
    booleans: bool  # Whether its type holds truth values alone
    empty: AnyArray | None  # No value, in the type of an array; None of what has no type, or is a column of the records
    counted: bool  # Whether the records are a table of counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What is publicly known of the records of a fit, from their schema and the parameters alone."""

    domain: Domain  # The attributes, without the target and the column of persons
    classes: tuple[Scalar, ...] = ()  # The public classes; none where the target is a number
    target_range: tuple[float, float] | None = None  # The public range of a number
    target: str = ""  # Name of the target, if it has one
    caveats: tuple[str, ...] = ()  # What was taken from the records although it should be public
    unit: PrivacyUnit = RECORD  # Whose data a private fit covers
    weights: Mapping[str, str] = field(default_factory=dict)  # What a certificate says of the weights of persons
    # Fitted attributes by which scikit-learn knows the columns.
    features: Mapping[str, Any] = field(default_factory=dict)
    n_records: int | None = None  # Known only where nothing is guaranteed


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A private fit that is planned whole: what can be refused was refused, and no record is open yet.

    Attributes
    ----------
    price : Price
        What a ledger is charged, or what is counted without one.
    caveats : tuple of str
        What the guarantee does not cover, but for a seed and for what the payment voids.
    learn : callable
        From the opened records and the payment to the fitted attributes by name. :func:`asking` makes it of a function
        of an oracle, which sees public values and released answers alone.
    queries : tuple
        What it may ask, each as large as it can be: kernels follow from them.
    check : callable
        Called without arguments before the charge: raises what stating the guarantee would raise.
    """

    price: Price
    caveats: tuple[str, ...]
    learn: Callable[[Any, Paid], Any]
    queries: tuple[Loads, ...] = ()
    check: Callable[[], object]

    def load(self) -> None:
        """Load or compile the kernels of the queries: which ones follows from public sizes."""
        for query in self.queries:
            query.load()
