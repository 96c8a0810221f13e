"""What was measured of a release against a policy, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glassine.attacks.outcome import Measured, NotApplicable, Outcome
from glassine.attacks.values import ValueLeakage
from glassine.auditing.describe import describe_guarantee
from glassine.auditing.findings import Check, GuaranteeFinding, MembershipFinding, TogetherFinding
from glassine.auditing.judging import (
    about_guarantee,
    answered_checks,
    check_certain,
    check_guarantee,
    check_membership,
    check_values,
)
from glassine.auditing.policy import Policy
from glassine.auditing.suppression import Suppression
from glassine.surrogates.evidence import DECISIONS, Evidence, Leaves
from glassine.surrogates.group_privacy import sizes_of

__all__ = ["advise", "certain_of", "claimed", "guarantee_of", "judge"]

UNSIZED = "How many people stand behind it is not known: {}"
ANSWERS = "The trees were trained on the black box's decisions, which anybody can ask for with a record."


def guarantee_of(known: Evidence, policy: Policy) -> GuaranteeFinding | None:
    """Return the differential privacy that is claimed for the release as a whole; None where none is."""
    release = known.release
    certificate = release.certificate
    if certificate is None or not certificate.holds or release.provenance.partition != "public":
        return None
    return describe_guarantee(release.trees[0], policy)


def claimed(known: Evidence) -> str:
    """Return what is claimed of the privacy of a release, in words."""
    certificate = known.release.certificate
    if certificate is None:
        return "No differential privacy is claimed."
    if not certificate.holds:
        why = "; ".join(caveat.removeprefix("not private: ") for caveat in certificate.caveats)
        return f"No differential privacy is claimed for the release: {why}."
    return (
        f"Differential privacy with epsilon {certificate.epsilon:g}"
        + (f" and delta {certificate.delta:g}" if certificate.delta else "")
        + f" is claimed, neighbors being data sets that differ by {certificate.neighboring}."
    )


def judge(
    known: Evidence,
    leaves: Leaves | None,
    policy: Policy,
    shown: Suppression,
    *,
    values: ValueLeakage,
    together: Outcome[TogetherFinding],
    membership: Outcome[MembershipFinding],
    guarantee: GuaranteeFinding | None,
    certain: Outcome[int],
) -> list[Check]:
    """Return the rules, judged."""
    out = check_guarantee(policy, guarantee)
    if guarantee is not None and guarantee.standing == "accepted":
        return [*out, *answered_checks(policy, guarantee, values)]
    if known.nobody:
        return [*out, *_of_nobody(known, policy)]
    out += _sizes(known, leaves, policy, shown)
    out += _purity(known, leaves, policy, shown)
    out += _bits(policy, together)
    inferred = tuple(name for name in known.release.domain if known.release.domain[name].inferred)
    out += check_values(policy, values, inferred, strangers=False)
    out += check_membership(policy, membership)
    return [*out, *check_certain(policy, shown, certain)]


def _of_nobody(known: Evidence, policy: Policy) -> list[Check]:
    """Judge a release of queries: its figures are about nobody, and the black box's decisions were not looked at."""
    meaning = "Nobody's record is behind the release."
    out = [
        Check(rule=rule, limit=limit, measured=None, status="pass", meaning=meaning)
        for rule in ("smallest_leaf", "purest_leaf", "largest_bits_per_record", "thresholds_off_grid", "midpoints")
        if (limit := getattr(policy, rule)) is not None
    ]
    missing = "What the black box's decisions tell of those it learnt from was not measured: audit the black box."
    for rule in ("largest_advantage", "most_certain"):
        limit = getattr(policy, rule)
        if limit is not None:
            out.append(Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=missing))
    return out


def _sizes(known: Evidence, leaves: Leaves | None, policy: Policy, shown: Suppression) -> list[Check]:
    """Judge ``declared_k``, which is the release's own word, and ``smallest_group`` and ``smallest_leaf``."""
    out, limit = [], policy.smallest_leaf
    sizes, k = sizes_of(known, leaves), known.release.k
    held = None if sizes is None else sizes[sizes > 0]
    if k is not None:
        out.append(_size_check("declared_k", k, held, "representative", known, shown, own=True))
    if limit is not None:
        out.append(_size_check("smallest_group", limit, held, "representative", known, shown))
        parts = None if leaves is None else leaves.sizes[leaves.sizes > 0]
        out.append(_size_check("smallest_leaf", limit, parts, "leaf", known, shown))
    return out


def _size_check(
    rule: str,
    limit: int,
    sizes: np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None,
    noun: str,
    known: Evidence,
    shown: Suppression,
    *,
    own: bool = False,
) -> Check:
    if sizes is None or not len(sizes):
        meaning = UNSIZED.format(known.lacking or "nobody is.")
        return Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)
    small, n = int((sizes < limit).sum()), len(sizes)
    asked = f"the {limit} that the release declares" if own else f"{limit}"
    meaning = (
        f"Every {noun} stands for at least {asked} people."
        if not own
        else (f"Every {noun} stands for at least {asked}.")
    )
    if small:
        plural = "leaves" if noun == "leaf" else f"{noun}s"
        people = "" if own else " people"
        stand = "stands" if small == 1 else "stand"
        meaning = f"{small:,} of {n:,} {plural} {stand} for fewer than {asked}{people}."
    smallest = shown.count(int(sizes.min()))
    return Check(rule=rule, limit=limit, measured=smallest, status="fail" if small else "pass", meaning=meaning)


def _purity(known: Evidence, leaves: Leaves | None, policy: Policy, shown: Suppression) -> list[Check]:
    limit, rule = policy.purest_leaf, "purest_leaf"
    if limit is None:
        return []
    if known.kind == DECISIONS:
        return [Check(rule=rule, limit=limit, measured=None, status="pass", meaning=ANSWERS)]
    if leaves is None or leaves.counts is None:
        meaning = UNSIZED.format(known.lacking or "the labels of the training records are not given.")
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)]
    held = leaves.sizes > 0
    shares = leaves.counts[held].max(axis=1) / leaves.sizes[held]
    pure, most = int((shares > limit).sum()), float(shares.max())
    meaning = f"In no leaf more than {limit:.0%} have one true label."
    if pure:
        meaning = f"In {pure:,} of {int(held.sum()):,} leaves more than {limit:.0%} have one true label."
    measured = shown.share(most)
    return [Check(rule=rule, limit=limit, measured=measured, status="fail" if pure else "pass", meaning=meaning)]


def _bits(policy: Policy, together: Outcome[TogetherFinding]) -> list[Check]:
    limit, rule = policy.largest_bits_per_record, "largest_bits_per_record"
    if limit is None:
        return []
    if not isinstance(together, Measured):
        meaning = f"What the trees tell about the attributes was not measured: {together.reason}"
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)]
    worst = together.value.bits_largest
    meaning = f"No leaf tells more than {worst:.1f} bits about the attributes of a person, the group being known."
    if worst > limit:
        meaning = f"Some leaf tells {worst:.1f} bits about the attributes of each of its people."
    return [Check(rule=rule, limit=limit, measured=worst, status="fail" if worst > limit else "pass", meaning=meaning)]


def certain_of(known: Evidence, sensitive: str | None, codes: Sequence[int] | None) -> Outcome[int]:
    """Return the people whose group is of one sensitive value."""
    if sensitive is None:
        return NotApplicable("no sensitive attribute was named (`--sensitive`).")
    if known.groups is None or codes is None:
        return NotApplicable(known.lacking)
    values = np.asarray(codes)
    total = 0
    for group in np.unique(known.groups).tolist():
        own = values[known.groups == group]
        total += len(own) if len(np.unique(own)) == 1 else 0
    return Measured(total)


def advise(
    known: Evidence, checks: Sequence[Check], policy: Policy, guarantee: GuaranteeFinding | None
) -> tuple[str, ...]:
    """Return what to do next, one sentence for each kind of remedy."""
    broken = {check.rule for check in checks if check.status == "fail"}
    unknown = {check.rule for check in checks if check.status == "unknown"}
    paper, out = known.release.provenance.form == "paper", list[str]()
    if "declared_k" in broken:
        out.append("Do not publish it: representatives stand for fewer people than the release declares.")
    if "smallest_group" in broken:
        out.append(f"Fit again with k of at least {policy.smallest_leaf}.")
    if "smallest_leaf" in broken:
        form = 'form="restricted" and ' if paper else ""
        out.append(f"Fit again with {form}min_samples_leaf={policy.smallest_leaf}.")
    if "purest_leaf" in broken:
        out.append('Train the trees on the black box\'s decisions (labels="black-box"), and publish no counts.')
    if "largest_bits_per_record" in broken:
        out.append("Fit again with a smaller max_depth: every condition on a path tells more about those who took it.")
    if broken & {"thresholds_off_grid", "midpoints"}:
        out.append(
            'Fit again with form="restricted": its thresholds are public cut points.'
            if paper
            else "Declare the domain (`domain=`): the cut points of one that was taken from the records are not public."
        )
    if broken & {"largest_advantage", "most_certain"}:
        out.append('Fit again with a larger k, or with epsilon and partition="public": noise bounds what is told.')
    out += about_guarantee(broken, unknown, policy, guarantee)
    if unknown & {"declared_k", "smallest_group", "smallest_leaf", "midpoints"}:
        out.append("Give the training records, in their order (`--data`), so that groups and leaves can be counted.")
    if "purest_leaf" in unknown:
        out.append("Give the true labels (`--target`).")
    if "largest_advantage" in unknown:
        out.append("Give more records that are not behind the release, of the same population (`--holdout`).")
    if known.release.domain.inferred and not broken & {"thresholds_off_grid", "midpoints"}:
        out.append("Replace the inferred bounds and categories of the domain by public ones.")
    return tuple(out)
