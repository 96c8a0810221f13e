"""What makes a fit that is too large small enough: fewer literals, the depth or length that fits, fewer columns."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from glassine.domain import Domain, Literal
from glassine.errors import GlassineError, parameter
from glassine.learners.exhaustive.model_class import SECONDS_PER_STEP, ModelClass

NAMED = 3
"""Most columns that are named as those that cost most."""

MOST_EXCLUDED = 12
"""Most columns that are left out before leaving out is no proposal."""

SIZES = ("max_depth", "max_rules")


class Learner(Protocol):
    """A learner of one model of a class, with its limits."""

    literals: str | Sequence[Literal]
    n_quantiles: int
    memory_limit: float
    time_limit: float

    def _widest(self, domain: Domain, n_classes: int) -> ModelClass[Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Smaller:
    """What makes a fit small enough; all of it follows from the domain and the parameters, which are public."""

    costly: tuple[str, ...]  # The columns that cost most, the first most of all
    # Parameters to change and columns to leave out, each pair one way.
    ways: tuple[tuple[Mapping[str, object], tuple[str, ...]], ...]

    def text(self, leave_out: Callable[[tuple[str, ...]], str]) -> str:
        """Return it in words; ``leave_out`` says how columns are left out."""
        said = []
        for changes, without in self.ways:
            parts = [f"with {' '.join(parameter(*one) for one in changes.items())}"] if changes else []
            said.append(" ".join([*parts, *([leave_out(without)] if without else [])]))
        fits = f" It fits {', or '.join(said)}." if said else ""
        return f"The columns that cost most: {', '.join(map(repr, self.costly))}.{fits}"


def smaller(learner: Learner, domain: Domain, n_classes: int) -> Smaller | None:
    """Return what makes a fit in a domain small enough; None if neither memory nor time is the reason."""

    def cost(names: list[str], **changes: Any) -> tuple[float, float]:
        made = copy.copy(learner)
        for name, value in changes.items():
            setattr(made, name, value)
        try:
            members = made._widest(domain.restrict(names), n_classes)
        except GlassineError:
            return float("inf"), float("inf")
        return members.steps() * SECONDS_PER_STEP, members.table_bytes()

    def fits(names: list[str], **changes: Any) -> bool:
        seconds, size = cost(names, **changes)
        return bool(seconds <= learner.time_limit and size <= learner.memory_limit)

    names = list(domain)
    if len(names) < 2 or fits(names):
        return None

    def ranked(**changes: Any) -> list[str]:
        # The column without which least is left costs most; those that cost alike stay in their order.
        return sorted(names, key=lambda name: cost(_but(names, [name]), **changes))

    def left_out(**changes: Any) -> tuple[str, ...]:
        order, most = ranked(**changes), min(len(names) - 1, MOST_EXCLUDED)
        fitting = (n for n in range(most + 1) if fits(_but(names, order[:n]), **changes))
        return tuple(order[: next(fitting, len(names))])

    size = next(name for name in SIZES if hasattr(learner, name))
    sizes = range(int(getattr(learner, size)), 0, -1)
    least = next((n for n in sizes if fits(names, **{size: n})), 0)
    without = left_out()
    ways: list[tuple[Mapping[str, object], tuple[str, ...]]] = [({size: least}, ())] if least else []
    # Listed literals and rules are the user's own: they are not replaced.
    if isinstance(learner.literals, str) and getattr(learner, "pool", "literals") == "literals":
        fewer: tuple[dict[str, object], ...] = (
            {"literals": "coarse"},
            {"n_quantiles": max(1, learner.n_quantiles // 2)},
        )
        for changes in fewer:
            if len(but := left_out(**changes)) < len(without):
                ways.append((changes, but))
    if len(without) < len(names):
        ways.append(({}, without))
    return Smaller(costly=tuple(ranked()[:NAMED]), ways=tuple(ways))


def _but(names: list[str], without: list[str]) -> list[str]:
    return [name for name in names if name not in without]
