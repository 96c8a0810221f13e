"""What the audit of a release of surrogate trees found, as plain values; small counts suppressed."""

from __future__ import annotations

from dataclasses import dataclass, field

from glassine.attacks.outcome import ShownCount, for_checker
from glassine.models.quality import Quality


@dataclass(frozen=True, slots=True, kw_only=True)
class RepresentativesFinding:
    """What representatives reveal; None where it needs the training records."""

    n_numbers: int  # Numbers among their values
    digits: int  # Most significant digits of such a number
    n_exact: int  # Numbers of more than six significant digits, as an exact mean has
    n_copies: ShownCount | None  # Representatives that are a record of their own group, value by value
    n_uniform: ShownCount | None  # Values of a representative that every person of its group has
    # matched, matched_near: share of the people whose own group has the closest representative, and one of the closest
    # that are tried.
    matched: float | None
    matched_near: float | None
    n_near: int  # How many that are
    # Mean distance of a person to the own representative, over that to any other: 1 reveals nothing.
    closeness: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsFinding:
    """How many people stand behind a representative."""

    number: ShownCount  # People behind the release
    # smallest, largest: of the groups with records.
    smallest: ShownCount
    largest: ShownCount
    n_empty: int  # Groups without people
    fewest_distinct: ShownCount | None  # Fewest different records of a group: copies of one record may be one person
    origin: str  # Whether sizes are ``published`` by the release or ``counted`` in the data


@dataclass(frozen=True, slots=True, kw_only=True)
class DiversityFinding:
    """How far the people of a group differ in one attribute, or in their labels; each figure of the worst group."""

    attribute: str  # The attribute, or ``labels of the trees``, ``true labels``, ``black box's decisions``
    n_classes: int  # Its values; numbers of more than ten values are cut at their quartiles
    distinct_l: int  # Values that occur: distinct l-diversity
    entropy_l: float  # exp of the entropy: entropy l-diversity
    alpha: float  # Largest share of a value
    t: float  # Distance of the distribution from that of all people: t-closeness
    n_one_class: int  # Groups whose people all have one value
    share_one_class: float  # Share of the people in such groups


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavesFinding:
    """How many people stand behind a leaf."""

    n_held: int  # Leaves with records
    smallest: ShownCount  # People of the smallest of them
    n_small: int | None  # Those with fewer than the policy asks for; None if it asks for nothing
    n_alone: ShownCount  # People who are alone in a leaf
    share_alone: float  # Their share
    # Some of them, by row number from 0; none where their number is hidden.
    rows_alone: tuple[int, ...] = field(metadata=for_checker(public=()))
    purest: float | None  # Largest share of one label in a leaf; None where labels are not known
    share_certain: float | None  # Share of the people in leaves of one label
    origin: str  # Whether sizes are ``published`` by the release or ``counted`` in the data


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdsFinding:
    """What the thresholds of all trees reveal."""

    n_thresholds: int  # Distinct thresholds of each tree, over all trees
    n_off_grid: int  # Those that are not public cut points
    # Those that are half way between two values of the group, bit for bit; None without the training records.
    n_midpoints: int | None = field(metadata=for_checker())


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherFinding:
    """How far a reader of all group trees can rebuild the records, each person's group being known."""

    # bits_mean, bits_largest: bits learned about the attributes of a person, on average and in the most exposed leaf.
    bits_mean: float
    bits_largest: float
    dist_g: float | None  # Share of the joint entropy that is left; None where an attribute is a continuum
    undefined: str  # Why there is no Dist_G; empty if there is


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessFinding:
    """How often a reader guesses a label, or a sensitive value, who knows a person's other attributes."""

    attribute: str  # What is guessed
    base_rate: float  # Share of the most frequent value: the guess without the release
    closest: float  # By the closest representative
    group_known: float  # By the person's own group
    # By the closest representative, of people who are not behind the release: what it reveals about everyone; None
    # without a holdout.
    others: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GapFinding:
    """The gap attack against the whole release."""

    labels: str  # By which labels a tree is right: ``true labels`` or ``black box's decisions``
    # advantage, low, high: share of the people behind the release of whom the closest tree is right, less that of
    # others, with its interval; None where it was not made.
    advantage: float | None
    low: float | None
    high: float | None
    reason: str = ""  # Why not; empty if it was


@dataclass(frozen=True, slots=True, kw_only=True)
class FormFinding:
    """One form of a release on the same groups, for a comparison; None where it was not measured."""

    # form, labels: the form, and what its trees were trained on.
    form: str
    labels: str
    # fidelity, fidelity_guided, fidelity_null, accuracy, accuracy_guided: as
    # :class:`~glassine.surrogates.values.Measures` has them.
    fidelity: float
    fidelity_guided: float
    fidelity_null: float
    accuracy: float | None
    accuracy_guided: float | None
    # nodes_median, nodes_mean: nodes of a tree.
    nodes_median: float
    nodes_mean: float
    smallest_leaf: ShownCount  # People of the smallest leaf
    # share_alone, share_small: shares of the people who are alone in a leaf, and who are in a leaf of fewer than
    # ``small`` people.
    share_alone: float
    share_small: float
    small: int  # That limit
    share_constant: float  # Share of the trees that are one leaf
    # off_grid, n_thresholds: thresholds that are not public cut points, and all of them.
    off_grid: int
    n_thresholds: int
    bits_mean: float | None  # Bits learned about the attributes of a person
    # gap_true, gap_decisions: advantage of the gap attack by true labels, and by the black box's decisions.
    gap_true: float | None
    gap_decisions: float | None
    # accused, accused_wrongly: members that the midpoint attack names, and others whom it names.
    accused: ShownCount | None
    accused_wrongly: ShownCount | None
    share_accused: float | None  # Share of the members that it names
    # quality, quality_guided, quality_baseline: the same by the true labels, with AUROC and log loss where leaves
    # publish probabilities.
    quality: Quality | None = None
    quality_guided: Quality | None = None
    quality_baseline: Quality | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormsFinding:
    """The two forms of a release side by side, on the same groups."""

    forms: tuple[FormFinding, ...]
    measured_on: str
