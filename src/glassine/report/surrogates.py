"""The report on a release of surrogate trees: what is shown, as plain values, and the page and the text of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glassine.attacks.outcome import Count, Failed, Measured, Outcome
from glassine.auditing.findings import Check, FormFinding, InputFile, SurrogateFindings
from glassine.report import wording
from glassine.report.charts import draw_roc
from glassine.report.html import render_page
from glassine.report.inputs import clean_inputs
from glassine.report.lines import wrap
from glassine.report.membership import MembershipView, membership_view
from glassine.report.rules import CheckRow, kept_sentence, limit_and_measured, status_of
from glassine.report.statements import Fact, MeasureRow, unmeasured_sentence
from glassine.report.surrogate_facts import (
    GUESSES,
    figures_of,
    group_facts,
    leaf_facts,
    representative_facts,
    together_facts,
)

__all__ = ["SurrogatesView", "render_surrogates", "render_surrogates_text", "surrogates_view"]

CAVEAT = "A verdict covers what was measured, and no more."
RULES = {
    "declared_k": "Fewest people behind a representative, as the release declares",
    "smallest_group": "Fewest people behind a representative",
    "smallest_leaf": "Fewest people behind a leaf",
    "purest_leaf": "Largest share of one true label in a leaf",
    "largest_bits_per_record": "Bits learned about the attributes of any person",
    "thresholds_off_grid": "Thresholds that are no public cut points",
    "midpoints": "Thresholds half way between two training values",
    "largest_advantage": "Advantage of a membership attack",
    "most_certain": "People of whose sensitive value a reader is certain",
    "max_epsilon": "Epsilon of the guarantee",
    "max_delta": "Delta of the guarantee",
}
OF_PEOPLE = ("declared_k", "smallest_group", "smallest_leaf")
QUESTIONS = {
    "groups": ("Groups", "How many people stand behind each representative?"),
    "leaves": ("Leaves", "How many people stand behind each leaf, and who is alone?"),
    "diversity": ("Diversity", "Do the people of a group differ in labels and in the sensitive attribute?"),
    "together": ("Reconstruction", "How far do all trees together let a reader rebuild the records?"),
    "guesses": ("Disclosure", "How well does a reader guess labels and the sensitive attribute?"),
    "membership": ("Membership", "Can a reader of all trees tell who is behind the release?"),
}
SENSITIVE = "no sensitive attribute was named (`--sensitive`)."


@dataclass(frozen=True, slots=True, kw_only=True)
class FormRow:
    """One line of the comparison: a figure, what it means, and its value in the paper's form and in the safe form."""

    name: str
    meaning: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurrogatesView:
    """What the report says about a release.

    Attributes
    ----------
    title, described, verdict, sentence, caveat, claim : str
        What was audited, the verdict with its reason, and what is claimed.
    figures, groups, representatives, leaves, together : tuple of Fact
        Figures with what they mean.
    forms : tuple of str
        Names of the forms that are compared; empty without a comparison.
    comparison : tuple of FormRow
        The forms side by side.
    compared_on : str
        On which records they were.
    checks : tuple of CheckRow
        The rules.
    measures : tuple of MeasureRow
        What was measured, and what was not.
    all_measured : bool
        Whether everything was.
    rows : tuple of int
        People who are alone in a leaf.
    diversity, guesses : tuple of tuple of str
        Lines of the tables.
    gaps : tuple of Fact
        The gap attack by each kind of label.
    membership : MembershipView or None
        Membership attacks in words.
    notes, advice : tuple of str
        What the figures do not cover, and what to do next.
    reasons : dict of str to str
        Why something was not measured.
    sensitive : str
        The attribute that was looked at more closely; empty without one.
    inputs : tuple of InputFile
        The files that were read.
    holder_only : bool
        Whether it is for the holder of the data only.
    version : str
        Version of Glassine.
    """

    title: str
    described: str
    verdict: str
    sentence: str
    caveat: str
    claim: str
    figures: tuple[Fact, ...]
    groups: tuple[Fact, ...]
    representatives: tuple[Fact, ...]
    leaves: tuple[Fact, ...]
    together: tuple[Fact, ...]
    forms: tuple[str, ...]
    comparison: tuple[FormRow, ...]
    compared_on: str
    checks: tuple[CheckRow, ...]
    measures: tuple[MeasureRow, ...]
    all_measured: bool
    rows: tuple[int, ...]
    diversity: tuple[tuple[str, ...], ...]
    guesses: tuple[tuple[str, ...], ...]
    gaps: tuple[Fact, ...]
    membership: MembershipView | None
    notes: tuple[str, ...]
    advice: tuple[str, ...]
    reasons: dict[str, str]
    sensitive: str
    inputs: tuple[InputFile, ...]
    holder_only: bool
    version: str


def surrogates_view(found: SurrogateFindings, *, title: str | None = None) -> SurrogatesView:
    """Return what the report says about a release.

    Parameters
    ----------
    found : SurrogateFindings
        The result of an audit.
    title : str, optional
        Title; ``Privacy of published explanations`` otherwise.
    """
    outcomes: dict[str, Outcome[object]] = {name: getattr(found, name) for name in QUESTIONS}
    membership = found.membership.value if isinstance(found.membership, Measured) else None
    measures = tuple(_measures(found, outcomes))
    return SurrogatesView(
        title=wording.clean(title or "Privacy of published explanations"),
        described=_described(found),
        verdict=found.verdict,
        sentence=_sentence(found, measures),
        caveat=CAVEAT,
        claim=wording.clean(found.release.claim),
        figures=figures_of(found),
        groups=group_facts(found),
        representatives=representative_facts(found),
        leaves=leaf_facts(found),
        together=together_facts(found),
        forms=tuple(_form_name(row, found) for row in found.comparison),
        comparison=tuple(_comparison(found)),
        compared_on=found.compared_on,
        checks=tuple(_rule(check) for check in found.checks),
        measures=measures,
        all_measured=all(row.state == "measured" for row in measures),
        rows=found.leaves.value.rows_alone if isinstance(found.leaves, Measured) else (),
        diversity=tuple(_diversity(found)),
        guesses=tuple(_guesses(found)),
        gaps=tuple(_gaps(found)),
        membership=None if membership is None else membership_view(membership),
        notes=(
            *(wording.clean(note) for note in found.notes),
            *(f"The release says: {wording.clean(note)}." for note in found.release.notes),
        ),
        advice=tuple(wording.clean(text) for text in found.advice),
        reasons={
            name: wording.clean(outcome.reason[:1].upper() + outcome.reason[1:])
            for name, outcome in outcomes.items()
            if not isinstance(outcome, Measured)
        },
        sensitive=wording.clean(found.sensitive or ""),
        inputs=clean_inputs(found.inputs),
        holder_only=found.holder_only,
        version=wording.clean(found.version),
    )


def _described(found: SurrogateFindings) -> str:
    made = found.release
    form = "The safe form" if made.form == "safe" else "The paper's form"
    of = "people" if made.records == "training" else "queries"
    size = f" of at least {made.k:,} {of}" if made.k is not None else f" of {of} in public cells"
    taught = "the black box's decisions" if made.labels == "black-box" else "true labels"
    return (
        f"{form}: {wording.plural(made.n_groups, 'group')}{size}, {wording.plural(made.n_attributes, 'attribute')}; "
        f"trees of {made.n_leaves:,} leaves in all, at most {made.deepest} splits deep, trained on {taught}"
        f"{', class counts published' if made.counts else ''}."
    )


def _sentence(found: SurrogateFindings, measures: Sequence[MeasureRow]) -> str:
    broken = [check for check in found.checks if check.status == "broken"]
    unknown = [check for check in found.checks if check.status == "unknown"]
    if not found.checks:
        return "The policy holds no rule that could be judged, so nothing can be said."
    of = f"of {wording.plural(len(found.checks), 'limit')}"
    if broken:
        return f"{len(broken)} {of} {'is' if len(broken) == 1 else 'are'} broken. {broken[0].meaning}"
    if unknown:
        return f"No limit is known to be broken, but {len(unknown)} {of} could not be judged. {unknown[0].meaning}"
    return f"{kept_sentence(found.checks)} {unmeasured_sentence(measures)}".strip()


def _rule(check: Check) -> CheckRow:
    limit, measured = limit_and_measured(check, "people" if check.rule in OF_PEOPLE else None)
    name = RULES.get(check.rule, check.rule)
    return CheckRow(
        key=check.rule,
        short=name,
        rule=name,
        limit=limit,
        measured=measured,
        status=status_of(check),
        meaning=wording.clean(check.meaning),
    )


def _measures(found: SurrogateFindings, outcomes: dict[str, Outcome[object]]) -> Iterator[MeasureRow]:
    for key, (name, question) in QUESTIONS.items():
        outcome = outcomes[key]
        state, reason = "measured", ""
        if not isinstance(outcome, Measured):
            state, reason = ("failed" if isinstance(outcome, Failed) else "not measured"), outcome.reason
        elif key in ("diversity", "guesses") and found.sensitive is None:
            state, reason = "partly measured", SENSITIVE
        elif key == "together" and isinstance(found.together, Measured) and found.together.value.undefined:
            state, reason = "partly measured", f"there is no Dist_G: {found.together.value.undefined}"
        reason = wording.clean(reason)
        yield MeasureRow(
            name=name, short=name.lower(), question=question, state=state, reason=reason[:1].upper() + reason[1:]
        )


def _diversity(found: SurrogateFindings) -> Iterator[tuple[str, ...]]:
    if not isinstance(found.diversity, Measured):
        return
    for row in found.diversity.value:
        yield (
            wording.clean(row.attribute),
            f"{row.distinct_l} of {row.n_classes}",
            f"{row.entropy_l:.2f}",
            wording.percent(row.alpha),
            f"{row.t:.2f}",
            f"{row.n_one_class:,} of {found.release.n_groups:,}",
            wording.percent(row.share_one_class),
        )


def _guesses(found: SurrogateFindings) -> Iterator[tuple[str, ...]]:
    if not isinstance(found.guesses, Measured):
        return
    for row in found.guesses.value:
        shares = (row.base_rate, row.closest, row.group_known, row.others)
        yield (
            wording.clean(row.attribute),
            *("not known" if share is None else wording.percent(share) for share in shares),
            GUESSES.get(row.attribute, "By the value of a representative, sought without this attribute."),
        )


def _gaps(found: SurrogateFindings) -> Iterator[Fact]:
    for gap in found.gaps:
        name = f"Gap attack by {gap.labels}"
        if gap.advantage is None or gap.low is None or gap.high is None:
            reason = wording.clean(gap.reason)
            yield Fact(name=name, value="not measured", meaning=reason[:1].upper() + reason[1:])
            continue
        yield Fact(
            name=name,
            value=f"{gap.advantage:.3f} ({gap.low:.3f} to {gap.high:.3f})",
            meaning="Share of the people behind the release of whom the closest tree is right, less that of others.",
        )


def _form_name(row: FormFinding, found: SurrogateFindings) -> str:
    name = "Paper's form" if row.form == "paper" else "Safe form"
    return f"{name} (this release)" if row.form == found.release.form else name


def _comparison(found: SurrogateFindings) -> Iterator[FormRow]:
    rows = found.comparison
    if not rows:
        return

    def line(name: str, meaning: str, *values: str) -> FormRow:
        return FormRow(name=name, meaning=meaning, values=values)

    small = rows[0].small
    yield line("Trees trained on", "", *(row.labels for row in rows))
    yield line(
        "Fidelity", "Closest tree decides as the black box (Protocol 1)", *(_figure(row.fidelity) for row in rows)
    )
    yield line(
        "Guided fidelity",
        "First of the closest trees that does (Protocol 2)",
        *(f"{_figure(row.fidelity_guided)} (random trees: {_figure(row.fidelity_null)})" for row in rows),
    )
    yield line(
        "Accuracy",
        "By the true labels: closest tree, and guided",
        *(f"{_figure(row.accuracy)}, {_figure(row.accuracy_guided)}" for row in rows),
    )
    yield line("Nodes of a tree", "Median, and mean", *(f"{row.nodes_median:g}, {row.nodes_mean:.1f}" for row in rows))
    yield line("Trees of one leaf", "", *(wording.percent(row.share_constant) for row in rows))
    yield line(
        "Members named by thresholds",
        "The midpoint attack: certain, where nobody else is named",
        *(_named(row) for row in rows),
    )
    yield line("Advantage of the gap attack", "By the true labels", *(_figure(row.gap_true) for row in rows))
    yield line(
        "The same by decisions", "Of the black box, on both sides", *(_figure(row.gap_decisions) for row in rows)
    )
    yield line("Alone in a leaf", "Share of the people", *(wording.percent(row.share_alone) for row in rows))
    yield line(
        f"In a leaf of fewer than {small}", "Share of the people", *(wording.percent(row.share_small) for row in rows)
    )
    yield line("Smallest leaf", "People", *(_count(row.smallest_leaf) for row in rows))
    yield line(
        "Thresholds that are no public cut points", "", *(f"{row.off_grid:,} of {row.n_thresholds:,}" for row in rows)
    )
    yield line(
        "Bits learned about a person",
        "From the leaf, the group being known",
        *("not known" if row.bits_mean is None else wording.bits(row.bits_mean) for row in rows),
    )


def _named(row: FormFinding) -> str:
    if row.accused is None or row.share_accused is None:
        return "not known"
    if row.accused == 0 and row.accused_wrongly == 0:
        return "nobody"
    wrong = f", {_count(row.accused_wrongly)} others" if row.accused_wrongly else ", nobody else"
    return f"{_count(row.accused)} ({wording.percent(row.share_accused)}){wrong}"


def _count(value: Count | None) -> str:
    return "not known" if value is None else value if isinstance(value, str) else f"{value:,}"


def _figure(value: float | None) -> str:
    return "not known" if value is None else f"{value:.3f}"


def render_surrogates(found: SurrogateFindings, *, title: str | None = None) -> str:
    """Return the report on a release of surrogate trees as one HTML page that loads nothing from anywhere.

    **Guarantee**: none; the page shows what the findings hold, suppressed counts as suppressed.

    Parameters
    ----------
    found : SurrogateFindings
        The result of an audit.
    title : str, optional
        Title of the page.
    """
    view = surrogates_view(found, title=title)
    chart = draw_roc(view.membership.curve, view.membership.curve_of) if view.membership else ""
    return render_page(
        "surrogates.html",
        s=view,
        roc=chart,
        title=view.title,
        version=view.version,
        holder_only=view.holder_only,
    )


def render_surrogates_text(found: SurrogateFindings) -> str:
    """Return the report as plain text, at most 88 characters wide."""
    view = surrogates_view(found)
    lines = [wording.HOLDER_ONLY] if view.holder_only else []
    lines += [f"Glassine {view.version}: {view.verdict.upper()}", *wrap(view.described), *wrap(view.sentence)]
    lines += wrap(view.claim)
    lines += ["", "Policy"]
    for check in view.checks:
        lines += wrap(f"[{check.status}] {check.rule}: {check.measured} (limit: {check.limit})", hang="    ")
    if view.comparison:
        lines += ["", f"Side by side, measured on {view.compared_on}: {' | '.join(view.forms)}"]
        for row in view.comparison:
            lines += wrap(f"{row.name}: {' | '.join(row.values)}", hang="    ")
    lines += ["", "What a reader learns"]
    for fact in view.figures:
        lines += wrap(f"{fact.name}: {fact.value} ({fact.meaning})", hang="    ")
    for fact in view.gaps:
        lines += wrap(f"{fact.name}: {fact.value}. {fact.meaning}", hang="    ")
    missing = [row for row in view.measures if row.state != "measured"]
    lines += ["", "What was not measured"] if missing else []
    for measure in missing:
        lines += wrap(f"{measure.name} ({measure.state}): {measure.reason}", hang="    ")
    for note in view.notes:
        lines += wrap(note, hang="    ")
    lines += ["", "What to do next"] if view.advice else []
    for number, advice in enumerate(view.advice, start=1):
        lines += wrap(f"{number}. {advice}", hang="     ")
    return "\n".join(lines) + "\n"
