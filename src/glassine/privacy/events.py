"""Events: what a release did, as plain values that an accountant can add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, get_args

from glassine.errors import InvalidMechanismError, UnknownEventError, parameter
from glassine.privacy.exact import rational
from glassine.privacy.fine_gaussian import FINE_SIGMA
from glassine.privacy.mechanisms import CAUCHY_SLACK

# What every event of a release has in common, and the checks of its figures.


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
    WHOLE: ClassVar[Mapping[str, int]] = {}
    """Parameters that must be whole numbers, and the least value of each."""

    def __post_init__(self) -> None:
        check_name(self.name)
        count: object = self.count
        if isinstance(count, bool) or not isinstance(count, int) or not count >= 1:
            raise InvalidMechanismError(
                f"{parameter('count')} must be a whole number of at least 1, got {count!r} in {self.name!r}."
            )
        if self.share is not None:
            object.__setattr__(self, "share", float(rational(self.share, "share")))
            if not 0 <= float(self.share) <= 1:
                raise InvalidMechanismError(
                    f"{parameter('share')} must lie in [0, 1], got {self.share} in {self.name!r}."
                )
        for field in (*self.POSITIVE, *self.NON_NEGATIVE):
            number = _finite(getattr(self, field), field, self.name)
            if not (number > 0 if field in self.POSITIVE else number >= 0):
                rule = "positive" if field in self.POSITIVE else "at least 0"
                raise InvalidMechanismError(f"{field} must be {rule}, got {number} in the event {self.name!r}.")
            object.__setattr__(self, field, number)
        for field, least in self.WHOLE.items():
            check_whole(getattr(self, field), field, least, self.name)


def check_whole(value: object, field: str, least: int, name: str) -> None:
    """Raise InvalidMechanismError if a figure is not a whole number of at least so much."""
    if isinstance(value, bool) or not isinstance(value, int) or not value >= least:
        raise InvalidMechanismError(f"{field} must be a whole number of at least {least}, got {value!r} in {name!r}.")


def check_name(name: object) -> None:
    """Raise InvalidMechanismError if an event has no name."""
    if not isinstance(name, str) or not name:
        raise InvalidMechanismError(f"an event needs a name, got {name!r}.", remedy="Say what was released.")


def _finite(value: object, field: str, name: str) -> float:
    try:
        return float(rational(value, field))
    except OverflowError:
        raise InvalidMechanismError(f"{field} must be below 1.8e308, got more in the event {name!r}.") from None


UNPROVED = "none: as published"
"""What stands for the proof of a claim that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice(Release):
    """The figures of a choice among scores."""

    inverse_temperature: float
    sensitivity: float
    monotone: bool = False
    proof: str = "privacy/noisy_choice.md"

    POSITIVE: ClassVar[tuple[str, ...]] = ("inverse_temperature",)
    NON_NEGATIVE: ClassVar[tuple[str, ...]] = ("sensitivity", "slack")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Laplace(Release):
    """The figures of Laplace noise."""

    l1_sensitivity: float
    scale: float
    proof: str = "privacy/mechanisms.md"

    POSITIVE: ClassVar[tuple[str, ...]] = ("scale",)
    NON_NEGATIVE: ClassVar[tuple[str, ...]] = ("l1_sensitivity", "slack")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gaussian(Release):
    """The figures of Gaussian noise."""

    l2_sensitivity: float
    sigma: float
    proof: str = "privacy/mechanisms.md"

    POSITIVE: ClassVar[tuple[str, ...]] = ("sigma",)
    NON_NEGATIVE: ClassVar[tuple[str, ...]] = ("l2_sensitivity", "slack")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(_Choice):
    """A draw with probability proportional to ``exp(inverse_temperature * score)``: the exponential mechanism.

    Guarantee
    ---------
    epsilon is ``inverse_temperature * sensitivity``, twice that unless ``monotone``; the log-ratio of
    output probabilities ranges over an interval of that length. See ``privacy/noisy_choice.md``.

    Parameters
    ----------
    inverse_temperature : float
        Positive factor of the score.
    sensitivity : float
        Most that one record changes a score.
    monotone : bool, default=False
        Whether one record moves all scores in one direction.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMax(_Choice):
    """A selection by permute-and-flip or report-noisy-max; parameters and epsilon are those of :class:`Selection`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise(_Laplace):
    """Numbers with Laplace noise: epsilon is ``l1_sensitivity / scale``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceNoise(_Laplace):
    """Integers with discrete Laplace noise: epsilon is ``l1_sensitivity / scale``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoise(_Gaussian):
    """Numbers with Gaussian noise: mu is ``l2_sensitivity / sigma``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianNoise(_Gaussian):
    """Integers with discrete Gaussian noise: rho is ``l2_sensitivity**2 / (2 * sigma**2)``.

    Parameters
    ----------
    values : int, default=0
        How many integers each run noised, where it is known and sigma is at least 1024. The release then also counts as
        Gaussian of mu ``l2_sensitivity / sigma``, up to a slack for each value: see ``privacy/fine_gaussian.md``.
    units : int, default=1
        How many of the integers' steps make one of what is released, such as one record: ``sigma / units`` is the
        standard deviation that a reader sees. For the reader, not used in accounting.
    """

    values: int = 0
    units: int = 1

    WHOLE: ClassVar[Mapping[str, int]] = {"units": 1}

    def __post_init__(self) -> None:
        Release.__post_init__(self)
        values: object = self.values
        if isinstance(values, bool) or not isinstance(values, int) or not values >= 0:
            raise InvalidMechanismError(f"{parameter('values')} must be a whole number of at least 0, got {values!r}.")
        if values and not self.sigma >= FINE_SIGMA:
            raise InvalidMechanismError(
                f"values must be 0 unless sigma is at least {FINE_SIGMA}, got {self.sigma}.",
                remedy="Use a finer unit, or 0.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CauchyNoise(Release):
    """One number with Cauchy noise of public scale: epsilon is ``2 asinh(sensitivity / (2 * scale))``."""

    sensitivity: float
    scale: float
    proof: str = "privacy/mechanisms.md"
    slack: float = CAUCHY_SLACK

    POSITIVE: ClassVar[tuple[str, ...]] = ("scale",)
    NON_NEGATIVE: ClassVar[tuple[str, ...]] = ("sensitivity", "slack")


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothCauchyNoise(Release):
    """One number with Cauchy noise whose scale is ``ratio`` times a smooth upper bound of the local sensitivity.

    Guarantee
    ---------
    epsilon is ``2 asinh(1 / (2 * ratio)) + smoothness``. See ``privacy/mechanisms.md``.

    Parameters
    ----------
    smoothness : float
        Beta: neighbors' bounds differ by a factor of at most ``exp(beta)``.
    ratio : float
        Scale of the noise over the bound.
    """

    smoothness: float
    ratio: float
    proof: str = "privacy/mechanisms.md"
    slack: float = CAUCHY_SLACK

    POSITIVE: ClassVar[tuple[str, ...]] = ("ratio",)
    NON_NEGATIVE: ClassVar[tuple[str, ...]] = ("smoothness", "slack")


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothCauchyMax(Release):
    """The best of several scores under Cauchy noise whose scale is ``ratio`` times a smooth upper bound.

    Guarantee
    ---------
    epsilon is ``2 asinh(1 / ratio) + candidates * smoothness``, times ``records``: the bound dilates the noise of all
    candidates. See ``privacy/noisy_choice.md``.

    Parameters
    ----------
    candidates : int
        Number of scores.
    smoothness : float
        Beta: neighbors' bounds differ by a factor of at most ``exp(beta)``.
    ratio : float
        Scale of the noise over the bound.
    records : int, default=1
        The most records by which neighbors differ, at least 1.
    """

    candidates: int
    smoothness: float
    ratio: float
    records: int = 1
    proof: str = "privacy/noisy_choice.md"

    POSITIVE: ClassVar[tuple[str, ...]] = ("ratio",)
    NON_NEGATIVE: ClassVar[tuple[str, ...]] = ("smoothness", "slack")
    WHOLE: ClassVar[Mapping[str, int]] = {"candidates": 1, "records": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianMax(Release):
    """The best of several scores under Gaussian noise, accounted at one epsilon.

    Guarantee
    ---------
    (epsilon, ``candidates`` times the delta at which a Gaussian shifted by ``spread`` is epsilon-close). See
    ``privacy/noisy_choice.md``.

    Parameters
    ----------
    epsilon : float
        The epsilon at which it is accounted.
    candidates : int
        Number of scores.
    spread : float
        Length of an interval that holds the changes of all scores by one record.
    sigma : float
        Standard deviation of the noise.
    """

    epsilon: float
    candidates: int
    spread: float
    sigma: float
    proof: str = "privacy/noisy_choice.md"

    POSITIVE: ClassVar[tuple[str, ...]] = ("sigma",)
    NON_NEGATIVE: ClassVar[tuple[str, ...]] = ("epsilon", "spread", "slack")
    WHOLE: ClassVar[Mapping[str, int]] = {"candidates": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedSelection(Release):
    """The best of a random number of runs, of which nothing else is released.

    Guarantee
    ---------
    ``((2 + shape) * epsilon, mean * delta)``, ``mean`` being that of the number of runs. See
    ``privacy/private_selection.md``.

    Parameters
    ----------
    candidates : int
        From how many mechanisms each run draws one.
    epsilon, delta : float
        What every one of them costs, in one run.
    shape : float
        Eta of the truncated negative binomial distribution of the number of runs, in (-1, 1].
    stop : float
        Its gamma, in (0, 1): the smaller, the more runs.
    """

    candidates: int
    epsilon: float
    delta: float = 0.0
    shape: float = 1.0
    stop: float
    proof: str = "privacy/private_selection.md"

    POSITIVE: ClassVar[tuple[str, ...]] = ("stop",)
    NON_NEGATIVE: ClassVar[tuple[str, ...]] = ("epsilon", "delta", "slack")
    WHOLE: ClassVar[Mapping[str, int]] = {"candidates": 1}

    def __post_init__(self) -> None:
        Release.__post_init__(self)
        shape = _finite(self.shape, "shape", self.name)
        object.__setattr__(self, "shape", shape)
        for field, within in (("shape", -1 < shape <= 1), ("stop", self.stop < 1), ("delta", self.delta <= 1)):
            if not within:
                raise InvalidMechanismError(
                    f"{field} is out of its range in the event {self.name!r}.",
                    remedy="Correct it; its docstring has the range.",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class CountBound(Release):
    """A number that is taken to lie below a count: a noisy count less a threshold, which noise can exceed.

    Guarantee
    ---------
    epsilon is 0, the noisy counts being events of their own; delta bounds the probability that the noise reaches the
    threshold. See ``privacy/conversions.md``.

    Parameters
    ----------
    scale : float
        Scale of the discrete Laplace noise of one count.
    other_scale : float
        Scale of the noise of further counts that are subtracted from it.
    others : int
        How many these are, at least 0.
    threshold : int
        What is subtracted from the noisy count, at least 1.
    """

    scale: float
    other_scale: float
    others: int
    threshold: int
    proof: str = "privacy/conversions.md"

    POSITIVE: ClassVar[tuple[str, ...]] = ("scale", "other_scale")
    WHOLE: ClassVar[Mapping[str, int]] = {"others": 0, "threshold": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated(Release):
    """A mechanism of which only (epsilon, delta) is known, by the proof that is named.

    Where the proof is :data:`UNPROVED`, the figures are an unproved claim, and no certificate with the event holds.
    """

    epsilon: float
    delta: float = 0.0

    NON_NEGATIVE: ClassVar[tuple[str, ...]] = ("epsilon", "delta", "slack")

    def __post_init__(self) -> None:
        Release.__post_init__(self)
        if not self.delta <= 1:
            raise InvalidMechanismError(
                f"{parameter('delta')} must lie in [0, 1], got {self.delta} in the event {self.name!r}."
            )
        if not self.proof:
            raise InvalidMechanismError(
                f"a stated guarantee needs a proof, got none for {self.name!r}.", remedy="Name a note."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """Events over disjoint parts of the data: one record is seen by the events of one branch only.

    Guarantee
    ---------
    That of the most costly branch, in each measure, under add-or-remove-one. See ``privacy/accounting.md``.

    Assumptions
    -----------
    Which part a record belongs to depends on the record and on earlier releases alone.

    Parameters
    ----------
    name : str
        What was released, in words.
    branches : tuple of tuple of Event
        The events of each part.
    proof : str
        Where the proof stands that the parts are disjoint.
    """

    name: str
    branches: tuple[tuple[Event, ...], ...]
    proof: str = "privacy/accounting.md"

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "branches", tuple(tuple(branch) for branch in self.branches))


Event: TypeAlias = (
    Selection
    | NoisyMax
    | LaplaceNoise
    | DiscreteLaplaceNoise
    | GaussianNoise
    | DiscreteGaussianNoise
    | CauchyNoise
    | SmoothCauchyNoise
    | SmoothCauchyMax
    | GaussianMax
    | RepeatedSelection
    | CountBound
    | Stated
    | Parallel
)

KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


def refuse(event: object) -> UnknownEventError:
    """Return the error for an event of unknown kind."""
    named = f" named {getattr(event, 'name', None)!r}" if getattr(event, "name", None) else ""
    return UnknownEventError(
        f"an event must be one of {', '.join(KINDS)}, got {type(event).__name__}{named}.",
        remedy="Use Stated with its epsilon, delta and proof.",
        event=event,
    )
