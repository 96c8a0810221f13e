"""What a published node or rule reveals about the records it captured, and the predictions that follow from it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, TypeAlias
from typing import Literal as OneOfTexts

import numpy as np

from glassine.domain import Literal
from glassine.domain.attributes import Scalar, is_whole
from glassine.domain.literals import all_of, attributes_of, without_closed
from glassine.errors import InvalidModelError, parameter
from glassine.models.guarantee import Guarantee
from glassine.records.arrays import AnyArray, Array, Indices

PROBABILITY_TOLERANCE = 1e-5
"""How far published probabilities may be from adding up to one: they may be rounded."""


SizeOrigin: TypeAlias = OneOfTexts["stored", "derived", "stated"]
"""Where the sizes of a model come from: ``stored`` counts of rows, ``derived`` from sums of weights, which are counts
only if no weights were used, or ``stated`` by the author of a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is published about the training records that a node or a rule captured; None where nothing is.

    Attributes
    ----------
    counts : tuple of int or None
        Number of records of each class.
    total : int or None
        Number of records.
    label : int or None
        Index of the predicted class.
    error_rate : float or None
        Share of the records, in [0, 1], that are not of the predicted class, or have not the predicted value.
    value : float or None
        Predicted mean of a regression.
    probabilities : tuple of float or None
        Probability of each class, where it is published besides the counts: what a private learner makes of all that
        it released.
    weighted : bool
        Whether shares of classes are published by weight, so that those of the records are not known.

    Raises
    ------
    InvalidModelError
        If a count is negative or not whole, or the parts contradict each other.

    Examples
    --------
    >>> Evidence(counts=(3, 1)).size
    4
    """

    counts: tuple[int, ...] | None = None
    total: int | None = None
    label: int | None = None
    error_rate: float | None = None
    value: float | None = None
    probabilities: tuple[float, ...] | None = None
    weighted: bool = False

    def __post_init__(self) -> None:
        whole = () if self.counts is None else tuple(self.counts)
        for count in whole if self.total is None else (*whole, self.total):
            if not is_whole(count) or not count >= 0:
                raise InvalidModelError(f"{parameter('counts')} must be whole numbers of at least 0, got {count!r}.")
        if self.total is not None:
            object.__setattr__(self, "total", int(self.total))
        if self.counts is not None:
            object.__setattr__(self, "counts", tuple(map(int, self.counts)))
            if self.total is not None and sum(self.counts) != self.total:
                raise InvalidModelError(
                    f"class counts must add up to the total, got {list(self.counts)} and {self.total}.",
                    remedy="Mend either.",
                )
        if self.label is not None and not (is_whole(self.label) and self.label >= 0):
            raise InvalidModelError(f"a label must be the index of a class, got {self.label!r}.")
        if self.error_rate is not None and not 0 <= self.error_rate <= 1:
            raise InvalidModelError(f"an error rate must lie in [0, 1], got {self.error_rate!r}.")
        if self.value is not None and not math.isfinite(self.value):
            raise InvalidModelError(f"a predicted value must be finite, got {self.value!r}.")
        if self.probabilities is not None:
            object.__setattr__(self, "probabilities", tuple(float(share) for share in self.probabilities))
            if not all(0 <= share <= 1 for share in self.probabilities) or not (
                abs(math.fsum(self.probabilities) - 1) <= PROBABILITY_TOLERANCE
            ):
                raise InvalidModelError(
                    f"{parameter('probabilities')} must lie in [0, 1] and add up to 1, got {list(self.probabilities)}."
                )

    @property
    def size(self) -> int | None:
        """Number of records captured, if published."""
        return sum(self.counts) if self.counts is not None else self.total

    def purity(self, n_classes: int | None) -> tuple[float, float] | None:
        """Return bounds on the largest share of one class; None if nothing reveals it.

        The bounds are equal if the share is known.
        Of an error rate e over k classes the largest share is 1 - e, or that of another class: from e / (k - 1) to e.
        """
        if self.counts is not None:
            share = max(self.counts) / sum(self.counts) if sum(self.counts) else None
            return None if share is None else (share, share)
        if self.error_rate is None or self.size == 0:
            return None
        right, wrong = 1 - self.error_rate, self.error_rate
        if n_classes is None:
            return (right, 1.0)
        return (max(right, wrong / (n_classes - 1)), max(right, wrong)) if n_classes > 1 else (1.0, 1.0)

    def shares(self, n_classes: int | None) -> tuple[float, ...] | None:
        """Return the share of each class; None if nothing, or no record, reveals it.

        Published probabilities come before counts. Of two classes, the error rate of the predicted one determines both.
        """
        if self.probabilities is not None:
            return self.probabilities
        if self.counts is not None:
            total = sum(self.counts)
            return tuple(count / total for count in self.counts) if total else None
        if n_classes == 2 and self.label is not None and self.error_rate is not None and self.size != 0:
            return tuple(self.error_rate if i != self.label else 1 - self.error_rate for i in range(2))
        return None

    @property
    def prediction(self) -> int | None:
        """Index of the predicted class: the label, else the first of the largest counts."""
        if self.label is not None or self.counts is None:
            return self.label
        return self.counts.index(max(self.counts))


@dataclass(frozen=True, slots=True)
class Cell:
    """A leaf or a rule: the condition under which it captures a record, and the evidence.

    Attributes
    ----------
    inside : tuple of Literal
        Conjunction that a captured record satisfies.
    outside : tuple of tuple of Literal
        Conjunctions that it does not satisfy: the antecedents of earlier rules.
    evidence : Evidence
        What is published about the captured records.
    node : int
        Index of the leaf's node, or of the rule.
    """

    inside: tuple[Literal, ...]
    outside: tuple[tuple[Literal, ...], ...]
    evidence: Evidence
    node: int

    def __str__(self) -> str:
        text = all_of(str(literal) for literal in without_closed(self.inside))
        return text or ("otherwise" if self.outside else "every record")


def class_array(classes: Sequence[Scalar]) -> AnyArray:
    """Return classes as an array of one type; of objects where they are mixed."""
    if len({type(value) for value in classes}) <= 1:
        return np.array(classes)
    out = np.empty(len(classes), dtype=object)
    out[:] = classes
    return out


def are_exact(approximate: bool, guarantee: Guarantee | None) -> bool:
    """Return whether the counts of such a model are those of the records."""
    return not approximate and (guarantee is None or guarantee.count_scale is None)


def check_guarantee(guarantee: object) -> None:
    """Raise InvalidModelError if a model's guarantee is of another kind."""
    if guarantee is not None and not isinstance(guarantee, Guarantee):
        raise InvalidModelError(f"a model's guarantee must be a Guarantee or None, got {guarantee!r}.")


def check_classes(classes: tuple[Scalar, ...] | None, evidence: Sequence[Evidence], what: str) -> None:
    """Raise InvalidModelError if evidence does not fit the classes."""
    if classes is not None:
        if not classes:
            raise InvalidModelError(
                f"a {what} needs at least one class, got none.", remedy="Give None for a regression."
            )
        if len(set(classes)) < len(classes):
            raise InvalidModelError(f"the classes of a {what} must differ, got {list(classes)}.")
    # Of thousands of leaves, many share what they say: the first of them is named.
    for i, entry in {id(entry): (i, entry) for i, entry in reversed([*enumerate(evidence)])}.values():
        of_classes = (entry.counts, entry.label, entry.probabilities)
        if classes is None and any(part is not None for part in of_classes):
            raise InvalidModelError(
                f"{what} part {i} has class counts, probabilities or a label, but the model names no classes."
            )
        if classes is not None and entry.counts is not None and len(entry.counts) != len(classes):
            raise InvalidModelError(
                f"{what} part {i} has {len(entry.counts)} class counts, but the model has {len(classes)} classes."
            )
        if classes is not None and entry.probabilities is not None and len(entry.probabilities) != len(classes):
            raise InvalidModelError(
                f"{what} part {i} has {len(entry.probabilities)} probabilities, but the model has {len(classes)} "
                "classes."
            )
        if classes is not None and entry.label is not None and not entry.label < len(classes):
            raise InvalidModelError(
                f"{what} part {i} predicts class number {entry.label}, but the model has {len(classes)} classes."
            )


SMOOTHING = 1.0
"""Records of each class that are added to noisy counts, so that noise alone makes no class impossible."""


def cell_probabilities(model: Model) -> tuple[tuple[float, ...] | None, ...]:
    """Return each class probability in each cell of a model; None if not revealed.

    Probabilities that are published themselves are taken as they are. Exact counts give their shares. Noisy counts get
    one record of each class more. Where another class has a larger count than the published label, as noise can make
    it, the nearest counts are taken, in squares, of which none exceeds that of the label: the label is always a most
    probable class, and the first of them.

    Raises
    ------
    InvalidModelError
        If the model is a regression.
    """
    if model.classes is None:
        raise InvalidModelError("a regression has no probabilities of classes.", remedy="Use its predictions.")
    smoothing = SMOOTHING if _is_noisy(model) else 0.0
    return tuple(_probabilities(cell.evidence, len(model.classes), smoothing) for cell in model.cells)


def cell_labels(model: Model) -> Indices:
    """Return the index of the class that each cell predicts, shape (cells,); -1 where it publishes none."""
    labels = [cell.evidence.prediction for cell in model.cells]
    return np.array([-1 if label is None else label for label in labels], dtype=np.intp)


def cell_shares(model: Model) -> Array:
    """Return :func:`cell_probabilities` as an array, shape (cells, classes), NaN where they are not revealed."""
    rows = [shares or (math.nan,) * len(model.classes or ()) for shares in cell_probabilities(model)]
    return np.array(rows)


class Model(ABC):
    """A published tree or rule list, as its reader sees it: it predicts by the cell that captures a record.

    Methods take the records as :func:`glassine.models.records.read_records` does: a data frame, arrays by name, an
    array of shape (n, d), a table.

    Attributes
    ----------
    attributes : tuple of str
        Names of the attributes that the model was given, in order.
    classes : tuple of scalars or None
        Names of the classes; None for a regression.
    source : str
        Where the model came from.
    approximate : bool
        Whether the counts were rounded before publication.
    guarantee : Guarantee or None
        The differential privacy that the publisher claims.
    sizes : {"stored", "derived", "stated"}
        Where numbers of records and class counts come from.
    """

    attributes: tuple[str, ...]
    classes: tuple[Scalar, ...] | None
    source: str
    approximate: bool
    guarantee: Guarantee | None
    sizes: SizeOrigin

    @property
    def counts_are_exact(self) -> bool:
        """Whether counts, where published, are those of the records: neither rounded nor noisy."""
        return are_exact(self.approximate, self.guarantee)

    @property
    @abstractmethod
    def cells(self) -> tuple[Cell, ...]:
        """The leaves or rules, in order; they partition the records."""

    @property
    @abstractmethod
    def literals(self) -> tuple[Literal, ...]:
        """Every literal of the model, each once."""

    @cached_property
    def tested(self) -> tuple[str, ...]:
        """The attributes that its literals speak of, each once, in order of first use."""
        return attributes_of(self.literals)

    @abstractmethod
    def apply(self, data: object) -> Indices:
        """Return for each record the index of its cell among :attr:`cells`, shape (n,).

        Parameters
        ----------
        data : data frame, mapping of str to ndarray of shape (n,), Table, Columns, or ndarray of shape (n, d)
            The records; see :func:`glassine.models.records.read_records`.

        Raises
        ------
        InvalidDataError
            If a tested attribute is absent, or, of a tree, a record satisfies no branch of a split.
        """

    def predict(self, data: object) -> AnyArray:
        """Return the predicted class or value of each record, shape (n,); None where its cell publishes neither.

        Parameters
        ----------
        data : data frame, mapping of str to ndarray of shape (n,), Table, or ndarray of shape (n, d)
            The records; columns that the model does not test are ignored.
        """
        if self.classes is None:
            values = [cell.evidence.value for cell in self.cells]
            table = np.array(values, dtype=object if None in values else np.float64)
        else:
            labels = cell_labels(self)
            names = class_array(self.classes)
            if (labels < 0).any():
                names = np.array([*self.classes, None], dtype=object)
            table = names[labels]
        return np.asarray(table[self.apply(data)])

    def predict_proba(self, data: object) -> Array:
        """Return the probability of each class for each record, shape (n, classes); NaN where it is not published.

        It follows from the published counts; see :func:`cell_probabilities`.

        Parameters
        ----------
        data : data frame, mapping of str to ndarray of shape (n,), Table, or ndarray of shape (n, d)
            As for :meth:`predict`.
        """
        return np.asarray(cell_shares(self)[self.apply(data)])

    def to_frame(self, *, audience: str = "checker", suppress_below: int = 10, backend: object = "polars") -> Any:
        """Return the model as a data frame, one row a leaf or rule; see :func:`glassine.models.table.to_frame`."""
        table: Any = import_module("glassine.models.table")  # It knows every kind of model
        return table.to_frame(self, audience=audience, suppress_below=suppress_below, backend=backend)

    def __repr__(self) -> str:
        return f"<{self}>"


def _is_noisy(model: Model) -> bool:
    guarantee = getattr(model, "guarantee", None)
    return guarantee is not None and guarantee.count_scale is not None


def _probabilities(published: Evidence, n_classes: int, smoothing: float) -> tuple[float, ...] | None:
    if published.counts is None or published.probabilities is not None:
        return published.shares(n_classes)
    counts = np.array(published.counts, dtype=float) + smoothing
    if not counts.any():
        return None
    if published.label is not None and int(counts.argmax()) != published.label:
        counts = with_mode(counts, published.label)
    total = math.fsum(counts)
    return tuple(float(count) / total for count in counts)


def with_mode(counts: Array, mode: int) -> Array:
    """Return the nearest counts, in squares, of which none exceeds that of the mode, which wins ties."""
    pool, level = [mode], float(counts[mode])
    for other in np.argsort(-counts, kind="stable"):
        if other != mode and counts[other] > level:
            pool.append(int(other))
            level = float(counts[pool].mean())
    out = counts.copy()
    out[pool] = level
    out[mode] = level * (1 + 1e-9)
    return out
