"""The formats that are read and written: one object each, which every reader, writer, test and list asks.

A format is a module of this package that holds a :class:`Format` under the name ``FORMAT``, or several under
``FORMATS``. No other module lists it: see "How to add a format" in docs/contributing.md.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from glassine.errors import InvalidParameterError, UnsupportedModelError
from glassine.formats import json
from glassine.formats.format import Content, Format, PublishedModel
from glassine.models.ensemble import TreeEnsemble
from glassine.models.regression import RegressionModel
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree


@cache
def formats() -> tuple[Format, ...]:
    """Return every format of this package, in the order in which they are asked."""
    package = importlib.import_module("glassine.formats")
    out: list[Format] = []
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        imported = importlib.import_module(module.name)
        own = getattr(imported, "FORMATS", getattr(imported, "FORMAT", ()))
        out += [own] if isinstance(own, Format) else own
    return tuple(sorted(out, key=lambda format: (format.rank, format.name)))


def recognized(content: object, kind: Content) -> Format | None:
    """Return the format that knows a content, None if none does."""
    # Values that state the schema of Glassine's own JSON are asked of no other format, whose readers take time to
    # import.
    if kind == "values" and isinstance(content, dict) and str(content.get("schema")).startswith("glassine.model/"):
        return next(one for one in json.FORMATS if kind in one.contents)
    return next((one for one in formats() if kind in one.contents and one.sniff(content)), None)


def writer(to: str, model: PublishedModel | TreeEnsemble) -> Format:
    """Return the format of a name that a model can be written in."""
    own = {one.to: one for one in json.FORMATS if one.to}
    written = own if to in own else {one.to: one for one in formats() if one.to}
    if to not in written:
        raise InvalidParameterError(f"a model is written as one of {', '.join(written)}, got {to!r}.")
    chosen, kind = written[to], type(model)
    if not isinstance(model, PublishedModel | TreeEnsemble):
        raise UnsupportedModelError(f"got {kind.__name__}, not a model.", remedy="Write as_model(...) of it.")
    if kind not in chosen.kinds:
        nouns: dict[type, str] = {DecisionTree: "a decision tree", RuleList: "a rule list"}
        nouns |= {RegressionModel: "a regression", TreeEnsemble: "an ensemble of trees"}
        noun = nouns.get(kind, "an additive model")
        others = ", ".join(name for name, one in written.items() if kind in one.kinds)
        raise UnsupportedModelError(f"{noun} is not written as {chosen.name}.", remedy=f"Write it as one of {others}.")
    return chosen
