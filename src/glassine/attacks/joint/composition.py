"""What the guarantees of several models of the same records come to together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from glassine.attacks.joint.published import LeftOut

__all__ = ["Composition", "compose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """The claims of several models, put together by basic composition: epsilons add, and deltas add.

    This is arithmetic on claims: it holds if each of them does.

    Attributes
    ----------
    models : tuple of str
        The models whose claims are put together.
    epsilons, deltas : tuple of float
        What each contributes, under ``neighboring``.
    neighboring : str
        The relation of all claims; ``replace-one`` where they differ, with those for adding or removing one record or
        person taken twice. A record that is replaced keeps its person.
    caveats : tuple of str
        What is said against one of the claims, with the model's name; then the sum does not hold as stated.
    """

    models: tuple[str, ...]
    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    neighboring: str
    caveats: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """Sum of the epsilons."""
        return math.fsum(self.epsilons)

    @property
    def delta(self) -> float:
        """Sum of the deltas, at most 1."""
        return min(1.0, math.fsum(self.deltas))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "models": list(self.models),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighboring": self.neighboring,
            "epsilons": list(self.epsilons),
            "deltas": list(self.deltas),
            "caveats": list(self.caveats),
        }

    def __str__(self) -> str:
        whose = {1: "the claim of", 2: "the claims of both,"}.get(len(self.models), "the claims of all:")
        said = f"{_sum('epsilon', self.epsilons, self.epsilon)} ({whose} {', '.join(self.models)}; {self.neighboring})"
        if self.delta:
            said += f"; {_sum('delta', self.deltas, self.delta)}"
        if self.caveats:
            said += f". That does not hold as stated: {'; '.join(self.caveats)}"
        return f"{said}."


def compose(left_out: Sequence[LeftOut]) -> Composition | None:
    """Return what the guarantees of models come to together; None where none claims any.

    Basic composition (Dwork and Roth, The Algorithmic Foundations of Differential Privacy, 2014, Theorem 3.16 and its
    adaptive form) holds whatever the models have in common.
    """
    claims = [(entry.name, entry.guarantee) for entry in left_out if entry.guarantee is not None]
    if not claims:
        return None
    relations = {claim.neighboring for _, claim in claims}
    same = len(relations) == 1
    costs = [(claim.epsilon, claim.delta) if same else claim.replacing for _, claim in claims]
    return Composition(
        models=tuple(name for name, _ in claims),
        epsilons=tuple(epsilon for epsilon, _ in costs),
        deltas=tuple(delta for _, delta in costs),
        neighboring=relations.pop() if same else "replace-one",
        caveats=tuple(f"{name}: {caveat}" for name, claim in claims for caveat in claim.caveats),
    )


def _sum(what: str, terms: Sequence[float], total: float) -> str:
    if len(terms) == 1:
        return f"{what}: {total:g}"
    return f"{what}s add: {' + '.join(f'{term:g}' for term in terms)} = {total:g}"
