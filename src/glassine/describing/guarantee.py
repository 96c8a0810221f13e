"""A claimed guarantee, and what follows from it, as findings show them."""

from __future__ import annotations

import math

from glassine.describing.model import LONGEST
from glassine.findings import Bound, GuaranteeFinding, Standing
from glassine.models import AdditiveModel, DecisionTree, Guarantee, RuleList
from glassine.policy import Policy
from glassine.privacy.unit import PrivacyUnit

__all__ = ["describe_guarantee", "relied_on"]

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
        unit=str(PrivacyUnit(claim.records_per_person)),
    )


def relied_on(found: GuaranteeFinding | None) -> bool:
    """Return whether a guarantee holds as stated and the policy accepts such claims, be it within its limits or not.

    The model is public then, and so is what follows from it; nothing else about its records is.
    """
    return found is not None and found.standing in ("accepted", "too weak")


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
    adding = claim.neighboring != "replace-one"
    one = "record" if claim.records_per_person is None else "person"
    without = f"without the {one}" if adding else "with another record in its place"
    balle = f"in the line of Balle, Cherubin and Hayes (2022); {PROOF}"
    out = [
        Bound(
            name="membership advantage",
            value=advantage,
            statement=f"How much more often an attack on membership can accuse a {one} in the data than another. "
            f"Asked about as many of both, it is right for at most {math.ceil(500 * (1 + advantage) - 1e-9) / 10:g}%.",
            method=kairouz,
        ),
        Bound(
            name="members found at 1% false alarms",
            value=claim.success(0.01),
            statement=f"The share of the {one}s in the data that an attack can find if it wrongly accuses 1% of "
            "others.",
            method=kairouz,
        ),
    ]
    out += [
        Bound(
            name=f"guess of a {one} that is right 1 time in {round(1 / chance):,} without it",
            value=claim.success(chance),
            statement=f"How often a guess about one {one}, or about one of its values, can be right, if it would be "
            f"right 1 time in {round(1 / chance):,} with a model learned {without}.",
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
                statement=f"The probability that a reader who knows every other {one}, and gave something about this "
                "one a probability of 50%, can give it after reading the model.",
                method=f"odds move by a factor of at most exp({claim.replacing[0]:g}); {PROOF}",
            )
        )
    steps = f"one {one} removed and another added" if adding else "one replacement"
    says = f"The odds between any two values of one {one} move by at most this power of two"
    if claim.delta:
        says = (
            f"A guess about one {one} is right at most this power of two times as often as without it, "
            f"plus delta, {claim.delta:g}"
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
