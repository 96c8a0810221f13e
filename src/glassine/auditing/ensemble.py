"""An ensemble of trees as the subject of an audit: effective leaves, thresholds of all trees, attacks with shadows."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from glassine.attacks.outcome import Failed, Measured, Measurement, NotApplicable, Outcome
from glassine.attacks.value_leakage import nameable_sides
from glassine.auditing.facts import (
    EffectiveParameters,
    Fact,
    Inapplicable,
    NamedPeople,
    OutcomeCells,
    Sizes,
    Thresholds,
)
from glassine.auditing.findings import GuaranteeFinding, ModelSummary
from glassine.auditing.findings.ensemble import EnsembleFinding
from glassine.auditing.inputs import AuditInputs, check_sensitive
from glassine.auditing.model_subject import ModelSubject
from glassine.auditing.policy import Policy
from glassine.auditing.shadow_ensembles import describe_shadows, shadow_ensemble
from glassine.auditing.subject import WEIGHED, OpenedModel, Raw
from glassine.auditing.suppression import Suppression
from glassine.auditing.training_records import beside_ensemble
from glassine.auditing.tree_facts import flagged
from glassine.auditing.trees import MEMBERSHIP, attack_members
from glassine.data.record_table import RecordTable, as_table
from glassine.domain import Integer, Real
from glassine.domain.grid import on_grid, unround
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError
from glassine.formats.canonical import LONGEST_NAME, LongText
from glassine.formats.ensembles import pure_leaves
from glassine.formats.judged import EnsembleFile, as_ensemble
from glassine.formats.loading import beside_target, is_estimator
from glassine.models import TreeEnsemble
from glassine.models.implied import Bounds, OutcomeCounts, advantage_of_parameters
from glassine.records.arrays import Indices, Ints
from glassine.records.cells import NUMBER

if TYPE_CHECKING:
    from glassine.attacks.membership.suite import MembershipAttacks

N_SHADOWS = 16
"""Shadow models of an ensemble, unless another number is stated."""
SAMPLED = "Trees may be trained on a sample of the records, of which a leaf then holds fewer than reach it."
STEP = 0.01
"""Steps of the share of records that are alone in their combination of leaves."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The spread of an outcome of two classes, by the best that is known."""

    value: float  # 4 e (1 - e) of an error e on held-out records, or of a base rate; in [0, 1]
    by: str  # What it rests on


@dataclass(frozen=True, kw_only=True)
class EnsembleSubject(ModelSubject):
    """A forest or boosted trees."""

    ensemble: TreeEnsemble
    # The leaf of each training record in each tree, shape (n, trees); None where it is not known.
    leaves: Indices | None = field(default=None, repr=False, compare=False)

    @classmethod
    def opens(cls, artefact: Any) -> OpenedModel:
        """Return an ensemble that was read, or a file of one."""
        if isinstance(artefact, EnsembleFile):
            return OpenedModel(kind=cls, artefact=artefact, value=artefact.model, files=(artefact.form,))
        return OpenedModel(kind=cls, artefact=artefact, value=artefact, estimator=is_estimator(artefact))

    @classmethod
    def of(cls, opened: OpenedModel, inputs: AuditInputs, claim: GuaranteeFinding | None) -> Self:
        """Return an ensemble with what is given beside it, and what its publisher states."""
        # The file of an ensemble is what is released: there is no written model in its place.
        inputs, stated = replace(inputs, estimator=False), inputs.statements
        read = beside_target(partial(as_ensemble, opened.value), inputs.domain, inputs.target)
        rest = {name: getattr(stated, name) for name in ("learning_rate", "base_rate", "unweighted")}
        n_given = None if inputs.table is None else len(inputs.table)
        ensemble = read.stated(n=stated.n_records, n_given=n_given, **rest)
        # A forest that was fitted on arrays has names of its own, and takes columns by their places.
        columns = () if inputs.table is None else inputs.table.names
        recipe = {name: NUMBER for name in ensemble.thresholds if name in columns}
        facts = cls.given_with(inputs, ensemble.attributes, recipe)
        if facts["comparison"].off_step:
            # Numbers off the step of a domain split as others do.
            facts |= {"mismatch": "", "odd": ()}
        settled = stated.unweighted or stated.n_records is not None or inputs.table is not None
        if ensemble.weighed and not settled:
            facts["weights"] = WEIGHED.format(whose="the file")
        made = cls(
            kind="ensemble",
            guarantee=claim,
            ensemble=ensemble,
            domain_inferred=inputs.domain is not None and bool(inputs.domain.inferred),
            of_classes=ensemble.classes is not None,
            **facts,
        )
        leaves = _leaves(made)
        standing = {} if made.mismatch else asdict(beside_ensemble(ensemble, inputs.table, leaves))
        return replace(made, leaves=leaves, **standing)

    @classmethod
    def claim(cls, opened: OpenedModel, policy: Policy) -> GuaranteeFinding | None:
        """Return None: no claim of ensembles is read."""
        return None

    @classmethod
    def check(cls, opened: OpenedModel, inputs: AuditInputs, names: Container[str] | None) -> None:
        """Raise InvalidDataError if the target is an attribute, or the sensitive attribute is none of the columns."""
        read = opened.value
        own = read.attributes if isinstance(read, TreeEnsemble) else tuple(getattr(read, "feature_names_in_", ()))
        if inputs.target is not None and inputs.target in own:
            raise InvalidDataError(
                f"the target {inputs.target!r} is an attribute of the model.",
                remedy="Name the column that it predicts.",
            )
        name = inputs.settings.sensitive
        if name is not None and name not in own:
            check_sensitive(name, inputs.domain, names)

    @property
    def n_records(self) -> int | None:
        """Training records, as the file or a statement says, else as many as were given."""
        if self.ensemble.n_records is not None:
            return self.ensemble.n_records
        return None if self.table is None else len(self.table)

    @property
    def reads(self) -> tuple[str, ...]:
        """What can be stated of an ensemble."""
        rate = ("learning_rate",) if self.ensemble.combined == "sum" else ()
        return ("n_records", "base_rate", "unweighted", "public_cuts", *rate)

    @property
    def lacks(self) -> tuple[str, ...]:
        """What the publisher can state, so that the law of parameters says what it implies; nothing where it cannot."""
        ensemble = self.ensemble
        if uncalibrated(ensemble) or self.counts_people:
            return ()
        if not self.n_records or self.weights:
            return ("n_records",)
        rate = ("learning_rate",) if ensemble.combined == "sum" and ensemble.rate is None else ()
        return (*(("base_rate",) if self.spread.by == "two equal classes" else ()), *rate)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that attacks keep: those that it was fitted on, or all but the target where it kept no names."""
        own = getattr(self.ensemble, "feature_names_in_", None)
        columns = () if self.table is None else tuple(n for n in self.table.names if n != self.inputs.target)
        if own is not None:
            return tuple(map(str, own))
        return columns if self.ensemble.estimator is not None else self.ensemble.attributes

    @cached_property
    def spread(self) -> Spread:
        """The spread of the outcome: by the error on held-out records, else by the base rate, else the largest."""
        return _by_holdout(self) or _by_base_rate(self) or Spread(value=1.0, by="two equal classes")

    @cached_property
    def alone(self) -> float | None:
        """Share of the training records that are alone in their combination of leaves; None where it is not known."""
        leaves = self.leaves
        if leaves is None:
            return None
        # One number a row, by odd multipliers: rows that differ agree with a chance of 2^-64.
        odd = 2 * np.random.default_rng(0).integers(0, 2**63, leaves.shape[1], dtype=np.uint64) + 1
        with np.errstate(over="ignore"):
            keys = (leaves.astype(np.uint64) + np.uint64(1)) @ odd
        counts = np.unique(keys, return_counts=True)[1]
        return float((counts == 1).sum() / len(leaves))

    def summary(self) -> ModelSummary:
        """Return the ensemble in brief."""
        own = self.ensemble
        stated = self.inputs.parameters
        return ModelSummary(
            kind="ensemble",
            source=own.source,
            n_parts=own.n_trees,
            depth=int(own.leaves.max()),
            n_records=own.n_records,
            classes=None if own.classes is None else tuple(map(str, own.classes)),
            attributes=own.attributes,
            approximate=False,
            parameters=None if stated is None else stated.values,
        )

    def notes(self, raw: Raw) -> Iterator[str]:
        """Yield what is odd about the data and the domain, and what the file gives away."""
        yield from self.record_notes()
        yield from self.ensemble.published


def _columns_for(subject: EnsembleSubject, table: RecordTable) -> Any:
    """Return records as the ensemble takes them."""
    if subject.ensemble.estimator is None:
        return table
    from glassine.attacks.membership.outputs import as_fitted

    kept = table.restrict([name for name in subject.names if name in table.names])
    native = as_fitted(subject.ensemble, kept.frame.to_native())
    return native if hasattr(subject.ensemble, "feature_names_in_") else np.asarray(native)


def _leaves(subject: EnsembleSubject) -> Indices | None:
    """Return the leaf of each training record in each tree, shape (n, trees); None where it is not known."""
    if subject.inputs.public or subject.table is None:
        return None
    try:
        places = subject.ensemble.apply(_columns_for(subject, subject.table))
    except Exception:  # What a foreign estimator cannot apply to these records has no figure
        return None
    return places if places is not None and len(places) else None


def _by_holdout(subject: EnsembleSubject) -> Spread | None:
    """Return the spread by the error on held-out records; None where it cannot be measured."""
    inputs, ensemble = subject.inputs, subject.ensemble
    if inputs.public or inputs.holdout is None or inputs.target is None or not ensemble.answers:
        return None
    if ensemble.classes is None or len(ensemble.classes) != 2:
        return None
    others = as_table(inputs.holdout)
    if inputs.target not in others.names or not len(others):
        return None
    from glassine.attacks.membership.outputs import class_text

    try:
        predicted = ensemble.predict(_columns_for(subject, others))
    except Exception:  # What a foreign estimator cannot be asked about says nothing of its error
        return None
    truth = others.arrays[inputs.target]
    pairs = zip(truth.tolist(), np.asarray(predicted).tolist(), strict=True)
    wrong = sum(class_text(true) != class_text(own) for true, own in pairs)
    # One error more than was made: few held-out records must not make an ensemble look perfect.
    error = min(0.5, (wrong + 1) / (len(truth) + 2))
    return Spread(value=4 * error * (1 - error), by="the holdout")


def _by_base_rate(subject: EnsembleSubject) -> Spread | None:
    """Return the spread by the share of the rarer class: as the file says, else in the data."""
    ensemble, table, target = subject.ensemble, subject.table, subject.inputs.target
    rate, by = ensemble.base_rate, "the base rate"
    if rate is None and table is not None and target in table.arrays and not subject.inputs.public:
        if ensemble.classes is None or len(ensemble.classes) != 2:
            return None
        column = table.arrays[target]
        column = column[~is_missing(column)]
        largest = np.unique(column, return_counts=True)[1].max(initial=0)
        rate, by = 1 - float(largest) / max(1, len(column)), "the data"
    return None if rate is None else Spread(value=4 * rate * (1 - rate), by=by)


# What measurements find, as criteria read it.


def _facts(subject: EnsembleSubject, outcome: object, raw: Raw) -> dict[str, Fact[Any]]:
    ensemble = subject.ensemble
    texts = [name for name in (*ensemble.attributes, *map(str, ensemble.classes or ())) if len(name) > LONGEST_NAME]
    return {
        "implied": _implied(subject),
        "sizes": _sizes(subject),
        "classes": _classes(subject),
        "thresholds": Measured(_thresholds(subject)),
        "named": Measured(_named(subject, raw)),
        "identifiers": Measured(subject.identifiers.tested),
        "texts": Measured(tuple(LongText(where="names", n_bytes=len(name.encode())) for name in texts)),
    }


def uncalibrated(ensemble: TreeEnsemble) -> str:
    """Return why the law of parameters does not say what an ensemble implies; empty if it does.

    Calibrated on models of two classes.
    """
    if ensemble.classes is None:
        return "how leaves relate to membership was not calibrated for ensembles that predict numbers."
    if len(ensemble.classes) != 2:
        return f"how leaves relate to membership was not calibrated for {len(ensemble.classes)} classes."
    return ""


def _implied(subject: EnsembleSubject) -> Fact[EffectiveParameters]:
    """Return the effective leaves per record, and the advantage that they imply."""
    ensemble, n, limit = subject.ensemble, subject.n_records, subject.inputs.policy.largest_advantage
    if reason := uncalibrated(ensemble):
        return NotApplicable(reason)
    if subject.counts_people:
        return NotApplicable("how leaves relate to membership was not calibrated for persons with several records.")
    if not n:
        return NotApplicable("the file does not say how many training records there are.")
    per_record = ensemble.per_record(n)
    advantage = advantage_of_parameters(per_record, "ensemble", subject.spread.value)
    upper = subject.spread.by == "two equal classes" or (ensemble.combined == "sum" and ensemble.rate is None)
    if upper and limit is not None and advantage > limit:
        # An upper bound can pass and not fail.
        what = "base rate" if subject.spread.by == "two equal classes" else "learning rate"
        return NotApplicable(f"it is at most {advantage:.2g}, and the file does not say its {what}.")
    return Measured(EffectiveParameters(per_record=per_record, advantage=advantage, unsettled=subject.doubt))


def _sizes(subject: EnsembleSubject) -> Fact[Sizes]:
    """Return the different records of each leaf of any tree, as the file says."""
    ensemble, sizes, doubt = subject.ensemble, subject.ensemble.sizes, subject.doubt
    counted = _counted(subject) if sizes is None or ensemble.derived or subject.counts_people else None
    if counted is not None:
        sizes = counted
        # A file whose own number of records is that of the data says that no tree left some out.
        stated = subject.inputs.statements.n_records is not None and (ensemble.derived or ensemble.weights)
        if ensemble.combined == "mean" or ensemble.special or stated or ensemble.n_records is None:
            doubt = doubt or SAMPLED
    elif subject.counts_people:
        sizes = None
    elif ensemble.derived:
        doubt = doubt or WEIGHED.format(whose="the file")
    if sizes is None and subject.counts_people:
        return NotApplicable("records are counted in the leaves, and people are asked for.")
    if sizes is None:
        return NotApplicable("the file does not say how many records its leaves hold.")
    parts = {("leaf of any tree", "leaves of all trees"): tuple(sizes.tolist())}
    return Measured(Sizes(parts=parts, unsettled=doubt))


def _counted(subject: EnsembleSubject) -> Ints | None:
    """Return how many training records, or people, reach each leaf that any reaches; None where it is not known."""
    leaves, table = subject.leaves, subject.table
    if leaves is None or table is None or subject.mismatch:
        return None
    every = [table.counts(column, int(column.max()) + 1) for column in leaves.T]
    return np.concatenate([counts[counts > 0] for counts in every])


def _classes(subject: EnsembleSubject) -> Fact[OutcomeCells]:
    """Return of the worst tree how many outcomes are certain only for members."""
    ensemble = subject.ensemble
    if ensemble.certain is None and not _shows_shares(ensemble):
        return Inapplicable("Leaves publish scores and no counts of classes, so that no pure leaf can be seen.")
    if ensemble.certain is None and not _shows_pure(ensemble):
        return Inapplicable("No leaf of any tree is pure.")
    if subject.counts_people:
        return NotApplicable("records are counted in the leaves, and people are asked for.")
    if ensemble.certain is None:
        return NotApplicable("the file does not say how many records its pure leaves hold.")
    certain, n = ensemble.certain
    doubt, classes = subject.doubt, len(ensemble.classes or ())
    if classes != 2 and certain:
        doubt = doubt or f"How pure leaves of several trees add up was not measured for {classes} classes."
    # Records of other trees may have other outcomes in these leaves: the share is of the records of this one.
    total = np.array([[float(n)]])
    counts = OutcomeCounts(lower=total, upper=total, n_outcomes=len(ensemble.classes or ()) or 1)
    return Measured(
        OutcomeCells(
            counts=counts,
            certain=Bounds(float(certain), float(certain)),
            n_splits=0,
            unsettled=doubt,
        )
    )


def _shows_shares(ensemble: TreeEnsemble) -> bool:
    return ensemble.scoring is not None and ensemble.scoring.link == "shares"


def _shows_pure(ensemble: TreeEnsemble) -> bool:
    trees = () if ensemble.scoring is None else ensemble.scoring.forest.trees
    return any(pure is None or bool(pure.any()) for pure in map(pure_leaves, trees))


def _private(subject: EnsembleSubject) -> list[tuple[str, float]] | None:
    """Return the thresholds that are not public cut points; None without a domain."""
    domain = subject.domain
    if domain is None:
        return None
    literals: list[tuple[str, float]] = []
    for name in (name for name in subject.ensemble.thresholds if name in domain):
        attribute = domain[name]
        if isinstance(attribute, Integer | Real):
            guessed, bounds = attribute.inferred, subject.ensemble.thresholds[name].tolist()
            literals += [(name, bound) for bound in bounds if guessed or not on_grid(attribute, bound)]
    return literals


def _inferred(subject: EnsembleSubject) -> tuple[str, ...]:
    domain = subject.domain
    return () if domain is None else tuple(n for n in subject.ensemble.tested if n in domain and domain[n].inferred)


def _thresholds(subject: EnsembleSubject) -> Thresholds:
    private, inferred = _private(subject), _inferred(subject)
    n = subject.ensemble.n_thresholds
    return Thresholds(
        n=n, n_private=len(private or ()), complete=private is not None or not n, inferred=inferred if n else ()
    )


def _named(subject: EnsembleSubject, raw: Raw) -> NamedPeople:
    """Return whom the thresholds of all trees can name: by an attack with the data, else by an upper estimate."""
    ensemble, domain, private = subject.ensemble, subject.domain, _private(subject)
    n, lacking = ensemble.n_thresholds, () if domain is not None else ensemble.tested
    if ensemble.placed == "random":
        return NamedPeople(number=0, flagged=True)
    number = None
    if not n or private == []:
        number = 0
    elif private is not None and domain is not None:
        number = nameable_sides(domain, private, subject.n_records)
    named = NamedPeople(
        number=number,
        n=n,
        n_private=n if private is None else len(private),
        lacking=lacking,
        inferred=_inferred(subject) if private else (),
    )
    if subject.table is None or subject.inputs.public:
        cuts = unround(((k, at) for k, own in ensemble.thresholds.items() for at in own.tolist()), domain)
        return replace(named, stated_by=subject.inputs.statements.cuts_stated_by, unround=cuts)
    table = subject.table

    def columns() -> Any:
        if ensemble.estimator is not None:
            return _columns_for(subject, table)
        return table.restrict([name for name in subject.names if name in table.names])

    seed = subject.inputs.settings.random_state
    return flagged(named, raw.get("membership"), ensemble, columns, table.persons, seed)


# Attacks with shadow models.


def _membership(subject: EnsembleSubject) -> Outcome[MembershipAttacks]:
    """Attack membership; shadow models are ensembles of its kind and size."""
    inputs = subject.inputs
    if inputs.holdout is not None and not subject.ensemble.answers:
        # Not asked where there is no holdout; here it is asked for and cannot be answered.
        return Failed("how the trees of this file predict together is not read, so that it cannot be attacked.")
    ensemble = subject.ensemble
    return attack_members(ensemble, inputs, subject.names, lambda rows: shadow_ensemble(ensemble, rows), N_SHADOWS)


def _shadows(subject: EnsembleSubject) -> str:
    """Return how shadow models are trained, in a sentence; empty where there are none."""
    inputs = subject.inputs
    if inputs.holdout is None or inputs.public or not subject.ensemble.answers:
        return ""
    return describe_shadows(subject.ensemble, inputs.settings.membership.shadows(N_SHADOWS))


# What findings show.


def _meaning(subject: EnsembleSubject) -> str:
    ensemble, n = subject.ensemble, subject.n_records
    said = [f"{str(ensemble)[:1].upper()}{str(ensemble)[1:]}"]
    about = "" if ensemble.whole or n != ensemble.n_records else "about "
    said += [f"{about}{n:,} records" if n is not None else "number of records not known", *ensemble.special]
    return "; ".join(said) + "."


def _hide(subject: EnsembleSubject, suppression: Suppression) -> EnsembleFinding:
    ensemble, n, implied = subject.ensemble, subject.n_records, _implied(subject)
    advantage = math.ceil(implied.value.advantage * 1000) / 1000 if isinstance(implied, Measured) else None
    alone = subject.alone
    per_record = ensemble.per_record(n) if n else None
    return EnsembleFinding(
        meaning=_meaning(subject),
        n_trees=ensemble.n_trees,
        n_leaves=int(ensemble.leaves.sum()),
        fewest_leaves=int(ensemble.leaves.min()),
        most_leaves=int(ensemble.leaves.max()),
        rate=ensemble.rate if ensemble.combined == "sum" else None,
        n_records=n,
        records_per_leaf=None if not per_record else float(f"{1 / per_record:.3g}"),
        spread=round(subject.spread.value, 3),
        spread_by=subject.spread.by,
        advantage=advantage,
        unknown="" if advantage is not None else str(getattr(implied, "reason", "")),
        n_thresholds=ensemble.n_thresholds,
        alone=None if alone is None else round(round(alone / STEP) * STEP, 2),
        shadows=_shadows(subject),
        published=ensemble.published,
    )


ENSEMBLE = Measurement[EnsembleSubject, EnsembleSubject](
    "ensemble",
    "Trees together",
    "What do all trees together reveal?",
    EnsembleFinding,
    run=Measured,
    hide=_hide,
    facts=_facts,
    listed=False,
)

EnsembleSubject.measurements = (MEMBERSHIP(_membership), ENSEMBLE)
