"""Membership by the counts that an additive model publishes of its bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glassine.attacks.membership.gap import answered, gap_figure, read_sides, setting_of
from glassine.attacks.membership.outputs import LabelledRecords, asking, attempt
from glassine.attacks.membership.result import MembershipResult, Shift
from glassine.attacks.membership.score_thresholds import N_FOLDS, judge_scores
from glassine.attacks.outcome import NotApplicable, Outcome
from glassine.data.labels import Sample
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import as_model
from glassine.models import AdditiveModel
from glassine.models.additive_scores import bin_indices
from glassine.records.arrays import Array, Indices

LEAST = 1e-3
"""Variance of a count that is added, so that what no record can change has no weight."""

Codes = Indices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedCounts:
    """The counts of the bins of one attribute, or of the cells of a pair."""

    counts: Array  # By bin, noise included; shape (bins,)
    noise: float  # Standard deviation of the noise of a count; 0 without privacy
    n_records: float  # Number of training records

    def ratios(self, population: Codes) -> Array:
        """Return by bin how much likelier a record in it makes the counts, as a logarithm, shape (bins,)."""
        # Of population shares p, n records and noise of variance v, the counts h have mean n p and covariance C = n
        # (diag(p) - p p') + v I. A record in bin b moves the mean by e_b - p, so that the log-likelihood ratio is (e_b
        # - p)' C^-1 (h - n p - (e_b - p) / 2). C is diagonal but for one product, which Sherman and Morrison invert.
        n, v = self.n_records, self.noise**2 + LEAST
        # Half a record more a bin: a bin that the population lacks is rare, and not impossible.
        p = np.bincount(population, minlength=len(self.counts)) + 0.5
        p = p / p.sum()
        d = 1 / (n * p + v)
        q = p * d
        # 1 - n p'q, without the cancellation.
        c, s = n / float((v * q).sum()), float(q @ p)
        surprise = self.counts - n * p
        u = d * surprise + c * q * float(q @ surprise)
        size = d + c * q**2 - 2 * q * (1 + c * s) + s + c * s**2
        return np.asarray(u - p @ u - size / 2)


def count_attack(
    model: object,
    members: Sample | LabelledRecords,
    nonmembers: Sample | LabelledRecords,
    *,
    population: Sample | LabelledRecords | None = None,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    shift: Shift | None = None,
) -> Outcome[MembershipResult]:
    """Compare how likely an additive model's published counts are with a record among the training data and without.

    The attacker knows the number of training records, the scale of any noise, and other records of the population. The
    score is the sum of the log-likelihood ratios of the counts of attributes and pairs, as if these were independent;
    scores of bins are not used. Without privacy the counts are exact.

    Parameters
    ----------
    model : AdditiveModel, or what :func:`glassine.as_model` reads as one
        The model under attack.
    members, nonmembers : Sample
        All training records, and records that were not used for training.
    population : Sample, optional
        Other records of the population. By default non-members stand for it, by folds: no record is judged by shares to
        which it contributed.
    random_state : int, numpy.random.Generator or None, default=None
        Makes folds and permutations repeatable.
    confidence, shift
        As for :func:`~glassine.attacks.gap_attack`.

    Returns
    -------
    Measured of MembershipResult, NotApplicable or Failed
        Not applicable to other models, and where no counts are published.

    Raises
    ------
    InvalidDataError, InvalidParameterError
        As for :func:`~glassine.attacks.gap_attack`.

    References
    ----------
    Homer et al.: Resolving individuals contributing trace amounts of DNA to highly complex mixtures, 2008; Sankararaman
    et al.: Genomic privacy and limits of individual detection in a pool, 2009.
    """
    setting = setting_of(confidence, random_state, shift)
    inside, outside = read_sides(members, nonmembers)
    others = None if population is None else LabelledRecords.read(population, "population").like(inside)

    def work() -> MembershipResult:
        additive = _additive(model)
        counts = _published(additive, len(inside.target))
        bins = [_bins(additive, side) for side in (inside, outside)]
        n_folds = N_FOLDS if others is None else 1
        background = bins[1] if others is None else _bins(additive, others)
        folds = [_folds(side, n_folds, setting.rng) for side in (inside, outside)]
        scores = [np.zeros(len(side.target)) for side in (inside, outside)]
        for fold in range(n_folds):
            rest = folds[1] != fold if others is None else slice(None)
            for k, published in counts.items():
                ratios = published.ratios(background[k][rest])
                for score, own, of in zip(scores, bins, folds, strict=True):
                    score[of == fold] += ratios[own[k][of == fold]]
        gap = None if additive.classes is None else gap_figure(*answered(model, inside, outside), setting.confidence)
        members_scores, others_scores = (
            side.mean(score) for side, score in zip((inside, outside), scores, strict=True)
        )
        return judge_scores("published-counts attack", members_scores, others_scores, setting, gap=gap)

    if others is None and outside.number < N_FOLDS:
        return NotApplicable(f"shares of a population need at least {N_FOLDS} non-members.")
    return attempt(work)


def _additive(model: object) -> AdditiveModel:
    """Return a model as an additive one."""
    try:
        additive = as_model(model)
    except (UnsupportedModelError, InvalidModelError):
        additive = None
    if not isinstance(additive, AdditiveModel):
        raise UnsupportedModelError(
            "the model publishes no counts of bins.",
            remedy="Attack its outputs instead: attack_membership.",
        )
    return additive


def _published(model: AdditiveModel, n_records: int) -> dict[int, PublishedCounts]:
    """Return the counts of each term, by its place; of an attribute in a pair those of the pair's cells alone."""
    claimed = None if model.guarantee is None else model.guarantee.count_scale
    noise = 0.0 if model.counts_are_exact else claimed
    terms = {k: term for k, term in enumerate(model.terms) if term.weights is not None}
    # The counts of an attribute are sums of those of a pair with it: they would count twice.
    paired = {name for term in terms.values() if len(term.attributes) > 1 for name in term.attributes}
    terms = {k: term for k, term in terms.items() if len(term.attributes) > 1 or term.attributes[0] not in paired}
    if not terms or noise is None:
        raise UnsupportedModelError(
            "the model publishes no counts of bins.",
            remedy="Attack its outputs instead: attack_membership.",
        )
    counts = {k: np.asarray(term.weights, dtype=np.float64).ravel() for k, term in terms.items()}
    # Exact counts say their number themselves.
    return {
        k: PublishedCounts(counts=published, noise=noise, n_records=n_records if noise else float(published.sum()))
        for k, published in counts.items()
    }


def _bins(model: AdditiveModel, records: LabelledRecords) -> tuple[Codes, ...]:
    """Return the bin of each record in each term, shapes (n,)."""
    with asking("the model"):
        return bin_indices(model, records.native)


def _folds(records: LabelledRecords, n_folds: int, rng: np.random.Generator) -> Indices:
    """Return the fold of each record, shape (n,): all records of a person are in one."""
    folds = np.resize(np.arange(n_folds), records.number)
    rng.shuffle(folds)
    return folds[records.whose]
