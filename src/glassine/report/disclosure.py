"""The report on what a tree discloses of a sensitive attribute: a page, and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glassine.auditing.findings import InputFile
from glassine.auditing.findings.disclosure import DisclosureFinding, RemedyFinding, SubgroupFinding
from glassine.report import wording
from glassine.report.charts import Mark, draw_trade_off
from glassine.report.html import render_page
from glassine.report.lines import wrap
from glassine.report.readers import ReaderRow, estimate_fact, internal_fact, people, reader_row
from glassine.report.statements import Fact

__all__ = [
    "DisclosureView",
    "RemedyRow",
    "SubgroupRow",
    "disclosure_view",
    "render_disclosure_html",
    "render_disclosure_text",
]

RECORDS = {False: "the training records", True: "the training records, in brackets on held-out ones"}


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
    headline, sentence : str
        How much is learned in a word or two, and what the reader learns.
    figures : tuple of Fact
        The few figures that matter most.
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

    headline: str
    sentence: str
    figures: tuple[Fact, ...]
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
    facts = [
        estimate_fact(found.status, found.gap, known=found.knowledge),
        internal_fact(found.readers, found.n_internal, found.n_active, unused=found.unused, named=found.active),
        *_sample(found),
        *_truth(found),
        *_anonymity(found),
    ]
    held_out = any(row.holdout_accuracy is not None for row in found.remedies)
    placed = [
        (i, row.holdout_accuracy if held_out else row.accuracy, row.d_overall)
        for i, row in enumerate(found.remedies, start=1)
    ]
    return DisclosureView(
        headline=_headline(found),
        sentence=_sentence(found),
        figures=_figures_of(found),
        readers=tuple(map(reader_row, found.readers)),
        facts=tuple(facts),
        exposed=tuple(f"row {p.row}: {_certainty(p.probability)}" for p in found.exposed),
        notes=tuple(map(wording.clean, found.notes)),
        remedies=tuple(_remedy(i, row) for i, row in enumerate(found.remedies, start=1)),
        marks=tuple(
            Mark(number=i, x=accuracy, y=distance)
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
    return render_page(
        "disclosure.html",
        view=view,
        chart=draw_trade_off(view.marks, held_out=view.held_out),
        title=title,
        described=described or _described(found),
        inputs=inputs,
        holder_only=True,
    )


def render_disclosure_text(found: DisclosureFinding) -> str:
    """Return what a tree discloses as plain text, at most 88 characters wide."""
    view = disclosure_view(found)
    lines = [
        wording.HOLDER_ONLY,
        *wrap(view.sentence, ""),
        "",
        "What each reader concludes; entropy left and distance to the truth in nats",
    ]
    for row in view.readers:
        told = f"{row.name}: {row.entropy} left, certain of {row.certain}"
        truth = f"; D_overall {row.d_overall}, right in {row.guess_rate}" if row.d_overall else ""
        lines += wrap(told + truth, "    ")
    lines += ["", "Beside them"]
    for fact in view.facts:
        lines += wrap(f"{fact.name}: {fact.value}. {fact.meaning}", "    ")
    lines += ["", "Most exposed, by row number from 0", *wrap(", ".join(view.exposed), "  ", first="  ")]
    if view.subgroups:
        lines += ["", "Subgroups, the most exposed first; the last one the least exposed"]
        for group in view.subgroups:
            distance = f", D_overall {group.d_overall}" if group.d_overall else ""
            lines += wrap(f"{group.name}: {group.size}, {group.entropy} left{distance}", "    ")
    if view.notes:
        lines += ["", "Left out or assumed", *(line for note in view.notes for line in wrap(note, "    "))]
    if view.remedies:
        lines += [
            "",
            *wrap(f"Remedies: D_overall, small means disclosed, and accuracy on {RECORDS[view.held_out]}", ""),
        ]
        for remedy in view.remedies:
            figures = _figures(remedy) if remedy.d_overall else ""
            told = f"{remedy.number}. {remedy.name}: {f'{figures} {remedy.meaning}'.strip()}"
            lines += wrap(told, "      ", first="  ")
    return "\n".join(lines) + "\n"


def _figures(remedy: RemedyRow) -> str:
    held = f" ({remedy.holdout} of those held out)" if remedy.holdout else ""
    return f"{remedy.d_overall} nats, {remedy.accuracy} right{held}, {remedy.leaves}."


def _subgroup(group: SubgroupFinding) -> SubgroupRow:
    return SubgroupRow(
        name=f"{wording.clean(group.attribute)} = {wording.clean(group.value)}",
        size=people(group.size),
        entropy=f"{group.entropy:.3g} nats",
        d_overall="" if group.d_overall is None else f"{group.d_overall:.3g} nats",
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
            f"{people(sample.certain)}. Probabilities of classes are those of anybody, in the sample or not.",
        )
    ]


def _described(found: DisclosureFinding) -> str:
    return (
        f"{people(found.n_people)[:1].upper()}{people(found.n_people)[1:]}, "
        f"{wording.plural(found.n_classes, 'class')} of {wording.clean(found.sensitive)}. "
        f"The reader knows {wording.clean(found.knowledge)}."
    )


def _headline(found: DisclosureFinding) -> str:
    """Return which share of the entropy the tree takes away."""
    before, left = found.readers[0].entropy, found.readers[-1].entropy
    if not before > 0:
        return "Nothing was open"
    return f"{wording.percent(min(max(1 - left / before, 0.0), 1.0))} of the uncertainty is gone"


def _figures_of(found: DisclosureFinding) -> tuple[Fact, ...]:
    least, best = found.readers[0], found.readers[-1]
    told = [
        Fact(
            name="Learned about the average person",
            value=f"{found.learned_mean:.3g} nats",
            meaning=f"{best.entropy:.3g} of {least.entropy:.3g} nats are left",
        ),
        Fact(
            name="Learned about the most exposed",
            value=f"{found.learned_most:.3g} nats",
            meaning="beyond the class distribution",
        ),
        Fact(name="As good as certain", value=f"of {people(best.certain)}", meaning=f"among {people(found.n_people)}"),
    ]
    if best.guess_rate is not None and least.guess_rate is not None:
        told.append(
            Fact(
                name="Guesses right",
                value=f"for {wording.percent(best.guess_rate)}",
                meaning=f"from the class distribution for {wording.percent(least.guess_rate)}",
            )
        )
    return tuple(told)


def _sentence(found: DisclosureFinding) -> str:
    name = wording.clean(found.sensitive)
    least, best = found.readers[0], found.readers[-1]
    told = (
        f"Who reads the tree and knows everybody's quasi-identifiers learns {found.learned_mean:.3g} nats a person "
        f"about {name} beyond the class distribution, and {found.learned_most:.3g} nats of the most exposed one. "
        f"{best.entropy:.3g} of {least.entropy:.3g} nats are left."
    )
    if best.certain:
        told += f" Of {people(best.certain)} the class is as good as certain."
    return told


def _truth(found: DisclosureFinding) -> list[Fact]:
    if found.truth is None:
        return []
    truth = found.truth
    return [
        Fact(
            name="D_individual, distance to the truth",
            value=f"{truth.mean:.3g} nats on average (D_overall)",
            meaning=f"Small means disclosed. Quartiles {truth.lower:.3g}, {truth.median:.3g} and {truth.upper:.3g}; "
            f"below 0.1 nats for {people(truth.disclosed)}.",
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
