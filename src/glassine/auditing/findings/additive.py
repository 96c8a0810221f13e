"""What the audit of an additive model found, as findings show it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from glassine.attacks.bin_leakage import BinsFinding
from glassine.attacks.outcome import ShownCount


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisFinding:
    """The bins of one attribute as they are drawn: fewer than the model has, where it has many or small ones.

    Attributes
    ----------
    attribute : str
        The attribute.
    cuts : tuple of float or None
        Points between the intervals of a number, to four digits; None for categories.
    groups : tuple of str or None
        Names of the groups of categories, those of few records hidden; None for numbers.
    bounds : (float, float) or None
        Range of a number that the model publishes, to four digits; None where it publishes none.
    """

    attribute: str
    cuts: tuple[float, ...] | None
    groups: tuple[str, ...] | None
    bounds: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeFinding:
    """A shape function in the form drawn.

    Attributes
    ----------
    axes : tuple of AxisFinding
        One, or two for a pair. Each has one bin more than it lists, for missing values.
    outputs : tuple of str
        Names of the outputs that are drawn: the classes of a model of several; else one empty name.
    scores : tuple of tuple of float
        For each output the score of each bin, or cell in row-major order, to four digits; the mean where bins were
        joined.
    low, high : tuple of tuple of float, or None
        Ends of the noise interval; None where the model states no errors.
    density : tuple of float or None
        Records in each bin that the model publishes, as shares of the largest bin in twentieths; 0 for few. None where
        it publishes no counts, and of a pair.
    """

    axes: tuple[AxisFinding, ...]
    outputs: tuple[str, ...]
    scores: tuple[tuple[float, ...], ...]
    low: tuple[tuple[float, ...], ...] | None
    high: tuple[tuple[float, ...], ...] | None
    density: tuple[float, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TermFinding:
    """One term of an additive model.

    Attributes
    ----------
    name : str
        The term.
    importance : float
        Mean absolute centred score.
    n_bins : int
        Its bins, or cells of a pair.
    smallest : ShownCount or None
        Fewest records of a bin that holds any; None where it is not known.
    n_small : int or None
        Bins with fewer records than the policy asks for.
    origin : str or None
        Whether sizes are ``published`` by the model or ``counted`` in the data.
    edited : bool
        Whether a person changed its scores.
    shape : ShapeFinding or None
        Its shape function; None for the less important terms of a large model.
    """

    name: str
    importance: float
    n_bins: int
    smallest: ShownCount | None
    n_small: int | None
    origin: str | None
    edited: bool
    shape: ShapeFinding | None

    def public(self) -> TermFinding:
        """Return it without sizes that were counted in the data."""
        return replace(self, smallest=None, n_small=None, origin=None) if self.origin == "counted" else self


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditiveFinding:
    """What an additive model shows, and what its bins reveal.

    Attributes
    ----------
    link : str
        ``identity``, ``logit`` or ``softmax``.
    intercept : tuple of float
        Score of each output before any term.
    meaning : str
        What a score is.
    n_bins : int
        Bins and cells of all terms.
    n_edits : int
        Changes that people made after the model was released.
    released : str or None
        Fingerprint of the model without them, by which a certificate of it is known; None if there are none.
    coverage : float
        Share of the noise in a term's sums that each noise interval holds.
    terms : tuple of TermFinding
        The terms, the most important first.
    attributes : tuple of BinsFinding
        What the bins reveal, attribute by attribute.
    """

    link: str
    intercept: tuple[float, ...]
    meaning: str
    n_bins: int
    n_edits: int
    released: str | None
    coverage: float
    terms: tuple[TermFinding, ...]
    attributes: tuple[BinsFinding, ...]
