"""One fit, and what is measured of it."""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it ships no types

from glassine.attacks.membership.attack_model import loss_attack
from glassine.attacks.membership.gap import gap_attack
from glassine.attacks.membership.outputs import Records
from glassine.attacks.outcome import Measured
from glassine.attacks.overfitting import vulnerability
from glassine.attacks.reconstruction.entropy import reconstruct
from glassine.comparison.candidates import CANDIDATES, CONSTANT, Shape
from glassine.comparison.records import Sides
from glassine.comparison.values import NO_PARTS, Figures, Result
from glassine.data.inference import columns
from glassine.data.labels import Sample
from glassine.domain import Domain
from glassine.errors import GlassineError, UnsupportedModelError
from glassine.formats import as_model, tree_or_rules
from glassine.models.transform import with_sizes

PERMUTATIONS = 99


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
            started = time.process_time()
            model.fit(sides.train, sides.train_labels, **whose)
            seconds = time.process_time() - started
            figures = replace(_figures(name, model, sides, shape, drawn), seconds=seconds)
    except GlassineError as error:
        return Result(status="not applicable", reason=str(error), **key)
    except Exception as error:
        # A learner of another library may fail in its own ways; the others are compared all the same.
        first = (str(error).strip().splitlines() or [""])[0]
        return Result(status="failed", reason=f"{type(error).__name__}: {first}", **key)
    return Result(status="measured", figures=figures, **key)


def _figures(name: str, model: Any, sides: Sides, shape: Shape, seed: int) -> Figures:
    members = replace(Records.read(Sample(sides.train, sides.train_labels), "members"), persons=sides.train_persons)
    others = replace(Records.read(Sample(sides.test, sides.test_labels), "non-members"), persons=sides.test_persons)
    separation = vulnerability(model, members, others, n_permutations=PERMUTATIONS, random_state=seed)
    numbers = shape.target.kind == "number"
    gap = (loss_attack if numbers else gap_attack)(model, members, others, random_state=seed)
    bits, unknown, n_parts = _bits(name, model, shape.domain, sides.train)
    seen = separation.value if isinstance(separation, Measured) else None
    return Figures(
        **shape.target.scores(model, sides.test, sides.test_labels),
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
