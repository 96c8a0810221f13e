"""The criteria of a policy, one object each. A new one is written here, and nowhere else.

What a criterion reads is :class:`~glassine.auditing.evidence.Evidence`, the same for every kind of subject. Its field
in :class:`Limits` makes it a key of the policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from glassine.attacks.outcome import Measured
from glassine.auditing.criterion import (
    BITS,
    NUMBER,
    OCCURRENCES,
    RECORDS,
    SHARE,
    VALUES,
    Criterion,
    F,
    Flag,
    Limit,
    N,
    Remedies,
    Remedy,
    Ruling,
    Words,
    failed,
    passed,
    remedy,
    unknown,
)
from glassine.auditing.evidence import Bits, Certain, Evidence, Kind, Shares, Sizes, Thresholds

if TYPE_CHECKING:
    from glassine.auditing.findings.guarantee import GuaranteeFinding
    from glassine.auditing.findings.membership import MembershipFinding

__all__ = ["AnyCriterion", "Limits", "attack_bounds", "limited_by"]

AnyCriterion: TypeAlias = Criterion[Any, Any]
"""A criterion of any limit and fact."""

MOST_COUNT = 10**15
"""Above the number of people there are, by far; larger counts are typing errors."""
WHOLE = "a whole number of at least 0"
COUNTABLE = 50
"""Bits up to which a number of possible records is stated: floats count exactly to 2^53."""


def _some(names: Sequence[str], most: int = 3) -> str:
    """Return the first few names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _joined(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _covered(addition: str = "") -> Callable[[float, GuaranteeFinding, Evidence], Ruling]:
    def by_guarantee(limit: float, guarantee: GuaranteeFinding, evidence: Evidence) -> Ruling:
        about = f"any one {guarantee.subject}"
        return passed(f"Covered by the guarantee, which limits what the model reveals about {about}{addition}.")

    return by_guarantee


# Remedies of several criteria.


def _for(kinds: Sequence[Kind], found: Remedy) -> dict[Kind, Remedy | Callable[[float], Remedy]]:
    return dict.fromkeys(kinds, found)


COUNTED = remedy("Pass the training records, so that they can be counted: {step}.", "audit", data=None)
GROUPED = remedy(
    "Pass the training records, in their order, so that groups and leaves can be counted: {step}.", "audit", data=None
)
DOMAIN = remedy(
    "Pass a domain: {step}. Replace its inferred ranges and categories by public ones.",
    "audit",
    python="`domain=`, drafted with `infer_domain`",
    domain=None,
)
PRIVATE_RELEASE = remedy(
    "Explain again with larger groups, or with differential privacy: {step}.",
    "explain",
    epsilon=None,
    partition="public",
)


# How many records stand behind a part.


def _judge_sizes(limit: int, sizes: Sizes, evidence: Evidence) -> Ruling:
    """Judge the fewest records of a part: a small one fails it, whatever is not known of the others."""
    held = [size for kind in sizes.parts for size in kind.sizes]
    small = [size for size in held if size < limit]
    if small:
        counted = []
        for kind in sizes.parts:
            n = sum(size < limit for size in kind.sizes)
            if n:
                counted.append(f"{n:,} of {len(kind.sizes):,} {kind.one if len(kind.sizes) == 1 else kind.more}")
        verb = "holds" if len(small) == 1 else "hold"
        return failed(f"{_joined(counted)} {verb} fewer than {limit:,} {evidence.counted}.", min(small))
    if sizes.unsettled:
        return unknown(sizes.unsettled)
    if not held:
        return unknown("All published counts are zero, so the model says nothing about any record.")
    fewest = min(held) if sizes.fewest is None else sizes.fewest
    return passed(f"Every non-empty {sizes.parts[0].one} holds at least {limit:,} {evidence.counted}.", fewest)


SMALLEST = Limit(unit=RECORDS, default=10, most=MOST_COUNT, range=WHOLE, whole=True, zero=True, fewest=True)

SMALLEST_LEAF: Criterion[int, Sizes] = Criterion(
    name="smallest_leaf",
    limit=SMALLEST,
    words=Words(
        label="Smallest {part}",
        measures="Fewest training records that a leaf or rule may hold; fewest people, where persons are stated.",
        unmeasured="How many records stand behind it is not known: {reason}",
    ),
    reads=lambda evidence: evidence.sizes,
    judge=_judge_sizes,
    by_guarantee=_covered(", however small the leaf"),
    remedies={
        "tree": lambda limit: remedy(
            f"Merge leaves with fewer than {limit} records: {{step}}. Or retrain with `min_samples_leaf={limit}`.",
            "scrub",
            smallest_leaf=limit,
        ),
        "rule list": remedy("Retrain with a larger minimum support, or remove the rules that capture few records."),
        "additive model": lambda limit: remedy(
            f"Merge bins with fewer than {limit} records and remove their sizes: {{step}}.",
            "scrub",
            smallest_leaf=limit,
        ),
        "release": lambda limit: remedy(
            f"Explain again with leaves of at least {limit} records: {{step}}.", "explain", min_samples_leaf=limit
        ),
        "release as published": lambda limit: remedy(
            f"Explain again in the restricted form, with leaves of at least {limit} records: {{step}}.",
            "explain",
            form="restricted",
            min_samples_leaf=limit,
        ),
    },
    inputs=_for(("tree", "rule list", "additive model"), COUNTED) | {"release": GROUPED},
    # A limit below what may be shown would tell more of a hidden size than that it is hidden.
    flag=Flag(
        "small",
        "few records",
        lambda limit, part, suppression: (
            bool(part.size) and (part.size or 0) < limit and not (part.hidden and limit < suppression.below)
        ),
    ),
)


DECLARED_K: Criterion[int, Sizes] = Criterion(
    name="declared_k",
    limit=SMALLEST,
    words=Words(
        label="Smallest group, as the release declares",
        measures="Fewest records of a group that the release itself declares.",
        unmeasured="How many records stand behind it is not known: {reason}",
    ),
    reads=lambda evidence: evidence.groups,
    judge=_judge_sizes,
    stated=lambda evidence: evidence.declared_k,
    remedies={"release": remedy("Do not publish it: groups hold fewer records than the release declares.")},
    inputs={"release": GROUPED},
)

SMALLEST_GROUP: Criterion[int, Sizes] = Criterion(
    name="smallest_group",
    limit=SMALLEST,
    limit_of="smallest_leaf",
    words=Words(
        label="Smallest group",
        measures="Fewest training records behind a representative record.",
        unmeasured="How many records stand behind it is not known: {reason}",
    ),
    reads=lambda evidence: evidence.groups,
    judge=_judge_sizes,
    remedies={
        "release": lambda limit: remedy(
            f"Explain again with groups of at least {limit} records: {{step}}.", "explain", k=limit
        )
    },
    inputs={"release": GROUPED},
)


# The largest share of one outcome.


def _judge_shares(limit: float, shares: Shares, evidence: Evidence) -> Ruling:
    """Judge the largest share of one outcome in a part, by what is certain of it."""
    least = [bounds[0] for bounds in shares.bounds if bounds is not None]
    pure = sum(share > limit for share in least)
    parts = evidence.part if len(least) == 1 else evidence.parts
    rounded = " The published counts are rounded, so these shares are not exact." if shares.rounded else ""
    most = max(least, default=None)
    if pure:
        return failed(
            f"In {pure:,} of {len(least):,} {parts}, more than {limit:.0%} of {evidence.counted} share "
            f"{shares.outcome}. An attacker who can place a record in one of them knows its outcome with that "
            f"confidence.{rounded}",
            most,
        )
    if shares.unsettled:
        return unknown(shares.unsettled)
    if any(bounds is None or bounds[1] > limit for bounds in shares.bounds):
        return unknown(
            f"No {evidence.part} is known to have more than {limit:.0%} of {shares.outcome}, but not all publish their "
            f"shares.{rounded}",
            most,
        )
    return passed(f"No {evidence.part} has more than {limit:.0%} of {shares.outcome}.{rounded}", most)


PUREST_LEAF: Criterion[float, Shares] = Criterion(
    name="purest_leaf",
    limit=Limit(unit=SHARE, default=0.9, most=1, range="a share greater than 0 and at most 1"),
    words=Words(
        label="Largest class share",
        measures="Largest share of one class in a leaf or rule, in (0, 1].",
        unmeasured="The shares of outcomes are not known: {reason}",
    ),
    reads=lambda evidence: evidence.shares,
    judge=_judge_shares,
    by_guarantee=_covered(", in pure leaves as well"),
    remedies=_for(
        ("tree", "rule list"),
        remedy("Publish labels without counts: {step}. Or merge the pure leaves.", "scrub", counts="remove"),
    )
    | {
        "release": remedy(
            "Train the trees on the black box's decisions, and publish no counts: {step}.",
            "explain",
            labels="black-box",
        )
    },
    inputs=_for(("tree", "rule list"), DOMAIN)
    | {"release": remedy("Pass the true labels: {step}.", "audit", python="`y=`", target=None)},
    # Of fewer records than may be shown, a share above most limits can only be all: the flag would tell.
    flag=Flag(
        "pure",
        "one outcome",
        lambda limit, part, suppression: part.share is not None and not part.hidden and part.share > limit,
    ),
)


# Bits about the most exposed record.


def _remaining(bits: float, possible: float | None) -> str:
    """Return how many possible records remain after so many bits, of those of the domain where it has an end."""
    if bits >= COUNTABLE:
        return "hardly any possible record remains"
    every = float(f"{2**bits:.3g}")
    if possible is None or possible >= COUNTABLE:
        return f"1 of every {every:,.{int(every < 10)}f} possible records remains"
    left, total = 2 ** (possible - bits), round(2**possible)
    remain = "remains" if round(left) == 1 else "remain"
    return f"about {max(round(left), 1):,} of {total:,} possible records {remain}"


def _judge_bits(limit: float, bits: Bits, evidence: Evidence) -> Ruling:
    """Judge the most exposed record by what is certain, and by what is proved not to be exceeded."""
    exact = bits.lower == bits.upper and not bits.tolerance
    least, most = bits.lower, bits.upper
    if bits.tolerance:  # A bound that a solver proves is rounded to the side on which it stays one.
        least = math.floor(least * 1000) / 1000
        most = most if most is None or math.isinf(most) else math.ceil(most * 1000) / 1000
    reveal = "models reveal" if evidence.kind == "several models" else "model reveals"
    if bits.lower > limit + bits.tolerance:
        meaning = f"For the most exposed record, {_remaining(bits.lower, bits.possible)}."
        return failed(meaning if exact else f"Proven: the {reveal} at least this much about some record.", least)
    if bits.upper is None or most is None:
        return unknown(bits.unsettled)
    if bits.unsettled or bits.upper > limit + bits.tolerance:
        top = f"at most {most:.3f} bits" if math.isfinite(most) else "without an upper bound"
        between = f"What is revealed about the most exposed record: at least {least:.3f} bits, {top}."
        if not bits.lower and evidence.kind == "additive model":
            between += " Only the data show whether any record is so exposed."
        return unknown(f"{between} {bits.unsettled}".rstrip())
    meaning = f"For the most exposed record, {_remaining(bits.upper, bits.possible)}."
    if not exact:
        meaning = f"Proven: the {reveal} at most this much about any record."
    if bits.inferred:
        return unknown(
            f"{meaning} This understates it: the domain of {_some(bits.inferred)} is inferred from data, not public.",
            most,
        )
    return passed(meaning, most)


def _bits_by_guarantee(limit: float, guarantee: GuaranteeFinding, evidence: Evidence) -> Ruling:
    bits = guarantee.bits_per_record or 0.0
    meaning = (
        f"The guarantee limits the change in an attacker's odds about one {guarantee.subject} to a factor of "
        f"{2**bits:.3g} ({bits:.3g} bits)."
        if bits < COUNTABLE
        else f"The guarantee limits the change in an attacker's odds about one {guarantee.subject} to {bits:.3g} bits."
    )
    shown = math.ceil(bits * 10) / 10
    return failed(meaning, shown) if bits > limit else passed(meaning, shown)


LARGEST_BITS_PER_RECORD: Criterion[float, Bits] = Criterion(
    name="largest_bits_per_record",
    limit=Limit(unit=BITS, default=10.0, most=1e6, range="a number of bits greater than 0 and at most 1,000,000"),
    words=Words(
        label="Bits about the most exposed record",
        measures="Largest number of bits that an attacker may learn about the attributes of any training record: 10 "
        "bits rule out all but one in 1,024 of the possible records.",
        unmeasured="What is revealed about a record was not measured: {reason}",
    ),
    reads=lambda evidence: evidence.bits,
    judge=_judge_bits,
    by_guarantee=_bits_by_guarantee,
    remedies={
        "tree": remedy("Retrain with a smaller depth. Each extra condition narrows down the records in a leaf."),
        "rule list": remedy("Retrain with shorter rules. Each extra condition narrows down the records of a rule."),
        "additive model": remedy("Merge more bins and remove their sizes: {step}.", "scrub", smallest_leaf=None),
        "release": remedy(
            "Explain again with a smaller depth: {step}. Each extra condition narrows down the records in a leaf.",
            "explain",
            max_depth=None,
        ),
    },
    inputs=_for(("tree", "rule list"), DOMAIN),
    flag=Flag(
        "exposed",
        "too many bits",
        lambda limit, part, suppression: (
            part.bits is not None and math.isfinite(part.bits) and part.size != 0 and part.bits > limit
        ),
    ),
)


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
            meaning = f"{_joined(thresholds.kinds)} {'is' if one else 'are'} not public"
        can = f"so {'it' if one else 'they'} can reveal training values"
        meaning += f": the domain of {_some(inferred)} was inferred from data." if inferred else f", {can}."
    if n - thresholds.n_inferred > limit:
        if thresholds.bounded:
            return unknown(f"{meaning} If the guarantee that is claimed holds, it limits what they reveal.", n)
        return failed(meaning, n)
    if not thresholds.complete:
        return unknown("Which published values are public was not measured: it needs a domain.")
    if inferred:
        doubt = f"The cut points of {_some(inferred)} are not public: their domain was inferred from data."
        return unknown(meaning if n else doubt, n)
    return passed(meaning, n)


def _private_by_guarantee(limit: int, guarantee: GuaranteeFinding, evidence: Evidence) -> Ruling:
    """Return that the guarantee covers them, with what was measured; without a domain nothing was."""
    ruling, fact = _covered(", by thresholds as well")(limit, guarantee, evidence), evidence.thresholds
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
    inputs=_for(("tree", "rule list", "additive model"), DOMAIN),
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
    meaning = _covered(", by thresholds as well")(limit, guarantee, evidence).meaning
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
    inputs=_for(("tree", "rule list"), DOMAIN) | {"release": GROUPED},
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
    shown = math.ceil(ceiling * 1000) / 1000
    meaning = "By the guarantee, the advantage of any attack is at most this."
    return failed(meaning, shown) if ceiling > limit else passed(meaning, shown)


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
    remedies=_for(
        ("tree", "rule list"),
        remedy(
            "Retrain a smaller model, or a private one with {step}. This model fits its training records too closely.",
            "fit",
            python="`PrivateTreeClassifier` or `PrivateRuleListClassifier`",
        ),
    )
    | {"release": PRIVATE_RELEASE},
    inputs=_for(("tree", "rule list", "release"), HELD_OUT),
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
    by_guarantee=_covered(", the sensitive attribute included"),
    remedies=_for(
        ("tree", "rule list"),
        remedy(
            "Merge pure leaves or remove counts, and see what it costs: {step}. Or train a private tree.",
            "disclose",
            python="`measure_remedies`",
            remedies=True,
        ),
    )
    | {"release": PRIVATE_RELEASE},
    inputs=_for(
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


# The claimed guarantee.


def _judge_claim(name: str) -> Callable[[float, GuaranteeFinding, Evidence], Ruling | None]:
    """Return how a parameter of the claimed guarantee is judged; a delta of 0 is not."""

    def judge(limit: float, guarantee: GuaranteeFinding, evidence: Evidence) -> Ruling | None:
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


def _claim(evidence: Evidence) -> Measured[GuaranteeFinding] | None:
    return None if evidence.guarantee is None else Measured(evidence.guarantee)


MAX_EPSILON: Criterion[float, Any] = Criterion(
    name="max_epsilon",
    limit=Limit(unit=NUMBER, default=1.0, most=1e6, range="a number greater than 0 and at most 1,000,000"),
    words=Words(
        label="Epsilon of the guarantee",
        measures="Largest epsilon of a model with a differential privacy guarantee. A guarantee within it and "
        "``max_delta`` covers the checks above in place of the model's counts and thresholds; None lets no guarantee "
        "do so.",
        unmeasured="The guarantee is not known: {reason}",
    ),
    reads=_claim,
    judge=_judge_claim("epsilon"),
    of_claim=True,
)

MAX_DELTA: Criterion[float, Any] = Criterion(
    name="max_delta",
    limit=Limit(unit=NUMBER, default=1e-6, most=1.0, range="a number of at least 0 and below 1", zero=True, open=True),
    words=Words(
        label="Failure probability (delta)",
        measures="Largest delta of such a guarantee.",
        unmeasured="The guarantee is not known: {reason}",
    ),
    reads=_claim,
    judge=_judge_claim("delta"),
    of_claim=True,
)


def limited_by(criterion: Criterion[N, F], *beside: AnyCriterion) -> N | None:
    """Return the field of a policy that holds the limit of a criterion, and of those that come before it.

    Parameters
    ----------
    criterion : Criterion
        The criterion; its name is that of the field.
    *beside : Criterion
        Criteria that have no key of their own: they take this limit, or one that the subject states.
    """
    return field(default=criterion.limit.default, metadata={"criteria": (*beside, criterion)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a policy, one field a criterion; None switches a check off. The criteria say what they limit."""

    smallest_leaf: int | None = limited_by(SMALLEST_LEAF, DECLARED_K, SMALLEST_GROUP)
    purest_leaf: float | None = limited_by(PUREST_LEAF)
    largest_bits_per_record: float | None = limited_by(LARGEST_BITS_PER_RECORD)
    thresholds_off_grid: int | None = limited_by(THRESHOLDS_OFF_GRID)
    midpoints: int | None = limited_by(MIDPOINTS)
    largest_advantage: float | None = limited_by(LARGEST_ADVANTAGE)
    most_certain: int | None = limited_by(MOST_CERTAIN)
    max_epsilon: float | None = limited_by(MAX_EPSILON)
    max_delta: float | None = limited_by(MAX_DELTA)
