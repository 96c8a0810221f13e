"""Additive models as JSON, kind ``additive`` of schema ``glassine.model/1``."""

from __future__ import annotations

import json
from typing import Any

from glassine.errors import InvalidModelError
from glassine.models.additive import AdditiveModel, Term
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.edits import LARGEST_SCORE, Edit
from glassine.models.formats.json_parts import guarantee_dict, listed, read_guarantee, scalars, take, text

__all__ = ["KIND", "additive_dict", "layout", "read_additive"]

KIND = "additive"
HEAD = ("schema", "kind", "attributes", "classes", "link", "target", "target_bounds", "source", "guarantee")


def additive_dict(model: AdditiveModel, schema: str) -> dict[str, Any]:
    """Return an additive model as plain JSON values; the last axis of scores is left out where there is one output."""
    out: dict[str, Any] = {
        "schema": schema,
        "kind": KIND,
        "attributes": list(model.attributes),
        "classes": None if model.classes is None else list(model.classes),
        "link": model.link,
        "target": model.target,
        "target_bounds": None if model.target_bounds is None else list(model.target_bounds),
        "source": model.source,
    }
    if model.guarantee is not None:
        out["guarantee"] = guarantee_dict(model.guarantee)
    return {
        **out,
        "intercept": list(model.intercept),
        "terms": [_term(term) for term in model.terms],
        "edits": [_edit(edit) for edit in model.edits],
    }


def _term(term: Term) -> dict[str, Any]:
    out: dict[str, Any] = {"name": term.name, "bins": [_bins(bins) for bins in term.bins]}
    for key in ("scores", "errors"):
        array = getattr(term, key)
        if array is not None:
            out[key] = (array[..., 0] if term.n_outputs == 1 else array).tolist()
    if term.weights is not None:
        out["weights"] = term.weights.tolist()
    return out


def _bins(bins: Bins) -> dict[str, Any]:
    if isinstance(bins, CategoryBins):
        return {"attribute": bins.attribute, "groups": [list(group) for group in bins.groups]}
    out = {"attribute": bins.attribute, "cuts": list(bins.cuts), "closed": bins.closed}
    return out if bins.bounds is None else {**out, "bounds": list(bins.bounds)}


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "number": edit.number,
        "action": edit.action,
        "term": edit.term,
        "parameters": dict(edit.parameters),
        "cells": list(edit.cells),
        "before": list(edit.before),
        "after": list(edit.after),
        "reason": edit.reason,
    }


def read_additive(data: dict[str, Any]) -> AdditiveModel:
    """Return the additive model that plain JSON values describe; schema and kind are checked already.

    Raises
    ------
    InvalidModelError
        If a key is missing, unknown or of the wrong kind, or the model contradicts itself.
    """
    what = "the model"
    take(data, what, (*HEAD, "intercept", "terms", "edits"), ("attributes", "link", "intercept", "terms"))
    names = listed(data, "attributes", what)
    if not all(isinstance(name, str) for name in names):
        raise InvalidModelError("the model's attributes must be strings.")
    classes = None
    if data.get("classes") is not None:
        classes = scalars(listed(data, "classes", what), "the model's classes")
    bounds = None
    if data.get("target_bounds") is not None:
        bounds = tuple(_numbers(data["target_bounds"], "the model's target_bounds", 1))
    return AdditiveModel(
        attributes=tuple(names),
        terms=tuple(_read_term(entry, f"term {i}") for i, entry in enumerate(listed(data, "terms", what), start=1)),
        intercept=tuple(_numbers(data["intercept"], "the model's intercept", 1)),
        link=text(data, "link", what),
        classes=classes,
        target=text(data, "target", what),
        target_bounds=bounds,
        source=text(data, "source", what),
        guarantee=read_guarantee(data.get("guarantee")),
        edits=tuple(_read_edit(entry, f"edit {i}") for i, entry in enumerate(listed(data, "edits", what), start=1)),
    )


def _read_term(entry: Any, what: str) -> Term:
    entry = take(entry, what, ("name", "bins", "scores", "errors", "weights"), ("bins", "scores"))
    bins = tuple(_read_bins(part, f"{what}, bins {i}") for i, part in enumerate(listed(entry, "bins", what), start=1))
    depth = len(bins)
    arrays: dict[str, Any] = {"scores": None}
    for key, extra in (("scores", 1), ("errors", 1), ("weights", 0)):
        if entry.get(key) is not None:
            arrays[key] = _numbers(entry[key], f"the {key} of {what}", depth + extra)
    try:
        return Term(bins=bins, name=text(entry, "name", what), **arrays)
    except InvalidModelError as error:
        raise InvalidModelError(f"{what}: {error}") from None


def _read_bins(entry: Any, what: str) -> Bins:
    entry = take(entry, what, ("attribute", "cuts", "closed", "bounds", "groups"), ("attribute",))
    if ("cuts" in entry) == ("groups" in entry):
        raise InvalidModelError(f"{what} must have either cuts or groups.")
    try:
        if "cuts" in entry:
            cuts = tuple(_numbers(entry["cuts"], "cuts", 1))
            bounds = None if entry.get("bounds") is None else tuple(_numbers(entry["bounds"], "bounds", 1))
            # What goes without saying, which side is closed, would be read either way.
            take(entry, what, ("attribute", "cuts", "closed", "bounds"), ("closed",))
            return NumericBins(entry["attribute"], cuts, entry["closed"], bounds)
        take(entry, what, ("attribute", "groups"))
        groups = listed(entry, "groups", what)
        if not all(isinstance(group, list) for group in groups):
            raise InvalidModelError("groups must be lists of values.")
        # Null stands for missing values; CategoryBins checks the others.
        return CategoryBins(entry["attribute"], tuple(map(tuple, groups)))
    except InvalidModelError as error:
        raise InvalidModelError(f"{what}: {error}") from None


def _read_edit(entry: Any, what: str) -> Edit:
    keys = ("number", "action", "term", "parameters", "cells", "before", "after", "reason")
    entry = take(entry, what, keys, keys[:-1])
    if not isinstance(entry["parameters"], dict):
        raise InvalidModelError(f"{what}: 'parameters' must be an object, got {entry['parameters']!r}.")
    return Edit(
        number=entry["number"],
        action=entry["action"],
        term=entry["term"],
        parameters=tuple(entry["parameters"].items()),
        cells=tuple(listed(entry, "cells", what)),
        before=tuple(_numbers(entry["before"], f"{what}: 'before'", 1)),
        after=tuple(_numbers(entry["after"], f"{what}: 'after'", 1)),
        reason=text(entry, "reason", what),
    )


def _numbers(value: Any, what: str, depth: int) -> Any:
    """Return a list of finite numbers, nested at most ``depth`` deep."""
    if not isinstance(value, list):
        raise InvalidModelError(f"{what} must be a list of numbers, got {type(value).__name__}.")
    for entry in value:
        if isinstance(entry, list) and depth > 1:
            _numbers(entry, what, depth - 1)
        elif isinstance(entry, bool) or not isinstance(entry, int | float) or not abs(entry) <= LARGEST_SCORE:
            shown = "one beyond 1e300" if type(entry) in (int, float) else repr(entry)[:80]
            raise InvalidModelError(f"{what} must be finite numbers in lists, got {shown}.")
    return value


def layout(value: Any, margin: str = "") -> str:
    """Return plain values as JSON to read: what holds only numbers and texts stands on one line."""
    inner = margin + "  "
    if isinstance(value, dict) and value and any(isinstance(entry, dict | list) for entry in value.values()):
        lines = [f"{inner}{_plain(key)}: {layout(entry, inner)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        return "[\n" + ",\n".join(f"{inner}{layout(entry, inner)}" for entry in value) + f"\n{margin}]"
    return _plain(value)


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
