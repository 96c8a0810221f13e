"""What each of several models tells of the records that they share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain import Domain
from glassine.domain.attributes import Scalar, is_whole
from glassine.errors import InvalidDomainError, InvalidParameterError, UndefinedMeasureError
from glassine.models import DecisionTree, RuleList
from glassine.models.forest import Forest

__all__ = ["ClashError", "LeftOut", "Published", "Whole", "check_arguments", "read_models", "tell_classes"]

Whole: TypeAlias = npt.NDArray[np.int64]


MOST_RECORDS = 2**31
"""Flows are whole numbers of 32 bits."""


class ClashError(Exception):
    """The counts of the models contradict one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A model whose counts tell nothing exact.

    Attributes
    ----------
    name : str
        The model.
    reason : str
        Why its counts do not constrain the records.
    """

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Published:
    """A model and its counts.

    Attributes
    ----------
    name : str
        What it is called.
    model : DecisionTree or RuleList
        The model.
    counts : ndarray of int64, shape (cells, classes), or (cells, 1) where it tells sizes alone
        The counts of its leaves or rules.
    classes : tuple of scalars or None
        The classes of the columns; None where it tells sizes alone.
    """

    name: str
    model: DecisionTree | RuleList
    counts: Whole
    classes: tuple[Scalar, ...] | None

    @property
    def sizes(self) -> Whole:
        """Number of records of each leaf or rule."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.counts.sum())


def check_arguments(domain: Any, time_limit: Any, limits: Mapping[str, Any]) -> None:
    """Check the domain, a time in seconds, and limits by name.

    Raises
    ------
    InvalidDomainError, InvalidParameterError
        If the domain is none, the time is not positive and finite, or a limit is no positive whole number.
    """
    if not isinstance(domain, Domain):
        raise InvalidDomainError(
            f"domain must be a Domain, got {type(domain).__name__}. Read one with Domain.from_json."
        )
    for name, value in limits.items():
        if not is_whole(value) or not value > 0:
            raise InvalidParameterError(f"{name} must be a positive whole number, got {value!r}.")
    number = isinstance(time_limit, int | float | np.integer | np.floating) and not isinstance(time_limit, bool)
    if not number or not 0 < float(time_limit) < math.inf:
        raise InvalidParameterError(
            f"time_limit must be a finite positive number of seconds, got {time_limit!r}. Use 60."
        )


def read_models(
    models: Sequence[Any], domain: Domain, names: Sequence[str] | None
) -> tuple[list[Published], list[LeftOut]]:
    """Return the models that tell exact counts, forests tree by tree, and those that do not.

    Raises
    ------
    UndefinedMeasureError
        If no model tells exact counts, or a forest's trees drew records of their own.
    InvalidParameterError
        If there is no model, or another number of names.
    """
    if isinstance(models, str | bytes | DecisionTree | RuleList) or not isinstance(models, Sequence):
        raise InvalidParameterError(f"models must be a sequence of models, got {type(models).__name__}. Put it in [ ].")
    if not models:
        raise InvalidParameterError("models must name at least one model, got none.")
    if names is not None and (isinstance(names, str) or len(names) != len(models)):
        raise InvalidParameterError(f"names must hold one name for each of the {len(models)} models, got {names!r}.")
    silent: list[LeftOut] = []
    exact: list[tuple[str, DecisionTree | RuleList]] = []
    for place, given in enumerate(models):
        name = f"model {place + 1}" if names is None else str(names[place])
        for label, model in _members(given, domain, name):
            reason = _silent(model)
            if reason is None:
                exact.append((label, model))
            else:
                silent.append(LeftOut(name=label, reason=reason))
    if not exact:
        raise UndefinedMeasureError(f"no model tells exact counts: {silent[0].name} {silent[0].reason}")
    for label, model in exact:
        # Before the counts are put into arrays, where they could overflow.
        if sum(cell.evidence.size or 0 for cell in model.cells) >= MOST_RECORDS:
            raise UndefinedMeasureError(
                f"{label} tells of {MOST_RECORDS:,} records or more, too many to be put together with others."
            )
    return [_published(label, model) for label, model in exact], silent


def _members(given: Any, domain: Domain, name: str) -> list[tuple[str, DecisionTree | RuleList]]:
    from glassine.models.formats import as_model
    from glassine.models.formats.conditions import check_domain
    from glassine.models.formats.scikit_forest import forest_from_sklearn, is_sklearn_forest

    forest = given if isinstance(given, Forest) else None
    if forest is None and is_sklearn_forest(given):
        forest = forest_from_sklearn(given, domain, use_seeds=False)
    if forest is None:
        return [(name, as_model(given, domain))]
    if forest.bootstrap:
        raise UndefinedMeasureError(
            f"the trees of {name} drew records with replacement, each its own: their counts are not of the same "
            "records. Rebuild its rows instead, with reconstruct_rows."
        )
    for tree in forest.trees:
        check_domain(tree, domain)
    if len(forest.trees) == 1:
        return [(name, forest.trees[0])]
    return [(f"{name}, tree {i}", tree) for i, tree in enumerate(forest.trees, start=1)]


def _silent(model: DecisionTree | RuleList) -> str | None:
    """Return why a model's counts constrain nothing."""
    if not model.counts_are_exact:
        return (
            "carries noise in its counts, or they were rounded: they are evidence about the records, not constraints. "
            "Look at what its guarantee implies."
        )
    if any(cell.evidence.size is None for cell in model.cells):
        return "does not publish how many records each of its parts captured."
    if not sum(cell.evidence.size or 0 for cell in model.cells):
        return "tells of no record: its counts are all zero."
    return None


def _published(name: str, model: DecisionTree | RuleList) -> Published:
    counts = [cell.evidence.counts for cell in model.cells]
    if model.classes is not None and all(entry is not None for entry in counts):
        return Published(name=name, model=model, counts=np.array(counts, dtype=np.int64), classes=model.classes)
    sizes = [[cell.evidence.size or 0] for cell in model.cells]
    return Published(name=name, model=model, counts=np.array(sizes, dtype=np.int64), classes=None)


def tell_classes(told: Sequence[Published], same_labels: bool) -> tuple[list[Published], tuple[Scalar, ...] | None]:
    """Return the models with their classes in one order, and the classes that hold records; None where none is told.

    Raises
    ------
    ClashError
        If the models tell of different numbers of records, or of records of a class.
    InvalidParameterError
        If two models share no class, so that they hardly predict the same.
    """
    first = told[0]
    for other in told[1:]:
        if other.n_records != first.n_records:
            raise ClashError(f"{first.name} tells of {first.n_records:,} records, {other.name} of {other.n_records:,}.")
    if not same_labels:
        told = [Published(name=t.name, model=t.model, counts=t.sizes[:, None], classes=None) for t in told]
    telling = [t for t in told if t.classes is not None]
    if not telling:
        return list(told), None
    everything = list(dict.fromkeys(label for t in telling for label in t.classes or ()))
    totals = [_class_totals(t, everything) for t in telling]
    for t in telling[1:]:
        if not set(t.classes or ()) & set(telling[0].classes or ()):
            raise InvalidParameterError(
                f"{telling[0].name} and {t.name} share no class: {list(telling[0].classes or ())} and "
                f"{list(t.classes or ())}. If they predict different things, give same_labels=False; else rename the "
                "classes of one."
            )
    for t, row in zip(telling[1:], totals[1:], strict=True):
        if row != totals[0]:
            at = next(i for i, (a, b) in enumerate(zip(totals[0], row, strict=True)) if a != b)
            raise ClashError(
                f"{telling[0].name} tells of {totals[0][at]:,} records of class {everything[at]!r}, "
                f"{t.name} of {row[at]:,}. If they predict different things, give same_labels=False."
            )
    held = tuple(label for label, total in zip(everything, totals[0], strict=True) if total)
    return [t if t.classes is None else _in_order(t, held) for t in told], held


def _class_totals(told: Published, order: Sequence[Scalar]) -> list[int]:
    known = dict(zip(told.classes or (), told.counts.sum(axis=0).tolist(), strict=True))
    return [known.get(label, 0) for label in order]


def _in_order(told: Published, classes: tuple[Scalar, ...]) -> Published:
    """Return the model with columns for these classes, which hold all its records."""
    own = list(told.classes or ())
    columns = [own.index(label) for label in classes]
    return Published(name=told.name, model=told.model, counts=told.counts[:, columns], classes=classes)
