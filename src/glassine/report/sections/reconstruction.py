"""How far records can be reconstructed: uncertainty left, the exposure curve, attributes, subgroups, single records."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glassine.attacks.outcome import Measured
from glassine.attacks.record_matching import ErrorEstimate
from glassine.auditing.findings import (
    AttributeFinding,
    DomainSummary,
    Findings,
    ReconstructionFinding,
    SubgroupBitsFinding,
)
from glassine.capacity import rounded_up
from glassine.report import wording
from glassine.report.blocks import (
    Fact,
    Figure,
    Paragraph,
    Piece,
    Reading,
    Readings,
    Row,
    Table,
    fold,
    heads,
    paragraph,
    rows_of,
)
from glassine.report.charts import draw_bar, draw_curve
from glassine.report.figures import FigureReading as Words
from glassine.report.figures import facts, grid, table
from glassine.report.section import LEARNED, Body, sentence, shows
from glassine.report.sections.parts import Scale, parts_of

NO_SUBGROUP = "There is no subgroup that is large enough to show."
MOST_BARS = 25
EXPOSED_SUBGROUPS = 5
EXPOSED_ATTRIBUTES = 5
MOST_ATTRIBUTES = 3
SHOWN = 0.05  # bits below it read as 0.0
NEGLIGIBLE = 1e-6


ABOUT = (
    "Dist_G is 1 when the model reveals nothing about the records' attributes, and 0 when it reveals everything. "
    "{note} It says nothing about outcomes."
)


@shows(
    "reconstruction",
    "rebuild",
    "How far the records can be reconstructed",
    "Reconstruction",
    lacking=lambda finding, findings: finding.undefined or "",
    text_title=LEARNED,
    rank=10,
)
def reconstruction_section(finding: ReconstructionFinding, findings: Findings) -> Body:
    """Return the uncertainty that a model removes: total, by record and by attribute."""
    rebuilt, narrowed = _rebuilt(finding, findings), _narrowed(finding, findings)
    bars, more = _attributes(finding.attributes)
    split, undefined = _split(finding, findings), sentence(finding.undefined or "")
    caption = "Bits learned about each attribute of a record, most revealed first"
    others = bars[EXPOSED_ATTRIBUTES:]
    less = f"{wording.plural(len(others), 'more attribute')}, less revealed"
    pieces: tuple[Piece, ...] = (
        paragraph(f"{rebuilt} {narrowed}".strip() if rebuilt else "", "lead"),
        split,
        paragraph(undefined, "note"),
        fold(
            "Dist_G, and what it counts",
            Readings(readings(finding, findings)),
            ABOUT.format(note=_readings_note(findings.domain)),
            "" if findings.domain is None else _domain(findings.domain),
        ),
        _curve(finding, findings),
        _bars("Attribute", caption, bars[:EXPOSED_ATTRIBUTES]),
        fold(less, _bars("Attribute", "Bits learned about each other attribute of a record", others)),
        _omitted(more, "attribute"),
        paragraph("" if bars else f"Attributes. {undefined or 'Nothing is learned about any of them.'}", "missing"),
    )
    named = [f"{wording.shorten(row.name, 30)} ({row.cells[1]})" for row in bars[:MOST_ATTRIBUTES]]
    most = f"Attributes most revealed, in bits per record: {', '.join(named)}." if named else ""
    return pieces, (rebuilt, narrowed, split, most)


def _split(finding: ReconstructionFinding, findings: Findings) -> str:
    """Return how much of what is learned is about these people, where the class of models was stated.

    Of the expected bits, those about the records of these people are at most the bits of the class (the fresh game).
    What remains is the distance of the population from the prior of Dist_G, which the records of other people reveal
    as well.
    """
    outcome = findings.measured["capacity"]
    prior, left = finding.prior_bits_domain_aware, finding.entropy_bits_domain_aware
    if not isinstance(outcome, Measured) or prior is None or left is None or not prior - left > NEGLIGIBLE:
        return ""
    bounds = outcome.value
    learned, own = (prior - left) / bounds.n, bounds.games[0].bits / bounds.n
    share = min(1.0, own / learned)
    return (
        f"Of the {learned:.2f} bits that are learned per {wording.unit()} on average, at most {rounded_up(own, 2):g} "
        f"({rounded_up(100 * share, 2):g}%) are about these people, if the stated class is true and their records are "
        "independent. The rest is knowledge about the population, which a model of other people would reveal as well."
    )


def readings(finding: ReconstructionFinding, findings: Findings) -> tuple[Reading, ...]:
    """Return Dist_G with attributes independent, and with the domain's groups if it has any."""

    def quantity(value: float | None) -> str:
        return "not defined" if value is None else f"{wording.amount(value)} bits"

    def reading(name: str, left: float | None, before: float | None, after: float | None) -> Reading:
        value = "not defined" if left is None else f"{left:.3f}"
        return Reading(name=name, left=left, value=value, before=quantity(before), after=quantity(after))

    independent = reading(
        "Attributes independent (as in the paper)", finding.dist_g, finding.prior_bits, finding.entropy_bits
    )
    if findings.domain is not None and findings.domain.n_groups == 0:
        return (independent,)
    return (
        independent,
        reading(
            "With the domain's groups",
            finding.dist_g_domain_aware,
            finding.prior_bits_domain_aware,
            finding.entropy_bits_domain_aware,
        ),
    )


HEADLINE = table("""
Learned about the average record | {average} | {fits_average} | It was not measured.
Learned about the most exposed | {most} | {fits_most} | It was not measured.
Flagged | {flagged:number} of {parts} | few records, one outcome, or too many bits
""")


def headline_figures(findings: Findings) -> tuple[Fact, ...]:
    """Return the figures that matter most for a tree or a rule list without a guarantee; a regression has no leaves."""
    if findings.model.kind == "regression":
        return ()
    measured: ReconstructionFinding | None = findings.value("reconstruction")
    limit, parts = findings.policy.largest_bits_per_record, parts_of(findings).parts
    average, most = (None, None) if measured is None else (measured.bits_mean, measured.bits_largest)

    def fits(bits: float | None) -> str:
        return "" if measured is None or bits is None else _fits(measured, findings.domain, bits)

    return facts(
        HEADLINE,
        measured,
        average=None if average is None else f"{wording.bits(average)} bits",
        most=None if most is None else f"{wording.bits(most, beyond=limit)} bits",
        fits_average=fits(average),
        fits_most=fits(most),
        flagged=sum(bool(part.flags) for part in parts),
        parts=wording.plural(len(parts), "rule" if findings.model.kind == "rule list" else "leaf"),
    )


def share_unit(findings: Findings) -> float:
    """Return the step to which shares of the records are rounded: one percent, or as many records as are suppressed."""
    n = findings.model.n_records
    return max(0.01, findings.policy.suppress_below / n) if n else 0.01


def curve(finding: ReconstructionFinding, unit: float) -> tuple[tuple[float, float], ...]:
    """Return the exposure curve, its shares rounded up to a unit; the larger bits stand where two steps meet."""
    # Bits are rounded to one decimal, so that the drawing is no more precise than its table.
    out: list[tuple[float, float]] = []
    for share, bits in finding.exposure_curve:
        # Up, so that no step looks shorter than it may be; steps that meet show the larger bits.
        end = min(math.ceil(share / unit - 1e-9) * unit, 1.0)
        if not out or end > out[-1][0]:
            out.append((end, round(bits, 1)))
    return tuple(out)


CURVE = """
Up to this share of the records | {share:percent}
Bits learned | {bits:bits}
"""


def _curve(finding: ReconstructionFinding, findings: Findings) -> Piece:
    points = curve(finding, share_unit(findings))
    if not points:
        return None
    merged, highest = "", finding.bits_largest
    scale = Scale.up_to(max(highest or 0.0, points[0][1]), findings.policy.largest_bits_per_record)
    if highest is not None and round(highest, 1) > points[0][1]:
        noun = "Rules" if findings.model.kind == "rule list" else "Leaves"
        merged = (
            f"The most exposed record lies higher than the curve, at {wording.bits(highest)} bits. {noun} too small to "
            f"show separately are averaged, so the curve starts at {wording.bits(points[0][1])} bits."
        )
    steps = [{"share": share, "bits": bits} for share, bits in points]
    caption = "Bits learned, the most exposed records first; shares are rounded up"
    return (
        Figure(
            drawings=(draw_curve(points, top=scale.top, limit=scale.limit),),
            title="Exposure curve.",
            caption="Bits learned about a record, the most exposed at the left. Each bit halves the possible records.",
        ),
        paragraph(merged, "note"),
        fold("The curve as a table", grid(CURVE, steps, caption=caption, style="plain")),
    )


def _rebuilt(finding: ReconstructionFinding, findings: Findings) -> str:
    short = ("with attributes independent", "with the domain's groups")
    defined = [
        (reading, name)
        for reading, name in zip(readings(finding, findings), short, strict=False)
        if reading.left is not None
    ]
    if not defined:
        return ""
    best = defined[-1][0]
    values = ", ".join(f"{reading.value} {name}" for reading, name in defined)
    if len({reading.value for reading, _ in defined}) == 1:
        values = best.value
    learned = wording.percent(1 - (best.left or 0.0))
    return f"The model removes {learned} of the uncertainty about the training records (Dist_G {values})."


def _narrowed(finding: ReconstructionFinding, findings: Findings) -> str:
    if finding.bits_largest is None:
        return ""
    fits = _fits(finding, findings.domain, finding.bits_largest)
    if not fits:
        return ""
    mean = "" if finding.bits_mean is None else f"; average {wording.bits(finding.bits_mean)}"
    return f"Most exposed record: {fits} ({wording.bits(finding.bits_largest)} bits{mean})."


def _fits(finding: ReconstructionFinding, domain: DomainSummary | None, bits: float) -> str:
    """Return how many possible records remain; empty if all do or if the domain contradicts the model."""
    prior = domain.bits_domain_aware if domain is not None else None
    contradicted = finding.bits_largest is None or (prior is not None and finding.bits_largest > prior + NEGLIGIBLE)
    if contradicted or not math.isfinite(bits) or bits < SHOWN:
        return ""
    if prior is None:
        return f"{wording.candidates(bits)} possible records remains"
    left, possible = (wording.worlds(value) for value in (prior - bits, prior))
    return f"about {left} of {possible} possible records remain{'s' if left == '1' else ''}"


def _readings_note(domain: DomainSummary | None) -> str:
    if domain is None:
        return ""
    if domain.n_groups == 0:
        return "The domain ties no attributes together, so there is one reading."
    return (
        "The first reading takes all attributes as independent. The second leaves out records that the domain makes "
        "impossible: it is what an attacker really knows."
    )


def _domain(domain: DomainSummary) -> str:
    text = f"The domain has {wording.plural(domain.n_attributes, 'attribute')}"
    text += f" and {wording.plural(domain.n_groups, 'group')} that tie them together" if domain.n_groups else ""
    if domain.bits_domain_aware is not None:
        bits = domain.bits_domain_aware
        text += f": {wording.worlds(bits)} possible records, or {wording.amount(bits)} bits each"
    if domain.inferred:
        text += f". Taken from data, not declared: {wording.listing(domain.inferred, most=5, room=40)}"
    return f"{text}."


def _bars(head: str, caption: str, rows: Sequence[Row]) -> Table | None:
    columns = heads(head, "Mean and largest", figures=("Mean", "Largest"))
    return Table(caption=caption, columns=columns, rows=tuple(rows), style="bars") if rows else None


def _bar(name: str, mean: float, largest: float, top: float, *, group: str = "", note: str = "") -> Row:
    drawing = draw_bar(*(min(max(value / top, 0.0), 1.0) if top > 0 else 0.0 for value in (mean, largest)))
    cells = (drawing, _fine(mean), _fine(largest))
    return Row(name=wording.clean(name), group=wording.clean(group), note=note, cells=cells)


def _fine(value: float) -> str:
    return wording.bits(value) if value >= 0.1 or value <= 0 else "under 0.1"


def _omitted(count: int, noun: str) -> Piece:
    return paragraph(f"{wording.plural(count, f'more {noun}')}: see the JSON findings." if count > 0 else "", "note")


def _attributes(attributes: Sequence[AttributeFinding]) -> tuple[list[Row], int]:
    """Return the attributes about which something is learned, most first, and the number left out."""
    learned = [a for a in sorted(attributes, key=lambda a: -a.bits_learned) if a.bits_largest > 0]
    top = max((a.bits_largest for a in learned), default=0.0)
    rows = [_bar(a.attribute, a.bits_learned, a.bits_largest, top) for a in learned[:MOST_BARS]]
    return rows, len(learned) - len(rows)


@shows(
    "subgroups",
    "groups",
    "Subgroups",
    lacking=lambda subgroups, findings: "" if subgroups else NO_SUBGROUP,
    rank=60,
)
def subgroups_section(groups: tuple[SubgroupBitsFinding, ...], findings: Findings) -> Body:
    """Return the subgroups: those of the sensitive attribute, then the five about which most is learned on average."""
    top = max((g.bits_largest for g in groups if math.isfinite(g.bits_largest)), default=0.0)
    asked = [g for g in groups if g.attribute == findings.sensitive]
    others = sorted(
        (g for g in groups if g.attribute != findings.sensitive), key=lambda g: (-g.bits_mean, -g.bits_largest)
    )
    rows = [
        _bar(
            g.value,
            g.bits_mean,
            g.bits_largest,
            top,
            group=g.attribute,
            note=wording.plural(g.size, "record") if isinstance(g.size, int) else f"{g.size} records",
        )
        for g in [*asked, *others][:MOST_BARS]
    ]
    open_ = len(asked) + EXPOSED_SUBGROUPS
    rest = rows[open_:]
    caption = "Bits learned about a record of each subgroup, the most exposed on average first"
    less = f"{wording.plural(len(rest), 'more subgroup')}, less exposed"
    pieces: tuple[Piece, ...] = (
        Paragraph(title="Looked at more closely, and listed first:", text=f"{wording.clean(findings.sensitive)}.")
        if findings.sensitive
        else None,
        _bars("Subgroup", caption, rows[:open_]),
        fold(less, _bars("Subgroup", "Bits learned about a record of each other subgroup", rest)),
        _omitted(len(groups) - len(rows), "subgroup"),
    )
    return pieces if rows else paragraph(NO_SUBGROUP, "missing"), ()


@shows("exposed_rows", "records", "The most exposed records", "Records", rank=61)
def exposed_section(rows: tuple[int, ...], findings: Findings) -> Body:
    """Return the most exposed records by row number."""
    about = (
        f"Row numbers of the data, in ascending order, {wording.ROWS}. Keep this list internal. Anyone with the data "
        f"can look up the {wording.unit()}."
    )
    # In order of number: the order of exposure would reveal where one leaf ends, hence its size.
    return rows_of(about, sorted(rows)) or "There is no row to name.", ()


ALIGNED = (
    "{gain} Their distance from the real ones is {error:.3f} ± {error_sd:.3f}, on a scale from 0 (equal) to 1; that of "
    "random records is {baseline:.3f} ± {baseline_sd:.3f} ({n_draws} samples, {n_matched:many record} matched)."
)


@shows("alignment", "alignment", "Compared with the data", rank=11)
def alignment_section(estimate: ErrorEstimate, findings: Findings) -> Body:
    """Return how close rebuilt records come to the real ones."""
    return Words(estimate, gain=_gain(estimate)).said(ALIGNED), ()


def _gain(estimate: ErrorEstimate) -> str:
    """Return in words how much closer than random records the reconstructed ones are, on average."""
    if estimate.error + estimate.error_sd >= estimate.baseline - estimate.baseline_sd:
        return "On average, reconstructed records are no closer to the real ones than random records are."
    gain = wording.percent(1 - estimate.error / estimate.baseline)
    return f"On average, reconstructed records are {gain} closer to the real ones than random records are."
