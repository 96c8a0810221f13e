"""A release of surrogate trees: who stands behind it, what its trees reveal together, and both of its forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from glassine.attacks.outcome import ShownCount
from glassine.auditing.findings import (
    DiversityFinding,
    Findings,
    FormFinding,
    FormsFinding,
    GapFinding,
    GroupsFinding,
    GuessFinding,
    LeavesFinding,
    RepresentativesFinding,
    ThresholdsFinding,
    TogetherFinding,
)
from glassine.report import wording
from glassine.report.blocks import Block, Column, Fact, Facts, Fold, Paragraph, Row, RowNumbers, Table, heads
from glassine.report.section import Page, Section, facts_section, sections_of, sentence, shows
from glassine.report.sections.policy import CAVEAT, judged_page, measure_rows, record_sections

UNKNOWN = "not known"
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


@shows("groups", rank=32)
def _groups_section(finding: GroupsFinding, findings: Findings) -> Section:
    """Return how many people stand behind representatives."""
    return facts_section("groups", "Records behind representatives", "Groups", _group_facts(finding))


@shows("representatives", rank=31)
def _representatives_section(finding: RepresentativesFinding, findings: Findings) -> Section:
    """Return what representatives reveal; the text has the few figures that matter most of a release in their place."""
    facts = Facts(_representative_facts(finding, findings))
    return Section(
        id="representatives",
        title="What representatives reveal",
        link="Representatives",
        blocks=(facts,),
        text=tuple(f"{fact.name}: {fact.value} ({fact.meaning})" for fact in _figures(findings)),
        text_title="What an attacker learns",
    )


@shows("leaves", rank=33)
def _leaves_section(finding: LeavesFinding, release: Findings) -> Section:
    """Return how many people stand behind leaves, and who is alone in one."""
    blocks: list[Block] = [Facts(_leaf_facts(finding, release))]
    if finding.rows_alone:
        about = Paragraph(text=f"Rows are counted {wording.ROWS}; at most 100 are listed. Keep this list internal.")
        rows = RowNumbers(tuple(map(wording.row_name, finding.rows_alone)))
        blocks.append(Fold("Who is alone, by row number", (about, rows)))
    return Section(id="leaves", title="Records behind leaves", link="Leaves", blocks=tuple(blocks))


def _lacks_sensitive(value: object, findings: Findings) -> str:
    return SENSITIVE if findings.sensitive is None else ""


@shows("diversity", lacking=_lacks_sensitive, rank=34)
def _diversity_section(entries: tuple[DiversityFinding, ...], release: Findings) -> Section:
    """Return how far the people of a group differ in labels and in the sensitive attribute."""
    names = (
        "Values that occur",
        "Entropy l",
        "Largest share",
        "t",
        "Groups of one value",
        f"{wording.units().capitalize()} in them",
    )
    table = Table(
        caption=f"How far the {wording.units()} of a group differ; each figure of the worst group",
        columns=heads("What", figures=names),
        rows=tuple(
            Row(
                name=wording.clean(row.attribute),
                cells=(
                    f"{row.distinct_l:,} of {row.n_classes:,}",
                    f"{row.entropy_l:.2f}",
                    wording.percent(row.alpha),
                    f"{row.t:.2f}",
                    f"{row.n_one_class:,} of {release.release.n_groups:,}",
                    wording.percent(row.share_one_class),
                ),
            )
            for row in entries
        ),
    )
    return Section(
        id="labels", title=f"How far the {wording.units()} of a group differ", link="Diversity", blocks=(table,)
    )


@shows("guesses", lacking=_lacks_sensitive, rank=35)
def _guesses_section(entries: tuple[GuessFinding, ...], findings: Findings) -> Section:
    """Return how well a reader guesses labels and the sensitive attribute."""
    names = ("Without the release", "Closest group", "Group known", f"Of other {wording.units()}")
    table = Table(
        caption=f"How often an attacker with all groups guesses right who knows a {wording.unit()}'s other attributes",
        columns=heads("What", figures=names),
        rows=tuple(
            Row(
                name=wording.clean(row.attribute),
                meaning=GUESSES.get(row.attribute, "By the value of a representative, sought without this attribute."),
                cells=tuple(
                    UNKNOWN if share is None else wording.percent(share)
                    for share in (row.base_rate, row.closest, row.group_known, row.others)
                ),
            )
            for row in entries
        ),
    )
    note = (
        "What is guessed equally well for others, who are not behind the release, is true of everyone; only what goes "
        "beyond that reveals something about those behind it."
    )
    return Section(
        id="guesses",
        title="How well labels and values are guessed",
        link="Labels and values",
        blocks=(table, Paragraph(text=note, tone="note")),
    )


@shows(
    "together",
    lacking=lambda finding, findings: f"there is no Dist_G: {finding.undefined}" if finding.undefined else "",
    rank=36,
)
def _together_section(finding: TogetherFinding, findings: Findings) -> Section:
    """Return how far all trees together let an attacker reconstruct the records."""
    facts = (
        Fact(
            f"Learned about a {wording.unit()}",
            f"{wording.bits(finding.bits_mean)} bits, at most {wording.bits(finding.bits_largest)} bits",
            "On average and in the most exposed leaf, the group being known. One bit halves the possible records.",
        ),
        Fact(
            "Dist_G of all trees together",
            "not defined" if finding.dist_g is None else f"{finding.dist_g:.3f}",
            wording.clean(finding.undefined) or "Share of the joint entropy that is left.",
        ),
    )
    return facts_section("rebuild", "How far all trees together reconstruct the records", "Reconstruction", facts)


@shows("thresholds", rank=51)
def _thresholds_section(finding: ThresholdsFinding, findings: Findings) -> Section:
    """Return what thresholds reveal."""
    n = finding.n_thresholds
    meaning = "It needs the training records."
    if finding.n_midpoints is not None:
        meaning = "An attacker who knows one of the two values can compute the other." if finding.n_midpoints else ""
    facts = (
        Fact(
            "Thresholds that are not public cut points",
            f"{finding.n_off_grid or 'none'} of {n:,}" if n else "there are none",
            "Their place reveals something about training values." if finding.n_off_grid else "",
        ),
        Fact(
            "Thresholds that are midpoints of two values of the group",
            UNKNOWN if finding.n_midpoints is None else f"{finding.n_midpoints or 'none'} of {n:,}",
            meaning,
        ),
    )
    return facts_section("thresholds", "What thresholds reveal", "Thresholds", facts)


@shows("gaps", rank=52)
def _gaps_section(gaps: tuple[GapFinding, ...], findings: Findings) -> Section:
    """Return the gap attack by each kind of label."""
    facts = []
    for gap in gaps:
        value, meaning = "not measured", sentence(gap.reason or "")
        if gap.advantage is not None and gap.low is not None and gap.high is not None:
            value = wording.interval(gap.advantage, gap.low, gap.high)
            meaning = (
                f"Share of the {wording.units()} behind the release of whom the closest tree is right, less others'."
            )
        facts.append(Fact(f"Gap attack by {gap.labels}", value, meaning))
    title = "Members identified by a tree that is right"
    return facts_section("gaps", title, "Gap attack", tuple(facts), text_title="What an attacker learns")


@shows("forms", rank=30)
def _forms_section(finding: FormsFinding, findings: Findings) -> Section:
    """Return the paper's form and the restricted form side by side."""
    own = [row.form == findings.release.form for row in finding.forms]
    names = tuple(_form_name(row, findings) for row in finding.forms)
    rows = tuple(_comparison(finding.forms))
    table = Table(
        caption="What each form explains, and what it gives away",
        columns=(Column("Figure"), *(Column(name, picked=picked) for name, picked in zip(names, own, strict=True))),
        rows=rows,
        style="stack forms",
    )
    lead = f"Both were fitted on the same groups. Fidelity and accuracy were measured on {finding.measured_on}."
    return Section(
        id="forms",
        title="The forms side by side",
        link="Side by side",
        blocks=(Paragraph(text=lead, tone="lead"), table),
        text=tuple(f"{row.name}: {' | '.join(map(str, row.cells))}" for row in rows),
        text_title=f"Side by side, measured on {finding.measured_on}: {' | '.join(names)}",
    )


def _described(findings: Findings) -> str:
    """Return the form of a release, its size, and on what its trees were trained."""
    made = findings.release
    form = "The restricted form" if made.form == "restricted" else "The paper's form"
    of = wording.units() if made.records == "training" else "queries"
    size = f" of at least {made.k:,} {of}" if made.k is not None else f" of {of} in public cells"
    taught = "the black box's decisions" if made.labels == "black-box" else "true labels"
    return (
        f"{form}: {wording.plural(made.n_groups, 'group')}{size}, {wording.plural(made.n_attributes, 'attribute')}; "
        f"trees with a total of {made.n_leaves:,} leaves, depth at most {made.deepest}, trained on {taught}"
        f"{', class counts published' if made.counts else ''}."
    )


def _figures(findings: Findings) -> tuple[Fact, ...]:
    """Return the few figures that matter most."""
    groups = findings.value("groups")
    leaves = findings.value("leaves")
    attack = findings.value("membership")
    thresholds = findings.value("thresholds")
    gaps = [gap.advantage for gap in findings.value("gaps") or () if gap.advantage is not None]
    named = Fact(
        "Members named by thresholds",
        UNKNOWN if attack is None or attack.accused is None else _count(attack.accused),
        "by the midpoint attack on all trees",
    )
    if named.value == UNKNOWN and thresholds is not None and thresholds.n_off_grid == 0:
        named = replace(named, value=wording.none(), meaning="every threshold is a public cut point")
    return (
        Fact(
            f"Fewest {wording.units()} behind a representative",
            UNKNOWN if groups is None else _count(groups.smallest),
            _declared(findings),
        ),
        Fact(
            f"{wording.units().capitalize()} alone in a leaf",
            UNKNOWN if leaves is None else _people(leaves.n_alone, leaves.share_alone),
            "k-anonymity of the representative does not cover the tree",
        ),
        named,
        Fact(
            "Advantage of the gap attack",
            UNKNOWN if not gaps else f"{max(gaps):.3f}",
            "0 for guessing, 1 for an attack that is always right",
        ),
    )


def _declared(findings: Findings) -> str:
    return (
        "the release declares no number"
        if findings.release.k is None
        else f"the release declares {findings.release.k:,}"
    )


def _people(count: ShownCount, share: float) -> str:
    if count == 0:
        return wording.none()
    return f"{_count(count)} ({wording.percent(share, digits=1)})"


def _count(value: ShownCount | None) -> str:
    return UNKNOWN if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _group_facts(groups: GroupsFinding) -> tuple[Fact, ...]:
    distinct = groups.fewest_distinct
    empty = f" Empty: {wording.plural(groups.n_empty, 'group')}." if groups.n_empty else ""
    return (
        Fact(
            f"{wording.units().capitalize()} behind a representative",
            " to ".join(dict.fromkeys([_count(groups.smallest), _count(groups.largest)])),
            f"Total: {_count(groups.number)} {wording.units()}; sizes {groups.origin}.{empty}",
        ),
        Fact(
            "Fewest different records of a group",
            _count(distinct),
            "Copies of one record may be one person's." if distinct is not None else "It needs the training records.",
        ),
    )


def _representative_facts(finding: RepresentativesFinding, findings: Findings) -> tuple[Fact, ...]:
    missing = "It needs the training records."
    measured = finding.matched is not None
    if findings.release.partition == "public":
        return (Fact("Representatives", "public points", "They were chosen without the records."),)
    return (
        Fact(
            "Digits of a representative's numbers",
            f"at most {finding.digits}" if finding.n_numbers else "none",
            EXACT if finding.n_exact or findings.release.form == "paper" else ROUNDED,
        ),
        Fact(
            "Representatives that are a record of their group",
            UNKNOWN if finding.n_copies is None else _count(finding.n_copies) if finding.n_copies else "none",
            "Value by value." if measured else missing,
        ),
        Fact(
            "Values that everyone in a group has",
            UNKNOWN if finding.n_uniform is None else _count(finding.n_uniform) if finding.n_uniform else "none",
            "The representative reveals such a value of each of them." if measured else missing,
        ),
        Fact(
            f"{wording.units().capitalize()} whose group is found",
            UNKNOWN
            if finding.matched is None or finding.matched_near is None
            else f"{wording.percent(finding.matched)}; {wording.percent(finding.matched_near)} among {finding.n_near}",
            "By the closest representative, and among the closest few." if measured else missing,
        ),
        Fact(
            "Distance to the own representative",
            UNKNOWN if finding.closeness is None else f"{finding.closeness:.2f}",
            "Over that to any other: 1 would reveal nothing, 0 the record." if measured else missing,
        ),
    )


def _leaf_facts(leaves: LeavesFinding, findings: Findings) -> tuple[Fact, ...]:
    limit = findings.policy.smallest_leaf
    out = [
        Fact(
            f"{wording.units().capitalize()} alone in a leaf",
            _people(leaves.n_alone, leaves.share_alone),
            f"Of {leaves.n_held:,} leaves with records; sizes {leaves.origin}.",
        ),
        Fact(
            f"{wording.units().capitalize()} of the smallest leaf", _count(leaves.smallest), "In the own group's tree."
        ),
    ]
    if leaves.n_small is not None and limit is not None:
        out.append(
            Fact(
                f"Leaves of fewer than {limit} {wording.units()}",
                f"{leaves.n_small:,}" if leaves.n_small else "none",
                "The policy's limit.",
            )
        )
    certain = leaves.share_certain
    counted = "The counts are published." if findings.release.counts else "No counts are published."
    out.append(
        Fact(
            f"{wording.units().capitalize()} in leaves of one label",
            UNKNOWN if certain is None else wording.percent(certain),
            counted if certain is not None else "It needs the labels on which the trees were trained.",
        )
    )
    return tuple(out)


def _form_name(row: FormFinding, findings: Findings) -> str:
    name = "Paper's form" if row.form == "paper" else "Restricted form"
    return f"{name} (this release)" if row.form == findings.release.form else name


def _comparison(forms: tuple[FormFinding, ...]) -> Iterator[Row]:
    """Yield each figure of all forms."""
    ranked = any(form.quality is not None for form in forms)
    for same in zip(*(_form_figures(form, forms[0].small, ranked) for form in forms), strict=True):
        name, meaning, _ = same[0]
        yield Row(name=name, meaning=meaning, cells=tuple(value for _, _, value in same))


def _form_figures(form: FormFinding, small: int, ranked: bool) -> list[tuple[str, str, str]]:
    """Return the figures of a form, each with its name and what it means."""
    guided = f"{_figure(form.fidelity_guided)} (random trees: {_figure(form.fidelity_null)})"
    accuracy = f"{_figure(form.accuracy)}, {_figure(form.accuracy_guided)}{_alone(form, 'accuracy')}"
    by_probabilities = [
        ("AUROC", "The same, by published probabilities", _by_probabilities(form, "auroc")),
        ("Log loss", "The same", _by_probabilities(form, "log_loss")),
    ]
    share = f"Share of the {wording.units()}"
    bits = "not known" if form.bits_mean is None else wording.bits(form.bits_mean)
    return [
        ("Trees trained on", "", form.labels),
        ("Fidelity", "Closest tree decides as the black box (Protocol 1)", _figure(form.fidelity)),
        ("Guided fidelity", "First of the closest trees that does (Protocol 2)", guided),
        ("Accuracy", "By the true labels: closest tree, and guided", accuracy),
        *(by_probabilities if ranked else []),
        ("Nodes of a tree", "Median, and mean", f"{form.nodes_median:g}, {form.nodes_mean:.1f}"),
        ("Trees of one leaf", "", wording.percent(form.share_constant)),
        ("Members named by thresholds", "The midpoint attack: certain, where no other is named", _named(form)),
        ("Advantage of the gap attack", "By the true labels", _figure(form.gap_true)),
        ("The same by decisions", "Of the black box, on both sides", _figure(form.gap_decisions)),
        ("Alone in a leaf", share, wording.percent(form.share_alone)),
        (f"In a leaf of fewer than {small}", share, wording.percent(form.share_small)),
        ("Smallest leaf", wording.units().capitalize(), _count(form.smallest_leaf)),
        ("Thresholds that are not public cut points", "", f"{form.off_grid:,} of {form.n_thresholds:,}"),
        (f"Bits learned about a {wording.unit()}", "From the leaf, the group being known", bits),
    ]


def _by_probabilities(row: FormFinding, name: str) -> str:
    values = [getattr(one, name, None) for one in (row.quality, row.quality_guided)]
    if None in values:
        return f"none: leaves publish no probabilities{_alone(row, name)}"
    return f"{', '.join(map(_figure, values))}{_alone(row, name)}"


def _alone(row: FormFinding, name: str) -> str:
    """Return what a prediction without any attribute has, in brackets; empty where that is unknown."""
    value = getattr(row.quality_baseline, name, None)
    return "" if value is None else f" ({_figure(value)} without the model)"


def _named(row: FormFinding) -> str:
    if row.accused is None or row.share_accused is None:
        return "not known"
    if row.accused == 0 and row.accused_wrongly == 0:
        return wording.none()
    wrong = f", {_count(row.accused_wrongly)} others" if row.accused_wrongly else ", no others"
    return f"{_count(row.accused)} ({wording.percent(row.share_accused)}){wrong}"


def _figure(value: float | None) -> str:
    return "not known" if value is None else f"{value:.3f}"
