"""Features of outputs: of models, arrays, numbers, text and JSON, as one flat mapping of names to numbers."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, TypeAlias

import numpy as np

from glassine.errors import UnsupportedModelError
from glassine.models import AdditiveModel, DecisionTree, RuleList
from glassine.verification.statistical_phases import Refusal

__all__ = ["REFUSED", "Features", "features_at", "features_of"]

Features: TypeAlias = dict[str, float]
"""What a distinguisher sees of an output; a name that is absent counts as 0."""

REFUSED = "refused: "
"""Begins the feature of a refusal."""

LONGEST = 2000
"""Parts of an output beyond it are seen through its hash alone."""


def features_of(output: object) -> Features:
    """Return features of an output: presence of every part, every number, and a hash of the whole.

    A fitted private learner is seen through all that it releases: its model, its certificate and its classes. Of a
    tree or a rule list the features are its literals with their places, the labels, the counts, and the structure. Of
    an additive model they are the intercept, the bins, and each bin's score and weight.

    Examples
    --------
    >>> found = features_of({"names": ["a", "b"], "weight": 0.5})
    >>> found[".names has b"], found[".weight"]
    (1.0, 0.5)
    """
    out: Features = {}
    for name, value in _parts(output, ""):
        out[name] = value
        if len(out) >= LONGEST:
            break
    whole = hashlib.sha256("\n".join(f"{name}\t{value!r}" for name, value in _parts(output, "")).encode())
    out[f"whole = {whole.hexdigest()[:12]}"] = 1.0
    return out


def features_at(output: object, records: object) -> Features:
    """Return what a fitted learner says of some records: label or score, and the counts of their leaf.

    Shapes: ``records`` (m, d).
    """
    out: Features = {}
    model = getattr(output, "model_", None)
    if hasattr(output, "apply") and isinstance(model, DecisionTree | RuleList):
        classes = model.classes or ()
        for j, cell in enumerate(output.apply(records).tolist()):
            evidence = model.cells[cell].evidence
            out[f"record {j} label {classes[evidence.prediction] if classes else evidence.prediction}"] = 1.0
            out.update({f"record {j} count {c}": float(count) for c, count in enumerate(evidence.counts or ())})
            if evidence.value is not None:
                out[f"record {j} value"] = evidence.value
        return out
    # One of them says what the others say, and each reads the records anew.
    method = next((name for name in ("decision_function", "predict_proba", "predict") if hasattr(output, name)), None)
    if method is None:
        return out
    values = np.asarray(getattr(output, method)(records))
    for j, row in enumerate(values.reshape(len(values), -1).tolist()):
        for c, value in enumerate(row):
            if isinstance(value, float):
                out[f"record {j} {method} {c}"] = value
            else:
                out[f"record {j} label {value}"] = 1.0
    return out


def _parts(output: object, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(output, DecisionTree | RuleList):
        yield from _model_parts(output, place)
    elif isinstance(output, AdditiveModel):
        yield from _additive_parts(output, place)
    elif isinstance(getattr(output, "model_", None), AdditiveModel | DecisionTree | RuleList):
        yield from _learner_parts(output, place)
    elif isinstance(output, Refusal):
        yield f"{place}{REFUSED}{output.kind}", 1.0
    elif isinstance(output, str | bytes | None):
        yield f"{place} = {output!s}", 1.0
    elif isinstance(output, bool | np.bool_):
        yield f"{place} = {bool(output)}", 1.0
    elif isinstance(output, int | float | np.number):
        yield from _number_parts(output, place)
    elif isinstance(output, np.ndarray):
        yield f"{place} has shape {output.shape}", 1.0
        for i, value in enumerate(output.ravel().tolist()):
            yield from _parts(value, f"{place}[{i}]")
    elif isinstance(output, Mapping):
        for key in output:
            yield f"{place} has {key!s}", 1.0
            yield from _parts(output[key], f"{place}.{key!s}")
    elif isinstance(output, Sequence):
        yield from _sequence_parts(output, place)
    elif isinstance(output, Set):
        yield from ((f"{place} has {item}", 1.0) for item in sorted(map(str, output)))
    else:
        raise UnsupportedModelError(
            f"there are no features for an output of type {type(output).__name__}.",
            remedy="Pass "
            "score=Distinguisher(features=...) with a function from an output to a mapping of names to numbers.",
        )


def _number_parts(output: Any, place: str) -> Iterator[tuple[str, float]]:
    value = float(output.real)
    if math.isfinite(value):
        yield place or "value", value
    else:
        yield f"{place} = {value}", 1.0
    # What the float rounds away, and whether there is a number at all.
    yield f"{place} is a number", 1.0


def _sequence_parts(output: Sequence[Any], place: str) -> Iterator[tuple[str, float]]:
    yield f"{place} length", float(len(output))
    for i, item in enumerate(output):
        if isinstance(item, str):
            yield f"{place} has {item}", 1.0
        yield from _parts(item, f"{place}[{i}]")


def _learner_parts(learner: Any, place: str) -> Iterator[tuple[str, float]]:
    yield from _parts(learner.model_, place)
    for label in getattr(learner, "classes_", ()):
        yield f"{place} class {label!s}", 1.0
    certificate = getattr(learner, "certificate_", None)
    if certificate is not None:
        stated = certificate.to_dict()
        # It follows from the model; everything else must not depend on the records.
        stated.pop("model", None)
        text = json.dumps(stated, sort_keys=True, default=str)
        yield f"{place} certificate = {hashlib.sha256(text.encode()).hexdigest()[:12]}", 1.0


def _model_parts(model: DecisionTree | RuleList, place: str) -> Iterator[tuple[str, float]]:
    yield f"{place} cells", float(len(model.cells))
    for literal in model.literals:
        yield f"{place} tests {literal}", 1.0
    structure = " | ".join(f"{cell.inside} {cell.outside}" for cell in model.cells)
    yield f"{place} structure = {hashlib.sha256(structure.encode()).hexdigest()[:12]}", 1.0
    total = errors = 0.0
    for i, cell in enumerate(model.cells):
        where = " and ".join(map(str, cell.inside)) or "else"
        evidence = cell.evidence
        yield f"{place} rule {i} is {where}", 1.0
        yield f"{place} {where} predicts {evidence.prediction}", 1.0
        for label, count in enumerate(evidence.counts or ()):
            yield f"{place} {where} count {label}", float(count)
            yield f"{place} cell {i} count {label}", float(count)
            total += count
        errors += sum(evidence.counts or ()) - max(evidence.counts or (0,))
        for name in ("size", "error_rate", "value"):
            value = getattr(evidence, name)
            if value is not None:
                yield f"{place} {where} {name}", float(value)
    yield f"{place} total", total
    yield f"{place} errors", float(errors)


def _additive_parts(model: AdditiveModel, place: str) -> Iterator[tuple[str, float]]:
    yield f"{place} terms", float(len(model.terms))
    for i, value in enumerate(model.intercept):
        yield f"{place} intercept {i}", value
    for term in model.terms:
        yield f"{place} term {term.name}", 1.0
        bins = hashlib.sha256(repr(term.bins).encode()).hexdigest()[:12]
        yield f"{place} {term.name} bins = {bins}", 1.0
        for name, values in (("score", term.scores), ("weight", term.weights)):
            for i, value in enumerate(() if values is None else values.ravel().tolist()):
                yield f"{place} {term.name} {name} {i}", value
