"""Criteria on what can be inferred: training values from thresholds, and sensitive values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from glassine.attacks.magnitudes import ContributionBounds, LargestContributions
from glassine.auditing.criterion import (
    DOMAIN,
    FIGURE,
    GROUPED,
    MODELS,
    OCCURRENCES,
    SHARE,
    VALUES,
    Check,
    Criterion,
    Remedies,
    covered,
    criterion,
    failed,
    for_kinds,
    joined,
    passed,
    share_limit,
    unknown,
    whole_limit,
)
from glassine.auditing.facts import Case, NamedPeople, Thresholds
from glassine.auditing.membership_criteria import PRIVATE_RELEASE
from glassine.auditing.remedy import remedy
from glassine.errors import first_of

if TYPE_CHECKING:
    from glassine.auditing.findings.guarantee import GuaranteeFinding

# Values taken from training values.


def _thresholds(count: int) -> str:
    return "1 threshold" if count == 1 else f"{count:,} thresholds"


def _off_grid(count: int) -> str:
    return "is not a public cut point" if count == 1 else "are not public cut points"


def _bounded(meaning: str, drawn: bool) -> str:
    """Return what a guarantee that is claimed says of published values, if it holds."""
    if drawn:
        return (
            f"{meaning} Private fits choose, with noise, among cut points that follow from the domain alone, and every "
            "threshold is one. If the guarantee that is claimed holds, none was taken from a record."
        )
    return f"{meaning} If the guarantee that is claimed holds, it limits what they reveal."


def _private_by_guarantee(limit: int, guarantee: GuaranteeFinding, case: Case) -> Check:
    """Return that the guarantee covers them, with what was measured; without a domain nothing was."""
    ruling, thresholds = covered(", by thresholds as well")(limit, guarantee, case), case.measured("thresholds")
    return passed(ruling.meaning, thresholds.n_private if thresholds is not None and thresholds.complete else None)


ROUND = remedy("Round thresholds to public cut points: {step}.", "scrub")
RESTRICT = remedy(
    "Explain again in the restricted form: {step}. Its thresholds are public cut points.", "explain", form="restricted"
)
DECLARE = remedy(
    "Declare the domain: {step}. The cut points of an inferred domain are not public.", "explain", domain=None
)
UNROUNDED = remedy(
    "{Retrain} on values that are rounded to public cut points, or take extra trees, which draw thresholds at random."
)
ROUND_TREES = remedy(
    "Round the thresholds of all trees to public cut points: {step}. Or {retrain} on values that are rounded to them.",
    "scrub",
)
ROUND_CUTS = remedy("Move cuts to public cut points and remove published ranges: {step}.", "scrub")
ROUNDED: Remedies = {
    "tree": ROUND,
    "rule list": ROUND,
    "additive model": ROUND_CUTS,
    "ensemble": ROUND_TREES,
    "release": DECLARE,
    "release as published": RESTRICT,
}


@criterion(
    "thresholds_off_grid",
    "thresholds",
    whole_limit(VALUES),
    label="Thresholds that are not public cut points",
    measures="Largest number of thresholds that are not public cut points of the domain; off unless it is set.",
    unmeasured="Which thresholds are public was not measured: {reason}",
    by_guarantee=_private_by_guarantee,
    remedies=ROUNDED,
    inputs=for_kinds(MODELS, DOMAIN),
)
def THRESHOLDS_OFF_GRID(limit: int, thresholds: Thresholds, case: Case) -> Check:
    """Judge published values that are not public; a cut point of an inferred domain may be public, so fails nothing."""
    n, inferred = thresholds.n_private, thresholds.inferred
    meaning = "Every threshold is a public cut point."
    if not thresholds.n and not thresholds.kinds:
        meaning = "The model has no threshold on a number."
    counted = f"{n:,} of {_thresholds(thresholds.n)} {_off_grid(n)}"
    if n:
        one, meaning = n == 1, counted
        if thresholds.kinds:
            meaning = f"{joined(thresholds.kinds)} {'is' if one else 'are'} not public"
        can = f"so {'it' if one else 'they'} can reveal training values"
        meaning += f": the domain of {first_of(inferred)} was inferred from data." if inferred else f", {can}."
    # A cut point of an inferred domain may be public all the same, so that it is doubt, not failure.
    if n - thresholds.n_inferred > limit:
        if thresholds.bounded:
            return unknown(_bounded(f"{counted}." if thresholds.drawn else meaning, thresholds.drawn), n)
        return failed(meaning, n)
    if not thresholds.complete:
        return unknown("Which published values are public was not measured: it needs a domain.")
    if inferred:
        doubt = f"The cut points of {first_of(inferred)} are not public: their domain was inferred from data."
        return unknown(meaning if n else doubt, n)
    return passed(meaning, n)


def _midpoints_by_guarantee(limit: int, guarantee: GuaranteeFinding, case: Case) -> Check | None:
    thresholds = case.measured("thresholds")
    if thresholds is None or thresholds.n_midpoints is None:
        return None
    return passed(covered(", by thresholds as well")(limit, guarantee, case).meaning, thresholds.n_midpoints)


@criterion(
    "midpoints",
    "thresholds",
    whole_limit(VALUES),
    label="Midpoints of two training values",
    measures="Largest number of thresholds that are the midpoint of two training values; judged with the data, and "
    "off unless it is set.",
    unmeasured="Whether thresholds are midpoints of training values was not measured: {reason}",
    by_guarantee=_midpoints_by_guarantee,
    remedies=ROUNDED,
    inputs=for_kinds(("tree", "rule list"), DOMAIN) | {"release": GROUPED},
)
def MIDPOINTS(limit: int, thresholds: Thresholds, case: Case) -> Check | None:
    """Judge midpoints by the data; without them, values that follow by arithmetic fail the limit all the same."""
    hits, rebuilt = thresholds.n_midpoints, thresholds.n_rebuilt
    if hits is None:
        if rebuilt > limit:
            follow = "training value follows" if rebuilt == 1 else "training values follow"
            return failed(f"{rebuilt:,} {follow} from the cuts and the published ranges by arithmetic.", rebuilt)
        if thresholds.wants_data:
            return unknown("Whether thresholds are midpoints of training values was not measured: it needs the data.")
        return None
    meaning = "No threshold is the midpoint of two training values."
    if hits:
        at = "is" if hits == 1 else "are"
        meaning = f"{hits:,} of {_thresholds(thresholds.n)} {at} exactly the midpoint of two training values."
    if hits > limit:
        return failed(meaning, hits)
    return unknown(case.mismatch, hits) if case.mismatch else passed(meaning, hits)


# People whom thresholds can name.


@criterion(
    "named_by_thresholds",
    "named",
    whole_limit(OCCURRENCES, 20),
    label="Named by thresholds",
    measures="Largest number of records, or people, that thresholds name: flagged by the midpoint attack, with the "
    "data; else those expected to hold alone, in a node, the value beside a threshold that is not public, or where "
    "every whole number is a cut point.",
    unmeasured="Whether thresholds can name a record was not measured: {reason}",
    by_guarantee=covered(", by thresholds as well"),
    remedies=ROUNDED,
    inputs=for_kinds(MODELS, DOMAIN) | {"release": GROUPED},
    requests=("The public cut points, or public shares of values, of {lacking}.",),
)
def NAMED_BY_THRESHOLDS(limit: int, named: NamedPeople, case: Case) -> Check:
    """Judge how many can be named: flagged by the attack with the data, else by an upper estimate."""
    if named.stated_by and named.unround and not named.flagged:
        return unknown(
            f"Every threshold is a public cut point, as {named.stated_by} states. But those of "
            f"{first_of(named.unround)} have more digits than people choose. A domain that lists them shows that "
            "they are public."
        )
    if named.stated_by and not named.flagged:
        return passed(f"Every threshold is a public cut point, as {named.stated_by} states.", 0)
    if named.number is None:
        of = f": {first_of(named.lacking)}" if named.lacking else ""
        return unknown(f"Whether thresholds can name {case.counted} is not known without public cut points{of}.")
    if named.flagged:
        if named.number > limit:
            return failed(
                f"More than {limit:,} {case.counted} can be flagged as members: thresholds are midpoints of their "
                "values.",
                named.number,
            )
        if doubt := case.mismatch or case.unconfirmed:
            return unknown(doubt, named.number)
        none = f"No {'person' if case.people else 'record'} can be flagged as a member by a threshold."
        return passed(none if not named.number else f"No more than {limit:,} {case.counted} are flagged.", named.number)
    if named.number > limit and not named.n_private and not named.inferred:
        return unknown(
            f"Every threshold is a public cut point, but {FIGURE} of all {case.counted} can be alone at the "
            "values beside one: only the records show whether thresholds name them.",
            named.number,
        )
    if named.number > limit:
        meaning = (
            f"Thresholds can flag {FIGURE} of all {case.counted}: they may be midpoints of two training values in "
            "sparsely populated ranges."
        )
        if named.bounded:
            counted = f"{named.n_private:,} of {_thresholds(named.n)} {_off_grid(named.n_private)}."
            return unknown(_bounded(counted if named.drawn else meaning, named.drawn), named.number)
        return failed(meaning, named.number)
    if named.inferred:
        return unknown(
            f"The cut points of {first_of(named.inferred)} are not public: their domain was inferred from data.",
            named.number,
        )
    if not named.n:
        return passed("The model has no threshold on a number.", 0)
    if case.mismatch:
        return unknown(case.mismatch, named.number)
    if not named.n_private and not named.number:
        return passed("Every threshold is a public cut point.", 0)
    if not named.number:
        return passed(
            "Every threshold is public, or is not expected to lie beside a value that one record alone has.", 0
        )
    return passed(f"Thresholds can flag {FIGURE} of all {case.counted}.", named.number)


# Identifiers.


@criterion(
    "tested_identifiers",
    "identifiers",
    whole_limit(VALUES, 0),
    label="Tested identifiers",
    measures="Largest number of attributes that the model tests and that identify people: the column of persons, or "
    "one that looks like an identifier by its name and by its values.",
    unmeasured="Whether a tested attribute is an identifier is not known: {reason}",
    remedies=for_kinds(
        MODELS,
        remedy("{Retrain} without this attribute: it names the people."),
    ),
)
def TESTED_IDENTIFIERS(limit: int, identifiers: tuple[str, ...], case: Case) -> Check | None:
    """Judge how many tested attributes identify people; without any there is no check."""
    n = len(identifiers)
    if n > limit:
        return failed(f"The model tests an identifier: {first_of(identifiers)}. It singles people out by name.", n)
    return passed("The model tests no attribute that identifies people.", n) if n else None


# Sensitive values.


@criterion(
    "narrowest_answer",
    "narrowed",
    share_limit(SHARE, fewest=True),
    label="Single answers behind a mean",
    measures="Narrowest interval, as a share of the public range of numeric answers, in which a published mean "
    "lets an attacker place one answer who knows all others behind it. Needs the records behind the release; off "
    "unless it is set.",
    unmeasured="How closely means determine single answers is not known: {reason}",
    remedies={
        "release": remedy(
            "Explain again with a coarser step of the answers, or with larger leaves: {step}.", "explain", answer=None
        )
    },
)
def NARROWEST_ANSWER(limit: float, widths: tuple[float, ...], case: Case) -> Check:
    """Judge the leaf whose mean leaves the least open. The width is not shown: it follows from the size of the leaf."""
    close = sum(width < limit for width in widths)
    if close:
        return failed(
            f"In {close:,} of {len(widths):,} {case.parts}, an attacker who knows the other answers "
            f"behind a mean learns the last one to within less than {limit:.3g} of the range."
        )
    return passed(
        f"An attacker who knows all answers behind a mean but one learns the last one to within at least {limit:.3g} "
        "of the range."
    )


LARGER: Remedies = for_kinds(
    ("tree", "rule list"), remedy("{Retrain} with larger leaves, or cut large values off.")
) | {
    "release": remedy(
        "Explain again with larger leaves, or with a black box that cuts large answers off: {step}.",
        "explain",
        min_samples_leaf=None,
    ),
    "additive model": ROUND_CUTS,
}


def _of_numbers(limit: float, guarantee: GuaranteeFinding, case: Case) -> Check | None:
    """Return that the guarantee covers means, where the subject publishes any."""
    return None if case.of_classes else covered(", however much of a mean it makes up")(limit, guarantee, case)


def _of_magnitudes(
    name: str, default: float | None, label: str, measures: str
) -> Callable[[Callable[[float, Any, Case], Check | None]], Criterion[float, Any]]:
    """Return what makes a criterion on the largest contributions of a function that judges them."""
    return criterion(
        name,
        "contributions",
        share_limit(SHARE, default, fewest=name == "p_percent"),
        label=label,
        measures=f"{measures} Of the values of a regression in size, of numeric answers in their distance from the "
        "nearer end of the public range. Judged by the records with their values, or by the declared range of the "
        "target, which bounds one value" + ("." if default else "; off unless it is set."),
        unmeasured="How much single contributions make up is not known: {reason}",
        by_guarantee=_of_numbers,
        remedies=LARGER,
    )


UNSEEN = "Neither the file nor a public range of the values shows that one or two do not make up most of a mean."


def _heavy(
    bounds: ContributionBounds, beyond: Callable[[LargestContributions], bool], what: str, learns: str, case: Case
) -> Check:
    """Return a check by the number of parts beyond a limit. No share is shown: it is that of one or two people."""
    if heavy := sum(map(beyond, bounds.least)):
        return failed(f"In at least {heavy:,} of the {case.parts}, {what}. {learns}")
    if bounds.most is None or any(map(beyond, bounds.most)):
        return unknown(UNSEEN)
    return passed(f"In no {case.part}: {what}.")


@_of_magnitudes(
    "dominance",
    0.90,
    "Two largest contributions",
    "Largest share of the total behind a published mean or extreme that two records, or people, make up: the (2, k) "
    "rule.",
)
def DOMINANCE(limit: float, contributions: ContributionBounds, case: Case) -> Check:
    """Judge the part whose mean two contributions make up most."""
    what = f"two {'people' if case.people else 'records'} make up more than {limit:.3g} of the total"
    learns = "One of the two, who knows the size, learns the value of the other to within the rest."
    return _heavy(contributions, lambda one: one.two > limit, what, learns, case)


@_of_magnitudes(
    "p_percent",
    0.10,
    "What hides the largest contribution",
    "Smallest ratio of all but the two largest contributions to the largest, behind a published mean: the p % rule.",
)
def P_PERCENT(limit: float, contributions: ContributionBounds, case: Case) -> Check:
    """Judge the part of which the second contributor learns the largest contribution best."""
    one = "person" if case.people else "record"
    what = f"the {one} with the second largest value bounds the largest to within {limit:.0%}"
    learns = "The mean and the size of the leaf are enough."
    return _heavy(contributions, lambda one: one.rest < limit, what, learns, case)


@_of_magnitudes(
    "largest_contribution",
    None,
    "Largest contribution",
    "Largest share of the total behind a published mean or extreme that one record, or person, makes up: the (1, k) "
    "rule.",
)
def LARGEST_CONTRIBUTION(limit: float, contributions: ContributionBounds, case: Case) -> Check:
    """Judge the part whose mean one contribution makes up most."""
    what = f"one {'person' if case.people else 'record'} makes up more than {limit:.3g} of the total"
    learns = "The published number is close to that value times its share."
    return _heavy(contributions, lambda one: one.one > limit, what, learns, case)


@criterion(
    "most_certain",
    "certain",
    whole_limit(OCCURRENCES),
    label="Sensitive values that can be inferred",
    measures="Largest number of records, or of people where persons are stated, whose sensitive value an attacker "
    "who knows their quasi-identifiers can infer with probability 0.99 or more. Needs the training records and the "
    "name of the sensitive attribute; off unless it is set.",
    unmeasured="What is revealed about the sensitive attribute was not measured: {reason}",
    by_guarantee=covered(", the sensitive attribute included"),
    remedies=for_kinds(
        ("tree", "rule list"),
        remedy(
            "Merge pure leaves or remove counts, and see what it costs: {step}. Or {retrain} with larger leaves.",
            "disclose",
            python="`measure_remedies`",
            remedies=True,
        ),
    )
    | {"release": PRIVATE_RELEASE},
    inputs=for_kinds(
        ("tree", "rule list"),
        remedy(
            "Name the sensitive attribute, pass the training records, and say by which criterion splits were "
            "selected: {step}.",
            "audit",
            sensitive=None,
            data=None,
            criterion=None,
        ),
    )
    | {
        "release": remedy(
            "Name the sensitive attribute, and pass the training records: {step}.", "audit", sensitive=None, data=None
        )
    },
)
def MOST_CERTAIN(limit: int, certain: tuple[int, str], case: Case) -> Check:
    """Judge of how many the sensitive value can be inferred; nothing passes where more may be learned."""
    number, unsettled = certain
    if number > limit:
        return failed(
            f"An attacker who knows everyone's quasi-identifiers can infer the sensitive value of too many "
            f"{case.counted}.",
            number,
        )
    if unsettled:
        return unknown(f"An attacker may learn more than was measured: {unsettled}", number)
    return passed(
        f"By the estimate, an attacker can infer the sensitive value of no more {case.counted} than allowed.",
        number,
    )
