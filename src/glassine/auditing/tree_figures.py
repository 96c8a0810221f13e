"""A tree or a rule list as the subject of an audit, and the figures that several measurements need."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from glassine.attacks.labels import Occupants
from glassine.attacks.outcome import UNCOVERED, Failed, Measured, NotApplicable, Outcome, RecordNote
from glassine.attacks.values import thresholds_of
from glassine.auditing.class_counts import count_classes, rounded
from glassine.auditing.describe import describe_guarantee, describe_model
from glassine.auditing.facts import Fact, Kind
from glassine.auditing.findings import (
    OF_THE_MODEL,
    GuaranteeFinding,
    ModelSummary,
    ReconstructionFinding,
)
from glassine.auditing.identifiers import identifier_hint, identifiers_of, people_hint
from glassine.auditing.inputs import (
    AuditInputs,
    Comparison,
    check_sensitive,
    compare,
    compare_records,
    inferred_domain,
)
from glassine.auditing.policy import Policy
from glassine.auditing.reconstruction import (
    counted_model,
    hide_subgroups,
)
from glassine.auditing.subject import WEIGHED, Opened, Raw, Subject, texts_of
from glassine.data.labels import class_places
from glassine.data.table import Table
from glassine.domain import Domain
from glassine.domain.literals import attributes_of
from glassine.errors import CostLimitError, InvalidDataError, InvalidModelError
from glassine.formats import as_model
from glassine.formats.builder import not_judged
from glassine.formats.canonical import LongText
from glassine.models import DecisionTree, RuleList
from glassine.models.records import counted_records, implied, of_columns
from glassine.records.arrays import AnyArray, Indices, Ints
from glassine.records.containers import is_lazy
from glassine.records.cuts import cuts_of
from glassine.records.engines import Groups, LazyTable
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
    # Number of records outside the domain, by attribute and reason; only those above zero.
    outside: dict[str, dict[str, int]]
    # Records of each class, and last of none, in each part, shape (parts, classes + 1); None without outcomes.
    outcomes: Ints | None = None


def count_data(model: DecisionTree | RuleList, frame: object, domain: Domain, target: str | None = None) -> CountedData:
    """Count the records of a lazy frame in each part of a model, by their outcomes, and those outside the domain."""
    # An engine groups the records by the values that the model's literals distinguish, and reads every other attribute
    # of the domain separately. None is refused.
    tested = [name for name in domain if name in set(attributes_of(model.literals))]
    present = _names(frame)
    classed = target is not None and target in present and bool(model.classes)
    table = LazyTable(frame=frame, strict=False, typed=False, keep_undeclared=True, keep=target if classed else None)
    groups = table.group({name: wide(domain[name]) for name in tested}, cuts=cuts_of(model.literals, domain))
    parts = _parts(model, groups)
    classes = class_places(groups.kept, model.classes or ()) if classed else np.zeros(len(parts), dtype=np.intp)
    counts = np.zeros((len(model.cells), len(model.classes or ()) + 1), dtype=np.int64)
    np.add.at(counts, (parts, classes), groups.counts)
    return CountedData(
        sizes=tuple(counts.sum(axis=1).tolist()),
        outside=table.outside({name: domain[name] for name in domain if name in tested or name in present}),
        outcomes=counts if classed else None,
    )


def _names(frame: Any) -> list[str]:
    import narwhals as nw

    return list(nw.from_native(frame).collect_schema().names())


def _parts(model: DecisionTree | RuleList, groups: Groups) -> Indices:
    """Return the leaf or rule of each group, shape (m,)."""
    if not groups.columns.attributes:
        return np.zeros(len(groups.counts), dtype=np.intp)
    return model.apply(of_columns(groups.columns, lenient=True))


NO_DOMAIN = (
    "no domain was given, so possible records cannot be counted. Draft one from the model with "
    "`glassine domain new`, or from records with `glassine domain infer`."
)
MISMATCH = (
    "The data does not match the model: its {parts} hold other numbers of records. Use the records the model was "
    "trained on."
)
CONTRARY = (
    "The outcomes do not match the model: its {parts} hold other numbers of some class. Use the outcomes the model was "
    "trained on."
)
INFERRED = "The domain was inferred from data, which understates what an attacker learns."


@dataclass(frozen=True, kw_only=True)
class TreeSubject(Subject):
    """A tree or a rule list, and the figures that several measurements need; each is computed once."""

    model: DecisionTree | RuleList  # The model as a value
    artefact: Any  # The model as it was given: a fitted estimator states its criterion
    declared: Domain | None  # The domain, inferred from the data where none was given

    @classmethod
    def of(
        cls, opened: Opened, inputs: AuditInputs, policy: Policy, claim: GuaranteeFinding | None, *, public: bool
    ) -> Self:
        """Return a tree or a rule list with what is given beside it; its domain is inferred where there is none."""
        model, domain, notes = opened.value, inputs.domain, list[str]()
        recipe = implied(model.literals)
        inputs = inputs.by(recipe) if domain is None else inputs
        if domain is not None and domain.inferred:
            notes.append(INFERRED)
        elif domain is None and inputs.columns is not None and inputs.needs_domain:
            domain = inferred_domain(model.attributes, recipe, inputs.columns, notes)
            try:
                model = as_model(opened.artefact, domain)
            except InvalidModelError:
                # The records show no domain in which the model can be read, such as one of prefixes.
                domain = None
        model = rounded(model, inputs.settings.statements.rounded_to)
        if alone := not_judged(model.source or ""):
            notes.append(alone)
        target = inputs.target
        if target is not None and target in attributes_of(model.literals):
            raise InvalidDataError(
                f"the target {target!r} is an attribute that the model tests.",
                remedy="Name what it predicts: the column, or the name of the series.",
            )
        subject = cls(
            inputs=inputs,
            policy=policy,
            guarantee=claim,
            public=public,
            notes_read=(*notes, *people_hint(inputs)),
            model=model,
            artefact=opened.artefact,
            declared=domain,
        )
        lacking = subject.columns is not None and target not in subject.columns and not inputs.lacks_labels
        if target is not None and lacking:
            raise InvalidDataError(
                f"the target {target!r} must be a column of the data.", remedy="Check its name, or pass its values."
            )
        return subject

    @classmethod
    def claim(cls, opened: Opened, policy: Policy) -> GuaranteeFinding | None:
        """Return the differential privacy that is claimed for the model."""
        return describe_guarantee(opened.value, policy)

    @classmethod
    def check(cls, opened: Opened, inputs: AuditInputs, names: Container[str] | None) -> None:
        """Raise InvalidDataError if the sensitive attribute is neither in the domain nor a column of the data."""
        if inputs.settings.sensitive is not None and not inputs.lacks_labels:
            check_sensitive(inputs.settings.sensitive, inputs.domain, names)

    @property
    def kind(self) -> Kind:
        """Whether it is a tree or a rule list."""
        return "tree" if isinstance(self.model, DecisionTree) else "rule list"

    @property
    def nouns(self) -> tuple[str, str]:
        """What a part of the model and several are called."""
        return ("leaf", "leaves") if isinstance(self.model, DecisionTree) else ("rule", "rules")

    @property
    def of_classes(self) -> bool:
        """Whether it predicts a class, not a number."""
        return self.model.classes is not None

    @property
    def claim_stands(self) -> bool:
        """Whether a valid claim that the policy does not accept answers for sizes that the model does not publish."""
        claim = self.guarantee
        return claim is not None and claim.standing == "not accepted" and None in self.published_sizes

    @cached_property
    def noise(self) -> str | None:
        """Why the counts measure nothing, if they are noisy."""
        claim, counted = self.guarantee, any(cell.evidence.size is not None for cell in self.model.cells)
        if claim is None or claim.count_scale is None or not counted:
            return None
        limits = "nothing limits" if claim.caveats else "if the guarantee holds, it limits"
        return f"the published counts are noisy (scale {claim.count_scale:.3g} records); {limits} what they reveal."

    @cached_property
    def domain(self) -> Domain | None:
        """The attributes that records have beside the target, which the model publishes as an outcome."""
        target = self.inputs.target
        if self.declared is None or target is None or target not in self.declared:
            return self.declared
        return self.declared.restrict([name for name in self.declared if name != target])

    @property
    def has_domain(self) -> bool:
        """Whether a domain was given or inferred."""
        return self.domain is not None

    @property
    def inferred(self) -> bool:
        """Whether a part of the domain was taken from data."""
        return self.domain is not None and bool(self.domain.inferred)

    # Records: read one by one, or only counted where a lazy frame lies.

    @cached_property
    def counted(self) -> CountedData | None:
        """What an engine counts in a lazy frame; None where records are read, or there are none."""
        if self.declared is None or not is_lazy(self.inputs.data):
            return None
        return count_data(self.model, self.inputs.data, self.declared, self.inputs.target)

    @cached_property
    def table(self) -> Table | None:
        """The training records; None where there are none, or they are only counted."""
        return None if self.counted is not None else self.inputs.table

    @property
    def columns(self) -> dict[str, AnyArray] | None:
        """The same as columns, shape (n,) each."""
        return None if self.table is None else self.table.arrays

    @cached_property
    def owners(self) -> Table | None:
        """The training records where they say whose they are, so that people are counted; else None."""
        return self.table if self.table is not None and self.table.persons is not None else None

    @cached_property
    def rows(self) -> Indices | None:
        """The leaf or rule of each record, shape (n,)."""
        if self.columns is None or self.table is None:
            return None
        known = {} if self.declared is None else {name: self.declared[name] for name in self.declared}
        recipe = {name: known.get(name, attribute) for name, attribute in implied(self.model.literals).items()}
        return self.model.apply(counted_records(self.table, recipe))

    @property
    def has_data(self) -> bool:
        """Whether there are training records, read or counted."""
        return self.rows is not None or self.counted is not None

    @cached_property
    def comparison(self) -> Comparison:
        """How the training records that were given differ from what the model and the domain say."""
        tested = attributes_of(self.model.literals)
        sampled = self.inputs.settings.disclosure is not None and self.inputs.settings.disclosure.training == "sample"
        if self.counted is not None and self.declared is not None:
            found = replace(compare(self.counted.outside, self.declared, tested), counted=True)
        elif self.table is None or sampled:
            return Comparison()
        else:
            found = compare_records(
                self.table, self.domain, implied(self.model.literals), tested, self.suppression.below
            )
        sizes = zip(self.published_sizes, self.data_sizes, strict=True)
        n_differing = sum(size is not None and size != counted for size, counted in sizes)
        n_contrary = 0 if n_differing else self._count_contrary()
        return replace(found, n_parts=len(self.model.cells), n_differing=n_differing, n_contrary=n_contrary)

    def _count_contrary(self) -> int:
        """Return of how many parts the model publishes other numbers of classes than the outcomes give."""
        if self.outcomes is None or not self.model.counts_are_exact:
            return 0
        published = [cell.evidence.counts for cell in self.model.cells]
        # A record of no class, which the model cannot have counted, is a contradiction as well.
        pairs = zip(published, self.outcomes.tolist(), strict=True)
        return sum(counts is not None and [*counts, 0] != found for counts, found in pairs)

    @property
    def mismatch(self) -> str:
        """Why the data are not the training records, or the domain is not theirs; empty if nothing says so."""
        if self.comparison.tested and not self._confirmed:
            return self.comparison.unread
        return MISMATCH.format(parts=self.nouns[1]) if self.comparison.n_differing else ""

    @property
    def _confirmed(self) -> bool:
        """Whether records off the step of a domain are those of training all the same, because all sizes agree."""
        # That the domain's step is not that of the records is another fact, which a note states.
        exact = None not in self.published_sizes and not self.comparison.n_differing
        return exact and self.comparison.off_step

    @property
    def contrary(self) -> str:
        """Why the outcomes are not those of training, though the records may be; empty if nothing says so."""
        return CONTRARY.format(parts=self.nouns[1]) if self.comparison.n_contrary else ""

    @property
    def odd(self) -> tuple[str, ...]:
        """The columns that the model tests and that hold what the domain does not declare, if that is a doubt."""
        return () if self._confirmed else self.comparison.tested

    @cached_property
    def doubted_weights(self) -> str:
        """Why published sizes may be sums of weights; empty where records match them, or the publisher denies it."""
        confirmed = self.has_data and not self.comparison.mismatch
        known = confirmed or self.inputs.statements.unweighted or self.model.sizes != "derived"
        published = any(cell.evidence.size is not None for cell in self.model.cells)
        return "" if known or not published else WEIGHED.format(whose="the file")

    @cached_property
    def doubt(self) -> str:
        """Why counts may not be those that limits are about; sums of weights are not."""
        return super().doubt or self.doubted_weights

    # Sizes of leaves: as published, else counted in the data where that may be looked at, and in people where known.

    @cached_property
    def published_sizes(self) -> list[int | None]:
        """Records of each part as published exactly: noisy or rounded counts say nothing certain, a 0 may be 4."""
        exact = self.model.counts_are_exact
        return [cell.evidence.size if exact else None for cell in self.model.cells]

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
        if self.owners is None or self.rows is None:
            return None
        classes, labels = self.model.classes or (), np.full(len(self.rows), -1)
        if self.inputs.target is not None and classes:
            labels = class_places(self.owners.arrays[self.inputs.target], classes)
        return Occupants.counted(self.owners, self.rows, labels, (len(self.model.cells), max(1, len(classes))))

    @cached_property
    def record_sizes(self) -> list[int | None]:
        """Records of each part: as published, else counted in the data, where no guarantee answers."""
        if self.accepted or not self.has_data or None not in self.published_sizes:
            return self.published_sizes
        pairs = zip(self.published_sizes, self.data_sizes, strict=True)
        return [counted if size is None else size for size, counted in pairs]

    @cached_property
    def sizes(self) -> list[int | None]:
        """How many stand behind each part: people where persons are stated, else its records."""
        if self.occupants is None or self.accepted:
            return self.record_sizes
        return [int(size) for size in self.occupants.sizes]

    @cached_property
    def outcomes(self) -> Ints | None:
        """Records of each class, and last of none, in each part, shape (parts, classes + 1); None without outcomes."""
        if self.counted is not None:
            return self.counted.outcomes
        return None if self.rows is None else count_classes(self.model, self.rows, self.columns, self.inputs.target)

    @cached_property
    def class_counts(self) -> Ints | None:
        """Training records of each class in each part, shape (parts, classes); None where a class is not known."""
        return None if self.outcomes is None or self.outcomes[:, -1].any() else self.outcomes[:, :-1]

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
        except CostLimitError as error:
            return Failed(error.text)
        groups = [f"with the domain's groups, {note}" for note in aware if note not in published]
        return Measured((learned, (*published, *groups)))

    @property
    def learned(self) -> tuple[float, ...] | None:
        """Bits learned about each record of each part; None where they were not counted."""
        return self.bits.value[0] if isinstance(self.bits, Measured) else None

    @cached_property
    def cut(self) -> tuple[str, ...]:
        """The attributes with thresholds whose domain was taken from data."""
        if self.domain is None:
            return ()
        names = dict.fromkeys(name for name, _ in thresholds_of(self.model, self.domain))
        return tuple(name for name in names if self.domain[name].inferred)

    @cached_property
    def identifiers(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tested attributes that identify people, and those that look so by name or values alone."""
        return identifiers_of(self.inputs, attributes_of(self.model.literals))

    @cached_property
    def trained_shares(self) -> list[str]:
        """The tested attributes whose shares were taken from the training data, so that they settle nothing."""
        shares = {} if self.domain is None else self.domain.shares
        tested = attributes_of(self.model.literals)
        return [name for name in tested if name in shares and shares[name].from_training_data]

    def unread(self) -> NotApplicable | None:
        """Return why no single record is looked at; None if records are."""
        if self.public:
            return NotApplicable(OF_THE_MODEL)
        return None if self.counted is None else NotApplicable(COUNTED)

    # What findings say.

    def texts(self) -> Fact[tuple[LongText, ...]]:
        """Return the texts of the model beyond what it needs."""
        return texts_of(self.model, self.inputs)

    def summary(self) -> ModelSummary:
        """Return the model in brief."""
        stated, summary = self.inputs.parameters, describe_model(self.model)
        if summary.sizes == "derived" and not self.doubted_weights:
            summary = replace(summary, sizes="stated")
        return replace(summary, parameters=None if stated is None else stated.values)

    def notes(self, raw: Raw) -> Iterator[str]:
        """Yield what is odd about sizes, data and guarantee, and what was left out."""
        stated, suppression = self.inputs.parameters, self.suppression
        least = None if stated is None else stated.smallest_leaf
        if stated is not None and least is not None and any(n and n < least for n in self.published_sizes):
            yield (
                f"The file states {stated.stated_leaf}, but a leaf publishes fewer records: the parameter or the tree "
                "was changed after training, so that neither proves anything."
            )
        if not self.accepted and not self.claim_stands and self.has_data and None in self.published_sizes:
            yield RecordNote(
                "The model does not publish exact counts: they were counted in the data."
                if self.noise is None
                else "The smallest leaf was judged by the data, not by the model's noisy counts."
            )
        if "reconstruction" in raw and isinstance(self.bits, Measured):
            yield from self.bits.value[1]
        yield from identifier_hint(self.identifiers[1])
        yield from self.comparison.notes(suppression)
        yield from self._beside_guarantee()
        outcome, groups = raw.get("reconstruction"), raw.get("subgroups")
        finding: ReconstructionFinding | None = outcome.value[0] if isinstance(outcome, Measured) else None
        for entry in () if finding is None else finding.attributes:
            if entry.attribute == self.inputs.settings.sensitive:
                learned = (
                    f"{entry.attribute}: an attacker learns {entry.bits_learned:.1f} bits about it on average, "
                    f"{entry.bits_largest:.1f} bits about the most exposed record."
                )
                yield RecordNote(learned) if finding is not None and finding.counted else learned
        listed = groups.value if isinstance(groups, Measured) else ()
        if hidden := len(listed) - len(hide_subgroups(listed, suppression)):
            are, is_not = ("subgroup", "is") if hidden == 1 else ("subgroups", "are")
            counted = "people" if self.owners is not None else "records"
            yield RecordNote(f"{hidden} {are} of fewer than {suppression.below} {counted} {is_not} not shown.")

    def _beside_guarantee(self) -> Iterator[RecordNote]:
        """Yield that a claimed guarantee does not cover what was measured on records, and the true sizes beside it."""
        claim = self.guarantee
        if claim is None or claim.caveats or not (self.has_data or self.inputs.holdout is not None):
            return
        yield UNCOVERED
        if claim.accepted and self.has_data:
            held = self.data_sizes if self.occupants is None else self.occupants.sizes.tolist()
            smallest = self.suppression.count(min((size for size in held if size), default=0))
            of = "" if self.occupants is None else " people"
            noun = self.nouns[0]
            yield RecordNote(f"The smallest {noun} that captures any record of the data captures {smallest}{of}.")
