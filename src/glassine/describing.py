"""Describing: a model, its parts and a domain as findings show them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from glassine.attacks.outcome import Count, Failed, Measured, NotApplicable, Outcome
from glassine.domain import Domain
from glassine.domain.literals import attributes_of, conjunction_text
from glassine.findings import (
    AttackFinding,
    Bound,
    DomainSummary,
    GuaranteeFinding,
    MembershipFinding,
    ModelSummary,
    Part,
    Standing,
    TreeNode,
)
from glassine.models import AdditiveModel, Cell, DecisionTree, Guarantee, RuleList
from glassine.policy import Policy
from glassine.suppression import Suppression

if TYPE_CHECKING:
    from glassine.attacks.membership.result import MembershipResult
    from glassine.attacks.membership.suite import MembershipAttacks

__all__ = [
    "LONGEST",
    "describe_domain",
    "describe_guarantee",
    "describe_membership",
    "describe_model",
    "describe_noisy_parts",
    "describe_parts",
    "tree_shape",
]

DIGITS = 4
LONGEST = 400
"""Most characters of a condition or a note."""


def describe_model(model: DecisionTree | RuleList) -> ModelSummary:
    """Return a model in brief."""
    kind = "rule list"
    if isinstance(model, DecisionTree):
        kind = "decision tree" if model.classes is not None else "regression tree"
    return ModelSummary(
        kind=kind,
        source=model.source,
        n_parts=len(model.cells),
        depth=max(len(cell.inside) for cell in model.cells),
        n_records=model.n_records,
        classes=None if model.classes is None else tuple(str(c) for c in model.classes),
        attributes=attributes_of(model.literals),
        approximate=model.approximate,
        count_scale=None if model.guarantee is None else model.guarantee.count_scale,
    )


CLAIMED_BY = "the model's certificate"
EXACT = "the model publishes counts and says of no noise in them: no guarantee covers exact counts"
PROOF = "theory, What a guarantee implies"
CHANCES = (0.01, 0.001)


def describe_guarantee(model: DecisionTree | RuleList | AdditiveModel, policy: Policy) -> GuaranteeFinding | None:
    """Return the guarantee that is claimed for a model, how far the policy relies on it, and what follows from it."""
    claim = model.guarantee
    if claim is None:
        return None
    if isinstance(model, AdditiveModel):
        counted = any(term.weights is not None for term in model.terms)
    else:
        parts = [node.evidence for node in model.nodes] if isinstance(model, DecisionTree) else []
        parts += [cell.evidence for cell in model.cells]
        counted = any(evidence.size is not None for evidence in parts)
    caveats = claim.caveats
    if claim.count_scale is None and counted:
        caveats = (*caveats, EXACT)
    return GuaranteeFinding(
        claimed_by=CLAIMED_BY,
        epsilon=claim.epsilon,
        delta=claim.delta,
        neighboring=claim.neighboring,
        count_scale=claim.count_scale,
        caveats=tuple(text if len(text) <= LONGEST else f"{text[:LONGEST]}..." for text in caveats),
        standing=_standing(claim, policy, holds=not caveats),
        bits_per_record=None if caveats else claim.bits,
        bounds=() if caveats else _bounds(claim),
    )


def _standing(claim: Guarantee, policy: Policy, *, holds: bool) -> Standing:
    if not holds:
        return "does not hold"
    if not policy.accept_guarantee or policy.max_epsilon is None:
        return "not accepted"
    within = claim.epsilon <= policy.max_epsilon and (policy.max_delta is None or claim.delta <= policy.max_delta)
    return "accepted" if within else "too weak"


def _bounds(claim: Guarantee) -> tuple[Bound, ...]:
    """Return what a guarantee implies, in figures."""
    advantage = claim.membership_advantage
    kairouz = "Kairouz, Oh and Viswanath (2015), Theorem 2.1"
    adding = claim.neighboring == "add-or-remove-one"
    without = "without the record" if adding else "with another record in its place"
    balle = f"in the line of Balle, Cherubin and Hayes (2022); {PROOF}"
    out = [
        Bound(
            name="membership advantage",
            value=advantage,
            statement="How much more often an attack that tells who was in the data can accuse members than others. "
            f"Asked about as many of both, it is right for at most {math.ceil(500 * (1 + advantage) - 1e-9) / 10:g}%.",
            method=kairouz,
        ),
        Bound(
            name="members found at 1% false alarms",
            value=claim.success(0.01),
            statement="The share of the people in the data that an attack can find if it wrongly accuses 1% of others.",
            method=kairouz,
        ),
    ]
    out += [
        Bound(
            name=f"guess of a record that is right 1 time in {round(1 / chance):,} without it",
            value=claim.success(chance),
            statement="How often a guess about one record, or about one of its values, can be right, if it would be "
            f"right 1 time in {round(1 / chance):,} with a model learned {without}.",
            method=balle,
        )
        for chance in CHANCES
    ]
    even = claim.posterior(0.5)
    if even is not None:
        out.append(
            Bound(
                name="belief about one record, even odds before",
                value=even,
                statement="The probability that a reader who knows every other record, and gave something about this "
                "one a probability of 50%, can give it after reading the model.",
                method=f"odds move by a factor of at most exp({claim.replacing[0]:g}); {PROOF}",
            )
        )
    steps = "one record removed and another added" if adding else "one replacement"
    says = "The odds between any two values of one record move by at most this power of two"
    if claim.delta:
        says = (
            "A guess about one record is right at most this power of two times as often as without it, "
            f"plus delta, {claim.delta:g}"
        )
    out.append(
        Bound(
            name="bits about one record",
            value=claim.bits,
            statement=f"{says}: {claim.replacing[0]:g} * log2(e).",
            method=f"{steps}; {PROOF}",
        )
    )
    return tuple(out)


def describe_domain(domain: Domain | None) -> DomainSummary | None:
    """Return a domain in brief."""
    if domain is None:
        return None
    sizes = [domain.size(domain_aware=aware) for aware in (False, True)]
    bits = [None if size is None else math.log2(size) for size in sizes]
    return DomainSummary(
        n_attributes=len(domain),
        n_groups=len(domain.groups),
        inferred=tuple(name for name in domain if domain[name].inferred),
        bits_independent=bits[0],
        bits_domain_aware=bits[1],
    )


def describe_parts(
    model: DecisionTree | RuleList,
    policy: Policy,
    shown: Suppression,
    learned: Sequence[float] | None,
    sizes: Sequence[int | None],
) -> tuple[Part, ...]:
    """Return the leaves or rules as they may be shown.

    Parameters
    ----------
    model : DecisionTree or RuleList
        The model.
    policy : Policy
        The limits that flags refer to.
    shown : Suppression
        What may be shown of counts.
    learned : sequence of float, optional
        Bits learned about each record of each part.
    sizes : sequence of int or None
        Number of records of each part.
    """
    hidden = shown.hidden(sizes)
    n_classes = None if model.classes is None else len(model.classes)
    parts = []
    for i, (cell, size) in enumerate(zip(model.cells, sizes, strict=True)):
        counts, bounds = cell.evidence.counts, cell.evidence.purity(n_classes)
        bits = None if learned is None else learned[i]
        show = counts is not None and not hidden[i] and all(c == 0 or c >= shown.below for c in counts)
        shown_size: Count | None = size
        if hidden[i]:
            shown_size = shown.count(size) if size and size < shown.below else "hidden"
        purity = None if bounds is None else bounds[0]
        if purity is not None and not show:
            purity = None if hidden[i] else shown.share(purity)
        parts.append(
            Part(
                number=i + 1,
                condition=_condition(cell),
                size=shown_size,
                counts=counts if show else None,
                prediction=_prediction(model, cell),
                purity=purity,
                bits_learned=None if bits is None or math.isinf(bits) else bits,
                flags=_flags(policy, shown, hidden[i], size, None if bounds is None else bounds[0], bits),
            )
        )
    return tuple(parts)


def describe_noisy_parts(
    model: DecisionTree | RuleList, shown: Suppression, learned: Sequence[float] | None
) -> tuple[Part, ...]:
    """Return the leaves or rules with their noisy counts, which say for certain neither a share nor a bit.

    Parameters
    ----------
    model : DecisionTree or RuleList
        The model.
    shown : Suppression
        What may be shown of counts: all, where an accepted guarantee covers them.
    learned : sequence of float, optional
        Bits that the region of each part would tell; infinite where it is empty.
    """
    sizes = [cell.evidence.size for cell in model.cells]
    hidden = shown.hidden(sizes)
    parts = []
    for i, (cell, size) in enumerate(zip(model.cells, sizes, strict=True)):
        counts = cell.evidence.counts
        show = counts is not None and not hidden[i] and all(c == 0 or c >= shown.below for c in counts)
        shown_size: Count | None = size
        if hidden[i]:
            shown_size = shown.count(size) if size and size < shown.below else "hidden"
        empty = learned is not None and math.isinf(learned[i])
        parts.append(
            Part(
                number=i + 1,
                condition=_condition(cell),
                size=shown_size,
                counts=counts if show else None,
                prediction=_prediction(model, cell),
                purity=None,
                bits_learned=None,
                flags=("empty",) if empty else (),
            )
        )
    return tuple(parts)


def _flags(
    policy: Policy, shown: Suppression, hidden: bool, size: int | None, purity: float | None, bits: float | None
) -> tuple[str, ...]:
    """Return which limits a part breaks, as far as that tells nothing of a hidden size."""
    flags = []
    smallest, most = policy.smallest_leaf, policy.largest_bits_per_record
    # A limit below what may be shown would tell more of a hidden size than that it is hidden.
    if size and smallest is not None and size < smallest and not (hidden and smallest < shown.below):
        flags.append("small")
    # Of fewer people than may be shown, a share above most limits can only be all: the flag would tell.
    if purity is not None and not hidden and purity > (policy.purest_leaf or 1):
        flags.append("pure")
    if bits is not None and math.isinf(bits):
        flags.append("empty")
    elif bits is not None and size != 0 and most is not None and bits > most:
        flags.append("exposed")
    return tuple(flags)


def _condition(cell: Cell) -> str:
    text = conjunction_text(cell.inside, DIGITS) or ("otherwise" if cell.outside else "every record")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _prediction(model: DecisionTree | RuleList, cell: Cell) -> str | None:
    if model.classes is None:
        return None if cell.evidence.value is None else f"{cell.evidence.value:.{DIGITS}g}"
    label = cell.evidence.prediction
    return None if label is None else str(model.classes[label])


def tree_shape(model: DecisionTree | RuleList) -> tuple[TreeNode, ...]:
    """Return the nodes of a tree, each after its parent; nothing for a rule list."""
    if not isinstance(model, DecisionTree):
        return ()
    part_of = {cell.node: i for i, cell in enumerate(model.cells, start=1)}
    out: list[TreeNode] = []
    stack: list[tuple[int, int | None, str]] = [(0, None, "")]
    while stack:
        index, parent, condition = stack.pop()
        out.append(TreeNode(parent=parent, condition=condition, part=part_of.get(index)))
        here = len(out) - 1
        for branch in reversed(model.nodes[index].branches):
            stack.append((branch.child, here, branch.literal.text(DIGITS)))
    return tuple(out)


ATTACKS = {
    "gap": "gap attack",
    "best_loss": "best-loss threshold",
    "black_box": "black-box attack model",
    "lira_online": "online likelihood-ratio attack",
    "lira_offline": "offline likelihood-ratio attack",
}
MOST_CORNERS = 200


def describe_membership(found: MembershipAttacks, shown: Suppression) -> MembershipFinding:
    """Return what membership attacks found, rates rounded to three digits.

    Parameters
    ----------
    found : MembershipAttacks
        The outcome of each attack.
    shown : Suppression
        What may be shown of counts.
    """
    shift, strongest, vulnerability = found.shift, found.strongest, found.vulnerability
    accused, wrongly, midpoints = _midpoints(found, shown)
    few = min(found.n_members, found.n_nonmembers) < shown.below
    measured = vulnerability.value if isinstance(vulnerability, Measured) else None
    return MembershipFinding(
        n_members=shown.count(found.n_members),
        n_nonmembers=shown.count(found.n_nonmembers),
        confidence=found.confidence,
        attacks=(
            *(_attack(name, getattr(found, field), shown) for field, name in ATTACKS.items()),
            _midpoint_attack(found),
        ),
        strongest=None if strongest is None else strongest.attack,
        roc=() if strongest is None or few else _thinned(strongest.roc.log_points()),
        shifted=shift.value.shifted if isinstance(shift, Measured) else None,
        shift=_shift(found),
        shift_auc=round(shift.value.auc, 3) if isinstance(shift, Measured) else None,
        overlap=_overlap(found),
        vulnerability=None if measured is None else round(measured.vulnerability.value, 3),
        vulnerability_low=None if measured is None else round(measured.vulnerability.low, 3),
        vulnerability_high=None if measured is None else round(measured.vulnerability.high, 3),
        vulnerability_by_chance=None if measured is None else round(measured.control, 3),
        unmeasured_vulnerability="" if isinstance(vulnerability, Measured) else vulnerability.reason,
        accused=accused,
        accused_wrongly=wrongly,
        midpoints=midpoints,
    )


def _attack(name: str, outcome: Outcome[MembershipResult], shown: Suppression) -> AttackFinding:
    if isinstance(outcome, NotApplicable | Failed):
        failed = isinstance(outcome, Failed)
        return AttackFinding(attack=name, status="failed" if failed else "not applicable", reason=outcome.reason)
    result = outcome.value
    rates = {rate.fpr: rate for rate in result.low_rates}
    baseline, reached = result.baseline
    return AttackFinding(
        attack=result.attack,
        status="measured",
        advantage=round(result.advantage.value, 3),
        advantage_low=round(result.advantage.low, 3),
        advantage_high=round(result.advantage.high, 3),
        balanced_accuracy=round(result.balanced_accuracy.value, 3),
        baseline_accuracy=round(reached, 3),
        baseline=baseline,
        auc=round(result.auc.value, 3),
        tpr_at_percent=round(rates[0.01].tpr.value, 3),
        tpr_at_permille=round(rates[0.001].tpr.value, 3),
        permille_resolved=rates[0.001].resolved,
        p_value=round(result.control.p_value, 4),
        detected=result.detected,
        statement=_without_small_counts(result, shown),
    )


def _without_small_counts(result: MembershipResult, shown: Suppression) -> str:
    text = result.verdict
    for count, noun in ((result.n_members, "members"), (result.n_nonmembers, "non-members")):
        if count < shown.below:
            text = text.replace(f"{count} {noun}", f"fewer than {shown.below} {noun}")
    return text


def _midpoint_attack(found: MembershipAttacks) -> AttackFinding:
    """Return the midpoint attack as one that calls the accused members, and nobody else."""
    name, outcome = "midpoint attack", found.midpoint
    if not isinstance(outcome, Measured):
        failed = isinstance(outcome, Failed)
        return AttackFinding(attack=name, status="failed" if failed else "not applicable", reason=outcome.reason)
    advantage = outcome.value.advantage
    if advantage is None:
        return AttackFinding(attack=name, status="not applicable", reason="who is a member was not given.")
    return AttackFinding(
        attack=name,
        status="measured",
        advantage=round(advantage.value, 3),
        advantage_low=round(advantage.low, 3),
        advantage_high=round(advantage.high, 3),
        balanced_accuracy=round((1 + advantage.value) / 2, 3),
        baseline_accuracy=0.5,
        baseline="guessing",
        detected=advantage.low > 0,
        statement="The thresholds of the model name single records; whoever is accused is one of these.",
    )


def _thinned(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return at most some 200 of the corners, rounded: all of them would hold every count."""
    step = max(1, -(-len(points) // MOST_CORNERS))
    kept = [*points[:-1:step], *points[-1:]]
    return tuple((float(f"{x:.3g}"), float(f"{y:.3g}")) for x, y in kept)


def _shift(found: MembershipAttacks) -> str:
    if not isinstance(found.shift, Measured):
        return found.shift.reason
    shift = found.shift.value
    return (
        f"A classifier that knows attributes and class, but not the model, tells them apart with an area under the ROC "
        f"curve of {shift.auc:.3f} (p = {shift.p_value:.2g}); 0.5 is chance."
    )


def _overlap(found: MembershipAttacks) -> str:
    """Return why the holdout seems to hold members; empty where it does not."""
    if found.overlap.suspicious:
        return found.overlap.statement
    if isinstance(found.shift, Measured) and found.shift.value.alike:
        return "Members and holdout are more alike than two samples of one population."
    return ""


def _midpoints(found: MembershipAttacks, shown: Suppression) -> tuple[Count | None, Count | None, str]:
    """Return how many records thresholds name, how many of these wrongly, and that in words."""
    outcome = found.midpoint
    if not isinstance(outcome, Measured):
        return None, None, outcome.reason
    result = outcome.value
    n, wrongly = len(result.accused), None
    if result.precision is not None:
        wrongly = shown.count(round(n * (1 - result.precision.value)))
    told = (
        f"{result.n_unique} of {result.n_thresholds} thresholds are the midpoint of just one pair of values; "
        f"{result.expected_by_chance:.1f} would be by chance."
    )
    if result.n_unique and not n:
        told += " These may be chance, so that nobody is accused."
    return shown.count(n), wrongly, told
