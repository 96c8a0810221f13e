"""What the reader of a tree learns of a sensitive attribute, as findings show it."""

from __future__ import annotations

from dataclasses import dataclass

from glassine.attacks.outcome import ShownCount
from glassine.attacks.remedy_table import DisclosureRemedy

__all__ = [
    "CertainFinding",
    "DisclosureDetails",
    "DisclosureFinding",
    "ExposedPerson",
    "IdentifiedFinding",
    "ReaderFinding",
    "SampleFinding",
    "SubgroupFinding",
    "TruthFinding",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderFinding:
    """What one reader concludes."""

    reader: str  # What the reader uses
    entropy: float  # Entropy left, in bits per person
    certain: ShownCount  # People of whom one class has a probability of at least 0.99
    # d_overall, guess_rate: distance to the truth in bits, and share of right guesses, where the truth is known.
    d_overall: float | None = None
    guess_rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CertainFinding:
    """People of whom one class has a probability of at least 0.99, among all or in a subgroup."""

    outcome: str  # The class
    certain: ShownCount  # How many they are
    base_rate: float  # Probability of the class without the model: its share of all people
    number: ShownCount  # People, or records, of the subgroup; all where there is none
    # attribute, value: the subgroup; empty for all.
    attribute: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifiedFinding:
    """People of whom one class has at least a probability in every table that agrees with the leaves."""

    probability: float
    people: ShownCount  # How many they are


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposedPerson:
    """A person of whom little is left open."""

    row: int  # Row number, from 0
    probability: float  # Probability of the most probable class


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthFinding:
    """D_individual, the distance of the estimate to the truth, in bits: small means disclosed."""

    # mean, lower, median, upper: D_overall, and the quartiles over the people.
    mean: float
    lower: float
    median: float
    upper: float
    disclosed: ShownCount  # People with less than a tenth of a bit


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupFinding:
    """What the reader knows about a subgroup.

    Attributes
    ----------
    attribute, value : str
        The subgroup.
    size : ShownCount
        Number of people.
    entropy : float
        Mean entropy left, in bits.
    d_overall : float or None
        Mean distance to the truth in bits, where it is known: small means disclosed.
    """

    attribute: str
    value: str
    size: ShownCount
    entropy: float
    d_overall: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFinding:
    """What the reader learns about who was in the training sample."""

    fraction: float  # Mean probability of having been in it
    # lowest, highest: the least and the largest of any person.
    lowest: float
    highest: float
    certain: ShownCount  # People who were in it for certain


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureDetails:
    """What only the holder of the data is to see of what can be inferred; small counts are hidden."""

    n_leaves: int  # Leaves that hold people
    truth: TruthFinding | None  # D_individual, where the truth is known
    exposed: tuple[ExposedPerson, ...]  # The most exposed people, the most exposed first
    k: ShownCount  # People of the smallest leaf
    # distinct_l, entropy_l, alpha, t: l-diversity, largest share of a class, and t-closeness of the leaves, each of the
    # worst leaf.
    distinct_l: float
    entropy_l: float
    alpha: float
    t: float
    # Some of the internal constraints that shape the estimate; empty where small counts are hidden.
    active: tuple[str, ...]
    remedies: tuple[DisclosureRemedy, ...] = ()  # Empty unless they were asked for
    baseline: DisclosureRemedy | None = None  # What is predicted without any attribute, beside the remedies
    # The most exposed subgroups, and the least exposed one; empty where no subgroup was asked for.
    subgroups: tuple[SubgroupFinding, ...] = ()
    # Who was in the training sample, where the attacker knows more people than that.
    sample: SampleFinding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureFinding:
    """What an attacker who knows all quasi-identifiers learns; small counts hidden.

    Attributes
    ----------
    sensitive : str
        The attribute.
    quasi_identifiers : tuple of str
        What the attacker knows about every person.
    number, n_quasi_identifiers : ShownCount
        People, and their distinct quasi-identifiers.
    n_classes : int
        Classes of the attribute.
    knowledge : str
        What the reader uses of the tree.
    optimum : str
        ``global``, or ``local`` where another estimate may leave more open.
    gap : float
        Bits per person by which an estimate could leave more open.
    learned_mean, learned_most : float
        What the reader learns beyond the class distribution, in bits: over all people, and of one person at most.
    readers : tuple of ReaderFinding
        Of the class distribution, of the leaves, and of leaves and internal nodes, as far as these were used.
    exposed : tuple of int
        Rows of the most exposed people, in order of number: the order of exposure would reveal where one leaf ends.
    n_internal, n_active : int
        Internal constraints, and those that shape the estimate.
    unused : str
        Why the internal nodes were not used; empty if they were.
    notes : tuple of str
        Which other knowledge was left out or assumed, and why.
    certain : tuple of CertainFinding
        Of whom the value is practically certain: by class, then by class in the subgroups where most are.
    identified : tuple of IdentifiedFinding
        Of whom a value has at least a probability in every possible dataset; empty of a sample.
    details : DisclosureDetails or None
        What else the holder of the data asked for.
    """

    sensitive: str
    quasi_identifiers: tuple[str, ...]
    number: ShownCount
    n_quasi_identifiers: ShownCount
    n_classes: int
    knowledge: str
    optimum: str
    gap: float
    learned_mean: float
    learned_most: float
    readers: tuple[ReaderFinding, ...]
    exposed: tuple[int, ...]
    n_internal: int
    n_active: int
    unused: str
    notes: tuple[str, ...]
    certain: tuple[CertainFinding, ...] = ()
    identified: tuple[IdentifiedFinding, ...] = ()
    details: DisclosureDetails | None = None
