"""Criteria on what can be inferred: training values from thresholds, who was a member, and sensitive values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from glassine.attacks.outcome import Measured
from glassine.auditing.criterion import (
    DOMAIN,
    GROUPED,
    MOST_COUNT,
    NUMBER,
    OCCURRENCES,
    VALUES,
    WHOLE,
    Criterion,
    Limit,
    Remedies,
    Ruling,
    Words,
    covered,
    failed,
    first_of,
    for_kinds,
    joined,
    passed,
    remedy,
    unknown,
)
from glassine.auditing.evidence import Certain, Evidence, Thresholds

if TYPE_CHECKING:
    from glassine.auditing.findings.guarantee import GuaranteeFinding
    from glassine.auditing.findings.membership import MembershipFinding

__all__ = ["LARGEST_ADVANTAGE", "MIDPOINTS", "MOST_CERTAIN", "THRESHOLDS_OFF_GRID", "attack_bounds"]


# Values taken from training values.


def _thresholds(count: int) -> str:
    return "1 threshold" if count == 1 else f"{count:,} thresholds"


def _judge_private(limit: int, thresholds: Thresholds, evidence: Evidence) -> Ruling:
    """Judge published values that are not public; a cut point of an inferred domain may be public, so fails nothing."""
    n, inferred = thresholds.n_private, thresholds.inferred
    meaning = "Every threshold is a public cut point."
    if not thresholds.n and not thresholds.kinds:
        meaning = "The model has no threshold on a number."
    if n:
        one = n == 1
        points = "is not a public cut point" if one else "are not public cut points"
        meaning = f"{n:,} of {_thresholds(thresholds.n)} {points}"
        if thresholds.kinds:
            meaning = f"{joined(thresholds.kinds)} {'is' if one else 'are'} not public"
        can = f"so {'it' if one else 'they'} can reveal training values"
        meaning += f": the domain of {first_of(inferred)} was inferred from data." if inferred else f", {can}."
    # A cut point of an inferred domain may be public all the same, so that it is doubt, not failure.
    if n - thresholds.n_inferred > limit:
        if thresholds.bounded:
            return unknown(f"{meaning} If the guarantee that is claimed holds, it limits what they reveal.", n)
        return failed(meaning, n)
    if not thresholds.complete:
        return unknown("Which published values are public was not measured: it needs a domain.")
    if inferred:
        doubt = f"The cut points of {first_of(inferred)} are not public: their domain was inferred from data."
        return unknown(meaning if n else doubt, n)
    return passed(meaning, n)


def _private_by_guarantee(limit: int, guarantee: GuaranteeFinding, evidence: Evidence) -> Ruling:
    """Return that the guarantee covers them, with what was measured; without a domain nothing was."""
    ruling, fact = covered(", by thresholds as well")(limit, guarantee, evidence), evidence.thresholds
    counted = fact.value.n_private if isinstance(fact, Measured) and fact.value.complete else None
    return passed(ruling.meaning, counted)


ROUND = remedy("Round thresholds to public cut points: {step}.", "scrub", python="`scrub`", target=None)
RESTRICT = remedy(
    "Explain again in the restricted form: {step}. Its thresholds are public cut points.", "explain", form="restricted"
)
DECLARE = remedy(
    "Declare the domain: {step}. The cut points of an inferred domain are not public.", "explain", domain=None
)
ROUND_CUTS = remedy(
    "Move cuts to public cut points and remove published ranges: {step}.", "scrub", python="`scrub`", target=None
)
ROUNDED: Remedies = {
    "tree": ROUND,
    "rule list": ROUND,
    "additive model": ROUND_CUTS,
    "release": DECLARE,
    "release as published": RESTRICT,
}

THRESHOLDS_OFF_GRID: Criterion[int, Thresholds] = Criterion(
    name="thresholds_off_grid",
    limit=Limit(unit=VALUES, default=0, most=MOST_COUNT, range=WHOLE, whole=True, zero=True),
    words=Words(
        label="Thresholds that are not public cut points",
        measures="Largest number of thresholds that are not public cut points of the domain.",
        unmeasured="Which thresholds are public was not measured: {reason}",
    ),
    reads=lambda evidence: evidence.thresholds,
    judge=_judge_private,
    by_guarantee=_private_by_guarantee,
    remedies=ROUNDED,
    inputs=for_kinds(("tree", "rule list", "additive model"), DOMAIN),
)


def _judge_midpoints(limit: int, thresholds: Thresholds, evidence: Evidence) -> Ruling | None:
    """Judge midpoints by the data; without them, values that follow by arithmetic fail the limit all the same."""
    hits, rebuilt = thresholds.n_midpoints, thresholds.n_rebuilt
    if hits is None:
        if rebuilt > limit:
            follow = "training value follows" if rebuilt == 1 else "training values follow"
            return failed(f"{rebuilt:,} {follow} from the cuts and the published ranges by arithmetic.", rebuilt)
        if thresholds.wants_data:
            return unknown("Whether thresholds are midpoints of training values was not measured: it needs the data.")
        return None
    meaning = "No threshold is the midpoint of two training values."
    if hits:
        at = "is" if hits == 1 else "are"
        meaning = f"{hits:,} of {_thresholds(thresholds.n)} {at} exactly the midpoint of two training values."
    if hits > limit:
        return failed(meaning, hits)
    return unknown(evidence.mismatch, hits) if evidence.mismatch else passed(meaning, hits)


def _midpoints_by_guarantee(limit: int, guarantee: GuaranteeFinding, evidence: Evidence) -> Ruling | None:
    fact = evidence.thresholds
    if not isinstance(fact, Measured) or fact.value.n_midpoints is None:
        return None
    meaning = covered(", by thresholds as well")(limit, guarantee, evidence).meaning
    return passed(meaning, fact.value.n_midpoints)


MIDPOINTS: Criterion[int, Thresholds] = Criterion(
    name="midpoints",
    limit=Limit(unit=VALUES, default=0, most=MOST_COUNT, range=WHOLE, whole=True, zero=True),
    words=Words(
        label="Midpoints of two training values",
        measures="Largest number of thresholds that are the midpoint of two training values; judged with the data.",
        unmeasured="Whether thresholds are midpoints of training values was not measured: {reason}",
    ),
    reads=lambda evidence: evidence.thresholds,
    judge=_judge_midpoints,
    by_guarantee=_midpoints_by_guarantee,
    remedies=ROUNDED,
    inputs=for_kinds(("tree", "rule list"), DOMAIN) | {"release": GROUPED},
)


# Membership inference.


def attack_bounds(membership: MembershipFinding) -> list[tuple[float, float]]:
    """Return lower and upper bound of the advantage of each attack that was made."""
    return [
        (attack.advantage_low, attack.advantage_high)
        for attack in membership.attacks
        if attack.advantage_low is not None and attack.advantage is not None and attack.advantage_high is not None
    ]


def _judge_membership(limit: float, membership: MembershipFinding, evidence: Evidence) -> Ruling:
    """Judge attacks by their confidence bounds.

    Nothing passes by data that are not the training records, by a holdout that differs from the members or overlaps
    with them, or by attacks that do worse than chance.
    """
    bounds = attack_bounds(membership)
    if not bounds:
        return unknown("No membership attack could be made.")
    best = None if membership.best is None else membership.best.advantage
    low, high = max(low for low, _ in bounds), max(high for _, high in bounds)
    # One doubt is enough, the gravest first: data that are not the training records void everything else.
    doubt = evidence.mismatch
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
        return failed(f"The advantage of an attack exceeds the limit: it is at least {low:.3g}.", best)
    if high <= limit and not doubt:
        return passed(f"The advantage of the attacks that were made is at most {high:.3g}.", best)
    return unknown(doubt or f"The advantage may be up to {high:.3g}: pass more records to measure it better.", best)


def _membership_by_guarantee(limit: float, guarantee: GuaranteeFinding, evidence: Evidence) -> Ruling:
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
HELD_OUT = remedy(
    "Pass more records of the same population that were not used for training: {step}.", "audit", holdout=None
)

LARGEST_ADVANTAGE: Criterion[float, Any] = Criterion(
    name="largest_advantage",
    limit=Limit(unit=NUMBER, default=None, most=1.0, range="a number greater than 0 and at most 1"),
    words=Words(
        label="Membership inference",
        measures="Largest advantage of a membership attack, in (0, 1]: true positive rate minus false positive rate. "
        "Judged by confidence bounds, and needs a holdout; off unless it is set.",
        unmeasured="Membership inference was not measured: {reason}",
    ),
    reads=lambda evidence: evidence.membership,
    judge=_judge_membership,
    by_guarantee=_membership_by_guarantee,
    remedies=for_kinds(
        ("tree", "rule list"),
        remedy(
            "Retrain a smaller model, or a private one with {step}. This model fits its training records too closely.",
            "fit",
            python="`PrivateTreeClassifier` or `PrivateRuleListClassifier`",
        ),
    )
    | {"release": PRIVATE_RELEASE},
    inputs=for_kinds(("tree", "rule list", "release"), HELD_OUT),
)


# Sensitive values.


def _judge_certain(limit: int, certain: Certain, evidence: Evidence) -> Ruling:
    """Judge of how many the sensitive value can be inferred; nothing passes where more may be learned."""
    if certain.number > limit:
        return failed(
            f"An attacker who knows everyone's quasi-identifiers can infer the sensitive value of too many "
            f"{evidence.counted}.",
            certain.number,
        )
    if certain.unsettled:
        return unknown(f"An attacker may learn more than was measured: {certain.unsettled}", certain.number)
    return passed(
        f"By the estimate, an attacker can infer the sensitive value of no more {evidence.counted} than allowed.",
        certain.number,
    )


MOST_CERTAIN: Criterion[int, Certain] = Criterion(
    name="most_certain",
    limit=Limit(unit=OCCURRENCES, default=None, most=MOST_COUNT, range=WHOLE, whole=True, zero=True),
    words=Words(
        label="Sensitive values that can be inferred",
        measures="Largest number of records, or of people where persons are stated, whose sensitive value an attacker "
        "who knows their quasi-identifiers can infer with probability 0.99 or more. Needs the training records and the "
        "name of the sensitive attribute; off unless it is set.",
        unmeasured="What is revealed about the sensitive attribute was not measured: {reason}",
    ),
    reads=lambda evidence: evidence.certain,
    judge=_judge_certain,
    by_guarantee=covered(", the sensitive attribute included"),
    remedies=for_kinds(
        ("tree", "rule list"),
        remedy(
            "Merge pure leaves or remove counts, and see what it costs: {step}. Or train a private tree.",
            "disclose",
            python="`measure_remedies`",
            remedies=True,
        ),
    )
    | {"release": PRIVATE_RELEASE},
    inputs=for_kinds(
        ("tree", "rule list"),
        remedy(
            "Name the sensitive attribute, pass the training records, and say by which criterion splits were "
            "selected: {step}.",
            "audit",
            sensitive=None,
            data=None,
            criterion=None,
        ),
    ),
)
