"""What each of several models reveals about the records that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine.data.record_table import NO_RECORDS, as_table
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.domain.literals import attributes_of
from glassine.errors import (
    InvalidDataError,
    InvalidModelError,
    InvalidParameterError,
    Text,
    UndefinedMeasureError,
    check_choice,
    parameter,
)
from glassine.formats import as_model, tree_or_rules
from glassine.formats.conditions import check_conditions
from glassine.formats.sklearn.forest import forest_from_sklearn, is_sklearn_forest
from glassine.models import DecisionTree, Evidence, Guarantee, RuleList
from glassine.models.records import counted_records
from glassine.models.transform import rewritten
from glassine.models.tree import Forest
from glassine.records.arrays import Ints

# Numbers of records that a model does not publish, counted in the training records.


class OtherRecordsError(InvalidDataError):
    """The data are not the records of the models."""


def parts_of(model: DecisionTree | RuleList, domain: Domain, data: object) -> Ints:
    """Return the part of each record, shape (n,), read by the domain; no record is refused."""
    recipe = {name: domain[name] for name in model.tested}
    records = counted_records(data if isinstance(data, dict) else as_table(data, domain.names), recipe)
    if not records.n_records:
        raise InvalidDataError(NO_RECORDS)
    return np.asarray(model.apply(records))


def with_sizes(name: str, model: DecisionTree | RuleList, domain: Domain, data: object) -> DecisionTree | RuleList:
    """Return a model with the number of records of each part; replace rounded counts."""
    sizes = np.bincount(parts_of(model, domain, data), minlength=len(model.cells)).tolist()
    exact = model.counts_are_exact
    evidence: dict[int, Evidence] = {}
    for part, (cell, size) in enumerate(zip(model.cells, sizes, strict=True), start=1):
        published = cell.evidence.size if exact else None
        if published not in (None, size):
            raise OtherRecordsError(
                f"the data hold {size:,} records in part {part} of {name}, which counts {published:,}.",
                remedy="Give the records on which all models were trained.",
            )
        evidence[cell.node] = cell.evidence if published is not None else _of_size(cell.evidence, size)

    def counted(place: int, own: Evidence) -> Evidence:
        return evidence.get(place, own if exact else _of_size(own, None))

    try:
        return replace(rewritten(model, evidence=counted), approximate=False, sizes="stored")
    except InvalidModelError as error:
        raise OtherRecordsError(
            f"the data do not have the counts of {name}: {error} Give the records on which all models were trained."
        ) from None


def _of_size(evidence: Evidence, size: int | None) -> Evidence:
    return replace(evidence, counts=None, total=size, label=evidence.prediction)


MOST_RECORDS = 2**31
"""Flows are whole numbers of 32 bits."""


class ClashError(Exception):
    """The counts of the models contradict one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A model whose counts give nothing exact.

    Attributes
    ----------
    name : str
        The model.
    reason : str
        Why its counts do not constrain the records.
    counts : {"none", "rounded", "noisy", "zero"}
        What it publishes in place of exact counts.
    guarantee : Guarantee or None
        The differential privacy that is claimed for it.
    """

    name: str
    reason: str
    counts: str = "none"
    guarantee: Guarantee | None = None

    @property
    def can_be_counted(self) -> bool:
        """Whether the data can reveal what it does not: of a model with a guarantee, this would undo what protects."""
        return self.guarantee is None and self.counts in ("none", "rounded")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedModel:
    """A model and its counts."""

    name: str  # What it is called
    model: DecisionTree | RuleList
    counts: Ints  # The counts of its leaves or rules; shape (cells, classes), or (cells, 1) where it has sizes alone
    classes: tuple[Scalar, ...] | None  # The classes of the columns; None where it has sizes alone

    @property
    def sizes(self) -> Ints:
        """Number of records of each leaf or rule."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadModels:
    """The models that are read."""

    exact: list[CountedModel]  # Those whose counts are put together
    left: list[LeftOut]  # Those that reveal nothing exact
    filled: tuple[str, ...] = ()  # Those of ``exact`` whose numbers of records were counted in the data

    @property
    def silence(self) -> str | None:
        """Why nothing can be put together; None where some model has exact counts."""
        if self.exact:
            return None
        alike: dict[str, list[str]] = {}
        for entry in self.left:
            alike.setdefault(entry.reason, []).append(entry.name)
        said = "no model has exact counts:"
        for reason, (first, *others) in alike.items():
            said += f" {first} {reason}" + (f" The same holds for {', '.join(others)}." if others else "")
        if any(entry.counts == "none" for entry in self.left):
            said += (
                " Without counts an attacker learns the regions and labels, but of no region how many records it holds."
            )
        if any(entry.can_be_counted for entry in self.left):
            said += f" To include an attacker who knows these numbers, use {parameter('the data and counts', 'data')}."
        return Text(said)


def counted_in(counts: object, data: object) -> object:
    """Return the data in which records are to be counted; None where published counts are to do."""
    check_choice(counts, "counts", ("published", "data"))
    if counts == "published":
        return None
    if data is None:
        raise InvalidParameterError(
            f"{parameter('counts', 'data')} needs data: the numbers are counted in the training records.",
            remedy=f"Pass {parameter('data=')}.",
        )
    return data


def attributes_tested(models: Sequence[Any], domain: Domain) -> tuple[str, ...]:
    """Return the attributes that models test; raise what reading them raises."""
    members = (model for entry in models for _, model in _members(entry, domain, ""))
    return attributes_of(literal for model in members for literal in model.literals)


def read_models(models: Sequence[Any], domain: Domain, names: Sequence[str] | None, data: object = None) -> ReadModels:
    """Return the models that reveal exact counts, forests tree by tree, and those that do not.

    Where ``data`` are given, numbers of records that a model without a guarantee does not publish, or rounds, are
    counted in them.
    """
    if isinstance(models, str | bytes | DecisionTree | RuleList) or not isinstance(models, Sequence):
        raise InvalidParameterError(
            f"{parameter('models')} must be a sequence of models, got {type(models).__name__}.", remedy="Put it in [ ]."
        )
    if not models:
        raise InvalidParameterError(f"{parameter('models')} must name at least one model, got none.")
    if names is not None and (isinstance(names, str) or len(names) != len(models)):
        raise InvalidParameterError(
            f"{parameter('names')} must hold one name for each of the {len(models)} models, got {names!r}."
        )
    silent: list[LeftOut] = []
    exact: list[tuple[str, DecisionTree | RuleList]] = []
    filled: list[str] = []
    for place, entry in enumerate(models):
        name = f"model {place + 1}" if names is None else str(names[place])
        for label, model in _members(entry, domain, name):
            left = _silent(label, model)
            if left is None:
                exact.append((label, model))
            elif data is not None and left.can_be_counted:
                exact.append((label, with_sizes(label, model, domain, data)))
                filled.append(label)
            else:
                silent.append(left)
    for label, model in exact:
        # Before the counts are put into arrays, where they could overflow.
        if sum(cell.evidence.size or 0 for cell in model.cells) >= MOST_RECORDS:
            raise UndefinedMeasureError(
                f"{label} counts {MOST_RECORDS:,} records or more, too many to be put together with others.",
                remedy="Reconstruct that model alone.",
            )
    return ReadModels(exact=[_published(label, model) for label, model in exact], left=silent, filled=tuple(filled))


def _members(model: object, domain: Domain, name: str) -> list[tuple[str, DecisionTree | RuleList]]:
    forest = model if isinstance(model, Forest) else None
    if forest is None and is_sklearn_forest(model):
        forest = forest_from_sklearn(model, domain, use_seeds=False)
    if forest is None:
        return [(name, tree_or_rules(as_model(model, domain)))]
    if forest.bootstrap:
        raise UndefinedMeasureError(
            f"the trees of {name} drew records with replacement, each its own: their counts are not of the same "
            "records.",
            remedy="Rebuild its rows instead, with reconstruct_records.",
        )
    for tree in forest.trees:
        check_conditions(tree, domain)
    if len(forest.trees) == 1:
        return [(name, forest.trees[0])]
    return [(f"{name}, tree {i}", tree) for i, tree in enumerate(forest.trees, start=1)]


def _silent(name: str, model: DecisionTree | RuleList) -> LeftOut | None:
    """Return why a model's counts constrain nothing; None where they do."""
    claim = model.guarantee
    bound = "" if claim is None else " Its guarantee, if it holds, limits what it reveals."
    if claim is not None and claim.count_scale is not None:
        counts, reason = "noisy", "carries noise in its counts: they are evidence about the records, not constraints."
    elif any(cell.evidence.size is None for cell in model.cells):
        counts, reason = "none", "does not publish how many records each of its parts captured."
    elif not model.counts_are_exact:
        counts, reason = "rounded", "publishes rounded counts: they are evidence about the records, not constraints."
    elif not sum(cell.evidence.size or 0 for cell in model.cells):
        counts, reason = "zero", "describes no record: its counts are all zero."
    else:
        return None
    return LeftOut(name=name, reason=reason + bound, counts=counts, guarantee=claim)


def _published(name: str, model: DecisionTree | RuleList) -> CountedModel:
    counts = [cell.evidence.counts for cell in model.cells]
    if model.classes is not None and all(entry is not None for entry in counts):
        return CountedModel(name=name, model=model, counts=np.array(counts, dtype=np.int64), classes=model.classes)
    sizes = [[cell.evidence.size or 0] for cell in model.cells]
    return CountedModel(name=name, model=model, counts=np.array(sizes, dtype=np.int64), classes=None)


def match_classes(
    published: Sequence[CountedModel], same_labels: bool
) -> tuple[list[CountedModel], tuple[Scalar, ...] | None]:
    """Return the models with classes in one order, and the classes that hold records."""
    # These are None where no model publishes classes.
    first = published[0]
    for other in published[1:]:
        if other.n_records != first.n_records:
            raise ClashError(
                f"{first.name} counts {first.n_records:,} records, {other.name} counts {other.n_records:,}."
            )
    if not same_labels:
        published = [CountedModel(name=t.name, model=t.model, counts=t.sizes[:, None], classes=None) for t in published]
    labelled = [t for t in published if t.classes is not None]
    if not labelled:
        return list(published), None
    everything = list(dict.fromkeys(label for t in labelled for label in t.classes or ()))
    totals = [_class_totals(t, everything) for t in labelled]
    for t in labelled[1:]:
        if not set(t.classes or ()) & set(labelled[0].classes or ()):
            raise InvalidParameterError(
                f"{labelled[0].name} and {t.name} share no class: {list(labelled[0].classes or ())} and "
                f"{list(t.classes or ())}. If they predict different things, give {parameter('same_labels', False)}; "
                "else rename the "
                "classes of one."
            )
    for t, row in zip(labelled[1:], totals[1:], strict=True):
        if row != totals[0]:
            at = next(i for i, (a, b) in enumerate(zip(totals[0], row, strict=True)) if a != b)
            raise ClashError(
                f"{labelled[0].name} counts {totals[0][at]:,} records of class {everything[at]!r}, "
                f"{t.name} counts {row[at]:,}. If they predict different things, "
                f"give {parameter('same_labels', False)}."
            )
    labels = tuple(label for label, total in zip(everything, totals[0], strict=True) if total)
    return [t if t.classes is None else _in_order(t, labels) for t in published], labels


def _class_totals(published: CountedModel, order: Sequence[Scalar]) -> list[int]:
    totals = dict(zip(published.classes or (), published.counts.sum(axis=0).tolist(), strict=True))
    return [totals.get(label, 0) for label in order]


def _in_order(published: CountedModel, classes: tuple[Scalar, ...]) -> CountedModel:
    """Return the model with columns for these classes, which hold all its records."""
    own = list(published.classes or ())
    columns = [own.index(label) for label in classes]
    return CountedModel(
        name=published.name, model=published.model, counts=published.counts[:, columns], classes=classes
    )
