"""What a tree discloses of a sensitive attribute: what readers conclude, what can be done, and who is most exposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassine import __version__
from glassine.attacks.remedy_table import DisclosureRemedy
from glassine.auditing.findings import DisclosureFinding, Findings, InputFile
from glassine.auditing.findings.disclosure import DisclosureDetails, ReaderFinding
from glassine.report import wording
from glassine.report.blocks import (
    Column,
    Fact,
    Figure,
    Piece,
    Row,
    RowNumbers,
    Status,
    Table,
    heads,
    paragraph,
    rows_of,
)
from glassine.report.charts import Mark, draw_trade_off
from glassine.report.figures import FigureReading, facts, grid, table
from glassine.report.section import (
    LEARNED,
    Body,
    Page,
    Section,
    clean_inputs,
    figures_section,
    section,
    sentence,
    shows,
)
from glassine.report.sections.inferred import certain_blocks, certain_sections, certain_text, cheapest_remedy

MOST_NAMES = 8
HEADS = ("Uncertainty left", "Certain of", "D_overall", "Guesses correctly")
TRIED = (
    "Each remedy was tried on the training records. Publish a choice, not this table: the figures were read off the "
    "data."
)
RECORDS = {False: "the training records", True: "the training records, in brackets on held-out ones"}


KNOWN = table("""
What the attacker knows about everyone | {n_known:many attribute} | {listed}: {n_quasi_identifiers:count} different \
combinations among {number:people}. Of the tree: {knowledge:clean}.
""")
ESTIMATE = table("""
[unused] What the choice of splits adds | not used | {unused:sentence}
[of_leaves] What the choice of splits adds | not used | The attacker looks at the leaves alone.
[of_splits] What the choice of splits adds | {more:.2g} bits | The attack also uses the fact that each split was the \
best one available. Of {n_internal:many such constraint} {shaping} the estimate.{among}
[local] The estimate of maximum entropy | a local optimum | Without class counts a better search may \
find an estimate that leaves more uncertainty; how much more is not known. It takes fractions of {units}: whole \
{units} can reveal more than fractions.{known}
[best] The estimate of maximum entropy | the global optimum | No estimate that agrees with the tree leaves more \
uncertainty{slack}. It takes fractions of {units}: whole {units} can reveal more than fractions.{known}
""")
DETAILS = table("""
[sample] Who was in the training sample | {sample.fraction:percent} on average | From {lowest} to {highest}; certain \
of {sample.certain:people}. Probabilities of classes are those of any person, in the sample or not.
[truth] D_individual, distance to the truth | {truth.mean:.3g} bits on average (D_overall) | Small means disclosed. \
Quartiles {truth.lower:.3g}, {truth.median:.3g} and {truth.upper:.3g}; below 0.1 bits for {truth.disclosed:people}.
l-diversity of the leaves | {distinct_l:g} distinct, {entropy_l:.3g} by entropy | The least of any leaf, as far as an \
attacker can see: 1 where all in a leaf have one class.
(alpha, k)-anonymity of the leaves | alpha {alpha:.3g}, k {k} | The largest share of one class in a leaf, as far as \
an attacker can see; and the smallest leaf.
t-closeness of the leaves | t {t:.3g} | The largest distance of a leaf's class distribution from that of all {units}: \
0 to 1.
""")


def _estimate(finding: DisclosureFinding, knowledge: str = "", named: Sequence[str] = ()) -> tuple[Fact, ...]:
    """Return what the internal nodes add to the leaves, and whether the estimate is the best one."""
    readers, local = finding.readers, finding.optimum == "local"
    splits = not finding.unused and len(readers) >= 3
    return facts(
        ESTIMATE,
        finding,
        of_leaves=not finding.unused and not splits,
        of_splits=splits,
        more=max(readers[1].entropy - readers[2].entropy, 0.0) if splits else None,
        shaping=f"{finding.n_active:,} shape" if finding.n_active else "none shapes",
        among=f" Among them: {'; '.join(map(wording.clean, named))}." if named else "",
        local=local,
        best=not local,
        slack=f", up to a certified gap of {max(finding.gap, 1e-9):.1g} bits per {wording.unit()}"
        if finding.gap > 0
        else "",
        known=f" Known: {wording.clean(knowledge)}." if knowledge else "",
    )


@shows(
    "disclosure",
    "sensitive",
    "What it reveals about",
    "Sensitive attribute",
    about="{sensitive:clean}",
    lacking=lambda finding, findings: f"The internal nodes were not used: {finding.unused}" if finding.unused else "",
    text_title=LEARNED,
    rank=42,
)
def sensitive_section(finding: DisclosureFinding, findings: Findings) -> Body:
    """Return what an attacker learns of the sensitive attribute, as a part of an audit."""
    text, names = _sentence(finding), finding.quasi_identifiers
    listed = wording.listing(names, most=MOST_NAMES, room=40)
    about = (
        f"Most exposed {wording.units()}, by row number of the data, in ascending order, {wording.ROWS}. "
        "Keep this list internal."
    )
    pieces: tuple[Piece, ...] = (
        paragraph(text, "lead"),
        _readers(finding.readers, "What attackers infer about everyone's value"),
        certain_blocks(finding),
        (*facts(KNOWN, finding, n_known=len(names), listed=listed), *_estimate(finding)),
        (paragraph(wording.clean(note), "note") for note in finding.notes),
        rows_of(about, finding.exposed),
    )
    return pieces, (text, *certain_text(finding))


def disclosure_page(finding: DisclosureFinding, *, title: str | None = None, inputs: Sequence[InputFile] = ()) -> Page:
    """Return the report on what a tree discloses of a sensitive attribute."""
    details = finding.details
    return Page(
        kind="disclosure by a tree",
        title=wording.clean(title or "What a tree discloses"),
        described=wording.clean(_described(finding)),
        tone="finding",
        headline=_headline(finding),
        sentence=_sentence(finding),
        caveat="This is one attacker, who takes the least biased estimate. Another may know more.",
        notes=tuple(map(wording.clean, finding.notes)),
        figures=_headline_figures(finding),
        sections=(
            *((_remedies_section(details, finding.readers[0].guess_rate),) if details and details.remedies else ()),
            *certain_sections(finding),
            _learned_section(finding),
            _estimate_section(finding),
            *((_disclosed_subgroups_section(details),) if details and details.subgroups else ()),
            *((_disclosed_rows_section(details),) if details else ()),
        ),
        terms=("quasi", "bit", "entropy left", "distance", "internal", "local", "suppressed"),
        inputs=clean_inputs(inputs),
        notice=wording.CHECKER_ONLY,
        version=__version__,
    )


def _learned_section(finding: DisclosureFinding) -> Section:
    """Return what each reader concludes."""
    readers = _readers(finding.readers, "What each attacker concludes")
    names = [name if name == "D_overall" else name.lower() for name in HEADS]
    text = (", ".join(f"{name} {cell}" for name, cell in zip(names, row.cells, strict=False)) for row in readers.rows)
    return section(
        "learned",
        "What an attacker learns",
        readers,
        text=(f"{row.name}: {figures}" for row, figures in zip(readers.rows, text, strict=True)),
        text_title="What each attacker concludes; remaining uncertainty and divergence from the truth in bits",
    )


def _estimate_section(finding: DisclosureFinding) -> Section:
    """Return how good the estimate is, what the reader knows, and the anonymity of the leaves."""
    details = finding.details
    added, best = _estimate(finding, finding.knowledge, () if details is None else details.active)
    estimates = (best, added, *(() if details is None else _details(details)))
    title = "The estimate, and the anonymity of the leaves"
    return figures_section("estimate", title, "Estimate and anonymity", estimates)


def _details(details: DisclosureDetails) -> tuple[Fact, ...]:
    ends = ("", "") if details.sample is None else map(_certainty, (details.sample.lowest, details.sample.highest))
    lowest, highest = ends
    return facts(DETAILS, details, lowest=lowest, highest=highest)


def _remedies_section(details: DisclosureDetails, base_rate: float | None) -> Section:
    """Return what was tried against disclosure, and what it costs in accuracy."""
    held_out = any(row.holdout_accuracy is not None for row in details.remedies)
    figures = ("D_overall", "Accuracy", *(["Held out"] if held_out else []), "AUROC", "Log loss")
    columns = (*heads("Remedy", "Tree", figures=figures), Column("Status"))
    rows = tuple(_remedy(number, row, held_out) for number, row in enumerate(details.remedies, start=1))
    marks = [
        Mark(number=number, x=accuracy, y=row.d_overall)
        for number, row in enumerate(details.remedies, start=1)
        if (accuracy := row.holdout_accuracy if held_out else row.accuracy) is not None and row.d_overall is not None
    ]
    cheapest, compared = cheapest_remedy(details, base_rate), _comparison_notes(details, held_out)
    return section(
        "remedies",
        "What can be done, and what it costs",
        paragraph(cheapest, "lead"),
        TRIED,
        compared,
        Table(caption="D_overall in bits: small means disclosed", columns=columns, rows=rows),
        Figure(
            drawings=(draw_trade_off(marks, held_out=held_out),),
            title="Disclosure against accuracy.",
            caption="Upwards less is disclosed, to the right more predictions are right. Numbers are those of the "
            "table.",
        )
        if marks
        else None,
        link="What can be done",
        text=(cheapest, *(f"{row.name}: {f'{_figures(row)} {row.remark}'.strip()}" for row in rows), compared),
        text_title=f"Remedies: D_overall (lower means more disclosed) and accuracy on {RECORDS[held_out]}",
    )


SUBGROUPS = """
Subgroup | {attribute:clean} = {value:clean}
{Units} | {size:people}
Uncertainty left | {entropy:fine} bits
[known] D_overall | {d_overall:fine} bits
"""


def _disclosed_subgroups_section(details: DisclosureDetails) -> Section:
    """Return the most exposed subgroups, the most exposed first, and the least exposed one."""
    measured = details.subgroups[0].d_overall is not None
    caption = f"Means over the {wording.units()} of a subgroup, in bits. Lower means more disclosed"
    listed = grid(SUBGROUPS, details.subgroups, caption=caption, known=measured)
    said = "{0}: {1}, {2} left, D_overall {3}" if measured else "{0}: {1}, {2} left"
    return section(
        "subgroups",
        "Subgroups",
        f"The most exposed first, the least exposed last. Subgroups of few {wording.units()} are left out.",
        listed,
        text=(said.format(row.name, *row.cells) for row in listed.rows),
        text_title="Subgroups, the most exposed first; the last one the least exposed",
    )


def _disclosed_rows_section(details: DisclosureDetails) -> Section:
    """Return the most exposed people by row number."""
    rows = tuple(f"{wording.row_name(person.row)}: {_certainty(person.probability)}" for person in details.exposed)
    about = (
        f"By row number of the data, {wording.ROWS}, with the probability of the most probable class. Keep "
        f"this list internal. Anyone with the data can look up the {wording.unit()}."
    )
    title, text_title = "The most exposed records", f"Most exposed, by row number, {wording.ROWS}"
    text = (", ".join(rows),)
    return section("exposed", title, about, RowNumbers(rows), link="Records", text=text, text_title=text_title)


READERS = """
Attacker with | {reader:sentence}
Uncertainty left | {entropy:fine} bits
Certain of | {certain:people}
[known] D_overall | {d_overall:fine} bits
[known] Guesses correctly | {guess_rate:percent}
"""


def _readers(readers: Sequence[ReaderFinding], title: str) -> Table:
    measured = readers[0].d_overall is not None and readers[0].guess_rate is not None
    caption = (
        f"{title}. Remaining uncertainty and divergence from the truth (D_overall) per {wording.unit()}; lower means "
        "more disclosed"
    )
    return grid(READERS, readers, caption=caption, known=measured)


def _headline(finding: DisclosureFinding) -> str:
    """Return which share of the entropy the tree takes away."""
    before, left = finding.readers[0].entropy, finding.readers[-1].entropy
    if not before > 0:
        return "Nothing was open"
    removed = wording.percent(min(max(1 - left / before, 0.0), 1.0))
    return f"The tree removes {removed} of the uncertainty about {wording.clean(finding.sensitive)}"


def _words(finding: DisclosureFinding) -> dict[str, Any]:
    return {"first": finding.readers[0], "last": finding.readers[-1]}


def _sentence(finding: DisclosureFinding) -> str:
    """Return what the reader learns."""
    reading = FigureReading(finding, **_words(finding))
    text = (
        "An attacker with the tree who knows all quasi-identifiers learns {learned_mean:fine} bits per {unit} about "
        "{sensitive:clean} beyond the class distribution, and {learned_most:fine} bits of the most exposed one. "
        "{last.entropy:fine} of {first.entropy:fine} bits are left."
    )
    if finding.readers[-1].certain:
        text += " For {last.certain:people} the class is practically certain."
    return reading.said(text)


def _described(finding: DisclosureFinding) -> str:
    """Return who was looked at, and what the reader knows."""
    text = "{number:people}, {n_classes:many class} of {sensitive:clean}. The attacker knows {knowledge:clean}."
    return sentence(FigureReading(finding).said(text))


HEADLINE = table("""
Learned about the average {unit} | {learned_mean:fine} bits | {last.entropy:fine} of {first.entropy:fine} bits are left
Learned about the most exposed | {learned_most:fine} bits | beyond the class distribution
Practically certain | {last.certain:people} | of {number:people}
[guessed] Guesses correctly | {last.guess_rate:percent} | {first.guess_rate:percent} from the class distribution alone
""")


def _headline_figures(finding: DisclosureFinding) -> tuple[Fact, ...]:
    """Return the few figures that matter most."""
    guessed = None not in (finding.readers[0].guess_rate, finding.readers[-1].guess_rate)
    return facts(HEADLINE, finding, guessed=guessed, **_words(finding))


def _remedy(number: int, row: DisclosureRemedy, held_out: bool) -> Row:
    name = f"{number}. {row.name[:1].upper()}{row.name[1:]}"
    reason = row.reason or ""
    if row.status == "local":
        reason = "a local optimum: another estimate may leave more open."
    if row.d_overall is None or row.accuracy is None:
        return Row(name=name, cells=(*("",) * (5 + held_out), Status("not measured")), remark=sentence(reason))
    outside = "" if row.holdout_accuracy is None else wording.percent(row.holdout_accuracy)
    return Row(
        name=name,
        cells=(
            f"{row.n_leaves:.4g} {'leaf' if row.n_leaves == 1 else 'leaves'}",
            f"{row.d_overall:.3g}",
            wording.percent(row.accuracy),
            *([outside] if held_out else []),
            *_ranking(row, held_out),
            Status("measured"),
        ),
        remark=sentence(reason),
    )


def _figures(row: Row) -> str:
    """Return the figures of a remedy in a sentence; empty where there are none."""
    leaves, distance, accuracy, *outside, area, loss = row.cells[:-1]
    aside = f" ({outside[0]} of those held out)" if outside and outside[0] else ""
    return f"{distance} bits, {accuracy} right{aside}, AUROC {area}, log loss {loss}, {leaves}." if distance else ""


def _ranking(row: DisclosureRemedy, held_out: bool) -> tuple[str, str]:
    """Return AUROC and log loss, on held-out records if there are any; "none" without probabilities."""
    area, loss = (row.holdout_auroc, row.holdout_log_loss) if held_out else (row.auroc, row.log_loss)
    return ("none" if area is None else f"{area:.3g}"), ("none" if loss is None else f"{loss:.3g}")


def _comparison_notes(details: DisclosureDetails, held_out: bool) -> str:
    """Return what a prediction without any attribute has, and why some remedies have no AUROC."""
    base = details.baseline
    if base is None or base.accuracy is None:
        return ""
    right = base.holdout_accuracy if held_out and base.holdout_accuracy is not None else base.accuracy
    area, loss = _ranking(base, held_out)
    lacking = any(row.accuracy is not None and "none" in _ranking(row, held_out) for row in details.remedies)
    why = " They are none where a record gets no published probability." if lacking else ""
    return (
        f"Without the model {wording.percent(right)} are right, AUROC is {area} and log loss {loss}. "
        f"AUROC and log loss are those on {'held-out' if held_out else 'the training'} records.{why}"
    )


def _certainty(probability: float) -> str:
    return "certain" if probability == 1 else wording.percent(probability)
