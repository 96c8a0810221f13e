"""A model, its parts and its domain as findings show them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glassine import privacy
from glassine.attacks.label_disclosure import Occupants
from glassine.auditing.criterion import PartFacts
from glassine.auditing.findings import (
    Bound,
    GuaranteeFinding,
    ShownPart,
    Standing,
    TreeNode,
)
from glassine.auditing.judging import flagging
from glassine.auditing.policy import Policy
from glassine.auditing.suppression import Suppression
from glassine.domain.literals import conjunction_texts, number
from glassine.formats.format import PublishedModel
from glassine.models import AdditiveModel, Cell, DecisionTree, Guarantee, RegressionModel, RuleList

DIGITS = 7
LONGEST = 400
"""Most characters of a condition or a note."""


def describe_parts(
    model: DecisionTree | RuleList,
    policy: Policy,
    suppression: Suppression,
    learned: Sequence[float] | None,
    sizes: Sequence[int | None],
    people: Occupants | None = None,
    *,
    noisy: bool = False,
) -> tuple[ShownPart, ...]:
    """Return the leaves or rules as they may be shown."""
    hidden = suppression.hidden(sizes)
    n_classes = None if model.classes is None else len(model.classes)
    parts, flags_of = [], flagging(policy, suppression)
    conditions = conjunction_texts((cell.inside for cell in model.cells), DIGITS)
    for i, (cell, size, text) in enumerate(zip(model.cells, sizes, conditions, strict=True)):
        counts, bounds = cell.evidence.counts, None if noisy else cell.evidence.purity(n_classes)
        if people is not None:
            counted = counts is not None and bool(people.counts.any()) and bool(size)
            counts = tuple(people.counts[i].tolist()) if counted else None
            bounds = (float(people.purest[i]),) * 2 if counted else None
        bits = None if learned is None else learned[i]
        facts = PartFacts(size=size, hidden=hidden[i], share=None if bounds is None else bounds[0], bits=bits)
        impossible = bits is not None and math.isinf(bits)
        show = counts is not None and not hidden[i] and all(c == 0 or c >= suppression.below for c in counts)
        purity = None if bounds is None else bounds[0]
        if purity is not None and not show:
            purity = None if hidden[i] else suppression.share(purity)
        parts.append(
            ShownPart(
                number=i + 1,
                condition=_condition(cell, text),
                size=suppression.part(size, hidden[i]),
                counts=counts if show else None,
                prediction=_prediction(model, cell),
                purity=purity,
                bits_learned=None if noisy or impossible else bits,
                # Noise hides by how much a part breaks a limit; that its region is empty is public.
                flags=(("empty",) if impossible else ()) if noisy else flags_of(facts),
            )
        )
    return tuple(parts)


def _condition(cell: Cell, text: str) -> str:
    text = text or ("otherwise" if cell.outside else "every record")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _prediction(model: DecisionTree | RuleList, cell: Cell) -> str | None:
    if model.classes is None:
        return None if cell.evidence.value is None else number(cell.evidence.value, DIGITS)
    label = cell.evidence.prediction
    return None if label is None else str(model.classes[label])


def tree_shape(model: DecisionTree | RuleList) -> tuple[TreeNode, ...]:
    """Return the nodes of a tree, each after its parent; nothing for a rule list."""
    if not isinstance(model, DecisionTree):
        return ()
    part_of = {cell.node: i for i, cell in enumerate(model.cells, start=1)}
    texts = {id(branch.literal): branch.literal for node in model.nodes for branch in node.branches}
    words = {key: literal.text(DIGITS) for key, literal in texts.items()}
    out: list[TreeNode] = []
    stack: list[tuple[int, int | None, str]] = [(0, None, "")]
    while stack:
        index, parent, condition = stack.pop()
        out.append(TreeNode(parent=parent, condition=condition, part=part_of.get(index)))
        here = len(out) - 1
        for branch in reversed(model.nodes[index].branches):
            stack.append((branch.child, here, words[id(branch.literal)]))
    return tuple(out)


# A claimed guarantee, and what follows from it, as findings show them.


CLAIMED_BY = "the model's certificate"
EXACT = "the model publishes counts and says of no noise in them: no guarantee covers exact counts"
PROOF = "theory, What a guarantee implies"
CHANCES = (0.01, 0.001)


def describe_guarantee(model: PublishedModel, policy: Policy) -> GuaranteeFinding | None:
    """Return the guarantee that is claimed for a model, how far the policy relies on it, and what follows from it."""
    claim = model.guarantee
    if claim is None:
        return None
    if isinstance(model, RegressionModel):
        counted = False
    elif isinstance(model, AdditiveModel):
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
        bounds=() if caveats else bounds_of(claim),
        unit=str(privacy.PrivacyUnit(claim.records_per_person)),
        setting=claim.setting,
    )


def relied_on(guarantee: GuaranteeFinding | None) -> bool:
    """Return whether a guarantee holds as stated and the policy accepts such claims, be it within its limits or not.

    The model is public then, and so is what follows from it; nothing else about its records is.
    """
    return guarantee is not None and guarantee.standing in ("accepted", "too weak")


def _standing(claim: Guarantee, policy: Policy, *, holds: bool) -> Standing:
    if not holds:
        return "does not hold"
    if not policy.accept_guarantee or policy.max_epsilon is None:
        return "not accepted"
    within = claim.epsilon <= policy.max_epsilon and (policy.max_delta is None or claim.delta <= policy.max_delta)
    return "accepted" if within else "too weak"


def bounds_of(claim: Guarantee) -> tuple[Bound, ...]:
    """Return what a guarantee implies, in figures."""
    advantage = claim.membership_advantage
    kairouz = "Kairouz, Oh and Viswanath (2015), Theorem 2.1"
    adding = claim.neighboring != "replace-one"
    one = "record" if claim.records_per_person is None else "person"
    neighbor = f"without the {one}" if adding else "with another record in its place"
    balle = f"in the line of Balle, Cherubin and Hayes (2022); {PROOF}"
    out = [
        Bound(
            name="membership advantage",
            value=advantage,
            statement=f"How much more often an attack on membership flags a {one} in the data than another. "
            f"Asked about as many of both, it is right for at most {math.ceil(500 * (1 + advantage) - 1e-9) / 10:g}%.",
            method=kairouz,
        ),
        Bound(
            name="true positive rate at 1% false positives",
            value=claim.success(0.01),
            statement=f"The share of the {one}s in the data that an attack can flag if it wrongly flags 1% of others.",
            method=kairouz,
        ),
    ]
    out += [
        Bound(
            name=f"guess that would be right 1 time in {round(1 / chance):,}",
            value=claim.success(chance),
            statement=f"How often a guess about one {one}, or about one of its values, can be right, if it would be "
            f"right 1 time in {round(1 / chance):,} with a model trained {neighbor}."
            if chance == CHANCES[0]
            else f"The same, for a guess that would be right 1 time in {round(1 / chance):,}.",
            method=balle,
        )
        for chance in CHANCES
    ]
    even = claim.posterior(0.5)
    if even is not None:
        out.append(
            Bound(
                name=f"belief about one {one}, even odds before",
                value=even,
                statement=f"The probability that an attacker who knows every other {one}, and gave something about "
                "this one a probability of 50%, can give it after reading the model.",
                method=f"odds move by a factor of at most exp({claim.replacing[0]:g}); {PROOF}",
            )
        )
    steps = f"one {one} removed and another added" if adding else "one replacement"
    says = f"The odds between any two values of one {one} move by at most this power of two"
    if claim.delta:
        says = (
            f"A guess about one {one} is right at most 2 to the power of this number times as often as without it, "
            f"plus delta {claim.delta:g}"
        )
    out.append(
        Bound(
            name=f"bits about one {one}",
            value=claim.bits,
            statement=f"{says}: {claim.replacing[0]:g} * log2(e).",
            method=f"{steps}; {PROOF}",
        )
    )
    return tuple(out)
