"""What several models tell together, as text, and judged against a policy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from glassine.cli.naming import as_options

if TYPE_CHECKING:
    from glassine.attacks.reconstruction.joint_result import JointReconstruction, SharedGroup
    from glassine.auditing.findings import Check
    from glassine.auditing.policy import Policy

__all__ = ["NAMES", "joint_text", "judge", "status_of", "verdict_plain", "verdict_text"]

NAMES = {
    "counts='data'": "--count-from-data",
    'noise=CountNoise("rounded", 10)': "--noise rounded:10",
    "the data and counts='data'": "--data and --count-from-data",
    "same_labels=False": "--other-labels",
    "smallest_group": "--smallest-group",
    "time_limit": "--time-limit",
}
SHOWN = 10
"""Groups that the text lists; JSON lists all."""
ROUNDING = 1e-9
"""What is taken for the rounding of bits."""
NOT_JUDGED = "Not judged here: the other rules of the policy, which `glassine audit` judges of each model by itself."


def judge(joint: JointReconstruction, policy: Policy) -> tuple[Check, ...]:
    """Judge what models tell together: the smallest group, the most exposed record, and guarantees put together.

    Nothing is kept by bounds that do not prove it, nor past a model that was left out and is not judged by a guarantee.
    """
    if joint.contradiction is not None:
        return ()
    composed = joint.composition
    by_claims = policy.max_epsilon is not None and (
        policy.max_delta is not None or composed is None or not composed.delta
    )
    unseen = [
        entry.name for entry in joint.left_out if entry.counts != "zero" and (entry.guarantee is None or not by_claims)
    ]
    doubt = f" What {', '.join(unseen)} adds was not measured." if unseen else ""
    checks = [_sizes(joint, policy, doubt), _bits(joint, policy, doubt)] if joint.models else []
    if not joint.models and doubt:
        checks = [_unmeasured(policy, doubt)]
    return tuple(check for check in [*checks, *_claims(joint, policy)] if check is not None)


def _sizes(joint: JointReconstruction, policy: Policy, doubt: str) -> Check | None:
    from glassine.auditing.findings import Check

    limit = policy.smallest_leaf
    if limit is None or joint.cells is None:
        return None
    leaves = [entry.size for entry in joint.exposures if entry.size < limit]
    cells = joint.cells
    ranges = zip(cells.low.tolist(), cells.high.tolist(), strict=True)
    groups = [high for low, high in ranges if 1 <= low <= high < limit]
    groups += [group.high for group in joint.small_groups if group.high < limit]
    if groups or leaves:
        meaning = f"A group certainly holds fewer than {limit} people"
        meaning += ": a leaf or rule of one model." if leaves else ", which no model shows alone."
        return Check(rule="smallest_leaf", limit=limit, measured=min(leaves + groups), status="fail", meaning=meaning)
    fewest = joint.fewest_in_common
    if (limit <= 1 or (fewest is not None and fewest >= limit)) and not doubt:
        parts = "common part of the models" if len(joint.models) > 1 else "leaf or rule"
        meaning = f"Every {parts} that holds anybody holds at least {limit} people."
        return Check(rule="smallest_leaf", limit=limit, measured=fewest, status="pass", meaning=meaning)
    meaning = (
        f"No group was found that certainly holds fewer than {limit} people, but that does not prove that none does."
    )
    if joint.smallest_group < limit - 1:
        meaning += f" --smallest-group {limit - 1} looks for more of them."
    if fewest is not None and fewest < limit:
        meaning += f" The smallest common part holds {fewest}."
    if fewest is None:
        meaning += " With --data, common parts that are large enough prove it."
    return Check(rule="smallest_leaf", limit=limit, measured=None, status="unknown", meaning=meaning + doubt)


def _bits(joint: JointReconstruction, policy: Policy, doubt: str) -> Check | None:
    from glassine.auditing.findings import Check

    limit, bounds = policy.largest_bits_per_record, joint.bits_most_exposed
    if limit is None or bounds is None:
        return None
    rule = "largest_bits_per_record"
    if bounds.lower > limit + ROUNDING:
        meaning = "Certified: the models, or one of them alone, certainly tell so much about somebody, if not more."
        return Check(rule=rule, limit=limit, measured=_down(bounds.lower), status="fail", meaning=meaning)
    if bounds.upper <= limit + ROUNDING and not doubt:
        meaning = "Certified: nobody is known better than that, not even by a reader who tells which record is which."
        if joint.bits_aligned is None:
            meaning = "Certified: nobody can be known better than that, whichever records meet the counts."
        return Check(rule=rule, limit=limit, measured=_up(bounds.upper), status="pass", meaning=meaning)
    top = f"at most {_up(bounds.upper):.3f}" if math.isfinite(bounds.upper) else "without a bound from above"
    meaning = f"The most exposed person is known by at least {_down(bounds.lower):.3f} bits, and {top}."
    return Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning + doubt)


def _unmeasured(policy: Policy, doubt: str) -> Check | None:
    from glassine.auditing.findings import Check

    limit = policy.largest_bits_per_record
    if limit is None:
        return None
    meaning = f"No model tells exact counts.{doubt}"
    return Check(rule="largest_bits_per_record", limit=limit, measured=None, status="unknown", meaning=meaning)


def _claims(joint: JointReconstruction, policy: Policy) -> list[Check]:
    from glassine.auditing.findings import Check

    composed = joint.composition
    if composed is None:
        return []
    out = []
    for rule, limit, value in (
        ("max_epsilon", policy.max_epsilon, composed.epsilon),
        ("max_delta", policy.max_delta, composed.delta),
    ):
        if limit is None or (rule == "max_delta" and not value):
            continue
        status: Literal["pass", "fail", "unknown"] = "unknown"
        meaning = (
            "The claims of the models, added up. They cannot be proved by the models, and the policy accepts none."
        )
        if value > limit:
            status, meaning = "fail", "Even the claims of the models, added up, are larger than allowed."
        elif composed.caveats:
            meaning = "A claim does not hold as stated."
        elif policy.accept_guarantee:
            status, meaning = "pass", "The claims of the models, added up, and accepted by the policy."
        out.append(Check(rule=rule, limit=limit, measured=value, status=status, meaning=meaning, basis="guarantee"))
    return out


def _down(bits: float) -> float:
    return math.floor(bits * 1000) / 1000


def _up(bits: float) -> float:
    return math.ceil(bits * 1000) / 1000


def status_of(checks: tuple[Check, ...]) -> int:
    """Return the exit status that a verdict stands for."""
    from glassine.auditing.findings.values import EXIT_STATUS
    from glassine.auditing.judging import decide

    return EXIT_STATUS[decide(checks)]


def verdict_plain(checks: tuple[Check, ...]) -> dict[str, Any]:
    """Return the verdict and the rules as plain values."""
    from dataclasses import asdict

    from glassine.auditing.judging import decide

    return {"verdict": decide(checks), "checks": [asdict(check) for check in checks]}


def verdict_text(checks: tuple[Check, ...]) -> str:
    """Return the verdict and the rules as text."""
    from glassine.auditing.judging import decide

    said = [f"Verdict on the models together: {decide(checks)}."]
    for check in checks:
        bound = "at least" if check.rule == "smallest_leaf" else "at most"
        measured = "" if check.measured is None else f"{check.measured}, "
        said.append(f"  {check.rule}: {measured}must be {bound} {check.limit}: {check.status}. {check.meaning}")
    return "\n".join([*said, NOT_JUDGED])


def joint_text(joint: JointReconstruction, *, have_data: bool) -> str:
    """Return what was left out or counted, the bits, then the groups."""
    said = [*_provisos(joint, have_data), *_guarantees(joint)]
    if joint.silence is not None:
        return "\n".join([*said, "No model tells exact counts, so no bits and no groups were measured."])
    alone = [f"  {name}: {bits:.4f}" for name, bits in zip(joint.models, joint.bits_alone, strict=True)]
    if joint.contradiction is not None:
        said.append(
            "No data set meets these counts: the models were not learnt from the same records, or the domain excludes "
            f"some of them. {_sentence(joint.contradiction)}"
        )
        return "\n".join(["Bits about a record, of each model alone:", *alone, *said])
    said += [f"{joint.n_records:,} records. Bits learned about each, of {joint.domain_bits:.2f}:", *alone]
    several = len(joint.models) > 1
    if several:
        said.append(f"  together: {joint.bits_per_record} (proved bounds, rounded)")
        said.append(f"  were the models independent: {joint.bits_if_independent:.4f}")
        if joint.bits_aligned is not None:
            said.append(f"  with the rows of all models aligned: {joint.bits_aligned:.4f}")
    elif joint.left_out:
        said.append(f"Only {joint.models[0]} is left, so there is nothing to put together.")
    else:
        said.append("That is one model, so there is nothing to put together.")
    said += _exposed(joint)
    if not joint.proved_consistent:
        said.append("No data set that meets all counts was found in time; the bounds hold if there is one.")
    if several:
        said += _groups(
            joint.small_groups,
            f"that certainly hold 1 to {joint.smallest_group} records and that no model sets apart alone",
        )
        said += _groups(joint.certain_labels, "whose records certainly have one class, which no model tells alone")
    return "\n".join(said)


def _provisos(joint: JointReconstruction, have_data: bool) -> list[str]:
    said = [f"Left out: {entry.name} {entry.reason}" for entry in joint.left_out]
    if any(entry.can_be_counted for entry in joint.left_out):
        given = "" if have_data else "--data and "
        said.append(f"What a reader learns who knows their numbers of records, too: {given}--count-from-data.")
    if joint.filled:
        said.append(
            f"Counted in the data, without classes: {', '.join(joint.filled)}. The figures are those of a reader who "
            "knows these numbers, too, and so learns more than from the models alone."
        )
    return said


def _guarantees(joint: JointReconstruction) -> list[str]:
    composed = joint.composition
    if composed is None:
        return []
    text = str(composed)
    return [text[:1].upper() + text[1:]]


def _exposed(joint: JointReconstruction) -> list[str]:
    """Return the bits about the most exposed record: proved bounds, and the estimate of the most exposed leaf."""
    bounds = joint.bits_most_exposed
    if bounds is None:
        return []
    top = f"at most {bounds.upper:.4f}" if math.isfinite(bounds.upper) else "with no bound from above"
    said = f"The most exposed record: at least {bounds.lower:.4f} bits, {top} (proved bounds, rounded)"
    if bounds.width < ROUNDING:
        said = f"The most exposed record: {bounds.lower:.4f} bits (proved, rounded)"
    if len(joint.models) > 1 and joint.exposures:
        said += f"; in the most exposed leaf, {max(entry.bits_jointly for entry in joint.exposures):.4f} (estimated)"
    return [f"{said}."]


def _sentence(text: str) -> str:
    return as_options(text[:1].upper() + text[1:] if text.startswith(("no ", "part ")) else text, NAMES)


def _groups(groups: tuple[SharedGroup, ...], what: str) -> list[str]:
    said = [f"Groups {what}: {len(groups) or 'none'}{'.' if not groups else ''}"]
    for group in groups[:SHOWN]:
        label = "" if group.label is None else f", class {group.label}"
        worlds = "" if group.worlds is None else f", {group.worlds:,} possible"
        said.append(f"  {group.size}{label}{worlds}: {group.where}")
    if len(groups) > SHOWN:
        said.append(f"  and {len(groups) - SHOWN} more; --json lists all.")
    return said
