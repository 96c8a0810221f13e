"""What was measured of models as evidence that criteria read: trees and rule lists, additive models, several models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.auditing.cell_facts import counts_by_statement
from glassine.auditing.criteria import SMALLEST_LEAF
from glassine.auditing.evidence import Bits, Evidence, Fact, Inapplicable, Named, Parts, Shares, Sizes, Thresholds
from glassine.auditing.findings.guarantee import GuaranteeFinding, Standing
from glassine.errors import Text, marked, parameter
from glassine.models import DecisionTree, RuleList

if TYPE_CHECKING:
    from glassine.attacks.bins import BinLeakage
    from glassine.attacks.labels import LabelDisclosure, Occupants
    from glassine.attacks.reconstruction.joint_result import JointReconstruction
    from glassine.attacks.values import ValueLeakage
    from glassine.auditing.additive_regions import RegionBits
    from glassine.auditing.inputs import AuditInputs, Statements
    from glassine.auditing.policy import Policy
    from glassine.auditing.suppression import Suppression

MISMATCH = (
    "The data does not match the model: its {parts} hold other numbers of records. Use the records the model was "
    "trained on."
)
EMPTY_MODEL = "all published counts are zero, so the model says nothing about any record."
OF_PERSONS = (
    "The model's guarantee is for people, who may have several records each, but records were counted. Name the "
    "column of persons, or have the publisher state that everyone has one record."
)
CONTRADICTION = "the domain allows no record where the model counts some, so one of the two is wrong."
ROUNDING = 1e-9
"""What is taken for the rounding of proved bits: a thousandth of the last digit that is shown, and less."""


def doubt_of(guarantee: GuaranteeFinding | None, inputs: AuditInputs, mismatch: str) -> str:
    """Return why counts may not be those that limits are about: others than in training, or records for people."""
    by_record = not inputs.counts_people and not inputs.settings.statements.one_record_per_person
    if mismatch or guarantee is None or guarantee.accepted:
        return mismatch
    return OF_PERSONS if guarantee.subject == "person" and by_record else ""


# Trees and rule lists.


WEIGHED = (
    "The sizes in {whose} are sums of weights, which are numbers of records only if no weights were used in training. "
    "Pass the training data, or have the publisher state it."
)


def doubt_of_weights(model: DecisionTree | RuleList, statements: Statements, *, confirmed: bool) -> str:
    """Return why the sizes of a model may not be numbers of records; ``confirmed`` says that matching data show it."""
    known = confirmed or statements.unweighted or model.sizes != "derived"
    published = any(cell.evidence.size is not None for cell in model.cells)
    return "" if known or not published else WEIGHED.format(whose="the file")


def sizes_of_cells(
    model: DecisionTree | RuleList, sizes: Sequence[int | None], mismatch: str, statements: Statements
) -> Fact[Sizes]:
    """Return the records of leaves or rules; ``sizes`` has None where they are not known."""
    one, more = ("leaf", "leaves") if isinstance(model, DecisionTree) else ("rule", "rules")
    parts, unsettled, fewest, stated_by = tuple(size for size in sizes if size), mismatch, None, ""
    if None in sizes:
        stated = counts_by_statement(model, statements, noisy=model.guarantee is not None)
        if stated is None:
            unsettled = f"The model does not publish exactly how many records each {one} holds. Pass the training data."
        else:
            lower, upper = stated.sizes
            fewest = math.floor(lower.min())
            if statements.smallest_leaf is None:
                sure = zip(lower.tolist(), upper.tolist(), strict=True)
                parts = tuple(int(high) for low, high in sure if low > 0)
            else:
                # Sizes that are published are counts, whatever is stated of the others.
                stated_by = statements.by
    return Measured(Sizes(parts=(Parts(one, more, parts),), unsettled=unsettled, fewest=fewest, stated_by=stated_by))


def shares_of_cells(
    model: DecisionTree | RuleList, labels: Outcome[LabelDisclosure], noise: str | None, people: Occupants | None = None
) -> Fact[Shares]:
    """Return the largest share of a class in each leaf or rule, as the model publishes it: no others can be seen."""
    # noise says why they measure nothing, where the counts are noisy. people are those in each leaf or rule: where its
    # counts are published, the share is that of the people with a record of the class there.
    if noise is not None:
        return NotApplicable(noise)
    evidences = [cell.evidence for cell in model.cells if cell.evidence.size != 0]
    if isinstance(model, DecisionTree) and any(evidence.counts is None for evidence in evidences):
        evidences += [node.evidence for node in model.nodes if node.branches and node.evidence.size != 0]
    if not evidences:
        return NotApplicable(EMPTY_MODEL)
    n_classes = None if model.classes is None else len(model.classes)
    bounds = [evidence.purity(n_classes) for evidence in evidences]
    if model.classes is None:  # Of numbers only a part of one single value has a share: 1.
        bounds = [pair for pair in bounds if pair is not None and pair[0] == 1]
    weighted = any(evidence.weighted for evidence in evidences)
    if people is not None and model.classes is not None and any(pair is not None for pair in bounds):
        if not people.counts.any():
            return labels if isinstance(labels, NotApplicable) else NotApplicable(EMPTY_MODEL)
        held_by = zip(model.cells, people.purest.tolist(), people.sizes.tolist(), strict=True)
        own = tuple((share, share) for cell, share, size in held_by if size and cell.evidence.shares(n_classes))
        bounds, weighted = [*own, *(pair for pair in bounds if pair is None)], False
    if not weighted and all(pair is None for pair in bounds):
        reason = labels.reason if isinstance(labels, NotApplicable | Failed) else "there is none."
        return Inapplicable(f"No share of an outcome is published: {reason}")
    unsettled = "The model publishes shares by weight, so the shares of records are not known." if weighted else ""
    return Measured(Shares(bounds=tuple(bounds), unsettled=unsettled, rounded=model.approximate))


def bits_of_cells(
    learned: Sequence[float] | None,
    sizes: Sequence[int | None],
    unmeasured: str,
    inferred: Sequence[str],
    possible: float | None,
) -> Fact[Bits]:
    """Return the bits about the most exposed record."""
    # unmeasured says why bits are not known where learned is None; inferred names the tested attributes whose domain
    # was inferred from data; possible are the bits of the whole domain.
    if learned is None:
        return NotApplicable(unmeasured)
    # An empty region of unknown size can hold no record; one that claims records contradicts the domain.
    finite = [b for b, size in zip(learned, sizes, strict=True) if size or (size is None and math.isfinite(b))]
    if not finite:
        return NotApplicable(EMPTY_MODEL)
    largest = max(finite)
    if math.isinf(largest):
        return NotApplicable(CONTRADICTION)
    return Measured(Bits(lower=largest, upper=largest, inferred=tuple(inferred), possible=possible))


def thresholds_of_values(policy: Policy, values: ValueLeakage, inferred: Sequence[str]) -> Fact[Thresholds]:
    """Return the thresholds; ``inferred`` names the attributes with thresholds whose domain was inferred from data."""
    n, off, limit = values.n_thresholds, values.n_off_grid, policy.thresholds_off_grid
    # Public cut points are no midpoints; where the check on them fails, or is unknown, it says enough.
    public = off == 0 and not inferred
    decided = limit is not None and (off is None or off > limit or bool(inferred))
    return Measured(
        Thresholds(
            n=n,
            n_private=off or 0,
            complete=off is not None or not n,
            n_inferred=values.n_inferred,
            inferred=tuple(inferred) if n else (),
            n_midpoints=values.n_midpoints,
            wants_data=bool(n) and not public and not decided,
        )
    )


def named_of_values(
    values: ValueLeakage, inferred: Sequence[str], lacking: Sequence[str] = (), *, bounded: bool = False
) -> Named:
    """Return whom thresholds can name without the data; ``lacking`` names attributes of which no domain is known."""
    public = values.n_off_grid == 0 or not values.n_thresholds
    return Named(
        number=0 if public else values.n_nameable,
        n=values.n_thresholds,
        n_private=values.n_thresholds if values.n_off_grid is None else values.n_off_grid,
        lacking=tuple(lacking),
        inferred=() if public else tuple(inferred),
        bounded=bounded,
    )


# Additive models.


def sizes_of_bins(leakage: BinLeakage, histograms: Sequence[float], mismatch: str) -> Fact[Sizes]:
    """Return the records of bins, and those of the bars of histograms that are published beside the model."""
    sizes = tuple(size for entry in leakage.terms for size in entry.counts or () if size)
    bars = tuple(int(size) for size in histograms if size > 0)
    parts = [Parts("non-empty bin", "non-empty bins", sizes)]
    if bars:
        parts.append(Parts("bar of the published histograms", "bars of the published histograms", bars))
    unsettled = mismatch
    if any(entry.counts is None for entry in leakage.terms):
        unsettled = "The model does not publish exactly how many records its bins hold. Pass the training data."
    if not leakage.terms and not bars:
        return Inapplicable("The model has no bins.")
    return Measured(Sizes(parts=tuple(parts), unsettled=unsettled))


def shares_of_bins(policy: Policy, sizes: Evidence, suppression: Suppression) -> Fact[Shares]:
    """Return that no share is published, where every bin is large: the score of a small one reveals its outcomes."""
    # sizes is the evidence with the sizes of the bins.
    limit = policy.smallest_leaf
    check = None if limit is None else SMALLEST_LEAF.check(limit, sizes, suppression)
    if check is not None and check.status in ("pass", "not applicable"):
        return Inapplicable(
            "No share of an outcome is published: a score is a part of a sum, and every bin holds many records."
        )
    return NotApplicable(
        "the score of a bin of few records shows in which direction their outcomes differ from what the rest of the "
        "model expects. How far, was not measured."
    )


def bits_of_bins(revealed: RegionBits | None, inferred: Sequence[str], histograms: Sequence[float]) -> Fact[Bits]:
    """Return the bits about the most exposed record; ``revealed`` is None without a domain."""
    if revealed is None:
        return NotApplicable("it needs a domain.")
    if math.isinf(revealed.least):
        return NotApplicable(CONTRADICTION)
    upper, unsettled = revealed.most, ""
    if upper is None or histograms:
        upper = None
        unsettled = (
            "Sizes of bins or ranges of values are published, and what follows from them about several attributes at "
            "once was not measured: sizes are noisy, are not counts, or count one attribute twice, or ranges are not "
            "the domain's. A copy without both reveals nothing about several attributes at once."
        )
    return Measured(Bits(lower=revealed.least, upper=upper, unsettled=unsettled, inferred=tuple(inferred)))


def thresholds_of_bins(
    leakage: BinLeakage, inferred: Sequence[str], n_targets: int, guarantee: GuaranteeFinding | None
) -> Fact[Thresholds]:
    """Return cuts, ends of ranges and categories; ``n_targets`` counts published ends of the target."""
    counts = [leakage.total(name) for name in ("n_off_grid", "n_private_bounds", "n_undeclared")]
    cuts, ends, names = (count or 0 for count in counts)
    n_cuts, off = leakage.total("n_cuts") or 0, counts[0]
    listed = (
        (cuts, "cut", "cuts"),
        (ends + n_targets, "end of a range", "ends of ranges"),
        (names, "category", "categories"),
    )
    return Measured(
        Thresholds(
            n=n_cuts,
            n_private=cuts + ends + names + n_targets,
            complete=all(count is not None for count in counts),
            inferred=tuple(inferred),
            kinds=tuple(f"{count:,} {one if count == 1 else more}" for count, one, more in listed if count),
            bounded=guarantee is not None and not guarantee.caveats,
            n_midpoints=leakage.total("n_midpoints"),
            n_rebuilt=leakage.total("n_rebuilt") or 0,
            # Ranges and categories count among what is not public, so that it does not decide about cuts.
            wants_data=bool(n_cuts) and not (off == 0 and not inferred),
        )
    )


def named_of_bins(
    leakage: BinLeakage, inferred: Sequence[str], n_targets: int, guarantee: GuaranteeFinding | None
) -> Fact[Named]:
    """Return whom cuts, ends of ranges and categories can name: no attack on bins flags people, so by an estimate."""
    # An end of a range is the value of a person, and so is a category that the domain does not declare.
    sides, ends, names = (leakage.total(name) for name in ("n_nameable", "n_private_bounds", "n_undeclared"))
    n_cuts, lone = leakage.total("n_cuts") or 0, leakage.total("n_lone_categories")
    known = None not in (sides, ends, names)
    other = (ends or 0) + ((names or 0) if lone is None else lone) + n_targets + (leakage.total("n_rebuilt") or 0)
    return Measured(
        Named(
            number=(sides or 0) + other if known or other else None if n_cuts else 0,
            n=n_cuts + other,
            n_private=(leakage.total("n_off_grid") or 0) + other if known else n_cuts + other,
            lacking=() if known else tuple(entry.attribute for entry in leakage.attributes if entry.n_nameable is None),
            inferred=tuple(inferred),
            bounded=guarantee is not None and not guarantee.caveats,
        )
    )


# Several models of the same records.


def evidence_of_models(joint: JointReconstruction, policy: Policy, weighed: Sequence[str] = ()) -> Evidence:
    r"""Return what several models of the same records reveal together, and their claims added up.

    Nothing passes by bounds that do not prove it, nor past a model that was left out and that no claim covers. Counts
    that contradict one another are evidence of nothing. ``weighed`` names models whose sizes may be sums of weights.

    Examples
    --------
    >>> from glassine import Domain, parse_rules
    >>> from glassine.attacks import reconstruct_jointly
    >>> from glassine.auditing.judging import judge
    >>> from glassine.auditing.policy import Policy
    >>> from glassine.auditing.suppression import Suppression
    >>> domain = Domain.binary(["a", "b"])
    >>> rules = parse_rules("if [a] then [true] ([30 ; 20] examples)\nelse [false] ([30 ; 26] examples)", domain)
    >>> policy = Policy(smallest_leaf=55)
    >>> evidence = evidence_of_models(reconstruct_jointly([rules], domain), policy)
    >>> [(check.rule, check.measured, check.status) for check in judge(policy, evidence, Suppression(10))]
    [('smallest_leaf', 50, 'fail')]
    """
    if joint.contradiction is not None:
        # No check passes because nothing was judged.
        nothing = NotApplicable("no dataset meets the counts of all models.")
        return Evidence(kind="several models", sizes=nothing, bits=nothing, mismatch=joint.contradiction)
    composed = joint.composition
    by_claims = policy.max_epsilon is not None and (
        policy.max_delta is not None or composed is None or not composed.delta
    )
    unseen = [
        entry.name for entry in joint.left_out if entry.counts != "zero" and (entry.guarantee is None or not by_claims)
    ]
    doubt = f"What {', '.join(unseen)} adds was not measured." if unseen else ""
    doubt = " ".join(filter(None, [doubt, WEIGHED.format(whose=", ".join(weighed)) if weighed else ""]))
    bits: Fact[Bits] = None
    if not joint.models and doubt:
        bits = NotApplicable(f"no model publishes exact counts. {doubt}")
    elif joint.models and joint.bits_most_exposed is not None:
        between = joint.bits_most_exposed
        bits = Measured(
            Bits(lower=between.lower, upper=between.upper, unsettled=doubt, tolerance=ROUNDING, inferred=joint.inferred)
        )
    return Evidence(
        kind="several models",
        guarantee=_composed(joint, policy),
        sizes=_sizes_of_models(joint, policy.smallest_leaf, doubt),
        bits=bits,
    )


def _sizes_of_models(joint: JointReconstruction, limit: int | None, doubt: str) -> Fact[Sizes]:
    """Return the groups that certainly hold records: leaves, and intersections of leaves by their upper bounds."""
    if limit is not None and not joint.models and doubt:
        return NotApplicable(f"no model publishes exact counts. {doubt}")
    if not joint.models or joint.cells is None or limit is None:
        return None
    ranges = zip(joint.cells.low.tolist(), joint.cells.high.tolist(), strict=True)
    within = [high for low, high in ranges if 1 <= low <= high]
    within += [group.high for group in joint.small_groups if group.kind == "difference"]
    parts = [Parts("leaf or rule", "leaves and rules", tuple(entry.size for entry in joint.exposures if entry.size))]
    if len(joint.models) > 1:
        single, several = "intersection of the models", "intersections of the models"
        parts.insert(0, Parts(single, several, tuple(within)))
    else:
        parts.append(Parts("group", "groups", tuple(within)))
    fewest = joint.fewest_in_common
    unsettled = doubt
    if limit > 1 and (fewest is None or fewest < limit):
        unsettled = Text(
            f"No group is known to hold fewer than {limit} records, but that does not prove that none does."
            + (
                f" {parameter('smallest_group', limit - 1)} looks for more of them."
                if joint.smallest_group < limit - 1
                else ""
            )
            + (
                f" {parameter('data=')} may prove it."
                if fewest is None
                else f" The smallest intersection holds {fewest}."
            )
            + f" {marked(doubt)}".rstrip()
        )
    return Measured(Sizes(parts=tuple(parts), unsettled=unsettled, fewest=fewest))


def _composed(joint: JointReconstruction, policy: Policy) -> GuaranteeFinding | None:
    """Return the claims of the models, added up; they hold if each of them does."""
    composed = joint.composition
    if composed is None:
        return None
    standing: Standing = (
        "does not hold" if composed.caveats else "accepted" if policy.accept_guarantee else "not accepted"
    )
    return GuaranteeFinding(
        claimed_by="the models, added up",
        epsilon=composed.epsilon,
        delta=composed.delta,
        neighboring=composed.neighboring,
        count_scale=None,
        caveats=composed.caveats,
        standing=standing,
        bits_per_record=None,
        bounds=(),
    )
