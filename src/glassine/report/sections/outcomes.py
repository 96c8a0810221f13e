"""What class counts and thresholds give away: outcomes that can be guessed, and exact training values."""

from __future__ import annotations

from collections.abc import Mapping

from glassine.attacks.label_disclosure import LabelDisclosure
from glassine.attacks.magnitudes import NumberInference
from glassine.attacks.outcome import Below, ShownCount
from glassine.attacks.value_leakage import ValueLeakage
from glassine.auditing.findings import Findings
from glassine.report import wording
from glassine.report.section import LEARNED, shows
from glassine.report.sections.reconstruction import share_unit

MOST_NAMES = 8


@shows(
    "labels",
    "labels",
    "What the model reveals about outcomes",
    "Outcomes",
    """
Guessed right with the model | {guess_rate:about} | An attacker who knows a {unit}'s {part} guesses the outcome \
correctly this often. Without the model, naming the most frequent outcome is right for {base_rate:about}.
Outcome certain | {certain} | They fall in a {part} whose records all have one outcome.
Largest share of one outcome | {purest:least} | In the purest {part}.
Uncertainty of an outcome | {bits_left:.2f} of {bits_prior:.2f} bits left | How unsure an attacker stays about a \
{unit}'s outcome, against how unsure they were before.
""",
    sentence="With the model, an attacker guesses the outcome correctly for {guess_rate:about} of {units} "
    "({base_rate:about} without it). {sentence}",
    text_title=LEARNED,
    rank=40,
)
def labels_section(disclosure: LabelDisclosure, findings: Findings) -> Mapping[str, object]:
    """Return of how many the outcome is certain."""
    certain = _share(findings, disclosure.n_certain, disclosure.n_records)
    nobody = disclosure.n_certain == 0
    return {
        "certain": certain,
        "sentence": "No outcome is certain." if nobody else f"For {certain} the outcome is certain.",
    }


@shows(
    "values",
    "values",
    "Training values in the model",
    "Exact values",
    """
[n_thresholds] Not public cut points | {n_off_grid:number} of {n_thresholds:many threshold} | {place} | \
It needs a domain.
[n_thresholds] Midpoints of two training values | {n_midpoints:number} of {n_thresholds:many threshold} | \
{midpoints} | It needs the data.
[none] Thresholds | none | The model has no threshold on a number.
Bounds that are a training value | {bounds} | Attributes whose lowest or highest value in the domain is that of a \
record; harmless where the bound is public, such as 0. | It needs a domain and the data.
Categories of one {unit} | {lone} | Attributes with a category that a single {unit} has. | It needs the data.
[regression] Leaves that publish one {unit}'s value | {leaves} | A leaf made from one record predicts that record's \
value, and so does a median.
[regression] Largest share of two {units} in a leaf | {two} | Of the total of the values in the leaf. Near 100%, one \
of the two {units} can compute the value of the other from the mean and the size of the leaf. | It needs the data \
with the target.
[regression] Values guessed to within 10% | {guessed} | An attacker who knows a {unit}'s attributes is this close. \
{around} | It needs the data with the target.
""",
    sentence="{sentence}",
    lacking=lambda leakage, findings: lacking_values(leakage),
    text_title=LEARNED,
    rank=41,
)
def values_section(leakage: ValueLeakage, findings: Findings) -> Mapping[str, object]:
    """Return what thresholds, bounds and categories give away in words; what is not known is None."""
    two, inferred = leakage.dominance, leakage.inferred
    return {
        "place": _off_grid_meaning(leakage),
        "midpoints": _midpoint_meaning(findings, leakage),
        "none": not leakage.n_thresholds,
        "bounds": _names(leakage.exact_bounds),
        "lone": _names(leakage.lone_categories),
        "regression": findings.model.kind == "regression tree",
        "leaves": "some leaves" if leakage.n_lone_targets or leakage.n_lone_values else "none",
        "two": None if two is None else f"at least {wording.percent(two)}" if two else "small",
        "guessed": None if inferred is None else f"about {wording.percent(inferred.within_tenth)}",
        "around": "" if inferred is None else _around(inferred),
        "sentence": _values_sentence(leakage),
    }


def _around(inferred: NumberInference) -> str:
    """Return what the median alone would reach, and the range that holds most values."""
    baseline = wording.percent(inferred.within_tenth_without)
    return (
        f"The median of all values is for about {baseline}. For 90% of {wording.units()}, the value is within "
        f"{inferred.half_width:,.3g} of the prediction."
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


def _off_grid_meaning(leakage: ValueLeakage) -> str:
    if leakage.n_inferred:
        return "The domain was inferred from data: none of its cut points is public."
    return (
        "Their place reveals something about training values."
        if leakage.n_off_grid
        else "They can be known without the data."
    )


def _midpoint_meaning(findings: Findings, leakage: ValueLeakage) -> str:
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


def _names(names: tuple[str, ...] | None) -> str | None:
    return None if names is None else wording.listing(names, most=MOST_NAMES, room=60) or "none"
