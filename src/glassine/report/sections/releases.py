"""A release of surrogate trees: who stands behind it, and what its trees reveal together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from glassine.attacks.outcome import ShownCount
from glassine.auditing.findings import (
    DiversityFinding,
    ExplanationsFinding,
    Findings,
    GapFinding,
    GroupsFinding,
    GuessFinding,
    LeavesFinding,
    RepresentativesFinding,
    ThresholdsFinding,
    TogetherFinding,
)
from glassine.report import wording
from glassine.report.blocks import Fact, fold, paragraph, rows_of
from glassine.report.figures import UNITS, FigureReading, facts, grid, table
from glassine.report.section import LEARNED, Body, Page, facts_of, sections_of, shows
from glassine.report.sections.policy import CAVEAT, judged_page, measure_rows, record_sections

EXACT = "They are exact means: who knows all but one of a group can compute the last."
ROUNDED = "None is an exact mean: the last of a group does not follow from the others."
GUESSES = {
    "true labels": "By the decision of a tree.",
    "black box's decisions": "By the decision of a tree; an attacker can ask the black box instead.",
}
SENSITIVE = "no sensitive attribute was named."


def release_page(findings: Findings, *, title: str | None = None) -> Page:
    """Return the report on a release of surrogate trees."""
    page = judged_page(
        findings,
        "release",
        measure_rows(findings),
        title=title or "Privacy of published explanations",
        claim=wording.clean(findings.release.claim),
    )
    return replace(
        page,
        kind="privacy of explanations",
        described=_described(findings),
        caveat=f"{CAVEAT} Anyone can request every explanation, so all groups are audited together.",
        notes=(*page.notes, *(f"The release says: {wording.clean(note)}." for note in findings.release.notes)),
        figures=_figures(findings),
        sections=(*page.sections, *sections_of(findings), *record_sections(findings, "release")),
        terms=(
            *("group", "fidelity", "member", "midpoint", "gap attack"),
            *("entropy l", "bit", "cut point", "suppressed"),
        ),
    )


@shows(
    "groups",
    "groups",
    "Records behind representatives",
    "Groups",
    """
{Units} behind a representative | {sizes} | Total: {number:count} {units}; sizes {origin}.{empty}
Fewest different records of a group | {fewest_distinct:count} | Copies of one record may be one person's. | It needs \
the training records.
""",
    rank=32,
)
def _groups_section(finding: GroupsFinding, findings: Findings) -> Mapping[str, object]:
    """Return between which sizes groups are, and how many are empty."""
    sizes = " to ".join(dict.fromkeys([_count(finding.smallest), _count(finding.largest)]))
    empty = f" Empty: {wording.plural(finding.n_empty, 'group')}." if finding.n_empty else ""
    return {"sizes": sizes, "empty": empty}


MISSING = "It needs the training records."
REPRESENTATIVES = table(f"""
Digits of a representative's numbers | {{digits}} | {{exact}}
Representatives that are a record of their group | {{copies}} | Value by value. | {MISSING}
Values that everyone in a group has | {{uniform}} | The representative reveals such a value of each of them. | {MISSING}
{{Units}} whose group is found | {{matched:percent}}; {{matched_near:percent}} among {{n_near}} | By the closest \
representative, and among the closest few. | {MISSING}
Distance to the own representative | {{closeness:.2f}} | Over that to any other: 1 would reveal nothing, 0 the record. \
| {MISSING}
""")


@shows(
    "representatives", "representatives", "What representatives reveal", "Representatives", text_title=LEARNED, rank=31
)
def _representatives_section(finding: RepresentativesFinding, findings: Findings) -> Body:
    """Return what representatives reveal; the text has the few figures that matter most of a release in their place."""
    exact = finding.n_exact or findings.release.form == "paper"
    figures: tuple[Fact, ...] = facts(
        REPRESENTATIVES,
        finding,
        digits=f"at most {finding.digits}" if finding.n_numbers else "none",
        exact=EXACT if exact else ROUNDED,
        copies=None if finding.n_copies is None else _count(finding.n_copies) if finding.n_copies else "none",
        uniform=None if finding.n_uniform is None else _count(finding.n_uniform) if finding.n_uniform else "none",
    )
    if findings.release.partition == "public":
        figures = (Fact("Representatives", "public points", "They were chosen without the records."),)
    said = tuple(f"{fact.name}: {fact.value} ({fact.meaning})" for fact in _figures(findings))
    return figures, said


LEAVES = table("""
{Units} alone in a leaf | {alone} | Of {n_held:,} leaves with records; sizes {origin}.
{Units} of the smallest leaf | {smallest:count} | In the own group's tree.
[small] Leaves of fewer than {limit} {units} | {small} | The policy's limit.
{Units} in leaves of one label | {share_certain:percent} | {published} | It needs the labels on which the trees were \
trained.
""")


@shows("leaves", "leaves", "Records behind leaves", "Leaves", rank=33)
def _leaves_section(finding: LeavesFinding, release: Findings) -> Body:
    """Return how many people stand behind leaves, and who is alone in one."""
    limit = release.policy.smallest_group
    figures = facts(
        LEAVES,
        finding,
        alone=_people(finding.n_alone, finding.share_alone),
        limit=limit,
        small=None if finding.n_small is None or limit is None else wording.number(finding.n_small),
        published="The counts are published." if release.release.counts else "No counts are published.",
    )
    about = f"Rows are counted {wording.ROWS}; at most 100 are listed. Keep this list internal."
    return (figures, fold("Who is alone, by row number", rows_of(about, finding.rows_alone))), ()


def _lacks_sensitive(value: object, findings: Findings) -> str:
    return SENSITIVE if findings.sensitive is None else ""


DIVERSITY = """
What | {attribute:clean}
Values that occur | {distinct_l:,} of {n_classes:,}
Entropy l | {entropy_l:.2f}
Largest share | {alpha:percent}
t | {t:.2f}
Groups of one value | {n_one_class:,} of {n_groups:,}
{Units} in them | {share_one_class:percent}
"""


@shows("diversity", "labels", "How far the {units} of a group differ", "Diversity", lacking=_lacks_sensitive, rank=34)
def _diversity_section(entries: tuple[DiversityFinding, ...], release: Findings) -> Body:
    """Return how far the people of a group differ in labels and in the sensitive attribute."""
    caption = f"How far the {wording.units()} of a group differ; each figure of the worst group"
    return grid(DIVERSITY, entries, caption=caption, n_groups=release.release.n_groups), ()


GUESSED = """
What | {attribute:clean} | {by}
Without the release | {base_rate:percent}
Closest group | {closest:percent}
Group known | {group_known:percent}
Of other {units} | {others:percent}
"""
NOTE = (
    "What is guessed equally well for others, who are not behind the release, is true of everyone; only what goes "
    "beyond that reveals something about those behind it."
)


@shows(
    "guesses",
    "guesses",
    "How well labels and values are guessed",
    "Labels and values",
    lacking=_lacks_sensitive,
    rank=35,
)
def _guesses_section(entries: tuple[GuessFinding, ...], findings: Findings) -> Body:
    """Return how well a reader guesses labels and the sensitive attribute."""
    caption = f"How often an attacker with all groups guesses right who knows a {wording.unit()}'s other attributes"
    other = "By the value of a representative, sought without this attribute."
    table = grid(GUESSED, entries, caption=caption, words=lambda row: {"by": GUESSES.get(row.attribute, other)})
    return (table, paragraph(NOTE, "note")), ()


@shows(
    "together",
    "rebuild",
    "How far all trees together reconstruct the records",
    "Reconstruction",
    """
Learned about a {unit} | {bits_mean:bits} bits, at most {bits_largest:bits} bits | On average and in the most exposed \
leaf, the group being known. One bit halves the possible records.
Dist_G of all trees together | {left} | {meaning}
""",
    lacking=lambda finding, findings: f"there is no Dist_G: {finding.undefined}" if finding.undefined else "",
    rank=36,
)
def _together_section(finding: TogetherFinding, findings: Findings) -> Mapping[str, object]:
    """Return what is left of the joint entropy, or why that is not defined."""
    left = "not defined" if finding.dist_g is None else f"{finding.dist_g:.3f}"
    return {"left": left, "meaning": wording.clean(finding.undefined) or "Share of the joint entropy that is left."}


@shows(
    "thresholds",
    "thresholds",
    "What thresholds reveal",
    "Thresholds",
    """
[n_thresholds] Thresholds that are not public cut points | {n_off_grid:number} of {n_thresholds:,} | {place}
[none] Thresholds that are not public cut points | there are none |
Thresholds that are midpoints of two values of the group | {n_midpoints:number} of {n_thresholds:,} | {computed} | It \
needs the training records.
""",
    rank=51,
)
def _thresholds_section(finding: ThresholdsFinding, findings: Findings) -> Mapping[str, object]:
    """Return what thresholds reveal in words."""
    computed = "An attacker who knows one of the two values can compute the other."
    return {
        "none": not finding.n_thresholds,
        "place": "Their place reveals something about training values." if finding.n_off_grid else "",
        "computed": computed if finding.n_midpoints else "",
    }


GAP = table("""
[measured] Gap attack by {labels} | {interval} | Share of the {units} behind the release of whom the closest tree is \
right, less others'.
[open] Gap attack by {labels} | not measured | {reason:sentence}
""")


@shows("gaps", "gaps", "Members identified by a tree that is right", "Gap attack", text_title=LEARNED, rank=52)
def _gaps_section(gaps: tuple[GapFinding, ...], findings: Findings) -> Body:
    """Return the gap attack by each kind of label."""
    figures: list[Fact] = []
    for gap in gaps:
        measured = None not in (gap.advantage, gap.low, gap.high)
        interval = wording.interval(gap.advantage or 0.0, gap.low or 0.0, gap.high or 0.0)
        figures += facts(GAP, gap, interval=interval, measured=measured, open=not measured)
    return figures, facts_of(tuple(figures))


@shows(
    "explanations",
    "explanations",
    "What explanations say",
    "Explanations",
    """
Explanations with a condition | {conditions:percent} | Goal: {goal_conditions:percent}. On {n_records:,} {measured_on}.
Proposed changes that the black box confirms | {confirmed:percent} | Goal: {goal_confirmed:percent}. Only confirmed \
changes are shown as what would change a decision. | No change is proposed.
Goal | {said} | Both shares together.
""",
    rank=37,
)
def _explanations_section(finding: ExplanationsFinding, findings: Findings) -> Mapping[str, object]:
    """Return whether the goal for explanations is reached."""
    return {"said": "reached" if finding.reached else "not reached"}


def _described(findings: Findings) -> str:
    """Return the form of a release, its size, and on what its trees were trained."""
    made = findings.release
    of = wording.units() if made.records == "training" else "queries"
    return FigureReading(
        made,
        shape="The restricted form" if made.form == "restricted" else "The paper's form",
        size=f" of at least {made.k:,} {of}" if made.k is not None else f" of {of} in public cells",
        taught="the black box's decisions" if made.labels == "black-box" else "true labels",
        published=", class counts published" if made.counts else "",
    ).said(
        "{shape}: {n_groups:many group}{size}, {n_attributes:many attribute}; trees with a total of {n_leaves:,} "
        "leaves, depth at most {deepest}, trained on {taught}{published}."
    )


HEADLINE = table("""
Fewest {units} behind a representative | {smallest:count} | {declared}
{Units} alone in a leaf | {alone} | k-anonymity of the representative does not cover the tree
Members named by thresholds | {named} | {by}
Advantage of the gap attack | {gap:.3f} | 0 for guessing, 1 for an attack that is always right
""")


def _figures(findings: Findings) -> tuple[Fact, ...]:
    """Return the few figures that matter most."""
    groups, leaves, attack, thresholds = map(findings.value, ("groups", "leaves", "membership", "thresholds"))
    gaps = [gap.advantage for gap in findings.value("gaps") or () if gap.advantage is not None]
    named = None if attack is None or attack.accused is None else _count(attack.accused)
    public = named is None and thresholds is not None and thresholds.n_off_grid == 0
    k = findings.release.k
    return facts(
        HEADLINE,
        findings,
        smallest=None if groups is None else groups.smallest,
        declared="the release declares no number" if k is None else f"the release declares {k:,}",
        alone=None if leaves is None else _people(leaves.n_alone, leaves.share_alone),
        named=wording.none() if public else named,
        by="every threshold is a public cut point" if public else "by the midpoint attack on all trees",
        gap=max(gaps, default=None),
    )


def _people(count: ShownCount, share: float) -> str:
    return wording.none() if count == 0 else f"{_count(count)} ({wording.percent(share, digits=1)})"


_count = UNITS["count"]
