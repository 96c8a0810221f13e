"""Records beside a subject, read once; and what they say of a model."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from glassine.attacks.outcome import RecordNote
from glassine.auditing.audit_settings import DEFAULTS, AuditSettings
from glassine.auditing.statements import Statements
from glassine.auditing.suppression import Suppression
from glassine.data.deviations import LINES, bounds, is_off_step, off_step_sentence, sentence
from glassine.data.inference import draft, infer_domain
from glassine.data.outside import lines_outside, outside_of
from glassine.data.record_table import NO_RECORDS, RecordTable, as_table
from glassine.data.remarks import FREQUENT
from glassine.domain import Category, Domain, Integer, Real
from glassine.domain.attributes import Attribute, Scalar
from glassine.errors import InvalidDataError, PrivacyLeakWarning, first_of, warn_caller
from glassine.formats.canonical import FileForm
from glassine.formats.sklearn.parameters import StatedParameters
from glassine.records.arrays import AnyArray
from glassine.records.cells import Flag
from glassine.records.reading import read
from glassine.records.schemas import is_number
from glassine.records.undeclared import frequent_texts
from glassine.resources import current

if TYPE_CHECKING:
    from glassine.auditing.policy import Policy

MOST_HINTS = 3
"""Columns that look like identifiers of which a note is made."""


@dataclass(frozen=True, kw_only=True)
class AuditInputs:
    """What an audit has beside its subject, read once."""

    domain: Domain | None = None  # What is publicly known about the attributes
    # data, holdout: the training records, and others of the same population; None where none were given.
    data: Any = None
    holdout: Any = None
    # Records of which those of training are a sample: nothing that is counted in them is a count of training.
    population: Any = None
    target: str | None = None  # The column of both that a model predicts
    labels: tuple[Any, Any] = (None, None)  # Of a release, the classes beside both, shape (n,) each; None without
    settings: AuditSettings = DEFAULTS  # What is looked at, and how
    policy: Policy  # The limits; whether a claimed guarantee is accepted depends on them
    # Whether only what follows from the published thing is looked at, because its guarantee answers for the records.
    public: bool = False
    # The column of persons, where the model tests it: then records are counted, as it is an attribute.
    person: str | None = None
    needs_domain: bool = True  # Whether a domain is inferred from the data where none is given: not for attacks alone
    files: tuple[FileForm, ...] = ()  # The files that were read; none where the subject was given in memory
    estimator: bool = False  # Whether it is a fitted estimator, of which the model is judged
    # The hyperparameters that a fitted estimator states; None of a model alone.
    parameters: StatedParameters | None = None

    @cached_property
    def suppression(self) -> Suppression:
        """What may be shown of counts."""
        return Suppression(0 if self.settings.show_small_counts else self.policy.suppress_below)

    @property
    def statements(self) -> Statements:
        """What the publisher states, by word first, then by the parameters of a fitted estimator."""
        stated, parameters = self.settings.statements, self.parameters
        if parameters is None or parameters.smallest_leaf is None or stated.smallest_leaf is not None:
            return stated
        return replace(stated, smallest_leaf=parameters.smallest_leaf, by=f"the file ({parameters.stated_leaf})")

    def progress(self, stage: str) -> None:
        """Say the name of a stage as it starts; CostLimitError where the budget is spent."""
        if self.settings.progress is not None:
            self.settings.progress(stage)
        current().ask_time("the audit")

    @property
    def counts_people(self) -> bool:
        """Whether persons are stated, so that people are counted; else records are."""
        return any(isinstance(table, RecordTable) and table.persons is not None for table in (self.data, self.holdout))

    @property
    def people(self) -> bool:
        """Whether people are counted, or the publisher states that records are people."""
        return self.counts_people or self.settings.statements.one_record_per_person

    @cached_property
    def table(self) -> RecordTable | None:
        """The training records, opened once; None where there are none."""
        return None if self.data is None else as_table(self.data)

    @property
    def lacks_labels(self) -> bool:
        """Whether the people of an attack on the sensitive attribute may lack it, because the target names it."""
        settings = self.settings
        return settings.disclosure is not None and self.target is not None and self.target == settings.sensitive

    @property
    def has_records(self) -> bool:
        """Whether records are given: those of the training data, or others."""
        return self.data is not None or self.holdout is not None

    def by(self, attributes: Mapping[str, Attribute]) -> Self:
        """Return the same with records read by some attributes, those of a lazy frame collected."""
        sides = (self.data, self.holdout, self.population)
        data, holdout, population = (side if side is None else as_table(side).by(attributes) for side in sides)
        return replace(self, data=data, holdout=holdout, population=population)


def inferred_domain(
    names: Sequence[str], recipe: Mapping[str, Attribute], columns: Mapping[str, AnyArray], notes: list[str]
) -> Domain | None:
    """Return the domain of some columns as the data show it, with a warning; None if they show none.

    The recipe is what the model's literals imply of those that it tests.
    """
    used = {name: columns[name] for name in names if name in columns}
    try:
        domain, undeclared = draft(used)
    except InvalidDataError:
        return None
    if any(name in undeclared for name in recipe):
        return None
    attributes = {name: domain[name] for name in domain}
    for name, named in recipe.items():
        if name in attributes and isinstance(named, Category):
            possible = _with_named(attributes[name], used[name], named.values)
            if possible is None:
                return None
            attributes[name] = possible
    domain = Domain(attributes)
    text = "No domain was given: it was inferred from the data, which understates what an attacker learns."
    notes.append(text)
    warn_caller(text, PrivacyLeakWarning)
    return domain


def _with_named(attribute: Attribute, column: AnyArray, values: Sequence[Scalar]) -> Attribute | None:
    """Return what a column shows, with the values that the model names, which are possible, too; None if both differ.

    A number gets wider bounds and, for a value between its steps, a finer step.
    """
    # Shapes: column (n,).
    if isinstance(attribute, Category):
        return replace(attribute, values=tuple(dict.fromkeys((*attribute.values, *values))))
    numbers = [value for value in values if not isinstance(value, str)]
    if len(numbers) < len(values):
        return None
    named = {"x": np.append(column.astype(float), np.array(numbers, dtype=float))}
    wider = infer_domain(named)["x"]
    if isinstance(wider, Integer):
        # Doubles round large whole numbers.
        whole = [int(value) for value in numbers]
        ends = attribute.ends if isinstance(attribute, Integer) else ()
        return replace(wider, lo=min(wider.lo, *ends, *whole), hi=max(wider.hi, *ends, *whole))
    # Of a continuum no single value has a measure.
    return None if isinstance(wider, Real) and wider.resolution is None else wider


def check_sensitive(name: str, domain: Domain | None, columns: Container[str] | None) -> None:
    """Raise InvalidDataError if a sensitive attribute is neither in the domain nor a column of the data."""
    if (domain is None or name not in domain) and (columns is None or name not in columns):
        raise InvalidDataError(
            f"the sensitive attribute {name!r} is neither in the domain nor a column of the data.",
            remedy="Check its name.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DataComparison:
    """How the training records that were given differ from what a model and a domain say."""

    # Records outside the domain, by attribute or constraint and by reason; only those above zero.
    outside: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    whole: Mapping[str, str] = field(default_factory=dict)  # Outside what the records of each lie
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # Texts among them that many records hold
    tested: tuple[str, ...] = ()  # Those of them that the model tests
    # n_parts, n_differing: leaves or rules, and those for which the model publishes another number of records.
    n_parts: int = 0
    n_differing: int = 0
    n_contrary: int = 0  # Leaves or rules for which the model publishes other numbers of classes, if all sizes agree
    counted: bool = False  # Whether the records were counted by an engine, not read

    @property
    def mismatch(self) -> bool:
        """Whether the records are not the training records, or the domain is not theirs."""
        return bool(self.tested) or self.n_differing > 0

    @property
    def off_step(self) -> bool:
        """Whether all that is tested and odd are numbers off the step of their domain, which split as others."""
        return all(is_off_step(self.outside[name]) for name in self.tested)

    @property
    def undeclared(self) -> str:
        """What the model tests and records hold otherwise than the domain declares, without a number of them."""
        tested = (sentence(name, None, self.whole[name], self.outside[name]) for name in self.tested)
        return first_of(tested, MOST_HINTS, mark="")

    def notes(self, suppression: Suppression) -> list[RecordNote]:
        """Return the differences in sentences, small counts suppressed."""
        notes = list[str]()
        if self.counted:
            notes.append(
                "The data are a lazy frame: they were counted where they lie, not read record by record. Single "
                "records, subgroups by column and membership were not measured."
            )
        for name, reasons in self.outside.items():
            hidden = suppression.hidden(tuple(reasons.values()))
            counts = {why: None if hide else n for (why, n), hide in zip(reasons.items(), hidden, strict=True)}
            number = suppression.count(sum(reasons.values()))
            if is_off_step(reasons):
                notes.append(off_step_sentence(name, number, reasons))
                continue
            notes.append(sentence(name, number, self.whole[name], counts, self.words.get(name, ())))
        if self.n_differing and self.tested and not self.off_step:
            notes.append(
                "The data is not the training data, or holds what the domain does not declare: "
                f"{self.n_differing:,} of {self.n_parts:,} leaves or rules capture another number of records than the "
                "model says."
            )
        elif self.n_differing:
            notes.append(
                f"The data is not the training data: {self.n_differing:,} of {self.n_parts:,} leaves or rules capture "
                "another number of records than the model says."
            )
        if self.n_contrary:
            notes.append(
                f"The outcomes are not those of training: {self.n_contrary:,} of {self.n_parts:,} leaves or rules hold "
                "other numbers of some class than the model says."
            )
        return [RecordNote(note) for note in notes]


def compare_records(
    table: RecordTable, domain: Domain | None, recipe: Mapping[str, Attribute], tested: Collection[str], below: int
) -> DataComparison:
    """Return how many records lie outside the domain, or hold nothing that the model tests.

    A text is named if as many records hold it as a count must have to be shown, ten at least.

    The recipe is what the model's literals imply: without a public domain, records need numbers where it tests numbers,
    and one of its values in some record.
    """
    public = domain is not None and not domain.inferred
    present = [name for name in domain or () if name in table.names]
    if domain is not None and present:
        comparison = compare(outside_of(domain.restrict(present), table), domain, tested)
        comparison = replace(comparison, words=_words(table, domain, comparison.outside, below))
    else:
        odd = lines_outside(table)
        comparison = compare({LINES: odd} if odd else {}, {}, tested)
    if public or not recipe:
        return comparison
    numbers_of = read(table, recipe)[1].counts()
    asked = {name: own for name, own in recipe.items() if is_number(own) or not numbers_of[name][Flag.OK]}
    foreign = outside_of(Domain(asked), table) if asked else {}
    outside = {**{name: own for name, own in comparison.outside.items() if name not in foreign}, **foreign}
    whole = {**comparison.whole, **{name: bounds(name, recipe, implied=True) for name in foreign}}
    words = {**comparison.words, **_words(table, recipe, foreign, below)}
    own = (*comparison.tested, *foreign)
    return replace(
        comparison, outside=outside, whole=whole, words=words, tested=tuple(name for name in outside if name in own)
    )


def _words(
    table: RecordTable, recipe: Domain | Mapping[str, Attribute], outside: Mapping[str, Mapping[str, int]], below: int
) -> dict[str, tuple[str, ...]]:
    """Return the texts that many records hold in columns with texts outside their attributes."""
    names = [name for name, why in outside.items() if name in recipe and any(one.startswith("texts") for one in why)]
    if not names:
        return {}
    if table.persons is not None:
        # One record of each person, so that no word of one person's many records is named.
        rows = np.zeros(len(table), dtype=bool)
        rows[table.first_of_each(np.arange(len(table)))] = True
        table = table.take(rows)
    return frequent_texts(table, recipe, names, max(FREQUENT, below))


def compare(
    outside: Mapping[str, Mapping[str, int]], domain: Domain | Mapping[str, Attribute], tested: Collection[str]
) -> DataComparison:
    """Return which records lie outside a domain, by attribute or constraint and by reason."""
    # A line that is not as its header says may have any of its values in another column, those that are tested too.
    return DataComparison(
        outside=outside,
        whole={name: bounds(name, domain) for name in outside},
        tested=tuple(name for name in outside if name == LINES or set(tested) & {name, *name.split(" + ")}),
    )


def on_shared(data: object, holdout: object, names: Sequence[str]) -> tuple[RecordTable, RecordTable]:
    """Return both tables with those of the named columns that both have: identifiers say nothing of membership."""
    tables = [as_table(frame) for frame in (data, holdout)]
    if not all(map(len, tables)):
        raise InvalidDataError(NO_RECORDS)
    kept = [name for name in dict.fromkeys(names) if all(name in table.names for table in tables)]
    if names[-1] not in kept:
        raise InvalidDataError(
            f"the target {names[-1]!r} must be a column of the data and of the holdout.", remedy="Add it."
        )
    members, others = (table.restrict(kept) for table in tables)
    return members, others
