"""Sentences and facts about labels, values and the outcomes of the measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.labels import LabelDisclosure
from glassine.attacks.outcome import Below, Failed, Measured, ShownCount
from glassine.attacks.values import ValueLeakage
from glassine.auditing.findings import Findings
from glassine.report import wording
from glassine.report.exposure import share_unit

__all__ = [
    "QUESTIONS",
    "Fact",
    "MeasureRow",
    "alignment_sentence",
    "label_facts",
    "label_sentence",
    "measure_rows",
    "unmeasured_sentence",
    "value_facts",
    "value_sentence",
]

MOST_NAMES = 8
# Relative gain of rebuilt over random records, and the word for a gain below it.
GAINS = ((0.1, "little gain (below 10%)"), (0.3, "some gain (10% to 30%)"), (0.6, "much gain (30% to 60%)"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A figure with its name and what it means."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow:
    """A question that the audit asks, and how far it was answered.

    Attributes
    ----------
    name, short : str
        The measurement, and what it is about in a word or two.
    question : str
        What it answers.
    state : str
        ``measured``, ``partly measured``, ``not measured`` or ``failed``.
    reason : str
        Why not; empty if measured.
    """

    name: str
    short: str
    question: str
    state: str
    reason: str


QUESTIONS = {
    "reconstruction": ("Reconstruction", "How far can a reader rebuild the training records?"),
    "labels": ("Label disclosure", "Does the model tell the outcome of the people it was made from?"),
    "values": ("Value leakage", "Do exact values of single records stand in the model?"),
    "subgroups": ("Subgroups", "Is more learned about some groups of people than about others?"),
    "exposed_rows": ("Most exposed records", "About which rows of the data is most learned?"),
    "alignment": ("Comparison with the data", "How close do rebuilt records come to the real ones?"),
    "membership": ("Membership", "Can a reader tell who was in the data?"),
    "disclosure": ("Sensitive attribute", "What does a reader who knows everybody's quasi-identifiers learn of it?"),
}

SHORT = {"labels": "outcomes", "values": "exact values"}


def measure_rows(findings: Findings) -> tuple[MeasureRow, ...]:
    """Return for each measurement whether it was made, and the reason if not."""
    rows = []
    for key, (name, question) in QUESTIONS.items():
        outcome = findings.measured[key]
        if isinstance(outcome, Measured):
            reason = _gaps(findings, key)
            state = "partly measured" if reason else "measured"
        else:
            state = "failed" if isinstance(outcome, Failed) else "not measured"
            reason = wording.clean(outcome.reason)
        reason = reason[:1].upper() + reason[1:]
        short = SHORT.get(key, name.lower())
        rows.append(MeasureRow(name=name, short=short, question=question, state=state, reason=reason))
    return tuple(rows)


def unmeasured_sentence(rows: Sequence[MeasureRow]) -> str:
    """Return what was not measured, or only in part; empty if everything was."""
    missing = [row.short for row in rows if row.state in ("not measured", "failed")]
    partly = [row.short for row in rows if row.state == "partly measured"]
    told = [f"Not measured: {', '.join(missing)}."] if missing else []
    told += [f"Measured in part: {', '.join(partly)}."] if partly else []
    return " ".join(told)


def _gaps(findings: Findings, key: str) -> str:
    """Return what a measured outcome still lacks."""
    value = findings.value(key)
    if value is None:
        return ""
    if key == "disclosure" and value.unused:
        return wording.clean(f"The internal nodes were not used: {value.unused}")
    if key == "reconstruction":
        return wording.clean(value.undefined or "")
    if key == "subgroups" and not value:
        return "There is no subgroup that is large enough to show."
    if key == "values":
        found = value
        lacking = []
        if found.n_off_grid is None and found.n_thresholds:
            lacking.append("Which thresholds are public needs a domain.")
        if found.n_midpoints is None:
            lacking.append("Midpoints and lone categories need the data.")
        return " ".join(lacking)
    return ""


def _counted(findings: Findings, count: ShownCount) -> str:
    """Return a number of people, hidden where it is small."""
    below = findings.policy.suppress_below
    if isinstance(count, Below):
        return f"fewer than {count.below} records"
    if not isinstance(count, int):
        return f"{count} records"
    return f"fewer than {below} records" if 0 < count < below else wording.plural(count, "record")


def _rate(value: float) -> str:
    """Return a rate that is rounded where counts are suppressed, hence never as exact."""
    return f"about {wording.percent(min(max(value, 0.0), 1.0))}"


def _share(findings: Findings, count: ShownCount, total: int) -> str:
    """Return a share of the records, too coarse to count small groups by."""
    if not isinstance(count, int):
        return _counted(findings, count)
    if count in (0, total):
        return "none of the records" if count == 0 else "all records"
    if count < findings.policy.suppress_below:
        return _counted(findings, count)
    unit = share_unit(findings)
    rounded = min(max(round(count / total / unit), 1) * unit, 1.0)
    return f"about {min(rounded * 100, 99):.0f}% of the records"


def label_facts(findings: Findings) -> tuple[Fact, ...]:
    """Return what the class counts give away."""
    if not isinstance(findings.measured["labels"], Measured):
        return ()
    found: LabelDisclosure = findings.measured["labels"].value
    part = "rule" if findings.model.kind == "rule list" else "leaf"
    return (
        Fact(
            name="Guessed right with the model",
            value=_rate(found.guess_rate),
            meaning=f"A reader who knows a person's {part} names the outcome right this often. Without the model, "
            f"naming the most frequent outcome is right for {_rate(found.base_rate)}.",
        ),
        Fact(
            name="Outcome certain",
            value=_share(findings, found.n_certain, found.n_records),
            meaning=f"They fall in a {part} whose records all have one outcome.",
        ),
        Fact(
            name="Largest share of one outcome",
            value="100%" if found.purest == 1 else f"at least {wording.percent(found.purest)}",
            meaning=f"In the most one-sided {part}.",
        ),
        Fact(
            name="Uncertainty of an outcome",
            value=f"{found.bits_left:.2f} of {found.bits_prior:.2f} bits left",
            meaning="How unsure a reader stays about a person's outcome, against how unsure they were before.",
        ),
    )


def label_sentence(findings: Findings) -> str:
    """Return the same in one sentence; empty where not measured."""
    if not isinstance(findings.measured["labels"], Measured):
        return ""
    found = findings.measured["labels"].value
    certain = _share(findings, found.n_certain, found.n_records)
    return (
        f"Outcomes are guessed right for {_rate(found.guess_rate)} of the records, without the model for "
        f"{_rate(found.base_rate)}; they are certain for {certain}."
    )


def value_facts(findings: Findings) -> tuple[Fact, ...]:
    """Return what thresholds, bounds and categories give away; what needs more input says so."""
    if not isinstance(findings.measured["values"], Measured):
        return ()
    found: ValueLeakage = findings.measured["values"].value
    of = f"of {wording.plural(found.n_thresholds, 'threshold')}"
    facts = []
    if found.n_thresholds:
        facts += [
            Fact(
                name="Not public cut points",
                value="not known" if found.n_off_grid is None else f"{found.n_off_grid or 'none'} {of}",
                meaning=_off_grid_meaning(found),
            ),
            Fact(
                name="Midpoints of two training values",
                value="not known" if found.n_midpoints is None else f"{found.n_midpoints or 'none'} {of}",
                meaning=_midpoint_meaning(findings, found),
            ),
        ]
    else:
        facts.append(Fact(name="Thresholds", value="none", meaning="The model has no threshold on a number."))
    facts += [
        Fact(
            name="Bounds that are a training value",
            value=_names(found.exact_bounds),
            meaning="It needs a domain and the data."
            if found.exact_bounds is None
            else "Attributes whose lowest or highest value in the domain is that of a record; harmless where the bound "
            "is public, such as 0.",
        ),
        Fact(
            name="Categories of one person",
            value=_names(found.lone_categories),
            meaning="It needs the data."
            if found.lone_categories is None
            else "Attributes with a category that a single record has.",
        ),
    ]
    if findings.model.kind == "regression tree":
        facts.append(
            Fact(
                name="Leaves that publish one person's value",
                value="some leaves" if found.n_lone_targets else "none",
                meaning="A leaf made from one record predicts that record's value.",
            )
        )
    return tuple(facts)


def _off_grid_meaning(found: ValueLeakage) -> str:
    if found.n_off_grid is None:
        return "It needs a domain."
    if found.n_inferred:
        return "The domain was inferred from data: none of its cut points is public."
    return (
        "Their place tells about training values." if found.n_off_grid else "Anybody could name them without the data."
    )


def _midpoint_meaning(findings: Findings, found: ValueLeakage) -> str:
    if found.n_midpoints is None:
        return "It needs the data."
    if not found.n_midpoints:
        return "No two training values can be computed from them."
    told = "Who knows one of the two values can compute the other exactly."
    held = _counted(findings, found.n_records_at_midpoints or 0)
    return f"{told} Records whose own value stands there: {held}."


def value_sentence(findings: Findings) -> str:
    """Return what thresholds give away in one sentence; empty where there are none."""
    found = findings.value("values")
    if found is None or not found.n_thresholds:
        return ""
    told = []
    if found.n_off_grid is not None:
        points = "a public cut point" if max(found.n_off_grid, 1) == 1 else "public cut points"
        alone = "it is a public cut point" if found.n_thresholds == 1 else "all are public cut points"
        told.append(f"{_are(found.n_off_grid)} not {points}" if found.n_off_grid else alone)
    if found.n_midpoints is not None:
        told.append(f"{_are(found.n_midpoints)} the midpoint of two training values")
    if not told:
        return ""
    return f"Of {wording.plural(found.n_thresholds, 'threshold')}, {' and '.join(told)}."


def _are(count: int) -> str:
    return f"{count or 'none'} {'is' if count == 1 else 'are'}"


def _names(names: tuple[str, ...] | None) -> str:
    if names is None:
        return "not known"
    if not names:
        return "none"
    more = len(names) - MOST_NAMES
    listed = ", ".join(wording.shorten(wording.clean(name), 60) for name in names[:MOST_NAMES])
    return f"{listed} and {more:,} more" if more > 0 else listed


def alignment_sentence(findings: Findings) -> str:
    """Return how close rebuilt records come to the real ones; empty where not measured."""
    if not isinstance(findings.measured["alignment"], Measured):
        return ""
    found = findings.measured["alignment"].value
    return (
        f"{_gain(found)} Records drawn from what the model tells lie {found.error:.3f} ± {found.error_sd:.3f} away "
        "from the real ones they are matched with, on a scale from 0 (equal) to 1; records drawn at random lie "
        f"{found.baseline:.3f} ± {found.baseline_sd:.3f} away ({found.n_draws} draws, "
        f"{wording.plural(found.n_matched, 'record')} matched)."
    )


def _gain(found: ErrorEstimate) -> str:
    """Return in words how much nearer than random records the rebuilt ones lie, on average."""
    if found.error + found.error_sd >= found.baseline - found.baseline_sd:
        return "On average no nearer than random."
    gain = 1 - found.error / found.baseline
    word = next((word for below, word in GAINS if gain < below), "very much gain (60% or more)")
    return f"On average {wording.percent(gain)} nearer than random: {word}."
