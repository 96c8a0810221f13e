"""The average case of a published model: what no attack exceeds on average, for a class that the publisher states."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from glassine.attacks.outcome import Measured, Measurement, NotApplicable, Outcome
from glassine.auditing.subject import NOT_STATED
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
from glassine.domain import Between, Binary, Domain, Integer, Literal, Real
from glassine.domain.attributes import Scalar
from glassine.errors import first_of, parameter
from glassine.models import DecisionTree, RuleList

if TYPE_CHECKING:
    from glassine.auditing.statements import StatedClass
    from glassine.auditing.tree_figures import TreeSubject

Asked: TypeAlias = tuple[str, Scalar, bool]
"""A yes-or-no question: an attribute, a cut point or a value, and whether a missing value goes with yes."""

NO_DOMAIN = "the class is counted over the cut points and values of a public domain (`domain=`), which was not given."


def questions_of(domain: Domain, target: str | None = None) -> set[Asked]:
    """Return the questions that a domain allows: each threshold, each value against the rest, and a binary attribute.

    Examples
    --------
    >>> len(questions_of(Domain({"age": Integer(18, 90, thresholds=(30, 60)), "smoker": Binary()})))
    3
    """
    found: set[Asked] = set()
    for name in domain:
        attribute = domain[name]
        if name == target:
            continue
        points: Iterable[Scalar]
        if isinstance(attribute, Integer | Real):
            points = [_at(attribute, cut) for cut in attribute.thresholds]
        elif isinstance(attribute, Binary):
            points = [1]
        else:
            points = attribute.values
        found |= {(name, point, gap) for point in points for gap in ([False, True] if attribute.missing else [False])}
    return found


def question_of(literal: Literal, domain: Domain) -> Asked | None:
    """Return the question that a condition or its negation asks; None where it is none of one cut point or value."""
    attribute = domain[literal.attribute]
    if isinstance(literal, Between):
        if not isinstance(attribute, Integer | Real) or math.isfinite(literal.lo) == math.isfinite(literal.hi):
            return None
        above = math.isfinite(literal.lo) != literal.negated  # Whether yes is the upper side
        cut = literal.lo if math.isfinite(literal.lo) else literal.hi
        # The question is asked of the lower side: missing values change sides with it.
        return literal.attribute, _at(attribute, cut), attribute.missing and literal.missing != above
    values, own = literal.values, getattr(attribute, "values", (0, 1))
    positive = not literal.negated
    if len(values) != 1:
        rest = [value for value in own if value not in values]
        if len(rest) != 1 or len(values) != len(own) - 1:
            return None
        values, positive = tuple(rest), not positive
    value = values[0]
    if isinstance(attribute, Binary) and value == 0:
        value, positive = 1, not positive
    return literal.attribute, value, attribute.missing and literal.missing != (not positive)


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
    whole = [one for one in model.literals if isinstance(one, Between) and isinstance(domain[one.attribute], Integer)]
    digits = {end % 1 for one in whole for end in (one.lo, one.hi) if math.isfinite(end)}
    if len(digits) > 1 or not digits <= {0.0, 0.5}:
        # Which of several spellings of one question stands there is published and not counted.
        return "its thresholds of whole numbers have digits of their own: round them to the declared cut points first"
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


def figures_of(model: DecisionTree | RuleList) -> Published | None:
    """Return what a model publishes in its leaves or rules; None where it is more than counts and labels.

    Sizes, error rates and probabilities follow from exact counts, as far as they are no sums of weights.
    """
    evidence = [cell.evidence for cell in model.cells]
    if isinstance(model, DecisionTree):
        evidence = [node.evidence for node in model.nodes]
    if any(one.value is not None or one.weighted for one in evidence) or model.sizes == "derived":
        return None
    counted = any(
        part is not None for one in evidence for part in (one.counts, one.total, one.error_rate, one.probabilities)
    )
    return COUNTS if counted else LABELS


def _capacity(subject: TreeSubject) -> Outcome[AverageCase]:
    """Return the bounds of the class that was stated, or that a fitted learner declared before its fit."""
    stated, model, target = subject.inputs.settings.statements.stated_class, subject.model, subject.inputs.target
    learner = subject.artefact
    certificate = getattr(learner, "certificate_", None)
    if stated is None and getattr(certificate, "average_case", None) is not None:
        return Measured(learner.capacity())
    if stated is None:
        return NotApplicable(NOT_STATED)
    domain = subject.inputs.domain
    if domain is None or domain.inferred:
        return NotApplicable(NO_DOMAIN)
    if model.classes is None:
        return NotApplicable("the published means of a regression have all digits, so that its models are not counted.")
    if subject.noise is not None:
        return NotApplicable(subject.noise)
    figures = figures_of(model)
    if figures is None:
        return NotApplicable("it publishes sums of weights, which are not counted.")
    if why := outside(model, stated, domain, target):
        return NotApplicable(f"{why}.")
    # Records are people only where that is stated; rounded counts add up to no number of them.
    exact = figures.figures == "counts" and model.counts_are_exact
    n = stated.n
    if n is None and exact and subject.inputs.settings.statements.one_record_per_person:
        n = model.n_records
    if n is None:
        return NotApplicable(f"the number of people in the training data is not known (`{parameter('n=')}`).")
    if exact and model.n_records is not None and n != model.n_records:
        return NotApplicable(f"its counts add up to {model.n_records:,}, and {n:,} people are stated.")
    published = Published(figures=figures.figures, options=stated.options, models=stated.models)
    declared = stated_class(stated, domain, len(model.classes), target)
    return Measured(average_case(declared, n, stated.population, published=published, delta=stated.delta))


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
