"""What every event of a release has in common, and the checks of its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from glassine.errors import InvalidMechanismError
from glassine.privacy.exact import rational

__all__ = ["Release", "check_name", "check_whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What every release has in common.

    Parameters
    ----------
    name : str
        What was released, in words.
    proof : str
        Where the proof stands that the mechanism keeps its guarantee, relative to the package.
    count : int, default=1
        How many times the same mechanism ran, each run free to depend on the results before it.
    share : float, optional
        Share of the budget that was meant for it, in [0, 1]; for the reader, not used in accounting.
    slack : float, default=0
        Epsilon that arithmetic may add to each run: probabilities are within ``exp(slack / 2)`` of the stated ones.

    Raises
    ------
    InvalidMechanismError
        If a parameter is out of its range.
    """

    name: str
    proof: str = ""
    count: int = 1
    share: float | None = None
    slack: float = 0.0

    POSITIVE: ClassVar[tuple[str, ...]] = ()
    """Parameters that must be positive."""
    NON_NEGATIVE: ClassVar[tuple[str, ...]] = ("slack",)
    """Parameters that must be at least 0."""

    def __post_init__(self) -> None:
        check_name(self.name)
        count: object = self.count
        if isinstance(count, bool) or not isinstance(count, int) or not count >= 1:
            raise InvalidMechanismError(f"count must be a whole number of at least 1, got {count!r} in {self.name!r}.")
        if self.share is not None:
            object.__setattr__(self, "share", float(rational(self.share, "share")))
            if not 0 <= float(self.share) <= 1:
                raise InvalidMechanismError(f"share must lie in [0, 1], got {self.share} in {self.name!r}.")
        for field in (*self.POSITIVE, *self.NON_NEGATIVE):
            number = _finite(getattr(self, field), field, self.name)
            if not (number > 0 if field in self.POSITIVE else number >= 0):
                rule = "positive" if field in self.POSITIVE else "at least 0"
                raise InvalidMechanismError(f"{field} must be {rule}, got {number} in the event {self.name!r}.")
            object.__setattr__(self, field, number)


def check_whole(value: object, field: str, least: int, name: str) -> None:
    """Raise InvalidMechanismError if a figure is not a whole number of at least so much."""
    if isinstance(value, bool) or not isinstance(value, int) or not value >= least:
        raise InvalidMechanismError(f"{field} must be a whole number of at least {least}, got {value!r} in {name!r}.")


def check_name(name: object) -> None:
    """Raise InvalidMechanismError if an event has no name."""
    if not isinstance(name, str) or not name:
        raise InvalidMechanismError(f"an event needs a name, got {name!r}. Say what was released.")


def _finite(value: object, field: str, name: str) -> float:
    try:
        return float(rational(value, field))
    except OverflowError:
        raise InvalidMechanismError(f"{field} must be below 1.8e308, got more in the event {name!r}.") from None
