"""What a release of few bits allows any attack on average: the bounds of a declared class, with their words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Literal, TypeAlias

from glassine.capacity.classes import COUNTS, DeclaredClass, Published, check_declared
from glassine.capacity.exact_counts import counts_given_frame
from glassine.capacity.exposure import certain_persons
from glassine.capacity.frontiers import check_share, design_advantage, fresh_advantage
from glassine.capacity.success import design_success, fresh_success
from glassine.capacity.without_replacement import check_delta, check_draw, conditional_bits, design_bits
from glassine.errors import InvalidParameterError, check_whole, parameter
from glassine.exports import Displayed

Game: TypeAlias = Literal["fresh", "design"]
"""``fresh``: a training record against a fresh one of the same law. ``design``: who of a known frame was drawn."""

FALSE_POSITIVES = 0.01
"""False positive rate at which the true positive rate is stated."""

ASSUMED = (
    "the people are a documented random draw, with one sampling rate for everyone; the unit is the person",
    "the model is the one fitted on that draw, not a refit on everyone",
    "the class of models was fixed before the draw, and so were the classes of the outcome",
    "everything that is released is counted, tuning included",
)
"""What every statement takes for granted."""

INDEPENDENT = "the records are independent draws of one law"
SYMMETRIC = "the order of the records does not matter to the learning algorithm; each person has one record"

NOT_COVERED = (
    "It is an average: it clears no single person, and says nothing of an attacker who also knows whether some others "
    "were drawn: the other people of one leaf are enough."
)


def rounded_up(value: float, digits: int = 3) -> float:
    """Return a bound to so many significant digits, rounded up.

    Examples
    --------
    >>> rounded_up(0.033601), rounded_up(0.5), rounded_up(0.0)
    (0.0337, 0.5, 0.0)
    """
    if not value > 0 or not math.isfinite(value):
        return value
    exact = Decimal(value)
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=ROUND_CEILING))


def tenths_up(bits: float) -> float:
    """Return bits in tenths, rounded up.

    Examples
    --------
    >>> tenths_up(43.92), tenths_up(0.3)
    (44.0, 0.3)
    """
    if not bits < 2**50:  # Nothing stands behind the point
        return bits
    # The decimal as it is written, so that 0.3 stays.
    return float(Decimal(repr(bits)).quantize(Decimal("0.1"), rounding=ROUND_CEILING))


@dataclass(frozen=True, slots=True, kw_only=True)
class GameBound(Displayed):
    """The bounds of one game, given the published model, except with probability delta over the draw.

    Attributes
    ----------
    game : {"fresh", "design"}
        Which game.
    bits : float
        Bits about all persons together, rounded up to tenths.
    mean_advantage : float
        Largest true less false positive rate of any attack, averaged over the people, in [0, 1], rounded up.
    true_positive_rate : float
        Largest true positive rate at a false positive rate of 1 %, in [0, 1], rounded up.
    certain : int or None
        Most people of the frame whose membership can be inferred for certain; None in the fresh game.
    nearly_certain : int or None
        Most people of whom it can be inferred with probability 0.9; None in the fresh game, and where the sampling rate
        alone gives it.
    """

    game: Game
    bits: float
    mean_advantage: float
    true_positive_rate: float
    certain: int | None = None
    nearly_certain: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageCase(Displayed):
    """What no attack exceeds on average, from nothing but the number of models that could have been published.

    Guarantee
    ---------
    The bounds of each game, for all attacks at once, given the published model, except with probability ``delta`` over
    the draw, if ``assumptions`` hold. This is no differential privacy, and no bound for a single person. See
    ``statement.md``.

    Attributes
    ----------
    declared : str
        The class, in words.
    published : str
        What is published beside the conditions, in words.
    n : int
        People in the data.
    population : int or None
        People of the frame from which they were drawn.
    delta : float
        Share of draws for which the bounds may fail.
    structure_bits, figures_bits : float
        Bits of the choice of structures, and of counts charged in full, of all models together, rounded up to tenths.
    games : tuple of GameBound
        The fresh game and, with a population, the design game.
    assumptions : tuple of str
        What the bounds take for granted.
    unlisted : bool
        Whether the publisher states that no list exists of the people from whom the data were drawn, so that the fresh
        game is the one to answer for.
    """

    declared: str
    published: str
    n: int
    population: int | None
    delta: float
    structure_bits: float
    figures_bits: float
    games: tuple[GameBound, ...]
    assumptions: tuple[str, ...]
    unlisted: bool = False

    @property
    def of_design(self) -> GameBound | None:
        """The bounds of the design game, if a population was stated."""
        return next((one for one in self.games if one.game == "design"), None)

    @property
    def strictest(self) -> GameBound:
        """The game that a publisher answers for: the design where there is one, else the fresh game."""
        return self.of_design or self.games[0]

    @property
    def against_everyone(self) -> bool:
        """Whether the bounds are against attackers who know everyone that may have been drawn, as far as anyone can.

        The fresh game alone is of attackers who know the law of the records. One who has the list of candidates is
        bounded by the design game.
        """
        return self.unlisted or self.of_design is not None

    @property
    def sentence(self) -> str:
        """The bounds in plain words.

        Examples
        --------
        >>> from glassine.capacity import LABELS, average_case, tree_class
        >>> print(average_case(tree_class(24, 3, 2), 24_421, 48_842, published=LABELS).sentence[:93])
        Except for one draw in 20, an attacker who knows all 48,842 people of the list and this model
        """
        draws = f"Except for one draw in {_one_in(self.delta)}, "
        design, fresh = self.of_design, self.games[0]
        if design is None or self.population is None:
            said = (
                f"{draws}no attack separates the {self.n:,} training records from fresh ones with a mean advantage "
                f"above {fresh.mean_advantage:g}, on average over the people and over the datasets that could have "
                "given this model."
            )
            return f"{said} {NOT_COVERED}"
        if 2 * self.n == self.population:
            right = rounded_up(50 * (1 + design.mean_advantage))
            bound = f"is right about who was in the half at most {right:g} times in 100, where a coin is right 50 times"
        else:
            bound = f"finds out who was drawn with a mean advantage of at most {design.mean_advantage:g}"
        said = (
            f"{draws}an attacker who knows all {self.population:,} people of the list and this model {bound}, on "
            "average over the people and over the draws that could have given this model. For certain, at most "
            f"{design.certain:,} can be identified."
        )
        return f"{said} {NOT_COVERED}"


def average_case(
    declared: DeclaredClass,
    n: int,
    population: int | None = None,
    *,
    published: Published = COUNTS,
    delta: float = 0.05,
    cells: tuple[Sequence[int], Sequence[int]] | None = None,
) -> AverageCase:
    """Return what no attack exceeds on average, for a class that was declared before the draw.

    Guarantee
    ---------
    As of :class:`AverageCase`; see ``statement.md``.

    Parameters
    ----------
    declared : DeclaredClass
        The class; see :func:`tree_class` and :func:`rule_list_class`.
    n : int
        People in the data, one record each.
    population : int, optional
        People of the frame from which they were drawn without replacement. If it is the same list for everyone who
        attacks, this is the game to publish.
    published : Published, default=Published()
        What is published: exact counts by default.
    delta : float, default=0.05
        Share of draws for which the bounds may fail, in (0, 1).
    cells : (sequence of int, sequence of int), optional
        The published counts, and those of the frame in the same leaves and classes. With them, and half of an even
        frame drawn, exact counts cost less. The smaller one of this bound and of that without them is taken, each with
        half of ``delta``.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of its range.

    Examples
    --------
    >>> from glassine.capacity import LABELS, tree_class
    >>> found = average_case(tree_class(24, 3, 2), 24_421, 48_842, published=LABELS)
    >>> found.of_design.mean_advantage, found.of_design.certain
    (0.0355, 44)
    """
    check_declared(declared)
    n, delta = check_whole(n, "n", 1, 10**12), check_delta(delta)
    figures = declared.figures_bits(published, n) * published.models
    structure = declared.structure(published) * published.models
    conditional = conditional_bits(declared.bits(published, n, refunded=True), delta)
    games = [
        GameBound(
            game="fresh",
            bits=tenths_up(conditional),
            mean_advantage=rounded_up(fresh_advantage(conditional / n)),
            true_positive_rate=rounded_up(fresh_success(FALSE_POSITIVES, conditional / n)),
        )
    ]
    if population is not None:
        size, n = check_draw(population, n)
        # Which of two bounds is smaller is seen afterwards: each may fail for half of the draws that may fail.
        each = delta if cells is None else delta / 2
        bits = design_bits(conditional_bits(structure + figures, each), size, n)
        if cells is not None:
            bits = min(bits, _refunded(declared, published, each, cells, (n, size)))
        rate = n / size
        games.append(
            GameBound(
                game="design",
                bits=tenths_up(bits),
                mean_advantage=rounded_up(design_advantage(bits / size, rate)),
                true_positive_rate=rounded_up(design_success(FALSE_POSITIVES, bits / size, rate)),
                certain=min(size, certain_persons(bits, rate)),
                nearly_certain=min(size, certain_persons(bits, rate, 0.9)) if 0.1 < rate < 0.9 else None,
            )
        )
    refunded = declared.symmetric and published.figures == "counts"
    return AverageCase(
        declared=declared.text,
        published=published.text,
        n=n,
        population=population,
        delta=delta,
        structure_bits=tenths_up(structure),
        figures_bits=tenths_up(figures),
        games=tuple(games),
        assumptions=(*ASSUMED, f"in the fresh game, {INDEPENDENT}", *([SYMMETRIC] if refunded else [])),
    )


def people_needed(
    declared: DeclaredClass,
    mean_advantage: float,
    *,
    rate: float | None = None,
    published: Published = COUNTS,
    delta: float = 0.05,
) -> int:
    """Return how many people must be in the data so that the mean advantage is at most a limit.

    Parameters
    ----------
    declared : DeclaredClass
        The class.
    mean_advantage : float
        In (0, 1].
    rate : float, optional
        Share of a known list that is drawn, in (0, 1); without it the game is the fresh one.
    published, delta
        As for :func:`average_case`.

    Examples
    --------
    >>> from glassine.capacity import LABELS, tree_class
    >>> people_needed(tree_class(50, 3, 2), 0.05, published=LABELS)
    7150
    """
    limit = check_share(mean_advantage, "mean_advantage")

    def within(n: int) -> bool:
        population = None if rate is None else max(n + 1, math.floor(n / rate))
        return average_case(declared, n, population, published=published, delta=delta).strictest.mean_advantage <= limit

    low, high = 1, 2
    while not within(high):
        low, high = high, high * 2
        if high > 10**11:
            raise InvalidParameterError(
                f"no number of people up to 10^11 brings {parameter('mean_advantage')} to {limit:g}.",
                remedy="Declare a smaller class, or publish labels without counts.",
            )
    while high - low > max(1, high // 2000):  # To one in 2,000; the upper end is within the limit
        middle = (low + high) // 2
        low, high = (low, middle) if within(middle) else (middle, high)
    return high


def _refunded(
    declared: DeclaredClass,
    published: Published,
    delta: float,
    cells: tuple[Sequence[int], Sequence[int]],
    draw: tuple[int, int],
) -> float:
    """Return the bits about membership given one model with exact counts and those of the frame."""
    members, frame = cells
    if published.figures != "counts" or published.models != 1 or (sum(members), sum(frame)) != draw:
        raise InvalidParameterError(
            f"{parameter('cells')} must be the exact counts of one model on all n people, and those of the frame.",
            remedy="Leave it out: counts are then charged in full.",
        )
    return counts_given_frame(declared.structure(published), members, frame, delta)


def _one_in(delta: float) -> str:
    """Return one over a share of draws to three digits, rounded down: the share is never stated smaller than it is."""
    # The decimal of the share as it is written, so that 1e-5 is one in 100,000.
    times = Decimal(1) / Decimal(repr(delta))
    return f"{times.quantize(Decimal(1).scaleb(max(times.adjusted() - 2, -2)), rounding=ROUND_FLOOR).normalize():,f}"
