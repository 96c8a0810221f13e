"""Terms of additive models, as plain values: the scores of the bins of one attribute or of two, and their edits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np

from glassine.domain import Category, Domain
from glassine.domain.attributes import is_whole
from glassine.errors import InvalidModelError, parameter
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.records.arrays import Array

# What an edit does to a row of scores: plain arithmetic, in an order that every implementation can follow.
#
# The editor page repeats these functions step by step, so that it comes to the same doubles.


FLOOR = 1.0
"""Weight in records that a bin has at least. Noisy counts may be zero or negative, which no weight can be."""


def floored(weights: Sequence[float]) -> list[float]:
    """Return weights of at least :data:`FLOOR`."""
    return [weight if weight > FLOOR else FLOOR for weight in weights]


def weighted_mean(scores: Sequence[float], weights: Sequence[float]) -> float:
    """Return the mean of scores, weights floored."""
    total = mass = 0.0
    for score, weight in zip(scores, floored(weights), strict=True):
        total += weight * score
        mass += weight
    return total / mass


def smoothed(scores: Sequence[float], weights: Sequence[float], strength: float) -> list[float]:
    """Return each score moved by ``strength`` of the way to the weighted mean of itself and its neighbours.

    Shapes: ``scores``, ``weights`` (n,).

    Examples
    --------
    >>> smoothed([0.0, 3.0, 0.0], [1, 1, 1], 1.0)
    [1.5, 1.0, 1.5]
    """
    mass = floored(weights)
    out = []
    for i, score in enumerate(scores):
        near = slice(max(i - 1, 0), i + 2)
        mean = weighted_mean(scores[near], mass[near])
        out.append(score + strength * (mean - score))
    return out


def isotonic(scores: Sequence[float], weights: Sequence[float], *, increasing: bool = True) -> list[float]:
    """Return the scores in order that are nearest in weighted squares (pool adjacent violators).

    Shapes: ``scores``, ``weights`` (n,).

    References
    ----------
    Barlow, Bartholomew, Bremner and Brunk, Statistical Inference under Order Restrictions, 1972, chapter 1.

    Examples
    --------
    >>> isotonic([1.0, 4.0, 2.0, 6.0], [1, 1, 3, 1])
    [1.0, 2.5, 2.5, 6.0]
    """
    if not increasing:
        return [-score for score in isotonic([-score for score in scores], weights)]
    blocks: list[tuple[float, float, int]] = []
    for score, weight in zip(scores, floored(weights), strict=True):
        mean, mass, size = score, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, share, count = blocks.pop()
            mean = (share * before + mass * mean) / (share + mass)
            mass, size = share + mass, count + size
        blocks.append((mean, mass, size))
    return [mean for mean, _, size in blocks for _ in range(size)]


ACTIONS = ("set", "shift", "smooth", "flatten", "monotone", "zero")
"""What an edit can be."""

LARGEST_SCORE = 1e300
"""Largest size of a score, an error or a weight."""

Parameter: TypeAlias = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change of a term's scores, with all that is needed to take it back and to make it again.

    Parameters
    ----------
    number : int
        Place in the model's log, from 1.
    action : {"set", "shift", "smooth", "flatten", "monotone", "zero"}
        What was done.
    term : str
        Name of the term.
    parameters : tuple of (str, str or number)
        With what: names and values, in order.
    cells : tuple of int
        The scores that changed, as indices into the flattened ``scores`` of the term, increasing.
    before, after : tuple of float
        Their values before and after.
    reason : str, default=""
        Why, in the words of who did it.

    Raises
    ------
    InvalidModelError
        If a part is of the wrong kind, or the three lists differ in length.

    Examples
    --------
    >>> edit = Edit(number=1, action="set", term="age", cells=(2,), before=(0.4,), after=(0.1,), reason="few records")
    >>> str(edit)
    '1. set age: 1 score (few records)'
    """

    number: int
    action: str
    term: str
    parameters: tuple[tuple[str, Parameter], ...] = ()
    cells: tuple[int, ...] = ()
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    reason: str = ""

    def __post_init__(self) -> None:
        if not is_whole(self.number) or not self.number >= 1:
            raise InvalidModelError(f"{parameter('edits')} are numbered from 1, got {self.number!r}.")
        what = f"edit {self.number}"
        if self.action not in ACTIONS:
            raise InvalidModelError(f"{what} must be one of {', '.join(ACTIONS)}, got {self.action!r}.")
        for name in ("term", "reason"):
            if not isinstance(getattr(self, name), str):
                raise InvalidModelError(f"the {name} of {what} must be a text, got {getattr(self, name)!r}.")
        object.__setattr__(self, "parameters", _parameters(self.parameters, what))
        cells = tuple(self.cells)
        if not all(is_whole(cell) and cell >= 0 for cell in cells) or list(cells) != sorted(set(cells)):
            raise InvalidModelError(f"the cells of {what} must be increasing whole numbers of at least 0.")
        object.__setattr__(self, "cells", tuple(int(cell) for cell in cells))
        for name in ("before", "after"):
            object.__setattr__(self, name, _scores(getattr(self, name), f"the scores {name} {what}"))
            if len(getattr(self, name)) != len(cells):
                raise InvalidModelError(f"{what} needs one score {name} for each of its {len(cells)} cells.")

    @property
    def text(self) -> str:
        """What was done and with what, on one line."""
        listed = ", ".join(f"{name} {value}" for name, value in self.parameters)
        return f"{self.action} {self.term}{f', {listed}' if listed else ''}"

    def __str__(self) -> str:
        count = f"{len(self.cells)} score{'' if len(self.cells) == 1 else 's'}"
        return f"{self.number}. {self.text}: {count}{f' ({self.reason})' if self.reason else ''}"


def _parameters(pairs: Any, what: str) -> tuple[tuple[str, Parameter], ...]:
    out = []
    for entry in pairs:
        if not isinstance(entry, tuple | list) or len(entry) != 2 or not isinstance(entry[0], str):
            raise InvalidModelError(f"the parameters of {what} must be pairs of a name and a value, got {entry!r}.")
        name, value = entry
        if isinstance(value, bool) or not (
            isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= LARGEST_SCORE)
        ):
            raise InvalidModelError(f"parameter {name!r} of {what} must be a text or a finite number, got {value!r}.")
        out.append((name, value))
    if len(dict(out)) < len(out):
        raise InvalidModelError(f"{what} names a parameter twice.", remedy="Name each once.")
    return tuple(out)


def _scores(values: Iterable[Any], what: str) -> tuple[float, ...]:
    out = []
    for value in values:
        plain = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
        if not abs(plain) <= LARGEST_SCORE:
            raise InvalidModelError(f"{what} must be finite numbers, got {value!r}.")
        out.append(plain + 0.0)
    return tuple(out)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Term:
    """A shape function: the score that each bin of one attribute, or each cell of two, adds.

    Parameters
    ----------
    bins : tuple of one or two NumericBins or CategoryBins
        The bins of the one attribute, or of the two.
    scores : array-like, shape (bins, outputs) or (bins, bins of the second, outputs)
        What is added; the last axis may be left out where there is one output. Finite.
    errors : array-like of the same shape, optional
        Standard deviation of the noise that the released score carries. Bands are drawn from it. An edit leaves it
        alone: it belongs to the score as released.
    weights : array-like, shape (bins,) or (bins, bins of the second), optional
        Number of training records in each bin, as published. With noise it may be negative.
    name : str, optional
        By default the attribute, or both joined by an ampersand.

    Attributes
    ----------
    n_outputs : int
        Scores per bin.

    Raises
    ------
    InvalidModelError
        If the shapes do not fit the bins, or a number is not finite.

    Examples
    --------
    >>> term = Term(bins=(NumericBins("age", (40,)),), scores=[-0.5, 0.5, 0.0], weights=[60, 40, 0])
    >>> term, term.scores.shape
    (<term age of 3 bins>, (3, 1))
    """

    bins: tuple[Bins, ...]
    scores: Array
    errors: Array | None = None
    weights: Array | None = None
    name: str = ""

    def __post_init__(self) -> None:
        listed: object = self.bins
        bins = tuple(listed) if isinstance(listed, Iterable) else ()
        if len(bins) not in (1, 2) or not all(isinstance(entry, NumericBins | CategoryBins) for entry in bins):
            raise InvalidModelError(f"a term needs the bins of one attribute or of two, got {listed!r}.")
        object.__setattr__(self, "bins", bins)
        if len({entry.attribute for entry in bins}) < len(bins):
            raise InvalidModelError(f"a term needs two different attributes, got {bins[0].attribute!r} twice.")
        if not isinstance(self.name, str):
            raise InvalidModelError(f"a term's name must be a text, got {self.name!r}.")
        object.__setattr__(self, "name", self.name or " & ".join(entry.attribute for entry in bins))
        shape = self.shape
        scores = self._by_output(self.scores, "scores")
        if scores.shape[:-1] != shape or not scores.shape[-1]:
            raise InvalidModelError(
                f"the scores of term {self.name!r} must have shape {shape} for one output, or {(*shape, 'outputs')}, "
                f"got {np.shape(self.scores)}; the last bin is for missing values."
            )
        object.__setattr__(self, "scores", frozen(scores))
        if self.errors is not None:
            errors = self._by_output(self.errors, "errors")
            if errors.shape != scores.shape or not (errors >= 0).all():
                raise InvalidModelError(
                    f"the errors of term {self.name!r} must be at least 0 and have the shape of its scores, "
                    f"{scores.shape}, got {errors.shape}."
                )
            object.__setattr__(self, "errors", frozen(errors))
        if self.weights is not None:
            weights = finite_array(self.weights, f"the weights of term {self.name!r}")
            if weights.shape != shape:
                raise InvalidModelError(
                    f"the weights of term {self.name!r} must have shape {shape}, got {weights.shape}."
                )
            object.__setattr__(self, "weights", frozen(weights))

    def _by_output(self, values: object, what: str) -> Array:
        """Return numbers of bins and outputs, which lack the last axis where there is one output."""
        array = finite_array(values, f"the {what} of term {self.name!r}")
        return array[..., None] if array.ndim == len(self.shape) else array

    @property
    def attributes(self) -> tuple[str, ...]:
        """The one attribute, or the two."""
        return tuple(entry.attribute for entry in self.bins)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of bins of each attribute."""
        return tuple(entry.n_bins for entry in self.bins)

    @property
    def labels(self) -> tuple[str, ...]:
        """Text for each bin, or for each cell of a pair in row-major order."""
        if len(self.bins) == 1:
            return self.bins[0].labels
        return tuple(f"{left} & {right}" for left in self.bins[0].labels for right in self.bins[1].labels)

    @property
    def n_outputs(self) -> int:
        """Scores per bin."""
        return int(self.scores.shape[-1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Term):
            return NotImplemented
        return (self.bins, self.name) == (other.bins, other.name) and all(
            _same(getattr(self, name), getattr(other, name)) for name in ("scores", "errors", "weights")
        )

    def __hash__(self) -> int:
        return hash((self.bins, self.name, self.scores.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that a copy is checked and its arrays are read-only again.
        return _rebuilt, (Term, {field.name: getattr(self, field.name) for field in fields(self)})

    def __repr__(self) -> str:
        size = " x ".join(str(count) for count in self.shape)
        return f"<term {self.name} of {size} {'bins' if len(self.bins) == 1 else 'cells'}>"


def _rebuilt(kind: type[Term], parts: dict[str, Any]) -> Term:
    return kind(**parts)


def _same(left: Array | None, right: Array | None) -> bool:
    return left is right if left is None or right is None else np.array_equal(left, right)


def finite_array(values: object, what: str) -> Array:
    """Return numbers as a new array of doubles without -0.0, or raise InvalidModelError."""
    try:
        array = np.array(values)
        if array.dtype.kind not in "fiu":
            raise TypeError
        array = array.astype(np.float64) + 0.0
    except (TypeError, ValueError, OverflowError):
        raise InvalidModelError(f"{what} must be numbers in lists of one length.") from None
    if not (np.abs(array) <= LARGEST_SCORE).all():
        raise InvalidModelError(f"{what} must be finite numbers of at most 1e300 in size. NaN and infinity are none.")
    return array


def frozen(array: Array) -> Array:
    """Return an array that cannot be made writable again: it holds its own bytes."""
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=np.float64).reshape(array.shape)


def in_domain_order(terms: Iterable[Term], domain: Domain) -> tuple[Term, ...]:
    """Return terms whose groups of categories stand in the order of a domain's values; those it does not list, last.

    Examples
    --------
    >>> from glassine.domain import Category
    >>> month = Term(bins=(CategoryBins("month", (("feb",), ("jan",))),), scores=np.array([2.0, 1.0, 0.0]))
    >>> (ordered,) = in_domain_order([month], Domain({"month": Category(("jan", "feb", "mar"))}))
    >>> ordered.labels, ordered.scores[:, 0].tolist()
    (('jan', 'feb', 'missing or other'), [1.0, 2.0, 0.0])
    """
    return tuple(_ordered(term, domain) for term in terms)


def _ordered(term: Term, domain: Domain) -> Term:
    for axis, bins in enumerate(term.bins):
        if not isinstance(bins, CategoryBins) or bins.attribute not in domain:
            continue
        attribute = domain[bins.attribute]
        if not isinstance(attribute, Category):
            continue
        places = {str(value): place for place, value in enumerate(attribute.values)}
        # A group stands where the first of its values does; missing values, and what is not declared, come last.
        first = [min((places.get(str(value), len(places)) for value in group), default=0) for group in bins.groups]
        order = sorted(range(len(first)), key=first.__getitem__)
        if order == list(range(len(first))):
            continue
        index = [*order, *range(len(first), term.scores.shape[axis])]
        groups = replace(bins, groups=tuple(bins.groups[i] for i in order))
        term = replace(
            term,
            bins=tuple(groups if i == axis else one for i, one in enumerate(term.bins)),
            scores=np.take(term.scores, index, axis=axis),
            errors=None if term.errors is None else np.take(term.errors, index, axis=axis),
            weights=None if term.weights is None else np.take(term.weights, index, axis=axis),
        )
    return term
