"""What several models reveal together, as text, and judged against a policy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from glassine.cli.naming import as_command
from glassine.errors import worded

if TYPE_CHECKING:
    from glassine.attacks.reconstruction.joint_result import JointReconstruction, SharedGroup
    from glassine.auditing.findings import Findings

NAMES = {
    "counts='data'": "--count-from-data",
    'noise=CountNoise("rounded", 10)': "--noise rounded:10",
    "the data and counts='data'": "--data and --count-from-data",
    "same_labels=False": "--other-labels",
    "smallest_group": "--smallest-group",
    "time_limit": "--time-limit",
    "data": "--data",
}
SHOWN = 10
"""Groups that the text lists; JSON lists all."""
ROUNDING = 1e-9
"""What is taken for the rounding of bits."""
NOT_JUDGED = "Not judged here: the other checks of the policy. `glassine audit` judges them for each model alone."


def verdict_plain(findings: Findings) -> dict[str, Any]:
    """Return the verdict and the checks as plain values."""
    plain = findings.to_dict()
    return {"verdict": plain["verdict"], "checks": plain["checks"]}


def verdict_text(findings: Findings) -> str:
    """Return the verdict and the checks as text."""
    said = [f"Verdict on the models together: {findings.verdict}."]
    for check in findings.checks:
        bound = "at least" if check.rule == "smallest_leaf" else "at most"
        measured = "" if check.measured is None else f"{check.measured}, "
        said.append(f"  {check.rule}: {measured}must be {bound} {check.limit}: {check.status}. {check.meaning}")
    steps = [f"  {number}. {as_command(remedy)}" for number, remedy in enumerate(findings.advice, start=1)]
    return "\n".join([*said, *(["What to do", *steps] if steps else []), NOT_JUDGED])


def joint_text(joint: JointReconstruction, *, have_data: bool) -> str:
    """Return what was left out or counted, the bits, then the groups."""
    said = [*_provisos(joint, have_data), *_guarantees(joint)]
    if joint.silence is not None:
        return "\n".join([*said, "No model publishes exact counts, so no bits and no groups were measured."])
    alone = [f"  {name}: {bits:.4f}" for name, bits in zip(joint.models, joint.bits_alone, strict=True)]
    if joint.contradiction is not None:
        said.append(
            "No dataset meets these counts: the models were not trained on the same records, or the domain excludes "
            f"some of them. {_sentence(joint.contradiction)}"
        )
        return "\n".join(["Bits about a record, of each model alone:", *alone, *said])
    whole = "by the domain's public shares" if joint.by_shares else f"of {joint.domain_bits:.2f}"
    said += [f"{joint.n_records:,} records. Bits learned about each, {whole}:", *alone]
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
        said.append("No dataset that meets all counts was found in time; the bounds hold if there is one.")
    if several:
        said += _groups(
            joint.small_groups,
            f"that certainly hold 1 to {joint.smallest_group} records and that no model sets apart alone",
        )
        said += _groups(joint.certain_labels, "whose records certainly have one class, which no model reveals alone")
    return "\n".join(said)


def _provisos(joint: JointReconstruction, have_data: bool) -> list[str]:
    said = [f"Left out: {entry.name} {entry.reason}" for entry in joint.left_out]
    if any(entry.can_be_counted for entry in joint.left_out):
        given = "" if have_data else "--data and "
        said.append(f"What an attacker learns who also knows their numbers of records: {given}--count-from-data.")
    if joint.filled:
        said.append(
            f"Counted in the data, without classes: {', '.join(joint.filled)}. The figures are those of an attacker "
            "who also knows these numbers, and so learns more than from the models alone."
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
    said = worded(text, NAMES)
    return said[:1].upper() + said[1:] if said.startswith(("no ", "part ")) else said


def _groups(groups: tuple[SharedGroup, ...], what: str) -> list[str]:
    said = [f"Groups {what}: {len(groups) or 'none'}{'.' if not groups else ''}"]
    for group in groups[:SHOWN]:
        label = "" if group.label is None else f", class {group.label}"
        worlds = "" if group.worlds is None else f", {group.worlds:,} possible"
        said.append(f"  {group.size}{label}{worlds}: {group.where}")
    if len(groups) > SHOWN:
        said.append(f"  and {len(groups) - SHOWN} more; --json lists all.")
    return said
