"""Judging an additive model against a policy: what each rule means for bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from glassine.attacks.bins import BinLeakage
from glassine.auditing.additive_regions import RegionBits
from glassine.auditing.findings import Check, GuaranteeFinding
from glassine.auditing.judging import about_guarantee
from glassine.auditing.policy import Policy
from glassine.auditing.suppression import Suppression

__all__ = ["advise_additive", "check_bits", "check_cuts", "check_membership", "check_purity", "check_smallest"]

STRANGERS = "The data given are not the training records: bins hold other numbers of them than the model says."
JOINTLY = (
    "Sizes of bins or ranges of values are published, and what follows from them of several attributes at once was not "
    "measured: sizes have noise, are no counts, or size one attribute twice; ranges are not the domain's. A copy "
    "without both (`glassine scrub`) tells of no two."
)

Status: TypeAlias = Literal["pass", "fail", "unknown"]


def _counted(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def check_smallest(
    policy: Policy, shown: Suppression, found: BinLeakage, histograms: Sequence[float], strangers: bool
) -> list[Check]:
    """Judge ``smallest_leaf`` on bins and cells, and on the bars of histograms that are published beside the model."""
    limit, rule = policy.smallest_leaf, "smallest_leaf"
    if limit is None:
        return []
    bars = [size for size in histograms if 0 < size < limit]
    known = [entry for entry in found.terms if entry.sizes is not None]
    small = sum(entry.below(limit) or 0 for entry in known)
    held = [entry.smallest for entry in known if entry.smallest is not None]
    if small or bars:
        n_bins = sum(sum(size > 0 for size in entry.sizes or ()) for entry in known)
        said = [f"{small:,} of {n_bins:,} bins and cells that hold anybody" if small else ""]
        said.append(f"{_counted(len(bars), 'bar', 'bars')} of the published histograms" if bars else "")
        made = "was" if small + len(bars) == 1 else "were"
        meaning = f"{' and '.join(part for part in said if part)} {made} made from fewer than {limit} people."
        least = min([*held, *(int(size) for size in bars)])
        return [Check(rule=rule, limit=limit, measured=shown.count(least), status="fail", meaning=meaning)]
    status: Status = "pass"
    meaning = f"Every bin that holds anybody was made from at least {limit} people."
    if len(known) < len(found.terms):
        status = "unknown"
        meaning = "The model does not publish exactly how many records its bins hold. Give the data to judge it."
    elif strangers:
        status, meaning = "unknown", STRANGERS
    elif known and not held:
        status, meaning = "unknown", "The sizes of the bins are all zero: the model tells of no record."
    measured = shown.count(min(held)) if held and status == "pass" else None
    return [Check(rule=rule, limit=limit, measured=measured, status=status, meaning=meaning)]


def check_purity(policy: Policy, sizes: Sequence[Check]) -> list[Check]:
    """Judge ``purest_leaf`` by the outcome of ``smallest_leaf``: no shares are published, but small bins betray them.

    ``sizes`` is what :func:`check_smallest` returned.
    """
    limit, rule = policy.purest_leaf, "purest_leaf"
    if limit is None:
        return []
    if sizes and sizes[0].status == "pass":
        meaning = "No share of an outcome is published: a score is a part of a sum, and its bin was made from many."
        return [Check(rule=rule, limit=limit, measured=None, status="pass", meaning=meaning)]
    meaning = (
        "No share of an outcome is published, but the score of a bin of few people says in which direction their "
        "outcomes differ from what the rest of the model expects. How far, was not measured."
    )
    return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)]


def check_bits(
    policy: Policy, told: RegionBits | None, inferred: Sequence[str], histograms: Sequence[float]
) -> list[Check]:
    """Judge ``largest_bits_per_record`` on bins, cells, and what published sizes imply of several attributes.

    ``told`` is None without a domain. ``inferred`` names attributes whose domain was taken from data: it is too narrow,
    so that bits are a lower bound. ``histograms`` are bars that are published beside the model: sizes, too.
    """
    limit, rule = policy.largest_bits_per_record, "largest_bits_per_record"
    if limit is None:
        return []
    status: Status = "unknown"
    measured: float | None = None
    if told is None:
        meaning = "What is learned about a record was not measured: it needs a domain."
    elif math.isinf(told.least):
        meaning = "A bin holds records where the domain allows none: the domain contradicts the model."
    elif told.least > limit:
        status, measured = "fail", round(told.least, 3)
        meaning = f"Bins place some record in 1 of every {_many(told.least)} possible records."
    elif told.most is None or histograms:
        meaning = JOINTLY
    elif told.most > limit:
        meaning = f"Whether some record is known to {told.most:.1f} bits, or only to {told.least:.1f}, was not settled."
        if not told.least:
            meaning = (
                f"Some bin leaves 1 of every {_many(told.most)} possible values. Whether anybody is in it, only the "
                "data tell."
            )
    elif inferred:
        measured = round(told.most, 3)
        meaning = f"At least so many: the domain of {_some(inferred)} is not public but inferred from data."
    else:
        status, measured = "pass", round(told.most, 3)
        meaning = f"Bins place no record in fewer than 1 of every {_many(told.most)} possible records."
    return [Check(rule=rule, limit=limit, measured=measured, status=status, meaning=meaning)]


def _many(bits: float) -> str:
    """Return two to the power of so many bits, in words a reader can count with."""
    if bits >= 50:
        return "a great many"
    every = float(f"{2**bits:.3g}")
    return f"{every:,.{int(every < 10)}f}"


def check_cuts(
    policy: Policy,
    found: BinLeakage,
    inferred: Sequence[str],
    strangers: bool,
    n_targets: int,
    guarantee: GuaranteeFinding | None,
) -> list[Check]:
    """Judge ``thresholds_off_grid`` on cuts, ends of ranges and categories, and ``midpoints`` on cuts.

    ``inferred`` names attributes whose domain was taken from data; ``n_targets`` counts published ends of the target.
    Of a model with a guarantee that is not accepted it is not known whether noise covers them.
    """
    checks = []
    limit, rule = policy.thresholds_off_grid, "thresholds_off_grid"
    parts = [found.total(name) for name in ("n_off_grid", "n_private_bounds", "n_undeclared")]
    if limit is not None:
        cuts, ends, names = (part or 0 for part in parts)
        total = cuts + ends + names + n_targets
        measured: int | None = total
        status: Status = "fail" if total > limit else "pass"
        meaning = "Every cut, every end of a range and every category is public."
        if any(part is None for part in parts) and status == "pass":
            status, measured = "unknown", None
            meaning = "Which cuts, ranges and categories are public was not measured: it needs a domain."
        elif total:
            ranges = _counted(ends + n_targets, "end of a range", "ends of ranges")
            kinds = _counted(names, "category", "categories")
            meaning = f"{_counted(cuts, 'cut', 'cuts')}, {ranges} and {kinds} are not public"
            if guarantee is None:
                meaning += ", so they were taken from training values."
            elif guarantee.caveats:
                meaning += ", and the guarantee that should bound what they tell does not hold."
            elif status == "fail":
                status = "unknown"
                meaning += ". The guarantee that is claimed bounds what they tell, if it holds."
        if inferred and status == "pass":
            status = "unknown"
            meaning = f"The cut points of {_some(inferred)} are not public: their domain was inferred from data."
        checks.append(Check(rule=rule, limit=limit, measured=measured, status=status, meaning=meaning))
    return checks + _check_midpoints(policy, found, strangers, bool(inferred))


def _check_midpoints(policy: Policy, found: BinLeakage, strangers: bool, inferred: bool) -> list[Check]:
    limit, rule = policy.midpoints, "midpoints"
    cuts, off, hits = found.total("n_cuts") or 0, found.total("n_off_grid"), found.total("n_midpoints")
    rebuilt = found.total("n_rebuilt") or 0
    if limit is None:
        return []
    status: Status
    if hits is None and rebuilt > limit:
        # Without data: a chain of cuts that ends exactly at the largest value is no accident.
        follow = "training value follows" if rebuilt == 1 else "training values follow"
        meaning = f"{rebuilt:,} {follow} from the cuts and the published ranges by arithmetic."
        return [Check(rule=rule, limit=limit, measured=rebuilt, status="fail", meaning=meaning)]
    if hits is None:
        if not cuts or (off == 0 and not inferred):
            return []
        meaning = "Whether cuts are midpoints of training values was not measured: it needs the data."
        return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)]
    status, meaning = "pass", "No cut is the midpoint of two training values."
    if hits:
        at = f"{'cut' if cuts == 1 else 'cuts'} {'is' if hits == 1 else 'are'}"
        meaning = f"{hits:,} of {cuts:,} {at}, bit for bit, half way between two training values."
    if hits > limit:
        status = "fail"
    elif strangers:
        status, meaning = "unknown", STRANGERS
    return [Check(rule=rule, limit=limit, measured=hits, status=status, meaning=meaning)]


def check_membership(policy: Policy, reason: str) -> list[Check]:
    """Answer ``largest_advantage``: membership attacks are not made on additive models."""
    limit, rule = policy.largest_advantage, "largest_advantage"
    if limit is None:
        return []
    meaning = f"Whether a reader can tell who was in the data was not measured: {reason}"
    return [Check(rule=rule, limit=limit, measured=None, status="unknown", meaning=meaning)]


def advise_additive(
    checks: Sequence[Check], policy: Policy, domain: bool, guarantee: GuaranteeFinding | None
) -> tuple[str, ...]:
    """Return what to do next, one sentence for each kind of remedy."""
    broken = {check.rule for check in checks if check.status == "fail"}
    unknown = {check.rule for check in checks if check.status == "unknown"}
    out = []
    if "smallest_leaf" in broken:
        out.append(f"Join small bins and drop their sizes (`glassine scrub --smallest-leaf {policy.smallest_leaf}`).")
    if broken & {"thresholds_off_grid", "midpoints"}:
        out.append("Move cuts to public cut points and drop ranges (`glassine scrub`; `--target` measures the cost).")
    if "largest_bits_per_record" in broken:
        out.append("Join bins (`glassine scrub` with a larger `--smallest-leaf`), and drop their sizes.")
    about = about_guarantee(broken, unknown, policy, guarantee)
    out += about
    if "smallest_leaf" in unknown and not about:
        out.append("Give the training records (`--data`), so that the bins can be counted.")
    if "thresholds_off_grid" in unknown and not domain:
        out.append("Give a domain (`--domain`): start from `glassine domain infer` and replace what the data told.")
    if guarantee is None and (broken or unknown):
        out.append("A private model (`PrivateEBMClassifier`) has a guarantee: it answers these rules, if accepted.")
    return tuple(out)


def _some(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
