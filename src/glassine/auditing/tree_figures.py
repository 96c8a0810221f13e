"""The figures of a tree or a rule list that several measurements need: records, sizes of parts and possible records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from glassine.attacks.labels import Occupants
from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.attacks.values import ValueLeakage, thresholds_of
from glassine.auditing.cell_facts import (
    certain_of_cells,
    count_classes,
    flag_by_midpoints,
    numbers_of,
    outcome_counts,
    splits_of_model,
)
from glassine.auditing.describe import describe_guarantee
from glassine.auditing.evidence import Cells, Fact, Named
from glassine.auditing.findings import OF_THE_MODEL, GuaranteeFinding
from glassine.auditing.inputs import Comparison, compare, outside_domain
from glassine.auditing.model_facts import doubt_of_weights, named_of_values
from glassine.auditing.reconstruction import counted_model
from glassine.auditing.subject import Raw, Subject
from glassine.data.labels import class_places
from glassine.data.table import Table
from glassine.domain import Domain
from glassine.domain.literals import attributes_of
from glassine.errors import CountingLimitError
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import AnyArray, Indices, Ints
from glassine.records.cuts import cuts_of
from glassine.records.engines import Groups, LazyTable, is_lazy
from glassine.records.flags import wide

if TYPE_CHECKING:
    from glassine.attacks.reconstruction.entropy import ProbabilisticDataset

COUNTED = (
    "the data are a lazy frame, which is counted where it lies and not read record by record. Collect it, or a sample."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedData:
    """What an audit counts in records that it does not read."""

    sizes: tuple[int, ...]  # Number of records in each part of the model
    outside: dict[str, int]  # Number of records outside the domain, by attribute; only those above zero


def count_data(model: DecisionTree | RuleList, frame: object, domain: Domain) -> CountedData:
    """Count the records of a lazy frame in each part of a model, and those outside the domain."""
    # An engine groups the records by the values that the model's literals distinguish, and reads every other attribute
    # of the domain separately. A category that is not declared counts as missing.
    tested = [name for name in domain if name in set(attributes_of(model.literals))]
    table = LazyTable(frame=frame, strict=False, keep_undeclared=True)
    groups = table.group({name: wide(domain[name]) for name in tested}, cuts=cuts_of(model.literals, domain))
    present = _names(frame)
    outside = table.outside({name: domain[name] for name in domain if name in tested or name in present})
    return CountedData(
        sizes=_sizes(model, groups), outside={name: sum(reasons.values()) for name, reasons in outside.items()}
    )


def _names(frame: Any) -> list[str]:
    import narwhals as nw

    return list(nw.from_native(frame).collect_schema().names())


def _sizes(model: DecisionTree | RuleList, groups: Groups) -> tuple[int, ...]:
    out = np.zeros(len(model.cells), dtype=np.int64)
    if not groups.columns.attributes:
        out[0] = groups.counts.sum()
    else:
        records: dict[str, AnyArray] = {name: groups.columns.values(name) for name in groups.columns.attributes}
        np.add.at(out, model.apply(records), groups.counts)
    return tuple(out.tolist())


NO_DOMAIN = (
    "no domain was given, so possible records cannot be counted. Draft one from the model with "
    "`glassine domain new`, or from records with `glassine domain infer`."
)


@dataclass(frozen=True, kw_only=True)
class TreeFigures(Subject):
    """A tree or a rule list, and the figures that several measurements need; each is computed once."""

    model: DecisionTree | RuleList  # The model as a value
    artefact: Any  # The model as it was given: a fitted estimator states its criterion
    declared: Domain | None  # The domain, inferred from the data where none was given
    remarks: tuple[str, ...] = ()  # What was noted while it was read

    @cached_property
    def guarantee(self) -> GuaranteeFinding | None:
        """The differential privacy that is claimed for the model."""
        return describe_guarantee(self.model, self.policy)

    @property
    def accepted(self) -> bool:
        """Whether the policy accepts the claim, so that it answers for the model."""
        return self.guarantee is not None and self.guarantee.accepted

    @cached_property
    def noise(self) -> str | None:
        """Why the counts measure nothing, if they are noisy."""
        return self.noise_of(self.guarantee)

    def noise_of(self, guarantee: GuaranteeFinding | None) -> str | None:
        """Return why the counts measure nothing, given how far the guarantee holds."""
        counted = any(cell.evidence.size is not None for cell in self.model.cells)
        noisy = guarantee is not None and guarantee.count_scale is not None
        if guarantee is None or not noisy or not counted:
            return None
        limits = "if the guarantee holds, it limits what they reveal"
        if guarantee.caveats:
            limits = "nothing limits what they reveal"
        return f"the published counts are noisy (scale {guarantee.count_scale:.3g} records); {limits}."

    @cached_property
    def domain(self) -> Domain | None:
        """The attributes that records have beside the target, which the model publishes as an outcome."""
        target = self.inputs.target
        if self.declared is None or target is None or target not in self.declared:
            return self.declared
        return self.declared.restrict([name for name in self.declared if name != target])

    @property
    def nouns(self) -> tuple[str, str]:
        """What a part of the model and several are called."""
        return ("leaf", "leaves") if isinstance(self.model, DecisionTree) else ("rule", "rules")

    # Records: read one by one, or only counted where a lazy frame lies.

    @cached_property
    def counted(self) -> CountedData | None:
        """What an engine counts in a lazy frame; None where records are read, or there are none."""
        if self.declared is None or not is_lazy(self.inputs.data):
            return None
        return count_data(self.model, self.inputs.data, self.declared)

    @property
    def table(self) -> Table | None:
        """The training records; None where there are none, or they are only counted."""
        return None if self.counted is not None else self.inputs.table

    @property
    def people(self) -> Table | None:
        """The training records where they say whose they are, so that people are counted; else None."""
        return self.table if self.table is not None and self.table.persons is not None else None

    @property
    def columns(self) -> dict[str, AnyArray] | None:
        """The same as columns, shape (n,) each."""
        return None if self.counted is not None else self.inputs.columns

    @cached_property
    def rows(self) -> Indices | None:
        """The leaf or rule of each record, shape (n,)."""
        return None if self.columns is None else self.model.apply(self.columns)

    @property
    def has_data(self) -> bool:
        """Whether there are training records, read or counted."""
        return self.rows is not None or self.counted is not None

    @cached_property
    def comparison(self) -> Comparison:
        """How the training records that were given differ from what the model and the domain say."""
        if self.counted is not None:
            return compare(self.model, self.data_sizes, self.counted.outside, counted=True)
        sampled = self.inputs.settings.disclosure is not None and self.inputs.settings.disclosure.training == "sample"
        if self.columns is None or sampled:
            return Comparison()
        return compare(self.model, self.data_sizes, outside_domain(self.domain, self.table, self.columns))

    @cached_property
    def doubted_weights(self) -> str:
        """Why published sizes may be sums of weights; empty where records match them, or the publisher denies it."""
        confirmed = self.has_data and not self.comparison.mismatch
        return doubt_of_weights(self.model, self.inputs.statements, confirmed=confirmed)

    # Sizes of leaves, and what they say about records.

    @cached_property
    def published_sizes(self) -> list[int | None]:
        """Records of each part as published exactly: noisy or rounded counts say nothing certain, a 0 may be 4."""
        return [cell.evidence.size if self.model.counts_are_exact else None for cell in self.model.cells]

    @cached_property
    def data_sizes(self) -> list[int]:
        """Records of the data in each part."""
        if self.counted is not None:
            return list(self.counted.sizes)
        rows: Any = [] if self.rows is None else self.rows
        return [int(size) for size in np.bincount(rows, minlength=len(self.model.cells))]

    @cached_property
    def occupants(self) -> Occupants | None:
        """The people in each part, by class as far as the target is known; None where records are counted."""
        if self.people is None or self.rows is None:
            return None
        classes, labels = self.model.classes or (), np.full(len(self.rows), -1)
        if self.inputs.target is not None and classes:
            labels = class_places(self.people.arrays[self.inputs.target], classes)
        return Occupants.counted(self.people, self.rows, labels, (len(self.model.cells), max(1, len(classes))))

    def cells_of(self, guarantee: GuaranteeFinding | None, unsettled: str) -> Fact[Cells]:
        """Return who of each outcome is in each part: people where persons are stated, else records."""
        covered = guarantee is not None and guarantee.accepted
        people = None if covered else self.occupants
        counts = outcome_counts(
            self.model,
            self.inputs.statements,
            occupants=people,
            counted=None if covered else self.class_counts,
            sizes=self.records_of(guarantee),
            noisy=self.noise_of(guarantee) is not None,
        )
        if counts is None:
            reason = f"the model does not publish how many records its {self.nouns[1]} hold."
            return NotApplicable(self.noise_of(guarantee) or reason)
        certain, n_splits = certain_of_cells(self.model, counts), splits_of_model(self.model)
        stated = self.inputs.statements
        by = stated.by if stated.smallest_leaf is not None and (counts.lower < counts.upper).any() else ""
        return Measured(
            Cells(
                counts=counts,
                certain=certain,
                n_splits=n_splits,
                unsettled=unsettled,
                stated_by=by,
                n_people=None if people is None else people.number,
            )
        )

    @cached_property
    def class_counts(self) -> Ints | None:
        """Training records of each class in each part, shape (parts, classes); None where classes are not known."""
        return None if self.rows is None else count_classes(self.model, self.rows, self.columns, self.inputs.target)

    def named_of(self, values: ValueLeakage, raw: Raw, guarantee: GuaranteeFinding | None) -> Fact[Named]:
        """Return whom thresholds can name: by the midpoint attack with the data, else by an upper estimate."""
        lacking = () if self.domain is not None else numbers_of(self.model)
        bounded = guarantee is not None and not guarantee.caveats
        unsettled = [*self.inferred(numbers=True), *self.trained_shares]
        named = named_of_values(values, list(dict.fromkeys(unsettled)), lacking, bounded=bounded)
        if (named.number == 0 and not named.n_private) or self.table is None:
            return Measured(named)
        attacks = raw.get("membership")
        outcome = (
            attacks.value.midpoint
            if isinstance(attacks, Measured)
            else flag_by_midpoints(self.model, self.table, self.inputs.settings.random_state)
        )
        if isinstance(outcome, Measured):
            return Measured(replace(named, number=outcome.value.n_named, flagged=True))
        # The attack is made on trees alone: of rule lists those count who alone hold a value beside a midpoint.
        exposed = values.n_records_at_midpoints
        return Measured(replace(named, number=exposed, flagged=True) if isinstance(exposed, int) else named)

    def sizes_of(self, guarantee: GuaranteeFinding | None) -> list[int | None]:
        """Return how many stand behind each part: people where persons are stated, else its records."""
        covered = guarantee is not None and guarantee.accepted
        if self.occupants is None or covered:
            return self.records_of(guarantee)
        return [int(size) for size in self.occupants.sizes]

    @cached_property
    def unlabeled(self) -> str:
        """Why the classes of people are not known; empty if they are, or records are counted."""
        if self.occupants is None or self.occupants.counts.any() or self.model.classes is None:
            return ""
        return "people are counted, and the target, by which they fall into classes, was not named."

    def records_of(self, guarantee: GuaranteeFinding | None) -> list[int | None]:
        """Return the records of each part: as published, else counted in the data, where no guarantee answers."""
        covered = guarantee is not None and guarantee.accepted
        if covered or not self.has_data or None not in self.published_sizes:
            return self.published_sizes
        pairs = zip(self.published_sizes, self.data_sizes, strict=True)
        return [counted if size is None else size for size, counted in pairs]

    @cached_property
    def sizes(self) -> list[int | None]:
        """People or records of each part, as far as they may be looked at."""
        return self.sizes_of(self.guarantee)

    @cached_property
    def record_sizes(self) -> list[int | None]:
        """Records of each part, as far as they may be looked at: possible records are counted for each of them."""
        return self.records_of(self.guarantee)

    @cached_property
    def possible(self) -> ProbabilisticDataset | None:
        """The possible records; None without a domain."""
        if self.domain is None:
            return None
        from glassine.attacks.reconstruction.entropy import reconstruct

        model = counted_model(self.model, self.has_data, self.record_sizes)
        return reconstruct(model, self.domain, max_steps=self.inputs.settings.max_steps)

    @cached_property
    def bits(self) -> Outcome[tuple[tuple[float, ...], tuple[str, ...]]]:
        """Bits learned about each record of each part, and what is noted about counting them."""
        if self.possible is None:
            return NotApplicable(NO_DOMAIN)
        try:
            published, aware = self.possible.notes(), self.possible.notes(domain_aware=True)
            learned = self.possible.bits_learned(domain_aware=True)
        except CountingLimitError as error:
            return Failed(error.text)
        groups = [f"with the domain's groups, {note}" for note in aware if note not in published]
        return Measured((learned, (*published, *groups)))

    @property
    def learned(self) -> tuple[float, ...] | None:
        """Bits learned about each record of each part; None where they were not counted."""
        return self.bits.value[0] if isinstance(self.bits, Measured) else None

    def inferred(self, *, numbers: bool = False) -> list[str]:
        """Return the tested attributes, or those with thresholds, whose domain was taken from data."""
        if self.domain is None:
            return []
        cut = [name for name, _ in thresholds_of(self.model, self.domain)]
        tested = cut if numbers else attributes_of(self.model.literals)
        return [name for name in dict.fromkeys(tested) if self.domain[name].inferred]

    @property
    def trained_shares(self) -> list[str]:
        """The tested attributes whose shares were taken from the training data, so that they settle nothing."""
        shares = {} if self.domain is None else self.domain.shares
        return [
            name for name in attributes_of(self.model.literals) if name in shares and shares[name].from_training_data
        ]

    def unread(self) -> NotApplicable | None:
        """Return why no single record is looked at; None if records are."""
        if self.public:
            return NotApplicable(OF_THE_MODEL)
        return None if self.counted is None else NotApplicable(COUNTED)
