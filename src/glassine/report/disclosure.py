"""The report on what a tree discloses of a sensitive attribute: a page, and text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from glassine import __version__
from glassine.attacks.outcome import Count
from glassine.findings import InputFile
from glassine.findings.disclosure import DisclosureFinding, ReaderFinding, RemedyFinding, SubgroupFinding
from glassine.report import wording
from glassine.report.html import environment
from glassine.report.statements import Fact
from glassine.report.trade_off import Mark, draw_trade_off

__all__ = [
    "DisclosureView",
    "ReaderRow",
    "RemedyRow",
    "SubgroupRow",
    "disclosure_view",
    "render_disclosure_html",
    "render_disclosure_text",
]

WIDTH = 88
RECORDS = {False: "the training records", True: "the training records, in brackets on held-out ones"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderRow:
    """One reader in words; empty where the truth is not known."""

    name: str
    entropy: str
    certain: str
    d_overall: str
    guess_rate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyRow:
    """One remedy in words; a number marks it in the drawing."""

    number: int
    name: str
    leaves: str
    d_overall: str
    accuracy: str
    holdout: str
    meaning: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupRow:
    """One subgroup in words; the distance is empty where the truth is not known."""

    name: str
    size: str
    entropy: str
    d_overall: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureView:
    """Disclosure in words.

    Attributes
    ----------
    sentence, warning : str
        What the reader learns; and what to keep in mind, empty if nothing.
    readers : tuple of ReaderRow
        The readers, the one who knows least first.
    facts : tuple of Fact
        The estimate, internal nodes, the truth, anonymity.
    exposed : tuple of str
        The most exposed people by row number.
    notes : tuple of str
        Which knowledge was left out.
    remedies : tuple of RemedyRow
        What was tried.
    marks : tuple of Mark
        The remedies as points, on held-out records if there were any.
    subgroups : tuple of SubgroupRow
        The most exposed subgroups, the most exposed first.
    held_out : bool
        Whether remedies were measured on held-out records.
    """

    sentence: str
    readers: tuple[ReaderRow, ...]
    facts: tuple[Fact, ...]
    exposed: tuple[str, ...]
    notes: tuple[str, ...]
    remedies: tuple[RemedyRow, ...]
    marks: tuple[Mark, ...]
    subgroups: tuple[SubgroupRow, ...]
    held_out: bool


def disclosure_view(found: DisclosureFinding) -> DisclosureView:
    """Return what a tree discloses, in words."""
    facts = [_estimate(found), _internal(found), *_sample(found), *_truth(found), *_anonymity(found)]
    held_out = any(row.holdout_accuracy is not None for row in found.remedies)
    placed = [
        (i, row.holdout_accuracy if held_out else row.accuracy, row.d_overall)
        for i, row in enumerate(found.remedies, start=1)
    ]
    return DisclosureView(
        sentence=_sentence(found),
        readers=tuple(_reader(reader) for reader in found.readers),
        facts=tuple(facts),
        exposed=tuple(f"row {p.row}: {_certainty(p.probability)}" for p in found.exposed),
        notes=tuple(map(wording.clean, found.notes)),
        remedies=tuple(_remedy(i, row) for i, row in enumerate(found.remedies, start=1)),
        marks=tuple(
            Mark(number=i, accuracy=accuracy, d_overall=distance)
            for i, accuracy, distance in placed
            if accuracy is not None and distance is not None
        ),
        subgroups=tuple(map(_subgroup, found.subgroups)),
        held_out=held_out,
    )


def render_disclosure_html(
    found: DisclosureFinding, *, title: str, described: str = "", inputs: Sequence[InputFile] = ()
) -> str:
    """Return what a tree discloses as one HTML page that loads nothing from anywhere.

    Parameters
    ----------
    found : DisclosureFinding
        What the reader learns.
    title, described : str
        Title of the page, and a line on the model.
    inputs : sequence of InputFile
        The files that were read.
    """
    view = disclosure_view(found)
    cleaned = [
        InputFile(role=wording.clean(file.role), name=wording.clean(file.name), sha256=wording.clean(file.sha256))
        for file in inputs
    ]
    page = environment().get_template("disclosure.html")
    return page.render(
        view=view,
        chart=draw_trade_off(view.marks, held_out=view.held_out),
        title=wording.clean(title),
        described=wording.clean(described),
        inputs=cleaned,
        version=__version__,
    )


def render_disclosure_text(found: DisclosureFinding) -> str:
    """Return what a tree discloses as plain text, at most 88 characters wide."""
    view = disclosure_view(found)
    lines = [
        *_wrap(view.sentence, ""),
        "",
        "What each reader concludes; entropy left and distance to the truth in nats",
    ]
    for row in view.readers:
        told = f"{row.name}: {row.entropy} left, certain of {row.certain}"
        truth = f"; D_overall {row.d_overall}, right in {row.guess_rate}" if row.d_overall else ""
        lines += _wrap(told + truth, "    ")
    lines += ["", "Beside them"]
    for fact in view.facts:
        lines += _wrap(f"{fact.name}: {fact.value}. {fact.meaning}", "    ")
    lines += ["", "Most exposed, by row number from 0", *_wrap(", ".join(view.exposed), "  ", first="  ")]
    if view.subgroups:
        lines += ["", "Subgroups, the most exposed first; the last one the least exposed"]
        for group in view.subgroups:
            distance = f", D_overall {group.d_overall}" if group.d_overall else ""
            lines += _wrap(f"{group.name}: {group.size}, {group.entropy} left{distance}", "    ")
    if view.notes:
        lines += ["", "Left out", *(line for note in view.notes for line in _wrap(note, "    "))]
    if view.remedies:
        lines += [
            "",
            *_wrap(f"Remedies: D_overall, small means disclosed, and accuracy on {RECORDS[view.held_out]}", ""),
        ]
        for remedy in view.remedies:
            figures = _figures(remedy) if remedy.d_overall else ""
            told = f"{remedy.number}. {remedy.name}: {f'{figures} {remedy.meaning}'.strip()}"
            lines += _wrap(told, "      ", first="  ")
    return "\n".join(lines) + "\n"


def _figures(remedy: RemedyRow) -> str:
    held = f" ({remedy.holdout} of those held out)" if remedy.holdout else ""
    return f"{remedy.d_overall} nats, {remedy.accuracy} right{held}, {remedy.leaves}."


def _subgroup(group: SubgroupFinding) -> SubgroupRow:
    return SubgroupRow(
        name=f"{wording.clean(group.attribute)} = {wording.clean(group.value)}",
        size=_people(group.size),
        entropy=f"{group.entropy:.3g} nats",
        d_overall="" if group.d_overall is None else f"{group.d_overall:.3g}",
    )


def _sample(found: DisclosureFinding) -> list[Fact]:
    if found.sample is None:
        return []
    sample = found.sample
    return [
        Fact(
            name="Who was in the training sample",
            value=f"{wording.percent(sample.fraction)} on average",
            meaning=f"From {_certainty(sample.lowest)} to {_certainty(sample.highest)}; certain of "
            f"{_people(sample.certain)}. Probabilities of classes are those of anybody, in the sample or not.",
        )
    ]


def _sentence(found: DisclosureFinding) -> str:
    name = wording.clean(found.sensitive)
    least, best = found.readers[0], found.readers[-1]
    told = (
        f"Who reads the tree and knows everybody's quasi-identifiers learns {found.learned_mean:.3g} nats a person "
        f"about {name} beyond the class distribution, and {found.learned_most:.3g} nats of the most exposed one. "
        f"{best.entropy:.3g} of {least.entropy:.3g} nats are left."
    )
    if best.certain:
        told += f" Of {_people(best.certain)} the class is as good as certain."
    return told


def _reader(reader: ReaderFinding) -> ReaderRow:
    known = reader.d_overall is not None and reader.guess_rate is not None
    return ReaderRow(
        name=reader.reader[:1].upper() + reader.reader[1:],
        entropy=f"{reader.entropy:.3g} nats",
        certain=_people(reader.certain),
        d_overall=f"{reader.d_overall:.3g}" if known else "",
        guess_rate=wording.percent(reader.guess_rate or 0.0) if known else "",
    )


def _estimate(found: DisclosureFinding) -> Fact:
    if found.status == "local":
        value = "a local optimum"
        meaning = (
            "Without class counts the constraints are not convex: another estimate may leave up to "
            f"{found.gap:.3g} nats a person more open."
        )
    else:
        value = "the global optimum"
        meaning = f"No estimate that the knowledge allows leaves more than {found.gap:.1g} nats a person more open."
    return Fact(name="Estimate of maximum entropy", value=value, meaning=f"{meaning} Known: {found.knowledge}.")


def _internal(found: DisclosureFinding) -> Fact:
    if len(found.readers) < 3:
        return Fact(name="Internal nodes", value="not used", meaning="The reader looks at the leaves alone.")
    more = found.readers[1].entropy - found.readers[2].entropy
    named = f" Among them: {'; '.join(map(wording.clean, found.active))}." if found.active else ""
    return Fact(
        name="Internal nodes",
        value=f"{max(more, 0.0):.3g} nats more",
        meaning=f"Every split was the best one of its node: {found.n_internal:,} constraints, of which "
        f"{found.n_active:,} shape the estimate.{named}",
    )


def _truth(found: DisclosureFinding) -> list[Fact]:
    if found.truth is None:
        return []
    truth = found.truth
    return [
        Fact(
            name="D_individual, distance to the truth",
            value=f"{truth.mean:.3g} nats on average (D_overall)",
            meaning=f"Small means disclosed. Quartiles {truth.lower:.3g}, {truth.median:.3g} and {truth.upper:.3g}; "
            f"below 0.1 nats for {_people(truth.disclosed)}.",
        )
    ]


def _anonymity(found: DisclosureFinding) -> list[Fact]:
    return [
        Fact(
            name="l-diversity of the leaves",
            value=f"{found.distinct_l:g} distinct, {found.entropy_l:.3g} by entropy",
            meaning="The least of any leaf, as far as the reader can tell: 1 where all in a leaf have one class.",
        ),
        Fact(
            name="(alpha, k)-anonymity of the leaves",
            value=f"alpha {found.alpha:.3g}, k {found.k}",
            meaning="The largest share of one class in a leaf, as far as the reader can tell; and the smallest leaf.",
        ),
        Fact(
            name="t-closeness of the leaves",
            value=f"t {found.t:.3g}",
            meaning="The largest distance of a leaf's class distribution from that of all people: 0 to 1.",
        ),
    ]


def _remedy(number: int, row: RemedyFinding) -> RemedyRow:
    name = row.name[:1].upper() + row.name[1:]
    reason = wording.clean(row.reason or "")
    if row.status == "local":
        reason = "a local optimum: another estimate may leave more open."
    if row.d_overall is None or row.accuracy is None:
        return RemedyRow(
            number=number,
            name=name,
            leaves="",
            d_overall="",
            accuracy="",
            holdout="",
            meaning=reason[:1].upper() + reason[1:],
            state="not measured",
        )
    return RemedyRow(
        number=number,
        name=name,
        leaves=f"{row.n_leaves:.4g} {'leaf' if row.n_leaves == 1 else 'leaves'}",
        d_overall=f"{row.d_overall:.3g}",
        accuracy=wording.percent(row.accuracy),
        holdout="" if row.holdout_accuracy is None else wording.percent(row.holdout_accuracy),
        meaning=reason[:1].upper() + reason[1:],
        state="measured",
    )


def _certainty(probability: float) -> str:
    return "certain" if probability == 1 else wording.percent(probability)


def _people(count: Count) -> str:
    if isinstance(count, str):
        return f"{count} people"
    return "nobody" if count == 0 else "1 person" if count == 1 else f"{count:,} people"


def _wrap(text: str, hang: str, first: str | None = None) -> list[str]:
    lead = first if first is not None else ("  " if hang else "")
    return textwrap.wrap(text, WIDTH, initial_indent=lead, subsequent_indent=hang, break_on_hyphens=False)
