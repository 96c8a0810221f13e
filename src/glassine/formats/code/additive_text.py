"""Additive models as plain text to read, and that text read back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from glassine.codec import decoded, record
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.domain.literals import number
from glassine.errors import GlassineError, InvalidModelError
from glassine.formats.conditions import as_written
from glassine.formats.format import BY_START, first_line, of_text
from glassine.formats.json import EDIT, commented, opening_claim, without_counts
from glassine.formats.printed.rule_conditions import split_outside, typed
from glassine.formats.printed.rules import label_text
from glassine.models.additive import AdditiveModel
from glassine.models.bins import MISSING, OTHER, Bins, CategoryBins, NumericBins
from glassine.models.scorecard import Scorecard, card_items, risk_table
from glassine.models.terms import Term

CARD = record(Scorecard)
CLIPPED = "predictions are clipped"
ODD = re.compile(r"""["&,:]|\s\s|\A[<>]|\A\Z""")
"""What would be taken for a mark of the notation, unless it is quoted."""
RESERVED = {MISSING, OTHER, f"{MISSING} or {OTHER}", "any value"}


def additive_text(model: AdditiveModel) -> str:
    """Return an additive model as text: intercept, the scores of each term bin by bin, and the log of its edits."""
    # Items and risks of a scorecard stand before the scores that make it up. Without weights, items do not depend on
    # which bins are published as empty, so that a reader of the text arrives at the same ones.
    terms = tuple(replace(_without_codes(term), errors=None, weights=None) for term in model.terms)
    model = replace(model, terms=terms, guarantee=without_counts(model.guarantee))
    lines = [str(model), f"link: {model.link}"]
    if model.target:
        lines.append(f"target: {_said(model.target)}")
    if model.joint:
        lines.append("scores: fitted together")
    lines.append(f"attributes: {', '.join(map(_said, model.attributes))}")
    if model.classes is not None:
        lines.append(f"classes: {', '.join(map(_said, model.classes))}")
    if model.target_bounds is not None:
        lines.append(f"{CLIPPED}: {_numbers(model.target_bounds)}")
    lines.append(f"intercept: {_numbers(model.intercept)}")
    if model.scorecard is not None:
        lines += [f"scorecard: {json.dumps(CARD.encode(model.scorecard))}", *_card_lines(model)]
    for term in model.terms:
        lines += ["", _head(term), *_rows(term)]
    if model.edits:
        lines += ["", "edits"]
        for edit in model.edits:
            lines += [f"  {_one_line(str(edit))}", f"     {json.dumps(EDIT.encode(edit))}"]
    return commented(model) + "\n".join(lines) + "\n"


def _without_codes(term: Term) -> Term:
    """Return a term without special codes, whose labels would hide the cuts around them."""
    bins = (replace(one, codes={}) if isinstance(one, NumericBins) else one for one in term.bins)
    return replace(term, bins=tuple(bins))


def _said(value: Scalar) -> str:
    """Return a name or a value, quoted where it would be read as something else."""
    text = label_text(value)
    odd = text == value and (ODD.search(text) is not None or text in RESERVED)
    return json.dumps(value) if odd else text


def _one_line(text: str) -> str:
    return text if text.isprintable() else json.dumps(text)


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(map(number, values))


def _card_lines(model: AdditiveModel) -> list[str]:
    items, risks = card_items(model), risk_table(model, bool(model.edits))
    texts = [_one_line(f"{item.attribute}: {item.condition}") for item in items]
    width = max(map(len, texts), default=0)
    lines = ["", "points"]
    lines += [f"  {text:<{width}}  {item.points:+d}" for text, item in zip(texts, items, strict=True)]
    if model.link == "identity" and model.scorecard is not None:
        return [*lines, "", f"a point adds {number(model.scorecard.unit)} to {number(model.intercept[0])}"]
    lines += ["", f"risk of {_said((model.classes or ('', ''))[1])} by total"]
    for row in risks:
        ends = "" if row.low is None or row.high is None else f"  ({row.low:.4f} to {row.high:.4f})"
        lines.append(f"  {row.points:>4}  {row.risk:.4f}{ends}")
    return lines


def _head(term: Term) -> str:
    plain = " & ".join(term.attributes)
    return f"term {' & '.join(map(_said, term.attributes))}{f', {_said(term.name)}' if term.name != plain else ''}"


def _rows(term: Term) -> list[str]:
    first, *second = (_labels(bins) for bins in term.bins)
    labels = [f"{left} & {right}" for left in first for right in second[0]] if second else first
    width = max(map(len, labels))
    rows = term.scores.reshape(-1, term.n_outputs).tolist()
    return [f"  {label:<{width}}  {_numbers(row)}" for label, row in zip(labels, rows, strict=True)]


def _labels(bins: Bins) -> list[str]:
    if isinstance(bins, NumericBins):
        return list(bins.labels)
    named = [", ".join(MISSING if value is None else _said(value) for value in group) for group in bins.groups]
    return [*named, bins.labels[-1]]


def additive_from_text(text: str, domain: Domain | None = None) -> AdditiveModel:
    """Read an additive model from the text that :func:`glassine.formats.to_text` wrote of it.

    Parameters
    ----------
    text : str
        The text. Only blanks may differ from what is written of the model in it.
    domain : Domain, optional
        The public domain, which must hold the attributes of all terms.

    Returns
    -------
    AdditiveModel
        Without errors, weights and ranges, which the text does not hold.

    Raises
    ------
    UnsupportedModelError
        If anything was added to the text or changed.
    InvalidModelError
        If the domain lacks an attribute.
    """
    return as_written(
        _words(text),
        domain,
        form="text",
        read=lambda: _parsed(text),
        write=lambda model: _words(additive_text(model)),
        refused=(GlassineError, ValueError, LookupError, RecursionError),
    )


def _words(text: str) -> bytes:
    return " ".join(text.split()).encode()


def _parsed(text: str) -> AdditiveModel:
    claim = opening_claim(text)
    head, *blocks = _blocks(text.splitlines()[claim is not None :])
    said = dict(line.split(": ", 1) for line in head[1:])
    classes, bounds = said.get("classes"), said.get(CLIPPED)
    edits = next((block for block in blocks if block[0] == "edits"), [])
    plain = [json.loads(line) for line in edits if line.startswith("{")]
    card = said.get("scorecard")
    return AdditiveModel(
        attributes=tuple(map(str, _listed(said["attributes"]))),
        terms=tuple(_term(block) for block in blocks if block[0].startswith("term ")),
        intercept=_floats(said["intercept"]),
        link=said["link"],
        classes=None if classes is None else tuple(_listed(classes)),
        target=str(typed(said.get("target", ""))),
        target_bounds=None if bounds is None else tuple(_floats(bounds)),  # type: ignore[arg-type] # two, or refused
        source="text",
        guarantee=claim,
        joint="scores" in said,
        edits=tuple(decoded(EDIT, one, "the edit", InvalidModelError) for one in plain),
        scorecard=None if card is None else decoded(CARD, json.loads(card), "the scorecard", InvalidModelError),
    )


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the lines between blank ones, without blanks around them."""
    block: list[str] = []
    for line in [*map(str.strip, lines), ""]:
        if line:
            block.append(line)
        elif block:
            yield block
            block = []


def _listed(text: str) -> list[Scalar]:
    return [typed(part) for part in split_outside(text, ",")] if text else []


def _floats(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(", ")))


def _term(block: Sequence[str]) -> Term:
    """Return the term of a block: its attributes, its name where it has another, and the scores of its bins."""
    about, *name = split_outside(block[0].removeprefix("term "), ",")
    rows = [line.rpartition("  ") for line in block[1:]]
    labels = [split_outside(label, "&") for label, _, _ in rows]
    bins = tuple(
        _bins(str(typed(attribute)), list(dict.fromkeys(label[axis] for label in labels)))
        for axis, attribute in enumerate(split_outside(about, "&"))
    )
    scores = np.array([_floats(numbers) for _, _, numbers in rows])
    shape = tuple(entry.n_bins for entry in bins)
    return Term(bins=bins, scores=scores.reshape(*shape, -1), name=str(typed(name[0])) if name else "")


def _bins(attribute: str, labels: Sequence[str]) -> Bins:
    first = labels[0]
    if first == "any value":
        return NumericBins(attribute)
    if first.startswith("<"):
        # Between the first bin and the last number stand intervals, and behind it the missing values.
        cuts = (first.split(" ")[1], *(label.split(" to ")[1] for label in labels[1:-2]))
        return NumericBins(attribute, tuple(map(float, cuts)), "right" if first.startswith("<=") else "left")
    groups = [[None if value == MISSING else typed(value) for value in split_outside(g, ",")] for g in labels[:-1]]
    return CategoryBins(attribute, tuple(map(tuple, groups)))


FORMAT = of_text(
    name="text of an additive model",
    again="glassine.write_model(model, 'model.txt', to='text')",
    reads="text of an additive model as Glassine writes it",
    reveals="terms, bins, scores and edits",
    leaves_out="errors, weights, ranges and the labels of special codes",
    sniff=lambda text: re.match(r"(additive model|scorecard) of [0-9]", first_line(text)) is not None,
    rank=BY_START,
    read=additive_from_text,
)
