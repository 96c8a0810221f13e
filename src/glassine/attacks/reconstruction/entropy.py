"""Reconstruction of the training records from a published tree or rule list.

The reader of a model knows, for each leaf or rule, how many training records it captured, and that each of them lies in
its region. Without further knowledge all records of a region are equally likely: this is the *probabilistic dataset*
of Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models". Every figure here comes from exact
counts of regions (:mod:`glassine.counting`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from glassine.attacks.reconstruction.count_bounds import bound_counts, exact_counts, likeliest_counts
from glassine.attacks.reconstruction.leakage import (
    ExposedRecords,
    Interval,
    ReconstructionEstimate,
    exposure_steps,
    oddities,
)
from glassine.attacks.reconstruction.possible import log2_ratio
from glassine.attacks.record_matching import ErrorEstimate, align, original_records
from glassine.counting import MAX_STEPS, Region
from glassine.domain import Domain
from glassine.domain.domain import check_domain
from glassine.errors import InvalidParameterError, UndefinedMeasureError, parameter
from glassine.exports import DisplayedToCheckers
from glassine.formats import as_model, tree_or_rules
from glassine.models.transform import with_sizes
from glassine.records.arrays import AnyArray, Array

if TYPE_CHECKING:
    from glassine.attacks.disclosure.noise import CountNoise


def _nothing_to_learn() -> UndefinedMeasureError:
    return UndefinedMeasureError(
        "the domain allows one record only, so there is nothing to learn.",
        remedy="Declare every value that is possible in the domain.",
    )


class ProbabilisticDataset(DisplayedToCheckers, ExposedRecords):
    """The set of datasets that a published model leaves possible.

    Made by :func:`reconstruct`. Measures come in two readings: with independent attributes, as published
    (``domain_aware=False``, the default), and without the records that the domain's groups make impossible
    (``domain_aware=True``), which is what the reader really knows.

    Measures that weigh by counts need exact ones. Where counts are noisy or rounded, these measures are refused, and
    :meth:`estimate` returns intervals.

    Attributes
    ----------
    model, domain, noise
        As of :class:`~glassine.attacks.reconstruction.possible.PossibleRecords`.
    """

    def estimate(self, *, confidence: float = 0.99, domain_aware: bool = False) -> ReconstructionEstimate:
        """Return intervals of the number of records, of the mean bits and of Dist and Dist_G.

        The true counts lie in a box that the published ones and the stated noise allow, and so does their sum. Each
        interval is the exact range of its measure over these counts.

        **Guarantee**: with at least the confidence, over the noise, all intervals hold the true values together. Of
        rounded and of exact counts they hold for certain.

        Parameters
        ----------
        confidence : float, default=0.99
            In (0, 1).
        domain_aware : bool, default=False
            Whether to leave out the records that the domain's groups make impossible.

        Raises
        ------
        InvalidParameterError
            If the confidence is out of its range.
        UndefinedMeasureError
            If counts are not published, it is not stated how they were changed, they cannot come from the stated
            noise, or a region that holds records is empty.
        """
        noise = self.noise
        bounds = exact_counts(self.supports) if noise is None else bound_counts(self.model, noise, confidence)
        possible = self._worlds_of(domain_aware)
        bounds = bounds.excluding(np.array([not measure for measure in possible.regions.measures]))
        learned = np.array(self.bits_learned(domain_aware=domain_aware))
        learned[np.isinf(learned)] = 0.0  # an empty region, which holds no record
        bits = bounds.mean(learned)
        dist = dist_g = None
        if not self._continua and (size := int(possible.space.total)) > 1:
            counted = np.array(possible.bits_learned)
            counted[np.isinf(counted)] = 0.0
            dist_g, dist = (
                _share(bounds.mean(left)) for left in (1 - counted / math.log2(size), self._left(domain_aware))
            )
        ranges = zip(bounds.low.tolist(), bounds.high.tolist(), strict=True)
        return ReconstructionEstimate(
            confidence=bounds.confidence,
            supports=tuple(Interval(lower=low, upper=min(high, bounds.total.upper)) for low, high in ranges),
            n_records=bounds.total,
            bits_per_record=bits,
            dist=dist,
            dist_g=dist_g,
        )

    def most_likely(self, n_records: int | None = None) -> ProbabilisticDataset:
        """Return the datasets whose counts are likeliest under the stated noise.

        An attacker who takes them for the true ones can :meth:`sample` records and measure them, as of a model with
        exact counts. Nothing says that the true counts are near: see :meth:`estimate` for what is certain.

        Parameters
        ----------
        n_records : int, optional
            Number of training records, if the attacker knows it.

        Returns
        -------
        ProbabilisticDataset
            Of the same model with these numbers of records in its leaves or rules, as exact ones.

        Raises
        ------
        InvalidParameterError
            If the number of records is not positive, or is not that of exact counts.
        UndefinedMeasureError
            If counts are not published, it is not stated how they were changed, or no counts of that total can have
            been published so.

        References
        ----------
        Gorgé, Ferry, Gambs, Vidal: Training set reconstruction from differentially private forests, 2026. They search
        over forests; one tree or list needs no search, because its parts are disjoint.
        """
        if n_records is not None and not n_records >= 1:
            raise InvalidParameterError(f"{parameter('n_records')} must be at least 1, got {n_records!r}.")
        noise = self.noise
        if noise is None:
            if n_records not in (None, self.n_records):
                raise InvalidParameterError(
                    f"the exact counts add up to {self.n_records} records, not {n_records}.",
                    remedy="Leave it out: it follows from exact counts.",
                )
            return self
        cells = [cell.evidence for cell in self.model.cells]
        if any(evidence.size is None for evidence in cells):
            raise UndefinedMeasureError(
                "the model does not publish how many records each part captured.",
                remedy="Ask the publisher for the counts, or audit the model with its training records.",
            )
        published = [evidence.counts or (evidence.size or 0,) for evidence in cells]
        widths = [len(counts) for counts in published]
        possible = np.repeat([bool(measure) for measure in self._worlds_of(True).regions.measures], widths)
        counts = likeliest_counts(np.concatenate(published).astype(np.int64), noise, n_records, possible)
        sizes = np.add.reduceat(counts, np.cumsum([0, *widths[:-1]]))
        return ProbabilisticDataset(with_sizes(self.model, sizes.tolist()), self.domain, max_steps=self._max_steps)

    def entropy(self, *, domain_aware: bool = False) -> float:
        """Return the joint entropy of the reconstruction, in bits (equations 11 and 16)."""
        worlds = self.worlds(domain_aware=domain_aware)
        self._require_possible(domain_aware)
        return math.fsum(size * math.log2(count) for size, count in zip(self.supports, worlds, strict=True) if size)

    def prior_entropy(self, *, domain_aware: bool = False) -> float:
        """Return the entropy of as many unknown records, in bits (equation 4)."""
        self._require_finite()
        return self.n_records * math.log2(int(self._worlds_of(domain_aware).space.total))

    @staticmethod
    def share_left(entropy: float, prior: float) -> float:
        """Return the share of an entropy that is left of what it was; UndefinedMeasureError if that was 0."""
        if not prior:
            raise _nothing_to_learn()
        return entropy / prior

    def dist_g(self, *, domain_aware: bool = False, units: Mapping[str, float] | None = None) -> float:
        """Return Dist_G, the share of the joint entropy that the model leaves (Definition 4).

        1 means that the model reveals nothing, 0 that the records are known.

        Parameters
        ----------
        domain_aware : bool, default=False
            Whether to leave out the records that the domain's groups make impossible.
        units : mapping of str to float, optional
            For each attribute whose values are a continuum, the unit of its density, above 0. Entropies are then
            integrals over the possible records, and near what the same resolution gives. They depend on the unit: a
            part narrower than it has an entropy below 0.

        Raises
        ------
        UndefinedMeasureError
            If an attribute is a continuum without a unit or one that may be missing, counts are not published, a region
            that holds records is empty, or the domain allows one record only.
        InvalidParameterError
            If a unit is not a number above 0, or is of no continuum.
        """
        if units is not None:
            return self._dist_g_of_densities(domain_aware, units)
        prior = self.prior_entropy(domain_aware=domain_aware)
        return self.share_left(self.entropy(domain_aware=domain_aware) if prior else 0.0, prior)

    def _dist_g_of_densities(self, domain_aware: bool, units: Mapping[str, float]) -> float:
        continua = set(self._continua)
        for name, unit in units.items():
            if name not in continua or not 0 < unit < math.inf:
                raise InvalidParameterError(
                    f"{parameter('units')} must give numbers above 0 for attributes without a resolution, got {unit!r} "
                    f"for {name!r}.",
                    remedy="Leave out the others.",
                )
        if missing := sorted(continua - set(units)):
            raise UndefinedMeasureError(
                f"{missing[0]!r} has no declared resolution.", remedy=f"Give it one of {parameter('units')}."
            )
        if gaps := [name for name in units if self.domain[name].missing]:
            raise UndefinedMeasureError(
                f"{gaps[0]!r} may be missing, and a missing value has no density.", remedy="Declare its resolution."
            )
        self._require_possible(domain_aware)
        worlds, less = self._worlds_of(domain_aware), math.fsum(math.log2(unit) for unit in units.values())
        parts = zip(self.supports, worlds.regions.measures, strict=True)
        left = math.fsum(size * (log2_ratio(measure, 1) - less) for size, measure in parts if size)
        prior = self.n_records * (log2_ratio(worlds.space.total, 1) - less)
        if not prior > 0:
            raise UndefinedMeasureError(
                "the units are wider than the ranges of the domain.", remedy="Take smaller units."
            )
        return self.share_left(left, prior)

    def dist_g_by_shares(self, *, domain_aware: bool = False) -> float:
        """Return Dist_G for an attacker who knows the domain's shares: the share of the entropy that is left.

        The published Dist_G takes all records for equally likely before the model is read. With the product Q of the
        public shares in their place (the paper's external knowledge), the entropy of a record of region R is
        ``log2 Q(R) - E[log2 Q(x)]`` over R, and that of an unknown one is the entropy of Q. Both entropies add up over
        records. Where all shares are uniform, both figures are equal; a model that contradicts the shares can leave
        more than 1.
        """
        self._require_finite()
        self._require_possible(domain_aware)
        worlds = self._worlds_of(domain_aware, by_shares=True)
        parts = zip(self.supports, worlds.regions, strict=True)
        left = math.fsum(size * worlds.entropy(region) for size, region in parts if size)
        return self.share_left(left, self.n_records * worlds.prior_entropy)

    def dist(self, *, domain_aware: bool = False) -> float:
        """Return Dist, the mean share of each cell's entropy that the model leaves (Definition 2).

        Each attribute of each record counts the same; attributes with one possible value are left out. All values that
        some record of the region has are equally likely. With ``domain_aware=True`` impossible records count neither
        there nor in the whole domain: a dummy whose category is excluded has one value left.
        """
        self._require_finite()
        self._require_possible(domain_aware)
        left = self._left(domain_aware)
        return math.fsum(size * share for size, share in zip(self.supports, left, strict=True)) / self.n_records

    def _left(self, domain_aware: bool) -> Array:
        """Return for each part the mean share of an attribute's entropy that it leaves; 1 for an empty region."""
        possible = self._worlds_of(domain_aware)
        everything = [possible.n_values(Region({}), factor) for factor in range(len(possible.space.factors))]
        sizes = {name: size for factor in everything for name, size in factor.items() if size > 1}
        if not sizes:
            raise _nothing_to_learn()
        shares = np.ones(len(possible.regions))
        for part, left_of in enumerate(possible.values_left()):
            for name, left in left_of.items():
                if name in sizes:
                    shares[part] -= (1 - math.log2(left) / math.log2(sizes[name])) / len(sizes)
        return shares

    def exposure_ratios(self, *, domain_aware: bool = False) -> list[tuple[float, float]]:
        """Return the paper's Figure 4: against the share of records, the most exposed first, the entropy left.

        Returns
        -------
        list of (float, float)
            Share of the training records in (0, 1], and the share in [0, 1] of its entropy that the model leaves of
            each of those that this step adds; it never decreases, and its mean over the records is Dist_G.

        Raises
        ------
        UndefinedMeasureError
            As for :meth:`dist_g`.
        """
        prior = self.prior_entropy(domain_aware=domain_aware)
        if not prior:
            raise _nothing_to_learn()
        self._require_possible(domain_aware)
        worlds = zip(self.worlds(domain_aware=domain_aware), self.supports, strict=True)
        left = [(self.n_records * math.log2(count) / prior, size) for count, size in worlds if size]
        return exposure_steps(sorted(left), self.n_records)

    def sample(
        self, *, random_state: int | np.random.Generator | None = None, domain_aware: bool = True
    ) -> dict[str, AnyArray]:
        """Return one dataset drawn uniformly from the possible ones, columns by attribute.

        Parameters
        ----------
        random_state : int, Generator or None
            Source of randomness.
        domain_aware : bool, default=True
            Whether to leave out the records that the domain's groups make impossible.

        Returns
        -------
        dict of str to ndarray, shape (n,)
            The records of the first leaf or rule first. Missing values are NaN in numbers, else None.

        Raises
        ------
        UndefinedMeasureError
            If counts are not published or a region that holds records is empty.
        """
        self._require_possible(domain_aware)
        worlds = self._worlds_of(domain_aware, by_shares=True)
        return worlds.draw_cells(self.supports, np.random.default_rng(random_state))

    def error_to(
        self,
        original: object,
        *,
        n_draws: int = 5,
        max_records: int = 1000,
        random_state: int | np.random.Generator | None = None,
        domain_aware: bool = True,
    ) -> ErrorEstimate:
        """Return how far reconstructed records are from the original ones, and how far random ones are.

        Each draw is matched with the original records at minimum total cost. The cost of a pair is its mean distance
        over the attributes: 0 or 1 for categories, the difference over the domain's range for numbers.

        Parameters
        ----------
        original : data frame
            The training records, with every attribute of the domain.
        n_draws : int, default=5
            Number of datasets drawn from the model, and of random ones drawn from the domain.
        max_records : int, default=1000
            Matching is cubic: beyond this many records, both sides are sampled down to it.
        random_state : int, Generator or None
            Source of randomness.
        domain_aware : bool, default=True
            Whether draws respect the domain's groups.

        Raises
        ------
        InvalidDataError
            If an attribute is not a column, or the number of records is not the model's.
        UndefinedMeasureError
            As for :meth:`sample`.
        """
        n = self.n_records
        data = original_records(original, self.domain, n, n_draws=n_draws, max_records=max_records)
        rng = np.random.default_rng(random_state)
        self._require_possible(domain_aware)
        possible = self._worlds_of(domain_aware, by_shares=True)
        size = min(n, max_records)
        draws = []
        for _ in range(n_draws):
            rows = np.sort(rng.permutation(n)[:size])
            sizes = rng.multivariate_hypergeometric(self.supports, size).tolist()
            random = possible.draw(possible.counter.sample(Region({}), size, rng), rng)
            draws.append(
                ({name: column[rows] for name, column in data.items()}, possible.draw_cells(sizes, rng), random)
            )
        return align(self.domain, draws)

    def notes(self, *, domain_aware: bool = False) -> list[str]:
        """Return what is odd about the model in this domain: shadowed rules, empty defaults, contradictions, holes."""
        return oddities(self.model, self._worlds_of(domain_aware))

    def __repr__(self) -> str:
        return f"<ProbabilisticDataset of a {self.model} over {len(self.domain)} attributes>"


def _share(interval: Interval) -> Interval:
    """Return an interval of a share without what rounding adds beyond 0 and 1."""
    return Interval(lower=max(interval.lower, 0.0) + 0.0, upper=min(interval.upper, 1.0))


def reconstruct(
    model: object, domain: Domain, *, noise: CountNoise | None = None, max_steps: int = MAX_STEPS
) -> ProbabilisticDataset:
    r"""Return what an attacker with a published model knows about its training records.

    Parameters
    ----------
    model : DecisionTree, RuleList or fitted estimator
        The published model, or anything that :func:`glassine.as_model` reads.
    domain : Domain
        What is publicly known about the attributes; every attribute that the model tests must be in it. All its
        attributes count, tested or not.
    noise : CountNoise, optional
        How published counts differ from the true ones. By default what the model states: none, or discrete Laplace
        noise where its guarantee has a ``count_scale``. Rounded counts need it.
    max_steps : int, default=300,000
        Steps that the exact counts may take, about half a minute's worth; counting rules that overlap is #P-hard.

    Returns
    -------
    ProbabilisticDataset
        Its measures.

    Raises
    ------
    InvalidModelError
        If the model tests an attribute or a value that the domain lacks.
    InvalidDomainError
        If the domain is not a :class:`Domain`.
    InvalidParameterError
        If rounding is stated as the noise of a model whose guarantee states noise.

    References
    ----------
    Ferry, Aivodji, Gambs, Huguet, Siala: Probabilistic Dataset Reconstruction from Interpretable Models, 2023.

    Examples
    --------
    Rule list 1 of the paper:

    >>> domain = Domain.binary(["a1", "a2", "a3"])
    >>> from glassine import parse_rules
    >>> rules = parse_rules(
    ...     "if [a1] and [a2] then [true] ([0 ; 2] examples)\n"
    ...     "else if [a3] then [false] ([2 ; 0] examples)\n"
    ...     "else [true] ([0 ; 1] example)",
    ...     domain,
    ... )
    >>> known = reconstruct(rules, domain)
    >>> known.worlds(), round(known.dist_g(), 4)
    ((2, 3, 3), 0.4503)

    With counts that were rounded to multiples of 2, halves upwards:

    >>> from glassine.attacks import CountNoise
    >>> rounded = parse_rules(
    ...     "counts: rounded\nif [a1] and [a2] then [true] ([0 ; 10] examples)\nelse [false] ([30 ; 0] examples)",
    ...     domain,
    ... )
    >>> found = reconstruct(rounded, domain, noise=CountNoise("rounded", 2)).estimate()
    >>> found.n_records.to_list(), str(found.dist_g), found.confidence
    ([38.0, 40.0], '0.7262 to 0.7397', 1.0)
    """
    check_domain(domain)
    return ProbabilisticDataset(tree_or_rules(as_model(model, domain)), domain, noise=noise, max_steps=max_steps)
