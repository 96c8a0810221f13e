"""Additive models of several sites as one: scores averaged by released counts, with the composed guarantee."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from glassine.domain.attributes import Scalar
from glassine.domain.special_codes import SpecialCodes
from glassine.errors import InvalidModelError, InvalidParameterError, check_choice
from glassine.exports import Displayed
from glassine.formats import fingerprint
from glassine.models import AdditiveModel, CategoryBins, Guarantee, NumericBins, Term
from glassine.models.bins import Bins
from glassine.privacy.certificate import ONE_PERSON, Certificate, Origin
from glassine.privacy.events import Event, Parallel
from glassine.privacy.unit import RECORD, PrivacyUnit
from glassine.records.arrays import Array, Ints

PROOF = "learners/additive/merging.md"

DISJOINT = "no person has records at more than one of the sites"
"""What is assumed where the guarantee is the largest of those of the sites."""

FORM = "scores averaged by released counts"
"""How models are merged, as a certificate states it."""

MOST_SITES = 1000

Persons = Literal["shared", "disjoint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged(Displayed):
    """A model of several sites."""

    model: AdditiveModel  # The merged model
    certificate: Certificate  # What holds for the records of all sites together


def merge(
    models: Sequence[AdditiveModel], certificates: Sequence[Certificate], *, persons: Persons = "shared"
) -> Merged:
    """Return one additive model of the models of several sites; no records are read.

    In each cell that the bins of the sites distinguish, the score is the mean of the sites' scores, weighted by the
    released numbers of records there. Before, the terms of each site are centered on the records of all, so that a site
    with other people than the rest keeps its level.

    Guarantee
    ---------
    The sum of epsilons and deltas for one record at each site, or for all records of one person at all sites. With
    ``persons="disjoint"`` the largest of them, under the assumption that no person has records at two sites, which the
    certificate lists. The model is a function of the sites' models. See ``merging.md``.

    Parameters
    ----------
    models : sequence of AdditiveModel
        The released models of two sites or more, of the same link, classes and attributes, with counts.
    certificates : sequence of Certificate
        Theirs, in the same order.
    persons : {"shared", "disjoint"}, default="shared"
        Whether a person may have records at several sites.

    Returns
    -------
    Merged
        The model and its certificate.

    Raises
    ------
    InvalidModelError
        If models differ in link, classes, attributes, target or units, have no counts or are scorecards.
    InvalidParameterError
        If there are not as many certificates as models, or one is not of its model.

    Examples
    --------
    >>> from glassine.privacy.accounting import LaplaceNoise
    >>> def site(score, n):
    ...     term = Term(bins=(NumericBins("age", (40,)),), scores=[-score, score, 0.0], weights=[n, n, 0])
    ...     model = AdditiveModel(attributes=("age",), terms=(term,), intercept=(0.0,), link="identity")
    ...     noise = LaplaceNoise(name="counts", l1_sensitivity=1, scale=2)
    ...     return model, Certificate(epsilon=0.5, events=(noise,), model=fingerprint(model))
    >>> models, certificates = zip(site(1.0, 300), site(3.0, 100))
    >>> both = merge(models, certificates)
    >>> both.model.term("age").scores[:, 0].tolist(), both.certificate.epsilon
    ([-1.5, 1.5, 0.0], 1.0)
    """
    check_choice(persons, "persons", ("shared", "disjoint"))
    _check(models, certificates)
    model = _averaged(models)
    certificate = composed(list(map(fingerprint, models)), certificates, form=FORM, persons=persons)
    unit = certificate.unit.records_per_person
    scales = [one.guarantee.count_scale for one in models if one.guarantee is not None]
    claim = None
    if math.isfinite(certificate.epsilon):
        claim = Guarantee(
            epsilon=certificate.epsilon,
            delta=certificate.delta,
            neighboring=certificate.neighboring,
            # Counts of the sites are added up, and so is their noise.
            count_scale=None if None in scales or not scales else math.hypot(*(scale or 0.0 for scale in scales)),
            caveats=certificate.caveats,
            records_per_person=unit,
        )
    model = replace(model, guarantee=claim)
    return Merged(model=model, certificate=replace(certificate, model=fingerprint(model)))


def _check(models: Sequence[AdditiveModel], certificates: Sequence[Certificate]) -> None:
    if not 2 <= len(models) <= MOST_SITES or len(models) != len(certificates):
        raise InvalidParameterError(
            f"a merge needs the models of 2 to {MOST_SITES:,} sites and a certificate of each, got {len(models)} and "
            f"{len(certificates)}.",
            remedy="Give each model with its certificate.",
        )
    first = models[0]
    for number, (model, certificate) in enumerate(zip(models, certificates, strict=True), start=1):
        entry: object = model
        if not isinstance(entry, AdditiveModel) or entry.scorecard is not None:
            raise InvalidModelError(
                f"model {number} is no additive model, of which alone scores are averaged.",
                remedy="Merge additive models, and round the merged one to a scorecard.",
            )
        if model.edits:
            raise InvalidModelError(f"model {number} was edited.", remedy="Merge released models, then edit.")
        for what in ("link", "classes", "target", "target_bounds"):
            if getattr(model, what) != getattr(first, what):
                raise InvalidModelError(
                    f"model {number} has another {what.replace('_', ' ')} than the first.",
                    remedy="Fit all sites on one public domain.",
                )
        if set(model.attributes) != set(first.attributes):
            raise InvalidModelError(
                f"model {number} has other attributes than the first.", remedy="Fit all sites on one public domain."
            )
        if any(term.weights is None for term in model.terms):
            raise InvalidModelError(
                f"model {number} has no counts, by which scores are weighted.", remedy="Take the model as released."
            )
        if certificate.model != fingerprint(model):
            raise InvalidParameterError(
                f"certificate {number} is not of model {number}.", remedy="Give them in the same order."
            )
        if certificate.unit.is_person != certificates[0].unit.is_person:
            raise InvalidParameterError(
                f"certificate {number} is for another privacy unit than the first.",
                remedy="Fit all sites with persons, or all without.",
            )


# One model of all.


def _averaged(models: Sequence[AdditiveModel]) -> AdditiveModel:
    """Return the model whose score in each cell is the mean of those of the sites, by records."""
    first = models[0]
    sizes = np.array([_n_records(model) for model in models])
    names = list(dict.fromkeys(term.name for model in models for term in model.terms))
    intercepts = np.array([model.intercept for model in models], dtype=np.float64)
    terms = []
    for name in names:
        own = [next((term for term in model.terms if term.name == name), None) for model in models]
        term, middles = _merged_term([one for one in own if one is not None], own, sizes)
        terms.append(term)
        intercepts += middles
    shares = sizes / sizes.sum()
    return AdditiveModel(
        attributes=first.attributes,
        terms=tuple(terms),
        intercept=tuple((shares @ intercepts).tolist()),
        link=first.link,
        classes=first.classes,
        target=first.target,
        target_bounds=first.target_bounds,
        source=f"glassine.merge of {len(models)} sites",
    )


def _n_records(model: AdditiveModel) -> float:
    """Return about how many records a model was fitted to, by the counts of its terms; at least 1."""
    totals = [float(np.maximum(term.weights, 0.0).sum()) for term in model.terms if term.weights is not None]
    return max(float(np.median(totals)), 1.0) if totals else 1.0


def _merged_term(present: Sequence[Term], own: Sequence[Term | None], sizes: Array) -> tuple[Term, Array]:
    """Return one term of those of the sites, and the mean that was taken out of each site's scores.

    A site without the term has a score of 0. Its records count as those of the others are spread.
    """
    axes = [_common([term.bins[axis] for term in present]) for axis in range(len(present[0].bins))]
    shape, outputs = tuple(bins.n_bins for bins in axes), present[0].n_outputs
    scores, errors, weights = (np.zeros((len(own), *shape, *more)) for more in ((outputs,), (outputs,), ()))
    for place, term in enumerate(own):
        if term is None or term.weights is None:
            continue
        index = np.ix_(*(_places(fine, bins) for fine, bins in zip(axes, term.bins, strict=True)))
        parts = np.bincount(np.ravel_multi_index(index, term.shape).reshape(-1), minlength=term.scores[..., 0].size)
        scores[place] = term.scores[index]
        errors[place] = 0.0 if term.errors is None else term.errors[index]
        weights[place] = (np.maximum(term.weights, 0.0) / np.maximum(parts.reshape(term.shape), 1))[index]
    spread = weights.sum(axis=0) + 1e-9
    for place, term in enumerate(own):
        if term is None:
            weights[place] = sizes[place] * spread / spread.sum()
    total = weights.sum(axis=0)
    if not total.any():
        total = np.ones(shape)
    cells = tuple(range(len(shape)))
    share_of_cell = total / total.sum()
    middles = np.array([np.tensordot(share_of_cell, one, axes=(cells, cells)) for one in scores])
    centered = scores - middles.reshape(len(own), *(1 for _ in shape), outputs)
    # Where no site seems to have a record, all count alike.
    alike = (sizes / sizes.sum()).reshape(-1, *(1 for _ in shape))
    shares = np.where(total > 0, weights / np.where(total > 0, total, 1.0), alike)
    mean = (shares[..., None] * centered).sum(axis=0)
    noise = np.sqrt(((shares[..., None] * errors) ** 2).sum(axis=0))
    stated = any(term.errors is not None for term in present)
    name = present[0].name
    return Term(bins=tuple(axes), scores=mean, errors=noise if stated else None, weights=total, name=name), middles


def _common(bins: Sequence[Bins]) -> Bins:
    """Return the bins that distinguish what those of some site do."""
    first = bins[0]
    numeric = [one for one in bins if isinstance(one, NumericBins)]
    if isinstance(first, NumericBins) and len(numeric) == len(bins):
        if len({one.closed for one in numeric}) > 1 or len({SpecialCodes(one.codes) for one in numeric}) > 1:
            raise InvalidModelError(
                f"the sites cut {first.attribute!r} differently: another side is closed, or codes differ.",
                remedy="Fit all sites on one public domain.",
            )
        cuts = sorted({cut for one in numeric for cut in one.cuts})
        return NumericBins(first.attribute, tuple(cuts), first.closed, first.bounds, first.codes)
    listed = [one for one in bins if isinstance(one, CategoryBins)]
    values = list(dict.fromkeys(value for one in listed for group in one.groups for value in group))
    if numeric or any(set(values) != {v for group in one.groups for v in group} for one in listed):
        raise InvalidModelError(
            f"the sites declare other values of {first.attribute!r}.", remedy="Fit all sites on one public domain."
        )
    groups: dict[tuple[int, ...], list[Scalar | None]] = {}
    for value in values:
        key = tuple(int(one.find([value])[0]) for one in listed)
        groups.setdefault(key, []).append(value)
    return CategoryBins(first.attribute, tuple(map(tuple, groups.values())))


def _places(fine: Bins, bins: Bins) -> Ints:
    """Return the bin of one site of each common bin."""
    if isinstance(fine, NumericBins) and isinstance(bins, NumericBins):
        # An interval is in that of the site that its closed end is in; the last interval has none.
        ends = np.array([*fine.cuts, math.inf]) if fine.closed == "right" else np.array([-math.inf, *fine.cuts])
        return np.append(bins.index(ends), bins.n_bins - 1)
    if isinstance(fine, CategoryBins) and isinstance(bins, CategoryBins):
        return np.append(bins.find([group[0] for group in fine.groups]), bins.n_bins - 1)
    raise ValueError("common bins are of the kind of those of the sites")


# What holds for all records together.


def composed(sites: Sequence[str], certificates: Sequence[Certificate], *, form: str, persons: Persons) -> Certificate:
    """Return the certificate of what follows from all that sites released, by its SHA-256, in a ``form`` of merging."""
    disjoint = persons == "disjoint"
    epsilons, deltas = [one.epsilon for one in certificates], [one.delta for one in certificates]
    caveats = tuple(dict.fromkeys(text for one in certificates for text in one.caveats))
    assumptions = tuple(dict.fromkeys(text for one in certificates for text in one.assumptions))
    events: tuple[Event, ...] = tuple(event for one in certificates for event in one.events)
    units = [one.unit.most_records for one in certificates]
    person = certificates[0].unit.is_person
    if disjoint:
        branches = tuple(one.events for one in certificates)
        events = (Parallel(name="the models of sites of different people", branches=branches, proof=PROOF),)
        epsilon, delta = max(epsilons), max(deltas)
        unit = PrivacyUnit.person(max(units)) if person else RECORD
        assumptions = (*assumptions, DISJOINT)
    else:
        epsilon, delta = math.fsum(epsilons), math.fsum(deltas)
        unit = PrivacyUnit.person(sum(units)) if person else RECORD
    return Certificate(
        epsilon=epsilon,
        delta=delta,
        events=events,
        neighboring=ONE_PERSON if person else certificates[0].neighboring,
        unit=unit,
        assumptions=assumptions,
        caveats=caveats,
        public={
            "merged": form,
            "persons": persons,
            "sites": list(sites),
            "of the sites": [dict(one.public) for one in certificates],
        },
        randomness=_randomness(certificates),
        arithmetic="; ".join(dict.fromkeys(one.arithmetic for one in certificates)),
    )


WEAKEST: tuple[Origin, ...] = ("seeded", "not stated", "vouched for by the caller", "operating system")


def _randomness(certificates: Sequence[Certificate]) -> Origin:
    """Return the weakest origin of the random bits of the sites."""
    return next(origin for origin in WEAKEST if any(one.randomness == origin for one in certificates))
