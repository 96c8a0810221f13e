"""What makes a fit that is too large small enough: which columns cost most, and the depth or length that fits."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from glassine.errors import GlassineError

if TYPE_CHECKING:
    from glassine.domain import Domain

__all__ = ["smaller"]

NAMED = 3
"""Most columns that are named as those that cost most."""

MOST_EXCLUDED = 12
"""Most columns that a command line leaves out before it says nothing of leaving out."""

SIZES = ("max_depth", "max_rules")


def smaller(learner: Any, public: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the columns that cost most, and what fits; empty if neither memory nor time is the reason.

    All of it follows from the domain and the options, which are public.

    Parameters
    ----------
    learner : type
        The estimator of a fit that was refused.
    public : mapping of str to object
        Its parameters that are public: the domain of the attributes, and of a classifier the classes.
    options : mapping of str to object
        Its parameters.
    """
    domain: Domain = public["domain"]
    defaults = {name: one.default for name, one in inspect.signature(learner).parameters.items()}
    given = {name: value for name, value in options.items() if name not in ("ledger", "dataset", "random_state")}
    memory, time = (float(given.get(name, defaults[name])) for name in ("memory_limit", "time_limit"))

    def cost(names: list[str], **changes: Any) -> tuple[float, float]:
        made = learner(**{**public, "domain": domain.restrict(names), **given, **changes})
        try:
            return made.seconds_needed(), made.memory_needed()
        except GlassineError:
            return float("inf"), float("inf")

    def fits(names: list[str], **changes: Any) -> bool:
        seconds, size = cost(names, **changes)
        return bool(seconds <= time and size <= memory)

    names = list(domain)
    if len(names) < 2 or fits(names):
        return ""
    # The column without which least is left costs most; those that cost alike stay in their order.
    ranked = sorted(names, key=lambda name: cost([other for other in names if other != name]))
    said = [f"The columns that cost most: {', '.join(map(repr, ranked[:NAMED]))}."]
    ways = []
    size = next(name for name in SIZES if name in defaults)
    largest = given.get(size, defaults[size])
    if (least := next((n for n in range(int(largest) - 1, 0, -1) if fits(names, **{size: n})), None)) is not None:
        ways.append(f"--{size.replace('_', '-')} {least}")
    for number in range(1, min(len(names) - 1, MOST_EXCLUDED) + 1):
        if fits([name for name in names if name not in ranked[:number]]):
            ways.append(shlex.join(f"--exclude={name}" for name in ranked[:number]))
            break
    return " ".join([*said, f"It fits with {', or with '.join(ways)}." if ways else ""]).rstrip()
