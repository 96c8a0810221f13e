"""Criteria on how many records stand behind a part: small leaves as harm, and the smallest one as a norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassine.auditing.criterion import (
    APART,
    OCCURRENCES,
    ONE_SAMPLE,
    RECORDS,
    ROUNDED_SHARE,
    Check,
    Criterion,
    PartFacts,
    PartFlag,
    Remedies,
    covered,
    covered_of,
    criterion,
    failed,
    joined,
    passed,
    share_limit,
    unknown,
    whole_limit,
)
from glassine.auditing.facts import Case, OutcomeCells, Sizes
from glassine.auditing.membership_criteria import rounded_share
from glassine.auditing.remedy import Retraining, remedy
from glassine.auditing.suppression import Suppression

SMALL = 10
"""Records or people below which a leaf is small: the threshold of European output checking."""


# Small leaves and leaves of one: what harms the people in them.

MERGE_SMALL: Remedies = {
    "tree": remedy(
        f"Merge leaves with fewer than {SMALL} {{units}}: {{step}}. Or {{retrain}} with `min_samples_leaf={SMALL}`.",
        "scrub",
        plain=f"Merge leaves with fewer than {SMALL} {{units}}. Or {{retrain}} with at least {SMALL} {{units}} in "
        "each leaf.",
        retraining=Retraining(f"`min_samples_leaf={SMALL}`", {"min_samples_leaf": SMALL}),
        smallest_leaf=SMALL,
    ),
    "rule list": remedy(
        "{Retrain} with a larger minimum support, or without the rules that capture few records.",
        retraining=Retraining("a larger minimum support", {"min_samples_leaf": SMALL}),
    ),
}
EMPTY = "All published counts are zero, so the model says nothing about any record."


def _is_small(limit: float, part: PartFacts, suppression: Suppression) -> bool:
    """Return whether a leaf is marked as small."""
    # A limit below what may be shown would reveal more of a hidden size than that it is hidden.
    return bool(part.size) and (part.size or 0) < SMALL and not (part.hidden and suppression.below > SMALL)


@criterion(
    "share_in_small_leaves",
    "cells",
    share_limit(ROUNDED_SHARE, 0.01),
    label="Share in {parts} of fewer than 10",
    measures="Largest share of the records, or people, in leaves or rules that hold fewer than 10, in (0, 1].",
    by_guarantee=covered_of(("tree", "rule list"), ", however small the {part}"),
    remedies=MERGE_SMALL,
    flag=PartFlag("small", "few records", _is_small),
)
def SHARE_IN_SMALL_LEAVES(limit: float, cells: OutcomeCells, case: Case) -> Check:
    """Judge the share of records, or people, in small leaves: a sure excess fails, though more is unknown."""
    lower, upper = cells.sizes
    # A person may have records in several leaves: of all people, not of all their leaves.
    most = float(upper.sum()) if cells.n_people is None else float(cells.n_people)
    fewest = float(lower.sum()) if cells.n_people is None else float(cells.n_people)
    if not fewest:
        return unknown(EMPTY)
    surely, possibly = (upper < SMALL) & (lower > 0), (lower < SMALL) & (upper > 0)
    low = min(1.0, float(lower[surely].sum()) / most)
    # Fewer than ten are in a leaf that is small at all.
    high = min(1.0, float(np.minimum(upper[possibly], SMALL - 1).sum()) / fewest)
    few = f"{case.parts} of fewer than {SMALL}"
    if low > limit:
        return failed(f"More than {limit:.1%} of {case.counted} are in {few}.", rounded_share(low, most))
    if doubt := cells.unsettled:
        return unknown(doubt)
    if high > limit:
        return unknown(f"Up to {high:.1%} of {case.counted} may be in {few} (limit {limit:.1%}).")
    if not possibly.any():
        least = f", as {cells.stated_by} states" if cells.stated_by else ""
        return passed(f"Every {case.part} holds at least {SMALL} {case.counted}{least}.", 0.0)
    # Rounded up, the share of few records could lie beyond a limit that it keeps.
    return passed(f"At most {limit:.1%} of {case.counted} are in {few}.", min(limit, rounded_share(high, fewest)))


@criterion(
    "leaves_of_one",
    "cells",
    whole_limit(OCCURRENCES, 0),
    label="{parts} of one person or record",
    measures="Largest number of leaves or rules that hold the record of a single person: what they publish is that "
    "person's.",
    by_guarantee=covered_of(("tree", "rule list"), ", however small the {part}"),
    remedies=MERGE_SMALL,
)
def LEAVES_OF_ONE(limit: int, cells: OutcomeCells, case: Case) -> Check:
    """Judge how many leaves hold one record, or person."""
    lower, upper = cells.sizes
    one = "person" if case.people else "record"
    if not upper.any():
        return unknown(EMPTY)
    surely, possibly = int(((lower > 0) & (upper <= 1)).sum()), int(((lower <= 1) & (upper > 0)).sum())
    if surely > limit:
        what = f"A {case.part} holds" if surely == 1 else f"Several {case.parts} hold"
        return failed(f"{what} a single {one}, whose outcome it publishes.", surely)
    if doubt := cells.unsettled:
        return unknown(doubt)
    if possibly > limit:
        return unknown(f"Whether a {case.part} holds a single {one} is not known.")
    if surely:
        return passed(f"No more than {limit:,} {case.parts} hold a single {one}.", surely)
    return passed(f"No {case.part} holds a single {one}.", 0)


# The smallest part: the norm of output checking.


def _judge_sizes(limit: int, sizes: Sizes, case: Case) -> Check:
    """Judge the fewest records of a part: a small part fails, even beside unknown ones."""
    every = sizes.every
    small = [size for size in every if size < limit]
    # A small part that is known fails the limit whatever else is unknown: the order of the three returns matters.
    if small:
        few = {names: sum(size < limit for size in part_sizes) for names, part_sizes in sizes.parts.items()}
        listed = [f"{n:,} of {len(sizes.parts[k]):,} {k[len(sizes.parts[k]) != 1]}" for k, n in few.items() if n]
        verb = "holds" if len(small) == 1 else "hold"
        return failed(f"{joined(listed)} {verb} fewer than {limit:,} {case.counted}.", min(small))
    if sizes.unsettled:
        return unknown(sizes.unsettled)
    if not every and sizes.fewest is None:
        return unknown(EMPTY)
    fewest = min(every) if sizes.fewest is None else sizes.fewest
    if fewest < limit:
        return unknown(f"Whether every {case.part} holds {limit:,} {case.counted} is not known.")
    one = next((one for one, _ in sizes.parts), case.part).removeprefix("non-empty ")
    meaning = f"Every non-empty {one} holds at least {limit:,} {case.counted}"
    return passed(f"{meaning}, as {sizes.stated_by} states." if sizes.stated_by else f"{meaning}.", fewest)


SMALLEST_LEAF: Criterion[int, Sizes] = Criterion(
    name="smallest_leaf",
    reads="sizes",
    limit=whole_limit(RECORDS, fewest=True),
    judge=_judge_sizes,
    label="Smallest {part}",
    measures="Fewest training records that a leaf, rule or bin may hold; fewest people, where persons are stated. A "
    "norm of output checking; off unless it is set.",
    by_guarantee=covered(", however small the {part}"),
    remedies={
        "tree": lambda limit: remedy(
            f"Merge leaves with fewer than {limit} {{units}}: {{step}}. Or {{retrain}} with "
            f"`min_samples_leaf={limit}`.",
            "scrub",
            plain=f"Merge leaves with fewer than {limit} {{units}}. Or {{retrain}} with at least {limit} {{units}} in "
            "each leaf.",
            retraining=Retraining(f"`min_samples_leaf={limit}`", {"min_samples_leaf": limit}),
            smallest_leaf=limit,
        ),
        "rule list": lambda limit: remedy(
            f"{{Retrain}} with a larger minimum support, such as `min_samples_leaf={limit}` of an optimal list, or "
            "without the rules that capture few records.",
            plain="{Retrain} with a larger minimum support, or without the rules that capture few {units}.",
            retraining=Retraining(f"`min_samples_leaf={limit}` of an optimal list", {"min_samples_leaf": limit}),
        ),
        "additive model": lambda limit: remedy(
            f"Merge bins with fewer than {limit} {{units}} and remove their sizes: {{step}}.",
            "scrub",
            smallest_leaf=limit,
        ),
        "regression": lambda limit: remedy(
            f"{{Retrain}} with categories of fewer than {limit} {{units}} joined to others, such as by "
            f"`min_frequency={limit}` of a `OneHotEncoder`.",
            plain=f"{{Retrain}} with categories of fewer than {limit} {{units}} joined to others.",
        ),
        "ensemble": lambda limit: remedy(
            f"{{Retrain}} with `min_samples_leaf={limit}`, of LightGBM `min_data_in_leaf={limit}`.",
            plain=f"{{Retrain}} with at least {limit} {{units}} in every leaf.",
            retraining=Retraining(f"`min_samples_leaf={limit}`", {"min_samples_leaf": limit}),
        ),
    },
    # A limit below what may be shown would reveal more of a hidden size than that it is hidden.
    flag=PartFlag(
        "small",
        "few records",
        lambda limit, part, suppression: (
            bool(part.size) and (part.size or 0) < limit and not (part.hidden and limit < suppression.below)
        ),
    ),
)

# Groups of a release, and of several models together: what is published of them is their records themselves.

FEWEST = whole_limit(RECORDS, SMALL, fewest=True)


def _of_groups(name: str, reads: str, label: str, measures: str, **more: Any) -> Criterion[int, Sizes]:
    """Return a criterion on the records behind groups, by the same limit."""
    return Criterion(
        name=name,
        reads=reads,
        limit=FEWEST,
        judge=_judge_sizes,
        label=label,
        measures=measures,
        **more,
    )


DECLARED_K = _of_groups(
    "declared_k",
    "groups",
    "Smallest group, as the release declares",
    "Fewest records of a group that the release itself declares.",
    stated="declared_k",
    remedies={"release": remedy("Do not publish it: groups hold fewer records than the release declares.")},
)

SMALLEST_RELEASED_LEAF = _of_groups(
    "smallest_released_leaf",
    "released_leaves",
    "Smallest leaf",
    "Fewest training records of a leaf that a release publishes beside its groups.",
    key="smallest_group",
    by_guarantee=covered_of(("release", "release as published"), ", however small the {part}"),
    remedies={
        "release": lambda limit: remedy(
            f"Explain again with leaves of at least {limit} {{units}}: {{step}}.", "explain", min_samples_leaf=limit
        ),
        "release as published": lambda limit: remedy(
            f"Explain again in the restricted form, with leaves of at least {limit} {{units}}: {{step}}.",
            "explain",
            form="restricted",
            min_samples_leaf=limit,
        ),
    },
)

SMALLEST_INTERSECTION = _of_groups(
    "smallest_intersection",
    "intersections",
    "Smallest intersection",
    "Fewest training records that leaves of several models isolate together.",
    key="smallest_group",
    remedies={"several models": APART},
)

SMALLEST_GROUP = _of_groups(
    "smallest_group",
    "groups",
    "Smallest group",
    "Fewest training records behind a representative record or a leaf of a release, and behind what several models "
    "isolate together.",
    remedies={
        "release": lambda limit: remedy(
            f"Explain again with groups of at least {limit} {{units}}: {{step}}.", "explain", k=limit
        ),
        "several regressions": ONE_SAMPLE,
    },
)
