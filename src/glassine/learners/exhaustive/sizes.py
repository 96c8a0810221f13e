"""How large a class of models may be: a depth for public quantities, and what makes a fit that is too large fit."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, log
from typing import Any, Protocol

from glassine.domain import Domain, Integer, Literal, Real
from glassine.errors import GlassineError, check_whole, parameter
from glassine.learners.budget import check_number
from glassine.sealed.model_class import SECONDS_PER_STEP, ModelClass

# How deep a private tree may be: a rule from public quantities alone.


DEEPEST = 7
"""A deeper tree has more leaves than a reader follows: 128 at depth 7."""

AFFORDABLE = 0.1
"""Largest share of the records that the choice among trees may cost in errors, by the worst-case bound.

Where it just holds, the loss measured on Adult is about a hundredth: the bound is pessimistic by a factor of ten."""


def suggested_depth(n_records: int, epsilon: float, n_literals: int, *, time_limit: float = 60.0) -> int:
    """Return a depth for a private tree.

    The loss of a drawn tree against the best of its class is about the logarithm of the number of trees over epsilon,
    in records: ``(2 ** depth - 1) * log(n_literals) / epsilon``. The depth is the largest, from 3 to 7, for which that
    bound is at most a tenth of the records, and whose sums take no longer than a limit. The bound is pessimistic:
    where it just holds, the loss measured on the Adult data is about a hundredth.

    Guarantee
    ---------
    none: nothing is read from data. ``n_records`` must be public, such as a round figure from a code book.

    Parameters
    ----------
    n_records : int
        A public guess of the number of records, at least 1.
    epsilon : float
        Budget of the fit.
    n_literals : int
        Number of public literals, at least 1.
    time_limit : float, default=60
        Most seconds of the estimate for one core and two classes.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of its range.

    Examples
    --------
    >>> [suggested_depth(26_000, epsilon, 25) for epsilon in (0.01, 0.1, 1.0)]
    [3, 6, 7]
    """
    n = check_whole(n_records, "n_records", 1, 10**15)
    p = check_whole(n_literals, "n_literals", 1, 10**6)
    budget = check_number(epsilon, "epsilon", low=0.0, low_open=True) * n * AFFORDABLE
    limit = check_number(time_limit, "time_limit", low=0.0, low_open=True)
    depth = 3
    while depth < DEEPEST and (2 ** (depth + 1) - 1) * log(p) <= budget and _seconds(p, depth + 1) <= limit:
        depth += 1
    return depth


def _seconds(p: int, depth: int) -> float:
    levels = min(depth, p)
    return 2 * SECONDS_PER_STEP * float(sum(comb(p, k) * 2**k * (p - k + 1) for k in range(levels)))


# What makes a fit that is too large small enough: fewer literals, the depth or length that fits, fewer columns.


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
        for changes, left_out in self.ways:
            parts = [f"with {' '.join(parameter(*one) for one in changes.items())}"] if changes else []
            said.append(" ".join([*parts, *([leave_out(left_out)] if left_out else [])]))
        fits = f" It fits {', or '.join(said)}." if said else ""
        return f"The columns that cost most: {', '.join(map(repr, self.costly))}.{fits}"


def smaller(learner: Learner, domain: Domain, n_classes: int) -> Smaller | None:
    """Return what makes a fit in a domain small enough; None if neither memory nor time is the reason."""
    costs: dict[tuple[tuple[str, ...], tuple[tuple[str, Any], ...]], tuple[float, float]] = {}

    def cost(names: list[str], **changes: Any) -> tuple[float, float]:
        # Columns are ranked and left out one after another: the same ones come several times.
        key = tuple(names), tuple(changes.items())
        if key not in costs:
            costs[key] = summed(names, changes)
        return costs[key]

    def summed(names: list[str], changes: Mapping[str, Any]) -> tuple[float, float]:
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
    dropped = left_out()
    ways: list[tuple[Mapping[str, object], tuple[str, ...]]] = [({size: least}, ())] if least else []
    # Listed literals and rules are the user's own: they are not replaced.
    if isinstance(learner.literals, str) and getattr(learner, "pool", "literals") == "literals":
        fewer: list[dict[str, object]] = [{"literals": "coarse"}]
        # Categories have no quantiles: without a number, fewer of them leave the class as it is.
        if any(isinstance(domain[name], Integer | Real) for name in names):
            fewer.append({"n_quantiles": max(1, learner.n_quantiles // 2)})
        for changes in fewer:
            if len(but := left_out(**changes)) < len(dropped):
                ways.append((changes, but))
    if len(dropped) < len(names):
        ways.append(({}, dropped))
    return Smaller(costly=tuple(ranked()[:NAMED]), ways=tuple(ways))


def _but(names: list[str], left_out: list[str]) -> list[str]:
    return [name for name in names if name not in left_out]
