"""A criterion: all that is known of one demand of a policy. Its limit, its words, how it is judged, what helps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, cast

from glassine.attacks.outcome import Below, Measured, ShownCount
from glassine.auditing.facts import Case, Inapplicable, Kind
from glassine.auditing.remedy import Remedy, remedy
from glassine.auditing.suppression import Suppression
from glassine.errors import InvalidPolicyError, Text, marked, parameter, quoted

if TYPE_CHECKING:
    from glassine.auditing.findings.guarantee import GuaranteeFinding

N = TypeVar("N", int, float)
F = TypeVar("F")

Status: TypeAlias = Literal["pass", "fail", "unknown", "not applicable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One criterion of the policy, judged.

    Attributes
    ----------
    rule : str
        Name of the criterion.
    limit : float
        The limit.
    measured : float, ShownCount or None
        What was measured, small counts suppressed.
    status : str
        ``pass``, ``fail``, ``unknown``, or ``not applicable`` where the subject publishes nothing to judge.
    meaning : str
        What it says, for a reader who is no data scientist.
    basis : str
        ``measurement``, or ``guarantee`` where an accepted guarantee covers the check.
    """

    rule: str = ""
    limit: float = 0.0
    measured: float | ShownCount | None = None
    status: Status
    meaning: str
    basis: Literal["measurement", "guarantee"] = "measurement"


@dataclass(frozen=True, slots=True)
class Unit:
    """What a limit and a figure count, and how much of a figure may be shown."""

    name: str  # ``records``, ``share``, ``bits``, ``values``, ``occurrences``, ``bytes``, ``files`` or ``number``
    show: Callable[[Suppression, float], ShownCount | float]  # Returns a figure as findings may hold it


def _rounded(suppression: Suppression, value: float) -> ShownCount | float:
    """Return a count, small or else rounded, so that no other count follows by subtraction."""
    n = int(value)
    return Below(suppression.below) if 0 < n < suppression.below else suppression.rough(n)


RECORDS = Unit("records", lambda suppression, value: suppression.count(int(value)))
OCCURRENCES = Unit("occurrences", _rounded)
"""Records or people of whom something is true."""
SHARE = Unit("share", lambda suppression, value: suppression.share(value))
ROUNDED_SHARE = Unit("share", lambda suppression, value: value)
"""A share that is rounded already, so that no small count follows."""
BITS = Unit("bits", lambda suppression, value: round(value, 3))
VALUES = Unit("values", lambda suppression, value: value)
"""Values of the model itself, such as thresholds: everyone who has it can count them."""
BYTES = Unit("bytes", lambda suppression, value: value)
"""Bytes of a file: everyone who has it can count them."""
FILES = Unit("files", lambda suppression, value: value)
NUMBER = Unit("number", lambda suppression, value: value)
"""A figure that is rounded already, or that is no figure of records, such as a claimed epsilon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(Generic[N]):
    """The limit of a criterion: unit, default and range."""

    unit: Unit  # What it counts
    default: N | None  # Limit of the default policy; None switches the check off
    most: float  # Largest possible limit
    range: str  # The range in words, after "must be"
    whole: bool = False  # Whether it is a whole number
    zero: bool = False  # Whether 0 is possible
    open: bool = False  # Whether ``most`` itself is impossible
    fewest: bool = False  # Whether it is a lower limit: at least so many
    switch: bool = False  # Whether the policy only says that it is on, which limits a count to 0

    def check(self, name: str, value: object) -> None:
        """Raise InvalidPolicyError unless a value is a possible limit."""
        if self.switch and value is True:
            return
        number = not isinstance(value, bool) and isinstance(value, int if self.whole else int | float)
        if number and isinstance(value, int | float):
            above = value >= 0 if self.zero else value > 0
            below = value < self.most if self.open else value <= self.most
            if above and below:
                return
        hint = ""
        if self.unit is SHARE and number and isinstance(value, int | float) and 2 <= value <= 100:
            hint = f" For {value:g}%, use {value / 100:g}."
        raise InvalidPolicyError(f"{parameter(name)} is {quoted(value)}. It must be {self.range}.{hint}")


def whole_limit(unit: Unit, default: int | None = None, *, fewest: bool = False) -> Limit[int]:
    """Return a limit that is a whole number, 0 among them; without a default it is off."""
    words = "a whole number of at least 0"
    return Limit(unit=unit, default=default, most=MOST_COUNT, range=words, whole=True, zero=True, fewest=fewest)


def share_limit(unit: Unit, default: float | None = None, *, fewest: bool = False) -> Limit[float]:
    """Return a limit in (0, 1]; without a default it is off."""
    words = f"a {unit.name} greater than 0 and at most 1"
    return Limit(unit=unit, default=default, most=1.0, range=words, fewest=fewest)


# How a judge says that a limit is kept, broken, about nothing or open. The figure is the true one; Criterion.check
# replaces it by what its unit shows.


def passed(meaning: str, measured: float | None = None) -> Check:
    """Return that the limit is kept."""
    return Check(status="pass", meaning=meaning, measured=measured)


def failed(meaning: str, measured: float | None = None) -> Check:
    """Return that the limit is broken."""
    return Check(status="fail", meaning=meaning, measured=measured)


def unknown(meaning: str, measured: float | None = None) -> Check:
    """Return that the limit could not be judged."""
    return Check(status="unknown", meaning=meaning, measured=measured)


def inapplicable(meaning: str) -> Check:
    """Return that the subject publishes nothing that the limit is about."""
    return Check(status="not applicable", meaning=meaning)


FIGURE = "{figure}"
"""Stands in a sentence for the figure of its check, as that is shown: rounded, or hidden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFacts:
    """What is known of a part of a model where findings flag it; ``hidden`` says that its size is not shown."""

    size: int | None
    hidden: bool
    share: float | None
    bits: float | None


@dataclass(frozen=True, slots=True)
class PartFlag(Generic[N]):
    """A mark at a part of a model that goes beyond a limit: its name, its words, and when it may be raised."""

    name: str
    label: str
    raised: Callable[[N, PartFacts, Suppression], bool]


Remedies: TypeAlias = Mapping[Kind, Remedy | Callable[[float], Remedy]]
"""What helps with a check, by kind of subject: a remedy, or how it follows from the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion(Generic[N, F]):
    """One demand of a policy, with all that is known of it.

    Attributes
    ----------
    name : str
        Its name in policies and checks.
    reads : str
        The name of the fact that it judges.
    limit : Limit
        Unit, default and range of its limit.
    judge : callable
        Judges a limit by that fact.
    label, measures : str
        What it is called in every report, and what it limits. ``{part}`` and ``{parts}`` stand for what the subject's
        parts are called.
    unmeasured : str
        What it says where nothing was measured, ``{reason}`` being why; by default, that records are not counted.
    by_guarantee : callable or None
        Judges a limit by an accepted guarantee, which covers the subject; None where it then has no check.
    of_claim : bool
        Whether it judges the claimed guarantee itself. Such criteria come first, and are judged even where it covers
        the subject.
    of_file : bool
        Whether it judges the file that holds the subject: no guarantee of the subject covers what else is in it.
    key : str
        The policy's key that holds its limit: its own name by default, or that of the criterion that it comes with.
    stated : str
        The name of the fact that is its limit, where it is not the policy's but stated by the subject.
    remedies : Remedies
        What helps where it fails.
    inputs : Remedies
        What to pass where it is unknown, and by ``requests`` what to ask the publisher for, to whom has the published
        model alone. By default what the fact needs that it judges.
    requests : tuple of str
        See ``inputs``.
    flag : PartFlag or None
        How parts beyond the limit are marked.
    """

    name: str
    reads: str
    limit: Limit[N]
    judge: Callable[[N, F, Case], Check | None]
    label: str
    measures: str
    unmeasured: str = "How many records stand behind it is not known: {reason}"
    by_guarantee: Callable[[N, GuaranteeFinding, Case], Check | None] | None = None
    of_claim: bool = False
    of_file: bool = False
    key: str = ""
    stated: str = ""
    remedies: Remedies = field(default_factory=dict)
    inputs: Remedies = field(default_factory=dict)
    requests: tuple[str, ...] = ()
    flag: PartFlag[N] | None = None

    def __post_init__(self) -> None:
        needed, asked = NEEDED.get(self.reads, ({}, ()))
        for name, value in (("key", self.name), ("inputs", needed), ("requests", asked)):
            object.__setattr__(self, name, getattr(self, name) or value)

    def check(self, limit: N, case: Case, suppression: Suppression) -> Check | None:
        """Return the check of a limit; None where nothing of the kind is asked of the subject."""
        covered, fact = case.covered and not self.of_claim and not self.of_file, case.facts.get(self.reads)
        check: Check | None = None
        if covered:
            if self.by_guarantee is not None and case.guarantee is not None:
                check = self.by_guarantee(limit, case.guarantee, case)
        elif isinstance(fact, Inapplicable):
            check = inapplicable(fact.meaning)
        elif isinstance(fact, Measured):
            check = self.judge(limit, fact.value, case)
        elif fact is not None:
            check = unknown(Text(self.unmeasured.format(reason=marked(fact.reason))))
        if check is None:
            return None
        figure = None if check.measured is None else self.limit.unit.show(suppression, cast("float", check.measured))
        basis: Literal["measurement", "guarantee"] = "guarantee" if covered else "measurement"
        if FIGURE in check.meaning:
            said = f"{figure:,}" if isinstance(figure, int) else str(figure)
            sentence = check.meaning.replace(FIGURE, said)
            check = replace(check, meaning=f"{sentence[:1].upper()}{sentence[1:]}")
        return replace(check, rule=self.name, limit=0 if self.limit.switch else limit, measured=figure, basis=basis)


def criterion(
    name: str, reads: str, limit: Limit[N], **more: Any
) -> Callable[[Callable[[N, Any, Case], Check | None]], Criterion[N, Any]]:
    """Make a criterion of the function that judges a limit by a fact; what else is known of it are its attributes."""
    return lambda judge: Criterion(name=name, reads=reads, limit=limit, judge=judge, **more)


# What several criteria share.

MOST_COUNT = 10**15
"""Above the number of people there are, by far; larger counts are typing errors."""

COUNTED = remedy(
    "Pass the training records, so that they can be counted: {step}. Or ask the publisher for the counts.",
    "audit",
    data=None,
)
DECLARED = remedy(
    "Declare the values that each column can have in a domain: {step}. Or pass the training records.",
    "audit",
    domain=None,
)
"""What comes before records where the public range of a column may be enough."""
COUNTED_BY_CLASS = remedy(
    "Pass the training records with their classes, so that both can be counted: {step}. Or ask the publisher for the "
    "counts.",
    "audit",
    data=None,
    target=None,
)
MATCHING = remedy(
    "Pass exactly the records that the model was trained on: {step}. A tree of a random forest was trained on a sample "
    "of them, which no data matches: audit it without data.",
    "audit",
    data=None,
)
MATCHING_ALL = remedy(
    "Pass exactly the records that the model was trained on: {step}. No data matches a model of weighted records: "
    "audit it without data.",
    "audit",
    data=None,
)
IF_PUBLIC = remedy(
    "If the cut points of the model are public, it is within this policy: {step}.",
    "audit",
    python="`AuditSettings(statements=Statements(public_cuts=True))`",
    public_cuts=True,
)
"""What comes first where everything else passes: the assumption under which the model would be allowed."""
CUT_POINTS = remedy(
    "Ask the publisher which cut points are public, and pass them in a domain: {step}.",
    "audit",
    plain="Ask the publisher which cut points are public, for a domain that states them.",
    domain=None,
)
DESCRIBED = remedy("Describe what is public in a domain: {step}. Scrubbing needs one.", "audit", domain=None)
DOMAIN = remedy(
    "Pass a domain: {step}. Replace its inferred ranges and categories by public ones.",
    "audit",
    python="`domain=`, drafted with `glassine.data.infer_domain`",
    plain="Describe each attribute in a domain. Replace its inferred ranges and categories by public ones.",
    domain=None,
)
SAME_RECORDS = remedy(
    "The models were trained on different records, or the domain leaves out some of their records. Audit together only "
    "models of the same records, and each of the others alone. Widen the domain to every value that is possible."
)
APART = remedy(
    "Publish one of these models alone. Or {retrain} them one by one, with larger leaves or privately, and audit them "
    "together again: {step}.",
    "fit",
    python="`PrivateTreeClassifier`",
    model="tree",
)
ONE_SAMPLE = remedy(
    "Publish one of these tables alone. Or {retrain} all of them on the same records, such as those without a gap in "
    "any column of any table."
)
FEWER_TABLES = remedy(
    "Publish fewer of these tables, or with fewer columns: how their parameters add up was not calibrated. Nothing "
    "more can be done about this check; a policy can leave it out."
)
SAMPLED = remedy(
    "Pass the records of the data set, and say which of them each table was fitted on: {step}. Or have the publisher "
    "fit all tables on the same records.",
    "audit",
    python="`audit(SeveralModels(models=..., samples=...), data)`",
    data=None,
    samples=None,
)
PROVING = remedy(
    "Pass the training records, which can prove how many records every intersection holds: {step}. Or publish one of "
    "these models alone.",
    "audit",
    data=None,
)
COUNTED_TOGETHER = remedy(
    "Count in the training records what the models do not publish, for an attacker who knows it: {step}. It has a "
    "verdict as well. Or publish one of these models alone.",
    "rebuild",
    python="`audit(SeveralModels(models=..., counts='data'), data, domain=domain)`",
)
GROUPED = remedy(
    "Pass the training records, in their order, so that groups and leaves can be counted: {step}.", "audit", data=None
)


VALUED = remedy(
    "Pass the training records with their values: {step}. Or name what the model predicts, and declare its public "
    "range in the domain: it bounds what one value can make up.",
    "audit",
    data=None,
    target=None,
)


COUNTS = (
    "How many training records{of_each} every {part} holds. If these counts are rounded, to which step. If they "
    "cannot be given, the fewest training records of any {part}."
)
OF_THE_FIT = (
    "Of a regression: the number of training records, the family of the outcome, and whether its standard errors "
    "follow from the model or are robust."
)
OF_THE_TREES = (
    "Of an ensemble: the number of training records, the share of the rarer class among them, the learning rate, and "
    "whether any person has several records."
)
OF_FITS: Mapping[Kind, str] = {"regression": OF_THE_FIT, "ensemble": OF_THE_TREES}
"""By kind, what to ask for in place of counts."""
RANGE = "The public range of the numbers that the model predicts."
STATED_FIT = remedy(
    "Ask the publisher for the number of training records, and state it: {step}. Or pass the training records.",
    "audit",
    python="`AuditSettings(statements=Statements(n_records=...))`",
    n_records=None,
)
STATED_NUMBER = remedy(
    "Ask the publisher for the number of training records, and state it: {step}. Of a regression, also name the column "
    "that it predicts, by which data are compared with it.",
    "audit",
    python="`AuditSettings(statements=Statements(n_records=...))`",
    n_records=None,
)
STATED_ERRORS = remedy(
    "Ask the publisher whether the fit had weights, an offset or grouped outcomes, which its summary does not print. "
    "If it had none of them, state that its errors follow from the model: {step}.",
    "audit",
    python="`AuditSettings(statements=Statements(errors='model'))`",
    errors="model",
)
STATED_FAMILY = remedy(
    "Ask the publisher of which family the outcome is, and state it: {step}.",
    "audit",
    python="`AuditSettings(statements=Statements(family=...))`",
    family=None,
)
STATED_RATES = remedy(
    "Ask the publisher for the share of the rarer class among the training records, and of boosted trees for the "
    "learning rate, and state them: {step}.",
    "audit",
    python="`AuditSettings(statements=Statements(base_rate=..., learning_rate=...))`",
    base_rate=None,
    learning_rate=None,
)
UNCALIBRATED = remedy(
    "Pass held-out records, by which attacks are measured: {step}. Nothing more can be done about this check, which no "
    "study calibrates for such models; a policy can leave it out.",
    "audit",
    holdout=None,
)
HELD_OUT = remedy(
    "Pass more records of the same population that were not used for training: {step}.", "audit", holdout=None
)


WITHOUT = remedy("Write a copy without them: {step}.", "scrub")
JOINED = remedy(
    "{Retrain} with fewer columns, or with categories joined, so that no column is of one record or of one outcome."
)
"""What helps where outcomes follow from coefficients, which every copy has."""
ASKED_WITHOUT = remedy(
    "Ask the publisher for a copy without them. To write one, the coefficients are rounded to their standard errors, "
    "which follow from the training records where they are not published."
)
CLASSED = remedy(
    "Name the column that the model predicts, so that its classes can be counted: {step}.", "audit", target=None
)
NAMING = remedy(
    "Pass the training records, which show whom thresholds name: {step}. Or {retrain} with larger leaves.",
    "audit",
    data=None,
)
MORE_HELD_OUT = remedy(
    "Add held-out records of the same population to the file: the interval is too wide. If there are no more, nothing "
    "more can be done about this check."
)


def joined(items: Sequence[str]) -> str:
    """Return items as a phrase: ``a, b and c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def covered(addition: str = "") -> Callable[[float, GuaranteeFinding, Case], Check]:
    """Return that the guarantee covers a limit, for all that the model publishes; ``{part}`` is one of its."""
    return lambda limit, guarantee, case: passed(
        f"Covered by the guarantee{addition.format(part=case.part, parts=case.parts)}."
    )


def covered_of(kinds: Collection[Kind], addition: str) -> Callable[[float, GuaranteeFinding, Case], Check | None]:
    """Return that the guarantee covers a limit on subjects of some kinds; others have no check."""
    check = covered(addition)
    return lambda limit, guarantee, case: check(limit, guarantee, case) if case.kind in kinds else None


def for_kinds(kinds: Sequence[Kind], entry: Remedy) -> dict[Kind, Remedy | Callable[[float], Remedy]]:
    """Return one remedy for several kinds of subject."""
    return dict.fromkeys(kinds, entry)


MODELS: tuple[Kind, ...] = ("tree", "rule list", "additive model", "regression", "ensemble")
"""Kinds of subjects that are one model."""
_NEEDS: tuple[tuple[tuple[str, ...], Remedies, tuple[str, ...]], ...] = (
    (("sizes", "cells", "classes"), for_kinds(MODELS, COUNTED), (COUNTS,)),
    (
        ("implied", "residual"),
        for_kinds(MODELS, COUNTED) | for_kinds(("regression", "ensemble", "several regressions"), STATED_FIT),
        (COUNTS, *OF_FITS.values()),
    ),
    (("groups", "released_leaves", "narrowed"), {"release": GROUPED, "several regressions": SAMPLED}, ()),
    (("intersections",), {"several models": SAME_RECORDS}, ()),
    (("contributions",), for_kinds(MODELS, VALUED) | {"release": GROUPED}, (RANGE,)),
    (("attacks", "membership"), for_kinds((*MODELS, "release"), HELD_OUT), ()),
)
NEEDED = {fact: (inputs, asked) for facts, inputs, asked in _NEEDS for fact in facts}
"""By fact, what to pass where it is not known, and what to ask the publisher for."""
