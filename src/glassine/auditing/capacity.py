"""The average case of a published model: what no attack exceeds on average, for a class that the publisher states."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from glassine.attacks.outcome import Measured, Measurement, NotApplicable, Outcome
from glassine.auditing.membership_criteria import NO_CLASS, NO_DOMAIN, NO_NUMBER, RECORDS_ONLY, SUMMED
from glassine.capacity import (
    COUNTS,
    LABELS,
    AverageCase,
    DeclaredClass,
    average_case,
    rule_list_class,
    tree_class,
)
from glassine.capacity.classes import Published
from glassine.data.record_table import RecordTable
from glassine.domain import Between, Domain, Integer, Literal, Real
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidParameterError, first_of, parameter
from glassine.formats.builder import trees_beside
from glassine.models import DecisionTree, RuleList

if TYPE_CHECKING:
    from glassine.auditing.statements import StatedClass
    from glassine.auditing.tree_figures import TreeSubject

Asked: TypeAlias = tuple[str, Scalar, bool]
"""A yes-or-no question: an attribute, a cut point or a value, and whether a missing value goes with yes."""

DELTA = 0.05
"""Share of draws for which a statement may fail, unless another one is stated."""


def questions_of(domain: Domain, target: str | None = None) -> set[Asked]:
    """Return the questions that a domain allows: each threshold, each value against the rest, and one of two values.

    Examples
    --------
    >>> from glassine import Binary
    >>> len(questions_of(Domain({"age": Integer(18, 90, thresholds=(30, 60)), "smoker": Binary()})))
    3
    """
    questions: set[Asked] = set()
    for name in domain:
        attribute = domain[name]
        if name == target:
            continue
        points: Iterable[Scalar]
        if isinstance(attribute, Integer | Real):
            points = [_at(attribute, cut) for cut in attribute.thresholds]
        else:
            values = getattr(attribute, "values", (0, 1))
            points = values[1:] if len(values) == 2 else values
        questions |= {
            (name, point, gap) for point in points for gap in ([False, True] if attribute.missing else [False])
        }
    return questions


def question_of(literal: Literal, domain: Domain) -> Asked | None:
    """Return the question that a condition or its negation asks; None where it is none of one cut point or value."""
    asked = _asked_by(literal, domain)
    return None if asked is None else asked[0]


def _asked_by(literal: Literal, domain: Domain) -> tuple[Asked, bool] | None:
    """Return the question that a condition asks, and whether it stands for yes: at most a cut point, or the value."""
    attribute = domain[literal.attribute]
    if isinstance(literal, Between):
        if not isinstance(attribute, Integer | Real) or math.isfinite(literal.lo) == math.isfinite(literal.hi):
            return None
        above = math.isfinite(literal.lo) != literal.negated
        cut = literal.lo if math.isfinite(literal.lo) else literal.hi
        # Missing values change sides with the condition.
        return (literal.attribute, _at(attribute, cut), attribute.missing and literal.missing != above), not above
    values, own = literal.values, getattr(attribute, "values", (0, 1))
    positive = not literal.negated
    if len(values) != 1:
        rest = [value for value in own if value not in values]
        if len(rest) != 1 or len(values) != len(own) - 1:
            return None
        values, positive = tuple(rest), not positive
    value = values[0]
    if len(own) == 2 and value == own[0]:  # Each of two values against the other is one question
        value, positive = own[1], not positive
    return (literal.attribute, value, attribute.missing and literal.missing != (not positive)), positive


def _at(attribute: Integer | Real, cut: float) -> float:
    return float(math.floor(cut)) if isinstance(attribute, Integer) else float(cut)


def stated_class(stated: StatedClass, domain: Domain, n_classes: int, target: str | None = None) -> DeclaredClass:
    """Return the class that a publisher states over the questions of a domain."""
    n = len(questions_of(domain, target))
    if stated.depth is not None:
        return tree_class(n, stated.depth, n_classes, label_follows=False)
    pool = sum(math.perm(2 * n, length) for length in range(1, stated.longest + 1))
    return rule_list_class(pool, stated.rules or 0, n_classes, label_follows=False)


def outside(model: DecisionTree | RuleList, stated: StatedClass, domain: Domain, target: str | None) -> str:
    """Return why a model is not of a stated class; empty where it is."""
    questions = questions_of(domain, target)
    odd = [
        str(literal)
        for literal in model.literals
        if literal.attribute not in domain or question_of(literal, domain) not in questions
    ]
    if odd:
        return f"the class that was stated does not have the condition {first_of(odd, mark=';')}"
    if _spelled_variously(model, domain):
        return "it writes one question in several ways, and which one stands where is published and not counted"
    if _repeats(model, domain):
        return "a path asks a question twice, or two rules have one antecedent, which the class does not count"
    own = getattr(domain[target], "values", None) if target is not None and target in domain else None
    if own is not None and {str(name) for name in model.classes or ()} != {str(name) for name in own}:
        return "its classes are not those that the domain declares, so that which ones occur is published"
    if isinstance(model, DecisionTree):
        if stated.depth is None:
            return "a class of rule lists was stated, and the model is a tree"
        if any(len(node.branches) > 2 for node in model.nodes):
            return "the class that was stated has trees of two branches, and a split of this one has more"
        return "" if model.depth <= stated.depth else f"it is of depth {model.depth}, and {stated.depth} was stated"
    if stated.rules is None:
        return "a class of trees was stated, and the model is a rule list"
    longest = max((len(rule.antecedent) for rule in model.rules), default=0)
    if len(model.rules) - 1 > stated.rules or longest > stated.longest:
        return f"it has {len(model.rules) - 1} rules of up to {longest} conditions, more than was stated"
    return ""


def _spelled_variously(model: DecisionTree | RuleList, domain: Domain) -> bool:
    """Return whether the same answers are written in several ways, or the branches of splits in several orders.

    All conditions must be of questions of one cut point or value. One way and order a kind of attribute is that of the
    tool that wrote the model; where they differ within a model, they can carry bits of the data.
    """
    places: list[tuple[int, Literal]] = [(0, one) for one in model.literals]
    if isinstance(model, DecisionTree):
        places = [(i, branch.literal) for node in model.nodes for i, branch in enumerate(node.branches)]
    forms: dict[tuple[str, bool], set[object]] = {}
    digits: set[float] = set()
    for place, literal in places:
        asked, attribute = _asked_by(literal, domain), domain[literal.attribute]
        if asked is None:
            continue
        if isinstance(literal, Between):
            kind, form = "number", (place, literal.negated)
            if isinstance(attribute, Integer):
                digits |= {end % 1 for end in (literal.lo, literal.hi) if math.isfinite(end)}
        else:
            values = getattr(attribute, "values", (0, 1))
            if literal.values != tuple(value for value in values if value in literal.values):
                return True
            kind, form = "two values" if len(values) == 2 else "values", (place, literal.negated)
        forms.setdefault((kind, asked[1]), set()).add(form)
    return any(len(ways) > 1 for ways in forms.values()) or len(digits) > 1 or not digits <= {0.0, 0.5}


def _repeats(model: DecisionTree | RuleList, domain: Domain) -> bool:
    """Return whether a path of a tree asks a question twice or splits by two, or rules of a list are the same."""
    if isinstance(model, RuleList):
        rules = [tuple(_asked_by(one, domain) for one in rule.antecedent) for rule in model.rules]
        return len(set(rules)) < len(rules) or any(len(set(rule)) < len(rule) for rule in rules)
    for node in model.nodes:
        asked = [_asked_by(branch.literal, domain) for branch in node.branches]
        if len({one and one[0] for one in asked}) > 1 or len(set(asked)) < len(asked):
            return True
    paths = [[question_of(one, domain) for one in cell.inside] for cell in model.cells]
    return any(len(set(path)) < len(path) for path in paths)


def figures_of(model: DecisionTree | RuleList) -> Published | None:
    """Return what a model publishes in its leaves or rules; None where it is more than counts and labels.

    Sizes, error rates and probabilities follow from exact counts, as far as they are no sums of weights.
    """
    evidence = [cell.evidence for cell in model.cells]
    if isinstance(model, DecisionTree):
        evidence = [node.evidence for node in model.nodes]
    counted = any(
        part is not None for one in evidence for part in (one.counts, one.total, one.error_rate, one.probabilities)
    )
    if any(one.value is not None or one.weighted for one in evidence) or (counted and model.sizes == "derived"):
        return None
    return COUNTS if counted else LABELS


def delta_of(subject: TreeSubject) -> float:
    """Return the share of draws for which a statement may fail: half of it where a learned code has the rest.

    Which one is smaller is seen afterwards, so that both must hold together.
    """
    settings = subject.inputs.settings
    stated = settings.statements.stated_class
    delta = DELTA if stated is None else stated.delta
    return delta if settings.stability is None else delta / 2


def uncounted(subject: TreeSubject) -> str:
    """Return what the audit knows of that no statement about one model of people counts; empty if there is nothing."""
    inputs = subject.inputs
    for side in (inputs.data, inputs.holdout):
        whose = side.persons if isinstance(side, RecordTable) else None
        if whose is not None and whose.number < len(whose.codes):
            return "some people have several records, and the bounds are about people with one record each."
    stated, trees = inputs.settings.statements.stated_class, trees_beside(subject.model.source or "") + 1
    if trees > (1 if stated is None else stated.models):
        return (
            f"its file holds {trees:,} trees of the same people, of which the statement counts "
            f"{1 if stated is None else stated.models:,} (`{parameter('models=')}`)."
        )
    return ""


def _capacity(subject: TreeSubject) -> Outcome[AverageCase]:
    """Return the bounds of the class that was stated, or that a fitted learner declared before its fit."""
    stated, model, target = subject.inputs.settings.statements.stated_class, subject.model, subject.inputs.target
    learner = subject.artefact
    certificate = getattr(learner, "certificate_", None)
    delta = delta_of(subject)
    bounds = getattr(certificate, "average_case", None)
    if (stated is not None or bounds is not None) and (why := uncounted(subject)):
        return NotApplicable(why)
    if stated is None and bounds is not None:
        # What the fit stated: parameters may have been changed since.
        try:
            return Measured(bounds if delta == bounds.delta else learner.capacity(delta=delta))
        except InvalidParameterError as error:
            return NotApplicable(error.text)
    if stated is None:
        return NotApplicable(NO_CLASS)
    domain = subject.inputs.domain
    if domain is None or domain.inferred:
        return NotApplicable(NO_DOMAIN)
    if subject.inputs.statements.unweighted and model.sizes == "derived" and not model.approximate:
        model = replace(model, sizes="stored")
    if model.classes is None:
        return NotApplicable("the published means of a regression have all digits, so that its models are not counted.")
    if subject.noise is not None:
        return NotApplicable(subject.noise)
    figures = figures_of(model)
    if figures is None:
        return NotApplicable(SUMMED)
    if why := outside(model, stated, domain, target):
        return NotApplicable(f"{why}.")
    # Records are people only where that is stated; rounded counts add up to no number of them.
    exact = figures.figures == "counts" and model.counts_are_exact
    n = stated.n
    if n is None and exact and subject.inputs.settings.statements.one_record_per_person:
        n = model.n_records
    if n is None:
        return NotApplicable(RECORDS_ONLY if exact else NO_NUMBER)
    if exact and model.n_records is not None and n != model.n_records:
        return NotApplicable(f"its counts add up to {model.n_records:,}, and {n:,} people are stated.")
    published = Published(figures=figures.figures, options=stated.options, models=stated.models)
    declared = stated_class(stated, domain, len(model.classes), target)
    bits = average_case(declared, n, stated.population, published=published, delta=delta)
    return Measured(replace(bits, unlisted=stated.unlisted))


CAPACITY: Measurement[TreeSubject, AverageCase] = Measurement(
    "capacity",
    "Average case",
    "What can no attack exceed on average, from the size of the class?",
    AverageCase,
    run=_capacity,
    facts=lambda subject, outcome, raw: {"capacity": outcome},
    asked=False,
    listed=False,
)
"""Made where a class is stated or limited; it reads no record, so that it is public."""
