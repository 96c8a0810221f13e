"""Summaries of several sites that follow one plan, as one: their tables are added, and so is their noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from glassine.domain.domain import to_dict
from glassine.errors import InvalidModelError, InvalidParameterError, check_choice, parameter
from glassine.learners.additive.merging import MOST_SITES, Persons, composed
from glassine.learners.additive.targets import Training
from glassine.learners.summaries.derived import MEASURED, RESERVED
from glassine.learners.summaries.file import SummaryFile, digest
from glassine.learners.summaries.released import ReleasedSummary, Round
from glassine.learners.summaries.released_tables import (
    ADDED,
    CERTIFICATES,
    CLIPPED,
    FOLLOWS,
    ROUNDS,
    clip_of,
    most_groups,
    plan_named,
)
from glassine.privacy.certificate import Certificate

OF_ONE = (FOLLOWS, CLIPPED, RESERVED, MEASURED)
"""What certificates of summaries state that is not true of all sites together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FollowedPlan:
    """The plan that a summary follows, checked before anything is charged."""

    released: ReleasedSummary
    clip: float  # Largest residual, as the plan's summary had it
    stated: Mapping[str, object]  # What the certificate says of it


def checked_plan(plan: object, training: Training) -> FollowedPlan:
    """Return the plan that a summary is to follow, if it is of the same attributes and target.

    Raises
    ------
    InvalidParameterError
        If it is no plan, or of another domain or target, or has more bins or rounds than a summary can have.
    """
    if not isinstance(plan, SummaryFile):
        raise InvalidParameterError(
            f"{parameter('follows')} must be the plan of a summary or None, got {type(plan).__name__}.",
            remedy="Pass plan_ of a fitted summary.",
        )
    target = training.target
    same = (plan.target.classes, plan.target.bounds) == (target.classes, target.bounds)
    if not same or to_dict(plan.domain) != to_dict(training.domain):
        what = "another target" if not same else "other attributes"
        raise InvalidParameterError(
            f"{parameter('follows')} is the plan of a summary of {what}.", remedy="Declare one domain for all sites."
        )
    released = plan.released
    odd = InvalidParameterError(
        f"{parameter('follows')} is a plan with more bins, pairs or rounds than a summary has, or with other numbers.",
        remedy="Pass plan_ of a summary as it was released.",
    )
    # The number of values that are released, which the slack of the noise is for, is bounded by these.
    most = [most_groups(target) + 1 + len(axis.grid.codes) for axis in released.axes]
    wide = any(int(own.max()) >= bound for own, bound in zip(released.groups, most, strict=True))
    if wide or len(released.rounds) > ROUNDS or len(released.edges) >= max(len(released.axes), 1):
        raise odd
    try:
        clip = clip_of(replace(released, rounds=()))
    except (ArithmeticError, ValueError):
        raise odd from None
    return FollowedPlan(released=released, clip=clip, stated={FOLLOWS: digest(plan), CLIPPED: clip})


def merged(
    files: Sequence[SummaryFile], certificates: Sequence[Certificate], persons: Persons
) -> tuple[SummaryFile, Certificate]:
    """Return one summary of summaries of one plan, and what holds for the records of all sites.

    Guarantee
    ---------
    That of :func:`glassine.learners.merge`: the summary is a function of those of the sites; see
    ``released_tables.md``.

    Raises
    ------
    InvalidParameterError
        If there are fewer than two summaries, one is merged, or they follow different plans or are of different units.
    InvalidModelError
        If a summary is not of the plan that its certificate names.
    """
    check_choice(persons, "persons", ("shared", "disjoint"))
    if not 2 <= len(files) <= MOST_SITES:
        raise InvalidParameterError(
            f"a merge needs the summaries of 2 to {MOST_SITES:,} sites, got {len(files)}.", remedy="Give one of each."
        )
    if any(one.public.get("merged") == ADDED for one in certificates):
        raise InvalidParameterError(
            "one of the summaries is merged itself.", remedy="Merge the summaries of all sites at once."
        )
    if len(set(map(digest, files))) < len(files):
        raise InvalidParameterError("a summary is given twice, which would count twice.", remedy="Give each once.")
    plans = set(map(plan_named, certificates))
    if len(plans) > 1:
        raise InvalidParameterError(
            "the summaries follow different plans, so that their tables have different cells.",
            remedy="Let all sites follow the first summary, or merge additive models of them.",
        )
    if len({one.unit.is_person for one in certificates}) > 1:
        raise InvalidParameterError(
            "the summaries are for different privacy units.", remedy="Fit all sites with persons, or all without."
        )
    for one, other in pairwise(files):
        if not _same(one, other):
            raise InvalidModelError(
                "a summary has other bins or pairs than the plan that its certificate names.",
                remedy="Ask the site for the file that was written.",
            )
    # In one order, whichever the sites are given in: sums of fractions depend on it.
    order = sorted(range(len(files)), key=lambda place: str(certificates[place].model))
    files, certificates = [files[place] for place in order], [certificates[place] for place in order]
    named = max((one.target for one in files), key=lambda target: target.name)
    file = replace(files[0], target=named, released=added([one.released for one in files]))
    certificate = composed(list(map(digest, files)), certificates, form=ADDED, persons=persons)
    public = {
        **{key: value for key, value in certificates[0].public.items() if key not in OF_ONE},
        **certificate.public,
        FOLLOWS: plans.pop(),
        CERTIFICATES: [one.to_dict() for one in certificates],
    }
    return file, replace(certificate, public=public, model=digest(file))


def _same(one: SummaryFile, other: SummaryFile) -> bool:
    """Return whether two summaries have the same cells, so that their tables can be added."""
    ours, theirs = one.released, other.released
    same = to_dict(one.domain) == to_dict(other.domain) and one.bins == other.bins
    same = same and (one.target.classes, one.target.bounds) == (other.target.classes, other.target.bounds)
    # A file keeps pairs in the order of the attributes, a fit in that of their choice.
    same = same and set(ours.edges) == set(theirs.edges) and len(ours.rounds) == len(theirs.rounds)
    arrays = [
        *zip((axis.bin_of for axis in ours.axes), (axis.bin_of for axis in theirs.axes), strict=True),
        *zip(ours.groups, theirs.groups, strict=True),
        *zip((each.scores for each in ours.rounds), (each.scores for each in theirs.rounds), strict=False),
    ]
    return same and all(np.array_equal(left, right) for left, right in arrays)


def added(parts: Sequence[ReleasedSummary]) -> ReleasedSummary:
    """Return the summary whose tables are the sums of those of summaries of one plan."""
    first = parts[0]
    of_tables, _, of_edges = zip(*(one.deviations for one in parts), strict=True)
    return ReleasedSummary(
        axes=tuple(
            replace(axis, counts=sum(one.counts for one in own), variances=sum(one.variances for one in own))
            for axis, own in zip(first.axes, zip(*(one.axes for one in parts), strict=True), strict=True)
        ),
        tables=tuple(np.sum(own, axis=0) for own in zip(*(one.tables for one in parts), strict=True)),
        groups=first.groups,
        scores=first.scores,
        edges={pair: np.sum([one.edges[pair] for one in parts], axis=0) for pair in first.edges},
        # The scores of pairs are those of one site.
        deviations=(math.hypot(*of_tables), 0.0, math.hypot(*of_edges)),
        rounds=tuple(
            Round(
                scores=own[0].scores,
                sums=np.sum([one.sums for one in own], axis=0),
                deviation=math.hypot(*(one.deviation for one in own)),
            )
            for own in zip(*(one.rounds for one in parts), strict=True)
        ),
        squares=None
        if first.squares is None
        else (
            sum(one.squares[0] for one in parts if one.squares),
            math.hypot(*(one.squares[1] for one in parts if one.squares)),
        ),
    )
