"""What an attacker who knows all quasi-identifiers learns about a tree's target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.describe import LONGEST
from glassine.auditing.findings import NO_SENSITIVE
from glassine.data.record_table import RecordTable, as_table
from glassine.data.record_table import columns as read_columns
from glassine.domain import Category, Domain
from glassine.domain.literals import is_missing
from glassine.errors import (
    GlassineError,
    InvalidDataError,
    InvalidModelError,
    Text,
    UndefinedMeasureError,
    marked,
    parameter,
)
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import AnyArray

if TYPE_CHECKING:
    from glassine.attacks.disclosure import Adversary, Disclosure
    from glassine.attacks.remedy_table import RemedyTable

MOST_VALUES = 5 * 10**7
"""Most values of quasi-identifiers, people times attributes, that an audit looks at."""

MOST_STEPS = 10**8
"""Most quasi-identifiers, summed over nodes and candidate attributes, times classes, with known class counts."""

MOST_LOCAL_STEPS = 5 * 10**5
"""The same where the class counts are not known, so that optima are searched for."""


DRAWN = "the tree claims differential privacy, so that its splits were drawn, not the best."
NOT_THE_BEST = "its learner did not always take the best split."
UNSTATED = Text(
    f": name the criterion (`{parameter('criterion=')}`) to measure what an attacker learns from the choice of splits."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveQuestion:
    """What an audit asks of the sensitive attribute."""

    artefact: Any  # The model as it was passed: a fitted estimator states its criterion
    model: DecisionTree | RuleList  # The same as a value
    target: str | None  # What the model is said to predict
    domain: Domain | None  # Distinguishes codes of categories from numbers
    settings: AuditSettings  # The attribute, and what its attacker is assumed to know


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """The sensitive attribute as it can be inferred."""

    estimate: Disclosure  # The estimate of every person's value
    sensitive: str  # The attribute
    quasi_identifiers: tuple[str, ...]  # What the attacker knows about every person
    truth: AnyArray | None  # Every person's value, if it may be looked at; shape (n,), or None
    unused: str  # Why the internal nodes were not used; empty if they were
    doubt: str  # Why a reader may learn more than was measured; empty if nothing says so
    table: RecordTable  # The records, n of them
    remedies: RemedyTable | None = None  # What was tried against it
    frame: Any = None  # The people, if subgroups of them are looked at; shape (n, d), or None
    detailed: bool = False  # Whether what only the holder of the data is to see was asked for

    @property
    def n_certain(self) -> int:
        """People, or records, of whose value the reader is certain."""
        return self.estimate.compare(table=self.table)[-1].certain


def expose(
    question: SensitiveQuestion,
    table: RecordTable | None,
    columns: Mapping[str, AnyArray] | None,
    *,
    hindrance: str = "",
) -> Outcome[Inferred]:
    """Return what the reader of a tree learns of the sensitive attribute, as an outcome."""
    # Shapes: columns (n,), optional.
    names = _quasi(question, columns)
    reason = _reason(question, columns, names) or hindrance
    if (
        reason
        or table is None
        or columns is None
        or question.settings.sensitive is None
        or not isinstance(question.model, DecisionTree)
    ):
        return NotApplicable(reason or getattr(NO_SENSITIVE, "reason", ""))
    # numba and scipy.sparse take a second to import
    from glassine.attacks.disclosure.predictions import not_predicted

    truth = column_of(question.model, columns[question.settings.sensitive])
    reason = not_predicted(
        question.model,
        question.settings.sensitive,
        target=question.target,
        domain=question.domain,
        columns=columns,
        truth=truth,
    )
    if reason:
        return NotApplicable(reason)
    estimate, unused, doubt = _estimate(question, question.model, table.restrict(names), truth)
    if not isinstance(estimate, Measured):
        return estimate
    return Measured(
        Inferred(
            estimate=estimate.value,
            sensitive=question.settings.sensitive,
            quasi_identifiers=names,
            truth=truth,
            unused=unused,
            doubt=doubt,
            table=table,
        )
    )


def _quasi(question: SensitiveQuestion, columns: Mapping[str, AnyArray] | None) -> tuple[str, ...]:
    """Return the columns that the attacker knows about every person."""
    if question.settings.quasi is not None:
        for name in question.settings.quasi:
            if name == question.settings.sensitive:
                raise InvalidDataError(
                    f"{parameter('quasi')} names the sensitive attribute {name!r}.",
                    remedy="Name what an attacker knows.",
                )
            if columns is not None and name not in columns:
                raise InvalidDataError(
                    f"{parameter('quasi')} names {name!r}, which is no column of the data.", remedy="Check its name."
                )
        return tuple(dict.fromkeys(question.settings.quasi))
    return tuple(
        name for name in question.model.attributes if name in (columns or {}) and name != question.settings.sensitive
    )


def _reason(question: SensitiveQuestion, columns: Mapping[str, AnyArray] | None, names: tuple[str, ...]) -> str:
    """Return why nothing is measured; empty if it can be."""
    model, sensitive = question.model, question.settings.sensitive
    if sensitive is None:
        return getattr(NO_SENSITIVE, "reason", "")
    if not isinstance(model, DecisionTree):
        return "disclosure of the sensitive attribute is measured for decision trees; this is a rule list."
    if model.classes is None:
        return "the tree predicts a number, so that it discloses no class."
    if sensitive in model.tested:
        return f"the tree tests {sensitive}; disclosure is measured for the attribute that it predicts."
    if question.target not in (None, sensitive):
        return f"the tree predicts {question.target}, not {sensitive}."
    if columns is None:
        return Text(
            "the attacker is assumed to know all quasi-identifiers: give the training records "
            f"(`{parameter('data=')}`)."
        )
    if sensitive not in columns:
        return f"{sensitive} is no column of the data, so that nothing can be compared with it."
    lacking = [name for name in model.tested if name not in names]
    if lacking:
        return (
            f"the tree tests {lacking[0]}, which the reader does not know: people cannot be followed to their leaves."
        )
    n = len(columns[sensitive])
    if not n or n * len(names) > MOST_VALUES:
        return (
            f"{n:,} people with {len(names)} quasi-identifiers are more than the audit looks at." if n else "no data."
        )
    return ""


def column_of(model: DecisionTree, values: AnyArray) -> AnyArray:
    """Return every person's class in the type of the tree's classes; None if missing."""
    labels = [None if gap else value for value, gap in zip(values.tolist(), is_missing(values), strict=True)]
    if all(isinstance(name, str) for name in model.classes or ()):
        labels = [None if value is None else str(value) for value in labels]
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out


def _reader(question: SensitiveQuestion, tree: DecisionTree, names: Sequence[str]) -> tuple[Adversary, str, str]:
    """Return what the reader uses, why the internal nodes are not used, and what is doubtful about that."""
    from glassine.attacks.disclosure import Adversary
    from glassine.attacks.disclosure.adversary import NOT_STATED, read_hints, shown_by_leaves

    leaves = shown_by_leaves(tree)
    codes = tuple(name for name in tree.attributes if name in names and _is_category(question.domain, name))
    stated = read_hints(question.artefact, question.domain)
    criterion: Any = question.settings.criterion
    if tree.guarantee is not None or criterion == "none":
        return Adversary(leaves, internal_nodes=False, categories=codes), DRAWN if tree.guarantee else NOT_THE_BEST, ""
    if stated.criterion is not None:
        return Adversary(leaves, criterion=criterion or stated.criterion, categories=codes, stated=stated), "", ""
    if criterion is None:
        unused = Text(NOT_STATED[:-1] + marked(UNSTATED))
        return Adversary(leaves, internal_nodes=False, categories=codes), unused, unused
    return Adversary(leaves, criterion=criterion, splits=question.settings.splits, categories=codes), "", ""


def _is_category(domain: Domain | None, name: str) -> bool:
    return domain is not None and name in domain and isinstance(domain[name], Category)


def _estimate(
    question: SensitiveQuestion, tree: DecisionTree, frame: object, truth: AnyArray
) -> tuple[Outcome[Disclosure], str, str]:
    """Return the estimate, why the internal nodes were not used, and why a reader may learn more."""
    from glassine.attacks.disclosure import ContradictionError, SearchError, infer_sensitive, measure_disclosure

    if tree.guarantee is None and not tree.counts_are_exact:
        return (
            NotApplicable("the published counts are rounded: what they reveal about single people is not modelled."),
            "",
            "",
        )
    reader, unused, doubt = _reader(question, tree, as_table(frame).names)
    alone = replace(reader, internal_nodes=False)
    try:
        if reader.internal_nodes and (unused := _too_many(tree, frame, reader)):
            doubt = unused
        if not unused:
            estimate = infer_sensitive(tree, frame, adversary=reader, truth=truth)
            # What the estimator itself says of random or weighted splits leaves nothing doubtful.
            doubt = estimate.unused if reader.stated is None or not reader.stated.reason else ""
            return Measured(estimate), estimate.unused, doubt
        return measure_disclosure(tree, frame, adversary=alone), unused, doubt
    except (ContradictionError, SearchError) as error:
        node = error.clashes[0].node if error.clashes else 0
        named = reader.criterion.replace("_", " ")
        unused = f"the records contradict that every split was the best by {named} (see node {node})."
        if isinstance(error, SearchError):
            unused = f"no table of people was found in which every split was the best by {named} (see node {node})."
        return measure_disclosure(tree, frame, adversary=alone), unused, unused
    except (UndefinedMeasureError, InvalidDataError, InvalidModelError) as error:
        return NotApplicable(str(error)[:LONGEST]), "", ""
    except GlassineError as error:
        return Failed(str(error)[:LONGEST]), "", ""


def _too_many(tree: DecisionTree, frame: object, reader: Adversary) -> str:
    """Return why the internal nodes would take too long; empty if they do not."""
    from glassine.attacks.disclosure.people import read_people

    n_classes = len(tree.classes or ())
    people = read_people(tree, dict(read_columns(frame)), categories=reader.categories)
    steps = sum(len(split.members) for split in people.splits) * len(people.columns) * n_classes
    limit = MOST_LOCAL_STEPS if reader.leaves == "error_rates" and n_classes > 2 else MOST_STEPS
    if steps <= limit:
        return ""
    return Text(
        f"the internal nodes would take {steps:,} steps, more than the {limit:,} of an audit: state what is assumed "
        f"of the attacker (`{parameter('adversary=')}`)."
    )
