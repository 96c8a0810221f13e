"""Stability: a code for models that is learned by retraining on random halves, and the bounds that it gives."""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from glassine.attacks.outcome import Failed, Measured, Measurement, NotApplicable, Outcome
from glassine.auditing.capacity import delta_of, figures_of, outside, stated_class, uncounted
from glassine.auditing.inputs import on_shared
from glassine.capacity import (
    DeclaredClass,
    LearnedCode,
    certain_persons,
    conditional_bits,
    counts_given_frame,
    design_advantage,
    design_bits,
    retrained,
    rounded_up,
)
from glassine.capacity.statement import tenths_up
from glassine.data.labels import class_codes
from glassine.errors import GlassineError, InvalidModelError, PrivacyLeakWarning, parameter
from glassine.formats import as_model
from glassine.models import DecisionTree, RuleList

if TYPE_CHECKING:
    from glassine.auditing.tree_figures import TreeSubject

NEEDED = (
    f"retraining needs a fitted estimator in memory, the records that trained it (`{parameter('data=')}`), all other "
    f"people of the list (`{parameter('holdout=')}`), the target and a public domain."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityFinding:
    """Bounds from a code that was learned from retrained models; it is computed from records, for the checker only.

    Attributes
    ----------
    n_retrained : int
        Models from which the code was learned.
    class_bits : float
        Bits of the class, without learning, rounded up to tenths.
    length : float
        Length of the published model in the learned code, in bits, rounded up to tenths.
    bits : float
        Bits about the membership of all people of the list together, counts and the draw included, rounded up.
    mean_advantage : float
        Largest mean advantage of any attack, given the published model, except with probability ``delta``; rounded up.
    certain : int
        Most people whose membership can be inferred for certain.
    delta : float
        Share of draws for which the bounds may fail.
    """

    n_retrained: int
    class_bits: float
    length: float
    bits: float
    mean_advantage: float
    certain: int
    delta: float


def structure_of(model: DecisionTree | RuleList, *, labelled: bool) -> Hashable:
    """Return what is published of a model beside its counts."""
    return tuple((str(cell), cell.evidence.prediction if labelled else None) for cell in model.cells)


def _stability(subject: TreeSubject) -> Outcome[StabilityFinding]:
    """Retrain on random draws of the list, fix a code, and charge the published model by its length."""
    inputs, settings, model = subject.inputs, subject.inputs.settings, subject.model
    learner, target = subject.artefact, inputs.target
    if not callable(getattr(learner, "fit", None)) or inputs.data is None or inputs.holdout is None or target is None:
        return NotApplicable(NEEDED)
    domain, stated, figures = inputs.domain, settings.statements.stated_class, figures_of(model)
    if domain is None or domain.inferred or figures is None or model.classes is None:
        return NotApplicable(NEEDED)
    declared = _declared(learner, subject)
    if declared is None:
        return NotApplicable("no class was declared before the fit, to which all retrained models belong.")
    if stated is not None and (stated.models > 1 or stated.options > 1):
        return NotApplicable("one model without a choice is retrained; several, or options, are not counted.")
    if stated is not None and (why := outside(model, stated, domain, target)):
        return NotApplicable(f"{why}.")
    if why := uncounted(subject):
        return NotApplicable(why)
    delta = delta_of(subject)
    labelled = figures.figures == "labels" or not declared.label_follows
    frame = _frame(subject, target)
    n, size = len(inputs.table or ()), len(frame)
    if stated is not None and (stated.n not in (None, n) or stated.population not in (None, size)):
        listed = size if stated.population is None else stated.population
        return NotApplicable(
            f"{n if stated.n is None else stated.n:,} of {listed:,} people are stated to be drawn, and data "
            f"and holdout are {n:,} and {size - n:,} records."
        )
    ends = time.monotonic() + settings.stability_seconds

    def train(number: int) -> Hashable:
        rng = np.random.default_rng(
            (0 if not isinstance(settings.random_state, int) else settings.random_state, number)
        )
        fitted = _refit(learner, frame[np.sort(rng.permutation(size)[:n])], target, model.attributes)
        made = as_model(fitted, domain)
        if stated is not None and (odd := outside(made, stated, domain, target)):
            raise InvalidModelError(f"a retrained model is not of the class: {odd}.")
        return structure_of(made, labelled=labelled)

    try:
        seen = retrained(
            train,
            settings.stability or 0,
            within=lambda: time.monotonic() < ends,
            progress=lambda done, of: inputs.progress(f"retraining {done:,} of {of:,}"),
        )
    except GlassineError as error:
        return Failed(error.text)
    if seen is None:
        return Failed(f"{settings.stability_seconds:g} s were over before all models were retrained.")
    of_class = declared.labelled_bits if labelled else declared.structure_bits
    length = LearnedCode(seen, of_class).length(structure_of(model, labelled=labelled))
    if labelled:
        bits = design_bits(conditional_bits(length, delta), size, n)
    else:
        codes = class_codes(frame[target].to_numpy(), model.classes)
        places = model.apply(frame.select(model.attributes)) * len(model.classes) + codes
        sizes = np.bincount(places, minlength=len(model.cells) * len(model.classes))
        counts = [count for cell in model.cells for count in cell.evidence.counts or ()]
        try:
            bits = counts_given_frame(length, counts, sizes.tolist(), delta)
        except GlassineError as error:
            return NotApplicable(str(error))
    return Measured(
        StabilityFinding(
            n_retrained=len(seen),
            class_bits=tenths_up(of_class),
            length=tenths_up(length),
            bits=tenths_up(bits),
            mean_advantage=rounded_up(design_advantage(bits / size, n / size)),
            certain=min(size, certain_persons(bits, n / size)),
            delta=delta,
        )
    )


def _declared(learner: Any, subject: TreeSubject) -> DeclaredClass | None:
    """Return the class that was stated, or that a learner of this package declares."""
    stated, domain = subject.inputs.settings.statements.stated_class, subject.inputs.domain
    if stated is not None and domain is not None:
        return stated_class(stated, domain, len(subject.model.classes or ()), subject.inputs.target)
    try:
        learner.capacity()  # Parameters that were changed since the fit are no class of the model
        declared = learner.declared_class()
    except (AttributeError, GlassineError):
        return None
    return declared if isinstance(declared, DeclaredClass) else None


def _frame(subject: TreeSubject, target: str) -> pl.DataFrame:
    """Return everyone on the list, in an order of their values: where a record stands says nothing of who was drawn.

    A learning algorithm may depend on the order of records. Were the training records first, as they are given, the
    code of retrained models would depend on the draw, and be none.
    """
    inputs = subject.inputs
    sides = on_shared(inputs.table, inputs.holdout, (*subject.model.attributes, target))
    everyone = pl.concat([pl.DataFrame(side.arrays) for side in sides], how="vertical_relaxed")
    return everyone.sort(everyone.columns)


def _refit(learner: Any, sample: pl.DataFrame, target: str, attributes: tuple[str, ...]) -> Any:
    """Return an estimator with the same parameters, trained on a draw."""
    from sklearn.base import clone

    X, y = sample.select(attributes), sample[target].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        fresh = clone(learner)
        if type(learner).__module__.startswith("glassine."):
            return fresh.fit(X, y)
        names = getattr(learner, "feature_names_in_", None)
        return fresh.fit(X.to_numpy() if names is None else X.to_pandas(), y)


STABILITY: Measurement[TreeSubject, StabilityFinding] = Measurement(
    "stability",
    "Stability",
    "How few bits does the model have, in a code that is learned by retraining?",
    StabilityFinding,
    run=_stability,
    asked=False,
    listed=False,
    audience="checker",
)
"""Made on request: it retrains, and its figures are computed from the records."""
