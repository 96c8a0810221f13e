"""Additive models as plain text to read."""

from __future__ import annotations

import json
import re

from glassine.domain.literals import number
from glassine.models.additive import AdditiveModel, Term
from glassine.models.scoring import cell_labels

__all__ = ["additive_text", "one_line"]

BREAKS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def additive_text(model: AdditiveModel) -> str:
    """Return an additive model as text: intercept, the scores of each term bin by bin, and the log of its edits."""
    lines = [str(model), f"link: {model.link}"]
    if model.target:
        lines.append(f"target: {one_line(model.target)}")
    if model.classes is not None:
        lines.append(f"classes: {', '.join(one_line(str(label)) for label in model.classes)}")
    if model.target_bounds is not None:
        lines.append(f"predictions are clipped to {number(model.target_bounds[0])} to {number(model.target_bounds[1])}")
    lines.append(f"intercept: {_numbers(model.intercept)}")
    for term in model.terms:
        lines += ["", one_line(term.name), *_rows(term)]
    if model.edits:
        lines += ["", "edits", *(f"  {one_line(str(edit))}" for edit in model.edits)]
    return "\n".join(lines) + "\n"


def _rows(term: Term) -> list[str]:
    labels = [one_line(label) for label in cell_labels(term)]
    width = max(map(len, labels))
    rows = term.scores.reshape(-1, term.n_outputs).tolist()
    return [f"  {label:<{width}}  {_numbers(row)}" for label, row in zip(labels, rows, strict=True)]


def _numbers(values: tuple[float, ...] | list[float]) -> str:
    return ", ".join(number(value) for value in values)


def one_line(text: str) -> str:
    """Return a text that cannot start a line of its own: with line breaks it is quoted as JSON quotes it."""
    return json.dumps(text) if BREAKS.search(text) else text
