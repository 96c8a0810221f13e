"""One fit, and what is measured of it."""

from __future__ import annotations

import hashlib
import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it ships no types

from glassine.attacks.membership.gap import gap_attack
from glassine.attacks.membership.outputs import Records
from glassine.attacks.outcome import Measured
from glassine.attacks.overfitting import vulnerability
from glassine.attacks.reconstruction.entropy import reconstruct
from glassine.comparison.candidates import CANDIDATES, CONSTANT, Shape
from glassine.comparison.values import NO_PARTS, Figures, Result
from glassine.data.inference import columns
from glassine.data.labels import Sample
from glassine.data.persons import Persons
from glassine.domain import Domain
from glassine.errors import GlassineError, UnsupportedModelError
from glassine.formats import as_model, tree_or_rules
from glassine.models.transform import with_sizes

__all__ = ["Sides", "auroc", "full_probabilities", "log_loss", "measure", "seed_of"]

# How well probabilities foretell classes.


Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

LEAST = 1e-6
"""Probability below which a class counts as having it, so that one sure mistake does not cost infinitely much."""


def full_probabilities(model: Any, probabilities: Floats, n_classes: int) -> Floats:
    """Return one column for each class; those that the model has not seen have probability 0."""
    out = np.zeros((len(probabilities), n_classes))
    out[:, np.asarray(model.classes_, dtype=np.intp)] = probabilities
    return out


def auroc(truth: Labels, probabilities: Floats) -> float | None:
    """Return the area under the ROC curve; of several classes the mean of each against the others, None if one lacks.

    Examples
    --------
    >>> auroc(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    0.75
    """
    if not np.isfinite(probabilities).all():
        return None
    classes = (1,) if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    areas = [_area(truth == k, probabilities[:, k]) for k in classes]
    defined = [area for area in areas if area is not None]
    return math.fsum(defined) / len(defined) if defined and len(defined) == len(areas) else None


def _area(positive: npt.NDArray[np.bool_], score: Floats) -> float | None:
    """Return the chance that a positive's score exceeds a negative's, ties counting half."""
    from scipy.stats import rankdata

    m = int(positive.sum())
    n = len(positive) - m
    if not (m and n):
        return None
    ranks = rankdata(score)
    return float((ranks[positive].sum() - m * (m + 1) / 2) / (m * n))


def log_loss(truth: Labels, probabilities: Floats) -> float | None:
    """Return the mean of -ln of the probability of the true class, probabilities below a millionth taken as that.

    Examples
    --------
    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [1.0, 0.0]])), 4)
    7.2543
    """
    assigned = probabilities[np.arange(len(truth)), truth]
    if not np.isfinite(assigned).all():
        return None
    return float(-np.log(np.clip(assigned, LEAST, 1.0)).mean())


PERMUTATIONS = 99


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Training and test records of one split, with their classes as 0, 1, ... and their persons."""

    number: int
    train: Any
    train_labels: npt.NDArray[np.int64]
    test: Any
    test_labels: npt.NDArray[np.int64]
    train_persons: Persons | None = None
    test_persons: Persons | None = None


def seed_of(seed: int, model: str, epsilon: float | None, split: int) -> int:
    """Return the seed of one fit, which does not depend on what else is compared."""
    text = f"{seed} {model} {epsilon!r} {split}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big")


def measure(name: str, epsilon: float | None, sides: Sides, shape: Shape, seed: int) -> Result:
    """Fit a learner on the training records and measure it; what refuses to fit is not applicable."""
    drawn = seed_of(seed, name, epsilon, sides.number)
    key: dict[str, Any] = {"model": name, "epsilon": epsilon, "split": sides.number}
    try:
        # One thread: many small fits are faster so, and sums do not depend on the machine's cores.
        with warnings.catch_warnings(), threadpool_limits(limits=1):
            warnings.simplefilter("ignore")
            model = CANDIDATES[name].make(shape, math.nan if epsilon is None else epsilon, drawn)
            whose: dict[str, Any] = {}
            if CANDIDATES[name].private and shape.records_per_person is not None and sides.train_persons is not None:
                whose = {"persons": list(sides.train_persons.keys)}
            model.fit(sides.train, sides.train_labels, **whose)
            figures = _figures(name, model, sides, shape, drawn)
    except GlassineError as error:
        return Result(status="not applicable", reason=str(error), **key)
    except Exception as error:
        # A learner of another library may fail in its own ways; the others are compared all the same.
        first = (str(error).strip().splitlines() or [""])[0]
        return Result(status="failed", reason=f"{type(error).__name__}: {first}", **key)
    return Result(status="measured", figures=figures, **key)


def _figures(name: str, model: Any, sides: Sides, shape: Shape, seed: int) -> Figures:
    truth = sides.test_labels
    foretold = full_probabilities(model, model.predict_proba(sides.test), shape.n_classes)
    members = replace(Records.read(Sample(sides.train, sides.train_labels), "members"), persons=sides.train_persons)
    others = replace(Records.read(Sample(sides.test, sides.test_labels), "non-members"), persons=sides.test_persons)
    separation = vulnerability(model, members, others, n_permutations=PERMUTATIONS, random_state=seed)
    gap = gap_attack(model, members, others)
    bits, unknown, n_parts = _bits(name, model, shape.domain, sides.train)
    seen = separation.value if isinstance(separation, Measured) else None
    return Figures(
        accuracy=float((np.asarray(model.predict(sides.test)) == truth).mean()),
        auroc=auroc(truth, foretold),
        log_loss=log_loss(truth, foretold),
        bits=bits,
        bits_unknown=unknown,
        vulnerability=None if seen is None else float(seen.vulnerability.value),
        control=None if seen is None else float(seen.control),
        over="" if seen is None else seen.over,
        gap=float(gap.value.advantage.value) if isinstance(gap, Measured) else None,
        n_parts=n_parts,
    )


def _bits(name: str, model: object, domain: Domain, train: Any) -> tuple[float | None, str, int | None]:
    """Return the bits learned about a training record, else why there are none, and the number of leaves or rules.

    Where a model's counts are not exact, regions weigh by the training records that lie in them.
    """
    if name == CONSTANT:
        return 0.0, "", 1
    n_parts = None
    try:
        read = tree_or_rules(as_model(model, domain))
        n_parts = len(read.cells)
        if not read.counts_are_exact:
            read = with_sizes(read, np.bincount(read.apply(columns(train)), minlength=n_parts).tolist())
        bits = reconstruct(read, domain).bits_per_record(domain_aware=True)
    except UnsupportedModelError:
        return None, NO_PARTS, None
    except GlassineError as error:
        return None, str(error), n_parts
    return (bits, "", n_parts) if math.isfinite(bits) else (None, "a part of the model allows no record.", n_parts)
