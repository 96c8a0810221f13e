"""What class counts and thresholds give away: outcomes that can be guessed, and exact training values."""

from __future__ import annotations

from glassine.attacks.labels import LabelDisclosure
from glassine.attacks.outcome import Below, ShownCount
from glassine.attacks.values import ValueLeakage
from glassine.auditing.findings import Findings
from glassine.report import wording
from glassine.report.blocks import Fact, Facts
from glassine.report.section import Section, shows
from glassine.report.sections.reconstruction import share_unit

MOST_NAMES = 8


@shows("labels", rank=40)
def labels_section(disclosure: LabelDisclosure, findings: Findings) -> Section:
    """Return what the class counts give away."""
    part = "rule" if findings.model.kind == "rule list" else "leaf"
    certain = _share(findings, disclosure.n_certain, disclosure.n_records)
    facts = (
        Fact(
            "Guessed right with the model",
            _rate(disclosure.guess_rate),
            f"An attacker who knows a {wording.unit()}'s {part} guesses the outcome correctly this often. Without the "
            f"model, naming the most frequent outcome is right for {_rate(disclosure.base_rate)}.",
        ),
        Fact("Outcome certain", certain, f"They fall in a {part} whose records all have one outcome."),
        Fact(
            "Largest share of one outcome",
            "100%" if disclosure.purest == 1 else f"at least {wording.percent(disclosure.purest)}",
            f"In the purest {part}.",
        ),
        Fact(
            "Uncertainty of an outcome",
            f"{disclosure.bits_left:.2f} of {disclosure.bits_prior:.2f} bits left",
            f"How unsure an attacker stays about a {wording.unit()}'s outcome, against how unsure they were before.",
        ),
    )
    text = (
        f"With the model, an attacker guesses the outcome correctly for {_rate(disclosure.guess_rate)} of "
        f"{wording.units()} ({_rate(disclosure.base_rate)} without it). For {certain} the outcome is certain."
    )
    return Section(
        id="labels",
        title="What the model reveals about outcomes",
        link="Outcomes",
        blocks=(Facts(facts),),
        text=(text,),
        text_title="What an attacker learns",
    )


@shows("values", lacking=lambda leakage, findings: lacking_values(leakage), rank=41)
def values_section(leakage: ValueLeakage, findings: Findings) -> Section:
    """Return what thresholds, bounds and categories give away; what needs more input says so."""
    sentence = _values_sentence(leakage)
    return Section(
        id="values",
        title="Training values in the model",
        link="Exact values",
        blocks=(Facts(_value_facts(leakage, findings)),),
        text=(sentence,) if sentence else (),
        text_title="What an attacker learns",
    )


def lacking_values(leakage: ValueLeakage) -> str:
    """Return what measured value leakage still lacks; empty if nothing."""
    lacking = []
    if leakage.n_off_grid is None and leakage.n_thresholds:
        lacking.append("Which thresholds are public needs a domain.")
    if leakage.n_midpoints is None:
        lacking.append("Midpoints and unique categories need the data.")
    return " ".join(lacking)


def _counted(findings: Findings, count: ShownCount) -> str:
    """Return a number of records, or people, hidden where it is small."""
    below = findings.policy.suppress_below
    if isinstance(count, Below):
        return f"fewer than {count.below} {wording.units()}"
    if isinstance(count, int) and 0 < count < below:
        return f"fewer than {below} {wording.units()}"
    return wording.people(count)


def _rate(value: float) -> str:
    """Return a rate that is rounded where counts are suppressed, hence never as exact."""
    return f"about {wording.percent(min(max(value, 0.0), 1.0))}"


def _share(findings: Findings, count: ShownCount, total: int) -> str:
    """Return a share of the records, too coarse to count small groups by."""
    if not isinstance(count, int):
        return _counted(findings, count)
    if count in (0, total):
        return f"none of the {wording.units()}" if count == 0 else f"all {wording.units()}"
    if count < findings.policy.suppress_below:
        return _counted(findings, count)
    unit = share_unit(findings)
    rounded = min(max(round(count / total / unit), 1) * unit, 1.0)
    return f"about {min(rounded * 100, 99):.0f}% of the {wording.units()}"


def _value_facts(leakage: ValueLeakage, findings: Findings) -> tuple[Fact, ...]:
    of = f"of {wording.plural(leakage.n_thresholds, 'threshold')}"
    facts = []
    if leakage.n_thresholds:
        facts += [
            Fact(
                "Not public cut points",
                "not known" if leakage.n_off_grid is None else f"{wording.number(leakage.n_off_grid)} {of}",
                _off_grid_meaning(leakage),
            ),
            Fact(
                "Midpoints of two training values",
                "not known" if leakage.n_midpoints is None else f"{wording.number(leakage.n_midpoints)} {of}",
                _midpoint_meaning(findings, leakage),
            ),
        ]
    else:
        facts.append(Fact("Thresholds", "none", "The model has no threshold on a number."))
    facts += [
        Fact(
            "Bounds that are a training value",
            _names(leakage.exact_bounds),
            "It needs a domain and the data."
            if leakage.exact_bounds is None
            else "Attributes whose lowest or highest value in the domain is that of a record; harmless where the bound "
            "is public, such as 0.",
        ),
        Fact(
            f"Categories of one {wording.unit()}",
            _names(leakage.lone_categories),
            "It needs the data."
            if leakage.lone_categories is None
            else f"Attributes with a category that a single {wording.unit()} has.",
        ),
    ]
    if findings.model.kind == "regression tree":
        facts.append(
            Fact(
                f"Leaves that publish one {wording.unit()}'s value",
                "some leaves" if leakage.n_lone_targets or leakage.n_lone_values else "none",
                "A leaf made from one record predicts that record's value, and so does a median.",
            )
        )
        facts.append(
            Fact(
                f"Largest share of two {wording.units()} in a leaf",
                "not known"
                if leakage.dominance is None
                else f"at least {wording.percent(leakage.dominance)}"
                if leakage.dominance
                else "small",
                "It needs the data with the target."
                if leakage.dominance is None
                else f"Of the total of the values in the leaf. Near 100%, one of the two {wording.units()} can compute "
                "the value of the other from the mean and the size of the leaf.",
            )
        )
    return tuple(facts)


def _off_grid_meaning(leakage: ValueLeakage) -> str:
    if leakage.n_off_grid is None:
        return "It needs a domain."
    if leakage.n_inferred:
        return "The domain was inferred from data: none of its cut points is public."
    return (
        "Their place reveals something about training values."
        if leakage.n_off_grid
        else "They can be known without the data."
    )


def _midpoint_meaning(findings: Findings, leakage: ValueLeakage) -> str:
    if leakage.n_midpoints is None:
        return "It needs the data."
    if not leakage.n_midpoints:
        return "No two training values can be computed from them."
    meaning = "An attacker who knows one of the two values can compute the other."
    records = _counted(findings, leakage.n_records_at_midpoints or 0)
    return f"{meaning} {wording.units().capitalize()} with exactly that value: {records}."


def _values_sentence(leakage: ValueLeakage) -> str:
    """Return what thresholds give away in one sentence; empty where there are none."""
    if not leakage.n_thresholds:
        return ""
    clauses = []
    if leakage.n_off_grid is not None:
        points = "a public cut point" if max(leakage.n_off_grid, 1) == 1 else "public cut points"
        alone = "it is a public cut point" if leakage.n_thresholds == 1 else "all are public cut points"
        clauses.append(f"{_are(leakage.n_off_grid)} not {points}" if leakage.n_off_grid else alone)
    if leakage.n_midpoints is not None:
        clauses.append(f"{_are(leakage.n_midpoints)} the midpoint of two training values")
    if not clauses:
        return ""
    return f"Of {wording.plural(leakage.n_thresholds, 'threshold')}, {' and '.join(clauses)}."


def _are(count: int) -> str:
    return f"{wording.number(count)} {'is' if count == 1 else 'are'}"


def _names(names: tuple[str, ...] | None) -> str:
    if names is None:
        return "not known"
    return wording.listing(names, most=MOST_NAMES, room=60) or "none"
