"""Criteria on membership: what counts imply and attacks measured, and its outcomes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from glassine.auditing.criterion import (
    NUMBER,
    ROUNDED_SHARE,
    Check,
    Remedies,
    covered,
    criterion,
    failed,
    for_kinds,
    inapplicable,
    passed,
    share_limit,
    unknown,
)
from glassine.auditing.facts import Case, EffectiveParameters, OutcomeCells
from glassine.auditing.remedy import Remedy, remedy
from glassine.models.implied import COVERING, Bounds

if TYPE_CHECKING:
    from glassine.auditing.findings.guarantee import GuaranteeFinding
    from glassine.auditing.findings.membership import MembershipFinding
    from glassine.capacity import AverageCase

# What follows from the counts alone.


def _figure(value: float) -> str:
    """Return an advantage to two digits, rounded up: a limit that is exceeded must not read as kept."""
    return f"{_up(value):.2g}"


def _up(value: float) -> float:
    """Return an advantage rounded up to three digits."""
    return math.ceil(value * 1000 - 1e-9) / 1000


@criterion(
    "largest_advantage",
    "implied",
    share_limit(NUMBER, 0.07),
    label="Membership advantage, by the counts",
    measures="Largest membership advantage that the counts of leaves or rules imply, in (0, 1]; needs no data and "
    "no domain. Models fit their data, so that 0.07 stands for a measured advantage of 0.10.",
    unmeasured="The membership advantage does not follow from the counts: {reason}",
    by_guarantee=covered(", membership included"),
    remedies={
        "tree": lambda limit: remedy(
            f"Merge leaves until the membership advantage by the counts is at most {limit:g}: {{step}}. Or {{retrain}} "
            "with fewer leaves.",
            "scrub",
            largest_advantage=limit,
        ),
        "rule list": remedy("{Retrain} with fewer rules, each of which captures more records."),
        "additive model": lambda limit: remedy(
            "Merge bins and remove their sizes: {step}. Or {retrain} with fewer bins and pairs.",
            "scrub",
            smallest_leaf=50,
        ),
        "regression": remedy(
            "{Retrain} with at least 14 {units} per column: join categories of few {units}, such as by "
            "`min_frequency=10`, or leave columns out.",
            plain="{Retrain} with at least 14 {units} per column: join categories of few {units}, or drop columns.",
        ),
        "ensemble": remedy(
            "{Retrain} with larger leaves: at least 50 {units} in each of a forest for balanced outcomes, 20 for rare "
            "ones; of boosted trees with fewer rounds, fewer leaves or a smaller learning rate."
        ),
    },
)
def LARGEST_ADVANTAGE(limit: float, cells: OutcomeCells | EffectiveParameters, case: Case) -> Check:
    """Judge the advantage that counts imply: nothing passes by a bound that may be exceeded."""
    if isinstance(cells, EffectiveParameters):
        return _of_parameters(limit, cells, case)
    counts, advantage = cells.counts, cells.advantage
    low, high = advantage.lower, advantage.upper
    fewest = float(counts.lower.sum())
    if not fewest and not counts.upper.any():
        return unknown("All published counts are zero, so the model says nothing about any record.")
    occupied = int((counts.upper.sum(axis=1) > 0).sum())
    mean = max(1, round(fewest / max(occupied, 1)))
    unit = {"records": "record", "people": "person"}[case.counted] if mean == 1 else case.counted
    classes = f" of {counts.n_outcomes} classes" if counts.n_outcomes > 2 else ""
    per = f"{mean:,} {unit}{classes} per {case.part}"
    alone = "" if counts.n_outcomes > 1 else f" It is that of an attack on the {case.part} alone."
    if low > limit:
        return failed(f"With only about {per}, the membership advantage is about {_figure(low)}.{alone}", _up(low))
    if doubt := cells.unsettled or case.contrary:
        return unknown(doubt)
    if high > limit:
        reach = f"up to about {_figure(high)}" if high < 1 else "not bounded"
        return unknown(f"By the counts that are known, the membership advantage is {reach} (limit {limit:g}).")
    most = "about" if advantage.exact else "at most about"
    counted = f"about {per}"
    if cells.stated_by:
        least = int(counts.lower.sum(axis=1).min())
        counted = f"at least {least:,} {case.counted} per {case.part}, as {cells.stated_by} states"
    # How closely a tree fits is not seen in its counts: the figure that covers most trees stands beside.
    cover = f" 95 of 100 trees stay below {_figure(min(1.0, COVERING * high))}." if case.kind == "tree" else ""
    return passed(
        f"With {counted}, the membership advantage is {most} {_figure(high)} (limit {limit:g}).{cover}{alone}",
        min(_up(high), limit),
    )


def _of_parameters(limit: float, parameters: EffectiveParameters, case: Case) -> Check:
    """Judge the advantage that fitted values imply."""
    each = max(1, round(1 / max(parameters.per_record, 1e-12)))
    per = f"about {each:,} {case.counted} per parameter" if each > 1 else "hardly a record per parameter"
    said = f"With {per}, the membership advantage is about {_figure(parameters.advantage)}"
    if case.kind == "ensemble":
        every = f"for every {each:,} {case.counted}" if each > 1 else "for hardly a record"
        advantage = _figure(parameters.advantage)
        said = f"The ensemble has about 1 effective leaf {every}; the membership advantage is about {advantage}"
    if parameters.advantage > limit:
        return failed(f"{said} (limit {limit:g}).", _up(parameters.advantage))
    if doubt := parameters.unsettled or case.contrary:
        return unknown(doubt)
    return passed(f"{said} (limit {limit:g}).", min(_up(parameters.advantage), limit))


def rounded_share(share: float, n: float) -> float:
    """Return a share of n records, rounded up to steps of at least ten records, so that no small count follows."""
    step = max(0.01, 10 / n)
    return min(1.0, round(math.ceil(share / step - 1e-9) * step, 4))


@criterion(
    "certain_by_membership",
    "classes",
    share_limit(ROUNDED_SHARE, 0.04),
    label="Outcomes certain only for members",
    measures="Largest share of the records, or people, whose outcome a pure leaf or rule makes certain only "
    "because they are members, in (0, 1]: of the records in a pure leaf three, by the rule of three, and more the more "
    "leaves the learner could choose from.",
    unmeasured="Which leaves are pure is not known: {reason}",
    by_guarantee=covered(", in pure {parts} as well"),
    remedies=for_kinds(
        ("tree", "rule list"),
        remedy("Publish labels without counts: {step}. Or {retrain} with larger leaves.", "scrub", counts="remove"),
    )
    | {
        "ensemble": remedy(
            "Write a copy with rounded leaves, none of which calls an outcome certain: {step}. Or {retrain} with "
            "larger leaves.",
            "scrub",
        )
    },
)
def CERTAIN_BY_MEMBERSHIP(limit: float, cells: OutcomeCells, case: Case) -> Check:
    """Judge how many are certain of their outcome only because they are members, by an upper estimate."""
    if cells.certain is None:
        return inapplicable("No share of an outcome is published, so that no pure leaf can be seen in the model.")
    fewest, most = float(cells.counts.lower.sum()), float(cells.counts.upper.sum())
    if not fewest:
        return unknown("All published counts are zero, so the model says nothing about any record.")
    low, high = cells.certain.lower / most, cells.certain.upper / fewest
    pure = f"in pure {case.parts} only because they were in the training data"
    if low > limit:
        return failed(
            f"More than {limit:.1%} of {case.counted}, by an upper estimate, are {pure}.", rounded_share(low, most)
        )
    if doubt := cells.unsettled or case.contrary:
        return unknown(doubt)
    if high > limit:
        return unknown(f"Up to {high:.1%} of {case.counted}, by an upper estimate, are {pure} (limit {limit:.1%}).")
    if not cells.certain.upper:
        return passed(f"No {case.part} is pure.", 0.0)
    return passed(
        f"At most {limit:.1%} of {case.counted}, by an upper estimate, are {pure}.",
        min(limit, rounded_share(high, fewest)),
    )


# What attacks measured.


def attack_bounds(membership: MembershipFinding) -> list[tuple[float, float]]:
    """Return lower and upper bound of the advantage of each attack that was made."""
    return [
        (attack.advantage_low, attack.advantage_high)
        for attack in membership.attacks
        if attack.advantage_low is not None and attack.advantage is not None and attack.advantage_high is not None
    ]


def _best(membership: MembershipFinding) -> float | None:
    return None if membership.best is None else membership.best.advantage


def _failed_or_doubted(limit: float, membership: MembershipFinding, case: Case) -> tuple[Check | None, float, str]:
    """Return the ruling where an attack is beyond the limit, or none was made; else the largest upper bound, and doubt.

    One doubt is enough, the gravest first: data that are not the training records void everything else.
    """
    bounds = attack_bounds(membership)
    if not bounds:
        return unknown("No membership attack could be made."), 1.0, ""
    low, high = max(low for low, _ in bounds), max(high for _, high in bounds)
    doubt = case.mismatch or case.contrary or case.unconfirmed
    if membership.overlap and not doubt:
        doubt = (
            "The holdout overlaps with the training data, so membership cannot be measured. Use records that were not "
            "used for training."
        )
    if membership.shifted and not doubt:
        doubt = "Members and holdout differ without the model as well. Use a holdout of the same population."
    if any(upper < 0 for _, upper in bounds) and not doubt:
        doubt = "An attack does worse than chance: the holdout is easier to predict than the training data."
    # A difference that is there without the model explains at most so much of an advantage.
    if low > limit + membership.explained:
        meaning = f"The advantage of an attack exceeds the limit: it is at least {low:.3g}."
        return failed(meaning, _best(membership)), high, doubt
    return None, high, doubt


def _membership_by_guarantee(limit: float, guarantee: GuaranteeFinding, case: Case) -> Check:
    ceiling = guarantee.ceiling
    # Rounded up: rounded down it would be no ceiling.
    rounded = math.ceil(ceiling * 1000) / 1000
    meaning = "By the guarantee, the advantage of any attack is at most this."
    return failed(meaning, rounded) if ceiling > limit else passed(meaning, rounded)


PRIVATE_RELEASE = remedy(
    "Explain again with larger groups, or with differential privacy: {step}.",
    "explain",
    epsilon=None,
    partition="public",
)


def _smaller(model: str, python: str) -> Remedy:
    return remedy(
        "Train a private model: {step}. Or {retrain} a smaller one: this one fits its training records too closely.",
        "fit",
        python=f"`{python}`",
        model=model,
    )


SMALLER_MODEL: Remedies = {
    "tree": _smaller("tree", "PrivateTreeClassifier"),
    "rule list": _smaller("rule-list", "PrivateRuleListClassifier"),
    "additive model": _smaller("additive", "PrivateEBMClassifier"),
    "regression": remedy(
        "{Retrain} with fewer columns, or with more records: it fits its training records too closely."
    ),
    "release": PRIVATE_RELEASE,
    "ensemble": remedy(
        "{Retrain} with larger leaves, or boosted trees with fewer rounds or a smaller learning rate. This ensemble "
        "fits its training records too closely."
    ),
}


@criterion(
    "largest_measured_advantage",
    "attacks",
    share_limit(NUMBER, 0.10),
    label="Membership inference",
    measures="Largest advantage of a membership attack, in (0, 1]: true positive rate minus false positive rate. "
    "Judged with a holdout, and failed where the lower confidence bound of an attack exceeds it.",
    unmeasured="Membership inference was not measured: {reason}",
    remedies=SMALLER_MODEL,
)
def LARGEST_MEASURED_ADVANTAGE(limit: float, membership: MembershipFinding, case: Case) -> Check:
    """Judge attacks by lower bounds; one that seems to exceed the limit, or that counts let expect, is unknown."""
    ruling, high, doubt = _failed_or_doubted(limit, membership, case)
    if ruling is not None:
        return ruling
    best = _best(membership)
    if doubt:
        return unknown(doubt, best)
    if case.kind == "ensemble" and (lacking := _without_shadows(membership)):
        return unknown(lacking, best)
    settle = "" if high <= limit else f" It may be up to {high:.3g}{_to_settle(limit, membership)}."
    if best is not None and best > limit + membership.explained:
        meaning = f"The strongest attack has an advantage of about {best:.3g}, above the limit of {limit:g}"
        return unknown(f"{meaning}, but chance is not excluded.{settle}", best)
    if high > limit and _implied_fails(case):
        return unknown(f"No attack is shown to exceed the limit, but the counts let expect it.{settle}", best)
    return passed(f"No attack that was made has an advantage above {limit:g}.{settle}", best)


SHADOWED = ("likelihood", "RMIA")
"""What names of attacks say that compare with shadow models."""


def _without_shadows(membership: MembershipFinding) -> str:
    """Return why no attack with shadow models was made; empty if one was.

    Of ensembles, attacks without them miss half of those that the best one finds.
    """
    made = [attack for attack in membership.attacks if any(word in attack.attack for word in SHADOWED)]
    if any(attack.status == "measured" for attack in made):
        return ""
    reason = next((attack.reason for attack in made if attack.reason), "none was asked for.")
    return f"Attacks with shadow models were not made, which find most of what an ensemble reveals: {reason}"


def _implied_fails(case: Case) -> bool:
    """Return whether the advantage that the counts imply is beyond its own limit, or not known."""
    limit, implied = case.limits.get("largest_advantage"), case.measured("implied")
    if limit is None or implied is None:
        return False
    advantage = implied.advantage
    return bool((advantage.upper if isinstance(advantage, Bounds) else advantage) > limit)


def _to_settle(limit: float, membership: MembershipFinding) -> str:
    """Return how many more held-out records would bring every upper bound within the limit, after a clause."""
    inside, outside = membership.n_members, membership.n_nonmembers
    if not isinstance(inside, int) or not isinstance(outside, int):
        return ""
    needed = 0.0
    for attack in membership.attacks:
        value, high = attack.advantage, attack.advantage_high
        if value is None or high is None or high <= limit:
            continue
        if value >= limit:
            return ""
        # Half the interval is z sqrt(v / m + v / n) of m members and n others; members stay as many.
        scale = (high - value) ** 2 / (1 / inside + 1 / outside)
        rest = (limit - value) ** 2 / scale - 1 / inside
        if rest <= 0:
            return ": even many more held-out records would not settle it"
        needed = max(needed, 1 / rest - outside)
    digits = 10 ** max(0, len(str(math.ceil(needed))) - 2)
    return f": about {math.ceil(needed / digits) * digits:,} more held-out records would settle it"


NO_CLASS = "no class was declared before the fit."
NO_DOMAIN = "the class is counted over the cut points and values of a public domain (`domain=`), which was not given."
"""Why the average case of a model is not bounded, where no class of models is stated for it."""

SUMMED = "it publishes sums of weights, which are numbers of records only if no weights were used in training."
RECORDS_ONLY = "its counts are of records, and the bounds are about people: whether each has one record is not known."
NO_NUMBER = "the number of people in the training data is not known."
"""Why it is not bounded where a class is stated, and more is to be stated."""

TO_STATE = {
    SUMMED: remedy(
        "If no weights were used in training, state it: {step}. Otherwise nothing more can be done.",
        "audit",
        python="`AuditSettings(statements=Statements(unweighted=True))`",
        unweighted=True,
    ),
    RECORDS_ONLY: remedy(
        "If no person has several training records, state it: {step}. Otherwise nothing more can be done.",
        "audit",
        python="`AuditSettings(statements=Statements(one_record_per_person=True))`",
        one_record_per_person=True,
    ),
    NO_NUMBER: remedy(
        "State how many people are in the training data: {step}.",
        "audit",
        python="`AuditSettings(statements=Statements(stated_class=StatedClass(depth=4, n=3000)))`",
        class_people=None,
    ),
}
"""What is to be stated of a class, by the reason why its bound is open."""

OTHER_CLASS = remedy(
    "No bound follows from the class as it was stated. Correct the statement, or {retrain} in a class that is fixed "
    "before the draw. Nothing more can be done without one."
)
"""What helps where a class was stated that is not one of the model."""

UNLISTED = (
    "Against fresh records it is at most {bound:g}. An attacker who has the list of people from whom the training data "
    "were drawn can do better: neither its length is stated nor that there is none."
)
"""Why bounds of the fresh game alone pass no limit."""


@criterion(
    "largest_mean_advantage",
    "capacity",
    share_limit(NUMBER),
    label="Mean advantage of any attack, proved",
    measures="Largest mean advantage that any attack can have on average over people, in (0, 1], proved from the "
    "number of models of a class that was declared before the fit. Unknown unless domain and class were, and the "
    "number of people on the list from which training data were drawn is stated, or that there is no list; off unless "
    "it is set. It clears no single person.",
    unmeasured="What no attack exceeds on average is not known: {reason}",
    remedies=for_kinds(
        ("tree", "rule list"),
        remedy(
            "Publish labels without counts: {step}. Or {retrain} on more people, in a smaller class.",
            "scrub",
            counts="remove",
        ),
    ),
    inputs=for_kinds(
        ("tree", "rule list"),
        remedy(
            "Have the publisher state the class that was fixed before the draw, and from how many people: {step}.",
            "audit",
            python="`AuditSettings(statements=Statements(stated_class=StatedClass(depth=4, population=20_000)))`, and "
            "`domain=`",
            class_depth=None,
            drawn_from=None,
        ),
    ),
    requests=(
        "The class of models among which training chose, fixed before the data were drawn: depth or rules, cut points, "
        "settings that were tuned, and how the people were drawn.",
    ),
)
def LARGEST_MEAN_ADVANTAGE(limit: float, bounds: AverageCase, case: Case) -> Check:
    """Judge the proved bound; how many people can be certain stands beside the mean."""
    strictest = bounds.strictest
    meaning = f"Proved, if the statement is true: {bounds.sentence}"
    if strictest.mean_advantage > limit:
        return failed(meaning, strictest.mean_advantage)
    if doubt := case.contrary:
        return unknown(doubt, strictest.mean_advantage)
    if not bounds.against_everyone:
        return unknown(UNLISTED.format(bound=strictest.mean_advantage), strictest.mean_advantage)
    return passed(meaning, strictest.mean_advantage)


@criterion(
    "largest_attack_advantage",
    "membership",
    share_limit(NUMBER),
    label="Membership inference, by both bounds",
    measures="Largest advantage of a membership attack that may remain: passes only if the upper confidence bound "
    "of every attack is within it. Needs a holdout; off unless it is set.",
    unmeasured="Membership inference was not measured: {reason}",
    by_guarantee=_membership_by_guarantee,
    remedies=SMALLER_MODEL,
)
def LARGEST_ATTACK_ADVANTAGE(limit: float, membership: MembershipFinding, case: Case) -> Check:
    """Judge attacks by their confidence bounds."""
    # Nothing passes by data that are not the training records, by a holdout that differs from the members or overlaps
    # with them, or by attacks that do worse than chance.
    ruling, high, doubt = _failed_or_doubted(limit, membership, case)
    if ruling is not None:
        return ruling
    best = _best(membership)
    if high <= limit and not doubt:
        return passed(f"The advantage of the attacks that were made is at most {high:.3g}.", best)
    return unknown(doubt or f"The advantage may be up to {high:.3g}: pass more records to measure it better.", best)
