"""A tree or a rule list as the subject of an audit, and the figures that several measurements need."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from glassine.attacks.outcome import UNCOVERED, Failed, Measured, NotApplicable, Outcome, RecordNote
from glassine.auditing.findings import (
    OF_THE_MODEL,
    GuaranteeFinding,
    ModelSummary,
    ReconstructionFinding,
)
from glassine.auditing.inputs import (
    AuditInputs,
    DataComparison,
    check_sensitive,
    compare,
    compare_records,
    inferred_domain,
)
from glassine.auditing.model_subject import Identifiers, ModelSubject
from glassine.auditing.occupancy import Occupancy, rounded
from glassine.auditing.reconstruction import is_shown
from glassine.auditing.statements import Statements
from glassine.auditing.subject import WEIGHED, OpenedModel, Raw
from glassine.data.record_table import RecordTable
from glassine.domain import Domain
from glassine.domain.attributes import Attribute
from glassine.errors import CostLimitError, InvalidDataError, InvalidModelError, InvalidParameterError, parameter
from glassine.formats import as_model
from glassine.formats.builder import not_judged
from glassine.formats.ensembles import MULTIPLES, common_weight, sizes_of_leaves
from glassine.models import DecisionTree, RuleList
from glassine.models.records import implied
from glassine.models.transform import with_sizes
from glassine.records.arrays import AnyArray, Indices
from glassine.records.containers import is_lazy

if TYPE_CHECKING:
    from glassine.attacks.reconstruction.entropy import ProbabilisticDataset


COUNTED = (
    "the data are a lazy frame, which is counted where it lies and not read record by record. Collect it, or a sample."
)

NO_DOMAIN = (
    "no domain was given, so possible records cannot be counted. One can be drafted from the model, or from records."
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
class TreeSubject(ModelSubject):
    """A tree or a rule list, and the figures that several measurements need; each is computed once."""

    model: DecisionTree | RuleList  # The model as a value
    artefact: Any  # The model as it was given: a fitted estimator states its criterion
    declared: Domain | None  # The domain with the target, inferred from the data where none was given
    occupancy: Occupancy  # Who is in each leaf or rule
    rows: Indices | None  # The leaf or rule of each training record that is read, shape (n,)

    @property
    def reads(self) -> tuple[str, ...]:
        """What can be stated of a tree or a rule list."""
        return ("smallest_leaf", "rounded_to", "unweighted", "public_cuts", "stated_class")

    @classmethod
    def of(cls, opened: OpenedModel, inputs: AuditInputs, claim: GuaranteeFinding | None) -> Self:
        """Return a tree or a rule list with what is given beside it; its domain is inferred where there is none."""
        model, declared, notes = opened.value, inputs.domain, list[str]()
        recipe, target = implied(model.literals), inputs.target
        inputs = inputs.by(recipe) if declared is None else inputs
        if declared is not None and declared.inferred:
            notes.append(INFERRED)
        elif declared is None and inputs.table is not None and inputs.needs_domain:
            declared = inferred_domain(model.attributes, recipe, inputs.table.of_header.arrays, notes)
            try:
                model = as_model(opened.artefact, declared)
                recipe = implied(model.literals)
            except InvalidModelError:
                # The records show no domain in which the model can be read, such as one of prefixes.
                declared = None
        model = rounded(model, inputs.settings.statements.rounded_to)
        if alone := (model.source or "").startswith("tree ") and not_judged(model.source):
            notes.append(alone)
        if target is not None and target in recipe:
            raise InvalidDataError(
                f"the target {target!r} is an attribute that the model tests.",
                remedy="Name what it predicts: the column, or the name of the series.",
            )
        table = None if declared is not None and is_lazy(inputs.data) else inputs.table
        if target is not None and table is not None and target not in table.names and not inputs.lacks_labels:
            raise InvalidDataError(
                f"the target {target!r} must be a column of the data.", remedy="Check its name, or pass its values."
            )
        # The attributes that records have beside the target, which the model publishes as an outcome.
        domain = declared
        if declared is not None and target is not None and target in declared:
            domain = declared.restrict([name for name in declared if name != target])
        occupancy = Occupancy.of(model, inputs, declared, table, recipe)
        comparison = _compared(model, inputs, occupancy, recipe, (declared, domain))
        exact = None not in occupancy.published and not comparison.n_differing
        # Records off the step of a domain are those of training all the same, because all sizes agree. That the
        # domain's step is not that of the records is another fact, which a note states.
        odd = () if exact and comparison.off_step else comparison.tested
        parts = "leaves" if isinstance(model, DecisionTree) else "rules"
        identifiers = Identifiers.of(inputs, tuple(recipe))
        confirmed = occupancy.has_records and not comparison.mismatch
        summed = model.sizes == "derived" and any(cell.evidence.size is not None for cell in model.cells)
        common = common_weight(sizes_of_leaves([model])) if summed and not model.approximate else 1
        check_unweighted(inputs.statements, common, f"; or state {parameter('rounded_to', common)}")
        return cls(
            kind="tree" if isinstance(model, DecisionTree) else "rule list",
            inputs=inputs,
            guarantee=claim,
            notes_read=(*notes, *identifiers.recurring),
            model=model,
            artefact=opened.artefact,
            declared=declared,
            domain=domain,
            occupancy=occupancy,
            comparison=comparison,
            identifiers=identifiers,
            table=occupancy.table,
            rows=occupancy.rows,
            indivisible=len(model.cells) == 1,
            people=inputs.people,
            of_classes=model.classes is not None,
            has_data=occupancy.has_records,
            has_domain=domain is not None,
            domain_inferred=domain is not None and bool(domain.inferred),
            mismatch=comparison.undeclared if odd else MISMATCH.format(parts=parts) if comparison.n_differing else "",
            contrary=CONTRARY.format(parts=parts) if comparison.n_contrary else "",
            odd=odd,
            weights="" if not summed or confirmed or inputs.statements.unweighted else WEIGHED.format(whose="the file"),
        )

    @classmethod
    def check(cls, opened: OpenedModel, inputs: AuditInputs, names: Container[str] | None) -> None:
        """Raise InvalidDataError if the sensitive attribute is neither in the domain nor a column of the data."""
        if inputs.settings.sensitive is not None and not inputs.lacks_labels:
            check_sensitive(inputs.settings.sensitive, inputs.domain, names)

    @property
    def claim_stands(self) -> bool:
        """Whether a valid claim that the policy does not accept answers for sizes that the model does not publish."""
        claim = self.guarantee
        return claim is not None and claim.standing == "not accepted" and None in self.occupancy.published

    @cached_property
    def noise(self) -> str | None:
        """Why the counts measure nothing, if they are noisy."""
        claim, counted = self.guarantee, any(cell.evidence.size is not None for cell in self.model.cells)
        if claim is None or claim.count_scale is None or not counted:
            return None
        limits = "nothing limits" if claim.caveats else "if the guarantee holds, it limits"
        return f"the published counts are noisy (scale {claim.count_scale:.3g} records); {limits} what they reveal."

    # Records: read one by one, or only counted where a lazy frame lies.

    @property
    def columns(self) -> dict[str, AnyArray] | None:
        """The training records as columns, shape (n,) each."""
        return None if self.table is None else self.table.arrays

    @property
    def owners(self) -> RecordTable | None:
        """The training records where they say whose they are, so that people are counted; else None."""
        return self.table if self.table is not None and self.table.persons is not None else None

    # Sizes of leaves: as published, else counted in the data where that may be looked at, and in people where known.

    @cached_property
    def record_sizes(self) -> list[int | None]:
        """Records of each part: as published, else counted in the data, where no guarantee answers."""
        published = self.occupancy.published
        if self.accepted or not self.has_data:
            return list(published)
        pairs = zip(published, self.occupancy.in_data, strict=True)
        return [counted if size is None else size for size, counted in pairs]

    @property
    def sizes(self) -> list[int | None]:
        """How many stand behind each part: people where persons are stated, else its records."""
        people = self.occupancy.people
        return self.record_sizes if people is None or self.accepted else people.sizes.tolist()

    @cached_property
    def possible(self) -> ProbabilisticDataset | None:
        """The possible records; None without a domain."""
        if self.domain is None:
            return None
        from glassine.attacks.reconstruction.entropy import ProbabilisticDataset

        # Where it publishes no exact sizes, they are counted in the data.
        counts = [size for size in self.record_sizes if size is not None] if None in self.occupancy.published else []
        model = with_sizes(self.model, counts) if len(counts) == len(self.record_sizes) else self.model
        return ProbabilisticDataset(model, self.domain, max_steps=self.inputs.settings.max_steps)

    @cached_property
    def bits(self) -> Outcome[tuple[tuple[float, ...], tuple[str, ...]]]:
        """Bits learned about each record of each part, and what is noted about counting them."""
        try:
            if self.possible is None:
                return NotApplicable(NO_DOMAIN)
            published = self.possible.notes()
            aware = self.possible.notes(domain_aware=True) if self.possible.domain.groups else published
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
    def trained_shares(self) -> list[str]:
        """The tested attributes whose shares were taken from the training data, so that they settle nothing."""
        shares = {} if self.domain is None else self.domain.shares
        return [name for name in self.model.tested if name in shares and shares[name].from_training_data]

    def no_records(self) -> NotApplicable | None:
        """Return why no single record is looked at; None if records are."""
        if self.inputs.public:
            return NotApplicable(OF_THE_MODEL)
        return None if self.occupancy.outside is None else NotApplicable(COUNTED)

    # What findings say.

    def summary(self) -> ModelSummary:
        """Return the model in brief."""
        model, stated, sizes = self.model, self.inputs.parameters, self.model.sizes
        of_tree = "regression tree" if model.classes is None else "decision tree"
        # Rounded sums of weights are none of which the data could say that they are counts.
        if sizes == "derived" and not self.weights and not model.approximate:
            sizes = "stated"
        return ModelSummary(
            kind=of_tree if isinstance(model, DecisionTree) else "rule list",
            source=model.source,
            n_parts=len(model.cells),
            depth=max(len(cell.inside) for cell in model.cells),
            n_records=model.n_records,
            classes=None if model.classes is None else tuple(map(str, model.classes)),
            attributes=model.tested,
            approximate=model.approximate,
            sizes=sizes,
            count_scale=None if model.guarantee is None else model.guarantee.count_scale,
            parameters=None if stated is None else stated.values,
        )

    def notes(self, raw: Raw) -> Iterator[str]:
        """Yield what is odd about sizes, data and guarantee, and what was left out."""
        stated, suppression = self.inputs.parameters, self.inputs.suppression
        least = None if stated is None else stated.smallest_leaf
        if stated is not None and least is not None and any(n and n < least for n in self.occupancy.published):
            yield (
                f"The file states {stated.stated_leaf}, but a leaf publishes fewer records: the parameter or the tree "
                "was changed after training, so that neither proves anything."
            )
        if not self.accepted and not self.claim_stands and self.has_data and None in self.occupancy.published:
            yield RecordNote(
                "The model does not publish exact counts: they were counted in the data."
                if self.noise is None
                else "The smallest leaf was judged by the data, not by the model's noisy counts."
            )
        if "reconstruction" in raw and isinstance(self.bits, Measured):
            yield from self.bits.value[1]
        yield from self.identifiers.looks
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
        if hidden := sum(not is_shown(group, suppression) for group in listed):
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
            sizes = self.occupancy.in_data if self.occupancy.people is None else self.occupancy.people.sizes.tolist()
            smallest = self.inputs.suppression.count(min((size for size in sizes if size), default=0))
            of = "" if self.occupancy.people is None else " people"
            yield RecordNote(f"The smallest {self.part} that captures any record of the data captures {smallest}{of}.")


def check_unweighted(statements: Statements, common: int, otherwise: str = "") -> None:
    """Raise InvalidParameterError if no weights are stated of sizes with a factor in common; else, what to state."""
    if common > 1 and statements.unweighted:
        raise InvalidParameterError(
            f"{parameter('unweighted')} contradicts the file: {MULTIPLES.format(common)}.",
            remedy=f"Leave it out, and pass the training data{otherwise}.",
        )


def _compared(
    model: DecisionTree | RuleList,
    inputs: AuditInputs,
    occupancy: Occupancy,
    recipe: Mapping[str, Attribute],
    domains: tuple[Domain | None, Domain | None],
) -> DataComparison:
    """Return how training records differ from what a model and the domain, with and without the target, say."""
    (declared, domain), disclosure = domains, inputs.settings.disclosure
    if occupancy.outside is not None and declared is not None:
        comparison = replace(compare(occupancy.outside, declared, recipe), counted=True)
    elif occupancy.table is None or (disclosure is not None and disclosure.training == "sample"):
        return DataComparison()
    else:
        comparison = compare_records(occupancy.table, domain, recipe, recipe, inputs.suppression.below)
    n_differing, n_contrary = occupancy.differing(model)
    return replace(comparison, n_parts=len(model.cells), n_differing=n_differing, n_contrary=n_contrary)
