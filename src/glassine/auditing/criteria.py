"""The criteria of a policy, one object each. A new one is written here, and nowhere else.

What a criterion reads are the facts of a :class:`~glassine.auditing.facts.Case`, the same for every kind of subject.
Its field in :class:`PolicyLimits` makes it a key of the policy. Those on what an attacker infers stand in
:mod:`~glassine.auditing.inference_criteria`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from glassine.auditing.criterion import (
    APART,
    BITS,
    DOMAIN,
    NUMBER,
    SAME_RECORDS,
    SHARE,
    Check,
    Criterion,
    F,
    Limit,
    N,
    PartFlag,
    covered,
    criterion,
    failed,
    for_kinds,
    passed,
    share_limit,
    unknown,
)
from glassine.auditing.facts import Bits, Case, LargestShares
from glassine.auditing.inference_criteria import (
    DOMINANCE,
    LARGEST_CONTRIBUTION,
    MIDPOINTS,
    MOST_CERTAIN,
    NAMED_BY_THRESHOLDS,
    NARROWEST_ANSWER,
    P_PERCENT,
    TESTED_IDENTIFIERS,
    THRESHOLDS_OFF_GRID,
)
from glassine.auditing.membership_criteria import (
    CERTAIN_BY_MEMBERSHIP,
    LARGEST_ADVANTAGE,
    LARGEST_ATTACK_ADVANTAGE,
    LARGEST_MEAN_ADVANTAGE,
    LARGEST_MEASURED_ADVANTAGE,
)
from glassine.auditing.output_criteria import (
    DEGREES_OF_FREEDOM,
    FITTED_VALUES,
    LARGEST_LEVERAGE,
    LONG_TEXTS,
    REQUIRE_CLEAN_COPY,
    RESIDUAL_DEGREES,
    SMALLEST_CLASS_COUNT,
    ZERO_CLASSES,
)
from glassine.auditing.remedy import remedy
from glassine.auditing.size_criteria import (
    DECLARED_K,
    LEAVES_OF_ONE,
    SHARE_IN_SMALL_LEAVES,
    SMALLEST_GROUP,
    SMALLEST_INTERSECTION,
    SMALLEST_LEAF,
    SMALLEST_RELEASED_LEAF,
)
from glassine.errors import Text, first_of, marked

if TYPE_CHECKING:
    from glassine.auditing.findings.guarantee import GuaranteeFinding

AnyCriterion: TypeAlias = Criterion[Any, Any]
"""A criterion of any limit and fact."""

COUNTABLE = 50
"""Bits up to which a number of possible records is stated: floats count exactly to 2^53."""


# The largest share of one outcome.


@criterion(
    "purest_leaf",
    "shares",
    share_limit(SHARE),
    label="Largest class share",
    measures="Largest share of one class in a leaf or rule, in (0, 1]; off unless it is set: for outcomes that are "
    "themselves sensitive.",
    unmeasured="The shares of outcomes are not known: {reason}",
    by_guarantee=covered(", in pure {parts} as well"),
    remedies=for_kinds(
        ("tree", "rule list"),
        remedy("Publish labels without counts: {step}. Or {retrain} with larger leaves.", "scrub", counts="remove"),
    )
    | {
        "release": remedy(
            "Train the trees on the black box's decisions, and publish no counts: {step}.",
            "explain",
            labels="black-box",
        )
    },
    inputs=for_kinds(("tree", "rule list"), DOMAIN)
    | {"release": remedy("Pass the true labels: {step}.", "audit", python="`target=`", target=None)},
    # Of fewer records than may be shown, a share above most limits can only be all: the flag would reveal.
    flag=PartFlag(
        "pure",
        "one outcome",
        lambda limit, part, suppression: part.share is not None and not part.hidden and part.share > limit,
    ),
)
def PUREST_LEAF(limit: float, shares: LargestShares, case: Case) -> Check:
    """Judge the largest share of one outcome in a part, by what is certain of it."""
    least = [bounds[0] for bounds in shares.bounds if bounds is not None]
    pure, n = sum(share > limit for share in least), len(shares.bounds)
    parts = case.part if n == 1 else case.parts
    rounded = " The published counts are rounded, so these shares are not exact." if shares.rounded else ""
    most = max(least, default=None)
    if pure:
        return failed(
            f"In {pure:,} of {n:,} {parts}, more than {limit:.0%} of {case.counted} share "
            f"{shares.outcome}. An attacker who can place a record in one of them knows its outcome with that "
            f"confidence.{rounded}",
            most,
        )
    if doubt := shares.unsettled or case.contrary:
        return unknown(doubt)
    if any(bounds is None or bounds[1] > limit for bounds in shares.bounds):
        return unknown(
            f"No {case.part} is known to have more than {limit:.0%} of {shares.outcome}, but not all publish their "
            f"shares.{rounded}",
            most,
        )
    return passed(f"No {case.part} has more than {limit:.0%} of {shares.outcome}.{rounded}", most)


# Bits about the most exposed record.


def _remaining(bits: float, possible: float | None) -> str:
    """Return how many possible records remain after so many bits, of those of the domain where it has an end."""
    if bits >= COUNTABLE:
        return "hardly any possible record remains"
    # Three digits, as in the report: more would suggest that possible records were counted for this sentence.
    every = float(f"{2**bits:.3g}")
    if possible is None or possible >= COUNTABLE:
        return f"1 of every {every:,.{int(every < 10)}f} possible records remains"
    left, total = 2 ** (possible - bits), round(2**possible)
    remain = "remains" if round(left) == 1 else "remain"
    return f"about {max(round(left), 1):,} of {total:,} possible records {remain}"


def _bits_by_guarantee(limit: float, guarantee: GuaranteeFinding, case: Case) -> Check:
    bits = guarantee.bits_per_record or 0.0
    meaning = (
        f"The guarantee limits the change in an attacker's odds about one {guarantee.subject} to a factor of "
        f"{2**bits:.3g} ({bits:.3g} bits)."
        if bits < COUNTABLE
        else f"The guarantee limits the change in an attacker's odds about one {guarantee.subject} to {bits:.3g} bits."
    )
    # Rounded up: rounded down it would be no ceiling.
    ceiling = math.ceil(bits * 10) / 10
    return failed(meaning, ceiling) if bits > limit else passed(meaning, ceiling)


@criterion(
    "largest_bits_per_record",
    "bits",
    Limit(unit=BITS, default=None, most=1e6, range="a number of bits greater than 0 and at most 1,000,000"),
    label="Bits about the most exposed record",
    measures="Largest number of bits that an attacker may learn about the attributes of any training record: 10 "
    "bits rule out all but one in 1,024 of the possible records. Off unless it is set: it depends on the declared "
    "bounds.",
    unmeasured="What is revealed about a record was not measured: {reason}",
    by_guarantee=_bits_by_guarantee,
    remedies={
        "tree": remedy("{Retrain} with a smaller depth. Each extra condition narrows down the records in a leaf."),
        "rule list": remedy("{Retrain} with shorter rules. Each extra condition narrows down the records of a rule."),
        "additive model": remedy("Merge more bins and remove their sizes: {step}.", "scrub", smallest_leaf=None),
        "release": remedy(
            "Explain again with a smaller depth: {step}. Each extra condition narrows down the records in a leaf.",
            "explain",
            max_depth=None,
        ),
        "several models": APART,
    },
    inputs=for_kinds(("tree", "rule list"), DOMAIN) | {"several models": SAME_RECORDS},
    flag=PartFlag(
        "exposed",
        "too many bits",
        lambda limit, part, suppression: (
            part.bits is not None and math.isfinite(part.bits) and part.size != 0 and part.bits > limit
        ),
    ),
)
def LARGEST_BITS_PER_RECORD(limit: float, bits: Bits, case: Case) -> Check:
    """Judge the most exposed record by what is certain, and by what is proved not to be exceeded."""
    exact = bits.lower == bits.upper and not bits.tolerance
    least, most = bits.lower, bits.upper
    if bits.tolerance:  # A bound that a solver proves is rounded to the side on which it stays one.
        least = math.floor(least * 1000) / 1000
        most = most if most is None or math.isinf(most) else math.ceil(most * 1000) / 1000
    reveal = "models reveal" if case.kind == "several models" else "model reveals"
    if bits.lower > limit + bits.tolerance:
        meaning = f"For the most exposed record, {_remaining(bits.lower, bits.possible)}."
        return failed(meaning if exact else f"Proven: the {reveal} at least this much about some record.", least)
    if bits.upper is None or most is None:
        return unknown(bits.unsettled)
    if bits.unsettled or bits.upper > limit + bits.tolerance:
        top = f"at most {most:.3f} bits" if math.isfinite(most) else "without an upper bound"
        between = f"What is revealed about the most exposed record: at least {least:.3f} bits, {top}."
        if not bits.lower and case.kind == "additive model":
            between += " Only the data show whether any record is so exposed."
        return unknown(Text(f"{between} {marked(bits.unsettled)}".rstrip()))
    meaning = f"For the most exposed record, {_remaining(bits.upper, bits.possible)}."
    if not exact:
        meaning = f"Proven: the {reveal} at most this much about any record."
    if bits.inferred:
        return unknown(
            f"{meaning} This understates it: the domain of {first_of(bits.inferred)} is inferred from data, "
            "not public.",
            most,
        )
    return passed(meaning, most)


# The claimed guarantee.


def _judge_claim(name: str) -> Callable[[float, GuaranteeFinding, Case], Check | None]:
    """Return how a parameter of the claimed guarantee is judged; a delta of 0 is not."""

    def judge(limit: float, guarantee: GuaranteeFinding, case: Case) -> Check | None:
        value = guarantee.epsilon if name == "epsilon" else guarantee.delta
        if name == "delta" and not value:
            return None
        if value > limit:
            return failed(f"The {name} claimed by {guarantee.claimed_by} is larger than the policy allows.", value)
        if guarantee.standing == "does not hold":
            return unknown(f"The guarantee is void because of this: {'; '.join(guarantee.caveats)}.", value)
        if guarantee.standing == "not accepted":
            claimed = f"Claimed by {guarantee.claimed_by}. A model cannot prove it"
            return unknown(f"{claimed}, and the policy does not accept such claims.", value)
        return passed(f"Claimed by {guarantee.claimed_by} and accepted by the policy. It cannot be verified.", value)

    return judge


MAX_EPSILON: AnyCriterion = Criterion(
    name="max_epsilon",
    reads="claim",
    limit=Limit(unit=NUMBER, default=1.0, most=1e6, range="a number greater than 0 and at most 1,000,000"),
    judge=_judge_claim("epsilon"),
    label="Epsilon of the guarantee",
    measures="Largest epsilon of a model with a differential privacy guarantee. A guarantee within it and "
    "``max_delta`` covers the checks above in place of the model's counts and thresholds; None lets no guarantee "
    "do so.",
    unmeasured="The guarantee is not known: {reason}",
    of_claim=True,
    requests=(
        "The certificate of the guarantee, how the model was trained, and every other release from the same data.",
    ),
)

MAX_DELTA: AnyCriterion = Criterion(
    name="max_delta",
    reads="claim",
    limit=Limit(unit=NUMBER, default=1e-6, most=1.0, range="a number of at least 0 and below 1", zero=True, open=True),
    judge=_judge_claim("delta"),
    label="Failure probability (delta)",
    measures="Largest delta of such a guarantee.",
    unmeasured="The guarantee is not known: {reason}",
    of_claim=True,
)


def limited_by(criterion: Criterion[N, F], *others: AnyCriterion) -> N | None:
    """Return the field of a policy that holds the limit of a criterion, and of those that come before it."""
    return field(default=criterion.limit.default, metadata={"criteria": (*others, criterion)})


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLimits:
    """The limits of a policy, one field a criterion; None switches a check off. The criteria say what they limit."""

    share_in_small_leaves: float | None = limited_by(SHARE_IN_SMALL_LEAVES)
    leaves_of_one: int | None = limited_by(LEAVES_OF_ONE)
    smallest_group: int | None = limited_by(SMALLEST_GROUP, DECLARED_K, SMALLEST_RELEASED_LEAF, SMALLEST_INTERSECTION)
    largest_advantage: float | None = limited_by(LARGEST_ADVANTAGE)
    largest_measured_advantage: float | None = limited_by(LARGEST_MEASURED_ADVANTAGE)
    certain_by_membership: float | None = limited_by(CERTAIN_BY_MEMBERSHIP)
    named_by_thresholds: int | None = limited_by(NAMED_BY_THRESHOLDS)
    fitted_values: int | None = limited_by(FITTED_VALUES)
    tested_identifiers: int | None = limited_by(TESTED_IDENTIFIERS)
    dominance: float | None = limited_by(DOMINANCE)
    p_percent: float | None = limited_by(P_PERCENT)
    largest_contribution: float | None = limited_by(LARGEST_CONTRIBUTION)
    smallest_leaf: int | None = limited_by(SMALLEST_LEAF)
    smallest_class_count: int | None = limited_by(SMALLEST_CLASS_COUNT)
    zero_classes: int | None = limited_by(ZERO_CLASSES)
    degrees_of_freedom: int | None = limited_by(DEGREES_OF_FREEDOM, RESIDUAL_DEGREES)
    largest_leverage: float | None = limited_by(LARGEST_LEVERAGE)
    purest_leaf: float | None = limited_by(PUREST_LEAF)
    largest_bits_per_record: float | None = limited_by(LARGEST_BITS_PER_RECORD)
    thresholds_off_grid: int | None = limited_by(THRESHOLDS_OFF_GRID)
    midpoints: int | None = limited_by(MIDPOINTS)
    largest_attack_advantage: float | None = limited_by(LARGEST_ATTACK_ADVANTAGE)
    largest_mean_advantage: float | None = limited_by(LARGEST_MEAN_ADVANTAGE)
    most_certain: int | None = limited_by(MOST_CERTAIN)
    narrowest_answer: float | None = limited_by(NARROWEST_ANSWER)
    max_epsilon: float | None = limited_by(MAX_EPSILON)
    max_delta: float | None = limited_by(MAX_DELTA)
    long_texts: int | None = limited_by(LONG_TEXTS)
    require_clean_copy: bool | int | None = limited_by(REQUIRE_CLEAN_COPY)  # True, where it is on
