"""Judging: what was measured against a policy, the verdict, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from glassine.attacks.outcome import Below, Failed, Measured, NotApplicable, Outcome
from glassine.attacks.values import ValueLeakage
from glassine.auditing.findings import Check, GuaranteeFinding, MembershipFinding, Verdict
from glassine.auditing.policy import Policy
from glassine.auditing.suppression import Suppression
from glassine.domain import Domain
from glassine.models import DecisionTree, RuleList

__all__ = [
    "STRANGERS",
    "about_guarantee",
    "advise",
    "answered_checks",
    "check_bits",
    "check_certain",
    "check_guarantee",
    "check_membership",
    "check_purity",
    "check_sizes",
    "check_values",
    "contradiction",
    "decide",
    "noise_reason",
]


NOBODY = "The model's counts are all zero: it tells of no record."
STRANGERS = "The data given are not the training records: parts capture other numbers of them than the model says."

CLAIMS = {"max_epsilon", "max_delta"}

Status: TypeAlias = Literal["pass", "fail", "unknown"]


def _some(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _thresholds(count: int) -> str:
    return "1 threshold" if count == 1 else f"{count} thresholds"


def _nouns(model: DecisionTree | RuleList) -> tuple[str, str]:
    return ("leaf", "leaves") if isinstance(model, DecisionTree) else ("rule", "rules")


def _status(broken: bool) -> Status:
    return "fail" if broken else "pass"


def noise_reason(found: GuaranteeFinding) -> str:
    """Return why noisy counts measure nothing, and what bounds them."""
    bounded = "nothing bounds what they tell" if found.caveats else "the guarantee bounds what they tell, if it holds"
    return f"the published counts carry noise of scale {found.count_scale:g} records; {bounded}."


def check_guarantee(policy: Policy, found: GuaranteeFinding | None) -> list[Check]:
    """Judge ``max_epsilon``, and ``max_delta`` where delta is not 0; nothing where no guarantee is claimed."""
    if found is None:
        return []
    out = []
    for rule, limit, value in (
        ("max_epsilon", policy.max_epsilon, found.epsilon),
        ("max_delta", policy.max_delta, found.delta),
    ):
        if limit is None or (rule == "max_delta" and not value):
            continue
        what = rule.removeprefix("max_")
        status: Status = "pass" if found.standing in ("accepted", "too weak") else "unknown"
        meaning = f"Claimed by {found.claimed_by}, and accepted by the policy. The audit cannot verify it."
        if value > limit:
            status, meaning = "fail", f"Even the claimed {what} is larger than allowed."
        elif found.standing == "does not hold":
            meaning = f"The guarantee does not hold as stated: {'; '.join(found.caveats)}."
        elif status == "unknown":
            meaning = (
                f"Claimed by {found.claimed_by}. The model cannot prove it, and the policy does not accept such claims."
            )
        out.append(Check(rule=rule, limit=limit, measured=value, status=status, meaning=meaning))
    return out


def answered_checks(policy: Policy, found: GuaranteeFinding, values: ValueLeakage) -> list[Check]:
    """Judge every rule on the model by an accepted guarantee: its counts, thresholds and regions are one release."""
    covered = f"Answered by the guarantee, which bounds what the model tells about any one {found.subject}"
    bits = found.bits_per_record or 0.0
    told = next((bound.value for bound in found.bounds if bound.name == "membership advantage"), 1.0)
    odds = f"a reader's odds about one {found.subject}"
    moved = f"At most, by the guarantee: {odds} move by a factor of at most 2^{bits:.3g}."
    answers: list[tuple[str, float | None, float | None, str]] = [
        ("smallest_leaf", policy.smallest_leaf, None, f"{covered}, however few a part captured."),
        ("purest_leaf", policy.purest_leaf, None, f"{covered}, in parts of one outcome, too."),
        ("largest_bits_per_record", policy.largest_bits_per_record, math.ceil(bits * 10) / 10, moved),
        ("thresholds_off_grid", policy.thresholds_off_grid, values.n_off_grid, f"{covered}, by thresholds, too."),
        ("most_certain", policy.most_certain, None, f"{covered}, the sensitive attribute, too."),
    ]
    if values.n_midpoints is not None:
        answers.append(("midpoints", policy.midpoints, values.n_midpoints, f"{covered}, by thresholds, too."))
    ceiling = math.ceil(told * 1000) / 1000
    answers.append(
        ("largest_advantage", policy.largest_advantage, ceiling, "At most, by the guarantee, of any attack.")
    )
    worst = {"largest_bits_per_record": bits, "largest_advantage": told}
    return [
        Check(
            rule=rule,
            limit=limit,
            measured=measured,
            status=_status(worst.get(rule, 0.0) > limit),
            meaning=meaning,
            basis="guarantee",
        )
        for rule, limit, measured, meaning in answers
        if limit is not None
    ]


def check_sizes(
    model: DecisionTree | RuleList, policy: Policy, shown: Suppression, sizes: Sequence[int | None], strangers: bool
) -> list[Check]:
    """Judge ``smallest_leaf``; ``sizes`` are the records of each part, None where they are not known.

    ``strangers`` says that the data given are not the training records, so that one of the two is wrong.
    """
    limit, rule = policy.smallest_leaf, "smallest_leaf"
    if limit is None:
        return []
    noun, nouns = _nouns(model)
    if any(size is None for size in sizes):
        meaning = "The model does not publish exactly how many records each part captured. Give the data to judge it."
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)]
    held = [size for size in sizes if size]
    if not held:
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=NOBODY)]
    small = sum(size < limit for size in held)
    meaning = f"Every {noun} was made from at least {limit} people."
    if small:
        made = "was" if small == 1 else "were"
        meaning = f"{small} of {len(held)} {nouns} {made} made from fewer than {limit} people."
    if strangers and not small:
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=STRANGERS)]
    status = _status(small > 0)
    return [Check(rule=rule, limit=limit, measured=shown.count(min(held)), status=status, meaning=meaning)]


def check_purity(
    model: DecisionTree | RuleList, policy: Policy, shown: Suppression, labels: Outcome[Any], noise: str | None = None
) -> list[Check]:
    """Judge ``purest_leaf`` on the shares that the model publishes: its reader sees no others.

    ``noise`` says why they measure nothing, where the counts are noisy.
    """
    top, rule = policy.purest_leaf, "purest_leaf"
    if top is None:
        return []
    noun, nouns = _nouns(model)
    if noise is not None:
        meaning = f"The shares of outcomes are not known: {noise}"
        return [Check(rule=rule, limit=top, measured=None, status="unknown", meaning=meaning)]
    held = [cell.evidence for cell in model.cells if cell.evidence.size != 0]
    if isinstance(model, DecisionTree) and any(evidence.counts is None for evidence in held):
        held += [node.evidence for node in model.nodes if node.branches and node.evidence.size != 0]
    n_classes = None if model.classes is None else len(model.classes)
    purities = [evidence.purity(n_classes) for evidence in held]
    known = [purity[0] for purity in purities if purity is not None]
    if model.classes is None:
        known = [share for share in known if share == 1]
        purities = [(share, share) for share in known]
    if any(evidence.weighted for evidence in held) and not any(share > top for share in known):
        meaning = f"The model publishes shares of outcomes by weight; those of the people in a {noun} are not known."
        return [Check(rule=rule, limit=top, measured=None, status="unknown", meaning=meaning)]
    if not held:
        return [Check(rule=rule, limit=top, measured=None, status="unknown", meaning=NOBODY)]
    if not known:
        reason = labels.reason if isinstance(labels, NotApplicable | Failed) else "there is none."
        meaning = f"No share of an outcome is published: {reason}"
        return [Check(rule=rule, limit=top, measured=None, status="pass", meaning=meaning)]
    measured, pure = shown.share(max(known)), sum(purity > top for purity in known)
    doubt = " The published counts are rounded, so these shares are not exact." if model.approximate else ""
    if pure:
        meaning = (
            f"In {pure} of {len(known)} {nouns} more than {top:.0%} have the same outcome: who is known to fall there "
            f"has a known outcome.{doubt}"
        )
        return [Check(rule=rule, limit=top, measured=measured, status="fail", meaning=meaning)]
    if len(known) < len(purities) or any(purity is not None and purity[1] > top for purity in purities):
        meaning = (
            f"No {noun} is seen to have more than {top:.0%} of one outcome, but not all publish their shares.{doubt}"
        )
        return [Check(rule=rule, limit=top, measured=measured, status="unknown", meaning=meaning)]
    meaning = f"No {noun} has more than {top:.0%} of one outcome.{doubt}"
    return [Check(rule=rule, limit=top, measured=measured, status="pass", meaning=meaning)]


def check_bits(
    policy: Policy,
    learned: Sequence[float] | None,
    sizes: Sequence[int | None],
    unmeasured: str,
    inferred: Sequence[str],
) -> list[Check]:
    """Judge ``largest_bits_per_record``.

    ``unmeasured`` says why bits are not known when ``learned`` is None. ``inferred`` names the tested attributes whose
    domain was taken from data: such a domain is too narrow, so the bits are a lower bound.
    """
    limit, rule = policy.largest_bits_per_record, "largest_bits_per_record"
    if limit is None:
        return []
    if learned is None:
        meaning = f"What is learned about a record was not measured: {unmeasured}"
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)]
    # An empty region of unknown size can hold nobody; one that claims records contradicts the domain.
    held = [b for b, size in zip(learned, sizes, strict=True) if size or (size is None and math.isfinite(b))]
    if not held:
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=NOBODY)]
    largest = max(held)
    if math.isinf(largest):
        meaning = "A part holds records where the domain allows none: the domain contradicts the model."
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)]
    meaning = "For the most exposed person, hardly any possible record still fits."
    if largest < 50:
        every = float(f"{2**largest:.3g}")
        meaning = f"For the most exposed person, 1 of every {every:,.{int(every < 10)}f} possible records still fits."
    if inferred and not largest > limit:
        meaning += f" At least: the domain of {_some(inferred)} is not public but inferred from data."
        return [Check(rule=rule, limit=limit, measured=round(largest, 3), status="unknown", meaning=meaning)]
    status = _status(largest > limit)
    return [Check(rule=rule, limit=limit, measured=round(largest, 3), status=status, meaning=meaning)]


def check_values(policy: Policy, values: ValueLeakage, inferred: Sequence[str], strangers: bool) -> list[Check]:
    """Judge ``thresholds_off_grid``, and ``midpoints`` where the data were given.

    ``inferred`` names the attributes with thresholds whose domain was taken from data; ``strangers`` as in
    :func:`check_sizes`.
    """
    checks = []
    limit, rule = policy.thresholds_off_grid, "thresholds_off_grid"
    if limit is not None and not values.n_thresholds:
        meaning = "The model has no threshold on a number."
        checks.append(Check(rule=rule, limit=limit, measured=0, status="pass", meaning=meaning))
    elif limit is not None and values.n_off_grid is None:
        meaning = "Which thresholds are public was not measured: it needs a domain."
        checks.append(Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning))
    elif limit is not None and values.n_off_grid is not None:
        meaning = "Every threshold is a public cut point."
        if values.n_off_grid:
            one = values.n_off_grid == 1
            points = "is not a public cut point" if one else "are not public cut points"
            meaning = f"{values.n_off_grid} of {_thresholds(values.n_thresholds)} {points}"
            taken = f"so {'it was' if one else 'they were'} taken from training values"
            meaning += f": the domain of {_some(inferred)} was inferred from data." if inferred else f", {taken}."
        # What a public domain with the same bounds has as a cut point may be one, and breaks nothing.
        status: Status = _status(values.n_off_grid - values.n_inferred > limit)
        if inferred and status == "pass":
            status = "unknown"
        checks.append(Check(rule=rule, limit=limit, measured=values.n_off_grid, status=status, meaning=meaning))
    limit, hits = policy.midpoints, values.n_midpoints
    if limit is not None and hits is not None:
        meaning = "No threshold is the midpoint of two training values."
        if hits:
            at = "is" if hits == 1 else "are"
            meaning = (
                f"{hits} of {_thresholds(values.n_thresholds)} {at}, bit for bit, the midpoint of two training values."
            )
        status = _status(hits > limit)
        if strangers and status == "pass":
            status, meaning = "unknown", STRANGERS
        checks.append(Check(rule="midpoints", limit=limit, measured=hits, status=status, meaning=meaning))
    elif limit is not None and values.n_thresholds and not _covered(policy, values, inferred):
        meaning = "Whether thresholds are midpoints of training values was not measured: it needs the data."
        checks.append(Check(rule="midpoints", limit=limit, measured=None, status="unknown", meaning=meaning))
    return checks


OVERLAP = "The holdout holds members, or their like, so that an attack cannot tell them apart: take other records."


def check_membership(policy: Policy, membership: Outcome[MembershipFinding], *, strangers: bool = False) -> list[Check]:
    """Judge ``largest_advantage`` by the attacks' confidence bounds.

    Nothing is kept by data that are not the training records (``strangers``), by a holdout that differs from the
    members or holds some of them, or by attacks that are wrong more often than right.
    """
    limit, rule = policy.largest_advantage, "largest_advantage"
    if limit is None:
        return []
    if not isinstance(membership, Measured):
        meaning = f"Whether a reader can tell who was in the data was not measured: {membership.reason}"
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)]
    found = membership.value
    bounds = _advantages(found)
    if not bounds:
        meaning = "No membership attack could be made."
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)]
    measured = None if found.best is None else found.best.advantage
    low, high = max(low for low, _, _ in bounds), max(high for _, _, high in bounds)
    # A difference that is there without the model explains at most so much of an advantage.
    explained = abs(2 * (found.shift_auc or 0.5) - 1) if found.shifted else 0.0
    doubt = STRANGERS if strangers else OVERLAP if found.overlap else ""
    if found.shifted and not doubt:
        doubt = "Members and holdout differ already without the model: take a holdout of the same population."
    if any(upper < 0 for _, _, upper in bounds) and not doubt:
        doubt = "An attack is wrong more often than right: the holdout is easier than the training records."
    status: Status = "unknown"
    meaning = doubt or f"The attacks leave open whether it is larger: it may be up to {high:.3g}. Give more records."
    if low > limit + explained:
        status, meaning = "fail", f"An attack tells members from others better than allowed: by at least {low:.3g}."
    elif high <= limit and not doubt:
        status, meaning = "pass", f"No attack that was made tells members from others by more than {high:.3g}."
    return [Check(rule=rule, limit=limit, measured=measured, status=status, meaning=meaning)]


def check_certain(policy: Policy, shown: Suppression, certain: Outcome[int], *, doubt: str = "") -> list[Check]:
    """Judge ``most_certain`` by the people of whose sensitive value a reader is certain.

    Nothing is kept where a reader may learn more than was measured: ``doubt`` says why.
    """
    limit, rule = policy.most_certain, "most_certain"
    if limit is None:
        return []
    if not isinstance(certain, Measured):
        meaning = f"What a reader learns of the sensitive attribute was not measured: {certain.reason}"
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)]
    n = certain.value
    measured = Below(shown.below) if 0 < n < shown.below else shown.rough(n)
    status: Status = _status(n > limit)
    meaning = "By the estimate, a reader is certain of the sensitive value of no more people than allowed."
    if status == "fail":
        meaning = (
            "A reader who knows everybody's quasi-identifiers is certain of the sensitive value of too many people."
        )
    elif doubt:
        status, meaning = "unknown", f"A reader may learn more than was measured: {doubt}"
    return [Check(rule=rule, limit=limit, measured=measured, status=status, meaning=meaning)]


def contradiction(found: GuaranteeFinding | None, membership: Outcome[MembershipFinding]) -> str | None:
    """Return how the attacks contradict a guarantee, if they do: a caveat for it."""
    if found is None or found.caveats or not isinstance(membership, Measured):
        return None
    ceiling = next((bound.value for bound in found.bounds if bound.name == "membership advantage"), 1.0)
    attacks = membership.value
    explained = abs(2 * (attacks.shift_auc or 0.5) - 1) if attacks.shifted else 0.0
    low = max((low for low, _, _ in _advantages(attacks)), default=0.0)
    if not low > ceiling + explained:
        return None
    return f"contradicted by the data: a membership advantage of at least {low:.3g}, where it allows {ceiling:.3g}"


def _advantages(found: MembershipFinding) -> list[tuple[float, float, float]]:
    """Return lower bound, advantage and upper bound of the attacks that were made."""
    return [
        (attack.advantage_low, attack.advantage, attack.advantage_high)
        for attack in found.attacks
        if attack.advantage_low is not None and attack.advantage is not None and attack.advantage_high is not None
    ]


def _covered(policy: Policy, values: ValueLeakage, inferred: Sequence[str]) -> bool:
    """Return whether the rule on public cut points already decides about midpoints, or is as unknown as they are."""
    limit, off = policy.thresholds_off_grid, values.n_off_grid
    if limit is not None and (off is None or off > limit or inferred):
        return True
    return off == 0 and not inferred


def decide(checks: Sequence[Check]) -> Verdict:
    """Return the verdict: a broken rule outweighs an unknown one, and no rule at all tells nothing."""
    if any(check.status == "fail" for check in checks):
        return "outside policy"
    if not checks or any(check.status == "unknown" for check in checks):
        return "inconclusive"
    return "within policy"


def advise(
    checks: Sequence[Check],
    policy: Policy,
    domain: Domain | None,
    model: DecisionTree | RuleList,
    found: GuaranteeFinding | None = None,
) -> tuple[str, ...]:
    """Return what to do next, one sentence for each kind of remedy."""
    broken = {check.rule for check in checks if check.status == "fail"}
    unknown = {check.rule for check in checks if check.status == "unknown"}
    out = []
    if "smallest_leaf" in broken:
        out.append(
            f"Merge small leaves (`glassine scrub --smallest-leaf {policy.smallest_leaf}`), or learn again with "
            "min_samples_leaf."
            if isinstance(model, DecisionTree)
            else "Learn again with a larger minimum support, or drop the rules that capture few records."
        )
    if "purest_leaf" in broken:
        out.append("Publish labels without counts (`glassine scrub --counts remove`), or merge the pure leaves.")
    if "largest_bits_per_record" in broken:
        out.append("Learn a shallower model: every condition on a path tells more about those who took it.")
    if broken & {"thresholds_off_grid", "midpoints"}:
        out.append("Round thresholds to public cut points (`glassine scrub`; `--target` measures what it costs).")
    if "largest_advantage" in broken:
        out.append(
            "Learn a smaller model, or a private one (`glassine fit`): members stand out by how well it fits them."
        )
    if "most_certain" in broken:
        out.append(
            "Merge pure leaves or remove counts, and see what it costs (`glassine disclose --remedies`), or learn a "
            "private tree (`glassine fit`)."
        )
    about = about_guarantee(broken, unknown, policy, found)
    out += about
    if "smallest_leaf" in unknown and not about:
        out.append("Give the training records (`--data`), so that the leaves can be counted.")
    if "largest_advantage" in unknown and not about:
        out.append("Give more records that were not used for training, of the same population (`--holdout`).")
    if "most_certain" in unknown and not about:
        out.append(
            "Name the sensitive attribute, give the training records, and say by which criterion splits were "
            "selected (`--sensitive`, `--data`, `--criterion`)."
        )
    if unknown - {"smallest_leaf", "largest_advantage", "most_certain", *CLAIMS} and domain is None:
        out.append("Give a domain (`--domain`): start from `glassine domain infer` and replace what the data told.")
    elif domain is not None and domain.inferred:
        out.append("Replace the inferred bounds and categories of the domain by public ones.")
    return tuple(out)


def about_guarantee(broken: set[str], unknown: set[str], policy: Policy, found: GuaranteeFinding | None) -> list[str]:
    """Return what to do about a guarantee that is too weak, doubtful or not accepted."""
    if found is None:
        return []
    if broken & CLAIMS or (found.standing == "accepted" and "largest_bits_per_record" in broken):
        return [f"Learn again with a smaller privacy budget: epsilon at most {policy.max_epsilon or found.epsilon:g}."]
    if found.standing == "does not hold":
        return ["Learn again without what the guarantee's caveats name, so that it holds."]
    if unknown & CLAIMS:
        return [
            "Check the model's certificate against what is known of how it was learned; if you trust it, say "
            "`accept_guarantee = true` in the policy."
        ]
    return []
