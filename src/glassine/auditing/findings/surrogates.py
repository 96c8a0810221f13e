"""What the audit of a release of surrogate trees found, as plain values; small counts suppressed."""

from __future__ import annotations

from dataclasses import dataclass, field

from glassine.attacks.outcome import ShownCount, for_checker


@dataclass(frozen=True, slots=True, kw_only=True)
class RepresentativesFinding:
    """What representatives reveal; None where it needs the training records.

    Attributes
    ----------
    n_numbers : int
        Numbers among their values.
    digits : int
        Most significant digits of such a number.
    n_exact : int
        Numbers of more than six significant digits, as an exact mean has.
    n_copies : ShownCount or None
        Representatives that are a record of their own group, value by value.
    n_uniform : ShownCount or None
        Values of a representative that every person of its group has.
    matched, matched_near : float or None
        Share of the people whose own group has the closest representative, and one of the closest that are tried.
    n_near : int
        How many that are.
    closeness : float or None
        Mean distance of a person to the own representative, over that to any other: 1 reveals nothing.
    """

    n_numbers: int
    digits: int
    n_exact: int
    n_copies: ShownCount | None
    n_uniform: ShownCount | None
    matched: float | None
    matched_near: float | None
    n_near: int
    closeness: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsFinding:
    """How many people stand behind a representative.

    Attributes
    ----------
    number : ShownCount
        People behind the release.
    smallest, largest : ShownCount
        Of the groups with records.
    n_empty : int
        Groups without people.
    fewest_distinct : ShownCount or None
        Fewest different records of a group: copies of one record may be one person.
    origin : str
        Whether sizes are ``published`` by the release or ``counted`` in the data.
    """

    number: ShownCount
    smallest: ShownCount
    largest: ShownCount
    n_empty: int
    fewest_distinct: ShownCount | None
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiversityFinding:
    """How far the people of a group differ in one attribute, or in their labels; each figure of the worst group.

    Attributes
    ----------
    attribute : str
        The attribute, or ``labels of the trees``, ``true labels``, ``black box's decisions``.
    n_classes : int
        Its values; numbers of more than ten values are cut at their quartiles.
    distinct_l : int
        Values that occur: distinct l-diversity.
    entropy_l : float
        exp of the entropy: entropy l-diversity.
    alpha : float
        Largest share of a value.
    t : float
        Distance of the distribution from that of all people: t-closeness.
    n_one_class : int
        Groups whose people all have one value.
    share_one_class : float
        Share of the people in such groups.
    """

    attribute: str
    n_classes: int
    distinct_l: int
    entropy_l: float
    alpha: float
    t: float
    n_one_class: int
    share_one_class: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavesFinding:
    """How many people stand behind a leaf.

    Attributes
    ----------
    n_held : int
        Leaves with records.
    smallest : ShownCount
        People of the smallest of them.
    n_small : int or None
        Those with fewer than the policy asks for; None if it asks for nothing.
    n_alone : ShownCount
        People who are alone in a leaf.
    share_alone : float
        Their share.
    rows_alone : tuple of int
        Some of them, by row number from 0; none where their number is hidden.
    purest : float or None
        Largest share of one label in a leaf; None where labels are not known.
    share_certain : float or None
        Share of the people in leaves of one label.
    origin : str
        Whether sizes are ``published`` by the release or ``counted`` in the data.
    """

    n_held: int
    smallest: ShownCount
    n_small: int | None
    n_alone: ShownCount
    share_alone: float
    rows_alone: tuple[int, ...] = field(metadata=for_checker(public=()))
    purest: float | None
    share_certain: float | None
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdsFinding:
    """What the thresholds of all trees reveal.

    Attributes
    ----------
    n_thresholds : int
        Distinct thresholds of each tree, over all trees.
    n_off_grid : int
        Those that are not public cut points.
    n_midpoints : int or None
        Those that are half way between two values of the group, bit for bit; None without the training records.
    """

    n_thresholds: int
    n_off_grid: int
    n_midpoints: int | None = field(metadata=for_checker())


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherFinding:
    """How far a reader of all group trees can rebuild the records, each person's group being known.

    Attributes
    ----------
    bits_mean, bits_largest : float
        Bits learned about the attributes of a person, on average and in the most exposed leaf.
    dist_g : float or None
        Share of the joint entropy that is left; None where an attribute is a continuum.
    undefined : str
        Why there is no Dist_G; empty if there is.
    """

    bits_mean: float
    bits_largest: float
    dist_g: float | None
    undefined: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessFinding:
    """How often a reader guesses a label, or a sensitive value, who knows a person's other attributes.

    Attributes
    ----------
    attribute : str
        What is guessed.
    base_rate : float
        Share of the most frequent value: the guess without the release.
    closest : float
        By the closest representative.
    group_known : float
        By the person's own group.
    others : float or None
        By the closest representative, of people who are not behind the release: what it reveals about everyone; None
        without a holdout.
    """

    attribute: str
    base_rate: float
    closest: float
    group_known: float
    others: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationsFinding:
    """What explanations of some records say, beside the goal that the publisher stated.

    Attributes
    ----------
    conditions, goal_conditions : float
        Share of explanations that have a condition, and the goal for it.
    confirmed, goal_confirmed : float or None
        Share of the changes that the release proposes which the black box confirms, and the goal; None where none is
        proposed.
    n_records : int
        Records, or drawn queries, that were explained.
    measured_on : str
        ``records`` or ``public queries``.
    reached : bool
        Whether both goals are reached.
    """

    conditions: float
    goal_conditions: float
    confirmed: float | None
    goal_confirmed: float
    n_records: int
    measured_on: str
    reached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GapFinding:
    """The gap attack against the whole release.

    Attributes
    ----------
    labels : str
        By which labels a tree is right: ``true labels`` or ``black box's decisions``.
    advantage, low, high : float or None
        Share of the people behind the release of whom the closest tree is right, less that of others, with its
        interval; None where it was not made.
    reason : str
        Why not; empty if it was.
    """

    labels: str
    advantage: float | None
    low: float | None
    high: float | None
    reason: str = ""
