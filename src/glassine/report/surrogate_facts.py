"""The figures of a release of surrogate trees, each with what it means."""

from __future__ import annotations

from glassine.attacks.outcome import Measured, ShownCount
from glassine.auditing.findings import Findings, GapFinding, RepresentativesFinding, ThresholdsFinding
from glassine.report import wording
from glassine.report.statements import Fact

__all__ = [
    "GUESSES",
    "figures_of",
    "gaps_of",
    "group_facts",
    "leaf_facts",
    "representative_facts",
    "together_facts",
]

UNKNOWN = "not known"
EXACT = "They are exact means: who knows all but one of a group can compute the last."
ROUNDED = "None is an exact mean: the last of a group does not follow from the others."
GUESSES = {
    "true labels": "By the decision of a tree.",
    "black box's decisions": "By the decision of a tree; anybody can ask the black box instead.",
}


def gaps_of(found: Findings) -> tuple[GapFinding, ...]:
    """Return the gap attacks, made or not; none where they were not asked for."""
    outcome = found.measured["gaps"]
    return outcome.value if isinstance(outcome, Measured) else ()


def figures_of(found: Findings) -> tuple[Fact, ...]:
    """Return the few figures that matter most."""
    groups = found.value("groups")
    leaves = found.value("leaves")
    told = found.value("membership")
    gaps = [gap.advantage for gap in gaps_of(found) if gap.advantage is not None]
    return (
        Fact(
            name="Fewest people behind a representative",
            value=UNKNOWN if groups is None else _count(groups.smallest),
            meaning=_declared(found),
        ),
        Fact(
            name="People alone in a leaf",
            value=UNKNOWN if leaves is None else _people(leaves.n_alone, leaves.share_alone),
            meaning="k-anonymity of the representative says nothing of the tree",
        ),
        Fact(
            name="Members named by thresholds",
            value=UNKNOWN if told is None or told.accused is None else _count(told.accused),
            meaning="by the midpoint attack on all trees",
        ),
        Fact(
            name="Advantage of the gap attack",
            value=UNKNOWN if not gaps else f"{max(gaps):.3f}",
            meaning="0 for guessing, 1 for an attack that is always right",
        ),
    )


def _declared(found: Findings) -> str:
    return "the release declares no number" if found.release.k is None else f"the release declares {found.release.k:,}"


def _people(count: ShownCount, share: float) -> str:
    if count == 0:
        return "nobody"
    return f"{_count(count)} ({wording.percent(share, digits=1)})"


def _count(value: ShownCount) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def group_facts(found: Findings) -> tuple[Fact, ...]:
    """Return how many people stand behind representatives."""
    if not isinstance(found.measured["groups"], Measured):
        return ()
    groups = found.measured["groups"].value
    distinct = groups.fewest_distinct
    empty = f" {wording.plural(groups.n_empty, 'group')} of nobody." if groups.n_empty else ""
    return (
        Fact(
            name="People behind a representative",
            value=" to ".join(dict.fromkeys([_count(groups.smallest), _count(groups.largest)])),
            meaning=f"{_count(groups.n_people)} people in all; sizes {groups.origin}.{empty}",
        ),
        Fact(
            name="Fewest different records of a group",
            value=UNKNOWN if distinct is None else _count(distinct),
            meaning="Copies of one record may be one person."
            if distinct is not None
            else "It needs the training records.",
        ),
    )


def representative_facts(found: Findings) -> tuple[Fact, ...]:
    """Return what representatives tell."""
    if not isinstance(found.measured["representatives"], Measured):
        return ()
    told: RepresentativesFinding = found.measured["representatives"].value
    missing = "It needs the training records."
    known = told.found is not None
    if found.release.partition == "public":
        return (Fact(name="Representatives", value="public points", meaning="They were chosen without the records."),)
    return (
        Fact(
            name="Digits of a representative's numbers",
            value=f"at most {told.digits}" if told.n_numbers else "none",
            meaning=EXACT if told.n_exact or found.release.form == "paper" else ROUNDED,
        ),
        Fact(
            name="Representatives that are a record of their group",
            value=UNKNOWN if told.n_copies is None else _count(told.n_copies) if told.n_copies else "none",
            meaning="Value by value." if known else missing,
        ),
        Fact(
            name="Values that everybody of a group has",
            value=UNKNOWN if told.n_uniform is None else _count(told.n_uniform) if told.n_uniform else "none",
            meaning="The representative tells such a value of each of them." if known else missing,
        ),
        Fact(
            name="People whose group is found",
            value=UNKNOWN
            if told.found is None or told.found_near is None
            else f"{wording.percent(told.found)}; {wording.percent(told.found_near)} among {told.n_near}",
            meaning="By the closest representative, and among the closest few." if known else missing,
        ),
        Fact(
            name="Distance to the own representative",
            value=UNKNOWN if told.closeness is None else f"{told.closeness:.2f}",
            meaning="Over that to any other: 1 would tell nothing, 0 the record." if known else missing,
        ),
    )


def leaf_facts(found: Findings) -> tuple[Fact, ...]:
    """Return how many people stand behind leaves."""
    if not isinstance(found.measured["leaves"], Measured):
        return ()
    leaves, limit = found.measured["leaves"].value, found.policy.smallest_leaf
    out = [
        Fact(
            name="People alone in a leaf",
            value=_people(leaves.n_alone, leaves.share_alone),
            meaning=f"Of {leaves.n_held:,} leaves that hold anybody; sizes {leaves.origin}.",
        ),
        Fact(name="People of the smallest leaf", value=_count(leaves.smallest), meaning="In the own group's tree."),
    ]
    if leaves.n_small is not None and limit is not None:
        out.append(
            Fact(
                name=f"Leaves of fewer than {limit} people",
                value=f"{leaves.n_small:,}" if leaves.n_small else "none",
                meaning="The policy's limit.",
            )
        )
    certain = leaves.share_certain
    counted = "The counts are published." if found.release.counts else "No counts are published."
    out.append(
        Fact(
            name="People in leaves of one label",
            value=UNKNOWN if certain is None else wording.percent(certain),
            meaning=counted if certain is not None else "It needs the labels on which the trees were trained.",
        )
    )
    return tuple(out)


def together_facts(found: Findings) -> tuple[Fact, ...]:
    """Return how far all trees let a reader rebuild the records, and what thresholds tell."""
    thresholds: ThresholdsFinding | None = found.value("thresholds")
    out = []
    if isinstance(found.measured["together"], Measured):
        told = found.measured["together"].value
        out = [
            Fact(
                name="Learned about a person",
                value=f"{wording.bits(told.bits_mean)} bits, at most {wording.bits(told.bits_largest)} bits",
                meaning="On average and in the most exposed leaf, the group being known. One bit halves the possible "
                "records.",
            ),
            Fact(
                name="Dist_G of all trees together",
                value="not defined" if told.dist_g is None else f"{told.dist_g:.3f}",
                meaning=wording.clean(told.undefined) or "Share of the joint entropy that is left.",
            ),
        ]
    if thresholds is None:
        return tuple(out)
    n = thresholds.n_thresholds
    return (
        *out,
        Fact(
            name="Thresholds that are no public cut points",
            value=f"{thresholds.n_off_grid or 'none'} of {n:,}" if n else "there are none",
            meaning="Their place tells about training values." if thresholds.n_off_grid else "",
        ),
        Fact(
            name="Thresholds half way between two values of the group",
            value=UNKNOWN if thresholds.n_midpoints is None else f"{thresholds.n_midpoints or 'none'} of {n:,}",
            meaning="It needs the training records."
            if thresholds.n_midpoints is None
            else "Who knows one of the two values can compute the other exactly."
            if thresholds.n_midpoints
            else "",
        ),
    )
