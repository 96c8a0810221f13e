"""The editor of an additive model as one self-contained page of HTML."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np

from glassine import __version__
from glassine.formats.json import layout, to_dict
from glassine.models.additive import AdditiveModel, released_terms, score_meaning
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.shapes import COVERAGE, ShapeFunction, bands, last_bin_is_drawn, term_importance
from glassine.models.terms import FLOOR, Term
from glassine.report.page import environment, script_json

MARK = "scores and edits go here"


def render_editor(model: AdditiveModel, *, title: str | None = None, coverage: float = COVERAGE) -> str:
    """Return a page in which a person edits an additive model; it loads nothing from anywhere.

    The page draws the shape functions with their noise intervals, lets scores be dragged, smoothed, flattened, put in
    order and taken back, shows what becomes of an example record, and gives out the model as JSON, its log of edits
    included. It computes what :mod:`glassine.models.editing` computes, to the last digit. All that the page does not
    change leaves it as it came, byte for byte.

    **Guarantee**: none; the page holds the published model and nothing else.

    Parameters
    ----------
    model : AdditiveModel
        The model.
    title : str, optional
        Title of the page; the target by default.
    coverage : float, default=0.9
        Share of the noise in a term's sums that each noise interval holds, in (0, 1).

    Returns
    -------
    str
        The page, less than 300 kB without the model.

    Raises
    ------
    InvalidParameterError
        If the coverage is out of range.
    """
    named = title or (f"Model of {model.target}" if model.target else "Additive model")
    page = environment().get_template("editor.html")
    return page.render(
        title=named,
        described=f"{str(replace(model, edits=())).capitalize()}; {score_meaning(model)}.",
        guarantee=_guarantee(model),
        source=model.source,
        coverage=f"{coverage:.0%}",
        version=__version__,
        data=script_json(_view(model, coverage)),
    )


def _guarantee(model: AdditiveModel) -> str:
    claimed = model.guarantee
    if claimed is None:
        return "The model claims no differential privacy."
    delta = f", delta {claimed.delta:g}" if claimed.delta else ""
    most = claimed.records_per_person
    of_each = "" if most is None else f", at most {most} records of each person"
    caveats = f" The guarantee is void because: {'; '.join(claimed.caveats)}." if claimed.caveats else ""
    return (
        f"The publisher claims differential privacy with epsilon {claimed.epsilon:g}{delta} ({claimed.neighboring}"
        f"{of_each}). "
        f"Editing uses no privacy budget, as long as you do not look at the training records again.{caveats}"
    )


def _view(model: AdditiveModel, coverage: float) -> dict[str, Any]:
    """Return all that the page needs, as plain values."""
    return {
        "pieces": _pieces(model),
        "edits": to_dict(model)["edits"],
        "link": model.link,
        "classes": None if model.classes is None else [str(label) for label in model.classes],
        "intercept": list(model.intercept),
        "targetBounds": model.target_bounds,
        "floor": FLOOR,
        "attributes": {name: _attribute(model, name) for name in model.tested},
        "terms": [
            _term(model, term, released, coverage)
            for term, released in zip(model.terms, released_terms(model), strict=True)
        ],
    }


def _pieces(model: AdditiveModel) -> list[str]:
    """Return the model's JSON, cut where the scores of each term, in order, and the edits stand."""
    plain = to_dict(model)
    mark = MARK
    while mark in json.dumps(plain, ensure_ascii=False):
        mark += "!"
    plain["terms"] = [{**term, "scores": mark} for term in plain["terms"]]
    plain["edits"] = mark
    return (layout(plain) + "\n").split(f'"{mark}"')


def _term(model: AdditiveModel, term: Term, released: Term, coverage: float) -> dict[str, Any]:
    low, high = bands(released, coverage) or (None, None)
    drawn = ShapeFunction(
        term=term, released=released.scores, low=low, high=high, coverage=coverage, importance=term_importance(term)
    )
    return {
        "name": term.name,
        "shape": list(term.shape),
        "outputs": term.n_outputs,
        "slots": [last_bin_is_drawn(drawn, axis) for axis in range(len(term.bins))],
        "bins": [_bins(model, bins) for bins in term.bins],
        "coded": [*getattr(term.bins[0], "coded", ())],
        "scores": term.scores.reshape(-1).tolist(),
        "released": released.scores.reshape(-1).tolist(),
        "low": None if low is None else low.reshape(-1).tolist(),
        "high": None if high is None else high.reshape(-1).tolist(),
        "weights": None if term.weights is None else term.weights.reshape(-1).tolist(),
    }


def _bins(model: AdditiveModel, bins: Bins) -> dict[str, Any]:
    out: dict[str, Any] = {"attribute": bins.attribute, "labels": list(bins.labels)}
    if isinstance(bins, NumericBins):
        return {**out, "cuts": list(bins.cuts), "closed": bins.closed}
    values = _values(model, bins.attribute)
    return {**out, "groupOf": bins.find(values).tolist(), "missing": bins.missing}


def _values(model: AdditiveModel, name: str) -> list[Any]:
    every = (bins for term in model.terms for bins in term.bins if bins.attribute == name)
    return list(dict.fromkeys(value for bins in every if isinstance(bins, CategoryBins) for value in bins.values))


def _attribute(model: AdditiveModel, name: str) -> dict[str, Any]:
    """Return how an example record's value is chosen, and the one that it starts with: the most frequent, if known."""
    axes = [(term, bins) for term in model.terms for bins in term.bins if bins.attribute == name]
    term, bins = next(((t, b) for t, b in axes if len(t.bins) == 1), axes[0])
    common = 0
    if term.weights is not None and len(term.bins) == 1:
        common = int(np.argmax(term.weights[:-1]))
    if isinstance(bins, CategoryBins):
        values = _values(model, name)
        first = next((value for value in bins.groups[common] if value is not None), None)
        start = "" if first is None else values.index(first)
        groups = [bins for _, bins in axes if isinstance(bins, CategoryBins)]
        separate = any(entry.missing < len(entry.groups) for entry in groups)
        return {"values": [str(value) for value in values], "start": start, "apart": separate}
    low, high = bins.bounds or (min((0.0, *bins.cuts)), max((0.0, *bins.cuts)))
    ends = [low, *bins.cuts, high]
    middle = ends[common] / 2 + ends[common + 1] / 2
    numeric = [other for _, other in axes if isinstance(other, NumericBins)]
    whole = all(_is_of_whole_numbers(other) for other in numeric)
    tried = (math.floor(middle), math.ceil(middle)) if whole else (float(f"{middle:.3g}"),)
    example = next((value for value in tried if bins.index(np.array([float(value)]))[0] == common), middle)
    return {"values": None, "start": example, "whole": whole}


def _is_of_whole_numbers(bins: NumericBins) -> bool:
    """Return whether cuts and bounds are whole or half way between whole numbers, as those of whole numbers are."""
    return all(float(2 * value).is_integer() for value in (*bins.cuts, *(bins.bounds or ())))
