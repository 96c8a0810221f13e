"""The three parts of a statistical verification.

They draw outputs, distinguish them, and bound the privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from glassine.records.arrays import Array, Bools

__all__ = [
    "NO_CLAIM",
    "RUNS",
    "Claim",
    "Event",
    "OutputSource",
    "PrivacyBound",
    "Progress",
    "Refusal",
    "Relation",
    "Runs",
    "Score",
    "verdict",
]


Progress: TypeAlias = Callable[[int, int], None]
"""Called with the runs done and their total."""

Relation: TypeAlias = Literal["add-or-remove-one", "replace-one"]


@runtime_checkable
class OutputSource(Protocol):
    """Draws one output: a learner or a mechanism, ready to run on any dataset."""

    def draw(self, dataset: object, seed: int | None) -> Any:
        """Return one output for a dataset; ``seed`` makes it repeatable, None leaves it to the source."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The output of a learner that refused a dataset: everyone sees whether it does."""

    error: Exception  # What was raised

    @property
    def kind(self) -> str:
        """Name of the type of the error; its text may quote records and is not looked at."""
        return type(self.error).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A set of outputs, fixed before the runs that are counted; its occurrence is the guess "the second dataset".

    Attributes
    ----------
    name : str
        What occurs.
    occurs : callable
        From kept outputs, a sequence, to an array of bools of the same length.
    """

    name: str
    occurs: Callable[[Sequence[Any]], Bools]


class PrivacyBound(Protocol):
    """Turns upper limits on the two error rates of a test into a lower bound on a privacy parameter."""

    @property
    def parameter(self) -> str:
        """Name of the parameter."""
        ...

    @property
    def method(self) -> str:
        """How the bound follows from the error rates, in words."""
        ...

    def values(self, false_positive_rate: Array, false_negative_rate: Array) -> Array:
        """Return the least parameter with which a test of at most these error rates can exist, elementwise."""
        ...


@runtime_checkable
class Score(Protocol):
    """Distinguishes outputs of two datasets by events.

    It keeps what it needs of an output, and fixes events on training runs.
    """

    @property
    def train_share(self) -> float:
        """Share of the runs on which the events are chosen, in [0, 1); these runs are never counted."""
        ...

    def keep(self, output: object) -> Any:
        """Return what is kept of an output; called where the output was drawn."""
        ...

    def events(self, kept0: Sequence[Any], kept1: Sequence[Any], rate: Callable[..., Array]) -> tuple[Event, ...]:
        """Return the events to be counted on fresh runs.

        Parameters
        ----------
        kept0, kept1 : sequence
            What was kept of the training runs on the two datasets.
        rate : callable
            From arrays of false positives and false negatives among the training runs to how good such events are.
        """
        ...


def verdict(parameter: str, value: float, claim: float | None, confidence: float) -> str:
    """Word the result of a test: never that something is safe."""
    if claim is None:
        return f"{parameter} is at least {value:.4g} at confidence {confidence:g}; no claim was tested"
    if value > claim:
        return f"violated: {parameter} is at least {value:.4g} at confidence {confidence:g}, claimed {claim:.4g}"
    return f"not rejected at confidence {confidence:g} (this is no evidence of safety)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is claimed of a mechanism, and with which confidence it is to be refuted.

    Attributes
    ----------
    epsilon : float, optional
        The claimed epsilon, at ``delta``.
    delta : float, default=0.0
        In [0, 1); the bound on epsilon is at this delta even without a claim.
    mu : float, optional
        A claim of mu-GDP, instead of epsilon.
    bound : EpsilonBound, GaussianBound or another PrivacyBound, optional
        By default ``EpsilonBound``, or ``GaussianBound`` for a claim of mu. With ``GaussianBound`` a claim of epsilon
        and delta is taken for that of a Gaussian mechanism, an assumption that the result states.
    value : float, optional
        What is claimed of the parameter of another ``bound``.
    confidence : float, default=0.95
        In (0, 1).
    """

    epsilon: float | None = None
    delta: float = 0.0
    mu: float | None = None
    bound: PrivacyBound | None = None
    value: float | None = None
    confidence: float = 0.95


NO_CLAIM = Claim()


@dataclass(frozen=True, slots=True)
class Runs:
    """How a learner or mechanism is run.

    Attributes
    ----------
    number : int, optional
        Total runs; each function has its own default.
    seed : int or None, default=0
        Makes the runs repeatable. None draws from the operating system: then what is released is tested, not a seeded
        twin of it.
    workers : int, default=1
        Processes; -1 takes all cores.
    progress : callable, optional
        Called with the runs done and their total.
    """

    number: int | None = None
    seed: int | None = field(default=0, kw_only=True)
    workers: int = field(default=1, kw_only=True)
    progress: Progress | None = field(default=None, kw_only=True)


RUNS = Runs()
